//! Operations of a Ceph OSD with their steps: `dump_historic_ops`, `dump_ops_in_flight`.
//!
//! ## Reads
//! Of each `"description": "osd_op(...)"` its duration and the times of its events. If the longest
//! step ended with the answer of another OSD (`sub_op_commit_rec`), the operation waited for a
//! replica: these are counted, with the longest wait (`replica.slow`, `replica.slowest`). Any other
//! becomes an operation of the OSD, named after its longest step if that took half of it or more.
//! Parts of a document, as people paste them, are read too.
//!
//! ## How to capture
//! `ceph tell osd.3 dump_historic_ops`, `ceph daemon osd.3 dump_historic_slow_ops`.
//!
//! ## Versions
//! Firefly to Squid: times before or after the names of events, numbers in quotes or bare.
//!
//! ## Caveats
//! The OSD keeps the 20 slowest operations of the last 10 minutes, so the mean of those listed is
//! not a mean of all; the fact `trace.threshold` has the fastest of them. An operation of less than
//! 100 ms that waited for a replica is not counted as slow.
//!
//! ## Not in this output
//! The number of fast operations, the disk of the OSD, which replica answered last.

use crate::counters::slow_log::SlowLog;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<CephOps>(
    "operations of a Ceph OSD and their steps (dump_historic_ops)",
    Level::C,
    &["\"description\": \"osd_"],
    |line| description(line).is_some(),
)
.resumed();

/// From when on a wait for a replica counts as slow, s (a choice: ten writes to a disk).
const SLOW_S: f64 = 0.1;
/// No operation is that long.
const LONGEST_S: f64 = 86_400.0;
const DAY_S: f64 = 86_400.0;

/// `"description": "osd_op(client.4118.0:47 1.1b ... ondisk+write+known_if_redirected e19)",`.
fn description(line: &str) -> Option<&str> {
    let line = line.trim_start().trim_start_matches('{').trim_start();
    let text = line.strip_prefix("\"description\": \"")?;
    ["osd_op(", "osd_repop(", "osd_sub_op("].iter().find(|kind| text.starts_with(**kind))?;
    Some(text)
}

/// The value of a line of the document: `"age": 408.07,`, `{ "time": "2015-03-25 19:41:47.1",`.
fn value<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    let line = line.trim_start_matches(['{', '[', ' ', '\t']);
    let rest = line.strip_prefix('"')?.strip_prefix(key)?.strip_prefix("\": ")?;
    Some(rest.trim_end().trim_end_matches(['}', ']', ',', ' ']).trim_matches('"'))
}

/// The second of the day of `2024-12-28T10:19:26.466544+0000`.
fn second(time: &str) -> Option<f64> {
    let (_, clock) = time.split_once(['T', ' '])?;
    let clock = clock.split(['+', 'Z']).next()?;
    let [hours, minutes, seconds] = clock.split(':').collect::<Vec<_>>()[..] else { return None };
    Some(decimal(hours)? * 3600.0 + decimal(minutes)? * 60.0 + decimal(seconds)?)
}

/// What an operation did in the step that ended with this event.
fn step(event: &str) -> &'static str {
    match event {
        _ if is_of_a_replica(event) => "wait for a replica",
        _ if event.starts_with("reached_pg") => "queue of its placement group",
        _ if event.starts_with("started") => "wait for locks of its objects",
        _ if event.contains("commit") || event.contains("journal") => "commit of its own store",
        _ => "operation of the OSD",
    }
}

fn is_of_a_replica(event: &str) -> bool {
    event.starts_with("sub_op_commit_rec") || event.starts_with("sub_op_applied_rec")
}

/// An operation so far.
#[derive(Default)]
struct Operation {
    op: Option<Op>,
    took_s: Option<f64>,
    /// The event and the time that are waiting for each other, and the time of the event before.
    event: Option<String>,
    time: Option<f64>,
    before: Option<f64>,
    /// The longest step: its length and what it was.
    longest: Option<(f64, &'static str)>,
    of_a_replica_s: f64,
    has_events: bool,
}

#[derive(Default)]
struct CephOps {
    slow: SlowLog,
    current: Operation,
    replicas: u64,
    longest_s: f64,
    fastest_s: Option<f64>,
}

impl CephOps {
    fn close_step(&mut self) {
        let one = &mut self.current;
        let (Some(event), Some(now)) = (one.event.as_deref(), one.time) else { return };
        // After midnight the clock begins anew.
        let gap = one.before.map(|before| (now - before + DAY_S) % DAY_S);
        if let Some(gap) = gap.filter(|gap| *gap < LONGEST_S / 2.0) {
            if one.longest.is_none_or(|(longest, _)| gap > longest) {
                one.longest = Some((gap, step(event)));
            }
            if is_of_a_replica(event) {
                one.of_a_replica_s = one.of_a_replica_s.max(gap);
            }
        }
        (one.before, one.event, one.time) = (Some(now), None, None);
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        let one = std::mem::take(&mut self.current);
        let (Some(op), Some(took_s)) = (one.op, one.took_s) else { return };
        self.fastest_s = Some(self.fastest_s.map_or(took_s, |fastest| fastest.min(took_s)));
        // Of a part of a document the longest step may be missing.
        let known = one.longest.filter(|(length_s, _)| *length_s >= took_s / 2.0);
        let (length_s, what) = known.unwrap_or((0.0, "operation of the OSD"));
        if length_s > 0.0 && length_s == one.of_a_replica_s {
            if length_s >= SLOW_S {
                self.replicas += 1;
                self.longest_s = self.longest_s.max(length_s);
            }
            return;
        }
        self.slow.take(("an OSD", op, what), (took_s * 1e9) as u64, None, sink);
    }
}

impl Reader for CephOps {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(text) = description(line) {
            self.close(sink);
            let op = if text.contains("write") || text.starts_with("osd_repop") {
                Op::Write
            } else if text.contains("read") {
                Op::Read
            } else {
                Op::Other
            };
            self.current.op = Some(op);
            return Step::Consumed;
        }
        let bare = line.trim();
        if bare.contains("\"events\": [") {
            self.current.has_events = true;
        } else if let Some(took) = value(bare, "duration") {
            if self.current.took_s.is_none() && !self.current.has_events {
                let took_s = decimal(took).filter(|s| (0.0..LONGEST_S).contains(s));
                if took_s.is_none() {
                    return Step::skipped("the duration is not a number");
                }
                self.current.took_s = took_s;
            }
        } else if let Some(event) = value(bare, "event") {
            self.current.event = Some(event.to_string());
            self.close_step();
        } else if let Some(time) = value(bare, "time") {
            self.current.time = second(time);
            self.close_step();
        } else if !bare.starts_with(['{', '}', '[', ']', '"']) || bare == "[...]" {
            return Step::NotMine;
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
        self.slow.state_flushes(sink);
        if self.replicas > 0 {
            sink.add_fact(None, typed::REPLICA_SLOW, self.replicas);
            sink.add_fact(None, typed::REPLICA_SLOWEST, Nanos::from_seconds(self.longest_s));
        }
        if let Some(fastest_s) = self.fastest_s {
            self.slow.state_threshold((fastest_s * 1e6) as u64, sink);
        }
    }
}
