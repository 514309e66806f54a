//! Facts, findings and labels as rows of one long table.

use std::collections::{HashMap, HashSet};
use std::io;

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Fact, FactValue, Finding, Recording, key};

use super::files::{self, Files};
use super::schema::Table;
use crate::clock::Clock;

/// What kind of statement it is; sorted as the rows are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StatementKind {
    /// Read.
    Fact,
    /// Judged.
    Finding,
    /// Given by the user.
    Label,
}

impl StatementKind {
    fn word(self) -> &'static str {
        match self {
            StatementKind::Fact => "fact",
            StatementKind::Finding => "finding",
            StatementKind::Label => "label",
        }
    }
}

/// A row.
#[derive(Clone, PartialEq, Debug)]
pub struct Statement {
    /// When it was so, ns since 1970; `None`: all the time.
    pub at_ns: Option<i64>,
    /// The device, if it is about one.
    pub device: Option<String>,
    /// What kind of statement it is.
    pub kind: StatementKind,
    /// What it states.
    pub key: String,
    /// As printed.
    pub value: String,
    /// As a number.
    pub number: Option<f64>,
    /// The number's unit.
    pub unit: Option<&'static str>,
}

impl Statement {
    /// One that contains all the time.
    pub fn new(device: Option<String>, kind: StatementKind, key: &str, value: &str) -> Statement {
        Statement {
            at_ns: None,
            device,
            kind,
            key: key.to_string(),
            value: value.to_string(),
            number: None,
            unit: None,
        }
    }
}

/// Facts that several tools state under names of their own, and the name that fleets are compared
/// by.
const COMMON_NAMES: &[(&str, &[&str])] = &[
    ("firmware", &["device.firmware", "smart.firmware"]),
    ("kernel", &["host.kernel"]),
    ("model", &["device.model", "smart.model"]),
    ("size", &["device.bytes"]),
];

/// Stated clocks are used for the times of the rows.
const CLOCKS: &str = "clock";

/// The facts of a recording, and those that fleets are compared by under plain names.
pub(super) fn of_facts(recording: &Recording) -> Vec<Statement> {
    let mut rows = Vec::new();
    let name = |id: DeviceId| recording.device_of(id).name.clone();
    for (listing, clock) in recording.listings.iter().zip(Clock::of_each(recording)) {
        let zero = clock.map(|clock| clock.zero);
        let head = listing.source.host.as_deref().unwrap_or_default();
        // `web-17, Linux 6.1.0 x86_64, 4 CPU`: the head of a report.
        let release = head.split(", ").find_map(|part| part.strip_prefix("Linux "));
        if let Some(release) = release.and_then(|rest| rest.split_whitespace().next()) {
            rows.push(Statement::new(None, StatementKind::Fact, "host.kernel", release));
        }
        let stated = listing.facts.iter().filter(|fact| !fact.key.is_under(CLOCKS));
        rows.extend(stated.map(|fact| of_fact(fact, fact.device.map(name), zero)));
    }
    for (plain, keys) in COMMON_NAMES {
        let mut known: HashSet<Option<String>> = HashSet::new();
        for key in *keys {
            let stated = rows.iter().filter(|row| row.key == *key && !row.value.is_empty());
            let stated: Vec<Statement> = stated.cloned().collect();
            let new = stated.into_iter().filter(|row| known.insert(row.device.clone()));
            let plain: Vec<Statement> = new
                .map(|row| Statement { key: (*plain).to_string(), at_ns: None, ..row })
                .collect();
            rows.extend(plain);
        }
    }
    let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
    let media = facts.filter(|fact| fact.key == key::DEVICE_MEDIUM);
    let reported: HashMap<DeviceId, String> =
        media.filter_map(|fact| Some((fact.device?, fact.value.to_string()))).collect();
    for (place, device) in recording.devices().iter().enumerate() {
        let own = device.medium.map(|medium| medium.name().to_string());
        if let Some(class) = own.or_else(|| reported.get(&DeviceId::at(place as u32)).cloned()) {
            let name = Some(device.name.clone());
            rows.push(Statement::new(name, StatementKind::Fact, "class", &class));
        }
    }
    rows
}

fn of_fact(fact: &Fact, device: Option<String>, zero: Option<i64>) -> Statement {
    let unit = match fact.value {
        FactValue::Bytes(_) => Some("B"),
        FactValue::BytesPerSecond(_) => Some("B/s"),
        FactValue::BitsPerSecond(_) => Some("bit/s"),
        FactValue::PerSecond(_) => Some("/s"),
        FactValue::Duration(_) => Some("s"),
        FactValue::Celsius(_) => Some("°C"),
        FactValue::Date(_) => Some("s since 1970"),
        _ => None,
    };
    Statement {
        at_ns: fact.at.zip(zero).map(|(at, zero)| at.ns().saturating_add(zero)),
        number: fact.value.number(),
        unit,
        ..Statement::new(device, StatementKind::Fact, &fact.key.name(), &fact.value.to_string())
    }
}

/// A finding, a row for each device that it is about.
pub(super) fn of_finding(recording: &Recording, finding: &Finding) -> Vec<Statement> {
    let row = |device: Option<DeviceId>| Statement {
        number: Some(finding.confidence()),
        ..Statement::new(
            device.map(|id| recording.device_of(id).name.clone()),
            StatementKind::Finding,
            finding.verdict.name(),
            &finding.sentence,
        )
    };
    match (finding.subject.device, finding.subject.devices.as_slice()) {
        (None, [_, ..]) => finding.subject.devices.iter().map(|id| row(Some(*id))).collect(),
        (device, _) => vec![row(device)],
    }
}

/// Writes them: each on its day, those without a time on every day of the input.
pub(super) fn write(rows: Vec<Statement>, files: &mut Files) -> io::Result<()> {
    let mut placed: Vec<(i64, &Statement)> = Vec::new();
    let whole = files.all_days();
    for row in &rows {
        match row.at_ns {
            Some(at) if files.holds(at) => placed.push((files::day_of(at), row)),
            Some(_) => {}
            None => placed.extend(whole.iter().map(|day| (*day, row))),
        }
    }
    placed.order_by(|(a_day, a), (b_day, b)| {
        (a_day, &a.device, a.kind, &a.key, a.at_ns, &a.value)
            .cmp(&(b_day, &b.device, b.kind, &b.key, b.at_ns, &b.value))
    });
    placed.dedup();
    for run in placed.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((day, _)) = run.first() else { continue };
        files.write(Table::Facts, *day, run, |columns, (_, row)| {
            let [time, device, kind, key, value, number, unit] = columns else { return };
            time.number(row.at_ns.map(|at| at.div_euclid(1000)));
            device.text(row.device.as_deref().filter(|name| !name.is_empty()));
            kind.text(Some(row.kind.word()));
            key.text(Some(&row.key));
            value.text(Some(&row.value));
            number.real(row.number);
            unit.text(row.unit);
        })?;
    }
    Ok(())
}
