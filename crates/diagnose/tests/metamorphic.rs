//! What must not change a verdict: the unit of time, the order of the disks, a few lost lines.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Event, Finding, Medium, Nanos, Op, Recording, Sink, Time};

use crate::made::{self, MadeCapture, accuses, brief, confidence, of};

const REVOLUTION_MS: f64 = 60_000.0 / 7200.0;

/// The same recording with every event passed through `change`, on the devices of the same names
/// in the order given.
fn remade(
    of: &Recording,
    names: &[&str],
    change: impl Fn(usize, Event) -> Option<Event>,
) -> Recording {
    let mut made = Recording::new();
    for name in names {
        made.device(name);
    }
    for listing in &of.listings {
        made.begin(listing.source.clone());
        for (place, event) in listing.events.iter().enumerate() {
            if let Some(mut event) = change(place, *event) {
                event.device = made.device(&of.device_of(event.device).name);
                made.event(event);
            }
        }
        made.end();
    }
    for device in of.devices() {
        if let (Some(id), Some(medium)) = (made.find_device(&device.name), device.medium) {
            made.set_medium(id, medium);
        }
    }
    made
}

fn judged(recording: &Recording) -> Vec<Finding> {
    judge(recording, &Options::default())
}

fn stretched(by: f64) -> impl Fn(usize, Event) -> Option<Event> {
    move |_, mut event| {
        let stretch = |time: Time| Time::from_ns((time.ns() as f64 * by) as i64);
        event.issued = event.issued.map(stretch);
        event.completed = event.completed.map(stretch);
        Some(event)
    }
}

/// A disk that retries, a flash device under a deep queue, a healthy one.
fn mixed() -> Recording {
    let mut capture = MadeCapture::traced();
    capture.medium("nvme0n1", Medium::Nvme);
    capture.medium("sdc", Medium::Rotational);
    let retries: Vec<f64> = (0..80)
        .map(|k| {
            let revolutions = if k % 3 == 0 { 1 + (capture.chance() * 4.0) as u32 } else { 0 };
            1.7 * capture.about(0.05) + f64::from(revolutions) * REVOLUTION_MS
        })
        .collect();
    capture.chain("sdb", Op::Read, 131072, &retries);
    for k in 0..300 {
        let sector = (capture.chance() * 1e8) as u64 * 8;
        let took = 0.09 * capture.about(0.2);
        capture.io("nvme0n1", Op::Read, sector, 4096, f64::from(k), took);
    }
    let mut done = [0.0; 16];
    for k in 0..300usize {
        let issued = done[k % 16];
        let completed = f64::max(done[(k + 15) % 16], issued) + 9.0 * capture.about(0.2);
        let sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io("sdc", Op::Read, sector, 4096, issued, completed - issued);
        done[k % 16] = completed;
    }
    capture.recording.end();
    capture.recording
}

fn verdicts(recording: &Recording, findings: &[Finding]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = findings
        .iter()
        .filter(|f| f.confidence() >= 0.6 && f.explained_by.is_none())
        .map(|f| {
            let device = f.subject.device.map(|id| recording.device_of(id).name.clone());
            (f.verdict.to_string(), device.unwrap_or_default())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_order_in_which_disks_are_named_changes_nothing() {
    let recording = mixed();
    let swapped = remade(&recording, &["sdc", "nvme0n1", "sdb"], |_, event| Some(event));
    let (first, second) = (judged(&recording), judged(&swapped));
    assert_eq!(verdicts(&recording, &first), verdicts(&swapped, &second));
    assert!(accuses(&first, "device.retry"), "{}", brief(&first));
    assert!(accuses(&first, "load.saturated"), "{}", brief(&first));
    assert_eq!(first[0].verdict, second[0].verdict);
}

#[test]
fn five_lost_lines_in_a_hundred_change_nothing() {
    let recording = mixed();
    let thinned = remade(&recording, &[], |place, event| (place % 20 != 7).then_some(event));
    let (all, thin) = (judged(&recording), judged(&thinned));
    assert_eq!(verdicts(&recording, &all), verdicts(&thinned, &thin), "{}", brief(&thin));
}

#[test]
fn a_later_clock_changes_nothing() {
    let recording = mixed();
    let later = remade(&recording, &[], |_, mut event| {
        let shift = |time: Time| time + Nanos::from_seconds(1e6);
        event.issued = event.issued.map(shift);
        event.completed = event.completed.map(shift);
        Some(event)
    });
    let (now, then) = (judged(&recording), judged(&later));
    assert_eq!(verdicts(&recording, &now), verdicts(&later, &then));
}

/// Twice as slow, the revolutions of 7200 rpm would be those of 3600, which no spindle has; 1.3333
/// times as slow, they are those of 5400.
#[test]
fn stretching_time_moves_the_spindle_or_removes_it() {
    let recording = mixed();
    let rpm = |findings: &[Finding]| {
        let retry = of(findings, "device.retry").into_iter().next()?.clone();
        let speed = retry.evidence.iter().find(|e| e.quantity == "spindle speed")?.amount.value;
        Some((speed, retry.confidence()))
    };
    let (speed, _) = rpm(&judged(&recording)).unwrap();
    assert!((speed - 7200.0).abs() < 40.0, "{speed}");
    let slower = judged(&remade(&recording, &[], stretched(7200.0 / 5400.0)));
    let (speed, sure) = rpm(&slower).unwrap();
    assert!((speed - 5400.0).abs() < 40.0 && sure > 0.6, "{speed} {sure}");
    let twice = judged(&remade(&recording, &[], stretched(2.0)));
    assert!(confidence(&twice, "device.retry") < 0.6, "{}", brief(&twice));
    // What is not a matter of revolutions stays: the queue, and the device that loses time.
    assert!(accuses(&twice, "load.saturated"), "{}", brief(&twice));
}

#[test]
fn no_recording_makes_the_judge_panic() {
    let mut capture = MadeCapture::traced();
    let extremes = [0, 1, -1, i64::MAX, i64::MIN + 1, 1_000_000_000_000_000_000];
    let device = capture.recording.device("sda");
    for from in extremes {
        for to in extremes {
            for bytes in [None, Some(0), Some(u32::MAX)] {
                let mut event = Event::new(device, Op::Read, iowhy_model::Layer::Block);
                event.issued = Some(Time::from_ns(from));
                event.completed = Some(Time::from_ns(to));
                event.bytes = bytes;
                event.sector = Some(u64::MAX - 3);
                capture.recording.event(event);
            }
        }
    }
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
        let row = made::Row { per_s: value, bytes: value, await_ms: value, busy: value };
        capture.row("sda", Op::Write, row);
    }
    let findings = capture.judge();
    assert!(findings.iter().all(|f| f.confidence().is_finite()), "{}", brief(&findings));
    assert!(judge(&Recording::new(), &Options::default()).is_empty());
}
