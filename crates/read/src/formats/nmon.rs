//! nmon's recorded disk sections: transfers, bytes and busy share per disk and snapshot.
//!
//! ## Reads
//! The sections `DISKBUSY`, `DISKREAD`, `DISKWRITE` and `DISKXFER` of a file recorded by `nmon -f`,
//! with continued sections (`DISKBUSY1` and so on of hosts with many disks) and the snapshots'
//! times. All other sections are ignored.
//!
//! ## How to capture
//! `nmon -f -s 10 -c 360` on Linux.
//!
//! ## Versions
//! Read with output of 16n. Lines may be sorted by snapshot or, after `sort`, by section.
//!
//! ## Caveats
//! The first snapshot's rates are over the time since nmon began. Transfers are given for reads and
//! writes together, so all is kept together; kilobytes are 1024 bytes. Partitions are listed with
//! their disks. A busy share above 100 % is printed as 100. Sorted files have the times at their
//! end: without a time the interval in the file's header is used.
//!
//! ## Not in this output
//! The latency and queue length of requests: nmon prints neither; the service times of `-d` are
//! busy time divided by transfers, not a latency.

use std::collections::BTreeMap;

use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<Nmon>(
    "nmon -f recordings, their disk sections",
    Level::A,
    &["AAA,progname,nmon", "AAA,command,nmon"],
    |line| line.starts_with("AAA,progname,nmon") || line.starts_with("AAA,command,nmon"),
);

/// nmon's KB are powers of 1024 (it halves sectors).
const KIB: f64 = 1024.0;
/// Snapshots waiting for their other sections; a sorted file has them all at once.
const SNAPSHOTS_LIMIT: usize = 100_000;

/// What the sections say of one disk in one snapshot.
#[derive(Clone, Copy, Default)]
struct DiskRow {
    busy: Option<f64>,
    read: Option<f64>,
    written: Option<f64>,
    transfers: Option<f64>,
}

#[derive(Default)]
struct Nmon {
    /// Disks of each section, by its name with its number.
    headings: BTreeMap<String, Vec<String>>,
    /// Disks in the order they were first named.
    disks: Vec<String>,
    /// By snapshot, by place in `disks`.
    rows: BTreeMap<String, BTreeMap<usize, DiskRow>>,
    moments: BTreeMap<String, WallTime>,
    interval: Option<f64>,
    full: bool,
}

impl Reader for Nmon {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let mut fields = line.trim_end().split(',');
        let (section, second) = (fields.next().unwrap_or_default(), fields.next());
        let Some(second) = second else { return Step::NotMine };
        match section {
            "AAA" => {
                match (second, fields.next()) {
                    ("host", Some(host)) => sink.source().is_of_host(host),
                    ("interval", Some(seconds)) => self.interval = decimal(seconds),
                    _ => {}
                }
                Step::Consumed
            }
            "ZZZZ" => {
                let printed = fields.collect::<Vec<_>>().join(" ");
                match moment(&printed) {
                    Some(moment) => {
                        self.moments.insert(second.to_string(), moment);
                        Step::Consumed
                    }
                    None => Step::skipped("the time of a snapshot is unreadable"),
                }
            }
            _ if column(section).is_some() => self.section(section, second, fields),
            // `BBBP,393,/bin/mount,"/dev/sda1 on / type ext3"` quotes other tools, which begin no
            // listing.
            _ if is_section(section) => Step::Consumed,
            _ => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut before: Option<WallTime> = None;
        let mut first: Option<WallTime> = None;
        for (snapshot, rows) in std::mem::take(&mut self.rows) {
            let now = self.moments.get(&snapshot).copied();
            let seconds = now.zip(before).and_then(|(now, before)| now.since(before));
            let seconds = seconds.or(self.interval).filter(|seconds| *seconds > 0.0);
            if let (None, Some(now)) = (first, now) {
                now.state(self.interval.unwrap_or(0.0), sink);
                first = Some(now);
            }
            let end = now.zip(first).and_then(|(now, first)| now.since(first));
            for (place, row) in rows {
                let Some(name) = self.disks.get(place) else { continue };
                let mut interval = row.interval(Interval::new(sink.device(name), Layer::Block));
                interval.length = seconds.map(Nanos::from_seconds);
                // Times are counted from the beginning of the first interval.
                let begun = end.zip(seconds).zip(self.interval);
                interval.start =
                    begun.map(|((end, length), first)| Time::from_seconds(end - length + first));
                sink.interval(interval);
            }
            before = now.or(before);
        }
        if self.full {
            sink.lost("disk rows beyond the first 100000 snapshots", 1);
        }
    }
}

impl Nmon {
    /// `DISKREAD,T0001,1.0,2.0`, or its heading `DISKREAD,Disk Read KB/s host,sda,sdb`.
    fn section<'a>(
        &mut self,
        section: &str,
        second: &str,
        fields: impl Iterator<Item = &'a str>,
    ) -> Step {
        let snapshot = second.strip_prefix('T').is_some_and(|digits| decimal(digits).is_some());
        if !snapshot {
            self.headings.insert(section.to_string(), fields.map(str::to_string).collect());
            return Step::Consumed;
        }
        let Some(names) = self.headings.get(section) else {
            return Step::skipped("values of a section without a heading");
        };
        let values: Vec<Option<f64>> = fields.map(decimal).collect();
        if values.len() != names.len() || values.contains(&None) {
            return Step::skipped("the values do not match the section's heading");
        }
        if self.rows.len() >= SNAPSHOTS_LIMIT && !self.rows.contains_key(second) {
            self.full = true;
            return Step::skipped("more than 100000 snapshots");
        }
        let rows = self.rows.entry(second.to_string()).or_default();
        for (name, value) in names.iter().zip(values) {
            let place = self.disks.iter().position(|known| known == name).unwrap_or_else(|| {
                self.disks.push(name.clone());
                self.disks.len() - 1
            });
            if let Some(column) = column(section) {
                *column(rows.entry(place).or_default()) = value;
            }
        }
        Step::Consumed
    }
}

/// Whether a line is of some section of the recording: `CPU001`, `MEM`, `BBBP`.
fn is_section(section: &str) -> bool {
    let capitals = section.bytes().take_while(u8::is_ascii_uppercase).count();
    capitals > 1
        && section.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

/// Where the values of a section go; `None` if it is not read.
fn column(section: &str) -> Option<fn(&mut DiskRow) -> &mut Option<f64>> {
    let name = section.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match name {
        "DISKBUSY" => Some(|row| &mut row.busy),
        "DISKREAD" => Some(|row| &mut row.read),
        "DISKWRITE" => Some(|row| &mut row.written),
        "DISKXFER" => Some(|row| &mut row.transfers),
        _ => None,
    }
}

impl DiskRow {
    fn interval(&self, mut interval: Interval) -> Interval {
        interval.busy = self.busy.map(|percent| percent / 100.0);
        let bytes = self.read.zip(self.written).map(|(read, written)| (read + written) * KIB);
        interval.mixed = self.transfers.map(|ios_per_s| Rates {
            ios_per_s,
            bytes_per_s: bytes,
            ..Rates::default()
        });
        interval
    }
}

/// `10:57:29 21-NOV-2026`, as other tools print it: `21 Nov 2026 10:57:29`.
fn moment(printed: &str) -> Option<WallTime> {
    let (time, date) = printed.split_once(' ')?;
    let [day, month, year] = date.split('-').collect::<Vec<_>>()[..] else { return None };
    let (first, rest) = month.split_at_checked(1)?;
    WallTime::read(&format!("{day} {first}{} {year} {time}", rest.to_ascii_lowercase()))
}
