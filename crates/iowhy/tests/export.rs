//! `iowhy export`: files of the right names and nothing beside them, whatever the input is called;
//! the same again from the same input; and other engines read them. What the rows say is compared
//! with the input in `crates/lab/tests/tables.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use iowhy_capture::Writer;
use iowhy_model::{
    Distribution, Edges, Event, Fact, FactValue, Histogram, Layer, Level, Nanos, Op, Sampling,
    Sink, Source, Stage, Time, key,
};
use iowhy_show::tables::Table;
use iowhy_store::{Bounds, Store};

use crate::folder::Folder;

const SECOND: i64 = 1_000_000_000;
/// 2026-11-22 20:00:00 UTC, and since boot.
const WALL_S: i64 = 1_795_377_600;
const BOOT_S: i64 = 5000;

fn iowhy(arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_iowhy");
    Command::new(command).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn reported(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// All files below a folder, by their path in it, with their content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, from: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.symlink_metadata().unwrap().is_dir() {
                walk(&path, from, found);
            } else {
                let name = path.strip_prefix(from).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, folder, &mut found);
    found
}

/// A native capture of single I/Os that knows the date.
fn capture(path: &str, ios: i64) {
    let mut writer = Writer::new(Vec::new(), 1);
    let mut source = Source::new("block-trace", "live", Level::D);
    source.sampling = Sampling::Traced;
    writer.begin(source);
    let zero = FactValue::Duration(Nanos((WALL_S - BOOT_S) * SECOND));
    writer.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "clock_gettime"));
    let sdb = writer.device("sdb");
    for k in 0..ios {
        let mut event = Event::new(sdb, Op::Read, Layer::Block);
        let at = BOOT_S * SECOND + k * 10_000_000;
        event.issued = Some(Time::from_ns(at));
        event.completed = Some(Time::from_ns(at + 1_000_000 + k % 7 * 100_000));
        (event.sector, event.bytes) = (Some(k as u64 * 8), Some(4096));
        writer.event(event);
    }
    writer.end();
    writer.finish().unwrap();
    std::fs::write(path, writer.out()).unwrap();
}

/// This many seconds of a store's segment: 100 reads of 1 ms each.
fn seconds(from_s: i64, count: i64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), from_s as u64);
    let mut source = Source::new("block-trace", "live", Level::B);
    source.sampling = Sampling::Traced;
    writer.begin(source);
    let zero = FactValue::Duration(Nanos((WALL_S - BOOT_S) * SECOND));
    writer.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "clock_gettime"));
    let boot = FactValue::Text("another".to_string());
    writer.fact(Fact::new(None, key::RECORDER.of("boot"), boot, "boot_id"));
    let sda = writer.device("sda");
    for second in from_s..from_s + count {
        let mut histogram = Histogram::empty(Edges::standard());
        (0..100).for_each(|_| histogram.record(1_000_000));
        let mut one = Distribution::new(sda, Layer::Block, Stage::Device, histogram);
        one.op = Some(Op::Read);
        one.start = Some(Time::from_ns((BOOT_S + second) * SECOND));
        one.length = Some(Nanos(SECOND));
        writer.distribution(one);
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    writer.out().clone()
}

/// A store of three hours, and an incident with its I/Os and verdict.
fn store(folder: &Path) -> Store {
    let mut store = Store::record(folder).unwrap();
    for hour in 0..3 {
        let mut segment = store.segment(WALL_S + hour * 3600, hour * 3600).unwrap();
        segment.append(&seconds(hour * 3600, 120)).unwrap();
    }
    let id = "20261122T200100Z-sda";
    let path = folder.join("incidents").join(format!("{id}.iowhy"));
    capture(&path.display().to_string(), 300);
    let verdict = r#"{"at_ns":1795377660000000000,"verdict":"device.retry","confidence":0.9,
        "device":"sda","sentence":"sda retries","others":[{"device":"sdc","verdict":"device.slow","confidence":0.7}]}"#;
    store.verdict(id, verdict.as_bytes(), 7200).unwrap();
    store
}

#[test]
fn a_capture_becomes_files_whose_names_follow_from_it() {
    let folder = Folder::new("capture");
    let (input, out) = (folder.file("io.iowhy"), folder.file("fleet"));
    capture(&input, 500);
    let export = |more: &[&str]| {
        let mut all = vec!["export", "--parquet", &out];
        all.extend(more);
        iowhy(&all)
    };
    let done = export(&["--host", "web-17", "--label", "rack=r7", &input]);
    assert!(done.status.success(), "{}", reported(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("web-17, 2026-11-22: 500 I/Os in "), "{text}");
    assert!(text.contains("500 single I/Os"), "{text}");
    let first = files(Path::new(&out));
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    for table in ["cells", "events", "facts"] {
        let begin = format!("{table}/host=web-17/date=2026-11-22/iowhy-capture-20261122T200000Z-");
        assert!(names.iter().any(|name| name.starts_with(&begin)), "{table}: {names:?}");
    }
    assert!(names.contains(&"buckets/buckets.parquet"));
    // Again, and moved elsewhere: the same files, byte for byte.
    let moved = folder.file("moved");
    std::fs::rename(&input, &moved).unwrap();
    let again = export(&["--host", "web-17", "--label", "rack=r7", &moved]);
    assert!(again.status.success(), "{}", reported(&again));
    assert!(files(Path::new(&out)) == first, "another export wrote something else");
    // A capture that went on is the same one.
    capture(&moved, 900);
    assert!(export(&["--host", "web-17", &moved]).status.success());
    assert_eq!(files(Path::new(&out)).keys().collect::<Vec<_>>(), first.keys().collect::<Vec<_>>());
}

#[test]
fn minutes_are_one_cell_where_seconds_are_many() {
    let folder = Folder::new("minutes");
    let input = folder.file("io.iowhy");
    // 100 I/Os a second for 65 s, from the beginning of a minute on.
    capture(&input, 6500);
    let cells = |more: &[&str]| -> u64 {
        let out = folder.file(&format!("fleet{}", more.len()));
        let words = ["export", "--parquet", &out, "--host", "a", &input];
        let done = iowhy(&[&words[..], more].concat());
        let text = String::from_utf8(done.stdout).unwrap();
        let (_, rest) = text.split_once("6500 I/Os in ").expect(&text);
        let digits = rest.split(' ').next().unwrap_or_default();
        digits.parse().expect(&text)
    };
    let (seconds, minutes) = (cells(&[]), cells(&["--minutes"]));
    // As many kinds of cells in each of 65 seconds as in each of two minutes.
    assert_eq!((seconds % 65, minutes % 2, seconds / 65), (0, 0, minutes / 2));
    assert!(minutes > 0, "no cells");
}

#[test]
fn what_is_not_known_is_asked_for() {
    let folder = Folder::new("asked");
    let (input, out) = (folder.file("io.iowhy"), folder.file("fleet"));
    capture(&input, 50);
    let export = |more: &[&str]| {
        let mut all = vec!["export", "--parquet", &out];
        all.extend(more);
        iowhy(&all)
    };
    let unnamed = export(&[&input]);
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(reported(&unnamed).contains("--host NAME"), "{}", reported(&unnamed));
    let text = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n\
                0.000000    dd             77     sdb     R 2048       4096      1.00\n\
                0.361565    dd             77     sdb     R 4096       4096    218.24\n";
    let undated = folder.file("biosnoop.txt");
    std::fs::write(&undated, text).unwrap();
    let refused = export(&["--host", "a", &undated]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(reported(&refused).contains("--began"), "{}", reported(&refused));
    let began = export(&["--host", "a", "--began", "2026-11-22 23:59:59.9 UTC", &undated]);
    assert!(began.status.success(), "{}", reported(&began));
    let names = files(Path::new(&out));
    for date in ["2026-11-22", "2026-11-23"] {
        let folder = format!("events/host=a/date={date}/");
        assert_eq!(names.keys().filter(|name| name.starts_with(&folder)).count(), 1, "{names:?}");
    }
    let iostat = "Linux 6.1.0-18-amd64 (web-17) \t11/22/2026 \t_x86_64_\t(4 CPU)\n\
                  \n\
                  11/22/2026 08:00:00 PM\n\
                  Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n\
                  sda 10.00 40.00 1.00 5.00 20.00 2.00 0.02 1.50\n\
                  ";
    let averages = folder.file("iostat.txt");
    std::fs::write(&averages, iostat).unwrap();
    let zoneless = export(&[&averages]);
    assert!(zoneless.status.success(), "{}", reported(&zoneless));
    assert!(reported(&zoneless).contains("UTC is assumed"), "{}", reported(&zoneless));
    let facts = files(Path::new(&out));
    assert!(facts.keys().any(|name| name.starts_with("facts/host=web-17/date=2026-11-22/iostat-")));
    for (arguments, what) in [
        (&["--label", "rack"][..], "KEY=VALUE"),
        (&["--host", ""], "must not be empty"),
        (&["--began", "then", &input], "is not a time"),
    ] {
        let refused = export(arguments);
        assert_eq!(refused.status.code(), Some(2));
        assert!(reported(&refused).contains(what), "{}", reported(&refused));
    }
}

#[test]
fn averages_become_cells_if_asked_for() {
    let folder = Folder::new("averages");
    let page = |at_s: i64, reads: f64, ms: f64| {
        format!(
            "node_disk_info{{device=\"sda\",model=\"WDC WD40\",revision=\"1\"}} 1 {at_s}000\n\
             node_disk_reads_completed_total{{device=\"sda\"}} {reads} {at_s}000\n\
             node_disk_writes_completed_total{{device=\"sda\"}} 5 {at_s}000\n\
             node_disk_read_time_seconds_total{{device=\"sda\"}} {} {at_s}000\n",
            ms / 1e3
        )
    };
    let pages = page(WALL_S, 1000.0, 0.0) + &page(WALL_S + 60, 1600.0, 3000.0);
    let input = folder.file("pages.txt");
    std::fs::write(&input, pages + &page(WALL_S + 120, 1600.0, 3000.0)).unwrap();
    let export = |name: &str, more: &[&str]| {
        let out = folder.file(name);
        let done = iowhy(&[&["export", "--parquet", &out, &input][..], more].concat());
        (String::from_utf8_lossy(&done.stdout).into_owned(), reported(&done), out)
    };
    let (text, said, out) = export("averages", &["--averages", "--or-host", "web-9"]);
    // 600 reads in a minute, the next of which had none.
    assert!(text.starts_with("web-9, 2026-11-22: 600 I/Os in 1 cell, "), "{text}{said}");
    let names = files(Path::new(&out));
    let held = |table: &str, text: &[u8]| {
        let of = names.iter().filter(|(name, _)| name.starts_with(table));
        of.into_iter().any(|(_, bytes)| bytes.windows(text.len()).any(|part| part == text))
    };
    assert!(held("cells", b"average") && held("facts", b"WDC WD40"));
    let (text, ..) = export("without", &["--host", "web-9"]);
    assert!(text.contains(": 0 I/Os in 0 cells"), "{text}");
    // What the input names goes first.
    let sar = "Linux 6.1.0 (db-1) \t11/22/2026 \t_x86_64_\t(4 CPU)\n\n\
               20:00:00          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     %util\n\
               20:00:10          sda    100.00    400.00      0.00      4.00      0.20      2.00     20.00\n\
               20:00:20          sda    100.00    400.00      0.00      4.00      0.20      2.00     20.00\n";
    std::fs::write(&input, sar).unwrap();
    let (text, said, _) = export("sar", &["--averages", "--or-host", "web-9"]);
    assert!(text.starts_with("db-1, 2026-11-22: ") && !text.contains(" 0 I/Os"), "{text}{said}");
}

#[test]
fn no_host_no_link_and_no_input_leads_out_of_the_folder() {
    let folder = Folder::new("hostile");
    let (input, out) = (folder.file("io.iowhy"), folder.file("in/fleet"));
    capture(&input, 50);
    for host in ["../../x", "..", "/etc", "a/b\\c=d%2F\n", "é…"] {
        let done = iowhy(&["export", "--parquet", &out, "--host", host, &input]);
        assert!(done.status.success(), "{host}: {}", reported(&done));
    }
    let kept: Vec<String> =
        files(&folder.0).into_keys().filter(|name| name != "io.iowhy").collect();
    assert!(kept.iter().all(|name| name.starts_with("in/fleet/")), "{kept:?}");
    assert!(kept.iter().any(|name| name.contains("/host=..%2F..%2Fx/")), "{kept:?}");
    // Links where folders and files should be.
    let (elsewhere, other) = (folder.0.join("elsewhere"), folder.file("other"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::create_dir_all(Path::new(&other).join("cells")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, Path::new(&other).join("cells/host=a")).unwrap();
    let refused = iowhy(&["export", "--parquet", &other, "--host", "a", &input]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(reported(&refused).contains("not followed"), "{}", reported(&refused));
    std::fs::remove_file(Path::new(&other).join("cells/host=a")).unwrap();
    assert!(iowhy(&["export", "--parquet", &other, "--host", "a", &input]).status.success());
    let cells =
        files(Path::new(&other)).into_keys().find(|name| name.starts_with("cells")).unwrap();
    let (cells, victim) = (Path::new(&other).join(cells), elsewhere.join("victim"));
    std::fs::write(&victim, "precious").unwrap();
    std::fs::remove_file(&cells).unwrap();
    std::os::unix::fs::symlink(&victim, &cells).unwrap();
    let refused = iowhy(&["export", "--parquet", &other, "--host", "a", &input]);
    assert_eq!(refused.status.code(), Some(2), "{}", reported(&refused));
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(files(&elsewhere).len(), 1);
    // A store is not a folder for tables.
    let recorded = folder.0.join("store");
    store(&recorded);
    let refused = iowhy(&["export", "--parquet", &recorded.display().to_string(), &input]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    let folder = Folder::new("full");
    let (input, out) = (folder.file("io.iowhy"), folder.file("fleet"));
    capture(&input, 60_000);
    // No file of more than 1 KiB: writing fails in the middle.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" export --parquet \"$1\" --host a \"$2\"";
    let command = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_iowhy"), &out, &input])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(command.status.code(), Some(2), "{}", reported(&command));
    assert!(reported(&command).contains("cannot write into"), "{}", reported(&command));
    assert!(files(Path::new(&out)).is_empty(), "{:?}", files(Path::new(&out)).keys());
}

#[test]
fn a_store_becomes_hours_and_a_finer_one_is_never_replaced() {
    let folder = Folder::new("store");
    let (recorded, out) = (folder.0.join("store"), folder.file("fleet"));
    let mut kept = store(&recorded);
    let recorded = recorded.display().to_string();
    let export = |more: &[&str]| {
        let mut all = vec!["export", "--parquet", &out, "--store", &recorded];
        all.extend(more);
        iowhy(&all)
    };
    let unnamed = export(&[]);
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(reported(&unnamed).contains("--host NAME"), "{}", reported(&unnamed));
    let done = export(&["--host", "web-17"]);
    assert!(done.status.success(), "{}", reported(&done));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("36,000 I/Os in 360 cells, 300 single I/Os"), "{text}");
    // As many as the histograms of the store.
    let hist = iowhy(&["hist", "--json", &recorded]);
    let counted: u64 = String::from_utf8(hist.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .flat_map(|line| line["histograms"].as_array().cloned().unwrap_or_default())
        .filter_map(|one| one["count"].as_u64())
        .sum();
    assert_eq!(counted, 36_000);
    let first = files(Path::new(&out));
    let cells = |files: &BTreeMap<String, Vec<u8>>| -> Vec<String> {
        let of = files.keys().filter_map(|name| name.strip_prefix("cells/host=web-17/"));
        of.map(str::to_string).collect()
    };
    assert_eq!(
        cells(&first),
        [
            "date=2026-11-22/20261122T200000Z.seconds.parquet",
            "date=2026-11-22/20261122T210000Z.seconds.parquet",
            "date=2026-11-22/20261122T220000Z.seconds.parquet",
        ]
    );
    let incident = "events/host=web-17/date=2026-11-22/20261122T200100Z-sda.parquet";
    assert!(first.contains_key(incident), "{:?}", first.keys());
    assert!(export(&["--host", "web-17"]).status.success());
    assert!(files(Path::new(&out)) == first, "another export wrote something else");
    // The store grows older: all but what is around the incident is sampled, the oldest goes.
    let old = Bounds { seconds: Duration::from_secs(3600), ..Bounds::default() };
    kept.tend(5 * 3600, 0, &old).unwrap();
    let thinned = export(&["--host", "web-17"]);
    assert!(thinned.status.success(), "{}", reported(&thinned));
    assert!(String::from_utf8_lossy(&thinned.stdout).contains("3 hours unchanged"));
    assert!(files(Path::new(&out)) == first, "finer cells gave way to coarser ones");
    // Into another folder they go as they are, and one hour alone.
    let other = folder.file("other");
    let one = ["--host", "b", "--since", "2026-11-22 20:00 UTC", "--until", "2026-11-22 20:30 UTC"];
    let mut all = vec!["export", "--parquet", &other, "--store", &recorded];
    all.extend(one);
    assert!(iowhy(&all).status.success());
    let names = files(Path::new(&other));
    let coarse = "cells/host=b/date=2026-11-22/20261122T200000Z.minutes.parquet";
    assert!(names.contains_key(coarse), "{:?}", names.keys());
    assert_eq!(names.keys().filter(|name| name.starts_with("cells/")).count(), 1);
    // An hour that was not whole gives way to the whole one.
    let open = Path::new(&other).join(coarse.replace("minutes", "open"));
    std::fs::rename(Path::new(&other).join(coarse), &open).unwrap();
    assert!(iowhy(&all).status.success());
    assert!(!open.exists() && Path::new(&other).join(coarse).exists());
}

#[test]
fn the_page_names_every_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FLEET.md");
    let before = std::fs::read_to_string(&path).unwrap();
    let mut page = before.clone();
    for table in Table::ALL {
        let mut rows = String::from("| column | type | unit | meaning |\n|---|---|---|---|\n");
        for column in table.columns() {
            let (kind, meaning) = (column.type_name(), column.meaning);
            rows += &format!("| `{}` | {kind} | {} | {meaning} |\n", column.name, column.unit);
        }
        let name = table.name();
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end {name} -->"));
        let (head, rest) = page.split_once(&begin).expect("the mark of a table");
        let (_, tail) = rest.split_once(&end).expect("its end");
        page = format!("{head}{begin}{rows}{end}{tail}");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, page).unwrap();
    }
    assert!(page == before, "docs/FLEET.md is not what the writer writes: set UPDATE_GOLDEN=1");
}

/// What other engines make of the tables: DuckDB and pyarrow count what the program counted.
const ENGINES: &str = r#"
import sys, duckdb, pyarrow.parquet as pq, pyarrow.dataset as ds, glob
folder = sys.argv[1]
rows = {}
for table in ("cells", "events", "facts"):
    there = f"read_parquet('{folder}/{table}/**/*.parquet', hive_partitioning = true)"
    read = ds.dataset(f"{folder}/{table}", partitioning="hive").to_table()
    footers = sum(pq.read_metadata(f).num_rows for f in glob.glob(f"{folder}/{table}/**/*.parquet", recursive=True))
    count = duckdb.sql(f"select count(*) from {there}").fetchall()[0][0]
    assert count == footers == read.num_rows > 0, (table, count, footers, read.num_rows)
    assert set(read.column("host").to_pylist()) == {"web-17"}, read.column("host")
    for f in glob.glob(f"{folder}/{table}/**/*.parquet", recursive=True):
        said = pq.read_metadata(f).metadata
        assert said[b"iowhy.schema"] == b"2" and said[b"iowhy.table"] == table.encode(), said
    if table == "cells":
        ios, ns, keys = duckdb.sql(f"select sum(count), sum(sum), count(distinct (device, op, stage, time, bucket, host)) from {there} where stage = 'D2C'").fetchall()[0]
        ours = read.filter(ds.field("stage") == "D2C")
        assert sum(ours.column("count").to_pylist()) == ios and sum(ours.column("sum").to_pylist()) == ns
        assert keys == ours.num_rows, "a key stands twice"
        p99 = duckdb.sql(f"select max(high_ns) from {there} join '{folder}/buckets/buckets.parquet' using (bucket)").fetchall()[0][0]
        print(ios, ns, count, p99)
    else:
        print(count)
print(duckdb.sql(f"select key, device, number from read_parquet('{folder}/facts/**/*.parquet') where kind = 'finding' order by all").fetchall())
"#;

/// The same sums from DataFusion.
const DATAFUSION: &str = r#"
import sys, datafusion
context = datafusion.SessionContext()
for table in ("cells", "events"):
    context.sql(f"create external table {table} stored as parquet partitioned by (host, date) location '{sys.argv[1]}/{table}/'")
row = context.sql("select sum(count) a, sum(sum) b, count(*) c from cells where stage = 'D2C' and host = 'web-17'").to_pylist()[0]
print(row["a"], row["b"], row["c"], context.sql("select count(*) n from events").to_pylist()[0]["n"])
"#;

/// And from Spark, in one process.
const SPARK: &str = r#"
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false") \
    .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
for table in ("cells", "events"):
    spark.read.parquet(f"{sys.argv[1]}/{table}").createOrReplaceTempView(table)
row = spark.sql("select sum(count), sum(sum), count(*) from cells where stage = 'D2C' and host = 'web-17'").collect()[0]
print(row[0], row[1], row[2], spark.sql("select count(*) from events").collect()[0][0])
spark.stop()
"#;

/// A Python that has these modules, in a folder of its own or the system's; if there is none, says
/// how to get one.
fn python(folder: &str, modules: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let own = home.join(format!(".cache/iowhy/{folder}/bin/python"));
    let python = if own.exists() { own } else { PathBuf::from("python3") };
    let has = Command::new(&python).args(["-c", &format!("import {modules}")]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!(
        "skipped: needs {modules}: `python3 -m venv ~/.cache/iowhy/{folder} && \
         ~/.cache/iowhy/{folder}/bin/pip install {}`",
        modules.replace(", ", " ")
    );
    None
}

/// A store as tables.
fn tables(folder: &Folder) -> String {
    let (recorded, out) = (folder.0.join("store"), folder.file("fleet"));
    store(&recorded);
    let recorded = recorded.display().to_string();
    let arguments = ["export", "--parquet", &out, "--store", &recorded, "--host", "web-17"];
    let done = iowhy(&[&arguments[..], &["--label", "rack=r7"]].concat());
    assert!(done.status.success(), "{}", reported(&done));
    out
}

#[test]
fn duckdb_and_pyarrow_read_what_was_written() {
    let Some(python) = python("fleet-py", "duckdb, pyarrow") else { return };
    let folder = Folder::new("engines");
    let read = Command::new(&python).args(["-c", ENGINES, &tables(&folder)]).output().unwrap();
    assert!(read.status.success(), "{}", reported(&read));
    let text = String::from_utf8(read.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("36000 36000000000 360 "), "{text}");
    assert_eq!(lines[1], "300");
    assert!(
        lines[3].contains("('device.retry', 'sda', 0.9), ('device.slow', 'sdc', 0.7)"),
        "{text}"
    );
}

#[test]
#[ignore = "long: starts a Java machine"]
fn datafusion_and_spark_read_the_same() {
    let folder = Folder::new("more-engines");
    let out = tables(&folder);
    for (venv, modules, script) in
        [("fleet-py", "datafusion", DATAFUSION), ("spark-py", "pyspark", SPARK)]
    {
        let Some(python) = python(venv, modules) else { continue };
        let read = Command::new(&python).args(["-c", script, &out]).output().unwrap();
        assert!(read.status.success(), "{modules}: {}", reported(&read));
        let text = String::from_utf8(read.stdout).unwrap();
        assert_eq!(text.trim(), "36000 36000000000 360 300", "{modules}");
    }
}
