//! Lines of comma-separated values.

/// The cells of a row, by RFC 4180, between any of these separators.
pub(crate) fn cells(line: &str, separators: &[char]) -> Vec<String> {
    let (mut all, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            letter if !quoted && separators.contains(&letter) => {
                all.push(std::mem::take(&mut cell));
            }
            letter => cell.push(letter),
        }
    }
    all.push(cell);
    all
}

#[cfg(test)]
mod tests {
    use super::cells;

    #[test]
    fn a_separator_or_quote_within_quotes_is_part_of_the_cell() {
        assert_eq!(cells("a,\"b,c\",\"d\"\"e\",", &[',']), ["a", "b,c", "d\"e", ""]);
        assert_eq!(cells("1;2,5", &[';']), ["1", "2,5"]);
    }
}
