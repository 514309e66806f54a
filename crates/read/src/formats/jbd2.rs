//! Trace events of jbd2, ext4's journal: how long each commit took, and in which phase.
//!
//! ## Reads
//! Lines of ftrace, perf or trace-cmd that hold `jbd2_run_stats: dev 254,1 tid 111212 wait 0 ... locked
//! 0 flushing 0 logging 38 ...`. Each commit becomes a flush of the file system: the sum of locked,
//! flushing and logging.
//!
//! ## Where it comes from
//! `echo 1 > /sys/kernel/tracing/events/jbd2/jbd2_run_stats/enable; cat trace_pipe`.
//!
//! ## Versions
//! Kernels since 2.6.32. Lines of `jbd2_checkpoint_stats` are recognised and read over.
//!
//! ## Traps
//! Times are milliseconds, in steps of a jiffy (1 to 10 ms): a 0 is less than one, and left out. The
//! commit holds writes and flushes of the device and of other journals ahead of it: it is the file
//! system's wait, not a request's.
//!
//! ## Cannot know
//! What of it was the device; which process waited for it. Whether whole lines are missing: they bear
//! no numbers.

use iowhy_model::{Event, Layer, Level, Nanos, Op, Sink, Time};

use crate::{Format, Reader, Sniff, Step, device_name, fixed, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "jbd2",
    summary: "trace events of ext4's journal: time of each commit",
    manual: iowhy_model::manual!("jbd2.rs"),
    level: Level::C,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| of_jbd2(line).is_some())),
    reader: || Box::new(Jbd2),
};

struct Jbd2;

/// The event, what stands before it, and its fields.
fn of_jbd2(line: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = line.split_once(": jbd2_")?;
    let (event, fields) = rest.split_once(": dev ")?;
    let known = event.ends_with("_stats") && !event.contains(' ');
    known.then_some((event, head, fields))
}

impl Reader for Jbd2 {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((event, head, fields)) = of_jbd2(line) else {
            return if line.trim().is_empty() { Step::Took } else { Step::Passed };
        };
        if event != "run_stats" {
            return Step::Took;
        }
        match commit(head, fields, sink) {
            Some(Some(event)) => sink.event(event),
            // Shorter than a jiffy.
            Some(None) => {}
            None => return Step::Skipped("the fields of the event are incomplete".to_string()),
        }
        Step::Took
    }
}

/// A commit that took any time; the inner `None` is one that took less than a jiffy.
fn commit(head: &str, fields: &str, sink: &mut dyn Sink) -> Option<Option<Event>> {
    let words: Vec<&str> = fields.split_whitespace().collect();
    let (major, minor) = words.first()?.split_once(',')?;
    let ms = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        integer(words.get(place + 1)?)
    };
    let ms = ms("locked")?.checked_add(ms("flushing")?)?.checked_add(ms("logging")?)?;
    let end = Time::from_ns(fixed(head.split_whitespace().next_back()?, 9)?);
    if ms == 0 {
        return Some(None);
    }
    // The thread is named for its disk: `jbd2/vda1-8`.
    let thread = head.split_whitespace().next()?;
    let disk = thread.strip_prefix("jbd2/").and_then(|name| name.split('-').next());
    let name = match disk {
        Some(disk) => disk.to_string(),
        None => device_name(major.parse().ok()?, minor.parse().ok()?),
    };
    let mut event = Event::new(sink.device(&name), Op::Flush, Layer::Syscall);
    event.completed = Some(end);
    event.queued = Some(end - Nanos(i64::try_from(ms).ok()?.checked_mul(1_000_000)?));
    event.comm = Some(sink.name("jbd2"));
    Some(Some(event))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn the_phases_of_a_commit_add_up() {
        let recording = read(
            "jbd2/vda1-8-520   [002] ...2  3185.566488: jbd2_checkpoint_stats: dev 254,1 tid 111211 chp_time 0 forced_to_close 0 written 0 dropped 3\n\
             jbd2/vda1-8-520   [002] ...1  3185.566578: jbd2_run_stats: dev 254,1 tid 111212 wait 0 request_delay 0 running 1 locked 1 flushing 2 logging 38 handle_count 5 blocks 3 blocks_logged 5\n\
             jbd2/vda1-8-520   [002] ...1  3185.7: jbd2_run_stats: dev 254,1 tid 111213 wait 0\n",
        );
        let listing = &recording.listings[0];
        let [event] = &listing.events[..] else { panic!("{:?}", listing.events) };
        assert_eq!(event.latency(iowhy_model::Stage::Total), Some(Nanos(41_000_000)));
        assert_eq!((event.op, event.layer), (Op::Flush, Layer::Syscall));
        assert_eq!(recording.device_of(event.device).name, "vda1");
        assert_eq!(listing.source.skipped, 1);
    }
}
