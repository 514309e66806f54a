//! Sequential synchronous writes that each wait a whole turn of the platter.
//!
//! The sector behind the one just written has passed under the head by the time the next write
//! arrives, and comes round one turn later. Every service is then a whole number of turns, at
//! least one. Meant for writes, one at a time; the caller sees to that.

use super::{ladder::SPEEDS_RPM, spread};

/// Services that are all whole turns.
#[derive(Clone, PartialEq, Debug)]
pub struct MissedTurn {
    /// Requests.
    pub n: u64,
    /// The turn, ms.
    pub turn_ms: f64,
    /// The speed that turn means, revolutions per minute.
    pub rpm: f64,
    /// The standard speed nearest to it.
    pub standard_rpm: f64,
    /// How far the turn is from the standard one, as a share of it, signed.
    pub deviation: f64,
    /// Share of requests within 0.03 turns of a whole number of turns (a lower bound if read off
    /// a histogram).
    pub on_turn_share: f64,
    /// Share of requests of less than half a turn.
    pub below_share: f64,
    /// Mean turns per request.
    pub mean_turns: f64,
    /// True if the three clauses of the rule hold: no request below half a turn, at least 85 % on
    /// a turn, and the turn within 0.6 % of a standard one.
    pub holds: bool,
}

/// How far from a whole number of turns, in turns, a request still stands on it. This constant and
/// the next two: docs/METHOD.md, 5 Missed turn.
const NEAR_TURNS: f64 = 0.03;
/// Share of requests that must stand on a turn.
const MOST: f64 = 0.85;
/// How far the turn may be from a standard one, as a share.
const SPEED_SLACK: f64 = 0.006;
/// Requests below which nothing is said; from 20 on the rule is right in 0.95 (MCC; docs/METHOD.md,
/// 5 Missed turn), below five it rests on anecdote.
const FEWEST: usize = 5;

/// Measures from single services: at the standard speed on which most of them stand. Each write
/// ends its own length further round than the one before it: from one completion to the next it is
/// a turn and up to `advance_ms`, what the block takes under the head of the slowest disk.
pub fn missed_turn(services_ms: &[f64], advance_ms: f64) -> Option<MissedTurn> {
    let services = spread::sorted(services_ms);
    if services.len() < FEWEST {
        return None;
    }
    SPEEDS_RPM.iter().filter_map(|rpm| at(&services, *rpm, advance_ms)).max_by(|a, b| {
        (a.holds, a.on_turn_share, -a.deviation.abs())
            .partial_cmp(&(b.holds, b.on_turn_share, -b.deviation.abs()))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

fn at(services_ms: &[f64], standard_rpm: f64, advance_ms: f64) -> Option<MissedTurn> {
    let standard_ms = 60_000.0 / standard_rpm;
    let turns = |service: f64, turn_ms: f64| (service / turn_ms).round().max(1.0);
    let per_turn: Vec<f64> = services_ms.iter().map(|s| s / turns(*s, standard_ms)).collect();
    let turn_ms = spread::median(&per_turn)?;
    let n = services_ms.len() as f64;
    let on = services_ms
        .iter()
        .filter(|s| (*s / turn_ms - turns(**s, turn_ms)).abs() <= NEAR_TURNS)
        .count();
    let below = services_ms.iter().filter(|s| **s < turn_ms / 2.0).count();
    let all_turns: f64 = services_ms.iter().map(|s| turns(*s, turn_ms)).sum();
    let measured = MissedTurn {
        n: services_ms.len() as u64,
        turn_ms,
        rpm: 60_000.0 / turn_ms,
        standard_rpm,
        deviation: turn_ms / standard_ms - 1.0,
        on_turn_share: on as f64 / n,
        below_share: below as f64 / n,
        mean_turns: all_turns / n,
        holds: false,
    };
    Some(judged(measured, advance_ms / standard_ms))
}

fn judged(mut measured: MissedTurn, advance: f64) -> MissedTurn {
    measured.holds = measured.below_share == 0.0
        && measured.on_turn_share >= MOST
        && (-SPEED_SLACK..SPEED_SLACK + advance).contains(&measured.deviation);
    measured
}

/// Measures from a histogram, buckets as (low, high, count) in ms, whose mean and minimum are
/// known exactly. The minimum is taken as the turn: nothing is faster, and in the fullest bucket
/// the requests cannot lie far above it, because their mean is known once the other buckets are
/// counted at their lower edges (Markov's inequality gives the share on the turn).
pub fn from_histogram(
    buckets_ms: &[(f64, f64, u64)],
    mean_ms: f64,
    min_ms: f64,
) -> Option<MissedTurn> {
    let n: u64 = buckets_ms.iter().map(|bucket| bucket.2).sum();
    let fullest = buckets_ms.iter().max_by_key(|bucket| bucket.2)?;
    let holds_min = fullest.0 <= min_ms && min_ms < fullest.1;
    if (n as usize) < FEWEST || !holds_min || min_ms <= 0.0 {
        return None;
    }
    let others: f64 = buckets_ms
        .iter()
        .filter(|bucket| bucket.0 != fullest.0)
        .map(|(low, _, count)| low * *count as f64)
        .sum();
    let bucket_mean_ms = (mean_ms * n as f64 - others) / fullest.2 as f64;
    let above_ms = (bucket_mean_ms - min_ms).max(0.0);
    let near = (1.0 - above_ms / (NEAR_TURNS * min_ms)).max(0.0);
    let turns = |low: f64, high: f64| ((low + high) / 2.0 / min_ms).round().max(1.0);
    let all_turns: f64 =
        buckets_ms.iter().map(|(low, high, count)| turns(*low, *high) * *count as f64).sum();
    let off = |rpm: &f64| (min_ms * rpm / 60_000.0 - 1.0).abs();
    let standard_rpm = SPEEDS_RPM.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let measured = MissedTurn {
        n,
        turn_ms: min_ms,
        rpm: 60_000.0 / min_ms,
        standard_rpm,
        deviation: min_ms * standard_rpm / 60_000.0 - 1.0,
        on_turn_share: near * fullest.2 as f64 / n as f64,
        below_share: 0.0,
        mean_turns: all_turns / n as f64,
        holds: false,
    };
    Some(judged(measured, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn document_001_writes_wait_a_turn_of_7200_rpm() {
        let buckets = [(8.0, 1992), (9.0, 2), (10.0, 1), (14.0, 1), (16.0, 3), (24.0, 1)]
            .map(|(low, n)| (low, low + 1.0, n));
        let found = from_histogram(&buckets, 8.388851, 8.335624).unwrap();
        assert_eq!(found.n, 2000);
        assert!((found.rpm - 7198.0).abs() < 0.1, "{found:?}");
        assert_eq!(found.standard_rpm, 7200.0);
        assert!((found.on_turn_share - 0.878).abs() < 0.001, "{found:?}");
        assert!((found.mean_turns - 1.003).abs() < 0.001, "{found:?}");
        assert!(found.holds);
    }

    #[test]
    fn document_001_as_a_list() {
        let mut services = vec![8.3361; 1992];
        services.extend([9.4, 9.6, 10.5, 14.2, 16.67, 16.67, 16.68, 24.998846]);
        let found = missed_turn(&services, 0.0).unwrap();
        assert!(found.holds && (found.turn_ms - 8.336).abs() < 0.001, "{found:?}");
    }

    #[test]
    fn random_writes_and_fast_writes_do_not() {
        let mut random = Random::seeded(1);
        let spread: Vec<f64> = (0..200).map(|_| 2.0 + 12.0 * random.unit()).collect();
        assert!(!missed_turn(&spread, 0.0).unwrap().holds);
        let fast: Vec<f64> = (0..200).map(|_| 0.4 + 0.01 * random.normal()).collect();
        assert!(!missed_turn(&fast, 0.0).unwrap().holds);
        assert_eq!(missed_turn(&[8.33; 4], 0.0), None);
        assert_eq!(from_histogram(&[], 1.0, 1.0), None);
    }
}
