//! Names of processes, devices, files, control groups and models that command terminals, turn lines
//! round or are formulas: none of them leaves any command, on stdout, on stderr or in a file.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::folder::Folder;

/// A title, a cleared screen, C1, a turn of direction, DEL, a bell, a carriage return, a zero byte.
const HOSTILE: [&str; 8] = [
    "\u{1b}]0;owned\u{7}x",
    "\u{1b}[2J\u{1b}[8mx",
    "\u{9b}31mx\u{9d}0;y\u{9c}",
    "x\u{202e}gnp.exe\u{2066}y",
    "\u{7f}\u{7f}x",
    "x\ry\u{8}z",
    "=cmd|'/C calc'!A0",
    "x\u{0}y\u{feff}",
];

/// Single I/Os of hostile processes on hostile devices, in hostile groups and files.
fn events() -> String {
    let source = json!({
        "schema": "iowhy.source/1", "format": "block-trace", "input": format!("live{}", HOSTILE[0]),
        "level": "D", "sampling": "traced", "sees_queue": true,
    });
    let mut text = format!("{source}\n");
    for k in 0..400u64 {
        let name = HOSTILE[k as usize % HOSTILE.len()];
        let at = k * 1_000_000;
        let event = json!({
            "schema": "iowhy.event/1", "device": format!("sd{name}"),
            "op": if k % 3 == 0 { "write" } else { "read" }, "flags": "R", "queued_ns": at,
            "issued_ns": at + 1000, "completed_ns": at + 900_000 + k % 7 * 100_000, "sector": k * 8,
            "bytes": 4096, "pid": k + 1, "comm": name, "depth": 1, "cgroup": format!("/{name}"),
            "file": format!("/var/{name}"), "error": null, "layer": "block",
        });
        text += &format!("{event}\n");
    }
    text
}

/// Averages, the kernel's log, SMART: each with a hostile name where the format has one.
fn others(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut put = |name: &str, text: String| {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        files.push(file.display().to_string());
    };
    put("events.json", events());
    for (place, name) in HOSTILE.iter().enumerate() {
        let word = name.replace([' ', '\t'], "_");
        put(
            &format!("biosnoop-{place}"),
            (0..100)
                .fold("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n".to_string(), |text, k| {
                    text + &format!("{}.5 {word} {k} sd{word} R {k} 4096 {k}.25\n", k * 2)
                }),
        );
        put(
            &format!("iostat-{place}"),
            (0..5).fold(String::new(), |text, _| {
                text + "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
                    + &format!("sd{word} 100.0 400.0 9.5 5.0 20.0 3.0 1.0 99.0\n\n")
            }),
        );
        put(
            &format!("kernel-log-{place}"),
            format!(
                "[  100.000000] blk_update_request: I/O error, dev sd{word}, sector 8 op 0x0:(READ) \
                 flags 0x0 phys_seg 1 prio class 0\n"
            ),
        );
        let smart = json!({
            "json_format_version": [1, 0], "smartctl": { "version": [7, 3] },
            "device": { "name": format!("/dev/sd{word}"), "type": "sat" },
            "model_name": name, "serial_number": name, "firmware_version": name,
            "smart_status": { "passed": false },
        });
        put(&format!("smart-{place}.json"), format!("{smart:#}\n"));
    }
    files
}

fn iowhy(words: &[&str], colours: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    if colours {
        command.env("CLICOLOR_FORCE", "1").env("COLORTERM", "truecolor").env("LANG", "C.UTF-8");
    }
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

/// What in these bytes a terminal, an editor or a spreadsheet would obey; colours aside, if they
/// were asked for.
fn obeyed(bytes: &[u8], colours: bool) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut rest = text.as_ref();
    while let Some(at) = rest.find(|c: char| {
        c.is_control() && c != '\n' && c != '\t'
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    }) {
        let found = &rest[at..];
        let colour = found.strip_prefix("\u{1b}[").and_then(|after| {
            let end = after.find(|c: char| !c.is_ascii_digit() && c != ';')?;
            after[end..].strip_prefix('m').filter(|_| &after[..end] != "8")
        });
        match colour {
            Some(after) if colours => rest = after,
            _ => return Some(found.chars().take(20).collect::<String>().escape_debug().to_string()),
        }
    }
    None
}

#[test]
fn no_command_passes_on_what_a_name_commands() {
    let folder = Folder::new("hostile");
    let files = others(&folder.0);
    let twice = format!("{}\u{1b}]0;owned\u{7}", files[0]);
    std::fs::copy(&files[0], &twice).unwrap();
    let mut runs = 0;
    let mut check = |words: &[&str], colours: bool| {
        runs += 1;
        let output = iowhy(words, colours);
        for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let found = obeyed(bytes, colours);
            assert_eq!(found, None, "{words:?} {stream}");
        }
        output
    };
    for file in files.iter().chain([&twice]) {
        for colours in [false, true] {
            for words in [
                &["why"][..],
                &["why", "-v"],
                &["stat"],
                &["hist"],
                &["snoop"],
                &["map"],
                &["map", "--csv"],
            ] {
                check(&[words, &[file.as_str()]].concat(), colours);
            }
        }
        for command in ["why", "stat", "hist", "snoop", "map"] {
            let output = check(&[command, "--json", file], false);
            // Nothing is lost from it either: the names are there as escapes.
            for line in String::from_utf8_lossy(&output.stdout).lines().take(50) {
                if command != "why" {
                    serde_json::from_str::<Value>(line)
                        .unwrap_or_else(|why| panic!("{why}: {line}"));
                }
            }
        }
        check(&["compare", file, &files[1]], false);
        check(&["compare", "--json", file, &files[1]], false);
        check(&["report", file, "-o", "-"], false);
        check(&["map", file, "--svg", "-"], false);
        for target in
            ["csv", "json", "biosnoop", "blkparse", "pylatencymap", "fio-hist-log", "fio-iolog"]
        {
            check(&["convert", file, "-", "--to", target], false);
        }
    }
    // Names that the command line itself speaks of.
    for name in HOSTILE.iter().filter(|name| !name.contains('\0')) {
        for words in [
            &["why", name][..],
            &["explain", name],
            &["hist", "--device", name, &files[0]],
            &["hist", name, name, name],
            &["stat", &format!("--{name}")],
            &["record", "-o", name, "--device", name],
            &["probe", name, name],
            &["probe", "read-latency", name],
            &["uprobe", name, name],
            &["syscalls", "--call", name, "--for", "10ms", "--comm", name],
            &["waits", "--for", "10ms", "--comm", name],
            &["compare", name, name],
            &["convert", name, name, "--to", "csv"],
        ] {
            check(words, false);
        }
    }
    println!("{runs} runs");
}

#[test]
fn no_cell_of_a_spreadsheet_is_a_formula() {
    let folder = Folder::new("formulas");
    let file = folder.0.join("events.json");
    let text: String = ["=1+1", "+1", "-1", "@SUM(A1)", "plain"]
        .iter()
        .map(|name| {
            let event = json!({
                "schema": "iowhy.event/1", "device": name, "op": "read", "flags": "R",
                "issued_ns": 1000, "completed_ns": 2000, "bytes": 512, "comm": name,
                "layer": "block",
            });
            format!("{event}\n")
        })
        .collect();
    std::fs::write(&file, text).unwrap();
    let output = iowhy(&["convert", file.to_str().unwrap(), "-", "--to", "csv"], false);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 6, "{text}");
    for cell in text.lines().flat_map(|line| line.split(',')) {
        let cell = cell.trim_start_matches('"');
        let number = cell.parse::<f64>().is_ok();
        assert!(number || !cell.starts_with(['=', '+', '-', '@']), "{cell} in {text}");
    }
    assert!(text.contains("'=1+1") && text.contains(",plain,"), "{text}");
}

#[test]
fn a_full_disk_is_reported_also_by_help_and_version() {
    for words in [&["--help"][..], &["--version"], &["why", "--help"], &["explain"], &["doctor"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(words)
            .stdin(Stdio::null())
            .stdout(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {reported}");
        let full = "cannot write to standard output: No space left";
        assert!(reported.contains(full), "{words:?}: {reported}");
    }
}
