//! The names read last, so that a log that repeats a few is not looked up again.

/// How many are kept: the processes and disks of one load are few.
const KEPT: usize = 64;

/// Texts and what they were interned as.
#[derive(Debug)]
pub(crate) struct RecentNames<T> {
    slots: [Option<(Box<str>, T)>; KEPT],
}

impl<T> Default for RecentNames<T> {
    fn default() -> Self {
        RecentNames { slots: [const { None }; KEPT] }
    }
}

impl<T: Copy> RecentNames<T> {
    /// What `text` is interned as; `intern` is called only if it was not among the last.
    pub(crate) fn get(&mut self, text: &str, intern: impl FnOnce(&str) -> T) -> T {
        let slot = &mut self.slots[slot(text.as_bytes())];
        match slot {
            Some((known, id)) if **known == *text => *id,
            _ => slot.insert((text.into(), intern(text))).1,
        }
    }

    /// What these bytes are interned as, if they were among the last.
    #[inline]
    pub(crate) fn known(&self, text: &[u8]) -> Option<T> {
        let slot = self.slots[slot(text)].as_ref();
        slot.filter(|(known, _)| known.as_bytes() == text).map(|(_, id)| *id)
    }
}

/// Where a text is kept. Names of one family differ at the end (`sda`, `sdb`; `fio:1`, `fio:2`).
#[inline]
fn slot(text: &[u8]) -> usize {
    let [first, .., last] = *text else { return 0 };
    (usize::from(first) * 5 + usize::from(last) * 3 + text.len()) % KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_texts_are_interned_once() {
        let mut last = RecentNames::default();
        let mut asked = 0;
        for text in ["", "", "sda", "sda", "sdb", "sda", "sdb"] {
            let id = last.get(text, |text| {
                asked += 1;
                text.len()
            });
            assert_eq!(id, text.len());
        }
        assert_eq!(asked, 3);
    }
}
