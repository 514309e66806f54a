//! The programs of this machine and of this workspace, built to run without libraries.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs and the packages that bring them.
const NEEDED: [(&str, &str); 4] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("modprobe", "kmod"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// The one target this is for; Debian's name of it is `amd64`.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Installs what is missing, if this is root.
///
/// # Errors
/// If something is missing and cannot be installed.
pub(super) fn install() -> io::Result<()> {
    let missing = NEEDED.iter().filter(|(program, _)| !is_here(program));
    let packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        let what = packages.join(" ");
        return Err(io::Error::other(format!(
            "it needs packages `{what}`, or root to install them"
        )));
    }
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "--no-install-recommends"]).args(&packages);
    run(install.env("DEBIAN_FRONTEND", "noninteractive")).map(drop)
}

/// Builds `iowhy` and `rig` so that they run in an initramfs; returns the folder they are in.
///
/// # Errors
/// If they do not compile.
pub(super) fn build(cache: &Path) -> io::Result<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = cache.join("target");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--target", TARGET, "-p", "iowhy", "-p", "iowhy-rig"]);
    cargo.current_dir(workspace).env("CARGO_TARGET_DIR", &target);
    // The C library is linked in. Instructions are time in there, so they are made fewer.
    cargo.env("RUSTFLAGS", "-C target-feature=+crt-static");
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "0");
    // The variables that cargo sets for a program would only make this build a different one.
    cargo.env_remove("CARGO_ENCODED_RUSTFLAGS");
    run(&mut cargo)?;
    Ok(target.join(TARGET).join("debug"))
}

/// Runs a program to its end; what it printed.
///
/// # Errors
/// If it cannot be started or fails; then with its first error and its last line.
pub(super) fn run(command: &mut Command) -> io::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let with_name = |error: io::Error| io::Error::new(error.kind(), format!("`{name}`: {error}"));
    let output = command.stdin(Stdio::null()).output().map_err(with_name)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = message.lines().collect();
    // What went wrong first, and where: a compiler's last lines only show that it gave up.
    let first = lines.iter().position(|line| line.starts_with("error")).unwrap_or(0);
    let reason = lines.iter().skip(first).take(2).chain(lines.last());
    let reason: Vec<&str> = reason.map(|line| line.trim()).collect();
    Err(io::Error::other(format!("`{name}` failed: {}", reason.join(" | "))))
}

fn is_here(program: &str) -> bool {
    let version = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok()
}
