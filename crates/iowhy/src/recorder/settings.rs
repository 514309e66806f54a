//! Settings of the recorder.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use iowhy_live::TraceClock;
use iowhy_store::Bounds;

use super::metrics::Limit;

/// Settings of the recorder, from the command line.
pub(crate) struct Settings {
    /// Where to record.
    pub store: PathBuf,
    /// How much is kept.
    pub bounds: Bounds,
    /// Length of the ring.
    pub ring_ns: i64,
    /// Memory of the ring.
    pub ring_bytes: usize,
    /// I/Os a second up to which all are kept individually.
    pub one_by_one: f64,
    /// Pressure that triggers an incident, 0 to 1.
    pub psi: f64,
    /// Maximum interval between verdicts.
    pub judge_ns: i64,
    /// Incidents an hour.
    pub per_hour: f64,
    /// Where to serve metrics.
    pub listen: Option<SocketAddr>,
    /// By which names I/Os have metrics of their own, too.
    pub metrics_by: Option<MetricsBy>,
    /// Whether it may be a non-loopback address.
    pub listen_wide: bool,
    /// The file of the token.
    pub token: Option<PathBuf>,
    /// Certificates and key for TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Where to push metrics, and how often.
    pub otlp: Option<(String, Duration)>,
    /// CA certificates for it, instead of the system's.
    pub otlp_ca: Option<PathBuf>,
    /// A program for each incident.
    pub exec: Option<PathBuf>,
    /// Who reads the clock.
    pub clock: TraceClock,
    /// Limits of devices, for metrics of headroom.
    pub limits: Vec<Limit>,
    /// Only these devices.
    pub devices: Vec<String>,
    /// How long to record.
    pub length: Option<Duration>,
    /// Incidents as JSON.
    pub json: bool,
    /// See [`ClockSource`](super::clock::ClockSource).
    pub clock_shifted_by: Option<PathBuf>,
}

/// By which names I/Os have metrics.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MetricsBy {
    /// The container that is charged.
    Container,
    /// The volume: of device mapper, md, ZFS, or the file of a loop device.
    Volume,
}
