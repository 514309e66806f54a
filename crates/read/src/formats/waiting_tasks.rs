//! Lists of tasks, and the kernel function in which each waits: `ps`, best with `WCHAN`.
//!
//! ## Reads
//! The rows below a heading with `WCHAN`, or with a state (`STAT`, `S`) and the command last. Tasks
//! in uninterruptible sleep (`D`) are counted (`tasks.blocked`), and those whose function shows
//! what they wait for, by function (`tasks.wait_in.*`). Where a function waits for the answer of a
//! server (NFS, SMB, Ceph), that becomes a fact `kernel.log.remote` of it. Without the function the
//! tasks are counted by name (`tasks.blocked_by.*`). Rows of `ps aux | grep D` need no heading.
//!
//! ## How to capture
//! `ps -eo pid,stat,wchan:32,comm`, `ps axl`, `ps aux`, and `top` with that field; typically
//! collected when a machine hangs.
//!
//! ## Versions
//! procps 3 and 4, busybox. Columns are found by the heading, in any order; a list without a state
//! column is read by its functions alone.
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

pub(super) const FORMAT: Format = Format::program::<WaitingTasks>(
    "ps: tasks in uninterruptible sleep, and with WCHAN where they wait",
    Level::E,
    &["WCHAN", "PID", "TID", "LWP", " D ", " D+", " D<", " DL", " DN", " Dl", " Ds"],
    |lines| {
        let [first, rest @ ..] = lines else { return Detect::No };
        // A blank line may follow the heading.
        match (Columns::of(first), rest.iter().find(|line| !line.trim().is_empty())) {
            (None, _) => {
                let row = OF_AUX.row(first).filter(|_| first.contains(" D"));
                row.is_some_and(|row| row.is_blocked()).into()
            }
            (Some(_), None) if rest.len() < 2 => Detect::NeedLine,
            (Some(_), None) => Detect::No,
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
    function: Option<usize>,
    command: Option<usize>,
}

/// `USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND`, whose rows need no heading.
const OF_AUX: Columns =
    Columns { all: 11, process: 1, state: Some(7), function: None, command: Some(10) };

/// What a row says: the state, the function and the name of the program, if they are reported.
struct Row<'r> {
    state: Option<&'r str>,
    function: Option<&'r str>,
    name: Option<&'r str>,
}

impl Row<'_> {
    fn is_blocked(&self) -> bool {
        self.state.is_some_and(|state| state.starts_with('D'))
    }
}

/// A state as ps prints it: a letter, then what qualifies it.
fn is_state(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(|first| "DIKPRSTWXZt".contains(first))
        && letters.all(|more| "<NLsl+".contains(more))
}

impl Columns {
    /// Of a heading. Without the function the command is last, as ps prints it; top's own table has
    /// a state, too (`TIME+`). In the states of BSD (`TT`) all threads of the kernel are blocked.
    fn of(line: &str) -> Option<Columns> {
        let names: Vec<&str> = line.split_whitespace().collect();
        let at = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
        let all = names.len();
        let process = at(&["PID", "TID", "LWP", "SPID"])?;
        let (function, state) = (at(&["WCHAN"]), at(&["STAT", "S"]));
        let command = at(&["COMMAND", "CMD", "COMM"]);
        let is_ps = state.is_some()
            && command.is_some_and(|command| command + 1 == all)
            && at(&["TIME+", "DISK", "TT"]).is_none();
        let columns = Columns { all, process, state, function, command };
        (function.is_some() || is_ps).then_some(columns)
    }

    fn row<'r>(&self, line: &'r str) -> Option<Row<'r>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.len() >= self.all).then_some(())?;
        // A command may hold blanks: what follows it is counted from the end.
        let word = |place: usize| match self.command.is_some_and(|command| command < place) {
            true => words.get(words.len() + place - self.all).copied(),
            false => words.get(place).copied(),
        };
        integer(word(self.process)?)?;
        let state = self.state.map(|place| word(place).unwrap_or_default());
        let is_aux = |place: usize, accepts: fn(&str) -> bool| {
            self.function.is_some() || self.all != OF_AUX.all || word(place).is_some_and(accepts)
        };
        let is_sound = state.is_none_or(is_state)
            && is_aux(2, |word| decimal(word).is_some())
            && is_aux(9, |word| word.contains(':'));
        let name = self.command.and_then(word).map(|name| name.trim_matches(['[', ']']));
        let function = self.function.and_then(word);
        is_sound.then_some(Row { state, function, name })
    }
}

#[derive(Default)]
struct WaitingTasks {
    columns: Option<Columns>,
    /// The place of the heading.
    place: String,
    blocked: u64,
    waits: BTreeMap<&'static str, u64>,
    names: BTreeMap<String, u64>,
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
        if self.columns.is_none() {
            (self.columns, self.place) = (Some(OF_AUX), place);
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
        let is_blocked = row.is_blocked();
        self.blocked += u64::from(is_blocked);
        match row.function {
            Some(function) if is_blocked || row.state.is_none() => {
                if let Some(function) = waits::wait_of(function) {
                    *self.waits.entry(function).or_default() += 1;
                }
                if let Some(server) = waits::server_awaited_in(function) {
                    self.servers.entry(server).or_insert(line.trim().to_string());
                }
            }
            None if is_blocked => {
                let name = row.name.unwrap_or_default().to_string();
                *self.names.entry(name).or_default() += 1;
            }
            _ => {}
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
        for (name, tasks) in std::mem::take(&mut self.names) {
            sink.add_fact_at(None, typed::TASKS_BLOCKED_BY.member(&name), tasks, &self.place);
        }
        for (server, row) in std::mem::take(&mut self.servers) {
            let key = typed::KERNEL_LOG.of(MessageKind::Remote.name());
            sink.add_fact_at(server, key, Message::new("", &row), &self.place);
        }
    }
}
