//! The CPUs are saturated: programs wait for a CPU, and completions are handled late.
//!
//! ## Accuses
//! The machine, or the host of the virtual machine. Not a disk.
//!
//! ## Why it matters
//! CPU starvation lengthens every wait that a program measures, and iowait disappears from the
//! statistics. Replacing a disk then does not help.
//!
//! ## Needs
//! CPU statistics of the kernel: `/proc/pressure/cpu`, `vmstat`, `top` or `mpstat`.
//!
//! ## Rule
//! Tasks wait for a CPU more than half of the time, or the host takes more than 15 % of it (steal).
//! If disks were measured they must have lost time, and none of them be slow by itself; if each of
//! them responds like a healthy one (a mean below three healthy service times) it is a note.
//! Suspected: cached reads, which use no disk, run below 100 MB/s (`hdparm -T`). Or every thread of
//! a test (fio) is on a CPU for 90 % of its time or more, and its engine does not poll. Or a thread
//! of the kernel that serves the disks (write-back, parity, encryption, completions) takes 90 % of
//! a CPU or more: it can use one, so the disks get no more work than it can issue. Or `vmstat`
//! shows at most 10 % of the CPUs' time idle or waiting for I/O and three tasks runnable, in four
//! intervals or in three that move 10 MB/s; or the kernel takes half of the CPUs' time and less
//! than 15 % is left (`top`, `mpstat`), or less than 10 % in a third of the intervals. Or the
//! kernel's log reports that a CPU ran one task for 20 s (soft lockup). Or 80 % of a database's
//! waiting is for a CPU, or spent on one, and its I/O takes below 10 ms, or below 5 % of the
//! waiting.
//!
//! ## Wrong if
//! The tasks that wait for a CPU are not the ones with the problem.
//!
//! ## Next step
//! Find the processes that use the CPUs; reduce noisy neighbours on the host.

use iowhy_model::{FactKey, Finding, Level, MessageKind, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::busy_runs;
use crate::evidence::busy_threads;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::database_waits;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::evidence::shortage;
use crate::evidence::throughput;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerCpu,
    summary: "The CPUs are saturated: programs and completions wait for a CPU",
    manual: iowhy_model::manual!("layer_cpu.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "CPU pressure and steal time during the I/O",
    },
    explains: &[Verdict::LayerAbove],
    rule: Rule::Detect(detect),
};

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let mut findings = shortage::findings(analysis, DETECTOR.verdict, &shortage::of_processors());
    for finding in &mut findings {
        let Some(first) = finding.evidence.first() else { continue };
        finding.sentence = format!(
            "the CPUs are saturated ({}: {}): programs wait for a CPU, and completions are handled \
             late",
            first.quantity,
            phrase::percent(first.amount.value)
        );
        finding.refuted_by = lines(&[
            "the same load is just as slow while the CPUs are idle",
            "a trace of the device shows the same waits between issue and completion, far longer \
             than a time slice",
        ]);
        finding.next_step = lines(&[
            "`top -b -n 1 | head -20`: which processes use the CPUs?",
            "for steal time: fewer noisy neighbours on the host, or dedicated CPUs",
        ]);
    }
    findings.extend(analysis.hosts().into_iter().filter_map(|host| used_up(analysis, host)));
    findings.extend(analysis.hosts().into_iter().filter_map(|host| stuck(analysis, host)));
    findings.extend(throughput::slow_hosts(analysis, DETECTOR.verdict));
    findings.extend(busy_runs::findings(analysis, DETECTOR.verdict));
    findings.extend(busy_threads::findings(analysis, DETECTOR.verdict));
    findings.extend(database_waits::for_cpus(analysis, DETECTOR.verdict));
    findings
}

/// Kinds of lines of a device that fails by itself: a driver that waits for it may hold a CPU.
const OF_A_DEVICE: [MessageKind; 3] =
    [MessageKind::Controller, MessageKind::Medium, MessageKind::Timeout];
/// What a CPU that was stuck is worth: no other task ran on it for 20 s (kernel/watchdog.c).
const STUCK: f64 = 0.75;

/// CPUs that ran one task for so long that no other had its turn.
fn stuck(analysis: &Analysis, host: Host) -> Option<Finding> {
    let (times, reading) = analysis.own_number(host, key::CPUS_STUCK)?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    let what = "times a CPU ran one task for 20 s or longer (soft lockup)";
    finding.evidence = vec![analysis.stated(&reading).count(what, times).above(0.0)];
    finding.sentence = format!(
        "a CPU of this machine ran one task for 20 s or longer, {} (soft lockup): nothing else ran \
         on it, and timeouts in that minute may be caused by that",
        phrase::count(times, "time(s)")
    );
    finding.assume(STUCK, "logged by the kernel's own watchdog");
    let fails = analysis.facts.log_events(host).any(|line| OF_A_DEVICE.contains(&line.kind));
    let why = "a device of the same log fails, and a driver that waits for it may hold a CPU";
    finding.doubt_if(fails, why, SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by =
        lines(&["the machine was suspended, or its host paused it, and nothing waited"]);
    finding.next_step = lines(&[
        "in a guest: check steal time, and its host's load in the same minute; otherwise the task \
         that the line names",
        "`dmesg`: the stack below that line shows where it ran",
    ]);
    Some(finding)
}

/// Intervals of `vmstat` from which on their mean is one, of all of them and of those in which data
/// moved in bulk; share of the processors' time that is left, idle or for I/O, where they are used
/// up; and runnable tasks that then wait for one (choices).
const INTERVALS: f64 = 4.0;
const IN_BULK: f64 = 3.0;
const LEFT: f64 = 0.1;
const RUNNABLE: f64 = 3.0;
/// Its weight.
const USED_UP: f64 = 0.7;

/// Share of the processors' time in the kernel, and what is left of it, where one report of `top`
/// or `mpstat` shows what they do; and the share of the intervals of `vmstat` that makes them
/// lasting (choices).
const IN_KERNEL: f64 = 0.5;
const LEFT_AT_ONCE: f64 = 0.15;
const LASTS: f64 = 0.3;
/// Runnable tasks meanwhile, so that another waits for the processor that one holds (a choice).
const SEVERAL: f64 = 1.5;
/// Share of the processors' time in waits for I/O below which no disk is waited for (a choice).
const WAITED_FOR: f64 = 0.01;

/// Whether bulk moves, over how many reports, what is left, programs, and the kernel with its
/// reading.
type Used<'a> = (bool, String, f64, f64, (f64, FactReading<'a>));

/// The kernel itself takes what there is: in one report, or in many intervals of `vmstat`.
fn in_the_kernel<'a>(analysis: &Analysis<'a>, host: Host<'a>) -> Option<Used<'a>> {
    let about = analysis.machine(host);
    let number = |key: FactKey| analysis.own_number(host, key);
    let (n, all) = (number(key::VMSTAT_WHILE.of("full.intervals")), number(key::VMSTAT_INTERVALS));
    if let Some(((n, _), (all, _))) = n.zip(all).filter(|((n, _), (all, _))| *n >= LASTS * all)
        && n >= INTERVALS
        && let (Some((user, _)), Some(kernel)) =
            (number(key::VMSTAT_WHILE.of("full.us")), number(key::VMSTAT_WHILE.of("full.sy")))
        && kernel.0 >= IN_KERNEL
        && number(key::VMSTAT_WHILE.of("full.r")).is_some_and(|(tasks, _)| tasks >= SEVERAL)
    {
        let words = format!("{} of {}", phrase::digits(n), phrase::count(all, "interval(s)"));
        return Some((false, words, 1.0 - user - kernel.0, user, kernel));
    }
    // The reports of one tool: each lists the same processors.
    let kernel = about
        .readings_of_machine(key::CPU_MEAN.of("system"))
        .find(|(share, of)| analysis.host(of.listing) == host && *share >= IN_KERNEL)?;
    let of = |column| {
        let mut all = about.readings_of_machine(key::CPU_MEAN.of(column));
        all.find(|(_, of)| of.listing == kernel.1.listing).map(|(share, _)| share)
    };
    let left = of("idle")? + of("iowait").unwrap_or(0.0);
    (left <= LEFT_AT_ONCE).then_some((false, "all reports".into(), left, of("user")?, kernel))
}

/// The processors have no time left, and hardly any of it passes in waits for I/O.
fn used_up(analysis: &Analysis, host: Host) -> Option<Finding> {
    let about = analysis.machine(host);
    let number = |key: FactKey| about.machine_number(key);
    let while_moving = (key::VMSTAT_MOVING.of("intervals"), IN_BULK, key::VMSTAT_MOVING);
    let always = (key::VMSTAT_INTERVALS, INTERVALS, key::VMSTAT_MEAN);
    let by_rows = [always, while_moving].into_iter().find_map(|(counted, least, of)| {
        let (n, reading) = number(counted).filter(|(n, _)| *n >= least)?;
        let mean = |column| number(of.of(column)).map(|(value, _)| value);
        // Old kernels have no `wa`: their `id` contains it.
        let left = mean("id")? + mean("wa").unwrap_or(0.0);
        let waits = mean("r")? >= RUNNABLE && analysis.host(reading.listing) == host;
        (waits && left <= LEFT).then_some((
            of == key::VMSTAT_MOVING,
            phrase::count(n, "interval(s)"),
            left,
            mean("us")?,
            number(of.of("sy"))?,
        ))
    });
    let (moves, n, left, user, (kernel, reading)) =
        by_rows.or_else(|| in_the_kernel(analysis, host))?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    let in_kernel = kernel > user;
    let (moving, so) = match (moves, in_kernel) {
        (true, true) => (
            " while 10 MB/s or more are transferred",
            "the kernel uses them for that: transfers without DMA, encryption, checksums, \
             interrupts or reclaim of memory",
        ),
        (true, false) => (" while 10 MB/s or more are transferred", "programs use them"),
        (false, true) => ("", "the kernel uses them: system calls, locks or reclaim of memory"),
        (false, false) => ("", "programs use them"),
    };
    finding.sentence = format!(
        "the CPUs are saturated{moving} ({} in programs, {} in the kernel, {} idle or waiting for \
         I/O): {so}; no program waits for a disk",
        phrase::percent(user),
        phrase::percent(kernel),
        phrase::percent(left)
    );
    let what = format!("CPU time that is idle or waits for I/O, mean of {n}");
    finding.evidence = vec![
        analysis.stated(&reading).share(&what, left).below(LEFT),
        analysis.stated(&reading).share("CPU time in the kernel (sy)", kernel),
    ];
    if let Some((share, who, of)) = about.busiest_process(key::PROCESS_CPU) {
        let what = format!("CPU time of {who}, share of one CPU");
        finding.evidence.push(analysis.stated(&of).share(&what, share));
        finding.sentence += &format!("; {who} takes {} of one", phrase::percent(share));
    }
    finding.assume(USED_UP, "no CPU time is left, and none of it waits for I/O");
    // A disk that nobody waits for may be as slow as it likes.
    let iowait = number(key::CPU_MEAN.of("iowait")).is_none_or(|(share, _)| share >= WAITED_FOR);
    let suspect = iowait && shortage::has_suspect(analysis, host);
    finding.doubt_if(suspect, "a disk of the same input is slow by itself", SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&["the same load is just as slow while CPUs are idle"]);
    finding.next_step = lines(&[
        "`top -b -n 1 | head -20` and `perf top`: which program, or which function of the kernel?",
        "for an old IDE disk `hdparm -d /dev/DISK`: is DMA on?",
    ]);
    Some(finding)
}
