//! A folder of captures, such as an unpacked sosreport, or an archive of one: every file that a
//! reader recognises, and `sys/block` as a tree.
//!
//! Archives are untrusted. Nothing outside the folder or on another file system is opened, and only
//! regular files, which are checked before they are opened: opening a device or a FIFO has side
//! effects. Number, depth and size of files are bounded; what was left out is counted and reported.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iowhy_model::{Fact, FactKey, Level, Sink, Source, key, numbers};
use iowhy_read::{Formats, blktrace};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::budget::Budget;
use crate::messages::{self, HintedError, ProgressReader};
use crate::unpack::{self, InputBody, unpacked};

/// Files looked at, levels below the folder, and bytes of one file: a sosreport of a large host has
/// some 20 000 files and 1 GB. Bytes and time of all are bounded by the [`Budget`].
const FILES: usize = 200_000;
const DEPTH: usize = 16;
const LARGEST: u64 = 1 << 30;
/// Maximum nesting of archives.
const NESTED: usize = 3;
/// A file with a zero in its first bytes is not text (blktrace's files are recognised by name).
const LOOKED_AT: usize = 4096;

/// Maximum number of unreadable or unrecognised files that are named.
const NAMED: usize = 3;

/// Counts of the files of a folder.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Files in which a reader recognised something.
    pub read: usize,
    /// Files in which nothing was recognised.
    pub passed: usize,
    /// The first of these that are text.
    passed_first: Vec<String>,
    /// Files and links left out: too large, too many, too deep, no regular files, or leading out of
    /// the folder.
    pub left_out: usize,
    /// Files and folders that could not be opened or read.
    pub unreadable: usize,
    /// The first of these, with the error.
    unreadable_first: Vec<String>,
    /// Files beyond the limit.
    pub forgotten: usize,
    /// Files that were not read because the budget of the run was used up.
    pub beyond: usize,
    /// Facts read from `sys/block`.
    pub facts: usize,
    /// Lines of prose, by file.
    pub prose: Vec<(String, u64)>,
}

/// Reads a folder and reports how much of it was used.
///
/// # Errors
/// If the folder cannot be read, or nothing in it was recognised.
pub(crate) fn emit(folder: &Path, known: Formats, sink: &mut dyn Sink) -> anyhow::Result<Outcome> {
    let root = Root::of(folder)?;
    let mut outcome = Outcome::default();
    let mut files = Vec::new();
    collect(folder, &root, 0, &mut files, &mut outcome);
    files.sort();
    read_files(&files, &root, known, sink, &mut outcome);
    for sys in system_folders(&files, folder) {
        outcome.facts += state_block(&sys, &root.path, sink);
    }
    if outcome.read == 0 && outcome.facts == 0 {
        return Err(HintedError::error(
            format!("no known format in the folder: {}", words(folder, &outcome)),
            "name the capture itself; `iowhy explain formats` lists the known formats",
        ));
    }
    messages::warn(&words(folder, &outcome), None);
    Ok(outcome)
}

impl Outcome {
    /// Counts a file or folder that could not be read.
    fn cannot_read(&mut self, what: &str, why: &dyn std::fmt::Display) {
        self.unreadable += 1;
        if self.unreadable_first.len() < NAMED {
            self.unreadable_first.push(format!("`{what}`: {why}"));
        }
    }

    /// Counts a file of text in which nothing was recognised.
    fn pass(&mut self, name: &str) {
        self.passed += 1;
        if self.passed_first.len() < NAMED {
            self.passed_first.push(name.to_string());
        }
    }

    /// Whether every file was examined.
    pub(crate) fn is_whole(&self) -> bool {
        self.left_out + self.unreadable + self.forgotten + self.beyond == 0
    }
}

fn words(folder: &Path, outcome: &Outcome) -> String {
    let Outcome { read, passed, left_out, unreadable, forgotten, beyond, facts, .. } = outcome;
    let known = numbers::several(*read as u64, "file");
    let mut text = format!("`{}`: {known} read", folder.display());
    if *passed > 0 {
        text.push_str(&format!(", {passed} in no known format"));
        // A few are named; a folder of thousands is not a list of captures.
        let inside = |name: &String| {
            let inside = name.strip_prefix(&folder.display().to_string()).unwrap_or(name);
            format!("`{}`", inside.trim_start_matches(['/', ':']))
        };
        let named: Vec<String> = outcome.passed_first.iter().map(inside).collect();
        if *passed == named.len() {
            text.push_str(&format!(" ({})", named.join(", ")));
        }
    }
    let more = if *unreadable > NAMED { ", and others" } else { "" };
    let named = outcome.unreadable_first.join(", ") + more;
    let why = [
        (*unreadable, format!("could not be read ({named})")),
        (
            *left_out,
            "were skipped (too large, too deep, not a regular file, or a link out of the folder)"
                .to_string(),
        ),
        (*forgotten, format!("were skipped: only the first {FILES} names are read")),
        (*beyond, "were skipped: the limit of bytes or CPU time was reached".to_string()),
    ];
    for (count, why) in why.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {why}"));
    }
    if *facts > 0 {
        text.push_str(&format!("; `sys/block` gives {}", numbers::several(*facts as u64, "fact")));
    }
    text
}

/// The folder and its file system.
struct Root {
    path: PathBuf,
    folder: OwnedFd,
    system: u64,
}

impl Root {
    fn of(folder: &Path) -> anyhow::Result<Root> {
        let shown = folder.display();
        let cannot = |cause: io::Error| {
            HintedError::error(format!("cannot read `{shown}`: {cause}"), "check the path")
        };
        let path = fs::canonicalize(folder).map_err(cannot)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::empty());
        let opened = opened.map_err(|cause| cannot(cause.into()))?;
        let system = fs::metadata(&path).map_err(cannot)?.dev();
        let kind = rustix::fs::fstatfs(&opened).map_err(|cause| cannot(cause.into()))?.f_type;
        if LIVE.contains(&(kind as i64)) || path == Path::new("/") {
            return Err(HintedError::error(
                format!("`{shown}` describes this machine and is not a folder of captures"),
                "to watch it: `iowhy why --for 30s`",
            ));
        }
        Ok(Root { path, folder: opened, system })
    }

    /// Opens a regular file below the folder. It is looked up without opening it, by a path that
    /// leaves neither the folder nor its file system, and opened only if it is regular.
    fn open(&self, file: &Path) -> io::Result<File> {
        let inside = file.strip_prefix(&self.path).unwrap_or(file);
        iowhy_live::open_below(self.folder.as_fd(), inside, ResolveFlags::NO_XDEV)
    }
}

/// procfs and sysfs (`include/uapi/linux/magic.h`): reading the one drains the kernel's log.
const LIVE: [i64; 2] = [0x9fa0, 0x6265_6572];

/// The regular files below a folder, and links. Links to folders are not followed: their targets
/// are found by themselves.
fn collect(folder: &Path, root: &Root, depth: usize, files: &mut Vec<PathBuf>, out: &mut Outcome) {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return out.cannot_read(&folder.display().to_string(), &error),
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let Ok(known) = fs::symlink_metadata(&path) else { continue };
        let kind = known.file_type();
        if kind.is_dir() {
            // One setting per file: these are read as a tree.
            let is_tree = path.ends_with("sys") && depth < 2;
            match depth + 1 < DEPTH && known.dev() == root.system {
                true if is_tree => out.left_out += foreign_to_sys(&path),
                true => collect(&path, root, depth + 1, files, out),
                false => out.left_out += 1,
            }
        } else if kind.is_file() || kind.is_symlink() && !path.is_dir() {
            match files.len() < FILES {
                true => files.push(path),
                false => out.forgotten += 1,
            }
        } else if !kind.is_symlink() {
            out.left_out += 1;
        }
    }
}

/// Number of entries in a copy of /sys that the kernel does not create. Only files with the
/// expected names and types are opened.
fn foreign_to_sys(copy: &Path) -> usize {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(copy, flags, Mode::empty()) else { return 0 };
    let (mut found, mut looked_at) = (0, 0);
    let mut folders = vec![copy.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > FILES {
                // Everything after it counts as one.
                return found + 1;
            }
            let path = entry.path();
            let inside = path.strip_prefix(copy).unwrap_or(&path);
            found += usize::from(iowhy_live::is_foreign_to_sys(opened.as_fd(), inside));
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && inside.iter().count() < DEPTH {
                folders.push(path);
            }
        }
    }
    found
}

fn read_files(
    files: &[PathBuf],
    root: &Root,
    known: Formats,
    sink: &mut dyn Sink,
    outcome: &mut Outcome,
) {
    let budget = Budget::of_this_run();
    let mut traces: BTreeMap<String, Vec<File>> = BTreeMap::new();
    for file in files {
        let name = file.display().to_string();
        if is_of_a_process(file) {
            outcome.passed += 1;
            continue;
        }
        if budget.check().is_err() {
            outcome.beyond += 1;
            continue;
        }
        let opened = fs::canonicalize(file.parent().unwrap_or(file))
            .map(|folder| folder.join(file.file_name().unwrap_or_default()))
            .and_then(|file| root.open(&file));
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                outcome.cannot_read(&name, &error);
                continue;
            }
            Err(_) => {
                outcome.left_out += 1;
                continue;
            }
        };
        let size = opened.metadata().map_or(u64::MAX, |known| known.len());
        if size > LARGEST || !budget.take_file(size) {
            outcome.left_out += 1;
            continue;
        }
        if let Some(trace) = blktrace::trace_of(&name) {
            traces.entry(trace.to_string()).or_default().push(opened);
            continue;
        }
        let reported =
            ProgressReader::new(opened.take(LARGEST), file.display().to_string(), Some(size));
        let reader = BufReader::with_capacity(1 << 18, budget.metered(reported));
        read_one(Box::new(reader), &name, 0, known, sink, outcome);
    }
    for (trace, parts) in traces {
        let count = parts.len();
        let readers: Vec<Box<dyn BufRead>> = parts
            .into_iter()
            .map(|file| Box::new(BufReader::new(budget.metered(file))) as _)
            .collect();
        match blktrace::merge(&trace, readers, sink) {
            Ok(_) => outcome.read += count,
            Err(error @ iowhy_read::Error::Broken { .. }) => outcome.cannot_read(&trace, &error),
            Err(_) => outcome.passed += count,
        }
    }
}

/// The mounts of a process, of which an archive has many copies: those of the machine are in
/// `proc/mounts`.
fn is_of_a_process(file: &Path) -> bool {
    let mut parts = file.iter().rev();
    let named = |part: Option<&std::ffi::OsStr>, what: &str| part.is_some_and(|part| part == what);
    let first = parts.next();
    let mounts = named(first, "mountinfo") || named(first, "mounts");
    let process = parts.next().and_then(|part| part.to_str());
    mounts && process.is_some_and(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads one file: text, a native capture, either of them packed, or an archive at this nesting
/// depth.
fn read_one(
    reader: Box<dyn BufRead + '_>,
    name: &str,
    inside: usize,
    known: Formats,
    sink: &mut dyn Sink,
    outcome: &mut Outcome,
) {
    match unpacked(reader, Budget::of_this_run()) {
        Ok(InputBody::Archive(_)) if inside >= NESTED => outcome.left_out += 1,
        Ok(InputBody::Archive(mut archive)) => {
            emit_archive(&mut *archive, name, inside, known, sink, outcome);
        }
        Ok(InputBody::Capture(mut reader)) => {
            let head = match reader.fill_buf() {
                Ok(head) => head,
                Err(error) => return outcome.cannot_read(name, &error),
            };
            let head = head.get(..head.len().min(LOOKED_AT)).unwrap_or_default();
            if head.is_empty() || head.contains(&0) && !is_read_though_binary(head) {
                outcome.passed += 1;
                return;
            }
            match iowhy_read::scan(name, &mut reader, known, sink) {
                Ok(scan) => {
                    outcome.read += 1;
                    outcome.prose.push((name.to_string(), scan.prose));
                }
                Err(error @ iowhy_read::Error::Broken { .. }) => outcome.cannot_read(name, &error),
                Err(_) => outcome.pass(name),
            }
        }
        Err(error) => outcome.cannot_read(name, &error),
    }
}

/// A native capture, or text in UTF-16.
fn is_read_though_binary(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let wide = head.iter().skip(1).step_by(2).take(8).filter(|byte| **byte == 0).count() > 6
        || head.iter().step_by(2).take(8).filter(|byte| **byte == 0).count() > 6;
    line.ends_with(b"IOWHY\x01")
        || head.starts_with(&[0xff, 0xfe])
        || head.starts_with(&[0xfe, 0xff])
        || wide
}

/// Reads each file of an archive like one in a folder. After damage the rest counts as one
/// unreadable file.
fn emit_archive(
    archive: &mut dyn BufRead,
    name: &str,
    nested: usize,
    known: Formats,
    sink: &mut dyn Sink,
    outcome: &mut Outcome,
) {
    let (mut members, budget) = (0, Budget::of_this_run());
    let whole = unpack::members(archive, &mut |member, size, inside| {
        members += 1;
        let tree = member.starts_with("sys/") || member.contains("/sys/block/");
        match (members > FILES, size > LARGEST || tree) {
            (true, _) => outcome.forgotten += 1,
            (_, true) => outcome.left_out += 1,
            _ if is_of_a_process(Path::new(member)) => outcome.passed += 1,
            _ if budget.check().is_err() => outcome.beyond += 1,
            _ => {
                let mut head = BufReader::with_capacity(LOOKED_AT, inside);
                // An archive in an archive is from another machine.
                let packed = head.fill_buf().is_ok_and(unpack::is_archive);
                match packed {
                    true => outcome.left_out += 1,
                    false => {
                        let name = format!("{name}:{member}");
                        read_one(Box::new(head), &name, nested + 1, known, sink, outcome);
                    }
                }
            }
        }
        Ok(())
    });
    match whole {
        Ok(left_out) => outcome.left_out += left_out,
        Err(error) => {
            let place = format!("{name} after {}", numbers::several(members as u64, "file"));
            outcome.cannot_read(&place, &error);
        }
    }
}

/// Reads a named archive, and reports how much of it was used.
///
/// # Errors
/// If nothing in it was recognised.
pub(crate) fn emit_named_archive(
    archive: &mut dyn BufRead,
    name: &str,
    known: Formats,
    sink: &mut dyn Sink,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::default();
    emit_archive(archive, name, 0, known, sink, &mut outcome);
    let message = words(Path::new(name), &outcome);
    if outcome.read == 0 {
        return Err(HintedError::error(
            format!("no known format in the archive: {message}"),
            "unpack it and name the capture itself; `iowhy explain formats` lists the known \
             formats",
        ));
    }
    messages::warn(&message, None);
    Ok(outcome)
}

/// The `sys` folders of an archive: at the top, or one level below (`sosreport-host-.../sys`).
fn system_folders(files: &[PathBuf], folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = vec![folder.join("sys")];
    let tops = files.iter().filter_map(|file| file.strip_prefix(folder).ok()?.components().next());
    found.extend(tops.map(|top| folder.join(top).join("sys")));
    found.sort();
    found.dedup();
    found.retain(|sys| sys.join("block").is_dir());
    found
}

/// Emits the facts in a copy of /sys; links that leave the copy are ignored.
fn state_block(sys: &Path, root: &Path, sink: &mut dyn Sink) -> usize {
    let inside = |path: &str| fs::canonicalize(path).is_ok_and(|real| real.starts_with(root));
    let mut facts: Vec<(String, FactKey, String, String)> = Vec::new();
    let devices = iowhy_live::devices(sys).unwrap_or_default();
    let named = sys.parent().map(|root| iowhy_live::naming_facts(root, &devices));
    for device in devices {
        let block = sys.join("block").join(&device.name).display().to_string();
        if !inside(&block) {
            continue;
        }
        if let Some(medium) = device.medium {
            let path = format!("{block}/queue/rotational");
            if inside(&path) {
                facts.push((
                    device.name.clone(),
                    key::DEVICE_MEDIUM,
                    medium.name().to_string(),
                    path,
                ));
            }
        }
        let queue = device.facts.into_iter().filter(|(_, _, path)| inside(path));
        facts.extend(queue.map(|(key, value, path)| (device.name.clone(), key, value, path)));
    }
    let more = iowhy_live::facts_of_sys(sys).into_iter().filter(|fact| inside(&fact.path));
    facts.extend(more.map(|fact| (fact.disk, fact.key, fact.value, fact.path)));
    for fact in named.unwrap_or_default().into_iter().filter(|fact| inside(&fact.path)) {
        let one = (fact.disk, fact.key, fact.value, fact.path);
        if !facts.contains(&one) {
            facts.push(one);
        }
    }
    if facts.is_empty() {
        return 0;
    }
    sink.begin(Source::new("host-facts", &sys.display().to_string(), Level::E));
    let count = facts.len();
    for (disk, key, value, read_from) in facts {
        let device = (!disk.is_empty()).then(|| sink.device(&disk));
        sink.fact(Fact::read(device, key, &value, read_from));
    }
    sink.end();
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Recording;

    /// A folder that is removed with its guard.
    struct Archive(PathBuf);

    impl Archive {
        fn new(name: &str) -> Archive {
            let path = std::env::temp_dir().join(format!("iowhy-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Archive(path)
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    impl Drop for Archive {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_of_nothing_but_durations_is_no_passed_one() {
        let archive = Archive::new("folder-durations");
        archive
            .write("iostat.txt", "Device r/s w/s rkB/s wkB/s r_await w_await\nsda 1 2 3 4 5 6\n");
        archive.write("notes.txt", "it is slow since Monday\n");
        archive.write("writer.txt", "step took 2411.220145ms\nstep took 1988.145510ms\n");
        let mut recording = Recording::new();
        let outcome = emit(&archive.0, Formats::default(), &mut recording).unwrap();
        let unread: Vec<_> = recording.unread.iter().map(|one| &one.input[..]).collect();
        assert_eq!(unread, [archive.0.join("writer.txt").display().to_string()]);
        let message = words(&archive.0, &outcome);
        assert!(
            message.ends_with("1 file read, 2 in no known format (`notes.txt`, `writer.txt`)"),
            "{message}"
        );
    }

    #[test]
    fn an_archive_is_read_and_nothing_outside_of_it() {
        let secret = Archive::new("folder-secret");
        secret.write(
            "dmesg",
            "[    1.000000] blk_update_request: critical medium error, dev sdz, sector 8\n",
        );
        secret.write("queue/scheduler", "[bfq] none");
        let archive = Archive::new("folder-archive");
        archive
            .write("host/sos_commands/kernel/dmesg", "[    1.000000] ata4: hard resetting link\n");
        archive.write("host/proc/mounts", "/dev/sda1 / ext4 rw,relatime 0 0\n");
        archive.write("host/etc/hosts", "127.0.0.1 localhost\n");
        archive.write("host/var/core", "\0\0\0ELF");
        archive.write("host/sys/block/sda/queue/scheduler", "[mq-deadline] none");
        archive.write("host/sys/block/sda/queue/rotational", "1");
        archive.write("host/sys/block/sda/dev", "8:0");
        let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
        link(secret.0.join("dmesg"), archive.0.join("host/dmesg.escaped")).unwrap();
        link(archive.0.join("host/proc/mounts"), archive.0.join("host/mounts")).unwrap();
        archive.write("host/sys/block/sdz/dev", "8:400");
        link(secret.0.join("queue"), archive.0.join("host/sys/block/sdz/queue")).unwrap();
        link(archive.0.clone(), archive.0.join("host/loop")).unwrap();

        let mut recording = Recording::new();
        let outcome = emit(&archive.0, Formats::default(), &mut recording).unwrap();
        assert_eq!((outcome.read, outcome.passed, outcome.left_out), (2, 2, 3), "{outcome:?}");
        let facts: Vec<_> = recording.listings.iter().flat_map(|known| &known.facts).collect();
        assert!(facts.iter().any(
            |fact| fact.key == key::QUEUE_SCHEDULER && fact.value.text() == Some("mq-deadline")
        ));
        assert!(
            facts
                .iter()
                .map(|fact| fact.value.to_string())
                .all(|text| text != "bfq" && !text.contains("sdz"))
        );
        assert!(facts.iter().any(|fact| fact.key == key::KERNEL_LOG.of("link")));
    }

    #[test]
    fn an_empty_folder_is_an_error() {
        let empty = Archive::new("folder-empty");
        // Files left out are reported even if nothing is recognised.
        std::os::unix::fs::symlink("/etc/hostname", empty.0.join("out")).unwrap();
        let error = emit(&empty.0, Formats::default(), &mut Recording::new())
            .err()
            .map(|why| why.to_string());
        assert!(error.as_ref().is_some_and(|why| why.contains("1 were skipped")), "{error:?}");
    }

    #[test]
    fn captures_of_any_kind_are_read_and_what_is_no_file_is_left_alone() {
        let archive = Archive::new("folder-kinds");
        let dmesg = "[    1.000000] ata4: hard resetting link\n";
        archive.write("plain", dmesg);
        let wide: Vec<u8> = dmesg.encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(archive.0.join("wide"), wide).unwrap();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut packed, dmesg.as_bytes()).unwrap();
        fs::write(archive.0.join("packed.gz"), packed.finish().unwrap()).unwrap();
        archive.write("proc/4711/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
        archive.write("sys/block/sda/dev", "8:0");
        archive.write("sys/block/sda/queue/rotational", "1");
        let fifo = |name: &str| {
            let path = archive.0.join(name);
            rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::RUSR, 0)
                .unwrap();
        };
        fifo("fifo");
        fifo("sys/block/sda/queue/scheduler");
        let link = std::os::unix::fs::symlink::<&str, PathBuf>;
        link("/dev/zero", archive.0.join("zero")).unwrap();
        link("/dev/zero", archive.0.join("sys/block/sda/queue/nr_requests")).unwrap();
        let large = File::create(archive.0.join("sys/block/sda/queue/max_sectors_kb")).unwrap();
        large.set_len(1300 << 20).unwrap();

        let mut recording = Recording::new();
        let outcome = emit(&archive.0, Formats::default(), &mut recording).unwrap();
        // The two beside the tree, and in it a FIFO, a link to a device and a setting of 1300 MB.
        assert_eq!((outcome.read, outcome.passed, outcome.left_out), (3, 1, 5), "{outcome:?}");
        assert!(!outcome.is_whole());
        assert!(emit(Path::new("/proc"), Formats::default(), &mut recording).is_err());
        assert!(emit(Path::new("/"), Formats::default(), &mut recording).is_err());
    }
}
