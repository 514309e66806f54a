//! Packed inputs (gzip, xz, zstd, bzip2) as the text they hold, and tar archives member by member.
//!
//! They come from strangers: what is unpacked is bounded in size, in its ratio to what was packed, in
//! depth and in the memory a decoder may ask for. What goes past a bound is an error of the input
//! that says so; what came before it has been read.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::rc::Rc;

/// Bytes that an input may unpack to, as all files of a folder together.
const LARGEST: u64 = 4 << 30;
/// Times its packed size an input may be, past the first `FREE` bytes: repetitive text reaches some
/// hundreds, a bomb of zeros a thousand and more.
const RATIO: u64 = 500;
const FREE: u64 = 64 << 20;
/// Packings around packings that are taken off.
const DEPTH: usize = 3;
/// Memory of a decoder, KiB and bytes: xz and zstd need 64 and 128 MiB at their highest usual levels.
const XZ_KIB: u32 = 128 << 10;
const ZSTD_WINDOW: u64 = 128 << 20;
/// Bytes asked of a decoder at a time.
const BUFFER: usize = 1 << 17;
/// A block of a tar archive.
const BLOCK: usize = 512;
/// Longest name of a member.
const NAME: u64 = 4096;

/// What an input is once it is unpacked.
pub enum InputBody<'a> {
    /// Text, or a binary capture.
    Capture(Box<dyn BufRead + 'a>),
    /// A tar archive.
    Archive(Box<dyn BufRead + 'a>),
}

/// Takes off what an input is packed in.
///
/// # Errors
/// What the input says when it cannot be read, and that it is packed too deep.
pub fn unpacked<'a>(mut reader: Box<dyn BufRead + 'a>) -> io::Result<InputBody<'a>> {
    for _ in 0..=DEPTH {
        let head = reader.fill_buf()?;
        if is_tar(head) {
            return Ok(InputBody::Archive(reader));
        }
        let Some(packing) = PackedAs::of(head) else { return Ok(InputBody::Capture(reader)) };
        let packed = Rc::new(Cell::new(0));
        let counted =
            BufReader::with_capacity(BUFFER, CountingReader { reader, count: packed.clone() });
        let inner = packing.decoder(counted)?;
        let bounded = BoundedReader { inner, packed, unpacked: 0 };
        reader = Box::new(BufReader::with_capacity(BUFFER, bounded));
    }
    Err(refused("it is packed in more than three packings"))
}

/// Whether a tar archive begins with these bytes.
pub fn is_archive(head: &[u8]) -> bool {
    is_tar(head)
}

#[derive(Clone, Copy)]
enum PackedAs {
    Gzip,
    Xz,
    Zstd,
    Bzip2,
}

impl PackedAs {
    fn of(head: &[u8]) -> Option<PackedAs> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(PackedAs::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(PackedAs::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(PackedAs::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Some(PackedAs::Bzip2),
            _ => None,
        }
    }

    fn decoder<'a>(self, packed: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            PackedAs::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            PackedAs::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, XZ_KIB)),
            PackedAs::Zstd => {
                let decoder = ruzstd::decoding::StreamingDecoder::new_with_max_window_size(
                    packed,
                    ZSTD_WINDOW,
                );
                Box::new(decoder.map_err(|cause| io::Error::new(ErrorKind::InvalidData, cause))?)
            }
            PackedAs::Bzip2 => Box::new(bzip2_rs::DecoderReader::new(packed)),
        })
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("{why}; unpack it yourself and name the capture"),
    )
}

/// Counts what a decoder takes.
struct CountingReader<R> {
    reader: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(into)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

/// Stops a decoder that gives too much.
struct BoundedReader<'a> {
    inner: Box<dyn Read + 'a>,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.unpacked += count as u64;
        if self.unpacked > LARGEST {
            return Err(refused("it unpacks to more than 4 GiB"));
        }
        if self.unpacked > FREE && self.unpacked / RATIO > self.packed.get() {
            return Err(refused("it unpacks to more than 500 times its size"));
        }
        Ok(count)
    }
}

/// Whether a tar archive begins with these bytes: its mark, and a sum that fits.
fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK).is_some_and(|block| Member::of(block).is_some())
}

/// The head of a member.
struct Member {
    name: String,
    size: u64,
    kind: u8,
}

impl Member {
    fn of(block: &[u8]) -> Option<Member> {
        let field = |from: usize, to: usize| {
            let bytes = block.get(from..to).unwrap_or_default();
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8_lossy(&bytes[..end]).into_owned()
        };
        if block.get(257..262) != Some(b"ustar") {
            return None;
        }
        let number = |text: String| u64::from_str_radix(text.trim(), 8).ok();
        let blank = |(place, byte): (usize, &u8)| match place {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        };
        let sum: u64 = block.iter().enumerate().map(blank).sum();
        if number(field(148, 156))? != sum {
            return None;
        }
        // GNU tar writes large sizes as a binary number with the highest bit set.
        let size = match block.get(124..136)? {
            [0x80, rest @ ..] => rest
                .iter()
                .try_fold(0u64, |sum, byte| sum.checked_mul(256)?.checked_add(u64::from(*byte)))?,
            _ => number(field(124, 136))?,
        };
        let (prefix, name) = (field(345, 500), field(0, 100));
        let name = match block.get(257..263) {
            Some(b"ustar\0") if !prefix.is_empty() => format!("{prefix}/{name}"),
            _ => name,
        };
        Some(Member { name, size, kind: *block.get(156)? })
    }

    /// An ordinary file.
    fn is_file(&self) -> bool {
        matches!(self.kind, b'0' | 0 | b'7')
    }
}

/// Gives every ordinary file of an archive to `take`: its name, its size and its bytes.
///
/// # Errors
/// What the input says when it cannot be read on, or where it is no archive any more.
pub fn members(
    archive: &mut dyn BufRead,
    take: &mut dyn FnMut(&str, u64, &mut dyn BufRead) -> io::Result<()>,
) -> io::Result<()> {
    let mut long_name: Option<String> = None;
    let mut block = [0; BLOCK];
    loop {
        match archive.read_exact(&mut block) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            outcome => outcome?,
        }
        if block.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let member = Member::of(&block)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "the archive is damaged here"))?;
        let padding = member.size.next_multiple_of(BLOCK as u64) - member.size;
        let mut inside = (&mut *archive).take(member.size);
        match member.kind {
            b'L' if member.size < NAME => {
                let mut name = Vec::new();
                inside.read_to_end(&mut name)?;
                let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_string();
                long_name = Some(name);
            }
            b'x' if member.size < NAME => {
                let mut records = String::new();
                inside.read_to_string(&mut records)?;
                let path = records.lines().find_map(|line| line.split_once(" path="));
                long_name = path.map(|(_, name)| name.to_string());
            }
            _ if member.is_file() => {
                let name = long_name.take().unwrap_or(member.name);
                take(&name, member.size, &mut inside)?;
            }
            _ => long_name = None,
        }
        io::copy(&mut inside, &mut io::sink())?;
        io::copy(&mut (&mut *archive).take(padding), &mut io::sink())?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn text_of(bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        match unpacked(Box::new(bytes))? {
            InputBody::Capture(mut reader) => reader.read_to_string(&mut text)?,
            InputBody::Archive(_) => panic!("an archive"),
        };
        Ok(text)
    }

    #[test]
    fn each_packing_gives_its_text() {
        let hello = "iostat -x 1\n";
        assert_eq!(text_of(hello.as_bytes()).unwrap(), hello);
        assert_eq!(text_of(&gzip(&gzip(hello.as_bytes()))).unwrap(), hello);
        // `printf 'iostat -x 1\n' | bzip2 | xxd -i`, and likewise for the others.
        let bzip2: &[u8] = &BZIP2;
        assert_eq!(text_of(bzip2).unwrap(), hello);
        assert_eq!(text_of(&XZ).unwrap(), hello);
        assert_eq!(text_of(&ZSTD).unwrap(), hello);
        let five = (0..5).fold(hello.as_bytes().to_vec(), |text, _| gzip(&text));
        assert!(text_of(&five).is_err());
    }

    #[test]
    fn a_bomb_is_stopped() {
        let best = flate2::Compression::best();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), best);
        encoder.write_all(&vec![0; (FREE + (8 << 20)) as usize]).unwrap();
        let error = text_of(&encoder.finish().unwrap()).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("500 times")), "{error:?}");
    }

    #[test]
    fn members_come_by_name_and_a_cut_archive_is_read_to_the_cut() {
        let member = |name: &str, text: &str| {
            let mut block = vec![0; BLOCK];
            block[..name.len()].copy_from_slice(name.as_bytes());
            block[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
            block[156] = b'0';
            block[257..265].copy_from_slice(b"ustar\x0000");
            block[148..156].copy_from_slice(b"        ");
            let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
            block[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            block.extend_from_slice(text.as_bytes());
            block.resize(block.len().next_multiple_of(BLOCK), 0);
            block
        };
        let archive = [member("host/a", "one"), member("host/b", "two")].concat();
        let read = |mut bytes: &[u8]| {
            assert!(is_archive(bytes));
            let mut found = Vec::new();
            let outcome = members(&mut bytes, &mut |name, size, inside| {
                let mut text = String::new();
                inside.read_to_string(&mut text)?;
                found.push((name.to_string(), size, text));
                Ok(())
            });
            (found, outcome.is_ok())
        };
        let both = [
            ("host/a".to_string(), 3, "one".to_string()),
            ("host/b".to_string(), 3, "two".to_string()),
        ];
        assert_eq!(read(&archive), (both.to_vec(), true));
        assert_eq!(read(&archive[..1100]).0, both[..1]);
    }

    const BZIP2: [u8; 53] = [
        0x42, 0x5a, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x40, 0xe0, 0x69, 0x51, 0x00,
        0x00, 0x03, 0x59, 0x80, 0x00, 0x10, 0x40, 0x02, 0x20, 0x00, 0x20, 0x20, 0x8c, 0x40, 0x20,
        0x00, 0x22, 0x03, 0x23, 0x21, 0x00, 0x30, 0xc4, 0xc4, 0x58, 0xe4, 0x9b, 0xf1, 0x77, 0x24,
        0x53, 0x85, 0x09, 0x04, 0x0e, 0x06, 0x95, 0x10,
    ];
    const XZ: [u8; 68] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x0b, 0x69, 0x6f, 0x73,
        0x74, 0x61, 0x74, 0x20, 0x2d, 0x78, 0x20, 0x31, 0x0a, 0x00, 0xe9, 0x09, 0x94, 0xa7, 0xfb,
        0x91, 0x58, 0x91, 0x00, 0x01, 0x24, 0x0c, 0xa6, 0x18, 0xd8, 0xd8, 0x1f, 0xb6, 0xf3, 0x7d,
        0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
    ];
    const ZSTD: [u8; 25] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x61, 0x00, 0x00, 0x69, 0x6f, 0x73, 0x74, 0x61, 0x74,
        0x20, 0x2d, 0x78, 0x20, 0x31, 0x0a, 0x67, 0xa9, 0xc6, 0xfc,
    ];
}
