//! Whatever comes in: a clear message, the right exit status, nothing lost, no panic.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use crate::folder::Folder;

/// A valid biosnoop screen of one device.
const GOOD: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                    0.000000 dd 16014 sdb R 37144544 131072 77.96\n\
                    0.143268 dd 16014 sdb R 37144800 131072 143.20\n\
                    0.361565 dd 16014 sdb R 37145056 131072 218.24\n\
                    ";

fn iowhy(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_iowhy")).args(words).stdin(Stdio::null()).output().unwrap()
}

/// Exit status, stdout and stderr; a panic anywhere fails the test.
fn parts(output: &Output) -> (i32, String, String) {
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!err.contains("panicked"), "{err}");
    (output.status.code().expect("ended by a signal"), out, err)
}

fn report(out: &str) -> serde_json::Value {
    serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

#[test]
fn a_file_of_a_folder_that_cannot_be_read_is_named() {
    let folder = Folder::new("unreadable");
    folder.written("good.txt", GOOD.as_bytes());
    // A gzip that ends within its head.
    folder.written("broken.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 2]);
    let (status, _, err) = parts(&iowhy(&["stat", folder.0.to_str().unwrap()]));
    assert_eq!(status, 1, "{err}");
    assert!(err.contains("1 file read") && err.contains("1 could not be read ("), "{err}");
    assert!(err.contains("broken.gz`: "), "{err}");
}

#[test]
fn an_empty_file_says_so() {
    let folder = Folder::new("empty");
    let path = folder.written("empty.txt", b"");
    let (status, out, err) = parts(&iowhy(&["why", &path]));
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("is empty") && err.contains("hint: "), "{err}");
}

#[test]
fn garbage_is_not_taken_for_a_capture() {
    let folder = Folder::new("garbage");
    let mut state = 7u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8
    })
    .take(200_000)
    .collect();
    let path = folder.written("garbage.bin", &bytes);
    let (status, out, err) = parts(&iowhy(&["why", "--json", &path]));
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("no known format in") && err.contains("lines read"), "{err}");
}

#[test]
fn a_file_cut_in_the_middle_of_a_line_keeps_what_came_before() {
    let folder = Folder::new("cut");
    let path = folder.written("cut.txt", &GOOD.as_bytes()[..GOOD.len() - 12]);
    let (status, out, _) = parts(&iowhy(&["why", "--json", &path]));
    let input = report(&out)["inputs"][0].clone();
    assert_eq!(input["records"], 2, "{input}");
    assert_eq!(input["skipped"], 1, "{input}");
    assert_eq!(input["notes"][0]["line"], 4, "{input}");
    assert_eq!(status, 1);
}

#[test]
fn damaged_lines_are_counted_and_the_rest_is_read() {
    let folder = Folder::new("damaged");
    let text = GOOD.replace("143.20", "14x.20");
    let path = folder.written("damaged.txt", text.as_bytes());
    let (status, out, _) = parts(&iowhy(&["why", "--json", &path]));
    let input = report(&out)["inputs"][0].clone();
    assert_eq!((&input["records"], &input["skipped"]), (&2.into(), &1.into()), "{input}");
    assert_eq!(status, 1);
}

#[test]
fn a_line_of_a_gigabyte_costs_neither_memory_nor_the_lines_around_it() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["why", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(GOOD.as_bytes()).unwrap();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..1024 {
        stdin.write_all(&chunk).unwrap();
    }
    let memory = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = memory.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let peak_kb: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    stdin.write_all(b"\n0.463294 dd 16014 sdb R 37145312 131072 101.70\n").unwrap();
    drop(stdin);
    let (status, out, _) = parts(&child.wait_with_output().unwrap());
    let input = report(&out)["inputs"][0].clone();
    assert_eq!((&input["records"], &input["skipped"]), (&4.into(), &1.into()), "{input}");
    assert_eq!(status, 1);
    assert!(peak_kb < 100_000, "{peak_kb} kB");
}

#[test]
fn formats_may_be_mixed_in_one_file_and_over_several() {
    let folder = Folder::new("mixed");
    let iostat = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz \
                  rareq-sz wareq-sz svctm %util\n\
                  sdb 4.50 0.00 576.00 0.00 0.00 0.00 0.00 0.00 434.31 0.00 1.98 128.00 0.00 \
                  222.22 100.00\n\
                  ";
    let path =
        folder.written("mixed.txt", format!("notes of mine\n{iostat}\nmore\n{GOOD}").as_bytes());
    let other = folder.written("other.txt", GOOD.as_bytes());
    let words = ["why", "--json", &path, &other];
    let (status, out, _) = parts(&iowhy(&words));
    let inputs = report(&out)["inputs"].as_array().unwrap().clone();
    let formats: Vec<_> = inputs.iter().map(|input| input["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["iostat", "biosnoop", "biosnoop"]);
    assert_eq!(status, 0);
}

#[test]
fn one_unreadable_file_does_not_stop_the_others() {
    let folder = Folder::new("others");
    let good = folder.written("good.txt", GOOD.as_bytes());
    let words = ["why", "--json", "no-such-file.txt", &good];
    let (status, out, err) = parts(&iowhy(&words));
    assert_eq!(report(&out)["inputs"][0]["records"], 3);
    assert!(err.contains("cannot read `no-such-file.txt`"), "{err}");
    assert_eq!(status, 1);
}

#[test]
fn a_file_without_permission_says_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, to become somebody who may not read a file");
        return;
    }
    let folder = Folder::new("permission");
    let path = folder.written("secret.txt", GOOD.as_bytes());
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    // The binary is copied to where everybody may run it.
    let binary = folder.written("iowhy", &std::fs::read(env!("CARGO_BIN_EXE_iowhy")).unwrap());
    std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = Command::new(&binary)
        .args(["why", &path])
        .stdin(Stdio::null())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    let (status, _, err) = parts(&output);
    assert_eq!(status, 2);
    assert!(err.contains("Permission denied") && err.contains("hint: "), "{err}");
}

#[test]
fn wrong_names_are_answered_with_the_right_ones() {
    let (status, _, err) = parts(&iowhy(&["why", "--device", "nosuchdisk"]));
    assert_eq!(status, 2);
    assert!(
        err.contains("no device or mount point `nosuchdisk`") && err.contains("this machine has"),
        "{err}"
    );
    let (status, _, err) = parts(&iowhy(&["explain", "device.retri"]));
    assert_eq!(status, 2);
    assert!(err.contains("no manual for `device.retri`"), "{err}");
    let (status, _, err) = parts(&iowhy(&["why", "--format", "nosuch", "x"]));
    assert_eq!(status, 2);
    assert!(err.contains("unknown format `nosuch`"), "{err}");
}

#[test]
fn a_reader_that_goes_away_is_success() {
    let folder = Folder::new("pipe");
    let mut text = String::from(GOOD);
    for k in 0..20_000 {
        text.push_str(&format!("{}.5 dd 16014 sdb R {} 4096 1.00\n", k + 1, k * 8));
    }
    let path = folder.written("long.txt", text.as_bytes());
    let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["snoop", &path])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let (status, _, err) = parts(&child.wait_with_output().unwrap());
    assert_eq!((status, err.as_str()), (0, ""));
}

#[test]
fn a_filter_never_judges_a_part_as_if_it_were_the_whole() {
    let folder = Folder::new("filter");
    let path = folder.written("good.txt", GOOD.as_bytes());
    let path = path.as_str();
    let (status, out, err) = parts(&iowhy(&["why", "--over", "100ms", path]));
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("needs the fast ones"), "{err}");
    let (_, out, _) = parts(&iowhy(&["why", "--json", "--size", "128k", path]));
    let notes = report(&out)["inputs"][0]["notes"].to_string();
    assert!(notes.contains("3 of 3 I/Os match the filter (of 131072 bytes)"), "{notes}");
    let (status, _, err) = parts(&iowhy(&["stat", "--pid", "1", "1", "1"]));
    assert_eq!(status, 2);
    assert!(err.contains("they count all I/Os"), "{err}");
}

#[test]
fn a_filter_changes_what_is_shown_and_never_the_verdict() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/two-readers/biosnoop.txt");
    let verdicts = |arguments: &[&str]| {
        let (_, out, _) = parts(&iowhy(&[arguments, &["--json", capture]].concat()));
        report(&out)["findings"].to_string()
    };
    let whole = verdicts(&["why"]);
    assert!(whole.contains("load.saturated"), "{whole}");
    for part in [&["--comm", "dd"][..], &["--op", "read"], &["--pid", "88"], &["--size", "1m"]] {
        assert_eq!(verdicts(&[&["why"], part].concat()), whole, "{part:?}");
    }
}

#[test]
fn a_device_the_capture_does_not_have_is_no_verdict() {
    let folder = Folder::new("device");
    let path = folder.written("good.txt", GOOD.as_bytes());
    let (status, out, err) = parts(&iowhy(&["why", "--device", "nosuch", &path]));
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(err.contains("no `nosuch` in this capture") && err.contains("it has sdb"), "{err}");
    // A missing file is one, whatever its name begins with.
    let (status, _, err) = parts(&iowhy(&["stat", "2026-cap.txt"]));
    assert_eq!(status, 2);
    assert!(err.contains("cannot read `2026-cap.txt`"), "{err}");
}

#[test]
fn options_that_act_only_live_are_refused_for_captures() {
    let folder = Folder::new("named");
    let path = folder.written("good.txt", GOOD.as_bytes());
    let path = path.as_str();
    for words in [
        &["why", "--for", "1s"][..],
        &["why", "--overhead"],
        &["report", "-o", "-", "--for", "1s"],
        &["stat", "--sampled"],
        &["stat", "--root", "/"],
        &["hist", "--ftrace"],
        &["hist", "--cumulative"],
        &["snoop", "--for", "1s"],
        &["map", "--overhead"],
    ] {
        let (status, out, err) = parts(&iowhy(&[words, &[path]].concat()));
        assert_eq!((status, out.as_str()), (2, ""), "{words:?}");
        assert!(err.contains("works only live"), "{words:?}: {err}");
    }
    let (status, _, err) = parts(&iowhy(&["stat", "--format", "biosnoop", "1", "1"]));
    assert_eq!(status, 2);
    assert!(err.contains("`--format` applies to captures"), "{err}");
}

#[test]
fn rows_histograms_and_requests_come_as_csv() {
    let folder = Folder::new("csv");
    let path = folder.written("good.txt", GOOD.as_bytes());
    let iostat = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n\
                  sda 10.00 0.00 40.00 0.00 5.00 0.00 0.05 5.00\n";
    let rows = folder.written("io.txt", iostat.as_bytes());
    for (command, file, heading) in [
        ("stat", &rows, "input,device,layer,start_ns,"),
        ("hist", &path, "input,device,op,stage,"),
        ("snoop", &path, "input,device,op,"),
        ("map", &path, "device,stage,start_s,"),
    ] {
        let (status, out, err) = parts(&iowhy(&[command, "--csv", file]));
        assert_eq!(status, 0, "{command}: {err}");
        let widths: Vec<usize> = out.lines().map(|line| line.split(',').count()).collect();
        assert!(out.starts_with(heading) && widths.len() > 1, "{command}: {out}");
        assert!(widths.iter().all(|width| *width == widths[0]), "{command}: {out}");
        let (status, ..) = parts(&iowhy(&[command, "--csv", "--json", file]));
        assert_eq!(status, 2, "{command}");
    }
}

#[test]
fn a_producer_that_prints_nothing_is_an_error_and_no_live_verdict() {
    for words in [&["why"][..], &["stat"], &["snoop"], &[]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // As `false | iowhy` leaves it: an end, and no byte before it.
        drop(child.stdin.take());
        let (status, out, err) = parts(&child.wait_with_output().unwrap());
        assert_eq!((status, out.as_str()), (2, ""), "{words:?}: {err}");
        assert!(err.contains("ended without any data") && err.contains("hint: "), "{err}");
    }
}

#[test]
fn a_device_is_taken_by_its_path_too() {
    let folder = Folder::new("path");
    let path = folder.written("good.txt", GOOD.as_bytes());
    let path = path.as_str();
    for words in [&["why"][..], &["hist"], &["snoop"], &["map"], &["stat"], &["compare", path]] {
        let (status, _, err) = parts(&iowhy(&[words, &[path, "--device", "/dev/sdb"]].concat()));
        assert!(status < 2, "{words:?}: {err}");
    }
}

#[test]
fn rows_tell_the_time_that_the_capture_prints() {
    let folder = Folder::new("times");
    let sar = "12:00:01 DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n\
               12:10:01 sda 10.00 0.00 80.00 8.00 0.05 5.00 2.00\n\
               12:20:01 sda 10.00 0.00 80.00 8.00 0.05 5.00 2.00\n";
    let iostat = "11/21/2026 03:01:02 PM\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n\
                  sda 10.00 0.00 40.00 0.00 5.00 0.00 0.05 5.00\n\n\
                  11/21/2026 03:01:12 PM\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n\
                  sda 10.00 0.00 40.00 0.00 5.00 0.00 0.05 5.00\n";
    for (name, text, row, whole) in [
        ("sar", sar, "from 12:10:01 over 10 min", "12:00:01 to 12:20:01"),
        (
            "iostat",
            iostat,
            "from 2026-11-21 15:01:02 over 10 s",
            "2026-11-21 15:01:02 to 2026-11-21 15:01:12",
        ),
    ] {
        let path = folder.written(name, text.as_bytes());
        let (status, out, err) = parts(&iowhy(&["stat", &path]));
        assert_eq!(status, 0, "{err}");
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(row), "{out}");
        let (_, out, err) = parts(&iowhy(&["stat", "-T", &path]));
        assert!(out.starts_with(whole), "{out}{err}");
    }
}

#[test]
fn a_producer_that_is_silent_for_long_and_then_dies_is_an_error() {
    use std::io::{BufRead, BufReader, Read, Write};
    for (word, reported) in
        [(&b""[..], "ended without any data"), (b"late\n", "data on standard input came too late")]
    {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .arg("why")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let mut message = String::new();
        while !message.contains("no data on standard input") {
            assert!(err.read_line(&mut message).unwrap() > 0, "it ended: {message}");
        }
        pipe.write_all(word).unwrap();
        drop(pipe);
        err.read_to_string(&mut message).unwrap();
        let (status, out, _) = parts(&child.wait_with_output().unwrap());
        assert_eq!((status, out.as_str()), (2, ""), "{message}");
        assert!(message.contains(reported) && message.contains("hint: "), "{message}");
    }
}

#[test]
fn the_list_that_a_loop_reads_is_left_to_it() {
    use std::io::{Read, Seek};
    let folder = Folder::new("loop");
    let path = folder.written("list.txt", b"one\ntwo\nthree\n");
    let mut list = std::fs::File::open(path).unwrap();
    // As `read` leaves it after the first line.
    list.seek(std::io::SeekFrom::Start(4)).unwrap();
    let mut counters = std::path::PathBuf::from(&folder.0);
    counters.push("sys/block/sdx");
    std::fs::create_dir_all(&counters).unwrap();
    std::fs::write(counters.join("stat"), "1 0 8 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["stat", "--root", folder.0.join("sys").to_str().unwrap()])
        .stdin(list.try_clone().unwrap())
        .output()
        .unwrap();
    let (status, _, err) = parts(&output);
    assert_eq!(status, 0, "{err}");
    let mut rest = String::new();
    list.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "two\nthree\n");
}
