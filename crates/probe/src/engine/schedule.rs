//! Which I/O is due next, where and when.

use iowhy_model::{Op, Random};

use super::course::Course;
use super::next::Next;
use crate::job::{Arrivals, Job, Load, Order};

/// The sequence of a job's I/Os.
pub(super) struct Schedule {
    order: Order,
    from: u64,
    bytes: u64,
    places: u64,
    random: Random,
    pace: Option<(f64, Arrivals)>,
    arrivals: Random,
    due_ns: f64,
    begun_ns: u64,
    end_ns: u64,
    left: u64,
    taken: u64,
    op: Op,
    /// Writes that are still to be drawn among the I/Os left, in a job that does both.
    writes: Option<u64>,
    /// The plan that is followed instead.
    course: Option<Course>,
}

impl Schedule {
    /// The sequence of a job that begins at `begun_ns`.
    pub(super) fn of(job: &Job, begun_ns: u64) -> Schedule {
        let time = job.time.map_or(u64::MAX, |time| time.as_nanos() as u64);
        let pace = match job.load {
            Load::Closed { .. } | Load::Planned { .. } => None,
            Load::Open { per_s, arrivals, .. } => Some((per_s.max(1e-6), arrivals)),
        };
        let mut schedule = Schedule {
            order: job.order,
            from: job.from,
            bytes: u64::from(job.bytes.max(1)),
            places: (job.span / u64::from(job.bytes.max(1))).max(1),
            random: Random::seeded(job.seed ^ (job.op == Op::Write) as u64),
            pace,
            arrivals: Random::seeded(job.seed.rotate_left(17) ^ 0xa5),
            due_ns: 0.0,
            begun_ns,
            end_ns: begun_ns.saturating_add(time),
            left: job.count.unwrap_or(u64::MAX),
            taken: 0,
            op: job.op,
            writes: job.reads.map(|_| job.writes()),
            course: job.plan.clone().map(|plan| Course::of(plan, time)),
        };
        schedule.advance();
        schedule
    }

    /// What to do at `now_ns`.
    pub(super) fn next(&mut self, now_ns: u64) -> Next {
        if let Some(course) = &mut self.course {
            return course.next(now_ns);
        }
        if self.left == 0 || now_ns >= self.end_ns {
            return Next::Done;
        }
        let intended_ns = match self.pace {
            None => now_ns,
            Some(_) => {
                let due_ns = self.begun_ns.saturating_add(self.due_ns as u64);
                if due_ns >= self.end_ns {
                    return if now_ns >= self.end_ns { Next::Done } else { Next::At(self.end_ns) };
                }
                if due_ns > now_ns {
                    return Next::At(due_ns);
                }
                self.advance();
                due_ns
            }
        };
        let op = self.draw();
        self.left -= 1;
        let offset = self.place();
        self.taken += 1;
        Next::Start { intended_ns, offset, op, bytes: self.bytes as u32, number: 0 }
    }

    /// Bytes of what comes next.
    pub(super) fn bytes_next(&mut self) -> u32 {
        match &mut self.course {
            Some(course) => course.bytes_next().unwrap_or(0),
            None => self.bytes as u32,
        }
    }

    /// The I/O of that number completed.
    pub(super) fn completed(&mut self, number: u32, at_ns: u64) {
        if let Some(course) = &mut self.course {
            course.completed(number, at_ns);
        }
    }

    /// Read or write: drawn without putting back, so that the writes announced are exact
    /// (selection sampling; Knuth, "Seminumerical Algorithms", 3.4.2).
    fn draw(&mut self) -> Op {
        match &mut self.writes {
            None => self.op,
            Some(writes) if self.random.below(self.left) < *writes => {
                *writes -= 1;
                Op::Write
            }
            Some(_) => Op::Read,
        }
    }

    /// How many were due by the end (or by `now_ns`) and never started, and for how long the
    /// first of them had waited.
    pub(super) fn unserved(&mut self, now_ns: u64) -> (u64, u64) {
        if let Some(course) = &mut self.course {
            return course.unserved(now_ns);
        }
        let until = now_ns.min(self.end_ns);
        let (mut count, mut longest) = (0, 0);
        while self.pace.is_some() && self.left > 0 {
            let due_ns = self.begun_ns.saturating_add(self.due_ns as u64);
            if due_ns >= until {
                break;
            }
            longest = longest.max(until - due_ns);
            count += 1;
            self.left -= 1;
            self.advance();
        }
        (count, longest)
    }

    fn place(&mut self) -> u64 {
        let place = match self.order {
            Order::Sequential => self.taken % self.places,
            Order::Random => self.random.below(self.places),
            Order::Same => 0,
        };
        self.from + place * self.bytes
    }

    fn advance(&mut self) {
        let Some((per_s, arrivals)) = self.pace else { return };
        let gaps = match arrivals {
            Arrivals::Constant => 1.0,
            Arrivals::Poisson => self.arrivals.exponential(),
        };
        self.due_ns += gaps * 1e9 / per_s;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn open(per_s: f64, arrivals: Arrivals) -> Job {
        let load = Load::Open { per_s, arrivals, depth: 4 };
        Job { load, time: Some(Duration::from_secs(10)), ..Job::reads(4096, 1, 1 << 20) }
    }

    #[test]
    fn a_late_caller_gets_what_was_due_and_when() {
        let mut schedule = Schedule::of(&open(100.0, Arrivals::Constant), 1000);
        assert_eq!(schedule.next(1000), Next::At(10_001_000));
        let Next::Start { intended_ns, .. } = schedule.next(35_001_000) else { panic!() };
        assert_eq!(intended_ns, 10_001_000);
        let Next::Start { intended_ns, .. } = schedule.next(35_001_000) else { panic!() };
        assert_eq!(intended_ns, 20_001_000);
        assert!(matches!(schedule.next(u64::MAX), Next::Done));
        // 100 per second for 10 s: 999 fall inside, two were taken.
        assert_eq!(schedule.unserved(u64::MAX).0, 997);
    }

    #[test]
    fn poisson_arrivals_keep_their_rate() {
        let mut schedule = Schedule::of(&open(1000.0, Arrivals::Poisson), 0);
        let (n, _) = schedule.unserved(u64::MAX);
        assert!((9600..10_400).contains(&n), "{n}");
    }

    #[test]
    fn places_stay_inside_the_region_and_on_the_grid() {
        for order in [Order::Sequential, Order::Random, Order::Same] {
            let job = Job { order, from: 8192, span: 40_000, ..Job::reads(4096, 1, 0) };
            let mut schedule = Schedule::of(&job, 0);
            for now in 0..1000 {
                let Next::Start { offset, .. } = schedule.next(now) else { panic!() };
                assert!(offset >= 8192 && offset + 4096 <= 8192 + 40_000 && offset % 4096 == 0);
            }
        }
    }

    #[test]
    fn a_mix_draws_exactly_the_writes_that_were_announced() {
        for (reads, writes) in [(0.7, 300), (0.0, 1000), (1.0, 0), (0.333, 667)] {
            let job = Job { reads: Some(reads), count: Some(1000), ..Job::reads(4096, 1, 1 << 20) };
            let mut schedule = Schedule::of(&job, 0);
            let mut drawn = 0;
            let mut early = 0;
            for now in 0..1000 {
                let Next::Start { op, .. } = schedule.next(now) else { panic!() };
                drawn += u64::from(op == Op::Write);
                early += u64::from(op == Op::Write && now < 500);
            }
            assert_eq!((schedule.next(1000), drawn, job.writes()), (Next::Done, writes, writes));
            // They are spread, not at one end: five deviations of a hypergeometric draw.
            assert!(early.abs_diff(writes / 2) < 40, "{reads}: {early}");
        }
    }
}
