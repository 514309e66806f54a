//! Functions of a program file and their offsets.

use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use crate::Error;

/// Maximum number of similar names shown.
const SHOWN: usize = 5;

/// The file offset of a function's first instruction. `what` is a name, or an offset written as
/// `+0x1234`.
///
/// # Errors If the file is not a program, or has no such function.
pub fn place_of(file: &Path, what: &str) -> Result<u64, Error> {
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
        let text = place_of(Path::new("/proc/self/status"), "main").expect_err("no program");
        assert!(text.to_string().contains("not a 64-bit ELF file"), "{text}");
    }
}
