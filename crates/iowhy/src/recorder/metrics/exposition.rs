//! Metrics in the formats of Prometheus. Its text format (version 0.0.4) and OpenMetrics 1.0 have
//! classic buckets, its protobuf format (`io.prometheus.client.MetricFamily`, metrics.proto) native
//! histograms beside them.

use std::fmt::Write;

use iowhy_model::{Edges, Histogram};

use super::Figures;
use super::message::Message;
use super::table::{Kind, METRICS, Metric, Value};

/// Octaves of a microsecond with a classic bucket: 8 us to 67 s, where the standard table merges
/// exactly.
const CLASSIC: std::ops::RangeInclusive<u32> = 3..=26;
/// The native histogram's resolution: eight buckets per octave, as the tracer's own.
pub(super) const SCHEMA: i32 = 3;
/// Shorter latencies are in its zero bucket, s: the tracer's narrowest bucket.
pub(super) const ZERO_S: f64 = 1.25e-7;

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Prometheus text.
    Text,
    /// OpenMetrics text.
    OpenMetrics,
    /// Protobuf, delimited.
    Protobuf,
}

impl Form {
    /// The format of an `Accept` header; text if it names none of them.
    pub(super) fn accepted(accept: &str) -> Form {
        let mut best = (Form::Text, -1.0);
        for part in accept.split(',') {
            let mut words = part.split(';').map(str::trim);
            let form = match words.next() {
                Some("application/vnd.google.protobuf") => Form::Protobuf,
                Some("application/openmetrics-text") => Form::OpenMetrics,
                Some("text/plain" | "text/*" | "*/*") => Form::Text,
                _ => continue,
            };
            let quality = words.find_map(|word| word.strip_prefix("q=")?.parse::<f64>().ok());
            let quality = quality.unwrap_or(1.0);
            if quality > best.1 {
                best = (form, quality);
            }
        }
        best.0
    }

    /// Its `Content-Type`.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Form::Text => "text/plain; version=0.0.4; charset=utf-8",
            Form::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Form::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                 encoding=delimited"
            }
        }
    }
}

/// The metrics in this format.
pub(super) fn expose(figures: &Figures, form: Form) -> Vec<u8> {
    match form {
        Form::Protobuf => METRICS.iter().flat_map(|metric| protobuf(metric, figures)).collect(),
        Form::Text | Form::OpenMetrics => {
            let open = form == Form::OpenMetrics;
            let mut text = String::new();
            METRICS.iter().for_each(|metric| family_text(metric, figures, open, &mut text));
            if open {
                text.push_str("# EOF\n");
            }
            text.into_bytes()
        }
    }
}

fn family_text(metric: &Metric, figures: &Figures, open: bool, text: &mut String) {
    let (kind, suffix) = match metric.kind {
        Kind::Counter => ("counter", "_total"),
        Kind::Gauge => ("gauge", ""),
        Kind::Histogram => ("histogram", ""),
    };
    let full = metric.name;
    // OpenMetrics names a counter's family without the suffix of its samples.
    let name = if open { full.strip_suffix(suffix).unwrap_or(full) } else { full };
    // Writing into a text does not fail.
    let _ = writeln!(text, "# HELP {name} {}", metric.help);
    let _ = writeln!(text, "# TYPE {name} {kind}");
    for (values, value) in metric.samples(figures) {
        let labels = |bound: Option<&str>| braces(metric.labels, &values, bound);
        match value {
            Value::Number(value) => {
                let _ = writeln!(text, "{full}{} {value}", labels(None));
            }
            Value::Latencies(histogram) => {
                let (buckets, count, sum) = classic(histogram);
                for (bound, below) in buckets {
                    let labels = labels(Some(&format!("{bound:?}")));
                    let _ = writeln!(text, "{full}_bucket{labels} {below}");
                }
                let _ = writeln!(text, "{full}_bucket{} {count}", labels(Some("+Inf")));
                let _ = writeln!(text, "{full}_sum{} {sum}", labels(None));
                let _ = writeln!(text, "{full}_count{} {count}", labels(None));
            }
        }
    }
}

fn braces(names: &[&str], values: &[String], bound: Option<&str>) -> String {
    let escaped = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs = names.iter().zip(values);
    let mut all: Vec<String> =
        pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    all.extend(bound.map(|bound| format!("le=\"{bound}\"")));
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

/// Upper bounds in s with cumulative counts, the total count, and the sum in s.
fn classic(histogram: &Histogram) -> (Vec<(f64, u64)>, u64, f64) {
    let coarse = histogram.rebin(&Edges::log2_us(*CLASSIC.end()));
    let mut below = 0;
    let mut buckets = Vec::new();
    for (bucket, count) in coarse.counts().iter().enumerate() {
        below += count;
        let high = coarse.edges().high(bucket);
        // Latencies beyond the last edge are in the last bucket, below no bound.
        if (1000 << CLASSIC.start()..1000u64 << CLASSIC.end()).contains(&high) {
            buckets.push((high as f64 / 1e9, below));
        }
    }
    let count = histogram.count();
    (buckets, count, histogram.sum_ns.unwrap_or(0.0) / 1e9)
}

/// Counts of a native histogram: index and count of each positive bucket, and the zero bucket.
pub(super) fn native(histogram: &Histogram) -> (Vec<(i32, u64)>, u64) {
    let (mut buckets, mut zero): (Vec<(i32, u64)>, u64) = (Vec::new(), 0);
    for (low, high, count) in histogram.filled() {
        let middle = if high == u64::MAX { low as f64 } else { (low as f64 + high as f64) / 2.0 };
        let seconds = middle / 1e9;
        if seconds <= ZERO_S {
            zero += count;
            continue;
        }
        // Bucket i contains values above 2^((i - 1) / 8) s, up to 2^(i / 8) s.
        let index = (seconds.log2() * f64::from(1 << SCHEMA)).ceil() as i32;
        match buckets.last_mut() {
            Some((last, known)) if *last == index => *known += count,
            _ => buckets.push((index, count)),
        }
    }
    (buckets, zero)
}

fn protobuf(of: &Metric, figures: &Figures) -> Vec<u8> {
    let mut whole = Message::default();
    whole.bytes(1, of.name.as_bytes());
    whole.bytes(2, of.help.as_bytes());
    let (kind, field) = match of.kind {
        Kind::Counter => (0, 3),
        Kind::Gauge => (1, 2),
        Kind::Histogram => (4, 7),
    };
    whole.number(3, kind);
    for (labels, value) in of.samples(figures) {
        let mut metric = Message::default();
        for (name, value) in of.labels.iter().zip(&labels) {
            let mut pair = Message::default();
            pair.bytes(1, name.as_bytes());
            pair.bytes(2, value.as_bytes());
            metric.bytes(1, &pair.0);
        }
        let mut inner = Message::default();
        match value {
            Value::Number(value) => inner.real(1, value),
            Value::Latencies(histogram) => latencies(histogram, &mut inner),
        }
        metric.bytes(field, &inner.0);
        whole.bytes(4, &metric.0);
    }
    let mut delimited = Message::default();
    delimited.varint(whole.0.len() as u64);
    delimited.0.extend(whole.0);
    delimited.0
}

fn latencies(histogram: &Histogram, into: &mut Message) {
    let (buckets, count, sum) = classic(histogram);
    into.number(1, count);
    into.real(2, sum);
    for (bound, below) in buckets {
        let mut bucket = Message::default();
        bucket.number(1, below);
        bucket.real(2, bound);
        into.bytes(3, &bucket.0);
    }
    let (filled, zero) = native(histogram);
    into.signed(5, SCHEMA.into());
    into.real(6, ZERO_S);
    into.number(7, zero);
    // A span is a gap and a number of buckets; deltas are between neighbours, empty ones are left
    // out.
    let mut next: Option<i32> = None;
    let mut before = 0i64;
    let mut deltas = Vec::new();
    let mut spans: Vec<(i32, u64)> = Vec::new();
    for (index, count) in filled {
        match (next, spans.last_mut()) {
            (Some(next), Some((_, length))) if index == next => *length += 1,
            (next, _) => spans.push((index - next.unwrap_or(0), 1)),
        }
        next = Some(index + 1);
        deltas.push(count as i64 - before);
        before = count as i64;
    }
    for (offset, length) in spans {
        let mut span = Message::default();
        span.signed(1, offset.into());
        span.number(2, length);
        into.bytes(12, &span.0);
    }
    deltas.into_iter().for_each(|delta| into.signed(13, delta));
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Op, Stage};

    use super::super::{Counters, Own};
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        let mut histogram = Histogram::empty(Edges::standard());
        for us in [90u64, 110, 110, 5000] {
            histogram.record(us * 1000);
        }
        figures.latencies.insert(("sda".to_string(), Op::Read, Stage::Total), histogram);
        let counters = Counters { ios: 4, bytes: 16384.0, waited_s: 0.00531 };
        figures.counters.insert(("s\"da".to_string(), Op::Read), counters);
        figures.own = Some(Own { cpu_s: 1.5, ..Own::default() });
        figures
    }

    #[test]
    fn classic_buckets_count_what_lies_below_their_bound() {
        let text = String::from_utf8(expose(&figures(), Form::Text)).expect("text");
        for line in [
            "# TYPE iowhy_latency_seconds histogram",
            "iowhy_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"q2c\",le=\"6.4e-5\"} \
             0",
            "iowhy_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"q2c\",le=\"0.000128\"} 3",
            "iowhy_latency_seconds_bucket{device=\"sda\",op=\"read\",stage=\"q2c\",le=\"+Inf\"} 4",
            "iowhy_latency_seconds_count{device=\"sda\",op=\"read\",stage=\"q2c\"} 4",
            "iowhy_ios_total{device=\"s\\\"da\",op=\"read\"} 4",
            "iowhy_cpu_seconds_total 1.5",
            "iowhy_store_failing 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
        }
        assert!(!text.contains("# EOF"));
        let open = String::from_utf8(expose(&figures(), Form::OpenMetrics)).expect("text");
        assert!(open.ends_with("# EOF\n") && open.contains("# TYPE iowhy_ios counter"), "{open}");
    }

    #[test]
    fn native_buckets_hold_the_middle_of_ours() {
        let figures = figures();
        let histogram = figures.latencies.values().next().expect("one");
        let (buckets, zero) = native(histogram);
        assert_eq!(zero, 0);
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 4);
        for (index, _) in &buckets {
            let upper = (f64::from(*index) / 8.0).exp2();
            assert!((80e-6..6e-3).contains(&upper), "{upper}");
        }
        let bytes = expose(&figures, Form::Protobuf);
        let needle = b"iowhy_latency_seconds";
        assert!(bytes.windows(needle.len()).any(|window| window == needle));
    }

    #[test]
    fn a_client_gets_what_it_likes_best() {
        for (accept, form) in [
            ("", Form::Text),
            ("*/*", Form::Text),
            ("text/html, application/xml;q=0.9", Form::Text),
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Form::OpenMetrics,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5",
                Form::Protobuf,
            ),
        ] {
            assert_eq!(Form::accepted(accept), form, "{accept}");
        }
    }
}
