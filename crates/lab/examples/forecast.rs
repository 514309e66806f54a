//! Prints how often the forecast of the cure came true in scenarios that were really cured:
//! `cargo run --release -p iowhy-lab --example forecast -- 20 7` (scenarios per
//! recipe, seed; a third number prints each, the name of a verdict tries that one alone).
#![allow(clippy::print_stdout)]

use iowhy_lab::score::{forecast_table, forecasts};

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let only = words.iter().find(|word| word.contains('.')).map(String::as_str);
    let (cases, seed) =
        (numbers.first().copied().unwrap_or(10), numbers.get(1).copied().unwrap_or(7));
    let all = forecasts(usize::try_from(cases).unwrap_or(10), seed, only)?;
    if numbers.len() > 2 {
        for one in &all {
            println!(
                "{} {} {} now {:.3} foretold {:.3?} in {:.3?} came {:.3}, p99 {:.3?} came {:.3}{}",
                one.case,
                one.level.letter(),
                one.verdict,
                one.now_ms,
                one.middle_ms,
                one.range_ms,
                one.came_ms,
                one.p99_ms,
                one.came_p99_ms,
                match (one.is_right(), one.is_in_range()) {
                    (Some(false), _) => "  off",
                    (_, Some(false)) => "  outside",
                    _ => "",
                }
            );
        }
    }
    println!("{}", forecast_table(&all));
    Ok(())
}
