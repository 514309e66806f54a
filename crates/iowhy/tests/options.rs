//! Options that no other test would miss: what each of them changes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::rig::{self, Loop, can_run, until, until_attached};

/// Four I/Os: a read of a database, a synchronous write of a log, a copy, and a slow read of
/// metadata.
const IOS: &str = "\
input,device,op,flags,queued_ns,issued_ns,completed_ns,sector,bytes,pid,comm,depth,error,layer,arrived_ns,cgroup,file,weight
0,sda,read,R,1000000,1100000,3000000,0,8192,10,db,1,,block,,/db,/var/db/a,
0,sda,write,WS,1002000000,1002100000,1004000000,16,4096,11,log,1,,block,,/log,/var/log/b,
0,sda,write,W,2002000000,2002500000,2003000000,32,65536,12,copy,1,,block,,/db,/var/db/c,
0,sda,read,RM,3002000000,3002500000,3603000000,999,4096,12,copy,1,,block,,/db,/var/db/c,
";

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(words)
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .expect("iowhy")
}

/// What it prints on stdout.
fn printed(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The words of a command with others before them.
fn with<'a>(more: &[&'a str], words: &[&'a str]) -> Vec<&'a str> {
    [words, more].concat()
}

/// A deep queue on a disk of unknown class that completes one request every 4 ms.
const QUEUED: &str = "\
Device:  rrqm/s  wrqm/s    r/s    w/s     rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
xvdf       0.00    3.00   0.30   2.10      4.00    21.00    20.83     0.05   20.10   8.00   1.90

Device:  rrqm/s  wrqm/s    r/s    w/s     rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
xvdf       0.00  120.00 195.00  59.00   6240.00  1888.00    64.00   131.00  515.70   3.92 100.00

Device:  rrqm/s  wrqm/s    r/s    w/s     rkB/s    wkB/s avgrq-sz avgqu-sz   await  svctm  %util
xvdf       0.00  131.00 194.00  58.00   6208.00  1856.00    64.00   129.00  511.90   3.96 100.00
";

#[test]
fn a_stated_class_decides_between_load_and_disk() {
    let folder = Folder::new("class");
    let file = &folder.written("iostat.txt", QUEUED.as_bytes());
    let first = |more: &[&str]| {
        let output = run(&with(more, &["why", "--json", file]));
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (report["findings"][0]["verdict"].as_str().unwrap().to_string(), reported)
    };
    let verdict = |more: &[&str]| first(more).0;
    assert_eq!(verdict(&[]), "insufficient");
    let open = printed(&["why", file]);
    for words in ["if xvdf is", "spinning disk", "times slower than its class", "--class"] {
        assert!(open.contains(words), "{words}: {open}");
    }
    for platter in ["--class=hdd", "--class=xvdf=hdd", "--class=/dev/xvdf=hdd", "--rpm=7200"] {
        assert_eq!(verdict(&[platter]), "load.saturated", "{platter}");
    }
    for flash in ["--class=ssd", "--class=nvme", "--class=xvdf=ssd"] {
        assert_eq!(verdict(&[flash]), "device.slow", "{flash}");
    }
    // A partition in the capture is part of its disk.
    let of_part = folder.written("part.txt", QUEUED.replace("xvdf", "xvdf1").as_bytes());
    for name in ["xvdf1=hdd", "hdd"] {
        let output = run(&["why", "--json", "--class", name, &of_part]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["findings"][0]["verdict"], "load.saturated", "{name}");
    }
    // One disk before all of them, whatever the order.
    assert_eq!(verdict(&["--class=xvdf=ssd", "--class=hdd"]), "device.slow");
    let (open, reported) = first(&["--class", "sdq=hdd"]);
    assert!(open == "insufficient" && reported.contains("no `sdq` in this capture"), "{reported}");
    let wrong = run(&["why", "--class", "tape", file]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("hdd, ssd, nvme, card, network"));
    let page = folder.0.join("report.html").display().to_string();
    let _ = run(&["report", "--class", "hdd", "-o", &page, file]);
    assert!(std::fs::read_to_string(page).unwrap().contains("load.saturated"));
}

#[test]
fn filters_by_flag_group_and_name() {
    let folder = Folder::new("filters");
    let file = &folder.written("ios.csv", IOS.as_bytes());
    let senders = |more: &[&str]| -> Vec<String> {
        let text = printed(&with(more, &["snoop", file]));
        text.lines()
            .skip(1)
            .map(|line| line.split_whitespace().nth(1).unwrap().to_string())
            .collect()
    };
    assert_eq!(senders(&[]), ["db", "log", "copy", "copy"]);
    assert_eq!(senders(&["--flag", "sync"]), ["log"]);
    assert_eq!(senders(&["--flag", "no-sync"]), ["db", "copy", "copy"]);
    assert_eq!(senders(&["--cgroup", "/log"]), ["log"]);
    assert_eq!(senders(&["--preset", "read-8k"]), ["db"]);
    assert_eq!(senders(&["--preset", "sync-writes"]), ["log"]);
    assert_eq!(senders(&["--preset", "outliers"]), ["copy"]);
}

#[test]
fn a_bundled_capture_is_a_side_of_a_comparison_and_differences_are_rows() {
    let two = ["compare", "--example", "one-of-seventeen", "-d", "sdk", "-d", "sdq"];
    let rows = printed(&with(&["--csv"], &two));
    let json: serde_json::Value = serde_json::from_str(&printed(&with(&["--json"], &two))).unwrap();
    let differences = json["differences"].as_array().unwrap();
    assert_eq!(rows.lines().count(), 1 + differences.len(), "{rows}");
    assert!(rows.starts_with("group,quantity,unit,a,b,n_a,n_b,ratio,"), "{rows}");
    assert!(json["a"]["name"].as_str().unwrap().contains("one-of-seventeen, sdk"), "{json}");
    for (row, known) in rows.lines().skip(1).zip(differences) {
        assert!(row.contains(&format!(",{},", known["unit"].as_str().unwrap())), "{row}");
    }
    // It can also be compared with a file; alone it is one side.
    let folder = Folder::new("sides");
    let file = &folder.written("ios.csv", IOS.as_bytes());
    let mixed =
        printed(&["compare", "--example", "one-of-seventeen", file, "-d", "sdk", "-d", "sda"]);
    assert!(
        mixed.contains("example one-of-seventeen, sdk") && mixed.contains("ios.csv"),
        "{mixed}"
    );
    for (words, message) in [
        (&["compare", "--example", "one-of-seventeen"][..], "is one side of a comparison"),
        (&["compare", "--example"], "one-of-seventeen`: SystemTap"),
    ] {
        let output = run(words);
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && reported.contains(message), "{reported}");
    }
}

#[test]
fn snoop_tells_the_pattern() {
    let folder = Folder::new("pattern");
    let file = &folder.written("ios.csv", IOS.as_bytes());
    let text = printed(&["snoop", file, "--pattern"]);
    let column: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().nth(7)).collect();
    // Nothing is known of what came before the first; the second begins where it ended.
    assert_eq!(column, ["P", "-", "S", "R", "R"]);
}

#[test]
fn hist_and_map_show_a_stage() {
    let folder = Folder::new("stage");
    let file = &folder.written("ios.csv", IOS.as_bytes());
    for (stage, name) in [("queue", "Q2D"), ("device", "D2C"), ("total", "Q2C")] {
        for command in ["hist", "map"] {
            let text = printed(&[command, file, "--stage", stage]);
            let names = ["Q2D", "D2C", "Q2C"].into_iter().filter(|of| text.contains(of));
            assert_eq!(names.collect::<Vec<_>>(), [name], "{command} {text}");
        }
    }
}

#[test]
fn a_map_has_its_colours_and_its_histograms() {
    let folder = Folder::new("map");
    let ios: String = (0..200).fold(IOS.to_string(), |text, k| {
        let (at, took) = (4_000_000_000u64 + k * 20_000_000, 1_000_000 + k * k * 1000);
        let done = at + took;
        text + &format!("0,sda,read,R,{at},{at},{done},{},4096,10,db,1,,block,,,,\n", k * 8)
    });
    let file = &folder.written("ios.csv", ios.as_bytes());
    let picture = |more: &[&str]| printed(&with(more, &["map", file, "--svg", "-"]));
    let (even, classic) = (picture(&[]), picture(&["--palette", "classic"]));
    assert!(even == picture(&["--palette", "even"]));
    assert!(even != classic);
    assert!(even == picture(&["--scale", "log"]));
    assert!(even != picture(&["--scale", "linear"]));
    assert!(classic == picture(&["--palette", "classic", "--scale", "linear"]));
    let plain = printed(&["map", file]);
    let both = printed(&["map", file, "--hist"]);
    assert!(!plain.contains("p50") && both.contains("p50") && both.contains("Frequency"), "{both}");
}

#[test]
fn a_compatible_map_has_the_rows_columns_and_colours_asked_for() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../read/samples/pylatencymap/1.3--systemtap-micro.txt")
        .display()
        .to_string();
    let map = |more: &[&str]| printed(&with(more, &["map", "--compat", "pylatencymap", &sample]));
    let plain = map(&[]);
    // A row by its bound, as in `  1024 ` or ` >1024 `.
    let rows = |text: &str| -> BTreeSet<String> {
        let cells = text.lines().filter(|line| line.contains("\u{1b}[48;"));
        cells.filter_map(|line| Some(line.split_whitespace().next()?.to_string())).collect()
    };
    let cells = |text: &str| {
        text.lines().map(|line| line.matches("\u{1b}[48;").count()).max().unwrap_or_default()
    };
    assert!(cells(&map(&["--num-records", "5"])) + 80 <= cells(&plain), "{}", cells(&plain));
    assert!(rows(&map(&["--max-bucket", "22"])) != rows(&plain), "{:?}", rows(&plain));
    assert!(rows(&map(&["--min-bucket", "4"])) != rows(&plain), "{:?}", rows(&plain));
    assert!(map(&["--frequency-maxval", "1"]) != plain);
    assert!(map(&["--intensity-maxval", "1"]) != plain);
    let frames = plain.matches("\u{1b}[2J").count() as u32;
    let pause = Duration::from_millis(100);
    let begun = Instant::now();
    assert!(map(&["--screen-delay", "100ms"]) == plain);
    assert!(frames > 0 && begun.elapsed() >= pause * frames, "{:?}", begun.elapsed());
}

#[test]
fn a_probe_takes_its_sizes_its_engine_and_its_goal() {
    let folder = Folder::new("probe");
    let file = &folder.written("data", &vec![7; 4 << 20]);
    let json = |words: &[&str]| -> serde_json::Value {
        let output = run(&with(&["--json"], words));
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{words:?}: {output:?}"))
    };
    let sizes = |more: &[&str]| -> BTreeSet<u64> {
        let found = json(&with(more, &["probe", "read-latency", file, "--count", "5"]));
        let rows = found["tables"][0]["rows"].as_array().unwrap();
        rows.iter().map(|row| row[0].as_f64().unwrap() as u64).collect()
    };
    let doubled = sizes(&["--up-to", "16k"]);
    assert_eq!(doubled.last(), Some(&16_384));
    let pairs = doubled.iter().zip(doubled.iter().skip(1));
    assert!(pairs.clone().count() > 1 && pairs.clone().all(|(a, b)| 2 * a == *b), "{doubled:?}");
    for engine in ["calls", "auto"] {
        assert!(!sizes(&["--engine", engine]).is_empty(), "{engine}");
    }
    let refused = run(&["probe", "read-latency", file, "--engine", "threads"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("calls"), "{refused:?}");
    let text = printed(&[
        "probe",
        "slo",
        file,
        "--goal",
        "100ms",
        "--percentile",
        "90",
        "--arrivals",
        "constant",
        // Others may use the disk below.
        "--share",
        "--for",
        "200ms",
    ]);
    assert!(text.contains("p90"), "{text}");
}

#[test]
fn a_probe_mixes_as_asked_and_a_seed_is_an_order() {
    let folder = Folder::new("seed");
    let place = folder.0.display().to_string();
    let mixed = |reads: &str| -> Vec<f64> {
        let words = ["probe", "mixed", &place, "--count", "100", "--span", "1m", "--share"];
        let found = printed(&[&words[..], &["--json", "--reads", reads]].concat());
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let rows = found["tables"][0]["rows"].as_array().unwrap().iter();
        let mixed = rows.filter(|row| row[1] == "mixed");
        mixed.map(|row| row[3].as_f64().unwrap()).collect()
    };
    // Reads, then writes.
    assert_eq!(mixed("80"), [80.0, 20.0]);
    assert_eq!(mixed("40"), [40.0, 60.0]);
    let file = &folder.written("data", &vec![7; 4 << 20]);
    let order = |seed: &str| -> Vec<String> {
        let kept = folder.0.join("kept.iowhy").display().to_string();
        let words = ["probe", "read-latency", file, "--count", "20", "--seed", seed];
        printed(&with(&["--share", "--keep", &kept], &words));
        let ios = printed(&["convert", "--to", "csv", &kept, "-"]);
        std::fs::remove_file(&kept).unwrap();
        let mut lines = ios.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let heading = lines.next().unwrap();
        let sector = heading.iter().position(|name| *name == "sector").unwrap();
        lines.map(|cells| cells[sector].to_string()).collect()
    };
    let seven = order("7");
    assert!(seven.len() >= 20 && seven == order("7") && seven != order("8"), "{seven:?}");
}

#[test]
fn a_listener_that_others_can_reach_is_refused_unasked() {
    let folder = Folder::new("listen");
    let store = folder.0.join("store").display().to_string();
    let output = run(&["watch", "--store", &store, "--listen", "0.0.0.0:0"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("--listen-wide"), "{reported}");
}

#[test]
fn record_keeps_the_newest_files() {
    if !can_run(&["fio"]) {
        return;
    }
    let (folder, disk) = (Folder::new("keep"), Loop::new(16, None));
    let file = folder.0.join("day.iowhy").display().to_string();
    let load = disk.under_load(&[
        "--rw=randread",
        "--ioengine=psync",
        "--bs=4k",
        "--size=16m",
        "--rate_iops=200",
    ]);
    printed(&[
        "record",
        "-d",
        &disk.name,
        "-o",
        &file,
        "--rotate",
        "1s",
        "--keep-files",
        "2",
        "--for",
        "6s",
    ]);
    drop(load);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[test]
fn record_keeps_control_groups_where_asked() {
    if !can_run(&["fio"]) {
        return;
    }
    let (folder, disk) = (Folder::new("cgroups"), Loop::beside_others(16));
    let load = disk.under_load(&["--rw=randread", "--size=16m", "--rate_iops=200"]);
    let groups = |more: &[&str]| -> (usize, usize) {
        let file = folder.0.join(format!("{}.iowhy", more.len())).display().to_string();
        printed(&with(more, &["record", "-d", &disk.name, "-o", &file, "--for", "2s"]));
        let ios = printed(&["convert", "--to", "json", &file, "-"]);
        let ios: Vec<serde_json::Value> =
            ios.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let ios = ios.iter().filter(|io| io["op"] == "read");
        (ios.clone().count(), ios.filter(|io| io["cgroup"].is_string()).count())
    };
    let (plain, with_groups) = (groups(&[]), groups(&["--cgroups"]));
    drop(load);
    assert!(plain.0 > 0 && plain.1 == 0, "{plain:?}");
    assert!(with_groups.0 > 0 && with_groups.1 == with_groups.0, "{with_groups:?}");
}

#[test]
fn snoop_tells_stacks_folded_for_a_flame_graph() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::new(16, None);
    let load = disk.under_load(&[
        "--rw=randread",
        "--ioengine=psync",
        "--bs=4k",
        "--size=16m",
        "--rate_iops=500",
    ]);
    let stacks = printed(&["snoop", "-d", &disk.name, "--stacks", "--for", "2s"]);
    let folded = printed(&["snoop", "-d", &disk.name, "--stacks", "--folded", "--for", "2s"]);
    drop(load);
    assert!(stacks.contains("submit_bio"), "{stacks}");
    // `program;frame;frame count`
    let line = folded.lines().find(|line| line.starts_with("fio;")).expect("a stack of fio");
    let (frames, count) = line.rsplit_once(' ').expect("a number behind it");
    assert!(frames.contains(";submit_bio") && count.parse::<u64>().is_ok(), "{line}");
}

/// Reads of a device through functions that have frame pointers.
const READER: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) long read_block(int disk, void *to, long at)
{
    return pread(disk, to, 4096, at * 4096);
}
__attribute__((noinline)) long read_blocks_in_order(int disk, void *to)
{
    long sum = 0;
    for (long at = 0; at < 64; at++)
        sum += read_block(disk, to, at);
    return sum;
}
int main(int number, char **words)
{
    void *to;
    int disk = open(words[number - 1], O_RDONLY | O_DIRECT);
    if (disk < 0 || posix_memalign(&to, 4096, 4096))
        return 1;
    while (read_blocks_in_order(disk, to) > 0)
        usleep(1000);
    return 1;
}
"#;

#[test]
fn stacks_have_the_names_of_the_functions_of_a_program() {
    if !can_run(&["cc"]) {
        return;
    }
    let (folder, disk) = (Folder::new("functions"), Loop::beside_others(16));
    let (source, program) = (folder.0.join("reader.c"), folder.0.join("reader"));
    std::fs::write(&source, READER).expect("its source");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o"]);
    assert!(cc.args([&program, &source]).status().expect("cc").success());
    let reader = Command::new(&program).arg(&disk.path).spawn().expect("the reader");
    let _reader = disk.worked_on_by(reader);
    let words = ["snoop", "-d", &disk.name, "--stacks", "--folded", "--for", "2s"];
    let folded = printed(&words);
    // Of libc's function without a frame pointer the caller is not on the stack.
    let named = ";main_(reader);read_blocks_in_order_(reader);";
    assert!(folded.lines().any(|line| line.contains(named)), "{folded}");
}

#[test]
fn ios_are_counted_by_file_live_and_from_a_capture() {
    if !can_run(&["fio"]) {
        return;
    }
    let (folder, disk) = (Folder::new("by-file"), Loop::beside_others(16));
    // Through the page cache, where the pages say whose they are.
    let how = ["--rw=write", "--direct=0", "--fsync=4", "--size=16m", "--rate_iops=200"];
    let load = disk.under_load(&how);
    let file = &folder.0.join("files.iowhy").display().to_string();
    printed(&["record", "--files", "-d", &disk.name, "-o", file, "--for", "2s"]);
    let live = ["-d", &disk.name, "--for", "1s"];
    for from in [&live[..], &[file]] {
        // On a busy machine a flush may take longer than the window, and then there is no I/O.
        let contains = |command: &[&str], words: &str| {
            until(30, words, || {
                let printed = run(&with(from, command));
                String::from_utf8_lossy(&printed.stdout).contains(words).then_some(())
            });
        };
        contains(&["stat", "--csv", "--by", "file"], &disk.path);
        contains(&["hist", "--by", "file"], &format!("completion, {}, ", disk.path));
        contains(&["map", "--by", "file"], &format!("{}  Q2C", disk.path));
    }
    drop(load);
    // Reports as many as fit into the time.
    let begun = Instant::now();
    let reports = printed(&["stat", "0.5", "--for", "1s", "--csv", "-d", &disk.name]);
    assert!(reports.lines().count() <= 3, "{reports}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    let both = run(&["hist", "1", "2", "--for", "5s"]);
    assert_eq!(both.status.code(), Some(2), "{both:?}");
    let without = run(&["hist", "--by", "file", "--example", "dusty-disk"]);
    let reported = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(reported.contains("does not contain the field"), "{reported}");
}

#[test]
fn ios_are_counted_by_cpu_and_queue_live_and_from_a_capture_that_has_them() {
    if !can_run(&["fio"]) {
        return;
    }
    let (folder, disk) = (Folder::new("by-cpu"), Loop::beside_others(16));
    let load = disk.under_load(&["--rw=randread", "--bs=4k", "--size=16m", "--rate_iops=500"]);
    let (with_places, without) =
        (folder.0.join("places.iowhy").display().to_string(), folder.0.join("without.iowhy"));
    let without = without.display().to_string();
    printed(&["record", "--places", "-d", &disk.name, "-o", &with_places, "--for", "1s"]);
    printed(&["record", "-d", &disk.name, "-o", &without, "--for", "1s"]);
    let live = ["-d", &disk.name, "--for", "1s"];
    let (queue, cpus) = (format!("{}, queue 0", disk.name), rig::run("nproc", &["--all"]));
    let cpus: u64 = cpus.trim().parse().unwrap();
    for from in [&live[..], &[&with_places]] {
        let hists = printed(&with(from, &["hist", "--by", "queue"]));
        assert!(hists.contains(&queue) && !hists.contains("no queue"), "{from:?}: {hists}");
        let rows = printed(&with(from, &["stat", "--csv", "--by", "cpu"]));
        let named: Vec<u64> = rows
            .split("CPU ")
            .skip(1)
            .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap())
            .collect();
        assert!(!named.is_empty() && named.iter().all(|cpu| *cpu < cpus), "{from:?}: {rows}");
        let map = printed(&with(from, &["map", "--by", "cpu,queue"]));
        assert!(map.contains(&format!(", {queue}  Q2C")), "{from:?}: {map}");
    }
    drop(load);
    // Each I/O is one of a CPU: together as many as there are.
    let by = |key: &str| -> u64 {
        let text = printed(&["hist", "--json", "--by", key, &with_places]);
        let all: serde_json::Value = serde_json::from_str(&text).unwrap();
        let total = |one: &&serde_json::Value| one["stage"] == "Q2C";
        let histograms = all["histograms"].as_array().unwrap().iter();
        histograms.filter(total).map(|one| one["count"].as_u64().unwrap()).sum()
    };
    assert!(by("cpu") > 100 && by("cpu") == by("op"), "{} {}", by("cpu"), by("op"));
    // A capture without them says so, and can be read by an older version: byte 8 is the version.
    let refused = run(&["hist", "--by", "cpu", &without]);
    let reported = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && reported.contains("--places"), "{reported}");
    let version = |file: &str| std::fs::read(file).unwrap()[8];
    assert_eq!((version(&with_places), version(&without)), (6, 5));
}

/// Long options of a command, as its help lists them.
fn options_of(command: &str) -> BTreeSet<String> {
    let help = printed(&[command, "--help"]);
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let named = lines.filter_map(|line| line.split_once("--"));
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
    let names = named.map(|(_, rest)| rest.chars().take_while(is_name).collect::<String>());
    names.map(|name| format!("--{name}")).collect()
}

/// Lines of the tests and cases of all crates, without comments.
fn tests() -> Vec<String> {
    fn walk(folder: &Path, lines: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_read = path.extension().is_some_and(|of| of == "rs" || of == "md");
            if path.is_dir() {
                walk(&path, lines);
            } else if is_read {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                lines.extend(code.map(str::to_string));
            }
        }
    }
    let mut lines = Vec::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in std::fs::read_dir(crates).unwrap().flatten() {
        walk(&entry.path().join("tests"), &mut lines);
    }
    lines
}

#[test]
fn every_option_of_every_command_occurs_in_a_test() {
    let listed = printed(&["explain", "commands", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let commands = listed["entries"].as_array().unwrap().iter();
    let commands: Vec<&str> = commands.filter_map(|entry| entry["name"].as_str()).collect();
    assert!(commands.contains(&"watch"), "{commands:?}");
    let tests = tests();
    let occurs = |option: &str| {
        tests.iter().any(|line| {
            line.match_indices(option).any(|(place, _)| {
                let after = line[place + option.len()..].chars().next();
                !after.is_some_and(|next| next == '-' || next.is_alphanumeric())
            })
        })
    };
    let options =
        commands.iter().flat_map(|name| options_of(name).into_iter().map(move |o| (name, o)));
    let missing: Vec<_> = options.filter(|(_, option)| !occurs(option)).collect();
    assert!(missing.is_empty(), "no test has {missing:?}");
}

/// What a live command prints on stdout until it is stopped, once `work` is done.
fn watched(words: &[&str], work: impl FnOnce()) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("iowhy");
    until_attached(&child);
    work();
    rig::run("kill", &["-INT", &child.id().to_string()]);
    let output = child.wait_with_output().expect("its end");
    assert!(output.status.code().is_some_and(|code| code < 2), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn snoop_names_the_file_of_a_cached_io_and_its_time_of_day() {
    if !can_run(&["dd"]) {
        return;
    }
    let disk = Loop::beside_others(16);
    let from = format!("if={}", disk.path);
    let read = || {
        std::fs::write("/proc/sys/vm/drop_caches", "1").expect("drop_caches");
        rig::run("dd", &[&from, "of=/dev/null", "bs=64k", "count=16", "status=none"]);
        disk.settle();
    };
    let rows = |more: &[&str]| -> Vec<Vec<String>> {
        let text = watched(&with(more, &["snoop", "--device", &disk.name, "--op", "read"]), read);
        let rows = text.lines().filter(|line| line.contains(" dd "));
        rows.map(|line| line.split_whitespace().map(str::to_string).collect()).collect()
    };
    let plain = rows(&[]);
    // The time since the start is a number, that of the day is not.
    assert!(
        !plain.is_empty() && plain.iter().all(|row| row[0].parse::<f64>().is_ok()),
        "{plain:?}"
    );
    assert!(plain.iter().all(|row| row.last() != Some(&disk.path)), "{plain:?}");
    let named = rows(&["--files", "--timestamp"]);
    assert!(!named.is_empty() && named.iter().all(|row| is_time_of_day(&row[0])), "{named:?}");
    assert!(named.iter().any(|row| row.last() == Some(&disk.path)), "{named:?}");
}

/// `02:28:59.187656`.
fn is_time_of_day(text: &str) -> bool {
    let parts: Vec<f64> = text.split(':').filter_map(|part| part.parse().ok()).collect();
    matches!(parts[..], [hour, minute, second] if hour < 24.0 && minute < 60.0 && second < 60.0)
}

#[test]
fn reports_of_stat_and_hist_begin_with_their_time() {
    if !can_run(&[]) {
        return;
    }
    let disk = Loop::beside_others(16);
    // Each report of `stat` has its time anyway.
    for (command, alone) in [("stat", 2), ("hist", 0)] {
        let words = [command, "--device", &disk.name, "1", "2"];
        let times = |text: &str| {
            let lines = text.lines().filter(|line| {
                let mut words = line.split(' ');
                let date = words.next().is_some_and(|date| date.split('-').count() == 3);
                date && words.next().is_some_and(is_time_of_day)
            });
            lines.count()
        };
        assert_eq!(times(&printed(&words)), alone, "{command}");
        let text = printed(&with(&["--timestamp"], &words));
        assert!(times(&text) == 2 && times(text.lines().next().unwrap_or("")) == 1, "{text}");
    }
}

/// The file of the guide, as a user copies it from the screen.
fn formats_of_the_guide() -> String {
    let printed = printed(&["explain", "own-formats", "--json"]);
    let page: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let manual = page["manual"].as_str().unwrap();
    let lines = manual.lines().filter_map(|line| line.strip_prefix("    "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn formats_reads_what_a_users_file_describes() {
    let folder = Folder::new("formats");
    let formats = folder.written("mine.toml", formats_of_the_guide().as_bytes());
    let log = folder.written(
        "app.log",
        b"2026-11-27 10:00:01.250 WARN slow fsync of orders.db: 812 ms\n\
          2026-11-27 10:00:02.000 INFO journal commit on /dev/sdb took 1.25s\n",
    );
    let table = "TIME VOL RD/S WR/S RKB/S WKB/S RD_MS WR_MS QLEN UTIL\n\
                 10:00:05 vol1 120.0 30.0 960.0 480.0 4.25 0.80 0.55 48.2\n";
    let table = folder.written("shelf.txt", table.as_bytes());
    assert_eq!(run(&["stat", &table]).status.code(), Some(2), "known without a description");
    let stat = printed(&["stat", "--formats", &formats, "--json", &table]);
    assert!(
        stat.contains("\"device\":\"vol1\"") && stat.contains("\"await_ns\":4250000.0"),
        "{stat}"
    );
    let hist = printed(&["hist", "--formats", &formats, &log]);
    assert!(hist.contains("sdb  flush") && hist.contains("1.25 s"), "{hist}");
    // One of the file's own can be forced, as those of the program can.
    let forced = printed(&["hist", "--formats", &formats, "--format", "shop-log", &log]);
    assert_eq!(forced, hist);
    let wrong =
        folder.written("wrong.toml", b"[[log]]\nname = \"a\"\n[[log.says]]\nline = \"x {took}\"\n");
    let output = run(&["stat", "--formats", &wrong, &table]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{reported}");
    assert!(reported.contains("line 4: `took` is not a kind of placeholder"), "{reported}");
}

#[test]
fn a_described_format_shows_what_it_looks_for() {
    let page = printed(&["explain", "etcd-log"]);
    assert!(page.contains("LOOKS FOR") && page.contains("sync duration of {took:time}"), "{page}");
    let page = printed(&["explain", "gstat"]);
    assert!(page.contains("ms/r") && page.contains("read ms"), "{page}");
    assert!(printed(&["explain", "formats"]).contains("iowhy explain own-formats"));
}
