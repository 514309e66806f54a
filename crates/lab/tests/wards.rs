//! Live disks of known illness are judged rightly by `iowhy why`, by `iowhy snoop | iowhy why` and from
//! a capture, and no healthy one is accused: a few of the wards, in less than a minute. All of them:
//! `lab wards`. Needs root, /dev/fuse, /dev/loop-control and a built `iowhy`.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::process::Command;

use iowhy_lab::built::iowhy;
use iowhy_lab::sickdisk::missing;
use iowhy_lab::wards::WARDS;

#[test]
fn a_few_live_disks_are_judged_rightly_three_ways() {
    let lacking = missing().or(iowhy().err().map(|error| error.to_string()));
    if let Some(lacking) = lacking {
        println!("skipped: the wards need {lacking}");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_lab")).args(["wards", "--fast"]).output();
    let output = output.expect("lab starts");
    let table = String::from_utf8_lossy(&output.stdout);
    println!("{table}");
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("healthy disks accused, by any way: none"), "{table}");
}

#[test]
fn there_are_enough_runs_and_diseases_and_each_disease_has_its_near_miss_or_is_one() {
    assert!(WARDS.iter().map(|ward| ward.runs).sum::<u64>() >= 40);
    let disease = |name: &'static str| name.split('/').next().unwrap_or(name);
    let mut diseases: Vec<&str> = WARDS.iter().map(|ward| disease(ward.name)).collect();
    diseases.dedup();
    assert!(diseases.len() >= 12, "{diseases:?}");
    let mut sorted = diseases.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), diseases.len(), "wards of a disease stand together: {diseases:?}");
    // A ward whose disk is well is a near miss of every disease it resembles.
    let lacks = |name: &&&str| {
        let of = WARDS.iter().filter(|ward| disease(ward.name) == **name);
        of.clone().any(|ward| ward.sick()) && !of.clone().any(|ward| !ward.sick())
    };
    let lacking: Vec<&&str> = diseases.iter().filter(lacks).collect();
    assert!(lacking.is_empty(), "no near miss: {lacking:?}");
}
