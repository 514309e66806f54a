//! What the packages depend on: licences, sources, duplicates, and advisories where a database is
//! at hand.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test may")]

use std::path::Path;
use std::process::{Command, Stdio};

#[test]
#[ignore = "long: reads every dependency"]
fn cargo_deny_has_no_complaint() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).current_dir(&root).stdin(Stdio::null()).output()
    };
    let deny = |manifest: &str, checks: &[&str]| {
        let how = ["--locked", "--offline", "--manifest-path", manifest, "check"];
        // Each workspace has its own need of the one list of licences.
        let quiet = ["--hide-inclusion-graph", "--allow", "license-not-encountered"];
        run("cargo-deny", &[&how[..], &quiet, checks].concat())
    };
    // Every workspace has a lock file.
    let listed = run("git", &["ls-files", "*Cargo.lock"]).expect("git lists files");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let manifests: Vec<String> =
        listed.lines().map(|file| file.replace("Cargo.lock", "Cargo.toml")).collect();
    assert!(manifests.iter().any(|manifest| manifest == "Cargo.toml"), "{listed}");
    for manifest in &manifests {
        let fetched = run("cargo", &["fetch", "--locked", "--manifest-path", manifest]);
        let fetched = fetched.expect("cargo runs");
        assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
        match deny(manifest, &["licenses", "sources", "bans"]) {
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{manifest}: {said}");
            }
            Err(error) => {
                println!(
                    "skipped: needs `cargo-deny` (cargo install --locked cargo-deny): {error}"
                );
                return;
            }
        }
    }
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let database = home.expect("a home").join("advisory-dbs");
    if database.is_dir() {
        for manifest in &manifests {
            let output = deny(manifest, &["advisories"]).expect("it ran before");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    } else {
        println!("left out: advisories need a database (`cargo deny fetch db`)");
    }
}
