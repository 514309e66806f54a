//! gmirror, graid and graid3 status of FreeBSD: arrays of GEOM and their members.
//!
//! ## Reads
//! The table `Name Status Components`: of an array `array.state`, of a member that is being
//! synchronised `array.action` and `array.percent` of its array.
//!
//! ## How to capture
//! `gmirror status`, `graid status`, `graid3 status`.
//!
//! ## Versions
//! FreeBSD 5 to 14; older ones print no state beside a member.
//!
//! ## Caveats
//! `DEGRADED` lasts until the last member is synchronised. An array that lacks a member does not
//! list it.
//!
//! ## Not in this output
//! Latencies (`gstat`), why a member left (`dmesg`).

use iowhy_model::typed::{ArrayAction, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("gmirror and graid status of FreeBSD: arrays", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^Name Status Components$", |_, _, _| Some(()))
            .like(&["Name    Status  Components"]),
        says("^{name:word} {state:word} {member:word}{*}", |found, report, sink| {
            let name = found.text("name")?;
            report.keep_text("array", name);
            let state = found.text("state")?.to_lowercase();
            sink.add_fact_at(name, typed::ARRAY_STATE, state, report.place());
            member(found, report, sink)
        })
        .when(|found| is_array(found.text("name").unwrap_or_default()))
        .like(&["mirror/gm0  DEGRADED  ada1 (ACTIVE)", "mirror/gm0  COMPLETE  ad4"]),
        perhaps("^{member:word} ({:text})$", member).like(&["ada0 (SYNCHRONIZING, 64%)"]),
        perhaps("^{member:word}$", |_, report, _| report.kept_text("array").map(|_| ()))
            .like(&["ad8"]),
    ],
    ..Labels::NEW
};

fn is_array(name: &str) -> bool {
    ["mirror/", "raid/", "raid3/"].iter().any(|class| name.starts_with(class))
}

fn member(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let array = report.kept_text("array")?;
    let Some((_, done)) = found.line().split_once("(SYNCHRONIZING, ") else { return Some(()) };
    let done = Share::from_percent(decimal(done.split('%').next()?)?);
    let array = sink.device(array);
    sink.add_fact_at(array, typed::ARRAY_ACTION, ArrayAction::Resync, report.place());
    sink.add_fact_at(array, typed::ARRAY_PERCENT, done, report.place());
    Some(())
}
