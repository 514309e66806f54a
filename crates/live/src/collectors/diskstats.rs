//! The kernel's own counters of every block device, sampled at intervals.
//!
//! ## Watches
//! Whole disks in /proc/diskstats: requests, merges, bytes, summed wait and busy time, and requests
//! in flight at each sample. Each sample yields the averages since the previous one. With a root
//! folder it reads ROOT/block/*/stat instead, like `iostat -f ROOT`; time is still taken from this
//! machine.
//!
//! ## Needs
//! Nothing: the counters are readable by every user, on every kernel.
//!
//! ## Costs
//! One small file per sample, about 20 microseconds; nothing between samples.
//!
//! ## Not in this output
//! The latency distribution, and the split between queue time and device time. Since Linux 6.9 a
//! batched request counts as started when the first of its batch was allocated, so await is too
//! high (8 to 43 % in our measurements); the block tracer does not have this error. While a device
//! hangs, await and queue length do not show it, because only completed requests are counted; the
//! number in flight does.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use iowhy_model::Order as _;
use iowhy_model::{Level, Nanos, Note, Sampling, Sink, Source, Time};
use iowhy_read::diskstats::{Change, Counters, between, parse_line, parse_stat};

use crate::{Collector, Error, clock, devices, foreign_files};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "diskstats";

const PROC: &str = "/proc/diskstats";
const SYS: &str = "/sys";

/// Reads /proc/diskstats, or a folder of copies of /sys/block/*/stat.
#[derive(Debug)]
pub struct DiskStats {
    root: Option<PathBuf>,
    listing: usize,
    began: Time,
    /// The last reading of the counters and its time.
    read: Time,
    before: HashMap<String, Counters>,
    /// The last lines of /proc/diskstats and their values, without partitions.
    lines: HashMap<String, (String, Option<Counters>)>,
}

impl DiskStats {
    /// A reader of /proc/diskstats or, with a root folder, of ROOT/block/*/stat.
    pub fn new(root: Option<PathBuf>) -> Self {
        let zero = Time::from_ns(0);
        let (before, lines) = (HashMap::new(), HashMap::new());
        DiskStats { root, listing: 0, began: zero, read: zero, before, lines }
    }

    fn counters(&mut self) -> Result<Vec<Counters>, Error> {
        match &self.root {
            Some(root) => of_folder(root),
            None => self.of_proc(),
        }
    }

    /// Whole disks of /proc/diskstats: those with a folder in /sys/block.
    fn of_proc(&mut self) -> Result<Vec<Counters>, Error> {
        let text = fs::read_to_string(PROC).map_err(|cause| broken(Path::new(PROC), cause))?;
        let named = || {
            let name = |line: &'_ str| line.split_ascii_whitespace().nth(2).map(str::to_string);
            text.lines().filter_map(move |line| Some((name(line)?, line)))
        };
        // Reads the folder once: a machine may have hundreds of devices.
        let is_news = named().any(|(name, _)| !self.lines.contains_key(&name));
        let whole = if is_news { whole_disks() } else { HashSet::new() };
        let mut before = std::mem::take(&mut self.lines);
        let mut found = Vec::new();
        for (name, line) in named() {
            // Most devices do nothing most of the time.
            let counters = match before.remove(&name) {
                Some((known, counters)) if known == line => counters,
                Some((_, None)) => None,
                Some(_) => parse_line(line),
                None => parse_line(line).filter(|one| whole.contains(&one.name)),
            };
            found.extend(counters.clone());
            self.lines.insert(name, (line.to_string(), counters));
        }
        Ok(found)
    }
}

impl Collector for DiskStats {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let first = self.counters()?;
        self.began = clock::now();
        self.read = self.began;
        self.before = first.into_iter().map(|one| (one.name.clone(), one)).collect();
        let input =
            self.root.as_ref().map_or("live".to_string(), |root| root.display().to_string());
        let mut source = Source::new(NAME, &input, Level::A);
        source.sampling = Sampling::Sampled;
        // The kernel sums milliseconds.
        source.resolution = Some(Nanos(1_000_000));
        self.listing = sink.begin(source);
        // Copies in a folder may be from any machine.
        if self.root.is_none() {
            clock::add_clock(sink, self.began);
        }
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        sink.resume(self.listing);
        let counters = self.counters()?;
        let now = clock::now();
        let length = now - self.read;
        if length.ns() <= 0 {
            return Ok(());
        }
        let present: HashSet<&str> = counters.iter().map(|one| one.name.as_str()).collect();
        let mut gone: Vec<String> =
            self.before.keys().filter(|name| !present.contains(name.as_str())).cloned().collect();
        gone.sort();
        for name in gone {
            warn(sink, &name, "the device is gone");
            self.before.remove(&name);
        }
        for later in counters {
            match self.before.get(&later.name) {
                Some(earlier) => compare(earlier, &later, self.read, length, sink),
                None => warn(sink, &later.name, "the device is new: its counters are the baseline"),
            }
            self.before.insert(later.name.clone(), later);
        }
        self.read = now;
        sink.source().watched = Some(now - self.began);
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        sink.resume(self.listing);
        sink.end();
        Ok(())
    }
}

/// Emits the averages between two readings; a device that was never used has none.
fn compare(earlier: &Counters, later: &Counters, start: Time, length: Nanos, sink: &mut dyn Sink) {
    let delta = match between(earlier, later, length) {
        Change::Rose(delta) => delta,
        Change::Wrapped(delta) => {
            warn(sink, &later.name, "a 32-bit counter wrapped; it was unwrapped");
            delta
        }
        Change::Reset => return warn(sink, &later.name, "a counter decreased: reset, no averages"),
        Change::Replaced => {
            return warn(sink, &later.name, "the name now belongs to another device, no averages");
        }
    };
    if !earlier.is_used() && !later.is_used() {
        return;
    }
    let device = sink.device(&later.name);
    let mut interval = delta.interval(device);
    interval.start = Some(start);
    sink.interval(interval);
}

fn warn(sink: &mut dyn Sink, device: &str, reason: &str) {
    sink.note(Note { line: 0, text: device.to_string(), reason: reason.to_string() });
}

/// The disks with a folder in /sys/block.
fn whole_disks() -> HashSet<String> {
    let entries = fs::read_dir(Path::new(SYS).join("block")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().replace('!', "/")).collect()
}

fn of_folder(root: &Path) -> Result<Vec<Counters>, Error> {
    let folder = root.join("block");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|cause| broken(&folder, cause))? {
        let path = entry.map_err(|cause| broken(&folder, cause))?.path();
        // A device may disappear while it is read; it is then left out.
        let text = foreign_files::text(&path.join("stat")).unwrap_or_default();
        found.extend(devices::name_of(&path).and_then(|name| parse_stat(&name, &text)));
    }
    found.order_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn broken(path: &Path, cause: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), cause }
}
