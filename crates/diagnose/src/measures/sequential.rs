//! Which requests start where an earlier one ended.

/// A request's position on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// Ends of requests remembered: as many streams may interleave (docs/METHOD.md, 2 Service times).
const STREAMS: usize = 32;

/// For each request, in issue order, whether it starts where one of the last 32 ended.
pub fn continues(extents: &[Extent]) -> Vec<bool> {
    continued(extents).into_iter().map(|from| from.is_some()).collect()
}

/// Share of the requests that start where their stream ended, 0 to 1. The first request of a
/// continued stream has no predecessor and is not counted. `None` with fewer than two requests.
pub fn contiguous_share(extents: &[Extent]) -> Option<f64> {
    let from = continued(extents);
    let followers = from.iter().flatten().count();
    let mut heads: Vec<usize> =
        from.iter().flatten().copied().filter(|i| from.get(*i) == Some(&None)).collect();
    heads.sort_unstable();
    heads.dedup();
    let counted = extents.len() - heads.len();
    (extents.len() >= 2).then(|| followers as f64 / counted.max(1) as f64)
}

/// For each request, the earlier one it continues.
fn continued(extents: &[Extent]) -> Vec<Option<usize>> {
    let end = |extent: &Extent| extent.sector.saturating_add(u64::from(extent.bytes).div_ceil(512));
    extents
        .iter()
        .enumerate()
        .map(|(i, extent)| {
            let first = i.saturating_sub(STREAMS);
            let recent = extents.get(first..i)?;
            let back = recent.iter().rev().position(|earlier| end(earlier) == extent.sector)?;
            Some(i - 1 - back)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sectors(list: &[(u64, u32)]) -> Vec<Extent> {
        list.iter()
            .map(|(sector, length)| Extent { sector: *sector, bytes: length * 512 })
            .collect()
    }

    #[test]
    fn direct_mount_reads_and_writes_are_contiguous_per_stream() {
        let reads =
            sectors(&[(3487120, 16), (3487136, 16), (3487152, 16), (3487168, 16), (3487184, 16)]);
        assert_eq!(contiguous_share(&reads), Some(1.0));
        // c5t1d0s2: data and log writes interleaved.
        let writes = sectors(&[(20517834, 2), (2567, 5), (20517836, 12), (2572, 5), (20517848, 4)]);
        assert_eq!(continues(&writes), [false, false, true, true, true]);
        assert_eq!(contiguous_share(&writes), Some(1.0));
    }

    #[test]
    fn random_places_are_not() {
        let places = sectors(&[(100, 8), (7000, 8), (40, 8), (900_000, 8)]);
        assert_eq!(contiguous_share(&places), Some(0.0));
        assert_eq!(contiguous_share(&places[..1]), None);
        let last = sectors(&[(u64::MAX, 8), (3, 8)]);
        assert_eq!(contiguous_share(&last), Some(0.0));
    }
}
