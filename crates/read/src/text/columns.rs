//! Tables whose heading names the columns: which value is below which name.

use crate::decimal;

/// The names of a heading, in order. A name may occur twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heading(Vec<String>);

impl Heading {
    /// The words of a line as a heading, if it contains all of `wanted`.
    pub(crate) fn of(line: &str, wanted: &[&str]) -> Option<Heading> {
        if !wanted.iter().all(|name| line.contains(name)) {
            return None;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let known = wanted.iter().all(|name| words.contains(name));
        known.then(|| Heading::from_words(&words))
    }

    /// The words of a line in small letters without signs, where a name may be two words that this
    /// list joins, and bars separate like blanks: `Wait Count`, `WaitCount` and `wait_count` are
    /// one.
    pub(crate) fn plain(line: &str, joined: &[(&str, &str)]) -> Heading {
        let barred = line.replace('|', " ");
        let line = joined.iter().fold(barred, |line, (pair, name)| line.replace(pair, name));
        let plain = |word: &str| {
            let letters = word.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>().to_ascii_lowercase()
        };
        line.split_whitespace().map(plain).collect()
    }

    /// A heading of these names.
    pub(crate) fn from_words(words: &[&str]) -> Heading {
        Heading(words.iter().map(ToString::to_string).collect())
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        self.0.len()
    }

    /// The names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Each name with the word below it.
    pub(crate) fn pairs<'a>(
        &'a self,
        words: &'a [&'a str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.names().zip(words.iter().copied())
    }

    /// The position of a name's `nth` occurrence, from 0.
    pub(crate) fn place(&self, name: &str, nth: usize) -> Option<usize> {
        let found = self.0.iter().enumerate().filter(|(_, known)| *known == name);
        found.map(|(place, _)| place).nth(nth)
    }

    /// The word under a name.
    pub(crate) fn word<'a>(&self, name: &str, words: &[&'a str]) -> Option<&'a str> {
        words.get(self.place(name, 0)?).copied()
    }

    /// The number under a name.
    pub(crate) fn number(&self, name: &str, words: &[&str]) -> Option<f64> {
        self.nth_number(name, 0, words)
    }

    /// The number under the `nth` column of a name.
    pub(crate) fn nth_number(&self, name: &str, nth: usize, words: &[&str]) -> Option<f64> {
        words.get(self.place(name, nth)?).and_then(|word| decimal(word.trim_end_matches('%')))
    }
}

impl FromIterator<String> for Heading {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Heading {
        Heading(names.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_two_columns() {
        let heading = Heading::of(" r/s   kBps   w/s   kBps  Name", &["r/s", "Name"]).unwrap();
        let row = ["1", "2", "3", "4,5", "ada0"];
        assert_eq!(heading.nth_number("kBps", 1, &row), Some(4.5));
        assert_eq!(
            (heading.word("Name", &row), heading.number("Name", &row)),
            (Some("ada0"), None)
        );
        assert_eq!(heading.number("ms/r", &row), None);
        assert!(Heading::of("r/s w/s", &["Name"]).is_none());
    }
}
