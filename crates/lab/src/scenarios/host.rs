//! The layers between a program and its disk: a group's limit, the number of requests, a scheduler,
//! the disk's own queue; and the result of each request.

use iowhy_model::Op;

use super::effect::DiskWithEffects;
use super::load::Flow;
use super::{Call, Chance, Done, Pace, Stream};
use crate::disk::Request;

/// How the host treats a disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Host {
    /// Requests the disk takes at once; more wait in the host.
    pub tags: usize,
    /// Of these, the ones that the scheduler gives it at once.
    pub dispatched: usize,
    /// Requests there are; more wait as bios.
    pub requests: usize,
    /// How long the scheduler waits for the same process before it serves another, ns.
    pub idling: u64,
    /// The limit of a group, if one is set.
    pub limit: Option<Limit>,
}

/// A limit of a control group.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// The group.
    pub cgroup: &'static str,
    /// Requests per second.
    pub iops: f64,
    /// Whether it is io.max, which contains a bio before the block layer's own trace sees it; else
    /// io.cost or io.latency, which hold it after (block/blk-core.c, `blk_throtl_bio` ahead of
    /// `trace_block_bio_queue`; block/blk-mq.c, `rq_qos_throttle` behind).
    pub unseen: bool,
}

impl Host {
    /// A host that holds nothing back and a disk that takes this many at once.
    pub fn plain(tags: usize) -> Host {
        Host { tags, dispatched: usize::MAX, requests: usize::MAX, idling: 0, limit: None }
    }
}

/// The interrupt and what follows it: some microseconds, seldom a fraction of a millisecond
/// because the processor was elsewhere (biolatency of an idle loop device on the lab's machine:
/// most of it within 64 to 128 us of which a few are the interrupt, one in 700 above 500 us).
const INTERRUPT: (f64, f64) = (2_000.0, 6_000.0);
const ELSEWHERE: (f64, f64) = (0.002, 300_000.0);
/// From the queue to the driver if nothing is in the way.
const THROUGH_QUEUE: (f64, f64) = (800.0, 2_500.0);

/// What surrounds a disk.
pub(super) struct Bench {
    pub(super) bytes: u64,
    pub(super) host: Host,
    pub(super) span: u64,
    pub(super) most: usize,
}

impl Bench {
    /// Lets the streams send their requests to the disk: the requests in order of issue, and the
    /// system calls.
    pub(super) fn run(
        &self,
        body: &mut DiskWithEffects,
        streams: &[Stream],
        chance: &mut Chance,
    ) -> (Vec<Done>, Vec<Call>) {
        let mut flows: Vec<Flow> =
            streams.iter().map(|stream| Flow::new(stream, self.span, self.bytes, chance)).collect();
        let (mut done, mut calls) = (Vec::new(), Vec::new());
        let (mut flying, mut issued, mut passes) = (Vec::new(), 0, 0);
        let mut last_pid = 0;
        while done.len() < self.most {
            let going = flows.iter_mut().filter(|flow| flow.due() < flow.end);
            let Some(flow) = going.min_by_key(|flow| flow.due()) else { break };
            let due = flow.due();
            if let Some(until) = self.held(flow, due, &mut passes) {
                flow.hold(due, until);
                continue;
            }
            let wished = flow.wished(due);
            let seen_hold = self.host.limit.is_some_and(|limit| !limit.unseen);
            let arrived = if seen_hold { wished } else { due };
            flying.retain(|completed| *completed > due);
            let queued = free(&mut flying, self.host.requests).max(due).max(arrived + 300);
            let through = queued + chance.even(THROUGH_QUEUE.0, THROUGH_QUEUE.1) as u64;
            let room = self.host.tags.min(self.host.dispatched);
            let mut freed = free(&mut flying, room);
            if self.host.idling > 0 && flow.pid != last_pid && !flying.is_empty() {
                freed = freed.max(issued) + self.host.idling;
            }
            last_pid = flow.pid;
            issued = freed.max(through).max(issued);
            let (op, offset, bytes) = flow.ask(self.bytes, chance);
            let flags = flow.stream.flags;
            let request = Request { op, offset, bytes, arrival: issued };
            let served = body.serve(&request, flags, chance);
            let mut late = INTERRUPT.0 + chance.wait(INTERRUPT.1);
            if chance.chance(ELSEWHERE.0) {
                late += chance.wait(ELSEWHERE.1);
            }
            let completed = served.due + late as u64;
            flying.push(completed);
            let closed = matches!(flow.stream.pace, Pace::Closed(..) | Pace::Pauses(..));
            done.push(Done {
                op,
                flags,
                offset,
                bytes,
                arrived,
                queued,
                issued,
                completed,
                comm: flow.stream.comm,
                pid: flow.pid,
                cgroup: flow.stream.cgroup,
                sync: matches!(op, Op::Read | Op::Flush) || closed,
                failed: served.failed,
                delayed: served.delayed,
                waited: served.waited + (issued - queued),
            });
            let stream = flow.stream;
            if let Some(above) = stream.calls {
                // It waited above before its I/O was sent, and a little when it was woken.
                let start = wished.saturating_sub(chance.wait(above) as u64 + 2_000);
                let end = completed + chance.even(2e3, 9e3) as u64;
                calls.push(Call { op, bytes, start, end, comm: stream.comm, pid: flow.pid });
            }
            flow.advance(due, completed, chance);
        }
        (done, calls)
    }

    /// Until when the group's limit contains the request back, if it does so now.
    fn held(&self, flow: &Flow, due: u64, passes: &mut u64) -> Option<u64> {
        let limit = self.host.limit?;
        if flow.stream.cgroup != Some(limit.cgroup) || flow.is_held(due) {
            return None;
        }
        let pass = (*passes).max(due);
        *passes = pass + (1e9 / limit.iops) as u64;
        (pass > due).then_some(pass)
    }
}

/// When one more than `room` can be in flight.
fn free(flying: &mut [u64], room: usize) -> u64 {
    if flying.len() < room {
        return 0;
    }
    flying.sort_unstable();
    flying.get(flying.len() - room).copied().unwrap_or(0)
}
