//! The server of the figures: two paths, read-only, few connections at a time, each of them short.

use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

use super::SharedFigures;
use super::exposition::{Form, expose};
use super::wire::Wire;

/// Connections answered at a time; others wait in the system's queue.
const AT_ONCE: usize = 4;
/// A request has to be there after this time, and its answer taken.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of a request's head.
const HEAD: usize = 8192;

/// Who is answered, and how.
#[derive(Clone, Default)]
pub struct Terms {
    /// Who does not show it is told nothing but that the recorder runs.
    pub token: Option<String>,
    /// Under TLS; else in clear text.
    pub tls: Option<Arc<ServerConfig>>,
}

/// Answers on a socket that is bound already, in threads that end with the process.
///
/// # Errors
/// If no thread can be started.
pub fn serve(listener: TcpListener, shared: &SharedFigures, terms: &Terms) -> io::Result<()> {
    for _ in 0..AT_ONCE {
        let (listener, shared, terms) = (listener.try_clone()?, shared.clone(), terms.clone());
        let thread = std::thread::Builder::new().name("metrics".to_string());
        thread.stack_size(512 << 10).spawn(move || {
            loop {
                match listener.accept() {
                    Ok((socket, _)) => {
                        // Whoever went away needs no answer.
                        let _ = Wire::new(socket, terms.tls.as_ref(), PATIENCE)
                            .and_then(|wire| answer(wire, &shared, terms.token.as_deref()));
                    }
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
    }
    Ok(())
}

fn answer(mut wire: Wire, shared: &SharedFigures, token: Option<&str>) -> io::Result<()> {
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
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") if !admitted => (
            "401 Unauthorized\r\nWWW-Authenticate: Bearer",
            "text/plain",
            b"a token is needed\n".to_vec(),
        ),
        ("GET" | "HEAD", "/metrics") => {
            let form = Form::accepted(field("accept"));
            let figures = shared.figures().clone();
            ("200 OK", form.content_type(), expose(&figures, form))
        }
        ("GET" | "HEAD", "/healthz") => ("200 OK", "text/plain", b"ok\n".to_vec()),
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

/// In a time that does not tell where they differ.
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
        let shared = SharedFigures::default();
        shared.figures().own.push(("iowhy_up", "Whether it runs.", false, 1.0));
        serve(listener, &shared, &Terms::default()).expect("threads");
        let text = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("iowhy_up 1\n"),
            "{text}"
        );
        let text = ask(address, "GET /healthz HTTP/1.1\r\n\r\n");
        assert!(text.ends_with("ok\n"), "{text}");
        assert!(ask(address, "GET /etc/passwd HTTP/1.1\r\n\r\n").contains("404"));
        assert!(ask(address, "POST /metrics HTTP/1.1\r\n\r\n").contains("405"));
        // Who says nothing does not keep the others waiting.
        let silent: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(address).expect("it listens")).collect();
        assert!(ask(address, "HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
        drop(silent);
    }

    #[test]
    fn who_does_not_show_the_token_is_told_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = SharedFigures::default();
        shared.figures().own.push(("iowhy_up", "Whether it runs.", false, 1.0));
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
            assert!(text.starts_with("HTTP/1.1 401 ") && !text.contains("iowhy_up"), "{text}");
            assert!(text.contains("WWW-Authenticate: Bearer\r\n"), "{text}");
        }
        assert!(with("authorization: Bearer open sesame\r\n").ends_with("iowhy_up 1\n"));
        assert!(ask(address, "GET /healthz HTTP/1.1\r\n\r\n").ends_with("ok\n"));
    }
}
