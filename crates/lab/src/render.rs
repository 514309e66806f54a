//! Scenarios as tools would have shown them, at each level of input, and read back through the real
//! readers.
//!
//! A: `iostat -dxy` of the modern or the old generation, every second or every ten. B: `biolatency
//! -D`, or the per-device table of the outlier script. C: `biosnoop`, with the queue or without,
//! in the decimals of bcc or of libbpf-tools. D: the JSON lines of `iowhy snoop`, written by
//! the real view. E: the same beside `dmesg`, `smartctl -j` or `nvme smart-log`, the mounts, the
//! files of control groups, of pressure and of the queues, and the pauses of a live watch. The
//! scenario decides which of them.
//!
//! **Must never know:** a detector.

mod biolatency;
mod biosnoop;
mod capture;
mod counters;
mod evidence;
mod health;
mod iostat;
mod pauses;
mod settings;

use iowhy_model::{Level, Recording};

pub use crate::scenarios::LEVELS;
use crate::scenarios::{Chance, DiskRun, Done, Quirk, Scenario};

/// From this length on iostat may have been run every 10 s, ns: two reports.
const TWO_LONG_REPORTS: u64 = 20_000_000_000;

/// The level of a given letter.
pub fn level(letter: &str) -> Option<Level> {
    LEVELS.into_iter().find(|level| letter.eq_ignore_ascii_case(&level.letter().to_string()))
}

/// What one tool printed, and under which name it was kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    /// The file's name.
    pub name: &'static str,
    /// Its content.
    pub text: String,
}

/// What the tools of that level printed.
///
/// # Errors
/// If a real writer fails.
pub fn inputs(scenario: &Scenario, level: Level) -> Result<Vec<Input>, String> {
    let mut taste = Chance::new(scenario.taste ^ level as u64);
    let (name, text) = match level {
        Level::A => {
            let long = taste.chance(0.3) && scenario.end() >= TWO_LONG_REPORTS;
            ("iostat.txt", iostat::text(scenario, if long { 10 } else { 1 }, taste.chance(0.4)))
        }
        Level::B if scenario.disks.len() > 1 && taste.chance(0.7) => {
            ("outliers.txt", biolatency::table(scenario))
        }
        Level::B => ("biolatency.txt", biolatency::histograms(scenario)),
        Level::C => {
            let queue = taste.chance(0.5);
            ("biosnoop.txt", biosnoop::text(scenario, queue, taste.chance(0.5), &mut taste))
        }
        Level::D | Level::E => ("trace.json", capture::text(scenario, &mut taste)?),
    };
    let mut inputs = vec![Input { name, text }];
    if let (Quirk::Elsewhere(factor) | Quirk::Queue(factor) | Quirk::Bytes(factor), true) =
        (scenario.quirk, level > Level::A || matches!(scenario.quirk, Quirk::Elsewhere(_)))
    {
        // The second listing names the same disk and the same time, and disagrees.
        let (apart, more) = (factor.max(1.0 / factor).clamp(2.4, 3.0), factor > 1.0);
        let factor = if more { apart } else { 1.0 / apart };
        let text = iostat::text(&elsewhere(scenario, factor), 1, false);
        // Pasted under each other, as in a report of trouble.
        inputs[0].text.push('\n');
        inputs[0].text.push_str(&text);
    }
    if level == Level::E {
        inputs.extend(evidence::inputs(scenario, &mut taste));
    }
    Ok(inputs)
}

/// What iowhy makes of the texts; what the disks are made of is known from level D on only, where a
/// live tool reads it from the system.
///
/// # Errors
/// If no format reads one of them.
pub fn recording(scenario: &Scenario, level: Level, inputs: &[Input]) -> Result<Recording, String> {
    let mut recording = Recording::new();
    for Input { name, text } in inputs {
        let stated = settings::states(name, text, &mut recording)
            || pauses::states(name, text, &mut recording);
        if stated {
            continue;
        }
        iowhy_read::scan(name, &mut text.as_bytes(), None, &mut recording)
            .map_err(|error| format!("{name}: {error}"))?;
    }
    if level >= Level::D {
        for DiskRun { setup, .. } in &scenario.disks {
            if let Some(device) = recording.find_device(&setup.name) {
                recording.set_medium(device, setup.medium);
            }
        }
    }
    Ok(recording)
}

/// The same scenario, every latency longer by a factor and the rate lower by it.
fn elsewhere(scenario: &Scenario, factor: f64) -> Scenario {
    let mut other = scenario.clone();
    for disk in &mut other.disks {
        for done in &mut disk.done {
            let stretch = |ns: u64| (ns as f64 * factor) as u64;
            *done = Done {
                queued: stretch(done.queued),
                issued: stretch(done.issued),
                completed: stretch(done.completed),
                ..*done
            };
        }
        disk.done.retain(|done| done.completed <= scenario.span.max(1_000_000_000));
    }
    other.quirk = Quirk::None;
    other
}

/// The requests of all disks as a tracer saw them: by completion, without the lost ones; and how
/// many those are.
fn traced<'a>(scenario: &'a Scenario, taste: &mut Chance) -> (Vec<(&'a DiskRun, Done, u32)>, u64) {
    let (mut seen, mut lost) = (Vec::new(), 0);
    for disk in &scenario.disks {
        let mut flying: Vec<u64> = Vec::new();
        for done in disk.done.iter().take(scenario.listed) {
            flying.retain(|completed| *completed > done.issued);
            flying.push(done.completed);
            if taste.chance(scenario.lost) {
                lost += 1;
            } else {
                seen.push((disk, *done, flying.len() as u32));
            }
        }
    }
    seen.sort_by_key(|(_, done, _)| done.completed);
    (seen, lost)
}
