//! `iowhy`: why is my I/O slow, and who is to blame, the workload or the disk?
//!
//! The rim: arguments, files, terminal, rights and exit status live here and nowhere else. A
//! command gathers a recording (from files or from this machine), has it judged if it wants to,
//! and hands a report to one view.

#![forbid(unsafe_code)]

mod arguments;
mod baselines;
mod bounds;
mod budget;
mod collectors;
mod command;
mod commands;
mod complete;
mod confinement;
mod crosscheck;
mod fail_on;
mod folder;
mod groups;
mod inputs;
mod man;
mod manual;
mod messages;
mod outputs;
mod plan;
mod present;
mod recorder;
mod rows;
mod sanitised;
mod scope;
mod selection;
mod stop;
mod store_input;
mod terminal;
mod unpack;
mod version;
mod watch;
mod when;

use std::process::ExitCode;

use command::Status;

fn main() -> ExitCode {
    complete::answer_the_shell();
    if let Some(status) = version::asked_for() {
        return status.into();
    }
    let line = arguments::with_default_command(std::env::args_os().collect());
    let matches = match commands::line().try_get_matches_from(line) {
        Ok(matches) => matches,
        Err(told) => return messages::of_the_command_line(&told).into(),
    };
    let Some((name, given)) = matches.subcommand() else { return Status::Failed.into() };
    let Some(command) = commands::find(name) else { return Status::Failed.into() };
    match (command.run)(given) {
        Ok(status) => status.into(),
        Err(error) if messages::is_broken_pipe(&error) => Status::Done.into(),
        Err(error) => {
            messages::error(&error);
            Status::Failed.into()
        }
    }
}
