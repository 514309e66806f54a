//! nodetool tpstats and compactionstats of Cassandra: what is pending.
//!
//! ## Reads
//! `pending tasks: 30` of compactionstats (`compaction.pending`), and from the table `Pool Name
//! Active  Pending ...` the pending reads (`read.pending`), writes (`write.pending`), memtable
//! flushes (`flush.pending`) and compactions.
//!
//! ## How to capture
//! `nodetool tpstats`, `nodetool compactionstats`.
//!
//! ## Versions
//! Cassandra 1.2 to 4, ScyllaDB and DataStax Enterprise print the same. Columns are found by the
//! heading.
//!
//! ## Caveats
//! One moment. `All time blocked` counts since the start and is not read. Pending compactions show
//! that data arrive faster than they are compacted, limited by the disk, the threads or
//! `compaction_throughput`.
//!
//! ## Not in this output
//! Latencies (`nodetool tablehistograms`, `proxyhistograms`), the disks.

use iowhy_model::typed::Key;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("nodetool tpstats, compactionstats of Cassandra", Level::E, &LABELS);

/// Pools whose work is I/O, or waits for it.
const POOLS: [(&str, Key<u64>); 4] = [
    ("ReadStage", typed::READ_PENDING),
    ("MutationStage", typed::WRITE_PENDING),
    ("MemtableFlushWriter", typed::FLUSH_PENDING),
    ("CompactionExecutor", typed::COMPACTION_PENDING),
];

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^Pool Name Active Pending Completed", |found, report, _| {
            // The first column is two words.
            let names = found.line().replacen("Pool Name", "Pool", 1);
            report.heading = Heading::of(&names, &["Pool", "Active", "Pending"])?;
            Some(())
        })
        .like(&[
            "Pool Name                    Active   Pending      Completed   Blocked  All time \
                 blocked",
        ]),
        begins("^pending tasks: {n:u}", |found, report, sink| {
            let pending = found.count("n")?;
            sink.add_fact_at(None, typed::COMPACTION_PENDING, pending, report.place());
            Some(())
        })
        .like(&["pending tasks: 30"]),
        perhaps("^{pool:word} {:u} {:u} {:u} {:text}$", |found, report, sink| {
            let words: Vec<&str> = found.line().split_whitespace().collect();
            let pending = integer(report.heading.word("Pending", &words)?)?;
            let pool = found.text("pool")?;
            if let Some((_, key)) = POOLS.iter().find(|(name, _)| *name == pool) {
                sink.add_fact_at(None, key.clone(), pending, report.place());
            }
            Some(())
        })
        .like(&["CompactionExecutor                4        33          75226         \
                 0                 0"]),
    ],
    own: &[
        "^compaction type keyspace",
        "^{Compaction|Validation|Cleanup|Scrub} {:word} {:word} {:u} ",
        "^Active compaction remaining time",
        "^Message type Dropped",
        "^- {:word}: {:u}$",
    ],
    ..Labels::NEW
};
