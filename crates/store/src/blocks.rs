//! The readable blocks of a capture in memory: damage is skipped and counted.

use iowhy_capture::{BLOCK_BYTES, Block, Header, MAGIC};
use memchr::memmem;

/// What could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Damage {
    /// Blocks with a readable header but unreadable content, and missing blocks.
    pub blocks: u64,
    /// Bytes that belong to no whole block.
    pub bytes: u64,
}

impl Damage {
    /// Whether anything is missing.
    pub fn any(self) -> bool {
        self.blocks + self.bytes > 0
    }

    /// Both together.
    pub fn add(&mut self, other: Damage) {
        self.blocks += other.blocks;
        self.bytes += other.bytes;
    }
}

/// Walks the blocks of a capture.
pub struct Blocks<'a> {
    rest: &'a [u8],
    damage: Damage,
    /// The stream and the number of the block that should come next.
    next: Option<(u64, u64)>,
}

impl<'a> Blocks<'a> {
    /// Walks these bytes.
    pub fn new(bytes: &'a [u8]) -> Blocks<'a> {
        Blocks { rest: bytes, damage: Damage::default(), next: None }
    }

    /// What could not be read so far.
    pub fn damage(&self) -> Damage {
        self.damage
    }

    /// Skips to the next magic number.
    fn pass_over(&mut self) {
        let behind = self.rest.get(1..).unwrap_or_default();
        let passed = memmem::find(behind, &MAGIC).map_or(self.rest.len(), |place| place + 1);
        self.damage.bytes += passed as u64;
        self.rest = self.rest.get(passed..).unwrap_or_default();
    }

    /// The block at the front; `None` if there is none or it is damaged.
    fn front(&self) -> Option<(Header, Option<Block>, usize)> {
        let header = Header::from_bytes(self.rest)?;
        let whole = Header::BYTES + header.bytes as usize;
        if header.bytes as usize > BLOCK_BYTES {
            return None;
        }
        let content = self.rest.get(Header::BYTES..whole);
        let sound = content.filter(|content| header.fits(content));
        let block = sound.and_then(|content| Block::from_bytes(header.version, content));
        Some((header, block, whole))
    }
}

impl Iterator for Blocks<'_> {
    type Item = (Header, Block);

    fn next(&mut self) -> Option<(Header, Block)> {
        while !self.rest.is_empty() {
            let Some((header, block, whole)) = self.front() else {
                self.pass_over();
                continue;
            };
            if let Some((stream, expected)) = self.next
                && stream == header.stream
            {
                self.damage.blocks += header.sequence.saturating_sub(expected).min(1 << 32);
            }
            self.next = Some((header.stream, header.sequence.saturating_add(1)));
            match block {
                Some(block) => {
                    self.rest = self.rest.get(whole..).unwrap_or_default();
                    return Some((header, block));
                }
                None => {
                    self.damage.blocks += 1;
                    self.pass_over();
                }
            }
        }
        None
    }
}
