//! Requests that wait for their revolution: a small queueing simulator, written independently of
//! the disks of [`crate::disk`], so that the judge also sees scenarios of another author. Times in
//! ms.

use crate::scenarios::Chance;

/// When requests are sent.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// This many in flight; that pause after each answer, on average, ms.
    Closed(usize, f64),
    /// At random times, this many per second.
    Open(f64),
    /// This many at once, at an interval in ms.
    Batches(usize, f64),
}

/// A sender.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// The program's name.
    pub comm: &'static str,
    /// Its process.
    pub pid: u32,
    /// Whether it writes.
    pub writes: bool,
    /// Size of its requests.
    pub bytes: u32,
    /// Whether each continues where the last one ended.
    pub onwards: bool,
    /// When it sends.
    pub pace: Pace,
}

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Io {
    /// The sender.
    pub comm: &'static str,
    /// Its process.
    pub pid: u32,
    /// Whether it was a write.
    pub writes: bool,
    /// Its size.
    pub bytes: u32,
    /// Where.
    pub sector: u64,
    /// When it was given to the device, ms.
    pub issued: f64,
    /// When it was answered, ms.
    pub completed: f64,
}

impl Io {
    /// From issue to completion, ms.
    pub fn latency(&self) -> f64 {
        self.completed - self.issued
    }
}

/// A device that serves this many at once, each for the time `service` gives (ms) for the sender
/// and its beginning (ms), and does nothing within its freezes (begin and length, ms).
pub struct Device<'a> {
    /// How many it serves at once.
    pub servers: usize,
    /// How long it serves one.
    pub service: &'a dyn Fn(&mut Chance, &Asker, f64) -> f64,
    /// When it does nothing.
    pub freezes: Vec<(f64, f64)>,
}

/// Sectors of the simulated disk: 1.6 TB.
const SECTORS: u64 = 3_200_000_000;

impl Device<'_> {
    /// The first `count` requests of these askers, or as many as come within `seconds`, by
    /// completion.
    pub fn run(
        &self,
        askers: &[Asker],
        count: usize,
        seconds: f64,
        chance: &mut Chance,
    ) -> Vec<Io> {
        // One slot per request that an asker may have in flight: when it sends next.
        let mut slots: Vec<(f64, usize)> = Vec::new();
        for (place, asker) in askers.iter().enumerate() {
            let many = match asker.pace {
                Pace::Closed(depth, _) => depth.max(1),
                Pace::Open(_) => 1,
                Pace::Batches(many, _) => many.max(1),
            };
            slots.extend((0..many).map(|k| (0.004 * k as f64 + 0.001 * place as f64, place)));
        }
        let mut next: Vec<u64> = askers.iter().map(|_| chance.bits() % SECTORS / 8 * 8).collect();
        let mut free = vec![0.0f64; self.servers.max(1)];
        let mut done = Vec::with_capacity(count);
        while done.len() < count {
            let earliest = (0..slots.len()).min_by(|a, b| slots[*a].0.total_cmp(&slots[*b].0));
            let Some(slot) = earliest.filter(|slot| slots[*slot].0 <= seconds * 1e3) else { break };
            let (issued, place) = slots[slot];
            let asker = &askers[place];
            let server = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
            let begin = free[server].max(issued);
            let completed = self.end(begin, (self.service)(chance, asker, begin));
            free[server] = completed;
            let sector = if asker.onwards { next[place] } else { chance.bits() % SECTORS / 8 * 8 };
            next[place] = (sector + u64::from(asker.bytes / 512)) % SECTORS;
            let Asker { comm, pid, writes, bytes, .. } = *asker;
            done.push(Io { comm, pid, writes, bytes, sector, issued, completed });
            slots[slot].0 = match asker.pace {
                Pace::Closed(_, think) => completed + 0.004 + chance.wait(think),
                Pace::Open(per_s) => issued + chance.wait(1e3 / per_s),
                Pace::Batches(_, every) => issued + every,
            };
        }
        done.sort_by(|a, b| a.completed.total_cmp(&b.completed));
        done
    }

    /// When work of that length ends that could begin at a time: none is done within a freeze.
    fn end(&self, begin: f64, work: f64) -> f64 {
        let (mut at, mut left) = (begin, work);
        for (from, length) in &self.freezes {
            let until = from + length;
            if at >= until || at + left <= *from {
                continue;
            }
            left -= (from - at).max(0.0);
            at = until;
        }
        at + left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_load_waits_for_its_depth_and_a_freeze_holds_all() {
        let asker = Asker {
            comm: "a",
            pid: 1,
            writes: false,
            bytes: 4096,
            onwards: true,
            pace: Pace::Closed(4, 0.0),
        };
        let service = |_: &mut Chance, _: &Asker, _: f64| 10.0;
        let mut device = Device { servers: 1, service: &service, freezes: Vec::new() };
        let done = device.run(&[asker], 40, 60.0, &mut Chance::new(1));
        assert!((done[20].latency() - 40.0).abs() < 0.1, "{:?}", done[20]);
        device.freezes = vec![(100.0, 500.0)];
        let done = device.run(&[asker], 40, 60.0, &mut Chance::new(1));
        let longest = done.iter().map(Io::latency).fold(0.0, f64::max);
        assert!((longest - 540.0).abs() < 0.1, "{longest}");
    }
}
