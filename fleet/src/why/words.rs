//! What `why` found, in words.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::accusations::{Accusation, PEERS, RATE, Subject, Verdicts};
use super::expected::{median, spread};
use super::generations::Generation;
use super::hours::{Disk, Disks, Hour, OPS};

/// A baseline's line for whatever device, and the least spread that one states (`crates/diagnose`).
const ANY: &str = "*";
const LEAST_SIGMA: f64 = 0.15;
/// Accusations of disks that are reported without `--verbose`.
const REPORTED: usize = 10;

/// Writes them for people.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    disks: &Disks,
    verdicts: &Verdicts,
    verbose: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (of_groups, of_disks): (Vec<&Accusation>, Vec<&Accusation>) =
        verdicts.accused.iter().partition(|one| !matches!(one.whom, Subject::Disk(_)));
    writeln!(out, "{}", headline(verdicts))?;
    writeln!(out, "{}", compared(disks, verdicts))?;
    if let Some(text) = averaged(disks) {
        writeln!(out, "{text}")?;
    }
    for one in &of_groups {
        writeln!(out, "\n{}", sentence(disks, one))?;
        writeln!(out, "  because     {}", evidence(one))?;
        writeln!(out, "  risk        {}", risk(disks, one))?;
        writeln!(out, "  wrong if    {}", refuted(one))?;
        writeln!(out, "  single I/Os {}", command(disks, one).unwrap_or_default())?;
    }
    let reported = if verbose { of_disks.len() } else { of_disks.len().min(REPORTED) };
    for one in &of_disks[..reported] {
        writeln!(out, "\n{}", sentence(disks, one))?;
        writeln!(out, "  because     {}", evidence(one))?;
        writeln!(out, "  risk        {}", risk(disks, one))?;
        if let Some(text) = figures(one) {
            writeln!(out, "  mean        {text}")?;
        }
        writeln!(out, "  wrong if    {}", refuted(one))?;
        writeln!(out, "  single I/Os {}", command(disks, one).unwrap_or_default())?;
    }
    if reported < of_disks.len() {
        writeln!(
            out,
            "\n{} more: -v shows all, --json for programs",
            many(of_disks.len() - reported, "disk")
        )?;
    }
    for (place, one) in verdicts.generations.iter().enumerate() {
        writeln!(out, "{}note: {}", if place == 0 { "\n" } else { "" }, generation(disks, one))?;
    }
    if verdicts.alone > 0 {
        writeln!(
            out,
            "\nnot compared: {}, of models with fewer than {PEERS} of them, at loads that no \
             others had, or known in fewer than two hours of three",
            many(verdicts.alone, "disk")
        )?;
    }
    Ok(())
}

/// The result, in capitals.
pub fn headline(verdicts: &Verdicts) -> String {
    let groups =
        verdicts.accused.iter().filter(|one| !matches!(one.whom, Subject::Disk(_))).count();
    let upper = |n: usize, what: &str| many(n, what).to_uppercase();
    match (verdicts.accused.len() - groups, groups) {
        (0, 0) if verdicts.judged == 0 => "NOTHING TO COMPARE".to_string(),
        (0, 0) => "NO DISK STANDS OUT".to_string(),
        (0, groups) => format!("{} SLOWER THAN PEERS", upper(groups, "group")),
        (n, 0) => format!("{} SLOWER THAN PEERS", upper(n, "disk")),
        (n, groups) => {
            format!("{} AND {} SLOWER THAN PEERS", upper(n, "disk"), upper(groups, "group"))
        }
    }
}

/// What was compared with what.
pub fn compared(disks: &Disks, verdicts: &Verdicts) -> String {
    format!(
        "{} on {} compared with disks of their model at the same load, {} from {} to {}",
        many(verdicts.judged, "disk"),
        many(hosts(disks), "host"),
        many(disks.hours, "hour"),
        when(disks, 0),
        when(disks, disks.hours)
    )
}

/// What averages cannot show, if there are such disks.
pub fn averaged(disks: &Disks) -> Option<String> {
    let n = disks.disks.iter().filter(|disk| disk.is_averaged).count();
    (n > 0).then(|| {
        format!(
            "by averages: {}: await, with the time in the host's queue; no tail, no single I/Os",
            many(n, "disk")
        )
    })
}

/// The accused.
pub fn name(disks: &Disks, one: &Accusation) -> String {
    match &one.whom {
        Subject::Model(model) => format!("model {model}"),
        Subject::Firmware(model, firmware, _) => format!("model {model}, firmware {firmware}"),
        Subject::Label(label, value) => format!("{label} {value}"),
        Subject::Host(host) => format!("host {host}"),
        Subject::Disk(place) => {
            format!("{} {}", disks.disks[*place].host, disks.disks[*place].device)
        }
    }
}

/// A group of hosts that differs and is not accused.
pub fn generation(disks: &Disks, one: &Generation) -> String {
    let place = ["first", "second", "third"].get(one.place).unwrap_or(&"further");
    let than = match one.from {
        0 => "slower than the fastest".to_string(),
        from => format!("slower since {}", when(disks, from)),
    };
    format!(
        "model {}: a {place} group of {}, {:.2} times {than}, beside {}: an unnamed generation or \
         platform, not a fault of a host",
        one.model,
        many(one.hosts, "host"),
        one.excess.exp(),
        many(one.others, "other host")
    )
}

/// The same for programs.
pub fn json(disks: &Disks, verdicts: &Verdicts) -> Value {
    let one = |one: &Accusation| {
        let number = |value: f64| if value.is_finite() { json!(value) } else { Value::Null };
        let (kind, name, host, device) = match &one.whom {
            Subject::Model(model) => ("model", model.clone(), None, None),
            Subject::Firmware(model, firmware, _) => {
                ("firmware", format!("{model} {firmware}"), None, None)
            }
            Subject::Label(label, value) => ("label", format!("{label}={value}"), None, None),
            Subject::Host(host) => ("host", host.clone(), Some(host.clone()), None),
            Subject::Disk(place) => {
                let disk = &disks.disks[*place];
                (
                    "disk",
                    format!("{}:{}", disk.host, disk.device),
                    Some(disk.host.clone()),
                    Some(disk.device.clone()),
                )
            }
        };
        json!({
            "kind": kind,
            "name": name,
            "host": host,
            "device": device,
            "sentence": sentence(disks, one),
            "times_slower": one.stretch.excess.exp(),
            "since": when(disks, one.stretch.from),
            "until": when(disks, one.stretch.to),
            "score": number(one.stretch.score),
            "p": number(one.stretch.p),
            "false_discovery_rate": number(one.rate),
            "risk_hours": number(one.risk()),
            "risk_hours_by_day": one.days.iter().map(|(day, hours)| (date(*day), json!(hours))).collect::<Map<_, _>>(),
            "evidence": evidence(one),
            "peers": one.members,
            "slow_members": one.slow,
            "refuted_by": refuted(one),
            "command": command(disks, one),
        })
    };
    let note = |one: &Generation| {
        json!({
            "kind": "generation",
            "model": one.model,
            "hosts": one.hosts,
            "other_hosts": one.others,
            "times_slower": one.excess.exp(),
            "since": when(disks, one.from),
            "sentence": generation(disks, one),
        })
    };
    json!({
        "schema": "iowhy.fleet/1",
        "from": when(disks, 0),
        "until": when(disks, disks.hours),
        "hosts": hosts(disks),
        "judged": verdicts.judged,
        "not_compared": verdicts.alone,
        "by_averages": disks.disks.iter().filter(|disk| disk.is_averaged).count(),
        "rate": RATE,
        "accused": verdicts.accused.iter().map(one).collect::<Vec<_>>(),
        "notes": verdicts.generations.iter().map(note).collect::<Vec<_>>(),
    })
}

/// What it is, by how much, since when.
pub fn sentence(disks: &Disks, one: &Accusation) -> String {
    let times = format!("{:.2} times slower", one.stretch.excess.exp());
    let since = since(disks, one);
    match &one.whom {
        Subject::Model(model) => format!(
            "all disks of model {model} are {times}{since} ({} of {})",
            one.slow, one.members
        ),
        Subject::Firmware(model, firmware, best) => format!(
            "firmware {firmware} of model {model} makes its disks {times} than firmware {best} ({} \
             of {})",
            one.slow, one.members
        ),
        Subject::Label(label, value) => format!(
            "the disks of {label} {value} are {times} together{since} ({} of {}): what they share, \
             not a disk",
            one.slow, one.members
        ),
        Subject::Host(host) => format!(
            "the disks of host {host} are {times} together{since} ({} of {}): the host or what it \
             shares, not a disk",
            one.slow, one.members
        ),
        Subject::Disk(place) => {
            let disk = &disks.disks[*place];
            format!(
                "{} {} ({}) is {times} than its peers at the same load{since}",
                disk.host,
                disk.device,
                about(disk)
            )
        }
    }
}

fn about(disk: &Disk) -> String {
    match (disk.model.as_str(), disk.firmware.as_str()) {
        ("", _) => "no model reported".to_string(),
        (model, "") => model.to_string(),
        (model, firmware) => format!("{model}, firmware {firmware}"),
    }
}

fn since(disks: &Disks, one: &Accusation) -> String {
    let (from, to) = (one.stretch.from, one.stretch.to);
    match (from == 0, to == disks.hours) {
        (true, true) => ", all the time".to_string(),
        (_, true) => format!(" since {}", when(disks, from)),
        _ => format!(" from {} to {}", when(disks, from), when(disks, to)),
    }
}

/// The mean of a disk beside that of its peers, of the operation it did more of.
pub fn figures(one: &Accusation) -> Option<String> {
    let means = one.means?;
    Some(format!(
        "{} per {}, its peers {} at this load ({:.0} IOPS)",
        duration(means.own_ns),
        OPS[means.op],
        duration(means.peers_ns),
        means.load
    ))
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.1} µs", ns / 1e3),
    }
}

/// What would make it wrong.
pub fn refuted(one: &Accusation) -> &'static str {
    match one.whom {
        Subject::Model(_) => {
            "the workload of all of them changed then: sizes, a new release, a scrub"
        }
        Subject::Firmware(..) => {
            "its hosts differ in something else too: kernel, scheduler, age, what they serve"
        }
        Subject::Label(..) => {
            "its hosts have another workload: sizes, patterns, a tenant of their own"
        }
        Subject::Host(_) => "the host has another workload: other sizes or patterns than its peers",
        Subject::Disk(_) => {
            "its requests are larger or more scattered than its peers', or its host is CPU-starved"
        }
    }
}

/// Its evidence.
pub fn evidence(one: &Accusation) -> String {
    let hours = many(one.stretch.to - one.stretch.from, "hour");
    let (score, p) = (one.stretch.score, one.stretch.p);
    let slow =
        format!("{} of {} are slower by more than half of it", one.slow, many(one.members, "disk"));
    match one.whom {
        Subject::Disk(_) => format!(
            "{score:.1} spreads of {} over {hours}, false discovery rate {:.1e}",
            many(one.members + 1, "disk"),
            one.rate
        ),
        Subject::Model(_) => {
            format!("{slow} from one hour on, by more than four spreads of the hours around it")
        }
        Subject::Firmware(..) => {
            format!("{slow}: {score:.1} spreads of their median, by chance {p:.1e}")
        }
        Subject::Label(..) | Subject::Host(_) => {
            format!("{slow}: {score:.1} spreads of such groups over {hours}, by chance {p:.1e}")
        }
    }
}

/// What it cost, and on which day most.
pub fn risk(disks: &Disks, one: &Accusation) -> String {
    let lost = format!("{:.1} hours lost", one.risk());
    let most = one.days.iter().max_by(|a, b| a.1.total_cmp(b.1));
    match most {
        Some((day, hours)) => {
            let all = disks.day(disks.hours.saturating_sub(1)) - disks.day(0) + 1;
            format!(
                "{lost} on {} of {all} days, most of them on {}: {hours:.1}",
                one.days.len(),
                date(*day)
            )
        }
        None => format!("{lost} by {}", many(one.slow, "disk")),
    }
}

/// What shows the single requests: on the host of the disk, of a group on that of the disk with the
/// most of them.
pub fn command(disks: &Disks, one: &Accusation) -> Option<String> {
    let ios = |place: &usize| {
        let hours = disks.disks[*place].hours.iter();
        let within = hours.filter_map(|hours| hours.get(one.stretch.from..one.stretch.to));
        within.flatten().flatten().map(|hour| hour.ios).sum::<i64>()
    };
    let disk = &disks.disks[one.disks(disks).into_iter().max_by_key(ios)?];
    let device = match one.whom {
        Subject::Host(_) => String::new(),
        _ => format!(" --device {}", word(&disk.device)),
    };
    if disk.is_averaged {
        return Some(format!("on {}: `iowhy why --for 60s{device}`", disk.host));
    }
    Some(format!(
        "on {}: `iowhy why --since \"{}\" --until \"{}\"{device}`",
        disk.host,
        minute(disks, one.stretch.from),
        minute(disks, one.stretch.to),
    ))
}

/// A name as one word of a shell.
pub fn word(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte);
    match !name.is_empty() && name.bytes().all(plain) {
        true => name.to_string(),
        false => format!("'{}'", name.replace('\'', "'\\''")),
    }
}

/// What healthy disks need, as `iowhy why --baseline` reads it: a text for each model.
pub fn baselines(disks: &Disks, verdicts: &Verdicts) -> BTreeMap<String, String> {
    let faulty = verdicts.disks();
    let mut known: BTreeMap<(&str, usize), Vec<Hour>> = BTreeMap::new();
    let healthy = |(place, disk): &(usize, &Disk)| !faulty.contains(place) && !disk.is_averaged;
    for (_, disk) in disks.disks.iter().enumerate().filter(healthy) {
        for (op, hours) in disk.hours.iter().enumerate() {
            // At its least load a disk shows what a request needs.
            let mut own: Vec<_> = hours.iter().flatten().collect();
            own.sort_by(|a, b| a.load.total_cmp(&b.load));
            own.truncate((own.len() / 4).max(1));
            let Some(latency) = median(own.iter().map(|hour| hour.latency).collect()) else {
                continue;
            };
            let bytes = median(own.iter().map(|hour| hour.bytes).collect()).unwrap_or(0.0);
            let ios = own.iter().map(|hour| hour.ios).sum();
            let least = Hour { latency, load: own[0].load, ios, bytes };
            known.entry((disk.model.as_str(), op)).or_default().push(least);
        }
    }
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    let known = known.iter().filter(|((model, _), of)| !model.is_empty() && of.len() >= PEERS);
    for ((model, op), of) in known {
        let latencies: Vec<f64> = of.iter().map(|disk| disk.latency).collect();
        let (Some(middle), Some(apart)) = (median(latencies.clone()), spread(&latencies)) else {
            continue;
        };
        let bytes = median(of.iter().map(|disk| disk.bytes).collect()).unwrap_or(0.0);
        let n: i64 = of.iter().map(|disk| disk.ios).sum();
        let text = texts.entry((*model).to_string()).or_insert_with(|| {
            "# iowhy baseline 1\n# device op bytes pattern median_ms sigma n from\n".to_string()
        });
        text.push_str(&format!(
            "{ANY} {} {bytes:.0} any {:.6} {:.3} {n} {} disks of {model}\n",
            OPS[*op],
            middle.exp() / 1e6,
            apart.max(LEAST_SIGMA),
            of.len()
        ));
    }
    texts
}

/// So many of a thing.
pub fn many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// How many hosts there are.
pub fn hosts(disks: &Disks) -> usize {
    let mut hosts: Vec<&str> = disks.disks.iter().map(|disk| disk.host.as_str()).collect();
    hosts.dedup();
    hosts.len()
}

/// The hour, UTC.
pub fn when(disks: &Disks, hour: usize) -> String {
    format!("{} UTC", minute(disks, hour))
}

/// A day since 1970.
pub fn date(day: i64) -> String {
    jiff::Timestamp::from_second(day * 86_400)
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
}

/// The same without its zone.
pub fn minute(disks: &Disks, hour: usize) -> String {
    let at = disks.first_s + i64::try_from(hour).unwrap_or(0) * 3600;
    jiff::Timestamp::from_second(at)
        .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d %H:%M").to_string())
}
