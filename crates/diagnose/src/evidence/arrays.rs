//! Members of an array or pool that count errors together: what they share is at fault before each of them is.

use iowhy_model::{DeviceId, key};

use crate::analysis::Analysis;
use crate::facts::About;
use crate::facts::disk_models;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;

/// Linux keeps up so many bytes per second of a rebuild whatever else its members do, if they can do both (`speed_limit_min`,
/// 1,000 KiB/s by default; drivers/md/md.c).
pub const FLOOR_BYTES_PER_S: f64 = 1000.0 * 1024.0;

/// How an array stands: what it lacks, and the background work that it does.
pub struct ArrayState<'a> {
    /// Members that it lacks; at least one where its state only says so.
    pub missing: Option<(f64, FactReading<'a>)>,
    /// What it does, in its own words.
    pub action: Option<String>,
    /// Share of that which is done, 0 to 1.
    pub done: Option<f64>,
    /// Its speed where that is below Linux' floor: the members do not even give that.
    pub below_floor: Option<(f64, FactReading<'a>)>,
}

/// The state of an array that facts speak of.
pub fn state_of<'a>(about: About<'_, 'a>, name: &str) -> ArrayState<'a> {
    let counted = about.number(key::ARRAY_DEGRADED).filter(|(missing, _)| *missing > 0.0);
    let said =
        about.last(key::ARRAY_STATE).filter(|reading| disk_models::is_degraded(reading.text()));
    let action =
        about.last(key::ARRAY_ACTION).and_then(|reading| disk_models::rebuilding(reading.text()));
    let speed = about.number(key::ARRAY_SPEED).filter(|(speed, _)| *speed < FLOOR_BYTES_PER_S);
    ArrayState {
        missing: counted.or(said.map(|reading| (1.0, reading))),
        done: about.number(key::ARRAY_PERCENT).map(|(share, _)| share),
        below_floor: speed.filter(|_| action.is_some() && disk_names::kind(name) == "md"),
        action,
    }
}

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
