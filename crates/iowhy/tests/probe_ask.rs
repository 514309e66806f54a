//! `iowhy why` proposes the probe that settles an open question, and `--ask` runs it if it reads.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::folder::Folder;
use crate::probe_rig::{Loop, missing, shell, text};

/// Too few reads of a device for any verdict, as biosnoop prints them.
fn capture(device: &str) -> String {
    let name = device.trim_start_matches("/dev/");
    let mut text =
        "TIME(s)        COMM           PID    DISK    T  SECTOR    BYTES   LAT(ms)\n".to_string();
    for k in 0..6 {
        text += &format!(
            "{k}.000000       dd             100    {name}   R  {}   4096      {}.25\n",
            k * 800,
            3 + k
        );
    }
    text
}

fn why(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .arg("why")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn an_open_question_gets_a_command_and_its_answer() {
    if let Some(what) = missing() {
        println!("skipped: --ask: needs {what}");
        return;
    }
    let folder = Folder::new("ask");
    let device = Loop::new(&folder, "disk", 16 << 20, "");
    let file = folder.file("biosnoop.txt");
    std::fs::write(&file, capture(&device.device)).unwrap();
    let (_, out, reported) = why(&[&file]);
    let command = format!("`iowhy probe calibrate {}`", device.device);
    assert!(out.contains(&command), "{out}{reported}");

    // Nobody is there to ask: nothing is run.
    let (status, _, reported) = why(&[&file, "--ask"]);
    assert_eq!(status, Some(2), "{reported}");
    assert!(
        reported.contains("stdin is not a terminal") && reported.contains(&command),
        "{reported}"
    );

    let before = device.checksum();
    let (_, out, reported) = why(&[&file, "--ask", "--yes"]);
    let (first, rest) = out.split_once("\nprobe calibrate\n").expect(&reported);
    assert!(first.contains(&command), "{first}");
    assert!(rest.contains("S0 of random reads of 4 KiB is"), "{rest}");
    assert!(rest.contains("2 inputs"), "judged together: {rest}");
    assert_eq!(device.checksum(), before);
    let (_, out, reported) = why(&[&file, "--ask", "--yes", "--json"]);
    let report: Value = serde_json::from_str(&out).expect(&reported);
    assert!(report["findings"].is_array(), "{out}");

    // On a terminal it asks, and takes no for an answer.
    let iowhy = env!("CARGO_BIN_EXE_iowhy");
    for (answer, runs) in [("y", true), ("n", false)] {
        let script = format!(
            "(sleep 1; echo {answer}; sleep 4) | script -qec '{iowhy} why {file} --ask' /dev/null"
        );
        let Some(out) = shell(&script) else {
            println!("a part is skipped: a terminal: needs `script`");
            return;
        };
        assert!(out.contains("Run it? [y/N]"), "{out}");
        assert_eq!(out.contains("S0 of random reads"), runs, "{out}");
    }
}

#[test]
fn a_probe_that_writes_or_is_elsewhere_is_only_named() {
    let folder = Folder::new("ask-elsewhere");
    let file = folder.file("biosnoop.txt");
    std::fs::write(&file, capture("/dev/sdzz9")).unwrap();
    let (_, _, reported) = why(&[&file, "--ask", "--yes"]);
    assert!(reported.contains("no `/dev/sdzz9` on this machine"), "{reported}");
    assert!(reported.contains("run it on the machine with that disk: `iowhy probe"), "{reported}");
}
