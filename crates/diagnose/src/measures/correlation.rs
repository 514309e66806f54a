//! Whether values are correlated: Pearson's r, and its median over all pairs of a group.

use super::spread;

/// Pearson's correlation of two series of equal length; `None` below three points or if one does
/// not vary.
pub fn pearson(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.len() != b.len() || a.len() < 3 {
        return None;
    }
    let (mean_a, mean_b) = (spread::mean(a)?, spread::mean(b)?);
    let (mut ab, mut aa, mut bb) = (0.0, 0.0, 0.0);
    for (x, y) in a.iter().zip(b) {
        ab += (x - mean_a) * (y - mean_b);
        aa += (x - mean_a).powi(2);
        bb += (y - mean_b).powi(2);
    }
    let r = ab / (aa * bb).sqrt();
    (aa > 0.0 && bb > 0.0 && r.is_finite()).then(|| r.clamp(-1.0, 1.0))
}

/// Series compared pairwise at most: 24 disks make 276 pairs, enough for a median.
const COMPARED: usize = 24;

/// The median of r over all pairs of series, and the number of pairs; `None` if no pair has one.
pub fn median_pairwise(series: &[Vec<f64>]) -> Option<(f64, usize)> {
    let series = series.get(..series.len().min(COMPARED))?;
    let mut all = Vec::new();
    for (place, one) in series.iter().enumerate() {
        all.extend(series.iter().skip(place + 1).filter_map(|other| pearson(one, other)));
    }
    Some((spread::median(&all)?, all.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_cross_and_nothing() {
        let rising = [1.0, 2.0, 3.0, 4.0];
        assert!((pearson(&rising, &[2.0, 4.0, 6.0, 8.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!((pearson(&rising, &[4.0, 3.0, 2.0, 1.0]).unwrap() + 1.0).abs() < 1e-12);
        // By hand: deviations -1.5 -0.5 0.5 1.5 and -1 1 -1 1 give 2 over sqrt(5 x 4).
        let r = pearson(&rising, &[0.0, 2.0, 0.0, 2.0]).unwrap();
        assert!((r - 2.0 / 20f64.sqrt()).abs() < 1e-12);
        assert_eq!((pearson(&rising, &[1.0; 4]), pearson(&[], &[])), (None, None));
    }

    #[test]
    fn the_median_of_all_pairs() {
        let series = [vec![1.0, 2.0, 3.0], vec![2.0, 4.0, 6.0], vec![3.0, 2.0, 1.0]];
        // r = 1, -1, -1.
        assert_eq!(median_pairwise(&series), Some((-1.0, 3)));
        assert_eq!(median_pairwise(&[]), None);
    }
}
