//! Recorded time before each file of a store began: the clock of retention. It advances only while
//! a recorder runs, so setting the wall clock ages nothing.

use std::collections::{BTreeMap, HashSet};

use crate::{SegmentName, stamp};

/// Seconds recorded so far, and when each file began by that clock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Ages {
    /// Recorded before this recorder began, s.
    before_s: i64,
    /// Recorded by this one, s.
    ran_s: i64,
    /// Recorded time by a segment's stamp or an incident's name, s.
    began_s: BTreeMap<String, i64>,
}

impl Ages {
    /// From its text: `SECONDS NAME` a line, the last with the name `now`. Missing entries are
    /// estimated: from the names if there is no text, else as just recorded. So damaged text keeps
    /// a file longer, never shorter.
    pub(crate) fn read(
        text: &str,
        segments: &[SegmentName],
        incidents: impl Iterator<Item = (String, i64)>,
    ) -> Ages {
        let mut ages = Ages::default();
        for line in text.lines() {
            let Some((seconds, name)) = line.split_once(' ') else { continue };
            let Ok(seconds) = seconds.parse::<i64>() else { continue };
            ages.before_s = ages.before_s.max(seconds);
            if name != "now" {
                ages.began_s.insert(name.to_string(), seconds);
            }
        }
        let by_names = ages.began_s.is_empty();
        let mut at_s = 0;
        for (place, name) in segments.iter().enumerate() {
            let next = segments.get(place + 1).map_or(i64::MAX, |next| next.began_s);
            let began_s = if by_names { at_s } else { ages.before_s };
            ages.began_s.entry(stamp(name.began_s)).or_insert(began_s);
            at_s += next.saturating_sub(name.began_s).clamp(0, SegmentName::LENGTH_S);
        }
        if by_names {
            ages.before_s = at_s;
        }
        for (id, incident_s) in incidents {
            let within = segments.iter().rfind(|name| name.began_s <= incident_s);
            let estimated = match within {
                _ if !by_names => ages.before_s,
                None => 0,
                Some(name) => {
                    let after_s = (incident_s - name.began_s).min(SegmentName::LENGTH_S);
                    ages.began_s.get(&stamp(name.began_s)).copied().unwrap_or(0) + after_s
                }
            };
            ages.began_s.entry(id).or_insert(estimated);
        }
        ages
    }

    /// Sets how long the recorder has run, s.
    pub(crate) fn advance(&mut self, ran_s: i64) {
        self.ran_s = self.ran_s.max(ran_s);
    }

    /// Adds a file that begins now, unless it is known.
    pub(crate) fn began(&mut self, name: &str, ran_s: i64) {
        self.advance(ran_s);
        let now_s = self.before_s.saturating_add(self.ran_s);
        self.began_s.entry(name.to_string()).or_insert(now_s);
    }

    /// The time recorded since a file began, s; 0 if that is not known.
    pub(crate) fn age_s(&self, name: &str) -> i64 {
        let now_s = self.before_s.saturating_add(self.ran_s);
        self.began_s.get(name).map_or(0, |began_s| now_s.saturating_sub(*began_s))
    }

    /// Removes files that are gone.
    pub(crate) fn retain(&mut self, kept: &HashSet<String>) {
        self.began_s.retain(|name, _| kept.contains(name));
    }

    /// Its text.
    pub(crate) fn text(&self) -> String {
        let lines = self.began_s.iter().map(|(name, seconds)| format!("{seconds} {name}\n"));
        let now_s = self.before_s.saturating_add(self.ran_s);
        lines.chain([format!("{now_s} now\n")]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grain;

    fn names(began: &[i64]) -> Vec<SegmentName> {
        began.iter().map(|began_s| SegmentName { began_s: *began_s, grain: Grain::Hours }).collect()
    }

    #[test]
    fn an_age_is_what_was_recorded_since_and_comes_back() {
        let mut ages = Ages::read("", &[], std::iter::empty());
        // 40 days ahead, then in 1970.
        for (name, ran_s) in [("a", 10), ("ahead", 20), ("1970", 30)] {
            ages.began(name, ran_s);
        }
        ages.advance(100);
        let again = Ages::read(&ages.text(), &[], std::iter::empty());
        for ages in [ages, again] {
            assert_eq!(["a", "ahead", "1970", "x"].map(|name| ages.age_s(name)), [90, 80, 70, 0]);
        }
    }

    #[test]
    fn what_ages_lack_is_estimated() {
        let began = [0, 3600, 7200, 90_000];
        let incident = || std::iter::once(("7300-sda".to_string(), 7300));
        let old = Ages::read("", &names(&began), incident());
        let in_s = |ages: &Ages| began.map(|began_s| ages.age_s(&stamp(began_s)));
        // A store without this file: an hour per segment, however long the gaps between them.
        assert_eq!(in_s(&old), [14_400, 10_800, 7200, 3600]);
        assert_eq!(old.age_s("7300-sda"), 7100);
        let text = old.text().replace(&stamp(90_000), "lost");
        let damaged = Ages::read(&text, &names(&began), incident());
        assert_eq!(in_s(&damaged), [14_400, 10_800, 7200, 0]);
        for text in ["x", "1", "99999999999999999999 a", "-5 now\n\0\n7 \n"] {
            let ages = Ages::read(text, &names(&began), incident());
            assert!(in_s(&ages).iter().all(|age| (0..=14_400).contains(age)), "{text}");
        }
    }
}
