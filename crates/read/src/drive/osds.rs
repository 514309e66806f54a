//! OSDs of Ceph, as its logs and its status name them.

use super::health::leading;
use crate::integer;

/// Their numbers: `Implicated osds 42,104`, `daemons [osd.12,osd.22] have slow ops`.
pub(crate) fn osds(text: &str) -> Vec<u64> {
    match text.split_once("mplicated osd") {
        Some((_, rest)) => {
            rest.trim_start_matches(['s', ' ']).split(',').filter_map(leading).collect()
        }
        None => text.split("osd.").skip(1).filter_map(leading).collect(),
    }
}

/// A warning that stays for a day after one such operation (`BLUESTORE_SLOW_OP_ALERT`,
/// `DB_DEVICE_STALLED_READ_ALERT`): `2 OSD(s) experiencing stalled read in db device of BlueFS`.
/// What precedes the number, and the number.
pub(crate) fn slow_stores(line: &str) -> Option<(&str, u64)> {
    let (before, what) = line.split_once(" OSD(s) experiencing ")?;
    ["slow operations in ", "stalled read in "].iter().find(|of| what.starts_with(**of))?;
    let (lead, count) = before.rsplit_once(' ').unwrap_or(("", before));
    Some((lead.trim(), integer(count)?))
}
