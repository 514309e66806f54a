//! Event logs of MegaRAID and PERC controllers: storcli, perccli, MegaCli, the firmware's own log,
//! Dell OpenManage.
//!
//! ## Reads
//! `Event Description:` lines of the tools, `EVT#` lines of the firmware's log, and what
//! OpenManage's `Server Administrator` logs to syslog as `Storage Service EventID: 2188`. An event
//! about a drive becomes a fact `kernel.log.KIND` of it, like those of the kernel's log (format
//! `kernel-log`): `medium` (sense key 3, a medium error in a patrol read, a rebuild or a recovery),
//! `hardware` (sense key 4), `timeout` (a command timed out, the drive was reset), `offline` (it
//! was removed, or failed by the controller). `Predictive failure` is `member.errors.predictive`; a
//! volume that is degraded has `array.state`. The last change of a controller's write policy is
//! `array.write_cache`; where that is away from write-back, `array.write_cache.asked` says so, and
//! `controller.battery` what OpenManage says of the battery. `kernel.log.lines` counts the events.
//!
//! ## How to capture
//! `storcli /c0 show events`, `perccli /c0 show events`, `MegaCli -AdpEventLog -GetEvents -f FILE
//! -aALL`, `MegaCli -FwTermLog -Dsply -aALL`, `grep 'Storage Service' /var/log/messages`.
//!
//! ## Versions
//! MegaCli 8, storcli 1 to 7, firmware of MegaRAID 9260 to 9560, OpenManage 5 to 11.
//!
//! ## Caveats
//! Drives are named by enclosure and slot, `c0/e32/s11`, as by the format `raid-controller`, of
//! whatever controller, by OpenManage as it prints them, `c0/0:1:3`. Sense keys 2, 5, 6 and B alone
//! (not ready, refused, reset, aborted) show no fault. A log reaches back for years.
//!
//! ## Not in this output
//! Durations; the kernel's name of a drive.

use std::collections::BTreeMap;

use iowhy_model::typed::WritePolicy;
use iowhy_model::{Message, MessageKind};

use crate::drive::log_events::LogEvents;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<RaidEvents>(
    "event logs of MegaRAID and PERC controllers: storcli, perccli, MegaCli, OpenManage",
    Level::E,
    &["Event Description:", "EVT#", "Service EventID: "],
    |line| event(line).is_some(),
)
.resumed();

/// Events about a drive by the words before or after its name, in the order that counts.
const KINDS: [(MessageKind, &str); 9] = [
    (MessageKind::Medium, "Unrecoverable medium error during "),
    (MessageKind::Medium, "Corrected medium error during recovery on PD "),
    (MessageKind::Medium, "Patrol Read corrected medium error on PD "),
    (MessageKind::Medium, "Puncturing bad block on PD "),
    (MessageKind::Timeout, "Command timeout on PD "),
    (MessageKind::Timeout, " reset (Type "),
    (MessageKind::Offline, "Removed: PD "),
    (MessageKind::Offline, " to FAILED("),
    (MessageKind::Offline, " to OFFLINE("),
];
/// Lines of a record beside its description.
const FIELDS: [&str; 9] = [
    "seqNum:", "Seconds since last reboot:", "Code:", "Class:", "Locale:", "Event Data:", "====",
    "None", "Event Time",
];

/// Events of OpenManage by their number (its messages reference guide, storage management).
const NUMBERED: [(u64, MessageKind); 13] = [
    (2048, MessageKind::Offline),
    (2049, MessageKind::Offline),
    (2050, MessageKind::Offline),
    (2146, MessageKind::Medium),
    (2147, MessageKind::Medium),
    (2148, MessageKind::Medium),
    (2149, MessageKind::Medium),
    (2272, MessageKind::Medium),
    (2273, MessageKind::Medium),
    (2349, MessageKind::Medium),
    (2350, MessageKind::Medium),
    (2405, MessageKind::Timeout),
    (2416, MessageKind::Medium),
];
/// And about a battery, with its state.
const BATTERY: [(u64, &str); 11] = [
    (2145, "low"),
    (2169, "to be replaced"),
    (2174, "removed"),
    (2176, LEARNS),
    (2177, "learn cycle completed"),
    (2178, "learn cycle timed out"),
    (2246, "degraded"),
    (2247, "charging"),
    (2248, LEARNS),
    (2278, "charge below normal"),
    (2279, "charge normal"),
];
const LEARNS: &str = "learning";
/// Its events by number: predicted failures, volumes, the write policy, what the firmware logs.
const PREDICTED: u64 = 2094;
const SENSE: u64 = 2095;
const VOLUME_FAILED: u64 = 2056;
const VOLUME_DEGRADED: u64 = 2057;
const WRITES_THROUGH: u64 = 2188;
const WRITES_BACK: u64 = 2189;

/// An event of any of these logs.
struct Event<'t> {
    stamp: &'t str,
    text: &'t str,
    /// OpenManage's number of it; of what the firmware logs itself there is none.
    number: Option<u64>,
    controller: u64,
    /// The volume or the drive, where OpenManage names it.
    volume: Option<u64>,
    drive: Option<&'t str>,
}

/// The time before an event in the firmware's log, and what it says: `EVT#12228-11/30/13  6:35:01:
/// 113=Unexpected sense: ...`.
fn event(line: &str) -> Option<Event<'_>> {
    let of =
        |stamp, text| Event { stamp, text, number: None, controller: 0, volume: None, drive: None };
    if let Some((_, text)) = line.split_once("Event Description:") {
        return Some(of("", text.trim()));
    }
    if let Some((head, rest)) = line.split_once("Service EventID: ") {
        return of_openmanage(head, rest);
    }
    let (_, rest) = line.split_once("EVT#")?;
    let (number, rest) = rest.split_once('-')?;
    let (head, text) = rest.split_once('=')?;
    let (stamp, code) = head.rsplit_once(':')?;
    integer(number).and(integer(code.trim()))?;
    Some(of(stamp.trim(), text.trim()))
}

/// `Sep 16 17:36:31 db1 Server Administrator: Storage Service EventID: 2188  The controller write
/// policy has been changed to Write Through.: Battery 0 Controller 0`.
fn of_openmanage<'t>(head: &'t str, rest: &'t str) -> Option<Event<'t>> {
    let (head, service) = head.rsplit_once(':')?;
    let head = head.trim_end().strip_suffix("Administrator")?;
    let (number, text) = rest.trim().split_once(' ')?;
    let number = integer(number).filter(|_| service.trim() == "Storage")?;
    // The names of the parts follow the sentence.
    let at = text.rfind(" Controller ")?;
    let (before, controller) = (text.get(..at)?, text.get(at + " Controller ".len()..)?);
    let digits = controller.find(|c: char| !c.is_ascii_digit()).unwrap_or(controller.len());
    let controller = integer(controller.get(..digits)?)?;
    let after = |name: &str| {
        let (sentence, rest) = before.split_once(name)?;
        sentence.trim_end().ends_with(':').then_some(rest.trim_end())
    };
    let volume = after("Virtual Disk ").and_then(|rest| integer(rest.split(' ').next()?));
    let drive = after("Physical Disk ").filter(|drive| drive.contains(':'));
    let drive = drive.filter(|drive| drive.bytes().all(|b| b.is_ascii_digit() || b == b':'));
    // The firmware's own words are behind these.
    let logged = before.trim_start().strip_prefix("Controller event log: ");
    let (number, text) = match logged {
        Some(own) => (None, own.trim_end().trim_end_matches(':')),
        None => (Some(number), text),
    };
    let clock = head.find(':')?;
    let end = head.get(clock..)?.find(' ').map_or(head.len(), |end| clock + end);
    let stamp = head.get(..end)?.trim();
    Some(Event { stamp, text: text.trim(), number, controller, volume, drive })
}

impl Event<'_> {
    /// The drive, `c0/e32/s11` of `PD 0b(e0x20/s11)`.
    fn drive(&self) -> Option<String> {
        let controller = self.controller;
        if let Some(drive) = self.drive {
            return Some(format!("c{controller}/{drive}"));
        }
        let (_, rest) = self.text.split_once("PD ")?;
        let (_, place) = rest.split_once("(e0x")?;
        let (enclosure, rest) = place.split_once("/s")?;
        let enclosure = u64::from_str_radix(enclosure, 16).ok()?;
        let slot = integer(rest.split(')').next()?)?;
        // 255 is the controller itself: the drive is in no enclosure.
        Some(match enclosure {
            255 => format!("c{controller}/s{slot}"),
            _ => format!("c{controller}/e{enclosure}/s{slot}"),
        })
    }

    /// The kind of an event about a drive.
    fn kind(&self) -> Option<MessageKind> {
        if self.number == Some(SENSE) {
            let (_, sense) = self.text.split_once("Sense key: ")?;
            return kind_of_sense(sense.split(' ').next()?);
        }
        if self.number.is_some() {
            let known = NUMBERED.iter().find(|(number, _)| self.number == Some(*number));
            return known.map(|(_, kind)| *kind);
        }
        if self.text.starts_with("Unexpected sense: PD ") {
            let (_, sense) = self.text.split_once("Sense: ")?;
            return kind_of_sense(sense.split('/').next()?);
        }
        KINDS.iter().find(|(_, words)| self.text.contains(words)).map(|(kind, _)| *kind)
    }

    fn predicts_a_failure(&self) -> bool {
        self.number == Some(PREDICTED) || self.text.starts_with("Predictive failure: PD ")
    }

    /// The write policy from now on.
    fn policy(&self) -> Option<WritePolicy> {
        let begins = |words| self.text.starts_with(words);
        match self.number {
            Some(WRITES_THROUGH) => Some(WritePolicy::Through),
            Some(WRITES_BACK) => Some(WritePolicy::Back),
            None if begins("BBU disabled; changing WB ") => Some(WritePolicy::Through),
            None if begins("BBU enabled; changing WT ") => Some(WritePolicy::Back),
            _ => None,
        }
    }

    /// The volume and its state.
    fn volume(&self) -> Option<(u64, String)> {
        let state = match self.number {
            Some(VOLUME_FAILED) => "failed",
            Some(VOLUME_DEGRADED) => "degraded",
            Some(_) => return None,
            None => {
                let (number, state) = self.text.strip_prefix("VD ")?.split_once(" is now ")?;
                let number = u64::from_str_radix(number.split('/').next()?, 16).ok()?;
                return Some((number, state.trim_end_matches('.').to_lowercase()));
            }
        };
        Some((self.volume?, state.to_string()))
    }
}

fn kind_of_sense(key: &str) -> Option<MessageKind> {
    match key {
        "3" => Some(MessageKind::Medium),
        "4" => Some(MessageKind::Hardware),
        _ => None,
    }
}

#[derive(Default)]
struct RaidEvents {
    log_events: LogEvents,
    /// How often the failure of a drive was predicted.
    predicted: BTreeMap<String, u64>,
    /// The write policy and the battery of each controller, with their places.
    policies: BTreeMap<u64, (WritePolicy, String)>,
    batteries: BTreeMap<u64, Battery>,
}

/// What was logged of a battery.
#[derive(Default)]
struct Battery {
    learns: bool,
    /// The last state beside that.
    state: Option<&'static str>,
    place: String,
}

/// Controllers remembered.
const CONTROLLERS: usize = 64;

impl Reader for RaidEvents {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(event) = event(line) else {
            let plain = line.trim();
            if let Some(stamp) = plain.strip_prefix("Time:") {
                self.log_events.end = stamp.trim().to_string();
                return Step::Consumed;
            }
            let is_field = |field: &&str| plain.starts_with(field);
            // Lines of the firmware's log have its date in front.
            let is_dated = plain.split('/').count() >= 3
                && plain.split(['/', ' ']).take(3).all(|part| integer(part).is_some());
            let is_own = plain.is_empty() || is_dated || FIELDS.iter().any(is_field);
            return if is_own { Step::Consumed } else { Step::NotMine };
        };
        let stamp = match event.stamp {
            "" => self.log_events.end.clone(),
            stamp => stamp.to_string(),
        };
        self.log_events.line(&stamp);
        let (name, place) = (event.drive(), sink.here());
        if let Some(name) = name.as_ref().filter(|_| event.predicts_a_failure()) {
            *self.predicted.entry(name.clone()).or_default() += 1;
        }
        if let (Some(name), Some(kind)) = (&name, event.kind()) {
            let message = Message::new(&stamp, event.text);
            self.log_events.add(kind, name, message, place.clone(), sink);
        }
        if let Some((number, state)) = event.volume() {
            let volume = format!("c{}/v{number}", event.controller);
            sink.add_fact_at(&volume, typed::ARRAY_STATE, state, &place);
        }
        self.battery(&event, &place);
        if let Some(policy) = event.policy()
            && self.policies.len() < CONTROLLERS
        {
            self.policies.insert(event.controller, (policy, place));
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (controller, (policy, place)) in std::mem::take(&mut self.policies) {
            let name = format!("c{controller}");
            sink.add_fact_at(&name, typed::ARRAY_WRITE_CACHE, policy, &place);
            // It was changed from the other.
            if policy == WritePolicy::Through {
                sink.add_fact_at(&name, typed::ARRAY_WRITE_CACHE_ASKED, WritePolicy::Back, &place);
            }
        }
        for (controller, battery) in std::mem::take(&mut self.batteries) {
            let states = [battery.learns.then_some(LEARNS), battery.state];
            let states: Vec<&str> = states.into_iter().flatten().collect();
            let name = format!("c{controller}");
            let state = states.join(", ");
            sink.add_fact_at(&name, typed::CONTROLLER_BATTERY, state, &battery.place);
        }
        for (name, count) in std::mem::take(&mut self.predicted) {
            sink.add_fact(&name, typed::MEMBER_ERRORS.of("predictive"), count);
        }
        self.log_events.close(sink);
    }
}

impl RaidEvents {
    /// Learns the state of a battery: a learn cycle lasts until its end is logged.
    fn battery(&mut self, event: &Event, place: &str) {
        let known = BATTERY.iter().find(|(number, _)| event.number == Some(*number));
        let Some((_, state)) = known.filter(|_| self.batteries.len() < CONTROLLERS) else { return };
        let battery = self.batteries.entry(event.controller).or_default();
        if *state == LEARNS {
            (battery.learns, battery.state) = (true, None);
        } else {
            battery.learns &= !state.starts_with("learn");
            battery.state = Some(state);
        }
        battery.place = place.to_string();
    }
}
