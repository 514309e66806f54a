//! powermt display of EMC PowerPath: paths to a volume of an array.
//!
//! ## Reads
//! `powermt display dev=all`: each volume by its pseudo device (`emcpowerb`), with the number of
//! its paths and of those that are dead, and `path.state` of a disk whose path is not alive.
//!
//! ## How to capture
//! `powermt display dev=all`.
//!
//! ## Versions
//! PowerPath 4 to 7 on Linux and Solaris.
//!
//! ## Caveats
//! `Q-IOs` are requests in flight at that moment, `Errors` those since the start. A mode `unlic` or
//! `standby` is a path that is not used, and works.
//!
//! ## Not in this output
//! Latencies of a path.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("paths to a volume: powermt display of EMC PowerPath", Level::E, &LABELS);

static LABELS: Labels = Labels {
    lines: &[
        begins("^Pseudo name={name:word}$", |found, report, _| report.name(found.text("name")?))
            .opens_record()
            .like(&["Pseudo name=emcpowerb"]),
        perhaps("^{host:u} {:text}$", row).when(|found| path(found.line()).is_some()).like(&[
            "1 qla2xxx                   sds       FA  8dB   active  dead       0      1",
            "2 QLogic Fibre Channel 2300 sdc        SP A1     active  alive      0      0",
            "2304 ssm@0,0/pci@19,700000/lpfc@2 c2t0d0s0  SP A1     active  alive      0      0",
        ]),
    ],
    own: &[
        "^====", "^----", "^###", "^Symmetrix ID=", "^CLARiiON ID=", "^VNX ID=", "^Unity ID=",
        "^XtremIO ID=", "^HPXP ID=", "^Hitachi ID=", "^Invista ID=", "^VPLEX ID=", "^ESS ID=",
        "^Logical device ID=", "^Device WWN=", "^state=", "^Owner: default=", "^Standard UID=",
        "^Array failover mode:",
    ],
    may_resume: true,
    end: Some(|report, sink| {
        let Some(volume) = report.drive.name().map(str::to_string) else { return };
        let (paths, place) = (report.quoted().to_vec(), report.place().to_string());
        if !paths.is_empty() {
            let (volume, n) = (sink.device(&volume), paths.len() as u64);
            let dead = report.kept("dead").unwrap_or(0.0) as u64;
            sink.add_fact_at(volume, typed::DEVICE_SLAVES, paths, &place);
            sink.add_fact_at(volume, typed::MULTIPATH_PATHS, n, &place);
            sink.add_fact_at(volume, typed::MULTIPATH_FAILED, dead, &place);
        }
    }),
    ..Labels::NEW
};

/// The disk and the state of a row: the name of an adapter and of a port may have blanks, so the
/// row is read from its end: `sds  FA  8dB  active  dead  0  1`.
fn path(line: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [before @ .., _mode, state, queued, errors] = words.as_slice() else { return None };
    integer(queued).and(integer(errors))?;
    ["alive", "dead", "degraded"].contains(state).then_some(())?;
    let is_disk = |word: &&&str| {
        word.starts_with("sd")
            || word.starts_with("hdisk")
            || word.starts_with('c') && word.contains('t')
    };
    Some((before.get(1..)?.iter().rev().find(is_disk)?, state))
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (disk, state) = path(found.line())?;
    report.quote(disk);
    if state == "dead" {
        report.add("dead", 1.0);
        sink.add_fact_at(disk, typed::PATH_STATE, state, report.place());
    }
    Some(())
}
