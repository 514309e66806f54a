//! Verdicts against truth: disks of known disease under known loads, judged from the listing
//! that biosnoop would have printed.
//!
//! The simulator was written apart from the detectors and knows none of them; a scenario names the
//! verdict that an honest judge owes. The table is there to be looked at, and a test lets no
//! total fall.
//!
//! **Must never know:** how a detector decides.

use std::collections::BTreeMap;
use std::fmt::Write;

use iowhy_model::Recording;

use crate::disk::{Disease, Disk, Model};
use crate::simulate::{Load, Seen, biosnoop};

/// Size of the disks.
const BYTES: u64 = 80 << 30;

/// A disk, a load, and the verdict that is owed.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The verdict about the first disk.
    pub verdict: &'static str,
    /// The model, as on the command line.
    pub model: &'static str,
    /// The disease; none if empty.
    pub disease: &'static str,
    /// The load.
    pub load: &'static str,
    /// Healthy disks beside it.
    pub peers: u8,
}

const fn alone(
    verdict: &'static str,
    model: &'static str,
    disease: &'static str,
    load: &'static str,
) -> Scenario {
    Scenario { verdict, model, disease, load, peers: 0 }
}

/// All scenarios, by verdict.
pub const SCENARIOS: &[Scenario] = &[
    alone("cap.volume", "network:iops=500,burst=500", "", "read:4K,random,rate=520,count=20000"),
    alone("cap.volume", "network", "", "read:4K,random,rate=3100,count=60000"),
    alone("device.retry", "rotational", "retry=0.35", "read:128K,count=60"),
    alone("device.retry", "rotational", "retry=0.35", "read:128K,count=300"),
    alone("device.retry", "rotational", "retry=0.1", "read:128K,count=300"),
    alone("device.retry", "rotational", "retry=0.35", "read:128K,count=20"),
    alone("device.retry", "rotational", "retry=0.35", "read:128K,depth=4,count=300"),
    alone("device.retry", "rotational", "retry=0.95", "read:128K,count=30"),
    alone("device.retry", "rotational:rpm=5400", "retry=0.3", "read:128K,count=300"),
    alone("device.retry", "rotational:rpm=10000", "retry=0.5", "read:64K,count=200"),
    alone("device.slow", "rotational", "slow=8", "read:128K,count=300"),
    alone("device.slow", "rotational", "slow=5", "read:4K,random,count=300"),
    alone("device.slow", "rotational", "slow=3", "read:128K,count=300"),
    alone("device.slow", "network", "slow=6", "read:4K,random,count=300"),
    alone("device.slow", "ssd", "slow=30", "read:4K,random,count=300"),
    alone("device.stall", "rotational", "stall=2s/600ms", "read:128K,count=5000"),
    alone("device.stall", "ssd", "stall=500ms/150ms", "read:4K,random,depth=4,count=40000"),
    alone("healthy", "network", "", "read:4K,random,depth=2,count=600"),
    alone("healthy", "rotational", "", "read:128K,count=300"),
    alone("healthy", "rotational", "", "read:4K,random,count=300"),
    alone("healthy", "rotational:rpm=5400", "", "read:4K,random,count=100"),
    alone("healthy", "rotational:rpm=15000,seek=4ms", "", "read:16K,random,count=100"),
    alone("healthy", "rotational", "", "read:4K,random,rate=20,count=300"),
    alone("healthy", "rotational:cache=32M", "", "write:64K,count=300,rate=200"),
    alone("healthy", "ssd", "", "read:4K,random,depth=8,count=2000"),
    alone("healthy", "ssd", "", "read:128K,count=300"),
    alone("healthy", "ssd", "", "write:4K,random,count=1000"),
    Scenario { peers: 16, ..alone("healthy", "rotational", "", "read:8K,random,count=200") },
    Scenario { peers: 30, ..alone("healthy", "rotational", "", "read:8K,random,count=50") },
    alone("load.missed-turn", "rotational", "", "write:1K,count=300"),
    alone("load.missed-turn", "rotational:rpm=15000", "", "write:4K,count=300"),
    alone("load.saturated", "rotational", "", "read:4K,random,depth=32,count=2000"),
    alone("load.saturated", "rotational", "", "read:4K,random,rate=120,count=3000"),
    alone("load.saturated", "ssd", "", "read:4K,random,depth=512,count=20000"),
    alone("load.small-sync", "rotational:cache=32M", "", "write:8K,count=3000"),
    Scenario {
        peers: 16,
        ..alone("peer.outlier", "rotational", "slow=2.5", "read:8K,random,count=200")
    },
    Scenario { peers: 11, ..alone("peer.outlier", "ssd", "slow=2", "read:4K,random,count=200") },
];

impl Scenario {
    /// The listing, and the first disk's name in it.
    ///
    /// # Errors
    /// If the scenario is written wrong.
    pub fn listing(&self, seed: u64) -> Result<(String, String), String> {
        let model = Model::parse(self.model)?;
        let load = Load::parse(self.load)?;
        let sick = match self.disease {
            "" => Vec::new(),
            disease => vec![Disease::parse(disease)?],
        };
        let mut seen = Vec::new();
        for place in 0..=self.peers {
            let seed = seed * 1000 + u64::from(place);
            let diseases: &[Disease] = if place == 0 { &sick } else { &[] };
            let mut disk = Disk::new(model.mechanism(BYTES), diseases, seed, 0);
            let device = model.device(place);
            let done = load.run(&mut disk, BYTES, seed).into_iter();
            let named = |(request, served)| Seen { device: device.clone(), request, served };
            seen.extend(done.map(named));
        }
        Ok((biosnoop(&seen), model.device(0)))
    }

    /// The first verdict about the first disk; `-` if there is none.
    ///
    /// # Errors
    /// If the scenario is written wrong, or its listing is not read.
    pub fn judged(&self, seed: u64) -> Result<&'static str, String> {
        let (text, device) = self.listing(seed)?;
        let mut recording = Recording::new();
        iowhy_read::scan("simulated", &mut text.as_bytes(), None, &mut recording)
            .map_err(|error| error.to_string())?;
        let device = recording.find_device(&device);
        let findings = iowhy_diagnose::judge(&recording, &iowhy_diagnose::Options::default());
        // A finding about the input as a whole is about this disk too.
        let about = |subject: Option<_>| subject.is_none() || subject == device;
        let first = findings.iter().find(|finding| about(finding.subject.device));
        Ok(first.map_or("-", |finding| finding.verdict))
    }
}

/// What came of all scenarios.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Per scenario the verdicts given, with how often.
    pub given: Vec<(Scenario, BTreeMap<&'static str, usize>)>,
}

impl Score {
    /// Judges every scenario with so many seeds.
    ///
    /// # Errors
    /// If a scenario is written wrong.
    pub fn of(seeds: u64) -> Result<Score, String> {
        let mut score = Score::default();
        for scenario in SCENARIOS {
            let mut given = BTreeMap::new();
            for seed in 1..=seeds {
                *given.entry(scenario.judged(seed)?).or_insert(0) += 1;
            }
            score.given.push((*scenario, given));
        }
        Ok(score)
    }

    /// Judgements that were right, and all.
    pub fn right(&self) -> (usize, usize) {
        let right = |(scenario, given): &(Scenario, BTreeMap<&str, usize>)| {
            given.get(scenario.verdict).copied().unwrap_or(0)
        };
        let all = self.given.iter().flat_map(|(_, given)| given.values()).sum();
        (self.given.iter().map(right).sum(), all)
    }

    /// Healthy disks whose device was accused: the costly error, for drives get replaced.
    pub fn false_accusations(&self) -> usize {
        let innocent = |scenario: &Scenario| scenario.disease.is_empty();
        let accusing =
            |verdict: &str| verdict.starts_with("device.") || verdict.starts_with("peer.");
        let given = self.given.iter().filter(|(scenario, _)| innocent(scenario));
        let accused = given.flat_map(|(_, given)| given).filter(|(verdict, _)| accusing(verdict));
        accused.map(|(_, count)| count).sum()
    }

    /// The table.
    pub fn table(&self) -> String {
        let mut out = format!("{:<17} {:>6}  {:<28} disk and load\n", "owed", "right", "else");
        for (scenario, given) in &self.given {
            let all: usize = given.values().sum();
            let right = given.get(scenario.verdict).copied().unwrap_or(0);
            let others = given.iter().filter(|(verdict, _)| **verdict != scenario.verdict);
            let others: Vec<String> =
                others.map(|(verdict, count)| format!("{verdict} x{count}")).collect();
            let _ = writeln!(
                out,
                "{:<17} {:>6}  {:<28} {} {} {} peers={}",
                scenario.verdict,
                format!("{right}/{all}"),
                others.join(", "),
                scenario.model,
                scenario.disease,
                scenario.load,
                scenario.peers,
            );
        }
        let (right, all) = self.right();
        let _ = writeln!(
            out,
            "{right} of {all} right, {} false accusations of a healthy disk",
            self.false_accusations()
        );
        out
    }
}
