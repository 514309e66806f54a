//! System calls that read, write or flush a file, as tracers of them print them.

use iowhy_model::Op;

/// What a call does with a file, and whether only a file can be meant.
pub(crate) fn file_op(name: &str) -> Option<(Op, bool)> {
    match name {
        "read" | "readv" => Some((Op::Read, false)),
        "write" | "writev" => Some((Op::Write, false)),
        "pread64" | "pread" | "preadv" | "preadv2" => Some((Op::Read, true)),
        "pwrite64" | "pwrite" | "pwritev" | "pwritev2" => Some((Op::Write, true)),
        "fsync" | "fdatasync" | "sync_file_range" | "syncfs" | "sync" | "msync" => {
            Some((Op::Flush, true))
        }
        _ => None,
    }
}

/// The file after the descriptor: `5</srv/db>`; for what is not a file an empty text.
pub(crate) fn file_of(arguments: &str) -> Option<&str> {
    let (_, rest) = arguments.split_once('<')?;
    let path = rest.split('>').next()?;
    Some(if path.starts_with('/') && !path.starts_with("/dev/pts") { path } else { "" })
}
