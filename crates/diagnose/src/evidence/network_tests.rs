//! Tests of a volume that all end at the throughput of a network.

use iowhy_model::{Bound, Finding, Op, Verdict};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::ceilings::{NETWORKS, OF_A_NETWORK};
use crate::evidence::runs::{self, Run};
use crate::phrase;

/// What that is worth, and at most: nothing in the input says that a network is between.
const BY_A_NETWORK: f64 = 0.87;

/// Least tests, bytes of a request that a link limits, the ratio of sizes that makes two tests
/// different ones, and how many times faster the other direction is (choices).
const TESTS: usize = 2;
const MIN_BYTES: f64 = 65_536.0;
const OTHER_SIZE: f64 = 4.0;
const OTHER_WAY: f64 = 4.0;

/// Tests of which all in one direction, random or in sequence, are as fast as a network of 1 or 10
/// Gbit/s, and those in the other are much faster: only that one leaves the machine.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let mut runs = runs::runs(analysis);
    runs.retain(|run| run.bytes() >= MIN_BYTES && run.throughput() > 0.0);
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let here: Vec<&Run> =
            runs.iter().filter(|run| analysis.host(run.place()) == host).collect();
        let of = |op: Op| here.iter().filter(move |run| run.op() == op);
        let (op, other, limit) = [(Op::Write, Op::Read), (Op::Read, Op::Write)]
            .into_iter()
            .find_map(|(op, other)| {
                let at = |bits: &f64| {
                    of(op).all(|run| OF_A_NETWORK.contains(&(8.0 * run.throughput() / bits)))
                };
                let limit = NETWORKS.into_iter().find(at)?;
                (of(op).count() >= TESTS).then_some((op, other, limit))
            })?;
        // A disk moves more in larger requests.
        let sizes = || of(op).map(|run| run.bytes());
        let spread = sizes().fold(0.0, f64::max) / sizes().fold(f64::INFINITY, f64::min);
        (spread >= OTHER_SIZE).then_some(())?;
        let least = of(other).map(|run| run.throughput()).reduce(f64::min)?;
        let n = of(op).count();
        let mean = of(op).map(|run| run.throughput()).sum::<f64>() / n as f64;
        (least >= OTHER_WAY * mean).then_some(())?;
        let place = of(op).next()?.place();
        let mut finding = new_finding(verdict, None, vec![place]);
        finding.sentence = format!(
            "{} are limited by a network: all {n} tests of them, of small and of large requests, \
             reach the {} of a {} Gbit/s link, and {} {} or more: {} go to another machine (a \
             network volume, or replication), and neither disk nor program is the limit",
            phrase::plural(op),
            phrase::rate(mean),
            phrase::digits(limit / 1e9),
            phrase::plural(other),
            phrase::rate(least),
            phrase::plural(op)
        );
        let computed = analysis.computed(place, n as u64);
        let what = "throughput in one direction, divided by that of the network";
        finding.evidence = vec![
            computed
                .share(what, 8.0 * mean / limit)
                .held(Bound::Between(*OF_A_NETWORK.start(), *OF_A_NETWORK.end())),
            computed.bytes_per_s("throughput in one direction, mean of the tests", mean),
            computed.bytes_per_s("throughput in the other, least", least).above(OTHER_WAY * mean),
        ];
        finding.assume(BY_A_NETWORK, "tests at the throughput of a network link");
        finding.doubt("nothing in the input names a network", BY_A_NETWORK);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "`ethtool` shows a faster link, and `iperf3` between the machines reaches more",
            "the volume is a local disk without replication: `lsblk`, `drbdadm status`",
        ]);
        finding.next_step = lines(&[
            "`sar -n DEV 1` during the test: is an interface full?",
            "a faster network for storage, or replication that does not wait (DRBD protocol A \
             waits too, once its send buffer is full)",
        ]);
        Some(finding)
    });
    found.collect()
}
