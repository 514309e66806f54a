//! Disks as `vmstat` shows them: much is moved, and tasks wait for it all the time or in bursts.

use iowhy_model::{Blame, Bound, FactKey, Finding, Observation, Unit, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::ceilings;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Intervals in which tasks wait, and bytes per second that are moved in them, from which on it is
/// the amount and not single requests that is waited for (choices: a disk that fails or seeks moves
/// less).
const INTERVALS: f64 = 5.0;
const MOVED: f64 = 10e6;
/// Share of all intervals in which tasks wait, where they wait all the time; and share of quiet
/// ones between, where what they wait for comes in bursts (choices).
const MOST: f64 = 0.7;
const QUIET: f64 = 0.1;
/// What it is worth: a disk that is slow for its class looks the same.
const BY_AMOUNT: f64 = 0.62;
/// Intervals in which tasks wait and nothing moves that are worth a word.
const STUCK: f64 = 5.0;

struct Pressed<'s, 'a> {
    analysis: &'s Analysis<'a>,
    host: Host<'a>,
}

impl<'a> Pressed<'_, 'a> {
    fn number(&self, key: FactKey) -> Option<(f64, FactReading<'a>)> {
        self.analysis.own_number(self.host, key)
    }

    fn waiting(&self, column: &'static str) -> Option<f64> {
        self.number(key::VMSTAT_WHILE.of(column)).map(|(value, _)| value)
    }
}

/// What fills the disks: a load without pause, or with `in_bursts` one of write-back.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict, in_bursts: bool) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let pressed = Pressed { analysis, host };
        let (all, _) = pressed.number(key::VMSTAT_INTERVALS)?;
        let (n, reading) = pressed.number(key::VMSTAT_WHILE.of("waiting.intervals"))?;
        let (read, written) = (pressed.waiting("waiting.bi")?, pressed.waiting("waiting.bo")?);
        let (tasks, waits) = (pressed.waiting("waiting.b")?, pressed.waiting("waiting.wa")?);
        let quiet = pressed.number(key::VMSTAT_WHILE.of("quiet.intervals")).map_or(0.0, |(n, _)| n);
        let moved = read + written;
        let bursts = quiet >= QUIET * all && written > read;
        let is_it = if in_bursts { bursts } else { !bursts && n >= MOST * all };
        // A rate that never rises above one value may be a limit, or a slow disk.
        let is_it = is_it && ceilings::seen(analysis, host, "").is_none();
        (n >= INTERVALS && moved >= MOVED && is_it).then_some(())?;
        let mut builder = EvidenceBuilder::of(analysis);
        let mut line = |what: &str, value: f64, unit, bound| {
            builder.fact(&reading, what, (value, unit), bound);
        };
        let per_s = Unit::BytesPerSecond;
        let above = Some(Bound::Above(MOVED));
        line("read and written while tasks wait, per second", moved, per_s, above);
        line("tasks that wait for I/O meanwhile (b)", tasks, Unit::Count, None);
        line("idle CPU time with outstanding I/O meanwhile (wa)", waits, Unit::Share, None);
        line("intervals in which tasks wait", n, Unit::Count, Some(Bound::Above(INTERVALS)));
        line("intervals without I/O or waits", quiet, Unit::Count, None);
        let what = if written > read { "written" } else { "read" };
        let mut finding = new_finding(verdict, None, builder.listings.clone());
        finding.sentence = match in_bursts {
            true => format!(
                "write-back comes in bursts: {} are moved, mostly {what}, while {} wait ({} of the \
                 intervals), and hardly anything in between: the disks are busy with what was \
                 written before, and reads and fsyncs wait behind it",
                phrase::rate(moved),
                phrase::count(tasks.round(), "task(s)"),
                phrase::percent(n / all)
            ),
            false => format!(
                "the disks are never idle: {} are moved, mostly {what}, and {} wait for it all the \
                 time: more I/O is requested than they can complete",
                phrase::rate(moved),
                phrase::count(tasks.round(), "task(s)")
            ),
        };
        finding.evidence = builder.evidence;
        finding.assume(BY_AMOUNT, "much is moved while tasks wait");
        (finding.explained_share, finding.share_is_assumed) = (0.5, true);
        finding.refuted_by = lines(&[
            "healthy disks of this class do far more: then these disks are slow (`iostat -x 1`, \
             `smartctl -x`)",
        ]);
        finding.next_step = lines(&[
            "`iostat -x 1` beside it: which disk, and how long does a request take?",
            "`iotop -ao` or `pidstat -d 1`: which program requests it?",
            match written > read {
                true => {
                    "for buffered writes: lower `vm.dirty_background_bytes`, so that they begin \
                     earlier and come in smaller portions"
                }
                false => "fewer readers at once, or a cache",
            },
        ]);
        Some(finding)
    });
    found.collect()
}

/// Weight of pauses of disks that move much in between: tasks may wait for a server meanwhile (a
/// choice).
const PAUSES: f64 = 0.64;

/// Disks that move much, and then nothing for seconds while CPUs wait for I/O (`dstat`, `vmstat`).
pub(crate) fn stood_still(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let pressed = Pressed { analysis, host };
        let of_tools = [
            (key::DISKS_STUCK, [key::DISKS_READ.of("max"), key::DISKS_WRITTEN.of("max")]),
            (
                key::VMSTAT_WHILE.of("stuck.intervals"),
                [key::VMSTAT_MAX.of("bi"), key::VMSTAT_MAX.of("bo")],
            ),
        ];
        let is_stuck =
            |(stuck, most)| Some((pressed.number(stuck).filter(|n| n.0 >= STUCK)?, most));
        let ((n, reading), most) = of_tools.into_iter().find_map(is_stuck)?;
        let most = most.into_iter().filter_map(|key| pressed.number(key));
        let (most, of_most) =
            most.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(most, _)| *most >= MOVED)?;
        let mut finding = new_finding(verdict, None, vec![reading.listing]);
        finding.blame = Some(Blame::DiskOrPath);
        finding.sentence = format!(
            "the disks of the listing stall: in {} CPUs wait for I/O and nothing is read or \
             written, though up to {} are moved in others; whatever accepts the data (a cache, an \
             enclosure, a card, flash without free blocks) accepts none for seconds",
            phrase::count(n, "interval(s)"),
            phrase::rate(most)
        );
        finding.evidence = vec![
            analysis.stated(&reading).count("intervals with waits and without I/O", n).above(STUCK),
            analysis.stated(&of_most).bytes_per_s("highest throughput", most).above(MOVED),
        ];
        finding.assume(PAUSES, "no I/O completes while CPUs wait for I/O");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by =
            lines(&["programs wait for a file server, or for a disk that is not in the listing"]);
        finding.next_step = lines(&[
            "`iostat -x 1` meanwhile: which device has a queue and completes nothing?",
            "`dmesg`: resets and timeouts of the same seconds; for flash: does `fstrim` help?",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Tasks that wait while nothing moves: what was handed over does not come back.
pub(crate) fn stuck(analysis: &Analysis, host: Host) -> Option<Observation> {
    let host = analysis.hosts().into_iter().find(|known| *known == host)?;
    let host = Pressed { analysis, host };
    let (n, reading) =
        host.number(key::VMSTAT_WHILE.of("stuck.intervals")).filter(|n| n.0 >= STUCK)?;
    let what = "intervals of vmstat in which tasks wait for I/O and nothing is read or written";
    let evidence = analysis.stated(&reading).count(what, n);
    let would_mean = "issued requests do not complete: a disk, its path or a server is stuck. \
                      `iostat -x 1` names the device (a queue and no completions), `dmesg` shows \
                      timeouts, `smartctl -x` each member of an array";
    Some(Observation::of(evidence, would_mean).may_be(Verdict::DeviceStall))
}

/// Intervals of a standstill, and tasks in uninterruptible sleep all along, from which on what they
/// wait for does not come (choices: so many tasks do not all wait for one lock by chance).
const STANDSTILL: f64 = 3.0;
const BLOCKED: f64 = 16.0;

/// Many tasks that sleep in the kernel while nothing is read or written and CPUs idle (`vmstat`).
pub(crate) fn all_blocked(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let pressed = Pressed { analysis, host };
        let (n, reading) = pressed.number(key::VMSTAT_WHILE.of("stuck.intervals"))?;
        let (all, _) = pressed.number(key::VMSTAT_INTERVALS)?;
        let (tasks, of_tasks) = pressed.number(key::VMSTAT_MEAN.of("b"))?;
        (n >= STANDSTILL && n >= all && tasks >= BLOCKED).then_some(())?;
        let mut finding = new_finding(verdict, None, vec![reading.listing]);
        finding.blame = Some(Blame::DiskOrPath);
        finding.sentence = format!(
            "{} sleep in the kernel in all {}, nothing is read or written, and CPUs idle: requests \
             do not complete (a disk, its path or its driver), or all wait for one lock",
            phrase::count(tasks.round(), "task(s)"),
            phrase::count(all, "interval(s)"),
        );
        let stated = analysis.stated(&of_tasks);
        finding.evidence = vec![
            stated.count("tasks in uninterruptible sleep (b), mean", tasks).above(BLOCKED),
            analysis.stated(&reading).count("intervals with waits and without I/O", n),
        ];
        finding.assume(SHAPE_ALONE, "many tasks blocked, and no I/O");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "the stacks of these tasks show one lock and its holder on a CPU: then it is the \
             kernel or a program",
        ]);
        finding.next_step = lines(&[
            "`echo w > /proc/sysrq-trigger; dmesg`: in which functions do they sleep?",
            "`iostat -x 1`: which device has requests in flight (aqu-sz) and completes none?",
            "`dmesg`: timeouts and resets of the same minute",
        ]);
        Some(finding)
    });
    found.collect()
}
