//! arcstat: hits and misses of the ZFS cache (ARC).
//!
//! ## Reads
//! The rows below the heading `time ... read ... miss`: the share of reads served by the ARC
//! (`arc.hits`) and its misses per second (`arc.misses`), over all rows. The same share since the
//! module was loaded, of `arc_summary` and of /proc/spl/kstat/zfs/arcstats.
//!
//! ## How to capture
//! `arcstat 1`, `arcstat -f time,arcsz,read,hits,miss,hit% 1 10`.
//!
//! ## Versions
//! arcstat of illumos, FreeBSD and OpenZFS; columns are found by the heading, in any order.
//!
//! ## Caveats
//! Rows are taken as one second each, unless their times differ by more. Reads of the ARC are
//! blocks of files and of metadata, including prefetch. A miss may be served by an L2ARC.
//!
//! ## Not in this output
//! Writes, latencies, which pool.

use iowhy_model::typed::{PerSecond, Share};

use crate::describe::report::*;
use crate::text::numbers::in_thousands;

pub(super) const FORMAT: Format =
    Format::labels("hits and misses of the ZFS cache (ARC)", Level::E, &LABELS);

const READS: &str = "reads";
const MISSES: &str = "misses";
/// Since the module was loaded.
const HITS: &str = "hits since";
const MISSED: &str = "missed since";
/// The part of arc_summary that is about all accesses.
const ALL: &str = "all";
const ROWS: &str = "rows";

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^{names:text}$", |found, report, _| {
            report.heading = heading(found)?;
            Some(())
        })
        .when(|found| heading(found).is_some())
        .shaped("miss")
        .like(&[
            "time  arcsz  read  hits  miss  hit%  miss%",
            "    time  read  miss  miss%  dmis  dm%  pmis  pm%  mmis  mm%  size     c  avail",
        ]),
        perhaps("^{:u}:{:u}:{:u} {:text}$", |found, report, _| {
            let words: Vec<&str> = found.line().split_whitespace().collect();
            (words.len() == report.heading.width()).then_some(())?;
            let heading = std::mem::take(&mut report.heading);
            let of = |name: &str| heading.word(name, &words).and_then(in_thousands);
            let known = of("read").zip(of("miss"));
            report.heading = heading;
            let (reads, misses) = known.filter(|(reads, misses)| misses <= reads)?;
            report.add(READS, reads);
            report.add(MISSES, misses);
            report.add(ROWS, 1.0)
        })
        .like(&["14:44:34    59G   377   375     2    99      0"]),
        // /proc/spl/kstat/zfs/arcstats: name, type, value.
        begins("^hits 4 {n:n}$", |found, report, _| report.keep(HITS, found.number("n")?))
            .like(&["hits                            4    98577966"]),
        perhaps("^misses 4 {n:n}$", |found, report, _| report.keep(MISSED, found.number("n")?))
            .like(&["misses                          4    39203785"]),
        // arc_summary of two generations.
        begins("^ARC {T|t}otal accesses{*}:{:text}$", |_, report, _| report.enter(ALL)).like(&[
            "ARC Total accesses:                                     4.79M",
            "ARC total accesses (hits + misses):                                61.0M",
        ]),
        perhaps("^Cache {H|h}it {R|r}atio: {share:n}{ }%{*}", |found, report, _| {
            (report.part == ALL).then_some(())?;
            report.enter("");
            let share = found.number("share").filter(|share| *share > 0.0 && *share <= 100.0)?;
            report.keep(HITS, share)?;
            report.keep(MISSED, 100.0 - share)
        })
        .like(&[
            "Cache Hit Ratio:                88.34%  4.23M",
            "Cache hit ratio:                               98.4 %      60.0M",
        ]),
    ],
    own: &["^{:word} 4 {:u}$"],
    end: Some(|report, sink| {
        let ratio = report.kept(HITS).zip(report.kept(MISSED)).filter(|(hits, _)| *hits > 0.0);
        if let Some((hits, missed)) = ratio {
            sink.add_fact(None, typed::ARC_HITS, Share(hits / (hits + missed)));
        }
        let known = [READS, MISSES, ROWS].map(|what| report.kept(what));
        let [Some(reads), Some(misses), Some(rows)] = known else { return };
        if reads > 0.0 {
            sink.add_fact(None, typed::ARC_HITS, Share(1.0 - misses / reads));
            sink.add_fact(None, typed::ARC_MISSES, PerSecond(misses / rows));
        }
    }),
    ..Labels::NEW
};

fn heading(found: &Found) -> Option<Heading> {
    let line = found.line();
    line.trim_start().starts_with("time ").then_some(())?;
    Heading::of(line, &["time", "read", "miss"])
}
