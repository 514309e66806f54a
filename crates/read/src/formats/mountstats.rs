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
//! request without a reply is in no sum: the number of requests without a reply is known for TCP
//! and UDP only. A remount resets these counts.
//!
//! ## Not in this output
//! What the server's disks did. Single latencies. The waiting processes.

use crate::counters::mountstats::{
    MountCounters, MountHistory, MountLine, MountReader, Readings, is_nfs, parse_mount,
};
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<Mounts>(
    "copies of /proc/self/mountstats: NFS requests, round trips and repetitions",
    Level::A,
    &[" mounted on "],
    begins,
)
.resumed();

/// Whether a mount of NFS begins.
fn begins(line: &str) -> bool {
    parse_mount(line).is_some_and(|(_, _, kind)| is_nfs(kind))
}

#[derive(Default)]
struct Mounts {
    reader: MountReader,
    history: MountHistory,
}

impl Mounts {
    fn emit(&mut self, mount: Option<Box<MountCounters>>, sink: &mut dyn Sink) {
        let place = sink.source().place();
        if let Some(mount) = mount {
            self.history.emit(*mount, Readings::ByAge, &place, sink);
        }
    }
}

impl Reader for Mounts {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        match self.reader.line(line) {
            MountLine::Begins(done) => {
                self.emit(done, sink);
                Step::Consumed
            }
            MountLine::Part => Step::Consumed,
            MountLine::Damaged => Step::skipped("a value of the row is not a number"),
            MountLine::Other => Step::NotMine,
        }
    }

    // A second copy begins like the first, and counts on from it.
    fn finish(&mut self, sink: &mut dyn Sink) {
        let last = self.reader.finish();
        self.emit(last, sink);
    }
}
