//! fio's JSON (`--output-format=json` and `json+`): rates, latencies, bins, disk totals per job.
//!
//! ## Reads
//! One document at a time, job by job. Rates become an interval of the application, latencies
//! become histograms labelled `slat`, `clat`, `lat` and, for flushes, `sync`; disk totals become
//! an interval of the block layer, and a job's options the facts `fio.iodepth`, `fio.blocksize`
//! and so on. With json+ the counts of `bins` are used, else percentiles.
//!
//! ## How to capture
//! `fio --output-format=json+ JOBFILE`. Text before the first brace (warnings, the progress line)
//! is ignored. With `--status-interval` a file contains several documents: each is a listing. A
//! part from the middle (from `"jobs"`, `"jobname"` or `"read"` on) is read as one job.
//!
//! ## Versions
//! 2.x (`clat` in microseconds, no bins) and 3.x (`clat_ns`). `mixed` comes from
//! `unified_rw_reporting`, `client_stats` from `fio --client`.
//!
//! ## Caveats
//! A bin or percentile is printed by the middle of its bin: 342016 means 339968 to 344063 ns, one
//! part in 64. The counts for percentiles are not printed: they are computed from the number of
//! I/Os, with a note; bins are exact counts. From a truncated document the complete jobs, and
//! complete parts of a job, are read. The device is the one of `filename`, if that is a single one
//! in /dev, else the job's name. fio starts its clock when it issues: if it falls behind its own
//! schedule, that wait is not counted. A document with more than 64 MiB besides its jobs, and a
//! line longer than 1 MiB, are not read.
//!
//! ## Not in this output
//! What the device did: queueing in fio's own depth and in the host is part of `clat`. The order
//! of the I/Os.

use std::collections::BTreeMap;

use iowhy_model::DeviceId;
use iowhy_model::Order as _;
use iowhy_model::typed::Share;
use serde_json::Value;

use crate::describe::document::{Content, DocumentReader};
use crate::fio::bins;
use crate::fio::latencies::{Latencies, at_once, disk_interval};
use crate::fio::lines::{Direction, Disk, LatencyKind, Summary, long_name, one_device};
use crate::histogram::buckets::{COUNT_LIMIT, histogram_of};
use crate::program::*;
use crate::text::document::sniff_document;

pub(super) const FORMAT: Format = Format::program::<FioJson>(
    "fio's JSON output (json and json+): rates, latencies, bins, disk totals",
    Level::B,
    &[
        "^document", "\"jobs\"", "\"jobname\"", "\"job options\"", "\"read\"", "\"write\"",
        "\"latency_ms\"",
    ],
    sniff,
);

/// No latency and no run is longer than this many ns (31 years).
const LONGEST_NS: f64 = 1e18;

/// What fio alone writes: at the head of a document, and in each direction of a job.
const MARKS: [&str; 2] = ["\"fio version\"", "\"short_ios\""];

/// How a piece begins that was cut out of a document: within its head, or within a job.
const PIECE_BEGINS: [&str; 6] =
    ["\"jobs\"", "\"jobname\"", "\"job options\"", "\"read\"", "\"write\"", "\"latency_ms\""];

fn sniff(lines: &[&str]) -> Detect {
    let Some((first, rest)) = lines.split_first().filter(|(first, _)| lacks_opening_brace(first))
    else {
        return sniff_document(lines, &MARKS);
    };
    let opened = format!("{{{first}");
    let lines: Vec<&str> = [&*opened].into_iter().chain(rest.iter().copied()).collect();
    sniff_document(&lines, &MARKS)
}

/// Whether the brace ahead of this line was cut off.
fn lacks_opening_brace(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('"')
        && PIECE_BEGINS.iter().any(|key| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
        })
}

#[derive(Default)]
struct FioJson {
    jobs: DocumentReader<Jobs>,
    has_begun: bool,
}

impl Reader for FioJson {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        match is_first && lacks_opening_brace(line) {
            true => self.jobs.line(&format!("{{{line}"), sink),
            false => self.jobs.line(line, sink),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.jobs.finish(sink);
    }
}

#[derive(Default)]
struct Jobs {
    runtime: Nanos,
    estimated: bool,
    /// The options of all jobs, as stated ahead of them.
    global: Option<Value>,
}

impl Content for Jobs {
    const KEYS: &[&str] = &MARKS;
    const LIST: Option<&str> = Some("\"jobs\"");

    fn head(&mut self, head: &Value, sink: &mut dyn Sink) {
        let version = head.get("fio version").and_then(Value::as_str);
        sink.source().host = version.map(str::to_string);
        self.global = head.get("global options").cloned();
    }

    fn element(&mut self, job: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        self.job(job, sink);
        Ok(())
    }

    /// What comes next to the jobs.
    fn rest(&mut self, rest: &Value, sink: &mut dyn Sink) {
        let list = |key: &str| rest.get(key).and_then(Value::as_array).into_iter().flatten();
        // A piece that was cut out of a document is one job of it, or a part of one.
        if ["read", "write", "trim"].iter().any(|part| rest.get(part).is_some()) {
            self.job(rest, sink);
        }
        for job in list("client_stats") {
            // Sums over all clients repeat the values of each of them.
            if job.get("jobname").and_then(Value::as_str) != Some("All clients") {
                self.job(job, sink);
            }
        }
        for disk in list("disk_util") {
            sink.lost(BELOW_ZERO, below_zero(disk));
            if let Some((name, disk)) = disk_of(disk)
                && let Some(interval) = disk_interval(&disk, self.runtime, sink.device(name))
            {
                sink.interval(interval);
            }
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        if self.estimated {
            sink.note(note("the counts of this histogram are computed from printed percentiles"));
        }
    }
}

impl Jobs {
    fn job(&mut self, job: &Value, sink: &mut dyn Sink) {
        let none = serde_json::Map::new();
        let options = [job.get("job options"), self.global.as_ref()];
        let options = options.map(|options| options.and_then(Value::as_object).unwrap_or(&none));
        // The name may be cut off a piece.
        let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
        let target = options.iter().find_map(|options| options.get("filename")?.as_str());
        let device = sink.device(&target.and_then(one_device).unwrap_or_else(|| name.to_string()));
        // By name, whatever the order of the document.
        for (key, value) in options.into_iter().flat_map(BTreeMap::from_iter) {
            let value = value.as_str().unwrap_or_default().trim();
            sink.add_fact(device, typed::FIO.member(long_name(key)), value);
        }
        let stated = |name: &str| options.iter().find_map(|known| known.get(name)?.as_str());
        // Where a depth is reported, so is the number of jobs, if it is not one.
        let jobs = stated("numjobs").map_or(Some(1), |jobs| jobs.trim().parse().ok());
        let depth = stated("iodepth");
        if let Some(most) = depth.and_then(|_| at_once(stated("ioengine"), depth, jobs)) {
            sink.add_fact(device, typed::RUN_AT_ONCE, most);
        }
        if let Some(error) = job.get("error").and_then(Value::as_u64).filter(|error| *error > 0) {
            sink.add_fact(device, typed::FIO.of("error"), error.to_string());
        }
        let on_cpu = |key: &str| job.get(key).and_then(Value::as_f64).filter(|share| *share >= 0.0);
        if let Some((user, system)) = on_cpu("usr_cpu").zip(on_cpu("sys_cpu")) {
            sink.add_fact(device, typed::RUN_CPU, Share((user + system).min(100.0) / 100.0));
        }
        let run = job.get("job_runtime");
        sink.lost(BELOW_ZERO, run.map_or(0, below_zero));
        let run_ms = run.and_then(Value::as_u64);
        for (key, op) in [
            ("read", Some(Op::Read)),
            ("write", Some(Op::Write)),
            ("trim", Some(Op::Discard)),
            ("mixed", None),
            ("sync", Some(Op::Flush)),
        ] {
            if let Some(part) = job.get(key)
                && {
                    // Where there should be a number of I/Os, of bytes or ns, fio prints none below
                    // zero.
                    sink.lost(BELOW_ZERO, below_zero(part));
                    true
                }
                && let Some((rates, count)) = direction(part, op, run_ms)
            {
                self.direction(part, rates, count, device, sink);
            }
        }
    }

    fn direction(
        &mut self,
        part: &Value,
        rates: Direction,
        count: u64,
        device: DeviceId,
        sink: &mut dyn Sink,
    ) {
        self.runtime = self.runtime.max(rates.runtime);
        sink.source().watched = Some(self.runtime);
        let mut latencies = Latencies::of(rates);
        let kinds = [LatencyKind::Slat, LatencyKind::Clat, LatencyKind::Lat];
        let found =
            kinds.map(|which| part_of(part, which).map(|(value, unit)| (which, value, unit)));
        for (which, value, unit) in found.into_iter().flatten() {
            *latencies.place(which) = summary(value, unit);
            let pairs = percentiles(value, unit);
            if !pairs.is_empty() {
                latencies.take_percentiles(which, 1, pairs);
            }
        }
        let exact = |kind| {
            let mut found = found.into_iter().flatten().filter(|(which, ..)| *which == kind);
            found.next().and_then(|(_, value, unit)| binned(value, unit))
        };
        self.estimated |= latencies.emit(device, count, exact, sink);
    }
}

/// A latency by its kind, and its unit in ns.
fn part_of(part: &Value, which: LatencyKind) -> Option<(&Value, u64)> {
    let in_ns = part.get(format!("{}_ns", which.name())).map(|value| (value, 1));
    let found = in_ns.or_else(|| part.get(which.name()).map(|value| (value, 1_000)))?;
    let counted = found.0.get("N").and_then(Value::as_u64) != Some(0);
    // 2.x has no N; there a latency without a maximum was not measured.
    let measured = found.0.get("max").and_then(Value::as_f64).is_some_and(|max| max > 0.0);
    (counted && measured).then_some(found)
}

/// Rates and number of I/Os of one direction, if it had any.
fn direction(part: &Value, op: Option<Op>, run_ms: Option<u64>) -> Option<(Direction, u64)> {
    let number = |key: &str| part.get(key).and_then(Value::as_f64).filter(|n| *n >= 0.0);
    let ms = part.get("runtime").and_then(Value::as_u64).or(run_ms)?;
    let runtime = Nanos(i64::try_from(ms).ok()?.checked_mul(1_000_000)?);
    let flushes = number("total_ios").filter(|_| runtime.ns() > 0);
    let ios_per_s = number("iops").or(flushes.map(|count| count / runtime.seconds()))?;
    let by_rate = (ios_per_s * runtime.seconds()).round() as u64;
    let count = part.get("total_ios").and_then(Value::as_u64).unwrap_or(by_rate);
    let bytes_per_s = number("bw_bytes").or(number("bw").map(|kib| kib * 1024.0));
    let direction = Direction { op, ios_per_s, bytes_per_s, runtime, old: false };
    (count > 0 && count <= COUNT_LIMIT).then_some((direction, count))
}

/// What [`below_zero`] counts.
const BELOW_ZERO: &str = "negative values";

/// Negative values in a part of a document, which mean something that fio did not know.
fn below_zero(value: &Value) -> u64 {
    match value {
        Value::Number(number) => u64::from(number.as_f64().is_some_and(|number| number < 0.0)),
        Value::Array(values) => values.iter().map(below_zero).sum(),
        Value::Object(values) => values.values().map(below_zero).sum(),
        _ => 0,
    }
}

fn summary(value: &Value, unit: u64) -> Option<Summary> {
    let ns = |key: &str| {
        let ns = value.get(key)?.as_f64()? * unit as f64;
        (0.0..LONGEST_NS).contains(&ns).then_some(ns)
    };
    let whole = |ns: f64| ns.round() as u64;
    Some(Summary { min_ns: whole(ns("min")?), max_ns: whole(ns("max")?), mean_ns: ns("mean")? })
}

/// Percentiles by the last ns of their bin.
fn percentiles(value: &Value, unit: u64) -> Vec<(f64, u64)> {
    let pairs = value.get("percentile").and_then(Value::as_object);
    let mut pairs: Vec<(f64, u64)> = pairs
        .into_iter()
        .flatten()
        .filter_map(|(percent, at)| {
            let percent = decimal(percent).filter(|percent| (0.0..=100.0).contains(percent))?;
            let (_, end) = bins::around(at.as_u64()?);
            // 2.x pads its twenty places with 0.
            (percent > 0.0).then_some((percent, end.checked_mul(unit)?.saturating_sub(1)))
        })
        .collect();
    pairs.order_by(|a, b| a.0.total_cmp(&b.0));
    pairs
}

/// The exact counts of json+.
fn binned(value: &Value, unit: u64) -> Option<Histogram> {
    let bins = value.get("bins")?.as_object()?;
    let rows = bins.iter().map(|(at, count)| {
        let (low, high) = bins::around(integer(at)?);
        Some((low.checked_mul(unit)?, high.checked_mul(unit)?, count.as_u64()?))
    });
    let mut histogram = histogram_of(rows.collect::<Option<Vec<_>>>()?)?;
    if let Some(Summary { min_ns, max_ns, mean_ns }) = summary(value, unit) {
        histogram.sum_ns = Some(mean_ns * histogram.count() as f64);
        (histogram.min_ns, histogram.max_ns) = (Some(min_ns), Some(max_ns));
    }
    Some(histogram)
}

fn disk_of(value: &Value) -> Option<(&str, Disk)> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64);
    let pair =
        |what: &str| Some([number(&format!("read_{what}"))?, number(&format!("write_{what}"))?]);
    let name = value.get("name")?.as_str()?;
    let disk = Disk {
        name: name.to_string(),
        ios: pair("ios"),
        sectors: pair("sectors"),
        merges: pair("merges"),
        ticks_ms: pair("ticks"),
        queue_ms: number("in_queue"),
        util_percent: value.get("util").and_then(Value::as_f64),
    };
    Some((name, disk))
}
