//! Who waited for a device: programs with their control groups and files, by their share of the
//! time.
//!
//! A program that calls fsync on ext4 writes its data itself, and waits for the thread that commits
//! the journal (`jbd2/sdb1-8`), which starts as soon as the data is written. The time of such a
//! commit is the program's; one that follows no data (every 5 s, or metadata alone) is the
//! thread's.

use std::collections::HashMap;

use iowhy_model::{DeviceId, Event, Finding, Flags, Name, Op, Requester};

use crate::analysis::{Analysis, requests};
use crate::facts::kernel_threads::{self, Committer};

/// Maximum number named.
const MOST: usize = 5;

/// Process id, name and control group.
type Who = (Option<u32>, Option<Name>, Option<Name>);

/// Time waited, for which file, and by which thread that commits a journal.
#[derive(Default)]
struct WaitByFile {
    ns: f64,
    files: HashMap<Name, f64>,
    journal: Option<Name>,
}

/// From this many processes of one program on they are added up (a choice).
const MANY: usize = 6;

/// From the end of the data to the commit that an fsync demands, ns (a choice: the code between
/// takes less than a millisecond, and periodic commits are 5 s apart).
const AT_ONCE_NS: i64 = 100_000_000;

/// Share of the requests from which on one program is the one that sends them (a choice).
const MOST_OF_IT: f64 = 0.6;

/// The program that sent most of a device's requests, all its processes together, and its share of
/// them.
pub(crate) fn main_program(
    analysis: &Analysis,
    listing: usize,
    device: DeviceId,
) -> Option<(String, f64)> {
    let known = analysis.requests.iter().find(|of| (of.listing, of.device) == (listing, device))?;
    let mut counted: HashMap<Name, usize> = HashMap::new();
    for comm in known.events.iter().filter_map(|event| event.comm) {
        *counted.entry(comm).or_default() += 1;
    }
    let (name, n) = counted.into_iter().max_by_key(|(name, n)| (*n, std::cmp::Reverse(*name)))?;
    let share = n as f64 / known.events.len() as f64;
    (share >= MOST_OF_IT).then(|| (analysis.recording.text(name).to_string(), share))
}

/// Adds the waiting processes to the first finding and to all firm ones.
pub(crate) fn add_requesters(analysis: &Analysis, findings: &mut [Finding]) {
    for (rank, finding) in findings.iter_mut().enumerate() {
        if rank == 0 || finding.stands() {
            finding.requesters = of(analysis, finding);
        }
    }
}

fn of(analysis: &Analysis, finding: &Finding) -> Vec<Requester> {
    let (Some(device), Some(place)) = (finding.subject.device, finding.subject.listings.first())
    else {
        return Vec::new();
    };
    let (disk, host) = (analysis.disk(device), analysis.host(*place));
    let mut all: HashMap<Who, WaitByFile> = HashMap::new();
    let mut sum = 0.0;
    let about = analysis.requests.iter();
    for known in about.filter(|of| of.disk == disk && analysis.host(of.listing) == host) {
        let text = |name: Name| analysis.recording.text(name);
        for_each_wait(&known.events, text, |event, who| {
            let Some(stretch) = requests::stretch(event) else { return };
            let ns = requests::length_ns(stretch);
            sum += ns;
            for waiter in who {
                let waited = all.entry(*waiter).or_default();
                waited.ns += ns / who.len() as f64;
                if *waiter != sender(event) {
                    waited.journal = event.comm;
                } else if let Some(file) = event.file {
                    *waited.files.entry(file).or_default() += ns;
                }
            }
        });
    }
    let all = all.into_iter().filter(|((pid, comm, _), _)| pid.is_some() || comm.is_some());
    let mut all: Vec<(Who, WaitByFile)> = by_program(all.collect());
    all.sort_by(|a, b| b.1.ns.total_cmp(&a.1.ns).then(a.0.0.cmp(&b.0.0)));
    let text = |name: Option<Name>| name.map(|name| analysis.recording.text(name).to_string());
    let requester = |((pid, comm, cgroup), waited): (Who, WaitByFile)| {
        let file = waited.files.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let file = text(file.map(|(file, _)| file));
        let share = waited.ns / f64::max(sum, 1.0);
        let journal = text(waited.journal);
        Requester { program: text(comm), pid, cgroup: text(cgroup), file, journal, share }
    };
    all.into_iter().take(MOST).map(requester).collect()
}

/// The same with the processes of one program added up, where there are many: a shell starts one
/// for each command.
fn by_program(all: HashMap<Who, WaitByFile>) -> Vec<(Who, WaitByFile)> {
    let mut processes: HashMap<(Option<Name>, Option<Name>), usize> = HashMap::new();
    for (_, comm, cgroup) in all.keys() {
        *processes.entry((*comm, *cgroup)).or_default() += 1;
    }
    let mut sums: HashMap<Who, WaitByFile> = HashMap::new();
    for ((pid, comm, cgroup), one) in all {
        let many = comm.is_some() && processes.get(&(comm, cgroup)).is_some_and(|n| *n >= MANY);
        let sum = sums.entry((pid.filter(|_| !many), comm, cgroup)).or_default();
        sum.ns += one.ns;
        sum.journal = sum.journal.or(one.journal);
        one.files.into_iter().for_each(|(file, ns)| *sum.files.entry(file).or_default() += ns);
    }
    sums.into_iter().collect()
}

fn sender(event: &Event) -> Who {
    (event.pid, event.comm, event.cgroup)
}

/// Calls `with` for each I/O in the order of their starts, and those who wait for it: its sender,
/// or the programs whose data a journal's thread commits.
fn for_each_wait<'n>(
    events: &[&Event],
    text: impl Fn(Name) -> &'n str,
    mut with: impl FnMut(&Event, &[Who]),
) {
    let mut kinds: HashMap<Name, (bool, bool)> = HashMap::new();
    let mut kind = |name: Name| {
        *kinds.entry(name).or_insert_with(|| {
            let is_journal = kernel_threads::committer(text(name)) == Some(Committer::Journal);
            (is_journal, kernel_threads::is_program(text(name)))
        })
    };
    let mut started: Vec<&Event> = events.to_vec();
    if started.iter().filter_map(|event| event.comm).any(|name| kind(name).0) {
        started.sort_by_key(|event| requests::stretch(event).map(|(start, _)| start));
    }
    // Programs whose data was written since the last commit began, and those of that commit.
    let (mut fresh, mut served): (Vec<Who>, Vec<Who>) = (Vec::new(), Vec::new());
    let mut last_ns = i64::MIN;
    for event in started {
        let own = sender(event);
        let (is_journal, is_program) = event.comm.map_or((false, false), &mut kind);
        let Some((start, end)) = requests::stretch(event) else { continue };
        let is_data = is_program && event.op == Op::Write && event.flags.has(Flags::SYNC);
        if is_data {
            if !fresh.contains(&own) {
                fresh.push(own);
            }
            last_ns = last_ns.max(end);
        } else if is_journal {
            if !fresh.is_empty() {
                served = std::mem::take(&mut fresh);
            }
            if start.saturating_sub(last_ns) > AT_ONCE_NS {
                served.clear();
            } else {
                last_ns = last_ns.max(end);
            }
        }
        match is_journal && !served.is_empty() {
            true => with(event, &served),
            false => with(event, &[own]),
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Layer, Recording, Sink, Time};

    use super::*;

    #[test]
    fn many_processes_of_one_program_are_added_up() {
        let mut recording = Recording::new();
        let [dd, psql] = ["dd", "psql"].map(|name| recording.name(name));
        let of = |(pid, comm): (u32, Name)| {
            let waited = WaitByFile { ns: 1.0, ..WaitByFile::default() };
            ((Some(pid), Some(comm), None), waited)
        };
        let all = (1..=40).map(|pid| (pid, dd)).chain([(50, psql), (51, psql)]);
        let mut sums = by_program(all.map(of).collect());
        sums.sort_by_key(|((pid, ..), _)| *pid);
        let sums: Vec<_> =
            sums.into_iter().map(|((pid, comm, _), of)| (pid, comm, of.ns)).collect();
        assert_eq!(
            sums,
            [(None, Some(dd), 40.0), (Some(50), Some(psql), 1.0), (Some(51), Some(psql), 1.0)]
        );
    }

    #[test]
    fn a_commit_is_waited_for_by_the_programs_whose_data_it_follows() {
        let mut recording = Recording::new();
        let names = ["dd", "jbd2/sdb1-8", "kworker/u8:3", "psql"].map(|name| recording.name(name));
        let device = recording.device("sdb");
        let event = |who: usize, op: Op, flags: Flags, from_ms: i64, to_ms: i64| {
            let mut event = Event::new(device, op, Layer::Block);
            event.comm = names.get(who).copied();
            event.flags = flags;
            event.issued = Some(Time::from_ns(from_ms * 1_000_000));
            event.completed = Some(Time::from_ns(to_ms * 1_000_000));
            event
        };
        let (sync, none) = (Flags::SYNC, Flags::default());
        let events = [
            event(1, Op::Write, sync, 0, 5),       // nobody's
            event(0, Op::Write, sync, 1000, 1010), // the data of dd
            event(1, Op::Write, sync, 1011, 1020), // its commit, two requests
            event(1, Op::Write, sync, 1020, 1100),
            event(2, Op::Write, none, 1100, 1200), // written back
            event(0, Op::Write, sync, 1200, 1201), // two programs
            event(3, Op::Write, sync, 1200, 1203),
            event(1, Op::Write, sync, 1205, 1300), // one commit for both
            event(1, Op::Write, sync, 6300, 6310), // the periodic one
        ];
        let all: Vec<&Event> = events.iter().collect();
        let text = |name| recording.text(name);
        let mut found: Vec<Vec<&str>> = Vec::new();
        for_each_wait(&all, text, |_, who| {
            found.push(who.iter().filter_map(|who| who.1.map(text)).collect());
        });
        let journal = vec!["jbd2/sdb1-8"];
        let dd = vec!["dd"];
        assert_eq!(
            found,
            [
                journal.clone(),
                dd.clone(),
                dd.clone(),
                dd.clone(),
                vec!["kworker/u8:3"],
                dd,
                vec!["psql"],
                vec!["dd", "psql"],
                journal
            ]
        );
    }
}
