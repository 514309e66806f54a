//! What a reader does with the listing that is open in a sink.

use iowhy_model::{Level, Sink, Source};

/// The reader found that what follows is another run of the same tool, on a clock of its own: a
/// listing of the same format begins below the last line taken.
pub(crate) fn another_run(sink: &mut dyn Sink) {
    let old = sink.source();
    let mut source = Source::new(&old.format, &old.input, old.level);
    source.lines = old.lines.map(|(_, last)| (last + 1, last + 1));
    source.sees_queue = old.sees_queue;
    source.sampling = old.sampling;
    source.resolution = old.resolution;
    source.host.clone_from(&old.host);
    source.machine.clone_from(&old.machine);
    source.inferred.clone_from(&old.inferred);
    sink.end();
    sink.begin(source);
}

/// What follows comes from another input: a listing of the same format begins at the last line
/// taken.
pub(crate) fn another_input(level: Level, sink: &mut dyn Sink) {
    let old = sink.source();
    let mut next = Source::new(&old.format, &old.input, level);
    next.lines = old.lines.map(|(_, last)| (last, last));
    sink.end();
    sink.begin(next);
}

/// What an open listing without records lacks, by its reader.
pub(crate) fn missing(source: &Source) -> String {
    let lost = source.losses.first().map(|loss| format!("{} {}", loss.count, loss.what));
    let last_note = source.notes.last().map(|note| note.reason.clone());
    last_note.or(lost).unwrap_or_else(|| "it has a heading but no rows".to_string())
}
