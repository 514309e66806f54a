//! One completed I/O.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU32};

use crate::{DeviceId, Flags, Name, Nanos, Op, Time};

/// Where in the stack an I/O was measured. Layers never mix: a system call waits for things the
/// block layer never sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Layer {
    /// Measured by the program that waited (fio, the write tester, Oracle).
    Application,
    /// Entry to return of a system call, or of a function of the program.
    Syscall,
    /// A request of the block layer.
    Block,
}

impl Layer {
    /// All layers, from the program down.
    pub const ALL: [Layer; 3] = [Layer::Application, Layer::Syscall, Layer::Block];

    /// The name used in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Application => "application",
            Layer::Syscall => "syscall",
            Layer::Block => "block",
        }
    }
}

/// Which part of a request's life a latency covers, by the field's own abbreviations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// B2Q: from the arrival of the bio in the block layer to its request, spent waiting for a
    /// free tag (cgroup limits hold a bio back even before it arrives).
    Before,
    /// Q2D: from the start of the I/O to its issue to the driver.
    Queue,
    /// D2C: from issue to completion.
    Device,
    /// Q2C: both together, what iostat calls await.
    Total,
}

impl Stage {
    /// All stages, in the order of a request's life, the sum last.
    pub const ALL: [Stage; 4] = [Stage::Before, Stage::Queue, Stage::Device, Stage::Total];

    /// The field's abbreviation: `B2Q`, `Q2D`, `D2C` or `Q2C`.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Before => "B2Q",
            Stage::Queue => "Q2D",
            Stage::Device => "D2C",
            Stage::Total => "Q2C",
        }
    }
}

/// A number up to 65,534: that of a CPU or a queue. It takes no more room if it may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SmallNumber(NonZeroU16);

impl SmallNumber {
    /// `None` if it is larger.
    pub fn new(number: u64) -> Option<SmallNumber> {
        u16::try_from(number.checked_add(1)?).ok().and_then(NonZeroU16::new).map(SmallNumber)
    }

    /// The number.
    pub fn get(self) -> u16 {
        self.0.get() - 1
    }
}

/// One completed I/O. Unknown is `None`, never 0, -1 or `?`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// When its bio arrived in the block layer, before there was a request for it.
    pub arrived: Option<Time>,
    /// When the I/O was started (request allocated; for a device without requests, bio queued).
    pub queued: Option<Time>,
    /// When it was given to the driver.
    pub issued: Option<Time>,
    /// When it completed.
    pub completed: Option<Time>,
    /// First sector, in units of 512 bytes whatever the device's block size.
    pub sector: Option<u64>,
    /// Length in bytes; 0 for an empty flush.
    pub bytes: Option<u32>,
    /// The process that started it (for buffered writes: the flusher).
    pub pid: Option<u32>,
    /// That process's name.
    pub comm: Option<Name>,
    /// The control group it is charged to, by its path or inode number.
    pub cgroup: Option<Name>,
    /// The file whose pages it reads or writes; the device itself for a file system's own blocks.
    pub file: Option<Name>,
    /// Requests in flight on the device when this one was issued, itself included.
    pub depth: Option<NonZeroU32>,
    /// The CPU on which its completion was handled.
    pub cpu: Option<SmallNumber>,
    /// The hardware queue of the device to which it was sent.
    pub queue: Option<SmallNumber>,
    /// How many I/Os it represents if the listing is sampled: 1 for a slow one. `None` if every I/O
    /// is listed.
    pub weight: Option<NonZeroU8>,
    /// The device.
    pub device: DeviceId,
    /// Errno-like status, positive; `None` if it succeeded or the source does not show it.
    pub error: Option<u16>,
    /// Where it was measured.
    pub layer: Layer,
    /// The operation.
    pub op: Op,
    /// Its flags.
    pub flags: Flags,
}

impl Event {
    /// An event with only device, operation and layer.
    pub fn new(device: DeviceId, op: Op, layer: Layer) -> Self {
        Event {
            arrived: None,
            queued: None,
            issued: None,
            completed: None,
            sector: None,
            bytes: None,
            pid: None,
            comm: None,
            cgroup: None,
            file: None,
            depth: None,
            cpu: None,
            queue: None,
            weight: None,
            device,
            error: None,
            layer,
            op,
            flags: Flags::default(),
        }
    }

    /// The same event with this moment as the zero of its clock.
    pub fn since(self, zero: Time) -> Event {
        let moved = |time: Option<Time>| time.map(|time| Time::from_ns((time - zero).ns()));
        Event {
            arrived: moved(self.arrived),
            queued: moved(self.queued),
            issued: moved(self.issued),
            completed: moved(self.completed),
            ..self
        }
    }

    /// The latency of a stage: B2Q, Q2D, D2C or Q2C. `None` if either end is unknown, or if the end
    /// is before the start (a clock that jumped).
    pub fn latency(&self, stage: Stage) -> Option<Nanos> {
        let (start, end) = match stage {
            Stage::Before => (self.arrived?, self.queued?),
            Stage::Queue => (self.queued?, self.issued?),
            Stage::Device => (self.issued?, self.completed?),
            Stage::Total => (self.queued?, self.completed?),
        };
        (start <= end).then(|| end - start)
    }

    /// The latency drawn over time: that of the requested stage, else the longest.
    pub fn shown(&self, asked: Option<Stage>) -> Option<(Stage, Nanos)> {
        let known = asked.and_then(|stage| Some((stage, self.latency(stage)?)));
        known.or_else(|| self.longest())
    }

    /// The latency closest to what the program experiences, and its stage: Q2C if the start was
    /// seen, else D2C.
    pub fn longest(&self) -> Option<(Stage, Nanos)> {
        [Stage::Total, Stage::Device]
            .into_iter()
            .find_map(|stage| self.latency(stage).map(|latency| (stage, latency)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stays_small() {
        assert!(size_of::<Event>() <= 96, "{} bytes", size_of::<Event>());
        let numbers = [0, 7, 65_534, 65_535, u64::MAX];
        let known = numbers.map(|number| SmallNumber::new(number).map(SmallNumber::get));
        assert_eq!(known, [Some(0), Some(7), Some(65_534), None, None]);
    }

    #[test]
    fn stages_add_up_and_a_clock_that_jumped_back_is_not_a_latency() {
        let mut event = Event::new(DeviceId(0), Op::Read, Layer::Block);
        event.queued = Some(Time::from_ns(10));
        event.issued = Some(Time::from_ns(30));
        event.completed = Some(Time::from_ns(100));
        assert_eq!(event.latency(Stage::Queue), Some(Nanos(20)));
        assert_eq!(event.latency(Stage::Device), Some(Nanos(70)));
        assert_eq!(event.longest(), Some((Stage::Total, Nanos(90))));
        event.completed = Some(Time::from_ns(29));
        assert_eq!(event.latency(Stage::Device), None);
    }
}
