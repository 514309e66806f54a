//! Context of the I/O: kernel log, mounts, pressure, limits, temperature, links, stolen time.
//!
//! ## Watches
//! The kernel's log (`/dev/kmsg`), `/proc/self/mountinfo`, `/proc/pressure/*`, `io.max` and
//! `io.latency` of control groups or `blkio.throttle.*` of version 1, dirty pages in
//! `/proc/vmstat`, CPU time stolen by the host in `/proc/stat`, and for each disk its model, link,
//! port, underlying layers and temperature. Each fact names the path it was read from. Temperature
//! is sampled once a second, everything else is read at the end. Text files are parsed by the same
//! code as captured copies of them.
//!
//! ## Needs
//! Read permission for these files. If `kernel.dmesg_restrict` is set, the log needs CAP_SYSLOG;
//! without it, an absence of errors is not known.
//!
//! ## Costs
//! A few hundred small files, once; one or two per disk and second for temperature.
//!
//! ## Not in this output
//! SMART: querying a drive needs privileges and an external program, which iowhy does not run. Save
//! its output and name the file: `smartctl -j -x /dev/sda > smart.json`. Anything before the first
//! line of the log.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use iowhy_model::typed::{Celsius, Share};
use iowhy_model::{Fact, Level, Sampling, Sink, Source, key, typed};

use crate::cgroups::block_hierarchy;
use crate::sysfs::{self, Sensor};
use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "host-facts";

/// Bytes read of any one file, and control groups looked at: more is not useful.
const LARGEST: u64 = 1 << 20;
const GROUPS: usize = 4096;
/// Counters read for groups that have a limit.
const COUNTS: [&str; 2] = ["blkio.throttle.io_serviced", "blkio.throttle.io_service_bytes"];
/// The default mount points of control groups, and their limits: of version 2, and of the
/// controller `blkio` of version 1 (Documentation/admin-guide/cgroup-v1/blkio-controller.rst).
const GROUPS_AT: &str = "/sys/fs/cgroup";
const LIMITS: [&str; 6] = [
    "io.max",
    "io.latency",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];
/// A record of /dev/kmsg is at most 8 KiB with its dictionary (kernel/printk/printk.c,
/// PRINTK_MESSAGE_MAX and DEVKMSG), and a log at most this many records are read.
const RECORD: usize = 16 * 1024;
const RECORDS: usize = 100_000;
/// Counters of /proc/vmstat that show throttled writers.
const VMSTAT: [&str; 4] =
    ["nr_dirty", "nr_writeback", "nr_dirty_threshold", "nr_dirty_background_threshold"];

/// Reads the context of the I/O from this machine, or from a folder with the same layout.
#[derive(Debug)]
pub struct HostFacts {
    root: PathBuf,
    listing: usize,
    log: Option<File>,
    /// Stolen and total CPU time when the watch began.
    ticks: Option<(f64, f64)>,
    sensors: Vec<Sensor>,
}

impl HostFacts {
    /// For this machine with `/`, else for a folder with `proc` and `sys` in it.
    pub fn new(root: &Path) -> Self {
        HostFacts {
            root: root.to_path_buf(),
            listing: 0,
            log: None,
            ticks: None,
            sensors: Vec::new(),
        }
    }

    fn text(&self, path: &str) -> Option<String> {
        read(&self.root.join(path.trim_start_matches('/')))
    }

    /// A text file is read like a captured copy, by its reader.
    fn emit_text(&self, path: &str, text: &str, format: &str, sink: &mut dyn Sink) {
        if let Some(format) = iowhy_read::find(format)
            && !text.trim().is_empty()
        {
            // An unrecognised file is not a failure: it adds nothing.
            let _ = iowhy_read::scan(path, &mut text.as_bytes(), Some(format), sink);
        }
    }
}

impl Collector for HostFacts {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.listing = sink.begin(source());
        // Opened while there are privileges: a restricted log needs them.
        self.log = open_log(&self.root.join("dev/kmsg"));
        self.ticks = self.text("/proc/stat").as_deref().and_then(stolen_ticks);
        self.sensors = sysfs::sensors(&self.root.join("sys"));
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        sink.resume(self.listing);
        self.take_temperatures(sink);
        Ok(())
    }

    fn snapshot(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        sink.begin(source());
        self.take_temperatures(sink);
        self.add_facts(sink);
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        self.poll(sink)?;
        sink.resume(self.listing);
        self.add_facts(sink);
        Ok(())
    }
}

impl HostFacts {
    /// Emits temperatures into the open listing.
    fn take_temperatures(&self, sink: &mut dyn Sink) {
        let at = clock::now();
        for sensor in &self.sensors {
            let Some(celsius) = sensor.celsius() else { continue };
            let device = Some(sink.device(&sensor.disk));
            let path = sensor.path.display().to_string();
            let fact = Fact::of(device, typed::DEVICE_CELSIUS, Celsius(celsius), path);
            sink.fact(fact.at(at));
        }
    }

    /// Emits the current state: facts into the open listing, which then ends, and text files into
    /// listings of their own.
    fn add_facts(&mut self, sink: &mut dyn Sink) {
        for sensor in &self.sensors {
            let Some((celsius, path)) = sensor.warning() else { continue };
            let device = Some(sink.device(&sensor.disk));
            let (key, path) = (typed::DEVICE_CELSIUS_WARNING, path.display().to_string());
            sink.fact(Fact::of(device, key, Celsius(celsius), path));
        }
        for fact in sysfs::facts(&self.root.join("sys")) {
            let device = Some(sink.device(&fact.disk));
            sink.fact(Fact::read(device, fact.key, &fact.value, fact.path));
        }
        self.state_machine(sink);
        sink.end();
        if let Some(text) = self.text("/proc/self/mountinfo") {
            self.emit_text("/proc/self/mountinfo", &text, "mounts", sink);
        }
        for resource in ["io", "memory", "cpu"] {
            let path = format!("/proc/pressure/{resource}");
            if let Some(text) = self.text(&path) {
                self.emit_text(&path, &text, "pressure", sink);
            }
        }
        let mounts = self.text("/proc/self/mountinfo").unwrap_or_default();
        let groups = block_hierarchy(&mounts).unwrap_or_else(|| PathBuf::from(GROUPS_AT));
        let groups = self.root.join(groups.strip_prefix("/").unwrap_or(&groups));
        self.emit_text("/sys/fs/cgroup", &limits(&self.root, &groups), "cgroup-io", sink);
        if let Some(log) = &mut self.log {
            let text = log_lines(log);
            self.emit_text("/dev/kmsg", &text, "kernel-log", sink);
        }
    }

    /// Facts of the machine: stolen time and dirty pages.
    fn state_machine(&self, sink: &mut dyn Sink) {
        let now = self.text("/proc/stat").as_deref().and_then(stolen_ticks);
        if let (Some((before, all_before)), Some((stolen, all))) = (self.ticks, now)
            && all > all_before
        {
            let share = Share((stolen - before).max(0.0) / (all - all_before));
            sink.fact(Fact::of(None, typed::VMSTAT_MEAN.of("st"), share, "/proc/stat"));
        }
        let vmstat = self.text("/proc/vmstat").unwrap_or_default();
        for line in vmstat.lines() {
            if let Some((name, pages)) = line.split_once(' ').filter(|(n, _)| VMSTAT.contains(n)) {
                sink.fact(Fact::read(None, key::VM.member(name), pages, "/proc/vmstat"));
            }
        }
    }
}

fn source() -> Source {
    let mut source = Source::new(NAME, "live", Level::E);
    source.sampling = Sampling::Sampled;
    source
}

/// Stolen ticks and all ticks of the first line of /proc/stat: user nice system idle iowait irq
/// softirq steal; guest time is in user's already (proc_stat(5)).
fn stolen_ticks(text: &str) -> Option<(f64, f64)> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<f64> = line.split_whitespace().skip(1).map_while(|t| t.parse().ok()).collect();
    let counted = ticks.get(..8)?;
    Some((*counted.last()?, counted.iter().sum()))
}

/// Limits of control groups, as `grep -r .` prints them.
fn limits(root: &Path, top: &Path) -> String {
    let (mut text, mut open, mut seen) = (String::new(), vec![top.to_path_buf()], 0);
    while let Some(folder) = open.pop() {
        seen += 1;
        if seen > GROUPS {
            break;
        }
        let begun = text.len();
        LIMITS.iter().for_each(|file| state_file(root, &folder, file, &mut text));
        if text.len() > begun {
            COUNTS.iter().for_each(|file| state_file(root, &folder, file, &mut text));
        }
        let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        open.extend(
            inside.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
        );
    }
    text
}

/// Adds a file's lines after its path. A line break in a group's name is replaced.
fn state_file(root: &Path, folder: &Path, file: &str, text: &mut String) {
    let path = folder.join(file);
    let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
    let name = name.replace(|c: char| c.is_control(), "\u{fffd}");
    for line in read(&path).unwrap_or_default().lines() {
        text.push_str(&format!("/{}:{line}\n", name.trim_start_matches('/')));
    }
}

/// The open kernel log; each record is read once.
#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// Opens `/dev/kmsg`; `None` if it may not be read. Where the log is restricted, opening it
    /// takes CAP_SYSLOG, reading it does not.
    pub fn open() -> Option<KernelLog> {
        open_log(Path::new("/dev/kmsg")).map(KernelLog)
    }

    /// New records since the last call, in the format of /dev/kmsg.
    pub fn lines(&mut self) -> String {
        log_lines(&mut self.0)
    }
}

/// The kernel's log, if it is readable. In a folder it is a text file.
fn open_log(path: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).ok().map(File::from)
}

/// Records of /dev/kmsg with their fields, which name the device. Each read returns one record;
/// EAGAIN is the end, EPIPE an overwritten record (Documentation/ABI/testing/dev-kmsg).
fn log_lines(log: &mut File) -> String {
    let (mut text, mut record) = (String::new(), vec![0; RECORD]);
    for _ in 0..RECORDS {
        let length = match log.read(&mut record) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => continue,
            Err(_) => break,
        };
        text.push_str(&String::from_utf8_lossy(record.get(..length).unwrap_or_default()));
    }
    text
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_stands_in_the_eighth_column() {
        let text = "cpu  100 0 50 800 20 0 0 30 5 0\ncpu0 1 2 3\n";
        assert_eq!(stolen_ticks(text), Some((30.0, 1000.0)));
        assert_eq!(stolen_ticks("cpu  100 0 50\n"), None);
    }
}
