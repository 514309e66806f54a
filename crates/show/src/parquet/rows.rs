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

/// A column's pages, and how many of their bytes are its dictionary.
pub struct Pages {
    pub bytes: Vec<u8>,
    pub dictionary: usize,
}

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
        let mut pages = Pages { bytes: Vec::new(), dictionary: 0 };
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
