//! Messages of protobuf, field by field.

/// Fields of a message of protobuf (encoding of protobuf.dev, wire types 0, 1 and 2).
#[derive(Default)]
pub(super) struct Message(pub Vec<u8>);

impl Message {
    /// A varint.
    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    /// A signed number (sint).
    pub(super) fn signed(&mut self, field: u64, value: i64) {
        self.number(field, ((value << 1) ^ (value >> 63)) as u64);
    }

    /// A number with a fraction (double).
    pub(super) fn real(&mut self, field: u64, value: f64) {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    /// A text, bytes, or a message inside.
    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A number of eight bytes (fixed64).
    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }
}
