//! sadf's lines and XML: sar's disk tables, one value per line (`-p`), or as attributes (`-x`).
//!
//! ## Reads
//! Lines `host 600 2026-11-21 00:10:01 UTC sda await 5.00` separated by tabs, one value each; and
//! elements `<disk-device dev="sda" tps="10.00" ... await="5.00" util-percent="2.00"/>` inside
//! `<timestamp date="2026-11-21" time="00:10:01" interval="600">`. They are read like the table of
//! `sar -d`.
//!
//! ## How to capture
//! `sadf -p sa21 -- -d`, `sadf -x sa21 -- -d` of the sysstat package.
//!
//! ## Versions
//! sysstat 10 to 12.7: `rd_sec/s` and `rkB/s`, `avgrq-sz` and `areq-sz`, with `svctm` or without.
//!
//! ## Caveats
//! A row is the mean over the interval that ends at its time. In XML `rkB` and `rd_sec` are the
//! same bytes twice, per second. Other values in the same output (CPUs, network) are ignored.
//! `await` contains the time in the host's queue; `util-percent` is not a measure of saturation.
//!
//! ## Not in this output
//! Reads and writes separately, individual latencies.

use crate::counters::disk_columns::{RowBuilder, is_value};
use crate::counters::sar_columns::{SadfClock, own};
use crate::program::*;

pub(super) const FORMAT: Format = Format::by_line::<Sadf>(
    "sadf -p and -x: sar's disks, one value per line or in XML",
    Level::A,
    &["\t", "<sysstat"],
    |line| value(line).is_some() || line.trim() == "<sysstat",
);

/// sar's columns of disks, and the attributes of the XML that are the same.
const COLUMNS: [(&str, &str); 14] = [
    ("tps", "tps"),
    ("rkB/s", "rkB"),
    ("wkB/s", "wkB"),
    ("dkB/s", "dkB"),
    ("rd_sec/s", ""),
    ("wr_sec/s", ""),
    ("avgrq-sz", ""),
    ("areq-sz", "areq-sz"),
    ("avgqu-sz", ""),
    ("aqu-sz", "aqu-sz"),
    ("await", "await"),
    ("svctm", "svctm"),
    ("%util", "util-percent"),
    ("bread/s", ""),
];

/// `host 600 2026-11-21 00:10:01 UTC sda await 5.00`: seconds, time, disk, column, value.
fn value(line: &str) -> Option<(f64, WallTime, &str, &'static str, &str)> {
    let mut fields = line.trim_end().split('\t');
    let (_, seconds, time) = (fields.next()?, fields.next()?, fields.next()?);
    let (disk, column, value) = (fields.next()?, fields.next()?, fields.next()?);
    let (column, _) = *COLUMNS.iter().find(|(known, _)| *known == column)?;
    let fits = fields.next().is_none() && is_value(value) && !disk.is_empty() && disk != "-";
    Some((decimal(seconds)?, WallTime::read(time)?, disk, column, value)).filter(|_| fits)
}

/// The value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

#[derive(Default)]
struct Sadf {
    clock: SadfClock,
    /// The interval whose disks are being read: its seconds and its end.
    now: Option<(f64, WallTime)>,
    /// The disk whose values are being read.
    disk: Option<(String, RowBuilder)>,
}

impl Reader for Sadf {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some((seconds, moment, disk, column, value)) = value(line) {
            let same = self.now == Some((seconds, moment))
                && self.disk.as_ref().is_some_and(|(name, _)| name == disk);
            if !same {
                self.emit(sink);
                self.now = Some((seconds, moment));
                self.disk = Some((disk.to_string(), RowBuilder::default()));
            }
            if let Some((_, draft)) = &mut self.disk {
                draft.take(&own(column), value);
            }
            return Step::Consumed;
        }
        let text = line.trim();
        if text.starts_with("<timestamp ") {
            self.emit(sink);
            let of = |name| attribute(text, name);
            let moment = of("date").zip(of("time"));
            let moment = moment.and_then(|(date, time)| WallTime::read(&format!("{date} {time}")));
            self.now = of("interval").and_then(decimal).zip(moment);
            return Step::Consumed;
        }
        if text.starts_with("<disk-device ") {
            let Some(name) = attribute(text, "dev") else {
                return Step::skipped("the element has no device");
            };
            if self.now.is_none() {
                return Step::skipped("the line above it is not a timestamp");
            }
            let mut draft = RowBuilder::default();
            for (column, xml) in COLUMNS.iter().filter(|(_, xml)| !xml.is_empty()) {
                if let Some(value) = attribute(text, xml).filter(|value| is_value(value)) {
                    draft.take(&own(column), value);
                }
            }
            self.disk = Some((name.to_string(), draft));
            self.emit(sink);
            return Step::Consumed;
        }
        if text == "</sysstat>" {
            return Step::End;
        }
        let other = text.is_empty() || text.starts_with('<') || text.starts_with("xmlns");
        let torn = line.matches('\t').count() == 5 && COLUMNS.iter().any(|(c, _)| line.contains(c));
        match (other || text.starts_with("xsi:"), torn) {
            (true, _) => Step::Consumed,
            (_, true) => Step::skipped("time or value missing"),
            _ if line.matches('\t').count() == 5 => Step::Consumed,
            _ => Step::NotMine,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.emit(sink);
    }
}

impl Sadf {
    fn emit(&mut self, sink: &mut dyn Sink) {
        let (Some((name, draft)), Some((seconds, moment))) = (self.disk.take(), self.now) else {
            return;
        };
        self.clock.emit((&name, &draft), (seconds, moment), sink);
    }
}
