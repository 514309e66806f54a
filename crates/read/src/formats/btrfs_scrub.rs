//! btrfs scrub: whether one is running, its progress, and the errors found.
//!
//! ## Reads
//! `btrfs scrub status` in both forms: `Status: running`, `Duration`, `Time left`, `Bytes scrubbed:
//! 26.86GiB (4.86%)`, `Rate: 86.02MiB/s`, `Error summary: csum=5`, and before 5.2 `scrub started at
//! ..., running for 00:05:00`, `total bytes scrubbed: 100.00GiB with 5 errors`, `error details:
//! csum=5`. The facts are those of an array: `array.action` (`scrub` or `idle`), `array.percent`,
//! `array.remaining`, `array.speed` and `member.errors.checksum`, `.read`, `.uncorrectable`.
//!
//! ## How to capture
//! `btrfs scrub status /mnt`, `btrfs scrub status -d /mnt` (a part for each device).
//!
//! ## Versions
//! btrfs-progs 4 to 6.
//!
//! ## Caveats
//! The rate is the amount scrubbed divided by the whole duration: after a resumed scrub it includes
//! the pause, and the actual rate is much higher. Errors are those of this scrub, most of them
//! corrected from another copy. A file system may have several devices: without `-d` the facts are
//! for the whole file system.
//!
//! ## Not in this output
//! The device of a copy with a wrong checksum, without `-d`; the duration of individual reads.

use iowhy_model::typed::{ArrayAction, BytesPerSecond, Share};
use iowhy_model::{FactKey, FactValue};

use crate::describe::report::*;
use crate::drive::health::leading;
use crate::text::numbers::span_s;

pub(super) const FORMAT: Format =
    Format::labels("btrfs scrub status: progress and errors", Level::E, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "btrfs",
    command: Some(Command { program: "btrfs ", subject: of_command, opens: Opens::Nothing }),
    near: 3,
    may_resume: true,
    lines: &[
        begins("^{Scrub|scrub} device /dev/{disk:word} (id ", |found, report, _| {
            report.name(found.text("disk")?)
        })
        .opens_record()
        .shaped("crub")
        .like(&["Scrub device /dev/dm-15 (id 7) history", "scrub device /dev/sdb (id 1) done"]),
        begins("^scrub status for ", |_, _, _| Some(()))
            .shaped("scrub")
            .like(&["scrub status for 5f021a03-1111"]),
        begins("^Scrub {started|resumed}:{*}:{:u}", |_, _, _| Some(()))
            .like(&["Scrub started:    Sat Dec 28 22:23:22 2019"]),
        announces("^UUID:", |_, _, _| Some(())).like(&["UUID:             5f021a03"]),
        says("^scrub started at {*}, running for ", |_, report, _| action(report, true))
            .like(&["scrub started at Tue Jan  1 12:00:00 2019, running for 00:05:00"]),
        says("^scrub started at ", |_, report, _| action(report, false))
            .like(&["scrub started at Tue Jan  1 12:00:00 2019 and finished after 01:23:45"]),
    ],
    labels: &[
        label(&["Status"], |value, report| action(report, value == "running")),
        label(&["Total to scrub"], |value, report| {
            bytes(value).map_or(Some(()), |total| report.keep("total", total))
        }),
        label(&["Bytes scrubbed"], |value, report| {
            let done = bytes(value.split_whitespace().next().unwrap_or_default());
            let total = report.kept("total").filter(|total| *total > 0.0);
            let share = done.zip(total).map(|(done, total)| (1000.0 * done / total).round());
            while_running(report, share, |share| typed::ARRAY_PERCENT.with(Share(share / 1000.0)))
        }),
        label(&["Time left"], |value, report| {
            let left = span_s(value).map(f64::round);
            while_running(report, left, |left| {
                typed::ARRAY_REMAINING.with(Nanos::from_seconds(left))
            })
        }),
        label(&["Rate"], |value, report| {
            let rate = value.split_whitespace().next().and_then(|word| word.strip_suffix("/s"));
            let rate = rate.and_then(bytes).map(f64::round);
            while_running(report, rate, |rate| typed::ARRAY_SPEED.with(BytesPerSecond(rate)))
        }),
        label(&["Error summary", "error details"], |value, report| {
            let counts = value.split_whitespace().filter_map(|word| word.split_once('='));
            counts.into_iter().try_for_each(|(what, count)| {
                let kind = match what {
                    "csum" => "checksum",
                    "read" => "read",
                    _ => return Some(()),
                };
                report.fact(typed::MEMBER_ERRORS.of(kind), leading(count)?)
            })
        }),
        label(&["Uncorrectable"], |value, report| {
            report.fact(typed::MEMBER_ERRORS.of("uncorrectable"), integer(value)?)
        }),
    ],
    ignored: &["Scrub started", "Scrub resumed", "Duration", "ETA", "Corrected", "Unverified"],
    own: &["^total bytes scrubbed: ", "^corrected errors:"],
    ..Labels::NEW
};

fn action(report: &mut Report, is_running: bool) -> Option<()> {
    report.keep("running", f64::from(u8::from(is_running)));
    let action = if is_running { ArrayAction::Scrub } else { ArrayAction::Idle };
    report.fact(typed::ARRAY_ACTION, action)
}

/// States a number of a scrub that runs; that of one that is over shows nothing.
fn while_running(
    report: &mut Report,
    number: Option<f64>,
    fact: fn(f64) -> (FactKey, FactValue),
) -> Option<()> {
    let number = number.filter(|_| report.kept("running") == Some(1.0));
    number.map_or(Some(()), |number| report.state(fact(number)))
}

/// Where the file system is mounted, or a device of it, as the command names it.
fn of_command(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("btrfs ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let place = words.iter().find(|word| word.starts_with('/'))?;
    let place = place.trim_start_matches("/dev/").trim_end_matches('/');
    (words.first() == Some(&"scrub") && !place.is_empty()).then(|| place.to_string())
}
