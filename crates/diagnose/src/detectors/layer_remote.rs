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
//! Or commands on a disk of a guest get no answer, or it goes offline, where the log (or a driver
//! in it that only guests load) or a sentence beside it names the hypervisor; or one stream from a
//! virtual disk stays below 20 MB/s: the host's storage. Or the client of a file server repeats one
//! request in a hundred (`nfsstat -c`), or waits 10 ms and ten times as long for writes as for
//! reads: the server's stable storage. Or it waits 100 ms and ten times as long for reads as for
//! calls without data (`mountstats`). Or a disk of another machine delivers 0.87 to 0.95 of 1 or 10
//! Gbit/s without a pause, or all tests in one direction, of small and of large requests, do so
//! while those in the other are four times faster: the network.
//!
//! Or the server of a FUSE mount (sshfs, s3fs, ntfs-3g, virtiofs) does not answer: requests wait
//! for it (`/sys/fs/fuse/connections`), and a program has waited in one call on the mount for 5 s
//! or more. Live only, and also for calls that already hang when iowhy starts. Or reads, writes and
//! fsyncs on a mount of a server (FUSE, SMB, Ceph, 9p, virtiofs), per MiB, take a second on
//! average, suspected from 100 ms on, or none returns for 5 s: live, and in recordings of it.
//!
//! ## Wrong if
//! The disk is local with a virtual name, and its own cache makes the second read fast.
//!
//! ## Next step
//! Read the whole volume once before use, provision it thick, check the network.

use iowhy_model::{
    Bound, Clause, FactKey, Finding, Level, Medium, MessageKind, Op, Unit, Verdict, key,
};

use crate::analysis::Analysis;
use crate::analysis::requests::{self, Requests};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::ceilings;
use crate::evidence::cluster_reports;
use crate::evidence::cluster_tests;
use crate::evidence::confidence::{self, PRIOR_OF_PATH, SHAPE_ALONE};
use crate::evidence::forecast::without_excess;
use crate::evidence::fuse_mounts;
use crate::evidence::guests;
use crate::evidence::network_tests;
use crate::evidence::remote_log::{self, OF_A_TARGET};
use crate::evidence::round_trips;
use crate::evidence::shares;
use crate::facts::disk_models;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::first_touch::{self, Read};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
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

/// Weight of a model that shows it, in nats; a name alone weighs less.
const VIRTUAL_MODEL: f64 = 3.0;
const VIRTUAL_NAME: f64 = 1.5;
/// Odds of a volume by name from which on it is one (`vd`: 0.7).
const VOLUME: f64 = 0.5;
/// What requests without any completion on a virtual disk are worth.
const STUCK: f64 = 0.92;
/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const MIN_RATIO: f64 = 3.0;
const EACH: usize = 10;
const CHANCE: f64 = 0.01;
/// Weight of the pattern if nothing shows that the device is virtual: a suspicion.
const BY_SHAPE: f64 = SHAPE_ALONE;
/// Odds of a volume by its name from which on the name counts (`nvme`: 0.4, `vd`: 0.7, `sd`: 0.1).
const BY_NAME: f64 = 0.3;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let touched = analysis.requests.iter().filter_map(|requests| finding(analysis, requests));
    touched
        .chain(stuck(analysis))
        .chain(reported_by_a_target(analysis))
        .chain(remote_log::findings(analysis, DETECTOR.verdict))
        .chain(cluster_reports::inactive(analysis, DETECTOR.verdict))
        .chain(cluster_reports::blocked(analysis, DETECTOR.verdict))
        .chain(slow_alone(analysis))
        .chain(ceilings::of_networks(analysis, DETECTOR.verdict))
        .chain(network_tests::findings(analysis, DETECTOR.verdict))
        .chain(cluster_reports::replicas(analysis, DETECTOR.verdict))
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

/// Replicated volumes with far more open requests at the peer than at the local disk.
fn peers(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let found = candidates.iter().filter_map(|candidate| {
        let about = candidate.about();
        let (open, reading) = about.number(key::DRBD_PEER).filter(|(n, _)| *n >= EACH as f64)?;
        let local = about.number(key::DRBD_LOCAL).map_or(0.0, |(n, _)| n);
        let state = about.last(key::DRBD_CONNECTION)?.text();
        (open >= MIN_RATIO * local && state == "Connected").then_some(())?;
        let mut builder = EvidenceBuilder::about(candidate);
        let above = Some(Bound::Above(MIN_RATIO * local));
        let what = "requests and replies open between the volume and its peer";
        builder.fact(&reading, what, (open, Unit::Count), above);
        let sentence = format!(
            "{} waits for its peer: {} open there, {} at the local disk",
            candidate.disk,
            phrase::count(open, "request(s)"),
            phrase::digits(local)
        );
        let first = &["`cat /proc/drbd` several times: does it persist?"];
        let device = Some(candidate.device);
        let mut finding =
            remote_log::remote(DETECTOR.verdict, device, &mut builder, sentence, first);
        finding.doubt("one moment: many may be open for an instant", OF_A_TARGET);
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
        let about = analysis.machine(host);
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
            "the client of the file server retransmitted {} of its calls ({} of {}): replies are \
             lost or late, and each costs a timeout; the network or the server, not a disk of this \
             machine",
            phrase::percent(again / calls),
            phrase::thousands(again),
            phrase::thousands(calls)
        );
        let share = analysis
            .computed(reading.listing, 2)
            .share("calls that were retransmitted", again / calls);
        finding.evidence =
            vec![share.above(REPEATED), analysis.printed(reading.listing, 1).count("calls", calls)];
        finding.assume(SENT_AGAIN, "counted by the client itself");
        finding.explained_share = 1.0;
        shares::advise(&mut finding);
        let step = "`ip -s link` on both sides: errors, drops; mount with `proto=tcp` if it is UDP";
        finding.next_step.insert(0, step.to_string());
        Some(finding)
    });
    found.collect()
}

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
        disk_names::is_elsewhere(&first.disk).then_some(())?;
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
            "{} takes {} per request with at most {} in flight: its data is on another machine, \
             and that machine or the network to it is slow",
            phrase::disk(&first.disk),
            phrase::ms(mean_ms),
            phrase::digits(most)
        );
        let rows = active.len() as u64;
        let (computed, printed) =
            (analysis.computed(first.listing, rows), analysis.printed(first.listing, rows));
        finding.evidence = vec![
            computed.ms("mean latency (await) over the rows with I/O", mean_ms).above(SLOW_MS),
            printed.requests("in flight at most (aqu-sz)", most).below(FEW_IN_FLIGHT),
        ];
        finding.assume(SLOW_ALONE, "a device of another machine, slow with few in flight");
        finding.doubt_if(active.len() < ROWS, "one or two rows with I/O", SHAPE_ALONE);
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["the same requests are fast from another client"]);
        finding.next_step = lines(&[
            "on the other machine: `iostat -x 1` of the disk that holds the data; for Ceph `ceph \
             osd perf` and `ceph health detail`",
            "check that the network is intact: `ping`, `ss -ti`, `nstat -az TcpRetransSegs`",
        ]);
        Some(finding)
    });
    found.collect()
}

/// A virtual disk with requests in flight and no completions until the end of the listing: its host
/// or network does not answer.
fn stuck(analysis: &Analysis) -> Vec<Finding> {
    let findings = analysis.rows_by_listing().into_iter().filter_map(|rows| {
        let row = rows.last().filter(|row| analysis.network_odds(row.device) >= VOLUME)?;
        let outstanding = row.outstanding()?;
        let silent = rows.iter().rev().take_while(|row| row.outstanding().is_some()).count();
        let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
        finding.sentence = format!(
            "{} is a virtual disk that does not respond: {} requests are in flight and none \
             completes, so its latency is printed as 0.00; its backend (host, hypervisor, network) \
             is stuck",
            phrase::disk(&row.disk),
            phrase::digits(outstanding)
        );
        let computed = analysis.computed(row.listing, silent as u64);
        let printed = analysis.printed(row.listing, 1);
        finding.evidence = vec![
            printed.requests("requests in flight (aqu-sz)", outstanding).above(1.0),
            printed.per_s("completions", row.per_s()),
            computed.count("rows without a completion", silent as f64),
        ];
        finding.assume(STUCK, "requests outstanding and none completed");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["completions appear in the next interval"]);
        finding.next_step = lines(&[
            "on the host: is the disk with the image busy or stuck? `iostat -x 1`, `dmesg`",
            &format!("`dmesg --ctime | grep -i -e {} -e hung`: since when?", row.disk),
        ]);
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
    let findings = Case::of_disks(&candidates).filter_map(|case| {
        let logged = case.logged(&[MessageKind::Medium]);
        let (first, written) = (logged.first()?, case.logged(&[MessageKind::Target]));
        let unit = logged.iter().find_map(|line| line.unit_of_a_target());
        let why = match unit {
            Some(unit) => format!("is unit {unit} of a SCSI target"),
            None if written.is_empty() => return None,
            None => "reports read errors for writes, which no drive does".to_string(),
        };
        let (mut builder, above) = (case.builder(), Some(Bound::Above(0.0)));
        builder.log_lines("medium errors in the kernel's log", &logged, above);
        if let Some(unit) = unit {
            let of = (f64::from(unit), Unit::Count);
            builder.fact(&first.reading, "logical unit (LUN)", of, above);
        }
        builder.log_lines("writes completed with a read error", &written, above);
        let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
        finding.sentence = format!(
            "{} {why}, so its medium errors are reported by a target: an array or network volume \
             behind it failed; nothing shows that a disk of this host is faulty",
            phrase::disk(case.name)
        );
        finding.assume(OF_A_TARGET, "the target's own lines in the log");
        finding.refuted_by = lines(&["the unit is a local disk behind a multiplexing enclosure"]);
        let steps = [
            "find the target that serves it: `lsscsi -t | grep {disk}`, `iscsiadm -m session -P 3`",
            "check the log of the target (array, Longhorn, LIO, tgt) for the same minute",
        ];
        finding.next_step = phrase::about(&steps, case.name);
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
    let holds = found.ratio >= MIN_RATIO && fair >= MIN_RATIO && found.p < CHANCE;
    if !enough || !holds || lost < confidence::NOTICEABLE {
        return None;
    }
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
    let computed = analysis.computed(requests.listing, first);
    finding.evidence = vec![
        computed.ms("first read of a block, median", found.exposed_ns / 1e6),
        computed.over(again).ms("later reads of the same block, median", found.spared_ns / 1e6),
        computed
            .over(first + again)
            .ratio("time ratio first/later reads, same sizes", fair)
            .above(MIN_RATIO)
            .weighs(),
        computed
            .seconds("time lost in first reads, per second", lost)
            .above(confidence::NOTICEABLE)
            .weighs_at_most(1.0),
    ];
    let clauses = [Clause::fixed("known properties of the device", worth)];
    confidence::believe(&mut finding, PRIOR_OF_PATH, clauses);
    let why = "nothing identifies the device as remote: a cache in front of a slow disk looks the \
               same";
    finding.doubt_if(worth <= 0.0, why, BY_SHAPE);
    let times: Vec<f64> = reads.iter().map(|read| read.ns).collect();
    // Requests after a first read would not wait either, if all reads were as fast as later ones.
    let spared = |ns: f64| (ns - found.spared_ns).max(0.0);
    let traced = analysis.trace(requests.listing, requests.device);
    let spans = traced.into_iter().flat_map(|trace| &trace.spans);
    let behind: f64 = spans.map(|span| spared(span.latency_ns())).sum();
    let most = found.excess_ns.max(behind);
    finding.explained_share = analysis.share_of_lost(requests.listing, requests.device, most);
    let assuming = "every block was accessed before, and reads take as long as later reads do now";
    finding.forecast = without_excess(&times, found.excess_ns, assuming);
    let disk = phrase::disk(&requests.disk);
    finding.refuted_by = lines(&[
        "the same blocks are slow again after an hour: then it is not first access",
        "the device is a local disk, and its cache served the second read",
    ]);
    finding.next_step = lines(&[
        &format!(
            "read every block once: `fio --filename=/dev/{disk} --readonly --rw=read --bs=1M \
             --iodepth=32 --ioengine=libaio --direct=1 --name=touch`, then measure again"
        ),
        "at the provider: use fast snapshot restore, or a thick volume",
        "`nstat -az TcpRetransSegs` on the storage server: does tail latency follow network \
         retransmissions?",
    ]);
    Some(finding)
}
