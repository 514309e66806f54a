//! The name read last, so that a log that repeats it is not looked up again.

/// A text and what it was interned as.
#[derive(Debug)]
pub(crate) struct Last<T> {
    text: String,
    id: Option<T>,
}

impl<T> Default for Last<T> {
    fn default() -> Self {
        Last { text: String::new(), id: None }
    }
}

impl<T: Copy> Last<T> {
    /// What `text` is interned as; `intern` is asked only if it is another than last time.
    pub(crate) fn get(&mut self, text: &str, intern: impl FnOnce(&str) -> T) -> T {
        match self.id {
            Some(id) if self.text == text => id,
            _ => {
                let id = intern(text);
                self.text.clear();
                self.text.push_str(text);
                self.id = Some(id);
                id
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_interned_once() {
        let mut last = Last::default();
        let mut asked = 0;
        for text in ["", "", "sda", "sda", "sdb", "sda"] {
            last.get(text, |text| {
                asked += 1;
                text.len()
            });
        }
        assert_eq!(asked, 4);
    }
}
