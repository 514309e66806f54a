//! Compares injected delays with the block layer's tracepoints: the delays match, and every request
//! is accounted for.
//!
//! The tracer is compared with the disk's own log, not with the nominal delay: the log contains the
//! arrival and the response of each request.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use iowhy_live::TraceMode;
use iowhy_model::Op;

use crate::faulty_disk::{Entry, FaultyDisk, Spec, Truth, missing};
use crate::kernels::{Count, Device, Load, count};

/// Delays, ms, each with how many requests one deep and 32 deep take it.
const DELAYS: [(f64, [u32; 2]); 4] =
    [(0.3, [2000, 12_800]), (1.0, [1500, 9600]), (10.0, [300, 3200]), (200.0, [25, 480])];
/// In flight at once.
const DEPTHS: [u32; 2] = [1, 32];
/// Maximum difference of the medians of trace and log, ms.
const APART_MS: f64 = 0.2;

/// How often.
#[derive(Args, Debug)]
pub struct Claims {
    /// How often each delay is tried; the middle one of the runs is printed, and how many were
    /// within the bar
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
}

/// One delay at one depth.
#[derive(Debug)]
pub struct ClaimRow {
    delay: f64,
    depth: u32,
    /// Median, 99th and 10th percentile, ms.
    log: [f64; 3],
    trace: [f64; 3],
    /// How late the disk itself answered, at the median, ms.
    late: f64,
    counted: [u64; 4],
}

impl Claims {
    /// Tries all of it and prints the table.
    ///
    /// # Errors
    /// If a disk cannot be made here, or cannot be traced.
    pub fn run(&self) -> io::Result<ExitCode> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("a disk with a delay needs {missing}")));
        }
        let log = std::env::temp_dir().join(format!("iowhy-claims-{}.csv", std::process::id()));
        let mut out = String::from(HEADING);
        let mut good = true;
        for (delay, numbers) in DELAYS {
            for (depth, number) in DEPTHS.into_iter().zip(numbers) {
                let rows = (0..self.rounds).map(|_| ClaimRow::measure(delay, depth, number, &log));
                let mut rows = rows.collect::<io::Result<Vec<ClaimRow>>>()?;
                let right = rows.iter().filter(|row| row.right()).count();
                good &= rows.iter().all(ClaimRow::accounted);
                rows.sort_by(|a, b| a.apart().abs().total_cmp(&b.apart().abs()));
                if let Some(middle) = rows.get(rows.len() / 2) {
                    good &= middle.right();
                    let _ = writeln!(out, "{} {right} of {} |", middle.cells(), rows.len());
                }
            }
        }
        std::fs::remove_file(log)?;
        write!(io::stdout(), "{out}")?;
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

const HEADING: &str = "\
| delay ms | in flight | log p50 | trace p50 | apart | log p99 | trace p99 | disk late p50 | in \
the log | measured | lost | kernel | within 0.2 ms |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

impl ClaimRow {
    /// Tries one delay; the disk logs to `log`.
    ///
    /// # Errors
    /// If the disk cannot be made or traced.
    pub fn measure(delay: f64, depth: u32, number: u32, log: &Path) -> io::Result<ClaimRow> {
        let faulty = FaultyDisk::start(&Spec {
            model: format!("network:base={}us,jitter=0us,iops=1000000000,rate=1T", delay * 1e3),
            faults: Vec::new(),
            bytes: 1 << 30,
            seed: 1,
            truth: PathBuf::from(log),
        })?;
        let path = faulty.path();
        let device = Device::named(path.trim_start_matches("/dev/"))?;
        let load = Load { op: Op::Read, bytes: 4096, depth, number };
        let counted = count(&device, TraceMode::Events, || load.run(&path))?;
        let truth = faulty.end()?;
        Ok(ClaimRow::of(delay, depth, &counted, &truth))
    }

    fn of(delay: f64, depth: u32, counted: &Count, truth: &Truth) -> ClaimRow {
        let reads = || truth.entries.iter().filter(|entry| entry.op == Op::Read);
        let mut latency: Vec<u64> = reads().map(Entry::latency).collect();
        let mut late: Vec<u64> = reads().map(|e| e.reply.saturating_sub(e.due)).collect();
        latency.sort_unstable();
        late.sort_unstable();
        let traced = |q: f64| counted.quantile(q).unwrap_or(f64::NAN);
        let reads_counted = counted.rows.iter().find(|row| row.op == Op::Read);
        let [measured, lost, kernel] =
            reads_counted.map_or([0; 3], |row| [row.measured, row.lost, row.kernel]);
        ClaimRow {
            delay,
            depth,
            log: [0.5, 0.99, 0.1].map(|q| at(&latency, q)),
            trace: [0.5, 0.99, 0.1].map(traced),
            late: at(&late, 0.5),
            counted: [latency.len() as u64, measured, lost, kernel],
        }
    }

    /// What the trace adds to the log, at the median, ms.
    pub fn apart(&self) -> f64 {
        self.trace[0] - self.log[0]
    }

    /// What the trace adds at the 10th percentile, ms: of 32 simultaneous completions, even a busy
    /// host passes on the first three without delay.
    pub fn apart_at_first(&self) -> f64 {
        self.trace[2] - self.log[2]
    }

    /// Whether the claim holds for the requests that were not delayed by a busy host.
    pub fn right_at_first(&self) -> bool {
        self.accounted() && self.apart_at_first().abs() <= APART_MS
    }

    /// Whether every request is accounted for.
    pub fn accounted(&self) -> bool {
        let [log, measured, lost, kernel] = self.counted;
        measured + lost == kernel && kernel == log && log > 0
    }

    /// Whether the claim holds.
    pub fn right(&self) -> bool {
        self.accounted() && self.apart().abs() <= APART_MS
    }

    fn cells(&self) -> String {
        let ClaimRow { delay, depth, log, trace, late, counted } = self;
        let apart = self.apart();
        let [logged, measured, lost, kernel] = counted;
        format!(
            "| {delay} | {depth} | {:.3} | {:.3} | {apart:+.3} | {:.3} | {:.3} | {late:.3} | \
             {logged} | {measured} | {lost} | {kernel} |",
            log[0], trace[0], log[1], trace[1],
        )
    }
}

/// A quantile of sorted nanoseconds, ms.
fn at(sorted: &[u64], q: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((q * last as f64) as usize).map_or(f64::NAN, |ns| *ns as f64 / 1e6)
}
