//! The truth: what the disk did with each request and why, as CSV, and its summary.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::Path;

use iowhy_model::Op;

use iowhy_lab::disk::Cause;

/// The first line of the log. Times are nanoseconds of the monotonic clock; `why` lists what the
/// time from arrival to due was spent on, as `cause:ns`, separated by `;`.
pub const HEADING: &str = "op,offset,bytes,arrival_ns,due_ns,reply_ns,failed,why";

/// One request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The request.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// When it reached the disk, ns.
    pub arrival: u64,
    /// When the model said it would be done, ns.
    pub due: u64,
    /// When it was answered, ns.
    pub reply: u64,
    /// Whether it failed with EIO.
    pub failed: bool,
    /// Where the time went, ns.
    pub why: Vec<(Cause, u64)>,
}

impl Entry {
    /// Time in the disk as it was served, ns.
    pub fn latency(&self) -> u64 {
        self.reply.saturating_sub(self.arrival)
    }

    /// Time spent for one cause, ns.
    pub fn spent(&self, cause: Cause) -> u64 {
        self.why.iter().find(|(known, _)| *known == cause).map_or(0, |(_, ns)| *ns)
    }

    fn line(&self) -> String {
        let why: Vec<String> =
            self.why.iter().map(|(cause, ns)| format!("{}:{ns}", cause.name())).collect();
        format!(
            "{},{},{},{},{},{},{},{}",
            self.op.name(),
            self.offset,
            self.bytes,
            self.arrival,
            self.due,
            self.reply,
            u8::from(self.failed),
            why.join(";")
        )
    }

    fn read(line: &str) -> Option<Entry> {
        let mut fields = line.split(',');
        let op = Op::from_name(fields.next()?)?;
        let mut number = || fields.next()?.parse::<u64>().ok();
        let (offset, bytes) = (number()?, number()?);
        let (arrival, due, reply, failed) = (number()?, number()?, number()?, number()?);
        let why = fields.next()?.split(';').filter(|part| !part.is_empty());
        let why = why.map(|part| {
            let (name, ns) = part.split_once(':')?;
            let cause = Cause::ALL.into_iter().find(|cause| cause.name() == name)?;
            Some((cause, ns.parse().ok()?))
        });
        Some(Entry {
            op,
            offset,
            bytes: u32::try_from(bytes).ok()?,
            arrival,
            due,
            reply,
            failed: failed != 0,
            why: why.collect::<Option<Vec<(Cause, u64)>>>()?,
        })
    }
}

/// Begins a log.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let mut log = File::create(path)?;
    writeln!(log, "{HEADING}")?;
    Ok(log)
}

/// Adds entries to a log.
pub(super) fn append(log: &mut File, entries: &[Entry]) -> io::Result<()> {
    let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
    log.write_all(lines.as_bytes())
}

/// All requests of a run, in the order they were answered.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Truth {
    /// The requests.
    pub entries: Vec<Entry>,
    /// One revolution of the disk, ns, if it spins.
    pub revolution: Option<u64>,
}

impl Truth {
    /// Reads a log; a last line that was cut is left out.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path, revolution: Option<u64>) -> io::Result<Truth> {
        let lines = io::BufReader::new(File::open(path)?).lines().skip(1);
        let entries = lines.map_while(Result::ok).filter_map(|line| Entry::read(&line)).collect();
        Ok(Truth { entries, revolution })
    }

    /// The summary: per operation how many, how long and why, and the steps.
    pub fn summary(&self) -> String {
        let mut out = String::new();
        for op in Op::ALL {
            let of: Vec<&Entry> = self.entries.iter().filter(|entry| entry.op == op).collect();
            if !of.is_empty() {
                self.summarise(&mut out, op, &of);
            }
        }
        if out.is_empty() {
            out.push_str("truth: no request reached the disk\n");
        }
        out
    }

    /// How many requests needed how many extra revolutions: `0 x131, 1 x45, 2 x17`.
    pub fn revolutions_lost(&self) -> String {
        let of: Vec<&Entry> = self.entries.iter().collect();
        self.revolution.map(|revolution| steps(&of, revolution)).unwrap_or_default()
    }

    fn summarise(&self, out: &mut String, op: Op, of: &[&Entry]) {
        let n = of.len() as f64;
        let latency = |entry: &&Entry| entry.latency();
        let mean = of.iter().map(latency).sum::<u64>() as f64 / n;
        let kib = of.iter().map(|entry| u64::from(entry.bytes)).sum::<u64>() as f64 / n / 1024.0;
        let failed = of.iter().filter(|entry| entry.failed).count();
        let mut late: Vec<u64> =
            of.iter().map(|entry| entry.reply.saturating_sub(entry.due)).collect();
        late.sort_unstable();
        let _ = writeln!(
            out,
            "truth: {:<7} {:>7} requests of {kib:.1} KiB on average; {:.3} ms mean, {:.3} to \
             {:.3} ms; \
             {failed} failed; answered {:.3} ms late at the median, {:.3} ms at most",
            op.name(),
            of.len(),
            ms(mean),
            ms(of.iter().map(latency).min().unwrap_or(0) as f64),
            ms(of.iter().map(latency).max().unwrap_or(0) as f64),
            ms(late.get(late.len() / 2).copied().unwrap_or(0) as f64),
            ms(late.last().copied().unwrap_or(0) as f64),
        );
        let all: u64 = of.iter().map(|entry| entry.due.saturating_sub(entry.arrival)).sum();
        let shares: Vec<String> = Cause::ALL
            .into_iter()
            .map(|cause| (cause, of.iter().map(|entry| entry.spent(cause)).sum::<u64>()))
            .filter(|(_, ns)| *ns > 0)
            .map(|(cause, ns)| {
                let share = 100.0 * ns as f64 / all.max(1) as f64;
                format!("{} {share:.1} % ({:.3} ms each)", cause.name(), ms(ns as f64 / n))
            })
            .collect();
        let _ = writeln!(out, "truth: {:<7} spent on {}", "", shares.join(", "));
        if let Some(revolution) = self.revolution
            && of.iter().any(|entry| entry.spent(Cause::Retry) > 0)
        {
            let _ = writeln!(
                out,
                "truth: {:<7} extra revolutions for retries: {}",
                "",
                steps(of, revolution)
            );
        }
    }
}

fn ms(ns: f64) -> f64 {
    ns / 1e6
}

/// `0 x131, 1 x45, 2 x17`.
fn steps(of: &[&Entry], revolution: u64) -> String {
    let mut steps = std::collections::BTreeMap::new();
    for entry in of {
        *steps.entry(entry.spent(Cause::Retry) / revolution.max(1)).or_insert(0usize) += 1;
    }
    let steps: Vec<String> =
        steps.iter().map(|(revolutions, n)| format!("{revolutions} x{n}")).collect();
    steps.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_round_trips_and_a_cut_one_is_none() {
        let entry = Entry {
            op: Op::Read,
            offset: 4096,
            bytes: 131_072,
            arrival: 10,
            due: 8_333_343,
            reply: 8_350_000,
            failed: false,
            why: vec![(Cause::Transfer, 1_777_777), (Cause::Retry, 8_333_333)],
        };
        assert_eq!(Entry::read(&entry.line()), Some(entry.clone()));
        assert_eq!(Entry::read(&entry.line()[..20]), None);
        let truth = Truth { entries: vec![entry], revolution: Some(8_333_333) };
        assert!(truth.summary().contains("1 x1"), "{}", truth.summary());
    }
}
