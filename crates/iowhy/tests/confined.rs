//! Commands that read captures have no rights left but to read what was named, also as root, and
//! those that watch keep little more.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const LISTING: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
                       0.100000 dd 1 sda R 8 4096 1.00\n";

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("iowhy-confined-{name}-{}", std::process::id()))
}

/// A line of /proc/PID/status.
fn status(pid: u32, key: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(key));
    line.unwrap_or_default().trim_start_matches(':').trim().to_string()
}

/// Waits until the process is filtered.
fn filtered(pid: u32) -> bool {
    (0..300).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        status(pid, "Seccomp") == "2"
    })
}

#[test]
fn readers_are_confined_before_the_first_byte() {
    // CAP_SETGID, CAP_SETUID and CAP_SETPCAP, numbers 6 to 8: the root of a container may lack
    // them.
    let rights = u64::from_str_radix(&status(std::process::id(), "CapEff"), 16).unwrap();
    let is_root = rights >> 6 & 7 == 7;
    let out = place("out");
    let svg = out.display().to_string();
    for words in [
        &["why", "-"][..],
        &["stat", "-"],
        &["hist", "-"],
        &["snoop", "-"],
        &["map", "-", "--svg", &svg],
        &["map", "-", "--compat", "pylatencymap"],
        &["convert", "-", "-", "--to", "csv"],
        &["convert", "-", "-", "--to", "parquet"],
        &["compare", "-", "-"],
        &["report", "-", "-o", "-"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Nothing was written yet: nothing was parsed.
        assert!(filtered(child.id()), "{words:?}: no filter of system calls");
        assert_eq!(status(child.id(), "NoNewPrivs"), "1", "{words:?}");
        for set in ["CapEff", "CapPrm", "CapInh", "CapBnd"] {
            if set == "CapBnd" && !is_root {
                continue;
            }
            assert_eq!(status(child.id(), set), "0000000000000000", "{words:?}: {set}");
        }
        // Root is nobody unless it makes a file, which is then root's.
        let ids = status(child.id(), "Uid");
        if is_root && !words.contains(&"--svg") {
            assert_eq!(ids, ["65534"; 4].join("\t"), "{words:?}");
        }
        child.stdin.take().unwrap().write_all(LISTING.as_bytes()).unwrap();
        child.wait().unwrap();
    }
    assert!(std::fs::read(&out).unwrap().starts_with(b"<svg"), "what was to be written is");
    std::fs::remove_file(&out).unwrap();
}

#[test]
fn a_pipe_of_the_shell_is_a_capture() {
    let file = place("piped");
    std::fs::write(&file, LISTING).unwrap();
    let script = "\"$0\" hist --json <(cat \"$1\")";
    let run = Command::new("bash")
        .args(["-c", script, env!("CARGO_BIN_EXE_iowhy"), file.to_str().unwrap()])
        .stdin(Stdio::null())
        .output();
    std::fs::remove_file(&file).unwrap();
    let Ok(run) = run else {
        println!("skipped: a pipe of the shell: needs `bash`");
        return;
    };
    let reported = String::from_utf8_lossy(&run.stderr);
    assert_eq!(run.status.code(), Some(0), "{reported}");
}

#[test]
fn what_root_alone_may_read_is_read_and_a_link_out_of_what_was_named_is_not() {
    let folder = place("folder");
    std::fs::create_dir(&folder).unwrap();
    let (secret, named) = (place("secret"), folder.join("named"));
    std::fs::write(&secret, LISTING).unwrap();
    std::fs::write(&named, LISTING).unwrap();
    std::os::unix::fs::symlink(&secret, folder.join("link")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o400);
    std::fs::set_permissions(&named, mode).unwrap();
    // As root: a file of somebody else's. As anybody else this changes nothing.
    let _ = std::os::unix::fs::chown(&named, Some(65534), Some(65534));
    let run = |word: &PathBuf| {
        Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(["hist", "--json", word.to_str().unwrap()])
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    let (file, whole) = (run(&named), run(&folder));
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::remove_file(&secret).unwrap();
    let reported = String::from_utf8_lossy(&file.stderr);
    assert_eq!(file.status.code(), Some(0), "{reported}");
    let text = String::from_utf8_lossy(&whole.stdout);
    assert!(text.contains("named") && !text.contains("secret"), "{text}");
}

#[test]
fn watchers_keep_the_right_to_read_their_tables_and_no_other() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: rights that are given up: needs root");
        return;
    }
    // CAP_BPF, which kernels before 5.19 ask for to read a table (include/uapi/linux/capability.h).
    const BPF: u64 = 1 << 39;
    // Whoever is killed leaves what it was writing.
    let folder = place("killed");
    std::fs::create_dir(&folder).unwrap();
    let (record, report) = (folder.join("trace"), folder.join("page"));
    let (record, report) = (record.display().to_string(), report.display().to_string());
    for words in [
        &["why", "--for", "20s"][..],
        &["stat", "1", "20"],
        &["stat", "--sampled", "1", "20"],
        &["hist", "1", "20"],
        &["snoop", "--for", "20s"],
        &["map", "--for", "20s"],
        &["syscalls", "--for", "20s"],
        &["waits", "--for", "20s"],
        &["record", "-o", &record, "--for", "20s"],
        &["report", "-o", &report, "--for", "20s"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let confined = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            status(child.id(), "Seccomp") == "2"
        });
        let kept = u64::from_str_radix(&status(child.id(), "CapEff"), 16);
        let new = status(child.id(), "NoNewPrivs");
        child.kill().unwrap();
        let ended = child.wait().unwrap();
        assert!(confined, "{words:?}: no filter of system calls ({ended})");
        assert_eq!(kept.map(|kept| kept & !BPF), Ok(0), "{words:?}: capabilities are left");
        assert_eq!(new, "1", "{words:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
