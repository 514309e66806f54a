//! Published captures with known causes, judged beside the simulated ones.
//!
//! The listings lie in `published/`, named by their number in the project's list of cases, or among
//! the cases of `iowhy` where they are one of those. What is owed is stated here: the first
//! verdicts that are right, and whether a disk is to blame at all. `insufficient` is right where
//! the listing is too short to carry more.

use std::fmt::Write;

use iowhy_diagnose::{Options, judge};
use iowhy_model::Recording;

/// A published capture and what is owed.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its number and what it shows.
    pub name: &'static str,
    /// The listing.
    pub text: &'static str,
    /// What was the case, in the words of the list.
    pub label: &'static str,
    /// Right first verdicts.
    pub right: &'static [&'static str],
    /// The disk that is to blame, if one is.
    pub device: Option<&'static str>,
}

macro_rules! case {
    ($name:literal, $label:literal, $right:expr, $device:expr) => {
        case!($name, concat!("../../published/", $name, ".txt"), $label, $right, $device)
    };
    ($name:literal, $listing:expr, $label:literal, $right:expr, $device:expr) => {
        Published {
            name: $name,
            text: include_str!($listing),
            label: $label,
            right: $right,
            device: $device,
        }
    };
}

/// All of them.
pub const PUBLISHED: &[Published] = &[
    case!("A01-dust-averages", "DISK", &["device.slow", "device.retry"], Some("sdb")),
    case!("A01-dust-log", "DISK", &["device.retry", "device.slow"], Some("sdb")),
    // The average hides it: 5 ms is no proof of anything.
    case!(
        "A02-lid-averages",
        "DISK",
        &["device.retry", "device.slow", "insufficient"],
        Some("sdb")
    ),
    case!(
        "A02-lid-histogram",
        "DISK",
        &["device.retry", "device.slow", "insufficient"],
        Some("sdb")
    ),
    // Seven slow reads of nineteen: too few, but the shape is that of retries.
    case!("A02-lid-log", "DISK", &["device.retry", "device.slow", "insufficient"], Some("sdb")),
    case!("A03-jbod-histogram", "DISK", &["device.slow", "device.stall", "insufficient"], None),
    case!("A03-jbod-table", "DISK", &["peer.outlier"], Some("sdy")),
    case!(
        "A04-sync-writes",
        "../../../iowhy/tests/cases/missed-turn/capture.txt",
        "FLUSH",
        &["load.missed-turn", "report.inconsistent"],
        None
    ),
    case!("A05-ebs-averages", "CAP", &["cap.volume", "report.util-trap"], None),
    case!(
        "A06-direct-mount",
        "../../../iowhy/tests/cases/direct-mount/capture.txt",
        "CONFIG",
        &["load.small-sync"],
        None
    ),
    // Of averages alone no more can be asked than what they show: disks that idle and are well.
    case!(
        "A06-direct-mount-averages",
        "CONFIG",
        &["healthy", "insufficient", "load.small-sync"],
        None
    ),
    // A07 to A12, A15, A29 and A30 are published as figures: their listings here are those figures in the
    // form of the tool they came from.
    case!("A07-smart-passed", "DISK", &["device.media"], Some("sda")),
    case!("A08-self-tests-fail", "DISK", &["device.media"], Some("sda")),
    case!("A09-pending-that-heals", "ARTEFACT", &["healthy", "insufficient"], None),
    // Eight old checksum errors of a link say nothing of now.
    case!("A12-crc-errors", "LINK", &["device.path", "insufficient"], None),
    case!("A13-flush-log", "FLUSH", &["load.flush", "load.small-sync", "insufficient"], None),
    case!("A15-online-discard", "CONFIG", &["load.discard", "insufficient"], None),
    case!("A20-storm", "WORKLOAD", &["load.saturated"], None),
    case!(
        "A21-tiny-writes",
        "WORKLOAD",
        &["healthy", "report.inconsistent", "report.util-trap", "load.small-sync"],
        None
    ),
    case!("A23-shared-queue", "UPPER", &["insufficient"], None),
    case!("A24-flash-reads", "HEALTHY", &["healthy", "insufficient"], None),
    case!("A25-platter-histogram", "HEALTHY", &["healthy", "insufficient"], None),
    case!(
        "A26-util-too-low",
        "ARTEFACT",
        &["healthy", "insufficient", "report.inconsistent", "load.large-io"],
        None
    ),
    case!(
        "A27-util-of-old-kernel",
        "ARTEFACT",
        &["healthy", "insufficient", "report.inconsistent", "load.burst"],
        None
    ),
    case!("A29-json-units", "ARTEFACT", &["healthy", "insufficient", "report.inconsistent"], None),
    case!("A30-pressure-without-io", "ARTEFACT", &["insufficient"], None),
    case!("A34-cgroup-limit", "CAP", &["healthy", "insufficient", "cap.cgroup"], None),
    case!("A35-empty-writes", "ARTEFACT", &["healthy", "report.inconsistent", "load.flush"], None),
    case!("A36-starved-host", "UPPER", &["healthy", "insufficient", "layer.above"], None),
    case!(
        "A37-stuck-queue",
        "UPPER",
        &["insufficient", "report.inconsistent", "layer.above"],
        None
    ),
];

/// What the judge said of a published capture.
#[derive(Clone, Debug)]
pub struct Told {
    /// The first verdict.
    pub verdict: &'static str,
    /// Its confidence.
    pub confidence: f64,
    /// Its device, empty if it is about the whole.
    pub device: String,
    /// Whether that is right.
    pub right: bool,
    /// Whether a disk is accused, aloud, that is well.
    pub accuses: Option<&'static str>,
}

impl Published {
    /// Shows it to the judge.
    ///
    /// # Errors
    /// If no format reads it.
    pub fn told(&self) -> Result<Told, String> {
        let mut recording = Recording::new();
        iowhy_read::scan(self.name, &mut self.text.as_bytes(), None, &mut recording)
            .map_err(|error| format!("{}: {error}", self.name))?;
        let findings = judge(&recording, &Options::default());
        let device = |finding: &iowhy_model::Finding| {
            let id = finding.subject.device;
            id.map(|id| recording.device_of(id).name.clone()).unwrap_or_default()
        };
        let sick = |name: &str| self.label == "DISK" && self.device.is_none_or(|sick| sick == name);
        let accusing = findings.iter().find(|finding| {
            finding.blames_a_disk()
                && finding.explained_by.is_none()
                && finding.confidence >= super::SAID_ALOUD
                && !sick(&device(finding))
        });
        let first = findings.first();
        let about = first.map(device).unwrap_or_default();
        let same = about.is_empty() || self.device.is_none_or(|sick| sick == about);
        Ok(Told {
            verdict: first.map_or("-", |first| first.verdict),
            confidence: first.map_or(0.0, |first| first.confidence),
            right: same && first.is_some_and(|first| self.right.contains(&first.verdict)),
            device: about,
            accuses: accusing.map(|finding| finding.verdict),
        })
    }
}

/// The table of all published captures.
///
/// # Errors
/// If one is not read.
pub fn published() -> Result<String, String> {
    let mut out = format!(
        "{:<26} {:<9} {:<5} {:<20} {:>5} {:<8} accuses wrongly\n",
        "published", "label", "right", "said first", "C", "device"
    );
    let mut right = 0;
    for case in PUBLISHED {
        let told = case.told()?;
        right += usize::from(told.right);
        let _ = writeln!(
            out,
            "{:<26} {:<9} {:<5} {:<20} {:>5.2} {:<8} {}",
            case.name,
            case.label,
            if told.right { "yes" } else { "NO" },
            told.verdict,
            told.confidence,
            told.device,
            told.accuses.unwrap_or("-")
        );
    }
    let _ = writeln!(out, "{right} of {} right", PUBLISHED.len());
    Ok(out)
}
