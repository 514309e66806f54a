//! iostat of Solaris and illumos: queue and device time of each disk, separately.
//!
//! ## Reads
//! `iostat -xn` and `iostat -x`, with or without `-M`, `-i`, `-e`, `-r`, `-z`, `-p`, `-c`, `-t` and
//! `-T u|d`: the title `extended device statistics`, the header, and rows, which may have been
//! re-flowed. The command line above the listing, if it was copied too, gives the interval. A mount
//! point after a name becomes a fact of the device.
//!
//! ## How to capture
//! `iostat -xnz 5` on Solaris 2.6 and later and on illumos.
//!
//! ## Versions
//! `-n` gives `wsvc_t` and `asvc_t` and puts the device last; without it one `svc_t` includes both
//! and the device comes first. `-M` prints MB for kB. `-i` prints counts per interval, which become
//! rates only if the interval is known. `-e` adds counts of errors, which become
//! facts where they are above zero. `-u` (Solaris 11.4) prints microseconds, which only the command
//! line shows.
//!
//! ## Caveats
//! The first report is since boot. It is treated as such if its title shows it, if others follow
//! it, or if its rates cannot come from the interval that the command names; not if they are all
//! whole requests over that interval. `%b` is time with something on the device, not a measure of
//! saturation. `wait` and `actv` are mean numbers of requests, not times. `svc_t` without `-n`
//! contains the queue. Volumes repeat the I/O of their disks.
//!
//! ## Not in this output
//! The latency distribution, reads and writes separately in waits, which process sent the requests,
//! and what happened within an interval.

mod row;

use std::collections::BTreeMap;

use self::row::{Scale, interval, is_column, is_value};
use crate::program::*;
use crate::text::invocation::invocation;
use crate::text::table::{RowCutter, incomplete};
use crate::text::wall_time::Moments;

pub(super) const FORMAT: Format = Format::program::<SolarisIostat>(
    "iostat -x of Solaris and illumos, with or without -n",
    Level::A,
    &["actv", "extended device statistics", "iostat", "cpu", "tty", "^moment"],
    sniff,
);

/// Lines that may occur between a command, time or title and the header.
const BANNER_LINES: usize = 6;

fn sniff(lines: &[&str]) -> Detect {
    for (place, line) in lines.iter().enumerate() {
        if line.contains("actv") && header(&split(line)).is_some() {
            return Detect::Yes;
        }
        let leads = is_title(line)
            || WallTime::read(line).is_some()
            || invocation(line, "iostat").is_some()
            || is_other_title(line);
        if !leads && (place == 0 || !line.trim().is_empty()) {
            return Detect::No;
        }
    }
    if lines.len() < BANNER_LINES { Detect::NeedLine } else { Detect::No }
}

fn is_title(line: &str) -> bool {
    line.trim_start().starts_with("extended device statistics")
}

/// Titles over the tty and cpu columns of `-t` and `-c`.
fn is_other_title(line: &str) -> bool {
    let mut words = line.split_whitespace();
    line.trim_start().starts_with(['c', 't'])
        && matches!(
            (words.next(), words.next(), words.next()),
            (Some("cpu" | "tty"), None, None) | (Some("tty"), Some("cpu"), None)
        )
}

/// Words of a line; `-r` parts them by commas.
fn split(line: &str) -> Vec<&str> {
    line.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect()
}

/// The columns of a header at the start of the words, whether the device comes first, and how
/// many words it took. Only Solaris has both `actv` and `%b`.
fn header<'a>(words: &[&'a str]) -> Option<(Vec<&'a str>, bool, usize)> {
    let name_first = *words.first()? == "device";
    let rest = &words[usize::from(name_first)..];
    let columns: Vec<&str> = rest.iter().copied().take_while(|word| is_column(word)).collect();
    let named = name_first || rest.get(columns.len()) == Some(&"device");
    let ours = columns.contains(&"actv") && columns.contains(&"%b");
    let used = columns.len() + 1;
    (named && ours).then_some((columns, name_first, used))
}

/// Columns of `-e`, which count since the machine started.
const ERRORS: [(&str, &str); 3] = [("s/w", "soft"), ("h/w", "hard"), ("trn", "transport")];

#[derive(Default)]
struct SolarisIostat {
    columns: Vec<String>,
    rows: Option<RowCutter>,
    /// Rows of the current report.
    report: Vec<(String, Interval)>,
    /// The current report says itself that it counts since boot.
    annotated: bool,
    reports: u64,
    begun: bool,
    micros: bool,
    /// The last counts of errors that were stated.
    errors: BTreeMap<(String, &'static str), u64>,
    /// The interval of the command, seconds.
    asked: Option<f64>,
    moments: Moments,
}

impl Reader for SolarisIostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if line.trim().is_empty() {
            self.interrupt(sink);
            return Step::NotMine;
        }
        if let Some(command) = invocation(line, "iostat") {
            if self.begun {
                return Step::End;
            }
            self.asked = command.interval;
            self.micros = command.letters.contains('u') && !command.letters.contains("Tu");
            return Step::Consumed;
        }
        if let Some(moment) = WallTime::read(line) {
            self.end_report(true, sink);
            self.moments.at(moment);
            return Step::Consumed;
        }
        if is_title(line) {
            self.end_report(true, sink);
            self.annotated = line.to_ascii_lowercase().contains("since boot");
            return Step::Consumed;
        }
        if self.begun && (is_other_title(line) || split(line).iter().all(|word| is_column(word))) {
            self.interrupt(sink);
            self.rows = None;
            return Step::Consumed;
        }
        self.table(&split(line), sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.end_report(false, sink);
    }
}

impl SolarisIostat {
    fn interrupt(&mut self, sink: &mut dyn Sink) {
        if self.rows.as_mut().is_some_and(RowCutter::interrupt) {
            incomplete(sink);
        }
    }

    /// A header, rows, or both.
    fn table(&mut self, words: &[&str], sink: &mut dyn Sink) -> Step {
        let mut words = words;
        if let Some((columns, name_first, used)) = header(words) {
            self.end_report(true, sink);
            self.begun = true;
            self.columns = columns.iter().map(ToString::to_string).collect();
            // tty and cpu values are on the first row only, after the others.
            let width = columns.iter().position(|column| *column == "tin" || *column == "us");
            let width = width.unwrap_or(columns.len());
            self.rows = Some(RowCutter::new(width, name_first, is_value));
            words = &words[used..];
            if words.is_empty() {
                return Step::Consumed;
            }
        }
        let Some(rows) = &mut self.rows else {
            let bare = self.begun && words.iter().all(|word| is_value(word));
            return if bare { Step::Consumed } else { Step::NotMine };
        };
        let whole = words.len() == self.columns.len() + 1;
        let first = self.report.is_empty() && whole;
        let end = if first { words.len().min(rows.width() + 1) } else { words.len() };
        match rows.read(&words[..end], sink) {
            Ok(rows) => rows.iter().for_each(|row| self.take(&row.name, &row.cells, sink)),
            Err(step) => return step,
        }
        Step::Consumed
    }

    fn take(&mut self, name: &str, cells: &[String], sink: &mut dyn Sink) {
        let (name, mount) = match name.split_once(" (") {
            Some((name, mount)) => (name, mount.strip_suffix(')')),
            None => (name, None),
        };
        if self.report.iter().any(|(known, _)| known == name) {
            self.end_report(true, sink);
        }
        let device = sink.device(name);
        if let Some(mount) = mount.filter(|mount| mount.starts_with('/'))
            && self.reports == 0
        {
            let place = sink.source().input.clone();
            sink.add_fact_at(device, typed::MOUNT_POINT, mount, &place);
        }
        for (column, kind) in ERRORS {
            let place = self.columns.iter().position(|known| known == column);
            let count = place.and_then(|place| integer(cells.get(place)?)).filter(|n| *n > 0);
            let Some(count) = count else { continue };
            if self.errors.insert((name.to_string(), kind), count) != Some(count) {
                sink.add_fact_here(device, typed::MEMBER_ERRORS.of(kind), count);
            }
        }
        let scale = Scale { micros: self.micros, seconds: self.length() };
        let columns = self.columns.iter().map(String::as_str);
        let cells = cells.iter().map(String::as_str);
        self.report.push((name.to_string(), interval(device, columns.zip(cells), scale)));
    }

    /// Emits the report; `more` shows that another follows.
    fn end_report(&mut self, more: bool, sink: &mut dyn Sink) {
        self.interrupt(sink);
        if self.report.is_empty() {
            return;
        }
        let since_boot = self.annotated || self.reports == 0 && self.is_first_since_boot(more);
        let length = self.length().filter(|_| !since_boot);
        let start = self
            .moments
            .since_first()
            .zip(length)
            .map(|(end, length)| Time::from_seconds(end - length));
        for (_, mut interval) in self.report.drain(..) {
            interval.since_boot = since_boot;
            interval.length = length.map(Nanos::from_seconds);
            interval.start = start;
            sink.interval(interval);
        }
        self.annotated = false;
        self.reports += 1;
    }

    fn is_first_since_boot(&self, more: bool) -> bool {
        let rates = self.report.iter().flat_map(|(_, interval)| &interval.rates);
        let rates: Vec<f64> = rates.map(|(_, rates)| rates.ios_per_s).collect();
        match self.asked.and_then(|seconds| are_whole(&rates, seconds)) {
            Some(whole) => !whole,
            None => more,
        }
    }

    /// Seconds covered: the command's, else the time between two timestamps.
    fn length(&self) -> Option<f64> {
        let stamped = self.moments.span().map(|(_, length)| length);
        self.asked.or(stamped)
    }
}

/// Rates needed before their pattern means anything: by chance one in five passes at 2 and 5 s.
const RATES_NEEDED: usize = 4;

/// Whether rates printed to a tenth are whole requests over `seconds`. `None` if that cannot be
/// told: only 1, 2 and 5 s give a coarser step than a tenth that a tenth shows exactly.
fn are_whole(rates: &[f64], seconds: f64) -> Option<bool> {
    let active: Vec<f64> = rates.iter().copied().filter(|rate| *rate > 0.0).collect();
    if ![1.0, 2.0, 5.0].contains(&seconds) || active.len() < RATES_NEEDED {
        return None;
    }
    let whole = |rate: &f64| (rate * seconds - (rate * seconds).round()).abs() < 1e-6;
    Some(active.iter().all(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_requests_over_the_interval_are_no_average_since_boot() {
        // Source document direct_mount: every rate is a multiple of 0.2, as five seconds give.
        let rates = [43.8, 26.4, 0.8, 36.0, 21.2, 43.8, 20.4, 36.0, 20.8, 26.4, 0.0];
        assert_eq!(are_whole(&rates, 5.0), Some(true));
        assert_eq!(are_whole(&[43.8, 26.3, 0.8, 36.0], 5.0), Some(false));
        assert_eq!(are_whole(&rates, 10.0), None);
        assert_eq!(are_whole(&[43.8, 26.4], 5.0), None);
    }
}
