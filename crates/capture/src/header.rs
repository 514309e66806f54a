//! The header of a block.

/// How a block begins. The line end makes it a line of its own for line-based readers, and the
/// first byte is not text in any encoding (as in PNG).
pub const MAGIC: [u8; 8] = *b"\x89IOWHY\x01\n";
/// Added to the end mark of a repeated block.
const REPEATS: u16 = 1 << 8;
/// The version of the content. Version 1 had facts as texts, version 2 every bucket of a histogram,
/// versions 1 to 3 no file of an event, versions 1 to 4 no weight, versions 1 to 5 no
/// CPU and queue.
pub const VERSION: u16 = 6;
/// The version that is written where no I/O has a CPU or a queue.
pub(crate) const WITHOUT_PLACES: u16 = 5;

/// What comes after a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// More blocks.
    More,
    /// Nothing: the recording is complete.
    Over,
    /// More blocks, in another file.
    Elsewhere,
}

/// The header of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The version of its content: that of its block, or one before.
    pub version: u16,
    /// What comes after it.
    pub end: End,
    /// Its content repeats what the previous file has.
    pub repeats: bool,
    /// Bytes of its content.
    pub bytes: u32,
    /// Which recording it belongs to.
    pub stream: u64,
    /// Its index in the recording, from 0.
    pub sequence: u64,
    /// Events in all blocks before it.
    pub events_before: u64,
    /// Events in it.
    pub events: u32,
    /// CRC-32 of its content.
    pub checksum: u32,
}

impl Header {
    /// Bytes it takes.
    pub const BYTES: usize = 52;

    /// Whether this is the content it was written for.
    pub fn fits(&self, content: &[u8]) -> bool {
        crc32fast::hash(content) == self.checksum
    }

    /// As bytes.
    pub fn to_bytes(self) -> Vec<u8> {
        let end: u16 = match self.end {
            End::More => 0,
            End::Over => 1,
            End::Elsewhere => 2,
        };
        let mut out = MAGIC.to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend((end + u16::from(self.repeats) * REPEATS).to_le_bytes());
        out.extend(self.bytes.to_le_bytes());
        for word in [self.stream, self.sequence, self.events_before] {
            out.extend(word.to_le_bytes());
        }
        out.extend(self.events.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
        out.extend(crc32fast::hash(&out).to_le_bytes());
        out
    }

    /// From bytes; `None` if they are not a header, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<Header> {
        let bytes: &[u8; Header::BYTES] = bytes.get(..Header::BYTES)?.try_into().ok()?;
        let (reported, checksum) = bytes.split_at(Header::BYTES - 4);
        let sound = crc32fast::hash(reported).to_le_bytes() == *checksum;
        if !sound || !reported.starts_with(&MAGIC) {
            return None;
        }
        let version = u16::from_le_bytes([reported[8], reported[9]]);
        if !(1..=VERSION).contains(&version) {
            return None;
        }
        let mark = u16::from_le_bytes([reported[10], reported[11]]);
        let end = match mark & !REPEATS {
            0 => End::More,
            1 => End::Over,
            2 => End::Elsewhere,
            _ => return None,
        };
        Some(Header {
            version,
            end,
            repeats: mark & REPEATS > 0,
            bytes: four(bytes, 12),
            stream: eight(bytes, 16),
            sequence: eight(bytes, 24),
            events_before: eight(bytes, 32),
            events: four(bytes, 40),
            checksum: four(bytes, 44),
        })
    }
}

/// The number at an offset within bounds.
fn four(bytes: &[u8; Header::BYTES], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

fn eight(bytes: &[u8; Header::BYTES], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_any_flipped_bit_is_seen() {
        let header = Header {
            version: VERSION,
            end: End::Elsewhere,
            repeats: true,
            bytes: 77,
            stream: 1 << 60,
            sequence: 3,
            events_before: 9_000_000_000,
            events: 12,
            checksum: 0xdead_beef,
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes.len(), Header::BYTES);
        assert_eq!(Header::from_bytes(&bytes), Some(header));
        for bit in 0..bytes.len() * 8 {
            let mut bitten = bytes.clone();
            bitten[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::from_bytes(&bitten), None);
        }
    }
}
