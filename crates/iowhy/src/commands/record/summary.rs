//! The summary at the end of a recording.

use std::io::Write;

use iowhy_capture::Writer;
use iowhy_model::{Level, Loss, numbers};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::part::{Part, Place};
use crate::messages;
use crate::sanitised;

/// The result of a recording.
pub(super) struct Summary {
    files: Vec<String>,
    bytes: u64,
    events: u64,
    unwritten: u64,
    losses: Vec<Loss>,
    seconds: f64,
    cpu_ns: u64,
    stopped_early: bool,
}

impl Summary {
    /// Reads it from the writer and its files.
    pub(super) fn of(
        writer: &Writer<Part>,
        place: &Place,
        seconds: f64,
        stopped_early: bool,
    ) -> Summary {
        let traced = writer.sources().filter(|source| source.level >= Level::C);
        let losses = traced.flat_map(|source| source.losses.clone()).collect();
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Summary {
            files: place.files().map(|file| file.display().to_string()).collect(),
            bytes: place.bytes(),
            events: writer.events(),
            unwritten: writer.unwritten(),
            losses,
            seconds,
            cpu_ns: (cpu.tv_sec as u64)
                .wrapping_mul(1_000_000_000)
                .wrapping_add(cpu.tv_nsec as u64),
            stopped_early,
        }
    }

    /// Whether anything was lost, or it ended early.
    pub(super) fn is_incomplete(&self) -> bool {
        self.stopped_early || self.lost() > 0
    }

    fn lost(&self) -> u64 {
        self.losses
            .iter()
            .fold(0u64, |sum, loss| sum.saturating_add(loss.count))
            .max(self.unwritten)
    }

    /// Prints it to stderr: stdout may be the capture.
    pub(super) fn say(&self) {
        let each = match self.events {
            0 => String::new(),
            events => format!(", {} per I/O", numbers::bytes(self.bytes as f64 / events as f64)),
        };
        let files = match &self.files[..] {
            [one] if one == "-" => String::new(),
            [one] => format!(" in `{one}`"),
            [first, .., last] => format!(" in {} files, `{first}` to `{last}`", self.files.len()),
            [] => String::new(),
        };
        let text = format!(
            "{} I/Os in {}, {} lost; {}{files}{each}",
            self.events,
            numbers::duration(self.seconds * 1e9),
            self.lost(),
            numbers::bytes(self.bytes as f64),
        );
        messages::warn(&text, None);
        for loss in self.losses.iter().filter(|loss| loss.count > 0) {
            messages::warn(&format!("lost {}: {}", loss.count, loss.what), None);
        }
    }

    /// Prints it to stdout as an object of schema iowhy.record/1.
    pub(super) fn json(&self) -> std::io::Result<()> {
        let losses: Vec<_> = self
            .losses
            .iter()
            .map(|loss| json!({ "what": loss.what, "count": loss.count }))
            .collect();
        let object = json!({
            "schema": "iowhy.record/1",
            "files": self.files,
            "bytes": self.bytes,
            "events": self.events,
            "lost": self.lost(),
            "losses": losses,
            "unwritten": self.unwritten,
            "stopped_early": self.stopped_early,
            "seconds": self.seconds,
            "cpu_ns": self.cpu_ns,
        });
        writeln!(sanitised::stdout(), "{object}")
    }
}
