//! Errors that keep iowhy from watching.

/// A missing privilege, kernel feature or file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of /proc or /sys could not be read.
    #[error("cannot read `{path}`: {cause}")]
    File {
        /// Its path.
        path: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The privilege to trace is missing.
    #[error("cannot trace: `{right}` is missing")]
    Missing {
        /// The capability.
        right: String,
    },
    /// A feature of the kernel is missing.
    #[error("cannot trace: {what}")]
    Kernel {
        /// What is missing or refused, with the kernel's message.
        what: String,
    },
    /// The requested device does not exist.
    #[error("no block device `{device}`")]
    Device {
        /// As the user named it.
        device: String,
    },
    /// A program file has no such function, or is not a program.
    #[error("cannot watch `{path}`: {why}")]
    Symbol {
        /// Its path.
        path: String,
        /// What is missing.
        why: String,
    },
    /// Something created in the kernel for the watch could not be removed.
    #[error("cannot remove `{path}` from the kernel: {cause}")]
    Left {
        /// Its path.
        path: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The privileges could not be dropped.
    #[error("cannot drop privileges: {cause}")]
    Rights {
        /// The system's error.
        cause: std::io::Error,
    },
}

impl Error {
    /// The reason alone, where what failed stands beside it.
    pub fn why(&self) -> String {
        let text = self.to_string();
        text.strip_prefix("cannot trace: ").map_or(text.clone(), str::to_string)
    }

    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Error::File { .. } | Error::Rights { .. } => {
                "`iowhy doctor` lists what can be watched on this machine and what is missing"
            }
            Error::Left { .. } => {
                "its buffers use memory: `rmdir` it, or run `iowhy` with `--ftrace` again"
            }
            Error::Missing { .. } => {
                "run as root, or `setcap cap_bpf,cap_perfmon+ep $(command -v iowhy)` once; `iowhy \
                 stat --sampled` needs no privileges"
            }
            Error::Kernel { .. } => {
                "`iowhy doctor` lists what this kernel lacks; `iowhy stat --sampled` works on \
                 every kernel"
            }
            Error::Symbol { .. } => {
                "`nm -D FILE` and `nm FILE` list the functions; `+0x1234` is an offset in the file"
            }
            Error::Device { .. } => "`lsblk` lists the devices; name whole disks, not partitions",
        }
    }
}
