//! What holds for every disk model, healthy or faulty, over thousands of random requests.

use iowhy_lab::disk::{Disk, Fault, Model, Request, Service};
use iowhy_model::{Op, Random};

const BYTES: u64 = 4 << 30;

/// Every model with every set of faults it can have.
fn disks(seed: u64) -> Vec<(String, Disk)> {
    let models = [
        "rotational",
        "rotational:rpm=15000,spt=700,cache=8M",
        "rotational:readahead=off,heads=8",
        "ssd",
        "shingled:band=1M,kept=2M",
        "ssd:dies=2,fresh=1M",
        "ssd:dies=1,quick=256K,buffer=0",
        "network",
        "network:iops=100,burst=3000,credits=500,rate=10M",
    ];
    let faults: [&[&str]; 7] = [
        &[],
        &["retry=0.9"],
        &["slow=2.5", "stall=500ms/90ms"],
        &["stall=2s/1.9s", "stall=70ms/3ms"],
        &["eio=1G+512M/40ms", "retry=0.2@2G+1G"],
        &["wake=15ms/40ms", "thermal=300ms/100ms/3", "stall=500ms/90ms"],
        &["ticks=0.3/4ms", "recovery=0.02/300ms"],
    ];
    let mut disks = Vec::new();
    for text in models {
        let model = Model::parse(text).expect("the model is known");
        for fault in faults {
            let faults = fault.iter().map(|text| Fault::parse(text));
            let faults: Vec<Fault> = faults.map(|d| d.expect("a fault")).collect();
            if faults.iter().all(|fault| model.can_have(fault)) {
                let disk = Disk::new(model.mechanism(BYTES), &faults, seed, 0);
                disks.push((format!("{text} with {fault:?}"), disk));
            }
        }
    }
    disks
}

/// A mixed load: bursts and pauses, sequential and scattered, all operations.
fn load(seed: u64, count: usize) -> Vec<Request> {
    let mut random = Random::seeded(seed);
    let (mut arrival, mut next) = (0, 0);
    (0..count)
        .map(|_| {
            arrival += if random.chance(0.5) { 0 } else { random.bits() % 20_000_000 };
            let bytes = [512, 4096, 65_536, 131_072][(random.bits() % 4) as usize];
            let offset = if random.chance(0.5) { next } else { random.bits() % BYTES } / 512 * 512;
            let offset = offset.min(BYTES - u64::from(bytes));
            next = offset + u64::from(bytes);
            let op = match random.bits() % 10 {
                0 => Op::Flush,
                1 => Op::Discard,
                2..5 => Op::Write,
                _ => Op::Read,
            };
            Request { op, offset, bytes, arrival }
        })
        .collect()
}

#[test]
fn the_parts_add_up_and_nothing_is_done_before_it_came() {
    let load = load(11, 4000);
    for (name, mut disk) in disks(3) {
        for request in &load {
            let served = disk.serve(request);
            let spent: u64 = served.why.iter().map(|(_, ns)| ns).sum();
            assert_eq!(served.due - request.arrival, spent, "{name}: {request:?} {served:?}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_answers_and_another_one_others() {
    let load = load(12, 1000);
    let answers = |seed: u64| -> Vec<Vec<Service>> {
        let all = disks(seed).into_iter();
        all.map(|(_, mut disk)| load.iter().map(|request| disk.serve(request)).collect()).collect()
    };
    assert_eq!(answers(5), answers(5));
    assert_ne!(answers(5), answers(6));
}

#[test]
fn a_request_is_answered_the_same_whatever_comes_after_it() {
    // Arrival order is the only order: cutting the load short changes nothing before the cut.
    let load = load(13, 600);
    for ((name, mut whole), (_, mut cut)) in disks(8).into_iter().zip(disks(8)) {
        let all: Vec<Service> = load.iter().map(|request| whole.serve(request)).collect();
        let half: Vec<Service> = load[..300].iter().map(|request| cut.serve(request)).collect();
        assert_eq!(all[..300], half, "{name}");
    }
}

#[test]
fn sickness_never_makes_a_disk_faster_in_the_mean() {
    let load = load(14, 3000);
    let mean = |disk: &mut Disk| -> u64 {
        load.iter().map(|request| disk.serve(request).due - request.arrival).sum::<u64>() / 3000
    };
    for model in ["rotational", "shingled", "ssd", "network"] {
        let model = Model::parse(model).expect("the model is known");
        let healthy = mean(&mut Disk::new(model.mechanism(BYTES), &[], 1, 0));
        for faulty in [
            "slow=2",
            "stall=1s/400ms",
            "eio=1G+1G/100ms",
            "retry=0.5",
            "ticks=0.3/4ms",
            "recovery=0.01/1s",
            "thermal=2s/1s/4",
        ] {
            let fault = Fault::parse(faulty).expect("a fault");
            if model.can_have(&fault) {
                let faulty = mean(&mut Disk::new(model.mechanism(BYTES), &[fault], 1, 0));
                assert!(
                    faulty > healthy,
                    "{model:?} with {faulty}: {faulty} ns, healthy {healthy} ns"
                );
            }
        }
    }
}
