//! Request counts kept by the programs beside their measurements, and losses derived from them.
//!
//! For every device and operation, measured + lost = what the kernel counts in /proc/diskstats.

use iowhy_model::{Op, Sink};

use crate::Error;
use crate::bpf::{OPS, Programs, REQUEST_COUNTS};
use crate::watch_list::WatchList;

/// Counts of the requests of one device and operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RequestCounts {
    /// Completed, and their start or issue was seen.
    pub measured: u64,
    /// Completed, but neither start nor issue was seen: in flight when the watch began, or their
    /// start found no room.
    pub no_start: u64,
    /// Of `measured`: only the issue was seen, so they have D2C but no Q2C.
    pub no_total: u64,
    /// Of `measured`: not slower than the latency asked for, so without an event.
    pub too_fast: u64,
    /// Of `measured`: the ring had no room for the event.
    pub ring_full: u64,
    /// Of `measured`: in no histogram, because the device has no row.
    pub no_row: u64,
    /// Of `measured` and `no_start`: /proc/diskstats does not count them.
    pub not_accounted: u64,
    /// Of `measured` and `no_start`: ended with an error.
    pub failed: u64,
    /// Ended unseen.
    pub no_completion: u64,
    /// Of `no_start`: there was no room to remember their issue.
    pub no_slot: u64,
    /// Times the driver gave a request back to the queue.
    pub requeued: u64,
    /// Completed, but filtered out by size, flags, process or control group.
    pub filtered: u64,
    /// Completed, but already in flight when tracing began, so a filter by sender cannot decide.
    pub no_sender: u64,
    /// Of `measured`: without an event, neither slow nor in the sample.
    pub left_out: u64,
}

impl RequestCounts {
    fn from_array(n: [u64; REQUEST_COUNTS]) -> RequestCounts {
        // In the order of `enum tally` of `bpf/tables.h`.
        let [
            measured,
            no_start,
            no_total,
            too_fast,
            ring_full,
            no_row,
            not_accounted,
            failed,
            no_completion,
            no_slot,
            requeued,
            filtered,
            no_sender,
            left_out,
        ] = n;
        RequestCounts {
            measured,
            no_start,
            no_total,
            too_fast,
            ring_full,
            no_row,
            not_accounted,
            failed,
            no_completion,
            no_slot,
            requeued,
            filtered,
            no_sender,
            left_out,
        }
    }

    /// Losses by reason: those of every mode, then those of events or of histograms. Requests
    /// without a start that may have begun before the watch are not losses, and are subtracted.
    fn losses(&self, seen: Seen, edge: &mut Edge) -> [(&'static str, u64); 7] {
        let no_slot = self.no_slot.min(self.no_start);
        let only = |yes: bool, count: u64| if yes { count } else { 0 };
        let (no_start, no_total) = if seen.kernel_times {
            ("not measured: the kernel keeps no times of it", "only D2C: the kernel keeps no start")
        } else {
            ("not measured: start missed by the tracer", "only D2C: start missed by the tracer")
        };
        [
            (no_start, edge.rest(self.no_start - no_slot)),
            ("not measured: too many in flight at once", no_slot),
            ("not measured: completion missed by the tracer", self.no_completion),
            ("possibly excluded by the filter: the submitter was not seen", self.no_sender),
            ("dropped: the ring buffer was full", only(seen.events, self.ring_full)),
            (no_total, only(seen.histograms, edge.rest(self.no_total))),
            (
                "not counted: no histogram available for the device",
                only(seen.histograms, self.no_row),
            ),
        ]
    }
}

/// The requests of one device that were in flight when the watch began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Edge {
    /// How many may still complete.
    left: u64,
}

/// Allowance above the kernel's count of requests in flight on a busy device: that was read some
/// moments before and after the programs were attached.
const UNSEEN: u64 = 32;

impl Edge {
    /// How many of these are more than were in flight.
    fn rest(&mut self, count: u64) -> u64 {
        let at_edge = count.min(self.left);
        self.left -= at_edge;
        count - at_edge
    }
}

/// What the programs send of each request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    /// Records of single ones.
    pub events: bool,
    /// Histograms.
    pub histograms: bool,
    /// The times are those that the kernel keeps.
    pub kernel_times: bool,
}

/// Reads the counts repeatedly and emits new losses.
#[derive(Debug)]
pub(crate) struct RequestCountReader {
    seen: Seen,
    before: Vec<[u64; REQUEST_COUNTS]>,
    /// By row.
    edges: Vec<Edge>,
    /// Requests at the edge, by row and operation.
    at_edge: Vec<u64>,
}

impl RequestCountReader {
    /// A reader for programs that send `seen`. `in_flight` has the requests in flight when the
    /// programs were attached, by row, if their start could be missed.
    pub(crate) fn new(seen: Seen, rows: u32, in_flight: &[u64]) -> RequestCountReader {
        // One more row, for devices that are not in the table.
        let places = ((rows + 1) * OPS) as usize;
        let left = |row: usize| match in_flight.get(row) {
            None | Some(0) => 0,
            Some(seen) => 2 * seen + UNSEEN,
        };
        let edges = (0..=rows as usize).map(|row| Edge { left: left(row) }).collect();
        let (before, at_edge) = (vec![[0; REQUEST_COUNTS]; places], vec![0; places]);
        RequestCountReader { seen, before, edges, at_edge }
    }

    /// Requests in flight when the watch began: device, operation, number.
    pub(crate) fn at_edge(&self, watched: &WatchList) -> Vec<(String, Op, u64)> {
        let known = self.at_edge.iter().enumerate().filter(|(_, count)| **count > 0);
        known
            .filter_map(|(place, count)| {
                let name = name_of(watched, place as u32 / OPS);
                Some((name, *Op::ALL.get(place % OPS as usize)?, *count))
            })
            .collect()
    }

    /// Emits losses since the last call.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn emit(
        &mut self,
        programs: &Programs,
        watched: &WatchList,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let (devices, rows) = ((watched.devices.len() as u32).min(watched.rows), watched.rows);
        // Rows without a device have no counts; the last row is for devices without one.
        let known = (0..).zip(programs.counts(0, devices)?);
        let others = (rows * OPS..).zip(programs.counts(rows, 1)?);
        for (place, now) in known.chain(others) {
            let (row, op) = (place / OPS, place % OPS);
            let place = place as usize;
            let Some(before) = self.before.get_mut(place) else { continue };
            let mut new = now;
            new.iter_mut().zip(&*before).for_each(|(new, was)| *new = new.wrapping_sub(*was));
            *before = now;
            // Most devices and operations have no requests.
            if new == [0; REQUEST_COUNTS] {
                continue;
            }
            let name = name_of(watched, row);
            let op = Op::ALL.get(op as usize).copied().unwrap_or(Op::Other);
            let Some(edge) = self.edges.get_mut(row as usize) else { continue };
            let left = edge.left;
            let losses = RequestCounts::from_array(new).losses(self.seen, edge);
            if let Some(at_edge) = self.at_edge.get_mut(place) {
                *at_edge += left - edge.left;
            }
            for (why, count) in losses {
                sink.lost_of(&name, op, why, count);
            }
        }
        Ok(())
    }

    /// Requests without an event, as of the last reading.
    pub(crate) fn unsent(&self) -> u64 {
        let unsent = |counts: RequestCounts| counts.ring_full + counts.left_out;
        self.before.iter().map(|numbers| unsent(RequestCounts::from_array(*numbers))).sum()
    }

    /// All counts so far, as of the last reading: device, operation, numbers; only where
    /// something happened.
    pub(crate) fn all(&self, watched: &WatchList) -> Vec<(String, Op, RequestCounts)> {
        let known = self.before.iter().enumerate().filter(|(_, n)| n.iter().any(|n| *n > 0));
        known
            .filter_map(|(place, n)| {
                let name = name_of(watched, place as u32 / OPS);
                Some((name, *Op::ALL.get(place % OPS as usize)?, RequestCounts::from_array(*n)))
            })
            .collect()
    }
}

fn name_of(watched: &WatchList, row: u32) -> String {
    let device = watched.devices.get(row as usize);
    device.map_or_else(|| "(new device)".to_string(), |device| device.name.clone())
}
