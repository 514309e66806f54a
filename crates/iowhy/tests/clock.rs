//! One clock: every command tells times in the zone of `TZ`, with the offset, and in UTC with
//! `--utc`. Newfoundland is half an hour off and sets its clocks ahead at two in the morning of 8
//! March 2026.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::folder::Folder;

/// What a command prints in a time zone, with its stderr.
fn reported(zone: &str, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    let output = command.env("TZ", zone).args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() < Some(2), "{words:?}: {reported}");
    text + &reported
}

/// The same in St John's, and there in UTC.
fn both(words: &[&str]) -> [String; 2] {
    let mut utc = words.to_vec();
    utc.push("--utc");
    [reported("America/St_Johns", words), reported("America/St_Johns", &utc)]
}

/// A store with one incident, from ten seconds before the clocks are set ahead to ten seconds
/// after.
fn store(folder: &Folder) {
    for name in ["segments", "incidents"] {
        std::fs::create_dir_all(folder.0.join(name)).unwrap();
    }
    std::fs::write(folder.0.join("iowhy-store"), "iowhy flight recorder, store 1\n").unwrap();
    let second = 1_000_000_000i64;
    let began = 1_772_947_790 * second;
    let incident = json!({
        "schema": "iowhy.incident/1", "id": "20260308T052955Z-sdb", "at_ns": began + 5 * second,
        "at": "2026-03-08 06:29:55 +01:00", "began_ns": began, "until_ns": began + 20 * second,
        "length_s": 20.0, "over": true, "device": "sdb", "verdict": "device.retry",
        "alarms": [{"at": "2026-03-08 06:29:55 +01:00", "at_ns": began + 5 * second}],
        "confidence": 0.9, "lost_s": 12.5, "report": {"schema": "iowhy.report/1"},
    });
    let file = folder.0.join("incidents/20260308T052955Z-sdb.json");
    std::fs::write(file, incident.to_string()).unwrap();
}

#[test]
fn incidents_are_listed_and_asked_for_in_local_time() {
    let folder = Folder::new("store");
    store(&folder);
    let [local, utc] = both(&["incidents", "--store", folder.0.to_str().unwrap()]);
    assert!(local.contains("2026-03-08 01:59:50 -03:30  03:00:10    20 s  sdb"), "{local}");
    assert!(utc.contains("2026-03-08 05:29:50 UTC  05:30:10    20 s  sdb"), "{utc}");
    let text = reported(
        "America/St_Johns",
        &["incidents", "--json", "--store", folder.0.to_str().unwrap()],
    );
    let row: Value = serde_json::from_str::<Value>(&text).unwrap()["incidents"][0].clone();
    assert_eq!(row["began"], "2026-03-08 01:59:50 -03:30");
    assert_eq!(row["began_ns"], 1_772_947_790_000_000_000i64);
    assert_eq!(row["at"], "2026-03-08 01:59:55 -03:30", "not the recorder's zone");
    assert_eq!(row["alarms"][0]["at"], row["at"]);
    let store = folder.0.to_str().unwrap();
    let narrow = reported("UTC", &["incidents", "--store", store, "--width", "60"]);
    // The command below the list stays on one line.
    let mut listed = narrow.lines().take_while(|line| !line.is_empty());
    assert!(listed.all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("hidden: "), "{narrow}");
    assert_eq!(row["until"], "2026-03-08 03:00:10 -02:30");
    // What is printed can be typed, and a bare time is of the zone that is reported.
    for (since, until, more, found) in [
        ("2026-03-08 01:59:50 -03:30", "2026-03-08 03:00:10 -02:30", None, true),
        ("2026-03-08 01:59", "2026-03-08 03:01", None, true),
        ("2026-03-08 05:29:50 UTC", "2026-03-08 05:30:10 UTC", None, true),
        ("2026-03-08 05:29", "2026-03-08 05:31", Some("--utc"), true),
        ("2026-03-08 05:29", "2026-03-08 05:31", None, false),
        ("2026-03-08 03:02", "2026-03-08 03:30", None, false),
    ] {
        let mut words = vec!["incidents", "--store", folder.0.to_str().unwrap(), "--since", since];
        words.extend(["--until", until]);
        words.extend(more);
        let text = reported("America/St_Johns", &words);
        assert_eq!(text.contains("device.retry"), found, "{words:?}: {text}");
    }
}

#[test]
fn a_capture_that_knows_when_it_was_is_told_in_local_time() {
    let sample = "../read/samples/iowhy_capture/iowhy-0.1--loop-device.bin";
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join(sample);
    let sample = sample.to_str().unwrap();
    let [local, utc] = both(&["hist", sample, "--timestamp"]);
    let when = |text: &str| text.lines().next().unwrap().to_string();
    let (local_reach, utc_reach) = (when(&local), when(&utc));
    assert_eq!(local_reach.matches(" -03:30").count(), 2, "{local_reach}");
    assert_eq!(utc_reach.matches(" UTC").count(), 2, "{utc_reach}");
    let of_day = |text: &str| {
        let seconds = text.split(':').map(|part| part.trim().parse::<f64>().unwrap());
        seconds.fold(0.0, |sum, part| sum * 60.0 + part)
    };
    // Each I/O three hours and a half before.
    let [local, utc] = both(&["snoop", sample]);
    let times = |text: &str| -> Vec<f64> {
        let rows = text.lines().filter(|line| line.split(' ').next().unwrap().contains(':'));
        rows.map(|line| of_day(line.split(' ').next().unwrap())).collect()
    };
    let (here, there) = (times(&local), times(&utc));
    assert!(here.len() > 60 && here.len() == there.len(), "{}", here.len());
    let mut apart = here.iter().zip(&there).map(|(a, b)| (b - a).rem_euclid(86_400.0));
    let other = apart.find(|apart| (apart - 12_600.0).abs() >= 1e-3);
    assert_eq!(other, None);
    assert!(local.contains("\n# from ") && local.contains(" -03:30\n"), "{local}");
    let [local, utc] = both(&["map", sample, "--width", "120"]);
    assert!(local.contains(" -03:30") && !local.contains(" UTC"), "{local}");
    assert!(utc.contains(" UTC") && !utc.contains("-03:30"), "{utc}");
    let axis = |text: &str| {
        let tick =
            text.split(['\'', '╵']).find(|part| part.get(2..3) == Some(":")).unwrap().to_string();
        of_day(tick.split(' ').next().unwrap())
    };
    let apart = (axis(&utc) - axis(&local) + 900.0).rem_euclid(1800.0) - 900.0;
    assert!(apart.abs() < 1e-3, "{apart}");
    // A zone may be a rule, and one that nobody knows is UTC, as for date(1).
    let of = |zone| when(&reported(zone, &["hist", sample, "--timestamp"]));
    assert_eq!(of("NST3:30NDT,M3.2.0,M11.1.0"), local_reach);
    assert_eq!(of(":America/St_Johns"), local_reach);
    assert_eq!(of("No/Where"), utc_reach);
    assert_eq!(of(""), utc_reach);
    // Programs read the moment itself.
    let [here, there] = both(&["why", "--json", sample]);
    let zero = |text: &str| {
        let text = text.split("\niowhy: ").next().unwrap();
        serde_json::from_str::<Value>(text).unwrap()["inputs"][0]["zero_ns"].clone()
    };
    assert!(zero(&here).as_i64() > Some(1_700_000_000_000_000_000), "{here}");
    assert_eq!(zero(&here), zero(&there));
}
