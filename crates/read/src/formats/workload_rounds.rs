//! Load generators of databases that print each second's operations and percentiles.
//!
//! ## Reads
//! The heading `_elapsed___errors__ops/sec(inst)___ops/sec(cum)__p50(ms)__p95(ms)__p99(ms)_pMax(ms)`, or
//! `_elapsed____ops/sec___mb/sec__p50(ms)...`, and a row for each second. The longest operation becomes the fact
//! `run.longest`, the seconds in which nothing ended while the run went on `run.silent`.
//!
//! ## Where it comes from
//! `cockroach workload run`, `kv`, `pebble bench`.
//!
//! ## Versions
//! Columns are found by the heading.
//!
//! ## Traps
//! An operation is one of the database, not of a disk: it holds locks, a network, memory, and often the flush of a
//! log. Percentiles are of one second each and cannot be added. The row of a second in which nothing ended shows
//! zeros, which are no latencies.
//!
//! ## Cannot know
//! Which disk the database uses; what else used it; reads and writes apart, unless a column says so. Whether whole
//! lines are missing, but for a gap in the seconds.

use iowhy_model::{Level, Nanos, Sink, typed};

use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "workload-rounds",
    summary: "load generators of databases: operations and percentiles a second",
    manual: iowhy_model::manual!("workload_rounds.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| columns(line).is_some())),
    reader: || Box::new(WorkloadRounds::default()),
};

/// Names of the columns: underscores stand for the blanks between them.
fn columns(line: &str) -> Option<Vec<&str>> {
    let text = line.trim();
    let names: Vec<&str> = text.split('_').filter(|name| !name.is_empty()).collect();
    let rate = names.iter().any(|name| matches!(*name, "ops/sec" | "ops/sec(inst)"));
    (text.starts_with("_elapsed_") && rate && names.contains(&"pMax(ms)")).then_some(names)
}

#[derive(Default)]
struct WorkloadRounds {
    columns: Vec<String>,
    /// When the row before was, s.
    before: Option<f64>,
    /// Seconds without an operation that ended, and those at the end of the run, which may be its end.
    silent: f64,
    ending: f64,
    any: bool,
    longest_ms: f64,
}

impl Reader for WorkloadRounds {
    fn line(&mut self, line: &str, _sink: &mut dyn Sink) -> Step {
        if let Some(columns) = columns(line) {
            // It is repeated every so many rows.
            self.columns = columns.iter().map(ToString::to_string).collect();
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else { return Step::Took };
        let Some(at) = first.strip_suffix('s').and_then(decimal) else { return Step::Passed };
        // What kind of operation it was may stand behind the figures.
        let of = |names: &[&str]| {
            let place = self.columns.iter().position(|name| names.contains(&name.as_str()))?;
            words.get(place).and_then(|word| decimal(word))
        };
        let Some((rate, longest)) = of(&["ops/sec", "ops/sec(inst)"]).zip(of(&["pMax(ms)"])) else {
            return Step::Skipped("the values do not fit the heading".to_string());
        };
        let seconds = self.before.map_or(0.0, |before| (at - before).max(0.0));
        self.before = Some(at);
        self.longest_ms = self.longest_ms.max(longest);
        if rate > 0.0 {
            self.silent += std::mem::take(&mut self.ending);
            self.any = true;
        } else if self.any {
            self.ending += seconds;
        }
        Step::Took
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.longest_ms > 0.0 {
            sink.add_fact(None, typed::RUN_LONGEST, Nanos::from_ms(self.longest_ms));
        }
        if self.silent > 0.0 {
            sink.add_fact(None, typed::RUN_SILENT, Nanos::from_seconds(self.silent));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scan::recorded as read;

    #[test]
    fn seconds_in_which_nothing_ended_are_counted_between_others() {
        let recording = read(
            "_elapsed____ops/sec___mb/sec__p50(ms)__p95(ms)__p99(ms)_pMax(ms)\n\
             \x20     1s     2041.3      0.7      0.3      2.5      2.8      3.3\n\
             \x20     2s        0.0      0.0      0.0      0.0      0.0      0.0\n\
             \x20     3s        0.0      0.0      0.0      0.0      0.0      0.0\n\
             \x20     4s        1.0      0.0   3013.3   3013.3   3013.3   3013.3\n\
             \x20     5s        0.0      0.0\n\
             \x20     6s        0.0      0.0      0.0      0.0      0.0      0.0\n",
        );
        let listing = &recording.listings[0];
        let facts: Vec<String> =
            listing.facts.iter().map(|fact| format!("{} {}", fact.key, fact.value)).collect();
        assert_eq!(facts, ["run.longest 3.0133 s", "run.silent 2 s"]);
        assert_eq!(listing.source.skipped, 1);
    }
}
