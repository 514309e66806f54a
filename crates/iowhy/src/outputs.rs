//! The one place that opens files for writing.
//!
//! A path is checked and opened in one step, or the opened file is checked: no link is followed,
//! only regular files are written, never an input, never one that another process writes, and a
//! non-empty file is replaced only with `--force`. A new file has a random name until it is
//! complete, so the requested name never has partial content, and the previous file stays until
//! then.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat, flock, fstat,
    fsync, linkat, mkdirat, open, openat, renameat, renameat_with, stat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::messages::HintedError;
use crate::sanitised::SanitisedWriter;

/// Whether a non-empty file may be replaced.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Force {
    /// Overwrite the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// A file that is written, or standard output.
pub(crate) struct Output {
    shown: PathBuf,
    place: Option<Place>,
}

/// A file, and how it gets its name.
struct Place {
    folder: OwnedFd,
    name: OsString,
    file: File,
    /// Its temporary name; `None` once it has its final one.
    temporary: Option<OsString>,
    replaces: bool,
}

impl Output {
    /// Opens the output of a command; `-` is standard output.
    ///
    /// # Errors
    /// If it must not be written to, or cannot.
    pub(crate) fn open(path: &Path, force: Force, inputs: &[PathBuf]) -> anyhow::Result<Output> {
        if path == Path::new("-") {
            let own = fstat(io::stdout()).ok().filter(is_regular);
            if own.is_some_and(|own| is_input(&own, inputs)) {
                let hint = "write to another file, then move it";
                return Err(HintedError::error("standard output is the input itself", hint));
            }
            return Ok(Output { shown: path.to_path_buf(), place: None });
        }
        let place = Place::open(path, force.force, inputs)?;
        Ok(Output { shown: path.to_path_buf(), place: Some(place) })
    }

    /// The same under its final name from the first byte, for files that others read while they
    /// grow.
    ///
    /// # Errors
    /// If it must not be written to, or cannot.
    pub(crate) fn open_named(path: &Path, force: Force) -> anyhow::Result<Output> {
        let mut output = Output::open(path, force, &[])?;
        if let Some(place) = &mut output.place {
            place.rename_into_place().map_err(|cause| cannot(path, cause))?;
        }
        Ok(output)
    }

    /// Whether it is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.place.is_none()
    }

    /// Another handle on it to write to.
    ///
    /// # Errors
    /// If the system has none left.
    pub(crate) fn handle(&self) -> io::Result<File> {
        match &self.place {
            Some(place) => place.file.try_clone(),
            None => Ok(File::from(rustix::io::fcntl_dupfd_cloexec(io::stdout(), 0)?)),
        }
    }

    /// The same for text, CSV, JSON and pictures in words.
    ///
    /// # Errors
    /// If it cannot be written; then only what existed before stays under its name.
    pub(crate) fn fill_text(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        self.fill(|out| {
            let mut clean = SanitisedWriter::new(out, false);
            fill(&mut clean)?;
            clean.flush()
        })
    }

    /// Writes it with `fill` through a buffer, and keeps it.
    ///
    /// # Errors
    /// If it cannot be written; then only what existed before stays under its name.
    pub(crate) fn fill(
        self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let written = self.handle().and_then(|file| {
            let mut out = io::BufWriter::new(file);
            fill(&mut out)?;
            out.flush()
        });
        written.map_err(|cause| self.cannot(cause))?;
        self.keep()
    }

    /// Gives it its name.
    ///
    /// # Errors If another process took the name meanwhile.
    pub(crate) fn keep(mut self) -> anyhow::Result<()> {
        match self.place.as_mut().map_or(Ok(()), Place::rename_into_place) {
            Ok(()) => Ok(()),
            Err(cause) => Err(self.cannot(cause)),
        }
    }

    /// The same, after syncing its content.
    ///
    /// # Errors
    /// If the disk refuses.
    pub(crate) fn keep_on_disk(mut self) -> anyhow::Result<()> {
        let kept = self.place.as_mut().map_or(Ok(()), |place| {
            place.file.sync_all()?;
            place.rename_into_place()?;
            // If a folder cannot be synced, its file system writes names at any time.
            if let Ok(folder) = openat(&place.folder, ".", FOLDER, Mode::empty()) {
                let _ = fsync(folder);
            }
            Ok(())
        });
        kept.map_err(|cause| self.cannot(cause))
    }

    /// Why it could not be written. A reader that ended is not an error.
    pub(crate) fn cannot(&self, cause: io::Error) -> anyhow::Error {
        cannot(&self.shown, cause)
    }

    /// The identity of the file, to distinguish it from a later one of the same name.
    pub(crate) fn made(&self) -> Option<WrittenFile> {
        let there = fstat(&self.place.as_ref()?.file).ok()?;
        Some(WrittenFile { path: self.shown.clone(), device: there.st_dev, inode: there.st_ino })
    }
}

/// A written file, by path and inode.
pub(crate) struct WrittenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl WrittenFile {
    /// Removes it if it is still there: nothing was written to it, or it is no longer needed.
    pub(crate) fn remove(&self) {
        let there = statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| (there.st_dev, there.st_ino) == (self.device, self.inode)) {
            // A leftover does no harm.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Place {
    fn open(path: &Path, force: bool, inputs: &[PathBuf]) -> anyhow::Result<Place> {
        let shown = path.display();
        let Some(name) = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/"))
        else {
            return Err(HintedError::error(format!("`{shown}` is a directory"), NAME_A_FILE));
        };
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Further operations use this folder's descriptor, even if its path changes.
        let folder_fd = openat(CWD, folder, flags, Mode::empty())
            .map_err(|cause| cannot(path, cause.into()))?;
        match statat(&folder_fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {
                if holds_devices(folder) {
                    return Err(HintedError::error(
                        format!("`{shown}` would be a new file among the device nodes"),
                        NAME_A_FILE,
                    ));
                }
                Place::new(folder_fd, name, false).map_err(|cause| cannot(path, cause))
            }
            Err(cause) => Err(cannot(path, cause.into())),
            Ok(there) => {
                if let Some(text) = objection(&there, path, inputs) {
                    return Err(text);
                }
                match (there.st_size, force) {
                    (0, _) => Place::empty(folder_fd, name, path),
                    (_, true) => Place::replacing(folder_fd, name, path),
                    (_, false) => Err(HintedError::error(
                        format!("`{shown}` exists; not overwritten"),
                        "name another file, or add `--force` to replace it",
                    )),
                }
            }
        }
    }

    /// A new file with a random name.
    fn new(folder: OwnedFd, name: &OsStr, replaces: bool) -> io::Result<Place> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let temporary = temporary_name(name)?;
        // Like any new file: the umask applies (open(2)).
        let file = openat(&folder, temporary.as_os_str(), flags, Mode::from_raw_mode(0o666))?;
        let place = Place {
            folder,
            name: name.to_os_string(),
            file: File::from(file),
            temporary: Some(temporary),
            replaces,
        };
        flock(&place.file, FlockOperation::NonBlockingLockExclusive)?;
        Ok(place)
    }

    /// The existing empty file, such as one made by `mktemp`.
    fn empty(folder: OwnedFd, name: &OsStr, path: &Path) -> anyhow::Result<Place> {
        let file = locked(&folder, name, OFlags::WRONLY, path)?;
        if fstat(&file).is_ok_and(|there| there.st_size != 0) {
            let text = format!("`{}` was written to by another process", path.display());
            return Err(HintedError::error(text, "name another file"));
        }
        Ok(Place { folder, name: name.to_os_string(), file, temporary: None, replaces: false })
    }

    /// A new file that replaces the existing one once it is complete.
    fn replacing(folder: OwnedFd, name: &OsStr, path: &Path) -> anyhow::Result<Place> {
        // Not one that another process is writing.
        drop(locked(&folder, name, OFlags::RDONLY, path)?);
        Place::new(folder, name, true).map_err(|cause| cannot(path, cause))
    }

    /// Gives the file the requested name.
    fn rename_into_place(&mut self) -> io::Result<()> {
        let Some(temporary) = self.temporary.as_deref() else { return Ok(()) };
        let (folder, name) = (&self.folder, self.name.as_os_str());
        if self.replaces {
            renameat(folder, temporary, folder, name)?;
        } else {
            match renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE) {
                // renameat2(2): EINVAL where the file system has no such flag.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    linkat(folder, temporary, folder, name, AtFlags::empty())?;
                    unlinkat(folder, temporary, AtFlags::empty())?;
                }
                done => done?,
            }
        }
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Removes a useless partial file; its name shows its origin if it remains.
            let _ = unlinkat(&self.folder, temporary.as_os_str(), AtFlags::empty());
        }
    }
}

/// Flags for opening a folder to read or sync it.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder for folders and files that iowhy names: created if missing, each file replaced when
/// the new one is complete. No link below it is followed.
pub(crate) struct Tree {
    shown: PathBuf,
    folder: OwnedFd,
}

impl Tree {
    /// Opens one, made if it is not there.
    ///
    /// # Errors
    /// If it is none, or cannot be made.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Tree> {
        let opened = std::fs::create_dir_all(path).and_then(|()| {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            Ok(openat(CWD, path, flags, Mode::empty())?)
        });
        let folder = opened.map_err(|cause| {
            let text = format!("cannot write into `{}`: {cause}", path.display());
            HintedError::error(text, NAME_A_FOLDER)
        })?;
        if holds_devices(path) {
            let text = format!("`{}` is the folder of device nodes", path.display());
            return Err(HintedError::error(text, NAME_A_FOLDER));
        }
        Ok(Tree { shown: path.to_path_buf(), folder })
    }

    /// A file in these folders, with a temporary name until it is complete.
    ///
    /// # Errors If something else is there, or it cannot be created.
    pub(crate) fn file(&self, folders: &[&str], name: &str) -> anyhow::Result<Output> {
        let shown = self.path(folders).join(name);
        let Some(folder) = self.below(folders, true)? else {
            return Err(cannot(&shown, ErrorKind::NotFound.into()));
        };
        let there = match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => None,
            there => Some(there.map_err(|cause| cannot(&shown, cause.into()))?),
        };
        if let Some(text) = there.as_ref().and_then(|there| objection(there, &shown, &[])) {
            return Err(text);
        }
        let place = Place::new(folder, OsStr::new(name), there.is_some());
        let place = place.map_err(|cause| cannot(&shown, cause))?;
        Ok(Output { shown, place: Some(place) })
    }

    /// The names in these folders; none if there are no such folders.
    ///
    /// # Errors
    /// If they cannot be read.
    pub(crate) fn names(&self, folders: &[&str]) -> anyhow::Result<Vec<String>> {
        let Some(folder) = self.below(folders, false)? else { return Ok(Vec::new()) };
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in Dir::new(openat(&folder, ".", FOLDER, Mode::empty())?)? {
                names.extend(entry?.file_name().to_str().map(str::to_string));
            }
            names.sort();
            Ok(names)
        };
        read().map_err(|cause| {
            let text = format!("cannot read `{}`: {cause}", self.path(folders).display());
            HintedError::error(text, NAME_A_FOLDER)
        })
    }

    /// Removes a file that is no longer needed, if it exists.
    ///
    /// # Errors
    /// If the folders cannot be opened.
    pub(crate) fn remove(&self, folders: &[&str], name: &str) -> anyhow::Result<()> {
        if let Some(folder) = self.below(folders, false)? {
            // The next run removes a leftover.
            let _ = unlinkat(&folder, name, AtFlags::empty());
        }
        Ok(())
    }

    fn path(&self, folders: &[&str]) -> PathBuf {
        folders.iter().fold(self.shown.clone(), |path, folder| path.join(folder))
    }

    /// The innermost of these folders; `None` if one is missing and none may be created.
    fn below(&self, folders: &[&str], make: bool) -> anyhow::Result<Option<OwnedFd>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut inner = self.folder.try_clone()?;
        for (depth, name) in folders.iter().enumerate() {
            let refused = |cause: Errno| {
                let shown = self.path(folders.get(..=depth).unwrap_or_default());
                let why = match cause {
                    Errno::NOTDIR | Errno::LOOP => {
                        "it is not a folder, or is a link (links are not followed)".to_string()
                    }
                    cause => io::Error::from(cause).to_string(),
                };
                let text = format!("cannot write into `{}`: {why}", shown.display());
                HintedError::error(text, NAME_A_FOLDER)
            };
            inner = match openat(&inner, *name, flags, Mode::empty()) {
                Ok(there) => there,
                Err(Errno::NOENT) if !make => return Ok(None),
                Err(Errno::NOENT) => {
                    match mkdirat(&inner, *name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(cause) => return Err(refused(cause)),
                    }
                    openat(&inner, *name, flags, Mode::empty()).map_err(refused)?
                }
                Err(cause) => return Err(refused(cause)),
            };
        }
        Ok(Some(inner))
    }
}

const NAME_A_FOLDER: &str = "name a folder with write permission; it is created if missing";

/// Replaces a file of this program by one with this text, if it is still the one that was read
/// (`None`: if there is still none).
///
/// # Errors
/// If it cannot be written, or another process changed it meanwhile.
pub(crate) fn rewrite(path: &Path, read: Option<&File>, text: &str) -> anyhow::Result<()> {
    let changed = || {
        let hint = "run it again";
        HintedError::error(format!("`{}` was changed by another process", path.display()), hint)
    };
    let there = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok();
    let known = read.and_then(|file| fstat(file).ok());
    match (&there, &known) {
        (Some(there), Some(known)) if same(there, known) => {}
        (None, None) => {}
        (Some(there), None) if there.st_size == 0 && is_regular(there) => {}
        _ => return Err(changed()),
    }
    let output = Output::open(path, Force { force: known.is_some() }, &[])?;
    output.fill(|out| out.write_all(text.as_bytes()))
}

/// Opens a file that this program may replace later, such as one with a learned baseline; `None`
/// if there is none.
///
/// # Errors
/// If it is a link, no regular file, or cannot be read.
pub(crate) fn open_to_rewrite(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(io::Error::new(ErrorKind::InvalidInput, "it is a link")),
        Err(cause) => return Err(cause.into()),
    };
    match fstat(&file)? {
        there if is_regular(&there) => Ok(Some(File::from(file))),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

const NAME_A_FILE: &str = "name a file in a folder with write permission; `-` is standard output";

/// Why an existing file must not be written.
fn objection(there: &Stat, path: &Path, inputs: &[PathBuf]) -> Option<anyhow::Error> {
    let shown = path.display();
    let what = match FileType::from_raw_mode(there.st_mode) {
        FileType::RegularFile if is_input(there, inputs) => {
            return Some(HintedError::error(
                format!("`{shown}` is the input itself: a capture cannot be written over itself"),
                "write to another file, then move it",
            ));
        }
        FileType::RegularFile => return None,
        FileType::Directory => "a directory",
        FileType::Symlink => "a link (links are not followed)",
        FileType::BlockDevice => "a block device (output is never written to a device)",
        FileType::CharacterDevice => "a device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "not a regular file",
    };
    Some(HintedError::error(format!("cannot write `{shown}`: it is {what}"), NAME_A_FILE))
}

/// Opens an existing file without following links or blocking, and locks it.
fn locked(folder: &OwnedFd, name: &OsStr, access: OFlags, path: &Path) -> anyhow::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file =
        openat(folder, name, flags, Mode::empty()).map_err(|cause| cannot(path, cause.into()))?;
    let there = fstat(&file).map_err(|cause| cannot(path, cause.into()))?;
    if !is_regular(&there) {
        let text = format!("`{}` was replaced by another process", path.display());
        return Err(HintedError::error(text, NAME_A_FILE));
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(HintedError::error(
            format!("`{}` is being written by another process", path.display()),
            "name another file, or wait for it",
        )),
        // A file system without locks.
        _ => Ok(File::from(file)),
    }
}

fn is_regular(there: &Stat) -> bool {
    FileType::from_raw_mode(there.st_mode) == FileType::RegularFile
}

fn same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn is_input(there: &Stat, inputs: &[PathBuf]) -> bool {
    inputs.iter().any(|input| {
        let known =
            if input == Path::new("-") { fstat(io::stdin()) } else { stat(input.as_path()) };
        known.is_ok_and(|known| same(&known, there))
    })
}

/// Whether a folder is that of the device nodes, where a mistyped device would become a new file.
/// /dev/shm and other mounts below it are not included.
fn holds_devices(folder: &Path) -> bool {
    let devices = Path::new("/dev");
    let real = std::fs::canonicalize(folder).unwrap_or_default();
    let system = |path: &Path| stat(path).ok().map(|found| found.st_dev);
    real.starts_with(devices) && system(&real) == system(devices)
}

/// `.trace.csv.iowhy-0123456789abcdef`.
fn temporary_name(name: &OsStr) -> io::Result<OsString> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let number = u64::from_ne_bytes(random);
    let mut temporary = OsString::from(".");
    // Names have 255 bytes at most (NAME_MAX of limits.h).
    let part = name.as_bytes().get(..200).unwrap_or(name.as_bytes());
    temporary.push(OsStr::from_bytes(part));
    temporary.push(format!(".iowhy-{number:016x}"));
    Ok(temporary)
}

fn cannot(path: &Path, cause: io::Error) -> anyhow::Error {
    if cause.kind() == ErrorKind::BrokenPipe {
        return cause.into();
    }
    let shown = path.display();
    match cause.kind() {
        ErrorKind::AlreadyExists => HintedError::error(
            format!("cannot write `{shown}`: another process created it first"),
            "name another file, or add `--force` to replace it",
        ),
        _ => HintedError::error(format!("cannot write `{shown}`: {cause}"), NAME_A_FILE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const FORCE: Force = Force { force: true };
    const ASK: Force = Force { force: false };

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path =
                std::env::temp_dir().join(format!("iowhy-outputs-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Folder(path)
        }

        fn file(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn names(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> = entries
                .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn write(path: &Path, force: Force, inputs: &[PathBuf]) -> anyhow::Result<()> {
        Output::open(path, force, inputs)?.fill(|out| out.write_all(b"new"))
    }

    fn refusal(path: &Path, force: Force, inputs: &[PathBuf]) -> String {
        format!("{:#}", write(path, force, inputs).expect_err("it must be refused"))
    }

    #[test]
    fn a_file_that_holds_something_stays_unless_it_may_be_replaced() {
        let folder = Folder::new("force");
        let file = folder.file("trace.csv");
        write(&file, ASK, &[]).unwrap();
        assert!(refusal(&file, ASK, &[]).contains("exists; not overwritten"));
        std::fs::write(&file, "old and longer").unwrap();
        write(&file, FORCE, &[]).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "new");
        let empty = folder.file("empty");
        std::fs::write(&empty, "").unwrap();
        write(&empty, ASK, &[]).unwrap();
        assert_eq!(std::fs::read_to_string(&empty).unwrap(), "new");
        assert_eq!(folder.names(), ["empty", "trace.csv"]);
    }

    #[test]
    fn half_a_file_is_none_and_what_was_there_stays() {
        let folder = Folder::new("half");
        let file = folder.file("trace.csv");
        std::fs::write(&file, "old").unwrap();
        let output = Output::open(&file, FORCE, &[]).unwrap();
        let failed = output.fill(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(folder.names(), ["trace.csv"]);
    }

    #[test]
    fn links_devices_pipes_and_inputs_are_refused_also_with_force() {
        let folder = Folder::new("kinds");
        let input = folder.file("input");
        std::fs::write(&input, "input").unwrap();
        let hard = folder.file("hard");
        std::fs::hard_link(&input, &hard).unwrap();
        let (link, dangling, pipe) =
            (folder.file("link"), folder.file("dangling"), folder.file("pipe"));
        symlink(&input, &link).unwrap();
        symlink(folder.file("nowhere"), &dangling).unwrap();
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let inputs = [input.clone()];
        for force in [ASK, FORCE] {
            for (path, why) in [
                (&hard, "the input itself"),
                (&input, "the input itself"),
                (&link, "a link"),
                (&dangling, "a link"),
                (&pipe, "a pipe"),
                (&PathBuf::from("/dev/null"), "a device"),
                (&PathBuf::from("/dev/iowhy-no-such-disk"), "among the device nodes"),
                (&folder.0, "a directory"),
                (&folder.file("no/such"), "No such file"),
            ] {
                let reported = refusal(path, force, &inputs);
                assert!(reported.contains(why), "{}: {reported}", path.display());
            }
        }
        assert_eq!(std::fs::read_to_string(&input).unwrap(), "input");
        assert!(!folder.file("nowhere").exists());
    }

    #[test]
    fn of_two_that_write_one_file_one_is_refused() {
        let folder = Folder::new("two");
        let file = folder.file("trace.iowhy");
        let first = Output::open_named(&file, ASK).unwrap();
        assert!(refusal(&file, ASK, &[]).contains("another process"));
        first.handle().unwrap().write_all(b"some").unwrap();
        assert!(refusal(&file, FORCE, &[]).contains("another process"));
        drop(first);
        write(&file, FORCE, &[]).unwrap();
        // Both began before the file existed: the later one finds the name taken.
        let other = folder.file("other");
        let (one, two) =
            (Output::open(&other, ASK, &[]).unwrap(), Output::open(&other, ASK, &[]).unwrap());
        one.fill(|out| out.write_all(b"one")).unwrap();
        let late = two.fill(|out| out.write_all(b"two")).expect_err("the name is taken");
        assert!(late.to_string().contains("another process created it"), "{late}");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "one");
        assert_eq!(folder.names(), ["other", "trace.iowhy"]);
    }

    #[test]
    fn a_link_that_is_put_there_in_the_middle_is_never_followed() {
        let folder = Folder::new("race");
        let precious = folder.file("precious");
        std::fs::write(&precious, "precious").unwrap();
        let (file, spare) = (folder.file("out"), folder.file("spare"));
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = symlink(&precious, &spare);
                    let _ = std::fs::rename(&spare, &file);
                    let _ = std::fs::remove_file(&file);
                    let _ = std::fs::write(&spare, "");
                    let _ = std::fs::rename(&spare, &file);
                }
            });
            let mut written = 0;
            for turn in 0..4000 {
                let force = if turn % 2 == 0 { ASK } else { FORCE };
                written += u32::from(write(&file, force, &[]).is_ok());
                let named = Output::open_named(&file, force);
                if let Ok(named) = named {
                    named.handle().unwrap().write_all(b"new").unwrap();
                }
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            println!("{written} of 4000 written");
        });
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
        let names = folder.names();
        assert!(!names.iter().any(|name| name.contains(".iowhy-")), "{names:?}");
    }
}
