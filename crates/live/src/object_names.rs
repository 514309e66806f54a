//! Names in the compiled objects: each is checked when this crate is compiled.
//!
//! The build script writes what an object defines, a line each: `map devices`, `global rows`,
//! `program issue`. A name that an object lacks would otherwise show when it is loaded, on a user's
//! machine.

/// A compiled object, as the build script packs it.
pub(crate) struct Packed(pub(crate) &'static [u8]);

/// The object of this name.
macro_rules! packed {
    ($name:literal) => {
        $crate::object_names::Packed(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.z")))
    };
}
pub(crate) use packed;

impl Packed {
    /// The bytes of the object; none if the build was broken, and loading then fails.
    pub(crate) fn unpacked(&self) -> Vec<u8> {
        miniz_oxide::inflate::decompress_to_vec_zlib(self.0).unwrap_or_default()
    }
}

/// Definitions of each object.
pub(crate) const BLOCK_TRACE: &str = include_str!(concat!(env!("OUT_DIR"), "/block_trace.names"));
pub(crate) const DIRTY_PAUSES: &str = include_str!(concat!(env!("OUT_DIR"), "/dirty_pauses.names"));
pub(crate) const SYSCALLS: &str = include_str!(concat!(env!("OUT_DIR"), "/syscalls.names"));
pub(crate) const UPROBE: &str = include_str!(concat!(env!("OUT_DIR"), "/uprobe.names"));
pub(crate) const WAITS: &str = include_str!(concat!(env!("OUT_DIR"), "/waits.names"));

/// A name of these objects, of this kind; it compiles only if each of them defines it.
macro_rules! defined {
    ($($object:ident)|+, $kind:ident $name:literal) => {{
        const {
            $(assert!(
                $crate::object_names::defines(
                    $crate::object_names::$object,
                    stringify!($kind),
                    $name
                ),
                concat!(stringify!($object), " has no ", stringify!($kind), " `", $name, "`")
            );)+
        };
        $name
    }};
}
pub(crate) use defined;

/// Makes `map!`, `global!` and `program!` for the names of these objects: `names_of!($ WAITS)`.
macro_rules! names_of {
    ($d:tt $($object:ident)|+) => {
        $crate::object_names::names_of!(@ $d map $($object)|+);
        $crate::object_names::names_of!(@ $d global $($object)|+);
        $crate::object_names::names_of!(@ $d program $($object)|+);
    };
    (@ $d:tt $kind:ident $($object:ident)|+) => {
        #[allow(unused_macros)]
        macro_rules! $kind {
            ($d name:literal) => {
                $crate::object_names::defined!($($object)|+, $kind $d name)
            };
        }
    };
}
pub(crate) use names_of;

/// Whether a list has the line of a kind and a name.
pub(crate) const fn defines(list: &str, kind: &str, name: &str) -> bool {
    let (list, kind, name) = (list.as_bytes(), kind.as_bytes(), name.as_bytes());
    let mut start = 0;
    while start < list.len() {
        let after = start + kind.len();
        let end = after + 1 + name.len();
        let is_kind = begins(list, start, kind) && begins(list, after, b" ");
        if is_kind && begins(list, after + 1, name) && begins(list, end, b"\n") {
            return true;
        }
        while start < list.len() && list[start] != b'\n' {
            start += 1;
        }
        start += 1;
    }
    false
}

const fn begins(text: &[u8], at: usize, with: &[u8]) -> bool {
    let mut place = 0;
    while place < with.len() {
        if at + place >= text.len() || text[at + place] != with[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// Bytes of a key and of a value of a map, as the object defines them.
#[cfg(test)]
pub(crate) fn sizes(object: &[u8], map: &str) -> (usize, usize) {
    let object = aya_obj::Object::parse(object).expect("an object");
    let map = object.maps.get(map).expect(map);
    (map.key_size() as usize, map.value_size() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_kind_or_a_part_of_one_is_none() {
        let list = "map devices\nmap device\nglobal rows\nprogram issue\n";
        for (kind, name) in [("map", "devices"), ("map", "device"), ("program", "issue")] {
            assert!(defines(list, kind, name), "{kind} {name}");
        }
        for (kind, name) in [("global", "devices"), ("map", "dev"), ("map", "rows"), ("map", "")] {
            assert!(!defines(list, kind, name), "{kind} {name}");
        }
        assert!(!defines("", "map", "devices"));
    }
}
