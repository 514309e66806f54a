//! Whether a log lists all I/Os of a device: in a partial log, waiting for unlisted requests looks
//! like a slow device, and a gap from a missing line looks like a lost revolution.

use crate::measures::service::{self, ServiceSpan};
use crate::measures::spread;

/// Minimum number of requests that waited for others.
const ENOUGH: usize = 10;
/// Distances between completions that vary less than this prove nothing.
const VARIES: f64 = 0.1;
/// A wait is the sum of the distances in it. If these are independent services, it varies like
/// their sum; if lines are missing, one distance is long because the next was short, and the wait
/// varies less than half as much (choice).
const EVEN: f64 = 0.5;
/// A wait for hidden requests consists of many similar intervals, one per request. A wait for a
/// freeze or a wake-up is one long service time, after which the others complete at once.
const MADE_UP: f64 = 0.5;
/// Whether the waits show that unlisted requests were served. For devices that serve one request
/// after the other. With one request at a time this is unknown: waiting behind unlisted programs
/// looks like a slow device.
pub(crate) fn is_part(spans: &[ServiceSpan], services_ns: &[f64]) -> bool {
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

/// Whether the tool itself reports missing lines, and requests waited for others: then the
/// distances between completions are not services.
pub(crate) fn lost_some(spans: &[ServiceSpan], lost: u64) -> bool {
    let together = service::in_flight(spans).into_iter().filter(|n| *n > 1).count();
    lost > 0 && 2 * together > spans.len()
}

/// Requests without a missing line before them, judging by numbers: in a full queue the same number
/// completes during each wait, and one fewer if a line is missing.
pub(crate) fn unbroken(spans: &[ServiceSpan]) -> Vec<bool> {
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

/// The queue is full if as many complete as for the top twentieth of requests: with a fifth of the
/// lines lost and sixteen in flight one in thirty has no loss (0.8 to the sixteenth).
const FULL: f64 = 0.95;

#[cfg(test)]
mod tests {
    use iowhy_model::Random;

    use super::*;
    use crate::measures::service::{services, sort, span};

    /// Random reads of a platter, four at a time by each of two programs; only one program is
    /// listed.
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
    fn a_partial_log_is_distinguished_from_a_complete_one() {
        let (all, part) = two(&mut Random::seeded(3));
        assert!(!is_part(&all, &services(&all, 1)));
        assert!(is_part(&part, &services(&part, 1)));
    }
}
