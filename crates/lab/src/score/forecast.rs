//! The forecast of the cure, held against the cure: the same load on the same disks, with the
//! disease taken away and the host out of the way, and what their latency then really is.
//!
//! A finding that names the illness forecasts the mean latency after the advised fix. Here the fix
//! is applied to the world, both are shown through the real writers and readers, and the forecast
//! is right if it is within a fifth of what the cured world shows.

use std::fmt::Write;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{DeviceId, Event, Finding, Flags, Level, Op, Recording};

use super::case::Case;
use crate::render;
use crate::worlds::recipes;

/// A forecast is right within this share of the truth (issue 5: within 20 %).
const WITHIN: f64 = 0.2;
/// Requests of either world that a mean is made of.
const FEWEST: usize = 30;
/// Levels at which single I/Os are seen.
const LEVELS: [Level; 2] = [Level::C, Level::D];

/// One forecast and what came of it.
#[derive(Clone, Debug)]
pub struct Foretold {
    /// `device.retry/mild:17`.
    pub case: String,
    /// How rich the input was.
    pub level: Level,
    /// The verdict that foretold.
    pub verdict: &'static str,
    /// Mean latency before, as the finding says, ms.
    pub now_ms: f64,
    /// Mean latency after, as the finding says, ms.
    pub foretold_ms: f64,
    /// Mean latency after, as the cured world shows, ms.
    pub came_ms: f64,
}

impl Foretold {
    /// Whether it came as foretold.
    pub fn is_right(&self) -> bool {
        (self.foretold_ms / self.came_ms - 1.0).abs() <= WITHIN
    }
}

/// Forecasts of the illness that is the case, over so many worlds of each recipe that has a cure.
///
/// # Errors
/// If a recipe is written wrong, or a rendering is not read.
pub fn forecasts(cases: usize, seed: u64) -> Result<Vec<Foretold>, String> {
    let mut all = Vec::new();
    for recipe in recipes().into_iter().filter(|recipe| has_cure(recipe.verdict)) {
        for number in 0..cases {
            let case = Case { recipe, number, seed };
            for level in LEVELS.into_iter().filter(|level| recipe.levels.contains(level)) {
                all.extend(foretold(&case, level)?);
            }
        }
    }
    Ok(all)
}

/// Verdicts whose fix is to take something away from device or host. The cure of a load is another
/// load, of a small volume a larger one: those have no cured world here.
fn has_cure(verdict: &str) -> bool {
    verdict.starts_with("device.")
        || matches!(verdict, "cap.cgroup" | "cfg.scheduler" | "load.discard" | "load.rw-mix")
}

fn foretold(case: &Case, level: Level) -> Result<Option<Foretold>, String> {
    let named = |error: String| format!("{} at {}: {error}", case.name(), level.letter());
    let (ill, well) = (case.world()?, case.cured()?);
    let read = |world| -> Result<Recording, String> {
        let inputs = render::inputs(world, level)?;
        render::recording(world, level, &inputs)
    };
    let (before, after) = (read(&ill).map_err(named)?, read(&well).map_err(named)?);
    let findings = judge(&before, &Options::default());
    let of_truth = |finding: &&Finding| finding.verdict == ill.truth.verdict;
    let Some(finding) = findings.first().filter(of_truth) else { return Ok(None) };
    let (Some(forecast), Some(device)) = (&finding.forecast, finding.subject.device) else {
        return Ok(None);
    };
    let now_ms = forecast.now_mean.ms();
    // The forecast says what it calls now: the requests whose mean that is are looked for again.
    let which = Which::ALL
        .into_iter()
        .filter_map(|which| Some((which, (which.mean_ms(&before, device)? / now_ms).ln().abs())));
    let which = which.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(which, _)| which);
    let name = &before.device_of(device).name;
    let came_ms =
        which.zip(after.find_device(name)).and_then(|(which, id)| which.mean_ms(&after, id));
    Ok(came_ms.map(|came_ms| Foretold {
        case: case.name(),
        level,
        verdict: finding.verdict,
        now_ms,
        foretold_ms: forecast.mean.ms(),
        came_ms,
    }))
}

/// Some of the requests of a disk, from their arrival or their start.
#[derive(Clone, Copy)]
struct Which {
    op: Option<Op>,
    durable: bool,
    arrived: bool,
}

impl Which {
    const ALL: [Which; 5] = [
        Which { op: None, durable: false, arrived: false },
        Which { op: Some(Op::Read), durable: false, arrived: false },
        Which { op: Some(Op::Write), durable: false, arrived: false },
        Which { op: None, durable: true, arrived: false },
        Which { op: None, durable: false, arrived: true },
    ];

    fn mean_ms(self, recording: &Recording, device: DeviceId) -> Option<f64> {
        let events = recording.listings.iter().flat_map(|listing| &listing.events);
        let of: Vec<f64> = events
            .filter(|event| event.device == device && self.has(event))
            .filter_map(|event| {
                let whole = event.longest()?.1.ms();
                let before = event.latency(iowhy_model::Stage::Before);
                let before = before.filter(|_| self.arrived).map_or(0.0, |ns| ns.ms());
                Some(whole + before)
            })
            .collect();
        (of.len() >= FEWEST).then(|| of.iter().sum::<f64>() / of.len() as f64)
    }

    fn has(self, event: &Event) -> bool {
        if self.durable {
            let flags = event.flags;
            return event.op == Op::Flush
                || event.op == Op::Write && (flags.has(Flags::FUA) || flags.has(Flags::PREFLUSH));
        }
        let moves = !matches!(event.op, Op::Flush | Op::Discard);
        moves && self.op.is_none_or(|op| op == event.op)
    }
}

/// What came of the forecasts, by verdict and in all.
pub fn table(all: &[Foretold]) -> String {
    let mut verdicts: Vec<&str> = all.iter().map(|one| one.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let mut out = String::from(
        "| verdict | forecasts | within 20 % | median foretold / came | middle half |\n\
         |---|---|---|---|---|\n",
    );
    for verdict in verdicts.into_iter().map(Some).chain([None]) {
        let of: Vec<&Foretold> =
            all.iter().filter(|one| verdict.is_none_or(|verdict| one.verdict == verdict)).collect();
        let mut ratios: Vec<f64> = of.iter().map(|one| one.foretold_ms / one.came_ms).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| {
            ratios.get((share * ratios.len() as f64) as usize).copied().unwrap_or(f64::NAN)
        };
        let right = of.iter().filter(|one| one.is_right()).count();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} | {} | {:.0} % | {:.2} | {:.2} to {:.2} |",
            verdict.map_or("all".to_string(), |verdict| format!("`{verdict}`")),
            of.len(),
            100.0 * right as f64 / of.len().max(1) as f64,
            at(0.5),
            at(0.25),
            at(0.75)
        );
    }
    out
}
