//! CrystalDiskInfo: drive health (SMART) on Windows.
//!
//! ## Reads
//! Each drive's record: model, firmware, health status, temperature, hours, rotation rate, speed of
//! the SATA link, and the attributes below `-- S.M.A.R.T. --`. The facts are those of `smartctl`:
//! `smart.raw.197`, `smart.passed`, `smart.nvme.media_errors` and so on. Rows of the attribute
//! table are read without the rest, too.
//!
//! ## How to capture
//! `CrystalDiskInfo`: Edit, Copy; or `DiskInfo64.exe /CopyExit`, which writes DiskInfo.txt.
//!
//! ## Versions
//! CrystalDiskInfo 3 to 9, in any language: attributes are identified by their number.
//!
//! ## Caveats
//! Raw values are hexadecimal, six bytes, and may contain several numbers: for reallocated sectors
//! the low four bytes count (like smartctl, raw48 and raw16), a timeout count above 65535 is
//! several numbers. `Caution` only repeats that 05, C5 or C6 is above zero or that little endurance
//! is left; `Bad` is a failed health check of the drive. A percentage after `Good` is the remaining
//! endurance.
//!
//! ## Not in this output
//! The drive's system name (a letter is a volume), changes of a value: two records are needed.
//! Error and self-test logs are not printed.

use iowhy_model::typed::{BitsPerSecond, Share};

use crate::describe::drive::{celsius, hours, rpm, serial};
use crate::describe::report::*;
use crate::drive::health::{leading, nvme_fact, nvme_value};

pub(super) const FORMAT: Format =
    Format::labels("drive health as Windows users print it", Level::E, &LABELS);

/// Lists of controllers, and dumps of bytes.
const IGNORED: &str = "aside";

static LABELS: Labels = Labels {
    near: 1,
    may_resume: true,
    lines: &[
        begins("^CrystalDiskInfo {:word} {*}(C)", |_, _, _| Some(()))
            .like(&["CrystalDiskInfo 8.12.4 (C) 2008-2021 hiyohiyo"]),
        begins("^ID{| Cur Wor Thr} RawValues(6) Attribute Name$", |_, _, _| Some(())).like(&[
            "ID Cur Wor Thr RawValues(6) Attribute Name", "ID RawValues(6) Attribute Name",
        ]),
        announces("^Model : {model:text}$", |found, report, _| {
            let model = found.text("model")?.trim();
            report.drive.model(model);
            report.fact(typed::SMART_MODEL, model)
        })
        .opens_record()
        .like(&["Model : WDC WD10EZEX-00WN4A0"]),
        follows("^Firmware : {firmware:text}$", |found, report, _| {
            report.fact(typed::SMART_FIRMWARE, found.text("firmware")?.trim())
        })
        .like(&["Firmware : 01.01A01"]),
        says("^-- S.M.A.R.T. ---", |_, report, _| report.enter(""))
            .like(&["-- S.M.A.R.T. --------------"]),
        says("^-- {:text} ---", |_, report, _| report.enter(IGNORED))
            .like(&["-- IDENTIFY_DEVICE ---------"]),
        begins("^{id:word} {:word} {:word} {:word} {raw:word} {:text}", ata)
            .when(|found| is_ata(found) && raw(found).is_some())
            .shaped("^row")
            .like(&["C5 100 100 __0 000000000010 Current Pending Sector Count"]),
        perhaps("^{id:word} {raw:word} {:text}", nvme)
            .when(|found| raw(found).is_some())
            .like(&["0E 000000000000 Media and Data Integrity Errors"]),
        perhaps("^{:text}", |_, report, _| (report.part == IGNORED).then_some(()))
            .like(&["+0 +1 +2 +3"]),
    ],
    labels: &[
        label(&["Rotation Rate"], rpm),
        label(&["Temperature"], celsius),
        label(&["Power On Hours"], hours),
        label(&["Interface"], |value, report| match value {
            _ if value.contains("NVM") => report.fact(typed::SMART_PROTOCOL, "NVMe"),
            _ if value.contains("ATA") => report.fact(typed::SMART_PROTOCOL, "ATA"),
            _ => Some(()),
        }),
        label(&["Transfer Mode"], |value, report| {
            let (now, most) = value.split_once('|').unwrap_or((value, ""));
            for (key, mode) in [(typed::SMART_LINK_SPEED, now), (typed::SMART_LINK_SPEED_MAX, most)]
            {
                if let Some((_, speed)) = LINKS.iter().find(|(name, _)| *name == mode.trim()) {
                    report.fact(key, BitsPerSecond(*speed));
                }
            }
            Some(())
        }),
        label(&["Health Status"], health),
        label(&["Serial Number"], serial),
    ],
    ignored: &[
        "Disk Size", "Buffer Size", "Queue Depth", "# of Sectors", "Major Version",
        "Minor Version", "Power On Count", "Host Reads", "Host Writes", "NAND Writes",
        "GBytes Erased", "Wear Level Count", "Features", "APM Level", "AAM Level", "Drive Letter",
        "Drive Map", "OS", "Date", "Total Host Writes",
    ],
    // ` (1) Samsung SSD 860` above a drive.
    own: &["^----", "^Crystal Dew World", "^({*})"],
    ..Labels::NEW
};

/// Digits of a raw value: six bytes.
const RAW_DIGITS: usize = 12;
/// Above this a raw value of six bytes is several numbers, for all attributes but those of [`LOW`].
const SEVERAL: u64 = 1 << 32;
/// Attributes whose upper bytes hold something else: reallocated sectors and events, hours.
const LOW: [u64; 3] = [5, 9, 196];
/// Command time-outs: three counts of two bytes where the value is larger.
const TIMEOUTS: u64 = 188;
/// Fields of the NVMe health log by their row, with the names that smartctl gives them.
const NVME: [&str; 15] = [
    "critical_warning", "temperature", "available_spare", "available_spare_threshold",
    "percentage_used", "data_units_read", "data_units_written", "host_reads", "host_writes",
    "controller_busy_time", "power_cycles", "power_on_hours", "unsafe_shutdowns", "media_errors",
    "num_err_log_entries",
];
/// Speeds of a SATA link as the program names them, in bits per second.
const LINKS: [(&str, f64); 3] = [("SATA/150", 1.5e9), ("SATA/300", 3e9), ("SATA/600", 6e9)];

/// `Good (97 %)`, in English or Japanese; other languages are ignored.
fn health(value: &str, report: &mut Report) -> Option<()> {
    let (word, share) = value.split_once('(').unwrap_or((value, ""));
    match word.trim() {
        "Good" | "正常" => report.fact(typed::SMART_PASSED, true),
        "Bad" | "異常" => report.fact(typed::SMART_PASSED, false),
        _ => None,
    };
    let left = leading(share).filter(|left| *left <= 100);
    left.map_or(Some(()), |left| {
        report.fact(typed::SMART_WEAR, Share::from_percent((100 - left) as f64))
    })
}

/// The number of an attribute and its raw value.
fn raw(found: &Found) -> Option<(u64, u64)> {
    let hex = |name| {
        let word = found.text(name)?;
        Some((word.len(), u64::from_str_radix(word, 16).ok()?))
    };
    let ((digits, id), (raw_digits, raw)) = hex("id").zip(hex("raw"))?;
    (digits == 2 && id > 0 && raw_digits >= RAW_DIGITS).then_some((id, raw))
}

/// Whether the normalised values of a row are some: `100`, `__0`, `---`.
fn is_ata(found: &Found) -> bool {
    let normal = |word: &str| {
        let digits = word.trim_start_matches('_');
        digits == "---" || digits.parse::<u16>().is_ok_and(|value| value < 256)
    };
    found.line().split_whitespace().skip(1).take(3).all(normal)
}

fn ata(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (id, raw) = raw(found)?;
    let raw = match id {
        _ if report.part == IGNORED => None,
        id if LOW.contains(&id) => Some(raw % SEVERAL),
        TIMEOUTS => Some(raw).filter(|raw| *raw <= u64::from(u16::MAX)),
        _ => Some(raw).filter(|raw| *raw < SEVERAL),
    };
    raw.map_or(Some(()), |raw| report.fact(typed::SMART_RAW.member(id), raw))
}

fn nvme(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (id, raw) = raw(found).filter(|_| report.part != IGNORED)?;
    let place = usize::try_from(id).ok()?.checked_sub(1)?;
    let Some(name) = NVME.get(place) else { return Some(()) };
    nvme_value(name, &raw.to_string())
        .map_or(Some(()), |value| report.state(nvme_fact(name, value)))
}
