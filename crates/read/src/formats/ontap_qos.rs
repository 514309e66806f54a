//! NetApp ONTAP qos statistics: rate, throughput and latency of policy groups and volumes.
//!
//! ## Reads
//! The rows of `qos statistics performance show` and `qos statistics volume performance show`:
//! requests per second, bytes per second and mean latency of each policy group or workload.
//!
//! ## How to capture
//! `qos statistics volume performance show -iterations 10`.
//!
//! ## Versions
//! ONTAP 8.2 to 9.
//!
//! ## Caveats
//! The latency is that of the cluster, from the request's arrival to the reply; the network to the
//! client is not in it. A latency of 0 with requests is that of the system's own work. MB are
//! 1024 x 1024 bytes.
//!
//! ## Not in this output
//! Where the time goes (`qos statistics volume latency show`), reads and writes apart.

use crate::describe::report::*;
use crate::text::numbers::time_ns;

pub(super) const FORMAT: Format = Format::labels(
    "NetApp ONTAP qos statistics: latency of policy groups and volumes",
    Level::A,
    &LABELS,
);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^Policy Group IOPS Throughput Latency", |_, _, _| Some(()))
            .like(&["Policy Group             IOPS      Throughput    Latency Is Adaptive?"]),
        perhaps("^{name:word} {iops:u} {rate:word} {latency:word}{*}", row)
            .when(|found| rates(found.line()).is_some())
            .like(&["User-Best-Effort          952       29.76MB/s   503.00us false"]),
    ],
    own: &["^---"],
    ..Labels::NEW
};

/// Name, requests per second, bytes per second and latency in ns of a row; a workload may have
/// its number after the name.
fn rates(line: &str) -> Option<(&str, f64, f64, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| word.ends_with("B/s")).filter(|place| *place >= 2)?;
    let ios = decimal(words.get(place - 1)?).filter(|ios| *ios >= 0.0)?;
    let bytes = bytes(words.get(place)?.strip_suffix("/s")?)?;
    let latency = words.get(place + 1)?;
    Some((words.first()?, ios, bytes, time_ns(latency)?))
}

fn row(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (name, ios, bytes, ns) = rates(found.line())?;
    // The sum of all, and what nobody asked for.
    if name == "-total-" || name.starts_with('_') || ios <= 0.0 {
        return Some(());
    }
    let mut interval = Interval::new(sink.device(name), Layer::Application);
    let await_ns = Some(ns).filter(|ns| *ns > 0.0);
    let rates = Rates { ios_per_s: ios, bytes_per_s: Some(bytes), await_ns, ..Rates::default() };
    interval.mixed = Some(rates);
    sink.interval(interval);
    Some(())
}
