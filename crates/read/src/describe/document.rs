//! Documents: what a format reads in one of JSON, element by element or as a whole.
//!
//! All handle damage in the same way. An element that cannot be used is malformed. Of a truncated
//! document the complete part is read, with a note; it is a loss unless the document ends between
//! two elements of a list.

use iowhy_model::Sink;
use serde_json::Value;

use crate::facts::note;
use crate::text::document::{Document, Piece};
use crate::{Reader, Step};

/// What a format reads in a document.
pub(crate) trait Content: Default + 'static {
    /// Keys in quotes, one of which is near the top of the document.
    const KEYS: &'static [&'static str];
    /// The key in quotes of a list whose elements are read one by one.
    const LIST: Option<&'static str> = None;
    /// The note about a truncated document.
    const TRUNCATED: &'static str = "the document is truncated; the complete part was read";

    /// What stands above the list.
    fn head(&mut self, _head: &Value, _sink: &mut dyn Sink) {}

    /// An element of the list, or why it could not be used.
    fn element(&mut self, _element: &Value, _sink: &mut dyn Sink) -> Result<(), &'static str> {
        Ok(())
    }

    /// What is beside the list, which is empty here; all of a document without a list.
    fn rest(&mut self, _rest: &Value, _sink: &mut dyn Sink) {}

    /// The document is over.
    fn end(&mut self, _sink: &mut dyn Sink) {}
}

/// What is lost of a list whose last element was cut off and cannot be repaired.
const UNREADABLE: &str = "elements of a list that was cut off";

/// Reads one document.
#[derive(Default)]
pub(crate) struct DocumentReader<C> {
    document: Document,
    content: C,
    has_elements: bool,
}

impl<C: Content> DocumentReader<C> {
    fn element(&mut self, element: &Value, sink: &mut dyn Sink) -> Result<(), &'static str> {
        if !std::mem::replace(&mut self.has_elements, true)
            && let Some(head) = self.document.repaired()
        {
            self.content.head(&head, sink);
        }
        self.content.element(element, sink)
    }
}

impl<C: Content> Reader for DocumentReader<C> {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let (pieces, mut step) = self.document.list_step(C::LIST, line);
        for piece in pieces {
            match piece {
                Piece::Element(element) => {
                    if let Err(why) = self.element(&element, sink) {
                        step = Step::skipped(why);
                    }
                }
                Piece::Whole(rest) => self.content.rest(&rest, sink),
                Piece::Broken(_) => {}
            }
        }
        step
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if !self.document.is_over() {
            if let Some(element) = self.document.cut_element() {
                let _ = self.element(&element, sink);
            } else if C::LIST.is_some() && self.document.is_torn() {
                sink.lost(UNREADABLE, 1);
            }
            if let Some(rest) = self.document.repaired() {
                self.content.rest(&rest, sink);
            }
            match C::LIST.is_none() || self.document.is_torn() {
                true => sink.skip(note(C::TRUNCATED)),
                false => sink.note(note(C::TRUNCATED)),
            }
        }
        self.content.end(sink);
    }
}
