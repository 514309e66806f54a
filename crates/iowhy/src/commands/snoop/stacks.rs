//! I/Os by submitting stack: a table of the top ones, or all in the folded form of flame graphs.

use std::collections::HashMap;
use std::io::{self, Write};

use iowhy_live::StackCount;
use iowhy_model::Order as _;
use iowhy_model::{DeviceId, Name, Nanos, Op, Recording, numbers};

use crate::frames::{kernel_function, known_frames};

/// Stacks shown in full; the rest is only counted.
const SHOWN: usize = 10;

/// I/Os of one stack, over all processes of that name.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StackGroup {
    comm: Option<Name>,
    device: DeviceId,
    op: Op,
    /// Functions, innermost first, those of the kernel before the program's.
    frames: Vec<String>,
    count: u64,
    total: Nanos,
    longest: Nanos,
}

/// Merges equal stacks, the longest time first; and I/Os without a stack.
pub(super) fn grouped((counts, missed): (Vec<StackCount>, u64)) -> (Vec<StackGroup>, u64) {
    let mut places: HashMap<(Option<Name>, DeviceId, Op, Vec<String>), usize> = HashMap::new();
    let mut groups: Vec<StackGroup> = Vec::new();
    for count in counts {
        let frames = frames(&count);
        let key = (count.comm, count.device, count.op, frames.clone());
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(StackGroup {
                comm: count.comm,
                device: count.device,
                op: count.op,
                frames,
                count: 0,
                total: Nanos(0),
                longest: Nanos(0),
            });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(place) {
            group.count += count.count;
            group.total = Nanos(group.total.ns().saturating_add(count.total.ns()));
            group.longest = group.longest.max(count.longest);
        }
    }
    groups.order_by_key(|group| std::cmp::Reverse(group.total));
    (groups, missed)
}

fn frames(count: &StackCount) -> Vec<String> {
    let kernel = count.kernel.iter().map(|frame| kernel_function(frame).to_string());
    kernel.chain(known_frames(&count.user).iter().cloned()).collect()
}

/// Writes those with the longest time, and the number of I/Os without a stack.
///
/// # Errors
/// If they cannot be written.
pub(super) fn write(
    (groups, missed): (Vec<StackGroup>, u64),
    recording: &Recording,
    out: &mut dyn Write,
) -> io::Result<()> {
    for group in groups.iter().take(SHOWN) {
        one(group, recording, out)?;
    }
    let rest = groups.get(SHOWN..).unwrap_or_default();
    if !rest.is_empty() {
        let ios: u64 = rest.iter().map(|group| group.count).sum();
        writeln!(
            out,
            "# {}, which submitted {}",
            numbers::several(rest.len() as u64, "more stack"),
            numbers::several(ios, "I/O")
        )?;
    }
    if missed > 0 {
        writeln!(
            out,
            "# {missed} I/Os without a stack: already in flight when tracing started, or too many \
             different stacks"
        )?;
    }
    Ok(())
}

fn one(group: &StackGroup, recording: &Recording, out: &mut dyn Write) -> io::Result<()> {
    let device = recording.devices().get(group.device.index());
    let device = device.map_or("<unknown>", |device| device.name.as_str());
    let total = group.total.ns() as f64;
    writeln!(
        out,
        "# {}, {} of {device} by {}: {} in total, {} on average, {} at most",
        numbers::several(group.count, "I/O"),
        group.op.name(),
        plain(comm(group, recording)),
        numbers::duration(total),
        numbers::duration(total / group.count.max(1) as f64),
        numbers::duration(group.longest.ns() as f64),
    )?;
    for frame in &group.frames {
        writeln!(out, "#     {}", plain(frame))?;
    }
    Ok(())
}

/// Writes all in the folded form: `process;outermost;...;innermost I/Os`.
///
/// # Errors
/// If they cannot be written.
pub(super) fn folded(
    groups: &[StackGroup],
    recording: &Recording,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines: HashMap<String, u64> = HashMap::new();
    for group in groups {
        let mut line = plain(comm(group, recording)).replace([';', ' '], "_");
        for frame in group.frames.iter().rev() {
            line.push(';');
            line.push_str(&plain(frame).replace([';', ' '], "_"));
        }
        *lines.entry(line).or_default() += group.count;
    }
    let mut lines: Vec<(String, u64)> = lines.into_iter().collect();
    lines.sort();
    lines.iter().try_for_each(|(line, count)| writeln!(out, "{line} {count}"))
}

fn comm<'a>(group: &StackGroup, recording: &'a Recording) -> &'a str {
    group.comm.map_or("?", |name| recording.text(name))
}

/// A name without line breaks.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::Sink;

    fn count(pid: u32, comm: Name, device: DeviceId, kernel: &str, user: &[&str]) -> StackCount {
        StackCount {
            kernel: vec![kernel.to_string(), "submit_bio+0x30".to_string()],
            user: user.iter().map(|frame| frame.to_string()).collect(),
            pid: Some(pid),
            comm: Some(comm),
            device,
            op: Op::Read,
            count: 2,
            total: Nanos(3_000_000),
            longest: Nanos(2_000_000),
        }
    }

    #[test]
    fn stacks_of_one_function_are_one_and_fold() {
        let mut recording = Recording::new();
        let (device, fio) = (recording.device("sdb"), recording.name("fio; x"));
        let counts = vec![
            count(
                1,
                fio,
                device,
                "blk_mq_submit_bio+0x12",
                &["/bin/fio+0x10", "0x700000007", "[heap]+0x8", "/bin/fio+0x1"],
            ),
            count(2, fio, device, "blk_mq_submit_bio+0x99", &["/bin/fio+0x10"]),
        ];
        let (groups, missed) = grouped((counts, 5));
        assert_eq!((groups.len(), missed), (1, 5));
        assert_eq!((groups[0].count, groups[0].total), (4, Nanos(6_000_000)));
        let mut out = Vec::new();
        folded(&groups, &recording, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "fio__x;/bin/fio+0x10;submit_bio;blk_mq_submit_bio 4\n"
        );
        let mut out = Vec::new();
        write((groups, missed), &recording, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.starts_with(
                "# 4 I/Os, read of sdb by fio; x: 6 ms in total, 1.5 ms on average, 2 ms at most\n"
            ),
            "{text}"
        );
    }
}
