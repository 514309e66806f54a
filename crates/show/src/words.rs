//! Verdicts, thresholds and levels in words; numbers are written by `iowhy_model::numbers`.

pub(crate) use iowhy_model::numbers::{NONE, bytes, count, duration, several, share, short, three};
use iowhy_model::{
    Basis, Blame, Bound, Finding, Impact, Level, Nanos, Quantity, Requester, STANDS, Severity,
    Unit, Verdict,
};

use crate::paint::{Tone, wrap};

/// The beginning of a sentence, marked as such if something is left out.
pub(crate) fn ended(sentence: &str, room: usize) -> String {
    let mut lines = wrap(sentence, room.saturating_sub(3)).into_iter();
    let first = lines.next().unwrap_or_default();
    let Some(next) = lines.next() else { return first };
    // A path of its own length would leave the line nearly empty: its beginning then.
    let left = room.saturating_sub(3 + first.chars().count());
    let word = next.split_whitespace().next().unwrap_or_default();
    let begun: String = word.chars().take(left.saturating_sub(1)).collect();
    if left > room / 3 && begun.chars().count() > 2 {
        return format!("{first} {begun} ..");
    }
    format!("{first} ..")
}

/// The first clauses of a sentence that there is room for, whole, so that nothing is cut; the
/// beginning of the first one if that is too long.
pub(crate) fn clauses(sentence: &str, room: usize) -> String {
    if sentence.chars().count() <= room {
        return sentence.to_string();
    }
    // A bracket or a quote that is open would not be closed.
    let is_whole = |text: &str| {
        text.matches('(').count() == text.matches(')').count()
            && text.matches('`').count().is_multiple_of(2)
    };
    let ends = [": ", "; ", ", ", " ("].into_iter();
    let ends = ends.flat_map(|end| sentence.match_indices(end)).map(|(at, _)| at);
    let heads = ends.filter_map(|at| sentence.get(..at));
    let heads = heads.filter(|head| head.chars().count() <= room && is_whole(head));
    let longest = heads.max_by_key(|head| head.len());
    longest.filter(|head| head.contains(' ')).map_or_else(|| ended(sentence, room), str::to_string)
}

/// What a finding blames, as a headline; or suspects, if it is not certain enough to be acted on.
pub(crate) fn blame_headline(finding: &Finding) -> &'static str {
    // As the percentage beside it is rounded.
    let stands = (finding.confidence() * 100.0).round() / 100.0 >= STANDS;
    let [certain, suspected] = match (finding.verdict, finding.blames()) {
        (Verdict::DevicePeriodicDelay, _) if stands => {
            return "A TIMER OR FIRMWARE IS TO BLAME, NOT THE WORKLOAD";
        }
        (Verdict::DeviceHang, _) if stands => return "THE DEVICE HUNG ONCE, CAUSE UNKNOWN",
        (Verdict::LayerRemote, _) => [
            "STORAGE BEHIND THE HOST IS TO BLAME, NOT THE WORKLOAD",
            "STORAGE BEHIND THE HOST IS SUSPECTED, NOT PROVEN",
        ],
        (Verdict::PeerShared, _) => [
            "WHAT THE DISKS SHARE IS TO BLAME, NO SINGLE DISK",
            "WHAT THE DISKS SHARE IS SUSPECTED, NOT PROVEN",
        ],
        (_, blames) => headlines(blames),
    };
    if stands { certain } else { suspected }
}

/// What is to blame, and what is suspected.
fn headlines(blames: Blame) -> [&'static str; 2] {
    match blames {
        Blame::Disk => {
            ["THE DISK IS TO BLAME, NOT THE WORKLOAD", "THE DISK IS SUSPECTED, NOT PROVEN"]
        }
        Blame::Path => [
            "THE PATH TO THE DISK IS TO BLAME, NOT THE DISK",
            "THE PATH TO THE DISK IS SUSPECTED, NOT PROVEN",
        ],
        Blame::DiskOrPath => [
            "THE DISK OR ITS PATH IS TO BLAME, NOT THE WORKLOAD",
            "THE DISK OR ITS PATH IS SUSPECTED, NOT PROVEN",
        ],
        Blame::Workload => {
            ["THE WORKLOAD IS TO BLAME, NOT THE DISK", "THE WORKLOAD IS SUSPECTED, NOT PROVEN"]
        }
        Blame::Limit => {
            ["A LIMIT IS TO BLAME, NEITHER DISK NOR WORKLOAD", "A LIMIT IS SUSPECTED, NOT PROVEN"]
        }
        Blame::Configuration => {
            ["THE CONFIGURATION IS TO BLAME", "THE CONFIGURATION IS SUSPECTED, NOT PROVEN"]
        }
        Blame::Above => {
            ["THE DELAY IS ABOVE THE BLOCK LAYER", "THE DELAY MAY BE ABOVE THE BLOCK LAYER"]
        }
        Blame::Below => [
            "THE STORAGE IS TO BLAME: DISK, PATH OR ITS LOAD",
            "THE STORAGE IS SUSPECTED, NOT PROVEN",
        ],
        Blame::Report => ["THE REPORT IS MISLEADING", "THE REPORT MAY BE MISLEADING"],
        Blame::Nobody => ["HEALTHY: NO PROBLEM FOUND", "NO PROBLEM SEEN, NOT PROVEN HEALTHY"],
        Blame::Unknown => ["NO VERDICT: NOT ENOUGH EVIDENCE", "NO VERDICT: NOT ENOUGH EVIDENCE"],
    }
}

/// The colour of a finding: that of its severity; a warning for a cause without measured latency.
pub(crate) fn tone(finding: &Finding) -> Tone {
    match (finding.blames(), finding.severity()) {
        (Blame::Nobody, _) if finding.confidence() >= STANDS => Tone::Good,
        (Blame::Nobody, _) => Tone::Accent,
        (Blame::Unknown | Blame::Report, _) => Tone::Accent,
        (_, Some(Severity::Severe)) => Tone::Bad,
        (_, Some(Severity::Notable) | None) => Tone::Warn,
        (_, Some(Severity::Minor | Severity::None)) => Tone::Plain,
    }
}

/// What a verdict explains a share of, if it names a cause: a contradiction in the numbers explains
/// no latency, and an unmeasured or unnoticed problem has none to explain.
pub(crate) fn explains(finding: &Finding) -> Option<&'static str> {
    if finding.share_is_assumed {
        return None;
    }
    let about_a_device = finding.subject.device.is_some();
    match (finding.blames(), finding.severity()) {
        (Blame::Nobody | Blame::Unknown, _) => None,
        (Blame::Report, _) => Some("the reported value"),
        (_, Some(Severity::None)) => None,
        (_, None) if finding.impact.is_none() && (about_a_device || is_told(finding)) => None,
        _ => Some("the excess latency"),
    }
}

/// Whether a finding rests on a log or a status rather than on timings.
fn is_told(finding: &Finding) -> bool {
    finding.evidence.iter().any(|one| one.basis != Basis::Measured)
}

/// How a program waited for a thread that commits a journal, if it did: ` by fsync (jbd2/sdb1-8)`.
pub(crate) fn by_journal(one: &Requester) -> String {
    one.journal.as_deref().map_or(String::new(), |thread| format!(" by fsync ({thread})"))
}

/// The worst interval is reported beside the mean if it is this many times as bad.
const WORST_RATIO: f64 = 2.0;

/// The cost of the problem: time waited per second, share of slow requests, p99 or mean.
pub(crate) fn impact(impact: &Impact) -> String {
    let mut parts = Vec::new();
    if let Some(waited) = impact.waited_per_s {
        let worst = impact.worst_per_s.filter(|worst| *worst >= WORST_RATIO * waited);
        let worst = worst.map_or(String::new(), |worst| {
            format!(" ({} in the worst interval)", duration(worst * 1e9))
        });
        parts.push(format!("{} waited per second{worst}", duration(waited * 1e9)));
    }
    let ns = |length: Nanos| duration(length.ns() as f64);
    if let Some(slow) = impact.slow_share {
        let least = share(slow);
        // I/Os in the bucket of the threshold may have been slow.
        let of_all = match impact.slow_most.map(share).filter(|most| *most != least) {
            None => least,
            Some(most) if slow == 0.0 => format!("up to {most}"),
            Some(most) => format!("{least} to {most}"),
        };
        parts.push(format!("{of_all} of I/Os over {}", ns(impact.felt())));
    }
    match (impact.p99, impact.mean, impact.longest) {
        (Some(p99), _, _) => parts.push(format!("p99 {}", ns(p99))),
        (None, Some(mean), _) => parts.push(format!("mean {}", ns(mean))),
        (None, None, Some(longest)) => parts.push(format!("longest {}", ns(longest))),
        (None, None, None) => {}
    }
    parts.join(", ")
}

/// A confidence in words.
pub(crate) fn sureness(confidence: f64) -> &'static str {
    // As the percentage beside it is rounded.
    match (confidence * 100.0).round() / 100.0 {
        c if c >= 0.95 => "nearly certain",
        c if c >= 0.8 => "very likely",
        c if c >= 0.6 => "likely",
        c if c >= 0.4 => "possible",
        c if c >= 0.0 => "a guess",
        _ => "not reported",
    }
}

/// A value in its unit.
pub(crate) fn quantity(value: f64, unit: Unit) -> String {
    Quantity { value, unit }.words()
}

/// The threshold a value was compared with: `> 3.3 ms`, `12 to 20 %`.
pub(crate) fn bound(bound: Option<Bound>, unit: Unit) -> String {
    match bound {
        None => String::new(),
        Some(Bound::Above(limit)) => format!("> {}", quantity(limit, unit)),
        Some(Bound::Below(limit)) => format!("< {}", quantity(limit, unit)),
        Some(Bound::Between(low, high)) => {
            format!("{} to {}", quantity(low, unit), quantity(high, unit))
        }
    }
}

/// A level as its letter and its words: `C, per-I/O log`.
pub(crate) fn level(level: Level) -> String {
    format!("{}, {}", level.letter(), level.words())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_sentence_fills_its_line() {
        let saturated = "sda is saturated: await 32 ms, service time 0.3 ms (a guess), and so on";
        assert_eq!(clauses(saturated, 100), saturated);
        assert_eq!(clauses(saturated, 40), "sda is saturated: await 32 ms");
        assert_eq!(clauses(saturated, 52), "sda is saturated: await 32 ms, service time 0.3 ms");
        assert_eq!(clauses(saturated, 20), "sda is saturated");
        assert_eq!(clauses(saturated, 14), "sda is satu ..");
        assert_eq!(clauses("in `a, b, c` of a line that is too long", 20), "in `a, b, c` of a ..");
        assert_eq!(ended("a short one", 20), "a short one");
        assert_eq!(ended("the disk needs too long for a read", 21), "the disk needs too ..");
        let path = ended("the server of /tmp/iowhy-slow-29-1/mount does not answer", 40);
        assert_eq!(path, "the server of /tmp/iowhy-slow-29-1/mo ..");
    }
}
