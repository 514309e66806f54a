//! Live disks of known fault are judged rightly by `iowhy why`, by `iowhy snoop | iowhy why` and from
//! a capture, and no healthy one is accused: a few of the scenarios, in less than a minute. All of them:
//! `rig scenarios`. Needs root, /dev/fuse, /dev/loop-control and a built `iowhy`.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::process::Command;

use iowhy_rig::built::iowhy;
use iowhy_rig::faulty_disk::missing;
use iowhy_rig::host::busy;
use iowhy_rig::scenarios::SCENARIOS;

#[test]
fn a_few_live_disks_are_judged_rightly_three_ways() {
    let lacking = missing().or(iowhy().err().map(|error| error.to_string()));
    if let Some(lacking) = lacking {
        println!("skipped: the scenarios need {lacking}");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_rig")).args(["scenarios", "--fast"]).output();
    let output = output.expect("rig starts");
    let table = String::from_utf8_lossy(&output.stdout);
    println!("{table}");
    // A disk that is served by a program is slow in truth where that program gets no CPU.
    if let (false, Some(busy)) = (output.status.success(), busy()) {
        println!("a part is skipped: the scenarios need {busy}");
        return;
    }
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("healthy disks accused, by any way: none"), "{table}");
}

#[test]
fn there_are_enough_runs_and_diseases_and_each_disease_has_its_near_miss_or_is_one() {
    assert!(SCENARIOS.iter().map(|scenario| scenario.runs).sum::<u64>() >= 40);
    let fault = |name: &'static str| name.split('/').next().unwrap_or(name);
    let mut faults: Vec<&str> = SCENARIOS.iter().map(|scenario| fault(scenario.name)).collect();
    faults.dedup();
    assert!(faults.len() >= 12, "{faults:?}");
    let mut sorted = faults.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), faults.len(), "scenarios of a fault stand together: {faults:?}");
    // A scenario whose disk is well is a near miss of every fault it resembles.
    let lacks = |name: &&&str| {
        let of = SCENARIOS.iter().filter(|scenario| fault(scenario.name) == **name);
        of.clone().any(|scenario| scenario.faulty())
            && !of.clone().any(|scenario| !scenario.faulty())
    };
    let lacking: Vec<&&str> = faults.iter().filter(lacks).collect();
    assert!(lacking.is_empty(), "no near miss: {lacking:?}");
}
