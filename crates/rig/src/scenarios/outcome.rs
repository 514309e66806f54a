//! What was reported about a run, and whether it is true.

use std::ops::Range;

use serde_json::Value;

use crate::faulty_disk::{Entry, Truth};
use iowhy_lab::disk::Cause;
use iowhy_lab::written::{Figure, WrittenScenario};

/// The way by which a verdict came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// `iowhy why`, watching.
    Live,
    /// `iowhy snoop | iowhy why`.
    Pipe,
    /// `iowhy why` on what `iowhy snoop --json` wrote.
    Capture,
}

impl Route {
    /// All of them.
    pub const ALL: [Route; 3] = [Route::Live, Route::Pipe, Route::Capture];
}

/// From this confidence on a finding is an accusation; below it is only suspected (METHOD).
pub(crate) const ACCUSES: f64 = iowhy_model::STANDS;

/// A disk that answers so late is faulty by the host's fault, ns: `device.stall` begins at 50 ms
/// (METHOD).
const DISTURBED: u64 = 40_000_000;

/// What a fault adds to a request.
const ADDED: [Cause; 7] = [
    Cause::Retry,
    Cause::Slow,
    Cause::Heat,
    Cause::Stall,
    Cause::Recovery,
    Cause::Timer,
    Cause::Wake,
];

/// A verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The first finding's verdict.
    pub verdict: String,
    /// The device it is about, if it is about one.
    pub device: Option<String>,
    /// Its confidence.
    pub confidence: f64,
    /// The value that the scenario checks.
    pub figure: Option<f64>,
    /// Every disk that is accused, and of what.
    pub(super) accused: Vec<(String, String)>,
}

/// The verdicts of a run, one per way.
#[derive(Clone, PartialEq, Debug)]
pub struct RunVerdicts {
    /// In the order of [`Route::ALL`]; `None` where there was no report.
    pub answers: [Option<Answer>; 3],
}

/// A run, what was reported of it, and the truth.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The scenario.
    pub scenario: &'static WrittenScenario,
    /// The seed.
    pub seed: u64,
    /// The true value.
    pub truth: Option<f64>,
    /// Requests in the log of the first disk.
    pub requests: usize,
    /// How late the disks' answers were at most, ns: that is the host's doing, not the model's.
    pub late: u64,
    pub(super) faulty: Vec<String>,
    pub(super) judged: RunVerdicts,
}

impl Answer {
    /// Reads a report.
    pub fn read(report: &Value, scenario: &WrittenScenario) -> Option<Answer> {
        let findings = report["findings"].as_array()?;
        let first = findings.first()?;
        let text = |finding: &Value, key: &str| finding[key].as_str().map(str::to_string);
        let accuses = |finding: &&Value| {
            finding["blame"] == "disk"
                && finding["explained_by"].is_null()
                && finding["confidence"].as_f64().is_some_and(|sure| sure >= ACCUSES)
        };
        let accused = findings.iter().filter(accuses);
        Some(Answer {
            verdict: text(first, "verdict")?,
            device: text(first, "device"),
            confidence: first["confidence"].as_f64().unwrap_or(0.0),
            figure: figure(first, scenario.figure),
            accused: accused
                .filter_map(|finding| Some((text(finding, "device")?, text(finding, "verdict")?)))
                .collect(),
        })
    }
}

/// The figure that a finding rests on.
fn figure(finding: &Value, figure: Figure) -> Option<f64> {
    let cited = |quantities: [&str; 2]| {
        let evidence = finding["evidence"].as_array()?;
        let is = |fact: &&Value| quantities.iter().any(|quantity| fact["quantity"] == *quantity);
        evidence.iter().find(is)?["value"].as_f64()
    };
    match figure {
        Figure::None => None,
        Figure::Rpm(_) => cited(["spindle speed", "spindle speed of that revolution time"]),
        Figure::Cap(_) => cited(["throughput", "throughput after the fall, median"]),
        Figure::Added => {
            let forecast = &finding["forecast"];
            Some(forecast["now_mean_ms"].as_f64()? - forecast["mean_ms"].as_f64()?)
        }
    }
}

impl Outcome {
    /// Compares the reports with the logs of the disks, the first disk's first.
    pub fn new(
        scenario: &'static WrittenScenario,
        seed: u64,
        devices: &[String],
        judged: RunVerdicts,
        truths: &[Truth],
        span: &Range<u64>,
    ) -> Outcome {
        let own: Vec<&Entry> =
            truths.first().into_iter().flat_map(|truth| &truth.entries).collect();
        let watched: Vec<&Entry> =
            own.iter().filter(|entry| span.contains(&entry.arrival)).copied().collect();
        let truth = match scenario.figure {
            Figure::None => None,
            Figure::Rpm(value) | Figure::Cap(value) => Some(value),
            Figure::Added => {
                let added =
                    |entry: &&Entry| ADDED.map(|cause| entry.spent(cause)).iter().sum::<u64>();
                let sum = watched.iter().map(added).sum::<u64>();
                Some(sum as f64 / watched.len().max(1) as f64 / 1e6)
            }
        };
        let faulty = match scenario.beside {
            _ if !scenario.faulty() => 0,
            (_, true) => devices.len(),
            (_, false) => 1,
        };
        let faulty = devices.iter().take(faulty).cloned().collect();
        let all = truths.iter().flat_map(|truth| &truth.entries);
        let all = all.filter(|entry| span.contains(&entry.arrival));
        let late = all.map(|entry| entry.reply.saturating_sub(entry.due)).max().unwrap_or(0);
        Outcome { scenario, seed, truth, requests: watched.len(), late, faulty, judged }
    }

    /// The verdict that came by a way.
    pub fn answer(&self, way: Route) -> Option<&Answer> {
        self.judged.answers.get(way as usize)?.as_ref()
    }

    /// Whether that verdict is right, and about the right disk.
    pub fn right(&self, way: Route) -> bool {
        self.answer(way).is_some_and(|answer| {
            let device = |name: &String| self.faulty.is_empty() || self.faulty.contains(name);
            self.scenario.accepts(&answer.verdict) && answer.device.as_ref().is_none_or(device)
        })
    }

    /// Whether the host kept a disk off the processor for long enough to make it look faulty.
    pub fn disturbed(&self) -> bool {
        self.late > DISTURBED
    }

    /// Healthy disks that were accused by any way, and of what.
    pub fn falsely_accused(&self) -> Vec<&(String, String)> {
        let answers = self.judged.answers.iter().flatten();
        let accused = answers.flat_map(|answer| &answer.accused);
        accused.filter(|(device, _)| !self.faulty.contains(device)).collect()
    }

    /// The run in one line.
    pub fn line(&self) -> String {
        let reported = Route::ALL.map(|way| match self.answer(way) {
            Some(answer) => {
                let right = if self.right(way) { "" } else { " WRONG" };
                format!("{} {:.0} %{right}", answer.verdict, 100.0 * answer.confidence)
            }
            None => "no verdict WRONG".to_string(),
        });
        format!("{} seed {}: {}", self.scenario.name, self.seed, reported.join(", "))
    }
}
