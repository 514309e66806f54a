//! esxtop of VMware ESXi: commands, bytes and latencies of adapters, devices and volumes.
//!
//! ## Reads
//! The rows below a heading with `CMDS/s` and `DAVG/cmd` of the disk screens (`d` adapters, `u` devices): commands per second,
//! MB, the time on the device (`DAVG`), in the kernel's queue (`KAVG`) and both (`GAVG`, which a guest sees), by direction
//! where they are shown; commands active and queued (`ACTV`, `QUED`).
//!
//! ## Where it comes from
//! `esxtop`, `resxtop`: what is copied off the screen. The CSV of `-b` is another thing and is not read.
//!
//! ## Versions
//! ESX 3 to ESXi 8: columns are found by the heading, in any choice and order.
//!
//! ## Traps
//! MB are 2^20 bytes. A row is the mean since the one before, five seconds by default; the first screen is since the boot
//! in some versions. `QAVG` is a part of `KAVG`. `%USD` is the share of the device's queue that is in use, no busy share. A
//! terminal cuts rows at its right edge. Names may hold blanks (`{NFS}vmware isos`) and are cut by the screen.
//!
//! ## Cannot know
//! How latencies are distributed, which virtual machine asked, how long the device was busy. Whether whole lines are
//! missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Op, Sink};

use crate::counters::stated::rates;
use crate::text::columns::Heading;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "esxtop",
    summary: "esxtop of VMware ESXi: commands and latencies of disks",
    manual: iowhy_model::manual!("esxtop.rs"),
    level: Level::A,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| heading(line).is_some())),
    reader: || Box::new(Esxtop::default()),
};

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;

/// The columns behind the name.
fn heading(line: &str) -> Option<Heading> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (first, columns) = words.split_first()?;
    let named = ["ADAPTR", "DEVICE", "VMNAME", "GID"].contains(first);
    let all = ["CMDS/s", "DAVG/cmd"].iter().all(|column| columns.contains(column));
    (named && all).then(|| Heading::from_words(columns))
}

#[derive(Default)]
struct Esxtop {
    columns: Heading,
}

impl Reader for Esxtop {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(columns) = heading(line) {
            self.columns = columns;
            return Step::Took;
        }
        let text = line.trim();
        if text.is_empty() || text.contains(" worlds") {
            return Step::Took;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let figures = words.iter().filter(|word| decimal(word).is_some()).count();
        if figures < 3 {
            return Step::Passed;
        }
        // A name may hold blanks, so the columns are counted from the end.
        let width = self.columns.width();
        let Some(begin) = words.len().checked_sub(width).filter(|begin| *begin > 0) else {
            return Step::Skipped("the values do not fit the heading".to_string());
        };
        let (name, values) = words.split_at(begin);
        self.row(&name.join(" "), values, sink);
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }
}

impl Esxtop {
    fn row(&self, name: &str, values: &[&str], sink: &mut dyn Sink) {
        let of = |column: &str| self.columns.number(column, values).filter(|value| *value >= 0.0);
        let ns = |column: &str| of(column).map(|ms| ms * NS_PER_MS);
        let mut interval = Interval::new(sink.device(name), Layer::Block);
        let parts = [
            (Op::Read, "READS/s", "MBREAD/s", "GAVG/rd"),
            (Op::Write, "WRITES/s", "MBWRTN/s", "GAVG/wr"),
        ];
        for (op, ios, bytes, wait) in parts {
            let bytes = of(bytes).map(|mib| mib * MIB);
            let known = rates(of(ios), bytes, ns(wait));
            interval.rates.extend(known.map(|rates| (op, rates)));
        }
        let commands = of("CMDS/s");
        if interval.rates.is_empty() {
            interval.mixed = rates(commands, None, ns("GAVG/cmd"));
        }
        let any = commands.is_some_and(|count| count > 0.0);
        let known = |column: &str| ns(column).filter(|ns| any && *ns > 0.0);
        interval.await_ns = known("GAVG/cmd");
        interval.device_ns = known("DAVG/cmd");
        interval.wait_ns = known("KAVG/cmd");
        interval.in_flight = of("ACTV").map(|active| (active + of("QUED").unwrap_or(0.0)) as u64);
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn columns_are_counted_from_the_end() {
        let recording = read(
            "DEVICE DQLEN ACTV QUED %USD CMDS/s READS/s WRITES/s MBREAD/s MBWRTN/s DAVG/cmd KAVG/cmd GAVG/cmd\n\
             naa.6001 128 3 1 2 342.57 290.54 52.03 10.00 0.25 5.43 0.01 5.44\n\
             {NFS}vmware isos - 0 - - 0.00 0.00 0.00 0.00 0.00 - - 0.00\n\
             naa.6002 128 3 1\n",
        );
        let listing = &recording.listings[0];
        assert_eq!((listing.source.format.as_str(), listing.source.skipped), ("esxtop", 1));
        let [row, mount] = &listing.intervals[..] else { panic!("two rows") };
        assert_eq!(row.of(Op::Read).unwrap().ios_per_s, 290.54);
        assert_eq!(row.of(Op::Write).unwrap().bytes_per_s, Some(262_144.0));
        assert_eq!((row.await_ns, row.in_flight), (Some(5_440_000.0), Some(4)));
        assert_eq!(recording.device_of(mount.device).name, "{NFS}vmware isos");
        assert_eq!(mount.await_ns, None);
    }
}
