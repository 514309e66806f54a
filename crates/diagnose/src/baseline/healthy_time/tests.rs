//! The class table and what was seen of a device, in worked numbers.

use super::*;

const DISK: [(Medium, f64); 1] = [(Medium::Rotational, 1.0)];
const READ_128K: Request = Request { op: Op::Read, bytes: 131072.0, sequential: Some(true) };

fn seen(low_ms: f64, high_ms: f64) -> Option<OwnTimes> {
    Some(OwnTimes { floor_ms: low_ms, low_ms, high_ms, pace_ms: low_ms, spread_ms: f64::INFINITY })
}

#[test]
fn the_rows_of_a_medium_that_an_operation_fits_share_its_weight() {
    for medium in [Medium::Rotational, Medium::Flash, Medium::Nvme, Medium::Network] {
        for (op, sequential) in [(Op::Read, true), (Op::Read, false), (Op::Write, true)] {
            let request = Request { op, bytes: 4096.0, sequential: Some(sequential) };
            let rows = CLASSES.iter().filter(|class| class.suits(medium, request));
            assert_eq!(rows.map(|class| class.weight).sum::<f64>(), 1.0, "{medium:?} {request:?}");
        }
    }
}

#[test]
fn a_sequential_128_kb_read_costs_a_disk_about_a_millisecond() {
    let s0 = HealthyServiceTime::of(&DISK, READ_128K, None);
    // 0.2 ms + 131072 B / 150 MB/s = 1.074 ms.
    assert!((s0.median_ms() - 1.074).abs() < 0.02, "{}", s0.median_ms());
    assert!(s0.votes_ms.is_sorted());
    assert!((s0.votes_ms[8] / s0.median_ms()).ln() > 0.4);
}

#[test]
fn what_was_seen_tells_a_disk_from_flash() {
    let either = [(Medium::Rotational, 0.5), (Medium::Flash, 0.5)];
    let random = Request { op: Op::Read, bytes: 8192.0, sequential: Some(false) };
    let disk = HealthyServiceTime::of(&either, random, seen(4.0, 9.0));
    assert!(disk.odds_of(Medium::Rotational) > 0.9, "{}", disk.assumption);
    let flash = HealthyServiceTime::of(&either, random, seen(0.1, 0.14));
    assert!(flash.odds_of(Medium::Flash) > 0.9, "{}", flash.assumption);
}

#[test]
fn a_disk_has_one_arm() {
    let either = [(Medium::Rotational, 0.5), (Medium::Flash, 0.5)];
    let random = Request { op: Op::Read, bytes: 4096.0, sequential: Some(false) };
    // 5 ms each, but two hundred thousand per second: no disk does that.
    let many = OwnTimes {
        floor_ms: 0.1,
        low_ms: 0.003,
        high_ms: 5.0,
        pace_ms: 0.005,
        spread_ms: f64::INFINITY,
    };
    let s0 = HealthyServiceTime::of(&either, random, Some(many));
    assert!(s0.odds_of(Medium::Flash) > 0.9, "{}", s0.assumption);
}
