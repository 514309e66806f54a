//! A day in an hour: healthy and faulty disks in turn, watched by the flight recorder, and what it
//! reports afterwards.
//!
//! Twenty incidents at known times, each a [`WrittenScenario`] with a fault, and a healthy disk
//! under a load before each of them, one disk at a time. The recorder watches the whole machine.
//! A fault counts as found if the disk has an incident during it or just after; a healthy disk is
//! accused if an incident blames it, its path or a limit. The time of notification is that of the
//! first line of the recorder's output that names the disk. The verdict of `iowhy why --at` on the
//! single requests is compared with the expected verdict.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::Value;

use crate::faulty_disk::{Drive, FaultyDisk, RunningDrive, Spec, missing};
use crate::programs::iowhy;
use iowhy_lab::written::{WrittenScenario, named};

use crate::scenarios::ACCUSES;

/// Size of every disk.
const BYTES: u64 = 16 << 30;
/// Between two turns: an incident holds 30 s from before its first alarm and 10 s after its last
/// one.
const QUIET: Duration = Duration::from_secs(42);
/// An incident may begin this long after the fault, seconds: it must be judged first.
const LATE: f64 = 12.0;
/// Minimum number found of twenty.
const BAR: usize = 19;

/// The healthy disk of a turn, and the faulty one after it.
const TURNS: [(&str, &str); 20] = [
    ("retry/near-miss", "retry/7200"),
    ("stall/near-miss", "stall/flash"),
    ("slow/near-miss", "slow/platter"),
    ("cap/near-miss", "cap/iops"),
    ("media/near-miss", "media/eio"),
    ("saturated/near-miss", "stall/platter"),
    ("periodic/near-miss", "periodic/flash"),
    ("recovery/near-miss", "recovery/flash"),
    ("thermal/near-miss", "thermal/flash"),
    ("saturated/platter", "slow/flash"),
    ("retry/near-miss", "retry/5400"),
    ("cap/near-miss", "cap/bytes"),
    ("cliff/near-miss", "cliff/flash"),
    ("shingled/near-miss", "shingled/scattered"),
    ("batch/platter", "retry/added"),
    ("large/platter", "retry/10000"),
    ("stall/near-miss", "recovery/flash"),
    ("slow/near-miss", "stall/platter"),
    ("media/near-miss", "media/eio"),
    ("saturated/near-miss", "retry/15000"),
];

/// How long it takes.
#[derive(Args, Debug)]
pub struct Day {
    /// Minutes of the whole: a healthy and a faulty interval, twenty times
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(40..))]
    minutes: u64,
    /// Only the first N turns
    #[arg(long, default_value_t = TURNS.len())]
    turns: usize,
    /// Seed of everything that is chance
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// The longest pause after which the recorder judges without an incident; its own default is
    /// 60s
    #[arg(long, value_name = "TIME", default_value = "10s")]
    judge: String,
    /// Whose times the recorder takes: exact or kernel
    #[arg(long, default_value = "exact")]
    clock: String,
}

/// A disk that was there.
pub(crate) struct Stretch {
    pub scenario: &'static WrittenScenario,
    pub faulty: bool,
    pub device: String,
    /// Seconds since 1970.
    pub from: f64,
    pub until: f64,
}

/// What is reported about it afterwards.
struct Outcome {
    stretch: Stretch,
    /// Verdicts of incidents that name the disk at that time.
    incidents: Vec<String>,
    accused: bool,
    /// What `why --at` answers, and how sure.
    why: Option<(String, f64)>,
    /// Seconds from its beginning to the first line that names the disk.
    told_s: Option<f64>,
}

/// Lines of the recorder, each with its time in seconds since 1970.
pub(crate) type Lines = Vec<(f64, Value)>;

impl Day {
    /// Runs it and prints the table. Fails if fewer than nineteen in twenty were found, or a
    /// healthy disk was accused.
    ///
    /// # Errors
    /// If a disk cannot be made here, or `iowhy` was not built.
    pub fn run(&self) -> io::Result<ExitCode> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("the day needs {missing}")));
        }
        let turns = self.turns.min(TURNS.len());
        let all = Duration::from_secs(60 * self.minutes) / TURNS.len() as u32;
        let length = (all / 2).saturating_sub(QUIET);
        let store = std::env::temp_dir().join(format!("iowhy-day-{}", std::process::id()));
        let mut recorder = Recorder::start(&store, &self.judge, &self.clock)?;
        let stretches = self.play(&TURNS[..turns], length, &store);
        let ended = recorder.end();
        let outcomes = stretches.and_then(|stretches| outcomes(stretches, &ended?, &store));
        let _ = std::fs::remove_dir_all(&store);
        let _ = std::fs::remove_file(store.with_extension("csv"));
        let outcomes = outcomes?;
        write!(io::stdout(), "{}", table(&outcomes))?;
        let found = outcomes.iter().filter(|one| one.stretch.faulty && one.found()).count();
        let accused = outcomes.iter().any(|one| !one.stretch.faulty && one.accused);
        let good = found * TURNS.len() >= BAR * turns && !accused;
        Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn play(
        &self,
        turns: &[(&str, &str)],
        length: Duration,
        store: &Path,
    ) -> io::Result<Vec<Stretch>> {
        let mut stretches = Vec::new();
        let names = turns.iter().flat_map(|(healthy, faulty)| [(healthy, false), (faulty, true)]);
        for (place, (name, faulty)) in names.enumerate() {
            let scenario = named(name).map_err(io::Error::other)?;
            let seed = self.seed.wrapping_add(1000 * place as u64);
            let (faults, truth) = (scenario.faults.clone(), store.with_extension("csv"));
            let plan = Plan { scenario, faults, faulty, length, seed, truth };
            let (stretch, _) = plan.play(|_| Ok(()))?;
            writeln!(io::stderr(), "rig: {} on {}", scenario.tells(), stretch.device)?;
            stretches.push(stretch);
            thread::sleep(QUIET);
        }
        Ok(stretches)
    }
}

/// A disk to be made, and the load on it.
pub(crate) struct Plan {
    pub scenario: &'static WrittenScenario,
    pub faults: Vec<String>,
    /// Whether it is to be found.
    pub faulty: bool,
    pub length: Duration,
    pub seed: u64,
    /// Where the disk writes what it did.
    pub truth: PathBuf,
}

impl Plan {
    /// Makes the disk, loads it and removes it; what `look` sees of the device before the load and
    /// at its end.
    pub(crate) fn play<T>(
        self,
        look: impl Fn(&str) -> io::Result<T>,
    ) -> io::Result<(Stretch, [T; 2])> {
        let Plan { scenario, faults, faulty, length, seed, truth } = self;
        let model = scenario.model.clone();
        let spec = Spec { model, faults, bytes: BYTES, seed, truth };
        let disk = FaultyDisk::start(&spec)?;
        let device = disk.path().trim_start_matches("/dev/").to_string();
        let (from, before) = (now_s(), look(&device)?);
        let mut loads = Vec::new();
        for (place, load) in scenario.loads.iter().enumerate() {
            let drive = Drive::parse(load).map_err(io::Error::other)?;
            loads.push(drive.start(&disk.path(), BYTES, seed.wrapping_add(place as u64), "day")?);
        }
        thread::sleep(length);
        let after = look(&device)?;
        loads.into_iter().try_for_each(RunningDrive::stop)?;
        disk.end()?;
        Ok((Stretch { scenario, faulty, device, from, until: now_s() }, [before, after]))
    }
}

/// The recorder of the whole machine.
pub(crate) struct Recorder {
    child: Child,
    lines: Option<JoinHandle<Lines>>,
}

impl Recorder {
    /// Starts it, and waits until it has written something.
    pub(crate) fn start(store: &Path, judge: &str, clock: &str) -> io::Result<Recorder> {
        // It ends when this program does, however that is (setpriv(1)).
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM"]).arg(iowhy()?);
        command.args(["watch", "--per-hour", "1000", "--judge", judge, "--clock", clock]);
        command.arg("--store").arg(store);
        command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let lines = child.stdout.take().map(|output| thread::spawn(move || timed(output)));
        let mut recorder = Recorder { child, lines };
        let patience = Instant::now() + Duration::from_secs(30);
        while !records(store) {
            if Instant::now() > patience || recorder.child.try_wait()?.is_some() {
                let _ = recorder.child.kill();
                return Err(io::Error::other("the recorder writes nothing"));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(recorder)
    }

    /// Ends it as a terminal would; its output.
    pub(crate) fn end(&mut self) -> io::Result<Lines> {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )?;
        self.child.wait()?;
        let lines = self.lines.take().map(JoinHandle::join);
        lines.and_then(Result::ok).ok_or_else(|| io::Error::other("the recorder's lines are lost"))
    }
}

fn timed(output: impl io::Read) -> Lines {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    let read = |line: String| Some((now_s(), serde_json::from_str(&line).ok()?));
    lines.filter_map(read).collect()
}

/// Whether the recorder of this store has written something.
pub fn records(store: &Path) -> bool {
    let names = std::fs::read_dir(store.join("segments")).into_iter().flatten().flatten();
    names.filter_map(|name| name.metadata().ok()).any(|about| about.len() > 0)
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// What the store returns for `words`.
pub(crate) fn asked(words: &[&str], store: &Path) -> io::Result<Value> {
    let mut command = Command::new(iowhy()?);
    let output = command.args(words).args(["--json", "--store"]).arg(store).output()?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let message = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("`iowhy {}`: {error}: {message}", words.join(" ")))
    })
}

fn outcomes(stretches: Vec<Stretch>, reported: &Lines, store: &Path) -> io::Result<Vec<Outcome>> {
    let all = asked(&["incidents"], store)?;
    let rows = all["incidents"].as_array().cloned().unwrap_or_default();
    let mut outcomes = Vec::new();
    for stretch in stretches {
        let (incidents, accused) = stretch.incidents(&rows);
        let at = format!("@{:.0}", f64::midpoint(stretch.from, stretch.until));
        // Where nothing was noticed only counts were kept, and the answer may be none.
        let why = asked(&["why", "--at", &at, "--device", &stretch.device], store).ok();
        let why = why.and_then(|report| {
            let first = report["findings"].as_array()?.first()?.clone();
            Some((
                first["verdict"].as_str()?.to_string(),
                first["confidence"].as_f64().unwrap_or(0.0),
            ))
        });
        // A device's name is given again to the next disk.
        let its_time = stretch.from..stretch.until + LATE;
        let first =
            reported.iter().find(|(at, line)| its_time.contains(at) && names(line, &stretch));
        let told_s = first.map(|(at, _)| at - stretch.from);
        outcomes.push(Outcome { stretch, incidents, accused, why, told_s });
    }
    Ok(outcomes)
}

impl Stretch {
    /// The verdicts of its incidents among these, and whether one blames the disk, its path or a
    /// limit.
    pub(crate) fn incidents(&self, rows: &[Value]) -> (Vec<String>, bool) {
        let (mut incidents, mut accused) = (Vec::new(), false);
        for row in rows.iter().filter(|row| touches(row, self)) {
            let findings = row["others"].as_array().into_iter().flatten();
            for finding in findings.chain([row]).filter(|of| is_of(of, self)) {
                let sure = finding["confidence"].as_f64().unwrap_or(0.0);
                let blamed = matches!(finding["blame"].as_str(), Some("disk" | "path" | "limit"));
                accused |= blamed && sure >= ACCUSES;
                incidents.push(finding["verdict"].as_str().unwrap_or("not judged").to_string());
            }
        }
        (incidents, accused)
    }
}

fn is_of(finding: &Value, stretch: &Stretch) -> bool {
    finding["device"] == stretch.device.as_str()
}

/// Whether a line of the recorder names the disk of a period.
fn names(line: &Value, stretch: &Stretch) -> bool {
    let others = line["others"].as_array().into_iter().flatten();
    others.chain([line]).any(|of| is_of(of, stretch))
}

/// Whether an incident and a period overlap.
fn touches(row: &Value, stretch: &Stretch) -> bool {
    let begun = row["began_ns"].as_f64().unwrap_or(0.0) / 1e9;
    let ended = begun + row["length_s"].as_f64().unwrap_or(0.0);
    begun <= stretch.until + LATE && ended >= stretch.from
}

impl Outcome {
    fn found(&self) -> bool {
        !self.incidents.is_empty()
    }

    fn right(&self) -> bool {
        let expected = |(verdict, _): &(String, f64)| self.stretch.scenario.accepts(verdict);
        self.why.as_ref().is_some_and(expected)
    }
}

fn table(outcomes: &[Outcome]) -> String {
    let begun = outcomes.first().map_or(0.0, |one| one.stretch.from);
    let mut text = String::from(
        "| at, min | disk and load | notified after, s | incidents | `why --at` | right |\n\
         | --: | -- | --: | -- | -- | -- |\n",
    );
    for one in outcomes {
        let at = (one.stretch.from - begun) / 60.0;
        let reported = one.told_s.map_or("-".to_string(), |told_s| format!("{told_s:.0}"));
        let incidents = if one.found() { one.incidents.join(", ") } else { "-".to_string() };
        let why = one
            .why
            .as_ref()
            .map_or("-".to_string(), |(verdict, sure)| format!("{verdict} {:.0} %", 100.0 * sure));
        let right = match (one.stretch.faulty, one.accused) {
            (true, _) if !one.found() => "missed",
            (false, true) => "FALSELY ACCUSED",
            _ if one.right() => "yes",
            _ => "no",
        };
        let tells = one.stretch.scenario.tells();
        text += &format!("| {at:.1} | {tells} | {reported} | {incidents} | {why} | {right} |\n");
    }
    let count = |of: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|one| of(one)).count();
    let faulty = count(&|one| one.stretch.faulty);
    let healthy = outcomes.len() - faulty;
    text += &format!(
        "\nOf {faulty} planted incidents {} were found, {} with the expected verdict by `why \
         --at`; of {healthy} healthy stretches {} were accused.\n",
        count(&|one| one.stretch.faulty && one.found()),
        count(&|one| one.stretch.faulty && one.found() && one.right()),
        count(&|one| !one.stretch.faulty && one.accused),
    );
    text += &told_words(outcomes);
    text
}

/// How soon faults were reported; those that were not are the slowest.
fn told_words(outcomes: &[Outcome]) -> String {
    let faulty = outcomes.iter().filter(|one| one.stretch.faulty);
    let mut reported: Vec<f64> = faulty.map(|one| one.told_s.unwrap_or(f64::INFINITY)).collect();
    reported.sort_by(f64::total_cmp);
    let within = |share: f64| {
        let place = (share * reported.len() as f64).ceil() as usize;
        let at = reported.get(place.saturating_sub(1)).filter(|at| at.is_finite());
        at.map_or("not told".to_string(), |at| format!("{at:.0} s"))
    };
    format!(
        "Time from the start of a fault to the line that names the disk: median {}, 95th \
         percentile {}.\n",
        within(0.5),
        within(0.95)
    )
}
