//! Tests that measured memory, or the calls of a program, and not a disk.

use std::collections::BTreeMap;

use iowhy_model::typed::PageCache;
use iowhy_model::{Bound, DeviceId, Evidence, Fact, Finding, Layer, Op, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::runs::{self, Run};
use crate::facts::disk_names;
use crate::phrase;

/// How many times slower the same test is with its data on the medium, so that the rest of the
/// first one was memory (a choice: a cached test shows the disk once its memory is full).
const APART: f64 = 3.0;
/// A call moves so little at most, and takes so little, that the calls set the rate (choices: dd's
/// own block of 512 bytes, twice; a write to the page cache takes some microseconds).
const SMALL: f64 = 1024.0;
const A_CALL_NS: f64 = 50_000.0;
/// How many times faster a read from memory is, and its least rate, bytes per second
/// (choices: zones of a disk and its other load differ by less, and a disk that reads so fast
/// answers the first time as well).
const AGAIN: f64 = 6.0;
const OF_MEMORY: f64 = 5e8;
/// Weight of the test with and without a flush, and of the arithmetic of calls.
const BESIDE: f64 = 0.85;
const BY_CALLS: f64 = 0.8;
/// What the arithmetic is worth where it is not what the input is about (a choice).
const UNASKED: f64 = 0.4;

/// What each shows about the rate it printed.
pub(crate) fn measured(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut all = runs::runs(analysis);
    all.retain(|run| run.await_ms().is_none() && run.throughput() > 0.0);
    let cached: Vec<Option<PageCache>> = all.iter().map(|run| of_run(analysis, run)).collect();
    let known = || all.iter().zip(&cached);
    let mut found: Vec<(DeviceId, Finding)> = Vec::new();
    for (run, _) in known().filter(|(_, cached)| **cached == Some(PageCache::Yes)) {
        let is_control = |other: &&Run| {
            let same = analysis.host(other.place()) == analysis.host(run.place());
            same && other.op() == Op::Write && run.throughput() > APART * other.throughput()
        };
        let controls = known().filter(|(_, cached)| **cached == Some(PageCache::No));
        let control = (run.op() == Op::Write)
            .then(|| controls.map(|(other, _)| other).filter(is_control))
            .and_then(|all| all.max_by(|a, b| a.throughput().total_cmp(&b.throughput())));
        let finding = match control {
            Some(control) => Some(in_memory(analysis, run, control, verdict)),
            None => by_calls(analysis, run, &all, verdict)
                .or_else(|| within_a_moment(analysis, run, &all, verdict)),
        };
        if !found.iter().any(|(device, _)| *device == run.device()) {
            found.extend(finding.map(|finding| (run.device(), finding)));
        }
    }
    let is_read = |(run, cached): &(&Run, &Option<PageCache>)| {
        run.op() == Op::Read && **cached != Some(PageCache::No)
    };
    let reads: Vec<&Run> = known().filter(is_read).map(|(run, _)| run).collect();
    let found = found.into_iter().map(|(_, finding)| finding);
    let found = found.chain(just_written(analysis, verdict));
    let found = found.chain(all.iter().filter_map(|run| generated(analysis, run, verdict)));
    found.chain(read_again(analysis, &reads, verdict)).collect()
}

/// Bytes of a second read as a multiple of the first's up to which they are the same data (a
/// choice: rates and times are printed to three digits).
const MORE: f64 = 1.1;

/// Reads of one device at very different rates: memory served the fast one.
fn read_again(analysis: &Analysis, reads: &[&Run], verdict: Verdict) -> Vec<Finding> {
    let mut found: Vec<(DeviceId, Finding)> = Vec::new();
    for slow in reads {
        let is_same = |other: &&&Run| {
            analysis.host(other.place()) == analysis.host(slow.place())
                && other.device() == slow.device()
                && (other.bytes() - slow.bytes()).abs() < 1.0
                // What nobody had read was not in memory.
                && other.moved() <= MORE * slow.moved()
        };
        let same = reads.iter().filter(is_same);
        let Some(fast) = same.max_by(|a, b| a.throughput().total_cmp(&b.throughput())) else {
            continue;
        };
        let times = fast.throughput() / slow.throughput();
        let known = found.iter().any(|(device, _)| *device == slow.device());
        if times > AGAIN && fast.throughput() >= OF_MEMORY && !known {
            found.push((slow.device(), from_memory(analysis, fast, slow, verdict)));
        }
    }
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn from_memory(analysis: &Analysis, fast: &Run, slow: &Run, verdict: Verdict) -> Finding {
    let mut finding = new_finding(verdict, Some(fast.device()), vec![fast.place()]);
    finding.sentence = format!(
        "the {} read from {} are the rate of the page cache: from the disk the same read gave {}",
        phrase::rate(fast.throughput()),
        phrase::disk(fast.name()),
        phrase::rate(slow.throughput())
    );
    let whats = ["throughput of the faster read", "throughput of the slower read"];
    finding.evidence = two_rates(analysis, [fast, slow], whats, AGAIN);
    finding.evidence[0].bound = Some(Bound::Above(OF_MEMORY));
    finding.assume(BESIDE, "the same read is many times faster once its data are in memory");
    finish(&mut finding, "another program kept the disk busy during the slower read");
    finding
}

/// A rate of memory and one of the disk, each cited from its own run, and how far they are apart.
fn two_rates(
    analysis: &Analysis,
    [fast, slow]: [&Run; 2],
    whats: [&str; 2],
    least: f64,
) -> Vec<Evidence> {
    let rate = |what: &str, run: &Run| {
        analysis.printed(run.place(), 1).bytes_per_s(what, run.throughput())
    };
    let times = fast.throughput() / slow.throughput();
    let ratio = analysis.computed(fast.place(), 2).ratio("ratio of the two", times).above(least);
    vec![rate(whats[0], fast), rate(whats[1], slow), ratio]
}

/// Whether the page cache was used in a run: what stands behind its throughput.
fn of_run(analysis: &Analysis, run: &Run) -> Option<PageCache> {
    cached(analysis, run.place(), run.device(), run.throughput())
}

fn cached(
    analysis: &Analysis,
    place: usize,
    device: DeviceId,
    bytes_per_s: f64,
) -> Option<PageCache> {
    let mut of_it = facts_of(analysis, place, device, bytes_per_s);
    let reported = &of_it.find(|fact| fact.key == key::RUN_CACHED)?.value;
    [PageCache::Yes, PageCache::No].into_iter().find(|one| reported.text() == Some(one.name()))
}

/// What a listing states of a run of such a throughput.
pub(crate) fn facts_of<'a>(
    analysis: &Analysis<'a>,
    place: usize,
    device: DeviceId,
    bytes_per_s: f64,
) -> impl Iterator<Item = &'a Fact> {
    let facts = analysis.recording.listings.get(place).into_iter().flat_map(|of| &of.facts);
    let of_it = facts.filter(move |fact| fact.device == Some(device));
    let is_its = move |fact: &&Fact| {
        let rate = fact.value.number();
        fact.key == key::RUN_THROUGHPUT
            && rate.is_some_and(|rate| (rate - bytes_per_s).abs() <= 1.0)
    };
    let from = of_it.skip_while(move |fact| !is_its(fact)).skip(1);
    from.take_while(|fact| fact.key != key::RUN_THROUGHPUT)
}

fn in_memory(analysis: &Analysis, run: &Run, control: &Run, verdict: Verdict) -> Finding {
    let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
    finding.sentence = format!(
        "the {} written to {} are the rate of the page cache, not of a disk: with the data on the \
         medium the same test wrote {}{}",
        phrase::rate(run.throughput()),
        phrase::disk(run.name()),
        phrase::rate(control.throughput()),
        if control.device() == run.device() {
            String::new()
        } else {
            format!(" ({})", phrase::disk(control.name()))
        }
    );
    let whats = ["throughput into the page cache", "throughput with the data on the medium"];
    finding.evidence = two_rates(analysis, [run, control], whats, APART);
    finding.assume(BESIDE, "the same test with its data flushed is far slower");
    finish(&mut finding, "the second test ran while others used the disk");
    finding
}

/// Bytes per second from which on memory is likelier than a disk, where the file was written before
/// (a choice: no SATA disk reads as fast).
const BY_MEMORY: f64 = 1e9;

/// Files that are read from where their writing left them.
fn just_written(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (place, listing) in analysis.listings() {
        let mut written: BTreeMap<DeviceId, f64> = BTreeMap::new();
        let rows = listing.intervals.iter().filter(|row| row.layer == Layer::Application);
        for row in rows {
            let [(op, rates)] = row.rates.as_slice() else { continue };
            let Some(per_s) = rates.bytes_per_s else { continue };
            if cached(analysis, place, row.device, per_s) != Some(PageCache::Yes) {
                continue;
            }
            match (op, written.get(&row.device).copied()) {
                (Op::Write, _) => _ = written.insert(row.device, per_s),
                (Op::Read, Some(before)) if per_s >= BY_MEMORY && per_s > APART * before => {
                    let (device, rates) = (row.device, (per_s, before));
                    found.push(read_back(analysis, (place, device), rates, verdict));
                    written.remove(&device);
                }
                _ => {}
            }
        }
    }
    found
}

fn read_back(
    analysis: &Analysis,
    (place, device): (usize, DeviceId),
    (read, written): (f64, f64),
    verdict: Verdict,
) -> Finding {
    let mut finding = new_finding(verdict, Some(device), vec![place]);
    let name = analysis.disk(device);
    finding.sentence = format!(
        "the {} read from {name} are the rate of the page cache, not of a disk: the same test had \
         just written the file, and nothing emptied the cache in between; the {} written are \
         partly memory too, since no flush was counted",
        phrase::rate(read),
        phrase::rate(written)
    );
    let rate = |what, per_s| analysis.printed(place, 1).bytes_per_s(what, per_s);
    finding.evidence = vec![
        rate("throughput of the read", read).above(BY_MEMORY),
        rate("throughput of the write before", written),
        analysis.computed(place, 2).ratio("ratio of the two", read / written).above(APART),
    ];
    finding.assume(BY_CALLS, "read right after it was written, faster than most disks");
    finish(&mut finding, "the file is larger than the memory, or the disk is a fast NVMe drive");
    finding
}

/// The time of a call of a run that moves little with each, if it is short, ns.
fn short_call(run: &Run) -> Option<f64> {
    let call_ns = 1e9 * run.bytes() / run.throughput();
    (run.bytes() <= SMALL && call_ns <= A_CALL_NS).then_some(call_ns)
}

fn by_calls(analysis: &Analysis, run: &Run, all: &[Run], verdict: Verdict) -> Option<Finding> {
    let call_ns = short_call(run)?;
    // An input with a far slower test is about that one.
    let is_slower = |other: &Run| {
        let same = analysis.host(other.place()) == analysis.host(run.place());
        same && run.throughput() > APART * other.throughput() && short_call(other).is_none()
    };
    if all.iter().any(is_slower) {
        return None;
    }
    let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
    finding.sentence = format!(
        "the {} of {} are the rate of system calls, not of a disk: each call moved {} and took {}",
        phrase::rate(run.throughput()),
        phrase::disk(run.name()),
        phrase::bytes(run.bytes()),
        phrase::ns(call_ns)
    );
    let computed = analysis.computed(run.place(), 1);
    finding.evidence = vec![
        computed.bytes("size of a call", run.bytes()),
        computed.ms("time of a call", call_ns / 1e6).below(A_CALL_NS / 1e6),
        analysis.printed(run.place(), 1).bytes_per_s("throughput", run.throughput()),
    ];
    finding.assume(BY_CALLS, "so small and fast that the page cache served each call");
    let disk = disk_names::disk(run.name());
    let fails = analysis.about(run.place(), &disk).number(key::SCAN_FAILED).is_some();
    finding.doubt_if(fails, "reads of the same disk fail: no rate says how it is", UNASKED);
    finish(&mut finding, "the same test with large blocks (`bs=1M`) is as slow");
    Some(finding)
}

/// A write that took no longer, s, and moved no more, bytes, is in memory when it ends: the kernel
/// begins to write back after five seconds, or beyond a tenth of the memory
/// (Documentation/admin-guide/sysctl/vm.rst, dirty_background_ratio, dirty_writeback_centisecs).
const MOMENT_S: f64 = 1.0;
const KEPT: f64 = 1e8;

/// A short write without a flush, where no test of the input was a longer one.
fn within_a_moment(
    analysis: &Analysis,
    run: &Run,
    all: &[Run],
    verdict: Verdict,
) -> Option<Finding> {
    let is_short = |run: &Run| run.seconds() <= MOMENT_S && run.moved() <= KEPT;
    let of_host = |other: &&Run| analysis.host(other.place()) == analysis.host(run.place());
    let is_all = all.iter().filter(of_host).all(is_short) && analysis.intervals.is_empty();
    (run.op() == Op::Write && is_all).then_some(())?;
    let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
    finding.sentence = format!(
        "the {} written to {} are the rate of memory, not of a disk: the test moved {} in {} and \
         ended before the kernel wrote anything back",
        phrase::rate(run.throughput()),
        phrase::disk(run.name()),
        phrase::bytes(run.moved()),
        phrase::ns(1e9 * run.seconds())
    );
    finding.evidence =
        vec![analysis.computed(run.place(), 1).seconds("duration", run.seconds()).below(MOMENT_S)];
    finding.assume(BY_CALLS, "too short and too small to reach a disk");
    finish(&mut finding, "the same test with `conv=fdatasync` has the same rate");
    Some(finding)
}

/// Bytes per second that the kernel's random numbers reach at most on one CPU (a choice: kernels
/// before 4.8 make 5 to 20 MB/s, those since 5.17 some 500).
const GENERATED: f64 = 5e8;

/// A write of random numbers, which are made on one CPU meanwhile.
fn generated(analysis: &Analysis, run: &Run, verdict: Verdict) -> Option<Finding> {
    let per_s = run.throughput();
    let mut facts = facts_of(analysis, run.place(), run.device(), per_s);
    let is_generated = facts.any(|fact| fact.key == key::RUN_GENERATED);
    (per_s <= GENERATED && is_generated).then_some(())?;
    let mut finding = new_finding(verdict, Some(run.device()), vec![run.place()]);
    finding.sentence = format!(
        "the {} written to {} are no rate of a disk: the source was the kernel's random numbers, \
         which one CPU makes, as fast as that on many machines",
        phrase::rate(per_s),
        phrase::disk(run.name())
    );
    let printed = analysis.printed(run.place(), 1);
    finding.evidence = vec![printed.bytes_per_s("throughput", per_s).below(GENERATED)];
    finding.assume(BY_CALLS, "its source is slower than most disks");
    finish(&mut finding, "`dd if=/dev/urandom of=/dev/null bs=1M count=100` is many times faster");
    Some(finding)
}

fn finish(finding: &mut Finding, refuted: &'static str) {
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[refuted]);
    finding.next_step = lines(&[
        "measure the disk: `dd bs=1M oflag=direct` or `iflag=direct`, or `fio --direct=1`",
        "write more than the memory holds, or count the flush: `conv=fdatasync`",
    ]);
}
