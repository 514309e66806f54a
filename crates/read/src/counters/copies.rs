//! Copies of the kernel's block counters, one after another, and the averages between them.

use std::collections::{HashMap, HashSet};

use iowhy_model::{Nanos, Note, Sampling, Sink, Time};

use crate::WallTime;
use crate::counters::diskstats::{Change, Counters, change};

/// The clock a time was read from: only times of one clock can be subtracted.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Clock {
    Wall(WallTime),
    Uptime(f64),
}

impl Clock {
    fn since(self, earlier: Clock) -> Option<Nanos> {
        let seconds = match (self, earlier) {
            (Clock::Wall(now), Clock::Wall(then)) => now.since(then)?,
            (Clock::Uptime(now), Clock::Uptime(then)) if now >= then => now - then,
            _ => return None,
        };
        Some(Nanos::from_seconds(seconds))
    }
}

/// Copies that are being read: a copy begins when a device repeats, or at a time.
#[derive(Default)]
pub(crate) struct Copies {
    /// Times of the first copy, the one before and the current one.
    first: Option<Clock>,
    before: Option<Clock>,
    now: Option<Clock>,
    /// Copies completed.
    copies: u64,
    earlier: HashMap<String, Counters>,
    /// The current copy, in its own order.
    current: Vec<Counters>,
    seen: HashSet<String>,
    untimed: bool,
    /// The time between copies, if the command shows it and the copies have none.
    pub(crate) every: Option<Nanos>,
}

impl Copies {
    /// Whether no copy was taken yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.copies == 0 && self.current.is_empty()
    }

    /// The time of the next copy, printed before it.
    pub(crate) fn begins_at(&mut self, now: Option<Clock>) {
        self.now = now;
    }

    /// A time ends a copy and begins the next one.
    pub(crate) fn at(&mut self, now: Clock, sink: &mut dyn Sink) {
        self.turn(sink);
        self.now = Some(now);
    }

    /// Adds the counters of a device, with their own time if they have one.
    pub(crate) fn take(&mut self, counters: Counters, now: Option<Clock>, sink: &mut dyn Sink) {
        if self.seen.contains(&counters.name) {
            self.turn(sink);
            self.now = None;
        }
        self.now = now.or(self.now);
        self.seen.insert(counters.name.clone());
        self.current.push(counters);
    }

    /// Compares the last copy; for a single copy the averages are since boot.
    pub(crate) fn finish(&mut self, sink: &mut dyn Sink) {
        if self.copies > 0 {
            self.turn(sink);
            return;
        }
        let uptime = self.now.and_then(|now| match now {
            Clock::Uptime(seconds) => Some(Nanos::from_seconds(seconds)),
            Clock::Wall(_) => None,
        });
        sink.source().sampling = Sampling::Sampled;
        for counters in std::mem::take(&mut self.current) {
            let device = sink.device(&counters.name);
            let mut interval = counters.since_boot(uptime).interval(device);
            interval.since_boot = true;
            sink.interval(interval);
        }
        warn(sink, "", "only one copy: these are averages since boot; a difference needs two");
    }

    /// The current copy is complete: compares it with the one before.
    fn turn(&mut self, sink: &mut dyn Sink) {
        if self.current.is_empty() {
            return;
        }
        let length = self.now.zip(self.before).and_then(|(now, before)| now.since(before));
        let length = length.or(self.every.filter(|_| self.now.is_none()));
        let start = self.before.zip(self.first).and_then(|(before, first)| before.since(first));
        sink.source().sampling = Sampling::Sampled;
        let current = std::mem::take(&mut self.current);
        for counters in &current {
            let Some(earlier) = self.earlier.get(&counters.name) else { continue };
            if !counters.is_used() && !earlier.is_used() {
                continue;
            }
            let delta = match change(earlier, counters, length) {
                Change::Rose(delta) => delta,
                Change::Wrapped(delta) => {
                    warn(sink, &counters.name, "a 32-bit counter wrapped; it was unwrapped");
                    delta
                }
                Change::Reset => {
                    warn(sink, &counters.name, "a counter decreased: reset, no averages");
                    continue;
                }
                Change::Replaced => {
                    warn(
                        sink,
                        &counters.name,
                        "all counters decreased: another device, no averages",
                    );
                    continue;
                }
            };
            let device = sink.device(&counters.name);
            // An unknown rate is `None`, not 0.
            if delta.length.is_none() {
                delta.distributions(device).into_iter().for_each(|known| sink.distribution(known));
                continue;
            }
            let mut interval = delta.interval(device);
            interval.start = start.map(|start| Time::from_ns(start.ns()));
            sink.interval(interval);
        }
        if self.copies > 0 && length.is_none() && !self.untimed {
            self.untimed = true;
            warn(
                sink,
                "",
                "no time between copies: counts and mean waits are known, rates are not",
            );
        }
        self.copies += 1;
        self.earlier =
            current.into_iter().map(|counters| (counters.name.clone(), counters)).collect();
        self.seen.clear();
        self.before = self.now;
        if let (None, Some(Clock::Wall(now))) = (self.first, self.now) {
            now.state(0.0, sink);
        }
        self.first = self.first.or(self.now);
    }
}

fn warn(sink: &mut dyn Sink, text: &str, reason: &str) {
    let note = Note { line: 0, text: text.to_string(), reason: reason.to_string() };
    sink.note(note);
}
