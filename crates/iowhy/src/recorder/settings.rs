//! What was asked of the recorder.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use iowhy_live::TraceClock;
use iowhy_store::Bounds;

/// What was asked for.
pub struct Settings {
    /// Where to record.
    pub store: PathBuf,
    /// How much is kept.
    pub bounds: Bounds,
    /// Length of the ring.
    pub ring_ns: i64,
    /// Memory of the ring.
    pub ring_bytes: usize,
    /// I/Os a second up to which all are kept one by one.
    pub one_by_one: f64,
    /// Pressure that is an incident, 0 to 1.
    pub psi: f64,
    /// How often things are judged.
    pub judge_ns: i64,
    /// Incidents an hour.
    pub per_hour: f64,
    /// Where to serve metrics.
    pub listen: Option<SocketAddr>,
    /// Whether others may reach it.
    pub listen_wide: bool,
    /// Holds what they have to show.
    pub token: Option<PathBuf>,
    /// The certificates and the key to answer under TLS with.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Where to push metrics, and how often.
    pub otlp: Option<(String, Duration)>,
    /// Whom to trust there, where it is not whom this machine trusts.
    pub otlp_ca: Option<PathBuf>,
    /// A program for each incident.
    pub exec: Option<PathBuf>,
    /// Who reads the clock.
    pub clock: TraceClock,
    /// Only these devices.
    pub devices: Vec<String>,
    /// How long to record.
    pub length: Option<Duration>,
    /// Incidents as JSON.
    pub json: bool,
    /// See [`ClockSource`](super::clock::ClockSource).
    pub clock_shifted_by: Option<PathBuf>,
}
