//! Memory that O_DIRECT accepts.

use iowhy_model::Random;

/// No device asks for more than a page (open(2), "O_DIRECT").
const ALIGNMENT: usize = 4096;

/// A buffer on a page boundary; its memory does not move when it does.
pub(crate) struct AlignedBuffer {
    memory: Vec<u8>,
    skip: usize,
    length: usize,
}

impl AlignedBuffer {
    /// A buffer full of bytes that do not compress.
    pub(crate) fn new(length: usize, random: &mut Random) -> AlignedBuffer {
        let memory = vec![0; length + ALIGNMENT];
        let skip = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let mut buffer = AlignedBuffer { memory, skip, length };
        random.fill(buffer.bytes());
        buffer
    }

    /// The buffer.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let end = self.skip + self.length;
        self.memory.get_mut(self.skip..end).unwrap_or_default()
    }
}
