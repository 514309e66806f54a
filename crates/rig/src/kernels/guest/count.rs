//! Measured and lost on one side, what the kernel counted on the other.

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use iowhy_live::{BlockTrace, Collector, TraceMode, TraceOptions};
use iowhy_model::{Listing, Op, Recording, Stage};

/// Operations in the order of [`Device::counters`].
const COUNTED: [Op; 4] = [Op::Read, Op::Write, Op::Discard, Op::Flush];

/// A block device of this machine.
#[derive(Debug)]
pub struct Device {
    /// Where it is opened.
    pub path: String,
    name: String,
    pub(super) number: (u32, u32),
}

/// Both sides for one operation.
#[derive(Debug)]
pub struct CountRow {
    /// The operation.
    pub op: Op,
    /// Requests the tracer measured.
    pub measured: u64,
    /// Requests it shows it lost.
    pub lost: u64,
    /// Requests the kernel counted meanwhile.
    pub kernel: u64,
}

/// The result of a load.
#[derive(Debug)]
pub struct Count {
    /// Both sides, for each operation that happened.
    pub rows: Vec<CountRow>,
    /// Errors of the events that had one, as errno.
    pub errors: Vec<u16>,
    /// D2C of every event, ns, sorted.
    service: Vec<i64>,
    requeued: u64,
}

impl Device {
    /// The device of that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> io::Result<Device> {
        let absent = || io::Error::other(format!("no device `{name}`"));
        let text = fs::read_to_string(format!("/sys/block/{name}/dev")).map_err(|_| absent())?;
        let (major, minor) = text.trim().split_once(':').ok_or_else(absent)?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| absent());
        Ok(Device {
            path: format!("/dev/{name}"),
            name: name.to_string(),
            number: (number(major)?, number(minor)?),
        })
    }

    /// Its line of /proc/diskstats: reads, writes, discards, flushes completed.
    fn counters(&self) -> io::Result<[u64; 4]> {
        let text = fs::read_to_string("/proc/diskstats")?;
        let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let line = lines.find(|words| words.get(2) == Some(&self.name.as_str()));
        let line = line.ok_or_else(|| io::Error::other(format!("no counters of {}", self.name)))?;
        // Documentation/admin-guide/iostats.rst, after three words that name the device.
        let field = |at: usize| line.get(at).and_then(|word| word.parse().ok()).unwrap_or(0);
        Ok([3, 7, 14, 18].map(field))
    }

    /// Waits until nothing is in flight: the kernel counts after its last tracepoint.
    fn settle(&self) {
        for _ in 0..1000 {
            let text = fs::read_to_string(format!("/sys/block/{}/inflight", self.name));
            if text.is_ok_and(|text| text.split_whitespace().all(|word| word == "0")) {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

impl Count {
    /// A quantile of D2C over the events, ms; 1 is the longest.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let last = self.service.len().checked_sub(1)?;
        self.service.get((q * last as f64) as usize).map(|ns| *ns as f64 / 1e6)
    }

    /// Times the driver gave a request back.
    pub fn requeues(&self) -> u64 {
        self.requeued
    }
}

/// Traces a device while a load runs.
///
/// # Errors
/// If it cannot be traced, or the load fails.
pub fn count(
    device: &Device,
    mode: TraceMode,
    load: impl FnOnce() -> io::Result<()> + Send,
) -> io::Result<Count> {
    device.settle();
    let before = device.counters()?;
    let mut recording = Recording::new();
    let mut tracer =
        BlockTrace::new(TraceOptions { devices: vec![device.number], ..TraceOptions::new(mode) });
    tracer.begin(&mut recording).map_err(io::Error::other)?;
    thread::scope(|scope| {
        let load = scope.spawn(load);
        while !load.is_finished() {
            thread::sleep(Duration::from_millis(20));
            tracer.poll(&mut recording).map_err(io::Error::other)?;
        }
        load.join().map_err(|_| io::Error::other("the load failed"))?
    })?;
    device.settle();
    tracer.end(&mut recording).map_err(io::Error::other)?;
    let after = device.counters()?;
    let mut rows = Vec::new();
    for (at, op) in COUNTED.into_iter().enumerate() {
        let kernel = after[at] - before[at];
        let (measured, lost) = (measured(&recording.listings, op), lost(&recording.listings, op));
        if kernel + measured + lost > 0 {
            rows.push(CountRow { op, measured, lost, kernel });
        }
    }
    let events = || recording.listings.iter().flat_map(|listing| &listing.events);
    let errors = events().filter_map(|event| event.error).collect();
    let service = events().filter_map(|event| event.latency(Stage::Device)).map(|ns| ns.ns());
    let mut service: Vec<i64> = service.collect();
    service.sort_unstable();
    let requeued = tracer.request_counts().iter().map(|(_, _, counts)| counts.requeued).sum();
    Ok(Count { rows, errors, service, requeued })
}

/// Requests measured: events, or Q2C histograms (D2C for flushes, which start with their issue).
fn measured(listings: &[Listing], op: Op) -> u64 {
    let stage = if op == Op::Flush { Stage::Device } else { Stage::Total };
    let events = listings.iter().flat_map(|listing| &listing.events);
    let events = events.filter(|event| event.op == op).count() as u64;
    let histograms = listings.iter().flat_map(|listing| &listing.distributions);
    let of_stage = histograms.filter(|known| known.op == Some(op) && known.stage == stage);
    events + of_stage.map(|known| known.histogram.count()).sum::<u64>()
}

fn lost(listings: &[Listing], op: Op) -> u64 {
    let losses = listings.iter().flat_map(|listing| &listing.source.losses);
    losses.filter(|loss| loss.of.is_some_and(|of| of.1 == op)).map(|loss| loss.count).sum()
}
