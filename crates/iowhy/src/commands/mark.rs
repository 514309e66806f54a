//! A word to the flight recorder: keep the I/Os around now, under this name.
//!
//! ## Does
//! Sends the text to the running `iowhy watch` through a socket in the store's folder. The recorder writes
//! the single I/Os around this moment into its store, judges them and lists them under
//! `iowhy incidents` with the text, as after any other trigger. Who may write to the store's folder may mark.
//!
//! ## Examples
//! `iowhy mark "deploy 4711"`: before a change whose effect shall be looked at later.
//! `iowhy mark --store /srv/recorder "users complain"`: another store.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};

use crate::command::{Command, Status};
use crate::messages::HintedError;
use crate::recorder::marks;
use crate::store_input::FOLDER;

/// Entry in the list of commands.
pub const COMMAND: Command = Command {
    name: "mark",
    summary: "Tell the flight recorder to keep the I/Os around now",
    manual: iowhy_model::manual!("mark.rs"),
    arguments: Mark::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Mark {
    /// What happens now
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
            _ => "no recorder runs there: `systemctl start iowhy-watch`, or `iowhy watch --store DIR`",
        };
        HintedError::error(text, hint)
    })?;
    Ok(Status::Done)
}
