//! The list of all metrics, for serving, pushing, and docs/MANUAL.md.

use std::collections::VecDeque;

use iowhy_model::Histogram;

use super::{Counters, Figures, Limit, Own};

/// A metric.
pub(super) struct Metric {
    /// The name in Prometheus: with its unit, and `_total` for a counter.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The unit.
    pub unit: Unit,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// Its description, a sentence.
    pub help: &'static str,
    from: From,
}

/// The type of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Values that only grow.
    Counter,
    /// Values that rise and fall.
    Gauge,
    /// Counts of latencies, which only grow.
    Histogram,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// A count or a share.
    One,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// Its suffix in Prometheus.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Unit::One => "",
            Unit::Seconds => "_seconds",
            Unit::Bytes => "_bytes",
        }
    }

    /// Its name in OpenTelemetry (UCUM).
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Unit::One => "1",
            Unit::Seconds => "s",
            Unit::Bytes => "By",
        }
    }
}

/// One value.
pub(super) enum Value<'a> {
    /// A number in the unit of its name.
    Number(f64),
    /// Latencies.
    Latencies(&'a Histogram),
}

/// The labels' values and the value of each.
pub(super) type Samples<'a> = Vec<(Vec<String>, Value<'a>)>;

/// Where the values of a metric come from.
enum From {
    /// Several, distinguished by labels.
    Each(for<'a> fn(&'a Figures) -> Samples<'a>),
    /// A counter of each device and operation.
    Counted(fn(&Counters) -> f64),
    /// One, of the recorder itself.
    Own(fn(&Own) -> f64),
}

impl Metric {
    /// Its values.
    pub(super) fn samples<'a>(&self, figures: &'a Figures) -> Samples<'a> {
        match self.from {
            From::Each(samples) => samples(figures),
            From::Counted(value) => {
                let all = figures.counters.iter();
                all.map(|((device, op), one)| {
                    let labels = vec![device.clone(), op.name().to_string()];
                    (labels, Value::Number(value(one)))
                })
                .collect()
            }
            From::Own(value) => {
                let own = figures.own.iter();
                own.map(|own| (Vec::new(), Value::Number(value(own)))).collect()
            }
        }
    }

    /// Its name in OpenTelemetry, without the unit: `iowhy.waited` of `iowhy_waited_seconds_total`.
    pub(super) fn dotted(&self) -> String {
        let name = self.name.strip_suffix("_total").unwrap_or(self.name);
        // `iowhy_bytes` would have no name left.
        let bare = name.strip_suffix(self.unit.suffix()).filter(|bare| bare.contains('_'));
        bare.unwrap_or(name).replacen('_', ".", 1)
    }
}

const fn own_metric(
    name: &'static str,
    kind: Kind,
    unit: Unit,
    help: &'static str,
    value: fn(&Own) -> f64,
) -> Metric {
    Metric { name, kind, unit, labels: &[], help, from: From::Own(value) }
}

const fn counted(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    value: fn(&Counters) -> f64,
) -> Metric {
    let (kind, labels) = (Kind::Counter, &["device", "op"]);
    Metric { name, kind, unit, labels, help, from: From::Counted(value) }
}

const fn each(
    name: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    help: &'static str,
    samples: for<'a> fn(&'a Figures) -> Samples<'a>,
) -> Metric {
    Metric { name, kind, unit: Unit::One, labels, help, from: From::Each(samples) }
}

fn named(figures: &Figures, value: fn(&Counters) -> f64) -> Samples<'_> {
    let all = figures.named.iter();
    all.map(|((by, name, op), one)| {
        let labels = vec![(*by).to_string(), name.clone(), op.name().to_string()];
        (labels, Value::Number(value(one)))
    })
    .collect()
}

/// All of them, in the order in which they are served.
pub(super) const METRICS: &[Metric] = &[
    Metric {
        unit: Unit::Seconds,
        ..each(
            "iowhy_latency_seconds",
            Kind::Histogram,
            &["device", "op", "stage"],
            "Latency of block I/O: q2d in the queue, d2c on the device, q2c both.",
            |figures| {
                let all = figures.latencies.iter();
                all.map(|((device, op, stage), histogram)| {
                    let (op, stage) = (op.name().to_string(), stage.name().to_lowercase());
                    (vec![device.clone(), op, stage], Value::Latencies(histogram))
                })
                .collect()
            },
        )
    },
    counted("iowhy_ios_total", Unit::One, "Completed I/Os, as traced.", |one| one.ios as f64),
    counted(
        "iowhy_bytes_total",
        Unit::Bytes,
        "Bytes read or written, as /proc/diskstats counts them.",
        |one| one.bytes,
    ),
    counted(
        "iowhy_waited_seconds_total",
        Unit::Seconds,
        "Summed waiting time of all I/Os.",
        |one| one.waited_s,
    ),
    each(
        "iowhy_named_ios_total",
        Kind::Counter,
        &["by", "name", "op"],
        "I/Os of a container or volume, with --metrics-by; beyond the first 256 names as `other`.",
        |figures| named(figures, |one| one.ios as f64),
    ),
    Metric {
        unit: Unit::Seconds,
        ..each(
            "iowhy_named_waited_seconds_total",
            Kind::Counter,
            &["by", "name", "op"],
            "Summed waiting time of these I/Os.",
            |figures| named(figures, |one| one.waited_s),
        )
    },
    each(
        "iowhy_in_flight",
        Kind::Gauge,
        &["device"],
        "I/Os in flight at the last sample.",
        |figures| {
            let all = figures.in_flight.iter();
            all.map(|(device, n)| (vec![device.clone()], Value::Number(*n as f64))).collect()
        },
    ),
    each(
        "iowhy_headroom",
        Kind::Gauge,
        &["device", "limit"],
        "Share of a `--limit` that was left in the busiest second of the last minute.",
        |figures| {
            let least = |(limit, left): &'_ (Limit, _)| {
                let left: &VecDeque<f64> = left;
                let least = left.iter().copied().reduce(f64::min)?;
                let labels = vec![limit.device.clone(), limit.word().to_string()];
                Some((labels, Value::Number(least)))
            };
            figures.limits.iter().filter_map(least).collect()
        },
    ),
    each(
        "iowhy_verdict",
        Kind::Gauge,
        &["device", "verdict"],
        "Confidence of the current verdict, 0 to 1; after it no longer holds, 0 for ten minutes.",
        |figures| {
            let all = figures.verdicts.iter();
            all.map(|(device, one)| {
                (vec![device.clone(), one.verdict.clone()], Value::Number(one.confidence))
            })
            .collect()
        },
    ),
    each(
        "iowhy_device_info",
        Kind::Gauge,
        &["device", "volume", "mount"],
        "1 for each device with metrics: the name of its volume and its mount point, to join by \
         device.",
        |figures| {
            let all = figures.names.iter().filter(|(device, _)| figures.known.contains(*device));
            all.map(|(device, [volume, mount])| {
                (vec![device.clone(), volume.clone(), mount.clone()], Value::Number(1.0))
            })
            .collect()
        },
    ),
    each(
        "iowhy_incidents_total",
        Kind::Counter,
        &["verdict"],
        "Incidents by verdict.",
        |figures| {
            let all = figures.incidents.iter();
            all.map(|(verdict, n)| (vec![verdict.clone()], Value::Number(*n as f64))).collect()
        },
    ),
    each(
        "iowhy_store_failing",
        Kind::Gauge,
        &[],
        "1 while the store is not writable.",
        |figures| {
            let fails = figures.trouble.is_some();
            vec![(Vec::new(), Value::Number(f64::from(u8::from(fails))))]
        },
    ),
    own_metric(
        "iowhy_unlisted_devices",
        Kind::Gauge,
        Unit::One,
        "Devices whose metrics are combined as `other`, beyond the first 256.",
        |own| own.unlisted_devices as f64,
    ),
    own_metric(
        "iowhy_lost_ios_total",
        Kind::Counter,
        Unit::One,
        "I/Os lost by the tracer.",
        |own| own.lost_ios as f64,
    ),
    own_metric(
        "iowhy_unlisted_ios_total",
        Kind::Counter,
        Unit::One,
        "I/Os counted in histograms only, because of the limit on individual I/Os.",
        |own| own.unlisted_ios as f64,
    ),
    own_metric(
        "iowhy_suppressed_alarms",
        Kind::Gauge,
        Unit::One,
        "Alarms since the last incident that did not start one.",
        |own| own.suppressed_alarms as f64,
    ),
    own_metric(
        "iowhy_unjudged_total",
        Kind::Counter,
        Unit::One,
        "Verdicts skipped (queue full).",
        |own| own.unjudged as f64,
    ),
    own_metric(
        "iowhy_notifications_dropped_total",
        Kind::Counter,
        Unit::One,
        "Incident notifications dropped (queue full).",
        |own| own.notifications_dropped as f64,
    ),
    own_metric(
        "iowhy_store_bytes",
        Kind::Gauge,
        Unit::Bytes,
        "Size of the store in bytes.",
        |own| own.store_bytes as f64,
    ),
    own_metric(
        "iowhy_store_written_bytes_total",
        Kind::Counter,
        Unit::Bytes,
        "Bytes written to the store.",
        |own| own.store_written_bytes as f64,
    ),
    own_metric(
        "iowhy_store_waiting_bytes",
        Kind::Gauge,
        Unit::Bytes,
        "Bytes waiting to be written to the store.",
        |own| own.store_waiting_bytes as f64,
    ),
    own_metric(
        "iowhy_store_given_up_total",
        Kind::Counter,
        Unit::One,
        "Writes to the store dropped because the disk did not accept them in time.",
        |own| own.store_given_up as f64,
    ),
    own_metric(
        "iowhy_store_refused_total",
        Kind::Counter,
        Unit::One,
        "Writes to the store that failed with an error.",
        |own| own.store_refused as f64,
    ),
    own_metric(
        "iowhy_store_thinned_total",
        Kind::Counter,
        Unit::One,
        "Histograms and averages merged into coarser intervals as they aged.",
        |own| own.store_thinned as f64,
    ),
    own_metric(
        "iowhy_store_removed_total",
        Kind::Counter,
        Unit::One,
        "Segments and incidents removed from the store.",
        |own| own.store_removed as f64,
    ),
    own_metric(
        "iowhy_cpu_seconds_total",
        Kind::Counter,
        Unit::Seconds,
        "CPU time of the recorder, without its BPF programs.",
        |own| own.cpu_s,
    ),
    own_metric(
        "iowhy_bpf_seconds_total",
        Kind::Counter,
        Unit::Seconds,
        "CPU time of the recorder's BPF programs, while kernel.bpf_stats_enabled is 1.",
        |own| own.bpf_s,
    ),
    own_metric(
        "iowhy_judge_cpu_seconds_total",
        Kind::Counter,
        Unit::Seconds,
        "CPU time spent on verdicts, part of iowhy_cpu_seconds_total.",
        |own| own.judge_cpu_s,
    ),
    own_metric(
        "iowhy_resident_bytes",
        Kind::Gauge,
        Unit::Bytes,
        "Resident memory of the recorder.",
        |own| own.resident_bytes,
    ),
    own_metric("iowhy_seconds_total", Kind::Counter, Unit::Seconds, "Seconds recorded.", |own| {
        own.seconds as f64
    }),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use iowhy_model::{Edges, Op, Stage};

    use super::super::Standing;
    use super::*;

    /// Metrics with a value for each.
    fn figures() -> Figures {
        let mut figures = Figures::default();
        let device = || "sda".to_string();
        let latencies = Histogram::empty(Edges::standard());
        figures.latencies.insert((device(), Op::Read, Stage::Total), latencies);
        figures.counters.insert((device(), Op::Read), Counters::default());
        figures.named.insert(("container", "web".to_string(), Op::Read), Counters::default());
        figures.in_flight.insert(device(), 0);
        let limit = Limit { device: device(), of_bytes: false, per_s: 1.0 };
        figures.limits.push((limit, [0.5].into()));
        figures.verdicts.insert(device(), Standing::default());
        figures.incidents.insert("none".to_string(), 1);
        figures.known.insert(device());
        figures.names.insert(device(), ["vg-pg".to_string(), "/var/lib/pg".to_string()]);
        figures.own = Some(Own::default());
        figures
    }

    #[test]
    fn names_have_their_unit_and_each_sample_its_labels() {
        let figures = figures();
        for metric in METRICS {
            let total = if metric.kind == Kind::Counter { "_total" } else { "" };
            let end = format!("{}{total}", metric.unit.suffix());
            assert!(metric.name.ends_with(&end), "{} does not end with {end}", metric.name);
            let samples = metric.samples(&figures);
            assert_eq!(samples.len(), 1, "{} is written by nothing", metric.name);
            for (labels, value) in samples {
                assert_eq!(labels.len(), metric.labels.len(), "{}", metric.name);
                let is_histogram = matches!(value, Value::Latencies(_));
                assert_eq!(is_histogram, metric.kind == Kind::Histogram, "{}", metric.name);
            }
        }
        let names: BTreeSet<&str> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len(), "one is there twice");
    }

    #[test]
    fn dotted_names_carry_no_unit() {
        for (name, dotted, unit) in [
            ("iowhy_latency_seconds", "iowhy.latency", "s"),
            ("iowhy_waited_seconds_total", "iowhy.waited", "s"),
            ("iowhy_ios_total", "iowhy.ios", "1"),
            ("iowhy_in_flight", "iowhy.in_flight", "1"),
            ("iowhy_resident_bytes", "iowhy.resident", "By"),
            ("iowhy_bytes_total", "iowhy.bytes", "By"),
        ] {
            let metric = METRICS.iter().find(|metric| metric.name == name).expect("a metric");
            assert_eq!((metric.dotted().as_str(), metric.unit.symbol()), (dotted, unit));
        }
    }

    /// The table of docs/MANUAL.md.
    #[test]
    fn the_manual_lists_them() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/MANUAL.md");
        let before = std::fs::read_to_string(&path).expect("the manual");
        let mut table = "| Prometheus | OpenTelemetry, unit | type | labels | what it is |\n\
                         |---|---|---|---|---|\n"
            .to_string();
        for metric in METRICS {
            let (dotted, unit) = (metric.dotted(), metric.unit.symbol());
            let kind = format!("{:?}", metric.kind).to_lowercase();
            let (name, labels, help) = (metric.name, metric.labels.join(", "), metric.help);
            table += &format!("| `{name}` | `{dotted}`, {unit} | {kind} | {labels} | {help} |\n");
        }
        let (head, rest) = before.split_once("<!-- metrics -->\n").expect("a mark");
        let (_, tail) = rest.split_once("<!-- end metrics -->").expect("an end");
        let manual = format!("{head}<!-- metrics -->\n{table}<!-- end metrics -->{tail}");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            return std::fs::write(path, manual).expect("it is written");
        }
        assert!(manual == before, "docs/MANUAL.md is not what METRICS says: set UPDATE_GOLDEN=1");
    }
}
