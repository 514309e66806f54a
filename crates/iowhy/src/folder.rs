//! A folder of captures, such as an unpacked sosreport: every file that a reader recognises, and
//! `sys/block` as a tree.
//!
//! Archives come from strangers. No link is followed out of the folder, and number, depth and size
//! of what is read are bounded; what was left out is counted and said.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use iowhy_model::{Fact, FactKey, Level, Sink, Source, key};
use iowhy_read::{Format, blktrace};

use crate::messages::{self, Hinted};

/// Files looked at, levels below the folder, and bytes of one file and of all: a sosreport of a large
/// host has some 20 000 files and 1 GB.
const FILES: usize = 50_000;
const DEPTH: usize = 16;
const LARGEST: u64 = 1 << 30;
const TOGETHER: u64 = 4 << 30;
/// A file whose first bytes hold a zero is no text (blktrace's own files are known by their name).
const LOOKED_AT: u64 = 4096;

/// What became of the files of a folder.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    /// Files of which a reader recognised something.
    pub read: usize,
    /// Files in which nothing was recognised.
    pub passed: usize,
    /// Files and links left out: too large, too many, too deep, leading out of the folder, or unreadable.
    pub left_out: usize,
    /// Facts read from `sys/block`.
    pub facts: usize,
    /// Lines of prose, by file.
    pub prose: Vec<(String, u64)>,
}

/// Reads a folder and says how much of it was used.
///
/// # Errors
/// If the folder cannot be read, or nothing in it was recognised.
pub fn pour(
    folder: &Path,
    only: Option<&'static Format>,
    sink: &mut dyn Sink,
) -> anyhow::Result<Outcome> {
    let shown = folder.display();
    let root = fs::canonicalize(folder).map_err(|cause| {
        Hinted::error(format!("cannot read `{shown}`: {cause}"), "check the path")
    })?;
    let mut outcome = Outcome::default();
    let mut files = Vec::new();
    collect(folder, &root, 0, &mut files, &mut outcome);
    files.sort();
    read_files(&files, only, sink, &mut outcome);
    for sys in system_folders(&files, folder) {
        outcome.facts += state_block(&sys, &root, sink);
    }
    if outcome.read == 0 && outcome.facts == 0 {
        return Err(Hinted::error(
            format!("nothing in the folder `{shown}` was recognised ({} files)", outcome.passed),
            "name the capture itself; `iowhy explain formats` lists what is read",
        ));
    }
    messages::warn(&words(folder, &outcome), None);
    Ok(outcome)
}

fn words(folder: &Path, outcome: &Outcome) -> String {
    let Outcome { read, passed, left_out, facts, .. } = outcome;
    let out = match left_out {
        0 => String::new(),
        n => format!(", and {n} were left out (too large, too many, or leading out of the folder)"),
    };
    let folder = folder.display();
    format!(
        "`{folder}`: {read} files were read, in {passed} nothing was recognised{out}; {facts} facts \
         come from `sys/block`"
    )
}

/// The regular files below a folder. Links to files inside are followed, links to folders are not:
/// what they lead to is met on its own way.
fn collect(folder: &Path, root: &Path, depth: usize, files: &mut Vec<PathBuf>, out: &mut Outcome) {
    let Ok(entries) = fs::read_dir(folder) else {
        out.left_out += 1;
        return;
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let Ok(kind) = fs::symlink_metadata(&path).map(|known| known.file_type()) else { continue };
        if kind.is_dir() {
            // Settings of a tree, one a file: they are read as a tree.
            let is_tree = ["sys", "proc"].iter().any(|name| path.ends_with(name)) && depth < 2;
            match depth + 1 < DEPTH {
                true if is_tree && path.ends_with("sys") => {}
                true => collect(&path, root, depth + 1, files, out),
                false => out.left_out += 1,
            }
        } else if kind.is_file() || kind.is_symlink() && leads_to_a_file(&path, root) {
            match files.len() < FILES {
                true => files.push(path),
                false => out.left_out += 1,
            }
        } else if kind.is_symlink() && !path.is_dir() {
            out.left_out += 1;
        }
    }
}

fn leads_to_a_file(link: &Path, root: &Path) -> bool {
    fs::canonicalize(link).is_ok_and(|target| target.starts_with(root) && target.is_file())
}

fn read_files(
    files: &[PathBuf],
    only: Option<&'static Format>,
    sink: &mut dyn Sink,
    outcome: &mut Outcome,
) {
    let mut together = 0;
    let mut traces: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let Ok(size) = fs::metadata(file).map(|known| known.len()) else {
            outcome.left_out += 1;
            continue;
        };
        if size > LARGEST || together + size > TOGETHER {
            outcome.left_out += 1;
            continue;
        }
        together += size;
        if let Some(trace) = blktrace::trace_of(&name) {
            match traces.iter_mut().find(|(known, _)| known == trace) {
                Some((_, parts)) => parts.push(file.clone()),
                None => traces.push((trace.to_string(), vec![file.clone()])),
            }
            continue;
        }
        match read_one(file, &name, only, sink) {
            Some(prose) => {
                outcome.read += 1;
                outcome.prose.push((name, prose));
            }
            None => outcome.passed += 1,
        }
    }
    for (trace, parts) in traces {
        let opened = parts.iter().filter_map(|part| File::open(part).ok());
        let readers: Vec<Box<dyn std::io::BufRead>> =
            opened.map(|file| Box::new(BufReader::new(file)) as _).collect();
        match blktrace::merge(&trace, readers, sink) {
            Ok(_) => outcome.read += parts.len(),
            Err(_) => outcome.passed += parts.len(),
        }
    }
}

/// Reads one file of text: its lines of prose, or `None` if nothing was recognised in it.
fn read_one(
    file: &Path,
    name: &str,
    only: Option<&'static Format>,
    sink: &mut dyn Sink,
) -> Option<u64> {
    let mut first = Vec::new();
    File::open(file).ok()?.take(LOOKED_AT).read_to_end(&mut first).ok()?;
    if first.contains(&0) || first.is_empty() {
        return None;
    }
    let mut reader = BufReader::with_capacity(1 << 18, File::open(file).ok()?.take(LARGEST));
    iowhy_read::scan(name, &mut reader, only, sink).ok().map(|scan| scan.prose)
}

/// The `sys` folders of an archive: in itself, or one below (`sosreport-host-.../sys`).
fn system_folders(files: &[PathBuf], folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = vec![folder.join("sys")];
    let tops = files.iter().filter_map(|file| file.strip_prefix(folder).ok()?.components().next());
    found.extend(tops.map(|top| folder.join(top).join("sys")));
    found.sort();
    found.dedup();
    found.retain(|sys| sys.join("block").is_dir());
    found
}

/// States what a copy of /sys says of its disks; what a link would take from outside is left out.
fn state_block(sys: &Path, root: &Path, sink: &mut dyn Sink) -> usize {
    let inside = |path: &str| fs::canonicalize(path).is_ok_and(|real| real.starts_with(root));
    let mut facts: Vec<(String, FactKey, String, String)> = Vec::new();
    for device in iowhy_live::devices(sys).unwrap_or_default() {
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
    if facts.is_empty() {
        return 0;
    }
    sink.begin(Source::new("surroundings", &sys.display().to_string(), Level::E));
    let count = facts.len();
    for (disk, key, value, read_from) in facts {
        let device = Some(sink.device(&disk));
        sink.fact(Fact::read(device, key, &value, read_from));
    }
    sink.end();
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Recording;

    /// A folder that goes away with its guard.
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
        let outcome = pour(&archive.0, None, &mut recording).unwrap();
        assert_eq!((outcome.read, outcome.passed, outcome.left_out), (3, 2, 1), "{outcome:?}");
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
        assert!(pour(&empty.0, None, &mut Recording::new()).is_err());
    }
}
