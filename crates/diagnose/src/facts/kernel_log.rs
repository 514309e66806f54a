//! The kernel's log events as lines with a clock, a sector and, where it can be reported, a disk.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use iowhy_model::{FactValue, Message, MessageKind, PathEvent, Recording, key};

use crate::facts::disk_names;
use crate::facts::graph::{Graph, Host};
use crate::facts::reading::FactReading;

/// A log event of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine<'a> {
    /// What it is about.
    pub kind: MessageKind,
    /// The disk, if the message or its neighbours name it.
    pub disk: Option<String>,
    /// Its text, time and sector.
    pub message: &'a Message,
    /// What it reports about the path to the disk: every disk of a log asks every line.
    pub event: Option<PathEvent>,
    /// The fact it was read from.
    pub reading: FactReading<'a>,
    /// Messages of this kind and device that the log has after it: of many only the first are kept,
    /// and counted all.
    pub further: u64,
}

impl LogLine<'_> {
    /// How many messages these lines represent.
    pub fn messages(lines: &[&LogLine]) -> u64 {
        lines.iter().map(|line| 1 + line.further).sum()
    }

    /// The logical unit of a target that it is about: a drive that is attached directly is unit 0.
    /// A unit of adapter 0, which was there when the machine started, is a volume of a RAID
    /// controller.
    pub fn unit_of_a_target(&self) -> Option<u32> {
        self.message.unit.filter(|unit| *unit > 0 && self.message.adapter != Some(0))
    }
}

/// Log events, in the order of their listings.
pub(crate) struct Log<'a> {
    lines: Vec<LogLine<'a>>,
    /// Where those of each listing are: a log of many hosts has one for each.
    listings: Vec<(usize, Range<usize>)>,
}

impl<'a> Log<'a> {
    /// Of these lines.
    pub(crate) fn of(lines: Vec<LogLine<'a>>) -> Log<'a> {
        let mut listings: Vec<(usize, Range<usize>)> = Vec::new();
        for (place, line) in lines.iter().enumerate() {
            match listings.last_mut() {
                Some((listing, known)) if *listing == line.reading.listing => known.end = place + 1,
                _ => listings.push((line.reading.listing, place..place + 1)),
            }
        }
        Log { lines, listings }
    }

    /// All lines.
    pub(crate) fn lines(&self) -> &[LogLine<'a>] {
        &self.lines
    }

    /// Those of some listings.
    pub(crate) fn within<'s>(
        &'s self,
        is_meant: impl Fn(usize) -> bool + 's,
    ) -> impl Iterator<Item = &'s LogLine<'a>> + 's {
        let meant = self.listings.iter().filter(move |(listing, _)| is_meant(*listing));
        meant.flat_map(|(_, known)| self.lines.get(known.clone()).unwrap_or_default())
    }
}

/// Errors of a port and a disk within this many seconds belong together: libata's error handling
/// and the SCSI layer's verdict follow each other within one command's timeout, not longer than
/// retries of a read take (`drivers/ata/libata-eh.c` waits 5 s before a second try of a reset).
const TOGETHER_S: f64 = 5.0;

/// The log goes back for weeks. A log event older than this at the start of the watch, s, says
/// nothing about the measurements: retries, error handling and what programs do about it are over
/// within minutes (a choice).
const OF_NOW_S: f64 = 600.0;
/// The path of the live machine's log.
const LIVE_LOG: &str = "/dev/kmsg";

/// Since when, by input, this machine was watched on the clock of its log, s.
///
/// Only a tracer of our own states when it began. Its clock is CLOCK_MONOTONIC, and so is, within
/// what sched_clock drifts, that of the log (kernel/printk/printk.c, `local_clock`).
fn watched_since<'a>(recording: &Recording, graph: &Graph<'a>) -> BTreeMap<Host<'a>, f64> {
    let mut since = BTreeMap::new();
    for (place, listing) in recording.listings.iter().enumerate() {
        let stated = |key| listing.facts.iter().find(|fact| fact.key == key)?.value.duration();
        let (Some(began), Some(offset)) = (stated(key::CLOCK_BEGAN), stated(key::CLOCK_OFFSET))
        else {
            continue;
        };
        // Where the time of day was set meanwhile, the first I/O is nearer to the truth.
        let times = listing.events.iter().filter_map(|event| event.issued.or(event.completed));
        let first_ns = times.map(|time| time.ns()).fold(began.0.saturating_sub(offset.0), i64::min);
        let began_s = first_ns as f64 / 1e9;
        let known = since.entry(graph.host(place)).or_insert(began_s);
        *known = known.min(began_s);
    }
    since
}

/// Separates current log events from those too old to be about the measurements.
pub(crate) fn of_now<'a>(
    recording: &Recording,
    graph: &Graph,
    lines: Vec<LogLine<'a>>,
) -> (Vec<LogLine<'a>>, Vec<LogLine<'a>>) {
    let since = watched_since(recording, graph);
    let first_s = since.values().copied().reduce(f64::min);
    lines.into_iter().partition(|line| {
        let host = graph.host(line.reading.listing);
        let live_s = first_s.filter(|_| host.input == LIVE_LOG);
        let since_s = since.get(&host).copied().or(live_s);
        let age_s = since_s.zip(line.message.at_s).map(|(since_s, at_s)| since_s - at_s);
        age_s.is_none_or(|age_s| age_s <= OF_NOW_S)
    })
}

/// Messages of no known kind whose words report trouble: the first of each kind and device
/// represents all of them.
pub(crate) fn by_words(recording: &Recording) -> Vec<LogLine<'_>> {
    let mut found = Vec::new();
    for (listing, known) in recording.listings.iter().enumerate() {
        let mut reported = HashSet::new();
        for fact in &known.facts {
            let kind = fact.key.member_of(key::KERNEL_LOG_BY_WORDS).and_then(MessageKind::named);
            let (Some(kind), Some(message)) = (kind, fact.value.message()) else { continue };
            if !reported.insert((fact.device, kind.name())) {
                continue;
            }
            let counted = key::KERNEL_LOG_BY_WORDS_COUNT.of(kind.name());
            let mut of_it = known.facts.iter().filter(|other| other.device == fact.device);
            let count = of_it.find(|other| other.key == counted).map(|all| &all.value);
            let further = match count {
                Some(FactValue::Count(all)) => all.saturating_sub(1),
                _ => 0,
            };
            let disk = fact.device.map(|id| disk_names::of(recording, id));
            let reading = FactReading { fact, listing };
            found.push(LogLine {
                kind,
                disk,
                message,
                event: message.log_event(),
                reading,
                further,
            });
        }
    }
    found
}

/// All log events of a recording. A message about a port is assigned to a disk if the system
/// reports the disk's port (`device.port`), or if exactly one disk has errors within seconds of it.
pub(crate) fn lines<'a>(recording: &'a Recording, graph: &Graph) -> Vec<LogLine<'a>> {
    let (mut names, mut lines) = (Vec::new(), Vec::<LogLine>::new());
    for (listing, known) in recording.listings.iter().enumerate() {
        let (mut last, mut kept) = (HashMap::new(), HashMap::<_, u64>::new());
        for fact in &known.facts {
            let counted = fact.key.member_of(key::KERNEL_LOG_COUNT);
            if let (Some(kind), FactValue::Count(count)) = (counted, &fact.value) {
                let of = (fact.device, kind);
                let line = last.get(&of).and_then(|place: &usize| lines.get_mut(*place));
                if let Some(line) = line {
                    line.further = count.saturating_sub(kept.get(&of).copied().unwrap_or(0));
                }
                continue;
            }
            let kind = fact.key.member_of(key::KERNEL_LOG).and_then(MessageKind::named);
            let Some(kind) = kind else { continue };
            let Some(message) = fact.value.message() else { continue };
            let reading = FactReading { fact, listing };
            names.push(fact.device.map(|id| disk_names::of(recording, id)));
            let disk = graph.meant(listing, fact).first().cloned();
            last.insert((fact.device, kind.name()), lines.len());
            *kept.entry((fact.device, kind.name())).or_default() += 1;
            let event = message.log_event();
            lines.push(LogLine { kind, disk, message, event, reading, further: 0 });
        }
    }
    // Times of the messages of each port in each listing.
    let mut times: HashMap<(&str, usize), Vec<f64>> = HashMap::new();
    let mut log = Log::of(lines);
    for (name, line) in names.iter().zip(&log.lines) {
        if let (Some(name), Some(at_s)) = (name, line.message.at_s) {
            times.entry((name, line.reading.listing)).or_default().push(at_s);
        }
    }
    times.values_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let mut known: HashMap<(&str, usize), Option<String>> = HashMap::new();
    let of_ports = names.iter().zip(&log.lines).map(|(name, line)| {
        let port = name.as_deref().filter(|_| line.disk.is_none())?;
        let place = (port, line.reading.listing);
        let host = graph.host(place.1);
        let here = || log.within(move |listing| graph.host(listing).may_be(host));
        let near = || beside(times.get(&place)?, here());
        let disk = || graph.at_port(port, place.1).map(str::to_string).or_else(near);
        known.entry(place).or_insert_with(disk).clone()
    });
    let of_ports: Vec<Option<String>> = of_ports.collect();
    for (line, port) in log.lines.iter_mut().zip(of_ports) {
        line.disk = line.disk.take().or(port);
    }
    log.lines
}

/// The only disk with a message near one of these times; `None` if there are two.
fn beside<'s, 'a: 's>(
    times: &[f64],
    lines: impl Iterator<Item = &'s LogLine<'a>>,
) -> Option<String> {
    let near = |at_s: f64| {
        let first = times.partition_point(|time| at_s - time > TOGETHER_S);
        times.get(first).is_some_and(|time| time - at_s <= TOGETHER_S)
    };
    let mut found: Option<&str> = None;
    for line in lines {
        let Some(disk) = line.disk.as_deref() else { continue };
        if found == Some(disk) || !line.message.at_s.is_some_and(near) {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(disk);
    }
    found.map(str::to_string)
}
