//! PostgreSQL's EXPLAIN (ANALYZE, BUFFERS): time that a query waited for its reads and writes.
//!
//! ## Reads
//! The lines `Buffers: shared hit=861100 read=42985` and `I/O Timings: read=6741.003` of the first
//! node of a plan, which has the sums of all nodes below it: that number of reads of one block,
//! with their mean, and likewise writes (`write=`) and those of temporary files (`temp read=`). The
//! longest read time of a query is `query.read_wait`.
//!
//! ## How to capture
//! `SET track_io_timing = on; EXPLAIN (ANALYZE, BUFFERS) SELECT ...`; auto_explain with
//! `log_analyze` and `log_buffers`.
//!
//! ## Versions
//! PostgreSQL 9.2 and later, as text: `read=` alone until 14, `shared/local read=` and `temp read=`
//! in 15 and 16, `shared read=` and `local read=` since 17.
//!
//! ## Caveats
//! A block (8 KiB) that is in the page cache of the operating system is read too, within
//! microseconds: the mean is one of both. Since 17 a read may be of several blocks. With parallel
//! workers the times of all are added up, and exceed the query's own. Nodes and planning are not
//! added to the first node. A plan whose first node is missing is read from the first node that is
//! there.
//!
//! ## Not in this output
//! Individual latencies, the file or device, reads of other queries meanwhile.

use crate::histogram::buckets::{latencies, mean_only};
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<PostgresExplain>(
    "EXPLAIN (ANALYZE, BUFFERS) of PostgreSQL: reads of a query, their mean",
    Level::B,
    &["(actual time=", "Buffers: "],
    sniff,
)
.resumed();

/// What the lines of a node begin with.
const BUFFERS: &str = "Buffers: ";
const TIMINGS: &str = "I/O Timings: ";
/// Lines between the first of a node and its times: filters, keys and workers.
const MAX_DISTANCE: usize = 12;
/// Groups of buffers and of times, and what is read and written there.
const GROUPS: [(&[&str], &str); 2] = [
    (&["shared", "local", "shared/local", ""], "blocks"),
    (&["temp"], "blocks of temporary files"),
];

fn sniff(lines: &[&str]) -> Detect {
    let Some((first, rest)) = lines.split_first() else { return Detect::No };
    let below = rest.last().map(|line| line.trim());
    if first.trim().starts_with(BUFFERS) && counts(first, BUFFERS).is_some() {
        return match below {
            None => Detect::NeedLine,
            Some(line) => counts(line, TIMINGS).is_some().into(),
        };
    }
    match below {
        _ if !is_first_node(first) => Detect::No,
        Some(line) if counts(line, TIMINGS).is_some() => Detect::Yes,
        Some(line) if is_node(line) => Detect::No,
        _ if lines.len() > MAX_DISTANCE => Detect::No,
        _ => Detect::NeedLine,
    }
}

/// A node that was run: `Limit  (cost=0.43..1521.93 rows=10 width=990) (actual time=...)`.
fn is_node(line: &str) -> bool {
    line.contains("(actual time=") && line.contains(" loops=")
}

/// The same, of the one that the others are below.
fn is_first_node(line: &str) -> bool {
    is_node(line) && !line.trim_start().starts_with("->")
}

/// A number of a group: `shared`, `read`, 42985.
type Number<'l> = (&'l str, &'l str, f64);

/// The numbers of `Buffers: shared hit=861100 read=42985, temp read=1 written=2`, and of `I/O
/// Timings: shared read=6741.003 write=0.120, temp read=1.2`; the group may be missing.
fn counts<'l>(line: &'l str, begin: &str) -> Option<Vec<Number<'l>>> {
    let groups = line.trim().strip_prefix(begin)?.split(", ");
    let of = |group: &'l str| {
        let mut words = group.split(' ').peekable();
        let name = words.next_if(|word| !word.contains('=')).unwrap_or_default();
        let known = GROUPS.iter().any(|(names, _)| names.contains(&name));
        words
            .map(|word| {
                let (what, number) = word.split_once('=')?;
                let number = decimal(number).filter(|number| *number >= 0.0 && known)?;
                Some((name, what, number))
            })
            .collect::<Option<Vec<_>>>()
    };
    let all: Vec<Number> = groups.map(of).collect::<Option<Vec<_>>>()?.concat();
    Some(all).filter(|all| !all.is_empty())
}

/// Whose lines are read.
#[derive(Default, PartialEq, Eq)]
enum Place {
    /// Of the first node, or of one whose beginning is missing.
    #[default]
    First,
    /// Of a node below it, or of planning.
    Below,
}

#[derive(Default)]
struct PostgresExplain {
    place: Place,
    /// The blocks of the first node, by group, and their place.
    buffers: Option<String>,
    /// The longest read time of a query.
    longest: Option<Nanos>,
}

impl Reader for PostgresExplain {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let text = line.trim();
        if is_node(text) {
            let is_first = is_first_node(text);
            self.place = if is_first { Place::First } else { Place::Below };
            self.buffers = None;
            return Step::Consumed;
        }
        if text.starts_with("Execution Time: ") {
            // What follows is of another plan.
            self.place = Place::First;
            return Step::Consumed;
        }
        if text.starts_with("->") || text == "Planning:" {
            self.place = Place::Below;
            return Step::Consumed;
        }
        let is_first = self.place == Place::First;
        if text.starts_with(BUFFERS) {
            let is_read = counts(text, BUFFERS).is_some();
            if is_first {
                self.buffers = is_read.then(|| text.to_string());
            }
            return if is_read {
                Step::Consumed
            } else {
                Step::skipped("the counts of blocks cannot be read")
            };
        }
        if text.starts_with(TIMINGS) {
            let Some(times) = counts(text, TIMINGS) else {
                return Step::skipped("the times cannot be read");
            };
            if is_first {
                self.place = Place::Below;
                let Some(buffers) = self.buffers.take() else {
                    return Step::skipped("I/O times without a preceding block count");
                };
                self.emit(&counts(&buffers, BUFFERS).unwrap_or_default(), &times, sink);
            }
            return Step::Consumed;
        }
        Step::NotMine
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if let Some(longest) = self.longest {
            sink.add_fact(None, typed::QUERY_READ_WAIT, longest);
        }
    }
}

impl PostgresExplain {
    fn emit(&mut self, buffers: &[Number], times: &[Number], sink: &mut dyn Sink) {
        let sum = |all: &[Number], names: &[&str], what: &str| -> f64 {
            let of = all.iter().filter(|(name, known, _)| names.contains(name) && *known == what);
            of.map(|(.., number)| number).sum()
        };
        let mut read_ms = 0.0;
        for (names, label) in GROUPS {
            for (op, done, timed) in [(Op::Read, "read", "read"), (Op::Write, "written", "write")] {
                let (count, ms) = (sum(buffers, names, done), sum(times, names, timed));
                if op == Op::Read {
                    read_ms += ms;
                }
                if ms <= 0.0 {
                    continue;
                }
                let Some(histogram) = mean_only(count as u64, ms * 1e6 / count) else { continue };
                let device = sink.device("PostgreSQL");
                latencies(device, Some(op), label, histogram, sink);
            }
        }
        if read_ms > 0.0 {
            let longest = self.longest.map_or(0, |known| known.0);
            self.longest = Some(Nanos(Nanos::from_ms(read_ms).0.max(longest)));
        }
    }
}
