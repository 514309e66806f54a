//! The journal's own forms: `journalctl -o json`, `json-pretty`, `export` and `verbose`.

use serde_json::Value;

use crate::text::document::{Document, Piece, sniff_document};
use crate::{Detect, Step, integer};

/// Fields of every entry; with sorted or unsorted keys one of them comes early.
const KEYS: [&str; 3] = ["\"__REALTIME_TIMESTAMP\"", "\"__MONOTONIC_TIMESTAMP\"", "\"__CURSOR\""];

/// Whether an entry of the journal begins at the first line.
pub(super) fn sniff(lines: &[&str]) -> Detect {
    match lines.first() {
        Some(first) if first.starts_with('{') => sniff_document(lines, &KEYS),
        Some(first) => begins_entry(first).into(),
        None => Detect::No,
    }
}

fn begins_entry(line: &str) -> bool {
    let exported =
        line.strip_prefix("__CURSOR=").or_else(|| line.strip_prefix("__REALTIME_TIMESTAMP="));
    // `Sat 2026-11-21 08:36:47.123456 UTC [s=...;i=...;b=...]`
    let verbose = line.ends_with(']') && line.contains(" [s=") && line.contains(";i=");
    exported.is_some_and(|rest| !rest.is_empty()) || verbose
}

/// One message of the kernel.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Entry {
    /// Seconds, on the kernel's own clock where it is reported.
    pub(super) stamp: String,
    pub(super) message: String,
}

/// Entries as their lines come.
#[derive(Default)]
pub(super) struct Journal {
    document: Option<Document>,
    fields: Fields,
}

#[derive(Default)]
struct Fields {
    any: bool,
    /// `_TRANSPORT=`, which the journal itself writes.
    transport: String,
    /// `SYSLOG_IDENTIFIER=`, which anybody may choose.
    identifier: String,
    message: String,
    /// Microseconds since boot, and since 1970.
    boot: Option<u64>,
    wall: Option<u64>,
}

impl Journal {
    /// Takes a line: the entry that it completes, if it is one of the kernel.
    pub(super) fn line(&mut self, line: &str) -> (Option<Entry>, Step) {
        if line.starts_with('{') || self.document.is_some() {
            return self.json(line);
        }
        let text = line.trim_start();
        if text.is_empty() || begins_entry(line) && self.fields.any {
            let done = std::mem::take(&mut self.fields).entry();
            self.field(text);
            return (done, Step::Consumed);
        }
        let step =
            if self.field(text) || begins_entry(line) { Step::Consumed } else { Step::NotMine };
        (None, step)
    }

    /// The entry that nothing more comes of.
    pub(super) fn finish(&mut self) -> Option<Entry> {
        std::mem::take(&mut self.fields).entry()
    }

    fn json(&mut self, line: &str) -> (Option<Entry>, Step) {
        let mut document = self.document.take().unwrap_or_default();
        let (pieces, step) = document.step(line);
        let whole = pieces.into_iter().find_map(|piece| match piece {
            Piece::Whole(value) => Some(value),
            _ => None,
        });
        if !document.is_over() {
            self.document = Some(document);
        }
        (whole.and_then(|value| entry_of(&value)), step)
    }

    /// Takes `KEY=VALUE`; false if it is none.
    fn field(&mut self, text: &str) -> bool {
        let Some((key, value)) = text.split_once('=') else { return false };
        let named = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
        if key.is_empty() || !key.bytes().all(named) {
            return false;
        }
        self.fields.any = true;
        self.fields.take(key, value);
        true
    }
}

impl Fields {
    fn take(&mut self, key: &str, value: &str) {
        match key {
            "MESSAGE" => self.message = value.to_string(),
            "_TRANSPORT" => self.transport = value.to_string(),
            "SYSLOG_IDENTIFIER" => self.identifier = value.to_string(),
            "_SOURCE_MONOTONIC_TIMESTAMP" => self.boot = integer(value),
            "__MONOTONIC_TIMESTAMP" => self.boot = self.boot.or(integer(value)),
            "__REALTIME_TIMESTAMP" => self.wall = integer(value),
            _ => {}
        }
    }

    fn entry(self) -> Option<Entry> {
        let us = self.boot.or(self.wall);
        let stamp =
            us.map_or(String::new(), |us| format!("{}.{:06}", us / 1_000_000, us % 1_000_000));
        let by = if self.transport.is_empty() { &self.identifier } else { &self.transport };
        (by == "kernel" && !self.message.is_empty())
            .then_some(Entry { stamp, message: self.message })
    }
}

fn entry_of(value: &Value) -> Option<Entry> {
    let mut fields = Fields::default();
    for (key, value) in value.as_object()? {
        match value {
            Value::String(text) => fields.take(key, text),
            // A message that is not UTF-8 comes as its bytes.
            Value::Array(bytes) => {
                let bytes: Option<Vec<u8>> = bytes
                    .iter()
                    .map(|byte| byte.as_u64().and_then(|byte| byte.try_into().ok()))
                    .collect();
                fields.take(key, &String::from_utf8_lossy(&bytes.unwrap_or_default()));
            }
            _ => {}
        }
    }
    fields.entry()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Vec<(String, String)> {
        let mut journal = Journal::default();
        let mut found: Vec<Entry> = text.lines().filter_map(|line| journal.line(line).0).collect();
        found.extend(journal.finish());
        found.into_iter().map(|entry| (entry.stamp, entry.message)).collect()
    }

    #[test]
    fn one_entry_in_every_form() {
        let expected = [("12.345678".to_string(), "ata4: hard resetting link".to_string())];
        let other = "{\"__CURSOR\":\"s=1\",\"MESSAGE\":\"hello\",\"SYSLOG_IDENTIFIER\":\"sshd\"}\n";
        for text in [
            "{\"__CURSOR\":\"s=1\",\"_TRANSPORT\":\"kernel\",\"_SOURCE_MONOTONIC_TIMESTAMP\":\"12345678\",\
             \"MESSAGE\":\"ata4: hard resetting link\"}\n",
            "{\n\t\"__MONOTONIC_TIMESTAMP\" : \"12345678\",\n\t\"MESSAGE\" : \"ata4: hard \
             resetting link\",\n\t\"SYSLOG_IDENTIFIER\" : \"kernel\"\n}\n",
            "__CURSOR=s=1\n__MONOTONIC_TIMESTAMP=12345678\n_TRANSPORT=kernel\n\
             MESSAGE=ata4: hard resetting link\n\n",
            "Sat 2026-11-21 08:36:47.123456 UTC [s=a;i=1;b=c;m=d;t=e;x=f]\n    \
             _TRANSPORT=kernel\n    \
             _SOURCE_MONOTONIC_TIMESTAMP=12345678\n    MESSAGE=ata4: hard resetting link\n",
        ] {
            assert!(sniff(&text.lines().collect::<Vec<_>>()) == Detect::Yes, "{text}");
            assert_eq!(entries(text), expected, "{text}");
            assert_eq!(entries(&format!("{text}{other}")), expected, "{text}");
        }
        assert!(sniff(&["MESSAGE=x"]) == Detect::No);
        // `logger -t kernel`
        let forged = "__CURSOR=s=1\n_TRANSPORT=syslog\nSYSLOG_IDENTIFIER=kernel\n\
                      MESSAGE=ata4: hard resetting link\n\n";
        assert!(entries(forged).is_empty());
    }
}
