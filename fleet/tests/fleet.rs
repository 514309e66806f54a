//! The finished program on small generated fleets.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

// The browser of the core's report.
#[allow(dead_code)]
#[path = "../../crates/iowhy/tests/browser/mod.rs"]
mod browser;
use browser::Browser;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iowhy-fleet")).args(arguments).output().expect("it starts")
}

fn good(arguments: &[&str]) -> String {
    let output = run(arguments);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {reported}");
    String::from_utf8(output.stdout).expect("text")
}

fn bad(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// A fleet in a folder of this test.
fn made(folder: &Path, more: &[&str]) -> String {
    let folder = folder.to_str().expect("a plain path").to_string();
    good(&[&["make", folder.as_str()], more].concat());
    folder
}

/// Changes the version that one file of cells states; the file, and what it held.
fn made_of_version_1(folder: &str) -> (PathBuf, Vec<u8>) {
    let all = files(Path::new(folder));
    let (name, bytes) = all.into_iter().find(|(name, _)| name.starts_with("cells")).unwrap();
    // Thrift's compact protocol: the key, then a text of one byte.
    let stated = b"iowhy.schema\x18\x012";
    let at = bytes.windows(stated.len()).position(|part| part == stated).unwrap();
    let mut changed = bytes.clone();
    changed[at + stated.len() - 1] = b'1';
    let path = Path::new(folder).join(name);
    std::fs::write(&path, changed).unwrap();
    (path, bytes)
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => {
                    let name = entry.path().strip_prefix(folder).unwrap().to_path_buf();
                    drop(found.insert(name, std::fs::read(entry.path()).unwrap()));
                }
            }
        }
    }
    found
}

const SMALL: [&str; 6] = ["--disks", "40", "--days", "1", "--span", "3600"];

#[test]
fn the_same_seed_makes_the_same_files_and_nothing_is_overwritten() {
    let (a, b, c) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let first = made(a.path(), &SMALL);
    made(b.path(), &SMALL);
    made(c.path(), &[&SMALL[..], &["--seed", "2"]].concat());
    assert!(files(a.path()) == files(b.path()), "one seed, two fleets");
    assert!(files(a.path()) != files(c.path()), "two seeds, one fleet");
    assert!(bad(&["make", &first]).contains("is not empty"));
}

#[test]
fn every_named_query_rests_on_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let folder = made(folder.path(), &SMALL);
    let all =
        good(&["sql", "SELECT sum(count) AS ios, count(*) AS n FROM cells", &folder, "--json"]);
    let all: Value = serde_json::from_str(&all).unwrap();
    let names =
        ["heatmap", "models", "neighbours", "percentiles", "shared", "since", "tail", "worst"];
    for name in names {
        // A result that does not hold against the footers is an error.
        let text = good(&["sql", name, &folder, "--json", "--limit", "0"]);
        let rows: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!rows.is_empty(), "{name}");
        assert!(rows.iter().all(|row| row.get("rows_read").is_none()), "{name}");
        if ["heatmap", "models", "percentiles", "tail", "worst"].contains(&name) {
            let ios: i64 = rows.iter().map(|row| row["ios"].as_i64().unwrap()).sum();
            assert_eq!(ios, all["ios"].as_i64().unwrap(), "{name}");
        }
        let csv = good(&["sql", name, &folder, "--csv"]);
        assert_eq!(csv.lines().count(), rows.len() + 1, "{name}");
    }
    let table = good(&["sql", "worst", &folder, "--limit", "3"]);
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(table.ends_with("--limit 0 shows all\n"), "{table}");
}

#[test]
fn percentiles_are_those_of_the_counts() {
    let folder = tempfile::tempdir().unwrap();
    let folder = made(folder.path(), &SMALL);
    let text = good(&["sql", "percentiles", &folder, "--json", "--limit", "0"]);
    let row: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let of = |name: &str| row[name].as_str().unwrap().to_string();
    let counts = good(&[
        "sql",
        &format!(
            "SELECT b.high_ns, sum(c.count) AS n FROM cells c JOIN buckets b ON b.bucket = c.bucket
             WHERE host = '{}' AND device = '{}' AND op = '{}' GROUP BY b.high_ns",
            of("host"),
            of("device"),
            of("op")
        ),
        &folder,
        "--json",
    ]);
    let mut counts: Vec<(i64, i64)> = counts
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|row| (row["high_ns"].as_i64().unwrap(), row["n"].as_i64().unwrap()))
        .collect();
    counts.sort_unstable();
    let total: i64 = counts.iter().map(|(_, n)| n).sum();
    for (share, name) in [(50, "p50_ns"), (99, "p99_ns")] {
        let mut upto = 0;
        let expected = counts.iter().find(|(_, n)| {
            upto += n;
            upto * 100 >= total * share
        });
        assert_eq!(row[name].as_i64(), expected.map(|(high, _)| *high), "{name}");
    }
}

#[test]
fn sick_disks_are_accused_and_hot_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--disks", "480", "--days", "3", "--span", "3600", "--faulty", "15", "--seed", "5"];
    let folder = made(folder.path(), &more);
    let truth = std::fs::read_to_string(Path::new(&folder).join("truth.csv")).unwrap();
    let named = |what: &str| -> Vec<String> {
        let lines = truth.lines().map(|line| line.split(',').collect::<Vec<_>>());
        lines.filter(|of| of[4] == what).map(|of| format!("{}:{}", of[0], of[1])).collect()
    };
    let report: Value = serde_json::from_str(&good(&["why", &folder, "--json"])).unwrap();
    assert_eq!(report["schema"], "iowhy.fleet/1");
    let accused: Vec<String> = report["accused"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["kind"] == "disk")
        .map(|one| one["name"].as_str().unwrap().to_string())
        .collect();
    let (faulty, hot) = (named("faulty"), named("hot"));
    assert!(faulty.len() >= 4 && hot.len() >= 3, "{truth}");
    let right = accused.iter().filter(|name| faulty.contains(name)).count();
    assert!(right * 10 >= faulty.len() * 7, "found {right} of {faulty:?}: {accused:?}");
    assert!(right * 10 >= accused.len() * 7, "wrong: {accused:?}, faulty {faulty:?}");
    assert!(!accused.iter().any(|name| hot.contains(name)), "{accused:?}, hot {hot:?}");
    // Groups, too, show what they rest on, what refutes them and what shows their single requests.
    let all = report["accused"].as_array().unwrap();
    assert!(all.iter().any(|one| one["kind"] == "firmware"), "{report}");
    for one in all {
        for reported in ["evidence", "refuted_by", "command"] {
            assert!(
                one[reported].as_str().is_some_and(|reported| !reported.is_empty()),
                "{reported}: {one}"
            );
        }
        assert!(one["command"].as_str().unwrap().contains("`iowhy why --since"), "{one}");
        assert!(one["risk_hours"].as_f64().is_some_and(|hours| hours > 0.0), "{one}");
        let days = one["risk_hours_by_day"].as_object().unwrap();
        assert_eq!(days.is_empty(), one["kind"] != "disk", "{one}");
    }
    let text = good(&["why", &folder]);
    assert!(text.contains("SLOWER THAN PEERS"), "{text}");
    assert!(text.contains("\n  risk        ") && text.contains("hours lost on "), "{text}");
    let score = good(&["score", &folder]);
    assert!(score.contains("`iowhy-fleet why`"), "{score}");
    // What was known on the last day is what is known now, and no disk is found the later it gets.
    let early = good(&["score", &folder, "--early"]);
    let row = early.lines().find(|line| line.starts_with("| `iowhy-fleet why`")).expect(&early);
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    let shares: Vec<(usize, usize)> = cells[3..6]
        .iter()
        .map(|cell| cell.split_once(" of ").unwrap())
        .map(|(found, all)| (found.parse().unwrap(), all.parse().unwrap()))
        .collect();
    assert!(shares.iter().all(|(found, all)| found <= all), "{early}");
    assert!(shares[0].1 >= shares[2].1 && shares[0].1 >= 4, "{early}");
    assert!(cells[2].parse::<usize>().unwrap() >= accused.len() - right, "{early}");
    // At the end, by the days before it: nothing is accused later.
    let mut rows = early.lines().filter(|line| line.starts_with("| `iowhy-fleet why`"));
    let at_the_end = rows.nth(1).and_then(|row| row.split('|').nth(2)).expect(&early).trim();
    let (found, rest) = at_the_end.split_once(" of ").unwrap();
    assert!(found.parse::<usize>().unwrap() >= right, "{early}");
    assert_eq!(rest, format!("{}, {} false", faulty.len(), cells[2]), "{early}");
}

#[test]
fn the_example_needs_no_files() {
    let report: Value = serde_json::from_str(&good(&["why", "--example", "--json"])).unwrap();
    let accused = report["accused"].as_array().unwrap();
    assert_eq!((accused.len(), &report["judged"]), (6, &json!(160)), "{report}");
    assert!(bad(&["why"]).contains("<FOLDERS>"));
}

#[test]
fn minutes_and_the_hours_they_add_up_to_have_one_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let fleet = |name: &str, more: &[&str]| {
        let all = ["--disks", "48", "--per-host", "16", "--days", "2", "--span", "600"];
        let more = [&all[..], &["--faulty", "100", "--bad-firmwares", "0", "--seed", "3"], more];
        made(&folder.path().join(name), &more.concat())
    };
    let (fine, thin) = (fleet("fine", &[]), fleet("thin", &["--thin", "3600"]));
    let ios = |fleet: &str| {
        let sums = "SELECT sum(count), sum(sum), count(*), min(span), max(span) FROM cells";
        let text = good(&["sql", sums, fleet, "--csv"]);
        let row = text.lines().nth(1).unwrap().split(',').map(|one| one.parse().unwrap());
        row.collect::<Vec<i64>>()
    };
    let (of_fine, of_thin) = (ios(&fine), ios(&thin));
    assert_eq!(of_fine[..2], of_thin[..2]);
    assert!(of_thin[2] * 3 < of_fine[2], "{of_fine:?} {of_thin:?}");
    assert_eq!((&of_fine[3..], &of_thin[3..]), (&[600, 600][..], &[3600, 3600][..]));
    let verdict = good(&["why", &fine, "--json"]);
    assert!(verdict.contains("\"kind\":\"disk\""), "{verdict}");
    assert_eq!(good(&["why", &thin, "--json"]), verdict);
    let never = ["make", "/nowhere", "--span", "600", "--thin", "1000"];
    assert!(bad(&never).contains("do not add up"));
}

#[test]
fn the_report_is_one_page_that_fits_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["--disks", "200", "--days", "2", "--span", "3600", "--faulty", "30"];
    let fleet = made(&folder.path().join("fleet"), &more);
    let page = folder.path().join("fleet.html");
    let name = page.to_str().unwrap();
    good(&["report", &fleet, "-o", name]);
    let text = std::fs::read_to_string(&page).unwrap();
    for wanted in
        ["default-src 'none'", "<svg", "<h2>Accused</h2>", "What they share", "Not judged"]
    {
        assert!(text.contains(wanted), "{wanted} is missing");
    }
    let text = text.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "src=", "url(", "@import", "<script", "<link"] {
        assert!(!text.contains(outside), "{outside}");
    }
    assert!(bad(&["report", &fleet, "-o", name]).contains("`--force` replaces it"));
    good(&["report", &fleet, "-o", name, "--force"]);
    let Some(mut browser) = Browser::start("fleet") else { return };
    let narrow = json!({"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": true});
    browser.call("Emulation.setDeviceMetricsOverride", narrow);
    browser.call("Page.navigate", json!({"url": format!("file://{name}")}));
    let is_there = "document.readyState === 'complete' && location.protocol === 'file:'";
    for _ in 0..1200 {
        if browser.eval(is_there) == true {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let wide = browser.eval("document.documentElement.scrollWidth").as_u64().unwrap();
    assert!(wide <= 360, "{wide} pixels");
    assert!(browser.eval("document.querySelectorAll('figure svg').length") == 2);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[test]
fn a_baseline_is_one_that_iowhy_reads() {
    let folder = tempfile::tempdir().unwrap();
    let made =
        made(&folder.path().join("fleet"), &["--disks", "200", "--days", "1", "--span", "3600"]);
    let out = folder.path().join("healthy");
    let name = out.to_str().unwrap();
    good(&["why", &made, "--baseline-out", name]);
    let all = files(&out);
    assert!(all.len() > 3, "{:?}", all.keys());
    for (name, text) in all {
        let text = String::from_utf8(text).unwrap();
        assert!(text.starts_with("# iowhy baseline 1\n"), "{text}");
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(lines.len(), 2, "{name:?}: {text}");
        for line in lines {
            let values: Vec<&str> = line.split(' ').collect();
            assert!(values.len() >= 8 && values[0] == "*", "{line}");
            assert!(values[4].parse::<f64>().is_ok_and(|ms| ms > 0.0), "{line}");
        }
    }
    assert!(bad(&["why", &made, "--baseline-out", name]).contains("name a new folder"));
}

/// One file whose footer counts a row more than it holds.
fn with_a_row_too_many(folder: &Path, table: &str, rows: u64) {
    let all = files(folder);
    let (name, mut bytes) = all.into_iter().find(|(name, _)| name.starts_with(table)).unwrap();
    let end = bytes.len() - 8;
    let footer = end - u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    // Thrift's compact protocol: field 3 of 64 bits, zigzag and seven bits a byte, then a list as
    // field 4.
    let packed = |rows: u64| -> Vec<u8> {
        let (mut text, mut rest) = (vec![0x16], rows * 2);
        while rest > 127 {
            text.push((rest & 127) as u8 | 128);
            rest >>= 7;
        }
        [text, vec![rest as u8, 0x19]].concat()
    };
    let (held, more) = (packed(rows), packed(rows + 1));
    assert_eq!(held.len(), more.len());
    let at = bytes[footer..].windows(held.len()).position(|part| part == held).unwrap() + footer;
    bytes[at..at + more.len()].copy_from_slice(&more);
    std::fs::write(folder.join(name), bytes).unwrap();
}

#[test]
fn what_was_read_and_the_footers_must_agree() {
    for table in ["cells", "facts"] {
        let folder = tempfile::tempdir().unwrap();
        let fleet = made(&folder.path().join("fleet"), &SMALL);
        let first = format!("SELECT count(*) FROM {table} WHERE host = 'h00000'");
        let rows = good(&["sql", &first, &fleet, "--csv"]).lines().nth(1).unwrap().parse().unwrap();
        let first = files(Path::new(&fleet)).into_keys().find(|name| name.starts_with(table));
        assert!(first.is_some_and(|name| name.starts_with(format!("{table}/host=h00000"))));
        with_a_row_too_many(Path::new(&fleet), table, rows);
        let out = folder.path().join("healthy");
        let baseline = ["why", &fleet, "--baseline-out", out.to_str().unwrap()];
        for command in
            [&["why", &fleet][..], &["why", &fleet, "--json"], &["score", &fleet], &baseline]
        {
            let output = run(command);
            let reported = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {reported}");
            assert!(
                reported.contains(&format!("`{table}` has")) && output.stdout.is_empty(),
                "{reported}"
            );
        }
        assert!(!out.exists(), "a baseline of what is not sure");
    }
}

#[test]
fn what_cannot_be_answered_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    assert!(bad(&["why", empty]).contains("contains no tables"));
    assert!(bad(&["sql", "nonsense", empty]).contains("there is no query `nonsense`"));
    let few = made(&folder.path().join("few"), &["--disks", "3", "--days", "1", "--span", "3600"]);
    let text = good(&["why", &few]);
    assert!(
        text.starts_with("NOTHING TO COMPARE\n") && text.contains("not compared: 3 disks"),
        "{text}"
    );
    let made = made(&folder.path().join("fleet"), &SMALL);
    assert!(bad(&["sql", "SELECT nothing FROM nowhere", &made]).contains("the query is refused"));
    assert!(good(&["sql", "heatmap", "--show"]).contains("date_trunc"));
    // Nothing found has its heading, and so has a query whose key is looked at.
    let none = "-- key: host\nSELECT host, op FROM cells WHERE host = 'nowhere'";
    assert_eq!(good(&["sql", none, &made, "--csv"]), "host,op\n");
    // A file of columns that are not known here.
    let other = made_of_version_1(&made);
    for command in [vec!["why", &made], vec!["sql", "SELECT count(*) FROM cells", &made]] {
        assert!(bad(&command).contains("columns of version 1"), "{command:?}");
    }
    std::fs::write(&other.0, &other.1).unwrap();
    // A file that is cut short.
    let (name, bytes) =
        files(Path::new(&made)).into_iter().find(|(name, _)| name.starts_with("cells")).unwrap();
    std::fs::write(Path::new(&made).join(&name), &bytes[..bytes.len() / 2]).unwrap();
    let reported = bad(&["sql", "models", &made]);
    assert!(reported.contains("failed") || reported.contains(".parquet"), "{reported}");
}

/// The cluster whose two fail-slow drives are known (`../shared/fleet-a/README.md`).
#[test]
fn two_fail_slow_drives_of_a_real_cluster_are_accused_and_nobody_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fleet-a/cells");
    if !folder.is_dir() {
        println!("skipped: needs ../shared/fleet-a");
        return;
    }
    let text = good(&["why", folder.to_str().unwrap(), "--json"]);
    let answer: Value = serde_json::from_str(&text).unwrap();
    let accused = answer["accused"].as_array().unwrap();
    let mut names: Vec<&str> = accused.iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["host_22:disk11", "host_25:disk8"]);
    assert_eq!(answer["by_averages"], 0);
}

/// `iowhy` itself: the one that `IOWHY` names, else the one of the same folder of objects.
fn core() -> Option<String> {
    let own = Path::new(env!("CARGO_BIN_EXE_iowhy-fleet"));
    let beside = || Some(own.parent()?.join("../../debug/iowhy"));
    let program = std::env::var_os("IOWHY").map(PathBuf::from).or_else(beside)?;
    if !program.is_file() {
        println!("skipped: needs iowhy in {}; build it, or name it: IOWHY=FILE", program.display());
        return None;
    }
    Some(program.to_str()?.to_string())
}

/// The hours of the same cluster as node_exporter's counters, as Prometheus dumps them.
fn dumped(cells: &Path) -> String {
    let sql =
        "SELECT host, device, CAST(time AS BIGINT) / 1000000, sum(count), sum(sum), sum(bytes)
               FROM cells GROUP BY host, device, time ORDER BY host, device, time";
    let rows = good(&["sql", sql, cells.to_str().unwrap(), "--csv", "--limit", "0"]);
    // A disk that never did anything is no disk.
    let mut counters: BTreeMap<(&str, &str), [i64; 3]> = BTreeMap::new();
    let mut dump = String::new();
    for row in rows.lines().skip(1) {
        let [host, device, numbers @ ..] = &row.split(',').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let numbers: Vec<i64> = numbers.iter().map(|number| number.parse().unwrap()).collect();
        let mut sample = |name: &str, more: &str, value: f64, at_s: i64| {
            dump += &format!(
                "{{__name__=\"node_disk_{name}\",device=\"{device}\"{more},instance=\"{host}:9100\"}} {value} {at_s}000\n"
            );
        };
        let (at_s, of_hour) = (numbers[0], &numbers[1..]);
        let sums = counters.entry((host, device)).or_insert_with(|| {
            sample("info", ",model=\"cluster_A\"", 1.0, at_s);
            [1000; 3]
        });
        for at_s in [at_s, at_s + 3600] {
            sample("reads_completed_total", "", 0.0, at_s);
            sample("writes_completed_total", "", sums[0] as f64, at_s);
            sample("write_time_seconds_total", "", sums[1] as f64 / 1e9, at_s);
            sample("written_bytes_total", "", sums[2] as f64, at_s);
            if at_s == numbers[0] {
                sums.iter_mut().zip(of_hour).for_each(|(sum, number)| *sum += number);
            }
        }
    }
    dump
}

#[test]
fn the_same_drives_are_accused_by_what_prometheus_kept() {
    let cells = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fleet-a/cells");
    let Some(iowhy) = core().filter(|_| cells.is_dir()) else {
        println!("skipped: needs ../shared/fleet-a and iowhy");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    std::fs::write(at("dump"), dumped(&cells)).unwrap();
    let printed = good(&["ingest", &at("out"), &at("dump"), "--iowhy", &iowhy]);
    assert!(printed.starts_with("30 hosts, 30 inputs in `"), "{printed}");
    let answer: Value = serde_json::from_str(&good(&["why", &at("out"), "--json"])).unwrap();
    let accused = answer["accused"].as_array().unwrap();
    let mut names: Vec<&str> = accused.iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["host_22:disk11", "host_25:disk8"]);
    assert_eq!((&answer["by_averages"], &answer["judged"]), (&json!(360), &json!(360)));
}

/// Real output of sar, iostat, `pcp iostat` and pmrep, as hosts kept it.
#[test]
fn text_of_other_tools_is_ingested() {
    let Some(iowhy) = core() else { return };
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/read/samples");
    let folder = tempfile::tempdir().unwrap();
    let hosts = folder.path().join("hosts");
    for (host, sample) in [
        ("a", "sar/sysstat-12.6.1--real-d.txt"),
        ("b", "iostat/sysstat-12.6.1--real-xt.txt"),
        ("c", "pcp_iostat/pcp-6--times.txt"),
        ("d", "pmrep/pcp-6--all-metrics-of-a-disk.txt"),
    ] {
        std::fs::create_dir_all(hosts.join(host)).unwrap();
        std::fs::copy(samples.join(sample), hosts.join(host).join("kept")).unwrap();
    }
    // Without a folder it is of the host that it names.
    std::fs::copy(samples.join("sar/sysstat-10--daily-file-am-pm.txt"), hosts.join("sa14"))
        .unwrap();
    let out = folder.path().join("out").to_str().unwrap().to_string();
    let printed = run(&["ingest", &out, hosts.to_str().unwrap(), "--iowhy", &iowhy]);
    let text = String::from_utf8_lossy(&printed.stdout);
    assert!(text.starts_with("5 hosts, 5 inputs in `"), "{printed:?}");
    let sql = "SELECT host, min(origin), count(DISTINCT device), sum(count) FROM cells
               GROUP BY host ORDER BY host";
    let rows = good(&["sql", sql, &out, "--csv"]);
    // The disks that did something in an interval with a time, and their requests.
    assert_eq!(
        rows.lines().skip(1).collect::<Vec<_>>(),
        [
            "a,average,3,3264",
            "b,average,2,1061",
            "c,average,1,361",
            "d,average,1,56669",
            "db1,average,3,528942",
        ]
    );
    let text = good(&["why", &out]);
    assert!(text.starts_with("NOTHING TO COMPARE"), "{text}");
    assert!(text.contains("or known in fewer than two hours of three"), "{text}");
}

/// Tables of averages as `iowhy export --averages` writes them: two days of hosts with eight disks
/// each, one of which needs twice its time on the second day.
fn averages(folder: &Path, hosts: usize) {
    use iowhy_model::{Interval, Layer, Level, Nanos, Op, Rates, Sink, Source, Time};
    use iowhy_show::tables::{About, Table, TableOptions, TableSink, write_buckets};
    const DAY: i64 = 20_000 * 86_400;
    for host in 0..hosts {
        let name = format!("web-{host}");
        let open = |table: Table, date: &str, _: &About| {
            let part = format!("{}/host={name}/date={date}", table.name());
            std::fs::create_dir_all(folder.join(&part))?;
            let file = std::fs::File::create(folder.join(part).join("a.parquet"))?;
            Ok(Box::new(file) as Box<dyn std::io::Write>)
        };
        let began_ns = Some(DAY * 1_000_000_000);
        let options = TableOptions { cells: true, averages: true, began_ns, ..Default::default() };
        let mut sink = TableSink::new(options, Box::new(&open));
        sink.begin(Source::new("iostat", "made", Level::A));
        let disks: Vec<_> = (0..8).map(|disk| sink.device(&format!("sd{disk}"))).collect();
        for minute in 0..2 * 24 * 6 {
            for (disk, id) in disks.iter().enumerate() {
                let load = 100.0 + 40.0 * ((minute * 7 + disk * 5 + host * 3) % 10) as f64;
                let is_slow = (host, disk) == (3, 5) && minute >= 24 * 6;
                let noise = 1.0 + 0.01 * ((minute * 13 + disk * 17 + host * 29) % 11) as f64;
                let ms = noise * (2.0 + load / 400.0) * if is_slow { 2.0 } else { 1.0 };
                let mut one = Interval::new(*id, Layer::Block);
                one.start = Some(Time::from_ns(minute as i64 * 600 * 1_000_000_000));
                one.length = Some(Nanos(600 * 1_000_000_000));
                let await_ns = Some(ms * 1e6);
                one.rates =
                    vec![(Op::Read, Rates { ios_per_s: load, await_ns, ..Rates::default() })];
                sink.interval(one);
            }
        }
        sink.end();
        let (_, statements) = sink.settle().unwrap();
        statements.finish().unwrap();
    }
    std::fs::create_dir_all(folder.join("buckets")).unwrap();
    let mut file = std::fs::File::create(folder.join("buckets/buckets.parquet")).unwrap();
    write_buckets(&mut file).unwrap();
}

#[test]
fn averages_are_judged_and_what_they_lack_is_said() {
    let folder = tempfile::tempdir().unwrap();
    averages(folder.path(), 6);
    let name = folder.path().to_str().unwrap();
    let answer: Value = serde_json::from_str(&good(&["why", name, "--json"])).unwrap();
    let accused = answer["accused"].as_array().unwrap();
    assert_eq!(accused.len(), 1, "{answer}");
    assert_eq!((&accused[0]["name"], &answer["by_averages"]), (&json!("web-3:sd5"), &json!(48)));
    assert!(accused[0]["command"].as_str().unwrap().contains("--for 60s"), "{answer}");
    let text = good(&["why", name]);
    assert!(
        text.contains("by averages: 48 disks: await, with the time in the host's queue"),
        "{text}"
    );
}

/// What is given to `iowhy export`, by a program that writes it down instead.
#[test]
fn each_host_is_exported_by_a_process_of_its_own() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let program = "#!/bin/sh\necho \"$5\" >> LOG\nfor last; do :; done\nhead -2 \"$last\" >> LOG\necho \"${5#*=}, 2026\"\n";
    std::fs::write(at("iowhy"), program.replace("LOG", at("log").to_str().unwrap())).unwrap();
    std::fs::set_permissions(at("iowhy"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(at("in/web-1/day")).unwrap();
    std::fs::write(at("in/web-1/day/sar01"), "one\n").unwrap();
    std::fs::write(at("in/web-2.txt.gz"), "two\n").unwrap();
    let dump = "{__name__=\"node_disk_reads_completed_total\",device=\"sda\",instance=\"web-3:9100\"} 7 1660000000000\n";
    std::fs::write(at("dump"), dump).unwrap();
    let text = |path: PathBuf| path.to_str().unwrap().to_string();
    let (program, out) = (text(at("iowhy")), text(at("out")));
    let (first, second) = (text(at("in")), text(at("dump")));
    let printed = good(&["ingest", &out, &first, &second, "--iowhy", &program]);
    assert!(printed.starts_with("3 hosts, 3 inputs in `"), "{printed}");
    assert_eq!(
        std::fs::read_to_string(at("log")).unwrap(),
        "--host=web-1\none\n--or-host=web-2\ntwo\n--host=web-3\n\
         node_disk_reads_completed_total{device=\"sda\"} 7 1660000000000\n"
    );
    assert!(
        bad(&["ingest", &out, &first, "--iowhy", "/nowhere"]).contains("name it: `--iowhy FILE`")
    );
    assert!(bad(&["ingest", &out, "/nowhere"]).contains("cannot read `/nowhere`"));
}
