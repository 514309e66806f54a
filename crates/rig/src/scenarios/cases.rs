//! The table of scenarios: for each fault at least one disk that has it, and a near miss, a healthy one
//! that looks like it.

use super::{Figure, Scenario};

const BASE: Scenario = Scenario {
    name: "",
    model: "rotational",
    faults: &[],
    beside: (0, false),
    loads: &["read:128K"],
    before: 0,
    seconds: 8,
    owed: PEACE,
    figure: Figure::None,
    runs: 1,
    fast: false,
};

/// Verdicts that leave a healthy disk in peace. That the processors are short is true of a machine
/// that runs other tests beside this one.
const PEACE: &[&str] = &[
    "healthy",
    "layer.cpu",
    "insufficient",
    "load.saturated",
    "load.burst",
    "load.large-io",
    "load.small-sync",
];

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "retry/7200",
        faults: &["retry=0.35"],
        owed: &["device.retry"],
        figure: Figure::Rpm(7200.0),
        runs: 3,
        fast: true,
        ..BASE
    },
    Scenario {
        name: "retry/5400",
        model: "rotational:rpm=5400",
        faults: &["retry=0.25"],
        owed: &["device.retry"],
        figure: Figure::Rpm(5400.0),
        ..BASE
    },
    Scenario {
        name: "retry/10000",
        model: "rotational:rpm=10000",
        faults: &["retry=0.4"],
        owed: &["device.retry"],
        figure: Figure::Rpm(10_000.0),
        ..BASE
    },
    Scenario {
        name: "retry/15000",
        model: "rotational:rpm=15000,spt=700",
        faults: &["retry=0.5"],
        owed: &["device.retry"],
        figure: Figure::Rpm(15_000.0),
        ..BASE
    },
    Scenario {
        name: "retry/added",
        faults: &["retry=0.6"],
        owed: &["device.retry"],
        figure: Figure::Added,
        ..BASE
    },
    Scenario { name: "retry/near-miss", runs: 2, owed: PEACE, fast: true, ..BASE },
    Scenario {
        name: "missed-revolution/7200",
        loads: &["write:4K,think=0us"],
        owed: &["load.missed-revolution"],
        figure: Figure::Rpm(7200.0),
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "missed-revolution/5400",
        model: "rotational:rpm=5400",
        loads: &["write:8K,think=0us"],
        owed: &["load.missed-revolution"],
        figure: Figure::Rpm(5400.0),
        ..BASE
    },
    Scenario {
        name: "missed-revolution/near-miss",
        model: "rotational:cache=32M",
        loads: &["write:4K,think=3ms"],
        ..BASE
    },
    Scenario {
        name: "slow/platter",
        faults: &["slow=4"],
        loads: &["read:8K,random,think=20ms"],
        owed: &["device.slow"],
        figure: Figure::Added,
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "slow/flash",
        model: "ssd",
        faults: &["slow=400"],
        loads: &["read:4K,random,think=2ms"],
        owed: &["device.slow"],
        figure: Figure::Added,
        runs: 2,
        fast: true,
        ..BASE
    },
    Scenario {
        name: "slow/near-miss",
        loads: &["read:8K,random,think=20ms"],
        runs: 2,
        fast: true,
        ..BASE
    },
    Scenario {
        name: "stall/flash",
        model: "ssd",
        faults: &["stall=2s/400ms"],
        loads: &["read:4K,random,think=3ms", "read:16K,random,think=9ms"],
        seconds: 15,
        owed: &["device.stall"],
        figure: Figure::Added,
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "stall/platter",
        faults: &["stall=3s/700ms"],
        loads: &["read:64K"],
        seconds: 15,
        owed: &["device.stall"],
        ..BASE
    },
    Scenario {
        name: "stall/near-miss",
        model: "ssd",
        loads: &["batch=30/2s:read:4K,random"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "cap/iops",
        model: "network:iops=500,burst=500",
        loads: &["read:4K,random,depth=16,think=0us"],
        seconds: 20,
        owed: &["cap.volume"],
        figure: Figure::Cap(500.0),
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "cap/bytes",
        model: "network:rate=20M",
        loads: &["read:64K,random,depth=8,think=0us"],
        seconds: 20,
        owed: &["cap.volume"],
        figure: Figure::Cap(20.0 * 1048576.0),
        ..BASE
    },
    Scenario {
        name: "cap/near-miss",
        model: "network:iops=3000",
        loads: &["read:4K,random,depth=4,think=20ms"],
        seconds: 15,
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "burst-credit/ends",
        model: "network:iops=200,burst=1500,credits=12000",
        loads: &["read:4K,random,depth=16,think=0us"],
        seconds: 25,
        owed: &["cap.burst", "cap.volume"],
        figure: Figure::Cap(200.0),
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "burst-credit/near-miss",
        model: "network:iops=200,burst=1500,credits=12000",
        loads: &["read:4K,random,rate=120"],
        seconds: 15,
        ..BASE
    },
    Scenario {
        name: "peers/one-faulty",
        faults: &["retry=0.8"],
        beside: (7, false),
        loads: &["read:8K,random,think=40ms"],
        seconds: 15,
        owed: &["peer.outlier", "device.slow", "device.retry"],
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "peers/slow-flash",
        model: "ssd",
        faults: &["slow=30"],
        beside: (5, false),
        loads: &["read:4K,random,think=10ms"],
        seconds: 10,
        owed: &["peer.outlier", "device.slow"],
        ..BASE
    },
    Scenario {
        name: "peers/near-miss",
        beside: (7, false),
        loads: &["read:8K,random,think=40ms"],
        seconds: 15,
        runs: 2,
        ..BASE
    },
    Scenario {
        // A fan that shakes the shelf: it comes and goes, for all at once. Six disks that are always
        // as slow are of another kind, for all that latencies can tell.
        name: "together/all-slow",
        faults: &["thermal=5s/3s/6"],
        beside: (5, true),
        loads: &["read:8K,random,think=40ms"],
        seconds: 15,
        owed: &["peer.shared", "device.slow"],
        figure: Figure::Added,
        ..BASE
    },
    Scenario {
        name: "together/near-miss",
        beside: (5, false),
        loads: &["read:8K,random,think=40ms"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "cleaning/flash",
        model: "ssd:dies=2,fresh=0,live=48,uneven=48",
        loads: &["write:16K,random,depth=2,think=4ms", "read:4K,random,think=4ms"],
        seconds: 15,
        owed: &["device.stall", "device.slow", "load.rw-mix"],
        ..BASE
    },
    Scenario {
        name: "cleaning/near-miss",
        model: "ssd:dies=8",
        loads: &["write:16K,random,think=8ms", "read:4K,random,think=4ms"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "cliff/flash",
        model: "ssd:dies=2,program=2300us,uneven=48,quick=240M,buffer=4",
        loads: &["write:16K,random,depth=4,think=2ms"],
        seconds: 20,
        owed: &["device.write-cliff", "device.slow"],
        ..BASE
    },
    Scenario {
        name: "cliff/near-miss",
        model: "ssd:dies=8,quick=1G",
        loads: &["write:16K,random,depth=2,think=2ms"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "thermal/flash",
        model: "ssd:read=300us",
        faults: &["thermal=9s/4s/20"],
        loads: &["read:4K,random,think=2ms"],
        seconds: 20,
        owed: &["device.thermal", "device.slow"],
        figure: Figure::Added,
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "thermal/near-miss",
        model: "ssd:read=300us",
        loads: &["read:4K,random,think=2ms", "batch=20/4s:read:64K,random"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "shingled/scattered",
        model: "shingled:kept=1M,band=16M",
        loads: &["write:16K,random,think=4ms"],
        seconds: 20,
        owed: &["device.smr", "device.stall", "device.slow"],
        ..BASE
    },
    Scenario {
        name: "shingled/near-miss",
        model: "shingled",
        loads: &["write:64K,think=4ms"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "recovery/flash",
        model: "ssd",
        faults: &["recovery=0.004/900ms"],
        loads: &["read:4K,random,think=4ms"],
        seconds: 20,
        owed: &["device.recovery", "device.stall", "device.slow"],
        figure: Figure::Added,
        runs: 2,
        ..BASE
    },
    Scenario {
        name: "recovery/near-miss",
        model: "ssd",
        loads: &["read:4K,random,think=4ms", "batch=4/3s:read:1M,random"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "media/eio",
        faults: &["eio=32M+2M/400ms"],
        loads: &["read:128K,think=5ms"],
        seconds: 12,
        owed: &["device.media"],
        ..BASE
    },
    Scenario { name: "media/near-miss", loads: &["read:128K,think=5ms"], seconds: 12, ..BASE },
    Scenario {
        name: "periodic/flash",
        model: "ssd",
        faults: &["ticks=0.45/5ms"],
        loads: &["read:4K,random,think=3ms"],
        seconds: 12,
        owed: &["device.periodic-delay", "device.slow"],
        figure: Figure::Added,
        ..BASE
    },
    // The step of a timer at 100 Hz.
    Scenario {
        name: "periodic/hundred-hertz",
        model: "ssd",
        faults: &["ticks=0.4/10ms"],
        loads: &["read:4K,random,think=3ms"],
        seconds: 12,
        owed: &["device.periodic-delay", "device.slow"],
        figure: Figure::Added,
        ..BASE
    },
    Scenario {
        name: "periodic/near-miss",
        model: "network:iops=3000,jitter=400us",
        loads: &["read:4K,random,think=3ms"],
        seconds: 12,
        ..BASE
    },
    Scenario {
        name: "wake/platter",
        faults: &["wake=600ms/500ms"],
        loads: &["read:8K,random,rate=2.5"],
        seconds: 30,
        owed: &["device.idle-wake", "device.slow", "device.stall"],
        ..BASE
    },
    Scenario { name: "wake/near-miss", loads: &["read:8K,random,rate=2.5"], seconds: 20, ..BASE },
    Scenario {
        name: "saturated/platter",
        loads: &["read:8K,random,depth=12,think=1ms"],
        owed: &["load.saturated"],
        runs: 2,
        ..BASE
    },
    Scenario { name: "saturated/near-miss", loads: &["read:8K,random,think=15ms"], ..BASE },
    Scenario {
        name: "batch/platter",
        loads: &["batch=16/800ms:read:8K,random"],
        seconds: 12,
        owed: &["load.burst", "load.saturated"],
        ..BASE
    },
    Scenario {
        name: "large/platter",
        // 123 MB/s, as today's disks: 1 MiB takes one revolution and a bit.
        model: "rotational:spt=2000",
        loads: &["read:1M,think=10ms"],
        seconds: 12,
        owed: &["load.large-io"],
        ..BASE
    },
];
