//! Requests that the servers of FUSE mounts have not answered, and the programs that wait for them.
//!
//! ## Watches
//! `/sys/fs/fuse/connections/*/waiting`: the requests of each FUSE file system that its server has
//! not answered. A busy server has some at every moment, so their number alone shows nothing. If
//! there are any when the watch begins, every task is examined once: its call, the mount of its
//! file, and how often it has slept. As long as that count does not change, the task is still in
//! the same wait.
//!
//! ## Needs
//! fusectl mounted on `/sys/fs/fuse/connections` (systemd does), and root; other users see their
//! own mounts and programs.
//!
//! ## Costs
//! One small file per FUSE mount at the start. If requests wait then: two to five small files per
//! task, once, and one per waiting task and sample. No file of the mount is touched, so a server
//! that hangs does not hang iowhy.
//!
//! ## Not in this output
//! Programs that began to wait after the watch began: iowhy has dropped the right to inspect them.
//! The collector `server-calls` counts their reads, writes and fsyncs; for calls by path watch
//! again. Page faults of mapped files. Locks, which
//! wait by design.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use iowhy_model::Order as _;
use iowhy_model::typed::OfProcess;
use iowhy_model::{Fact, Level, Sampling, Sink, Source, Time, typed};

use crate::mount_points::MountPoints;
use crate::waiting_tasks::{WaitingTask, waiting_tasks};
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "fuse-waits";

const CONNECTIONS: &str = "sys/fs/fuse/connections";
/// Where a task waits for the reply to a request that it sent itself (fs/fuse/dev.c).
const OF_A_REQUEST: &str = "request_wait_answer";

/// Watches the connections of this machine's FUSE mounts.
#[derive(Debug)]
pub struct FuseWaits {
    root: PathBuf,
    began: Time,
    connections: Vec<Connection>,
    waiting: Vec<WaitingTask>,
    /// When they were last seen to wait.
    seen: Time,
    mounts: MountPoints,
    listing: Option<usize>,
}

/// One mounted FUSE file system.
#[derive(Debug)]
struct Connection {
    /// The number of its superblock, which is its name in fusectl.
    number: u32,
    /// The file with the number of its requests that wait.
    path: PathBuf,
    /// That file, opened and not read: later there may be no right to open it, and the kernel lets
    /// it be read once (fs/fuse/control.c: not seekable).
    unread: Option<File>,
    /// Its requests without a reply when that was last read.
    requests: Option<u64>,
}

impl FuseWaits {
    /// Of this machine with `/`, else of a folder with `proc` and `sys` in it.
    pub fn new(root: &Path) -> Self {
        let zero = Time::from_ns(0);
        FuseWaits {
            root: root.to_path_buf(),
            began: zero,
            connections: Vec::new(),
            waiting: Vec::new(),
            seen: zero,
            mounts: MountPoints::default(),
            listing: None,
        }
    }

    /// Those whose file may be opened; none where fusectl is not mounted.
    fn connect(&mut self) {
        let folders = fs::read_dir(self.root.join(CONNECTIONS)).into_iter().flatten().flatten();
        self.connections = folders
            .filter_map(|folder| {
                let number = folder.file_name().to_str()?.parse().ok()?;
                let path = folder.path().join("waiting");
                let mut found = Connection { number, path, unread: None, requests: None };
                found.read();
                found.requests.map(|_| found)
            })
            .collect();
        self.connections.order_by_key(|connection| connection.number);
    }

    /// Looks at every task once.
    fn look(&mut self) {
        let busy: Vec<u32> = self.connections.iter().filter_map(Connection::busy).collect();
        self.waiting = waiting_tasks(&self.root, &busy, |at| at == OF_A_REQUEST);
    }

    /// Forgets those that have run since then.
    fn look_again(&mut self) {
        self.waiting.retain(WaitingTask::still_waits);
        self.connections.iter_mut().for_each(Connection::read);
        self.seen = clock::now();
    }

    /// Emits what waits now into the open listing.
    fn add_facts(&self, sink: &mut dyn Sink) {
        let waited = self.seen - self.began;
        for connection in &self.connections {
            let of_it: Vec<&WaitingTask> = self.waiting_for(connection).collect();
            let Some(mount) = self.mounts.of(connection.number) else { continue };
            let Some(first) = of_it.first() else { continue };
            let who = format!("{} ({})", first.comm, first.process);
            let (longest, tasks) = (OfProcess { value: waited, who }, of_it.len() as u64);
            let of = mount.place;
            let (status, call) = ("/proc/PID/status", "/proc/PID/syscall");
            sink.fact(Fact::of(None, typed::FUSE_LONGEST.member(&of), longest, status));
            sink.fact(Fact::of(None, typed::FUSE_TASKS.member(&of), tasks, call));
            if let Some(requests) = connection.requests {
                let read_from = format!("/{CONNECTIONS}/{}/waiting", connection.number);
                sink.fact(Fact::of(None, typed::FUSE_WAITING.member(&of), requests, read_from));
            }
        }
    }

    /// Tasks that still wait for it; none if every request was answered.
    fn waiting_for(&self, connection: &Connection) -> impl Iterator<Item = &WaitingTask> {
        let (number, answered) = (connection.number, connection.requests == Some(0));
        self.waiting.iter().filter(move |task| task.system == number && !answered)
    }

    fn has_any(&self) -> bool {
        self.connections.iter().any(|known| self.waiting_for(known).next().is_some())
    }

    fn begin_listing(&self, sink: &mut dyn Sink) -> usize {
        let mut source = Source::new(NAME, "live", Level::E);
        source.sampling = Sampling::Sampled;
        source.watched = Some(self.seen - self.began);
        let listing = sink.begin(source);
        clock::add_clock(sink, self.began);
        listing
    }
}

impl Collector for FuseWaits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        self.began = clock::now();
        self.seen = self.began;
        self.connect();
        if !self.connections.is_empty() {
            self.mounts = MountPoints::read();
            self.look();
        }
        Ok(())
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        if !self.waiting.is_empty() {
            self.look_again();
        }
        Ok(())
    }

    fn snapshot(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.poll(sink)?;
        if self.has_any() {
            self.begin_listing(sink);
            self.add_facts(sink);
            sink.end();
        }
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.poll(sink)?;
        if self.listing.is_none() && self.has_any() {
            self.listing = Some(self.begin_listing(sink));
            self.add_facts(sink);
            sink.end();
        }
        Ok(())
    }
}

impl Connection {
    /// Reads how many of its requests have no reply; unknown if the right to open the file is gone.
    fn read(&mut self) {
        let open = || File::open(&self.path).ok();
        let file = self.unread.take().or_else(open);
        self.requests = file.and_then(|mut file| {
            let mut text = String::new();
            file.read_to_string(&mut text).ok()?;
            text.trim().parse().ok()
        });
        self.unread = open();
    }

    /// Its number, if any request waits.
    fn busy(&self) -> Option<u32> {
        self.requests.filter(|requests| *requests > 0).map(|_| self.number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use iowhy_model::{Recording, key};

    use super::*;

    /// A folder that looks like a machine and goes away with its guard.
    struct Machine(PathBuf);

    impl Machine {
        fn new() -> Machine {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("iowhy-fuse-{}-{number}", std::process::id());
            Machine(std::env::temp_dir().join(name))
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A process with one task in a call, and its file 3 on this file system.
        fn process(&self, pid: u32, syscall: &str, minor: u32) {
            let task = format!("proc/{pid}/task/{pid}");
            self.write(&format!("{task}/syscall"), syscall);
            self.write(&format!("{task}/fdinfo/3"), "pos:\t0\nflags:\t0100000\nmnt_id:\t31\n");
            self.write(&format!("{task}/wchan"), OF_A_REQUEST);
            self.write(&format!("{task}/comm"), "cat\n");
            let line = format!("31 1 0:{minor} / /mnt/x rw - fuse.sshfs host: rw\n");
            self.write(&format!("proc/{pid}/mountinfo"), &line);
            self.sleeps(pid, "S (sleeping)", 7);
        }

        fn sleeps(&self, pid: u32, state: &str, count: u32) {
            let text = format!("Name:\tcat\nState:\t{state}\nvoluntary_ctxt_switches:\t{count}\n");
            self.write(&format!("proc/{pid}/task/{pid}/status"), &text);
        }

        fn waiting(&self, minor: u32, requests: u32) {
            self.write(&format!("{CONNECTIONS}/{minor}/waiting"), &format!("{requests}\n"));
        }

        /// What a watch reports if this happens between its two samples: tasks and
        /// requests by mount.
        fn watched(&self, meanwhile: impl FnOnce(&Machine)) -> Vec<(String, f64)> {
            let (mut recording, mut waits) = (Recording::new(), FuseWaits::new(&self.0));
            waits.begin(&mut recording).unwrap();
            meanwhile(self);
            waits.poll(&mut recording).unwrap();
            waits.end(&mut recording).unwrap();
            let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
            let wanted = [key::FUSE_TASKS, key::FUSE_WAITING];
            let named = facts.filter_map(|fact| {
                let member = wanted.iter().find_map(|key| fact.key.member_of(*key))?;
                Some((member.to_string(), fact.value.number()?))
            });
            named.collect()
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const READ: &str = "0 0x3 0x7f00 0x1000 0x0 0x0 0x0 0x7ffd 0x7f01\n";

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_task_that_does_not_run_waits_and_one_that_runs_does_not() {
        let machine = Machine::new();
        machine.waiting(4052, 2);
        machine.waiting(4053, 0);
        machine.process(42, READ, 4052);
        machine.process(43, READ, 4052);
        // Of another file system; and one that waits for a lock.
        machine.process(44, READ, 4053);
        machine.process(45, "72 0x3 0x7 0x7f00 0x0 0x0 0x0 0x7ffd 0x7f01\n", 4052);
        let name = "0:4052, not mounted here".to_string();
        let reported = |tasks: f64| vec![(name.clone(), tasks), (name.clone(), 2.0)];
        assert_eq!(machine.watched(|_| ()), reported(2.0));
        assert_eq!(machine.watched(|here| here.sleeps(42, "S (sleeping)", 8)), reported(1.0));
        machine.sleeps(43, "R (running)", 7);
        assert_eq!(machine.watched(|_| ()), reported(1.0));
        let runs = |here: &Machine| here.sleeps(42, "S (sleeping)", 9);
        assert_eq!(machine.watched(runs), vec![]);
        assert_eq!(machine.watched(|here| here.waiting(4052, 0)), vec![]);
        // A call on a path is that of the only file system for which anybody waits.
        machine.waiting(4052, 2);
        machine.process(46, "4 0x7f00 0x7f10 0x0 0x0 0x0 0x0 0x7ffd 0x7f01\n", 4052);
        assert_eq!(machine.watched(|_| ()), reported(2.0));
        machine.waiting(4053, 1);
        let both = machine.watched(|_| ());
        assert_eq!(both.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [1.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn without_fuse_no_process_is_looked_at() {
        let machine = Machine::new();
        machine.process(42, READ, 4052);
        assert_eq!(machine.watched(|_| ()), vec![]);
        machine.waiting(4052, 0);
        assert_eq!(machine.watched(|here| here.waiting(4052, 3)), vec![]);
    }
}
