//! Observations without a conclusion, each with what it would mean.
//!
//! Nothing here accuses. No value listed here affected a verdict; it shows the user what to check
//! next.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, Evidence, Fact, Finding, Interval, Layer, Medium, MessageKind, Observation, Quantity,
    STANDS, Unit, Verdict, key,
};

use crate::analysis::audit::{AtOnce, LONGEST_WAIT_S};
use crate::analysis::{Analysis, Host};
use crate::detector::RankedFindings;
use crate::evidence::blocked_tasks;
use crate::evidence::builder::of_disk;
use crate::evidence::ceilings;
use crate::evidence::checkpoints;
use crate::evidence::class_of_runs;
use crate::evidence::drive_counters;
use crate::evidence::flushes;
use crate::evidence::host_load;
use crate::evidence::mounts;
use crate::evidence::notable_numbers::{self, NOTABLE_PER_S, NotableNumber, OF_DRIVE};
use crate::evidence::recorded;
use crate::evidence::throughput;
use crate::evidence::unused_facts;
use crate::facts::kernel_log::LogLine;
use crate::measures::tail;
use crate::phrase;

/// Maximum number shown.
const MOST: usize = 8;
/// Suspicions below this are noise.
const SUSPECTED: f64 = 0.1;

/// An observation, and what a pointer requires of it.
struct Seen {
    one: Observation,
    /// A message of the kernel: an event, not a count of a lifetime.
    is_message: bool,
    decided_by: Option<&'static str>,
}

impl From<Observation> for Seen {
    fn from(one: Observation) -> Seen {
        Seen { one, is_message: false, decided_by: None }
    }
}

/// What was seen of these disks of an input.
pub(crate) fn of(
    analysis: &Analysis,
    ranked: &RankedFindings,
    host: Host,
    disks: &[String],
) -> Vec<Observation> {
    all(analysis, ranked, host, disks).into_iter().map(|seen| seen.one).collect()
}

fn all(analysis: &Analysis, ranked: &RankedFindings, host: Host, disks: &[String]) -> Vec<Seen> {
    let mut seen: Vec<Seen> =
        suspicions(analysis, ranked, host, disks).into_iter().map(Seen::from).collect();
    let of_host = |listing: usize| analysis.host(listing) == host;
    let any = disks.first().map_or("", String::as_str);
    for one in notable_numbers::of_machine() {
        let about = analysis.facts.about(Some(host), any);
        let Some((value, reading)) = about.machine_number(one.key.clone()) else { continue };
        // Evidence of a suspicion is listed there already, with its bound.
        let reported = seen.iter().any(|known| known.one.evidence.quantity == one.quantity);
        if value > one.above && !reported {
            let evidence = analysis.stated(&reading).of(one.quantity, value, one.unit);
            let would_mean = meaning_here(analysis, host, &one, value);
            seen.push(Observation { evidence, would_mean, verdict: one.verdict }.into());
        }
    }
    let of_tasks = waiting_task(analysis, host, any).into_iter();
    seen.extend(of_tasks.chain(busiest_processes(analysis, host, any)).map(Seen::from));
    let is_history = |one: &NotableNumber| {
        one.key == key::SMART_ERRORS && drive_counters::are_history(analysis, host, disks)
    };
    let of_drive = OF_DRIVE.into_iter().filter(|one| !is_history(one));
    seen.extend(of_drive.flat_map(|one| of_drives(analysis, host, disks, &one)));
    seen.extend(drive_counters::seen(analysis, host, disks).into_iter().map(Seen::from));
    seen.extend(log_events(analysis, host, disks));
    let of_programs = held_by_few(analysis, host, disks)
        .into_iter()
        .chain(longest_of_programs(analysis, host))
        .chain(throughput::seen(analysis, host))
        .chain(class_of_runs::of_waiting_cpus(analysis, host))
        .chain(at_most(analysis, host))
        .chain(longest_flush(analysis, host))
        .chain(forced_checkpoints(analysis, host))
        .chain(ceilings::seen(analysis, host, any))
        .chain(host_load::stuck(analysis, host))
        .chain(synchronous_mount(analysis, host))
        .chain(nothing_reclaimed(analysis, host))
        .chain(writes_through(analysis, host));
    seen.extend(of_programs.map(Seen::from));
    for disk in disks {
        let rows =
            analysis.intervals.iter().filter(|row| row.disk == *disk && of_host(row.listing));
        let busiest = rows
            .filter_map(|row| Some((row, row.interval.busy?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((row, busy)) = busiest.filter(|(_, busy)| *busy > FULL) {
            let what = named("busy time (%util), maximum", disk, disks);
            let mut evidence = analysis.computed(row.listing, 1).share(&what, busy);
            evidence.disk = (disks.len() > 1).then(|| disk.clone());
            let would_mean = "a request was in flight nearly all the time, a slow one or many; for \
                              a device that serves several at once this does not mean saturation";
            let seen_busy = Observation::of(evidence, would_mean).may_be(Verdict::ReportUtilTrap);
            seen.push(seen_busy.into());
        }
    }
    let is_new = |one: &Observation| {
        !seen.iter().any(|known| known.one.evidence.quantity == one.evidence.quantity)
    };
    let unused = unused_facts::seen(analysis, host, disks).into_iter().filter(is_new);
    let unused: Vec<Seen> = unused.map(Seen::from).collect();
    seen.extend(unused);
    // Nothing that was read is hidden; what an earlier line has is not repeated.
    let reported: Vec<f64> = seen.iter().map(|of| of.one.evidence.amount.value).collect();
    let is_told =
        |value: f64| reported.iter().any(|known| (known - value).abs() <= 1e-3 * value.abs());
    let more = recorded::of(analysis, host).into_iter();
    seen.extend(more.filter(|one| !is_told(one.evidence.amount.value)).map(Seen::from));
    seen.truncate(MOST);
    seen
}

/// Times the slowest healthy service from which on a request is one of the tail (docs/METHOD.md, 1
/// Replay), and its minimum share of all time to be reported: that of a HEALTHY
/// verdict's veto.
const TAIL_FROM: f64 = 3.0;
const TAIL_HOLDS: f64 = 1.0 / 3.0;
/// Beyond this share the tail is the body.
const FEW_OF_ALL: f64 = 0.25;

/// A histogram in which a few requests have a large share of the time.
fn held_by_few(analysis: &Analysis, host: Host, disks: &[String]) -> Option<Observation> {
    let here = analysis
        .histograms
        .iter()
        .filter(|sample| analysis.host(sample.listing) == host && disks.contains(&sample.disk));
    let held = here.filter_map(|sample| {
        let bound_ns = TAIL_FROM * sample.s0.slowest_ms() * 1e6;
        let part = tail::slow_part(&sample.known.histogram, bound_ns)?;
        let is_tail = part.mean_ns > bound_ns && part.of_time > TAIL_HOLDS;
        (is_tail && part.of_requests < FEW_OF_ALL).then_some((sample, part))
    });
    let (sample, part) = held.max_by(|a, b| a.1.of_time.total_cmp(&b.1.of_time))?;
    let slowest = phrase::percent(part.of_requests);
    let what = format!("share of time in the slowest {slowest} of the requests, at least");
    let what = named(&what, &sample.disk, disks);
    let n = sample.known.histogram.count();
    let evidence = analysis.computed(sample.listing, n).share(&what, part.of_time);
    let would_mean = "the other requests are fast, and a few dominate the mean: a limit that \
                      pauses, a device that stalls, or an occasional queue";
    Some(Observation::of(evidence, would_mean))
}

/// What a number would mean in this input.
fn meaning_here(analysis: &Analysis, host: Host, one: &NotableNumber, value: f64) -> String {
    let iowait = [key::VMSTAT_MEAN.of("wa"), key::CPU_MEAN.of("iowait")].contains(&one.key);
    let flush = [key::FLUSH_SLOWEST, key::FLUSH_SLOWEST_AT_LEAST].contains(&one.key);
    let of_machine = |key| analysis.machine(host).machine_number(key);
    let of_disks = |listing: usize| {
        let rows = &analysis.listing(listing).intervals;
        analysis.host(listing) == host && rows.iter().any(|row| row.layer == Layer::Block)
    };
    let lists_disks = (0..analysis.recording.listings.len()).any(of_disks)
        || of_machine(key::VMSTAT_MEAN.of("bi")).is_some();
    // Requests that were counted, or bytes of all disks where requests were not.
    let worked = analysis
        .intervals
        .iter()
        .any(|row| analysis.host(row.listing) == host && row.per_s() > 0.0)
        || [
            key::DISKS_READ.of("mean"),
            key::DISKS_WRITTEN.of("mean"),
            key::VMSTAT_MEAN.of("bi"),
            key::VMSTAT_MEAN.of("bo"),
        ]
        .into_iter()
        .any(|moved| of_machine(moved).is_some_and(|(per_s, _)| per_s > 0.0));
    let faults_read_nothing = one.key == key::PAGING.of("majflt.mean")
        && of_machine(key::PAGING.of("in.mean")).is_some_and(|(kib, _)| kib <= 0.0);
    let meaning = match one.would_mean {
        _ if faults_read_nothing => {
            "and none of them read anything (pgpgin is 0): the pages were never written, or are in \
             memory already; no disk takes part"
        }
        _ if iowait && !lists_disks => {
            "tasks wait for I/O, and the input lists no disk: `iostat -x 1` shows whose, a disk's \
             or a server's; Linux 6.1.39 to 6.14 counts idle io_uring waits as well"
        }
        _ if iowait && !worked => {
            "tasks wait for I/O that no listed disk performs: it is on another disk or a server, \
             or they are idle io_uring waits, which Linux 6.1.39 to 6.14 counts as I/O"
        }
        _ if flush && value > LONGEST_WAIT_S => {
            "the machine was probably suspended meanwhile (over an hour)"
        }
        usual => usual,
    };
    let by_names = match () {
        () if one.key == key::TASKS_BLOCKED => blocked_tasks::meaning(analysis, host),
        () if iowait && !lists_disks => blocked_tasks::meaning_of_iowait(analysis, host),
        () => None,
    };
    by_names.unwrap_or_else(|| meaning.to_string())
}

/// Bytes above which the size of a request is part of its time: 1 ms at 64 MB/s.
const LARGE: f64 = 65_536.0;

/// The longest mean that a program saw, for what it read or wrote each time: a queue, a file
/// system, a network or the page cache was between it and any device.
fn longest_of_programs(analysis: &Analysis, host: Host) -> Option<Observation> {
    let of_host = analysis.listings_of(host);
    let present = |row: &&Interval| row.layer == Layer::Application && !row.since_boot;
    let means = of_host.flat_map(|(place, listing)| {
        listing.intervals.iter().filter(present).flat_map(move |row| {
            let means = row.rates.iter().filter_map(move |(op, rates)| {
                Some((rates.await_ns?, rates.mean_bytes(), op.name(), row.device, place))
            });
            // Calls of all kinds together.
            let all = row.await_ns.filter(|_| row.rates.is_empty());
            means.chain(all.map(|ns| (ns, None, "call", row.device, place)))
        })
    });
    let for_size =
        |ns: f64, bytes: Option<f64>| ns / bytes.map_or(1.0, |size| (size / LARGE).max(1.0));
    let longest = means.max_by(|a, b| for_size(a.0, a.1).total_cmp(&for_size(b.0, b.1)));
    let (ns, bytes, op, device, place) = longest?;
    let name = &analysis.recording.device_of(device).name;
    let size = bytes.filter(|size| *size >= 1.0).map(|value| Quantity { value, unit: Unit::Bytes });
    let size = size.map(|size| format!(" of {}", size.words())).unwrap_or_default();
    let what = format!("longest mean latency of a {op}{size}, timed in the program ({name})");
    let evidence = analysis.printed(place, 1).seconds(&what, ns / 1e9);
    let would_mean = "includes everything above the device: a queue, a file system, a network or \
                      the page cache; the device itself was not measured";
    Some(Observation::of(evidence, would_mean))
}

/// What requests took at most on average where a program printed their rate and no latency: the
/// requests in flight divided by the rate (Little's law). Fewer were in flight if the program
/// paused or was paced.
fn at_most(analysis: &Analysis, host: Host) -> Option<Observation> {
    let of_host = analysis.listings_of(host);
    let mut bounds: Vec<(f64, DeviceId, usize)> = Vec::new();
    for (place, listing) in of_host {
        let at_once = AtOnce::of(listing);
        let mut rows: BTreeMap<DeviceId, Option<&Interval>> = BTreeMap::new();
        for row in listing.intervals.iter().filter(|row| row.layer == Layer::Application) {
            // Of several rows each had a rate of its own.
            rows.entry(row.device).and_modify(|known| *known = None).or_insert(Some(row));
        }
        bounds.extend(rows.into_values().flatten().filter_map(|row| {
            let all = || row.rates.iter().map(|(_, rates)| rates).chain(&row.mixed);
            let untold = all().all(|rates| rates.await_ns.is_none());
            let per_s: f64 = all().map(|rates| rates.ios_per_s).sum();
            let most = at_once.on(row.device).filter(|_| untold && per_s > 0.0)?;
            Some((most / per_s, row.device, place))
        }));
    }
    let (seconds, device, place) = bounds.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let name = &analysis.recording.device_of(device).name;
    let what = format!(
        "upper bound of the mean latency in the program ({name}): concurrent requests divided by \
         their rate"
    );
    let evidence = analysis.computed(place, 1).seconds(&what, seconds);
    let would_mean =
        "requests take at most this long on average; less if the program pauses or is rate-limited";
    Some(Observation::of(evidence, would_mean))
}

/// A flush that a program waited for longer than this is reported, ns.
const LONG_FLUSH_NS: u64 = 100_000_000;

/// The longest flush that a program saw among those it summed up.
fn longest_flush(analysis: &Analysis, host: Host) -> Option<Observation> {
    let (sample, ns) = flushes::of_programs(analysis, host).max_by_key(|(_, ns)| *ns)?;
    let name = &analysis.recording.device_of(sample.known.device).name;
    let what = format!("longest flush, timed in the program ({name})");
    let evidence = analysis.printed(sample.listing, 1).seconds(&what, ns as f64 / 1e9);
    let would_mean = "no healthy device takes this long for a single flush: it is slow, or much \
                      other I/O is queued";
    (ns > LONG_FLUSH_NS).then(|| Observation::of(evidence, would_mean))
}

/// Page faults per second that read a disk up to which memory is not short (a choice).
const FEW_FAULTS: f64 = 1.0;

/// No page was scanned for memory, and hardly any was read again (`sar -B`).
fn nothing_reclaimed(analysis: &Analysis, host: Host) -> Option<Observation> {
    let number = |of: &'static str| analysis.machine(host).machine_number(key::PAGING.of(of));
    let (scanned, reading) = number("scanned.max").filter(|(scanned, _)| *scanned <= 0.0)?;
    number("majflt.mean").filter(|(faults, _)| *faults <= FEW_FAULTS)?;
    let what = "pages scanned to free memory, per second, maximum";
    let evidence = analysis.stated(&reading).count(what, scanned);
    let would_mean = "memory is not short: nothing is evicted, so no page is read twice; whatever \
                      is slow does not wait for memory";
    Some(Observation::of(evidence, would_mean))
}

/// A file system of the input that is mounted so that each write waits for its disks.
fn synchronous_mount(analysis: &Analysis, host: Host) -> Option<Observation> {
    let (reading, options) = mounts::option(analysis)?;
    if analysis.host(reading.listing) != host {
        return None;
    }
    let what = format!("file systems mounted with `{}`", options.join("`, `"));
    let evidence = analysis.stated(&reading).count(&what, 1.0);
    let would_mean = format!(
        "writes to it wait for the disks one by one, whatever else is slow: {}",
        mounts::remount(analysis)
    );
    Some(Observation::of(evidence, would_mean))
}

/// Volumes of a controller that keeps no write in its cache: for spinning disks each small write is
/// a seek that a protected cache would hide.
fn writes_through(analysis: &Analysis, host: Host) -> Option<Observation> {
    let here = analysis.listings_of(host);
    let facts =
        here.flat_map(|(place, listing)| listing.facts.iter().map(move |fact| (place, fact)));
    let through = |(_, fact): &(usize, &Fact)| {
        let turns = fact.device.and_then(|device| analysis.medium(device));
        fact.key == key::ARRAY_WRITE_CACHE
            && fact.value.text() == Some("write-through")
            && turns.is_none_or(|medium| medium == Medium::Rotational)
    };
    let volumes: Vec<(usize, &Fact)> = facts.filter(through).collect();
    let (place, first) = *volumes.first()?;
    let name = first.device.map(|device| analysis.recording.device_of(device).name.as_str());
    let what = match (volumes.len(), name) {
        (1, Some(name)) => format!("volumes that write through ({name})"),
        _ => "volumes that write through".to_string(),
    };
    let n = volumes.len() as f64;
    let evidence = analysis.printed(place, volumes.len() as u64).count(&what, n);
    let would_mean = "their controller completes a write only once the disks have it: its policy, \
                      or a battery that is missing, learning or worn, even if reported as `ready`";
    Some(Observation::of(evidence, would_mean).may_be(Verdict::LoadFlush))
}

/// Checkpoints that came because the log of changes was full, and not because it was time.
fn forced_checkpoints(analysis: &Analysis, host: Host) -> Option<Observation> {
    let known = checkpoints::forced(analysis, host)?;
    let evidence = known.evidence(analysis);
    let apart = known.apart();
    let would_mean = format!(
        "they occur as fast as changes fill its log{apart}: a larger log (PostgreSQL: \
         `max_wal_size`) spreads these writes; this does not mean that a disk is slow"
    );
    Some(Observation::of(evidence, would_mean))
}

/// Kernel errors of these disks or without a device: each kind once, with its count.
fn log_events(analysis: &Analysis, host: Host, disks: &[String]) -> Vec<Seen> {
    let facts = &analysis.facts;
    let mut seen = by_kind(analysis, disks, "kernel messages", facts.log_events(host));
    let before = "kernel messages, more than ten minutes before the capture";
    seen.extend(by_kind(analysis, disks, before, facts.old_log_events(host)));
    seen.extend(facts.unknown_log_events(host).map(|line| {
        let name = line.disk.as_ref().map_or(String::new(), |disk| format!(" of {disk}"));
        let what = format!("kernel messages{name} not known to iowhy");
        let n = LogLine::messages(&[line]);
        let evidence = analysis.stated(&line.reading).over(n).count(&what, n as f64);
        let would_mean =
            format!("`{}`: judging by its words, {}", line.message.text.trim(), meaning(line.kind));
        Observation::of(evidence, would_mean).into()
    }));
    seen
}

/// Of these log events.
fn by_kind<'a, 'b: 'a>(
    analysis: &Analysis,
    disks: &[String],
    words: &str,
    log_events: impl Iterator<Item = &'a LogLine<'b>>,
) -> Vec<Seen> {
    let about = |line: &&LogLine| line.disk.as_ref().is_none_or(|disk| disks.contains(disk));
    let mut kinds: Vec<(MessageKind, Option<String>, Vec<&LogLine>)> = Vec::new();
    for line in log_events.filter(about) {
        match kinds.iter_mut().find(|(kind, disk, _)| *kind == line.kind && *disk == line.disk) {
            Some((_, _, lines)) => lines.push(line),
            None => kinds.push((line.kind, line.disk.clone(), vec![line])),
        }
    }
    // The kernel reports a refused command as a medium error, too.
    let denied: Vec<Option<String>> = kinds
        .iter()
        .filter(|(kind, ..)| *kind == MessageKind::Denied)
        .map(|(_, disk, _)| disk.clone())
        .collect();
    kinds.retain(|(kind, disk, _)| *kind != MessageKind::Medium || !denied.contains(disk));
    let seen = kinds.into_iter().filter_map(|(kind, disk, lines)| {
        let what = format!("{words}: {}", kind.name());
        let what = match disk {
            Some(disk) => named(&what, &disk, disks),
            None => what,
        };
        let first = lines.first()?;
        let n = lines.len() as f64;
        let stated = analysis.stated(&first.reading).over(lines.len() as u64);
        let hangs = blocked_tasks::meaning_of_hangs(analysis, analysis.host(first.reading.listing));
        let hangs = hangs.filter(|_| kind == MessageKind::HungTask);
        let would_mean = hangs.unwrap_or_else(|| meaning(kind).to_string());
        let one = Observation::of(stated.count(&what, n), would_mean);
        let one = Observation { verdict: speaks_for(kind), ..one };
        Some(Seen { is_message: true, ..one.into() })
    });
    seen.collect()
}

/// The verdict that a log event would support, if there were more of it.
fn speaks_for(kind: MessageKind) -> Option<Verdict> {
    match kind {
        MessageKind::Medium | MessageKind::Hardware => Some(Verdict::DeviceMedia),
        MessageKind::Link | MessageKind::Phy | MessageKind::Controller | MessageKind::Path => {
            Some(Verdict::DevicePath)
        }
        MessageKind::Timeout
        | MessageKind::Retried
        | MessageKind::Command
        | MessageKind::Offline => Some(Verdict::DeviceStall),
        MessageKind::Remote => Some(Verdict::LayerRemote),
        _ => None,
    }
}

/// What an input points to in which no I/O was timed.
pub(crate) struct Pointer {
    /// In words.
    pub sentence: String,
    /// The reading that decides.
    pub step: Option<String>,
    /// What was observed.
    pub evidence: Evidence,
}

/// What the strongest observation points to, and all of them: a message of the kernel before a
/// counter, and evidence for a verdict before evidence for none.
pub(crate) fn pointer(
    analysis: &Analysis,
    ranked: &RankedFindings,
    host: Host,
    disks: &[String],
) -> (Option<Pointer>, Vec<Observation>) {
    let seen = all(analysis, ranked, host, disks);
    let strength = |seen: &Seen| match (seen.one.verdict, seen.is_message) {
        (None, _) => 0,
        (Some(_), false) => 1,
        (Some(_), true) => 2,
    };
    let strongest = seen.iter().map(strength).max();
    let first = seen.iter().find(|one| Some(strength(one)) == strongest);
    let pointer = first.map(|Seen { one, decided_by, .. }| {
        let suspected = one.verdict.and_then(|verdict| ranked.detector(verdict)).map(|detector| {
            let summary = phrase::clause(detector.summary);
            format!("perhaps {summary}: ")
        });
        let sentence = format!(
            "no block I/O was timed; {}{}: {}; {}",
            suspected.unwrap_or_default(),
            one.evidence.quantity,
            one.evidence.amount.words(),
            one.would_mean
        );
        let node = phrase::node(one.evidence.disk.as_deref().unwrap_or_default());
        let step = decided_by.map(|step| step.replace("/dev/DISK", &node));
        Pointer { sentence, step, evidence: one.evidence.clone() }
    });
    (pointer, seen.into_iter().map(|seen| seen.one).collect())
}

/// What a log event would mean.
fn meaning(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::HungTask => {
            "a task was blocked for minutes, on a device, a layer below it, or a file system lock; \
             this input does not say which"
        }
        MessageKind::Denied => {
            "the drive rejected the request; the medium is not faulty: it is locked (`sedutil-cli \
             --query`) or write-protected"
        }
        MessageKind::Hardware => "the drive reports an internal failure",
        MessageKind::Path => {
            "a volume lost one of its paths: the adapter, the storage network or the array"
        }
        MessageKind::IoError => "a request failed; the lines before it may show why",
        MessageKind::Timeout | MessageKind::Command => {
            "the drive did not respond, or rejected commands: its firmware, its power, or its path"
        }
        MessageKind::NotReady => {
            "the drive answers, but is not ready: it is stopped or starting, or has no medium"
        }
        MessageKind::Offline => "the disk disappeared: its power, its connector, or its path",
        MessageKind::Query => {
            "a program queried the drive (SMART, power mode) and got no response, but no read or \
             write failed: disable that polling, or exclude the drive (`smartd`: `-d ignore`)"
        }
        MessageKind::Refused => {
            "the drive immediately rejected an unsupported command, sent by the program, file \
             system or driver above it"
        }
        MessageKind::Link | MessageKind::Phy => {
            "the link was lost or woke up: a cable, a connector, or power saving"
        }
        MessageKind::Controller => {
            "the host adapter or the drive's controller reported an error or was reset"
        }
        MessageKind::Firmware => {
            "the drive's firmware changed: an earlier baseline may no longer apply"
        }
        MessageKind::Reserved => {
            "another host holds a reservation on the disk (a cluster, a backup, a path policy such \
             as `reserve_policy`); no disk is faulty"
        }
        MessageKind::Retried => {
            "a request was tried again, which one event does not explain: the disk, its path, its \
             driver or load"
        }
        MessageKind::Remote => "a wait for a server or peer: the cause is there, or in the network",
        MessageKind::NoSpace => {
            "the volume's pool has no space left: writes fail or wait; no disk is faulty"
        }
        MessageKind::Medium | MessageKind::Target => "a block could not be read or written",
    }
}

/// A quantity, and the disk that it is of where it could be another's.
fn named(quantity: &str, disk: &str, disks: &[String]) -> String {
    if disks.len() > 1 { format!("{quantity} ({disk})") } else { quantity.to_string() }
}

/// Disks that are named of one kind, the worst first.
const WORST: usize = 3;

/// The drives for which a value is meaningful.
fn of_drives(analysis: &Analysis, host: Host, disks: &[String], one: &NotableNumber) -> Vec<Seen> {
    let numbers = disks.iter().filter_map(|disk| {
        let (value, reading) = analysis.facts.about(Some(host), disk).number(one.key.clone())?;
        (value > one.above).then_some((value, reading, disk))
    });
    let mut numbers: Vec<_> = numbers.collect();
    numbers.order_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(b.2)));
    let observed = numbers.into_iter().take(WORST).map(|(value, reading, disk)| {
        let what = named(one.quantity, disk, disks);
        let evidence = analysis.stated(&reading).of(&what, value, one.unit);
        let observed = Observation::of(of_disk(evidence, disk), one.would_mean);
        let observed = Observation { verdict: one.verdict, ..observed };
        Seen { decided_by: one.decided_by, ..observed.into() }
    });
    observed.collect()
}

/// A sum of a process from which on it is shown, bytes (a choice).
const NOTABLE_SUM: f64 = 10e6;

/// The processes that read and wrote most, where that is much.
fn busiest_processes(analysis: &Analysis, host: Host, disk: &str) -> Vec<Observation> {
    let about = analysis.facts.about(Some(host), disk);
    let both = [(key::PROCESS_READS, "read by"), (key::PROCESS_WRITES, "written by")];
    let found = both.into_iter().filter_map(|(known, what)| {
        let (per_s, who, reading) = about.busiest_process(known)?;
        let what = format!("{what} {who}, per second");
        let evidence = analysis.stated(&reading).bytes_per_s(&what, per_s);
        let would_mean = "the disk, and the number and latency of requests, are not in this output \
                          (`iostat -x 1`)";
        (per_s > NOTABLE_PER_S).then_some(Observation::of(evidence, would_mean))
    });
    let both = [(key::PROCESS_READ, "read by"), (key::PROCESS_WRITTEN, "written by")];
    let sums = both.into_iter().filter_map(|(known, what)| {
        let (bytes, who, reading) = about.busiest_process(known)?;
        let evidence = analysis.stated(&reading).bytes(&format!("{what} {who} in all"), bytes);
        let would_mean = "a sum since the tool was started, and no rate: the same for a known time \
                          (`pidstat -d 60 1`)";
        (bytes > NOTABLE_SUM).then_some(Observation::of(evidence, would_mean))
    });
    found.chain(sums).collect()
}

/// From this share of its time on a task is reported as waiting.
const WAITS: f64 = 0.1;

/// The task that waited for I/O the greatest share of its time.
fn waiting_task(analysis: &Analysis, host: Host, disk: &str) -> Option<Observation> {
    let (share, who, reading) = analysis.facts.about(Some(host), disk).waiting_task()?;
    let what = format!("time that {who} waited for I/O");
    let evidence = analysis.stated(&reading).share(&what, share);
    let would_mean = "its requests are numerous or slow; this input does not say which disk they \
                      go to or how long one takes";
    (share > WAITS).then(|| Observation::of(evidence, would_mean))
}

/// From this share on a device is called full by its averages.
const FULL: f64 = 0.9;

/// Suspicions too weak to report: the strongest of each verdict, and the number of further disks.
fn suspicions(
    analysis: &Analysis,
    ranked: &RankedFindings,
    host: Host,
    disks: &[String],
) -> Vec<Observation> {
    let disk_of = |known: &Finding| known.subject.device.map(|device| analysis.disk(device));
    let here = ranked.findings.iter().filter(|known| {
        analysis.is_on(known, host)
            && disk_of(known).is_none_or(|disk| disks.contains(&disk))
            && (SUSPECTED..STANDS).contains(&known.confidence())
            && known.explained_by.is_none()
    });
    let mut by_verdict: Vec<Vec<&Finding>> = Vec::new();
    for known in here {
        match by_verdict
            .iter_mut()
            .find(|same| same.iter().all(|other| other.verdict == known.verdict))
        {
            Some(same) => same.push(known),
            None => by_verdict.push(vec![known]),
        }
    }
    let strongest = by_verdict.into_iter().filter_map(|same| {
        let known = same.iter().max_by(|a, b| a.weight().total_cmp(&b.weight()))?;
        let mut evidence = known.evidence.first()?.clone();
        let mut others: Vec<String> = same.iter().filter_map(|other| disk_of(other)).collect();
        others.sort_unstable();
        others.dedup();
        let cause = phrase::clause(ranked.detector(known.verdict)?.summary);
        let mut would_mean = format!("perhaps {cause}");
        if let Some(disk) = disk_of(known).filter(|_| disks.len() > 1) {
            evidence.quantity = named(&evidence.quantity, &disk, disks);
            evidence.disk = Some(disk);
        }
        if others.len() > 1 {
            would_mean += &format!("; {} more disks look similar", others.len() - 1);
        }
        Some(Observation { evidence, would_mean, verdict: Some(known.verdict) })
    });
    strongest.collect()
}
