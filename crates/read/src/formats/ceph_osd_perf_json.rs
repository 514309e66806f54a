//! ceph osd perf in JSON: the mean commit and apply latency of each OSD.
//!
//! ## Reads
//! `osd_perf_infos` of `ceph osd perf -f json` or `json-pretty`, also truncated. Each OSD becomes
//! the mean latency of writes of `osd.N`, as Ceph sees them, and the fact `ceph.commit`, exactly as
//! of the printed table.
//!
//! ## How to capture
//! `ceph osd perf -f json-pretty`; support archives of Ceph and rook.
//!
//! ## Versions
//! Since Nautilus the list is inside `osdstats` and latencies are in nanoseconds, too; before, in
//! milliseconds only. Where both are present, nanoseconds are used.
//!
//! ## Caveats
//! A value is a mean over the last few seconds that the OSD reported; 0 means idle or below a
//! millisecond. It is the latency of the OSD's store: its device, its flushes and its own threads
//! together. OSDs of different classes (HDD, SSD) are not peers.
//!
//! ## Not in this output
//! Rates, reads, the device of an OSD (see `ceph device ls`), the latency of the device itself.

use serde_json::Value;

use crate::describe::document::Content;
use crate::program::*;

pub(super) const FORMAT: Format = Format::document::<CephOsdPerf>(
    "ceph osd perf -f json: mean commit latency of each OSD",
    Level::A,
);

const NS_PER_MS: f64 = 1e6;

#[derive(Default)]
struct CephOsdPerf;

impl Content for CephOsdPerf {
    const KEYS: &[&str] = &["\"osd_perf_infos\""];
    const LIST: Option<&str> = Some("\"osd_perf_infos\"");
    const TRUNCATED: &str = "the document is truncated";

    fn element(&mut self, osd: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        let id = osd.get("id").and_then(Value::as_u64).ok_or("an OSD without a number")?;
        let of = |key| osd.get("perf_stats")?.get(key)?.as_f64().filter(|value| *value >= 0.0);
        let ms = || Some(of("commit_latency_ms")? * NS_PER_MS);
        let known = of("commit_latency_ns").or_else(ms);
        let commit_ns = known.ok_or("the latencies are not numbers")?;
        let device = sink.device(&format!("osd.{id}"));
        let mut interval = Interval::new(device, Layer::Application);
        interval.await_ns = Some(commit_ns).filter(|ns| *ns > 0.0);
        sink.interval(interval);
        sink.add_fact(device, typed::CEPH_COMMIT, Nanos(commit_ns.round() as i64));
        Ok(())
    }
}
