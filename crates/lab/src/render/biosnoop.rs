//! `biosnoop` of bcc or libbpf-tools, with its queue or without.

use std::fmt::Write;

use iowhy_model::Op;

use super::traced;
use crate::scenarios::{Chance, Scenario};

/// The listing; `queue` is -Q, and libbpf-tools prints a decimal more than bcc.
pub(super) fn text(scenario: &Scenario, queue: bool, libbpf: bool, taste: &mut Chance) -> String {
    let (seen, lost) = traced(scenario, taste);
    let begun = seen.first().map_or(0, |(_, done, _)| done.completed);
    let decimals = if libbpf { 3 } else { 2 };
    let heading = if queue { "QUE(ms) " } else { "" };
    let mut out = format!(
        "{:<11} {:<14} {:<6} {:<7} {:<4} {:<10} {:<7} {heading}{:>7}\n",
        "TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES", "LAT(ms)"
    );
    for (disk, done, _) in seen {
        let kind = match (libbpf, done.op) {
            (true, op) => done.rwbs().rwbs(op),
            // bcc hooks the accounting of requests, which leaves out flushes and calls everything
            // but a write a read (tools/biosnoop.py, `rwflag`).
            (false, Op::Flush) => continue,
            (false, Op::Write) => "W".to_string(),
            (false, _) => "R".to_string(),
        };
        let ms = |ns: u64| format!("{:.decimals$}", ns as f64 / 1e6);
        let waited =
            if queue { format!("{:>7} ", ms(done.issued - done.queued)) } else { String::new() };
        let _ = writeln!(
            out,
            "{:<11.6} {:<14} {:<6} {:<7} {kind:<4} {:<10} {:<7} {waited}{:>7}",
            (done.completed - begun) as f64 / 1e9,
            done.comm,
            done.pid,
            disk.setup.name,
            done.offset / 512,
            done.bytes,
            ms(done.completed - done.issued),
        );
    }
    if lost > 0 {
        let _ = writeln!(out, "Possibly lost {lost} samples");
    }
    out
}
