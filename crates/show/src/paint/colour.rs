//! The number of available colours.

/// How many colours the canvas takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Colour {
    /// None: `NO_COLOR`, a file, a pipe.
    None,
    /// The sixteen of ANSI.
    Ansi16,
    /// The 256 of xterm.
    Ansi256,
    /// 24 bits.
    True,
}
