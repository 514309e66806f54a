//! Sequential synchronous writes that each wait a whole revolution of the platter.
//!
//! The sector after the one just written has passed under the head by the time the next write
//! arrives, and returns one revolution later. Every service time is then a whole number of
//! revolutions, at least one. Meant for writes, one at a time; the caller ensures that.

use iowhy_model::Histogram;

use super::{ladder::SPEEDS_RPM, spread};

/// Services that are all whole revolutions.
#[derive(Clone, PartialEq, Debug)]
pub struct MissedRevolution {
    /// Requests.
    pub n: u64,
    /// The revolution, ms.
    pub revolution_ms: f64,
    /// The speed of that revolution, revolutions per minute.
    pub rpm: f64,
    /// The standard speed nearest to it.
    pub standard_rpm: f64,
    /// How far the revolution is from the standard one, as a share of it, signed.
    pub deviation: f64,
    /// Share of requests within 0.03 revolutions of a whole number of revolutions (a lower bound if
    /// read off a histogram).
    pub on_revolution_share: f64,
    /// Share of requests of less than half a revolution.
    pub below_share: f64,
    /// Mean revolutions per request.
    pub mean_revolutions: f64,
    /// Minimum share on a revolution.
    pub most: f64,
    /// True if the three clauses of the rule hold: no request below half a revolution, enough of
    /// them on a revolution, and the revolution within 0.6 % of a standard one.
    pub holds: bool,
}

/// How far from a whole number of revolutions, in revolutions, a request still counts as on it.
/// This constant and the next two: docs/METHOD.md, 5 Missed revolution.
const NEAR_REVOLUTIONS: f64 = 0.03;
/// Minimum share of requests on a revolution.
const MOST: f64 = 0.85;
/// The same from completion to completion, where a busy host sees each completion late by its own
/// delay: a platter behind a loop device had 0.82 to 0.88 on two processors at a load of 6. Random
/// services have 0.12, services that spread by 4 % around a revolution 0.65.
const MOST_BEATS: f64 = 0.75;
/// Completions back to which a beat is measured: one that was seen late spoils the beat before it
/// and the beat after it, but not the distance over both.
const BACK: usize = 2;
/// How far the revolution may be from a standard one, as a share.
const SPEED_SLACK: f64 = 0.006;
/// Requests below which nothing is reported; from 20 on the rule is right in 0.95 (MCC;
/// docs/METHOD.md, 5 Missed revolution), below five it rests on anecdote.
const MIN_WRITES: usize = 5;

/// Measures from single services: at the standard speed that most of them match.
pub fn missed_revolution(services_ms: &[f64]) -> Option<MissedRevolution> {
    best(|rpm| {
        let standard_ms = 60_000.0 / rpm;
        let revolution_ms = revolution_of(services_ms, standard_ms)?;
        let on = services_ms.iter().map(|service| is_whole(*service, revolution_ms, 1)).collect();
        Some(judged(measured(services_ms, on, revolution_ms, rpm), MOST, 0.0))
    })
}

/// Measures from moments of completion, in order. Each write ends its own length further round
/// than the one before it: from one completion to the next it is a revolution and up to
/// `advance_ms`, what the block takes under the head of the slowest disk.
pub fn from_completions(completed_ms: &[f64], advance_ms: f64) -> Option<MissedRevolution> {
    let beats: Vec<f64> = completed_ms.windows(2).map(|pair| pair[1] - pair[0]).collect();
    best(|rpm| {
        let standard_ms = 60_000.0 / rpm;
        let revolution_ms = revolution_of(&beats, standard_ms)?;
        let stands = |place: usize| {
            (1..=BACK.min(place)).any(|back| {
                let (earlier, this) = (completed_ms.get(place - back), completed_ms.get(place));
                earlier.zip(this).is_some_and(|(from, to)| is_whole(to - from, revolution_ms, back))
            })
        };
        let on = (1..completed_ms.len()).map(stands).collect();
        let advance = advance_ms / standard_ms;
        Some(judged(measured(&beats, on, revolution_ms, rpm), MOST_BEATS, advance))
    })
}

/// Share of a histogram in two buckets from which on it has no real spread: random
/// services of a platter leave any two octaves more often (`samples::IN_ONE` shows it of one).
const IN_TWO: f64 = 0.97;
/// The share of a revolution that the host may need before it sends the next write.
const HOST: f64 = 0.10;

/// Whether a histogram may be of writes that each wait a revolution less what the host takes:
/// nearly all are in two neighbouring buckets, with the edge between them just below a standard
/// revolution.
pub fn may_be_revolutions(histogram: &Histogram) -> bool {
    let filled: Vec<(u64, u64, u64)> = histogram.filled().collect();
    let enough = IN_TWO * histogram.count() as f64;
    filled.windows(2).any(|pair| {
        let [(_, edge, few), (next, _, more)] = pair else { return false };
        let edge_ms = *next as f64 / 1e6;
        let revolutions = SPEEDS_RPM.iter().map(|rpm| 60_000.0 / rpm);
        edge >= next
            && few.saturating_add(*more) as f64 >= enough
            && revolutions
                .into_iter()
                .any(|revolution| (revolution * (1.0 - HOST)..=revolution).contains(&edge_ms))
    })
}

/// Of the standard speeds the one that fits best.
fn best(at: impl Fn(f64) -> Option<MissedRevolution>) -> Option<MissedRevolution> {
    SPEEDS_RPM.iter().filter_map(|rpm| at(*rpm)).max_by(|a, b| {
        (a.holds, a.on_revolution_share, -a.deviation.abs())
            .partial_cmp(&(b.holds, b.on_revolution_share, -b.deviation.abs()))
            .unwrap_or(std::cmp::Ordering::Equal)
    })
}

/// The revolution near a standard one; `None` for too few services.
fn revolution_of(services_ms: &[f64], standard_ms: f64) -> Option<f64> {
    let per_revolution: Vec<f64> =
        services_ms.iter().map(|s| s / revolutions(*s, standard_ms)).collect();
    spread::median(&per_revolution)
        .filter(|revolution_ms| services_ms.len() >= MIN_WRITES && *revolution_ms > 0.0)
}

fn revolutions(service_ms: f64, revolution_ms: f64) -> f64 {
    (service_ms / revolution_ms).round().max(1.0)
}

/// Whether a time is a whole number of revolutions, at least this many.
fn is_whole(time_ms: f64, revolution_ms: f64, least: usize) -> bool {
    let whole = revolutions(time_ms, revolution_ms).max(least as f64);
    (time_ms / revolution_ms - whole).abs() <= NEAR_REVOLUTIONS
}

fn measured(
    services_ms: &[f64],
    on: Vec<bool>,
    revolution_ms: f64,
    standard_rpm: f64,
) -> MissedRevolution {
    let n = services_ms.len() as f64;
    let below =
        services_ms.iter().zip(&on).filter(|(s, on)| **s < revolution_ms / 2.0 && !**on).count();
    let all_revolutions: f64 = services_ms.iter().map(|s| revolutions(*s, revolution_ms)).sum();
    MissedRevolution {
        n: services_ms.len() as u64,
        revolution_ms,
        rpm: 60_000.0 / revolution_ms,
        standard_rpm,
        deviation: revolution_ms * standard_rpm / 60_000.0 - 1.0,
        on_revolution_share: on.iter().filter(|on| **on).count() as f64 / n,
        below_share: below as f64 / n,
        mean_revolutions: all_revolutions / n,
        most: MOST,
        holds: false,
    }
}

fn judged(mut measured: MissedRevolution, most: f64, advance: f64) -> MissedRevolution {
    measured.most = most;
    measured.holds = measured.below_share == 0.0
        && measured.on_revolution_share >= most
        && (-SPEED_SLACK..SPEED_SLACK + advance).contains(&measured.deviation);
    measured
}

/// Measures from a histogram, buckets as (low, high, count) in ms, whose mean and minimum are
/// known exactly. The minimum is taken as the revolution: nothing is faster, and in the fullest
/// bucket the requests cannot be far above it, because their mean is known once the other buckets
/// are counted at their lower edges (Markov's inequality gives the share on the revolution).
pub fn from_histogram(
    buckets_ms: &[(f64, f64, u64)],
    mean_ms: f64,
    min_ms: f64,
) -> Option<MissedRevolution> {
    let n = iowhy_model::numbers::total(buckets_ms.iter().map(|bucket| bucket.2));
    let fullest = buckets_ms.iter().max_by_key(|bucket| bucket.2)?;
    let holds_min = fullest.0 <= min_ms && min_ms < fullest.1;
    if (n as usize) < MIN_WRITES || !holds_min || min_ms <= 0.0 {
        return None;
    }
    let others: f64 = buckets_ms
        .iter()
        .filter(|bucket| bucket.0 != fullest.0)
        .map(|(low, _, count)| low * *count as f64)
        .sum();
    let bucket_mean_ms = (mean_ms * n as f64 - others) / fullest.2 as f64;
    let above_ms = (bucket_mean_ms - min_ms).max(0.0);
    let near = (1.0 - above_ms / (NEAR_REVOLUTIONS * min_ms)).max(0.0);
    let revolutions = |low: f64, high: f64| ((low + high) / 2.0 / min_ms).round().max(1.0);
    let all_revolutions: f64 =
        buckets_ms.iter().map(|(low, high, count)| revolutions(*low, *high) * *count as f64).sum();
    let off = |rpm: &f64| (min_ms * rpm / 60_000.0 - 1.0).abs();
    let standard_rpm = SPEEDS_RPM.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let measured = MissedRevolution {
        n,
        revolution_ms: min_ms,
        rpm: 60_000.0 / min_ms,
        standard_rpm,
        deviation: min_ms * standard_rpm / 60_000.0 - 1.0,
        on_revolution_share: near * fullest.2 as f64 / n as f64,
        below_share: 0.0,
        mean_revolutions: all_revolutions / n as f64,
        most: MOST,
        holds: false,
    };
    Some(judged(measured, MOST, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Random;

    #[test]
    fn writes_wait_a_revolution_of_7200_rpm() {
        let buckets = [(8.0, 1992), (9.0, 2), (10.0, 1), (14.0, 1), (16.0, 3), (24.0, 1)]
            .map(|(low, n)| (low, low + 1.0, n));
        let found = from_histogram(&buckets, 8.388851, 8.335624).unwrap();
        assert_eq!(found.n, 2000);
        assert!((found.rpm - 7198.0).abs() < 0.1, "{found:?}");
        assert_eq!(found.standard_rpm, 7200.0);
        assert!((found.on_revolution_share - 0.878).abs() < 0.001, "{found:?}");
        assert!((found.mean_revolutions - 1.003).abs() < 0.001, "{found:?}");
        assert!(found.holds);
    }

    #[test]
    fn missed_revolution_as_a_list() {
        let mut services = vec![8.3361; 1992];
        services.extend([9.4, 9.6, 10.5, 14.2, 16.67, 16.67, 16.68, 24.998846]);
        let found = missed_revolution(&services).unwrap();
        assert!(found.holds && (found.revolution_ms - 8.336).abs() < 0.001, "{found:?}");
    }

    /// Completions each `beat` ms later, one in `late` of them seen up to 3 ms late.
    fn seen_late(random: &mut Random, late: usize, beat: impl Fn(&mut Random) -> f64) -> Vec<f64> {
        let mut at = 0.0;
        (0..400)
            .map(|_| {
                at += beat(random);
                at + if random.place(late) == 0 { 0.3 + 2.7 * random.unit() } else { 0.0 }
            })
            .collect()
    }

    #[test]
    fn a_completion_seen_late_spoils_one_beat_and_not_two() {
        let mut random = Random::seeded(7);
        // 8.333 ms and the 8 sectors of the block itself: 8.388 ms, as a loop device showed it.
        let platter = seen_late(&mut random, 6, |_| 8.388);
        let found = from_completions(&platter, 0.0683).unwrap();
        assert!(found.holds && (found.revolution_ms - 8.388).abs() < 0.01, "{found:?}");
        // About one in six is late, so that a third of the beats is off.
        let single: Vec<f64> = platter.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(!missed_revolution(&single).unwrap().holds);
        assert!(found.on_revolution_share > 0.8 && found.on_revolution_share < 0.92, "{found:?}");
        // Near misses: services about a revolution long, and of any length.
        let about = seen_late(&mut random, 6, |random| 8.388 * (1.0 + 0.04 * random.normal()));
        assert!(!from_completions(&about, 0.0683).unwrap().holds);
        let any = seen_late(&mut random, 6, |random| 2.0 + 12.0 * random.unit());
        assert!(!from_completions(&any, 0.0683).unwrap().holds);
        assert_eq!(from_completions(&[], 0.0), None);
    }

    #[test]
    fn random_writes_and_fast_writes_do_not() {
        let mut random = Random::seeded(1);
        let spread: Vec<f64> = (0..200).map(|_| 2.0 + 12.0 * random.unit()).collect();
        assert!(!missed_revolution(&spread).unwrap().holds);
        let fast: Vec<f64> = (0..200).map(|_| 0.4 + 0.01 * random.normal()).collect();
        assert!(!missed_revolution(&fast).unwrap().holds);
        assert_eq!(missed_revolution(&[8.33; 4]), None);
        assert_eq!(from_histogram(&[], 1.0, 1.0), None);
    }
}
