//! Reads files and standard input into a recording.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use iowhy_model::{Recording, Sink, Tally, Unread};
use iowhy_read::{Formats, Scan};
use iowhy_store::Store;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;

use crate::arguments::Files;
use crate::budget::Budget;
use crate::examples;
use crate::folder;
use crate::messages::{self, HintedError, ProgressReader};
use crate::store_input;
use crate::unpack::{InputBody, unpacked};

/// Bytes per read.
const BUFFER: usize = 1 << 18;
/// How long to wait for a silent pipe: bcc's tools need two to three seconds to compile.
const PIPE_WAIT: Duration = Duration::from_secs(4);

/// The result of reading the inputs.
pub(crate) struct InputSet {
    /// All listings of all inputs.
    pub recording: Recording,
    /// Inputs that could not be read, or in which nothing was recognised.
    pub failed: usize,
}

impl Files {
    /// Whether to read captures rather than watch this machine: files are named, or something is
    /// piped in.
    ///
    /// # Errors
    /// If the pipe ended before any data.
    pub(crate) fn reads_captures(&self) -> anyhow::Result<bool> {
        Ok(self.named() || piped()?)
    }

    /// The recorder's store is an input if a past time is selected.
    pub(crate) fn add_store(&mut self) {
        let folder = self.past.folder();
        if self.past.asked() && !self.files.contains(&folder) {
            self.files.push(folder);
        }
    }

    /// Whether captures are named.
    pub(crate) fn named(&self) -> bool {
        !self.files.is_empty() || self.read_as.example.is_some()
    }

    /// Reads every input in fixed memory, whatever its length; an error in one is reported at once
    /// and does not stop the others. Beyond a limit single I/Os are only counted, and histograms
    /// are added up with their neighbours.
    pub(crate) fn read_counting(&self, mut tally: Tally) -> anyhow::Result<InputSet> {
        let (failed, prose) = self.emit(&mut tally)?;
        let mut recording = tally.recording();
        recording.prose = prose;
        Ok(InputSet { recording, failed })
    }

    /// Emits every input into a sink; returns how many failed, and the lines of prose of the
    /// others.
    pub(crate) fn emit(&self, sink: &mut dyn Sink) -> anyhow::Result<(usize, Vec<(String, u64)>)> {
        let known = self.read_as.known()?;
        if let Some(name) = &self.read_as.example {
            let (input, mut text) = examples::open(name)?;
            let scan = iowhy_read::scan(&input, &mut text, known, sink)?;
            return Ok((0, vec![(input, scan.prose)]));
        }
        let (mut failed, mut prose) = (0, Vec::new());
        for (input, files) in self.grouped() {
            let is_past = |folder: &PathBuf| self.past.asked() && *folder == self.past.folder();
            if let [folder] = &files[..]
                && (folder.is_dir() || is_past(folder) && !folder.exists())
            {
                if Store::is_one(folder) || is_past(folder) {
                    if let Err(error) = store_input::emit(folder, &self.past, self.cells, sink) {
                        failed += 1;
                        messages::error(&error);
                    }
                    continue;
                }
                match folder::emit(folder, known, sink) {
                    Ok(outcome) => {
                        failed += usize::from(!outcome.is_whole());
                        prose.extend(outcome.prose);
                    }
                    Err(error) => {
                        failed += 1;
                        messages::error(&error);
                    }
                }
                continue;
            }
            match emit_one(&input, &files, known, sink) {
                Ok(InputKind::Capture(scan)) => prose.push((input, scan.prose)),
                Ok(InputKind::Archive(outcome)) => {
                    failed += usize::from(!outcome.is_whole());
                    prose.extend(outcome.prose);
                }
                Err(error) => {
                    failed += 1;
                    if let Some(unread) = as_unread(input, &error) {
                        sink.unread(unread);
                    }
                    messages::error(&error);
                }
            }
        }
        Ok((failed, prose))
    }

    /// The same, one input at a time.
    pub(crate) fn each(&self) -> Vec<Files> {
        if self.read_as.example.is_some() {
            return vec![self.clone()];
        }
        let of = |(_, files)| Files { files, ..self.clone() };
        self.grouped().into_iter().map(of).collect()
    }

    /// Every input with its files: one each, except blktrace, which writes one file per CPU.
    fn grouped(&self) -> Vec<(String, Vec<PathBuf>)> {
        let stdin = self.files.is_empty().then(|| PathBuf::from("-"));
        let mut groups: Vec<(String, Vec<PathBuf>)> = Vec::new();
        let mut traces: HashMap<String, usize> = HashMap::new();
        for file in self.files.iter().cloned().chain(stdin) {
            let name = file.display().to_string();
            let trace = iowhy_read::blktrace::trace_of(&name).unwrap_or(&name).to_string();
            let known = traces.get(&trace).filter(|_| trace != name);
            match known.and_then(|place| groups.get_mut(*place)) {
                Some((_, files)) => files.push(file),
                None => {
                    traces.entry(trace.clone()).or_insert(groups.len());
                    groups.push((trace, vec![file]));
                }
            }
        }
        groups
    }

    /// Whether standard input is the only input.
    pub(crate) fn is_stdin(&self) -> bool {
        let named = self.read_as.example.is_some();
        !named && self.files.iter().all(|file| file == Path::new("-")) && self.files.len() < 2
    }

    /// Every input by its name, opened in turn.
    pub(crate) fn open(&self) -> impl Iterator<Item = (String, anyhow::Result<Box<dyn BufRead>>)> {
        let example = self.read_as.example.as_deref().map(|name| match examples::open(name) {
            Ok((input, text)) => (input, Ok(text)),
            Err(error) => (format!("example {name}"), Err(error)),
        });
        let stdin = (!self.named()).then(|| PathBuf::from("-"));
        let files = self.files.iter().cloned().chain(stdin);
        example.into_iter().chain(files.map(|file| (file.display().to_string(), open(&file))))
    }
}

/// An input that the user named but that was not read: it may be about the disks of the others
/// (0040). An empty one is ignored, and one that its scan marked as unread is reported already.
fn as_unread(input: String, error: &anyhow::Error) -> Option<Unread> {
    let (lines, reason) = match error.downcast_ref::<iowhy_read::Error>() {
        Some(iowhy_read::Error::Empty { .. } | iowhy_read::Error::Nothing { stated: true, .. }) => {
            return None;
        }
        Some(iowhy_read::Error::Nothing { lines, .. }) => (*lines, "no known format in it"),
        _ => (1, "it could not be read"),
    };
    let (lines, reason) = ((1, lines.max(1)), reason.to_string());
    Some(Unread { input, lines, text: String::new(), format: None, reason })
}

/// The kind of an input.
enum InputKind {
    Capture(Scan),
    Archive(folder::Outcome),
}

/// Reads one input, of several files if it is a blktrace.
fn emit_one(
    input: &str,
    files: &[PathBuf],
    known: Formats,
    sink: &mut dyn Sink,
) -> anyhow::Result<InputKind> {
    let [file] = files else {
        let parts: Vec<_> = files.iter().map(|file| open(file)).collect::<Result<_, _>>()?;
        return Ok(InputKind::Capture(iowhy_read::blktrace::merge(input, parts, sink)?));
    };
    let cannot = |cause: std::io::Error| {
        let text = format!("cannot read `{input}`: {cause}");
        HintedError::error(text, "name a file with captured output")
    };
    Ok(match unpacked(open_packed(file)?, Budget::of_this_run()).map_err(cannot)? {
        InputBody::Archive(mut archive) => {
            InputKind::Archive(folder::emit_named_archive(&mut *archive, input, known, sink)?)
        }
        InputBody::Capture(mut one) => {
            InputKind::Capture(iowhy_read::scan(input, &mut one, known, sink)?)
        }
    })
}

/// Opens a capture, packed or not.
fn open(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    let shown = file.display();
    match unpacked(open_packed(file)?, Budget::of_this_run()) {
        Ok(InputBody::Capture(reader)) => Ok(reader),
        Ok(InputBody::Archive(_)) => Err(HintedError::error(
            format!("`{shown}` is an archive"),
            format!("to judge all captures in it: `iowhy why {shown}`; else unpack it"),
        )),
        Err(cause) => Err(HintedError::error(
            format!("cannot read `{shown}`: {cause}"),
            "name a file with captured output",
        )),
    }
}

fn open_packed(file: &Path) -> anyhow::Result<Box<dyn BufRead>> {
    let budget = Budget::of_this_run();
    if file == Path::new("-") {
        let reported = ProgressReader::new(std::io::stdin(), "standard input".to_string(), None);
        return Ok(Box::new(BufReader::with_capacity(BUFFER, budget.metered(reported))));
    }
    let shown = file.display();
    let cannot = |cause: std::io::Error| {
        let hint = match cause.kind() {
            std::io::ErrorKind::PermissionDenied => "run as a user with read permission",
            std::io::ErrorKind::NotFound => "check the path; `iowhy explain why` shows examples",
            _ => "name a file with captured output",
        };
        HintedError::error(format!("cannot read `{shown}`: {cause}"), hint)
    };
    let opened = File::open(file).map_err(cannot)?;
    let known = opened.metadata().map_err(cannot)?;
    let kind = known.file_type();
    if kind.is_dir() {
        return Err(HintedError::error(
            format!("`{shown}` is a directory"),
            format!("name the files in it: `iowhy why {shown}/*`"),
        ));
    }
    if std::os::unix::fs::FileTypeExt::is_block_device(&kind) {
        return Err(HintedError::error(
            format!("`{shown}` is a block device, not a capture"),
            format!("to watch it live: `iowhy why --device {shown}`"),
        ));
    }
    let reported =
        ProgressReader::new(opened, shown.to_string(), kind.is_file().then_some(known.len()));
    Ok(Box::new(BufReader::with_capacity(BUFFER, budget.metered(reported))))
}

/// Whether a capture is piped in, so that `biosnoop | iowhy` reads it.
///
/// A terminal or `/dev/null` is not a capture. A regular file is one if nothing has been read from
/// it yet: in `while read LINE; do iowhy; done < LIST` it is the list. A pipe may be a running
/// tool, or only left open by ssh or a script. It is a capture if data arrives within
/// [`PIPE_WAIT`].
///
/// # Errors If the writer of the pipe ended without output: a verdict on this machine would be
/// mistaken for one on the capture.
fn piped() -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Ok(false);
    }
    let Ok(stat) = rustix::fs::fstat(&stdin) else { return Ok(false) };
    let kind = FileType::from_raw_mode(stat.st_mode);
    match kind {
        FileType::RegularFile => Ok(rustix::fs::tell(&stdin).is_ok_and(|read| read == 0)),
        FileType::Fifo | FileType::Socket => {
            let mut heard = hear(&stdin, Duration::from_secs(1));
            if heard == Heard::Silence && kind == FileType::Fifo {
                let text = "waiting for a capture on standard input, then watching live";
                messages::warn(text, None);
                heard = hear(&stdin, PIPE_WAIT);
            }
            match heard {
                Heard::End if kind == FileType::Fifo => Err(ended()),
                heard => {
                    let silent = heard == Heard::Silence && kind == FileType::Fifo;
                    SILENT.store(silent, Ordering::Relaxed);
                    if silent {
                        messages::warn("no data on standard input: watching live", None);
                    }
                    Ok(heard == Heard::Data)
                }
            }
        }
        _ => Ok(false),
    }
}

/// Whether this machine is watched because a pipe on standard input stayed silent.
static SILENT: AtomicBool = AtomicBool::new(false);

/// Checks a silent pipe again, after this machine was watched instead.
///
/// # Errors If it has ended or has data since: the user meant it to be read.
pub(crate) fn still_silent() -> anyhow::Result<()> {
    if !SILENT.load(Ordering::Relaxed) {
        return Ok(());
    }
    match hear(&std::io::stdin(), Duration::ZERO) {
        Heard::Silence => Ok(()),
        Heard::End => Err(ended()),
        Heard::Data => Err(HintedError::error(
            "data on standard input came too late: iowhy was already watching this machine",
            "save it to a file and read that: `COMMAND > capture.txt; iowhy capture.txt`",
        )),
    }
}

fn ended() -> anyhow::Error {
    HintedError::error(
        "standard input ended without any data: the command before the `|` printed nothing",
        "run that command alone to see why; to watch this machine instead, add `< /dev/null`",
    )
}

/// The state of a pipe.
#[derive(PartialEq, Eq)]
enum Heard {
    Data,
    End,
    Silence,
}

/// Whether data arrives within the time.
fn hear(stdin: &std::io::Stdin, within: Duration) -> Heard {
    let mut waiting = [PollFd::new(stdin, PollFlags::IN)];
    let within = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: 0 };
    let ready = poll(&mut waiting, Some(&within)).is_ok();
    let seen = waiting[0].revents();
    match ready {
        true if seen.contains(PollFlags::IN) => Heard::Data,
        true if seen.contains(PollFlags::HUP) => Heard::End,
        _ => Heard::Silence,
    }
}
