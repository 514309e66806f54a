//! What programs waited for, above the block layer: their flushes, peers among services, and runs
//! at the rate of a limit.
//!
//! A program's wait includes all layers below it. It never shows that a disk is faulty; it can show
//! that a program waits for flushes, that one of several equal services is far slower, or that a
//! run is at the rate of a limit.

use std::collections::BTreeMap;

use iowhy_model::Order as _;
use iowhy_model::{
    Blame, Bound, DeviceId, Fact, Finding, Interval, Layer, Listing, Medium, Op, Verdict, key,
};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{NOTICEABLE, SHAPE_ALONE};
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::evidence::runs;
use crate::facts::disk_models;
use crate::measures::spread;
use crate::phrase;

/// A durable write on flash or in a protected cache takes less than a millisecond; from this many
/// ms on a program that commits sequentially is affected (1000 commits per second are then out of
/// reach ten times over).
const NOTICEABLE_MS: f64 = 2.0;
/// A flush costs this many times a plain write, or it is not the flush (docs/METHOD.md, 10 Rules).
const TIMES_PLAIN: f64 = 3.0;
/// The weight of such a wait: compared with a plain write, and alone.
const BESIDE_WRITES: f64 = 0.90;
const WITHOUT_COMPARISON: f64 = 0.85;
/// Flushes below which a mean is one occasion, and what that is worth.
const FEW: f64 = 5.0;
const ONCE: f64 = 0.82;

/// Flushes of one device as a program waited for them.
#[derive(Default)]
struct Waits {
    flushes: Vec<f64>,
    /// How many there were, where known.
    n: f64,
    writes: Vec<f64>,
    /// Means of writes that are counted under a name of their own, as a database does.
    counted: Vec<f64>,
    /// The device with the fastest flushes, in the order of the listing.
    device: Option<DeviceId>,
}

impl Waits {
    /// Mean wait for a flush, ms.
    fn mean_flush(&self) -> f64 {
        spread::mean(&self.flushes).unwrap_or(0.0)
    }
}

/// Programs that wait for flushes: one finding per listing.
pub(crate) fn flushes(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, listing) in analysis.listings() {
        let (mut waits, apart) = of_rows(listing);
        let longest = apart.iter().max_by(|a, b| f64::total_cmp(&a.mean_flush(), &b.mean_flush()));
        if let Some(longest) = longest {
            found.extend(waiting(analysis, place, longest, verdict));
        }
        for event in listing.events.iter().filter(|event| event.layer != Layer::Block) {
            let began = event.issued.or(event.queued);
            let Some((began, ended)) = began.zip(event.completed) else { continue };
            let ms = ended.ns().saturating_sub(began.ns()) as f64 / 1e6;
            match event.op {
                Op::Flush => {
                    waits.flushes.push(ms);
                    waits.n += 1.0;
                    waits.device.get_or_insert(event.device);
                }
                Op::Write => waits.writes.push(ms),
                _ => {}
            }
        }
        let counted = listing.histograms().filter(|one| {
            one.layer != Layer::Block && one.op == Some(Op::Flush) && waits.flushes.is_empty()
        });
        let counted = counted.filter(|_| !is_in_background(listing));
        let means: Vec<_> = counted
            .filter_map(|one| Some((one.device, one.histogram.count(), one.histogram.mean_ns()?.0)))
            .collect();
        for (device, count, mean_ns) in means {
            waits.flushes.push(mean_ns / 1e6);
            waits.n += count as f64;
            waits.device.get_or_insert(device);
        }
        let writes = listing
            .histograms()
            .filter(|one| one.layer != Layer::Block && one.op == Some(Op::Write));
        let elsewhere = writes.filter(|one| Some(one.device) != waits.device);
        waits.counted =
            elsewhere.filter_map(|one| Some(one.histogram.mean_ns()?.0 / 1e6)).collect();
        if !reads_prevail(listing, &waits) {
            found.extend(waiting(analysis, place, &waits, verdict));
        }
    }
    found
}

/// Times the other ways to flush that one of a test takes if only that one waits for the medium (a
/// choice: where all of them do, they differ by three).
const TIMES_OTHERS: f64 = 20.0;

/// Tests of several ways to flush (`pg_test_fsync`) of which all but one return from the drive's
/// cache: macOS and Windows have one that waits for the medium.
pub(crate) fn one_durable_way(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.listings().filter_map(|(place, listing)| {
        listing.facts.iter().any(|fact| fact.key == key::FLUSH_TIME).then_some(())?;
        let of_flush = |row: &Interval| {
            let flush = row.of(Op::Flush)?;
            Some((row.device, flush.await_ns? / 1e6))
        };
        let rows = listing.intervals.iter().filter(|row| row.layer != Layer::Block);
        let mut ways: Vec<(DeviceId, f64)> = rows.filter_map(of_flush).collect();
        ways.order_by(|a, b| b.1.total_cmp(&a.1));
        let (durable, ms) = *ways.first()?;
        let (_, next) = *ways.iter().find(|(device, _)| *device != durable)?;
        (ms >= NOTICEABLE_MS && ms >= TIMES_OTHERS * next).then_some(())?;
        let name = &analysis.recording.device_of(durable).name;
        let mut finding = new_finding(verdict, Some(durable), vec![place]);
        finding.sentence = format!(
            "only {name} makes a write durable, in {}: {} per second at best; the other methods \
             return within {}, when the data is only in the drive's cache, and a power loss \
             destroys it",
            phrase::ms(ms),
            phrase::digits(1000.0 / ms),
            phrase::ms(next)
        );
        let printed = analysis.printed(place, 1);
        finding.evidence = vec![
            printed.ms("wait for a durable write", ms).above(NOTICEABLE_MS),
            printed.ms("longest wait of the other methods", next).below(ms / TIMES_OTHERS),
        ];
        finding
            .assume(WITHOUT_COMPARISON, "one flush method waits for the medium, the others do not");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&["the drive's cache is protected against power loss"]);
        finding.next_step = lines(&[
            "measure with what the program uses (PostgreSQL: `SHOW wal_sync_method`): the fast \
             methods do not survive a power loss",
            "use group commit, or a drive whose cache has power-loss protection",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Times the waits for flushes from which on it is the reads that programs wait for (a choice).
const READS_PREVAIL: f64 = 2.0;

/// Whether programs wait far longer for reads than for flushes, all added up.
fn reads_prevail(listing: &Listing, waits: &Waits) -> bool {
    let above = listing.histograms().filter(|one| one.layer != Layer::Block);
    let reads = above
        .filter(|one| one.op == Some(Op::Read))
        .filter_map(|one| Some(one.histogram.count() as f64 * one.histogram.mean_ns()?.0 / 1e6));
    let reads_ms: f64 = reads.sum();
    reads_ms > READS_PREVAIL * waits.n * waits.mean_flush()
}

/// Whether the counted writes are flushed by a checkpoint, independently of the waiting program.
fn is_in_background(listing: &Listing) -> bool {
    listing.facts.iter().any(|fact| fact.key.is_under("checkpoint"))
}

/// From here on, ms, flash has no excuse: it writes a flush's pages in under 5 (as in
/// `fast_programs`), doubled.
const OF_A_PLATTER_MS: f64 = 10.0;
/// Bytes up to which the time of a write is negligible compared with its flush: 1 ms at 64 MB/s.
const SMALL: f64 = 65_536.0;

/// Whether each write of a run waits until its data are on the medium.
fn is_durable(listing: &Listing, device: DeviceId) -> bool {
    listing.facts.iter().any(|fact| {
        fact.key == key::RUN_DURABLE
            && fact.device == Some(device)
            && fact.value.text() == Some("each write")
    })
}

/// What rows of averages show: of all devices together, which may be ways to flush one disk, and of
/// each by itself where several write as well as flush.
fn of_rows(listing: &Listing) -> (Waits, Vec<Waits>) {
    let mut each: BTreeMap<DeviceId, Waits> = BTreeMap::new();
    for row in listing.intervals.iter().filter(|row| row.layer != Layer::Block) {
        let waits = each.entry(row.device).or_default();
        for (op, rates) in &row.rates {
            let Some(ms) = rates.await_ns.map(|ns| ns / 1e6).filter(|ms| *ms > 0.0) else {
                continue;
            };
            // Of a large durable write the transfer is a part that no flush costs.
            let op = match op {
                Op::Write if is_durable(listing, row.device) => {
                    match rates.mean_bytes().is_some_and(|bytes| bytes <= SMALL) {
                        true => &Op::Flush,
                        false => continue,
                    }
                }
                op => op,
            };
            match op {
                Op::Flush => {
                    waits.flushes.push(ms);
                    waits.n += rates.ios_per_s * row.length.map_or(1.0, |length| length.seconds());
                    waits.device.get_or_insert(row.device);
                }
                Op::Write => waits.writes.push(ms),
                _ => {}
            }
        }
    }
    let both = |waits: &Waits| !waits.flushes.is_empty() && !waits.writes.is_empty();
    let is_apart = each.values().filter(|waits| both(waits)).count() > 1;
    let mut together = Waits::default();
    let mut apart = Vec::new();
    for waits in each.into_values() {
        if is_apart && both(&waits) {
            apart.push(waits);
        } else {
            together.n += waits.n;
            together.device = together.device.or(waits.device);
            together.flushes.extend(waits.flushes);
            together.writes.extend(waits.writes);
        }
    }
    (together, apart)
}

/// The minimum share of its time that a task is in its flushes if they delay it: that of
/// the busy time which makes flushes of a trace the cause (docs/METHOD.md, 10 Rules).
const HELD_UP: f64 = 0.3;
/// The share of the time of all slow operations from which on flushes prevail (a choice).
const PREVAIL: f64 = 0.8;
/// A flush longer than this, ms, is slow by whatever it waits for: a seek and a revolution take 25.
const LONG_MS: f64 = 100.0;

/// Tasks that are in their flushes most of the time, though the log lists only the slow ones: what
/// it leaves out adds to that.
pub(crate) fn held_up(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, listing) in analysis.listings() {
        if analysis.lists_only_slow(place) {
            let held_up = held_up_in(analysis, place, listing, verdict);
            found.extend(held_up.or_else(|| prevailing(analysis, place, listing, verdict)));
        }
    }
    found
}

/// Flushes that are nearly all that is slow: reads and plain writes are faster than the limit of
/// the log.
fn prevailing(
    analysis: &Analysis,
    place: usize,
    listing: &Listing,
    verdict: Verdict,
) -> Option<Finding> {
    // A program's own log lists only flushes; a source with tasks lists all their file system
    // operations.
    let above = listing.events.iter().filter(|event| event.layer != Layer::Block);
    let slow: Vec<(Op, f64)> = above
        .filter(|event| event.pid.is_some())
        .filter_map(|event| Some((event.op, event.longest()?.1.ns() as f64 / 1e6)))
        .collect();
    let flushes: Vec<f64> =
        slow.iter().filter(|(op, _)| *op == Op::Flush).map(|(_, ms)| *ms).collect();
    let all_ms: f64 = slow.iter().map(|(_, ms)| ms).sum();
    let share = flushes.iter().sum::<f64>() / all_ms.max(f64::MIN_POSITIVE);
    let mean = spread::mean(&flushes).filter(|mean| *mean > NOTICEABLE_MS)?;
    let watched_ms = watched_ms(listing);
    let felt = flushes.iter().sum::<f64>() >= NOTICEABLE * watched_ms;
    if (flushes.len() as f64) < FEW || share < PREVAIL || !felt {
        return None;
    }
    let n = flushes.len() as u64;
    let (computed, printed) = (analysis.computed(place, n), analysis.printed(place, n));
    let device = listing.events.iter().find(|event| event.op == Op::Flush)?.device;
    let mut finding = new_finding(verdict, Some(device), vec![place]);
    finding.sentence = format!(
        "the slow operations are flushes: {} of {}, {} on average; programs wait for durability, \
         not for reads",
        flushes.len(),
        slow.len(),
        phrase::ms(mean)
    );
    finding.evidence = vec![
        computed.share("share of flushes in the time of slow operations", share).above(PREVAIL),
        printed.ms("mean wait for a listed flush", mean),
    ];
    finding.assume(WITHOUT_COMPARISON, "waits for durability, without plain writes for comparison");
    let unknown = "the share of time is not known: the log omits fast operations";
    finding.doubt(unknown, SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (share, true);
    finding.refuted_by = lines(&["the same program without flushes is just as slow"]);
    // The cost of a flush is tested first, as for all suspicions.
    finding.next_step = after_flushes();
    Some(finding)
}

/// From the first wait to the end of the last, ms. Times of whole seconds begin and end up to one
/// later.
fn watched_ms(listing: &Listing) -> f64 {
    let above = listing.events.iter().filter(|event| event.layer != Layer::Block);
    let known = || above.clone().filter_map(|event| event.queued.zip(event.completed));
    let first = known().map(|(began, _)| began.ns()).min().unwrap_or(0);
    let last = known().map(|(_, ended)| ended.ns()).max().unwrap_or(first);
    (last.saturating_sub(first) as f64 / 1e9 + 1.0) * 1e3
}

/// How to distinguish a slow device from a heavily loaded one.
fn after_flushes() -> Vec<String> {
    lines(&[
        "find the device and other I/O queued on it: `iostat -x 1` of the same minute",
        "use group commit, or a drive or controller cache with power-loss protection",
    ])
}

/// The task of a listing with the largest share of its time in flushes.
fn held_up_in(
    analysis: &Analysis,
    place: usize,
    listing: &Listing,
    verdict: Verdict,
) -> Option<Finding> {
    let mut tasks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for event in listing.events.iter().filter(|event| event.layer != Layer::Block) {
        let Some((began, ended)) = event.queued.zip(event.completed) else { continue };
        if let Some(pid) = event.pid.filter(|_| event.op == Op::Flush) {
            tasks.entry(pid).or_default().push(ended.ns().saturating_sub(began.ns()) as f64 / 1e6);
        }
    }
    let watched_ms = watched_ms(listing);
    let longest = tasks
        .iter()
        .max_by(|a, b| f64::total_cmp(&a.1.iter().sum::<f64>(), &b.1.iter().sum::<f64>()));
    let (pid, waits) = longest.filter(|(_, waits)| waits.len() as f64 >= FEW)?;
    let share = (waits.iter().sum::<f64>() / watched_ms).min(1.0);
    if share < HELD_UP {
        return None;
    }
    let of_it = listing.events.iter().find(|event| event.pid == Some(*pid));
    let comm = of_it.and_then(|event| event.comm).map(|comm| analysis.recording.text(comm));
    let mean = spread::mean(waits)?;
    let n = waits.len() as u64;
    let (computed, printed) = (analysis.computed(place, n), analysis.printed(place, n));
    let mut finding = new_finding(verdict, of_it.map(|event| event.device), vec![place]);
    finding.sentence = format!(
        "{} ({pid}) waits for its flushes at least {} of the time: {} of {} on average, and fast \
         ones are not listed",
        comm.unwrap_or("a task"),
        phrase::percent(share),
        phrase::count(waits.len() as f64, "flush(es)"),
        phrase::ms(mean)
    );
    finding.evidence = vec![
        computed.share("share of a task's time in its flushes, at least", share).above(HELD_UP),
        printed.ms("mean wait for a listed flush", mean),
    ];
    finding.assume(WITHOUT_COMPARISON, "waits for durability, without plain writes for comparison");
    let slow = "such a long flush waits for a slow device, a server, or much other queued I/O";
    finding.doubt_if(mean > LONG_MS, slow, SHAPE_ALONE);
    finding.explained_share = share;
    finding.refuted_by = lines(&["the same program without flushes is just as slow"]);
    let cost = "measure a flush on the device: `iowhy probe flush-cost DIR`".to_string();
    finding.next_step = std::iter::once(cost).chain(after_flushes()).collect();
    Some(finding)
}

/// Its weight: it shows that durable writes are slow, not how many there are.
const CACHE_OFF: f64 = 0.75;

/// Controllers whose write cache is off contrary to its configuration: each durable write pays for
/// the medium.
pub(crate) fn cache_off(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, listing) in analysis.listings() {
        let reported = listing.facts.iter().find(|fact| {
            let text = fact.value.text().unwrap_or_default();
            fact.key == key::CONTROLLER_CACHE && disk_models::is_cache_off(text)
        });
        let Some(fact) = reported.or_else(|| fell_back(listing)) else { continue };
        let name = fact.device.map(|device| analysis.recording.device_of(device).name.clone());
        let name = name.unwrap_or_default();
        let mut finding = new_finding(verdict, fact.device, vec![place]);
        let state = match fact.value.text().unwrap_or_default() {
            text if fact.key == key::ARRAY_WRITE_CACHE => {
                format!("{text}, although write-back is configured")
            }
            text => text.to_string(),
        };
        finding.sentence = format!(
            "the write cache of the controller of {} does not work ({state}): each durable write \
             waits for the disks, reads do not",
            phrase::disk(&name)
        );
        finding.evidence =
            vec![analysis.printed(place, 1).count("disabled write caches", 1.0).above(0.0)];
        finding.assume(CACHE_OFF, "a write cache reported as disabled");
        // The load is what it was while the cache worked.
        finding.blame = Some(Blame::Configuration);
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["writes are as fast as before the cache was disabled"]);
        finding.next_step = lines(&[
            "replace the battery or capacitor of the cache, and check that the controller enables \
             it again",
            "until then: fewer durable writes, or group commit",
        ]);
        found.push(finding);
    }
    found
}

/// Weight of an array with parity on spinning disks that keeps no write in a cache: each small
/// write is two reads and two writes of its disks before it completes (a choice: it shows what
/// writes cost, not how many there are).
const PARITY_UNCACHED: f64 = 0.67;

/// RAID 5 and 6 of spinning disks whose controller writes through, and was not seen to have been
/// configured otherwise.
pub(crate) fn parity_without_cache(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, listing) in analysis.listings().filter(|(_, listing)| fell_back(listing).is_none())
    {
        let has_parity = |fact: &&Fact| {
            fact.key == key::ARRAY_LEVEL && fact.value.text().is_some_and(disk_models::keeps_parity)
        };
        for fact in listing.facts.iter().filter(has_parity) {
            let (Some(device), Some(level)) = (fact.device, fact.value.text()) else { continue };
            let through = |other: &Fact| {
                other.key == key::ARRAY_WRITE_CACHE
                    && other.device == fact.device
                    && other.value.text() == Some("write-through")
            };
            let turns = analysis.medium(device) == Some(Medium::Rotational);
            if !turns || !listing.facts.iter().any(through) {
                continue;
            }
            let name = &analysis.recording.device_of(device).name;
            let mut finding = new_finding(verdict, Some(device), vec![place]);
            finding.sentence = format!(
                "{} is RAID {level} of spinning disks, and its controller writes through: each \
                 small write reads and writes data and parity on the disks before it completes, \
                 and no write cache hides that",
                phrase::disk(name)
            );
            finding.evidence = vec![
                analysis.printed(place, 1).count("volumes that write through", 1.0).above(0.0),
            ];
            finding.assume(PARITY_UNCACHED, "parity on spinning disks without a write cache");
            finding.blame = Some(Blame::Configuration);
            (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
            finding.refuted_by = lines(&["what is slow is reads: they do not wait for the cache"]);
            finding.next_step = lines(&[
                "why does it write through? Its configuration, or a battery that is missing, \
                 learning or worn, even if reported as `ready`: the controller's event log",
                "write-back with a battery or flash behind the cache; without it, RAID 10",
            ]);
            found.push(finding);
        }
    }
    found
}

/// A volume that writes through though write-back was configured, as where the battery of its
/// controller is learning or worn.
fn fell_back(listing: &Listing) -> Option<&Fact> {
    let is = |fact: &Fact, word: &str| fact.value.text() == Some(word);
    listing.facts.iter().find(|now| {
        let asked = |fact: &Fact| {
            fact.key == key::ARRAY_WRITE_CACHE_ASKED
                && fact.device == now.device
                && is(fact, "write-back")
        };
        now.key == key::ARRAY_WRITE_CACHE
            && is(now, "write-through")
            && listing.facts.iter().any(asked)
    })
}

fn waiting(analysis: &Analysis, place: usize, waits: &Waits, verdict: Verdict) -> Option<Finding> {
    // A log of slow operations shows neither the number of fast flushes nor the cause of these.
    if analysis.lists_only_slow(place) {
        return None;
    }
    let least = waits.flushes.iter().copied().reduce(f64::min)?;
    let mean = spread::mean(&waits.flushes)?;
    let are_ways = analysis.listing(place).facts.iter().any(|fact| fact.key == key::FLUSH_TIME);
    let shown = match waits.n >= FEW {
        // Of a test that tries many, the one in the middle.
        _ if are_ways => spread::median(&waits.flushes)?,
        true => least.max(mean.min(10.0 * least)),
        false => mean,
    };
    let plain = spread::median(&waits.writes).filter(|ms| *ms > 0.0);
    // Where other writes take longer it is not the flush that costs.
    let dearer = spread::median(&waits.counted).filter(|_| plain.is_none());
    let cheap = plain.is_some_and(|plain| shown < TIMES_PLAIN * plain)
        || dearer.is_some_and(|others| shown < others);
    if shown < NOTICEABLE_MS || cheap {
        return None;
    }
    let n = waits.n.max(1.0) as u64;
    let mut finding = new_finding(verdict, waits.device, vec![place]);
    let beside =
        plain.map_or(String::new(), |plain| format!(", a plain write {}", phrase::ms(plain)));
    let unknown = waits.device.is_none_or(|device| analysis.medium(device).is_none());
    let of_flash = match shown > OF_A_PLATTER_MS && unknown {
        true => {
            "; a spinning disk needs as long, flash does not: if it is flash, it is slow itself"
        }
        false => "",
    };
    finding.sentence = format!(
        "programs wait for flushes: one takes {} on average{beside}; a program that flushes after \
         each write does {} per second at best{of_flash}",
        phrase::ms(shown),
        phrase::digits((1000.0 / shown).max(0.01))
    );
    let computed = analysis.computed(place, n);
    let printed = analysis.printed(place, n);
    finding.evidence = vec![printed.ms("mean wait for a flush", shown).above(NOTICEABLE_MS)];
    if let Some(plain) = plain {
        finding.evidence.push(printed.ms("wait for a plain write", plain));
        finding.evidence.push(
            computed.ratio("latency ratio flush/plain write", shown / plain).above(TIMES_PLAIN),
        );
    }
    let (worth, why) = match plain {
        _ if waits.n < FEW => (ONCE, "few waits for durability"),
        Some(_) => (BESIDE_WRITES, "waits for durability, compared with plain writes"),
        None => (WITHOUT_COMPARISON, "waits for durability, without plain writes for comparison"),
    };
    finding.assume(worth, why);
    finding.explained_share = 1.0 - plain.unwrap_or(0.0) / shown;
    finding.refuted_by = lines(&[
        "the same program without flushes is just as slow",
        "the block layer shows no flush or durable write meanwhile: then the wait is in the file \
         system",
    ]);
    finding.next_step = lines(&[
        "measure a flush on the device: `iowhy probe flush-cost DIR`",
        "use group commit, or a drive or controller cache with power-loss protection",
    ]);
    Some(finding)
}

/// One of three or more services is this many times slower than the middle one, and slow in
/// absolute terms.
const SLOW_RATIO: f64 = 10.0;
const SLOW_MS: f64 = 50.0;
/// Its weight: the load of each is not known.
const LAGS: f64 = 0.90;
/// Of so many services the spread of all shows which one stands out, as for disks
/// (docs/METHOD.md, 7 Peers): it need not be as far from the middle. And what that is worth
/// (choices).
const PEER_GROUP: usize = 8;
const SLOW_RATIO_IN_GROUP: f64 = 5.0;
const OUTLIER_IN_GROUP: f64 = 0.87;
/// The median absolute deviation of a normal distribution in standard deviations.
const MAD: f64 = 1.4826;

/// Whether the slowest of these is far from the others in units of their spread.
fn stands_out(all_ms: &[f64]) -> bool {
    let logs: Vec<f64> = all_ms.iter().map(|ms| ms.max(f64::MIN_POSITIVE).ln()).collect();
    let Some((middle, mad)) = spread::median(&logs).zip(spread::mad(&logs)) else { return false };
    let most = logs.iter().copied().fold(f64::MIN, f64::max);
    let threshold = 3.0 + 0.25 * (logs.len() as f64).log2();
    logs.len() >= PEER_GROUP && most - middle > threshold * MAD * mad
}

/// One or a few of several equal services that are far slower, if a listing has one mean wait for
/// each.
pub(crate) fn laggard(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, listing) in analysis.listings() {
        let mut means: BTreeMap<DeviceId, Vec<f64>> = BTreeMap::new();
        for row in listing.intervals.iter().filter(|row| row.layer == Layer::Application) {
            // Rates would separate runs of one program; here only waits are known.
            let waits = row.rates.iter().filter(|(_, rates)| rates.ios_per_s <= 0.0);
            let ms = waits.filter_map(|(_, rates)| rates.await_ns).map(|ns| ns / 1e6);
            let ms: Vec<f64> = ms.chain(row.await_ns.map(|ns| ns / 1e6)).collect();
            means.entry(row.device).or_default().extend(ms);
        }
        let mut all: Vec<(DeviceId, f64)> = means
            .into_iter()
            .filter_map(|(device, ms)| Some((device, spread::mean(&ms)?)))
            .collect();
        all.order_by(|a, b| b.1.total_cmp(&a.1));
        let all_ms: Vec<f64> = all.iter().map(|(_, ms)| *ms).collect();
        let Some(middle) = spread::median(&all_ms).filter(|_| all.len() >= 3) else { continue };
        let (times, worth) = match stands_out(&all_ms) {
            true => (SLOW_RATIO_IN_GROUP, OUTLIER_IN_GROUP),
            false => (SLOW_RATIO, LAGS),
        };
        let far = (times * middle).max(SLOW_MS);
        let slow: Vec<(DeviceId, f64)> =
            all.iter().copied().take_while(|(_, ms)| *ms >= far).collect();
        let others = all.get(slow.len()..).unwrap_or_default();
        let second = others.first().map_or(0.0, |(_, ms)| *ms);
        let (Some((worst, ms)), Some((_, least))) = (slow.first().copied(), slow.last().copied())
        else {
            continue;
        };
        // Few against many, and far apart.
        if middle <= 0.0 || slow.len() * 3 > all.len() || second > least / 3.0 {
            continue;
        }
        let named = |device: DeviceId| analysis.recording.device_of(device).name.clone();
        let name = named(worst);
        let one = (slow.len() == 1).then_some(worst);
        let mut finding = new_finding(verdict, one, vec![place]);
        finding.sentence = match one {
            Some(_) => format!(
                "{name} is {} times slower than its {} peers: {} on average against {}",
                phrase::digits(ms / middle),
                others.len(),
                phrase::ms(ms),
                phrase::ms(middle)
            ),
            None => format!(
                "{} of {} peers are at least {} times slower than the others: {} take {} to {} on \
                 average against {}: look for what only they share, such as a journal device, a \
                 host or a link",
                slow.len(),
                all.len(),
                phrase::digits(least / middle),
                phrase::list(&slow.iter().map(|(device, _)| named(*device)).collect::<Vec<_>>()),
                phrase::ms(least),
                phrase::ms(ms),
                phrase::ms(middle)
            ),
        };
        let n = others.len() as u64;
        // What several share may be a disk, a host or a link.
        finding.blame = (slow.len() > 1).then_some(Blame::DiskOrPath);
        finding.subject.devices = slow.iter().map(|(device, _)| *device).collect();
        let computed = analysis.computed(place, 1);
        let printed = analysis.printed(place, 1);
        finding.evidence = vec![
            printed.ms("longest mean wait", ms).above(SLOW_MS),
            printed.over(n).ms("mean wait of all, median", middle),
            computed
                .ratio("ratio of the shortest of them to the median", least / middle)
                .above(times),
        ];
        let worth = if least >= SLOW_RATIO * middle { LAGS } else { worth };
        finding.assume(worth, "reported slower than its peers");
        finding.explained_share = 1.0 - middle / ms;
        finding.refuted_by = lines(&["it has hotter data, or is being rebuilt or scrubbed"]);
        finding.next_step = lines(&[
            &format!(
                "find the device of {name}; then run `iostat -x 1` and `smartctl -x` on it and \
             on a peer"
            ),
            "flash without discards can slow down drive by drive: does `fstrim` or a rebuild help?",
        ]);
        found.push(finding);
    }
    found
}

/// A run throttled by a limit runs at 0.4 to 1.05 of it: small requests waste part of each slice
/// (kernel, block/blk-throttle.c).
const OF_LIMIT: (f64, f64) = (0.4, 1.05);
/// Weight of one run at a configured limit, and of several.
const ONE_RUN: f64 = 0.85;
const RUNS: f64 = 0.93;

/// Runs that went as fast as a control group's limit allows.
pub(crate) fn held_by_limit(analysis: &Analysis, verdict: Verdict) -> Option<Finding> {
    let keys = [key::CGROUP_MAX_RBPS, key::CGROUP_MAX_WBPS];
    let mut limits = Vec::new();
    for (place, listing) in analysis.listings() {
        let set = listing.facts.iter().filter(|fact| keys.contains(&fact.key));
        limits.extend(set.filter_map(|fact| Some((place, fact, fact.value.number()?))));
    }
    let (at, fact, limit) = limits.into_iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
    let all = runs::runs(analysis);
    let held_back: Vec<_> = all
        .iter()
        .filter(|run| (OF_LIMIT.0 * limit..=OF_LIMIT.1 * limit).contains(&run.throughput()))
        .collect();
    let first = held_back.first()?;
    let fastest = held_back.iter().map(|run| run.throughput()).fold(0.0, f64::max);
    let mut finding = new_finding(verdict, fact.device, vec![first.place(), at]);
    finding.sentence = format!(
        "a control group's limit of {} per second throttles the I/O: {} of {} runs reached at most \
         {} per second, just below it",
        phrase::bytes(limit),
        held_back.len(),
        all.len(),
        phrase::bytes(fastest)
    );
    let n = held_back.len() as u64;
    finding.evidence = vec![
        analysis.printed(at, 1).bytes_per_s("limit of the control group", limit),
        analysis
            .computed(first.place(), n)
            .ratio("throughput, divided by the limit", fastest / limit)
            .held(Bound::Between(OF_LIMIT.0, OF_LIMIT.1)),
    ];
    let worth = if held_back.len() > 1 { RUNS } else { ONE_RUN };
    finding.assume(worth, "runs at the limit of their control group");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["the same run outside the control group is just as slow"]);
    finding.next_step = lines(&[
        &format!("raise or remove the limit set by {}, and run again", fact.read_from),
        "buffered writes bypass a cgroup v1 limit: compare direct I/O with direct I/O",
    ]);
    Some(finding)
}
