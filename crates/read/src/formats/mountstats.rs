//! Copies of `/proc/self/mountstats`: requests of NFS mounts, their round trips and repetitions.
//!
//! ## Reads
//! Of each NFS mount the age, the connections (`xprt:`, requests sent and replies received) and the
//! rows of the operations. Reads and writes have rates and sizes, COMMIT counts as a flush, all
//! other operations together as `other`. The mean latency is the execution time: the client's
//! queue, the network and the server. The time in the queue and the round trip alone are kept
//! beside it. The device is the export, `server:/path`. Two copies in one input give the averages
//! between them.
//!
//! ## How to capture
//! `cat /proc/self/mountstats; sleep 10; cat /proc/self/mountstats`; `iowhy why` reads the file
//! itself every second while it watches.
//!
//! ## Versions
//! Linux 2.6.17 to 6.18; statvers 1.0 and 1.1; TCP, UDP and RDMA.
//!
//! ## Caveats
//! One copy alone is the average since the file system was mounted. Times are whole milliseconds. A
//! request that has not been answered is in no sum: how many were sent and not answered is known of
//! TCP and UDP only. Replies that are older than a remount are lost with it.
//!
//! ## Not in this output
//! What the server's disks did. Single latencies. Who waits.

use std::collections::HashMap;

use iowhy_model::{Level, Medium, Nanos, Note, Sink, typed};

use crate::counters::mountstats::{MountCounters, MountLine, MountReader, is_nfs, parse_mount};
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "mountstats",
    summary: "copies of /proc/self/mountstats: NFS requests, round trips and repetitions",
    manual: iowhy_model::manual!("mountstats.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &[" mounted on "],
        sniff: |lines| lines.first().is_some_and(|line| begins(line)).into(),
        reader: || Box::<Mounts>::default(),
    },
};

const NS_PER_S: i64 = 1_000_000_000;

/// Whether a mount of NFS begins.
fn begins(line: &str) -> bool {
    parse_mount(line).is_some_and(|(_, _, kind)| is_nfs(kind))
}

#[derive(Default)]
struct Mounts {
    reader: MountReader,
    /// What each mount had counted when it was last met, by its mount point.
    before: HashMap<String, MountCounters>,
}

impl Mounts {
    fn pour(&mut self, mount: Option<Box<MountCounters>>, sink: &mut dyn Sink) {
        let Some(now) = mount.map(|mount| *mount) else { return };
        let device = sink.device(&now.export);
        let then = self.before.insert(now.point.clone(), now.clone());
        let age = |of: &MountCounters| of.age_s.and_then(|s| i64::try_from(s).ok());
        let since_mount = MountCounters::default();
        let length = match &then {
            Some(then) => age(&now).zip(age(then)).map(|(now, then)| now.saturating_sub(then)),
            None => age(&now),
        };
        let length = Nanos(length.unwrap_or(0).saturating_mul(NS_PER_S));
        let Some(mut interval) = now.since(then.as_ref().unwrap_or(&since_mount), device, length)
        else {
            let reason = match then.is_some() {
                true => "mounted anew, or no second between two copies: no averages",
                false => "how long it has been mounted is not known: no averages",
            };
            return note(sink, &now.export, reason);
        };
        if then.is_none() {
            sink.set_medium(device, Medium::Network);
            sink.add_fact(device, typed::MOUNT_POINT, now.point.as_str());
            sink.add_fact(device, typed::MOUNT_TYPE, now.kind.as_str());
            note(sink, &now.export, "the first copy counts since the file system was mounted");
            interval.since_boot = true;
        } else {
            let (repeated, timeouts) = now.repeated();
            let (before, timed_out) = then.map(|then| then.repeated()).unwrap_or_default();
            sink.add_fact(device, typed::RPC_REPEATED, repeated.saturating_sub(before));
            sink.add_fact(device, typed::RPC_TIMEOUTS, timeouts.saturating_sub(timed_out));
        }
        sink.interval(interval);
    }
}

fn note(sink: &mut dyn Sink, export: &str, reason: &str) {
    sink.note(Note { line: 0, text: export.to_string(), reason: reason.to_string() });
}

impl Reader for Mounts {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        match self.reader.line(line) {
            MountLine::Begins(done) => {
                self.pour(done, sink);
                Step::Took
            }
            MountLine::Part => Step::Took,
            MountLine::Damaged => Step::Skipped("a value of the row is not a number".to_string()),
            MountLine::Foreign => Step::Passed,
        }
    }

    // A second copy begins like the first, and counts on from it.
    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let last = self.reader.finish();
        self.pour(last, sink);
    }
}
