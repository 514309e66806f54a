//! The tracer and the judge on other kernels: Debian's, in a small machine of virtual time.
//!
//! A kernel package is fetched and unpacked, never installed; an initramfs is made of its modules,
//! busybox and the programs of this workspace; qemu boots it in software. Inside, `rig guest` runs
//! the doctor, compares the tracer with /proc/diskstats, and has disks judged: faulty ones, healthy
//! ones, and fast ones below a delay in another layer.

mod archive;
mod guest;
mod image;
mod machine;
mod mirrors;
mod programs;
mod table;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clap::Args;

use archive::Archive;
pub use guest::guest;
pub use guest::{Count, Device, Load, count};
use machine::Cases;
use table::{Results, tables};

use crate::faulty_disk::{FaultyDisk, Spec};
use crate::pictures::terminal;

/// Columns of the screen that a case shows.
pub const SCREEN: u16 = 100;

/// Kernels by the beginning of their version; `newest` is the newest there is.
pub const PATTERNS: [&str; 4] = ["5.10", "6.1", "6.12", "newest"];

/// Which machines.
#[derive(Args, Debug)]
pub struct Kernels {
    /// How a kernel's version begins; `newest` for the newest of all
    #[arg(value_name = "PATTERN", default_values_t = PATTERNS.map(str::to_string))]
    patterns: Vec<String>,
    /// How many seconds a machine may run
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    patience: u64,
    /// Only what takes little time
    #[arg(long)]
    fast: bool,
    /// Real SCSI, NVMe and virtio drivers instead, over three dusty disks of this machine, in real
    /// time
    #[arg(long, conflicts_with = "fast")]
    drives: bool,
    /// One case alone, by its name in the results
    #[arg(long, value_name = "CASE", conflicts_with_all = ["fast", "drives"])]
    only: Option<String>,
    /// Keep what each machine found, as JSON lines in files named after the kernels
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Draw the first screen that a case shows (`--only 'seven names'`) as this SVG file
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

impl Kernels {
    /// Boots the newest kernel of each pattern, prints the results, and fails if any is wrong.
    /// Unavailable kernels are skipped, with a message.
    ///
    /// # Errors
    /// If not one kernel could be booted.
    pub fn run(&self) -> io::Result<ExitCode> {
        let patience = Duration::from_secs(self.patience);
        let all = if self.drives {
            let disks = Dusty::make()?;
            let all = boot_all(&self.patterns, Cases::Drives(&disks.paths), patience);
            disks.end()?;
            all?
        } else {
            let cases = match &self.only {
                Some(name) => Cases::Only(name),
                None if self.fast => Cases::Fast,
                None => Cases::All,
            };
            boot_all(&self.patterns, cases, patience)?
        };
        write!(io::stdout(), "{}", tables(&all))?;
        if let Some(folder) = &self.keep {
            std::fs::create_dir_all(folder)?;
            for results in &all {
                std::fs::write(folder.join(format!("{}.jsonl", results.kernel)), results.json())?;
            }
        }
        if let Some(file) = &self.picture {
            let screens = all.iter().flat_map(|results| &results.lines);
            let screen = screens.filter_map(|line| line["screen"].as_str()).next();
            let screen = screen.ok_or_else(|| io::Error::other("no case showed a screen"))?;
            let size = (SCREEN, screen.lines().count() as u16);
            std::fs::write(file, terminal::svg(screen, size))?;
        }
        let right = all.iter().all(Results::right);
        Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Three dusty disks for a machine with real drivers.
struct Dusty {
    paths: [String; 3],
    disks: Vec<FaultyDisk>,
}

impl Dusty {
    fn make() -> io::Result<Dusty> {
        let mut disks = Vec::new();
        for seed in 0..3 {
            disks.push(FaultyDisk::start(&Spec {
                model: "rotational".to_string(),
                faults: vec!["retry=0.35".to_string()],
                bytes: 8 << 30,
                seed,
                truth: "/dev/null".into(),
            })?);
        }
        let path = |place: usize| disks.get(place).map(FaultyDisk::path).unwrap_or_default();
        Ok(Dusty { paths: [path(0), path(1), path(2)], disks })
    }

    fn end(self) -> io::Result<()> {
        self.disks.into_iter().try_for_each(|disk| disk.end().map(drop))
    }
}

fn boot_all(patterns: &[String], cases: Cases<'_>, patience: Duration) -> io::Result<Vec<Results>> {
    let cache = cache()?;
    programs::install()?;
    let mut skipped = Vec::new();
    let archive = Archive::open(&cache, &mut skipped)?;
    let mut stderr = io::stderr().lock();
    for what in skipped {
        writeln!(stderr, "skipped: {what}")?;
    }
    let busybox = archive.unpack("busybox-static")?;
    // In /bin until Debian 12, in /usr/bin since.
    let places = ["usr/bin/busybox", "bin/busybox"].map(|place| busybox.join(place));
    let busybox = places.iter().find(|place| place.exists());
    let busybox = busybox.ok_or_else(|| io::Error::other("no program in `busybox-static`"))?;
    writeln!(stderr, "rig: building `iowhy` and `rig` without libraries")?;
    let built = programs::build(&cache)?;
    let known = archive.kernels()?;
    let mut packages = Vec::new();
    for pattern in patterns {
        let Some(package) = archive::newest(&known, pattern) else {
            writeln!(stderr, "skipped: no kernel package for `{pattern}`")?;
            continue;
        };
        match archive.unpack(package) {
            Ok(root) => packages.push((package.as_str(), root)),
            Err(error) => writeln!(stderr, "skipped: `{package}`: {error}")?,
        }
    }
    drop(stderr);
    let boot = |package: &str, root: &Path| boot(package, root, busybox, &built, cases, patience);
    let all = each(&packages, machines(cases), &boot)?;
    if all.is_empty() {
        return Err(io::Error::other("not one kernel could be booted"));
    }
    Ok(all)
}

/// How many machines at once: each has one processor, and time in it is its own. In real time they
/// would be in each other's way.
fn machines(cases: Cases<'_>) -> usize {
    match cases {
        Cases::Drives(_) => 1,
        Cases::All | Cases::Fast | Cases::Only(_) => {
            std::thread::available_parallelism().map_or(1, usize::from)
        }
    }
}

/// The result of each kernel, in their order, several at once; kernels that could not be booted are
/// reported.
fn each(
    packages: &[(&str, PathBuf)],
    at_once: usize,
    boot: &(dyn Fn(&str, &Path) -> io::Result<Results> + Sync),
) -> io::Result<Vec<Results>> {
    let next = AtomicUsize::new(0);
    let take_turns = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some((package, root)) = packages.get(place) else { break };
            let mut stderr = io::stderr();
            match boot(package, root) {
                Ok(results) => {
                    tell(&mut stderr, &results)?;
                    done.push((place, results));
                }
                Err(error) => writeln!(stderr, "skipped: `{package}`: {error}")?,
            }
        }
        io::Result::Ok(done)
    };
    let all = std::thread::scope(|scope| {
        let machines: Vec<_> = (0..at_once).map(|_| scope.spawn(take_turns)).collect();
        let ended = machines.into_iter().map(|machine| machine.join());
        let ended = ended.map(|done| done.unwrap_or_else(|_| Err(io::Error::other("a bug"))));
        ended.collect::<io::Result<Vec<_>>>()
    })?;
    let mut all: Vec<(usize, Results)> = all.into_iter().flatten().collect();
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, results)| results).collect())
}

fn boot(
    package: &str,
    root: &Path,
    busybox: &Path,
    built: &Path,
    cases: Cases<'_>,
    patience: Duration,
) -> io::Result<Results> {
    let image = image::make(root, busybox, built)?;
    let printed = machine::boot(&image, cases, patience);
    std::fs::remove_file(&image.initramfs)?;
    let printed = printed?;
    let results = Results::of(package, &printed);
    if !results.done {
        let last = printed.lines.len().saturating_sub(20);
        let mut stderr = io::stderr();
        writeln!(stderr, "rig: the machine did not finish; its last lines:")?;
        for line in &printed.lines[last..] {
            writeln!(stderr, "    {line}")?;
        }
    }
    Ok(results)
}

fn tell(out: &mut impl Write, results: &Results) -> io::Result<()> {
    for wrong in results.wrong() {
        writeln!(out, "wrong: {}: {wrong}", results.kernel)?;
    }
    let (lines, wrong) = (results.lines.len(), results.wrong().len());
    let end = if results.done { "" } else { ", cut off" };
    let kernel = &results.kernel;
    writeln!(out, "rig: {kernel}: {lines} results, {wrong} wrong{end}, {:.0} s", results.seconds)
}

/// Packages and builds, outside the clone.
fn cache() -> io::Result<PathBuf> {
    let home = std::env::home_dir().ok_or_else(|| io::Error::other("no home folder"))?;
    Ok(home.join(".cache/iowhy/kernels"))
}
