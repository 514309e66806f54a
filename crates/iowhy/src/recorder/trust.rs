//! Trusted CA certificates for a collector.

use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::metrics::DeadlineStream;
use crate::messages::HintedError;

/// Locations of the system's CA certificates: Debian and derivatives, Fedora and derivatives, SUSE,
/// Alpine.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS 1.2 and 1.3 with the CA certificates of this file, or of this machine.
///
/// # Errors
/// If there is no such file, or it contains no certificate.
pub(crate) fn trusting(file: Option<&Path>) -> anyhow::Result<Arc<ClientConfig>> {
    let name = "name a PEM file of CA certificates with `--otlp-ca FILE`";
    let bundle = || BUNDLES.into_iter().map(Path::new).find(|path| path.is_file());
    let Some(path) = file.or_else(bundle) else {
        let text = "no CA certificates found: `ca-certificates` is not installed";
        return Err(HintedError::error(text, name));
    };
    let failed = |what: String| HintedError::error(format!("`{}` {what}", path.display()), name);
    let known: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|cause| failed(format!("cannot be read: {cause}")))?;
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(known);
    if taken == 0 {
        return Err(failed("contains no certificate".to_string()));
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// A TLS connection with a host of this name or address; the handshake is done with the first byte
/// written.
///
/// # Errors
/// If the name is none.
pub(crate) fn connection(
    config: &Arc<ClientConfig>,
    host: &str,
    socket: TcpStream,
    patience: Duration,
) -> io::Result<StreamOwned<ClientConnection, DeadlineStream>> {
    let name = ServerName::try_from(host.to_string()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, DeadlineStream::new(socket, patience)))
}
