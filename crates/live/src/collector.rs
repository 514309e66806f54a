//! The trait of collectors.

use std::any::Any;

use iowhy_model::Sink;

use crate::Error;

/// Watches one thing and emits its records into a sink at each poll. Code that knows the concrete
/// collector gets further results from it (`Any`).
pub trait Collector: Any {
    /// Its name in the list of collectors.
    fn name(&self) -> &'static str;

    /// Begins to watch: opens its listing in the sink.
    ///
    /// # Errors If a privilege or a kernel feature is missing; the message names it and the remedy.
    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;

    /// Emits the records since the last poll into its listing.
    ///
    /// # Errors
    /// If the source broke.
    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;

    /// Work to do between polls, at least once a second: the tracer looks for new devices. Emits
    /// nothing.
    ///
    /// # Errors
    /// If the source broke.
    fn tend(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// Emits the current state in a separate listing, and continues to watch. Most collectors
    /// have none.
    ///
    /// # Errors
    /// If the source broke.
    fn snapshot(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }

    /// Stops watching, emits the rest and closes the listing.
    ///
    /// # Errors If the source broke; earlier records stay in the sink.
    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;
}
