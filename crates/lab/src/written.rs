//! Written scenarios: a disk, its fault, a load, and the expected verdict, as data
//! (`scenarios/cases.txt`).
//!
//! One corpus for all tests that need disks with a known fault: the tests of detectors and the
//! score play a scenario here, in virtual time ([`WrittenScenario::capture`]); the rig plays the
//! same one on a real block device, where it is watched. Captures of real machines
//! (`published/cases.txt`) have the same layout. The recipes of [`scenarios`](crate::scenarios)
//! generate such scenarios at random.
//!
//! **Must never know:** a detector, a measure, a threshold of theirs.

mod play;

use std::sync::LazyLock;

/// What is written.
const TEXT: &str = include_str!("../scenarios/cases.txt");

/// Verdicts that do not accuse a healthy disk: `harmless` in the text. A shortage of processors is
/// real on a machine that runs other tests at the same time.
const HARMLESS: [&str; 8] = [
    "healthy",
    "layer.cpu",
    "insufficient",
    "load.saturated",
    "load.burst",
    "load.large-io",
    "load.small-sync",
    "load.writeback",
];

/// A disk of known fault under a load.
#[derive(Clone, PartialEq, Debug)]
pub struct WrittenScenario {
    /// The fault, and after a `/` which of its cases.
    pub name: String,
    /// The model, as on the command line.
    pub model: String,
    /// Its faults, likewise.
    pub faults: Vec<String>,
    /// Other disks of the model under the same load: how many, and whether they are faulty too.
    pub beside: (u16, bool),
    /// The senders of each disk.
    pub loads: Vec<String>,
    /// How long the load runs before the watch begins, seconds.
    pub before: u64,
    /// How long it is watched, seconds.
    pub seconds: u64,
    /// Verdicts that are right. The first is the one that is expected.
    pub expected: Vec<String>,
    /// What can be compared with the truth.
    pub figure: Figure,
    /// How many runs, each with a seed of its own.
    pub runs: u64,
    /// Whether it is among the few of a fast look.
    pub quick: bool,
}

/// A quantity that the verdict states and whose truth is known.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Figure {
    /// None but the confidence.
    None,
    /// The spindle speed, revolutions per minute.
    Rpm(f64),
    /// A limit, in its own unit per second.
    Cap(f64),
    /// The mean latency that the fault adds, from the log of the disk.
    Added,
}

impl WrittenScenario {
    /// What happens, in a line.
    pub fn tells(&self) -> String {
        let faulty = if self.faults.is_empty() { "-".to_string() } else { self.faults.join(" ") };
        let peers = match self.beside {
            (0, _) => String::new(),
            (n, true) => format!(" and {n} like it"),
            (n, false) => format!(" beside {n} healthy"),
        };
        format!(
            "{} {faulty}{peers}, {}: expected {}",
            self.model,
            self.loads.join(" + "),
            self.owes()
        )
    }

    /// The expected verdict.
    pub fn owes(&self) -> &str {
        self.expected.first().map_or("", String::as_str)
    }

    /// Whether a verdict is right.
    pub fn accepts(&self, verdict: &str) -> bool {
        self.expected.iter().any(|expected| expected == verdict)
    }

    /// Whether a disk is faulty, by a fault or by its design, so that accusing one is right.
    pub fn faulty(&self) -> bool {
        let by_nature = ["device.", "peer."].iter().any(|of| self.owes().starts_with(of));
        by_nature || !self.faults.is_empty()
    }

    /// Takes one line of the text; what is wrong with it, if it is none.
    fn set(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("`{}`: `{line}` is not a line of a scenario", self.name);
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
        match key {
            "disk" => self.model = value.to_string(),
            "fault" => self.faults.push(value.to_string()),
            "load" => self.loads.push(value.to_string()),
            "before" => self.before = number(value)?,
            "seconds" => self.seconds = number(value)?,
            "runs" => self.runs = number(value)?,
            "quick" => self.quick = true,
            "beside" => {
                let (many, how) = value.split_once(' ').ok_or_else(wrong)?;
                self.beside = (many.parse().map_err(|_| wrong())?, how == "faulty");
            }
            "expected" if value == "harmless" => {
                self.expected = HARMLESS.map(str::to_string).to_vec()
            }
            "expected" => self.expected = value.split(' ').map(str::to_string).collect(),
            "figure" => {
                let (what, of) = value.split_once(' ').unwrap_or((value, "0"));
                let of = of.parse().map_err(|_| wrong())?;
                self.figure = match what {
                    "rpm" => Figure::Rpm(of),
                    "cap" => Figure::Cap(of),
                    "added" => Figure::Added,
                    _ => return Err(wrong()),
                };
            }
            _ => return Err(wrong()),
        }
        Ok(())
    }
}

/// Reads scenarios: a name at the margin, its lines after four spaces, `#` before what is reported
/// about it.
///
/// # Errors
/// If a line is none; the text shows which.
pub fn parse(text: &str) -> Result<Vec<WrittenScenario>, String> {
    let mut all: Vec<WrittenScenario> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(indented) = line.strip_prefix("    ") else {
            if !line.starts_with('#') {
                all.push(WrittenScenario {
                    name: line.trim().to_string(),
                    model: String::new(),
                    faults: Vec::new(),
                    beside: (0, false),
                    loads: Vec::new(),
                    before: 0,
                    seconds: 0,
                    expected: Vec::new(),
                    figure: Figure::None,
                    runs: 1,
                    quick: false,
                });
            }
            continue;
        };
        if !indented.starts_with('#') {
            let last = all.last_mut().ok_or_else(|| format!("`{line}` precedes any name"))?;
            last.set(indented.trim())?;
        }
    }
    let whole = |one: &&WrittenScenario| {
        one.model.is_empty() || one.loads.is_empty() || one.expected.is_empty() || one.seconds == 0
    };
    match all.iter().find(whole) {
        Some(one) => {
            Err(format!("`{}` lacks a disk, a load, a length or what is expected", one.name))
        }
        None => Ok(all),
    }
}

/// All written scenarios.
///
/// # Errors
/// If the text is none; a test reads it.
pub fn written() -> Result<&'static [WrittenScenario], String> {
    static ALL: LazyLock<Result<Vec<WrittenScenario>, String>> = LazyLock::new(|| parse(TEXT));
    ALL.as_ref().map(Vec::as_slice).map_err(Clone::clone)
}

/// The scenario of a name.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<&'static WrittenScenario, String> {
    let found = written()?.iter().find(|one| one.name == name);
    found.ok_or_else(|| format!("there is no scenario `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_read_as_it_is_written() {
        let text = "# All of a family.\nretry/one\n    # Why it is here.\n    disk rotational\n    \
                    fault retry=0.4\n    \
                    beside 2 healthy\n    load read:128K\n    seconds 8\n    expected device.retry \
                    device.slow\n    \
                    figure rpm 7200\n    quick\n";
        let all = parse(text).unwrap();
        assert_eq!(all.len(), 1);
        let one = &all[0];
        assert_eq!(
            (one.name.as_str(), one.beside, one.figure),
            ("retry/one", (2, false), Figure::Rpm(7200.0))
        );
        assert!(one.faulty() && one.quick && one.accepts("device.slow") && !one.accepts("healthy"));
        for (bad, says) in [
            ("retry/one\n    disk rotational\n", "lacks"),
            ("    disk rotational\n", "precedes any name"),
            ("retry/one\n    fan 3\n", "`fan 3` is not a line"),
        ] {
            assert!(parse(bad).unwrap_err().contains(says), "{bad}");
        }
    }

    #[test]
    fn each_scenario_names_disks_faults_and_verdicts_that_exist() {
        for one in written().unwrap() {
            let model = crate::disk::Model::parse(&one.model).unwrap();
            for fault in &one.faults {
                assert!(model.can_have(&crate::disk::Fault::parse(fault).unwrap()), "{}", one.name);
            }
            for expected in &one.expected {
                assert_eq!(
                    iowhy_model::Verdict::named(expected).map(|v| v.name()),
                    Some(expected.as_str()),
                    "{}",
                    one.name
                );
            }
            let once = one.capture(3).unwrap();
            assert!(once.lines().count() > 20, "{}: {} lines", one.name, once.lines().count());
            assert_eq!(once, one.capture(3).unwrap(), "{}", one.name);
        }
    }

    #[test]
    fn there_are_enough_runs_and_faults_and_each_fault_has_its_near_miss_or_is_one() {
        let all = written().unwrap();
        assert!(all.iter().map(|scenario| scenario.runs).sum::<u64>() >= 40);
        let fault =
            |one: &WrittenScenario| one.name.split('/').next().unwrap_or_default().to_string();
        let mut faults: Vec<String> = all.iter().map(&fault).collect();
        faults.dedup();
        assert!(faults.len() >= 12, "{faults:?}");
        let mut sorted = faults.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), faults.len(), "scenarios of a fault stand together: {faults:?}");
        // A scenario with a healthy disk is a near miss of every fault it resembles.
        let lacks = |name: &&String| {
            let of = all.iter().filter(|scenario| fault(scenario) == **name);
            of.clone().any(|scenario| scenario.faulty())
                && !of.clone().any(|scenario| !scenario.faulty())
        };
        let lacking: Vec<&String> = faults.iter().filter(lacks).collect();
        assert!(lacking.is_empty(), "no near miss: {lacking:?}");
    }
}
