//! `iowhy snoop --json` of a live trace, through the real view.

use std::num::NonZeroU32;

use iowhy_model::{
    Event, Layer, Level, Loss, Nanos, Op, Recording, Report, Sampling, Sink, Source, Time,
};
use iowhy_show::{Style, views};

use super::traced;
use crate::scenarios::{Chance, Scenario};

/// The JSON lines.
pub(super) fn text(scenario: &Scenario, taste: &mut Chance) -> Result<String, String> {
    let (seen, lost) = traced(scenario, taste);
    let mut recording = Recording::new();
    let mut source = Source::new("block-trace", "live", Level::D);
    source.sampling = Sampling::Traced;
    source.resolution = Some(Nanos(1));
    source.watched = Some(Nanos(watched(scenario) as i64));
    if lost > 0 {
        let what = "events dropped by a full ring".to_string();
        source.losses.push(Loss { what, count: lost, of: None });
    }
    recording.begin(source);
    // Boot was long ago.
    let time = |ns: u64| Some(Time::from_ns((ns + scenario.uptime()) as i64));
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
        event.depth = NonZeroU32::new(depth);
        event.cgroup = done.cgroup.map(|group| recording.name(group));
        event.flags = done.rwbs();
        // EIO
        event.error = done.failed.then_some(5);
        recording.event(event);
    }
    recording.end();
    calls(scenario, &mut recording);
    let report = Report { recording, findings: Vec::new() };
    let view = views::events_json::VIEW;
    let mut out = Vec::new();
    (view.write)(&report, &Style::plain(), &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// How long the tracer ran: to the end of the scenario, or until the last request that it listed.
fn watched(scenario: &Scenario) -> u64 {
    let cut = scenario.disks.iter().any(|disk| disk.done.len() > scenario.listed);
    let listed = scenario.disks.iter().flat_map(|disk| disk.done.iter().take(scenario.listed));
    let last = listed.map(|done| done.completed).max().unwrap_or(0);
    if cut { last } else { last.max(scenario.span) }
}

/// The system calls that were traced beside, as a listing of their own.
fn calls(scenario: &Scenario, recording: &mut Recording) {
    if scenario.disks.iter().all(|disk| disk.calls.is_empty()) {
        return;
    }
    let mut source = Source::new("syscalls", "live", Level::D);
    source.sampling = Sampling::Traced;
    source.resolution = Some(Nanos(1));
    source.watched = Some(Nanos(watched(scenario) as i64));
    recording.begin(source);
    for disk in &scenario.disks {
        let device = recording.device(&disk.setup.name);
        for call in disk.calls.iter().take(scenario.listed) {
            let mut event = Event::new(device, call.op, Layer::Syscall);
            let time = |ns: u64| Some(Time::from_ns((ns + scenario.uptime()) as i64));
            (event.issued, event.completed) = (time(call.start), time(call.end));
            event.bytes = Some(call.bytes);
            event.pid = Some(call.pid);
            event.comm = Some(recording.name(call.comm));
            recording.event(event);
        }
    }
    recording.end();
}
