//! Lines of comma-separated values, and rows in which each column is a counter of a disk.

use std::collections::BTreeSet;

use iowhy_model::Sink;

use crate::decimal;
use crate::text::columns::Heading;

/// The cells of a row, by RFC 4180, between any of these separators.
pub(crate) fn cells(line: &str, separators: &[char]) -> Vec<String> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            letter if !quoted && separators.contains(&letter) => {
                all.push(std::mem::take(&mut cell));
            }
            letter => cell.push(letter),
        }
    }
    all.push(cell);
    all
}

/// The disks that have a value in a row below columns named `DISK\tCOUNTER`, in order of their
/// names. Cells that are no numbers are counted as lost; columns without a name are ignored.
pub(crate) fn disks<'r>(
    heading: &'r Heading,
    cells: &'r [&'r str],
    sink: &mut dyn Sink,
) -> BTreeSet<&'r str> {
    let stated = heading.pairs(cells).filter(|(name, cell)| !name.is_empty() && !cell.is_empty());
    let (numbers, others): (Vec<_>, Vec<_>) =
        stated.partition(|(_, cell)| decimal(cell).is_some_and(|value| value >= 0.0));
    sink.lost("values that are not numbers", others.len() as u64);
    numbers.into_iter().filter_map(|(name, _)| Some(name.split_once('\t')?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::cells;

    #[test]
    fn a_separator_or_quote_within_quotes_is_part_of_the_cell() {
        assert_eq!(cells("a,\"b,c\",\"d\"\"e\",", &[',']), ["a", "b,c", "d\"e", ""]);
        assert_eq!(cells("1;2,5", &[';']), ["1", "2,5"]);
    }
}
