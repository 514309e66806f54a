//! Facts of the input beside latencies: kernel log, SMART, mounts, queues, limits, pressure.
//!
//! Readers and collectors add facts: a key, a typed value, an origin. Here they are sorted by disk,
//! so that a detector gets a number with its origin from `analysis.about(listing, disk)`. Facts of
//! an input with measured I/O apply to that input only; facts of one without (a saved `dmesg`, a
//! `smartctl` document) apply to all.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iowhy_model::{
    DeviceId, FactKey, FactValue, LimitKind, Medium, Message, MessageKind, Recording, key,
};

use crate::facts::graph::{Graph, Host};
use crate::facts::kernel_log::{Log, LogLine};
use crate::facts::reading::FactReading;

pub(crate) mod disk_models;
pub(crate) mod disk_names;
pub(crate) mod graph;
pub(crate) mod kernel_log;
pub(crate) mod kernel_threads;
pub(crate) mod mount_options;
pub(crate) mod probe_listing;
pub(crate) mod reading;
pub(crate) mod systems;

type ByKey<'a> = HashMap<FactKey, Vec<FactReading<'a>>>;

/// All facts of a recording, by disk.
pub struct Facts<'a> {
    recording: &'a Recording,
    /// Each fact by its key, in the order they were read: a detector asks for one.
    by_disk: BTreeMap<String, ByKey<'a>>,
    machine: ByKey<'a>,
    /// Limits of control groups, whatever their kind.
    limits: BTreeMap<String, Vec<FactReading<'a>>>,
    log: Log<'a>,
    /// Log events from long before this machine was watched.
    old_log: Log<'a>,
    /// Messages that are of no known kind, by their words: the first of each.
    unknown: Log<'a>,
    /// Who is who, and what hangs on what.
    pub graph: Graph<'a>,
    /// The hosts of each disk, if several are distinguished.
    hosts: BTreeMap<String, BTreeMap<&'a str, Host<'a>>>,
    /// Disks whose hosts state different media for their name.
    unlike: BTreeSet<String>,
}

impl<'a> Facts<'a> {
    /// Sorts the facts of a recording.
    pub fn of(recording: &'a Recording) -> Facts<'a> {
        let graph = Graph::of(recording);
        let (mut by_disk, mut machine) = (BTreeMap::<String, Vec<FactReading>>::new(), Vec::new());
        for (listing, known) in recording.listings.iter().enumerate() {
            for fact in &known.facts {
                let reading = FactReading { fact, listing };
                let meant = graph.meant(listing, fact);
                for disk in meant {
                    by_disk.entry(disk.clone()).or_default().push(reading);
                }
                if meant.is_empty() {
                    machine.push(reading);
                }
            }
        }
        let log = kernel_log::lines(recording, &graph);
        let (log, old_log) = kernel_log::of_now(recording, &graph, log);
        let (unknown, _) = kernel_log::of_now(recording, &graph, kernel_log::by_words(recording));
        let [log, old_log, unknown] = [log, old_log, unknown].map(Log::of);
        let limits = by_disk.iter().filter_map(|(disk, all)| {
            let some: Vec<FactReading> =
                all.iter().filter(|reading| limit_kind(reading).is_some()).copied().collect();
            (!some.is_empty()).then(|| (disk.clone(), some))
        });
        let limits = limits.collect();
        let stated = by_disk.iter().flat_map(|(disk, all)| all.iter().map(move |of| (disk, of)));
        let logged = log.lines().iter().chain(old_log.lines());
        let logged = logged.filter_map(|line| Some((line.disk.as_ref()?, &line.reading)));
        let is_one = graph.has_one_host();
        let mut hosts: BTreeMap<String, BTreeMap<&str, Host>> = BTreeMap::new();
        for (disk, reading) in stated.chain(logged) {
            let host = graph.host(reading.listing);
            let known = hosts.entry(disk.clone()).or_default();
            if let Some(name) = host.name.filter(|_| !is_one) {
                known.entry(name).or_insert(host);
            }
        }
        let by_disk = by_disk.into_iter().map(|(disk, all)| (disk, by_key(all))).collect();
        let (machine, unlike) = (by_key(machine), BTreeSet::new());
        let mut facts = Facts {
            recording,
            by_disk,
            machine,
            limits,
            log,
            old_log,
            unknown,
            graph,
            hosts,
            unlike,
        };
        let mut media = BTreeMap::new();
        let unlike = facts.each().filter_map(|about| {
            let (medium, _) = about.medium()?;
            (*media.entry(about.disk).or_insert(medium) != medium).then(|| about.disk.to_string())
        });
        facts.unlike = unlike.collect();
        facts
    }

    /// The medium of all disks of a name, if it is stated and the same on all hosts.
    pub fn medium(&self, disk: &str) -> Option<Medium> {
        let stated = self.about(None, disk).medium().filter(|_| !self.unlike.contains(disk));
        stated.map(|(medium, _)| medium)
    }

    /// The disks with any facts, sorted.
    pub fn disks(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// What is known of each disk, sorted by name; if several hosts are named, on each that has it.
    pub fn each(&self) -> impl Iterator<Item = About<'_, 'a>> {
        self.hosts.iter().flat_map(move |(disk, hosts)| {
            let any = hosts.is_empty().then_some(None);
            let each = hosts.values().map(|host| Some(*host)).chain(any);
            each.map(move |host| self.about(host, disk))
        })
    }

    /// Facts about a disk that apply to one host; to all if `None`.
    pub fn about<'s>(&'s self, host: Option<Host<'s>>, disk: &'s str) -> About<'s, 'a> {
        About { facts: self, host, disk }
    }

    /// All log events.
    pub fn log(&self) -> impl Iterator<Item = &LogLine<'a>> {
        self.log.lines().iter()
    }

    /// The log events of some hosts.
    pub fn log_of<'s>(
        &'s self,
        is_meant: impl Fn(Host<'a>) -> bool + 's,
    ) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.log.within(move |listing| is_meant(self.graph.host(listing)))
    }

    /// Log events about a port or controller with an unknown disk.
    pub fn unnamed(&self) -> impl Iterator<Item = &LogLine<'a>> {
        self.log().filter(|line| line.disk.is_none() && line.reading.fact.device.is_some())
    }

    /// Lines by the port or controller they name and its host, in the order in which each is first
    /// named.
    pub fn by_port<'s>(
        &self,
        lines: impl Iterator<Item = &'s LogLine<'a>>,
    ) -> Vec<(DeviceId, Vec<&'s LogLine<'a>>)>
    where
        'a: 's,
    {
        let mut ports: Vec<(Option<&str>, DeviceId, Vec<&LogLine>)> = Vec::new();
        for line in lines {
            let Some(device) = line.reading.fact.device else { continue };
            let host = self.graph.host(line.reading.listing).name;
            match ports.iter_mut().find(|known| (known.0, known.1) == (host, device)) {
                Some((.., all)) => all.push(line),
                None => ports.push((host, device, vec![line])),
            }
        }
        ports.into_iter().map(|(_, device, lines)| (device, lines)).collect()
    }

    /// All log events of an input, whatever they name.
    pub fn log_events<'s>(&'s self, host: Host<'s>) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.log.within(move |listing| self.graph.reaches(listing, Some(host)))
    }

    /// Messages of an input that are of no known kind and report trouble by their words.
    pub fn unknown_log_events<'s>(
        &'s self,
        host: Host<'s>,
    ) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.unknown.within(move |listing| self.graph.reaches(listing, Some(host)))
    }

    /// Log events of an input from long before it was watched.
    pub fn old_log_events<'s>(&'s self, host: Host<'s>) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.old_log.within(move |listing| self.graph.reaches(listing, Some(host)))
    }

    /// Hung tasks, which name no disk, if they can only mean this one.
    pub fn hung_beside<'s>(
        &'s self,
        disk: &'s str,
        host: Option<Host<'s>>,
    ) -> impl Iterator<Item = &'s LogLine<'a>> {
        let here = self.log.within(move |listing| self.graph.reaches(listing, host));
        here.filter(move |line| {
            line.kind == MessageKind::HungTask
                && line.disk.as_deref().is_none_or(|meant| meant == disk)
        })
    }

    /// Under which hypervisor the machine runs that wrote these lines, if its log or a sentence
    /// beside it shows it.
    pub fn hypervisor(&self, lines: &[&LogLine]) -> Option<FactReading<'a>> {
        let of_log = |line: &&LogLine| self.guest_of(self.graph.host(line.reading.listing));
        lines.iter().find_map(of_log)
    }

    /// Under which hypervisor the machine of an input runs, if the input shows it.
    pub fn guest_of(&self, host: Host) -> Option<FactReading<'a>> {
        let own = |reading: &&FactReading| self.graph.host(reading.listing).is_beside(host);
        self.machine.get(&key::HOST_HYPERVISOR)?.iter().rfind(own).copied()
    }

    /// The time of the last line of the kernel's log in a listing, on its own clock.
    pub fn log_end(&self, listing: usize) -> Option<f64> {
        let ends = self.machine.get(&key::KERNEL_LOG_END)?;
        let end = ends.iter().find(|reading| reading.listing == listing)?;
        Message::seconds(end.text())
    }

    fn reaches(&self, reading: &FactReading, host: Option<Host>) -> bool {
        self.graph.reaches(reading.listing, host)
    }
}

/// Facts about one disk that apply to one input.
#[derive(Clone, Copy)]
pub struct About<'s, 'a> {
    facts: &'s Facts<'a>,
    /// The host; all if `None`.
    pub host: Option<Host<'s>>,
    /// The disk.
    pub disk: &'s str,
}

/// A file system on a disk or one of its partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mount<'a> {
    /// Where it is mounted.
    pub point: &'a str,
    /// Its type, if printed.
    pub kind: Option<&'a str>,
    /// Its options as printed.
    pub options: &'a str,
    /// Where they were read.
    pub reading: FactReading<'a>,
}

/// Limits of a control group on a disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit<'a> {
    /// The group, if a path was printed.
    pub group: Option<&'a str>,
    /// What it counts.
    pub kind: LimitKind,
    /// The limit.
    pub value: f64,
    /// Whether version 1 of control groups sets it, which has a file for each.
    pub is_version_1: bool,
    /// Where it was read.
    pub reading: FactReading<'a>,
}

impl<'s, 'a> About<'s, 'a> {
    /// All readings of a fact of the disk, in the order they were read.
    pub fn all(self, key: FactKey) -> impl DoubleEndedIterator<Item = FactReading<'a>> + 's {
        let known = self.facts.by_disk.get(self.disk).and_then(|known| known.get(&key));
        let known = known.into_iter().flatten();
        known.filter(move |reading| self.facts.reaches(reading, self.host)).copied()
    }

    /// The last reading of a fact of the disk.
    pub fn last(self, key: FactKey) -> Option<FactReading<'a>> {
        self.all(key).next_back()
    }

    /// The last reading of a fact as a number.
    pub fn number(self, key: FactKey) -> Option<(f64, FactReading<'a>)> {
        let reading = self.last(key)?;
        Some((reading.number()?, reading))
    }

    /// How far a counter rose between its first and last reading in one format; `None` below two
    /// readings. Output of two tools, or of two formats of one tool, is not two readings: they
    /// count differently.
    pub fn rise(self, key: FactKey) -> Option<(f64, FactReading<'a>)> {
        let format = |reading: &FactReading| {
            self.facts.recording.listings[reading.listing].source.format.as_str()
        };
        let readings: Vec<(f64, FactReading)> =
            self.all(key).filter_map(|reading| Some((reading.number()?, reading))).collect();
        readings.iter().enumerate().rev().find_map(|(place, (last, reading))| {
            let earlier = readings.get(..place).unwrap_or_default();
            let (first, _) = earlier.iter().find(|(_, other)| format(other) == format(reading))?;
            Some((last - first, *reading))
        })
    }

    /// The array or pool that it is a member of, and what reports it.
    pub fn array(self) -> Option<(&'s str, FactReading<'a>)> {
        self.facts.graph.arrays(self.disk, self.host).next()
    }

    /// A fact about the machine, such as `pressure.io.some.avg10` or `vmstat.st.mean`: the last
    /// reading.
    pub fn machine(self, key: FactKey) -> Option<FactReading<'a>> {
        let mut all = self.facts.machine.get(&key)?.iter();
        all.rfind(|reading| self.facts.reaches(reading, self.host)).copied()
    }

    /// The same about another disk.
    pub fn of(self, disk: &'s str) -> About<'s, 'a> {
        self.facts.about(self.host, disk)
    }

    /// The task that waited for I/O the greatest share of its time, as a share and its name: `98.12
    /// % mysqld (4711)`.
    pub fn waiting_task(self) -> Option<(f64, &'a str, FactReading<'a>)> {
        let reading = self.machine(key::PROCESS_IO_WAIT)?;
        let (share, who) = reading.fact.value.of_process()?;
        Some((share, who, reading))
    }

    /// The process that read or wrote most, and how many bytes a second: `17920.0 KiB/s mysqld
    /// (500)`.
    pub fn busiest_process(self, key: FactKey) -> Option<(f64, &'a str, FactReading<'a>)> {
        self.processes(key).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// A number of each process, and its name: `17920.0 KiB/s mysqld (500)`.
    pub fn processes(
        self,
        key: FactKey,
    ) -> impl Iterator<Item = (f64, &'a str, FactReading<'a>)> + 's {
        let all = self.facts.machine.get(&key).into_iter().flatten();
        let here = all.filter(move |reading| self.facts.reaches(reading, self.host));
        here.filter_map(|reading| {
            let (number, who) = reading.fact.value.of_process()?;
            Some((number, who, *reading))
        })
    }

    /// All readings of a fact about the machine as numbers: each listing has its own.
    pub fn machine_numbers(self, key: FactKey) -> impl Iterator<Item = f64> + 's {
        self.readings_of_machine(key).map(|(number, _)| number)
    }

    /// The same with the readings.
    pub fn readings_of_machine(
        self,
        key: FactKey,
    ) -> impl Iterator<Item = (f64, FactReading<'a>)> + 's {
        let all = self.facts.machine.get(&key).into_iter().flatten();
        let here = all.filter(move |reading| self.facts.reaches(reading, self.host));
        here.filter_map(|reading| Some((reading.number()?, *reading)))
    }

    /// A fact about the machine as a number.
    pub fn machine_number(self, key: FactKey) -> Option<(f64, FactReading<'a>)> {
        let reading = self.machine(key)?;
        Some((reading.number()?, reading))
    }

    /// The kernel's log events about the disk.
    pub fn log(self) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.own(&self.facts.log)
    }

    /// The lines about the disk.
    fn own(self, log: &'s Log<'a>) -> impl Iterator<Item = &'s LogLine<'a>> {
        let here = log.within(move |listing| self.facts.graph.reaches(listing, self.host));
        here.filter(move |line| line.disk.as_deref() == Some(self.disk))
    }

    /// Those of one kind.
    pub fn logged(self, kind: MessageKind) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.log().filter(move |line| line.kind == kind)
    }

    /// Those of one kind from long before this machine was watched.
    pub fn logged_before(self, kind: MessageKind) -> impl Iterator<Item = &'s LogLine<'a>> {
        self.own(&self.facts.old_log).filter(move |line| line.kind == kind)
    }

    /// How many lines of the kernel's log were read, so that an absence of errors is known.
    pub fn log_lines(self) -> Option<(f64, FactReading<'a>)> {
        self.machine_number(key::KERNEL_LOG_LINES)
    }

    /// Model as SMART or the system gives it.
    pub fn model(self) -> Option<FactReading<'a>> {
        self.last(key::SMART_MODEL).or_else(|| self.last(key::DEVICE_MODEL))
    }

    /// The medium, by SMART, which queries the drive itself, or by a copy of /sys.
    pub fn medium(self) -> Option<(Medium, FactReading<'a>)> {
        let stated = self.last(key::DEVICE_MEDIUM);
        self.by_smart()
            .or_else(|| Some((Medium::from_name(stated?.text())?, stated?)))
            .or_else(|| self.by_queue())
    }

    /// The kernel's `rotational`. It is trusted only for names of real disks: virtual ones report 1
    /// by default.
    fn by_queue(self) -> Option<(Medium, FactReading<'a>)> {
        let reading = self.last(key::QUEUE_ROTATIONAL)?;
        let real = ["sd", "hd", "nvme"].contains(&disk_names::kind(self.disk));
        let is_virtual = |model: FactReading| disk_models::is_virtual(model.text());
        // A non-rotational disk is flash or a network volume: its model decides.
        let unnamed = self.model().is_none() && reading.fact.value == FactValue::Flag(false);
        if !real || unnamed || self.model().is_some_and(is_virtual) {
            return None;
        }
        let medium = match (&reading.fact.value, disk_names::kind(self.disk)) {
            (FactValue::Flag(true), _) => Medium::Rotational,
            (FactValue::Flag(false), "nvme") => Medium::Nvme,
            (FactValue::Flag(false), _) => Medium::Flash,
            _ => return None,
        };
        Some((medium, reading))
    }

    /// Whether the kernel reports it as non-rotational.
    pub fn does_not_rotate(self) -> bool {
        self.last(key::QUEUE_ROTATIONAL)
            .is_some_and(|reading| reading.fact.value == FactValue::Flag(false))
    }

    fn by_smart(self) -> Option<(Medium, FactReading<'a>)> {
        if let Some(reading) =
            self.last(key::SMART_PROTOCOL).filter(|reading| reading.text() == "NVMe")
        {
            return Some((Medium::Nvme, reading));
        }
        if let Some((rpm, reading)) = self.number(key::SMART_RPM) {
            return Some((if rpm > 0.0 { Medium::Rotational } else { Medium::Flash }, reading));
        }
        // Only flash has an endurance that its writes use.
        let (_, reading) = self.number(key::SMART_WEAR)?;
        Some((Medium::Flash, reading))
    }

    /// Mounted file systems on the disk or its partitions.
    pub fn mounts(self) -> Vec<Mount<'a>> {
        let same = |key: FactKey, options: &FactReading| {
            self.all(key).find(|reading| {
                (reading.listing, reading.read_from()) == (options.listing, options.read_from())
                    && reading.fact.device == options.fact.device
            })
        };
        self.all(key::MOUNT_OPTIONS)
            .filter_map(|reading| {
                let point = same(key::MOUNT_POINT, &reading)?.text();
                let kind = same(key::MOUNT_TYPE, &reading).map(|reading| reading.text());
                Some(Mount { point, kind, options: reading.text(), reading })
            })
            .collect()
    }

    /// Limits that control groups set on the disk.
    pub fn limits(self) -> Vec<Limit<'a>> {
        let known = self.facts.limits.get(self.disk).into_iter().flatten();
        known
            .filter(|reading| self.facts.reaches(reading, self.host))
            .filter_map(|reading| {
                let kind = limit_kind(reading)?;
                let path = reading.read_from();
                // Version 1 has a tree for each controller, and groups are named below it.
                let first = path.strip_prefix("/sys/fs/cgroup/blkio");
                let group =
                    first.or_else(|| path.strip_prefix("/sys/fs/cgroup")).and_then(|path| {
                        path.rsplit_once('/').map(|(group, _)| group.trim_start_matches('/'))
                    });
                let is_version_1 = path.contains("/blkio.throttle.");
                let value = reading.number()?;
                Some(Limit { group, kind, value, is_version_1, reading: *reading })
            })
            .collect()
    }
}

fn by_key(readings: Vec<FactReading>) -> ByKey {
    let mut sorted = ByKey::new();
    for reading in readings {
        sorted.entry(reading.fact.key.clone()).or_default().push(reading);
    }
    sorted
}

fn limit_kind(reading: &FactReading) -> Option<LimitKind> {
    LimitKind::ALL.into_iter().find(|kind| kind.key() == reading.fact.key)
}

#[cfg(test)]
mod tests;
