//! `iowhy`: why is my I/O slow, and who is to blame, the workload or the disk?
//!
//! The CLI: arguments, files, terminal, rights and exit status are handled here and nowhere else. A
//! command collects a recording (from files or from this machine), has it judged if needed, and
//! passes a report to one view.

#![forbid(unsafe_code)]

mod arguments;
mod baselines;
mod bounds;
mod budget;
mod calls;
mod collectors;
mod command;
mod commands;
mod complete;
mod confinement;
mod crosscheck;
mod device_lookup;
mod event_names;
mod examples;
mod fail_on;
mod folder;
mod frames;
mod groups;
mod inputs;
mod man;
mod manual;
mod messages;
mod mistyped;
mod outputs;
mod plan;
mod present;
mod recorded;
mod recorder;
mod rows;
mod sanitised;
mod scope;
mod selection;
mod stated;
mod stop;
mod store_input;
mod terminal;
mod unpack;
mod version;
mod watch;
mod watch_time;
mod when;
mod words;

use std::process::ExitCode;

use command::Status;

fn main() -> ExitCode {
    command::register(commands::COMMANDS);
    complete::answer_the_shell();
    if let Some(status) = version::asked_for() {
        return status.into();
    }
    let line: Vec<_> = std::env::args_os().collect();
    if let Err(error) = mistyped::refuse(&line) {
        messages::error(&error);
        return Status::Failed.into();
    }
    let line = arguments::with_default_command(line);
    let matches = match command::line().try_get_matches_from(line) {
        Ok(matches) => matches,
        Err(reported) => return messages::of_the_command_line(&reported).into(),
    };
    when::set_zone(matches.get_flag(command::UTC));
    let Some((name, given)) = matches.subcommand() else { return Status::Failed.into() };
    let Some(command) = command::find(name) else { return Status::Failed.into() };
    match (command.run)(given) {
        Ok(status) => status.after_command(watch_time::status_of_command()).into(),
        Err(error) if messages::is_broken_pipe(&error) => Status::Done.into(),
        Err(error) => {
            messages::error(&error);
            Status::Failed.into()
        }
    }
}
