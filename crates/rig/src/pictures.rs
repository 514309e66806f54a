//! The README's pictures: `iowhy top` and `iowhy report` on the demo's faulty disk.
//!
//! The disk is a real block device of this kernel, `dd` reads it, and both programs are run as a
//! user runs them: `top` in a terminal of tmux, the report in headless Chromium.

pub(crate) mod terminal;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;

use crate::faulty_disk::{FaultyDisk, Spec, missing};
use crate::programs::iowhy;

/// Columns and rows of the terminal.
const TERMINAL: (u16, u16) = (120, 36);
/// How long `top` runs before its picture is taken: half of its history is filled.
const RUN: Duration = Duration::from_secs(32);
/// What the report watches.
const WATCH: &str = "20s";
/// Chromium's window: the first screen of the report.
const WINDOW: &str = "--window-size=1100,1180";
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Large enough that the reader does not come to its end.
const BYTES: u64 = 64 << 30;

/// Where to.
#[derive(Args, Debug)]
pub struct Pictures {
    /// The folder for `top.svg` and `report.png`
    #[arg(long, value_name = "FOLDER", default_value = "docs/pictures")]
    out: PathBuf,
    /// Seed of the disk
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

impl Pictures {
    /// Makes both.
    ///
    /// # Errors
    /// If no disk can be made here, or tmux or Chromium is missing.
    pub fn run(&self) -> io::Result<()> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("the pictures need {missing}")));
        }
        std::fs::create_dir_all(&self.out)?;
        let truth = std::env::temp_dir().join(format!("iowhy-pictures-{}.csv", std::process::id()));
        let spec = Spec {
            model: "rotational:rpm=7200".to_string(),
            faults: vec!["retry=0.35".to_string()],
            bytes: BYTES,
            seed: self.seed,
            truth: truth.clone(),
        };
        let disk = FaultyDisk::start(&spec)?;
        let path = disk.path();
        let mut reader = disk.command("dd");
        reader.args([&format!("if={path}"), "of=/dev/null", "bs=128k", "iflag=direct"]);
        reader.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut reader = reader.spawn()?;
        let device = path.trim_start_matches("/dev/").to_string();
        let taken = self.top(&device).and_then(|()| self.report(&disk, &device));
        reader.kill()?;
        reader.wait()?;
        disk.end()?;
        let _ = std::fs::remove_file(truth);
        taken
    }

    fn top(&self, device: &str) -> io::Result<()> {
        let command = format!("{} top --device {device}", iowhy()?.display());
        let screen = terminal::screen(&command, TERMINAL, RUN)?;
        std::fs::write(self.out.join("top.svg"), terminal::svg(&screen, TERMINAL))
    }

    fn report(&self, disk: &FaultyDisk, device: &str) -> io::Result<()> {
        let folder = std::env::temp_dir().join(format!("iowhy-pictures-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let page = folder.join("report.html");
        let mut report = disk.command(&iowhy()?.to_string_lossy());
        report.args(["report", "--device", device, "--for", WATCH, "-o"]).arg(&page);
        let taken = done(&mut report, &[0, 1]).and_then(|()| photograph(&page, &folder));
        let copied = taken
            .and_then(|picture| std::fs::copy(picture, self.out.join("report.png")).map(|_| ()));
        std::fs::remove_dir_all(&folder)?;
        copied
    }
}

/// The first screen of a page, as a PNG file in the folder.
fn photograph(page: &Path, folder: &Path) -> io::Result<PathBuf> {
    let picture = folder.join("report.png");
    for browser in BROWSERS {
        let mut command = Command::new(browser);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", WINDOW]);
        command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        command.arg(format!("--screenshot={}", picture.display()));
        command.arg(format!("file://{}", page.display()));
        match done(&mut command, &[0]) {
            Ok(()) => return Ok(picture),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("the picture of the report needs chromium"))
}

fn done(command: &mut Command, good: &[i32]) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.code().is_some_and(|code| good.contains(&code)) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{:?}: {}: {stderr}", command.get_program(), output.status)))
}
