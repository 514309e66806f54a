//! atop's parseable disk lines (`atop -P DSK`): requests, sectors, busy time and queue per disk.
//!
//! ## Reads
//! The lines `DSK`, `MDD` and `LVM` of atop's parseable output, live or from a raw file, with the
//! separators `SEP` and `RESET` around each sample. Lines of other labels are ignored.
//!
//! ## How to capture
//! `atop -P DSK 10`, `atop -P DSK,LVM,MDD -r FILE`, `atop -P ALL`.
//!
//! ## Versions
//! Six values to 2.3 (name, busy milliseconds, reads, sectors read, writes, sectors written);
//! ten from 2.4 (discards, their sectors, requests in flight, queue while busy).
//!
//! ## Caveats
//! Values are counts over the interval and are divided by its length. After `RESET` the first
//! sample is since boot. The queue is the mean while the disk was busy; it is multiplied by the
//! busy share here to match aqu-sz. atop's own `avio` is busy time divided by requests, not a
//! latency. Sectors are 512 bytes. The host's name may not contain spaces.
//!
//! ## Not in this output
//! How long requests waited: atop prints no await. The latency distribution.

use crate::program::*;

pub const FORMAT: Format = Format::program::<Atop>(
    "atop -P DSK, parseable lines of disks, volumes and arrays",
    Level::A,
    &["DSK", "MDD", "LVM", "RESET", "SEP"],
    sniff,
);

/// Bytes of a sector, whatever the disk's block size (atop reads /proc/diskstats).
const SECTOR: f64 = 512.0;

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if DiskLine::of(first).is_some() => Sniff::Yes,
        [first] if is_separator(first) => Sniff::More,
        [first, second, ..] if is_separator(first) => Sniff::from(is_labelled(second)),
        _ => Sniff::No,
    }
}

fn is_separator(line: &str) -> bool {
    matches!(line.trim_end(), "RESET" | "SEP")
}

/// `LABEL host epoch date time seconds ...`, of whatever label.
fn is_labelled(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let label = words.next().unwrap_or_default();
    let capitals = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_uppercase());
    capitals && words.next().is_some() && DiskLine::span(words).is_some()
}

/// One line of a disk.
struct DiskLine<'a> {
    host: &'a str,
    /// The end of the interval, seconds since 1970.
    end: u64,
    /// Its length, seconds.
    length: u64,
    name: &'a str,
    values: Vec<Option<f64>>,
}

impl<'a> DiskLine<'a> {
    fn of(line: &'a str) -> Option<DiskLine<'a>> {
        if !line.trim_start().starts_with(['D', 'M', 'L']) {
            return None;
        }
        let mut words = line.split_whitespace();
        if !matches!(words.next()?, "DSK" | "MDD" | "LVM") {
            return None;
        }
        let host = words.next()?;
        let (end, length) = DiskLine::span(words.by_ref())?;
        let name = words.next()?;
        let values = words.map(decimal).collect();
        Some(DiskLine { host, end, length, name, values })
    }

    /// `epoch date time seconds`.
    fn span<'b>(mut words: impl Iterator<Item = &'b str>) -> Option<(u64, u64)> {
        let end = integer(words.next()?)?;
        let (date, time) = (words.next()?, words.next()?);
        let dated = date.matches('/').count() == 2 && time.matches(':').count() == 2;
        let length = integer(words.next()?)?;
        (dated && length > 0).then_some((end, length))
    }

    fn value(&self, place: usize) -> Option<f64> {
        self.values.get(place).copied().flatten()
    }

    /// `None` if values are missing.
    fn interval(&self, mut interval: Interval) -> Option<Interval> {
        let length = self.length as f64;
        let pair = |ios: usize| Some((self.value(ios)?, self.value(ios + 1)?));
        let mut push = |op: Op, (ios, sectors): (f64, f64)| {
            let mut rates = Rates { ios_per_s: ios / length, ..Rates::default() };
            rates.bytes_per_s = Some(sectors * SECTOR / length);
            interval.rates.push((op, rates));
        };
        let busy = self.value(0)? / 1e3 / length;
        push(Op::Read, pair(1)?);
        push(Op::Write, pair(3)?);
        // A kernel that counts no discards is printed as -1.
        pair(5).filter(|(ios, _)| *ios >= 0.0).into_iter().for_each(|one| push(Op::Discard, one));
        interval.busy = Some(busy);
        interval.queue_len = self.value(8).map(|while_busy| while_busy * busy.min(1.0));
        interval.in_flight = self.value(7).map(|in_flight| in_flight as u64);
        interval.length = Some(Nanos::from_seconds(length));
        Some(interval)
    }
}

#[derive(Default)]
struct Atop {
    /// The end of the first interval, seconds since 1970, from which times are counted.
    first: Option<u64>,
    /// The next lines count since boot.
    since_boot: bool,
}

impl Reader for Atop {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_separator(line) {
            self.since_boot = line.starts_with('R');
            return Step::Took;
        }
        let Some(row) = DiskLine::of(line) else {
            return Step::skipped_if(
                line.starts_with("DSK "),
                "a line of a disk without time or name",
            );
        };
        let fresh = Interval::new(sink.device(row.name), Layer::Block);
        let Some(mut interval) = row.interval(fresh) else {
            return Step::skipped("a line of a disk with fewer than six values");
        };
        sink.source().host = Some(row.host.to_string());
        interval.since_boot = self.since_boot;
        if !self.since_boot {
            let zero = *self.first.get_or_insert(row.end.saturating_sub(row.length));
            let start = row.end.saturating_sub(row.length).saturating_sub(zero);
            interval.start = Some(Time::from_seconds(start as f64));
        }
        sink.interval(interval);
        Step::Took
    }
}
