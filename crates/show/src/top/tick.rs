//! An interval of the live screen: the I/O of every device, who waited, the slowest I/Os.

use std::collections::HashMap;

use iowhy_model::Order as _;
use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Histogram, Interval, Layer, Name, Nanos, Op, Recording,
    Stage, Time,
};

use crate::clock::Clock;

/// Single I/Os kept of a tick, the slowest first.
const SLOWEST: usize = 12;
/// Processes, control groups and files kept of a tick and device, by time waited.
const WAITERS: usize = 24;

/// The data of an interval.
#[derive(Clone, Debug, Default)]
pub struct Tick {
    /// When it began, ns on the clock of the input.
    pub start_ns: i64,
    /// That clock, if it shows the time of day.
    pub clock: Option<Clock>,
    /// How long it was, ns.
    pub length_ns: i64,
    /// The devices that did something, or that are known to have done nothing.
    pub devices: Vec<DeviceTick>,
    /// Who waited.
    pub waiters: Vec<Waiter>,
    /// The slowest I/Os.
    pub slowest: Vec<SlowIo>,
    /// Records that were lost.
    pub lost: u64,
}

/// A device in a tick. Rates are per second, latencies in ns.
#[derive(Clone, Debug, Default)]
pub struct DeviceTick {
    /// Its name.
    pub name: String,
    /// Completed reads per second.
    pub reads: f64,
    /// Completed writes per second.
    pub writes: f64,
    /// Completed discards, flushes and others per second.
    pub others: f64,
    /// Bytes read per second.
    pub read_bytes: f64,
    /// Bytes written per second.
    pub write_bytes: f64,
    /// Mean latency (await), ns.
    pub await_ns: Option<f64>,
    /// Mean time from queue to issue (Q2D), ns; only where traced.
    pub queue_ns: Option<f64>,
    /// Mean time from issue to completion (D2C), ns; only where traced.
    pub device_ns: Option<f64>,
    /// Mean number in flight (aqu-sz): time waited per second.
    pub in_flight: Option<f64>,
    /// Share of the time with something in flight, 0 to 1; only from counters.
    pub busy: Option<f64>,
    /// Latencies, where single I/Os or histograms are known.
    pub latencies: Option<Histogram>,
}

/// Who waited for a device.
#[derive(Clone, PartialEq, Debug)]
pub struct Waiter {
    /// The device.
    pub device: String,
    /// `process`, `cgroup` or `file`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// I/Os.
    pub ios: u64,
    /// Time waited, ns.
    pub waited_ns: f64,
}

/// A slow I/O.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowIo {
    /// When it completed, ns.
    pub at_ns: i64,
    /// The clock that shows the time of day of it, if the capture knows it.
    pub clock: Option<Clock>,
    /// Its latency, ns.
    pub latency_ns: i64,
    /// The device.
    pub device: String,
    /// The operation.
    pub op: Op,
    /// Its size.
    pub bytes: Option<u32>,
    /// The process.
    pub comm: Option<String>,
}

/// What is added up of a device.
#[derive(Default)]
struct Sum {
    ios: [u64; 3],
    bytes: [u64; 2],
    waited_ns: f64,
    queue: (u64, f64),
    device: (u64, f64),
    latencies: Option<Histogram>,
}

impl Tick {
    /// What a recording holds of the time from `from` on, up to but not including `to`, as rates
    /// over `length`.
    pub fn of(recording: &Recording, (from, to): (Time, Time), length: Nanos) -> Tick {
        let within = |at: Option<Time>| at.is_some_and(|at| from <= at && at < to);
        let length_ns = length.ns().max(1);
        let mut tick = Tick { start_ns: from.ns(), length_ns, ..Tick::default() };
        let mut sums: HashMap<DeviceId, Sum> = HashMap::new();
        let mut waiters: HashMap<(DeviceId, &'static str, Name), (u64, f64)> = HashMap::new();
        let edges = Edges::standard();
        let mut slowest: Vec<(i64, &Event, Option<Clock>)> = Vec::new();
        for (listing, clock) in recording.listings.iter().zip(Clock::of_each(recording)) {
            let has_times = !listing.events.is_empty()
                || !listing.intervals.is_empty()
                || !listing.distributions.is_empty();
            tick.clock = tick.clock.or(clock.filter(|_| has_times));
            // Events are in order of completion; those without a time are anywhere.
            let first = listing.events.partition_point(|e| e.completed.is_none_or(|at| at < from));
            let these = listing.events.iter().skip(first);
            let these = these.take_while(|event| event.completed.is_none_or(|at| at < to));
            for event in these.filter(|event| within(event.completed)) {
                let sum = sums.entry(event.device).or_default();
                sum.event(event, &edges);
                let Some((_, latency)) = event.longest() else { continue };
                let named =
                    [("process", event.comm), ("cgroup", event.cgroup), ("file", event.file)];
                for (kind, name) in named {
                    if let Some(name) = name {
                        let waited = waiters.entry((event.device, kind, name)).or_default();
                        *waited = (waited.0 + 1, waited.1 + latency.ns() as f64);
                    }
                }
                slowest.push((latency.ns(), event, clock));
                if slowest.len() > 64 * SLOWEST {
                    keep_slowest(&mut slowest);
                }
            }
            let block = |one: &&Distribution| one.layer == Layer::Block && within(one.start);
            let counted: Vec<&Distribution> = listing.histograms().filter(block).collect();
            for known in &counted {
                // Of the parts of a latency only the longest counts, or I/Os would count twice.
                let longest = counted.iter().filter(|other| other.device == known.device);
                if longest.map(|other| other.stage).max() == Some(known.stage) {
                    let sum = sums.entry(known.device).or_default();
                    sum.histogram(&known.histogram, known.op);
                }
            }
        }
        keep_slowest(&mut slowest);
        let name = |id: DeviceId| {
            let device = recording.devices().get(id.index());
            device.map_or(String::new(), |device| device.name.clone())
        };
        tick.slowest = slowest
            .into_iter()
            .map(|(latency_ns, event, clock)| SlowIo {
                at_ns: event.completed.map_or(0, Time::ns),
                clock,
                latency_ns,
                device: name(event.device),
                op: event.op,
                bytes: event.bytes,
                comm: event.comm.map(|comm| recording.text(comm).to_string()),
            })
            .collect();
        tick.waiters = waiters
            .into_iter()
            .map(|((id, kind, who), (ios, waited_ns))| Waiter {
                device: name(id),
                kind,
                name: recording.text(who).to_string(),
                ios,
                waited_ns,
            })
            .collect();
        tick.waiters
            .order_by(|a, b| b.waited_ns.total_cmp(&a.waited_ns).then_with(|| a.name.cmp(&b.name)));
        tick.waiters.truncate(3 * WAITERS);
        let seconds = length_ns as f64 / 1e9;
        tick.devices = sums.iter().map(|(id, sum)| sum.device(name(*id), seconds)).collect();
        for interval in recording.listings.iter().flat_map(|listing| &listing.intervals) {
            if within(interval.start) && interval.layer == Layer::Block && !interval.since_boot {
                tick.interval(&name(interval.device), interval);
            }
        }
        tick.devices.order_by(|a, b| a.name.cmp(&b.name));
        tick.lost = recording.listings.iter().map(|listing| listing.source.lost()).sum();
        tick
    }

    /// Counters of a device: values from a trace take precedence.
    fn interval(&mut self, name: &str, known: &Interval) {
        let place = self.devices.iter().position(|device| device.name == name);
        let place = place.unwrap_or_else(|| {
            self.devices.push(DeviceTick { name: name.to_string(), ..DeviceTick::default() });
            self.devices.len() - 1
        });
        let Some(device) = self.devices.get_mut(place) else { return };
        device.busy = known.busy.or(device.busy);
        if device.ios() > 0.0 {
            return;
        }
        let rate = |op| known.of(op).map_or(0.0, |rates| rates.ios_per_s);
        let bytes = |op| known.of(op).and_then(|rates| rates.bytes_per_s).unwrap_or(0.0);
        (device.reads, device.writes) = (rate(Op::Read), rate(Op::Write));
        device.others = (known.ios_per_s() - device.reads - device.writes).max(0.0);
        (device.read_bytes, device.write_bytes) = (bytes(Op::Read), bytes(Op::Write));
        device.await_ns = known.mean_await_ns();
        device.in_flight = known.queue_len;
    }

    /// A device by its name.
    pub fn device(&self, name: &str) -> Option<&DeviceTick> {
        self.devices.iter().find(|device| device.name == name)
    }

    /// Time waited per second, all devices together, s/s.
    pub fn waited(&self) -> f64 {
        self.devices.iter().filter_map(|device| device.in_flight).sum()
    }
}

impl DeviceTick {
    /// Completed I/Os per second.
    pub fn ios(&self) -> f64 {
        self.reads + self.writes + self.others
    }
}

impl Sum {
    fn event(&mut self, event: &Event, edges: &Edges) {
        let place = match event.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Discard | Op::Flush | Op::Other => 2,
        };
        self.ios[place] += 1;
        if place < 2 {
            self.bytes[place] += u64::from(event.bytes.unwrap_or(0));
        }
        let add = |sum: &mut (u64, f64), latency: Option<Nanos>| {
            if let Some(latency) = latency {
                *sum = (sum.0 + 1, sum.1 + latency.ns() as f64);
            }
        };
        add(&mut self.queue, event.latency(Stage::Queue));
        add(&mut self.device, event.latency(Stage::Device));
        if let Some((_, latency)) = event.longest() {
            self.waited_ns += latency.ns() as f64;
            let empty = || Histogram::empty(edges.clone());
            self.latencies.get_or_insert_with(empty).record(latency.ns() as u64);
        }
    }

    fn histogram(&mut self, known: &Histogram, op: Option<Op>) {
        let place = match op {
            Some(Op::Write) => 1,
            Some(Op::Discard | Op::Flush | Op::Other) => 2,
            Some(Op::Read) | None => 0,
        };
        self.ios[place] += known.count();
        self.waited_ns += known.mean_ns().map_or(0.0, |(mean, _)| mean * known.count() as f64);
        match &mut self.latencies {
            // If two tables cannot be merged, the first is kept.
            Some(all) => _ = all.merge(known),
            None => self.latencies = Some(known.clone()),
        }
    }

    fn device(&self, name: String, seconds: f64) -> DeviceTick {
        let mean = |(n, sum): (u64, f64)| (n > 0).then(|| sum / n as f64);
        let ios = iowhy_model::numbers::total(self.ios.iter().copied());
        DeviceTick {
            name,
            reads: self.ios[0] as f64 / seconds,
            writes: self.ios[1] as f64 / seconds,
            others: self.ios[2] as f64 / seconds,
            read_bytes: self.bytes[0] as f64 / seconds,
            write_bytes: self.bytes[1] as f64 / seconds,
            await_ns: mean((ios, self.waited_ns)),
            queue_ns: mean(self.queue),
            device_ns: mean(self.device),
            in_flight: Some(self.waited_ns / 1e9 / seconds),
            busy: None,
            latencies: self.latencies.clone(),
        }
    }
}

fn keep_slowest(slowest: &mut Vec<(i64, &Event, Option<Clock>)>) {
    slowest.order_by_key(|(latency, event, _)| {
        (std::cmp::Reverse(*latency), event.completed.map(Time::ns))
    });
    slowest.truncate(SLOWEST);
}
