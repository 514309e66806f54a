//! A week in a quarter of an hour: three ordinary loads on disks of their own, of which three fail
//! for a day, watched by the flight recorder and by three rules of monitoring.
//!
//! The rules see what an exporter of /proc/diskstats and a histogram see, over the whole of a day's
//! load: the share of time with a request in flight (io_ticks), await, and the 99th percentile. An
//! alert of a rule is a load of a day that exceeds its bound; one of iowhy an incident that blames
//! the disk, its path or a limit.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use clap::Args;
use iowhy_lab::written::{WrittenScenario, parse};
use iowhy_model::{Edges, Histogram, Stage};

use crate::day::{Plan, Recorder, Stretch, asked};
use crate::faulty_disk::missing;

const TEXT: &str = include_str!("week.txt");
const DAYS: usize = 7;
/// The day, the load and the fault of its disk.
const FAULTS: [(usize, &str, &str); 3] =
    [(1, "database", "slow=400"), (3, "backup", "retry=0.35"), (5, "build", "stall=5s/700ms")];
/// Between two days: the capture of an incident ends ten seconds after the last alarm.
const NIGHT: Duration = Duration::from_secs(30);

/// What a rule looks at.
type Figure = fn(&Figures) -> f64;

/// A rule, what it looks at, and the bound of that.
const RULES: [(&str, Figure, f64); 3] = [
    ("busy more than 90 % of the time", |seen| seen.busy, 0.9),
    ("await above 20 ms", |seen| seen.await_ms, 20.0),
    ("99th percentile above 100 ms", |seen| seen.p99_ms, 100.0),
];

/// How long it takes.
#[derive(Args, Debug)]
pub struct Week {
    /// Seconds of load that stand for a day
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(20..))]
    day: u64,
    /// Seed of everything that is chance
    #[arg(long, default_value_t = 2026)]
    seed: u64,
}

/// What monitoring sees of a load of a day.
struct Figures {
    /// 0 to 1.
    busy: f64,
    await_ms: f64,
    p99_ms: f64,
}

/// Counters of /sys/block/DEVICE/stat (Documentation/block/stat.rst): completed requests, ms waited
/// for them, ms with a request in flight.
#[derive(Clone, Copy)]
struct Counted {
    ios: f64,
    waited_ms: f64,
    busy_ms: f64,
}

impl Week {
    /// Runs it and prints the table. Fails if iowhy accuses a healthy disk or misses a fault.
    ///
    /// # Errors
    /// If a disk cannot be made here, or `iowhy` was not built.
    pub fn run(&self) -> io::Result<ExitCode> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("the week needs {missing}")));
        }
        let store = std::env::temp_dir().join(format!("iowhy-week-{}", std::process::id()));
        let mut recorder = Recorder::start(&store, "60s", "exact")?;
        let seen = self.play(&store);
        let ended = recorder.end();
        let table = seen.and_then(|seen| ended.and_then(|_| table(seen, &store)));
        let _ = std::fs::remove_dir_all(&store);
        for load in loads()? {
            let _ = std::fs::remove_file(truth(&store, load));
        }
        let (text, good) = table?;
        write!(io::stdout(), "{text}")?;
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn play(&self, store: &Path) -> io::Result<Vec<(Stretch, Figures)>> {
        let mut seen = Vec::new();
        for day in 0..DAYS {
            let loads = loads()?.iter().enumerate();
            let seed = |place: usize| self.seed.wrapping_add((100 * day + 10 * place) as u64);
            let of_day: io::Result<Vec<_>> = thread::scope(|scope| {
                let each: Vec<_> = loads
                    .map(|(place, load)| {
                        let fault =
                            FAULTS.iter().find(|(at, of, _)| *at == day && *of == load.name);
                        let fault = fault.map(|(.., fault)| *fault);
                        scope.spawn(move || self.one(load, fault, seed(place), store))
                    })
                    .collect();
                let ended = |one: thread::ScopedJoinHandle<'_, _>| {
                    one.join().unwrap_or_else(|_| Err(io::Error::other("a load ended early")))
                };
                each.into_iter().map(ended).collect()
            });
            seen.extend(of_day?);
            writeln!(io::stderr(), "rig: day {} of {DAYS}", day + 1)?;
            thread::sleep(NIGHT);
        }
        Ok(seen)
    }

    /// A disk under its load of a day.
    fn one(
        &self,
        load: &'static WrittenScenario,
        fault: Option<&str>,
        seed: u64,
        store: &Path,
    ) -> io::Result<(Stretch, Figures)> {
        let plan = Plan {
            scenario: load,
            faults: fault.into_iter().map(str::to_string).collect(),
            faulty: fault.is_some(),
            length: Duration::from_secs(self.day),
            seed,
            truth: truth(store, load),
        };
        let (stretch, [before, after]) = plan.play(Counted::of)?;
        let figures = Figures {
            busy: (after.busy_ms - before.busy_ms) / 1e3 / self.day as f64,
            await_ms: (after.waited_ms - before.waited_ms) / (after.ios - before.ios).max(1.0),
            p99_ms: 0.0,
        };
        Ok((stretch, figures))
    }
}

impl Counted {
    fn of(device: &str) -> io::Result<Counted> {
        let text = std::fs::read_to_string(format!("/sys/block/{device}/stat"))?;
        let cells: Vec<f64> =
            text.split_whitespace().filter_map(|cell| cell.parse().ok()).collect();
        let cell = |place: usize| cells.get(place).copied().unwrap_or(0.0);
        let (ios, waited_ms) = (cell(0) + cell(4), cell(3) + cell(7));
        Ok(Counted { ios, waited_ms, busy_ms: cell(9) })
    }
}

/// Where the disk of a load writes what it did.
fn truth(store: &Path, load: &WrittenScenario) -> PathBuf {
    store.with_extension(format!("{}.csv", load.name))
}

fn loads() -> io::Result<&'static [WrittenScenario]> {
    static ALL: LazyLock<Result<Vec<WrittenScenario>, String>> = LazyLock::new(|| parse(TEXT));
    ALL.as_deref().map_err(|error| io::Error::other(error.clone()))
}

/// The upper bound of the 99th percentile of all requests of a load of a day in the store, ms; 0 if
/// they are too few for it.
fn p99_ms(stretch: &Stretch, store: &Path) -> io::Result<f64> {
    let (since, until) = (format!("@{:.0}", stretch.from), format!("@{:.0}", stretch.until));
    let words = ["hist", "--since", &since, "--until", &until, "--device", &stretch.device];
    let all = asked(&words, store)?;
    let rows = all["histograms"].as_array().into_iter().flatten();
    let mut whole = Histogram::empty(Edges::standard());
    for row in rows.filter(|row| row["stage"] == Stage::Total.name()) {
        // The open end of the last bucket is null.
        let numbers = |key: &str| -> Vec<u64> {
            let all = row[key].as_array().into_iter().flatten();
            all.map(|number| number.as_u64().unwrap_or(u64::MAX)).collect()
        };
        let edges = Edges::new(numbers("edges_ns"));
        let read = edges.and_then(|edges| Histogram::from_counts(edges, numbers("counts")));
        if !read.is_some_and(|read| whole.merge(&read)) {
            return Err(io::Error::other("a histogram of the recorder has other buckets"));
        }
    }
    Ok(whole.quantile(0.99).map_or(0.0, |found| found.high_ns as f64 / 1e6))
}

/// The table, and whether iowhy found all faults and accused no healthy disk.
fn table(mut seen: Vec<(Stretch, Figures)>, store: &Path) -> io::Result<(String, bool)> {
    let all = asked(&["incidents"], store)?;
    let rows = all["incidents"].as_array().cloned().unwrap_or_default();
    for (stretch, figures) in &mut seen {
        figures.p99_ms = p99_ms(stretch, store)?;
    }
    let mut text = String::from(
        "| load | disk | days | busy, % | await, ms | 99th percentile, ms |\n\
         | --- | --- | --: | --: | --: | --: |\n",
    );
    for load in loads()? {
        for faulty in [false, true] {
            let is = |one: &&(Stretch, Figures)| {
                one.0.scenario.name == load.name && one.0.faulty == faulty
            };
            let these: Vec<&Figures> = seen.iter().filter(is).map(|(_, figures)| figures).collect();
            let range = |of: &dyn Fn(&Figures) -> f64| {
                let values = || these.iter().map(|one| of(one));
                let least = values().fold(f64::INFINITY, f64::min);
                let most = values().fold(0.0, f64::max);
                if these.len() == 1 {
                    format!("{least:.0}")
                } else {
                    format!("{least:.0} to {most:.0}")
                }
            };
            let disk = if faulty { "faulty" } else { "healthy" };
            text += &format!(
                "| {} | {disk} | {} | {} | {} | {} |\n",
                load.name,
                these.len(),
                range(&|one| 100.0 * one.busy),
                range(&|one| one.await_ms),
                range(&|one| one.p99_ms),
            );
        }
    }
    text +=
        "\n| rule | alerts | right | false | faults missed |\n| --- | --: | --: | --: | --: |\n";
    let mut alerts = |name: &str, fires: &dyn Fn(&(Stretch, Figures)) -> bool| {
        let count = |of: &dyn Fn(&Stretch) -> bool| {
            seen.iter().filter(|one| of(&one.0) && fires(one)).count()
        };
        let (right, wrong) = (count(&|one| one.faulty), count(&|one| !one.faulty));
        let missed = FAULTS.len() - right;
        text += &format!("| {name} | {} | {right} | {wrong} | {missed} |\n", right + wrong);
        missed == 0 && wrong == 0
    };
    for (name, of, bound) in RULES {
        alerts(name, &|(_, figures)| of(figures) > bound);
    }
    let good = alerts("`iowhy watch`", &|(stretch, _)| stretch.incidents(&rows).1);
    text += "\n| load | disk | incidents of `iowhy watch` |\n| --- | --- | --- |\n";
    for (stretch, _) in &seen {
        let (verdicts, accuses) = stretch.incidents(&rows);
        if accuses || stretch.faulty {
            let disk = if stretch.faulty { "faulty" } else { "healthy" };
            let verdicts = verdicts.join(", ");
            text += &format!("| {} | {disk} | {verdicts} |\n", stretch.scenario.name);
        }
    }
    Ok((text, good))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faulty_disk::Drive;

    #[test]
    fn its_loads_are_scenarios_and_its_faults_are_of_them() {
        let loads = loads().unwrap();
        assert_eq!(loads.len(), 3);
        for (day, name, fault) in FAULTS {
            assert!(day < DAYS && loads.iter().any(|load| load.name == name), "{name}");
            assert!(!fault.is_empty());
        }
        for sender in loads.iter().flat_map(|load| &load.loads) {
            Drive::parse(sender).unwrap();
        }
    }
}
