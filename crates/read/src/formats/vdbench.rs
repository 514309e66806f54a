//! vdbench: rates, mean latencies and queue of each interval of a run on block devices.
//!
//! ## Reads
//! The heading of two lines (`interval i/o MB/sec bytes read resp read write ...` above `rate 1024**2 i/o pct time resp
//! resp ...`) and the rows below. Each run (`Starting RD=run1; ...`, or a heading again behind its `avg_2-30`) is a listing of its
//! own. Where the rows of the intervals are missing, the row of averages is read.
//!
//! ## Where it comes from
//! The standard output of `vdbench -f FILE`, `summary.html`, `totals.html`.
//!
//! ## Versions
//! 5.03 to 5.04.07; columns are found by both lines of the heading. The table of file systems (`fwd`) has another heading
//! and is not read.
//!
//! ## Traps
//! `avg_2-30` leaves the first interval out, and repeats the others. Latencies are milliseconds, `MB/sec` 1048576 bytes. The
//! latencies of reads and of writes are 0.000 where there were none. A run at a fixed rate (`I/O rate: 100`) is
//! paced: its queue says how much was in flight, not how much could be.
//!
//! ## Cannot know
//! Which device: the run's name stands for all of its storage definitions. How latencies are distributed; the time at the
//! device apart from that in the host. Whether whole lines are missing, but for a gap in the numbers of the intervals.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Time};

use crate::scan::another_run;
use crate::text::columns::Heading;
use crate::{Format, Reader, Sniff, Step, WallTime, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "vdbench",
    summary: "vdbench: rates, latencies and queue of a run",
    manual: iowhy_model::manual!("vdbench.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(Vdbench::default()),
};

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;
/// What a run is called whose beginning is not there.
const NAMELESS: &str = "run";

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        // The time in front is the line's own, so nothing stands before it.
        [first, ..] if run(first).is_some() => {
            let own = first.split_once(" Starting RD=").map(|(time, _)| time);
            Sniff::from(
                own.is_some_and(|time| !time.contains(' ') && WallTime::read(time).is_some()),
            )
        }
        [first] if upper(first).is_some() => Sniff::More,
        [first, second, ..] => Sniff::from(heading(first, second).is_some()),
        _ => Sniff::No,
    }
}

/// `16:24:31.001 Starting RD=rd1; I/O rate: 100; elapsed=5; For loops: None`: the name of the run.
fn run(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("Starting RD=")?;
    let (name, rest) = rest.split_once(';')?;
    rest.contains("I/O rate").then_some(name.trim())
}

/// The words of the upper line of the heading behind `interval`.
fn upper(line: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "interval")?;
    let rest = words.get(place + 1..)?;
    (rest.first() == Some(&"i/o") && rest.contains(&"MB/sec")).then(|| rest.to_vec())
}

/// The columns behind the interval, each by both of its words: `i/o rate`, `read resp`.
fn heading(first: &str, second: &str) -> Option<Heading> {
    let (upper, lower) = (upper(first)?, second.split_whitespace().collect::<Vec<&str>>());
    let names: Vec<String> =
        upper.iter().zip(&lower).map(|(upper, lower)| format!("{upper} {lower}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let known = upper.len() == lower.len() && names.contains(&"i/o rate");
    known.then(|| Heading::from_words(&names))
}

#[derive(Default)]
struct Vdbench {
    name: String,
    upper: Option<String>,
    heading: Heading,
    /// When the run's first row was, and the one before this.
    first: Option<WallTime>,
    before: Option<f64>,
    /// Rows of intervals of this run, and its row of averages where there is none.
    rows: u64,
    is_over: bool,
}

impl Reader for Vdbench {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if let Some(name) = run(text) {
            self.begin(sink);
            self.name = name.to_string();
            return Step::Took;
        }
        if upper(text).is_some() {
            self.upper = Some(text.to_string());
            return Step::Took;
        }
        if let Some(above) = self.upper.take() {
            return match heading(&above, text) {
                Some(heading) => {
                    self.begin(sink);
                    self.heading = heading;
                    Step::Took
                }
                None => Step::Skipped("the two lines of the heading do not fit".to_string()),
            };
        }
        if text.is_empty() {
            return Step::Took;
        }
        self.row(text, sink)
    }

    fn resumes(&self) -> bool {
        true
    }
}

impl Vdbench {
    /// Another run begins if one is over.
    fn begin(&mut self, sink: &mut dyn Sink) {
        if std::mem::take(&mut self.is_over) {
            another_run(sink);
            (self.first, self.before, self.rows) = (None, None, 0);
            self.name.clear();
        }
    }

    /// `16:24:32.018  1  84.0  0.08  1024  53.57 ...`, with the time or without it.
    fn row(&mut self, text: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some((head, values)) = words
            .len()
            .checked_sub(self.heading.width())
            .filter(|head| (1..=2).contains(head))
            .and_then(|head| words.split_at_checked(head))
            .filter(|_| self.heading.width() > 0)
        else {
            return match integer(words.first().unwrap_or(&""))
                .or(integer(words.get(1).unwrap_or(&"")))
            {
                Some(_) if words.len() > 3 && self.heading.width() > 0 => {
                    Step::Skipped("the values do not fit the heading".to_string())
                }
                _ => Step::Passed,
            };
        };
        let which = head.last().copied().unwrap_or_default();
        let averages = which.starts_with("avg_");
        if !averages && integer(which).is_none() {
            return Step::Passed;
        }
        let of = |name: &str| self.heading.number(name, values).filter(|value| *value >= 0.0);
        let Some(ios) = of("i/o rate") else {
            return Step::Skipped("a value that is not a number".to_string());
        };
        let now = head.first().filter(|_| head.len() == 2).and_then(|word| WallTime::read(word));
        if averages {
            self.is_over = true;
            if self.rows > 0 || ios == 0.0 {
                return Step::Took;
            }
        }
        self.rows += 1;
        let name = if self.name.is_empty() { NAMELESS } else { &self.name };
        let mut interval = Interval::new(sink.device(name), Layer::Application);
        if let Some(now) = now.filter(|_| !averages) {
            WallTime::begin(&mut self.first, now, sink);
            let at = self.first.and_then(|first| now.since(first));
            if let Some((start, end)) = self.before.zip(at).filter(|(start, end)| end > start) {
                interval.start = Some(Time::from_seconds(start));
                interval.length = Some(Nanos::from_seconds(end - start));
            }
            self.before = at;
        }
        let bytes_per_io = of("bytes i/o").filter(|bytes| *bytes > 0.0);
        let rates = |ios_per_s: f64, wait_ms: Option<f64>| Rates {
            ios_per_s,
            merges_per_s: None,
            bytes_per_s: bytes_per_io.map(|bytes| bytes * ios_per_s),
            await_ns: wait_ms.filter(|ms| *ms > 0.0).map(|ms| ms * NS_PER_MS),
        };
        match of("read pct").zip(of("read resp").zip(of("write resp"))) {
            Some((percent, (read, write))) => {
                let reads = ios * percent.min(100.0) / 100.0;
                for (op, ios, wait) in [(Op::Read, reads, read), (Op::Write, ios - reads, write)] {
                    if ios > 0.0 {
                        interval.rates.push((op, rates(ios, Some(wait))));
                    }
                }
            }
            None => {
                let mut mixed = rates(ios, of("resp time"));
                mixed.bytes_per_s = mixed.bytes_per_s.or(of("MB/sec 1024**2").map(|mib| mib * MIB));
                interval.mixed = Some(mixed);
            }
        }
        interval.queue_len = of("queue depth");
        sink.interval(interval);
        Step::Took
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    const HEADING: &str = "Jan 24, 2026    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%\n\
        \x20                              rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys\n";

    #[test]
    fn each_run_is_a_listing_and_averages_count_where_they_stand_alone() {
        let recording = read(&format!(
            "16:24:29.004 Starting RD=fill; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads=2\n\n{HEADING}\
             16:24:30.181     avg_2-1        0.0     0.00       0   0.00    0.000    0.000    0.000     0.00     0.00    0.000    0.0   NaN   NaN\n\
             16:24:31.001 Starting RD=rd1; I/O rate: 100; elapsed=5; For loops: None\n\n{HEADING}\
             16:24:32.018           1      100.0     0.39    4096  75.00    1.300    1.400    1.000     0.03     0.05    0.006    0.1  19.2   1.5\n\
             16:24:33.018           2      200.0     0.78    4096  75.00    1.300    1.500    1.000     0.03     0.05    0.006    0.3  19.2   1.5\n\
             16:24:34.018           3      200.0     0.78\n\
             16:24:33.060     avg_2-2      200.0     0.78    4096  75.00    1.300    1.500    1.000     0.07     2.00    0.100    0.3  10.0   1.0\n\
             16:25:01.001 Starting RD=rd2; I/O rate: 100; elapsed=5; For loops: None\n\n{HEADING}\
             16:25:33.060     avg_2-2      400.0     1.56    4096 100.00    2.500    2.500    0.000     0.07     2.00    0.100    1.0  10.0   1.0\n"
        ));
        let of_runs: Vec<_> =
            recording.listings.iter().filter(|listing| !listing.intervals.is_empty()).collect();
        let [one, two] = &of_runs[..] else { panic!("{:?}", recording.listings) };
        assert_eq!((one.intervals.len(), one.source.skipped), (2, 1));
        let reads = one.intervals[1].of(Op::Read).unwrap();
        assert_eq!((reads.ios_per_s, reads.await_ns), (150.0, Some(1.5e6)));
        assert_eq!(reads.bytes_per_s, Some(150.0 * 4096.0));
        assert_eq!(one.intervals[1].length, Some(Nanos::from_seconds(1.0)));
        assert_eq!(one.intervals[1].queue_len, Some(0.3));
        assert_eq!(two.intervals[0].of(Op::Read).unwrap().ios_per_s, 400.0);
        assert!(two.intervals[0].of(Op::Write).is_none());
        let names: Vec<&str> = recording.devices().iter().map(|device| &*device.name).collect();
        assert_eq!(names, ["rd1", "rd2"]);
    }
}
