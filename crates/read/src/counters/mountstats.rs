//! What the kernel counts for an NFS mount, as `/proc/self/mountstats` prints it, and what
//! happened between two readings.
//!
//! Layout: fs/nfs/super.c (`nfs_show_stats`), net/sunrpc/stats.c (`rpc_clnt_show_stats`) and
//! net/sunrpc/xprtsock.c (`xs_tcp_print_stats`). Each operation has its operations, transmissions,
//! major timeouts, bytes sent and received, and three sums in milliseconds: in the client's queue,
//! from sending to the reply (RTT), and both with the client's own work (execution). All count
//! since the file system was mounted.

use std::collections::{HashMap, HashSet};

use iowhy_model::{
    DeviceId, Fact, Interval, Layer, Medium, Nanos, Note, Op, Rates, Sink, Time, typed,
};

use crate::integer;

/// The two transports that count requests and replies, and after their names the position of these
/// counters and of the attempts to connect.
const TRANSPORTS: [(&str, usize, Option<usize>); 2] = [("tcp", 5, Some(2)), ("udp", 2, None)];
const NS_PER_MS: f64 = 1e6;
const NS_PER_S: i64 = 1_000_000_000;

/// One kind of request since the mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Requests {
    done: u64,
    sent: u64,
    timeouts: u64,
    bytes: u64,
    queue_ms: u64,
    rtt_ms: u64,
    exe_ms: u64,
}

/// One reading of one mount.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MountCounters {
    /// What is mounted: `server:/path`.
    pub export: String,
    /// Where.
    pub point: String,
    /// `nfs` or `nfs4`.
    pub kind: String,
    /// Seconds since it was mounted.
    pub age_s: Option<u64>,
    /// Requests sent, and replies that came, over all connections of the mount.
    transport: Option<(u64, u64)>,
    /// Attempts to connect, of all connections.
    attempts: u64,
    /// Tasks that wait for the server, where a watcher sees them.
    pub waiting: u64,
    /// By operation.
    by_op: [Requests; 4],
}

/// The operations that are distinguished: COMMIT is a flush of the server's cache.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Flush, Op::Other];

/// What a line was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MountLine {
    /// It begins a mount; the one before it is complete.
    Begins(Option<Box<MountCounters>>),
    /// It is part of a mount.
    Part,
    /// It should be, but a number in it is invalid.
    Damaged,
    /// Not part of this file.
    Other,
}

/// Reads the file line by line.
#[derive(Clone, Debug, Default)]
pub struct MountReader {
    mount: Option<Box<MountCounters>>,
    /// Whether the rows of the operations have begun.
    rows: bool,
}

/// The parts of the line that begins a mount: what is mounted, where, and as what.
pub fn parse_mount(line: &str) -> Option<(&str, &str, &str)> {
    let rest = line.strip_prefix("device ")?;
    let (export, rest) = rest.split_once(" mounted on ")?;
    let (point, kind) = rest.split_once(" with fstype ")?;
    Some((export, point, kind.split_whitespace().next()?))
}

/// Whether a file system of that kind has such counters.
pub fn is_nfs(kind: &str) -> bool {
    matches!(kind, "nfs" | "nfs4")
}

impl MountReader {
    /// Takes a line.
    pub fn line(&mut self, line: &str) -> MountLine {
        if let Some((export, point, kind)) = parse_mount(line) {
            let begun = is_nfs(kind).then(|| {
                Box::new(MountCounters {
                    export: export.to_string(),
                    point: point.to_string(),
                    kind: kind.to_string(),
                    ..MountCounters::default()
                })
            });
            self.rows = false;
            return MountLine::Begins(std::mem::replace(&mut self.mount, begun));
        }
        let Some(mount) = &mut self.mount else { return MountLine::Other };
        let Some((name, values)) = line.trim_start().split_once(':') else {
            let heads = line.trim() == "per-op statistics";
            self.rows |= heads;
            return if heads { MountLine::Part } else { MountLine::Other };
        };
        let words: Vec<&str> = values.split_whitespace().collect();
        let taken = match name {
            "age" => {
                mount.age_s = words.first().and_then(|word| integer(word));
                mount.age_s.map(|_| ())
            }
            "xprt" => mount.connection(&words),
            "opts" | "impl_id" | "caps" | "nfsv4" | "sec" | "events" | "bytes" | "fsc" => Some(()),
            _ if name.starts_with("RPC iostats version") => Some(()),
            _ if self.rows => mount.row(name, &words),
            _ => return MountLine::Other,
        };
        taken.map_or(MountLine::Damaged, |()| MountLine::Part)
    }

    /// The mount that was begun last, when the file is over.
    pub fn finish(&mut self) -> Option<Box<MountCounters>> {
        self.mount.take()
    }
}

impl MountCounters {
    fn connection(&mut self, words: &[&str]) -> Option<()> {
        let (kind, values) = words.split_first()?;
        let Some((_, place, attempts)) = TRANSPORTS.iter().find(|(name, ..)| name == kind) else {
            return Some(());
        };
        let value = |place: usize| values.get(place).and_then(|word| integer(word));
        let (sent, answered) = (value(*place)?, value(place + 1)?);
        let (all_sent, all_answered) = self.transport.unwrap_or_default();
        let both = (all_sent.saturating_add(sent), all_answered.saturating_add(answered));
        self.transport = Some(both);
        let attempts = attempts.and_then(value).unwrap_or(0);
        self.attempts = self.attempts.saturating_add(attempts);
        Some(())
    }

    fn row(&mut self, name: &str, words: &[&str]) -> Option<()> {
        let values: Option<Vec<u64>> = words.iter().map(|word| integer(word)).collect();
        let values = values?;
        let [done, sent, timeouts, out, back, queue_ms, rtt_ms, exe_ms, ..] = values[..] else {
            return None;
        };
        let (place, bytes) = match name {
            // Version 4.2 reads with an operation of its own where both sides can (nfs4xdr.c).
            "READ" | "READ_PLUS" => (0, back),
            "WRITE" => (1, out),
            "COMMIT" => (2, 0),
            _ => (3, 0),
        };
        let sum = &mut self.by_op[place];
        let add = |to: &mut u64, value: u64| *to = to.saturating_add(value);
        add(&mut sum.done, done);
        add(&mut sum.sent, sent);
        add(&mut sum.timeouts, timeouts);
        add(&mut sum.bytes, bytes);
        add(&mut sum.queue_ms, queue_ms);
        add(&mut sum.rtt_ms, rtt_ms);
        add(&mut sum.exe_ms, exe_ms);
        Some(())
    }

    /// Requests that were sent and not yet answered at the moment of reading.
    ///
    /// What was in flight when a connection broke is sent again, and stays in this number for ever.
    pub fn unanswered(&self) -> Option<u64> {
        self.transport.map(|(sent, answered)| sent.saturating_sub(answered))
    }

    /// Transmissions beyond the first of each request, and major timeouts (`timeo` and all its
    /// repetitions went by), since the mount.
    pub fn repeated(&self) -> (u64, u64) {
        self.by_op.iter().fold((0, 0), |(again, timeouts), known| {
            (again + known.sent.saturating_sub(known.done), timeouts + known.timeouts)
        })
    }

    /// The averages of the time between two readings of one mount; `None` if a counter
    /// decreased: the file system was mounted anew. With the default as the earlier one, those
    /// since the mount.
    pub fn since(
        &self,
        earlier: &MountCounters,
        device: DeviceId,
        length: Nanos,
    ) -> Option<Interval> {
        let seconds = length.seconds();
        if seconds <= 0.0 {
            return None;
        }
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = Some(length);
        interval.in_flight = self.unanswered();
        let (mut done, mut queue_ms, mut rtt_ms, mut exe_ms) = (0, 0, 0, 0);
        for (place, op) in OPS.into_iter().enumerate() {
            let (now, then) = (self.by_op[place], earlier.by_op[place]);
            let ios = now.done.checked_sub(then.done)?;
            let executed = now.exe_ms.checked_sub(then.exe_ms)?;
            let bytes = now.bytes.checked_sub(then.bytes)?;
            done += ios;
            queue_ms += now.queue_ms.checked_sub(then.queue_ms)?;
            rtt_ms += now.rtt_ms.checked_sub(then.rtt_ms)?;
            exe_ms += executed;
            let moves_data = matches!(op, Op::Read | Op::Write);
            if ios == 0 && op == Op::Flush {
                continue;
            }
            let rates = Rates {
                ios_per_s: ios as f64 / seconds,
                merges_per_s: None,
                bytes_per_s: moves_data.then_some(bytes as f64 / seconds),
                await_ns: (ios > 0).then_some(executed as f64 / ios as f64 * NS_PER_MS),
            };
            interval.rates.push((op, rates));
        }
        if done > 0 {
            let mean = |ms: u64| Some(ms as f64 / done as f64 * NS_PER_MS);
            (interval.wait_ns, interval.device_ns) = (mean(queue_ms), mean(rtt_ms));
        }
        interval.queue_len = Some(exe_ms as f64 / (seconds * 1e3));
        Some(interval)
    }
}

/// The moments of two readings of the counters.
#[derive(Clone, Copy, Debug)]
pub enum Readings {
    /// By the ages of the mount that both show; the first reading counts since the mount.
    ByAge,
    /// By the watcher's clock: start and length.
    Watched(Time, Nanos),
}

/// What each mount had counted when it was last read.
#[derive(Clone, Debug, Default)]
pub struct MountHistory {
    /// By mount point.
    before: HashMap<String, MountCounters>,
    /// Mount points whose kind was reported.
    stated: HashSet<String>,
    /// The fewest requests without a reply that a watcher saw on each mount point: all of them may
    /// be of connections that broke before.
    fewest: HashMap<String, u64>,
    /// Mount points whose client tries to connect, and got no answer since.
    connecting: HashSet<String>,
}

impl MountHistory {
    /// Takes a reading as the one to begin from.
    pub fn begin(&mut self, mount: MountCounters) {
        self.watched_unanswered(&mount);
        self.before.insert(mount.point.clone(), mount);
    }

    /// Requests without a reply that were sent since a watcher saw the fewest, and at least one for
    /// each task that waits.
    fn watched_unanswered(&mut self, mount: &MountCounters) -> Option<u64> {
        let unanswered = mount.unanswered()?;
        let fewest = self.fewest.entry(mount.point.clone()).or_insert(unanswered);
        *fewest = unanswered.min(*fewest);
        Some((unanswered - *fewest).max(mount.waiting))
    }

    /// Emits what a mount did since its last reading, read at `place`.
    pub fn emit(
        &mut self,
        now: MountCounters,
        between: Readings,
        place: &str,
        sink: &mut dyn Sink,
    ) {
        let device = sink.device(&now.export);
        if self.stated.insert(now.point.clone()) {
            sink.set_medium(device, Medium::Network);
            let mount_facts = [(typed::MOUNT_POINT, &now.point), (typed::MOUNT_TYPE, &now.kind)];
            for (key, text) in mount_facts {
                sink.fact(Fact::of(Some(device), key, text.as_str(), place));
            }
        }
        let then = self.before.insert(now.point.clone(), now.clone());
        let seconds = |now: u64, then: u64| {
            let seconds = i64::try_from(now.saturating_sub(then)).unwrap_or(i64::MAX);
            Nanos(seconds.saturating_mul(NS_PER_S))
        };
        let length = match (between, &then) {
            (Readings::Watched(_, length), Some(_)) => Some(length),
            (Readings::Watched(..), None) => {
                return note(sink, &now, "the mount is new: its counters are the baseline");
            }
            (Readings::ByAge, Some(then)) => {
                now.age_s.zip(then.age_s).map(|(now, then)| seconds(now, then))
            }
            (Readings::ByAge, None) => now.age_s.map(|age| seconds(age, 0)),
        };
        let earlier = then.unwrap_or_default();
        let is_first = earlier.point.is_empty();
        let interval = length.and_then(|length| now.since(&earlier, device, length));
        let Some(mut interval) = interval else {
            let why = match is_first {
                true => "the time since the mount is not known: no averages",
                false => "remounted, or no time between two copies: no averages",
            };
            return note(sink, &now, why);
        };
        if let Readings::Watched(start, _) = between {
            interval.start = Some(start);
            interval.in_flight = self.watched_unanswered(&now);
        }
        interval.since_boot = is_first;
        if interval.rates.iter().any(|(_, rates)| rates.ios_per_s > 0.0) {
            self.connecting.remove(&now.point);
        } else if !is_first && now.attempts > earlier.attempts {
            self.connecting.insert(now.point.clone());
        }
        // A client connects for a request only, which is counted as sent when there is a
        // connection.
        if self.connecting.contains(&now.point) && interval.in_flight == Some(0) {
            interval.in_flight = Some(1);
        }
        sink.interval(interval);
        if is_first {
            return note(sink, &now, "the first copy counts since the file system was mounted");
        }
        let (repeated, timeouts) = now.repeated();
        let (before, timed_out) = earlier.repeated();
        for (key, more) in [
            (typed::RPC_REPEATED, repeated.saturating_sub(before)),
            (typed::RPC_TIMEOUTS, timeouts.saturating_sub(timed_out)),
        ] {
            if more > 0 {
                sink.fact(Fact::of(Some(device), key, more, place));
            }
        }
    }
}

fn note(sink: &mut dyn Sink, mount: &MountCounters, reason: &str) {
    sink.note(Note { line: 0, text: mount.export.clone(), reason: reason.to_string() });
}

#[cfg(test)]
mod tests {
    use iowhy_model::Sink;

    use super::*;

    const EARLIER: &str = "device server:/e mounted on /mnt with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2\n\tage:\t100\n\
        \txprt:\ttcp 0 1 1 0 0 1000 1000 0 1200 0 2 40 500\n\tper-op statistics\n\
        \x20       READ: 500 500 0 90000 2048000 10 5000 5100 0\n\
        \x20      WRITE: 100 100 0 409600 12000 5 900 950 0\n\
        \x20     COMMIT: 10 10 0 1000 1000 0 300 310 0\n\
        \x20    GETATTR: 390 390 0 1000 1000 0 390 390 0\n";

    fn read(text: &str) -> MountCounters {
        let mut reader = MountReader::default();
        for line in text.lines() {
            assert!(
                matches!(reader.line(line), MountLine::Begins(None) | MountLine::Part),
                "{line}"
            );
        }
        *reader.finish().unwrap()
    }

    #[test]
    fn two_readings_give_the_averages_between_them() {
        let earlier = read(EARLIER);
        let later = EARLIER.replace("1000 1000 0 1200", "1104 1100 0 1300").replace(
            "500 500 0 90000 2048000 10 5000 5100", "600 604 1 99000 2457600 110 95000 95200",
        );
        let later = read(&later);
        let mut recording = iowhy_model::Recording::new();
        let device = recording.device("server:/e");
        let length = Nanos(10_000_000_000);
        let between = later.since(&earlier, device, length).unwrap();
        let reads = between.of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.bytes_per_s), (10.0, Some(40_960.0)));
        assert_eq!(reads.await_ns, Some(901.0 * NS_PER_MS));
        assert_eq!((between.device_ns, between.wait_ns), (Some(9e8), Some(1e6)));
        assert_eq!((between.in_flight, between.of(Op::Flush).is_none()), (Some(4), true));
        assert_eq!(later.repeated(), (4, 1));
        assert_eq!(earlier.since(&later, device, length), None);
    }

    #[test]
    fn reads_of_version_4_2_are_reads() {
        let earlier = read(EARLIER);
        let later =
            EARLIER.replace("  COMMIT:", "READ_PLUS: 30 30 0 4000 983040 0 60 60 0\n COMMIT:");
        let mut recording = iowhy_model::Recording::new();
        let device = recording.device("server:/e");
        let between = read(&later).since(&earlier, device, Nanos(10_000_000_000)).unwrap();
        let reads = between.of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.bytes_per_s), (3.0, Some(98_304.0)));
    }

    #[test]
    fn a_client_that_only_tries_to_connect_has_a_request_that_waits() {
        // Sent and answered are equal, as the connection was lost when nothing was in flight.
        let after = |attempts: u32, reads: u32| {
            let xprt = format!("tcp 0 0 {attempts} 0 0 1000 1000 0");
            let text = EARLIER.replace("tcp 0 1 1 0 0 1000 1000 0", &xprt);
            read(&text.replace("READ: 500 500", &format!("READ: {reads} {reads}")))
        };
        let mut recording = iowhy_model::Recording::new();
        recording.begin(iowhy_model::Source::new("mountstats", "m", iowhy_model::Level::A));
        let mut history = MountHistory::default();
        history.begin(after(1, 500));
        let second = Nanos(1_000_000_000);
        // Idle, two attempts, silence, an answer, idle.
        for (attempts, reads) in [(1, 500), (3, 500), (3, 500), (3, 501), (3, 501)] {
            let between = Readings::Watched(Time::from_ns(0), second);
            history.emit(after(attempts, reads), between, "m", &mut recording);
        }
        let rows = &recording.listings[0].intervals;
        let waiting: Vec<_> = rows.iter().map(|row| row.in_flight).collect();
        assert_eq!(waiting, [0, 1, 1, 0, 0].map(Some));
    }

    #[test]
    fn what_a_broken_connection_left_behind_does_not_wait() {
        let reading = |sent: u32, tasks: u64| {
            let text = EARLIER.replace("1000 1000 0 1200", &format!("{sent} 1000 0 1200"));
            MountCounters { waiting: tasks, ..read(&text) }
        };
        let mut recording = iowhy_model::Recording::new();
        recording.begin(iowhy_model::Source::new("mountstats", "m", iowhy_model::Level::A));
        let mut history = MountHistory::default();
        // Five were in flight when it broke; later three more are, and tasks wait.
        history.begin(reading(1005, 0));
        for (sent, tasks) in [(1005, 0), (1008, 0), (1005, 2), (1008, 9)] {
            let between = Readings::Watched(Time::from_ns(0), Nanos(1_000_000_000));
            history.emit(reading(sent, tasks), between, "m", &mut recording);
        }
        let rows = &recording.listings[0].intervals;
        let waiting: Vec<_> = rows.iter().map(|row| row.in_flight).collect();
        assert_eq!(waiting, [0, 3, 2, 9].map(Some));
    }

    #[test]
    fn what_is_no_number_is_damaged_and_other_file_systems_are_left_out() {
        let mut reader = MountReader::default();
        let begins = "device a:/b mounted on /m with fstype nfs statvers=1.1";
        assert_eq!(reader.line(begins), MountLine::Begins(None));
        assert_eq!(reader.line("\tage:\tx"), MountLine::Damaged);
        assert_eq!(reader.line("per-op statistics"), MountLine::Part);
        assert_eq!(reader.line("READ: 1 2 3"), MountLine::Damaged);
        assert_eq!(reader.line("some prose"), MountLine::Other);
        let other = "device proc mounted on /proc with fstype proc";
        assert!(matches!(reader.line(other), MountLine::Begins(Some(_))));
        assert_eq!(reader.finish(), None);
    }
}
