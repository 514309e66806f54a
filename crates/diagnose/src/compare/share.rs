//! Shares of two sides: Fisher's exact test, and the ratio with its interval.

use crate::measures::rank_test::upper_tail;

/// Requests on both sides beyond which a normal curve is as good as the exact sum.
const EXACT: u64 = 5_000;

/// P-value of the difference if both sides have the same share; `None` if a side is empty.
pub(super) fn chance(counts: [u64; 2], all: [u64; 2]) -> Option<f64> {
    if all[0] == 0 || all[1] == 0 || counts[0] > all[0] || counts[1] > all[1] {
        return None;
    }
    let total = all[0] + all[1];
    let hits = counts[0] + counts[1];
    if total > EXACT {
        let share = hits as f64 / total as f64;
        let spread = share * (1.0 - share) * (1.0 / all[0] as f64 + 1.0 / all[1] as f64);
        let apart = counts[0] as f64 / all[0] as f64 - counts[1] as f64 / all[1] as f64;
        let z = if spread > 0.0 { apart.abs() / spread.sqrt() } else { 0.0 };
        return Some((2.0 * upper_tail(z)).min(1.0));
    }
    // All tables with the same margins that are no likelier than this one.
    let logs = log_factorials(total);
    let log = |n: u64| logs.get(n as usize).copied().unwrap_or(0.0);
    let likelihood = |k: u64| {
        let choose = |n: u64, k: u64| log(n) - log(k) - log(n - k);
        choose(all[0], k) + choose(all[1], hits - k) - choose(total, hits)
    };
    let seen = likelihood(counts[0]);
    let from = hits.saturating_sub(all[1]);
    let to = hits.min(all[0]);
    let tail = (from..=to).map(likelihood).filter(|other| *other <= seen + 1e-9).map(f64::exp);
    Some(tail.sum::<f64>().min(1.0))
}

fn log_factorials(most: u64) -> Vec<f64> {
    let mut logs = vec![0.0];
    let mut sum = 0.0;
    for n in 1..=most {
        sum += (n as f64).ln();
        logs.push(sum);
    }
    logs
}

/// The ratio of the second share to the first with its 95 % interval, on a log scale (Katz, 1978);
/// `None` if a side has none of the kind.
pub(super) fn ratio_interval(counts: [u64; 2], all: [u64; 2]) -> Option<(f64, f64)> {
    if counts.contains(&0) || all.contains(&0) {
        return None;
    }
    let [a, b] = counts.map(|count| count as f64);
    let [m, n] = all.map(|count| count as f64);
    let ratio = (b / n) / (a / m);
    let wide = 1.96 * (1.0 / a - 1.0 / m + 1.0 / b - 1.0 / n).max(0.0).sqrt();
    Some((ratio * (-wide).exp(), ratio * wide.exp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        // Fisher's tea: 3 of 4 and 1 of 4: 34/70.
        assert!((chance([3, 1], [4, 4]).unwrap() - 34.0 / 70.0).abs() < 1e-9);
        // The two unzip runs: 5 of 15 reads, 0 of 16: C(15, 5) of C(31, 5).
        assert!((chance([5, 0], [15, 16]).unwrap() - 3003.0 / 169_911.0).abs() < 1e-9);
        let many = chance([2500, 3000], [5000, 5000]).unwrap();
        assert!(many < 1e-20, "{many}");
        assert_eq!(chance([0, 0], [0, 5]), None);
        let (low, high) = ratio_interval([10, 20], [100, 100]).unwrap();
        assert!(low < 2.0 && high > 2.0 && (low * high - 4.0).abs() < 1e-9);
    }
}
