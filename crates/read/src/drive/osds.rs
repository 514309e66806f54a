//! OSDs of Ceph, as its logs and its status name them.

use super::health::leading;

/// Their numbers: `Implicated osds 42,104`, `daemons [osd.12,osd.22] have slow ops`.
pub(crate) fn osds(text: &str) -> Vec<u64> {
    match text.split_once("mplicated osd") {
        Some((_, rest)) => {
            rest.trim_start_matches(['s', ' ']).split(',').filter_map(leading).collect()
        }
        None => text.split("osd.").skip(1).filter_map(leading).collect(),
    }
}
