//! Keys while a map is drawn again and again: the next device, the one before, the end.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    Next,
    Previous,
    Quit,
}

/// The terminal that keys come from, if this process may read them. Lines of output and Ctrl-C are
/// left as they are.
pub struct Keys(Option<(File, Termios)>);

impl Keys {
    /// Takes the keys of the terminal from now on; it may be another than standard input.
    pub fn open() -> Keys {
        Keys(Keys::take())
    }

    fn take() -> Option<(File, Termios)> {
        let terminal = File::open("/dev/tty").ok()?;
        // In the background the keys are the shell's.
        if tcgetpgrp(&terminal).ok()? != getpgrp() {
            return None;
        }
        let before = tcgetattr(&terminal).ok()?;
        let mut now = before.clone();
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &now).ok()?;
        Some((terminal, before))
    }

    /// The key that was pressed within the time, which passes if none is.
    pub fn wait(&self, within: Duration) -> Option<Key> {
        let Some((terminal, _)) = &self.0 else {
            std::thread::sleep(within);
            return None;
        };
        let mut waiting = [PollFd::from_borrowed_fd(terminal.as_fd(), PollFlags::IN)];
        let within =
            Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
        let ready = poll(&mut waiting, Some(&within)).unwrap_or(0) > 0;
        if !ready {
            return None;
        }
        let mut typed = [0; 16];
        match rustix::io::read(terminal, &mut typed) {
            Ok(0) | Err(_) => Some(Key::Quit),
            Ok(length) => key(typed.get(..length).unwrap_or_default()),
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some((terminal, before)) = &self.0 {
            // Nothing can be done about a terminal that is gone.
            let _ = tcsetattr(terminal, OptionalActions::Now, before);
        }
    }
}

/// The key of what a terminal sends for it.
fn key(typed: &[u8]) -> Option<Key> {
    match typed {
        b"q" | b"Q" | b"\x1b" => Some(Key::Quit),
        b"n" | b"\t" | b" " | b"\x1b[B" | b"\x1b[C" | b"\x1b[6~" => Some(Key::Next),
        b"p" | b"\x1b[A" | b"\x1b[D" | b"\x1b[5~" => Some(Key::Previous),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_arrows_and_escape_are_known() {
        assert_eq!(key(b"q"), Some(Key::Quit));
        assert_eq!(key(b"\x1b"), Some(Key::Quit));
        assert_eq!(key(b"\x1b[C"), Some(Key::Next));
        assert_eq!(key(b"p"), Some(Key::Previous));
        assert_eq!(key(b"x"), None);
    }
}
