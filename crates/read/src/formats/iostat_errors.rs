//! Errors that illumos and Solaris count of each disk: `iostat -e`, `iostat -E`.
//!
//! ## Reads
//! The table `s/w h/w trn tot device` of `iostat -en`, and the blocks of `iostat -En`: soft, hard and transport errors, media
//! errors, failures predicted, vendor, model and serial number. Facts are `member.errors.KIND` of the disk.
//!
//! ## Where it comes from
//! `iostat -e`, `iostat -en`, `iostat -E`, `iostat -En`.
//!
//! ## Versions
//! Solaris 2.6 to 11, illumos.
//!
//! ## Traps
//! Counts begin when the driver attached the disk: at the boot, or when it was plugged in. A soft error was repaired; many
//! of them are `Illegal Request`s of a tool that asked for what the disk does not have. Transport errors are commands that
//! never came back, by the cable, the controller or a disk that hangs. A CD drive counts an empty tray.
//!
//! ## Cannot know
//! When each happened. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "iostat-errors",
    summary: "errors of disks as illumos counts them: iostat -e, -E",
    manual: iowhy_model::manual!("iostat_errors.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(IostatErrors::default()),
};

const KINDS: [&str; 3] = ["soft", "hard", "transport"];
/// Labels of a block, and what of the member they count.
const COUNTED: [(&str, &str); 2] =
    [("Media Error", "media"), ("Predictive Failure Analysis", "predictive")];

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if is_heading(first) || block(first).is_some() => Sniff::Yes,
        [first] if is_title(first) => Sniff::More,
        [first, second, ..] if is_title(first) => is_heading(second).into(),
        _ => Sniff::No,
    }
}

fn is_title(line: &str) -> bool {
    line.split_whitespace().eq(["----", "errors", "---"])
}

fn is_heading(line: &str) -> bool {
    line.split_whitespace().eq(["s/w", "h/w", "trn", "tot", "device"])
}

/// `c1t4d0           Soft Errors: 3 Hard Errors: 1 Transport Errors: 11`: the disk and its counts.
fn block(line: &str) -> Option<(&str, [u64; 3])> {
    let (name, rest) = line.split_once("Soft Errors: ")?;
    let (soft, rest) = rest.split_once(" Hard Errors: ")?;
    let (hard, transport) = rest.split_once(" Transport Errors: ")?;
    let count = |text: &str| integer(text.trim());
    let name = name.trim();
    let named = !name.is_empty() && !name.contains(' ');
    Some((name, [count(soft)?, count(hard)?, count(transport)?])).filter(|_| named)
}

/// `3   1  11  15 c1t4d0`.
fn row(words: &[&str]) -> Option<[u64; 3]> {
    let [soft, hard, transport, total, _] = words else { return None };
    integer(total)?;
    Some([integer(soft)?, integer(hard)?, integer(transport)?])
}

#[derive(Default)]
struct IostatErrors {
    places: Places,
    disk: String,
}

impl IostatErrors {
    fn counts(&self, disk: &str, counts: [u64; 3], place: &str, sink: &mut dyn Sink) {
        for (kind, count) in KINDS.iter().zip(counts) {
            sink.add_fact_at(disk, typed::MEMBER_ERRORS.of(kind), count, place);
        }
    }
}

impl Reader for IostatErrors {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        if let Some((disk, counts)) = block(line) {
            self.disk = disk.to_string();
            self.counts(disk, counts, &place, sink);
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || is_heading(line) || is_title(line) {
            return Step::Took;
        }
        if let (Some(counts), Some(disk)) = (row(&words), words.last()) {
            self.counts(disk, counts, &place, sink);
            return Step::Took;
        }
        if self.disk.is_empty() {
            return Step::Passed;
        }
        let mut known = false;
        for (label, kind) in COUNTED {
            let value = line.split_once(label).and_then(|(_, rest)| rest.strip_prefix(": "));
            let count = value.and_then(|rest| integer(rest.split_whitespace().next()?));
            if let Some(count) = count {
                known = true;
                let key = typed::MEMBER_ERRORS.of(kind);
                sink.add_fact_at(&self.disk, key, count, &place);
            }
        }
        if let Some((_, rest)) = line.split_once("Product: ") {
            known = true;
            let model = rest.split(" Revision:").next().unwrap_or(rest).trim();
            if !model.is_empty() {
                sink.add_fact_at(&self.disk, typed::DEVICE_MODEL, model, &place);
            }
        }
        let ours = ["Size: ", "Illegal Request: ", "Vendor: "];
        known |= ours.iter().any(|label| line.trim_start().starts_with(label));
        if known { Step::Took } else { Step::Passed }
    }

    fn resumes(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    use crate::scan::recorded as read;

    #[test]
    fn a_table_and_a_block() {
        let recording = read(
            "  ---- errors ---\n  s/w h/w trn tot device\n    0   0   0   0 c1t3d0\n    3   1  11  15 c1t4d0\n\n\
             c1t5d0           Soft Errors: 0 Hard Errors: 2 Transport Errors: 0\n\
             Vendor: ATA      Product: ST2000NM0011     Revision: SN03 Serial No: Z1P\n\
             Size: 2000.40GB <2000398934016 bytes>\n\
             Media Error: 2 Device Not Ready: 0 No Device: 0 Recoverable: 0\n",
        );
        let facts = &recording.listings[0].facts;
        let of = |disk: &str, kind: &'static str| {
            let key = key::MEMBER_ERRORS.of(kind);
            let mut found = facts.iter().filter(|fact| fact.key == key);
            found.find_map(|fact| {
                let name = &recording.device_of(fact.device?).name;
                (*name == disk).then(|| fact.value.to_string())
            })
        };
        assert_eq!(of("c1t4d0", "transport").as_deref(), Some("11"));
        assert_eq!(of("c1t3d0", "hard").as_deref(), Some("0"));
        assert_eq!(of("c1t5d0", "media").as_deref(), Some("2"));
    }
}
