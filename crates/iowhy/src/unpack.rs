//! Unpacks inputs (gzip, xz, zstd, bzip2), and reads archives (tar, zip) member by member.
//!
//! One rule for all compression formats: every frame is read (`cat a.zst b.zst`, pigz, pbzip2,
//! pzstd), every checksum verified, and bytes after the last frame are an error. Compressed data is
//! untrusted: it is bounded by the [`Budget`] of the run, in depth and in decoder memory. Exceeding
//! a bound is an error of that input; everything before it has been read.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::budget::Budget;

/// Maximum nesting of packings.
const DEPTH: usize = 3;
/// Memory of a decoder, KiB and bytes: xz and zstd need 64 and 128 MiB at their highest usual
/// levels.
const XZ_KIB: u32 = 128 << 10;
const ZSTD_WINDOW: u64 = 128 << 20;
/// Bytes read from a decoder at a time.
const BUFFER: usize = 1 << 17;
/// A block of a tar archive.
const BLOCK: usize = 512;
/// Kinds of members without content of their own (pax(1), GNU tar): links to other members,
/// folders, names, attributes and labels.
const OF_NO_CONTENT: &[u8] = b"125xgKLVN";
/// Longest name of a member.
const NAME: u64 = 4096;

/// An unpacked input.
pub(crate) enum InputBody<'a> {
    /// Text, or a binary capture.
    Capture(Box<dyn BufRead + 'a>),
    /// An archive, of tar or zip.
    Archive(Box<dyn BufRead + 'a>),
}

/// Unpacks an input.
///
/// # Errors If the input cannot be read or is packed too deep.
pub(crate) fn unpacked<'a>(
    mut reader: Box<dyn BufRead + 'a>,
    budget: &'a Budget,
) -> io::Result<InputBody<'a>> {
    for _ in 0..=DEPTH {
        let head = reader.fill_buf()?;
        if is_archive(head) {
            return Ok(InputBody::Archive(reader));
        }
        let Some(packing) = PackedAs::of(head) else { return Ok(InputBody::Capture(reader)) };
        let bounded = BoundedReader { inner: packing.decoder(reader), budget };
        reader = Box::new(BufReader::with_capacity(BUFFER, bounded));
    }
    Err(refused("it is compressed more than three times"))
}

/// Whether an archive begins with these bytes.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    is_tar(head) || is_zip(head)
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
            // A frame, or one to be skipped: pzstd writes that first (RFC 8878, 3.1.2).
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Some(PackedAs::Zstd)
            }
            // A block, or the end of an empty stream.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, ..] => Some(PackedAs::Bzip2),
            _ => None,
        }
    }

    fn decoder<'a>(self, packed: impl BufRead + 'a) -> Box<dyn Read + 'a> {
        match self {
            PackedAs::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            PackedAs::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(packed, true, XZ_KIB)),
            PackedAs::Zstd => Box::new(ZstdReader::new(packed)),
            PackedAs::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
        }
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{why}; unpack it and name the capture"))
}

/// Frames of zstd one after the other, without skippable ones.
struct ZstdReader<R> {
    packed: R,
    decoder: FrameDecoder,
    /// Bytes decoded from the open frame; `None` between frames.
    given: Option<u64>,
}

impl<R: BufRead> ZstdReader<R> {
    fn new(packed: R) -> ZstdReader<R> {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        ZstdReader { packed, decoder, given: None }
    }

    /// Opens the next frame; whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => {
                    self.given = Some(0);
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    skip(&mut (&mut self.packed).take(length), length)?;
                }
                Err(cause) => return Err(damaged(&cause)),
            }
        }
        Ok(false)
    }

    /// Whether the finished frame has the declared size.
    fn verify(&self, given: u64) -> io::Result<()> {
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(damaged(&"the checksum of a zstd frame is wrong"));
        }
        match self.decoder.content_size() {
            0 => Ok(()),
            size if size == given => Ok(()),
            _ => Err(damaged(&"the size of a zstd frame differs from its header")),
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(given) = self.given else {
                if self.begin()? {
                    continue;
                }
                return Ok(0);
            };
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.packed, one).map_err(|why| damaged(&why))?;
            }
            if self.decoder.can_collect() > 0 {
                let count = self.decoder.read(into)?;
                self.given = Some(given + count as u64);
                return Ok(count);
            }
            self.verify(given)?;
            self.given = None;
        }
    }
}

fn damaged(why: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why.to_string())
}

/// Stops a decoder that outputs too much or takes too long.
struct BoundedReader<'a> {
    inner: Box<dyn Read + 'a>,
    budget: &'a Budget,
}

impl Read for BoundedReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.budget.unpack(count)?;
        Ok(count)
    }
}

/// Reads exactly this many bytes, or fails.
fn skip(from: &mut dyn Read, bytes: u64) -> io::Result<()> {
    match io::copy(from, &mut io::sink())? {
        taken if taken == bytes => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

/// Whether a tar archive begins with these bytes: its magic, and a valid checksum.
fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK).is_some_and(|block| Member::of(block).is_some())
}

/// Whether a zip archive begins with these bytes: a file header, or the end of an empty archive.
fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// The header of a member.
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

/// Passes every regular file of an archive to `take`: name, size and bytes. Returns how many
/// members were left out because they are not regular: devices, FIFOs, sparse files.
///
/// # Errors
/// What the input shows when it cannot be read on, or where it is not an archive any more.
pub(crate) fn members(
    archive: &mut dyn BufRead,
    take: &mut dyn FnMut(&str, u64, &mut dyn BufRead) -> io::Result<()>,
) -> io::Result<usize> {
    if is_zip(archive.fill_buf()?) {
        return members_of_zip(archive, take);
    }
    let mut long_name: Option<String> = None;
    let mut left_out = 0;
    let mut block = [0; BLOCK];
    // An archive ends with two blocks of zeros; another may follow (`cat a.tar b.tar`).
    while !archive.fill_buf()?.is_empty() {
        archive.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            continue;
        }
        let member = Member::of(&block).ok_or_else(|| damaged(&"the archive is damaged here"))?;
        let padding = (BLOCK as u64 - member.size % BLOCK as u64) % BLOCK as u64;
        let mut inside = (&mut *archive).take(member.size);
        match member.kind {
            b'L' if member.size < NAME => {
                let mut name = Vec::new();
                inside.read_to_end(&mut name)?;
                let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_string();
                long_name = Some(name);
            }
            b'x' if member.size < NAME => {
                let mut records = Vec::new();
                inside.read_to_end(&mut records)?;
                let records = String::from_utf8_lossy(&records);
                let path = records.lines().find_map(|line| line.split_once(" path="));
                long_name = path.map(|(_, name)| name.to_string());
            }
            _ if member.is_file() => {
                let name = long_name.take().unwrap_or(member.name);
                take(&name, member.size, &mut inside)?;
            }
            kind => {
                left_out += usize::from(!OF_NO_CONTENT.contains(&kind));
                long_name = None;
            }
        }
        let left = inside.limit();
        skip(&mut inside, left)?;
        skip(&mut (&mut *archive).take(padding), padding)?;
    }
    Ok(left_out)
}

/// Bytes of a zip archive: its directory is at the end, so all of it is kept.
const ZIP: u64 = 256 << 20;

/// The same for a zip archive. Members with an unsupported compression or a password are left out.
fn members_of_zip(
    archive: &mut dyn BufRead,
    take: &mut dyn FnMut(&str, u64, &mut dyn BufRead) -> io::Result<()>,
) -> io::Result<usize> {
    let mut bytes = Vec::new();
    archive.take(ZIP + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > ZIP {
        return Err(refused("it is a zip archive of more than 256 MiB"));
    }
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|cause| damaged(&cause))?;
    let mut left_out = 0;
    for place in 0..archive.len() {
        let member = match archive.by_index(place) {
            Ok(member) => member,
            Err(ZipError::UnsupportedArchive(_)) => {
                left_out += 1;
                continue;
            }
            Err(cause) => return Err(damaged(&cause)),
        };
        if !member.is_file() {
            left_out += usize::from(!member.is_dir() && !member.is_symlink());
            continue;
        }
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        let size = member.size();
        let bounded = BoundedReader { inner: Box::new(member), budget: Budget::of_this_run() };
        let mut inside = BufReader::with_capacity(BUFFER, bounded);
        take(&name, size, &mut inside)?;
        // The checksum is verified at the member's end.
        io::copy(&mut inside, &mut io::sink())?;
    }
    Ok(left_out)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;
    use crate::budget::FREE;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn budget() -> &'static Budget {
        Box::leak(Box::new(Budget::new(Duration::MAX)))
    }

    /// The unpacked bytes of a file, and why unpacking stopped.
    fn read(bytes: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let (budget, mut text) = (budget(), Vec::new());
        let file = BufReader::new(budget.metered(bytes));
        let outcome = unpacked(Box::new(file), budget).and_then(|body| match body {
            InputBody::Capture(mut reader) => reader.read_to_end(&mut text).map(|_| ()),
            InputBody::Archive(_) => panic!("an archive"),
        });
        (text, outcome)
    }

    fn text_of(bytes: &[u8]) -> io::Result<String> {
        let (text, outcome) = read(bytes);
        outcome.map(|()| String::from_utf8(text).unwrap())
    }

    const HELLO: &str = "iostat -x 1\n";

    fn packings() -> [(&'static str, Vec<u8>); 4] {
        let gzip = gzip(HELLO.as_bytes());
        [("gzip", gzip), ("bzip2", BZIP2.into()), ("xz", XZ.into()), ("zstd", ZSTD.into())]
    }

    #[test]
    fn each_packing_gives_its_text() {
        assert_eq!(text_of(HELLO.as_bytes()).unwrap(), HELLO);
        assert_eq!(text_of(&gzip(&gzip(HELLO.as_bytes()))).unwrap(), HELLO);
        // `printf 'iostat -x 1\n' | bzip2 | xxd -i`, and likewise for the others.
        for (name, packed) in packings() {
            assert_eq!(text_of(&packed).unwrap(), HELLO, "{name}");
        }
        let five = (0..5).fold(HELLO.as_bytes().to_vec(), |text, _| gzip(&text));
        assert!(text_of(&five).is_err());
    }

    #[test]
    fn every_frame_is_read_and_what_follows_the_last_is_an_error() {
        for (name, packed) in packings() {
            assert_eq!(text_of(&packed.repeat(3)).unwrap(), HELLO.repeat(3), "{name}");
            for more in [&b"x"[..], b"more text than a head\n", &[7; 512], &packed[..8]] {
                let (text, outcome) = read(&[&packed[..], more].concat());
                assert_eq!(text, HELLO.as_bytes(), "{name} {more:?}");
                assert!(outcome.is_err(), "{name} {more:?}");
            }
        }
        // Skippable frames of zstd, as pzstd writes them.
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0], &b"abcd"[..]].concat();
        let mixed = [&skipped[..], &ZSTD, &skipped, &ZSTD, &skipped].concat();
        assert_eq!(text_of(&mixed).unwrap(), HELLO.repeat(2));
        assert!(read(&[&ZSTD[..], &skipped[..10]].concat()).1.is_err());
    }

    #[test]
    fn no_damage_is_read_as_other_text() {
        for (name, packed) in packings() {
            let (once, twice) = (HELLO.as_bytes(), HELLO.repeat(2).into_bytes());
            let both = packed.repeat(2);
            for place in packed.len()..both.len() {
                let (text, outcome) = read(&both[..place]);
                let whole = place == packed.len() && outcome.is_ok();
                let known = text.starts_with(once) && twice.starts_with(&text);
                assert!(known && (whole || outcome.is_err()), "{name} cut at {place}");
                for bit in 0..8 {
                    let mut flipped = both.clone();
                    flipped[place] ^= 1 << bit;
                    let (text, outcome) = read(&flipped);
                    // Bytes that are not content, such as the time in a gzip header, may change.
                    let same = text == twice && outcome.is_ok();
                    let reported = text.starts_with(once) && outcome.is_err();
                    assert!(same || reported, "{name}: bit {bit} of byte {place} flipped");
                }
            }
        }
    }

    #[test]
    fn a_bomb_is_stopped_also_if_it_is_made_of_many() {
        let pack = |text: &[u8]| {
            let mut best = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            best.write_all(text).unwrap();
            best.finish().unwrap()
        };
        let whole = pack(&vec![0; (FREE + (8 << 20)) as usize]);
        let error = text_of(&whole).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains("500 times")), "{error:?}");
        // Each is below the free limit, and all come from a small input.
        let (part, budget) = (pack(&vec![b'x'; (FREE / 4) as usize]), budget());
        let outcomes = (0..9).map(|_| {
            let body = unpacked(Box::new(&part[..]), budget)?;
            let InputBody::Capture(mut reader) = body else { panic!("an archive") };
            reader.read_to_end(&mut Vec::new())
        });
        let read = outcomes.take_while(|outcome: &io::Result<usize>| outcome.is_ok()).count();
        assert_eq!(read, 4);
    }

    fn zip(members: &[(&str, &str)]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default();
        let packed = options.compression_method(zip::CompressionMethod::Deflated);
        writer.add_directory("host/", options).unwrap();
        for (name, text) in members {
            writer.start_file(*name, packed).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn members_of_a_zip_archive_are_read_and_verified() {
        let read = |bytes: &[u8]| {
            let mut found = Vec::new();
            let outcome = members(&mut BufReader::new(bytes), &mut |name, size, inside| {
                let mut text = String::new();
                inside.read_to_string(&mut text)?;
                assert_eq!(text.len() as u64, size);
                found.push((name.to_string(), text));
                Ok(())
            });
            (found, outcome.ok())
        };
        let text = "sda 1 2 3\n".repeat(50);
        let archive = zip(&[("host/a.txt", &text), ("host/b.txt", "two")]);
        assert!(is_archive(&archive));
        let both = [("host/a.txt", text.as_str()), ("host/b.txt", "two")]
            .map(|(name, text)| (name.to_string(), text.to_string()));
        assert_eq!(read(&archive), (both.to_vec(), Some(0)));
        // The checksum of `two` is 14 bytes into the member's entry of the directory at the end.
        let entry = archive.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
        let mut damaged = archive.clone();
        damaged[entry + 16] ^= 1;
        assert_eq!(read(&damaged).1, None);
        for cut in 1..archive.len() {
            assert_eq!(read(&archive[..cut]).1, None, "{cut}");
        }
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
            (found, outcome.ok())
        };
        let both = [
            ("host/a".to_string(), 3, "one".to_string()),
            ("host/b".to_string(), 3, "two".to_string()),
        ];
        assert_eq!(read(&archive), (both.to_vec(), Some(0)));
        // Concatenated, each with its own end.
        let ended = |name: &str, text: &str| [member(name, text), vec![0; 2 * BLOCK]].concat();
        let joined = [ended("host/a", "one"), ended("host/b", "two")].concat();
        assert_eq!(read(&joined), (both.to_vec(), Some(0)));
        for cut in (1..archive.len()).filter(|cut| *cut != archive.len() / 2 && *cut > BLOCK) {
            assert_eq!(read(&archive[..cut]).1, None, "{cut}");
        }
        let device = {
            let mut block = member("null", "");
            block[156] = b'3';
            let sum = u64::from_str_radix(std::str::from_utf8(&block[148..154]).unwrap(), 8);
            let sum = format!("{:06o}\0", sum.unwrap() + 3);
            block[148..155].copy_from_slice(sum.as_bytes());
            block
        };
        assert_eq!(read(&[archive, device].concat()), (both.to_vec(), Some(1)));
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
