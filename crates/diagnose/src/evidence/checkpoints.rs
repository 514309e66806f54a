//! Checkpoints of a database that wait for something else than their writes and flushes.

use iowhy_model::{Finding, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::phrase;

/// Seconds that neither writes nor flushes account for, and their share of the whole (choices:
/// removing old segments of the log takes seconds).
const ELSEWHERE_S: f64 = 10.0;
const MOST: f64 = 0.8;
/// What that is worth: the server prints all three.
const WAITED: f64 = 0.88;

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
