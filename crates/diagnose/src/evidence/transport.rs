//! Whether an input shows how a disk is attached: cable, bus or network.

use iowhy_model::{MessageKind, key};

use crate::facts::About;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;

/// Why a disk that disappeared does not prove a faulty cable (a doubt for all verdicts on the
/// path).
pub(crate) const UNKNOWN: &str = "no line shows how the disk is attached: its target, the network \
                                  or the host adapter may have failed";

/// Kinds of what the SCSI and block layers say of any disk, however it is attached.
const OF_ANY_DISK: [MessageKind; 3] =
    [MessageKind::Offline, MessageKind::IoError, MessageKind::Medium];

/// Whether nothing shows how a disk is attached: its name is one that all SCSI disks have, no
/// fact names the bus, and its lines in the log are those of the layers above the host adapter.
pub(crate) fn is_unknown(about: About, disk: &str, reading: &[&LogLine]) -> bool {
    let stated = [key::DEVICE_PORT, key::DEVICE_TRANSPORT];
    let tells = |line: &&LogLine| {
        !OF_ANY_DISK.contains(&line.kind)
            && (line.message.adapter.is_none() || line.event.is_some())
    };
    disk_names::is_of_any_bus(disk)
        && about.model().is_none()
        && !stated.into_iter().any(|known| about.last(known).is_some())
        && !reading.iter().any(tells)
}
