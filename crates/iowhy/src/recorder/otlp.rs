//! Pushes metrics to an OpenTelemetry collector (OTLP over HTTP or HTTPS, protobuf), for machines
//! that cannot be scraped.
//!
//! The recorder itself may not open sockets. A separate process connects, started before the
//! recorder dropped its privileges: it gets each export on stdin, prefixed by its length, and may
//! only resolve a host and connect to that port.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;

use super::clock::Clocks;
use super::metrics::{DeadlineStream, SharedMetrics, Span, export};
use super::trust::{connection, trusting};
use crate::messages::{self, HintedError};

/// Time limit for connecting to a collector, sending, and the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// A collector's default port and path (OTLP specification, OTLP/HTTP).
const PORT: u16 = 4318;
const PATH: &str = "/v1/metrics";
/// The largest export: 256 devices with all histograms take four fifths of it.
const LARGEST: u32 = 16 << 20;

/// Where to push.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Collector {
    under_tls: bool,
    host: String,
    port: u16,
    path: String,
}

impl Collector {
    /// Parses an address: `http://127.0.0.1:4318`, `https://collector`.
    ///
    /// # Errors A message for the command line, if it is invalid.
    pub(crate) fn parse(text: &str) -> Result<Collector, String> {
        let secure = text.strip_prefix("https://");
        let rest = secure.or_else(|| text.strip_prefix("http://"));
        let rest = rest.ok_or("the address must begin with http:// or https://")?;
        let (authority, path) = rest
            .split_once('/')
            .map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
        let path = if path.len() < 2 { PATH.to_string() } else { path };
        let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (host, port) = match bracketed {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => authority
                .split_once(':')
                .map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = port
            .map_or(Ok(PORT), |port| port.parse().map_err(|_| format!("`{port}` is not a port")))?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if host.is_empty() || !plain(host) || !plain(&path) {
            return Err("the host is missing: http://127.0.0.1:4318".to_string());
        }
        Ok(Collector { under_tls: secure.is_some(), host: host.to_string(), port, path })
    }

    /// Sets the trusted certificates for TLS.
    ///
    /// # Errors If their file is invalid.
    fn tls_config(&self, file: Option<&Path>) -> anyhow::Result<Option<Arc<ClientConfig>>> {
        self.under_tls.then(|| trusting(file)).transpose()
    }

    /// Sends one export; the collector's status if it is not 2xx is an error.
    fn post(&self, body: &[u8], trust: Option<&Arc<ClientConfig>>) -> std::io::Result<()> {
        let mut last = std::io::Error::from(ErrorKind::NotFound);
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(socket) => {
                    return match trust {
                        Some(trust) => {
                            let host = self.host.as_str();
                            self.post_on(&mut connection(trust, host, socket, PATIENCE)?, body)
                        }
                        None => self.post_on(&mut DeadlineStream::new(socket, PATIENCE), body),
                    };
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn post_on(&self, stream: &mut (impl Read + Write), body: &[u8]) -> std::io::Result<()> {
        let Collector { host, port, path, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let head = format!(
            "POST {path} HTTP/1.1\r\n\
             Host: {host}:{port}\r\n\
             Content-Type: application/x-protobuf\r\n\
             Content-Length: {}\r\n\
             Connection: close\r\n\
             \r\n\
             ",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 512]);
        while !answer.contains(&b'\n') && answer.len() < 4096 {
            // A socket reports a timeout as EAGAIN.
            let read = stream.read(&mut buffer).map_err(|error| match error.kind() {
                ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
                _ => error,
            });
            match read? {
                0 => break,
                length => answer.extend_from_slice(buffer.get(..length).unwrap_or_default()),
            }
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split_whitespace().nth(1).unwrap_or_default();
        if status.starts_with('2') {
            return Ok(());
        }
        let first = answer.lines().next().unwrap_or("nothing").trim();
        Err(std::io::Error::other(format!("the server responded `{first}`")))
    }
}

/// The process that connects.
pub(crate) struct Sender {
    process: Child,
    /// This machine's name.
    host: String,
}

/// Starts the process that connects; it inherits the recorder's privileges and drops them at once.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn sender(address: &str, trusted: Option<&Path>) -> anyhow::Result<Sender> {
    // Errors in it are reported here, not with each push.
    collector(address)?.tls_config(trusted)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["watch", "--push-exports", address]);
    if let Some(trusted) = trusted {
        command.arg("--otlp-ca").arg(trusted);
    }
    // Ctrl-C is for the recorder; the sender ends with its stdin.
    let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn()?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Ok(Sender { process, host })
}

/// Pushes at this interval, in a thread that ends with the process or with the sender.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn start(
    sender: Sender,
    every: Duration,
    shared: &SharedMetrics,
) -> std::io::Result<()> {
    let Sender { mut process, host } = sender;
    let (shared, from) = (shared.clone(), Clocks::now().wall as u64);
    let thread = std::thread::Builder::new().name("pusher".to_string()).stack_size(256 << 10);
    thread.spawn(move || {
        loop {
            std::thread::sleep(every);
            let figures = shared.figures().clone();
            let body = export(&figures, host.trim(), Span { from, to: Clocks::now().wall as u64 });
            let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
            let sent = process.stdin.as_mut().map(|stdin| {
                // If a collector is slow, only this thread waits.
                stdin.write_all(&length.to_le_bytes()).and_then(|()| stdin.write_all(&body))
            });
            if !matches!(sent, Some(Ok(()))) {
                messages::warn("push disabled: the helper process exited", None);
                let _ = process.wait();
                return;
            }
        }
    })?;
    Ok(())
}

/// The sender's loop until the recorder ends: pushes each export, and reports once when that fails
/// and once when it works again.
///
/// # Errors If its address is invalid, or stdin breaks.
pub(crate) fn push_exports(address: &str, trusted: Option<&Path>) -> anyhow::Result<()> {
    let collector = collector(address)?;
    let trust = collector.tls_config(trusted)?;
    iowhy_live::confine_pushing(collector.port)?;
    let mut stdin = std::io::stdin().lock();
    let (mut failing, mut length) = (false, [0; 4]);
    while stdin.read_exact(&mut length).is_ok() {
        let length = u32::from_le_bytes(length);
        anyhow::ensure!(length <= LARGEST, "an export of {length} bytes");
        let mut body = vec![0; length as usize];
        stdin.read_exact(&mut body)?;
        match collector.post(&body, trust.as_ref()) {
            Ok(()) if failing => {
                messages::warn(&format!("pushing metrics to {address} works again"), None);
                failing = false;
            }
            Ok(()) => {}
            Err(error) if !failing => {
                let text =
                    format!("cannot push metrics to {address}: {error}; retrying at each interval");
                messages::warn(&text, None);
                failing = true;
            }
            Err(_) => {}
        }
    }
    Ok(())
}

fn collector(address: &str) -> anyhow::Result<Collector> {
    Collector::parse(address).map_err(|why| {
        HintedError::error(
            format!("cannot push to `{address}`: {why}"),
            "`--otlp http://127.0.0.1:4318`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (text, host, port, path) in [
            ("http://127.0.0.1:4318", "127.0.0.1", 4318, "/v1/metrics"),
            ("http://collector", "collector", 4318, "/v1/metrics"),
            ("http://[::1]:9999/", "::1", 9999, "/v1/metrics"),
            (
                "http://localhost:9090/api/v1/otlp/v1/metrics",
                "localhost",
                9090,
                "/api/v1/otlp/v1/metrics",
            ),
        ] {
            let (host, path) = (host.to_string(), path.to_string());
            let plain = Collector { under_tls: false, host, port, path };
            let secure = Collector { under_tls: true, ..plain.clone() };
            assert_eq!(Collector::parse(text), Ok(plain));
            assert_eq!(Collector::parse(&text.replacen("http", "https", 1)), Ok(secure));
        }
        for bad in [
            "",
            "collector:4318",
            "ftp://collector",
            "http://",
            "https://",
            "http://a b",
            "http://x:no",
        ] {
            assert!(Collector::parse(bad).is_err(), "{bad}");
        }
    }
}
