//! The source of a listing: format, place, clock, and what was lost, skipped or not measured.

use crate::{DeviceId, HostName, Nanos, Op, Origin};

/// The level of detail of an input; detectors check it.
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
    /// All levels, the least detailed first.
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

/// How a source obtained its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sampling {
    /// Every I/O was seen.
    Traced,
    /// Counters read at intervals.
    Sampled,
    /// Printed by another tool.
    Reported,
    /// Every I/O was seen: slow ones and a sample of the others are listed, all others are counted
    /// in the listing's histograms. There is no order and no queue depth, because the I/Os between
    /// them are missing.
    Thinned,
}

impl Sampling {
    /// All of them, in the order of their codes in a capture.
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

/// Something missing from the source, with its count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// What was lost, in the plural: `events dropped by a full ring`.
    pub what: String,
    /// How many I/Os it concerns.
    pub count: u64,
    /// Their device and operation, if the source counts them separately.
    pub of: Option<(DeviceId, Op)>,
}

/// A note about the input: a line that could not be used, or used only with care.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Line number, from 1; 0 if the note is about the whole listing.
    pub line: u64,
    /// The line's text, shortened.
    pub text: String,
    /// Why it was not used, or the caveat.
    pub reason: String,
}

/// A section of an input that looks like a listing but was read by no format, or by one that found
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

/// An assumption of a reader that the listing does not state: it lowers the confidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inference {
    /// The columns: their heading is missing or cut, so they were inferred from their number and
    /// consistency.
    Columns,
    /// That the latencies are of a disk: nothing shows what was measured.
    Subject,
    /// The order of its rows: those of several runs are mixed.
    Order,
}

/// One section of input in one format on one clock, and how far to trust it.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// The format or collector that read it, by its name in the list.
    pub format: String,
    /// The file, `-` for standard input, or `live`.
    pub input: String,
    /// First and last line, from 1, of that section.
    pub lines: Option<(u64, u64)>,
    /// The line that is being read, from 1; 0 if none is.
    pub line: u64,
    /// Its level of detail.
    pub level: Level,
    /// How it obtained its numbers.
    pub sampling: Sampling,
    /// Resolution of its clock or printed latencies, if known: no finer pattern is evidence.
    pub resolution: Option<Nanos>,
    /// Whether its latencies include time in the host's queue.
    pub sees_queue: bool,
    /// How long it watched, if known.
    pub watched: Option<Nanos>,
    /// Events, intervals and distributions read.
    pub records: u64,
    /// Lines that looked like this format but could not be used.
    pub skipped: u64,
    /// Of these, the ones with an impossible value: a latency of many thousand years.
    pub impossible: u64,
    /// Of these, the ones about a device, by device: its records are incomplete.
    pub skipped_of: Vec<(DeviceId, u64)>,
    /// What was lost, by reason.
    pub losses: Vec<Loss>,
    /// The first notes; `skipped` counts all lines.
    pub notes: Vec<Note>,
    /// The reader's assumptions; a note explains each in words.
    pub inferred: Vec<Inference>,
    /// The host's name, kernel or tool version as the listing gives it.
    pub host: Option<String>,
    /// The machine that it is of, if its lines or the session around it name one.
    pub machine: Option<HostName>,
}

impl Source {
    fn kernel_release(&self) -> Option<&str> {
        self.host.as_ref()?.split("Linux ").nth(1)
    }

    /// Whether its host's kernel is one that a provider of virtual machines, or a distribution for
    /// these, builds: `5.15.0-1051-aws`, `6.1.0-18-cloud-amd64`, `6.12.46-66.121.amzn2023.x86_64`.
    pub fn is_of_a_cloud(&self) -> bool {
        const FLAVOURS: [&str; 8] = ["aws", "azure", "gcp", "gke", "oracle", "cloud", "amzn", "al"];
        let release = self.kernel_release().unwrap_or_default();
        let release = release.split([' ', ',']).next().unwrap_or_default();
        release.split(['-', '.']).any(|word| {
            let flavour = word.trim_end_matches(|c: char| c.is_ascii_digit());
            FLAVOURS.contains(&flavour) && (flavour != "al" || flavour.len() < word.len())
        })
    }

    /// Major and minor version of its host's kernel: `Linux 5.4.0-91-generic` is 5 and 4.
    pub fn kernel(&self) -> Option<(u32, u32)> {
        let release = self.kernel_release()?;
        let mut numbers = release.split(['.', '-', ' ', ',']);
        let mut number = || numbers.next()?.parse().ok();
        Some((number()?, number()?))
    }

    /// States its host by its name.
    pub fn is_of_host(&mut self, name: &str) {
        self.is_of_printed_host(name, name.to_string());
    }

    /// The same, with what a listing prints of it: the name, and what follows.
    pub fn is_of_printed_host(&mut self, name: &str, printed: String) {
        (self.machine, self.host) = (HostName::of(name).or(self.machine.take()), Some(printed));
    }

    /// A source without records.
    pub fn new(format: &str, input: &str, level: Level) -> Self {
        Source {
            format: format.to_string(),
            input: input.to_string(),
            lines: None,
            line: 0,
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
            machine: None,
        }
    }

    /// Adds an assumption.
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
    fn a_kernel_tells_whether_a_provider_built_it() {
        let of = |release: &str| {
            let mut source = Source::new("iostat", "a.txt", Level::A);
            source.host = Some(format!("db1, Linux {release} x86_64, 8 CPU"));
            source.is_of_a_cloud()
        };
        let rented = ["5.15.0-1051-aws", "6.1.0-18-cloud-amd64", "6.12.46-66.121.amzn2023.x86_64"];
        assert!(rented.into_iter().all(of) && of("5.10.134-13.al8.x86_64"));
        let own = ["5.4.0-91-generic", "4.18.0-477.el8.x86_64", "6.8.12-4-pve", "6.1.0-alpha"];
        assert!(!own.into_iter().any(of));
    }

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
