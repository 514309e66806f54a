//! A recording as pictures show it.

use std::borrow::Cow;

use crate::{Distribution, Filter, Listing, Recording, SingleIos};

impl Listing {
    /// Its histograms, including those of I/Os that are no longer kept individually.
    pub fn histograms(&self) -> impl Iterator<Item = &Distribution> {
        self.distributions.iter().chain(&self.rest)
    }

    /// Details of all single I/Os that pass the filter, kept or not.
    pub fn singles(&self, filter: &Filter) -> Cow<'_, SingleIos> {
        if let Some(cells) = &self.cells {
            return Cow::Borrowed(&cells.singles);
        }
        let mut singles = SingleIos::default();
        self.events.iter().filter(|event| filter.event(event)).for_each(|one| singles.take(one));
        Cow::Owned(singles)
    }

    /// The same listing for pictures.
    fn in_cells(&self, filter: &Filter) -> Listing {
        let (events, cells) = match &self.cells {
            Some(cells) => (Vec::new(), &cells.distributions[..]),
            None => {
                let some = self.events.iter().filter(|event| filter.event(event));
                (some.copied().collect(), &self.rest[..])
            }
        };
        let given = self.distributions.iter();
        let given = given.filter(|known| filter.distribution(known) == Some(true));
        // All other conditions of the filter were applied when they were counted.
        let cells = cells.iter().filter(|one| filter.device(one.device) && filter.op(one.op));
        Listing {
            events,
            distributions: given.chain(cells).cloned().collect(),
            intervals: self.intervals.clone(),
            facts: self.facts.clone(),
            folded: self.folded,
            counted: self.counted.clone(),
            ..Listing::of(self.source.clone())
        }
    }
}

impl Recording {
    /// The same recording for pictures, filtered: if cells were kept, they replace the I/Os. `None`
    /// if there are none and the recording can be drawn directly.
    pub fn in_cells(&self, filter: &Filter) -> Option<Recording> {
        self.listings.iter().any(|listing| listing.cells.is_some()).then(|| {
            let listings = self.listings.iter().map(|listing| listing.in_cells(filter));
            self.with_listings(listings.collect())
        })
    }
}
