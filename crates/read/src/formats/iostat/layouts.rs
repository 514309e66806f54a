//! The tables of `iostat -x` by the number of their values, for rows whose heading is missing or
//! truncated.
//!
//! A layout is used only if it makes a row consistent: bytes are requests times size, the queue is
//! rate times wait, and await lies between that of reads and that of writes. That also
//! distinguishes kB from MB and sectors, which the number of columns does not.

use iowhy_model::is_kernel_name;

use crate::counters::disk_columns::is_value;
use crate::decimal;

/// `-x` of each generation; `{}` is the unit of bytes.
const LAYOUTS: [&str; 7] = [
    // 6.1.2 to 9.1.1.
    "rrqm/s wrqm/s r/s w/s r{}/s w{}/s avgrq-sz avgqu-sz await svctm %util",
    // 9.1.2 to 11.5.6.
    "rrqm/s wrqm/s r/s w/s r{}/s w{}/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    // To 6.1.1.
    "rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    // 11.5.7 to 12.1.1.
    "r/s w/s r{}/s w{}/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm \
     %util",
    // 12.1.2 and later, without and with flushes.
    "r/s r{}/s rrqm/s %rrqm r_await rareq-sz w/s w{}/s wrqm/s %wrqm w_await wareq-sz d/s d{}/s \
     drqm/s %drqm d_await dareq-sz aqu-sz %util",
    "r/s r{}/s rrqm/s %rrqm r_await rareq-sz w/s w{}/s wrqm/s %wrqm w_await wareq-sz d/s d{}/s \
     drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util",
    // The same without discards (`iostat -x` of some distributions' pages).
    "r/s r{}/s rrqm/s %rrqm r_await rareq-sz w/s w{}/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util",
];
const UNITS: [(&str, f64); 3] = [("kB", 1024.0), ("sec", 512.0), ("MB", 1_048_576.0)];

/// How far numbers printed to a hundredth may be apart, beside their rounding.
const TOLERANCE: f64 = 0.05;
/// Values with a fraction that a row has at least.
const FRACTIONS: usize = 3;
/// Half of the last digit.
const HALF_DIGIT: f64 = 0.005;
/// Bytes of a sector, of a KiB.
const SECTOR: f64 = 512.0;
const KIB: f64 = 1024.0;
/// Busy shares above this are implausible.
const FULL: f64 = 110.0;

/// What a row without a heading reports of its columns.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Layout {
    /// These.
    Columns(Vec<String>),
    /// The row is idle: any row of this many values fits.
    Idle,
    /// None.
    No,
}

/// The columns of a row of a disk; with `known`, columns of a cut heading, which must be among
/// them in this order.
pub(super) fn columns_of(words: &[&str], known: &[String]) -> Layout {
    let Some((name, cells)) = words.split_first() else { return Layout::No };
    let sized = |layout: &&&str| layout.split_ascii_whitespace().count() == cells.len();
    // A web page or an editor leaves `0` of `0.00` now and then.
    let fractions = cells.iter().filter(|word| word.contains(['.', ','])).count();
    if !is_kernel_name(name) || !cells.iter().all(|word| is_value(word)) || fractions < FRACTIONS {
        return Layout::No;
    }
    let layouts: Vec<&&str> = LAYOUTS.iter().filter(sized).collect();
    let values: Vec<f64> = cells.iter().filter_map(|word| decimal(word)).collect();
    if layouts.is_empty() || values.len() != cells.len() {
        return Layout::No;
    }
    if values.iter().all(|value| *value == 0.0) {
        return Layout::Idle;
    }
    for layout in layouts {
        for (unit, bytes) in UNITS {
            let text = layout.replace("{}", unit);
            let columns: Vec<&str> = text.split_ascii_whitespace().collect();
            if holds(known, &columns) && is_consistent(&columns, &values, bytes) {
                return Layout::Columns(columns.iter().map(ToString::to_string).collect());
            }
            if !layout.contains("{}") {
                break;
            }
        }
    }
    Layout::No
}

/// Whether all of `known` stand among the columns, in order.
fn holds(known: &[String], columns: &[&str]) -> bool {
    let mut rest = columns.iter();
    known.iter().all(|name| rest.any(|column| column == name))
}

/// Whether what the columns say of a row agrees, and says anything at all.
fn is_consistent(columns: &[&str], values: &[f64], unit: f64) -> bool {
    let of = |name: &str| columns.iter().position(|column| *column == name).map(|at| values[at]);
    let near =
        |a: f64, b: f64, slack: f64| (a - b).abs() <= slack + TOLERANCE * a.abs().max(b.abs());
    let (reads, writes) = (of("r/s").unwrap_or(0.0), of("w/s").unwrap_or(0.0));
    if of("%util").is_some_and(|busy| busy > FULL) {
        return false;
    }
    let bytes_of = |letter: &str| {
        UNITS.iter().find_map(|(name, _)| of(&format!("{letter}{name}/s"))).unwrap_or(0.0) * unit
    };
    let mut held = 0;
    // Bytes are requests times size.
    let parts = match of("avgrq-sz") {
        Some(size) => {
            vec![(reads + writes, size * SECTOR, bytes_of("r") + bytes_of("w"))]
        }
        None => vec![
            (reads, of("rareq-sz").unwrap_or(0.0) * KIB, bytes_of("r")),
            (writes, of("wareq-sz").unwrap_or(0.0) * KIB, bytes_of("w")),
        ],
    };
    for (per_s, size, bytes) in parts {
        if (per_s == 0.0) != (bytes == 0.0) && bytes > unit * 0.02 {
            return false;
        }
        if per_s > 0.0 && bytes > 0.0 {
            let slack = unit * 2.0 * HALF_DIGIT + HALF_DIGIT * (size + per_s * KIB);
            if !near(per_s * size, bytes, slack) {
                return false;
            }
            held += 1;
        }
    }
    // The queue is rate times wait.
    let queue = of("avgqu-sz").or(of("aqu-sz")).unwrap_or(0.0);
    let waits = match of("await") {
        Some(wait) => (reads + writes) * wait / 1000.0,
        None => {
            let discards = of("d/s").unwrap_or(0.0) * of("d_await").unwrap_or(0.0);
            let flushes = of("f/s").unwrap_or(0.0) * of("f_await").unwrap_or(0.0);
            let reads = reads * of("r_await").unwrap_or(0.0);
            (reads + writes * of("w_await").unwrap_or(0.0) + discards + flushes) / 1000.0
        }
    };
    let flushing = of("f/s").unwrap_or(0.0) > 0.0;
    if !flushing && !near(waits, queue, 0.02 + (reads + writes) * HALF_DIGIT / 1000.0) {
        return false;
    }
    // A common wait is between the two.
    if let (Some(all), Some(read), Some(write)) = (of("await"), of("r_await"), of("w_await")) {
        let (low, high) = match (reads > 0.0, writes > 0.0) {
            (true, true) => (read.min(write), read.max(write)),
            (true, false) => (read, read),
            _ => (write, write),
        };
        if all < low - 0.02 - TOLERANCE * low || all > high + 0.02 + TOLERANCE * high {
            return false;
        }
    }
    held > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(row: &str, known: &str) -> Option<String> {
        let words: Vec<&str> = row.split_whitespace().collect();
        let known: Vec<String> = known.split_whitespace().map(str::to_string).collect();
        match columns_of(&words, &known) {
            Layout::Columns(columns) => Some(columns.join(" ")),
            Layout::Idle => Some("idle".to_string()),
            Layout::No => None,
        }
    }

    #[test]
    fn a_row_tells_its_columns_and_their_unit() {
        let row = "sdb 0.00 0.33 0.00 38.67 0.00 338.00 8.74 1.08 27.27 0.00 27.27 23.96 92.63";
        assert!(fit(row, "").is_some_and(|columns| columns.contains("wsec/s")));
        let row = "sdb 0.00 0.33 0.00 38.67 0.00 169.00 8.74 1.08 27.27 0.00 27.27 23.96 92.63";
        assert!(fit(row, "").is_some_and(|columns| columns.contains("wkB/s")));
        assert!(fit(row, "rrqm/s wrqm/s r/s").is_some(), "half a heading");
        assert_eq!(fit(row, "r/s rrqm/s"), None, "of another order");
        let row = "sdb 0.00 0.33 0.00 38.67 0.00 999.00 8.74 1.08 27.27 0.00 27.27 23.96 92.63";
        assert_eq!(fit(row, ""), None, "bytes that are not requests times size");
        let row = "sdb 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00";
        assert_eq!(fit(row, ""), Some("idle".to_string()));
        let new = "sdb 0.00 0.00 0.00 0.00 0.00 0.00 112.00 672.00 56.00 33.33 8.58 6.00 0.00 0.00 \
                   0.00 0.00 0.00 0.00 110.00 8.56 1.90 100.80";
        assert!(fit(new, "").is_some_and(|columns| columns.contains("f_await")));
        assert_eq!(fit("total 1.00 2.00 3.00 4.00 5.00 6.00 7.00 8.00 9.00 10.00 11.00", ""), None);
    }
}
