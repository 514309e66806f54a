//! Letters that a terminal, a web page or a keyboard put where a tool printed others.

use std::borrow::Cow;

/// The escape that begins a colour or another order to a terminal.
pub(crate) const ESCAPE: u8 = 0x1b;

/// A text without colours, with plain blanks and colons: `\u{a0}` and the wide ones become what
/// tools print.
pub(crate) fn cleaned(text: &str) -> Cow<'_, str> {
    let odd = |c: char| !c.is_ascii() && plain(c) != Some(c) || c == '\u{1b}';
    if (text.is_ascii() && memchr::memchr(ESCAPE, text.as_bytes()).is_none()) || !text.contains(odd)
    {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = if c == '\u{1b}' { behind_order(after) } else { after };
        if c != '\u{1b}' {
            clean.extend(plain(c));
        }
    }
    Cow::Owned(clean)
}

/// The first characters of a text, this many.
pub(crate) fn first_letters(text: &str, count: usize) -> &str {
    match text.len() <= count {
        true => text,
        false => text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end]),
    }
}

/// The end of a block of code, as chat programs glue it to the last line.
const FENCE: &str = "```";

/// A line without the remark that was added after it: `99.92   <-- swap disk`, or the end of a
/// block of code.
pub(crate) fn without_remark(line: &str) -> &str {
    let line = match line.strip_suffix(FENCE) {
        Some(row) if !row.contains('`') && !row.trim().is_empty() => row,
        _ => line,
    };
    let arrow = |at: &usize| {
        let rest = line.get(at + 1..).unwrap_or_default();
        let shaft = rest.strip_prefix("<--").or_else(|| rest.strip_prefix("<=="));
        let head = shaft
            .map(|rest| rest.trim_start_matches(['-', '=']))
            .or_else(|| rest.strip_prefix('\u{2190}'));
        head.is_some_and(|words| words.is_empty() || words.starts_with(' '))
    };
    // `head` names its files `==> name <==`, and tables have `<---- Disks ---->` above their
    // columns.
    let may_be = memchr::memchr2(b'<', 0xe2, line.as_bytes()).is_some();
    if !may_be || line.contains("==>") || line.contains("-->") {
        return line;
    }
    let place = line.match_indices(' ').map(|(at, _)| at).find(arrow);
    place.and_then(|at| line.get(..at)).map_or(line, str::trim_end)
}

/// The letter a tool printed; none where nothing is seen of it.
fn plain(c: char) -> Option<char> {
    match c {
        '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{ad}' => None,
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        '\u{ff1a}' => Some(':'),
        '\u{ff05}' => Some('%'),
        '\u{ff0f}' => Some('/'),
        '\u{2212}' | '\u{2010}' | '\u{2011}' => Some('-'),
        '\u{2502}' | '\u{2503}' | '\u{ff5c}' => Some('|'),
        c => Some(c),
    }
}

/// What follows an order to the terminal whose escape was taken (ECMA-48: `[` parameters and a
/// final letter; `]` a text to the bell or to `ESC \`; else one letter).
fn behind_order(text: &str) -> &str {
    let mut letters = text.char_indices();
    let end = match letters.next() {
        Some((_, '[')) => letters.find(|(_, c)| !matches!(c, ' '..='?')),
        Some((_, ']')) => {
            let end = letters.find(|(_, c)| matches!(c, '\u{7}' | '\u{1b}'));
            if let Some((place, '\u{1b}')) = end {
                let rest = text.get(place + 1..).unwrap_or_default();
                return rest.strip_prefix('\\').unwrap_or(rest);
            }
            end
        }
        Some((_, '(' | ')')) => letters.next(),
        first => first,
    };
    let behind = |(place, c): (usize, char)| text.get(place + c.len_utf8()..);
    end.and_then(behind).unwrap_or_default()
}

/// The digits of other scripts, by the name of the script.
const SCRIPTS: [(char, &str); 9] = [
    ('\u{660}', "Arabic-Indic"),
    ('\u{6f0}', "Persian"),
    ('\u{966}', "Devanagari"),
    ('\u{9e6}', "Bengali"),
    ('\u{be6}', "Tamil"),
    ('\u{e50}', "Thai"),
    ('\u{1040}', "Burmese"),
    ('\u{17e0}', "Khmer"),
    ('\u{ff10}', "full-width"),
];

/// The script of the first digit other than 0 to 9.
pub(crate) fn script_of_digits(text: &str) -> Option<&'static str> {
    if text.is_ascii() {
        return None;
    }
    let script = |c: char| {
        SCRIPTS.iter().find(|(zero, _)| (*zero as u32..*zero as u32 + 10).contains(&(c as u32)))
    };
    text.chars().find_map(script).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_wide_letters_become_what_was_printed() {
        for (shown, printed) in [
            ("\u{1b}[34;1m 8.59 \u{1b}[0m", " 8.59 "),
            ("\u{1b}]0;title\u{7}sda \u{1b}]8;;x\u{1b}\\1\u{1b}(B", "sda 1"),
            ("Device\u{ff1a}\u{3000}r/s\u{a0}w/s\u{200b}", "Device: r/s w/s"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
            ("Gerät sda", "Gerät sda"),
        ] {
            assert_eq!(cleaned(shown), printed, "{shown:?}");
        }
        assert!(matches!(cleaned("Gerät sda 1.0"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_arrow_and_text_after_it_are_not_part_of_a_row() {
        for (line, row) in [
            ("sdb  1.0  99.92    <-- swap disk", "sdb  1.0  99.92"),
            ("sdb  1.0  99.92 \u{2190} this one", "sdb  1.0  99.92"),
            ("12: ==> /proc/pressure/io <==", "12: ==> /proc/pressure/io <=="),
            ("# <---- Disks ---->", "# <---- Disks ---->"),
            ("#         <--------CPU--------", "#         <--------CPU--------"),
            ("blk_mq_start_request <-nvme_queue_rq", "blk_mq_start_request <-nvme_queue_rq"),
            ("sdb  1.0  <0.01 \u{2264} 5", "sdb  1.0  <0.01 \u{2264} 5"),
        ] {
            assert_eq!(without_remark(line), row);
        }
        assert_eq!(without_remark("sdb 1.0 48.60```"), "sdb 1.0 48.60");
        assert_eq!(without_remark("```"), "```");
        assert_eq!(without_remark("```sdb 1.0```"), "```sdb 1.0```");
    }

    #[test]
    fn digits_of_other_scripts_are_named() {
        assert_eq!(script_of_digits("sda ٣٤.٥"), Some("Arabic-Indic"));
        assert_eq!(script_of_digits("sda １２"), Some("full-width"));
        assert_eq!(script_of_digits("Gerät 12"), None);
    }
}
