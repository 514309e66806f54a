//! Whether a log lists all that a device did: of a part of it, waiting for what is not listed looks
//! like the device's own slowness, and a gap where a line is missing like a lost revolution.

use crate::measures::service::{self, ServiceSpan};
use crate::measures::spread;

/// Requests that waited behind others, from which on their waits tell anything.
const ENOUGH: usize = 10;
/// Distances between completions that vary less tell nothing: they are all alike.
const VARIES: f64 = 0.1;
/// A wait is the sum of the distances in it. Where these are services, independent of each other,
/// it varies as their sum must; where lines are missing one distance is long because the next was
/// short, and the wait varies less than half as much (choice).
const EVEN: f64 = 0.5;
/// What waits behind hidden requests is one of many alike: as many as were met, each as long as its
/// own distance, make up the wait. Behind a freeze or a wake-up one long service does, and those
/// that met it pass at once.
const MADE_UP: f64 = 0.5;
/// Whether the waits show that requests were served which the log does not list. For devices that
/// serve one after the other. One request at a time shows nothing: who waits behind programs that
/// are not listed looks like one on a slow device.
pub fn is_part(spans: &[ServiceSpan], services_ns: &[f64]) -> bool {
    let (mut waits, mut gaps, mut ahead) = (vec![], vec![], vec![]);
    // While the queue fills each waits longer than the one before.
    let deepest = service::in_flight(spans).into_iter().max().unwrap_or(0) as usize;
    let fills = if spans.len() > 4 * deepest { deepest } else { 0 };
    for (place, pair) in spans.windows(2).enumerate().skip(fills) {
        let [before, span] = pair else { continue };
        if span.issued_ns < before.completed_ns {
            let done = spans.get(..=place).unwrap_or_default();
            let first = done.partition_point(|other| other.completed_ns <= span.issued_ns);
            waits.push(span.latency_ns());
            ahead.push((place + 2 - first) as f64);
            gaps.extend(services_ns.get(place + 1).copied());
        }
    }
    let hidden_behind = || {
        let (waited, gap) = (spread::cv(&waits)?, spread::cv(&gaps)?);
        let n = spread::mean(&ahead)?;
        let alike = spread::mean(&gaps)? * n > MADE_UP * spread::mean(&waits)?;
        Some(alike && gap > VARIES && waited * n.sqrt() < EVEN * gap)
    };
    waits.len() >= ENOUGH && hidden_behind() == Some(true)
}

/// Whether lines are missing by the tool's own word, and requests waited behind others: then the
/// distances between completions are no services.
pub fn lost_some(spans: &[ServiceSpan], lost: u64) -> bool {
    let together = service::in_flight(spans).into_iter().filter(|n| *n > 1).count();
    lost > 0 && 2 * together > spans.len()
}

/// Requests behind which no line is missing, as far as their number tells: of a queue that is kept
/// full, as many complete while each of them waits, and one less is seen where a line is missing.
pub fn unbroken(spans: &[ServiceSpan]) -> Vec<bool> {
    let met = |(place, span): (usize, &ServiceSpan)| {
        let first = spans.partition_point(|other| other.completed_ns <= span.issued_ns);
        (place + 1).saturating_sub(first)
    };
    let met: Vec<usize> = spans.iter().enumerate().map(met).collect();
    let mut sorted = met.clone();
    sorted.sort_unstable();
    let full = sorted.get((FULL * sorted.len() as f64) as usize).copied().unwrap_or(0);
    met.into_iter().map(|n| n >= full).collect()
}

/// The queue is full where as many complete as beside one request in twenty: with a fifth of the
/// lines lost and sixteen in flight one in thirty meets no loss (0.8 to the sixteenth).
const FULL: f64 = 0.95;

#[cfg(test)]
mod tests {
    use iowhy_model::Random;

    use super::*;
    use crate::measures::service::{services, sort, span};

    /// Random reads of a platter, four at a time by each of two programs; every other one's.
    fn two(random: &mut Random) -> (Vec<ServiceSpan>, Vec<ServiceSpan>) {
        let mut done = [0i64; 8];
        let (mut all, mut part) = (Vec::new(), Vec::new());
        for k in 0..400 {
            let issued = done[k % 8];
            let before = done[(k + 7) % 8];
            let ended = before.max(issued) + (4e6 + 9e6 * random.unit()) as i64;
            all.push(span(issued, ended));
            if random.chance(0.5) {
                part.push(span(issued, ended));
            }
            done[k % 8] = ended;
        }
        sort(&mut all);
        sort(&mut part);
        (all, part)
    }

    #[test]
    fn a_freeze_that_all_wait_for_hides_nothing() {
        let mut spans = Vec::new();
        for pause in 0..20i64 {
            let begin = pause * 4_000_000_000;
            // The first wakes the device, and eleven more are answered at once after it.
            for k in 0..12 {
                spans.push(span(begin + 1000 * k, begin + 53_500_000 + 3000 * k));
            }
        }
        sort(&mut spans);
        assert!(!is_part(&spans, &services(&spans, 1)));
    }

    #[test]
    fn a_part_is_told_from_the_whole() {
        let (all, part) = two(&mut Random::seeded(3));
        assert!(!is_part(&all, &services(&all, 1)));
        assert!(is_part(&part, &services(&part, 1)));
    }
}
