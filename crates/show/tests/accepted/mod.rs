//! Goldens: compares output with what a person reviewed and accepted.

use std::path::PathBuf;

/// Compares with the golden of that name, or writes it if `UPDATE_GOLDEN` is set.
pub(crate) fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("no golden `{name}`: look at it, then set UPDATE_GOLDEN=1"));
    assert_eq!(text, golden, "`{name}` has changed: look at it, then set UPDATE_GOLDEN=1");
}
