//! Runs test programs, several at a time: those that wait for devices beside those that compute.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use super::{Program, TestCount, build};

/// Programs at a time that load or watch devices. With more of them a watch gets no CPU.
const WATCHING: usize = 3;
/// Programs at a time that sleep: what they start is paced, or ends after some seconds.
const SLEEPING: usize = 2;
/// Programs at a time that compute, one for each of the two CPUs that the suite is measured on.
/// They run with lower priority (`nice`), because the others watch devices and must not be slowed
/// down.
const COMPUTING: usize = 2;
/// Tests at a time of a program that waits. libtest takes one for each CPU, which would leave these
/// idle.
const THREADS: &str = "--test-threads=4";

/// Crates whose programs load or watch devices.
const DEVICE_CRATES: [&str; 3] = ["live", "rig", "probe"];
/// Other programs that do.
const DEVICE_PROGRAMS: [&str; 5] =
    ["iowhy/live", "iowhy/watch", "iowhy/record", "iowhy/confined", "iowhy/top"];
/// Programs that sleep most of the time.
const SLEEPERS: [&str; 10] = [
    "iowhy/probe",
    "iowhy/probe_ask",
    "iowhy/probe_failures",
    "iowhy/probe_refusals",
    "iowhy/probe_replay",
    "iowhy/schemas",
    "iowhy/store_faults",
    "iowhy/waits",
    "rig/recorder",
    "store/store",
];
/// The longest, for a suite that has not run with this build folder yet, the longest first.
const LONGEST: [&str; 12] = [
    "rig/recorder",
    "iowhy/store_faults",
    "iowhy/live",
    "iowhy/watch",
    "live/exactness",
    "read/samples",
    "lab/mutations",
    "iowhy/growth",
    "lab/rich_and_poor",
    "iowhy/attack",
    "iowhy/lengths",
    "fleet/fleet",
];

/// What a program mostly does.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    /// Loads or watches devices.
    Watches,
    /// Sleeps.
    Sleeps,
    /// Computes.
    Computes,
}

impl Kind {
    fn of(program: &Program) -> Kind {
        let title = program.title();
        if SLEEPERS.contains(&title.as_str()) {
            Kind::Sleeps
        } else if DEVICE_CRATES.contains(&program.package.as_str())
            || DEVICE_PROGRAMS.contains(&title.as_str())
        {
            Kind::Watches
        } else {
            Kind::Computes
        }
    }
}

/// Programs not started yet, in order.
struct Queue(Vec<(Kind, Program)>);

impl Queue {
    /// What took longest begins first, so that nothing waits for a long one at the end.
    fn of(programs: &[Program], took: &Took) -> Self {
        let mut ordered = programs.to_vec();
        ordered.sort_by(|a, b| took.of(b).total_cmp(&took.of(a)));
        Self(ordered.into_iter().map(|program| (Kind::of(&program), program)).collect())
    }

    /// The next for a worker that prefers a kind. When there is none of it, it helps the others,
    /// but no more programs watch devices at a time than may.
    fn next(&mut self, preferred: Kind) -> Option<Program> {
        let of = |wanted: &dyn Fn(Kind) -> bool| self.0.iter().position(|(kind, _)| wanted(*kind));
        let place = of(&|kind| kind == preferred).or_else(|| of(&|kind| kind != Kind::Watches))?;
        Some(self.0.remove(place).1)
    }
}

/// Seconds that programs took when they ran last, in a file beside what was built.
#[derive(Default)]
struct Took(BTreeMap<String, f64>);

impl Took {
    fn file() -> PathBuf {
        build::objects().join("tests-took")
    }

    /// Of a line for each program: its seconds and its title.
    fn read(text: &str) -> Took {
        let lines = text.lines().filter_map(|line| line.split_once(' '));
        Took(lines.filter_map(|(s, title)| Some((title.to_string(), s.parse().ok()?))).collect())
    }

    fn text(&self) -> String {
        self.0.iter().map(|(title, seconds)| format!("{seconds:.1} {title}\n")).collect()
    }

    /// Of one that never ran: longer than all others if it is known to be long.
    fn of(&self, program: &Program) -> f64 {
        let title = program.title();
        let known = LONGEST.iter().rev().position(|name| *name == title);
        let guessed = known.map_or(0.0, |place| 1000.0 + place as f64);
        self.0.get(&title).copied().unwrap_or(guessed)
    }
}

/// What a program printed, and whether it succeeded.
type Printed = (Program, String, bool);

/// Runs all of them, and what computes `besides`; each returns its output, and whether it
/// succeeded. With `again`, a program that watches or waits and fails beside the others runs once
/// more, alone; if it passes then, its first failure is printed.
///
/// # Errors
/// If one cannot be started.
pub(super) fn all<T: Send>(
    programs: &[Program],
    long: bool,
    again: bool,
    besides: impl FnOnce() -> T + Send,
) -> io::Result<(Vec<Printed>, T)> {
    let mut took = Took::read(&fs::read_to_string(Took::file()).unwrap_or_default());
    let queue = Mutex::new(Queue::of(programs, &took));
    let ended = Mutex::new(Vec::new());
    let place = Own::folder(std::env::temp_dir().join(format!("iowhy-test-{}", process::id())))?;
    let work = |preferred: Kind| {
        loop {
            let next = queue.lock().unwrap_or_else(|broken| broken.into_inner()).next(preferred);
            let Some(program) = next else { return io::Result::Ok(()) };
            let one = one(program, &place.0, long)?;
            ended.lock().unwrap_or_else(|broken| broken.into_inner()).push(one);
        }
    };
    let workers =
        [(Kind::Watches, WATCHING), (Kind::Sleeps, SLEEPING), (Kind::Computes, COMPUTING - 1)];
    let besides = std::thread::scope(|scope| {
        let work = &work;
        // It takes the turn of one that computes, until it is done.
        let first = scope.spawn(move || {
            let besides = besides();
            work(Kind::Computes).map(|()| besides)
        });
        let kinds = workers.into_iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, count));
        let threads: Vec<_> = kinds.map(|kind| scope.spawn(move || work(kind))).collect();
        let broke = || io::Error::other("a thread broke");
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or(Err(broke())));
        joined.collect::<io::Result<Vec<()>>>()?;
        first.join().unwrap_or(Err(broke()))
    })?;
    let mut ended = ended.into_inner().unwrap_or_else(|broken| broken.into_inner());
    for first in &mut ended {
        if again && !first.good && Kind::of(&first.program) != Kind::Computes {
            let second = one(first.program.clone(), &place.0, long)?;
            first.is_followed_by(second)?;
        }
    }
    if !long {
        took.0.extend(ended.iter().map(|one| (one.program.title(), one.seconds)));
        fs::write(Took::file(), took.text())?;
    }
    let printed = ended.into_iter().map(|one| (one.program, one.text, one.good));
    Ok((printed.collect(), besides))
}

/// A program that has run.
struct Ended {
    program: Program,
    text: String,
    good: bool,
    seconds: f64,
}

impl Ended {
    /// What counts is the second run; the first is told if the second passed.
    fn is_followed_by(&mut self, again: Ended) -> io::Result<()> {
        if again.good {
            let mut failure = TestCount::of(&self.text).failures;
            if failure.is_empty() {
                failure.clone_from(&self.text);
            }
            let title = self.program.title();
            let failure: String = failure.lines().map(|line| format!("    {line}\n")).collect();
            write!(io::stdout(), "---- {title} passed alone, after it had failed:\n{failure}")?;
        }
        *self = again;
        Ok(())
    }
}

/// Runs a program under `bash`, which shows the CPU time that it took with all it started: seconds
/// by the clock depend on the neighbours.
const TIMED: &str = "TIMEFORMAT='cpu %U %S'; time \"$0\" \"$@\"";

fn one(program: Program, place: &Path, long: bool) -> io::Result<Ended> {
    let started = Instant::now();
    let own = Own::folder(place.join(program.title().replace('/', "-")))?;
    let mut command = Command::new("nice");
    let computes = Kind::of(&program) == Kind::Computes;
    let step = if computes { "10" } else { "0" };
    command.args(["-n", step, "bash", "-c", TIMED]).arg(&program.path);
    if !computes {
        command.arg(THREADS);
    }
    if !program.tests.is_empty() {
        command.arg("--exact").args(&program.tests);
    }
    command.arg("--show-output").current_dir(&program.folder).stdin(Stdio::null());
    command.env("TMPDIR", &own.0).env("IOWHY_EXAMINED", place.join("examined"));
    if long {
        command.arg("--include-ignored").env("IOWHY_LONG", "1");
    }
    let output = command.output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    let (said, cpu) = said.rsplit_once("cpu ").unwrap_or((&said, ""));
    text.push_str(said);
    let cpu: f64 = cpu.split_whitespace().filter_map(|part| part.parse::<f64>().ok()).sum();
    let results: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("test result: ")).collect();
    let result = results.join("; ");
    let counts = result.split("; 0 measured").next().unwrap_or_default();
    let seconds = started.elapsed().as_secs_f64();
    let title = program.title();
    writeln!(io::stdout(), "{seconds:6.1} s, CPU {cpu:6.1} s  {title:<28} {counts}")?;
    let left = own.left()?;
    if !left.is_empty() {
        let _ = writeln!(text, "left behind in its folder: {}", left.join(", "));
    }
    let good = output.status.success() && left.is_empty();
    Ok(Ended { program, text, good, seconds })
}

/// A folder in which a program makes its own; gone with all that is in it.
struct Own(PathBuf);

impl Own {
    /// As open as /tmp: a program may start another as nobody.
    fn folder(place: PathBuf) -> io::Result<Own> {
        fs::create_dir_all(&place)?;
        fs::set_permissions(&place, fs::Permissions::from_mode(0o1777))?;
        Ok(Own(place))
    }

    /// What the program has not removed.
    fn left(&self) -> io::Result<Vec<String>> {
        let names =
            fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name().display().to_string()));
        names.collect()
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(title: &str) -> Program {
        let (package, name) = title.split_once('/').unwrap();
        let (path, folder, tests) = (PathBuf::new(), PathBuf::new(), Vec::new());
        Program { package: package.to_string(), name: name.to_string(), path, folder, tests }
    }

    #[test]
    fn workers_take_their_own_first_and_the_longest_first() {
        let titles = ["read/tables", "rig/demo", "read/samples", "iowhy/live", "iowhy/waits"];
        let took = Took::read("3.0 rig/demo\n9.5 iowhy/live\n1.0 read/tables\n");
        let mut queue = Queue::of(&titles.map(program), &took);
        let kinds = [Kind::Watches, Kind::Computes, Kind::Watches, Kind::Watches, Kind::Sleeps];
        let order = kinds.map(|kind| queue.next(kind).map(|one| one.title()));
        let wanted = ["iowhy/live", "read/samples", "rig/demo", "read/tables", "iowhy/waits"];
        assert_eq!(order, wanted.map(|title| Some(title.to_string())));
        let mut queue = Queue::of(&["iowhy/live"].map(program), &took);
        assert!(queue.next(Kind::Computes).is_none() && queue.next(Kind::Watches).is_some());
    }

    #[test]
    fn seconds_are_read_as_they_were_written() {
        let text = "12.5 iowhy/live\n0.1 read/tables\n";
        assert_eq!(Took::read(text).text(), text);
        assert_eq!(Took::read("no seconds\n").text(), "");
    }

    /// A program in shell that passes one test, and more that it does.
    fn passes_one(place: &Path, name: &str, more: &str) -> Program {
        let path = place.join(name);
        let text = format!("#!/bin/sh\necho 'test result: ok. 1 passed; 0 failed'\n{more}\n");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Program { path, folder: place.to_path_buf(), ..program(&format!("x/{name}")) }
    }

    #[test]
    fn a_program_has_a_folder_that_goes_and_fails_if_it_leaves_something_there() {
        let own = Own::folder(std::env::temp_dir().join(format!("iowhy-own-{}", process::id())));
        let own = own.unwrap();
        let run = |name: &str, more: &str| {
            one(passes_one(&own.0, name, more), &own.0.join("each"), false).unwrap()
        };
        let tidy =
            run("tidy", "echo \"$TMPDIR\"; touch \"$TMPDIR/a\"; rm \"$TMPDIR/a\"; echo hm >&2");
        assert!(tidy.good && tidy.text.ends_with("each/x-tidy\nhm\n"), "{}", tidy.text);
        let untidy = run("untidy", "touch \"$TMPDIR/forgotten\"");
        assert!(
            !untidy.good && untidy.text.contains("in its folder: forgotten"),
            "{}",
            untidy.text
        );
        assert!(!run("failing", "exit 101").good);
        // What fails once and passes then has passed; what fails twice has failed.
        let once = own.0.join("once");
        let more = format!("[ -e {0} ] && exit 0; touch {0}; exit 101", once.display());
        let runs = |more: &str| {
            let mut first = run("unsteady", more);
            assert!(!first.good);
            first.is_followed_by(run("unsteady", more)).unwrap();
            first.good
        };
        assert!(runs(&more) && !runs("exit 101"));
        assert_eq!(fs::read_dir(own.0.join("each")).unwrap().count(), 0);
        let place = own.0.clone();
        drop(own);
        assert!(!place.exists());
    }
}
