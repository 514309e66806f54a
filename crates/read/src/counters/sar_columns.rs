//! sar's columns by iostat's names, and its devices by the kernel's.

use iowhy_model::{Nanos, Sink, Time};

use crate::counters::disk_columns::RowBuilder;
use crate::{WallTime, device_name};

/// sar's columns by iostat's names: bytes by direction with requests of both together are those of
/// iostat's basic report.
pub(crate) fn own(column: &str) -> String {
    let name = match column {
        "rkB/s" => "kB_read/s",
        "wkB/s" => "kB_wrtn/s",
        "dkB/s" => "kB_dscd/s",
        "rd_sec/s" | "sect/s" => "Blk_read/s",
        "wr_sec/s" => "Blk_wrtn/s",
        other => other,
    };
    name.to_string()
}

/// `dev8-16` by the kernel's name for that number, if it has a fixed one.
pub(crate) fn named(name: &str) -> String {
    let numbers = name.strip_prefix("dev").and_then(|numbers| numbers.split_once('-'));
    let numbers =
        numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.map_or_else(|| name.to_string(), |(major, minor)| device_name(major, minor))
}

/// The clock of sadf's rows: each shows when its interval ended, and its seconds.
#[derive(Default)]
pub(crate) struct SadfClock(Option<(WallTime, f64)>);

impl SadfClock {
    /// Gives a row out.
    pub(crate) fn emit(
        &mut self,
        (name, draft): (&str, &RowBuilder),
        (seconds, moment): (f64, WallTime),
        sink: &mut dyn Sink,
    ) {
        let (first, before) = *self.0.get_or_insert_with(|| {
            moment.state(seconds, sink);
            (moment, seconds)
        });
        let since = moment.since(first).map(|since| since + before - seconds);
        let mut interval = draft.interval(sink.device(&named(name)));
        interval.length = Some(Nanos::from_seconds(seconds)).filter(|_| seconds > 0.0);
        interval.start = since.filter(|since| *since >= 0.0).map(Time::from_seconds);
        sink.interval(interval);
    }
}
