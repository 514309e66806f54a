//! Keys while a map is redrawn: next device, previous device, quit.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// The action of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Key {
    Next,
    Previous,
    Quit,
}

/// The terminal for keys, if this process may read them. Line output and Ctrl-C are unchanged.
pub(super) struct Keys(Option<(File, Termios)>);

impl Keys {
    /// Reads keys from the terminal from now on; it may differ from standard input.
    pub(super) fn open() -> Keys {
        Keys(Keys::take())
    }

    fn take() -> Option<(File, Termios)> {
        let terminal = File::open("/dev/tty").ok()?;
        // In the background the keys belong to the shell.
        if tcgetpgrp(&terminal).ok()? != getpgrp() {
            return None;
        }
        let before = tcgetattr(&terminal).ok()?;
        let mut now = before.clone();
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &now).ok()?;
        Some((terminal, before))
    }

    /// The key pressed within this time, if any.
    pub(super) fn wait(&self, within: Duration) -> Option<Key> {
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
            // A closed terminal cannot be restored.
            let _ = tcsetattr(terminal, OptionalActions::Now, before);
        }
    }
}

/// The key for the bytes that a terminal sends.
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
