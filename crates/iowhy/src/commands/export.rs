//! Exports captures or the recorder's store as Parquet tables for DuckDB, Spark and others.
//!
//! ## Does
//! Writes Parquet files into a folder, partitioned by host and day:
//!
//! - `cells`: I/Os counted per second (or minute), device, operation, stage and bucket of latency;
//! - `events`: individual I/Os, where available: in captures, and around incidents of a store;
//! - `facts`: model, firmware, size and other facts, the findings of `iowhy why`, and your labels;
//! - `buckets`: the meaning of each bucket index.
//!
//! Without a FILE, the store of `iowhy watch` is read. A second export of the same input replaces
//! its files; several hosts may share a folder, each under its own name. `--since` and `--until`
//! select whole hours of a store. `docs/FLEET.md` describes the columns and how to read them.
//!
//! The host name is that of `--host`, else the one in the capture (sar, atop and iostat print it),
//! else this machine's, for a store recorded here. I/Os timed in programs or at system calls are
//! left out: the tables contain only block I/O. Times without a zone are read as UTC; a capture
//! without a date needs `--began`.
//!
//! ## Examples
//! `iowhy export --parquet /srv/fleet`: everything in the recorder's store on this machine.
//! `iowhy export --parquet /srv/fleet --since -2d --label rack=r7`: for a daily job.
//! `iowhy export --parquet fleet --host web-17 io.iowhy`: one capture.
//! `duckdb -c "from read_parquet('fleet/cells/**/*.parquet', hive_partitioning = true) limit 5"`:
//! the first rows.

mod partition;
mod recorder;

use std::cell::RefCell;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Recording, numbers};
use iowhy_show::clock::Clock;
use iowhy_show::tables::{
    self, About, Statement, StatementKind, Statements, Table, TableOptions, TableSink,
    TablesWritten,
};
use iowhy_store::Store;

use crate::arguments::Files;
use crate::command::{Command, Status};
use crate::confinement;
use crate::messages::{self, HintedError, ProgressMessage};
use crate::outputs::{Output, Tree};
use crate::sanitised;
use crate::when;
use partition::Partition;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "export",
    summary: "Export captures or the recorder's store as Parquet tables, for a fleet of hosts",
    manual: iowhy_model::manual!("export.rs"),
    arguments: Export::augment_args,
    run,
};

/// Formats whose `host` is a host name; in others it is a version.
const NAME_THE_HOST: [&str; 8] =
    ["atop", "atop-screen", "get-counter", "iostat", "iostat-json", "nmon", "sar", "typeperf"];

#[derive(Args, Debug)]
struct Export {
    #[command(flatten)]
    files: Files,
    /// Output folder; created if missing
    #[arg(long, value_name = "DIR", required = true)]
    parquet: PathBuf,
    /// Host name, instead of the one in the input
    #[arg(long, value_name = "NAME", value_parser = partition::host)]
    host: Option<String>,
    /// Label for the host, such as `rack=r7` (may be given several times)
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Host name if the input has none
    #[arg(long, value_name = "NAME", value_parser = partition::host, conflicts_with = "host")]
    or_host: Option<String>,
    /// Also write averages (iostat, sar, node_exporter) as cells, each at its mean: for
    /// `iowhy-fleet`, no percentiles
    #[arg(long)]
    averages: bool,
    /// One cell per minute instead of per second
    #[arg(long)]
    minutes: bool,
    /// Time of the first record, for captures without a date: `2026-11-22 03:12`
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    began: Option<String>,
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_string(), value.to_string())),
        _ => Err("write KEY=VALUE, such as `rack=r7`".to_string()),
    }
}

/// State shared by the inputs.
struct Exporter {
    asked: Export,
    tree: Tree,
    began_ns: Option<i64>,
    sum: Sum,
}

/// Counts for the summary.
#[derive(Default)]
struct Sum {
    files: u64,
    cells: u64,
    events: u64,
    facts: u64,
    ios: u64,
    hosts: Vec<String>,
    days: Option<(String, String)>,
    /// Hours of a store that the folder already has in finer cells.
    finer: u64,
    failed: bool,
    incomplete: bool,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let mut asked = Export::from_arg_matches(matches)?;
    if !asked.files.named() || asked.files.past.asked() {
        let store = asked.files.past.folder();
        if !asked.files.files.contains(&store) {
            asked.files.files.push(store);
        }
    }
    let now = when::now();
    let began_ns = asked.began.as_ref().map(|text| when::asked(text, &now)).transpose()?;
    asked.files.past.span()?;
    if Store::is_one(&asked.parquet) {
        let text = format!("`{}` is a recorder's store", asked.parquet.display());
        return Err(HintedError::error(text, "name another folder for the tables"));
    }
    let tree = Tree::open(&asked.parquet)?;
    let here = partition::Here::look();
    confinement::filling(asked.files.files.iter().map(PathBuf::as_path), &asked.parquet)?;
    let mut exporter = Exporter { tree, began_ns, sum: Sum::default(), asked };
    for input in exporter.asked.files.each() {
        let store = match &input.files[..] {
            [folder] => folder.is_dir() && is_store(folder, &input),
            _ => false,
        };
        let done = match store {
            true => exporter.store(&input.files[0], &here),
            false => exporter.capture(&input),
        };
        if let Err(error) = done {
            exporter.sum.failed = true;
            messages::error(&error);
        }
    }
    exporter.end()
}

/// Whether a folder is a recorder's store, or was named as one.
fn is_store(folder: &Path, input: &Files) -> bool {
    Store::is_one(folder) || *folder == input.past.folder()
}

/// Written files without their final name.
type OpenFiles = Rc<RefCell<Vec<Output>>>;

/// An input, or a part of it, whose files are written together.
struct Unit<'a> {
    /// The host's partition; `None` if the input names the host.
    host: Option<Partition>,
    /// The name of its files, without the extension; `None` if it follows from the first records.
    name: Option<&'a str>,
    options: TableOptions,
}

/// The result of a unit.
struct Done {
    written: TablesWritten,
    partition: Partition,
}

impl Exporter {
    /// One capture: its cells, single I/Os, facts and findings.
    fn capture(&mut self, input: &Files) -> anyhow::Result<()> {
        let given = self.asked.host.as_deref().map(Partition::of_host);
        let options = TableOptions {
            minutes: self.asked.minutes,
            began_ns: self.began_ns,
            judged: true,
            cells: true,
            events: true,
            averages: self.asked.averages,
        };
        let unit = Unit { host: given, name: None, options };
        let mut failed = 0;
        let mut incomplete = false;
        let shown = shown(input);
        let emit = |sink: &mut TableSink| {
            failed = input.emit(sink)?.0;
            Ok(())
        };
        let state = |statements: &mut Statements, mut recording: Recording| {
            if recording.listings.is_empty() {
                return Ok(false);
            }
            incomplete = recording.is_incomplete();
            let left_out = crate::bounds::reported(&mut recording);
            if left_out {
                incomplete = true;
            }
            if !statements.is_dated() {
                return Err(no_date(&shown));
            }
            let unzoned = |clock: Option<Clock>| clock.is_some_and(|clock| !clock.utc);
            if self.began_ns.is_none() && Clock::of_each(&recording).into_iter().any(unzoned) {
                let text = format!("{shown}: its times have no time zone; UTC is assumed");
                messages::warn(&text, None);
            }
            statements.facts(&recording);
            statements.findings(&recording, &judged(&recording));
            Ok(true)
        };
        let done = self.unit(unit, emit, state)?;
        self.sum.failed |= failed > 0 && done.is_none();
        self.sum.incomplete |= failed > 0 || incomplete;
        let Some(done) = done else { return Ok(()) };
        self.left_out(&done.written, &shown)?;
        self.add(&done);
        Ok(())
    }

    /// Writes one unit's files, and renames them once all are complete. `None` if there was nothing
    /// to write.
    fn unit(
        &self,
        unit: Unit,
        emit: impl FnOnce(&mut TableSink) -> anyhow::Result<()>,
        state: impl FnOnce(&mut Statements, Recording) -> anyhow::Result<bool>,
    ) -> anyhow::Result<Option<Done>> {
        let pending = OpenFiles::default();
        // Why a file could not be opened: the writer knows only that it could not.
        let refused: RefCell<Option<anyhow::Error>> = RefCell::default();
        let place: RefCell<Option<(Partition, String)>> = RefCell::default();
        let open = |table: Table, date: &str, about: &About| -> io::Result<Box<dyn Write>> {
            let opened = || -> anyhow::Result<Box<dyn Write>> {
                let mut place = place.borrow_mut();
                let (partition, name) = match place.as_mut() {
                    Some(known) => known,
                    None => {
                        let partition = match &unit.host {
                            Some(partition) => partition.clone(),
                            None => host_of(about, self.asked.or_host.as_deref())?,
                        };
                        let name = match unit.name {
                            Some(name) => name.to_string(),
                            None => partition::name_of(about),
                        };
                        place.insert((partition, name))
                    }
                };
                let folders = partition.folders(table, date);
                let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
                let output = self.tree.file(&folders, &format!("{name}.parquet"))?;
                let handle = output.handle()?;
                pending.borrow_mut().push(output);
                Ok(Box::new(BufWriter::with_capacity(1 << 16, handle)))
            };
            opened().map_err(|error| {
                let text = error.to_string();
                *refused.borrow_mut() = Some(error);
                io::Error::other(text)
            })
        };
        let cannot = |cause: io::Error| {
            refused.borrow_mut().take().unwrap_or_else(|| {
                let text = format!("cannot write into `{}`: {cause}", self.asked.parquet.display());
                HintedError::error(
                    text,
                    "nothing of this input was written; free some space, or name another folder",
                )
            })
        };
        let mut sink = TableSink::new(unit.options, Box::new(&open));
        emit(&mut sink)?;
        let (recording, mut statements) = sink.settle().map_err(cannot)?;
        if !state(&mut statements, recording)? {
            return Ok(None);
        }
        for (key, value) in &self.asked.label {
            statements.add(Statement::new(None, StatementKind::Label, key, value));
        }
        let written = statements.finish().map_err(cannot)?;
        for output in pending.take() {
            output.keep_on_disk()?;
        }
        let place = place.borrow_mut().take();
        Ok(place.map(|(partition, _)| Done { written, partition }))
    }

    /// Reports what of an input is in no table.
    fn left_out(&mut self, written: &TablesWritten, shown: &str) -> anyhow::Result<()> {
        let unwritten = written.unwritten;
        let is_empty = written.rows.iter().all(|(table, _)| *table == Table::Facts);
        if unwritten.undated > 0 && is_empty {
            return Err(no_date(shown));
        }
        let reported = [
            (
                unwritten.other_layer,
                "timed in programs or at system calls: the tables contain only block I/O",
            ),
            (unwritten.untimed, "without a completion time"),
            (unwritten.undated, "of listings without a date; set it with `--began TIME`"),
            (unwritten.too_long, "of averages over more than an hour"),
            (
                unwritten.out_of_range,
                "dated outside 1970 to 9999, or more than 366 days apart in one input",
            ),
        ];
        for (count, what) in reported.iter().filter(|(count, _)| *count > 0) {
            messages::warn(&format!("{shown}: left out: {count} I/Os {what}"), None);
        }
        let wanted = unwritten.untimed + unwritten.undated + unwritten.out_of_range;
        self.sum.incomplete |= wanted > 0;
        Ok(())
    }

    fn add(&mut self, done: &Done) {
        let sum = &mut self.sum;
        for (table, rows) in &done.written.rows {
            match table {
                Table::Cells => sum.cells += rows,
                Table::Events => sum.events += rows,
                Table::Facts => sum.facts += rows,
                Table::Buckets => {}
            }
        }
        sum.ios += done.written.ios;
        sum.files += 1;
        if !sum.hosts.contains(&done.partition.host) {
            sum.hosts.push(done.partition.host.clone());
        }
        if let Some((first, last)) = done.written.days.clone() {
            let (from, to) = sum.days.take().unwrap_or((first.clone(), last.clone()));
            sum.days = Some((from.min(first), to.max(last)));
        }
    }

    /// Reports what was done.
    fn end(self) -> anyhow::Result<Status> {
        let sum = self.sum;
        if sum.files == 0 && sum.finer == 0 {
            return Ok(Status::Failed);
        }
        let output = self.tree.file(&["buckets"], "buckets.parquet")?;
        let mut buckets = Vec::new();
        tables::write_buckets(&mut buckets)?;
        let written = output.handle().and_then(|mut file| file.write_all(&buckets));
        written.map_err(|cause| output.cannot(cause))?;
        output.keep_on_disk()?;
        let mut out = sanitised::stdout();
        let (from, to) = sum.days.unwrap_or_default();
        let days = if from == to { from } else { format!("{from} to {to}") };
        writeln!(
            out,
            "{}, {days}: {} in {}, {}, {}; in `{}`",
            sum.hosts.join(", "),
            numbers::several(sum.ios, "I/O"),
            numbers::several(sum.cells, "cell"),
            numbers::several(sum.events, "single I/O"),
            numbers::several(sum.facts, "fact"),
            self.asked.parquet.display()
        )?;
        if sum.finer > 0 {
            writeln!(
                out,
                "{} unchanged: finer cells exist already",
                numbers::several(sum.finer, "hour")
            )?;
        }
        out.flush()?;
        Ok(Status::incomplete(sum.failed || sum.incomplete))
    }
}

/// Judges like `iowhy why`.
fn judged(recording: &Recording) -> Vec<Finding> {
    let _working = ProgressMessage::on("judging");
    judge(recording, &Options::default())
}

/// The host that an input names.
fn host_of(about: &About, otherwise: Option<&str>) -> anyhow::Result<Partition> {
    let named = about.hosts.iter().filter(|(format, _)| NAME_THE_HOST.contains(&format.as_str()));
    // `web-17, Linux 6.1.0 x86_64, 4 CPU`: the head of a report.
    let name = |text: &'_ str| text.split(',').next().unwrap_or_default().trim().to_string();
    let mut hosts: Vec<String> = named.map(|(_, host)| name(host)).collect();
    hosts.sort_unstable();
    hosts.dedup();
    match (&hosts[..], otherwise) {
        ([], Some(host)) => Ok(Partition::of_host(host)),
        ([], None) => Err(HintedError::error(
            "the input does not contain a host name",
            "set it: `--host NAME`",
        )),
        ([host], _) => match partition::host(host) {
            Ok(host) => Ok(Partition::of_host(&host)),
            Err(why) => Err(HintedError::error(
                format!("host name in the input: {why}"),
                "set it: `--host NAME`",
            )),
        },
        ([first, second, ..], _) => Err(HintedError::error(
            format!("the input contains several hosts: {first}, {second}"),
            "export one file per host, or set `--host NAME`",
        )),
    }
}

fn no_date(shown: &str) -> anyhow::Error {
    HintedError::error(
        format!("the records in `{shown}` have no date"),
        "set the time of the first one: `--began '2026-11-22 03:12'`",
    )
}

/// The name of an input in messages.
fn shown(input: &Files) -> String {
    input.files.first().map_or("-".to_string(), |file| file.display().to_string())
}
