//! What an engine does next.

use iowhy_model::Op;

/// What is to be done now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Next {
    /// Start an I/O.
    Start {
        /// When it was due, ns on the session's clock.
        intended_ns: u64,
        /// Its first byte.
        offset: u64,
        /// Read or write.
        op: Op,
        /// Its length.
        bytes: u32,
        /// Its number in a plan.
        number: u32,
    },
    /// Nothing before this moment.
    At(u64),
    /// No more.
    Done,
}
