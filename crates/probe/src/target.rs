//! What is measured: an open file or block device, and what the system reports of it.

use std::fs::File;
use std::path::{Path, PathBuf};

use iowhy_model::Medium;

use crate::error::Error;
use crate::job::{Durable, Job};

/// Bytes at each end that must be blank and stay untouched: partition tables, labels and
/// superblocks are there (LUKS2 keeps its second header up to 4 MiB from the start).
pub(crate) const EDGE_BYTES: u64 = 8 << 20;

/// An open target.
#[derive(Debug)]
pub struct Target {
    /// As the user named it, links resolved.
    pub path: PathBuf,
    /// The open file.
    pub file: File,
    /// Its size in bytes: of a device, of a file, or of the test file made for writing.
    pub bytes: u64,
    /// Smallest unit of I/O, bytes.
    pub block: u32,
    /// The block device it is, or lies on, as the kernel calls it; `None` for a file system
    /// without one.
    pub device: Option<String>,
    /// Its medium, as reported by the kernel.
    pub medium: Option<Medium>,
    /// Whether the target is the device itself and not a file on it.
    pub is_device: bool,
    /// Whether it may be written to.
    pub writable: bool,
    /// Whether the page cache is passed by (`O_DIRECT`).
    pub direct: bool,
    /// The folder of its device's sensors.
    pub sensors: Option<PathBuf>,
}

/// Completed requests of a device by the kernel's counters.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KernelCounts {
    /// How many.
    pub ios: u64,
    /// The time they took together, ms.
    pub ms: u64,
}

impl KernelCounts {
    /// Time per request, ms.
    pub fn mean_ms(self) -> f64 {
        self.ms as f64 / self.ios.max(1) as f64
    }
}

/// Where the kernel keeps the sensors of a block device's hardware.
pub(crate) fn sensors(device: Option<&str>) -> Option<PathBuf> {
    Some(Path::new("/sys/class/block").join(device?).join("device"))
}

impl Target {
    /// The device's name, or the path.
    pub fn name(&self) -> String {
        self.device.clone().unwrap_or_else(|| self.path.display().to_string())
    }

    /// Where I/O may go: first byte and length. On a device that is written to, the ends that
    /// were found blank stay blank.
    pub fn region(&self) -> (u64, u64) {
        let from = if self.is_device && self.writable { EDGE_BYTES } else { 0 };
        (from, self.bytes.saturating_sub(from))
    }

    /// Refuses a job that does not fit.
    pub(crate) fn fits(&self, job: &Job) -> Result<(), Error> {
        let (bytes, block) = (u64::from(job.bytes), u64::from(self.block));
        let (from, _) = self.region();
        if job.may_write() && !self.writable {
            return Err(Error::refused(
                "write to",
                &self.path,
                "it was opened for reading",
                "name a directory, in which a new file can be made",
            ));
        }
        let on_blocks = bytes.is_multiple_of(block) && job.from.is_multiple_of(block);
        if bytes == 0 || (self.direct && !on_blocks) {
            return Err(Error::asked(
                format!("{bytes} bytes are not a multiple of its block of {block}"),
                format!("use `--size {block}` or a multiple of it"),
            ));
        }
        let planned = job.plan.iter().flat_map(|plan| &plan.ios);
        let mut outside =
            planned.map(|io| (io.offset, u64::from(io.bytes))).filter(|(at, bytes)| {
                let end = at.saturating_add(*bytes);
                *at < job.from
                    || end > job.from.saturating_add(job.span)
                    || !at.is_multiple_of(block)
            });
        if job.from < from
            || job.from.saturating_add(job.span) > self.bytes
            || bytes > job.span
            || outside.next().is_some()
        {
            return Err(Error::asked(
                format!("I/Os of {bytes} bytes do not fit into {} bytes", self.bytes),
                "use a smaller size or a larger target",
            ));
        }
        Ok(())
    }

    /// The busy share of its device over a short while (`io_ticks` of /sys/block/D/stat); `None`
    /// if it has none.
    pub fn busy(&self, watched: std::time::Duration) -> Option<f64> {
        let device = self.device.as_deref()?;
        let ticks = || {
            let text = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).ok()?;
            text.split_whitespace().nth(9)?.parse::<u64>().ok()
        };
        let (before, began) = (ticks()?, std::time::Instant::now());
        std::thread::sleep(watched);
        let busy_ms = ticks()?.saturating_sub(before) as f64;
        Some((busy_ms / began.elapsed().as_secs_f64() / 1e3).min(1.0))
    }

    /// Requests its device has completed, by /sys/block/D/stat: reads and writes with their times
    /// (Documentation/block/stat.rst, fields 1, 4, 5 and 8).
    pub(crate) fn counted(&self) -> Option<KernelCounts> {
        let device = self.device.as_deref()?;
        let text = std::fs::read_to_string(format!("/sys/class/block/{device}/stat")).ok()?;
        let fields: Vec<u64> = text.split_whitespace().map_while(|f| f.parse().ok()).collect();
        let sum = |a: usize, b: usize| Some(fields.get(a)? + fields.get(b)?);
        Some(KernelCounts { ios: sum(0, 4)?, ms: sum(3, 7)? })
    }

    /// Whether each I/O of a job is one request of the device and nothing else, so that the
    /// program waits as long as the request takes, with one system call on top.
    pub fn is_one_request(&self, job: &Job) -> bool {
        let bytes = u64::from(job.bytes);
        let limit = self.setting("queue/max_sectors_kb").and_then(|text| text.parse::<u64>().ok());
        // A durable write causes a flush if there is a cache, and writes of the file system's log.
        let through = self.setting("queue/write_cache").as_deref() == Some("write through");
        let alone =
            !job.may_write() || job.durable == Durable::Plain || (self.is_device && through);
        self.direct && alone && limit.is_some_and(|limit| bytes <= limit * 1024)
    }

    /// A setting of its whole disk below /sys, such as `queue/write_cache`.
    pub fn setting(&self, file: &str) -> Option<String> {
        let folder = Path::new("/sys/class/block").join(self.device.as_deref()?);
        let folder = folder.canonicalize().ok()?;
        let disk = if folder.join("partition").exists() { folder.parent()? } else { &folder };
        let text = std::fs::read_to_string(disk.join(file)).ok()?;
        Some(text.trim().to_string())
    }

    /// How hot its device is and from where on that is too hot, degrees Celsius, by the kernel's
    /// own sensors; `None` if it has none.
    pub fn heat(&self) -> Option<(f64, f64)> {
        let device = self.sensors.as_ref()?;
        let folders = [device.join("hwmon"), device.clone()];
        let sensors = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
        sensors.filter_map(Result::ok).find_map(|sensor| {
            let degrees = |name: &str| {
                let text = std::fs::read_to_string(sensor.path().join(name)).ok()?;
                text.trim().parse::<f64>().ok().map(|thousandths| thousandths / 1e3)
            };
            Some((degrees("temp1_input")?, degrees("temp1_max").or(degrees("temp1_crit"))?))
        })
    }
}
