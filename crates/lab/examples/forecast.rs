//! Prints how often the forecast of the cure came true in worlds that were really cured:
//! `cargo run --release -p iowhy-lab --example forecast -- 20 7` (worlds per recipe, seed; a third number prints each).
#![allow(clippy::print_stdout)]

use iowhy_lab::score::{forecast_table, forecasts};

fn main() -> Result<(), String> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (cases, seed) =
        (numbers.first().copied().unwrap_or(10), numbers.get(1).copied().unwrap_or(7));
    let all = forecasts(usize::try_from(cases).unwrap_or(10), seed)?;
    if numbers.len() > 2 {
        for one in &all {
            println!(
                "{} {} {} now {:.3} foretold {:.3?} in {:.3?} came {:.3}, p99 {:.3?} came {:.3}{}",
                one.case,
                one.level.letter(),
                one.verdict,
                one.now_ms,
                one.foretold_ms,
                one.range_ms,
                one.came_ms,
                one.p99_ms,
                one.came_p99_ms,
                if one.is_right() == Some(false) { "  off" } else { "" }
            );
        }
    }
    println!("{}", forecast_table(&all));
    Ok(())
}
