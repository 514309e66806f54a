//! The main loop of the recorder: each second records are collected, kept, judged and exposed.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use super::announce::Outputs;
use super::clock::ClockSource;
use super::exposed::{Endpoints, Exposed};
use super::incidents::Incidents;
use super::keeping::{self, Kept};
use super::settings::Settings;
use super::watched::Watched;
use super::writer::Write;
use crate::command::Status;
use crate::confinement;
use crate::stop::Stop;
use crate::{messages, recorded};

/// How often settings, mounts, limits and pressure are read, and once a new disk does I/O.
const SNAPSHOT_S: u64 = 60;
/// With the kernel's times, one second in this many is traced exactly: senders and B2Q.
const SAMPLE_S: u64 = 30;
/// How often learned latencies are saved.
const LEARNED_S: u64 = 600;
/// How long the recorder waits for the judge and the disk at its end.
const AT_THE_END: Duration = Duration::from_secs(10);

/// Records until it is stopped.
///
/// # Errors
/// If nothing can be traced, or the store not be written to at the beginning.
pub(crate) fn run(settings: &Settings) -> anyhow::Result<Status> {
    let mut recorder = Recorder::begin(settings)?;
    while !recorder.watched.is_over() {
        recorder.watched.watch()?;
        recorder.second()?;
    }
    recorder.end()
}

struct Recorder {
    watched: Watched,
    kept: Kept,
    incidents: Incidents,
    exposed: Exposed,
    clock: ClockSource,
    seconds: u64,
}

impl Recorder {
    /// Everything that needs privileges is opened first; threads start after these are dropped.
    fn begin(settings: &Settings) -> anyhow::Result<Recorder> {
        iowhy_live::use_one_heap();
        let stop = Stop::new()?;
        let store = keeping::open(&settings.store)?;
        let clock = ClockSource::open(settings.clock_shifted_by.as_deref())?;
        let learned = recorded::learned(&settings.store);
        let endpoints = Endpoints::open(settings)?;
        let outputs = Outputs::open(settings.json, settings.exec.as_deref())?;
        let now = clock.now();
        let mut watched = Watched::begin(settings, stop, now)?;
        iowhy_live::give_up_rights()?;
        confinement::recording(&settings.store)?;
        let mut kept = Kept::start(store, settings.bounds, now)?;
        let exposed = endpoints.start()?;
        let incidents = Incidents::start(settings, learned, outputs, exposed.shared(), now)?;
        kept.snapshot(watched.look_around(), now);
        // Frees the kernel's types, some ten megabytes.
        iowhy_live::give_back_memory();
        let text = format!("recording into `{}`; Ctrl-C ends", settings.store.display());
        messages::warn(&text, None);
        Ok(Recorder { watched, kept, incidents, exposed, clock, seconds: 0 })
    }

    fn second(&mut self) -> anyhow::Result<()> {
        let Recorder { watched, kept, incidents, exposed, .. } = self;
        let now = self.clock.now();
        self.seconds += 1;

        let seen = watched.second(now)?;
        if self.seconds.is_multiple_of(SNAPSHOT_S) || watched.has_new_disk(&seen.second) {
            kept.snapshot(watched.look_around(), now);
            // After a busy minute most of the ring is free.
            iowhy_live::give_back_memory();
        }

        if let Some(trouble) = kept.second(&seen, now) {
            incidents.notify_of_trouble(trouble);
        }

        incidents.second(&seen, now, watched, kept);
        let is_sample = self.seconds.is_multiple_of(SAMPLE_S);
        watched.trace_exactly(incidents.is_open() || is_sample);
        if self.seconds.is_multiple_of(LEARNED_S) {
            kept.push(Write::Learned(incidents.learned()));
        }

        exposed.second(&seen.second, now, self.seconds, (watched, kept, incidents));
        Ok(())
    }

    fn end(self) -> anyhow::Result<Status> {
        let Recorder { mut watched, mut kept, mut incidents, .. } = self;
        let now = self.clock.now();
        incidents.end(now, AT_THE_END, &mut watched, &kept);
        watched.end()?;
        kept.end(incidents.learned(), now);
        let count = incidents.count;
        let announcer = incidents.into_announcer();
        let begun = Instant::now();
        while !(kept.is_done() && announcer.is_finished()) && begun.elapsed() < AT_THE_END {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (lost, written) = (watched.lost, kept.written());
        let (given_up, refused) = (written.given_up.load(Relaxed), written.refused.load(Relaxed));
        let text = format!(
            "recorded {} s, {count} incidents; {lost} I/Os lost, {given_up} writes dropped, \
             {refused} failed",
            self.seconds
        );
        messages::warn(&text, None);
        Ok(Status::incomplete(lost + given_up + refused > 0))
    }
}
