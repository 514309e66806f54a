//! Counters of this machine's NFS mounts: requests, round trips, and requests without a reply.
//!
//! ## Watches
//! `/proc/self/mountstats`: of each NFS mount the reads, writes and other requests, their bytes,
//! the time from sending to the reply and in the client's queue, repetitions, and how many requests
//! were sent and not answered at each sample. Each sample yields the averages since the previous
//! one.
//!
//! Requests without a reply are those sent since the sample with the fewest: what was in flight
//! when a connection broke is sent again, and the kernel counts it as unanswered for ever. Those of
//! before are known by their tasks: what was in a call on the mount when the watch began and has
//! not run since (of several mounts, only in calls with an open file). A client without a
//! connection sends nothing: one that tries to connect has a request that waits.
//!
//! ## Needs
//! Nothing: every user may read the counters of the mounts of their mount namespace, and see their
//! own tasks; root sees all. Without an NFS mount it reports nothing.
//!
//! ## Costs
//! One file per sample, a few kB per mount; the kernel answers from its own counters, so reading
//! does not wait for a server that hangs. Two to five small files per task, once, and one per
//! waiting task and sample.
//!
//! ## Not in this output
//! Mounts of other namespaces (containers), SMB, Ceph and FUSE. Single requests. What the server's
//! disks did.

use std::path::{Path, PathBuf};

use iowhy_model::{Level, Nanos, Sampling, Sink, Source, Time, waits};
use iowhy_read::mountstats::{MountCounters, MountHistory, MountLine, MountReader, Readings};

use crate::mount_points::MountPoints;
use crate::waiting_tasks::{WaitingTask, waiting_tasks};
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "mountstats";

const PATH: &str = "proc/self/mountstats";

/// Reads /proc/self/mountstats.
#[derive(Debug)]
pub struct MountStats {
    root: PathBuf,
    /// The listing, once there is a mount.
    listing: Option<usize>,
    began: Time,
    read: Time,
    history: MountHistory,
    /// Tasks that wait since the beginning, and the numbers of the mounts.
    waiting: Vec<WaitingTask>,
    points: MountPoints,
}

impl MountStats {
    /// For this machine with `/`, else for a folder with `proc` in it.
    pub fn new(root: &Path) -> Self {
        let zero = Time::from_ns(0);
        MountStats {
            root: root.to_path_buf(),
            listing: None,
            began: zero,
            read: zero,
            history: MountHistory::default(),
            waiting: Vec::new(),
            points: MountPoints::default(),
        }
    }

    /// The current mounts; none if the kernel has no NFS.
    fn mounts(&self) -> Vec<MountCounters> {
        let bytes = std::fs::read(self.root.join(PATH)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let mut reader = MountReader::default();
        let mut mounts = Vec::new();
        for line in text.lines() {
            if let MountLine::Begins(Some(mount)) = reader.line(line) {
                mounts.push(*mount);
            }
        }
        mounts.extend(reader.finish().map(|mount| *mount));
        for mount in &mut mounts {
            let number = self.points.number_at(&mount.point);
            let on_it = self.waiting.iter().filter(|task| Some(task.system) == number);
            mount.waiting = on_it.count() as u64;
        }
        mounts
    }

    /// Looks for tasks that wait for a server already.
    fn look(&mut self, mounts: &[MountCounters]) {
        self.points = MountPoints::read_in(&self.root);
        let numbers = mounts.iter().filter_map(|mount| self.points.number_at(&mount.point));
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let asks = |at: &str| waits::server_awaited_in(at) == Some("NFS");
        self.waiting = waiting_tasks(&self.root, &numbers, asks);
    }

    /// Opens the listing, or continues it.
    fn open(&mut self, sink: &mut dyn Sink) {
        if let Some(listing) = self.listing {
            return sink.resume(listing);
        }
        let mut source = Source::new(NAME, "live", Level::A);
        source.sampling = Sampling::Sampled;
        // The kernel sums milliseconds.
        source.resolution = Some(Nanos(1_000_000));
        self.listing = Some(sink.begin(source));
        clock::add_clock(sink, self.began);
    }
}

impl Collector for MountStats {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        self.began = clock::now();
        self.read = self.began;
        let mounts = self.mounts();
        if !mounts.is_empty() {
            self.look(&mounts);
        }
        mounts.into_iter().for_each(|mount| self.history.begin(mount));
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.waiting.retain(WaitingTask::still_waits);
        let (mounts, now) = (self.mounts(), clock::now());
        let length = now - self.read;
        if mounts.is_empty() || length.ns() <= 0 {
            self.read = now;
            return Ok(());
        }
        let start = std::mem::replace(&mut self.read, now);
        self.open(sink);
        for mount in mounts {
            let between = Readings::Watched(start, length);
            self.history.emit(mount, between, "/proc/self/mountstats", sink);
        }
        sink.source().watched = Some(now - self.began);
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.poll(sink)?;
        if let Some(listing) = self.listing {
            sink.resume(listing);
            sink.end();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Op, Recording};

    use super::*;

    const MOUNT: &str = "device proc mounted on /proc with fstype proc\n\
        device server:/e mounted on /mnt with fstype nfs4 statvers=1.1\n\
        \tage:\t100\n\txprt:\ttcp 0 1 1 0 0 SENT 1000 0 1200 0 2 40 500\n\tper-op statistics\n\
        \x20       READ: READS READS 0 90000 2048000 10 5000 5100 0\n";

    #[test]
    fn each_sample_gives_the_averages_since_the_one_before() {
        let place = std::env::temp_dir().join(format!("iowhy-mountstats-{}", std::process::id()));
        std::fs::create_dir_all(place.join("proc/self")).unwrap();
        let write = |sent: &str, reads: &str| {
            let text = MOUNT.replace("SENT", sent).replace("READS", reads);
            std::fs::write(place.join(PATH), text).unwrap();
        };
        let mut recording = Recording::new();
        let mut mounts = MountStats::new(&place);
        write("1000", "500");
        mounts.begin(&mut recording).unwrap();
        write("1007", "504");
        mounts.poll(&mut recording).unwrap();
        mounts.end(&mut recording).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        let [listing] = &recording.listings[..] else { panic!("not one listing") };
        let row = &listing.intervals[0];
        assert_eq!(
            (row.in_flight, recording.device_of(row.device).name.as_str()),
            (Some(7), "server:/e")
        );
        let reads = row.of(Op::Read).unwrap().ios_per_s * row.length.unwrap().seconds();
        assert!((reads - 4.0).abs() < 1e-6, "{reads}");
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_program_that_waits_since_the_beginning_is_a_request_without_a_reply() {
        let place = std::env::temp_dir().join(format!("iowhy-mountwaits-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = place.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        // Nothing is in flight: there is no connection.
        write(PATH, &MOUNT.replace("SENT", "1000").replace("READS", "500"));
        let points =
            "30 1 0:46 / /mnt rw - nfs4 server:/e rw\n31 1 0:47 / /other rw - tmpfs t rw\n";
        write("proc/self/mountinfo", points);
        let process = |pid: u32, call: &str, at: &str| {
            let task = format!("proc/{pid}/task/{pid}");
            let count = "State:\tD (disk sleep)\nvoluntary_ctxt_switches:\t7\n";
            let files = [("syscall", call), ("wchan", at), ("comm", "ls\n"), ("status", count)];
            files.iter().for_each(|(name, text)| write(&format!("{task}/{name}"), text));
        };
        // stat(2) on the mount, and one that waits for a disk.
        process(42, "4 0x7f00 0x7f10 0x0 0x0 0x0 0x0 0x7ffd 0x7f01\n", "rpc_wait_bit_killable");
        process(43, "4 0x7f00 0x7f10 0x0 0x0 0x0 0x0 0x7ffd 0x7f01\n", "folio_wait_bit_common");
        let (mut recording, mut mounts) = (Recording::new(), MountStats::new(&place));
        mounts.begin(&mut recording).unwrap();
        mounts.poll(&mut recording).unwrap();
        let ran = "State:\tD (disk sleep)\nvoluntary_ctxt_switches:\t8\n";
        write("proc/42/task/42/status", ran);
        mounts.end(&mut recording).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        let rows = &recording.listings[0].intervals;
        assert_eq!(rows.iter().map(|row| row.in_flight).collect::<Vec<_>>(), [Some(1), Some(0)]);
    }

    #[test]
    fn without_a_mount_nothing_is_opened() {
        let mut recording = Recording::new();
        let mut mounts = MountStats::new(Path::new("/nowhere"));
        mounts.begin(&mut recording).unwrap();
        mounts.poll(&mut recording).unwrap();
        mounts.end(&mut recording).unwrap();
        assert!(recording.listings.is_empty());
    }
}
