//! Sorting whose code is in the program once.

use std::cmp::Ordering;

/// A stable sort like that of the standard library, which compiles to 4 kB for each kind of item
/// and comparison; here the places of the items are sorted, all by the same code, and the items
/// swapped. For the short lists of findings, rows and names, not for I/Os: it takes two to three
/// times as long.
pub trait Order<T> {
    /// Like [`slice::sort_by`].
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Like [`slice::sort_by_key`].
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let items = &*self;
        let order = sorted(items.len(), &mut |a, b| compare(&items[a], &items[b]));
        arrange(order, &mut |a, b| self.swap(a, b));
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// The places `0..len`, sorted by `compare`.
#[inline(never)]
fn sorted(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// Swaps items until each stands where `order` has its place.
#[inline(never)]
fn arrange(mut order: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut at = start;
        while order[at] != start {
            let from = std::mem::replace(&mut order[at], at);
            swap(at, from);
            at = from;
        }
        order[at] = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_ordered_as_by_the_standard_library() {
        let mut random = 1_u32;
        for len in 0..200 {
            let items: Vec<(u32, usize)> = (0..len)
                .map(|place| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (random >> 28, place)
                })
                .collect();
            let (mut ours, mut theirs) = (items.clone(), items);
            ours.order_by_key(|item| item.0);
            theirs.sort_by_key(|item| item.0);
            assert_eq!(ours, theirs);
        }
    }
}
