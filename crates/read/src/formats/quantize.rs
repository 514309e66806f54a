//! quantize: DTrace's power-of-two histograms.
//!
//! ## Reads
//! `value ------------- Distribution ------------- count`, the rows `1048576 |@@ 5253` below it,
//! and the key lines above it, which DTrace indents by two blanks.
//!
//! ## How to capture
//! `quantize()` in any DTrace script on Solaris, illumos, FreeBSD or macOS, for example
//! `dtrace -n 'io:::start{s[arg0]=timestamp} io:::done/s[arg0]/{@ns[args[1]->dev_statname] =
//! quantize(timestamp-s[arg0])}'`.
//!
//! ## Versions
//! The table is that of Solaris 10; no system is known to print another.
//!
//! ## Caveats
//! A row B has values from B up to, not including, 2B; row 0 has 0 alone. DTrace times are
//! nanoseconds unless the script divided them; a key with `us`, `microseconds`, `ms` or
//! `milliseconds` in it shows it, else nanoseconds are assumed, with a note. Rows below 0 are
//! counted as lost. Tables of `lquantize` look the same but have other steps; their rows are not
//! powers of two and are skipped. A key that looks like a disk (`sd0`, `cmdk1`) is used as the
//! device, any other is kept as the label; one that is `R` or `W` gives the operation.
//!
//! ## Not in this output
//! What was measured, if neither key nor heading shows it: such a table is not used to judge a
//! disk, and one of sizes, seeks, functions, CPUs or the network is not read. The time, the
//! duration, and whether the script cleared the table between two prints; cleared is assumed.

use crate::histogram::buckets::in_device;
use crate::histogram::powers::PowerTable;
use crate::histogram::subject::Subject;
use crate::program::*;
use crate::text::numbers::fine_unit_ns;

pub(super) const FORMAT: Format =
    Format::program::<Quantize>("DTrace latency histograms (quantize)", Level::B, NEEDLES, sniff);

/// Drivers whose instances DTrace's io provider names (`dev_statname`).
const DRIVERS: [&str; 12] =
    ["ada", "blkdev", "cmdk", "da", "disk", "dad", "md", "nvd", "sd", "ssd", "vdc", "xdf"];
/// More key lines than a script has; the rest is prose.
const KEYS_KEPT: usize = 4;

/// Of a table, and of the key above it.
const NEEDLES: &[&str] = &["Distribution", "^indented"];

fn sniff(head: &[&str]) -> Detect {
    let Some((last, before)) = head.split_last() else { return Detect::No };
    if !before.iter().all(|line| is_key(line)) || before.len() > KEYS_KEPT {
        return Detect::No;
    }
    match (is_table(last), is_key(last)) {
        (true, _) => Detect::Yes,
        (_, true) => Detect::NeedLine,
        _ => Detect::No,
    }
}

fn is_table(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let dashes = |word: &str| word.len() >= 3 && word.bytes().all(|b| b == b'-');
    words.next() == Some("value")
        && words.next().is_some_and(dashes)
        && words.next() == Some("Distribution")
        && words.next().is_some_and(dashes)
        && words.next() == Some("count")
        && words.next().is_none()
}

/// DTrace prints a key as `  %-50s`: two blanks, then text, short enough for its column.
fn is_key(line: &str) -> bool {
    line.strip_prefix("  ")
        .is_some_and(|key| key.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/'))
        && !line.contains('|')
}

#[derive(Default)]
struct Quantize {
    keys: Vec<String>,
    in_table: bool,
    table: PowerTable,
    /// What the line above the listing reports of it.
    above: Subject,
    /// The assumed unit was noted.
    noted: bool,
}

impl Reader for Quantize {
    fn line_above(&mut self, line: &str) {
        self.above.note_above(line);
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if is_table(line) {
            self.flush(sink);
            self.in_table = true;
            return Step::Consumed;
        }
        if self.in_table
            && let Some(step) = self.table.line(line)
        {
            if let Some(reason) = self.subject().refusal() {
                self.table = PowerTable::default();
                return Step::Malformed(reason);
            }
            return step;
        }
        if !is_key(line) || self.keys.len() >= KEYS_KEPT {
            return Step::NotMine;
        }
        // A key after a table begins the next one. Several are on one line, each padded.
        self.flush(sink);
        let keys = line.split("  ").map(str::trim).filter(|key| !key.is_empty());
        self.keys.extend(keys.map(str::to_string));
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
    }
}

impl Quantize {
    /// What the keys of the table say of it, else the line above the first.
    fn subject(&self) -> Subject {
        let reported = |key: &String| match key.as_str() {
            "R" | "W" => Subject::Disks,
            key if is_device(key) => Subject::Disks,
            key => Subject::of(key),
        };
        let reported: Vec<Subject> = self.keys.iter().map(reported).collect();
        let foreign = reported.iter().find(|subject| matches!(subject, Subject::Other(_)));
        let disks = reported.iter().find(|subject| **subject == Subject::Disks);
        foreign.or(disks).copied().unwrap_or(self.above)
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        if !self.in_table {
            return;
        }
        self.in_table = false;
        let subject = self.subject();
        let keys = std::mem::take(&mut self.keys);
        let unit = unit_of(&keys);
        if unit.is_none() && !self.table.is_empty() && !self.noted {
            self.noted = true;
            sink.note(note("no key names the unit: nanoseconds are assumed"));
        }
        let unit = unit.unwrap_or(1);
        let Some(histogram) = self.table.take(unit, sink) else { return };
        subject.state(sink);
        let (mut device, mut op, mut rest) = ("", None, Vec::new());
        for key in &keys {
            match key.as_str() {
                "R" => op = Some(Op::Read),
                "W" => op = Some(Op::Write),
                key if device.is_empty() && is_device(key) => device = key,
                key => rest.push(key),
            }
        }
        let mut distribution = in_device(device, histogram, unit, sink);
        distribution.op = op;
        distribution.label = (!rest.is_empty()).then(|| sink.name(&rest.join(", ")));
        sink.distribution(distribution);
    }
}

fn unit_of(keys: &[String]) -> Option<u64> {
    keys.iter()
        .flat_map(|key| key.split(|c: char| !c.is_ascii_alphanumeric()))
        .find_map(fine_unit_ns)
}

/// Whether a key is a driver's name with an instance number after it.
fn is_device(key: &str) -> bool {
    let driver = key.trim_end_matches(|c: char| c.is_ascii_digit());
    driver.len() < key.len() && DRIVERS.contains(&driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           value  ------------- Distribution ------------- count    \n";

    #[test]
    fn sniffing_waits_only_behind_a_key() {
        assert_eq!(sniff(&["  myhistogram      "]), Detect::NeedLine);
        assert_eq!(sniff(&["  myhistogram      ", TABLE]), Detect::Yes);
        assert_eq!(sniff(&["  some text", "more text"]), Detect::No);
        assert_eq!(sniff(&["prose"]), Detect::No);
        assert_eq!(sniff(&[TABLE]), Detect::Yes);
    }
}
