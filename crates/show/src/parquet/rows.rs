//! The columns of a row group, and the pages they become.

use std::collections::HashMap;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::encoding::{self, deltas, hybrid};
use super::thrift::Struct;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Whole numbers with a sign.
    I64,
    /// Whole numbers without one.
    U64,
    /// Those of 32 bits.
    U32,
    /// Whole numbers of 32 bits with a sign.
    I32,
    /// Microseconds since 1970, UTC.
    Micros,
    /// Numbers with a fraction, kept by their bits.
    Real,
    /// Texts that repeat.
    Text,
}

impl Kind {
    /// `Type` of parquet.thrift.
    pub fn physical(self) -> i32 {
        match self {
            Kind::U32 | Kind::I32 => 1,
            Kind::I64 | Kind::U64 | Kind::Micros => 2,
            Kind::Real => 5,
            Kind::Text => 6,
        }
    }

    /// `ConvertedType` of parquet.thrift, which every reader knows.
    pub fn converted(self) -> Option<i32> {
        match self {
            Kind::I64 | Kind::I32 | Kind::Real => None,
            Kind::Text => Some(0),
            Kind::Micros => Some(10),
            Kind::U32 => Some(13),
            Kind::U64 => Some(14),
        }
    }

    /// `LogicalType` of parquet.thrift, where the older one leaves something open: a time is UTC.
    pub fn logical(self) -> Option<Struct> {
        if self != Kind::Micros {
            return None;
        }
        let (mut unit, mut timestamp, mut of) = <(Struct, Struct, Struct)>::default();
        unit.structure(2, Struct::default());
        timestamp.flag(1, true);
        timestamp.structure(2, unit);
        of.structure(8, timestamp);
        Some(of)
    }

    /// How its values are written.
    pub fn encoding(self) -> i32 {
        match self {
            Kind::Text => encoding::RLE_DICTIONARY,
            Kind::Real => encoding::PLAIN,
            _ => encoding::DELTA_BINARY_PACKED,
        }
    }
}

/// One column of the rows that are being gathered.
pub(crate) struct Column {
    /// Its name, with the unit of its numbers in it.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    known: Vec<u32>,
    numbers: Vec<i64>,
    places: Vec<u32>,
    texts: Vec<String>,
    place_of: HashMap<String, u32>,
}

/// A column's pages, how many of their bytes are its dictionary, and the bounds of its values.
pub(crate) struct Pages {
    pub bytes: Vec<u8>,
    pub dictionary: usize,
    /// Bytes that there would be without a codec.
    pub plain: usize,
    pub codec: Codec,
    pub statistics: Struct,
}

/// How the bodies of pages are packed: `CompressionCodec` of parquet.thrift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Codec {
    /// As they are.
    None = 0,
    /// By zstd.
    Zstd = 6,
}

/// The longest text that is reported as a bound; a shortened one would not be a value of the
/// column.
const LONGEST_BOUND: usize = 64;

impl Column {
    /// A column without rows.
    pub(crate) fn new(name: &'static str, kind: Kind) -> Column {
        Column {
            name,
            kind,
            known: Vec::new(),
            numbers: Vec::new(),
            places: Vec::new(),
            texts: Vec::new(),
            place_of: HashMap::new(),
        }
    }

    /// Rows it holds.
    pub(crate) fn rows(&self) -> usize {
        self.known.len()
    }

    /// Adds a number; 64 bits without a sign keep their bits.
    pub(crate) fn number(&mut self, value: Option<i64>) {
        self.known.push(u32::from(value.is_some()));
        self.numbers.extend(value);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, value: Option<&str>) {
        self.known.push(u32::from(value.is_some()));
        let Some(text) = value else { return };
        // Rows that are sorted repeat the text before.
        if let Some(last) = self.places.last().copied()
            && self.texts.get(last as usize).is_some_and(|before| before == text)
        {
            return self.places.push(last);
        }
        let place = match self.place_of.get(text) {
            Some(place) => *place,
            None => {
                let place = self.texts.len() as u32;
                self.texts.push(text.to_string());
                self.place_of.insert(text.to_string(), place);
                place
            }
        };
        self.places.push(place);
    }

    /// Adds a number with a fraction.
    pub(crate) fn real(&mut self, value: Option<f64>) {
        self.number(value.map(|value| value.to_bits() as i64));
    }

    /// The pages of its rows, packed where that makes them smaller; it goes on empty.
    pub(crate) fn take_pages(&mut self, codec: Codec) -> Pages {
        let mut levels = Vec::new();
        hybrid(&self.known, 1, &mut levels);
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend(levels);
        let mut dictionary = None;
        match self.kind {
            Kind::Text => {
                dictionary = Some(self.dictionary());
                let width = u32::BITS - (self.texts.len().saturating_sub(1) as u32).leading_zeros();
                // A width of 0 is allowed, and stumbled over by some readers.
                let width = width.max(1);
                page.push(width as u8);
                hybrid(&self.places, width, &mut page);
            }
            Kind::Real => self.numbers.iter().for_each(|bits| page.extend(bits.to_le_bytes())),
            Kind::U32 | Kind::I32 => deltas(&self.numbers, 32, &mut page),
            _ => deltas(&self.numbers, 64, &mut page),
        }
        let statistics = self.statistics();
        let bare = |page: &Vec<u8>| page.len();
        let mut bodies = (dictionary.clone(), page.clone());
        let mut used = Codec::None;
        if codec == Codec::Zstd {
            let packed = (dictionary.as_ref().map(|page| zstd(page)), zstd(&page));
            let sum = |pages: &(Option<Vec<u8>>, Vec<u8>)| {
                pages.0.as_ref().map_or(0, bare) + pages.1.len()
            };
            if sum(&packed) < sum(&bodies) {
                (bodies, used) = (packed, codec);
            }
        }
        let mut pages =
            Pages { bytes: Vec::new(), dictionary: 0, plain: 0, codec: used, statistics };
        if let (Some(body), Some(plain)) = (bodies.0, dictionary) {
            let header = dictionary_page_header(self.texts.len(), plain.len(), body.len());
            let header = header.into_bytes();
            pages.plain += header.len() + plain.len();
            pages.bytes.extend(header);
            pages.bytes.extend(body);
            pages.dictionary = pages.bytes.len();
        }
        let encoding = self.kind.encoding();
        let header = data_page_header(self.rows(), page.len(), bodies.1.len(), encoding);
        let header = header.into_bytes();
        pages.plain += header.len() + page.len();
        pages.bytes.extend(header);
        pages.bytes.extend(bodies.1);
        self.known.clear();
        self.numbers.clear();
        self.places.clear();
        self.texts.clear();
        self.place_of.clear();
        pages
    }

    /// `Statistics` of parquet.thrift: how many rows are null, the largest value and the least.
    fn statistics(&self) -> Struct {
        let nulls = self.known.iter().filter(|known| **known == 0).count();
        let mut of = Struct::default();
        of.i64(3, nulls as i64);
        if let Some((least, most)) = self.bounds() {
            of.binary(5, &most);
            of.binary(6, &least);
        }
        of
    }

    /// The least and the largest value in the order of the column's type, as PLAIN writes them;
    /// none where nothing is known or a text is too long to be reported.
    fn bounds(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let numbers = self.numbers.iter();
        match self.kind {
            Kind::I64 | Kind::Micros => {
                let (least, most) = (numbers.clone().min()?, numbers.max()?);
                Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
            }
            Kind::U64 => {
                let numbers = numbers.map(|value| *value as u64);
                let (least, most) = (numbers.clone().min()?, numbers.max()?);
                Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
            }
            Kind::U32 => {
                let numbers = numbers.map(|value| *value as u32);
                let (least, most) = (numbers.clone().min()?, numbers.max()?);
                Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
            }
            Kind::I32 => {
                let numbers = numbers.map(|value| *value as i32);
                let (least, most) = (numbers.clone().min()?, numbers.max()?);
                Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
            }
            Kind::Real => {
                let mut numbers = numbers.map(|bits| f64::from_bits(*bits as u64));
                // What is not a number cannot be ordered; a zero of either sign is both.
                if numbers.clone().any(|value| value.is_nan() || value == 0.0) {
                    return None;
                }
                let first = numbers.next()?;
                let (least, most) = numbers
                    .fold((first, first), |(least, most), one| (one.min(least), one.max(most)));
                Some((least.to_le_bytes().to_vec(), most.to_le_bytes().to_vec()))
            }
            Kind::Text => {
                let (least, most) = (self.texts.iter().min()?, self.texts.iter().max()?);
                let reported = least.len().max(most.len()) <= LONGEST_BOUND;
                reported.then(|| (least.as_bytes().to_vec(), most.as_bytes().to_vec()))
            }
        }
    }

    /// The texts, each after its length.
    fn dictionary(&self) -> Vec<u8> {
        let mut page = Vec::new();
        for text in &self.texts {
            page.extend((text.len() as u32).to_le_bytes());
            page.extend_from_slice(text.as_bytes());
        }
        page
    }
}

fn zstd(page: &[u8]) -> Vec<u8> {
    compress_to_vec(page, CompressionLevel::Fastest)
}

fn dictionary_page_header(texts: usize, plain: usize, packed: usize) -> Struct {
    let mut of = Struct::default();
    of.i32(1, texts as i32);
    of.i32(2, encoding::PLAIN);
    page_header((2, plain, packed), (7, of))
}

fn data_page_header(rows: usize, plain: usize, packed: usize, encoding: i32) -> Struct {
    let mut of = Struct::default();
    of.i32(1, rows as i32);
    of.i32(2, encoding);
    of.i32(3, encoding::RLE);
    of.i32(4, encoding::RLE);
    page_header((0, plain, packed), (5, of))
}

/// The header of a page: its type and bytes, and the field with details of pages of its type
/// (`PageHeader` of parquet.thrift).
fn page_header((kind, plain, packed): (i32, usize, usize), (field, of): (u8, Struct)) -> Struct {
    let mut header = Struct::default();
    header.i32(1, kind);
    header.i32(2, plain as i32);
    header.i32(3, packed as i32);
    header.structure(field, of);
    header
}
