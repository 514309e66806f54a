//! fio's terse output (`--minimal`, `--output-format=terse`), versions 2 to 5.
//!
//! ## Reads
//! One line per job or group, fields separated by `;`: rates, submission, completion and total
//! latency with percentiles for reads, writes and (not in version 3) trims, then the disk totals.
//! They become what fio's other outputs become: an interval and histograms labelled `slat`,
//! `clat` and `lat` per direction, an interval of the block layer per disk.
//!
//! ## How to capture
//! `fio --minimal`, `fio --output-format=terse --terse-version=4`.
//!
//! ## Versions
//! 2 (no fio version, trims, no disks: 161 fields), 3 (the default, no trims: 121 fields and 9 a
//! disk), 4 (trims: 162 and 9 a disk), 5 (trims, six more fields a direction: 180 and 9 a disk).
//! Other lines are skipped.
//!
//! ## Caveats
//! Latencies are whole microseconds, sizes KiB, rates whole requests a second. Percentiles are
//! padded with `0%=0`. The counts of the histograms are not printed: they are computed from
//! percentiles, rate and runtime, with a note. The shares per latency range mix all directions and
//! are not used. A description at the end of the line is ignored. Each line of a run repeats the
//! totals of the disks, which cover the whole run: they are used once, over the runtimes of all
//! groups.
//!
//! ## Not in this output
//! The tested device: the job's name is used instead. What the device did: queueing in fio's own
//! depth and in the host is part of `clat`.

use std::collections::BTreeMap;

use crate::fio::latencies::{Latencies, disk_interval};
use crate::fio::lines::{Direction, Disk, LatencyKind, Summary};
use crate::program::*;
use crate::text::repair::{has_odd, is_odd};

pub(super) const FORMAT: Format = Format::by_line::<FioTerse>(
    "fio's terse output, versions 2 to 5",
    Level::B,
    &["2;", "3;", "4;", "5;", ";fio-"],
    |line| line.contains(';') && (split(line).is_some() || is_damaged(line)),
);

/// Fields of a version (fio's HOWTO, "Terse output", and `show_thread_status_terse_*` in stat.c).
struct Layout {
    /// Fields ahead of the first direction.
    head: usize,
    directions: &'static [Op],
    /// Fields of a direction.
    width: usize,
}

impl Layout {
    fn of(version: &str) -> Option<Layout> {
        const BOTH: &[Op] = &[Op::Read, Op::Write];
        const ALL: &[Op] = &[Op::Read, Op::Write, Op::Discard];
        let (head, directions, width) = match version {
            "2" => (4, ALL, 41),
            "3" => (5, BOTH, 41),
            "4" => (5, ALL, 41),
            "5" => (5, ALL, 47),
            _ => return None,
        };
        Some(Layout { head, directions, width })
    }

    /// Fields ahead of the disks.
    fn before_disks(&self) -> usize {
        self.head + self.directions.len() * self.width + AFTER
    }
}

/// Fields between directions and disks: 5 of the processor, 7 of depth, 22 of latency.
const AFTER: usize = 5 + 7 + 22;
/// Fields of a line of version 3 without disks, which are the fewest.
const FEWEST: usize = 5 + 2 * 41 + AFTER;
/// Percentiles of a direction, padded.
const PERCENTILES: usize = 20;
/// Fields of a disk.
const DISK: usize = 9;
/// Latencies are whole microseconds.
const US: u64 = 1_000;

/// The layout and fields of a line, if it has as many as its version needs.
fn split(line: &str) -> Option<(Layout, Vec<&str>)> {
    let (version, _) = line.trim().split_once(';')?;
    let layout = Layout::of(version)?;
    let fields: Vec<&str> = line.trim().split(';').collect();
    let numbers = fields.get(layout.head..layout.head + 4)?;
    let sound = numbers.iter().all(|field| integer(field).is_some());
    (sound && fields.len() >= layout.before_disks()).then_some((layout, fields))
}

/// Whether a line has as many fields as any version, and the version of fio, but no number where
/// some must stand.
fn is_damaged(line: &str) -> bool {
    let fields = || line.trim().split(';');
    let named = fields().nth(1).is_some_and(|version| version.starts_with("fio-"));
    let first = fields().next().unwrap_or_default();
    let numbered = Layout::of(first).is_some() || is_odd(first);
    named && numbered && fields().count() >= FEWEST && fields().any(has_odd)
}

#[derive(Default)]
struct FioTerse {
    reported: bool,
    /// The totals of the disks as printed last: each line of a run repeats them.
    totals: Vec<String>,
    /// The runtimes that these totals are of, the longest of each group: groups come one after the
    /// other, the jobs of a group at once.
    runtimes: BTreeMap<String, Nanos>,
}

impl FioTerse {
    /// Takes the totals after one line of a run.
    fn totals(&mut self, totals: &[&str], group: &str, runtime: Nanos, sink: &mut dyn Sink) {
        if self.totals != totals {
            self.emit_totals(sink);
            self.totals = totals.iter().map(ToString::to_string).collect();
        }
        let longest = self.runtimes.entry(group.to_string()).or_default();
        *longest = runtime.max(*longest);
    }

    fn emit_totals(&mut self, sink: &mut dyn Sink) {
        let totals = std::mem::take(&mut self.totals);
        let runtimes = std::mem::take(&mut self.runtimes);
        let sum = runtimes.values().fold(0i64, |sum, runtime| sum.saturating_add(runtime.0));
        let totals: Vec<&str> = totals.iter().map(String::as_str).collect();
        for disk in totals.chunks_exact(DISK).map_while(disk) {
            let device = sink.device(&disk.name);
            disk_interval(&disk, Nanos(sum), device).into_iter().for_each(|one| sink.interval(one));
        }
    }
}

impl Reader for FioTerse {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((layout, fields)) = split(line) else {
            let looks = line.matches(';').count() > PERCENTILES;
            return Step::skipped_if(looks, "the line has too few fields for its version");
        };
        let versioned = layout.head == 5;
        if versioned {
            sink.source().host = fields.get(1).map(|version| (*version).to_string());
        }
        let name = fields.get(if versioned { 2 } else { 1 }).copied().unwrap_or_default();
        let device = sink.device(name);
        let mut runtime = Nanos(0);
        for (place, op) in layout.directions.iter().enumerate() {
            let start = layout.head + place * layout.width;
            let Some(part) = fields.get(start..start + layout.width) else { continue };
            match latencies(part, *op) {
                Some(latencies) => {
                    runtime = runtime.max(latencies.rates.runtime);
                    latencies.emit(device, latencies.count(None), |_| None, sink);
                }
                None if part.first() != Some(&"0") => {
                    return Step::Malformed(format!(
                        "the fields of {}s are not numbers",
                        op.name()
                    ));
                }
                None => {}
            }
        }
        sink.source().watched = Some(runtime);
        let totals = fields.get(layout.before_disks()..).unwrap_or_default();
        let group = fields.get(if versioned { 3 } else { 2 }).copied().unwrap_or_default();
        self.totals(totals, group, runtime, sink);
        let numbers = fields.get(layout.head..).unwrap_or_default();
        let odd = numbers.iter().filter(|field| is_no_number(field)).count();
        sink.lost("fields that are not numbers", odd as u64);
        if !std::mem::replace(&mut self.reported, true) {
            sink.note(note("the counts of this histogram are computed from printed percentiles"));
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.emit_totals(sink);
    }
}

/// `nan`, `*****`, `-1`, and a percentile with either.
fn is_no_number(field: &str) -> bool {
    let odd = |text: &str| {
        text.starts_with('*')
            || matches!(text, "-" | "N/A")
            || text.parse::<f64>().is_ok_and(|value| !value.is_finite() || value < 0.0)
    };
    field.split("%=").any(odd)
}

/// What one direction says; `None` if it had no I/O or is damaged.
fn latencies(part: &[&str], op: Op) -> Option<Latencies> {
    let ms = i64::try_from(integer(part.get(3)?)?).ok()?;
    let runtime = Nanos(ms.checked_mul(1_000_000)?);
    let ios_per_s = decimal(part.get(2)?).filter(|rate| *rate > 0.0 && ms > 0)?;
    let bytes_per_s = decimal(part.get(1)?).map(|kib| kib * 1024.0);
    let rates = Direction { op: Some(op), ios_per_s, bytes_per_s, runtime, old: false };
    let mut latencies = Latencies::of(rates);
    *latencies.place(LatencyKind::Slat) = summary(part.get(4..8)?);
    *latencies.place(LatencyKind::Clat) = summary(part.get(8..12)?);
    *latencies.place(LatencyKind::Lat) = summary(part.get(12 + PERCENTILES..16 + PERCENTILES)?);
    let pairs = part.get(12..12 + PERCENTILES)?.iter().filter_map(|field| {
        let (percent, us) = field.split_once("%=")?;
        let percent = decimal(percent).filter(|percent| *percent > 0.0 && *percent <= 100.0)?;
        Some((percent, integer(us)?))
    });
    latencies.take_percentiles(LatencyKind::Clat, US, pairs.collect());
    Some(latencies)
}

/// Minimum, maximum and mean; `None` where nothing was measured.
fn summary(fields: &[&str]) -> Option<Summary> {
    let of = |place: usize| fields.get(place).and_then(|field| integer(field)?.checked_mul(US));
    let mean_ns = decimal(fields.get(2)?)? * US as f64;
    let (min_ns, max_ns) = (of(0)?, of(1)?);
    (mean_ns > 0.0 && mean_ns < 1e18).then_some(Summary { min_ns, max_ns, mean_ns })
}

/// `vda;379;0;...;0.00%`: name, I/Os, merges, ticks of reads and writes, queue, busy share.
fn disk(fields: &[&str]) -> Option<Disk> {
    let number = |place: usize| fields.get(place).and_then(|field| integer(field));
    let pair = |place: usize| Some([number(place)?, number(place + 1)?]);
    Some(Disk {
        name: fields.first().map(|name| (*name).to_string())?,
        ios: Some(pair(1)?),
        sectors: None,
        merges: pair(3),
        ticks_ms: pair(5),
        queue_ms: number(7),
        util_percent: fields.get(8).and_then(|util| decimal(util.strip_suffix('%')?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_each_version_with_one_disk() {
        // Counted in the output of fio 3.33.
        for (version, fields, disks) in [("2", 161, 0), ("3", 130, 1), ("4", 171, 1), ("5", 189, 1)]
        {
            let layout = Layout::of(version).unwrap();
            assert_eq!(layout.before_disks() + disks * DISK, fields, "version {version}");
        }
        assert!(Layout::of("1").is_none());
        assert!(split("3;fio-3.33;a;0;0;1;2;3;4").is_none());
    }
}
