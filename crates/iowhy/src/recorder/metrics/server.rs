//! The metrics server: two paths, read-only, few and short connections at a time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;

use super::SharedMetrics;
use super::exposition::{Form, expose};
use super::wire::Wire;

/// Maximum concurrent connections. Each takes milliseconds, unless the client is slow.
const AT_ONCE: usize = 24;
/// Maximum concurrent answers with metrics: each takes some megabytes with hundreds of devices.
const ANSWERS: usize = 2;
/// Time limit for handshake and request, and again for reading the answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum bytes of a request's head.
const HEAD: usize = 8192;

/// Access rules and TLS.
#[derive(Clone, Default)]
pub(crate) struct Terms {
    /// Without it a client learns only that the recorder runs.
    pub token: Option<String>,
    /// Under TLS; else in clear text.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Answers on a bound socket, in threads that end with the process. One thread accepts, before TLS
/// and token; if all places are taken, the oldest connection of the address with most of them is
/// closed. So a client that holds connections open blocks only itself.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn serve(
    listener: TcpListener,
    shared: &SharedMetrics,
    terms: &Terms,
) -> io::Result<()> {
    let (hand_over, accepted) = sync_channel(0);
    let accepted = Arc::new(Mutex::new(accepted));
    let (connections, answers) = (ConnectionSlots::new(AT_ONCE), ConnectionSlots::new(ANSWERS));
    let thread = || std::thread::Builder::new().name("metrics".to_string()).stack_size(512 << 10);
    for _ in 0..AT_ONCE {
        let (accepted, answers) = (Arc::clone(&accepted), answers.clone());
        let (shared, terms) = (shared.clone(), terms.clone());
        thread().spawn(move || {
            while let Some((socket, _place)) = next(&accepted) {
                let answer_place = || answers.take(&socket);
                // A closed connection needs no answer.
                let _ = socket
                    .try_clone()
                    .and_then(|socket| Wire::new(socket, terms.tls.as_ref(), PATIENCE))
                    .and_then(|wire| answer(wire, &shared, terms.token.as_deref(), &answer_place));
            }
        })?;
    }
    thread().spawn(move || {
        loop {
            match listener.accept() {
                Ok((socket, _)) => admit(socket, &connections, &hand_over),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    })?;
    Ok(())
}

/// A connection and its place, which is freed on drop.
type Admitted = (TcpStream, ConnectionSlot);

fn next(accepted: &Mutex<Receiver<Admitted>>) -> Option<Admitted> {
    accepted.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Passes a connection to a thread as soon as one is free; another was closed for it if necessary.
fn admit(socket: TcpStream, connections: &ConnectionSlots, hand_over: &SyncSender<Admitted>) {
    let Some(place) = connections.take(&socket) else { return };
    let mut admitted = (socket, place);
    let begun = std::time::Instant::now();
    while begun.elapsed() < PATIENCE {
        match hand_over.try_send(admitted) {
            Err(TrySendError::Full(back)) => admitted = back,
            Ok(()) | Err(TrySendError::Disconnected(_)) => return,
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// This many places for connections.
#[derive(Clone)]
struct ConnectionSlots(Arc<Mutex<OpenConnections>>);

struct OpenConnections {
    most: usize,
    next: u64,
    /// By age: number, address, and the connection, to close it.
    by_age: Vec<(u64, IpAddr, TcpStream)>,
}

/// An occupied place.
struct ConnectionSlot(ConnectionSlots, u64);

impl ConnectionSlots {
    fn new(most: usize) -> ConnectionSlots {
        ConnectionSlots(Arc::new(Mutex::new(OpenConnections { most, next: 0, by_age: Vec::new() })))
    }

    /// Takes a place for a connection; `None` if it is closed already.
    fn take(&self, socket: &TcpStream) -> Option<ConnectionSlot> {
        self.take_for(socket.peer_addr().ok()?.ip(), socket)
    }

    fn take_for(&self, address: IpAddr, socket: &TcpStream) -> Option<ConnectionSlot> {
        let own = socket.try_clone().ok()?;
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.by_age.len() >= taken.most {
            let held = |of: &IpAddr| taken.by_age.iter().filter(|(_, by, _)| by == of).count();
            // The oldest of equals: `max_by_key` returns the last.
            let oldest = taken.by_age.iter().rev().max_by_key(|(_, by, _)| held(by));
            if let Some(number) = oldest.map(|(number, ..)| *number) {
                let at = taken.by_age.iter().position(|(other, ..)| *other == number)?;
                let (_, _, ended) = taken.by_age.remove(at);
                let _ = ended.shutdown(Shutdown::Both);
            }
        }
        let number = taken.next;
        taken.next += 1;
        taken.by_age.push((number, address, own));
        drop(taken);
        Some(ConnectionSlot(self.clone(), number))
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.by_age.retain(|(number, ..)| *number != self.1);
    }
}

fn answer(
    mut wire: Wire,
    shared: &SharedMetrics,
    token: Option<&str>,
    place: &dyn Fn() -> Option<ConnectionSlot>,
) -> io::Result<()> {
    let head = head(&mut wire)?;
    wire.for_another(PATIENCE);
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let fields: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let field = |wanted: &str| {
        let found = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map_or("", |(_, value)| value.trim())
    };
    let shown = field("authorization").strip_prefix("Bearer ").unwrap_or_default().trim();
    let admitted = token.is_none_or(|token| is_same(token.as_bytes(), shown.as_bytes()));
    let mut _place = None;
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") if !admitted => (
            "401 Unauthorized\r\nWWW-Authenticate: Bearer",
            "text/plain",
            b"token required\n".to_vec(),
        ),
        ("GET" | "HEAD", "/metrics") => {
            _place = place();
            let form = Form::accepted(field("accept"));
            let figures = shared.figures().clone();
            ("200 OK", form.content_type(), expose(&figures, form))
        }
        ("GET" | "HEAD", "/healthz") => match shared.figures().trouble.clone() {
            None => ("200 OK", "text/plain", b"ok\n".to_vec()),
            Some(why) => {
                let text = format!("cannot write to the store: {why}\n");
                ("503 Service Unavailable", "text/plain", text.into_bytes())
            }
        },
        ("GET" | "HEAD", _) => ("404 Not Found", "text/plain", b"/metrics or /healthz\n".to_vec()),
        _ => ("405 Method Not Allowed", "text/plain", b"read-only\n".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    wire.write_all(head.as_bytes())?;
    if method != "HEAD" {
        wire.write_all(&body)?;
    }
    wire.end()
}

/// In constant time, which does not show where they differ.
fn is_same(token: &[u8], shown: &[u8]) -> bool {
    let differ = token.iter().zip(shown).fold(0, |known, (a, b)| known | (a ^ b));
    token.len() == shown.len() && differ == 0
}

/// The head of a request.
fn head(wire: &mut Wire) -> io::Result<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() >= HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        match wire.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => head.extend_from_slice(buffer.get(..length).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use super::super::Own;
    use super::*;

    fn ask(address: std::net::SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    #[test]
    fn two_paths_are_answered_and_nothing_else() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = SharedMetrics::default();
        shared.figures().own = Some(Own { seconds: 1, ..Own::default() });
        serve(listener, &shared, &Terms::default()).expect("threads");
        let text = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("iowhy_seconds_total 1\n"),
            "{text}"
        );
        let text = ask(address, "GET /healthz HTTP/1.1\r\n\r\n");
        assert!(text.ends_with("ok\n"), "{text}");
        assert!(ask(address, "GET /etc/passwd HTTP/1.1\r\n\r\n").contains("404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").contains("405"));
        shared.figures().trouble = Some("full".to_string());
        let text = ask(address, "GET /healthz HTTP/1.1\r\n\r\n");
        assert!(
            text.contains(" 503 ") && text.contains("cannot write to the store: full"),
            "{text}"
        );
        // Both are consistent at any time.
        let text = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(text.contains("\niowhy_store_failing 1\n"), "{text}");
    }

    /// Idle connections, those that send a request slowly, and those that do not read the answer.
    #[test]
    fn whoever_holds_connections_open_does_not_delay_the_others() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = SharedMetrics::default();
        shared.figures().own = Some(Own { seconds: 1, ..Own::default() });
        for device in 0..200 {
            let histogram = iowhy_model::Histogram::empty(iowhy_model::Edges::standard());
            let key = (format!("sd{device}"), iowhy_model::Op::Read, iowhy_model::Stage::Total);
            shared.figures().latencies.insert(key, histogram);
        }
        serve(listener, &shared, &Terms::default()).expect("threads");
        for (request, held) in
            [("", 40u32), ("", 400), ("GET /metr", 400), ("GET /metrics HTTP/1.1\r\n\r\n", 100)]
        {
            let begun = std::time::Instant::now();
            ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
            let alone = begun.elapsed();
            let lingering: Vec<TcpStream> = (0..held)
                .map(|_| {
                    let mut stream = TcpStream::connect(address).expect("it listens");
                    // One that was closed for another is gone.
                    let _ = stream.write_all(request.as_bytes());
                    stream
                })
                .collect();
            let begun = std::time::Instant::now();
            let text = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
            assert!(text.ends_with("iowhy_seconds_total 1\n"), "{text}");
            // A scrape times out after 10 s; the bar is far below the limit of one connection,
            // apart from answering earlier ones.
            let took = begun.elapsed();
            let work = if request.ends_with("\r\n\r\n") { alone * held } else { Duration::ZERO };
            assert!(
                took < PATIENCE / 2 + work,
                "{took:?} beside {held} with {request:?}, {alone:?} alone"
            );
            drop(lingering);
        }
    }

    #[test]
    fn the_address_with_most_connections_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let to = listener.local_addr().expect("an address");
        let places = ConnectionSlots::new(4);
        let from = |last: u8| {
            let client = TcpStream::connect(to).expect("it listens");
            let (server, _) = listener.accept().expect("a connection");
            let place = places.take_for(IpAddr::from([192, 0, 2, last]), &server);
            (client, server, place)
        };
        let (other, _server, _place) = from(9);
        let kept: Vec<_> = (0..10).map(|_| from(1)).collect();
        let is_open = |client: &TcpStream| {
            client.set_nonblocking(true).expect("a socket");
            let mut client = client;
            let read = client.read(&mut [0]);
            matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
        };
        let open: Vec<bool> = kept.iter().map(|(client, ..)| is_open(client)).collect();
        assert!(is_open(&other));
        assert_eq!(open.iter().filter(|open| **open).count(), 3, "{open:?}");
        assert!(open[7..].iter().all(|open| *open), "the latest: {open:?}");
    }

    #[test]
    fn without_the_token_nothing_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = SharedMetrics::default();
        shared.figures().own = Some(Own { seconds: 1, ..Own::default() });
        let terms = Terms { token: Some("open sesame".to_string()), tls: None };
        serve(listener, &shared, &terms).expect("threads");
        let with = |field: &str| ask(address, &format!("GET /metrics HTTP/1.1\r\n{field}\r\n"));
        for field in [
            "",
            "Authorization: Bearer\r\n",
            "Authorization: Bearer open\r\n",
            "Authorization: Bearer open sesam3\r\n",
            "Authorization: Basic open sesame\r\n",
        ] {
            let text = with(field);
            assert!(
                text.starts_with("HTTP/1.1 401 ") && !text.contains("iowhy_seconds_total"),
                "{text}"
            );
            assert!(text.contains("WWW-Authenticate: Bearer\r\n"), "{text}");
        }
        assert!(with("authorization: Bearer open sesame\r\n").ends_with("iowhy_seconds_total 1\n"));
        assert!(ask(address, "GET /healthz HTTP/1.1\r\n\r\n").ends_with("ok\n"));
    }
}
