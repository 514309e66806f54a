//! The lines of fio's normal output, one at a time and without meaning.

use iowhy_model::{Nanos, Op};

use crate::histogram::buckets::COUNT_LIMIT;
use crate::text::numbers::{fine_unit_ns, in_thousands};
use crate::{bytes, decimal, integer};

/// Steps of the shares fio prints, in units of their line (fio's stat.h and io_u.c: `io_u_lat_n`,
/// `io_u_lat_u`, `io_u_lat_m`); milliseconds have one more.
const SHARE_STEPS: [u64; 11] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000];
/// No run and no latency is longer than this many ns (31 years); larger is a damaged line.
const LONGEST_NS: f64 = 1e18;

/// Rates of one direction of one job or group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Direction {
    /// The operation; `None` if fio was told to report all jobs together.
    pub(crate) op: Option<Op>,
    pub(crate) ios_per_s: f64,
    pub(crate) bytes_per_s: Option<f64>,
    pub(crate) runtime: Nanos,
    /// Printed by fio 1 or 2.
    pub(crate) old: bool,
}

/// LatencyKind latency a line is about: submission, completion, or both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyKind {
    Slat,
    Clat,
    Lat,
    /// Of the flushes between the requests: `fsync`, `fdatasync`, `sync_file_range`.
    Sync,
}

impl LatencyKind {
    /// fio's own word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            LatencyKind::Slat => "slat",
            LatencyKind::Clat => "clat",
            LatencyKind::Lat => "lat",
            LatencyKind::Sync => "sync",
        }
    }
}

/// Extremes and mean of one latency, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) min_ns: u64,
    pub(crate) max_ns: u64,
    pub(crate) mean_ns: f64,
}

/// Totals of one disk over the run: reads, then writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Disk {
    pub(crate) name: String,
    pub(crate) ios: Option<[u64; 2]>,
    pub(crate) sectors: Option<[u64; 2]>,
    pub(crate) merges: Option<[u64; 2]>,
    pub(crate) ticks_ms: Option<[u64; 2]>,
    pub(crate) queue_ms: Option<u64>,
    pub(crate) util_percent: Option<f64>,
}

/// The options of a command line, by their long names; `None` if it does not run fio.
pub(crate) fn command(line: &str) -> Option<Vec<(String, String)>> {
    let mut words = line.split_whitespace().skip_while(|word| {
        matches!(*word, "$" | "#" | ">" | "%" | "sudo")
            || word.starts_with('[')
            || word.ends_with(['$', '#'])
    });
    let program = words.next()?;
    if program != "fio" && !program.ends_with("/fio") {
        return None;
    }
    let rest: Vec<&str> = words.collect();
    let options = options(&rest);
    (!options.is_empty()).then_some(options)
}

/// `--key=value`, `--key value` and `--key` among words.
pub(crate) fn options(words: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let Some(option) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            continue;
        };
        if !option.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let next = words.get(place + 1).filter(|next| {
            !next.starts_with('-') && !next.ends_with(".fio") && !matches!(**next, "\\" | "|" | ">")
        });
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, value),
            None => (option, next.copied().unwrap_or("1")),
        };
        found.push((long_name(key).to_string(), value.trim_matches(['"', '\'']).to_string()));
    }
    found
}

/// The device of the option `filename`, if it names exactly one in /dev.
pub(crate) fn one_device(value: &str) -> Option<String> {
    value.strip_prefix("/dev/").filter(|name| !name.contains(':')).map(str::to_string)
}

/// The one name of an option that has two (fio's HOWTO).
pub(crate) fn long_name(key: &str) -> &str {
    match key {
        "bs" => "blocksize",
        "rw" => "readwrite",
        key => key,
    }
}

/// `NAME: (g=0): rw=write, bs=4K-4K/4K-4K, ioengine=libaio, iodepth=128`.
pub(crate) fn job(line: &str) -> Option<(&str, Vec<(String, String)>)> {
    if !line.contains(": (g=") {
        return None;
    }
    let (name, rest) = line.trim().split_once(": (g=")?;
    let (_, rest) = rest.split_once("): rw=")?;
    let mut found = Vec::new();
    let mut take = |key: &str, value: &str| found.push((key.to_string(), value.to_string()));
    let (mode, rest) = rest.split_once(", bs=")?;
    take("readwrite", mode);
    // The sizes of 3.x hold commas themselves: they end where the engine begins.
    let (sizes, rest) = rest.split_once(", ioengine=")?;
    take("blocksize", sizes);
    let (engine, depth) = rest.split_once(", iodepth=")?;
    take("ioengine", engine);
    take("iodepth", depth.trim());
    Some((name, found))
}

/// `NAME: (groupid=0, jobs=1): err= 0: ...`: the name, and how many jobs.
pub(crate) fn group(line: &str) -> Option<(&str, Option<u64>)> {
    if !line.contains(": (groupid=") {
        return None;
    }
    let (name, rest) = line.trim().split_once(": (groupid=")?;
    let (head, _) = rest.split_once(": err=")?;
    let jobs = field(head.trim_end_matches(')'), "jobs").and_then(integer);
    Some((name, jobs))
}

/// An error with which requests of fio failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunError<'a> {
    /// Its text, `Input/output error`.
    pub(crate) text: &'a str,
    /// The file, where the line names it.
    pub(crate) path: Option<&'a str>,
    /// How many failed, where the line counts them.
    pub(crate) count: Option<u64>,
}

impl RunError<'_> {
    /// Whether the device did not do what it was asked for: EIO.
    pub(crate) fn is_of_a_device(&self) -> bool {
        self.text == "Input/output error"
    }
}

/// The error of `fio: io_u error on file /dev/sdb: Input/output error: read offset=4096,
/// buflen=4096`, of `fio: pid=4636, err=30/file:io_u.c:1845, func=io_u error, error=Read-only file
/// system`, of a group's `err=30 (file:io_u.c:1845, func=io_u error, error=Read-only file system)`
/// and of `errors    : total=7, first_error=5/<Input/output error>`.
pub(crate) fn run_error(line: &str) -> Option<RunError<'_>> {
    let line = line.trim();
    let of = |text| RunError { text, path: None, count: None };
    if let Some(rest) = line.strip_prefix("fio: io_u error on file ") {
        let (said, request) = rest.rsplit_once(": ")?;
        let (path, text) = said.rsplit_once(": ")?;
        return request.contains("offset=").then_some(RunError { path: Some(path), ..of(text) });
    }
    if let Some(rest) = line.strip_prefix("errors ") {
        let (total, rest) = rest.trim_start().strip_prefix(": total=")?.split_once(',')?;
        let (_, text) = rest.split_once('<')?;
        let count = integer(total).filter(|count| *count > 0);
        return count.and(Some(RunError { count, ..of(text.strip_suffix('>')?) }));
    }
    let rest = match line.strip_prefix("fio: pid=") {
        Some(rest) => rest.split_once(", err=")?.1,
        None => line.split_once(": (groupid=")?.1.split_once(": err=")?.1,
    };
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    integer(rest.get(..digits)?).filter(|error| *error > 0)?;
    let (_, text) = rest.split_once("error=")?;
    let text = text.split_once("): pid=").map_or(text, |(text, _)| text);
    Some(of(text.trim_end_matches([')', ':', ' '])))
}

/// Standard deviation over mean, and samples, of `iops        : min= 2932, max= 3060, avg=2996.44,
/// stdev=14.40, samples=119`.
pub(crate) fn rate_over_time(line: &str) -> Option<(f64, u64)> {
    let (name, rest) = line.split_once(':')?;
    let of = |wanted: &str| field(rest, wanted);
    let mean = decimal(of("avg").filter(|_| name.trim() == "iops")?).filter(|mean| *mean > 0.0)?;
    Some((decimal(of("stdev")?)? / mean, integer(of("samples")?)?))
}

/// Share of a thread's time on a CPU, percent, of `cpu : usr=6.66%, sys=93.27%, ctx=203, ...`.
pub(crate) fn on_cpu(line: &str) -> Option<f64> {
    let (name, rest) = line.split_once(':')?;
    let of = |wanted: &str| decimal(field(rest, wanted)?.strip_suffix('%')?);
    let (user, system) = (of("usr").filter(|_| name.trim() == "cpu")?, of("sys")?);
    // Two clocks of one thread: a little more than all of its time is all of it.
    (user >= 0.0 && system >= 0.0).then(|| (user + system).min(100.0))
}

/// `write: io=2555.8MB, bw=43615KB/s, iops=10903, runt= 60004msec`, or
/// `read: IOPS=23.8k, BW=92.9MiB/s (97.4MB/s)(279MiB/3001msec)`.
pub(crate) fn direction(line: &str) -> Option<Direction> {
    let (word, rest) = line.split_once(':')?;
    let op = match word.trim() {
        "read" => Some(Op::Read),
        "write" => Some(Op::Write),
        "trim" => Some(Op::Discard),
        "mixed" => None,
        _ => return None,
    };
    // fio writes it in small letters, whatever it does with the others.
    if !rest.contains("msec") {
        return None;
    }
    let lower = rest.to_ascii_lowercase().replace("= ", "=");
    let (runtime, old) = match lower.split_once("runt=") {
        Some((_, rest)) => (rest, true),
        None => (lower.rsplit_once('/')?.1, false),
    };
    let runtime = integer(runtime.trim().split_once("msec")?.0.trim())?;
    let rate = field(&lower, "bw").and_then(|rate| rate.strip_suffix("/s")).and_then(bytes);
    Some(Direction {
        op,
        ios_per_s: scaled(field(&lower, "iops")?)?,
        bytes_per_s: rate,
        runtime: Nanos(i64::try_from(runtime).ok()?.checked_mul(1_000_000)?),
        old,
    })
}

/// `clat (usec): min=15, max=9662, avg=84.30, stdev=76.17`.
pub(crate) fn summary(line: &str) -> Option<(LatencyKind, Summary)> {
    let (which, unit, rest) = latency_line(line)?;
    let of = |key| {
        let value = scaled(field(rest, key)?)? * unit as f64;
        (0.0..LONGEST_NS).contains(&value).then_some(value)
    };
    let ns = |value: f64| value.round() as u64;
    let summary = Summary { min_ns: ns(of("min")?), max_ns: ns(of("max")?), mean_ns: of("avg")? };
    Some((which, summary))
}

/// `clat percentiles (usec):`: which latency, and the unit in ns.
pub(crate) fn percentile_heading(line: &str) -> Option<(LatencyKind, u64)> {
    let (word, rest) = line.trim().split_once(" percentiles (")?;
    Some((which(word)?, fine_unit_ns(rest.strip_suffix("):")?)?))
}

/// `|  1.00th=[   44],  5.00th=[   53],`: pairs of percentage and value in the heading's unit.
pub(crate) fn percentiles(line: &str) -> Option<Vec<(f64, u64)>> {
    let rest = line.trim().strip_prefix('|')?;
    let mut found = Vec::new();
    for part in rest.split("],").map(|part| part.trim().trim_end_matches(']')) {
        if part.is_empty() {
            continue;
        }
        let (percent, value) = part.split_once("th=[")?;
        let percent = decimal(percent.trim()).filter(|percent| (0.0..=100.0).contains(percent))?;
        found.push((percent, integer(value.trim())?));
    }
    (!found.is_empty()).then_some(found)
}

/// `lat (usec)   : 20=0.03%, 50=1.84%`: rows of bounds in ns and percentage. `old` releases have
/// no line in nanoseconds, so their first step in microseconds begins at 0.
pub(crate) fn shares(line: &str, old: bool) -> Option<Vec<(u64, u64, f64)>> {
    let (LatencyKind::Lat, unit, rest) = latency_line(line)? else { return None };
    let mut rows = Vec::new();
    for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (step, percent) = part.rsplit_once('=')?;
        let percent = decimal(percent.strip_suffix('%')?)?;
        if let Some(step) = step.strip_prefix(">=") {
            rows.push((integer(step)?.checked_mul(unit)?, u64::MAX, percent));
            continue;
        }
        let step = integer(step)?;
        let place = SHARE_STEPS.iter().position(|known| *known == step)?;
        let low = match place.checked_sub(1).and_then(|place| SHARE_STEPS.get(place)) {
            Some(below) => below * unit,
            // Where the line of the next smaller unit ends: 1000 of those.
            None if unit == 1 || (old && unit == 1_000) => 0,
            None => unit,
        };
        rows.push((low, step * unit, percent));
    }
    (!rows.is_empty()).then_some(rows)
}

/// `issued rwts: total=71368,70887,0,0 short=...` or `issued    : total=r=9433/w=5950/d=0, ...`:
/// reads, writes, trims, and flushes, which old releases do not count.
pub(crate) fn issued(line: &str) -> Option<[u64; 4]> {
    let text = line.trim().strip_prefix("issued")?;
    let (_, totals) = text.split_once("total=")?;
    let totals = totals.split_whitespace().next()?.trim_end_matches(',');
    let mut numbers = totals.split([',', '/']).map(|part| {
        let number = part.split_once('=').map_or(part, |(_, number)| number);
        integer(number).filter(|number| *number <= COUNT_LIMIT)
    });
    let requests = [numbers.next()??, numbers.next()??, numbers.next()??];
    let [reads, writes, trims] = requests;
    Some([reads, writes, trims, numbers.next().flatten().unwrap_or(0)])
}

/// The depth that more than half of the requests met, and whether all did. Flushes count too: 200 %
/// is one after each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DepthMet {
    pub(crate) depth: u64,
    pub(crate) by_all: bool,
}

/// `IO depths    : 1=0.1%, 2=0.1%, ... >=64=100.0%`.
pub(crate) fn depth_met(line: &str) -> Option<DepthMet> {
    let (_, rest) = line.trim().strip_prefix("IO depths")?.split_once(':')?;
    rest.split(',').find_map(|part| {
        let (depth, share) = part.trim().trim_start_matches(">=").split_once('=')?;
        let share: f64 = share.trim_end_matches('%').parse().ok()?;
        let depth = integer(depth).filter(|_| share > 50.0)?;
        Some(DepthMet { depth, by_all: share >= 100.0 })
    })
}

/// `latency   : target=0, window=0, percentile=100.00%, depth=64`: the requested depth.
pub(crate) fn depth_asked(line: &str) -> Option<u64> {
    let rest = line.trim().strip_prefix("latency")?.trim_start().strip_prefix(": target=")?;
    field(rest, "depth").and_then(integer).filter(|depth| *depth > 0)
}

/// `vda: ios=67385/66700, merge=9/0, ticks=4043/3497, in_queue=7541, util=73.03%`.
pub(crate) fn disk(line: &str) -> Option<Disk> {
    let (name, rest) = line.trim().split_once(": ios=")?;
    let rest = format!("ios={rest}");
    let pair = |key| {
        let (reads, writes) = field(&rest, key)?.split_once('/')?;
        Some([integer(reads)?, integer(writes)?])
    };
    Some(Disk {
        name: name.to_string(),
        ios: pair("ios"),
        sectors: pair("sectors"),
        merges: pair("merge"),
        ticks_ms: pair("ticks"),
        queue_ms: field(&rest, "in_queue").and_then(integer),
        util_percent: field(&rest, "util").and_then(|util| decimal(util.strip_suffix('%')?)),
    })
}

/// The head of a latency line: which one, its unit in ns, and what follows the colon.
fn latency_line(line: &str) -> Option<(LatencyKind, u64, &str)> {
    let (head, rest) = line.split_once(':')?;
    let (word, in_unit) = head.trim().split_once(" (")?;
    Some((which(word)?, fine_unit_ns(in_unit.strip_suffix(')')?)?, rest))
}

fn which(word: &str) -> Option<LatencyKind> {
    [LatencyKind::Slat, LatencyKind::Clat, LatencyKind::Lat, LatencyKind::Sync]
        .into_iter()
        .find(|which| which.name() == word)
}

/// The value of `key=value` in a list.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    value.split_whitespace().next()
}

/// A number with fio's thousands: `10.7k`, `1.2M`.
fn scaled(text: &str) -> Option<f64> {
    in_thousands(&text.to_ascii_uppercase()).filter(|value| *value >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_of_a_run_without_a_heading() {
        let met = "  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=0.1%, >=64=113.6%";
        assert_eq!(depth_met(met), Some(DepthMet { depth: 64, by_all: true }));
        let met = |line| depth_met(line).map(|met| (met.depth, met.by_all));
        assert_eq!(met("  IO depths    : 1=100.0%, 2=0.0%, >=64=0.0%"), Some((1, true)));
        assert_eq!(met("  IO depths    : 1=93.0%, 2=7.0%, >=64=0.0%"), Some((1, false)));
        let asked = "     latency   : target=0, window=0, percentile=100.00%, depth=64";
        assert_eq!((depth_asked(asked), depth_asked("latency : 5 ms")), (Some(64), None));
    }

    #[test]
    fn shares_lie_between_the_step_before_and_their_own() {
        let rows = shares("  lat (usec)   : 2=1.00%, 50=1.84%, 1000=0.01%", false).unwrap();
        assert_eq!(rows, [(1000, 2000, 1.0), (20_000, 50_000, 1.84), (750_000, 1_000_000, 0.01)]);
        let rows = shares("    lat (usec) : 2=3.37%", true).unwrap();
        assert_eq!(rows, [(0, 2000, 3.37)]);
        let rows = shares("lat (msec) : 2000=18.75%, >=2000=18.07%", true).unwrap();
        let (second, two) = (1_000_000_000, 2_000_000_000);
        assert_eq!(rows, [(second, two, 18.75), (two, u64::MAX, 18.07)]);
        assert_eq!(shares("lat (usec): min=18, max=9566, avg=78.28, stdev=41.98", false), None);
    }

    #[test]
    fn a_command_line_in_any_dress() {
        let found = command("root@web:~# fio --bs=4k -time_based --iodepth 8 job.fio").unwrap();
        let found: Vec<(&str, &str)> =
            found.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, [("blocksize", "4k"), ("time_based", "1"), ("iodepth", "8")]);
        assert_eq!(command("fio is a load generator -- a good one"), None);
        assert_eq!(command("Then run fio --iodepth=8"), None);
    }
}
