//! Passes what cargo knows about the build to `iowhy --version --verbose`.

// cargo reads a build script's output.
#![allow(clippy::print_stdout)]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=IOWHY_COMMIT");
    for name in ["TARGET", "PROFILE", "OPT_LEVEL"] {
        println!("cargo:rustc-env=IOWHY_{name}={}", env::var(name).unwrap_or_default());
    }
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(compiler).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo:rustc-env=IOWHY_RUSTC={}", version.unwrap_or_default().trim());
}
