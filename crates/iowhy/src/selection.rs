//! The filters that all commands share, and their translation for the tracer.

use clap::Args;
use iowhy_live::TraceFilter;
use iowhy_model::{Filter, Flags, NameTable, Nanos, Op, Recording, Sink, numbers};

use crate::complete;
use crate::device_lookup;
use crate::messages::HintedError;
use crate::when::duration;

/// What to look at.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Selection {
    /// Only this device, by any of its names: `sdb`, `8:16`, `vg/data`, a partition, `UUID=...`, a
    /// link in `/dev/disk`, a mount point or a file below it (may be given several times)
    #[arg(short, long, value_name = "NAME", add = complete::devices())]
    pub device: Vec<String>,
    /// Only this operation: read, write, discard, flush (may be given several times)
    #[arg(long, value_name = "OP", value_parser = operation)]
    pub op: Vec<Op>,
    /// Only requests of this size, exact or a range: `8k`, `4k..128k`
    #[arg(long, value_name = "BYTES", value_parser = sizes)]
    pub size: Option<(u32, u32)>,
    /// Only requests with this flag: sync, meta, readahead, fua, preflush; or without it: `no-sync`
    /// (may be given several times)
    #[arg(long, value_name = "FLAG", value_parser = flag)]
    pub flag: Vec<(Flags, bool)>,
    /// Only this process, by its ID
    #[arg(long, value_name = "PID")]
    pub pid: Option<u32>,
    /// Only processes of this name
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// Only I/Os charged to this control group, by its path in the hierarchy
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Only I/Os slower than this: `500ms`, `10us`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub over: Option<Nanos>,
    /// The selected partition, with its first and last sector.
    #[arg(skip)]
    pub partition: Option<(String, (u64, u64))>,
    /// Predefined filters: read-8k, sync-writes, metadata, outliers (slower than 500 ms)
    #[arg(long, value_name = "NAME", value_parser = preset)]
    pub preset: Option<Preset>,
}

/// Filters under one name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset {
    name: &'static str,
    op: Option<Op>,
    size: Option<(u32, u32)>,
    flag: Option<Flags>,
    over: Option<Nanos>,
}

/// A preset without conditions.
const ANY: Preset = Preset { name: "", op: None, size: None, flag: None, over: None };

/// All presets. 8 KiB reads and 500 ms are the defaults of the SystemTap scripts for block I/O in
/// LucaCanali/Linux_tracing_scripts: Oracle's single-block read, and what it calls an outlier.
const PRESETS: [Preset; 4] = [
    Preset { name: "metadata", flag: Some(Flags::META), ..ANY },
    Preset { name: "outliers", over: Some(Nanos(500_000_000)), ..ANY },
    Preset { name: "read-8k", op: Some(Op::Read), size: Some((8192, 8192)), ..ANY },
    Preset { name: "sync-writes", op: Some(Op::Write), flag: Some(Flags::SYNC), ..ANY },
];

impl Selection {
    /// The same with its preset expanded; explicit options take precedence.
    pub(crate) fn settled(&self) -> Selection {
        let mut settled = self.clone();
        let Some(preset) = settled.preset.take() else { return settled };
        if settled.op.is_empty() {
            settled.op.extend(preset.op);
        }
        settled.size = settled.size.or(preset.size);
        settled.over = settled.over.or(preset.over);
        settled.flag.extend(preset.flag.map(|flag| (flag, true)));
        settled
    }

    /// The same for this machine, with the kernel's device names.
    ///
    /// # Errors If a name refers to no device.
    pub(crate) fn settled_here(&self) -> anyhow::Result<Selection> {
        let (device, partition) = device_lookup::on_this_machine(&self.device)?;
        let partition = partition.or_else(|| self.partition.clone());
        Ok(Selection { device, partition, ..self.settled() })
    }

    /// The names of the devices, without `/dev/`.
    pub(crate) fn devices(&self) -> Vec<String> {
        self.device.iter().map(|name| name.trim_start_matches("/dev/").to_string()).collect()
    }

    /// The same with the device names of a recording, for devices given as printed or by another
    /// recorded name.
    pub(crate) fn known_in(&self, recording: &Recording) -> Selection {
        if self.device.is_empty() {
            return self.clone();
        }
        let table = NameTable::of(recording);
        let known = self.devices().into_iter().zip(&self.device).flat_map(|(bare, given)| {
            let known = found(recording, given).or_else(|| found(recording, &bare));
            let named = device_lookup::in_recording(known.unwrap_or(given), &table, recording);
            match (named.is_empty(), known) {
                (false, _) => named,
                (true, Some(name)) => vec![name.to_string()],
                (true, None) => vec![bare],
            }
        });
        Selection { device: known.collect(), ..self.clone() }
    }

    /// Whether it selects by something that only single I/Os have: size, flags, process, control
    /// group, latency.
    pub(crate) fn per_event(&self) -> bool {
        self.size.is_some()
            || self.pid.is_some()
            || self.comm.is_some()
            || self.partition.is_some()
            || self.over.is_some()
            || self.cgroup.is_some()
            || !self.flag.is_empty()
    }

    /// The tracer's settings, so that other I/Os never leave the kernel.
    ///
    /// # Errors If the control group does not exist.
    pub(crate) fn in_the_kernel(&self) -> anyhow::Result<TraceFilter> {
        let cgroup = match &self.cgroup {
            None => None,
            Some(path) => Some(iowhy_live::control_group(path).ok_or_else(|| {
                HintedError::error(
                    format!("no control group `{path}`"),
                    "give its path in the hierarchy of the block controller, such as \
                     `system.slice/mariadb.service`",
                )
            })?),
        };
        Ok(TraceFilter {
            bytes: self.size,
            sectors: self.sectors(),
            with: self.flags(true),
            without: self.flags(false),
            pid: self.pid,
            comm: self.comm.clone(),
            cgroup,
            over: self.over,
        })
    }

    /// The filter in terms of a recording's devices and strings.
    pub(crate) fn filter(&self, recording: &mut dyn Sink) -> Filter {
        Filter {
            devices: self.devices().iter().map(|name| recording.device(name)).collect(),
            ops: self.op.clone(),
            bytes: self.size,
            sectors: self.sectors(),
            with: self.flags(true),
            without: self.flags(false),
            pid: self.pid,
            comm: self.comm.as_ref().map(|name| recording.name(name)),
            cgroup: self.cgroup.as_ref().map(|path| recording.name(&absolute(path))),
            over: self.over,
        }
    }

    /// The filter for histograms that the kernel has filtered already.
    pub(crate) fn filter_of_counted(&self, recording: &mut Recording) -> Filter {
        let rest =
            Selection { device: self.device.clone(), op: self.op.clone(), ..Default::default() };
        rest.filter(recording)
    }

    /// Its conditions beside devices and operations, as text; `None` if there are none.
    pub(crate) fn words(&self) -> Option<String> {
        let mut words = Vec::new();
        match self.size {
            Some((low, high)) if low == high => words.push(format!("of {low} bytes")),
            Some((low, u32::MAX)) => words.push(format!("of {low} bytes or more")),
            Some((low, high)) => words.push(format!("of {low} to {high} bytes")),
            None => {}
        }
        for (flag, wanted) in &self.flag {
            let name = FLAGS.iter().find(|(_, known)| known == flag).map_or("", |(name, _)| name);
            words.push(format!("{} the flag {name}", if *wanted { "with" } else { "without" }));
        }
        words.extend(self.partition.as_ref().map(|(name, _)| format!("of the partition {name}")));
        words.extend(self.pid.map(|pid| format!("of process {pid}")));
        words.extend(self.comm.as_ref().map(|comm| format!("of processes called {comm}")));
        words.extend(self.cgroup.as_ref().map(|path| format!("charged to {path}")));
        words.extend(
            self.over.map(|over| format!("slower than {}", numbers::duration(over.ns() as f64))),
        );
        (!words.is_empty()).then(|| words.join(", "))
    }

    fn sectors(&self) -> Option<(u64, u64)> {
        self.partition.as_ref().map(|(_, sectors)| *sectors)
    }

    fn flags(&self, wanted: bool) -> Flags {
        let of = self.flag.iter().filter(|(_, with)| *with == wanted);
        of.fold(Flags::default(), |all, (flag, _)| all.with(*flag))
    }
}

/// The device of a recording by its name or as printed in tables: with the star of averages since
/// boot, a comma or colon after it, or abbreviated.
fn found<'a>(recording: &'a Recording, given: &str) -> Option<&'a str> {
    let names = || recording.devices().iter().map(|device| device.name.as_str());
    let bare = given.trim_end_matches(['*', ',', ':']);
    if let Some(name) =
        names().find(|name| *name == given).or_else(|| names().find(|name| *name == bare))
    {
        return Some(name);
    }
    let (head, tail) = bare.split_once('…').or_else(|| bare.split_once("..."))?;
    let long = head.len() + tail.len();
    let mut fit =
        names().filter(|name| name.len() > long && name.starts_with(head) && name.ends_with(tail));
    fit.next().filter(|_| fit.next().is_none())
}

/// A control group in the form of events: from the root of the hierarchy.
fn absolute(path: &str) -> String {
    let below = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup"].into_iter();
    let below = below.fold(path, |path, mount| path.strip_prefix(mount).unwrap_or(path));
    format!("/{}", below.trim_matches('/'))
}

/// The flags by name.
const FLAGS: [(&str, Flags); 5] = [
    ("fua", Flags::FUA),
    ("meta", Flags::META),
    ("preflush", Flags::PREFLUSH),
    ("readahead", Flags::READAHEAD),
    ("sync", Flags::SYNC),
];

fn flag(text: &str) -> Result<(Flags, bool), String> {
    let (name, wanted) = text.strip_prefix("no-").map_or((text, true), |name| (name, false));
    let found = FLAGS.iter().find(|(known, _)| *known == name);
    let names = FLAGS.map(|(name, _)| name).join(", ");
    found
        .map(|(_, flag)| (*flag, wanted))
        .ok_or_else(|| format!("use {names}, or `no-` before one"))
}

fn preset(text: &str) -> Result<Preset, String> {
    let names = PRESETS.map(|preset| preset.name).join(", ");
    PRESETS.into_iter().find(|preset| preset.name == text).ok_or_else(|| format!("use {names}"))
}

fn sizes(text: &str) -> Result<(u32, u32), String> {
    let one = |text: &str| {
        iowhy_read::bytes(text)
            .filter(|bytes| (0.0..=f64::from(u32::MAX)).contains(bytes))
            .map(|bytes| bytes as u32)
            .ok_or_else(|| format!("`{text}` is not a size such as `8k`"))
    };
    match text.split_once("..") {
        None => one(text).map(|bytes| (bytes, bytes)),
        Some((low, high)) => {
            let low = if low.is_empty() { 0 } else { one(low)? };
            let high = if high.is_empty() { u32::MAX } else { one(high)? };
            if low > high {
                return Err(format!("`{text}` ends before it begins"));
            }
            Ok((low, high))
        }
    }
}

fn operation(text: &str) -> Result<Op, String> {
    Op::from_name(text).ok_or_else(|| "use read, write, discard, flush or other".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_flags_are_read() {
        assert_eq!(sizes("8k"), Ok((8192, 8192)));
        assert_eq!(sizes("4k..128k"), Ok((4096, 131072)));
        assert_eq!(sizes("..4k"), Ok((0, 4096)));
        assert!(sizes("8k..4k").is_err());
        assert_eq!(flag("sync"), Ok((Flags::SYNC, true)));
        assert_eq!(flag("no-readahead"), Ok((Flags::READAHEAD, false)));
        assert!(flag("no-such").is_err());
    }

    #[test]
    fn devices_are_taken_as_they_are_printed() {
        let mut recording = Recording::new();
        for name in ["sdb", "/dev/mapper/x", "very-long-name-of-a-volume", "other"] {
            recording.device(name);
        }
        let known = |given: &str| {
            let selection = Selection { device: vec![given.to_string()], ..Selection::default() };
            selection.known_in(&recording).device.remove(0)
        };
        assert_eq!(known("sdb*"), "sdb");
        assert_eq!(known("/dev/sdb"), "sdb");
        assert_eq!(known("/dev/mapper/x"), "/dev/mapper/x");
        assert_eq!(known("very-l…volume"), "very-long-name-of-a-volume");
        assert_eq!(known("nvme0n1"), "nvme0n1");
    }

    #[test]
    fn a_preset_fills_in_what_was_not_given() {
        let preset = preset("read-8k").ok();
        let selection = Selection { preset, size: Some((4096, 4096)), ..Selection::default() };
        let settled = selection.settled();
        assert_eq!((settled.op, settled.size), (vec![Op::Read], Some((4096, 4096))));
        assert_eq!(Selection::default().settled().words(), None);
    }
}
