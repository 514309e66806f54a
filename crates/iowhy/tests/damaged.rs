//! One file of every kind, damaged: what is left is read, the loss is counted and shown, and the
//! exit status is 1.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use iowhy_model::Recording;
use iowhy_read::{FORMATS, scan};

/// Bytes flipped in each sample until one is found that can be reported: most digits of a text can
/// become another digit, and nobody will ever know.
const TRIED: usize = 200;

struct Read {
    records: u64,
    lost: u64,
}

fn read(bytes: &[u8]) -> Read {
    let mut recording = Recording::new();
    let _ = scan("sample", &mut &bytes[..], None, &mut recording);
    let sources = recording.listings.iter().map(|listing| &listing.source);
    let lost = sources.map(|source| source.skipped + source.lost()).sum();
    Read { records: recording.records(), lost }
}

fn samples(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of samples").flatten();
    let wanted = |path: &PathBuf| path.extension().is_some_and(|end| end == "txt" || end == "bin");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(wanted).collect();
    paths.sort();
    paths
}

/// A sample with one byte flipped whose loss the reader counts, and what it then holds: one of
/// which something is left, if there is such. A file that is one JSON document may be lost whole.
fn bitten(folder: &Path) -> Option<(Vec<u8>, Read)> {
    let mut emptied = None;
    for path in samples(folder) {
        let whole = std::fs::read(&path).unwrap();
        let before = read(&whole);
        // From the end: what stands before the damage has been read by then.
        for place in (0..whole.len()).rev().step_by((whole.len() / TRIED).max(1)) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x80;
            let after = read(&bytes);
            if after.lost > before.lost && after.records > 0 {
                return Some((bytes, after));
            }
            if after.lost > before.lost {
                emptied = Some((bytes, after));
            }
        }
    }
    emptied
}

#[test]
fn every_kind_tells_a_flipped_byte_by_its_count_and_exit_status() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples");
    let file = std::env::temp_dir().join(format!("iowhy-bitten-{}", std::process::id()));
    let mut wrong = Vec::new();
    for format in FORMATS {
        let name = format.name;
        let Some((bytes, known)) = bitten(&samples.join(name.replace('-', "_"))) else {
            wrong.push(format!("{name}: no flipped byte is told"));
            continue;
        };
        std::fs::write(&file, &bytes).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(["why", "--json"])
            .arg(&file)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&output.stdout);
        let Ok(report) = serde_json::from_str::<serde_json::Value>(&out) else {
            wrong.push(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
            continue;
        };
        let inputs = report["inputs"].as_array().cloned().unwrap_or_default();
        let sum = |key: &str| inputs.iter().filter_map(|input| input[key].as_u64()).sum::<u64>();
        let (records, lost) = (sum("records"), sum("skipped") + sum("lost"));
        if output.status.code() != Some(1) || (records, lost) != (known.records, known.lost) {
            wrong.push(format!(
                "{name}: status {:?}, {records} records and {lost} lost, not {} and {}",
                output.status.code(),
                known.records,
                known.lost
            ));
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is done to a sample.
type Damage = fn(&[u8]) -> Vec<u8>;

/// What is done to a whole sample, and the exit status that follows unless `OTHERWISE` says why
/// not. Nothing left that can be recognised is status 2.
const DAMAGES: [(&str, Damage, &[i32]); 4] = [
    ("cut", cut, &[1, 2]),
    ("dropped", dropped, &[0]),
    ("flipped", flipped, &[1, 2]),
    ("magic", magic, &[1, 2]),
];

/// Why a cut within the last line is not a loss.
const UNENDED: &str = "a row of known shape that lacks its line end is whole (decision 0088)";

/// Where a kind answers otherwise than most: kind, damage, status, why.
const OTHERWISE: &[(&str, &str, i32, &str)] = &[
    ("atop", "cut", 0, "the half line is of no disk, and such lines are ignored"),
    ("biolatency", "cut", 0, UNENDED),
    ("bitesize", "cut", 0, UNENDED),
    ("blktrace", "dropped", 1, "records bear numbers"),
    ("blktrace", "flipped", 0, "records have no checksum, and the byte is of a sector or a time"),
    ("bpftrace", "cut", 0, UNENDED),
    ("bonnie", "dropped", 2, "the sample is so short that its one line is among them"),
    ("ceph-ops", "cut", 0, "half a line of the document states nothing"),
    ("ceph-status", "cut", 0, "the half line is one of those that are ignored"),
    ("collectl", "dropped", 2, "the sample is so short that its heading is among the ten"),
    ("collectl-brief", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("database-io", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("dstat", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("esxtop", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("fio", "cut", 0, UNENDED),
    ("fio-json", "dropped", 1, "totals are declared"),
    ("fs-dist", "cut", 0, UNENDED),
    ("geom-status", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("gluster-log", "cut", 0, "the half line is one of those that are ignored"),
    ("linux-iostat", "cut", 0, UNENDED),
    (
        "innodb-status",
        "cut",
        0,
        "half a line of the report states nothing, and most of its lines are ignored",
    ),
    ("innodb-status", "magic", 0, "the first line is one that is ignored, and any other may begin"),
    (
        "latency-outliers",
        "dropped",
        1,
        "a table's heading is among the ten, its rows are named unread",
    ),
    ("iolatency", "cut", 0, UNENDED),
    ("seeker", "dropped", 2, "the sample is so short that its one line is among them"),
    ("iscsi-session", "cut", 0, "the half line is one of those that are ignored"),
    ("ontap-qos", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("lspci", "dropped", 2, "the sample is so short that the link itself is among the lines"),
    ("mdstat", "cut", 0, UNENDED),
    ("mongodb-log", "cut", 0, "half a line tells of no checkpoint and no query, and is ignored"),
    ("iowhy-capture", "dropped", 1, "blocks have checksums"),
    ("nfs-mountstats", "dropped", 1, "times without the number of their calls are reported"),
    ("nfsstat", "cut", 0, "the half line is one of those that are ignored"),
    ("nmon", "dropped", 1, "snapshots bear numbers"),
    (
        "nvme-lat-stats",
        "cut",
        0,
        "half a line is still a bucket: nothing tells that its count is not whole",
    ),
    (
        "nvme-volume",
        "dropped",
        2,
        "the first line of the second print is among the ten, and the first print is not of now",
    ),
    ("oracle-awr", "cut", 0, "half a row is a line of no table, and such lines are ignored"),
    ("pmstat", "dropped", 2, "the sample is so short that its heading is among the lines"),
    ("pylatencymap", "dropped", 1, "records have a beginning and an end"),
    ("smart", "dropped", 1, "brackets are counted"),
    ("storcli-json", "dropped", 1, "brackets are counted"),
    ("typeperf", "dropped", 2, "the sample is so short that its rows are among the lines"),
    ("vmstat", "dropped", 2, "the sample is so short that its heading is among the ten"),
];

/// Cut within the line, or the record, two thirds down.
fn cut(bytes: &[u8]) -> Vec<u8> {
    let (start, end) = line_at(bytes, bytes.len() * 2 / 3);
    bytes[..start + (end - start) / 2].to_vec()
}

/// Ten lines less, or as many as a short sample can spare; of a binary one 480 bytes, ten records
/// of 48.
fn dropped(bytes: &[u8]) -> Vec<u8> {
    if str::from_utf8(bytes).is_err() {
        let middle = bytes.len() / 2 / 48 * 48;
        return [&bytes[..middle], &bytes[(middle + 480).min(bytes.len())..]].concat();
    }
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let gone = (lines.len() / 3).min(10);
    let from = (lines.len() - gone) / 2;
    [&lines[..from], &lines[from + gone..]].concat().concat()
}

/// One byte of no text in the middle.
fn flipped(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x80;
    bytes
}

/// Other bytes where a file begins.
fn magic(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.iter_mut().take(4).for_each(|byte| *byte ^= 0xff);
    bytes
}

/// The line around a byte that is not blank; two bytes of a binary file, so that no cut between
/// them is one between records.
fn line_at(bytes: &[u8], place: usize) -> (usize, usize) {
    if str::from_utf8(bytes).is_err() {
        return (place, place + 2);
    }
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if start + line.len() > place && line.trim_ascii().len() > 3 {
            return (start, start + line.len());
        }
        start += line.len();
    }
    (place, bytes.len())
}

/// The longest sample of a kind, up to a size, that is read without any loss.
fn whole(folder: &Path) -> Option<Vec<u8>> {
    let read_well = |bytes: &Vec<u8>| {
        let known = read(bytes);
        bytes.len() < 200_000 && known.records > 0 && known.lost == 0
    };
    let files = samples(folder).into_iter().map(|path| std::fs::read(path).unwrap());
    files.filter(read_well).max_by_key(Vec::len)
}

/// What `iowhy convert` writes of a sample.
fn captured(folder: &Path, file: &Path) -> Vec<u8> {
    std::fs::write(file, whole(folder).unwrap()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
    command.arg("convert").arg(file).args(["-", "--to", "json"]).stdin(Stdio::null());
    command.output().unwrap().stdout
}

#[test]
fn every_kind_answers_every_damage_by_its_exit_status() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../read/samples");
    let file = std::env::temp_dir().join(format!("iowhy-damaged-{}", std::process::id()));
    let mut wrong = Vec::new();
    for format in FORMATS {
        let folder = samples.join(format.name.replace('-', "_"));
        // The samples of our own captures hold losses on purpose; one is made of another kind.
        let made =
            (format.name == "iowhy-jsonl").then(|| captured(&samples.join("biosnoop"), &file));
        let Some(good) = made.or_else(|| whole(&folder)) else {
            wrong.push(format!("{}: no sample is read without a loss", format.name));
            continue;
        };
        for (damage, harm, usual) in DAMAGES {
            std::fs::write(&file, harm(&good)).unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy"));
            let output = command.args(["why", "--json"]).arg(&file).stdin(Stdio::null()).output();
            let status = output.unwrap().status.code().unwrap_or(-1);
            let other = OTHERWISE.iter().find(|one| (one.0, one.1) == (format.name, damage));
            let right = other.map_or(usual.contains(&status), |one| one.2 == status);
            if !right {
                wrong.push(format!("{} {damage}: status {status}", format.name));
            }
        }
    }
    std::fs::remove_file(&file).unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
