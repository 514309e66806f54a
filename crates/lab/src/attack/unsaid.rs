//! Every number of named samples made none in turn: a record may be lost by that, but not unsaid.
//!
//! Readers of other formats still lose some: a sample belongs to the list once its format holds.

use std::time::{Duration, Instant};

use iowhy_model::Recording;

use super::Row;
use super::texts::places;

/// The attack's name.
const UNSAID: &str = "each number of named samples made none in turn: a record lost unsaid";
/// What is written in its place: what tools print when a division or a counter fails, and what they
/// print for nothing.
const ODD: [&str; 6] = ["nan", "inf", "*****", "-1", "-", "N/A"];
/// The samples, by their names below the folder of all.
const SAMPLES: &[&str] = &[
    "asm_metrics/2014--instances-groups-disks.txt",
    "biolatency/bcc-0.10--dusty-disk-fast-one-line.txt",
    "bitesize/bcc-0.29--two-processes.txt",
    "blkparse/1.2.0--made-default.txt",
    "bpftrace/bpftrace-0.20--keys-units-negative.txt",
    "bpftrace_json/bpftrace-0.17--real-devices-times.txt",
    "cgroup_io/linux-5.15--stat-and-max.txt",
    "cpu/sysstat-10.1--sar-u.txt",
    "diskspd/diskspd-2.1--typed-mixed.txt",
    "dstat/dstat-0.7--disks-io-wait.txt",
    "freebsd_iostat/freebsd-13--two-reports.txt",
    "fs_dist/bcc-0.29--ext4dist-interval.txt",
    "hist_log/stap-1.8--filter-good-peer.txt",
    "iolatency/micro-2015--device-mapper.txt",
    "ioping/ioping-0.8--from.txt",
    "iosnoop/perf-tools-2014--xen-metadata.txt",
    "iostat/sysstat-10--half-heading.txt",
    "iostat_json/sysstat-12.2--xm-written-2048-times.txt",
    "iotop/iotop-0.6--b-o.txt",
    "kernel_log/linux-5.10--with-smartd.txt",
    "memory/linux-5.10--meminfo.txt",
    "netapp/ontap-8--reads-two-intervals.txt",
    "nmon/nmon-16n--real-sorted.txt",
    "oracle_10046/oracle-9.2--commits-and-idle.txt",
];
/// Bytes of a sample at most.
const MOST: usize = 1 << 16;

/// Replaces up to so many numbers of each of [`SAMPLES`], spread over it, by each of [`ODD`], as far as there
/// is time; read here, for the files of all commands are read so.
pub fn unsaid(texts: &[(String, Vec<u8>)], most: usize, time: Duration) -> Row {
    let end = Instant::now() + time;
    let mut row = Row { attack: UNSAID, inputs: 0, runs: 0, failures: Vec::new() };
    for (name, text) in texts.iter().filter(|(name, _)| SAMPLES.contains(&name.as_str())) {
        let text = text.get(..MOST.min(text.len())).unwrap_or_default();
        let whole = Read::of(text);
        let places = places(text);
        let step = places.len().div_ceil(most).max(1);
        for (from, to) in places.iter().step_by(step).copied() {
            if Instant::now() > end {
                return row;
            }
            for odd in ODD {
                let harmed = [&text[..from], odd.as_bytes(), &text[to..]].concat();
                row.inputs += 1;
                row.runs += 1;
                let left = Read::of(&harmed);
                if left.records < whole.records && left.said <= whole.said {
                    let line = text[..from].iter().filter(|byte| **byte == b'\n').count() + 1;
                    let number = String::from_utf8_lossy(&text[from..to]);
                    let (before, after) = (whole.records, left.records);
                    let lost = format!("`{number}` made `{odd}`: {before} records, then {after}");
                    row.failures.push(format!("{name}:{line}: {lost}"));
                }
            }
        }
    }
    row
}

/// What came of a text.
struct Read {
    /// Events, rows and histograms.
    records: usize,
    /// Lines and I/Os of which it is said that they are missing.
    said: u64,
}

impl Read {
    fn of(bytes: &[u8]) -> Read {
        let mut recording = Recording::new();
        let scan = iowhy_read::scan("sample", &mut &bytes[..], None, &mut recording);
        let listings = recording.listings.iter();
        let measured = listings.clone().map(|listing| {
            listing.events.len() + listing.intervals.len() + listing.distributions.len()
        });
        let sources = listings.map(|listing| listing.source.skipped + listing.source.lost());
        // Nothing recognised at all is status 2.
        let refused = u64::from(scan.is_err()) << 32;
        Read {
            records: measured.sum(),
            said: sources.sum::<u64>() + recording.unread.len() as u64 + refused,
        }
    }
}
