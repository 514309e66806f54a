//! The drive throttles itself because it is too warm.
//!
//! ## Accuses
//! Heat: the drive throttles to protect itself. The cause is airflow, heatsink or load, not its
//! cells.
//!
//! ## Why it matters
//! A replacement in the same place gets just as warm. Throttling starts minutes into a load and
//! ends when the drive is idle, so short tests never see it.
//!
//! ## Needs
//! Temperature along with the latencies: two SMART records (`smartctl -j -a` before and after), or
//! temperatures sampled during the capture.
//!
//! ## Rule
//! Heat: a throttling counter of the drive (transitions, time above the warning) increased between
//! two records, the NVMe critical warning has its temperature bit set, or the temperature is within
//! 2 C of the drive's own warning threshold. And slowness that follows it: service times fall into
//! a fast and a slow state, at least a factor of 1.5 apart, or ln of service time correlates with
//! temperature (r above 0.5 over ten samples or more). Heat without slowness is only mentioned.
//!
//! ## Wrong if
//! A write cache is full: the slowdown then follows the same amount of data each time, at any
//! temperature.
//!
//! ## Next step
//! Improve airflow or the heatsink, spread the writes; watch temperature and throughput together.

use iowhy_model::{Bound, Clause, Finding, Forecast, Level, Nanos, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::state_windows;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::candidates::{self, FaultCandidate};
use crate::evidence::cases::Case;
use crate::evidence::confidence::PRIOR_OF_CAP;
use crate::evidence::signals::{Signal, bit, program, rise};
use crate::facts::reading::FactReading;
use crate::measures::regimes;
use crate::measures::{correlation, spread};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::DeviceThermal,
    summary: "The drive throttles itself because it is too warm",
    manual: iowhy_model::manual!("device_thermal.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::E,
        seconds: 600,
        what: "the drive's temperature and throttling counters, before and after the capture",
    },
    explains: &[
        Verdict::DeviceSlow,
        Verdict::DeviceWriteCliff,
        Verdict::LoadLargeIo,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// What the drive reports about its temperature: counters of the NVMe health log that only
/// overheating increases (NVM Express base specification), its warning, and its temperature.
const HEAT: [Signal; 6] = [
    rose("thermal_temp1_transition_count", "transitions to light throttling"),
    rose("thermal_temp2_transition_count", "transitions to heavy throttling"),
    rose("warning_temp_time", "minutes above the warning temperature"),
    rose("critical_comp_time", "minutes above the critical temperature"),
    bit(key::SMART_NVME.of("critical_warning"), TOO_WARM, 2.5)
        .what("NVMe critical warning, bit 1: temperature")
        .say("it reports a temperature warning"),
    program(near_its_warning),
];
/// Weight of each sign, nats.
const AT_WARNING: f64 = 1.5;
const STEPPED: f64 = 2.0;
const CORRELATES: f64 = 2.5;
/// Degrees below the drive's warning from which it is warm (docs/METHOD.md, 17 Faults).
const BELOW_WARNING: f64 = 2.0;
/// Bit of the NVMe critical warning: temperature (NVM Express base specification).
const TOO_WARM: u64 = 2;
/// Correlation and samples needed for it (docs/METHOD.md, 17 Faults).
const R: f64 = 0.5;
const SAMPLES: usize = 10;
/// How close the length of a series of SMART records must be to that of the capture (choice).
const AS_LONG: f64 = 0.20;
/// Smaller steps than those that divide a trace do not count.
const STEP: f64 = 1.5;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    Case::of_disks(&candidates).filter_map(|case| finding(&case)).collect()
}

fn finding(case: &Case) -> Option<Finding> {
    let (candidate, mut builder) = (case.candidate?, case.builder());
    let correlates = correlation(candidate, &mut builder);
    let heat = builder.strongest(case, &HEAT);
    if heat + correlates <= 0.0 {
        return None;
    }
    let step = step(candidate);
    if let (Some(step), Some(listing)) = (&step, candidate.listing) {
        let n = step.requests;
        let bound = Some(Bound::Above(STEP));
        let ratio = (step.slow_ns / step.fast_ns, Unit::Ratio, n);
        builder.number(listing, "service time ratio slow/fast state", ratio, bound);
        let fast = (step.fast_ns / 1e6, Unit::Ms, n);
        builder.number(listing, "service time in the fast state", fast, None);
        let slow = (step.slow_ns / 1e6, Unit::Ms, n);
        builder.number(listing, "service time in the slow state", slow, None);
    }
    builder.clauses = vec![
        Clause::fixed("temperature", heat),
        Clause::fixed("correlation of service time and temperature", correlates),
        Clause::fixed("a step in the service time", step.as_ref().map_or(-2.0, |_| STEPPED)),
    ];
    let mut finding = builder.finding(DETECTOR.verdict, Some(candidate.device));
    builder.believe(&mut finding, PRIOR_OF_CAP);
    finding.explained_share = step.as_ref().map_or(0.0, |step| step.lost_share);
    finding.sentence = format!(
        "{} throttles because of its temperature: {}{}",
        phrase::disk(&candidate.disk),
        phrase::list(&builder.words),
        step.as_ref().map_or(String::new(), |step| format!(
            "; while throttled, each request takes {} instead of {}",
            phrase::ns(step.slow_ns),
            phrase::ns(step.fast_ns)
        ))
    );
    let cool = "the drive stays cool; its own time per request, without queueing";
    finding.forecast = step.map(|step| {
        Forecast::of_means(Nanos(step.mean_ns as i64), Nanos(step.fast_ns as i64), cool)
    });
    finding.refuted_by = lines(&[
        "each slowdown follows the same amount of written data: then a write cache is full",
        "the drive is just as slow when it is cool",
    ]);
    let steps = [
        "add airflow or a heatsink, then repeat the load: does it stay fast?",
        "`smartctl -j -a {node} > before.json`, the same afterwards, and `iowhy why` with both and \
         the capture in between",
        "spread long writes over time or over several drives",
    ];
    finding.next_step = phrase::about(&steps, &candidate.disk);
    Some(finding)
}

const fn rose(counter: &'static str, what: &'static str) -> Signal {
    rise(key::SMART_NVME.of(counter), 3.0).what(what)
}

/// The highest temperature beside the drive's own threshold.
fn near_its_warning(builder: &mut EvidenceBuilder, case: &Case, _: f64) -> f64 {
    let about = case.about();
    let celsius = [key::DEVICE_CELSIUS, key::SMART_CELSIUS, key::SMART_NVME_TEMPERATURE];
    let warning = [key::DEVICE_CELSIUS_WARNING, key::SMART_CELSIUS_WARNING];
    let readings = celsius.into_iter().flat_map(|key| about.all(key));
    let readings = readings.filter_map(|reading| Some((reading.number()?, reading)));
    let warmest = readings.max_by(|a, b| a.0.total_cmp(&b.0));
    let warns = warning.into_iter().find_map(|key| about.number(key));
    let Some(((degrees, reading), (warns, _))) = warmest.zip(warns) else { return 0.0 };
    let bound = Some(Bound::Above(warns - BELOW_WARNING - 0.1));
    let what = "highest temperature, degrees Celsius";
    builder.fact(&reading, what, (degrees, Unit::Count), bound);
    if degrees < warns - BELOW_WARNING {
        return 0.0;
    }
    builder.words.push(format!("up to {degrees:.0} C with a warning threshold of {warns:.0} C"));
    AT_WARNING
}

/// Fast and slow states of the device, by service time.
struct Step {
    fast_ns: f64,
    slow_ns: f64,
    mean_ns: f64,
    lost_share: f64,
    requests: usize,
}

fn step(candidate: &FaultCandidate) -> Option<Step> {
    let windows = state_windows::windows(candidate.trace?, |_| true).windows;
    let costs: Vec<f64> = windows.iter().map(|window| window.cost_ns.max(1.0)).collect();
    let levels: Vec<(f64, usize)> = regimes::cut(&costs)
        .into_iter()
        .filter_map(|cut| Some((spread::median(costs.get(cut.clone())?)?, cut.len())))
        .collect();
    let fast_ns = levels.iter().map(|(level, _)| *level).reduce(f64::min)?;
    let slow_ns = levels.iter().map(|(level, _)| *level).reduce(f64::max)?;
    let beyond = |cost: &f64| (cost - fast_ns).max(0.0);
    let all: f64 = costs.iter().map(beyond).sum();
    let slow: f64 = costs.iter().filter(|cost| **cost > STEP * fast_ns).map(beyond).sum();
    let requests = windows.iter().map(|window| window.requests).sum::<f64>() as usize;
    (slow_ns > STEP * fast_ns && all > 0.0).then_some(Step {
        fast_ns,
        slow_ns,
        mean_ns: spread::mean(&costs)?,
        lost_share: slow / all,
        requests,
    })
}

/// Temperatures sampled beside the I/O as (degrees, s on the capture's clock). A
/// series of SMART records that is as long as the capture is taken to have run beside it.
fn samples<'a>(
    candidate: &FaultCandidate<'_, 'a>,
    trace: &DeviceTrace,
) -> Vec<(f64, f64, FactReading<'a>)> {
    let about = candidate.about();
    let live: Vec<(f64, f64, FactReading)> = about
        .all(key::DEVICE_CELSIUS)
        .filter_map(|reading| Some((reading.number()?, reading.fact.at?.seconds(), reading)))
        .collect();
    if !live.is_empty() {
        return live;
    }
    let times: Vec<f64> = about.all(key::SMART_AT).filter_map(|reading| reading.number()).collect();
    let degrees: Vec<(f64, FactReading)> = about
        .all(key::SMART_CELSIUS)
        .filter_map(|reading| Some((reading.number()?, reading)))
        .collect();
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return Vec::new() };
    let begun_s = trace.spans.iter().map(|span| span.issued_ns).min().unwrap_or(0) as f64 / 1e9;
    let as_long = ((last - first) / (trace.span_ns() / 1e9) - 1.0).abs() < AS_LONG;
    if times.len() != degrees.len() || !as_long {
        return Vec::new();
    }
    let beside = times.iter().zip(degrees);
    beside.map(|(at, (celsius, reading))| (celsius, begun_s + at - first, reading)).collect()
}

/// Service times around each sample of temperature against it.
fn correlation(candidate: &FaultCandidate, builder: &mut EvidenceBuilder) -> f64 {
    let (Some(trace), Some(listing)) = (candidate.trace, candidate.listing) else { return 0.0 };
    let samples = samples(candidate, trace);
    let (mut warmth, mut ln_service) = (Vec::new(), Vec::new());
    for pair in samples.windows(2) {
        let ((celsius, from, _), (_, to, _)) = (pair[0], pair[1]);
        let around = (from * 1e9) as i64..(to * 1e9) as i64;
        let services: Vec<f64> = trace
            .spans
            .iter()
            .zip(&trace.services_ns)
            .filter(|(span, _)| around.contains(&span.completed_ns))
            .map(|(_, service)| *service)
            .collect();
        if let Some(median) = spread::median(&services).filter(|median| *median > 0.0) {
            warmth.push(celsius);
            ln_service.push(median.ln());
        }
    }
    let Some(r) = correlation::pearson(&warmth, &ln_service) else { return 0.0 };
    if warmth.len() < SAMPLES || r <= R {
        return 0.0;
    }
    let value = (r, Unit::Count, warmth.len());
    let what = "correlation of ln service with temperature";
    builder.number(listing, what, value, Some(Bound::Above(R)));
    let hottest = samples.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((celsius, _, reading)) = hottest {
        let warmest = (*celsius, Unit::Count);
        builder.fact(reading, "warmest sample, degrees Celsius", warmest, None);
        builder.words.push(format!("it gets slower with rising temperature, up to {celsius:.0} C"));
    }
    CORRELATES
}
