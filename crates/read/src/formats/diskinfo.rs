//! FreeBSD's diskinfo: seeks, durable writes and the make of a disk.
//!
//! ## Reads
//! Of `-S` (`Synchronous random writes:`) the row of 4 kB, or the largest below it, or else the
//! first; of `-t` the row `Quarter stroke` as reads at random places, and `outside` as the
//! sequential rate. Of `-v` model, size and rotation rate. Other rows are checked and ignored: they
//! depend on size and location, not on the health of a disk.
//!
//! ## How to capture
//! `diskinfo -v -t /dev/ada0`, `diskinfo -wS /dev/nvd0` (TrueNAS users run it on a drive for the log of a pool).
//!
//! ## Versions
//! As FreeBSD 10 and later print it; `-S` and `-i` are newer. `-i` (`Asynchronous random reads`)
//! keeps a full queue, and its rows have no time per I/O: ignored.
//!
//! ## Caveats
//! `-S` writes and flushes each time: the time is that of both (`DIOCGFLUSH`). A drive with capacitors answers in tens of
//! microseconds, one without in milliseconds, and both may be well. A quarter stroke is longer than the mean seek of a
//! file system. Mbytes are 1024 x 1024 bytes.
//!
//! ## Not in this output
//! Single latencies, what else used the disk.

use iowhy_model::typed::{Bytes, BytesPerSecond, PageCache};
use iowhy_model::{DeviceId, Interval, Layer, Level, Nanos, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "diskinfo",
    summary: "FreeBSD diskinfo -t, -S: seeks and durable writes of a disk",
    manual: iowhy_model::manual!("diskinfo.rs"),
    level: Level::A,
    body: Body::Custom {
        needles: &[
            "Synchronous random writes:",
            "usec/IO",
            "iter",
            "sectorsize",
            "/dev/",
            "Seek times:",
        ],
        sniff,
        reader: || Box::new(Diskinfo::default()),
    },
};

/// Headings of the sections whose rows are understood.
const WRITES: &str = "Synchronous random writes:";
const SEEKS: &str = "Seek times:";
const SECTIONS: [&str; 4] =
    [SEEKS, "Transfer rates:", "Asynchronous random reads:", "I/O command overhead:"];
/// Rows of the last of these, whose figures are of the processor as much as of the disk.
const OVERHEAD: [&str; 2] = ["time to read ", "calculated command overhead"];
/// What one of its rows has behind the colon.
const MARKS: [&str; 4] = ["usec/IO", "iter", "kbytes", "ops"];
/// Size of the durable write that stands for the drive, kB: the page of a log.
const PAGE_KB: f64 = 4.0;
/// Figures are printed to four digits or more.
const ROUNDING: f64 = 0.02;

fn sniff(lines: &[&str]) -> Sniff {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return Sniff::No };
    if last.trim() == WRITES
        || matches!(row(last), Some(Row::Write { .. } | Row::Seek { .. }))
        || described(last).is_some_and(|(_, what)| what == "sectorsize")
    {
        return Sniff::Yes;
    }
    let leads = disk(first).is_some() || first.trim() == SEEKS;
    if leads && lines.len() == 1 { Sniff::More } else { Sniff::No }
}

/// `/dev/ada0`, alone on its line.
fn disk(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("/dev/")?;
    let sound = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '/' | '_' | '.');
    (!name.is_empty() && name.chars().all(sound)).then_some(name)
}

/// `512  # sectorsize`: a value and what it is.
fn described(line: &str) -> Option<(&str, &str)> {
    let (value, what) = line.split_once("# ")?;
    let what = what.split(" (").next()?.trim();
    (!value.trim().is_empty()).then_some((value.trim(), what))
}

/// A row of a section, if its figures agree with each other.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Row<'a> {
    /// Durable writes of so many kB take so many microseconds each.
    Write { kb: f64, us: f64 },
    /// So many reads took so many seconds.
    Seek { what: &'a str, count: u64, seconds: f64 },
    /// So many kB took so many seconds.
    Transfer { what: &'a str, kb: u64, seconds: f64 },
    /// It is one of the tool's, and nothing is taken from it.
    Other,
    /// It is one of the tool's, and its figures contradict each other.
    Damaged,
}

fn row(line: &str) -> Option<Row<'_>> {
    let (what, rest) = line.trim().split_once(':')?;
    // Every line of a document is asked.
    if !MARKS.iter().any(|mark| rest.contains(mark)) {
        return None;
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    let row = match words[..] {
        [us, "usec/IO", "=", mib_per_s, "Mbytes/s"] => {
            let kb = what.strip_suffix(" kbytes").and_then(decimal);
            match (kb, decimal(us), decimal(mib_per_s)) {
                (Some(kb), Some(us), Some(rate)) if agree(kb / 1024.0 / (us / 1e6), rate, 0.05) => {
                    Row::Write { kb, us }
                }
                _ => Row::Damaged,
            }
        }
        [count, "iter", "in", seconds, "sec", "=", ms, "msec"] => {
            match (integer(count), decimal(seconds), decimal(ms)) {
                (Some(count), Some(seconds), Some(ms))
                    if count > 0 && agree(seconds * 1e3 / count as f64, ms, 0.0005) =>
                {
                    Row::Seek { what, count, seconds }
                }
                _ => Row::Damaged,
            }
        }
        [kb, "kbytes", "in", seconds, "sec", "=", rate, "kbytes/sec"] => {
            match (integer(kb), decimal(seconds), decimal(rate)) {
                (Some(kb), Some(seconds), Some(rate)) if agree(kb as f64 / seconds, rate, 1.0) => {
                    Row::Transfer { what, kb, seconds }
                }
                _ => Row::Damaged,
            }
        }
        [_, "ops", "in", _, "sec", "=", _, "IOPS"] => Row::Other,
        _ if rest.contains(" usec/IO") || rest.contains(" iter in ") => Row::Damaged,
        _ => return None,
    };
    Some(row)
}

/// Whether a figure is the printed one, within what printing rounds away.
fn agree(reckoned: f64, printed: f64, step: f64) -> bool {
    reckoned > 0.0 && (reckoned - printed).abs() <= (ROUNDING * printed).max(step)
}

#[derive(Default)]
struct Diskinfo {
    disk: String,
    /// The section of durable writes was opened.
    has_writes: bool,
    /// Its row that stands for all, until a better comes.
    write: Option<(f64, f64)>,
}

impl Diskinfo {
    fn device(&self, sink: &mut dyn Sink) -> DeviceId {
        sink.device(if self.disk.is_empty() { "diskinfo" } else { &self.disk })
    }

    fn describe(&self, value: &str, what: &str, sink: &mut dyn Sink) {
        let device = self.device(sink);
        match (what, integer(value)) {
            ("Disk descr.", _) => sink.add_fact(device, typed::DEVICE_MODEL, value),
            ("mediasize in bytes", Some(bytes)) => {
                sink.add_fact(device, typed::DEVICE_BYTES, Bytes(bytes));
            }
            ("Rotation rate in RPM", rpm) => {
                let spins = rpm.is_some_and(|rpm| rpm > 0);
                sink.add_fact(device, typed::QUEUE_ROTATIONAL, spins);
            }
            _ => {}
        }
    }

    fn pour(&self, op: Op, per_s: f64, length: Option<f64>, sink: &mut dyn Sink) {
        let device = self.device(sink);
        let mut interval = Interval::new(device, Layer::Application);
        interval.length = length.map(Nanos::from_seconds);
        let known = rates(Some(per_s), None, Some(1e9 / per_s));
        interval.rates.extend(known.map(|rates| (op, rates)));
        sink.interval(interval);
        sink.add_fact(device, typed::RUN_CACHED, PageCache::No);
    }
}

impl Reader for Diskinfo {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text == WRITES {
            // The same again is of another disk, or of another run.
            if self.has_writes {
                return Step::Ended;
            }
            self.has_writes = true;
            return Step::Took;
        }
        if let Some(name) = disk(line) {
            if !self.disk.is_empty() {
                return Step::Ended;
            }
            self.disk = name.to_string();
            return Step::Took;
        }
        match row(line) {
            Some(Row::Write { kb, us }) => {
                let better = self.write.is_none_or(|(known, _)| known < PAGE_KB && kb <= PAGE_KB);
                if better {
                    self.write = Some((kb, us));
                }
            }
            Some(Row::Seek { what: "Quarter stroke", count, seconds }) => {
                self.pour(Op::Read, count as f64 / seconds, Some(seconds), sink);
            }
            Some(Row::Transfer { what: "outside", kb, seconds }) => {
                let device = self.device(sink);
                let per_s = kb as f64 * 1024.0 / seconds;
                let rate = BytesPerSecond(per_s.round());
                sink.add_fact(device, typed::RUN_THROUGHPUT, rate);
            }
            Some(Row::Damaged) => {
                return Step::Skipped("the numbers of the row disagree".to_string());
            }
            Some(_) => {}
            None => match described(line) {
                Some((value, what)) => self.describe(value, what, sink),
                None if text.is_empty() || SECTIONS.contains(&text) => {}
                None if OVERHEAD.iter().any(|row| text.starts_with(row)) => {}
                None => return Step::Passed,
            },
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let Some((_, us)) = self.write else { return };
        self.pour(Op::Flush, 1e6 / us, None, sink);
        let device = self.device(sink);
        sink.add_fact(device, typed::FLUSH_TIME, Nanos::from_us(us.round()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_whose_figures_disagree_are_damaged() {
        let sound = Row::Seek { what: "Half stroke", count: 250, seconds: 13.592548 };
        let half = "Half stroke: 250 iter in 13.592548 sec = 54.370 msec";
        assert_eq!(row(half), Some(sound));
        assert_eq!(row(&half.replace("13.5", "15.5")), Some(Row::Damaged));
        assert_eq!(row("the disk took 54 msec: slow"), None);
    }
}
