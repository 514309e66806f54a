//! Read/write interference: writes slow down reads on the same device, or reads slow down writes.
//!
//! ## Accuses
//! The mix of the load: requests of one kind take several times as long while one of the other kind
//! is in flight, more than queueing explains.
//!
//! ## Why it matters
//! Flash programs a page fifty times longer than it reads one, and a read of the same chip waits. A
//! platter must seek between the two. The device is not faulty, and a faster one of the same kind
//! helps less than separating the two.
//!
//! ## Needs
//! A per-I/O log with issue and completion makes it certain. From averages over many intervals it
//! is suspected.
//!
//! ## Rule
//! The device time of reads with at least one write in flight is at least twice that of reads
//! without, with thirty of each, a probability by chance below 1 %, and still 1.5 times at equal
//! queue depth. The requests in flight at issue count: reads that no write joined until they
//! completed are a biased sample under a busy writer, fast ones only. If no queue depth occurs on
//! both sides, the factor must be twice that expected from the difference in depth alone. The same
//! for writes with reads.
//!
//! ## Wrong if
//! Both have a third cause, such as a burst of all I/O or a device that stalls.
//!
//! ## Next step
//! Set a latency target for reads, limit the writer, or put the two on separate devices.

use iowhy_model::{Finding, Forecast, Level, Op, Verdict};

use crate::analysis::Analysis;
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::new_finding;
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::forecast::from_latencies;
use crate::measures::exposure::{self, Exposure, Sample};
use crate::measures::service::ServiceSpan;
use crate::measures::spans::{self, Spans};
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadRwMix,
    summary: "Read/write interference on the same device",
    manual: iowhy_model::manual!("load_rw_mix.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::C,
        seconds: 60,
        what: "the latency of each read and the writes in flight at the same time",
    },
    explains: &[Verdict::DeviceSlow, Verdict::LoadLargeIo, Verdict::LoadSaturated],
    rule: Rule::Detect(detect),
};

/// The prior where averages do not show what was in flight.
const PRIOR_OF_ROWS: f64 = 0.35;
/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const MIN_RATIO: f64 = 2.0;
const EACH: usize = 30;
const CHANCE: f64 = 0.01;
/// What must remain at the same number in flight: half of its excess over one.
const MATCHED: f64 = 1.5;
/// Intervals of each kind (docs/METHOD.md, 10 Rules: at least five each).
const ROWS: usize = 5;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.traces.iter().filter_map(|trace| from_trace(analysis, trace));
    let rows = analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    traced.chain(rows).collect()
}

/// What one operation does to the other.
struct Effect {
    victim: Op,
    culprit: Op,
    found: Exposure,
    /// The factor that remains when depth is taken out.
    fair: f64,
}

fn from_trace(analysis: &Analysis, trace: &DeviceTrace) -> Option<Finding> {
    let effect = [(Op::Read, Op::Write), (Op::Write, Op::Read)]
        .into_iter()
        .filter_map(|(victim, culprit)| effect(trace, victim, culprit))
        .max_by(|a, b| a.found.excess_ns.total_cmp(&b.found.excess_ns))?;
    let found = effect.found;
    let lost = found.excess_ns / trace.span_ns();
    if lost < confidence::NOTICEABLE {
        return None;
    }
    let (victims, culprits) = (phrase::plural(effect.victim), phrase::plural(effect.culprit));
    let (met, free) = (found.exposed as u64, found.spared as u64);
    let mut finding = new_finding(DETECTOR.verdict, Some(trace.device), vec![trace.listing]);
    finding.sentence = format!(
        "{culprits} slow down the {victims} of {}: {} each while one is in flight, {} otherwise",
        phrase::disk(&trace.disk),
        phrase::ns(found.exposed_ns),
        phrase::ns(found.spared_ns)
    );
    let computed = analysis.computed(trace.listing, met);
    finding.evidence = vec![
        computed.ms(
            &format!("device time of {victims} with {culprits} in flight, median"),
            found.exposed_ns / 1e6,
        ),
        computed
            .over(free)
            .ms(&format!("device time of {victims} alone, median"), found.spared_ns / 1e6),
        computed.over(met + free).ratio("latency ratio mixed/alone", found.ratio).above(MIN_RATIO),
        computed
            .over(met + free)
            .ratio("the same ratio at equal queue depth", effect.fair)
            .above(MATCHED)
            .weighs(),
        computed.seconds("time lost, per second", lost).above(confidence::NOTICEABLE).weighs(),
    ];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, []);
    finding.explained_share = found.excess_ns / trace.lost_ns().max(found.excess_ns).max(1.0);
    finding.forecast = alone(trace, &effect);
    advise(&mut finding, &trace.disk, effect.victim);
    Some(finding)
}

/// The latency of the victims, and of those without others in flight.
fn alone(trace: &DeviceTrace, effect: &Effect) -> Option<Forecast> {
    let stretch = |span: &ServiceSpan| (span.issued_ns, span.completed_ns);
    let of = |op: Op| trace.spans.iter().filter(move |span| span.op == op);
    // What the culprits left on the device goes on for about as long as one of them.
    let long: Vec<f64> = of(effect.culprit).map(ServiceSpan::latency_ns).collect();
    let long = spread::median(&long)? as i64;
    let under_way = Spans::of(of(effect.culprit).map(stretch));
    let wake = of(effect.culprit).map(stretch).map(|(from, to)| (from, to.saturating_add(long)));
    let wake = Spans::of(wake);
    let all: Vec<f64> = of(effect.victim).map(ServiceSpan::latency_ns).collect();
    let outside = |spans: &Spans| -> Vec<f64> {
        let met = |span: &&ServiceSpan| !spans.meets(span.issued_ns, span.issued_ns);
        of(effect.victim).filter(met).map(ServiceSpan::latency_ns).collect()
    };
    let spared = Some(outside(&wake)).filter(|some| some.len() >= EACH);
    let spared = spared.unwrap_or_else(|| outside(&under_way));
    let (victims, culprits) = (phrase::plural(effect.victim), phrase::plural(effect.culprit));
    let assuming =
        format!("the {culprits} go to another device, and {victims} take as long as they do alone");
    from_latencies(&all, &spared, assuming)
}

fn effect(trace: &DeviceTrace, victim: Op, culprit: Op) -> Option<Effect> {
    let stretch = |span: &ServiceSpan| (span.issued_ns, span.completed_ns);
    let of = |op: Op| trace.spans.iter().filter(move |span| span.op == op).map(stretch);
    if of(culprit).count() < EACH || of(victim).count() < 2 * EACH {
        return None;
    }
    let under_way = Spans::of(of(culprit));
    let all: Vec<(i64, i64)> = trace.spans.iter().map(stretch).collect();
    let depths = spans::open_at_start(&all, &all);
    let samples: Vec<(Sample, u32)> = trace
        .spans
        .iter()
        .zip(&depths)
        .filter(|(span, _)| span.op == victim)
        .map(|(span, depth)| {
            let ns = span.completed_ns.saturating_sub(span.issued_ns) as f64;
            // Whom it joins later does not decide, for what is slow is joined more often.
            let exposed = under_way.meets(span.issued_ns, span.issued_ns);
            (Sample { ns, exposed, stratum: *depth }, *depth)
        })
        .collect();
    let depth = |exposed: bool| {
        let known: Vec<f64> = samples
            .iter()
            .filter(|(sample, _)| sample.exposed == exposed)
            .map(|(_, depth)| f64::from(*depth))
            .collect();
        spread::mean(&known)
    };
    let only: Vec<Sample> = samples.iter().map(|(sample, _)| *sample).collect();
    let found = exposure::exposure(&only)?;
    // Where no depth occurs on both sides, what depth alone would make is taken out.
    let deeper = (depth(true)? / depth(false)?.max(1.0)).max(1.0);
    let (fair, bound) = match found.matched {
        Some(matched) => (matched, MATCHED),
        None => (found.ratio / deeper, MIN_RATIO),
    };
    let enough = found.exposed >= EACH && found.spared >= EACH;
    let holds = found.ratio >= MIN_RATIO && fair >= bound && found.p < CHANCE;
    (enough && holds).then_some(Effect { victim, culprit, found, fair })
}

/// From averages: intervals with many of the other kind compared with intervals with few.
fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let (victim, culprit, found) = [(Op::Read, Op::Write), (Op::Write, Op::Read)]
        .into_iter()
        .filter_map(|(victim, culprit)| Some((victim, culprit, of_rows(rows, victim, culprit)?)))
        .max_by(|a, b| a.2.ratio.total_cmp(&b.2.ratio))?;
    let row = rows.first()?;
    let (victims, culprits) = (phrase::plural(victim), phrase::plural(culprit));
    let (met, free) = (found.exposed as u64, found.spared as u64);
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{culprits} probably slow down the {victims} of {}: await is {} in intervals with many \
         {culprits}, {} in those with few",
        phrase::disk(&row.disk),
        phrase::ns(found.exposed_ns),
        phrase::ns(found.spared_ns)
    );
    let printed = analysis.printed(row.listing, met);
    finding.evidence = vec![
        printed.ms(&format!("await of {victims} with {culprits}, median"), found.exposed_ns / 1e6),
        printed.over(free).ms(&format!("await of {victims} alone, median"), found.spared_ns / 1e6),
        analysis
            .computed(row.listing, met + free)
            .ratio("latency ratio mixed/alone", found.ratio)
            .above(MIN_RATIO)
            .weighs(),
    ];
    confidence::believe(&mut finding, PRIOR_OF_ROWS, []);
    finding.explained_share = 1.0 - found.spared_ns / found.exposed_ns;
    advise(&mut finding, &row.disk, victim);
    Some(finding)
}

fn of_rows(rows: &[&IntervalSample], victim: Op, culprit: Op) -> Option<Exposure> {
    let per_s =
        |row: &IntervalSample, op: Op| row.interval.of(op).map_or(0.0, |rates| rates.ios_per_s);
    let usable: Vec<(&IntervalSample, f64)> = rows
        .iter()
        .filter(|row| row.agrees && per_s(row, victim) > 0.0)
        .filter_map(|row| Some((*row, row.interval.of(victim)?.await_ns?)))
        .collect();
    // Beside the victims: at least a quarter as many; alone: at most one in fifty.
    let with = |row: &IntervalSample| per_s(row, culprit) >= 0.25 * per_s(row, victim);
    let alone = |row: &IntervalSample| per_s(row, culprit) <= 0.02 * per_s(row, victim);
    let samples: Vec<Sample> = usable
        .iter()
        .filter(|(row, _)| with(row) || alone(row))
        .map(|(row, ns)| Sample { ns: *ns, exposed: with(row), stratum: 0 })
        .collect();
    let rate = |exposed: bool| {
        let known: Vec<f64> = usable
            .iter()
            .filter(|(row, _)| if exposed { with(row) } else { alone(row) })
            .map(|(row, _)| per_s(row, victim))
            .collect();
        spread::median(&known)
    };
    let found = exposure::exposure(&samples)?;
    // More of the victims themselves would explain it as well.
    let no_more = rate(true)? <= 1.2 * rate(false)?;
    let enough = found.exposed >= ROWS && found.spared >= ROWS;
    (enough && no_more && found.ratio > MIN_RATIO && found.p < CHANCE).then_some(found)
}

fn advise(finding: &mut Finding, disk: &str, victim: Op) {
    let victims = phrase::plural(victim);
    finding.refuted_by = vec![
        format!("{victims} alone, at equal queue depth, are just as slow"),
        "the device stalls for all I/O at those moments".to_string(),
    ];
    let limit = |who: &str, key: &str, watched: &str| {
        format!(
            "limit the {who}: `systemctl set-property {}.service {key}=\"/dev/{} 50M\"`, and watch \
             the {watched}",
            who.to_uppercase(),
            phrase::disk(disk)
        )
    };
    finding.next_step = match victim {
        Op::Write => vec![
            limit("reader", "IOReadBandwidthMax", "writes"),
            "set an io.latency target or a lower weight (`io.weight`) for the reader's group"
                .to_string(),
        ],
        _ => vec![
            limit("writer", "IOWriteBandwidthMax", "reads"),
            "prioritise reads: `mq-deadline` or `kyber` as scheduler, or io.latency for their group"
                .to_string(),
        ],
    };
    finding.next_step.push("put logs and data on separate devices".to_string());
}
