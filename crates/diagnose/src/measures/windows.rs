//! A trace divided into equal windows of time.

/// Edges of equal windows over an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Windows {
    /// Where the first begins, ns.
    pub start_ns: i64,
    /// How long each is, ns.
    pub length_ns: i64,
    /// How many there are; the last is whole.
    pub count: usize,
}

/// A trace of more than a day has a broken clock, or shows all it has in any hour of it.
const MOST: usize = 86_400;

impl Windows {
    /// Whole windows of a length from start to end; `None` if there is not one, or too many.
    pub fn of(start_ns: i64, end_ns: i64, length_ns: i64) -> Option<Windows> {
        let span = end_ns.checked_sub(start_ns).filter(|span| *span > 0 && length_ns > 0)?;
        let count = usize::try_from(span / length_ns).ok()?;
        (1..=MOST).contains(&count).then_some(Windows { start_ns, length_ns, count })
    }

    /// The window of a moment; `None` outside.
    pub fn index(&self, ns: i64) -> Option<usize> {
        let from = ns.checked_sub(self.start_ns).filter(|from| *from >= 0)?;
        usize::try_from(from / self.length_ns).ok().filter(|index| *index < self.count)
    }

    /// A sum per window and second: of the weights in it.
    pub fn rates(&self, what: impl Iterator<Item = (i64, f64)>) -> Vec<f64> {
        let mut sums = vec![0.0; self.count];
        for (ns, weight) in what {
            if let Some(sum) = self.index(ns).and_then(|index| sums.get_mut(index)) {
                *sum += weight * 1e9 / self.length_ns as f64;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        let windows = Windows::of(100, 1150, 500).unwrap();
        assert_eq!(windows.count, 2);
        let inside = [99, 100, 599, 600, 1099, 1100].map(|ns| windows.index(ns));
        assert_eq!(inside, [None, Some(0), Some(0), Some(1), Some(1), None]);
        let rates = windows.rates([(100, 1.0), (200, 2.0), (700, 1.0), (1140, 9.0)].into_iter());
        assert_eq!(rates, [3.0 * 2e6, 2e6]);
        assert_eq!(Windows::of(0, 10, 20), None);
        assert_eq!(Windows::of(i64::MIN, i64::MAX, 1), None);
    }
}
