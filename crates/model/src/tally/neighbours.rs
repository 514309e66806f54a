//! Histograms of adjacent intervals, merged if there are too many.

use std::collections::{HashMap, HashSet};

use crate::{DeviceId, Distribution, Layer, Name, Nanos, Op, Stage};

/// Histograms with the same key can be added up if their intervals are neighbours.
type Key = (Of, Option<Name>, Option<i64>, (usize, u64));
type Of = (DeviceId, Option<Op>, Layer, Stage, Option<u32>);

/// How far back the previous histogram of a series is looked for: this many series may be
/// interleaved.
const BESIDE: usize = 16;

/// Adds a histogram to its neighbour among the last ones, if both begin in the same interval of
/// 2^`shift` ns; false if there is none.
pub(super) fn join(all: &mut [Distribution], one: &Distribution, shift: u32) -> bool {
    let wanted = key(one, shift);
    let last = all.iter_mut().rev().take(BESIDE).find(|known| key(known, shift) == wanted);
    last.is_some_and(|known| merge(known, one))
}

/// Adds up neighbours over longer and longer intervals until at most this many are left, or one per
/// series. Returns the interval length as a power of two of ns.
pub(super) fn add_up(all: &mut Vec<Distribution>, most: usize) -> u32 {
    let lengths = all.iter().filter_map(|one| one.length).filter(|length| length.ns() > 0);
    let shortest = lengths.min().map_or(1, Nanos::ns);
    // The result is counted before anything is moved: each step of the search reads keys only.
    let left = |shift: u32| all.iter().map(|one| key(one, shift)).collect::<HashSet<Key>>().len();
    let (mut low, mut high) = (shortest.ilog2() + 1, 63);
    if left(high) > most {
        low = high;
    }
    while low < high {
        let middle = low.midpoint(high);
        if left(middle) <= most { high = middle } else { low = middle + 1 }
    }
    let mut places: HashMap<Key, usize> = HashMap::new();
    let before = std::mem::take(all);
    for one in before {
        let place = *places.entry(key(&one, low)).or_insert(all.len());
        if !all.get_mut(place).is_some_and(|known| merge(known, &one)) {
            all.push(one);
        }
    }
    low
}

fn merge(known: &mut Distribution, other: &Distribution) -> bool {
    let merged = known.histogram.merge(&other.histogram);
    if merged {
        extend(known, other);
    }
    merged
}

fn key(one: &Distribution, shift: u32) -> Key {
    // Without a start and a length it has no neighbours; all of these have the same time.
    let column = one.start.zip(one.length).map(|(start, _)| start.ns() >> shift);
    // Enough of the edges to distinguish the tables of one source.
    let edges = (one.histogram.edges().buckets(), one.histogram.edges().high(0));
    ((one.device, one.op, one.layer, one.stage, one.bytes), one.label, column, edges)
}

/// The interval of both.
fn extend(known: &mut Distribution, other: &Distribution) {
    let ends = [&*known, other].map(|one| one.start.zip(one.length).map(|(at, long)| at + long));
    if let (Some(start), Some(other_start), [Some(one), Some(two)]) =
        (known.start, other.start, ends)
    {
        let start = start.min(other_start);
        (known.start, known.length) = (Some(start), Some(one.max(two) - start));
    } else {
        let lengths = known.length.zip(other.length);
        known.length = lengths.map(|(a, b)| Nanos(a.ns().saturating_add(b.ns())));
    }
}
