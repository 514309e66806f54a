//! The stacks that sent most, in lines that a reader of the I/Os passes over.

use std::io::{self, Write};

use iowhy_live::StackCount;
use iowhy_model::{Recording, numbers};

/// Stacks shown in full; of the rest, how many they are.
const SHOWN: usize = 20;

/// Writes those on which most time was spent, and how many I/Os had none.
///
/// # Errors
/// If they cannot be written.
pub fn write(
    (counts, missed): (Vec<StackCount>, u64),
    recording: &Recording,
    out: &mut dyn Write,
) -> io::Result<()> {
    for count in counts.iter().take(SHOWN) {
        one(count, recording, out)?;
    }
    let rest = counts.get(SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let ios: u64 = rest.iter().map(|count| count.count).sum();
        writeln!(out, "# {} more stacks sent {ios} I/Os", rest.len())?;
    }
    if missed > 0 {
        writeln!(
            out,
            "# {missed} I/Os without a stack: already in flight when tracing began, or too many stacks differ"
        )?;
    }
    Ok(())
}

fn one(count: &StackCount, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let comm = count.comm.map_or("?", |name| recording.text(name));
    let comm: String = comm.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let pid = count.pid.map_or(String::new(), |pid| format!(" (PID {pid})"));
    let device = recording.devices().get(count.device.index());
    let device = device.map_or("<unknown>", |device| device.name.as_str());
    let total = count.total.ns() as f64;
    writeln!(
        out,
        "# {} I/Os, {} of {device} by {comm}{pid}: {} in all, {} on average, {} at most",
        count.count,
        count.op.name(),
        numbers::duration(total),
        numbers::duration(total / count.count.max(1) as f64),
        numbers::duration(count.longest.ns() as f64),
    )?;
    for frame in count.kernel.iter().chain(&count.user) {
        writeln!(out, "#     {frame}")?;
    }
    Ok(())
}
