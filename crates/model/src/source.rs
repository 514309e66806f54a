//! Who spoke: format, place, clock, and what was lost, skipped or never measured.

use crate::{DeviceId, Nanos, Op, Origin};

/// How rich an input is; a detector asks before it trusts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Averages: iostat, diskstats, sar.
    A,
    /// Histograms or per-device minimum, mean and maximum.
    B,
    /// One record per I/O, with completion time and latency.
    C,
    /// A trace of requests, live or from a file: start, issue and completion, flags, depth.
    D,
    /// The above beside SMART, kernel log, topology, mounts.
    E,
}

impl Level {
    /// All levels, the poorest first.
    pub const ALL: [Level; 5] = [Level::A, Level::B, Level::C, Level::D, Level::E];

    /// The level's letter.
    pub fn letter(self) -> char {
        match self {
            Level::A => 'A',
            Level::B => 'B',
            Level::C => 'C',
            Level::D => 'D',
            Level::E => 'E',
        }
    }

    /// The level in words.
    pub fn words(self) -> &'static str {
        match self {
            Level::A => "averages",
            Level::B => "histograms",
            Level::C => "per-I/O log",
            Level::D => "request trace",
            Level::E => "system evidence",
        }
    }
}

/// How a source came by its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// Every I/O was seen.
    Traced,
    /// Counters read at intervals.
    Sampled,
    /// Printed by another tool.
    Reported,
    /// Every I/O was seen: the slow ones and a sample of the others are listed one by one, and all
    /// that are not are counted in the listing's own histograms. In no order and with no queue, for
    /// what is between is not there.
    Thinned,
}

impl Sampling {
    /// All of them, in the order of their numbers in a capture.
    pub const ALL: [Sampling; 4] =
        [Sampling::Traced, Sampling::Sampled, Sampling::Reported, Sampling::Thinned];

    /// The word shown beside a number.
    pub fn word(self) -> &'static str {
        match self {
            Sampling::Traced => "traced",
            Sampling::Sampled => "sampled",
            Sampling::Reported => "reported",
            Sampling::Thinned => "thinned",
        }
    }
}

/// Something the source should have given and did not, with how often.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What was lost, in the plural: `events dropped by a full ring`.
    pub what: String,
    /// How many I/Os it concerns.
    pub count: u64,
    /// Whose requests of which kind they were, where the source counts them apart.
    pub of: Option<(DeviceId, Op)>,
}

/// A note about the input: a line that could not be used, or used only with care.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Line number, from 1; 0 if the note is about the whole listing.
    pub line: u64,
    /// The line's text, shortened.
    pub text: String,
    /// Why it was not used, or what to beware of.
    pub reason: String,
}

/// A stretch of an input that looks like a listing and was read by no format, or by one that found
/// nothing usable in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// The file, or `-`.
    pub input: String,
    /// First and last line, from 1.
    pub lines: (u64, u64),
    /// The first of them, shortened.
    pub text: String,
    /// The format it was recognised as, if it was.
    pub format: Option<String>,
    /// What is missing.
    pub reason: String,
}

/// What a reader took for granted because the listing does not say it: whoever rests on it is less
/// sure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inference {
    /// What the columns are: their heading is missing or cut, so their number and what fits
    /// together told.
    Columns,
    /// That latencies are those of a disk: nothing shows what was measured.
    Subject,
    /// In what order its rows were printed: those of several runs stand among one another.
    Order,
}

/// One stretch of input in one format on one clock: who spoke, and how far to trust it.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// The format or collector that read it, by its name in the list.
    pub format: String,
    /// The file, `-` for standard input, or `live`.
    pub input: String,
    /// First and last line, from 1, of the stretch in that file.
    pub lines: Option<(u64, u64)>,
    /// How rich it is.
    pub level: Level,
    /// How the numbers came about.
    pub sampling: Sampling,
    /// The step of its clock or of its printed latencies, if known: no shape finer than this is
    /// evidence.
    pub resolution: Option<Nanos>,
    /// Whether time spent waiting in the host's queue is part of what it measured.
    pub sees_queue: bool,
    /// How long it watched, if it shows it.
    pub watched: Option<Nanos>,
    /// Events, intervals and distributions read.
    pub records: u64,
    /// Lines that looked like its own but could not be used.
    pub skipped: u64,
    /// Of these, the ones with a value that no device and no clock gives: a latency of many
    /// thousand years.
    pub impossible: u64,
    /// Of these, the ones that were about a device, by device: what is known of it is not all.
    pub skipped_of: Vec<(DeviceId, u64)>,
    /// What was lost, by reason.
    pub losses: Vec<Loss>,
    /// The first log events; `skipped` counts them all.
    pub notes: Vec<Note>,
    /// What the reader took for granted; a note shows it in words.
    pub inferred: Vec<Inference>,
    /// The host's name, kernel or tool version as the listing gives it.
    pub host: Option<String>,
}

impl Source {
    /// The release of the kernel that its host tells, as far as the minor number: `Linux
    /// 5.4.0-91-generic` is 5 and 4.
    pub fn kernel(&self) -> Option<(u32, u32)> {
        let release = self.host.as_ref()?.split("Linux ").nth(1)?;
        let mut numbers = release.split(['.', '-', ' ', ',']);
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    }

    /// A source that has said nothing yet.
    pub fn new(format: &str, input: &str, level: Level) -> Self {
        Source {
            format: format.to_string(),
            input: input.to_string(),
            lines: None,
            level,
            sampling: Sampling::Reported,
            resolution: None,
            sees_queue: true,
            watched: None,
            records: 0,
            skipped: 0,
            impossible: 0,
            skipped_of: Vec::new(),
            losses: Vec::new(),
            notes: Vec::new(),
            inferred: Vec::new(),
            host: None,
        }
    }

    /// Something was taken for granted.
    pub fn infer(&mut self, what: Inference) {
        if !self.inferred.contains(&what) {
            self.inferred.push(what);
        }
    }

    /// I/Os lost for whatever reason.
    pub fn lost(&self) -> u64 {
        self.losses.iter().fold(0, |lost, loss| lost.saturating_add(loss.count))
    }

    /// Where its numbers were read.
    pub fn origin(&self) -> Origin {
        Origin { format: self.format.clone(), input: self.input.clone(), lines: self.lines }
    }

    /// `file:12-40` or the input's name alone.
    pub fn place(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.input),
            Some((first, last)) => format!("{}:{first}-{last}", self.input),
            None => self.input.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_tells_its_kernel_if_it_is_linux() {
        let of = |host: &str| {
            let mut source = Source::new("iostat", "a.txt", Level::A);
            source.host = Some(host.to_string());
            source.kernel()
        };
        assert_eq!(of("db1, Linux 5.4.0-91-generic _x86_64_, 8 CPU"), Some((5, 4)));
        assert_eq!(of("db1, Linux 6.12"), Some((6, 12)));
        assert_eq!(of("db1, FreeBSD 13.2"), None);
        assert_eq!(of("db1, Linux of its own"), None);
    }
}
