//! The extended health log of datacentre NVMe drives (`nvme ocp smart-add-log`).
//!
//! ## Reads
//! The lines below `SMART Cloud Attributes :-`. Lines about errors, wear, throttling and timeouts
//! become the facts `smart.nvme.ocp.*` of the drive, named like the lines.
//!
//! ## How to capture
//! `nvme ocp smart-add-log /dev/nvme0`.
//!
//! ## Versions
//! nvme-cli 1.14 to 2.16, log pages 2 to 5. Lines that a version lacks are missing.
//!
//! ## Caveats
//! Counters cover the drive's lifetime: a single log does not show when events occurred. A
//! correctable error of PCIe was corrected. Current throttling is in `current throttling status`,
//! in a different unit than the event count. Soft ECC errors were corrected too.
//!
//! ## Not in this output
//! Changes of a value: two records are needed. The drive, unless the command is included.

use crate::describe::report::*;
use crate::drive::health::drive_named;

pub(super) const FORMAT: Format =
    Format::labels("nvme ocp smart-add-log: extended health of NVMe drives", Level::E, &LABELS);

/// Beginnings of the lines that become facts, in small letters, and their name.
const FIELDS: [(&str, &str); 12] = [
    ("uncorrectable read error count", "uncorrectable_read_errors"),
    ("end to end detected errors", "end_to_end_errors"),
    ("bad user nand blocks - raw", "bad_user_blocks"),
    ("bad system nand blocks - raw", "bad_system_blocks"),
    ("number of thermal throttling events", "throttling_events"),
    ("current throttling status", "throttling_now"),
    ("pcie correctable error count", "pcie_correctable_errors"),
    ("percent free blocks", "percent_free_blocks"),
    ("capacitor health", "capacitor_health"),
    ("system data percent used", "system_percent_used"),
    ("media dies offline", "dies_offline"),
    ("command timeouts", "command_timeouts"),
];

static LABELS: Labels = Labels {
    unnamed: "drive",
    command: Some(Command {
        program: "/dev/nvme",
        subject: |line| drive_named(line).filter(|name| name.starts_with("nvme")),
        opens: Opens::Nothing,
    }),
    lines: &[
        begins("^SMART Cloud Attributes", |_, _, _| Some(())).like(&["SMART Cloud Attributes :-"]),
        perhaps("^{line:text}$", |found, report, sink| {
            let small = found.line().to_ascii_lowercase();
            let Some((label, name)) = FIELDS.iter().find(|(label, _)| small.starts_with(label))
            else {
                // Its other lines: a label and a value after tabs or two blanks.
                return ["\t", "  "].iter().any(|gap| small.contains(gap)).then_some(());
            };
            let value = small.get(label.len()..)?.trim_start_matches([':', ' ', '\t', '-']);
            let value = match value.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => integer(value.trim_end_matches('%')),
            };
            let value = report.need(value, "the value is not a number")?;
            sink.add_fact(&*report, typed::SMART_NVME_OCP.of(name), value);
            Some(())
        })
        .like(&["Uncorrectable read error count                  0", "Percent free blocks  97%"]),
    ],
    ..Labels::NEW
};
