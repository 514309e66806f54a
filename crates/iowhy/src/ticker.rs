//! How long a live loop goes on: until its time is over or the user stops it.

use std::time::{Duration, Instant};

use iowhy_model::Nanos;

use crate::stop::Stop;

/// A loop's length, from now on.
pub struct Ticker {
    begun: Instant,
    length: Duration,
    stop: Stop,
}

impl Ticker {
    /// So long, from now on; `Duration::MAX` if only the user ends it. The stop was made before
    /// anything was watched.
    pub fn start(stop: Stop, length: Duration) -> Ticker {
        Ticker { begun: Instant::now(), length, stop }
    }

    /// Whether the user asked to stop.
    pub fn stopped(&self) -> bool {
        self.stop.asked()
    }

    /// Whether it is over, by its time or by the user.
    pub fn is_over(&self) -> bool {
        self.elapsed() >= self.length || self.stopped()
    }

    /// Since its beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The seconds that are left, the one that has begun among them.
    pub fn left_s(&self) -> u64 {
        self.left().as_secs() + 1
    }

    /// Sleeps, but not beyond its end.
    pub fn sleep(&self, nap: Duration) {
        std::thread::sleep(nap.min(self.left()));
    }

    fn left(&self) -> Duration {
        self.length.saturating_sub(self.elapsed())
    }
}

/// A length as the clock of this machine takes it.
pub fn length(of: Nanos) -> Duration {
    Duration::from_nanos(of.ns().max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_no_longer_than_it_lasts() {
        let ticker = Ticker::start(Stop::new().unwrap(), length(Nanos(20_000_000)));
        assert!(!ticker.is_over() && ticker.left_s() == 1);
        ticker.sleep(Duration::from_secs(3600));
        assert!(ticker.is_over() && !ticker.stopped() && ticker.left_s() == 1);
        assert_eq!(length(Nanos(-5)), Duration::ZERO);
    }
}
