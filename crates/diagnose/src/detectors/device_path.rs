//! The way to the disk is at fault: cable, connector, link, port, host adapter.
//!
//! ## Accuses
//! What lies between host and disk, and not the disk: the link drops or corrupts frames, a controller
//! resets. Requests wait for it for seconds, often on several disks of one port.
//!
//! ## Why it matters
//! Disks are replaced for it in vain: the new one hangs on the same cable. Four of ten causes of slow
//! storage lie outside the device (Fail-Slow at Scale, FAST 2018).
//!
//! ## Needs
//! The kernel's log, or two SMART records of different days, beside any capture.
//!
//! ## Rule
//! Any of these, each kind counted once: log lines of the link (BadCRC, ICRC, UnrecovData, Handshk,
//! 10B8B, interface fatal error, ATA bus error, speed limited), link resets beyond one or two, resets
//! of an NVMe controller or host adapter; UDMA CRC errors (199) that grew between two records, or five and
//! more beside none on a drive of the same model where no latency was measured;
//! requests that failed with ENOLINK; transport errors that illumos counts (suspected only); reads, writes and flushes of one member that failed alike. A link
//! slower than its limit supports it.
//!
//! ## Wrong if
//! The CRC count is old and stands still. Resets follow a medium error or a plug that was pulled, or
//! the device saves power (`PHYRdyChg` alone). The lines are older than a day.
//!
//! ## Next step
//! Reseat or replace the cable, try another port, look at the link's width and speed.

use iowhy_model::{
    Bound, Clause, DeviceId, FactKey, Finding, Level, MessageKind, PathComplaint, Unit, Verdict,
    key,
};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays;
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::confidence;
use crate::evidence::confidence::PRIOR;
use crate::facts::disk_names;
use crate::facts::kernel_log::{LogLine, by_port};
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::DevicePath,
    summary: "Cable, link, port or host adapter is at fault, not the disk",
    manual: iowhy_model::manual!("device_path.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::E,
        seconds: 60,
        what: "the kernel's log and SMART (`dmesg`, `smartctl -j -x`) beside the capture",
    },
    explains: &[
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::PeerOutlier,
    ],
    rule: Rule::Detect(detect),
};

/// Counters that only corrupt frames or a lost link move (ATA ACS-3, SATA phy event counters 1 to 4, 11
/// and 13; SPL, link error counters of a phy).
const LINK_COUNTERS: [(FactKey, &str); 10] = [
    (key::SMART_SATA_PHY.of("1"), "command(s) that failed with a CRC error (SATA phy event 1)"),
    (key::SMART_SATA_PHY.of("2"), "frame(s) refused (SATA phy event 2)"),
    (key::SMART_SATA_PHY.of("3"), "frame(s) refused by the host (SATA phy event 3)"),
    (key::SMART_SATA_PHY.of("4"), "frame(s) refused by the drive (SATA phy event 4)"),
    (key::SMART_SATA_PHY.of("11"), "CRC error(s) in frames to the drive (SATA phy event 11)"),
    (key::SMART_SATA_PHY.of("13"), "other error(s) in frames to the drive (SATA phy event 13)"),
    (key::PHY.of("invalid_dword_count"), "invalid dword(s) of the SAS phy"),
    (key::PHY.of("running_disparity_error_count"), "disparity error(s) of the SAS phy"),
    (key::PHY.of("loss_of_dword_sync_count"), "loss(es) of synchronisation of the SAS phy"),
    (key::PHY.of("phy_reset_problem_count"), "failed reset(s) of the SAS phy"),
];
/// What each is worth, nats.
const CORRUPTED: f64 = 3.5;
const WAS_RESET: f64 = 3.0;
const FAILED: f64 = 2.5;
const GREW: f64 = 3.0;
const SUPPORTS: f64 = 0.5;
/// CRC errors, beyond the one or two of a plug that was pulled, beside none on a twin; and what that is worth,
/// nats: with the prior 0.65 (choices).
const MANY_CRC: f64 = 5.0;
const TWIN: f64 = 2.0;
/// What commands that never came back are worth, nats: with the prior below an accusation (a choice).
const NEVER_BACK: f64 = 1.5;
/// Reads and writes of a member that failed, beyond any single event (a choice).
const MANY_FAILED: f64 = 10.0;
/// Resets of a link without a word of corruption: one may be a resume or a plug.
const RESETS: f64 = 2.0;
/// Lines older than this against the log's last line say little of now, s.
const STALE_S: f64 = 86_400.0;
const STALE: f64 = -2.0;
/// A medium error within so many seconds makes a reset its consequence: libata resets the link
/// after errors of any kind.
const COLLATERAL_S: f64 = 60.0;
const KERNEL_LOG: &str = "lines of the kernel's log";
/// The link is gone (BLK_STS_TRANSPORT, block/blk-core.c).
const ENOLINK: u16 = 67;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let mut findings: Vec<Finding> =
        candidates.iter().filter_map(|candidate| finding(analysis, candidate)).collect();
    findings.extend(nameless_ports(analysis));
    findings.extend(shared_by_members(analysis));
    findings
}

/// Arrays of which half the members count errors: what they hang on is at fault before each of them is.
fn shared_by_members(analysis: &Analysis) -> Vec<Finding> {
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
            "{failing} of the {all} members of {} count errors together: what they share (cable, backplane, adapter, \
             power, a firmware) has errors, not so many disks at once",
            array.name
        );
        finding.next_step = next_step(array.failing.first().map_or("DISK", String::as_str));
        finding.next_step.insert(
            0,
            "which of them share a cable, a backplane or an adapter? `lsscsi -t`, `ls -l /dev/disk/by-path`; \
             `dmesg | grep -e mpt -e ata -e reset`"
                .to_string(),
        );
        finding.evidence = builder.evidence;
        finding
    });
    found.collect()
}

fn finding(analysis: &Analysis, candidate: &FaultCandidate) -> Option<Finding> {
    let mut builder = EvidenceBuilder::default();
    let about = candidate.about();
    let reading: Vec<&LogLine> = about.log().collect();
    let mut clauses = vec![
        Clause::fixed(KERNEL_LOG, from_log(analysis, &reading, &mut builder)),
        Clause::fixed("error counters", from_counter(analysis, candidate, &mut builder)),
        Clause::fixed("failed requests", from_failures(analysis, candidate, &mut builder)),
        Clause::fixed(
            "errors as an array's member",
            from_member(analysis, candidate, &mut builder),
        ),
        Clause::fixed("transport errors", from_transport(analysis, candidate, &mut builder)),
        Clause::fixed("link counters", from_link_counters(analysis, candidate, &mut builder)),
        Clause::fixed("paths of multipath", from_paths(analysis, candidate, &mut builder)),
    ];
    if clauses.iter().all(|clause| clause.nats <= 0.0) {
        return None;
    }
    clauses.push(Clause::fixed("speed of the link", slow_link(analysis, candidate, &mut builder)));
    builder.clauses = clauses;
    let disk = phrase::disk(&candidate.disk);
    let mut finding = accusation(candidate.device, builder.listings(candidate), &builder);
    finding.sentence = format!(
        "the path to {disk} ({}) has errors, not the disk itself: {}",
        if disk_names::is_nvme(disk) {
            "slot, link, bridge or driver"
        } else {
            "cable, link, port or adapter"
        },
        phrase::list(&builder.words)
    );
    finding.next_step = next_step(disk);
    finding.evidence = builder.evidence;
    Some(finding)
}

fn accusation(device: DeviceId, listings: Vec<usize>, builder: &EvidenceBuilder) -> Finding {
    let mut finding = new_finding(DETECTOR.verdict, Some(device), listings);
    builder.believe(&mut finding, PRIOR);
    // Of the errors that were logged or counted.
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "the disk does the same behind another cable and port",
        "the lines belong to a plug that was pulled, a resume, or follow medium errors of the disk",
    ]);
    finding
}

fn next_step(disk: &str) -> Vec<String> {
    if disk_names::is_nvme(disk) {
        return vec![
            "reseat the drive, or move it to another slot; do the lines stop?".to_string(),
            "power states and link power management off, for a trial: kernel parameters \
             `nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`"
                .to_string(),
            format!(
                "`lspci -vv` (LnkSta against LnkCap, AER), and `nvme smart-log /dev/{disk}` now and tomorrow"
            ),
            "another kernel: time-outs and lost interrupts come from drivers and bridges, too"
                .to_string(),
        ];
    }
    let node = phrase::node(disk);
    vec![
        "reseat or swap the cable, then the port; do the lines stop?".to_string(),
        "link power management off: `echo max_performance | tee \
         /sys/class/scsi_host/host*/link_power_management_policy`; PCIe: `pcie_aspm=off`"
            .to_string(),
        format!("`smartctl -j -x {node} > smart.json` now and tomorrow: does 199 (UDMA CRC) grow?"),
        "link: `dmesg | grep -i 'link up'`; PCIe: `lspci -vv` (LnkSta against LnkCap); NVMe that falls \
         asleep: `nvme_core.default_ps_max_latency_us=0`"
            .to_string(),
    ]
}

/// Ports whose disk nobody names: the port itself is accused.
fn nameless_ports(analysis: &Analysis) -> Vec<Finding> {
    let found = by_port(analysis.facts.nameless()).into_iter().filter_map(|(device, reading)| {
        let mut builder = EvidenceBuilder::default();
        let nats = from_log(analysis, &reading, &mut builder);
        builder.clauses = vec![Clause::fixed(KERNEL_LOG, nats)];
        if nats <= 0.0 {
            return None;
        }
        let port = &analysis.recording.device_of(device).name;
        let mut finding = accusation(device, builder.listings.clone(), &builder);
        finding.sentence = format!(
            "the path behind {port} (cable, link, port or adapter) has errors, whichever disk is attached: {}",
            phrase::list(&builder.words)
        );
        finding.next_step = next_step("DISK");
        finding.next_step.insert(0, format!("which disk is it? `ls -l /sys/block | grep {port}`"));
        finding.evidence = builder.evidence;
        Some(finding)
    });
    found.collect()
}

/// What the kernel says of link and controller.
fn from_log(analysis: &Analysis, reading: &[&LogLine], builder: &mut EvidenceBuilder) -> f64 {
    let is = |line: &&&LogLine, what: PathComplaint| line.message.complaint == Some(what);
    let of = |kind: MessageKind| {
        reading.iter().filter(|line| line.kind == kind).copied().collect::<Vec<_>>()
    };
    let media: Vec<f64> =
        of(MessageKind::Medium).iter().filter_map(|line| line.message.at_s).collect();
    let follows = |line: &&&LogLine| {
        line.message
            .at_s
            .is_some_and(|at| media.iter().any(|error| (at - error).abs() < COLLATERAL_S))
    };
    let links = of(MessageKind::Link);
    let corrupt: Vec<&LogLine> =
        links.iter().filter(|l| is(l, PathComplaint::Corruption)).copied().collect();
    let resets: Vec<&LogLine> = links
        .iter()
        .filter(|l| !is(l, PathComplaint::Corruption) && !follows(l))
        .copied()
        .collect();
    let controllers = of(MessageKind::Controller);
    let polled = |line: &&&LogLine| is(line, PathComplaint::LostInterrupt);
    let unheard: Vec<&LogLine> = controllers.iter().filter(polled).copied().collect();
    let lost: Vec<&LogLine> =
        controllers.iter().filter(|l| is(l, PathComplaint::Reset)).copied().collect();
    let rest = controllers.iter().filter(|l| !is(l, PathComplaint::Reset) && !polled(l));
    let aborted: Vec<&LogLine> = rest.copied().collect();
    let gone = of(MessageKind::Offline);
    let wakes = of(MessageKind::Phy);
    let mut most: f64 = 0.0;
    let kinds: [(&[&LogLine], &str, f64); 6] = [
        (&unheard, "completion(s) whose interrupt was lost, in the kernel's log", WAS_RESET),
        (&corrupt, "link error(s) in the kernel's log", CORRUPTED),
        (&lost, "controller or device reset(s) in the kernel's log", WAS_RESET),
        (&gone, "request(s) to a device gone offline, in the kernel's log", WAS_RESET),
        (
            &resets,
            "link reset(s) in the kernel's log",
            confidence::beyond(resets.len() as f64, RESETS),
        ),
        (&aborted, "command(s) aborted or adapter complaint(s) in the kernel's log", {
            confidence::beyond(aborted.len() as f64, RESETS).min(1.5)
        }),
    ];
    for (lines, what, nats) in kinds {
        let Some(first) = lines.first() else { continue };
        let nats = if is_stale(analysis, first, lines) { nats + STALE } else { nats };
        builder.log_lines(analysis, &phrase::several(what), lines, Some(Bound::Above(0.0)));
        let counted = phrase::count(LogLine::messages(lines) as f64, what);
        builder.words.push(format!("{counted} (`{}`)", short(&first.message.text)));
        most = most.max(nats);
    }
    if let Some(first) = wakes.first().filter(|_| corrupt.is_empty() && most > 0.0) {
        let what = "link wake-ups without a corrupted frame, in the kernel's log";
        builder.log_lines(analysis, what, &wakes, None);
        builder.words.push(format!(
            "the link wakes up ({}) and corrupts no frame, so link power management comes before the cable",
            short(&first.message.text)
        ));
    }
    most
}

/// Whether even the last of these lines is a day older than the log's end.
fn is_stale(analysis: &Analysis, first: &LogLine, lines: &[&LogLine]) -> bool {
    let end = analysis.facts.log_end(first.reading.listing);
    let last = lines.iter().filter_map(|line| line.message.at_s).reduce(f64::max);
    end.zip(last).is_some_and(|(end, last)| end - last > STALE_S)
}

/// A message cut to what a sentence bears.
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
        // A count since the drive was made tells nothing; beside a twin that has none it does, unless the disk
        // was measured: then its latencies speak, and an old count stands beside many a healthy disk.
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
        "CRC errors since the record before",
        (rise, Unit::Count),
        above,
    );
    builder
        .words
        .push(format!("{} CRC errors more than the record before", phrase::thousands(rise)));
    GREW
}

/// Another drive of the same model whose count of CRC errors is known to be 0.
fn clean_twin<'s, 'a>(
    analysis: &'s Analysis<'a>,
    candidate: &'s FaultCandidate<'s, 'a>,
) -> Option<(&'s str, FactReading<'a>)> {
    let model = candidate.about().model()?;
    analysis.facts.disks().filter(|disk| *disk != candidate.disk).find_map(|disk| {
        let about = analysis.facts.about(candidate.input, disk);
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
        let grew = format!("{}: grew by", phrase::several(what));
        builder.fact(analysis, &reading, &grew, (rise, Unit::Count), Some(Bound::Above(0.0)));
        builder.words.push(format!("{} since the first look", phrase::count(rise, what)));
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
    builder: &mut EvidenceBuilder,
) -> f64 {
    let Some(reading) = candidate.about().last(key::PATH_STATE) else { return 0.0 };
    let said = reading.text();
    let what = format!("path state: `{said}`");
    builder.fact(analysis, &reading, &what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
    builder.words.push(format!("its volume calls this path `{said}`"));
    FAILED
}

/// Requests whose link was gone.
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

/// A member of an array of which requests of every kind failed, flushes too: it was gone for a time.
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
    let Some((((reads, _), (writes, reading)), (flushes, _))) = all else { return 0.0 };
    let what = "writes that failed, as its array counts";
    let above = Some(Bound::Above(MANY_FAILED));
    builder.fact(analysis, &reading, what, (writes, Unit::Count), above);
    builder.words.push(format!(
        "{}, {} and {} failed in its array, so it was gone for a time",
        phrase::count(reads, "read(s)"),
        phrase::count(writes, "write(s)"),
        phrase::count(flushes, "flush(es)")
    ));
    TWIN
}

/// Commands that never came back, as the system counts them since it attached the disk: by the cable, the controller, or a
/// disk that hangs, so they make a suspicion.
fn from_transport(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let count = candidate.about().number(key::MEMBER_ERRORS.of("transport"));
    let Some((errors, reading)) = count.filter(|(n, _)| *n > RESETS) else { return 0.0 };
    let what = "transport errors, as the system counts";
    builder.fact(analysis, &reading, what, (errors, Unit::Count), Some(Bound::Above(RESETS)));
    builder.words.push(phrase::count(errors, "command(s) never came back from it"));
    NEVER_BACK
}

/// A link that runs below what both ends can do.
fn slow_link(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let pairs = [
        (key::SMART_LINK_SPEED, key::SMART_LINK_SPEED_MAX),
        (key::DEVICE_LINK_SPEED, key::DEVICE_LINK_SPEED_MAX),
    ];
    for (now, most) in pairs {
        let (Some((now, reading)), Some((most, _))) = (about.number(now), about.number(most))
        else {
            continue;
        };
        if now < most {
            let bound = Some(Bound::Below(1.0));
            let share = (now / most, Unit::Ratio);
            builder.fact(analysis, &reading, "speed of the link over its limit", share, bound);
            return SUPPORTS;
        }
    }
    0.0
}
