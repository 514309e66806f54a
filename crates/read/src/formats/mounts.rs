//! Mounted file systems and their options: what `mount` prints, and the kernel's own lists.
//!
//! ## Reads
//! Solaris and VxFS `/u02 on /dev/... read/write/... on DATE` (with `mount -v` the type too),
//! Linux `/dev/sda1 on / type ext4 (rw,...)`, rows of `findmnt`, lines of `/proc/mounts` and of
//! `/proc/self/mountinfo`, and the command `mount -o OPTIONS ... /point` as it was typed. Each file
//! system on a block device or a server becomes the facts `mount.point`, `mount.type`,
//! `mount.options` and, on Solaris, `mount.since`.
//!
//! ## How to capture
//! `mount`, `findmnt`'s source files, `mount | grep u02`, support archives.
//!
//! ## Versions
//! Solaris separates options with slashes, all others with commas; both are kept as printed. The
//! options of mountinfo are those of the mount, then those of the file system.
//!
//! ## Caveats
//! A device is named without `/dev/`, `/dev/mapper/` or `/dev/dsk/`: the volume or slice, not the
//! disks below it. File systems without a device (proc, tmpfs, cgroup) are ignored. A line of
//! `/etc/fstab` describes what should be mounted, not what is: it is not read.
//!
//! ## Not in this output
//! Defaults that are not printed, flags of open(2), and the devices below a volume.

use crate::program::*;
use crate::text::words::is_for_people;

pub(super) const FORMAT: Format = Format::by_line::<Mounts>(
    "mounted file systems: mount(8) of Linux and Solaris, /proc/mounts, mountinfo",
    Level::E,
    &["mount", " rw", "\trw", "(rw", " ro", "\tro", "(ro", "read/write", "only"],
    |line| parse(line).is_some(),
);

#[derive(Default)]
struct Mounts;

/// One mounted file system.
#[derive(Debug, Default, PartialEq)]
struct Mount {
    source: String,
    point: String,
    kind: Option<String>,
    options: String,
    since: Option<String>,
}

impl Reader for Mounts {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let Some(mount) = parse(line) else { return Step::NotMine };
        // A remount names nothing but the mount point.
        let name =
            if mount.source.is_empty() { Some(&*mount.point) } else { storage_name(&mount.source) };
        let Some(device) = name else { return Step::Consumed };
        let device = sink.device(device);
        let facts = [
            (typed::MOUNT_POINT, Some(mount.point)),
            (typed::MOUNT_TYPE, mount.kind),
            (typed::MOUNT_OPTIONS, Some(mount.options)),
            (typed::MOUNT_SINCE, mount.since),
        ];
        for (key, value) in facts {
            let Some(value) = value else { continue };
            sink.add_fact_here(device, key, value);
        }
        Step::Consumed
    }
}

/// The device as other listings name it; `None` for a file system that has none.
fn storage_name(source: &str) -> Option<&str> {
    if let Some(path) = source.strip_prefix("/dev/") {
        let name = ["mapper/", "dsk/"].into_iter().find_map(|folder| path.strip_prefix(folder));
        return Some(name.unwrap_or(path)).filter(|name| !name.is_empty());
    }
    // `server:/export` and `//server/share` are storage too, only farther away.
    let remote = source.contains(":/") || source.starts_with("//");
    remote.then_some(source)
}

fn parse(line: &str) -> Option<Mount> {
    if !line.contains('/') || !is_for_people(line) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    typed(&words)
        .or_else(|| mountinfo(&words))
        .or_else(|| proc_mounts(&words))
        .or_else(|| findmnt(&words))
        .or_else(|| linux(line.trim()))
        .or_else(|| solaris(&words))
}

/// `mount -o remount,timeo=900 /mnt`, `sudo mount -t nfs -o soft server:/export /mnt`: after a
/// prompt or not.
fn typed(words: &[&str]) -> Option<Mount> {
    let prompt = |word: &&&str| matches!(**word, "sudo" | "$" | "#") || word.ends_with(['$', '#']);
    let prompts = words.iter().take_while(prompt).count();
    let ["mount", rest @ ..] = words.get(prompts..)? else { return None };
    let (mut mount, mut paths) = (Mount::default(), Vec::new());
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match *word {
            "-o" => mount.options = rest.next()?.to_string(),
            "-t" => mount.kind = Some(rest.next()?.to_string()),
            option if option.starts_with('-') => return None,
            path => paths.push(path),
        }
    }
    let (point, source) = paths.split_last()?;
    let sound = point.starts_with('/') && source.len() < 2 && !mount.options.is_empty();
    mount.point = point.to_string();
    mount.source = source.first().map(|source| source.to_string()).unwrap_or_default();
    sound.then_some(mount)
}

/// `36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1 rw,errors=continue`
/// (Linux, Documentation/filesystems/proc.rst, 3.5).
fn mountinfo(words: &[&str]) -> Option<Mount> {
    let [id, parent, number, root, point, options, rest @ ..] = words else { return None };
    let (major, minor) = number.split_once(':')?;
    [id, parent, &major, &minor].into_iter().try_for_each(|text| integer(text).map(drop))?;
    let dash = rest.iter().position(|word| *word == "-")?;
    let [kind, source, super_options] = rest.get(dash + 1..)? else { return None };
    (root.starts_with('/') && access(options)).then(|| Mount {
        source: unescape(source),
        point: unescape(point),
        kind: Some(kind.to_string()),
        options: format!("{options},{super_options}"),
        since: None,
    })
}

/// `/dev/sda1 / ext4 rw,relatime 0 0`; the two zeros distinguish it from fstab, which has 1 and 2
/// too.
fn proc_mounts(words: &[&str]) -> Option<Mount> {
    let [source, point, kind, options, "0", "0"] = words else { return None };
    (point.starts_with('/') && access(options)).then(|| Mount {
        source: unescape(source),
        point: unescape(point),
        kind: Some(kind.to_string()),
        options: options.to_string(),
        since: None,
    })
}

/// `├─/srv  /dev/sda1  ext4  rw,relatime`, as findmnt lists it, with or without the tree.
fn findmnt(words: &[&str]) -> Option<Mount> {
    let [.., point, source, kind, options] = words else { return None };
    let branch = |c: char| matches!(c, '├' | '─' | '└' | '│' | '|' | '`' | '-');
    let branches = words.len().checked_sub(4).and_then(|n| words.get(..n))?;
    let point = point.trim_start_matches(branch);
    let sound = branches.iter().all(|word| word.chars().all(branch))
        && point.starts_with('/')
        && kind.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    // A volume inside: `/dev/sda2[/@home]`.
    let source = source.split('[').next().unwrap_or(source);
    (sound && access(options)).then(|| Mount {
        source: source.to_string(),
        point: unescape(point),
        kind: Some(kind.to_string()),
        options: options.to_string(),
        since: None,
    })
}

/// `/dev/sda1 on / type ext4 (rw,relatime)`, perhaps followed by `[label]`.
fn linux(line: &str) -> Option<Mount> {
    let (head, options) = line.rsplit_once(" (")?;
    let options = options.split_once(')')?.0;
    let (head, kind) = head.rsplit_once(" type ")?;
    let (source, point) = head.split_once(" on /")?;
    (!source.contains(' ') && !kind.contains(' ') && access(options)).then(|| Mount {
        source: source.to_string(),
        point: format!("/{point}"),
        kind: Some(kind.to_string()),
        options: options.to_string(),
        since: None,
    })
}

/// `/u02 on /dev/dsk/c0t0d0s0 read/write/... on Mon Dec 5 22:21:31 2005`, or with `mount -v`
/// `/dev/dsk/c0t0d0s0 on /u02 type ufs read/write/... on Mon ...`.
fn solaris(words: &[&str]) -> Option<Mount> {
    let date = words.len().checked_sub(6)?;
    let (head, tail) = words.split_at_checked(date)?;
    let ["on", weekday, month, _, _, year] = tail else { return None };
    let dated = weekday.len() == 3 && month.len() == 3 && integer(year).is_some();
    let (source, point, kind, options) = match head {
        [source, "on", point, "type", kind, options @ ..] => (source, point, Some(kind), options),
        [point, "on", source, options @ ..] => (source, point, None, options),
        _ => return None,
    };
    let options = options.join(" ");
    let access = ["read/write", "read only"]
        .into_iter()
        .any(|word| options.strip_prefix("remote/").unwrap_or(&options).starts_with(word));
    (dated && access && point.starts_with('/')).then(|| Mount {
        source: source.to_string(),
        point: point.to_string(),
        kind: kind.map(|kind| kind.to_string()),
        options,
        since: tail.get(1..).map(|date| date.join(" ")),
    })
}

/// Whether a list of options begins as the kernel's do.
fn access(options: &str) -> bool {
    matches!(options.split(',').next(), Some("rw" | "ro"))
}

/// The kernel writes blanks, tabs, line ends and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_string(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_without_a_device_have_no_name() {
        assert_eq!(storage_name("tmpfs"), None);
        assert_eq!(storage_name("/dev/"), None);
        assert_eq!(storage_name("/dev/mapper/vg0-root"), Some("vg0-root"));
        assert_eq!(storage_name("nas:/export"), Some("nas:/export"));
    }
}
