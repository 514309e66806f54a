//! A mounted FUSE file system whose server answers after a given delay.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Serves one sparse file, `file`. Reads and writes are answered after a delay, those of another
/// file, `hang`, when its input ends. No library: it uses /dev/fuse as include/uapi/linux/fuse.h
/// has it.
const SERVER: &str = r#"
import ctypes, errno, os, struct, sys, threading, time
place, delay, size = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
how = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fuse
if libc.mount(b"iowhy-slow", os.fsencode(place), b"fuse", 0, how):
    sys.exit(os.strerror(ctypes.get_errno()))
released, names = threading.Event(), {b"file": 2, b"hang": 3}
threading.Thread(target=lambda: (sys.stdin.read(), released.set()), daemon=True).start()

def attributes(node):
    mode = 0o40755 if node == 1 else 0o100644
    of = size if node > 1 else 0
    return struct.pack("<6Q3I7I", node, of, of >> 9, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

def answer(operation, node, body):
    if operation == 26:
        major, minor, ahead, _ = struct.unpack_from("<4I", body)
        return struct.pack("<4I2H2I2H8I", 7, min(minor, 31), ahead, 1 << 0, 16, 12, 1 << 17, 1, 0, 0, *[0] * 8)
    if operation == 1:
        node = names.get(body.rstrip(b"\0"))
        if node is None:
            return -errno.ENOENT
        return struct.pack("<4Q2I", node, 0, 3600, 3600, 0, 0) + attributes(node)
    if operation in (3, 4):
        return struct.pack("<Q2I", 3600, 0, 0) + attributes(node)
    if operation in (14, 27):
        return struct.pack("<Q2I", 0, 0, 0)
    if operation in (15, 16, 20):
        released.wait() if node == 3 else time.sleep(delay)
        _, _, length = struct.unpack_from("<2QI", body) if operation < 20 else (0, 0, 0)
        return [bytes(length), struct.pack("<2I", length, 0), b""][operation - 15 if operation < 20 else 2]
    if operation == 17:
        return struct.pack("<5Q4I6I", 1 << 20, 1 << 20, 1 << 20, 9, 9, 4096, 255, 4096, 0, *[0] * 6)
    if operation in (18, 25, 29, 34, 38):
        return b""
    return -errno.ENOSYS

def serve():
    while True:
        try:
            asked = os.read(fuse, 1 << 18)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                continue
            return
        _, operation, unique, node = struct.unpack_from("<2I2Q", asked)
        if operation in (2, 36, 42):
            continue
        told = answer(operation, node, asked[40:])
        error, told = (told, b"") if isinstance(told, int) else (0, told)
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(told), error, unique) + told)
        except OSError:
            pass

threads = [threading.Thread(target=serve, daemon=True) for _ in range(8)]
[thread.start() for thread in threads]
print("ready", flush=True)
[thread.join() for thread in threads]
"#;

/// Unmounted with its guard, even while calls wait for it.
pub(crate) struct SlowMount {
    pub folder: PathBuf,
    server: Child,
}

impl SlowMount {
    /// One whose server takes this long for each read, write and fsync, with files of that many
    /// MiB.
    pub(crate) fn new(delay_s: f64, mib: u64) -> SlowMount {
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("iowhy-slow-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).expect("a folder in /tmp");
        let mut server = Command::new("python3");
        server.args(["-c", SERVER]).arg(&folder);
        server.args([delay_s.to_string(), (mib << 20).to_string()]);
        server.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut mount = SlowMount { folder, server: server.spawn().expect("python3") };
        let out = mount.server.stdout.as_mut().expect("its output");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n");
        mount
    }

    /// A file in it: `file`, or `hang`, whose requests are not answered.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The process of its server.
    pub(crate) fn server(&self) -> u32 {
        self.server.id()
    }

    /// Lets the server answer the hung requests.
    pub(crate) fn release(&mut self) {
        if let Some(mut input) = self.server.stdin.take() {
            let _ = input.flush();
        }
    }
}

impl Drop for SlowMount {
    fn drop(&mut self) {
        self.release();
        // Without its server the connection ends, and waiting calls fail.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
        let _ = std::fs::remove_dir(&self.folder);
    }
}
