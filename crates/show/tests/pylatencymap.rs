//! The picture of PyLatencyMap on the worked example, as the original draws it to the byte.
//!
//! Whole runs beside the original itself are in the rim's `compat_pylatencymap`.

use std::path::PathBuf;

use iowhy_show::{CumulativeRecord, PylatencymapOptions, PylatencymapRun};

fn drawn(source: &str, stamps: [i64; 2], counts: [[i64; 3]; 2]) -> String {
    let mut run = PylatencymapRun::new(PylatencymapOptions::default());
    let mut out = Vec::new();
    run.begin(&mut out).unwrap();
    for (at_us, counts) in stamps.into_iter().zip(counts) {
        let record = CumulativeRecord {
            at_us,
            date: "noon".to_string(),
            label: "worked example".to_string(),
            source: source.to_string(),
            unit: "microsec".to_string(),
            counts: [8, 10, 14].into_iter().zip(counts).collect(),
        };
        run.record(record, &mut out).unwrap();
    }
    run.end(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

const COUNTS: [[i64; 3]; 2] = [[1000, 500, 10], [1600, 530, 13]];

/// The golden was compared with the output of PyLatencyMap 1.3.1 for these records.
#[test]
fn the_worked_example_is_the_originals() {
    let text = drawn("oracle", [10_000_000, 13_000_000], COUNTS);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("tests/golden/pylatencymap--worked-example.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap());
    for figure in ["..38400", "....200", "..58368", "Average latency: 277 microsec"] {
        assert!(text.contains(figure), "{figure}");
    }
    assert!(drawn("bpf", [10_000_000, 13_000_000], COUNTS).contains("Average latency: 553 micro"));
}

#[test]
fn midnight_is_one_second_to_the_original() {
    let text = drawn("oracle", [86_399_000_000, 2_000_000], [[1000, 0, 0], [1300, 0, 0]]);
    assert!(text.contains("....300"));
}

#[test]
fn counts_that_fall_draw_a_frame_too() {
    let text = drawn("oracle", [0, 1_000_000], [[1000, 500, 10], [1, 600, 1]]);
    assert!(text.contains("Sample num: 2."));
}
