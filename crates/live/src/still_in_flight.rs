//! Requests still in flight when the watch ends: the slots that were not cleared.
//!
//! A slot without a completion does not prove a hung request, because probes can miss a completion.
//! The kernel's own number of requests in flight decides, but it counts only those that were issued
//! to the driver (blk_mq_rq_state of block/blk-mq.c): a started but unissued one may wait in a plug
//! or in the scheduler. A completion is missed if the program already runs on that CPU; since 7.0
//! the task that runs it can be preempted.

use std::path::Path;
use std::time::{Duration, Instant};

use iowhy_model::Order as _;
use iowhy_model::{Fact, Nanos, Note, Sink, Time, typed};

use crate::Error;
use crate::bpf::Programs;
use crate::clock;
use crate::records;
use crate::slots::{OpenSlot, halves};
use crate::watch_list::{WatchList, major_minor};

/// A plug is flushed before its task sleeps, so no request stays in one longer than this, ns.
const PLUGGED_NS: i64 = 1_000_000_000;

/// A completion passes from the driver to the block layer by an interrupt or a softirq, and only
/// then by the probes (blk_mq_complete_request of block/blk-mq.c). On a busy machine that is
/// delayed, but hardly longer than this.
const ON_ITS_WAY: Duration = Duration::from_secs(1);
/// Interval between two reads of completions on their way.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// A started request without a completion yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct OpenRequest {
    number: u32,
    since: i64,
    sector: u64,
    is_issued: bool,
    command: u32,
    /// Earlier requests in its slot whose completion was missed.
    before: u32,
}

/// What the kernel had in flight when the watch was about to end.
#[derive(Debug)]
pub(crate) struct StillInFlight {
    at: Time,
    /// Requests that the kernel no longer had, without a completion.
    gone: Vec<OpenRequest>,
    runs_left_out: u64,
}

/// Requests of a device by the kernel's count.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// Reads and writes that its driver has (`inflight` of its folder in /sys).
    in_driver: Option<u64>,
    /// All started requests since 6.16, before that those of the driver (`stat`).
    begun: Option<u64>,
    /// All completed since boot (`stat`).
    completed: u64,
}

impl InFlight {
    /// Whether a request that started `age` ns ago cannot be among them.
    fn excludes(self, is_issued: bool, age: i64) -> bool {
        let may_wait = !is_issued && (self.begun != Some(0) || age < PLUGGED_NS);
        self.in_driver == Some(0) && !may_wait
    }
}

impl StillInFlight {
    /// Reads from /sys the requests in flight of each watched device, and from /proc how often a
    /// program run was skipped; before the programs are detached. Waits for completions on their
    /// way.
    ///
    /// # Errors
    /// If the slots cannot be read.
    pub(crate) fn ask(
        sys: &Path,
        watched: &WatchList,
        programs: &Programs,
    ) -> Result<StillInFlight, Error> {
        let at = clock::now();
        let numbers = watched.devices.iter().map(|device| device.number);
        let in_flight: Vec<_> = numbers.map(|number| (number, in_flight_of(sys, number))).collect();
        let asked = Instant::now();
        let mut gone = held(programs, watched)?;
        gone.retain(|held| {
            let of = in_flight.iter().find(|(number, _)| *number == held.number);
            let age = at.ns() - held.since;
            age > 0 && of.is_some_and(|(_, kernel)| kernel.excludes(held.is_issued, age))
        });
        while !gone.is_empty() && asked.elapsed() < ON_ITS_WAY {
            std::thread::sleep(LOOK_PAUSE);
            let held = held(programs, watched)?;
            gone.retain(|gone| held.contains(gone));
        }
        let status = programs.descriptors().into_iter().filter_map(|descriptor| {
            std::fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()
        });
        let runs_left_out = status.filter_map(|text| recursion_misses(&text)).sum();
        Ok(StillInFlight { at, gone, runs_left_out })
    }

    /// Reports hung requests, and counts as lost those that the kernel no longer has in flight.
    ///
    /// # Errors
    /// If the slots cannot be read.
    pub(crate) fn emit(
        &self,
        programs: &Programs,
        watched: &WatchList,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let mut held = held(programs, watched)?;
        for held in held.iter().filter(|held| held.before > 0) {
            lose(&watched.name(held.number), held, held.before.into(), sink);
        }
        for gone in &self.gone {
            lose(&watched.name(gone.number), gone, 1, sink);
        }
        // Younger ones may have completed after the programs were detached.
        held.retain(|held| held.since < self.at.ns() && !self.gone.contains(held));
        held.order_by_key(|held| held.since);
        for device in &watched.devices {
            let there: Vec<&OpenRequest> =
                held.iter().filter(|held| held.number == device.number).collect();
            self.add_facts(&watched.name(device.number), &there, sink);
        }
        if self.runs_left_out > 0 {
            sink.note(Note {
                line: 0,
                text: "block-trace".to_string(),
                reason: format!(
                    "the kernel skipped {} runs of the tracer's programs during another one \
                     (`recursion_misses`): requests started or completed then were not seen",
                    self.runs_left_out
                ),
            });
        }
        Ok(())
    }

    fn add_facts(&self, name: &str, old: &[&OpenRequest], sink: &mut dyn Sink) {
        let Some(oldest) = old.first() else { return };
        let age = Nanos(self.at.ns() - oldest.since);
        let device = Some(sink.device(name));
        let n = old.len() as u64;
        sink.fact(Fact::of(device, typed::TRACE_IN_FLIGHT, n, "block-trace"));
        sink.fact(Fact::of(device, typed::TRACE_IN_FLIGHT_OLDEST, age, "block-trace"));
    }
}

/// The requests that were still in flight when tracing stopped.
fn held(programs: &Programs, watched: &WatchList) -> Result<Vec<OpenRequest>, Error> {
    let mut held: Vec<_> = programs.in_flight()?.iter().map(open_request).collect();
    if programs.takes_turns() {
        // Requests may have ended between two turns; bios are followed throughout.
        let bios =
            |number| watched.devices.iter().any(|one| one.without_requests && one.number == number);
        held.retain(|held| bios(held.number));
    }
    Ok(held)
}

fn lose(name: &str, held: &OpenRequest, count: u64, sink: &mut dyn Sink) {
    let why = "not measured: still in flight when tracing stopped";
    sink.lost_of(name, records::op_of(held.command), why, count);
}

/// If the start was not read from the request yet, its time is marked, and one just before it
/// (`BY_KERNEL` and `ARRIVAL` of `bpf/subject.h`).
const TIME: u64 = (1 << 62) - 1;

/// `struct tracked_request` of `bpf/slots.h`: queued, issued, sector, bytes and flags.
fn open_request(unended: &OpenSlot) -> OpenRequest {
    let [queued, issued, sector, size_and_command, ..] = unended.request;
    let since = if queued > 0 { queued & TIME } else { issued } as i64;
    let (_, command) = halves(size_and_command);
    OpenRequest {
        number: unended.number,
        since,
        sector,
        is_issued: issued > 0,
        command,
        before: unended.before,
    }
}

/// What the kernel reports about a program's descriptor since 5.12 (bpf_prog_show_fdinfo of
/// kernel/bpf/syscall.c).
fn recursion_misses(status: &str) -> Option<u64> {
    let mut lines = status.lines();
    lines.find_map(|line| line.strip_prefix("recursion_misses:"))?.trim().parse().ok()
}

/// The current counts of each watched device.
pub(crate) fn at_work(sys: &Path, watched: &WatchList) -> Vec<AtWork> {
    let of = |number: u32| {
        let known = in_flight_of(sys, number);
        let in_flight = known.begun.unwrap_or(0).max(known.in_driver.unwrap_or(0));
        AtWork { in_flight, completed: known.completed }
    };
    watched.devices.iter().map(|device| of(device.number)).collect()
}

/// A device's requests in flight, and how many it completed since boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtWork {
    /// In flight.
    pub in_flight: u64,
    /// Completed: reads, writes, discards and flushes.
    pub completed: u64,
}

impl AtWork {
    /// The maximum in flight over some reads, at least one if any completed between them: at depth
    /// 1 each read may hit the moment between two requests.
    pub(crate) fn over(looks: &[AtWork]) -> u64 {
        let most = looks.iter().map(|look| look.in_flight).max().unwrap_or(0);
        let worked = looks.windows(2).any(|two| two[0].completed != two[1].completed);
        most.max(u64::from(worked))
    }
}

/// The counts in /sys/dev/block/MAJOR:MINOR.
fn in_flight_of(sys: &Path, number: u32) -> InFlight {
    let (major, minor) = major_minor(number);
    let folder = sys.join(format!("dev/block/{major}:{minor}"));
    let numbers = |file: &str| -> Option<Vec<u64>> {
        let text = std::fs::read_to_string(folder.join(file)).ok()?;
        text.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    // Documentation/block/stat.rst: the ninth; completions are the 1st, 5th, 12th and 16th.
    let stat = numbers("stat").unwrap_or_default();
    let completed = [0, 4, 11, 15].iter().filter_map(|place| stat.get(*place)).sum();
    let in_driver = numbers("inflight").map(|both| both.iter().sum());
    InFlight { in_driver, begun: stat.get(8).copied(), completed }
}

#[cfg(test)]
mod tests {
    use super::{AtWork, InFlight, PLUGGED_NS, recursion_misses};

    #[test]
    fn a_device_that_completes_has_something_in_flight() {
        let look = |in_flight, completed| AtWork { in_flight, completed };
        assert_eq!(AtWork::over(&[look(0, 7), look(0, 7), look(0, 7)]), 0);
        assert_eq!(AtWork::over(&[look(0, 7), look(0, 8), look(0, 8)]), 1);
        assert_eq!(AtWork::over(&[look(0, 7), look(3, 7), look(0, 9)]), 3);
    }

    #[test]
    fn a_request_that_was_never_issued_may_wait_where_the_driver_has_none() {
        let (none, old) =
            (InFlight { in_driver: Some(0), begun: Some(0), completed: 0 }, PLUGGED_NS);
        assert!(none.excludes(true, 0) && none.excludes(false, old));
        assert!(!none.excludes(false, old - 1));
        assert!(!InFlight { begun: Some(3), ..none }.excludes(false, old));
        assert!(InFlight { begun: Some(3), ..none }.excludes(true, 0));
        for in_driver in [Some(1), None] {
            assert!(!InFlight { in_driver, ..none }.excludes(true, old));
        }
    }

    #[test]
    fn runs_left_out_are_read_where_the_kernel_tells_them() {
        let of_7_2 = "pos:\t0\nflags:\t02000002\nprog_type:\t26\nrun_cnt:\t0\n\
                      recursion_misses:\t2\nverified_insns:\t5450\n";
        assert_eq!(recursion_misses(of_7_2), Some(2));
        assert_eq!(recursion_misses("pos:\t0\nrun_cnt:\t0\n"), None);
    }
}
