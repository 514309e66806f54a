//! Flight recorder: histograms each second, every I/O around incidents, immediate verdicts.
//!
//! ## Does
//! Counts every I/O of this machine in the kernel and writes, each second, histograms per device,
//! operation and stage, the counters of /proc/diskstats and changed facts to a store. The store is
//! aggregated as it ages (to minutes after two hours, to hours after two days, except around
//! incidents) and limited by `--keep-for` and `--store-size`. The individual I/Os of the last
//! `--ring` stay in memory; above a rate of `--one-by-one`, only those of the busiest devices that
//! failed or were slower than the recent 99th percentile, and a sample of the others, selected in
//! the kernel; all I/Os are counted in its histograms. A trigger saves the I/Os from 30 s before to
//! 10 s after it and has them judged: latency far above the usual value for the device at this hour
//! (4 times the learned 99.9th percentile, and at least a tenth of a second waited beyond it), a
//! stall (requests in flight, none completed for two seconds), a failed I/O, an error in the
//! kernel's log, `--psi`, a verdict that changes to one against disk, path or limit, SIGUSR1, and
//! `iowhy mark TEXT`. The last 20 s are judged as often as 0.2 % of a core allows: at most every
//! 10 s, at least every `--judge`, and every 20 s while I/Os wait for which the baseline is
//! incomplete (fewer than 3000 of a device and operation). Incidents are limited in rate and take
//! at most half of the store.
//!
//! Each incident is one line on stdout (or an entry with fields in the journal), a capture and a
//! JSON file (schema `iowhy.incident/1`) in the store, and the stdin of the `--exec` program. It is
//! announced while it goes on, as soon as the verdict on its beginning accuses a device, and again
//! only if the verdict on all of it is another. Query the store later with `iowhy incidents`, and
//! with `--at`, `--since` and `--until` of `why`, `stat`, `hist`, `map`, `top`, `report`,
//! `compare`.
//!
//! `--clock kernel` takes the times that the kernel keeps in each request, from one probe at its
//! completion: fewer nanoseconds per I/O, but no process, no time before the request (B2Q) and no
//! queue depth, and Q2D of a batch is 0. While an incident is recorded, and in one second of
//! thirty, the exact tracer is attached beside it, and then these are known, too, except the depth.
//!
//! Recording never waits for the disk of the store. If that disk fails writes (full, removed), up
//! to some minutes of data are buffered in memory; data dropped after that is counted. A store that
//! is not writable is reported on stderr or in the journal, by status 503 of `/healthz` and in
//! `iowhy incidents`. If it is killed, the second that was about to be written is lost. Ages are
//! counted in recorded time: setting the wall clock ahead or back removes nothing, and the step is
//! noted in the store. After the start the recorder keeps only the privileges to read kernel data
//! and to write its store. `--listen` serves `/metrics` for Prometheus (text, OpenMetrics, or
//! protobuf with native histograms) and `/healthz`; `--token-file` requires a token, and
//! `--tls-cert` with `--tls-key` enables TLS 1.2 or 1.3 (both files are read at the start; a new
//! certificate needs a restart). `--otlp` pushes the same metrics to an OpenTelemetry collector,
//! latencies as exponential histograms, with TLS if the address begins with `https://`; this is
//! done by a separate unprivileged process.
//!
//! ## Examples
//! `iowhy watch`: into /var/lib/iowhy, until it is stopped; `contrib/iowhy-watch.service` starts it
//! at boot. `iowhy watch --store /srv/recorder --keep-for 14d --store-size 4G`: longer, in another
//! folder. `iowhy watch --listen 127.0.0.1:9435`: with metrics for Prometheus. `iowhy watch
//! --listen 10.0.0.7:9435 --listen-wide --tls-cert host.pem --tls-key host.key --token-file token`:
//! on the network. `iowhy watch --otlp http://127.0.0.1:4318`: pushes metrics to an OpenTelemetry
//! collector on this machine. `iowhy watch --exec /usr/local/bin/page-me`: runs a program for each
//! incident, with its JSON on stdin.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_live::TraceClock;
use iowhy_model::Nanos;
use iowhy_store::Bounds;

use crate::arguments::{duration, trace_clock, watch_time};
use crate::command::{Command, Status};
use crate::device_lookup;
use crate::messages::{self, HintedError};
use crate::recorder::metrics::Limit;
use crate::recorder::settings::{MetricsBy, Settings};
use crate::recorder::{announce, daemon, otlp};
use crate::store_input::FOLDER;
use crate::when::{length, long_duration};

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "watch",
    summary: "Flight recorder: always on, keeps and judges the I/Os around incidents",
    manual: iowhy_model::manual!("watch.rs"),
    arguments: WatchCommand::augment_args,
    run,
};

#[derive(Args, Debug)]
struct WatchCommand {
    /// The folder to record into [default: $STATE_DIRECTORY, else /var/lib/iowhy]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Remove data older than this: `36h`, `7d`, `2w`
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = long_duration)]
    keep_for: Duration,
    /// Maximum size of the store
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    store_size: u64,
    /// How long individual I/Os are kept in memory
    #[arg(long, value_name = "TIME", default_value = "35s", value_parser = duration)]
    ring: Nanos,
    /// Memory for individual I/Os
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    ring_size: u64,
    /// Keep every I/O up to this rate per second; above it, the slow ones and a sample of the
    /// others
    #[arg(long, value_name = "RATE", default_value = "20000")]
    #[arg(value_parser = clap::value_parser!(u32).range(100..))]
    one_by_one: u32,
    /// Trigger an incident when tasks wait for I/O this share of 10 s (PSI some avg10), %
    #[arg(long, value_name = "PERCENT", default_value = "60", value_parser = clap::value_parser!(u8).range(1..=100))]
    psi: u8,
    /// Longest interval between verdicts without an incident
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    judge: Nanos,
    /// Maximum number of incidents per hour
    #[arg(long, value_name = "N", default_value = "30")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    per_hour: u32,
    /// Serve Prometheus metrics at this address: `127.0.0.1:9435`
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Also metrics by container or by volume, of the first 256 of them
    #[arg(long, value_name = "KEY")]
    metrics_by: Option<MetricsBy>,
    /// Allow `--listen` on a non-loopback address; use it with `--tls-cert` and `--token-file`
    #[arg(long, requires = "listen")]
    listen_wide: bool,
    /// Require the token in the first line of this file (`Authorization: Bearer`)
    #[arg(long, requires = "listen", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Serve over TLS with the certificates in this PEM file
    #[arg(long, requires_all = ["listen", "tls_key"], value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Private key of the first certificate
    #[arg(long, requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Push metrics to an OpenTelemetry collector, OTLP over HTTP: `http://127.0.0.1:4318`,
    /// `https://HOST`
    #[arg(long, value_name = "URL", value_parser = collector)]
    otlp: Option<String>,
    /// CA certificates for `--otlp`, a PEM file, instead of the system's
    #[arg(long, value_name = "FILE")]
    otlp_ca: Option<PathBuf>,
    /// Push interval
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration)]
    otlp_every: Nanos,
    /// Program to run for each incident, without a shell; it gets the incident as JSON on stdin
    #[arg(long, value_name = "PROGRAM")]
    exec: Option<PathBuf>,
    /// Source of the times: exact (iowhy reads the clock at each event) or kernel (times that the
    /// kernel keeps in each request: cheaper; exact ones in incidents and one second of thirty)
    #[arg(long, value_name = "CLOCK", default_value = "exact", value_parser = trace_clock)]
    clock: TraceClock,
    /// What a device may do, for the metric of headroom: `sdb=16000` I/Os a second, `sdb=250M`
    /// bytes a second (may be given several times)
    #[arg(long, value_name = "DEVICE=RATE", value_parser = limit)]
    limit: Vec<Limit>,
    /// Only this device (may be given several times)
    #[arg(short, long, value_name = "NAME")]
    device: Vec<String>,
    /// How long to record; without it, until it is stopped
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// One JSON object (or one per line) instead of text; `docs/JSON.md` has the schemas
    #[arg(long)]
    json: bool,
    /// For tests: see `recorder::clock::ClockSource`
    #[arg(long, hide = true, value_name = "FILE")]
    clock_shifted_by: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "PROGRAM")]
    run_for_incidents: Option<PathBuf>,
    #[arg(long, hide = true, value_name = "URL")]
    push_exports: Option<String>,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let asked = WatchCommand::from_arg_matches(matches)?;
    if let Some(program) = &asked.run_for_incidents {
        announce::run_for_incidents(program)?;
        return Ok(Status::Done);
    }
    if let Some(address) = &asked.push_exports {
        otlp::push_exports(address, asked.otlp_ca.as_deref())?;
        return Ok(Status::Done);
    }
    let is_plain = |address: &String| address.starts_with("http://");
    if asked.otlp_ca.is_some() && asked.otlp.as_ref().is_none_or(is_plain) {
        let text = "`--otlp-ca` has no effect: the `--otlp` address does not use TLS";
        return Err(HintedError::error(text, "push to `--otlp https://HOST`, or omit it"));
    }
    if asked.metrics_by.is_some() && asked.clock == TraceClock::Kernel {
        let text = "`--metrics-by` counts single I/Os, and `--clock kernel` sees those of one \
                    second in thirty";
        return Err(HintedError::error(text, "omit one of the two"));
    }
    let (devices, partition) = device_lookup::on_this_machine(&asked.device)?;
    if let Some((name, _)) = partition {
        let text = device_lookup::of_whole_disk(&name, &name, &devices.join(", "));
        messages::warn(&text, None);
    }
    let state = || std::env::var_os("STATE_DIRECTORY").map(PathBuf::from);
    let settings = Settings {
        store: asked.store.or_else(state).unwrap_or_else(|| PathBuf::from(FOLDER)),
        bounds: Bounds { keep: asked.keep_for, size: asked.store_size, ..Bounds::default() },
        ring_ns: asked.ring.ns(),
        ring_bytes: usize::try_from(asked.ring_size).unwrap_or(usize::MAX),
        one_by_one: f64::from(asked.one_by_one),
        psi: f64::from(asked.psi) / 100.0,
        judge_ns: asked.judge.ns(),
        per_hour: f64::from(asked.per_hour),
        listen: asked.listen,
        metrics_by: asked.metrics_by,
        listen_wide: asked.listen_wide,
        token: asked.token_file,
        tls: asked.tls_cert.zip(asked.tls_key),
        otlp: asked.otlp.map(|address| (address, pause(asked.otlp_every))),
        otlp_ca: asked.otlp_ca,
        exec: asked.exec,
        clock: match asked.clock {
            TraceClock::Kernel => TraceClock::ByTurns,
            clock => clock,
        },
        limits: limits(asked.limit)?,
        devices,
        length: asked.watch_for,
        json: asked.json,
        clock_shifted_by: asked.clock_shifted_by,
    };
    daemon::run(&settings)
}

/// Limits by the kernel's names of their devices.
fn limits(mut asked: Vec<Limit>) -> anyhow::Result<Vec<Limit>> {
    for limit in &mut asked {
        let (devices, _) = device_lookup::on_this_machine(std::slice::from_ref(&limit.device))?;
        if let [device] = &devices[..] {
            limit.device.clone_from(device);
        }
    }
    Ok(asked)
}

/// A number is of I/Os, a size with its unit of bytes.
fn limit(text: &str) -> Result<Limit, String> {
    let wrong = || {
        format!(
            "`{text}` is not a limit: write `sdb=16000` (I/Os a second), `sdb=250M` \
        (bytes)"
        )
    };
    let (device, rate) = text.rsplit_once('=').ok_or_else(wrong)?;
    let rate = rate.trim_end_matches("/s");
    let of_bytes = rate.ends_with(|letter: char| letter.is_ascii_alphabetic());
    let per_s = if of_bytes { iowhy_read::bytes(rate) } else { rate.parse().ok() };
    let per_s = per_s.filter(|rate: &f64| rate.is_finite() && *rate > 0.0).ok_or_else(wrong)?;
    if device.is_empty() {
        return Err(wrong());
    }
    Ok(Limit { device: device.to_string(), of_bytes, per_s })
}

fn collector(text: &str) -> Result<String, String> {
    otlp::Collector::parse(text).map(|_| text.to_string())
}

/// At most once a second, as often as the numbers change.
fn pause(every: Nanos) -> Duration {
    length(every).max(Duration::from_secs(1))
}

fn size(text: &str) -> Result<u64, String> {
    match iowhy_read::bytes(text).filter(|bytes| *bytes >= f64::from(1 << 20)) {
        Some(bytes) => Ok(bytes as u64),
        None => Err(format!("`{text}` is not a size of at least 1M, such as `1G`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_of_ios_or_of_bytes() {
        let of = |text: &str| limit(text).map(|one| (one.device, one.of_bytes, one.per_s));
        assert_eq!(of("sdb=16000"), Ok(("sdb".to_string(), false, 16_000.0)));
        assert_eq!(of("/dev/sdb=250M/s"), Ok(("/dev/sdb".to_string(), true, 262_144_000.0)));
        for wrong in ["sdb", "sdb=", "sdb=0", "=5", "sdb=x", "sdb=-3", "sdb=inf"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
