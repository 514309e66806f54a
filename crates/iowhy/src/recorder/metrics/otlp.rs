//! The figures as OpenTelemetry takes them: `ExportMetricsServiceRequest` of OTLP 1.x in protobuf
//! (opentelemetry-proto, metrics.proto), latencies as exponential histograms, all of it cumulative.

use super::Figures;
use super::exposition::{Family, Kind, SCHEMA, Value, ZERO_S, families, native};
use super::message::Message;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// When figures began and when they were taken, ns since 1970.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// When the recorder began to count.
    pub from: u64,
    /// Now.
    pub to: u64,
}

/// The body of one export.
pub fn export(figures: &Figures, host: &str, span: Span) -> Vec<u8> {
    let mut resource = Message::default();
    let about = [
        ("service.name", "iowhy"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("host.name", host),
    ];
    for (key, value) in about {
        resource.bytes(1, &attribute(key, value).0);
    }
    let mut scope = Message::default();
    scope.bytes(1, b"iowhy");
    scope.bytes(2, env!("CARGO_PKG_VERSION").as_bytes());
    let mut metrics = Message::default();
    metrics.bytes(1, &scope.0);
    for family in families(figures).iter().filter(|family| !family.samples.is_empty()) {
        metrics.bytes(2, &metric(family, span).0);
    }
    let mut of_resource = Message::default();
    of_resource.bytes(1, &resource.0);
    of_resource.bytes(2, &metrics.0);
    let mut request = Message::default();
    request.bytes(1, &of_resource.0);
    request.0
}

fn attribute(key: &str, value: &str) -> Message {
    let (mut any, mut pair) = (Message::default(), Message::default());
    any.bytes(1, value.as_bytes());
    pair.bytes(1, key.as_bytes());
    pair.bytes(2, &any.0);
    pair
}

/// Name and unit as OpenTelemetry has them: `iowhy_waited_seconds_total` is `iowhy.waited` in `s`.
fn name_and_unit(name: &str) -> (String, &'static str) {
    let name = name.strip_suffix("_total").unwrap_or(name);
    let unit = match name.rsplit('_').next() {
        Some("seconds") => "s",
        Some("bytes") => "By",
        _ => "1",
    };
    // `iowhy_bytes` is about nothing else.
    let bare = name.rsplit_once('_').map_or(name, |(bare, _)| bare);
    let name = if unit == "1" || !bare.contains('_') { name } else { bare };
    (name.replacen('_', ".", 1), unit)
}

fn metric(family: &Family, span: Span) -> Message {
    let (name, unit) = name_and_unit(family.name);
    let mut metric = Message::default();
    metric.bytes(1, name.as_bytes());
    metric.bytes(2, family.help.as_bytes());
    metric.bytes(3, unit.as_bytes());
    let mut data = Message::default();
    for (labels, value) in &family.samples {
        let mut point = Message::default();
        // A gauge is of this moment alone.
        let began = if family.kind == Kind::Gauge { 0 } else { span.from };
        point.fixed(2, began);
        point.fixed(3, span.to);
        let field = match value {
            Value::Number(value) => {
                point.real(4, *value);
                7
            }
            Value::Latencies(histogram) => {
                exponential(histogram, &mut point);
                1
            }
        };
        for (key, value) in labels {
            point.bytes(field, &attribute(key, value).0);
        }
        data.bytes(1, &point.0);
    }
    let field = match family.kind {
        Kind::Gauge => 5,
        Kind::Counter => {
            data.number(2, CUMULATIVE);
            data.number(3, 1);
            7
        }
        Kind::Histogram => {
            data.number(2, CUMULATIVE);
            10
        }
    };
    metric.bytes(field, &data.0);
    metric
}

/// Bucket i of OpenTelemetry holds what is above 2^(i / 8) s, up to 2^((i + 1) / 8) s: one less than
/// Prometheus counts.
fn exponential(histogram: &iowhy_model::Histogram, point: &mut Message) {
    let (filled, zero) = native(histogram);
    point.fixed(4, histogram.count());
    point.real(5, histogram.sum_ns.unwrap_or(0.0) / 1e9);
    point.signed(6, SCHEMA.into());
    point.fixed(7, zero);
    if let (Some((first, _)), Some((last, _))) = (filled.first(), filled.last()) {
        let mut counts = vec![0; (last - first + 1) as usize];
        for (index, count) in &filled {
            if let Some(place) = counts.get_mut((index - first) as usize) {
                *place += count;
            }
        }
        let (mut packed, mut buckets) = (Message::default(), Message::default());
        counts.into_iter().for_each(|count| packed.varint(count));
        buckets.signed(1, i64::from(*first) - 1);
        buckets.bytes(2, &packed.0);
        point.bytes(8, &buckets.0);
    }
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    for (field, value) in [(12, seconds(histogram.min_ns)), (13, seconds(histogram.max_ns))] {
        if let Some(value) = value {
            point.real(field, value);
        }
    }
    point.real(14, ZERO_S);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_no_unit() {
        for (name, known) in [
            ("iowhy_latency_seconds", ("iowhy.latency", "s")),
            ("iowhy_waited_seconds_total", ("iowhy.waited", "s")),
            ("iowhy_ios_total", ("iowhy.ios", "1")),
            ("iowhy_in_flight", ("iowhy.in_flight", "1")),
            ("iowhy_resident_bytes", ("iowhy.resident", "By")),
            ("iowhy_bytes_total", ("iowhy.bytes", "By")),
        ] {
            let (named, unit) = name_and_unit(name);
            assert_eq!((named.as_str(), unit), known);
        }
    }
}
