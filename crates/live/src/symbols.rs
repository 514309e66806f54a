//! Functions of a program file and their offsets.

use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use crate::Error;
use iowhy_model::Order as _;

/// Maximum number of similar names shown.
const SHOWN: usize = 5;

/// The file offset of a function's first instruction. `what` is a name, or an offset written as
/// `+0x1234`.
///
/// # Errors If the file is not a program, or has no such function.
pub(crate) fn place_of(file: &Path, what: &str) -> Result<u64, Error> {
    let path = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|cause| Error::File { path: path.clone(), cause })?;
    let no = |why: String| Error::Symbol { path: path.clone(), why };
    let parsed = ElfFile64::<Endianness>::parse(&*bytes)
        .map_err(|_| no("it is not a 64-bit ELF file".to_string()))?;
    let executable = |offset: u64| {
        let endian = parsed.endian();
        let headers = parsed.elf_header().program_headers(endian, &*bytes).unwrap_or_default();
        headers.iter().any(|header| {
            let start: u64 = header.p_offset(endian);
            let length: u64 = header.p_filesz(endian);
            // PF_X of elf(5).
            header.p_flags(endian) & 1 > 0 && offset.wrapping_sub(start) < length
        })
    };
    if let Some(number) = what.strip_prefix('+') {
        let number = number.trim_start_matches("0x");
        let offset = u64::from_str_radix(number, 16)
            .map_err(|_| no(format!("`{what}` is not a hexadecimal offset")))?;
        return match executable(offset) {
            true => Ok(offset),
            false => Err(no(format!("no code at {offset:#x}"))),
        };
    }
    let functions = || {
        let all = parsed.symbols().chain(parsed.dynamic_symbols());
        all.filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
            .map(|(name, address)| (name.split('@').next().unwrap_or(name), address))
    };
    let Some((_, address)) = functions().find(|(name, _)| *name == what) else {
        let mut near: Vec<&str> =
            functions().map(|(name, _)| name).filter(|name| name.contains(what)).collect();
        near.sort_unstable();
        near.dedup();
        near.truncate(SHOWN);
        return Err(no(match (near.is_empty(), functions().next().is_none()) {
            (false, _) => format!("no function `{what}`; it has {}", near.join(", ")),
            (_, true) => format!("no function `{what}`: the file is stripped"),
            _ => format!("no function `{what}`"),
        }));
    };
    // Converts an address to a file offset, by its segment.
    let endian = parsed.endian();
    let headers = parsed.elf_header().program_headers(endian, &*bytes).unwrap_or_default();
    let offset = headers.iter().find_map(|header| {
        let start: u64 = header.p_vaddr(endian);
        let length: u64 = header.p_filesz(endian);
        let inside = address.wrapping_sub(start) < length && header.p_flags(endian) & 1 > 0;
        inside.then(|| address - start + header.p_offset(endian))
    });
    offset.ok_or_else(|| no(format!("`{what}` is not in an executable section")))
}

/// Functions of a program file by their offsets in it.
#[derive(Debug, Default)]
pub(crate) struct FunctionTable(Vec<Function>);

#[derive(Debug)]
struct Function {
    start: u64,
    /// That of its segment, if the length is unknown: then it reaches to the next one.
    end: u64,
    name: String,
}

impl FunctionTable {
    /// Those that its symbol tables name; none if it is stripped or no 64-bit ELF file.
    pub(crate) fn of(bytes: &[u8]) -> FunctionTable {
        let Ok(parsed) = ElfFile64::<Endianness>::parse(bytes) else {
            return FunctionTable::default();
        };
        let endian = parsed.endian();
        let headers = parsed.elf_header().program_headers(endian, bytes).unwrap_or_default();
        // The offset of an address, and where its segment ends in the file.
        let place = |address: u64| {
            headers.iter().find_map(|header| {
                let (start, length): (u64, u64) = (header.p_vaddr(endian), header.p_filesz(endian));
                let inside = address.wrapping_sub(start) < length && header.p_flags(endian) & 1 > 0;
                let offset: u64 = header.p_offset(endian);
                let end = offset.checked_add(length).filter(|_| inside)?;
                Some((offset + (address - start), end))
            })
        };
        let all = parsed.symbols().chain(parsed.dynamic_symbols());
        let named = all.filter(|known| known.is_definition() && known.kind() == SymbolKind::Text);
        let mut functions: Vec<Function> = named
            .filter_map(|known| {
                let name = known.name().ok().filter(|name| !name.is_empty())?;
                let name = name.split('@').next().unwrap_or(name).to_string();
                let (start, last) = place(known.address())?;
                let end = start.saturating_add(known.size());
                Some(Function { start, end: if end > start { end } else { last }, name })
            })
            .collect();
        functions.order_by_key(|function| (function.start, function.end));
        functions.dedup_by_key(|function| function.start);
        FunctionTable(functions)
    }

    /// The function at an offset in the file.
    pub(crate) fn at(&self, offset: u64) -> Option<&str> {
        let behind = self.0.partition_point(|known| known.start <= offset);
        let known = self.0.get(behind.checked_sub(1)?)?;
        (offset < known.end).then_some(known.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_its_name_and_by_its_offset() {
        let me = std::env::current_exe().expect("this program");
        let place = place_of(&me, "main").expect("every program has one");
        assert_eq!(place_of(&me, &format!("+{place:#x}")).expect("the same"), place);
        let near = place_of(&me, "mai").expect_err("a part of a name").to_string();
        assert!(near.contains("no function `mai`; it has"), "{near}");
        let none = place_of(&me, "+0x7fffffffffff").expect_err("beyond its end").to_string();
        assert!(none.contains("no code at"), "{none}");
        // And back, up to its end.
        let table = FunctionTable::of(&std::fs::read(&me).expect("it is there"));
        assert_eq!((table.at(place), table.at(place + 1)), (Some("main"), Some("main")));
        assert_eq!((table.at(0), table.at(u64::MAX)), (None, None));
        for cut in [&b""[..], b"\x7fELF", &[0x7f; 4096]] {
            assert_eq!(FunctionTable::of(cut).at(place), None);
        }
        let text = place_of(Path::new("/proc/self/status"), "main").expect_err("no program");
        assert!(text.to_string().contains("not a 64-bit ELF file"), "{text}");
    }
}
