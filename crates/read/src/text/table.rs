//! Rows of a name and a known number of values, out of text that may have been re-flowed: several
//! rows on one line, one row over several.

use iowhy_model::{Note, Sink};

use crate::Step;

/// One row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TableRow {
    /// The name; words of it are joined by one blank.
    pub(crate) name: String,
    /// As many values as the header has columns.
    pub(crate) cells: Vec<String>,
}

/// The kind of a run of words.
#[derive(Clone, PartialEq, Eq, Debug)]
enum RowState {
    /// Whole rows; one more may have begun.
    Rows(Vec<TableRow>),
    /// The beginning of a row, to be continued on the next line.
    Part,
    /// Meant for a row, but not one: of whom, if that can be reported, and why.
    Bad(Option<String>, &'static str),
    /// No part of the table.
    Other,
}

/// Cuts words into rows.
#[derive(Debug)]
pub(crate) struct RowCutter {
    width: usize,
    name_first: bool,
    is_cell: fn(&str) -> bool,
    /// Words of a row that is not complete yet.
    pending: Vec<String>,
    /// Nothing came between the table and now: a part of a row may begin.
    close: bool,
    /// Words that may be the heading of another table came between it and now: an incomplete row
    /// belongs to that one.
    other_table: bool,
}

/// Least words of a heading of another table.
const HEADING_WORDS: usize = 3;
/// Words that a name may have (dm and LVM names with blanks are rare; sentences are not).
const NAME_WORDS: usize = 3;

/// `---`, `=====`.
fn is_rule(word: &str) -> bool {
    word.len() > 2 && word.bytes().all(|byte| b"-=*_#~".contains(&byte))
}

impl RowCutter {
    /// A table of `width` values after the name.
    pub(crate) fn new(width: usize, name_first: bool, is_cell: fn(&str) -> bool) -> Self {
        RowCutter {
            width,
            name_first,
            is_cell,
            pending: Vec::new(),
            close: true,
            other_table: false,
        }
    }

    /// Values of a row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Other text or a blank line comes here. True if a row was left incomplete.
    pub(crate) fn interrupt(&mut self) -> bool {
        self.close = false;
        let cells = self.pending.iter().any(|word| (self.is_cell)(word));
        self.pending.clear();
        cells
    }

    /// The rows in the words of a line, or of its part between two headers; else what the line is.
    pub(crate) fn read(
        &mut self,
        words: &[&str],
        sink: &mut dyn Sink,
    ) -> Result<Vec<TableRow>, Step> {
        let (found, given_up) = self.take(words);
        if given_up {
            incomplete(sink);
        }
        match found {
            RowState::Rows(rows) => Ok(rows),
            RowState::Part => Err(Step::Consumed),
            RowState::Bad(name, reason) => Err(skipped_row(name.as_deref(), reason, sink)),
            RowState::Other => Err(Step::NotMine),
        }
    }

    /// Takes the words of a line, or of its part between two headers. The second
    /// answer is true if a row held back from the line before had to be given up.
    fn take(&mut self, words: &[&str]) -> (RowState, bool) {
        if self.pending.is_empty() && self.are_column_numbers(words) {
            return (RowState::Other, false);
        }
        // A rule between two samples is no name that is continued below.
        if self.pending.is_empty() && matches!(words, [rule] if is_rule(rule)) {
            return (RowState::Rows(Vec::new()), false);
        }
        let held = std::mem::take(&mut self.pending);
        let joined: Vec<&str> =
            held.iter().map(String::as_str).chain(words.iter().copied()).collect();
        let mut found = self.cut(&joined);
        let mut given_up = false;
        // A name on a line of its own, and values of which one is invalid, are a row.
        let damaged = matches!(&found, RowState::Bad(_, why) if *why == UNREADABLE);
        let fits = damaged || matches!(found, RowState::Rows(_) | RowState::Part);
        if !held.is_empty() && !fits {
            given_up = held.iter().any(|word| (self.is_cell)(word));
            found = self.cut(words);
        }
        let is_heading =
            words.len() >= HEADING_WORDS && !words.iter().any(|word| (self.is_cell)(word));
        self.other_table = match &found {
            RowState::Rows(_) => false,
            RowState::Other if is_heading && !self.close => true,
            _ => self.other_table,
        };
        if self.other_table {
            self.pending.clear();
            found = RowState::Other;
        }
        self.close = found != RowState::Other;
        (found, given_up)
    }

    /// Whether the words count the columns, `1 2 3 4`, as who feeds a plotter notes them below the
    /// heading.
    fn are_column_numbers(&self, words: &[&str]) -> bool {
        let counts_from = |first: usize| {
            words.iter().enumerate().all(|(place, word)| *word == (place + first).to_string())
        };
        words.len() > 3 && words.len() >= self.width && (counts_from(1) || counts_from(0))
    }

    fn cut(&mut self, words: &[&str]) -> RowState {
        if let Some(name) = self.damaged(words) {
            return RowState::Bad(Some(name.to_string()), UNREADABLE);
        }
        let mut rows = Vec::new();
        let mut rest = words;
        while !rest.is_empty() {
            if !rows.is_empty() && self.name_first && (self.is_cell)(rest[0]) {
                let name = words.first().map(ToString::to_string);
                return RowState::Bad(name, "more values than the header has columns");
            }
            let row = if self.name_first { self.name_first(rest) } else { self.name_last(rest) };
            match row {
                Cut::Row(row, used) => {
                    rows.push(row);
                    rest = &rest[used..];
                }
                Cut::Part if self.close || !rows.is_empty() => {
                    self.pending = rest.iter().map(ToString::to_string).collect();
                    break;
                }
                Cut::Bad if self.close || self.name_first || !rows.is_empty() => {
                    let name = words.first().filter(|_| self.name_first);
                    return RowState::Bad(
                        name.map(ToString::to_string),
                        "the values do not match the header",
                    );
                }
                _ if rows.is_empty() => return RowState::Other,
                _ => return RowState::Bad(None, "text among the values"),
            }
        }
        if rows.is_empty() { RowState::Part } else { RowState::Rows(rows) }
    }

    /// The name of a row that has as many fields as the header names, most of them values, and one
    /// or more invalid: `nan`, `inf`, `*****`, a rate below zero.
    fn damaged<'w>(&self, words: &[&'w str]) -> Option<&'w str> {
        if words.len() != self.width + 1 || self.width < 3 {
            return None;
        }
        let (name, cells) =
            if self.name_first { words.split_first()? } else { words.split_last()? };
        let values = cells.iter().filter(|word| (self.is_cell)(word)).count();
        // A row of a table whose names are values too is whole.
        let fits = values < self.width && values * 2 >= self.width && !(self.is_cell)(name);
        let odd = cells.iter().filter(|word| !(self.is_cell)(word));
        let no_words = odd.clone().all(|word| is_no_word(word));
        (fits && no_words).then_some(*name)
    }

    /// A row at the start of `words` whose name comes first. Right below the table the first word
    /// is the name even if it is a number; further down it would be some other table's row.
    fn name_first(&self, words: &[&str]) -> Cut {
        if !self.close && (self.is_cell)(words[0]) {
            return Cut::Nothing;
        }
        let name = 1 + words.iter().skip(1).take_while(|word| !(self.is_cell)(word)).count();
        let cells = self.count_cells(&words[name..]);
        let whole = cells == self.width;
        if whole && name <= NAME_WORDS {
            let used = name + self.width;
            return Cut::Row(row(&words[..name], &words[name..used]), used);
        }
        self.incomplete(words.len() == name + cells && name == 1, cells)
    }

    /// A row at the start of `words` whose name comes last.
    fn name_last(&self, words: &[&str]) -> Cut {
        let cells = self.count_cells(words);
        let after = &words[cells..];
        if !self.close && after.first().is_some_and(|word| (self.is_cell)(word)) {
            return Cut::Nothing;
        }
        let first = after.iter().take(1);
        let more = after.iter().skip(1).take_while(|word| !(self.is_cell)(word));
        let name = first.count() + more.count();
        if cells == self.width && (1..=NAME_WORDS).contains(&name) {
            let used = cells + name;
            return Cut::Row(row(&words[cells..used], &words[..cells]), used);
        }
        self.incomplete(after.is_empty() && cells > 0, cells)
    }

    fn incomplete(&self, may_go_on: bool, cells: usize) -> Cut {
        match may_go_on {
            true => Cut::Part,
            // A sentence may hold a number or two; half a row is meant for one.
            false if cells * 2 >= self.width.max(4) => Cut::Bad,
            false => Cut::Nothing,
        }
    }

    /// Values at the start, at most the width.
    fn count_cells(&self, words: &[&str]) -> usize {
        words.iter().take(self.width).take_while(|word| (self.is_cell)(word)).count()
    }
}

/// Why a row of the right number of fields is not used.
const UNREADABLE: &str = "a value that is not a number, or is negative";

/// Whether something between values is not a word of a sentence: `nan`, `-inf`, `*****`, `--`, or a
/// number with something in it.
fn is_no_word(word: &str) -> bool {
    let bare = word.trim_start_matches(['-', '+']).to_ascii_lowercase();
    let named = matches!(bare.as_str(), "" | "nan" | "inf" | "infinity" | "n/a" | "null" | "ovf");
    named || bare.contains(|c: char| c.is_numeric()) || !bare.contains(char::is_alphabetic)
}

/// An invalid row is left out, and counted at its device if that is known.
fn skipped_row(name: Option<&str>, reason: &str, sink: &mut dyn Sink) -> Step {
    if let Some(name) = name {
        let device = sink.device(name);
        sink.skipped_of(device);
    }
    Step::Malformed(reason.to_string())
}

/// Notes the row on the last line as lost: it has no end.
pub(crate) fn incomplete(sink: &mut dyn Sink) {
    let line = sink.source().lines.map_or(0, |(_, last)| last);
    let reason = "the row ends before its header does".to_string();
    sink.skip(Note { line, text: String::new(), reason });
}

enum Cut {
    Row(TableRow, usize),
    Part,
    Bad,
    Nothing,
}

fn row(name: &[&str], cells: &[&str]) -> TableRow {
    TableRow { name: name.join(" "), cells: cells.iter().map(ToString::to_string).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal;

    fn table(name_first: bool) -> RowCutter {
        RowCutter::new(3, name_first, |word| decimal(word).is_some())
    }

    fn names(rows: &mut RowCutter, line: &str) -> Vec<String> {
        match rows.take(&line.split_whitespace().collect::<Vec<_>>()).0 {
            RowState::Rows(rows) => rows.into_iter().map(|row| row.name).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn rows_side_by_side_and_rows_broken() {
        let mut rows = table(true);
        assert_eq!(names(&mut rows, "sda 1 2 3 dm-0 4 5 6"), ["sda", "dm-0"]);
        assert_eq!(names(&mut rows, "sdb 1 2"), ["Part"]);
        assert_eq!(names(&mut rows, "3 sdc 1"), ["sdb"]);
        assert_eq!(names(&mut rows, "2 3"), ["sdc"]);
        assert_eq!(names(&mut rows, "a-long-name"), ["Part"]);
        assert_eq!(names(&mut rows, "1 2 3"), ["a-long-name"]);
        assert_eq!(names(&mut rows, "360060160 1 2 3"), ["360060160"]);
        assert_eq!(names(&mut rows, "my disk 1 2 3"), ["my disk"]);
        let mut last = table(false);
        assert_eq!(names(&mut last, "1 2 3 sda 4 5 6 sdb"), ["sda", "sdb"]);
        assert_eq!(names(&mut last, "1 2 3"), ["Part"]);
        assert_eq!(names(&mut last, "sdc"), ["sdc"]);
    }

    #[test]
    fn numbers_of_the_columns_are_no_row() {
        for width in 3..20usize {
            for first in 0..2 {
                for n in [width, width + 1].into_iter().filter(|n| *n > 3) {
                    let numbers: Vec<String> =
                        (first..first + n).map(|number| number.to_string()).collect();
                    let mut rows = RowCutter::new(width, true, |word| decimal(word).is_some());
                    assert_eq!(names(&mut rows, &numbers.join("\t")), ["Other"]);
                    let sound = format!("sda {}", vec!["1"; width].join(" "));
                    assert_eq!(names(&mut rows, &sound), ["sda"]);
                }
            }
        }
    }

    #[test]
    fn sentences_are_left_alone_and_wrong_rows_are_named() {
        let mut rows = table(true);
        assert_eq!(names(&mut rows, "As we can see, it takes 434 ms and 100 %"), ["Other"]);
        assert_eq!(
            names(&mut rows, "sda 1 2 3 4"),
            ["Bad(Some(\"sda\"), \"more values than the header has columns\")"]
        );
        for bad in ["sda 1 2 x", "sda 1 2 nan", "sda ***** 2 3"] {
            assert!(names(&mut rows, bad)[0].starts_with("Bad(Some(\"sda\")"), "{bad}");
        }
        names(&mut rows, "sdb 1 2");
        assert!(rows.take(&["sdc", "1", "2", "3"]).1, "sdb was given up");
        names(&mut rows, "sdb 1 2");
        assert!(rows.interrupt());
        assert_eq!(names(&mut rows, "1"), ["Other"], "no row begins after prose");
        assert_eq!(names(&mut rows, "1 2 3 4"), ["Other"], "nor one of numbers alone");
        assert_eq!(names(&mut rows, "in 2 of 3"), ["Other"]);
        let mut rows = table(true);
        rows.interrupt();
        assert_eq!(names(&mut rows, "all used free"), ["Other"]);
        for foreign in ["Mem: 1 2 3 4", "/dev/zram0 partition 127648 512", "Swap: 1 2"] {
            assert_eq!(names(&mut rows, foreign), ["Other"], "a row of the other table");
        }
        assert_eq!(names(&mut rows, "sda 1 2 3"), ["sda"], "the table goes on");
        let mut last = table(false);
        last.interrupt();
        assert_eq!(names(&mut last, "1 2 3 4"), ["Other"]);
    }
}
