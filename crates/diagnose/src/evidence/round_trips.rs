//! Mounts of a file server as the client counts them: what was not answered, and how long answers
//! took. A row without a length counts as a second.

use std::borrow::Cow;
use std::collections::BTreeMap;

use iowhy_model::{
    DeviceId, Evidence, FactKey, Finding, Interval, KeyFamily, Layer, Listing, Medium, Op, Rates,
    Verdict, key,
};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::shares;
use crate::phrase;

/// A server that answers nothing for this long, s, is stuck (a choice: a disk answers within it
/// unless it is faulty itself; a client over TCP repeats after 60 s, nfs(5) `timeo`).
const SILENT_S: f64 = 5.0;
/// Mean round trips, ms: longer than those of a healthy server (a choice: ten random reads of a
/// spinning disk), and longer than the load of one client explains.
const SLOW_MS: f64 = 100.0;
const LONG_MS: f64 = 1000.0;
/// Minimum number of replies for a mean, if known; fewer do if all of this many rows
/// are long.
const MIN_REPLIES: f64 = 20.0;
const ROWS: usize = 5;
/// Wait in the client as a multiple of the round trip from which on the client is the cause (a
/// choice).
const QUEUE_TIMES: f64 = 3.0;
/// Mean wait in the client, ms, from which on it is worth a word (a choice: a random read of a
/// spinning disk), and a suspicion up to the mean of a slow server.
const QUEUED_MS: f64 = 10.0;
/// The collector that measures calls of programs on mounts.
const SERVER_CALLS: &str = "server-calls";
/// Their weight.
const UNANSWERED: f64 = 0.92;
const LONG: f64 = 0.90;
const QUEUED: f64 = 0.90;

/// Mounts whose server or network is slow.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = mounts(analysis, false).into_iter().filter_map(|mount| {
        let mut finding = mount.unanswered(verdict).or_else(|| mount.slow(verdict))?;
        finding.explained_share = 1.0;
        finding.evidence.extend(mount.repeated());
        shares::advise(&mut finding);
        if mount.by_calls() {
            mount.advise_by_calls(&mut finding);
        }
        Some(finding)
    });
    found.collect()
}

/// Times that one operation takes as long as another, where the other shows that network and server
/// answer at once; ms from which on writes are slow (choices); and what that is worth.
const TIMES: f64 = 10.0;
const SLOW_WRITE_MS: f64 = 10.0;
const STABLE: f64 = 0.90;

/// An operation that is answered late while another one of its mount is not.
struct Late<'s, 'a> {
    mount: Mount<'s, 'a>,
    /// Their number.
    n: u64,
    /// Mean round trips, and mean time in the client's queue before.
    ms: f64,
    others_ms: f64,
    queue_ms: f64,
    /// What counts as late, ms.
    least_ms: f64,
}

/// Mounts on which one operation takes so long, and another one does not.
fn late<'s, 'a>(
    analysis: &'s Analysis<'a>,
    [op, other]: [Op; 2],
    least_ms: f64,
) -> Vec<Late<'s, 'a>> {
    let mut found: Vec<Late> = Vec::new();
    for mount in mounts(analysis, false).into_iter().chain(mounts(analysis, true)) {
        let (Some(late), Some((_, others_ms, _))) =
            (mount.timed(Some(op)), mount.timed(Some(other)))
        else {
            continue;
        };
        let (n, ms, queue_ms) = late;
        let least_ms = least_ms.max(TIMES * others_ms);
        let lost = !mount.repeated().is_empty();
        let is_known = found.iter().any(|known| known.mount.device == mount.device);
        if ms >= least_ms && queue_ms < ms && !lost && !is_known {
            found.push(Late { mount, n, ms, others_ms, queue_ms, least_ms });
        }
    }
    found
}

impl Late<'_, '_> {
    /// By the names of one operation and of the other: `a read`, `a call without data`.
    fn finding(&self, verdict: Verdict, [one, other]: [&str; 2], sentence: String) -> Finding {
        let Late { mount, n, ms, others_ms, least_ms, .. } = self;
        let mut finding = new_finding(verdict, Some(mount.device), vec![mount.place]);
        finding.sentence = sentence;
        let computed = mount.analysis.computed(mount.place, *n);
        let mean = |of: &str, ms: f64| computed.ms(&format!("mean round trip of {of}"), ms);
        finding.evidence = vec![mean(one, *ms).above(*least_ms), mean(other, *others_ms)];
        finding.explained_share = 1.0;
        shares::advise(&mut finding);
        finding
    }
}

/// Mounts whose writes are answered late, and whose reads are not: the server makes each durable.
pub(crate) fn stable_writes(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = late(analysis, [Op::Write, Op::Read], SLOW_WRITE_MS).into_iter().map(|late| {
        let sentence = format!(
            "the file server of {} answers reads in {} and writes in {}: network and client are \
             fast, and the server takes that long to make a write durable (its disk, a synchronous \
             export, no write cache)",
            late.mount.name(),
            phrase::ms(late.others_ms),
            phrase::ms(late.ms)
        );
        let mut finding = late.finding(verdict, ["a write", "a read"], sentence);
        finding.assume(STABLE, "reads of the same mount are answered immediately");
        if late.mount.since_mount {
            let since = "these are means since the mount: `nfsiostat 5 3` shows fast writes now";
            finding.refuted_by.push(since.to_string());
        }
        finding
    });
    found.collect()
}

/// Mounts whose reads are answered late, and whose calls that move no data are not: reading or the
/// transfer takes that long.
pub(crate) fn slow_reads(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = late(analysis, [Op::Read, Op::Other], SLOW_MS).into_iter().map(|late| {
        let sentence = format!(
            "the file server of {} answers calls without data in {} and reads in {}: the client \
             sends both at once, so the server's disk takes that long, or the transfer (the rate \
             of the network)",
            late.mount.name(),
            phrase::ms(late.others_ms),
            phrase::ms(late.ms)
        );
        let mut finding = late.finding(verdict, ["a read", "a call without data"], sentence);
        let computed = late.mount.analysis.computed(late.mount.place, late.n);
        let what = "mean time of a read in the client's queue";
        finding.evidence.push(computed.ms(what, late.queue_ms));
        finding.assume(STABLE, "calls without data of the same mount are answered immediately");
        if late.mount.since_mount {
            let since = "these are means since the mount: `nfsiostat 5 3` shows fast reads now";
            finding.refuted_by.push(since.to_string());
        }
        finding
    });
    found.collect()
}

/// Mounts whose requests wait in the client before they are sent.
pub(crate) fn queued(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let all = mounts(analysis, false);
    let is_known =
        |one: &Mount| all.iter().any(|of| (of.place, of.device) == (one.place, one.device));
    // Means since the mount count where there are no others.
    let old: Vec<Mount> = mounts(analysis, true).into_iter().filter(|one| !is_known(one)).collect();
    all.iter().chain(&old).filter_map(|mount| mount.queued(verdict)).collect()
}

fn mounts<'s, 'a>(analysis: &'s Analysis<'a>, since_mount: bool) -> Vec<Mount<'s, 'a>> {
    let mut mounts: BTreeMap<(usize, DeviceId), Vec<Cow<Interval>>> = BTreeMap::new();
    for (place, listing) in analysis.listings() {
        let above =
            |row: &&Interval| row.layer == Layer::Application && row.since_boot == since_mount;
        for row in listing.intervals.iter().filter(above) {
            mounts.entry((place, row.device)).or_default().push(Cow::Borrowed(row));
        }
        let counted = if since_mount { counted(listing) } else { Vec::new() };
        for row in counted {
            mounts.entry((place, row.device)).or_default().push(Cow::Owned(row));
        }
    }
    mounts.retain(|(_, device), _| analysis.medium(*device) == Some(Medium::Network));
    let mounts = mounts.into_iter();
    mounts
        .map(|((place, device), rows)| Mount { analysis, place, device, rows, since_mount })
        .collect()
}

/// Operations of which only their number and their means are known (`mountstats`): as rows of the
/// time since the mount, with as many calls.
pub(crate) fn counted(listing: &Listing) -> Vec<Interval> {
    let ops = [Op::Read, Op::Write, Op::Flush, Op::Other];
    let names = ["read", "write", "commit", "other"];
    let facts = |key: FactKey| {
        listing
            .facts
            .iter()
            .filter(move |fact| fact.key == key)
            .filter_map(|fact| Some((fact.device?, fact.value.number()?)))
    };
    let rows = ops.into_iter().zip(names).flat_map(|(op, name)| {
        let of = |family: KeyFamily, device| {
            facts(family.of(name)).find(|(known, _)| *known == device).map(|(_, value)| value)
        };
        facts(key::RPC_OP_CALLS.of(name)).filter_map(move |(device, calls)| {
            let mut row = Interval::new(device, Layer::Application);
            let (queue, trip) = (of(key::RPC_OP_QUEUE, device)?, of(key::RPC_OP_TRIP, device)?);
            (row.wait_ns, row.device_ns) = (Some(queue * 1e9), Some(trip * 1e9));
            let await_ns = Some((queue + trip) * 1e9);
            row.rates = vec![(op, Rates { ios_per_s: calls, await_ns, ..Rates::default() })];
            row.since_boot = true;
            Some(row)
        })
    });
    rows.collect()
}

/// A mount of one listing.
struct Mount<'s, 'a> {
    analysis: &'s Analysis<'a>,
    place: usize,
    device: DeviceId,
    rows: Vec<Cow<'a, Interval>>,
    since_mount: bool,
}

impl Mount<'_, '_> {
    fn name(&self) -> &str {
        &self.analysis.recording.device_of(self.device).name
    }

    /// Whether the calls of programs were measured, not the requests of a client.
    fn by_calls(&self) -> bool {
        self.analysis.recording.listings[self.place].source.format == SERVER_CALLS
    }

    /// What would refute it, and what to do, where the file system may be of any kind.
    fn advise_by_calls(&self, finding: &mut Finding) {
        let name = self.name();
        finding.refuted_by = lines(&["the program that serves the mount (FUSE) waits for a disk \
             of this machine: then that disk is to blame"]);
        finding.next_step = vec![
            format!("`iowhy syscalls --by mount`: which calls on {name} are slow, and whose"),
            format!(
                "`findmnt {name}`: which server or program is it? Is it up, and is the network \
                 intact (`ping`, `ss -ti`)?"
            ),
        ];
    }

    /// Requests were sent and for a while no answer came.
    fn unanswered(&self, verdict: Verdict) -> Option<Finding> {
        let (mut longest, mut now, mut waiting) = (0.0f64, 0.0, 0);
        for row in &self.rows {
            let sent = row.in_flight.filter(|sent| *sent > 0 && replies_per_second(row) <= 0.0);
            now = if sent.is_some() { now + seconds(row) } else { 0.0 };
            if now > longest {
                (longest, waiting) = (now, sent.unwrap_or(0));
            }
        }
        if longest < SILENT_S {
            return None;
        }
        let mut finding = new_finding(verdict, Some(self.device), vec![self.place]);
        finding.sentence = format!(
            "the {} of {} does not answer: {} for {} s; programs that use the mount wait, and no \
             disk of this machine is involved",
            if self.by_calls() { "server" } else { "file server" },
            self.name(),
            phrase::count(waiting as f64, "request(s) without a reply"),
            phrase::digits(longest)
        );
        let (printed, computed) =
            (self.analysis.printed(self.place, 1), self.analysis.computed(self.place, 1));
        let requests = printed.requests("requests without a reply", waiting as f64);
        let silence = computed.seconds("time without any reply", longest);
        finding.evidence = vec![silence.above(SILENT_S), requests.above(0.0)];
        finding.assume(UNANSWERED, "requests were sent and none was answered");
        Some(finding)
    }

    /// Means over all replies, or over those of rows of one operation: how many, ms from sending to
    /// the reply, and ms in the client before.
    fn timed(&self, of: Option<Op>) -> Option<(u64, f64, f64)> {
        self.means(of, MIN_REPLIES)
    }

    /// The same, from this number of replies on.
    fn means(&self, of: Option<Op>, fewest: f64) -> Option<(u64, f64, f64)> {
        let (mut count, mut known, mut trips, mut queues) = (0.0, true, 0.0, 0.0);
        let is_of = |row: &&Cow<Interval>| {
            of.is_none_or(|op| matches!(row.rates.as_slice(), [(only, _)] if *only == op))
        };
        for row in self.rows.iter().filter(is_of) {
            let Some(trip) = row.device_ns else { continue };
            let whole = row.rates.iter().filter_map(|(_, of)| Some(of.ios_per_s * of.await_ns?));
            let whole = whole.sum::<f64>() / replies_per_second(row).max(f64::MIN_POSITIVE);
            let n = replies_per_second(row) * seconds(row);
            known &= row.length.is_some();
            count += n;
            trips += n * trip;
            queues += n * row.wait_ns.unwrap_or((whole - trip).max(0.0));
        }
        // A report without its length is of the time since the mount, or of an interval.
        let enough = count > 0.0 && (count >= fewest || !known);
        enough.then(|| (count.max(1.0) as u64, trips / count / 1e6, queues / count / 1e6))
    }

    /// Answers came, and took long.
    fn slow(&self, verdict: Verdict) -> Option<Finding> {
        let trips = self.rows.iter().filter_map(|row| row.device_ns);
        let is_steady = trips.clone().count() >= ROWS && trips.clone().all(|ns| ns > SLOW_MS * 1e6);
        let fewest = if is_steady { ROWS as f64 } else { MIN_REPLIES };
        let known = self.means(None, fewest);
        let (count, trip, queue) = known.filter(|(_, trip, _)| *trip > SLOW_MS)?;
        let mut finding = new_finding(verdict, Some(self.device), vec![self.place]);
        finding.sentence = match self.by_calls() {
            true => format!(
                "calls on {} take {} on average, per MiB if they are longer: its server, the \
                 network or the program that serves it (FUSE) is slow",
                self.name(),
                phrase::ms(trip)
            ),
            false => format!(
                "requests to the file server of {} take {} from sending to the reply on average: \
                 the network or the server is slow, and no disk of this machine is involved",
                self.name(),
                phrase::ms(trip)
            ),
        };
        let computed = self.analysis.computed(self.place, count);
        if self.by_calls() {
            finding.evidence =
                vec![computed.ms("mean time of a read, write or fsync", trip).above(SLOW_MS)];
            finding.assume(LONG, "calls on a mount are measured from entry to return");
        } else {
            finding.evidence = vec![
                computed.ms("mean round trip", trip).above(SLOW_MS),
                computed.ms("mean time in the client's queue before it", queue),
            ];
            finding.assume(LONG, "round trips of a file server are measured by its client");
        }
        let by_load = "a saturated server or network link";
        finding.doubt_if(trip <= LONG_MS, by_load, SHAPE_ALONE);
        Some(finding)
    }

    /// Answers came soon after requests were sent, which waited long for that.
    fn queued(&self, verdict: Verdict) -> Option<Finding> {
        let ways = [None, Some(Op::Write), Some(Op::Read)].into_iter();
        let held = ways.filter_map(|of| Some((of, self.timed(of)?)));
        let held =
            held.filter(|(_, (_, trip, queue))| *queue > QUEUED_MS && *queue >= QUEUE_TIMES * trip);
        let (of, (count, trip, queue)) = held.max_by(|(_, a), (_, b)| a.2.total_cmp(&b.2))?;
        let mut finding = new_finding(verdict, Some(self.device), vec![self.place]);
        finding.sentence = format!(
            "{} to the file server of {} wait {} in this machine before they are sent, and \
             are answered {} later: the client holds them back, or its connection stalled; the \
             server and its disks are fast",
            of.map_or("requests", phrase::plural),
            self.name(),
            phrase::ms(queue),
            phrase::ms(trip)
        );
        let computed = self.analysis.computed(self.place, count);
        finding.evidence = vec![
            computed.ms("mean time in the client's queue", queue).above(QUEUED_MS),
            computed.ms("mean round trip", trip).below(queue / QUEUE_TIMES),
        ];
        finding.evidence.extend(self.repeated());
        finding.assume(QUEUED, "the queue of a file server's client is measured by it");
        let long_ago = "a mean since the mount: one outage long ago would have the same effect";
        finding.doubt_if(self.since_mount, long_ago, SHAPE_ALONE);
        let burst = "in any client a burst of writes queues like this";
        finding.doubt_if(queue <= SLOW_MS, burst, SHAPE_ALONE);
        finding.explained_share = queue / (queue + trip);
        finding.refuted_by =
            lines(&["one outage of the server long ago explains such a mean since the mount: \
             `nfsiostat 5 3` shows no queue now"]);
        finding.next_step = lines(&[
            "`nfsiostat 5 3` while it is slow: does the queue stay?",
            "`dmesg | grep -i nfs`: was the server unreachable?",
            "more requests at once: mount with `nconnect=4`, or raise \
             `sunrpc.tcp_max_slot_table_entries` and `nfs.max_session_slots`",
        ]);
        Some(finding)
    }

    /// What was sent again or timed out meanwhile.
    fn repeated(&self) -> Vec<Evidence> {
        let disk = self.analysis.disk(self.device);
        let about = self.analysis.facts.about(Some(self.analysis.host(self.place)), &disk);
        let known = [
            (key::RPC_REPEATED, "requests that were sent again"),
            (key::RPC_TIMEOUTS, "requests that timed out"),
        ];
        let known = known.into_iter().filter_map(|(key, what)| {
            let last = about.last(key.clone())?;
            let sum: f64 = about.all(key).filter_map(|reading| reading.fact.value.number()).sum();
            (sum > 0.0).then(|| self.analysis.stated(&last).count(what, sum))
        });
        known.collect()
    }
}

/// Replies per second, those to flushes (COMMIT) among them.
fn replies_per_second(row: &Interval) -> f64 {
    row.rates.iter().map(|(_, rates)| rates.ios_per_s).sum()
}

fn seconds(row: &Interval) -> f64 {
    row.length.map_or(1.0, |length| length.seconds())
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Nanos, Rates, Recording, Sink, Source};

    use super::*;
    use crate::Options;

    fn mount(rows: impl IntoIterator<Item = (f64, f64, u64)>) -> Vec<Finding> {
        let rows = rows.into_iter().map(|(per_s, trip_ms, waiting)| (per_s, trip_ms, 0.0, waiting));
        with(rows, findings, Verdict::LayerRemote)
    }

    fn with(
        rows: impl IntoIterator<Item = (f64, f64, f64, u64)>,
        found: fn(&Analysis, Verdict) -> Vec<Finding>,
        verdict: Verdict,
    ) -> Vec<Finding> {
        measured("mountstats", rows, found, verdict)
    }

    fn measured(
        format: &str,
        rows: impl IntoIterator<Item = (f64, f64, f64, u64)>,
        found: fn(&Analysis, Verdict) -> Vec<Finding>,
        verdict: Verdict,
    ) -> Vec<Finding> {
        let mut recording = Recording::new();
        recording.begin(Source::new(format, "m", iowhy_model::Level::A));
        let device = recording.device("server:/export");
        recording.set_medium(device, Medium::Network);
        for (per_s, trip_ms, queue_ms, waiting) in rows {
            let mut row = Interval::new(device, Layer::Application);
            row.length = Some(Nanos(1_000_000_000));
            row.in_flight = Some(waiting);
            row.rates = vec![(Op::Read, Rates { ios_per_s: per_s, ..Rates::default() })];
            row.device_ns = (per_s > 0.0).then_some(trip_ms * 1e6);
            row.wait_ns = (per_s > 0.0).then_some(queue_ms * 1e6);
            recording.interval(row);
        }
        recording.end();
        let options = Options::default();
        found(&Analysis::of(&recording, &options), verdict)
    }

    #[test]
    fn a_server_that_answers_nothing_for_long_is_told_from_one_slow_request() {
        let silent = mount([(50.0, 2.0, 3)].into_iter().chain((0..8).map(|_| (0.0, 0.0, 3))));
        assert!((silent[0].confidence() - UNANSWERED).abs() < 1e-9);
        assert_eq!(silent[0].evidence[0].amount.value, 8.0);
        assert!(mount((0..9).map(|k| (f64::from(k % 2), 2.0, 3))).is_empty());
        // No requests.
        assert!(mount((0..9).map(|_| (0.0, 0.0, 0))).is_empty());
    }

    #[test]
    fn long_round_trips_accuse_and_slow_ones_are_a_suspicion() {
        let sure = |trip_ms: f64| {
            mount((0..9).map(|_| (10.0, trip_ms, 4))).first().map(Finding::confidence)
        };
        assert_eq!(sure(20.0), None);
        assert_eq!(sure(300.0), Some(SHAPE_ALONE));
        assert_eq!(sure(1500.0), Some(LONG));
        assert!(mount([(10.0, 1500.0, 4)]).is_empty(), "too few");
        let few = |last_ms: f64| {
            let trips = [300.0, 310.0, 290.0, 300.0, 305.0, 300.0, last_ms];
            mount(trips.map(|trip_ms| (1.0, trip_ms, 1))).len()
        };
        assert_eq!([few(300.0), few(4.0)], [1, 0], "one reply each second");
    }

    #[test]
    fn calls_on_a_mount_accuse_what_is_behind_it_and_name_no_client() {
        let rows = |trip_ms: f64| (0..9).map(move |_| (10.0, trip_ms, 0.0, 4));
        let by_calls =
            |trip_ms| measured(SERVER_CALLS, rows(trip_ms), findings, Verdict::LayerRemote);
        let [slow] = &by_calls(300.0)[..] else { panic!("one finding") };
        assert!(slow.sentence.contains("calls on server:/export take 300 ms"), "{slow:?}");
        assert_eq!(slow.evidence.len(), 1, "no queue in a client is known");
        assert!(slow.next_step[0].contains("iowhy syscalls --by mount"), "{slow:?}");
        assert!(by_calls(20.0).is_empty());
    }

    #[test]
    fn a_queue_in_the_client_is_not_the_servers() {
        let held = |trip_ms: f64, queue_ms: f64| {
            let rows = (0..9).map(|_| (10.0, trip_ms, queue_ms, 4));
            with(rows, queued, Verdict::LayerAbove).len()
        };
        assert_eq!([held(1.0, 4000.0), held(1.0, 5.0), held(200.0, 400.0)], [1, 0, 0]);
        assert!(mount((0..9).map(|_| (10.0, 1.0, 4))).is_empty());
    }
}
