//! Makes the flight recorder keep the I/Os around this moment, with a text of your choice.
//!
//! ## Does
//! Sends the text to the running `iowhy watch` through a socket in the store's folder. The recorder
//! writes the individual I/Os around this moment to its store, judges them and lists them
//! in `iowhy incidents` with the text, as after any other trigger. Any user with write permission
//! for the store's folder can do this.
//!
//! ## Examples
//! `iowhy mark "deploy 4711"`: before a change whose effect is to be examined later.
//! `iowhy mark --store /srv/recorder "users complain"`: with another store.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};

use crate::command::{Command, Status};
use crate::messages::HintedError;
use crate::recorder::marks;
use crate::store_input::FOLDER;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "mark",
    summary: "Make the flight recorder keep the I/Os around this moment",
    manual: iowhy_model::manual!("mark.rs"),
    arguments: Mark::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Mark {
    /// Text of the mark
    #[arg(value_name = "TEXT")]
    text: String,
    /// The recorder's store
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    store: PathBuf,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mark = Mark::from_arg_matches(matches)?;
    if mark.text.len() > marks::LONGEST {
        let text = format!("a mark has at most {} bytes", marks::LONGEST);
        return Err(HintedError::error(text, "write less"));
    }
    marks::send(&mark.store, &mark.text).map_err(|cause| {
        let text = format!("cannot mark in `{}`: {cause}", mark.store.display());
        let hint = match cause.kind() {
            std::io::ErrorKind::PermissionDenied => "run as the recorder's user, or as root",
            _ => {
                "no recorder runs there: `systemctl start iowhy-watch`, or `iowhy watch --store \
                  DIR`"
            }
        };
        HintedError::error(text, hint)
    })?;
    Ok(Status::Done)
}
