//! The watchers: iostat and biolatency beside iowhy, all at the same time.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Stage, say};
use crate::faulty_disk::FaultyDisk;

/// How much longer than requested a watcher may take to start and to end.
const GRACE: Duration = Duration::from_secs(8);
/// Where Debian's libbpf-tools put it, which is not in everybody's PATH.
const BIOLATENCY: [&str; 3] = ["/usr/sbin/biolatency", "/usr/sbin/biolatency-bpfcc", "biolatency"];

/// All watchers.
pub(super) struct Watchers {
    watching: Vec<Child>,
    until: Instant,
}

impl Watchers {
    /// Sets everybody to work on these devices. They are ended with `disk` if this process dies.
    ///
    /// # Errors
    /// If iowhy cannot be started.
    pub(super) fn start(
        stage: &Stage,
        disk: &FaultyDisk,
        devices: &[&str],
    ) -> io::Result<Watchers> {
        let seconds = stage.watch.as_secs().to_string();
        let mut watchers =
            Watchers { watching: Vec::new(), until: Instant::now() + stage.watch + GRACE };
        let mut snoop = disk.command(&stage.iowhy.to_string_lossy());
        snoop.args(["snoop", "--json", "--for", &format!("{seconds}s")]);
        devices.iter().for_each(|device| {
            snoop.args(["--device", device]);
        });
        watchers.set(snoop, &stage.file("capture.json"))?;
        let mut iostat = disk.command("iostat");
        iostat.args(["-dxys"]).args(devices).args([&seconds, "1"]);
        // Missing tools are reported later.
        let _ = watchers.set(iostat, &stage.file("iostat.txt"));
        if let ([device], Some(program)) = (devices, biolatency()) {
            let mut biolatency = disk.command(program);
            biolatency.args(["-m", "-d", device, &seconds, "1"]);
            let _ = watchers.set(biolatency, &stage.file("biolatency.txt"));
        }
        Ok(watchers)
    }

    fn set(&mut self, mut command: Command, output: &Path) -> io::Result<()> {
        let _ = fs::remove_file(output);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null());
        self.watching.push(child.stdout(File::create(output)?).spawn()?);
        Ok(())
    }

    /// Shows the devices on the screen while they are watched (the map of one, a table of many), or
    /// waits where there is no screen; then waits for everybody.
    ///
    /// # Errors
    /// If iowhy cannot be started.
    pub(super) fn wait(
        mut self,
        stage: &Stage,
        disk: &FaultyDisk,
        devices: &[&str],
    ) -> io::Result<()> {
        if io::stdout().is_terminal() {
            let mut live = disk.command(&stage.iowhy.to_string_lossy());
            let seconds = stage.watch.as_secs();
            match devices {
                // The picture is drawn from the top of the screen on.
                [_] => {
                    write!(io::stdout(), "\x1b[2J")?;
                    live.args(["map", "--for", &format!("{seconds}s")]);
                }
                _ => {
                    live.args(["stat", "5", &(seconds / 5).to_string()]);
                }
            }
            devices.iter().for_each(|device| {
                live.args(["--device", device]);
            });
            live.status()?;
        } else {
            std::thread::sleep(stage.watch);
        }
        for watcher in &mut self.watching {
            while watcher.try_wait()?.is_none() {
                if Instant::now() > self.until {
                    let _ = watcher.kill();
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

fn biolatency() -> Option<&'static str> {
    let here = |program: &&str| Command::new(program).arg("--help").output().is_ok();
    BIOLATENCY.into_iter().find(here)
}

/// Prints what a tool wrote, or that it is not here.
///
/// # Errors
/// If it cannot be printed.
pub(super) fn print(stage: &Stage, tool: &str, package: &str) -> io::Result<()> {
    let text = fs::read_to_string(stage.file(&format!("{tool}.txt"))).unwrap_or_default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("Linux "))
        .filter(|line| !line.starts_with("Tracing "))
        .collect();
    if lines.is_empty() {
        return say(&format!("`{tool}` is not installed here (package `{package}`): skipped."));
    }
    lines.into_iter().try_for_each(say)
}
