//! Makes every number of every sample invalid in turn: a lost record must be reported.
//!
//! Digits of a name (`sda1`, `pread64`) are not a number: another name may give another record.

use std::time::{Duration, Instant};

use iowhy_model::Recording;

use super::AttackRow;
use super::texts::places;

/// The attack's name.
const UNSAID: &str =
    "each number of each sample made invalid in turn: a record lost without a report";
/// What is written in its place: what tools print when a division or a counter fails, and what they
/// print for nothing.
const ODD: [&str; 6] = ["nan", "inf", "*****", "-1", "-", "N/A"];
/// Bytes of a sample at most.
const MOST: usize = 1 << 16;

/// Replaces up to this many numbers of each sample, spread over it, by each of [`ODD`], as far as
/// there is time, beginning with a given sample; read here, for the files of all commands are read
/// so.
pub(super) fn unsaid(
    texts: &[(String, Vec<u8>)],
    from: usize,
    most: usize,
    time: Duration,
) -> AttackRow {
    let end = Instant::now() + time;
    let mut row = AttackRow { attack: UNSAID, inputs: 0, runs: 0, failures: Vec::new() };
    for (name, text) in texts.iter().cycle().skip(from).take(texts.len()) {
        let text = text.get(..MOST.min(text.len())).unwrap_or_default();
        let whole = Read::of(text);
        let places: Vec<(usize, usize)> =
            places(text).into_iter().filter(|(from, _)| !is_of_name(text, *from)).collect();
        let step = places.len().div_ceil(most).max(1);
        for (from, to) in places.iter().step_by(step).copied() {
            if Instant::now() > end {
                return row;
            }
            for odd in ODD {
                let damaged = [&text[..from], odd.as_bytes(), &text[to..]].concat();
                row.inputs += 1;
                row.runs += 1;
                let left = Read::of(&damaged);
                if left.records < whole.records && !left.says_more(&whole) {
                    let line = text[..from].iter().filter(|byte| **byte == b'\n').count() + 1;
                    let number = String::from_utf8_lossy(&text[from..to]);
                    let (before, after) = (whole.records, left.records);
                    let lost = format!("`{number}` made `{odd}`: {before} records, then {after}");
                    row.failures.push(format!("{name}:{line}: {lost}"));
                }
            }
        }
    }
    row
}

/// Whether the digits at an offset are part of a name: `sda1`, `dm-0`, `pread64`, `D2C`.
fn is_of_name(text: &[u8], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|place| text.get(place));
    let letter = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    letter(before(1)) || before(1) == Some(&b'-') && letter(before(2))
}

/// The outcome of a text.
struct Read {
    /// Events, rows and histograms.
    records: usize,
    /// Lines of which it is reported that they could not be read.
    skipped: u64,
    /// I/Os of which it is reported that they are missing; damage may hide what was lost before it.
    lost: u64,
}

impl Read {
    fn of(bytes: &[u8]) -> Read {
        let mut recording = Recording::new();
        let scan = iowhy_read::scan("sample", &mut &bytes[..], None, &mut recording);
        let listings = recording.listings.iter();
        let measured = listings.clone().map(|listing| {
            listing.events.len() + listing.intervals.len() + listing.distributions.len()
        });
        let skipped: u64 = listings.clone().map(|listing| listing.source.skipped).sum();
        let lost = listings.map(|listing| listing.source.lost()).sum();
        // Nothing recognised at all is status 2.
        let refused = u64::from(scan.is_err()) << 32;
        let skipped = skipped + recording.unread.len() as u64 + refused;
        Read { records: measured.sum(), skipped, lost }
    }

    fn says_more(&self, than: &Read) -> bool {
        self.skipped > than.skipped || self.lost > than.lost
    }
}
