//! The stories in `docs/GALLERY.md` are true: their commands show what stands below them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Words with single blanks between them and no marks of the margin.
fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "▌").collect::<Vec<_>>().join(" ")
}

#[test]
fn every_story_is_what_its_command_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/GALLERY.md")).unwrap();
    let (_, page) = page.split_once("<!-- stories -->").expect("the page has stories");
    let stories = page.lines().filter(|line| line.starts_with("## ")).count();
    let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    assert!(stories >= 7 && blocks.len() >= stories, "{stories} stories, {} blocks", blocks.len());
    let mut wrong = Vec::new();
    for block in &blocks {
        let mut lines = block.trim().lines();
        let command = lines.next().unwrap().strip_prefix("$ iowhy ").expect("a command");
        let output = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .args(command.split_whitespace())
            .current_dir(&root)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let reported = words(&String::from_utf8(output.stdout).unwrap());
        let expected = lines.filter(|line| *line != "...");
        for line in expected.filter(|line| !reported.contains(&words(line))) {
            wrong.push(format!("`iowhy {command}` does not say: {line}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    println!("{stories} stories, {} commands", blocks.len());
}
