//! RAID controllers by their own tools: storcli, perccli, MegaCli, ssacli, cciss_vol_status,
//! sas2ircu, tw_cli.
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
//! (also hpacucli, hpssacli), `cciss_vol_status -V`, `sas2ircu 0 DISPLAY`, `sas2ircu 0 STATUS`,
//! `tw_cli /c0 show`.
//!
//! ## Versions
//! storcli 1 to 7, MegaCli 5 to 8.07, hpacucli 8 to ssacli 6, cciss_vol_status 1.06 to 1.12,
//! tw_cli 2.00 (3ware 7000 to 9750).
//!
//! ## Caveats
//! `Other Error Count` counts retries and pulled plugs too. Drives are named by controller,
//! enclosure and slot, `c0/e32/s4`, as storcli names them, by their position in the list
//! (`c0/drive3`) if only lines `Firmware state` were kept, and volumes `c0/v1`: for the `/dev/sd`
//! name see the volume's name or `lsblk`. Units and ports of 3ware are `c0/u1` and `c0/p7`; drives
//! that its firmware cannot start or use (`CFG-OP-FAIL`, `DEVICE-ERROR`) are `failed`. MegaCli's
//! `Device Id: 7` is `megaraid,7` of smartctl. `AWB` is write-back even with a bad battery. A
//! battery learn cycle disables the cache for hours, by design.
//!
//! ## Not in this output
//! Latencies.

use iowhy_model::Level;

use crate::Format;
use crate::describe::raid::RAID;

pub(super) const FORMAT: Format = Format::labels(
    "RAID controllers: storcli, perccli, MegaCli, ssacli, cciss_vol_status, sas2ircu, tw_cli",
    Level::E,
    &RAID,
);
