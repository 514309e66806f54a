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
//! How a value moved: two records are needed. The drive, unless the command is included.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::drive_named;
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "nvme-ocp",
    summary: "nvme ocp smart-add-log: extended health of NVMe drives",
    manual: iowhy_model::manual!("nvme_ocp.rs"),
    level: Level::E,
    body: Body::Custom {
        needles: &["SMART Cloud Attributes"],
        sniff: |lines| lines.first().is_some_and(|line| is_title(line)).into(),
        reader: || Box::new(NvmeOcp::default()),
    },
};

/// What the drive is called where the command is not there.
const NAMELESS: &str = "drive";
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

fn is_title(line: &str) -> bool {
    line.trim().starts_with("SMART Cloud Attributes")
}

#[derive(Default)]
struct NvmeOcp {
    name: Option<String>,
}

impl Reader for NvmeOcp {
    fn above(&mut self, line: &str) {
        if let Some(name) = drive_named(line).filter(|name| name.starts_with("nvme")) {
            self.name = Some(name);
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if is_title(text) || text.is_empty() {
            return Step::Took;
        }
        let small = text.to_ascii_lowercase();
        let Some((label, name)) = FIELDS.iter().find(|(label, _)| small.starts_with(label)) else {
            // Its other lines: a label and a value behind tabs or two blanks.
            let ours = text.contains('\t') || text.contains("  ");
            return if ours { Step::Took } else { Step::Passed };
        };
        let rest = small.get(label.len()..).unwrap_or_default();
        let value = rest.trim_start_matches([':', ' ', '\t', '-']);
        let value = match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => integer(value.trim_end_matches('%')),
        };
        let Some(value) = value else {
            return Step::Skipped("the value is not a number".to_string());
        };
        let device = sink.device(self.name.as_deref().unwrap_or(NAMELESS));
        sink.add_fact(device, typed::SMART_NVME_OCP.of(name), value);
        Step::Took
    }
}
