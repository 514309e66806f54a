//! Throughput of one stream of large requests: tests such as `hdparm -tT` and `dd`.
//!
//! A rate alone shows no cause: neither the class of the disk nor other load on it is known. A rate
//! far below that of the slowest class raises a suspicion, and the rate of memory in the same test
//! separates the disk from its host.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{
    Blame, Bound, DeviceId, Fact, Finding, Interval, Layer, MessageKind, Observation, Quantity,
    Unit, Verdict, key,
};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::overdue::OVERRAN_S;
use crate::evidence::page_cache;
use crate::evidence::runs::{self, Run};
use crate::evidence::shares;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Bytes of a request from which on the transfer is most of it, wherever it lies (docs/METHOD.md,
/// 10 Rules).
const LARGE: f64 = 524_288.0;
/// Bytes per second below which one stream of large requests is slow for a disk of any class: the
/// slowest class of memory cards that is sold for video writes 6 MB/s, a disk of the nineties read
/// 5.
const SLOW_PER_S: f64 = 5e6;
/// Bytes per second of memory below which the host itself is slow: machines of 2000 copy 500 MB/s
/// (a choice).
pub(crate) const SLOW_MEMORY: f64 = 1e8;
/// Times as fast as this one another disk is in the same test, so that the difference is not a
/// chance (a choice).
const SLOW_RATIO: f64 = 10.0;
/// Odds of a volume by its name from which on its host is looked at first (`vd`: 0.7).
pub(crate) const VOLUME: f64 = 0.5;
/// What so slow a stream is worth.
const SLOW: f64 = 0.75;
/// The same where another disk, the memory or the same disk was fast in the same test, and the most
/// that it is worth beside the doubt that others used the disk: all first answers with it named the
/// right side or were rightly open (docs/decisions/0133, 0135).
const SLOW_BESIDE_FAST: f64 = 0.90;
const MAY_BE_IN_USE: f64 = 0.87;
/// What the kernel logs of a path that fails.
const PATH_FAULTS: [MessageKind; 4] =
    [MessageKind::Controller, MessageKind::Link, MessageKind::Offline, MessageKind::Timeout];
/// Bytes per second that a drive without DMA reaches at most: PIO mode 4 transfers 16.7 MB/s, and
/// the CPU moves each word (ATA-2; a choice below it).
const PIO_PER_S: f64 = 1e7;
/// Weight of a drive whose settings say that it transfers without DMA and that reads no faster.
const WITHOUT_DMA: f64 = 0.92;

/// Runs of one stream of large requests on disks, beside whom nothing else was measured.
pub(crate) fn streams(analysis: &Analysis) -> Vec<Run> {
    let mut all = runs::runs(analysis);
    all.retain(|run| {
        let is_disk = disk_names::is_of_a_disk(run.name());
        let one = run.in_flight().is_none_or(|n| n <= 1.5);
        run.throughput() > 0.0 && run.bytes() >= LARGE && is_disk && one
    });
    all
}

/// The least rate of memory, if the input shows it: the host was that slow in one of the tests.
fn memory<'a>(analysis: &Analysis<'a>, place: usize) -> Option<(f64, FactReading<'a>)> {
    let about = analysis.about(place, "");
    about.readings_of_machine(key::MEMORY_THROUGHPUT).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Whether the host is too slow to say anything of its disks.
pub(crate) fn is_host_slow(analysis: &Analysis, place: usize) -> bool {
    memory(analysis, place).is_some_and(|(per_s, _)| per_s < SLOW_MEMORY)
}

/// Whether all streams of a disk were far slower than the slowest of any class, on a fast host.
pub(crate) fn reads_slowly(analysis: &Analysis, device: DeviceId) -> bool {
    let mut all = streams(analysis).into_iter().filter(|run| run.device() == device).peekable();
    all.peek().is_some()
        && all.all(|run| run.throughput() < SLOW_PER_S && !is_host_slow(analysis, run.place()))
}

/// Disks that gave one stream far less than the slowest of any class.
pub(crate) fn slow(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let all = streams(analysis);
    let mut found: Vec<(DeviceId, Finding)> = Vec::new();
    for run in all.iter().filter(|run| run.throughput() < SLOW_PER_S) {
        let best = all.iter().filter(|other| other.device() == run.device());
        let best = best.map(Run::throughput).fold(0.0, f64::max);
        let known = found.iter().any(|(device, _)| *device == run.device())
            || pio_setting(analysis, run).is_some();
        let is_virtual = analysis.network_odds(run.device()) >= VOLUME
            || analysis.facts.guest_of(analysis.host(run.place())).is_some();
        if known || is_virtual || best >= SLOW_PER_S || is_host_slow(analysis, run.place()) {
            continue;
        }
        let slow = slow_stream(analysis, run, &all, verdict);
        found.extend(slow.map(|finding| (run.device(), finding)));
    }
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The setting of a drive that transfers without DMA.
fn pio_setting<'a>(analysis: &'a Analysis, run: &Run) -> Option<FactReading<'a>> {
    let disk = disk_names::disk(run.name());
    let about = analysis.facts.about(Some(analysis.host(run.place())), &disk);
    let (on, reading) = about.number(key::DRIVE_PIO)?;
    (on > 0.0).then_some(reading)
}

/// Drives that transfer without DMA, by their settings, and read as slowly as that.
pub(crate) fn without_dma(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for run in streams(analysis) {
        let known = found.iter().any(|finding| finding.subject.device == Some(run.device()));
        let Some(setting) = pio_setting(analysis, &run).filter(|_| !known) else { continue };
        if run.throughput() >= PIO_PER_S {
            continue;
        }
        let disk = phrase::disk(run.name());
        let places = vec![run.place(), setting.listing];
        let mut finding = new_finding(verdict, Some(run.device()), places);
        finding.sentence = format!(
            "{disk} is used without DMA (`using_dma = 0`): the CPU moves each word, and one stream \
             of {} reached {}, which is what that gives",
            phrase::plural(run.op()),
            phrase::rate(run.throughput())
        );
        finding.evidence = vec![
            analysis
                .printed(run.place(), 1)
                .bytes_per_s("throughput of one stream", run.throughput())
                .below(PIO_PER_S),
            analysis
                .stated(&setting)
                .count("transfers without DMA (using_dma = 0)", 1.0)
                .above(0.0),
        ];
        finding.assume(WITHOUT_DMA, "its settings say so, and it reads no faster");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&["it is as slow with DMA: `hdparm -d1`, then the same test"]);
        finding.next_step = phrase::about(
            &[
                "`hdparm -d1 {node}`, then `hdparm -tT {node}`; if it is refused: load the driver \
                 of its controller",
                "`dmesg`: did the kernel disable DMA after timeouts? Then the cable (80 wires, at \
                 most 45 cm) or the adapter",
            ],
            disk,
        );
        found.push(finding);
    }
    found
}

/// Times that disks which are slow together differ, how many of each there are, and what it is
/// worth (choices: two disks do not fail to the same rate).
const SAME_RATE: f64 = 1.5;
const OF_EACH: usize = 2;
const SLOW_TOGETHER: f64 = 0.88;

/// Disks of one test that are equally slow beside others that are fast: what the slow ones share.
pub(crate) fn slow_together(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let all = streams(analysis);
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let mut best: BTreeMap<DeviceId, &Run> = BTreeMap::new();
        for run in all.iter().filter(|run| analysis.host(run.place()) == host) {
            let known = best.entry(run.device()).or_insert(run);
            if known.throughput() < run.throughput() {
                *known = run;
            }
        }
        let (mut slow, fast): (Vec<&Run>, Vec<&Run>) =
            best.into_values().partition(|run| run.throughput() < SLOW_PER_S);
        slow.order_by(|a, b| a.throughput().total_cmp(&b.throughput()));
        let (first, last) = (slow.first()?, slow.last()?);
        let (least, most) = (first.throughput(), last.throughput());
        let far = fast.iter().filter(|run| run.throughput() >= SLOW_RATIO * most).count();
        let is_shared = slow.len() >= OF_EACH
            && far >= OF_EACH
            && far == fast.len()
            && most <= SAME_RATE * least
            && first.name() != last.name();
        is_shared.then_some(())?;
        let names: Vec<String> =
            slow.iter().map(|run| phrase::disk(run.name()).to_string()).collect();
        let mut finding = new_finding(verdict, None, vec![first.place()]);
        finding.subject.devices = slow.iter().map(|run| run.device()).collect();
        finding.sentence = format!(
            "{} read equally slowly ({} to {}) while the other {} of the same test are {} times as \
             fast and more: suspect what the slow ones share (controller, its mode, cable, \
             enclosure, power) before each disk",
            phrase::list(&names),
            phrase::rate(least),
            phrase::rate(most),
            far,
            phrase::digits(SLOW_RATIO)
        );
        let printed = analysis.printed(first.place(), 1);
        finding.evidence =
            vec![printed.bytes_per_s("fastest of the slow disks", most).below(SLOW_PER_S)];
        finding.assume(SLOW_TOGETHER, "several disks, equally slow, beside fast ones");
        finding.doubt("one short test: other programs may have used these disks", MAY_BE_IN_USE);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&["the slow disks share no controller: `lsscsi -t`"]);
        finding.next_step = lines(&[
            "`lsscsi -t`, `ls -l /sys/block`: which controller has exactly these disks?",
            "`dmesg`: its link speed, a fallback to PIO, resets, lost interrupts",
            "the same test of one of them at another controller",
        ]);
        Some(finding)
    });
    found.collect()
}

/// A finding only where something shows that the host is fast: its memory, another disk, or
/// requests that nothing stood between and the disk.
fn slow_stream(analysis: &Analysis, run: &Run, all: &[Run], verdict: Verdict) -> Option<Finding> {
    let disk = phrase::disk(run.name());
    let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
    let of_host = |other: &&Run| analysis.host(other.place()) == analysis.host(run.place());
    let control = all
        .iter()
        .filter(of_host)
        .filter(|other| other.device() != run.device())
        .filter(|other| other.throughput() > SLOW_RATIO * run.throughput())
        .max_by(|a, b| a.throughput().total_cmp(&b.throughput()));
    let fast = memory(analysis, run.place());
    if control.is_none() && fast.is_none() && run.await_ms().is_none() {
        return None;
    }
    finding.sentence = format!(
        "{disk}, or the path to it, is slow: one stream of {} reached {}, where a disk of any \
         class reaches more than {}{}{}",
        phrase::plural(run.op()),
        phrase::rate(run.throughput()),
        phrase::rate(SLOW_PER_S),
        control.map_or(String::new(), |other| format!(
            "; the same test of {} reached {}",
            phrase::disk(other.name()),
            phrase::rate(other.throughput())
        )),
        fast.as_ref().map_or(String::new(), |(per_s, _)| format!(
            "; cached reads ran at {}, so the host is fast",
            phrase::rate(*per_s)
        ))
    );
    let per_s = run.throughput();
    finding.evidence = vec![
        analysis
            .printed(run.place(), 1)
            .bytes_per_s("throughput of one stream", per_s)
            .below(SLOW_PER_S),
    ];
    if let Some(other) = control {
        let place = other.place();
        let what = format!("throughput of one stream of {}", phrase::disk(other.name()));
        let value = other.throughput();
        finding.evidence.push(analysis.printed(place, 1).bytes_per_s(&what, value));
        let what = "ratio to this disk";
        let times = analysis.computed(place, 1).ratio(what, value / per_s);
        finding.evidence.push(times.above(SLOW_RATIO));
    }
    if let Some((value, reading)) = fast {
        let cached = analysis.stated(&reading).bytes_per_s("throughput of cached reads", value);
        finding.evidence.push(cached.above(SLOW_MEMORY));
    }
    let is_named = names_a_disk(analysis, run.place(), run.name());
    let is_alone = !is_named || control.is_none() && fast.is_none();
    let why = "one stream of large requests, slower than any class";
    match is_alone {
        true => suspect(&mut finding, why),
        false => suspect_up_to(MAY_BE_IN_USE, &mut finding, SLOW_BESIDE_FAST, why),
    }
    // A port in the log may be that of this disk.
    let host = analysis.host(run.place());
    let logged = analysis.facts.log_events(host).any(|line| PATH_FAULTS.contains(&line.kind));
    finding.doubt_if(logged, "the log reports errors of a path: a slow disk follows", SHAPE_ALONE);
    finding.blame = Some(Blame::DiskOrPath);
    finding.next_step = lines(&[
        &format!(
            "{}, during the test: individual requests distinguish retries from a slow link or a \
             queue",
            phrase::capture(disk, 30)
        ),
        "check `dmesg` of the same minute, and the health of the drive",
        "repeat the test on another disk, or on this one with another cable or port",
    ]);
    if disk_names::is_ide(run.name()) {
        let dma = "`hdparm -d {node}`: without DMA, as with a generic driver, an IDE disk reaches \
                   1 to 8 MB/s; load the driver of its controller";
        finding.next_step.splice(..0, phrase::about(&[dma], disk));
    }
    Some(finding)
}

/// Whether a name is that of one disk: a file, or a listing that lost its heading and goes by its
/// tool, names none.
fn names_a_disk(analysis: &Analysis, place: usize, name: &str) -> bool {
    disk_names::is_of_a_disk(name) && analysis.listing(place).source.format != name
}

/// Weight of one short test: others may have used the disk meanwhile.
fn suspect(finding: &mut Finding, why: &'static str) {
    suspect_if(true, finding, SLOW, why);
}

fn suspect_if(is_short: bool, finding: &mut Finding, weight: f64, why: &'static str) {
    suspect_up_to(if is_short { SHAPE_ALONE } else { 1.0 }, finding, weight, why);
}

fn suspect_up_to(most: f64, finding: &mut Finding, weight: f64, why: &'static str) {
    finding.assume(weight, why);
    let others = "other programs may have used the disk during the test";
    finding.doubt_if(most < 1.0, others, most);
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["the same test is fast while nothing else uses the disk"]);
}

/// Bits per second of USB 2, and the shares of them that one stream reaches where the link is the
/// limit: bulk transfers are at most 0.89 of it (USB 2.0, table 5-10: 13 packets of 512 bytes in
/// 125 us), bridges reach 0.45 to 0.75 (choices).
const USB_2: f64 = 480e6;
const CEILING: std::ops::RangeInclusive<f64> = 0.45..=0.89;
/// Weight of a disk that is as fast as its link (a choice).
const AT_THE_CEILING: f64 = 0.85;

/// Disks on a USB 2 link whose one stream is as fast as that link. A list of links names no disk:
/// the only disk of an input hangs on its only link.
pub(crate) fn at_their_links(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    let runs = streams(analysis);
    for run in &runs {
        let host = analysis.host(run.place());
        let beside = runs.iter().filter(|other| analysis.host(other.place()) == host);
        if !beside.clone().all(|other| other.device() == run.device()) {
            continue;
        }
        let bus = analysis.facts.about(Some(host), run.name()).last(key::DEVICE_TRANSPORT);
        if bus.is_some_and(|bus| bus.text() != "usb") {
            continue;
        }
        let usb = analysis.facts.disks().filter_map(|name| {
            let about = analysis.facts.about(Some(host), name);
            let is_usb = about.last(key::DEVICE_TRANSPORT).is_some_and(|bus| bus.text() == "usb");
            about.number(key::DEVICE_LINK_SPEED).filter(|_| is_usb)
        });
        let (slow, fast): (Vec<_>, Vec<_>) = usb.partition(|(speed, _)| *speed <= USB_2);
        let [(speed, reading)] = &slow[..] else { continue };
        let best = beside.map(Run::throughput).fold(0.0, f64::max);
        let share = run.throughput() * 8.0 / speed;
        // Where it hung on a faster link for a while, it was faster than the slow one is.
        let is_told = match fast.is_empty() {
            true => best <= run.throughput(),
            false => best * 8.0 > USB_2,
        };
        if !is_told || !CEILING.contains(&share) {
            continue;
        }
        let disk = phrase::disk(run.name());
        let places = vec![run.place(), reading.listing];
        let mut finding = new_finding(verdict, Some(run.device()), places);
        let link = phrase::digits(speed / 1e6);
        finding.sentence = format!(
            "{disk} is as slow as its USB link: the link runs at {link} Mb/s (USB 2), and one \
             stream of {} reached {}{}; the cable or the port is not USB 3",
            phrase::plural(run.op()),
            phrase::rate(run.throughput()),
            match fast.is_empty() {
                true => String::new(),
                false => format!(" (another time, on a faster link, {})", phrase::rate(best)),
            }
        );
        let of_link = "throughput of one stream, divided by that of its link";
        finding.evidence = vec![
            analysis
                .computed(run.place(), 1)
                .share(of_link, share)
                .held(Bound::Between(*CEILING.start(), *CEILING.end())),
            analysis
                .printed(run.place(), 1)
                .bytes_per_s("throughput of one stream", run.throughput()),
            analysis.stated(reading).bytes_per_s("link speed", speed / 8.0),
        ];
        finding.assume(AT_THE_CEILING, "a disk at the throughput of its link");
        finding.explained_share = 1.0;
        finding.share_is_assumed = true;
        finding.refuted_by = lines(&[
            "the same disk is as slow where `lsusb -t` shows 5000M or more",
            "the disk is not the one on USB: `lsblk -o NAME,TRAN`",
        ]);
        finding.next_step = lines(&[
            "try a short USB 3 cable and another port: `lsusb -t` must show 5000M or more for the \
             disk",
            "a plug that is not fully inserted, or a USB 2 extension cable or hub in between, has \
             the same effect",
        ]);
        found.push(finding);
    }
    found
}

/// How many times faster than a volume its disks are if the layer between limits it (a choice:
/// encryption on one CPU of a small machine costs as much, a copy beside the test a half).
const BETWEEN: f64 = 2.5;
/// The same of an array, which reads at least as fast as one of its members (a choice: read-ahead
/// that is too short for a stripe costs a third).
const BETWEEN_MEMBERS: f64 = 1.8;
/// Bytes per second of a disk that is not the problem (a choice: any of 2005
/// does).
pub(crate) const WELL_PER_S: f64 = 2e7;
/// Its weight.
const COSTS: f64 = 0.9;

/// A volume, stacked on disks, that gives one stream far less than every disk of the same test.
pub(crate) fn slow_volumes(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut runs = runs::runs(analysis);
    runs.retain(|run| run.bytes() >= LARGE && run.in_flight().is_none_or(|n| n <= 1.5));
    let volumes = runs.iter().filter(|run| {
        let name = run.name();
        run.throughput() > 0.0 && (disk_names::is_stacked(name) || disk_names::is_of_a_group(name))
    });
    let slow = volumes.filter_map(|volume| {
        let same = |run: &&Run| {
            disk_names::is_of_a_disk(run.name())
                && run.throughput() >= WELL_PER_S
                && run.op() == volume.op()
                && analysis.host(run.place()) == analysis.host(volume.place())
        };
        let by_rate = |a: &&Run, b: &&Run| a.throughput().total_cmp(&b.throughput());
        let disk = runs.iter().filter(same).min_by(by_rate)?;
        let times = disk.throughput() / volume.throughput();
        let (between, costs, step) = match disk_names::kind(volume.name()) {
            "md" => (
                BETWEEN_MEMBERS,
                "read-ahead, chunk size, a rebuild",
                "`cat /proc/mdstat`, `blockdev --getra` of the array and of a member: is it being \
                 rebuilt, and does its read-ahead span a few stripes?",
            ),
            _ => (
                BETWEEN,
                "encryption, a volume manager, its layout",
                "`lsblk -s`, `dmsetup table`: what lies between? For encryption: `cryptsetup \
                 benchmark`, and `top` during the test: is one CPU saturated?",
            ),
        };
        (times >= between).then_some(())?;
        let mut finding = new_finding(verdict, Some(volume.device()), vec![volume.place()]);
        finding.sentence = format!(
            "one stream of {} reaches {} from {}, and {} from {} in the same test: the layers \
             between them limit it ({costs}), not the disk",
            phrase::plural(volume.op()),
            phrase::rate(volume.throughput()),
            volume.name(),
            phrase::rate(disk.throughput()),
            disk.name()
        );
        let rate = |run: &Run| {
            let what = format!("throughput of one stream of {}", run.name());
            analysis.printed(run.place(), 1).bytes_per_s(&what, run.throughput())
        };
        let computed = analysis.computed(volume.place(), 2);
        let ratio = computed.ratio("ratio of the two", times).above(between);
        finding.evidence = vec![ratio, rate(volume), rate(disk)];
        finding.assume(COSTS, "a volume slower than every disk of the same test");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "the volume is not stacked on that disk: `lsblk -s`",
            "other programs used the volume during its test only",
        ]);
        finding.next_step =
            lines(&[step, "the same test of each layer, one after the other, twice"]);
        Some(finding)
    });
    slow.collect()
}

/// Times that one test of a disk differs from the same one where something else changed, and
/// beyond which the page cache served one of them (choices: zones of a spinning disk differ by
/// two); and minimum bytes per second of the better one for a comparison.
const UNLIKE: std::ops::RangeInclusive<f64> = 2.0..=6.0;
const COMPARED: f64 = 1e7;
/// Times that runs of one level differ (a choice).
const LEVEL: f64 = 1.2;

/// What makes a test the same: its input, device, operation and bytes of a request.
type Test<'a> = (Host<'a>, DeviceId, &'a str, u64);

/// The same test of one disk that ended differently: the disk can do the better of the two.
pub(crate) fn unlike_itself(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut tests: BTreeMap<Test, Vec<(f64, usize)>> = BTreeMap::new();
    for (place, listing) in analysis.recording.listings.iter().enumerate() {
        let is_test = |row: &&Interval| row.layer == Layer::Application && !row.since_boot;
        for row in listing.intervals.iter().filter(is_test) {
            let is_benchmark = listing
                .facts
                .iter()
                .any(|fact| fact.key == key::RUN_CACHED && fact.device == Some(row.device));
            let in_flight = analysis.at_once(place, row.device).unwrap_or(1.0);
            for (op, rates) in &row.rates {
                let (Some(per_s), Some(bytes)) = (rates.bytes_per_s, rates.mean_bytes()) else {
                    continue;
                };
                let alone = in_flight <= 1.5 && (bytes >= LARGE || is_benchmark);
                if alone && per_s > 0.0 {
                    let test = (analysis.host(place), row.device, op.name(), bytes as u64);
                    tests.entry(test).or_default().push((per_s, place));
                }
            }
        }
    }
    let found = tests.into_iter().filter_map(|((_, device, op, _), mut runs)| {
        runs.order_by(|a, b| a.0.total_cmp(&b.0));
        // Two levels, and nothing between: what varies by itself has none.
        let split = runs.windows(2).position(|two| UNLIKE.contains(&(two[1].0 / two[0].0)))?;
        let (low, high) = runs.split_at_checked(split + 1)?;
        let ([(worst, place), ..], [.., (best, _)]) = (low, high) else { return None };
        let is_level = |level: &[(f64, usize)]| {
            level.first().zip(level.last()).is_some_and(|(a, b)| b.0 <= LEVEL * a.0)
        };
        let (worst, place, best) = (*worst, *place, *best);
        let times = best / worst;
        (best >= COMPARED && is_level(low) && is_level(high)).then_some(())?;
        let name = &analysis.recording.device_of(device).name;
        // What differs for a file of a server is the network or the server.
        shares::mount_of(analysis, place, name).is_none().then_some(())?;
        let mut finding = new_finding(verdict, Some(device), vec![place]);
        finding.sentence = format!(
            "the same test of {name} ({op}) reached {} once and {} another time: the disk and its \
             link can reach the higher rate, so the difference is above them (kernel, driver, \
             settings, file system) or other load",
            phrase::rate(worst),
            phrase::rate(best)
        );
        let n = runs.len() as u64;
        let (printed, computed) = (analysis.printed(place, n), analysis.computed(place, n));
        finding.evidence = vec![
            computed
                .ratio("ratio of the best run to the worst", times)
                .held(Bound::Between(*UNLIKE.start(), *UNLIKE.end())),
            printed.bytes_per_s("throughput of the worst run", worst),
            printed.bytes_per_s("throughput of the best run", best),
        ];
        let why = "the same disk was faster in the same test";
        match names_a_disk(analysis, place, name) {
            true => suspect_up_to(MAY_BE_IN_USE, &mut finding, SLOW_BESIDE_FAST, why),
            false => suspect(&mut finding, why),
        }
        finding.next_step = lines(&[
            "repeat both, in turn and on an idle machine: does the difference stay with what was \
             changed?",
            "compare what may have changed: kernel and driver, scheduler and read-ahead \
             (`grep . /sys/block/DISK/queue/*`), mount options, write cache",
        ]);
        Some(finding)
    });
    found.collect()
}

/// How many times faster one stream is without the page cache, where that costs what is missing (a
/// choice: runs differ by a tenth), and its weight.
const WITHOUT_CACHE: f64 = 1.25;
const COPIED: f64 = 0.87;

/// A disk that gives one stream more without the page cache than through it (`hdparm -t` with and
/// without `--direct`): copies by the CPU and read-ahead limit it.
pub(crate) fn behind_the_cache(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let is_direct = |run: &&Run| {
        let mut facts = page_cache::facts_of(analysis, run.place(), run.device(), run.throughput());
        facts.any(|fact| fact.key == key::RUN_DIRECT)
    };
    let all = streams(analysis);
    let mut found: Vec<Finding> = Vec::new();
    for run in all.iter().filter(is_direct) {
        let same = all.iter().filter(|other| {
            (other.device(), other.op()) == (run.device(), run.op())
                && analysis.host(other.place()) == analysis.host(run.place())
                && !is_direct(other)
        });
        let by_rate = |a: &&Run, b: &&Run| a.throughput().total_cmp(&b.throughput());
        let Some(best) = same.max_by(by_rate) else { continue };
        let times = run.throughput() / best.throughput();
        let known = found.iter().any(|finding| finding.subject.device == Some(run.device()));
        if known || times < WITHOUT_CACHE || best.throughput() < COMPARED {
            continue;
        }
        let disk = phrase::disk(run.name());
        let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
        finding.sentence = format!(
            "{disk} gives one stream {} without the page cache and {} through it: the disk and its \
             link are that fast, and copies by the CPU or a short read-ahead cost the rest",
            phrase::rate(run.throughput()),
            phrase::rate(best.throughput())
        );
        let printed = analysis.printed(run.place(), 1);
        finding.evidence = vec![
            analysis.computed(run.place(), 2).ratio("ratio of the two", times).above(WITHOUT_CACHE),
            printed.bytes_per_s("throughput with O_DIRECT", run.throughput()),
            printed.bytes_per_s("throughput through the page cache", best.throughput()),
        ];
        let why = "the same disk is faster without the page cache";
        suspect_up_to(MAY_BE_IN_USE, &mut finding, COPIED, why);
        finding.next_step = phrase::about(
            &[
                "`blockdev --getra {node}`, and the test again with more: `blockdev --setra 4096 \
                 {node}`",
                "`cpupower frequency-info` and `hdparm -T {node}`: how fast does the CPU copy?",
            ],
            disk,
        );
        found.push(finding);
    }
    found
}

/// How many times faster its peers are in the same test than a disk that is behind them; less if it
/// is this many times as far from them as they are from each other; the range that these lie in,
/// and their least number (choices: zones of one disk differ by two, and all start at the first).
const BEHIND: f64 = 3.0;
const BEHIND_ALIKE: f64 = 1.7;
const APART: f64 = 3.0;
const PEER_RANGE: f64 = 1.5;
const PEERS: usize = 3;

/// A test of this many seconds is no short one (a choice).
const LONG_S: f64 = 30.0;
/// How far mean sizes of requests of one test differ: the last one is shorter (a choice).
const SIZE_TOLERANCE: f64 = 0.05;

/// Disks far slower than the ones of that name on other machines of the input, in the same test.
pub(crate) fn behind_twins(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut runs = runs::runs(analysis);
    runs.retain(|run| run.throughput() > 0.0 && run.in_flight().is_none_or(|n| n <= 1.5));
    let slow = runs.iter().filter(|run| run.throughput() < WELL_PER_S);
    let found = slow.filter_map(|run| {
        let host = analysis.host(run.place());
        let is_same = |other: &&Run| {
            let bytes = other.bytes() / run.bytes();
            (other.device(), other.op()) == (run.device(), run.op())
                && (bytes - 1.0).abs() < SIZE_TOLERANCE
        };
        let controls = runs.iter().filter(is_same).filter(|other| {
            let other = analysis.host(other.place());
            other.input == host.input && !other.may_be(host)
        });
        let control = controls.max_by(|a, b| a.throughput().total_cmp(&b.throughput()))?;
        let times = control.throughput() / run.throughput();
        (times >= SLOW_RATIO).then_some(())?;
        let of_control = analysis.host(control.place()).name.unwrap_or_default();
        let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
        finding.sentence = format!(
            "one stream of {} reached {} from {}, and {} from that of {of_control} in the same \
             test",
            phrase::plural(run.op()),
            phrase::rate(run.throughput()),
            phrase::disk(run.name()),
            phrase::rate(control.throughput())
        );
        let what = "throughput of one stream";
        finding.evidence = vec![
            analysis
                .computed(run.place(), 2)
                .ratio("ratio to the other machine", times)
                .above(SLOW_RATIO),
            analysis.printed(run.place(), 1).bytes_per_s(what, run.throughput()).below(WELL_PER_S),
            analysis.printed(control.place(), 1).bytes_per_s(what, control.throughput()),
        ];
        suspect_if(
            run.seconds() < LONG_S,
            &mut finding,
            COSTS,
            "far slower than the same test on \
            the other machine",
        );
        finding.next_step = lines(&[
            "`iostat -x 1` and `lsblk` on both machines during the test: do other programs read, \
             and what lies below?",
            "the state of the array or controller below: a rebuild, a failed member, a cache \
             without its battery",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Disks far slower than their peers in the same test of one stream each.
pub(crate) fn behind_peers(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let runs = streams(analysis);
    let mut hosts: Vec<Host> = runs.iter().map(|run| analysis.host(run.place())).collect();
    hosts.dedup();
    hosts.into_iter().filter_map(|host| behind(analysis, &runs, host, verdict)).collect()
}

/// The slowest of disks, of which the others are much more alike than it is like them.
fn far_from_alike<'r>(best: &[&'r Run]) -> Option<Vec<&'r Run>> {
    let [slowest, least, .., most] = best else { return None };
    let middle = best[best.len() / 2].throughput();
    let gap = (least.throughput() / slowest.throughput()).ln();
    let range = (most.throughput() / least.throughput()).ln();
    let is_behind = middle > BEHIND_ALIKE * slowest.throughput() && gap >= APART * range;
    is_behind.then(|| vec![*slowest])
}

fn behind(analysis: &Analysis, runs: &[Run], host: Host, verdict: Verdict) -> Option<Finding> {
    // Of each disk its best run counts.
    let mut best: Vec<&Run> = Vec::new();
    for run in runs.iter().filter(|run| analysis.host(run.place()) == host) {
        match best.iter_mut().find(|known| known.device() == run.device()) {
            Some(known) if known.op() != run.op() => return None,
            Some(known) if known.throughput() < run.throughput() => *known = run,
            Some(_) => {}
            None => best.push(run),
        }
    }
    best.order_by(|a, b| a.throughput().total_cmp(&b.throughput()));
    let kind = disk_names::kind(best.first()?.name());
    best.iter().all(|run| disk_names::kind(run.name()) == kind).then_some(())?;
    let middle = best[best.len() / 2].throughput();
    let is_slow = |run: &&&Run| BEHIND * run.throughput() < middle;
    let slow: Vec<&Run> = best.iter().take_while(is_slow).copied().collect();
    let slow = if slow.is_empty() { far_from_alike(&best).unwrap_or_default() } else { slow };
    let others = best.get(slow.len()..)?;
    let least = others.first()?.throughput();
    let most = others.last()?.throughput();
    (!slow.is_empty() && others.len() >= PEERS && most <= PEER_RANGE * least).then_some(())?;
    let (first, names) = (slow[0], slow.iter().map(|run| run.name().to_string()));
    let names: Vec<String> = names.collect();
    let mut finding = new_finding(verdict, Some(first.device()), vec![first.place()]);
    if slow.len() > 1 {
        finding.subject.device = None;
        finding.subject.devices = slow.iter().map(|run| run.device()).collect();
    }
    finding.sentence = format!(
        "one stream of {} reached {} from {}, and {} to {} from each of {} in the same test",
        phrase::plural(first.op()),
        phrase::list(&slow.iter().map(|run| phrase::rate(run.throughput())).collect::<Vec<_>>()),
        phrase::list(&names),
        phrase::rate(least),
        phrase::rate(most),
        phrase::count(others.len() as f64, "other disk(s)")
    );
    let computed = analysis.computed(first.place(), others.len() as u64);
    let printed = analysis.printed(first.place(), 1);
    let ratio = middle / slow[slow.len() - 1].throughput();
    let bound = if ratio > BEHIND { BEHIND } else { BEHIND_ALIKE };
    finding.evidence = vec![
        computed.ratio("ratio of the median to the fastest of them", ratio).above(bound),
        printed.bytes_per_s("throughput of the slowest", first.throughput()),
        computed.bytes_per_s("median of all disks", middle),
    ];
    suspect(&mut finding, "far slower than its peers in the same test");
    finding.next_step = vec![
        format!("the same test of {} again, while nothing else uses it", phrase::list(&names)),
        format!("`smartctl -x` of {} and of a peer: errors, link speed, model", names[0]),
    ];
    Some(finding)
}

/// Tests of memory that agree from which on it is not a moment, and what they are worth (choices).
const AGAIN: usize = 2;
const SLOW_AGAIN: f64 = 0.92;

/// Whether most tests of a host found its memory slow.
pub(crate) fn is_memory_slow(analysis: &Analysis, place: usize) -> bool {
    let tests = analysis.about(place, "").readings_of_machine(key::MEMORY_THROUGHPUT);
    let (slow, fast): (Vec<f64>, Vec<f64>) =
        tests.map(|(per_s, _)| per_s).partition(|per_s| *per_s < SLOW_MEMORY);
    slow.len() > fast.len()
}

/// Hosts whose memory is as slow as a disk: the test shows nothing of the disk.
pub(crate) fn slow_hosts(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut hosts: Vec<Host> = Vec::new();
    let mut found = Vec::new();
    for place in 0..analysis.recording.listings.len() {
        let Some((per_s, reading)) =
            memory(analysis, place).filter(|(per_s, _)| *per_s < SLOW_MEMORY)
        else {
            continue;
        };
        // It read the first bytes from the disk, and waited for them.
        let is_long = |fact: &Fact| fact.value.number().is_some_and(|s| s >= OVERRAN_S);
        let mut overran =
            analysis.listing(place).facts.iter().filter(|fact| fact.key == key::RUN_OVERRAN);
        let overran = overran.any(is_long);
        if overran || hosts.contains(&analysis.host(place)) {
            continue;
        }
        hosts.push(analysis.host(place));
        let mut finding = new_finding(verdict, None, vec![reading.listing]);
        finding.sentence = format!(
            "the host itself is slow: cached reads use no disk and reach {}",
            phrase::rate(per_s)
        );
        let cached = analysis.stated(&reading).bytes_per_s("throughput of cached reads", per_s);
        finding.evidence = vec![cached.below(SLOW_MEMORY)];
        let slow = analysis.about(place, "").readings_of_machine(key::MEMORY_THROUGHPUT);
        // What is slower than any disk may be the disk: the test reads its first 2 MB from there.
        let is_memory = |per_s: f64| (SLOW_PER_S..SLOW_MEMORY).contains(&per_s);
        let is_again = slow.filter(|(per_s, _)| is_memory(*per_s)).count() >= AGAIN;
        finding.assume(if is_again { SLOW_AGAIN } else { SLOW }, "memory as slow as a disk");
        let others = "one short test: other programs may have used the CPUs";
        finding.doubt_if(!is_again, others, SHAPE_ALONE);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&["the same memory test is fast a minute later"]);
        finding.next_step = lines(&[
            "`top -b -n 1 | head -20`, `vmstat 1 5`: which processes use the CPUs, and how much \
             does the host steal from a guest?",
            "`grep MHz /proc/cpuinfo`, temperatures, power limits: are the CPUs throttled?",
        ]);
        found.push(finding);
    }
    found
}

/// What streams and memory gave, where nothing was concluded from it.
pub(crate) fn seen(analysis: &Analysis, host: Host) -> Vec<Observation> {
    let mut seen: Vec<Observation> = Vec::new();
    for run in streams(analysis).iter().filter(|run| analysis.host(run.place()) == host) {
        let size = Quantity { value: run.bytes(), unit: Unit::Bytes };
        let of = phrase::plural(run.op());
        let what = format!("one stream of {of} of {} ({})", size.words(), phrase::disk(run.name()));
        let per_s = run.throughput();
        let evidence = analysis.printed(run.place(), 1).bytes_per_s(&what, per_s);
        let would_mean = match per_s < SLOW_PER_S {
            true => {
                "less than a disk of any class: the disk, its path (USB 1.1, no DMA) or the host; \
                 `hdparm -T` tests the host"
            }
            false => {
                "one request at a time, and other programs may have used the disk: compare it with \
                 a disk of the same model"
            }
        };
        seen.push(Observation { evidence, would_mean: would_mean.to_string(), verdict: None });
    }
    seen.order_by(|a, b| a.evidence.amount.value.total_cmp(&b.evidence.amount.value));
    seen.truncate(MOST_SEEN);
    seen
}

/// Streams that are named, the slowest first.
const MOST_SEEN: usize = 2;
