//! A load on a disk model, without a device and without waiting: what a per-I/O tracer would have
//! recorded.
//!
//! A closed load keeps `depth` requests in flight and sends the next one `think` after a
//! completion; an open one sends at its own rate, whatever the disk does; one in batches sends that
//! many at once at that interval. A load is written
//! `read:128K,random,depth=4,count=500,think=50us`, `write:4K,rate=200` or
//! `batch=20/500ms:write:4K,random`.
//!
//! **Must never know:** a clock, a file, a detector.

use std::fmt::Write;

use iowhy_model::{Op, Random};

use crate::disk::{Disk, Request, Service, duration, size};

/// A load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// Read or write.
    pub op: Op,
    /// Bytes of each request.
    pub bytes: u32,
    /// Scattered over the disk, or one after the other.
    pub random: bool,
    /// Requests kept in flight.
    pub depth: usize,
    /// From an answer to the next request, ns.
    pub think: u64,
    /// Requests per second, sent without regard to answers.
    pub rate: Option<f64>,
    /// From batch to batch, where requests come in batches of `depth`, ns.
    pub batch: Option<u64>,
    /// How many.
    pub count: usize,
}

/// Senders of a load that sends at its own rate: this many may be late at once.
const SENDERS: usize = 16;

impl Load {
    /// Reads one from the command line.
    ///
    /// # Errors
    /// If it is none; the text shows what would be.
    pub fn parse(text: &str) -> Result<Load, String> {
        let Some(rest) = text.strip_prefix("batch=") else { return Load::unbatched(text) };
        let form = || format!("`{text}` is not a load; write `batch=20/500ms:write:4K,random`");
        let (batch, load) = rest.split_once(':').ok_or_else(form)?;
        let (many, every) = batch.split_once('/').ok_or_else(form)?;
        let depth = many.parse().ok().filter(|many| (1..=512).contains(many)).ok_or_else(form)?;
        let every = duration(every).ok_or_else(form)?;
        Ok(Load { depth, batch: Some(every.max(1)), ..Load::unbatched(load)? })
    }

    fn unbatched(text: &str) -> Result<Load, String> {
        let wrong = |part: &str| {
            let form = "`read:128K` or `write:4K,random,depth=4,count=500,think=50us,rate=200`";
            format!("`{part}` is not a part of a load; write {form}")
        };
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let (op, bytes) = first.split_once(':').unwrap_or((first, "4K"));
        let op = Op::from_name(op).filter(|op| matches!(op, Op::Read | Op::Write));
        let bytes =
            size(bytes).filter(|bytes| *bytes % 512 == 0 && (512..=1 << 24).contains(bytes));
        let (Some(op), Some(bytes)) = (op, bytes) else { return Err(wrong(first)) };
        // 50 us: what a program and the system around it take between two requests.
        let mut load = Load {
            op,
            bytes: bytes as u32,
            random: false,
            depth: 1,
            think: 50_000,
            rate: None,
            batch: None,
            count: 300,
        };
        for part in parts {
            load.set(part).ok_or_else(|| wrong(part))?;
        }
        Ok(load)
    }

    fn set(&mut self, part: &str) -> Option<()> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        match key {
            "random" if value.is_empty() => self.random = true,
            "depth" => {
                self.depth = value.parse().ok().filter(|depth| (1..=4096).contains(depth))?
            }
            "count" => self.count = value.parse().ok()?,
            "think" => self.think = duration(value)?,
            "rate" => {
                self.rate = Some(value.parse().ok().filter(|rate| (0.01..1e6).contains(rate))?)
            }
            _ => return None,
        }
        Some(())
    }

    /// How many send, each with one request in flight.
    pub fn senders(&self) -> usize {
        if self.rate.is_some() { SENDERS.max(self.depth) } else { self.depth }
    }

    /// When a sender sends first, ns.
    pub fn first(&self, random: &mut Random) -> u64 {
        self.after(0, 0, random)
    }

    /// When a sender sends next that sent last at `sent` and was answered at `answered`, ns.
    pub fn after(&self, sent: u64, answered: u64, random: &mut Random) -> u64 {
        match (self.batch, self.rate) {
            // A late sender joins the next batch to come.
            (Some(every), _) => (sent.max(answered) / every + 1) * every,
            // Gaps of a Poisson process: minus the logarithm of an even number.
            (None, Some(rate)) => {
                let each = rate / self.senders() as f64;
                sent + (random.exponential() / each * 1e9) as u64
            }
            (None, None) => answered + self.think,
        }
    }

    /// Sends the load to a disk of `bytes`; each request with its answer, in order of arrival.
    pub fn run(&self, disk: &mut Disk, bytes: u64, seed: u64) -> Vec<(Request, Service)> {
        let mut random = Random::seeded(seed ^ 0x6c6f_6164);
        let mut slots = vec![0u64; self.depth];
        let mut done = Vec::with_capacity(self.count);
        let (mut next, mut clock) = (0, 0);
        for _ in 0..self.count {
            // The slot that is free first sends first.
            let slot = slots.iter().enumerate().min_by_key(|(_, free)| **free);
            let slot = slot.map_or(0, |(place, _)| place);
            clock = match (self.batch, self.rate) {
                (Some(every), _) => ((slots[slot] / every + 1) * every).max(clock),
                // Gaps of a Poisson process: minus the logarithm of an even number.
                (None, Some(rate)) => clock + (random.exponential() / rate * 1e9) as u64,
                (None, None) => slots[slot].max(clock),
            };
            let room = bytes.saturating_sub(u64::from(self.bytes)) / 4096 + 1;
            let offset = if self.random { random.bits() % room * 4096 } else { next };
            next = offset + u64::from(self.bytes);
            let request = Request { op: self.op, offset, bytes: self.bytes, arrival: clock };
            let served = disk.serve(&request);
            slots[slot] = served.due + self.think;
            done.push((request, served));
        }
        done
    }
}

/// A request and its answer on a device of some name.
#[derive(Clone, PartialEq, Debug)]
pub struct Completion {
    /// The device's name in the listing.
    pub device: String,
    /// The request and its time.
    pub request: Request,
    /// Its result.
    pub served: Service,
}

/// What biosnoop would have printed: one line per request, in order of completion.
pub fn biosnoop(seen: &[Completion]) -> String {
    let mut order: Vec<&Completion> = seen.iter().collect();
    order.sort_by_key(|seen| seen.served.due);
    let begun = order.first().map_or(0, |first| first.served.due);
    let mut out =
        "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n".to_string();
    for Completion { device, request, served } in order {
        let _ = writeln!(
            out,
            "{:<11.6} {:<14} {:<6} {device:<7} {:<1} {:<10} {:<7} {:.2}",
            (served.due - begun) as f64 / 1e9,
            "load",
            4242,
            request.op.letter(),
            request.offset / 512,
            request.bytes,
            (served.due - request.arrival) as f64 / 1e6,
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_read_as_they_are_written() {
        let load = Load::parse("batch=20/500ms:write:4K,random").unwrap();
        assert_eq!((load.batch, load.depth, load.bytes), (Some(500_000_000), 20, 4096));
        assert_eq!((load.op, Load::parse("read:128K").unwrap().batch), (Op::Write, None));
        for bad in ["batch=20:read:4K", "batch=0/1s:read:4K", "batch=5/x:read:4K", "read:5"] {
            assert!(Load::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn batches_begin_together() {
        let arrivals: Vec<u64> = run("ssd", "batch=4/10ms:read:4K,count=8")
            .iter()
            .map(|(request, _)| request.arrival / 1_000_000)
            .collect();
        assert_eq!(arrivals, [10, 10, 10, 10, 20, 20, 20, 20]);
    }
    use crate::disk::Model;

    fn run(model: &str, load: &str) -> Vec<(Request, Service)> {
        let model = Model::parse(model).unwrap();
        let mut disk = Disk::new(model.mechanism(1 << 30), &[], 1, 0);
        Load::parse(load).unwrap().run(&mut disk, 1 << 30, 1)
    }

    #[test]
    fn a_closed_load_keeps_its_depth_and_an_open_one_its_rate() {
        let done =
            run("network:iops=500,burst=500,jitter=0us", "read:4K,random,depth=16,count=900");
        let mut latency = done.iter().map(|(request, served)| served.due - request.arrival);
        let last = latency.next_back().unwrap() as f64 / 1e6;
        assert!(
            (last - 31.95).abs() < 0.1,
            "16 in flight at 500 a second, 50 us of thought: {last}"
        );
        let done = run("ssd", "read:4K,random,rate=1000,count=20000");
        let seconds = done.last().unwrap().0.arrival as f64 / 1e9;
        assert!((seconds - 20.0).abs() < 0.5, "{seconds}");
        assert!(done.is_sorted_by_key(|(request, _)| request.arrival));
    }

    #[test]
    fn the_listing_is_in_order_of_completion() {
        let done = run("rotational", "read:128K,count=3").into_iter();
        let seen =
            done.map(|(request, served)| Completion { device: "sdb".into(), request, served });
        let text = biosnoop(&seen.collect::<Vec<Completion>>());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("0.000000    load           4242   sdb     R 0 "), "{text}");
        // The second one: 0.2 ms to understand the command, 1.78 ms to move 128 KiB.
        assert!(lines[2].ends_with("131072  1.98"), "{text}");
    }

    #[test]
    fn loads_are_read_as_they_are_written() {
        let load = Load::parse("write:8K,random,depth=4,count=50,think=1ms,rate=20.5").unwrap();
        assert_eq!((load.op, load.bytes, load.random, load.depth), (Op::Write, 8192, true, 4));
        assert_eq!((load.count, load.think, load.rate), (50, 1_000_000, Some(20.5)));
        for bad in ["flush", "read:100", "read:4K,deep=3", "read:4K,depth=0", "read:4K,rate=0"] {
            assert!(Load::parse(bad).is_err(), "{bad}");
        }
    }
}
