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
//!   reads (the drive or its path if the array could not write its own description meanwhile);
//! - internal failures reported by the drive;
//! - requests that failed with ENODATA or EILSEQ, or twice at one offset with EIO before any
//!   recovery limit ended them;
//! - failed reads in its array without failed writes, media errors or a predicted failure counted
//!   by its RAID controller, or a controller that took it out of its array without giving a reason
//!   (the drive or its path);
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
//! SMART alone stays a suspicion, too, where tasks hang in the kernel's log and no request failed;
//! likewise one or two medium errors before the device is reset on USB or leaves it in a minute.
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
    Blame, Bound, Clause, Event, Finding, Level, MessageKind, PathEvent, STANDS, Unit, Verdict,
};

use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays;
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::cases::Case;
use crate::evidence::confidence::{self, PRIOR, SHAPE_ALONE};
use crate::evidence::media_counters::{
    self, FAILED, FAILED_MEDIUM, FAILED_TWICE, OF_A_TARGET, PREDICTED, is_of_a_target,
};
use crate::evidence::signals::{self, Signal, failed, program};
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::measures::places;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
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

/// What the drive, its array and its controller state, in nats. SMART follows the risk ratios of
/// Pinheiro et al. (FAST 2007) and the five attributes of Backblaze (2016): pending and offline
/// uncorrectable are about now; 5 and 187 about the past, unless they grow.
const PROVEN: [(&str, &[Signal]); 4] = [
    (KERNEL_LOG, &[program(from_log)]),
    (
        "failed requests",
        &[
            failed(&MEDIUM_ERRNOS, FAILED_MEDIUM)
                .only_if(is_no_volume)
                .what("requests that failed as unreadable")
                .say("{n} request(s) failed as unreadable"),
            program(failed_with_eio),
        ],
    ),
    (SMART, &media_counters::COUNTERS),
    (ARRAY, &media_counters::MEMBERS),
];
const KERNEL_LOG: &str = "lines of the kernel's log";
const SMART: &str = "SMART";
const ARRAY: &str = "errors as an array's member";
const PLACES: &str = "slow places";

/// Status of a request whose sector could not be read or whose protection did not match: ENODATA
/// (BLK_STS_MEDIUM) and EILSEQ (BLK_STS_PROTECTION); EIO is any other failure (block/blk-core.c).
const MEDIUM_ERRNOS: [u16; 2] = [61, 84];
const EIO: u16 = 5;
/// Weight of the kernel's own message, nats: nineteen in twenty with the prior.
const LOGGED: f64 = 4.3;
/// Reads that an array corrected from its other members, without a report of the drive; one of them
/// may also have failed on the path: 0.75 with the prior (a choice).
const BY_ITS_ARRAY: [Signal; 1] = [signals::lines(MessageKind::Medium, &[], 2.5)
    .again(LOGGED)
    .what("reads of this member that failed, as its array logs")
    .say("{n} read(s) that its array corrected or could not correct, in the kernel's log")];
/// A medium error this many seconds before a drive's first refusal is a separate one: the lines of
/// one command are milliseconds apart, its retries up to half a minute (a choice).
const APART_S: f64 = 60.0;
/// The shortest limit of error recovery in use, ns, less a twentieth: SCT ERC of 7 s
/// (docs/METHOD.md, 17 Faults, `device.recovery`).
const GIVEN_UP_NS: i64 = 6_650_000_000;
/// Probability of a slow area by chance over all areas (docs/METHOD.md, 17 Faults).
const CHANCE: f64 = 0.01;
/// Weight of such an area.
const PLACE: f64 = 2.5;
/// Why the errors of a volume are not proof against a disk.
const STACKED_VOLUME: &str =
    "it is a stacked volume: an underlying device, or its own driver, fails its requests";
/// The clause of a drive that its controller gave up.
const BY_CONTROLLER: &str = "failed by its controller";
/// Why a member that its array failed is only suspected beside another one.
const GIVEN_UP_TOGETHER: &str = "another member of its array failed as well: two disks seldom fail \
                                 together; a shared component does";
/// So few errors, before the device is reset or gone within this time, s, may be the last words of
/// a bridge (choices).
const LAST_WORDS: u64 = 2;
const GONE_S: f64 = 60.0;
const LEFT_ITS_BUS: &str = "the device was reset or left its bus within a minute after that: a \
                            bridge, or a drive that loses power, reports errors of any kind";
/// Why a drive's counters do not explain a log of hung tasks.
const HANGS: &str = "tasks hang while no read or write fails: these sectors may be old, and the \
                     tasks may wait for an array, a lock or memory";
const COUNTERS_STAY: &str = "reading the same sectors again succeeds fast, and SMART 5, 197 and \
                             198 do not increase";

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let of_now_or_before = |case| finding(&case).or_else(|| logged_before(case.candidate?));
    let mut found: Vec<Finding> =
        Case::of_disks(&candidates).filter_map(of_now_or_before).collect();
    // A log that names the disk of one port most likely means the same disk where it names the
    // port.
    if !found.iter().any(|finding| finding.confidence() >= STANDS) {
        found.extend(Case::of_ports(analysis).filter_map(of_a_port));
    }
    found
}

/// A port with a disk that cannot read its sectors, if the disk is unknown.
fn of_a_port(case: Case) -> Option<Finding> {
    let mut builder = case.builder();
    builder.weigh(&case, &[(KERNEL_LOG, &[program(from_lines)])]);
    (builder.nats(KERNEL_LOG) > 0.0).then_some(())?;
    let port = case.name;
    let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
    builder.believe(&mut finding, PRIOR);
    finding.sentence = format!(
        "the disk behind {port} cannot read some of its sectors: {}",
        phrase::list(&builder.words)
    );
    finding.refuted_by = lines(&[COUNTERS_STAY]);
    finding.next_step = next_step("DISK", true);
    finding.next_step.insert(0, format!("which disk is it? `ls -l /sys/block | grep {port}`"));
    Some(finding)
}

fn finding(case: &Case) -> Option<Finding> {
    let mut builder = case.builder();
    builder.weigh(case, &PROVEN);
    let errors = builder.clauses.iter().any(|clause| clause.nats > 0.0);
    let own_word = builder.strongest(case, &media_counters::OWN_WORD);
    if own_word > 0.0 && builder.nats(ARRAY) <= 0.0 {
        let reads = builder.strongest(case, &media_counters::ITS_OWN_READS);
        builder.clauses[PROVEN.len() - 1].nats = reads;
    }
    builder.clauses.push(Clause::fixed("the drive's own assessment", own_word));
    let unknown = !errors && own_word <= 0.0;
    let by_controller: &[Signal] = if unknown { &media_counters::BY_CONTROLLER } else { &[] };
    builder.weigh(case, &[(BY_CONTROLLER, by_controller)]);
    builder.weigh(case, &[(PLACES, &[program(slow_at_a_place)])]);
    let sum: f64 = builder.clauses.iter().map(|clause| clause.nats).sum();
    if builder.evidence.is_empty() || sum <= 0.0 {
        return None;
    }
    let is_proven = !builder.is_alone(PLACES);
    let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
    let is_gone = fails_writes_too(case);
    let by_others = is_gone || builder.is_alone(BY_CONTROLLER);
    finding.blame = by_others.then_some(Blame::DiskOrPath);
    builder.believe(&mut finding, PRIOR);
    let why = "no medium error was reported: slow areas alone may have another cause";
    finding.doubt_if(!is_proven, why, SHAPE_ALONE);
    let by_log = builder.is_alone(KERNEL_LOG);
    finding.doubt_if(by_log && leaves_its_bus(case), LEFT_ITS_BUS, SHAPE_ALONE);
    let by_smart = builder.is_alone(SMART);
    finding.doubt_if(by_smart && hangs_without_an_error(case.analysis), HANGS, SHAPE_ALONE);
    let by_its_array = builder.is_alone(ARRAY);
    let beside = case.candidate.filter(|_| by_its_array);
    let beside = beside.map(|known| arrays::given_up_beside(case.analysis, known));
    let beside = beside.unwrap_or_default();
    finding.doubt_if(!beside.is_empty(), GIVEN_UP_TOGETHER, SHAPE_ALONE);
    let made_of_others = by_its_array && disk_names::is_stacked(case.name);
    finding.doubt_if(made_of_others, STACKED_VOLUME, SHAPE_ALONE);
    finding.explained_share = share(case, is_proven);
    let (disk, words) = (phrase::disk(case.name), phrase::list(&builder.words));
    finding.sentence = match errors && words != PREDICTED {
        true if is_gone => format!(
            "{disk} or the path to it is gone: {words}, and its array could not write to a member \
             within a minute of them"
        ),
        true => format!("{disk} cannot read some of its sectors: {words}"),
        false if finding.blame.is_some() => format!("{disk} was taken out of its array: {words}"),
        false if is_proven => format!("{disk} reports that it is failing or worn out: {words}"),
        false => format!("one area of {disk} is slow: {words}"),
    };
    finding.refuted_by = lines(&[
        "the device is stacked on others: a full thin pool or an error target also fails requests",
        COUNTERS_STAY,
    ]);
    finding.next_step = next_step(case.name, is_proven);
    if !beside.is_empty() {
        let shared = format!(
            "find what it shares with {} (cable, backplane, adapter, power): `lsscsi -t`, `ls -l \
             /dev/disk/by-path`, and the kernel's log of that minute",
            phrase::list(&beside)
        );
        finding.next_step.insert(0, shared);
    }
    Some(finding)
}

/// Whether all errors are reads that its array reports, which could not write its own description
/// meanwhile: a sector that cannot be read can be written.
fn fails_writes_too(case: &Case) -> bool {
    let reads = case.logged(&[MessageKind::Medium]);
    let apart_s = |a: &LogLine, b: &LogLine| Some((a.message.at_s? - b.message.at_s?).abs());
    let beside = |line: &LogLine| {
        reads.iter().any(|of| apart_s(of, line).is_some_and(|apart_s| apart_s <= GONE_S))
    };
    let mut failed = case.analysis.facts.log().filter(|line| line.message.is_superblock_write());
    !reads.is_empty()
        && reads.iter().all(|line| line.message.is_of_an_array())
        && failed.any(beside)
}

/// Whether a USB device was reset or gone within a minute after the last of few errors.
fn leaves_its_bus(case: &Case) -> bool {
    let errors = case.logged(&[MessageKind::Medium]);
    let last_s = errors.iter().filter_map(|line| line.message.at_s).reduce(f64::max);
    let leaves = |line: &LogLine| {
        let goes = line.message.is_usb_disconnect() || line.event == Some(PathEvent::UsbReset);
        let after_s = line.message.at_s.zip(last_s).map(|(at_s, last_s)| at_s - last_s);
        goes && after_s.is_some_and(|after_s| (0.0..GONE_S).contains(&after_s))
    };
    LogLine::messages(&errors) <= LAST_WORDS && case.analysis.facts.log().any(leaves)
}

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
fn logged_before(candidate: &FaultCandidate) -> Option<Finding> {
    let about = candidate.about();
    let denied = about.logged_before(MessageKind::Denied).chain(about.logged(MessageKind::Denied));
    let reading: Vec<&LogLine> = about.logged_before(MessageKind::Medium).collect();
    if reading.is_empty() || denied.count() > 0 {
        return None;
    }
    let mut builder = EvidenceBuilder::about(candidate);
    let what = "medium errors in the kernel's log, more than ten minutes before the capture";
    builder.log_lines(what, &reading, Some(Bound::Above(0.0)));
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    finding.explained_share = 0.0;
    finding.assume(PRIOR, "errors from before the time watched");
    finding.sentence = format!(
        "{} failed to read some of its sectors in the past: {} in the kernel's log, all more than \
         ten minutes before the capture",
        phrase::disk(&candidate.disk),
        phrase::count(LogLine::messages(&reading) as f64, "medium error(s)")
    );
    finding.refuted_by = lines(&["SMART 5, 187, 197 and 198 do not increase"]);
    finding.next_step = next_step(&candidate.disk, true);
    Some(finding)
}

/// Share of the errors if they are proven; of the lost time if only a slow area is known.
fn share(case: &Case, is_proven: bool) -> f64 {
    let place = || {
        let trace = case.candidate?.trace?;
        let place = places::slow_place(&trace.spans)?;
        Some(place.lost_ns / trace.lost_ns().max(1.0))
    };
    if is_proven { 1.0 } else { place().unwrap_or(0.0) }
}

fn is_no_volume(case: &Case) -> bool {
    !disk_names::is_stacked(case.name)
}

/// Unreadable sectors in the kernel's log; of what an array logs, if the drive itself reports
/// nothing and nothing failed on the path.
fn from_log(builder: &mut EvidenceBuilder, case: &Case, most: f64) -> f64 {
    // The kernel reports a refusal of a locked drive as a medium error: from the first refusal on.
    let refused = case.logged(&[MessageKind::Denied]).into_iter();
    let refused_s = refused.map(|line| line.message.at_s.unwrap_or(0.0)).reduce(f64::min);
    let is_before = |line: &LogLine| {
        refused_s.is_none_or(|at_s| line.message.at_s.is_some_and(|own_s| own_s < at_s - APART_S))
    };
    let is_counted = |line: &LogLine| line.kind == MessageKind::Medium && is_before(line);
    let of_drive = |line: &LogLine| is_counted(line) && !line.message.is_of_an_array();
    let by_drive = case.log.iter().any(|line| of_drive(line));
    let log = case.log.iter().copied();
    if by_drive {
        let nats = from_lines(builder, &case.with(log.filter(|line| of_drive(line))), most);
        return if case.has(&[MessageKind::Target]) { nats.min(OF_A_TARGET) } else { nats };
    }
    if case.has(&[MessageKind::Link, MessageKind::Offline, MessageKind::Timeout]) {
        return 0.0;
    }
    builder.strongest(&case.with(log.filter(|line| is_counted(line))), &BY_ITS_ARRAY)
}

/// The sentence and weight of such lines.
fn from_lines(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let reading = case.logged(&[MessageKind::Medium]);
    let Some(first) = reading.first() else { return 0.0 };
    builder.log_lines("medium errors in the kernel's log", &reading, Some(Bound::Above(0.0)));
    if let Some(line) = reading.iter().find(|line| line.message.sector.is_some()) {
        let sector = line.message.sector.unwrap_or(0) as f64;
        builder.fact(&line.reading, "first sector named", (sector, Unit::Sector), None);
    }
    let stamp = &first.message.stamp;
    let at = match stamp.parse::<f64>() {
        Ok(_) => format!(", the first at {stamp} s"),
        Err(_) if stamp.is_empty() => String::new(),
        Err(_) => format!(", the first at {stamp}"),
    };
    let lines = match LogLine::messages(&reading) {
        1 => "a medium error".to_string(),
        n => phrase::count(n as f64, "medium error(s)"),
    };
    builder.words.push(format!("{lines} in the kernel's log{at}"));
    // A logical unit reports for its target: the state of the media is not in this input.
    if reading.iter().any(is_of_a_target) { OF_A_TARGET } else { LOGGED }
}

/// Requests that failed with EIO, if no time limit ended them: that does not show that the sector
/// is bad. Twice in one place does.
fn failed_with_eio(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let Some((listing, failed)) = case.failed().filter(|_| is_no_volume(case)) else { return 0.0 };
    let was_given_up = |event: &Event| {
        let times = event.issued.zip(event.completed);
        times.is_some_and(|(from, to)| to.ns().saturating_sub(from.ns()) >= GIVEN_UP_NS)
    };
    let io = failed.iter().filter(|event| event.error == Some(EIO) && !was_given_up(event));
    let io: Vec<&&Event> = io.collect();
    if io.is_empty() {
        return 0.0;
    }
    let mut ranges: Vec<u64> =
        io.iter().filter_map(|event| Some(event.sector? / places::RANGE)).collect();
    ranges.sort_unstable();
    let again = ranges.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let (n, above) = (io.len(), Some(Bound::Above(0.0)));
    let failed = (n as f64, Unit::Count, n);
    builder.failed(listing, "requests that failed with EIO", failed, above);
    let repeated = (again as f64, Unit::Count, n);
    builder.number(listing, "of these, repeated within 1 MiB", repeated, above);
    builder.words.push(phrase::count(n as f64, "request(s) failed with EIO"));
    if again > 0 { FAILED_TWICE } else { FAILED }
}

/// An area that is slow at each access.
fn slow_at_a_place(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let Some((listing, trace)) = case.candidate.and_then(|known| known.listing.zip(known.trace))
    else {
        return 0.0;
    };
    if trace.spans.len() < EVENTS_NEEDED {
        return 0.0;
    }
    let Some(place) = places::slow_place(&trace.spans).filter(|p| p.chance < CHANCE) else {
        return 0.0;
    };
    let n = place.spans;
    let share = place.others_slow as f64 / place.others.max(1) as f64;
    let above = Some(Bound::Above(1.0));
    let rows = [
        ("first sector of the slow range of 1 MiB", place.sector as f64, Unit::Sector, n, None),
        ("I/Os to it", n as f64, Unit::Count, n, above),
        ("slow ones of these", place.slow as f64, Unit::Count, n, above),
        ("share of slow I/Os elsewhere", share, Unit::Share, place.others, None),
        (
            "probability by chance (Fisher)",
            place.chance,
            Unit::Count,
            n,
            Some(Bound::Below(CHANCE)),
        ),
    ];
    for (what, value, unit, n, bound) in rows {
        builder.number(listing, what, (value, unit, n), bound);
    }
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
    const SMART_TWICE: &str = "`smartctl -j -x {node} > smart.json`, and again tomorrow: do 5, \
                               187, 197, 198 increase?";
    let steps: &[&str] = match is_proven {
        true => &[
            "first copy important data from {disk} (`ddrescue` or a backup), then `smartctl -t \
             long {node}`",
            SMART_TWICE,
            "find the file of the sector (`debugfs -R \"icheck BLOCK\"`) and restore it; replace \
             the disk if the counters increase",
        ],
        false => &[
            "`dmesg > dmesg.txt`, then `iowhy why` with it, SMART and this capture together",
            SMART_TWICE,
        ],
    };
    phrase::about(steps, disk)
}
