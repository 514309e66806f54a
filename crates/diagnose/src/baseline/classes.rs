//! Healthy service times by class, the S0 table: what one request costs a healthy device when
//! nothing waits.
//!
//! S0 = `fixed_ms` + bytes / `bytes_per_ms`, with `sigma` as the standard deviation of ln S0. The
//! values are the table of docs/METHOD.md, 3 Healthy service times; transfer rates are class
//! numbers of vendors' data sheets. Overridden by peers, by the device's own best, or by
//! `--healthy-ms`.

use iowhy_model::{Medium, Op};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Class {
    /// Its name in a sentence.
    pub name: &'static str,
    /// The medium.
    pub medium: Medium,
    /// `None` for every operation.
    pub op: Option<Op>,
    /// Whether its requests are sequential; `None` for either.
    pub sequential: Option<bool>,
    /// The fixed cost of a request, ms.
    pub fixed_ms: f64,
    /// The bandwidth in bytes per millisecond; 1 MB/s is 1000.
    pub bytes_per_ms: f64,
    /// The standard deviation of ln S0.
    pub sigma: f64,
    /// Its share of the medium among rows that a request does not distinguish (write cache on or
    /// off).
    pub weight: f64,
}

/// MB/s as bytes per millisecond.
const MB_PER_S: f64 = 1000.0;

/// All rows.
pub(crate) const CLASSES: [Class; 13] = [
    Class {
        sequential: Some(false),
        ..class("7200-rpm disk, random", Medium::Rotational, Op::Read, 10.0, 150.0, 0.4)
    },
    Class {
        sequential: Some(true),
        ..class("7200-rpm disk, sequential", Medium::Rotational, Op::Read, 0.2, 150.0, 0.4)
    },
    // A disk write is fast while its cache takes it, and costs a seek once the cache is full or
    // off.
    Class {
        weight: 0.5,
        ..class("disk, write cache on", Medium::Rotational, Op::Write, 0.4, 150.0, 0.7)
    },
    // Off: half a revolution to a whole one, 60/7200 s; random ones add a seek.
    Class {
        weight: 0.5,
        ..class("disk, write cache off", Medium::Rotational, Op::Write, 8.33, 150.0, 0.3)
    },
    class("SATA flash, read", Medium::Flash, Op::Read, 0.15, 500.0, 0.5),
    class("SATA flash, write", Medium::Flash, Op::Write, 0.08, 450.0, 0.5),
    // SD Specifications, Part 1: a card of application class A1 makes 1,500 reads and 500 writes of
    // 4 KiB a second, one of speed class 10 writes 10 MB/s in order, buses of UHS-I end at 104
    // MB/s; HS400 of eMMC (JESD84-B51) at 400.
    Class { weight: 0.6, ..class("memory card, read", Medium::Card, Op::Read, 0.6, 60.0, 0.7) },
    Class { weight: 0.6, ..class("memory card, write", Medium::Card, Op::Write, 2.0, 20.0, 0.8) },
    Class { weight: 0.4, ..class("eMMC, read", Medium::Card, Op::Read, 0.3, 150.0, 0.6) },
    Class { weight: 0.4, ..class("eMMC, write", Medium::Card, Op::Write, 0.5, 80.0, 0.8) },
    class("NVMe flash, read", Medium::Nvme, Op::Read, 0.09, 2500.0, 0.5),
    class("NVMe flash, write", Medium::Nvme, Op::Write, 0.02, 1500.0, 0.5),
    Class { op: None, ..class("network volume", Medium::Network, Op::Read, 0.8, 250.0, 0.6) },
];

const fn class(
    name: &'static str,
    medium: Medium,
    op: Op,
    fixed_ms: f64,
    mb_per_s: f64,
    sigma: f64,
) -> Class {
    let bytes_per_ms = mb_per_s * MB_PER_S;
    let (op, sequential) = (Some(op), None);
    Class { name, medium, op, sequential, fixed_ms, bytes_per_ms, sigma, weight: 1.0 }
}
