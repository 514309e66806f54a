//! The folder of a store: its files, and which of them may be downsampled or removed.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::ages::Ages;
use crate::coverage::Coverage;
use crate::{
    Blocks, Damage, EmitCounts, Grain, SECOND_NS, Segment, SegmentName, SegmentPour, Span, stamp,
    thin, unstamp,
};
use iowhy_model::Order as _;
use iowhy_model::Sink;

/// The file that makes a folder a store, and its first line.
const MARK: &str = "iowhy-store";
const FIRST_LINE: &str = "iowhy flight recorder, store 1\n";
/// How much was recorded before each of its files ([`Ages`]).
const AGES: &str = "ages";
/// Its folders.
const SEGMENTS: &str = "segments";
const INCIDENTS: &str = "incidents";
/// A folder beside them that others fill: calibrations, each `DEVICE-YYYY-MM-DD.iowhy`.
pub const CALIBRATIONS: &str = "calibrations";
/// The maximum size of a segment; larger ones were not written by iowhy.
const LARGEST: u64 = 1 << 28;
/// Room for the ages of a hundred thousand files.
const LONGEST_AGES: u64 = 8 << 20;
/// The maximum share of the store that incidents take.
const INCIDENTS_SHARE: f64 = 0.5;
/// This close to an incident seconds are not downsampled, ns.
const AROUND_NS: i64 = 120 * SECOND_NS;

/// How much is kept. An age is recorded time, so setting a clock does not change it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Maximum age.
    pub keep: Duration,
    /// Maximum size in bytes.
    pub size: u64,
    /// Seconds become minutes at this age.
    pub seconds: Duration,
    /// Minutes become hours at this age.
    pub minutes: Duration,
}

impl Default for Bounds {
    fn default() -> Bounds {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        Bounds { keep: hours(7 * 24), size: 1 << 30, seconds: hours(2), minutes: hours(48) }
    }
}

/// The result of maintaining a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TendReport {
    /// Histograms and averages before and after downsampling.
    pub thinned: (u64, u64),
    /// Segments that were removed.
    pub segments: u64,
    /// Incidents whose I/Os were removed.
    pub incidents: u64,
    /// The store's size now, bytes.
    pub bytes: u64,
}

/// An incident's files.
#[derive(Clone, PartialEq, Debug)]
pub struct Incident {
    /// `20261122T190312Z-sdb`.
    pub id: String,
    /// When it was noticed, s since 1970.
    pub at_s: i64,
    /// When its last I/Os were written, if they are kept.
    pub ended_s: Option<i64>,
    /// Every I/O around it, if they are kept.
    pub capture: Option<PathBuf>,
    /// Its verdict, if there is one.
    pub verdict: Option<PathBuf>,
}

/// A store.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// The lock, held by the recorder as long as it runs.
    lock: Option<File>,
    /// Empty in a store that is only read.
    ages: Ages,
    /// The ages changed since they were written.
    aged: bool,
}

impl Store {
    /// Whether a folder is a store.
    pub fn is_one(folder: &Path) -> bool {
        folder.join(MARK).is_file()
    }

    /// Opens one to read.
    ///
    /// # Errors
    /// If the folder is none.
    pub fn open(folder: &Path) -> io::Result<Store> {
        let mut text = String::new();
        open_plain(&folder.join(MARK))?.take(100).read_to_string(&mut text)?;
        if text != FIRST_LINE {
            let what = "it was written by an incompatible version";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(Store { folder: folder.to_path_buf(), lock: None, ages: Ages::default(), aged: false })
    }

    /// Opens one to write, and creates it if the folder is missing, or empty but for calibrations.
    ///
    /// # Errors
    /// If another recorder writes to it ([`io::ErrorKind::WouldBlock`]), the folder contains other
    /// files, or it is not writable.
    pub fn record(folder: &Path) -> io::Result<Store> {
        if !Store::is_one(folder) {
            fs::create_dir_all(folder)?;
            let is_known = |entry: &fs::DirEntry| {
                entry.file_name().as_encoded_bytes() == CALIBRATIONS.as_bytes()
            };
            if !fs::read_dir(folder)?.all(|entry| entry.is_ok_and(|entry| is_known(&entry))) {
                let what = "the folder contains other files";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
            }
        }
        fs::create_dir_all(folder.join(SEGMENTS))?;
        fs::create_dir_all(folder.join(INCIDENTS))?;
        let mut mark = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .truncate(false)
            .custom_flags(plain())
            .open(folder.join(MARK))?;
        flock(&mark, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from)?;
        if mark.metadata()?.len() == 0 {
            mark.write_all(FIRST_LINE.as_bytes())?;
        }
        let mut store = Store::open(folder)?;
        store.lock = Some(mark);
        store.settle();
        let mut text = String::new();
        if let Ok(file) = open_plain(&folder.join(AGES)) {
            // Damaged or missing ages are estimated.
            let _ = file.take(LONGEST_AGES).read_to_string(&mut text);
        }
        let incidents = store.incidents()?;
        let incidents = incidents.iter().map(|one| (one.id.clone(), one.at_s));
        store.ages = Ages::read(&text, &store.segments()?, incidents);
        Ok(store)
    }

    /// Whether a recorder writes to a store at this moment.
    pub fn is_written(folder: &Path) -> bool {
        let shared = FlockOperation::NonBlockingLockShared;
        open_plain(&folder.join(MARK)).is_ok_and(|mark| flock(&mark, shared).is_err())
    }

    /// When the last segment was written to, by the clock of its file system.
    pub fn written_last(&self) -> Option<std::time::SystemTime> {
        let names = names(&self.folder.join(SEGMENTS)).ok()?;
        let paths = names.iter().map(|name| self.folder.join(SEGMENTS).join(name));
        paths.filter_map(|path| path.symlink_metadata().ok()?.modified().ok()).max()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes a new segment that begins now, `ran_s` seconds after the recorder did. See
    /// [`Store::keep_ages`].
    ///
    /// # Errors
    /// If none can be made.
    pub fn segment(&mut self, now_s: i64, ran_s: i64) -> io::Result<Segment> {
        // A segment of that second may exist, at any resolution, if the clock was set back.
        let taken: Vec<i64> = self.segments()?.iter().map(|name| name.began_s).collect();
        let mut began_s = now_s;
        while taken.contains(&began_s) {
            began_s += 1;
        }
        let name = SegmentName { began_s, grain: Grain::Seconds };
        let segment = Segment::create(&self.folder.join(SEGMENTS).join(name.file()))?;
        self.began(&stamp(began_s), ran_s);
        Ok(segment)
    }

    /// Makes the file for the I/Os of an incident; its name without the ending is the incident's.
    /// See [`Store::keep_ages`].
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn incident(&mut self, id: &str, ran_s: i64) -> io::Result<Segment> {
        let made = Segment::create(&self.folder.join(INCIDENTS).join(format!("{id}.iowhy")))?;
        self.began(id, ran_s);
        Ok(made)
    }

    /// Writes an incident's verdict atomically. See [`Store::keep_ages`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn verdict(&mut self, id: &str, json: &[u8], ran_s: i64) -> io::Result<()> {
        self.replace(&Path::new(INCIDENTS).join(format!("{id}.json")), json)?;
        self.began(id, ran_s);
        Ok(())
    }

    /// Notes that a file began after this recorded time.
    fn began(&mut self, name: &str, ran_s: i64) {
        self.ages.began(name, ran_s);
        self.aged = true;
    }

    /// Writes the ages if any file began since. It is not synced; a failure costs nothing, because
    /// missing ages are estimated.
    pub fn keep_ages(&mut self) {
        if std::mem::take(&mut self.aged) {
            let _ = self.renewed(Path::new(AGES), self.ages.text().as_bytes(), false);
        }
    }

    /// Rewrites a file of the store atomically, and syncs it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, name: &Path, content: &[u8]) -> io::Result<()> {
        self.renewed(name, content, true)
    }

    fn renewed(&self, name: &Path, content: &[u8], forced: bool) -> io::Result<()> {
        let (path, new) = (self.folder.join(name), self.folder.join(name).with_extension("new"));
        // An existing link is not followed.
        let _ = fs::remove_file(&new);
        let made = OpenOptions::new().write(true).create_new(true).open(&new);
        let written = made.and_then(|mut file| {
            file.write_all(content)?;
            if forced { file.sync_data() } else { Ok(()) }
        });
        if let Err(error) = written.and_then(|()| fs::rename(&new, &path)) {
            let _ = fs::remove_file(&new);
            return Err(error);
        }
        Ok(())
    }

    /// All segments, the earliest first; if the recorder was killed while it downsampled one, only
    /// the downsampled file.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn segments(&self) -> io::Result<Vec<SegmentName>> {
        let mut found: BTreeMap<i64, SegmentName> = BTreeMap::new();
        for file in names(&self.folder.join(SEGMENTS))? {
            let Some(name) = SegmentName::parse(&file) else { continue };
            let known = found.entry(name.began_s).or_insert(name);
            *known = (*known).max(name);
        }
        Ok(found.into_values().collect())
    }

    /// All incidents, the earliest first.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn incidents(&self) -> io::Result<Vec<Incident>> {
        let folder = self.folder.join(INCIDENTS);
        let mut found: BTreeMap<String, Incident> = BTreeMap::new();
        for file in names(&folder)? {
            let Some((id, ending)) = file.rsplit_once('.') else { continue };
            let began = id.split('-').next().and_then(unstamp);
            let (Some(at_s), "iowhy" | "json") = (began, ending) else { continue };
            let new = || Incident {
                id: id.to_string(),
                at_s,
                ended_s: None,
                capture: None,
                verdict: None,
            };
            let incident = found.entry(id.to_string()).or_insert_with(new);
            let path = Some(folder.join(&file));
            match ending {
                "json" => incident.verdict = path,
                _ => {
                    incident.ended_s = path.as_deref().and_then(written_s);
                    incident.capture = path;
                }
            }
        }
        Ok(found.into_values().collect())
    }

    /// When the recorder was watching within an interval.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn coverage(&self, span: Span) -> io::Result<Coverage> {
        let mut coverage = Coverage::new(span);
        for name in self.segments()? {
            if name.touches(span.from_ns, span.to_ns)
                && let Some(bytes) = self.read(name)?
            {
                coverage.segment(name.began_s, Blocks::new(&bytes));
            }
        }
        Ok(coverage)
    }

    /// Emits the segments' records within an interval, and returns what could not be read and the
    /// gaps.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn emit(
        &self,
        span: Span,
        sink: &mut dyn Sink,
    ) -> io::Result<(EmitCounts, Damage, Coverage)> {
        let (mut damage, mut coverage) = (Damage::default(), Coverage::new(span));
        let mut emitting = SegmentPour::new(span, &self.folder.display().to_string(), sink);
        let mut names = self.segments()?;
        names.retain(|name| name.touches(span.from_ns, span.to_ns));
        let mut first = true;
        loop {
            for name in &names {
                let Some(bytes) = self.read(*name)? else { continue };
                let mut blocks = Blocks::new(&bytes);
                let watched = blocks.by_ref().inspect(|(header, block)| {
                    if first {
                        coverage.block(name.began_s, header, block);
                    }
                });
                emitting.segment(name.began_s, watched);
                if first {
                    damage.add(blocks.damage());
                }
            }
            first = false;
            if !emitting.next_listing() {
                return Ok((emitting.emitted(), damage, coverage));
            }
        }
    }

    /// Emits one segment, and returns what could not be read; `None` if it is gone.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn emit_segment(
        &self,
        name: SegmentName,
        sink: &mut dyn Sink,
    ) -> io::Result<Option<(EmitCounts, Damage)>> {
        let Some(bytes) = self.read(name)? else { return Ok(None) };
        let input = self.folder.display().to_string();
        let mut emitting = SegmentPour::new(Span::ALL, &input, sink).with_facts_alone();
        loop {
            let mut blocks = Blocks::new(&bytes);
            emitting.segment(name.began_s, &mut blocks);
            if !emitting.next_listing() {
                return Ok(Some((emitting.emitted(), blocks.damage())));
            }
        }
    }

    /// Downsamples old segments and removes what exceeds age or size, `ran_s` seconds after the
    /// recorder began. The segment that began at `writing_s` is being written.
    ///
    /// # Errors
    /// If the folder cannot be read or a sampled segment not be written.
    pub fn tend(&mut self, ran_s: i64, writing_s: i64, bounds: &Bounds) -> io::Result<TendReport> {
        let mut tended = TendReport::default();
        self.ages.advance(ran_s);
        let age = |name: &SegmentName| {
            self.ages.age_s(&stamp(name.began_s)).saturating_sub(SegmentName::LENGTH_S)
        };
        let seconds = |length: Duration| i64::try_from(length.as_secs()).unwrap_or(i64::MAX);
        let keep: Vec<Range<i64>> = self.incidents()?.iter().map(around).collect();
        for name in self.segments()?.into_iter().filter(|name| name.began_s != writing_s) {
            if age(&name) > seconds(bounds.keep) {
                tended.segments += u64::from(self.remove(name));
                continue;
            }
            let limit = match name.grain {
                Grain::Seconds => bounds.seconds,
                Grain::Minutes => bounds.minutes,
                Grain::Hours => continue,
            };
            if age(&name) > seconds(limit)
                && let Some(grain) = name.grain.coarser()
            {
                self.coarsen(name, grain, &keep, &mut tended)?;
            }
        }
        for incident in self.incidents()? {
            if self.ages.age_s(&incident.id) > seconds(bounds.keep) {
                tended.incidents += 1;
                incident.capture.iter().chain(&incident.verdict).for_each(|path| {
                    let _ = fs::remove_file(path);
                });
            }
        }
        self.shrink(writing_s, bounds.size, &mut tended)?;
        tended.bytes = self.bytes()?;
        let segments = self.segments()?.into_iter().map(|name| stamp(name.began_s));
        let kept: HashSet<String> =
            segments.chain(self.incidents()?.into_iter().map(|one| one.id)).collect();
        self.ages.retain(&kept);
        self.aged = true;
        self.keep_ages();
        Ok(tended)
    }

    /// Makes room: the I/Os of the oldest incidents beyond their share, then the oldest segments.
    fn shrink(&self, writing_s: i64, size: u64, tended: &mut TendReport) -> io::Result<()> {
        let share = (size as f64 * INCIDENTS_SHARE) as u64;
        let mut incidents = self.incidents()?;
        incidents.order_by_key(|one| -self.ages.age_s(&one.id));
        let captures: Vec<&PathBuf> =
            incidents.iter().filter_map(|one| one.capture.as_ref()).collect();
        let mut taken: u64 = captures.iter().map(|path| length(path)).sum();
        for path in captures {
            if taken <= share {
                break;
            }
            taken = taken.saturating_sub(length(path));
            // The verdict stays: it is small.
            tended.incidents += u64::from(fs::remove_file(path).is_ok());
        }
        let mut all = self.bytes()?;
        let mut segments = self.segments()?;
        segments.order_by_key(|name| -self.ages.age_s(&stamp(name.began_s)));
        for name in segments.into_iter().filter(|name| name.began_s != writing_s) {
            if all <= size {
                break;
            }
            all = all.saturating_sub(length(&self.folder.join(SEGMENTS).join(name.file())));
            tended.segments += u64::from(self.remove(name));
        }
        Ok(())
    }

    /// Bytes of all its files.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn bytes(&self) -> io::Result<u64> {
        let mut all = 0;
        for folder in [SEGMENTS, INCIDENTS].map(|name| self.folder.join(name)) {
            all += names(&folder)?.iter().map(|file| length(&folder.join(file))).sum::<u64>();
        }
        Ok(all)
    }

    fn coarsen(
        &self,
        name: SegmentName,
        grain: Grain,
        keep: &[Range<i64>],
        tended: &mut TendReport,
    ) -> io::Result<()> {
        let Some(bytes) = self.read(name)? else { return Ok(()) };
        let thinned = thin(Blocks::new(&bytes), grain.length_ns(), keep);
        let coarser = SegmentName { grain, ..name };
        self.replace(&Path::new(SEGMENTS).join(coarser.file()), &thinned.bytes)?;
        // From here on the downsampled file counts, even if the other one remains.
        let _ = fs::remove_file(self.folder.join(SEGMENTS).join(name.file()));
        tended.thinned.0 += thinned.cells.0;
        tended.thinned.1 += thinned.cells.1;
        Ok(())
    }

    fn read(&self, name: SegmentName) -> io::Result<Option<Vec<u8>>> {
        let path = self.folder.join(SEGMENTS).join(name.file());
        let mut bytes = Vec::new();
        match open_plain(&path) {
            Ok(file) => file.take(LARGEST).read_to_end(&mut bytes)?,
            // It was downsampled or removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(bytes))
    }

    fn remove(&self, name: SegmentName) -> bool {
        fs::remove_file(self.folder.join(SEGMENTS).join(name.file())).is_ok()
    }

    /// Removes what a killed recorder left unfinished.
    fn settle(&self) {
        let Ok(whole) = self.segments() else { return };
        for file in names(&self.folder.join(SEGMENTS)).unwrap_or_default() {
            let path = self.folder.join(SEGMENTS).join(&file);
            let superseded = SegmentName::parse(&file).is_some_and(|name| !whole.contains(&name));
            if superseded || file.ends_with(".new") {
                let _ = fs::remove_file(path);
            }
        }
        let _ = fs::remove_file(self.folder.join(AGES).with_extension("new"));
        for file in names(&self.folder.join(INCIDENTS)).unwrap_or_default() {
            if file.ends_with(".new") {
                let _ = fs::remove_file(self.folder.join(INCIDENTS).join(file));
            }
        }
    }
}

impl Incident {
    /// Its name, from time and device; always valid as a file name.
    pub fn id(at_s: i64, device: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '_' };
        let device: String = device.chars().take(40).map(plain).collect();
        format!("{}-{}", stamp(at_s), if device.is_empty() { "machine" } else { &device })
    }
}

/// Opens a file of a store to read: a link, a pipe or a device is an error.
///
/// # Errors
/// If it is not a regular file, or cannot be opened.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let foreign = || {
        let what = format!("`{}` is not a regular file, so no recorder created it", path.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    };
    let is_link =
        |error: &io::Error| error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    let file = OpenOptions::new().read(true).custom_flags(plain()).open(path);
    let file = file.map_err(|error| if is_link(&error) { foreign() } else { error })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(foreign()) }
}

/// No link is followed, and opening a pipe does not block.
fn plain() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32
}

/// The time around an incident.
fn around(incident: &Incident) -> Range<i64> {
    let at = incident.at_s.saturating_mul(SECOND_NS);
    at.saturating_sub(AROUND_NS)..at.saturating_add(AROUND_NS)
}

/// When a file was written last, s since 1970.
fn written_s(path: &Path) -> Option<i64> {
    let at = path.symlink_metadata().ok()?.modified().ok()?;
    i64::try_from(at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs()).ok()
}

fn length(path: &Path) -> u64 {
    path.symlink_metadata().map_or(0, |about| about.len())
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}
