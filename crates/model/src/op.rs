//! The operation of a request and its flags.

/// The operation of a request, as the block layer counts them (`/proc/diskstats` has a group of
/// fields for each of the first four).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// Data from the device.
    Read,
    /// Data to the device; write-zeroes and secure erase, too, as the kernel counts them.
    Write,
    /// Blocks given back (TRIM, UNMAP).
    Discard,
    /// An empty flush of the device's write cache.
    Flush,
    /// Everything else: zone management, driver and passthrough requests.
    Other,
}

impl Op {
    /// All operations, in the order they are shown.
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Discard, Op::Flush, Op::Other];

    /// The name used on the command line, in JSON and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Discard => "discard",
            Op::Flush => "flush",
            Op::Other => "other",
        }
    }

    /// The letter blktrace and biosnoop print.
    pub fn letter(self) -> char {
        match self {
            Op::Read => 'R',
            Op::Write => 'W',
            Op::Discard => 'D',
            Op::Flush => 'F',
            Op::Other => 'N',
        }
    }

    /// The operation of a given name or letter.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| {
            op.name().eq_ignore_ascii_case(name)
                || (name.len() == 1 && name.starts_with(op.letter()))
        })
    }
}

/// Flags of a request, a small set. The letters are those of the kernel's `rwbs` text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags(u8);

impl Flags {
    /// A task waits for it (`S`).
    pub const SYNC: Flags = Flags(1);
    /// File system metadata (`M`).
    pub const META: Flags = Flags(2);
    /// Read-ahead (`A`).
    pub const READAHEAD: Flags = Flags(4);
    /// Must be on the medium before it completes (`F` after the operation).
    pub const FUA: Flags = Flags(8);
    /// The write cache is flushed first (`F` before the operation).
    pub const PREFLUSH: Flags = Flags(16);

    /// Letters after the operation, in the kernel's order.
    const SUFFIXES: [(Flags, char); 4] =
        [(Flags::FUA, 'F'), (Flags::READAHEAD, 'A'), (Flags::SYNC, 'S'), (Flags::META, 'M')];

    /// As a number, for storage.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The set for such a number; unknown bits are dropped.
    pub fn from_bits(bits: u8) -> Flags {
        Flags(bits & 31)
    }

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether all of `other` are set.
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The kernel's text for an operation with these flags, such as `R`, `WS`, `FWFSM`
    /// (`include/trace/events/block.h`, `blk_fill_rwbs`).
    pub fn rwbs(self, op: Op) -> String {
        let mut text = String::new();
        if self.has(Flags::PREFLUSH) && op != Op::Flush {
            text.push('F');
        }
        text.push(op.letter());
        let set = Self::SUFFIXES.into_iter().filter(|(flag, _)| self.has(*flag));
        text.extend(set.map(|(_, letter)| letter));
        text
    }

    /// Parses the kernel's text. `None` if it contains an unknown letter.
    pub fn from_rwbs(text: &str) -> Option<(Op, Flags)> {
        let mut flags = Flags::default();
        let mut op = None;
        for (place, letter) in text.chars().enumerate() {
            match letter {
                'F' if op.is_some() => flags = flags.with(Flags::FUA),
                'F' if place == 0 => flags = flags.with(Flags::PREFLUSH),
                'R' => op = Some(Op::Read),
                'W' => op = Some(Op::Write),
                'D' => op = Some(Op::Discard),
                'N' => op = Some(Op::Other),
                'A' => flags = flags.with(Flags::READAHEAD),
                'S' => flags = flags.with(Flags::SYNC),
                'M' => flags = flags.with(Flags::META),
                'F' => op = Some(Op::Flush),
                'E' | 'V' => {}
                _ => return None,
            }
        }
        // A lone `F` (or `FF`) is an empty flush, not a flag without an operation.
        match op {
            Some(op) if op != Op::Flush => Some((op, flags)),
            None if flags == Flags::default() => None,
            _ => Some((Op::Flush, Flags(flags.0 & !Flags::PREFLUSH.0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_flag_texts_round_trip() {
        for text in ["R", "RA", "RM", "W", "WS", "WFS", "FWFS", "D", "F", "FWFSM", "N"] {
            let (op, flags) = Flags::from_rwbs(text).expect(text);
            assert_eq!(flags.rwbs(op), text);
        }
        assert_eq!(Flags::from_rwbs("FF"), Some((Op::Flush, Flags::default())));
        assert_eq!(Flags::from_rwbs("sdb"), None);
        assert_eq!(Flags::from_rwbs(""), None);
    }
}
