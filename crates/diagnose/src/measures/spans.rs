//! Intervals of time: their union, what they cover, how many are open at a moment.

/// Sorted, disjoint intervals `[start, end)`, ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spans(Vec<(i64, i64)>);

impl Spans {
    /// The union of some intervals.
    pub fn of(stretches: impl Iterator<Item = (i64, i64)>) -> Spans {
        let mut all: Vec<(i64, i64)> = stretches.filter(|(start, end)| start < end).collect();
        all.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (start, end) in all {
            match merged.last_mut().filter(|last| last.1 >= start) {
                Some(last) => last.1 = last.1.max(end),
                None => merged.push((start, end)),
            }
        }
        Spans(merged)
    }

    /// Their total length, ns.
    pub fn total_ns(&self) -> f64 {
        self.0.iter().map(|(start, end)| end.saturating_sub(*start) as f64).sum()
    }

    /// Whether any of them overlaps an interval.
    pub fn meets(&self, start: i64, end: i64) -> bool {
        // Disjoint and sorted: the first that ends after `start` decides.
        let first = self.0.partition_point(|known| known.1 <= start);
        self.0.get(first).is_some_and(|known| known.0 < end.max(start.saturating_add(1)))
    }

    /// The part of an interval that they cover, ns.
    pub fn covered_ns(&self, start: i64, end: i64) -> f64 {
        let first = self.0.partition_point(|known| known.1 <= start);
        self.0
            .iter()
            .skip(first)
            .take_while(|known| known.0 < end)
            .map(|known| known.1.min(end).saturating_sub(known.0.max(start)).max(0) as f64)
            .sum()
    }
}

/// How many intervals are open, as a step function over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Depth(Vec<(i64, u32)>);

impl Depth {
    /// Of some intervals.
    pub fn of(stretches: impl Iterator<Item = (i64, i64)>) -> Depth {
        let mut steps: Vec<(i64, i32)> =
            stretches.flat_map(|(start, end)| [(start, 1), (end, -1)]).collect();
        // An end before a start at the same moment: the place was free.
        steps.sort_unstable();
        let mut open = 0i64;
        let stairs = steps.into_iter().map(|(ns, change)| {
            open += i64::from(change);
            (ns, u32::try_from(open).unwrap_or(0))
        });
        Depth(stairs.collect())
    }

    /// How many are open once all that begins and ends at a moment has.
    pub fn at(&self, ns: i64) -> u32 {
        let begun = self.0.partition_point(|(start, _)| *start <= ns);
        begun.checked_sub(1).and_then(|place| self.0.get(place)).map_or(0, |(_, open)| *open)
    }

    /// Most at once.
    pub fn most(&self) -> u32 {
        self.0.iter().map(|(_, open)| *open).max().unwrap_or(0)
    }

    /// The part of some spans in which fewer than `room` are open, ns.
    pub fn time_below(&self, spans: &Spans, room: u32) -> f64 {
        let inner = self.0.windows(2).filter_map(|pair| match pair {
            [(from, open), (to, _)] if *open < room => Some(spans.covered_ns(*from, *to)),
            _ => None,
        });
        let before = self.0.first().map_or(0.0, |(first, _)| spans.covered_ns(i64::MIN, *first));
        inner.sum::<f64>() + before
    }
}

/// For each interval of `of`, how many of `among` are open when it begins, those that begin at the
/// same moment included.
pub fn open_at_start(of: &[(i64, i64)], among: &[(i64, i64)]) -> Vec<u32> {
    let mut starts: Vec<i64> = among.iter().map(|stretch| stretch.0).collect();
    let mut ends: Vec<i64> = among.iter().map(|stretch| stretch.1).collect();
    starts.sort_unstable();
    ends.sort_unstable();
    of.iter()
        .map(|(start, _)| {
            let begun = starts.partition_point(|other| other <= start);
            let ended = ends.partition_point(|other| other <= start);
            begun.saturating_sub(ended) as u32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        let spans = Spans::of([(0, 10), (5, 20), (30, 40), (50, 50)].into_iter());
        assert_eq!(spans.total_ns(), 30.0);
        assert!(spans.meets(19, 25) && !spans.meets(20, 30) && spans.meets(20, 31));
        assert!(spans.meets(35, 35) && !spans.meets(25, 25));
        assert_eq!(spans.covered_ns(15, 35), 10.0);
        assert_eq!(Spans::default().total_ns(), 0.0);
        assert_eq!(open_at_start(&[(5, 9), (20, 21)], &[(0, 10), (5, 20), (20, 30)]), [2, 1]);
    }
}
