//! The cost of the first access to a block, compared with later ones.

use std::collections::HashSet;

use super::exposure::{self, Exposure, Sample};

/// One read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Read {
    /// Its first sector.
    pub sector: u64,
    /// Its length in bytes.
    pub bytes: u32,
    /// Its time, ns.
    pub ns: f64,
}

/// Sectors of a region: snapshots of volumes are copied in pieces of 512 KiB or 1 MiB, and thin
/// pools allocate likewise (AWS, EBS direct APIs: 512 KiB blocks; lvmthin(7)).
const REGION: u64 = 1024;

/// Reads of untouched regions compared with reads of touched ones; `None` without both.
pub fn first_touch(reads: &[Read]) -> Option<Exposure> {
    let mut seen: HashSet<u64> = HashSet::new();
    let samples: Vec<Sample> = reads
        .iter()
        .map(|read| {
            let exposed = seen.insert(read.sector / REGION);
            // Sizes by octave: a large read is not compared with a small one.
            Sample { ns: read.ns, exposed, stratum: read.bytes.max(1).ilog2() }
        })
        .collect();
    exposure::exposure(&samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_from_a_snapshot_is_slow_once_per_place() {
        let reads: Vec<Read> = (0..200u64)
            .map(|k| {
                let place = if k < 100 { k } else { (k * 37) % 100 };
                let ns = if k < 100 { 20e6 } else { 1e6 } + k as f64;
                Read { sector: place * 4096, bytes: 4096, ns }
            })
            .collect();
        let found = first_touch(&reads).unwrap();
        assert_eq!((found.exposed, found.spared), (100, 100));
        assert!((found.ratio - 20.0).abs() < 0.01 && found.p < 1e-6, "{found:?}");
        assert_eq!(first_touch(&reads[..50]), None);
    }
}
