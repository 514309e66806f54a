//! Settings of a drive: `hdparm -W`, `hdparm -I`, `sdparm --get WCE`.
//!
//! ## Reads
//! Whether the drive's own write cache is on (`drive.write_cache`: `on` or `off`), and of `hdparm -I`
//! `smart.model`, `smart.firmware` and `smart.rpm` (0: no platter).
//!
//! ## Where it comes from
//! `hdparm -W /dev/sda`, `hdparm -I /dev/sda`, `sdparm --get WCE /dev/sda`.
//!
//! ## Versions
//! hdparm 9, sdparm 1.
//!
//! ## Traps
//! A cache that is off makes each write wait for the platter; one that is on makes a flush wait
//! instead. A drive behind a RAID controller is not asked, the controller answers. `hdparm -I` lists
//! features that are supported, those in use with a star.
//!
//! ## Cannot know
//! Whether the cache survives a loss of power. Whether lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::{Drive, Places, drive_named, leading};
use crate::{Format, Reader, Sniff, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "drive-settings",
    summary: "settings of a drive: hdparm -W, hdparm -I, sdparm --get WCE",
    manual: iowhy_model::manual!("drive_settings.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(DriveSettings::default()),
};

/// Lines ahead in which the heading must be followed by what it heads.
const NEAR: usize = 3;

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first() else { return Sniff::No };
    if begins(first) {
        return Sniff::Yes;
    }
    if heading(first).is_none() {
        return Sniff::No;
    }
    match lines.get(1..).unwrap_or_default() {
        [.., last] if begins(last) => Sniff::Yes,
        [.., last] if !last.trim().is_empty() => Sniff::No,
        rest if rest.len() < NEAR => Sniff::More,
        _ => Sniff::No,
    }
}

fn begins(line: &str) -> bool {
    let text = line.trim();
    cache(text).is_some() || text.starts_with("ATA device, with ")
}

/// `/dev/sda:`, or `/dev/sda: ATA  EXAMPLE HD4000  EX04`.
fn heading(line: &str) -> Option<String> {
    let text = line.trim();
    let path = text.split_whitespace().next()?.strip_suffix(':')?;
    path.strip_prefix("/dev/").filter(|name| !name.is_empty()).map(str::to_string)
}

/// ` write-caching =  1 (on)` and `WCE         1  [cha: y, def:  1, sav:  1]`.
fn cache(text: &str) -> Option<bool> {
    let value = match text.strip_prefix("write-caching =") {
        Some(value) => value,
        None => text.strip_prefix("WCE ").filter(|rest| rest.contains("[cha:"))?,
    };
    match leading(value)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

#[derive(Default)]
struct DriveSettings {
    places: Places,
    drive: Drive,
    begun: bool,
}

impl Reader for DriveSettings {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if self.begun && heading(line).is_some() {
            return Step::Ended;
        }
        let place = self.places.next(sink);
        let text = line.trim();
        if let Some(name) = heading(line) {
            self.drive.named(&name);
            return Step::Took;
        }
        if text.is_empty() {
            return Step::Took;
        }
        if let Some(on) = cache(text) {
            self.begun = true;
            self.drive.add_fact(typed::DRIVE_WRITE_CACHE, on, &place);
            return Step::Took;
        }
        if let Some(name) = drive_named(text).filter(|_| text.contains("setting drive")) {
            self.drive.named(&name);
            return Step::Took;
        }
        if text.starts_with("ATA device, with ") {
            self.begun = true;
            return Step::Took;
        }
        if let Some((label, value)) = text.split_once(':') {
            let value = value.trim();
            let fact = match label.trim() {
                "Model Number" => {
                    self.drive.model(value);
                    Some(typed::SMART_MODEL.with(value))
                }
                "Serial Number" => {
                    self.drive.serial(value);
                    None
                }
                "Firmware Revision" => Some(typed::SMART_FIRMWARE.with(value)),
                "Nominal Media Rotation Rate" if value.starts_with("Solid") => {
                    Some(typed::SMART_RPM.with(0u64))
                }
                "Nominal Media Rotation Rate" => {
                    leading(value).map(|rpm| typed::SMART_RPM.with(rpm))
                }
                _ if line.starts_with('\t') => None,
                _ => return Step::Passed,
            };
            if let Some(fact) = fact {
                self.drive.add(fact, &place);
            }
            return Step::Took;
        }
        // The list of commands and features: a star stands before what is in use.
        if text.starts_with('*') && text.ends_with("Write cache") {
            self.drive.add_fact(typed::DRIVE_WRITE_CACHE, true, &place);
        }
        if line.starts_with('\t') || text.starts_with("setting drive write-caching") {
            return Step::Took;
        }
        Step::Passed
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.drive.pour(sink);
    }
}
