//! Who is who in a recording, and what hangs on what: one graph, built once.
//!
//! Its nodes are hosts and, on each, disks, partitions, volumes, ports and adapters, by name. Its
//! edges:
//!
//! | edge | by | ask |
//! |---|---|---|
//! | belongs to a host | prompts, banners, lines of a log | [`Graph::host`] |
//! | is another name of | [`RULES`] | [`Graph::meant`] |
//! | is part of, is the controller of | the names | [`Graph::meant`] |
//! | lies on | `device.slaves`, `device.backing` | [`Graph::arrays`], [`Graph::lies_on`] |
//! | hangs behind | `device.parent`, `device.port` | [`Graph::parent`], [`Graph::at_port`] |
//!
//! A name is of one host: `sda` of two machines in one text is two disks. Facts of an input that
//! measured nothing are of every host that they may be of.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Fact, FactKey, HostName, Listing, Recording, key};

use crate::facts::disk_names;
use crate::facts::reading::FactReading;

/// The machine that a listing is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Host<'a> {
    /// The input: what names no machine is of one.
    pub input: &'a str,
    /// Its name, if the input names one.
    pub name: Option<&'a str>,
}

impl Host<'_> {
    /// Whether nothing shows that they are two machines.
    pub fn may_be(self, other: Host) -> bool {
        self.name.zip(other.name).is_none_or(|(a, b)| a == b)
    }

    /// Whether they are of one input and may be one machine.
    pub fn is_beside(self, other: Host) -> bool {
        self.input == other.input && self.may_be(other)
    }
}

/// How an input shows that two names are of one disk: what it goes by, who says it, and what it
/// joins: other names, each with the name to use.
type Rule = (&'static str, &'static str, fn(&KnownNames) -> Vec<(String, String)>);

/// The rules, in order: each knows what those before it joined.
const RULES: [Rule; 6] = [
    ("device number", "sysfs; limits of control groups use it", numbers),
    ("stated", "lsblk, multipath -ll, links of udev", stated),
    ("the only one, or the only one of its model", "smartctl, which names no drive", nameless),
    ("the only array", "mdadm --detail without its first line", array),
    ("model and serial number", "zpool status, beside smartctl", by_id),
    ("the one member and the one drive that fail", "zpool status, beside smartctl", failing),
];

/// Names in the listings of one host.
struct KnownNames<'g, 'a> {
    recording: &'a Recording,
    listings: Vec<&'a Listing>,
    disks: &'g [String],
    /// What is joined so far.
    names: BTreeMap<String, String>,
}

/// Entities and their edges.
pub struct Graph<'a> {
    /// Of each listing.
    hosts: Vec<Host<'a>>,
    /// Those that measured I/O: their facts are about themselves.
    measuring: BTreeSet<Host<'a>>,
    disks: Vec<String>,
    /// What a device is, by what a host calls it: a disk, or all disks of a controller.
    meant: HashMap<(Option<&'a str>, DeviceId), Vec<String>>,
    /// Edges that facts state, by the disk they are about.
    edges: Vec<(String, FactReading<'a>)>,
}

/// Facts that are edges.
const EDGES: [FactKey; 4] =
    [key::DEVICE_SLAVES, key::DEVICE_BACKING, key::DEVICE_PARENT, key::DEVICE_PORT];

impl<'a> Graph<'a> {
    /// The graph of a recording.
    pub fn of(recording: &'a Recording) -> Graph<'a> {
        let hosts = hosts(recording);
        let mut disks = disks(recording);
        let called: BTreeSet<Option<&str>> = hosts.iter().map(|host| host.name).collect();
        let names = |of: &Option<&'a str>| {
            let own = |at: &usize| hosts[*at].name.zip(*of).is_none_or(|(own, of)| own == of);
            let places = (0..hosts.len()).filter(own);
            let listings = places.map(|place| &recording.listings[place]).collect();
            let mut told =
                KnownNames { recording, listings, disks: &disks, names: BTreeMap::new() };
            for (.., joins) in RULES {
                let joined = joins(&told);
                told.names.extend(joined);
            }
            (*of, told.names)
        };
        let names: BTreeMap<_, _> = called.iter().map(names).collect();
        disks.retain(|disk| !names.values().all(|names| names.contains_key(disk)));
        let (mut meant, mut edges, mut measuring) = (HashMap::new(), Vec::new(), BTreeSet::new());
        for (listing, known) in recording.listings.iter().enumerate() {
            if known.is_measured() {
                measuring.insert(hosts[listing]);
            }
            for fact in &known.facts {
                let Some(device) = fact.device else { continue };
                let host = hosts[listing].name;
                let meant: &Vec<String> = meant.entry((host, device)).or_insert_with(|| {
                    let name = disk_names::of(recording, device);
                    spoken_of(names[&host].get(&name).unwrap_or(&name), &disks)
                });
                if EDGES.contains(&fact.key) {
                    let reading = FactReading { fact, listing };
                    edges.extend(meant.iter().map(|disk| (disk.clone(), reading)));
                }
            }
        }
        edges.order_by(|a: &(String, _), b| a.0.cmp(&b.0));
        Graph { hosts, measuring, disks, meant, edges }
    }

    /// The machine that a listing is of.
    pub fn host(&self, place: usize) -> Host<'a> {
        self.hosts[place]
    }

    /// All machines, in the order of their first listings.
    pub fn hosts(&self) -> Vec<Host<'a>> {
        let mut known = BTreeSet::new();
        self.hosts.iter().copied().filter(|host| known.insert(*host)).collect()
    }

    /// Whether no two hosts are distinguished.
    pub fn has_one_host(&self) -> bool {
        self.hosts.iter().all(|host| self.hosts[0].may_be(*host))
    }

    /// Whether what a listing states applies to a host; to any if `None`.
    pub fn reaches(&self, place: usize, host: Option<Host>) -> bool {
        let own = self.hosts[place];
        host.is_none_or(|host| {
            let is_silent = || !self.measuring.contains(&own);
            host == own || host.may_be(own) && (host.input == own.input || is_silent())
        })
    }

    /// The disks that a fact is about: that of its name, of which it names a partition, or whose
    /// controller it names. One of SMART that names none is about the only disk.
    pub fn meant(&self, place: usize, fact: &Fact) -> &[String] {
        match fact.device {
            None if fact.key.is_under("smart") && self.disks.len() == 1 => &self.disks,
            None => &[],
            Some(device) => &self.meant[&(self.hosts[place].name, device)],
        }
    }

    /// Facts of a kind that are edges, with the disk they are about, by its name.
    fn edges(
        &self,
        of: FactKey,
        host: Option<Host>,
    ) -> impl Iterator<Item = (&str, FactReading<'a>)> {
        let of_key = self.edges.iter().filter(move |(_, edge)| edge.fact.key == of);
        let here = of_key.filter(move |(_, edge)| self.reaches(edge.listing, host));
        here.map(|(disk, edge)| (disk.as_str(), *edge))
    }

    /// The arrays, pools and volumes that lie on a disk or its partitions, and what states their
    /// members.
    pub fn arrays(
        &self,
        disk: &str,
        host: Option<Host>,
    ) -> impl Iterator<Item = (&str, FactReading<'a>)> {
        self.edges(key::DEVICE_SLAVES, host).filter(move |(_, edge)| {
            let members = edge.fact.value.words().unwrap_or_default();
            members.iter().any(|name| disk_names::is_on(&disk_names::disk(name), disk))
        })
    }

    /// The disk at a port of a host adapter, if the system states it.
    pub fn at_port(&self, port: &str, place: usize) -> Option<&str> {
        let here = self.edges(key::DEVICE_PORT, None);
        let here = here.filter(|(_, edge)| self.hosts[place].may_be(self.hosts[edge.listing]));
        here.into_iter().find(|(_, edge)| edge.text() == port).map(|(disk, _)| disk)
    }

    /// What a disk hangs behind, if the system states it: an adapter, an expander.
    pub fn parent(&self, disk: &str, host: Option<Host>) -> Option<&'a str> {
        let own = self.edges(key::DEVICE_PARENT, host).filter(|(name, _)| *name == disk);
        own.last().map(|(_, edge)| edge.text())
    }

    /// What the file or memory behind a device lies on: a disk, or a device number.
    pub fn lies_on(&self, disk: &str, host: Option<Host>) -> Option<&'a str> {
        let own = self.edges(key::DEVICE_BACKING, host).filter(|(name, _)| *name == disk);
        own.last().map(|(_, edge)| edge.text())
    }
}

/// The machine of each listing. What no line of an input names is of its only machine; one name in
/// logs and another in sessions are of one, which was renamed or is called otherwise there.
fn hosts(recording: &Recording) -> Vec<Host<'_>> {
    let all = || recording.listings.iter().filter_map(|listing| listing.source.machine.as_ref());
    let distinct = |in_log: bool| {
        let mut known: Vec<&HostName> = Vec::new();
        for host in all().filter(|host| host.in_log == in_log) {
            if !known.iter().any(|other| other.is(host)) {
                known.push(host);
            }
        }
        known
    };
    let (mut names, of_logs) = (distinct(false), distinct(true));
    let renamed = names.len() == 1 && of_logs.len() == 1;
    names.extend(of_logs);
    let canonical = |host: &HostName| match renamed {
        true => names.first().map(|host| host.name()),
        false => names.iter().find(|known| known.is(host)).map(|host| host.name()),
    };
    let mut of_inputs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut hosts = Vec::new();
    for Listing { source, .. } in &recording.listings {
        let name = source.machine.as_ref().and_then(canonical);
        of_inputs.entry(&source.input).or_default().extend(name);
        hosts.push(Host { input: &source.input, name });
    }
    for host in &mut hosts {
        let only = of_inputs.get(host.input).filter(|names| names.len() == 1);
        host.name = host.name.or(only.and_then(|names| names.first().copied()));
    }
    hosts
}

/// The disks a recording measured or names as disks: no partition, no controller, no port.
fn disks(recording: &Recording) -> Vec<String> {
    let all: BTreeSet<String> =
        recording.devices().iter().map(|device| disk_names::disk(&device.name)).collect();
    let members = members(recording);
    let is_of_another = |name: &String| {
        // A pool `tank` of `tank0` and `tank1` has members, not partitions.
        let is_member = |disk: &str| members.get(disk).is_some_and(|all| all.contains(name));
        let is_part = |disk: &str| disk_names::is_partition(name, disk) && !is_member(disk);
        all.iter().any(|disk| is_part(disk) || disk_names::is_controller(name, disk))
    };
    let is_disk =
        |name: &&String| !name.is_empty() && !disk_names::is_port(name) && !is_of_another(name);
    all.iter().filter(is_disk).cloned().collect()
}

/// The members of arrays, pools and volumes.
fn members(recording: &Recording) -> BTreeMap<String, BTreeSet<String>> {
    let mut members: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let facts = recording.listings.iter().flat_map(|listing| &listing.facts);
    for fact in facts.filter(|fact| fact.key == key::DEVICE_SLAVES) {
        let (Some(device), Some(names)) = (fact.device, fact.value.words()) else { continue };
        let all = members.entry(disk_names::of(recording, device)).or_default();
        all.extend(names.iter().map(|name| disk_names::disk(name)));
    }
    members
}

/// The disks that a fact about `name` is about.
fn spoken_of(name: &str, disks: &[String]) -> Vec<String> {
    if disks.iter().any(|disk| disk == name) {
        return vec![name.to_string()];
    }
    let is_it =
        |disk: &&String| disk_names::is_on(name, disk) || disk_names::is_controller(name, disk);
    disks.iter().filter(is_it).cloned().collect()
}

impl<'a> KnownNames<'_, 'a> {
    fn facts(&self) -> impl Iterator<Item = &'a Fact> {
        self.listings.iter().flat_map(|listing| &listing.facts)
    }

    /// What a fact is about, by name.
    fn name(&self, fact: &Fact) -> String {
        fact.device.map_or_else(String::new, |device| disk_names::of(self.recording, device))
    }

    /// The disks about which some fact is so.
    fn disks(&self, is: impl Fn(&Fact) -> bool) -> Vec<&String> {
        let named: BTreeSet<String> =
            self.facts().filter(|fact| is(fact)).map(|fact| self.name(fact)).collect();
        self.disks.iter().filter(|disk| named.contains(*disk)).collect()
    }

    /// Disks that a tool reported without their name.
    fn nameless(&self) -> Vec<&String> {
        self.disks(|fact| fact.key == key::DEVICE_UNNAMED)
    }

    /// Disks by the kernel's names. What has members is no drive.
    fn real(&self) -> Vec<&String> {
        let nameless = self.nameless();
        let pools = self.disks(|fact| fact.key == key::DEVICE_SLAVES);
        let is_real = |disk: &&String| {
            !nameless.contains(disk)
                && !pools.contains(disk)
                && !disk_names::is_stacked(disk)
                && !disk_names::is_id(disk)
        };
        self.disks.iter().filter(is_real).collect()
    }

    fn model(&self, disk: &str) -> Option<&'a str> {
        let mut models =
            self.facts().filter(|fact| [key::SMART_MODEL, key::DEVICE_MODEL].contains(&fact.key));
        models.find(|fact| self.name(fact) == disk).and_then(|fact| fact.value.text())
    }
}

fn numbers(told: &KnownNames) -> Vec<(String, String)> {
    let facts = told.facts().filter(|fact| fact.key == key::DEVICE_NUMBER && fact.device.is_some());
    facts.filter_map(|fact| Some((fact.value.text()?.to_string(), told.name(fact)))).collect()
}

fn stated(told: &KnownNames) -> Vec<(String, String)> {
    let facts = told.facts().filter(|fact| fact.key == key::DEVICE_ALIAS && fact.device.is_some());
    let names = |fact: &'_ Fact| fact.value.words().unwrap_or_default().to_vec();
    let pairs = |fact| {
        let disk = told.name(fact);
        names(fact).into_iter().map(move |name| (disk_names::disk(&name), disk.clone()))
    };
    facts.flat_map(pairs).collect()
}

fn nameless(told: &KnownNames) -> Vec<(String, String)> {
    let (nameless, real) = (told.nameless(), told.real());
    // Two sections of one drive, of which one lacks the head with its model.
    let of_one = nameless.len() <= 2
        && nameless.iter().filter(|drive| told.model(drive).is_some()).count() <= 1;
    let found = |lost: &&String| {
        let model = told.model(lost);
        let alike = real.iter().filter(|disk| model.is_some() && told.model(disk) == model);
        match (&real[..], &alike.collect::<Vec<_>>()[..]) {
            ([only], _) if of_one => Some(only.to_string()),
            (_, [only]) => Some(only.to_string()),
            _ => None,
        }
    };
    nameless.iter().filter_map(|lost| Some((lost.to_string(), found(lost)?))).collect()
}

fn array(told: &KnownNames) -> Vec<(String, String)> {
    let (nameless, named): (Vec<&String>, Vec<&String>) = told
        .disks
        .iter()
        .filter(|disk| disk_names::kind(disk) == "md")
        .partition(|disk| *disk == "md");
    match (&nameless[..], &named[..]) {
        ([nameless], [only]) => vec![(nameless.to_string(), only.to_string())],
        _ => Vec::new(),
    }
}

fn by_id(told: &KnownNames) -> Vec<(String, String)> {
    let nameless = told.nameless();
    let ids = told.disks.iter().filter(|id| disk_names::is_id(id) && !told.names.contains_key(*id));
    let of = |id: &String| {
        let lost = *nameless.iter().find(|lost| **lost == disk_names::bare(id))?;
        Some((id.clone(), told.names.get(lost).unwrap_or(lost).clone()))
    };
    ids.filter_map(of).collect()
}

/// Whoever shows a pool with one faulty member and the SMART of one failing drive asked that drive
/// because of the pool.
fn failing(told: &KnownNames) -> Vec<(String, String)> {
    let mut members = told.disks(|fact| {
        fact.key.is_under("member") && fact.value.number().is_some_and(|errors| errors > 0.0)
    });
    members.retain(|id| disk_names::is_id(id) && !told.names.contains_key(*id));
    // A drive says so of itself: its health check, or an attribute below its threshold.
    let mut drives = told.disks(|fact| {
        fact.key == key::SMART_PREFAIL_NOW
            || fact.key == key::SMART_PASSED && fact.value.number() == Some(0.0)
    });
    let real = told.real();
    drives.retain(|disk| real.contains(disk));
    let ([member], [drive]) = (&members[..], &drives[..]) else { return Vec::new() };
    let fits = |model: &str| member.contains(&model.replace(' ', "_"));
    let joined =
        told.model(drive).is_none_or(fits).then(|| (member.to_string(), drive.to_string()));
    joined.into_iter().collect()
}
