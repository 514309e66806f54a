//! How long this machine is watched: for a time, or while a command runs (`iowhy why -- COMMAND`).

use std::ffi::OsString;
use std::io::stderr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::arguments::{Files, watch_time};
use crate::messages::HintedError;

/// A time, a command, or both: whichever ends first.
#[derive(Args, Clone, Debug, Default)]
pub struct WatchTime {
    /// Watch this machine for this long [default: 10s]
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    pub watch_for: Option<Duration>,
    #[command(flatten)]
    pub given: GivenCommand,
}

impl WatchTime {
    /// Whether to watch this machine, even if something is piped in.
    ///
    /// # Errors If both captures and a command are given.
    pub fn is_live(&self, files: &Files) -> anyhow::Result<bool> {
        if files.named() && self.given.is_some() {
            return Err(HintedError::error(
                "a command is watched live, and a capture was given",
                "omit the capture, or what follows `--`",
            ));
        }
        Ok(!files.named() && (self.watch_for.is_some() || self.given.is_some()))
    }

    /// The time limit: as given, else until the command ends, or a default.
    pub fn longest(&self, default: Duration) -> Duration {
        let unbounded = if self.given.is_some() { Duration::MAX } else { default };
        self.watch_for.unwrap_or(unbounded)
    }
}

/// A command that is watched from its start to its end.
#[derive(Args, Clone, Debug, Default)]
pub struct GivenCommand {
    /// Run this command and watch until it ends; its output goes to stderr
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl GivenCommand {
    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        !self.command.is_empty()
    }

    /// Starts it, if there is one, with the current privileges of this process. It is not killed at
    /// the end of the watch.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self) -> anyhow::Result<Option<RunningCommand>> {
        let Some((program, arguments)) = self.command.split_first() else { return Ok(None) };
        // stdout is for the output of iowhy.
        let out = Stdio::from(stderr().as_fd().try_clone_to_owned()?);
        let started = Command::new(program).args(arguments).stdout(out).spawn();
        let child = started.map_err(|cause| {
            let text = format!("cannot start `{}`: {cause}", program.display());
            HintedError::error(text, "what follows `--` is a program and its arguments")
        })?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| anyhow::anyhow!("the command has no process ID"))?;
        Ok(Some(RunningCommand(pidfd_open(pid, PidfdFlags::empty())?)))
    }
}

/// A started command, by its pidfd: after confinement waiting for processes is forbidden, polling
/// is not.
pub struct RunningCommand(OwnedFd);

impl RunningCommand {
    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        let mut ends = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_seen_to_end() {
        let given =
            |words: &[&str]| GivenCommand { command: words.iter().map(OsString::from).collect() };
        let running = given(&["sleep", "0.2"]).start().unwrap().unwrap();
        assert!(!running.has_ended());
        std::thread::sleep(Duration::from_millis(400));
        assert!(running.has_ended());
        assert!(given(&[]).start().unwrap().is_none());
        assert!(given(&["/nowhere/program"]).start().is_err());
    }
}
