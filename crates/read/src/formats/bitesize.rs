//! bcc's bitesize: request sizes of each process, without latencies.
//!
//! ## Reads
//! `Process Name = 'dd'` and the table `Kbytes : count distribution` below it. For each process the
//! most frequent request size becomes the fact `process.request_size`.
//!
//! ## How to capture
//! `bitesize` of bcc and libbpf-tools.
//!
//! ## Versions
//! bcc since 2015, libbpf-tools.
//!
//! ## Caveats
//! The tables look like those of biolatency but contain kilobytes: they are not used to judge a
//! disk. A row `LO -> HI` counts sizes from LO up to and including HI, whole KiB; a request of
//! 4 KiB is in `4 -> 7`. A kworker writes on behalf of others.
//!
//! ## Not in this output
//! Latencies, rates, which disk.

use crate::describe::report::*;
use crate::histogram::buckets::COUNT_LIMIT;

pub(super) const FORMAT: Format =
    Format::labels("request sizes by process (bcc), no latencies", Level::E, &LABELS);

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        announces("^Process Name = {name:text}$", |found, report, sink| {
            flush(report, sink);
            let name = found.text("name")?;
            let bare = name.strip_prefix('b').filter(|name| name.starts_with('\''));
            report.quote_alone(bare.unwrap_or(name).trim_matches('\''))
        })
        .like(&["Process Name = 'kworker/u128:1'", "Process Name = b'dd'"]),
        begins("^Kbytes : count distribution$", |_, _, _| Some(()))
            .like(&["Kbytes              : count     distribution"]),
        says("^{low:u} -> {high:u}{ }:{n:u} |", |found, report, _| {
            let count = found.count("n").filter(|count| *count <= COUNT_LIMIT)?;
            report.bucket(found.count("low")?, found.count("high")?, count)
        })
        .like(&["1024 -> 2047       : 488      |********            |"]),
    ],
    own: &["^^C$"],
    cut: &["->"],
    end: Some(flush),
    ..Labels::NEW
};

fn flush(report: &mut Report, sink: &mut dyn Sink) {
    let rows = report.buckets();
    let total = rows.iter().fold(0u64, |total, row| total.saturating_add(row.2));
    let Some((low, high, count)) = rows.into_iter().max_by_key(|row| row.2) else { return };
    if total > 0 {
        let who = report.quoted().last().map_or("", String::as_str);
        let value = format!("{low} to {high} KiB ({count} of {total} requests) {who}");
        sink.add_fact(None, typed::PROCESS_REQUEST_SIZE, value);
    }
}
