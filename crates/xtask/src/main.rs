//! `xtask`: what this repository does with itself. `xtask test` runs all tests, `xtask results` writes the
//! tables of docs/results.

use std::io::{self, Write};
use std::process::ExitCode;

use xtask::results;
use xtask::suite::Suite;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test", ref rest @ ..] => {
            let names = rest.iter().filter(|word| **word != "--long");
            let only = names.map(ToString::to_string).collect();
            Suite { long: rest.contains(&"--long"), only }.run()
        }
        ["results", ref pages @ ..] if !pages.is_empty() => {
            pages.iter().try_for_each(|page| results::write(page)).map(|()| ExitCode::SUCCESS)
        }
        _ => Err(io::Error::other(
            "usage: xtask test [--long] [CRATE or TEST PROGRAM...]; xtask results PAGE...",
        )),
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "xtask: {error}");
        ExitCode::from(2)
    })
}
