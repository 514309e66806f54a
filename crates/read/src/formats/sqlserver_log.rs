//! The error log of SQL Server: requests to a file that took longer than 15 s.
//!
//! ## Reads
//! `SQL Server has encountered 2 occurrence(s) of I/O requests taking longer than 15 seconds to
//! complete on file [D:\data\x.mdf] in database [x] (5).` The occurrences and the bound become
//! facts of the drive of the file (`io.slow`, `io.slowest.least`).
//!
//! ## How to capture
//! `ERRORLOG`, `sp_readerrorlog`, the event log of Windows.
//!
//! ## Versions
//! SQL Server 2005 to 2022, on Windows and on Linux.
//!
//! ## Caveats
//! The message is printed at most once in five minutes for a file and counts the requests since the
//! previous one. A request may also wait in a filter driver, an anti-virus program, a snapshot or a
//! path that fails over. CPUs whose clocks drift apart (power saving before SQL Server 2008) cause
//! apparent waits of this length.
//!
//! ## Not in this output
//! The real duration of a request; the number of fast ones; the disk of the drive letter.

use iowhy_model::{Level, typed};

use crate::Format;
use crate::describe::log::{Effect, Log, says};

pub const FORMAT: Format =
    Format::log("SQL Server's error log: I/O that took longer than 15 s", Level::E, &LOG);

const SLOW: &[Effect] = &[Effect::Add(typed::IO_SLOW), Effect::Longest(typed::IO_SLOWEST_LEAST)];

static LOG: Log = Log {
    who: "SQL Server",
    sentences: &[
        says(
            "SQL Server has encountered {n:u} occurrence(s) of I/O requests taking longer than \
             {took:s} seconds to complete on file [{file:folder}]",
            SLOW,
        )
        .like(&[
            r"2008-04-22 16:30:02.140 spid6s SQL Server has encountered 2 occurrence(s) of I/O requests taking longer than 15 seconds to complete on file [D:\data\x.mdf] in database [x] (5).",
        ]),
    ],
    cut: &["occurrence(s) of I/O requests taking longer"],
    ..Log::NEW
};
