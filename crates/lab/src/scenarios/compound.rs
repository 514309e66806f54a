//! A second fault in addition to a first.

use iowhy_model::Op;

use super::parts::stream;
use super::{Chance, Pace, Place, Plan};

/// Adds one to a scenario of one disk. It is milder than the first, and naming it first is right
/// too.
pub(super) fn second(mut plan: Plan, chance: &mut Chance) -> Plan {
    let [disk] = plan.disks.as_mut_slice() else { return plan };
    let rotates = disk.model.starts_with("rotational");
    match chance.whole(0, if rotates { 2 } else { 1 }) {
        0 => {
            let pace = Pace::Batches(chance.even(3e9, 8e9), chance.whole(8, 25), 2e4);
            disk.streams.push(stream(Op::Write, &[16, 64], Place::Runs(8), pace, "kworker/u8:4"));
            plan.truth.also.extend(["load.burst", "load.rw-mix"]);
        }
        1 => {
            let every = chance.even(3.0, 8.0);
            disk.faults.push(format!("stall={every:.1}s/{:.0}ms", chance.scale(150.0, 500.0)));
            plan.truth.also.push("device.stall");
            plan.truth.faulty = true;
        }
        _ => {
            disk.faults.push(format!("retry={:.2}", chance.even(0.1, 0.3)));
            plan.truth.also.push("device.retry");
            plan.truth.faulty = true;
        }
    }
    plan
}
