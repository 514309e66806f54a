//! The flight recorder: always on, histograms each second, every I/O around an incident, verdicts at once.
//!
//! ## Does
//! Counts every I/O of this machine in the kernel and writes, each second, histograms per device, operation and
//! stage, the counters of /proc/diskstats and the facts that changed into a store, which is thinned as it ages (to
//! minutes after two hours, to hours after two days, but around incidents) and bounded by `--keep-for` and `--store-size`.
//! The single I/Os of the last `--ring` stay in memory; of more than `--one-by-one` a second, those of the busiest devices
//! that took longer than 99 of 100 lately or failed, and a sample of the others, chosen in the kernel, while all are counted in its
//! histograms. A trigger writes them down, from 30 s before to 10 s after,
//! and has them judged: latency far above what the device does at this hour (4 times the 99.9th percentile of what
//! was learned, and a tenth of a second waited beyond), a stall (requests in flight, none completed for two
//! seconds), a failed I/O, an error in the kernel's log, `--psi`, a verdict that changes to an accusation of disk,
//! path or limit, SIGUSR1, and `iowhy mark TEXT`. The last 20 s are judged as often as
//! takes a five-hundredth of a core: at most each 10 s, at least each `--judge`, and each 20 s while I/Os wait of which too
//! little was learned yet (3000 of a device and operation). Incidents are limited in rate and take half of the store at most.
//!
//! Each incident is one line on stdout (or an entry with fields in the journal), a capture and a
//! JSON file (schema `iowhy.incident/1`) in the store, and what `--exec` gets on stdin. Everything is
//! asked later: `iowhy incidents`, and `--at`, `--since` and `--until` of `why`, `stat`, `hist`,
//! `map`, `top`, `report`, `compare`.
//!
//! Nothing waits for the disk that the store is on. What it refuses (full, gone) waits in memory, some minutes of it; what
//! is given up then is counted. That the store cannot be written is reported on stderr or in the journal, by status 503 of `/healthz` and
//! in `iowhy incidents`. A kill costs the second that was about to be written. Ages are recorded time: a wall clock that is
//! set ahead or back removes nothing, and the step is marked in the store. After the start the recorder has no rights but
//! those to read what the kernel tells and to write its store. `--listen` serves `/metrics` for Prometheus (text, OpenMetrics, or protobuf with
//! native histograms) and `/healthz`; with `--token-file` the figures are for those who show the token, with `--tls-cert`
//! and `--tls-key` they are told under TLS 1.2 or 1.3 (both files are read at the start; a new certificate needs a restart). `--otlp` pushes the same figures to an OpenTelemetry
//! collector, latencies as exponential histograms, under TLS to an address that begins with `https://`; a process without any rights does it, and only then.
//!
//! ## Examples
//! `iowhy watch`: into /var/lib/iowhy, until it is stopped; `contrib/iowhy-watch.service` runs it from boot on.
//! `iowhy watch --store /srv/recorder --keep-for 14d --store-size 4G`: longer, elsewhere.
//! `iowhy watch --listen 127.0.0.1:9435`: with figures for Prometheus.
//! `iowhy watch --listen 10.0.0.7:9435 --listen-wide --tls-cert host.pem --tls-key host.key --token-file token`: for others.
//! `iowhy watch --otlp http://127.0.0.1:4318`: pushed to an OpenTelemetry collector on this machine.
//! `iowhy watch --exec /usr/local/bin/page-me`: a program for each incident, its JSON on stdin.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use iowhy_model::Nanos;
use iowhy_store::Bounds;

use crate::arguments::{duration, watch_time};
use crate::command::{Command, Status};
use crate::messages::HintedError;
use crate::recorder::daemon::{self, Settings};
use crate::recorder::{announce, otlp};
use crate::store_input::FOLDER;
use crate::when::long_duration;

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "watch",
    summary: "The flight recorder: always on, keeps the I/Os around incidents, judges them",
    manual: iowhy_model::manual!("watch.rs"),
    arguments: WatchCommand::augment_args,
    run,
};

#[derive(Args, Debug)]
struct WatchCommand {
    /// The folder to record into [default: $STATE_DIRECTORY, else /var/lib/iowhy]
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Remove what is older: `36h`, `7d`, `2w`
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = long_duration)]
    keep_for: Duration,
    /// Keep no more bytes than these
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    store_size: u64,
    /// How much of the past is kept in memory, I/O by I/O
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    ring: Nanos,
    /// The memory for it
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    ring_size: u64,
    /// Keep every single I/O up to so many a second; above, the slow ones and a sample of the others
    #[arg(long, value_name = "RATE", default_value = "20000")]
    #[arg(value_parser = clap::value_parser!(u32).range(100..))]
    one_by_one: u32,
    /// An incident from this share of 10 s in which tasks waited for I/O (PSI some avg10), %
    #[arg(long, value_name = "PERCENT", default_value = "60", value_parser = clap::value_parser!(u8).range(1..=100))]
    psi: u8,
    /// The longest pause after which things are judged without an incident
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    judge: Nanos,
    /// Incidents an hour at most
    #[arg(long, value_name = "N", default_value = "30")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    per_hour: u32,
    /// Serve figures for Prometheus at this address: `127.0.0.1:9435`
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Allow `--listen` at an address that others can reach; use `--tls-cert` and `--token-file` too
    #[arg(long, requires = "listen")]
    listen_wide: bool,
    /// Answer only who shows the token on this file's first line (`Authorization: Bearer`)
    #[arg(long, requires = "listen", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Answer under TLS, with the certificates of this PEM file
    #[arg(long, requires_all = ["listen", "tls_key"], value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The private key that belongs to the first of them
    #[arg(long, requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Push figures to an OpenTelemetry collector, OTLP over HTTP: `http://127.0.0.1:4318`, `https://HOST`
    #[arg(long, value_name = "URL", value_parser = collector)]
    otlp: Option<String>,
    /// Trust the certificates that these vouch for, a PEM file, instead of those of this machine
    #[arg(long, value_name = "FILE")]
    otlp_ca: Option<PathBuf>,
    /// How often figures are pushed
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = duration)]
    otlp_every: Nanos,
    /// A program to run for each incident, without a shell, its JSON on stdin
    #[arg(long, value_name = "PROGRAM")]
    exec: Option<PathBuf>,
    /// Only this device (may be given several times)
    #[arg(short, long, value_name = "NAME")]
    device: Vec<String>,
    /// How long to record; without it, until it is stopped
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Nanos>,
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
        let text = "`--otlp-ca` says whom to trust, and nothing is pushed under TLS";
        return Err(HintedError::error(text, "push to `--otlp https://HOST`, or leave it out"));
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
        listen_wide: asked.listen_wide,
        token: asked.token_file,
        tls: asked.tls_cert.zip(asked.tls_key),
        otlp: asked.otlp.map(|address| (address, pause(asked.otlp_every))),
        otlp_ca: asked.otlp_ca,
        exec: asked.exec,
        devices: asked.device,
        length_ns: asked.watch_for.map(Nanos::ns),
        json: asked.json,
        clock_shifted_by: asked.clock_shifted_by,
    };
    daemon::run(&settings)
}

fn collector(text: &str) -> Result<String, String> {
    otlp::Collector::parse(text).map(|_| text.to_string())
}

/// Once a second at most: figures change no oftener.
fn pause(every: Nanos) -> Duration {
    Duration::from_nanos(every.ns().max(0) as u64).max(Duration::from_secs(1))
}

fn size(text: &str) -> Result<u64, String> {
    match iowhy_read::bytes(text).filter(|bytes| *bytes >= f64::from(1 << 20)) {
        Some(bytes) => Ok(bytes as u64),
        None => Err(format!("`{text}` is not a size from 1M on, such as `1G`")),
    }
}
