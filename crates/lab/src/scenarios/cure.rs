//! The cure of a plan: its fault is removed, its disks and its load stay.

use iowhy_model::Op;

use super::effect::Cliff;
use super::{Effect, Host, Plan, Setup};

/// Takes the fault away. A load that hurts another goes elsewhere; a cache that ends never does.
pub(super) fn cure(plan: &mut Plan) {
    let apart = plan.truth.verdict == "load.rw-mix";
    for disk in &mut plan.disks {
        cure_disk(disk);
        if apart {
            disk.streams.retain(|stream| stream.op != Op::Write);
        }
    }
}

fn cure_disk(disk: &mut Setup) {
    disk.faults.clear();
    disk.host = Host::plain(disk.host.tags);
    disk.effects.retain(|effect| matches!(effect, Effect::Bus(_) | Effect::Cliff(_)));
    for effect in &mut disk.effects {
        // The speed of the fast cells is the disk's, not its fault.
        if let Effect::Cliff(cliff) = effect {
            *cliff = Cliff::new(f64::MAX, cliff.quick, cliff.quick, 0.0);
        }
    }
}
