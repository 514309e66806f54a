//! Kinds of captures, swept over what may vary in them: what is suspected follows the rule, and
//! nothing of it is an accusation.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Below this a finding is a suspicion (docs/METHOD.md, 11 Confidence).
const ACCUSES: f64 = 0.6;

/// Verdicts of a capture with their devices and how sure they are.
fn verdicts(capture: &str) -> Vec<(String, String, f64)> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(capture.as_bytes()).unwrap();
    let printed = child.wait_with_output().unwrap().stdout;
    let report: Value = serde_json::from_slice(&printed).unwrap();
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_string();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|of| {
            (word(of, "verdict"), word(of, "device"), of["confidence"].as_f64().unwrap_or(0.0))
        })
        .collect()
}

/// Whether a verdict is among them.
fn has(found: &[(String, String, f64)], verdict: &str, device: &str) -> bool {
    found.iter().any(|(known, of, _)| known == verdict && (device == "*" || of == device))
}

/// No disk and no load is accused, and nothing is cleared.
fn accuse_nobody(found: &[(String, String, f64)], capture: &str) {
    let sure = |known: &&(String, String, f64)| {
        known.2 >= ACCUSES && !["insufficient", "report.inconsistent"].contains(&known.0.as_str())
    };
    let wrong = found.iter().find(sure);
    assert!(wrong.is_none(), "{wrong:?}\n{capture}");
}

/// A timing of hdparm, in its own units.
fn timing(what: &str, bytes_per_s: f64) -> String {
    let (mib, seconds) = (1024.0 * 1024.0, 3.0);
    let megabytes = bytes_per_s * seconds / mib;
    format!(
        " Timing {what} reads: {megabytes:.2} MB in  {seconds:.2} seconds = {:.2} MB/sec\n",
        megabytes / seconds
    )
}

#[test]
fn a_slow_stream_is_accused_where_the_host_is_known_to_be_fast() {
    let mut tried = 0;
    for per_s in [2e5, 4.6e5, 7e5, 1.6e6, 3e6, 4.9e6, 5.2e6, 1.2e7, 3.3e7, 1e8, 2.4e8, 5.5e8, 2e9] {
        for memory in [None, Some(9e5), Some(5e7), Some(2e8), Some(1e10)] {
            for other in [None, Some(per_s * 2.0), Some(per_s * 40.0)] {
                let mut capture = "/dev/sdc:\n".to_string();
                memory.iter().for_each(|of| capture += &timing("cached", *of));
                capture += &timing("buffered disk", per_s);
                if let Some(of) = other {
                    capture += "/dev/sdd:\n";
                    capture += &timing("buffered disk", of);
                }
                let found = verdicts(&capture);
                let slow_host = memory.is_some_and(|of| of < 1e8);
                let fast_host = memory.is_some() || other.is_some_and(|of| of > 10.0 * per_s);
                let accused = per_s < 5e6 && !slow_host && fast_host;
                assert_eq!(has(&found, "device.slow", "sdc"), accused, "{found:?}\n{capture}");
                assert_eq!(has(&found, "layer.cpu", "*"), slow_host, "{found:?}\n{capture}");
                let others: Vec<_> =
                    found.into_iter().filter(|(verdict, ..)| verdict != "device.slow").collect();
                accuse_nobody(&others, &capture);
                tried += 1;
            }
        }
    }
    assert!(tried >= 190, "{tried}");
}

#[test]
fn the_stage_that_is_most_of_the_time_is_named() {
    let mut tried = 0;
    // Seconds in each stage, and between two arrivals.
    for before in [1e-6, 4e-4, 8e-2] {
        for queue in [1e-6, 4e-4, 7e-2] {
            for device in [8e-5, 9e-3, 3.8e-1] {
                for apart in [1.6e-4, 2e-3, 1e-1, 1.0] {
                    let total = before + queue + device;
                    let rows = [
                        ("Q2Q", apart),
                        ("Q2G", before),
                        ("I2D", queue),
                        ("D2C", device),
                        ("Q2C", total),
                    ];
                    let mut capture = "==================== All Devices ====================\n\n            \
                                       ALL           MIN           AVG           MAX           N\n\
                                       --------------- ------------- ------------- ------------- -----------\n\n"
                        .to_string();
                    for (stage, mean) in rows {
                        let (least, most) = (mean / 4.0, mean * 9.0);
                        writeln!(capture, "{stage}  {least:.9} {mean:.9} {most:.9} 48211").unwrap();
                    }
                    let found = verdicts(&capture);
                    let has_room = device / apart < 1.0;
                    let in_queue = queue > 0.5 * total && queue > 1e-3 && has_room;
                    let for_one = before > 0.5 * total && before > 1e-3;
                    let on_device = device > 0.5 * total && device > 0.1 && has_room;
                    assert_eq!(has(&found, "cfg.scheduler", "*"), in_queue, "{found:?}\n{capture}");
                    assert_eq!(has(&found, "device.slow", "*"), on_device, "{found:?}\n{capture}");
                    let saturated = has(&found, "load.saturated", "*");
                    assert!(saturated || !for_one, "{found:?}\n{capture}");
                    let accused =
                        found.iter().any(|known| known.2 >= ACCUSES && known.0 != "healthy");
                    assert!(
                        !accused || !(in_queue || for_one || on_device),
                        "{found:?}\n{capture}"
                    );
                    let cleared =
                        found.iter().any(|known| known.0 == "healthy" && known.2 >= ACCUSES);
                    assert!(
                        !cleared || !(in_queue || for_one || on_device),
                        "{found:?}\n{capture}"
                    );
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 100, "{tried}");
}

#[test]
fn two_kinds_of_requests_are_told_where_nothing_lies_between() {
    let (mut tried, mut accused) = (0, 0);
    for fast in 6..13u32 {
        for gap in 1..6u32 {
            for slow_share in [20u64, 200, 700] {
                let mut capture =
                    "disk = 'sdb'\n     usecs               : count     distribution\n".to_string();
                for octave in 5..22u32 {
                    let count = match octave {
                        of if of == fast => 1000 - slow_share,
                        of if of == fast + gap || of == fast + gap + 1 => slow_share / 2,
                        _ => 0,
                    };
                    let (low, high) = (1u64 << octave, (1u64 << (octave + 1)) - 1);
                    writeln!(capture, "{low:>10} -> {high:<10} : {count:<8} |{:40}|", "*").unwrap();
                }
                let found = verdicts(&capture);
                let slow = found.iter().find(|known| known.0 == "device.slow");
                let stands = slow.is_some_and(|known| known.2 >= ACCUSES);
                // Between neighbours nothing parts them; below 32 ms a platter may be well, and a
                // second and more is as often a reset.
                let apart = gap > 1 && fast + gap >= 15 && fast + gap + 2 < 20;
                assert!(apart || !stands, "{found:?}\n{capture}");
                assert!(stands || !apart || slow_share < 700, "{found:?}\n{capture}");
                let other =
                    |known: &&(String, String, f64)| known.2 >= ACCUSES && known.0 != "device.slow";
                let other = found.iter().filter(other).find(|known| known.0 != "healthy");
                assert!(other.is_none(), "{found:?}\n{capture}");
                accused += usize::from(stands);
                tried += 1;
            }
        }
    }
    assert!(tried >= 100 && accused >= 5, "{tried} {accused}");
}
