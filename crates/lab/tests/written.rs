//! Each written scenario happens in virtual time and is judged: a test named after it. The rig lets
//! the same ones happen on real block devices (`crates/rig/tests/scenarios.rs`).
//!
//! `cargo test -p iowhy-lab --test written retry/` runs those of one fault.
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;

use iowhy_lab::score::written_answer;
use iowhy_lab::written::{WrittenScenario, written};
use libtest_mimic::{Arguments, Trial};

/// Each with this many seeds.
const SEEDS: std::ops::Range<u64> = 1..4;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let all = written().unwrap();
    let trials = all.iter().map(|one| Trial::test(one.name.clone(), move || judged(one))).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// With every seed the verdict is one of those expected, and no healthy disk is accused.
fn judged(scenario: &WrittenScenario) -> Result<(), libtest_mimic::Failed> {
    for seed in SEEDS {
        let answer = written_answer(scenario, seed)?;
        if !answer.right || !answer.accused.is_empty() {
            return Err(format!("seed {seed}, {}: {answer:?}", scenario.tells()).into());
        }
    }
    Ok(())
}
