//! Logs of programs that list only operations that took longer than a limit.

use iowhy_model::{Event, Layer, Nanos, Op, Sink, Time, typed};

use crate::WallTime;
use crate::facts::AddFact;

/// The operations of such a log so far.
#[derive(Default)]
pub(crate) struct SlowLog {
    first: Option<WallTime>,
    flushes: u64,
    longest_ns: u64,
}

impl SlowLog {
    /// A line of this time was read: the first is where times begin.
    pub(crate) fn saw(&mut self, now: Option<WallTime>) {
        self.first = self.first.or(now);
    }

    /// Emits an operation with this duration: its device, its name, and when its line was written.
    pub(crate) fn take(
        &mut self,
        (whose, op, what): (&str, Op, &str),
        ns: u64,
        now: Option<WallTime>,
        sink: &mut dyn Sink,
    ) {
        if op == Op::Flush {
            self.flushes += 1;
            self.longest_ns = self.longest_ns.max(ns);
        }
        self.give((whose, op, what), Nanos(i64::try_from(ns).unwrap_or(i64::MAX)), now, sink);
    }

    /// The same without counting it.
    pub(crate) fn give(
        &mut self,
        (whose, op, what): (&str, Op, &str),
        took: Nanos,
        now: Option<WallTime>,
        sink: &mut dyn Sink,
    ) {
        let mut event = Event::new(sink.device(whose), op, Layer::Application);
        event.comm = Some(sink.name(what));
        self.saw(now);
        let since = now.zip(self.first).and_then(|(now, first)| now.since(first));
        let end = Time::from_seconds(since.unwrap_or(0.0));
        event.completed = Some(end);
        event.queued = Some(end - took);
        sink.event(event);
    }

    /// Adds the number of flushes, and the longest.
    pub(crate) fn state_flushes(&self, sink: &mut dyn Sink) {
        if self.flushes > 0 {
            sink.add_fact(None, typed::FLUSH_SLOW, self.flushes);
            let longest = i64::try_from(self.longest_ns).unwrap_or(i64::MAX);
            sink.add_fact(None, typed::FLUSH_SLOWEST, Nanos(longest));
        }
    }

    /// Adds the threshold of the log: the mean of logged operations is not the mean of all.
    pub(crate) fn state_threshold(&self, us: u64, sink: &mut dyn Sink) {
        sink.add_fact(None, typed::TRACE_THRESHOLD, Nanos::from_us(us as f64));
    }
}
