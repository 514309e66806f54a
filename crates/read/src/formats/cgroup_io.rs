//! I/O of control groups: statistics and limits, from `io.stat` and `io.max`.
//!
//! ## Reads
//! Lines `8:16 rbytes=1459200 wbytes=314773504 rios=192 ...` of `io.stat`,
//! `8:16 rbps=2097152 wbps=max riops=max wiops=120` of `io.max`, `8:16 target=75000` of
//! `io.latency`, and, with file names printed by `grep`, the throttle files of version 1. For
//! version 1 also the counts `8:16 Read 58971` of `blkio.io_serviced` and `blkio.io_service_bytes`
//! (with `throttle.` or without), if the file name precedes them or is in the command above. They
//! become facts of the device: `cgroup.io.stat.rios`, `cgroup.io.max.wiops`,
//! `cgroup.io.latency.target`; limits of `max` (no limit) are omitted. The location of a fact
//! contains the group, if a path was printed.
//!
//! ## How to capture
//! `cat /sys/fs/cgroup/system.slice/db.service/io.max`, `grep -r . /sys/fs/cgroup
//! --include=io.max`.
//!
//! ## Versions
//! Version 2 since Linux 4.5, its `io.latency` since 4.19; fields of `io.cost` are read unchanged.
//! Version 1: `blkio.throttle.write_iops_device` and related files, also as the shell command that
//! sets it, `echo "8:32 1048576" > .../blkio.throttle.read_bps_device`. Limits of commands:
//! `docker run --device-write-bps /dev/sdb:1mb`, `systemd-run -p IOReadBandwidthMax="/dev/sda 5M"`.
//!
//! ## Caveats
//! Devices are numbers: `8:16` is named `sdb`; `253:0` has no fixed meaning and stays. A limit of
//! any parent group applies as well. Counts of `io.stat` are since the creation of the group.
//! Waiting for a limit happens above the block layer: iostat does not see it. Buffered writes are
//! charged to their group only on some file systems. `blkio.io_service_time` and `io_wait_time` are
//! sums since the creation of the group, over an unknown time, and are ignored.
//!
//! ## Not in this output
//! Which limit was effective: compare the rates with it. The group, if no path was printed.

use crate::counters::limits::{DeviceLine, set_by_options, state};
use crate::device_of_numbers;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<CgroupIo>(
    "control groups: io.stat, io.max, io.latency, blkio.throttle",
    Level::E,
    &[
        "blkio.throttle.", "--device-read-", "--device-write-", "IOReadBandwidthMax",
        "IOWriteBandwidthMax", "IOReadIOPSMax", "IOWriteIOPSMax", "rbytes=", "rbps=", "target=",
        "rpct=", "rseqiops=", " Read ", " Write ", " Sync ", " Async ", " Discard ", " Total ",
    ],
    sniff,
);

/// A field that only one file has, and that file (kernel, Documentation/admin-guide/cgroup-v2).
const FILES: [(&str, &str); 5] = [
    ("rbytes", "stat"),
    ("rbps", "max"),
    ("target", "latency"),
    ("rpct", "cost.qos"),
    ("rseqiops", "cost.model"),
];
/// Limits of version 1 by those of version 2
/// (Documentation/admin-guide/cgroup-v1/blkio-controller).
const THROTTLES: [(&str, &str); 4] = [
    ("blkio.throttle.read_bps_device", "rbps"),
    ("blkio.throttle.write_bps_device", "wbps"),
    ("blkio.throttle.read_iops_device", "riops"),
    ("blkio.throttle.write_iops_device", "wiops"),
];

/// Counts of version 1, and those of `io.stat` that mean the same by operation.
const COUNTS: [(&str, &str, &str); 2] =
    [("io_serviced", "rios", "wios"), ("io_service_bytes", "rbytes", "wbytes")];
/// The key that separates counts of version 1.
const PARTS: [&str; 6] = ["Read", "Write", "Sync", "Async", "Discard", "Total"];

fn sniff(lines: &[&str]) -> Detect {
    match lines {
        [first, ..] if row(first).is_some() || !set_by_options(first).is_empty() => Detect::Yes,
        [first] if part(first).is_some() => Detect::NeedLine,
        [first, second, ..] => (part(first).is_some() && part(second).is_some()).into(),
        _ => Detect::No,
    }
}

/// Path, if one was printed, device numbers and the rest of `PATH:8:16 REST` or `8:16 REST`. Names
/// of groups may hold blanks, colons and numbers: the last such numbers are the device's.
fn placed(text: &str) -> Option<(Option<&str>, &str, &str)> {
    let is_numbers = |word: &str| {
        let numbers = word.split_once(':');
        numbers.is_some_and(|(major, minor)| integer(major).and(integer(minor)).is_some())
    };
    text.match_indices(' ').rev().find_map(|(end, _)| {
        let (before, rest) = (text.get(..end)?, text.get(end + 1..)?);
        if !before.ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let (numbers, path) = match before.match_indices(':').rev().nth(1) {
            Some((place, _)) => (before.get(place + 1..)?, before.get(..place)),
            None => (before, None),
        };
        is_numbers(numbers).then_some((path, numbers, rest))
    })
}

/// `8:0 Read 58971`, after the file's path if that was printed: path, device, what, how many.
fn part(line: &str) -> Option<(Option<&str>, String, &str, u64)> {
    let (path, numbers, rest) = placed(line.trim())?;
    let (what, count) = rest.split_once(' ').filter(|(what, _)| PARTS.contains(what))?;
    Some((path, device_of_numbers(numbers)?, what, integer(count.trim())?))
}

/// The field of `io.stat` that a count of a file of version 1 is.
fn field(file: &str, what: &str) -> Option<&'static str> {
    let (_, reads, writes) = COUNTS.iter().find(|(name, ..)| file.ends_with(name))?;
    match what {
        "Read" => Some(reads),
        "Write" => Some(writes),
        _ => None,
    }
}

/// `# cat blkio.io_serviced`: the file whose lines follow.
fn file_of(command: &str) -> Option<&str> {
    command.split_whitespace().rfind(|word| {
        word.rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with("blkio.") && !name.contains(':'))
    })
}

/// `echo "8:32 1048576" > PATH/blkio.throttle.read_bps_device`: how a limit of version 1 is set.
fn set_by_shell(text: &str) -> Option<DeviceLine<'_>> {
    let (head, path) = text.split_once('>')?;
    let (_, reported) = head.split_once("echo ")?;
    let (numbers, value) = reported.trim().trim_matches(['"', '\'']).split_once(' ')?;
    let path = path.trim_start_matches('>').trim().trim_matches(['"', '\'']);
    let name = path.rsplit('/').next()?;
    let (_, limit) = THROTTLES.iter().find(|(file, _)| *file == name)?;
    let device = device_of_numbers(numbers).filter(|_| numbers.contains(':'))?;
    integer(value.trim())?;
    Some(DeviceLine {
        path: Some(path),
        file: "max",
        device,
        fields: vec![(limit, value.trim().into())],
    })
}

fn row(line: &str) -> Option<DeviceLine<'_>> {
    let text = line.trim();
    let Some((path, numbers, rest)) = placed(text) else { return set_by_shell(text) };
    let device = device_of_numbers(numbers)?;
    let throttle = path.and_then(|path| {
        let name = path.rsplit('/').next()?;
        THROTTLES.iter().find(|(file, _)| *file == name)
    });
    if let Some((_, limit)) = throttle {
        integer(rest.trim())?;
        return Some(DeviceLine {
            path,
            file: "max",
            device,
            fields: vec![(limit, rest.trim().into())],
        });
    }
    let fields = rest.split_whitespace().map(|field| {
        let (key, value) = field.split_once('=')?;
        Some((key, value.into()))
    });
    let Some(fields) = fields.collect::<Option<Vec<_>>>() else { return set_by_shell(text) };
    let has = |key: &str| fields.iter().any(|(known, _)| *known == key);
    let Some((_, file)) = FILES.iter().find(|(field, _)| has(field)) else {
        return set_by_shell(text);
    };
    Some(DeviceLine { path, file, device, fields })
}

#[derive(Default)]
struct CgroupIo {
    /// The file of version 1 that a command above named.
    file: String,
}

impl CgroupIo {
    /// States a count of version 1; what is not a read or write is part of these.
    fn count(
        &self,
        (path, device, what, count): (Option<&str>, String, &str, u64),
        sink: &mut dyn Sink,
    ) {
        let file = path.unwrap_or(&self.file);
        let Some(field) = field(file, what) else { return };
        let place = path.map_or_else(|| sink.source().place(), str::to_string);
        sink.add_fact_at(&device, typed::CGROUP_STAT.member(field), count, &place);
    }
}

impl Reader for CgroupIo {
    fn line_above(&mut self, line: &str) {
        if let Some(file) = file_of(line) {
            self.file = file.to_string();
        }
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let total =
            line.strip_prefix("Total ").is_some_and(|count| integer(count.trim()).is_some());
        if line.trim().is_empty() || total {
            return Step::Consumed;
        }
        if let Some(part) = part(line) {
            self.count(part, sink);
            return Step::Consumed;
        }
        if let Some(file) = file_of(line).filter(|_| !line.contains("echo ")) {
            self.file = file.to_string();
            return Step::Consumed;
        }
        let set = set_by_options(line);
        if !set.is_empty() {
            set.iter().for_each(|set| state(set, sink));
            return Step::Consumed;
        }
        let Some(row) = row(line) else {
            let torn = ["rbytes=", "rbps=", "wiops="].iter().any(|field| line.contains(field));
            return Step::skipped_if(torn, "the line has no device or a field without a value");
        };
        state(&row, sink);
        Step::Consumed
    }
}
