//! What clusters report of themselves: data that is not served, requests that are blocked, waits
//! for the servers of a replica.

use std::collections::BTreeSet;

use iowhy_model::{DeviceId, FactKey, Finding, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::remote_log::OF_A_TARGET;
use crate::facts::disk_names;
use crate::phrase;

/// Waits for other servers from which on they count, and how many times more than for own disks.
const OFTEN: f64 = 10.0;
const TIMES: f64 = 3.0;
/// Weight of a cluster's own report that it does not serve part of its data.
const OF_A_CLUSTER: f64 = 0.85;
/// A request that is blocked for this long, s, waits for something that does not respond (Ceph's
/// own bound for a log event, `osd_op_complaint_time`).
const BLOCKED_S: f64 = 30.0;

/// A cluster that reports that it does not serve part of its data: requests for that part wait.
pub(crate) fn inactive(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    let found = places.filter_map(|place| {
        let listing = analysis.listing(place);
        let share = listing.facts.iter().find(|fact| fact.key == key::CLUSTER_INACTIVE)?;
        let value = share.value.number().filter(|share| *share > 0.0)?;
        let mut finding = new_finding(verdict, None, vec![place]);
        finding.sentence = format!(
            "the cluster serves no I/O of {} of its placement groups: requests to them wait until \
             they are active again, however fast its disks are",
            phrase::percent(value)
        );
        let what = "placement groups that are not active";
        let printed = analysis.printed(place, 1);
        finding.evidence = vec![printed.share(what, value).above(0.0)];
        let down = listing.facts.iter().find(|fact| fact.key == key::CLUSTER_OSDS_DOWN);
        if let Some(down) = down.and_then(|fact| fact.value.number()) {
            let what = "daemons of the cluster (OSDs) that are down";
            finding.evidence.push(printed.count(what, down));
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
pub(crate) fn replicas(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = (0..analysis.recording.listings.len()).filter_map(|place| {
        let listing = analysis.listing(place);
        let said = |key: FactKey| {
            let fact = listing.facts.iter().find(|fact| fact.key == key);
            fact.and_then(|fact| fact.value.number())
        };
        let waits = said(key::REPLICA_SLOW).filter(|waits| *waits >= OFTEN)?;
        let own = said(key::IO_SLOW).unwrap_or(0.0) + listing.events.len() as f64;
        (waits >= TIMES * own).then_some(())?;
        let mut finding = new_finding(verdict, None, vec![place]);
        finding.sentence = format!(
            "the server waited for other servers that hold its replicas {}, for its own disks and \
             page cache {}: the network, or the disk of such a server, is slow",
            phrase::count(waits, "time(s)"),
            phrase::count(own, "time(s)")
        );
        let what = "waits for another server over the limit of the log";
        let own_waits = "waits for its own disks and page cache over the limit";
        let printed = analysis.printed(place, 1);
        finding.evidence = vec![
            printed.count(what, waits).above(TIMES * own).weighs(),
            printed.count(own_waits, own),
        ];
        if let Some(longest) = said(key::REPLICA_SLOWEST) {
            let what = "longest wait for another server";
            finding.evidence.push(printed.seconds(what, longest));
        }
        finding.assume(OF_A_TARGET, "the server's own lines in the log");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&[
            "the log of the next server shows slow writes to its disks: then it is that disk",
        ]);
        finding.next_step = lines(&[
            "the same counts on the other servers: `grep -oE 'Slow .*(took|cost)' LOG | sort | \
             uniq -c`: the server that most others name is the slow one",
            "`ss -ti`, `nstat -az TcpRetransSegs`, `ethtool -S`: does the network lose packets?",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Services of a cluster that delay requests, if it names a few: they share a disk, a host or a
/// network.
const FEW_SERVICES: usize = 3;

/// Over all inputs: part of a list names few of many.
pub(crate) fn blocked(analysis: &Analysis, verdict: Verdict) -> Option<Finding> {
    let listings = || analysis.listings();
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
    let mut finding = new_finding(verdict, one, vec![place]);
    finding.subject.devices = named.into_iter().collect();
    finding.sentence = format!(
        "requests wait for {}: {}, the longest for {} s or more; what holds them up is the disk, \
         the host or the network of {}",
        phrase::list(&names),
        phrase::count(count, "request(s) blocked"),
        phrase::digits(longest),
        if one.is_some() { "this service" } else { "these services" }
    );
    let printed = analysis.printed(place, 1);
    finding.evidence = vec![
        printed.seconds("longest wait of a blocked request", longest).above(BLOCKED_S),
        printed.count("blocked requests, maximum at once", count),
    ];
    finding.assume(OF_A_CLUSTER, "reported by the cluster");
    finding.doubt("one moment: what it waits for itself is not in this output", OF_A_CLUSTER);
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["the slow I/O goes to other storage: `findmnt`, `lsblk -s`"]);
    let first = names.first().map_or("osd.N", String::as_str);
    if disk_names::is_a_monitor(first) {
        finding.next_step = lines(&[
            &format!("`ceph daemon {first} ops`, on its host: what do they wait for?"),
            &format!(
                "the disk of its store (`/var/lib/ceph/mon`: each commit is flushed): `iostat -x \
                 1` on the host of {first}, and `du -sh` of the store (`ceph tell {first} compact`)"
            ),
            "the network and the clocks between the monitors: `ceph time-sync-status`, `ping`",
        ]);
        return Some(finding);
    }
    finding.next_step = lines(&[
        &format!("`ceph daemon {first} dump_ops_in_flight`, on its host: what do they wait for?"),
        &format!(
            "the disk of {first} (`ceph device ls`): `iostat -x 1`, `smartctl -x`, and its log"
        ),
        "`ceph osd perf`: is it the only slow one?",
    ]);
    Some(finding)
}
