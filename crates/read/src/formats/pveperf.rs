//! pveperf: reads, seeks and durable writes of a Proxmox VE host's storage.
//!
//! ## Reads
//! `BUFFERED READS` (sequential reads of the device), `AVERAGE SEEK TIME` (one random read after another) and
//! `FSYNCS/SECOND` (one small write made durable after another). The device is the one in brackets behind `HD SIZE`.
//!
//! ## Where it comes from
//! `pveperf`, `pveperf /var/lib/vz`.
//!
//! ## Versions
//! Proxmox VE 2 to 9. On ZFS and on network storage only `FSYNCS/SECOND` is printed.
//!
//! ## Traps
//! A rate of fsyncs is the reverse of their mean time, the file system's own work included. Thousands a second end in a
//! cache, safe or not. Each figure is of a few seconds, on a host that may be in use. `BOGOMIPS`, `REGEX` and `DNS` are not
//! about storage.
//!
//! ## Cannot know
//! Single latencies, what else used the device. Whether whole lines are missing: they bear no numbers.

use iowhy_model::typed::{BytesPerSecond, PageCache};
use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "pveperf",
    summary: "pveperf: reads, seeks and fsyncs of a Proxmox host",
    manual: iowhy_model::manual!("pveperf.rs"),
    level: Level::A,
    sniff: |lines| lines.first().is_some_and(|line| figure(line).is_some()).into(),
    reader: || Box::new(Pveperf::default()),
};

const MIB: f64 = 1024.0 * 1024.0;
const NS_PER_MS: f64 = 1e6;
/// Labels, and the units behind their figures.
const LABELS: [(&str, &str); 8] = [
    ("CPU BOGOMIPS", ""),
    ("REGEX/SECOND", ""),
    ("HD SIZE", "GB"),
    (READS, "MB/sec"),
    (SEEK, "ms"),
    (FSYNCS, ""),
    ("DNS EXT", "ms"),
    ("DNS INT", "ms"),
];
const READS: &str = "BUFFERED READS";
const SEEK: &str = "AVERAGE SEEK TIME";
const FSYNCS: &str = "FSYNCS/SECOND";

/// `AVERAGE SEEK TIME: 0.24 ms`: the label, the figure, what stands in brackets behind it.
fn figure(line: &str) -> Option<(&'static str, f64, Option<&str>)> {
    let (label, rest) = line.trim().split_once(':')?;
    let (label, unit) = LABELS.iter().find(|(known, _)| *known == label.trim())?;
    let (rest, bracket) = rest
        .split_once('(')
        .map_or((rest, None), |(rest, inside)| (rest, inside.strip_suffix(')')));
    let value = rest.trim().strip_suffix(unit)?;
    Some((label, decimal(value.trim()).filter(|value| *value >= 0.0)?, bracket))
}

#[derive(Default)]
struct Pveperf {
    device: Option<String>,
    reads: Option<f64>,
    seek_ns: Option<f64>,
    fsyncs: Option<f64>,
}

impl Reader for Pveperf {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((label, value, bracket)) = figure(line) else {
            let text = line.trim();
            let known =
                LABELS.iter().any(|(label, _)| text.starts_with(label) && text.contains(':'));
            return match text {
                "" => Step::Took,
                _ if known => {
                    Step::Skipped("the figure behind the label cannot be read".to_string())
                }
                _ => Step::Passed,
            };
        };
        match label {
            // A second run begins.
            "CPU BOGOMIPS" => self.pour(sink),
            "HD SIZE" => {
                let path = bracket.unwrap_or_default().trim();
                let name = path.strip_prefix("/dev/").unwrap_or(path);
                self.device = Some(name.strip_prefix("mapper/").unwrap_or(name).to_string());
            }
            READS => self.reads = Some(value * MIB),
            SEEK => self.seek_ns = Some(value * NS_PER_MS),
            FSYNCS => self.fsyncs = Some(value),
            _ => {}
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.pour(sink);
    }
}

impl Pveperf {
    fn pour(&mut self, sink: &mut dyn Sink) {
        let run = std::mem::take(self);
        let fsyncs = run.fsyncs.filter(|per_s| *per_s > 0.0);
        let seek_ns = run.seek_ns.filter(|ns| *ns > 0.0);
        if fsyncs.is_none() && seek_ns.is_none() && run.reads.is_none() {
            return;
        }
        let name = run.device.filter(|name| !name.is_empty());
        let device = sink.device(name.as_deref().unwrap_or("pveperf"));
        let mut interval = Interval::new(device, Layer::Application);
        let known = seek_ns.and_then(|ns| rates(Some(1e9 / ns), None, Some(ns)));
        interval.rates.extend(known.map(|rates| (Op::Read, rates)));
        let known = fsyncs.and_then(|per_s| rates(Some(per_s), None, Some(1e9 / per_s)));
        interval.rates.extend(known.map(|rates| (Op::Flush, rates)));
        if !interval.rates.is_empty() {
            sink.interval(interval);
        }
        if let Some(per_s) = fsyncs {
            sink.add_fact(device, typed::FLUSH_TIME, Nanos::from_us((1e6 / per_s).round()));
        }
        if let Some(reads) = run.reads {
            sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(reads.round()));
            sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;

    #[test]
    fn each_figure_becomes_what_it_measures() {
        let recording = recorded(
            "CPU BOGOMIPS:      57471.52\nREGEX/SECOND:      3824412\nHD SIZE:           64.27 GB (/dev/mapper/pve-root)\n\
             BUFFERED READS:    240.00 MB/sec\nAVERAGE SEEK TIME: 0.25 ms\nFSYNCS/SECOND:     500.00\n\
             DNS EXT:           54.79 ms\nDNS INT:           278.41 ms (example.org)\n",
        );
        let listing = &recording.listings[0];
        let [row] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        assert_eq!(row.of(Op::Read).unwrap().await_ns, Some(250e3));
        assert_eq!(row.of(Op::Flush).unwrap().await_ns, Some(2e6));
        assert_eq!(recording.devices()[0].name, "pve-root");
        assert_eq!(figure("FSYNCS/SECOND: many"), None);
    }
}
