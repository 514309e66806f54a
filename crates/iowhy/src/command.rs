//! Commands, their exit status, and the complete command line.

use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Arg, ArgAction};

/// A command of the list in `commands.rs`.
#[derive(Clone, Copy)]
pub(crate) struct Command {
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

/// The option of all commands that prints times in UTC.
pub(crate) const UTC: &str = "utc";

/// Set by the owner of the list: manuals, pages, completions and suggestions need all commands, and
/// commands use them.
static ALL: OnceLock<&'static [Command]> = OnceLock::new();

/// Registers all commands.
pub(crate) fn register(all: &'static [Command]) {
    // The same list, if it was registered before.
    let _ = ALL.set(all);
}

/// All commands, sorted by name.
pub(crate) fn all() -> &'static [Command] {
    ALL.get().copied().unwrap_or_default()
}

/// The command of a given name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    all().iter().find(|command| command.name == name)
}

/// The whole command line.
pub(crate) fn line() -> clap::Command {
    let line = clap::Command::new("iowhy")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Why is my I/O slow, and who is to blame: the workload or the disk?")
        .after_help(
            "`iowhy` alone watches this machine for 10 s and gives its verdict; \
             `iowhy FILE...` judges captures.\n`iowhy explain NAME` is the manual of a command, \
             format, verdict or view.",
        )
        .override_usage("iowhy [COMMAND] [OPTIONS] [FILE...]")
        .subcommand_required(true)
        .max_term_width(100)
        .arg(
            Arg::new(UTC)
                .long(UTC)
                .global(true)
                .action(ArgAction::SetTrue)
                .help_heading("Output")
                .help(
                    "Print times in UTC instead of local time (the zone of `TZ`, or of this \
                     machine)",
                ),
        );
    all().iter().fold(line, |line, command| {
        // The summary is set last: shared groups of arguments bring comments of their own.
        let sub = (command.arguments)(clap::Command::new(command.name));
        line.subcommand(sub.about(command.summary).long_about(None))
    })
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Done, nothing lost: 0.
    Done,
    /// Done, but something was lost or could not be read: 1.
    Incomplete,
    /// Failed: 2.
    Failed,
    /// Done, and a verdict named by `--fail-on` was found: 3.
    Found,
    /// Done, and this is the status of the command that was watched.
    OfCommand(u8),
}

/// What each exit status means, for the manual.
pub(crate) const STATUSES: [(u8, &str); 4] = [
    (
        0,
        "Done. After `-- COMMAND` the exit status of the command, if it is not 2 or 3 by the rules \
         below.",
    ),
    (1, "Done, but something was lost or could not be read; the output lists it."),
    (
        2,
        "No result: bad arguments, unreadable input, missing rights. stderr has the reason and the \
         remedy.",
    ),
    (3, "Done, and a verdict that `--fail-on` names was found."),
];

impl Status {
    /// `Incomplete` if true, else `Done`.
    pub fn incomplete(incomplete: bool) -> Status {
        if incomplete { Status::Incomplete } else { Status::Done }
    }

    /// The same after watching a command that ended with this status: that is passed on, unless
    /// there is no result, or the command succeeded and a verdict was found.
    pub fn after_command(self, ended: Option<u8>) -> Status {
        match (self, ended) {
            (Status::Failed, _) | (Status::Found, Some(0)) => self,
            (_, Some(status)) => Status::OfCommand(status),
            (_, None) => self,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Done => ExitCode::SUCCESS,
            Status::Incomplete => ExitCode::from(1),
            Status::Failed => ExitCode::from(2),
            Status::Found => ExitCode::from(3),
            Status::OfCommand(status) => ExitCode::from(status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_command_is_passed_on_unless_iowhy_failed() {
        for (own, ended, status) in [
            (Status::Done, None, Status::Done),
            (Status::Incomplete, None, Status::Incomplete),
            (Status::Incomplete, Some(0), Status::OfCommand(0)),
            (Status::Done, Some(7), Status::OfCommand(7)),
            (Status::Found, Some(0), Status::Found),
            (Status::Found, Some(137), Status::OfCommand(137)),
            (Status::Failed, Some(0), Status::Failed),
            (Status::Failed, Some(7), Status::Failed),
        ] {
            assert_eq!(own.after_command(ended), status, "{own:?} after {ended:?}");
        }
    }
}
