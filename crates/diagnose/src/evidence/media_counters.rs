//! What a drive, its array and its controller state about its medium: counters, failed reads, the
//! drive's own assessment.

use iowhy_model::{Bound, FactKey, Medium, MessageKind, Unit, key};

use crate::evidence::arrays::{self, MANY_FAILED};
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::cases::Case;
use crate::evidence::signals::{self, Signal, bit, most, number, program, state_signal};
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::phrase;

/// Weight of failed requests, by status.
pub(crate) const FAILED_MEDIUM: f64 = 3.0;
pub(crate) const FAILED_TWICE: f64 = 2.5;
pub(crate) const FAILED: f64 = 1.0;
/// Weight of errors that a target reports instead of a drive (`layer.remote`): below one half with
/// the prior.
pub(crate) const OF_A_TARGET: f64 = 0.5;
/// Reads that the drive itself could not recover, from which on they are not a single event, and
/// errors in its log likewise (choices).
const THOUSANDS: f64 = 1000.0;
const MANY_ERRORS: f64 = 100.0;
/// Grown defects that exceed normal ageing (a choice).
const MANY_DEFECTS: f64 = 100.0;
const WORN: f64 = 0.5;
/// Bit of the NVMe critical warning: reliability degraded (NVM Express base specification).
const UNRELIABLE: u64 = 4;

/// Counters of SMART and of scans.
pub(crate) const COUNTERS: [Signal; 15] = [
    // On flash it may be a matter of firmware (identical drives healed by themselves).
    counter("197", 2.5)
        .instead(is_flash, 1.0)
        .grown(3.5)
        .what("sector(s) waiting for reallocation (SMART 197)"),
    counter("198", 2.5).grown(3.5).what("sector(s) unreadable offline (SMART 198)"),
    most(key::SCAN_FAILED, 2.5)
        .grown(3.5)
        .what("location(s) that a program could not read or write"),
    number(key::SMART_PENDING_DEFECTS, 2.5).grown(3.5).what("pending defect(s) in the drive's log"),
    number(key::SMART_ERROR_LOG_UNC, 1.0)
        .grown(3.0)
        .what("unreadable sector(s) in the drive's error log"),
    number(key::SMART_SCAN_REWRITTEN, 0.5)
        .grown(2.5)
        .what("sector(s) that the drive's background scan rewrote"),
    number(key::SMART_SELF_TEST_ERRORS, 2.0).grown(3.0).what("self-test(s) that failed"),
    number(key::SMART_UNCORRECTED_READ, 1.5)
        .grown(3.0)
        .many(THOUSANDS, FAILED_TWICE)
        .what("read(s) the drive could not correct"),
    number(key::SMART_NVME_ERROR_LOG_MEDIA, 1.5)
        .grown(3.0)
        .what("media error(s) in the drive's error log"),
    number(key::SMART_NVME.of("media_errors"), 1.0)
        .grown(3.0)
        .many(THOUSANDS, FAILED_TWICE)
        .what("media error(s) (NVMe health log)"),
    counter("5", 0.0).grown(2.5).what("reallocated sector(s) (SMART 5)"),
    counter("187", 0.0).grown(2.5).what("uncorrectable error(s) reported (SMART 187)"),
    number(key::SMART_GROWN_DEFECTS, 0.0).grown(2.5).what("grown defect(s)"),
    // A log that has counted hundreds of errors and shows unreadable sectors among the last five.
    number(key::SMART_ERRORS, FAILED_MEDIUM)
        .held(Bound::Above(MANY_ERRORS - 1.0), Unit::Count)
        .only_if(|case| is_above_zero(case, key::SMART_ERROR_LOG_UNC))
        .what("errors in the drive's log"),
    program(warns_of_its_media),
];

/// Errors that an array or a RAID controller counted for its member.
pub(crate) const MEMBERS: [Signal; 4] = [
    // If writes or checksums fail too, it may be the cable; the array does not distinguish them.
    // Nor is it this disk if half of its array counts errors (`device.path`).
    number(key::MEMBER_ERRORS.of("read"), FAILED)
        .only_if(|case| {
            let others = ["write", "checksum", "flush"];
            let failed = |kind| is_above_zero(case, key::MEMBER_ERRORS.of(kind));
            let by_reads = failed("read") && !others.into_iter().any(failed);
            by_reads && !arrays::fails_with_others(case.analysis, case.name)
        })
        .instead(is_thrown_out, FAILED_MEDIUM)
        .many(MANY_FAILED, FAILED_TWICE)
        .what("failed reads counted by its array")
        .say("{n} read(s) failed in its array, and no write"),
    number(key::MEMBER_ERRORS.of("media"), FAILED)
        .instead(
            |case| {
                let rose = case.about().rise(key::MEMBER_ERRORS.of("media"));
                rose.is_some_and(|(rise, _)| rise > 0.0)
            },
            FAILED_MEDIUM,
        )
        .many(MANY_FAILED, FAILED_TWICE)
        .what("media errors counted by its controller")
        .say("{n} media error(s) in its controller's count"),
    number(key::MEMBER_ERRORS.of("predictive"), FAILED_TWICE)
        .what("predicted failures")
        .say(PREDICTED),
    state_signal(key::MEMBER_STATE, &["predictive failure"], FAILED_TWICE)
        .only_if(|case| !is_above_zero(case, key::MEMBER_ERRORS.of("predictive")))
        .what("its controller predicts a failure")
        .say(PREDICTED),
];
/// What a controller that saw no error yet reports.
pub(crate) const PREDICTED: &str = "its controller predicts that it will fail";

/// What the drive reports about its own state, without a specific error. A pre-failure attribute
/// below its threshold in a drive that passes its overall check is worth 0.57 with the prior; grown
/// defects of a SAS drive that exceed normal ageing 0.38, because healthy drives have some
/// (docs/METHOD.md, 17 Faults); and drives continue beyond their rated endurance, most for a long
/// time (vendors' sheets).
pub(crate) const OWN_WORD: [Signal; 9] = [
    program(fails_now),
    number(key::SMART_GROWN_DEFECTS, 0.9)
        .held(Bound::Above(MANY_DEFECTS - 1.0), Unit::Count)
        .what("grown defects, from a single reading")
        .say("{n} grown defect(s)"),
    program(rereads),
    number(key::SMART_PASSED, FAILED_TWICE)
        .held(Bound::Below(1.0), Unit::Count)
        .what("SMART overall health (1: passed, 0: failed)")
        .say("its SMART overall health is FAILED"),
    // The health status of MSFT_PhysicalDisk: it fails reads and writes, or does not respond.
    state_signal(key::MEMBER_STATE, &["unhealthy"], FAILED_TWICE)
        .what("Windows reports the disk as unhealthy")
        .say("Windows reports it as unhealthy: it fails reads and writes or does not respond"),
    program(runs_out_of_spares),
    number(key::SMART_NVME_PERCENTAGE_USED, WORN)
        .held(Bound::Above(1.0), Unit::Share)
        .what("endurance used")
        .say("{share} of its rated endurance is used"),
    number(key::SMART_WEAR, WORN)
        .held(Bound::Above(1.0), Unit::Share)
        .only_if(|case| case.about().number(key::SMART_NVME_PERCENTAGE_USED).is_none())
        .what("endurance used")
        .say("{share} of its rated endurance is used"),
    // USB bridges report it for other faults as well: 0.65 and 0.83 with the prior. A logical unit
    // reports errors of the storage of its target.
    signals::lines(MessageKind::Hardware, &[], 2.0)
        .instead(
            |case| case.logged(&[MessageKind::Hardware]).iter().any(is_of_a_target),
            OF_A_TARGET,
        )
        .again(3.0)
        .what("internal failures reported by the drive (sense key Hardware Error)")
        .say(
            "{n} command(s) failed with an internal failure (Hardware Error), in the kernel's log",
        ),
];
/// A controller that dropped the drive, if nothing else shows why: 0.79 with the prior for the
/// drive or its path. A manufacturer found nothing wrong with 43 % of returned drives (Schroeder
/// and Gibson, FAST 2007).
pub(crate) const BY_CONTROLLER: [Signal; 1] =
    [state_signal(key::MEMBER_STATE, &arrays::THROWN_OUT, 2.7)
        .only_if(|case| disk_names::is_behind_a_controller(case.name))
        .what("drives failed by their controller")
        .say("its controller reports it as `{state}`: the drive, its bay or its cable")];

/// Failed reads that an array counted beside failed writes or checksums: of a drive that itself
/// reports that it is failing, they are its own.
pub(crate) const ITS_OWN_READS: [Signal; 1] = [number(key::MEMBER_ERRORS.of("read"), FAILED)
    .held(Bound::Above(MANY_FAILED - 1.0), Unit::Count)
    .what("failed reads counted by its array")
    .say("{n} read(s) failed in its array")];

const fn counter(attribute: &'static str, worth: f64) -> Signal {
    number(key::SMART_RAW.of(attribute), worth)
}

fn is_above_zero(case: &Case, key: FactKey) -> bool {
    case.about().number(key).is_some_and(|(n, _)| n > 0.0)
}

fn is_flash(case: &Case) -> bool {
    let medium = case.analysis.medium(case.device);
    matches!(medium, Some(Medium::Flash | Medium::Card | Medium::Nvme))
}

fn is_thrown_out(case: &Case) -> bool {
    let state = case.about().last(key::MEMBER_STATE);
    state.is_some_and(|state| arrays::THROWN_OUT.contains(&state.text()))
}

/// Whether a logical unit reports for its target.
pub(crate) fn is_of_a_target(line: &&LogLine) -> bool {
    line.unit_of_a_target().is_some()
}

/// Some drives set the bit when their rated writes are used up and nothing failed yet.
fn warns_of_its_media(builder: &mut EvidenceBuilder, case: &Case, most: f64) -> f64 {
    const WARNING: [Signal; 1] =
        [bit(key::SMART_NVME.of("critical_warning"), UNRELIABLE, FAILED_MEDIUM)
            .what("NVMe critical warning, bit 2: reliability degraded")
            .say("the drive reports its media as unreliable")];
    let used = case.about().number(key::SMART_NVME_PERCENTAGE_USED);
    let counts = most > 0.0 || used.is_none_or(|(used, _)| used < 1.0);
    if counts { builder.strongest(case, &WARNING) } else { 0.0 }
}

/// Attributes that predict a failure, by name.
fn fails_now(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let Some(reading) = case.about().last(key::SMART_PREFAIL_NOW) else { return 0.0 };
    let failing = reading.fact.value.words().unwrap_or_default();
    let (n, names) = (failing.len() as f64, failing.join(", "));
    let what = format!("pre-fail attributes that are FAILING_NOW ({names})");
    builder.fact(&reading, &what, (n, Unit::Count), Some(Bound::Above(0.0)));
    builder.words.push(format!(
        "SMART attribute {names} is FAILING_NOW, which predicts a failure within a day"
    ));
    1.7
}

/// Beside many grown defects.
fn rereads(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let about = case.about();
    let many = about.number(key::SMART_GROWN_DEFECTS).filter(|(n, _)| *n >= MANY_DEFECTS);
    let again = about.number(key::SMART_REREAD).filter(|(n, _)| *n > 0.0 && many.is_some());
    if let Some((again, reading)) = again {
        builder.fact(&reading, "reads corrected by rereading", (again, Unit::Count), None);
        builder.words.push(phrase::count(again, "read(s) corrected by rereading"));
    }
    0.0
}

/// Fewer spare blocks than the drive's own threshold.
fn runs_out_of_spares(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let spare = case.about().number(key::SMART_NVME_AVAILABLE_SPARE);
    let least = case.about().number(key::SMART_NVME_AVAILABLE_SPARE_THRESHOLD);
    let Some(((spare, reading), (least, _))) = spare.zip(least).filter(|(a, b)| a.0 < b.0) else {
        return 0.0;
    };
    let below = Some(Bound::Below(least));
    builder.fact(&reading, "spare blocks left", (spare, Unit::Share), below);
    builder.words.push(format!(
        "{} of its spare blocks are left, less than its own threshold of {}",
        phrase::percent(spare),
        phrase::percent(least)
    ));
    FAILED_TWICE
}
