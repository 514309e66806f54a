//! Links of storage controllers and NVMe drives on the PCI bus: `lspci -vv`.
//!
//! ## Reads
//! Of each controller of storage, by its address: `device.link_speed`, `device.max_link_speed`,
//! `device.link_width` and `device.max_link_width` (lines `LnkSta` and `LnkCap`), and
//! `pci.errors.correctable`, `pci.errors.fatal` and `pci.errors.unsupported` if `DevSta` shows such
//! errors (1, else 0).
//!
//! ## How to capture
//! `lspci -vv` as root; without root the links are not shown.
//!
//! ## Versions
//! pciutils 3.1 to 3.13; the words `ok` and `downgraded` are printed since 3.6.
//!
//! ## Caveats
//! A link below its capability may be limited by the slot, and an idle link may run slower to save
//! power. `UnsupReq+` is common and harmless. The drive at an address: see the kernel's log or
//! `ls -l /sys/block`.
//!
//! ## Not in this output
//! When an error was seen.

use iowhy_model::typed::{BitsPerSecond, Key};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("links of storage controllers and NVMe drives: lspci -vv", Level::E, &LABELS);

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        // Classes of devices whose link a disk's I/O goes through (pci.ids, class 01).
        begins(
            "^{address:word} {Non-Volatile memory controller|SATA controller|\
             Serial Attached SCSI controller|RAID bus controller|SCSI storage controller|\
             Mass storage controller|IDE interface}{:| [}",
            |found, report, _| {
                let address = found.text("address")?;
                let domain = if address.matches(':').count() == 1 { "0000:" } else { "" };
                report.name(&format!("{domain}{address}"))
            },
        )
        .when(is_function)
        .opens_record()
        .like(&[
            "01:00.0 Non-Volatile memory controller: Samsung NVMe SSD Controller (prog-if 02)",
            "0000:03:00.0 RAID bus controller [0104]: Broadcom / LSI MegaRAID SAS-3 (rev 02)",
        ]),
        announces("^{address:word} {:text}:", |_, _, _| Some(()))
            .when(is_function)
            .opens_record()
            .shaped("^function")
            .like(&["00:00.0 Host bridge: Intel Corporation Device 3ec2 (rev 07)"]),
        follows("^{Subsystem|Control|Physical Slot|DeviceName|Flags}:", |_, _, _| Some(()))
            .like(&["Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr-"]),
    ],
    labels: &[
        label(&["LnkSta"], |value, report| {
            link(value, report, typed::DEVICE_LINK_SPEED, typed::DEVICE_LINK_WIDTH)
        }),
        label(&["LnkCap"], |value, report| {
            link(value, report, typed::DEVICE_LINK_SPEED_MAX, typed::DEVICE_LINK_WIDTH_MAX)
        }),
        label(&["DevSta"], |value, report| {
            for (kind, signs) in [
                ("unsupported", ["UnsupReq", ""]),
                ("correctable", ["CorrErr", ""]),
                ("fatal", ["FatalErr", "UncorrErr"]),
            ] {
                let of = |sign: &&str| {
                    value.split(' ').find_map(|word| {
                        let seen = word.strip_prefix(*sign).filter(|_| !sign.is_empty())?;
                        matches!(seen, "+" | "-").then_some(seen == "+")
                    })
                };
                let seen = signs.iter().find_map(of).filter(|_| report.drive.name().is_some());
                seen.map(|seen| report.fact(typed::PCI_ERRORS.of(kind), seen));
            }
            Some(())
        }),
    ],
    inner: &['\t', ' '],
    may_resume: true,
    ..Labels::NEW
};

/// Whether a line begins with the address of a function: `01:00.0`, `0000:03:00.0`.
fn is_function(found: &Found) -> bool {
    let address = found.text("address").unwrap_or_default();
    let widths: Vec<usize> = address.split([':', '.']).map(str::len).collect();
    let is_sound = matches!(widths[..], [2, 2, 1] | [4, 2, 2, 1]) && address.contains('.');
    is_sound && address.bytes().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'))
}

/// `Speed 8GT/s (ok), Width x2 (downgraded)` of a storage device.
fn link(
    value: &str,
    report: &mut Report,
    speed: Key<BitsPerSecond>,
    width: Key<u64>,
) -> Option<()> {
    let after = |word: &str| value.split_once(word)?.1.split([' ', ',', '(']).next();
    if report.drive.name().is_some() {
        if let Some(per_s) = after("Speed ").and_then(|text| decimal(text.strip_suffix("GT/s")?)) {
            report.fact(speed, BitsPerSecond(per_s * 1e9));
        }
        if let Some(lanes) = after("Width x").and_then(integer) {
            report.fact(width, lanes);
        }
    }
    Some(())
}
