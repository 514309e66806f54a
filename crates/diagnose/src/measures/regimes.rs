//! Cuts a trace where its behaviour changes, so that two states are not judged as one.
//!
//! The longest interval is split where a t-test of ln latency left against right is largest, and
//! the halves again, as long as the step is both significant and large (Hunter, ICPE 2023, replaces
//! E-divisive's permutations with the same test: the same trace always gives the same cuts).

use crate::measures::spread;
use std::ops::Range;

/// Points looked at; a longer trace is first folded into medians of equal blocks.
const BINS: usize = 4096;
/// An interval has at least this many points: a mean of fewer means little for a heavy-tailed
/// latency.
const SHORTEST: usize = 10;
/// What t must exceed. Over 1200 simulated traces without a change (30, 300 and 4096 points;
/// lognormal, stalls, exponential, retries) the largest t of all splits was 5.3.
const SURE: f64 = 5.5;
/// The same for a part of an interval: the largest t of all parts of those traces was 6.6.
const SURE_OF_PART: f64 = 7.5;
/// Smallest step that is another state: a factor of 1.5 in the geometric mean.
const STEP_LN: f64 = 0.405;

/// The intervals of `values` within which the level does not change, in order, without gap. One
/// interval if nothing changes; none if empty. Values are positive, such as services or latencies.
pub fn cut(values: &[f64]) -> Vec<Range<usize>> {
    if values.is_empty() {
        return Vec::new();
    }
    let block = values.len().div_ceil(BINS);
    let logs: Vec<f64> = values
        .chunks(block)
        .map(|chunk| spread::median(chunk).map_or(0.0, |v| v.max(f64::MIN_POSITIVE).ln()))
        .collect();
    let sums = Sums::of(&logs);
    let mut cuts: Vec<usize> = Vec::new();
    let mut open = Vec::from([(0, logs.len())]);
    while let Some((start, end)) = open.pop() {
        if let Some(at) = sums.best_split(&(start..end)) {
            cuts.push(at);
            open.push((start, at));
            open.push((at, end));
        }
    }
    cuts.sort_unstable();
    let starts = std::iter::once(0).chain(cuts.iter().map(|cut| cut * block));
    let ends = cuts.iter().map(|cut| cut * block).chain(std::iter::once(values.len()));
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Running sums of values and squares.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(logs: &[f64]) -> Sums {
        let mut sums = vec![(0.0, 0.0)];
        let mut total = (0.0, 0.0);
        for log in logs {
            total = (total.0 + log, total.1 + log * log);
            sums.push(total);
        }
        Sums(sums)
    }

    /// Number, mean and sum of squared deviations of an interval.
    fn moments(&self, stretch: Range<usize>) -> (f64, f64, f64) {
        let zero = (0.0, 0.0);
        let from = self.0.get(stretch.start).copied().unwrap_or(zero);
        let to = self.0.get(stretch.end).copied().unwrap_or(zero);
        let n = stretch.len() as f64;
        let (sum, squares) = (to.0 - from.0, to.1 - from.1);
        (n, sum / n, (squares - sum * sum / n).max(0.0))
    }

    /// Where the level changes: where the t-test is largest, if it is sure and the step is large. A
    /// state that comes and goes hides each of its steps behind the others, so if the whole
    /// interval shows none, its halves are tested, its quarters, and so on, each also shifted by
    /// half its length; with this many tests the threshold is higher.
    fn best_split(&self, stretch: &Range<usize>) -> Option<usize> {
        let whole = self.split(stretch).filter(|(_, t)| *t > SURE);
        let length = |part: u32| stretch.len() >> part;
        let deep = (1..).take_while(|part| length(*part) >= 2 * SHORTEST);
        let parts = deep.flat_map(|part| {
            let starts = (stretch.start..stretch.end).step_by(length(part) / 2);
            starts.map(move |start| start..(start + length(part)).min(stretch.end))
        });
        let surest = || {
            let sure =
                parts.filter_map(|part| self.split(&part)).filter(|(_, t)| *t > SURE_OF_PART);
            sure.max_by(|a, b| a.1.total_cmp(&b.1))
        };
        whole.or_else(surest).map(|(at, _)| at)
    }

    /// Where the t-test of an interval is largest, and its t, if the step is large.
    fn split(&self, stretch: &Range<usize>) -> Option<(usize, f64)> {
        let splits = stretch.start + SHORTEST..(stretch.end + 1).saturating_sub(SHORTEST);
        let scored = splits.map(|at| {
            let (n, mean, rest) = self.moments(stretch.start..at);
            let (m, other, rest_other) = self.moments(at..stretch.end);
            // A floor of 1 % keeps two exactly constant halves from dividing by nothing.
            let variance = ((rest + rest_other) / (n + m - 2.0)).max(1e-4);
            let t = (mean - other).abs() / (variance * (1.0 / n + 1.0 / m)).sqrt();
            (at, t, (mean - other).abs())
        });
        let (at, t, step) = scored.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (step > STEP_LN).then_some((at, t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::listings;
    use iowhy_model::Random;

    #[test]
    fn dusty_disk_holds_two_states() {
        let mut both = listings::worst_ms();
        both.extend(listings::fast_ms());
        assert_eq!(cut(&both), [0..28, 28..47]);
        let worst = 0..28;
        assert_eq!(cut(&listings::worst_ms()), [worst]);
    }

    #[test]
    fn stretches_cover_everything_once() {
        let mut random = Random::seeded(11);
        let mut values = Vec::new();
        for level in [1.0f64, 1.0, 6.0, 0.8, 3.0] {
            values.extend((0..3000).map(|_| level * f64::exp(0.6 * random.normal())));
        }
        let stretches = cut(&values);
        assert_eq!(stretches.first().map(|s| s.start), Some(0));
        assert_eq!(stretches.last().map(|s| s.end), Some(values.len()));
        assert!(stretches.windows(2).all(|pair| pair[0].end == pair[1].start));
        let starts: Vec<usize> = stretches.iter().map(|s| s.start).collect();
        assert_eq!(starts.len(), 4, "{starts:?}");
        for (found, truth) in starts.iter().zip([0, 6000, 9000, 12000]) {
            assert!(found.abs_diff(truth) <= 40, "{starts:?}");
        }
        assert!(cut(&[]).is_empty());
    }

    #[test]
    fn a_state_that_comes_and_goes_is_cut_out() {
        let mut random = Random::seeded(13);
        let state =
            |k: usize| if (17..35).contains(&k) || (87..104).contains(&k) { 6.4 } else { 0.4 };
        let values: Vec<f64> =
            (0..149).map(|k| state(k) * f64::exp(0.3 * random.normal())).collect();
        let found = cut(&values);
        assert_eq!(found, [0..17, 17..35, 35..87, 87..104, 104..149]);
    }

    #[test]
    #[ignore = "prints the figure beside `SURE_OF_PART`"]
    fn the_largest_t_of_a_part_without_a_change() {
        let mut random = Random::seeded(14);
        let mut most = 0.0_f64;
        for trace in 0..1200 {
            let n = [30, 300, 4096][trace % 3];
            let logs: Vec<f64> = (0..n)
                .map(|_| match trace / 3 % 4 {
                    0 => 0.8 * random.normal(),
                    1 => 0.8 * random.normal() + if random.unit() < 0.03 { 4.6 } else { 0.0 },
                    2 => (-random.unit().max(1e-9).ln()).max(1e-9).ln(),
                    _ => {
                        if random.unit() < 0.3 {
                            1.6
                        } else {
                            0.0
                        }
                    }
                })
                .collect();
            let sums = Sums::of(&logs);
            let mut length = n / 2;
            while length >= 2 * SHORTEST {
                let parts = (0..n).step_by(length / 2).map(|start| start..(start + length).min(n));
                let found = parts.filter_map(|part| sums.split(&part)).map(|(_, t)| t);
                most = found.fold(most, f64::max);
                length /= 2;
            }
        }
        println!("{most:.2}");
    }

    #[test]
    fn no_change_no_cut() {
        let mut random = Random::seeded(12);
        let mut cuts = 0;
        for trace in 0..300 {
            let n = [30, 300, 3000][trace % 3];
            let values: Vec<f64> = (0..n)
                .map(|_| {
                    let stalled = random.unit() < 0.03;
                    f64::exp(0.8 * random.normal()) * if stalled { 100.0 } else { 1.0 }
                })
                .collect();
            cuts += cut(&values).len() - 1;
        }
        assert_eq!(cuts, 0);
    }
}
