//! `iowhy-fleet score`: what `why` accuses beside what is true of a generated fleet, and beside two
//! plain ways.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::command::Status;
use crate::why::hours::{self, Disks};
use crate::why::{Subject, accusations};

/// Which fleet.
#[derive(Args, Clone, Debug)]
pub struct Score {
    /// A folder that `iowhy-fleet make` wrote, with its `truth.csv`
    pub folder: PathBuf,
    /// How early faults are seen: judges what was known at the end of each day
    #[arg(long)]
    pub early: bool,
}

/// A disk's host and name.
type Name = (String, String);

/// What is true.
#[derive(Default)]
struct Truth {
    faulty: BTreeSet<Name>,
    /// The hour from which on each of them is.
    since: BTreeMap<Name, f64>,
    hot: BTreeSet<Name>,
    firmwares: BTreeSet<(String, String)>,
    hosts: BTreeSet<String>,
    generations: usize,
}

impl Score {
    /// Compares, and prints a table.
    ///
    /// # Errors
    /// If the folder is not one that was generated.
    pub fn run(&self) -> anyhow::Result<Status> {
        let truth = truth(&self.folder.join("truth.csv"))?;
        let disks = hours::read(&[self.folder.as_path().into()])?;
        if self.early {
            return early(&disks, &truth);
        }
        let verdicts = accusations::judge(&disks);
        let name = |place: usize| -> Name {
            (disks.disks[place].host.clone(), disks.disks[place].device.clone())
        };
        let (mut ours, mut firmwares, mut others) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut hosts = BTreeSet::new();
        // Disks that are accused by what they share with others, unless that is bad.
        let mut with_others = BTreeSet::new();
        for one in &verdicts.accused {
            let bad = match &one.whom {
                Subject::Firmware(model, firmware, _) => {
                    truth.firmwares.contains(&(model.clone(), firmware.clone()))
                }
                Subject::Host(host) => truth.hosts.contains(host),
                // A disk of a faulty host is slow, and not by itself.
                Subject::Disk(place) => truth.hosts.contains(&disks.disks[*place].host),
                _ => false,
            };
            if !bad {
                with_others.extend(one.disks(&disks).into_iter().map(name));
            }
            match &one.whom {
                Subject::Disk(place) if bad && !truth.faulty.contains(&name(*place)) => {}
                Subject::Disk(place) => drop(ours.insert(name(*place))),
                Subject::Firmware(model, firmware, _) => {
                    firmwares.insert((model.clone(), firmware.clone()));
                }
                Subject::Host(host) => drop(hosts.insert(host.clone())),
                Subject::Model(_) | Subject::Label(..) => others += 1,
            }
        }
        let months = disks.disks.len() as f64 * disks.hours as f64 / 24.0 / 30.0;
        let out = &mut std::io::stdout().lock();
        writeln!(
            out,
            "| way | accused | right | precision | recall | hot disks accused | false accusations \
             per 1000 disk-months |"
        )?;
        writeln!(out, "| --- | --: | --: | --: | --: | --: | --: |")?;
        let mut line = |way: &str, of: &BTreeSet<Name>, named: &BTreeSet<Name>| {
            let right = of.intersection(&truth.faulty).count();
            let hot = of.intersection(&truth.hot).count();
            let share = |part: usize, whole: usize| match whole {
                0 => "-".to_string(),
                whole => format!("{:.3}", part as f64 / whole as f64),
            };
            writeln!(
                out,
                "| {way} | {} | {right} | {} | {} | {hot} | {:.2} |",
                of.len(),
                share(right, of.len()),
                share(right, truth.faulty.len()),
                1000.0 * named.difference(&truth.faulty).count() as f64 / months
            )
        };
        line("`iowhy-fleet why`", &ours, &with_others)?;
        for (way, of) in plain(&disks) {
            line(way, &of, &of)?;
        }
        let right = firmwares.intersection(&truth.firmwares).count();
        let of_hosts = hosts.intersection(&truth.hosts).count();
        writeln!(
            out,
            "\n{} disks on {} hosts, {} hours, {} of them faulty, {} hot. Firmwares accused: {}, \
             of {} bad ones {right}; hosts: {}, \
             of {} faulty ones {of_hosts}. Models and labels accused, none of which is bad: \
             {others}. Groups of hosts noted: {}, of \
             {} hidden generations. Disks of what is accused and not bad count as false \
             accusations, too.",
            disks.disks.len(),
            crate::why::words::hosts(&disks),
            disks.hours,
            truth.faulty.len(),
            truth.hot.len(),
            firmwares.len(),
            truth.firmwares.len(),
            hosts.len(),
            truth.hosts.len(),
            verdicts.generations.len(),
            truth.generations
        )?;
        out.flush()?;
        Ok(Status::Done)
    }
}

/// What was known at the end of a day.
fn until(disks: &Disks, day: usize) -> Disks {
    let mut known = disks.clone();
    known.hours = (day * 24).min(disks.hours);
    for hours in known.disks.iter_mut().flat_map(|disk| &mut disk.hours) {
        hours.truncate(known.hours);
    }
    known
}

/// For each way and number of days since a fault began: of the faulty disks that were known for so
/// long, those that were accused by then; and all healthy disks that were accused on any day.
fn early(disks: &Disks, truth: &Truth) -> anyhow::Result<Status> {
    let days = disks.hours.div_ceil(24);
    // By way: the day on which each disk was accused first, since its fault began or before it.
    let mut first: Vec<(&str, BTreeMap<Name, usize>)> = Vec::new();
    for day in 1..=days {
        let known = until(disks, day);
        let verdicts = accusations::judge(&known);
        let named = |place: usize| -> Name {
            (known.disks[place].host.clone(), known.disks[place].device.clone())
        };
        let ours = verdicts.accused.iter().filter_map(|one| match &one.whom {
            Subject::Disk(place) => Some(named(*place)),
            _ => None,
        });
        let mut ways = vec![("`iowhy-fleet why`", ours.collect::<BTreeSet<Name>>())];
        ways.extend(plain(&known));
        first.resize(ways.len(), ("", BTreeMap::new()));
        for ((way, seen), (name, accused)) in first.iter_mut().zip(ways) {
            *way = name;
            for disk in accused {
                let began = truth.since.get(&disk).is_none_or(|since| *since < day as f64 * 24.0);
                if began {
                    seen.entry(disk).or_insert(day);
                }
            }
        }
    }
    let out = &mut std::io::stdout().lock();
    let heads: String = (1..=days).map(|day| format!(" {day} |")).collect();
    writeln!(out, "| way | healthy disks accused |{heads}")?;
    writeln!(out, "| --- | --: |{}", " --: |".repeat(days))?;
    let known = |since: f64, after: usize| since / 24.0 + after as f64 <= days as f64;
    for (way, seen) in &first {
        let wrong = seen.keys().filter(|disk| !truth.faulty.contains(disk)).count();
        let of_day = |after: usize| {
            let watched = truth.since.iter().filter(|(_, since)| known(**since, after));
            let (mut all, mut found) = (0, 0);
            for (disk, since) in watched {
                all += 1;
                let by = since / 24.0 + after as f64;
                found += usize::from(seen.get(disk).is_some_and(|day| *day as f64 <= by.ceil()));
            }
            format!(" {found} of {all} |")
        };
        let cells: String = (1..=days).map(of_day).collect();
        writeln!(out, "| {way} | {wrong} |{cells}")?;
    }
    writeln!(
        out,
        "\nFaulty disks found within so many days of the fault's first hour, of those watched for \
         so long.\n"
    )?;
    before_the_end(out, days, &first, truth)?;
    out.flush()?;
    Ok(Status::Done)
}

/// For each way and number of days before the end: of the disks whose fault had begun, those that
/// were accused by then, and the healthy disks that were.
fn before_the_end(
    out: &mut impl Write,
    days: usize,
    first: &[(&str, BTreeMap<Name, usize>)],
    truth: &Truth,
) -> anyhow::Result<()> {
    let heads: String = (0..days).map(|before| format!(" {before} |")).collect();
    writeln!(out, "| way, days before the end |{heads}")?;
    writeln!(out, "| --- |{}", " --: |".repeat(days))?;
    for (way, seen) in first {
        let cell = |day: usize| {
            let by_then = |disk: &Name| seen.get(disk).is_some_and(|first| *first <= day);
            let begun = truth.since.iter().filter(|(_, since)| **since < day as f64 * 24.0);
            let begun: Vec<&Name> = begun.map(|(disk, _)| disk).collect();
            let found = begun.iter().filter(|disk| by_then(disk)).count();
            let is_wrong = |disk: &&Name| by_then(disk) && !truth.faulty.contains(*disk);
            let wrong = seen.keys().filter(is_wrong).count();
            format!(" {found} of {}, {wrong} false |", begun.len())
        };
        let cells: String = (0..days).map(|before| cell(days - before)).collect();
        writeln!(out, "| {way} |{cells}")?;
    }
    writeln!(
        out,
        "\nFaulty disks accused by so many days before the end, of those whose fault had begun; \
         healthy disks accused by then."
    )?;
    Ok(())
}

/// Two ways that do not look at load: mean latency of all reads above twice the median of the class
/// of disks, and above three standard deviations of its model.
fn plain(disks: &Disks) -> Vec<(&'static str, BTreeSet<Name>)> {
    let mean = |place: usize| {
        let hours = disks.disks[place].hours[0].iter().flatten();
        let (mut sum, mut ios) = (0.0, 0.0);
        for hour in hours {
            sum += hour.latency.exp() * hour.ios as f64;
            ios += hour.ios as f64;
        }
        (ios > 0.0).then(|| sum / ios)
    };
    let mut models: BTreeMap<&str, Vec<(usize, f64)>> = BTreeMap::new();
    for (place, disk) in disks.disks.iter().enumerate() {
        models.entry(&disk.model).or_default().extend(mean(place).map(|mean| (place, mean)));
    }
    let (mut threshold, mut deviation) = (BTreeSet::new(), BTreeSet::new());
    for members in models.values() {
        let n = members.len() as f64;
        let average = members.iter().map(|(_, mean)| mean).sum::<f64>() / n;
        let variance = members.iter().map(|(_, mean)| (mean - average).powi(2)).sum::<f64>() / n;
        let mut sorted: Vec<f64> = members.iter().map(|(_, mean)| *mean).collect();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY);
        for (place, mean) in members {
            let name = (disks.disks[*place].host.clone(), disks.disks[*place].device.clone());
            if *mean > 2.0 * middle {
                threshold.insert(name.clone());
            }
            if (mean - average) > 3.0 * variance.sqrt() {
                deviation.insert(name);
            }
        }
    }
    vec![
        ("mean above twice the model's median", threshold),
        ("mean above three standard deviations of the model", deviation),
    ]
}

fn truth(path: &std::path::Path) -> anyhow::Result<Truth> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!("cannot read `{}`: `iowhy-fleet make` writes it", path.display())
    })?;
    let mut truth = Truth::default();
    for line in text.lines().skip(1) {
        let values: Vec<&str> = line.split(',').collect();
        let [host, device, model, firmware, what, since, ..] = values[..] else { continue };
        let name = (host.to_string(), device.to_string());
        match what {
            "faulty" => {
                truth.since.insert(name.clone(), since.parse()?);
                truth.faulty.insert(name);
            }
            "hot" => drop(truth.hot.insert(name)),
            "generation" => truth.generations += 1,
            "host" => drop(truth.hosts.insert(host.to_string())),
            "firmware" => drop(truth.firmwares.insert((model.to_string(), firmware.to_string()))),
            _ => {}
        }
    }
    Ok(truth)
}
