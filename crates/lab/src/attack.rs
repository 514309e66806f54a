//! Hostile captures, archives, folders and outputs against every command that reads and every
//! target of `convert`.
//!
//! Every sample of every format is damaged in each way in turn, by a seed, and given to commands
//! with limits of time and memory. A run fails if the program is ended by a signal, panics, exits
//! with an undocumented status, exceeds the limits, prints control sequences, shows data of a file
//! that was not named, or changes one that it may not.

#[path = "attack/folders.rs"]
mod folders;
#[path = "attack/inside.rs"]
mod inside;
#[path = "attack/kept.rs"]
pub mod kept;
#[path = "attack/kill.rs"]
mod kill;
#[path = "attack/names.rs"]
mod names;
#[path = "attack/packed.rs"]
mod packed;
#[path = "attack/recorder.rs"]
mod recorder;
#[path = "attack/stores.rs"]
mod stores;
#[path = "attack/texts.rs"]
mod texts;
#[path = "attack/unsaid.rs"]
mod unsaid;

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use iowhy_model::Random;
use texts::HARMS;

/// CPU time that one run may take at most, in an unoptimised build; and the time by the clock, on a
/// machine however busy, after which it hangs.
const LIMIT: Duration = Duration::from_secs(20);
const HANGS: Duration = Duration::from_secs(300);
const MEMORY_KIB: u64 = 512 << 10;
/// Bytes of an input at most: samples are far shorter.
const MOST: usize = 1 << 20;
/// Commands that each damaged input is given to: all of them in turn.
const EACH: usize = 2;
/// Most numbers of a sample that are replaced by something else in turn: in the long form and the
/// short.
const PLACES: usize = 60;
const PLACES_SHORT: usize = 12;
/// Attacks other than damaged texts.
const ARCHIVES: &str = "archives with devices, FIFOs, links, sparse and endless members";
const FOLDERS: &str = "folders with devices, FIFOs, links out, sparse files, loops";
const OUTPUTS: &str = "links, FIFOs, folders and the input itself as output";
const SWAPPED: &str = "a link put in the output's place while it is opened";
const MACHINE: &str = "the machine itself, or `..`, as a folder";

/// The commands: `{in}` and `{other}` are captures, `{out}` a file to be written, `{dir}` a folder
/// to be filled.
const COMMANDS: &[&str] = &[
    "why {in}",
    "why -v {in}",
    "why --json {in}",
    "why --learn {out} {in}",
    "why - < {in}",
    "stat {in}",
    "stat --json {in}",
    "stat --csv {in}",
    "hist {in}",
    "hist --csv {in}",
    "hist --json --over 1us {in}",
    "snoop {in}",
    "snoop --json {in}",
    "map {in}",
    "map --json {in}",
    "map --csv {in}",
    "map --svg {out} {in}",
    "map --png {out} {in}",
    "map --compat pylatencymap {in}",
    "compare {in} {other}",
    "compare --json {in}@0-1s {other}",
    "report {in} -o {out}",
    "convert {in} {out} --to biosnoop",
    "convert {in} {out} --to blkparse",
    "convert {in} {out} --to csv",
    "convert {in} {out} --to fio-hist-log",
    "convert {in} {out} --to fio-iolog",
    "convert {in} {out} --to json",
    "convert {in} {out} --to iowhy-capture",
    "convert {in} {out} --to parquet",
    "convert {in} {out} --to pylatencymap",
    "export {in} --parquet {dir} --host h --began @1795377600",
];

/// The result of one attack.
pub struct AttackRow {
    /// Its name.
    pub attack: &'static str,
    /// Hostile inputs.
    pub inputs: u64,
    /// Runs of commands on them.
    pub runs: u64,
    /// The failures, each with its input.
    pub failures: Vec<String>,
}

impl AttackRow {
    fn of(attack: &'static str) -> AttackRow {
        AttackRow { attack, inputs: 0, runs: 0, failures: Vec::new() }
    }

    fn ran(&mut self, failed: Option<String>) {
        self.runs += 1;
        self.failures.extend(failed);
    }
}

/// A place for inputs and outputs, and the program.
struct Field<'a> {
    iowhy: &'a Path,
    folder: PathBuf,
    failures: usize,
}

/// Attacks until the time is over or every sample was damaged in every way `rounds` times; `stride`
/// takes only one of that many samples.
///
/// # Errors
/// If the samples cannot be read or a folder for the inputs not be made.
pub fn attack(
    iowhy: &Path,
    samples: &Path,
    seed: u64,
    (rounds, stride): (u64, usize),
    time: Duration,
) -> io::Result<Vec<AttackRow>> {
    let end = Instant::now() + time;
    let texts = read_samples(samples)?;
    let folder = std::env::temp_dir().join(format!("iowhy-attack-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut field = Field { iowhy, folder, failures: 0 };
    let mut random = Random::seeded(seed);
    let hostile = (texts.len() / stride.max(1)).clamp(3, 60) as u64 * rounds;
    let mut rows = vec![
        unsaid::unsaid(
            &texts,
            random.place(texts.len()),
            if stride > 1 { PLACES_SHORT } else { PLACES },
            time / 4,
        ),
        names::names(stride > 1),
        field.names()?,
        field.archives(hostile, &mut random)?,
        field.packed(hostile, stride <= 1, &mut random)?,
        field.inside()?,
        field.folders(hostile, &mut random)?,
        field.stores(hostile.max(20), &mut random)?,
        field.outputs(hostile, &mut random)?,
        field.swapped(hostile.min(20) as usize)?,
        field.machine()?,
    ];
    // The short form leaves these to the tests of `record` and `probe`.
    if stride <= 1 {
        rows.extend(field.ended(32, &mut random)?);
        rows.extend(field.named_live()?);
    }
    let mut damaged: Vec<AttackRow> =
        HARMS.iter().map(|(attack, _)| AttackRow::of(attack)).collect();
    // In another order each time, so that what there is time for is spread over all of it.
    'all: for round in 0..rounds as usize {
        for turn in (0..texts.len()).step_by(stride.max(1)) {
            for (place, row) in damaged.iter_mut().enumerate() {
                // Each way is tried once, however slow the machine is.
                if Instant::now() > end && row.runs > 0 {
                    break 'all;
                }
                let number = (turn + place * 5 + round) % texts.len();
                field.harm(&texts, number, place, row, &mut random)?;
            }
        }
    }
    rows.splice(1..1, damaged);
    if field.failures == 0 {
        std::fs::remove_dir_all(&field.folder)?;
    }
    Ok(rows)
}

/// Replaces each number of each sample in turn, all of them.
///
/// # Errors
/// If a sample cannot be read.
pub fn unsaid_all(samples: &Path, time: Duration) -> io::Result<AttackRow> {
    Ok(unsaid::unsaid(&read_samples(samples)?, 0, usize::MAX, time))
}

impl Field<'_> {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn harm(
        &mut self,
        texts: &[(String, Vec<u8>)],
        number: usize,
        place: usize,
        row: &mut AttackRow,
        random: &mut Random,
    ) -> io::Result<()> {
        let other = random.place(texts.len());
        let (Some((name, text)), Some((_, other))) = (texts.get(number), texts.get(other)) else {
            return Ok(());
        };
        let Some((_, harm)) = HARMS.get(place) else { return Ok(()) };
        let mut damaged = harm(text, other, random);
        damaged.truncate(2 * MOST);
        std::fs::write(self.at("input"), &damaged)?;
        std::fs::write(self.at("other"), other)?;
        row.inputs += 1;
        for step in 0..EACH {
            let at = (row.inputs as usize * EACH + step + place * 7) % COMMANDS.len();
            let command = COMMANDS[at];
            let failed = self.run(command, "input", true)?;
            row.ran(
                failed
                    .map(|why| self.kept(&format!("`iowhy {command}` on {name}: {why}"), &damaged)),
            );
        }
        Ok(())
    }

    fn archives(&mut self, count: u64, random: &mut Random) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(ARCHIVES);
        for number in 0..count as usize {
            let archive = folders::archive(random);
            std::fs::write(self.at("input"), &archive)?;
            std::fs::write(self.at("other"), folders::GOOD)?;
            row.inputs += 1;
            for step in 0..EACH {
                let command = COMMANDS[(number * EACH + step) % COMMANDS.len()];
                let failed = self.run(command, "input", true)?;
                row.ran(
                    failed.map(|why| self.kept(&format!("`iowhy {command}`: {why}"), &archive)),
                );
            }
        }
        for name in ["/tmp/iowhy-escaped", "/etc/iowhy-escaped"] {
            if Path::new(name).exists() {
                row.failures.push(format!("`{name}` was written"));
            }
        }
        Ok(row)
    }

    fn folders(&mut self, count: u64, random: &mut Random) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(FOLDERS);
        for number in 0..count as usize {
            let inside = self.at("folder");
            let _ = std::fs::remove_dir_all(&inside);
            folders::folder(&self.folder, random)?;
            std::fs::write(self.at("other"), folders::GOOD)?;
            row.inputs += 1;
            for step in 0..EACH {
                let command = COMMANDS[(number * EACH + step) % COMMANDS.len()];
                if command.contains('<') {
                    continue;
                }
                let failed = self.run(command, "folder", true)?;
                row.ran(failed.map(|why| self.kept(&format!("`iowhy {command}`: {why}"), b"")));
            }
            std::fs::remove_dir_all(&inside)?;
        }
        Ok(row)
    }

    /// Occupied outputs stay as they are, and status 2 reports it.
    fn outputs(&mut self, count: u64, random: &mut Random) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(OUTPUTS);
        let writing = COMMANDS.iter().filter(|command| command.contains("{out}"));
        let writing: Vec<&&str> = writing.collect();
        for number in 0..count as usize {
            std::fs::write(self.at("input"), folders::GOOD)?;
            std::fs::write(self.at("other"), folders::GOOD)?;
            folders::occupied(&self.folder, random)?;
            row.inputs += 1;
            let command = writing[number % writing.len()];
            let failed = self.run(command, "input", false)?;
            let intact = |name: &str, text: &str| {
                std::fs::read_to_string(self.at(name)).is_ok_and(|now| now == text)
            };
            let touched = if !intact("victim", "a victim") {
                Some("the victim was written to".to_string())
            } else if !intact("input", folders::GOOD) {
                Some("the input was written to".to_string())
            } else if self.at("nothing-there").exists() {
                Some("a link was followed".to_string())
            } else {
                failed.filter(|why| why != "status Some(2)")
            };
            row.ran(touched.map(|why| self.kept(&format!("`iowhy {command}`: {why}"), b"")));
        }
        let out = self.at("output");
        let _ = std::fs::remove_file(&out).or_else(|_| std::fs::remove_dir_all(&out));
        Ok(row)
    }

    /// A link to a victim comes and goes where the output is opened.
    fn swapped(&mut self, count: usize) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(SWAPPED);
        let (out, victim, link) = (self.at("output"), self.at("victim"), self.at("link"));
        std::fs::write(self.at("input"), folders::GOOD)?;
        for number in 0..count {
            std::fs::write(&victim, "a victim")?;
            let stop = std::sync::atomic::AtomicBool::new(false);
            let failed = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        let _ = std::os::unix::fs::symlink(&victim, &link);
                        let _ = std::fs::rename(&link, &out);
                        let _ = std::fs::remove_file(&out);
                    }
                });
                let writing = ["csv", "parquet", "iowhy-capture", "json"];
                let to = writing[number % writing.len()];
                let command = format!("convert {{in}} {{out}} --to {to} --force");
                let failed = self.run(&command, "input", false);
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
                failed
            })?;
            row.inputs += 1;
            let known = ["status Some(0)", "status Some(2)"];
            let failed = failed.filter(|why| !known.contains(&why.as_str()));
            let intact = std::fs::read_to_string(&victim).is_ok_and(|text| text == "a victim");
            row.ran(if intact { failed } else { Some("the victim was written to".to_string()) });
            let _ = std::fs::remove_file(&out);
        }
        Ok(row)
    }

    /// Folders that are this machine are refused at once, by every option that takes one.
    fn machine(&mut self) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(MACHINE);
        std::fs::create_dir_all(self.at("empty"))?;
        let _ = std::fs::remove_file(self.at("secret"));
        for place in ["/", "/proc", "/sys", "/proc/self", "/dev", "empty/.."] {
            for command in [
                "why PLACE",
                "stat PLACE",
                "hist PLACE",
                "snoop PLACE",
                "map PLACE",
                "compare PLACE PLACE",
                "report PLACE -o {out}",
                "convert PLACE {out} --to csv",
                "convert {in} PLACE --to csv",
                "report {in} -o PLACE",
                "map {in} --svg PLACE",
                "map {in} --png PLACE",
                "why --learn PLACE {in}",
                "why --baseline PLACE {in}",
                "record -o PLACE --for 1s",
            ] {
                std::fs::write(self.at("input"), folders::GOOD)?;
                row.inputs += 1;
                let failed = self.run(&command.replace("PLACE", place), "input", false)?;
                let known = ["status Some(0)", "status Some(1)", "status Some(2)"];
                let failed = failed.filter(|why| !known.contains(&why.as_str()));
                row.ran(failed.map(|why| format!("`iowhy {command}` with {place}: {why}")));
            }
        }
        Ok(row)
    }

    /// Keeps what failed.
    fn kept(&mut self, what: &str, input: &[u8]) -> String {
        let kept = self.at(&format!("failed-{}", self.failures));
        self.failures += 1;
        let _ = std::fs::write(&kept, input);
        format!("{what}, in {}", kept.display())
    }

    /// Runs a command; why it failed, if it did. Unless it is `well` to end with any status of the
    /// program's own, the status is reported.
    fn run(&self, command: &str, input: &str, well: bool) -> io::Result<Option<String>> {
        let out = self.at("output");
        if well {
            let _ = std::fs::remove_file(&out);
        }
        let (words, piped) = command.split_once(" < ").map_or((command, false), |(w, _)| (w, true));
        let mut run = Command::new(self.iowhy);
        run.current_dir(&self.folder);
        for word in words.split(' ') {
            let shown = |name: &str| self.at(name).display().to_string();
            run.arg(
                word.replace("{in}", &shown(input))
                    .replace("{other}", &shown("other"))
                    .replace("{dir}", &shown("tables"))
                    .replace("{out}", &out.display().to_string()),
            );
        }
        let stdin = match piped {
            true => Stdio::from(std::fs::File::open(self.at(input))?),
            false => Stdio::null(),
        };
        let (printed, reported) = (self.at("stdout"), self.at("stderr"));
        let mut child = run
            .stdin(stdin)
            .stdout(std::fs::File::create(&printed)?)
            .stderr(std::fs::File::create(&reported)?)
            .spawn()?;
        let status = match watched(&mut child)? {
            Ok(status) => status,
            Err(why) => return Ok(Some(why)),
        };
        if let Some(signal) = status.signal() {
            return Ok(Some(format!("ended by signal {signal}")));
        }
        let mut text = text_of(&reported)?;
        if text.contains("panicked at") {
            return Ok(Some("it panicked".to_string()));
        }
        // The pictures of PyLatencyMap are made of control sequences.
        if !words.contains("--compat") {
            text += &text_of(&printed)?;
        }
        let binary = ["--png", "parquet", "iowhy-capture"].iter().any(|kind| words.contains(kind));
        if well && !binary && out.is_file() {
            text += &text_of(&out)?;
        }
        let obeyed = text.chars().find(|c| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        if let Some(c) = obeyed {
            return Ok(Some(format!("it wrote U+{:04X}", u32::from(c))));
        }
        if text.contains(folders::SECRET) {
            return Ok(Some("it shows data of a file that was not named".to_string()));
        }
        let own = matches!(status.code(), Some(0..=2));
        Ok((!own || !well).then(|| format!("status {:?}", status.code())))
    }
}

/// Its end, or why it was ended.
fn watched(child: &mut Child) -> io::Result<Result<ExitStatus, String>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ok(status));
        }
        let memory = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let peak = memory.ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.to_string();
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
        let why = if used(child.id()) > LIMIT {
            format!("not done after {} s of CPU time", LIMIT.as_secs())
        } else if begun.elapsed() > HANGS {
            format!("not done after {} s", HANGS.as_secs())
        } else if peak.is_some_and(|peak| peak > MEMORY_KIB) {
            format!("more than {} MiB", MEMORY_KIB >> 10)
        } else {
            std::thread::sleep(Duration::from_millis(2));
            continue;
        };
        child.kill()?;
        child.wait()?;
        return Ok(Err(why));
    }
}

/// CPU time of a process so far.
fn used(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // proc_pid_stat(5): after the name in brackets the state, then 10 fields, then user and system
    // time in hundredths.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    Duration::from_millis(10 * fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>())
}

/// The rows as a table, with the failures below.
pub fn table(rows: &[AttackRow]) -> String {
    let mut text =
        "| attack | inputs | runs | failures |\n| --- | ---: | ---: | ---: |\n".to_string();
    for row in rows {
        let failures = row.failures.len();
        text += &format!("| {} | {} | {} | {failures} |\n", row.attack, row.inputs, row.runs);
    }
    let sum = |of: fn(&AttackRow) -> u64| rows.iter().map(of).sum::<u64>();
    let failed: usize = rows.iter().map(|row| row.failures.len()).sum();
    text += &format!("| all | {} | {} | {failed} |\n", sum(|row| row.inputs), sum(|row| row.runs));
    for row in rows {
        for failure in &row.failures {
            text += &format!("\n- {}: {failure}", row.attack);
        }
    }
    text
}

/// The samples below a folder by name, the first megabyte of each.
///
/// # Errors
/// If one cannot be read.
pub fn read_samples(samples: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut texts = Vec::new();
    let mut folders: Vec<PathBuf> = vec![samples.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|ending| ending != "golden") {
                let mut text = std::fs::read(&path)?;
                text.truncate(MOST);
                let name = path.strip_prefix(samples).unwrap_or(&path).display().to_string();
                texts.push((name, text));
            }
        }
    }
    texts.sort();
    Ok(texts)
}

fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(64 << 20).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
