//! vdbench: rates, mean latencies and queue of each interval of a run on block devices.
//!
//! ## Reads
//! The heading of two lines (`interval i/o MB/sec bytes read resp read write ...` above
//! `rate 1024**2 i/o pct time resp resp ...`) and the rows below. Each run
//! (`Starting RD=run1; ...`, or another heading after its `avg_2-30`) is a separate listing. Where
//! the rows of the intervals are missing, the row of averages is read.
//!
//! ## How to capture
//! The standard output of `vdbench -f FILE`, `summary.html`, `totals.html`.
//!
//! ## Versions
//! 5.03 to 5.04.07; columns are found by both lines of the heading. The table of file systems (`fwd`) has another heading
//! and is not read.
//!
//! ## Caveats
//! `avg_2-30` leaves the first interval out, and repeats the others. Latencies are milliseconds,
//! `MB/sec` 1048576 bytes. The latencies of reads and of writes are 0.000 where there were none. A
//! run at a fixed rate (`I/O rate: 100`) is rate-limited: its queue shows how much was in flight,
//! not the maximum.
//!
//! ## Not in this output
//! The device: the run's name represents all of its storage definitions. The latency distribution;
//! device time separate from time in the host. Whether whole lines are missing, but for a gap in
//! the numbers of the intervals.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Time};

use crate::listing::another_run;
use crate::text::columns::Heading;
use crate::{Body, Format, Reader, Sniff, Step, WallTime, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "vdbench",
    summary: "vdbench: rates, latencies and queue of a run",
    manual: iowhy_model::manual!("vdbench.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &["Starting RD=", "MB/sec"],
        sniff,
        reader: || Box::new(Vdbench::default()),
    },
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
                None => Step::Skipped("the two lines of the heading do not match".to_string()),
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
                    Step::Skipped("the values do not match the heading".to_string())
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
