//! A disk of known fault under a load, and what is owed.

/// A disk of known fault under a load.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The fault, and behind a `/` which of its cases.
    pub name: &'static str,
    /// The model, as on the command line.
    pub model: &'static str,
    /// Its faults, likewise.
    pub faults: &'static [&'static str],
    /// Other disks of the model under the same load: how many, and whether they are faulty too.
    pub beside: (u16, bool),
    /// Who asks each disk.
    pub loads: &'static [&'static str],
    /// How long the load runs before anybody watches, seconds.
    pub before: u64,
    /// How long it is watched, seconds.
    pub seconds: u64,
    /// Verdicts that are right. The first is the one that is owed.
    pub owed: &'static [&'static str],
    /// What the truth can be compared with.
    pub figure: Figure,
    /// How many runs, each with a seed of its own.
    pub runs: u64,
    /// Whether it is among the few of a quick look.
    pub fast: bool,
}

/// A quantity that the verdict states and the truth knows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Figure {
    /// None but the confidence.
    None,
    /// The spindle speed.
    Rpm(f64),
    /// A limit, in its own unit per second.
    Cap(f64),
    /// The mean latency that the fault adds, from the log of the disk.
    Added,
}

impl Scenario {
    /// What is the case, in a line.
    pub fn tells(&self) -> String {
        let faulty = if self.faults.is_empty() { "-".to_string() } else { self.faults.join(" ") };
        let peers = match self.beside {
            (0, _) => String::new(),
            (n, true) => format!(" and {n} like it"),
            (n, false) => format!(" beside {n} healthy"),
        };
        format!("{} {faulty}{peers}, {}: owed {}", self.model, self.loads.join(" + "), self.owed[0])
    }

    /// Whether a disk is faulty, by a fault or by what it is, so that accusing one is right.
    pub fn faulty(&self) -> bool {
        let by_nature = ["device.", "peer."].iter().any(|of| self.owed[0].starts_with(of));
        by_nature || !self.faults.is_empty()
    }
}
