//! `lab`: makes disks with a known disease. Never shipped.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use clap::{Args, Parser, Subcommand};
use iowhy_lab::claims::Claims;
use iowhy_lab::corpus::corpus;
use iowhy_lab::demo::Demo;
use iowhy_lab::disk;
use iowhy_lab::gallery::Gallery;
use iowhy_lab::kernels::{self, Kernels};
use iowhy_lab::render;
use iowhy_lab::score::{Case, Fitted, Score, calibration, published_tables, sweep};
use iowhy_lab::sickdisk::{SickDisk, Spec, missing, serve};
use iowhy_lab::simulate::{Load, Seen, biosnoop};
use iowhy_lab::wards::Wards;
use iowhy_lab::weak::{self, blame};
use rustix::fs::{MemfdFlags, memfd_create};

/// The laboratory of iowhy.
#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Holds the tracer against disks of known delay, and prints the table
    Claims(Claims),
    /// Shows what iowhy does, on disks of known illness, within one minute
    Demo(Demo),
    /// Makes a block device with a known disease, runs a command on it, and takes it away
    Sickdisk(Sickdisk),
    /// Prints what biosnoop would have seen of a load on a disk, without a device and at once
    Simulate(Simulate),
    /// Judges worlds of known illness at every level of input and prints what was right
    Score(Scored),
    /// Judges published captures of known cause, case by case
    Published(Collections),
    /// Judges every file below a folder: recognised, lost, accused, slowest
    Corpus(Folder),
    /// Boots Debian's kernels in small machines of virtual time and tries tracer and judge in them
    Kernels(Kernels),
    /// Draws each disease and writes the page that shows them
    Gallery(Gallery),
    /// Judges live disks of known illness three ways and holds the verdicts against their logs
    Wards(Wards),
    /// Varies captures that earlier versions judged wrongly, and prints how often the answer is right
    Weak(Weak),
    /// What runs inside such a machine
    #[command(hide = true)]
    Guest,
    /// Serves a disk to the process that started this one
    #[command(hide = true)]
    Serve(Disk),
}

#[derive(Args)]
struct Disk {
    /// `rotational`, `ssd` or `network`, with parameters: `rotational:rpm=5400,cache=8M`
    #[arg(long, default_value = "rotational")]
    model: String,
    /// `retry=0.35`, `retry=0.9@1G+64M`, `slow=3`, `stall=2s/300ms`, `eio=4M+8K/7s`; repeatable
    #[arg(long = "disease", value_name = "DISEASE")]
    diseases: Vec<String>,
    /// Size of the disk; costs only the bytes that are written
    #[arg(long, default_value = "2G", value_parser = bytes)]
    size: u64,
    /// Seed of everything that is chance
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Where the truth is kept as CSV, request by request
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

#[derive(Args)]
struct Sickdisk {
    #[command(flatten)]
    disk: Disk,
    /// Healthy disks of the same model beside it, `{peers}` in the command
    #[arg(long, default_value_t = 0)]
    peers: u16,
    /// Run by `sh -c`, with the device for `{dev}`; without it the disk stays until input ends
    #[arg(long, value_name = "COMMAND")]
    run: Option<String>,
}

#[derive(Args)]
struct Simulate {
    #[command(flatten)]
    disk: Disk,
    /// `read:128K`, `write:4K,random,depth=4,count=500,think=50us`, `read:4K,random,rate=200`
    #[arg(long, default_value = "read:128K", value_parser = Load::parse)]
    load: Load,
    /// Healthy disks of the same model, each under a load of the same kind
    #[arg(long, default_value_t = 0)]
    peers: u8,
}

#[derive(Args)]
struct Collections {
    /// Collections in Markdown, taken as pasted beside the captures of the tree
    collections: Vec<PathBuf>,
    /// Where the tables are kept, if not printed only
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct Folder {
    /// The folder
    folder: PathBuf,
    /// Lists every recognised file, not only those with an accusation
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
struct Scored {
    /// Worlds per verdict
    #[arg(long, default_value_t = 20)]
    cases: usize,
    /// Seed of the corpus
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// Writes a table that calibrates confidences, fitted to these worlds, instead
    #[arg(long, value_name = "OF")]
    fit: Option<Fitted>,
    /// Prints instead how many requests each verdict needs
    #[arg(long)]
    sweep: bool,
    /// Writes every answer as CSV instead
    #[arg(long)]
    answers: bool,
    /// Tells one case instead: `device.retry/mild:17`
    #[arg(long, value_name = "CASE")]
    case: Option<String>,
    /// The level at which it is told: A, B, C, D or E
    #[arg(long, default_value = "C")]
    level: String,
}

#[derive(Args)]
struct Weak {
    /// Variations of each kind; worlds, with `--blame`
    #[arg(long, default_value_t = 200)]
    each: usize,
    /// Only this kind
    #[arg(long)]
    kind: Option<String>,
    /// Scores instead whom it blames, over worlds of another author
    #[arg(long)]
    blame: bool,
    /// Prints every answer that is not right as well
    #[arg(long)]
    answers: bool,
    /// Prints instead the inputs of one variation, `hang:17`, or of one world of `--blame`, `17`
    #[arg(long)]
    show: Option<String>,
}

impl Weak {
    fn run(&self) -> io::Result<ExitCode> {
        let text = match (&self.show, self.blame) {
            (Some(show), _) => self.shown(show),
            (None, true) => self.blamed(),
            (None, false) => self.swept(),
        };
        write!(io::stdout(), "{}", text.map_err(io::Error::other)?)?;
        Ok(ExitCode::SUCCESS)
    }

    fn shown(&self, show: &str) -> Result<String, String> {
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is no number"));
        if self.blame {
            let world = blame::world(number(show)?);
            return Ok(weak::print::biosnoop(world.listed(), world.disk, false));
        }
        let (kind, of) = show.split_once(':').ok_or("name a variation as `hang:17`")?;
        let known = weak::kinds::KINDS.iter().find(|(name, _, _)| *name == kind);
        let made = weak::variation(known.ok_or("there is no such kind")?, number(of)?);
        Ok(made.inputs.into_iter().map(|(_, text)| text).collect())
    }

    fn swept(&self) -> Result<String, String> {
        let tried = weak::sweep(self.each, self.kind.as_deref())?;
        let mut out = weak::table(&tried);
        for known in tried.iter().filter(|known| self.answers && known.worth != weak::Worth::Right)
        {
            let weak::Tried { kind, number, worth, said } = known;
            out.push_str(&format!("{kind}:{number} {worth:?} {said}\n"));
        }
        Ok(out)
    }

    fn blamed(&self) -> Result<String, String> {
        let all = blame::blame(self.each)?;
        let mut out = blame::tables(&all);
        for known in all.iter().filter(|known| self.answers && known.said != Some(known.side)) {
            let blame::Blamed { number, name, shown, side, verdict, .. } = known;
            out.push_str(&format!("{number} {name} {shown:?} {side:?}: {verdict}\n"));
        }
        Ok(out)
    }
}

fn main() -> ExitCode {
    let outcome = match Line::parse().what {
        What::Claims(claims) => claims.run(),
        What::Demo(demo) => demo.run().map(|()| ExitCode::SUCCESS),
        What::Sickdisk(sickdisk) => sickdisk.run(),
        What::Simulate(simulate) => simulate.run(),
        What::Score(scored) => scored.run(),
        What::Published(collections) => collections.run(),
        What::Corpus(folder) => folder.run(),
        What::Kernels(kernels) => kernels.run(),
        What::Gallery(gallery) => gallery.run().map(|()| ExitCode::SUCCESS),
        What::Wards(wards) => wards.run(),
        What::Weak(weak) => weak.run(),
        What::Guest => kernels::guest().map(|()| ExitCode::SUCCESS),
        What::Serve(disk) => {
            let truth = disk.truth.clone().unwrap_or_else(|| "/dev/null".into());
            serve(&disk.spec(truth)).map(|()| ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "lab: {error}");
        ExitCode::from(2)
    })
}

fn bytes(text: &str) -> Result<u64, String> {
    let size = disk::size(text).filter(|size| *size >= 1 << 20 && size % 4096 == 0);
    size.ok_or_else(|| "write `64M` or `2G`; 1M at least".to_string())
}

impl Disk {
    /// The disk to make, and its log.
    fn spec(&self, truth: PathBuf) -> Spec {
        Spec {
            model: self.model.clone(),
            diseases: self.diseases.clone(),
            bytes: self.size,
            seed: self.seed,
            truth,
        }
    }
}

impl Sickdisk {
    fn run(&self) -> io::Result<ExitCode> {
        if let Some(missing) = missing() {
            return Err(io::Error::other(format!("a sick disk needs {missing}")));
        }
        // A log that nobody named is memory that ends with this process.
        let log = File::from(memfd_create("truth", MemfdFlags::CLOEXEC)?);
        let unnamed = format!("/proc/{}/fd/{}", std::process::id(), log.as_raw_fd());
        let spec = self.disk.spec(self.disk.truth.clone().unwrap_or_else(|| unnamed.into()));
        let sick = SickDisk::start(&spec)?;
        let mut peers = Vec::new();
        for peer in 0..self.peers {
            peers.push(SickDisk::start(&self.healthy(peer))?);
        }
        let beside: Vec<String> = peers.iter().map(SickDisk::path).collect();
        let mut told = io::stderr().lock();
        writeln!(told, "truth: {} is {} {}", sick.path(), spec.model, spec.diseases.join(" "))?;
        if !beside.is_empty() {
            writeln!(told, "truth: healthy beside it: {}", beside.join(" "))?;
        }
        drop(told);

        let code = match &self.run {
            Some(command) => command_on(&sick, &command.replace("{peers}", &beside.join(" ")))?,
            None => wait_for_input()?,
        };
        let truth = sick.end()?;
        for peer in peers {
            peer.end()?;
        }
        write!(io::stderr(), "{}", truth.summary())?;
        Ok(code)
    }

    /// A healthy disk of the same model, its log beside the sick one's.
    fn healthy(&self, peer: u16) -> Spec {
        let log = |truth: &PathBuf| truth.with_extension(format!("peer-{peer}.csv"));
        let truth = self.disk.truth.as_ref().map_or_else(|| "/dev/null".into(), log);
        let mut spec = self.disk.spec(truth);
        spec.diseases.clear();
        spec.seed = spec.seed.wrapping_add(1 + u64::from(peer));
        spec
    }
}

impl Simulate {
    fn run(&self) -> io::Result<ExitCode> {
        let mut spec = self.disk.spec(PathBuf::new());
        let mut seen = self.seen(&spec, 0)?;
        spec.diseases.clear();
        for peer in 1..=self.peers {
            spec.seed = spec.seed.wrapping_add(1);
            seen.append(&mut self.seen(&spec, peer)?);
        }
        write!(io::stdout(), "{}", biosnoop(&seen))?;
        Ok(ExitCode::SUCCESS)
    }

    fn seen(&self, spec: &Spec, place: u8) -> io::Result<Vec<Seen>> {
        let mut disk = spec.disk(0).map_err(io::Error::other)?;
        let device = spec.model().map_err(io::Error::other)?.device(place);
        let done = self.load.run(&mut disk, spec.bytes, spec.seed).into_iter();
        let named = |(request, served)| Seen { device: device.clone(), request, served };
        Ok(done.map(named).collect())
    }
}

impl Collections {
    fn run(&self) -> io::Result<ExitCode> {
        let text = published_tables(&self.collections)?;
        if let Some(file) = &self.out {
            std::fs::write(file, &text)?;
        }
        write!(io::stdout(), "{text}")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Folder {
    fn run(&self) -> io::Result<ExitCode> {
        write!(io::stdout(), "{}", corpus(&self.folder, self.all)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Scored {
    fn run(&self) -> io::Result<ExitCode> {
        let text = match (&self.case, self.fit) {
            (Some(case), _) => {
                let case = Case::parse(case, self.seed).ok_or("there is no such case");
                let level = render::level(&self.level).ok_or("the level is A, B, C, D or E");
                let (case, level) = case.and_then(|c| Ok((c, level?))).map_err(io::Error::other)?;
                case.story(level)
            }
            (None, Some(of)) => calibration(of, self.cases, self.seed),
            (None, None) if self.sweep => sweep(self.cases, self.seed),
            (None, None) if self.answers => Score::of(self.cases, self.seed).map(|it| it.answers()),
            (None, None) => Score::of(self.cases, self.seed).and_then(|score| {
                let published = published_tables(&[]).map_err(|error| error.to_string())?;
                Ok(format!("{}\n{published}", score.tables()))
            }),
        };
        write!(io::stdout(), "{}", text.map_err(io::Error::other)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs the command with the device for `{dev}`, and ends as it ends.
fn command_on(sick: &SickDisk, command: &str) -> io::Result<ExitCode> {
    let command = command.replace("{dev}", &sick.path());
    let status = sick.command("sh").arg("-c").arg(command).stdin(Stdio::null()).status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(2)))
}

fn wait_for_input() -> io::Result<ExitCode> {
    writeln!(io::stderr(), "lab: the disk stays until input ends (Ctrl-D)")?;
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(ExitCode::SUCCESS)
}
