//! Members of an array or pool that count errors together: what they share is at fault before each of them is.

use iowhy_model::{DeviceId, key};

use crate::analysis::Analysis;
use crate::facts::reading::FactReading;

/// Members from which on, and the share of an array's members from which on, errors are no faults of single disks
/// (choices: two disks of a shelf do fail together, half of it does not).
const TOGETHER: usize = 4;
const SHARE: f64 = 0.5;

/// An array of which so many members count errors.
pub struct FailingMembers<'a> {
    /// The array.
    pub device: DeviceId,
    /// Its name.
    pub name: String,
    /// Members that count errors.
    pub failing: Vec<String>,
    /// All members.
    pub members: usize,
    /// What states the members.
    pub reading: FactReading<'a>,
}

/// All such arrays.
pub fn failing_together<'a>(analysis: &Analysis<'a>) -> Vec<FailingMembers<'a>> {
    let errors = |disk: &str| -> f64 {
        let about = analysis.facts.about(None, disk);
        let count = |kind| about.number(key::MEMBER_ERRORS.of(kind)).map_or(0.0, |(n, _)| n);
        ["read", "write", "checksum"].into_iter().map(count).sum()
    };
    let of = |name: &str| {
        let reading = analysis.facts.about(None, name).last(key::DEVICE_SLAVES)?;
        let members = reading.fact.value.words()?;
        let failing = members.iter().filter(|disk| errors(disk) > 0.0);
        let failing: Vec<String> = failing.cloned().collect();
        let device = reading.fact.device?;
        let together =
            failing.len() >= TOGETHER && failing.len() as f64 >= SHARE * members.len() as f64;
        let (name, members) = (name.to_string(), members.len());
        together.then_some(FailingMembers { device, name, failing, members, reading })
    };
    analysis.facts.disks().filter_map(of).collect()
}
