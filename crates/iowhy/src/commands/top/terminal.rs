//! The terminal of `top`: raw mode, alternate screen, mouse; restored at the end, at a panic, at a
//! signal and while stopped by Ctrl-Z.

use std::io::{self, IsTerminal, Stdout, stdout};
use std::time::{Duration, Instant};

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyModifiers,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

use crate::stop::Stop;

/// A terminal that draws frames and gives events.
pub(super) struct Terminal {
    inner: ratatui::Terminal<CrosstermBackend<Stdout>>,
    stop: Stop,
    /// The terminal was closed.
    closed: bool,
}

/// The longest wait before the terminal size is read again.
const SLICE: Duration = Duration::from_millis(50);

impl Terminal {
    /// Whether standard input and output are a terminal.
    pub(super) fn is_one() -> bool {
        stdout().is_terminal() && io::stdin().is_terminal()
    }

    /// Takes over the terminal.
    ///
    /// # Errors
    /// If it cannot be set.
    pub(super) fn open() -> anyhow::Result<Terminal> {
        let stop = Stop::new()?;
        // A panic prints its message on the normal screen.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        take()?;
        let inner = ratatui::Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(Terminal { inner, stop, closed: false })
    }

    /// Draws a frame.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.inner.draw(picture).map(|_| ())
    }

    /// The next key, mouse or resize event, if one comes in time. Ctrl-Z stops the program here.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(super) fn event(&mut self, wait: Duration) -> anyhow::Result<Option<Event>> {
        let begun = Instant::now();
        // Waiting for an event on a closed terminal is a busy loop, and SIGHUP may be ignored.
        while !self.is_closed(wait.saturating_sub(begun.elapsed()))?
            && !event::poll(Duration::ZERO)?
        {
            if begun.elapsed() >= wait {
                return Ok(None);
            }
        }
        if self.closed {
            return Ok(None);
        }
        let event = event::read()?;
        if let Event::Key(key) = &event
            && key.code == KeyCode::Char('z')
            && key.modifiers.contains(KeyModifiers::CONTROL)
        {
            give_back();
            kill_process(getpid(), Signal::TSTP)?;
            // Here the shell has continued the process (`fg`).
            take()?;
            self.inner.clear()?;
            return Ok(None);
        }
        Ok(Some(event))
    }

    /// Whether a signal asked to end, or the terminal was closed.
    pub(super) fn stopped(&self) -> bool {
        self.closed || self.stop.asked()
    }

    /// Waits for input for a while; returns whether the terminal was closed.
    fn is_closed(&mut self, wait: Duration) -> anyhow::Result<bool> {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        // Short, because a change of size arrives as a signal.
        let wait = Timespec::try_from(wait.min(SLICE))?;
        match poll(&mut polled, Some(&wait)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(self.closed),
            Err(error) => return Err(error.into()),
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        self.closed |= polled.iter().any(|one| one.revents().intersects(gone));
        Ok(self.closed)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableMouseCapture)
}

/// Errors are ignored: the terminal may be gone.
fn give_back() {
    _ = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    _ = disable_raw_mode();
}
