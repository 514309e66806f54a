//! CrystalDiskMark and KDiskMark: rates and mean latencies of a drive at several sizes and depths.
//!
//! ## Reads
//! The rows of `[Read]`, `[Write]` and `[Mix]`: what was done (sequential or random, block size, depth, threads), the
//! rate, requests per second and mean latency. Each row becomes a run of its own, `SEQ1M Q8T1`.
//!
//! ## Where it comes from
//! `CrystalDiskMark`: File, Save (text); KDiskMark, the same for Linux (it starts fio).
//!
//! ## Versions
//! CrystalDiskMark 3 to 8, KDiskMark 2 and 3. Version 6 and older name the operation in the row and print no latency
//! (`Random Read 4KiB (Q= 32,T= 1) :    39.550 MB/s [  9655.8 IOPS]`); a sequential row has no requests per second there.
//!
//! ## Traps
//! MB are 10^6 bytes, KiB are 1024. A row is the best of several runs, five by default, so no sample of the drive's
//! usual behaviour. KDiskMark goes through the file system: with `Use O_DIRECT` off, or on a file system that ignores
//! it (FUSE), it measures the page cache. Times that do not fit depth and rate are of another run than the rate.
//!
//! ## Cannot know
//! Single latencies, what else used the drive, which drive it was (a letter or a folder). Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::typed::PageCache;
use iowhy_model::{Interval, Layer, Level, Op, Sink, typed};

use crate::counters::stated::rates;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "disk-mark",
    summary: "CrystalDiskMark, KDiskMark: rates and mean latencies by size and depth",
    manual: iowhy_model::manual!("disk_mark.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(DiskMark::default()),
};

const NS_PER_US: f64 = 1e3;
const MB: f64 = 1e6;

fn sniff(lines: &[&str]) -> Sniff {
    let [first, rest @ ..] = lines else { return Sniff::No };
    if Row::of_old(first).is_some() {
        return Sniff::Yes;
    }
    let heading = matches!(first.trim(), "[Read]" | "[Write]" | "[Mix]");
    match (is_row(first), heading, rest.first()) {
        (true, _, _) => Sniff::Yes,
        (false, true, None) => Sniff::More,
        (false, true, Some(next)) => is_row(next).into(),
        (false, false, _) => Sniff::No,
    }
}

/// A row: `RND    4KiB (Q= 32, T=16):   755.180 MB/s [ 188795.1 IOPS] <   169.29 us>`.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    name: String,
    /// Of CrystalDiskMark, which has diskspd pass the cache by (`-Sh`).
    is_direct: bool,
    /// Requests that it keeps in flight: depth times threads.
    at_once: u64,
    mb_per_s: f64,
    ios_per_s: Option<f64>,
    mean_us: Option<f64>,
    /// The operation, if the row names it.
    op: Option<Op>,
}

impl Row {
    /// `  Random Read 4KiB (Q= 32,T= 1) :    39.550 MB/s [  9655.8 IOPS]`, `Sequential Write (T= 1) :   483.610 MB/s`, before
    /// version 5 `   Sequential Read :   103.2 MB/s` and `Random Write 4KB (QD=32) :     0.928 MB/s [   226.6 IOPS]`.
    fn of_old(line: &str) -> Option<Row> {
        let (what, rate) = line.split_once(" :")?;
        let (mb_per_s, ios) = rate.split_once(" MB/s")?;
        let (what, load) = what.split_once('(').unwrap_or((what, ""));
        let words: Vec<&str> = what.split_whitespace().collect();
        let (kind, op, size) = match words[..] {
            ["Sequential", op] => ("SEQ", op, None),
            ["Random", op, size] => ("RND", op, Some(size)),
            _ => return None,
        };
        let op = match op {
            "Read" => Op::Read,
            "Write" => Op::Write,
            _ => return None,
        };
        // Depth and threads; what is not named is one.
        let mut at_once = 1u64;
        for part in load.split([',', ')']).filter_map(|part| part.split_once('=')) {
            at_once = at_once.checked_mul(integer(part.1.trim())?).filter(|count| *count > 0)?;
        }
        let ios = ios.trim().strip_prefix('[').and_then(|ios| ios.strip_suffix("IOPS]"));
        let figure = |text: &str| decimal(text.trim()).filter(|value| *value >= 0.0);
        let size = size.unwrap_or_default().trim_end_matches('B').trim_end_matches('i');
        Some(Row {
            name: format!("{kind}{size} {at_once} at once"),
            is_direct: true,
            at_once,
            mb_per_s: figure(mb_per_s)?,
            ios_per_s: ios.and_then(figure),
            mean_us: None,
            op: Some(op),
        })
    }
}

/// Whether a line is a row, whatever its figures are.
fn is_row(line: &str) -> bool {
    let text = line.trim_start();
    let starts = ["SEQ", "RND", "Sequential", "Random"].iter().any(|start| text.starts_with(start));
    starts && text.contains("(Q=") && text.contains(" MB/s [") && text.contains(" IOPS] <")
}

fn row(line: &str) -> Option<Row> {
    let (what, rest) = line.trim().split_once("(Q=")?;
    let (load, rest) = rest.split_once("):")?;
    let (depth, threads) = load.split_once(", T=")?;
    let (depth, threads) = (integer(depth.trim())?, integer(threads.trim())?);
    let (mb_per_s, rest) = rest.split_once("MB/s [")?;
    let (ios_per_s, rest) = rest.split_once("IOPS] <")?;
    let mean_us = rest.trim().strip_suffix("us>")?;
    let figure = |text: &str| decimal(text.trim()).filter(|value| *value >= 0.0);
    let words: Vec<&str> = what.split_whitespace().collect();
    let (kind, size) = words.split_first()?;
    let is_direct = matches!(*kind, "SEQ" | "RND");
    let kind = if kind.starts_with('S') { "SEQ" } else { "RND" };
    let size = size.concat().replace("iB", "");
    Some(Row {
        is_direct,
        name: format!("{kind}{size} Q{depth}T{threads}"),
        at_once: depth.checked_mul(threads).filter(|count| *count > 0)?,
        mb_per_s: figure(mb_per_s)?,
        ios_per_s: Some(figure(ios_per_s)?),
        mean_us: Some(figure(mean_us)?),
        op: None,
    })
}

#[derive(Default)]
struct DiskMark {
    /// Of which the rows are; none where both are mixed, or no heading stood.
    op: Option<Op>,
}

impl Reader for DiskMark {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if text.is_empty() {
            return Step::Took;
        }
        if is_row(line) {
            let Some(row) = row(line) else {
                return Step::Skipped("the figures of the row cannot be read".to_string());
            };
            self.pour(&row, sink);
            return Step::Took;
        }
        if let Some(row) = Row::of_old(line) {
            self.pour(&row, sink);
            return Step::Took;
        }
        if let Some(name) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
            self.op = match name.0 {
                "Read" => Some(Op::Read),
                "Write" => Some(Op::Write),
                _ => None,
            };
            return Step::Took;
        }
        let setting = text.split_once(": ").map(|(label, _)| label.trim());
        match setting {
            Some("Test" | "Mode" | "Time" | "Date" | "OS" | "Comment" | "Profile") => Step::Took,
            _ if text.starts_with("* ") || text.starts_with("---") => Step::Took,
            _ => Step::Passed,
        }
    }

    fn resumes(&self) -> bool {
        true
    }
}

impl DiskMark {
    fn pour(&self, row: &Row, sink: &mut dyn Sink) {
        let device = sink.device(&row.name);
        let mut interval = Interval::new(device, Layer::Application);
        let mean_ns = row.mean_us.map(|us| us * NS_PER_US);
        let known = rates(row.ios_per_s, Some(row.mb_per_s * MB), mean_ns);
        match row.op.or(self.op) {
            Some(op) => interval.rates.extend(known.map(|rates| (op, rates))),
            None => interval.mixed = known,
        }
        sink.interval(interval);
        // Without a latency the depth alone would make one of the rate.
        if row.mean_us.is_some() {
            sink.add_fact(device, typed::RUN_AT_ONCE, row.at_once);
        }
        let cached = if row.is_direct { PageCache::No } else { PageCache::Unknown };
        sink.add_fact(device, typed::RUN_CACHED, cached);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn rows_of_both_programs() {
        let crystal = "  RND    4KiB (Q= 32, T=16):  2205.914 MB/s [ 538553.2 IOPS] <   949.24 us>";
        let kde =
            "Sequential   1 MiB (Q=  8, T= 1):  5683.719 MB/s [   5550.5 IOPS] <  1417.53 us>";
        let of = |line| row(line).map(|row| (row.name, row.at_once, row.mean_us));
        assert_eq!(of(crystal), Some(("RND4K Q32T16".to_string(), 512, Some(949.24))));
        assert_eq!(of(kde), Some(("SEQ1M Q8T1".to_string(), 8, Some(1417.53))));
        assert_eq!(of("Random 4 KiB (Q= 1, T= 1): fast"), None);
    }

    #[test]
    fn rows_before_latencies_were_printed() {
        let of = |line| Row::of_old(line).map(|row| (row.name, row.op, row.at_once, row.ios_per_s));
        for (line, name, op, at_once, ios) in [
            (
                "   Sequential Read (Q= 32,T= 1) :   759.442 MB/s",
                "SEQ 32 at once",
                Op::Read,
                32,
                None,
            ),
            ("  Sequential Write (T= 1) :   483.610 MB/s", "SEQ 1 at once", Op::Write, 1, None),
            (
                "  Random Read 4KiB (Q=  8,T= 4) :    39.550 MB/s [  9655.8 IOPS]",
                "RND4K 32 at once",
                Op::Read,
                32,
                Some(9655.8),
            ),
            ("   Random Write 512KB :    45.210 MB/s", "RND512K 1 at once", Op::Write, 1, None),
        ] {
            assert_eq!(of(line), Some((name.to_string(), Some(op), at_once, ios)), "{line}");
        }
        for other in [
            "Sequential Read : fast MB/s",
            "Random walk 4KiB : 3 MB/s",
            "Sequential Read (Q=0) : 3 MB/s",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn rows_are_of_the_heading_above_them() {
        let recording = read(
            "[Read]\n  SEQ    1MiB (Q=  1, T= 1):   500.000 MB/s [    476.8 IOPS] <  2094.90 us>\n\n\
             [Write]\n  SEQ    1MiB (Q=  1, T= 1):   400.000 MB/s [    381.5 IOPS] <  2618.00 us>\n\
             \x20 RND    4KiB (Q=  1, T= 1):   x00.000 MB/s [    381.5 IOPS] <  2618.00 us>\n",
        );
        let listing = &recording.listings[0];
        assert_eq!((listing.source.format.as_str(), listing.source.skipped), ("disk-mark", 1));
        let [first, second] = &listing.intervals[..] else { panic!("two rows") };
        assert_eq!(first.of(Op::Read).unwrap().await_ns, Some(2_094_900.0));
        assert_eq!(second.of(Op::Write).unwrap().bytes_per_s, Some(400e6));
    }
}
