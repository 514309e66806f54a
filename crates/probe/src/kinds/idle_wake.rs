//! Latency of the first read after a pause: sleep states of disks, links and CPUs.
//!
//! ## Measures
//! Single random 4 KiB reads (or `--size`) after pauses of 0, 10 ms, 100 ms, 1 s and 5 s, twenty,
//! twenty, ten, five and three of them (about 21 s in total; `--count` limits the number after
//! each). `--for` adds one pause of that length, measured twice.
//!
//! ## Writes
//! Nothing.
//!
//! ## Needs
//! A block device (root) or a large file that no other program reads meanwhile: other reads keep
//! the device awake.
//!
//! ## Read it like this
//! A first read that takes seconds is a platter spinning up; a few to a hundred milliseconds is a
//! drive or link leaving a power-saving state; below a millisecond it is mostly the CPU waking up.
//! This delay affects infrequent I/O and is not a fault.

use std::time::Duration;

use iowhy_model::Unit;

use crate::error::Error;
use crate::job::Job;
use crate::kind::{Ask, Kind};
use crate::outcome::{Cell, Outcome, Table, time};
use crate::session::Session;
use crate::{Latencies, Purpose};

/// Entry in the list of kinds.
pub(super) const KIND: Kind = Kind {
    name: "idle-wake",
    summary: "Latency of the first read after a pause",
    manual: iowhy_model::manual!("idle_wake.rs"),
    loads: false,
    purpose: |_| Purpose::Read,
    run,
};

const SIZE: u32 = 4096;
/// Pauses in ms and reads after each. NVMe drives enter their deeper states after tens of ms to
/// seconds (Linux allows a state after 50 times its wake-up time, `drivers/nvme/host/core.c`).
const PAUSES: [(u64, u32); 5] = [(0, 20), (10, 20), (100, 10), (1000, 5), (5000, 3)];
/// A longer pause of the user's own is done so often.
const LONG: u32 = 2;
/// A median this many times that without a pause is reported.
const WAKES: f64 = 2.0;

fn run(ask: &Ask, session: &mut Session<'_>) -> Result<Outcome, Error> {
    let mut pauses: Vec<(Duration, u32)> =
        PAUSES.into_iter().map(|(ms, n)| (Duration::from_millis(ms), n)).collect();
    pauses.extend(ask.time.map(|pause| (pause, LONG)));
    let most = ask.count.map_or(u32::MAX, |count| count.min(1000) as u32);
    pauses.iter_mut().for_each(|(_, reads)| *reads = (*reads).min(most));
    session.expect(pauses.iter().map(|(pause, n)| *pause * *n).sum());
    let mut table = Table::new(
        "idle_wake",
        &[
            ("pause", Unit::Seconds),
            ("n", Unit::Count),
            ("min", Unit::Ms),
            ("mean", Unit::Ms),
            ("max", Unit::Ms),
        ],
    );
    let (from, span) = session.target.region();
    let mut answer = Vec::new();
    let mut awake_ms = None;
    let mut seed = ask.seed;
    for (pause, reads) in pauses {
        let mut latencies = Latencies::default();
        for _ in 0..reads {
            session.rest(pause, &format!("pausing {} s", pause.as_secs_f64()));
            if session.over() {
                break;
            }
            seed += 1;
            let job = Job {
                from,
                count: Some(1),
                seed,
                way: ask.way,
                ..Job::reads(ask.size(SIZE), 1, span)
            };
            latencies.add(&session.measure(&job, "reading")?.latency);
        }
        let ms = |ns: Option<u64>| Cell::from(ns.map(|ns| ns as f64 / 1e6));
        let mean_ms = latencies.mean_ns().map(|ns| ns / 1e6);
        table.rows.push(vec![
            pause.as_secs_f64().into(),
            latencies.n.into(),
            ms(latencies.min_ns),
            mean_ms.into(),
            ms(latencies.max_ns),
        ]);
        let least_ms = latencies.min_ns.map(|ns| ns as f64 / 1e6);
        let slowest_ms = latencies.max_ns.map(|ns| ns as f64 / 1e6);
        match awake_ms {
            None => awake_ms = slowest_ms,
            // Even the fastest read after the pause is slower than the slowest without one.
            Some(awake) if least_ms.is_some_and(|least| least > awake * WAKES) => {
                answer.push(format!(
                    "after a pause of {} a read takes at least {}, without a pause at most {}: \
                     something enters a sleep state",
                    time(pause.as_secs_f64() * 1e3),
                    time(least_ms.unwrap_or(0.0)),
                    time(awake)
                ));
            }
            Some(_) => {}
        }
    }
    if answer.is_empty() {
        answer.push("no pause made the next read significantly slower".to_string());
    }
    Ok(Outcome { answer, tables: vec![table], ..Outcome::default() })
}
