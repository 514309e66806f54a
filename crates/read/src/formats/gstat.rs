//! gstat of FreeBSD: requests, bytes, latency and busy share of each GEOM provider.
//!
//! ## Reads
//! The screen of `gstat` and the lines of `gstat -b`: `dT: 1.002s  w: 1.000s`, the heading ` L(q)
//! ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w   %busy Name` and a row for each provider.
//! With `-d` and `-o` deletes and other requests (flushes among them) have columns of their own.
//!
//! ## Where it comes from
//! `gstat -b -I 5s`, `gstat -p`, `gstat -dop` on FreeBSD and its kin.
//!
//! ## Versions
//! Columns are found by the heading. Older screens put a bar in front of the name; `-C` (CSV) of
//! FreeBSD 13 has the same names, parted by commas.
//!
//! ## Traps
//! `L(q)` is the number of requests in flight at the end of the interval, no mean. `ms/r` has one
//! decimal: a mean below 0.05 ms is printed as 0.0 and taken as unknown. `%busy` is the share of the
//! interval with a request in flight, may exceed 100 and is no saturation. A partition (`ada0p2`)
//! or label (`gpt/x`) repeats the I/O of its disk: it is left out below a disk's row. `kBps` are units of 1024 bytes. `dT` is the time that really
//! passed; a screen copied a moment after a key was pressed covers a few milliseconds.
//!
//! ## Cannot know
//! How latencies are distributed, which process asked, what happened within an interval. Time in the
//! queue and on the device apart. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Op, Sink, Time};

use crate::counters::stated::rates;
use crate::text::columns::Heading;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "gstat",
    summary: "gstat of FreeBSD: latency and busy share of disks",
    manual: iowhy_model::manual!("gstat.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(Gstat::default()),
};

const KIB: f64 = 1024.0;
const NS_PER_MS: f64 = 1e6;

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if heading(first).is_some() => Sniff::Yes,
        [first] if passed(first).is_some() => Sniff::More,
        [first, second, ..] if passed(first).is_some() => heading(second).is_some().into(),
        _ => Sniff::No,
    }
}

/// `dT: 1.002s  w: 1.000s  filter: ^ada`: the seconds that passed.
fn passed(line: &str) -> Option<f64> {
    let (seconds, rest) = line.trim().strip_prefix("dT:")?.trim_start().split_once('s')?;
    rest.trim_start().starts_with("w:").then(|| decimal(seconds))?
}

fn heading(line: &str) -> Option<Heading> {
    if !line.contains("L(q)") {
        return None;
    }
    let line = line.replace(',', " ");
    let heading = Heading::of(&line, &["L(q)", "ops/s", "r/s", "kBps", "ms/r", "%busy"])?;
    ["Name", "name"].iter().any(|name| heading.place(name, 0).is_some()).then_some(heading)
}

#[derive(Default)]
struct Gstat {
    heading: Heading,
    /// Seconds of the report, and of those before it.
    seconds: Option<f64>,
    elapsed: f64,
    /// Disks of the report.
    disks: Vec<String>,
}

/// Providers that only name a part of a disk once more.
const LABELS: [&str; 7] = ["gpt/", "gptid/", "label/", "diskid/", "ufs/", "ufsid/", "msdosfs/"];

impl Reader for Gstat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(seconds) = passed(line) {
            self.elapsed += self.seconds.unwrap_or(0.0);
            self.seconds = Some(seconds).filter(|seconds| *seconds > 0.0);
            return Step::Took;
        }
        if let Some(heading) = heading(line) {
            self.heading = heading;
            self.disks.clear();
            return Step::Took;
        }
        if line.trim().is_empty() {
            return Step::Took;
        }
        let text = line.replace(['|', ','], " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let numbers = words.iter().take_while(|word| decimal(word).is_some()).count();
        if numbers < 3 {
            return Step::Passed;
        }
        // A provider's name may hold blanks (`raid/my disk`).
        let name = self.heading.width().saturating_sub(1);
        if numbers < name || words.len() <= name {
            return Step::Skipped("the values do not fit the heading".to_string());
        }
        let name = words.get(name..).unwrap_or_default().join(" ");
        if !self.is_part(&name) {
            self.row(&words, &name, sink);
            self.disks.push(name);
        }
        Step::Took
    }
}

impl Gstat {
    /// Whether it is a partition or label of a disk that has a row above.
    fn is_part(&self, name: &str) -> bool {
        let label = LABELS.iter().any(|folder| name.starts_with(folder));
        let slice = |disk: &String| {
            let rest = name.strip_prefix(disk.as_str()).unwrap_or_default();
            rest.starts_with(['p', 's']) && rest[1..].starts_with(|c: char| c.is_ascii_digit())
        };
        !self.disks.is_empty() && (label || self.disks.iter().any(slice))
    }

    fn row(&self, words: &[&str], name: &str, sink: &mut dyn Sink) {
        let of = |column: &str| self.heading.number(column, words);
        let mut interval = Interval::new(sink.device(name), Layer::Block);
        if let Some(seconds) = self.seconds {
            interval.start = Some(Time::from_seconds(self.elapsed));
            interval.length = Some(Nanos::from_seconds(seconds));
        }
        let parts = [
            (Op::Read, "r/s", "ms/r"),
            (Op::Write, "w/s", "ms/w"),
            (Op::Discard, "d/s", "ms/d"),
            (Op::Flush, "o/s", "ms/o"),
        ];
        let mut sizes = 0;
        for (op, ios, wait) in parts {
            let Some(place) = self.heading.place(ios, 0) else { continue };
            // Other requests move nothing and have no column of bytes.
            let bytes = match op {
                Op::Flush => None,
                _ => {
                    sizes += 1;
                    self.heading.nth_number("kBps", sizes - 1, words)
                }
            };
            let ios = words.get(place).and_then(|word| decimal(word));
            let wait = of(wait).map(|ms| ms * NS_PER_MS);
            let known = rates(ios, bytes.map(|kib| kib * KIB), wait);
            interval.rates.extend(known.map(|rates| (op, rates)));
        }
        interval.in_flight = of("L(q)").filter(|count| *count >= 0.0).map(|count| count as u64);
        interval.busy = of("%busy").map(|percent| percent / 100.0);
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn columns_of_deletes_and_others_are_told_apart() {
        let recording = read(
            "dT: 1.002s  w: 1.000s\n \
             L(q)  ops/s    r/s   kBps   ms/r    w/s   kBps   ms/w    d/s   kBps   ms/d    o/s   ms/o   %busy Name\n    \
                3    130     40   5120   12.3     80    640    4.5      8   2048    0.1      2   25.0  101.2| ada0\n    \
                0      1      0      0    0.0      1      4    0.0      0      0    0.0      0    0.0    0.0  raid/my disk\n    \
                1     12      3\n",
        );
        let listing = &recording.listings[0];
        assert_eq!((listing.intervals.len(), listing.source.skipped), (2, 1));
        let row = &listing.intervals[0];
        assert_eq!(row.of(Op::Write).unwrap().bytes_per_s, Some(640.0 * 1024.0));
        assert_eq!(row.of(Op::Discard).unwrap().bytes_per_s, Some(2048.0 * 1024.0));
        assert_eq!(row.of(Op::Flush).unwrap().await_ns, Some(25e6));
        assert_eq!((row.in_flight, row.length), (Some(3), Some(Nanos::from_seconds(1.002))));
        assert_eq!(listing.intervals[1].of(Op::Write).unwrap().await_ns, None);
        assert_eq!(recording.devices()[1].name, "raid/my disk");
    }
}
