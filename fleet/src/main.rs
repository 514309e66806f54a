//! Which disks of a fleet are getting slow, what do they share, and since when?
//!
//! `iowhy export --parquet DIR` writes what a host keeps; this program reads the files of all
//! hosts.
//!
//! [`ingest`] takes what other tools kept, [`make`] generates a fleet, [`sql`] asks questions,
//! [`why`] accuses, [`report`] shows that. [`place`] is where the files are, [`tables`] the
//! columns, [`files`] what reads them. `sql` alone needs an SQL engine: `engine` is the one within,
//! `spark` one that is there already, `answers` what contains a result against the files.

#[cfg(feature = "sql")]
mod answers;
#[cfg(feature = "sql")]
mod columns;
mod command;
#[cfg(feature = "sql")]
mod engine;
mod files;
mod ingest;
mod make;
mod place;
#[cfg(feature = "sql")]
mod print;
#[cfg(feature = "sql")]
mod queries;
mod report;
mod score;
#[cfg(feature = "sql")]
mod spark;
#[cfg(feature = "sql")]
mod sql;
mod tables;
mod why;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use command::Status;

/// Which disks of a fleet are getting slow, what do they share, and since when?
#[derive(Parser, Debug)]
#[command(name = "iowhy-fleet", version, max_term_width = 100)]
struct Line {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand, Debug)]
enum Commands {
    /// Lists disks, hosts, racks and firmware versions that are slower than their peers under the
    /// same load
    Why(why::Why),
    /// Writes the findings of `why` into one HTML file: a map, the accused disks, what they share,
    /// since when
    Report(report::Report),
    /// Runs a query: a named one, a file, or a statement
    #[cfg(feature = "sql")]
    Sql(sql::Sql),
    /// Makes the tables out of averages: text of sar, iostat and PCP, dumps of Prometheus
    Ingest(ingest::Ingest),
    /// Generates a fleet of any size, with faulty disks among them
    Make(make::Make),
    /// Compares the findings of `why` with the truth of a generated fleet
    Score(score::Score),
}

fn main() -> ExitCode {
    let line = Line::parse();
    let ended = match &line.command {
        Commands::Why(why) => why.run(),
        Commands::Report(report) => report.run(),
        #[cfg(feature = "sql")]
        Commands::Sql(sql) => run(sql.run()),
        Commands::Ingest(ingest) => ingest.run(),
        Commands::Make(make) => make.run(),
        Commands::Score(score) => score.run(),
    };
    match ended {
        Ok(status) => status.into(),
        // Whoever read the output had enough.
        Err(error) if is_closed_pipe(&error) => Status::Done.into(),
        Err(error) => {
            say(&format!("{error:#}"));
            Status::Failed.into()
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Waits for what the engine does.
#[cfg(feature = "sql")]
fn run(what: impl Future<Output = anyhow::Result<Status>>) -> anyhow::Result<Status> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(what)
}

/// A line on stderr.
pub fn say(text: &str) {
    // Nobody is left to be reported if this fails.
    let _ = writeln!(std::io::stderr(), "iowhy-fleet: {text}");
}
