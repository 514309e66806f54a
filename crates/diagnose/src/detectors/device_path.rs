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
//! - resets that the drive on a port does not answer, without a command that timed out before, or
//!   after which no drive is on the link;
//! - commands that libata could not send (internal error);
//! - a disk that went offline after its adapter reported trouble (firmware in fault, link events);
//! - UDMA CRC errors (199) that increased between two records; or, if no latency was measured, five
//!   and more while a drive of the same model has none, or a hundred and more at a rate of one an
//!   hour, by a drive with at most a thousand hours of operation;
//! - requests that failed with ENOLINK;
//! - transport errors counted by illumos;
//! - reads, writes and flushes of one member that failed alike, or ten wrong checksums and more of
//!   one member while its pool counts no error of two others and more;
//! - reads or writes refused as an unknown command, which every drive knows;
//! - members that their array dropped together between two reports, or wrong checksums alone on
//!   three and more members, half of all, of several pools.
//!
//! A link slower than its maximum supports it; below 3 % of it (USB at full speed) it is enough.
//! Three disks of one adapter that stop responding within a minute point to the adapter, and two
//! or more links of one host lost within seconds to what they share. Recovery actions of the
//! kernel for a discard or a query do not count.
//!
//! Suspected only:
//!
//! - three failed requests and more of a SCSI or SATA disk while nothing else is logged of it;
//! - errors corrected by a PCIe link, if a storage driver owns the function, by their rate;
//! - a link that woke up without a corrupted frame while commands failed;
//! - an NVMe controller that is lost although it is ready;
//! - a Fibre Channel link that went down, or a login over it that failed, once;
//! - a member lost by its pool, or by Windows;
//! - fewer than a hundred CRC errors in the drive's lifetime while a drive of the same model has
//!   none.
//!
//! The disk or its path, and not which of them, at most 0.75: a disk that went offline if nothing
//! shows how it is attached (a Fibre Channel link that went down first shows it); a controller that
//! did not recover from its reset (0.65); what was seen once: a reset without an answer, a drive
//! used without DMA from then on, a reader or an enclosure without a medium (0.64).
//!
//! An NVMe controller that reports a fatal failure, or one of a guest, is `device.stall`.
//!
//! Or the settings of a drive say `using_dma = 0` and one stream from it is below 10 MB/s; or two
//! disks and more of one test read below 5 MB/s, equally slowly, and two others ten times as fast.
//! Or one stream from the only disk of an input reaches 0.45 to 0.89 of the rate of its only USB
//! link, and that link is USB 2 (`lsusb -t`); or of one of its links, and another time more than
//! USB 2 carries.
//!
//! ## Wrong if
//! The CRC count is old and does not increase. Resets follow a medium error or an unplugged cable,
//! or the device saves power (`PHYRdyChg` alone). The lines are older than a day.
//!
//! ## Next step
//! Reseat or replace the cable, try another port, check the link's width and speed.

use iowhy_model::{Blame, Bound, Finding, Level, MessageKind, STANDS, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::adapters::{self, Together};
use crate::evidence::attachments::Attachment;
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::confidence::{ONE_OF_TWO, ONE_OF_TWO_OF_FEW, SHAPE_ALONE};
use crate::evidence::controllers;
use crate::evidence::lost_members;
use crate::evidence::path_log::{self, RESETS, SEEN_ONCE};
use crate::evidence::shared_path::{self, FAILED, TOGETHER_S};
use crate::evidence::signals::{Signal, failed, number, program, rise, state_signal};
use crate::evidence::throughput;
use crate::evidence::transport;
use crate::evidence::volumes::SharedLoss;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
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

/// The clauses of the rule, in nats. 199 and the counters of phys grow only by corrupt frames or a
/// lost link; a lifetime's count is the past, unless a drive of the same model has none.
const CLAUSES: [(&str, &[Signal]); 8] = [
    (KERNEL_LOG, &path_log::LOGGED),
    (
        "error counters",
        &[
            number(key::SMART_RAW.of("199"), 0.0).what("CRC errors of the link (SMART 199)"),
            rise(key::SMART_RAW.of("199"), GREW)
                .what("CRC errors since the previous record")
                .say("{n} more CRC errors than in the previous record"),
            program(beside_a_clean_control),
            program(every_hour),
        ],
    ),
    (
        "failed requests",
        &[failed(&[ENOLINK], FAILED)
            .what("requests that failed with ENOLINK")
            .say("{n} request(s) failed because the link was gone")],
    ),
    (
        "errors as an array's member",
        &[program(lost_members::unreachable), program(lost_members::fails_alone)],
    ),
    (
        // Counted by the system since it attached the disk: the cable, the controller or a hanging
        // disk, so only a suspicion.
        "transport errors",
        &[number(key::MEMBER_ERRORS.of("transport"), SEEN_ONCE)
            .held(Bound::Above(RESETS), Unit::Count)
            .what("transport errors counted by the system")
            .say("{n} command(s) never completed")],
    ),
    ("link counters", &LINK_COUNTERS),
    (
        // Where no path is left, the volume or what all paths share is gone (`layer.remote`).
        "paths of multipath",
        &[state_signal(key::PATH_STATE, &[], FAILED)
            .only_if(|case| !is_of_a_lost_volume(case))
            .what("path state: `{state}`")
            .say("its volume reports this path as `{state}`")],
    ),
    (
        LOST_BY_ITS_POOL,
        &[
            program(lost_members::lost_by_its_pool),
            // Of Windows; the drive or the path to it (`lost_members::MEMBER_GONE`).
            state_signal(key::MEMBER_STATE, &["lost communication"], 1.6)
                .what("disks that Windows lost")
                .say(
                    "Windows reports `{state}`: check its path and its power before the disk \
                      itself",
                ),
        ],
    ),
];
const KERNEL_LOG: &str = "lines of the kernel's log";
const LOST_BY_ITS_POOL: &str = "member lost by its pool";
const LINK_SPEED: &str = "link speed";

/// Counters that only corrupt frames or a lost link increase (ATA ACS-3, SATA phy event counters 1
/// to 4, 11 and 13; SPL, link error counters of a phy); and the drive's own log of corrupt
/// transfers, if its last entry is young.
const LINK_COUNTERS: [Signal; 13] = [
    sata("1", "command(s) that failed with a CRC error (SATA phy event 1)"),
    sata("2", "frame(s) rejected (SATA phy event 2)"),
    sata("3", "frame(s) rejected by the host (SATA phy event 3)"),
    sata("4", "frame(s) rejected by the drive (SATA phy event 4)"),
    sata("11", "CRC error(s) in frames to the drive (SATA phy event 11)"),
    sata("13", "error(s) other than CRC in frames to the drive (SATA phy event 13)"),
    sas("invalid_dword_count", "invalid dword(s) of the SAS phy"),
    sas("running_disparity_error_count", "disparity error(s) of the SAS phy"),
    sas("loss_of_dword_sync_count", "loss(es) of synchronisation of the SAS phy"),
    sas("phy_reset_problem_count", "failed reset(s) of the SAS phy"),
    sas("invalid_crc_count", "frame(s) with a wrong checksum at a Fibre Channel port"),
    sas("invalid_tx_word_count", "invalid word(s) at a Fibre Channel port"),
    number(key::SMART_ERROR_LOG_ICRC, FAILED)
        .instead(|case| !is_young(case), 0.0)
        .what("corrupt transfers among the last entries of the drive's error log")
        .say("{n} corrupt transfer(s) in the drive's own log"),
];
/// Weight of a counter that grew, nats.
const GREW: f64 = 3.0;
/// An error that a drive logged within this time of operation, s, is young (a day, a choice).
const RECENT_S: f64 = 86_400.0;

/// A link so far below its maximum is by itself what limits the disk (USB at full speed: 12 of 480
/// Mb/s), and what that is worth, nats: with the prior 0.69 (choices); else it only supports.
const FAR_BELOW: f64 = 0.03;
const DEGRADED: f64 = 2.2;
const SUPPORTS: f64 = 0.5;
/// CRC errors beyond one or two from unplugging, beside none on a drive of the same model; and
/// their weight, nats: 0.65 with the prior (choices).
const MANY_CRC: f64 = 5.0;
const CONTROL_RATIO: f64 = 2.0;
/// CRC errors over a drive's life that a single loose plug may have caused (a choice).
const OF_A_PLUG: f64 = 100.0;
/// CRC errors per hour of operation from which on they are no single event, of a drive so young
/// that all of them are recent (choices).
const EACH_HOUR: f64 = 1.0;
const RECENT_H: f64 = 1000.0;
/// Why a controller that the kernel gave up is not proof against its slot.
const GIVEN_UP: &str = "the controller did not recover from its reset: the drive, its power states \
                        and its slot cannot be distinguished until one is excluded";
/// Why a disk that went offline is not proof against its path.
const FAILS_ITS_TEST: &str =
    "the drive fails its own self-test, which does not use the cable or the controller";
/// Why an old count is not proof.
const FEW_AND_OLD: &str = "so few in the drive's lifetime may come from one replug, or from a \
                           cable replaced since";
/// Why what the log reports of the path does not explain its hung tasks.
const HANGS_GO_ON: &str =
    "tasks hang minutes after the path had recovered: something else holds them";
/// The link is gone (BLK_STS_TRANSPORT, block/blk-core.c).
const ENOLINK: u16 = 67;

const fn sata(event: &'static str, what: &'static str) -> Signal {
    rise(key::SMART_SATA_PHY.of(event), GREW).what(what)
}

const fn sas(counter: &'static str, what: &'static str) -> Signal {
    rise(key::PHY.of(counter), GREW).what(what)
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let logged: Vec<&LogLine> = analysis.facts.log().collect();
    // Links of adapters, and their trouble, that are reported with the disks after them.
    let reported = adapters::before_offline(analysis, &logged);
    let together: Vec<Together> = adapters::lost_together(analysis, TOGETHER_S)
        .into_iter()
        .filter(|lost| !lost.lines.iter().any(|line| path_log::lost_its_session(analysis, line)))
        .collect();
    let joined = |line: &LogLine| together.iter().any(|lost| lost.covers(line));
    let disks = Case::of_disks(&candidates).filter_map(|mut case| {
        case.log.retain(|line| !reported.iter().any(|known| std::ptr::eq(*known, *line)));
        let reported = adapters::before_offline(analysis, &case.log);
        case.log.extend(&reported);
        // Links lost together have a shared fault.
        let is_joined = case.log.iter().any(|line| joined(line));
        let mut finding = finding(&case, is_joined)?;
        // The adapter is part of the accused path: its losses include its disk's.
        let adapters = reported.iter().filter_map(|line| line.reading.fact.device);
        finding.subject.devices.extend(adapters);
        Some(finding)
    });
    let ports = Case::of_ports(analysis).filter(|case| !case.log.iter().any(|line| joined(line)));
    let ports = ports.filter_map(|case| finding(&case, false));
    let mut findings: Vec<Finding> = disks.chain(ports).collect();
    findings.extend(shared_path::findings(analysis, DETECTOR.verdict, &together));
    findings.extend(throughput::slow_together(analysis, DETECTOR.verdict));
    findings.extend(throughput::without_dma(analysis, DETECTOR.verdict));
    findings.extend(throughput::at_their_links(analysis, DETECTOR.verdict));
    findings
}

/// The path to a disk; of a port with an unknown disk the port itself is accused.
fn finding(case: &Case, is_joined: bool) -> Option<Finding> {
    let (mut builder, about, name) = (case.builder(), case.about(), phrase::disk(case.name));
    let is_port = case.candidate.is_none();
    builder.weigh(case, if is_port { &CLAUSES[..1] } else { &CLAUSES });
    let by_log_alone = builder.is_alone(KERNEL_LOG);
    let by_others = builder.nats(KERNEL_LOG) > 0.0 && !is_joined || !by_log_alone;
    let by_speed = !by_others && link_share(case).is_some_and(|(share, ..)| share < FAR_BELOW);
    if !by_others && !by_speed {
        return None;
    }
    if !is_port {
        builder.weigh(case, &[(LINK_SPEED, &[program(slow_link)])]);
    }
    let mut finding = shared_path::accusation(DETECTOR.verdict, Some(case.device), &mut builder);
    finding.doubt_if(by_log_alone && path_log::hangs_go_on(case), HANGS_GO_ON, SHAPE_ALONE);
    let tested = about.number(key::SMART_SELF_TEST_ERRORS).is_some_and(|(n, _)| n > 0.0);
    let only_gone = case.log.iter().all(|line| line.kind == MessageKind::Offline);
    finding.doubt_if(by_log_alone && only_gone && tested, FAILS_ITS_TEST, SHAPE_ALONE);
    let grew = about.rise(key::SMART_RAW.of("199")).is_some_and(|(rise, _)| rise > 0.0);
    let few = about.number(key::SMART_RAW.of("199")).is_some_and(|(count, _)| count < OF_A_PLUG);
    let by_count_alone = builder.is_alone("error counters");
    finding.doubt_if(by_count_alone && !grew && few, FEW_AND_OLD, SHAPE_ALONE);
    // Commands that never returned may also hang in the disk.
    let of_the_way =
        ["error counters", "failed requests", "link counters", "paths of multipath", LINK_SPEED];
    let is_told = is_joined
        || of_the_way.iter().any(|what| builder.nats(what) > 0.0)
        || path_log::shows_the_way(&case.log);
    let is_given_up = is_told && by_log_alone && controllers::is_given_up(&case.log);
    finding.blame = (!is_told || is_given_up).then_some(Blame::DiskOrPath);
    finding.doubt_if(is_given_up, GIVEN_UP, ONE_OF_TWO_OF_FEW);
    let unknown = by_log_alone && !is_port && transport::is_unknown(about, case.name, &case.log);
    finding.doubt_if(unknown, transport::UNKNOWN, if is_told { SHAPE_ALONE } else { ONE_OF_TWO });
    let bus = about.last(key::DEVICE_TRANSPORT);
    // Only a drive of SATA counts CRC errors as 199, or has a port of libata.
    let is_sata =
        about.last(key::DEVICE_PORT).is_some() || about.number(key::SMART_RAW.of("199")).is_some();
    let bus = bus.as_ref().map(|bus| bus.text()).or(is_sata.then_some("sata"));
    let way = Attachment::of(name, &case.log, bus);
    let (words, parts) = (phrase::list(&builder.words), way.parts());
    let to = if is_port { "behind" } else { "to" };
    finding.sentence = match (finding.blame.is_some(), finding.confidence() < STANDS) {
        _ if builder.nats(LOST_BY_ITS_POOL) > 0.0 || by_speed => words,
        (true, true) => format!("{name} or the path {to} it ({parts}) may have failed: {words}"),
        (true, false) => format!("{name} or the path {to} it ({parts}) failed: {words}"),
        (false, is_open) => {
            let has = if is_open { "may have" } else { "has" };
            let not = match is_open {
                _ if is_port => ", whichever disk is attached",
                true => "",
                false => ", not the disk itself",
            };
            format!("the path {to} {name} ({parts}) {has} errors{not}: {words}")
        }
    };
    let disk = if is_port && way != Attachment::Pcie { "DISK" } else { name };
    finding.next_step = way.steps(disk, path_log::is_awake(case));
    if is_port {
        finding.next_step.insert(0, format!("which disk is it? `ls -l /sys/block | grep {name}`"));
    } else if unknown && way != Attachment::Unknown {
        let ask = "check how it is attached: `lsblk -o NAME,TRAN,HCTL {node}`, `lsscsi -t`";
        finding.next_step.splice(..0, phrase::about(&[ask], disk));
    }
    Some(finding)
}

/// CRC errors beside none on a drive of the same model, unless the disk was measured: then its
/// latencies decide, because many healthy disks have an old count.
fn beside_a_clean_control(builder: &mut EvidenceBuilder, case: &Case, most: f64) -> f64 {
    let about = case.about();
    let is_measured = case.candidate.is_some_and(|known| known.listing.is_some());
    let count = about.number(key::SMART_RAW.of("199"));
    let Some((value, _)) = count.filter(|(n, _)| *n >= MANY_CRC && !is_measured && most <= 0.0)
    else {
        return 0.0;
    };
    let Some((control, reading)) = clean_control(case) else { return 0.0 };
    let what = format!("CRC errors of {control}, of the same model");
    builder.fact(&reading, &what, (0.0, Unit::Count), Some(Bound::Below(1.0)));
    let n = phrase::count(value, "CRC error(s)");
    builder.words.push(format!("{n}, and none on {control}, of the same model"));
    CONTROL_RATIO
}

/// CRC errors of the link for each hour of operation of a young drive, if it was not measured: one
/// loose plug does not make so many, and all of them are recent.
fn every_hour(builder: &mut EvidenceBuilder, case: &Case, most: f64) -> f64 {
    let about = case.about();
    let is_measured = case.candidate.is_some_and(|known| known.listing.is_some());
    let (count, hours) = (about.number(key::SMART_RAW.of("199")), about.number(key::SMART_HOURS));
    let Some(((count, reading), (seconds, _))) = count.zip(hours) else { return 0.0 };
    let hours = (seconds / 3600.0).max(1.0);
    let few = count < OF_A_PLUG || count / hours < EACH_HOUR || hours > RECENT_H;
    if is_measured || most > 0.0 || few {
        return 0.0;
    }
    let what = "CRC errors per hour of operation";
    let bound = Some(Bound::Above(EACH_HOUR));
    builder.fact(&reading, what, (count / hours, Unit::Count), bound);
    builder.words.push(format!(
        "{} in {} of operation",
        phrase::count(count, "CRC error(s)"),
        phrase::count(hours.round(), "hour(s)")
    ));
    CONTROL_RATIO
}

/// Another drive of the same model whose count of CRC errors is known to be 0.
fn clean_control<'s>(case: &Case<'s>) -> Option<(&'s str, FactReading<'s>)> {
    let (model, host) = (case.about().model()?, case.candidate?.host);
    case.analysis.facts.disks().filter(|disk| *disk != case.name).find_map(|disk| {
        let about = case.analysis.facts.about(host, disk);
        let alike = about.model().is_some_and(|other| other.text() == model.text());
        let (count, reading) = about.number(key::SMART_RAW.of("199")).filter(|_| alike)?;
        (count == 0.0).then_some((disk, reading))
    })
}

/// Whether the drive logged its last error within a day of operation.
fn is_young(case: &Case) -> bool {
    let about = case.about();
    let (hours, last) = (about.number(key::SMART_HOURS), about.number(key::SMART_ERROR_LOG_HOURS));
    hours.zip(last).is_some_and(|((now, _), (last, _))| now - last <= RECENT_S)
}

fn is_of_a_lost_volume(case: &Case) -> bool {
    case.about().last(key::PATH_STATE).is_some_and(|reading| {
        SharedLoss::of(case.analysis).covers(case.name, case.analysis.host(reading.listing))
    })
}

/// A link that runs below what both ends can do.
fn slow_link(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let Some((share, now, reading)) = link_share(case) else { return 0.0 };
    let bound = Some(Bound::Below(if share < FAR_BELOW { FAR_BELOW } else { 1.0 }));
    let what = "link speed, divided by its maximum";
    builder.fact(&reading, what, (share, Unit::Ratio), bound);
    if share >= FAR_BELOW {
        return SUPPORTS;
    }
    builder.words.push(format!(
        "the link of {} runs at {} Mb/s and could run at {}: whatever the disk is, it gets no more",
        phrase::disk(case.name),
        phrase::digits(now / 1e6),
        phrase::digits(now / share / 1e6)
    ));
    DEGRADED
}

/// The speed of a link as a share of what both ends can do, where it is less.
fn link_share<'s>(case: &Case<'s>) -> Option<(f64, f64, FactReading<'s>)> {
    let about = case.about();
    let pairs = [
        (key::SMART_LINK_SPEED, key::SMART_LINK_SPEED_MAX),
        (key::DEVICE_LINK_SPEED, key::DEVICE_LINK_SPEED_MAX),
    ];
    pairs.into_iter().find_map(|(now, most)| {
        let ((now, reading), (most, _)) = (about.number(now)?, about.number(most)?);
        (now < most).then_some((now / most, now, reading))
    })
}
