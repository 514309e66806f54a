//! Code that already runs inside a confined process: it reads a file that was not named, changes
//! the mode of one, opens a socket, creates a ring, and types into the terminal. It is simulated
//! from outside (ptrace(2)): a program that waits in a system call makes another one in its place.
//! `crates/live/src/confine/walk.rs` tries all calls of each role.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{AttackRow, Field, folders};

const INSIDE: &str = "code inside a reader, a watcher, a recorder and a pusher";
/// How long a process may take to be confined, on a machine however busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a refused call returns: EPERM, EACCES, ENOSYS (errno(3)).
const REFUSALS: [i64; 3] = [-1, -13, -38];
/// The signal that a filter ends a process with (signal(7)).
const SIGSYS: i32 = 31;
/// Commands that stay, and whether sockets are for them.
const STAYING: [(&str, bool); 5] = [
    ("why -", false),
    ("convert - {out} --to csv", false),
    ("stat 1 60", false),
    ("watch --store {dir} --for 60s", false),
    ("watch --push-exports http://127.0.0.1:9", true),
];

/// An argument of a call.
#[derive(Clone, Copy)]
enum Argument {
    Number(i64),
    /// The address of a text in the program's memory.
    Text(&'static str),
    /// The address of the path that was not named.
    Victim,
    /// An address below its stack, for what the call reads or fills.
    Room,
}

use Argument::{Number, Room, Text, Victim};

/// A call by its number on x86-64, its arguments, and whether the process ends by it.
type Call = (&'static str, i64, &'static [Argument], bool);

const CALLS: [Call; 9] = [
    ("open a file that was not named", 257, &[Number(-100), Victim, Number(0)], false),
    ("chmod", 90, &[Victim, Number(0o4755)], false),
    ("fchmodat", 268, &[Number(-100), Victim, Number(0o4755)], false),
    ("socket", 41, &[Number(1), Number(1), Number(0)], false),
    ("io_uring_setup", 425, &[Number(4), Room], false),
    ("execve", 59, &[Text("/bin/true"), Number(0), Number(0)], false),
    ("fork", 57, &[], false),
    ("bpf, load a program", 321, &[Number(5), Room, Number(120)], false),
    ("TIOCSTI", 16, &[Number(0), Number(0x5412), Text("x")], true),
];

/// The results of the calls.
struct Tried {
    /// What each returned, up to one that the program did not survive.
    results: Vec<i64>,
    /// The signal that ended it while it was held; 0 if it left by itself.
    ended_by: Option<i32>,
}

/// How often a program may be stopped outside a system call, where none can be replaced.
const ATTEMPTS: usize = 20;

impl Field<'_> {
    /// Where this is not a root on x86-64, nothing is tried.
    pub(super) fn inside(&mut self) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(INSIDE);
        let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        if !root || !cfg!(target_arch = "x86_64") {
            return Ok(row);
        }
        let victim = self.at("not-named").display().to_string();
        std::fs::write(&victim, folders::SECRET)?;
        for (command, sockets) in STAYING {
            row.inputs += 1;
            let mut child = self.staying(command)?;
            let tried = injected::calls(child.id(), &victim);
            // Its tracer has seen its end; its number may be another's by now.
            let by_filter = match tried.as_ref().map(|tried| tried.ended_by) {
                Ok(Some(signal)) => signal == SIGSYS,
                _ => {
                    let _ = child.kill();
                    child.wait()?.signal() == Some(SIGSYS)
                }
            };
            let tried = tried.map(|tried| tried.results);
            for (place, (name, _, _, ends)) in CALLS.iter().enumerate() {
                let result = tried.as_ref().ok().and_then(|tried| tried.get(place));
                let refused = result.is_some_and(|result| REFUSALS.contains(result));
                let as_it_should = match (ends, *name) {
                    (true, _) => tried.is_ok() && result.is_none() && by_filter,
                    (_, "socket") => result.is_some() && refused != sockets,
                    _ => refused,
                };
                let failed = || format!("{name} inside `iowhy {command}`: {result:?} of {tried:?}");
                row.ran((!as_it_should).then(failed));
            }
        }
        Ok(row)
    }

    /// A command that runs and is confined.
    fn staying(&self, command: &str) -> io::Result<Child> {
        // Where a file is made, its folder may be read.
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

#[cfg(target_arch = "x86_64")]
mod injected {
    use std::io;
    use std::time::Duration;

    use nix::libc::user_regs_struct;
    use nix::sys::ptrace;
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::Pid;

    use super::{ATTEMPTS, Argument, CALLS, Tried};

    /// The instruction `syscall`, as a word in memory ends with it.
    const SYSCALL: u64 = 0x050f;
    /// Where texts and room are, in bytes below the stack: beyond what the program may keep there.
    const BELOW: u64 = 16 * 1024;
    const WORD: usize = 8;

    /// What each call returned, up to the one that the program did not survive.
    pub(super) fn calls(process: u32, victim: &str) -> io::Result<Tried> {
        let pid = Pid::from_raw(process as i32);
        let start = held(pid)?;
        let mut results = Vec::new();
        for (_, number, arguments, _) in CALLS {
            let mut registers = start;
            let mut place = start.rsp - BELOW;
            let mut values = [0u64; 3];
            for (value, argument) in values.iter_mut().zip(arguments) {
                *value = match argument {
                    Argument::Number(number) => *number as u64,
                    Argument::Room => place,
                    Argument::Victim => put(pid, &mut place, victim)?,
                    Argument::Text(text) => put(pid, &mut place, text)?,
                };
            }
            // -1: no call is interrupted, so none is begun again.
            (registers.orig_rax, registers.rax) = (u64::MAX, number as u64);
            [registers.rdi, registers.rsi, registers.rdx] = values;
            registers.rip = start.rip - 2;
            ptrace::setregs(pid, registers)?;
            ptrace::step(pid, None)?;
            match waitpid(pid, None)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
                WaitStatus::Signaled(_, signal, _) => {
                    return Ok(Tried { results, ended_by: Some(signal as i32) });
                }
                WaitStatus::Exited(..) => return Ok(Tried { results, ended_by: Some(0) }),
                // A signal that ends it is delivered to us before it does.
                WaitStatus::Stopped(_, signal) => {
                    ptrace::detach(pid, signal)?;
                    break;
                }
                _ => return Err(io::Error::other("the program stopped in another way")),
            }
            results.push(ptrace::getregs(pid)?.rax as i64);
        }
        // If it still exists, it continues where it was; its starter ends it.
        if ptrace::setregs(pid, start).is_ok() {
            let _ = ptrace::detach(pid, None);
        }
        Ok(Tried { results, ended_by: None })
    }

    /// Stops it where it waits in a system call, and gives its registers.
    fn held(pid: Pid) -> io::Result<user_regs_struct> {
        for _ in 0..ATTEMPTS {
            ptrace::attach(pid)?;
            waitpid(pid, None)?;
            let registers = ptrace::getregs(pid)?;
            let at = (registers.rip - 2) as ptrace::AddressType;
            if ptrace::read(pid, at)? as u64 & 0xffff == SYSCALL {
                return Ok(registers);
            }
            ptrace::detach(pid, None)?;
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(io::Error::other("it was never seen in a system call"))
    }

    /// Writes a text into its memory, and returns its address.
    fn put(pid: Pid, place: &mut u64, text: &str) -> io::Result<u64> {
        let begins = *place;
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((bytes.len() / WORD + 1) * WORD, 0);
        for chunk in bytes.chunks_exact(WORD) {
            let mut word = [0; WORD];
            word.copy_from_slice(chunk);
            ptrace::write(pid, *place as ptrace::AddressType, i64::from_ne_bytes(word))?;
            *place += WORD as u64;
        }
        Ok(begins)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod injected {
    /// The registers of other processors are not known here.
    pub(super) fn calls(_: u32, _: &str) -> std::io::Result<super::Tried> {
        Ok(super::Tried { results: Vec::new(), ended_by: None })
    }
}
