//! `iowhy-fleet sql`: a query over the tables of all hosts.

use std::io::Write;
use std::time::Instant;

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::command::Status;
use crate::engine::Fleet;
use crate::place::Place;
use crate::print::Answer;
use crate::queries::{self, Directives, QUERIES};
use crate::{answers, say, spark};

/// What to ask.
#[derive(Args, Clone, Debug)]
#[command(after_help = names())]
pub struct Sql {
    /// A name from the list below, a file `*.sql`, or a statement
    #[arg(allow_hyphen_values = true)]
    pub query: String,
    /// Folders that `iowhy export --parquet` or `iowhy-fleet make` wrote, or `s3://bucket/prefix`
    /// of such
    #[arg(required_unless_present = "show")]
    pub folders: Vec<Place>,
    /// Rows to print; 0 for all
    #[arg(long)]
    pub limit: Option<usize>,
    /// All rows as comma-separated values, in byte order
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// One object per line
    #[arg(long)]
    pub json: bool,
    /// The engine: this program, or an existing Spark
    #[arg(long, value_enum, default_value_t = Engine::Embedded)]
    pub engine: Engine,
    /// Address of Spark: `spark://host:7077`; `spark-submit` must be on the path, or in
    /// $SPARK_HOME/bin
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
    /// Setting for Spark, as for `spark-submit --conf`
    #[arg(long, value_name = "KEY=VALUE")]
    pub conf: Vec<String>,
    /// Run the query this many times, and print the duration of each to standard error
    #[arg(long, value_name = "TIMES", default_value_t = 1)]
    pub repeat: u32,
    /// Print the text of the query instead
    #[arg(long)]
    pub show: bool,
}

/// The engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Engine {
    /// DataFusion, in this program.
    Embedded,
    /// Apache Spark, by `spark-submit`.
    Spark,
}

fn names() -> String {
    let width = QUERIES.iter().map(|query| query.name.len()).max().unwrap_or(0);
    let lines = QUERIES
        .iter()
        .map(|query| format!("  {:<width$}  {}", query.name, queries::summary(query.text)));
    format!("Queries:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

impl Sql {
    /// Answers.
    ///
    /// # Errors
    /// If the query is refused, or its result and the files disagree.
    pub async fn run(&self) -> anyhow::Result<Status> {
        let text = text(&self.query)?;
        let out = &mut std::io::stdout().lock();
        if self.show {
            write!(out, "{text}")?;
            return Ok(Status::Done);
        }
        let directives = Directives::of(&text);
        let fleet = Fleet::open(&self.folders).await?;
        if directives.key.is_empty() {
            say("not checked: the query names no key (`-- key: COLUMN, ...` as its first line)");
        } else if directives.rows.is_none() {
            say(
                "only its keys are checked: the query names no table (`-- rows: TABLE` at its top)",
            );
        }
        for _ in 1..self.repeat {
            self.answer(&fleet, &text, &directives).await?;
        }
        let rows = self.answer(&fleet, &text, &directives).await?.rows()?;
        let limit = match self.limit.or(directives.limit) {
            None | Some(0) => usize::MAX,
            Some(limit) => limit,
        };
        match (self.csv, self.json) {
            (true, _) => rows.csv(out)?,
            (_, true) => rows.json(limit, out)?,
            _ => rows.table(limit, out)?,
        }
        out.flush()?;
        Ok(Status::Done)
    }

    /// Asks once, and compares the result with the files.
    async fn answer(
        &self,
        fleet: &Fleet,
        text: &str,
        directives: &Directives,
    ) -> anyhow::Result<Answer> {
        let begun = Instant::now();
        let answer = match (self.engine, &self.master) {
            (Engine::Embedded, _) => Answer::of(&fleet.query(text).await?)?,
            (Engine::Spark, Some(master)) => spark::query(text, &self.folders, master, &self.conf)?,
            (Engine::Spark, None) => {
                anyhow::bail!(
                    "`--engine spark` needs `--master`\nhint: `--master spark://host:7077`"
                )
            }
        };
        let asked = begun.elapsed().as_secs_f64();
        answers::check(fleet, directives, &answer).await?;
        if self.repeat > 1 {
            let checked = begun.elapsed().as_secs_f64() - asked;
            say(&format!("{asked:.3} s, and {checked:.3} s to compare it with the files"));
        }
        Ok(answer)
    }
}

/// The text of a query: by name, from a file, or as it is.
fn text(query: &str) -> anyhow::Result<String> {
    if let Some(named) = QUERIES.iter().find(|named| named.name == query) {
        return Ok(named.text.to_string());
    }
    if query.ends_with(".sql") {
        return std::fs::read_to_string(query).with_context(|| format!("cannot read `{query}`"));
    }
    anyhow::ensure!(
        query.contains(char::is_whitespace),
        "there is no query `{query}`\nhint: `iowhy-fleet sql --help` lists them; a file ends in \
         `.sql`"
    );
    Ok(query.to_string())
}
