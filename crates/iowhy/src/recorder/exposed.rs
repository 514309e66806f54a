//! The recorder's metrics, served and pushed.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use iowhy_model::{NameTable, Owner, OwnerNames};

use super::clock::Clocks;
use super::incidents::Incidents;
use super::intake::Second;
use super::keeping::Kept;
use super::metrics::{self, Limit, Own, SharedMetrics, Terms};
use super::otlp::{self, Sender};
use super::settings::{MetricsBy, Settings};
use super::watched::Watched;
use crate::messages::{self, HintedError};

/// Minimum length of a token, against guessing.
const SHORTEST_TOKEN: usize = 16;

/// Seconds between two readings of the time spent in the programs (a choice: shorter than the usual
/// interval of a scrape).
const BPF_TIME_S: u64 = 10;

/// Endpoints for serving and pushing metrics, opened but not started.
pub(crate) struct Endpoints {
    listener: Option<TcpListener>,
    terms: Terms,
    limits: Vec<Limit>,
    by: Option<MetricsBy>,
    /// The pusher, its target and interval.
    push: Option<(Sender, String, Duration)>,
}

impl Endpoints {
    /// Opens what needs privileges.
    ///
    /// # Errors If an address cannot be bound or pushed to, or a token, certificate or key is
    /// invalid.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Endpoints> {
        let wide = settings.listen_wide;
        let listener = settings.listen.map(|address| bind(address, wide)).transpose()?;
        let tls = settings.tls.as_ref().map(|(chain, key)| metrics::tls(chain, key));
        let token = settings.token.as_deref().map(token).transpose()?;
        let terms = Terms { token, tls: tls.transpose()? };
        let push = settings.otlp.as_ref().map(|(address, every)| {
            let sender = otlp::sender(address, settings.otlp_ca.as_deref())?;
            anyhow::Ok((sender, address.clone(), *every))
        });
        let (limits, by) = (settings.limits.clone(), settings.metrics_by);
        Ok(Endpoints { listener, terms, limits, by, push: push.transpose()? })
    }

    /// Starts the threads that serve and push.
    ///
    /// # Errors
    /// If none can be started.
    pub(crate) fn start(self) -> anyhow::Result<Exposed> {
        let shared = SharedMetrics::default();
        shared.figures().limits =
            self.limits.into_iter().map(|limit| (limit, VecDeque::new())).collect();
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
        Ok(Exposed { shared, by: self.by })
    }
}

/// Metrics, second by second.
pub(crate) struct Exposed {
    shared: SharedMetrics,
    by: Option<MetricsBy>,
}

impl Exposed {
    /// Shared access, for other parts that add metrics.
    pub(crate) fn shared(&self) -> SharedMetrics {
        self.shared.clone()
    }

    /// Adds a second, and the recorder's own cost and losses so far.
    pub(crate) fn second(
        &self,
        second: &Second,
        now: Clocks,
        seconds: u64,
        (watched, kept, incidents): (&mut Watched, &Kept, &Incidents),
    ) {
        let mut figures = self.shared.figures();
        figures.second(second);
        if let Some(present) = watched.take_present() {
            figures.retain(|name| present.contains(name));
            let table = NameTable::of(watched.around());
            figures.names = present.into_iter().map(|name| named(&table, name)).collect();
        }
        if let Some(by) = self.by.filter(|_| !second.by_group.is_empty()) {
            let (table, owners) =
                (NameTable::of(watched.around()), OwnerNames::of(watched.around()));
            for ((device, group, op), (ios, ns)) in &second.by_group {
                let named = match by {
                    MetricsBy::Container => ("container", container(&owners, group)),
                    MetricsBy::Volume => {
                        let (_, [volume, _]) = named(&table, device.clone());
                        ("volume", if volume.is_empty() { device.clone() } else { volume })
                    }
                };
                figures.count_named((named.0, named.1, *op), *ios, *ns);
            }
        }
        figures.expire(now.monotonic);
        figures.trouble = kept.trouble().map(str::to_string);
        let written = kept.written();
        let (unjudged, notifications_dropped) = incidents.given_up();
        // A system call for each program.
        let known_s = figures.own.as_ref().map(|own| own.bpf_s);
        let known_s = known_s.filter(|_| !seconds.is_multiple_of(BPF_TIME_S));
        let bpf_s = known_s.unwrap_or_else(|| watched.bpf_time().as_secs_f64());
        figures.own = Some(Own {
            unlisted_devices: figures.unlisted(),
            lost_ios: watched.lost,
            unlisted_ios: watched.left_out(),
            suppressed_alarms: incidents.suppressed(),
            unjudged,
            notifications_dropped,
            store_bytes: written.store_bytes.load(Relaxed),
            store_written_bytes: written.bytes.load(Relaxed),
            store_waiting_bytes: written.waiting.load(Relaxed),
            store_given_up: written.given_up.load(Relaxed),
            store_refused: written.refused.load(Relaxed),
            store_thinned: written.thinned.load(Relaxed),
            store_removed: written.removed.load(Relaxed),
            cpu_s: cpu_s(),
            bpf_s,
            judge_cpu_s: incidents.judge_cpu_ns as f64 / 1e9,
            resident_bytes: resident_bytes(),
            seconds,
        });
    }
}

/// The container of a control group; empty if it is in none.
fn container(owners: &OwnerNames, group: &str) -> String {
    let id = Owner::of_cgroup(group).container;
    id.map_or(String::new(), |id| owners.container_words(&id))
}

/// A device with the name of its volume and its first mount point, or those of the nearest layer
/// above.
fn named(table: &NameTable, device: String) -> (String, [String; 2]) {
    let own = table.get(&device).and_then(|known| known.given());
    let above = || table.above(&device).into_iter().find_map(|one| table.get(one)?.given());
    let volume = own.or_else(above).unwrap_or_default().to_string();
    let mount = table.mounts(&device).first().copied().unwrap_or_default().to_string();
    (device, [volume, mount])
}

/// CPU time of this process, s.
fn cpu_s() -> f64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
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

/// The first line of a file that only its owner may read.
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
