//! `iowhy --version --verbose`: which build this is.

use std::io::Write;

use crate::command::Status;
use crate::sanitised;

/// Answers `--version` beside `--verbose`, in any order and nothing else; `None` if that was not
/// asked. `--version` alone is the command line's.
pub(crate) fn asked_for() -> Option<Status> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let is = |word: &str, names: [&str; 2]| names.contains(&word);
    let version = words.iter().any(|word| is(word, ["--version", "-V"]));
    let verbose = words.iter().any(|word| is(word, ["--verbose", "-v"]));
    let only =
        words.iter().all(|word| is(word, ["--version", "-V"]) || is(word, ["--verbose", "-v"]));
    if !(version && verbose && only) {
        return None;
    }
    let mut out = sanitised::stdout();
    let written = out.write_all(text().as_bytes()).and_then(|()| out.flush());
    Some(if written.is_ok() { Status::Done } else { Status::Failed })
}

/// Version, commit, target, compiler and flags, a line each.
fn text() -> String {
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    format!(
        "iowhy {}\ncommit: {}\ntarget: {}\nC library: {linked}\ncompiler: {}\nprofile: {} \
         (opt-level {})\n",
        env!("CARGO_PKG_VERSION"),
        option_env!("IOWHY_COMMIT").unwrap_or("not recorded (built outside dist/build)"),
        env!("IOWHY_TARGET"),
        env!("IOWHY_RUSTC"),
        env!("IOWHY_PROFILE"),
        env!("IOWHY_OPT_LEVEL"),
    )
}
