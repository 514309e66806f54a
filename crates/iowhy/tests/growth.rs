//! Time and memory grow with the size of an input, not with its square: the short form of `lab
//! growth`.

#![allow(dead_code)]

#[path = "../../lab/src/growth.rs"]
// Modules of a library.
#[allow(unreachable_pub)]
mod lab;

use std::path::Path;

/// How often a row above [`lab::BAR`] is timed again, for the tests beside this one.
const AGAIN: usize = 4;
/// Memory at most, MiB.
const MEMORY: f64 = 512.0;

fn holds(sizes: &[usize], commands: &[&'static str]) {
    let iowhy = Path::new(env!("CARGO_BIN_EXE_iowhy"));
    let mut rows = lab::growth(iowhy, sizes, commands).unwrap();
    for row in &mut rows {
        for _ in 0..AGAIN {
            if row.exponent().is_some_and(|exponent| exponent > lab::BAR) {
                row.time_again(iowhy).unwrap();
            }
        }
    }
    let table = lab::table(&rows);
    println!("{table}");
    for row in &rows {
        let exponent = row.exponent().unwrap_or(0.0);
        assert!(exponent <= lab::BAR, "{} {}: {exponent:.2}\n{table}", row.shape, row.command);
        let most = row.points.iter().map(|point| point.mebibytes).fold(0.0, f64::max);
        assert!(most <= MEMORY, "{} {}: {most:.0} MiB\n{table}", row.shape, row.command);
    }
}

#[test]
fn ten_times_as_many_take_ten_times_as_long() {
    holds(&[2_000, 6_000, 20_000], &["why", "stat", "map"]);
}

#[test]
#[ignore = "long: three decades of every shape with every command"]
fn three_decades_of_every_shape_grow_in_proportion() {
    holds(&[100, 1_000, 10_000, 100_000], &lab::COMMANDS);
}
