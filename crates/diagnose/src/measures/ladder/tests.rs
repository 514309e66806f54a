//! Worked numbers of the ladder, its properties, and how often it is right.

use iowhy_model::Random;

use super::quantisation::SHORTEST_MS;
use super::*;
use crate::measures::listings;
use crate::measures::trials;

#[test]
fn dusty_disk_worst_listing_climbs_a_ladder_of_7200_rpm() {
    let found = fit(&listings::worst_ms(), 0.01).unwrap();
    assert_eq!(found.standard_rpm, 7200.0);
    assert!((found.revolution_ms - 8.321).abs() < 0.002, "{found:?}");
    assert!((found.rpm - 7210.0).abs() < 2.0, "{found:?}");
    assert!(found.rpm_low > 7170.0 && found.rpm_low < 7200.0, "{found:?}");
    assert!(found.rpm_high > 7203.0 && found.rpm_high < 7235.0, "{found:?}");
    assert!((found.base_ms - 1.92).abs() < 0.01, "{found:?}");
    assert_eq!(
        (found.min_revolutions, found.max_revolutions, found.median_revolutions),
        (9, 28, 17.0)
    );
    assert_eq!((found.slow, found.retried_share), (28, 1.0));
    assert!(found.explained_share > 0.98, "{found:?}");
    assert!(found.chance < 1e-9, "{found:?}");
    assert!((found.confidence - 0.953).abs() < 0.001, "{found:?}");
}

#[test]
fn dusty_disk_fast_listing_needs_the_speed_to_be_sure() {
    let unknown = fit(&listings::fast_ms(), 0.01).unwrap();
    assert!(unknown.confidence < 0.6, "{unknown:?}");
    let found = known(&listings::fast_ms(), 7200.0, 0.01).unwrap();
    assert!((found.u - 3.16).abs() < 0.005 && (found.u_prime - 2.07).abs() < 0.005, "{found:?}");
    assert!(found.fires());
    assert!((found.confidence - 0.747).abs() < 0.001, "{found:?}");
    let revolutions: Vec<u32> = found.revolutions.iter().copied().filter(|k| *k > 0).collect();
    assert_eq!(revolutions, [2, 1, 1, 2, 2, 1, 3]);
}

#[test]
fn dusty_disk_in_both_states_is_one_ladder() {
    let mut both = listings::worst_ms();
    both.extend(listings::fast_ms());
    let found = fit(&both, 0.01).unwrap();
    assert_eq!((found.standard_rpm, found.revolutions.len()), (7200.0, 47));
    assert!((found.confidence - 0.938).abs() < 0.001, "{found:?}");
}

#[test]
fn a_millisecond_clock_is_fine_enough_and_a_coarser_one_is_refused() {
    let rounded: Vec<f64> = listings::worst_ms().iter().map(|s| s.round()).collect();
    assert_eq!(fit(&rounded, 1.0).unwrap().standard_rpm, 7200.0);
    assert_eq!(known(&listings::worst_ms(), 7200.0, 2.0), None);
    assert_eq!(fit(&listings::worst_ms(), 3.0), None);
}

#[test]
fn stretching_time_stretches_the_turn() {
    let slower: Vec<f64> = listings::worst_ms().iter().map(|s| s * 7200.0 / 5400.0).collect();
    let (a, b) = (fit(&listings::worst_ms(), 0.01).unwrap(), fit(&slower, 0.01).unwrap());
    assert_eq!(b.standard_rpm, 5400.0);
    assert!((b.revolution_ms / a.revolution_ms * 5400.0 / 7200.0 - 1.0).abs() < 0.001, "{b:?}");
    assert_eq!(a.revolutions, b.revolutions);
}

#[test]
fn the_order_of_services_does_not_matter() {
    let mut turned = listings::worst_ms();
    turned.reverse();
    let (a, b) = (fit(&listings::worst_ms(), 0.01).unwrap(), fit(&turned, 0.01).unwrap());
    assert_eq!((a.standard_rpm, a.median_revolutions), (b.standard_rpm, b.median_revolutions));
    assert!((a.revolution_ms - b.revolution_ms).abs() < 1e-6 && (a.llr - b.llr).abs() < 1e-6);
}

#[test]
fn cache_hits_below_a_large_read_do_not_make_its_time_a_turn() {
    let mut random = Random::seeded(23);
    let reads: Vec<f64> = (0..300)
        .map(|i| match i % 30 {
            0 => 0.2 + 0.4 * random.unit(),
            1..=3 => 10.1 + 0.1 * random.normal() + 8.333,
            _ => 10.1 + 0.1 * random.normal(),
        })
        .collect();
    let found = fit(&reads, 0.01).unwrap();
    assert!((found.base_ms - 10.1).abs() < 0.1 && found.slow == 30, "{found:?}");
}

#[test]
fn a_timer_has_a_free_period_and_no_platter() {
    let mut random = Random::seeded(21);
    let ticks: Vec<f64> = (0..200)
        .map(|_| 0.3 + 0.01 * random.normal() + 2.5 * (2.0 * random.exponential()).floor())
        .collect();
    let found = free_period(&ticks, 0.001, SHORTEST_MS).unwrap();
    assert!((found.period_ms - 2.5).abs() < 0.01 && found.without_best > 8.0, "{found:?}");
    assert_eq!(found.near_rpm, None);
    assert!(fit(&ticks, 0.001).is_none_or(|ladder| ladder.confidence < 0.1));
}

#[test]
fn odd_input_is_no_ladder() {
    for services in [vec![], vec![1.0], vec![2.0; 50], vec![f64::NAN; 9], vec![0.0; 9]] {
        assert_eq!(fit(&services, 0.01), None);
        assert_eq!(free_period(&services, 0.01, SHORTEST_MS), None);
    }
    let wild = [1e300, 1.0, 2e-300, 9.3, 17.6, f64::INFINITY, -4.0, 1e9];
    let _ = (fit(&wild, 0.01), known(&wild, f64::NAN, 0.01), known(&wild, 0.0, f64::NAN));
}

#[test]
fn rare_retries_in_a_long_trace_are_kept() {
    let mut random = Random::seeded(22);
    let long: Vec<f64> = (0..200_000)
        .map(|i| 1.2 * (0.03 * random.normal()).exp() + if i % 500 == 0 { 8.3333 } else { 0.0 })
        .collect();
    let found = fit(&long, 0.001).unwrap();
    assert!(found.standard_rpm == 7200.0 && found.confidence > 0.9, "{found:?}");
    assert_eq!((found.slow, found.max_revolutions), (400, 1));
}

/// Accused (at the right speed) of all captures, per class, speed unknown and known.
fn accused(class: &'static str, n: usize, captures: usize, seed: u64) -> (usize, usize) {
    let mut random = Random::seeded(seed);
    let (mut unknown, mut of_known) = (0, 0);
    for _ in 0..captures {
        let case = trials::case(class, n, &mut random);
        let right = |ladder: &Ladder| {
            ladder.confidence > 0.5
                && case.revolution_ms.is_none_or(|revolution| {
                    (ladder.revolution_ms / revolution - 1.0).abs() < 0.012
                })
        };
        let rpm = case.revolution_ms.map_or(7200.0, |revolution| 60_000.0 / revolution);
        unknown += usize::from(fit(&case.services_ms, 0.01).as_ref().is_some_and(right));
        of_known += usize::from(known(&case.services_ms, rpm, 0.01).as_ref().is_some_and(right));
    }
    (unknown, of_known)
}

#[test]
fn simulated_disks_that_do_not_retry_are_hardly_ever_accused() {
    let (ladders, others) = trials::CLASSES.split_at(2);
    let false_alarms: usize = others.iter().map(|class| accused(class, 50, 4, 31).0).sum();
    assert!(false_alarms <= 1, "{false_alarms} of 40");
    let hits: usize = ladders.iter().map(|class| accused(class, 100, 10, 32).0).sum();
    assert!(hits >= 18, "{hits} of 20");
}

/// Prints the table of docs/decisions/0007.
#[test]
#[ignore = "a minute of measuring, in release: `cargo test --release ladder_table -- --ignored`"]
fn ladder_table() {
    println!("{:20} {:>11} {:>11} {:>11} {:>11}", "class", "n=20", "50", "100", "300");
    for class in trials::CLASSES {
        print!("{class:20}");
        for n in [20, 50, 100, 300] {
            let (unknown, of_known) = accused(class, n, 200, 41 + n as u64);
            print!("   {:.3} {:.3}", unknown as f64 / 200.0, of_known as f64 / 200.0);
        }
        println!();
    }
}

/// Prints how often a free step pattern passes 8 nats, per class.
#[test]
#[ignore = "a minute of measuring: `cargo test --release free_period_table -- --ignored \
            --nocapture`"]
fn free_period_table() {
    for class in trials::CLASSES {
        print!("{class:20}");
        for n in [20, 50, 100, 300] {
            let mut random = Random::seeded(101 + n as u64);
            let found = (0..200).filter(|_| {
                let case = trials::case(class, n, &mut random);
                free_period(&case.services_ms, 0.01, SHORTEST_MS)
                    .is_some_and(|found| found.without_best > 8.0)
            });
            print!("   {:.3}", found.count() as f64 / 200.0);
        }
        println!();
    }
}
