//! Latency histogram of the calls of any function in a program or library, live.
//!
//! ## Does
//! Watches one function, given by its name or its offset in the file, and measures in the kernel
//! how long each call takes from entry to return: number, exact mean, minimum and maximum, and a
//! histogram of all processes together, then the ten processes with the longest total (`--verbose`:
//! all). With `--latency` no time is measured: one argument of the function is used as the latency,
//! and with `--event` another one as the event number, with a histogram for each event. This covers
//! Oracle's wait interface and others that report a wait when it ends.
//!
//! An argument is written as `arg1` to `arg6`, with the unit of a latency after a colon: `arg2:us`
//! (ns, us, ms, s; default ns). `--records` writes PyLatencyMap records, one per second, for all
//! events together; select one with `--only-event`. Each call costs one or two traps, 1 to 5
//! microseconds: do not watch a function that is called a million times a second.
//!
//! ## Examples
//! `iowhy uprobe libc fsync --for 30s`: every fsync through libc.
//! `iowhy uprobe ./server handle_request --pid 4242 --json`: one process, `iowhy.uprobe/1`.
//! `iowhy uprobe libc fsync --csv`: a row per process and event, for a spreadsheet.
//! `iowhy uprobe $ORACLE_HOME/bin/oracle kskthewt --latency arg1:us --event arg2`: waits by event.
//! `iowhy uprobe ./server +0x1149 --records | iowhy map`: a heat map of a function without a name.

mod binary;
mod text;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::{EventCount, Uprobe, UprobeOptions};
use iowhy_model::Loss;
use iowhy_show::NewRecords;
use serde_json::{Value, json};

use crate::calls::{self, CallArgs, RowArgs, WATCH};
use crate::command::{Command, Status};
use crate::messages::HintedError;
use crate::sanitised;
use crate::watch::{Plan, Watch};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "uprobe",
    summary: "Latency of the calls of any function in a program",
    manual: iowhy_model::manual!("uprobe.rs"),
    arguments: Arguments::augment_args,
    run,
};

/// How often counts are read: PyLatencyMap draws a column for each.
const SECOND: Duration = Duration::from_secs(1);
/// Registers that hold arguments in both calling conventions we know.
const ARGUMENTS: std::ops::RangeInclusive<u32> = 1..=6;

#[derive(Args, Debug)]
struct Arguments {
    /// Program or library: a file, or a name such as `libc`, searched for in the process of
    /// `--pid`, in `PATH` and in the library folders
    #[arg(value_name = "BINARY")]
    file: PathBuf,
    /// Function name, or its offset in the file: `+0x1149`
    #[arg(value_name = "SYMBOL|+OFFSET")]
    function: String,
    #[command(flatten)]
    calls: CallArgs,
    /// The argument that contains a latency, with its unit: `arg2:us`
    #[arg(long, value_name = "ARG[:UNIT]", value_parser = latency)]
    latency: Option<(u32, u64)>,
    /// The argument that contains the event number
    #[arg(long, value_name = "ARG", value_parser = argument, requires = "latency")]
    event: Option<u32>,
    /// Show only this event
    #[arg(long, value_name = "N", requires = "event")]
    only_event: Option<u32>,
    /// Records for PyLatencyMap, one per report, everything counted together
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    records: bool,
    #[command(flatten)]
    rows: RowArgs,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut given = Arguments::from_arg_matches(matches)?;
    given.file = binary::find(&given.file, given.calls.pid);
    refuse(&given.file)?;
    let uprobe = Uprobe::new(UprobeOptions {
        file: given.file.clone(),
        function: given.function.clone(),
        latency: given.latency,
        event: given.event,
        only_event: given.only_event,
        whom: given.calls.callers()?,
    });
    // One reading at the end is enough, except for records.
    let pace = if given.records { SECOND } else { Duration::MAX };
    let plan = Plan {
        length: given.calls.watch_for.or((!given.records).then_some(WATCH)),
        progress: !given.records,
        ..Plan::default()
    };
    let mut watch = Watch::start_with(&plan, |all, sink| all.add(uprobe, pace, sink))?;
    let style = given.rows.style();
    let mut new = NewRecords::default();
    let mut out = sanitised::stdout();
    let doing = format!("watching `{}`", given.function);
    loop {
        watch.run(pace, |watch, nap| {
            watch.nap(nap, &doing);
            Ok(false)
        })?;
        let over = watch.is_over();
        if over {
            watch.finish()?;
        }
        if given.records {
            new.write(&watch.sink, &style, &mut out)?;
        }
        if over {
            break;
        }
    }
    let seconds = watch.elapsed().as_secs_f64();
    let listings = watch.sink.listings.iter();
    let losses: Vec<Loss> = listings.flat_map(|listing| listing.source.losses.clone()).collect();
    let counts = watch.collectors.of().map_or(&[][..], Uprobe::counts);
    if given.rows.json {
        let object = object(&given, counts, &losses, seconds);
        writeln!(out, "{object}")?;
    } else if given.rows.commas.csv {
        let rows: Vec<Value> = counts.iter().map(row).collect();
        let keys = [&["pid", "comm", "event"][..], &calls::LATENCY_KEYS].concat();
        iowhy_show::csv::rows(&keys, &rows, &mut out)?;
    } else if !given.records {
        if counts.is_empty() {
            writeln!(out, "No call of `{}` returned while iowhy watched.", given.function)?;
        }
        if let Some(listing) = watch.sink.listings.first() {
            let source = listing.source.clone();
            text::write(&given.function, source, counts, &style, &mut out)?;
        }
    }
    out.flush()?;
    Ok(Status::incomplete(!losses.is_empty()))
}

/// Errors that are known before anything is watched.
fn refuse(file: &Path) -> anyhow::Result<()> {
    let shown = file.display();
    let found = std::fs::metadata(file).map_err(|cause| {
        let hint = "`command -v NAME` finds a program, `ldd` lists the libraries it uses";
        HintedError::error(format!("cannot read `{shown}`: {cause}"), hint)
    })?;
    if !found.is_file() {
        let hint = "name the program or library that contains the function";
        return Err(HintedError::error(format!("`{shown}` is not a file"), hint));
    }
    Ok(())
}

/// Calls of a process, as an object.
fn row(count: &EventCount) -> Value {
    let of = json!({ "pid": count.pid, "comm": count.comm, "event": count.event });
    calls::latencies(&count.histogram, of)
}

fn object(given: &Arguments, counts: &[EventCount], losses: &[Loss], seconds: f64) -> Value {
    json!({
        "schema": "iowhy.uprobe/1",
        "binary": given.file.display().to_string(),
        "function": given.function,
        "measured": if given.latency.is_some() { "argument" } else { "entry to return" },
        "seconds": seconds,
        "calls": counts.iter().map(row).collect::<Vec<_>>(),
        "losses": calls::lost(losses),
    })
}

/// `arg3`.
fn argument(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("arg").and_then(|number| number.parse().ok());
    number.filter(|number| ARGUMENTS.contains(number)).ok_or_else(|| "use arg1 to arg6".to_string())
}

/// `arg3:us`.
fn latency(text: &str) -> Result<(u32, u64), String> {
    let (name, unit) = text.split_once(':').unwrap_or((text, "ns"));
    let unit = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        other => return Err(format!("unknown unit `{other}`; use ns, us, ms or s")),
    };
    Ok((argument(name)?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_with_their_unit() {
        assert_eq!(latency("arg2:us"), Ok((2, 1000)));
        assert_eq!(latency("arg1"), Ok((1, 1)));
        assert!(latency("arg7:us").is_err());
        assert!(latency("arg1:parsec").is_err());
        assert!(argument("rsi").is_err());
    }
}
