//! Every command that docs/COMPAT.md offers instead of one of theirs is run.

use std::process::{Command, Output, Stdio};

use crate::rig::{Loop, Running, can_run};

const PAGE: &str = include_str!("../../../docs/COMPAT.md");
/// The disk of the page.
const DISK: &str = "sdb";

/// The commands of the page's tables.
fn commands() -> Vec<&'static str> {
    let cells = PAGE.lines().filter(|line| line.starts_with('|')).flat_map(|row| row.split('|'));
    let commands = cells.filter_map(|cell| cell.trim().strip_prefix("`iowhy ")?.strip_suffix('`'));
    let mut commands: Vec<&str> = commands.collect();
    commands.sort_unstable();
    commands.dedup();
    commands
}

fn run(command: &str, disk: &str) -> Output {
    let words = command.split(' ').map(|word| if word == DISK { disk } else { word });
    let mut iowhy = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    iowhy.args(words).stdin(Stdio::null()).env("TZ", "UTC");
    // So that nothing else on this machine answers for the load.
    if !command.contains(DISK) {
        iowhy.args(["--device", disk]);
    }
    iowhy.output().expect("iowhy")
}

/// Reads of 4 and 8 KiB and synchronous writes at a pace that leaves room for others; several at
/// once, so that there are enough of them where the disk below is slow.
fn load(disk: &Loop) -> Running {
    let how = ["--ioengine=psync", "--rw=randrw", "--bssplit=4k/50:8k/50", "--size=64m"];
    disk.under_load(&[&how[..], &["--rate_iops=60", "--numjobs=8"]].concat())
}

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let commands = commands();
    assert!(commands.len() > 25, "{commands:?}");
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::new(64, None);
    let _load = load(&disk);
    std::thread::scope(|scope| {
        // Each loads programs of its own, but mostly waits: all go side by side.
        for some in commands.chunks(32) {
            let runs: Vec<_> =
                some.iter().map(|command| scope.spawn(|| run(command, &disk.name))).collect();
            for (command, run) in some.iter().zip(runs) {
                let output = run.join().expect("it ran");
                let text = String::from_utf8_lossy(&output.stdout);
                let reported = String::from_utf8_lossy(&output.stderr);
                println!("iowhy {command}: {} bytes", text.len());
                // 1: something was lost, as this kernel now and then hides a completion.
                assert!(matches!(output.status.code(), Some(0 | 1)), "iowhy {command}: {reported}");
                assert!(tells(command, &text), "iowhy {command}: {text}");
            }
        }
    });
}

/// Whether a line begins with the time of day, within the last five minutes.
fn is_of_now(line: &str) -> bool {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("after 1970").as_secs_f64() % 86_400.0;
    let word = line.split(' ').next().unwrap_or_default();
    let parts: Vec<f64> = word.split(':').map(|part| part.parse().unwrap_or(-1e9)).collect();
    let [hours, minutes, seconds] = parts[..] else { return false };
    (now - hours * 3600.0 - minutes * 60.0 - seconds).rem_euclid(86_400.0) < 300.0
}

/// Whether the output contains what only this command gives.
fn tells(command: &str, text: &str) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    let lines = || text.lines().filter(|line| line.contains(" fio "));
    match command {
        _ if command.contains("--over 1ms") => has(&["LAT(ms)"]),
        _ if command.contains("--json") && command.starts_with("hist") => has(&["iowhy.hist/1"]),
        _ if command.contains("--json") => has(&["iowhy.event/1", "\"op\":\"read\""]),
        _ if command.contains("-P") => {
            lines().count() > 100
                && lines().all(|line| {
                    line.contains(" R ") || line.contains(" S ") || line.contains(" - ")
                })
        }
        _ if command.contains(" -t") => {
            has(&["TIMESTAMP"]) && lines().count() > 100 && lines().all(is_of_now)
        }
        "snoop 1 1" => has(&["min(ms)", " read ", " write "]),
        _ if command.starts_with("snoop") => lines().count() > 100 && has(&["QUE(ms)"]),
        _ if command.contains("--records") => text.matches("<begin record>").count() == 3,
        _ if command.contains("--by none") => has(&["all devices  D2C"]),
        _ if command.contains("device,flags") => has(&[", R", ", WS, "]),
        _ if command.contains("--by flags") => has(&["all devices", ", R"]),
        _ if command.contains("process,size") => has(&["fio, 4 KiB to below 8 KiB", "fio, 8 KiB"]),
        _ if command.contains("--before") => has(&["B2Q"]),
        _ if command.contains("stage queue") => has(&["Q2D"]),
        _ if command.contains(" -T") => text.matches(" UTC").count() == 2,
        _ if command.contains("no-sync") => has(&["without the flag sync"]),
        _ => has(&["mean", "(exact)", "I/Os (block-trace)"]),
    }
}
