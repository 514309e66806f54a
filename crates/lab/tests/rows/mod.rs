//! What a row of Parquet says, as the reference crate reads it.

use parquet::record::{Field, Row};

/// A column of a row, by its name.
pub(crate) fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    row.get_column_iter().find(|(known, _)| *known == name).map(|(_, field)| field).expect(name)
}

/// A text; `None` where there is none.
pub(crate) fn text(row: &Row, name: &str) -> Option<String> {
    match field(row, name) {
        Field::Null => None,
        Field::Str(text) => Some(text.clone()),
        other => panic!("{name}: {other:?}"),
    }
}
