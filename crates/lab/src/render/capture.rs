//! `iowhy snoop --json` of a live trace, through the real view.

use iowhy_model::{
    Event, Flags, Layer, Level, Loss, Nanos, Op, Recording, Report, Sampling, Sink, Source, Time,
};
use iowhy_show::{Style, find};

use super::traced;
use crate::worlds::{Chance, World};

/// The JSON lines.
pub(super) fn text(world: &World, taste: &mut Chance) -> Result<String, String> {
    let (seen, lost) = traced(world, taste);
    let mut recording = Recording::new();
    let mut source = Source::new("block-trace", "live", Level::D);
    source.sampling = Sampling::Traced;
    source.resolution = Some(Nanos(1));
    source.watched = Some(Nanos(world.span.max(world.end()) as i64));
    if lost > 0 {
        let what = "events dropped by a full ring".to_string();
        source.losses.push(Loss { what, count: lost });
    }
    recording.begin(source);
    for (disk, done, depth) in seen {
        let device = recording.device(&disk.setup.name);
        let mut event = Event::new(device, done.op, Layer::Block);
        let time = |ns: u64| Some(Time::from_ns(ns as i64));
        (event.queued, event.issued) = (time(done.queued), time(done.issued));
        event.completed = time(done.completed);
        event.sector = Some(done.offset / 512);
        event.bytes = Some(done.bytes);
        event.pid = Some(done.pid);
        event.comm = Some(recording.name(done.comm));
        event.depth = Some(depth);
        if done.sync && done.op == Op::Write {
            event.flags = Flags::SYNC;
        }
        recording.event(event);
    }
    recording.end();
    let report = Report { recording, findings: Vec::new() };
    let view = find("events-json").ok_or("the view events-json is gone")?;
    let mut out = Vec::new();
    (view.write)(&report, &Style::plain(), &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}
