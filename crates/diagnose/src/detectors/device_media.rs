//! The disk cannot read some of its sectors.
//!
//! ## Accuses
//! The surface or the cells of the disk: sectors that fail, or that are slow at every access while
//! all others are fast.
//!
//! ## Why it matters
//! Data is lost there already, or will be. A disk with a first scan error fails many times as often
//! within two months as its peers (Pinheiro et al., FAST 2007).
//!
//! ## Needs
//! The kernel's log or SMART with any capture, or a trace with the status of each I/O. A per-I/O
//! log with sectors can raise a suspicion.
//!
//! ## Rule
//! Any of these, each kind counted once:
//!
//! - `medium` lines in the kernel's log, of the drive itself or of an array that corrected its
//!   reads;
//! - internal failures reported by the drive;
//! - requests that failed with ENODATA or EILSEQ, or twice at one offset with EIO before any
//!   recovery limit ended them;
//! - failed reads in its array without failed writes, media errors or a predicted failure counted
//!   by its RAID controller, or a controller that failed it without giving a reason;
//! - a failed SMART health check, or fewer spare blocks than its own threshold;
//! - the NVMe warning that its media is unreliable, unless its rated endurance is used up and
//!   nothing else failed;
//! - SMART 197 or 198 above zero, a failed self-test, uncorrected or media errors, 5 or 187
//!   increased between two records;
//! - locations that a scan (badblocks, ddrescue) could not read;
//! - a pre-fail attribute that is FAILING_NOW, or a hundred grown defects (suspected only, unless
//!   its array counts failed reads);
//! - one 1-MiB range that was slow, more than ten medians, at each of two or more separate accesses
//!   (Fisher's exact test, p below 0.01 over all ranges). This alone stays a suspicion.
//!
//! SMART alone stays a suspicion, too, where tasks hang in the kernel's log and no request failed.
//!
//! For a machine that is watched live, log lines more than ten minutes older than the capture are a
//! note: they do not explain current slowness.
//!
//! ## Wrong if
//! A thin pool is full, a permission is missing, or a device-mapper target returns errors on
//! purpose. 197 on flash may be firmware and recover by itself. SMART without errors does not clear
//! a disk.
//!
//! ## Next step
//! Copy important data from the disk, find the file of the sector and restore it, run the long
//! self-test; replace the disk if 5, 197 or 198 increase.

use iowhy_model::{
    Bound, Clause, Event, FactKey, Finding, Level, Medium, MessageKind, STANDS, Unit, Verdict, key,
};

use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays::{self, MANY_FAILED};
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::confidence;
use crate::evidence::confidence::{PRIOR, SHAPE_ALONE};
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::measures::places;
use crate::phrase;

/// What a controller that saw no error yet reports.
const PREDICTED: &str = "its controller predicts that it will fail";

/// Why the errors of a volume are not proof against a disk.
const OF_WHAT_LIES_BELOW: &str =
    "it is a stacked volume: an underlying device, or its own driver, fails its requests";

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceMedia,
    summary: "The disk cannot read some of its sectors",
    manual: iowhy_model::manual!("device_media.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::E,
        seconds: 60,
        what: "the kernel's log and SMART (`dmesg`, `smartctl -j -x`), and the sector of each I/O",
    },
    explains: &[
        Verdict::DeviceRetry,
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::PeerOutlier,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Status of a request whose sector could not be read or whose protection did not match: ENODATA
/// (BLK_STS_MEDIUM) and EILSEQ (BLK_STS_PROTECTION); EIO is any other failure (block/blk-core.c).
const MEDIUM_ERRNOS: [u16; 2] = [61, 84];
const EIO: u16 = 5;
/// Weight of the kernel's own message, nats: nineteen in twenty with the prior.
const LOGGED: f64 = 4.3;
const KERNEL_LOG: &str = "lines of the kernel's log";
/// A medium error this many seconds before a drive's first refusal is a separate one: the lines of
/// one command are milliseconds apart, its retries up to half a minute (a choice).
const APART_S: f64 = 60.0;
/// The same if a target reports instead of a drive (`layer.remote`). Below one half with the prior.
const OF_A_TARGET: f64 = 0.5;
/// One read that an array corrected from its other members, without a report of the drive: 0.75
/// with the prior. It may also have failed on the path (a choice).
const CORRECTED_ONCE: f64 = 2.5;
/// Weight of a drive reporting its own failure once, and again (sense key Hardware Error; USB
/// bridges report it for other faults as well): 0.65 and 0.83 with the prior.
const INSIDE: f64 = 2.0;
const INSIDE_AGAIN: f64 = 3.0;
/// Weight of failed requests, by status.
const FAILED_MEDIUM: f64 = 3.0;
const FAILED_TWICE: f64 = 2.5;
const FAILED: f64 = 1.0;
/// The shortest limit of error recovery in use, ns, less a twentieth: SCT ERC of 7 s
/// (docs/METHOD.md, 17 Faults, `device.recovery`).
const GIVEN_UP_NS: i64 = 6_650_000_000;
/// Probability of a slow area by chance over all areas (docs/METHOD.md, 17 Faults).
const CHANCE: f64 = 0.01;
/// Weight of such an area.
const PLACE: f64 = 2.5;
/// SMART and scans: fact, text, its weight above zero, and after an increase. Weights follow the
/// risk ratios of Pinheiro et al. (FAST 2007) and the five attributes of Backblaze (2016): pending
/// and offline uncorrectable are about now; 5 and 187 about the past, unless they grow.
const SMART: [(FactKey, &str, f64, f64); 13] = [
    (key::SMART_RAW.of("197"), "sector(s) waiting for reallocation (SMART 197)", 2.5, 3.5),
    (key::SMART_RAW.of("198"), "sector(s) unreadable offline (SMART 198)", 2.5, 3.5),
    (key::SCAN_FAILED, "location(s) that a program could not read or write", 2.5, 3.5),
    (key::SMART_PENDING_DEFECTS, "pending defect(s) in the drive's log", 2.5, 3.5),
    (key::SMART_ERROR_LOG_UNC, "unreadable sector(s) in the drive's error log", 1.0, 3.0),
    (key::SMART_SCAN_REWRITTEN, "sector(s) that the drive's background scan rewrote", 0.5, 2.5),
    (key::SMART_SELF_TEST_ERRORS, "self-test(s) that failed", 2.0, 3.0),
    (key::SMART_UNCORRECTED_READ, "read(s) the drive could not correct", 1.5, 3.0),
    (key::SMART_NVME_ERROR_LOG_MEDIA, "media error(s) in the drive's error log", 1.5, 3.0),
    (key::SMART_NVME.of("media_errors"), "media error(s) (NVMe health log)", 1.0, 3.0),
    (key::SMART_RAW.of("5"), "reallocated sector(s) (SMART 5)", 0.0, 2.5),
    (key::SMART_RAW.of("187"), "uncorrectable error(s) reported (SMART 187)", 0.0, 2.5),
    (key::SMART_GROWN_DEFECTS, "grown defect(s)", 0.0, 2.5),
];
/// Counts of reads that the drive itself could not recover, and the number from which they are not
/// a single event (a choice); weighted like a controller's count.
const UNRECOVERED: [FactKey; 2] = [key::SMART_UNCORRECTED_READ, key::SMART_NVME.of("media_errors")];
const THOUSANDS: f64 = 1000.0;
/// Grown defects of a SAS drive that exceed normal ageing, and their weight, nats: healthy drives
/// have some (docs/METHOD.md, 17 Faults; both are choices). 0.38 with the prior.
const MANY_DEFECTS: f64 = 100.0;
const DEFECTS: f64 = 0.9;
/// Weight of a pre-failure attribute below its threshold in a drive that passes its overall check:
/// 0.57 with the prior.
const PREFAIL_NOW: f64 = 1.7;
/// Errors in a drive's log that are more than a single event (a choice).
const MANY_ERRORS: f64 = 100.0;
/// Weight of a RAID controller failing a drive without details: 0.57 with the prior, because a
/// manufacturer found nothing wrong with 43 % of returned drives (Schroeder and Gibson, FAST 2007).
const BY_CONTROLLER: f64 = 1.7;
/// Weight of used endurance: drives continue beyond it, most for a long time (vendors' sheets).
const WORN: f64 = 0.5;
/// Why a member that its array failed is only suspected beside another one.
const GIVEN_UP_TOGETHER: &str = "another member of its array failed as well: two disks seldom fail \
                                 together; a shared component does";
/// On flash a waiting sector may be a matter of firmware (identical drives healed by themselves).
const ON_FLASH: f64 = 1.0;
/// Bit of the NVMe critical warning: reliability degraded (NVM Express base specification).
const UNRELIABLE: u64 = 4;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let of_now_or_before =
        |candidate| finding(analysis, candidate).or_else(|| logged_before(analysis, candidate));
    let mut found: Vec<Finding> = candidates.iter().filter_map(of_now_or_before).collect();
    // A log that names the disk of one port most likely means the same disk where it names the
    // port.
    if !found.iter().any(|finding| finding.confidence() >= STANDS) {
        found.extend(unnamed_ports(analysis));
    }
    found
}

/// Ports with a disk that cannot read its sectors, if the disk is unknown.
fn unnamed_ports(analysis: &Analysis) -> Vec<Finding> {
    let medium = analysis.facts.unnamed().filter(|line| line.kind == MessageKind::Medium);
    let found = analysis.facts.by_port(medium).into_iter().map(|(device, reading)| {
        let mut builder = EvidenceBuilder::default();
        let nats = from_lines(analysis, &reading, &mut builder);
        builder.clauses = vec![Clause::fixed(KERNEL_LOG, nats)];
        let port = &analysis.recording.device_of(device).name;
        let mut finding = new_finding(DETECTOR.verdict, Some(device), builder.listings.clone());
        builder.believe(&mut finding, PRIOR);
        finding.explained_share = 1.0;
        finding.sentence = format!(
            "the disk behind {port} cannot read some of its sectors: {}",
            phrase::list(&builder.words)
        );
        finding.refuted_by = lines(&[
            "reading the same sectors again succeeds fast, and SMART 5, 197 and 198 do not \
             increase",
        ]);
        finding.next_step = next_step("DISK", true);
        finding.next_step.insert(0, format!("which disk is it? `ls -l /sys/block | grep {port}`"));
        finding.evidence = builder.evidence;
        finding
    });
    found.collect()
}

fn finding(analysis: &Analysis, candidate: &FaultCandidate) -> Option<Finding> {
    let mut builder = EvidenceBuilder::default();
    let mut proven = [
        from_log(analysis, candidate, &mut builder),
        from_failures(analysis, candidate, &mut builder),
        from_smart(analysis, candidate, &mut builder),
        from_members(analysis, candidate, &mut builder),
    ];
    let errors = proven.iter().any(|nats| *nats > 0.0);
    let own_word = from_own_word(analysis, candidate, &mut builder);
    let own_word = own_word.max(from_hardware(analysis, candidate, &mut builder));
    if own_word > 0.0 && proven[3] <= 0.0 {
        proven[3] = reads_of_a_failing_drive(analysis, candidate, &mut builder);
    }
    let given_up = match errors || own_word > 0.0 {
        true => 0.0,
        false => from_its_controller(analysis, candidate, &mut builder),
    };
    let place = from_places(analysis, candidate, &mut builder);
    let is_proven = errors || own_word > 0.0 || given_up > 0.0;
    let whats = [KERNEL_LOG, "failed requests", "SMART", "errors as an array's member"];
    let others = [
        ("the drive's own assessment", own_word),
        ("failed by its controller", given_up),
        ("slow places", place),
    ];
    let stated = whats.into_iter().zip(proven).chain(others);
    builder.clauses = stated.map(|(what, nats)| Clause::fixed(what, nats)).collect();
    let sum: f64 = builder.clauses.iter().map(|clause| clause.nats).sum();
    if builder.evidence.is_empty() || sum <= 0.0 {
        return None;
    }
    let mut finding =
        new_finding(DETECTOR.verdict, Some(candidate.device), builder.listings(candidate));
    builder.believe(&mut finding, PRIOR);
    let why = "no medium error was reported: slow areas alone may have another cause";
    finding.doubt_if(!is_proven, why, SHAPE_ALONE);
    let by_smart =
        builder.clauses.iter().all(|clause| clause.nats <= 0.0 || clause.what == whats[2]);
    finding.doubt_if(by_smart && hangs_without_an_error(analysis), HANGS, SHAPE_ALONE);
    let by_its_array =
        builder.clauses.iter().all(|clause| clause.nats <= 0.0 || clause.what == whats[3]);
    let beside =
        if by_its_array { arrays::given_up_beside(analysis, candidate) } else { Vec::new() };
    finding.doubt_if(!beside.is_empty(), GIVEN_UP_TOGETHER, SHAPE_ALONE);
    let made_of_others = by_its_array && disk_names::is_stacked(&candidate.disk);
    finding.doubt_if(made_of_others, OF_WHAT_LIES_BELOW, SHAPE_ALONE);
    finding.explained_share = share(candidate, is_proven);
    let disk = phrase::disk(&candidate.disk);
    finding.sentence = if builder.words == [PREDICTED] {
        format!("{disk} reports that it is failing or worn out: {PREDICTED}")
    } else if errors {
        format!("{disk} cannot read some of its sectors: {}", phrase::list(&builder.words))
    } else if is_proven {
        format!("{disk} reports that it is failing or worn out: {}", phrase::list(&builder.words))
    } else {
        format!("one area of {disk} is slow: {}", phrase::list(&builder.words))
    };
    finding.refuted_by = lines(&[
        "the device is stacked on others: a full thin pool or an error target also fails requests",
        "reading the same sectors again succeeds fast, and SMART 5, 197 and 198 do not increase",
    ]);
    finding.next_step = next_step(&candidate.disk, is_proven);
    if !beside.is_empty() {
        let shared = format!(
            "find what it shares with {} (cable, backplane, adapter, power): `lsscsi -t`, `ls -l \
             /dev/disk/by-path`, and the kernel's log of that minute",
            phrase::list(&beside)
        );
        finding.next_step.insert(0, shared);
    }
    finding.evidence = builder.evidence;
    Some(finding)
}

/// Why a drive's counters do not explain a log of hung tasks.
const HANGS: &str = "tasks hang while no read or write fails: these sectors may be old, and the \
                     tasks may wait for an array, a lock or memory";

/// Whether the kernel's log shows tasks that hang, and no request that failed.
fn hangs_without_an_error(analysis: &Analysis) -> bool {
    let failed = [
        MessageKind::Command,
        MessageKind::Hardware,
        MessageKind::IoError,
        MessageKind::Medium,
        MessageKind::Timeout,
    ];
    let mut hangs = analysis.facts.log().filter(|line| line.kind == MessageKind::HungTask);
    hangs.next().is_some() && !analysis.facts.log().any(|line| failed.contains(&line.kind))
}

/// Sectors that could not be read long before the watch, and none since: not a cause of what was
/// measured.
fn logged_before(analysis: &Analysis, candidate: &FaultCandidate) -> Option<Finding> {
    let about = candidate.about();
    let denied = about.logged_before(MessageKind::Denied).chain(about.logged(MessageKind::Denied));
    let reading: Vec<&LogLine> = about.logged_before(MessageKind::Medium).collect();
    if reading.is_empty() || denied.count() > 0 {
        return None;
    }
    let mut builder = EvidenceBuilder::default();
    let what = "medium errors in the kernel's log, more than ten minutes before the capture";
    builder.log_lines(analysis, what, &reading, Some(Bound::Above(0.0)));
    let mut finding =
        new_finding(DETECTOR.verdict, Some(candidate.device), builder.listings(candidate));
    finding.assume(PRIOR, "errors from before the time watched");
    finding.sentence = format!(
        "{} failed to read some of its sectors in the past: {} in the kernel's log, all more than \
         ten minutes before the capture",
        phrase::disk(&candidate.disk),
        phrase::count(LogLine::messages(&reading) as f64, "medium error(s)")
    );
    finding.refuted_by = lines(&["SMART 5, 187, 197 and 198 do not increase"]);
    finding.next_step = next_step(&candidate.disk, true);
    finding.evidence = builder.evidence;
    Some(finding)
}

/// Share of the errors if they are proven; of the lost time if only a slow area is known.
fn share(candidate: &FaultCandidate, is_proven: bool) -> f64 {
    let place = || {
        let trace = candidate.trace?;
        let place = places::slow_place(&trace.spans)?;
        Some(place.lost_ns / trace.lost_ns().max(1.0))
    };
    if is_proven { 1.0 } else { place().unwrap_or(0.0) }
}

/// Unreadable sectors in the kernel's log.
fn from_log(analysis: &Analysis, candidate: &FaultCandidate, builder: &mut EvidenceBuilder) -> f64 {
    // The kernel reports a refusal of a locked drive as a medium error: from the first refusal on.
    let refused = candidate.about().logged(MessageKind::Denied);
    let refused_s = refused.map(|line| line.message.at_s.unwrap_or(0.0)).reduce(f64::min);
    let is_before = |line: &&LogLine| {
        refused_s.is_none_or(|at_s| line.message.at_s.is_some_and(|own_s| own_s < at_s - APART_S))
    };
    let reading: Vec<&LogLine> =
        candidate.about().logged(MessageKind::Medium).filter(is_before).collect();
    let (of_array, of_drive): (Vec<&LogLine>, Vec<&LogLine>) =
        reading.into_iter().partition(|line| line.message.is_of_an_array());
    if of_drive.is_empty() {
        return from_array(analysis, candidate, &of_array, builder);
    }
    let nats = from_lines(analysis, &of_drive, builder);
    let by_a_target = candidate.about().logged(MessageKind::Target).next().is_some();
    if by_a_target { nats.min(OF_A_TARGET) } else { nats }
}

/// Reads that an array corrected or failed, if the drive itself reports nothing; failures on the
/// path are excluded.
fn from_array(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    reading: &[&LogLine],
    builder: &mut EvidenceBuilder,
) -> f64 {
    let others = [MessageKind::Link, MessageKind::Offline, MessageKind::Timeout];
    let on_the_way = candidate.about().log().any(|line| others.contains(&line.kind));
    if reading.is_empty() || on_the_way {
        return 0.0;
    }
    let what = "reads of this member that failed, as its array logs";
    builder.log_lines(analysis, what, reading, Some(Bound::Above(0.0)));
    let n = LogLine::messages(reading);
    builder.words.push(format!(
        "{} that its array corrected or could not correct, in the kernel's log",
        phrase::count(n as f64, "read(s)")
    ));
    if n > 1 { LOGGED } else { CORRECTED_ONCE }
}

/// Failures inside the drive that it reports itself.
fn from_hardware(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let reading: Vec<&LogLine> = candidate.about().logged(MessageKind::Hardware).collect();
    if reading.is_empty() {
        return 0.0;
    }
    let what = "internal failures reported by the drive (sense key Hardware Error)";
    builder.log_lines(analysis, what, &reading, Some(Bound::Above(0.0)));
    let n = LogLine::messages(&reading);
    builder.words.push(format!(
        "{} with an internal failure (Hardware Error), in the kernel's log",
        phrase::count(n as f64, "command(s) failed")
    ));
    match n {
        // A logical unit reports errors of the storage of its target.
        _ if reading.iter().any(|line| line.unit_of_a_target().is_some()) => OF_A_TARGET,
        1 => INSIDE,
        _ => INSIDE_AGAIN,
    }
}

/// The sentence and weight of such lines.
fn from_lines(analysis: &Analysis, reading: &[&LogLine], builder: &mut EvidenceBuilder) -> f64 {
    let Some(first) = reading.first() else { return 0.0 };
    let what = "medium errors in the kernel's log";
    builder.log_lines(analysis, what, reading, Some(Bound::Above(0.0)));
    if let Some(line) = reading.iter().find(|line| line.message.sector.is_some()) {
        let sector = line.message.sector.unwrap_or(0) as f64;
        builder.fact(analysis, &line.reading, "first sector named", (sector, Unit::Sector), None);
    }
    let stamp = &first.message.stamp;
    let at = match stamp.parse::<f64>() {
        Ok(_) => format!(", the first at {stamp} s"),
        Err(_) if stamp.is_empty() => String::new(),
        Err(_) => format!(", the first at {stamp}"),
    };
    let lines = match LogLine::messages(reading) {
        1 => "a medium error".to_string(),
        n => phrase::count(n as f64, "medium error(s)"),
    };
    builder.words.push(format!("{lines} in the kernel's log{at}"));
    // A logical unit reports for its target: the state of the media is not in this input.
    if reading.iter().any(|line| line.unit_of_a_target().is_some()) {
        return OF_A_TARGET;
    }
    LOGGED
}

/// Requests that failed.
fn from_failures(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let Some(listing) = candidate.listing.filter(|_| !disk_names::is_stacked(&candidate.disk))
    else {
        return 0.0;
    };
    let failed = &candidate.failed;
    let medium = |event: &&&Event| event.error.is_some_and(|e| MEDIUM_ERRNOS.contains(&e));
    let of_medium = failed.iter().filter(medium).count();
    let is_io = |event: &&&Event| event.error == Some(EIO) && !was_given_up(event);
    let io: Vec<&&Event> = failed.iter().filter(is_io).collect();
    let mut nats: f64 = 0.0;
    let above = Some(Bound::Above(0.0));
    if of_medium > 0 {
        let n = (of_medium as f64, Unit::Count, of_medium);
        builder.failed(analysis, listing, "requests that failed as unreadable", n, above);
        builder.words.push(phrase::count(of_medium as f64, "request(s) failed as unreadable"));
        nats = FAILED_MEDIUM;
    }
    if !io.is_empty() {
        let mut ranges: Vec<u64> =
            io.iter().filter_map(|event| Some(event.sector? / places::RANGE)).collect();
        ranges.sort_unstable();
        let again = ranges.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let n = (io.len() as f64, Unit::Count, io.len());
        builder.failed(analysis, listing, "requests that failed with EIO", n, above);
        let n = (again as f64, Unit::Count, io.len());
        builder.number(analysis, listing, "of these, repeated within 1 MiB", n, above);
        builder.words.push(phrase::count(io.len() as f64, "request(s) failed with EIO"));
        nats = nats.max(if again > 0 { FAILED_TWICE } else { FAILED });
    }
    nats
}

/// Whether a request failed after so long that a time limit ended it: that does not show that the
/// sector is bad.
fn was_given_up(event: &Event) -> bool {
    let took = event
        .issued
        .zip(event.completed)
        .map(|(issued, done)| done.ns().saturating_sub(issued.ns()));
    took.is_some_and(|ns| ns >= GIVEN_UP_NS)
}

/// What the drive reports of itself; of several signs the strongest counts.
fn from_smart(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let medium = analysis.medium(candidate.device);
    let flash = matches!(medium, Some(Medium::Flash | Medium::Card | Medium::Nvme));
    let mut most: f64 = 0.0;
    for (key, words, standing, growing) in SMART {
        let Some((value, reading)) = about.number(key.clone()).filter(|(value, _)| *value > 0.0)
        else {
            continue;
        };
        let grew = about.rise(key.clone()).map(|(rise, _)| rise).filter(|rise| *rise > 0.0);
        let heals = flash && key == key::SMART_RAW.of("197");
        let nats = match grew {
            Some(_) => growing,
            None if heals => standing.min(ON_FLASH),
            None if value >= THOUSANDS && UNRECOVERED.contains(&key) => FAILED_TWICE,
            None => standing,
        };
        let bound = (nats > 0.0).then_some(Bound::Above(0.0));
        let many = phrase::several(words);
        builder.fact(analysis, &reading, &many, (value, Unit::Count), bound);
        if let Some(rise) = grew {
            let what = format!("{many}: increase");
            builder.fact(analysis, &reading, &what, (rise, Unit::Count), Some(Bound::Above(0.0)));
        }
        if nats > 0.0 {
            builder.words.push(phrase::count(value, words));
        }
        most = most.max(nats);
    }
    // A log that has counted hundreds of errors and shows unreadable sectors among the last five.
    let unreadable = about.number(key::SMART_ERROR_LOG_UNC).is_some_and(|(value, _)| value > 0.0);
    if let Some((errors, reading)) = about.number(key::SMART_ERRORS)
        && unreadable
        && errors >= MANY_ERRORS
    {
        let above = Some(Bound::Above(MANY_ERRORS - 1.0));
        builder.fact(analysis, &reading, "errors in the drive's log", (errors, Unit::Count), above);
        builder.words.push(format!("{} errors in the drive's log", phrase::thousands(errors)));
        most = most.max(FAILED_MEDIUM);
    }
    // Some drives set the bit when their rated writes are used up and nothing failed yet.
    let used = about.number(key::SMART_NVME_PERCENTAGE_USED).is_some_and(|(used, _)| used >= 1.0);
    if let Some((value, reading)) = about.number(key::SMART_NVME.of("critical_warning"))
        && value as u64 & UNRELIABLE != 0
        && (!used || most > 0.0)
    {
        let what = "NVMe critical warning, bit 2: reliability degraded";
        builder.fact(analysis, &reading, what, (value, Unit::Count), Some(Bound::Above(0.0)));
        builder.words.push("the drive reports its media as unreliable".to_string());
        most = most.max(FAILED_MEDIUM);
    }
    most
}

/// Errors that an array or a RAID controller counted for its member; the strongest sign counts.
fn from_members(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let count = |kind: &'static str| about.number(key::MEMBER_ERRORS.of(kind));
    let above = Some(Bound::Above(0.0));
    let mut most: f64 = 0.0;
    let others = ["write", "checksum", "flush"];
    let only_reads = others.iter().all(|kind| count(kind).is_none_or(|(n, _)| n <= 0.0));
    let reported = about.last(key::MEMBER_STATE);
    let thrown = reported.filter(|reading| arrays::THROWN_OUT.contains(&reading.text()));
    // If writes or checksums fail too, it may be the cable; the array does not distinguish them.
    // Nor is it this disk if half of its array counts errors (`device.path`).
    let alone = || !arrays::fails_with_others(analysis, &candidate.disk);
    let reads = count("read").filter(|(n, _)| *n > 0.0 && only_reads && alone());
    if let Some((reads, reading)) = reads {
        builder.fact(
            analysis,
            &reading,
            "failed reads counted by its array",
            (reads, Unit::Count),
            above,
        );
        builder.words.push(phrase::count(reads, "read(s) failed in its array, and no write"));
        let nats = match thrown {
            Some(_) => FAILED_MEDIUM,
            None if reads >= MANY_FAILED => FAILED_TWICE,
            None => FAILED,
        };
        most = most.max(nats);
    }
    if let Some((errors, reading)) = count("media").filter(|(n, _)| *n > 0.0) {
        let grew = about.rise(key::MEMBER_ERRORS.of("media")).is_some_and(|(rise, _)| rise > 0.0);
        let what = "media errors counted by its controller";
        builder.fact(analysis, &reading, what, (errors, Unit::Count), above);
        builder.words.push(phrase::count(errors, "media error(s) in its controller's count"));
        most = most.max(match grew {
            true => FAILED_MEDIUM,
            false if errors >= MANY_FAILED => FAILED_TWICE,
            false => FAILED,
        });
    }
    let predicted = count("predictive").filter(|(n, _)| *n > 0.0);
    if let Some((n, reading)) = predicted {
        builder.fact(analysis, &reading, "predicted failures", (n, Unit::Count), above);
        builder.words.push(PREDICTED.to_string());
        most = most.max(FAILED_TWICE);
    } else if let Some(reading) = reported.filter(|reading| reading.text() == "predictive failure")
    {
        builder.fact(
            analysis,
            &reading,
            "its controller predicts a failure",
            (1.0, Unit::Count),
            above,
        );
        builder.words.push(PREDICTED.to_string());
        most = most.max(FAILED_TWICE);
    }
    most
}

/// Failed reads that an array counted beside failed writes or checksums: of a drive that itself
/// reports that it is failing, they are its own.
fn reads_of_a_failing_drive(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let reads = candidate.about().number(key::MEMBER_ERRORS.of("read"));
    let Some((reads, reading)) = reads.filter(|(n, _)| *n >= MANY_FAILED) else { return 0.0 };
    let above = Some(Bound::Above(MANY_FAILED));
    let what = "failed reads counted by its array";
    builder.fact(analysis, &reading, what, (reads, Unit::Count), above);
    builder.words.push(phrase::count(reads, "read(s) failed in its array"));
    FAILED
}

/// What the drive reports about its own state, without a specific error.
fn from_own_word(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let about = candidate.about();
    let mut most: f64 = 0.0;
    if let Some(reading) = about.last(key::SMART_PREFAIL_NOW) {
        let failing = reading.fact.value.words().unwrap_or_default();
        let what = format!("pre-fail attributes that are FAILING_NOW ({})", failing.join(", "));
        let n = failing.len() as f64;
        builder.fact(analysis, &reading, &what, (n, Unit::Count), Some(Bound::Above(0.0)));
        builder.words.push(format!(
            "SMART attribute {} is FAILING_NOW, which predicts a failure within a day",
            failing.join(", ")
        ));
        most = most.max(PREFAIL_NOW);
    }
    let defects = about.number(key::SMART_GROWN_DEFECTS).filter(|(n, _)| *n >= MANY_DEFECTS);
    if let Some((defects, reading)) = defects {
        let what = "grown defects, from a single reading";
        let above = Some(Bound::Above(MANY_DEFECTS - 1.0));
        builder.fact(analysis, &reading, what, (defects, Unit::Count), above);
        builder.words.push(phrase::count(defects, "grown defect(s)"));
        if let Some((again, reading)) = about.number(key::SMART_REREAD).filter(|(n, _)| *n > 0.0) {
            let what = "reads corrected by rereading";
            builder.fact(analysis, &reading, what, (again, Unit::Count), None);
            builder.words.push(phrase::count(again, "read(s) corrected by rereading"));
        }
        most = most.max(DEFECTS);
    }
    if let Some((passed, reading)) = about.number(key::SMART_PASSED)
        && passed <= 0.0
    {
        let what = "SMART overall health (1: passed, 0: failed)";
        builder.fact(analysis, &reading, what, (passed, Unit::Count), Some(Bound::Below(1.0)));
        builder.words.push("its SMART overall health is FAILED".to_string());
        most = most.max(FAILED_TWICE);
    }
    let spare = about.number(key::SMART_NVME_AVAILABLE_SPARE);
    let least = about.number(key::SMART_NVME_AVAILABLE_SPARE_THRESHOLD);
    if let (Some((spare, reading)), Some((least, _))) = (spare, least)
        && spare < least
    {
        let what = "spare blocks left";
        builder.fact(analysis, &reading, what, (spare, Unit::Share), Some(Bound::Below(least)));
        builder.words.push(format!(
            "{} of its spare blocks are left, less than its own threshold of {}",
            phrase::percent(spare),
            phrase::percent(least)
        ));
        most = most.max(FAILED_TWICE);
    }
    let worn = [key::SMART_NVME_PERCENTAGE_USED, key::SMART_WEAR];
    if let Some((used, reading)) = worn.into_iter().find_map(|key| about.number(key))
        && used > 1.0
    {
        builder.fact(
            analysis,
            &reading,
            "endurance used",
            (used, Unit::Share),
            Some(Bound::Above(1.0)),
        );
        builder.words.push(format!("{} of its rated endurance is used", phrase::percent(used)));
        most = most.max(WORN);
    }
    most
}

/// A controller that dropped the drive, if nothing else shows why.
fn from_its_controller(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    if !disk_names::is_behind_a_controller(&candidate.disk) {
        return 0.0;
    }
    let state = candidate.about().last(key::MEMBER_STATE);
    let Some(reading) = state.filter(|reading| arrays::THROWN_OUT.contains(&reading.text())) else {
        return 0.0;
    };
    let what = "drives failed by their controller";
    builder.fact(analysis, &reading, what, (1.0, Unit::Count), Some(Bound::Above(0.0)));
    builder.words.push(format!("its controller reports it as `{}`", reading.text()));
    BY_CONTROLLER
}

/// An area that is slow at each access.
fn from_places(
    analysis: &Analysis,
    candidate: &FaultCandidate,
    builder: &mut EvidenceBuilder,
) -> f64 {
    let (Some(listing), Some(trace)) = (candidate.listing, candidate.trace) else { return 0.0 };
    if trace.spans.len() < EVENTS_NEEDED {
        return 0.0;
    }
    let Some(place) = places::slow_place(&trace.spans).filter(|p| p.chance < CHANCE) else {
        return 0.0;
    };
    let n = place.spans;
    builder.number(
        analysis,
        listing,
        "first sector of the slow range of 1 MiB",
        (place.sector as f64, Unit::Sector, n),
        None,
    );
    let spans = (n as f64, Unit::Count, n);
    builder.number(analysis, listing, "I/Os to it", spans, Some(Bound::Above(1.0)));
    let slow = (place.slow as f64, Unit::Count, n);
    builder.number(analysis, listing, "slow ones of these", slow, Some(Bound::Above(1.0)));
    let others = (place.others_slow as f64 / place.others.max(1) as f64, Unit::Share, place.others);
    builder.number(analysis, listing, "share of slow I/Os elsewhere", others, None);
    let chance = (place.chance, Unit::Count, n);
    builder.number(
        analysis,
        listing,
        "probability by chance (Fisher)",
        chance,
        Some(Bound::Below(CHANCE)),
    );
    builder.words.push(format!(
        "{} of {n} I/Os around sector {} were slow ({} median)",
        place.slow,
        place.sector,
        phrase::ns(place.slow_ns)
    ));
    let rare = confidence::below("probability by chance", place.chance, CHANCE).at_most(1.0);
    PLACE + rare.nats
}

fn next_step(disk: &str, is_proven: bool) -> Vec<String> {
    let node = phrase::node(disk);
    let smart = format!(
        "`smartctl -j -x {node} > smart.json`, and again tomorrow: do 5, 187, 197, 198 increase?"
    );
    if !is_proven {
        return vec![
            "`dmesg > dmesg.txt`, then `iowhy why` with it, SMART and this capture together"
                .to_string(),
            smart,
        ];
    }
    vec![
        format!(
            "first copy important data from {disk} (`ddrescue` or a backup), then `smartctl -t \
             long {node}`"
        ),
        smart,
        "find the file of the sector (`debugfs -R \"icheck BLOCK\"`) and restore it; replace the \
         disk if the counters increase"
            .to_string(),
    ]
}
