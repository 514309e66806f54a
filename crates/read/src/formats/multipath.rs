//! Paths to a volume: `multipath -ll`.
//!
//! ## Reads
//! Each volume with its paths; rows of paths that somebody grepped out of it; and what `multipathd` logs of a path (`tur checker
//! reports path is down`, `mark as failed`, `path offline`, `state down`). Facts of the volume are `device.alias` (its name), `device.model`,
//! `device.slaves` (the paths), `multipath.paths` and `multipath.failed`; of a path that does not
//! work `path.state`, as printed.
//!
//! ## Where it comes from
//! `multipath -ll`, `multipathd show topology`, `journalctl -u multipathd`.
//!
//! ## Versions
//! multipath-tools 0.4.9 to 0.11; the older layout in brackets, `[active][ready]`, too.
//!
//! ## Traps
//! A path in a group that is only `enabled` waits for its turn and is well. `queue_if_no_path` makes
//! requests wait for ever when all paths fail.
//!
//! ## Cannot know
//! Latencies of a path. Whether lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "multipath",
    summary: "paths to a volume: multipath -ll",
    manual: iowhy_model::manual!("multipath.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Multipath::default()),
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
            (row || logged(first).is_some()).into()
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

/// What the daemon says of a path that is gone (multipathd/main.c, check_path).
const GONE: [&str; 4] = ["path is down", "mark as failed", "path offline", "state down"];

/// The path that the daemon logs as gone: `... multipathd[4554]: mpathaq: sdak - tur checker reports path is down`.
fn logged(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("multipathd")?;
    let (_, message) = rest.split_once(": ")?;
    // The volume may stand before the path.
    let parts = [message, message.split_once(": ").map_or(message, |(_, rest)| rest)];
    parts.into_iter().find_map(|part| {
        let (disk, said) = part.split_once(' ')?;
        let disk = disk.trim_end_matches(':');
        let gone = GONE.iter().any(|words| said.contains(words));
        let named = disk.bytes().all(|b| b.is_ascii_alphanumeric()) && disk.starts_with("sd");
        (gone && named).then_some(disk)
    })
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
        if let Some(disk) = logged(line) {
            sink.add_fact_at(disk, typed::PATH_STATE, "down", &self.place);
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
        if volume.is_empty() || paths.is_empty() {
            return;
        }
        let (volume, n) = (sink.device(&volume), paths.len() as u64);
        sink.add_fact_at(volume, typed::DEVICE_SLAVES, paths, &self.place);
        sink.add_fact_at(volume, typed::MULTIPATH_PATHS, n, &self.place);
        sink.add_fact_at(volume, typed::MULTIPATH_FAILED, failed, &self.place);
    }
}
