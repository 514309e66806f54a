//! Kernel stacks of tasks: /proc/PID/stack.
//!
//! ## Reads
//! A frame on each line. The first function of a stack is where the task is blocked
//! (`task.blocked_in`). What its functions show that it waits for is counted, once for each stack:
//! a disk, a commit, the limit of dirty pages, free memory (`tasks.wait_in`). Where one waits for
//! the answer of a server (NFS, SMB, Ceph), that becomes a fact `kernel.log.remote` of it.
//!
//! ## How to capture
//! `cat /proc/PID/stack`, as root. The call traces of tasks that hung, in the kernel's log, are
//! read by `kernel-log`.
//!
//! ## Versions
//! Linux 2.6.29 to 6.18; addresses are `<0>` since 4.15.
//!
//! ## Caveats
//! It is one moment. A task that waits long shows the same stack repeatedly; a task in
//! `io_schedule` waits for a disk, but not every such sample is slow.
//!
//! ## Not in this output
//! How long the task has waited, which server or disk it is.

use std::collections::BTreeMap;

use iowhy_model::{Message, MessageKind, waits};

use crate::drive::stack_frames;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<KernelStack>(
    "kernel stacks of tasks: /proc/PID/stack",
    Level::E,
    &["[<"],
    |lines| match lines {
        [first] if is_frame(first) => Detect::NeedLine,
        [first, second, ..] => (is_frame(first) && is_frame(second)).into(),
        _ => Detect::No,
    },
)
.resumed();

/// `[<0>] rpc_wait_bit_killable+0x24/0xb0 [sunrpc]`, and the end of a stack, `[<ffffffffffffffff>]
/// 0xffffffffffffffff`.
fn is_frame(line: &str) -> bool {
    let Some((address, function)) =
        line.trim().strip_prefix("[<").and_then(|rest| rest.split_once(">] "))
    else {
        return false;
    };
    let in_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    in_hex(address) && (stack_frames::is_certain(function) || is_end(function))
}

/// `rpc_wait_bit_killable` of a frame.
fn function(line: &str) -> &str {
    let named = line.split_once(">] ").map_or(line, |(_, named)| named);
    named.split('+').next().unwrap_or_default().trim()
}

fn is_end(function: &str) -> bool {
    function.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte == b'f'))
}

#[derive(Default)]
struct KernelStack {
    /// Whether a frame of this stack was seen.
    inside: bool,
    /// Whether the server that it waits for was reported, and whether what it waits for was
    /// counted.
    reported: bool,
    counted: bool,
    /// Tasks that wait in each function, and the place of the first.
    waits: BTreeMap<&'static str, (u64, String)>,
}

impl Reader for KernelStack {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = sink.here();
        if !is_frame(line) {
            (self.inside, self.reported, self.counted) = (false, false, false);
            return if line.trim().is_empty() { Step::Consumed } else { Step::NotMine };
        }
        if !std::mem::replace(&mut self.inside, true) {
            sink.add_fact_at(None, typed::TASK_BLOCKED_IN, function(line), &place);
        }
        let wait = match waits::frees_memory(line) {
            true => Some(waits::RECLAIM),
            false => waits::wait_of(function(line)),
        };
        if let Some(wait) = wait.filter(|_| !self.counted) {
            self.counted = true;
            self.waits.entry(wait).or_insert_with(|| (0, place.clone())).0 += 1;
        }
        if let Some(server) = waits::awaited_server(line).filter(|_| !self.reported) {
            self.reported = true;
            let key = typed::KERNEL_LOG.of(MessageKind::Remote.name());
            sink.add_fact_at(server, key, Message::new("", line.trim()), &place);
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        for (function, (tasks, place)) in std::mem::take(&mut self.waits) {
            sink.add_fact_at(None, typed::TASKS_WAIT_IN.of(function), tasks, &place);
        }
    }
}
