//! Errors that prevent a probe from measuring, and what to do about them.

use std::io;

/// Why a probe did not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The target cannot be opened or asked.
    #[error("cannot {what} `{path}`: {cause}")]
    Target {
        /// What was tried.
        what: &'static str,
        /// The target.
        path: String,
        /// The system's error.
        cause: io::Error,
    },
    /// The target may not be touched that way.
    #[error("will not {what} `{path}`: {why}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// The target.
        path: String,
        /// The reason.
        why: String,
        /// What would be safe.
        hint: String,
    },
    /// The options contradict each other.
    #[error("{what}")]
    Asked {
        /// What does not fit.
        what: String,
        /// What would.
        hint: String,
    },
    /// The engine could not be set up.
    #[error("cannot measure: {what}: {cause}")]
    Engine {
        /// What failed.
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> &str {
        match self {
            Error::Target { cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
                "run as root, or name a file or directory that you own"
            }
            Error::Target { .. } => "name a block device, a file to read, or a directory",
            Error::Refused { hint, .. } | Error::Asked { hint, .. } => hint,
            Error::Engine { .. } => "`--engine calls` measures with plain system calls",
        }
    }

    /// A refusal.
    pub(crate) fn refused(
        what: &'static str,
        path: &std::path::Path,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        let path = path.display().to_string();
        Error::Refused { what, path, why: why.into(), hint: hint.into() }
    }

    /// Something that does not fit together.
    pub(crate) fn asked(what: impl Into<String>, hint: impl Into<String>) -> Error {
        Error::Asked { what: what.into(), hint: hint.into() }
    }

    /// A system call on the target that failed.
    pub(crate) fn target(
        what: &'static str,
        path: &std::path::Path,
        cause: impl Into<io::Error>,
    ) -> Error {
        Error::Target { what, path: path.display().to_string(), cause: cause.into() }
    }
}
