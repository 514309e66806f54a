//! `ceph -s`: whether a Ceph cluster serves all of its data, and what it recovers.
//!
//! ## Reads
//! Below `health: HEALTH_WARN` or `HEALTH_ERR` the share of placement groups that are not active or
//! stale, the share of objects that are degraded, OSDs that are down, OSDs whose store reported
//! slow operations, blocked requests and the OSDs that they wait for, and the rate of recovery.
//!
//! ## How to capture
//! `ceph -s`, `ceph status`, `ceph health detail`; `kubectl exec` of the toolbox of Rook.
//!
//! ## Versions
//! Luminous to Squid. Before Luminous there is no colon after `health`, and recovery is called
//! `recovery io`. `rookctl status` of Rook's first versions is read too.
//!
//! ## Caveats
//! One moment. The rate of recovery is an average of some seconds that the manager chooses.
//!
//! ## Not in this output
//! Latencies (`ceph osd perf`), which client waits, and why an OSD does not answer (its log).

use std::collections::BTreeMap;

use iowhy_model::typed::{BytesPerSecond, Share};

use crate::drive::osds::{osds, slow_stores};
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<Status>(
    "ceph -s: placement groups that serve no I/O, degraded objects, recovery",
    Level::E,
    &["HEALTH_", "% pgs not active", DATA, OVERALL],
    begins,
);

/// What a check says of placement groups that serve no I/O.
const DATA: &str = "Reduced data availability: ";

/// What a status of Rook begins with.
const OVERALL: &str = "OVERALL STATUS: ";

/// Whether the line says that a cluster is unhealthy, or continues after the lines of another
/// format.
fn begins(line: &str) -> bool {
    if line.trim_start().starts_with("pgs:") && line.contains("% pgs not active") {
        return true;
    }
    if line
        .trim()
        .strip_prefix(OVERALL)
        .is_some_and(|line_text| ["ERROR", "WARNING"].contains(&line_text))
    {
        return true;
    }
    // `PG_AVAILABILITY Reduced data availability: 415 pgs stale`
    if let Some((before, rest)) = line.split_once(DATA) {
        let count = rest.split(' ').next().and_then(integer);
        return count.is_some() && before.split_whitespace().count() < 3;
    }
    // `ceph health detail` says it without the word: its lines are those of the logs (`ceph-log`).
    health(line.trim()).is_some()
}

/// What follows the state of an unhealthy cluster.
fn health(line_text: &str) -> Option<&str> {
    let line_text = line_text.strip_prefix("health")?.trim_start_matches(':').trim();
    ["HEALTH_WARN", "HEALTH_ERR"].iter().find_map(|health| {
        line_text.strip_prefix(health).filter(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

/// How many placement groups are in a state: `17473 active+clean`, and in tables `active+clean
/// 132`.
fn in_state(line_text: &str) -> Option<(f64, &str)> {
    let (one, two) = line_text.trim_start_matches("pgs:").trim().split_once(' ')?;
    let (one, two) = (one.trim(), two.trim());
    let (count, state) = integer(one).map(|n| (n, two)).or(integer(two).map(|n| (n, one)))?;
    state.split('+').any(|part| STATES.contains(&part)).then_some((count as f64, state))
}

/// What a health line calls placement groups that serve no I/O.
const IDLE: [&str; 7] = [
    "pgs inactive", "pg inactive", "pgs stale", "pg stale", "pgs stuck inactive",
    "pgs are stuck inactive", "pgs stuck stale",
];

/// States one of which a placement group has (Ceph's documentation, placement group states).
const STATES: [&str; 9] = [
    "activating", "active", "creating", "down", "incomplete", "peered", "peering", "stale",
    "unknown",
];

/// Requests that are blocked: how many, for how long, s, and the text after it.
fn blocked(line_text: &str) -> Option<(u64, f64, &str)> {
    let (before, rest) = line_text
        .split_once(" requests are blocked > ")
        .or_else(|| line_text.split_once(" slow ops, oldest one blocked for "))?;
    let before = before.trim_end_matches(" slow").trim_end_matches(" stuck");
    let count = integer(before.rsplit(' ').next()?)?;
    let (seconds, rest) = rest.split_once(" sec")?;
    Some((count, decimal(seconds)?, rest))
}

/// Monitors that are named: `mon.a has slow ops`, `daemons [osd.3,mon.b] have slow ops`; after all
/// OSDs.
fn monitors(text: &str) -> impl Iterator<Item = (u64, String)> {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let words = text.split(move |c| !is_of_a_name(c));
    words.filter(|word| word.starts_with("mon.")).map(|word| (u64::MAX, word.to_string()))
}

#[derive(Default)]
struct Status {
    /// All placement groups, and those that the health line calls inactive or stale.
    groups: Option<f64>,
    inactive: Option<f64>,
    /// Of those with a given state: all, and those that serve no I/O.
    told: f64,
    idle: f64,
    /// The share that the cluster states itself, 0 to 1.
    not_active: Option<f64>,
    /// OSDs that are down, by the health line and by the number of those that are up.
    down: Option<u64>,
    not_up: Option<u64>,
    /// The checks of the health line are listed, deeper than it.
    in_health: bool,
    /// The columns of the OSDs in a table are above.
    is_table: bool,
    /// Blocked requests of an OSD or a monitor, or of none that is named: how many, for how long,
    /// s.
    blocked: BTreeMap<Option<(u64, String)>, (u64, f64)>,
    slow_stores: u64,
}

impl Reader for Status {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let line_text = line.trim();
        if let Some((count, seconds, rest)) = blocked(line_text) {
            let named = osds(rest).into_iter().map(|osd| (osd, format!("osd.{osd}")));
            let mut named: Vec<_> = named.chain(monitors(rest)).map(Some).collect();
            if named.is_empty() {
                named.push(None);
            }
            for service in named {
                let known = self.blocked.entry(service).or_default();
                *known = (known.0.max(count), known.1.max(seconds));
            }
            return Step::Consumed;
        }
        if let Some((_, count)) = slow_stores(line_text) {
            self.slow_stores = self.slow_stores.max(count);
            return Step::Consumed;
        }
        if let Some((count, state)) = in_state(line_text) {
            let mut parts = state.split('+');
            let serves = parts.clone().any(|part| part == "active");
            self.told += count;
            self.idle += if serves && parts.all(|part| part != "stale") { 0.0 } else { count };
            return Step::Consumed;
        }
        if self.osds(line_text) {
            return Step::Consumed;
        }
        let mut took = begins(line);
        let parts = health(line_text).unwrap_or(line_text).split([',', ';']).map(str::trim);
        for part in parts {
            let part = part.trim_start_matches("pgs:").trim();
            let part = part.rsplit_once(": ").map_or(part, |(_, part)| part.trim());
            took |= self.part(part, sink).is_some();
        }
        if let Some((_, rest)) = line_text.split_once("PLACEMENT GROUPS (") {
            self.groups = rest.split(' ').next().and_then(integer).map(|all| all as f64);
            return Step::Consumed;
        }
        let (name, value) = line_text.split_once(':').unwrap_or(("", line_text));
        let recovery = match name {
            "recovery" => value.split(',').next(),
            _ => line_text.strip_prefix("recovery io ").and_then(|rest| rest.split(',').next()),
        };
        if let Some(rate) = recovery {
            let Some(rate) = rate.trim().strip_suffix("/s").and_then(amount) else {
                return Step::skipped("the rate of recovery is not a number");
            };
            sink.add_fact_here(None, typed::CLUSTER_RECOVERY, BytesPerSecond(rate));
            took = true;
        }
        if health(line_text).is_some() {
            self.in_health = true;
        } else if !line.starts_with([' ', '\t']) || line_text.is_empty() || line_text.ends_with(':')
        {
            self.in_health = false;
        }
        // A check that says nothing of ours is part of the list.
        if took || self.in_health { Step::Consumed } else { Step::NotMine }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let counted = self.inactive.zip(self.groups).filter(|(_, all)| *all > 0.0);
        let all = self.groups.unwrap_or(0.0).max(self.told);
        let told = Some(self.idle / all).filter(|_| self.told > 0.0);
        let counted = counted.map(|(inactive, all)| (inactive / all).min(1.0));
        if let Some(share) = told.or(self.not_active).or(counted) {
            sink.add_fact(None, typed::CLUSTER_INACTIVE, Share(share));
        }
        if self.slow_stores > 0 {
            sink.add_fact(None, typed::CEPH_SLOW_STORES, self.slow_stores);
        }
        if let Some(down) = self.down.or(self.not_up).filter(|down| *down > 0) {
            sink.add_fact(None, typed::CLUSTER_OSDS_DOWN, down);
        }
        for (service, (count, seconds)) in std::mem::take(&mut self.blocked) {
            let device = service.map(|(_, name)| sink.device(&name));
            sink.add_fact(device, typed::CEPH_BLOCKED, count);
            sink.add_fact(device, typed::CEPH_BLOCKED_TIME, Nanos::from_seconds(seconds));
        }
    }
}

impl Status {
    /// `osd: 220 osds: 209 up, 220 in`, or a row of a table of such numbers.
    fn osds(&mut self, line_text: &str) -> bool {
        let words: Vec<&str> = line_text.split_whitespace().collect();
        if words.starts_with(&["TOTAL", "UP", "IN"]) {
            self.is_table = true;
            return true;
        }
        let numbers = match line_text.split_once(" osds: ") {
            Some((before, rest)) => {
                let up = rest.split_once(" up").and_then(|(up, _)| integer(up));
                before.rsplit(' ').next().and_then(integer).zip(up)
            }
            None if std::mem::take(&mut self.is_table) => match words.as_slice() {
                [all, up, ..] => integer(all).zip(integer(up)),
                _ => None,
            },
            None => None,
        };
        // Those that are up are given with those that are in: neither is more than all.
        let not_up = numbers.and_then(|(all, up)| all.checked_sub(up));
        self.not_up = not_up.or(self.not_up);
        not_up.is_some()
    }

    /// One statement between commas.
    fn part(&mut self, part: &str, sink: &mut dyn Sink) -> Option<()> {
        let (count, what) = part.split_once(' ')?;
        match what {
            "pgs" | "pg" => self.groups = Some(integer(count)? as f64),
            // Who copies it may lose the sign.
            "pgs not active" => {
                self.not_active = Some(percent(&format!("{}%", count.trim_end_matches('%')))?);
            }
            "osds down" | "osd down" => self.down = Some(integer(count)?),
            _ if IDLE.iter().any(|idle| what.starts_with(idle)) => {
                self.inactive = Some((integer(count)? as f64).max(self.inactive.unwrap_or(0.0)));
            }
            _ => {
                let share = what.strip_prefix("objects degraded (")?.strip_suffix(')')?;
                sink.add_fact_here(None, typed::CLUSTER_DEGRADED, Share(percent(share)?));
            }
        }
        Some(())
    }
}

/// `120 MiB`, or `120 MB` of the same size before Luminous.
fn amount(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    bytes(&format!("{number}{}", unit.trim_end_matches("iB").trim_end_matches('B')))
}

/// `2.171%` as a share, 0 to 1.
fn percent(text: &str) -> Option<f64> {
    let share = decimal(text.strip_suffix('%')?)? / 100.0;
    (0.0..=1.0).contains(&share).then_some(share)
}
