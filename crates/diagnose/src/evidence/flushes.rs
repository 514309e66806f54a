//! Flushes that programs timed.

use iowhy_model::{Layer, Op};

use crate::analysis::samples::HistogramSample;
use crate::analysis::{Analysis, Host};

/// The flushes that programs of a host timed, or their calls, with the longest of each, ns.
pub(crate) fn of_programs<'s, 'a>(
    analysis: &'s Analysis<'a>,
    host: Host,
) -> impl Iterator<Item = (&'s HistogramSample<'a>, u64)> {
    let of_host = move |sample: &&HistogramSample| analysis.host(sample.listing) == host;
    analysis.histograms.iter().filter(of_host).filter_map(|sample| {
        let known = &sample.known;
        let of_program = matches!(known.layer, Layer::Application | Layer::Syscall);
        let timed = of_program && known.op == Some(Op::Flush);
        Some((sample, known.histogram.max_ns.filter(|_| timed)?))
    })
}
