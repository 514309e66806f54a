//! LVM's logical volumes: `lvs`.
//!
//! ## Reads
//! Of a thin pool the space in use for data and metadata (`pool.data.used`, `pool.metadata.used`),
//! for a snapshot that of its copied blocks (`pool.data.used`); for a mirror or RAID volume that is
//! not in sync its action (`array.action`) and progress (`array.percent`). All volumes are counted
//! (`lvm.volumes`).
//!
//! ## How to capture
//! `lvs`, `lvs -a`, also with `-o+devices` or other columns after the usual ones.
//!
//! ## Versions
//! LVM2 2.02.95 to 2.03; before that, column `Snap%` instead of `Data%`.
//!
//! ## Caveats
//! Empty cells are spaces, so columns are identified by their values: a percentage has a fraction,
//! a name has a letter. The first letter of `Attr` is the kind of a volume: `t` thin pool, `s`
//! snapshot, `r` and `R` RAID, `m` and `M` mirror. A cache pool that is 100 % full works as
//! intended.
//!
//! ## Not in this output
//! The fill rate, whether writes to a full pool wait or fail (`lv_when_full`).

use iowhy_model::typed::{ArrayAction, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("LVM's logical volumes: usage of thin pools and snapshots", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins("^LV VG Attr LSize", |_, report, _| report.add("volumes", 0.0)).like(&[
            "LV   VG   Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert",
        ]),
        perhaps("^{volume:word} {group:word} {attributes:word} {:word}", row)
            .like(&["thinpool vgpaas twi-aot-D- 80.00g                 100.00 0.12"]),
    ],
    end: Some(|report, sink| {
        let volumes = report.kept("volumes").unwrap_or(0.0);
        sink.add_fact(None, typed::LVM_VOLUMES, volumes as u64);
    }),
    ..Labels::NEW
};

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    // `twi-aotzD-`: nine letters, ten since 2.02.99.
    let attributes = found.text("attributes")?;
    let letters = attributes.bytes().all(|byte| byte == b'-' || byte.is_ascii_alphabetic());
    ((9..=10).contains(&attributes.len()) && letters).then_some(())?;
    report.add("volumes", 1.0);
    let volume = found.text("volume")?.trim_matches(['[', ']']);
    let name = format!("{}/{volume}", found.text("group")?);
    let shares: Vec<Share> = found.line().split_whitespace().skip(4).filter_map(percent).collect();
    let mut state = |key, share| sink.add_fact_at(&name, key, share, report.place());
    match (attributes.bytes().next(), shares.as_slice()) {
        (Some(b't'), [data, metadata, ..]) => {
            state(typed::POOL_DATA_USED, *data);
            state(typed::POOL_METADATA_USED, *metadata);
        }
        (Some(b's' | b'S'), [data, ..]) => state(typed::POOL_DATA_USED, *data),
        (Some(b'r' | b'R' | b'm' | b'M'), [done, ..]) if *done != Share(1.0) => {
            sink.add_fact_at(&name, typed::ARRAY_ACTION, ArrayAction::Resync, report.place());
            sink.add_fact_at(&name, typed::ARRAY_PERCENT, *done, report.place());
        }
        _ => {}
    }
    Some(())
}

/// A percentage, `100.00`; who quotes a row may have made it bold.
fn percent(word: &str) -> Option<Share> {
    let word = word.trim_matches('*');
    let share =
        decimal(word).filter(|share| word.contains('.') && (0.0..=100.0).contains(share))?;
    Some(Share::from_percent(share))
}
