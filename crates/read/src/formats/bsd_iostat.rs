//! iostat of macOS and the BSDs without options: transfers and bytes of each disk.
//!
//! ## Reads
//! The two lines of the heading, disks above `KB/t tps MB/s`, and the rows below: transfers per
//! second and bytes per second of each disk, in each interval.
//!
//! ## How to capture
//! `iostat -w 1 -c 10`.
//!
//! ## Versions
//! macOS 10.14 to 15; FreeBSD and OpenBSD print the same columns beside those of terminals.
//!
//! ## Caveats
//! The first row is since boot, even if it is the only one. `tps` are whole numbers. MB are
//! 1024 x 1024 bytes. At most a few disks fit into a line.
//!
//! ## Not in this output
//! Latencies, queues, reads and writes apart. The length of an interval.

use crate::describe::table::KIB;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<BsdIostat>(
    "iostat of macOS and the BSDs without options",
    Level::A,
    &["KB/t"],
    is_heading,
);

/// Columns of a disk: KiB of a transfer, transfers per second (`t/s` on OpenBSD), MiB per second.
const OF_A_DISK: usize = 3;

fn is_heading(line: &str) -> bool {
    disks(line).is_some_and(|(disks, _)| disks > 0)
}

/// How many disks a heading has, and the columns in front of them.
fn disks(line: &str) -> Option<(usize, usize)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let lead = words.iter().position(|word| *word == "KB/t")?;
    let rest = words.get(lead..)?;
    let of_a_disk = |part: &&[&str]| matches!(**part, ["KB/t", "tps" | "t/s", "MB/s"]);
    Some((rest.chunks(OF_A_DISK).take_while(of_a_disk).count(), lead))
}

/// The disks that the line above the heading names: `disk0  disk4  cpu  load average`. In JSON a
/// quote precedes the first.
fn names(line: &str) -> Vec<String> {
    let disk = |word: &str| {
        let name = word.rsplit('"').next()?;
        let number = name.trim_start_matches(|c: char| c.is_ascii_lowercase());
        (name.len() > number.len() && integer(number).is_some()).then(|| name.to_string())
    };
    line.split_whitespace().filter_map(disk).collect()
}

#[derive(Default)]
struct BsdIostat {
    above: Vec<String>,
    disks: Vec<String>,
    lead: usize,
    width: usize,
    has_row: bool,
}

impl Reader for BsdIostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((disks, lead)) = disks(line).filter(|(disks, _)| *disks > 0) {
            self.disks = std::mem::take(&mut self.above);
            (self.lead, self.width) = (lead, words.len());
            if self.disks.len() == disks {
                return Step::Consumed;
            }
            self.disks.clear();
            return Step::Malformed("no line above names its disks".to_string());
        }
        let values: Option<Vec<f64>> = words.iter().map(|word| decimal(word)).collect();
        let Some(values) = values.filter(|values| !values.is_empty()) else {
            self.above = names(line);
            let is_above = words.is_empty() || !self.above.is_empty();
            return if is_above { Step::Consumed } else { Step::NotMine };
        };
        if values.len() != self.width || values.iter().any(|value| *value < 0.0) {
            return Step::Malformed("the values do not match the heading".to_string());
        }
        for (disk, part) in self.disks.iter().zip(values[self.lead..].chunks(OF_A_DISK)) {
            let [kib, per_s, _] = *part else { continue };
            let mut interval = Interval::new(sink.device(disk), Layer::Block);
            let bytes_per_s = Some(kib * KIB * per_s);
            interval.mixed = Some(Rates { ios_per_s: per_s, bytes_per_s, ..Rates::default() });
            interval.since_boot = !self.has_row;
            sink.interval(interval);
        }
        self.has_row = true;
        Step::Consumed
    }

    fn line_above(&mut self, line: &str) {
        self.above = names(line);
    }
}
