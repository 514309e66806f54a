//! Ways to damage a capture, each by a seed.

use iowhy_model::Random;

/// A way to damage a capture; the second text is that of another sample.
pub(super) type Harm = fn(&[u8], &[u8], &mut Random) -> Vec<u8>;

/// The ways by name.
pub(super) const HARMS: &[(&str, Harm)] = &[
    ("bits flipped", flipped),
    ("cut short", |text, _, random| {
        text[..random.place(text.len().max(1)).min(text.len())].to_vec()
    }),
    ("lines dropped, doubled and swapped", shuffled),
    ("one number made invalid", one_number),
    ("numbers made absurd", |text, _, random| numbers(text, random, 8)),
    ("control characters in names", names),
    ("fields removed", |text, _, random| {
        let words = text.split_inclusive(|byte| *byte == b' ');
        words.filter(|_| random.place(10) > 0).flatten().copied().collect()
    }),
    ("two captures spliced", spliced),
    ("one line of a megabyte", |text, _, random| {
        let mut long = text.to_vec();
        let at = random.place(text.len().max(1)).min(text.len());
        long.splice(at..at, std::iter::repeat_n(b'7', 1 << 20));
        long
    }),
    ("another encoding", encoded),
    ("random bytes", |_, _, random| {
        (0..random.place(4096)).map(|_| random.place(256) as u8).collect()
    }),
];

/// What replaces a number.
const ABSURD: [&str; 12] = [
    "nan",
    "inf",
    "-1",
    "-0.0",
    "1e308",
    "99999999999999999999",
    "18446744073709551615",
    "0",
    "1e-300",
    "*****",
    "0x7f",
    "--",
];

fn flipped(text: &[u8], _: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.place(20) {
        let at = random.place(text.len().max(1));
        if let Some(byte) = text.get_mut(at) {
            *byte ^= 1 << random.place(8);
        }
    }
    text
}

fn shuffled(text: &[u8], _: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    for _ in 0..1 + random.place(10) {
        let (one, other) = (random.place(lines.len().max(1)), random.place(lines.len().max(1)));
        match random.place(3) {
            0 if lines.len() > 1 => drop(lines.remove(one)),
            1 if one < lines.len() => lines.insert(other, lines[one]),
            _ if one < lines.len() && other < lines.len() => lines.swap(one, other),
            _ => {}
        }
    }
    lines.concat()
}

/// Where the numbers of a text begin and end.
pub(super) fn places(text: &[u8]) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(from) = text[at..].iter().position(u8::is_ascii_digit).map(|from| from + at) {
        let digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let length = text[from..].iter().take_while(|byte| digit(byte)).count();
        all.push((from, from + length));
        at = from + length;
    }
    all
}

fn one_number(text: &[u8], _: &[u8], random: &mut Random) -> Vec<u8> {
    let places = places(text);
    let Some((from, to)) = places.get(random.place(places.len().max(1))) else {
        return text.to_vec();
    };
    let odd = ABSURD[random.place(ABSURD.len())].as_bytes();
    [&text[..*from], odd, &text[*to..]].concat()
}

fn numbers(text: &[u8], random: &mut Random, every: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    for (from, to) in places(text) {
        if random.place(every) == 0 {
            out.extend_from_slice(&text[at..from]);
            out.extend_from_slice(ABSURD[random.place(ABSURD.len())].as_bytes());
            at = to;
        }
    }
    out.extend_from_slice(&text[at..]);
    out
}

fn names(text: &[u8], _: &[u8], random: &mut Random) -> Vec<u8> {
    const HOSTILE: [&str; 7] =
        ["\x1b]0;x\x07", "\x1b[2J", "\u{9b}31m", "\u{202e}", "\x7f", "\u{0}\r\u{8}", "=1+1"];
    let mut out = Vec::new();
    for word in text.split_inclusive(|byte| byte.is_ascii_whitespace()) {
        let is_name = word.first().is_some_and(u8::is_ascii_alphabetic);
        if is_name && random.place(6) == 0 {
            out.extend_from_slice(&word[..1]);
            out.extend_from_slice(HOSTILE[random.place(HOSTILE.len())].as_bytes());
            out.extend_from_slice(&word[1..]);
        } else {
            out.extend_from_slice(word);
        }
    }
    out
}

fn spliced(text: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let a = random.place(text.len().max(1)).min(text.len());
    let b = random.place(other.len().max(1)).min(other.len());
    [&text[..a], &other[b..], &text[a..]].concat()
}

fn encoded(text: &[u8], _: &[u8], random: &mut Random) -> Vec<u8> {
    let wide = |little: bool| {
        let units = String::from_utf8_lossy(text).encode_utf16().collect::<Vec<u16>>();
        let bytes = units.into_iter();
        bytes
            .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() })
            .collect()
    };
    let mut out: Vec<u8> = match random.place(5) {
        0 => [&[0xef, 0xbb, 0xbf], text].concat(),
        1 => [vec![0xff, 0xfe], wide(true)].concat(),
        2 => [vec![0xfe, 0xff], wide(false)].concat(),
        3 => text
            .iter()
            .flat_map(|b| if *b == b'\n' { vec![b'\r', b'\n'] } else { vec![*b] })
            .collect(),
        _ => text.iter().map(|byte| if random.place(30) == 0 { 0xe4 } else { *byte }).collect(),
    };
    if random.place(3) == 0 {
        out.truncate(out.len().saturating_sub(1));
    }
    out
}
