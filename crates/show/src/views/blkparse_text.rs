//! Lines as blkparse prints them by default: the issue and the completion of each request.
//!
//! ## Shows
//! A `D` and a `C` line per request that was timed from issue to completion, by time, for tools
//! that read what blkparse prints. It is text: blktrace records and `fio --read_iolog` replays a
//! binary format; fio does not read this text.
//!
//! ## Units
//! Seconds from the first issue of its input, to the nanosecond; sectors and lengths in units of
//! 512 bytes.
//!
//! ## Read it like this
//! All lines are of CPU 0. Devices whose numbers are not fixed (NVMe, virtio, device mapper) get
//! numbers of major 259, in the order in which they appear. The process is on the `D` line, an
//! error on the `C` line. Requests without a sector, and events that were not timed at a device,
//! are left out.

use std::io::{self, Write};

use iowhy_model::Order as _;
use iowhy_model::{Event, Layer, Listing, Op, Recording, Report, Stage, Time, numbers_of};

use crate::paint::clean;
use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View = View {
    name: "blkparse-text",
    summary: "lines as blkparse prints them by default",
    manual: iowhy_model::manual!("blkparse_text.rs"),
    write,
};

/// `BLOCK_EXT_MAJOR` (include/uapi/linux/major.h): numbers that are assigned at boot.
const EXTENDED_MAJOR: u32 = 259;

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut number = 0u64;
    for listing in &report.recording.listings {
        let lines = lines(listing, style);
        let Some(zero) = lines.first().map(|(at, _, _)| *at) else { continue };
        for (at, kind, event) in lines {
            number += 1;
            line(&report.recording, event, (at - zero).ns(), kind, number, out)?;
        }
    }
    Ok(())
}

/// Whether a line is an issue or a completion. At one moment completions come first, but for that
/// of a request that took no time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Completion,
    Issue,
    CompletionAtOnce,
}

fn lines<'a>(listing: &'a Listing, style: &Style) -> Vec<(Time, Kind, &'a Event)> {
    let mut lines = Vec::new();
    for event in listing.events.iter().filter(|event| style.filter.event(event)) {
        let placed = event.sector.is_some() || is_empty_flush(event);
        let timed = event.latency(Stage::Device).is_some() && event.layer == Layer::Block;
        if let (Some(issued), Some(completed), true, true) =
            (event.issued, event.completed, placed, timed)
        {
            let at_once = issued == completed;
            let kind = if at_once { Kind::CompletionAtOnce } else { Kind::Completion };
            lines.extend([(issued, Kind::Issue, event), (completed, kind, event)]);
        }
    }
    lines.order_by_key(|(at, kind, _)| (*at, *kind));
    lines
}

fn is_empty_flush(event: &Event) -> bool {
    event.op == Op::Flush && event.bytes.unwrap_or(0) == 0
}

/// `  8,16   0        4     0.000001500  4000  D   R 1621214536 + 16 [fio]`.
fn line(
    recording: &Recording,
    event: &Event,
    ns: i64,
    kind: Kind,
    number: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let device = recording.devices().get(event.device.index()).map(|device| device.name.as_str());
    let (major, minor) = numbers(device.unwrap_or_default(), event.device.index());
    let ns = ns.max(0);
    let issue = kind == Kind::Issue;
    let (action, pid) = if issue { ('D', event.pid.unwrap_or(0)) } else { ('C', 0) };
    write!(
        out,
        "{major:>3},{minor:<3} {:>2} {number:>8} {:>5}.{:09} {pid:>5} {action:>2} {:>3} ",
        0,
        ns / 1_000_000_000,
        ns % 1_000_000_000,
        event.flags.rwbs(event.op),
    )?;
    let sectors = event.bytes.unwrap_or(0).div_ceil(512);
    match (is_empty_flush(event), issue) {
        (true, true) => {}
        (true, false) => write!(out, "0 ")?,
        (false, _) => write!(out, "{} + {sectors} ", event.sector.unwrap_or(0))?,
    }
    if issue {
        let comm = event.comm.map_or("?".to_string(), |comm| clean(recording.text(comm)));
        writeln!(out, "[{comm}]")
    } else {
        writeln!(out, "[{}]", -i32::from(event.error.unwrap_or(0)))
    }
}

/// Major and minor number of a device of this name.
fn numbers(name: &str, place: usize) -> (u32, u32) {
    numbers_of(name).unwrap_or((EXTENDED_MAJOR, u32::try_from(place).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_names_have_their_numbers() {
        for (name, expected) in [
            ("sda", (8, 0)),
            ("sdb1", (8, 17)),
            ("sdy", (65, 128)),
            ("sdiv", (135, 240)),
            ("xvda1", (202, 1)),
            ("loop3", (7, 3)),
            ("md0", (9, 0)),
            ("253:7", (253, 7)),
            ("nvme0n1", (259, 5)),
            ("sd", (259, 5)),
            ("sdzzzz", (259, 5)),
            ("sda99", (259, 5)),
            ("", (259, 5)),
        ] {
            assert_eq!(numbers(name, 5), expected, "{name}");
        }
    }
}
