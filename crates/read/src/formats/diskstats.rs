//! Copies of `/proc/diskstats`, two or more in one file, become averages between them.
//!
//! ## Reads
//! Lines of `/proc/diskstats` as the kernel prints them, whole copies one after another. A copy
//! begins where a device appears again, or at a line that gives the time: seconds since 1970 (`date
//! +%s.%N`), the two numbers of `/proc/uptime`, the output of `date`, an ISO date with time, or the
//! `TS` line of pt-stalk and pt-diskstats. Two copies with times give rates, waits, queue and busy
//! share of each device, as `iostat -x` would print them.
//!
//! ## How to capture
//! `while sleep 10; do cat /proc/uptime /proc/diskstats; done`, support bundles, monitoring
//! agents that keep raw counters.
//!
//! ## Versions
//! 7 fields (partitions before Linux 2.6.25: counts and sectors, no times), 14 fields, 18 fields
//! with discards (Linux 4.18), 20 with flushes (Linux 5.5). Further fields are ignored.
//!
//! ## Caveats
//! Without times between the copies there are no rates, only counts and mean waits. A single copy
//! is since boot. The millisecond fields wrap at 2^32 and are unwrapped when the result is
//! plausible; any other decrease is a reset, and a device whose counters all decreased was
//! replaced: both are noted and give no averages. Busy time was exact before Linux 5.0, is sampled
//! from then on, and since 6.10 counts only time in flight. Flushes count as writes too. Sectors
//! are 512 bytes on every device.
//!
//! ## Not in this output
//! The latency distribution, the split into queue and device time, the processes, and events within
//! an interval. Since Linux 5.7 the weighted time includes completed requests only, so a device
//! that hangs shows an empty queue.

use crate::counters::copies::{Clock, Copies};
use crate::counters::diskstats::parse_line;
use crate::program::*;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::program::<Diskstats>(
    "copies of /proc/diskstats, two or more",
    Level::A,
    &["TS ", "^moment", "^numbers", "^row"],
    sniff,
);

/// A line of counters begins a listing, or a time and then a line of counters.
fn sniff(lines: &[&str]) -> Detect {
    let Some((first, rest)) = lines.split_first() else { return Detect::No };
    if is_for_people(first) && parse_line(first).is_some() {
        return Detect::Yes;
    }
    match (states_time(first), rest) {
        (false, _) | (true, [_, _, ..]) => Detect::No,
        (true, []) => Detect::NeedLine,
        (true, [second]) => parse_line(second).is_some().into(),
    }
}

/// Whether a line gives the time, or is the one of pt-stalk that should.
fn states_time(line: &str) -> bool {
    line.starts_with(PT_STALK) || clock(line).is_some()
}

/// How pt-stalk's and pt-diskstats' line of the time begins.
const PT_STALK: &str = "TS ";

fn clock(line: &str) -> Option<Clock> {
    // `TS 1344561790.012145298 2012-08-09 21:23:10`, the same moment twice.
    if let Some(words) = line.trim_start().strip_prefix(PT_STALK) {
        return WallTime::read(words.split_whitespace().next()?).map(Clock::Wall);
    }
    if let Some(moment) = WallTime::read(line) {
        return Some(Clock::Wall(moment));
    }
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    let fine = |word: &&str| word.contains('.').then(|| decimal(word)).flatten();
    match words.as_slice() {
        [up] | [up, _] if words.iter().all(|word| fine(word).is_some()) => {
            fine(up).filter(|up| *up >= 0.0).map(Clock::Uptime)
        }
        _ => None,
    }
}

#[derive(Default)]
struct Diskstats(Copies);

impl Reader for Diskstats {
    fn line_above(&mut self, line: &str) {
        // Of its other times none is distinguished from prose.
        if line.starts_with(PT_STALK) {
            self.0.begins_at(clock(line));
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(counters) = parse_line(line) {
            self.0.take(counters, None, sink);
            return Step::Consumed;
        }
        if let Some(now) = clock(line) {
            self.0.at(now, sink);
            return Step::Consumed;
        }
        if line.starts_with(PT_STALK) {
            return Step::skipped("its time is not a number");
        }
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [major, minor, name, _, ..] if is_cut(major, minor, name) => {
                Step::skipped("not the number of fields of a diskstats line")
            }
            _ => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.0.finish(sink);
    }
}

/// Whether a line begins as one of counters does.
fn is_cut(major: &str, minor: &str, name: &str) -> bool {
    let number = |word: &str| word.len() <= 7 && word.bytes().all(|b| b.is_ascii_digit());
    number(major) && number(minor) && !number(name)
}
