//! The last I/Os in memory, as packed blocks of a capture: usually nine bytes each. To save an
//! interval the blocks are written as they are.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use iowhy_capture::{Block, End, Header, Section, checksum};
use iowhy_model::Source;

/// A block in the ring.
#[derive(Clone)]
pub(crate) struct RingBlock {
    /// When it was closed, CLOCK_MONOTONIC in ns.
    pub at_ns: i64,
    /// Its number since the recorder began.
    pub serial: u64,
    /// Header and content.
    pub bytes: Arc<[u8]>,
    /// Losses of its sources before it.
    pub before: Arc<Vec<(u64, Source)>>,
}

/// Blocks of the last seconds, with a maximum size.
pub(crate) struct Ring {
    blocks: VecDeque<RingBlock>,
    bytes: usize,
    most: usize,
    length_ns: i64,
    serial: u64,
    /// The time of new blocks, and the state of their sources.
    pub now_ns: i64,
    /// See [`RingBlock::before`].
    pub before: Arc<Vec<(u64, Source)>>,
    /// Blocks dropped early because the ring was full.
    pub shortened: u64,
}

impl Ring {
    /// An empty ring.
    pub(crate) fn new(length_ns: i64, most: usize) -> Ring {
        Ring {
            blocks: VecDeque::new(),
            bytes: 0,
            most,
            length_ns,
            serial: 0,
            now_ns: 0,
            before: Arc::new(Vec::new()),
            shortened: 0,
        }
    }

    /// The time it covers, ns.
    pub(crate) fn length_ns(&self) -> i64 {
        self.length_ns
    }

    /// Bytes in it.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Blocks closed after a time, with a higher number than the last one taken.
    pub(crate) fn since(&self, at_ns: i64, after: Option<u64>) -> impl Iterator<Item = &RingBlock> {
        let wanted = move |kept: &&RingBlock| {
            kept.at_ns >= at_ns && after.is_none_or(|after| kept.serial > after)
        };
        self.blocks.iter().filter(wanted)
    }

    fn forget(&mut self) {
        while let Some(first) = self.blocks.front() {
            let old = first.at_ns < self.now_ns - self.length_ns;
            if !old && self.bytes <= self.most {
                break;
            }
            self.shortened += u64::from(!old);
            self.bytes -= first.bytes.len();
            self.blocks.pop_front();
        }
    }
}

/// A capture's writer writes a whole block in each call.
impl Write for Ring {
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        self.serial += 1;
        self.bytes += block.len();
        self.blocks.push_back(RingBlock {
            at_ns: self.now_ns,
            serial: self.serial,
            bytes: block.into(),
            before: Arc::clone(&self.before),
        });
        self.forget();
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A first block for a file that starts with this one: has the sources and `facts` (by listing),
/// and earlier losses, so that they do not count as losses of this file.
pub(crate) fn beginning(first: &RingBlock, facts: &[(u64, iowhy_model::Fact)]) -> Vec<u8> {
    let Some(header) = Header::from_bytes(&first.bytes) else { return Vec::new() };
    let mut block = Block::default();
    for (listing, source) in first.before.iter() {
        let own = facts.iter().filter(|(of, _)| of == listing);
        block.sections.push(Section {
            listing: *listing,
            source: source.clone(),
            events: Vec::new(),
            intervals: Vec::new(),
            distributions: Vec::new(),
            facts: own.map(|(_, fact)| fact.clone()).collect(),
        });
    }
    sealed(&block, Header { end: End::More, repeats: true, events: 0, ..header })
}

/// The end block for a file whose last block this is.
pub(crate) fn ending(last: &RingBlock) -> Vec<u8> {
    let Some(header) = Header::from_bytes(&last.bytes) else { return Vec::new() };
    let over = Header {
        end: End::Over,
        repeats: false,
        sequence: header.sequence.saturating_add(1),
        events_before: header.events_before.saturating_add(header.events.into()),
        events: 0,
        ..header
    };
    sealed(&Block::default(), over)
}

fn sealed(block: &Block, header: Header) -> Vec<u8> {
    let content = block.to_bytes();
    let header = Header {
        version: block.version(),
        bytes: content.len() as u32,
        checksum: checksum(&content),
        ..header
    };
    let mut bytes = header.to_bytes();
    bytes.extend(content);
    bytes
}

#[cfg(test)]
mod tests {
    use iowhy_capture::Writer;
    use iowhy_model::{DeviceId, Event, Layer, Level, Nanos, Op, Recording, Sink, Time};

    use super::*;

    /// Ten seconds of a hundred reads each, a block a second; in the third seven are lost.
    fn ring(most: usize) -> Writer<Ring> {
        let mut writer = Writer::new(Ring::new(5_000_000_000, most), 77);
        writer.begin(Source::new("block-trace", "live", Level::D));
        writer.device("sda");
        for second in 0..10i64 {
            let reported = writer.sources().cloned().enumerate();
            let reported: Vec<_> = reported.map(|(place, source)| (place as u64, source)).collect();
            writer.out().now_ns = (second + 1) * 1_000_000_000;
            writer.out().before = Arc::new(reported);
            for k in 0..100 {
                let mut event = Event::new(DeviceId::at(0), Op::Read, Layer::Block);
                event.completed = Some(Time::from_ns(second * 1_000_000_000 + k * 1_000_000));
                writer.event(event);
            }
            if second == 2 {
                writer.lost("I/Os", 7);
            }
            writer.source().watched = Some(Nanos((second + 1) * 1_000_000_000));
            writer.flush().expect("memory");
        }
        writer
    }

    #[test]
    fn a_stretch_of_it_is_a_capture_of_its_own() {
        let mut writer = ring(1 << 20);
        let ring = writer.out();
        let kept: Vec<&RingBlock> = ring.since(7_000_000_000, None).collect();
        assert_eq!(kept.len(), 4);
        let mut file = beginning(kept[0], &[]);
        kept.iter().for_each(|kept| file.extend_from_slice(&kept.bytes));
        file.extend(ending(kept[3]));
        let mut recording = Recording::new();
        iowhy_read::scan("kept.iowhy", &mut &file[..], None, &mut recording).expect("a capture");
        assert_eq!(recording.listings.len(), 1);
        assert_eq!(recording.listings[0].events.len(), 400);
        let source = &recording.listings[0].source;
        assert_eq!((source.lost(), source.skipped), (0, 0), "{source:?}");
        // From the ten seconds that were watched.
        assert_eq!(source.watched, Some(Nanos(4_000_000_000)));
        assert_eq!(ring.since(7_000_000_000, Some(kept[2].serial)).count(), 1);
        assert_eq!(ring.shortened, 0);
    }

    #[test]
    fn its_length_and_its_bytes_are_bounded() {
        let mut writer = ring(1 << 20);
        let whole = writer.out().bytes();
        assert_eq!(writer.out().since(0, None).count(), 6);
        let mut writer = ring(whole / 2);
        assert!(writer.out().bytes() <= whole / 2 && writer.out().shortened > 0);
    }
}
