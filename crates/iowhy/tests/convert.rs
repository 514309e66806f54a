//! `iowhy convert`: what is written can be read again and counts the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::folder::Folder;

#[test]
fn single_ios_survive_every_format_that_carries_them() {
    let folder = Folder::new("convert");
    let whole = histograms(&sample());
    let count = |of: &[Value]| of.iter().filter_map(|one| one["count"].as_u64()).sum::<u64>();
    let read = |of: &[Value]| {
        count(&of.iter().filter(|one| one["op"] == "read").cloned().collect::<Vec<_>>())
    };
    let total = count(&whole);
    assert!(total >= 5, "{total} I/Os");
    for target in ["biosnoop", "fio-hist-log", "pylatencymap"] {
        let file = converted(&folder, &sample(), target);
        let again = histograms(&file);
        assert_eq!(count(&again), total, "{target}");
        if target != "pylatencymap" {
            assert_eq!(read(&again), read(&whole), "{target}");
        }
    }
    let again = histograms(&converted(&folder, &sample(), "biosnoop"));
    for field in ["max_ns", "min_ns", "sum_ns", "device", "stage"] {
        assert_eq!(again[0][field], whole[0][field], "{field}");
    }
    let lines = std::fs::read_to_string(converted(&folder, &sample(), "json")).expect("written");
    let events = lines.lines().filter(|line| line.contains("iowhy.event/1")).count();
    assert_eq!(events as u64, total);
    let lines = std::fs::read_to_string(converted(&folder, &sample(), "csv")).expect("written");
    assert_eq!(lines.lines().count() as u64, total + 1);
}

/// Two I/Os of which everything is known, one of them a system call's.
const FULL: &str = concat!(
    r#"{"schema":"iowhy.source/1","format":"block-trace","input":"live","level":"D"}"#,
    "\n",
    r#"{"schema":"iowhy.event/1","device":"sdb","op":"write","flags":"WFSM","queued_ns":1000,"#,
    r#""issued_ns":2000,"completed_ns":9000,"sector":18446744073709551615,"bytes":4294967295,"#,
    r#""pid":77,"comm":"a, \"b\"","depth":32,"error":5,"layer":"block","arrived_ns":-5,"#,
    r#""cgroup":"/web.slice","file":"/srv/=db 1","cpu":5,"queue":0,"weight":7}"#,
    "\n",
    r#"{"schema":"iowhy.event/1","device":"","op":"read","flags":"R","queued_ns":2000,"#,
    r#""issued_ns":2001,"completed_ns":9001,"sector":0,"bytes":0,"pid":0,"comm":"=1+1","depth":1,"#,
    r#""error":65535,"layer":"syscall","arrived_ns":0,"cgroup":"/","file":"-","cpu":0,"queue":65534,"weight":1}"#,
    "\n"
);

/// Its events as JSON lines, whatever format the file is in.
fn events(file: &Path) -> Vec<Value> {
    let output = iowhy(&["convert", &file.display().to_string(), "-", "--to", "json"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let values = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    values.filter(|one: &Value| one["schema"] == "iowhy.event/1").collect()
}

#[test]
fn every_field_of_an_io_goes_out_and_comes_back_or_is_said_to_be_left_out() {
    let folder = Folder::new("convert");
    let full = folder.0.join("full.jsonl");
    std::fs::write(&full, FULL).expect("written");
    let whole = events(&full);
    assert_eq!(whole.len(), 2);
    for event in &whole {
        let fields = event.as_object().expect("an object");
        // Schema and the list of the model: one more field there has to be added above.
        assert_eq!(fields.len(), 1 + iowhy_model::EVENT_FIELDS.len(), "{fields:?}");
        assert!(fields.values().all(|value| !value.is_null()), "{fields:?}");
    }
    for target in ["iowhy-capture", "json", "csv"] {
        assert_eq!(events(&converted(&folder, &full, target)), whole, "{target}");
    }
    let left_out = |target: &str| {
        let name = full.display().to_string();
        let output = iowhy(&["convert", &name, "-", "--to", target]);
        assert!(output.status.success(), "{target}: {output:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    // What Parquet holds is read back in crates/lab/tests/parquet.rs, with the crate of that name.
    assert_eq!(left_out("parquet"), "");
    let reported = left_out("biosnoop");
    for title in ["a queue depth", "an error", "a time of arrival", "a control group", "a file"] {
        assert!(reported.contains(title), "{title} is not in: {reported}");
    }
    assert!(!reported.contains("a sector"), "{reported}");
    for target in ["fio-hist-log", "pylatencymap"] {
        assert!(left_out(target).contains("left out: "), "{target}");
    }
}

#[test]
fn what_blkparse_prints_is_written_and_read_again() {
    let folder = Folder::new("convert");
    let facts = |file: &Path| {
        let mut facts: Vec<_> = events(file)
            .iter()
            .filter_map(|one| {
                let ns = |name: &str| one[name].as_i64();
                let device_ns = ns("completed_ns")? - ns("issued_ns")?;
                // An empty flush has no place.
                let [sector, bytes, op, error] =
                    ["sector", "bytes", "op", "error"].map(|name| one[name].to_string());
                let sector = if op.contains("flush") { "0".to_string() } else { sector };
                Some((sector, bytes, op, error, one["device"].to_string(), device_ns))
            })
            .collect();
        facts.sort();
        facts
    };
    let mut seen = 0;
    for sample in [all_samples("blkparse"), all_samples("biosnoop")].concat() {
        let whole = facts(&sample);
        if whole.is_empty() {
            continue;
        }
        let file = folder.0.join("again.txt");
        let (from, to) = (sample.display().to_string(), file.display().to_string());
        let output = iowhy(&["convert", &from, &to, "--to", "blkparse", "--force"]);
        assert!(output.status.code() < Some(2), "{from}: {output:?}");
        let again = facts(&file);
        let placed: Vec<_> = whole.iter().filter(|one| one.0 != "null").collect();
        assert!(again.len() >= placed.len(), "{from}: {} of {}", again.len(), whole.len());
        for one in placed {
            let same = |other: &&(String, String, String, String, String, i64)| {
                (&other.0, &other.1, &other.2, &other.3) == (&one.0, &one.1, &one.2, &one.3)
                    && (other.5 - one.5).abs() <= 1000
            };
            assert!(again.iter().any(|other| same(&other)), "{from}: {one:?} is not in {again:?}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} I/Os");
}

#[test]
fn fio_replays_its_log() {
    let folder = Folder::new("convert");
    let capture = folder.0.join("capture.csv");
    let mut rows = String::from(
        "input,device,op,flags,queued_ns,issued_ns,completed_ns,sector,bytes,pid,comm,depth,error,\
         layer,arrived_ns,cgroup,file,weight\n",
    );
    for k in 0..50u64 {
        let (op, flag) = if k % 5 == 4 { ("write", "W") } else { ("read", "R") };
        // The one that was started first completed last.
        let (queued, completed) = (k * 4_000_000, k * 4_000_000 + 9_000_000 - k % 2 * 8_000_000);
        let issued = queued + 1000;
        let (sector, bytes) = (k * 37 % 200 * 8, 4096 << (k % 3));
        rows += &format!(
            "0,sdq,{op},{flag},{queued},{issued},{completed},{sector},{bytes},7,x,1,,block,,,,\n"
        );
    }
    std::fs::write(&capture, rows).expect("written");
    let log = converted(&folder, &capture, "fio-iolog");
    let text = std::fs::read_to_string(&log).expect("written");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..4],
        ["fio version 3 iolog", "0 /dev/sdq add", "0 /dev/sdq open", "1 /dev/sdq read 0 4096"]
    );
    assert_eq!((lines.len(), *lines.last().expect("lines")), (54, "196001 /dev/sdq close"));
    let times = lines[1..].iter().map(|line| line.split(' ').next()?.parse::<u64>().ok());
    assert!(times.clone().all(|time| time.is_some()) && times.is_sorted(), "{text}");
    let target = folder.0.join("target");
    std::fs::write(&target, vec![7u8; 1 << 20]).expect("written");
    let mut fio = Command::new("fio");
    fio.arg("--name=replay").arg(format!("--read_iolog={}", log.display()));
    fio.arg(format!("--replay_redirect={}", target.display())).arg("--output-format=json");
    let Ok(output) = fio.stdin(Stdio::null()).output() else {
        println!("skipped: a replay by fio: needs fio");
        return;
    };
    let reported = String::from_utf8_lossy(&output.stdout).into_owned();
    let object: Value =
        serde_json::from_str(&reported[reported.find('{').expect("JSON")..]).expect(&reported);
    let job = &object["jobs"][0];
    let bytes = |op: &str| {
        let of = lines.iter().filter(|line| line.split(' ').nth(2) == Some(op));
        let sizes = of.filter_map(|line| line.split(' ').nth(4)?.parse::<u64>().ok());
        (sizes.clone().count() as u64, sizes.sum::<u64>())
    };
    for op in ["read", "write"] {
        let done = (job[op]["total_ios"].as_u64(), job[op]["io_bytes"].as_u64());
        let (ios, sum) = bytes(op);
        assert_eq!(done, (Some(ios), Some(sum)), "{op}: {reported}");
    }
    // And at its time: 196 ms from the first to the last.
    let ms = job["job_runtime"].as_u64().expect("a time");
    assert!(ms >= 190, "{ms} ms");
}

#[test]
fn averages_survive_json_and_the_iowhy_capture() {
    let folder = Folder::new("convert");
    let lines = |file: &Path| {
        let output = iowhy(&["stat", &file.display().to_string(), "--json"]);
        // What was read in part is not a measure of what is carried.
        let whole = Some(output.stdout).filter(|_| output.status.success());
        let text = String::from_utf8(whole.unwrap_or_default()).expect("text");
        let values = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        values.filter(|one: &Value| one["schema"] == "iowhy.stat/1").collect::<Vec<_>>()
    };
    for format in ["iostat", "solaris_iostat", "diskstats"] {
        let (sample, whole) = all_samples(format)
            .into_iter()
            .map(|sample| (lines(&sample), sample))
            .find_map(|(whole, sample)| (!whole.is_empty()).then_some((sample, whole)))
            .expect(format);
        for target in ["json", "iowhy-capture"] {
            assert_eq!(lines(&converted(&folder, &sample, target)), whole, "{format} as {target}");
        }
    }
}

#[test]
fn what_cannot_be_carried_is_refused_with_the_reason() {
    for (input, target, reason) in [
        ("iostat", "biosnoop", "averages"),
        ("iostat", "pylatencymap", "averages"),
        ("biolatency", "biosnoop", "histograms, not individual I/Os"),
        ("iostat", "parquet", "contains averages"),
        ("smart", "parquet", "contains no latencies"),
        ("iostat", "blkparse", "averages"),
        ("biolatency", "fio-iolog", "histograms, not individual I/Os"),
        ("biosnoop", "orc", "unknown output format"),
    ] {
        let output = iowhy(&["convert", &any_sample(input), "-", "--to", target]);
        let reported = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{input} to {target}: {reported}");
        assert!(reported.contains(reason), "{reported}");
        assert!(reported.contains("\nhint: "), "{reported}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn histograms_keep_when_they_were_counted() {
    let folder = Folder::new("convert");
    let tables =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pylatencymap/test_DTrace_data.txt");
    let file = converted(&folder, &tables, "json");
    let cells = |file: &Path| iowhy(&["map", &file.display().to_string(), "--csv"]).stdout;
    let lines = |cells: Vec<u8>| String::from_utf8(cells).expect("text").lines().count();
    assert_eq!(lines(cells(&file)), lines(cells(&tables)));
}

#[test]
fn a_capture_is_never_written_over_itself() {
    let folder = Folder::new("convert");
    let copy = folder.0.join("itself.csv");
    std::fs::copy(sample(), &copy).expect("a copy");
    let name = copy.to_str().expect("text");
    let output = iowhy(&["convert", name, name]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(std::fs::read(&copy).expect("there"), std::fs::read(sample()).expect("there"));
}

/// Every format that can be written.
const TARGETS: [&str; 9] = [
    "biosnoop",
    "blkparse",
    "csv",
    "fio-hist-log",
    "fio-iolog",
    "iowhy-capture",
    "json",
    "parquet",
    "pylatencymap",
];

#[test]
fn no_command_writes_over_what_is_there() {
    let folder = Folder::new("convert");
    let at = |name: &str| folder.0.join(name).display().to_string();
    let input = at("input.txt");
    std::fs::copy(sample(), &input).expect("a copy");
    std::fs::hard_link(&input, at("hard")).expect("a hard link");
    std::fs::write(at("old"), "old").expect("a file");
    std::os::unix::fs::symlink(at("old"), at("link")).expect("a link");
    std::os::unix::fs::symlink(at("nowhere"), at("dangling")).expect("a link");
    let commands = |file: &str| {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        let mut all: Vec<Vec<String>> = TARGETS
            .iter()
            .map(|target| words(&["convert", &input, file, "--to", target]))
            .collect();
        all.push(words(&["map", &input, "--svg", file]));
        all.push(words(&["map", &input, "--png", file]));
        all.push(words(&["why", &input, "--learn", file]));
        all.push(words(&["record", "--for", "10ms", "-o", file]));
        all.push(words(&["probe", "read-latency", &input, "--count", "1", "--keep", file]));
        all
    };
    for file in ["hard", "old", "link", "dangling", "input.txt"].map(at).iter() {
        for words in commands(file) {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            for more in [&[][..], &["--force"]] {
                // With `--force` an old file may go, and `--learn` and `record` know no input.
                let may = words[0] == "why" || file.ends_with("old") || words[0] == "record";
                if !more.is_empty() && (may || words[0] == "probe") {
                    continue;
                }
                let output = iowhy(&[&words[..], more].concat());
                let reported = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(2), "{words:?} {more:?}: {reported}");
            }
        }
    }
    let sample = std::fs::read(sample()).expect("there");
    assert_eq!(std::fs::read(&input).expect("there"), sample);
    assert_eq!(std::fs::read(at("hard")).expect("there"), sample);
    assert_eq!(std::fs::read_to_string(at("old")).expect("there"), "old");
    let mut names: Vec<String> = std::fs::read_dir(&folder.0)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["dangling", "hard", "input.txt", "link", "old"]);
}

#[test]
fn pictures_go_to_standard_output() {
    let input = sample().display().to_string();
    let svg = iowhy(&["map", &input, "--svg", "-"]);
    assert!(svg.status.success() && svg.stdout.starts_with(b"<svg"), "{svg:?}");
    let png = iowhy(&["map", &input, "--png", "-"]);
    assert!(png.status.success() && png.stdout.starts_with(b"\x89PNG"), "{:?}", png.stderr);
}

fn iowhy(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    command.args(words).stdin(Stdio::null()).output().expect("it runs")
}

/// A trace of the disk that read again and again.
fn sample() -> PathBuf {
    PathBuf::from(any_sample("biosnoop"))
}

/// The first sample of a format that has one.
fn any_sample(format: &str) -> String {
    all_samples(format).first().expect("a sample").display().to_string()
}

/// All samples of a format that are texts.
fn all_samples(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples").join(format);
    let files = std::fs::read_dir(folder).expect("samples");
    let mut texts: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    texts.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    texts.sort();
    texts
}

fn converted(folder: &Folder, input: &Path, target: &str) -> PathBuf {
    let file = folder.0.join(format!("converted.{target}"));
    let (from, to) = (input.display().to_string(), file.display().to_string());
    let output = iowhy(&["convert", &from, &to, "--to", target, "--force"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{target}: {reported}");
    file
}

fn histograms(file: &Path) -> Vec<Value> {
    let name = file.display().to_string();
    // A log of one line could be any row of numbers: it is told what it is.
    let log = name.ends_with("fio-hist-log");
    let format: &[&str] = if log { &["--format", "fio-log"] } else { &[] };
    let output = iowhy(&[&["hist", &name, "--json"], format].concat());
    let whole: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    whole["histograms"].as_array().expect("a list").clone()
}
