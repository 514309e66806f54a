//! Memory and swap: `/proc/meminfo`, `free`, `swapon`, `/proc/swaps`.
//!
//! ## Reads
//! `memory.available.percent` (of all memory), `swap.used.percent` (of all swap), and of
//! /proc/meminfo also `memory.dirty` and `memory.writeback`, in bytes. Of each swap area: the
//! device and `swap.used`, in bytes.
//!
//! ## How to capture
//! `cat /proc/meminfo`, `free`, `free -h`, `swapon --show`, `cat /proc/swaps`.
//!
//! ## Versions
//! Linux; `MemAvailable` since 3.14, before that free memory, buffers and cache are used. procps 3
//! and 4.
//!
//! ## Caveats
//! Little free memory is normal; little available memory is not. Used swap shows that memory was
//! short at some time, not that it is now: `vmstat` shows current swapping. `free` prints no unit
//! unless `-h` was given, so only shares are taken from it.
//!
//! ## Not in this output
//! The processes that use it. Whether pages are swapped now.

use iowhy_model::typed::{Bytes, Key, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("memory and swap: /proc/meminfo, free, swapon, /proc/swaps", Level::E, &LABELS);

/// Labels of /proc/meminfo that are used.
const USED: [&str; 9] = [
    "MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "Dirty", "Writeback", "SwapTotal",
    "SwapFree",
];
/// Titles of free in German and French.
const TITLES: [(&str, &str); 7] = [
    ("total", "gesamt"),
    ("used", "benutzt"),
    ("used", "utilisé"),
    ("free", "frei"),
    ("free", "libre"),
    ("available", "verfügbar"),
    ("available", "disponible"),
];
/// The unit of /proc/swaps.
const KIB: &str = "KiB";

static LABELS: Labels = Labels {
    lines: &[
        begins("^MemTotal:{n:u} kB$", size).like(&["MemTotal:       16323456 kB"]),
        perhaps("^{:word}:{n:u} kB$", size).like(&["Dirty:              1204 kB"]),
        begins(
            "^{total|gesamt} {used|benutzt|utilisé} {free|frei|libre} {shared|gemns.|partagé} ",
            |found, report, _| report.quote_alone(found.line()),
        )
        .like(&[
            "total        used        free      shared  buff/cache   available",
            "gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar",
            "total       utilisé      libre     partagé tamp/cache   disponible",
        ]),
        says("^{Mem|Speicher}:{cells:text}$", |found, report, sink| {
            let cells = Cells::of(found, report)?;
            let old = || Some(cells.get("free")? + cells.get("buffers")? + cells.get("cached")?);
            let available = cells.get("available").or_else(old);
            share(typed::MEMORY_AVAILABLE, available, cells.get("total"), report, sink)
        })
        .like(&[
            "Mem:        16323456     9123456      812344       12345     6387656     6812345",
        ]),
        says(
            "^{Swap|Auslager|Échange|Partition d'échange}:{cells:text}$",
            |found, report, sink| {
                let cells = Cells::of(found, report)?;
                share(typed::SWAP_USED_SHARE, cells.get("used"), cells.get("total"), report, sink)
            },
        )
        .like(&["Swap:        2097148      524288     1572860"]),
        begins("^Filename Type Size Used Priority$", |_, report, _| report.enter(KIB))
            .like(&["Filename				Type		Size	Used	Priority"]),
        begins("^NAME TYPE SIZE USED PRIO$", |_, report, _| report.enter(""))
            .like(&["NAME      TYPE       SIZE USED PRIO"]),
        // A swap area.
        says(
            "^{name:word} {partition|file} {:word} {used:size} {:word}$",
            |found, report, sink| {
                let scale = if report.part == KIB { 1024.0 } else { 1.0 };
                let used = Bytes((found.number("used")? * scale).round() as u64);
                let name = found.text("name").filter(|name| name.starts_with("/dev/"));
                if let Some(name) = name {
                    sink.add_fact_at(name, typed::SWAP_USED, used, report.place());
                }
                Some(())
            },
        )
        .like(&["/dev/sda2                               partition	2097148	524288	-2"]),
    ],
    // HugePages_Total and related ones are counts.
    own: &["^HugePages{:word}:{:u}$", "^{Total|Low|High|-/+ buffers/cache}:"],
    end: Some(stated),
    ..Labels::NEW
};

/// The cells of a row of free, by the titles above.
struct Cells<'r> {
    titles: Vec<&'r str>,
    values: Vec<f64>,
}

impl Cells<'_> {
    fn of<'r>(found: &Found, report: &'r Report) -> Option<Cells<'r>> {
        let cells = found.text("cells")?.split_whitespace();
        let values = cells.map(|cell| bytes(cell.strip_suffix('i').unwrap_or(cell)));
        let values = values.collect::<Option<_>>()?;
        Some(Cells { titles: report.quoted().last()?.split_whitespace().collect(), values })
    }

    fn get(&self, title: &str) -> Option<f64> {
        let translated = |known: &&str| TITLES.contains(&(title, *known));
        let place = self.titles.iter().position(|known| *known == title || translated(known))?;
        self.values.get(place).copied()
    }
}

fn size(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (label, _) = found.line().split_once(':')?;
    match USED.iter().find(|used| **used == label) {
        Some(label) => report.keep(label, found.number("n")? * 1024.0),
        None => Some(()),
    }
}

fn share(
    key: Key<Share>,
    part: Option<f64>,
    whole: Option<f64>,
    report: &Report,
    sink: &mut dyn Sink,
) -> Option<()> {
    if let Some((part, whole)) =
        part.zip(whole).filter(|(part, whole)| *whole > 0.0 && part <= whole)
    {
        let share = Share((1000.0 * part / whole).round_ties_even() / 1000.0);
        sink.add_fact_at(None, key, share, report.place());
    }
    Some(())
}

fn stated(report: &mut Report, sink: &mut dyn Sink) {
    let size = |label: &str| report.kept(label);
    let (total, swap) = (size("MemTotal"), size("SwapTotal"));
    let sum = || Some(size("MemFree")? + size("Buffers")? + size("Cached")?);
    let available = size("MemAvailable").or_else(sum);
    let used = swap.zip(size("SwapFree")).map(|(total, free)| (total - free).max(0.0));
    share(typed::MEMORY_AVAILABLE, available, total, report, sink);
    share(typed::SWAP_USED_SHARE, used, swap, report, sink);
    for (key, label) in [(typed::MEMORY_DIRTY, "Dirty"), (typed::MEMORY_WRITEBACK, "Writeback")] {
        if let Some(bytes) = size(label) {
            sink.add_fact_at(None, key, Bytes(bytes as u64), report.place());
        }
    }
}
