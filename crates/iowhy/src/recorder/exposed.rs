//! What the recorder shows of itself: metrics that are served and pushed.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::clock::Clocks;
use super::incidents::Incidents;
use super::intake::Second;
use super::keeping::Kept;
use super::metrics::{self, SharedMetrics, Terms};
use super::otlp::{self, Sender};
use super::settings::Settings;
use super::watched::Watched;
use crate::messages::{self, HintedError};

/// Letters of a token that cannot be tried one by one.
const SHORTEST_TOKEN: usize = 16;

/// Where metrics are served and pushed, open but not at work yet.
pub struct Endpoints {
    listener: Option<TcpListener>,
    terms: Terms,
    /// Who pushes, where to, and how often.
    push: Option<(Sender, String, Duration)>,
}

impl Endpoints {
    /// Opens what needs rights.
    ///
    /// # Errors
    /// If an address cannot be bound or pushed to, or a token, certificate or key is none.
    pub fn open(settings: &Settings) -> anyhow::Result<Endpoints> {
        let wide = settings.listen_wide;
        let listener = settings.listen.map(|address| bind(address, wide)).transpose()?;
        let tls = settings.tls.as_ref().map(|(chain, key)| metrics::tls(chain, key));
        let token = settings.token.as_deref().map(token).transpose()?;
        let terms = Terms { token, tls: tls.transpose()? };
        let push = settings.otlp.as_ref().map(|(address, every)| {
            let sender = otlp::sender(address, settings.otlp_ca.as_deref())?;
            anyhow::Ok((sender, address.clone(), *every))
        });
        Ok(Endpoints { listener, terms, push: push.transpose()? })
    }

    /// Starts the threads that serve and push.
    ///
    /// # Errors
    /// If none can be started.
    pub fn start(self) -> anyhow::Result<Exposed> {
        let shared = SharedMetrics::default();
        if let Some(listener) = self.listener {
            let (at, is_clear) = (listener.local_addr()?, self.terms.tls.is_none());
            metrics::serve(listener, &shared, &self.terms)?;
            let scheme = if is_clear { "http" } else { "https" };
            messages::warn(&format!("Prometheus metrics at {scheme}://{at}/metrics"), None);
            if !at.ip().is_loopback() && is_clear {
                let hint = "add `--tls-cert FILE --tls-key FILE`";
                messages::warn(
                    "metrics and token are sent over the network in clear text",
                    Some(hint),
                );
            }
        }
        if let Some((sender, address, every)) = self.push {
            otlp::start(sender, every, &shared)?;
            messages::warn(&format!("pushing metrics to {address}"), None);
        }
        Ok(Exposed { shared })
    }
}

/// Metrics, second by second.
pub struct Exposed {
    shared: SharedMetrics,
}

impl Exposed {
    /// For who has something to add to them.
    pub fn shared(&self) -> SharedMetrics {
        self.shared.clone()
    }

    /// Adds a second, and what the recorder itself took and lost so far.
    pub fn second(
        &self,
        second: &Second,
        now: Clocks,
        seconds: u64,
        (watched, kept, incidents): (&mut Watched, &Kept, &Incidents),
    ) {
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let written = kept.written();
        let number = |value: &AtomicU64| value.load(Relaxed) as f64;
        let (unjudged, untold) = incidents.given_up();
        let mut figures = self.shared.figures();
        figures.second(second);
        if let Some(present) = watched.take_present() {
            figures.retain(|name| present.contains(name));
        }
        figures.expire(now.monotonic);
        figures.trouble = kept.trouble().map(str::to_string);
        let unlisted = figures.unlisted();
        figures.own = vec![
            (
                "iowhy_unlisted_devices",
                "Devices whose metrics are combined as `other`, beyond the first 256.",
                false,
                unlisted as f64,
            ),
            ("iowhy_lost_ios_total", "I/Os lost by the tracer.", true, watched.lost as f64),
            (
                "iowhy_unlisted_ios_total",
                "I/Os counted in histograms only, because of the limit on individual I/Os.",
                true,
                watched.left_out() as f64,
            ),
            (
                "iowhy_suppressed_alarms",
                "Alarms since the last incident that did not start one.",
                false,
                incidents.suppressed() as f64,
            ),
            ("iowhy_unjudged_total", "Verdicts skipped (queue full).", true, unjudged as f64),
            (
                "iowhy_untold_total",
                "Incident notifications dropped (queue full).",
                true,
                untold as f64,
            ),
            (
                "iowhy_store_bytes",
                "Size of the store in bytes.",
                false,
                number(&written.store_bytes),
            ),
            (
                "iowhy_store_written_bytes_total",
                "Bytes written to the store.",
                true,
                number(&written.bytes),
            ),
            (
                "iowhy_store_waiting_bytes",
                "Bytes waiting to be written to the store.",
                false,
                number(&written.waiting),
            ),
            (
                "iowhy_store_given_up_total",
                "Writes to the store dropped because the disk did not accept them in time.",
                true,
                number(&written.given_up),
            ),
            (
                "iowhy_store_refused_total",
                "Writes to the store that failed with an error.",
                true,
                number(&written.refused),
            ),
            (
                "iowhy_store_thinned_total",
                "Histograms and averages merged into coarser intervals as they aged.",
                true,
                number(&written.thinned),
            ),
            (
                "iowhy_store_removed_total",
                "Segments and incidents removed from the store.",
                true,
                number(&written.removed),
            ),
            (
                "iowhy_cpu_seconds_total",
                "CPU time of the recorder, without its BPF programs.",
                true,
                cpu,
            ),
            (
                "iowhy_bpf_seconds_total",
                "CPU time of the recorder's BPF programs, while kernel.bpf_stats_enabled is 1.",
                true,
                watched.bpf_time().as_secs_f64(),
            ),
            (
                "iowhy_judge_cpu_seconds_total",
                "CPU time spent on verdicts, part of iowhy_cpu_seconds_total.",
                true,
                incidents.judge_cpu_ns as f64 / 1e9,
            ),
            ("iowhy_resident_bytes", "Resident memory of the recorder.", false, resident_bytes()),
            ("iowhy_seconds_total", "Seconds recorded.", true, seconds as f64),
        ];
    }
}

/// Resident memory, by /proc/self/statm (pages of 4 KiB, or what the system has).
fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    pages * rustix::param::page_size() as f64
}

fn bind(address: SocketAddr, wide: bool) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() && !wide {
        let hint = "use `127.0.0.1:PORT`, or add `--listen-wide` with `--tls-cert`, `--tls-key` \
                    and `--token-file`";
        return Err(HintedError::error(format!("{address} is not a loopback address"), hint));
    }
    TcpListener::bind(address).map_err(|cause| {
        HintedError::error(format!("cannot listen at {address}: {cause}"), "choose another port")
    })
}

/// The first line of a file that nobody but its owner may read.
fn token(path: &Path) -> anyhow::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let failed = |what: &str, hint: &str| {
        HintedError::error(format!("the token in `{}` {what}", path.display()), hint)
    };
    let text = std::fs::read_to_string(path).map_err(|cause| {
        failed(&format!("cannot be read: {cause}"), "name a file with the token in its first line")
    })?;
    if std::fs::metadata(path).is_ok_and(|about| about.mode() & 0o077 != 0) {
        return Err(failed("is readable by other users", "set mode 600, and choose a new token"));
    }
    let token = text.lines().next().unwrap_or_default().trim();
    if token.len() < SHORTEST_TOKEN || !token.chars().all(|letter| letter.is_ascii_graphic()) {
        let hint = "put at least 16 letters and digits in the first line: `openssl rand -hex 16`";
        return Err(failed(
            "is too short, or contains characters not allowed in an HTTP header",
            hint,
        ));
    }
    Ok(token.to_string())
}
