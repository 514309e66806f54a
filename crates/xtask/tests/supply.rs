//! What the packages depend on: licences, sources, duplicates, and advisories where a database is at hand.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test may")]

use std::path::Path;
use std::process::{Command, Stdio};

#[test]
#[ignore = "long: reads every dependency"]
fn cargo_deny_has_no_complaint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let deny = |checks: &[&str]| {
        Command::new("cargo-deny")
            .args(["--locked", "--offline", "check", "--hide-inclusion-graph"])
            .args(checks)
            .current_dir(&root)
            .stdin(Stdio::null())
            .output()
    };
    let output = match deny(&["licenses", "sources", "bans"]) {
        Ok(output) => output,
        Err(error) => {
            println!("skipped: needs `cargo-deny` (cargo install --locked cargo-deny): {error}");
            return;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let database = home.expect("a home").join("advisory-dbs");
    if database.is_dir() {
        let output = deny(&["advisories"]).expect("it ran before");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    } else {
        println!("left out: advisories need a database (`cargo deny fetch db`)");
    }
}
