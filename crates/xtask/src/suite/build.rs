//! Which test programs there are: cargo builds them and says where they lie.

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
    /// Where it lies.
    pub path: PathBuf,
    /// The folder it runs in: the crate's.
    pub folder: PathBuf,
}

impl Program {
    /// How it is called in the report: `read/samples`.
    pub fn title(&self) -> String {
        format!("{}/{}", self.package, self.name)
    }

    /// Whether crate or program contains that text.
    pub fn is_called(&self, text: &str) -> bool {
        self.title().contains(text)
    }
}

/// Cargo in this workspace.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(arguments).stdin(Stdio::null());
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    cargo
}

/// Builds all test programs and the binaries they start; `None` if they do not build, which cargo has
/// said then.
///
/// # Errors
/// If cargo cannot be started.
pub fn programs() -> io::Result<Option<Vec<Program>>> {
    let arguments = ["test", "--quiet", "--locked", "--workspace", "--no-run"];
    let mut cargo = cargo(&arguments);
    cargo.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let output = cargo.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success().then(|| text.lines().filter_map(program).collect()))
}

/// The test program that a line of cargo's speaks of.
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_taken() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/x/crates/read/Cargo.toml",
            "target":{"name":"samples"},"profile":{"test":true},"executable":"/t/samples-1"}"#;
        let known = program(&line.replace('\n', "")).unwrap();
        assert_eq!((known.title().as_str(), known.is_called("read")), ("read/samples", true));
        assert!(program(&line.replace('\n', "").replace("true", "false")).is_none());
        assert!(program("{\"reason\":\"build-finished\"}").is_none());
    }
}
