//! What a heat map is of, in a line: the same words in the terminal and in pictures.

use iowhy_model::{Layer, Listing, Recording, Series};
use jiff::tz::TimeZone;

use crate::clock::Clock;
use crate::device_label;
use crate::picture::Picture;
use crate::scale::stage_words;
use crate::words::{duration, several};

/// The highlighted name, which may be empty, and the sentence after it.
pub(crate) fn title(
    recording: &Recording,
    listing: &Listing,
    one: &Series,
    picture: &Picture,
    zone: &TimeZone,
) -> (String, String) {
    let mut name = device_label::of(recording, one.device);
    let (what, unit) = measured(listing, one);
    let mut text = what.to_string();
    match label(recording, listing, one) {
        Some(label) if name.is_empty() => name = label.to_string(),
        Some(label) => text += &format!(", {label}"),
        None => {}
    }
    text += &format!(
        ", {} over {} ({})",
        several(picture.ios, unit),
        duration(picture.seconds * 1e9),
        listing.source.format
    );
    if let Some((mean, latest)) = picture.means_ns() {
        // Exact sums are reported beside the map of the time they make up.
        let how = if picture.exact { "" } else { " (estimated)" };
        text += &format!(", mean {}{how}", duration(mean));
        if let Some(latest) = latest {
            text += &format!(", latest {}", duration(latest));
        }
    }
    if let Some(clock) = Clock::of(listing) {
        text += &format!(", from {}", clock.words((picture.start * 1e9) as i64, zone));
    } else if picture.origin() != 0.0 {
        text += &format!(", 0 is at {:.3} s on its clock", picture.origin());
    }
    (name, text)
}

/// What its latencies cover, and the word for one that was measured.
fn measured(listing: &Listing, one: &Series) -> (&'static str, &'static str) {
    let counted = listing.histograms().find(|known| known.device == one.device);
    let single = listing.events.iter().find(|event| event.device == one.device);
    match counted.map(|known| known.layer).or(single.map(|event| event.layer)) {
        Some(Layer::Syscall) => ("entry to return", "call"),
        _ => (stage_words(one.stage), "I/O"),
    }
}

/// The source's own word for what it measured, if it is one for all.
fn label<'a>(recording: &'a Recording, listing: &Listing, one: &Series) -> Option<&'a str> {
    let mut of_it = listing
        .distributions
        .iter()
        .filter(|known| known.device == one.device && known.stage == one.stage)
        .map(|known| known.label);
    let first = of_it.next()?;
    first.filter(|_| of_it.all(|other| other == first)).map(|label| recording.text(label))
}
