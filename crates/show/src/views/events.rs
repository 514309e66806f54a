//! Being written.

use std::io::{self, Write};

use iowhy_model::Report;

use crate::{Style, View};

/// Entry in the list of views.
pub const VIEW: View =
    View { name: "events", summary: "being written", manual: include_str!("events.rs"), write };

fn write(report: &Report, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let _ = style;
    writeln!(out, "{} findings", report.findings.len())
}
