//! Marks: `iowhy mark` sends one datagram to a socket in the store's folder.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

/// The socket in the store's folder.
const SOCKET: &str = "mark.sock";
/// Maximum bytes of a mark.
pub(crate) const LONGEST: usize = 1000;
/// Maximum marks accepted in one second.
const MOST: usize = 20;

/// The socket for marks.
pub(crate) struct Marks {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Marks {
    /// Listens in a store's folder; an earlier recorder's socket is replaced.
    ///
    /// # Errors
    /// If there can be no socket, or its path is longer than the 107 bytes that unix(7) allows.
    pub(crate) fn listen(store: &Path) -> io::Result<Marks> {
        let path = store.join(SOCKET);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(&path)?;
        socket.set_nonblocking(true)?;
        Ok(Marks { socket, path })
    }

    /// New marks since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut buffer = [0; LONGEST];
        let mut marks = Vec::new();
        while marks.len() < MOST
            && let Ok(length) = self.socket.recv(&mut buffer)
        {
            let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
            marks.push(text.trim().to_string());
        }
        marks
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Sends a mark to the recorder of a store.
///
/// # Errors
/// If none listens there.
pub(crate) fn send(store: &Path, text: &str) -> io::Result<()> {
    let socket = UnixDatagram::unbound()?;
    socket.send_to(text.as_bytes(), store.join(SOCKET)).map(|_| ())
}
