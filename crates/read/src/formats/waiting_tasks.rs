//! Lists of tasks with the kernel function in which each waits: `ps` with the column `WCHAN`.
//!
//! ## Reads
//! The rows below a heading with `WCHAN`. Tasks in uninterruptible sleep (`D` in `STAT` or `S`) are
//! counted (`tasks.blocked`), and those whose function shows what they wait for, by function
//! (`tasks.wait_in.*`). Where a function waits for the answer of a server (NFS, SMB, Ceph), that
//! becomes a fact `kernel.log.remote` of it.
//!
//! ## How to capture
//! `ps -eo pid,stat,wchan:32,comm`, `ps axl`, and `top` with that field; typically collected when a
//! machine hangs.
//!
//! ## Versions
//! procps 3 and 4, busybox. Columns are found by the heading; a list without a state column is read
//! by its functions alone.
//!
//! ## Caveats
//! It is one moment: most tasks that wait for a healthy disk wait for a millisecond. Without
//! `wchan:32` old versions truncate names to six letters, which are not meaningful. `-` is a
//! running task, `0` means no permission.
//!
//! ## Not in this output
//! How long a task has waited, and for which disk.

use std::collections::BTreeMap;

use iowhy_model::{Message, MessageKind, waits};

use crate::program::*;

pub const FORMAT: Format = Format::program::<WaitingTasks>(
    "ps with WCHAN: tasks in uninterruptible sleep and where they wait",
    Level::E,
    &["WCHAN"],
    |lines| {
        let [first, rest @ ..] = lines else { return Detect::No };
        match (Columns::of(first), rest.first()) {
            (None, _) => Detect::No,
            (Some(_), None) => Detect::NeedLine,
            (Some(columns), Some(row)) => columns.row(row).is_some().into(),
        }
    },
)
.resumed();

/// The positions of the columns that matter.
#[derive(Clone, Copy)]
struct Columns {
    all: usize,
    process: usize,
    state: Option<usize>,
    function: usize,
}

/// What a row says: the state, if it is reported, and the function.
struct Row<'r> {
    state: Option<&'r str>,
    function: &'r str,
}

impl Columns {
    /// Of a heading: the command is last, since it may hold blanks.
    fn of(line: &str) -> Option<Columns> {
        let names: Vec<&str> = line.split_whitespace().collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
        let (all, function) = (names.len(), at(&["WCHAN"])?);
        let last = at(&["COMMAND", "CMD", "COMM"]).is_none_or(|command| command + 1 == all);
        let process = at(&["PID", "TID", "LWP", "SPID"])?;
        last.then_some(Columns { all, process, state: at(&["STAT", "S"]), function })
    }

    fn row<'r>(&self, line: &'r str) -> Option<Row<'r>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        integer(words.get(self.process)?)?;
        let state = self.state.map(|place| words.get(place).copied().unwrap_or_default());
        let is_state = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase());
        let is_sound = words.len() >= self.all && state.is_none_or(is_state);
        is_sound.then_some(Row { state, function: words.get(self.function)? })
    }
}

#[derive(Default)]
struct WaitingTasks {
    columns: Option<Columns>,
    /// The place of the heading.
    place: String,
    blocked: u64,
    waits: BTreeMap<&'static str, u64>,
    servers: BTreeMap<&'static str, String>,
}

impl Reader for WaitingTasks {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = sink.here();
        if let Some(columns) = Columns::of(line) {
            if self.columns.replace(columns).is_none() {
                self.place = place;
            }
            return Step::Consumed;
        }
        let Some(columns) = self.columns else { return Step::NotMine };
        let Some(row) = columns.row(line) else {
            let first = line.split_whitespace().nth(columns.process);
            return match first.is_some_and(|word| integer(word).is_some()) {
                true => Step::skipped("the row does not match the heading"),
                false if line.trim().is_empty() => Step::Consumed,
                false => Step::NotMine,
            };
        };
        let is_blocked = row.state.is_some_and(|state| state.starts_with('D'));
        self.blocked += u64::from(is_blocked);
        if is_blocked || row.state.is_none() {
            if let Some(function) = waits::wait_of(row.function) {
                *self.waits.entry(function).or_default() += 1;
            }
            if let Some(server) = waits::server_awaited_in(row.function) {
                self.servers.entry(server).or_insert(line.trim().to_string());
            }
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.columns.is_some_and(|columns| columns.state.is_some()) {
            sink.add_fact_at(None, typed::TASKS_BLOCKED, self.blocked, &self.place);
        }
        for (function, tasks) in std::mem::take(&mut self.waits) {
            sink.add_fact_at(None, typed::TASKS_WAIT_IN.of(function), tasks, &self.place);
        }
        for (server, row) in std::mem::take(&mut self.servers) {
            let key = typed::KERNEL_LOG.of(MessageKind::Remote.name());
            sink.add_fact_at(server, key, Message::new("", &row), &self.place);
        }
    }
}
