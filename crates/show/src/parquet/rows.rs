//! The columns of a row group, and the pages they become.

use std::collections::HashMap;

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
    /// Texts that repeat.
    Text,
}

impl Kind {
    /// `Type` of parquet.thrift.
    pub fn physical(self) -> i32 {
        match self {
            Kind::U32 => 1,
            Kind::I64 | Kind::U64 => 2,
            Kind::Text => 6,
        }
    }

    /// `ConvertedType` of parquet.thrift, which every reader knows.
    pub fn converted(self) -> Option<i32> {
        match self {
            Kind::I64 => None,
            Kind::Text => Some(0),
            Kind::U32 => Some(13),
            Kind::U64 => Some(14),
        }
    }
}

/// One column of the rows that are being gathered.
pub struct Column {
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

/// A column's pages, how many of their bytes are its dictionary, and what its values lie between.
pub struct Pages {
    pub bytes: Vec<u8>,
    pub dictionary: usize,
    pub statistics: Struct,
}

/// The longest text that is told as a bound; a shortened one would not be a value of the column.
const LONGEST_BOUND: usize = 64;

impl Column {
    /// A column without rows.
    pub fn new(name: &'static str, kind: Kind) -> Column {
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
    pub fn rows(&self) -> usize {
        self.known.len()
    }

    /// Adds a number; 64 bits without a sign keep their bits.
    pub fn number(&mut self, value: Option<i64>) {
        self.known.push(u32::from(value.is_some()));
        self.numbers.extend(value);
    }

    /// Adds a text.
    pub fn text(&mut self, value: Option<&str>) {
        self.known.push(u32::from(value.is_some()));
        let Some(text) = value else { return };
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

    /// The pages of its rows; it goes on empty.
    pub fn take_pages(&mut self) -> Pages {
        let mut pages = Pages { bytes: Vec::new(), dictionary: 0, statistics: self.statistics() };
        let mut levels = Vec::new();
        hybrid(&self.known, 1, &mut levels);
        let mut page = (levels.len() as u32).to_le_bytes().to_vec();
        page.extend(levels);
        let encoding = if self.kind == Kind::Text {
            pages.bytes = self.dictionary_page();
            pages.dictionary = pages.bytes.len();
            let width = u32::BITS - (self.texts.len().saturating_sub(1) as u32).leading_zeros();
            // A width of 0 is allowed, and stumbled over by some readers.
            let width = width.max(1);
            page.push(width as u8);
            hybrid(&self.places, width, &mut page);
            encoding::RLE_DICTIONARY
        } else {
            deltas(&self.numbers, if self.kind == Kind::U32 { 32 } else { 64 }, &mut page);
            encoding::DELTA_BINARY_PACKED
        };
        pages.bytes.extend(data_page_header(self.rows(), page.len(), encoding).into_bytes());
        pages.bytes.extend(page);
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

    /// The least and the largest value in the order of the column's type, as PLAIN writes them; none
    /// where nothing is known or a text is too long to be told.
    fn bounds(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let numbers = self.numbers.iter();
        match self.kind {
            Kind::I64 => {
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
            Kind::Text => {
                let (least, most) = (self.texts.iter().min()?, self.texts.iter().max()?);
                let told = least.len().max(most.len()) <= LONGEST_BOUND;
                told.then(|| (least.as_bytes().to_vec(), most.as_bytes().to_vec()))
            }
        }
    }

    fn dictionary_page(&self) -> Vec<u8> {
        let mut page = Vec::new();
        for text in &self.texts {
            page.extend((text.len() as u32).to_le_bytes());
            page.extend_from_slice(text.as_bytes());
        }
        let mut of = Struct::default();
        of.i32(1, self.texts.len() as i32);
        of.i32(2, encoding::PLAIN);
        let mut header = Struct::default();
        header.i32(1, 2);
        header.i32(2, page.len() as i32);
        header.i32(3, page.len() as i32);
        header.structure(7, of);
        let mut bytes = header.into_bytes();
        bytes.extend(page);
        bytes
    }
}

fn data_page_header(rows: usize, bytes: usize, encoding: i32) -> Struct {
    let mut of = Struct::default();
    of.i32(1, rows as i32);
    of.i32(2, encoding);
    of.i32(3, encoding::RLE);
    of.i32(4, encoding::RLE);
    let mut header = Struct::default();
    header.i32(1, 0);
    header.i32(2, bytes as i32);
    header.i32(3, bytes as i32);
    header.structure(5, of);
    header
}
