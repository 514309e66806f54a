//! `rig`: real block devices with a known fault. Never shipped.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use clap::{Args, Parser, Subcommand};
use iowhy_lab::disk::{DiskArgs, Spec};
use iowhy_rig::claims::Claims;
use iowhy_rig::day::Day;
use iowhy_rig::demo::Demo;
use iowhy_rig::faulty_disk::{FaultyDisk, missing, serve};
use iowhy_rig::gallery::Gallery;
use iowhy_rig::kernels::{self, Kernels};
use iowhy_rig::pictures::Pictures;
use iowhy_rig::scenarios::Scenarios;
use iowhy_rig::week::Week;
use rustix::fs::{MemfdFlags, memfd_create};

/// Disks with a known fault behind real block devices, and tests on them.
#[derive(Parser)]
#[command(name = "rig")]
struct Cli {
    #[command(subcommand)]
    what: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compares the tracer with disks with a known delay, and prints the table
    Claims(Claims),
    /// Runs the flight recorder on healthy and faulty disks in turn, and prints what it reports
    Day(Day),
    /// Shows what iowhy does, on disks with a known fault, within one minute
    Demo(Demo),
    /// Draws each fault and writes the page that shows them
    Gallery(Gallery),
    /// Boots Debian's kernels in small virtual machines and tests tracer and diagnosis in them
    Kernels(Kernels),
    /// Takes the README's pictures: `iowhy top` and the report of `iowhy report`, on a faulty disk
    Pictures(Pictures),
    /// Judges live disks with a known fault three ways and compares the verdicts with their logs
    Scenarios(Scenarios),
    /// Counts the alerts of the flight recorder and of monitoring rules in a week of ordinary loads
    Week(Week),
    /// Creates a block device with a known fault, runs a command on it, and removes it
    Disk(OneDisk),
    /// What runs inside such a machine
    #[command(hide = true)]
    Guest,
    /// Serves a disk to the process that started this one
    #[command(hide = true)]
    Serve(DiskArgs),
}

#[derive(Args)]
struct OneDisk {
    #[command(flatten)]
    disk: DiskArgs,
    /// Healthy disks of the same model beside it, `{peers}` in the command
    #[arg(long, default_value_t = 0)]
    peers: u16,
    /// Command for `sh -c`, with the device for `{dev}`; without it the disk stays until input ends
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().what {
        Command::Claims(claims) => claims.run(),
        Command::Day(day) => day.run(),
        Command::Demo(demo) => demo.run().map(|()| ExitCode::SUCCESS),
        Command::Gallery(gallery) => gallery.run().map(|()| ExitCode::SUCCESS),
        Command::Kernels(kernels) => kernels.run(),
        Command::Pictures(pictures) => pictures.run().map(|()| ExitCode::SUCCESS),
        Command::Scenarios(scenarios) => scenarios.run(),
        Command::Week(week) => week.run(),
        Command::Disk(disk) => disk.run(),
        Command::Guest => kernels::guest().map(|()| ExitCode::SUCCESS),
        Command::Serve(disk) => {
            let truth = disk.truth.clone().unwrap_or_else(|| "/dev/null".into());
            serve(&disk.spec(truth)).map(|()| ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "rig: {error}");
        ExitCode::from(2)
    })
}

impl OneDisk {
    fn run(&self) -> io::Result<ExitCode> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("a faulty disk needs {missing}")));
        }
        // A log without a name is memory that ends with this process.
        let log = File::from(memfd_create("truth", MemfdFlags::CLOEXEC)?);
        let unnamed = format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd());
        let spec = self.disk.spec(self.disk.truth.clone().unwrap_or_else(|| unnamed.into()));
        let faulty = FaultyDisk::start(&spec)?;
        let mut peers = Vec::new();
        for peer in 0..self.peers {
            peers.push(FaultyDisk::start(&self.healthy(peer))?);
        }
        let beside: Vec<String> = peers.iter().map(FaultyDisk::path).collect();
        let mut stderr = io::stderr().lock();
        writeln!(stderr, "truth: {} is {} {}", faulty.path(), spec.model, spec.faults.join(" "))?;
        if !beside.is_empty() {
            writeln!(stderr, "truth: healthy beside it: {}", beside.join(" "))?;
        }
        drop(stderr);

        let code = match &self.run {
            Some(command) => command_on(&faulty, &command.replace("{peers}", &beside.join(" ")))?,
            None => wait_for_input()?,
        };
        let truth = faulty.end()?;
        for peer in peers {
            peer.end()?;
        }
        write!(io::stderr(), "{}", truth.summary())?;
        Ok(code)
    }

    /// A healthy disk of the same model, its log beside the faulty one's.
    fn healthy(&self, peer: u16) -> Spec {
        let log = |truth: &PathBuf| truth.with_extension(format!("peer-{peer}.csv"));
        let truth = self.disk.truth.as_ref().map_or_else(|| "/dev/null".into(), log);
        let mut spec = self.disk.spec(truth);
        spec.faults.clear();
        spec.seed = spec.seed.wrapping_add(1 + u64::from(peer));
        spec
    }
}

/// Runs the command with the device for `{dev}`, and ends as it ends.
fn command_on(faulty: &FaultyDisk, command: &str) -> io::Result<ExitCode> {
    let command = command.replace("{dev}", &faulty.path());
    let status = faulty.command("sh").arg("-c").arg(command).stdin(Stdio::null()).status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}

fn wait_for_input() -> io::Result<ExitCode> {
    writeln!(io::stderr(), "rig: the disk stays until input ends (Ctrl-D)")?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(ExitCode::SUCCESS)
}
