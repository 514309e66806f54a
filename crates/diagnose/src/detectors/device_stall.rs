//! The device stalls from time to time: nothing completes although requests are in flight.
//!
//! ## Accuses
//! The device, its firmware or its garbage collection. Most requests are fast; then none completes
//! for a while, and all that were in flight complete together.
//!
//! ## Why it matters
//! Averages and even medians hide it, but it dominates tail latency: every program with a request
//! in flight hangs for the length of the stall.
//!
//! ## Needs
//! A per-I/O log with issue and completion, long enough for two stalls.
//!
//! ## Rule
//! A stall is an interval of more than 50 ms and more than 20 healthy service times without a
//! completion while requests are in flight. At least two stalls, more than 5 % of the busy time,
//! while most requests are fast, and at least every other stall is preceded by a fast request.
//! Within a stall, the later a request arrives the shorter its latency (slope about -1).
//!
//! From the kernel's log alone: commands that timed out or failed, without a medium error or a
//! corrupt frame. This distinguishes a disk or its path from the workload, but not the disk from
//! its path: of 27 published logs with a known cause 6 were a fault of the drive, 15 of cable,
//! port, power or adapter. One line suffices if it reports that all attempts at a command ended
//! without an answer. Requests that Windows tried again are such commands, but stay a suspicion.
//!
//! Or five intervals of `dstat` or `vmstat` in which CPUs wait for I/O and nothing is moved, beside
//! others that move 10 MB/s. Or a program lists six requests of five seconds and more that all took
//! one of two times, as timeouts do. Or a test that ends by the clock (`hdparm -t`) ended ten
//! seconds late: its last read was lost and repeated; not of an array, which may resync. Or the
//! error handler of a SCSI host (`scsi_eh_2`), which sleeps unless commands failed, is in
//! uninterruptible sleep or hangs. Suspected: 16 tasks are blocked in each of three intervals of
//! `vmstat` in which nothing is moved.
//!
//! ## Wrong if
//! The whole host was paused (all devices stall together, or `vmstat` shows steal time above 5 %:
//! then no cause is accused), a flush or discard ran, or the trace lost events.
//!
//! ## Next step
//! Check free space, TRIM and firmware of flash, SMART and cable of a disk; meanwhile, send hedged
//! reads.

use std::collections::BTreeSet;

use iowhy_model::{
    Blame, Bound, Clause, CommandKind, DeviceId, Finding, Level, MessageKind, Op, PathEvent,
    Verdict,
};

use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::adapters;
use crate::evidence::blocked_tasks;
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::confidence::{self, ONE_OF_TWO_OF_FEW, PRIOR, SHAPE_ALONE};
use crate::evidence::forecast::from_latencies;
use crate::evidence::freezes::{self, BUSY_SHARE, EPISODES};
use crate::evidence::guests;
use crate::evidence::host_load;
use crate::evidence::overdue;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::measures::service::ServiceSpan;
use crate::measures::stall::Stalls;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceStall,
    summary: "The device stalls from time to time",
    manual: iowhy_model::manual!("device_stall.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::C,
        seconds: 120,
        what: "issue and completion of each I/O",
    },
    explains: &[
        Verdict::DeviceSlow,
        Verdict::LoadSaturated,
        Verdict::PeerOutlier,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Weight of one line about a command without a response, nats: with the prior 0.58.
const TIMED_OUT: f64 = 1.7;
/// Weight of a second such command, of libata's full record of one (it froze the port, names the
/// command and its result), and of one that was tried again until its time was over. 0.79 with the
/// prior.
const IS_SURE: f64 = 1.0;
/// A failed command returns to the SCSI layer, which reads its sense data, within this time, s
/// (drivers/ata/libata-eh.c: a reset may come before; the number is a choice).
const HANDED_BACK_S: f64 = 5.0;
/// Odds of a volume by name from which its host is checked first (`vd`: 0.7).
const VOLUME: f64 = 0.5;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traces = analysis.traces.iter();
    let traced =
        traces.filter_map(|t| Some(finding(analysis, t, &freezes::now_and_then(analysis, t)?)));
    let still = host_load::stood_still(analysis, DETECTOR.verdict);
    let still = still.into_iter().chain(host_load::all_blocked(analysis, DETECTOR.verdict));
    let overdue = overdue::at_timeouts(analysis, DETECTOR.verdict);
    let overdue = overdue.into_iter().chain(overdue::overran(analysis, DETECTOR.verdict));
    let overdue = overdue.chain(blocked_tasks::in_recovery(analysis, DETECTOR.verdict));
    traced.chain(timed_out(analysis)).chain(still).chain(overdue).collect()
}

/// Disks and ports on which the kernel gave commands up, and shows nothing of medium or link: the
/// device, its firmware, its power states or the driver did not answer.
fn timed_out(analysis: &Analysis) -> Vec<Finding> {
    // Drives that stop together are reported as what they share (`device.path`).
    let together = adapters::stopped_together(analysis);
    let is_joined = |line: &LogLine| together.iter().any(|stopped| stopped.covers(line));
    let candidates = candidates::candidates(analysis);
    let mut all: Vec<Case> = Case::of_disks(&candidates).collect();
    let host = |line: &LogLine| analysis.host(line.reading.listing);
    for port in Case::of_ports(analysis) {
        let is_here = |line: &&LogLine| host(line).may_be(host(port.log[0]));
        let is_it = |known: &&mut Case| {
            known.device == port.device && known.log.first().is_none_or(is_here)
        };
        match all.iter_mut().find(is_it) {
            Some(known) => known.log.extend(port.log),
            None => all.push(port),
        }
    }
    all.retain(|case| !given_up(case).iter().any(|line| is_joined(line)));
    all.iter().filter_map(of_log).collect()
}

fn is_fatal(line: &LogLine) -> bool {
    line.event == Some(PathEvent::Fatal)
}

/// The commands that got no answer. A refused command got one, whatever else libata reports; and a
/// guest has no way to its drives that it could see: a controller that does not answer is its
/// host's.
fn given_up<'s>(case: &Case<'s>) -> Vec<&'s LogLine<'s>> {
    let is_guest = case.is_of_a_guest();
    let refused = case.logged(&[MessageKind::Refused, MessageKind::Denied]);
    let answered = |line: &LogLine| {
        refused.iter().any(|known| {
            let apart_s = known.message.at_s.zip(line.message.at_s).map(|(a, b)| (a - b).abs());
            apart_s.is_none_or(|apart_s| apart_s <= HANDED_BACK_S)
        })
    };
    let counts = |line: &&LogLine| match line.kind {
        MessageKind::Timeout | MessageKind::Retried => true,
        MessageKind::Command => !answered(line),
        MessageKind::Controller => is_guest || is_fatal(line),
        _ => false,
    };
    case.log.iter().copied().filter(counts).collect()
}

fn of_log(case: &Case) -> Option<Finding> {
    let (analysis, name) = (case.analysis, phrase::disk(case.name));
    let (given_up, guest) = (given_up(case), analysis.facts.hypervisor(&case.log));
    let others = case.logged(&[MessageKind::Medium, MessageKind::Link, MessageKind::Phy]);
    // libata resets the link after any command that timed out, and corrected link errors cost no
    // command.
    let corrected = |line: &LogLine| line.event == Some(PathEvent::Corrected);
    let speak = others.iter().any(|line| !corrected(line) && !line.message.is_of_recovery());
    let of_host = guest.is_some() && guests::is_of_the_host(name);
    if given_up.is_empty() || speak || of_host || may_be_remote(analysis, case.device) {
        return None;
    }
    let mut builder = EvidenceBuilder::of(analysis);
    let what = "commands that failed or timed out, in the kernel's log";
    builder.log_lines(what, &given_up, Some(Bound::Above(0.0)));
    let more = confidence::above("commands", given_up.len() as f64, 1.0).at_most(IS_SURE).nats;
    let whole =
        given_up.iter().any(|line| line.message.is_outcome() || line.message.is_out_of_retries());
    let more = if whole { IS_SURE } else { more };
    builder.clauses = vec![Clause::fixed(what, TIMED_OUT + more)];
    let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
    let hung = hung_behind(analysis, &given_up);
    let idle_tags = case.log.iter().copied().filter(|line| line.message.names_an_idle_tag());
    let idle_tags: Vec<&LogLine> = idle_tags.collect();
    for (what, lines) in [
        ("recovery actions of the kernel, and slow link responses", &others),
        ("tasks blocked for minutes, in the same log", &hung),
        ("invalid tags reported by the drive", &idle_tags),
    ] {
        builder.log_lines(what, lines, None);
    }
    finding.evidence.append(&mut builder.evidence);
    let n = phrase::count(LogLine::messages(&given_up) as f64, what_failed(&given_up));
    let tasks = phrase::count(hung.len() as f64, "task(s)");
    let behind = match hung.is_empty() {
        true => String::new(),
        false => format!("; {tasks} blocked for minutes in the same log"),
    };
    let bus = Bus::of(name, &given_up);
    let optical = given_up.iter().all(|line| line.message.is_of_a_packet_device());
    // A log alone does not distinguish them, unless the drive itself shows that it failed.
    let fatal = given_up.iter().any(|line| is_fatal(line));
    let retried = given_up.iter().all(|line| line.kind == MessageKind::Retried);
    finding.blame = (!fatal).then_some(Blame::DiskOrPath);
    finding.sentence = match guest {
        _ if fatal => format!(
            "the controller of {name} reports a fatal failure (CSTS, bit 1) over a working link: \
             the drive or its firmware"
        ),
        Some(guest) => format!(
            "{name} stopped responding: {n} failed, timed out or were followed by a reset in the \
             kernel's log of a guest of {}: suspect the storage of its host before any slot, link \
             or drive",
            guest.text()
        ),
        None if !idle_tags.is_empty() => format!(
            "{name} reported a tag that was not in use, and {n} failed in the kernel's log: \
             command queueing (NCQ) of this drive and this controller is incompatible{behind}"
        ),
        None if optical => format!(
            "the optical drive (or tape) behind {name} stopped responding: {n} to it failed or \
             timed out in the kernel's log; a disk on the same channel waits until the port was \
             reset, and is not faulty itself{behind}"
        ),
        None if retried => format!(
            "{name} did not answer in time: {n} tried again in the log of the system, none \
             reported as failed: {}{behind}",
            bus.suspects()
        ),
        // The drive answered each of them, with an error.
        None if given_up.iter().all(|line| line.kind == MessageKind::Command) => format!(
            "{name} aborted commands: {n} failed in the kernel's log, without a medium or link \
             error: {}{behind}",
            bus.suspects()
        ),
        None => format!(
            "{name} stopped responding: {n} failed or timed out in the kernel's log, without a \
             medium or link error: {}{behind}",
            bus.suspects()
        ),
    };
    builder.believe(&mut finding, PRIOR);
    let why = "a guest sees the storage of its host, not a drive";
    finding.doubt_if(guest.is_some(), why, SHAPE_ALONE);
    let why = "each was tried again and none is reported as failed: load, a path or a driver can \
               be the reason";
    finding.doubt_if(retried, why, SHAPE_ALONE);
    let why = "the host controller of a card can abort commands just like the card";
    finding.doubt_if(bus == Bus::Card, why, ONE_OF_TWO_OF_FEW);
    let why = "only discards timed out, which can take long on healthy drives";
    let discards = given_up.iter().all(|line| op_of(line) == Some(Op::Discard));
    finding.doubt_if(discards, why, SHAPE_ALONE);
    let (refuted_by, steps) = match guest {
        Some(_) => (GUEST_REFUTED, GUEST),
        None if optical => (bus.refuted_by(), OPTICAL),
        None => (bus.refuted_by(), bus.next_step()),
    };
    finding.refuted_by = lines(refuted_by);
    if guest.is_none() {
        let kernel = "another kernel version serves the same disk without a timeout: then it is \
                      the driver";
        finding.refuted_by.insert(0, kernel.to_string());
    }
    finding.next_step = phrase::about(steps, name);
    if !idle_tags.is_empty() && guest.is_none() && !optical {
        let first = "disable command queueing: `echo 1 > /sys/block/DISK/device/queue_depth`, or \
                     `libata.force=noncq`; do the errors stop?";
        finding.next_step.insert(0, first.to_string());
    }
    Some(finding)
}

/// What a guest can check, and an optical drive.
const GUEST_REFUTED: &[&str] = &[
    "the drive is passed through to the guest: `lspci` shows a vendor's controller; then check its \
     link",
];
const GUEST: &[&str] = &[
    "check log and latencies of the same minute on the host, or ask its provider",
    "`cat /sys/module/nvme_core/parameters/io_timeout`: providers recommend more than 30 s",
];
const OPTICAL: &[&str] = &[
    "unplug the optical drive, or leave a disc in it: do the errors stop?",
    "put the disk on a channel of its own; stop polling the optical drive (`udisks`, \
     `/sys/block/sr0/events_poll_msecs`)",
    "another cable for that drive; its firmware",
];

/// How a drive that does not respond is attached: the checks differ.
#[derive(Clone, Copy, PartialEq)]
enum Bus {
    Ata,
    Nvme,
    Card,
    Other,
}

impl Bus {
    /// By its name, or by the driver that logs its commands.
    fn of(name: &str, lines: &[&LogLine]) -> Bus {
        if disk_names::is_nvme(name) {
            Bus::Nvme
        } else if disk_names::is_card(name) {
            Bus::Card
        } else if disk_names::is_ata(name) || lines.iter().any(|line| line.message.is_of_ata()) {
            Bus::Ata
        } else {
            Bus::Other
        }
    }

    fn suspects(self) -> &'static str {
        match self {
            Bus::Card => "the card, its contacts or its host controller",
            Bus::Nvme => "the drive, its firmware, its slot or the driver",
            _ => "the drive, its firmware, or its path (cable, port, power, driver)",
        }
    }

    fn refuted_by(self) -> &'static [&'static str] {
        match self {
            Bus::Ata => {
                &["BadCRC, ICRC or UNC near these lines: then it is the link or the medium"]
            }
            Bus::Card => {
                &["another card fails the same way in this slot: then it is the host controller"]
            }
            _ => &[],
        }
    }

    fn next_step(self) -> &'static [&'static str] {
        match self {
            Bus::Ata => &[
                "try another data cable, another port, another power connector: do the errors \
                 stop, or follow the drive?",
                "if it began with a kernel or firmware update, try the previous version; `smartctl \
                 -x {node}`: errors, firmware; disable command queueing: `libata.force=noncq`",
                "disable link power states: `max_performance` in \
                 `/sys/class/scsi_host/host*/link_power_management_policy`",
            ],
            Bus::Nvme => &[
                "if it began with a kernel or firmware update, try the previous version",
                "`nvme smart-log {node}`, `nvme error-log {node}`: errors, temperature, spare \
                 blocks",
                "disable power states: `nvme_core.default_ps_max_latency_us=0`",
            ],
            Bus::Card => &[
                "try another card in this slot, and this card in another reader: which one fails?",
                "`cat /sys/kernel/debug/mmc*/ios`: a slower mode (`max-frequency` of the device \
                 tree) helps with bad contacts and host controllers",
                "first copy important data from the card",
            ],
            Bus::Other => &[
                "check how it is attached: `lsscsi -t`, the log of the host adapter for the same \
                 minute; try another cable or port: do the errors stop?",
                "`smartctl -x {node}`: errors, firmware, temperature",
                "if it began with a kernel or firmware update, try the previous version",
            ],
        }
    }
}

/// The purpose of a failed command, if its lines show it.
fn op_of(line: &LogLine) -> Option<Op> {
    match line.message.command? {
        CommandKind::Io(op) => Some(op),
        CommandKind::Query => None,
    }
}

/// The purposes of these commands, with counts.
fn what_failed(given_up: &[&LogLine]) -> &'static str {
    let first = given_up.first().and_then(|line| op_of(line));
    match first.filter(|op| given_up.iter().all(|line| op_of(line) == Some(*op))) {
        Some(Op::Flush) => "flush(es) of its cache",
        Some(Op::Read) => "read(s)",
        Some(Op::Write) => "write(s)",
        Some(Op::Discard) => "discard(s)",
        _ => "command(s)",
    }
}

/// Tasks that hung in the logs of these lines.
fn hung_behind<'s, 'a>(analysis: &'s Analysis<'a>, given_up: &[&LogLine]) -> Vec<&'s LogLine<'a>> {
    let hosts = given_up.iter().map(|line| analysis.host(line.reading.listing));
    let hosts: BTreeSet<Host> = hosts.collect();
    let log = analysis.facts.log_of(move |host| hosts.contains(&host));
    log.filter(|line| line.kind == MessageKind::HungTask).collect()
}

/// Whether the device is a virtual volume rather than a drive: then its host is checked first.
fn may_be_remote(analysis: &Analysis, device: DeviceId) -> bool {
    analysis.network_odds(device) > VOLUME
}

fn finding(analysis: &Analysis, trace: &DeviceTrace, stalls: &Stalls) -> Finding {
    let n = stalls.episodes.len() as u64;
    let lengths: Vec<f64> = stalls
        .episodes
        .iter()
        .map(|episode| episode.end_ns.saturating_sub(episode.start_ns) as f64 / 1e6)
        .collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    let met: usize = stalls.episodes.iter().map(|episode| episode.requests).sum();
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{} stalls from time to time: {n} times nothing completed for {} or more, at most {}, \
         while requests waited",
        phrase::disk(&trace.disk),
        phrase::ns(stalls.threshold_ns),
        phrase::ms(longest)
    );
    let computed = analysis.computed(trace.listing, n);
    finding.evidence = vec![
        computed.count("stalls", n as f64).above(EPISODES as f64 - 1.0),
        computed.ms("longest stall", longest),
        computed.share("share of busy time stalled", stalls.busy_share).above(BUSY_SHARE).weighs(),
        computed.share("share of the lost time in stalls", stalls.lost_share),
        computed.count("requests affected by a stall", met as f64),
    ];
    let mut clauses = vec![confidence::above("stalls", n as f64, EPISODES as f64 - 0.5)];
    if let Some(slope) = stalls.slope {
        let what = "slope of latency against issue time";
        finding.evidence.push(computed.count(what, slope).held(Bound::Between(-1.3, -0.7)));
        let ramp = if (-1.3..=-0.7).contains(&slope) { 1.0 } else { -1.0 };
        clauses.push(Clause::fixed(what, ramp));
    }
    if let Some((every_ns, cv)) = stalls.cadence {
        finding.evidence.push(computed.ms("time between stalls", every_ns / 1e6));
        finding.evidence.push(computed.share("variation of the time between stalls", cv));
    }
    confidence::believe(&mut finding, PRIOR, clauses);
    // Stacked devices freeze for other reasons: a full pool, a suspended mapping.
    let made_of_others = disk_names::is_stacked(&trace.disk);
    let why = "it is stacked on other devices: a full pool or a suspended mapping also stops it";
    finding.doubt_if(made_of_others, why, SHAPE_ALONE);
    finding.explained_share = stalls.lost_share;
    let now: Vec<f64> = trace.spans.iter().map(ServiceSpan::waited_ns).collect();
    let assuming = "all requests take as long as those outside a stall".to_string();
    finding.forecast = from_latencies(&now, &stalls.spared_ns, assuming);
    finding.refuted_by = lines(&[
        "other devices of the host stall at the same moments: then the host was paused",
        "a flush, discard or reset ran in each of the stalls",
    ]);
    finding.next_step = lines(&[
        &format!(
            "{}: do they occur at regular intervals, or after writes?",
            phrase::capture(&trace.disk, 120)
        ),
        "flash: `fstrim -av`, free space, firmware; disk: `smartctl -x`, cable, `dmesg`",
        "meanwhile, send hedged reads to a replica",
    ]);
    finding
}
