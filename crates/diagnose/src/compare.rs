//! Compares two recordings: which groups of requests differ, by how much, whether by more than
//! chance, and which verdict explains it.
//!
//! Latencies are compared by ranks (Mann and Whitney) and by the ratio of medians, with an interval
//! from a seeded bootstrap of blocks, because requests close in time are correlated. Shares are
//! compared by Fisher's exact test. All p-values are corrected for their number (Holm, 1979). A
//! difference counts if its p-value is below 1 % and its interval excludes one.

mod sample;
mod share;

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{
    ComparedSide, ComparedVerdict, Comparison, Difference, Explanation, Random, Recording, Unit,
    Verdict,
};

use crate::diagnosis::judge;
use crate::facts::disk_names;
use crate::measures::{rank_test, spread};
use crate::options::Options;
use sample::{Kind, Sides};

/// A difference counts from this chance on, after Holm: docs/METHOD.md, 10 Rules, "p < 0.01".
const CHANCE: f64 = 0.01;
/// Rounds of the bootstrap: the 2.5th percentile of 400 rests on ten of them.
const ROUNDS: usize = 400;
/// Values of a group that are resampled; the median of this many is known to 1 %.
const RESAMPLED: usize = 5_000;
/// Kinds of requests shown: those with most requests.
const KINDS: usize = 12;
/// Values on each side that a rank test takes (docs/METHOD.md, 10 Rules: five each).
const EACH: usize = 5;

/// Compares two recordings under the names the user gave them.
pub fn compare(sides: [(&str, &Recording); 2], options: &Options) -> Comparison {
    let sampled = Sides::of(sides.map(|(_, recording)| recording));
    let mut differences = vec![
        requests_per_second(&sampled),
        values("all", "size of a request, median", Unit::Bytes, &sampled.bytes()),
        values("all", "latency, median", Unit::Ms, &sampled.latencies(None)),
    ];
    differences.extend(of_kinds(&sampled));
    differences.extend(
        sampled
            .rows()
            .into_iter()
            .map(|row| values(&row.group, row.quantity, row.unit, &row.values)),
    );
    differences.retain(|one| one.values.iter().any(Option::is_some));
    let tests = correct(&mut differences);
    differences.order_by(|a, b| {
        let order = |one: &Difference| (!one.differs, one.p.is_none());
        let strength = |one: &Difference| one.ratio.map_or(0.0, |ratio| ratio.max(1e-9).ln().abs());
        order(a).cmp(&order(b)).then(strength(b).total_cmp(&strength(a)))
    });
    let sides = sides.map(|(name, recording)| compared(name, recording, options));
    let explained = explained(&sides, &differences);
    Comparison { sides, differences, tests, explained }
}

/// Share and latency of each kind of request.
fn of_kinds(sampled: &Sides) -> Vec<Difference> {
    let mut kinds: BTreeMap<Kind, [u64; 2]> = BTreeMap::new();
    for side in 0..2 {
        for kind in sampled.kinds(side) {
            kinds.entry(kind).or_default()[side] += 1;
        }
    }
    let all: [u64; 2] = [0, 1].map(|side| kinds.values().map(|counts| counts[side]).sum());
    let mut kinds: Vec<(Kind, [u64; 2])> = kinds.into_iter().collect();
    kinds.order_by_key(|(_, counts)| std::cmp::Reverse(counts[0] + counts[1]));
    kinds.truncate(KINDS);
    kinds
        .into_iter()
        .flat_map(|(kind, counts)| {
            let words = kind.words();
            let share = share_of(&words, counts, all);
            let latency =
                values(&words, "latency, median", Unit::Ms, &sampled.latencies(Some(kind)));
            [share, latency]
        })
        .collect()
}

/// The share of a kind among all requests of its side.
fn share_of(group: &str, counts: [u64; 2], all: [u64; 2]) -> Difference {
    let share = |side: usize| (all[side] > 0).then(|| counts[side] as f64 / all[side] as f64);
    let (first, second) = (share(0), share(1));
    Difference {
        group: group.to_string(),
        quantity: "share of the requests",
        unit: Unit::Share,
        values: [first, second],
        n: all,
        ratio: first.zip(second).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
        interval: share::ratio_interval(counts, all),
        superiority: None,
        p: share::chance(counts, all),
        differs: false,
    }
}

/// Requests per second of both sides; one number each, so nothing is tested.
fn requests_per_second(sampled: &Sides) -> Difference {
    let rates = [0, 1].map(|side| sampled.per_second(side));
    Difference {
        group: "all".to_string(),
        quantity: "requests per second",
        unit: Unit::PerSecond,
        values: rates,
        n: [0, 1].map(|side| sampled.count(side)),
        ratio: rates[0].zip(rates[1]).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
        interval: None,
        superiority: None,
        p: None,
        differs: false,
    }
}

/// Two lists of values in time order.
fn values(group: &str, quantity: &'static str, unit: Unit, values: &[Vec<f64>; 2]) -> Difference {
    let medians = [0, 1].map(|side| spread::median(&values[side]));
    let enough = values.iter().all(|side| side.len() >= EACH);
    let test = rank_test::compare(&values[1], &values[0]).filter(|_| enough);
    // All values are the same on both sides: certainly no difference.
    let same = enough && test.is_none();
    Difference {
        group: group.to_string(),
        quantity,
        unit,
        values: medians,
        n: [0, 1].map(|side| values[side].len() as u64),
        ratio: medians[0].zip(medians[1]).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a),
        interval: if enough { bootstrap(values) } else { None },
        superiority: test.map(|test| test.superiority),
        p: if same { Some(1.0) } else { test.map(|test| test.p_either()) },
        differs: false,
    }
}

/// The ratio of medians of resampled blocks, from the 2.5th to the 97.5th percentile.
fn bootstrap(values: &[Vec<f64>; 2]) -> Option<(f64, f64)> {
    let thinned = [0, 1].map(|side| thin(&values[side]));
    let mut random = Random::seeded(2026);
    let mut ratios: Vec<f64> = (0..ROUNDS)
        .filter_map(|_| {
            let first = resampled_median(&thinned[0], &mut random)?;
            let second = resampled_median(&thinned[1], &mut random)?;
            (first > 0.0).then_some(second / first)
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios.get((share * ratios.len() as f64) as usize).copied();
    Some((at(0.025)?, at(0.975)?))
}

/// At most this many values, evenly spread over the list.
fn thin(values: &[f64]) -> Vec<f64> {
    values.iter().copied().step_by(values.len().div_ceil(RESAMPLED).max(1)).collect()
}

/// The median of a resample in circular blocks of the cube root of the length (Politis and Romano,
/// 1992; Hall, Horowitz and Jing, 1995, for the length).
fn resampled_median(values: &[f64], random: &mut Random) -> Option<f64> {
    let n = values.len();
    let block = (n as f64).cbrt().ceil().max(1.0) as usize;
    let mut drawn: Vec<f64> = Vec::with_capacity(n + block);
    while drawn.len() < n {
        let start = random.place(n);
        drawn.extend((0..block).filter_map(|step| values.get((start + step) % n)));
    }
    drawn.truncate(n);
    let middle = n / 2;
    if middle >= drawn.len() {
        return None;
    }
    let (_, median, _) = drawn.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

/// Corrects the p-values for their number (Holm) and marks what differs; returns how many were
/// tested.
fn correct(differences: &mut [Difference]) -> usize {
    let mut order: Vec<usize> =
        (0..differences.len()).filter(|at| differences[*at].p.is_some()).collect();
    order.order_by(|a, b| {
        let p = |at: &usize| differences[*at].p.unwrap_or(1.0);
        p(a).total_cmp(&p(b))
    });
    let tests = order.len();
    let mut highest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        let one = &mut differences[at];
        let corrected = (one.p.unwrap_or(1.0) * (tests - rank) as f64).min(1.0).max(highest);
        highest = corrected;
        one.p = Some(corrected);
        // A kind that one side does not have at all has no ratio to bound.
        let apart = one.interval.is_none_or(|(low, high)| low > 1.0 || high < 1.0);
        one.differs = corrected < CHANCE && apart;
    }
    tests
}

fn compared(name: &str, recording: &Recording, options: &Options) -> ComparedSide {
    let verdicts = judge(recording, options)
        .into_iter()
        .map(|finding| ComparedVerdict {
            verdict: finding.verdict,
            device: finding
                .subject
                .device
                .map(|id| disk_names::of(recording, id))
                .filter(|name| !name.is_empty()),
            confidence: finding.confidence(),
            explained_share: finding.explained_share,
            stands: finding.stands(),
            sentence: finding.sentence,
        })
        .collect();
    ComparedSide { name: name.to_string(), records: recording.records(), verdicts }
}

/// A verdict found on one side only; the one with the highest confidence.
fn explained(sides: &[ComparedSide; 2], differences: &[Difference]) -> Explanation {
    if !differences.iter().any(|one| one.differs) {
        return Explanation::Nothing;
    }
    let accuses = |reported: &ComparedVerdict| {
        reported.stands
            && !matches!(
                reported.verdict,
                Verdict::Healthy | Verdict::Insufficient | Verdict::ReportInconsistent
            )
    };
    let stands_on = |side: usize, verdict: Verdict| {
        sides[side].verdicts.iter().any(|reported| reported.verdict == verdict && accuses(reported))
    };
    let mut best: Option<(usize, usize, f64)> = None;
    for (side, compared) in sides.iter().enumerate() {
        for (place, reported) in compared.verdicts.iter().enumerate() {
            let weight = reported.confidence * reported.explained_share;
            let only_here = accuses(reported) && !stands_on(1 - side, reported.verdict);
            if only_here && best.is_none_or(|(_, _, most)| weight > most) {
                best = Some((side, place, weight));
            }
        }
    }
    if let Some((side, place, _)) = best {
        return Explanation::One(side, place);
    }
    let shared = sides[0].verdicts.iter().find(|reported| accuses(reported));
    shared.map_or(Explanation::Unknown, |reported| Explanation::Same(reported.verdict))
}

#[cfg(test)]
mod tests;
