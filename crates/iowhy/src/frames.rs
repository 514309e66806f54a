//! Frames of stacks as they are shown.

/// A function of the kernel without its offset, which differs between calls.
pub(crate) fn kernel_function(frame: &str) -> &str {
    frame.split_once("+0x").map_or(frame, |(name, _)| name)
}

/// The program's frames without addresses outside any file, which end the stacks of programs
/// without frame pointers.
pub(crate) fn known_frames(user: &[String]) -> &[String] {
    let data = user.iter().position(|frame| is_data(frame)).unwrap_or(user.len());
    let user = user.get(..data).unwrap_or_default();
    let known = user.iter().rposition(|frame| !frame.starts_with("0x"));
    user.get(..known.map_or(0, |last| last + 1)).unwrap_or_default()
}

/// Whether it is an address in a heap, a stack or shared memory, without code: the stack walk
/// failed.
fn is_data(frame: &str) -> bool {
    ["[heap]", "[stack", "SYSV"].iter().any(|name| frame.starts_with(name))
}
