//! Mounts of the input with options that make I/O direct or synchronous, and the remedy.

use iowhy_model::{Fact, key};

use crate::analysis::Analysis;
use crate::facts::mount_options;
use crate::facts::reading::FactReading;

/// A mount with options that make I/O direct or synchronous, and these.
pub(crate) fn option<'a>(analysis: &Analysis<'a>) -> Option<(FactReading<'a>, Vec<&'a str>)> {
    let listings = analysis.listings();
    let mut facts =
        listings.flat_map(|(place, known)| known.facts.iter().map(move |fact| (place, fact)));
    facts.find_map(|(listing, fact)| {
        let options = fact.value.text().filter(|_| fact.key == key::MOUNT_OPTIONS)?;
        let found = mount_options::direct_or_synchronous(options);
        (!found.is_empty()).then_some((FactReading { fact, listing }, found))
    })
}

/// How to mount without the option, in the words of the file system that showed it: only VxFS has
/// `mincache` and `convosync` (mount_vxfs(1M)).
pub(crate) fn remount(analysis: &Analysis) -> String {
    let mounted =
        option(analysis).map(|(reading, _)| (reading.fact, mount_point(analysis, reading.fact)));
    match mounted {
        Some((fact, Some(point))) if fact.value.text().is_some_and(mount_options::is_of_vxfs) => {
            format!(
                "remount without it and time the job again: `mount -o \
                 remount,mincache=closesync,convosync=delay {point}`"
            )
        }
        Some((_, Some(point))) => format!(
            "remount {point} without the direct or synchronous option, and time the job again"
        ),
        _ => "remount without `sync` or `dirsync`, or open the files without `O_DIRECT` and \
              `O_SYNC`, and time the job again"
            .to_string(),
    }
}

/// Where the file system whose options these are is mounted.
fn mount_point<'a>(analysis: &Analysis<'a>, options: &Fact) -> Option<&'a str> {
    let known = analysis.recording.listings.iter().find(|known| known.facts.contains(options))?;
    let same = |fact: &&Fact| {
        fact.key == key::MOUNT_POINT
            && (fact.device, &fact.read_from) == (options.device, &options.read_from)
    };
    known.facts.iter().find(same).and_then(|fact| fact.value.text())
}
