//! What iowhy does, shown on disks with a known fault within one minute.
//!
//! A faulty disk is made, a load runs on it, and it is watched for 20 s by iostat, by biolatency
//! and by iowhy, all at once. Then each shows its output, and the truth comes last. A demonstration
//! that is interrupted or killed cleans up.

mod dusty;
mod shelf;
mod watchers;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::faulty_disk::missing;
use crate::programs::iowhy;

/// Columns of a heading where the output is not a terminal.
const WIDTH: usize = 100;

/// Time to read four lines, before the picture takes the screen.
const READ: Duration = Duration::from_secs(6);

/// A demonstration.
#[derive(Args, Debug)]
pub struct Demo {
    /// Which one
    #[arg(value_enum, default_value_t = Kind::Dusty)]
    kind: Kind,
    /// How many seconds the disks are watched
    #[arg(long, value_name = "SECONDS", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(5..=600))]
    seconds: u64,
    /// Where capture and pictures go [default: `iowhy-demo` among the temporary files]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Seed of everything that is chance
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Kind {
    /// One disk that has to read many sectors twice
    Dusty,
    /// Twelve disks of a kind, one of them faulty
    Peers,
}

impl Demo {
    /// Shows it.
    ///
    /// # Errors
    /// If a disk cannot be made here, or `iowhy` was not built.
    pub fn run(&self) -> io::Result<()> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!(
                "the demo makes a block device: it needs {missing}"
            )));
        }
        let name = match self.kind {
            Kind::Dusty => "dusty",
            Kind::Peers => "peers",
        };
        let folder = self.out.clone().unwrap_or_else(|| std::env::temp_dir().join("iowhy-demo"));
        let stage = Stage {
            iowhy: iowhy()?,
            watch: Duration::from_secs(self.seconds),
            folder: folder.join(name),
            seed: self.seed,
        };
        std::fs::create_dir_all(&stage.folder)?;
        match self.kind {
            Kind::Dusty => dusty::show(&stage),
            Kind::Peers => shelf::show(&stage),
        }
    }
}

/// Where and for how long a demonstration happens.
#[derive(Debug)]
struct Stage {
    iowhy: PathBuf,
    watch: Duration,
    folder: PathBuf,
    seed: u64,
}

impl Stage {
    /// The file of that name in the folder.
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Announces the next step; on a terminal with time to read it before the picture appears.
    fn announce(&self, watchers: &str) -> io::Result<()> {
        let seconds = self.watch.as_secs();
        if io::stdout().is_terminal() {
            say(&format!(
                "In {} s you see it live, for {seconds} s; {watchers} watch.",
                READ.as_secs()
            ))?;
            std::thread::sleep(READ);
            return Ok(());
        }
        say(&format!("Watching for {seconds} s: {watchers}."))
    }

    /// Runs `iowhy` on the capture, on the screen.
    fn iowhy(&self, arguments: &[&str]) -> io::Result<()> {
        io::stdout().flush()?;
        let capture = self.file("capture.json");
        Command::new(&self.iowhy).args(arguments).arg(capture).status().map(drop)
    }

    /// Keeps both pictures of what `devices` did.
    fn pictures(&self, name: &str, devices: &[&str]) -> io::Result<()> {
        for kind in ["svg", "png"] {
            let picture = self.file(&format!("{name}.{kind}"));
            let mut map = Command::new(&self.iowhy);
            map.arg("map").arg(format!("--{kind}")).arg(&picture);
            devices.iter().for_each(|device| {
                map.args(["--device", device]);
            });
            map.arg(self.file("capture.json")).status()?;
        }
        Ok(())
    }

    /// Saved files, and how to examine them.
    fn farewell(&self) -> io::Result<()> {
        heading("What is left")?;
        let mut names: Vec<String> = std::fs::read_dir(&self.folder)?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        let folder = self.folder.display();
        say(&format!("In {folder}: {}.", names.join(", ")))?;
        say("The disks are removed; nothing else on this machine was changed.")
    }
}

/// A line of text.
fn say(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// A separator line.
fn heading(text: &str) -> io::Result<()> {
    let width = match rustix::termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 20 => usize::from(size.ws_col).min(WIDTH),
        _ => WIDTH,
    };
    let rule = "─".repeat(width.saturating_sub(text.chars().count() + 4));
    let (bold, plain) = if coloured() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    writeln!(io::stdout(), "\n── {bold}{text}{plain} {rule}")
}

/// Whether colours are enabled (no-color.org).
fn coloured() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !refused
}
