//! What a limit of a control group counts.

use crate::{FactKey, Op, Unit, key};

/// What a limit of a control group counts, by the kernel's own keys
/// (Documentation/admin-guide/cgroup-v2.rst, "io.max" and "io.latency").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitKind {
    /// Bytes read per second.
    Rbps,
    /// Bytes written per second.
    Wbps,
    /// Reads per second.
    Riops,
    /// Writes per second.
    Wiops,
    /// The target for the mean latency, s; below it the group is not throttled.
    Target,
}

impl LimitKind {
    /// All of them.
    pub const ALL: [LimitKind; 5] =
        [LimitKind::Rbps, LimitKind::Wbps, LimitKind::Riops, LimitKind::Wiops, LimitKind::Target];

    /// The kernel's key: `rbps`.
    pub fn name(self) -> &'static str {
        match self {
            LimitKind::Rbps => "rbps",
            LimitKind::Wbps => "wbps",
            LimitKind::Riops => "riops",
            LimitKind::Wiops => "wiops",
            LimitKind::Target => "target",
        }
    }

    /// The limit of that key.
    pub fn named(name: &str) -> Option<LimitKind> {
        LimitKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The fact that reports it.
    pub fn key(self) -> FactKey {
        match self {
            LimitKind::Rbps => key::CGROUP_MAX_RBPS,
            LimitKind::Wbps => key::CGROUP_MAX_WBPS,
            LimitKind::Riops => key::CGROUP_MAX_RIOPS,
            LimitKind::Wiops => key::CGROUP_MAX_WIOPS,
            LimitKind::Target => key::CGROUP_LATENCY_TARGET,
        }
    }

    /// The operation it throttles; `None` if it is not about one operation.
    pub fn op(self) -> Option<Op> {
        match self {
            LimitKind::Rbps | LimitKind::Riops => Some(Op::Read),
            LimitKind::Wbps | LimitKind::Wiops => Some(Op::Write),
            LimitKind::Target => None,
        }
    }

    /// The unit of its value.
    pub fn unit(self) -> Unit {
        match self {
            LimitKind::Rbps | LimitKind::Wbps => Unit::BytesPerSecond,
            LimitKind::Riops | LimitKind::Wiops => Unit::PerSecond,
            LimitKind::Target => Unit::Seconds,
        }
    }

    /// Whether it counts bytes.
    pub fn is_of_bytes(self) -> bool {
        self.unit() == Unit::BytesPerSecond
    }
}
