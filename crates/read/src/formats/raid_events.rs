//! Event logs of MegaRAID and PERC controllers: storcli, perccli, MegaCli, the firmware's own log.
//!
//! ## Reads
//! `Event Description:` lines of the tools, and `EVT#` lines of the firmware's log. An event about
//! a drive becomes a fact `kernel.log.KIND` of it, like those of the kernel's log (format
//! `kernel-log`): `medium` (sense key 3, a medium error in a patrol read, a rebuild or a recovery),
//! `hardware` (sense key 4), `timeout` (a command timed out, the drive was reset), `offline` (it
//! was removed, or failed by the controller). `Predictive failure` is `member.errors.predictive`; a
//! volume that is degraded has `array.state`, a cache switched off with its battery
//! `array.write_cache`. `kernel.log.lines` counts the events.
//!
//! ## How to capture
//! `storcli /c0 show events`, `perccli /c0 show events`, `MegaCli -AdpEventLog -GetEvents -f FILE
//! -aALL`, `MegaCli -FwTermLog -Dsply -aALL`.
//!
//! ## Versions
//! MegaCli 8, storcli 1 to 7, firmware of MegaRAID 9260 to 9560.
//!
//! ## Caveats
//! Drives are named by enclosure and slot, `c0/e32/s11`, as by the format `raid-controller`, of
//! whatever controller. Sense keys 2, 5, 6 and B alone (not ready, refused, reset, aborted) show no
//! fault. A log reaches back for years.
//!
//! ## Not in this output
//! Durations; the kernel's name of a drive.

use std::collections::BTreeMap;

use iowhy_model::typed::WritePolicy;
use iowhy_model::{Message, MessageKind};

use crate::drive::log_events::LogEvents;
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<RaidEvents>(
    "event logs of MegaRAID and PERC controllers: storcli, perccli, MegaCli",
    Level::E,
    &["Event Description:", "EVT#"],
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

/// The time before an event in the firmware's log, and what it says: `EVT#12228-11/30/13  6:35:01:
/// 113=Unexpected sense: ...`.
fn event(line: &str) -> Option<(&str, &str)> {
    if let Some((_, text)) = line.split_once("Event Description:") {
        return Some(("", text.trim()));
    }
    let (_, rest) = line.split_once("EVT#")?;
    let (number, rest) = rest.split_once('-')?;
    let (head, text) = rest.split_once('=')?;
    let (stamp, code) = head.rsplit_once(':')?;
    integer(number).and(integer(code.trim()))?;
    Some((stamp.trim(), text.trim()))
}

/// `c0/e32/s11` of `PD 0b(e0x20/s11)`.
fn drive(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("PD ")?;
    let (_, place) = rest.split_once("(e0x")?;
    let (enclosure, rest) = place.split_once("/s")?;
    let enclosure = u64::from_str_radix(enclosure, 16).ok()?;
    let slot = integer(rest.split(')').next()?)?;
    // 255 is the controller itself: the drive is in no enclosure.
    Some(match enclosure {
        255 => format!("c0/s{slot}"),
        _ => format!("c0/e{enclosure}/s{slot}"),
    })
}

/// The kind of an event about a drive.
fn kind(text: &str) -> Option<MessageKind> {
    if text.starts_with("Unexpected sense: PD ") {
        let (_, sense) = text.split_once("Sense: ")?;
        return match sense.split('/').next()? {
            "3" => Some(MessageKind::Medium),
            "4" => Some(MessageKind::Hardware),
            _ => None,
        };
    }
    KINDS.iter().find(|(_, words)| text.contains(words)).map(|(kind, _)| *kind)
}

#[derive(Default)]
struct RaidEvents {
    log_events: LogEvents,
    /// How often the failure of a drive was predicted.
    predicted: BTreeMap<String, u64>,
}

impl Reader for RaidEvents {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some((stamp, text)) = event(line) else {
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
        let stamp = if stamp.is_empty() { self.log_events.end.clone() } else { stamp.to_string() };
        self.log_events.line(&stamp);
        let (name, place) = (drive(text), sink.here());
        if let Some(name) = name.as_ref().filter(|_| text.starts_with("Predictive failure: PD ")) {
            *self.predicted.entry(name.clone()).or_default() += 1;
        }
        if let (Some(name), Some(kind)) = (&name, kind(text)) {
            self.log_events.add(kind, name, Message::new(&stamp, text), place.clone(), sink);
        }
        if let Some(volume) = text.strip_prefix("VD ")
            && let Some((number, state)) = volume.split_once(" is now ")
            && let Some(number) =
                number.split('/').next().and_then(|hex| u64::from_str_radix(hex, 16).ok())
        {
            let volume = format!("c0/v{number}");
            sink.add_fact_at(
                &volume,
                typed::ARRAY_STATE,
                state.trim_end_matches('.').to_lowercase(),
                &place,
            );
        }
        let policy = match text {
            _ if text.starts_with("BBU disabled; changing WB ") => Some(WritePolicy::Through),
            _ if text.starts_with("BBU enabled; changing WT ") => Some(WritePolicy::Back),
            _ => None,
        };
        if let Some(policy) = policy {
            sink.add_fact_at("c0", typed::ARRAY_WRITE_CACHE, policy, &place);
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (name, count) in std::mem::take(&mut self.predicted) {
            sink.add_fact(&name, typed::MEMBER_ERRORS.of("predictive"), count);
        }
        self.log_events.close(sink);
    }
}
