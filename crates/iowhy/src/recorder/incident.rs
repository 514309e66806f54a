//! An incident from its first alarm to its verdict.

use std::sync::Arc;

use iowhy_model::{Fact, FactValue, NameTable, Nanos, Recording, STANDS, key};
use iowhy_show::device_label;
use serde_json::{Value, json};

use super::clock::{Clocks, SECOND_NS};
use super::extent::{Activity, GAP_NS, NamedDisk, SAME_NS, SlowLevel};
use super::looks::LOOK_NS;
use super::ring::{Ring, beginning, ending};
use super::triggers::{Alarm, Trigger};
use super::verdicts::{CaseVerdict, FindingSummary};

/// Time kept before the first alarm, and after the last one, ns.
pub(crate) const BEFORE_NS: i64 = 30_000_000_000;
const AFTER_NS: i64 = GAP_NS;
/// While it goes on it is judged this long after it was noticed, and at twice, four times that as
/// long as nobody is accused, ns (a choice); at once if the judge noticed it.
const EARLY_NS: i64 = 10_000_000_000;
/// Maximum length of a capture, ns.
const LONGEST_NS: i64 = 60_000_000_000;
/// Alarms that are listed; the first of each device and trigger is, up to twice as many.
const ALARMS_LISTED: usize = 20;

/// An incident that is being captured, is not judged yet, or may continue.
pub(crate) struct Incident {
    /// Its name.
    pub id: String,
    /// When it was noticed.
    pub at: Clocks,
    /// The first alarms.
    pub alarms: Vec<Alarm>,
    more: u64,
    excess_ns: f64,
    /// When its first and its last I/Os were slow, as far as known, CLOCK_MONOTONIC in ns.
    began_ns: i64,
    last_ns: i64,
    /// When its capture ends.
    until_ns: i64,
    /// Its capture so far.
    pub capture: Vec<Arc<[u8]>>,
    bytes: usize,
    most: usize,
    /// Blocks left out because it grew too large.
    cut: u64,
    serial: Option<u64>,
    offset_ns: i64,
    /// Suppressed alarms since the last incident.
    pub suppressed: u64,
    /// Its verdict; while it is captured, that on its beginning.
    judged: Option<CaseVerdict>,
    /// When its beginning is judged next, CLOCK_MONOTONIC in ns.
    early_ns: i64,
    /// The verdict and the device that were announced.
    announced: Option<(String, String)>,
    /// Whether it is being captured.
    open: bool,
    /// The bound for its device's slow seconds, once it is judged, and whether they continue.
    level: Option<SlowLevel>,
    ongoing: bool,
    /// Where file systems on its device are mounted.
    mounts: Vec<String>,
    /// The other names of its device.
    names: Option<Value>,
    /// The sequence number of its first device.
    disk: Option<u64>,
    /// Whether it changed since it was written.
    changed: bool,
}

impl Incident {
    /// Begins with an alarm; `facts` are the first blocks of its capture, of at most `most` bytes.
    pub(crate) fn begin(
        id: String,
        alarm: Alarm,
        at: Clocks,
        facts: Arc<[u8]>,
        most: usize,
    ) -> Incident {
        let early_ns = match alarm.trigger {
            Trigger::Asked => i64::MAX,
            Trigger::Verdict => at.monotonic,
            _ => at.monotonic + EARLY_NS,
        };
        Incident {
            id,
            at,
            early_ns,
            announced: None,
            open: true,
            began_ns: alarm.at_ns - SECOND_NS,
            last_ns: alarm.at_ns,
            until_ns: alarm.at_ns + AFTER_NS,
            excess_ns: alarm.excess_ns,
            disk: iowhy_live::disk_sequence(&alarm.device),
            alarms: vec![alarm],
            more: 0,
            bytes: facts.len(),
            capture: vec![facts],
            most,
            cut: 0,
            serial: None,
            offset_ns: at.offset(),
            suppressed: 0,
            judged: None,
            level: None,
            ongoing: false,
            mounts: Vec::new(),
            names: None,
            changed: true,
        }
    }

    /// Adds an alarm.
    pub(crate) fn add(&mut self, alarm: Alarm) {
        self.excess_ns += alarm.excess_ns;
        self.last_ns = alarm.at_ns;
        self.until_ns = (alarm.at_ns + AFTER_NS).min(self.at.monotonic + LONGEST_NS);
        self.changed = true;
        let first_of_its_kind = || {
            let same = |reported: &Alarm| {
                reported.device == alarm.device && reported.trigger == alarm.trigger
            };
            self.alarms.len() < 2 * ALARMS_LISTED && !self.alarms.iter().any(same)
        };
        if self.alarms.len() < ALARMS_LISTED || first_of_its_kind() {
            self.alarms.push(alarm);
        } else {
            self.more += 1;
        }
    }

    /// It continues or recurs after its capture.
    pub(crate) fn add_later(&mut self, alarm: Alarm, activity: &Activity) {
        let at_ns = alarm.at_ns;
        let (last_ns, is_of_the_judge) = (self.last_ns, alarm.trigger == Trigger::Verdict);
        self.add(alarm);
        if is_of_the_judge {
            // What the judge noticed was before that; the device may be gone by now.
            self.last_ns = last_ns;
        }
        if !self.ongoing {
            let looked_ns = if is_of_the_judge { LOOK_NS } else { SECOND_NS };
            self.look_back((at_ns - looked_ns, at_ns), activity);
        }
    }

    /// Whether it is about this device.
    pub(crate) fn is_about(&self, device: &str) -> bool {
        let first = self.first().is_some_and(|first| first.device == device);
        first || self.accused().is_some_and(|of| of.device == device)
    }

    /// Whether its capture is complete.
    pub(crate) fn is_over(&self, now_ns: i64) -> bool {
        now_ns >= self.until_ns
    }

    /// The alarm that began it.
    pub(crate) fn first(&self) -> Option<&Alarm> {
        self.alarms.first()
    }

    /// The accused device.
    fn accused(&self) -> Option<&FindingSummary> {
        let first = self.judged.as_ref()?.first.as_ref();
        first.filter(|first| first.accuses && first.confidence >= STANDS)
    }

    /// The accused disk. Its sequence number is known only if it is the device of the alarm.
    fn disk(&self) -> Option<NamedDisk> {
        let name = self.accused()?.device.clone();
        let is_first = self.first().is_some_and(|first| first.device == name);
        Some(NamedDisk { name, sequence: self.disk.filter(|_| is_first) })
    }

    /// Whether an alarm after its capture is about the same problem.
    pub(crate) fn is_same(&self, alarm: &Alarm) -> bool {
        let Some(first) = self.first().filter(|_| alarm.trigger != Trigger::Asked) else {
            return false;
        };
        let pause_ns = alarm.at_ns - self.last_ns;
        let accused = self.accused();
        let device = accused.map_or(&first.device, |of| &of.device);
        let is_near = pause_ns <= if accused.is_some() { SAME_NS } else { GAP_NS };
        // Another disk may have come by the name of this one; what is gone may be judged still.
        let is_same_disk = || {
            let now = iowhy_live::disk_sequence(device);
            now.is_none() || self.disk == now
        };
        let is_disk = *device == alarm.device && (*device != first.device || is_same_disk());
        let is_slow =
            |of: Trigger| matches!(of, Trigger::Latency | Trigger::Stall | Trigger::Verdict);
        let is_kind = first.trigger == alarm.trigger
            || is_slow(first.trigger) && is_slow(alarm.trigger)
            || alarm.trigger == Trigger::Pressure;
        match (&self.judged, &alarm.verdict) {
            // It continues while it is judged.
            (None, _) => is_disk && pause_ns <= GAP_NS,
            (Some(_), Some(verdict)) => {
                let is_cause = |of: &FindingSummary| self.ongoing() || of.verdict == *verdict;
                is_disk && is_near && accused.is_some_and(is_cause)
            }
            (Some(_), None) => {
                let is_of_all = alarm.trigger == Trigger::Pressure && pause_ns <= GAP_NS;
                (is_disk || is_of_all) && is_near && is_kind
            }
        }
    }

    /// Its capture so far, if its beginning is to be judged now.
    pub(crate) fn due_early(&mut self, ring: &Ring, now_ns: i64) -> Option<Vec<Arc<[u8]>>> {
        if now_ns < self.early_ns || self.accused().is_some() {
            return None;
        }
        let last = self.last_block(ring)?;
        self.early_ns = now_ns + (now_ns - self.at.monotonic).max(EARLY_NS);
        Some(self.capture.iter().cloned().chain([last]).collect())
    }

    /// Stores a verdict on its beginning; returns whether it accuses a device.
    pub(crate) fn judge_early(&mut self, judged: CaseVerdict, around: &Recording) -> bool {
        self.judged = Some(self.about_its_device(judged));
        self.find_names(around);
        self.accused().is_some()
    }

    /// Whether its verdict is news: not announced before for this device.
    pub(crate) fn is_news(&mut self) -> bool {
        let first = self.judged.as_ref().and_then(|judged| judged.first.as_ref());
        let told = first.map(|first| (first.verdict.clone(), first.device.clone()));
        let is_news = told.is_none() || told != self.announced;
        self.announced = told;
        is_news
    }

    /// Stores the verdict, and determines how long its device was slow.
    pub(crate) fn judge(&mut self, judged: CaseVerdict, activity: &Activity, around: &Recording) {
        self.judged = Some(self.about_its_device(judged));
        self.find_names(around);
        let is_of_the_judge = self.alarms.iter().all(|alarm| alarm.trigger == Trigger::Verdict);
        let looked_ns = if is_of_the_judge { LOOK_NS } else { SECOND_NS };
        let noticed = (self.began_ns, self.last_ns);
        if is_of_the_judge {
            // The judge saw an earlier time.
            (self.began_ns, self.last_ns) = (i64::MAX, i64::MIN);
        }
        self.look_back((self.at.monotonic - looked_ns, self.until_ns), activity);
        if self.began_ns > self.last_ns {
            (self.began_ns, self.last_ns) = noticed;
        }
    }

    /// Mount points and other names of its device.
    fn find_names(&mut self, around: &Recording) {
        let first = self.judged.as_ref().and_then(|judged| judged.first.as_ref());
        let device = first.map(|first| first.device.clone()).filter(|device| !device.is_empty());
        if let Some(device) = device {
            let table = NameTable::of(around);
            self.mounts = table.mounts(&device).into_iter().map(str::to_string).collect();
            self.names = device_label::object(&table, &device);
        }
        self.changed = true;
    }

    /// Puts the findings on its own device first: another device may be worse, but has an incident
    /// of its own.
    fn about_its_device(&self, mut judged: CaseVerdict) -> CaseVerdict {
        let Some(noticed) = self.first().map(|first| &first.device) else { return judged };
        let is_first = judged.first.as_ref().is_none_or(|first| first.device == *noticed);
        let place = judged.others.iter().position(|other| other.device == *noticed);
        if let Some(of_it) = place.filter(|_| !is_first).map(|place| judged.others.remove(place)) {
            judged.others.splice(0..0, judged.first.replace(of_it));
        }
        judged
    }

    /// Determines how long its device was slow around an interval in which it was.
    fn look_back(&mut self, stretch: (i64, i64), activity: &Activity) {
        let Some(disk) = self.disk() else { return };
        self.level = self.level.or_else(|| activity.slow_level(&disk, stretch));
        let level = self.level.unwrap_or(SlowLevel::ANY);
        let Some(known) = activity.extent(&disk, level, stretch) else { return };
        if self.level.is_none() {
            // Without a bound for slow seconds, only the judged time is known.
            self.began_ns = self.began_ns.min(known.began_ns.max(stretch.0));
            self.last_ns = self.last_ns.max(known.until_ns.min(stretch.1));
            return;
        }
        self.began_ns = self.began_ns.min(known.began_ns);
        self.last_ns = self.last_ns.max(known.until_ns);
        self.excess_ns = self.excess_ns.max(known.excess_ns);
        self.ongoing = true;
    }

    /// Counts the second that ended now, if its device was slow in it.
    pub(crate) fn second(&mut self, activity: &Activity, now_ns: i64) {
        let Some((disk, level)) = self.disk().zip(self.level).filter(|_| self.ongoing) else {
            return;
        };
        if let Some(excess_ns) = activity.slow_now(&disk, level, now_ns) {
            (self.last_ns, self.changed) = (now_ns, true);
            self.excess_ns += excess_ns;
        } else if now_ns - self.last_ns > GAP_NS {
            (self.ongoing, self.changed) = (false, true);
        }
    }

    /// A verdict between incidents: whether its device is still accused.
    pub(crate) fn look(&mut self, looked: &CaseVerdict, activity: &Activity, now_ns: i64) {
        let Some(device) = self.accused().map(|of| of.device.clone()) else { return };
        let accuses =
            |of: &FindingSummary| of.accuses && of.confidence >= STANDS && of.device == device;
        if !looked.first.iter().chain(&looked.others).any(accuses) {
            self.changed |= std::mem::take(&mut self.ongoing);
        } else if !self.ongoing && now_ns - self.last_ns <= SAME_NS {
            self.changed = true;
            self.look_back((now_ns - LOOK_NS, now_ns), activity);
        }
    }

    /// Whether it continues, as far as known.
    pub(crate) fn ongoing(&self) -> bool {
        self.open || self.ongoing
    }

    /// Whether no later alarm can belong to it.
    pub(crate) fn is_past(&self, now_ns: i64) -> bool {
        !self.ongoing() && now_ns - self.last_ns > SAME_NS
    }

    /// Whether it changed since the last call.
    pub(crate) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Takes new blocks from the ring; returns the new blocks of its capture.
    pub(crate) fn take(&mut self, ring: &Ring, facts: &[(u64, Fact)]) -> Vec<Arc<[u8]>> {
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

    /// Ends its capture; returns the last block.
    pub(crate) fn end(&mut self, ring: &Ring) -> Option<Arc<[u8]>> {
        self.open = false;
        let block = self.last_block(ring)?;
        self.capture.push(Arc::clone(&block));
        Some(block)
    }

    /// The block that would end its capture now.
    fn last_block(&self, ring: &Ring) -> Option<Arc<[u8]>> {
        let serial = self.serial?;
        let last = ring.since(i64::MIN, Some(serial.saturating_sub(1))).next()?;
        Some(ending(last).into())
    }

    /// The complete incident for its file, with the judge's report.
    pub(crate) fn text(&self, boot: &str) -> Vec<u8> {
        let text = serde_json::to_string_pretty(&self.json(boot)).unwrap_or_default();
        let report = self.judged.as_ref().map_or("null", |judged| &judged.report);
        let open = text.trim_end().trim_end_matches('}').trim_end();
        format!("{open},\n  \"report\": {}\n}}", report.trim()).into_bytes()
    }

    /// The same without the report, for the program that is notified.
    pub(crate) fn json(&self, boot: &str) -> Value {
        let judged = self.judged.as_ref();
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
                    "at": crate::when::words(wall(alarm.at_ns)),
                    "at_ns": wall(alarm.at_ns),
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
            "at": crate::when::words(self.at.wall),
            "at_ns": self.at.wall,
            "began": crate::when::words(wall(self.began_ns)),
            "began_ns": wall(self.began_ns),
            "until": crate::when::words(wall(self.last_ns)),
            "until_ns": wall(self.last_ns),
            "over": !self.ongoing(),
            "boot": boot,
            "length_s": (self.last_ns - self.began_ns) as f64 / 1e9,
            "trigger": seen.map(|alarm| alarm.trigger.name()),
            "device": device,
            "mounts": self.mounts,
            "names": self.names,
            "who": first.and_then(|first| first.who.as_deref()),
            "owner": first.and_then(|first| first.owner.as_deref()),
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
        })
    }
}

/// The facts with the current offset of the clocks instead of that at the recorder's start. The
/// start is converted with the current offset, too.
pub(crate) fn with_clock(facts: &[(u64, Fact)], offset_ns: i64) -> Vec<(u64, Fact)> {
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
    fn what_is_judged_once_its_disk_is_gone_is_of_the_same_incident() {
        let alarm = |at_s: i64, trigger, verdict: Option<&str>| Alarm {
            at_ns: at_s * SECOND_NS,
            trigger,
            device: "no-such-disk".to_string(),
            words: String::new(),
            excess_ns: 0.0,
            verdict: verdict.map(str::to_string),
        };
        let at = Clocks { monotonic: 100 * SECOND_NS, ..Clocks::now() };
        let first = alarm(100, Trigger::Latency, None);
        let mut incident = Incident::begin(String::new(), first, at, Arc::from([]), 0);
        incident.disk = Some(7);
        let retry = FindingSummary {
            verdict: "device.retry".to_string(),
            blame: "disk",
            accuses: true,
            device: "no-such-disk".to_string(),
            confidence: 0.9,
            explained: 1.0,
            sentence: String::new(),
            waited_per_s: None,
            who: None,
            owner: None,
        };
        let judged = CaseVerdict {
            incident: None,
            is_early: false,
            first: Some(retry),
            others: Vec::new(),
            lost: 0,
            thinned: Vec::new(),
            report: String::new(),
            cpu_ns: 0,
        };
        let nothing = Activity::default();
        incident.judge(judged, &nothing, &Recording::default());
        // The look that ended at 112 s saw seconds from before it went.
        let late = alarm(112, Trigger::Verdict, Some("device.retry"));
        assert!(incident.is_same(&late));
        incident.add_later(late, &nothing);
        assert_eq!(incident.last_ns, 100 * SECOND_NS);
        // A latency is of the second in which it is seen.
        incident.add_later(alarm(113, Trigger::Latency, None), &nothing);
        assert_eq!(incident.last_ns, 113 * SECOND_NS);
    }

    #[test]
    fn a_clock_that_was_set_moves_when_the_recorder_began() {
        let fact = |key, ns| (0, Fact::new(None, key, FactValue::Duration(Nanos(ns)), ""));
        let facts = [fact(key::CLOCK_OFFSET, 1000), fact(key::CLOCK_BEGAN, 1070)];
        let later = [fact(key::CLOCK_OFFSET, 400), fact(key::CLOCK_BEGAN, 470)];
        assert_eq!(with_clock(&facts, 400), later);
    }
}
