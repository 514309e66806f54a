//! The tracer and the judge on Debian's kernels, in small machines of virtual time.
//!
//! A quick look at the newest kernel is part of every test run, where its package and qemu are here
//! already; `IOWHY_KERNELS=0` leaves it out. All kernels and all cases need some minutes, a mirror
//! of Debian and root, so they run only with `IOWHY_KERNELS=1`.
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

fn asked() -> String {
    std::env::var("IOWHY_KERNELS").unwrap_or_default()
}

/// Runs `lab kernels` and fails as it fails.
fn kernels(arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_lab")).arg("kernels").args(arguments).output();
    let output = output.expect("lab starts");
    let told = String::from_utf8_lossy(&output.stderr);
    println!("{}{told}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{told}");
}

#[test]
fn the_newest_kernel_is_traced_and_a_delay_above_a_disk_is_not_blamed_on_it() {
    let cached = std::env::home_dir()
        .and_then(|home| std::fs::read_dir(home.join(".cache/iowhy/kernels/roots")).ok())
        .is_some_and(|mut roots| {
            roots
                .any(|root| root.is_ok_and(|it| it.file_name().to_string_lossy().contains("linux")))
        });
    let qemu = Path::new("/usr/bin/qemu-system-x86_64").exists();
    if asked() == "0" || asked() == "1" {
        println!("skipped: a quick look at another kernel is not asked for (IOWHY_KERNELS)");
    } else if !cached || !qemu {
        println!("skipped: another kernel needs qemu and a package: `lab kernels` fetches both");
    } else {
        kernels(&["--fast", "newest"]);
    }
}

#[test]
fn counted_and_lost_are_what_each_kernel_counts_and_verdicts_hold() {
    if asked() == "1" {
        kernels(&[]);
        kernels(&["--drives", "newest"]);
    } else {
        println!("skipped: all kernels need IOWHY_KERNELS=1, a Debian mirror and some minutes");
    }
}
