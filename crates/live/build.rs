//! Compiles the programs of `bpf/`, so that the shipped binary needs no compiler.

// cargo reads a build script's output, and shows its errors.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Versions of clang looked for under their own name, newest first; 14 is the oldest tried.
const VERSIONS: std::ops::RangeInclusive<u32> = 14..=23;

/// The objects, one per collector.
const OBJECTS: [&str; 5] = ["block_trace", "dirty_pauses", "syscalls", "uprobe", "waits"];
/// Their other source files.
const HEADERS: [&str; 11] = [
    "callers.h",
    "edges.h",
    "finish.h",
    "kernel.h",
    "kernel_times.h",
    "origin.h",
    "process.h",
    "slots.h",
    "spans.h",
    "subject.h",
    "tables.h",
];

fn main() -> ExitCode {
    for name in OBJECTS {
        println!("cargo:rerun-if-changed=bpf/{name}.bpf.c");
    }
    for file in HEADERS {
        println!("cargo:rerun-if-changed=bpf/{file}");
    }
    println!("cargo:rerun-if-env-changed=CLANG");
    println!("cargo:rerun-if-env-changed=LLVM_STRIP");
    match OBJECTS.into_iter().try_for_each(compile) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("iowhy: cannot compile the BPF programs: {reason}");
            eprintln!();
            eprintln!("hint: apt-get install clang llvm, or set `CLANG` to a clang of version 14");
            eprintln!("or later that knows `-target bpf`");
            ExitCode::FAILURE
        }
    }
}

fn compile(name: &str) -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo gave no `OUT_DIR`")?);
    let object = out.join(format!("{name}.bpf.o"));
    let clang = find("clang").ok_or("`clang` is missing")?;
    let compiled = Command::new(&clang)
        .args([
            "-target",
            "bpf",
            "-mcpu=v3",
            "-O2",
            "-g",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-nostdinc",
        ])
        .args(own_paths())
        .args(machine())
        .arg("-c")
        .arg(format!("bpf/{name}.bpf.c"))
        .arg("-o")
        .arg(&object)
        .output()
        .map_err(|error| format!("`{clang}` did not run: {error}"))?;
    if !compiled.status.success() {
        return Err(format!("`{clang}` said:\n{}", String::from_utf8_lossy(&compiled.stderr)));
    }
    // Strips debug sections and keeps the kernel types (BTF). Without the tool the object is only
    // larger.
    if let Some(strip) = find("llvm-strip") {
        let _ = Command::new(strip).arg("-g").arg(&object).status();
    }
    Ok(())
}

/// The target architecture: the arguments of a function are in its registers.
fn machine() -> Option<String> {
    let machine = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    Some(format!("-DFOR_{}", machine.to_uppercase()))
}

/// No path of the build machine goes into the object.
fn own_paths() -> Vec<String> {
    let named = env::var("CARGO_MANIFEST_DIR").ok();
    let real = env::current_dir().ok().map(|folder| folder.display().to_string());
    let both = named.into_iter().chain(real);
    both.map(|folder| format!("-ffile-prefix-map={folder}=.")).collect()
}

/// The tool by its plain name, by the name in `CLANG`, or by its newest versioned name.
fn find(tool: &str) -> Option<String> {
    let named = env::var(tool.to_uppercase().replace('-', "_")).ok();
    let versioned = VERSIONS.rev().map(|version| format!("{tool}-{version}"));
    named.into_iter().chain([tool.to_string()]).chain(versioned).find(|name| {
        Command::new(name).arg("--version").output().is_ok_and(|run| run.status.success())
    })
}
