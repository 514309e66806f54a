//! What a command is, and how it ends.

use std::process::ExitCode;

/// A command of the list in `commands.rs`.
#[derive(Clone, Copy)]
pub struct Command {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The source text of its file, whose header is its manual.
    pub manual: &'static str,
    /// Adds its arguments.
    pub arguments: fn(clap::Command) -> clap::Command,
    /// Runs it.
    pub run: fn(&clap::ArgMatches) -> anyhow::Result<Status>,
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Done, nothing lost: 0.
    Done,
    /// Done, but something was lost or could not be read: 1.
    Incomplete,
    /// Could not: 2.
    Failed,
    /// Done, and a verdict that `--fail-on` names was found: 3.
    Found,
}

/// What each exit status means, for the manual.
pub const STATUSES: [(u8, &str); 4] = [
    (0, "Done."),
    (1, "Done, but something was lost or could not be read; the output says what."),
    (
        2,
        "No result: bad arguments, unreadable input, missing rights. stderr says why and what to do.",
    ),
    (3, "Done, and a verdict that `--fail-on` names was found."),
];

impl Status {
    /// Incomplete if so, else done.
    pub fn incomplete(incomplete: bool) -> Status {
        if incomplete { Status::Incomplete } else { Status::Done }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Done => ExitCode::SUCCESS,
            Status::Incomplete => ExitCode::from(1),
            Status::Failed => ExitCode::from(2),
            Status::Found => ExitCode::from(3),
        }
    }
}
