//! Man pages and completions: what a package installs, as a shell and `man` see it.

use std::io::Write;
use std::process::{Command, Stdio};

fn iowhy() -> Command {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
}

/// What the shell is offered for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let output = iowhy()
        .env("COMPLETE", "bash")
        .env("_CLAP_IFS", "\n")
        .env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string())
        .env("_CLAP_COMPLETE_COMP_TYPE", "9")
        .env("_CLAP_COMPLETE_SPACE", "true")
        .arg("--")
        .args(words)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim().to_string()).collect()
}

#[test]
fn the_shell_is_offered_commands_formats_verdicts_kinds_and_devices() {
    assert!(offered(&["iowhy", "expl"]).contains(&"explain".to_string()));
    assert_eq!(offered(&["iowhy", "why", "--format", "biosn"]), ["biosnoop"]);
    assert_eq!(offered(&["iowhy", "explain", "device.ret"]), ["device.retry"]);
    assert_eq!(offered(&["iowhy", "probe", "write-l"]), ["write-latency"]);
    let mut devices: Vec<String> = std::fs::read_dir("/sys/class/block")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().replace('!', "/"))
        .collect();
    let mut seen = offered(&["iowhy", "stat", "--device", ""]);
    // A test beside this one may attach or detach a loop device between the two looks.
    devices.retain(|name| !name.starts_with("loop"));
    seen.retain(|name| !name.starts_with("loop"));
    // Mount points and files of loop devices are offered, and of a machine with LVM its volumes.
    let (others, mut seen): (Vec<String>, Vec<String>) =
        seen.into_iter().partition(|name| !devices.contains(name));
    devices.sort();
    seen.sort();
    assert_eq!(seen, devices);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let is_in = |folder: &str, name: &String| std::path::Path::new(folder).join(name).exists();
    let is_volume = |name: &String| is_in("/dev/mapper", name) || is_in("/dev/md", name);
    let is_known = |name: &String| name.starts_with('/') || is_volume(name);
    assert!(others.iter().all(is_known), "{others:?}");
    let root = mounts.lines().find(|line| line.starts_with("/dev/") && line.contains(" / "));
    assert!(root.is_none() || others.contains(&"/".to_string()), "{others:?}");
}

#[test]
fn a_shell_gets_the_lines_that_make_it_ask() {
    for shell in ["bash", "zsh", "fish"] {
        let output = iowhy().env("COMPLETE", shell).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("iowhy") && text.contains("COMPLETE"), "{shell}: {text}");
        let checked = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn();
        let Ok(mut child) = checked else {
            println!("not parsed by {shell}: it is not installed");
            continue;
        };
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "{shell} does not parse:\n{text}");
    }
}

#[test]
fn man_shows_every_page_without_a_warning() {
    if Command::new("man").arg("--version").output().is_err() {
        println!("skipped: needs `man` (package man-db)");
        return;
    }
    let listed = iowhy().args(["explain", "commands", "--json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let commands = listed["entries"].as_array().unwrap().iter();
    let names = commands.map(|entry| entry["name"].as_str().unwrap());
    let others = ["iowhy", "formats", "verdicts"];
    for name in names.chain(others) {
        let page = iowhy().args(["explain", "--man", name]).output().unwrap().stdout;
        let mut man = Command::new("man")
            .args(["--warnings=w", "-l", "-"])
            .env("MANWIDTH", "100")
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = man.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(&page);
        });
        let shown = man.wait_with_output().unwrap();
        writer.join().unwrap();
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "{name}");
        assert!(String::from_utf8_lossy(&shown.stdout).contains("SEE ALSO"), "{name}");
    }
}

#[test]
fn the_build_is_told_in_full() {
    let output = iowhy().args(["--version", "--verbose"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for what in ["iowhy ", "commit: ", "target: ", "C library: ", "compiler: rustc", "profile: "] {
        assert!(text.lines().any(|line| line.starts_with(what)), "{what}: {text}");
    }
}

#[test]
fn the_default_configuration_names_every_option_of_the_recorder() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = std::fs::read_to_string(root.join("contrib/iowhy-watch.default")).unwrap();
    let help = iowhy().args(["watch", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let options = help.split_whitespace().filter(|word| word.starts_with("--"));
    let options: Vec<&str> = options.map(|word| word.trim_end_matches([',', '.', '`'])).collect();
    assert!(options.len() > 5, "{help}");
    for option in options.iter().filter(|option| **option != "--help") {
        assert!(file.contains(&format!("# {option} ")), "{option} is not explained");
    }
    let unit = std::fs::read_to_string(root.join("contrib/iowhy-watch.service")).unwrap();
    assert!(unit.contains("EnvironmentFile=-/etc/default/iowhy-watch"));
    assert!(unit.contains("$IOWHY_WATCH_OPTIONS"));
}
