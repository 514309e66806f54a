//! Which requests go on where an earlier one ended.

/// A request's place on the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// For each request, in issue order, whether it starts where one of the last 32 ended.
pub fn continues(extents: &[Extent]) -> Vec<bool> {
    let _ = extents;
    Vec::new()
}

/// Share of the requests that go on where their stream was, 0 to 1. The first request of each
/// stream has nothing to go on from and is not counted. `None` with fewer than two requests.
pub fn contiguous_share(extents: &[Extent]) -> Option<f64> {
    let _ = extents;
    None
}
