//! Notes on devices or listings that a verdict leaves out because there are too many.

use iowhy_diagnose::JudgedShare;
use iowhy_model::{Note, Recording};

/// Notes how much of a recording is judged; returns whether anything is left out.
pub(crate) fn reported(recording: &mut Recording) -> bool {
    let Some(judged) = JudgedShare::of(recording) else { return false };
    if let Some(listing) = recording.listings.first_mut() {
        let note = Note { line: 0, text: String::new(), reason: judged.words() };
        listing.source.notes.insert(0, note);
    }
    true
}
