//! Paths of multipath that were lost together, and volumes of which no path is left.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use iowhy_model::{DeviceId, Fact, MessageKind, key};

use crate::analysis::{Analysis, Host};
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;

/// A volume all of whose paths are gone.
pub(crate) struct LostVolume<'a> {
    /// The volume.
    pub device: DeviceId,
    /// Its name.
    pub name: &'a str,
    /// Its paths, by name.
    pub paths: Vec<String>,
    /// How many paths do not work, as it was read.
    pub reading: FactReading<'a>,
}

/// The volumes of at least two paths of which none works: two paths without a common cable do not
/// fail together.
pub(crate) fn without_paths<'a>(analysis: &Analysis<'a>) -> Vec<LostVolume<'a>> {
    let mut found = Vec::new();
    for (listing, known) in analysis.listings() {
        // Of each volume the last word on its paths: how many, how many of them failed, and which.
        let mut reported: BTreeMap<DeviceId, [Option<&Fact>; 3]> = BTreeMap::new();
        for fact in &known.facts {
            let wanted = [key::MULTIPATH_PATHS, key::MULTIPATH_FAILED, key::DEVICE_SLAVES];
            let place = wanted.iter().position(|key| *key == fact.key);
            if let (Some(place), Some(device)) = (place, fact.device) {
                reported.entry(device).or_default()[place] = Some(fact);
            }
        }
        for (device, facts) in reported {
            let [Some(all), Some(failed), Some(paths)] = facts else { continue };
            if all.value.number() != failed.value.number() {
                continue;
            }
            let paths = paths.value.words().unwrap_or_default().to_vec();
            let name = analysis.recording.device_of(device).name.as_str();
            let reading = FactReading { fact: failed, listing };
            found.push(LostVolume { device, name, paths, reading });
        }
    }
    let mut volumes: BTreeMap<Host, usize> = BTreeMap::new();
    for volume in &found {
        *volumes.entry(analysis.host(volume.reading.listing)).or_default() += 1;
    }
    // A log of the daemon and the kernel in turn is several listings: each reports the paths it
    // saw go.
    for volume in &mut found {
        let host = analysis.host(volume.reading.listing);
        if volumes.get(&host) == Some(&1) {
            let about = |disk: &&str| analysis.facts.about(Some(host), disk).last(key::PATH_STATE);
            let down = analysis.facts.disks().filter(|disk| about(disk).is_some());
            volume.paths.extend(down.map(str::to_string));
            volume.paths.sort();
            volume.paths.dedup();
        }
    }
    found.retain(|volume| volume.paths.len() >= 2);
    found
}

/// Paths that are lost within this time, s, of each other have a shared cause (a choice: a
/// minute).
pub(crate) const PATHS_S: f64 = 60.0;

/// By input, paths that its log calls failed within a minute, of a volume that it does not name
/// (kernels before 4.18): the lines, one of each path; inputs in which a single path failed are
/// left out.
pub(crate) fn unnamed_paths<'s, 'a>(
    analysis: &'s Analysis<'a>,
) -> BTreeMap<Host<'s>, Vec<&'s LogLine<'a>>> {
    let mut reported = BTreeSet::new();
    let mut hosts: BTreeMap<Host, Vec<&LogLine>> = BTreeMap::new();
    for line in analysis.facts.log().filter(|line| line.kind == MessageKind::Path) {
        let host = analysis.host(line.reading.listing);
        if line.reading.fact.device.is_none() && reported.insert((host, line.message.text.as_str()))
        {
            hosts.entry(host).or_default().push(line);
        }
    }
    hosts.retain(|_, lines| {
        let times = || lines.iter().filter_map(|line| line.message.at_s);
        let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
        lines.len() >= 2 && last - first <= PATHS_S
    });
    hosts
}

/// Paths that were lost by what all of them lead through, or with their volume.
pub(crate) struct SharedLoss<'s> {
    disks: HashSet<String>,
    hosts: HashSet<Host<'s>>,
}

impl<'s> SharedLoss<'s> {
    /// Those of a recording.
    pub(crate) fn of(analysis: &'s Analysis) -> SharedLoss<'s> {
        let volumes = without_paths(analysis).into_iter();
        let disks = volumes.flat_map(|volume| volume.paths).collect();
        let hosts = unnamed_paths(analysis).into_keys().collect();
        SharedLoss { disks, hosts }
    }

    /// Whether the state of a disk's path, read in that input, is of such a loss.
    pub(crate) fn covers(&self, disk: &str, host: Host) -> bool {
        self.disks.contains(disk) || self.hosts.contains(&host)
    }
}
