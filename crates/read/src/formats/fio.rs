//! Normal (human) output of fio, the flexible I/O tester, and the command line it was run with.
//!
//! ## Reads
//! A command line with options, the heading of a job, and for each job or group its rates, its
//! `slat`, `clat` and `lat` lines, percentiles, shares per latency range, and the disk totals at
//! the end; with `fsync` or `fdatasync` the times of these flushes. Rates become an interval of the
//! application, latencies become histograms labelled `slat`, `clat`, `lat` and, for flushes,
//! `sync`, disk totals an interval of the block layer, and options the facts `fio.iodepth`,
//! `fio.numjobs`, `fio.blocksize`, `fio.readwrite` and so on. Requests that failed are counted as
//! `run.failed`, with the error as `run.error`, and as `scan.failed` if it is an I/O error.
//!
//! ## How to capture
//! `fio JOBFILE` or `fio --name=...` without `--output-format`; `fio --client=HOST JOBFILE`, where
//! each line begins with `<HOST>`: each server becomes a listing with its own disks.
//!
//! ## Versions
//! 1.x and 2.x (`io=, bw=, iops=, runt=`) and 3.x (`IOPS=, BW=`). In 2.x KB means 1024 bytes. With
//! `unified_rw_reporting` reads and writes come together, as `mixed`.
//!
//! ## Caveats
//! The device is the one of `--filename`, if that is a single one in /dev, else the job's name.
//! `lat (usec) : 250=0.04%` is the share below 250 us and above the step before, over reads and
//! writes together, of completion latencies. Counts of such shares and of percentiles are not
//! printed: they are computed from the number of I/Os, which fio issued or which follows from rate
//! and runtime, with a note. With one direction the shares are used only if percentiles are
//! missing, because they are less detailed; with several they are kept separately. A printed rate
//! such as `23.8k` has three digits. fio starts its clock when it issues: if it falls behind its
//! own schedule, that wait is not counted. Writes with a flush after each end in the page cache:
//! their `clat` is that of memory, and the flush has the disk time. fio does not count the flushes
//! of `fdatasync=1`: one after each write. Totals over several servers (`All clients`) repeat them
//! and are ignored.
//!
//! ## Not in this output
//! What the device did: queueing in fio's own depth and in the host is part of `clat`.

use std::collections::{BTreeMap, BTreeSet};

use iowhy_model::DeviceId;
use iowhy_model::typed::Share;

use crate::fio::latencies::{Latencies, at_once, disk_interval, shares_histogram};
use crate::fio::lines::{self, DepthMet, Direction, Disk, LatencyKind, RunError};
use crate::listing::another_run;
use crate::program::*;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::by_line::<Fio>(
    "fio's normal output and command line: rates, latencies, percentiles, disk totals",
    Level::B,
    &["fio", ": (g=", ": (groupid=", "msec"],
    begins,
);

/// Beginnings of lines of fio that carry nothing for us.
const IGNORED_LINES: [&str; 17] = [
    "fio-", "Starting ", "Jobs: ", "Description ", "bw (", "fsync/fdatasync/sync_file_range:",
    "iops ", "cpu ", "IO depths", "submit ", "complete ", "latency ", "READ:", "WRITE:", "TRIM:",
    "MIXED:", "fio: ",
];

/// A line without the leading host of a server's output, `<db1> `, and that host.
fn spoken(line: &str) -> (Option<&str>, &str) {
    let parts = line.strip_prefix('<').and_then(|rest| rest.split_once("> "));
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    match parts.filter(|(host, _)| !host.is_empty() && host.chars().all(letter)) {
        Some((host, rest)) => (Some(host), rest),
        None => (None, line),
    }
}

/// The last column of the distribution of depths: this many or more.
const MAX_DEPTH_COLUMN: u64 = 64;

fn begins(line: &str) -> bool {
    let (_, line) = spoken(line);
    is_for_people(line)
        && (lines::command(line).is_some()
            || lines::job(line).is_some()
            || lines::group(line).is_some()
            || line.starts_with("fio: ") && lines::run_error(line).is_some()
            || lines::direction(line).is_some())
}

#[derive(Default)]
struct Fio {
    /// The device of `--filename`, if it is one.
    target: Option<String>,
    job: String,
    /// Options already stated, so that a job's heading does not repeat the command line.
    stated: BTreeSet<String>,
    /// Below the heading of a job.
    in_group: bool,
    /// Inside a command line that goes on.
    in_command: bool,
    /// Output has begun: another command line or job heading is another run.
    in_output: bool,
    directions: Vec<Latencies>,
    shares: Vec<(u64, u64, f64)>,
    issued: Option<[u64; 4]>,
    /// The percentiles that follow are of this latency, in this unit.
    heading: Option<(LatencyKind, u64)>,
    runtime: Option<Nanos>,
    estimated: bool,
    /// Jobs of the group that is being read.
    jobs: Option<u64>,
    /// Engine and depth of each job, as its heading says.
    depths: BTreeMap<String, (Option<String>, Option<String>)>,
    /// Whose output it is, where a client collected that of several servers.
    server: Option<String>,
    /// Inside what the client adds up over all servers.
    in_sum: bool,
    /// What failed since the last group: the error, the file, and how many.
    failed: Option<Failed>,
    /// Depth most requests met, and the depth asked for, as the lines below a group say.
    met: Option<DepthMet>,
    asked: Option<u64>,
}

/// Requests that failed.
struct Failed {
    error: String,
    is_of_a_device: bool,
    path: Option<String>,
    count: u64,
    /// Whether a group says so, and not only a message while it ran.
    is_of_group: bool,
}

/// The group in which a client adds up its servers.
const SUM: &str = "All clients";

impl Reader for Fio {
    /// Below the heading of a job, whatever was put between them, the first rates are that job's.
    fn claims_row(&self, line: &str) -> bool {
        let (_, line) = spoken(line);
        self.in_group && self.directions.is_empty() && lines::direction(line).is_some()
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let (server, line) = spoken(line);
        if lines::group(line).is_some_and(|(name, _)| name == SUM) {
            self.close_group(sink);
            self.in_sum = true;
        }
        self.in_sum &= server.is_none();
        if self.in_sum && lines::job(line).is_none() && lines::command(line).is_none() {
            let ours = self.output(line, sink);
            (self.directions, self.shares, self.issued) = (Vec::new(), Vec::new(), None);
            self.failed = None;
            return ours;
        }
        self.server(server, sink);
        let command = lines::command(line);
        let job = lines::job(line);
        if self.in_output && (command.is_some() || job.is_some()) {
            return Step::End;
        }
        if let Some(options) = command {
            self.options(options, sink);
            self.in_command = true;
            return Step::Consumed;
        }
        if self.in_command && line.trim_start().starts_with('-') {
            let words: Vec<&str> = line.split_whitespace().collect();
            self.options(lines::options(&words), sink);
            return Step::Consumed;
        }
        self.in_command = false;
        if let Some((name, options)) = job {
            self.job = name.to_string();
            let of = |key: &str| options.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
            self.depths.insert(name.to_string(), (of("ioengine"), of("iodepth")));
            self.options(options, sink);
            return Step::Consumed;
        }
        if line.trim().is_empty() {
            return Step::Consumed;
        }
        let step = self.output(line, sink);
        self.in_output |= step == Step::Consumed && !self.directions.is_empty();
        step
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close_group(sink);
        self.state_failed(sink);
    }
}

impl Fio {
    /// The next line is of this server: each has disks and a clock of its own.
    fn server(&mut self, server: Option<&str>, sink: &mut dyn Sink) {
        let Some(server) = server.filter(|server| self.server.as_deref() != Some(*server)) else {
            return;
        };
        if self.in_output {
            self.close_group(sink);
            another_run(sink);
            (self.in_output, self.runtime, self.estimated) = (false, None, false);
        }
        sink.source().host = Some(server.to_string());
        self.server = Some(server.to_string());
        self.stated.clear();
    }

    /// A device by its name; of one of several servers by both names. Where the line with the job's
    /// name was cut off, the tool's stands for it.
    fn named(&self, name: &str, sink: &mut dyn Sink) -> DeviceId {
        let name = if name.is_empty() { "fio" } else { name };
        match &self.server {
            Some(server) => sink.device(&format!("{server}:{name}")),
            None => sink.device(name),
        }
    }

    /// Remembers what failed: several lines say it, and the first names the file.
    fn fails(&mut self, error: RunError) {
        let failed = self.failed.get_or_insert_with(|| Failed {
            error: error.text.to_string(),
            is_of_a_device: error.is_of_a_device(),
            path: error.path.map(str::to_string),
            count: 1,
            is_of_group: false,
        });
        failed.is_of_group |= self.in_group;
        failed.count = failed.count.max(error.count.unwrap_or(1));
    }

    /// States what failed, of the file's disk.
    fn state_failed(&mut self, sink: &mut dyn Sink) {
        let Some(failed) = self.failed.take() else { return };
        let of_path = failed.path.as_deref().and_then(lines::one_device);
        let name = of_path.as_deref().unwrap_or_else(|| self.device());
        let name = if name.is_empty() { failed.path.as_deref().unwrap_or("fio") } else { name };
        let device = self.named(name, sink);
        if !self.in_output {
            sink.source().level = Level::A;
        }
        sink.add_fact(device, typed::RUN_FAILED, failed.count);
        sink.add_fact(device, typed::RUN_ERROR, failed.error);
        // A group alone does not say where.
        let is_placed = failed.path.is_some() || self.target.is_some();
        if failed.is_of_a_device && is_placed {
            sink.add_fact(device, typed::SCAN_FAILED, failed.count);
        }
    }

    fn output(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let error = lines::run_error(line);
        if let Some((name, jobs)) = lines::group(line) {
            self.close_group(sink);
            self.job = name.to_string();
            self.jobs = jobs;
            self.in_group = true;
            if let Some(error) = error {
                self.fails(error);
            }
        } else if let Some(error) = error {
            self.fails(error);
        } else if let Some(rates) = lines::direction(line) {
            self.runtime = self.runtime.max(Some(rates.runtime));
            self.directions.push(Latencies::of(rates));
        } else if let Some((which, summary)) = lines::summary(line) {
            if which == LatencyKind::Sync
                && let Some(last) = self.directions.last().map(|last| last.rates)
            {
                // Their count comes below, and their rate with it.
                let (op, ios_per_s, bytes_per_s) = (Some(Op::Flush), 0.0, None);
                self.directions.push(Latencies::of(Direction {
                    op,
                    ios_per_s,
                    bytes_per_s,
                    ..last
                }));
            }
            let Some(last) = self.directions.last_mut() else { return Step::NotMine };
            *last.place(which) = Some(summary);
        } else if let Some(heading) = lines::percentile_heading(line) {
            self.heading = Some(heading);
        } else if let Some(pairs) = lines::percentiles(line) {
            let (Some(last), Some((which, unit))) = (self.directions.last_mut(), self.heading)
            else {
                return Step::NotMine;
            };
            last.take_percentiles(which, unit, pairs);
        } else if let Some(rows) = lines::shares(line, self.is_old()) {
            self.shares.extend(rows);
        } else if let Some(issued) = lines::issued(line) {
            self.issued = Some(issued);
        } else if let Some(met) = lines::depth_met(line) {
            self.met = Some(met);
        } else if let Some((deviation, samples)) = lines::rate_over_time(line) {
            // Of the direction above it.
            let op = self.directions.last().and_then(|last| last.rates.op);
            if let Some(op) = op.filter(|op| *op != Op::Flush) {
                let device = self.named(self.device(), sink);
                sink.add_fact(device, typed::RUN_RATE_DEVIATION.of(op.name()), deviation);
                sink.add_fact(device, typed::RUN_RATE_SAMPLES.of(op.name()), samples);
            }
        } else if let Some(percent) = lines::on_cpu(line) {
            let device = self.named(self.device(), sink);
            sink.add_fact(device, typed::RUN_CPU, Share(percent / 100.0));
        } else if let Some(asked) = lines::depth_asked(line) {
            self.asked = Some(asked);
        } else if let Some(disk) = lines::disk(line) {
            self.close_group(sink);
            return self.disk(&disk, sink);
        } else {
            return self.passed_over(line.trim(), sink);
        }
        Step::Consumed
    }

    fn passed_over(&mut self, text: &str, sink: &mut dyn Sink) -> Step {
        if text.starts_with("fio-") && !text.contains(' ') {
            sink.source().host = Some(text.to_string());
        }
        let known = text.starts_with("Run status group")
            || text.starts_with("Disk stats")
            || text.starts_with("aggr")
            || text.contains("Laying out IO file")
            || IGNORED_LINES.iter().any(|beginning| text.starts_with(beginning));
        if known { Step::Consumed } else { Step::NotMine }
    }

    fn is_old(&self) -> bool {
        self.directions.last().is_some_and(|last| last.rates.old)
    }

    fn device(&self) -> &str {
        self.target.as_deref().unwrap_or(&self.job)
    }

    fn options(&mut self, options: Vec<(String, String)>, sink: &mut dyn Sink) {
        for (key, value) in &options {
            match key.as_str() {
                "filename" => self.target = lines::one_device(value),
                "name" if self.job.is_empty() => self.job = value.clone(),
                _ => {}
            }
        }
        sink.source().level = Level::A;
        let device = (!self.device().is_empty()).then(|| self.named(self.device(), sink));
        for (key, value) in options {
            if self.stated.insert(key.clone()) {
                sink.add_fact(device, typed::FIO.member(key), value.trim());
            }
        }
    }

    /// Gives out a job or group: its rates, its latencies, its shares.
    fn close_group(&mut self, sink: &mut dyn Sink) {
        let mut directions = std::mem::take(&mut self.directions);
        let (shares, issued) = (std::mem::take(&mut self.shares), self.issued.take());
        self.heading = None;
        if self.failed.as_ref().is_some_and(|failed| failed.is_of_group) {
            self.state_failed(sink);
        }
        if directions.is_empty() {
            return;
        }
        sink.source().level = Level::A;
        sink.source().watched = self.runtime;
        let device = self.named(self.device(), sink);
        let is_flush = |direction: &Latencies| direction.rates.op == Some(Op::Flush);
        let of_requests = directions.iter().filter(|direction| !is_flush(direction)).count();
        if let ([first, ..], 1) = (&mut directions[..], of_requests) {
            first.shares = shares.clone();
        }
        self.state_at_once(device, sink);
        let mut total = 0;
        for direction in &mut directions {
            let count = direction.count(issued);
            if is_flush(direction) {
                let seconds = direction.rates.runtime.seconds();
                direction.rates.ios_per_s =
                    if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
            } else {
                total += count;
            }
            self.estimated |= direction.emit(device, count, |_| None, sink);
        }
        if of_requests > 1
            && let Some(histogram) = shares_histogram(&shares, total)
        {
            self.estimated = true;
            let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
            one.length = directions.iter().map(|direction| direction.rates.runtime).max();
            one.label = Some(sink.name("clat, shares"));
            sink.distribution(one);
        }
        self.state_estimated(sink);
    }

    /// States how many requests the group has in flight at most, if heading and group say it.
    fn state_at_once(&mut self, device: DeviceId, sink: &mut dyn Sink) {
        let jobs = self.jobs.take();
        if let Some(jobs) = jobs {
            sink.add_fact(device, typed::RUN_THREADS, jobs);
        }
        // Without a heading the engine is not known: the requested depth counts if requests reached
        // it. An engine that waits for each I/O has a depth of one, whatever was requested.
        let (met, asked) = (self.met.take(), self.asked.take());
        let alone = met.is_some_and(|met| met.by_all && met.depth == 1);
        let met = asked
            .zip(met.map(|met| met.depth))
            .filter(|(asked, met)| (*met..2 * met).contains(asked) || *met == MAX_DEPTH_COLUMN);
        let most = match self.depths.get(&self.job) {
            _ if alone => jobs,
            Some((engine, depth)) => at_once(engine.as_deref(), depth.as_deref(), jobs),
            None => met.and_then(|(asked, _)| asked.checked_mul(jobs?)),
        };
        let Some(most) = most else { return };
        sink.add_fact(device, typed::RUN_AT_ONCE, most);
    }

    /// Says once that counts are not fio's own.
    fn state_estimated(&mut self, sink: &mut dyn Sink) {
        let reason = "the counts of this histogram are computed from printed percentiles or shares";
        let known = sink.source().notes.iter().any(|note| note.reason == reason);
        if self.estimated && !known {
            sink.note(note(reason));
        }
    }

    fn disk(&mut self, disk: &Disk, sink: &mut dyn Sink) -> Step {
        let device = self.named(&disk.name, sink);
        let length = self.runtime.unwrap_or_default();
        let Some(interval) = disk_interval(disk, length, device) else {
            return Step::skipped("disk totals without I/Os or without a runtime");
        };
        sink.interval(interval);
        Step::Consumed
    }
}
