//! Comparisons of small recordings.

use super::*;
use iowhy_model::{Event, Layer, Level, Op, Sink, Source, Time};

/// This many reads of 8 KiB of about this many ms, with their own period.
fn reads(n: u32, ms: f64) -> Recording {
    let mut recording = Recording::new();
    recording.begin(Source::new("biosnoop", "capture.txt", Level::C));
    let device = recording.device("sda");
    for k in 0..n {
        let took = ms * (0.8 + 0.4 * f64::from(k * 7919 % 101) / 101.0);
        let mut event = Event::new(device, Op::Read, Layer::Block);
        (event.sector, event.bytes) = (Some(u64::from(k * 7907 % 9973) * 64), Some(8192));
        event.issued = Some(Time::from_ns(i64::from(k) * 50_000_000));
        event.completed = Some(Time::from_ns(i64::from(k) * 50_000_000 + (took * 1e6) as i64));
        recording.event(event);
    }
    recording.end();
    recording
}

fn latency<'a>(comparison: &'a Comparison, group: &str) -> &'a Difference {
    let of = |one: &&Difference| one.group == group && one.quantity.starts_with("latency");
    comparison.differences.iter().find(of).unwrap()
}

#[test]
fn three_times_as_slow_is_said_with_its_interval() {
    let (a, b) = (reads(200, 5.0), reads(200, 15.0));
    let found = compare([("a", &a), ("b", &b)], &Options::default());
    let one = latency(&found, "8 KiB random reads");
    let (low, high) = one.interval.unwrap();
    assert!((one.ratio.unwrap() - 3.0).abs() < 1e-6 && low < 3.0 && high > 3.0, "{one:?}");
    assert!(one.differs && one.superiority == Some(1.0) && one.p.unwrap() < 1e-6, "{one:?}");
    assert!(found.differences[0].differs);
}

#[test]
fn the_same_twice_is_no_difference_however_often_it_is_tested() {
    let (a, b) = (reads(200, 5.0), reads(190, 5.0));
    let found = compare([("a", &a), ("b", &b)], &Options::default());
    assert!(found.differences.iter().all(|one| !one.differs), "{:#?}", found.differences);
    assert_eq!(found.explained, Explanation::Nothing);
    // By chance alone: of 200 pairs of the same exponential source none may differ too often.
    let mut random = Random::seeded(11);
    let mut wrong = 0;
    for _ in 0..200 {
        let sides = [0, 1].map(|_| (0..60).map(|_| random.exponential()).collect::<Vec<f64>>());
        let mut one = [values("all", "latency, median", Unit::Ms, &sides)];
        correct(&mut one);
        wrong += usize::from(one[0].differs);
    }
    assert!(wrong <= 5, "{wrong} of 200 at a chance of 1 %");
}

#[test]
fn chances_are_corrected_for_their_number() {
    let mut four = [0.004, 0.02, 0.5, 0.001].map(|p| Difference {
        p: Some(p),
        ..values("all", "latency, median", Unit::Ms, &[Vec::new(), Vec::new()])
    });
    assert_eq!(correct(&mut four), 4);
    let corrected = four.map(|one| one.p.unwrap());
    for (p, wanted) in corrected.into_iter().zip([0.012, 0.04, 0.5, 0.004]) {
        assert!((p - wanted).abs() < 1e-12, "{corrected:?}");
    }
}
