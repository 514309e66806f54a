//! The list of kinds. To add one: its file, its `mod` line, its place in [`KINDS`].

mod calibrate;
mod flush_cost;
mod idle_wake;
mod mixed;
mod ramp;
mod read_latency;
mod replay;
mod slo;
mod surface;
mod sustain;
mod write_latency;

use crate::kind::Kind;

/// All kinds, sorted by name.
pub const KINDS: &[Kind] = &[
    calibrate::KIND,
    flush_cost::KIND,
    idle_wake::KIND,
    mixed::KIND,
    ramp::KIND,
    read_latency::KIND,
    replay::KIND,
    slo::KIND,
    surface::KIND,
    sustain::KIND,
    write_latency::KIND,
];

/// The kind that does the I/Os of a capture again ([`Replay`](crate::Replay)).
pub const REPLAY: &str = "replay";

/// The kind of a given name.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}
