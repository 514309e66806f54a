//! Facts about disks from the user: `--rpm`, `--class`.

use clap::Args;
use iowhy_diagnose::{Options, StatedMedium};
use iowhy_model::{Medium, NameTable, Recording};

use crate::{device_lookup, messages};

/// What the user says about the disks.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StatedDisks {
    /// Spindle speed of the disk in revolutions per minute, if known
    #[arg(long, value_name = "RPM", value_parser = spindle_speed)]
    rpm: Option<f64>,
    /// Device class, if the capture does not show it: `hdd`, `ssd` (SATA, SAS or USB), `nvme`,
    /// `card` or `network`; of one device as `sdb=hdd` (may be given several times)
    #[arg(long, value_name = "[DEVICE=]CLASS", value_parser = stated_medium)]
    class: Vec<StatedMedium>,
}

impl StatedDisks {
    /// The judge's input: a recording with these facts. A device that the recording does not have
    /// is reported.
    pub(crate) fn options(&self, recording: &Recording) -> Options {
        let table = NameTable::of(recording);
        let mut media = Vec::new();
        for stated in &self.class {
            let Some(given) = &stated.disk else {
                media.push(stated.clone());
                continue;
            };
            let mut names: Vec<String> =
                table.resolve(given).into_iter().map(|target| target.device).collect();
            names.push(given.clone());
            names.retain(|name| recording.find_device(name).is_some());
            if names.is_empty() {
                let hint = device_lookup::hint(given, &table);
                let text = format!("no `{given}` in this capture: its class is not used");
                messages::warn(&text, hint.as_deref());
            }
            media
                .extend(names.into_iter().map(|name| StatedMedium { disk: Some(name), ..*stated }));
        }
        Options { rpm: self.rpm, media, ..Options::default() }
    }
}

/// Names of classes on the command line.
const CLASSES: [(&str, Medium); 5] = [
    ("hdd", Medium::Rotational),
    ("ssd", Medium::Flash),
    ("nvme", Medium::Nvme),
    ("card", Medium::Card),
    ("network", Medium::Network),
];

fn stated_medium(text: &str) -> Result<StatedMedium, String> {
    let (disk, class) = match text.split_once('=') {
        Some((disk, class)) => (Some(disk.trim_start_matches("/dev/").to_string()), class),
        None => (None, text),
    };
    let known = CLASSES.iter().find(|(name, _)| *name == class);
    let (_, medium) = known.ok_or_else(|| {
        let names = CLASSES.map(|(name, _)| name).join(", ");
        format!("unknown device class `{class}`; use one of {names}")
    })?;
    Ok(StatedMedium { disk, medium: *medium })
}

/// A valid spindle speed.
fn spindle_speed(text: &str) -> Result<f64, String> {
    // From the slowest disk ever common to well past the fastest.
    text.parse().ok().filter(|rpm| (1000.0..=50_000.0).contains(rpm)).ok_or_else(|| {
        format!("invalid spindle speed `{text}`; use 4200, 5400, 7200, 10000 or 15000 (rpm)")
    })
}
