//! What the judge makes of a probe's own I/Os, and what the probe itself knows besides.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{
    Basis, Bound, Evidence, Family, Finding, How, Medium, Origin, Recording, Subject, Unit, Verdict,
};
use iowhy_probe::{Held, Own, Turns, digits, time};

use super::Measured;

/// Verdicts on the load say nothing here: the load is the probe's own, and on purpose.
const OWN_LOAD: [Verdict; 4] =
    [Verdict::LoadBurst, Verdict::LoadLargeIo, Verdict::LoadSaturated, Verdict::LoadSmallSync];
/// The verdict of a limit of a control group.
const CAP: Verdict = Verdict::CapCgroup;
/// The verdict of writes that each wait a turn.
const MISSED: Verdict = Verdict::LoadMissedTurn;
/// What a limit explains away: the wait it makes looks like a slow or full device.
fn explained_by_cap(verdict: Verdict) -> bool {
    verdict == Verdict::CapVolume || matches!(verdict.family(), Family::Device | Family::Load)
}

/// The verdict of evidence that carries none.
const UNSETTLED: Verdict = Verdict::Insufficient;
/// I/Os from which on it is not for want of them that nothing is accused: a p99 needs as many.
const ENOUGH: u64 = 100;

/// The findings on a probe.
pub fn of(recording: &Recording, measured: &Measured, options: &Options) -> Vec<Finding> {
    let own = &measured.own;
    let rpm = options.rpm.or(measured.outcome.rpm);
    let mut findings = judge(recording, &Options { rpm, ..options.clone() });
    without_own_doing(recording, own, &mut findings);
    if let Some(missed) = &measured.outcome.missed
        && !findings.iter().any(|finding| finding.verdict == MISSED)
    {
        findings.retain(|finding| !matches!(finding.verdict, UNSETTLED | Verdict::Healthy));
        for finding in findings.iter_mut().filter(|known| known.verdict.family() == Family::Device)
        {
            finding.explained_by = Some(MISSED);
        }
        findings.insert(0, missed_turns(recording, missed));
    }
    if let Some(held) = &own.held {
        let cap = capped(recording, held);
        findings.retain(|finding| !matches!(finding.verdict, CAP | UNSETTLED | Verdict::Healthy));
        for finding in &mut findings {
            if explained_by_cap(finding.verdict) {
                finding.explained_by = Some(CAP);
            }
        }
        findings.insert(0, cap);
    }
    if measured.own.n >= ENOUGH && findings.iter().all(|known| known.verdict == UNSETTLED) {
        findings = vec![nobody(recording, &measured.own)];
    }
    findings
}

/// Nothing is left that accuses or clears the device: the queue was the probe's own, or the machine's
/// CPUs made the latencies. That is a finding too, with what would decide.
fn nobody(recording: &Recording, own: &Own) -> Finding {
    let probe = recording.listings.iter().position(is_probe);
    let event = probe.and_then(|place| recording.listings.get(place)?.events.first());
    let device = event.map(|event| event.device);
    let name = device.map_or("the target", |device| &recording.device_of(device).name);
    let line = |quantity: &str, value: f64, unit: Unit, how: How| Evidence {
        quantity: quantity.to_string(),
        value,
        unit,
        bound: None,
        n: own.n,
        how,
        basis: Basis::Measured,
        disk: None,
        origin: Origin::of("probe"),
    };
    let mut evidence = vec![line("I/Os measured", own.n as f64, Unit::Count, How::Traced)];
    if let Some(waited) = own.no_cpu_ns {
        let share = (waited as f64 / own.ran_ns.max(1) as f64).min(1.0);
        evidence.push(line("time ready without a CPU", share, Unit::Share, How::Reported));
    }
    let live = format!("`iowhy why --for 30s` while it is slow: {name} under its real load");
    let (sentence, first) = match own.caution() {
        Some(_) => (
            format!("the machine's CPUs were too busy for a verdict on {name}"),
            "the same probe while the machine is idle".to_string(),
        ),
        None => (
            format!("what waited on {name} waited behind the probe's own I/Os: nobody is accused"),
            "`iowhy probe calibrate`: what the device takes for one I/O at a time".to_string(),
        ),
    };
    Finding {
        verdict: UNSETTLED,
        subject: Subject {
            device,
            listings: probe.into_iter().collect(),
            group: None,
            devices: Vec::new(),
        },
        sentence,
        evidence,
        confidence: SURE,
        explained_share: 0.0,
        refuted_by: vec!["a probe of one I/O at a time finds it slow".to_string()],
        next_step: vec![first, live],
        forecast: None,
        explained_by: None,
        seen: Vec::new(),
        requesters: Vec::new(),
        impact: None,
    }
}

/// Takes out what accuses the probe's own load, or a device for what the machine's CPUs did.
fn without_own_doing(recording: &Recording, own: &Own, findings: &mut Vec<Finding>) {
    let disturbed = own.caution().is_some();
    findings.retain(|finding| {
        let listings = &finding.subject.listings;
        let probed = listings.iter().filter_map(|place| recording.listings.get(*place));
        let own_only = probed.clone().count() > 0 && probed.clone().all(is_probe);
        // Of a device nobody knows, a queue that the probe made says nothing.
        let known = finding.subject.device.and_then(|device| recording.device_of(device).medium);
        let guessed = known.is_none_or(|medium| medium == Medium::Stacked);
        let deep = probed.clone().flat_map(|known| &known.events);
        let deep = deep.filter_map(|event| event.depth).any(|depth| depth > 1);
        let queued = guessed && deep && finding.verdict == Verdict::DeviceSlow;
        let doubtful = queued || disturbed && finding.verdict.family() == Family::Device;
        !(own_only && (doubtful || OWN_LOAD.contains(&finding.verdict)))
    });
}

fn is_probe(listing: &iowhy_model::Listing) -> bool {
    listing.source.format == "probe"
}

/// The judge asks besides that no write is quicker than half a turn. On a busy machine some are: a
/// completion that is seen late leaves the next write less to wait for. The probe itself knows that
/// its writes were in sequence and one at a time, and that is what the judge asks for that for.
fn missed_turns(recording: &Recording, missed: &Turns) -> Finding {
    let probe = recording.listings.iter().position(is_probe);
    let device = probe
        .and_then(|place| recording.listings.get(place)?.events.first())
        .map(|event| event.device);
    let line = |quantity: &str, value: f64, unit: Unit, how: How, bound: Option<Bound>| Evidence {
        quantity: quantity.to_string(),
        value,
        unit,
        bound,
        n: missed.n,
        how,
        basis: Basis::Measured,
        disk: None,
        origin: Origin::of("probe"),
    };
    let on_turn = Some(Bound::Above(ON_TURN));
    Finding {
        verdict: MISSED,
        subject: Subject {
            device,
            listings: probe.into_iter().collect(),
            group: None,
            devices: Vec::new(),
        },
        sentence: format!(
            "each synchronous write waits a whole turn of the platter, {:.3} ms at {:.0} rpm: its \
             sector has just passed under the head when the write before it returns",
            missed.turn_ms, missed.rpm
        ),
        evidence: vec![
            line(
                "writes that take whole revolutions",
                missed.share,
                Unit::Share,
                How::Traced,
                on_turn,
            ),
            line("mean latency", missed.mean_ms, Unit::Ms, How::Traced, None),
            line("one turn at that speed", missed.turn_ms, Unit::Ms, How::Computed, None),
        ],
        confidence: SURE,
        explained_share: missed.share,
        refuted_by: vec![
            "writes to random places (`--order random`) take a whole turn, too".to_string(),
            "with two writes in flight (`--depth 2`) each still waits a turn".to_string(),
        ],
        next_step: vec![
            "the same with `--depth 32`: the picture shows what enqueueing ahead brings"
                .to_string(),
            "write bigger blocks, or commit in groups".to_string(),
        ],
        forecast: None,
        explained_by: None,
        seen: Vec::new(),
        requesters: Vec::new(),
        impact: None,
    }
}

/// Share of the writes that must stand on a turn, and how often that is right from 20 writes on
/// (docs/METHOD.md, 5 Missed turn).
const ON_TURN: f64 = 0.85;
const SURE: f64 = 0.95;

/// The probe's rate stood on the limit it read, and the wait was before the device: certain but
/// for a device whose own pace happens to be that number.
fn capped(recording: &Recording, held: &Held) -> Finding {
    let probe = recording.listings.iter().position(is_probe);
    let device = recording
        .listings
        .iter()
        .filter(|known| is_probe(known))
        .find_map(|known| known.facts.first().and_then(|fact| fact.device));
    let unit = held.limit.kind.unit();
    let evidence = |quantity: &str, value: f64, unit: Unit, source: &str| Evidence {
        quantity: quantity.to_string(),
        value,
        unit,
        bound: None,
        n: held.n,
        how: How::Computed,
        basis: Basis::Measured,
        disk: None,
        origin: Origin::of(source),
    };
    let file = held.limit.file.display().to_string();
    let limit = held.limit.per_s;
    let mut lines = vec![Evidence {
        how: How::Reported,
        n: 1,
        ..evidence("limit of the control group", limit, unit, &file)
    }];
    let done = evidence("done per second", held.moved_per_s, unit, "probe");
    lines.push(Evidence { bound: Some(Bound::Between(limit * 0.95, limit * 1.05)), ..done });
    if let Some(asked) = held.asked_per_s {
        lines.push(evidence("asked for per second", asked, Unit::PerSecond, "probe"));
    }
    lines.push(Evidence {
        how: How::Traced,
        ..evidence("latency of a caller, mean", held.caller_ms, Unit::Ms, "probe")
    });
    if let Some(ms) = held.device_ms {
        let line = evidence("latency of the device itself, mean", ms, Unit::Ms, "/sys/block stat");
        let bound = Some(Bound::Below(held.caller_ms / 2.0));
        lines.push(Evidence { how: How::Sampled, bound, ..line });
    }
    let device_part = held.device_ms.map_or(String::new(), |ms| {
        format!("; the device itself needs {} of the {}", time(ms), time(held.caller_ms))
    });
    Finding {
        verdict: CAP,
        subject: Subject {
            device,
            listings: probe.into_iter().collect(),
            group: None,
            devices: Vec::new(),
        },
        sentence: format!(
            "a control group holds it at {} per second, its limit of {}{device_part}",
            digits(held.per_s),
            held.limit
        ),
        evidence: lines,
        confidence: 0.95,
        explained_share: held
            .device_ms
            .map_or(0.9, |ms| 1.0 - ms / held.caller_ms.max(1e-9))
            .clamp(0.0, 1.0),
        refuted_by: vec![
            "the rate stays the same outside the control group, or with a higher limit".to_string(),
        ],
        next_step: vec![
            format!(
                "raise the limit in `{file}` (systemd: `IOReadIOPSMax=` and its kin), or ask \
                     for less"
            ),
            "run the same probe outside the control group: it shows what the device gives"
                .to_string(),
        ],
        forecast: None,
        explained_by: None,
        seen: Vec::new(),
        requesters: Vec::new(),
        impact: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Event, Layer, Level, Op, Sink, Source, Time};
    use iowhy_probe::Outcome;

    #[test]
    fn a_probe_that_accuses_nobody_says_what_would_decide() {
        let recording = Recording::new();
        let own = Own { n: 100, ran_ns: 1_000_000, no_cpu_ns: Some(400_000), ..Own::default() };
        let measured = Measured { outcome: Outcome::default(), own, ended: None };
        let findings = of(&recording, &measured, &Options::default());
        let first = findings.first().unwrap();
        assert_eq!(first.verdict, Verdict::Insufficient);
        assert!(first.sentence.contains("too busy"), "{}", first.sentence);
        assert_eq!(first.evidence.iter().map(|line| line.value).collect::<Vec<_>>(), [100.0, 0.4]);
    }

    #[test]
    fn writes_of_the_probe_that_wait_a_turn_each_are_judged_as_that() {
        let mut recording = Recording::new();
        recording.begin(Source::new("probe", "write-latency", Level::C));
        let device = recording.device("sdb");
        for write in 0..200i64 {
            let mut event = Event::new(device, Op::Write, Layer::Block);
            let issued = Time::from_ns(write * 8_333_333);
            (event.queued, event.issued) = (Some(issued), Some(issued));
            event.completed = Some(Time::from_ns((write + 1) * 8_333_333 - 20_000));
            (event.sector, event.bytes) = (Some(write as u64 * 2), Some(1024));
            recording.event(event);
        }
        recording.end();
        let (outcome, own) = (Outcome::default(), Own::default());
        let measured = Measured { outcome, own, ended: None };
        let findings = of(&recording, &measured, &Options::default());
        assert_eq!(findings.first().map(|finding| finding.verdict), Some(Verdict::LoadMissedTurn));
    }
}
