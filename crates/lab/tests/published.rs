//! The answer to every published capture, by name: no answer changes unnoticed.
//!
//! `published/answers.txt` has a line for each: its name, the verdict, and the grade.
//! `UPDATE_GOLDEN=1` writes it anew; each line that changes then stands in the commit.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use iowhy_lab::score::published;

#[test]
fn each_answer_is_the_one_that_is_written_down() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("published/answers.txt");
    let mut answers = String::new();
    for case in published().expect("the list of captures and their files") {
        let reported = case.reported();
        let _ = writeln!(answers, "{} {} {}", case.name, reported.verdict, reported.grade.word());
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &answers).expect("a folder that can be written");
    }
    let known = fs::read_to_string(&file).expect("the answers: `UPDATE_GOLDEN=1` writes them");
    let changed: Vec<String> = known
        .lines()
        .zip(answers.lines())
        .filter(|(before, now)| before != now)
        .map(|(before, now)| format!("  was  {before}\n  is   {now}"))
        .collect();
    assert!(changed.is_empty(), "answers that changed:\n{}", changed.join("\n"));
    assert_eq!(known.lines().count(), answers.lines().count(), "captures");
}
