//! Metrics in the format of OpenTelemetry: `ExportMetricsServiceRequest` of OTLP 1.x in protobuf
//! (opentelemetry-proto, metrics.proto), latencies as exponential histograms, all of it cumulative.

use super::Figures;
use super::exposition::{SCHEMA, ZERO_S, native};
use super::message::Message;
use super::table::{Kind, METRICS, Metric, Samples, Value};

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// Start and time of the metrics, ns since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// When the recorder began to count.
    pub from: u64,
    /// Now.
    pub to: u64,
}

/// The body of one export.
pub(crate) fn export(figures: &Figures, host: &str, span: Span) -> Vec<u8> {
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
    for of in METRICS {
        let samples = of.samples(figures);
        if !samples.is_empty() {
            metrics.bytes(2, &metric(of, samples, span).0);
        }
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

fn metric(of: &Metric, samples: Samples, span: Span) -> Message {
    let mut metric = Message::default();
    metric.bytes(1, of.dotted().as_bytes());
    metric.bytes(2, of.help.as_bytes());
    metric.bytes(3, of.unit.symbol().as_bytes());
    let mut data = Message::default();
    for (labels, value) in samples {
        let mut point = Message::default();
        // A gauge has no start time.
        let began = if of.kind == Kind::Gauge { 0 } else { span.from };
        point.fixed(2, began);
        point.fixed(3, span.to);
        let field = match value {
            Value::Number(value) => {
                point.real(4, value);
                7
            }
            Value::Latencies(histogram) => {
                exponential(histogram, &mut point);
                1
            }
        };
        for (key, value) in of.labels.iter().zip(&labels) {
            point.bytes(field, &attribute(key, value).0);
        }
        data.bytes(1, &point.0);
    }
    let field = match of.kind {
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

/// Bucket i of OpenTelemetry contains values above 2^(i / 8) s, up to 2^((i + 1) / 8) s: its index
/// is one less than that of Prometheus.
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
