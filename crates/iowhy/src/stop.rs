//! Ctrl-C, SIGTERM and a terminal that is closed (SIGHUP) end the watch, not the program: results
//! so far are still shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Becomes true once the user asked to stop; a second Ctrl-C ends the program at once.
#[derive(Clone)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens from now on.
    pub(crate) fn new() -> std::io::Result<Stop> {
        let asked = Arc::new(AtomicBool::new(false));
        // A handler is installed a moment before its action is registered: signals are blocked
        // between the two, or one would be lost.
        let ours = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        let before = ours.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let registered = Stop::listen(&asked);
        before.thread_set_mask()?;
        registered.map(|()| Stop(asked))
    }

    fn listen(asked: &Arc<AtomicBool>) -> std::io::Result<()> {
        // A second one of any of these signals ends the program.
        let again = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // `nohup` wants it to continue.
            if signal == SIGHUP && is_ignored(signal) {
                continue;
            }
            // The action first: a signal between these lines must not be lost.
            signal_hook::flag::register(signal, Arc::clone(asked))?;
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&again))?;
            signal_hook::flag::register(signal, Arc::clone(&again))?;
        }
        Ok(())
    }

    /// Whether the user asked to stop.
    pub(crate) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for code that checks it often.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }
}

/// Whether the parent process had this signal ignored (`SigIgn` of proc_pid_status(5)).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
