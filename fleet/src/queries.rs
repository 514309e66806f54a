//! The queries it knows by name: one file each in `queries/`.
//!
//! They are written so that DataFusion, Spark and DuckDB give the same bytes: whole numbers only,
//! bucket indexes as they are stored, quotients by `floor` of doubles. Comments at the top direct
//! the check and the print:
//!
//! ```sql
//! -- What it shows, in a line.
//! -- key: the columns that make a row one of its kind
//! -- rows: a table, and a condition on it, if not all of it is read
//! -- limit: rows to print unless told
//! ```
//!
//! A query with `rows` has a column `rows_read`, the rows of the table that a row of the result
//! rests on.

/// One of them.
pub struct NamedQuery {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them, in the order of their names.
pub const QUERIES: &[NamedQuery] = &[
    NamedQuery { name: "heatmap", text: include_str!("../queries/heatmap.sql") },
    NamedQuery { name: "models", text: include_str!("../queries/models.sql") },
    NamedQuery { name: "neighbours", text: include_str!("../queries/neighbours.sql") },
    NamedQuery { name: "percentiles", text: include_str!("../queries/percentiles.sql") },
    NamedQuery { name: "requests", text: include_str!("../queries/requests.sql") },
    NamedQuery { name: "shared", text: include_str!("../queries/shared.sql") },
    NamedQuery { name: "since", text: include_str!("../queries/since.sql") },
    NamedQuery { name: "tail", text: include_str!("../queries/tail.sql") },
    NamedQuery { name: "worst", text: include_str!("../queries/worst.sql") },
];

/// What the comments at the top of a query direct.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    /// Columns that are unique together.
    pub key: Vec<String>,
    /// The table that is read, and a condition.
    pub rows: Option<(String, Option<String>)>,
    /// Rows to print.
    pub limit: Option<usize>,
}

impl Directives {
    /// Of a query.
    pub fn of(text: &str) -> Directives {
        let mut found = Directives::default();
        for line in text.lines().map_while(|line| line.trim().strip_prefix("--")) {
            match line.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
                Some(("key", value)) => {
                    found.key = value.split(',').map(|name| name.trim().to_string()).collect();
                }
                Some(("rows", value)) => {
                    let (table, condition) = match value.split_once(" where ") {
                        Some((table, condition)) => (table, Some(condition.trim().to_string())),
                        None => (value, None),
                    };
                    found.rows = Some((table.trim().to_string(), condition));
                }
                Some(("limit", value)) => found.limit = value.parse().ok(),
                _ => {}
            }
        }
        found
    }
}

/// The first line of a query's comments.
pub fn summary(text: &str) -> &str {
    text.lines().next().and_then(|line| line.strip_prefix("--")).unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_direct() {
        let read = Directives::of(
            "-- Shows.\n-- key: a, b\n-- rows: cells where x = 'y'\n-- limit: 5\nSELECT\n-- key: z",
        );
        assert_eq!(read.key, ["a", "b"]);
        assert_eq!(read.rows, Some(("cells".to_string(), Some("x = 'y'".to_string()))));
        assert_eq!(read.limit, Some(5));
    }

    #[test]
    fn each_has_a_key_and_says_what_it_reads() {
        for query in QUERIES {
            let read = Directives::of(query.text);
            assert!(!read.key.is_empty() && read.rows.is_some(), "{}", query.name);
            assert!(!summary(query.text).is_empty(), "{}", query.name);
        }
    }

    #[tokio::test]
    async fn single_requests_by_second_and_latency() -> anyhow::Result<()> {
        use crate::engine::Fleet;
        use crate::print::Answer;
        use crate::tables::{TABLE_KEY, Table, VERSION, VERSION_KEY, schema};
        use datafusion::arrow::array::{
            ArrayRef, Int32Array, RecordBatch, TimestampMicrosecondArray, new_null_array,
        };
        use datafusion::parquet::arrow::ArrowWriter;
        use datafusion::parquet::file::metadata::KeyValue;
        use datafusion::parquet::file::properties::WriterProperties;
        use std::sync::Arc;

        let folder = tempfile::tempdir()?;
        let of_host = folder.path().join("events/host=h/date=1970-01-01");
        std::fs::create_dir_all(&of_host)?;
        // Buckets of 1, 1, 2 and 1.5 µs.
        let bucket = [Some(8), Some(8), Some(16), Some(12), None];
        let second = vec![0, 0, 1_000_000, 1_000_000, 1_000_000];
        let events = schema(Table::Events);
        let columns = events.fields().iter().map(|field| -> ArrayRef {
            match field.name().as_str() {
                "second" => {
                    Arc::new(TimestampMicrosecondArray::from(second.clone()).with_timezone("UTC"))
                }
                "bucket" => Arc::new(Int32Array::from(bucket.to_vec())),
                _ => new_null_array(field.data_type(), bucket.len()),
            }
        });
        let batch = RecordBatch::try_new(events.clone(), columns.collect())?;
        let about = [(VERSION_KEY, VERSION), (TABLE_KEY, Table::Events.name())];
        let about = about.map(|(key, value)| KeyValue::new(key.to_string(), value.to_string()));
        let properties =
            WriterProperties::builder().set_key_value_metadata(Some(about.to_vec())).build();
        let file = std::fs::File::create(of_host.join("a.parquet"))?;
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties))?;
        writer.write(&batch)?;
        writer.close()?;
        let buckets = folder.path().join("buckets");
        std::fs::create_dir(&buckets)?;
        iowhy_show::tables::write_buckets(&mut std::fs::File::create(
            buckets.join("buckets.parquet"),
        )?)?;

        let Some(query) = QUERIES.iter().find(|query| query.name == "requests") else {
            anyhow::bail!("no such query")
        };
        let fleet = Fleet::open(&[folder.path().into()]).await?;
        let answer = Answer::of(&fleet.query(query.text).await?)?;
        crate::answers::check(&fleet, &Directives::of(query.text), &answer).await?;
        let expected = [
            vec!["1970-01-01T00:00:00Z", "1000", "2"],
            vec!["1970-01-01T00:00:01Z", "1500", "1"],
            vec!["1970-01-01T00:00:01Z", "2000", "1"],
        ];
        let rows = answer.rows()?;
        let shown = (0..rows.count()).map(|row| rows.row(row).collect::<Vec<_>>());
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        Ok(())
    }
}
