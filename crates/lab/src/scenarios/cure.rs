//! The cure of a plan: what its illness is goes, what its disks and its load are stays.

use iowhy_model::Op;

use super::ailment::Cliff;
use super::{Ailment, Host, Plan, Setup};

/// Takes the illness away. A load that hurts another goes elsewhere; a cache that ends never does.
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
    disk.diseases.clear();
    disk.host = Host::plain(disk.host.tags);
    disk.ailments.retain(|ailment| matches!(ailment, Ailment::Bus(_) | Ailment::Cliff(_)));
    for ailment in &mut disk.ailments {
        // The speed of the quick cells is the disk's, not its illness.
        if let Ailment::Cliff(cliff) = ailment {
            *cliff = Cliff::new(f64::MAX, cliff.quick, cliff.quick, 0.0);
        }
    }
}
