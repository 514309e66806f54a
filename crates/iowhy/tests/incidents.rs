//! Incidents that were planted in a recorder's store, on the screens that show a stretch of time.

use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use iowhy_capture::Writer;
use iowhy_model::{
    Distribution, Edges, Fact, FactValue, Histogram, Layer, Level, Nanos, Op, Sampling, Sink,
    Source, Stage, Time, key,
};
use iowhy_store::Store;
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000_000;

/// A store of the last hour that is being written: one incident that began before it, two of one
/// cause, and one that continues.
struct Planted {
    folder: PathBuf,
    _store: Store,
}

impl Planted {
    fn new(name: &str) -> Planted {
        let folder =
            std::env::temp_dir().join(format!("iowhy-incidents-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut store = Store::record(&folder).unwrap();
        let now_s = now_ns() / SECOND;
        let from_s = now_s - 3700;
        let mut segment = store.segment(from_s, 0).unwrap();
        segment.append(&seconds(from_s, 3600)).unwrap();
        for (began, until, over, device, verdict, mount) in [
            (4500, 3000, true, "dm-1", "device.stall", "/srv"),
            (2700, 2400, true, "sdb", "device.retry", "/var/lib/pg"),
            (1800, 1500, true, "sdb", "device.retry", "/var/lib/pg"),
            (600, 0, false, "sdb", "device.slow", "/var/lib/pg"),
        ] {
            let (began, until) = (now_s - began, now_s - until);
            let incident = json!({
                "schema": "iowhy.incident/1", "id": format!("20260308T0529{began}Z-{device}"),
                "at_ns": (began + 5) * SECOND, "began_ns": began * SECOND,
                "until_ns": until * SECOND, "length_s": (until - began) as f64, "over": over,
                "device": device, "verdict": verdict, "mounts": [mount], "confidence": 0.9,
                "who": "postgres", "owner": "pod prod/db-0", "lost_s": 41.2,
                "sentence": format!("{device} is slow"),
            });
            let at = began + 5;
            store
                .verdict(&format!("{}-{device}", stamp(at)), incident.to_string().as_bytes(), at)
                .unwrap();
        }
        Planted { folder, _store: store }
    }

    fn said(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        let output = command.args(words).arg("--store").arg(&self.folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() < Some(2), "{words:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub(crate) fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

/// `20261128T231500Z`, as the store names incidents.
pub(crate) fn stamp(at_s: i64) -> String {
    let mut date = Command::new("date");
    let output = date.args(["-u", "-d", &format!("@{at_s}"), "+%Y%m%dT%H%M%SZ"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// This many seconds of reads of two disks.
pub(crate) fn seconds(from_s: i64, count: i64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), 0);
    let source = Source::new("block-trace", "live", Level::B);
    writer.begin(Source { sampling: Sampling::Traced, ..source });
    let zero = FactValue::Duration(Nanos(from_s * SECOND));
    writer.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "made"));
    for second in 0..count {
        for name in ["sdb", "dm-1"] {
            let device = writer.device(name);
            for stage in [Stage::Device, Stage::Total] {
                let mut histogram = Histogram::empty(Edges::standard());
                (0..20).for_each(|_| histogram.record(8_000_000));
                let mut one = Distribution::new(device, Layer::Block, stage, histogram);
                one.op = Some(Op::Read);
                one.start = Some(Time::from_ns(second * SECOND));
                one.length = Some(Nanos(SECOND));
                writer.distribution(one);
            }
        }
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    writer.out().clone()
}

/// A minute of reads of a disk each day, each day slower; writes stay as they are.
fn drifting(name: &str, days: i64) -> Planted {
    let folder = std::env::temp_dir().join(format!("iowhy-trend-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut store = Store::record(&folder).unwrap();
    for day in 0..days {
        let from_s = 1_795_000_000 + day * 86_400;
        let mut writer = Writer::new(Vec::new(), 0);
        let source = Source::new("block-trace", "live", Level::B);
        writer.begin(Source { sampling: Sampling::Traced, ..source });
        let zero = FactValue::Duration(Nanos(from_s * SECOND));
        writer.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "made"));
        let sdb = writer.device("sdb");
        for (op, ns) in [(Op::Read, 400_000 + 80_000 * day as u64), (Op::Write, 900_000)] {
            let mut histogram = Histogram::empty(Edges::standard());
            (0..1200).for_each(|_| histogram.record(ns));
            let mut one = Distribution::new(sdb, Layer::Block, Stage::Device, histogram);
            (one.op, one.start, one.length) =
                (Some(op), Some(Time::from_ns(0)), Some(Nanos(60 * SECOND)));
            writer.distribution(one);
        }
        writer.finish().unwrap();
        store.segment(from_s, 0).unwrap().append(writer.out()).unwrap();
    }
    Planted { folder, _store: store }
}

#[test]
fn what_becomes_slower_day_by_day_is_a_trend() {
    let text = drifting("text", 7).said(&["incidents", "--trend"]);
    let line = |op: &str| text.lines().find(|line| line.contains(op)).expect(&text).to_string();
    assert!(
        line(" read ").contains("x slower, p < 0.001") && line(" read ").contains("  1200  "),
        "{text}"
    );
    assert!(line(" write ").contains("steady"), "{text}");
    let planted = drifting("json", 7);
    let whole: Value =
        serde_json::from_str(&planted.said(&["incidents", "--trend", "--json"])).unwrap();
    assert_eq!(whole["schema"], "iowhy.trend/1");
    let read = &whole["trends"][0];
    assert_eq!((&read["op"], &read["drift"]), (&json!("read"), &json!("slower")));
    assert!(read["times"].as_f64().is_some_and(|times| (2.0..2.4).contains(&times)), "{read}");
    assert_eq!(read["days"].as_array().unwrap().len(), 7);
    let few = planted.said(&["incidents", "--trend", "--since", "2026-11-21", "--device=/dev/sdb"]);
    assert!(few.contains("needs 5 days"), "{few}");
    let other = planted.said(&["incidents", "--trend", "--device", "sdc"]);
    assert!(other.starts_with("No I/O with a time on the device"), "{other}");
}

#[test]
fn a_calibration_of_each_week_is_a_line_of_the_trend() {
    let planted = drifting("calibrated", 1);
    let folder = planted.folder.join("calibrations");
    std::fs::create_dir(&folder).unwrap();
    for (week, us) in [800, 900, 1_000, 1_150, 1_300, 1_500].into_iter().enumerate() {
        let rows: String = (0..120)
            .map(|row| {
                let at = row as f64 / 100.0;
                format!("{at:.6} fio 7 sdb R {} 4096 {:.3}\n", row * 8, us as f64 / 1e3)
            })
            .collect();
        let text = folder.join("once.txt");
        std::fs::write(&text, format!("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n{rows}"))
            .unwrap();
        let kept = folder.join(format!("sdb-2026-11-{:02}.iowhy", 1 + 4 * week));
        let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
        let made = command.arg("convert").args([&text, &kept]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    std::fs::remove_file(folder.join("once.txt")).unwrap();
    let text = planted.said(&["incidents", "--trend"]);
    let line = text.lines().find(|line| line.contains("read, alone")).expect(&text);
    assert!(line.starts_with("sdb ") && line.contains("x slower"), "{text}");
}

#[test]
fn incidents_are_rows_of_a_spreadsheet() {
    let planted = Planted::new("rows");
    let json = planted.said(&["incidents", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = json["incidents"].as_array().unwrap();
    let text = planted.said(&["incidents", "--csv"]);
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 1 + all.len(), "{text}");
    assert!(rows[0].starts_with("id,began,began_ns,until,"), "{text}");
    for (row, known) in rows[1..].iter().zip(all) {
        assert!(row.starts_with(known["id"].as_str().unwrap()), "{row}");
        assert!(row.contains(&format!(",{},", known["began_ns"])), "{row}");
        assert!(row.contains(known["verdict"].as_str().unwrap()), "{row}");
    }
}

#[test]
fn a_window_has_a_timeline_of_its_incidents() {
    let planted = Planted::new("timeline");
    let text = planted.said(&["why", "--since=-60m"]);
    println!("{text}");
    let (_, part) = text.split_once("\nIncidents in this time, ").expect("its incidents");
    let (window, part) = part.split_once('\n').expect("lines below");
    assert!(window.contains(" to "), "{window}");
    let lines: Vec<&str> = part.lines().collect();
    let bars = |line: &str| -> String {
        line.chars().skip_while(|c| !matches!(c, '▏' | '|')).skip(1).collect()
    };
    let [stall, retry, slow, clock, ..] = lines[..] else { panic!("{part}") };
    assert!(stall.starts_with("dm-1 (/srv)  device.stall"), "{part}");
    assert!(retry.starts_with("sdb (/var/lib/pg)  device.retry"), "{part}");
    assert!(slow.starts_with("sdb (/var/lib/pg)  device.slow"), "{part}");
    let [stall, retry, slow] = [stall, retry, slow].map(bars);
    let runs = |bars: &str, of: &[char]| -> Vec<(f64, f64)> {
        let all: Vec<char> = bars.chars().collect();
        let width = all.len() as f64;
        let is_bar: Vec<bool> = all.iter().map(|c| of.contains(c)).collect();
        let edges = (0..all.len()).filter(|k| is_bar[*k] && (*k == 0 || !is_bar[k - 1]));
        let length = |k: usize| is_bar[k..].iter().take_while(|is| **is).count();
        edges.map(|k| (k as f64 / width, (k + length(k)) as f64 / width)).collect()
    };
    let marks = ['█', '◀', '▶', '#', '<', '>'];
    // Parts of the hour, to a column.
    for (bars, expected) in [
        (&stall, vec![(0.0, 1.0 / 6.0)]),
        (&retry, vec![(0.25, 1.0 / 3.0), (0.5, 7.0 / 12.0)]),
        (&slow, vec![(5.0 / 6.0, 1.0)]),
    ] {
        let found = runs(bars, &marks);
        assert_eq!(found.len(), expected.len(), "{bars}");
        let column = 1.5 / bars.chars().count() as f64;
        for ((from, to), (began, ended)) in found.iter().zip(&expected) {
            assert!((from - began).abs() < column && (to - ended).abs() < column, "{bars}");
        }
    }
    assert!(stall.starts_with(['◀', '<']) && slow.ends_with(['▶', '>']), "{part}");
    assert!(retry.ends_with(['·', '.']) && !retry.contains(['▶', '>']), "{part}");
    assert!(clock.trim().starts_with(['╵', '\'']) && clock.trim().ends_with(":00"), "{clock}");
    // The table below tells the same in text.
    let table: Vec<&str> = lines.iter().filter(|line| line.contains("postgres")).copied().collect();
    assert_eq!(table.len(), 4, "{part}");
    assert!(table[3].contains("ongoing") && table[3].contains("41.2 s"), "{part}");

    let page = planted.folder.with_extension("html");
    let to = page.display().to_string();
    planted.said(&["report", "--since=-60m", "--force", "-o", &to]);
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(&page).unwrap();
    assert!(html.contains(">4 incidents</h2>"), "no timeline");
    let rects: Vec<&str> = html.lines().filter(|line| line.contains("<rect class=\"bar")).collect();
    let number = |line: &str, key: &str| -> f64 {
        let (_, rest) = line.split_once(&format!(" {key}=\"")).expect(key);
        rest.split('"').next().unwrap().parse().unwrap()
    };
    let places: Vec<(f64, f64)> =
        rects.iter().map(|line| (number(line, "x"), number(line, "width"))).collect();
    let [stall, first, second, slow] = places[..] else { panic!("{rects:?}") };
    let hour = slow.1 * 6.0;
    for (bar, from, length) in
        [(stall, 0.0, 1.0 / 6.0), (first, 0.25, 1.0 / 12.0), (second, 0.5, 1.0 / 12.0)]
    {
        let began = (bar.0 - stall.0) / hour;
        assert!((began - from).abs() < 0.01 && (bar.1 / hour - length).abs() < 0.01, "{rects:?}");
    }
    assert!(rects[3].contains("\"bar going\""), "{rects:?}");
    // In words for who cannot see them: device by name, cause, time lost, since when.
    let label = html.lines().find(|line| line.contains("aria-label=\"4 incidents")).expect("words");
    for words in ["dm-1 (/srv) from ", "device.stall, 25 min, lost 41.2 s; sdb (/var/lib/pg) from "]
    {
        assert!(label.contains(words), "{words}: {label}");
    }
    // The words beside the picture are cut, the table is not.
    assert!(html.contains("ongoing"), "{html}");
}

#[test]
fn a_moment_has_the_incidents_around_it() {
    let planted = Planted::new("moment");
    let text = planted.said(&["why", "--at=-1650s"]);
    let (_, part) = text.split_once("\nIncidents around this time, ").expect(&text);
    let (_, part) = part.split_once('\n').expect("lines below");
    assert!(part.starts_with("sdb (/var/lib/pg)  device.retry"), "{part}");
    assert_eq!(part.matches("postgres").count(), 1, "{part}");
    let json = planted.said(&["why", "--at=-1650s", "--json"]);
    serde_json::from_str::<Value>(&json).expect("one object");
}
