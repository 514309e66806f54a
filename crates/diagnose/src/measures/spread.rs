//! Location and width of a sample: robust location, spread, mode and quantiles.

use iowhy_model::Quantile;

/// The mean; `None` if empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation over the mean; `None` with fewer than two values or a mean of 0.
pub fn cv(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|mean| *mean != 0.0)?;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt() / mean.abs())
}

/// The median (mean of the middle two if even in number); `None` if empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut finite = finite(values);
    let middle = finite.len() / 2;
    if finite.is_empty() {
        return None;
    }
    let is_odd = finite.len() % 2 == 1;
    // Only the middle has to be in its final position.
    let (below, high, _) = finite.select_nth_unstable_by(middle, f64::total_cmp);
    let low = below.iter().copied().max_by(f64::total_cmp);
    if is_odd { Some(*high) } else { Some((low? + *high) / 2.0) }
}

/// Median distance from the median; `None` if empty.
pub fn mad(values: &[f64]) -> Option<f64> {
    let center = median(values)?;
    let distances: Vec<f64> = values.iter().map(|v| (v - center).abs()).collect();
    median(&distances)
}

/// The densest point of a sample, by halving again and again towards the shorter half.
pub fn half_sample_mode(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let mut rest: &[f64] = &sorted;
    while rest.len() > 2 {
        let half = rest.len().div_ceil(2);
        rest = rest
            .windows(half)
            .min_by(|a, b| (a[half - 1] - a[0]).total_cmp(&(b[half - 1] - b[0])))?;
    }
    mean(rest)
}

/// The quantile `q` (0 to 1), or `None` if the sample is too small to carry it (299 values for
/// p99, 2995 for p99.9: [`Quantile::events_needed`]).
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let n = values.len() as u64;
    if n == 0 || n < Quantile::events_needed(q) {
        return None;
    }
    let mut finite = finite(values);
    if finite.is_empty() {
        return None;
    }
    let rank = ((q * n as f64).ceil() as usize).clamp(1, finite.len());
    Some(*finite.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

/// The finite values in rising order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = finite(values);
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn finite(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|v| v.is_finite()).collect()
}

/// Least-squares slope of y on x over (x, y); `None` if x does not vary.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let across: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    let along: f64 = points.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum();
    (across > 0.0).then(|| along / across)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_numbers() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        assert_eq!(median(&values), Some(3.5));
        assert_eq!(median(&values[..7]), Some(3.0));
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(mean(&values), Some(3.875));
        assert!((cv(&[2.0, 4.0]).unwrap() - 2f64.sqrt() / 3.0).abs() < 1e-12);
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]), Some(2.0));
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0)]), None);
    }

    #[test]
    fn the_mode_is_where_most_stand() {
        // Source document dusty_disk, lid pressed: most reads take 1.9 to 2.0 ms.
        let mode = half_sample_mode(&crate::measures::listings::fast_ms()).unwrap();
        assert!((1.9..2.0).contains(&mode), "{mode}");
        assert_eq!(half_sample_mode(&[]), None);
        assert_eq!(half_sample_mode(&[7.0]), Some(7.0));
    }

    #[test]
    fn a_quantile_the_sample_cannot_carry_is_not_given() {
        let values: Vec<f64> = (1..=299).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.99), Some(297.0));
        assert_eq!(quantile(&values[..298], 0.99), None);
        assert_eq!(quantile(&values, 0.999), None);
        assert_eq!(median(&[f64::NAN]), None);
    }
}
