//! An incident from its first alarm to its verdict.

use std::sync::Arc;

use iowhy_model::{Fact, FactValue, Nanos, key};
use serde_json::{Value, json};

use super::clock::Clocks;
use super::ring::{Ring, beginning, ending};
use super::triggers::Alarm;
use super::verdicts::CaseVerdict;

/// What is kept from before the first alarm, and after the last one, ns.
pub const BEFORE_NS: i64 = 30_000_000_000;
const AFTER_NS: i64 = 10_000_000_000;
/// An incident that goes on longer becomes another one, ns.
const LONGEST_NS: i64 = 60_000_000_000;
/// Alarms that are told one by one; the first of a device and a trigger is, up to twice as many.
const TOLD: usize = 20;

/// An incident whose I/Os are still coming, or that is not judged yet.
pub struct Incident {
    /// Its name.
    pub id: String,
    /// When it was noticed.
    pub at: Clocks,
    /// What was seen, the first reasons.
    pub alarms: Vec<Alarm>,
    more: u64,
    excess_ns: f64,
    until_ns: i64,
    last_alarm_ns: i64,
    /// Its capture so far.
    pub capture: Vec<Arc<[u8]>>,
    bytes: usize,
    most: usize,
    /// Blocks left out because it grew too large.
    cut: u64,
    serial: Option<u64>,
    offset_ns: i64,
    /// Alarms that began no incident since the last one.
    pub suppressed: u64,
}

impl Incident {
    /// Begins with an alarm; `facts` are the first blocks of its capture, which may have `most` bytes.
    pub fn begin(id: String, alarm: Alarm, at: Clocks, facts: Arc<[u8]>, most: usize) -> Incident {
        Incident {
            id,
            at,
            until_ns: alarm.at_ns + AFTER_NS,
            last_alarm_ns: alarm.at_ns,
            excess_ns: alarm.excess_ns,
            alarms: vec![alarm],
            more: 0,
            bytes: facts.len(),
            capture: vec![facts],
            most,
            cut: 0,
            serial: None,
            offset_ns: at.offset(),
            suppressed: 0,
        }
    }

    /// It goes on.
    pub fn add(&mut self, alarm: Alarm) {
        self.excess_ns += alarm.excess_ns;
        self.last_alarm_ns = alarm.at_ns;
        self.until_ns = (alarm.at_ns + AFTER_NS).min(self.at.monotonic + LONGEST_NS);
        let first_of_its_kind = || {
            let same = |told: &Alarm| told.device == alarm.device && told.trigger == alarm.trigger;
            self.alarms.len() < 2 * TOLD && !self.alarms.iter().any(same)
        };
        if self.alarms.len() < TOLD || first_of_its_kind() {
            self.alarms.push(alarm);
        } else {
            self.more += 1;
        }
    }

    /// Whether all that belongs to it has come.
    pub fn is_over(&self, now_ns: i64) -> bool {
        now_ns >= self.until_ns
    }

    /// What began it.
    pub fn first(&self) -> Option<&Alarm> {
        self.alarms.first()
    }

    /// Takes what came into the ring since the last time; the new blocks of its capture.
    pub fn take(&mut self, ring: &Ring, facts: &[(u64, Fact)]) -> Vec<Arc<[u8]>> {
        let from = self.capture.len();
        for kept in ring.since(self.at.monotonic - BEFORE_NS, self.serial) {
            if self.bytes + kept.bytes.len() > self.most {
                self.cut += 1;
            } else {
                if self.serial.is_none() {
                    self.capture.push(beginning(kept, &with_clock(facts, self.offset_ns)).into());
                }
                self.bytes += kept.bytes.len();
                self.capture.push(Arc::clone(&kept.bytes));
            }
            self.serial = Some(kept.serial);
        }
        self.capture.get(from..).unwrap_or_default().to_vec()
    }

    /// Ends its capture; the last block.
    pub fn end(&mut self, ring: &Ring) -> Option<Arc<[u8]>> {
        let serial = self.serial?;
        let last = ring.since(i64::MIN, Some(serial.saturating_sub(1))).next()?;
        let block: Arc<[u8]> = ending(last).into();
        self.capture.push(Arc::clone(&block));
        Some(block)
    }

    /// The whole of it, for its file and for who is told.
    pub fn json(
        &self,
        judged: Option<&CaseVerdict>,
        boot: &str,
        zone: &jiff::tz::TimeZone,
    ) -> Value {
        let first = judged.and_then(|judged| judged.first.as_ref());
        let wall = |ns: i64| ns.saturating_add(self.offset_ns);
        let seen = self.first();
        let device = first.map(|first| first.device.as_str()).filter(|name| !name.is_empty());
        let device = device.or(seen.map(|alarm| alarm.device.as_str()));
        let alarms: Vec<Value> = self
            .alarms
            .iter()
            .map(|alarm| {
                json!({
                    "at": crate::when::words(wall(alarm.at_ns), zone),
                    "trigger": alarm.trigger.name(),
                    "device": alarm.device,
                    "seen": alarm.words,
                })
            })
            .collect();
        let others: Vec<Value> = judged
            .iter()
            .flat_map(|judged| &judged.others)
            .map(|other| {
                json!({
                    "device": other.device,
                    "verdict": other.verdict,
                    "blame": other.blame,
                    "confidence": other.confidence,
                    "sentence": other.sentence,
                })
            })
            .collect();
        json!({
            "schema": "iowhy.incident/1",
            "id": self.id,
            "at": crate::when::words(self.at.wall, zone),
            "at_ns": self.at.wall,
            "boot": boot,
            "length_s": (self.last_alarm_ns - self.at.monotonic) as f64 / 1e9 + 1.0,
            "trigger": seen.map(|alarm| alarm.trigger.name()),
            "device": device,
            "verdict": first.map(|first| first.verdict.as_str()),
            "blame": first.map(|first| first.blame),
            "confidence": first.map(|first| first.confidence),
            "explained_share": first.map(|first| first.explained),
            "sentence": first.map(|first| first.sentence.as_str()),
            "others": others,
            "lost_s": self.excess_ns / 1e9,
            "alarms": alarms,
            "more_alarms": self.more,
            "suppressed_before": self.suppressed,
            "ios_lost": judged.map(|judged| judged.lost),
            "thinned": judged.map(|judged| &judged.thinned),
            "blocks_cut": self.cut,
            "capture": format!("incidents/{}.iowhy", self.id),
            "report": judged.map_or(Value::Null, |judged| judged.report.clone()),
        })
    }
}

/// The facts with the distance of the clocks as it is now: it was stated when the recorder began. When that was is
/// told by the clock of now, too.
pub fn with_clock(facts: &[(u64, Fact)], offset_ns: i64) -> Vec<(u64, Fact)> {
    let mut facts = facts.to_vec();
    let duration = |fact: &Fact| fact.value.duration().map_or(0, Nanos::ns);
    let stated = facts.iter().find(|(_, fact)| fact.key == key::CLOCK_OFFSET);
    let step_ns = stated.map_or(0, |(_, fact)| offset_ns.saturating_sub(duration(fact)));
    for (_, fact) in &mut facts {
        if fact.key == key::CLOCK_OFFSET || fact.key == key::CLOCK_BEGAN {
            fact.value = FactValue::Duration(Nanos(duration(fact).saturating_add(step_ns)));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_moves_when_the_recorder_began() {
        let fact = |key, ns| (0, Fact::new(None, key, FactValue::Duration(Nanos(ns)), ""));
        let facts = [fact(key::CLOCK_OFFSET, 1000), fact(key::CLOCK_BEGAN, 1070)];
        let later = [fact(key::CLOCK_OFFSET, 400), fact(key::CLOCK_BEGAN, 470)];
        assert_eq!(with_clock(&facts, 400), later);
    }
}
