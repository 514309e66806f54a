//! The forecast of the cure, compared with the cure: the same load on the same disks, without the
//! fault and without host effects, and their actual latency then. A second fault stays: it has its
//! own cure. Findings that name the fault without a forecast are counted separately.
//!
//! A finding that names the fault forecasts the mean latency after the advised fix. Here the fix
//! is applied to the scenario, both are shown through the real writers and readers, and the
//! forecast is right if it is within 20 % of the cured scenario. If it is a wide range without a
//! number, only the range is compared with the result.

use std::fmt::Write;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{DeviceId, Event, Finding, Flags, Level, Op, Recording};

use super::case::Case;
use crate::render;
use crate::scenarios::recipes;

/// A forecast is right within this share of the truth (issue 5: within 20 %).
const WITHIN: f64 = 0.2;
/// Requests of either scenario that a mean is made of.
const FEWEST: usize = 30;
/// Levels at which single I/Os are seen.
const LEVELS: [Level; 2] = [Level::C, Level::D];

/// One forecast and what came of it.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// `device.retry/mild:17`.
    pub case: String,
    /// How rich the input was.
    pub level: Level,
    /// The verdict that foretold.
    pub verdict: &'static str,
    /// Mean latency before, as the finding says, ms.
    pub now_ms: f64,
    /// Mean latency after, as the finding says, ms; `None` if it says none or a wide range.
    pub foretold_ms: Option<f64>,
    /// The same, or the middle of the range where only a range is reported, ms.
    pub middle_ms: Option<f64>,
    /// Where it lies nine times in ten, ms, if the finding shows it.
    pub range_ms: Option<(f64, f64)>,
    /// The 99th percentile, ms, if the finding says one.
    pub p99_ms: Option<f64>,
    /// Mean latency after, as the cured scenario shows, ms.
    pub came_ms: f64,
    /// The 99th percentile, likewise.
    pub came_p99_ms: f64,
}

impl Forecast {
    /// Whether it came as foretold.
    pub fn is_right(&self) -> Option<bool> {
        Some((self.foretold_ms? / self.came_ms - 1.0).abs() <= WITHIN)
    }

    /// Whether the middle was right, said or not.
    fn is_middle_right(&self) -> Option<bool> {
        Some((self.middle_ms? / self.came_ms - 1.0).abs() <= WITHIN)
    }

    /// Whether what came lies where it was foretold to lie nine times in ten.
    pub fn is_in_range(&self) -> Option<bool> {
        let (from, to) = self.range_ms?;
        Some((from..=to).contains(&self.came_ms))
    }

    /// One line of a list.
    pub fn line(&self) -> String {
        let off = match (self.is_right(), self.is_in_range()) {
            (Some(false), _) => "  off",
            (_, Some(false)) => "  outside the range",
            _ => "",
        };
        format!(
            "{} {} {} now {:.3} ms, forecast {:.3?} ms in {:.3?} ms, came {:.3} ms; \
             p99 {:.3?} ms, came {:.3} ms{off}",
            self.case,
            self.level.letter(),
            self.verdict,
            self.now_ms,
            self.middle_ms,
            self.range_ms,
            self.came_ms,
            self.p99_ms,
            self.came_p99_ms,
        )
    }

    fn is_p99_right(&self) -> Option<bool> {
        Some((self.p99_ms? / self.came_p99_ms - 1.0).abs() <= WITHIN)
    }
}

/// Forecasts for the true fault, over this many scenarios of each recipe that has a remedy;
/// of one fault only, if it is named.
///
/// # Errors
/// If a recipe is written wrong, or a rendering is not read.
pub fn forecasts(cases: usize, seed: u64, only: Option<&str>) -> Result<Vec<Forecast>, String> {
    let mut all = Vec::new();
    let wanted = |verdict: &str| has_cure(verdict) && only.is_none_or(|only| only == verdict);
    for recipe in recipes().into_iter().filter(|recipe| wanted(recipe.verdict)) {
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
/// load, of a small volume a larger one: those have no cured scenario here.
fn has_cure(verdict: &str) -> bool {
    verdict.starts_with("device.")
        || matches!(verdict, "cap.cgroup" | "cfg.scheduler" | "load.discard" | "load.rw-mix")
}

fn foretold(case: &Case, level: Level) -> Result<Option<Forecast>, String> {
    let named = |error: String| format!("{} at {}: {error}", case.name(), level.letter());
    let (faulty, well) = (case.scenario()?, case.cured()?);
    let read = |scenario| -> Result<Recording, String> {
        let inputs = render::inputs(scenario, level)?;
        render::recording(scenario, level, &inputs)
    };
    let (before, after) = (read(&faulty).map_err(named)?, read(&well).map_err(named)?);
    let findings = judge(&before, &Options::default());
    let of_truth = |finding: &&Finding| finding.verdict == faulty.truth.verdict;
    let Some(finding) = findings.first().filter(of_truth) else { return Ok(None) };
    let Some(device) = finding.subject.device else { return Ok(None) };
    let none = Forecast {
        case: case.name(),
        level,
        verdict: finding.verdict.name(),
        now_ms: 0.0,
        foretold_ms: None,
        middle_ms: None,
        range_ms: None,
        p99_ms: None,
        came_ms: 0.0,
        came_p99_ms: 0.0,
    };
    let Some(forecast) = &finding.forecast else { return Ok(Some(none)) };
    let now_ms = forecast.now_mean.ms();
    // The forecast says what it takes as the present: the requests with that mean are searched for.
    let which = EventFilter::ALL
        .into_iter()
        .filter_map(|which| Some((which, (which.seen(&before, device)?.0 / now_ms).ln().abs())));
    let which = which.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(which, _)| which);
    let name = &before.device_of(device).name;
    let came = which.zip(after.find_device(name)).and_then(|(which, id)| which.seen(&after, id));
    Ok(came.map(|(came_ms, came_p99_ms)| Forecast {
        now_ms,
        foretold_ms: forecast.is_narrow().then(|| forecast.mean.ms()),
        middle_ms: Some(forecast.mean.ms()),
        range_ms: forecast.range.map(|(from, to)| (from.ms(), to.ms())),
        p99_ms: forecast.p99.filter(|_| forecast.is_narrow()).map(|p99| p99.ms()),
        came_ms,
        came_p99_ms,
        ..none
    }))
}

/// Some of the requests of a disk, from their arrival or their start.
#[derive(Clone, Copy)]
struct EventFilter {
    op: Option<Op>,
    durable: bool,
    arrived: bool,
}

impl EventFilter {
    const ALL: [EventFilter; 5] = [
        EventFilter { op: None, durable: false, arrived: false },
        EventFilter { op: Some(Op::Read), durable: false, arrived: false },
        EventFilter { op: Some(Op::Write), durable: false, arrived: false },
        EventFilter { op: None, durable: true, arrived: false },
        EventFilter { op: None, durable: false, arrived: true },
    ];

    /// Mean and 99th percentile, ms.
    fn seen(self, recording: &Recording, device: DeviceId) -> Option<(f64, f64)> {
        let events = recording.listings.iter().flat_map(|listing| &listing.events);
        let mut of: Vec<f64> = events
            .filter(|event| event.device == device && self.has(event))
            .filter_map(|event| {
                let whole = event.longest()?.1.ms();
                let before = event.latency(iowhy_model::Stage::Before);
                let before = before.filter(|_| self.arrived).map_or(0.0, |ns| ns.ms());
                Some(whole + before)
            })
            .collect();
        of.sort_by(f64::total_cmp);
        let p99 = of.get((0.99 * of.len() as f64) as usize)?;
        (of.len() >= FEWEST).then(|| (of.iter().sum::<f64>() / of.len() as f64, *p99))
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
pub fn table(all: &[Forecast]) -> String {
    let mut verdicts: Vec<&str> = all.iter().map(|one| one.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let mut out = String::from(
        "| verdict | named | forecasts | within 20 % | median predicted / actual | middle half | \
         within its interval | middle of any interval within 20 % | p99 predicted | within 20 % |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for verdict in verdicts.into_iter().map(Some).chain([None]) {
        let of: Vec<&Forecast> =
            all.iter().filter(|one| verdict.is_none_or(|verdict| one.verdict == verdict)).collect();
        let foretold = of.iter().filter_map(|one| Some(one.foretold_ms? / one.came_ms));
        let mut ratios: Vec<f64> = foretold.collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let ratio = ratios.get((share * ratios.len() as f64) as usize);
            ratio.map_or("-".to_string(), |ratio| format!("{ratio:.2}"))
        };
        let (p99s, _) = counted(&of, Forecast::is_p99_right);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} to {} | {} | {} | {p99s} | {} |",
            verdict.map_or("all".to_string(), |verdict| format!("`{verdict}`")),
            of.len(),
            ratios.len(),
            counted(&of, Forecast::is_right).1,
            at(0.5),
            at(0.25),
            at(0.75),
            counted(&of, Forecast::is_in_range).1,
            counted(&of, Forecast::is_middle_right).1,
            counted(&of, Forecast::is_p99_right).1,
        );
    }
    out
}

/// How many of them answer, and the share that says yes.
fn counted(of: &[&Forecast], asked: fn(&Forecast) -> Option<bool>) -> (usize, String) {
    let answers: Vec<bool> = of.iter().filter_map(|one| asked(one)).collect();
    let right = answers.iter().filter(|right| **right).count();
    let share = 100.0 * right as f64 / answers.len() as f64;
    (answers.len(), if answers.is_empty() { "-".to_string() } else { format!("{share:.0} %") })
}
