//! What smartd reports of a drive, in a system log or in a mail: one sentence a line.

use iowhy_model::typed::{Celsius, Key};
use iowhy_model::{Fact, FactKey, FactValue, Sink, typed};

use crate::drive::health::{disk_behind, drive_named, leading};

/// What a sentence of smartd says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SmartdMessage {
    /// The drive it names.
    pub(crate) drive: String,
    /// Facts, in the order the values come; none if the sentence is only noise.
    pub(crate) facts: Vec<(FactKey, FactValue)>,
}

impl SmartdMessage {
    /// States its facts.
    pub(crate) fn state(self, place: &str, sink: &mut dyn Sink) {
        let device = Some(sink.device(&self.drive));
        for (key, value) in self.facts {
            sink.fact(Fact::new(device, key, value, place.to_string()));
        }
    }
}

/// Counters that smartd names when they grow, and their facts.
const GROWING: &[(&str, Key<u64>)] = &[
    ("ATA error count increased from ", typed::SMART_ERRORS),
    ("Self-Test Log error count increased from ", typed::SMART_SELF_TEST_ERRORS),
    ("number of Error Log entries increased from ", typed::SMART_NVME.of("num_err_log_entries")),
    ("Media and Data Integrity Errors increased from ", typed::SMART_NVME.of("media_errors")),
];
/// Counts in front of their words.
const COUNTS: &[(&str, Key<u64>)] = &[
    (" Currently unreadable (pending) sectors", typed::SMART_RAW.of("197")),
    (" Offline uncorrectable sectors", typed::SMART_RAW.of("198")),
];
/// Sentences of a drive that did not answer: it may sleep, or be attached to a controller.
const SILENT: &[&str] = &[
    "Read SMART Self-Test Log Failed", "Read SMART Self Test Log Failed",
    "Read Summary SMART Error Log failed", "failed to read SMART Attribute Data",
    "unable to open device", "unable to open ATA device",
];
/// How sentences without a fact begin.
const NOISE: &[&str] = &[
    "opened", "found in smartd database", "not found in smartd database", "is SMART capable",
    "state read from", "state written to", "SMART Prefailure Attribute:", "SMART Usage Attribute:",
    "initial Temperature", "Temperature changed", "previous self-test", "starting scheduled",
    "is in", "Self-Test Log", "enabled", "CHECK POWER",
];

/// Whether a sentence is smartd's own: nothing precedes it, as in its mails, or
/// what a log puts there with smartd as the program, `Nov 25 22:24:55 nod3 smartd[2244]: `.
fn is_by_smartd(before: &str) -> bool {
    let before = before.trim_start_matches([' ', '\t', '*', '-', '"', '\'']).trim_end();
    let (head, program) = before.rsplit_once(char::is_whitespace).unwrap_or(("", before));
    let program = program.rsplit_once('/').map_or(program, |(_, name)| name);
    let named = program.starts_with("smartd") && program.ends_with(':');
    before.is_empty() || named && !head.split_whitespace().any(|word| word.ends_with(':'))
}

/// Sentences of every kind, made up.
pub(crate) fn examples() -> impl Iterator<Item = String> {
    let growing = GROWING.iter().map(|(words, _)| format!("{words}1 to 15"));
    let counts = COUNTS.iter().map(|(words, _)| format!("8{words}"));
    let silent = SILENT.iter().map(|words| words.to_string());
    let fixed =
        ["FAILED SMART self-check. BACK UP DATA NOW!", "Critical Warning (0x04): Reliability"];
    let sentences = growing.chain(counts).chain(silent).chain(fixed.map(str::to_string));
    sentences.map(|sentence| format!("Device: /dev/sda [SAT], {sentence}"))
}

/// Whether smartd began a sentence about a drive on a line.
pub(crate) fn is_begun(line: &str) -> bool {
    line.split_once("Device: /").is_some_and(|(before, _)| is_by_smartd(before))
}

/// Reads one sentence; `None` if smartd did not say it.
pub(crate) fn message_of(line: &str) -> Option<SmartdMessage> {
    if !line.contains(':') {
        return None;
    }
    let (before, rest) = line.split_once("Device: /")?;
    if !is_by_smartd(before) {
        return None;
    }
    let text = format!("/{rest}");
    let (subject, sentence) = text.split_once(", ").or_else(|| text.split_once(' '))?;
    let path = subject.split_whitespace().next()?;
    let drive = disk_behind(subject).or_else(|| drive_named(path))?;
    let mut smartd_message = SmartdMessage { drive, facts: Vec::new() };
    let known = state(sentence.trim(), &mut smartd_message);
    let by_smartd = line.contains("smartd");
    let noise = || NOISE.iter().any(|noise| sentence.trim_start().starts_with(noise));
    (known || by_smartd && noise()).then_some(smartd_message)
}

/// Takes the facts of a sentence; whether it is known.
fn state(sentence: &str, reported: &mut SmartdMessage) -> bool {
    let facts = &mut reported.facts;
    for (words, key) in GROWING {
        if let Some(rest) = sentence.strip_prefix(words) {
            let from_to = rest.split_once(" to ").map(|(from, to)| (leading(from), leading(to)));
            let Some((Some(from), Some(to))) = from_to else { return false };
            facts.extend([from, to].map(|count| key.with(count)));
            return true;
        }
    }
    for (words, key) in COUNTS {
        if let Some((count, _)) = sentence.split_once(words) {
            let healed = count.starts_with("No more");
            let value = if healed { Some(0) } else { leading(count) };
            if let Some(value) = value {
                facts.push(key.with(value));
                return true;
            }
        }
        if sentence.starts_with("No more") && sentence.contains(words.trim()) {
            facts.push(key.with(0u64));
            return true;
        }
    }
    if sentence.starts_with("FAILED SMART self-check") || sentence.starts_with("SMART Failure:") {
        facts.push(typed::SMART_PASSED.with(false));
        return true;
    }
    if sentence.starts_with("SMART Health Status: ") || sentence.starts_with("SMART overall") {
        facts.push(typed::SMART_PASSED.with(sentence.ends_with("OK")));
        return true;
    }
    let failed = ["Failed SMART usage Attribute: ", "Failed SMART Prefailure Attribute: "];
    if let Some(rest) = failed.iter().find_map(|words| sentence.strip_prefix(words)) {
        let Some(id) = leading(rest) else { return false };
        facts.push(typed::SMART_FAILED.member(id).with("now"));
        return true;
    }
    if let Some(rest) = sentence.strip_prefix("Critical Warning (") {
        let Some(value) = leading(rest) else { return false };
        facts.push(typed::SMART_NVME.of("critical_warning").with(value));
        return true;
    }
    if let Some(rest) = sentence.strip_prefix("Temperature ")
        && let Some(celsius) = leading(rest)
        && rest.contains("Celsius reached")
    {
        facts.push(typed::SMART_CELSIUS.with(Celsius(celsius as f64)));
        return true;
    }
    if let Some(rest) = sentence
        .strip_prefix("SMART Prefailure Attribute: ")
        .or_else(|| sentence.strip_prefix("SMART Usage Attribute: "))
    {
        // `5 Reallocated_Sector_Ct changed from 100 [Raw 0] to 99 [Raw 8]`: without its raw value
        // an attribute is normalised, and shows nothing by itself.
        let raws = rest
            .match_indices("[Raw ")
            .filter_map(|(at, mark)| leading(rest.get(at + mark.len()..)?));
        if let (Some(id), raws) = (leading(rest), raws.collect::<Vec<_>>()) {
            let key = typed::SMART_RAW.member(id);
            facts.extend(raws.iter().map(|raw| key.with(*raw)));
            return rest.contains(" changed ");
        }
    }
    if SILENT.iter().any(|words| sentence.starts_with(words)) {
        facts.push(typed::SMART_SILENT.with(sentence.trim_end_matches('.')));
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_another_program_and_the_name_of_a_unit_are_no_message() {
        for forged in [
            "Nov 25 22:24:55 nod3 app[7]: Device: /dev/sda, FAILED SMART self-check. BACK UP DATA \
             NOW!",
            "Nov 25 22:24:55 nod3 systemd[1]: Started smartd[1]: Device: /dev/sda, FAILED SMART \
             self-check.",
            "Device: /dev/sda, which I bought in May, is slow",
        ] {
            assert_eq!(message_of(forged), None, "{forged}");
        }
    }
}
