//! RAID controllers by their own tools: storcli, perccli, MegaCli, ssacli, cciss_vol_status,
//! sas2ircu.
//!
//! ## Reads
//! Volumes, drives, cache and battery, from tables and from lines `label : value`. Facts of a
//! volume are `array.state`, `array.write_cache` (`write-back` or `write-through`, the active
//! policy), `array.write_cache.asked` (what was configured), `array.action` (`rebuild`, `check`,
//! `init` ...) and `array.percent`; of the controller `controller.cache`, `controller.battery` and
//! `array.write_cache`, all as printed but in lower case; of a drive `member.state` where it is not
//! online, `member.errors.media`, `member.errors.other`, `member.errors.predictive`,
//! `device.model`, `device.medium`, `device.celsius`, `device.link_speed` and
//! `device.max_link_speed`; of a phy of an enclosure `phy.invalid_dword_count` and related names,
//! of `show phyerrorcounters`.
//!
//! ## How to capture
//! `storcli /c0 show`, `storcli /c0/eall/sall show all`, `perccli`, `MegaCli -PDList -aALL`,
//! `MegaCli -LDInfo -Lall -aALL`, `MegaCli -AdpBbuCmd -aALL`, `ssacli ctrl all show config detail`
//! (also hpacucli, hpssacli), `cciss_vol_status -V`, `sas2ircu 0 DISPLAY`, `sas2ircu 0 STATUS`.
//!
//! ## Versions
//! storcli 1 to 7, MegaCli 5 to 8.07, hpacucli 8 to ssacli 6, cciss_vol_status 1.06 to 1.12.
//!
//! ## Caveats
//! `Other Error Count` counts retries and pulled plugs too. Drives are named by controller,
//! enclosure and slot, `c0/e32/s4`, as storcli names them, by their position in the list
//! (`c0/drive3`) if only lines `Firmware state` were kept, and volumes `c0/v1`: for the `/dev/sd`
//! name see the volume's name or `lsblk`. MegaCli's `Device Id: 7` is `megaraid,7` of smartctl.
//! `AWB` is write-back even with a bad battery. A battery learn cycle disables the cache for hours,
//! by design.
//!
//! ## Not in this output
//! Latencies.

use crate::drive::raid_lines::{
    Controller, DRIVES, PHYS, VOLUMES, begins, subject, titles, volume,
};
use crate::program::*;
use crate::text::words::is_for_people;

pub const FORMAT: Format = Format::program::<Controller>(
    "RAID controllers: storcli, perccli, MegaCli, ssacli, cciss_vol_status, sas2ircu",
    Level::E,
    &[
        "DG/VD", "EID:Slt", "PNO", "Drive /c", "Virtual Drive: ", "Virtual Disk: ", " in Slot ",
        "BBU status for Adapter:", "-- Virtual Drive Information", "logicaldrive ",
        "physicaldrive ", "status: ", "Non-Volatile Cache status:", "Current Cache Policy",
        "Default Cache Policy", "Battery/Capacitor Status", "Predictive Failure Count",
        "IR Volume information", "IR Configuration Utility", "Cache Status:", "Slot Number:",
        "Enclosure Device ID:", "Adapter #", "Firmware state:", "Rebuild Progress on Device",
    ],
    sniff,
)
.resumed();

fn sniff(lines: &[&str]) -> Detect {
    let Some(first) = lines.first() else { return Detect::No };
    let text = first.trim();
    if !is_for_people(text) {
        return Detect::No;
    }
    let table = [VOLUMES, DRIVES, PHYS].iter().any(|columns| titles(text, columns));
    if table || subject(text).is_some() || volume(text).is_some() || begins(text) {
        return Detect::Yes;
    }
    let next = lines.get(1..).unwrap_or_default();
    // A piece of `ssacli ... show detail`: a drive, or the controller's cache.
    if text.starts_with("physicaldrive ") || text.starts_with("Cache Status:") {
        let known = |line: &&str| PIECES.iter().any(|label| line.trim().starts_with(label));
        return match next.iter().any(known) {
            true => Detect::Yes,
            false if next.len() < SECTION => Detect::NeedLine,
            false => Detect::No,
        };
    }
    // A drive's section whose first lines are in another language, or missing.
    if slot(text) {
        return match next.iter().any(|line| begins(line.trim()) || is_errors(line.trim())) {
            true => Detect::Yes,
            false if next.len() < SECTION => Detect::NeedLine,
            false => Detect::No,
        };
    }
    // These precede a listing, and other listings too.
    if !text.starts_with("Enclosure Device ID:") && !text.starts_with("Adapter #") {
        return Detect::No;
    }
    match next.iter().map(|line| line.trim()).find(|line| !line.is_empty()) {
        Some(line)
            if line.starts_with("Slot Number:") || line.starts_with("Enclosure Device ID:") =>
        {
            Detect::Yes
        }
        None if lines.len() < 4 => Detect::NeedLine,
        _ => Detect::No,
    }
}

/// Lines from a drive's slot to its errors, or from the beginning of a piece to one of [`PIECES`].
const SECTION: usize = 6;

/// Labels that follow a drive of a Smart Array, or the state of its controller's cache.
const PIECES: [&str; 6] = [
    "Drive Type:", "Interface Type:", "Last Failure Reason:", "Cache Status Details:",
    "Cache Disable Reason:", "Cache Ratio:",
];

/// `Slot Number: 4`.
fn slot(text: &str) -> bool {
    text.strip_prefix("Slot Number:").is_some_and(|number| integer(number.trim()).is_some())
}

/// `Media Error Count: 88`.
fn is_errors(text: &str) -> bool {
    text.strip_prefix("Media Error Count:").is_some_and(|count| integer(count.trim()).is_some())
}

impl Reader for Controller {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() || text.chars().all(|c| matches!(c, '-' | '=')) {
            return Step::Consumed;
        }
        if self.says(text, sink) || begins(text) { Step::Consumed } else { Step::NotMine }
    }
}
