//! The short form of `lab attack`: every kind of hostile capture, folder and output, on every
//! command that reads and every target of `convert`.

#[path = "../../lab/src/attack.rs"]
// Modules of a library.
#[allow(unreachable_pub)]
mod lab;

use std::path::Path;
use std::time::Duration;

#[test]
fn hostile_inputs_and_places_break_nothing() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../read/samples");
    let (iowhy, samples) = (Path::new(env!("CARGO_BIN_EXE_iowhy")), Path::new(samples));
    let time = Duration::from_secs(60);
    let rows = lab::attack(iowhy, samples, 15, (1, 40), time).expect("it runs");
    let table = lab::table(&rows);
    println!("{table}");
    assert!(rows.iter().all(|row| row.failures.is_empty()), "{table}");
    // The right to hold a program may be missing.
    let needs_none = |row: &&lab::AttackRow| !row.attack.starts_with("code inside");
    let idle = rows.iter().filter(|row| row.runs == 0).filter(needs_none);
    let idle: Vec<&str> = idle.map(|row| row.attack).collect();
    if rows.iter().any(|row| row.runs == 0 && !needs_none(&row)) {
        println!("skipped: code inside confined processes: needs root and x86-64");
    }
    assert!(idle.is_empty(), "not tried in the time there was: {idle:?}");
}

#[test]
#[ignore = "long: every number of every sample"]
fn no_invalid_number_of_any_sample_loses_a_record_without_a_report() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../read/samples");
    let row = lab::unsaid_all(Path::new(samples), Duration::from_secs(3600)).expect("it runs");
    println!("{} texts, {} failures", row.runs, row.failures.len());
    assert!(row.failures.is_empty(), "{}", row.failures.join("\n"));
}
