//! Throughput of all disks together that stays at a ceiling while tasks wait.
//!
//! A load below the capacity of the disks varies with the programs. One that never rises above its
//! mean, interval after interval, with blocked tasks and idle CPUs, is limited: of a disk,
//! of its bus or network, or a configured one. Which one is not in this input.

use iowhy_model::{Bound, DeviceId, Finding, Observation, Op, Verdict, key};

use crate::analysis::samples::{self, IntervalSample};
use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::facts::disk_names;
use crate::measures::cap::{self, Limit};
use crate::phrase;

/// Intervals from which on it is not chance, the maximum over the mean that is a ceiling, and bytes
/// per second below which requests, not bytes, are limited (choices).
const INTERVALS: f64 = 8.0;
const CEILING: f64 = 1.1;
const FLOWS: f64 = 1e6;
/// Blocked tasks and iowait that show that something waits.
const BLOCKED: f64 = 1.0;
const WAITED: f64 = 0.2;

/// The throughput ceiling of all disks of an input.
pub(crate) fn seen(analysis: &Analysis, host: Host, any: &str) -> Option<Observation> {
    let about = analysis.facts.about(Some(host), any);
    let mean = |column: &'static str| about.machine_number(key::VMSTAT_MEAN.of(column));
    let number = |column: &'static str| mean(column).map_or(0.0, |(value, _)| value);
    let (intervals, _) = about.machine_number(key::VMSTAT_INTERVALS)?;
    let waited = number("b") >= BLOCKED && number("wa") >= WAITED;
    (intervals >= INTERVALS && waited).then_some(())?;
    let columns = [("bo", "written to"), ("bi", "read from")];
    let (column, words) = columns.into_iter().max_by(|a, b| number(a.0).total_cmp(&number(b.0)))?;
    let (value, reading) = mean(column).filter(|(value, _)| *value >= FLOWS)?;
    let (max, _) = about.machine_number(key::VMSTAT_MAX.of(column))?;
    (max <= CEILING * value).then_some(())?;
    let above = phrase::percent(max / value - 1.0);
    let what = format!("bytes {words} all disks per second, at most {above} above their mean");
    let evidence = analysis.stated(&reading).bytes_per_s(&what, value);
    let would_mean = format!(
        "a plateau: {} tasks wait on average, and throughput never rises. A disk, its bus or a \
         limit is saturated: `iostat -x 1` names the disk, and its class shows whether that is low",
        phrase::digits(number("b"))
    );
    Some(Observation::of(evidence, would_mean).may_be(Verdict::LoadSaturated))
}

/// How near to a limit that is sold a rate is worth a word (a choice: a second of a limited volume
/// differs by as much).
const NEAR_SOLD: f64 = 0.03;

/// What to ask about a saturated device whose rate is near one that is sold.
pub(crate) fn near_a_sold_one(
    analysis: &Analysis,
    device: DeviceId,
    [per_s, bytes_per_s]: [f64; 2],
) -> Option<String> {
    let rates = [(Limit::Iops, per_s), (Limit::BytesPerSecond, bytes_per_s)];
    let near = rates.into_iter().find_map(|(limit, rate)| {
        let (tier, off) = cap::tier_within(limit, rate, NEAR_SOLD)?;
        Some((limit.words(rate), tier.known_from, off))
    });
    let (rate, sold, off) = near.filter(|_| analysis.may_be_limited(device))?;
    Some(format!(
        "is it a cloud volume? {rate} is within {} of a product limit ({sold}); then only a larger \
         volume is faster (`aws ec2 describe-volumes`, or its equivalent)",
        phrase::percent(off.abs())
    ))
}

/// Bits per second of networks, and the share of them that data reach where the network is the
/// limit: headers and gaps take 6 % at least (1448 of 1538 bytes of a frame), protocols of disks
/// some more (a choice).
pub(crate) const NETWORKS: [f64; 2] = [1e9, 1e10];
pub(crate) const OF_A_NETWORK: std::ops::RangeInclusive<f64> = 0.87..=0.95;
/// Rows that are not chance, and what they are worth (choices).
const ROWS: usize = 3;
const AT_ITS_NETWORK: f64 = 0.93;

/// Disks of another machine that are as fast as a network of 1 or 10 Gbit/s in all of their rows.
pub(crate) fn of_networks(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.rows_by_listing().into_iter().filter_map(|rows| {
        let first = *rows.first()?;
        let about = analysis.about(first.listing, &first.disk);
        let bus = about.last(key::DEVICE_TRANSPORT);
        let is_remote = bus.is_some_and(|bus| ["iscsi", "tcp"].contains(&bus.text()));
        (is_remote || disk_names::is_elsewhere(&first.disk)).then_some(())?;
        let one_way = |row: &IntervalSample| {
            let per_s = |op| row.interval.of(op).and_then(|rates| rates.bytes_per_s);
            per_s(Op::Read).unwrap_or(0.0).max(per_s(Op::Write).unwrap_or(0.0))
        };
        let is_full = |row: &&&IntervalSample| {
            row.agrees && row.interval.busy.is_some_and(|busy| busy >= samples::WITHOUT_PAUSE)
        };
        let rates: Vec<f64> = rows.iter().filter(is_full).map(|row| one_way(row)).collect();
        let limit = NETWORKS.into_iter().find(|bits| {
            !rates.is_empty()
                && rates.iter().all(|rate| OF_A_NETWORK.contains(&(8.0 * rate / bits)))
        })?;
        let n = rates.len();
        let mean = rates.iter().sum::<f64>() / n as f64;
        let mut finding = new_finding(verdict, Some(first.device), vec![first.listing]);
        finding.sentence = format!(
            "{} is limited by its network: {} in each row is the throughput of a {} Gbit/s link; \
             the disk and the programs are not the limit",
            phrase::disk(&first.disk),
            phrase::rate(mean),
            phrase::digits(limit / 1e9)
        );
        let computed = analysis.computed(first.listing, n as u64);
        let what = "throughput in one direction, divided by that of the network";
        finding.evidence = vec![
            computed
                .share(what, 8.0 * mean / limit)
                .held(Bound::Between(*OF_A_NETWORK.start(), *OF_A_NETWORK.end())),
            computed.bytes_per_s("throughput, mean of the rows without a pause", mean),
        ];
        finding.assume(AT_ITS_NETWORK, "a disk at the throughput of a network link");
        finding.doubt_if(n < ROWS, "one or two rows", SHAPE_ALONE);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "`ethtool` shows a faster link, and `iperf3` between the machines reaches more",
            "the same rate appears in reads from the server's own cache and on its local disk",
        ]);
        finding.next_step = lines(&[
            "`ethtool INTERFACE | grep Speed` on both machines and the switch: a link may have \
             negotiated down",
            "more paths at once (multipath, MPIO; not bonding of one session), or a faster network",
            "`sar -n DEV 1` meanwhile: is the interface full?",
        ]);
        Some(finding)
    });
    found.collect()
}
