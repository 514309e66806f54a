//! What the trouble of a device costs: time waited per second, mean and longest latency.

use iowhy_model::{Finding, Impact, Nanos};

use crate::analysis::Analysis;
use crate::measures::service::ServiceSpan;

/// States the impact of each finding about a device that was measured.
pub fn state(analysis: &Analysis, findings: &mut [Finding]) {
    for finding in findings {
        finding.impact = of(analysis, finding);
    }
}

fn of(analysis: &Analysis, finding: &Finding) -> Option<Impact> {
    let disk = analysis.disk(finding.subject.device?);
    let input = analysis.input(*finding.subject.listings.first()?);
    let here = |listing: usize, name: &str| name == disk && analysis.input(listing) == input;
    let (mut mean_ns, mut longest_ns): (Option<f64>, Option<f64>) = (None, None);
    let mut waited: Option<f64> = None;
    let most = |known: &mut Option<f64>, ns: f64| *known = Some(known.unwrap_or(0.0).max(ns));
    for trace in analysis.traces.iter().filter(|trace| here(trace.listing, &trace.disk)) {
        most(&mut mean_ns, trace.mean_ns());
        most(&mut waited, trace.mean_ns() * trace.spans.len() as f64 / trace.span_ns());
        most(&mut longest_ns, trace.spans.iter().map(ServiceSpan::latency_ns).fold(0.0, f64::max));
    }
    for row in analysis.intervals.iter().filter(|row| here(row.listing, &row.disk)) {
        if let Some(ms) = row.await_ms() {
            most(&mut mean_ns, ms * 1e6);
            most(&mut waited, row.per_s() * ms / 1000.0);
        }
    }
    for sample in analysis.histograms.iter().filter(|sample| here(sample.listing, &sample.disk)) {
        if let Some((ns, _)) = sample.known.histogram.mean_ns() {
            most(&mut mean_ns, ns);
        }
        let filled = sample.known.histogram.filled().last().map(|(low, _, _)| low);
        if let Some(ns) = sample.known.histogram.max_ns.or(filled) {
            most(&mut longest_ns, ns as f64);
        }
    }
    let known = |ns: Option<f64>| ns.map(|ns| Nanos(ns as i64));
    let impact = Impact { waited_per_s: waited, mean: known(mean_ns), longest: known(longest_ns) };
    (impact != Impact::default()).then_some(impact)
}
