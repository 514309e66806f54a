//! Records that affected no verdict: a line for each kind of record, with its device.
//!
//! A user who pastes a listing wants to see that it was read. Nothing here accuses, and nothing
//! that was read is hidden.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Event, How, Interval, Layer, Listing, Observation, Op, key};

use crate::analysis::{Analysis, Host, requests};
use crate::evidence::round_trips;
use crate::evidence::throughput;
use crate::phrase;

/// Lines of one kind, at most.
const LINES: usize = 3;

/// Contents of the listings of an input besides current block I/O.
pub(crate) fn of(analysis: &Analysis, host: Host) -> Vec<Observation> {
    let mut seen = Vec::new();
    for (place, listing) in analysis.listings_of(host) {
        seen.extend(untimed(analysis, place, listing));
        seen.extend(waits_of_programs(analysis, place, listing));
        seen.extend(counted_for_programs(analysis, place, listing));
        seen.extend(since_boot(analysis, place, listing));
    }
    seen.extend(memory(analysis, host));
    seen
}

/// `md1, md2, md3 and 2 more`.
fn names(analysis: &Analysis, devices: &[DeviceId]) -> String {
    let name = |id: &DeviceId| analysis.recording.device_of(*id).name.clone();
    let mut names: Vec<String> = devices.iter().map(name).collect();
    names.retain(|name| !name.is_empty());
    phrase::list(&names)
}

/// Rates that a program measured, the least first: latencies beside them are reported instead.
fn untimed(analysis: &Analysis, place: usize, listing: &Listing) -> Vec<Observation> {
    let is_untimed = |row: &Interval| {
        row.layer == Layer::Application
            && row.rates.iter().all(|(_, rates)| rates.await_ns.is_none())
    };
    let mut slowest: BTreeMap<(DeviceId, Op), (f64, u64)> = BTreeMap::new();
    for row in listing.intervals.iter().filter(|row| is_untimed(row) && !row.since_boot) {
        for (op, rates) in &row.rates {
            let Some(rate) = rates.bytes_per_s.filter(|rate| *rate > 0.0) else { continue };
            let known = slowest.entry((row.device, *op)).or_insert((rate, 0));
            *known = (known.0.min(rate), known.1 + 1);
        }
    }
    let mut by_op: BTreeMap<Op, Vec<(f64, u64, DeviceId)>> = BTreeMap::new();
    for ((device, op), (rate, n)) in slowest {
        by_op.entry(op).or_default().push((rate, n, device));
    }
    let lines = by_op.into_iter().filter_map(|(op, mut rates)| {
        rates.order_by(|a, b| a.0.total_cmp(&b.0));
        let ((rate, n, device), others) = rates.split_first()?;
        let name = |device: &DeviceId| analysis.recording.device_of(*device).name.clone();
        let least = if others.is_empty() && *n == 1 { "" } else { "least " };
        let what = format!(
            "{least}throughput of {}, measured by {} ({})",
            phrase::plural(op),
            analysis.source(place).format,
            name(device)
        );
        let beside: Vec<String> = others
            .iter()
            .map(|(rate, _, device)| format!("{} {}", name(device), phrase::rate(*rate)))
            .collect();
        let beside = match beside.is_empty() {
            true => String::new(),
            false => format!("also {}; ", phrase::list(&beside)),
        };
        let would_mean = format!(
            "{beside}throughput of one program: it includes its pauses, the file system and other \
             I/O on the device"
        );
        let evidence = analysis.printed(place, *n).bytes_per_s(&what, *rate);
        Some(Observation::of(evidence, would_mean))
    });
    lines.collect()
}

/// Single waits of programs, by operation.
fn waits_of_programs(analysis: &Analysis, place: usize, listing: &Listing) -> Vec<Observation> {
    let recording = analysis.recording;
    let mut by_op: BTreeMap<Op, Vec<&Event>> = BTreeMap::new();
    for event in listing.events.iter().filter(|event| event.layer != Layer::Block) {
        by_op.entry(event.op).or_default().push(event);
    }
    let lines = by_op.into_iter().filter_map(|(op, events)| {
        let waited = |event: &&Event| {
            let (start, end) = requests::stretch(event)?;
            Some((end - start) as f64 / 1e9)
        };
        let longest = events.iter().filter_map(waited).reduce(f64::max)?;
        let mut whose: Vec<String> = events
            .iter()
            .filter_map(|event| event.comm)
            .map(|comm| recording.text(comm).to_string())
            .collect();
        whose.sort_unstable();
        whose.dedup();
        let by =
            if whose.is_empty() { String::new() } else { format!(" ({})", phrase::list(&whose)) };
        let n = events.len() as u64;
        let what = format!("longest of {n} {} that programs waited for{by}", phrase::plural(op));
        let evidence = analysis.printed(place, n).seconds(&what, longest);
        Some(Observation::of(evidence, above_the_device(op)))
    });
    lines.collect()
}

/// What a wait above the block layer is made of.
fn above_the_device(op: Op) -> &'static str {
    match op {
        Op::Flush => {
            "a flush waits for the device, for earlier writes and for the file system journal: the \
             latency of each I/O separates them"
        }
        _ => {
            "includes the file system, its locks, the page cache and the device: the latency of \
             each I/O separates them"
        }
    }
}

/// Waits of programs that a source summed up: the longest total wait first.
fn counted_for_programs(analysis: &Analysis, place: usize, listing: &Listing) -> Vec<Observation> {
    let total = |(mean_ns, n): (f64, u64)| mean_ns * n as f64;
    let mut by_op: BTreeMap<(DeviceId, Option<Op>), (f64, u64)> = BTreeMap::new();
    for known in listing.histograms().filter(|known| known.layer != Layer::Block) {
        let Some((mean_ns, _)) = known.histogram.mean_ns() else { continue };
        let most = by_op.entry((known.device, known.op)).or_default();
        let one = (mean_ns, known.histogram.count());
        *most = if total(one) > total(*most) { one } else { *most };
    }
    let of_device = |((device, op), (mean_ns, n))| (device, op, mean_ns, n);
    let mut lines: Vec<(DeviceId, Option<Op>, f64, u64)> =
        by_op.into_iter().map(of_device).collect();
    lines.order_by(|a, b| total((b.2, b.3)).total_cmp(&total((a.2, a.3))));
    let line = |(device, op, mean_ns, n): (DeviceId, Option<Op>, f64, u64)| {
        let name = &analysis.recording.device_of(device).name;
        let of = phrase::plural(op.unwrap_or(Op::Other));
        let what = format!("mean of {n} {of}, timed in programs ({name})");
        let evidence = analysis.computed(place, n).seconds(&what, mean_ns / 1e9);
        Observation::of(evidence, above_the_device(op.unwrap_or(Op::Other)))
    };
    lines.into_iter().take(LINES).map(line).collect()
}

/// Averages since boot: the longest mean, and of whom.
fn since_boot(analysis: &Analysis, place: usize, listing: &Listing) -> Option<Observation> {
    let counted = round_trips::counted(listing);
    let rows = listing.intervals.iter().filter(|row| row.since_boot).chain(&counted);
    let rows: Vec<&Interval> = rows.collect();
    let mean = |row: &&Interval| Some((row.mean_await_ns()? / 1e6, row.device));
    // A client counts its calls to a server from the mount on.
    let is_client = rows.first().is_some_and(|row| row.layer == Layer::Application);
    let since = if is_client { "since the mount" } else { "since boot" };
    let longest = rows.iter().filter_map(mean).max_by(|a, b| a.0.total_cmp(&b.0));
    let mut devices: Vec<DeviceId> = rows.iter().map(|row| row.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let (ms, device) = longest?;
    let name = &analysis.recording.device_of(device).name;
    let what = match devices.len() {
        1 => format!("mean latency of {name} {since}"),
        n => format!("longest mean latency {since} of {n} devices ({name})"),
    };
    let evidence = analysis.printed(place, rows.len() as u64).ms(&what, ms);
    let others: Vec<DeviceId> = devices.into_iter().filter(|other| *other != device).collect();
    let beside = match others.is_empty() {
        true => String::new(),
        false => format!("; also {}", names(analysis, &others)),
    };
    let would_mean = format!(
        "an average {since} shows little of the present{beside}: run the same command with an \
         interval"
    );
    Some(Observation::of(evidence, would_mean))
}

/// What memory gave: reads that touch no disk.
fn memory(analysis: &Analysis, host: Host) -> Option<Observation> {
    let about = analysis.machine(host);
    let (rate, reading) = about.machine_number(key::MEMORY_THROUGHPUT)?;
    let what = "cached reads, without disk access";
    let mut evidence = analysis.stated(&reading).bytes_per_s(what, rate);
    evidence.how = How::Reported;
    let slow = phrase::rate(throughput::SLOW_MEMORY);
    let would_mean = format!("measures the host itself: below {slow} any disk looks slow");
    Some(Observation::of(evidence, would_mean))
}
