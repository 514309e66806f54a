//! The input contradicts itself.
//!
//! ## Accuses
//! The report. Two of its numbers cannot both be true, or cannot be for the same requests.
//!
//! ## Why it matters
//! A third number derived from two that disagree leads to replacing the wrong part. iowhy names the
//! numbers that it did not use.
//!
//! ## Needs
//! Any input with numbers that depend on each other: rate, latency and queue length (Little's
//! law), or count, mean and duration of a run.
//!
//! ## Rule
//! One of the following is true:
//!
//! - queue length and rate times latency differ by more than 10 % and more than rounding allows,
//!   unless for every two completions one more request was in flight than their waits imply: those
//!   did not complete in the interval;
//! - a printed size is not throughput divided by rate, allowing half a digit in each;
//! - all waits of a run add up to more than its duration times its maximum number in flight (one at
//!   a time, or depth times jobs; not tested if the number is unknown);
//! - a printed throughput is not size times count divided by time;
//! - one request is faster than any link;
//! - more than a million requests are in flight, or wait for more than an hour on average, as after
//!   a counter wrap;
//! - the device is busy all of the time in every row, with an excess in flight that is a whole
//!   number, as if the kernel's counter of requests in flight missed a completion;
//! - it was busy for more than 110 % of the time over all rows, or 130 % in a single row;
//! - the mean of a histogram and the averages of the same device in the same document differ by
//!   more than a factor of two, or two listings of averages do at equal queue depth;
//! - a test wrote into the page cache, and the same test with its data on the medium is three times
//!   slower or more; or each of its calls moved a kilobyte at most and took less than 50 µs; or all
//!   tests of the input took a second and wrote 100 MB at most, without a flush;
//! - a test wrote the kernel's random numbers, at 500 MB/s or less;
//! - the same read of one device ran six times faster or more another time, at 500 MB/s or more;
//! - programs wrote ten times as much as the disks did in the same seconds, at 100 MB/s or more;
//! - a round of a page cleaner that had nothing to write took more than an hour;
//! - background work of an array has more than ten years left.
//!
//! The reported share is not of latency: it is the part of the reported number that cannot be
//! trusted.
//!
//! ## Wrong if
//! The run was not synchronous, or the two listings cover different times.
//!
//! ## Next step
//! Measure again with one tool that sees every I/O.

use iowhy_model::{
    Bound, DeviceId, Evidence, Fact, Finding, How, Level, Listing, Quantity, Sampling, Source,
    Stage, Unit, Verdict, key,
};

use How::{Computed, Estimated, Reported};

use crate::analysis::audit::{
    Absurd, Contradiction, Inconsistency, LINK_BYTES_PER_S, LITTLE_TOLERANCE, LONGEST_WAIT_S,
};
use crate::analysis::device_trace::DeviceTrace;
use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::analysis::{Analysis, EVENTS_NEEDED};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::arrays;
use crate::evidence::askers;
use crate::evidence::builder::new_finding;
use crate::evidence::candidates;
use crate::evidence::page_cache;
use crate::evidence::runs;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::service::ServiceSpan;
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::ReportInconsistent,
    summary: "The input contradicts itself",
    manual: iowhy_model::manual!("report_inconsistent.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::A,
        seconds: 30,
        what: "numbers that depend on each other",
    },
    explains: &[Verdict::DeviceSlow],
    rule: Rule::Detect(detect),
};

/// Arithmetic is certain; the remaining doubt is that the listing was misread.
const CERTAIN: (f64, &str) = (0.95, "a contradiction within the report");
/// Below this number in flight a contradiction is a note, with this confidence, below the bar of a
/// verdict.
const MIN_IN_FLIGHT: f64 = 1.0;
const MINOR_CONTRADICTION: (f64, &str) = (0.55, "a contradiction within the report");
/// Up to this factor one row of a kernel before 5.0, which has svctm, may be cut at its edges (a
/// choice).
const CUT: f64 = 2.0;
/// Lines that are not an accident of copying, and what a listing without one usable line is worth.
const FEW_LINES: u64 = 3;
const UNUSABLE: (f64, &str) = (0.75, "impossible lines");
/// Share of impossible lines from which on the others are in doubt too (a choice).
const MANY_IMPOSSIBLE: f64 = 0.1;
/// Requests in flight beyond the completed ones may be flushes, which old kernels do not list.
const PHANTOM: (f64, &str) = (0.85, "a queue that completions do not empty");
/// A program that wrote nothing for an hour: the machine was suspended or the program was stopped.
const PROBABLY_SUSPENDED: (f64, &str) =
    (0.85, "a round that writes nothing does not wait for a disk");
/// Two listings of one document may have watched different times.
const TWO_WINDOWS: (f64, &str) = (0.85, "two listings that may not cover the same time");
/// How far a histogram's mean and the averages of the same device may differ (docs/METHOD.md, 9
/// Elasticity and averages).
const MEANS_APART: f64 = 2.0;
/// Of two listings from different times at most one covers the problem: half of the numbers cannot
/// be trusted.
const DIFFERENT_TIMES: f64 = 0.5;
/// Requests whose mean is known to a fifth (docs/METHOD.md, 14 Counters: few requests).
const FEW_REQUESTS: f64 = 30.0;
/// Minimum rows for comparing their median, and how far two equal queues may differ (a choice).
const FEW_ROWS: usize = 3;
const AS_MUCH: f64 = 1.5;

/// A law that numbers of a report keep, and what to say where they break it. In its words `{disk}`
/// is the disk, `{0}` the first number and `{words}` what else there is to say.
#[derive(Clone, Copy)]
struct Law {
    broken: &'static str,
    numbers: &'static [Number],
    sure: (f64, &'static str),
    wrong_if: &'static [&'static str],
    next: &'static [&'static str],
}

/// A number of a law: how it is known, what it is, and what it must not exceed.
type Number = (How, &'static str, Unit, Option<f64>);

/// The law of one report.
const LAW: Law = Law {
    broken: "",
    numbers: &[],
    sure: CERTAIN,
    wrong_if: &[
        "the numbers are not for the same requests or the same time",
        "the program had several requests in flight at once",
    ],
    next: &["{capture}: one clock, every I/O counted"],
};

const LITTLE: Law = Law {
    broken: "the numbers for {disk} disagree: {0} times {1} of await are {3} requests in flight \
             (Little's law), not the printed {2}",
    numbers: &[
        (Reported, "completions", Unit::PerSecond, None),
        (Reported, "mean latency (await)", Unit::Ms, None),
        (Reported, "queue length (aqu-sz)", Unit::Requests, None),
        (Computed, "rate times latency", Unit::Requests, None),
        (Computed, "deviation from Little's law", Unit::Share, Some(LITTLE_TOLERANCE)),
    ],
    ..LAW
};

/// The printed size is not throughput over rate, although all three come from the same counters.
const SIZE: Law = Law {
    broken: "the numbers for {disk} disagree: throughput divided by rate is {0} times the printed \
             size",
    ..LAW
};

const LINK: Law = Law {
    broken: "the numbers for {disk} are impossible: {0} per request within {1} are {2}, faster \
             than any link, so bytes or requests are miscounted",
    numbers: &[
        (Computed, "bytes per request, throughput divided by rate", Unit::Bytes, None),
        (Reported, "mean latency (await)", Unit::Ms, None),
        (Computed, "throughput of one request", Unit::BytesPerSecond, Some(LINK_BYTES_PER_S)),
    ],
    ..LAW
};

/// What no device reaches: requests in flight, a rate, a wait, a share of the time.
const REACH: [Law; 4] = [
    reach(&[(Reported, "requests in flight", Unit::Requests, None), ROWS]),
    reach(&[(Reported, "requests per second", Unit::PerSecond, None), ROWS]),
    reach(&[(Reported, "mean latency (await)", Unit::Ms, None), ROWS]),
    reach(&[(Reported, "busy share (%util)", Unit::Share, None), ROWS]),
];
const ROWS: Number = (Computed, "rows with such a value", Unit::Count, Some(0.0));

const fn reach(numbers: &'static [Number]) -> Law {
    Law { broken: "the numbers for {disk} are impossible: {words}", numbers, ..LAW }
}

/// All waits of a run fit into its time.
const WAITS: Law = Law {
    broken: "the run contradicts itself: {words}",
    numbers: &[
        (Reported, "requests", Unit::Count, None),
        (Reported, "mean latency", Unit::Ms, None),
        (Reported, "the run took", Unit::Seconds, None),
        (Computed, "sum of all waits", Unit::Seconds, None),
        (Reported, "in flight at most", Unit::Requests, None),
        (Computed, "mean concurrency", Unit::Ratio, None),
        (Computed, "size times count, divided by time", Unit::BytesPerSecond, None),
    ],
    ..LAW
};

/// What is busy all the time completes something: else it is busy with what never completes.
const IN_FLIGHT: Law = Law {
    broken: "{disk} is not busy: every row shows 100 % util and {1} in flight, while its \
             completions need at most {2} in flight; the kernel's counter of requests in flight \
             leaked, or {words}",
    numbers: &[
        (Computed, "rows that show it (all)", Unit::Count, Some(0.0)),
        (Computed, "excess of requests in flight", Unit::Requests, None),
        (Computed, "rate times latency, maximum", Unit::Requests, None),
    ],
    sure: PHANTOM,
    wrong_if: &["flushes run without a pause: newer iostat shows them as f/s"],
    next: &[
        "`cat /sys/block/{disk}/inflight` several times: a constant number is a leak or a hung \
         request",
        "`dmesg --ctime | grep -i {disk}`: a hung request is reported after 30 s; a leaked \
         counter is fixed by a newer kernel or a reboot",
    ],
};

/// Listings of which not one line, or too few, could be used: the tool does not fit the kernel it
/// ran on, or the copy is damaged. Its output must be discarded.
const SOME_LINES: Law = Law {
    broken: "{words} are plausible: the tool does not match the kernel it ran on, or its clock \
             was wrong",
    numbers: &[
        (Reported, "unusable lines", Unit::Count, Some(0.0)),
        (Computed, "usable lines", Unit::Count, None),
    ],
    sure: UNUSABLE,
    wrong_if: &["the same tool prints the same impossible lines on a kernel that it supports"],
    next: &["use a release of the tool that supports this kernel, or `iowhy record`"],
};
const NO_LINE: Law = Law {
    broken: "none of {words}: the tool does not match the kernel it ran on, or the copy is damaged",
    numbers: &[
        (Reported, "unusable lines", Unit::Count, Some(FEW_LINES as f64 - 1.0)),
        (Computed, "usable lines", Unit::Count, None),
    ],
    ..SOME_LINES
};

/// Times that a program took for a wait though it had nothing to write: longer than any disk is
/// waited for, so its machine was suspended.
const SUSPENDED: Law = Law {
    broken: "a round that flushed nothing took {0}: it did not wait for a disk; the machine was \
             probably suspended (over an hour)",
    sure: PROBABLY_SUSPENDED,
    wrong_if: &["neither the kernel's log nor the hypervisor's shows a suspend at that time"],
    next: &[
        "`journalctl -k | grep -e 'PM: suspend'`; for a virtual machine, the log of its host",
        "if it happens while the server is in use, capture it then: `iowhy why --for 30s`",
    ],
    ..LAW
};

/// Two listings of one disk side by side in one document are of one time.
const ROWS_APART: Law = Law {
    broken: "two listings of {disk} do not cover the same time: at equal queue depth its requests \
             wait {0} in one and {1} in the other",
    numbers: &[
        (Reported, "mean latency (await), median", Unit::Ms, None),
        (Reported, "the same in the other listing", Unit::Ms, None),
        RATIO,
    ],
    sure: TWO_WINDOWS,
    ..LAW
};
const TRACE_APART: Law = Law {
    broken: "two listings of {disk} do not cover the same time: its individual I/Os took {0} on \
             average, its averages show {1}",
    numbers: &[(Computed, "mean latency of the individual I/Os", Unit::Ms, None), AWAIT, RATIO],
    ..ROWS_APART
};
const HISTOGRAM_APART: Law = Law {
    broken: "two listings of {disk} do not cover the same time: the mean of the histogram is about \
             {0}, the averages show {1}",
    numbers: &[(Estimated, "mean of the histogram", Unit::Ms, None), AWAIT, RATIO],
    ..ROWS_APART
};
const AWAIT: Number = (Reported, "mean latency (await)", Unit::Ms, None);
const RATIO: Number = (Computed, "ratio of the means", Unit::Ratio, Some(MEANS_APART));

/// A law that is broken.
struct Broken {
    law: Law,
    disk: String,
    device: Option<DeviceId>,
    listings: Vec<usize>,
    evidence: Vec<Evidence>,
    words: String,
    /// The part of the numbers that cannot be trusted.
    share: f64,
}

impl Broken {
    /// By numbers: each with its listing and what it rests on.
    fn by(
        analysis: &Analysis,
        law: Law,
        device: Option<DeviceId>,
        numbers: &[(f64, usize, u64)],
    ) -> Broken {
        let evidence = law.numbers.iter().zip(numbers).map(|(of, (value, listing, n))| {
            let (how, what, unit, above) = of;
            let known = match how {
                How::Computed => analysis.computed(*listing, *n),
                How::Estimated => analysis.estimated(*listing, *n),
                _ => analysis.printed(*listing, *n),
            };
            Evidence { bound: above.map(Bound::Above), ..known.of(what, *value, *unit) }
        });
        let mut listings: Vec<usize> = numbers.iter().map(|(_, listing, _)| *listing).collect();
        listings.dedup();
        let disk = device.map(|device| analysis.disk(device)).unwrap_or_default();
        let evidence = evidence.collect();
        Broken { law, disk, device, listings, evidence, words: String::new(), share: 1.0 }
    }

    /// Of two listings of a disk.
    fn of_two(mut self, disk: &str) -> Broken {
        self.listings.truncate(2);
        Broken { disk: disk.to_string(), share: DIFFERENT_TIMES, ..self }
    }

    fn finding(self) -> Finding {
        let Broken { law, disk, .. } = self;
        let mut finding = new_finding(DETECTOR.verdict, self.device, self.listings);
        let mut broken = law.broken.replace("{words}", &self.words);
        for (place, known) in self.evidence.iter().enumerate() {
            broken = broken.replace(&format!("{{{place}}}"), &in_words(known));
        }
        finding.sentence = broken.replace("{disk}", phrase::disk(&disk));
        finding.evidence = self.evidence;
        let (sure, why) = law.sure;
        finding.assume(sure, why);
        finding.explained_share = self.share;
        finding.refuted_by = phrase::about(law.wrong_if, &disk);
        let capture = phrase::capture(&disk, 30);
        let next = phrase::about(law.next, &disk).into_iter();
        finding.next_step = next.map(|step| step.replace("{capture}", &capture)).collect();
        finding
    }
}

/// A number in a sentence that says what it is.
fn in_words(evidence: &Evidence) -> String {
    let Quantity { value, unit } = evidence.amount;
    match unit {
        Unit::Requests | Unit::Ratio => phrase::digits(value),
        Unit::BytesPerSecond => format!("{} per second", phrase::bytes(value)),
        _ => evidence.amount.words(),
    }
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let of_rows = analysis.inconsistencies.iter().filter_map(|known| of_audit(analysis, known));
    let all = analysis.rows_by_listing();
    let pairs = all.iter().flat_map(|rows| all.iter().map(move |others| (rows, others)));
    let of_two = analysis
        .histograms
        .iter()
        .filter_map(|sample| histogram_apart(analysis, sample))
        .chain(analysis.traces.iter().filter_map(|trace| trace_apart(analysis, trace)))
        .chain(pairs.filter_map(|(rows, others)| rows_apart(analysis, rows, others)));
    let numbers = of_rows.chain(sizes(analysis)).chain(of_two).map(Broken::finding);
    let lines = analysis.listings().filter_map(|(place, known)| unusable(analysis, place, known));
    let idle = analysis.listings().filter_map(|(place, known)| suspended(analysis, place, known));
    numbers
        .chain(runs::cached(analysis, DETECTOR.verdict))
        .chain(page_cache::measured(analysis, DETECTOR.verdict))
        .chain(askers::into_memory(analysis, DETECTOR.verdict))
        .chain(arrays::absurd(analysis, DETECTOR.verdict))
        .chain(lines.chain(idle).map(Broken::finding))
        .collect()
}

fn suspended(analysis: &Analysis, listing: usize, known: &Listing) -> Option<Broken> {
    let fact = known.facts.iter().find(|fact| fact.key == key::FLUSH_IDLE)?;
    let reading = FactReading { fact, listing };
    let seconds = reading.number().filter(|seconds| *seconds > LONGEST_WAIT_S)?;
    let stated = analysis.stated(&reading);
    let evidence =
        stated.seconds("longest round that flushed nothing", seconds).above(LONGEST_WAIT_S);
    let by = Broken::by(analysis, SUSPENDED, None, &[]);
    Some(Broken { listings: vec![listing], evidence: vec![evidence], ..by })
}

fn unusable(analysis: &Analysis, place: usize, known: &Listing) -> Option<Broken> {
    let Source { impossible, records, skipped, format, notes, .. } = &known.source;
    let many = *impossible as f64 >= MANY_IMPOSSIBLE * (records + impossible) as f64;
    let reason = notes.first().map_or("unusable", |note| note.reason.as_str());
    let (law, words) = match records {
        0 if *impossible >= FEW_LINES => {
            let words =
                format!("the {skipped} lines of this {format} listing is plausible ({reason})");
            (NO_LINE, words)
        }
        1.. if *impossible > 0 && many => {
            let lines =
                format!("{impossible} of the lines of this {format} listing are impossible");
            (SOME_LINES, format!("{lines} ({reason}), {records}"))
        }
        _ => return None,
    };
    let numbers = [*skipped as f64, *records as f64].map(|n| (n, place, *skipped));
    Some(Broken { words, ..Broken::by(analysis, law, None, &numbers) })
}

fn sizes<'s>(analysis: &'s Analysis) -> impl Iterator<Item = Broken> + 's {
    candidates::candidates(analysis).into_iter().filter_map(move |candidate| {
        let (times, reading) = candidate.about().number(key::IOSTAT_SIZE_DENIED)?;
        let listings = vec![candidate.listing?];
        let what = "throughput divided by rate, as a multiple of the printed size";
        let bound = if times > 1.0 { Bound::Above(1.1) } else { Bound::Below(0.9) };
        let evidence = analysis.stated(&reading).ratio(what, times).held(bound);
        let share = 1.0 - times.min(1.0 / times);
        let by = Broken::by(analysis, SIZE, Some(candidate.device), &[]);
        let disk = candidate.disk.clone();
        Some(Broken { disk, listings, evidence: vec![evidence], share, ..by })
    })
}

/// What the audit found.
fn of_audit(analysis: &Analysis, found: &Inconsistency) -> Option<Broken> {
    let (place, listing) = (found.listing, analysis.listing(found.listing));
    let device = |interval: usize| Some(listing.intervals.get(interval)?.device);
    let broken = match found.kind {
        Contradiction::Little { interval, per_s, await_ms, queue_len, deviation } => {
            let product = per_s * await_ms / 1000.0;
            let sure = if is_faint(analysis, listing, interval, (product, queue_len)) {
                MINOR_CONTRADICTION
            } else {
                CERTAIN
            };
            let numbers = [per_s, await_ms, queue_len, product, deviation.abs()];
            let numbers = numbers.map(|value| (value, place, 1));
            let by =
                Broken::by(analysis, Law { sure, ..LITTLE }, Some(device(interval)?), &numbers);
            // The share of the larger value that the other contradicts.
            Broken { share: (product - queue_len).abs() / product.max(queue_len), ..by }
        }
        Contradiction::TooFast { interval, bytes, await_ms, bytes_per_s } => {
            let numbers = [bytes, await_ms, bytes_per_s].map(|value| (value, place, 1));
            let by = Broken::by(analysis, LINK, Some(device(interval)?), &numbers);
            Broken { share: 1.0 - LINK_BYTES_PER_S / bytes_per_s, ..by }
        }
        Contradiction::Wrapped { interval, value } => {
            let own = device(interval)?;
            // One row represents all of the kind.
            let so = |other: &&Inconsistency| match other.kind {
                Contradiction::Wrapped { interval, .. } => {
                    other.listing == place && device(interval) == Some(own)
                }
                _ => false,
            };
            // The first is found at once; all are counted once.
            if analysis.inconsistencies.iter().find(so) != Some(found) {
                return None;
            }
            let all = analysis.inconsistencies.iter().filter(so).count();
            let rows = listing.intervals.iter().filter(|row| row.device == own).count();
            let [in_flight, rate, wait, busy] = REACH;
            let wrapped = "a counter wrapped or was reset within the row";
            let (law, value, words, why) = match value {
                Absurd::InFlight(n) => {
                    (in_flight, n, format!("{} requests in flight", phrase::thousands(n)), wrapped)
                }
                Absurd::Rate(n) => (rate, n, format!("{n:.1e} requests per second"), wrapped),
                Absurd::Wait(s) => {
                    (wait, s * 1e3, format!("a mean wait of {}", phrase::ms(s * 1e3)), wrapped)
                }
                Absurd::Busy(share) => {
                    let words = format!("busy for {} of the time", phrase::percent(share));
                    (busy, share, words, "the kernel or the hypervisor counts time incorrectly")
                }
            };
            let numbers = [(value, place, 1), (all as f64, place, rows as u64)];
            let rows = phrase::count(rows as f64, "row(s)");
            let words = format!("{words}; {why}, in {all} of its {rows}");
            let share = all as f64 / (numbers[1].2).max(1) as f64;
            Broken { words, share, ..Broken::by(analysis, law, Some(own), &numbers) }
        }
        Contradiction::Phantom { interval, rows, queue_len, needed } => {
            let numbers = [rows as f64, queue_len, needed].map(|value| (value, place, rows as u64));
            let one = if queue_len > 1.0 { "requests hang" } else { "a request hangs" };
            let by = Broken::by(analysis, IN_FLIGHT, Some(device(interval)?), &numbers);
            Broken { words: one.to_string(), share: 1.0 - needed / (queue_len + needed), ..by }
        }
        Contradiction::Overrun { distribution, n, mean_ms, took_s, at_once } => {
            let known = listing.distributions.get(distribution)?;
            let sum_s = n as f64 * mean_ms / 1000.0;
            let bytes_per_s = known.bytes.map(|bytes| f64::from(bytes) * n as f64 / took_s);
            let mut numbers = vec![n as f64, mean_ms, took_s, sum_s, at_once, sum_s / took_s];
            numbers.extend(bytes_per_s);
            let numbers: Vec<_> = numbers.into_iter().map(|value| (value, place, n)).collect();
            let words = format!(
                "{n} waits of {} add up to {}, but it took {} with at most {} in flight, so a \
                 number is wrong{}",
                phrase::ms(mean_ms),
                phrase::ms(sum_s * 1e3),
                phrase::ms(took_s * 1e3),
                phrase::digits(at_once),
                bytes_per_s.map_or(String::new(), |known| as_printed(listing, known))
            );
            let mut by = Broken::by(analysis, WAITS, Some(known.device), &numbers);
            // The share of the summed waits that cannot have happened within the run.
            (by.words, by.share) = (words, 1.0 - at_once * took_s / sum_s);
            if let Some(concurrency) = by.evidence.get_mut(5) {
                concurrency.bound = Some(Bound::Above(1.1 * at_once));
            }
            by
        }
    };
    Some(broken)
}

/// Less than one request in flight either way: true, but harmless. The same holds for a single row
/// if waits are counted when they end and the queue continuously: its edges explain it.
fn is_faint(
    analysis: &Analysis,
    listing: &Listing,
    interval: usize,
    (product, queue_len): (f64, f64),
) -> bool {
    let Some(row) = listing.intervals.get(interval) else { return false };
    let one = || listing.intervals.iter().filter(|of| of.device == row.device).take(2).count() == 1;
    // A stacked device of such a kernel counts both by bios, of which a burst of write-back brings
    // thousands at once.
    let near = product.max(queue_len) < CUT * product.min(queue_len)
        || disk_names::is_stacked(&analysis.disk(row.device));
    row.svctm_ns.is_some() && near && one() || product.max(queue_len) < MIN_IN_FLIGHT
}

/// What a run printed as its throughput, and what that would be by its own size, count and time.
fn as_printed(listing: &Listing, bytes_per_s: f64) -> String {
    let printed = |fact: &&Fact| fact.key == key::WRITE_TEST_THROUGHPUT_PRINTED;
    listing.facts.iter().find(printed).map_or(String::new(), |printed| {
        format!(
            "; its `{}` is {:.1} Mbit/s ({}) by its own size, count and time",
            printed.value,
            bytes_per_s * 8.0 / 1e6,
            phrase::rate(bytes_per_s)
        )
    })
}

/// Two listings of averages of one disk in one document, whose waits are far apart though as much
/// was in flight: of another load they would differ in that too.
fn rows_apart(
    analysis: &Analysis,
    rows: &[&IntervalSample],
    others: &[&IntervalSample],
) -> Option<Broken> {
    let (first, second) = (rows.first()?, others.first()?);
    let beside = first.disk == second.disk
        && first.listing + 1 == second.listing
        && analysis.host(first.listing) == analysis.host(second.listing);
    let median = |rows: &[&IntervalSample], of: &dyn Fn(&IntervalSample) -> Option<f64>| {
        let known: Vec<f64> = rows.iter().filter_map(|row| of(row)).collect();
        spread::median(&known).filter(|middle| *middle > 0.0).map(|middle| (middle, known.len()))
    };
    let waits = |rows| median(rows, &|row| row.await_ms()).filter(|(_, n)| *n >= FEW_ROWS);
    let queue = |rows| median(rows, &|row| row.interval.queue_len);
    let apart = |a: f64, b: f64| (a / b).max(b / a);
    if !beside {
        return None;
    }
    let ((wait, _), (other, _)) = (waits(rows)?, waits(others)?);
    let times = apart(wait, other);
    if times <= MEANS_APART || apart(queue(rows)?.0, queue(others)?.0) > AS_MUCH {
        return None;
    }
    let (n, m) = (rows.len() as u64, others.len() as u64);
    let numbers =
        [(wait, first.listing, n), (other, second.listing, m), (times, first.listing, n + m)];
    Some(Broken::by(analysis, ROWS_APART, Some(second.device), &numbers).of_two(&first.disk))
}

/// A histogram or a trace and averages of one disk, side by side in one document, whose means are
/// far apart: they watched different times, or one of them counts other requests. Of several rows
/// the nearest counts.
fn apart_from_rows(
    analysis: &Analysis,
    law: Law,
    (listing, disk): (usize, &str),
    (mean_ms, n): (f64, u64),
) -> Option<Broken> {
    let apart =
        |row: &IntervalSample| row.await_ms().map(|wait| (mean_ms / wait).max(wait / mean_ms));
    let (row, wait, times) = analysis
        .intervals
        .iter()
        .filter(|row| row.disk == disk && row.listing.abs_diff(listing) == 1)
        .filter(|row| analysis.host(row.listing) == analysis.host(listing))
        .filter(|row| row.requests() >= FEW_REQUESTS)
        .filter_map(|row| Some((row, row.await_ms()?, apart(row)?)))
        .filter(|(_, _, apart)| apart.is_finite())
        .min_by(|a, b| a.2.total_cmp(&b.2))
        .filter(|(_, _, apart)| *apart > MEANS_APART)?;
    // iowhy's own trace and its own reading of the counters watched the same requests, and what
    // differs are flushes, merges and the moment a request began.
    let is_ours = |listing: usize| analysis.source(listing).sampling != Sampling::Reported;
    if is_ours(listing) && is_ours(row.listing) {
        return None;
    }
    let numbers = [(mean_ms, listing, n), (wait, row.listing, 1), (times, listing, n)];
    Some(Broken::by(analysis, law, Some(row.device), &numbers).of_two(disk))
}

fn trace_apart(analysis: &Analysis, trace: &DeviceTrace) -> Option<Broken> {
    let latencies: Vec<f64> = trace.spans.iter().map(ServiceSpan::latency_ns).collect();
    let mean_ms = spread::mean(&latencies).filter(|ns| *ns > 0.0)? / 1e6;
    if trace.disk.is_empty() || latencies.len() < EVENTS_NEEDED {
        return None;
    }
    let of = (mean_ms, latencies.len() as u64);
    apart_from_rows(analysis, TRACE_APART, (trace.listing, &trace.disk), of)
}

fn histogram_apart(analysis: &Analysis, sample: &HistogramSample) -> Option<Broken> {
    let histogram = &sample.known.histogram;
    let mean_ms = histogram.mean_ns()?.0 / 1e6;
    // The time in a queue alone is not a share of await that could contradict it.
    let is_part = matches!(sample.known.stage, Stage::Before | Stage::Queue);
    if histogram.edges().buckets() == 1 || sample.disk.is_empty() || mean_ms <= 0.0 || is_part {
        return None;
    }
    let of = (mean_ms, histogram.count());
    apart_from_rows(analysis, HISTOGRAM_APART, (sample.listing, &sample.disk), of)
}
