//! Lines of kernel stacks. What a task waits for by them is in `iowhy_model::waits`.

use crate::device_of_numbers;

/// Whether a line is a function that the kernel is certain about: `shrink_node+0xf3/0x4e0`, not `?
/// shrink_node+0xf3/0x4e0`, which may be left from an earlier call. Its address may precede it, its
/// module follow.
pub(crate) fn is_certain(line: &str) -> bool {
    let mut words = line.split_whitespace().filter(|word| !word.starts_with('['));
    let (frame, more) = (words.next().unwrap_or_default(), words.next());
    let Some((name, place)) = frame.split_once("+0x") else { return false };
    let is_hex = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let placed = place.split_once("/0x").is_some_and(|(at, of)| is_hex(at) && is_hex(of));
    let named =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$'));
    placed && named && more.is_none()
}

/// Whether a line is between the beginning of a stack and its functions: `Call Trace:`, or words of
/// the stack itself.
pub(crate) fn is_above_functions(line: &str) -> bool {
    let is_address =
        |word: &str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let line = line.trim();
    line == "Call Trace:" || !line.is_empty() && line.split(' ').all(is_address)
}

/// The function of a line that the kernel is not certain about: `[<0>] ? schedule+0x32/0x80`.
pub(crate) fn uncertain_frame(line: &str) -> Option<(String, Option<String>)> {
    let (address, rest) = line.split_once("? ")?;
    let address = address.trim();
    let is_address = address.is_empty() || address.starts_with("[<") && address.ends_with(">]");
    let function = rest.split(" [").next().unwrap_or_default();
    (is_address && is_certain(function)).then(|| frame(rest))?
}

/// The function of such a line, and its module: `[<0>] bch_bucket_alloc+0x21a/0x5b0 [bcache]`.
pub(crate) fn frame(line: &str) -> Option<(String, Option<String>)> {
    let mut words = line.split_whitespace().skip_while(|word| word.starts_with('['));
    let (name, _) = words.next()?.split_once("+0x")?;
    let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Some((name.to_string(), module.map(str::to_string)))
}

/// The device that a worker of the kernel serves, by its queue: `Workqueue: xfs-sync/rbd0
/// xfs_log_worker [xfs]`, `Workqueue: writeback wb_workfn (flush-252:16)` (kernel/workqueue.c,
/// print_worker_info).
pub(crate) fn device_of_queue(line: &str) -> Option<String> {
    let queue = line.trim_start().strip_prefix("Workqueue: ")?;
    if let Some((_, flushed)) = queue.split_once("(flush-") {
        return device_of_numbers(flushed.split(')').next()?);
    }
    let (_, device) = queue.split(' ').next()?.split_once('/')?;
    let is_plain = device.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let named = device.starts_with(|c: char| c.is_ascii_alphabetic()) && device.len() < 32;
    (is_plain && named).then(|| device.to_string())
}

/// Whether a line begins the stack of a task that cannot be interrupted: `task:fstrim state:D
/// stack: 0 pid: 3552 ...`, before Linux 5.14 `fstrim D ffff8800b5ad3a48 0 3552 2091 0x00000004`
/// (kernel/sched/core.c, sched_show_task). The older form has its flags in eight digits where no
/// time precedes it, because its words may occur anywhere.
pub(crate) fn begins(line: &str, is_timed: bool) -> bool {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("task:") {
        let (name, rest) = rest.split_once(" state:D").unwrap_or_default();
        return !name.is_empty()
            && !name.starts_with(' ')
            && rest.trim_start().starts_with("stack:");
    }
    if !line.contains("0x") {
        return false;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_hex = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let are_flags = |word: &str| {
        // No known flag is in the upper half.
        let is_whole = word.len() == 10 && word.starts_with("0x0000");
        word.strip_prefix("0x").is_some_and(is_hex) && (is_timed || is_whole)
    };
    match words.as_slice() {
        [_, "D", place, stack, pid, parent, flags] => {
            let is_place = is_hex(place) && (*place == "0" || place.len() >= 8);
            is_place && are_flags(flags) && [stack, pid, parent].iter().all(|word| is_number(word))
        }
        [_, "D", stack, pid, parent, flags] => {
            are_flags(flags) && [stack, pid, parent].iter().all(|word| is_number(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_its_module_behind_it() {
        let of = |line| frame(line).map(|(name, module)| (name, module.unwrap_or_default()));
        let named = |name: &str, module: &str| Some((name.to_string(), module.to_string()));
        let line = " [<ffffffff812410c5>] request_wait_answer+0x85/0x240 [fuse]";
        assert_eq!(of(line), named("request_wait_answer", "fuse"));
        assert_eq!(of("kthread+0x12a/0x150"), named("kthread", ""));
        assert_eq!(of(" <TASK>"), None);
    }

    #[test]
    fn what_the_kernel_is_not_certain_about_has_a_mark() {
        let of = |line| uncertain_frame(line).map(|(name, _)| name);
        for line in [" [<ffffffff8de17af2>] ? schedule+0x32/0x80", " ? schedule+0x32/0x80"] {
            assert_eq!(of(line).as_deref(), Some("schedule"));
        }
        let of_module = " [<ffffffffc041fc72>] ? kjournald2+0xc2/0x260 [jbd2]";
        assert_eq!(of(of_module).as_deref(), Some("kjournald2"));
        for other in [" schedule+0x32/0x80", "is it slow? schedule+0x32/0x80", " ? 0x46"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_queue_names_its_device() {
        for (line, device) in [
            ("Workqueue: xfs-sync/rbd0 xfs_log_worker [xfs]", Some("rbd0")),
            ("Workqueue: writeback wb_workfn (flush-8:16)", Some("sdb")),
            ("Workqueue: events update_writeback_rate [bcache]", None),
            ("Workqueue: xfs-sync/../x y", None),
        ] {
            assert_eq!(device_of_queue(line).as_deref(), device, "{line}");
        }
    }

    #[test]
    fn a_stack_begins_in_two_forms() {
        let old = "fstrim          D ffff8800b5ad3a48     0  3552   2091 0x00000004";
        assert!(begins(
            " task:fstrim          state:D stack:    0 pid: 3552 ppid:  2091 flags:0x00004006",
            false
        ));
        assert!(begins(
            "task:jbd2/dm-0-8     state:D stack:0     pid:512   tgid:512 ppid:2",
            false
        ));
        for is_timed in [true, false] {
            assert!(begins(old, is_timed));
            assert!(begins("fstrim          D    0  3552   2091 0x00000004", is_timed));
        }
        for other in [
            "fstrim          D    0  3552   2091 0x4",
            "task:fstrim          state:S stack:    0 pid: 3552 ppid:  2091 flags:0x00004006",
            "task: the state:D of a disk",
            "a disk D may be slow",
        ] {
            assert!(!begins(other, false), "{other}");
        }
    }
}
