//! The manual of an entry of a list: the header of its own file, extracted at build time.
//!
//! `include_str!` alone would embed the whole file in the program: 2.1 MB of sources for 0.3 MB
//! of manuals.

/// The length in bytes of a file's header, the lines at its beginning that begin with `//!`.
#[must_use]
pub const fn header_length(source: &str) -> usize {
    let mut rest = source.as_bytes();
    let mut length = 0;
    while let [b'/', b'/', b'!', line @ ..] = rest {
        rest = line;
        length += 3;
        while let [byte, behind @ ..] = rest {
            rest = behind;
            length += 1;
            if *byte == b'\n' {
                break;
            }
        }
    }
    length
}

/// The first `N` bytes of a text; zeroes if it has fewer.
#[must_use]
pub const fn first_bytes<const N: usize>(text: &str) -> [u8; N] {
    match text.as_bytes().first_chunk::<N>() {
        Some(bytes) => *bytes,
        None => [0; N],
    }
}

/// The header of a file in the same folder, verbatim, with `//!`.
#[macro_export]
macro_rules! manual {
    ($file:expr) => {{
        const SOURCE: &str = include_str!($file);
        const LENGTH: usize = $crate::manual::header_length(SOURCE);
        const HEADER: [u8; LENGTH] = $crate::manual::first_bytes(SOURCE);
        const TEXT: &str = match ::core::str::from_utf8(&HEADER) {
            Ok(text) => text,
            Err(_) => "",
        };
        TEXT
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_with_its_last_line() {
        const TEXT: &str = manual!("manual.rs");
        assert!(TEXT.starts_with("//! The manual of an entry"), "{TEXT}");
        assert!(TEXT.ends_with("of manuals.\n"), "{TEXT}");
        assert_eq!(header_length("//! a\n//!\n\n//! b\n"), 10);
        assert_eq!((header_length("use x;\n"), header_length(""), header_length("//!")), (0, 0, 3));
        assert_eq!(first_bytes::<2>("µ"), *"µ".as_bytes());
    }
}
