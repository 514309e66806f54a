//! How a command ended.

use std::process::ExitCode;

/// As the exit status shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// 0.
    Done,
    /// 1: done, but for what could not be read.
    Incomplete,
    /// 2: no result.
    Failed,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Done => ExitCode::SUCCESS,
            Status::Incomplete => ExitCode::from(1),
            Status::Failed => ExitCode::from(2),
        }
    }
}
