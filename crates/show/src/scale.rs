//! The latency rows of a picture: edges to which the counts of its sources can be moved without
//! error.

use std::collections::HashMap;

use iowhy_model::{Distribution, Edges, Histogram, Series, Stage};

/// Rows per power of two that are tried, finest first. The tracer's table has eight.
const PER_OCTAVE: [u64; 4] = [8, 4, 2, 1];
/// Powers of two that are joined to one row where even one row for each is too many.
const JOINED: [usize; 3] = [2, 3, 4];
/// Octaves above a microsecond that rows may cover: up to 203 days.
const OCTAVES: u32 = 44;

/// Edges of at most `most` rows, at most `finest` to a power of two, that cover all that was
/// counted; the sources' own edges, some of them joined, where powers of two would cut a bucket.
/// `None` if nothing was counted.
pub(crate) fn rows(sources: &[&Histogram], most: usize, finest: u64) -> Option<Edges> {
    let filled: Vec<(u64, u64)> =
        sources.iter().flat_map(|known| known.filled().map(|(low, high, _)| (low, high))).collect();
    let low = filled.iter().map(|(low, _)| *low).min()?;
    let high = filled.iter().map(|(_, high)| *high).max()?;
    // An open bucket reaches anywhere: what counts is where it begins.
    let reach = filled.iter().map(|(low, high)| if *high == u64::MAX { *low + 1 } else { *high });
    let reach = reach.max()?;
    let fine = PER_OCTAVE.into_iter().filter(|k| *k <= finest).map(octaves);
    let coarse = JOINED.into_iter().map(|step| octaves(1).into_iter().step_by(step).collect());
    // A source of whole milliseconds would fit into rows wide enough to hold all of it.
    let octave = Edges::log2_us(OCTAVES);
    let aligned = sources.iter().all(|known| splits(known.edges(), &octave));
    for candidate in fine.chain(coarse).filter(|_| aligned) {
        let candidate: Vec<u64> = candidate;
        let rows = clipped(&candidate, low, reach, high == u64::MAX);
        if let Some(edges) = Edges::new(rows)
            && edges.buckets() <= most.max(1)
            && sources.iter().all(|known| splits(known.edges(), &edges))
        {
            return Some(edges);
        }
    }
    let mut own: Vec<u64> =
        sources.iter().flat_map(|known| known.edges().as_slice()).copied().collect();
    own.sort_unstable();
    own.dedup();
    let own = clipped(&own, low, reach, high == u64::MAX);
    let step = (own.len().saturating_sub(1)).div_ceil(most.max(1)).max(1);
    let last = own.last().copied()?;
    let mut joined: Vec<u64> = own.iter().step_by(step).copied().collect();
    if joined.last() != Some(&last) {
        joined.push(last);
    }
    Edges::new(joined)
}

/// Whether no row's edge is inside a bucket, except an open last one.
fn splits(buckets: &Edges, rows: &Edges) -> bool {
    let closed = buckets.as_slice().iter().filter(|edge| **edge < u64::MAX).copied().collect();
    Edges::new(closed).is_none_or(|closed| closed.merges_into(rows))
}

/// Whether these rows are parts of octaves, eight or fewer to one: then they are not of one width
/// on a logarithmic scale, and counts alone would show a step at each power of two.
pub(crate) fn parts_of_octaves(rows: &Edges) -> bool {
    let of = |k: u64| {
        let table = octaves(k);
        rows.as_slice().iter().all(|edge| *edge == u64::MAX || table.binary_search(edge).is_ok())
    };
    of(PER_OCTAVE[0]) && !of(1)
}

/// How many octaves a row covers; one for an open row and for one that begins at 0.
pub(crate) fn width_in_octaves(rows: &Edges, row: usize) -> f64 {
    match (rows.low(row), rows.high(row)) {
        (0, _) | (_, u64::MAX) => 1.0,
        (low, high) => (high as f64 / low as f64).log2(),
    }
}

/// Edges with `k` equal steps to each power of two of a microsecond; those of biolatency for 1.
fn octaves(k: u64) -> Vec<u64> {
    if k == 1 {
        return Edges::log2_us(OCTAVES).as_slice().to_vec();
    }
    let mut edges = vec![0];
    for octave in 0..OCTAVES {
        edges.extend((0..k).map(|step| (1000 * (k + step) / k) << octave));
    }
    edges
}

/// The edges from the last at or below `low` to the first at or above `reach`.
fn clipped(edges: &[u64], low: u64, reach: u64, open: bool) -> Vec<u64> {
    let first = edges.iter().rposition(|edge| *edge <= low).unwrap_or(0);
    let last = edges.iter().position(|edge| *edge >= reach).unwrap_or(edges.len() - 1);
    let mut rows = edges.get(first..=last).unwrap_or_default().to_vec();
    if open {
        rows.retain(|edge| *edge < reach);
        rows.push(u64::MAX);
    }
    rows
}

/// Of several distributions of one device, operation and origin: the stage asked for, else the
/// longest that is known.
pub(crate) fn of_stage(some: &[Distribution], wanted: Option<Stage>) -> Vec<&Distribution> {
    let kind =
        |known: &Distribution| (known.device, known.op, known.layer, known.label, known.bytes);
    let mut longest: HashMap<_, u8> = HashMap::new();
    for known in some.iter().filter(|known| known.histogram.count() > 0) {
        let most = longest.entry(kind(known)).or_default();
        *most = rank(known.stage).max(*most);
    }
    some.iter()
        .filter(|known| match wanted {
            Some(stage) => known.stage == stage,
            None => longest.get(&kind(known)).is_none_or(|most| *most <= rank(known.stage)),
        })
        .collect()
}

/// Of one device's series the one of the stage asked for, or of the longest.
pub(crate) fn wanted(of_device: Vec<Series>, stage: Option<Stage>) -> Option<Series> {
    match stage {
        Some(stage) => of_device.into_iter().find(|one| one.stage == stage),
        None => of_device.into_iter().max_by_key(|one| one.stage),
    }
}

/// How close a stage is to the latency that the program experiences.
fn rank(stage: Stage) -> u8 {
    match stage {
        Stage::Total => 3,
        Stage::Device => 2,
        Stage::Queue => 1,
        Stage::Before => 0,
    }
}

/// What a stage covers, in words.
pub(crate) fn stage_words(stage: Stage) -> &'static str {
    match stage {
        Stage::Before => "B2Q, bio to request",
        Stage::Queue => "Q2D, queue to issue",
        Stage::Device => "D2C, issue to completion",
        Stage::Total => "Q2C, queue to completion",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_fine_as_room_and_source_allow() {
        let mut traced = Histogram::empty(Edges::standard());
        [90_000, 1_600_000, 7_000_000].into_iter().for_each(|ns| traced.record(ns));
        // 5 buckets left of the octave from 64 us, 5 whole octaves, 6 of the one from 4.1 ms.
        assert_eq!(rows(&[&traced], 100, 8).unwrap().buckets(), 5 + 5 * 8 + 6);
        assert_eq!(rows(&[&traced], 100, 1).unwrap().as_slice()[..2], [64_000, 128_000]);
        assert!(rows(&[&traced], 3, 8).unwrap().buckets() <= 3);
        let none = Histogram::empty(Edges::standard());
        assert_eq!(rows(&[&none], 10, 8), None);
    }

    #[test]
    fn edges_that_powers_of_two_would_cut_are_kept() {
        let edges = Edges::new(vec![8_000_000, 9_000_000, 10_000_000, 16_000_000]).unwrap();
        let known = Histogram::from_counts(edges.clone(), vec![5, 0, 1]).unwrap();
        assert_eq!(rows(&[&known], 10, 8), Some(edges));
        let two = rows(&[&known], 2, 8).unwrap();
        assert_eq!(two.as_slice(), [8_000_000, 10_000_000, 16_000_000]);
    }

    #[test]
    fn an_open_bucket_stays_open() {
        let mut traced = Histogram::empty(Edges::standard());
        traced.record(200_000_000_000);
        let rows = rows(&[&traced], 10, 1).unwrap();
        assert_eq!(rows.as_slice(), [134_217_728_000, u64::MAX]);
    }
}
