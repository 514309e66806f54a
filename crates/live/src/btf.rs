//! The kernel's own description of its types (BTF): read before anything is loaded.
//!
//! Attach points, fields and flag numbers are chosen by BTF, never by the version: distributions
//! backport changes, so version checks fail.

use crate::Error;

/// Where the running kernel keeps it.
pub(crate) const PATH: &str = "/sys/kernel/btf/vmlinux";

// Kinds, from include/uapi/linux/btf.h.
const INT: u32 = 1;
const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 12;
const FUNCTION_PROTO: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const DECLARATION_TAG: u32 = 17;
const ENUM64: u32 = 19;

/// The types of a kernel.
#[derive(Debug)]
pub(crate) struct KernelTypes {
    bytes: Vec<u8>,
    strings: usize,
    types: Vec<Type>,
}

/// One type: `size` is a size or, for pointers and similar kinds, the number of another type.
#[derive(Clone, Copy, Debug)]
struct Type {
    kind: u32,
    name: usize,
    members: usize,
    size: u32,
    at: usize,
}

impl KernelTypes {
    /// Reads the running kernel's types.
    ///
    /// # Errors If the kernel has none, or in an unknown format.
    pub(crate) fn read() -> Result<KernelTypes, Error> {
        let bytes = std::fs::read(PATH).map_err(|_| Error::Kernel {
            what: format!("the kernel provides no type information (`{PATH}` is missing)"),
        })?;
        KernelTypes::parse(bytes).ok_or_else(|| Error::Kernel {
            what: format!("the format of `{PATH}` is not supported by this version"),
        })
    }

    /// Reads types from bytes; `None` if they are cut short or of an unknown kind.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<KernelTypes> {
        let (header, types_at) = (word(&bytes, 4)? as usize, word(&bytes, 8)? as usize);
        let (types_len, strings_at) = (word(&bytes, 12)? as usize, word(&bytes, 16)? as usize);
        // The magic number, in the byte order of this machine.
        if bytes.get(..2)? != 0xeb9f_u16.to_ne_bytes() {
            return None;
        }
        let mut types = vec![Type { kind: 0, name: 0, members: 0, size: 0, at: 0 }];
        let mut at = header + types_at;
        let end = at + types_len;
        while at < end {
            let info = word(&bytes, at + 4)?;
            let kind = info >> 24 & 0x1f;
            let members = (info & 0xffff) as usize;
            let (name, size) = (word(&bytes, at)? as usize, word(&bytes, at + 8)?);
            at += 12;
            types.push(Type { kind, name, members, size, at });
            at += match kind {
                INT | VARIABLE | DECLARATION_TAG => 4,
                ARRAY => 12,
                STRUCT | UNION | SECTION | ENUM64 => 12 * members,
                ENUM | FUNCTION_PROTO => 8 * members,
                _ => 0,
            };
        }
        Some(KernelTypes { strings: header + strings_at, bytes, types })
    }

    /// How many arguments a tracepoint hands to a program; `None` if the kernel does not have it.
    pub(crate) fn tracepoint_arguments(&self, tracepoint: &str) -> Option<usize> {
        let name = format!("btf_trace_{tracepoint}");
        let typedef = self.find(TYPEDEF, &name)?;
        let pointer = self.types.get(typedef.size as usize)?;
        let prototype = self.types.get(pointer.size as usize)?;
        let both = pointer.kind == POINTER && prototype.kind == FUNCTION_PROTO;
        // The first one belongs to the tracepoint.
        both.then(|| prototype.members.saturating_sub(1))
    }

    /// Whether a struct has a member of that name, not looking into unnamed members.
    pub(crate) fn has_member(&self, structure: &str, member: &str) -> bool {
        let Some(found) = self.find(STRUCT, structure) else { return false };
        (0..found.members).any(|place| self.name_is_at(found.at + 12 * place, member))
    }

    /// Whether the kernel has a function of that name.
    pub(crate) fn has_function(&self, name: &str) -> bool {
        self.find(FUNCTION, name).is_some()
    }

    /// The value of a constant of any enumeration.
    pub(crate) fn constant(&self, name: &str) -> Option<u32> {
        let enumerations = self.types.iter().filter(|known| known.kind == ENUM);
        enumerations
            .flat_map(|known| (0..known.members).map(|place| known.at + 8 * place))
            .find(|at| self.name_is_at(*at, name))
            .and_then(|at| word(&self.bytes, at + 4))
    }

    fn find(&self, kind: u32, name: &str) -> Option<Type> {
        self.types
            .iter()
            .find(|known| known.kind == kind && self.is_named(known.name, name))
            .copied()
    }

    fn name_is_at(&self, at: usize, name: &str) -> bool {
        word(&self.bytes, at).is_some_and(|offset| self.is_named(offset as usize, name))
    }

    fn is_named(&self, offset: usize, name: &str) -> bool {
        let start = self.strings + offset;
        self.bytes.get(start..start + name.len()) == Some(name.as_bytes())
            && self.bytes.get(start + name.len()) == Some(&0)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_kernel_is_read_or_the_test_says_what_it_needs() {
        let Ok(types) = KernelTypes::read() else {
            println!("skipped: needs a kernel with `{PATH}`");
            return;
        };
        assert!(types.tracepoint_arguments("block_rq_complete").is_some_and(|n| n >= 3));
        assert_eq!(types.tracepoint_arguments("block_no_such_thing"), None);
        assert!(types.has_member("request", "__data_len"));
        assert!(!types.has_member("request", "__data"));
        assert_eq!(types.constant("REQ_OP_WRITE"), Some(1));
    }

    #[test]
    fn cut_or_foreign_bytes_are_no_types() {
        assert!(KernelTypes::parse(Vec::new()).is_none());
        assert!(KernelTypes::parse(vec![0; 64]).is_none());
        let mut cut = 0xeb9f_u16.to_ne_bytes().to_vec();
        cut.extend([1, 0]);
        for field in [24u32, 0, 4096, 4096, 10] {
            cut.extend(field.to_ne_bytes());
        }
        assert!(KernelTypes::parse(cut).is_none());
    }
}
