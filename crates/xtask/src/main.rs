//! `xtask`: development tasks of this repository. `xtask test` runs all tests, `xtask results`
//! writes the tables of docs/results, `xtask new` creates a member of a list, `xtask licences` and
//! `xtask sbom` print the contents of the packages.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use xtask::shipped::Program::{Fleet, Iowhy};
use xtask::suite::Suite;
use xtask::{results, shipped};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test", ref rest @ ..] => {
            let names = rest.iter().filter(|word| !word.starts_with("--"));
            let only = names.map(ToString::to_string).collect();
            let (long, bare) = (rest.contains(&"--long"), rest.contains(&"--run-only"));
            Suite { long, bare, only }.run()
        }
        ["results", ref pages @ ..] if !pages.is_empty() => {
            pages.iter().try_for_each(|page| results::write(page)).map(|()| ExitCode::SUCCESS)
        }
        ["new", member, name] => xtask::new::new(&xtask::root(), member, name)
            .and_then(|files| print(&(files.join("\n") + "\n"))),
        ["licences", target] => shipped::licences(Iowhy, target).and_then(|text| print(&text)),
        ["licences", "fleet", target] => {
            shipped::licences(Fleet, target).and_then(|text| print(&text))
        }
        ["sbom", target] => shipped::sbom(Iowhy, target).and_then(|text| print(&text)),
        ["sbom", "fleet", target] => shipped::sbom(Fleet, target).and_then(|text| print(&text)),
        _ => Err(io::Error::other(
            "usage: xtask test [--long] [CRATE or TEST PROGRAM...]; xtask results PAGE...; \
             xtask new collector|command|detector|format|kind|view NAME; xtask licences [fleet] \
             TARGET; xtask sbom [fleet] TARGET",
        )),
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "xtask: {error}");
        ExitCode::from(2)
    })
}

fn print(text: &str) -> io::Result<ExitCode> {
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
