//! The load of an iowhy probe is nobody's fault: it is intentional, and the probe's own facts take
//! precedence over patterns in its latencies.

use iowhy_model::{Family, Finding, Medium, Verdict};

use crate::analysis::Analysis;
use crate::facts::probe_listing::ProbeListing;

/// Verdicts on the load show nothing of a probe.
const OWN_LOAD: [Verdict; 4] =
    [Verdict::LoadBurst, Verdict::LoadLargeIo, Verdict::LoadSaturated, Verdict::LoadSmallSync];

/// Removes accusations of a probe's own load, or of a device for the effects of the probe or the
/// CPUs.
pub(crate) fn take_out(analysis: &Analysis, findings: &mut Vec<Finding>) {
    findings.retain(|finding| {
        let probes =
            finding.subject.listings.iter().map(|p| ProbeListing::of(analysis.recording, *p));
        let probes: Option<Vec<ProbeListing>> = probes.collect();
        let Some(probes) = probes.filter(|probes| !probes.is_empty()) else { return true };
        let short = probes.iter().any(ProbeListing::was_short_of_cpu);
        let doubtful = short && finding.verdict.family() == Family::Device;
        !(doubtful || is_queued(analysis, finding, &probes) || OWN_LOAD.contains(&finding.verdict))
    });
}

/// On a device of unknown class, a queue made by the probe shows nothing.
fn is_queued(analysis: &Analysis, finding: &Finding, probes: &[ProbeListing]) -> bool {
    let medium = |device| analysis.recording.device_of(device).medium;
    let known = finding.subject.device.and_then(medium);
    let guessed = known.is_none_or(|medium| medium == Medium::Stacked);
    let listings = probes.iter().filter_map(|p| analysis.recording.listings.get(p.listing));
    let mut depths = listings.flat_map(|known| &known.events).filter_map(|event| event.depth);
    guessed && finding.verdict == Verdict::DeviceSlow && depths.any(|depth| depth.get() > 1)
}

/// A limit that throttled the probe, or revolutions that it waited for, explain its latencies.
pub(crate) fn explain(analysis: &Analysis, findings: &mut [Finding]) {
    for probed in ProbeListing::all(analysis.recording) {
        let speaker = match (probed.held_by(), probed.revolutions()) {
            (Some(_), _) => Verdict::CapCgroup,
            (None, Some(_)) => Verdict::LoadMissedRevolution,
            (None, None) => continue,
        };
        if !findings.iter().any(|known| known.verdict == speaker && known.stands()) {
            continue;
        }
        for finding in findings.iter_mut() {
            let explained = match finding.verdict.family() {
                Family::Device => true,
                Family::Load => speaker == Verdict::CapCgroup,
                _ => finding.verdict == Verdict::CapVolume && speaker == Verdict::CapCgroup,
            };
            if explained && finding.subject.listings == [probed.listing] {
                finding.explained_by = finding.explained_by.or(Some(speaker));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{
        Event, Fact, FactKey, FactValue, Layer, Level, Nanos, Op, Recording, Sink, Source, Time,
        Verdict, key,
    };

    use crate::{Options, judge};

    /// Writes of a probe, each this many ms after the previous one, and the probe's own facts.
    fn probe(writes: i64, beat_ms: f64, facts: &[(FactKey, FactValue)]) -> Recording {
        let mut recording = Recording::new();
        recording.begin(Source::new("probe", "write-latency", Level::C));
        let device = recording.device("sdb");
        for write in 0..writes {
            let mut event = Event::new(device, Op::Write, Layer::Block);
            let issued = Time::from_ns((write as f64 * beat_ms * 1e6) as i64);
            (event.queued, event.issued) = (Some(issued), Some(issued));
            let taken = ((write + 1) as f64 * beat_ms * 1e6) as i64 - 20_000;
            event.completed = Some(Time::from_ns(taken));
            (event.sector, event.bytes) = (Some(write as u64 * 2), Some(1024));
            recording.event(event);
        }
        for (key, value) in facts {
            recording.fact(Fact::new(Some(device), key.clone(), value.clone(), "probe"));
        }
        recording.end();
        recording
    }

    fn first(recording: &Recording) -> (Verdict, f64, String) {
        let findings = judge(recording, &Options::default());
        let first = findings.first().expect("a finding");
        (first.verdict, first.confidence(), first.sentence.clone())
    }

    fn ms(value: f64) -> FactValue {
        FactValue::Duration(Nanos::from_ms(value))
    }

    #[test]
    fn a_probe_that_accuses_nobody_says_what_would_decide() {
        for (short, reported) in [(true, "too busy"), (false, "the probe's own I/Os")] {
            let recording = probe(
                0,
                1.0,
                &[
                    (key::PROBE_IOS, FactValue::Count(100)),
                    (key::PROBE_CPU_SHORT, FactValue::Flag(short)),
                    (key::PROBE_NO_CPU, FactValue::Share(0.4)),
                ],
            );
            let findings = judge(&recording, &Options::default());
            let [only] = &findings[..] else { panic!("{findings:?}") };
            assert_eq!(only.verdict, Verdict::Insufficient);
            assert!(only.sentence.contains(reported), "{}", only.sentence);
            let values: Vec<f64> = only.evidence.iter().map(|line| line.amount.value).collect();
            assert_eq!(values, [100.0, 0.4]);
        }
    }

    #[test]
    fn writes_that_wait_a_revolution_each_are_judged_as_that_with_and_without_the_statement() {
        let ios = (key::PROBE_IOS, FactValue::Count(200));
        let plain = probe(200, 8.333_333, std::slice::from_ref(&ios));
        assert_eq!(first(&plain).0, Verdict::LoadMissedRevolution);
        // On a busy machine each third write looks short; the probe knows what it waited for.
        let stated = probe(
            200,
            5.1,
            &[
                ios,
                (key::PROBE_REVOLUTION, ms(8.333)),
                (key::PROBE_REVOLUTION_IOS, FactValue::Count(200)),
                (key::PROBE_REVOLUTION_MEAN, ms(8.4)),
                (key::PROBE_REVOLUTION_SHARE, FactValue::Share(0.9)),
            ],
        );
        let (verdict, confidence, sentence) = first(&stated);
        assert_eq!(verdict, Verdict::LoadMissedRevolution, "{sentence}");
        assert!(confidence >= 0.6 && sentence.contains("7200 rpm"), "{confidence} {sentence}");
    }

    #[test]
    fn a_limit_that_held_the_probe_comes_before_what_its_latencies_look_like() {
        let recording = probe(
            400,
            40.0,
            &[
                (key::PROBE_IOS, FactValue::Count(400)),
                (key::PROBE_LIMIT, FactValue::Text("wiops".to_string())),
                (key::PROBE_LIMIT_BOUND, FactValue::PerSecond(25.0)),
                (key::PROBE_LIMIT_DONE, FactValue::PerSecond(25.1)),
                (key::PROBE_LIMIT_IOS, FactValue::Count(400)),
                (key::PROBE_LIMIT_IOPS, FactValue::PerSecond(25.1)),
                (key::PROBE_LIMIT_CALLER, ms(40.0)),
                (key::PROBE_LIMIT_DEVICE, ms(0.3)),
            ],
        );
        let findings = judge(&recording, &Options::default());
        let first = findings.first().unwrap();
        assert_eq!(first.verdict, Verdict::CapCgroup, "{findings:#?}");
        assert!(first.confidence() > 0.8 && first.explained_share > 0.9, "{first:?}");
        let stands = |known: &&iowhy_model::Finding| known.stands();
        assert_eq!(findings.iter().filter(stands).count(), 1, "{findings:#?}");
    }
}
