//! Forecasts compared with scenarios in which the fault was removed: the table is printed, and a
//! decline fails.

use iowhy_lab::score::{Forecast, forecast_table, forecasts};

/// Faults whose forecasts come from the track's own services, one each of a queue, a replay, a
/// state and a neighbour; the others take `cargo run --release -p iowhy-lab -- forecast`.
const FAULTS: [&str; 4] = ["cfg.scheduler", "device.retry", "device.write-cliff", "load.rw-mix"];
/// Of the forecasts that say a number, the share within a fifth of what happened (issue 5).
const FLOOR: f64 = 0.8;
/// Forecasts that must say a number at least, so that none is hidden: 16 on 2026-11-21.
const SAID: usize = 15;

#[test]
fn forecasts_match_the_latency_after_the_fix() {
    let of = |fault| forecasts(1, 2026, Some(fault)).expect("the recipes are well written");
    let all: Vec<Forecast> = FAULTS.into_iter().flat_map(of).collect();
    println!("{}", forecast_table(&all));
    let answers: Vec<bool> = all.iter().filter_map(Forecast::is_right).collect();
    let right = answers.iter().filter(|right| **right).count();
    assert!(answers.len() >= SAID, "only {} say a number", answers.len());
    let share = right as f64 / answers.len() as f64;
    assert!(share >= FLOOR, "{right} of {} came as foretold", answers.len());
}
