//! Which I/O of a plan is due next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::next::Next;
use crate::plan::{NOBODY, Plan};

/// How long after the engine is ready the first I/O is due, so that it can be on time.
const LEAD_NS: u64 = 1_000_000;
/// How often a waiter polls for a completion.
const LOOK_NS: u64 = 1_000_000;

/// A plan under way.
pub(super) struct Course {
    plan: Arc<Plan>,
    /// How long it may go on, ns.
    time_ns: u64,
    /// When it began, once it has.
    begun_ns: Option<u64>,
    /// The next that waits for no other.
    next: usize,
    /// I/Os that are due: time and number.
    released: BinaryHeap<Reverse<(u64, u32)>>,
    in_flight: u64,
}

impl Course {
    /// A plan that is to begin and ends after this time at the latest.
    pub(super) fn of(plan: Arc<Plan>, time_ns: u64) -> Course {
        let released = BinaryHeap::new();
        Course { plan, time_ns, begun_ns: None, next: 0, released, in_flight: 0 }
    }

    /// What to do at `now_ns`.
    pub(super) fn next(&mut self, now_ns: u64) -> Next {
        let begun_ns = *self.begun_ns.get_or_insert(now_ns.saturating_add(LEAD_NS));
        let end_ns = begun_ns.saturating_add(self.time_ns);
        if now_ns >= end_ns {
            return Next::Done;
        }
        let Some((due_ns, number)) = self.candidate(begun_ns) else {
            // Its completion may let others start.
            let waits = self.in_flight > 0;
            return if waits { Next::At(now_ns.saturating_add(LOOK_NS)) } else { Next::Done };
        };
        if due_ns > now_ns {
            return Next::At(due_ns.min(end_ns));
        }
        self.take(number);
        self.in_flight += 1;
        let Some(io) = self.plan.ios.get(number as usize) else { return Next::Done };
        let (offset, op, bytes) = (io.offset, io.op, io.bytes);
        Next::Start { intended_ns: due_ns, offset, op, bytes, number }
    }

    /// Bytes of what comes next, if anything does.
    pub(super) fn bytes_next(&mut self) -> Option<u32> {
        let (_, number) = self.candidate(self.begun_ns.unwrap_or(0))?;
        self.plan.ios.get(number as usize).map(|io| io.bytes)
    }

    /// An I/O completed: those that follow it have their time.
    pub(super) fn completed(&mut self, number: u32, at_ns: u64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let due = |io: &crate::plan::Planned| at_ns.saturating_add(io.due_ns);
        let next = self.plan.followers(number).map(|(number, io)| Reverse((due(io), number)));
        self.released.extend(next);
    }

    /// How many were due by `now_ns` and never started, and for how long the first had waited.
    pub(super) fn unserved(&mut self, now_ns: u64) -> (u64, u64) {
        let Some(begun_ns) = self.begun_ns else { return (0, 0) };
        let until_ns = now_ns.min(begun_ns.saturating_add(self.time_ns));
        let (mut count, mut longest_ns) = (0, 0);
        while let Some((due_ns, number)) = self.candidate(begun_ns)
            && due_ns < until_ns
        {
            longest_ns = longest_ns.max(until_ns - due_ns);
            count += 1;
            self.take(number);
        }
        (count, longest_ns)
    }

    /// The one that is due first, and when.
    fn candidate(&mut self, begun_ns: u64) -> Option<(u64, u32)> {
        while self.plan.ios.get(self.next).is_some_and(|io| io.after != NOBODY) {
            self.next += 1;
        }
        let free = self.plan.ios.get(self.next);
        let free = free.map(|io| (begun_ns.saturating_add(io.due_ns), self.next as u32));
        let released = self.released.peek().map(|Reverse(released)| *released);
        free.into_iter().chain(released).min()
    }

    fn take(&mut self, number: u32) {
        if number as usize == self.next {
            self.next += 1;
        } else {
            self.released.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Op, Time};

    use super::*;
    use crate::plan::{Captured, Replay};

    fn course(closed: bool, time_ns: u64) -> Course {
        let at = |us: i64| Time::from_ns(us * 1000);
        let io = |started, completed, process| Captured {
            started: at(started),
            issued: None,
            completed: Some(at(completed)),
            offset: 0,
            bytes: 512,
            op: Op::Read,
            process,
        };
        let ios = Arc::new(vec![io(0, 10, 1), io(20, 30, 2), io(25, 90, 1)]);
        let replay = Replay { ios, left_out: Vec::new(), speed: 1.0, closed, overwrite: false };
        Course::of(Arc::new(Plan::of(&replay, (0, 4096), 512, None)), time_ns)
    }

    fn started(next: Next) -> (u64, u32) {
        let Next::Start { intended_ns, number, .. } = next else { panic!("{next:?}") };
        (intended_ns, number)
    }

    #[test]
    fn an_open_loop_waits_for_no_completion() {
        let mut course = course(false, u64::MAX);
        assert_eq!(course.next(500), Next::At(500 + LEAD_NS));
        let late_ns = 500 + LEAD_NS + 1_000_000;
        for (number, due_ns) in [(0, 0), (1, 20_000), (2, 25_000)] {
            assert_eq!(course.bytes_next(), Some(512));
            assert_eq!(started(course.next(late_ns)), (500 + LEAD_NS + due_ns, number));
        }
        assert!(matches!(course.next(late_ns), Next::At(_)));
        (0..3).for_each(|number| course.completed(number, late_ns));
        assert_eq!(course.next(late_ns), Next::Done);
    }

    #[test]
    fn in_a_closed_loop_the_next_of_a_process_follows_its_completion() {
        let mut course = course(true, u64::MAX);
        course.next(0);
        assert_eq!(started(course.next(LEAD_NS)), (LEAD_NS, 0));
        assert_eq!(started(course.next(LEAD_NS + 20_000)).1, 1);
        // The first takes five times as long as it did: the third comes as much later.
        assert_eq!(course.next(LEAD_NS + 30_000), Next::At(LEAD_NS + 30_000 + LOOK_NS));
        course.completed(0, LEAD_NS + 50_000);
        assert_eq!(course.next(LEAD_NS + 50_000), Next::At(LEAD_NS + 65_000));
        assert_eq!(started(course.next(LEAD_NS + 66_000)), (LEAD_NS + 65_000, 2));
    }

    #[test]
    fn what_was_due_before_the_end_and_never_started_is_counted() {
        let mut course = course(false, 22_000);
        course.next(0);
        assert_eq!(course.next(LEAD_NS + 22_000), Next::Done);
        assert_eq!(course.unserved(u64::MAX), (2, 22_000));
    }
}
