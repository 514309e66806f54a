//! Tasks in uninterruptible sleep, by name, the disks after which threads of the kernel among them
//! are named, and where those sleep that hang.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{Blame, Bound, Finding, KeyFamily, MessageKind, Unit, Verdict, key, waits};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::clean_bills;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::facts::kernel_threads;
use crate::phrase;

/// Names that are listed.
const NAMED: usize = 4;

/// What the tasks of a host that sleep so wait for, as far as their names tell.
pub(crate) fn meaning(analysis: &Analysis, host: Host) -> Option<String> {
    let names = names(analysis, host);
    let (first, rest) = names.split_at(names.len().min(NAMED));
    let mut listed: Vec<String> = first.iter().map(|(name, _)| name.to_string()).collect();
    if !rest.is_empty() {
        listed.push(format!("{} more", rest.len()));
    }
    let disks = phrase::list(&disks(&names));
    let of = if disks.is_empty() { String::new() } else { format!(" of {disks}") };
    let who = phrase::list(&listed);
    (!listed.is_empty())
        .then(|| format!("{who}: they wait for I/O{of}, or for a lock of a file system or driver"))
}

/// What iowait means where no disk is listed: I/O of the disks whose journal, log or dirty pages a
/// blocked thread of this host writes.
pub(crate) fn meaning_of_iowait(analysis: &Analysis, host: Host) -> Option<String> {
    let disks = disks(&names(analysis, host));
    (!disks.is_empty()).then(|| {
        format!(
            "tasks wait for I/O of {}, by the kernel's threads among them: `iostat -x 1` shows \
             whether it is busy",
            phrase::list(&disks)
        )
    })
}

/// Where the tasks of a host hang, by the functions in their stacks.
pub(crate) fn meaning_of_hangs(analysis: &Analysis, host: Host) -> Option<String> {
    let functions = counted(analysis, host, key::TASKS_HUNG_IN);
    let known = |name: &str| {
        let what = waits::of_stack(&[name]).and_then(|(_, what)| what);
        what.map_or(format!("`{name}`"), |what| format!("`{name}` ({what})"))
    };
    let words: Vec<String> = functions.iter().map(|(name, _)| known(name)).collect();
    (!words.is_empty()).then(|| {
        format!(
            "they wait in {}; the function shows what for, not whose fault it is",
            phrase::list(&words)
        )
    })
}

/// The kernel's log of a machine, if it reports hung tasks and nothing else.
fn nothing_but_hung<'s, 'a>(
    analysis: &'s Analysis<'a>,
    host: Host<'a>,
) -> Option<Vec<&'s LogLine<'a>>> {
    let log: Vec<&LogLine> = analysis.facts.log_of(move |of| of == host).collect();
    let all_hang = log.iter().all(|line| line.kind == MessageKind::HungTask);
    (all_hang && !log.is_empty()).then_some(log)
}

/// The functions of the kernel in which tasks hang, as code.
fn functions(analysis: &Analysis, host: Host) -> Vec<String> {
    let functions = counted(analysis, host, key::TASKS_HUNG_IN);
    functions.iter().map(|(name, _)| format!("`{name}`")).collect()
}

/// Tasks that all hang within one module of the kernel, for a lock or a resource of its own, while
/// no disk reports anything: `layer.above`.
pub(crate) fn within_a_module(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let [(module, tasks)] = counted(analysis, host, key::TASKS_HUNG_WITHIN)[..] else {
            return None;
        };
        let log = nothing_but_hung(analysis, host)?;
        (tasks >= SEVERAL && LogLine::messages(&log) as f64 <= tasks).then_some(())?;
        let mut builder = EvidenceBuilder::of(analysis);
        builder.log_lines("tasks that hung for minutes, in the kernel's log", &log, None);
        let about = analysis.machine(host);
        let (_, reading) = about.machine_number(key::TASKS_HUNG_WITHIN.member(module))?;
        let bound = Some(Bound::Above(SEVERAL - 1.0));
        let what = format!("of these, within {module}, and not for I/O");
        builder.fact(&reading, &what, (tasks, Unit::Count), bound);
        let mut finding = builder.finding(verdict, None);
        let functions = functions(analysis, host);
        finding.sentence = format!(
            "{} hang, all of them within {module} ({}), for a lock or a resource of its own: no \
             disk reports an error, and none is shown to be slow",
            phrase::count(tasks, "task(s)"),
            phrase::list(&functions)
        );
        finding.assume(SHAPE_ALONE, "stacks of tasks that hung");
        (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
        finding.refuted_by = lines(&[
            "`iostat -x 1` shows a disk below with requests in flight that do not complete: the \
             holder of the lock waits for it",
        ]);
        finding.next_step = vec![
            "all stacks at once (`echo w > /proc/sysrq-trigger`, then `dmesg`): one task holds \
             what the others wait for, and its stack shows the reason"
                .to_string(),
            format!("look for known faults of {module} in this kernel; try a newer one"),
        ];
        Some(finding)
    });
    found.collect()
}

/// Weight of an error handler that does not sleep, and of one that hangs itself.
const RECOVERS: f64 = 0.72;
const HANGS: f64 = 0.80;

/// SCSI hosts whose error handler is at work or hangs: a device there failed commands or does not
/// answer, whatever the tasks that wait for it do.
pub(crate) fn in_recovery(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let log = analysis.facts.log_of(move |of| of == host);
        let hung: Vec<&LogLine> =
            log.filter(|line| line.message.hung_recovery().is_some()).collect();
        let mut builder = EvidenceBuilder::of(analysis);
        let (number, does) = match hung.first() {
            Some(line) => {
                let what = "times the error handler of a SCSI host hung, in the kernel's log";
                builder.log_lines(what, &hung, Some(Bound::Above(0.0)));
                (line.message.hung_recovery()?, "hangs itself in a reset or a wait")
            }
            None => {
                let at_work = names(analysis, host);
                let is_it = |(name, _): &&(&str, f64)| kernel_threads::recovers(name).is_some();
                let (name, _) = *at_work.iter().find(is_it)?;
                let about = analysis.machine(host);
                let member = key::TASKS_BLOCKED_BY.member(name);
                let (n, reading) = about.machine_number(member)?;
                let what = format!("{name} in uninterruptible sleep");
                builder.fact(&reading, &what, (n, Unit::Count), Some(Bound::Above(0.0)));
                (kernel_threads::recovers(name)?, "is at work")
            }
        };
        let mut finding = builder.finding(verdict, None);
        finding.blame = Some(Blame::DiskOrPath);
        finding.sentence = format!(
            "a device of SCSI host {number} fails commands or does not answer: the error handler \
             of that host (`scsi_eh_{number}`) {does}, and I/O of all its devices waits meanwhile"
        );
        let (worth, why) = match hung.is_empty() {
            true => (RECOVERS, "the error handler of a SCSI host sleeps unless commands failed"),
            false => (HANGS, "the error handler of a SCSI host hangs"),
        };
        finding.assume(worth, why);
        let moment = "one screen is a moment: a single command may have failed";
        finding.doubt_if(hung.is_empty(), moment, ONE_SCREEN);
        (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
        finding.refuted_by = lines(&["the same thread sleeps (S) a minute later, and no command \
                                      failed since"]);
        finding.next_step = vec![
            format!("`lsscsi {number}:` or `lsblk -S`: which devices does that host have?"),
            "`dmesg`: which command failed first, and what was reset?".to_string(),
            "take out what is not needed there (an empty optical drive); else cable and firmware"
                .to_string(),
        ];
        Some(finding)
    });
    found.collect()
}

/// Idle CPU time that would show a wait for I/O, and the iowait up to which there is next to none:
/// one task that waits for I/O all the time makes a share of one CPU (choices: of 24 CPUs, a
/// twelfth of the time).
const NEARLY_IDLE: f64 = 0.5;
const NEXT_TO_NONE: f64 = 0.0035;
/// What it is worth: a screen is a moment, and a task may be in a short wait.
const NO_IO: f64 = 0.62;
const ONE_SCREEN: f64 = 0.75;

/// Tasks in uninterruptible sleep while idle CPUs do not wait for I/O: the kernel counts as iowait
/// what sleeps for I/O (kernel/sched/core.c, io_schedule), so they wait for something else.
pub(crate) fn for_no_io(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let (tasks, reading) = analysis.own_number(host, key::TASKS_BLOCKED)?;
        let names = names(analysis, host);
        let (first, _) = names.iter().find(|(name, _)| kernel_threads::is_program(name))?;
        let (iowait, mut builder) = clean_bills::without_iowait(analysis, host)?;
        let idle = analysis.own_number(host, key::CPU_MEAN.of("idle"))?.0;
        let logged = analysis.facts.log_of(move |of| of == host).next().is_some();
        let measured = analysis
            .intervals
            .iter()
            .any(|row| analysis.host(row.listing) == host && !row.interval.since_boot);
        let is_clear = iowait <= NEXT_TO_NONE && idle >= NEARLY_IDLE && tasks >= 1.0;
        (is_clear && !logged && !measured && !is_of_a_server(analysis, host)).then_some(())?;
        let what = "tasks in uninterruptible sleep";
        builder.fact(&reading, what, (tasks, Unit::Count), Some(Bound::Above(0.0)));
        let mut finding = builder.finding(verdict, None);
        finding.sentence = format!(
            "{first} is in uninterruptible sleep although idle CPUs wait for I/O {} of the time: \
             it does not wait for a disk, but for a lock, a timer or a driver in the kernel, or a \
             server",
            phrase::percent(iowait)
        );
        finding.assume(NO_IO, "a wait that is not counted as one for I/O");
        finding.doubt("one screen is a moment: a short wait looks the same", ONE_SCREEN);
        (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
        finding.refuted_by = lines(&[
            "its state changes from one second to the next: `top -d 1`, and `iostat -x 1` shows a \
             busy disk",
        ]);
        finding.next_step = lines(&[
            "`cat /proc/PID/stack` and `cat /proc/PID/wchan`, several times: in which function of \
             the kernel does it wait?",
            "`findmnt -T` of its files: a network mount waits without being counted as iowait",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Whether the input has a mount of a server.
fn is_of_a_server(analysis: &Analysis, host: Host) -> bool {
    analysis
        .listings_of(host)
        .any(|(_, listing)| listing.facts.iter().any(|fact| fact.key == key::MOUNT_TYPE))
}

/// Tasks that hang in one place by no accident (a choice).
const SEVERAL: f64 = 2.0;
/// What a wait for I/O over minutes is worth (a choice): a kernel that lost a wake-up looks the
/// same.
const FOR_MINUTES: f64 = 0.62;

/// Tasks of a host that hang in a wait for I/O: `layer.below`.
pub(crate) fn for_io(analysis: &Analysis, host: Host, verdict: Verdict) -> Option<Finding> {
    let (tasks, reading) = analysis.own_number(host, key::TASKS_HUNG_FOR_IO)?;
    let log: Vec<&LogLine> = analysis.facts.log_of(move |of| of == host).collect();
    let log: Vec<&LogLine> =
        log.into_iter().filter(|line| line.kind == MessageKind::HungTask).collect();
    let written = log.iter().filter_map(|line| disk_names::written_by(&line.message.text));
    let mut disks: Vec<String> = written.map(str::to_string).collect();
    disks.extend(hung_on(analysis, host));
    // Of another machine (`layer.remote`), or of what fails there.
    let is_elsewhere = disks.iter().any(|disk| disk_names::is_elsewhere(disk));
    (!is_elsewhere && !log.is_empty()).then_some(())?;
    disks.sort();
    disks.dedup();
    let device = match &disks[..] {
        [disk] => analysis.recording.find_device(disk),
        _ => None,
    };
    let mut builder = EvidenceBuilder::of(analysis);
    builder.log_lines("tasks that hung for minutes, in the kernel's log", &log, None);
    let above = Some(Bound::Above(0.0));
    builder.fact(&reading, "of these, in a wait for I/O", (tasks, Unit::Count), above);
    let mut finding = builder.finding(verdict, device);
    let functions = functions(analysis, host);
    let of = match &disks[..] {
        [] => String::new(),
        disks => format!("; journals or work of {}", phrase::list(disks)),
    };
    finding.sentence = format!(
        "{} hung for minutes in a wait for I/O ({}{of}), which the storage below does not \
         complete: a disk, its path, the host of a guest, or a very long queue to one of them",
        phrase::count(tasks, "task(s)"),
        phrase::list(&functions)
    );
    finding.assume(FOR_MINUTES, "stacks of tasks that hung");
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&[
        "`iostat -x 1` shows no request in flight (aqu-sz 0) while they hang: then the kernel lost \
         a wake-up",
    ]);
    finding.next_step = lines(&[
        "`iostat -x 1`: which device has requests in flight and completes none, or few?",
        "all stacks at once: `echo w > /proc/sysrq-trigger`, then `dmesg`",
        "a guest: the log and the latencies of its host for the same minute",
    ]);
    Some(finding)
}

/// The devices that workers of the kernel serve which hang.
pub(crate) fn hung_on(analysis: &Analysis, host: Host) -> Vec<String> {
    let counted = counted(analysis, host, key::TASKS_HUNG_ON);
    counted.into_iter().map(|(device, _)| device.to_string()).collect()
}

/// Names, the most numerous first; of several lists the largest number of each.
fn names<'s>(analysis: &'s Analysis, host: Host) -> Vec<(&'s str, f64)> {
    counted(analysis, host, key::TASKS_BLOCKED_BY)
}

fn counted<'s>(analysis: &'s Analysis, host: Host, family: KeyFamily) -> Vec<(&'s str, f64)> {
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for fact in analysis.listings_of(host).flat_map(|(_, listing)| &listing.facts) {
        let name = fact.key.member_of(family);
        if let Some((name, tasks)) = name.zip(fact.value.number()) {
            let known = most.entry(name).or_default();
            *known = known.max(tasks);
        }
    }
    let mut named: Vec<(&str, f64)> = most.into_iter().collect();
    named.order_by(|a, b| b.1.total_cmp(&a.1));
    named
}

fn disks(names: &[(&str, f64)]) -> Vec<String> {
    let mut disks: Vec<String> =
        names.iter().filter_map(|(name, _)| kernel_threads::disk_of(name)).collect();
    disks.sort();
    disks.dedup();
    disks
}
