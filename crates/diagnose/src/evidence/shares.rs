//! What programs waited for on a file system of a server: no disk of this machine took part.

use iowhy_model::{DeviceId, Fact, Finding, Layer, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::runs;
use crate::facts::mount_options;
use crate::phrase;

/// A call that takes longer than this, ms, outlasts what any disk takes for one (a choice: a drive
/// gives up on a sector after 7 s, and a server's disk is the server's problem).
const LONG_MS: f64 = 1000.0;
/// Bytes per second of one stream that a network of 100 Mbit/s gives; less is slow for any of today
/// (a choice).
const SLOW_PER_S: f64 = 12.5e6;
/// Requests of this size, bytes, do not wait for round trips (a choice: 512 KiB).
const LARGE: f64 = 524_288.0;
/// Weight of such a long call on a file system of a server.
const OF_A_SERVER: f64 = 0.75;

/// Calls on files of a server that took very long, and streams that went slower than the slowest
/// network.
pub(crate) fn waits(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    places
        .filter_map(|place| long_calls(analysis, place, verdict))
        .chain(slow_streams(analysis, verdict))
        .collect()
}

/// A log of slow calls on such a file system.
fn long_calls(analysis: &Analysis, place: usize, verdict: Verdict) -> Option<Finding> {
    let listing = &analysis.recording.listings[place];
    let is_remote = |fact: &&Fact| {
        fact.key == key::MOUNT_TYPE && mount_options::is_remote(fact.value.text(), "")
    };
    let kind = listing.facts.iter().find(is_remote)?.value.text()?;
    let calls = listing.events.iter().filter(|event| event.layer != Layer::Block);
    let waits = calls.filter_map(|event| {
        let (began, ended) = event.queued.zip(event.completed)?;
        Some((ended.ns().saturating_sub(began.ns()) as f64 / 1e6, event))
    });
    let long: Vec<_> = waits.filter(|(ms, _)| *ms > LONG_MS).collect();
    let (ms, event) = long.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mut finding = new_finding(verdict, Some(event.device), vec![place]);
    finding.sentence = format!(
        "programs wait for a server: {} on {kind} took longer than a second, at most {} (a {})",
        phrase::count(long.len() as f64, "call(s)"),
        phrase::ms(*ms),
        event.op.name()
    );
    finding.evidence = vec![
        analysis.printed(place, 1).ms("longest call on files of a server", *ms).above(LONG_MS),
        analysis.computed(place, 1).count("calls longer than a second", long.len() as f64),
    ];
    finding.assume(OF_A_SERVER, "the files are on a server");
    finding.explained_share = 1.0;
    advise(&mut finding);
    Some(finding)
}

/// Runs on a file below such a mount.
fn slow_streams(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let slow = runs::runs(analysis).into_iter().filter(|run| run.throughput() < SLOW_PER_S);
    let mut slowest: Vec<(DeviceId, runs::Run, &str)> = Vec::new();
    for run in slow.filter(|run| run.throughput() > 0.0) {
        let Some(point) = mount_of(analysis, run.place(), run.name()) else { continue };
        match slowest.iter_mut().find(|(device, ..)| *device == run.device()) {
            Some((_, known, _)) if known.throughput() <= run.throughput() => {}
            Some((_, known, _)) => *known = run,
            None => slowest.push((run.device(), run, point)),
        }
    }
    let found = slowest.into_iter().map(|(device, run, point)| {
        let mut finding = new_finding(verdict, Some(device), vec![run.place()]);
        finding.sentence = format!(
            "{} is on a server ({point} is a network mount) and reaches {}, less than a 100 Mbit/s \
             network: the cause is the network or the server, not a disk of this machine",
            run.name(),
            phrase::rate(run.throughput())
        );
        let per_s = run.throughput();
        let what = "throughput of a file on a server";
        finding.evidence =
            vec![analysis.printed(run.place(), 1).bytes_per_s(what, per_s).below(SLOW_PER_S)];
        finding.assume(OF_A_SERVER, "the file is on a server, and slower than any current network");
        if run.bytes() < LARGE {
            finding.doubt("small requests, each of them a round trip", SHAPE_ALONE);
        }
        finding.explained_share = 1.0;
        advise(&mut finding);
        finding
    });
    found.collect()
}

/// Where the file system of a server is mounted that contains a file, as the same input says.
pub(crate) fn mount_of<'a>(analysis: &Analysis<'a>, place: usize, file: &str) -> Option<&'a str> {
    let listings = analysis.listings();
    let of_host = listings.filter(|(other, _)| analysis.host(*other) == analysis.host(place));
    let facts: Vec<&Fact> = of_host.flat_map(|(_, listing)| &listing.facts).collect();
    let points = facts.iter().filter(|fact| fact.key == key::MOUNT_POINT);
    let mut remote = points.filter(|point| {
        let of = |wanted: &iowhy_model::FactKey| {
            let same = |fact: &&&Fact| {
                fact.key == *wanted
                    && (fact.device, &fact.read_from) == (point.device, &point.read_from)
            };
            facts.iter().find(same).and_then(|fact| fact.value.text())
        };
        let options = of(&key::MOUNT_OPTIONS).unwrap_or_default();
        mount_options::is_remote(of(&key::MOUNT_TYPE), options)
    });
    remote.find_map(|fact| {
        let point = fact.value.text()?;
        mount_options::is_below(file, point).then_some(point)
    })
}

/// What to check if a server is to blame, and what would refute it.
pub(crate) fn advise(finding: &mut Finding) {
    finding.refuted_by =
        lines(&["the slow I/O goes to a disk of this machine: `findmnt`, `lsblk -s`"]);
    finding.next_step = lines(&[
        "`nfsiostat 1` or `/proc/self/mountstats`: round trips and retransmissions of the mount",
        "check that the server is up and the network is intact: `ping`, `ss -ti`, `nstat -az \
         TcpRetransSegs`",
        "on the server: `iostat -x 1` and its kernel's log of the same minute",
    ]);
}
