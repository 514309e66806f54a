//! What the first screen says in numbers is true of the input, whatever the numbers are.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// What `why` prints of a capture, its words with single blanks between them.
fn screen(capture: &str, more: &[&str]) -> String {
    let message = why(capture, more);
    message.split_whitespace().filter(|word| *word != "▌").collect::<Vec<_>>().join(" ")
}

fn why(capture: &str, more: &[&str]) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "-"])
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(capture.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn impact(capture: &str) -> Value {
    let report: Value = serde_json::from_str(&why(capture, &["--json"])).unwrap();
    report["findings"][0]["impact"].clone()
}

/// Rows of iostat, a second each, of one reader who waits for each read.
fn one_reader(rows: &[(f64, f64)]) -> String {
    let mut text = "Linux 6.8.0-45-generic (h1)  11/26/2026  _x86_64_  (8 CPU)\n".to_string();
    // The first report is since boot.
    for (per_s, await_ms) in std::iter::once(&(0.1, 1.0)).chain(rows) {
        let util = (per_s * await_ms / 10.0).min(100.0);
        let queue = per_s * await_ms / 1000.0;
        write!(
            text,
            "\nDevice            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s  \
              wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\nsdb            {per_s:.2}  {:.2}     \
             0.00   0.00 {await_ms:>7.2}   128.00    0.00      0.00     0.00   0.00    0.00     \
             0.00 {queue:>7.2} {util:>6.2}\n",
            per_s * 128.0
        )
        .unwrap();
    }
    text
}

#[test]
fn time_waited_per_second_is_the_mean_and_the_worst_is_called_so() {
    for (rows, mean, worst) in [
        (vec![(10.0, 90.0); 6], 0.9, 0.9),
        // Completions of a second and a half of waiting fell into one row.
        (vec![(10.0, 90.0), (10.0, 150.0), (10.0, 60.0), (10.0, 90.0)], 0.975, 1.5),
        // Nobody waited in the idle rows, and they were watched.
        (vec![(10.0, 90.0), (0.0, 0.0), (0.0, 0.0)], 0.3, 0.9),
        (vec![(1.0, 20.0), (1.0, 20.0), (1.0, 20.0), (1.0, 20.0), (10.0, 100.0)], 0.216, 1.0),
    ] {
        let capture = one_reader(&rows);
        let found = impact(&capture);
        let near = |key: &str, value: f64| {
            let known = found[key].as_f64().unwrap_or(f64::NAN);
            assert!((known - value).abs() < 0.01 * value, "{key} {known}, {value} of {rows:?}");
        };
        near("waited_s_per_s", mean);
        near("worst_waited_s_per_s", worst);
        let screen = screen(&capture, &[]);
        let message = screen.contains("in the worst interval");
        assert_eq!(message, worst >= 2.0 * mean, "{rows:?}\n{screen}");
    }
}

#[test]
fn a_share_over_a_threshold_respects_the_bucket_it_lies_in() {
    // Of ten I/Os in the bucket of the threshold none, or all, may have been slow.
    for (below, within, above) in
        [(90, 10, 0), (0, 5000, 5000), (5000, 5000, 0), (4000, 3000, 3000), (1000, 0, 0)]
    {
        let total = below + within + above;
        let capture = format!(
            "# HELP etcd_disk_wal_fsync_duration_seconds The latency distributions of fsync called \
             by wal.\n\
             # TYPE etcd_disk_wal_fsync_duration_seconds histogram\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"0.032\"}} 0\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"0.064\"}} {below}\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"0.128\"}} {}\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"0.256\"}} {total}\n\
             etcd_disk_wal_fsync_duration_seconds_bucket{{le=\"+Inf\"}} {total}\n\
             ",
            below + within
        );
        let found = impact(&capture);
        let of_all = |n: i32| f64::from(n) / f64::from(total);
        assert_eq!(found["slow_share"].as_f64(), Some(of_all(above)), "{below} {within} {above}");
        let most = found["slow_share_most"].as_f64();
        assert_eq!(most, (within > 0).then(|| of_all(within + above)), "{below} {within} {above}");
        let screen = screen(&capture, &[]);
        let words = match (within > 0, above > 0) {
            (true, false) => "impact up to ",
            (true, true) => " % to ",
            (false, _) => "impact 0 % of I/Os",
        };
        assert!(screen.contains(words), "{words} of {below} {within} {above}\n{screen}");
        assert!(!screen.contains("impact 0 % of I/Os over 100 ms, p99 128 ms"), "{screen}");
    }
}

#[test]
fn nothing_is_reported_for_time_that_was_not_watched() {
    for ios in [3, 12, 200, 999, 5000] {
        let capture = format!(
            "disk = 'sdb'\n     usecs               : count     distribution\n      2048 -> 4095   \
                 : {ios:<8} |****************************************|\n     32768 -> 65535      : \
             5        |*     |\n"
        );
        let screen = screen(&capture, &["-v"]);
        assert!(screen.contains("sdb"), "{screen}");
        assert!(!screen.contains("excess wait"), "{screen}");
    }
}

#[test]
fn an_assumed_share_is_not_printed() {
    let capture = "Personalities : [raid1]\nmd0 : active raid1 sdb1[1] sda1[0]\n      976630464 \
                   blocks super 1.2 [2/2] [UU]\n      [=>...................]  check =  7.1% \
                   (69376000/976630464) finish=240.1min speed=62976K/sec\n\nunused devices: \
                   <none>\n";
    let screen = screen(capture, &["-v"]);
    assert!(screen.contains("load.rebuild"), "{screen}");
    assert!(!screen.contains("explains"), "{screen}");
}

#[test]
fn io_is_counted_once_in_whatever_lines_fio_tells_it() {
    for (n, lines) in [
        (10, &["slat", "clat", "lat"][..]),
        (10, &["clat", "lat"]),
        (777, &["clat"]),
        (900, &["slat", "clat", "lat"]),
    ] {
        let mut capture = "job: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) \
                           4096B-4096B, ioengine=psync, iodepth=1\nfio-3.28\nStarting 1 \
                           process\n\njob: (groupid=0, jobs=1): err= 0: pid=1: Fri Apr  3 15:22:53 \
                           2026\n  write: IOPS=61.2k, BW=239MiB/s (251MB/s)(39.1KiB/10msec); 0 \
                           zone resets\n"
            .to_string();
        for line in lines {
            let label = format!("{line:>8} (usec)");
            writeln!(capture, "{label}: min=4, max=212, avg= 8.10, stdev= 3.77").unwrap();
        }
        writeln!(capture, "     issued rwts: total=0,{n},0,0 short=0,0,0,0 dropped=0,0,0,0")
            .unwrap();
        let screen = screen(&capture, &[]);
        assert!(screen.contains(&format!("the {n} I/Os of job")), "{n} {lines:?}\n{screen}");
    }
}

#[test]
fn what_was_seen_is_on_the_long_page_too() {
    let cases = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut reported = 0;
    for entry in std::fs::read_dir(cases).unwrap().flatten() {
        let Ok(capture) = std::fs::read_to_string(entry.path().join("capture.txt")) else {
            continue;
        };
        let report: Value = serde_json::from_str(&why(&capture, &["--json"])).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        let seen: Vec<&Value> =
            findings.filter_map(|finding| finding["seen"].as_array()).flatten().collect();
        if seen.is_empty() {
            continue;
        }
        reported += 1;
        let page = screen(&capture, &["-v"]);
        for one in seen {
            let what = one["evidence"]["quantity"].as_str().unwrap();
            let means = one["would_mean"].as_str().unwrap();
            let both = page.contains(what) && page.contains(means);
            assert!(both, "{}: {what}: {means}\n{page}", entry.path().display());
        }
    }
    assert!(reported > 10, "{reported} cases with something seen");
}

#[test]
fn what_was_read_and_judges_nothing_is_seen() {
    let cases = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    for (case, seen) in [
        ("pidstat-with-units", "read by mysqld (500), per second: 17.5 MiB/s"),
        ("one-record-two-phys", "losses of synchronisation of the SAS phys: 3"),
        ("slow-stream-and-no-control", "one stream of reads of 2 MiB (sdc): 464 KiB/s"),
        ("fast-streams", "one stream of reads of 2 MiB (sdd): 180 MiB/s"),
    ] {
        let capture = std::fs::read_to_string(cases.join(case).join("capture.txt")).unwrap();
        let page = screen(&capture, &[]);
        assert!(page.contains(seen), "{case}: {page}");
    }
}

#[test]
fn an_input_that_was_not_read_counts_once() {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/one-of-two-inputs-unread");
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "writer.txt", "biolatency.txt"])
        .current_dir(case)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("1 listing not read"), "{text}");
}
