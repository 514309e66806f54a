//! Scenarios with a known fault: disks, loads, what a tracer would have recorded of them, and the
//! truth.
//!
//! A recipe turns chance into a [`Plan`]: disks, faults, load, and the expected verdict.
//! [`Scenario::of`] plays the plan. The recipes were written from the taxonomy alone, by an author
//! who had not read the detectors.
//!
//! **Must never know:** a detector, a measure, a threshold of theirs.

mod bursts;
mod cap;
mod chance;
mod compound;
mod confounders;
mod cure;
mod device;
mod effect;
mod evidence;
mod flash;
mod healthy;
mod host;
mod layers;
mod limits;
mod load;
mod loads;
mod media_and_path;
mod misleading;
mod mixes;
mod parts;
mod peers;
mod reports;
mod shared;
mod writeback;

pub use chance::Chance;
pub use effect::{Effect, Heat};
pub use evidence::{LogEvent, Port, Trace};
pub use host::{Host, Limit};
pub use load::{Call, Done, Pace, Place, Stream};

use iowhy_model::{Level, Medium};

use crate::disk::{Disk, Fault, Model};
use effect::DiskWithEffects;
use host::Bench;

/// The levels that a scenario is rendered at.
pub const LEVELS: [Level; 5] = Level::ALL;

/// The expected verdict.
#[derive(Clone, PartialEq, Debug)]
pub struct Truth {
    /// The expected verdict.
    pub verdict: &'static str,
    /// Verdicts that are right too: a second fault, or the same thing seen from another side.
    pub also: Vec<&'static str>,
    /// The index of the faulty device, if one is faulty.
    pub device: Option<usize>,
    /// Whether a disk is faulty. If none is, accusing one is the costly error.
    pub faulty: bool,
    /// The spindle speed, where it is the point.
    pub rpm: Option<u64>,
    /// The limit of the volume: requests or bytes per second.
    pub limit: Option<u64>,
}

impl Truth {
    /// No disk is faulty, and that is the verdict.
    pub fn sound(verdict: &'static str) -> Truth {
        Truth { verdict, also: Vec::new(), device: None, faulty: false, rpm: None, limit: None }
    }

    /// The disk with this index is faulty.
    pub fn faulty(verdict: &'static str, device: usize) -> Truth {
        Truth { faulty: true, device: Some(device), ..Truth::sound(verdict) }
    }

    /// The same with other right answers.
    #[must_use]
    pub fn or(mut self, also: &[&'static str]) -> Truth {
        self.also.extend(also);
        self
    }
}

/// What is wrong with the report, if the report is wrong.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Quirk {
    /// Nothing.
    None,
    /// `aqu-sz` is off by this factor.
    Queue(f64),
    /// Bytes per second are off by this factor.
    Bytes(f64),
    /// Latencies of a second listing of the same time are off by this factor.
    Elsewhere(f64),
    /// Completions are only noticed at ticks of this many ns, for that share of the requests.
    Timer(u64, f64),
}

/// A disk and its load before anything happened.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name.
    pub name: String,
    /// Its model.
    pub medium: Medium,
    /// The model, as on the command line.
    pub model: String,
    /// Its faults, likewise.
    pub faults: Vec<String>,
    /// Its loads.
    pub streams: Vec<Stream>,
    /// Further effects on its requests.
    pub effects: Vec<Effect>,
    /// How the host treats it.
    pub host: Host,
}

/// A scenario before anything happened.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The truth.
    pub truth: Truth,
    /// The disks.
    pub disks: Vec<Setup>,
    /// How long it is watched, seconds.
    pub seconds: f64,
    /// Most requests of one disk.
    pub most: usize,
    /// How many of each disk's a per-event tool listed before it was ended.
    pub listed: usize,
    /// What is wrong with the report.
    pub quirk: Quirk,
    /// What it leaves behind in logs, health records and settings.
    pub traces: Vec<Trace>,
}

impl Plan {
    /// One disk, watched for this long, with this many of its requests listed singly.
    pub fn of(truth: Truth, disk: Setup, seconds: f64, listed: usize) -> Plan {
        Plan { listed, ..Plan::shelf(truth, vec![disk], seconds) }
    }

    /// Some disks, watched for this long.
    pub fn shelf(truth: Truth, disks: Vec<Setup>, seconds: f64) -> Plan {
        Plan {
            truth,
            disks,
            seconds,
            most: MOST,
            listed: MOST,
            quirk: Quirk::None,
            traces: Vec::new(),
        }
    }

    /// With these traces too.
    #[must_use]
    pub fn leaves(mut self, traces: impl IntoIterator<Item = Trace>) -> Plan {
        self.traces.extend(traces);
        self
    }
}

/// Requests of a disk after which a scenario ends in any case, so that the lab does too.
const MOST: usize = 12_000;

/// A recipe for scenarios.
#[derive(Clone, Copy)]
pub struct Recipe {
    /// Its name.
    pub name: &'static str,
    /// The verdict expected of its scenarios.
    pub verdict: &'static str,
    /// Whether it is only there to mislead.
    pub confounds: bool,
    /// Whether a second fault may come to it.
    pub compounds: bool,
    /// The levels at which an expert could decide, or decide that the input is too poor.
    pub levels: &'static [Level],
    /// Makes a plan.
    pub plan: fn(&mut Chance) -> Plan,
}

/// An entry of a recipe table.
const fn recipe(
    verdict: &'static str,
    name: &'static str,
    plan: fn(&mut Chance) -> Plan,
) -> Recipe {
    Recipe { name, verdict, confounds: false, compounds: false, levels: &LEVELS, plan }
}

/// An entry to which a second fault may come.
const fn compound(
    verdict: &'static str,
    name: &'static str,
    plan: fn(&mut Chance) -> Plan,
) -> Recipe {
    Recipe { compounds: true, ..recipe(verdict, name, plan) }
}

/// An entry whose verdict is about averages.
const fn at_a(verdict: &'static str, name: &'static str, plan: fn(&mut Chance) -> Plan) -> Recipe {
    Recipe { levels: &[Level::A], ..recipe(verdict, name, plan) }
}

/// An entry that cannot be interpreted without the disk's medium.
const fn at_d(verdict: &'static str, name: &'static str, plan: fn(&mut Chance) -> Plan) -> Recipe {
    Recipe { levels: &[Level::D, Level::E], ..recipe(verdict, name, plan) }
}

/// An entry that is there to mislead.
const fn misleading(
    verdict: &'static str,
    name: &'static str,
    plan: fn(&mut Chance) -> Plan,
) -> Recipe {
    Recipe { confounds: true, ..recipe(verdict, name, plan) }
}

/// All recipes.
pub fn recipes() -> Vec<Recipe> {
    let tables: [&[Recipe]; 16] = [
        bursts::RECIPES,
        cap::RECIPES,
        device::RECIPES,
        media_and_path::RECIPES,
        flash::RECIPES,
        healthy::RECIPES,
        layers::RECIPES,
        limits::RECIPES,
        loads::RECIPES,
        mixes::RECIPES,
        peers::RECIPES,
        reports::RECIPES,
        shared::RECIPES,
        writeback::RECIPES,
        confounders::RECIPES,
        misleading::RECIPES,
    ];
    tables.concat()
}

/// A disk and what became of its requests, in order of issue.
#[derive(Clone, Debug)]
pub struct DiskRun {
    /// What it is.
    pub setup: Setup,
    /// The requests.
    pub done: Vec<Done>,
    /// The system calls that were traced beside them.
    pub calls: Vec<Call>,
    /// Its temperature, if it moved.
    pub heat: Option<Heat>,
}

/// A scenario that happened.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The recipe's name.
    pub recipe: &'static str,
    /// The truth.
    pub truth: Truth,
    /// The disks.
    pub disks: Vec<DiskRun>,
    /// How long it was watched, ns.
    pub span: u64,
    /// What is wrong with the report.
    pub quirk: Quirk,
    /// How many requests of each disk a per-event tool listed.
    pub listed: usize,
    /// Share of the events that the tracer lost.
    pub lost: f64,
    /// What it left behind in logs, health records and settings.
    pub traces: Vec<Trace>,
    /// Chooses what a renderer is free to vary.
    pub taste: u64,
}

/// Share of the scenarios whose tracer lost events, and how many of them at most: the method
/// tolerates a tenth (docs/METHOD.md, 1 Replay).
const LOSSY: (f64, f64) = (0.2, 0.08);
/// Share of the scenarios that may have a second fault and do.
const TWICE: f64 = 0.15;
/// Size of every disk: document dusty_disk's had 80 GB.
const BYTES: u64 = 80 << 30;

impl Scenario {
    /// Runs a recipe.
    ///
    /// # Errors
    /// If the recipe names a disk or a fault that does not exist.
    pub fn of(recipe: &Recipe, seed: u64) -> Result<Scenario, String> {
        Scenario::lived(recipe, seed, |_| {})
    }

    /// The same load after the remedy that the expected finding advises. A second fault stays.
    ///
    /// # Errors
    /// If the recipe names a disk that does not exist.
    pub fn cured(recipe: &Recipe, seed: u64) -> Result<Scenario, String> {
        Scenario::lived(recipe, seed, cure::cure)
    }

    fn lived(recipe: &Recipe, seed: u64, change: fn(&mut Plan)) -> Result<Scenario, String> {
        let mut chance = Chance::new(seed);
        let mut plan = (recipe.plan)(&mut chance);
        change(&mut plan);
        if recipe.compounds && chance.chance(TWICE) {
            plan = compound::second(plan, &mut chance);
        }
        let span = (plan.seconds * 1e9) as u64;
        let mut disks = Vec::new();
        for setup in plan.disks {
            let model = Model::parse(&setup.model)?;
            let faults: Result<Vec<Fault>, String> =
                setup.faults.iter().map(|text| Fault::parse(text)).collect();
            let disk = Disk::new(model.mechanism(BYTES), &faults?, chance.bits(), 0);
            let mut body = DiskWithEffects::new(disk, setup.effects.clone(), model.rotates());
            let bench = Bench { bytes: BYTES, host: setup.host, span, most: plan.most };
            let (mut done, calls) = bench.run(&mut body, &setup.streams, &mut chance);
            if let Quirk::Timer(tick, share) = plan.quirk {
                done.iter_mut().filter(|_| chance.chance(share)).for_each(|done| {
                    done.completed = done.completed.div_ceil(tick) * tick;
                });
            }
            let heat = body.effects.into_iter().find_map(|effect| match effect {
                Effect::Heat(heat) => Some(heat),
                _ => None,
            });
            disks.push(DiskRun { setup, done, calls, heat });
        }
        let lost = if chance.chance(LOSSY.0) { chance.scale(0.002, LOSSY.1) } else { 0.0 };
        let taste = chance.bits();
        let (recipe, truth, quirk, listed) = (recipe.name, plan.truth, plan.quirk, plan.listed);
        let traces = plan.traces;
        Ok(Scenario { recipe, truth, disks, span, quirk, listed, lost, traces, taste })
    }

    /// The same scenario, watched until each disk had this much requested of it.
    #[must_use]
    pub fn first(&self, requests: usize) -> Scenario {
        let mut scenario = self.clone();
        for disk in &mut scenario.disks {
            disk.done.truncate(requests);
            disk.calls.truncate(requests);
        }
        scenario.span = scenario.end().min(scenario.span);
        scenario
    }

    /// How long the machine was up when the watching began, ns: a day to a month.
    pub fn uptime(&self) -> u64 {
        (86_400 + self.taste % 2_500_000) * 1_000_000_000
    }

    /// When the last request was done, ns.
    pub fn end(&self) -> u64 {
        let done = self.disks.iter().flat_map(|disk| &disk.done);
        done.map(|done| done.completed).max().unwrap_or(0)
    }

    /// Share of the latency above healthy service that the fault caused, over the faulty disk.
    pub fn share(&self) -> Option<f64> {
        let done = &self.disks.get(self.truth.device?)?.done;
        let (faulty, wait) = done
            .iter()
            .fold((0, 0), |(faulty, wait), done| (faulty + done.delayed, wait + done.waited));
        (faulty + wait > 0).then(|| faulty as f64 / (faulty + wait) as f64)
    }
}
