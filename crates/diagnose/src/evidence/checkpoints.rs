//! Checkpoints of a database that wait for something else than their writes and flushes, and those
//! that come because its log of changes is full.

use iowhy_model::{Evidence, Finding, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::flushes;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Seconds that neither writes nor flushes account for, and their share of the whole (choices:
/// removing old segments of the log takes seconds).
const ELSEWHERE_S: f64 = 10.0;
const MOST: f64 = 0.8;
/// What that is worth: the server prints all three.
const WAITED: f64 = 0.88;

/// Share of a database's checkpoints that the volume of changes forces, from which on its own
/// limit, and no disk, sets their rate (a choice), of at least this many.
const MOSTLY_FORCED: f64 = 0.5;
const CHECKPOINTS: f64 = 4.0;
/// What that is worth (a choice): the server counts them, but not who waits for their writes.
const COUNTED: f64 = 0.75;
/// A flush of this length is no matter of how often they come, ns (layer.below begins there).
const LONG_FLUSH_NS: u64 = 2_000_000_000;

/// Checkpoints that came because the log of changes was full, and not because it was time.
pub(crate) struct Forced<'a> {
    forced: f64,
    all: f64,
    /// The shortest time between two that the database remarked on, s.
    apart_s: Option<f64>,
    reading: FactReading<'a>,
}

impl Forced<'_> {
    /// How many.
    pub(crate) fn evidence(&self, analysis: &Analysis) -> Evidence {
        let what = format!(
            "checkpoints of a database triggered by the volume of changes, of {}",
            self.all
        );
        analysis.stated(&self.reading).count(&what, self.forced)
    }

    /// How often, as part of a sentence.
    pub(crate) fn apart(&self) -> String {
        self.apart_s.map_or(String::new(), |seconds| {
            format!(", at intervals down to {}", phrase::ms(seconds * 1e3))
        })
    }
}

/// Those of a host, if they are most of its checkpoints or its database remarks on them.
pub(crate) fn forced<'s>(analysis: &'s Analysis, host: Host<'s>) -> Option<Forced<'s>> {
    let about = analysis.machine(host);
    let (forced, reading) = about.machine_number(key::CHECKPOINT_FORCED)?;
    let (all, _) = about.machine_number(key::CHECKPOINT_STARTS)?;
    let apart_s = about.machine_number(key::CHECKPOINT_INTERVAL).map(|(seconds, _)| seconds);
    // The database's own log event that they come too often needs no count.
    let counted = all >= CHECKPOINTS && forced >= MOSTLY_FORCED * all;
    (apart_s.is_some() || counted).then_some(Forced { forced, all, apart_s, reading })
}

/// One finding for each host whose database writes in bursts because its log of changes is full.
pub(crate) fn in_bursts(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.hosts().into_iter().filter_map(|host| {
        let known = forced(analysis, host)?;
        let mut finding = new_finding(verdict, None, vec![known.reading.listing]);
        finding.sentence = format!(
            "the database begins a checkpoint whenever its log of changes is full{}: each writes \
             every changed page, and the changes that follow copy whole pages into the log again; \
             its limit sets this rate, and no disk",
            known.apart()
        );
        finding.evidence = vec![known.evidence(analysis)];
        finding.assume(COUNTED, "checkpoints forced by the volume of changes");
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        let longest = flushes::of_programs(analysis, host).map(|(_, ns)| ns).max();
        let why = "a flush took seconds: the storage below may be too slow";
        finding.doubt_if(longest.is_some_and(|ns| ns >= LONG_FLUSH_NS), why, SHAPE_ALONE);
        finding.refuted_by =
            lines(&["requests are as slow between two checkpoints: `iostat -x 1` beside the log"]);
        finding.next_step = lines(&[
            "a larger log: `max_wal_size` of PostgreSQL, so that checkpoints come by \
             `checkpoint_timeout`; `checkpoint_completion_target=0.9` spreads their writes",
            "what changes so much: a bulk load, an index that is built? `pg_stat_wal`, \
             `pg_stat_statements` by `wal_bytes`",
        ]);
        Some(finding)
    });
    found.collect()
}

/// One finding for each log whose checkpoints took long, and hardly any of it for I/O.
pub(crate) fn waited(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = analysis.listings().filter_map(|(place, listing)| {
        let about = analysis.about(place, "");
        let of_here = |key| about.machine_number(key).filter(|(_, from)| from.listing == place);
        let (total, reading) = of_here(key::CHECKPOINT_TOTAL)?;
        let (write, sync) = (of_here(key::CHECKPOINT_WRITE)?.0, of_here(key::CHECKPOINT_SYNC)?.0);
        let elsewhere = total - write - sync;
        (elsewhere >= ELSEWHERE_S && elsewhere >= MOST * total).then_some(())?;
        let of = listing.histograms().next().map(|one| one.device);
        let mut finding = new_finding(verdict, of, vec![place]);
        finding.sentence = format!(
            "the checkpoints took {}, of which writes and flushes took {}: the server waited for \
             something else, such as a lock, a replication slot or memory",
            phrase::ms(total * 1e3),
            phrase::ms((write + sync) * 1e3)
        );
        let stated = analysis.stated(&reading);
        finding.evidence = vec![
            analysis
                .computed(place, 1)
                .seconds("time of checkpoints without their writes and flushes", elsewhere)
                .above(ELSEWHERE_S),
            stated.seconds("duration of checkpoints", total),
            stated.seconds("their writes and flushes", write + sync),
        ];
        finding.assume(WAITED, "checkpoints that waited for no I/O");
        (finding.explained_share, finding.share_is_assumed) = (elsewhere / total, true);
        finding.refuted_by =
            lines(&["the same log shows slow commits or reads at other times: then both are true"]);
        finding.next_step = lines(&[
            "the errors above in the same log: which process failed while it held a lock?",
            "`SELECT pid, wait_event_type, wait_event, query FROM pg_stat_activity` during the \
             next one; `gdb -p PID -batch -ex bt` of the checkpointer",
        ]);
        Some(finding)
    });
    found.collect()
}
