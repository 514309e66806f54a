//! atop's screen: busy share, requests and throughput of each disk, and the CPUs.
//!
//! ## Reads
//! The lines `DSK`, `LVM` and `MDD` of the screen, below `ATOP - host ... 10s elapsed`: requests,
//! KiB per request, queue and busy share. `CPU` becomes the facts `cpu.*`, as shares of all CPUs
//! that `CPL` counts. Lines of memory, network and processes are ignored.
//!
//! ## How to capture
//! `atop -d 10`, `atop -r FILE`, `pcp atop`, a copied screen.
//!
//! ## Versions
//! atop 1.27 to 2.11; the width of the terminal decides which values are shown. Cells are found by
//! their names.
//!
//! ## Caveats
//! `avio` is busy time divided by requests, not a latency. Counts cover the whole interval and are
//! divided by its length, which is only in the first line; counts with `/s` (key `1`) need none. If
//! that is missing, the length is inferred from the requests, their size and `MBr/s` or `MBw/s`,
//! with a note; without these there are no rates. The first screen is since boot, as noted below
//! its disks. The queue `avq` is the mean while the disk was busy; it is multiplied by the busy
//! share to match aqu-sz. Shares of `CPU` are of one CPU: 392 % idle means four CPUs. Large counts
//! are printed as `33718e3`. Names of volumes are truncated at the start.
//!
//! ## Not in this output
//! How long requests waited: atop prints no await. The latency distribution.

use crate::describe::report::*;
use crate::text::numbers::{spaced_time_ns, span_s};

pub(super) const FORMAT: Format =
    Format::labels("atop's screen: disks, volumes, arrays and CPUs", Level::A, &LABELS);

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
/// What follows the counts of a screen that shows averages per second (key `1`).
const PER_SECOND: &str = "/s";
/// An invalid share of a processor: more processors than there are.
const MOST_PERCENT: f64 = 1e6;
/// How far off the length of an interval may be that no line states.
const OFF: f64 = 0.1;
/// The names of atop's shares of one processor, in the order of `counters/processor.rs`.
const SHARES: [&str; 5] = ["user", "sys", "wait", "steal", "idle"];
const PROCESSORS: &str = "processors";

static LABELS: Labels = Labels {
    lines: &[
        // The lines of a screen are kept: what it counts from is reported below them.
        begins("^ATOP - {host:word} {:text} elapsed$", |found, report, sink| {
            screen(false, report, sink);
            let host = found.text("host")?;
            sink.source().is_of_host(host);
            report.quote(found.line())
        })
        .when(|found| Title::of(found.line()).is_some())
        .like(&["ATOP - vm      2026/11/22  22:45:09      -----------------       10s elapsed"]),
        says("since Boot", |_, report, sink| {
            screen(true, report, sink);
            Some(())
        })
        .when(|found| found.line().contains("***"))
        .like(&["*** System and Process Activity since Boot ***"]),
        begins("^{DSK|LVM|MDD} |{:text}$", |found, report, _| report.quote(found.line()))
            .when(|found| Disk::of(found.line()).is_some())
            .like(&[
                "DSK |          vda | busy      2% | read      44 | write    120 | avio 0.31 ms |",
                "LVM |    vg0-lv_db | busy     71% | read   31/s | write  912/s | MBw/s    3.6 |",
            ]),
        says("^{DSK|LVM|MDD} |", |_, report, _| report.fails("a line of a disk has no values"))
            .like(&["DSK |          vda | busy"]),
        perhaps("^{row:text}$", row).like(&["CPU | sys       1% | user      2% | idle    196% |"]),
    ],
    end: Some(|report, sink| screen(false, report, sink)),
    ..Labels::NEW
};

/// `ATOP - vm      2026/11/22  22:45:09      -----------------       10s elapsed`.
struct Title {
    at: Option<WallTime>,
    seconds: f64,
}

impl Title {
    fn of(line: &str) -> Option<Title> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["ATOP", "-", _, rest @ .., span, "elapsed"] = &words[..] else { return None };
        let moment = rest.get(..2).map(|words| words.join(" ").replace('/', "-"));
        Some(Title {
            at: moment.and_then(|moment| WallTime::read(&moment)),
            seconds: span_s(span).filter(|seconds| *seconds > 0.0)?,
        })
    }
}

/// The cells of a line of the system: its label and `name value` after bars.
fn cells(line: &str) -> Option<(&str, Vec<&str>)> {
    let (label, rest) = line.trim().split_once('|')?;
    let label = label.trim();
    let known = label.len() == 3 && label.bytes().all(|b| b.is_ascii_alphanumeric());
    let cells = rest.split('|').map(str::trim).filter(|cell| !cell.is_empty());
    known.then(|| (label, cells.collect()))
}

/// The value of the cell that begins with a name: `busy      2%`.
fn value<'a>(cells: &[&'a str], name: &str) -> Option<&'a str> {
    cells.iter().find_map(|cell| {
        let rest = cell.strip_prefix(name)?;
        rest.starts_with(' ').then(|| rest.trim())
    })
}

/// A number as atop prints it: `161108`, `33718e3`, `2%`, `8002/s`.
fn number(text: &str) -> Option<f64> {
    decimal(text.trim_end_matches('%').trim_end_matches(PER_SECOND))
        .filter(|value| (0.0..1e18).contains(value))
}

/// A line of one disk.
#[derive(Clone, Debug, PartialEq)]
struct Disk {
    name: String,
    busy: f64,
    /// Reads, writes and discards of the interval, with KiB per request.
    work: Vec<(Op, f64, Option<f64>)>,
    /// They are averages per second.
    per_second: bool,
    /// MiB read and written per second.
    throughput: [Option<f64>; 2],
    queue: Option<f64>,
    in_flight: Option<f64>,
    service_ns: Option<f64>,
}

impl Disk {
    fn of(line: &str) -> Option<Disk> {
        let (label, cells) = cells(line)?;
        let name = cells.first().filter(|_| matches!(label, "DSK" | "LVM" | "MDD"))?;
        let of = |name: &str| value(&cells, name).and_then(number);
        let work = [(Op::Read, "read", "KiB/r"), (Op::Write, "write", "KiB/w")];
        let discards = ["discrd", "discard"].iter().find_map(|name| of(name));
        let mut work: Vec<_> =
            work.iter().filter_map(|(op, ios, size)| Some((*op, of(ios)?, of(size)))).collect();
        work.extend(discards.map(|ios| (Op::Discard, ios, of("KiB/d"))));
        let plain = !name.contains(char::is_whitespace);
        let is_rate = |name: &str| value(&cells, name).is_some_and(|n| n.ends_with(PER_SECOND));
        Some(Disk {
            name: (*name).to_string(),
            busy: of("busy").filter(|_| plain && work.len() > 1)? / 100.0,
            work,
            per_second: ["read", "write"].iter().any(|name| is_rate(name)),
            throughput: ["MBr/s", "MBw/s"].map(of),
            queue: of("avq"),
            in_flight: of("inflight"),
            service_ns: value(&cells, "avio").and_then(spaced_time_ns).filter(|ns| *ns > 0.0),
        })
    }

    fn interval(&self, mut interval: Interval, seconds: Option<f64>) -> Interval {
        interval.busy = Some(self.busy);
        interval.svctm_ns = self.service_ns;
        interval.length = seconds.map(Nanos::from_seconds);
        // Without its length an interval has no rates, and a queue shows nothing.
        let seconds = if self.per_second { Some(1.0) } else { seconds };
        let Some(seconds) = seconds else { return interval };
        interval.queue_len = self.queue.map(|while_busy| while_busy * self.busy.min(1.0));
        interval.in_flight = self.in_flight.map(|count| count as u64);
        for (op, ios, size) in &self.work {
            let ios_per_s = ios / seconds;
            let moved = [Op::Read, Op::Write].iter().position(|known| known == op);
            let moved = moved.and_then(|place| self.throughput[place]).map(|mib| mib * MIB);
            let bytes_per_s = size.map(|kib| kib * KIB * ios_per_s).or(moved);
            interval.rates.push((*op, Rates { ios_per_s, bytes_per_s, ..Rates::default() }));
        }
        interval
    }

    /// How long the interval was, s, by the bytes of its requests and their rate, and how far off
    /// that may be: the size is printed to 1 KiB, the rate to 0.1 MiB/s.
    fn seconds(&self) -> Option<(f64, f64)> {
        if self.per_second {
            return None;
        }
        let known = self.work.iter().zip(self.throughput).filter_map(|((_, ios, kib), mib)| {
            let (kib, mib) = ((*kib)?, mib.filter(|mib| *mib > 0.0)?);
            Some((ios * kib / KIB / mib, 0.05 / mib + 0.5 / kib))
        });
        known.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, off)| *off <= OFF)
    }
}

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let (label, cells) = cells(found.line())?;
    let of = |name: &str| value(&cells, name).and_then(number);
    match label {
        "CPU" => {
            for name in SHARES {
                report.forget(name);
                let share = of(name).filter(|share| *share < MOST_PERCENT);
                share.and_then(|share| report.keep(name, share));
            }
            Some(())
        }
        "CPL" => report.keep(PROCESSORS, of("numcpu").unwrap_or(0.0)),
        _ => Some(()),
    }
}

/// The system's part of a screen is over.
fn screen(since_boot: bool, report: &mut Report, sink: &mut dyn Sink) {
    let title = report.quoted().first().and_then(|line| Title::of(line));
    let disks: Vec<Disk> = report.quoted().iter().filter_map(|line| Disk::of(line)).collect();
    report.forget_quoted();
    let seconds = title.as_ref().map(|title| title.seconds).or_else(|| inferred(&disks, sink));
    let at = title.and_then(|title| title.at).filter(|_| !since_boot);
    let start = at.and_then(|at| {
        report.moments.begin(at, sink);
        report.moments.since_first().map(Time::from_seconds)
    });
    for disk in disks {
        let fresh = Interval::new(sink.device(&disk.name), Layer::Block);
        let mut interval = disk.interval(fresh, seconds);
        interval.since_boot = since_boot;
        interval.start = start.filter(|_| interval.length.is_some());
        sink.interval(interval);
    }
    let shares = SHARES.map(|name| report.take(name));
    if let Some(n) = report.kept(PROCESSORS).filter(|n| *n > 0.0 && !since_boot) {
        let of_all = |percent: f64| (percent / n * 100.0).round() / 100.0;
        report.processor.take(&shares.map(|percent| percent.map(of_all)));
    }
}

/// How long the interval was, s, where the line that says so is missing.
fn inferred(disks: &[Disk], sink: &mut dyn Sink) -> Option<f64> {
    let known = disks.iter().filter_map(Disk::seconds).min_by(|a, b| a.1.total_cmp(&b.1));
    let seconds = known?.0.round().max(1.0);
    sink.note(note(format!(
        "the line with the interval is missing: {seconds} s, inferred from bytes and throughput"
    )));
    Some(seconds)
}
