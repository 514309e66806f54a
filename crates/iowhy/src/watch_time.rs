//! How long this machine is watched: for a time, or while a command runs (`iowhy why -- COMMAND`).

use std::ffi::OsString;
use std::io::stderr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};

use crate::arguments::{Files, watch_time};
use crate::messages::HintedError;

/// A time, a command, or both: whichever ends first.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct WatchTime {
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
    pub(crate) fn is_live(&self, files: &Files) -> anyhow::Result<bool> {
        if files.named() && self.given.is_some() {
            return Err(HintedError::error(
                "a command is watched live, and a capture was given",
                "omit the capture, or what follows `--`",
            ));
        }
        Ok(!files.named() && (self.watch_for.is_some() || self.given.is_some()))
    }

    /// The time limit: as given, else until the command ends, or a default.
    pub(crate) fn longest(&self, default: Duration) -> Duration {
        let unbounded = if self.given.is_some() { Duration::MAX } else { default };
        self.watch_for.unwrap_or(unbounded)
    }
}

/// A command that is watched from its start to its end.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct GivenCommand {
    /// Run this command and watch until it ends; its output goes to stderr, its exit status is
    /// passed on
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl GivenCommand {
    /// Whether there is one.
    pub(crate) fn is_some(&self) -> bool {
        !self.command.is_empty()
    }

    /// Starts it, if there is one, with the current privileges of this process. It is not killed at
    /// the end of the watch.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start(&self) -> anyhow::Result<Option<RunningCommand>> {
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

/// The exit status of the command that was watched, once it has ended.
static ENDED: OnceLock<u8> = OnceLock::new();

/// The exit status of the command that was watched as a shell reports it: 128 + N if signal N ended
/// it; `None` without a command, and if it still runs.
pub(crate) fn status_of_command() -> Option<u8> {
    ENDED.get().copied()
}

/// A started command, by its pidfd.
pub(crate) struct RunningCommand(OwnedFd);

impl RunningCommand {
    /// Whether it has ended; keeps its exit status.
    pub(crate) fn has_ended(&self) -> bool {
        let mut ends = [PollFd::new(&self.0, PollFlags::IN)];
        let ended = poll(&mut ends, Some(&Timespec::default())).is_ok_and(|ready| ready > 0);
        if let Some(status) = ended.then(|| self.status()).flatten() {
            // The same, if it was asked before.
            let _ = ENDED.set(status);
        }
        ended
    }

    /// Its exit status, once: after that it is not a child of this process any more.
    fn status(&self) -> Option<u8> {
        let how = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let ended = waitid(WaitId::PidFd(self.0.as_fd()), how).ok().flatten()?;
        let signal = ended.terminating_signal().map(|signal| signal.saturating_add(128));
        ended.exit_status().or(signal).and_then(|status| u8::try_from(status & 0xff).ok())
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
        assert_eq!(running.status(), None, "asked and kept");
        let statuses = [("exit 3", Some(3)), ("kill -9 $$", Some(137)), ("sleep 9", None)];
        for (script, status) in statuses {
            let running = given(&["sh", "-c", script]).start().unwrap().unwrap();
            std::thread::sleep(Duration::from_millis(400));
            assert_eq!(running.status(), status, "{script}");
        }
        assert!(given(&[]).start().unwrap().is_none());
        assert!(given(&["/nowhere/program"]).start().is_err());
    }
}
