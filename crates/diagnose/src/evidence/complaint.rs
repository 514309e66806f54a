//! What is complained of: time that was lost, or figures that somebody posted because something is slow.

use crate::analysis::Analysis;
use crate::evidence::confidence::COMPLAINED_OF;

/// What a cause is worth that is stated, where nobody measured that it is what is felt (choice).
pub const STATED: f64 = 0.66;
/// And the share of the excess that it explains, which nobody measured either (choice).
pub const UNKNOWN_SHARE: f64 = 0.5;

/// Whether a disk that `is_of` chooses, by its input and its name, lost time worth a complaint, or none of them was
/// measured: whoever posts such figures complains.
pub fn is_felt(analysis: &Analysis, is_of: impl Fn(&str, &str) -> bool) -> bool {
    let mut measured =
        analysis.lost.iter().filter(|(input, disk, _)| is_of(input, disk)).peekable();
    measured.peek().is_none() || measured.any(|(_, _, lost)| *lost >= COMPLAINED_OF)
}
