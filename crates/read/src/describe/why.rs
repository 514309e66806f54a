//! Why a line of a listing could not be used: one wording for all described formats.

use std::fmt;

use iowhy_model::Nanos;

/// Why a line of a listing could not be used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Why {
    /// The numbers of words and of columns differ.
    RowDoesNotFit { words: usize, columns: usize },
    /// A value is not a number, or one below zero where that cannot be.
    NotANumber,
    /// A value of the line is missing, invalid, or contradicts another.
    Unreadable,
    /// The line does not show how long it took.
    NoDuration,
    /// It took longer than an operation can.
    TooLong(Nanos),
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::RowDoesNotFit { words, columns } => {
                let plural = if *words == 1 { "" } else { "s" };
                write!(out, "{words} word{plural} under {columns} columns")
            }
            Why::NotANumber => out.write_str("a value is not a number, or is negative"),
            Why::Unreadable => {
                out.write_str("a value is missing, is not a number, or contradicts another")
            }
            Why::NoDuration => out.write_str("the line has no duration"),
            Why::TooLong(longest) => {
                let hours = longest.seconds() / 3600.0;
                write!(
                    out,
                    "it took more than {hours} h: the machine was probably suspended, or its clock \
                     was set"
                )
            }
        }
    }
}
