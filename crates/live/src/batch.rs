//! Reads many entries of a table in one system call instead of thousands per second.

#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use aya::maps::MapData;

/// The command for a batch lookup: `enum bpf_cmd` of include/uapi/linux/bpf.h.
const LOOKUP_BATCH: libc::c_long = 24;

/// The attributes of that command: `batch` of `union bpf_attr`.
#[repr(C)]
#[derive(Default)]
struct BatchAttributes {
    in_batch: u64,
    out_batch: u64,
    keys: u64,
    values: u64,
    count: u32,
    map_fd: u32,
    elem_flags: u64,
    flags: u64,
}

/// An array with a value for each processor.
#[derive(Debug)]
pub(crate) struct PerCpuTable {
    descriptor: OwnedFd,
    entries: u32,
    /// Words of an entry: its values on all processors.
    words: usize,
}

impl PerCpuTable {
    /// A table whose values have this many words; `None` if they do not, or if that is unknown.
    pub(crate) fn new(table: &MapData, words: usize) -> Option<PerCpuTable> {
        let about = table.info().ok()?;
        let cpus = aya::util::nr_cpus().ok()?;
        let fits = about.map_type().ok()? == aya::maps::MapType::PerCpuArray
            && about.value_size() as usize == words * size_of::<u64>();
        let descriptor = table.fd().as_fd().try_clone_to_owned().ok()?;
        fits.then(|| PerCpuTable { descriptor, entries: about.max_entries(), words: words * cpus })
    }

    /// Words of an entry: its values on all processors, one after the other.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Fills `values` with the entries from `first` on; `None` if the kernel refuses: per-CPU
    /// arrays can be read so since 5.13 (f008d732ab18).
    pub(crate) fn read(&self, first: u32, values: &mut [u64]) -> Option<()> {
        let count = u32::try_from(values.len() / self.words).ok()?;
        if count == 0 || first.checked_add(count).is_none_or(|end| end > self.entries) {
            return None;
        }
        let mut keys = vec![0u32; count as usize];
        // It continues after this key, or starts at the beginning without one.
        let (before, mut reached) = (first.wrapping_sub(1), 0u32);
        let mut attributes = BatchAttributes {
            in_batch: if first == 0 { 0 } else { (&raw const before).addr() as u64 },
            out_batch: (&raw mut reached).addr() as u64,
            keys: keys.as_mut_ptr().addr() as u64,
            values: values.as_mut_ptr().addr() as u64,
            count,
            map_fd: self.descriptor.as_raw_fd().cast_unsigned(),
            ..BatchAttributes::default()
        };
        // SAFETY: the kernel writes a key of 4 bytes and a value of `words` words for each of
        // `count` entries, for which `new` allocated room; all that the attributes point to
        // outlives the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                LOOKUP_BATCH,
                (&raw mut attributes).cast::<libc::c_void>(),
                size_of::<BatchAttributes>(),
            )
        };
        // There are no entries after the last one.
        let at_the_end =
            result != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOENT);
        ((result == 0 || at_the_end) && attributes.count == count).then_some(())
    }
}
