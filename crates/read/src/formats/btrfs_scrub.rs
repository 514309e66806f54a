//! btrfs scrub: whether one runs, how far it is, and the errors that it found.
//!
//! ## Reads
//! `btrfs scrub status` in both forms: `Status: running`, `Duration`, `Time left`, `Bytes scrubbed: 26.86GiB (4.86%)`,
//! `Rate: 86.02MiB/s`, `Error summary: csum=5`, and before 5.2 `scrub started at ..., running for 00:05:00`, `total bytes
//! scrubbed: 100.00GiB with 5 errors`, `error details: csum=5`. The facts are those of an array: `array.action` (`scrub` or
//! `idle`), `array.percent`, `array.left_s`, `array.speed` and `member.errors.checksum`, `.read`, `.uncorrectable`.
//!
//! ## Where it comes from
//! `btrfs scrub status /mnt`, `btrfs scrub status -d /mnt` (a part for each device).
//!
//! ## Versions
//! btrfs-progs 4 to 6.
//!
//! ## Traps
//! The rate is what was scrubbed over the whole duration: of a scrub that was taken up again the pause counts, and it
//! reads many times as fast as it says. Errors are those of this scrub, most of them corrected from another copy.
//! What is scrubbed is a file system of one device or many: without `-d` the fact is of the whole.
//!
//! ## Cannot know
//! Which device holds the copy that did not fit, without `-d`; how long single reads took. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::typed::{ArrayAction, BytesPerSecond, Share};
use iowhy_model::{Level, Nanos, Sink, typed};

use crate::drive::health::{Places, leading};
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, bytes, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "btrfs-scrub",
    summary: "btrfs scrub status: what it does, its errors",
    manual: iowhy_model::manual!("btrfs_scrub.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(BtrfsScrub::default()),
};

/// What the file system is called where neither command nor device is there.
const NAMELESS: &str = "btrfs";
/// Lines from the first to the one that tells.
const LEAD: usize = 4;

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first().map(|line| line.trim()) else { return Sniff::No };
    if of_device(first).is_some() || first.starts_with("scrub status for ") {
        return Sniff::Yes;
    }
    let (Some("UUID") | Some("Scrub started") | Some("Scrub resumed")) = label(first).map(|l| l.0)
    else {
        return Sniff::No;
    };
    let begun = |line: &&str| {
        label(line).is_some_and(|(name, _)| matches!(name, "Scrub started" | "Scrub resumed"))
    };
    let told = lines.iter().any(begun)
        && lines.iter().any(|line| label(line).is_some_and(|(name, _)| name == "Status"));
    match told {
        true => Sniff::Yes,
        false if lines.len() < LEAD => Sniff::More,
        false => Sniff::No,
    }
}

/// `Status:           running`.
fn label(line: &str) -> Option<(&str, &str)> {
    line.trim().split_once(':').map(|(name, value)| (name.trim_end(), value.trim()))
}

/// `Scrub device /dev/dm-15 (id 7) history`: the device of the lines below.
fn of_device(line: &str) -> Option<&str> {
    let text = line.trim();
    let rest =
        text.strip_prefix("Scrub device /dev/").or(text.strip_prefix("scrub device /dev/"))?;
    let (name, rest) = rest.split_once(" (id ")?;
    rest.contains(')').then_some(name)
}

/// Where the file system is mounted, or a device of it, as the command names it.
fn of_command(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("btrfs ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let place = words.iter().find(|word| word.starts_with('/'))?;
    let place = place.trim_start_matches("/dev/").trim_end_matches('/');
    (words.first() == Some(&"scrub") && !place.is_empty()).then_some(place)
}

/// `57:13:14` or `1:02:03:04`: seconds.
fn span(text: &str) -> Option<f64> {
    let parts: Option<Vec<f64>> = text.split(':').map(decimal).collect();
    let parts = parts.filter(|parts| (2..=4).contains(&parts.len()))?;
    let scales = [1.0, 60.0, 3600.0, 86_400.0];
    Some(parts.iter().rev().zip(scales).map(|(value, scale)| value * scale).sum())
}

#[derive(Default)]
struct BtrfsScrub {
    places: Places,
    name: String,
    /// Of the part being read: bytes to scrub, in all.
    total: Option<f64>,
    running: bool,
}

impl Reader for BtrfsScrub {
    fn above(&mut self, line: &str) {
        if let Some(name) = of_command(line) {
            self.name = name.to_string();
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        let text = line.trim();
        if let Some(name) = of_device(text) {
            (self.name, self.total, self.running) = (name.to_string(), None, false);
            return Step::Took;
        }
        if text.is_empty() || text.starts_with("scrub status for ") {
            return Step::Took;
        }
        if let Some(rest) = text.strip_prefix("scrub started at ") {
            // `..., running for 00:05:00`, `... and finished after 01:23:45`
            let running = rest.contains(", running for ");
            self.action(if running { "running" } else { "finished" }, &place, sink);
            return Step::Took;
        }
        if text.starts_with("total bytes scrubbed: ") {
            return Step::Took;
        }
        if let Some((name, value)) = label(text) {
            return self.value(name, value, &place, sink);
        }
        // `corrected errors: 5, uncorrectable errors: 0` has more than one label.
        Step::Passed
    }

    fn resumes(&self) -> bool {
        true
    }
}

impl BtrfsScrub {
    fn name(&self) -> &str {
        if self.name.is_empty() { NAMELESS } else { &self.name }
    }

    fn action(&mut self, status: &str, place: &str, sink: &mut dyn Sink) {
        self.running = status == "running";
        let action = if self.running { ArrayAction::Scrub } else { ArrayAction::Idle };
        sink.add_fact_at(self.name(), typed::ARRAY_ACTION, action, place);
    }

    fn value(&mut self, label: &str, value: &str, place: &str, sink: &mut dyn Sink) -> Step {
        match label {
            "Status" => self.action(value, place, sink),
            "Total to scrub" => self.total = bytes(value),
            "Bytes scrubbed" => {
                let done = bytes(value.split_whitespace().next().unwrap_or_default());
                let share = done.zip(self.total.filter(|total| *total > 0.0));
                if let Some((done, total)) = share.filter(|_| self.running) {
                    let done = Share((1000.0 * done / total).round() / 1000.0);
                    sink.add_fact_at(self.name(), typed::ARRAY_PERCENT, done, place);
                }
            }
            "Time left" => {
                if let Some(seconds) = span(value).filter(|_| self.running) {
                    let left = Nanos::from_seconds(seconds.round());
                    sink.add_fact_at(self.name(), typed::ARRAY_LEFT, left, place);
                }
            }
            "Rate" => {
                let rate = value.split_whitespace().next().and_then(|word| word.strip_suffix("/s"));
                if let Some(rate) = rate.and_then(bytes).filter(|_| self.running) {
                    let rate = BytesPerSecond(rate.round());
                    sink.add_fact_at(self.name(), typed::ARRAY_SPEED, rate, place);
                }
            }
            "Error summary" | "error details" => {
                for (what, count) in
                    value.split_whitespace().filter_map(|word| word.split_once('='))
                {
                    let kind = match what {
                        "csum" => "checksum",
                        "read" => "read",
                        _ => continue,
                    };
                    let Some(count) = leading(count) else {
                        return Step::Skipped("a count that is not a number".to_string());
                    };
                    let key = typed::MEMBER_ERRORS.of(kind);
                    sink.add_fact_at(self.name(), key, count, place);
                }
            }
            "Uncorrectable" => {
                let Some(count) = integer(value) else {
                    return Step::Skipped("a count that is not a number".to_string());
                };
                let key = typed::MEMBER_ERRORS.of("uncorrectable");
                sink.add_fact_at(self.name(), key, count, place);
            }
            "UUID" | "Scrub started" | "Scrub resumed" | "Duration" | "ETA" | "Corrected"
            | "Unverified" | "corrected errors" => {}
            _ => return Step::Passed,
        }
        Step::Took
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    fn facts(text: &str) -> Vec<String> {
        let recording = read(text);
        let name = |fact: &iowhy_model::Fact| {
            fact.device.map_or(String::new(), |id| recording.device_of(id).name.clone())
        };
        let facts = &recording.listings[0].facts;
        facts.iter().map(|fact| format!("{} {} {}", name(fact), fact.key, fact.value)).collect()
    }

    #[test]
    fn one_that_runs_and_those_of_single_devices() {
        let running = facts(
            "# btrfs scrub status /media/backup\nUUID:             5f021a03\n\
             Scrub started:    Sat Dec 28 22:23:22 2019\nStatus:           running\nDuration:         0:55:35\n\
             Time left:        1:00:14\nTotal to scrub:   500.00GiB\nBytes scrubbed:   50.00GiB  (10.00%)\n\
             Rate:             100.00MiB/s\nError summary:    no errors found\n",
        );
        assert_eq!(
            running,
            [
                "/media/backup array.action scrub",
                "/media/backup array.left_s 3614 s",
                "/media/backup array.percent 10 %",
                "/media/backup array.speed 104857600 B/s",
            ]
        );
        let each = facts(
            "Scrub device /dev/sdb (id 1) history\nScrub started:    Sun Mar  1 09:28:53 2026\n\
             Status:           finished\nError summary:    csum=5 read=2\n  Corrected:      7\n  Uncorrectable:  0\n\n\
             Scrub device /dev/sdc (id 2) history\nStatus:           finished\nError summary:    no errors found\n",
        );
        assert_eq!(
            each,
            [
                "sdb array.action idle",
                "sdb member.errors.checksum 5",
                "sdb member.errors.read 2",
                "sdb member.errors.uncorrectable 0",
                "sdc array.action idle",
            ]
        );
        let old = facts(
            "scrub status for 5f021a03-1111\n\tscrub started at Tue Jan  1 12:00:00 2019, running for 00:05:00\n\
             \ttotal bytes scrubbed: 10.00GiB with 5 errors\n\terror details: csum=5\n",
        );
        assert_eq!(old, ["btrfs array.action scrub", "btrfs member.errors.checksum 5"]);
    }
}
