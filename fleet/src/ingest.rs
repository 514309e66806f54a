//! `iowhy-fleet ingest`: averages that other tools kept become the tables of a fleet.
//!
//! Text of sar, iostat, `pcp iostat` and whatever else iowhy reads goes to `iowhy export` as it is;
//! a dump of Prometheus is first sorted into pages of each host ([`prometheus`]). `iowhy export` is
//! a process for each host, which confines itself before it reads the first byte.

mod prometheus;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use clap::Args;

use crate::command::Status;

/// What to take.
#[derive(Args, Clone, Debug)]
pub struct Ingest {
    /// The folder of the tables; made if it is not there
    pub folder: PathBuf,
    /// Files, or folders of them. In a folder, each folder is a host of that name; a file is of the
    /// host that it names, else of one with its own name. Dumps of Prometheus (text or the JSON of
    /// `query_range`) are of the hosts in their label `instance`
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// Of a dump of Prometheus, one sample in so many seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub step: u32,
    /// Label of all these hosts, such as `cluster=a` (may be given several times)
    #[arg(long, value_name = "KEY=VALUE")]
    pub label: Vec<String>,
    /// The program `iowhy` [default: beside this one, else on the path]
    #[arg(long, value_name = "FILE")]
    pub iowhy: Option<PathBuf>,
}

/// Whose files they are.
enum Host {
    /// By the user.
    Named(String),
    /// Unless the file names it.
    Otherwise(String),
}

/// What was done.
#[derive(Default)]
struct Sum {
    hosts: BTreeSet<String>,
    inputs: usize,
    failed: usize,
    /// What `iowhy export` reported, and how often.
    reported: BTreeMap<String, usize>,
}

impl Ingest {
    /// Takes all.
    ///
    /// # Errors
    /// If an input is not there, or `iowhy` cannot be started.
    pub fn run(&self) -> anyhow::Result<Status> {
        let mut sum = Sum::default();
        for input in &self.inputs {
            let is_folder = std::fs::metadata(input)
                .with_context(|| format!("cannot read `{}`", input.display()))?
                .is_dir();
            if !is_folder {
                self.file(input, None, &mut sum)?;
                continue;
            }
            for entry in entries(input)? {
                if !entry.is_dir() {
                    self.file(&entry, None, &mut sum)?;
                    continue;
                }
                let host = name(&entry);
                for file in below(&entry)? {
                    self.file(&file, Some(&host), &mut sum)?;
                }
            }
        }
        for (text, times) in &sum.reported {
            let times = if *times > 1 { format!(" ({times} inputs)") } else { String::new() };
            crate::say(&format!("{text}{times}"));
        }
        let taken = sum.inputs - sum.failed;
        if taken == 0 {
            anyhow::bail!("nothing could be read\nhint: `iowhy explain formats` lists what can be");
        }
        let out = &mut std::io::stdout().lock();
        writeln!(
            out,
            "{}, {} in `{}`; next: `iowhy-fleet why {}`",
            crate::why::words::many(sum.hosts.len(), "host"),
            crate::why::words::many(taken, "input"),
            self.folder.display(),
            crate::why::words::word(&self.folder.display().to_string())
        )?;
        Ok(if sum.failed > 0 { Status::Incomplete } else { Status::Done })
    }

    /// One file, of a host that the folders name if they do.
    fn file(&self, path: &Path, host: Option<&str>, sum: &mut Sum) -> anyhow::Result<()> {
        if let Some(dump) = prometheus::Dump::read(path, i64::from(self.step) * 1000)? {
            if dump.skipped > 0 {
                let text = format!("{}: {} lines not read", path.display(), dump.skipped);
                *sum.reported.entry(text).or_default() += 1;
            }
            for (instance, pages) in &dump.hosts {
                let file = tempfile::NamedTempFile::new()?;
                pages.write(&mut std::io::BufWriter::new(file.as_file()))?;
                let host = Host::Named(host.unwrap_or(instance).to_string());
                self.export(file.path(), &host, path, sum)?;
            }
            return Ok(());
        }
        let host = match host {
            Some(host) => Host::Named(host.to_string()),
            None => Host::Otherwise(name(path)),
        };
        self.export(path, &host, path, sum)
    }

    /// `iowhy export` of a file; `shown` is what the user calls it.
    fn export(&self, file: &Path, host: &Host, shown: &Path, sum: &mut Sum) -> anyhow::Result<()> {
        let program = self.program();
        let (option, host) = match host {
            Host::Named(host) => ("--host", host),
            Host::Otherwise(host) => ("--or-host", host),
        };
        let mut command = Command::new(&program);
        command.arg("export").arg("--averages").arg("--parquet").arg(&self.folder);
        command.arg(format!("{option}={host}"));
        command.args(self.label.iter().map(|label| format!("--label={label}")));
        let output = command
            .arg("--")
            .arg(std::path::absolute(file)?)
            .stdin(Stdio::null())
            .output()
            .with_context(|| {
                format!("cannot start `{}`\nhint: name it: `--iowhy FILE`", program.display())
            })?;
        sum.inputs += 1;
        let failed = !matches!(output.status.code(), Some(0 | 1));
        sum.failed += usize::from(failed);
        let own = file.display().to_string();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            let line = line.trim().trim_start_matches("iowhy: ");
            // A warning is of many files alike, a failure of one.
            let text = line.replace(&own, &shown.display().to_string());
            let text = match failed {
                true => text,
                false => text.replace(&format!("{}: ", shown.display()), ""),
            };
            if !text.is_empty() {
                *sum.reported.entry(text).or_default() += 1;
            }
        }
        if !failed {
            // `web-17, 2026-11-29: 12 I/Os in ...`
            let said = String::from_utf8_lossy(&output.stdout);
            sum.hosts.extend(said.split(", ").next().map(str::to_string));
        }
        Ok(())
    }

    fn program(&self) -> PathBuf {
        let beside = || {
            let beside = std::env::current_exe().ok()?.with_file_name("iowhy");
            beside.is_file().then_some(beside)
        };
        self.iowhy.clone().or_else(beside).unwrap_or_else(|| PathBuf::from("iowhy"))
    }
}

/// The name of a file or folder, without its endings.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if path.is_dir() {
        return name;
    }
    let endings = [".gz", ".xz", ".zst", ".bz2", ".txt", ".log", ".out"];
    endings.iter().fold(name, |name, ending| {
        name.strip_suffix(ending)
            .filter(|rest| !rest.is_empty())
            .map_or(name.clone(), str::to_string)
    })
}

/// What is in a folder, sorted.
fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read `{}`", folder.display());
    let mut found = std::fs::read_dir(folder)
        .with_context(cannot)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .with_context(cannot)?;
    found.sort();
    Ok(found)
}

/// The files below a folder, sorted; no link is followed into another.
fn below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        match std::fs::symlink_metadata(&entry)?.is_dir() {
            true => found.extend(below(&entry)?),
            false if entry.is_file() => found.push(entry),
            false => {}
        }
    }
    Ok(found)
}
