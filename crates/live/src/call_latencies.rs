//! Latencies of calls counted by the programs of `bpf/spans.h`, shared by the system-call and the
//! function watcher.

use aya::maps::{MapData, PerCpuArray, PerCpuHashMap};
use aya::{Btf, Ebpf, EbpfLoader};
use iowhy_model::Order as _;
use iowhy_model::{Edges, Histogram};

use crate::Error;
use crate::bpf::{absent, broke, refused};
use crate::kernel_filter::PidNamespace;
use crate::object_names::{defined, names_of};

names_of!($ SYSCALLS | UPROBE);

/// A constant of `bpf/process.h`.
macro_rules! of_callers {
    ($name:literal) => {
        defined!(DIRTY_PAUSES | SYSCALLS | UPROBE | WAITS, global $name)
    };
}

/// Buckets of a histogram: those of `Edges::standard()`.
const BUCKETS: usize = 8 + 27 * 8 + 1;
/// Words of a group: buckets, sum, minimum plus one, maximum, failures, amount, name.
const GROUP_WORDS: usize = BUCKETS + 7;

/// The name of those whose process is not known; their number is 0.
pub(crate) const OTHERS: &str = "(others)";

/// Counts of one process and kind since the beginning.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CallLatency {
    /// The process; 0: all for whom the kernel had no room of their own.
    pub pid: u32,
    /// The kind, as the program numbers it.
    pub kind: u32,
    /// The number of the file system, if requested.
    pub system: u32,
    /// The name of the first thread seen.
    pub comm: String,
    /// The lengths, with exact sum, minimum and maximum.
    pub histogram: Histogram,
    /// Those that ended with an error.
    pub failed: u64,
    /// The sum of their return values, without errors.
    pub amount: u64,
}

impl CallLatency {
    /// Counts since an earlier reading of the same; `None` if nothing. Minimum and maximum are
    /// known since the beginning only, so they are left out of later intervals.
    pub(crate) fn since(&self, earlier: Option<&CallLatency>) -> Option<Histogram> {
        let Some(earlier) = earlier else { return Some(self.histogram.clone()) };
        let (now, before) = (self.histogram.counts(), earlier.histogram.counts());
        let new: Vec<u64> =
            now.iter().zip(before).map(|(now, was)| now.wrapping_sub(*was)).collect();
        if new.iter().all(|count| *count == 0) {
            return None;
        }
        let mut histogram = Histogram::from_counts(self.histogram.edges().clone(), new)?;
        let sums = self.histogram.sum_ns.zip(earlier.histogram.sum_ns);
        histogram.sum_ns = sums.map(|(now, was)| now - was);
        Some(histogram)
    }
}

/// Whose calls to watch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Callers {
    /// Only this process.
    pub pid: Option<u32>,
    /// Only processes of this name.
    pub comm: Option<String>,
}

/// The same in the form of `bpf/callers.h`.
pub(crate) struct CallerGlobals {
    only_pid: u32,
    own_pid: u32,
    only_comm: [u8; 16],
    pids: PidNamespace,
}

impl CallerGlobals {
    /// The constants for these callers.
    pub(crate) fn of(whom: &Callers) -> CallerGlobals {
        let mut only_comm = [0u8; 16];
        let name = whom.comm.as_deref().unwrap_or_default().as_bytes();
        // The kernel keeps fifteen bytes of a name.
        only_comm.iter_mut().take(15).zip(name).for_each(|(to, from)| *to = *from);
        let (only_pid, own_pid) = (whom.pid.unwrap_or(0), std::process::id());
        CallerGlobals { only_pid, own_pid, only_comm, pids: PidNamespace::own() }
    }

    /// Whether process ids are those of the initial PID namespace.
    pub(crate) fn see_all_processes(&self) -> bool {
        self.pids == PidNamespace::default()
    }

    /// Sets them before loading.
    pub(crate) fn set<'a>(&'a self, loader: &mut EbpfLoader<'a>) {
        loader
            .override_global(of_callers!("only_pid"), &self.only_pid, true)
            .override_global(of_callers!("own_pid"), &self.own_pid, true)
            .override_global(of_callers!("pids_dev"), &self.pids.dev, true)
            .override_global(of_callers!("pids_ino"), &self.pids.ino, true)
            .override_global(of_callers!("only_comm"), &self.only_comm, true);
    }
}

/// Calls that the programs of `bpf/callers.h` could not count: no room for a sum, no room for a
/// start.
///
/// # Errors
/// If the table cannot be read.
pub(crate) fn missed(table: &PerCpuArray<MapData, u64>) -> Result<[u64; 2], Error> {
    let of =
        |why: u32| -> Result<u64, Error> { Ok(table.get(&why, 0).map_err(broke)?.iter().sum()) };
    Ok([of(0)?, of(1)?])
}

/// The name in a field of the kernel.
pub(crate) fn name_in(bytes: &[u8]) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(name).into_owned()
}

/// The tables of loaded programs.
pub(crate) struct CallLatencies {
    groups: [PerCpuHashMap<MapData, [u32; 3], [u64; GROUP_WORDS]>; 2],
    missed: PerCpuArray<MapData, u64>,
}

impl CallLatencies {
    /// Loads an object that includes `spans.h`, with further constants.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn load(
        object: &[u8],
        btf: &Btf,
        whom: &Callers,
        numbers: &[(&str, u32)],
        tables: &[(&str, &[u8])],
        unit: Option<&u64>,
    ) -> Result<(Ebpf, CallLatencies), Error> {
        let globals = CallerGlobals::of(whom);
        let mut loader = EbpfLoader::new();
        loader.btf(Some(btf));
        globals.set(&mut loader);
        for (name, value) in numbers {
            loader.override_global(name, value, true);
        }
        for (name, value) in tables {
            loader.override_global(name, *value, true);
        }
        if let Some(unit) = unit {
            loader.override_global(defined!(UPROBE, global "latency_unit"), unit, true);
        }
        let mut ebpf = loader.load(object).map_err(refused)?;
        let mut take = |name: &str| ebpf.take_map(name).ok_or_else(|| absent(name));
        let groups = PerCpuHashMap::try_from(take(map!("groups"))?).map_err(refused)?;
        let others = PerCpuHashMap::try_from(take(map!("others"))?).map_err(refused)?;
        let groups = [groups, others];
        let missed = PerCpuArray::try_from(take(map!("missed"))?).map_err(refused)?;
        Ok((ebpf, CallLatencies { groups, missed }))
    }

    /// Everything counted so far, by process and kind.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(crate) fn read(&self) -> Result<Vec<CallLatency>, Error> {
        let mut spans = Vec::new();
        for group in self.groups.iter().flat_map(PerCpuHashMap::iter) {
            let (key, cpus) = group.map_err(broke)?;
            spans.extend(merged(key, &cpus));
        }
        spans.order_by_key(|span| (span.pid, span.kind, span.system));
        Ok(spans)
    }

    /// Calls that could not be counted: no room for the process and kind, no room for the start.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn missed(&self) -> Result<[u64; 2], Error> {
        missed(&self.missed)
    }
}

/// One group over all CPUs; `None` if nothing was counted yet.
fn merged([pid, kind, system]: [u32; 3], cpus: &[[u64; GROUP_WORDS]]) -> Option<CallLatency> {
    let edges = Edges::standard();
    let mut counts = vec![0u64; BUCKETS];
    let (mut sum, mut min, mut max, mut failed, mut amount) = (0u64, None, 0u64, 0u64, 0u64);
    let mut comm = String::new();
    for cpu in cpus {
        counts.iter_mut().zip(cpu).for_each(|(all, one)| *all += one);
        let [more, least, most, fails, moved, name_1, name_2] = cpu[BUCKETS..] else { continue };
        sum = sum.wrapping_add(more);
        max = max.max(most);
        failed += fails;
        amount = amount.wrapping_add(moved);
        min = least.checked_sub(1).into_iter().chain(min).min();
        if comm.is_empty() {
            let bytes = [name_1.to_ne_bytes(), name_2.to_ne_bytes()].concat();
            comm = name_in(&bytes);
        }
    }
    if counts.iter().all(|count| *count == 0) {
        return None;
    }
    let mut histogram = Histogram::from_counts(edges, counts)?;
    (histogram.sum_ns, histogram.min_ns, histogram.max_ns) = (Some(sum as f64), min, Some(max));
    if pid == 0 {
        comm = OTHERS.to_string();
    }
    Some(CallLatency { pid, kind, system, comm, histogram, failed, amount })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_names::packed;

    #[test]
    fn tables_have_the_layout_that_is_read() {
        let objects = [packed!("syscalls"), packed!("uprobe")];
        let group = (size_of::<[u32; 3]>(), size_of::<[u64; GROUP_WORDS]>());
        for object in objects {
            for map in [map!("groups"), map!("others")] {
                assert_eq!(crate::object_names::sizes(&object.unpacked(), map), group, "{map}");
            }
            assert_eq!(crate::object_names::sizes(&object.unpacked(), map!("missed")), (4, 8));
        }
    }

    #[test]
    fn a_group_is_merged_over_all_cpus_and_knows_its_extremes() {
        let mut one = [0u64; GROUP_WORDS];
        one[4] = 2;
        one[BUCKETS..BUCKETS + 5].copy_from_slice(&[1_010, 501, 510, 1, 4096]);
        one[BUCKETS + 5] = u64::from_ne_bytes(*b"fio\0\0\0\0\0");
        let mut two = [0u64; GROUP_WORDS];
        two[0] = 1;
        two[BUCKETS..BUCKETS + 5].copy_from_slice(&[7, 8, 7, 0, 10]);
        let span = merged([42, 3, 0], &[one, two, [0; GROUP_WORDS]]).expect("a span");
        assert_eq!((span.histogram.count(), span.histogram.sum_ns), (3, Some(1_017.0)));
        assert_eq!((span.histogram.min_ns, span.histogram.max_ns), (Some(7), Some(510)));
        assert_eq!((span.failed, span.amount, &*span.comm), (1, 4106, "fio"));
        assert_eq!(merged([42, 3, 0], &[[0; GROUP_WORDS]]), None);
    }
}
