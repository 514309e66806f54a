//! `ceph -s`: whether a Ceph cluster serves all of its data, and what it recovers.
//!
//! ## Reads
//! Below `health: HEALTH_WARN` or `HEALTH_ERR` the share of placement groups that are not active,
//! the share of objects that are degraded, OSDs that are down, and the rate of recovery. Lines
//! about slow operations are read as `ceph-log`.
//!
//! ## How to capture
//! `ceph -s`, `ceph status`; `kubectl exec` of the toolbox of Rook.
//!
//! ## Versions
//! Luminous to Squid. Before Luminous there is no colon behind `health`, and recovery stands as
//! `recovery io`.
//!
//! ## Caveats
//! One moment. The rate of recovery is an average of some seconds that the manager chooses.
//!
//! ## Not in this output
//! Latencies (`ceph osd perf`), which client waits, and why an OSD does not answer (its log).

use iowhy_model::typed::{BytesPerSecond, Share};

use crate::program::*;

pub const FORMAT: Format = Format::program::<Status>(
    "ceph -s: placement groups that serve no I/O, degraded objects, recovery",
    Level::E,
    &["HEALTH_", "% pgs not active"],
    |lines| lines.first().is_some_and(|line| begins(line)).into(),
);

/// Whether the line shows that a cluster is not well, or goes on after the lines of another
/// format.
fn begins(line: &str) -> bool {
    if line.trim_start().starts_with("pgs:") && line.contains("% pgs not active") {
        return true;
    }
    // `ceph health detail` shows it without the word: its lines are those of the logs (`ceph-log`).
    let Some(rest) = line.trim().strip_prefix("health") else { return false };
    let reported = rest.trim_start_matches(':').trim();
    ["HEALTH_WARN", "HEALTH_ERR"].iter().any(|health| {
        reported.strip_prefix(health).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })
}

#[derive(Default)]
struct Status {
    /// Placement groups in all, and those that the health line calls inactive.
    groups: Option<f64>,
    inactive: Option<f64>,
    /// The share that the cluster states itself, 0 to 1.
    not_active: Option<f64>,
}

impl Reader for Status {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let reported = line.trim();
        if reported.contains(" slow ops, oldest one blocked for ") {
            return Step::NotMine;
        }
        let place = sink.source().place();
        let mut took = begins(line);
        for part in reported.split(", ") {
            let part = part.trim_start_matches("pgs:").trim();
            let part = part.rsplit_once(": ").map_or(part, |(_, part)| part.trim());
            took |= self.part(part, &place, sink).is_some();
        }
        let (name, value) = reported.split_once(':').unwrap_or(("", reported));
        let recovery = match name {
            "recovery" => value.split(',').next(),
            _ => reported.strip_prefix("recovery io ").and_then(|rest| rest.split(',').next()),
        };
        if let Some(rate) = recovery {
            let Some(rate) = rate.trim().strip_suffix("/s").and_then(amount) else {
                return Step::skipped("the rate of recovery is not a number");
            };
            sink.add_fact_at(None, typed::CLUSTER_RECOVERY, BytesPerSecond(rate), &place);
            took = true;
        }
        if took { Step::Consumed } else { Step::NotMine }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let counted = self.inactive.zip(self.groups).filter(|(_, all)| *all > 0.0);
        let share = self.not_active.or(counted.map(|(inactive, all)| (inactive / all).min(1.0)));
        if let Some(share) = share {
            sink.add_fact(None, typed::CLUSTER_INACTIVE, Share(share));
        }
    }
}

impl Status {
    /// One statement between commas.
    fn part(&mut self, part: &str, place: &str, sink: &mut dyn Sink) -> Option<()> {
        let (count, what) = part.split_once(' ')?;
        match what {
            "pgs inactive" | "pg inactive" => self.inactive = Some(integer(count)? as f64),
            "pgs" | "pg" => self.groups = Some(integer(count)? as f64),
            "pgs not active" => self.not_active = Some(percent(count)?),
            "osds down" | "osd down" => {
                sink.add_fact_at(None, typed::CLUSTER_OSDS_DOWN, integer(count)?, place);
            }
            _ => {
                let share = what.strip_prefix("objects degraded (")?.strip_suffix(')')?;
                let share = Share(percent(share)?);
                sink.add_fact_at(None, typed::CLUSTER_DEGRADED, share, place);
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
