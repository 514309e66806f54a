//! How a reader adds a fact: its device, a key with the type of its value, and its origin; and how
//! it remarks on a listing as a whole.

use iowhy_model::typed::Key;
use iowhy_model::{DeviceId, Fact, FactKey, FactValue, Note, Sink};

/// The subject of a fact.
pub(crate) trait About {
    /// The device; `None` for the machine or the run as a whole.
    fn device(self, sink: &mut dyn Sink) -> Option<DeviceId>;
}

impl About for Option<DeviceId> {
    fn device(self, _sink: &mut dyn Sink) -> Option<DeviceId> {
        self
    }
}

impl About for DeviceId {
    fn device(self, _sink: &mut dyn Sink) -> Option<DeviceId> {
        Some(self)
    }
}

/// A name with or without `/dev/`; the empty one is the machine's.
impl About for &str {
    fn device(self, sink: &mut dyn Sink) -> Option<DeviceId> {
        let name = self.strip_prefix("/dev/").unwrap_or(self);
        (!name.is_empty()).then(|| sink.device(name))
    }
}

impl About for &String {
    fn device(self, sink: &mut dyn Sink) -> Option<DeviceId> {
        self.as_str().device(sink)
    }
}

/// Facts of the open listing.
pub(crate) trait AddFact {
    /// Their sink.
    fn sink(&mut self) -> &mut (dyn Sink + '_);

    /// The place of the line that is being read: `file:line`.
    fn here(&mut self) -> String {
        let source = self.sink().source();
        format!("{}:{}", source.input, source.line)
    }

    /// Adds a fact with its place: a file and line.
    fn add_fact_at<V: Into<FactValue>>(
        &mut self,
        about: impl About,
        key: Key<V>,
        value: impl Into<V>,
        place: &str,
    ) {
        let device = about.device(self.sink());
        self.sink().fact(Fact::of(device, key, value, place));
    }

    /// Adds a fact that the line that is being read says.
    fn add_fact_here<V: Into<FactValue>>(
        &mut self,
        about: impl About,
        key: Key<V>,
        value: impl Into<V>,
    ) {
        let place = self.here();
        self.add_fact_at(about, key, value, &place);
    }

    /// Adds a value as printed, a file's content or a number with a unit: the key's kind parses it,
    /// and other text stays text.
    fn add_text_at(&mut self, about: impl About, key: impl Into<FactKey>, text: &str, place: &str) {
        let device = about.device(self.sink());
        self.sink().fact(Fact::read(device, key.into(), text, place));
    }

    /// Adds a fact that the listing as a whole says.
    fn add_fact<V: Into<FactValue>>(
        &mut self,
        about: impl About,
        key: Key<V>,
        value: impl Into<V>,
    ) {
        let place = self.sink().source().place();
        self.add_fact_at(about, key, value, &place);
    }
}

impl AddFact for dyn Sink + '_ {
    fn sink(&mut self) -> &mut (dyn Sink + '_) {
        self
    }
}

/// A note about a listing as a whole.
pub(crate) fn note(reason: impl Into<String>) -> Note {
    Note { line: 0, text: String::new(), reason: reason.into() }
}
