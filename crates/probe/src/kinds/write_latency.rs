//! Latency of durable writes, one at a time.
//!
//! ## Measures
//! N writes of each size, one after another, after a first one that is not counted, each timed from
//! call to return: mean, minimum, maximum, and how many took 0, 1, 2 ... ms; how many took 1, 2, 3
//! ... revolutions of the platter, if latencies are multiples of a revolution. Default: 2000
//! sequential writes of 4 KiB with `O_DIRECT` and `O_DSYNC`, with plain system calls like a
//! database's log writer. `--durable fdatasync`, `rwf-dsync` or `plain` change what a write waits
//! for; `--order random` or `same` change its offset; `--count` and `--size` set number and size,
//! `--up-to 64k` uses all sizes from the device's logical block up to that.
//!
//! With `--depth 32` writes are enqueued without waiting for earlier ones, up to that many in
//! flight (`--rate`: at that rate, however fast the device completes them). A write then waits only
//! for its request, unless `--durable` is given. A picture shows one column per write and time
//! downwards: a cross where it was enqueued, a circle where its completion was seen. `--json` has
//! both times of every write.
//!
//! ## Writes
//! To a new unnamed file in the given directory, filled with data first (64 MiB, or `--span`),
//! which disappears at the end; or to an empty block device whose serial number is given with
//! `--serial`.
//!
//! ## Needs
//! A directory, or an empty device and root. On tmpfs nothing is written to a disk.
//!
//! ## Read it like this
//! The output has the format of the write tester known from the kernel mailing list, and iowhy
//! reads it back. `thput` is in megabits per second, truncated to a whole number; `seekc` counts
//! writes that did not start where the previous one ended. 8.33 ms each is a whole revolution at
//! 7200 rpm: the write came just too late for its sector. Far less than half a revolution on a
//! spinning disk means that a cache completed the write. In the picture, circles in steps while
//! there are crosses are writes that missed their sector once per step; the writes left in the
//! queue when the crosses end then complete all at once, or a few of them one revolution earlier,
//! because the disk no longer waits for the program. 0.02 to 0.3 ms is flash with power-loss
//! protection, or a cache that acknowledges writes that are not durable.

use std::fmt::Write;

use iowhy_model::{Op, Unit, numbers};

use crate::enqueue::WriteQueue;
use crate::error::Error;
use crate::job::{Durable, EngineChoice, Job, Load, Order};
use crate::kind::{Ask, Kind};
use crate::outcome::{FIGURES, Outcome, Table, digits, figures};
use crate::revolutions::revolutions;
use crate::session::Session;
use crate::{Purpose, Run};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "write-latency",
    summary: "Latency of durable writes, one at a time",
    manual: iowhy_model::manual!("write_latency.rs"),
    loads: false,
    purpose,
    run,
};

/// Writes per size: the mailing list's tester made 2000.
const COUNT: u64 = 2000;
/// The usual size of a log write and of a page.
const SIZE: u32 = 4096;

/// In flight at most if writes are enqueued by a rate.
const OPEN: u32 = 256;

fn purpose(ask: &Ask) -> Purpose {
    let dsync = durable(ask) == Durable::Dsync;
    ask.writes(ask.bytes_of_each(&[SIZE]) * (ask.count.unwrap_or(COUNT) + 1), dsync)
}

fn depth(ask: &Ask) -> u32 {
    ask.depth.unwrap_or(if ask.per_s.is_some() { OPEN } else { 1 })
}

/// One write at a time is durable by default; enqueued writes, as in the mail, are not.
fn durable(ask: &Ask) -> Durable {
    ask.durable.unwrap_or(if depth(ask) == 1 { Durable::Dsync } else { Durable::Plain })
}

fn job(ask: &Ask, bytes: u32, (from, span): (u64, u64)) -> Job {
    let (depth, arrivals) = (depth(ask), ask.arrivals);
    Job {
        op: Op::Write,
        load: ask.per_s.map_or(Load::Closed { depth }, |per_s| Load::Open {
            per_s,
            arrivals,
            depth,
        }),
        order: ask.order.unwrap_or(Order::Sequential),
        from,
        durable: durable(ask),
        count: Some(ask.count.unwrap_or(COUNT)),
        time: ask.time,
        seed: ask.seed,
        // One write(2) after another is what is asked about, unless several are in flight.
        way: if depth == 1 && ask.way == EngineChoice::Best {
            EngineChoice::Calls
        } else {
            ask.way
        },
        ..Job::reads(bytes, depth, span)
    }
}

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let mut columns = vec![("size", Unit::Bytes)];
    columns.extend(FIGURES);
    let mut outcome = Outcome {
        answer: vec![how(ask, session)],
        tables: vec![Table::new("write_latency", &columns)],
        ..Outcome::default()
    };
    let (mut text, mut pictures) = (String::new(), String::new());
    let mut by_turns = Table::new(
        "revolutions",
        &[("size", Unit::Bytes), ("revolutions", Unit::Count), ("cases", Unit::Count)],
    );
    for bytes in ask.sizes(session.target.block, &[SIZE]) {
        if session.over() {
            break;
        }
        let job = job(ask, bytes, session.target.region());
        if depth(ask) == 1 {
            // The first write meets the platter anywhere; the others meet it where one has ended.
            session.warm_up(&job)?;
        }
        let run = session.measure(&job, &format!("writing {bytes} bytes"))?;
        let mut row = vec![u64::from(bytes).into()];
        row.extend(figures(&run));
        if let Some(table) = outcome.tables.first_mut() {
            table.rows.push(row);
        }
        text.push_str(&classic(bytes, &run));
        if depth(ask) > 1 {
            let enqueued = WriteQueue::of(&run);
            let words = enqueued.words().into_iter();
            outcome.answer.extend(words.map(|words| format!("writes of {bytes} bytes: {words}")));
            let picture = enqueued.picture(run.depth_reached());
            pictures.push_str(&format!("{bytes} bytes: {picture}"));
            outcome.series.push(enqueued.table());
            outcome.rpm = outcome.rpm.or(revolutions(&enqueued.beats()).map(|found| found.rpm));
        }
        let latencies: Vec<u64> = run.ios.iter().map(|io| io.latency_ns()).collect();
        if let Some(found) = revolutions(&latencies).filter(|_| depth(ask) == 1) {
            outcome.rpm = Some(found.rpm);
            outcome.answer.push(format!(
                "{} of the writes of {bytes} bytes take whole revolutions of {:.3} ms, as of a \
                 disk at {:.0} rpm",
                numbers::share(found.share),
                found.revolution_ms,
                found.rpm
            ));
            let cases = found.cases.iter().zip(1u64..);
            if job.order == Order::Sequential {
                outcome.missed.get_or_insert(found.clone());
            }
            by_turns.rows.extend(cases.map(|(n, revolutions)| {
                vec![u64::from(bytes).into(), revolutions.into(), (*n).into()]
            }));
        }
    }
    if !by_turns.rows.is_empty() {
        outcome.tables.push(by_turns);
    }
    outcome.text = Some(text);
    outcome.picture = Some(pictures).filter(|pictures| !pictures.is_empty());
    Ok(outcome)
}

/// What was done, in a sentence.
fn how(ask: &Ask, session: &Session<'_>) -> String {
    let direct = if session.target.direct { "O_DIRECT, " } else { "through the page cache, " };
    let order = ask.order.unwrap_or(Order::Sequential);
    let flight = match (ask.per_s, depth(ask)) {
        (Some(per_s), _) => format!(", {} enqueued per second", digits(per_s)),
        (None, 1) => String::new(),
        (None, depth) => format!(", {depth} in flight"),
    };
    format!(
        "{} writes, {direct}{}{flight}, on `{}`",
        order.name(),
        durable(ask).name(),
        session.target.name()
    )
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
