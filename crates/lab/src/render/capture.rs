//! `iowhy snoop --json` of a live trace, through the real view.

use iowhy_model::{
    Event, Layer, Level, Loss, Nanos, Op, Recording, Report, Sampling, Sink, Source, Time,
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
    source.watched = Some(Nanos(watched(world) as i64));
    if lost > 0 {
        let what = "events dropped by a full ring".to_string();
        source.losses.push(Loss { what, count: lost });
    }
    recording.begin(source);
    // Boot was long ago.
    let time = |ns: u64| Some(Time::from_ns((ns + world.uptime()) as i64));
    for (disk, done, depth) in seen {
        let device = recording.device(&disk.setup.name);
        let mut event = Event::new(device, done.op, Layer::Block);
        event.arrived = time(done.arrived);
        (event.queued, event.issued) = (time(done.queued), time(done.issued));
        event.completed = time(done.completed);
        event.sector = (done.op != Op::Flush).then_some(done.offset / 512);
        event.bytes = Some(done.bytes);
        event.pid = Some(done.pid);
        event.comm = Some(recording.name(done.comm));
        event.depth = Some(depth);
        event.cgroup = done.cgroup.map(|group| recording.name(group));
        event.flags = done.rwbs();
        // EIO
        event.error = done.failed.then_some(5);
        recording.event(event);
    }
    recording.end();
    calls(world, &mut recording);
    let report = Report { recording, findings: Vec::new() };
    let view = find("events-json").ok_or("the view events-json is gone")?;
    let mut out = Vec::new();
    (view.write)(&report, &Style::plain(), &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// How long the tracer ran: to the end of the world, or until the last request that it listed.
fn watched(world: &World) -> u64 {
    let cut = world.disks.iter().any(|disk| disk.done.len() > world.listed);
    let listed = world.disks.iter().flat_map(|disk| disk.done.iter().take(world.listed));
    let last = listed.map(|done| done.completed).max().unwrap_or(0);
    if cut { last } else { last.max(world.span) }
}

/// The system calls that were traced beside, as a listing of their own.
fn calls(world: &World, recording: &mut Recording) {
    if world.disks.iter().all(|disk| disk.calls.is_empty()) {
        return;
    }
    let mut source = Source::new("syscalls", "live", Level::D);
    source.sampling = Sampling::Traced;
    source.resolution = Some(Nanos(1));
    source.watched = Some(Nanos(watched(world) as i64));
    recording.begin(source);
    for disk in &world.disks {
        let device = recording.device(&disk.setup.name);
        for call in disk.calls.iter().take(world.listed) {
            let mut event = Event::new(device, call.op, Layer::Syscall);
            let time = |ns: u64| Some(Time::from_ns((ns + world.uptime()) as i64));
            (event.issued, event.completed) = (time(call.start), time(call.end));
            event.bytes = Some(call.bytes);
            event.pid = Some(call.pid);
            event.comm = Some(recording.name(call.comm));
            recording.event(event);
        }
    }
    recording.end();
}
