//! What a scenario leaves besides its requests: log lines, health records, settings.
//!
//! A recipe reports what differs from a quiet, well-kept machine; the renderer prints it as each
//! tool does. Disks are named by their index.

/// A trace that a fault leaves.
#[derive(Clone, PartialEq, Debug)]
pub enum Trace {
    /// A message of the kernel, this many seconds after the beginning.
    Log(f64, String),
    /// The kernel reports each request of the disk that failed or took a second or more.
    Complaints(usize, LogEvent),
    /// An ATA attribute by number: its raw value before and after.
    Attribute(usize, u8, u64, u64),
    /// A field of the NVMe health log before and after.
    Nvme(usize, &'static str, u64, u64),
    /// The disk's temperature all the time.
    Celsius(usize, u64),
    /// Deciseconds after which the drive gives a sector up (SCT error recovery control).
    Recovery(usize, u64),
    /// The link's speed and what it could be, Gb/s.
    Link(usize, &'static str, &'static str),
    /// A file below the disk's folder in /sys and its content.
    Setting(usize, &'static str, String),
    /// How a file system on the disk is mounted: its type and options.
    Mount(usize, &'static str, &'static str),
    /// A line of a control group's file, the disk's number for `{}`.
    Group(usize, String),
    /// Share of the time in which some, and all, tasks waited for I/O, percent.
    Pressure(f64, f64),
    /// The disk hangs at that port of a controller.
    Port(usize, Port),
    /// The model that the disk reports.
    Model(usize, &'static str),
    /// A program of that name dirties pages of the disk, this many times as fast as they are
    /// written back meanwhile.
    Dirties(usize, &'static str, f64),
    /// Bytes of dirty pages below which nobody is paused, and the share of them that is dirty when
    /// the watching begins.
    Freerun(f64, f64),
}

/// What the kernel reports of a failed request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogEvent {
    /// A sector that cannot be read.
    Medium,
    /// A command without an answer.
    Timeout,
}

/// The way to a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Port {
    /// A port of the board's own controller.
    Ata(usize),
    /// Behind that expander of a host adapter.
    Expander(usize),
}
