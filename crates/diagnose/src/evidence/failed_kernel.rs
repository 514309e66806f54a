//! Tasks that wait after the kernel itself failed: what a task held that an oops ended stays
//! locked.

use iowhy_model::{Bound, Finding, MessageKind, Unit, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::facts::kernel_log::LogLine;
use crate::phrase;

/// Share of the time in which all tasks wait for I/O at once, from which on it is a standstill (a
/// choice: a slow disk leaves some of them running).
const ALL_WAIT_SHARE: f64 = 0.5;
/// Tasks in uninterruptible sleep at one moment that are one (a choice).
const BLOCKED: f64 = 16.0;
/// What an oops beside waiting tasks is worth: they may have waited before it.
const LOCKS_KEPT: f64 = 0.72;

/// Machines whose kernel failed while tasks wait, and whose log shows no failing disk.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    analysis.hosts().into_iter().filter_map(|host| of_host(analysis, verdict, host)).collect()
}

fn of_host(analysis: &Analysis, verdict: Verdict, host: Host) -> Option<Finding> {
    let number = |key| analysis.own_number(host, key);
    let (oopses, reading) = number(key::KERNEL_OOPSES)?;
    let log: Vec<&LogLine> = analysis.facts.log_events(host).collect();
    let (hung, others): (Vec<&LogLine>, Vec<&LogLine>) =
        log.into_iter().partition(|line| line.kind == MessageKind::HungTask);
    // A failing disk, path or server is a cause of its own, of the oops too.
    others.is_empty().then_some(())?;
    let mut builder = EvidenceBuilder::of(analysis);
    let above = Some(Bound::Above(0.0));
    builder.fact(&reading, "failures of the kernel itself (oopses)", (oopses, Unit::Count), above);
    let known = builder.evidence.len();
    builder.log_lines("tasks blocked for minutes, in the same log", &hung, above);
    let all_wait = "time in which all tasks waited for I/O at once";
    let blocked = "tasks in uninterruptible sleep";
    for (key, what, bound, unit) in [
        (key::PRESSURE_AVG10.of("io.full"), all_wait, ALL_WAIT_SHARE, Unit::Share),
        (key::TASKS_BLOCKED, blocked, BLOCKED, Unit::Count),
    ] {
        if let Some((value, reading)) = number(key).filter(|(value, _)| *value > bound) {
            builder.fact(&reading, what, (value, unit), Some(Bound::Above(bound)));
        }
    }
    (builder.evidence.len() > known).then_some(())?;
    let mut finding = builder.finding(verdict, None);
    let function = analysis
        .machine(host)
        .machine(key::KERNEL_OOPS_IN)
        .map(|reading| reading.text().to_string());
    let place = function.map_or(String::new(), |name| format!(", first in {name}"));
    finding.sentence = format!(
        "the kernel itself failed ({}{place}): tasks that ended there keep their locks, and others \
         wait for these until the machine restarts; no disk is shown to be slow",
        phrase::count(oopses, "oops(es)")
    );
    finding.assume(LOCKS_KEPT, "tasks wait after the kernel failed");
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&[
        "tasks waited in the same way before the first oops",
        "`iostat -x 1` shows requests in flight (aqu-sz) that do not complete: then it is the \
         device",
    ]);
    finding.next_step = lines(&[
        "`dmesg | grep -B 2 -A 40 'Oops'`: the first one decides; report its module or file \
         system, or try another version",
        "restart the machine: nothing else releases the locks",
    ]);
    Some(finding)
}
