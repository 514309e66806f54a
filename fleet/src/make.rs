//! A generated fleet of any size, so that a verdict can be compared with what is true.
//!
//! Disks of twelve models on hosts in racks, loaded by day and night, with a few that are faulty,
//! three bad firmwares, hidden generations of models, and disks that are merely asked for much. The
//! same seed gives the same files. What is true goes into `truth.csv` beside the tables; nothing of
//! it is in them.
//!
//! A disk serves requests in parallel channels; how much its latency grows with its load follows
//! from how busy these are. Latencies of single requests are spread log-normally around it. Nothing
//! here is known to the judge: neither the shape of that growth, nor the spread, nor how faulty
//! disks behave.

mod bell;
mod course;
mod disks;
mod facts;
mod files;
mod models;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::command::Status;

/// What to generate.
#[derive(Args, Clone, Debug)]
pub struct Make {
    /// The folder of the tables; created if missing, and it must be empty
    pub folder: PathBuf,
    /// Disks
    #[arg(long, default_value_t = 200)]
    pub disks: u32,
    /// Disks of a host
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub per_host: u32,
    /// Days
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=366))]
    pub days: u32,
    /// Seconds of a cell
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub span: u32,
    /// Merge the cells of this many seconds into one, as the recorder does with old data
    #[arg(long, value_name = "SECONDS")]
    pub thin: Option<u32>,
    /// Faulty disks, of a thousand
    #[arg(long, default_value_t = 2.0)]
    pub faulty: f64,
    /// Firmware versions that make all their disks slower
    #[arg(long, default_value_t = 3)]
    pub bad_firmwares: usize,
    /// Hidden generations of a model at most, 1.1 to 3 times slower than the first: nothing but
    /// latency shows which one a host has, and a third of them are slower only from some day on
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=3))]
    pub generations: u32,
    /// Faulty hosts, of a thousand: all their disks are 1.4 to 3 times slower from some hour on
    #[arg(long, default_value_t = 0.0)]
    pub faulty_hosts: f64,
    /// The first day, UTC, as days since 1970 [default: 2026-11-16]
    #[arg(long, default_value_t = 20_773)]
    pub first_day: i64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Make {
    /// Generates the fleet.
    ///
    /// # Errors
    /// If the folder is not empty or cannot be written to.
    pub fn run(&self) -> anyhow::Result<Status> {
        let (fleet, rows) = self.write()?;
        crate::say(&format!(
            "{} disks on {} hosts, {} days, {rows} cells in `{}`; the truth is in `truth.csv`",
            fleet.disks.len(),
            fleet.hosts,
            self.days,
            self.folder.display()
        ));
        Ok(Status::Done)
    }

    /// The fleet of `why --example`, in a folder that is removed with what is returned.
    ///
    /// # Errors
    /// If there is no place for it.
    pub fn example() -> anyhow::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        let make = Make {
            folder: folder.path().to_path_buf(),
            disks: 160,
            per_host: 8,
            days: 2,
            faulty: 30.0,
            bad_firmwares: 1,
            ..Make::small()
        };
        make.write()?;
        crate::say("a generated fleet; `iowhy-fleet make` generates others");
        Ok(folder)
    }

    fn write(&self) -> anyhow::Result<(disks::Fleet, u64)> {
        let thin = self.thin.unwrap_or(self.span);
        anyhow::ensure!(
            thin.is_multiple_of(self.span) && 86_400 % thin == 0,
            "cells of {} s do not add up to {thin} s, and these to a day",
            self.span
        );
        empty(&self.folder)?;
        let fleet = disks::Fleet::new(self);
        let rows = files::write(self, &fleet)?;
        fleet.write_truth(&self.folder.join("truth.csv"))?;
        Ok((fleet, rows))
    }

    /// Of a day, in cells of an hour; nothing is wrong with it.
    pub fn small() -> Make {
        Make {
            folder: PathBuf::new(),
            disks: 3,
            per_host: 2,
            days: 1,
            span: 3600,
            thin: None,
            faulty: 0.0,
            bad_firmwares: 0,
            generations: 0,
            faulty_hosts: 0.0,
            first_day: 20_773,
            seed: 1,
        }
    }
}

fn empty(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|cause| anyhow::anyhow!("cannot make `{}`: {cause}", folder.display()))?;
    let held = std::fs::read_dir(folder)?.next().is_some();
    anyhow::ensure!(!held, "`{}` is not empty\nhint: name a new folder", folder.display());
    Ok(())
}
