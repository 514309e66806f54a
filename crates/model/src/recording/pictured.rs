//! A recording as pictures show it.

use std::borrow::Cow;

use crate::{Distribution, Filter, Listing, Recording, SingleIos};

impl Listing {
    /// Its histograms, those of the I/Os that are no longer kept one by one among them.
    pub fn histograms(&self) -> impl Iterator<Item = &Distribution> {
        self.distributions.iter().chain(&self.rest)
    }

    /// What is reported of its single I/Os that pass, all of them, kept or not.
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
        // What else the filter asks was asked before they were counted.
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
    /// The same recording for pictures, with what passes the filter: where cells were kept beside a
    /// part of the I/Os, the cells instead of these; `None` if there are none, and it can be drawn
    /// as it is.
    pub fn in_cells(&self, filter: &Filter) -> Option<Recording> {
        self.listings.iter().any(|listing| listing.cells.is_some()).then(|| {
            let listings = self.listings.iter().map(|listing| listing.in_cells(filter));
            self.with_listings(listings.collect())
        })
    }
}
