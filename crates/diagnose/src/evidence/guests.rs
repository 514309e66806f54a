//! Disks of a guest: what lies behind them is its host's.

use std::collections::BTreeMap;

use iowhy_model::{Bound, Finding, MessageKind, Verdict};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::candidates;
use crate::evidence::runs::Run;
use crate::evidence::throughput::{self, VOLUME, WELL_PER_S};
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::measures::spread;
use crate::phrase;

/// Disks that a hypervisor emulates; NVMe may be a drive of the host that the guest owns.
const EMULATED: [&str; 4] = ["hd", "sd", "vd", "xvd"];
/// What commands without an answer, and slow streams, of such a disk are worth: its own load and a
/// limit of the provider look alike.
const NO_ANSWER: f64 = 0.75;
const SLOW: f64 = 0.92;

/// Whether a guest's disk of that name is made of its host's storage.
pub(crate) fn is_of_the_host(name: &str) -> bool {
    EMULATED.contains(&disk_names::kind(name))
}

/// Disks of guests whose commands got no answer, or whose streams are slow.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = no_answer(analysis, verdict);
    found.extend(slow_streams(analysis, verdict));
    for finding in &mut found {
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&[
            "the disk or its adapter is passed through to the guest",
            "other guests on the same storage are fast in the same minute",
        ]);
        finding.next_step = lines(&[
            "on the host, in the same minute: latency of the datastore or image (`esxtop`, `iostat \
             -x 1`), its log, and its network if the storage is remote",
            "in the guest: steal time (`vmstat 1`); a longer timeout \
             (`/sys/block/DISK/device/timeout`) \
             only hides such a pause",
        ]);
    }
    found
}

fn no_answer(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let found = candidates.iter().filter_map(|candidate| {
        let about = candidate.about();
        let of = |kind| -> Vec<&LogLine> { about.logged(kind).collect() };
        let timed_out = of(MessageKind::Timeout);
        let is_gone = timed_out.is_empty();
        let logged = if is_gone { of(MessageKind::Offline) } else { timed_out };
        let guest = analysis.facts.hypervisor(&logged)?;
        let medium = about.logged(MessageKind::Medium).next().is_some();
        (!medium && is_of_the_host(&candidate.disk)).then_some(())?;
        let mut builder = EvidenceBuilder::about(candidate);
        let what = match is_gone {
            true => "requests to an offline device, in the kernel's log",
            false => "commands that failed or timed out, in the kernel's log",
        };
        builder.log_lines(what, &logged, Some(Bound::Above(0.0)));
        let mut finding = builder.finding(verdict, Some(candidate.device));
        let happened = match is_gone {
            true => "it went offline: it was detached, or the storage behind its host (datastore, \
                     network, the host's own disks) is gone"
                .to_string(),
            false => format!(
                "{} got no answer: the storage behind its host (datastore, network, the host's own \
                 disks) stalled",
                phrase::count(LogLine::messages(&logged) as f64, "command(s)")
            ),
        };
        finding.sentence = format!(
            "{} is a disk of a guest of {}, and {happened}; the guest has no drive, cable or port \
             that could fail",
            phrase::disk(&candidate.disk),
            guest.text()
        );
        finding.assume(NO_ANSWER, "commands without an answer on a disk that its host emulates");
        Some(finding)
    });
    found.collect()
}

/// One finding of each input: its disks may lie on one store.
fn slow_streams(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut hosts: BTreeMap<Host, Vec<Run>> = BTreeMap::new();
    for run in throughput::streams(analysis) {
        let host = analysis.host(run.place());
        let is_virtual = is_of_the_host(run.name()) && analysis.facts.guest_of(host).is_some()
            || analysis.network_odds(run.device()) >= VOLUME;
        // Its host may be so busy that it once starves the guest's processors, too.
        if is_virtual && !throughput::is_memory_slow(analysis, run.place()) {
            hosts.entry(host).or_default().push(run);
        }
    }
    let found = hosts.into_values().filter_map(|runs| {
        let rates: Vec<f64> = runs.iter().map(Run::throughput).collect();
        let median = spread::median(&rates).filter(|median| *median < WELL_PER_S)?;
        let sorted = spread::sorted(&rates);
        let (least, most) = (*sorted.first()?, *sorted.last()?);
        let mut names: Vec<String> =
            runs.iter().map(|run| phrase::disk(run.name()).to_string()).collect();
        names.dedup();
        let first = &runs[0];
        let device = Some(first.device()).filter(|_| names.len() == 1);
        let mut finding = new_finding(verdict, device, vec![first.place()]);
        let apart = match runs.len() {
            1 => phrase::rate(median),
            _ => format!("{} to {}", phrase::rate(least), phrase::rate(most)),
        };
        finding.sentence = format!(
            "one stream reaches {apart} from {}, a disk provided by its host: the storage behind \
             it is overloaded, throttled or slow (host, provider, network), and a guest has no \
             disk to replace",
            phrase::list(&names)
        );
        let n = runs.len() as u64;
        let rate =
            |what: &str, value: f64| analysis.printed(first.place(), n).bytes_per_s(what, value);
        finding.evidence = vec![rate("median throughput of one stream", median).below(WELL_PER_S)];
        if runs.len() > 1 {
            finding.evidence.push(rate("slowest stream", least));
            finding.evidence.push(rate("fastest stream", most));
        }
        finding.assume(SLOW, "slow streams on a disk that its host emulates");
        finding.share_is_assumed = true;
        Some(finding)
    });
    found.collect()
}
