//! A result is compared with the files before it is shown: an engine that loses a worker may
//! deliver rows twice.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::row::{RowConverter, SortField};

use crate::columns::{as_texts, as_whole, text, whole};
use crate::engine::Fleet;
use crate::print::{Answer, ROWS};
use crate::queries::Directives;
use crate::tables::Table;

/// Fails if keys are not unique, or if not all rows of the files are in the result, each once.
///
/// # Errors
/// If so, or if it cannot be found out.
pub async fn check(fleet: &Fleet, directives: &Directives, result: &Answer) -> anyhow::Result<()> {
    unique(&directives.key, result)?;
    let Some((table, condition)) = &directives.rows else { return Ok(()) };
    let known = Table::ALL.into_iter().find(|known| known.name() == table);
    let known = known.with_context(|| format!("the query's `rows` names no table: `{table}`"))?;
    let expected = expected(fleet, known, condition.as_deref()).await?;
    // By its text: a fraction is not a count of rows.
    let rows: ArrayRef = Arc::new(as_texts(&result.columns[result.place(ROWS)?])?);
    let rows = as_whole(&rows)?;
    ensure!(rows.null_count() == 0, "`{ROWS}` is not a number in every row of the result");
    let sum: i64 = rows.iter().flatten().sum();
    ensure!(
        sum == expected,
        "the result covers {sum} rows of `{table}` instead of {expected}: it is not shown\n\
         hint: run it again; if that happens twice, the engine or a file is broken"
    );
    Ok(())
}

/// The rows of a table as the footers count them; with a condition, as the embedded engine does,
/// which must count without it what the footers say.
///
/// # Errors
/// If it does not, or a file cannot be read.
pub async fn expected(fleet: &Fleet, table: Table, condition: Option<&str>) -> anyhow::Result<i64> {
    let footers = i64::try_from(fleet.rows(table))?;
    let name = table.name();
    let Some(condition) = condition else { return Ok(footers) };
    // Each row is looked at, for a count alone would be read off the footers.
    let sql = format!("SELECT sum(CASE WHEN {condition} THEN 1 ELSE 0 END), count(*) FROM {name}");
    let batches = fleet.query(&sql).await?;
    let first = batches.iter().find(|batch| batch.num_rows() > 0).context("no row")?;
    let all = whole(first, 1)?.value(0);
    ensure!(
        all == footers,
        "`{name}` has {footers} rows by its footers, and {all} were read: no result\n\
         hint: run it again; if that happens twice, a file is broken: export it again"
    );
    let those = whole(first, 0)?;
    Ok(those.iter().flatten().sum())
}

fn unique(key: &[String], result: &Answer) -> anyhow::Result<()> {
    let places: Vec<usize> =
        key.iter().map(|name| result.place(name)).collect::<anyhow::Result<_>>()?;
    if places.is_empty() {
        return Ok(());
    }
    let columns: Vec<ArrayRef> =
        places.iter().map(|place| result.columns[*place].clone()).collect();
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let rows = RowConverter::new(fields)?.convert_columns(&columns)?;
    let mut seen = HashSet::with_capacity(rows.num_rows());
    let Some((twice, _)) = rows.iter().enumerate().find(|(_, row)| !seen.insert(*row)) else {
        return Ok(());
    };
    let values = columns.iter().map(|column| Ok(text(&as_texts(column)?, twice).to_string()));
    bail!(
        "the result has two rows for {}: it is not shown\nhint: run it again; where it happens \
         twice, the engine or the query is broken",
        values.collect::<anyhow::Result<Vec<_>>>()?.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{AsArray, Float64Array, StringArray};
    use datafusion::arrow::compute::cast;
    use datafusion::arrow::datatypes::{DataType, Float64Type};

    fn result(disks: &[&str]) -> Answer {
        let columns = [disks.to_vec(), vec!["1"; disks.len()]];
        let columns = columns.map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef).to_vec();
        Answer { names: vec!["disk".into(), ROWS.into()], numbers: vec![false, true], columns }
    }

    #[test]
    fn a_row_that_came_twice_is_no_result() {
        let key = ["disk".to_string()];
        assert!(unique(&key, &result(&["a", "b"])).is_ok());
        let twice = unique(&key, &result(&["a", "b", "a"]));
        assert!(twice.is_err_and(|error| error.to_string().contains("two rows for a")));
        assert!(unique(&["host".to_string()], &result(&["a"])).is_err());
    }

    #[tokio::test]
    async fn a_row_that_is_missing_is_no_result() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let at = folder.path().join("fleet");
        let make = crate::make::Make { folder: at, ..crate::make::Make::small() };
        make.run()?;
        let fleet = Fleet::open(&[make.folder.as_path().into()]).await?;
        let text = "-- key: device, host\n-- rows: cells where op = 'read'\n
                    SELECT host, device, count(*) AS rows_read FROM cells WHERE op = 'read' GROUP \
                    BY host, device";
        let mut rows = Answer::of(&fleet.query(text).await?)?;
        let directives = Directives::of(text);
        check(&fleet, &directives, &rows).await?;
        let all = Directives { rows: Some(("cells".to_string(), None)), ..directives.clone() };
        assert!(check(&fleet, &all, &rows).await.is_err(), "writes are not in it");
        let place = rows.place(ROWS)?;
        let counts = rows.columns[place].clone();
        let fractions = cast(&counts, &DataType::Float64)?;
        let fractions: Float64Array =
            fractions.as_primitive::<Float64Type>().unary(|count: f64| count + 0.25);
        rows.columns[place] = Arc::new(fractions);
        let fraction = check(&fleet, &directives, &rows).await;
        assert!(fraction.is_err_and(|error| error.to_string().contains("is not a number")));
        rows.columns[place] = counts;
        rows.columns.iter_mut().for_each(|column| *column = column.slice(0, 1));
        let missing = check(&fleet, &directives, &rows).await;
        assert!(missing.is_err_and(|error| error.to_string().contains("it is not shown")));
        Ok(())
    }
}
