//! The table of wards: for each disease at least one disk that has it, and a near miss, a healthy one
//! that looks like it.

use super::{Figure, Ward};

const WARD: Ward = Ward {
    name: "",
    model: "rotational",
    diseases: &[],
    beside: (0, false),
    loads: &["read:128K"],
    before: 0,
    seconds: 8,
    owed: PEACE,
    figure: Figure::None,
    runs: 1,
    fast: false,
};

/// Verdicts that leave a healthy disk in peace.
const PEACE: &[&str] = &[
    "healthy",
    "insufficient",
    "load.saturated",
    "load.burst",
    "load.large-io",
    "load.small-sync",
];

/// All wards.
pub const WARDS: &[Ward] = &[
    Ward {
        name: "retry/7200",
        diseases: &["retry=0.35"],
        owed: &["device.retry"],
        figure: Figure::Rpm(7200.0),
        runs: 3,
        fast: true,
        ..WARD
    },
    Ward {
        name: "retry/5400",
        model: "rotational:rpm=5400",
        diseases: &["retry=0.25"],
        owed: &["device.retry"],
        figure: Figure::Rpm(5400.0),
        ..WARD
    },
    Ward {
        name: "retry/10000",
        model: "rotational:rpm=10000",
        diseases: &["retry=0.4"],
        owed: &["device.retry"],
        figure: Figure::Rpm(10_000.0),
        ..WARD
    },
    Ward {
        name: "retry/15000",
        model: "rotational:rpm=15000,spt=700",
        diseases: &["retry=0.5"],
        owed: &["device.retry"],
        figure: Figure::Rpm(15_000.0),
        ..WARD
    },
    Ward {
        name: "retry/added",
        diseases: &["retry=0.6"],
        owed: &["device.retry"],
        figure: Figure::Added,
        ..WARD
    },
    Ward { name: "retry/near-miss", runs: 2, owed: PEACE, fast: true, ..WARD },
    Ward {
        name: "missed-turn/7200",
        loads: &["write:4K,think=0us"],
        owed: &["load.missed-turn"],
        figure: Figure::Rpm(7200.0),
        runs: 2,
        ..WARD
    },
    Ward {
        name: "missed-turn/5400",
        model: "rotational:rpm=5400",
        loads: &["write:8K,think=0us"],
        owed: &["load.missed-turn"],
        figure: Figure::Rpm(5400.0),
        ..WARD
    },
    Ward {
        name: "missed-turn/near-miss",
        model: "rotational:cache=32M",
        loads: &["write:4K,think=3ms"],
        ..WARD
    },
    Ward {
        name: "slow/platter",
        diseases: &["slow=4"],
        loads: &["read:8K,random,think=20ms"],
        owed: &["device.slow"],
        figure: Figure::Added,
        runs: 2,
        ..WARD
    },
    Ward {
        name: "slow/flash",
        model: "ssd",
        diseases: &["slow=400"],
        loads: &["read:4K,random,think=2ms"],
        owed: &["device.slow"],
        figure: Figure::Added,
        runs: 2,
        fast: true,
        ..WARD
    },
    Ward {
        name: "slow/near-miss",
        loads: &["read:8K,random,think=20ms"],
        runs: 2,
        fast: true,
        ..WARD
    },
    Ward {
        name: "stall/flash",
        model: "ssd",
        diseases: &["stall=2s/400ms"],
        loads: &["read:4K,random,think=3ms", "read:16K,random,think=9ms"],
        seconds: 15,
        owed: &["device.stall"],
        figure: Figure::Added,
        runs: 2,
        ..WARD
    },
    Ward {
        name: "stall/platter",
        diseases: &["stall=3s/700ms"],
        loads: &["read:64K"],
        seconds: 15,
        owed: &["device.stall"],
        ..WARD
    },
    Ward {
        name: "stall/near-miss",
        model: "ssd",
        loads: &["batch=30/2s:read:4K,random"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "cap/iops",
        model: "network:iops=500,burst=500",
        loads: &["read:4K,random,depth=16,think=0us"],
        seconds: 20,
        owed: &["cap.volume"],
        figure: Figure::Cap(500.0),
        runs: 2,
        ..WARD
    },
    Ward {
        name: "cap/bytes",
        model: "network:rate=20M",
        loads: &["read:64K,random,depth=8,think=0us"],
        seconds: 20,
        owed: &["cap.volume"],
        figure: Figure::Cap(20.0 * 1048576.0),
        ..WARD
    },
    Ward {
        name: "cap/near-miss",
        model: "network:iops=3000",
        loads: &["read:4K,random,depth=4,think=20ms"],
        seconds: 15,
        runs: 2,
        ..WARD
    },
    Ward {
        name: "burst-credit/ends",
        model: "network:iops=200,burst=1500,credits=12000",
        loads: &["read:4K,random,depth=16,think=0us"],
        seconds: 25,
        owed: &["cap.burst", "cap.volume"],
        figure: Figure::Cap(200.0),
        runs: 2,
        ..WARD
    },
    Ward {
        name: "burst-credit/near-miss",
        model: "network:iops=200,burst=1500,credits=12000",
        loads: &["read:4K,random,rate=120"],
        seconds: 15,
        ..WARD
    },
    Ward {
        name: "peers/one-sick",
        diseases: &["retry=0.8"],
        beside: (7, false),
        loads: &["read:8K,random,think=40ms"],
        seconds: 15,
        owed: &["peer.outlier", "device.slow", "device.retry"],
        runs: 2,
        ..WARD
    },
    Ward {
        name: "peers/slow-flash",
        model: "ssd",
        diseases: &["slow=30"],
        beside: (5, false),
        loads: &["read:4K,random,think=10ms"],
        seconds: 10,
        owed: &["peer.outlier", "device.slow"],
        ..WARD
    },
    Ward {
        name: "peers/near-miss",
        beside: (7, false),
        loads: &["read:8K,random,think=40ms"],
        seconds: 15,
        runs: 2,
        ..WARD
    },
    Ward {
        // A fan that shakes the shelf: it comes and goes, for all at once. Six disks that are always
        // as slow are of another kind, for all that latencies can tell.
        name: "together/all-slow",
        diseases: &["thermal=5s/3s/6"],
        beside: (5, true),
        loads: &["read:8K,random,think=40ms"],
        seconds: 15,
        owed: &["peer.shared", "device.slow"],
        figure: Figure::Added,
        ..WARD
    },
    Ward {
        name: "together/near-miss",
        beside: (5, false),
        loads: &["read:8K,random,think=40ms"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "cleaning/flash",
        model: "ssd:dies=2,fresh=0,live=48,uneven=48",
        loads: &["write:16K,random,depth=2,think=4ms", "read:4K,random,think=4ms"],
        seconds: 15,
        owed: &["device.stall", "device.slow", "load.rw-mix"],
        ..WARD
    },
    Ward {
        name: "cleaning/near-miss",
        model: "ssd:dies=8",
        loads: &["write:16K,random,think=8ms", "read:4K,random,think=4ms"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "cliff/flash",
        model: "ssd:dies=2,program=2300us,uneven=48,quick=240M,buffer=4",
        loads: &["write:16K,random,depth=4,think=2ms"],
        seconds: 20,
        owed: &["device.write-cliff", "device.slow"],
        ..WARD
    },
    Ward {
        name: "cliff/near-miss",
        model: "ssd:dies=8,quick=1G",
        loads: &["write:16K,random,depth=2,think=2ms"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "thermal/flash",
        model: "ssd:read=300us",
        diseases: &["thermal=9s/4s/20"],
        loads: &["read:4K,random,think=2ms"],
        seconds: 20,
        owed: &["device.thermal", "device.slow"],
        figure: Figure::Added,
        runs: 2,
        ..WARD
    },
    Ward {
        name: "thermal/near-miss",
        model: "ssd:read=300us",
        loads: &["read:4K,random,think=2ms", "batch=20/4s:read:64K,random"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "shingled/scattered",
        model: "shingled:kept=1M,band=16M",
        loads: &["write:16K,random,think=4ms"],
        seconds: 20,
        owed: &["device.smr", "device.stall", "device.slow"],
        ..WARD
    },
    Ward {
        name: "shingled/near-miss",
        model: "shingled",
        loads: &["write:64K,think=4ms"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "recovery/flash",
        model: "ssd",
        diseases: &["recovery=0.004/900ms"],
        loads: &["read:4K,random,think=4ms"],
        seconds: 20,
        owed: &["device.recovery", "device.stall", "device.slow"],
        figure: Figure::Added,
        runs: 2,
        ..WARD
    },
    Ward {
        name: "recovery/near-miss",
        model: "ssd",
        loads: &["read:4K,random,think=4ms", "batch=4/3s:read:1M,random"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "media/eio",
        diseases: &["eio=32M+2M/400ms"],
        loads: &["read:128K,think=5ms"],
        seconds: 12,
        owed: &["device.media"],
        ..WARD
    },
    Ward { name: "media/near-miss", loads: &["read:128K,think=5ms"], seconds: 12, ..WARD },
    Ward {
        name: "comb/flash",
        model: "ssd",
        diseases: &["comb=0.45/5ms"],
        loads: &["read:4K,random,think=3ms"],
        seconds: 12,
        owed: &["device.comb-other", "device.slow"],
        figure: Figure::Added,
        ..WARD
    },
    // The step of a timer at 100 Hz.
    Ward {
        name: "comb/hundred-hertz",
        model: "ssd",
        diseases: &["comb=0.4/10ms"],
        loads: &["read:4K,random,think=3ms"],
        seconds: 12,
        owed: &["device.comb-other", "device.slow"],
        figure: Figure::Added,
        ..WARD
    },
    Ward {
        name: "comb/near-miss",
        model: "network:iops=3000,jitter=400us",
        loads: &["read:4K,random,think=3ms"],
        seconds: 12,
        ..WARD
    },
    Ward {
        name: "wake/platter",
        diseases: &["wake=600ms/500ms"],
        loads: &["read:8K,random,rate=2.5"],
        seconds: 30,
        owed: &["device.idle-wake", "device.slow", "device.stall"],
        ..WARD
    },
    Ward { name: "wake/near-miss", loads: &["read:8K,random,rate=2.5"], seconds: 20, ..WARD },
    Ward {
        name: "saturated/platter",
        loads: &["read:8K,random,depth=12,think=1ms"],
        owed: &["load.saturated"],
        runs: 2,
        ..WARD
    },
    Ward { name: "saturated/near-miss", loads: &["read:8K,random,think=15ms"], ..WARD },
    Ward {
        name: "batch/platter",
        loads: &["batch=16/800ms:read:8K,random"],
        seconds: 12,
        owed: &["load.burst", "load.saturated"],
        ..WARD
    },
    Ward {
        name: "large/platter",
        // 123 MB/s, as today's disks: 1 MiB takes one turn and a bit.
        model: "rotational:spt=2000",
        loads: &["read:1M,think=10ms"],
        seconds: 12,
        owed: &["load.large-io"],
        ..WARD
    },
];
