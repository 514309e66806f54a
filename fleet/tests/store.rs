//! The finished program on a fleet in an object store.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

mod bucket;
use bucket::Bucket;

fn run(arguments: &[&str], bucket: &Bucket) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iowhy-fleet"))
        .args(arguments)
        .envs(bucket.environment.iter().cloned())
        .output()
        .expect("it starts")
}

fn good(arguments: &[&str], bucket: &Bucket) -> String {
    let output = run(arguments, bucket);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {reported}");
    String::from_utf8(output.stdout).expect("text")
}

fn bad(arguments: &[&str], bucket: &Bucket) -> String {
    let output = run(arguments, bucket);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "a result beside an error");
    String::from_utf8(output.stderr).expect("text")
}

/// A fleet in a folder, one host of which has a name that no path can hold.
fn made(folder: &Path, bucket: &Bucket) -> String {
    let name = folder.to_str().unwrap().to_string();
    good(&["make", &name, "--disks", "96", "--days", "1", "--span", "3600"], bucket);
    for table in ["cells", "facts"] {
        let of = folder.join(table);
        std::fs::rename(of.join("host=h00003"), of.join("host=rack%2F3")).unwrap();
    }
    name
}

#[test]
fn a_fleet_in_an_object_store_answers_as_one_in_a_folder() {
    let Some(bucket) = Bucket::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let here = made(&folder.path().join("all"), &bucket);
    let there = bucket.take(Path::new(&here));
    for query in ["heatmap", "models", "percentiles", "since"] {
        let expected = good(&["sql", query, &here, "--csv"], &bucket);
        assert_eq!(good(&["sql", query, &there, "--csv"], &bucket), expected, "{query}");
    }
    let hosts = "SELECT DISTINCT host FROM cells";
    assert!(good(&["sql", hosts, &there, "--csv"], &bucket).contains("\nrack/3\n"));
    let expected = good(&["why", &here, "--json"], &bucket);
    assert!(expected.contains("\"judged\":96"), "{expected}");
    assert_eq!(good(&["why", &there, "--json"], &bucket), expected);
    let page = good(&["report", &there, "-o", "-"], &bucket);
    assert!(page.contains(&there) && page.contains("<h2>Accused</h2>"));
    // A folder and a store together hold both.
    let count = "SELECT count(*) AS n FROM cells";
    let rows = |places: &[&str]| -> i64 {
        let text = good(&[&["sql", count], places, &["--csv"]].concat(), &bucket);
        text.lines().nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(rows(&[&here, &there]), 2 * rows(&[&here]));
    good(&["sql", "heatmap", &here, &there], &bucket);
}

#[test]
fn what_an_object_store_lacks_is_said() {
    let Some(mut bucket) = Bucket::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("some");
    made(&here, &bucket);
    // A file that is cut short is not a table.
    let cut = here.join("cells/host=h00000/date=2026-11-16/made.parquet");
    let bytes = std::fs::read(&cut).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let there = bucket.take(&here);
    let reported = bad(&["sql", "heatmap", &there], &bucket);
    assert!(reported.contains("host=h00000/date=2026-11-16/made.parquet"), "{reported}");
    let reported = bad(&["why", &format!("{there}/nothing")], &bucket);
    assert!(reported.contains("contains no tables"), "{reported}");
    let reported = bad(&["why", "s3://no-such-bucket/all"], &bucket);
    assert!(
        reported.contains("s3://no-such-bucket/all") && reported.contains("AWS_ACCESS_KEY_ID"),
        "{reported}"
    );
    // Nobody listens there.
    bucket.environment[0].1 = "http://127.0.0.1:1".to_string();
    let begun = Instant::now();
    let reported = bad(&["why", &there], &bucket);
    assert!(reported.contains("AWS_ENDPOINT_URL"), "{reported}");
    assert!(begun.elapsed() < Duration::from_secs(60), "it took {:?}", begun.elapsed());
}
