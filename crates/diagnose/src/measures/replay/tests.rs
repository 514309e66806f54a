//! Worked numbers of the replay.

use iowhy_model::Random;

use super::*;
use crate::measures::listings;
use crate::measures::service::{sort, span};

/// 128 KiB off a disk of 150 MB/s after 0.2 ms: the baseline's sequential read.
const READ_NS: f64 = 0.2e6 + 131_072.0 / 150e6 * 1e9;

#[test]
fn dusty_disk_blames_the_disk_in_both_states() {
    let worst = replay(&listings::worst(), READ_NS).unwrap();
    assert_eq!(worst.side(), Side::Device);
    assert!(worst.device_share > 0.999, "{worst:?}");
    assert!(worst.closed && worst.servers == 1);
    let fast = replay(&listings::fast(), READ_NS).unwrap();
    assert_eq!(fast.side(), Side::Device);
    assert!(fast.device_share > 0.85, "{fast:?}");
    let (side, confidence) = vote(&listings::worst(), READ_NS, 0.4).unwrap().winner();
    assert_eq!(side, Side::Device);
    assert!((confidence - 9.5 / 10.5).abs() < 1e-9);
}

#[test]
fn dusty_disk_averages_blame_the_disk() {
    let averages = Averages { per_s: 4.5, await_ns: 434.31e6, busy: Some(1.0) };
    let judged = from_averages(&averages, 1.65e6).unwrap();
    assert_eq!(judged.side, Side::Device);
    assert!((judged.effective_ns.unwrap() - 222.2e6).abs() < 0.1e6, "{judged:?}");
    assert!((judged.slowdown.unwrap() - 134.7).abs() < 0.1, "{judged:?}");
    assert_eq!(from_averages(&Averages { per_s: 0.0, ..averages }, 1e6), None);
}

#[test]
fn a_batch_on_a_healthy_disk_is_the_workloads() {
    let batch: Vec<ServiceSpan> = (1..=50).map(|i| span(i, i * 5_000_000)).collect();
    let replayed = replay(&batch, 5e6).unwrap();
    assert_eq!(replayed.side(), Side::Workload);
    assert!(replayed.workload_share > 0.99 && !replayed.closed, "{replayed:?}");
    assert!((replayed.healthy_mean_ns / replayed.mean_ns - 1.0).abs() < 0.01);
}

#[test]
fn a_slow_disk_behind_open_arrivals_is_the_devices() {
    // One request every 10 ms; the disk needs 30 ms where 5 are healthy.
    let mut spans: Vec<ServiceSpan> =
        (0..100).map(|i| span(i * 10_000_000, (i + 1) * 30_000_000)).collect();
    sort(&mut spans);
    let replayed = replay(&spans, 5e6).unwrap();
    assert_eq!(replayed.side(), Side::Device);
    assert!((replayed.healthy_mean_ns - 5e6).abs() < 1e3, "{replayed:?}");
}

#[test]
fn waiting_in_the_host_counts_where_it_was_seen() {
    let mut spans: Vec<ServiceSpan> =
        (0..50).map(|i| span(i * 5_000_000, (i + 1) * 5_000_000)).collect();
    assert_eq!(replay(&spans, 5e6).unwrap().side(), Side::Healthy);
    spans.iter_mut().for_each(|span| span.queued_ns = Some(0));
    assert_eq!(replay(&spans, 5e6).unwrap().side(), Side::Workload);
}

#[test]
fn seconds_or_minutes_the_verdict_is_the_same() {
    let slower: Vec<ServiceSpan> = listings::fast()
        .into_iter()
        .map(|mut span| {
            span.issued_ns *= 7;
            span.completed_ns *= 7;
            span
        })
        .collect();
    let (a, b) = (replay(&listings::fast(), READ_NS), replay(&slower, 7.0 * READ_NS));
    let difference = a.unwrap().device_share - b.unwrap().device_share;
    assert!(difference.abs() < 1e-6, "{difference}");
}

#[test]
fn nothing_in_nothing_out() {
    assert_eq!(replay(&[], 1e6), None);
    assert_eq!(replay(&[span(0, 10)], 0.0), None);
    assert_eq!(replay(&[span(0, 10)], f64::NAN), None);
    assert!(replay(&[span(0, 10)], 10.0).is_some());
    assert!(replay(&[span(i64::MAX, i64::MIN), span(i64::MIN, i64::MAX)], 10.0).is_some());
}

/// Truth against verdict, `counts[truth][verdict]`, per class the share right, and the same for
/// the vote where its confidence is at least 0.6.
struct Tally {
    counts: [[f64; 3]; 3],
    right: Vec<(&'static str, f64)>,
    voted: (f64, f64),
}

fn tally(n: usize, captures: usize, sigma_ln: f64, seed: u64) -> Tally {
    let mut random = Random::seeded(seed);
    let mut tally = Tally { counts: [[0.0; 3]; 3], right: Vec::new(), voted: (0.0, 0.0) };
    for class in trials::CLASSES {
        let mut right = 0;
        for _ in 0..captures {
            let case = trials::case(class, n, &mut random);
            let told_ns = case.s0_ns * (sigma_ln * random.normal()).exp();
            let side = replay(&case.spans, told_ns).unwrap().side();
            tally.counts[case.truth as usize][side as usize] += 1.0;
            right += usize::from(side == case.truth);
            let (voted, confidence) = vote(&case.spans, told_ns, sigma_ln).unwrap().winner();
            if confidence >= 0.6 {
                tally.voted.0 += 1.0;
                tally.voted.1 += f64::from(u8::from(voted == case.truth));
            }
        }
        tally.right.push((class, right as f64 / captures as f64));
    }
    tally
}

fn macro_f1(counts: &[[f64; 3]; 3]) -> f64 {
    let f1 = |side: usize| {
        let hit = counts[side][side];
        let reported: f64 = counts.iter().map(|row| row[side]).sum();
        2.0 * hit / (reported + counts[side].iter().sum::<f64>()).max(1.0)
    };
    (f1(0) + f1(1) + f1(2)) / 3.0
}

#[test]
fn simulated_loads_are_judged_right() {
    let found = tally(30, 20, 0.35, 51);
    assert!(macro_f1(&found.counts) > 0.95, "{:?}\n{:?}", found.counts, found.right);
}

/// Prints the table of docs/decisions/0007.
#[test]
#[ignore = "a minute of measuring: `cargo test --release replay_table -- --ignored --nocapture`"]
fn replay_table() {
    for sigma_ln in [0.35, 0.7, 1.0] {
        for n in [10, 30, 100, 400] {
            let found = tally(n, 200, sigma_ln, 61);
            let (voted, right) = found.voted;
            println!(
                "sigma {sigma_ln} n {n}: macro-F1 {:.3}; vote covers {:.3}, right {:.3}",
                macro_f1(&found.counts),
                voted / 2400.0,
                right / voted.max(1.0),
            );
            println!("    {:?}\n    {:?}", found.counts, found.right);
        }
    }
}
