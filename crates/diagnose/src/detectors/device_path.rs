//! The path to the disk is faulty: cable, connector, link, port, host adapter.
//!
//! ## Accuses
//! The path between host and disk, not the disk: the link drops or corrupts frames, or a controller
//! resets. Requests wait for it for seconds, often on several disks of one port.
//!
//! ## Why it matters
//! Disks are replaced in vain: the new one is on the same cable. Four of ten causes of slow storage
//! lie outside the device (Fail-Slow at Scale, FAST 2018).
//!
//! ## Needs
//! The kernel's log, or two SMART records of different days, with any capture.
//!
//! ## Rule
//! Any of these, each kind counted once:
//!
//! - link errors in the log (BadCRC, ICRC, UnrecovData, Handshk, 10B8B, interface fatal error, ATA
//!   bus error), more than one or two link resets, resets of an NVMe controller or host adapter;
//! - resets that the drive on a port does not answer, without a command that timed out before;
//! - UDMA CRC errors (199) that increased between two records, or five and more while a drive of
//!   the same model has none, if no latency was measured;
//! - requests that failed with ENOLINK;
//! - transport errors counted by illumos (suspected only);
//! - reads, writes and flushes of one member that failed alike;
//! - members that their array gave up together between two reports, or wrong checksums alone on
//!   three and more members, half of all, of several pools.
//!
//! A link slower than its maximum supports it; below 3 % of it (USB at full speed) it is enough.
//! Three disks of one adapter that stop responding within a minute point to the adapter, and two
//! or more links of one host lost within seconds to what they share. Recovery actions of the
//! kernel for a discard or a query do not count.
//!
//! Suspected only:
//!
//! - errors corrected by a PCIe link, if a storage driver owns the function, by their rate;
//! - a link that woke up without a corrupted frame while commands failed;
//! - an NVMe controller that is lost although it is ready;
//! - a Fibre Channel link that went down;
//! - a member lost by its pool;
//! - a disk that went offline if nothing shows how it is attached (a Fibre Channel link that went
//!   down first shows it);
//! - fewer than a hundred CRC errors in the drive's lifetime while a drive of the same model has
//!   none.
//!
//! An NVMe controller that reports a fatal failure, or one of a guest, is `device.stall`.
//!
//! Or one stream from the only disk of an input reaches 0.45 to 0.89 of the rate of its only USB
//! link, and that link is USB 2 (`lsusb -t`).
//!
//! ## Wrong if
//! The CRC count is old and does not increase. Resets follow a medium error or an unplugged cable,
//! or the device saves power (`PHYRdyChg` alone). The lines are older than a day.
//!
//! ## Next step
//! Reseat or replace the cable, try another port, check the link's width and speed.

use iowhy_model::{
    Blame, Bound, Clause, CommandKind, DeviceId, FactKey, Finding, Level, MessageKind, Op,
    PathEvent, STANDS, Unit, Verdict, key,
};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::adapters::{self, Together};
use crate::evidence::arrays::{self, MANY_FAILED};
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::confidence;
use crate::evidence::confidence::{PRIOR, SHAPE_ALONE};
use crate::evidence::controllers;
use crate::evidence::throughput;
use crate::evidence::transport;
use crate::evidence::volumes::SharedLoss;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::DevicePath,
    summary: "The cable, link, port or host adapter is faulty, not the disk",
    manual: iowhy_model::manual!("device_path.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "the kernel's log and SMART (`dmesg`, `smartctl -j -x`) with the capture",
    },
    explains: &[
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::PeerOutlier,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Counters that only corrupt frames or a lost link increase (ATA ACS-3, SATA phy event counters 1
/// to 4, 11 and 13; SPL, link error counters of a phy).
const LINK_COUNTERS: [(FactKey, &str); 10] = [
    (key::SMART_SATA_PHY.of("1"), "command(s) that failed with a CRC error (SATA phy event 1)"),
    (key::SMART_SATA_PHY.of("2"), "frame(s) rejected (SATA phy event 2)"),
    (key::SMART_SATA_PHY.of("3"), "frame(s) rejected by the host (SATA phy event 3)"),
    (key::SMART_SATA_PHY.of("4"), "frame(s) rejected by the drive (SATA phy event 4)"),
    (key::SMART_SATA_PHY.of("11"), "CRC error(s) in frames to the drive (SATA phy event 11)"),
    (key::SMART_SATA_PHY.of("13"), "other error(s) in frames to the drive (SATA phy event 13)"),
    (key::PHY.of("invalid_dword_count"), "invalid dword(s) of the SAS phy"),
    (key::PHY.of("running_disparity_error_count"), "disparity error(s) of the SAS phy"),
    (key::PHY.of("loss_of_dword_sync_count"), "loss(es) of synchronisation of the SAS phy"),
    (key::PHY.of("phy_reset_problem_count"), "failed reset(s) of the SAS phy"),
];
/// States in which a pool does not use a member, whatever the cause (zpoolconcepts(7)); OFFLINE is
/// set by an administrator.
const NOT_USED: [&str; 4] = ["faulted", "faulty", "unavail", "removed"];
/// States of a pool that is out of service (zpoolconcepts(7)).
const STOPPED: [&str; 3] = ["suspended", "unavail", "faulted"];
/// Weight of each, nats.
const CORRUPTED: f64 = 3.5;
const WAS_RESET: f64 = 3.0;
const FAILED: f64 = 2.5;
const GREW: f64 = 3.0;
const SUPPORTS: f64 = 0.5;
/// A link so far below its maximum is by itself what limits the disk (USB at full speed: 12 of 480
/// Mb/s), and what that is worth, nats: with the prior 0.69 (choices).
const FAR_BELOW: f64 = 0.03;
const DEGRADED: f64 = 2.2;
/// CRC errors beyond one or two from unplugging, beside none on a drive of the same model; and
/// their weight, nats: 0.65 with the prior (choices).
const MANY_CRC: f64 = 5.0;
const TWIN: f64 = 2.0;
/// CRC errors over a drive's life that a single loose plug may have caused (a choice).
const OF_A_PLUG: f64 = 100.0;
/// Weight of commands that never returned, nats: below an accusation with the prior (a choice).
const NEVER_BACK: f64 = 1.5;
/// Maximum weight of aborted commands, and weight of several timeouts: the same as for ATA and SCSI
/// disks (`device.stall`).
const ABORTED: f64 = 1.5;
const TIMED_OUT: f64 = 2.7;
/// A disk that disappeared without an earlier failed command may have been unplugged.
const REMOVED: f64 = 1.0;
/// Link resets without corruption: a single one may be a resume or hot-plug.
const RESETS: f64 = 2.0;
/// Corrected PCIe errors cost microseconds each: a suspicion, weaker below the kernel's own print
/// limit of 10 in 5 s (drivers/pci/pcie/aer.c); 0.29 and 0.55 with the prior.
const CORRECTED: f64 = 0.5;
const CORRECTED_OFTEN: f64 = 1.6;
const OFTEN_PER_S: f64 = 2.0;
const OFTEN: usize = 10;
/// A link that went down and up without corrupted frames, while commands failed; a controller that
/// was lost while it reports ready; a host adapter whose network link went down: below an
/// accusation with the prior (choices).
const WOKE: f64 = 1.5;
const UNRESPONSIVE: f64 = 1.4;
const LINK_DOWN: f64 = 1.2;
/// A card's host controller that waited without a response: the card or the controller, so below an
/// accusation; and an adapter that reached for memory that it may not touch (choices).
const CARD_HOST: f64 = 1.4;
const FORBIDDEN: f64 = 2.0;
/// Times that differ by less than this share are one period (a choice).
const PERIODIC: f64 = 0.1;
/// And one DMA transfer that never finished: a drive that hung once looks the same (a choice).
const DMA_ONCE: f64 = 1.5;
/// Minimum disks of one adapter with simultaneous timeouts for blaming the adapter (a choice: two
/// disks may fail together by chance).
const SHARE_ADAPTER: usize = 3;
/// Weight of two drives of a host that stop answering together, and of several that do so at the
/// same minutes of different hours, nats: 0.65 and 0.60 with the prior (choices).
const TWO_TOGETHER: f64 = 2.0;
const HOURLY: f64 = 1.8;
/// Links lost within this time of each other, s, have a shared cause (a choice: a supply drop or an
/// adapter reset takes milliseconds, and each link is reported when its next command fails).
const TOGETHER_S: f64 = 5.0;
/// Its weight beside the errors of the links, nats (a choice).
const TOGETHER: f64 = 1.0;
/// A member that its pool cannot open or no longer sees: by its path, its power, or a drive that
/// died; with the prior below an accusation.
const MEMBER_GONE: f64 = 1.6;
/// Why a controller that the kernel gave up is not proof against its slot.
const GIVEN_UP: &str = "the controller did not recover from its reset: the drive, its power states \
                        and its slot cannot be distinguished until one is excluded";
/// Why a disk that went offline is not proof against its path.
const FAILS_ITS_TEST: &str =
    "the drive cannot read its own surface in a self-test, which no path takes part in";
/// Tasks that hang this long after the path recovered, s, began to wait after that: the kernel
/// looks every two minutes for those that wait as long (kernel/hung_task.c).
const LONG_AFTER_S: f64 = 300.0;
const HANGS_GO_ON: &str =
    "tasks hang minutes after the path had recovered: something else holds them";
/// Lines older than this, relative to the log's last line, say little about the present, s.
const STALE_S: f64 = 86_400.0;
const STALE: f64 = -2.0;
/// A medium error within this many seconds makes a reset its consequence: libata resets the link
/// after errors of any kind.
const COLLATERAL_S: f64 = 60.0;
/// A disk that goes offline within this time, s, after a lost iSCSI session belongs to it: the
/// session has 120 s to recover (`replacement_timeout` of open-iscsi) before its disks fail (the
/// rest is a choice).
const SESSION_S: f64 = 300.0;
const KERNEL_LOG: &str = "lines of the kernel's log";
/// The link is gone (BLK_STS_TRANSPORT, block/blk-core.c).
const ENOLINK: u16 = 67;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let logged: Vec<&LogLine> = analysis.facts.log().collect();
    // Links of adapters that are reported with the disks after them.
    let reported = adapters::lost_links(analysis, &logged);
    let together: Vec<Together> = adapters::lost_together(analysis, TOGETHER_S)
        .into_iter()
        .filter(|lost| !lost.lines.iter().any(|line| lost_its_session(analysis, line)))
        .collect();
    let joined = |line: &LogLine| together.iter().any(|lost| lost.covers(line));
    let lost = SharedLoss::of(analysis);
    let found = candidates.iter();
    let found = found.filter_map(|known| finding(analysis, known, &reported, &lost, &joined));
    let mut findings: Vec<Finding> = found.collect();
    findings.extend(unnamed_ports(analysis, &joined));
    findings.extend(together.iter().map(|lost| shared_by_links(analysis, lost)));
    findings.extend(shared_by_members(analysis));
    findings.extend(shared_by_disks(analysis));
    findings.extend(shared_by_ports(analysis));
    findings.extend(throughput::slow_together(analysis, DETECTOR.verdict));
    findings.extend(throughput::at_their_links(analysis, DETECTOR.verdict));
    findings
}

/// Ports or drives without a common host adapter that stopped answering together, or always at the
/// same minute of an hour: a shared cause or a scheduled job is more likely than each drive.
fn shared_by_ports(analysis: &Analysis) -> Vec<Finding> {
    let found = adapters::stopped_together(analysis).into_iter().map(|stopped| {
        let mut builder = EvidenceBuilder::default();
        let above = Some(Bound::Above(0.0));
        let what = "commands without a response on several drives, in the kernel's log";
        builder.log_lines(analysis, what, &stopped.lines, above);
        let drives = stopped.devices.len();
        let worth = match stopped.window_s {
            Some(_) => HOURLY,
            None if drives >= SHARE_ADAPTER => WAS_RESET,
            None => TWO_TOGETHER,
        };
        builder.clauses = vec![Clause::fixed(what, worth)];
        let mut finding = of_shared(stopped.devices.clone(), &builder);
        finding.share_is_assumed = true;
        let names = stopped.names(analysis);
        finding.sentence = match stopped.window_s {
            Some(window_s) => format!(
                "{drives} drives of this host ({names}) stop responding, always within the same {} \
                 of an hour: the cause is a job that starts then, or something they share \
                 (controller, power, driver), not a single drive",
                phrase::ms(window_s * 1e3)
            ),
            None => format!(
                "{drives} drives of this host ({names}) failed commands together: suspect what they \
                 share (card, enclosure, bus, power, driver) before any single drive"
            ),
        };
        if stopped.window_s.is_some() {
            let n = (stopped.lines.len() as f64, Unit::Count);
            let first = &stopped.lines[0].reading;
            builder.fact(analysis, first, "share at the same minutes of an hour", n, above);
        }
        finding.next_step = match stopped.window_s {
            Some(_) => lines(&[
                "check which job starts at that minute: `cat /etc/crontab /etc/cron.*/*`, \
                 `systemctl list-timers`: backups, `smartctl`, `hdparm`, log rotation",
                "move that job to another minute: do the errors move with it?",
                "check the shared power supply and controller, and the firmware of the drives",
            ]),
            None => lines(&[
                "find the card, cable, port multiplier or power supply they share: `ls -l \
                 /dev/disk/by-path`, `lspci -nn`",
                "try the card in another slot, another power supply, one drive at a time; do the \
                 errors stop?",
                "check the log for errors of other devices in the same minute (network, USB): then \
                 it is the bus, its interrupts or the power",
            ]),
        };
        finding.refuted_by = lines(&[
            "only one of these drives stops responding the next time",
            "the machine booted, was suspended or paused at that moment",
        ]);
        finding.evidence = builder.evidence;
        finding
    });
    found.collect()
}

/// Links or disks that were lost together: one fault of a shared component.
fn shared_by_links(analysis: &Analysis, lost: &Together) -> Finding {
    let mut builder = EvidenceBuilder::default();
    let (n, above) = (lost.devices.len() as f64, Some(Bound::Above(1.0)));
    let first = lost.lines.first();
    if let Some(first) = first {
        let what = match lost.adapter {
            Some(_) => "disks of one adapter that went offline together",
            None => "links of this host that were lost together",
        };
        builder.fact(analysis, &first.reading, what, (n, Unit::Count), above);
        if lost.seconds > 0.0 {
            let (apart, within) = ((lost.seconds, Unit::Seconds), Some(Bound::Below(TOGETHER_S)));
            let what = "time from the first to the last";
            builder.fact(analysis, &first.reading, what, apart, within);
        }
    }
    let errors: Vec<&LogLine> =
        lost.lines.iter().filter(|line| line.kind != MessageKind::Phy).copied().collect();
    let (what, worth) = match lost.adapter {
        Some(_) => ("requests to offline devices, in the kernel's log", WAS_RESET),
        None => ("link errors in the kernel's log", CORRUPTED),
    };
    builder.log_lines(analysis, what, &errors, Some(Bound::Above(0.0)));
    builder.clauses = vec![Clause::fixed(what, worth), Clause::fixed("lost together", TOGETHER)];
    let mut finding = of_shared(lost.devices.clone(), &builder);
    let names = lost.names(analysis);
    let is_timed = lost.lines.iter().all(|line| line.message.at_s.is_some());
    let within = match lost.seconds {
        _ if !is_timed => " together".to_string(),
        // Their times are of whole seconds.
        0.0 => " in the same second".to_string(),
        seconds => format!(" within {}", phrase::ms((seconds * 1e3).max(1.0))),
    };
    finding.sentence = match lost.adapter {
        Some(adapter) => format!(
            "{n} disks of host adapter {adapter} ({names}) went offline{within}: something they \
             share is faulty (adapter, cable, expander, backplane, power, or the array behind it), \
             not a single disk"
        ),
        None => format!(
            "{n} links of this host ({names}) were lost{within}: something they share is faulty \
             (power, backplane, controller, enclosure), not a single disk or cable"
        ),
    };
    finding.next_step = lines(&[
        "check power first: the supply, its plugs and splitters, and the backplane that these \
         disks share",
        "check the controller: seating, temperature and firmware, and log lines of its PCI \
         function in that second (`dmesg | grep -i -e aer -e pcie -e ahci -e mpt`)",
        "find what the disks share: `lsscsi -t`, `ls -l /dev/disk/by-path /sys/block`",
    ]);
    finding.refuted_by = lines(&[
        "only one of these disks or ports is lost the next time",
        "the machine booted, was suspended or unplugged at that moment",
    ]);
    finding.evidence = builder.evidence;
    finding
}

/// Adapters with several disks that did not answer within a minute: a shared cause is more likely
/// than each disk.
fn shared_by_disks(analysis: &Analysis) -> Vec<Finding> {
    let found = adapters::not_answering(analysis, SHARE_ADAPTER).into_iter().map(|adapter| {
        let mut builder = EvidenceBuilder::default();
        let above = Some(Bound::Above(0.0));
        let what = "commands without a response on disks of one adapter, in the kernel's log";
        builder.log_lines(analysis, what, &adapter.lines, above);
        builder.clauses = vec![Clause::fixed(what, WAS_RESET)];
        let devices = adapter.devices.iter().copied().chain(adapter.controller);
        let mut finding = of_shared(devices.collect(), &builder);
        // No latency of them was measured.
        finding.share_is_assumed = true;
        let name = match adapter.controller {
            Some(device) => analysis.recording.device_of(device).name.clone(),
            None => format!("host adapter {}", adapter.adapter.unwrap_or_default()),
        };
        finding.sentence = format!(
            "{} disks of {name} stopped responding within {}: something they share is faulty \
             (adapter, cable, expander, backplane, power); so many disks do not fail at once",
            adapter.devices.len(),
            phrase::ms(adapter.seconds * 1e3)
        );
        finding.next_step = lines(&[
            "find which of them share a cable, a backplane or an expander: `lsscsi -t`, `ls -l \
             /dev/disk/by-path`",
            "check firmware, driver, temperature and seating of the adapter; `dmesg | grep -e mpt \
             -e reset`",
            "reseat or swap the cable between adapter and backplane; do the errors stop?",
        ]);
        finding.evidence = builder.evidence;
        finding
    });
    found.collect()
}

/// Arrays with errors on half of their members: a shared component is more likely at fault than
/// each of them.
fn shared_by_members(analysis: &Analysis) -> Vec<Finding> {
    let lost = arrays::shared_faults(analysis).into_iter().filter_map(|shared| {
        let mut builder = EvidenceBuilder::default();
        let n = (shared.names.len() as f64, Unit::Count);
        builder.fact(analysis, &shared.reading, shared.what, n, Some(Bound::Above(1.0)));
        let of = (shared.members as f64, Unit::Count);
        builder.fact(analysis, &shared.reading, "members", of, None);
        builder.clauses = vec![Clause::fixed(shared.what, TWO_TOGETHER)];
        let device = shared.reading.fact.device?;
        let mut finding = accusation(device, builder.listings.clone(), &builder);
        finding.subject.device = None;
        let of_it = |name: &String| analysis.recording.find_device(name);
        finding.subject.devices = shared.names.iter().filter_map(of_it).collect();
        finding.share_is_assumed = true;
        finding.sentence = format!(
            "{}: suspect what they share (controller, cable, enclosure, power) before any single \
             disk",
            shared.sentence
        );
        let first = shared.names.first().map_or("DISK", String::as_str);
        finding.next_step = next_step(first, Way::of(first, &[], None), false);
        finding.next_step.insert(
            0,
            "find the controller, enclosure or power supply they share: `lsscsi -t`, `ls -l \
             /dev/disk/by-path`; the kernel's log of the same minutes: resets of it"
                .to_string(),
        );
        finding.evidence = builder.evidence;
        Some(finding)
    });
    let found = arrays::failing_together(analysis).into_iter().map(|array| {
        let mut builder = EvidenceBuilder::default();
        let (failing, all) = (array.failing.len(), array.members);
        let above = Some(Bound::Above(all as f64 / 2.0));
        let of = (failing as f64, Unit::Count);
        builder.fact(analysis, &array.reading, "members that count errors", of, above);
        builder.fact(analysis, &array.reading, "members", (all as f64, Unit::Count), None);
        builder.clauses = vec![Clause::fixed("members that count errors together", FAILED)];
        let mut finding = accusation(array.device, builder.listings.clone(), &builder);
        finding.sentence = format!(
            "{failing} of the {all} members of {} count errors together: something they share is \
             faulty (cable, backplane, adapter, power, firmware); so many disks do not fail at \
             once",
            array.name
        );
        let first = array.failing.first().map_or("DISK", String::as_str);
        finding.next_step = next_step(first, Way::of(first, &[], None), false);
        finding.next_step.insert(
            0,
            "find which of them share a cable, a backplane or an adapter: `lsscsi -t`, `ls -l \
             /dev/disk/by-path`; `dmesg | grep -e mpt -e ata -e reset`"
                .to_string(),
        );
        finding.evidence = builder.evidence;
        finding
    });
    lost.chain(found).collect()
}

fn finding(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    reported: &[&LogLine],
    lost: &SharedLoss,
    joined: &dyn Fn(&LogLine) -> bool,
) -> Option<Finding> {
    let mut builder = EvidenceBuilder::default();
    let about = candidate.about();
    let told_elsewhere = |line: &&LogLine| reported.iter().any(|known| std::ptr::eq(*known, *line));
    let mut reading: Vec<&LogLine> = about.log().filter(|line| !told_elsewhere(line)).collect();
    let lost_links = adapters::lost_links(analysis, &reading);
    reading.extend(&lost_links);
    let log = from_log(analysis, &reading, &mut builder);
    let counted = from_counter(analysis, candidate, &mut builder);
    let failed = from_failures(analysis, candidate, &mut builder);
    let of_member = from_member(analysis, candidate, &mut builder);
    let of_transport = from_transport(analysis, candidate, &mut builder);
    let of_link = from_link_counters(analysis, candidate, &mut builder);
    let of_paths = from_paths(analysis, candidate, lost, &mut builder);
    let gone = from_pool(analysis, candidate, &mut builder);
    let mut clauses = vec![
        Clause::fixed(KERNEL_LOG, log),
        Clause::fixed("error counters", counted),
        Clause::fixed("failed requests", failed),
        Clause::fixed("errors as an array's member", of_member),
        Clause::fixed("transport errors", of_transport),
        Clause::fixed("link counters", of_link),
        Clause::fixed("paths of multipath", of_paths),
        Clause::fixed("member lost by its pool", gone),
    ];
    let by_log_alone = clauses.iter().skip(1).all(|clause| clause.nats <= 0.0);
    // Links lost together have a shared fault.
    let is_joined = reading.iter().any(|line| joined(line));
    let by_others = clauses.iter().skip(usize::from(is_joined)).any(|clause| clause.nats > 0.0);
    let by_speed = !by_others && link_share(candidate).is_some_and(|(share, ..)| share < FAR_BELOW);
    if !by_others && !by_speed {
        return None;
    }
    let of_speed = slow_link(analysis, candidate, &mut builder);
    let others = [log, failed, of_member, of_transport, of_link, of_paths, gone, of_speed];
    let by_count_alone = others.iter().all(|nats| *nats <= 0.0);
    clauses.push(Clause::fixed("link speed", of_speed));
    builder.clauses = clauses;
    let disk = phrase::disk(&candidate.disk);
    let mut finding = accusation(candidate.device, builder.listings(candidate), &builder);
    let unknown = by_log_alone && transport::is_unknown(about, &candidate.disk, &reading);
    finding.doubt_if(unknown, transport::UNKNOWN, SHAPE_ALONE);
    finding.doubt_if(by_log_alone && controllers::is_given_up(&reading), GIVEN_UP, SHAPE_ALONE);
    finding.doubt_if(by_log_alone && hangs_go_on(analysis, &reading), HANGS_GO_ON, SHAPE_ALONE);
    let tested = about.number(key::SMART_SELF_TEST_ERRORS).is_some_and(|(n, _)| n > 0.0);
    let only_gone = reading.iter().all(|line| line.kind == MessageKind::Offline);
    finding.doubt_if(by_log_alone && only_gone && tested, FAILS_ITS_TEST, SHAPE_ALONE);
    let grew = about.rise(key::SMART_RAW.of("199")).is_some_and(|(rise, _)| rise > 0.0);
    let few = about.number(key::SMART_RAW.of("199")).is_some_and(|(count, _)| count < OF_A_PLUG);
    let old = "so few in the drive's lifetime may come from one replug, or from a cable replaced \
               since";
    finding.doubt_if(by_count_alone && !grew && few, old, SHAPE_ALONE);
    // The adapter is part of the accused path: its losses include its disk's.
    finding.subject.devices.extend(lost_links.iter().filter_map(|line| line.reading.fact.device));
    // Commands that never returned may also hang in the disk.
    let of_the_way = [counted, failed, of_link, of_paths, of_speed].iter().any(|nats| *nats > 0.0);
    let is_told = is_joined || of_the_way || shows_the_way(&reading);
    finding.blame = (!is_told).then_some(Blame::DiskOrPath);
    let bus = about.last(key::DEVICE_TRANSPORT);
    // Only a drive of SATA counts CRC errors as 199, or has a port of libata.
    let is_sata =
        about.last(key::DEVICE_PORT).is_some() || about.number(key::SMART_RAW.of("199")).is_some();
    let bus = bus.as_ref().map(|bus| bus.text()).or(is_sata.then_some("sata"));
    let way = Way::of(disk, &reading, bus);
    let words = phrase::list(&builder.words);
    let is_open = finding.confidence() < STANDS;
    finding.sentence = if gone > 0.0 || by_speed {
        words
    } else if finding.blame.is_some() {
        let fails = if is_open { "may have failed" } else { "failed" };
        format!("{disk} or the path to it ({}) {fails}: {words}", way.parts())
    } else if is_open {
        format!("the path to {disk} ({}) may have errors: {words}", way.parts())
    } else {
        format!("the path to {disk} ({}) has errors, not the disk itself: {words}", way.parts())
    };
    finding.next_step = next_step(disk, way, is_awake(&reading));
    if unknown && way != Way::Unknown {
        let node = phrase::node(disk);
        let ask =
            format!("check how it is attached: `lsblk -o NAME,TRAN,HCTL {node}`, `lsscsi -t`");
        finding.next_step.insert(0, ask);
    }
    finding.evidence = builder.evidence;
    Some(finding)
}

fn accusation(device: DeviceId, listings: Vec<usize>, builder: &EvidenceBuilder) -> Finding {
    let mut finding = new_finding(DETECTOR.verdict, Some(device), listings);
    builder.believe(&mut finding, PRIOR);
    // Of the errors that were logged or counted.
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "the fault persists with another cable and port",
        "the log lines come from an unplugged cable or a resume, or follow medium errors of the \
         disk",
    ]);
    finding
}

/// The same of what several devices hang behind.
fn of_shared(devices: Vec<DeviceId>, builder: &EvidenceBuilder) -> Finding {
    let mut finding = accusation(devices[0], builder.listings.clone(), builder);
    (finding.subject.device, finding.subject.devices) = (None, devices);
    finding
}

/// The components between host and disk.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Cable,
    Card,
    Firewire,
    Ide,
    /// No line shows what.
    Unknown,
    Sas,
    Pcie,
    Usb,
    Fibre,
    Network,
    Parallel,
}

impl Way {
    /// By the stated bus, else by the name and the log.
    fn of(disk: &str, reading: &[&LogLine], bus: Option<&str>) -> Way {
        let says = |what| reading.iter().any(|line| line.message.log_event() == Some(what));
        let fibre = says(PathEvent::LinkDown);
        match bus {
            Some("usb") => return Way::Usb,
            Some("ieee1394") => return Way::Firewire,
            Some("sas") => return Way::Sas,
            Some("sata" | "ata") => return Way::Cable,
            Some("fc") => return Way::Fibre,
            Some("spi") => return Way::Parallel,
            Some("iscsi" | "fcoe" | "tcp" | "rdma") => return Way::Network,
            _ => {}
        }
        if disk_names::is_ide(disk) {
            Way::Ide
        } else if disk_names::is_nvme(disk) || disk_names::is_pci_function(disk) && !fibre {
            Way::Pcie
        } else if says(PathEvent::UsbReset) {
            Way::Usb
        } else if fibre {
            Way::Fibre
        } else if disk_names::is_card(disk) {
            Way::Card
        } else if disk_names::is_adapter(disk) {
            Way::Sas
        } else if disk_names::is_ata(disk) || reading.iter().any(|line| line.message.is_of_ata()) {
            Way::Cable
        } else {
            Way::Unknown
        }
    }

    fn parts(self) -> &'static str {
        match self {
            Way::Cable | Way::Sas | Way::Unknown => "cable, link, port or adapter",
            Way::Card => "card, its contacts, or its host controller",
            Way::Firewire => "FireWire bridge, cable, port or power",
            Way::Ide => "cable, adapter, or the DMA mode of the two",
            Way::Pcie => "slot, link, bridge or driver",
            Way::Usb => "USB bridge, cable, port or hub",
            Way::Fibre => "fibre, transceiver, switch or adapter",
            Way::Network => "network, initiator or target",
            Way::Parallel => "cable, terminator, bus speed or adapter",
        }
    }
}

/// Whether the link went down and up without corrupted frames.
fn is_awake(reading: &[&LogLine]) -> bool {
    let corrupt = |line: &&LogLine| {
        line.kind == MessageKind::Link && line.message.log_event() == Some(PathEvent::Corruption)
    };
    let exchanged = |line: &&LogLine| line.message.log_event() == Some(PathEvent::Exchanged);
    reading.iter().any(|line| line.kind == MessageKind::Phy)
        && !reading.iter().any(corrupt)
        && !reading.iter().any(exchanged)
}

fn next_step(disk: &str, way: Way, is_awake: bool) -> Vec<String> {
    let node = phrase::node(disk);
    let mut steps = match way {
        Way::Pcie => {
            let health = match disk_names::is_nvme(disk) {
                true => format!(", and `nvme smart-log /dev/{disk}` now and tomorrow"),
                false => String::new(),
            };
            return vec![
                "reseat the drive, or move it to another slot; do the errors stop?".to_string(),
                "disable power states and link power management as a test: kernel parameters \
                 `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`"
                    .to_string(),
                format!("`lspci -vv` (LnkSta against LnkCap, AER){health}"),
                "try another kernel: timeouts and lost interrupts can also come from drivers and \
                 bridges"
                    .to_string(),
            ];
        }
        Way::Card => {
            return lines(&[
                "try another card in this slot, and this card in another reader: which one fails?",
                "`cat /sys/kernel/debug/mmc*/ios`: a slower mode (`max-frequency` of the device \
                 tree, or another quirk of the host's driver: `sdhci.debug_quirks`)",
                "try another kernel: timeouts of the host controller can also come from its driver",
            ]);
        }
        Way::Firewire => {
            return lines(&[
                "try another cable and port, and a separate power supply for the enclosure; does \
                 the node stay on the bus?",
                "attach the disk by another interface of its enclosure (USB, eSATA): does it fail \
                 there?",
                "use one login and smaller requests: `firewire-sbp2.workarounds=0x1` (at most 128 \
                 KiB); check the firmware of the bridge",
            ]);
        }
        Way::Sas => {
            return lines(&[
                "reseat or swap the cable between adapter and backplane, then the bay; do the \
                 errors stop?",
                "`grep . /sys/class/sas_phy/*/invalid_dword_count \
                 /sys/class/sas_phy/*/loss_of_dword_sync_count` now and tomorrow: which phy \
                 counts?",
                "check firmware, driver, temperature and seating of the adapter; `lsscsi -t` shows \
                 the expander or backplane that the disks share",
            ]);
        }
        Way::Unknown => vec![
            "reseat or swap the cable, then the port; do the errors stop?".to_string(),
            format!("check how it is attached: `lsblk -o NAME,TRAN,HCTL {node}`, `lsscsi -t`"),
            format!(
                "`smartctl -x {node} > smart.txt` now and tomorrow: which link counter increases?"
            ),
            "check the log of the host adapter for the same minute: resets, power, temperature"
                .to_string(),
        ],
        Way::Ide => {
            return vec![
                "try another 80-wire cable, at most 45 cm long; master and slave on separate cables"
                    .to_string(),
                format!(
                    "try a slower DMA mode, then none: `hdparm -X udma2 {node}`, `hdparm -d0 \
                     {node}`, or kernel parameter `ide-core.nodma=0.0`; do the errors stop?"
                ),
                "if it is a memory card in an adapter: adapters without DMA lines do not support \
                 DMA; use another adapter, or disable DMA"
                    .to_string(),
                format!("`smartctl -a {node}` now and tomorrow: does 199 (UDMA CRC) increase?"),
            ];
        }
        Way::Usb => {
            return lines(&[
                "disable UAS for this bridge: `lsusb` prints its ID, then kernel parameter \
                 `usb-storage.quirks=VID:PID:u`",
                "try another cable, another port without a hub, or a separate power supply; do the \
                 resets stop?",
                "update the firmware of the bridge, or try another enclosure",
            ]);
        }
        Way::Fibre => {
            return lines(&[
                "`cat /sys/class/fc_host/host*/port_state \
                 /sys/class/fc_host/host*/statistics/link_failure_count`",
                "check log and error counters of the switch port; transceiver and fibre: light \
                 levels, seating, another port",
                "`multipath -ll`: do other paths take over the I/O?",
            ]);
        }
        Way::Parallel => {
            return lines(&[
                "try a lower bus speed for this target (adapter BIOS); do the errors stop?",
                "check cable and terminators of the bus, and that all devices on it have unique \
                 addresses",
                "update the firmware of adapter and disk; try another slot of the enclosure",
            ]);
        }
        Way::Network => {
            return lines(&[
                "check that the target is up and the network is intact: `iscsiadm -m session -P \
                 1`, `ping`, `nstat -az TcpRetransSegs`",
                "check the counters of the switch ports in between (errors, pauses, drops), and \
                 the target's log for that minute",
            ]);
        }
        Way::Cable => vec![
            "reseat or swap the cable, then the port; do the errors stop?".to_string(),
            "disable link power management: `echo max_performance | tee \
             /sys/class/scsi_host/host*/link_power_management_policy`; PCIe: `pcie_aspm=off`"
                .to_string(),
            format!(
                "`smartctl -j -x {node} > smart.json` now and tomorrow: does 199 (UDMA CRC) \
                 increase?"
            ),
            "link: `dmesg | grep -i 'link up'`; PCIe: `lspci -vv` (LnkSta against LnkCap); NVMe \
             power states: `nvme_core.default_ps_max_latency_us=0`"
                .to_string(),
        ],
    };
    if is_awake {
        // Power management before the cable.
        steps.swap(0, 1);
    }
    steps
}

/// Ports with an unknown disk: the port itself is accused.
fn unnamed_ports(analysis: &Analysis, joined: &dyn Fn(&LogLine) -> bool) -> Vec<Finding> {
    let ports = analysis.facts.by_port(analysis.facts.unnamed()).into_iter();
    let found = ports.filter_map(|(device, reading)| {
        if reading.iter().any(|line| joined(line)) {
            return None;
        }
        let mut builder = EvidenceBuilder::default();
        let nats = from_log(analysis, &reading, &mut builder);
        builder.clauses = vec![Clause::fixed(KERNEL_LOG, nats)];
        if nats <= 0.0 {
            return None;
        }
        let port = &analysis.recording.device_of(device).name;
        let mut finding = accusation(device, builder.listings.clone(), &builder);
        finding.doubt_if(controllers::is_given_up(&reading), GIVEN_UP, SHAPE_ALONE);
        finding.doubt_if(hangs_go_on(analysis, &reading), HANGS_GO_ON, SHAPE_ALONE);
        let way = Way::of(port, &reading, None);
        finding.blame = (!shows_the_way(&reading)).then_some(Blame::DiskOrPath);
        let is_open = finding.confidence() < STANDS;
        let (parts, words) = (way.parts(), phrase::list(&builder.words));
        finding.sentence = match (finding.blame.is_some(), is_open) {
            (true, true) => {
                format!("{port} or the path behind it ({parts}) may have failed: {words}")
            }
            (true, false) => format!("{port} or the path behind it ({parts}) failed: {words}"),
            (false, _) => format!(
                "the path behind {port} ({parts}) {} errors, whichever disk is attached: {words}",
                if is_open { "may have" } else { "has" }
            ),
        };
        let disk = if way == Way::Pcie { port } else { "DISK" };
        finding.next_step = next_step(disk, way, is_awake(&reading));
        finding.next_step.insert(0, format!("which disk is it? `ls -l /sys/block | grep {port}`"));
        finding.evidence = builder.evidence;
        Some(finding)
    });
    found.collect()
}

/// Whether tasks still hang long after the last of these lines: the path had recovered by then, and
/// whatever holds them is something else.
fn hangs_go_on(analysis: &Analysis, reading: &[&LogLine]) -> bool {
    let ended_s = reading
        .iter()
        .map(|line| line.message.at_s)
        .try_fold(f64::MIN, |last, at_s| at_s.map(|at_s| last.max(at_s)));
    let Some(ended_s) = ended_s.filter(|_| !reading.is_empty()) else { return false };
    let hung = analysis.facts.log().filter(|line| line.kind == MessageKind::HungTask);
    let mut hung_s = hung.filter_map(|line| line.message.at_s);
    hung_s.any(|at_s| at_s > ended_s + LONG_AFTER_S)
}

/// Whether these lines are about the path itself: a link, a port, an interrupt, a transfer. A disk
/// that is reset, offline or failed, or does not answer a reset, may itself be faulty.
fn shows_the_way(reading: &[&LogLine]) -> bool {
    const OF_THE_WAY: [PathEvent; 4] =
        [PathEvent::CardHost, PathEvent::Dma, PathEvent::LostInterrupt, PathEvent::Memory];
    let kinds = [MessageKind::Link, MessageKind::Path, MessageKind::Phy];
    let log_event = |line: &&LogLine| line.message.log_event();
    reading.iter().any(|line| {
        kinds.contains(&line.kind) && !line.message.is_of_recovery()
            || log_event(line).is_some_and(|what| OF_THE_WAY.contains(&what))
            || line.message.is_usb_disconnect()
    })
}

/// What the kernel reports of link and controller.
fn from_log(analysis: &Analysis, reading: &[&LogLine], builder: &mut EvidenceBuilder) -> f64 {
    let is = |line: &&&LogLine, what: PathEvent| line.message.log_event() == Some(what);
    // Recovery from a slow discard is not a fault of the path (`load.discard`).
    let discards = |line: &LogLine| line.message.command == Some(CommandKind::Io(Op::Discard));
    let of = |kind: MessageKind| {
        let lines = reading.iter().filter(|line| line.kind == kind && !discards(line));
        lines.copied().collect::<Vec<_>>()
    };
    // An array rewrites unreadable sectors, whatever the reason.
    let media = of(MessageKind::Medium);
    let media: Vec<f64> = media
        .iter()
        .filter(|line| !line.message.is_of_an_array())
        .filter_map(|line| line.message.at_s)
        .collect();
    let follows = |line: &&&LogLine| {
        line.message
            .at_s
            .is_some_and(|at| media.iter().any(|error| (at - error).abs() < COLLATERAL_S))
    };
    let links = of(MessageKind::Link);
    let corrupt: Vec<&LogLine> = with(&links, PathEvent::Corruption);
    let corrected: Vec<&LogLine> = with(&links, PathEvent::Corrected);
    let down: Vec<&LogLine> = with(&links, PathEvent::LinkDown);
    // A port without a disk reports the same at the start.
    let is_exchanged = reading.iter().any(|line| is(&line, PathEvent::Exchanged));
    let unplugged: Vec<&LogLine> = match is_exchanged {
        true => with(&links, PathEvent::NoDevice),
        false => Vec::new(),
    };
    let no_device = if is_exchanged { PathEvent::NoDevice } else { PathEvent::Corruption };
    let named = [
        PathEvent::Corruption,
        PathEvent::Corrected,
        PathEvent::LinkDown,
        PathEvent::DeadPort,
        no_device,
    ];
    // The kernel's recovery from a command without an answer, whatever the cause (`device.stall`).
    let unanswered =
        reading.iter().any(|line| line.kind == MessageKind::Timeout && !discards(line));
    let recovers = |line: &LogLine| unanswered && line.message.is_of_recovery();
    let dead = with(&links, PathEvent::DeadPort);
    let dead: Vec<&LogLine> = dead.into_iter().filter(|line| !recovers(line)).collect();
    let resets: Vec<&LogLine> = links
        .iter()
        .filter(|l| !named.iter().any(|what| is(l, *what)) && !follows(l) && !recovers(l))
        .copied()
        .collect();
    // In a guest an NVMe drive is emulated by the host: there is no slot and no bridge
    // (`device.stall`).
    let is_guest = analysis.facts.hypervisor(reading).is_some();
    let controllers = of(MessageKind::Controller);
    let controllers = if is_guest { Vec::new() } else { controllers };
    let unheard: Vec<&LogLine> = with(&controllers, PathEvent::LostInterrupt);
    let unresponsive: Vec<&LogLine> = with(&controllers, PathEvent::Unresponsive);
    let was_reset = |line: &&&LogLine| is(line, PathEvent::Reset) || is(line, PathEvent::UsbReset);
    let lost: Vec<&LogLine> = controllers.iter().filter(was_reset).copied().collect();
    let dma: Vec<&LogLine> = with(&controllers, PathEvent::Dma);
    let card: Vec<&LogLine> = with(&controllers, PathEvent::CardHost);
    let memory: Vec<&LogLine> = with(&controllers, PathEvent::Memory);
    let other = [
        PathEvent::CardHost,
        PathEvent::Memory,
        PathEvent::Dma,
        PathEvent::LostInterrupt,
        PathEvent::Unresponsive,
        PathEvent::Fatal,
    ];
    let rest = controllers.iter().filter(|l| !l.message.names_an_idle_tag());
    let rest = rest.filter(|l| !was_reset(l) && !other.iter().any(|what| is(l, *what)));
    let aborted: Vec<&LogLine> = rest.copied().collect();
    let timed_out =
        aborted.iter().filter(|line| line.message.is_of_nvme_timeout() && !discards(line)).count();
    // Its session is named by `layer.remote`: there is no cable to swap.
    let gone: Vec<&LogLine> = of(MessageKind::Offline)
        .into_iter()
        .filter(|line| !lost_its_session(analysis, line))
        .collect();
    let wakes = of(MessageKind::Phy);
    let cost = [MessageKind::Command, MessageKind::Timeout, MessageKind::IoError];
    let hurt = reading.iter().any(|line| cost.contains(&line.kind));
    // Unplugging removes it as well, but without a failed command.
    let (removed, gone): (Vec<&LogLine>, Vec<&LogLine>) =
        gone.into_iter().partition(|line| !hurt && line.message.is_surprise_removal());
    let woke: &[&LogLine] = if hurt && corrupt.is_empty() { &wakes } else { &[] };
    let mut most: f64 = 0.0;
    let kinds: [(&[&LogLine], &str, f64); 16] = [
        (
            &dead,
            "time(s) the drive on the port did not answer a reset, in the kernel's log",
            if dead.len() > 1 { WAS_RESET } else { NEVER_BACK },
        ),
        (
            woke,
            "time(s) the link went down or woke up without a corrupted frame, in the kernel's log, \
             while commands failed",
            WOKE,
        ),
        (
            &corrected,
            "error(s) corrected by the PCIe link hardware, in the kernel's log",
            if is_often(&corrected) { CORRECTED_OFTEN } else { CORRECTED },
        ),
        (
            &unresponsive,
            "time(s) a controller did not respond although it reports that it is ready",
            UNRESPONSIVE,
        ),
        (&down, "time(s) the adapter lost its link, in the kernel's log", LINK_DOWN),
        (&unheard, "completion(s) whose interrupt was lost, in the kernel's log", WAS_RESET),
        (
            &dma,
            "DMA transfer(s) that never completed, in the kernel's log, after which the drive is \
             used without DMA",
            if dma.len() > 1 { WAS_RESET } else { DMA_ONCE },
        ),
        (
            &card,
            "time(s) the host controller of the card waited for an interrupt that never came",
            CARD_HOST,
        ),
        (
            &memory,
            "memory access(es) of the adapter blocked by the IOMMU, in the kernel's log: its \
             firmware or driver",
            FORBIDDEN,
        ),
        (
            &unplugged,
            "time(s) no device was on the link (`SATA link down`): its plug, its cable or its power",
            FAILED,
        ),
        (&corrupt, "link error(s) in the kernel's log", CORRUPTED),
        (&lost, "controller or device reset(s) in the kernel's log", WAS_RESET),
        (&removed, "surprise removal(s) of the disk, in the system's log", REMOVED),
        (&gone, "request(s) to an offline device, in the kernel's log", WAS_RESET),
        (
            &resets,
            "link reset(s) in the kernel's log",
            confidence::beyond(resets.len() as f64, RESETS),
        ),
        (&aborted, "aborted command(s) or adapter error(s) in the kernel's log", {
            let most = if timed_out > 1 { TIMED_OUT } else { ABORTED };
            confidence::beyond(aborted.len() as f64, RESETS).min(most)
        }),
    ];
    for (lines, what, nats) in kinds {
        let Some(first) = lines.first() else { continue };
        let nats = if is_stale(analysis, first, lines) { nats + STALE } else { nats };
        builder.log_lines(analysis, &phrase::several(what), lines, Some(Bound::Above(0.0)));
        let counted = phrase::count(LogLine::messages(lines) as f64, what);
        let is_reset = [PathEvent::Reset, PathEvent::UsbReset, PathEvent::LinkReset]
            .iter()
            .any(|what| is(&first, *what));
        let period = period(lines).filter(|_| is_reset);
        if let Some(seconds) = period {
            let n = (seconds, Unit::Seconds);
            builder.fact(analysis, &first.reading, "median time between two of them", n, None);
        }
        let every = period.map(|seconds| format!(", every {}", phrase::ms(seconds * 1e3)));
        let every = every.unwrap_or_default();
        builder.words.push(format!("{counted}{every} (`{}`)", short(&first.message.text)));
        most = most.max(nats);
    }
    if let Some(line) = gone.iter().find(|line| line.message.is_usb_disconnect()) {
        let line_text = short(&line.message.text);
        builder.words.push(format!("a device on USB left the bus (`{line_text}`)"));
    }
    let wakes: Vec<&LogLine> = if unplugged.is_empty() { wakes } else { Vec::new() };
    if let Some(first) = wakes.first().filter(|_| corrupt.is_empty() && most > 0.0 && !hurt) {
        let what = "link wake-ups without a corrupted frame, in the kernel's log";
        builder.log_lines(analysis, what, &wakes, None);
        builder.words.push(format!(
            "the link wakes up ({}) without corrupted frames, so check link power management \
             before the cable",
            short(&first.message.text)
        ));
    }
    most
}

/// Whether a session of iSCSI was lost shortly before, in the same log.
fn lost_its_session(analysis: &Analysis, line: &LogLine) -> bool {
    analysis.facts.log().any(|lost| {
        let apart_s = line.message.at_s.zip(lost.message.at_s).map(|(at, lost)| at - lost);
        lost.kind == MessageKind::Remote
            && lost.message.is_of_iscsi()
            && lost.reading.listing == line.reading.listing
            && apart_s.is_none_or(|apart_s| (0.0..SESSION_S).contains(&apart_s))
    })
}

/// The lines with this statement about the path to a disk.
fn with<'s, 'a>(lines: &[&'s LogLine<'a>], what: PathEvent) -> Vec<&'s LogLine<'a>> {
    lines.iter().filter(|line| line.message.log_event() == Some(what)).copied().collect()
}

/// Whether corrected errors were so frequent that their cost adds up.
fn is_often(lines: &[&LogLine]) -> bool {
    let times = || lines.iter().filter_map(|line| line.message.at_s);
    let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
    lines.len() >= OFTEN && (lines.len() - 1) as f64 > OFTEN_PER_S * (last - first)
}

/// A member that its pool cannot open, no longer sees or has failed, for any reason: the pool is
/// named first.
fn from_pool(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let state = about.last(key::MEMBER_STATE).filter(|state| NOT_USED.contains(&state.text()));
    let Some((state, (pool, _))) = state.zip(about.array()) else { return 0.0 };
    // If only reads failed, the surface is unreadable (`device.media`). Clearing the counters
    // meanwhile did not repair it.
    let count = |kind| {
        let all = about.all(key::MEMBER_ERRORS.of(kind)).filter_map(|reading| reading.number());
        all.fold(0.0, f64::max)
    };
    let (reads, writes) = (count("read"), count("write"));
    if reads > 0.0 && writes + count("checksum") <= 0.0 {
        return 0.0;
    }
    // One disk under the names of its partitions is reported once.
    if let Some(lost) = arrays::lost_parts(analysis, &candidate.disk) {
        if lost.parts.first().is_none_or(|(part, _)| *part != candidate.disk) {
            return 0.0;
        }
        let n = lost.parts.len() as f64;
        let what = format!("partitions of {} failed by their arrays", lost.disk);
        builder.fact(analysis, &state, &what, (n, Unit::Count), Some(Bound::Above(1.0)));
        let pools: Vec<String> = lost.parts.iter().map(|(_, array)| array.to_string()).collect();
        builder.words.push(format!(
            "{} each failed a partition of {}: the drive or its path is faulty, not the individual \
             partitions",
            phrase::list(&pools),
            lost.disk
        ));
        return MEMBER_GONE;
    }
    let what = format!("member state: `{}`", state.text());
    builder.fact(analysis, &state, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
    let counted = match reads + writes > 0.0 {
        true => format!(
            " after {} and {} failed",
            phrase::count(reads, "read(s)"),
            phrase::count(writes, "write(s)")
        ),
        false => String::new(),
    };
    let (disk, is) = (phrase::disk(&candidate.disk), state.text().to_uppercase());
    let of_pool = analysis.facts.about(candidate.host, pool);
    let stopped = of_pool.all(key::ARRAY_STATE).find(|state| STOPPED.contains(&state.text()));
    if let Some(stopped) = stopped {
        let what = format!("state of the pool: `{}`", stopped.text());
        builder.fact(analysis, &stopped, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
        let named = stopped.text().to_uppercase();
        builder.words.push(format!(
            "{pool} stopped ({named}): {disk} is {is}{counted}, and no other member has its data; \
             first copy everything that is readable, then check its path and its power before the \
             disk itself"
        ));
    } else {
        builder.words.push(format!(
            "{pool} runs without {disk}, which is {is}{counted}: check its path and its power \
             before the disk itself"
        ));
    }
    MEMBER_GONE
}

/// The interval of the lines, s, if there are at least three and most are separated by it: the
/// timeout of a command that is retried repeatedly.
fn period(lines: &[&LogLine]) -> Option<f64> {
    let times: Vec<f64> = lines.iter().filter_map(|line| line.message.at_s).collect();
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let median = *gaps.get(gaps.len() / 2).filter(|gap| gaps.len() >= 2 && **gap >= 1.0)?;
    let alike = gaps.iter().filter(|gap| (*gap / median - 1.0).abs() <= PERIODIC).count();
    (2 * alike > gaps.len()).then_some(median)
}

/// Whether even the last of these lines is a day older than the log's end.
fn is_stale(analysis: &Analysis, first: &LogLine, lines: &[&LogLine]) -> bool {
    let end = analysis.facts.log_end(first.reading.listing);
    let last = lines.iter().filter_map(|line| line.message.at_s).reduce(f64::max);
    end.zip(last).is_some_and(|(end, last)| end - last > STALE_S)
}

/// A message shortened for a sentence.
fn short(message: &str) -> String {
    message.chars().take(60).collect()
}

/// CRC errors of the link, if they grew.
fn from_counter(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let Some((value, reading)) =
        about.number(key::SMART_RAW.of("199")).filter(|(value, _)| *value > 0.0)
    else {
        return 0.0;
    };
    let grew =
        about.rise(key::SMART_RAW.of("199")).map(|(rise, _)| rise).filter(|rise| *rise > 0.0);
    builder.fact(
        analysis,
        &reading,
        "CRC errors of the link (SMART 199)",
        (value, Unit::Count),
        None,
    );
    let Some(rise) = grew else {
        // A lifetime count proves nothing alone; beside a drive of the same model with a count of 0
        // it does, unless the disk was measured: then its latencies decide, because many healthy
        // disks have an old count.
        let counts = value >= MANY_CRC && candidate.listing.is_none();
        let Some(twin) = clean_twin(analysis, candidate).filter(|_| counts) else {
            return 0.0;
        };
        let what = format!("CRC errors of {}, of the same model", twin.0);
        let below = Some(Bound::Below(1.0));
        builder.fact(analysis, &twin.1, &what, (0.0, Unit::Count), below);
        builder.words.push(format!(
            "{}, and none on {}, of the same model",
            phrase::count(value, "CRC error(s)"),
            twin.0
        ));
        return TWIN;
    };
    let above = Some(Bound::Above(0.0));
    builder.fact(
        analysis,
        &reading,
        "CRC errors since the previous record",
        (rise, Unit::Count),
        above,
    );
    builder
        .words
        .push(format!("{} more CRC errors than in the previous record", phrase::thousands(rise)));
    GREW
}

/// Another drive of the same model whose count of CRC errors is known to be 0.
fn clean_twin<'s, 'a>(
    analysis: &'s Analysis<'a>,
    candidate: &'s FaultCandidate<'s, 'a>,
) -> Option<(&'s str, FactReading<'a>)> {
    let model = candidate.about().model()?;
    analysis.facts.disks().filter(|disk| *disk != candidate.disk).find_map(|disk| {
        let about = analysis.facts.about(candidate.host, disk);
        let alike = about.model().is_some_and(|other| other.text() == model.text());
        let (count, reading) = about.number(key::SMART_RAW.of("199")).filter(|_| alike)?;
        (count == 0.0).then_some((disk, reading))
    })
}

/// Counters of the link beside SMART 199: those of SATA and SAS phys, if they grew; the drive's own
/// log of corrupt transfers, if its last entry is young.
fn from_link_counters(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let mut most: f64 = 0.0;
    for (key, what) in LINK_COUNTERS {
        let Some((rise, reading)) = about.rise(key).filter(|(rise, _)| *rise > 0.0) else {
            continue;
        };
        let grew = format!("{}: increase", phrase::several(what));
        builder.fact(analysis, &reading, &grew, (rise, Unit::Count), Some(Bound::Above(0.0)));
        builder.words.push(format!("{} since the first reading", phrase::count(rise, what)));
        most = most.max(GREW);
    }
    let (hours, last) = (about.number(key::SMART_HOURS), about.number(key::SMART_ERROR_LOG_HOURS));
    let young = matches!((hours, last), (Some((now, _)), Some((last, _))) if now - last <= STALE_S);
    if let Some((errors, reading)) =
        about.number(key::SMART_ERROR_LOG_ICRC).filter(|(n, _)| *n > 0.0)
    {
        let what = "corrupt transfers among the last entries of the drive's error log";
        let bound = young.then_some(Bound::Above(0.0));
        builder.fact(analysis, &reading, what, (errors, Unit::Count), bound);
        if young {
            builder.words.push(phrase::count(errors, "corrupt transfer(s) in the drive's own log"));
            most = most.max(FAILED);
        }
    }
    most
}

/// A path that its volume no longer uses.
fn from_paths(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    lost: &SharedLoss,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let Some(reading) = candidate.about().last(key::PATH_STATE) else { return 0.0 };
    // If no path is left, the volume or a component shared by all paths is gone (`layer.remote`).
    if lost.covers(&candidate.disk, analysis.host(reading.listing)) {
        return 0.0;
    }
    let line_text = reading.text();
    let what = format!("path state: `{line_text}`");
    builder.fact(analysis, &reading, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
    builder.words.push(format!("its volume reports this path as `{line_text}`"));
    FAILED
}

/// Requests that failed because the link was gone.
fn from_failures(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let Some(listing) = candidate.listing else { return 0.0 };
    let lost = candidate.failed.iter().filter(|event| event.error == Some(ENOLINK)).count();
    if lost == 0 {
        return 0.0;
    }
    let n = (lost as f64, Unit::Count, lost);
    builder.failed(
        analysis,
        listing,
        "requests that failed with ENOLINK",
        n,
        Some(Bound::Above(0.0)),
    );
    builder.words.push(phrase::count(lost as f64, "request(s) failed because the link was gone"));
    FAILED
}

/// An array member with failed requests of every kind, including flushes: it was unreachable for a
/// time.
fn from_member(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let count = |kind: &'static str, least: f64| {
        about.number(key::MEMBER_ERRORS.of(kind)).filter(|(n, _)| *n >= least)
    };
    let all = count("read", MANY_FAILED).zip(count("write", MANY_FAILED)).zip(count("flush", 1.0));
    let Some((((reads, _), (writes, reading)), (flushes, _))) = all else {
        return failed_in_its_pool(analysis, candidate, builder);
    };
    let what = "failed writes counted by its array";
    let above = Some(Bound::Above(MANY_FAILED));
    builder.fact(analysis, &reading, what, (writes, Unit::Count), above);
    builder.words.push(format!(
        "{}, {} and {} failed in its array, so it was unreachable for a time",
        phrase::count(reads, "read(s)"),
        phrase::count(writes, "write(s)"),
        phrase::count(flushes, "flush(es)")
    ));
    TWIN
}

/// The only member of its pool with many failed writes, or failed reads and checksums: the drive or
/// its path.
fn failed_in_its_pool(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let count = |kind: &'static str| about.number(key::MEMBER_ERRORS.of(kind));
    let n = |kind| count(kind).map_or(0.0, |(n, _)| n);
    let (reads, writes, checksums) = (n("read"), n("write"), n("checksum"));
    // What the pool gave up is counted with that (`from_pool`).
    let gone = about.last(key::MEMBER_STATE).is_some_and(|state| NOT_USED.contains(&state.text()));
    let many = writes >= MANY_FAILED || reads >= MANY_FAILED && checksums >= MANY_FAILED;
    // Where reads alone fail it is the surface (`device.media`).
    let mixed = writes + checksums > 0.0;
    let alone = || !arrays::fails_with_others(analysis, &candidate.disk);
    if gone || !many || !mixed || about.array().is_none() || !alone() {
        return 0.0;
    }
    let kinds = [
        ("read", "failed reads counted by its pool", "read(s)"),
        ("write", "failed writes counted by its pool", "write(s)"),
        ("checksum", "blocks with a wrong checksum, counted by its pool", "checksum(s)"),
    ];
    let mut words = Vec::new();
    for (kind, what, counted) in kinds {
        if let Some((n, reading)) = count(kind).filter(|(n, _)| *n > 0.0) {
            let above = (n >= MANY_FAILED).then_some(Bound::Above(MANY_FAILED));
            builder.fact(analysis, &reading, what, (n, Unit::Count), above);
            words.push(phrase::count(n, counted));
        }
    }
    builder.words.push(format!("{} failed on this member of its pool alone", phrase::list(&words)));
    TWIN
}

/// Commands that never returned, counted by the system since it attached the disk: the cable, the
/// controller or a hanging disk, so only a suspicion.
fn from_transport(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let count = candidate.about().number(key::MEMBER_ERRORS.of("transport"));
    let Some((errors, reading)) = count.filter(|(n, _)| *n > RESETS) else { return 0.0 };
    let what = "transport errors counted by the system";
    builder.fact(analysis, &reading, what, (errors, Unit::Count), Some(Bound::Above(RESETS)));
    builder.words.push(phrase::count(errors, "command(s) never completed"));
    NEVER_BACK
}

/// A link that runs below what both ends can do.
fn slow_link(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let Some((share, now, reading)) = link_share(candidate) else { return 0.0 };
    let bound = Some(Bound::Below(if share < FAR_BELOW { FAR_BELOW } else { 1.0 }));
    let what = "link speed, divided by its maximum";
    builder.fact(analysis, &reading, what, (share, Unit::Ratio), bound);
    if share >= FAR_BELOW {
        return SUPPORTS;
    }
    builder.words.push(format!(
        "the link of {} runs at {} Mb/s and could run at {}: whatever the disk is, it gets no more",
        phrase::disk(&candidate.disk),
        phrase::digits(now / 1e6),
        phrase::digits(now / share / 1e6)
    ));
    DEGRADED
}

/// The speed of a link as a share of what both ends can do, where it is less.
fn link_share<'a>(candidate: &FaultCandidate<'_, 'a>) -> Option<(f64, f64, FactReading<'a>)> {
    let about = candidate.about();
    let pairs = [
        (key::SMART_LINK_SPEED, key::SMART_LINK_SPEED_MAX),
        (key::DEVICE_LINK_SPEED, key::DEVICE_LINK_SPEED_MAX),
    ];
    pairs.into_iter().find_map(|(now, most)| {
        let ((now, reading), (most, _)) = (about.number(now)?, about.number(most)?);
        (now < most).then_some((now / most, now, reading))
    })
}
