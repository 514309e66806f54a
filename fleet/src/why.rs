//! `iowhy-fleet why`: which disks of a fleet are slower than their peers under the same load.
//!
//! What a disk needs depends on what it is asked, so it is compared with the disks of its model at
//! the same load (PERSEUS, FAST'23, regresses latency on throughput for the same reason). The way
//! of a cell:
//!
//! 1. [`hours`]: cells become hours: mean latency and load of each disk and operation.
//! 2. [`expected`]: of each model and operation, the latency that its median disk has at each load.
//!    The logarithm of what a disk had over that is its excess.
//! 3. [`groups`]: what all disks of a model, a firmware, a rack or a host have in common is theirs,
//!    and is taken off; so is what several hosts of a model have ([`generations`]).
//! 4. [`stretches`]: of what is left, the period in which a disk is the largest outlier, in
//!    units of the spread of the disks of its model in periods of that length.
//! 5. [`accusations`]: those that remain at a false discovery rate of 1 % over all disks (Benjamini
//!    and Hochberg, 1995).

pub mod accusations;
mod accused;
pub mod expected;
mod generations;
mod groups;
pub mod hours;
mod stretches;
pub mod words;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::command::Status;
use crate::make::Make;
use crate::place::Place;
pub use accusations::Subject;

/// Which fleet.
#[derive(Args, Clone, Debug)]
pub struct Why {
    /// Folders that `iowhy export --parquet` or `iowhy-fleet make` wrote, or `s3://bucket/prefix`
    /// of such
    #[arg(required_unless_present = "example")]
    pub folders: Vec<Place>,
    /// Instead of folders: a generated fleet of 160 disks, six of them faulty
    #[arg(long, conflicts_with = "folders")]
    pub example: bool,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
    /// All accused disks and groups, and how each was found
    #[arg(short, long)]
    pub verbose: bool,
    /// Write the healthy service times into this new folder, a file for each model, for `iowhy why
    /// --baseline`
    #[arg(long, value_name = "DIR")]
    pub baseline_out: Option<PathBuf>,
}

impl Why {
    /// Accuses.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn run(&self) -> anyhow::Result<Status> {
        let disks = match self.example {
            true => {
                let made = Make::example()?;
                hours::read(&[made.path().into()])?
            }
            false => hours::read(&self.folders)?,
        };
        let verdicts = accusations::judge(&disks);
        if let Some(folder) = &self.baseline_out {
            let failed = || format!("cannot write into `{}`: name a new folder", folder.display());
            std::fs::create_dir(folder).with_context(failed)?;
            for (model, text) in words::baselines(&disks, &verdicts) {
                let file = folder.join(format!("{}.txt", hours::escaped(&model)));
                std::fs::write(file, text).with_context(failed)?;
            }
        }
        let out = &mut std::io::stdout().lock();
        match self.json {
            true => writeln!(out, "{}", words::json(&disks, &verdicts))?,
            false => words::write(&disks, &verdicts, self.verbose, out)?,
        }
        out.flush()?;
        Ok(Status::Done)
    }
}
