//! Servers, targets and peers that the kernel's log shows not to answer: one fault of what several
//! disks, sessions or paths share.

use std::collections::BTreeSet;

use iowhy_model::{Bound, DeviceId, Finding, MessageKind, Unit, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::blocked_tasks;
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::volumes;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Weight of what a target or a server reports in its own name.
pub(crate) const OF_A_TARGET: f64 = 0.75;
const NO_ANSWER: &str = "messages that a server or peer did not respond, or was busy";
const CARD_STOPPED: &str = "times a network card of this machine stopped sending";
const WHICH_MOUNT: &str = "`iowhy why --for 30s`, or `findmnt -D` and \
     `/sys/fs/fuse/connections/*/waiting`: which mount is it, and does its server run? `echo 1 > \
     .../abort` frees those who wait";
const OWN_CARD: &str =
    "`ip -s link`, `ethtool -S` of the card, and another driver, cable or port for it";
const PORT_REFUSES: &str = "paths whose target port the array reports as not available (ALUA)";
const ABOVE: Option<Bound> = Some(Bound::Above(0.0));
/// OSDs of a Ceph cluster, as named by the kernel (`osd56`).
const OSD: &str = "osd";

/// What to check of volumes whose paths are gone.
const PATHS: [&str; 3] = [
    "`multipath -ll`: are the paths back, and what do they share (target port, adapter, switch)?",
    "check the array's own log for that minute: a controller that failed over or was updated",
    "set `no_path_retry` or `queue_if_no_path` in /etc/multipath.conf: without it I/O fails \
     immediately when all paths are lost",
];

/// Why an answer that did not come may have come.
const ITS_OWN_CPU: &str =
    "a CPU of this machine was stuck in the same log: it may have missed the answer itself";

/// All of them.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let mut found: Vec<Finding> =
        Case::of_disks(&candidates).filter_map(|case| no_answer(&case, verdict)).collect();
    for of in [services_down, lost_sessions, hung] {
        let hosts = analysis.hosts().into_iter();
        found.extend(hosts.filter_map(|host| {
            of(analysis, verdict, &analysis.facts.log_of(|of| of == host).collect::<Vec<_>>())
        }));
    }
    found.extend(lost_paths(analysis, verdict));
    for finding in &mut found {
        let host = finding.subject.listings.first().map(|place| analysis.host(*place));
        let stuck = host.is_some_and(|host| analysis.own_number(host, key::CPUS_STUCK).is_some());
        finding.doubt_if(stuck, ITS_OWN_CPU, SHAPE_ALONE);
    }
    found
}

/// A finding that a server or target did not answer.
pub(crate) fn remote(
    verdict: Verdict,
    device: Option<DeviceId>,
    builder: &mut EvidenceBuilder,
    sentence: String,
    first: &[&str],
) -> Finding {
    let mut finding = builder.finding(verdict, device);
    finding.sentence = sentence;
    finding.assume(OF_A_TARGET, "the target's own lines in the log");
    finding.refuted_by =
        lines(&["the slow I/O goes to a disk of this machine: `findmnt`, `lsblk -s`"]);
    finding.next_step = lines(first);
    finding.next_step.extend(lines(&[
        "check that the server is up and the network is intact: `ping`, `ss -ti`, `nstat -az \
         TcpRetransSegs`",
        "on the server: `iostat -x 1` and its kernel's log of the same minute",
    ]));
    finding
}

/// A server or a peer that did not answer. What has a common parent is reported for the parent.
fn no_answer(case: &Case, verdict: Verdict) -> Option<Finding> {
    let mut logged = case.logged(&[MessageKind::Remote]);
    logged.retain(|line| !line.message.is_of_iscsi() && line.message.adapter.is_none());
    if logged.is_empty() || disk_names::kind(case.name) == OSD {
        return None;
    }
    let mut builder = case.builder();
    builder.log_lines(NO_ANSWER, &logged, ABOVE);
    let is_fuse = disk_names::is_a_fuse_server(case.name);
    let host = case.analysis.host(logged.first()?.reading.listing);
    let card = card_stopped(case.analysis, host).filter(|_| !is_fuse);
    let (sentence, step) = match (is_fuse, card) {
        (true, _) => (
            "the server of a FUSE file system (a program: sshfs, s3fs, glusterfs, ...) did not \
             answer in time: it hangs itself, or waits for the network or another machine"
                .to_string(),
            Some(WHICH_MOUNT),
        ),
        (_, Some((times, reading))) => {
            builder.fact(&reading, CARD_STOPPED, (times, Unit::Count), ABOVE);
            let times = phrase::count(times, "time(s)");
            let sentence = format!(
                "{} did not answer this machine, whose own network card stopped sending {times} in \
                 the same log: the card, its driver or its cable rather than the server",
                case.name
            );
            (sentence, Some(OWN_CARD))
        }
        _ => (
            format!(
                "{} did not serve requests in time: the waits are for the network or for a disk of \
                 another machine",
                case.name
            ),
            None,
        ),
    };
    let steps = step.as_slice();
    Some(remote(verdict, Some(case.device), &mut builder, sentence, steps))
}

/// How often a network card of a machine stopped sending, in all parts of its log together, and
/// where the first of them is.
fn card_stopped<'a>(analysis: &Analysis<'a>, host: Host) -> Option<(f64, FactReading<'a>)> {
    let (_, first) = analysis.own_number(host, key::NETWORK_STOPPED)?;
    let facts = analysis.listings_of(host).flat_map(|(_, listing)| &listing.facts);
    let times = facts.filter(|fact| fact.key == key::NETWORK_STOPPED);
    Some((times.filter_map(|fact| fact.value.number()).sum(), first))
}

/// Services of a cluster that went down: one fault, of their host, their network or themselves.
fn services_down(analysis: &Analysis, verdict: Verdict, log: &[&LogLine]) -> Option<Finding> {
    let is_one = |line: &&&LogLine| {
        let name = line.disk.as_deref();
        line.kind == MessageKind::Remote && name.is_some_and(|name| disk_names::kind(name) == OSD)
    };
    let down: Vec<&LogLine> = log.iter().filter(is_one).copied().collect();
    let names = sorted(down.iter().filter_map(|line| line.disk.clone()));
    let first = names.first()?;
    let mut builder = EvidenceBuilder::of(analysis);
    let (what, did) = match down.iter().any(|line| line.message.is_of_a_heartbeat()) {
        true => (
            "services of a cluster that did not answer others",
            "did not answer other services of it",
        ),
        false => ("services of a cluster that went down", "went down"),
    };
    let n = (names.len() as f64, Unit::Count);
    builder.fact(&down.first()?.reading, what, n, ABOVE);
    let sentence = format!(
        "{} of the Ceph cluster {did}: I/O to the data that only they serve waits, and the rest is \
         slower until others have taken over",
        phrase::list(&names)
    );
    let device = analysis.recording.find_device(first).filter(|_| names.len() == 1);
    let step = "`ceph -s`, `ceph osd tree down`: do they share a host, a switch or a network card?";
    Some(remote(verdict, device, &mut builder, sentence, &[step]))
}

/// Tasks that hung while they wrote to a device of another machine.
fn hung(analysis: &Analysis, verdict: Verdict, log: &[&LogLine]) -> Option<Finding> {
    let of = |line: &LogLine| {
        let device = disk_names::written_by(&line.message.text)?;
        disk_names::is_elsewhere(device).then(|| device.to_string())
    };
    // A worker of the kernel serves the device of its queue.
    let first = log.iter().find(|line| line.kind == MessageKind::HungTask)?;
    let mut served = blocked_tasks::hung_on(analysis, analysis.host(first.reading.listing));
    served.retain(|device| disk_names::is_elsewhere(device));
    let is_it = |line: &LogLine| of(line).is_some() || !served.is_empty();
    let is_hung = |line: &&&LogLine| line.kind == MessageKind::HungTask && is_it(line);
    let hung: Vec<&LogLine> = log.iter().filter(is_hung).copied().collect();
    let names = sorted(hung.iter().filter_map(|line| of(line)).chain(served.iter().cloned()));
    let of_ceph = disk_names::kind(names.first()?) == "rbd";
    let mut builder = EvidenceBuilder::of(analysis);
    builder.log_lines("tasks that hung writing to it, in the kernel's log", &hung, ABOVE);
    let sentence = format!(
        "writes to {} did not complete for minutes: its data is on another machine, and that \
         machine or the network to it did not answer",
        phrase::list(&names)
    );
    let step =
        ["`ceph -s`, `ceph health detail`: which placement groups or services do not answer?"];
    let step = if of_ceph { &step[..] } else { &[] };
    Some(remote(verdict, None, &mut builder, sentence, step))
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The connections and sessions of iSCSI that were lost, and the disks that failed because of that:
/// one fault, of the network or of the target.
fn lost_sessions(analysis: &Analysis, verdict: Verdict, log: &[&LogLine]) -> Option<Finding> {
    let of = |is_one: &dyn Fn(&LogLine) -> bool| -> Vec<&LogLine> {
        log.iter().filter(|line| is_one(line)).copied().collect()
    };
    let lost = of(&|line| line.kind == MessageKind::Remote && line.message.is_of_iscsi());
    let gone = of(&|line| line.kind == MessageKind::Offline && line.message.adapter.is_some());
    let host = analysis.host(lost.first()?.reading.listing);
    let sessions = devices(&lost);
    let first = *sessions.first()?;
    let behind = sorted(gone.iter().filter_map(|line| line.disk.clone()));
    let mut builder = EvidenceBuilder::of(analysis);
    let n = sessions.len() as f64;
    let what = "lost iSCSI connections and sessions";
    builder.fact(&lost.first()?.reading, what, (n, Unit::Count), ABOVE);
    builder.log_lines(NO_ANSWER, &lost, ABOVE);
    builder.log_lines("requests to disks that went offline because of that", &gone, None);
    let slow = analysis.facts.disks().filter_map(|disk| {
        let about = analysis.facts.about(Some(host), disk);
        let (seconds, reading) = about.number(key::DEVICE_LATENCY_COMPLAINED)?;
        (analysis.host(reading.listing) == host).then_some((disk, seconds, reading))
    });
    let mut words = Vec::new();
    for (disk, seconds, reading) in slow {
        let what = format!("longest mean latency logged by the host ({disk})");
        builder.fact(&reading, &what, (seconds, Unit::Seconds), None);
        words.push(format!("{disk} took up to {}", phrase::ms(seconds * 1e3)));
    }
    let name = |device: &DeviceId| analysis.recording.device_of(*device).name.clone();
    let names: Vec<String> = sessions.iter().map(name).collect();
    let consequence = match behind.len() {
        0 => String::new(),
        1 => format!(", and {} failed because of that", behind[0]),
        n => format!(", and {n} disks failed because of that"),
    };
    let before = match words.is_empty() {
        true => String::new(),
        false => format!("; {} in the same log", phrase::list(&words)),
    };
    let sentence = format!(
        "the iSCSI target did not respond in time: {} lost ({}){consequence}{before}: the cause is \
         the target or the network to it, not a disk of this host",
        phrase::count(n, "connection(s) or session(s)"),
        phrase::list(&names)
    );
    // The disk, if the session has only one; else the session; else all of them.
    let device = match (behind.as_slice(), sessions.len()) {
        ([disk], _) => analysis.recording.find_device(disk),
        ([], 1) => Some(first),
        _ => None,
    };
    let step = "check the switch ports between host and target: errors, pauses (flow control), \
                speed, MTU; on the host the session timeouts (`iscsiadm -m session -P 2`: \
                recovery, NOP-Out)";
    let mut finding = remote(verdict, device, &mut builder, sentence, &[step]);
    if device.is_none() {
        finding.subject.devices = sessions.into_iter().chain(devices(&gone)).collect();
    }
    Some(finding)
}

/// Volumes that lost several paths within a minute, and paths whose array reports that the port
/// does not serve them: the array or the storage network.
fn lost_paths(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let log = || analysis.facts.log();
    let refuses =
        |line: &&LogLine| line.kind == MessageKind::Remote && line.message.adapter.is_some();
    let mut refused: Vec<&LogLine> = log().filter(refuses).collect();
    let lost = analysis.facts.by_port(log().filter(|line| line.kind == MessageKind::Path));
    let mut findings: Vec<Finding> = Vec::new();
    let mut of_paths = |mut builder: EvidenceBuilder, device, sentence, first: &[&str]| {
        let mut finding = remote(verdict, device, &mut builder, sentence, &[]);
        finding.next_step = lines(first).into_iter().chain(lines(&PATHS)).collect();
        findings.push(finding);
    };
    let mut reported = BTreeSet::new();
    for (volume, lines) in &lost {
        let times = || lines.iter().filter_map(|line| line.message.at_s);
        let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
        let apart_s = (last - first).max(0.0);
        if lines.len() < 2 || apart_s > volumes::PATHS_S {
            continue;
        }
        let mut builder = EvidenceBuilder::of(analysis);
        builder.log_lines("paths lost by the volume", lines, Some(Bound::Above(1.0)));
        let same =
            |line: &&&LogLine| lines.iter().any(|l| l.reading.listing == line.reading.listing);
        let here: Vec<&LogLine> = refused.iter().filter(same).copied().collect();
        reported.extend(here.iter().map(|line| line.reading.listing));
        builder.log_lines(PORT_REFUSES, &here, None);
        let refused = match here.len() {
            0 => String::new(),
            n => format!(
                ", and the array reported on {} that its port is not available",
                phrase::count(n as f64, "path(s)")
            ),
        };
        let within = match times().count() {
            0 => String::new(),
            _ => format!(" within {}", phrase::ms((apart_s * 1e3).max(1e3))),
        };
        let sentence = format!(
            "{} lost {} paths{within}{refused}: the cause is the array or the storage network \
             shared by all of them, not a disk",
            analysis.recording.device_of(*volume).name,
            LogLine::messages(lines)
        );
        of_paths(builder, Some(*volume), sentence, &[]);
    }
    for gone in volumes::without_paths(analysis) {
        let mut builder = EvidenceBuilder::of(analysis);
        let n = (gone.paths.len() as f64, Unit::Count);
        let what = "failed paths of the volume (all of them)";
        builder.fact(&gone.reading, what, n, Some(Bound::Above(1.0)));
        let sentence = format!(
            "no path to {} is left ({}): the volume was removed or is no longer served, or the \
             storage network shared by all paths failed; the cause is not a disk or cable of this \
             host",
            gone.name,
            phrase::list(&gone.paths)
        );
        let step = "if the volume was deleted or unmapped at the array: run `multipath -f` on it \
                    and delete its paths (`/sys/block/DISK/device/delete`) before it is removed at \
                    the array";
        of_paths(builder, Some(gone.device), sentence, &[step]);
    }
    for lines in volumes::unnamed_paths(analysis).into_values() {
        let mut builder = EvidenceBuilder::of(analysis);
        let what = "multipath paths that failed within a minute, in the kernel's log";
        builder.log_lines(what, &lines, Some(Bound::Above(1.0)));
        let sentence = format!(
            "{} of multipath failed within a minute of each other: the volume was removed or is no \
             longer served, or the storage network behind them failed; the cause is not a disk or \
             cable of this host",
            phrase::count(lines.len() as f64, "path(s)")
        );
        of_paths(builder, None, sentence, &[]);
    }
    // Without a volume in the log.
    refused.retain(|line| !reported.contains(&line.reading.listing));
    let paths = devices(&refused);
    if let Some(first) = paths.first() {
        let mut builder = EvidenceBuilder::of(analysis);
        builder.log_lines(PORT_REFUSES, &refused, ABOVE);
        let sentence = format!(
            "the array reports on {} that its port is not available: it is failing over, or its \
             controller is down",
            phrase::count(paths.len() as f64, "path(s)")
        );
        let device = Some(*first).filter(|_| paths.len() == 1);
        of_paths(builder, device, sentence, &[]);
        if let Some(finding) = findings.last_mut().filter(|_| device.is_none()) {
            finding.subject.devices = paths;
        }
    }
    findings
}

/// The devices of lines, each once.
fn devices(lines: &[&LogLine]) -> Vec<DeviceId> {
    let mut found: Vec<DeviceId> = Vec::new();
    for device in lines.iter().filter_map(|line| line.reading.fact.device) {
        if !found.contains(&device) {
            found.push(device);
        }
    }
    found
}
