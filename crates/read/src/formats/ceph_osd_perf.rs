//! ceph osd perf: the mean commit and apply latency of each OSD.
//!
//! ## Reads
//! The table `osd  commit_latency(ms)  apply_latency(ms)`, sorted or not. Each row becomes the mean
//! latency of writes of `osd.N`, as Ceph sees them, and the fact `ceph.commit`.
//!
//! ## Where it comes from
//! `ceph osd perf` on any Ceph; with rook from its toolbox.
//!
//! ## Versions
//! Since Luminous both columns are the same for BlueStore. Older releases write
//! `fs_commit_latency(ms) fs_apply_latency(ms)`.
//!
//! ## Traps
//! A value is a mean over the last few seconds that the OSD reported, in whole milliseconds; 0 is an
//! OSD at rest or below a millisecond. It is the latency of the OSD's store: its device, its flushes
//! and its own threads together. OSDs of different classes (HDD, SSD) are no peers.
//!
//! ## Cannot know
//! Rates, reads, which device an OSD has (`ceph device ls` tells), what the device itself did.
//! Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "ceph-osd-perf",
    summary: "ceph osd perf: mean commit latency of each OSD",
    manual: iowhy_model::manual!("ceph_osd_perf.rs"),
    level: Level::A,
    sniff: |lines| lines.first().is_some_and(|line| is_heading(line)).into(),
    reader: || Box::new(CephOsdPerf),
};

const NS_PER_MS: f64 = 1e6;

fn is_heading(line: &str) -> bool {
    if !line.contains("commit_latency(ms)") {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    matches!(words[..], [osd, commit, apply]
        if (osd == "osd" || osd == "osdid")
            && commit.ends_with("commit_latency(ms)")
            && apply.ends_with("apply_latency(ms)"))
}

struct CephOsdPerf;

impl Reader for CephOsdPerf {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_heading(line) || line.trim().is_empty() {
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [osd, commit, apply] = words[..] else { return Step::Passed };
        let Some(osd) = integer(osd) else { return Step::Passed };
        let (Some(commit), Some(_)) = (decimal(commit), decimal(apply)) else {
            return Step::Skipped("the latencies are no numbers".to_string());
        };
        let device = sink.device(&format!("osd.{osd}"));
        let mut interval = Interval::new(device, Layer::Application);
        interval.await_ns = Some(commit * NS_PER_MS).filter(|ns| *ns > 0.0);
        sink.interval(interval);
        sink.add_fact(device, typed::CEPH_COMMIT, Nanos::from_ms(commit));
        Step::Took
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn each_osd_has_its_mean() {
        let recording = read(
            "osd  commit_latency(ms)  apply_latency(ms)\n  4                 17                 17\n  \
             0                660                660\n  3                  -                  -\n",
        );
        let listing = &recording.listings[0];
        let waits: Vec<_> = listing.intervals.iter().map(|row| row.await_ns).collect();
        assert_eq!(waits, [Some(17e6), Some(660e6)]);
        assert_eq!((listing.source.skipped, recording.devices()[1].name.as_str()), (1, "osd.0"));
    }
}
