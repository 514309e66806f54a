//! The list of commands. To add one: its file, its `mod` line, its place in [`COMMANDS`].

mod doctor;
mod explain;
mod hist;
mod map;
mod snoop;
mod stat;
mod why;

use crate::command::Command;

/// All commands, sorted by name.
pub const COMMANDS: &[Command] = &[
    doctor::COMMAND,
    explain::COMMAND,
    hist::COMMAND,
    map::COMMAND,
    snoop::COMMAND,
    stat::COMMAND,
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
        .subcommand_required(true)
        .max_term_width(100);
    COMMANDS.iter().fold(line, |line, command| {
        let sub = clap::Command::new(command.name).about(command.summary);
        line.subcommand((command.arguments)(sub))
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
