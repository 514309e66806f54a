//! Remote storage: a volume that fetches blocks on first access, or a server that does not respond.
//!
//! ## Accuses
//! The storage after the device: a volume restored from a snapshot, a thin pool, a network. The
//! disk of the guest is a program elsewhere.
//!
//! ## Why it matters
//! The first read of a block takes ten or a hundred times as long as the second, once. It looks
//! like a faulty disk on the first day and recovers by itself; SMART of such a disk shows nothing.
//!
//! ## Needs
//! A per-I/O log with sectors in which blocks are read more than once; a name or model that shows
//! that the device is virtual (QEMU, virtio, Amazon EBS, Microsoft, Google, VMware).
//!
//! ## Rule
//! The device is virtual by its model, by given information, or by its name; else it is only
//! suspected. Reads of blocks not accessed before take at least three times as long as reads of
//! blocks accessed before, at equal size, with at least ten of each and a probability by chance
//! below 1 %.
//!
//! Or a cluster reports that some of its placement groups are not active (`ceph -s`). Or a server's
//! log counts at least ten waits for other servers of a replica (HDFS), and three times as many as
//! for its own disks; or at a replicated volume (`/proc/drbd`) as many are open at the peer.
//!
//! Or the kernel's log shows that an NFS or SMB server, an iSCSI session or a DRBD peer did not
//! respond, or an array reported that it is busy or that one of its ports does not serve the
//! volume; or a volume lost several of its paths within a minute. Connections, sessions and the
//! disks that failed because of them are one fault. Or calls on a network file system take more
//! than a second (`nfsslower`), or requests to a file server get no reply for 5 s or need a second
//! on average (`/proc/self/mountstats`, `nfsiostat`). Suspected: round trips of 100 ms, or a file
//! on such a file system is slower than a network of 100 Mbit/s, or a journal on a device of a
//! network hung (`jbd2/rbd0-8`). Or a cluster reports that requests to up to three of its services
//! have been blocked for 30 s or more.
//!
//! Or commands on a disk of a guest get no answer, where the log or a sentence beside it names the
//! hypervisor; or one stream from a virtual disk stays below 20 MB/s: the host's storage. Or the
//! client of a file server repeats one request in a hundred (`nfsstat -c`), or waits 10 ms and ten
//! times as long for writes as for reads: the server's stable storage. Or it waits 100 ms and ten
//! times as long for reads as for calls without data (`mountstats`).
//!
//! Or the server of a FUSE mount (sshfs, s3fs, ntfs-3g, virtiofs) does not answer: requests wait
//! for it (`/sys/fs/fuse/connections`), and a program has waited in one call on the mount for 5 s
//! or more. Live only, and also for calls that already hang when iowhy starts.
//!
//! ## Wrong if
//! The disk is local with a virtual name, and its own cache makes the second read fast.
//!
//! ## Next step
//! Read the whole volume once before use, provision it thick, check the network.

use std::collections::BTreeSet;

use iowhy_model::{
    Bound, Clause, DeviceId, FactKey, Finding, Forecast, Level, Medium, MessageKind, Nanos, Op,
    Unit, Verdict, key,
};

use crate::analysis::requests::{self, Requests};
use crate::analysis::{Analysis, Host};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::builder::{computed, lines, new_finding, read_off};
use crate::evidence::candidates::{self};
use crate::evidence::cluster_tests;
use crate::evidence::confidence;
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::fuse_mounts;
use crate::evidence::guests;
use crate::evidence::round_trips;
use crate::evidence::shares;
use crate::evidence::volumes;
use crate::facts::disk_models;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::facts::reading::FactReading;
use crate::measures::first_touch::{self, Read};
use crate::measures::spread;
use crate::phrase;

/// Entry in the list of detectors.
pub const DETECTOR: Detector = Detector {
    verdict: Verdict::LayerRemote,
    summary: "Remote storage: slow on first access, or a server does not answer",
    manual: iowhy_model::manual!("layer_remote.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::E,
        seconds: 120,
        what: "repeated reads of the same blocks, and the device model",
    },
    explains: &[
        Verdict::DeviceMedia,
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::LoadSaturated,
        Verdict::LoadWriteback,
    ],
    rule: Rule::Detect(detect),
};

/// Prior of a path or a neighbour given a reported problem (docs/METHOD.md, 11 Confidence), and the
/// weight of a model that shows it, in nats; a name alone weighs less.
const PRIOR: f64 = 0.08;
const VIRTUAL_MODEL: f64 = 3.0;
const VIRTUAL_NAME: f64 = 1.5;
/// Odds of a volume by name from which on it is one (`vd`: 0.7).
const VOLUME: f64 = 0.5;
/// What requests without any completion on a virtual disk are worth, and errors that a target
/// reports.
const STUCK: f64 = 0.92;
const OF_A_TARGET: f64 = 0.75;
/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const TIMES: f64 = 3.0;
const EACH: usize = 10;
const CHANCE: f64 = 0.01;
/// Weight of the pattern if nothing shows that the device is virtual: a suspicion.
const BY_SHAPE: f64 = SHAPE_ALONE;
/// Odds of a volume by its name from which on the name counts (`nvme`: 0.4, `vd`: 0.7, `sd`: 0.1).
const BY_NAME: f64 = 0.3;
const NO_ANSWER: &str = "messages that a server or peer did not respond, or was busy";
const PORT_REFUSES: &str = "paths whose target port the array reports as not available (ALUA)";

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let touched = analysis.requests.iter().filter_map(|requests| finding(analysis, requests));
    touched
        .chain(stuck(analysis))
        .chain(reported_by_a_target(analysis))
        .chain(does_not_answer(analysis))
        .chain(inactive(analysis))
        .chain(blocked(analysis))
        .chain(slow_alone(analysis))
        .chain(replicas(analysis))
        .chain(peers(analysis))
        .chain(shares::waits(analysis, DETECTOR.verdict))
        .chain(round_trips::findings(analysis, DETECTOR.verdict))
        .chain(round_trips::stable_writes(analysis, DETECTOR.verdict))
        .chain(round_trips::slow_reads(analysis, DETECTOR.verdict))
        .chain(repeated_calls(analysis))
        .chain(cluster_tests::findings(analysis, DETECTOR.verdict))
        .chain(fuse_mounts::findings(analysis, DETECTOR.verdict))
        .chain(guests::findings(analysis, DETECTOR.verdict))
        .collect()
}

/// Weight of a cluster's own report that it does not serve part of its data.
const OF_A_CLUSTER: f64 = 0.85;
/// A request that is blocked for this long, s, waits for something that does not respond (Ceph's
/// own bound for a log event, `osd_op_complaint_time`).
const BLOCKED_S: f64 = 30.0;

/// A cluster that reports that it does not serve part of its data: requests for that part wait.
fn inactive(analysis: &Analysis) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    let found = places.filter_map(|place| {
        let listing = analysis.listing(place);
        let share = listing.facts.iter().find(|fact| fact.key == key::CLUSTER_INACTIVE)?;
        let value = share.value.number().filter(|share| *share > 0.0)?;
        let mut finding = new_finding(DETECTOR.verdict, None, vec![place]);
        finding.sentence = format!(
            "the cluster serves no I/O of {} of its placement groups: requests to them wait until \
             they are active again, however fast its disks are",
            phrase::percent(value)
        );
        let what = "placement groups that are not active";
        let source = analysis.source(place);
        finding.evidence = vec![read_off(what, value, Unit::Share, 1, source).above(0.0)];
        let down = listing.facts.iter().find(|fact| fact.key == key::CLUSTER_OSDS_DOWN);
        if let Some(down) = down.and_then(|fact| fact.value.number()) {
            let what = "daemons of the cluster (OSDs) that are down";
            finding.evidence.push(read_off(what, down, Unit::Count, 1, source));
        }
        finding.assume(OF_A_CLUSTER, "reported by the cluster");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["the slow I/O goes to other storage: `findmnt`, `lsblk -s`"]);
        finding.next_step = lines(&[
            "`ceph health detail`, `ceph pg dump_stuck inactive`: which groups, and for which OSDs \
             do they wait?",
            "the log of these OSDs: do they run, and do they reach each other?",
            "`ceph osd perf`, once all groups are active",
        ]);
        Some(finding)
    });
    found.collect()
}

/// A server that often waited for its replicas, and far less often for its own disks.
fn replicas(analysis: &Analysis) -> Vec<Finding> {
    let found = (0..analysis.recording.listings.len()).filter_map(|place| {
        let listing = analysis.listing(place);
        let said = |key: FactKey| {
            let fact = listing.facts.iter().find(|fact| fact.key == key);
            fact.and_then(|fact| fact.value.number())
        };
        let waits = said(key::REPLICA_SLOW).filter(|waits| *waits >= EACH as f64)?;
        let own = said(key::IO_SLOW).unwrap_or(0.0) + listing.events.len() as f64;
        (waits >= TIMES * own).then_some(())?;
        let mut finding = new_finding(DETECTOR.verdict, None, vec![place]);
        finding.sentence = format!(
            "the server waited for other servers that hold its replicas {}, for its own disks and \
             page cache {}: the network, or the disk of such a server, is slow",
            phrase::count(waits, "time(s)"),
            phrase::count(own, "time(s)")
        );
        let source = analysis.source(place);
        let what = "waits for another server over the limit of the log";
        let own_waits = "waits for its own disks and page cache over the limit";
        finding.evidence = vec![
            read_off(what, waits, Unit::Count, 1, source).above(TIMES * own).weighs(),
            read_off(own_waits, own, Unit::Count, 1, source),
        ];
        if let Some(longest) = said(key::REPLICA_SLOWEST) {
            let what = "longest wait for another server";
            finding.evidence.push(read_off(what, longest, Unit::Seconds, 1, source));
        }
        finding.assume(OF_A_TARGET, "the server's own lines in the log");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&[
            "the log of the next server shows slow writes to its disks: then it is that disk",
        ]);
        finding.next_step = lines(&[
            "the same counts on the other servers: `grep -oE 'Slow .*(took|cost)' LOG | sort | \
             uniq -c`: one that is named by many is the slow one",
            "`ss -ti`, `nstat -az TcpRetransSegs`, `ethtool -S`: does the network lose packets?",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Replicated volumes with far more open requests at the peer than at the local disk.
fn peers(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let found = candidates.iter().filter_map(|candidate| {
        let about = candidate.about();
        let (open, reading) = about.number(key::DRBD_PEER).filter(|(n, _)| *n >= EACH as f64)?;
        let local = about.number(key::DRBD_LOCAL).map_or(0.0, |(n, _)| n);
        let state = about.last(key::DRBD_CONNECTION)?.text();
        (open >= TIMES * local && state == "Connected").then_some(())?;
        let mut builder = EvidenceBuilder::default();
        let above = Some(Bound::Above(TIMES * local));
        let what = "requests and replies open between the volume and its peer";
        builder.fact(analysis, &reading, what, (open, Unit::Count), above);
        let sentence = format!(
            "{} waits for its peer: {} open there, {} at the local disk",
            candidate.disk,
            phrase::count(open, "request(s)"),
            phrase::digits(local)
        );
        let listings = builder.listings(candidate);
        let mut finding = remote(Some(candidate.device), listings, sentence, builder);
        finding.doubt("one moment: many may be open for an instant", OF_A_TARGET);
        finding.next_step.insert(0, "`cat /proc/drbd` several times: does it persist?".to_string());
        Some(finding)
    });
    found.collect()
}

/// Share of the calls of a file server's client that are sent again, from which on each of them
/// costs (a choice: each lost one waits for a timeout of a second over UDP); fewest calls.
const REPEATED: f64 = 0.01;
const CALLS: f64 = 500.0;
/// What it is worth: network and server look alike.
const SENT_AGAIN: f64 = 0.72;

/// Calls of the client of file servers that got no answer in time (`nfsstat -c`): those between two
/// reports, if there are two.
fn repeated_calls(analysis: &Analysis) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let about = analysis.facts.about(Some(host), "");
        let both = |key: FactKey| {
            let all: Vec<(f64, FactReading)> = about.readings_of_machine(key).collect();
            let (last, reading) = *all.last()?;
            let first = all.first().filter(|(n, _)| *n < last).map_or(0.0, |(n, _)| *n);
            Some((last - first, reading))
        };
        let (calls, _) = both(key::RPC_CALLS).filter(|(n, _)| *n >= CALLS)?;
        let (again, reading) = both(key::RPC_REPEATED)?;
        (again >= REPEATED * calls).then_some(())?;
        let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
        finding.sentence = format!(
            "the client of the file server sent {} of its calls again ({} of {}): answers are lost \
             or late, and each costs a timeout; the network or the server, not a disk of this \
             machine",
            phrase::percent(again / calls),
            phrase::thousands(again),
            phrase::thousands(calls)
        );
        let source = analysis.source(reading.listing);
        let share = computed("calls that were sent again", again / calls, Unit::Share, 2, source);
        finding.evidence =
            vec![share.above(REPEATED), read_off("calls", calls, Unit::Count, 1, source)];
        finding.assume(SENT_AGAIN, "counted by the client itself");
        finding.explained_share = 1.0;
        shares::advise(&mut finding);
        let step = "`ip -s link` on both sides: errors, drops; mount with `proto=tcp` if it is UDP";
        finding.next_step.insert(0, step.to_string());
        Some(finding)
    });
    found.collect()
}

/// Services of a cluster that delay requests, if it names a few: they share a disk, a host or a
/// network.
const FEW_SERVICES: usize = 3;

/// Over all inputs: part of a list names few of many.
fn blocked(analysis: &Analysis) -> Option<Finding> {
    let listings = || analysis.recording.listings.iter().enumerate();
    let line_text = |key: FactKey| {
        listings().flat_map(move |(place, listing)| {
            let key = key.clone();
            let of_key = listing.facts.iter().filter(move |fact| fact.key == key);
            of_key.filter_map(move |fact| Some((place, fact.device?, fact.value.number()?)))
        })
    };
    let most = |key: FactKey| line_text(key).map(|(.., value)| value).fold(0.0, f64::max);
    let named: BTreeSet<DeviceId> = line_text(key::CEPH_BLOCKED).map(|(_, osd, _)| osd).collect();
    let place = line_text(key::CEPH_BLOCKED).map(|(place, ..)| place).next()?;
    let (count, longest) = (most(key::CEPH_BLOCKED), most(key::CEPH_BLOCKED_TIME));
    // A cluster with unavailable data delays requests: that is reported for the cluster.
    let serves_all = listings()
        .flat_map(|(_, listing)| &listing.facts)
        .all(|fact| fact.key != key::CLUSTER_INACTIVE || fact.value.number() == Some(0.0));
    let few = (1..=FEW_SERVICES).contains(&named.len());
    (serves_all && few && longest >= BLOCKED_S).then_some(())?;
    let names: Vec<String> =
        named.iter().map(|osd| analysis.recording.device_of(*osd).name.clone()).collect();
    let one = named.first().copied().filter(|_| named.len() == 1);
    let mut finding = new_finding(DETECTOR.verdict, one, vec![place]);
    finding.subject.devices = named.into_iter().collect();
    finding.sentence = format!(
        "requests wait for {}: {}, the longest for {} s or more; what holds them up is the disk, \
         the host or the network of {}",
        phrase::list(&names),
        phrase::count(count, "request(s) blocked"),
        phrase::digits(longest),
        if one.is_some() { "this service" } else { "these services" }
    );
    let source = analysis.source(place);
    finding.evidence = vec![
        read_off("longest wait of a blocked request", longest, Unit::Seconds, 1, source)
            .above(BLOCKED_S),
        read_off("blocked requests, maximum at once", count, Unit::Count, 1, source),
    ];
    finding.assume(OF_A_CLUSTER, "reported by the cluster");
    finding.doubt("one moment: what it waits for itself is not in this output", OF_A_CLUSTER);
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["the slow I/O goes to other storage: `findmnt`, `lsblk -s`"]);
    let first = names.first().map_or("osd.N", String::as_str);
    finding.next_step = vec![
        format!("`ceph daemon {first} dump_ops_in_flight`, on its host: what do they wait for?"),
        format!(
            "the disk of {first} (`ceph device ls`): `iostat -x 1`, `smartctl -x`, and its log"
        ),
        "`ceph osd perf`: is it the only slow one?".to_string(),
    ];
    Some(finding)
}

/// A server or a peer that did not answer, by the kernel's log.
fn does_not_answer(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let findings = candidates.iter().filter_map(|candidate| {
        // What has a common parent is reported for the parent.
        let of_others =
            |line: &LogLine| line.message.is_of_iscsi() || line.message.adapter.is_some();
        let logged = candidate.about().logged(MessageKind::Remote);
        let logged: Vec<&LogLine> = logged.filter(|line| !of_others(line)).collect();
        if logged.is_empty() || disk_names::kind(&candidate.disk) == OSD {
            return None;
        }
        let mut builder = EvidenceBuilder::default();
        builder.log_lines(analysis, NO_ANSWER, &logged, Some(Bound::Above(0.0)));
        let sentence = format!(
            "{} did not serve requests in time: the waits are for the network or for a disk of \
             another machine",
            candidate.disk
        );
        let listings = builder.listings(candidate);
        Some(remote(Some(candidate.device), listings, sentence, builder))
    });
    let lost = analysis.hosts().into_iter().filter_map(|host| lost_sessions(analysis, host));
    let hung = analysis.hosts().into_iter().filter_map(|host| hung(analysis, host));
    let down = analysis.hosts().into_iter().filter_map(|host| services_down(analysis, host));
    findings.chain(down).chain(lost).chain(hung).chain(lost_paths(analysis)).collect()
}

/// OSDs of a Ceph cluster, as named by the kernel (`osd56`).
const OSD: &str = "osd";

/// Services of a cluster that went down: one fault, of their host, their network or themselves.
fn services_down(analysis: &Analysis, host: Host) -> Option<Finding> {
    let is_one = |line: &&LogLine| {
        line.kind == MessageKind::Remote
            && line.disk.as_deref().is_some_and(|name| disk_names::kind(name) == OSD)
            && analysis.host(line.reading.listing) == host
    };
    let down: Vec<&LogLine> = analysis.facts.log().filter(is_one).collect();
    let names: BTreeSet<String> = down.iter().filter_map(|line| line.disk.clone()).collect();
    let names: Vec<String> = names.into_iter().collect();
    let first = names.first()?;
    let mut builder = EvidenceBuilder::default();
    let n = (names.len() as f64, Unit::Count);
    let above = Some(Bound::Above(0.0));
    builder.fact(
        analysis,
        &down.first()?.reading,
        "services of a cluster that went down",
        n,
        above,
    );
    let sentence = format!(
        "{} of the Ceph cluster went down: I/O to the data that only they serve waits, and the \
         rest is slower until others have taken over",
        phrase::list(&names)
    );
    let device = analysis.recording.find_device(first).filter(|_| names.len() == 1);
    let mut finding = remote(device, builder.listings.clone(), sentence, builder);
    finding.next_step.insert(
        0,
        "`ceph -s`, `ceph osd tree down`: do they share a host, a switch or a network card?"
            .to_string(),
    );
    Some(finding)
}

/// Devices with data on another machine, by their names (Ceph, network block devices).
const ELSEWHERE: [&str; 3] = ["rbd", "nbd", "rnbd"];

/// Mean latency, ms, of a remote device that a few requests do not explain, and the maximum
/// requests in flight for that.
const SLOW_MS: f64 = 100.0;
const FEW_IN_FLIGHT: f64 = 5.0;
/// Minimum rows with I/O, so that it is not a single moment, and the weight.
const ROWS: usize = 3;
const SLOW_ALONE: f64 = 0.90;

/// Remote devices that are slow with almost nothing in flight: the path or the server, never a disk
/// of this machine.
fn slow_alone(analysis: &Analysis) -> Vec<Finding> {
    let found = analysis.rows_by_listing().into_iter().filter_map(|rows| {
        let first = rows.first()?;
        ELSEWHERE.contains(&disk_names::kind(&first.disk)).then_some(())?;
        let active: Vec<_> =
            rows.iter().filter(|row| row.per_s() > 0.0 && !row.interval.since_boot).collect();
        let n: f64 = active.iter().map(|row| row.per_s()).sum();
        let in_flight: f64 =
            active.iter().map(|row| row.per_s() * row.await_ms().unwrap_or(0.0) / 1e3).sum();
        let mean_ms = 1e3 * in_flight / n;
        let most = rows.iter().filter_map(|row| row.interval.queue_len).fold(0.0, f64::max);
        (mean_ms >= SLOW_MS && most <= FEW_IN_FLIGHT).then_some(())?;
        let mut finding = new_finding(DETECTOR.verdict, Some(first.device), vec![first.listing]);
        finding.sentence = format!(
            "{} takes {} per request with at most {} in flight: another machine keeps its data, \
             and it or the network to it is slow",
            phrase::disk(&first.disk),
            phrase::ms(mean_ms),
            phrase::digits(most)
        );
        let (source, rows) = (analysis.source(first.listing), active.len() as u64);
        finding.evidence = vec![
            computed(
                "mean latency (await) over the rows with I/O",
                mean_ms,
                Unit::Ms,
                rows,
                source,
            )
            .above(SLOW_MS),
            read_off("in flight at most (aqu-sz)", most, Unit::Requests, rows, source)
                .below(FEW_IN_FLIGHT),
        ];
        finding.assume(SLOW_ALONE, "a device of another machine, slow with few in flight");
        finding.doubt_if(active.len() < ROWS, "one or two rows with I/O", SHAPE_ALONE);
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["the same requests are fast from another client"]);
        finding.next_step = lines(&[
            "on the other machine: `iostat -x 1` of the disk that keeps it; for Ceph `ceph osd \
             perf` and `ceph health detail`",
            "check that the network is intact: `ping`, `ss -ti`, `nstat -az TcpRetransSegs`",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Tasks that hung while they wrote to a device of another machine.
fn hung(analysis: &Analysis, host: Host) -> Option<Finding> {
    let of = |line: &LogLine| {
        let device = disk_names::written_by(&line.message.text)?;
        ELSEWHERE.contains(&disk_names::kind(device)).then(|| device.to_string())
    };
    let here = |line: &&LogLine| {
        line.kind == MessageKind::HungTask && analysis.host(line.reading.listing) == host
    };
    let hung: Vec<&LogLine> =
        analysis.facts.log().filter(here).filter(|line| of(line).is_some()).collect();
    let devices: BTreeSet<String> = hung.iter().filter_map(|line| of(line)).collect();
    let names: Vec<String> = devices.into_iter().collect();
    let first = names.first()?;
    let mut builder = EvidenceBuilder::default();
    let what = "tasks that hung writing to it, in the kernel's log";
    builder.log_lines(analysis, what, &hung, Some(Bound::Above(0.0)));
    let sentence = format!(
        "writes to {} did not complete for minutes: another machine keeps its data, and it or the \
         network to it did not answer",
        phrase::list(&names)
    );
    let mut finding = remote(None, builder.listings.clone(), sentence, builder);
    if disk_names::kind(first) == "rbd" {
        finding.next_step.insert(
            0,
            "`ceph -s`, `ceph health detail`: which placement groups or services do not answer?"
                .to_string(),
        );
    }
    Some(finding)
}

/// A finding that a server or target did not answer.
fn remote(
    device: Option<DeviceId>,
    listings: Vec<usize>,
    sentence: String,
    builder: EvidenceBuilder,
) -> Finding {
    let mut finding = new_finding(DETECTOR.verdict, device, listings);
    finding.sentence = sentence;
    finding.assume(OF_A_TARGET, "the target's own lines in the log");
    finding.explained_share = 1.0;
    finding.evidence = builder.evidence;
    finding.refuted_by =
        lines(&["the slow I/O goes to a disk of this machine: `findmnt`, `lsblk -s`"]);
    finding.next_step = lines(&[
        "check that the server is up and the network is intact: `ping`, `ss -ti`, `nstat -az \
         TcpRetransSegs`",
        "on the server: `iostat -x 1` and its kernel's log of the same minute",
    ]);
    finding
}

/// The connections and sessions of iSCSI that were lost, and the disks that failed because of that:
/// one fault, of the network or of the target.
fn lost_sessions(analysis: &Analysis, host: Host) -> Option<Finding> {
    let here = |line: &&LogLine| analysis.host(line.reading.listing) == host;
    let log = || analysis.facts.log().filter(here);
    let lost: Vec<&LogLine> = log()
        .filter(|line| line.kind == MessageKind::Remote && line.message.is_of_iscsi())
        .collect();
    let name = |device: DeviceId| analysis.recording.device_of(device).name.as_str();
    let sessions = devices(lost.iter().copied());
    let first = *sessions.first()?;
    let gone: Vec<&LogLine> = log()
        .filter(|line| line.kind == MessageKind::Offline && line.message.adapter.is_some())
        .collect();
    let behind: BTreeSet<String> = gone.iter().filter_map(|line| line.disk.clone()).collect();
    let mut builder = EvidenceBuilder::default();
    let above = Some(Bound::Above(0.0));
    let n = (sessions.len() as f64, Unit::Count);
    builder.fact(analysis, &lost.first()?.reading, "lost iSCSI connections and sessions", n, above);
    builder.log_lines(analysis, NO_ANSWER, &lost, above);
    let offline = "requests to disks that went offline because of that";
    builder.log_lines(analysis, offline, &gone, None);
    let slow = analysis.facts.disks().filter_map(|disk| {
        let about = analysis.facts.about(Some(host), disk);
        let (seconds, reading) = about.number(key::DEVICE_LATENCY_COMPLAINED)?;
        (analysis.host(reading.listing) == host).then_some((disk, seconds, reading))
    });
    let slow: Vec<(&str, f64, FactReading)> = slow.collect();
    let mut words = Vec::new();
    for (disk, seconds, reading) in &slow {
        let what = format!("longest mean latency logged by the host ({disk})");
        builder.fact(analysis, reading, &what, (*seconds, Unit::Seconds), None);
        words.push(format!("{disk} took up to {}", phrase::ms(seconds * 1e3)));
    }
    let names: Vec<String> = sessions.iter().map(|device| name(*device).to_string()).collect();
    let consequence = match behind.len() {
        0 => String::new(),
        1 => format!(
            ", and {} failed because of that",
            phrase::list(&behind.iter().cloned().collect::<Vec<_>>())
        ),
        n => format!(", and {n} disks failed because of that"),
    };
    let before = match words.is_empty() {
        true => String::new(),
        false => format!("; {} in the same log", phrase::list(&words)),
    };
    let sentence = format!(
        "the iSCSI target did not respond in time: {} lost ({}){consequence}{before}: the cause is \
         the target or the network to it, not a disk of this host",
        phrase::count(sessions.len() as f64, "connection(s) or session(s)"),
        phrase::list(&names)
    );
    // The disk, if the session has only one; else the session; else all of them.
    let disk = behind.first().and_then(|disk| analysis.recording.find_device(disk));
    let device = match (behind.len(), sessions.len()) {
        (1, _) => disk,
        (0, 1) => Some(first),
        _ => None,
    };
    let mut finding = remote(device, builder.listings.clone(), sentence, builder);
    if device.is_none() {
        finding.subject.devices =
            sessions.iter().copied().chain(devices(gone.into_iter())).collect();
    }
    finding.next_step.insert(
        0,
        "check the switch ports between host and target: errors, pauses (flow control), speed, \
         MTU; on the host the session timeouts (`iscsiadm -m session -P 2`: recovery, NOP-Out)"
            .to_string(),
    );
    Some(finding)
}

/// Volumes that lost several paths within a minute, and paths whose array reports that the port
/// does not serve them: the array or the storage network.
fn lost_paths(analysis: &Analysis) -> Vec<Finding> {
    let log = || analysis.facts.log();
    let refused: Vec<&LogLine> = log()
        .filter(|line| line.kind == MessageKind::Remote && line.message.adapter.is_some())
        .collect();
    let lost = analysis.facts.by_port(log().filter(|line| line.kind == MessageKind::Path));
    let mut findings: Vec<Finding> = Vec::new();
    let mut reported = BTreeSet::new();
    for (volume, lines) in &lost {
        let times = || lines.iter().filter_map(|line| line.message.at_s);
        let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
        let apart_s = (last - first).max(0.0);
        if lines.len() < 2 || apart_s > volumes::PATHS_S {
            continue;
        }
        let mut builder = EvidenceBuilder::default();
        let above = Some(Bound::Above(1.0));
        builder.log_lines(analysis, "paths lost by the volume", lines, above);
        let here: Vec<&LogLine> = refused
            .iter()
            .filter(|line| lines.iter().any(|l| l.reading.listing == line.reading.listing))
            .copied()
            .collect();
        reported.extend(here.iter().map(|line| line.reading.listing));
        builder.log_lines(analysis, PORT_REFUSES, &here, None);
        let line_text = match here.len() {
            0 => String::new(),
            n => format!(
                ", and the array reported on {} that its port is not available",
                phrase::count(n as f64, "path(s)")
            ),
        };
        let within = match times().count() {
            0 => String::new(),
            _ => format!(" within {}", phrase::ms((apart_s * 1e3).max(1e3))),
        };
        let sentence = format!(
            "{} lost {} paths{within}{line_text}: the cause is the array or the storage network \
             shared by all of them, not a disk",
            analysis.recording.device_of(*volume).name,
            LogLine::messages(lines)
        );
        let mut finding = remote(Some(*volume), builder.listings.clone(), sentence, builder);
        finding.next_step = path_steps();
        findings.push(finding);
    }
    for gone in volumes::without_paths(analysis) {
        let mut builder = EvidenceBuilder::default();
        let n = (gone.paths.len() as f64, Unit::Count);
        let what = "failed paths of the volume (all of them)";
        builder.fact(analysis, &gone.reading, what, n, Some(Bound::Above(1.0)));
        let sentence = format!(
            "no path to {} is left ({}): the volume was removed or is no longer served, or the \
             storage network shared by all paths failed; the cause is not a disk or cable of this \
             host",
            gone.name,
            phrase::list(&gone.paths)
        );
        let mut finding = remote(Some(gone.device), builder.listings.clone(), sentence, builder);
        finding.next_step = path_steps();
        finding.next_step.insert(
            0,
            "if the volume was deleted or unmapped at the array: run `multipath -f` on it and \
             delete its paths (`/sys/block/DISK/device/delete`) before it is removed at the array"
                .to_string(),
        );
        findings.push(finding);
    }
    for lines in volumes::unnamed_paths(analysis).into_values() {
        let mut builder = EvidenceBuilder::default();
        let what = "multipath paths that failed within a minute, in the kernel's log";
        builder.log_lines(analysis, what, &lines, Some(Bound::Above(1.0)));
        let sentence = format!(
            "{} of multipath failed within a minute of each other: the volume was removed or is no \
             longer served, or the storage network behind them failed; the cause is not a disk or \
             cable of this host",
            phrase::count(lines.len() as f64, "path(s)")
        );
        let mut finding = remote(None, builder.listings.clone(), sentence, builder);
        finding.next_step = path_steps();
        findings.push(finding);
    }
    // Without a volume in the log.
    let alone: Vec<&LogLine> =
        refused.into_iter().filter(|line| !reported.contains(&line.reading.listing)).collect();
    let paths = devices(alone.iter().copied());
    if let Some(first) = paths.first() {
        let mut builder = EvidenceBuilder::default();
        builder.log_lines(analysis, PORT_REFUSES, &alone, Some(Bound::Above(0.0)));
        let sentence = format!(
            "the array reports on {} that its port is not available: it is failing over, or its \
             controller is down",
            phrase::count(paths.len() as f64, "path(s)")
        );
        let device = Some(*first).filter(|_| paths.len() == 1);
        let mut finding = remote(device, builder.listings.clone(), sentence, builder);
        finding.subject.devices = if device.is_none() { paths } else { Vec::new() };
        finding.next_step = path_steps();
        findings.push(finding);
    }
    findings
}

fn path_steps() -> Vec<String> {
    lines(&[
        "`multipath -ll`: are the paths back, and what do they share (target port, adapter, \
         switch)?",
        "check the array's own log for that minute: a controller that failed over or was updated",
        "set `no_path_retry` or `queue_if_no_path` in /etc/multipath.conf: without it I/O fails \
         immediately when all paths are lost",
    ])
}

/// The devices of lines, each once.
fn devices<'s, 'a: 's>(lines: impl Iterator<Item = &'s LogLine<'a>>) -> Vec<DeviceId> {
    let mut found: Vec<DeviceId> = Vec::new();
    for device in lines.filter_map(|line| line.reading.fact.device) {
        if !found.contains(&device) {
            found.push(device);
        }
    }
    found
}

/// A virtual disk with requests in flight and no completions until the end of the listing: its host
/// or network does not answer.
fn stuck(analysis: &Analysis) -> Vec<Finding> {
    let findings = analysis.rows_by_listing().into_iter().filter_map(|rows| {
        let row = rows.last().filter(|row| analysis.network_odds(row.device) >= VOLUME)?;
        let outstanding = row.outstanding()?;
        let silent = rows.iter().rev().take_while(|row| row.outstanding().is_some()).count();
        let source = analysis.source(row.listing);
        let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
        finding.sentence = format!(
            "{} is a virtual disk that does not respond: {} requests are in flight and none \
             completes, so its latency is printed as 0.00; its backend (host, hypervisor, network) \
             is stuck",
            phrase::disk(&row.disk),
            phrase::digits(outstanding)
        );
        finding.evidence = vec![
            read_off("requests in flight (aqu-sz)", outstanding, Unit::Requests, 1, source)
                .above(1.0),
            read_off("completions", row.per_s(), Unit::PerSecond, 1, source),
            computed(
                "rows without a completion",
                silent as f64,
                Unit::Count,
                silent as u64,
                source,
            ),
        ];
        finding.assume(STUCK, "requests outstanding and none completed");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["completions appear in the next interval"]);
        finding.next_step = vec![
            "on the host: is the disk with the image busy or stuck? `iostat -x 1`, `dmesg`"
                .to_string(),
            format!("`dmesg --ctime | grep -i -e {} -e hung`: since when?", row.disk),
        ];
        Some(finding)
    });
    findings.collect()
}

/// Medium errors that a target reports in its own name. Two signs distinguish it from a drive: it
/// is a logical unit other than 0 of an adapter that was not there first (a session of iSCSI; units
/// of adapter 0 are volumes of a RAID controller of the machine itself), or it answers a write with
/// a read error.
fn reported_by_a_target(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let findings = candidates.iter().filter_map(|candidate| {
        let logged: Vec<&LogLine> = candidate.about().logged(MessageKind::Medium).collect();
        let first = logged.first()?;
        let written: Vec<&LogLine> = candidate.about().logged(MessageKind::Target).collect();
        let unit = logged.iter().find_map(|line| line.unit_of_a_target());
        let above = Some(Bound::Above(0.0));
        let mut builder = EvidenceBuilder::default();
        builder.log_lines(analysis, "medium errors in the kernel's log", &logged, above);
        if let Some(unit) = unit {
            let of = (f64::from(unit), Unit::Count);
            builder.fact(analysis, &first.reading, "logical unit (LUN)", of, above);
        }
        if !written.is_empty() {
            builder.log_lines(analysis, "writes completed with a read error", &written, above);
        }
        let why = match (unit, written.is_empty()) {
            (Some(unit), _) => format!("is unit {unit} of a SCSI target"),
            (None, false) => "reports read errors for writes, which no drive does".to_string(),
            (None, true) => return None,
        };
        let mut finding =
            new_finding(DETECTOR.verdict, Some(candidate.device), builder.listings(candidate));
        finding.sentence = format!(
            "{} {why}, so its medium errors are reported by a target: an array or network volume \
             behind it failed; nothing shows that a disk of this host is faulty",
            phrase::disk(&candidate.disk)
        );
        finding.assume(OF_A_TARGET, "the target's own lines in the log");
        finding.explained_share = 1.0;
        finding.evidence = builder.evidence;
        finding.refuted_by = lines(&["the unit is a local disk behind a multiplexing enclosure"]);
        finding.next_step = vec![
            format!(
                "find the target that serves it: `lsscsi -t | grep {}`, `iscsiadm -m session -P 3`",
                candidate.disk
            ),
            "check the log of the target (array, Longhorn, LIO, tgt) for the same minute"
                .to_string(),
        ];
        Some(finding)
    });
    findings.collect()
}

/// Why the device is assumed to be virtual, as text, and the weight; none if the name shows
/// nothing.
fn virtual_by(analysis: &Analysis, requests: &Requests) -> Option<(String, f64)> {
    let about = analysis.about(requests.listing, &requests.disk);
    let stated = analysis.recording.device_of(requests.device).medium;
    if let Some(reading) = about.model() {
        let by = format!("its model, `{}` ({})", reading.text(), reading.read_from());
        if disk_models::is_volume(reading.text()) {
            return Some((by, VIRTUAL_MODEL));
        }
    }
    match stated {
        Some(Medium::Network) => {
            Some(("given information about the device".to_string(), VIRTUAL_MODEL))
        }
        Some(_) => None,
        None if about.model().is_some() => None,
        None => {
            let media = disk_names::media(&requests.disk).into_iter();
            let odds: f64 = media.filter(|(m, _)| *m == Medium::Network).map(|(_, o)| o).sum();
            let worth = if odds >= BY_NAME { VIRTUAL_NAME } else { 0.0 };
            Some((format!("its name, `{}`", requests.disk), worth))
        }
    }
}

fn finding(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let (by, worth) = virtual_by(analysis, requests)?;
    let reads: Vec<Read> = requests
        .of(Op::Read)
        .filter_map(|event| {
            let bytes = event.bytes.filter(|bytes| *bytes > 0)?;
            let ns = requests::length_ns(requests::on_device(event)?);
            Some(Read { sector: event.sector?, bytes, ns })
        })
        .collect();
    let found = first_touch::first_touch(&reads)?;
    let fair = found.matched.unwrap_or(found.ratio);
    let lost = found.excess_ns / requests.span_ns();
    let enough = found.exposed >= EACH && found.spared >= EACH;
    let holds = found.ratio >= TIMES && fair >= TIMES && found.p < CHANCE;
    if !enough || !holds || lost < confidence::COMPLAINED_OF {
        return None;
    }
    let source = analysis.source(requests.listing);
    let (first, again) = (found.exposed as u64, found.spared as u64);
    let mut finding = new_finding(DETECTOR.verdict, Some(requests.device), vec![requests.listing]);
    finding.sentence = format!(
        "{} fetches blocks on first access: the first read of a block takes {}, a later one {}; it \
         {}",
        phrase::disk(&requests.disk),
        phrase::ns(found.exposed_ns),
        phrase::ns(found.spared_ns),
        match worth {
            0.0 => "may be remote storage (the input does not say)".to_string(),
            _ => format!("is remote storage, by {by}"),
        }
    );
    finding.evidence = vec![
        computed("first read of a block, median", found.exposed_ns / 1e6, Unit::Ms, first, source),
        computed(
            "later reads of the same block, median",
            found.spared_ns / 1e6,
            Unit::Ms,
            again,
            source,
        ),
        computed(
            "time ratio first/later reads, same sizes",
            fair,
            Unit::Ratio,
            first + again,
            source,
        )
        .above(TIMES)
        .weighs(),
        computed("time lost in first reads, per second", lost, Unit::Seconds, first, source)
            .above(confidence::COMPLAINED_OF)
            .weighs_at_most(1.0),
    ];
    let clauses = [Clause::fixed("known properties of the device", worth)];
    confidence::believe(&mut finding, PRIOR, clauses);
    let why = "nothing identifies the device as remote: a cache in front of a slow disk looks the \
               same";
    finding.doubt_if(worth <= 0.0, why, BY_SHAPE);
    let trace = analysis.trace(requests.listing, requests.device);
    let all = trace.map_or(0.0, |trace| trace.lost_ns());
    let times: Vec<f64> = reads.iter().map(|read| read.ns).collect();
    let mean = spread::mean(&times);
    // Requests after a first read would not wait either, if all reads were as fast as later ones.
    let spared = |ns: f64| (ns - found.spared_ns).max(0.0);
    let behind = trace
        .map_or(0.0, |trace| trace.spans.iter().map(|span| spared(span.latency_ns())).sum::<f64>());
    let own = found.excess_ns / all.max(found.excess_ns).max(1.0);
    let behind = behind / all.max(behind).max(1.0);
    finding.explained_share = own.max(behind);
    finding.forecast = mean.map(|now| Forecast {
        now_mean: Nanos(now as i64),
        mean: Nanos((now - found.excess_ns / times.len().max(1) as f64).max(0.0) as i64),
        range: None,
        p99: None,
        assuming: "every block was accessed before, and reads take as long as later reads do now"
            .to_string(),
    });
    let disk = phrase::disk(&requests.disk);
    finding.refuted_by = lines(&[
        "the same blocks are slow again after an hour: then it is not first access",
        "the device is a local disk, and its cache served the second read",
    ]);
    finding.next_step = vec![
        format!(
            "read every block once: `fio --filename=/dev/{disk} --readonly --rw=read --bs=1M \
             --iodepth=32 --ioengine=libaio --direct=1 --name=touch`, then measure again"
        ),
        "at the provider: use fast snapshot restore, or a thick volume".to_string(),
        "`nstat -az TcpRetransSegs` on the storage server: does tail latency follow network \
         retransmissions?"
            .to_string(),
    ];
    Some(finding)
}
