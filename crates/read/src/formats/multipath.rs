//! Paths to a volume: `multipath -ll`.
//!
//! ## Reads
//! Each volume with its paths; single rows of paths (`grep`); and the messages of `multipathd`
//! about a path (`tur checker reports path is down`, `mark as failed`, `path offline`,
//! `state down`). Facts of the volume are `device.alias` (its name), `device.model`,
//! `device.slaves` (the paths), `multipath.paths` and `multipath.failed`; of a path that does not
//! work `path.state`, as printed.
//!
//! ## How to capture
//! `multipath -ll`, `multipathd show topology`, `journalctl -u multipathd`.
//!
//! ## Versions
//! multipath-tools 0.4.9 to 0.11; the older layout in brackets, `[active][ready]`, too.
//!
//! ## Caveats
//! A path in a group that is only `enabled` waits for its turn and is well. `queue_if_no_path` makes
//! requests wait for ever when all paths fail.
//!
//! ## Not in this output
//! Latencies of a path.

use std::collections::BTreeMap;

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "multipath",
    summary: "paths to a volume: multipath -ll",
    manual: iowhy_model::manual!("multipath.rs"),
    level: Level::E,
    body: Body::Custom {
        needles: &["dm-", "active", "failed", "undef", "multipathd"],
        sniff,
        reader: || Box::new(Multipath::default()),
    },
};

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first] if volume(first).is_some() => Sniff::More,
        [first, second, ..] if volume(first).is_some() => {
            let text = second.trim();
            Sniff::from(text.starts_with("size=") || text.starts_with("[size="))
        }
        [first, ..] => {
            let row = path(first).is_some_and(|(_, said)| is_state(&said));
            (row || logged(first).is_some() || without_paths(first).is_some()).into()
        }
        [] => Sniff::No,
    }
}

/// Whether a row says whether its path works, as nothing else does that has four numbers and a name.
fn is_state(said: &str) -> bool {
    let words: Vec<&str> = said.split_whitespace().collect();
    let device_mapper = matches!(words.first(), Some(&"active" | &"failed" | &"undef"));
    let checker = ["ready", "faulty", "shaky", "ghost", "i/o", "timeout", "delayed"];
    device_mapper && words.get(1).is_some_and(|word| checker.contains(word))
}

/// Paths of a volume that are remembered.
const PATHS: usize = 64;
/// What the daemon says of a path that is gone (multipathd/main.c, check_path).
const GONE: [&str; 4] = ["path is down", "mark as failed", "path offline", "state down"];

/// The path that the daemon logs as gone, and its volume: `... multipathd[4554]: mpathaq: sdak - tur checker reports path is
/// down`.
fn logged(line: &str) -> Option<(Option<&str>, &str)> {
    let message = said_by_daemon(line)?;
    // The volume may stand before the path.
    let of_volume = message.split_once(": ").map(|(volume, rest)| (Some(volume), rest));
    [Some((None, message)), of_volume].into_iter().flatten().find_map(|(volume, part)| {
        let (disk, said) = part.split_once(' ')?;
        let disk = disk.trim_end_matches(':');
        let gone = GONE.iter().any(|words| said.contains(words));
        let named = disk.bytes().all(|b| b.is_ascii_alphanumeric()) && disk.starts_with("sd");
        (gone && named).then_some((volume, disk))
    })
}

/// The volume that has no path left: `... multipathd[1491]: mpathu: remaining active paths: 0`.
fn without_paths(line: &str) -> Option<&str> {
    let (volume, said) = said_by_daemon(line)?.split_once(": ")?;
    (said.trim_end() == "remaining active paths: 0").then_some(volume)
}

fn said_by_daemon(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("multipathd")?;
    rest.split_once(": ").map(|(_, message)| message)
}

/// `mpatha (3600601...) dm-2 DGC,VRAID`: name, kernel's name, model.
fn volume(line: &str) -> Option<(&str, &str, String)> {
    if !line.contains("dm-") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| {
        word.strip_prefix("dm-").is_some_and(|number| integer(number).is_some())
    })?;
    let name = words.first().filter(|_| place > 0 && place < 4)?;
    let model = words.get(place + 1..)?.join(" ").replace(',', " ");
    Some((name, words.get(place)?, model))
}

/// `1:0:0:1 sdb 8:16 active ready running`: the disk, and what is said of it.
fn path(line: &str) -> Option<(&str, String)> {
    // Three of the address and one of the number; most lines of a file are asked this.
    if line.bytes().filter(|byte| *byte == b':').count() < 4 {
        return None;
    }
    let text = line.replace(['[', ']'], " ");
    let address = |word: &&str| word.matches(':').count() == 3;
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(address)?;
    let disk = words.get(place + 1)?;
    let after: Vec<&str> =
        text.split_whitespace().skip_while(|word| word != disk).skip(2).collect();
    let number = words.get(place + 2)?;
    number.contains(':').then(|| (*disk, after.join(" ")))
}

#[derive(Default)]
struct Multipath {
    places: Places,
    volume: String,
    paths: Vec<String>,
    failed: u64,
    place: String,
    /// Paths that the daemon called gone, by volume.
    gone: BTreeMap<String, Vec<String>>,
}

impl Reader for Multipath {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        self.place = self.places.next(sink);
        let text = line.trim();
        if let Some((name, kernel, model)) = volume(line) {
            self.close(sink);
            self.volume = kernel.to_string();
            if name != kernel {
                let names = vec![name.to_string()];
                sink.add_fact_at(kernel, typed::DEVICE_ALIAS, names, &self.place);
            }
            if !model.is_empty() {
                sink.add_fact_at(kernel, typed::DEVICE_MODEL, model, &self.place);
            }
            return Step::Took;
        }
        if let Some((disk, said)) = path(line) {
            self.paths.push(disk.to_string());
            let bad = ["failed", "faulty", "offline", "shaky", "ghost faulty"];
            if bad.iter().any(|word| said.contains(word)) {
                self.failed += 1;
                sink.add_fact_at(disk, typed::PATH_STATE, said, &self.place);
            }
            return Step::Took;
        }
        if let Some((volume, disk)) = logged(line) {
            sink.add_fact_at(disk, typed::PATH_STATE, "down", &self.place);
            let known = self.gone.entry(volume.unwrap_or_default().to_string()).or_default();
            if !known.iter().any(|other| other == disk) && known.len() < PATHS {
                known.push(disk.to_string());
            }
            return Step::Took;
        }
        if let Some(volume) = without_paths(line) {
            let paths = self.gone.get(volume).cloned().unwrap_or_default();
            self.state(volume, paths.len() as u64, paths, sink);
            return Step::Took;
        }
        let ours = text.is_empty()
            || text.contains(" multipathd[")
            || text.starts_with("size=")
            || text.starts_with("[size=")
            || text.contains("policy='")
            || text.contains("round-robin 0 [");
        if ours { Step::Took } else { Step::Passed }
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.close(sink);
    }
}

impl Multipath {
    fn close(&mut self, sink: &mut dyn Sink) {
        let (volume, paths) = (std::mem::take(&mut self.volume), std::mem::take(&mut self.paths));
        let failed = std::mem::take(&mut self.failed);
        if !volume.is_empty() {
            self.state(&volume, failed, paths, sink);
        }
    }

    /// States the paths of a volume, and how many of them do not work.
    fn state(&self, volume: &str, failed: u64, paths: Vec<String>, sink: &mut dyn Sink) {
        if paths.is_empty() {
            return;
        }
        let (volume, n) = (sink.device(volume), paths.len() as u64);
        sink.add_fact_at(volume, typed::DEVICE_SLAVES, paths, &self.place);
        sink.add_fact_at(volume, typed::MULTIPATH_PATHS, n, &self.place);
        sink.add_fact_at(volume, typed::MULTIPATH_FAILED, failed, &self.place);
    }
}
