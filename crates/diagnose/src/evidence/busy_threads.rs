//! Kernel threads, and programs that serve a file system, that saturate a CPU with their part of
//! the I/O.
//!
//! Write-back of a device, parity of an array, encryption, checksums and a FUSE file system each
//! run in threads that can use one CPU and no more. If such a thread is always on its CPU, it
//! limits the disks below, which wait for it.

use iowhy_model::{Finding, Interval, Layer, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::confidence::SHAPE_ALONE;
use crate::evidence::reported_problem::UNKNOWN_SHARE;
use crate::evidence::shortage;
use crate::facts::kernel_threads;
use crate::phrase;

/// Minimum CPU share of a thread: the rest is rounding of the screen (a choice).
const ALL_OF_IT: f64 = 0.9;
/// The weight if the disks of the input are not busy, and if none was measured.
const BESIDE_IDLE: f64 = 0.78;
const ALONE: f64 = 0.68;
/// Busy share from which a disk itself may be the bottleneck, and requests per second that keep no
/// disk busy (choices).
const BUSY: f64 = 0.8;
const FEW_PER_S: f64 = 20.0;

/// A finding of each listing in which such a thread is at the limit of its CPU.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    places.filter_map(|place| of_listing(analysis, place, verdict)).collect()
}

/// Rows of averages of the disks of an input.
enum Disks {
    Busy,
    Quiet,
    Unknown,
}

fn disks(analysis: &Analysis, host: Host) -> Disks {
    let rows = analysis.listings_of(host).flat_map(|(_, listing)| &listing.intervals);
    let rows: Vec<&Interval> =
        rows.filter(|row| row.layer == Layer::Block && !row.since_boot).collect();
    let is_busy = |row: &&Interval| row.busy.is_some_and(|busy| busy >= BUSY);
    let is_quiet = |row: &&Interval| row.busy.is_some() || row.ios_per_s() < FEW_PER_S;
    match rows.as_slice() {
        rows if rows.iter().any(is_busy) || shortage::has_suspect(analysis, host) => Disks::Busy,
        [] => Disks::Unknown,
        rows if rows.iter().all(is_quiet) => Disks::Quiet,
        _ => Disks::Unknown,
    }
}

fn of_listing(analysis: &Analysis, place: usize, verdict: Verdict) -> Option<Finding> {
    let host = analysis.host(place);
    let about = analysis.machine(host);
    let own = about.processes(key::PROCESS_CPU).filter(|(_, _, reading)| reading.listing == place);
    let threads = own.filter_map(|(share, who, reading)| {
        Some((share, who, reading, kernel_threads::does(who)?))
    });
    let (share, who, reading, does) = threads.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (share >= ALL_OF_IT).then_some(())?;
    let mut finding = new_finding(verdict, None, vec![place]);
    finding.sentence = format!(
        "{who} saturates one CPU ({}): {does}; the disks get no more work than this thread can \
         issue",
        phrase::percent(share)
    );
    let what = "CPU time of a thread that serves the disks, share of one CPU";
    finding.evidence = vec![analysis.stated(&reading).share(what, share).above(ALL_OF_IT)];
    let disks = disks(analysis, host);
    match disks {
        Disks::Quiet => {
            finding.assume(
                BESIDE_IDLE,
                "a thread that serves disks at the limit of one CPU, and they are mostly idle",
            );
        }
        _ => finding.assume(ALONE, "a thread that serves disks at the limit of one CPU"),
    }
    let busy = "a disk of the same input is busy, or slow by itself";
    finding.doubt_if(matches!(disks, Disks::Busy), busy, SHAPE_ALONE);
    (finding.explained_share, finding.share_is_assumed) = (UNKNOWN_SHARE, true);
    finding.refuted_by = lines(&[
        "the disks below are busy all the time while it runs: `iostat -x 1`",
        "the thread is on its CPU for seconds only: `pidstat -p PID 1`",
    ]);
    finding.next_step = lines(&[
        "`perf top -t PID` or `perf record -g -p PID`: in which function does it spend its time?",
        "for parity: `group_thread_cnt` of the array; for encryption: `cryptsetup benchmark`; for \
         write-back: is the file system nearly full, or in many small files?",
    ]);
    Some(finding)
}
