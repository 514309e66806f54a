//! zpool iostat: rates and latencies of ZFS pools, vdevs and disks.
//!
//! ## Reads
//! `zpool iostat` with any of `-v`, `-l`, `-q`, `-y`: the heading of two lines and its rows; and
//! the latency histograms of `-w`. Request sizes (`-r`) are recognised; they have no latency and
//! become the fact `zpool.request_sizes`.
//!
//! ## How to capture
//! `zpool iostat -vly tank 5 3`, `zpool iostat -w tank 10 2`.
//!
//! ## Versions
//! OpenZFS 0.7 and later for `-l`, `-q`, `-w`, `-r`; the plain list of any ZFS, Solaris's (`used
//! avail`) included. Newer ones have more columns (`trim`, `rebuild`); groups are found by the
//! upper line of the heading.
//!
//! ## Caveats
//! The first report is since the import of the pool, even if it is the only one; with `-y` there is
//! none. Only the command line shows which. `total_wait` includes the queues of ZFS, `disk_wait`
//! does not: it is the time of the disk and the kernel's queue. So a disk's row is block I/O with
//! `disk_wait` as its await, a pool's or vdev's row is file-system I/O with `total_wait`. Bandwidth
//! of a raidz vdev counts parity. Numbers have three digits. A bucket of `-w` is labelled with its
//! upper end: `131us` counts 65.5 to 131 µs.
//!
//! ## Not in this output
//! The processes. The interval, which is only on the command line. Cache hits (ARC) and their
//! effect.

use iowhy_model::Inference;

use crate::counters::stated::rates;
use crate::histogram::buckets::histogram_of;
use crate::program::*;
use crate::text::columns::Heading;
use crate::text::numbers::time_ns;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::program::<ZpoolIostat>(
    "rates, waits and histograms of ZFS pools and disks",
    Level::A,
    &["zpool", "capacity", "alloc", "avail", "total_wait", "sync_read", "^row"],
    sniff,
);

/// Columns before those of `-l` and `-q`: name, two of capacity, operations, bandwidth.
const LEADING_COLUMNS: usize = 7;
/// Columns of `-l`: four pairs, and scrub, trim, rebuild, as many as the version has.
const BARE: std::ops::RangeInclusive<usize> = 9..=11;
const GROUPS: [&str; 7] =
    ["total_wait", "disk_wait", "syncq_wait", "asyncq_wait", "scrub", "trim", "rebuild"];
/// Lines between the command and the heading.
const BANNER_LINES: usize = 3;
/// Octaves of a latency: 2^37 ns is 137 s, the last bucket of `-w`.
const OCTAVES: u32 = 37;

/// Rows of the first report that are remembered: more than the devices of a large pool.
const FIRST_ROWS: usize = 1024;

fn sniff(lines: &[&str]) -> Detect {
    if !lines.first().is_some_and(|line| is_for_people(line)) {
        return Detect::No;
    }
    let lines = match lines {
        // The command shows whether the first report is one.
        [first, rest @ ..] if command(first).is_some() && groups(first).is_none() => {
            match rest.iter().position(|line| !line.trim().is_empty()) {
                Some(place) => rest.get(place..).unwrap_or_default(),
                None if lines.len() < BANNER_LINES => return Detect::NeedLine,
                None => return Detect::No,
            }
        }
        lines => lines,
    };
    match lines {
        [first, ..] if columns(first).is_some() || is_bare(first) => Detect::Yes,
        [first] if groups(first).is_some() => Detect::NeedLine,
        [first, second, ..] if groups(first).is_some() => columns(second).is_some().into(),
        [first] if histogram_title(first).is_some() => Detect::NeedLine,
        [first, second, ..] if histogram_title(first).is_some() => {
            histogram_heading(second).is_some().into()
        }
        _ => Detect::No,
    }
}

/// A row of `-l` without its heading: name, two of capacity, four rates, and waits in pairs.
fn is_bare(line: &str) -> bool {
    let begins = |word: &str| word.starts_with(|c: char| c.is_ascii_digit() || ".,".contains(c));
    if !line.split_whitespace().nth(1).is_some_and(|word| begins(word) && number(word).is_some()) {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let (Some(sizes), Some(rates), Some(waits)) =
        (words.get(1..3), words.get(3..LEADING_COLUMNS), words.get(LEADING_COLUMNS..))
    else {
        return false;
    };
    let size =
        |word: &&str| number(word).is_some() && word.ends_with(|c: char| c.is_ascii_uppercase());
    let wait = |word: &&str| *word == "-" || ns(word).is_some();
    let known = waits.iter().filter(|word| ns(word).is_some()).count();
    sizes.iter().all(size)
        && rates.iter().all(|word| number(word).is_some())
        && BARE.contains(&waits.len())
        && waits.iter().all(wait)
        && known >= 2
}

/// `zpool iostat -vly tank 5`, after a prompt or not: whether it leaves out the first report.
fn command(line: &str) -> Option<bool> {
    if !line.contains("zpool") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let pair = |two: &[&str]| two[0].rsplit('/').next() == Some("zpool") && two[1] == "iostat";
    let place = words.windows(2).position(pair)?;
    let short = |word: &&&str| word.starts_with('-') && !word.starts_with("--");
    Some(words.iter().skip(place).filter(short).any(|word| word.contains('y')))
}

/// The upper line of the heading: the groups after the plain ones.
fn groups(line: &str) -> Option<Vec<&str>> {
    if !line.contains("capacity") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let plain = words.windows(3).position(|three| three == ["capacity", "operations", "bandwidth"]);
    // Some terminals glue the command to it.
    let plain = plain.filter(|place| *place == 0 || command(line).is_some())?;
    words.get(plain + 3..).map(<[&str]>::to_vec)
}

/// The lower line: `pool  alloc  free  read  write  read  write ...`.
fn columns(line: &str) -> Option<Heading> {
    if !line.trim_start().starts_with("pool") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let rest = words.strip_prefix(&["pool"])?;
    let sizes = rest.starts_with(&["alloc", "free"]) || rest.starts_with(&["used", "avail"]);
    let plain = rest.get(2..6)? == ["read", "write", "read", "write"];
    (sizes && plain).then(|| Heading::from_words(&words))
}

/// `tank         total_wait     disk_wait ...` or `tank   sync_read  sync_write ...`: the pool, and
/// the groups.
fn histogram_title(line: &str) -> Option<(&str, Vec<&str>)> {
    if !line.contains("total_wait") && !line.contains("sync_read") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, groups) = words.split_first()?;
    let known = groups.starts_with(&["total_wait", "disk_wait"])
        || groups.starts_with(&["sync_read", "sync_write"]);
    known.then(|| (*name, groups.to_vec()))
}

/// `latency  read  write ...` or `req_size  ind  agg ...`.
fn histogram_heading(line: &str) -> Option<(bool, Heading)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let latency = match *words.first()? {
        "latency" if words.get(1) == Some(&"read") => true,
        "req_size" => false,
        _ => return None,
    };
    Some((latency, Heading::from_words(&words)))
}

/// The subject of a row or table.
#[derive(Default)]
struct ZpoolIostat {
    groups: Vec<String>,
    columns: Heading,
    /// Blanks in front of the column of names.
    margin: usize,
    /// Headings of the plain list so far; `-y` leaves the first report out.
    reports: u64,
    skips_first: bool,
    /// Rows of the first report, as printed.
    first: Vec<String>,
    /// The heading is missing.
    bare: bool,
    pool: String,
    table: Option<Table>,
    sizes: bool,
    reported: bool,
}

/// A histogram table being read: rows of lower bound and counts.
struct Table {
    heading: Heading,
    groups: Vec<String>,
    rows: Vec<(u64, Vec<u64>)>,
}

impl Reader for ZpoolIostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(skips) = command(line) {
            self.skips_first |= skips;
            if groups(line).is_none() {
                return Step::Consumed;
            }
        }
        if let Some(groups) = groups(line) {
            self.end_table(sink);
            self.groups = groups.iter().map(ToString::to_string).collect();
            return Step::Consumed;
        }
        if let Some(columns) = columns(line) {
            self.end_table(sink);
            (self.columns, self.bare) = (columns, false);
            self.margin = line.len() - line.trim_start().len();
            self.reports += 1;
            return Step::Consumed;
        }
        if let Some((name, groups)) = histogram_title(line) {
            self.end_table(sink);
            self.pool = name.to_string();
            self.groups = groups.iter().map(ToString::to_string).collect();
            return Step::Consumed;
        }
        if let Some((latency, heading)) = histogram_heading(line) {
            let groups = std::mem::take(&mut self.groups);
            self.sizes |= !latency;
            self.table = latency.then(|| Table { heading, groups, rows: Vec::new() });
            return Step::Consumed;
        }
        let text = line.trim();
        if text.is_empty() || text.bytes().all(|b| matches!(b, b'-' | b' ')) {
            return Step::Consumed;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if self.sizes && self.table.is_none() {
            let row = words.iter().skip(1).all(|word| number(word).is_some());
            return if row { Step::Consumed } else { Step::NotMine };
        }
        if self.table.is_none() && self.columns.width() == 0 && is_bare(line) {
            self.bare = true;
            self.columns = Heading::from_words(&words);
            self.groups = GROUPS.map(str::to_string).to_vec();
            sink.source().infer(Inference::Columns);
            sink.note(note("no heading: the columns of `zpool iostat -l` are assumed"));
        }
        if self.bare && self.margin == line.len() - line.trim_start().len() {
            // Each row of a pool is a report of its own.
            self.reports += 1;
        }
        match &mut self.table {
            Some(table) => table.row(&words),
            None => self.row(line, &words, sink),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.end_table(sink);
        if self.sizes {
            let value = "request sizes, no latencies";
            sink.add_fact(None, typed::ZPOOL_REQUEST_SIZES, value);
        }
    }
}

impl ZpoolIostat {
    /// Whether a row counts since the pool was imported: those of the first report, and exact
    /// repetitions, because then it was pasted twice.
    fn is_since_import(&mut self, line: &str) -> bool {
        if self.skips_first {
            return false;
        }
        if self.reports < 2 {
            if self.first.len() < FIRST_ROWS {
                self.first.push(line.trim().to_string());
            }
            return true;
        }
        let row = line.trim();
        row.contains(|c: char| ('1'..='9').contains(&c))
            && self.first.iter().any(|known| known == row)
    }

    fn row(&mut self, line: &str, words: &[&str], sink: &mut dyn Sink) -> Step {
        // A name may hold blanks; the values after it are as many as the heading has columns.
        let values = self.columns.width().saturating_sub(1);
        let name = words.len().saturating_sub(values);
        let (name, cells) = words.split_at_checked(name).unwrap_or_default();
        let is_cell = |word: &&str| *word == "-" || number(word).is_some() || ns(word).is_some();
        if values < LEADING_COLUMNS - 1 || name.is_empty() || !cells.iter().all(is_cell) {
            let cells = words.iter().skip(1).filter(|word| is_cell(word)).count();
            return Step::skipped_if(cells > 3, "the values do not match the heading");
        }
        let name = name.join(" ");
        // `logs`, `cache`: a title among the rows.
        if cells.iter().all(|cell| *cell == "-") {
            return Step::Consumed;
        }
        let depth = (line.len() - line.trim_start().len()).saturating_sub(self.margin);
        let layer = match depth > 0 && !is_vdev(&name) {
            true => Layer::Block,
            false => Layer::Application,
        };
        let wait = match layer {
            Layer::Block => self.pair("disk_wait", cells),
            _ => self.pair("total_wait", cells),
        };
        let mut interval = Interval::new(sink.device(&name), layer);
        interval.since_boot = self.is_since_import(line);
        for (place, op) in [Op::Read, Op::Write].into_iter().enumerate() {
            let at = |from: usize| cells.get(from + place).and_then(|word| number(word));
            let wait = wait.and_then(|pair| *pair.get(place)?);
            let known = rates(at(2), at(4), wait);
            interval.rates.extend(known.map(|rates| (op, rates)));
        }
        if interval.since_boot && !std::mem::replace(&mut self.reported, true) {
            sink.note(note("the first report counts since the pool was imported"));
        }
        sink.interval(interval);
        Step::Consumed
    }

    /// The two values, ns, of a group that the upper line of the heading names.
    fn pair(&self, group: &str, cells: &[&str]) -> Option<[Option<f64>; 2]> {
        let place = self.groups.iter().position(|known| known == group)?;
        let width = |name: &String| match name.as_str() {
            "scrub" | "trim" | "rebuild" => 1,
            _ => 2,
        };
        let before: usize = self.groups.iter().take(place).map(width).sum();
        let at = |place: usize| {
            cells.get(LEADING_COLUMNS - 1 + before + place).and_then(|word| ns(word))
        };
        Some([at(0), at(1)])
    }

    fn end_table(&mut self, sink: &mut dyn Sink) {
        let Some(table) = self.table.take() else { return };
        sink.source().level = Level::B;
        let device = sink.device(&self.pool);
        // `total_wait read, write, disk_wait read, write`, then the queues, which are parts.
        for (place, group) in table.groups.iter().take(2).enumerate() {
            let layer = if group == "disk_wait" { Layer::Block } else { Layer::Application };
            for (column, op) in [Op::Read, Op::Write].into_iter().enumerate() {
                let Some(histogram) = table.histogram(2 * place + column) else { continue };
                if histogram.count() > 0 {
                    let mut one = Distribution::new(device, layer, Stage::Total, histogram);
                    one.op = Some(op);
                    sink.distribution(one);
                }
            }
        }
    }
}

impl Table {
    fn row(&mut self, words: &[&str]) -> Step {
        let Some((label, counts)) = words.split_first() else { return Step::Consumed };
        let Some(upper) = ns(label) else { return Step::NotMine };
        let counts: Option<Vec<u64>> =
            counts.iter().map(|word| number(word).map(|count| count as u64)).collect();
        let octave = upper.log2().round() as u32;
        match counts.filter(|counts| counts.len() + 1 == self.heading.width()) {
            Some(counts) if (1..=OCTAVES).contains(&octave) => {
                self.rows.push((1 << (octave - 1), counts));
                Step::Consumed
            }
            _ => Step::skipped("the counts do not match the heading"),
        }
    }

    fn histogram(&self, column: usize) -> Option<Histogram> {
        let row = |(low, counts): &(u64, Vec<u64>)| Some((*low, low * 2, *counts.get(column)?));
        histogram_of(self.rows.iter().filter_map(row).collect())
    }
}

/// A vdev made of others, by the name ZFS gives it.
fn is_vdev(name: &str) -> bool {
    let kinds = ["mirror", "raidz1", "raidz2", "raidz3", "raidz", "replacing", "spare", "indirect"];
    let (kind, number) = name.rsplit_once('-').unwrap_or((name, "0"));
    let draid = kind.starts_with("draid");
    integer(number).is_some() && (kinds.contains(&kind) || draid)
}

/// `1.18T`, `99`, `94.7K`.
fn number(word: &str) -> Option<f64> {
    // `11,5T`: some languages.
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || ".,".contains(c));
    matches!(unit, "" | "K" | "M" | "G" | "T" | "P" | "B").then(|| bytes(word))?
}

/// `585us`, `1ms`, `-`.
fn ns(word: &str) -> Option<f64> {
    time_ns(word).filter(|value| *value > 0.0)
}
