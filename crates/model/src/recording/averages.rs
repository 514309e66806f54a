//! Rows of averages of a long listing: neighbours in time are merged, by twos, fours and so on.

use std::collections::HashMap;

use super::ceilings::ROWS_OF_ONE;
use crate::{DeviceId, Interval};

/// How the rows of a listing were merged.
#[derive(Clone, Debug)]
pub(super) struct JoinedRows {
    /// Rows merged into one, a power of two.
    together: u32,
    /// How many rows each one represents.
    counts: Vec<u32>,
    /// The last row of each device.
    last: HashMap<DeviceId, usize>,
    /// Rows before they are merged again.
    limit: usize,
}

impl Default for JoinedRows {
    fn default() -> JoinedRows {
        JoinedRows { together: 1, counts: Vec::new(), last: HashMap::new(), limit: ROWS_OF_ONE }
    }
}

impl JoinedRows {
    /// Rows before they are merged again.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Merges a new row into the last one of its device; false if that one is full and the new one
    /// must be kept.
    pub(super) fn take(&mut self, rows: &mut [Interval], one: &Interval) -> bool {
        let joined = self.last.get(&one.device).is_some_and(|place| {
            let (Some(row), Some(count)) = (rows.get_mut(*place), self.counts.get_mut(*place))
            else {
                return false;
            };
            let joins = *count < self.together && row.join(one, *count, 1);
            *count += u32::from(joins);
            joins
        });
        if !joined {
            self.last.insert(one.device, rows.len());
            self.counts.push(1);
        }
        joined
    }

    /// Merges neighbours until half of the rows are left; returns whether any could be merged. If
    /// there are more devices than that, the limit rises.
    pub(super) fn thin(&mut self, rows: &mut Vec<Interval>) -> bool {
        self.counts.resize(rows.len(), 1);
        let before = rows.len();
        while rows.len() > self.limit / 2 && self.together < 1 << 30 {
            let length = rows.len();
            self.together *= 2;
            self.halve(rows);
            if rows.len() == length {
                break;
            }
        }
        self.limit = self.limit.max(rows.len().saturating_mul(2));
        rows.len() < before
    }

    fn halve(&mut self, rows: &mut Vec<Interval>) {
        self.last.clear();
        let mut kept = 0;
        for at in 0..rows.len() {
            let (before, rest) = rows.split_at_mut(at);
            let (Some(row), Some(count)) = (rest.first(), self.counts.get(at).copied()) else {
                return;
            };
            let place = self.last.get(&row.device).copied().unwrap_or(usize::MAX);
            let joined = before.get_mut(place).zip(self.counts.get_mut(place)).is_some_and(
                |(known, known_count)| {
                    let joins = *known_count + count <= self.together
                        && known.join(row, *known_count, count);
                    *known_count += if joins { count } else { 0 };
                    joins
                },
            );
            if !joined {
                self.last.insert(row.device, kept);
                rows.swap(kept, at);
                self.counts.swap(kept, at);
                kept += 1;
            }
        }
        rows.truncate(kept);
        self.counts.truncate(kept);
    }
}
