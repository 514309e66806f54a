//! sar -d of System V: busy share, requests outstanding, waits of disks.
//!
//! ## Reads
//! The heading `device %busy avque r+w/s blks/s avwait avserv` and the rows below, with the time in front of the first
//! row of each interval. `avwait` and `avserv` together are the await, `avserv` the time at the device.
//!
//! ## Where it comes from
//! `sar -d 5 10`, `sar -d -f /var/adm/sa/sa11`.
//!
//! ## Versions
//! Solaris and illumos, SCO OpenServer, UnixWare, HP-UX: the same columns since System V.
//!
//! ## Traps
//! Blocks are of 512 bytes. `avque` is how many were outstanding on average over the interval on Solaris, and while there were any
//! at all on SCO: it is left out. Partitions (`sd0,a`) stand beside their disk and are left out. Averages at the end
//! repeat the rows and are read only where there are no rows.
//!
//! ## Cannot know
//! Reads from writes, how latencies are distributed, what the disk is made of. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Nanos, Rates, Sink, Time};

use crate::{Format, Reader, Sniff, Step, WallTime, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "sysv-sar",
    summary: "sar -d of Solaris, SCO, HP-UX: busy share, waits of disks",
    manual: iowhy_model::manual!("sysv_sar.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(SysvSar::default()),
};

/// The columns behind the time, as System V names them.
const HEADING: [&str; 7] = ["device", "%busy", "avque", "r+w/s", "blks/s", "avwait", "avserv"];
/// Bytes of a block.
const BLOCK: f64 = 512.0;

fn sniff(lines: &[&str]) -> Sniff {
    lines.first().is_some_and(|line| heading(line).is_some()).into()
}

/// The time in front of the heading; `None` if it is none.
fn heading(line: &str) -> Option<Option<WallTime>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.strip_suffix(&HEADING)? {
        [] => Some(None),
        [time] => WallTime::read(time).map(Some),
        _ => None,
    }
}

/// What a row says.
struct Row<'a> {
    when: Option<&'a str>,
    device: &'a str,
    values: [f64; 6],
}

/// `23:59:49 Sdsk-0 99.42 4.18 39.39 166.28 80.26 25.24`, without the time below the first of an interval.
fn row(line: &str) -> Option<Row<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (head, cells) = words.split_at_checked(words.len().checked_sub(6)?)?;
    let values: Vec<f64> = cells.iter().filter_map(|word| decimal(word)).collect();
    let values = values.try_into().ok()?;
    match *head {
        [device] if decimal(device).is_none() => Some(Row { when: None, device, values }),
        [when, device] if decimal(device).is_none() => {
            Some(Row { when: Some(when), device, values })
        }
        _ => None,
    }
}

#[derive(Default)]
struct SysvSar {
    first: Option<WallTime>,
    before: Option<WallTime>,
    now: Option<WallTime>,
    /// The rows that follow are averages.
    averages: bool,
    /// A row of an interval was read.
    poured: bool,
}

impl Reader for SysvSar {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if line.trim().is_empty() {
            return Step::Took;
        }
        if let Some(time) = heading(line) {
            if self.first.is_some() && time.is_some() {
                return Step::Ended;
            }
            (self.first, self.now) = (time, time);
            return Step::Took;
        }
        let Some(row) = row(line) else { return Step::Passed };
        if let Some(when) = row.when {
            self.averages = when.eq_ignore_ascii_case("average");
            match WallTime::read(when) {
                Some(time) => (self.before, self.now) = (self.now, Some(time)),
                None if self.averages => {}
                None => return Step::Skipped("the line begins with no time".to_string()),
            }
        }
        if !(self.averages && self.poured || row.device.contains(',')) {
            self.pour(&row, sink);
        }
        Step::Took
    }
}

impl SysvSar {
    fn pour(&mut self, row: &Row<'_>, sink: &mut dyn Sink) {
        let [busy, _, ios, blocks, wait, service] = row.values;
        let mut interval = Interval::new(sink.device(row.device), Layer::Block);
        let bytes_per_s = Some(blocks * BLOCK);
        interval.mixed = Some(Rates { ios_per_s: ios, bytes_per_s, ..Rates::default() });
        interval.busy = Some(busy / 100.0);
        if ios > 0.0 && service > 0.0 {
            interval.wait_ns = Some(wait * 1e6);
            interval.device_ns = Some(service * 1e6);
            interval.await_ns = Some((wait + service) * 1e6);
        }
        let since = |time: Option<WallTime>| time.zip(self.first).and_then(|(t, f)| t.since(f));
        let span = since(self.before).zip(since(self.now)).filter(|_| !self.averages);
        if let Some((start, end)) = span.filter(|(start, end)| end > start) {
            interval.start = Some(Time::from_seconds(start));
            interval.length = Some(Nanos::from_seconds(end - start));
        }
        self.poured |= !self.averages;
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn the_averages_repeat_the_rows_and_a_partition_its_disk() {
        let recording = read(
            "   10:00:00  device  %busy  avque  r+w/s  blks/s  avwait  avserv\n   \
             10:00:05  sd0       40    0.5     50     800     2.0     8.0\n            \
             sd0,a     40    0.5     50     800     2.0     8.0\n            \
             sd1        0    0.0      0       0     0.0     0.0\n\
             Average   sd0       40    0.5     50     800     2.0     8.0\n",
        );
        let [busy, idle] = &recording.listings[0].intervals[..] else { panic!("two disks") };
        assert_eq!((busy.await_ns, busy.wait_ns), (Some(1e7), Some(2e6)));
        assert_eq!(busy.mixed.as_ref().map(|all| all.bytes_per_s), Some(Some(409_600.0)));
        assert_eq!(busy.length, Some(Nanos::from_seconds(5.0)));
        assert_eq!((idle.await_ns, idle.busy), (None, Some(0.0)));
    }
}
