//! One run: disks, loads, three ways to a verdict at the same time.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;

use super::{Answer, Outcome, RunVerdicts};
use iowhy_lab::written::WrittenScenario;

use crate::faulty_disk::{Drive, FaultyDisk, RunningDrive, Spec, Truth};
use crate::programs::iowhy;

/// Size of every disk.
const BYTES: u64 = 16 << 30;
/// How much longer than it watches a verdict may take; then it is ended and counts as none.
const GRACE: Duration = Duration::from_secs(30);

/// The disks of a run, the first of them the one it is about.
struct Beds {
    disks: Vec<FaultyDisk>,
    folder: PathBuf,
}

/// Runs a scenario once. With `keep`, its logs and captures stay there.
///
/// # Errors
/// If a disk cannot be made or a program cannot be started.
pub(super) fn run(
    scenario: &'static WrittenScenario,
    seed: u64,
    keep: Option<&Path>,
) -> io::Result<Outcome> {
    let name = format!("{}-{seed}", scenario.name.replace('/', "-"));
    let own = format!("iowhy-scenarios-{}", std::process::id());
    let folder = keep.map_or_else(|| std::env::temp_dir().join(own), Path::to_path_buf).join(name);
    std::fs::create_dir_all(&folder)?;
    let beds = Beds::make(scenario, seed, folder)?;
    let loads = beds.loads(scenario, seed)?;
    thread::sleep(Duration::from_secs(scenario.before));
    let begun = monotonic();
    let reports = beds.judge(scenario);
    let span = begun..monotonic();
    loads.into_iter().try_for_each(RunningDrive::stop)?;
    let (devices, folder) = (beds.devices(), beds.folder.clone());
    let truths = beds.end()?;
    if keep.is_none() {
        std::fs::remove_dir_all(&folder)?;
        // Fails as long as others of this process are in there.
        let _ = folder.parent().map(std::fs::remove_dir);
    }
    let answer = |report: Option<Value>| report.and_then(|report| Answer::read(&report, scenario));
    let judged = reports?.map(answer);
    Ok(Outcome::new(scenario, seed, &devices, RunVerdicts { answers: judged }, &truths, &span))
}

impl Beds {
    fn make(scenario: &WrittenScenario, seed: u64, folder: PathBuf) -> io::Result<Beds> {
        let (peers, faulty) = scenario.beside;
        let mut disks = Vec::new();
        for place in 0..=u64::from(peers) {
            let faults = if place == 0 || faulty { scenario.faults.as_slice() } else { &[] };
            disks.push(FaultyDisk::start(&Spec {
                model: scenario.model.clone(),
                faults: faults.iter().map(ToString::to_string).collect(),
                bytes: BYTES,
                seed: seed.wrapping_add(place),
                truth: folder.join(format!("truth-{place}.csv")),
            })?);
        }
        Ok(Beds { disks, folder })
    }

    fn devices(&self) -> Vec<String> {
        self.disks.iter().map(|disk| disk.path().trim_start_matches("/dev/").to_string()).collect()
    }

    fn loads(&self, scenario: &WrittenScenario, seed: u64) -> io::Result<Vec<RunningDrive>> {
        let mut driven = Vec::new();
        for (place, disk) in self.disks.iter().enumerate() {
            for (one, load) in scenario.loads.iter().enumerate() {
                let drive = Drive::parse(load).map_err(io::Error::other)?;
                let seed = seed.wrapping_add(100 * (1 + place as u64) + one as u64);
                driven.push(drive.start(&disk.path(), BYTES, seed, "scenario")?);
            }
        }
        Ok(driven)
    }

    /// The result of each path, in the order of [`Route`](super::Route).
    fn judge(&self, scenario: &WrittenScenario) -> io::Result<[Option<Value>; 3]> {
        let until = Instant::now() + Duration::from_secs(scenario.seconds) + GRACE;
        let capture = self.folder.join("capture.json");
        let watch = |arguments: &[&str]| -> io::Result<Command> {
            let mut command = self.iowhy(arguments)?;
            command.args(["--for", &format!("{}s", scenario.seconds)]);
            for device in self.devices() {
                command.args(["--device", &device]);
            }
            Ok(command)
        };
        let live = watch(&["why", "--json"])?.stdout(Stdio::piped()).spawn()?;
        let mut snoop = watch(&["snoop"])?.stdout(Stdio::piped()).spawn()?;
        let piped = snoop.stdout.take().map_or(Stdio::null(), Stdio::from);
        let mut judge = self.iowhy(&["why", "--json", "-"])?;
        let pipe = judge.stdin(piped).stdout(Stdio::piped()).spawn()?;
        let mut record = watch(&["snoop", "--json"])?.stdout(File::create(&capture)?).spawn()?;
        let live = ended(live, until)?;
        let pipe = ended(pipe, until)?;
        for child in [&mut snoop, &mut record] {
            // Both have ended by themselves unless something is wrong.
            patience(child, until)?;
        }
        let mut judge = self.iowhy(&["why", "--json"])?;
        let captured = judge.arg(&capture).stdout(Stdio::piped()).spawn()?;
        Ok([live, pipe, ended(captured, until + GRACE)?])
    }

    /// `iowhy`, ended with the disk if this process dies.
    fn iowhy(&self, arguments: &[&str]) -> io::Result<Command> {
        let first =
            self.disks.first().ok_or_else(|| io::Error::other("a scenario without a disk"))?;
        let mut command = first.command(&iowhy()?.to_string_lossy());
        command.args(arguments).stdin(Stdio::null());
        let errors = File::options().create(true).append(true).open(self.folder.join("said.txt"));
        command.stderr(errors?);
        Ok(command)
    }

    fn end(self) -> io::Result<Vec<Truth>> {
        self.disks.into_iter().map(FaultyDisk::end).collect()
    }
}

/// Waits for a program and reads its report; `None` if it printed none.
fn ended(mut child: Child, until: Instant) -> io::Result<Option<Value>> {
    let output = child.stdout.take();
    // Read while it runs, or a long report would fill the pipe and wait for ever.
    let reading = thread::spawn(move || {
        output.map(io::read_to_string).and_then(Result::ok).unwrap_or_default()
    });
    patience(&mut child, until)?;
    let text = reading.join().map_err(|_| io::Error::other("a report could not be read"))?;
    Ok(serde_json::from_str(&text).ok())
}

fn patience(child: &mut Child, until: Instant) -> io::Result<()> {
    while child.try_wait()?.is_none() {
        if Instant::now() > until {
            writeln!(io::stderr(), "rig: a program did not exit and was killed")?;
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Nanoseconds of the clock that the logs use.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
