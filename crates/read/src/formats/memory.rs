//! Memory and swap: `/proc/meminfo`, `free`, `swapon`, `/proc/swaps`.
//!
//! ## Reads
//! `memory.available.percent` (of all memory), `swap.used.percent` (of all swap), and of /proc/meminfo
//! also `memory.dirty` and `memory.writeback`, in bytes. A swap area states `swap.used`, in bytes, of
//! its device.
//!
//! ## Where it comes from
//! `cat /proc/meminfo`, `free`, `free -h`, `swapon --show`, `cat /proc/swaps`.
//!
//! ## Versions
//! Linux; `MemAvailable` since 3.14, before it is taken for what is free, in buffers and in cache.
//! procps 3 and 4.
//!
//! ## Traps
//! Little free memory is normal; little available memory is not. Swap in use says that memory was
//! short at some time, not that it is: `vmstat` shows whether pages move now. `free` prints no unit
//! unless `-h` was given, so only shares are taken from it.
//!
//! ## Cannot know
//! Who uses it. Whether pages are moved now. Whether lines are missing: they bear no numbers.

use iowhy_model::typed::{Bytes, Key, Share};
use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::text::words::is_for_people;
use crate::{Format, Reader, Sniff, Step, bytes, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "memory",
    summary: "memory and swap: /proc/meminfo, free, swapon, /proc/swaps",
    manual: iowhy_model::manual!("memory.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Memory::default()),
};

/// Labels of /proc/meminfo that are used.
const USED: [&str; 9] = [
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "Dirty",
    "Writeback",
    "SwapTotal",
    "SwapFree",
];

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first().filter(|line| is_for_people(line)) else {
        return Sniff::No;
    };
    let total =
        first.contains("MemTotal") && meminfo(first).is_some_and(|(label, _)| label == "MemTotal");
    Sniff::from(total || is_free(first) || is_swaps(first))
}

/// `MemTotal:       16323456 kB`: the label and bytes.
fn meminfo(line: &str) -> Option<(&str, u64)> {
    let (label, rest) = line.trim().split_once(':')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let kib = match words.as_slice() {
        [number, "kB"] => integer(number)?,
        // HugePages_Total and its kin are counts.
        [number] if label.starts_with("HugePages") => integer(number)?,
        _ => return None,
    };
    let sound = label.bytes().all(|b| b.is_ascii_alphanumeric() || b"_()".contains(&b));
    sound.then(|| (label, kib.saturating_mul(1024)))
}

/// `total used free shared buff/cache available`.
fn is_free(line: &str) -> bool {
    line.trim_start().starts_with("total ")
        && line.split_whitespace().take(4).eq(["total", "used", "free", "shared"])
}

/// `Filename  Type  Size  Used  Priority`, `NAME TYPE SIZE USED PRIO`.
fn is_swaps(line: &str) -> bool {
    let is = |titles: [&str; 5]| line.split_whitespace().eq(titles);
    line.trim_start().starts_with(['F', 'N'])
        && (is(["Filename", "Type", "Size", "Used", "Priority"])
            || is(["NAME", "TYPE", "SIZE", "USED", "PRIO"]))
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Part {
    #[default]
    Meminfo,
    Free,
    Swaps,
}

#[derive(Default)]
struct Memory {
    places: Places,
    part: Part,
    titles: Vec<String>,
    /// Sizes by the labels of /proc/meminfo.
    sizes: Vec<(String, u64)>,
    place: String,
}

impl Reader for Memory {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        self.place = self.places.next(sink);
        if line.trim().is_empty() {
            return Step::Took;
        }
        if is_free(line) || is_swaps(line) {
            self.part = if is_free(line) { Part::Free } else { Part::Swaps };
            self.titles = line.split_whitespace().map(str::to_string).collect();
            return Step::Took;
        }
        let took = match self.part {
            Part::Meminfo => self.size(line),
            Part::Free => self.row(line, sink),
            Part::Swaps => self.area(line, sink),
        };
        if took { Step::Took } else { Step::Passed }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let size = |label: &str| self.sizes.iter().find(|(l, _)| l == label).map(|(_, size)| *size);
        let (total, swap) = (size("MemTotal"), size("SwapTotal"));
        let sum = || Some(size("MemFree")? + size("Buffers")? + size("Cached")?);
        let available = size("MemAvailable").or_else(sum);
        let dirty =
            [(typed::MEMORY_DIRTY, size("Dirty")), (typed::MEMORY_WRITEBACK, size("Writeback"))];
        let free = size("SwapFree");
        if let Some((available, total)) = available.zip(total) {
            self.share(typed::MEMORY_AVAILABLE, available as f64, total as f64, sink);
        }
        if let Some((free, total)) = free.zip(swap) {
            self.share(
                typed::SWAP_USED_SHARE,
                total.saturating_sub(free) as f64,
                total as f64,
                sink,
            );
        }
        for (key, size) in dirty {
            if let Some(size) = size {
                sink.add_fact_at(None, key, Bytes(size), &self.place);
            }
        }
    }
}

impl Memory {
    fn share(&self, key: Key<Share>, part: f64, whole: f64, sink: &mut dyn Sink) {
        if whole > 0.0 && part <= whole {
            let share = Share((1000.0 * part / whole).round_ties_even() / 1000.0);
            sink.add_fact_at(None, key, share, &self.place);
        }
    }

    fn size(&mut self, line: &str) -> bool {
        let Some((label, size)) = meminfo(line) else { return false };
        if USED.contains(&label) {
            self.sizes.push((label.to_string(), size));
        }
        true
    }

    /// `Mem:  16323456  9123456 ...` of free.
    fn row(&mut self, line: &str, sink: &mut dyn Sink) -> bool {
        let Some((label, rest)) = line.trim().split_once(':') else { return false };
        let cells: Option<Vec<f64>> = rest
            .split_whitespace()
            .map(|cell| bytes(cell.strip_suffix('i').unwrap_or(cell)))
            .collect();
        let Some(cells) = cells else { return false };
        let cell = |title: &str| {
            let place = self.titles.iter().position(|known| known == title)?;
            cells.get(place).copied()
        };
        match label {
            "Mem" => {
                let old = || Some(cell("free")? + cell("buffers")? + cell("cached")?);
                if let (Some(available), Some(total)) =
                    (cell("available").or_else(old), cell("total"))
                {
                    self.share(typed::MEMORY_AVAILABLE, available, total, sink);
                }
            }
            "Swap" => {
                if let (Some(used), Some(total)) = (cell("used"), cell("total")) {
                    self.share(typed::SWAP_USED_SHARE, used, total, sink);
                }
            }
            "Total" | "Low" | "High" | "-/+ buffers/cache" => {}
            _ => return false,
        }
        true
    }

    /// A swap area: sizes are KiB in /proc/swaps.
    fn area(&mut self, line: &str, sink: &mut dyn Sink) -> bool {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, kind, _, used, _] = words.as_slice() else { return false };
        if !matches!(*kind, "partition" | "file") {
            return false;
        }
        let kib = self.titles.first().is_some_and(|title| title == "Filename");
        let scale = if kib { 1024.0 } else { 1.0 };
        if let Some(used) = bytes(used).filter(|_| name.starts_with("/dev/")) {
            let used = Bytes((used * scale).round() as u64);
            sink.add_fact_at(*name, typed::SWAP_USED, used, &self.place);
        }
        true
    }
}
