//! Trace events of jbd2, ext4's journal: duration of each commit, by phase.
//!
//! ## Reads
//! Lines of ftrace, perf or trace-cmd with
//! `jbd2_run_stats: dev 254,1 tid 111212 wait 0 ... locked 0 flushing 0 logging 38 ...`. Each
//! commit becomes a flush of the file system: the sum of locked, flushing and logging.
//!
//! ## How to capture
//! `echo 1 > /sys/kernel/tracing/events/jbd2/jbd2_run_stats/enable; cat trace_pipe`.
//!
//! ## Versions
//! Kernels since 2.6.32. Lines of `jbd2_checkpoint_stats` are recognised and ignored.
//!
//! ## Caveats
//! Times are milliseconds, in steps of a jiffy (1 to 10 ms): a 0 is less than one, and ignored. A
//! commit includes writes and flushes of the device and of other journals before it: it is a wait
//! of the file system, not of a request.
//!
//! ## Not in this output
//! The device's share of it; which process waited for it.

use iowhy_model::Event;

use crate::describe::report::*;
use crate::{device_name, fixed};

pub(super) const FORMAT: Format =
    Format::labels("trace events of ext4's journal: time of each commit", Level::C, &LABELS);

static LABELS: Labels = Labels {
    lines: &[
        begins(
            "{at:word}: jbd2_run_stats: dev {major:u},{minor:u} {*} locked {locked:u} flushing \
             {flushing:u} logging {logging:u}",
            commit,
        )
        .like(&[
            "jbd2/vda1-8-352     [001] .... 71893.004155: jbd2_run_stats: dev 254,1 tid 8512 wait \
             0 request_delay 0 running 4532 locked 0 flushing 0 logging 12 handle_count 31 blocks \
             9 blocks_logged 10",
        ]),
        begins(": jbd2_run_stats: dev ", |_, _, _| None)
            .like(&["jbd2/vda1-8-352 [001] .... 71893.004155: jbd2_run_stats: dev 254,1 tid"]),
        begins(": jbd2_{:word}_stats: dev ", |_, _, _| Some(())).like(&[
            "kworker/0:1-18 [000] .... 71893.1: jbd2_handle_stats: dev 254,1 tid 8512 type 6 \
             line_no 3",
        ]),
    ],
    ..Labels::NEW
};

fn commit(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let ms = ["locked", "flushing", "logging"].map(|name| found.count(name));
    let ms = ms.into_iter().try_fold(0u64, |sum, ms| sum.checked_add(ms?))?;
    let end = Time::from_ns(fixed(found.text("at")?, 9)?);
    // One that took less than a jiffy is not an event.
    if ms == 0 {
        return Some(());
    }
    // The thread is named for its disk: `jbd2/vda1-8`.
    let thread = found.line().split_whitespace().next()?;
    let disk = thread.strip_prefix("jbd2/").and_then(|name| name.split('-').next());
    let number = |name| u32::try_from(found.count(name)?).ok();
    let name = match disk {
        Some(disk) => disk.to_string(),
        None => device_name(number("major")?, number("minor")?),
    };
    let mut event = Event::new(sink.device(&name), Op::Flush, Layer::Syscall);
    event.completed = Some(end);
    event.queued = Some(end - Nanos(i64::try_from(ms).ok()?.checked_mul(1_000_000)?));
    event.comm = Some(sink.name("jbd2"));
    sink.event(event);
    Some(())
}
