//! What does it blame? Healthy, load or device, over scenarios that the judge was not tuned on:
//! another simulator, other ranges, mixed loads, write-back, background scrubs, caches, cloud
//! jitter. No answer counts as a miss.

use std::fmt::Write;

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Blame, Finding, Medium, Recording};

use super::felt;
pub use super::parts::{ClassService, Scenario, Side};
use super::parts::{asks, beside, lookups};
use super::print::{biolatency, biosnoop, iostat};
use super::queue::{Asker, Device, Io, Pace};
use crate::scenarios::Chance;
use crate::score::of_all;

/// Which author's worlds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum World {
    /// Gross faults.
    Plain,
    /// Faults as users notice them ([`felt`]): of a part of the requests or of the time, and of
    /// any size.
    Felt,
}

/// The worlds in the order of the tables.
pub const WORLDS: [World; 2] = [World::Plain, World::Felt];

/// The sides in the order of the tables.
const SIDES: [Side; 3] = [Side::Healthy, Side::Load, Side::Device];

/// What of a scenario is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// A log of single I/Os.
    Log,
    /// A log, and what the disk is made of.
    Told,
    /// Averages of a second each.
    Averages,
    /// A histogram of the disk's latencies.
    Histogram,
}

/// What is shown, in the order of the tables.
pub const SHOWN: [Shown; 4] = [Shown::Log, Shown::Told, Shown::Averages, Shown::Histogram];

/// Requests after which a scenario ends in any case.
const MOST: usize = 24_000;
/// How many service times a request waits at least where the load is to blame, and at most where
/// nobody is.
const WAITS: f64 = 5.0;
const HARDLY: f64 = 2.5;
/// Freezes that make a device freeze now and then.
const FREEZES: usize = 3;

/// A scenario by its number, whose truth can be seen in it.
pub fn scenario(world: World, number: usize) -> Scenario {
    let attempt = match world {
        World::Plain => attempt,
        World::Felt => felt::attempt,
    };
    let mut chance = Chance::new(0x7177_0000 + number as u64 * 7919 + ((world as u64) << 40));
    // Most machines are healthy: two in five scenarios.
    let side = [Side::Healthy, Side::Healthy, Side::Load, Side::Device, Side::Device];
    let side = side[number % side.len()];
    loop {
        if let Some(scenario) = attempt(side, &mut chance) {
            return scenario;
        }
    }
}

fn attempt(side: Side, chance: &mut Chance) -> Option<Scenario> {
    let mut made = ClassService::any(chance);
    let listed = chance.scale(60.0, 4000.0) as usize;
    let seconds = chance.even(3.0, 30.0);
    if side == Side::Load {
        made.servers = made.servers.min(2);
    }
    let share = chance.even(0.05, 0.4);
    let mut askers = vec![lookups(chance, made, share)];
    let mut freezes = Vec::new();
    let mut factor = 1.0;
    let mut hits = 0.0;
    let mut retry = 0.0;
    let mut servers = made.servers;
    let name = match (side, chance.whole(0, 3)) {
        (Side::Healthy, 0) if made.medium == Medium::Rotational => {
            hits = chance.even(0.5, 0.9);
            "cache before a platter"
        }
        (Side::Healthy, 1) => {
            let pace = Pace::Closed(1, made.mean() * chance.scale(0.1, 4.0));
            askers = vec![asks("tar", false, 131_072, true, pace)];
            "scan"
        }
        (Side::Healthy, _) => {
            beside(chance, made, &mut askers);
            "lookups"
        }
        (Side::Load, 0) => {
            let many = chance.whole(20, 120) * servers.min(8);
            let drain = many as f64 * made.mean() / servers as f64;
            let pace = Pace::Batches(many, drain * chance.even(1.5, 5.0));
            askers.push(asks("kworker/u8:1", true, 16_384, false, pace));
            "writeback in batches"
        }
        (Side::Load, 1) => {
            askers = vec![lookups(chance, made, 1.0)];
            let rate = servers as f64 * 1e3 / made.mean() * chance.even(1.05, 2.0);
            askers[0].pace = Pace::Open(rate);
            "load above the capacity"
        }
        (Side::Load, _) => {
            askers[0].pace = Pace::Closed(servers * chance.whole(6, 24), 0.0);
            beside(chance, made, &mut askers);
            "deep queue"
        }
        (Side::Device, 0) => {
            let every = chance.scale(900.0, 4000.0);
            let length = every * chance.even(0.08, 0.4);
            let spans = (1..200).map(|k| (f64::from(k) * every, length * chance.even(0.8, 1.2)));
            freezes = spans.collect();
            "freezes"
        }
        (Side::Device, 1) if made.medium == Medium::Rotational => {
            retry = chance.even(0.2, 0.6);
            let pace = Pace::Closed(1, chance.scale(0.05, 2.0));
            askers = vec![asks("cp", false, 131_072, true, pace)];
            "retries"
        }
        (Side::Device, _) => {
            factor = match made.medium {
                Medium::Rotational => chance.scale(5.0, 20.0),
                _ => chance.scale(30.0, 150.0),
            };
            servers = servers.min(2);
            let depth = chance.whole(1, 8);
            let think = made.mean() * factor * chance.even(0.0, 0.5);
            askers[0].pace = Pace::Closed(depth, think);
            "slow"
        }
    };
    let service = move |chance: &mut Chance, asker: &Asker, _: f64| {
        if chance.chance(hits) {
            return chance.even(0.08, 0.25);
        }
        let mut ms = made.service(chance, asker) * factor;
        while retry > 0.0 && chance.chance(retry) {
            ms += made.revolution;
        }
        ms
    };
    let device = Device { servers, service: &service, freezes };
    let ios = device.run(&askers, MOST, seconds, chance);
    let shown = &ios[..ios.len().min(listed)];
    let end = shown.last().map_or(0.0, |io| io.completed);
    let n = shown.len().max(1) as f64;
    let wait = shown.iter().map(Io::latency).sum::<f64>() / n;
    let own = shown.iter().map(|io| made.mean() + f64::from(io.bytes) / 400_000.0).sum::<f64>() / n;
    let met = device.freezes.iter().filter(|(from, length)| from + length < end).count();
    let plain = match side {
        Side::Healthy => wait < HARDLY * own,
        Side::Load => wait > WAITS * own,
        Side::Device => device.freezes.is_empty() || met >= FREEZES,
    };
    let long = ios.last().is_some_and(|io| io.completed > 2e3);
    (plain && long && shown.len() >= 40).then_some(Scenario {
        name,
        side,
        disk: made.disk,
        medium: made.medium,
        ios,
        listed,
    })
}

impl Scenario {
    /// What a log lists of it.
    pub fn listed(&self) -> &[Io] {
        &self.ios[..self.ios.len().min(self.listed)]
    }

    /// What a tool printed of it, and under which name that was kept.
    pub fn text(&self, shown: Shown) -> (&'static str, String) {
        match shown {
            Shown::Averages => ("iostat.txt", iostat(&self.ios, self.disk)),
            // Half of all pasted captures include the command.
            Shown::Histogram => {
                let command = self.ios.len().is_multiple_of(2);
                ("biolatency.txt", biolatency(&self.ios, self.disk, command))
            }
            Shown::Log | Shown::Told => ("biosnoop.txt", biosnoop(self.listed(), self.disk, false)),
        }
    }

    /// What the readers make of it.
    ///
    /// # Errors
    /// If nothing was recognised.
    pub fn recording(&self, shown: Shown) -> Result<Recording, String> {
        let (name, text) = self.text(shown);
        let mut recording = Recording::new();
        iowhy_read::scan(name, &mut text.as_bytes(), None, &mut recording)
            .map_err(|error| format!("{name}: {error}"))?;
        if let (Shown::Told, Some(device)) = (shown, recording.find_device(self.disk)) {
            recording.set_medium(device, self.medium);
        }
        Ok(recording)
    }
}

/// What the first finding blames, if there is one.
pub fn blamed(findings: &[Finding]) -> Option<Side> {
    let first = findings.first()?;
    match first.blames() {
        Blame::Nobody => Some(Side::Healthy),
        Blame::Workload | Blame::Limit | Blame::Configuration => Some(Side::Load),
        Blame::Disk | Blame::Path | Blame::DiskOrPath => Some(Side::Device),
        _ => None,
    }
}

/// One scenario as it was shown: the truth, and whom the judge blames.
#[derive(Clone, Debug)]
pub struct BlameCase {
    /// Whose world.
    pub world: World,
    /// Which scenario.
    pub number: usize,
    /// What it is.
    pub name: &'static str,
    /// What of it was shown.
    pub shown: Shown,
    /// The truth.
    pub side: Side,
    /// The answer.
    pub reported: Option<Side>,
    /// Whether it is a headline.
    pub stands: bool,
    /// Its name and confidence.
    pub verdict: String,
}

/// Judges this many scenarios.
///
/// # Errors
/// If a rendering is not read.
pub fn blame(scenarios: usize) -> Result<Vec<BlameCase>, String> {
    let numbers: Vec<(World, usize)> =
        WORLDS.iter().flat_map(|world| (0..scenarios).map(|number| (*world, number))).collect();
    of_all(&numbers, |(world, number)| {
        let scenario = scenario(*world, *number);
        let of = |shown: &Shown| {
            let findings = judge(&scenario.recording(*shown)?, &Options::default());
            let verdict = findings.first().map_or_else(String::new, |first| {
                format!("{} {:.2}", first.verdict, first.confidence())
            });
            let stands = findings.first().is_some_and(Finding::stands);
            let Scenario { name, side, .. } = scenario;
            Ok(BlameCase {
                world: *world,
                number: *number,
                name,
                shown: *shown,
                side,
                reported: blamed(&findings),
                stands,
                verdict,
            })
        };
        SHOWN.iter().map(of).collect()
    })
}

/// The mean of the three sides' F1.
pub fn macro_f1(blamed: &[BlameCase], world: World, shown: Shown) -> f64 {
    let here = |known: &&BlameCase| (known.world, known.shown) == (world, shown);
    let of: Vec<&BlameCase> = blamed.iter().filter(here).collect();
    let f1 = |side: Side| {
        let hits = of.iter().filter(|k| k.side == side && k.reported == Some(side)).count() as f64;
        let (expected, reported) = (
            of.iter().filter(|known| known.side == side).count() as f64,
            of.iter().filter(|known| known.reported == Some(side)).count() as f64,
        );
        if expected + reported > 0.0 { 2.0 * hits / (expected + reported) } else { 1.0 }
    };
    SIDES.iter().map(|side| f1(*side)).sum::<f64>() / SIDES.len() as f64
}

/// Of the faulty devices the share over which a headline shows that nothing is wrong.
pub fn cleared_wrongly(blamed: &[BlameCase], world: World, shown: Shown) -> f64 {
    let faulty =
        |known: &&BlameCase| (known.world, known.shown, known.side) == (world, shown, Side::Device);
    let of: Vec<&BlameCase> = blamed.iter().filter(faulty).collect();
    let cleared = |known: &&&BlameCase| known.stands && known.reported == Some(Side::Healthy);
    of.iter().filter(cleared).count() as f64 / of.len().max(1) as f64
}

/// The tables.
pub fn tables(blamed: &[BlameCase]) -> String {
    let mut out = String::new();
    for (world, shown) in WORLDS.into_iter().flat_map(|world| SHOWN.map(|shown| (world, shown))) {
        let whose = match world {
            World::Plain => "gross faults",
            World::Felt => "faults of realistic size",
        };
        let what = match shown {
            Shown::Log => "a log of single I/Os, medium unknown",
            Shown::Told => "a log of single I/Os, medium known",
            Shown::Averages => "iostat alone, medium unknown",
            Shown::Histogram => "a histogram alone, medium unknown",
        };
        let _ = writeln!(
            out,
            "## {whose}; {what}: macro-F1 {:.3}, HEALTHY as a headline over {:.1} % of faulty \
             devices\n",
            macro_f1(blamed, world, shown),
            100.0 * cleared_wrongly(blamed, world, shown)
        );
        let of: Vec<&BlameCase> =
            blamed.iter().filter(|known| (known.world, known.shown) == (world, shown)).collect();
        out.push_str(&sides(&of));
        out.push_str(&scenarios(&of));
    }
    out
}

/// What was reported of each side.
fn sides(of: &[&BlameCase]) -> String {
    let mut out =
        "| truth | healthy | load | device | no verdict |\n| --- | --- | --- | --- | --- |\n"
            .to_string();
    for side in SIDES {
        let count = |reported: Option<Side>| {
            of.iter().filter(|known| (known.side, known.reported) == (side, reported)).count()
        };
        let [a, b, c] = SIDES.map(|reported| count(Some(reported)));
        let _ = writeln!(out, "| {side:?} | {a} | {b} | {c} | {} |", count(None));
    }
    out
}

/// What was reported of each kind of scenario, and the most frequent wrong answers.
fn scenarios(all: &[&BlameCase]) -> String {
    let mut out =
        "\n| scenario | truth | right | said instead |\n| --- | --- | --- | --- |\n".to_string();
    let mut names: Vec<(&str, Side)> = all.iter().map(|known| (known.name, known.side)).collect();
    names.sort_by_key(|(name, side)| (*side as u8, *name));
    names.dedup();
    for (name, side) in names {
        let of: Vec<&&BlameCase> =
            all.iter().filter(|known| (known.name, known.side) == (name, side)).collect();
        let right = of.iter().filter(|known| known.reported == Some(side)).count();
        let mut wrong: Vec<(&str, usize)> = Vec::new();
        for known in of.iter().filter(|known| known.reported != Some(side)) {
            let reported = known.verdict.split(' ').next().unwrap_or_default();
            match wrong.iter_mut().find(|(other, _)| *other == reported) {
                Some((_, n)) => *n += 1,
                None => wrong.push((reported, 1)),
            }
        }
        wrong.sort_by_key(|(reported, n)| (std::cmp::Reverse(*n), *reported));
        let wrong: Vec<String> =
            wrong.iter().take(4).map(|(reported, n)| format!("{reported} {n}")).collect();
        let _ =
            writeln!(out, "| {name} | {side:?} | {right} of {} | {} |", of.len(), wrong.join(", "));
    }
    out.push('\n');
    out
}
