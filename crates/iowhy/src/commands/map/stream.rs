//! Draws a capture from standard input while it arrives, the latest at the right.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use iowhy_model::{
    DeviceId, Distribution, Event, Fact, Interval, Name, Recording, Report, Sink, Source, Tally,
};

use super::Map;
use super::pages::Pages;
use super::window::{SECOND, Window};
use crate::arguments::Files;
use crate::command::Status;
use crate::confinement;
use crate::messages;
use crate::sanitised;
use iowhy_show::views;

use crate::present::View;

/// How often the picture is drawn, and the length of a column.
const REDRAWN: Duration = Duration::from_nanos(SECOND.0 as u64);
/// Columns of a map beside its cells (labels and latest values, `heatmap`).
pub(super) const BESIDE: usize = 18;
/// How often a stop request is checked.
const PATIENCE: Duration = Duration::from_millis(100);

impl Map {
    /// Draws the input on a terminal once a second, until it ends or the user stops it. A capture
    /// that is complete within the first second is drawn as a whole.
    pub(super) fn arriving(&self, files: &Files) -> anyhow::Result<Status> {
        let known = files.read_as.known()?;
        let mut pages = Pages::open()?;
        // Before the reading thread starts, which inherits it.
        confinement::reading(files.files.iter().map(PathBuf::as_path), &[])?;
        let shared = SharedArrivals::default();
        let mut feed = shared.clone();
        let (done, ended) = mpsc::channel();
        let files = files.clone();
        std::thread::spawn(move || {
            let outcome = files.open().next().map_or(Ok(()), |(input, opened)| {
                let mut reader = opened?;
                iowhy_read::scan(&input, &mut reader, known, &mut feed)?;
                Ok::<(), anyhow::Error>(())
            });
            drop(feed.amended_tally());
            // If the receiver is gone, the user stopped it.
            let _ = done.send(outcome);
        });
        let view = View(&views::heatmap::VIEW);
        let mut window: Option<Window> = None;
        let mut outcome = None;
        let mut asked = false;
        while outcome.is_none() && !asked {
            let drawn = Instant::now();
            while outcome.is_none() && !asked && drawn.elapsed() < REDRAWN {
                asked = pages.ends_within(&view, PATIENCE)?;
                match ended.try_recv() {
                    Ok(ending) => outcome = Some(ending),
                    Err(TryRecvError::Disconnected) => outcome = Some(Ok(())),
                    Err(TryRecvError::Empty) => {}
                }
            }
            let mut part = shared.take();
            if part.listings.is_empty() {
                continue;
            }
            let style = self.drawing.style(self.output.style(self.selection.filter(&mut part)));
            let recording = match (&outcome, &mut window) {
                (Some(_), None) => part,
                (_, window) => window.get_or_insert_default().add(part, style.width - BESIDE),
            };
            pages.draw(&view, Report { recording, findings: Vec::new() }, style)?;
        }
        drop(pages);
        writeln!(sanitised::stdout())?;
        if let Some(Err(error)) = outcome {
            messages::error(&error);
            return Ok(Status::Failed);
        }
        Ok(Status::incomplete(shared.tally().is_incomplete()))
    }
}

/// A recording that one thread fills and another draws; I/Os that arrive faster than they are drawn
/// are counted, so memory stays constant.
#[derive(Clone, Default)]
struct SharedArrivals {
    tally: Arc<Mutex<Tally>>,
    /// The open source while the reader amends it; returned before the next record.
    amended: Option<Source>,
}

impl SharedArrivals {
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// New records since the last call; sources stay.
    fn take(&self) -> Recording {
        self.tally().take()
    }

    /// The recording with the current state of its source.
    fn amended_tally(&mut self) -> MutexGuard<'_, Tally> {
        let amended = self.amended.take();
        let mut tally = self.tally();
        if let Some(amended) = amended {
            *tally.source() = amended;
        }
        tally
    }
}

impl Sink for SharedArrivals {
    fn begin(&mut self, source: Source) -> usize {
        self.amended_tally().begin(source)
    }

    fn resume(&mut self, listing: usize) {
        self.amended_tally().resume(listing);
    }

    fn source(&mut self) -> &mut Source {
        let source = self.amended_tally().source().clone();
        self.amended.insert(source)
    }

    fn device(&mut self, name: &str) -> DeviceId {
        self.amended_tally().device(name)
    }

    fn name(&mut self, text: &str) -> Name {
        self.amended_tally().name(text)
    }

    fn event(&mut self, event: Event) {
        self.amended_tally().event(event);
    }

    fn interval(&mut self, interval: Interval) {
        self.amended_tally().interval(interval);
    }

    fn distribution(&mut self, distribution: Distribution) {
        self.amended_tally().distribution(distribution);
    }

    fn fact(&mut self, fact: Fact) {
        self.amended_tally().fact(fact);
    }

    fn end(&mut self) {
        self.amended_tally().end();
    }
}
