//! Triggers of incidents: latency far above what is usual for a device at this hour, a stall, an
//! error, a kernel message, pressure, a verdict, a mark.

use std::collections::HashMap;

use iowhy_model::{Op, Stage, numbers};
use iowhy_store::LearnedHistograms;

use super::intake::Second;

/// I/Os below this latency are never noticed, ns: the bound of a fast device (`FELT_FAST` of the
/// model's impact).
const FELT_NS: u64 = 5_000_000;
/// While nothing is learned: a request of a second is severe for any device (`LONG` of the model's
/// impact).
const UNLEARNED_NS: u64 = 1_000_000_000;
/// Time waited beyond the usual in one second from which on it is an incident, ns: a tenth of it.
const WAITED_NS: f64 = 1e8;
/// Requests in flight without a completion for this long are a stall, ns. Two readings a second
/// apart.
const STALL_NS: i64 = 1_900_000_000;
/// Minimum pause before the same device triggers for the same reason again, ns; doubled each time
/// while it continues, up to the maximum.
const PAUSE_NS: i64 = 10_000_000_000;
const PAUSE_MOST_NS: i64 = 1_800_000_000_000;
/// EOPNOTSUPP: an unsupported command is not a fault.
const NOT_SUPPORTED: u16 = 95;
/// Kinds of kernel messages that are no incident of a disk by themselves.
const QUIET_KINDS: [&str; 1] = ["firmware"];

/// Why an incident begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Trigger {
    /// Latency far above what is usual for the device at this hour.
    Latency,
    /// Requests in flight, but no completions.
    Stall,
    /// An I/O failed.
    Error,
    /// The kernel reported an error, a reset, a stuck task.
    KernelLog,
    /// Tasks wait for I/O.
    Pressure,
    /// The verdict changed to an accusation.
    Verdict,
    /// `SIGUSR1`, or `iowhy mark`.
    Asked,
    /// The store cannot be written.
    Store,
}

impl Trigger {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Trigger::Latency => "latency",
            Trigger::Stall => "stall",
            Trigger::Error => "io-error",
            Trigger::KernelLog => "kernel-log",
            Trigger::Pressure => "pressure",
            Trigger::Verdict => "verdict",
            Trigger::Asked => "asked",
            Trigger::Store => "store",
        }
    }
}

/// An alarm: one reason at one time.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Alarm {
    /// When, CLOCK_MONOTONIC in ns.
    pub at_ns: i64,
    /// Why.
    pub trigger: Trigger,
    /// The device; empty if none.
    pub device: String,
    /// What was seen.
    pub words: String,
    /// Time waited beyond the usual, ns.
    pub excess_ns: f64,
    /// The verdict, if that is what changed.
    pub verdict: Option<String>,
}

/// How often incidents may begin.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    per_hour: f64,
    left: f64,
    at_ns: i64,
    /// When each device and trigger may begin the next one, and the pause after that.
    pauses: HashMap<(String, Trigger), (i64, i64)>,
    /// Suppressed alarms.
    pub suppressed: u64,
}

impl Rate {
    /// At most this many an hour, half of them at once.
    pub(crate) fn new(per_hour: f64) -> Rate {
        let left = (per_hour / 2.0).max(1.0);
        Rate { per_hour, left, at_ns: 0, pauses: HashMap::new(), suppressed: 0 }
    }

    /// Whether this alarm may begin an incident.
    pub(crate) fn allows(&mut self, alarm: &Alarm) -> bool {
        let passed = (alarm.at_ns - self.at_ns).max(0) as f64 / 3.6e12;
        self.left = (self.left + passed * self.per_hour).min((self.per_hour / 2.0).max(1.0));
        self.at_ns = alarm.at_ns;
        let key = (alarm.device.clone(), alarm.trigger);
        let asked = alarm.trigger == Trigger::Asked;
        let waits = self.pauses.get(&key).is_some_and(|(until, _)| alarm.at_ns < *until);
        if self.left < 1.0 || waits && !asked {
            self.suppressed += 1;
            return false;
        }
        self.left -= 1.0;
        true
    }

    /// The incident begun by this alarm is over.
    pub(crate) fn over(&mut self, device: &str, trigger: Trigger, at_ns: i64) {
        let key = (device.to_string(), trigger);
        let pause = match self.pauses.get(&key) {
            // It continued almost at once.
            Some((until, pause)) if at_ns < until + 4 * pause => (2 * pause).min(PAUSE_MOST_NS),
            _ => PAUSE_NS,
        };
        self.pauses.retain(|_, (until, pause)| at_ns < *until + 4 * *pause);
        self.pauses.insert(key, (at_ns + pause, pause));
    }
}

/// Checks each second.
pub(crate) struct Triggers {
    /// Usual latencies.
    pub learned: LearnedHistograms,
    /// The share of time in which tasks wait for I/O from which on it is an incident, 0 to 1.
    psi: f64,
    pressed: bool,
    /// Since when each device has requests in flight without a completion, ns, and whether it was
    /// reported.
    silent: HashMap<String, (i64, bool)>,
    /// Time waited for kinds of I/O without a learned bound since the last call, s.
    pub unlearned_s: f64,
}

impl Triggers {
    /// With what was learned before.
    pub(crate) fn new(learned: LearnedHistograms, psi: f64) -> Triggers {
        Triggers { learned, psi, pressed: false, silent: HashMap::new(), unlearned_s: 0.0 }
    }

    /// The alarms of this second. Learns from a second without alarms.
    pub(crate) fn second(&mut self, second: &Second, hour: u8, now_ns: i64) -> Vec<Alarm> {
        let mut alarms = self.stalls(second, now_ns);
        for (device, (count, errno)) in &second.errors {
            if *errno != NOT_SUPPORTED {
                alarms.push(Alarm {
                    at_ns: now_ns,
                    trigger: Trigger::Error,
                    device: device.clone(),
                    words: format!("{count} I/Os failed, the last with errno {errno}"),
                    excess_ns: 0.0,
                    verdict: None,
                });
            }
        }
        let mut quiet = Vec::new();
        for (device, one) in &second.histograms {
            let Some(op) = one.op.filter(|_| one.stage == Stage::Total) else { continue };
            let learned = self.learned.bound_ns(device, op, hour);
            if learned.is_none() {
                self.unlearned_s += one.histogram.sum_ns.unwrap_or(0.0) / 1e9;
            }
            match latency(device, op, one, learned, now_ns) {
                Some(alarm) => alarms.push(alarm),
                None => quiet.push((device, op, &one.histogram)),
            }
        }
        for (device, op, histogram) in quiet {
            if !alarms.iter().any(|alarm| alarm.device == *device) {
                self.learned.learn(device, op, hour, histogram);
            }
        }
        alarms
    }

    fn stalls(&mut self, second: &Second, now_ns: i64) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        for (device, row) in &second.averages {
            let done: f64 = row.rates.iter().map(|(_, rates)| rates.ios_per_s).sum();
            let waiting = row.in_flight.unwrap_or(0);
            if waiting == 0 || done > 0.0 {
                self.silent.remove(device);
                continue;
            }
            let length = row.length.map_or(1_000_000_000, |length| length.ns());
            let (since, message) =
                self.silent.entry(device.clone()).or_insert((now_ns - length, false));
            let silent = now_ns - *since;
            if silent < STALL_NS {
                continue;
            }
            let excess = if *message { length } else { silent };
            *message = true;
            alarms.push(Alarm {
                at_ns: now_ns,
                trigger: Trigger::Stall,
                device: device.clone(),
                words: format!(
                    "{waiting} I/Os in flight and none completed for {}",
                    numbers::duration(silent as f64)
                ),
                excess_ns: excess as f64 * waiting as f64,
                verdict: None,
            });
        }
        alarms
    }

    /// The share of the last 10 s in which some task waited for I/O. An alarm when it rises above
    /// the bound; the next only after it was below half of it.
    pub(crate) fn pressure(&mut self, share: f64, now_ns: i64) -> Option<Alarm> {
        if self.pressed {
            self.pressed = share >= self.psi / 2.0;
            return None;
        }
        self.pressed = share >= self.psi;
        self.pressed.then(|| Alarm {
            at_ns: now_ns,
            trigger: Trigger::Pressure,
            device: String::new(),
            words: format!("tasks waited for I/O {} of 10 s", numbers::share(share)),
            excess_ns: 0.0,
            verdict: None,
        })
    }

    /// A kernel message of this kind.
    pub(crate) fn kernel(
        &self,
        kind: &str,
        device: &str,
        text: &str,
        now_ns: i64,
    ) -> Option<Alarm> {
        (!QUIET_KINDS.contains(&kind)).then(|| Alarm {
            at_ns: now_ns,
            trigger: Trigger::KernelLog,
            device: device.to_string(),
            words: format!("{kind}: {text}"),
            excess_ns: 0.0,
            verdict: None,
        })
    }
}

/// Whether a second's I/Os took far longer than the learned bound, or longer than a second without
/// one.
fn latency(
    device: &str,
    op: Op,
    one: &iowhy_model::Distribution,
    learned: Option<u64>,
    now_ns: i64,
) -> Option<Alarm> {
    let bound = learned.map_or(UNLEARNED_NS, |bound| bound.max(FELT_NS));
    let over = one.histogram.filled().filter(|(low, ..)| *low >= bound);
    let (mut count, mut excess) = (0, 0.0);
    for (low, _, n) in over {
        count += n;
        excess += low as f64 * n as f64;
    }
    if excess < WAITED_NS {
        return None;
    }
    let slowest = numbers::duration(one.histogram.max_ns.unwrap_or(bound) as f64);
    let usual = if learned.is_some() {
        format!("4 times the p99.9 of this hour, {}", numbers::duration(bound as f64))
    } else {
        "1 s (no baseline learned yet)".to_string()
    };
    Some(Alarm {
        at_ns: now_ns,
        trigger: Trigger::Latency,
        device: device.to_string(),
        words: format!("{count} {} I/Os above {usual}; slowest {slowest}", op.name()),
        excess_ns: excess,
        verdict: None,
    })
}

#[cfg(test)]
mod tests {
    use iowhy_model::{DeviceId, Distribution, Edges, Histogram, Interval, Layer, Nanos, Rates};

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn reads(quick: u64, slow: &[u64]) -> Second {
        let mut histogram = Histogram::empty(Edges::standard());
        (0..quick).for_each(|_| histogram.record(300_000));
        slow.iter().for_each(|ms| histogram.record(ms * 1_000_000));
        let mut one = Distribution::new(DeviceId::at(0), Layer::Block, Stage::Total, histogram);
        one.op = Some(Op::Read);
        Second { histograms: vec![("sda".to_string(), one)], ..Second::default() }
    }

    fn counters(ios_per_s: f64, in_flight: u64) -> Second {
        let mut row = Interval::new(DeviceId::at(0), Layer::Block);
        row.rates.push((Op::Read, Rates { ios_per_s, ..Rates::default() }));
        (row.in_flight, row.length) = (Some(in_flight), Some(Nanos(SECOND)));
        Second { averages: vec![("sda".to_string(), row)], ..Second::default() }
    }

    #[test]
    fn what_is_usual_at_this_hour_is_no_incident_and_what_is_far_above_is() {
        let mut triggers = Triggers::new(LearnedHistograms::default(), 0.4);
        for second in 0..30 {
            assert!(triggers.second(&reads(200, &[]), 3, second * SECOND).is_empty());
        }
        // 4 times 512 us is below the noticeable minimum, so the bound is 5 ms, and 100 ms in
        // total.
        assert!(triggers.second(&reads(200, &[4; 100]), 3, SECOND).is_empty());
        assert!(triggers.second(&reads(200, &[80]), 3, SECOND).is_empty());
        let alarms = triggers.second(&reads(200, &[80, 80]), 3, SECOND);
        assert_eq!(alarms.len(), 1);
        assert_eq!((alarms[0].trigger, alarms[0].device.as_str()), (Trigger::Latency, "sda"));
        assert!(alarms[0].words.contains("2 read I/Os above"), "{}", alarms[0].words);
        // A disk without history must be slow by any standard.
        let mut new = Triggers::new(LearnedHistograms::default(), 0.4);
        assert!(new.second(&reads(10, &[300]), 3, SECOND).is_empty());
        assert_eq!(new.second(&reads(10, &[1300]), 3, SECOND).len(), 1);
        assert!((new.unlearned_s - 1.606).abs() < 0.001, "{}", new.unlearned_s);
        triggers.unlearned_s = 0.0;
        triggers.second(&reads(200, &[4; 100]), 3, SECOND);
        assert!(triggers.unlearned_s == 0.0, "{}", triggers.unlearned_s);
    }

    #[test]
    fn a_stall_is_told_after_two_seconds_and_ends_with_a_completion() {
        let mut triggers = Triggers::new(LearnedHistograms::default(), 0.4);
        assert!(triggers.second(&counters(0.0, 3), 0, SECOND).is_empty());
        let alarms = triggers.second(&counters(0.0, 3), 0, 2 * SECOND);
        assert_eq!(alarms[0].trigger, Trigger::Stall);
        assert_eq!(alarms[0].excess_ns, 6e9);
        assert!(triggers.second(&counters(5.0, 3), 0, 3 * SECOND).is_empty());
        assert!(triggers.second(&counters(0.0, 3), 0, 4 * SECOND).is_empty());
    }

    #[test]
    fn the_same_trouble_begins_fewer_and_fewer_incidents() {
        let mut rate = Rate::new(30.0);
        let alarm = |at_s: i64| Alarm {
            at_ns: at_s * SECOND,
            trigger: Trigger::Latency,
            device: "sda".to_string(),
            words: String::new(),
            excess_ns: 0.0,
            verdict: None,
        };
        let mut begun = Vec::new();
        for at in 0..600 {
            if rate.allows(&alarm(at)) {
                begun.push(at);
                rate.over("sda", Trigger::Latency, at * SECOND);
            }
        }
        assert_eq!(begun, [0, 10, 30, 70, 150, 310]);
        assert_eq!(rate.suppressed, 594);
        // Many devices at once: half of the hour's number.
        let mut rate = Rate::new(10.0);
        let many =
            (0..100).filter(|k| rate.allows(&Alarm { device: format!("sd{k}"), ..alarm(0) }));
        assert_eq!(many.count(), 5);
    }

    #[test]
    fn pressure_is_told_when_it_rises() {
        let mut triggers = Triggers::new(LearnedHistograms::default(), 0.4);
        let reported: Vec<bool> = [0.1, 0.5, 0.6, 0.3, 0.45, 0.1, 0.5]
            .map(|share| triggers.pressure(share, 0).is_some())
            .into();
        assert_eq!(reported, [false, true, false, false, false, false, true]);
    }
}
