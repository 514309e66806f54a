//! Writes are not aligned to physical blocks, so the device does read-modify-write.
//!
//! ## Accuses
//! The layout: a partition, stripe or file system block that does not begin or end at a physical
//! block of the device. Or small writes to a parity RAID, each of which needs reads first (write
//! amplification).
//!
//! ## Why it matters
//! A drive that writes 4096 bytes at a time has to read a block, change a part and write it back.
//! On a platter that costs a full revolution for each such write, on flash a page. The drive is
//! healthy.
//!
//! ## Needs
//! A per-I/O log with sectors. The size of the physical block (`queue.physical_block_size`) makes
//! it certain; without it 4096 bytes are assumed, and the verdict stays a suspicion. Or the
//! partition table (`fdisk -l`), which does not show how slow the writes are.
//!
//! ## Rule
//! More than 10 % of the writes begin or end off a physical block boundary, and these take more
//! than 1.8 times as long as aligned ones of their size class, with at least ten of each and a
//! probability by chance below 1 %. Or: a partition starts inside a physical block, both as
//! reported; there is no per-I/O log of the disk; and if its averages were measured, time was lost.
//! Or: at least 80 % of the small writes of a kernel thread of RAID 5 or 6 follow a read of the
//! same blocks within one second.
//!
//! ## Wrong if
//! The device serves 512-byte writes from a cache by design, and aligned writes are slow for
//! another reason.
//!
//! ## Next step
//! Start partitions at multiples of 1 MiB, match file system and stripe, enlarge the stripe cache.

use iowhy_model::{Clause, Event, Finding, Level, Op, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::requests::{self, Requests};
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::forecast::without_excess;
use crate::evidence::reported_problem::{self, STATED, UNKNOWN_SHARE};
use crate::facts::About;
use crate::facts::disk_names;
use crate::facts::reading::FactReading;
use crate::measures::alignment::{self, Access};
use crate::measures::exposure::{self, Sample};
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::CfgMisaligned,
    summary: "Writes are not aligned to physical blocks: read-modify-write",
    manual: iowhy_model::manual!("cfg_misaligned.rs"),
    needs: Needs {
        level: Level::C,
        sure_from: Level::E,
        seconds: 30,
        what: "the sector of each write and the device's physical block size",
    },
    explains: &[Verdict::DeviceSlow],
    rule: Rule::Detect(detect),
};

/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const SHARE: f64 = 0.1;
const MIN_RATIO: f64 = 1.8;
const CHANCE: f64 = 0.01;
const EACH: usize = 10;
const READ_FIRST: f64 = 0.8;
/// The assumed physical block size: Advanced Format, all disks since 2011.
const LIKELY_BLOCK: f64 = 4096.0;
/// And the weight of that assumption: a suspicion; more if it is beyond doubt not chance that
/// writes off it are slow, for then the device itself shows where its blocks begin.
const BLOCK_SIZE_INFERRED: f64 = 0.6;
const BLOCK_SIZE_CONFIRMED: f64 = 0.8;
const BEYOND_DOUBT: f64 = 1e-6;
/// Writes of RAID that fill less than a chunk (md's default is 512 KiB, mdadm(8)).
const SMALL: u32 = 262_144;
/// Within this time a stripe is read and written back.
const SECOND_NS: i64 = 1_000_000_000;

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let all = analysis.requests.iter();
    let seen = all.filter_map(|requests| {
        off_block(analysis, requests).or_else(|| parity(analysis, requests))
    });
    seen.chain(analysis.facts.each().filter_map(|about| by_layout(analysis, about))).collect()
}

/// The physical block, if it is stated, and where the first begins, bytes.
fn physical_block<'a>(about: About<'_, 'a>) -> (Option<(f64, FactReading<'a>)>, f64) {
    let offset = about.number(key::DEVICE_ALIGNMENT_OFFSET).map_or(0.0, |(offset, _)| offset);
    (about.number(key::QUEUE_PHYSICAL_BLOCK_SIZE), offset)
}

/// A partition that starts inside a physical block, by the partition table. If requests were seen,
/// they decide.
fn by_layout(analysis: &Analysis, about: About) -> Option<Finding> {
    let disk = about.disk;
    let starts: Vec<(u64, FactReading)> = about
        .all(key::PARTITION_START)
        .filter_map(|reading| Some((reading.number()? as u64, reading)))
        .collect();
    let (stated, offset) = physical_block(about);
    let (block, block_reading) = stated.filter(|(block, _)| *block > 512.0)?;
    let past = |start: u64| alignment::past_block(start, block as u64, offset as u64);
    let off: Vec<&(u64, FactReading)> =
        starts.iter().filter(|(start, _)| past(*start) > 0).collect();
    let (start, reading) = off.first()?;
    let seen = analysis.requests.iter().any(|requests| requests.disk == disk);
    if seen || !reported_problem::is_felt(analysis, |_, of| of == disk) {
        return None;
    }
    let device = analysis.recording.find_device(disk);
    let mut finding = new_finding(DETECTOR.verdict, device, vec![reading.listing]);
    finding.sentence = format!(
        "partitions of {} start inside a physical block of {} ({} of {}): a write of one file \
         system block covers parts of two physical blocks, and the device reads both first",
        phrase::disk(disk),
        phrase::bytes(block),
        off.len(),
        starts.len()
    );
    let cited = |reading, what, value| analysis.stated(reading).bytes(what, value);
    let computed = analysis.computed(reading.listing, 1);
    finding.evidence = vec![
        computed
            .of(
                "offset of a partition from a physical block boundary",
                past(*start) as f64,
                Unit::Bytes,
            )
            .above(0.0),
        cited(reading, "start of the partition", *start as f64),
        cited(&block_reading, "physical block", block),
    ];
    finding.assume(STATED, "start of the partition as reported");
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&[
        "`iowhy why --for 60s` during the slow writes: all of them are aligned to the device's \
         blocks",
        "writes are rare, or the slow I/Os are reads",
    ]);
    finding.next_step = lines(&[
        "start partitions at multiples of 1 MiB (2048 sectors): back up, repartition, restore",
    ]);
    Some(finding)
}

fn off_block(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let about = analysis.about(requests.listing, &requests.disk);
    let (stated, offset) = physical_block(about);
    let block = stated.map_or(LIKELY_BLOCK, |(block, _)| block);
    if block <= 512.0 {
        return None;
    }
    let samples: Vec<Sample> = requests
        .of(Op::Write)
        .filter_map(|event| {
            let (sector, bytes) = (event.sector?, event.bytes.filter(|bytes| *bytes > 0)?);
            let ns = requests::length_ns(requests::on_device(event)?);
            let exposed = !alignment::is_aligned(sector, bytes, block as u64, offset as u64);
            // Sizes within an octave: 512 to 4096 bytes are one class, for each is one block.
            let stratum = bytes.div_ceil(block as u32).next_power_of_two().trailing_zeros();
            Some(Sample { ns, exposed, stratum })
        })
        .collect();
    let found = exposure::exposure(&samples)?;
    let share = found.exposed as f64 / samples.len() as f64;
    let fair = found.matched.unwrap_or(found.ratio);
    let lost = found.excess_ns / requests.span_ns();
    let enough = found.exposed >= EACH && found.spared >= EACH;
    let holds = share > SHARE && found.ratio > MIN_RATIO && fair > MIN_RATIO && found.p < CHANCE;
    if !enough || !holds || lost < confidence::NOTICEABLE {
        return None;
    }
    let (off, on) = (found.exposed as u64, found.spared as u64);
    let size = phrase::bytes(block);
    let mut finding = new_finding(DETECTOR.verdict, Some(requests.device), vec![requests.listing]);
    finding.sentence = format!(
        "{} of the writes to {} are not aligned to its blocks of {size}{} and take {} each, \
         aligned ones {}: the device does read-modify-write",
        phrase::percent(share),
        phrase::disk(&requests.disk),
        if stated.is_some() { "" } else { " (assumed)" },
        phrase::ns(found.exposed_ns),
        phrase::ns(found.spared_ns)
    );
    let computed = analysis.computed(requests.listing, off + on);
    finding.evidence = vec![
        computed.share("writes not aligned to a physical block", share).above(SHARE).weighs(),
        computed.over(off).ms("time of an unaligned write, median", found.exposed_ns / 1e6),
        computed.over(on).ms("time of an aligned write, median", found.spared_ns / 1e6),
        computed.ratio("time ratio unaligned/aligned, same sizes", fair).above(MIN_RATIO).weighs(),
        computed.over(off).seconds("time lost, per second", lost).above(confidence::NOTICEABLE),
    ];
    finding.evidence.extend(
        stated.map(|(bytes, reading)| analysis.stated(&reading).bytes("physical block", bytes)),
    );
    confidence::believe(&mut finding, PRIOR_OF_LOAD, []);
    if stated.is_none() {
        let sure = if found.p < BEYOND_DOUBT { BLOCK_SIZE_CONFIRMED } else { BLOCK_SIZE_INFERRED };
        finding.scale("physical block size inferred, not reported", sure);
    }
    finding.explained_share =
        analysis.share_of_lost(requests.listing, requests.device, found.excess_ns);
    let times: Vec<f64> = samples.iter().map(|sample| sample.ns).collect();
    let assuming = "all writes are aligned and take as long as aligned ones do now";
    finding.forecast = without_excess(&times, found.excess_ns, assuming);
    finding.refuted_by = lines(&[
        "the device's physical block is smaller than assumed here",
        "`fio --rw=randwrite --bs=4k --blockalign=4k --direct=1` on a spare file is just as slow",
    ]);
    let disk = phrase::disk(&requests.disk);
    finding.next_step = lines(&[
        &format!(
            "`grep -H . /sys/block/{disk}/queue/physical_block_size /sys/block/{disk}/*/start`: \
             starts must be multiples of {}",
            (block / 512.0).round()
        ),
        "start partitions at multiples of 1 MiB (2048 sectors); match the file system block size \
         and the RAID stripe",
        "if a database writes 512-byte records: set its log block size to 4096",
    ]);
    Some(finding)
}

/// Small writes to a RAID of parity: its thread reads the old block before it writes the new one.
fn parity(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let of_raid = |event: &&&Event| {
        let comm = event.comm.map(|name| analysis.recording.text(name)).unwrap_or_default();
        disk_names::is_parity_thread(comm)
    };
    let mut accesses: Vec<Access> = requests
        .events
        .iter()
        .filter(of_raid)
        .filter_map(|event| {
            let write = event.op == Op::Write;
            let (issued, completed) = requests::on_device(event)?;
            let bytes = event.bytes.filter(|bytes| *bytes > 0 && *bytes <= SMALL)?;
            let ns = if write { issued } else { completed };
            Some(Access { ns, sector: event.sector?, bytes, write })
        })
        .filter(|access| access.bytes > 0)
        .collect();
    let (share, writes) = alignment::read_before_write(&mut accesses, SECOND_NS)?;
    let reads: f64 = requests
        .events
        .iter()
        .filter(of_raid)
        .filter(|event| event.op == Op::Read)
        .filter_map(|event| requests::on_device(event))
        .map(requests::length_ns)
        .sum();
    let lost = reads / requests.span_ns();
    if writes < 3 * EACH || share < READ_FIRST || lost < confidence::NOTICEABLE {
        return None;
    }
    let n = writes as u64;
    let mut finding = new_finding(DETECTOR.verdict, Some(requests.device), vec![requests.listing]);
    finding.sentence = format!(
        "{} is read before it is written: {} of the writes follow a read of the same blocks \
         (read-modify-write of a parity RAID), and these reads take {} per second; writes are \
         smaller than a stripe",
        phrase::disk(&requests.disk),
        phrase::percent(share),
        phrase::ms(lost * 1e3)
    );
    let computed = analysis.computed(requests.listing, n);
    finding.evidence = vec![
        computed.share("small writes after a read of the same blocks", share).above(READ_FIRST),
        computed
            .seconds("time lost to these reads, per second", lost)
            .above(confidence::NOTICEABLE)
            .weighs(),
    ];
    let read_first = 3.0 * (share - READ_FIRST) / (1.0 - READ_FIRST);
    let clauses = [Clause::fixed("writes after a read", read_first)];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, clauses);
    finding.explained_share = share / 2.0;
    finding.refuted_by = lines(&["full-stripe writes cause just as many reads"]);
    finding.next_step = lines(&[
        "`cat /proc/mdstat`, then `echo 8192 > /sys/block/MD/md/stripe_cache_size`: a larger \
         stripe cache collects more full stripes",
        "set the stripe geometry of the file system: `mkfs.xfs -d su=CHUNK,sw=DISKS`, `mke2fs -E \
         stride,stripe-width`",
        "for small random writes use RAID 10",
    ]);
    Some(finding)
}
