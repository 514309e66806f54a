//! Compiles the programs of `bpf/`, so that the shipped binary needs no compiler.

// cargo reads a build script's output, and shows its errors.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env;
use std::fs;
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
    let bytes = fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))?;
    // Most of an object is tables of source lines, which pack well; it is unpacked to be loaded.
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&bytes, 9);
    fs::write(out.join(format!("{name}.bpf.z")), packed).map_err(|error| error.to_string())?;
    let names = defined(&bytes).ok_or_else(|| format!("{} has no symbols", object.display()))?;
    fs::write(out.join(format!("{name}.names")), names).map_err(|error| error.to_string())
}

/// What a 64-bit object in the byte order of this machine defines: `map devices`, `global rows`,
/// `program issue`, a line each (elf(5)).
fn defined(object: &[u8]) -> Option<String> {
    const SYMBOLS: u64 = 2;
    const GLOBAL: u8 = 1;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let mut wide = [0; 8];
        wide[..bytes].copy_from_slice(object.get(at..at.checked_add(bytes)?)?);
        Some(u64::from_le_bytes(wide))
    };
    let text = |at: usize| -> Option<&str> {
        std::str::from_utf8(object.get(at..)?.split(|byte| *byte == 0).next()?).ok()
    };
    let (first, size, count) = (number(40, 8)?, number(58, 2)?, number(60, 2)?);
    let section = |place: u64| (first + place * size) as usize;
    let data = |place: u64| Some(number(section(place) + 24, 8)? as usize);
    let names = data(number(62, 2)?)?;
    let name_of = |place: u64| text(names + number(section(place), 4)? as usize);
    let table = (0..count).find(|place| number(section(*place) + 4, 4) == Some(SYMBOLS))?;
    let (symbols, length) = (data(table)?, number(section(table) + 32, 8)? as usize);
    let strings = data(number(section(table) + 40, 4)?)?;
    let mut lines: Vec<String> = (0..length / 24)
        .map(|place| symbols + 24 * place)
        .filter(|at| object.get(at + 4).is_some_and(|info| info >> 4 == GLOBAL))
        .filter_map(|at| {
            let place = number(at + 6, 2)?;
            let kind = match name_of(place).filter(|_| (1..count).contains(&place))? {
                ".maps" => "map",
                "license" => return None,
                section if section.starts_with('.') => "global",
                _ => "program",
            };
            Some(format!("{kind} {}\n", text(strings + number(at, 4)? as usize)?))
        })
        .collect();
    lines.sort();
    (!lines.is_empty()).then(|| lines.concat())
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
