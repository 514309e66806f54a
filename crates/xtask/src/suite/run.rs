//! Runs test programs, several at a time.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use super::Program;

/// Programs at a time. Most of those that run long wait for devices; two CPUs have room for four.
const AT_A_TIME: usize = 4;
/// Programs that take longest begin first, so that nothing waits for a long one at the end.
const LONGEST: [&str; 10] = [
    "iowhy/live",
    "iowhy/record",
    "rig/recorder",
    "rig/demo",
    "iowhy/watch",
    "live/exactness",
    "rig/scenarios",
    "iowhy/probe",
    "read/samples",
    "iowhy/growth",
];

/// Runs all of them; each comes back with what it printed, and whether it ended well.
///
/// # Errors
/// If one cannot be started.
pub fn all(programs: &[Program], long: bool) -> io::Result<Vec<(Program, String, bool)>> {
    let mut waiting: Vec<&Program> = programs.iter().collect();
    waiting.sort_by_key(|program| {
        let title = program.title();
        LONGEST.iter().position(|name| *name == title).unwrap_or(LONGEST.len())
    });
    let waiting = Mutex::new(VecDeque::from(waiting));
    let ended = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = waiting.lock().unwrap_or_else(|broken| broken.into_inner()).pop_front();
            let Some(program) = next else { return io::Result::Ok(()) };
            let one = one(program, long)?;
            ended.lock().unwrap_or_else(|broken| broken.into_inner()).push(one);
        }
    };
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let broke = |_| Err(io::Error::other("a thread broke"));
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(broke));
        joined.collect::<io::Result<Vec<()>>>()
    });
    results?;
    Ok(ended.into_inner().unwrap_or_else(|broken| broken.into_inner()))
}

fn one(program: &Program, long: bool) -> io::Result<(Program, String, bool)> {
    let started = Instant::now();
    let mut command = Command::new(&program.path);
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
    let counts = result.split("; finished").next().unwrap_or_default();
    let counts = counts.replace(" 0 measured;", "").replace("; 0 filtered out", "");
    let seconds = started.elapsed().as_secs_f64();
    writeln!(io::stdout(), "{seconds:6.1} s  {:<32} {counts}", program.title())?;
    Ok((program.clone(), text, output.status.success()))
}
