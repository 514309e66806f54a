//! `lab`: simulates disks with a known fault and scores the verdicts on them. Never shipped.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use iowhy_lab::attack::{attack, read_samples, table};
use iowhy_lab::corpus::corpus;
use iowhy_lab::disk::{DiskArgs, Spec};
use iowhy_lab::field;
use iowhy_lab::growth;
use iowhy_lab::judgement;
use iowhy_lab::known;
use iowhy_lab::large;
use iowhy_lab::learn;
use iowhy_lab::render;
use iowhy_lab::score::{
    Case, FitTarget, Score, calibration, forecast_table, forecasts, published_tables, sweep,
    written_table,
};
use iowhy_lab::simulate::{Completion, Load, biosnoop};
use iowhy_lab::weak::{self, blame};

/// The laboratory of iowhy.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    what: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Prints what biosnoop would have shown for a load on a disk, simulated without a device
    Simulate(Simulate),
    /// Prints how often the forecast of a fix was right in scenarios with the fault removed
    Forecast(Forecast),
    /// Judges scenarios with a known fault at every level of input and prints the share of right
    /// answers
    Score(ScoreArgs),
    /// Judges published captures with a known cause, case by case
    Published(Collections),
    /// Judges every file below a folder: recognised, lost, accused, slowest
    Corpus(Folder),
    /// Attacks every command that reads with hostile captures, folders and outputs, and prints what
    /// failed
    Attack(Attack),
    /// Times the program on inputs with many listings, devices, files and names, and fits the
    /// growth
    Growth(Growth),
    /// Times the program on one large input of every kind; fails if one takes more than 20 s of CPU
    /// or 512 MiB
    Large(Large),
    /// Fits the weights of clauses to captures and worlds with known truth, and prints the effect
    Learn(Learn),
    /// Varies captures that earlier versions judged wrongly, and prints how often the answer is
    /// right
    Weak(Weak),
    /// Tells captures that the tree already has, before a collection is met
    Known(Files),
    /// Prints the quality of the verdicts: blame, first meetings, and the share of right answers
    Judgement(Judgement),
}

#[derive(Args)]
struct Simulate {
    #[command(flatten)]
    disk: DiskArgs,
    /// `read:128K`, `write:4K,random,depth=4,count=500,think=50us`, `read:4K,random,rate=200`
    #[arg(long, default_value = "read:128K", value_parser = Load::parse)]
    load: Load,
    /// Healthy disks of the same model, each under a load of the same kind
    #[arg(long, default_value_t = 0)]
    peers: u8,
}

#[derive(Args)]
struct Collections {
    /// Collections in Markdown, read as pasted, besides the captures of the tree
    collections: Vec<PathBuf>,
    /// File for the tables; without it, they are only printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args)]
struct Files {
    /// Captures that were found
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

#[derive(Args)]
struct Judgement {
    /// Scenarios of each kind of world
    #[arg(long, default_value_t = 200)]
    each: usize,
    /// Only the table of first answers by family, for `ranking/in_field.rs`
    #[arg(long)]
    field: bool,
}

#[derive(Args)]
struct Learn {
    /// Scenarios per verdict
    #[arg(long, default_value_t = 40)]
    cases: usize,
    /// Scenarios of each kind of the other author's worlds
    #[arg(long, default_value_t = 400)]
    each: usize,
    /// Seed of the scenarios
    #[arg(long, default_value_t = 2026)]
    seed: u64,
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
struct Forecast {
    /// Scenarios of each recipe
    #[arg(long, default_value_t = 10)]
    cases: usize,
    /// Seed of the scenarios
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Only this verdict
    #[arg(long, value_name = "VERDICT")]
    only: Option<String>,
    /// Prints each forecast before the table
    #[arg(long)]
    each: bool,
}

#[derive(Args)]
struct ScoreArgs {
    /// Scenarios per verdict
    #[arg(long, default_value_t = 20)]
    cases: usize,
    /// Seed of the corpus
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// Writes a table that calibrates confidences, fitted to these scenarios, instead
    #[arg(long, value_name = "OF")]
    fit: Option<FitTarget>,
    /// Prints instead how many requests each verdict needs
    #[arg(long)]
    sweep: bool,
    /// Writes every answer as CSV instead
    #[arg(long)]
    answers: bool,
    /// Judges the written scenarios instead, each with `--cases` seeds
    #[arg(long)]
    written: bool,
    /// Prints one case instead: `device.retry/mild:17`
    #[arg(long, value_name = "CASE")]
    case: Option<String>,
    /// The level of that case: A, B, C, D or E
    #[arg(long, default_value = "C")]
    level: String,
}

#[derive(Args)]
struct Attack {
    /// The program; by default the one next to this
    #[arg(long, value_name = "FILE")]
    iowhy: Option<PathBuf>,
    /// Seed of all generated inputs
    #[arg(long, default_value_t = 2026)]
    seed: u64,
    /// Minutes at most
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// How often each attack is tried on each sample
    #[arg(long, default_value_t = 3)]
    rounds: u64,
}

impl Attack {
    fn run(&self) -> io::Result<ExitCode> {
        let beside = std::env::current_exe()?.with_file_name("iowhy");
        let iowhy = self.iowhy.clone().unwrap_or(beside);
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../read/samples");
        let time = Duration::from_secs(self.minutes * 60);
        let rows = attack(&iowhy, Path::new(samples), self.seed, (self.rounds, 1), time)?;
        write!(io::stdout(), "{}", table(&rows))?;
        let failed = rows.iter().any(|row| !row.failures.is_empty());
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

#[derive(Args)]
struct Growth {
    /// The program; by default the one next to this
    #[arg(long, value_name = "FILE")]
    iowhy: Option<PathBuf>,
    /// Numbers of repeated items
    #[arg(long, value_delimiter = ',', default_value = "100,1000,10000,100000")]
    sizes: Vec<usize>,
}

impl Growth {
    fn run(&self) -> io::Result<ExitCode> {
        let beside = std::env::current_exe()?.with_file_name("iowhy");
        let iowhy = self.iowhy.clone().unwrap_or(beside);
        let mut rows = growth::growth(&iowhy, &self.sizes, &growth::COMMANDS)?;
        for row in &mut rows {
            if row.exponent().is_some_and(|exponent| exponent > growth::BAR) {
                row.time_again(&iowhy)?;
            }
        }
        write!(io::stdout(), "{}", growth::table(&rows))?;
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Args)]
struct Large {
    /// The program; by default the one next to this
    #[arg(long, value_name = "FILE")]
    iowhy: Option<PathBuf>,
    /// Size of each input, MB
    #[arg(long, default_value_t = 100)]
    megabytes: usize,
}

impl Large {
    fn run(&self) -> io::Result<ExitCode> {
        let beside = std::env::current_exe()?.with_file_name("iowhy");
        let iowhy = self.iowhy.clone().unwrap_or(beside);
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../read/samples");
        let samples = read_samples(Path::new(samples))?.into_iter().map(|(_, text)| text);
        // A binary one would take everything after it.
        let samples = samples.filter(|text| !text.contains(&0));
        let rows = large::large(&iowhy, &samples.collect::<Vec<_>>(), self.megabytes)?;
        write!(io::stdout(), "{}", large::table(&rows, self.megabytes))?;
        let holds = rows.iter().all(large::LargeRow::holds);
        Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

#[derive(Args)]
struct Weak {
    /// Variations of each kind; scenarios, with `--blame`
    #[arg(long, default_value_t = 200)]
    each: usize,
    /// Only this kind
    #[arg(long)]
    kind: Option<String>,
    /// Scores the blamed party instead, on scenarios of another author
    #[arg(long)]
    blame: bool,
    /// Also prints every wrong answer
    #[arg(long)]
    answers: bool,
    /// Prints instead the inputs of one variation, `hang:17`, or of one scenario of `--blame`,
    /// `felt:17:iostat`
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
        let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
        if self.blame {
            let (world, rest) = match show.split_once(':') {
                Some(("felt", rest)) => (blame::World::Felt, rest),
                Some(("plain", rest)) => (blame::World::Plain, rest),
                _ => return Err("name a scenario as `felt:17:iostat`".to_string()),
            };
            let (of, shown) = match rest.split_once(':') {
                Some((of, "iostat")) => (of, blame::Shown::Averages),
                Some((of, "histogram")) => (of, blame::Shown::Histogram),
                Some((of, _)) => (of, blame::Shown::Log),
                None => (rest, blame::Shown::Log),
            };
            return Ok(blame::scenario(world, number(of)?).text(shown).1);
        }
        let (kind, of) = show.split_once(':').ok_or("name a variation as `hang:17`")?;
        let known = weak::kinds::KINDS.iter().find(|(name, _, _)| *name == kind);
        let made = weak::variation(known.ok_or("there is no such kind")?, number(of)?);
        let reported = weak::reported(&made);
        let inputs: String = made.inputs.into_iter().map(|(_, text)| text).collect();
        Ok(format!("{inputs}\n== findings\n{reported}"))
    }

    fn swept(&self) -> Result<String, String> {
        let tried = weak::sweep(self.each, self.kind.as_deref())?;
        let mut out = weak::table(&tried);
        for known in tried.iter().filter(|known| self.answers && known.worth != weak::Worth::Right)
        {
            let weak::Variation { kind, number, worth, message } = known;
            out.push_str(&format!("{kind}:{number} {worth:?} {message}\n"));
        }
        Ok(out)
    }

    fn blamed(&self) -> Result<String, String> {
        let all = blame::blame(self.each)?;
        let mut out = blame::tables(&all);
        for known in all.iter().filter(|known| self.answers && known.reported != Some(known.side)) {
            let blame::BlameCase { world, number, name, shown, side, verdict, .. } = known;
            out.push_str(&format!("{world:?} {number} {name} {shown:?} {side:?}: {verdict}\n"));
        }
        Ok(out)
    }
}

impl Learn {
    fn run(&self) -> io::Result<ExitCode> {
        let text = learn::learned(self.cases, self.each, self.seed).map_err(io::Error::other)?;
        write!(io::stdout(), "{text}")?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Files {
    fn run(&self) -> io::Result<ExitCode> {
        write!(io::stdout(), "{}", known::known(&self.files)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Judgement {
    fn run(&self) -> io::Result<ExitCode> {
        let text = if self.field { field::table() } else { judgement::judgement(self.each) };
        let text = text.map_err(io::Error::other)?;
        write!(io::stdout(), "{text}")?;
        Ok(ExitCode::SUCCESS)
    }
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().what {
        Command::Simulate(simulate) => simulate.run(),
        Command::Forecast(forecast) => forecast.run(),
        Command::Score(scored) => scored.run(),
        Command::Published(collections) => collections.run(),
        Command::Judgement(asked) => asked.run(),
        Command::Known(files) => files.run(),
        Command::Learn(learn) => learn.run(),
        Command::Corpus(folder) => folder.run(),
        Command::Attack(attack) => attack.run(),
        Command::Growth(growth) => growth.run(),
        Command::Large(large) => large.run(),
        Command::Weak(weak) => weak.run(),
    };
    outcome.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "lab: {error}");
        ExitCode::from(2)
    })
}

impl Simulate {
    fn run(&self) -> io::Result<ExitCode> {
        let mut spec = self.disk.spec(PathBuf::new());
        let mut seen = self.seen(&spec, 0)?;
        spec.faults.clear();
        for peer in 1..=self.peers {
            spec.seed = spec.seed.wrapping_add(1);
            seen.append(&mut self.seen(&spec, peer)?);
        }
        write!(io::stdout(), "{}", biosnoop(&seen))?;
        Ok(ExitCode::SUCCESS)
    }

    fn seen(&self, spec: &Spec, place: u8) -> io::Result<Vec<Completion>> {
        let mut disk = spec.disk(0).map_err(io::Error::other)?;
        let device = spec.model().map_err(io::Error::other)?.device(place);
        let done = self.load.run(&mut disk, spec.bytes, spec.seed).into_iter();
        let named = |(request, served)| Completion { device: device.clone(), request, served };
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

impl Forecast {
    fn run(&self) -> io::Result<ExitCode> {
        let all = forecasts(self.cases, self.seed, self.only.as_deref());
        let all = all.map_err(io::Error::other)?;
        let mut out = io::stdout().lock();
        for one in all.iter().filter(|_| self.each) {
            writeln!(out, "{}", one.line())?;
        }
        writeln!(out, "{}", forecast_table(&all))?;
        Ok(ExitCode::SUCCESS)
    }
}

impl ScoreArgs {
    fn run(&self) -> io::Result<ExitCode> {
        let text = match (&self.case, self.fit) {
            (Some(case), _) => {
                let case = Case::parse(case, self.seed).ok_or("there is no such case");
                let level = render::level(&self.level).ok_or("the level is A, B, C, D or E");
                let (case, level) = case.and_then(|c| Ok((c, level?))).map_err(io::Error::other)?;
                case.story(level)
            }
            (None, Some(of)) => calibration(of, self.cases, self.seed),
            (None, None) if self.written => written_table(self.cases as u64, self.seed),
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
