//! Thrift's compact protocol, as far as Parquet's headers and footer need it.

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;
/// Lists longer than this have their length in a varint.
const SHORT_LIST: usize = 14;

/// A structure that is being written; its fields have to come in rising order.
#[derive(Default)]
pub struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    /// A field of 32 bits.
    pub fn i32(&mut self, field: u8, value: i32) {
        self.field(field, I32);
        varint(zigzag(value.into()), &mut self.bytes);
    }

    /// Yes or no: the type is the value.
    pub fn flag(&mut self, field: u8, value: bool) {
        self.field(field, if value { TRUE } else { FALSE });
    }

    /// A field of 64 bits.
    pub fn i64(&mut self, field: u8, value: i64) {
        self.field(field, I64);
        varint(zigzag(value), &mut self.bytes);
    }

    /// A text.
    pub fn text(&mut self, field: u8, value: &str) {
        self.binary(field, value.as_bytes());
    }

    /// Bytes.
    pub fn binary(&mut self, field: u8, value: &[u8]) {
        self.field(field, BINARY);
        self.length_prefixed(value);
    }

    /// A structure in this one.
    pub fn structure(&mut self, field: u8, value: Struct) {
        self.field(field, STRUCT);
        self.bytes.extend(value.into_bytes());
    }

    /// A list of structures.
    pub fn list_of_structs(&mut self, field: u8, values: Vec<Struct>) {
        self.list(field, STRUCT, values.len());
        values.into_iter().for_each(|value| self.bytes.extend(value.into_bytes()));
    }

    /// A list of numbers.
    pub fn list_of_i32(&mut self, field: u8, values: &[i32]) {
        self.list(field, I32, values.len());
        values.iter().for_each(|value| varint(zigzag((*value).into()), &mut self.bytes));
    }

    /// A list of texts.
    pub fn list_of_texts(&mut self, field: u8, values: &[&str]) {
        self.list(field, BINARY, values.len());
        values.iter().for_each(|value| self.length_prefixed(value.as_bytes()));
    }

    /// As bytes, with the mark of its end.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    fn field(&mut self, field: u8, kind: u8) {
        // Fields are numbered below 16 everywhere in Parquet's headers.
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    fn list(&mut self, field: u8, kind: u8, length: usize) {
        self.field(field, LIST);
        if length <= SHORT_LIST {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(length as u64, &mut self.bytes);
        }
    }

    fn length_prefixed(&mut self, value: &[u8]) {
        varint(value.len() as u64, &mut self.bytes);
        self.bytes.extend_from_slice(value);
    }
}

/// A number in groups of seven bits (LEB128).
pub(super) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small numbers of either sign as small numbers without one.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_lists_are_as_the_protocol_says() {
        let mut inner = Struct::default();
        inner.i32(1, -1);
        let mut outer = Struct::default();
        outer.i32(1, 3);
        outer.text(4, "ab");
        outer.list_of_structs(5, vec![inner]);
        outer.list_of_i32(6, &[1; 15]);
        let mut wanted = vec![0x15, 6, 0x38, 2, b'a', b'b', 0x19, 0x1c, 0x15, 1, 0, 0x19, 0xf5, 15];
        wanted.extend([2; 15]);
        wanted.push(0);
        assert_eq!(outer.into_bytes(), wanted);
    }
}
