//! Paths to a volume: `multipath -ll`.
//!
//! ## Reads
//! Each volume with its paths; single rows of paths (`grep`); and the messages of `multipathd`
//! about a path (`tur checker reports path is down`, `mark as failed`, `path offline`,
//! `state down`). Facts of the volume are `device.alias` (its name), `device.model`,
//! `device.slaves` (the paths), `multipath.paths` and `multipath.failed`; of a path that does not
//! work `path.state`, as printed.
//!
//! ## How to capture
//! `multipath -ll`, `multipathd show topology`, `journalctl -u multipathd`.
//!
//! ## Versions
//! multipath-tools 0.4.9 to 0.11; the older layout in brackets, `[active][ready]`, too.
//!
//! ## Caveats
//! A path in a group that is only `enabled` is on standby and healthy. With `queue_if_no_path`
//! requests wait forever when all paths fail.
//!
//! ## Not in this output
//! Latencies of a path.

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("paths to a volume: multipath -ll", Level::E, &LABELS);

static LABELS: Labels = Labels {
    near: 1,
    lines: &[
        announces("dm-{:#}", |found, report, sink| {
            let (name, kernel, model) = volume(found.line())?;
            report.name(kernel);
            if name != kernel {
                let names = vec![name.to_string()];
                sink.add_fact_at(kernel, typed::DEVICE_ALIAS, names, report.place());
            }
            if !model.is_empty() {
                sink.add_fact_at(kernel, typed::DEVICE_MODEL, model, report.place());
            }
            Some(())
        })
        .when(|found| volume(found.line()).is_some())
        .opens_record()
        .like(&["mpatha (3600601602d702d00) dm-2 DGC,VRAID"]),
        follows("^{|[}size=", |_, _, _| Some(())).like(&[
            "size=100G features='1 queue_if_no_path' hwhandler='1 alua' wp=rw",
            "[size=100G][features=1 queue_if_no_path][hwhandler=1 alua]",
        ]),
        // Nothing else has four numbers and a name, and shows whether it works.
        begins("{active|failed|undef}", row)
            .when(|found| path(found.line()).is_some_and(|(_, reported)| is_state(&reported)))
            .like(&["|- 1:0:0:1 sdb 8:16 active ready running"]),
        // Of a path that is lost the address is `#:#:#:#`.
        says(":", row)
            .when(|found| path(found.line()).is_some())
            .like(&["`- #:#:#:# sdb 8:16 orphan undef"]),
        // The daemon's message about a lost path (multipathd/main.c, check_path).
        begins("multipathd{*}: {reported:text}$", |found, report, sink| {
            let (volume, disk) = gone(found.text("reported")?)?;
            sink.add_fact_at(disk, typed::PATH_STATE, "down", report.place());
            let path = format!("{volume} {disk}");
            if report.quoted().contains(&path) { Some(()) } else { report.quote(&path) }
        })
        .when(|found| found.text("reported").is_some_and(|reported| gone(reported).is_some()))
        .like(&[
            "Nov 09 08:26:12 store1 multipathd[2919]: sdb: state down, checker not called",
            "multipathd[4554]: mpathaq: sdak - tur checker reports path is down",
        ]),
        begins(
            "multipathd{*}: {volume:word}: remaining active paths: 0$",
            |found, report, sink| {
                let volume = found.text("volume")?;
                let gone = paths(report, volume);
                state(report, volume, gone.len() as u64, gone, sink)
            },
        )
        .like(&["multipathd[1491]: mpathu: remaining active paths: 0"]),
    ],
    own: &["multipathd[", "^[{ }size=", "policy='", "round-robin 0 ["],
    may_resume: true,
    end: Some(|report, sink| {
        let Some(volume) = report.drive.name().map(str::to_string) else { return };
        let failed = report.kept("failed").unwrap_or(0.0) as u64;
        state(report, &volume, failed, paths(report, ""), sink);
    }),
    ..Labels::NEW
};

/// Whether a row shows whether its path works.
fn is_state(reported: &str) -> bool {
    let words: Vec<&str> = reported.split_whitespace().collect();
    let device_mapper = matches!(words.first(), Some(&"active" | &"failed" | &"undef"));
    let checker = ["ready", "faulty", "shaky", "ghost", "i/o", "timeout", "delayed"];
    device_mapper && words.get(1).is_some_and(|word| checker.contains(word))
}

/// The volume and the path that the daemon reports gone: `mpathaq: sdak - tur checker reports path
/// is down`.
fn gone(reported: &str) -> Option<(&str, &str)> {
    let gone = ["path is down", "mark as failed", "path offline", "state down"];
    // The volume may precede the path.
    let of_volume = reported.split_once(": ");
    [Some(("", reported)), of_volume].into_iter().flatten().find_map(|(volume, part)| {
        let (disk, reported) = part.split_once(' ')?;
        let disk = disk.trim_end_matches(':');
        let is_gone = gone.iter().any(|words| reported.contains(words));
        let is_disk = disk.bytes().all(|b| b.is_ascii_alphanumeric()) && disk.starts_with("sd");
        (is_gone && is_disk).then_some((volume, disk))
    })
}

/// `mpatha (3600601...) dm-2 DGC,VRAID`: name, kernel's name, model.
fn volume(line: &str) -> Option<(&str, &str, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| {
        word.strip_prefix("dm-").is_some_and(|number| integer(number).is_some())
    })?;
    let name = words.first().filter(|_| place > 0 && place < 4)?;
    let model = words.get(place + 1..)?.join(" ").replace(',', " ");
    Some((name, words.get(place)?, model))
}

/// `1:0:0:1 sdb 8:16 active ready running`: the disk, and its reported state.
fn path(line: &str) -> Option<(&str, String)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let place = words.iter().position(|word| word.matches(':').count() == 3)?;
    let disk = words.get(place + 1)?;
    let text = line.replace(['[', ']'], " ");
    let state_words: Vec<&str> =
        text.split_whitespace().skip_while(|word| word != disk).skip(2).collect();
    words.get(place + 2)?.contains(':').then(|| (*disk, state_words.join(" ")))
}

fn row(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (disk, reported) = path(found.line())?;
    report.quote(&format!(" {disk}"));
    let bad = ["failed", "faulty", "offline", "shaky"];
    if bad.iter().any(|word| reported.contains(word)) {
        report.add("failed", 1.0);
        sink.add_fact_at(disk, typed::PATH_STATE, reported, report.place());
    }
    Some(())
}

/// The paths that were quoted of a volume; the one with these rows has no name.
fn paths(report: &Report, volume: &str) -> Vec<String> {
    let quoted = report.quoted().iter().filter_map(|path| path.split_once(' '));
    quoted.filter(|(of, _)| *of == volume).map(|(_, disk)| disk.to_string()).collect()
}

/// States the paths of a volume, and how many of them do not work.
fn state(
    report: &Report,
    volume: &str,
    failed: u64,
    paths: Vec<String>,
    sink: &mut dyn Sink,
) -> Option<()> {
    if !paths.is_empty() {
        let (volume, n) = (sink.device(volume), paths.len() as u64);
        sink.add_fact_at(volume, typed::DEVICE_SLAVES, paths, report.place());
        sink.add_fact_at(volume, typed::MULTIPATH_PATHS, n, report.place());
        sink.add_fact_at(volume, typed::MULTIPATH_FAILED, failed, report.place());
    }
    Some(())
}
