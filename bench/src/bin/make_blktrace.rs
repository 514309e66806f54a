//! Writes the per-CPU files of a made blktrace: `make_blktrace FOLDER [IOS [CPUS [big] [v2]]]`.

#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used)]

#[path = "../../../crates/read/tests/make_blktrace/mod.rs"]
mod make_blktrace;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| {
        arguments.get(place).map_or(default, |text| text.parse().unwrap())
    };
    let says = |word: &str| arguments.iter().any(|text| text == word);
    let trace = make_blktrace::Trace {
        ios: number(1, 1_000_000),
        cpus: number(2, 4) as u32,
        big: says("big"),
        second: says("v2"),
    };
    let (files, truth) = trace.files();
    for (cpu, file) in files.iter().enumerate() {
        std::fs::write(format!("{}/sdb.blktrace.{cpu}", arguments[0]), file).unwrap();
    }
    println!("{truth:?}");
}
