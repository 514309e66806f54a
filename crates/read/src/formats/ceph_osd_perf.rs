//! ceph osd perf: the mean commit and apply latency of each OSD.
//!
//! ## Reads
//! The table `osd  commit_latency(ms)  apply_latency(ms)`, sorted or not. Each row becomes the mean
//! latency of writes of `osd.N`, as Ceph sees them, and the fact `ceph.commit`.
//!
//! ## How to capture
//! `ceph osd perf` on any Ceph; with rook from its toolbox.
//!
//! ## Versions
//! Since Luminous both columns are the same for BlueStore. Older releases write
//! `fs_commit_latency(ms) fs_apply_latency(ms)`.
//!
//! ## Caveats
//! A value is a mean over the last few seconds that the OSD reported, in whole milliseconds; 0
//! means idle or below a millisecond. It is the latency of the OSD's store: its device, its flushes
//! and its own threads together. OSDs of different classes (HDD, SSD) are not peers.
//!
//! ## Not in this output
//! Rates, reads, the device of an OSD (see `ceph device ls`), the latency of the device itself.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("mean commit latency of each OSD", Level::A, &LABELS);

static LABELS: Labels = Labels {
    lines: &[
        begins("^osd{|id} {*}commit_latency(ms) {*}apply_latency(ms)$", |_, _, _| Some(())).like(
            &[
                "osd commit_latency(ms) apply_latency(ms)",
                "osdid fs_commit_latency(ms) fs_apply_latency(ms)",
            ],
        ),
        says("^{osd:u} {commit:word} {apply:word}$", |found, _, sink| {
            let commit = decimal(found.text("commit")?)?;
            decimal(found.text("apply")?)?;
            let device = sink.device(&format!("osd.{}", found.count("osd")?));
            let mut interval = Interval::new(device, Layer::Application);
            interval.await_ns = Some(commit * 1e6).filter(|ns| *ns > 0.0);
            sink.interval(interval);
            sink.add_fact(device, typed::CEPH_COMMIT, Nanos::from_ms(commit));
            Some(())
        })
        .like(&["12                 31                31"]),
    ],
    ..Labels::NEW
};
