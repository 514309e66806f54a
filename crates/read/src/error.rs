//! Errors while reading: nothing was recognised, or the input could not be read to its end.

/// An input that gave nothing, or broke.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input was empty.
    #[error("`{input}` is empty")]
    Empty {
        /// Its name.
        input: String,
    },
    /// No listing of any known format was found.
    #[error("no known format in `{input}` ({lines} lines read)")]
    Nothing {
        /// Its name.
        input: String,
        /// How many lines it had.
        lines: u64,
        /// Whether the sink has a note that all of it is unread.
        stated: bool,
    },
    /// A document that is known by its first bytes, and that iowhy does not read.
    #[error("`{input}` is {what}, which is not supported")]
    Unsupported {
        /// Its name.
        input: String,
        /// What it is.
        what: &'static str,
        /// How to convert it into one that can be read.
        instead: &'static str,
    },
    /// A format was recognised, but nothing of it can be used.
    #[error("`{input}` is {format}, but contains nothing usable: {missing}")]
    Unusable {
        /// Its name.
        input: String,
        /// The format.
        format: &'static str,
        /// What is missing.
        missing: String,
    },
    /// The input could not be read on.
    #[error("cannot read `{input}` at line {line}, byte {byte}: {cause}")]
    Broken {
        /// Its name.
        input: String,
        /// The line that was being read, from 1.
        line: u64,
        /// Bytes read before it.
        byte: u64,
        /// The system's error.
        cause: std::io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::Empty { .. } => "name a capture, or run `iowhy` without a file to watch live",
            Error::Nothing { .. } => {
                "`iowhy explain formats` lists the known formats; `--format NAME` forces one"
            }
            Error::Unsupported { instead, .. } => instead,
            Error::Unusable { .. } => {
                "`iowhy explain FORMAT` describes what a listing of that format must contain"
            }
            Error::Broken { .. } => "everything before that point was read and is reported",
        }
    }
}
