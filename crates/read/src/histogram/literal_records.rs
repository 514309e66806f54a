//! PyLatencyMap's records as written, counts cumulative, by the grammar of its version 1.3.
//!
//! The format `pylatencymap` interprets and repairs a stream; this module keeps what is written,
//! for pictures that must equal the original's byte for byte. Where the original would end with an
//! error, the line is left out and counted.

use std::io::{self, BufRead};

use iowhy_model::Note;

use crate::text::lines::Lines;

const BEGIN: &str = "<begin record>";
const END: &str = "<end record>";
/// How far the logarithm of a bucket may be above a whole number (docs/METHOD.md,
/// 16 PyLatencyMap records).
const ABOVE_WHOLE: f64 = 1e-6;
/// Log events kept; the rest are only counted.
const NOTES_KEPT: usize = 3;
/// Characters of a bad line that are kept.
const NOTE_TEXT: usize = 80;

/// One record, word for word, in small letters as the original reads it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiteralRecord {
    /// Its stamp in microseconds; 0 if it has none.
    pub at_us: i64,
    /// The time in words after the timestamp.
    pub date: String,
    /// What was measured.
    pub label: String,
    /// Who measured; empty if it does not say.
    pub source: String,
    /// The unit of bucket values: that of this record or of the last one that named it; empty if
    /// none did.
    pub unit: String,
    /// Cumulative counts by the bucket's power of two, in the order they first appear.
    pub counts: Vec<(u32, i64)>,
}

/// Reads the records of a stream, one after another.
pub struct LiteralRecords<'a> {
    lines: Lines<'a>,
    unit: String,
    /// Lines and records that were left out.
    pub skipped: u64,
    /// The first three of them.
    pub notes: Vec<Note>,
}

impl<'a> LiteralRecords<'a> {
    /// The records of this stream.
    pub fn new(reader: &'a mut dyn BufRead) -> LiteralRecords<'a> {
        LiteralRecords {
            lines: Lines::new(reader),
            unit: String::new(),
            skipped: 0,
            notes: Vec::new(),
        }
    }

    /// The next record, or `None` at the end of the stream. One that has no end is left out.
    ///
    /// # Errors
    /// What the stream shows when it cannot be read on.
    pub fn next_record(&mut self) -> io::Result<Option<LiteralRecord>> {
        let mut open: Option<LiteralRecord> = None;
        while let Some(line) = self.lines.next()? {
            let whole = self.lines.text(line);
            let text = whole.trim();
            let outcome = match &mut open {
                _ if text.is_empty() => Ok(()),
                None => {
                    open = text.eq_ignore_ascii_case(BEGIN).then(LiteralRecord::default);
                    Ok(())
                }
                Some(record) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                    count(record, text)
                }
                Some(_) if text.eq_ignore_ascii_case(BEGIN) => {
                    open = Some(LiteralRecord::default());
                    Err("the previous record has no end")
                }
                Some(record) if text.eq_ignore_ascii_case(END) => {
                    record.unit.clone_from(&self.unit);
                    return Ok(open);
                }
                Some(record) => item(record, &mut self.unit, text),
            };
            if let Err(reason) = outcome {
                let text = text.chars().take(NOTE_TEXT).collect();
                let note = Note { line: line.number, text, reason: reason.to_string() };
                self.skip(note);
            }
        }
        if open.is_some() {
            let reason = "the last record has no end".to_string();
            self.skip(Note { line: self.lines.number, text: String::new(), reason });
        }
        Ok(None)
    }

    fn skip(&mut self, note: Note) {
        self.skipped += 1;
        if self.notes.len() < NOTES_KEPT {
            self.notes.push(note);
        }
    }
}

/// What is not a count: stamp, label, source, unit.
fn item(record: &mut LiteralRecord, unit: &mut String, text: &str) -> Result<(), &'static str> {
    let lower = text.to_lowercase();
    let fields: Vec<&str> = lower.split(',').map(str::trim).collect();
    match fields[..] {
        ["timestamp", "microsec", at, date] => {
            record.at_us = at.parse().map_err(|_| "the timestamp is not a whole number")?;
            record.date = date.to_string();
        }
        ["label", label] => record.label = label.to_string(),
        ["datasource", source] => record.source = source.to_string(),
        ["latencyunit", name @ ("millisec" | "microsec" | "nanosec")] => *unit = name.to_string(),
        ["latencyunit", _] => return Err("unknown latency unit"),
        ["timestamp", clock, _, _] if clock != "microsec" => {
            return Err("PyLatencyMap accepts only timestamps in `microsec`");
        }
        ["label" | "timestamp", _, _, ..] => return Err("an extra comma"),
        _ => return count(record, text),
    }
    Ok(())
}

/// A bucket and its count; one that is repeated is added up.
fn count(record: &mut LiteralRecord, text: &str) -> Result<(), &'static str> {
    let (bucket, count) = text.split_once(',').ok_or("not an item of a record")?;
    let bucket: u128 = bucket.trim().parse().map_err(|_| "not an item of a record")?;
    let count: i64 = count.trim().parse().map_err(|_| "the count is not a whole number")?;
    let power = (bucket as f64).ln() / 2f64.ln();
    // Below a bucket of 1 there is minus infinity, which is not a whole number either.
    if power.is_infinite() || power - power.floor() > ABOVE_WHOLE {
        return Err("the bucket is not a power of two");
    }
    let power = power as u32;
    match record.counts.iter_mut().find(|(known, _)| *known == power) {
        Some((_, sum)) => *sum = sum.saturating_add(count),
        None => record.counts.push((power, count)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<LiteralRecord>, u64) {
        let mut bytes = text.as_bytes();
        let mut stream = LiteralRecords::new(&mut bytes);
        let mut records = Vec::new();
        while let Some(record) = stream.next_record().unwrap() {
            records.push(record);
        }
        (records, stream.skipped)
    }

    #[test]
    fn records_are_taken_word_for_word() {
        let text = "noise\n\
                    <BEGIN record>\n\
                    \x20Timestamp , microsec, 10000000, Mon 1\n\
                    Label, My Wait\n\
                    latencyunit,microsec\n\
                    datasource,Oracle\n\
                    256, 5\n\
                    1024 , 2\n\
                    256,1\n\
                    <end record>\n\
                    ";
        let again = "<begin record>\n1,7\n<end record>\n";
        let (records, skipped) = read(&(text.to_string() + again));
        assert_eq!(skipped, 0);
        let first = &records[0];
        assert_eq!((first.at_us, first.date.as_str()), (10_000_000, "mon 1"));
        assert_eq!((first.label.as_str(), first.source.as_str()), ("my wait", "oracle"));
        assert_eq!(first.counts, [(8, 6), (10, 2)]);
        let second =
            LiteralRecord { unit: "microsec".into(), counts: vec![(0, 7)], ..first.clone() };
        let bare = LiteralRecord { unit: second.unit, counts: second.counts, ..Default::default() };
        assert_eq!(records[1], bare);
    }

    #[test]
    fn what_ends_the_original_is_left_out_and_counted() {
        let text = "<begin record>\n\
                    0,5\n\
                    1000,5\n\
                    label,a,b\n\
                    hello\n\
                    -4,1\n\
                    4,x\n\
                    4,9\n\
                    <end record>\n\
                    <begin record>\n\
                    8,1\n\
                    <begin record>\n\
                    2,2\n\
                    <end record>\n\
                    <begin record>\n\
                    1,1\n\
                    ";
        let (records, skipped) = read(text);
        let counts: Vec<_> = records.iter().map(|record| record.counts.clone()).collect();
        assert_eq!(counts, [vec![(2, 9)], vec![(1, 2)]]);
        assert_eq!(skipped, 8);
    }

    #[test]
    fn every_power_of_two_is_one() {
        for power in 0..127u32 {
            let mut record = LiteralRecord::default();
            assert_eq!(count(&mut record, &format!("{},1", 1u128 << power)), Ok(()));
            assert_eq!(record.counts, [(power, 1)]);
        }
    }
}
