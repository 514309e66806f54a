//! A connection of the server: a socket with a deadline, in clear text or with TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::messages::HintedError;

/// A socket whose reads and writes end at a deadline, however slow the other side is.
pub(crate) struct DeadlineStream {
    socket: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    /// A deadline after this time.
    pub(crate) fn new(socket: TcpStream, patience: Duration) -> DeadlineStream {
        DeadlineStream { socket, until: Instant::now() + patience }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        again(|| {
            self.socket.set_read_timeout(Some(self.left()?))?;
            self.socket.read(into)
        })
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        again(|| {
            self.socket.set_write_timeout(Some(self.left()?))?;
            self.socket.write(from)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// Retries after EINTR: a socket with a time limit also returns it when the process was stopped and
/// continued (signal(7)).
fn again(mut attempt: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// A connection.
pub(super) enum Wire {
    /// Clear text.
    Plain(DeadlineStream),
    /// TLS; the handshake is done with the first byte read.
    Tls(Box<StreamOwned<ServerConnection, DeadlineStream>>),
}

impl Wire {
    /// For an accepted socket, with this time limit.
    ///
    /// # Errors If TLS cannot be started.
    pub(super) fn new(
        socket: TcpStream,
        tls: Option<&Arc<ServerConfig>>,
        patience: Duration,
    ) -> io::Result<Wire> {
        let timed = DeadlineStream::new(socket, patience);
        let Some(tls) = tls else { return Ok(Wire::Plain(timed)) };
        let connection = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
        Ok(Wire::Tls(Box::new(StreamOwned::new(connection, timed))))
    }

    /// Restarts the time limit.
    pub(super) fn for_another(&mut self, patience: Duration) {
        let timed = match self {
            Wire::Plain(timed) => timed,
            Wire::Tls(stream) => &mut stream.sock,
        };
        timed.until = Instant::now() + patience;
    }

    /// Ends the output.
    ///
    /// # Errors
    /// If the other side is gone.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if let Wire::Tls(stream) = self {
            stream.conn.send_close_notify();
        }
        self.flush()
    }
}

impl Read for Wire {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(timed) => timed.read(into),
            Wire::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(timed) => timed.write(from),
            Wire::Tls(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Wire::Plain(timed) => timed.flush(),
            Wire::Tls(stream) => stream.flush(),
        }
    }
}

/// TLS 1.2 and 1.3 with the certificates and the key of two PEM files.
///
/// # Errors
/// If one cannot be read, others may read the key, or the two do not belong together.
pub(crate) fn tls(certificates: &Path, key: &Path) -> anyhow::Result<Arc<ServerConfig>> {
    use std::os::unix::fs::MetadataExt;
    let failed = |path: &Path, what: String, hint: &str| {
        HintedError::error(format!("`{}` {what}", path.display()), hint)
    };
    let whole = "name a PEM file: the certificate of this host, then its issuers";
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(|cause| failed(certificates, format!("cannot be read: {cause}"), whole))?;
    if chain.is_empty() {
        return Err(failed(certificates, "contains no certificate".to_string(), whole));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|cause| {
        failed(key, format!("cannot be read: {cause}"), "name a PEM file with its private key")
    })?;
    if std::fs::metadata(key).is_ok_and(|about| about.mode() & 0o007 != 0) {
        let hint = "set mode 640 or 600, and get a new certificate";
        return Err(failed(key, "is a private key readable by everyone".to_string(), hint));
    }
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|cause| {
            let hint = "name a certificate and the key that belongs to it";
            failed(certificates, format!("does not match the key: {cause}"), hint)
        })?;
    Ok(Arc::new(config))
}
