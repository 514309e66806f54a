//! iosnoop of the DTraceToolkit: one line per completed block I/O on Solaris, illumos, macOS,
//! FreeBSD.
//!
//! ## Reads
//! The rows below `UID PID D BLOCK SIZE COMM PATHNAME`, with the columns that its options add:
//! `STIME` and `TIME` (-s, -t), `DELTA` (-D, -o), `DTIME`, `DEVICE`, `INS`, `MAJ`, `MIN`. With
//! times each line becomes an event; with `DELTA` alone the latencies of each operation become one
//! histogram.
//!
//! ## How to capture
//! `iosnoop -Dots` of the DTraceToolkit, `/usr/bin/iosnoop` of macOS.
//!
//! ## Versions
//! DTraceToolkit 0.96 to 0.99. Columns are found by the heading.
//!
//! ## Caveats
//! TIME and STIME are microseconds since boot, DELTA and DTIME microseconds. `DELTA` is from issue
//! to completion. Without -o, -D, -s and -t there are no latencies. D is `R` or `W`. Without `-e`
//! no disk is named: all share one name here. Lines of several CPUs may be out of order.
//!
//! ## Not in this output
//! Time in the queue of the host, flags, failed requests. Events dropped by DTrace, unless its
//! message was captured.

use iowhy_model::Edges;

use crate::program::*;
use crate::text::columns::Heading;

pub(super) const FORMAT: Format = Format::by_line::<DtraceIosnoop>(
    "iosnoop of the DTraceToolkit: one line per block I/O",
    Level::C,
    &["BLOCK"],
    |line| heading(line).is_some(),
);

/// The name of disks without one.
const UNNAMED: &str = "disk";
/// The longest latency that is taken for one, microseconds: a day.
const LONGEST_US: u64 = 86_400_000_000;

fn heading(line: &str) -> Option<Heading> {
    Heading::of(line, &["D", "BLOCK", "SIZE", "PID", "COMM"])
}

#[derive(Default)]
struct DtraceIosnoop {
    heading: Heading,
    rows: u64,
    /// Latencies of reads and writes without a time.
    timeless: [Vec<u64>; 2],
}

impl Reader for DtraceIosnoop {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(heading) = heading(line) {
            // A heading that repeats begins a new listing.
            if self.rows > 0 {
                return Step::End;
            }
            self.heading = heading;
            return Step::Consumed;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["dtrace:", number, "drops", ..] = words[..] {
            sink.lost("events dropped by the tool", integer(number).unwrap_or(1));
            return Step::Consumed;
        }
        if words.is_empty() {
            return Step::Consumed;
        }
        let of = |name: &str| self.heading.word(name, &words);
        let number = |name: &str| of(name).and_then(integer);
        let numbered = words.first().is_some_and(|word| decimal(word).is_some());
        let op = match of("D") {
            Some("R") => Op::Read,
            Some("W") => Op::Write,
            _ if numbered && words.len() > 3 => {
                return Step::skipped("the columns do not match the heading");
            }
            _ => return Step::NotMine,
        };
        let is_number = |name: &&str| of(name).is_none() || number(name).is_some();
        let timed = ["STIME", "TIME", "DELTA"].iter().all(is_number);
        let Some((block, size)) = number("BLOCK").zip(number("SIZE")).filter(|_| timed) else {
            return Step::skipped("the columns do not match the heading");
        };
        self.rows += 1;
        let start = number("STIME");
        let end = number("TIME");
        let took = number("DELTA").or_else(|| end?.checked_sub(start?));
        let took = took.filter(|us| *us <= LONGEST_US);
        let name = of("DEVICE").or_else(|| of("INS")).unwrap_or(UNNAMED).to_string();
        let end = end.or_else(|| start?.checked_add(took?)).and_then(|us| i64::try_from(us).ok());
        let (Some(took), Some(end)) = (took, end.and_then(|us| us.checked_mul(1_000))) else {
            let place = usize::from(op == Op::Write);
            self.timeless[place].extend(took);
            return Step::Consumed;
        };
        let mut event = Event::new(sink.device(&name), op, Layer::Block);
        event.completed = Some(Time::from_ns(end));
        event.issued = Some(Time::from_ns(end) - Nanos(took as i64 * 1_000));
        event.sector = Some(block);
        event.bytes = u32::try_from(size).ok();
        event.pid = number("PID").and_then(|pid| u32::try_from(pid).ok());
        event.comm = of("COMM").map(|comm| sink.name(comm));
        if sink.source().resolution.is_none() {
            sink.source().resolution = Some(Nanos(1_000));
        }
        sink.event(event);
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut any = sink.source().records > 0;
        for (place, op) in [Op::Read, Op::Write].into_iter().enumerate() {
            let latencies = std::mem::take(&mut self.timeless[place]);
            if latencies.is_empty() {
                continue;
            }
            let mut histogram = Histogram::empty(Edges::standard());
            latencies.iter().for_each(|us| histogram.record(us * 1_000));
            let device = sink.device(UNNAMED);
            let mut one = Distribution::new(device, Layer::Block, Stage::Device, histogram);
            one.op = Some(op);
            sink.distribution(one);
            any = true;
        }
        if self.rows > 0 && !any {
            sink.note(note("no latency column: run `iosnoop -Dots`"));
        }
    }
}
