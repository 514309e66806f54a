//! Code that already runs inside a confined process, its part played by a debugger: it reads a file
//! that was not named, changes the mode of one, opens a socket, makes a ring, and types into the
//! terminal. Of the calls of each role `crates/live/src/confine/walk.rs` tries all.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{AttackRow, Field, folders};

const INSIDE: &str = "code inside a reader, a watcher, a recorder and a pusher";
/// How long a process may take to be confined, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// The signal of what a filter ends (signal(7)).
const SIGSYS: i32 = 31;
/// Commands that stay, and whether sockets are for them.
const STAYING: [(&str, bool); 5] = [
    ("why -", false),
    ("convert - {out} --to csv", false),
    ("stat 1 60", false),
    ("watch --store {dir} --for 60s", false),
    ("watch --push-exports http://127.0.0.1:9", true),
];
/// Each by its number on x86-64, its arguments, and whether the process ends by it.
const CALLS: [(&str, &str, bool); 9] = [
    ("open a file that was not named", "257,-100,\"{victim}\",0", false),
    ("chmod", "90,\"{victim}\",2541", false),
    ("fchmodat", "268,-100,\"{victim}\",2541", false),
    ("socket", "41,1,1,0", false),
    ("io_uring_setup", "425,4,$sp-8192", false),
    ("execve", "59,\"/bin/true\",0,0", false),
    ("fork", "57", false),
    ("bpf, load a program", "321,5,$sp-8192,120", false),
    ("TIOCSTI", "16,0,0x5412,\"x\"", true),
];

/// How often a debugger may fail to get hold of a program on a busy machine (a choice).
const ATTEMPTS: usize = 3;

impl Field<'_> {
    /// Where there is no debugger, or this is no root on x86-64, nothing is tried.
    pub(super) fn inside(&mut self) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(INSIDE);
        let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        let gdb = Command::new("gdb").arg("--version").output();
        if !root || gdb.is_err() || !cfg!(target_arch = "x86_64") {
            return Ok(row);
        }
        let victim = self.at("not-named").display().to_string();
        std::fs::write(&victim, folders::SECRET)?;
        let tries: String = CALLS
            .iter()
            .map(|(name, call, _)| {
                format!("t({name:?}, {:?})\n", call.replace("{victim}", &victim))
            })
            .collect();
        // Stopped in a frame of Rust the debugger reads Rust, and a cast of C is no expression
        // there.
        let script = format!(
            "import gdb\ngdb.execute('set language c')\ndef t(name, call):\n    \
             r = int(gdb.parse_and_eval('(long)syscall(' + call + ')'))\n    \
             e = int(gdb.parse_and_eval('*(int*)__errno_location()')) if r < 0 else 0\n    \
             print('TRIED', r, e, name)\n{tries}"
        );
        std::fs::write(self.at("tries.py"), script)?;
        for (command, sockets) in STAYING {
            row.inputs += 1;
            let (mut said, mut by_filter) = (String::new(), false);
            // A debugger that made no call has tried nothing: it is asked again.
            for _ in 0..ATTEMPTS {
                let mut child = self.staying(command)?;
                let run = without_a_core("gdb")
                    .args(["-batch", "-nx", "-p", &child.id().to_string(), "-x"])
                    .arg(self.at("tries.py"))
                    .stdin(Stdio::null())
                    .output()?;
                said = String::from_utf8_lossy(&run.stdout).into_owned();
                let _ = child.kill();
                by_filter = child.wait()?.signal() == Some(SIGSYS);
                if said.contains("TRIED") {
                    break;
                }
                said += &String::from_utf8_lossy(&run.stderr);
            }
            for (name, _, ends) in CALLS {
                let line =
                    said.lines().find(|line| line.starts_with("TRIED") && line.ends_with(name));
                let refused = line.is_some_and(|line| line.starts_with("TRIED -1 "));
                let as_it_should = match (ends, name) {
                    (true, _) => line.is_none() && by_filter,
                    (_, "socket") => refused != sockets,
                    _ => refused,
                };
                let failed = format!("{name} inside `iowhy {command}`: {line:?} {said}");
                row.ran((!as_it_should).then_some(failed));
            }
        }
        Ok(row)
    }

    /// A command that runs and is confined.
    fn staying(&self, command: &str) -> io::Result<Child> {
        // Where a file is made, what lies beside it may be read.
        std::fs::create_dir_all(self.at("made"))?;
        let _ = std::fs::remove_file(self.at("made/output"));
        let shown = |name: &str| self.at(name).display().to_string();
        let words = command.replace("{out}", &shown("made/output"));
        let words = words.replace("{dir}", &shown("kept"));
        let child = without_a_core(self.iowhy)
            .args(words.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let begun = Instant::now();
        let status = format!("/proc/{}/status", child.id());
        while begun.elapsed() < PATIENCE {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            if text.lines().any(|line| line == "Seccomp:\t2") {
                // The last of several filters may still be set.
                std::thread::sleep(Duration::from_millis(200));
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(child)
    }
}

/// A program that leaves no core file of hundreds of megabytes where it was started, however it
/// ends.
fn without_a_core(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -c 0; exec \"$0\" \"$@\""]).arg(program);
    command
}
