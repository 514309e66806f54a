//! `./test` and `./run` install nothing unless `--setup` is given.
#![allow(clippy::unwrap_used, reason = "a test may")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A folder with an `apt-get` that only writes down its arguments.
struct Packages(PathBuf);

impl Packages {
    fn new(name: &str) -> Packages {
        let folder =
            std::env::temp_dir().join(format!("iowhy-setup-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (program, text) in
            [("apt-get", "echo \"$@\" >>\"$(dirname \"$0\")/calls\""), ("id", "echo 0")]
        {
            let path = folder.join(program);
            std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        Packages(folder)
    }

    /// What a script that uses `.ci/needs.sh` prints, and what it installed.
    fn run(&self, script: &str) -> (String, String) {
        let path = format!("{}:{}", self.0.display(), std::env::var("PATH").unwrap());
        let text = format!("set -uo pipefail\n. {ROOT}/.ci/needs.sh\n{script}\n");
        let output = Command::new("bash")
            .args(["-c", &text])
            .env("PATH", path)
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .output()
            .unwrap();
        let calls = std::fs::read_to_string(self.0.join("calls")).unwrap_or_default();
        (String::from_utf8(output.stderr).unwrap(), calls)
    }
}

impl Drop for Packages {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const WANTS: &str = "want bash bash\nwant no-such-tool tools-1\nwant_files no-such-server server\n\
                     want_tool no-such-subcommand\nname_missing 'tests are skipped' './test --setup'";

#[test]
fn without_setup_what_is_missing_is_named_and_nothing_is_installed() {
    let packages = Packages::new("named");
    let (said, calls) = packages.run(WANTS);
    let expected = "iowhy: missing: no-such-tool, no-such-server, no-such-subcommand; tests are \
                    skipped; ./test --setup installs them (as root)\n";
    assert_eq!((said.as_str(), calls.as_str()), (expected, ""));
    let (said, calls) = packages.run("must_have no-such-compiler compiler-1; echo goes on >&2");
    assert!(said.contains("cannot build: `no-such-compiler` is missing"), "{said}");
    assert!(said.contains("./test --setup") && !said.contains("goes on"), "{said}");
    assert_eq!(calls, "");
}

#[test]
fn with_setup_it_is_installed() {
    let packages = Packages::new("installed");
    let (_, calls) = packages.run("setup=yes\nwant no-such-tool tools-1 tools-2");
    let installs: Vec<&str> = calls.lines().filter(|line| line.starts_with("install")).collect();
    assert_eq!(installs, ["install -y -qq --no-install-recommends tools-1 tools-2"]);
}

#[test]
fn ci_passes_setup() {
    let ci = std::fs::read_to_string(format!("{ROOT}/.ci/run")).unwrap();
    assert!(ci.contains("/../test\" --setup"), "{ci}");
    let test = std::fs::read_to_string(format!("{ROOT}/test")).unwrap();
    let installs = |line: &&str| line.trim_start().starts_with("need ");
    assert_eq!(test.lines().find(installs), None, "`./test` installs without being asked");
}
