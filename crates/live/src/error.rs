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
    /// The right to trace is missing.
    #[error("cannot trace: `{right}` is missing")]
    Missing {
        /// The capability.
        right: String,
    },
    /// A feature of the kernel is missing.
    #[error("cannot trace: {what}")]
    Kernel {
        /// What is missing or was refused, and what the kernel said.
        what: String,
    },
    /// The device asked for is not there.
    #[error("no block device `{device}`")]
    Device {
        /// As it was asked for.
        device: String,
    },
    /// A program file has no such function, or is none.
    #[error("cannot watch `{path}`: {why}")]
    Symbol {
        /// Its path.
        path: String,
        /// What is missing.
        why: String,
    },
    /// Something that was made in the kernel for the watch could not be removed.
    #[error("cannot remove `{path}` from the kernel: {cause}")]
    Left {
        /// Its path.
        path: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The rights could not be given up.
    #[error("cannot drop privileges: {cause}")]
    Rights {
        /// What the system said.
        cause: std::io::Error,
    },
}

impl Error {
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
