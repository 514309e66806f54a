//! What a collector is.

use std::any::Any;

use iowhy_model::Sink;

use crate::Error;

/// Watches one thing and emits what it saw into a sink at each poll. Whoever knows which one it is
/// finds in it what only that one can tell (`Any`).
pub trait Collector: Any {
    /// Its name in the list of collectors.
    fn name(&self) -> &'static str;

    /// Begins to watch: opens its listing in the sink.
    ///
    /// # Errors
    /// If a right or a kernel feature is missing; the message shows which and what to do.
    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;

    /// Emits what was seen since the last poll into its listing.
    ///
    /// # Errors
    /// If the source broke.
    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;

    /// What has to be done between polls, at least once a second: the tracer looks for devices that
    /// appeared. Pours nothing.
    ///
    /// # Errors
    /// If the source broke.
    fn tend(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// States how things are now in a listing of its own, and goes on watching. Most have nothing
    /// to state beside what they emit.
    ///
    /// # Errors
    /// If the source broke.
    fn snapshot(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }

    /// Stops watching, emits the rest and closes the listing.
    ///
    /// # Errors
    /// If the source broke; what was seen before stays in the sink.
    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error>;
}
