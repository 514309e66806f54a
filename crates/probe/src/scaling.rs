//! Throughput against the number in flight: knee, ceiling, and what limits it.

/// One step of a ramp.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Step {
    /// I/Os in flight.
    pub depth: f64,
    /// Completions per second.
    pub per_s: f64,
    /// Mean latency, s.
    pub mean_s: f64,
    /// Coefficient of variation of the rate over the step's windows.
    pub cv: f64,
    /// Completions per window, the finest step of that rate.
    pub per_window: f64,
}

impl Step {
    /// Little's law: rate times latency over the number in flight, 1 if nothing was missed.
    pub(crate) fn little(&self) -> f64 {
        self.per_s * self.mean_s / self.depth
    }
}

/// The universal scalability law, X(N) = rate N / (1 + wait (N - 1) + talk N (N - 1))
/// (N. J. Gunther, "Guerrilla Capacity Planning", 2007).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Usl {
    /// Throughput with one in flight, per second.
    pub rate: f64,
    /// Contention: the share that is served one at a time.
    pub wait: f64,
    /// Coherency: what each pair costs.
    pub talk: f64,
}

impl Usl {
    /// Throughput at a depth.
    pub(crate) fn at(&self, depth: f64) -> f64 {
        self.rate * depth / (1.0 + self.wait * (depth - 1.0) + self.talk * depth * (depth - 1.0))
    }

    /// The depth at which throughput is highest, if it ever falls.
    pub(crate) fn peak(&self) -> Option<f64> {
        let square = (1.0 - self.wait) / self.talk;
        (self.talk > 0.0 && square >= 1.0).then(|| square.sqrt().floor())
    }

    /// Fits N/X = a + b (N-1) + c N (N-1), each point by its relative error. `None` with fewer
    /// than four steps, or if no law with positive terms comes out.
    pub(crate) fn fit(steps: &[Step]) -> Option<Usl> {
        if steps.len() < 4 {
            return None;
        }
        let solve = |terms: usize| -> Option<[f64; 3]> {
            let mut sums = [[0.0; 4]; 3];
            for step in steps {
                let time = step.depth / step.per_s;
                let row = [1.0, step.depth - 1.0, step.depth * (step.depth - 1.0)];
                for (i, line) in sums.iter_mut().enumerate().take(terms) {
                    for (place, value) in line.iter_mut().enumerate() {
                        let factor = row.get(place).filter(|_| place < terms).copied();
                        let factor = if place == 3 { Some(time) } else { factor };
                        *value += row[i] * factor.unwrap_or(0.0) / (time * time);
                    }
                }
            }
            eliminate(sums, terms)
        };
        // A law whose last term comes out negative is one without it.
        let [a, b, c] = (1..=3).rev().find_map(|terms| {
            solve(terms).filter(|[a, b, c]| *a > 0.0 && *b >= 0.0 && *c >= 0.0)
        })?;
        Some(Usl { rate: 1.0 / a, wait: b / a, talk: c / a })
    }
}

/// Solves the first `terms` of three linear equations; the others are 0.
fn eliminate(mut sums: [[f64; 4]; 3], terms: usize) -> Option<[f64; 3]> {
    for pivot in 0..terms {
        let best = (pivot..terms)
            .max_by(|a, b| sums[*a][pivot].abs().total_cmp(&sums[*b][pivot].abs()))?;
        sums.swap(pivot, best);
        let line = sums[pivot];
        if line[pivot].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for (row, other) in sums.iter_mut().enumerate().take(terms) {
            if row != pivot {
                let factor = other[pivot] / line[pivot];
                other.iter_mut().zip(line).for_each(|(value, more)| *value -= factor * more);
            }
        }
    }
    let mut found = [0.0; 3];
    for (row, value) in found.iter_mut().enumerate().take(terms) {
        *value = sums[row][3] / sums[row][row];
    }
    found.iter().all(|value| value.is_finite()).then_some(found)
}

/// What throughput does at the end of a ramp.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Shape {
    /// It still grows: the device is not full.
    Rising,
    /// It is constant like a limit, hardly varying.
    Cap,
    /// It is constant on average and varies: the device is full.
    Saturated,
    /// It falls: more in flight is less done.
    Thrash,
}

/// More than this per doubling is growth; the same below the most is a fall.
const GROWS: f64 = 0.05;
const FALLS: f64 = 0.10;
/// Steps within this of the most are on the plateau.
const ON_PLATEAU: f64 = 0.03;
/// Widest variation of a limit; a full device wobbles (docs/METHOD.md, 8 Cap).
const CAP_CV: f64 = 0.012;

/// The shape of a ramp; `None` with fewer than three steps.
pub(crate) fn shape(steps: &[Step]) -> Option<Shape> {
    let [.., before, last] = steps else { return None };
    let most = steps.iter().map(|step| step.per_s).fold(0.0, f64::max);
    if steps.len() < 3 || most <= 0.0 {
        return None;
    }
    if last.per_s > before.per_s * (1.0 + GROWS) {
        return Some(Shape::Rising);
    }
    if last.per_s < most * (1.0 - FALLS) {
        return Some(Shape::Thrash);
    }
    let plateau: Vec<&Step> =
        steps.iter().filter(|step| step.per_s >= most * (1.0 - ON_PLATEAU)).collect();
    // A window cannot be reported finer than one completion.
    let flat = |step: &&&Step| step.cv <= CAP_CV.max(1.0 / step.per_window.max(1.0));
    let all_flat = plateau.len() >= 2 && plateau.iter().filter(flat).count() == plateau.len();
    Some(if all_flat { Shape::Cap } else { Shape::Saturated })
}

/// The step where rate over latency is highest (the "power" of L. Kleinrock, 1979).
pub(crate) fn knee(steps: &[Step]) -> Option<&Step> {
    let power = |step: &Step| step.per_s / step.mean_s.max(1e-9);
    steps.iter().max_by(|a, b| power(a).total_cmp(&power(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(rate: impl Fn(f64) -> f64, cv: f64) -> Vec<Step> {
        (0..8)
            .map(|k| f64::from(1 << k))
            .map(|depth| {
                let per_s = rate(depth);
                Step { depth, per_s, mean_s: depth / per_s, cv, per_window: per_s / 4.0 }
            })
            .collect()
    }

    #[test]
    fn a_law_is_found_again() {
        let law = Usl { rate: 900.0, wait: 0.03, talk: 0.0004 };
        let found = Usl::fit(&ramp(|n| law.at(n), 0.0)).unwrap();
        assert!((found.rate / law.rate - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.wait / law.wait - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.talk / law.talk - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found.peak(), Some(49.0));
        let straight = Usl::fit(&ramp(|n| 100.0 * n, 0.0)).unwrap();
        assert!(straight.wait < 1e-9 && straight.talk < 1e-9, "{straight:?}");
        assert_eq!(Usl::fit(&[]), None);
    }

    #[test]
    fn shapes_are_told_apart() {
        let cap = |n: f64| (900.0 * n).min(16_000.0);
        assert_eq!(shape(&ramp(cap, 0.004)), Some(Shape::Cap));
        assert_eq!(shape(&ramp(cap, 0.05)), Some(Shape::Saturated));
        assert_eq!(shape(&ramp(|n| 900.0 * n, 0.05)), Some(Shape::Rising));
        let thrash = |n: f64| if n < 16.0 { 900.0 * n } else { 14_400.0 - 50.0 * n };
        assert_eq!(shape(&ramp(thrash, 0.05)), Some(Shape::Thrash));
        assert_eq!(shape(&[]), None);
    }

    #[test]
    fn the_knee_is_where_latency_begins_to_grow() {
        let steps = ramp(|n| (1000.0 * n).min(16_000.0), 0.0);
        assert_eq!(knee(&steps).unwrap().depth, 16.0);
        assert!(steps.iter().all(|step| (step.little() - 1.0).abs() < 1e-9));
    }
}
