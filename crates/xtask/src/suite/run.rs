//! Runs test programs, several at a time: those that wait for devices beside those that compute.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use super::Program;

/// Programs at a time that wait for devices most of the time. With more of them a watch finds its
/// own processor taken.
const WAITING: usize = 3;
/// Programs at a time that compute, one for each of the two CPUs that the suite is measured on.
/// They run behind the others (`nice`), which watch devices that are not to be made slow by a
/// neighbour.
const COMPUTING: usize = 2;
/// Tests at a time of a program that waits. libtest takes one for each CPU, which would leave these
/// idle.
const THREADS: &str = "--test-threads=4";

/// Crates whose programs wait for devices.
const DEVICE_CRATES: [&str; 3] = ["live", "rig", "probe"];
/// Other programs that do.
const DEVICE_PROGRAMS: [&str; 9] = [
    "iowhy/live",
    "iowhy/watch",
    "iowhy/record",
    "iowhy/probe",
    "iowhy/top",
    "iowhy/confined",
    "iowhy/probe_ask",
    "iowhy/probe_failures",
    "iowhy/probe_refusals",
];

/// Programs that take longest begin first, so that nothing waits for a long one at the end.
const LONGEST: [&str; 14] = [
    "iowhy/live",
    "iowhy/watch",
    "rig/recorder",
    "live/exactness",
    "rig/scenarios",
    "iowhy/record",
    "iowhy/probe",
    "iowhy/lengths",
    "iowhy/growth",
    "read/samples",
    "fleet/fleet",
    "fleet/store",
    "iowhy/report",
    "iowhy/compat_pylatencymap",
];

/// Whether a program waits for devices most of the time.
fn waits(program: &Program) -> bool {
    DEVICE_CRATES.contains(&program.package.as_str())
        || DEVICE_PROGRAMS.contains(&program.title().as_str())
}

/// Programs that nobody runs yet, in the order in which they begin.
struct Queues {
    waiting: VecDeque<Program>,
    computing: VecDeque<Program>,
}

impl Queues {
    fn of(programs: &[Program]) -> Self {
        let mut ordered = programs.to_vec();
        ordered.sort_by_key(|program| {
            let title = program.title();
            LONGEST.iter().position(|name| *name == title).unwrap_or(LONGEST.len())
        });
        let (waiting, computing): (Vec<_>, Vec<_>) = ordered.into_iter().partition(waits);
        Self { waiting: waiting.into(), computing: computing.into() }
    }

    /// The next for a worker that prefers those that wait, or the others; when its own are through
    /// it helps.
    fn next(&mut self, prefers_waiting: bool) -> Option<Program> {
        if prefers_waiting {
            self.waiting.pop_front().or_else(|| self.computing.pop_front())
        } else {
            self.computing.pop_front().or_else(|| self.waiting.pop_front())
        }
    }
}

/// Runs all of them; each comes back with what it printed, and whether it ended well.
///
/// # Errors
/// If one cannot be started.
pub fn all(programs: &[Program], long: bool) -> io::Result<Vec<(Program, String, bool)>> {
    let queues = Mutex::new(Queues::of(programs));
    let ended = Mutex::new(Vec::new());
    let work = |prefers_waiting: bool| {
        loop {
            let next =
                queues.lock().unwrap_or_else(|broken| broken.into_inner()).next(prefers_waiting);
            let Some(program) = next else { return io::Result::Ok(()) };
            let one = one(program, long)?;
            ended.lock().unwrap_or_else(|broken| broken.into_inner()).push(one);
        }
    };
    let results = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..WAITING + COMPUTING)
            .map(|worker| scope.spawn(move || work(worker < WAITING)))
            .collect();
        let broke = |_| Err(io::Error::other("a thread broke"));
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(broke));
        joined.collect::<io::Result<Vec<()>>>()
    });
    results?;
    Ok(ended.into_inner().unwrap_or_else(|broken| broken.into_inner()))
}

fn one(program: Program, long: bool) -> io::Result<(Program, String, bool)> {
    let started = Instant::now();
    let mut command = if waits(&program) {
        let mut waiting = Command::new(&program.path);
        waiting.arg(THREADS);
        waiting
    } else {
        let mut behind = Command::new("nice");
        behind.arg(&program.path);
        behind
    };
    if !program.tests.is_empty() {
        command.arg("--exact").args(&program.tests);
    }
    command.arg("--show-output").current_dir(&program.folder).stdin(Stdio::null());
    if long {
        command.arg("--include-ignored").env("IOWHY_LONG", "1");
    }
    let output = command.stderr(Stdio::piped()).output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let results: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("test result: ")).collect();
    let result = results.join("; ");
    let counts = result.split("; 0 measured").next().unwrap_or_default();
    let seconds = started.elapsed().as_secs_f64();
    writeln!(io::stdout(), "{seconds:6.1} s  {:<32} {counts}", program.title())?;
    Ok((program, text, output.status.success()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn program(title: &str) -> Program {
        let (package, name) = title.split_once('/').unwrap();
        let (path, folder, tests) = (PathBuf::new(), PathBuf::new(), Vec::new());
        Program { package: package.to_string(), name: name.to_string(), path, folder, tests }
    }

    #[test]
    fn workers_take_their_own_first_and_the_longest_first() {
        let titles = ["read/tables", "rig/demo", "read/samples", "iowhy/live"];
        let mut queues = Queues::of(&titles.map(program));
        let mut next = |prefers_waiting| queues.next(prefers_waiting).map(|one| one.title());
        let order = [next(true), next(false), next(true), next(true), next(true)];
        let wanted = ["iowhy/live", "read/samples", "rig/demo", "read/tables"];
        let wanted = wanted.map(|title| Some(title.to_string()));
        assert_eq!((&order[..4], &order[4]), (&wanted[..], &None));
    }
}
