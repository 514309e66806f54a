//! Requests that hang inside a stacked device: it is busy and completes nothing, while no disk
//! below it has anything to do.

use std::collections::BTreeMap;

use iowhy_model::{DeviceId, Finding, Interval, Layer, Verdict};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::facts::disk_names;
use crate::phrase;

/// Busy share of a device with requests in flight all the time, and of a disk without any (choices:
/// tools print two decimals, and an interval is never exactly its length).
const ALL_THE_TIME: f64 = 0.99;
const NEVER: f64 = 0.005;
/// What one such device in one report is worth, and several of either (choices: some kernels count
/// a request that they forgot).
const ONCE: f64 = 0.8;
const AGAIN: f64 = 0.92;

/// One finding for each listing: the lowest of its layers holds the requests of those above.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    places.filter_map(|place| finding(analysis, place, verdict)).collect()
}

fn finding(analysis: &Analysis, place: usize, verdict: Verdict) -> Option<Finding> {
    let mut rows: BTreeMap<DeviceId, Vec<&Interval>> = BTreeMap::new();
    let all = analysis.listing(place).intervals.iter();
    for row in all.filter(|row| row.layer == Layer::Block && !row.since_boot) {
        rows.entry(row.device).or_default().push(row);
    }
    let name = |device: &DeviceId| disk_names::of(analysis.recording, *device);
    let (stacked, disks): (Vec<_>, Vec<_>) =
        rows.iter().partition(|(device, _)| disk_names::is_stacked(&name(device)));
    let is_idle = |rows: &&Vec<&Interval>| {
        rows.iter().all(|row| row.ios_per_s() <= 0.0 && row.busy.is_some_and(|busy| busy <= NEVER))
    };
    if disks.is_empty() || !disks.iter().all(|(_, rows)| is_idle(rows)) {
        return None;
    }
    let holds = |rows: &&Vec<&Interval>| {
        let held =
            |row: &&Interval| row.ios_per_s() <= 0.0 && row.busy.is_some_and(|b| b >= ALL_THE_TIME);
        rows.iter().all(held)
    };
    let holding: Vec<_> = stacked.into_iter().filter(|(_, rows)| holds(rows)).collect();
    // Volumes lie on arrays.
    let lowest =
        holding.iter().min_by_key(|(device, _)| disk_names::kind(&name(device)) != "md")?;
    let names: Vec<String> = holding.iter().map(|(device, _)| name(device)).collect();
    let reports = lowest.1.len() as u64;
    let mut finding = new_finding(verdict, Some(*lowest.0), vec![place]);
    finding.subject.devices = holding.iter().map(|(device, _)| **device).collect();
    let (have, complete) =
        if names.len() == 1 { ("has", "completes") } else { ("have", "complete") };
    finding.sentence = format!(
        "{} {have} requests in flight all the time and {complete} none, while none of the {} of \
         the listing is busy: the requests hang inside {}, above the disks",
        phrase::list(&names),
        phrase::count(disks.len() as f64, "disk(s)"),
        name(lowest.0)
    );
    let busy = lowest.1.iter().filter_map(|row| row.busy).fold(1.0, f64::min);
    let most = disks.iter().flat_map(|(_, rows)| rows.iter().filter_map(|row| row.busy));
    let computed = analysis.computed(place, reports);
    finding.evidence = vec![
        computed.share("busy time of the stacked device", busy).above(ALL_THE_TIME),
        analysis.printed(place, reports).per_s("completions of it, per second", 0.0),
        computed.share("busy time of any disk, maximum", most.fold(0.0, f64::max)).below(NEVER),
    ];
    let weight = if reports > 1 || names.len() > 1 { AGAIN } else { ONCE };
    finding.assume(weight, "a busy layer above idle disks");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "the device lies on a disk that the listing does not show: `lsblk -s`",
        "the counter of requests in flight is wrong (some kernels): `cat /sys/block/DEV/inflight` \
         is 0, and nothing hangs",
    ]);
    finding.next_step = lines(&[
        "`cat /sys/block/*/inflight`: requests in flight of the array, and of each member",
        "`cat /proc/mdstat`, `dmesg | grep -iE 'hung|blocked for|md/raid'`: a reshape, a check or \
         a lost wake-up",
        "`for p in $(ps -eo pid,stat | awk '$2 ~ /D/ {print $1}'); do cat /proc/$p/stack; done`: \
         where the tasks hang; then another kernel version",
    ]);
    Some(finding)
}
