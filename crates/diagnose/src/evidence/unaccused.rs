//! The disks that no finding blames, and whether all of their input was read: what a conclusion
//! rests on.

use iowhy_model::{Finding, Subject, Verdict};

use crate::analysis::{Analysis, Host};

/// Per input, the active disks without an accusation.
pub(crate) fn unaccused<'a>(
    analysis: &Analysis<'a>,
    findings: &[Finding],
) -> Vec<(Host<'a>, Vec<String>)> {
    let mut hosts: Vec<(Host, Vec<String>)> = Vec::new();
    let traces = analysis.traces.iter().map(|trace| (trace.listing, trace.disk.clone()));
    // A row without a completion is silence, unless something is in flight: then it is news.
    let active =
        analysis.intervals.iter().filter(|row| row.per_s() > 0.0 || row.outstanding().is_some());
    let rows = active.map(|row| (row.listing, row.disk.clone()));
    let histograms = analysis.histograms.iter().map(|sample| (sample.listing, sample.disk.clone()));
    let streams = analysis.streams.iter().map(|(at, stream)| (*at, analysis.disk(stream.device)));
    for (listing, disk) in traces.chain(rows).chain(histograms).chain(streams) {
        let host = analysis.host(listing);
        let accused = findings.iter().any(|known| {
            known.stands()
                && known.verdict != Verdict::Healthy
                && is_about(analysis, known, &disk)
                && analysis.is_on(known, host)
        });
        let place = match hosts.iter().position(|(known, _)| *known == host) {
            Some(place) => place,
            None => {
                hosts.push((host, Vec::new()));
                hosts.len() - 1
            }
        };
        if !accused && !hosts[place].1.contains(&disk) {
            hosts[place].1.push(disk);
        }
    }
    hosts.retain(|(_, disks)| !disks.is_empty());
    hosts
}

/// Whether a finding is about a disk: of this one, of a group with it, or of all.
fn is_about(analysis: &Analysis, known: &Finding, disk: &str) -> bool {
    let Subject { device, devices, .. } = &known.subject;
    let mut named = device.iter().chain(devices).peekable();
    named.peek().is_none() || named.any(|device| analysis.disk(*device) == disk)
}

/// Unread parts of an input about disks: number of lines, and where. A disk is cleared only if
/// everything was read.
pub(crate) fn unread(analysis: &Analysis, host: Host) -> Option<(f64, String)> {
    let recording = analysis.recording;
    // What was not read of one file may be what accuses the disk of another: they were given
    // together.
    let of_host = |name: &String| name == host.input;
    let own = recording.unread.iter().find(|unread| of_host(&unread.input));
    if let Some(unread) = own.or(recording.unread.first()) {
        let (first, last) = unread.lines;
        let lines = (last - first + 1) as f64;
        let of =
            if of_host(&unread.input) { String::new() } else { format!(" of {}", unread.input) };
        return Some((lines, format!("lines {first} to {last}{of} ({})", unread.reason)));
    }
    let mut sources = recording.listings.iter().map(|listing| &listing.source);
    sources.find_map(|source| {
        if !of_host(&source.input) {
            return None;
        }
        if let Some((device, count)) = source.skipped_of.first() {
            let disk = &recording.device_of(*device).name;
            let others = source.skipped_of.len() - 1;
            let more = if others > 0 { format!(" and {others} more") } else { String::new() };
            return Some((*count as f64, format!("unusable lines about {disk}{more}")));
        }
        let much = source.skipped * SKIPPED_SHARE > source.records;
        (source.skipped > 0 && much).then(|| (source.skipped as f64, "unusable lines".to_string()))
    })
}

/// If one line of this many could not be used, its content is unknown: a damaged log loses
/// a line or two, a format misread loses most.
const SKIPPED_SHARE: u64 = 20;
