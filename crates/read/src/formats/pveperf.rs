//! pveperf: reads, seeks and durable writes of a Proxmox VE host's storage.
//!
//! ## Reads
//! `BUFFERED READS` (sequential reads of the device), `AVERAGE SEEK TIME` (one random read after
//! another) and `FSYNCS/SECOND` (one small write made durable after another). The device is the one
//! in brackets after `HD SIZE`.
//!
//! ## How to capture
//! `pveperf`, `pveperf /var/lib/vz`.
//!
//! ## Versions
//! Proxmox VE 2 to 9. On ZFS and on network storage only `FSYNCS/SECOND` is printed.
//!
//! ## Caveats
//! A rate of fsyncs is the inverse of their mean time, the file system's own work included.
//! Thousands per second end in a cache, protected or not. Each value covers a few seconds, on a
//! host that may be in use. `BOGOMIPS`, `REGEX` and `DNS` are not about storage.
//!
//! ## Not in this output
//! Single latencies, what else used the device.

use iowhy_model::typed::{BytesPerSecond, PageCache};

use crate::describe::report::*;
use crate::describe::table::MIB;

pub(super) const FORMAT: Format =
    Format::labels("reads, seeks and fsyncs of a Proxmox host", Level::A, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "pveperf",
    lines: &[
        begins("^CPU BOGOMIPS{ }:{:n}$", |_, _, _| Some(()))
            .opens_record()
            .like(&["CPU BOGOMIPS:      57471.52"]),
        begins("^HD SIZE{ }:{:n} GB ({path:text})$", |found, report, _| {
            let path = found.text("path")?.trim();
            let name = path.strip_prefix("/dev/").unwrap_or(path);
            report.name(name.strip_prefix("mapper/").unwrap_or(name))
        })
        .like(&["HD SIZE:           64.27 GB (/dev/mapper/pve-root)"]),
        begins("^BUFFERED READS{ }:{n:n} MB/sec", |found, report, _| {
            report.keep("reads", found.number("n")? * MIB)
        })
        .like(&["BUFFERED READS:    240.00 MB/sec"]),
        begins("^AVERAGE SEEK TIME{ }:{n:n} ms", |found, report, _| {
            report.keep("seeks", 1e3 / found.positive("n")?)
        })
        .like(&["AVERAGE SEEK TIME: 0.24 ms"]),
        begins("^FSYNCS/SECOND{ }:{n:n}$", |found, report, _| {
            report.keep("fsyncs", found.positive("n")?)
        })
        .like(&["FSYNCS/SECOND:     500.00"]),
        begins("^{REGEX/SECOND|HD SIZE|DNS EXT|DNS INT}{ }:{:n}", |_, _, _| Some(())).like(&[
            "REGEX/SECOND:      3824412", "HD SIZE:           64.27 GB",
            "DNS EXT:           54.79 ms", "DNS INT:           278.41 ms (example.org)",
        ]),
    ],
    cut: &[
        "CPU BOGOMIPS:", "REGEX/SECOND:", "HD SIZE:", "BUFFERED READS:", "AVERAGE SEEK TIME:",
        "FSYNCS/SECOND:", "DNS EXT:", "DNS INT:",
    ],
    end: Some(emit),
    ..Labels::NEW
};

fn emit(run: &mut Report, sink: &mut dyn Sink) {
    let [reads, seeks, fsyncs] = ["reads", "seeks", "fsyncs"].map(|what| run.kept(what));
    if reads.or(seeks).or(fsyncs).is_none() {
        return;
    }
    let device = run.device(sink);
    let mut interval = Interval::new(device, Layer::Application);
    let known = [(Op::Read, seeks), (Op::Flush, fsyncs)];
    let known = known.into_iter().filter_map(|(op, per_s)| Some((op, one_by_one(per_s?))));
    interval.rates.extend(known);
    if !interval.rates.is_empty() {
        sink.interval(interval);
    }
    if let Some(per_s) = fsyncs {
        sink.add_fact(device, typed::FLUSH_TIME, Nanos::from_us((1e6 / per_s).round()));
    }
    if let Some(reads) = reads {
        sink.add_fact(device, typed::RUN_THROUGHPUT, BytesPerSecond(reads.round()));
        sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
    }
}
