//! Every sample reads the same whatever stands around it.
//!
//! `SAMPLES=iostat` looks at one folder only.

use std::path::{Path, PathBuf};

use iowhy_model::Recording;
use iowhy_read::scan;

/// A way to put something around a line, given its place.
type Wrap = fn(usize, &str) -> String;

const WRAPS: &[(&str, Wrap)] = &[
    ("quoted", |_, line| format!("> {line}")),
    ("quoted thrice", |_, line| format!("> >> {line}")),
    ("indented", |_, line| format!("    {line}")),
    ("barred", |_, line| format!("| {line}")),
    ("cat -n", |place, line| format!("{:6}\t{line}", place + 1)),
    ("grep -n", |place, line| format!("{}:{line}", place + 1)),
    ("ts", |place, line| {
        format!("Nov {:2} 10:{:02}:{:02} {line}", 1 + place / 3600, place / 60 % 60, place % 60)
    }),
    ("ts -s", |place, line| format!("00:{:02}:{:02} {line}", place / 60 % 60, place % 60)),
    ("syslog", |_, line| format!("Nov 21 10:00:00 web-1 collect[4711]: {line}")),
    ("iso", |_, line| format!("2026-11-21T10:00:00.123456+01:00 {line}")),
    ("container", |_, line| format!("2026-11-21T10:00:00.123456789Z stdout F {line}")),
    ("bracketed", |_, line| format!("[2026-11-21 10:00:00] {line}")),
    ("json-file", |_, line| {
        let log = serde_json::Value::from(format!("{line}\n"));
        format!(r#"{{"log":{log},"stream":"stdout","time":"2026-11-21T10:00:00.123456789Z"}}"#)
    }),
    ("csv", |place, line| {
        let log = line.replace('"', "\"\"");
        format!(r#"{},"{log}","{{job=""kernel""}}""#, 1_795_377_600_000 + place)
    }),
    ("compose", |_, line| format!("web_1  | {line}")),
    ("quoted log", |_, line| format!("> Nov 21 10:00:00 web collect: {line}")),
    ("coloured", |_, line| match line.split_once(' ') {
        Some((first, rest)) => format!("\u{1b}[34;1m{first}\u{1b}[0m {rest}\u{1b}[K"),
        None => format!("\u{1b}[1m{line}\u{1b}[0m"),
    }),
    ("html", |place, line| {
        let text = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if place == 0 { format!("<pre><code>{text}") } else { text }
    }),
];

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let only = std::env::var("SAMPLES").ok();
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| only.as_ref().is_none_or(|only| **only == *entry.file_name()))
        .flat_map(|entry| std::fs::read_dir(entry.path()).unwrap().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        // Those are wrapped already.
        .filter(|path| !path.to_string_lossy().contains("quoted"))
        .collect();
    found.sort();
    found
}

/// Format, records and skipped lines of each listing.
fn counts(bytes: &[u8]) -> Vec<(String, u64, u64)> {
    let mut recording = Recording::new();
    let _ = scan("sample", &mut &*bytes, None, &mut recording);
    let sources = recording.listings.iter().map(|listing| &listing.source);
    sources.map(|source| (source.format.clone(), source.records, source.skipped)).collect()
}

/// Wrappings that change what a sample says, by its format.
const DIFFER: &[(&str, &str)] = &[
    // Not read through these yet: the bars between its groups look like those of a table's cells.
    ("dstat", "grep -n"),
    ("dstat", "iso"),
    ("dstat", "json-file"),
    // A screen on one line ends with a bar, as a row of cells does.
    ("biolatency", "barred"),
    // Its own times look the same.
    ("biolatency", "ts -s"),
    // A line without its beginning cannot be distinguished from prose.
    ("oracle-10046", "indented"),
    ("quantize", "indented"),
];

/// What reads single lines of a log; a row of an export has no other inside.
const LOGS: &[&str] = &["etcd-log", "kernel-log", "redis-log", "smartd", "zookeeper-log"];

/// The same of single samples.
const DIFFER_HERE: &[(&str, &str)] = &[
    // The fields of a record begin with a blank, which every line has then.
    ("linux-6.1--dev-kmsg-fields", "indented"),
    // What another program logs is no message of the daemon.
    ("smartd-7.3--mail", "syslog"),
    // All is read, in two listings.
    ("postgresql-15--checkpoints", "json-file"),
    ("solaris-10--xn-since-boot-noted", "json-file"),
    // Its lines are names and values, and no words.
    ("systemd-252--journal-export", "csv"),
    // The line of its disks begins with blanks, which a quote takes away: reported, not read.
    ("macos-15--d-three-disks", "json-file"),
    // The bar of the wrapping looks like that of a cell: all is read, and a line reported.
    ("made--server-io-with-times", "compose"),
];

/// Samples made for a rule about wrappings, or about whose time is which.
const OF_WHAT_STANDS_AROUND: &[&str] = &[
    // The heading is a prompt's line, whose sign a number and a quote take away.
    "made--counts-of-version-1-are-named-by-a-path-or-by-a-command",
    // Lines of one time belong together, and the time in front is another.
    "made--a-command-is-named-beside-how-it-ended",
    "made--a-disk-that-went-with-its-plug-is-on-usb-3",
    "made--a-log-that-was-pasted-twice-complains-once",
    "made--a-log-that-was-pasted-twice-complains-once-4",
    "made--a-refused-request-joins-an-address-and-a-disk",
    "made--a-task-that-hangs-while-memory-is-freed-is-counted",
    "made--a-task-that-hangs-while-memory-is-freed-is-counted-2",
    "made--a-task-that-hangs-while-memory-is-freed-is-counted-3",
    // A line that was broken has nothing in front.
    "made--a-message-that-a-mail-program-broke-is-one",
    "made--a-resync-whose-lines-a-mail-broke",
    // Counts without a time occur among lines with one.
    "made--waits-for-another-server-and-merges",
    // After a time its rows are lines of Ceph's log: all is read, as another format.
    "made--a-table-of-rook",
    // Each of two logs in one text begins a listing if they are not wrapped.
    "made--rounds-of-the-page-cleaner-and-commits",
    // `Average:` is taken for the name of the program that logs: not read yet.
    "made--means-that-stand-alone-are-read",
    // Lines of logs and of commands in one text: some begin with a time, some with none.
    "made--lines-of-all-kinds",
    // The daemon follows its own time; after another, the line is one of Linux.
    "made--the-daemon-of-the-initiator-speaks-beside-the-kernel",
    // A number and a colon in front are part of a metric's name.
    "made--buckets-are-cumulative-and-the-last-is-open-2",
];

#[test]
fn a_wrapped_sample_reads_like_a_bare_one() {
    let mut wrong = Vec::new();
    for path in samples() {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let bare = counts(text.as_bytes());
        let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        for (name, wrap) in WRAPS {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let made = OF_WHAT_STANDS_AROUND.contains(&&*stem);
            let here = made || DIFFER_HERE.contains(&(&*stem, name));
            let format = folder.replace('_', "-");
            let never = *name == "csv" && !LOGS.contains(&&*format);
            if here || never || DIFFER.contains(&(&*format, name)) {
                continue;
            }
            let lines = text.lines().enumerate();
            let wrapped: String = lines.map(|(place, line)| wrap(place, line) + "\n").collect();
            let now = counts(wrapped.as_bytes());
            if now != bare {
                wrong.push(format!("{} {name}: {bare:?} became {now:?}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_count_of_uniq_is_no_part_of_a_line() {
    let lines = "Pending normal aio reads: 0 [0, 0, 0, 0] , aio writes: 64\n\
                 Pending writes: LRU 0, flush list 66, single page 0\n\
                 0.50 reads/s, 16384 avg bytes/read, 12.50 writes/s, 6.25 fsyncs/s\n";
    let of = |wrap: fn(usize, &str) -> String| {
        let wrapped = lines.lines().enumerate().map(|(place, line)| wrap(place, line) + "\n");
        counts(wrapped.collect::<String>().as_bytes())
    };
    let bare = of(|_, line| line.to_string());
    assert_eq!(bare, [("innodb-status".to_string(), 5, 0)]);
    assert_eq!(of(|place, line| format!("{:7} {line}", 84 / (place + 1))), bare);
    assert_eq!(of(|place, line| format!("{} {line}", 84 / (place + 1))), bare);
    // One line may begin with a number of its own.
    let alone = of(|place, line| if place == 0 { format!("12 {line}") } else { String::new() });
    assert_eq!(alone, []);
}

#[test]
fn an_encoding_changes_nothing() {
    for path in samples() {
        let bytes = std::fs::read(&path).unwrap();
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let bare = counts(text.as_bytes());
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(units.iter().flat_map(|u| u.to_le_bytes())).collect();
        let big: Vec<u8> =
            [0xfe, 0xff].into_iter().chain(units.iter().flat_map(|u| u.to_be_bytes())).collect();
        let marked = format!("\u{feff}{text}");
        for (name, encoded) in
            [("utf-16le", &little[..]), ("utf-16be", &big), ("bom", marked.as_bytes())]
        {
            assert_eq!(counts(encoded), bare, "{} {name}", path.display());
        }
    }
}
