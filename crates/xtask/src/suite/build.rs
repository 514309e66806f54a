//! Which test programs there are: cargo builds them and prints their paths.
//!
//! A crate links its tests into one program, [`ALL`], with a module for each file. Here each module
//! is a program again, with its own folder, time and process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A test program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The folder name of its crate.
    pub package: String,
    /// Its own name: `samples`, or the crate's for the tests inside its code.
    pub name: String,
    /// Its path.
    pub path: PathBuf,
    /// The folder it runs in: the crate's.
    pub folder: PathBuf,
    /// The tests that it runs; all if empty.
    pub tests: Vec<String>,
}

/// The program with the tests of a crate.
const ALL: &str = "all";

impl Program {
    /// Its name in the report: `read/samples`.
    pub fn title(&self) -> String {
        format!("{}/{}", self.package, self.name)
    }

    /// Whether crate or program contains that text.
    pub fn is_called(&self, text: &str) -> bool {
        self.title().contains(text)
    }

    /// Its modules, if it is one with all tests of a crate.
    fn modules(self) -> io::Result<Vec<Program>> {
        if self.name != ALL {
            return Ok(vec![self]);
        }
        let listed = Command::new(&self.path).args(["--list", "--format", "terse"]).output()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        Ok(self.split(&listed))
    }

    /// The same, from its list of tests.
    fn split(self, listed: &str) -> Vec<Program> {
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for test in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
            let module = test.split_once("::").map_or(ALL, |(module, _)| module);
            modules.entry(module).or_default().push(test.to_string());
        }
        let one = |(name, tests)| Program { name: str::to_string(name), tests, ..self.clone() };
        modules.into_iter().map(one).collect()
    }
}

/// Cargo in this workspace.
///
/// `cargo run` passes a program the variables of its package (`CARGO_MANIFEST_DIR`,
/// `CARGO_PKG_NAME` ...). The build script of `ring` runs again when these change: with them each
/// clone would build whatever needs `ring` anew.
pub(super) fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).stdin(Stdio::null());
    remove_package_variables(&mut cargo, std::env::vars_os().map(|(name, _)| name));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    cargo
}

/// Removes the variables that cargo sets for a package: `CARGO_PKG_*`, `CARGO_MANIFEST_*`.
fn remove_package_variables(cargo: &mut Command, names: impl Iterator<Item = OsString>) {
    for name in names.filter(|name| name.to_str().is_some_and(is_of_a_package)) {
        cargo.env_remove(name);
    }
}

/// Whether that variable reports the package of a program.
fn is_of_a_package(variable: &str) -> bool {
    variable.starts_with("CARGO_MANIFEST_") || variable.starts_with("CARGO_PKG_")
}

/// The workspace of the program that reads a fleet's files: it has its own lock file and build
/// folder.
const FLEET: &str = "fleet";
/// The least Rust that its SQL engine is built with (`rust-version` of `fleet/Cargo.toml`).
const FLEET_RUST: (u32, u32) = (1, 94);

/// Cargo in the workspace of the fleet's program; `Err` with what it needs if this is not there.
///
/// # Errors
/// If the compiler cannot be started.
pub(super) fn fleet(arguments: &[&str]) -> io::Result<Result<Command, String>> {
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let told = Command::new(compiler).arg("--version").output()?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let mut numbers = told.split([' ', '.']).skip(1).map(|word| word.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < FLEET_RUST {
        return Ok(Err(format!("Rust {}.{} or newer", FLEET_RUST.0, FLEET_RUST.1)));
    }
    let mut cargo = cargo(arguments);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    cargo.current_dir(root.join(FLEET)).env("CARGO_TARGET_DIR", objects().join(FLEET));
    Ok(Ok(cargo))
}

/// The same command as one that yields to others: live tests run beside it.
pub(super) fn yielding(cargo: &Command) -> Command {
    let mut nice = Command::new("nice");
    nice.args(["-n", "10"]).arg(cargo.get_program()).args(cargo.get_args());
    for (name, value) in cargo.get_envs() {
        match value {
            Some(value) => nice.env(name, value),
            None => nice.env_remove(name),
        };
    }
    if let Some(folder) = cargo.get_current_dir() {
        nice.current_dir(folder);
    }
    nice.env("CARGO_BUILD_JOBS", "1").stdin(Stdio::null());
    nice
}

/// Cargo's target folder.
pub(super) fn objects() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from)
}

/// Builds all test programs and the binaries they start; `None` if they do not build; cargo has
/// printed why.
///
/// # Errors
/// If cargo cannot be started.
pub(super) fn programs() -> io::Result<Option<Vec<Program>>> {
    built(cargo(&["test", "--quiet", "--locked", "--workspace", "--no-run"]))
}

/// The same of the fleet's program.
///
/// # Errors
/// If cargo cannot be started.
pub(super) fn fleet_programs() -> io::Result<Result<Option<Vec<Program>>, String>> {
    Ok(match fleet(&["test", "--quiet", "--locked", "--no-run"])? {
        Ok(cargo) => Ok(built(cargo)?),
        Err(missing) => Err(missing),
    })
}

fn built(mut cargo: Command) -> io::Result<Option<Vec<Program>>> {
    cargo.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = cargo.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Ok(None);
    }
    let modules = text.lines().filter_map(program).map(Program::modules);
    Ok(Some(modules.collect::<io::Result<Vec<_>>>()?.concat()))
}

/// The test program in a line of cargo's output.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message["executable"].as_str()?;
    if message["profile"]["test"] != true {
        return None;
    }
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    Some(Program {
        package: folder.file_name()?.to_str()?.to_string(),
        name: message["target"]["name"].as_str()?.to_string(),
        path: PathBuf::from(path),
        folder,
        tests: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_does_not_depend_on_where_the_clone_lies() {
        let mut cargo = Command::new("cargo");
        let names = ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME", "CARGO_TARGET_DIR", "PATH"];
        remove_package_variables(&mut cargo, names.into_iter().map(OsString::from));
        let removed: Vec<_> = cargo.get_envs().map(|(name, _)| name.to_os_string()).collect();
        assert_eq!(removed, ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"]);
        // As one that yields it is the same command.
        cargo.arg("fmt").current_dir("/tmp");
        let nice = yielding(&cargo);
        assert!(nice.get_args().eq(["-n", "10", "cargo", "fmt"]), "{nice:?}");
        assert_eq!(nice.get_current_dir(), Some(Path::new("/tmp")));
        let kept = nice.get_envs().filter(|(_, value)| value.is_none());
        assert_eq!(kept.count(), removed.len());
    }

    #[test]
    fn only_test_programs_are_taken() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/x/crates/read/Cargo.toml",
            "target":{"name":"samples"},"profile":{"test":true},"executable":"/t/samples-1"}"#;
        let known = program(&line.replace('\n', "")).unwrap();
        assert_eq!((known.title().as_str(), known.is_called("read")), ("read/samples", true));
        assert!(program(&line.replace('\n', "").replace("true", "false")).is_none());
        assert!(program("{\"reason\":\"build-finished\"}").is_none());
        assert_eq!(
            known.split("faults::a: test\nfaults::deep::b: test\nloads::a: test\n").len(),
            2
        );
    }
}
