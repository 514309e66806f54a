//! `iostat -dxy` of sysstat 12.6 or 10, on a kernel of its time.

use std::fmt::Write;

use super::counters::{Counters, Kernel, at_ends};
use crate::scenarios::{Quirk, Scenario};

const MODERN: &str = "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     \
    wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s  %drqm d_await dareq-sz     \
    f/s f_await  aqu-sz  %util";
const OLD: &str = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz \
    avgqu-sz   await r_await w_await  svctm  %util";
/// Ticks per second of the kernels that distributions ship.
const TICK: u64 = 4_000_000;

/// The reports, at this interval in seconds.
pub(super) fn text(scenario: &Scenario, seconds: u64, old: bool) -> String {
    let every = seconds * 1_000_000_000;
    let kernel = Kernel { old, tick: TICK };
    let count = scenario.end().min(scenario.span.max(every)).div_ceil(every).max(1);
    let ends: Vec<Vec<Counters>> =
        scenario.disks.iter().map(|disk| at_ends(&disk.done, kernel, every, count)).collect();
    let mut out = format!("$ iostat -dxy {seconds} {count}\n");
    let release = if old { "3.10.0-693.el7.x86_64" } else { "6.1.0-18-amd64" };
    let _ = writeln!(out, "Linux {release} (lab) \t11/21/26 \t_x86_64_\t(8 CPU)\n");
    for report in 0..count as usize {
        let _ = writeln!(out, "\n{}", if old { OLD } else { MODERN });
        for (disk, ends) in scenario.disks.iter().zip(&ends) {
            let Some(now) = ends.get(report) else { continue };
            let before = report.checked_sub(1).and_then(|before| ends.get(before));
            let delta = now.since(before.unwrap_or(&Counters::default()));
            let row = PrintedRow::of(&delta, seconds as f64, scenario.quirk);
            let _ = writeln!(out, "{:<11} {}", disk.setup.name, row.print(old));
        }
    }
    out
}

/// The numbers of a row: kB, ms, requests.
struct PrintedRow {
    rate: [f64; 4],
    kb: [f64; 4],
    wait: [f64; 4],
    size: [f64; 4],
    all_wait: f64,
    all_size: f64,
    queue: f64,
    busy: f64,
    svctm: f64,
}

impl PrintedRow {
    fn of(delta: &Counters, seconds: f64, quirk: Quirk) -> PrintedRow {
        let per = |sum: f64, count: u64| if count > 0 { sum / count as f64 } else { 0.0 };
        // iostat's own means are over reads and writes and, since 11.7, discards.
        let ios: u64 = delta.ios[..3].iter().sum();
        // The kernel prints whole milliseconds.
        let ms = |ns: u64| (ns / 1_000_000) as f64;
        let each = |of: &dyn Fn(usize) -> f64| std::array::from_fn(of);
        let mut row = PrintedRow {
            rate: each(&|op| delta.ios[op] as f64 / seconds),
            kb: each(&|op| delta.bytes[op] as f64 / 1024.0 / seconds),
            wait: each(&|op| per(ms(delta.waits[op]), delta.ios[op])),
            size: each(&|op| per(delta.bytes[op] as f64 / 1024.0, delta.ios[op])),
            all_wait: per(delta.waits[..3].iter().map(|wait| ms(*wait)).sum(), ios),
            all_size: per(delta.bytes[..3].iter().sum::<u64>() as f64 / 512.0, ios),
            queue: ms(delta.queue) / 1000.0 / seconds,
            busy: ms(delta.busy) / 10.0 / seconds,
            svctm: per(ms(delta.busy), ios),
        };
        match quirk {
            Quirk::Queue(factor) => row.queue *= factor,
            Quirk::Bytes(factor) => row.kb = row.kb.map(|kb| kb * factor),
            _ => {}
        }
        row
    }

    fn print(&self, old: bool) -> String {
        let PrintedRow { rate, kb, wait, size, .. } = self;
        if old {
            return format!(
                "{:>10.2} {:>8.2} {:>7.2} {:>7.2} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>7.2} {:>7.2} \
                 {:>7.2} {:>6.2} {:>6.2}",
                0.0,
                0.0,
                rate[0],
                rate[1],
                kb[0],
                kb[1],
                self.all_size,
                self.queue,
                self.all_wait,
                wait[0],
                wait[1],
                self.svctm,
                self.busy,
            );
        }
        let part = |op: usize| {
            format!(
                "{:>7.2} {:>9.2} {:>8.2} {:>6.2} {:>7.2} {:>8.2}",
                rate[op], kb[op], 0.0, 0.0, wait[op], size[op]
            )
        };
        let flushes = format!("{:>7.2} {:>7.2}", rate[3], wait[3]);
        let (reads, writes, discards) = (part(0), part(1), part(2));
        format!("{reads} {writes} {discards} {flushes} {:>7.2} {:>6.2}", self.queue, self.busy)
    }
}
