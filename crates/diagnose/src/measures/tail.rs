//! The share of the summed latency that is due to the slowest requests.

use iowhy_model::Histogram;

/// The requests of a histogram that are not known to be faster than a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowPart {
    /// Their share of all requests, 0 to 1.
    pub of_requests: f64,
    /// The least share of all time that they took, 0 to 1.
    pub of_time: f64,
    /// Their least mean, ns.
    pub mean_ns: f64,
}

/// The requests in buckets that reach beyond `bound_ns`; `None` where nothing was counted, or none
/// does.
pub fn slow_part(histogram: &Histogram, bound_ns: f64) -> Option<SlowPart> {
    let (mean_ns, exact) = histogram.mean_ns().filter(|(mean, _)| *mean > 0.0)?;
    let count = histogram.count() as f64;
    let total = mean_ns * count;
    let (mut slow, mut slow_ns, mut quick_ns) = (0.0, 0.0, 0.0);
    for (low, high, n) in histogram.filled() {
        if high as f64 > bound_ns {
            (slow, slow_ns) = (slow + n as f64, slow_ns + low as f64 * n as f64);
        } else {
            quick_ns += high as f64 * n as f64;
        }
    }
    // If the sum is known, these took the part that the others cannot have taken.
    let taken = if exact { (total - quick_ns).max(slow_ns) } else { slow_ns };
    (slow > 0.0).then(|| SlowPart {
        of_requests: slow / count,
        of_time: (taken / total).clamp(0.0, 1.0),
        mean_ns: taken / slow,
    })
}

#[cfg(test)]
mod tests {
    use iowhy_model::Edges;

    use super::*;

    #[test]
    fn what_the_slowest_hold_is_never_overstated() {
        // From no tail to one that is nearly everything, seen in fine buckets, coarse ones and one
        // alone.
        let tails = [(0u64, 0u64), (1, 500_000), (6, 50_000_000), (30, 5_000_000), (300, 900_000)];
        for (few, slow_ns) in tails {
            let mut fine = Histogram::empty(Edges::standard());
            let mut all: Vec<f64> = Vec::new();
            for k in 0..1000u64 {
                let ns = if k < few { slow_ns + k } else { 90_000 + 37 * k };
                fine.record(ns);
                all.push(ns as f64);
            }
            all.sort_by(|a, b| b.total_cmp(a));
            let total: f64 = all.iter().sum();
            let mut coarse = fine.rebin(&Edges::log2_us(26));
            let summary = Histogram::from_summary(1000, total / 1000.0, 90_000, all[0] as u64);
            let mut inexact = coarse.clone();
            inexact.sum_ns = None;
            for (name, exact, histogram) in [
                ("fine", true, &fine),
                ("coarse", true, &coarse),
                ("one", true, &summary),
                ("inexact", false, &inexact),
            ] {
                let Some(part) = slow_part(histogram, 300_000.0) else {
                    assert_eq!(few, 0, "{name}");
                    continue;
                };
                let n = (part.of_requests * 1000.0).round() as usize;
                let held = all[..n].iter().sum::<f64>() / total;
                let slack = if exact { 1e-9 } else { 0.35 };
                assert!(
                    part.of_time <= held + slack,
                    "{name}, {few} of {slow_ns} ns: {part:?} of {held}"
                );
                if name == "fine" {
                    assert!(
                        part.of_time > held - 0.13,
                        "{few} of {slow_ns} ns: {part:?} of {held}"
                    );
                }
            }
            coarse.sum_ns = None;
            assert!(slow_part(&coarse, 1e12).is_none());
        }
    }
}
