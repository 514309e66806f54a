//! NetApp sysstat -x: throughput and utilisation of a filer's disks, and its consistency points.
//!
//! ## Reads
//! Below the heading `CPU NFS CIFS ... CP CP Disk` KiB per second read from and written to all
//! disks (`disks.read.*`, `disks.written.*`), the utilisation of its busiest disk
//! (`netapp.disk.util`, the largest), and consistency points that began while one was being written
//! (`netapp.cp.back`).
//!
//! ## How to capture
//! `sysstat -x 1`; in cluster mode `node run -node N sysstat -x 1`.
//!
//! ## Versions
//! Data ONTAP 7 to 9. Rows are read by the columns in front of the type of the consistency point.
//!
//! ## Caveats
//! A consistency point writes what the memory holds: a disk is busy meanwhile although no client
//! waits. Clients wait for types `B` and `b` (one follows the other). `T` is the timer.
//!
//! ## Not in this output
//! Latencies (`stats show`, `qos statistics`), which volume.

use iowhy_model::typed::Share;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("NetApp sysstat -x: disks and consistency points", Level::E, &LABELS);

const BACK: &str = "back to back";
const BUSIEST: &str = "utilisation";
/// Columns of disks in a row: read, written, and the column of the consistency point's type.
const READ_KB: usize = 7;
const WRITTEN_KB: usize = 8;
const KIND: usize = 14;
const UTILISATION: usize = 15;

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^CPU NFS CIFS HTTP Total Net kB/s Disk kB/s", |_, _, _| Some(())).like(&[
            "CPU    NFS   CIFS   HTTP   Total     Net   kB/s    Disk   kB/s    Tape   kB/s  Cache  \
             Cache    CP  CP  Disk",
        ]),
        perhaps("^{:n}% {:u} {:u} {:u} {:u} {:u} {:u} {:u} {:u} {:text}$", row).like(&[
            "33%      0      0      0       0      0       0     505    569       0      0   \
             >60    100%   66%  T    88%",
        ]),
    ],
    own: &["^in out read write", "^--"],
    end: Some(|report, sink| {
        let totals: [Total; 2] = [
            (BUSIEST, |percent| typed::NETAPP_DISK_UTIL.with(Share::from_percent(percent))),
            (BACK, |count| typed::NETAPP_CP_BACK.with(count as u64)),
        ];
        report.state_kept(None, &totals, sink);
    }),
    ..Labels::NEW
};

fn row(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let words: Vec<&str> = found.line().split_whitespace().collect();
    let percent = |at: usize| {
        let percent = decimal(words.get(at)?.strip_suffix('%')?)?;
        (0.0..=100.0).contains(&percent).then_some(percent)
    };
    let (busy, kind) = (percent(UTILISATION)?, words.get(KIND)?);
    let kb = [READ_KB, WRITTEN_KB].map(|at| words.get(at).and_then(|word| decimal(word)));
    let [Some(read), Some(written)] = kb else { return None };
    report.row(READ, read);
    report.row(WRITTEN, written);
    report.most(BUSIEST, busy);
    report.add(BACK, if kind.starts_with(['B', 'b']) { 1.0 } else { 0.0 })
}
