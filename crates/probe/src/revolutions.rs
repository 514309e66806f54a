//! Latencies that are whole revolutions of a platter.

/// Latencies that are whole revolutions of a disk of this speed.
#[derive(Clone, PartialEq, Debug)]
pub struct Revolutions {
    /// Revolutions per minute.
    pub rpm: f64,
    /// One revolution, ms.
    pub revolution_ms: f64,
    /// How many latencies.
    pub n: u64,
    /// Their mean, ms.
    pub mean_ms: f64,
    /// Latencies of 1, 2, 3 ... revolutions.
    pub cases: Vec<u64>,
    /// Share of all latencies that are whole revolutions.
    pub share: f64,
}

/// Speeds at which disks are sold.
const SPEEDS: [f64; 6] = [4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 15_000.0];
/// How near a whole revolution a latency must be, in revolutions, and how many must be
/// (docs/METHOD.md, 5 Missed revolution).
const TOLERANCE: f64 = 0.03;
const SHARE: f64 = 0.85;
/// A write of more revolutions than this was delayed otherwise.
const MOST: usize = 16;
/// Fewer latencies show no pattern (docs/METHOD.md, 5 Missed revolution).
const NEEDED: usize = 20;

/// The speed of which most latencies are whole revolutions, if enough are.
pub(crate) fn revolutions(latencies_ns: &[u64]) -> Option<Revolutions> {
    if latencies_ns.len() < NEEDED {
        return None;
    }
    let found = SPEEDS.iter().map(|rpm| at(latencies_ns, *rpm));
    // Two revolutions of a fast disk are one of a slow one: fewest revolutions explain the same
    // best.
    let best = found.max_by(|a, b| a.share.total_cmp(&b.share).then(b.rpm.total_cmp(&a.rpm)))?;
    (best.share >= SHARE).then_some(best)
}

fn at(latencies_ns: &[u64], rpm: f64) -> Revolutions {
    let revolution_ms = 60_000.0 / rpm;
    let mut cases = vec![0; MOST];
    for ns in latencies_ns {
        let revolutions = *ns as f64 / 1e6 / revolution_ms;
        let whole = revolutions.round();
        let on = (revolutions - whole).abs() <= TOLERANCE;
        if let Some(count) = cases.get_mut((whole as usize).wrapping_sub(1)).filter(|_| on) {
            *count += 1;
        }
    }
    let share = cases.iter().sum::<u64>() as f64 / latencies_ns.len() as f64;
    cases.truncate(cases.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
    let n = latencies_ns.len() as u64;
    let mean_ms = latencies_ns.iter().sum::<u64>() as f64 / n as f64 / 1e6;
    Revolutions { rpm, revolution_ms, n, mean_ms, cases, share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_revolutions_are_recognised_and_others_are_not() {
        // The mailing list's writes: 1992 of 8.33 ms, four of two revolutions, some elsewhere.
        let mut writes = vec![8_360_000; 1992];
        writes.extend([16_700_000; 4]);
        writes.extend([9_500_000, 9_600_000, 10_400_000, 14_000_000]);
        let found = revolutions(&writes).unwrap();
        assert_eq!((found.rpm, found.cases.as_slice()), (7200.0, &[1992, 4][..]));
        assert!(found.share > 0.99);
        assert_eq!(revolutions(&[8_333_333; 19]), None);
        let anywhere: Vec<u64> = (0..1000).map(|k| 5_000_000 + k * 8_000).collect();
        assert_eq!(revolutions(&anywhere), None);
        assert_eq!(revolutions(&[100_000; 100]), None);
    }
}
