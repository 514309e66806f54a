//! What a task in interruptible sleep waits for, by the kernel function in which it sleeps.

/// Functions and their meaning: locks (kernel/futex/), events (fs/select.c, fs/eventpoll.c), pipes
/// and sockets (fs/pipe.c, net/), children (kernel/exit.c), time and signals (kernel/time/,
/// kernel/signal.c), asynchronous I/O (io_uring/, fs/aio.c).
const SLEEPS: [(&str, &str); 21] = [
    ("futex_do_wait", FUTEX),
    ("futex_wait_queue", FUTEX),
    ("futex_wait_queue_me", FUTEX),
    ("poll_schedule_timeout", EVENT),
    ("do_poll", EVENT),
    ("do_sys_poll", EVENT),
    ("do_select", EVENT),
    ("ep_poll", EVENT),
    ("pipe_read", PIPE),
    ("anon_pipe_read", PIPE),
    ("pipe_write", "room in a pipe"),
    ("anon_pipe_write", "room in a pipe"),
    ("wait_woken", SOCKET),
    ("unix_stream_data_wait", SOCKET),
    ("unix_stream_read_generic", SOCKET),
    ("do_wait", "its child"),
    ("do_nanosleep", "a fixed time"),
    ("do_sigtimedwait", "a signal"),
    ("io_cqring_wait", "its asynchronous I/O (io_uring)"),
    ("io_cqring_schedule_timeout", "its asynchronous I/O (io_uring)"),
    ("read_events", "its asynchronous I/O (libaio)"),
];
const FUTEX: &str = "another thread: a lock or a condition (futex)";
const EVENT: &str = "an event of its files and sockets";
const PIPE: &str = "data from a pipe";
const SOCKET: &str = "data from a socket";

/// The meaning of the first function that has one, of a stack without offsets, innermost first.
/// Compilers add suffixes to names (`do_poll.constprop.0`).
pub(super) fn sleep_of(stack: &[String]) -> Option<(&str, &'static str)> {
    stack.iter().find_map(|frame| {
        let name = frame.split(['.', '+']).next().unwrap_or_default();
        let known = SLEEPS.iter().find(|(function, _)| *function == name);
        known.map(|(_, what)| (name, *what))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_known_function_counts() {
        let of = |stack: &[&str]| {
            let stack: Vec<String> = stack.iter().map(|frame| frame.to_string()).collect();
            sleep_of(&stack).map(|(name, what)| format!("{name}: {what}"))
        };
        let poll = ["__schedule", "schedule", "poll_schedule_timeout.constprop.0", "do_sys_poll"];
        assert_eq!(
            of(&poll).as_deref(),
            Some("poll_schedule_timeout: an event of its files and sockets")
        );
        let futex = ["schedule+0x1", "futex_do_wait+0x3d", "__futex_wait+0x9"];
        assert!(of(&futex).is_some_and(|text| text.starts_with("futex_do_wait: another thread")));
        assert_eq!((of(&["schedule", "nobody_knows"]), of(&[])), (None, None));
    }
}
