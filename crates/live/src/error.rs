//! What can keep iowhy from watching.

/// A right, a kernel feature or a file that is missing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of /proc or /sys could not be read.
    #[error("cannot read `{path}`: {cause}")]
    File {
        /// Its path.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        "`iowhy doctor` tells what can be watched here and what is missing"
    }
}
