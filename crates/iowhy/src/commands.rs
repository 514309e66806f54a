//! The list of commands. To add one: its file, its `mod` line, its place in [`COMMANDS`].

mod compare;
mod convert;
mod doctor;
mod explain;
mod hist;
mod incidents;
mod map;
mod mark;
mod probe;
mod record;
mod report;
mod snoop;
mod stat;
mod syscalls;
mod top;
mod uprobe;
mod watch;
mod why;

use crate::command::Command;

/// All commands, sorted by name.
pub const COMMANDS: &[Command] = &[
    compare::COMMAND,
    convert::COMMAND,
    doctor::COMMAND,
    explain::COMMAND,
    hist::COMMAND,
    incidents::COMMAND,
    map::COMMAND,
    mark::COMMAND,
    probe::COMMAND,
    record::COMMAND,
    report::COMMAND,
    snoop::COMMAND,
    stat::COMMAND,
    syscalls::COMMAND,
    top::COMMAND,
    uprobe::COMMAND,
    watch::COMMAND,
    why::COMMAND,
];

/// The command of a given name.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// The whole command line.
pub fn line() -> clap::Command {
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
        .max_term_width(100);
    COMMANDS.iter().fold(line, |line, command| {
        // The summary is set last: shared groups of arguments bring comments of their own.
        let sub = (command.arguments)(clap::Command::new(command.name));
        line.subcommand(sub.about(command.summary).long_about(None))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        line().debug_assert();
        assert!(COMMANDS.is_sorted_by_key(|command| command.name));
    }
}
