//! Which tasks wait, where in the kernel, how long, and what ended it.
//!
//! ## Does
//! Traces every time a task is off its CPU in uninterruptible sleep (state D), until it runs again,
//! and sums these waits by program and kernel stack: number, sum, mean and longest. The column I/O
//! shows what the scheduler itself accounts as a wait for I/O (`in_iowait`); the others are locks,
//! journals, memory, and I/O that the kernel does not account as such. Of each stack it prints the
//! innermost function that shows what the task waits for, and its meaning if known; for a lock, the
//! function that takes it.
//!
//! Below that it prints what ended these waits, with the share of the time. A wait that was ended
//! by a block request names the device and the operation, and the mean device time (D2C) of these
//! requests beside the mean of the waits: about equal, and the task waited for that device; much
//! shorter, and it waited for a queue, or for several requests of which this was the last. A wait
//! that another task ended names that program: whoever released a lock, a server of a FUSE file
//! system, or a kernel thread (`kworker`, `jbd2`, `md0_raid1`) that completes I/O for others; the
//! device is then in the row of that thread. The last lines have the same sums over all rows.
//!
//! The rows are those with the longest sum; `--verbose` prints all, each with its stack. `--folded`
//! prints every stack once, with its sum in microseconds, for `flamegraph.pl`. Waits that had begun
//! before the watch or had not ended at its end are counted within it, and marked. The time
//! includes the wait for a CPU after the wake-up, which is printed if it is 5 % or more.
//! Sums of several tasks overlap: they can exceed the time watched.
//!
//! `--state S` shows interruptible sleep, in which a thread waits for another one (a lock, a
//! condition), an event, data, time, or asynchronous I/O (io_uring, libaio); `all` shows both. It
//! needs `--pid` or `--comm`: every idle program sleeps like this. A thread that another one ended
//! names its program; that one's own wait in state D has the device. `--user` adds the functions
//! of the program, as far as it has frame pointers and runs at the end of the watch.
//!
//! Not in this output: requests that did not end a wait (`hist`, `snoop --stacks`); a wait
//! for a free tag in a queue is ended by an interrupt here, because its request is over by then.
//!
//! ## Examples
//! `iowhy waits --for 30s`: who waits, in which function, and which device ended it?
//! `iowhy waits --pid 4242 --verbose`: one process, every stack.
//! `iowhy waits --folded --for 30s | flamegraph.pl --countname us > waits.svg`: as a flame graph.
//! `iowhy waits --comm postgres --state all --user`: all off-CPU time of a program, by its
//! functions.
//! `iowhy waits --csv > waits.csv`: a row per process and stack, for a spreadsheet.
//! `iowhy waits --comm postgres --json`: one object of schema `iowhy.waits/1`.

mod sleeps;
mod text;

use std::time::Duration;

use clap::{Args, FromArgMatches, ValueEnum};
use iowhy_live::{WaitOptions, Waits};
use iowhy_model::Loss;

use crate::calls::{CallArgs, RowArgs, WATCH};
use crate::command::{Command, Status};
use crate::messages::{self, HintedError};
use crate::watch::{Plan, Watch};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "waits",
    summary: "Which tasks wait in the kernel (states D and S), where and how long",
    manual: iowhy_model::manual!("waits.rs"),
    arguments: Arguments::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Arguments {
    #[command(flatten)]
    calls: CallArgs,
    /// Uninterruptible sleep (D), interruptible sleep (S; needs --pid or --comm), or all
    #[arg(long, value_name = "STATE", ignore_case = true, default_value = "D")]
    state: SleepState,
    /// The program's functions, too, as far as it has frame pointers
    #[arg(long)]
    user: bool,
    /// All stacks in the folded form for flame graphs, with microseconds
    #[arg(long, conflicts_with_all = ["json", "csv", "verbose"])]
    folded: bool,
    #[command(flatten)]
    rows: RowArgs,
}

/// The states of tasks that are watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum SleepState {
    #[value(name = "D")]
    Uninterruptible,
    #[value(name = "S")]
    Interruptible,
    All,
}

impl Arguments {
    fn options(&self) -> anyhow::Result<WaitOptions> {
        let is_limited = self.calls.pid.is_some() || self.calls.comm.is_some();
        if self.state != SleepState::Uninterruptible && !is_limited {
            let text = "`--state` S and all need a program: every idle one sleeps in state S";
            return Err(HintedError::error(text, "name it by `--pid` or `--comm`"));
        }
        Ok(WaitOptions {
            uninterruptible: self.state != SleepState::Interruptible,
            interruptible: self.state != SleepState::Uninterruptible,
            user_stacks: self.user,
            ..WaitOptions::new(self.calls.callers()?)
        })
    }
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let given = Arguments::from_arg_matches(matches)?;
    let waits = Waits::new(given.options()?);
    let length = Some(given.calls.watch_for.unwrap_or(WATCH));
    let plan = Plan { length, progress: true, stacks: given.user, ..Plan::default() };
    let whole = Duration::MAX;
    let mut watch = Watch::start_with(&plan, |all, sink| all.add(waits, whole, sink))?;
    watch.run(whole, |watch, nap| {
        watch.nap(nap, "watching waits");
        Ok(false)
    })?;
    let seconds = watch.elapsed().as_secs_f64();
    watch.finish()?;
    let listings = watch.sink.listings.iter();
    let losses: Vec<Loss> = listings.flat_map(|listing| listing.source.losses.clone()).collect();
    let counts = watch.collectors.of().map_or(&[][..], Waits::counts);
    if watch.collectors.of().is_some_and(Waits::hides_names) {
        let hint = "run as root, or set `kernel.kptr_restrict` to 0";
        messages::warn("the kernel hides the names of its functions", Some(hint));
    }
    if let Some(why) = watch.collectors.of().and_then(Waits::refused_ends) {
        messages::warn(&format!("what ended the waits is not known: {why}"), None);
    }
    if given.rows.json {
        text::json(counts, &losses, seconds)?;
    } else if given.rows.commas.csv {
        text::csv(counts)?;
        warn_of(&losses);
    } else if given.folded {
        text::folded(counts)?;
        warn_of(&losses);
    } else {
        text::table(counts, &losses, seconds, &given.rows.style())?;
    }
    Ok(Status::incomplete(!losses.is_empty()))
}

/// What was not counted, where the output has no line for it.
fn warn_of(losses: &[Loss]) {
    for loss in losses {
        messages::warn(&format!("{} {}", loss.count, loss.what), None);
    }
}
