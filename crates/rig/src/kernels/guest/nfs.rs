//! A file server that is fast, slow, hangs or is gone: the kernel's own NFS server and client on
//! one machine, and between them a relay, which is the fault.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{accuses, judged, load, names};

/// What is exported, and where it is mounted.
const EXPORT: &str = "/export";
const MOUNT: &str = "/mnt/nfs";
const FILE: &str = "/mnt/nfs/file";
/// What is mounted, as /proc/mounts shows it.
const SERVER: &str = "127.0.0.1:/";
const FILE_MB: usize = 16;
/// The port of the server, and that of the relay, which the client knows.
const PORT: u16 = 2049;
const RELAY_PORT: u16 = 2050;
/// How long the judge watches: longer than a server may be silent.
const WATCH: &str = "12s";
/// What the slow network adds to every answer.
const SLOW: Duration = Duration::from_millis(300);
/// How often a thread of the relay looks whether it may go on.
const NAP: Duration = Duration::from_millis(10);

/// What is wrong between client and server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// Nothing any more: connections broke with requests in flight, and since then nobody reads.
    Past,
    /// Every answer comes late.
    Slow,
    /// Requests are accepted, and no answer comes.
    Hang,
    /// Connections are refused.
    Gone,
}

/// What `iowhy why` and `iowhy waits` report while a program reads from a server with this fault.
pub(super) fn judged_with(fault: Fault) -> io::Result<Vec<Value>> {
    serve()?;
    let relay = Relay::start()?;
    fs::create_dir_all(MOUNT)?;
    let options = format!("addr=127.0.0.1,clientaddr=127.0.0.1,port={RELAY_PORT},vers=4.2");
    names::run("mount", &["-t", "nfs4", "-o", &options, SERVER, MOUNT])?;
    let mut waits = Value::Null;
    if fault == Fault::Past {
        break_connections(&relay)?;
    }
    let message = judged(&[], WATCH, |over| {
        if fault == Fault::Past {
            return Ok(());
        }
        relay.be(fault);
        thread::scope(|scope| {
            let reader = scope.spawn(|| read(over));
            let found = waits_of_reader();
            while !over.load(Ordering::Relaxed) {
                thread::sleep(NAP);
            }
            // Whoever waits for the server cannot be ended before it answers.
            relay.be(Fault::None);
            let read = reader.join().map_err(|_| io::Error::other("the reader failed"))?;
            waits = found?;
            read
        })
    });
    let unmounted = names::run("umount", &[MOUNT]);
    drop(relay);
    let (message, ()) = (message?, unmounted?);
    let sentence = message["sentence"].as_str().unwrap_or_default();
    let all = message.to_string();
    let names_both = sentence.contains(SERVER) && all.contains(MOUNT);
    let (expected, right) = match fault {
        Fault::None | Fault::Past => ("neither the server nor a disk is blamed", {
            message["verdict"] != "layer.remote" && !accuses(&message)
        }),
        Fault::Slow => ("layer.remote, with server and mount point", {
            message["verdict"] == "layer.remote" && names_both
        }),
        Fault::Hang | Fault::Gone => {
            ("layer.remote, with server and mount point; waits for NFS", {
                message["verdict"] == "layer.remote" && names_both && waits == WAITS_FOR
            })
        }
    };
    Ok(vec![json!({
        "expected": expected, "verdict": message["verdict"], "sentence": sentence,
        "confidence": message["confidence"], "accused": message["device"], "waits": waits,
        "right": right, "finding": if right { Value::Null } else { message.clone() },
    })])
}

/// Reads from the server, with pauses, until it is `over`: what takes a processor's time takes long
/// in here.
fn read(over: &AtomicBool) -> io::Result<()> {
    while !over.load(Ordering::Relaxed) {
        load::read_at(FILE, 0, 128 << 10)?;
        thread::sleep(NAP);
    }
    Ok(())
}

/// Breaks the connections while a program waits for the server, and lets it end.
fn break_connections(relay: &Relay) -> io::Result<()> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reader = scope.spawn(|| read(&over));
        thread::sleep(NAP * 20);
        relay.be(Fault::Hang);
        thread::sleep(NAP * 100);
        relay.be(Fault::Gone);
        relay.be(Fault::None);
        over.store(true, Ordering::Relaxed);
        reader.join().map_err(|_| io::Error::other("the reader failed"))?
    })
}

/// How `iowhy waits` explains the wait of the reader.
const WAITS_FOR: &str = "the answer of a server (NFS)";

/// What this program waits for longest, by `iowhy waits`.
fn waits_of_reader() -> io::Result<Value> {
    let mut waits = Command::new("iowhy");
    waits.args(["waits", "--json", "--for", "2s", "--comm", "rig"]);
    let output = waits.stdin(Stdio::null()).output()?;
    let found: Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        io::Error::other(format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
    })?;
    Ok(found["waits"][0]["waits_for"].clone())
}

/// Starts the kernel's server of a folder in memory, unless it runs. Instead of the daemons that
/// answer its questions (exportfs(8), mountd(8)), the answers are given beforehand: the caches of
/// net/sunrpc/cache.c, fs/nfsd/export.c.
fn serve() -> io::Result<()> {
    const FOLDER: &str = "/proc/fs/nfsd";
    /// NFSEXP_FSID, NFSEXP_NOSUBTREECHECK and NFSEXP_INSECURE_PORT,
    /// `include/uapi/linux/nfsd/export.h`.
    const FLAGS: u32 = 0x2402;
    /// Seconds since 1970.
    const EXPIRY: u32 = 2_000_000_000;
    if fs::exists(format!("{EXPORT}/file"))? {
        return Ok(());
    }
    names::run("ifconfig", &["lo", "127.0.0.1", "up"])?;
    fs::create_dir_all(EXPORT)?;
    names::run("mount", &["-t", "tmpfs", "none", EXPORT])?;
    fs::write(format!("{EXPORT}/file"), vec![0x5a; FILE_MB << 20])?;
    names::run("mount", &["-t", "nfsd", "nfsd", FOLDER])?;
    for (cache, line) in [
        ("auth.unix.ip", format!("nfsd 127.0.0.1 {EXPIRY} all\n")),
        ("nfsd.export", format!("all {EXPORT} {EXPIRY} {FLAGS} 65534 65534 0\n")),
        // The root of version 4 is the file system of number 0, as four bytes (FSID_NUM).
        ("nfsd.fh", format!("all 1 \\x00000000 {EXPIRY} {EXPORT}\n")),
    ] {
        tell(&format!("/proc/net/rpc/{cache}/channel"), &line)?;
    }
    // Version 3 needs portmap; and no client has anything to reclaim.
    tell(&format!("{FOLDER}/versions"), "-3 +4\n")?;
    tell(&format!("{FOLDER}/nfsv4gracetime"), "10\n")?;
    tell(&format!("{FOLDER}/portlist"), &format!("tcp {PORT}\n"))?;
    tell(&format!("{FOLDER}/threads"), "4\n")
}

fn tell(path: &str, text: &str) -> io::Result<()> {
    let with_path = |error: io::Error| io::Error::other(format!("{path}: {error}"));
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(with_path)
}

/// What lies between the client and the server; connections end with it.
struct Relay(Arc<Between>);

#[derive(Default)]
struct Between {
    /// A [`Fault`], as a number.
    fault: AtomicU64,
    over: AtomicBool,
    connections: Mutex<Vec<TcpStream>>,
}

impl Between {
    fn is(&self, fault: Fault) -> bool {
        self.fault.load(Ordering::Relaxed) == fault as u64
    }

    fn end_connections(&self) {
        let mut all = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        all.drain(..).for_each(|one| drop(one.shutdown(Shutdown::Both)));
    }
}

impl Relay {
    fn start() -> io::Result<Relay> {
        let between = Arc::new(Between::default());
        let mut listener = Some(listen()?);
        let shared = Arc::clone(&between);
        thread::spawn(move || {
            while !shared.over.load(Ordering::Relaxed) {
                listener = match listener.take().filter(|_| !shared.is(Fault::Gone)) {
                    Some(listener) => {
                        if let Ok((client, _)) = listener.accept() {
                            let _ = connect(&shared, client);
                        }
                        Some(listener)
                    }
                    None if shared.is(Fault::Gone) => None,
                    None => listen().ok(),
                };
                thread::sleep(NAP);
            }
        });
        Ok(Relay(between))
    }

    fn be(&self, fault: Fault) {
        self.0.fault.store(fault as u64, Ordering::Relaxed);
        if fault == Fault::Gone {
            thread::sleep(NAP * 2);
            self.0.end_connections();
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
        self.0.end_connections();
        thread::sleep(NAP * 2);
    }
}

fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", RELAY_PORT))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Has both directions of a connection relayed.
fn connect(between: &Arc<Between>, client: TcpStream) -> io::Result<()> {
    client.set_nonblocking(false)?;
    let server = TcpStream::connect(("127.0.0.1", PORT))?;
    let mut all = between.connections.lock().unwrap_or_else(PoisonError::into_inner);
    for (from, to, answers) in [(&client, &server, false), (&server, &client, true)] {
        to.set_nodelay(true)?;
        all.push(from.try_clone()?);
        let (from, to, between) = (from.try_clone()?, to.try_clone()?, Arc::clone(between));
        thread::spawn(move || relay(from, to, answers, &between));
    }
    Ok(())
}

/// Passes on what comes until one side ends.
fn relay(mut from: TcpStream, mut to: TcpStream, answers: bool, between: &Between) {
    let mut bytes = vec![0; 1 << 20];
    while let Ok(read) = from.read(&mut bytes) {
        if answers && between.is(Fault::Slow) {
            thread::sleep(SLOW);
        }
        while answers && between.is(Fault::Hang) {
            thread::sleep(NAP);
        }
        let Some(part) = bytes.get(..read).filter(|part| !part.is_empty()) else { break };
        if to.write_all(part).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
