//! One line of a log, and what the log's name reports of it.

use iowhy_model::Op;

use super::MS;
use crate::integer;

/// Fields of a line per I/O.
const FIELDS: std::ops::RangeInclusive<usize> = 4..=8;
/// Fewest counts of a histogram line: 19 groups of 64, halved five times.
const FEWEST_COUNTS: usize = 38;

/// One line.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Line {
    Value { at_ms: i64, value: u64, op: Op, bytes: u32, offset: Option<u64>, fields: usize },
    Counts { at_ms: i64, op: Op, counts: Vec<u64> },
}

impl Line {
    /// Reads a line; `None` if it is none of a log.
    pub(super) fn of(line: &str) -> Option<Line> {
        let line = line.trim().trim_end_matches(',');
        if !line.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let fields = line.split(',').map(|field| number(field.trim()));
        let fields = fields.collect::<Option<Vec<u64>>>()?;
        let op = |code: u64| match code {
            0 => Some(Op::Read),
            1 => Some(Op::Write),
            2 => Some(Op::Discard),
            _ => None,
        };
        let at_ms = i64::try_from(*fields.first()?).ok().filter(|ms| *ms < i64::MAX / MS)?;
        if fields.len() >= 3 + FEWEST_COUNTS {
            let (op, counts) = (op(*fields.get(1)?)?, fields.get(3..)?.to_vec());
            return Some(Line::Counts { at_ms, op, counts });
        }
        if !FIELDS.contains(&fields.len()) {
            return None;
        }
        let offset = fields.get(4).copied().filter(|_| fields.len() > 5);
        Some(Line::Value {
            at_ms,
            value: *fields.get(1)?,
            op: op(*fields.get(2)?)?,
            bytes: u32::try_from(*fields.get(3)?).ok()?,
            offset,
            fields: fields.len(),
        })
    }
}

/// Priorities are printed in hexadecimal by some versions.
fn number(field: &str) -> Option<u64> {
    match field.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => integer(field),
    }
}

/// What the name of the log says was measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind {
    Slat,
    Clat,
    Lat,
    Bandwidth,
    Iops,
}

/// The kind and the job: `dir/seq_clat.1.log` is of `seq`.
pub(super) fn kind_and_job(input: &str) -> (Option<Kind>, &str) {
    let name = input.rsplit('/').next().unwrap_or(input);
    let kinds = [
        ("_clat_hist", Kind::Clat),
        ("_slat", Kind::Slat),
        ("_clat", Kind::Clat),
        ("_lat", Kind::Lat),
        ("_bw", Kind::Bandwidth),
        ("_iops", Kind::Iops),
    ];
    for (mark, kind) in kinds {
        if let Some((job, rest)) = name.rsplit_once(mark)
            && rest.starts_with('.')
        {
            return (Some(kind), job);
        }
    }
    (None, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_by_their_number() {
        let Some(Line::Value { offset, .. }) = Line::of("1, 2, 0, 4096, 8192, 0") else { panic!() };
        assert_eq!(offset, Some(8192));
        assert_eq!(Line::of("1, 2, 3, 4096"), None);
        assert_eq!(Line::of("256, 1000"), None);
        assert_eq!(kind_and_job("out/seq_lat.1.log"), (Some(Kind::Lat), "seq"));
        assert_eq!(kind_and_job("-"), (None, ""));
    }
}
