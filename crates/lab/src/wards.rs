//! The wards: live disks of known illness, each judged three ways and held against its own log.
//!
//! A [`Ward`] is a disease, a load and the verdict that is owed. A run makes its disks, lets the load
//! run, and has them judged at the same time by `iowhy why`, by `iowhy snoop | iowhy why`, and from a
//! capture that `iowhy snoop --json` wrote. The table says what was found, how sure, and how far the
//! figures it rests on are from what the disk did.

mod cases;
mod kept;
mod outcome;
mod run;
mod tables;
mod ward;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;

pub use cases::WARDS;
use kept::Kept;
pub(crate) use outcome::ACCUSES;
pub use outcome::{Answer, Judged, Outcome, Way};
use run::run;
pub use tables::tables;
pub use ward::{Figure, Ward};

use crate::sickdisk::missing;

/// How often a run that the host disturbed is repeated.
const AGAIN: usize = 2;

/// Which runs.
#[derive(Args, Debug)]
pub struct Wards {
    /// Seed of everything that is chance; each ward and run adds its own
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// Only diseases whose name contains one of these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// One run of each of a few wards, in less than a minute
    #[arg(long)]
    fast: bool,
    /// Keeps the logs and captures of every run there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<std::path::PathBuf>,
    /// Adds each run to this file as it ends, and leaves out those that are in there already
    #[arg(long, value_name = "FILE")]
    resume: Option<std::path::PathBuf>,
    /// Only lists what there is
    #[arg(long)]
    list: bool,
}

impl Wards {
    /// Runs them and prints the table. Fails if a healthy disk was accused, or less than 95 % of the
    /// live verdicts are right.
    ///
    /// # Errors
    /// If a disk cannot be made here, or `iowhy` was not built.
    pub fn run(&self) -> io::Result<ExitCode> {
        let chosen = self.chosen();
        if self.list {
            for ward in chosen {
                writeln!(io::stdout(), "{:<16} {}", ward.name, ward.tells())?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("the wards need {missing}")));
        }
        let kept = self.resume.as_deref().map(Kept::open).transpose()?;
        let mut all = Vec::new();
        for ward in chosen {
            let runs = if self.fast { 1 } else { ward.runs };
            for again in 0..runs {
                let seed = self.seed.wrapping_add(of_name(ward.name) + again);
                if let Some(known) = kept.as_ref().and_then(|kept| kept.find(ward, seed)) {
                    all.push(known.clone());
                    continue;
                }
                let outcome = self.undisturbed(ward, seed)?;
                kept.as_ref().map_or(Ok(()), |kept| kept.add(&outcome))?;
                all.push(outcome);
            }
        }
        write!(io::stdout(), "{}", tables(&all))?;
        let right = all.iter().filter(|outcome| outcome.right(Way::Live)).count();
        let accused = all.iter().any(|outcome| !outcome.falsely_accused().is_empty());
        let good = !accused && right * 100 >= all.len() * 95;
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs a ward, and anew if it went wrong while the host kept the disk itself off the processor: the
    /// log says so, and such a disk is not the one that the ward is about.
    fn undisturbed(&self, ward: &'static Ward, seed: u64) -> io::Result<Outcome> {
        for _ in 0..AGAIN {
            let outcome = run(ward, seed, self.keep.as_deref())?;
            writeln!(io::stderr(), "lab: {}", outcome.line())?;
            let good = outcome.right(Way::Live) && outcome.falsely_accused().is_empty();
            if good || !outcome.disturbed() {
                return Ok(outcome);
            }
            let ms = outcome.late / 1_000_000;
            writeln!(io::stderr(), "lab: again, for the host held this disk up for {ms} ms")?;
        }
        run(ward, seed, self.keep.as_deref())
    }

    fn chosen(&self) -> Vec<&'static Ward> {
        let named = |ward: &Ward| {
            self.only.is_empty() || self.only.iter().any(|name| ward.name.contains(name.as_str()))
        };
        WARDS.iter().filter(|ward| named(ward) && (!self.fast || ward.fast)).collect()
    }
}

/// What a ward adds to the seed: its own, whatever wards stand before it.
fn of_name(name: &str) -> u64 {
    name.bytes().fold(0, |sum, byte| (sum * 31 + u64::from(byte)) % 100_000)
}
