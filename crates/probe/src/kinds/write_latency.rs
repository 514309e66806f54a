//! How long one write takes until it is safe, write after write.
//!
//! ## Measures
//! N writes of each size, one after another, each timed from call to return: mean, smallest,
//! largest, and how many took 0, 1, 2 ... ms. Default: 2000 writes of 4 KiB in sequence with
//! `O_DIRECT` and `O_DSYNC`, by plain system calls as a database's log writer makes them.
//! `--durable fdatasync`, `rwf-dsync` or `plain` change what a write waits for; `--order random`
//! or `same` change where it goes; `--count` and `--size` say how many and how large.
//!
//! ## Writes
//! To a new file without a name in the directory given, filled with data first and gone at the
//! end (64 MiB unless `--span` says otherwise); or to a block device with nothing on it whose
//! serial number is typed with `--serial`.
//!
//! ## Needs
//! A directory, or an empty device and root. On tmpfs nothing is ever written to a disk.
//!
//! ## Read it like this
//! The text is that of the write tester known from the kernel mailing list, and iowhy reads it
//! back. `thput` are megabits per second, cut to a whole number; `seekc` counts writes that did
//! not go where the one before ended. 8.33 ms each is a whole turn at 7200 rpm: the write came
//! just too late for its sector. Far less than half a turn on a disk that turns means that a
//! cache answered. 0.02 to 0.3 ms is flash that is safe against power cuts, or a cache that lies.

use std::fmt::Write;

use iowhy_model::{Op, Unit};

use crate::error::Error;
use crate::job::{Durable, Job, Load, Order, Way};
use crate::kind::{Ask, Kind};
use crate::outcome::{FIGURES, Outcome, Table, figures};
use crate::session::Session;
use crate::{Purpose, Run};

/// Entry in the list of kinds.
pub const KIND: Kind = Kind {
    name: "write-latency",
    summary: "How long one write takes until it is safe, write after write",
    manual: include_str!("write_latency.rs"),
    loads: false,
    purpose,
    run,
};

/// Writes per size: the mailing list's tester made 2000.
const COUNT: u64 = 2000;
/// The usual size of a log write and of a page.
const SIZE: u32 = 4096;

fn sizes(ask: &Ask) -> Vec<u32> {
    if ask.sizes.is_empty() { vec![SIZE] } else { ask.sizes.clone() }
}

fn purpose(ask: &Ask) -> Purpose {
    let bytes: u64 = sizes(ask).iter().map(|size| u64::from(*size)).sum();
    let dsync = ask.durable.unwrap_or(Durable::Dsync) == Durable::Dsync;
    ask.writes(bytes * ask.count.unwrap_or(COUNT), dsync)
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let order = ask.order.unwrap_or(Order::Sequential);
    let durable = ask.durable.unwrap_or(Durable::Dsync);
    let (from, span) = session.target.region();
    let mut columns = vec![("size", Unit::Bytes)];
    columns.extend(FIGURES);
    let mut table = Table::new("write_latency", &columns);
    let mut text = String::new();
    for bytes in sizes(ask) {
        if session.over() {
            break;
        }
        let depth = ask.depth.unwrap_or(1);
        let job = Job {
            op: Op::Write,
            load: Load::Closed { depth },
            order,
            from,
            durable,
            count: Some(ask.count.unwrap_or(COUNT)),
            time: ask.time,
            seed: ask.seed,
            // One write(2) after another is what is asked about, unless several are in flight.
            way: if depth == 1 && ask.way == Way::Best { Way::Calls } else { ask.way },
            ..Job::reads(bytes, depth, span)
        };
        let run = session.measure(&job, &format!("writing {bytes} bytes"))?;
        let mut row = vec![u64::from(bytes).into()];
        row.extend(figures(&run));
        table.rows.push(row);
        text.push_str(&classic(bytes, &run));
    }
    let direct = if session.target.direct { "O_DIRECT, " } else { "through the page cache, " };
    let how = format!(
        "{} writes, {direct}{}, on `{}`",
        order.name(),
        durable.name(),
        session.target.name()
    );
    Ok(Outcome { answer: vec![how], tables: vec![table], text: Some(text) })
}

/// A run as the mailing list's tester prints it.
fn classic(bytes: u32, run: &Run) -> String {
    let mut text = String::new();
    let n = run.latency.n;
    let (Some(mean_ns), Some(min_ns), Some(max_ns)) =
        (run.latency.mean_ns(), run.latency.min_ns, run.latency.max_ns)
    else {
        return text;
    };
    // Microseconds are as fine as it prints; a run is never shorter than its writes together.
    let took_s = run.seconds().max(1e-6);
    let megabits = (u64::from(bytes) * n) as f64 * 8.0 / took_s / 1e6;
    let ends = run.ios.iter().map(|io| io.offset + u64::from(io.bytes));
    let moved = run.ios.iter().skip(1).zip(ends).filter(|(io, end)| io.offset != *end);
    let seeks = 1 + moved.count();
    let _ = writeln!(
        text,
        "size={bytes}, N={n}, took={took_s:.6} s, thput={megabits:.0} mb/s seekc={seeks}",
        megabits = megabits.floor()
    );
    let ms = |ns: f64| ns / 1e6;
    let _ = writeln!(
        text,
        "write: avg={:.6} max={:.6} min={:.6} ms",
        ms(mean_ns),
        ms(max_ns as f64),
        ms(min_ns as f64)
    );
    let mut cases = std::collections::BTreeMap::new();
    for io in run.ios.iter().filter(|io| io.error == 0) {
        *cases.entry(io.latency_ns() / 1_000_000).or_insert(0u64) += 1;
    }
    for (ms, count) in cases {
        let _ = writeln!(text, "{ms} ms: {count} cases");
    }
    text
}
