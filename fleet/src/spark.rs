//! The same statement on an Apache Spark that is there already, by `spark-submit`.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use datafusion::arrow::array::{ArrayRef, StringBuilder};

use crate::place::Place;
use crate::print::Answer;

/// What runs on Spark's side.
const DRIVER: &str = include_str!("../engines/spark.py");
/// Lines of Spark's own messages that are shown when it fails.
const LINES: usize = 12;

/// Runs one statement.
///
/// # Errors
/// If there is no `spark-submit`, if Spark fails, or if what it gives is not a result.
pub fn query(
    text: &str,
    places: &[Place],
    master: &str,
    conf: &[String],
) -> anyhow::Result<Answer> {
    let work = tempfile::tempdir().context("cannot create a folder for Spark's files")?;
    let (driver, query, result) =
        (work.path().join("spark.py"), work.path().join("query.sql"), work.path().join("result"));
    std::fs::write(&driver, DRIVER)?;
    std::fs::write(&query, text)?;
    let places = places.iter().map(Place::absolute).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let submit = std::env::var_os("SPARK_HOME")
        .map_or(PathBuf::from("spark-submit"), |home| Path::new(&home).join("bin/spark-submit"));
    let output = Command::new(&submit)
        .args(["--master", master, "--deploy-mode", "client"])
        .args(conf.iter().flat_map(|one| ["--conf", one]))
        .arg(&driver)
        .args([&query, &result])
        .args(&places)
        .stdin(Stdio::null())
        .output()
        .with_context(|| {
            format!("cannot start `{}`: install Apache Spark, or set SPARK_HOME", submit.display())
        })?;
    if !output.status.success() {
        let reported = String::from_utf8_lossy(&output.stderr);
        let reported: Vec<&str> = reported.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = reported.iter().skip(reported.len().saturating_sub(LINES));
        anyhow::bail!("Spark failed:\n{}", last.copied().collect::<Vec<_>>().join("\n"));
    }
    read(&result)
}

fn read(result: &Path) -> anyhow::Result<Answer> {
    let file = std::fs::File::open(result).context("Spark wrote no result")?;
    let mut lines = BufReader::new(file).lines();
    let names: Vec<String> = serde_json::from_str(&lines.next().context("no names")??)?;
    let numbers: Vec<bool> = serde_json::from_str(&lines.next().context("no kinds")??)?;
    let mut columns: Vec<StringBuilder> = names.iter().map(|_| StringBuilder::new()).collect();
    for line in lines {
        let row: Vec<Option<String>> = serde_json::from_str(&line?)?;
        ensure!(row.len() == names.len(), "a row of Spark's result is truncated");
        columns.iter_mut().zip(row).for_each(|(column, value)| column.append_option(value));
    }
    ensure!(numbers.len() == names.len(), "the heading of Spark's result is truncated");
    let columns = columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
    Ok(Answer { names, numbers, columns })
}
