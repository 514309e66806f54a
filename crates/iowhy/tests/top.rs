//! `iowhy top` as a user runs it: in a terminal of three sizes, with keys, signals and a device
//! that goes away. Each test has a tmux server of its own.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::rig::{Loop, can_run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_iowhy");

/// A terminal in which a command runs.
pub(crate) struct Terminal {
    server: String,
}

impl Terminal {
    /// Starts the command; `None` where there is no tmux. The shell says `end STATUS` after it.
    pub(crate) fn run(name: &str, (columns, rows): (u16, u16), command: &str) -> Option<Terminal> {
        let command =
            format!("{PROGRAM} {command}; echo end $?; stty -a | grep -o '[-]*icanon'; cat");
        Terminal::of(name, (columns, rows), &command)
    }

    /// The same with any command, and nothing after it.
    fn of(name: &str, (columns, rows): (u16, u16), command: &str) -> Option<Terminal> {
        let server = format!("iowhy-{name}-{}", std::process::id());
        let started = Command::new("tmux")
            .args(["-L", &server, "-f", "/dev/null", "new-session", "-d"])
            .args(["-x", &columns.to_string(), "-y", &rows.to_string(), command])
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .status();
        match started {
            Ok(status) => {
                assert!(status.success(), "tmux: {status}");
                Some(Terminal { server })
            }
            Err(_) => {
                println!("skipped: needs tmux");
                None
            }
        }
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output = command.args(["-L", &self.server]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Waits until the screen satisfies something.
    pub(crate) fn wait(&self, what: &str, until: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if until(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "no {what} on\n{screen}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// The process of the program in the terminal.
    fn pid(&self) -> String {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let output = Command::new("pgrep").args(["-P", shell.trim()]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_string()
    }

    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.pid()]).status().unwrap().success());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn case(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    folder.join(name).join("capture.txt").display().to_string()
}

#[test]
fn an_example_is_called_so() {
    let Some(terminal) = Terminal::run("example", (120, 40), "top --example dusty-disk") else {
        return;
    };
    terminal.wait_for("replay of example dusty-disk");
    terminal.keys(&["q"]);
}

#[test]
fn a_capture_is_replayed_at_three_sizes() {
    for size in [(80, 24), (120, 40), (250, 60)] {
        let name = format!("replay-{}", size.0);
        let Some(terminal) = Terminal::run(&name, size, &format!("top {}", case("dusty-disk")))
        else {
            return;
        };
        // The screen may be looked at while it is drawn.
        for part in
            ["device.retry", "replay of", "sdb", "I/Os per second", "process", "slowest", "q quit"]
        {
            terminal.wait_for(part);
        }
        let screen = terminal.wait_for("device.retry");
        assert_eq!(screen.lines().count(), usize::from(size.1), "{screen}");
        terminal.keys(&["Home"]);
        terminal.wait_for("at 0.0 s");
        terminal.keys(&["n"]);
        terminal.wait("another time", |screen| !screen.contains("at 0.0 s"));
        terminal.keys(&["+"]);
        terminal.wait_for("zoomed 4 times");
        terminal.keys(&["-"]);
        terminal.wait("all of it", |screen| !screen.contains("zoomed"));
        terminal.keys(&["Enter"]);
        terminal.wait_for("Evidence");
        terminal.keys(&["Escape"]);
        terminal.wait("the panels", |screen| !screen.contains("Evidence"));
        terminal.keys(&["?"]);
        terminal.wait_for("next anomaly: much more");
        terminal.keys(&["x"]);
        terminal.keys(&["/"]);
        terminal.keys(&["nvme"]);
        terminal.keys(&["Enter"]);
        let filtered = terminal.wait_for("[filter: nvme]");
        assert!(!filtered.lines().any(|line| line.starts_with(" sdb ")), "{filtered}");
        terminal.keys(&["q"]);
        let end = terminal.wait_for("end 0");
        assert!(!end.contains("-icanon") && !end.contains("q quit"), "not given back:\n{end}");
    }
}

#[test]
fn signals_give_the_terminal_back() {
    for (signal, status) in [("-TERM", "end "), ("-INT", "end ")] {
        let name = format!("signal{signal}");
        let command = format!("top {}", case("dusty-disk"));
        let Some(terminal) = Terminal::run(&name, (80, 24), &command) else { return };
        terminal.wait_for("device.retry");
        terminal.signal(signal);
        let end = terminal.wait_for(status);
        assert!(!end.contains("-icanon"), "{end}");
    }
}

#[test]
fn stopped_by_the_shell_it_gives_the_terminal_back_and_comes_again() {
    let Some(terminal) = Terminal::of("stopped", (100, 30), "bash --norc --noprofile -i") else {
        return;
    };
    terminal.keys(&["PS1='shell here> '", "Enter"]);
    terminal.wait_for("\nshell here>");
    terminal.keys(&[&format!("clear; {PROGRAM} top {}", case("dusty-disk")), "Enter"]);
    terminal.wait_for("device.retry");
    terminal.keys(&["C-z"]);
    let stopped = terminal.wait_for("Stopped");
    assert!(stopped.contains("shell here>") && !stopped.contains("q quit"), "{stopped}");
    terminal.keys(&["stty -a | grep -o '[-]*icanon'", "Enter"]);
    terminal.wait("a terminal of lines", |screen| screen.lines().any(|line| line == "icanon"));
    terminal.keys(&["fg", "Enter"]);
    let again = terminal.wait_for("q quit");
    assert!(again.contains("device.retry"), "{again}");
    terminal.keys(&["q"]);
    terminal.wait("the shell", |screen| !screen.contains("q quit"));
}

#[test]
fn a_closed_terminal_ends_it() {
    let command = format!("top {}", case("dusty-disk"));
    let Some(terminal) = Terminal::run("closed", (80, 24), &command) else { return };
    terminal.wait_for("device.retry");
    let process = PathBuf::from(format!("/proc/{}", terminal.pid()));
    drop(terminal);
    let begun = Instant::now();
    while process.exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it goes on without a terminal");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_pipe_is_no_terminal() {
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["top", &case("dusty-disk")])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(
        reported.contains("`top` needs a terminal") && reported.contains("hint:"),
        "{reported}"
    );
}

#[test]
fn a_live_device_is_shown_under_load_and_may_go_away() {
    if !can_run(&["tmux"]) {
        return;
    }
    let disk = Loop::new(64, None);
    let command = format!("top --device {} 0.5", disk.name);
    let Some(terminal) = Terminal::run("live", (80, 24), &command) else { return };
    terminal.wait_for("live");
    let device = File::options().write(true).open(&disk.path).unwrap();
    let begun = Instant::now();
    let mut shown = String::new();
    let block = vec![7u8; 65_536];
    // Its row, and who waits: the file is the device itself.
    let has = |shown: &str, one: &str, other: &str| {
        shown.lines().any(|line| line.contains(one) && line.contains(other))
    };
    while !has(&shown, &disk.name, "ms") || !has(&shown, " file ", &disk.name) {
        for k in 0..64u64 {
            device.write_all_at(&block, k * 65_536).unwrap();
        }
        device.sync_data().unwrap();
        shown = terminal.screen();
        assert!(begun.elapsed() < Duration::from_secs(60), "no load on\n{shown}");
    }
    terminal.keys(&["p"]);
    terminal.wait_for("paused");
    terminal.keys(&["p"]);
    drop(device);
    disk.detach();
    // It goes on without the device, and ends by its key.
    std::thread::sleep(Duration::from_secs(2));
    terminal.wait_for("live");
    terminal.keys(&["q"]);
    let end = terminal.wait_for("end ");
    assert!(!end.contains("-icanon"), "{end}");
}

/// The live map of two devices keeps to the screen, with its title and the busier of the two, and
/// ends by `q`.
#[test]
fn a_live_map_keeps_to_the_screen_and_ends_by_its_key() {
    if !can_run(&["tmux", "fio"]) {
        return;
    }
    let busy = Loop::new(64, None);
    let idle = busy.another(64);
    let command = format!("map --device {} --device {} 1", idle.name, busy.name);
    let Some(terminal) = Terminal::run("map", (80, 24), &command) else { return };
    let _load = busy.under_load(&["--rw=randread", "--size=64m", "--rate_iops=500"]);
    let screen = terminal.wait_for("Frequency");
    let title = screen.lines().position(|line| line.contains(&busy.name)).expect("its title");
    let figure = screen.lines().position(|line| line.contains("Frequency")).expect("its figure");
    assert!(title < figure, "{screen}");
    terminal.keys(&["q"]);
    let end = terminal.wait_for("end ");
    assert!(!end.contains("-icanon"), "{end}");
}
