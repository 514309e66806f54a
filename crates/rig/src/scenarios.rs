//! The scenarios: live disks with a known fault, each judged three ways and compared with its own
//! log.
//!
//! A [`WrittenScenario`] is a fault, a load and the expected verdict. A run makes its disks,
//! lets the load run, and has them judged at the same time by `iowhy why`, by `iowhy snoop | iowhy
//! why`, and from a capture that `iowhy snoop --json` wrote. The table shows the verdict, its
//! confidence, and how far its numbers are from what the disk did.

mod outcome;
mod resume;
mod run;
mod tables;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use iowhy_lab::written::{WrittenScenario, written};

pub(crate) use outcome::ACCUSES;
pub use outcome::{Answer, Outcome, Route, RunVerdicts};
use resume::RunLog;
use run::run;
pub use tables::tables;

use crate::faulty_disk::missing;

/// How often a run that the host disturbed is repeated.
const AGAIN: usize = 2;

/// Which runs.
#[derive(Args, Debug)]
pub struct Scenarios {
    /// Seed of everything that is chance; each scenario and run adds its own
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// Only faults whose name contains one of these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// One run of each of a few scenarios, in less than a minute
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

impl Scenarios {
    /// Runs them and prints the table. Fails if a healthy disk was accused, or less than 95 % of
    /// the live verdicts are right.
    ///
    /// # Errors
    /// If a disk cannot be made here, or `iowhy` was not built.
    pub fn run(&self) -> io::Result<ExitCode> {
        let chosen = self.chosen()?;
        if self.list {
            for scenario in chosen {
                writeln!(io::stdout(), "{:<16} {}", scenario.name, scenario.tells())?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("the scenarios need {missing}")));
        }
        let kept = self.resume.as_deref().map(RunLog::open).transpose()?;
        let mut all = Vec::new();
        for scenario in chosen {
            let runs = if self.fast { 1 } else { scenario.runs };
            for again in 0..runs {
                let seed = self.seed.wrapping_add(of_name(&scenario.name) + again);
                if let Some(known) = kept.as_ref().and_then(|kept| kept.find(scenario, seed)) {
                    all.push(known.clone());
                    continue;
                }
                let outcome = self.undisturbed(scenario, seed)?;
                kept.as_ref().map_or(Ok(()), |kept| kept.add(&outcome))?;
                all.push(outcome);
            }
        }
        write!(io::stdout(), "{}", tables(&all))?;
        let right = all.iter().filter(|outcome| outcome.right(Route::Live)).count();
        let accused = all.iter().any(|outcome| !outcome.falsely_accused().is_empty());
        let good = !accused && right * 100 >= all.len() * 95;
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs a scenario, and repeats it if it failed while the host kept the disk off the CPU: the
    /// log shows it, and such a disk is not the one that the scenario is about.
    fn undisturbed(&self, scenario: &'static WrittenScenario, seed: u64) -> io::Result<Outcome> {
        for _ in 0..AGAIN {
            let outcome = run(scenario, seed, self.keep.as_deref())?;
            writeln!(io::stderr(), "rig: {}", outcome.line())?;
            let good = outcome.right(Route::Live) && outcome.falsely_accused().is_empty();
            if good || !outcome.disturbed() {
                return Ok(outcome);
            }
            let ms = outcome.late / 1_000_000;
            writeln!(io::stderr(), "rig: repeated, because the host delayed this disk by {ms} ms")?;
        }
        run(scenario, seed, self.keep.as_deref())
    }

    fn chosen(&self) -> io::Result<Vec<&'static WrittenScenario>> {
        let named = |scenario: &WrittenScenario| {
            self.only.is_empty()
                || self.only.iter().any(|name| scenario.name.contains(name.as_str()))
        };
        let all = written().map_err(io::Error::other)?.iter();
        Ok(all.filter(|scenario| named(scenario) && (!self.fast || scenario.quick)).collect())
    }
}

/// What a scenario adds to the seed: its own, whichever scenarios precede it.
fn of_name(name: &str) -> u64 {
    name.bytes().fold(0, |sum, byte| (sum * 31 + u64::from(byte)) % 100_000)
}
