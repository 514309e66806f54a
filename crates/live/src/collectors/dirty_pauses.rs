//! Dirty throttling: how long the kernel pauses programs that dirty pages faster than they can be
//! written back, with eBPF.
//!
//! ## Watches
//! The tracepoint `balance_dirty_pages`: each pause of a task, per process and device: number, sum,
//! longest, and the pages that the process had dirtied since its last one. `/proc/vmstat` once a
//! second for dirty pages and the limit.
//!
//! ## Needs
//! Linux 5.10 or later with BTF, and root or `CAP_BPF` with `CAP_PERFMON`. Without, nothing is
//! watched, the rest of the watch is not affected, and `not seen` of the verdict says why.
//!
//! ## Costs
//! A microsecond when a task is paused, at most every few milliseconds per task; nothing for other
//! writes. One small file a second, 1 MiB.
//!
//! ## Not in this output
//! How long a pause lasted: its length is the one that the kernel set. A task sleeps up to a jiffy
//! longer, then waits for a CPU (`waits` measures that), and shorter if it is killed. Waits for
//! pages under write-back (fsync, a full journal), which `waits` shows.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use aya::maps::{MapData, PerCpuArray, PerCpuHashMap};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf};
use iowhy_model::Order as _;
use iowhy_model::typed::{Bytes, OfProcess};
use iowhy_model::{Fact, Level, Nanos, Sampling, Sink, Source, Time, typed};
use rustix::time::{ClockId, clock_getres};

use crate::bpf::{absent, bare_loader, broke, refused};
use crate::btf::KernelTypes;
use crate::call_latencies::{CallerGlobals, Callers, missed, name_in};
use crate::object_names::{Packed, names_of, packed};
use crate::rights::Rights;
use crate::{Collector, Error, clock, devices};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "dirty-pauses";

/// The compiled `bpf/dirty_pauses.bpf.c`.
static OBJECT: Packed = packed!("dirty_pauses");
names_of!($ DIRTY_PAUSES);

const TRACEPOINT: &str = "balance_dirty_pages";
const PROGRAM: &str = program!("note_pause");
/// Its arguments: with each limit as its own, and with one structure for them.
const MANY: usize = 12;
const FEW: usize = 8;
/// Words of `struct dirtier`, and 64-bit words of `struct pauses`.
const DIRTIER_WORDS: usize = 10;
const PAUSES_WORDS: usize = 4;
/// Processes reported per device, those with the longest pauses (a choice).
const REPORTED: usize = 5;
/// What is not seen without it.
const SEEN: &str = "dirty throttling";

/// Who was paused: device, process and its name.
type Dirtier = (String, u32, String);

/// The pauses of a process.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Pauses {
    total: Nanos,
    longest: Nanos,
    dirtied: u64,
}

/// The watcher of pauses.
#[derive(Default)]
pub struct DirtyPauses {
    running: Option<AttachedState>,
    /// Why nothing is watched.
    refused: Option<Error>,
}

struct AttachedState {
    // Dropped first, so that nothing is counted into tables that are being freed.
    _programs: Ebpf,
    dirtiers: PerCpuHashMap<MapData, [u32; DIRTIER_WORDS], [u64; PAUSES_WORDS]>,
    missed: PerCpuArray<MapData, u64>,
    devices: BTreeMap<String, String>,
    vmstat: Option<File>,
    /// Bytes dirty or under write-back, and the limit: the sample nearest to it.
    filled: Option<(u64, u64)>,
    /// As of the last report, and when that was.
    known: BTreeMap<Dirtier, Pauses>,
    since: Time,
}

impl AttachedState {
    fn begin() -> Result<AttachedState, Error> {
        Rights::read()?.suffice()?;
        let types = KernelTypes::read()?;
        let many = has_many(types.tracepoint_arguments(TRACEPOINT))?;
        let (globals, mut loader) = (CallerGlobals::of(&Callers::default()), bare_loader());
        let btf = Btf::from_sys_fs().map_err(refused)?;
        loader.btf(Some(&btf)).override_global(global!("many_arguments"), &many, true);
        globals.set(&mut loader);
        let mut programs = loader.load(&OBJECT.unpacked()).map_err(refused)?;
        let mut take = |name: &str| programs.take_map(name).ok_or_else(|| absent(name));
        let dirtiers = PerCpuHashMap::try_from(take(map!("dirtiers"))?).map_err(refused)?;
        let missed = PerCpuArray::try_from(take(map!("missed"))?).map_err(refused)?;
        let program = programs.program_mut(PROGRAM).ok_or_else(|| absent(PROGRAM))?;
        let program: &mut BtfTracePoint = program.try_into().map_err(refused)?;
        program.load(TRACEPOINT, &btf).map_err(refused)?;
        program.attach().map_err(refused)?;
        let known = devices::devices(Path::new("/sys")).unwrap_or_default().into_iter();
        Ok(AttachedState {
            _programs: programs,
            dirtiers,
            missed,
            devices: known.map(|of| (format!("{}:{}", of.major, of.minor), of.name)).collect(),
            vmstat: File::open("/proc/vmstat").ok(),
            filled: None,
            known: BTreeMap::new(),
            since: clock::now(),
        })
    }

    /// Reads how near to the limit the dirty pages are.
    fn sample(&mut self) {
        let mut text = vec![0; 16 << 10];
        let read = self.vmstat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok());
        let text = String::from_utf8_lossy(text.get(..read.unwrap_or(0)).unwrap_or_default());
        let Some((dirty, limit)) = dirty_of(&text, rustix::param::page_size() as u64) else {
            return;
        };
        let share = |(dirty, limit): (u64, u64)| dirty as f64 / limit.max(1) as f64;
        if self.filled.is_none_or(|known| share((dirty, limit)) > share(known)) {
            self.filled = Some((dirty, limit));
        }
    }

    /// Everything since the beginning.
    fn read(&self) -> Result<BTreeMap<Dirtier, Pauses>, Error> {
        let tick = clock_getres(ClockId::MonotonicCoarse);
        let tick = tick.tv_sec as u64 * 1_000_000_000 + tick.tv_nsec as u64;
        let page = rustix::param::page_size() as u64;
        let mut all: BTreeMap<Dirtier, Pauses> = BTreeMap::new();
        for entry in self.dirtiers.iter() {
            let (key, cpus) = entry.map_err(broke)?;
            let (pid, comm, device) = dirtier(&key);
            let device = self.devices.get(&device).cloned().unwrap_or(device);
            let pauses = all.entry((device, pid, comm)).or_default();
            pauses.add(cpus.iter(), tick, page);
        }
        Ok(all)
    }

    /// Emits what happened since the last report in a listing of its own, if anything did.
    fn report(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.sample();
        let (all, now) = (self.read()?, clock::now());
        let new = all.iter().map(|(who, pauses)| {
            let before = self.known.get(who).copied().unwrap_or_default();
            (who, pauses.since(before))
        });
        let mut new: Vec<(&Dirtier, Pauses)> =
            new.filter(|(_, pauses)| pauses.total > Nanos(0)).collect();
        new.order_by_key(|(_, pauses)| std::cmp::Reverse(pauses.total));
        if !new.is_empty() {
            let mut source = Source::new(NAME, "live", Level::E);
            source.sampling = Sampling::Traced;
            source.watched = Some(now - self.since);
            sink.begin(source);
            clock::add_clock(sink, self.since);
            add_facts(&new, self.filled, &self.devices, sink);
            let [no_group, _] = missed(&self.missed)?;
            sink.lost("pauses not counted: too many processes", no_group);
            sink.end();
        }
        (self.known, self.since, self.filled) = (all, now, None);
        Ok(())
    }
}

impl Pauses {
    /// Adds the counts of each CPU.
    fn add<'a>(
        &mut self,
        cpus: impl Iterator<Item = &'a [u64; PAUSES_WORDS]>,
        tick: u64,
        page: u64,
    ) {
        let time = |ticks: u64| i64::try_from(ticks.saturating_mul(tick)).unwrap_or(i64::MAX);
        for [_, ticks, longest, pages] in cpus {
            self.total = Nanos(self.total.ns().saturating_add(time(*ticks)));
            self.longest = self.longest.max(Nanos(time(*longest)));
            self.dirtied = self.dirtied.saturating_add(pages.saturating_mul(page));
        }
    }

    /// Of this, what is new. The longest is known since the beginning.
    fn since(self, before: Pauses) -> Pauses {
        let total = Nanos(self.total.ns().saturating_sub(before.total.ns()));
        let longest = self.longest.min(total);
        Pauses { total, longest, dirtied: self.dirtied.saturating_sub(before.dirtied) }
    }
}

/// Whether the tracepoint hands over each limit as an argument of its own.
fn has_many(arguments: Option<usize>) -> Result<u32, Error> {
    let what = match arguments {
        Some(MANY) => return Ok(1),
        Some(FEW) => return Ok(0),
        Some(other) => format!("`{TRACEPOINT}` of this kernel has {other} arguments"),
        None => format!("the kernel has no tracepoint `{TRACEPOINT}`"),
    };
    Err(Error::Kernel { what })
}

/// Emits that nothing is watched and why, in a listing of its own.
fn state_refused(error: &Error, sink: &mut dyn Sink) {
    sink.begin(Source::new(NAME, "live", Level::E));
    let (why, from) = (error.why(), TRACEPOINT);
    sink.fact(Fact::of(None, typed::UNSEEN.member(SEEN), why, from));
    sink.end();
}

/// Process, name and device of a key of the table.
fn dirtier(key: &[u32; DIRTIER_WORDS]) -> (u32, String, String) {
    let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = |from: usize, to: usize| name_in(bytes.get(from..to).unwrap_or_default());
    (key[0], text(4, 20), text(20, 40))
}

/// Bytes dirty or under write-back, and the limit, of a text of /proc/vmstat.
fn dirty_of(text: &str, page: u64) -> Option<(u64, u64)> {
    let value = |name: &str| -> Option<u64> {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
    };
    let dirty = value("nr_dirty")?.saturating_add(value("nr_writeback")?);
    let limit = value("nr_dirty_threshold")?;
    Some((dirty.saturating_mul(page), limit.saturating_mul(page)))
}

/// The facts of the open listing: those with the longest pauses on each device.
fn add_facts(
    new: &[(&Dirtier, Pauses)],
    filled: Option<(u64, u64)>,
    devices: &BTreeMap<String, String>,
    sink: &mut dyn Sink,
) {
    let (from, memory) = ("balance_dirty_pages", "/proc/vmstat");
    let mut reported: BTreeMap<&str, usize> = BTreeMap::new();
    for ((name, pid, comm), pauses) in new {
        let number = reported.entry(name).or_default();
        *number += 1;
        if *number > REPORTED {
            continue;
        }
        // A file system without a disk has a number of its own.
        let device = devices.values().any(|known| known == name).then(|| sink.device(name));
        let (who, of) = (format!("{comm} ({pid})"), format!("{name}.{pid}"));
        let paused = OfProcess { value: pauses.total, who };
        sink.fact(Fact::of(device, typed::WRITEBACK_PAUSED.member(&of), paused, from));
        let longest = typed::WRITEBACK_LONGEST.member(&of);
        sink.fact(Fact::of(device, longest, pauses.longest, from));
        let dirtied = typed::WRITEBACK_DIRTIED.member(&of);
        sink.fact(Fact::of(device, dirtied, Bytes(pauses.dirtied), from));
    }
    if let Some((dirty, limit)) = filled {
        sink.fact(Fact::of(None, typed::WRITEBACK_DIRTY, Bytes(dirty), memory));
        sink.fact(Fact::of(None, typed::WRITEBACK_LIMIT, Bytes(limit), memory));
    }
}

impl Collector for DirtyPauses {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Without the right to watch, nothing is.
    fn begin(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        match AttachedState::begin() {
            Ok(running) => self.running = Some(running),
            Err(error) => self.refused = Some(error),
        }
        Ok(())
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(running) = &mut self.running {
            running.sample();
        }
        Ok(())
    }

    fn snapshot(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(error) = &self.refused {
            state_refused(error, sink);
        }
        self.running.as_mut().map_or(Ok(()), |running| running.report(sink))
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.snapshot(sink)?;
        self.running = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Recording, key};

    use super::*;
    use crate::object_names::sizes;

    #[test]
    fn the_table_has_the_layout_that_is_read() {
        let pauses = (size_of::<[u32; DIRTIER_WORDS]>(), size_of::<[u64; PAUSES_WORDS]>());
        assert_eq!(sizes(&OBJECT.unpacked(), map!("dirtiers")), pauses);
    }

    #[test]
    fn pauses_of_all_cpus_are_summed_and_later_ones_are_new() {
        let mut first = Pauses::default();
        first.add([[2, 10, 6, 100], [1, 5, 5, 0]].iter(), 4_000_000, 4096);
        assert_eq!((first.total, first.longest), (Nanos(60_000_000), Nanos(24_000_000)));
        assert_eq!(first.dirtied, 409_600);
        let mut later = first;
        later.add([[1, 3, 3, 7]].iter(), 4_000_000, 4096);
        let new = later.since(first);
        assert_eq!(
            (new.total, new.longest, new.dirtied),
            (Nanos(12_000_000), Nanos(12_000_000), 28_672)
        );
        let mut key = [0u32; DIRTIER_WORDS];
        key[0] = 42;
        key[1] = u32::from_ne_bytes(*b"dd\0\0");
        key[5] = u32::from_ne_bytes(*b"7:12");
        assert_eq!(dirtier(&key), (42, "dd".to_string(), "7:12".to_string()));
        let text = "nr_dirty 100\nnr_writeback 20\nnr_writeback_temp 9\nnr_dirty_threshold 150\n";
        assert_eq!(dirty_of(text, 4096), Some((491_520, 614_400)));
        assert_eq!(dirty_of("nr_dirty x", 4096), None);
    }

    #[test]
    fn what_is_not_seen_is_stated_with_the_reason() {
        assert_eq!((has_many(Some(12)).unwrap(), has_many(Some(8)).unwrap()), (1, 0));
        let missing = Error::Missing { right: "CAP_BPF".to_string() };
        for (error, why) in [
            (missing, "`CAP_BPF` is missing"),
            (has_many(None).unwrap_err(), "the kernel has no tracepoint `balance_dirty_pages`"),
            (
                has_many(Some(9)).unwrap_err(),
                "`balance_dirty_pages` of this kernel has 9 arguments",
            ),
        ] {
            let (mut recording, mut pauses) = (Recording::new(), DirtyPauses::default());
            pauses.refused = Some(error);
            pauses.end(&mut recording).unwrap();
            let [listing] = &recording.listings[..] else { panic!("not one listing") };
            let [fact] = &listing.facts[..] else { panic!("not one fact") };
            assert_eq!(fact.key.member_of(key::UNSEEN), Some("dirty throttling"));
            assert_eq!(fact.value.text(), Some(why));
        }
    }

    #[test]
    fn the_longest_five_of_a_device_are_stated() {
        let who: Vec<Dirtier> =
            (1..=7).map(|pid| ("loop9".to_string(), pid, "dd".to_string())).collect();
        let pauses = Pauses { total: Nanos(5), longest: Nanos(3), dirtied: 4096 };
        let new: Vec<(&Dirtier, Pauses)> = who.iter().map(|of| (of, pauses)).collect();
        let devices = BTreeMap::from([("7:9".to_string(), "loop9".to_string())]);
        let mut recording = Recording::new();
        recording.begin(Source::new(NAME, "live", Level::E));
        add_facts(&new, Some((10, 20)), &devices, &mut recording);
        recording.end();
        let facts = &recording.listings[0].facts;
        let paused: Vec<_> = facts
            .iter()
            .filter(|fact| fact.key.member_of(key::WRITEBACK_PAUSED).is_some())
            .collect();
        assert_eq!(paused.len(), REPORTED);
        assert_eq!(recording.device_of(paused[0].device.unwrap()).name, "loop9");
        assert_eq!(paused[0].value.of_process().map(|of| of.1), Some("dd (1)"));
        assert_eq!(facts.len(), 3 * REPORTED + 2);
    }
}
