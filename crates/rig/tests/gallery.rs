//! GALLERY is what `rig gallery` writes today, and the pictures of the README show the words that
//! iowhy prints today. Needs a built `iowhy`, and no root: its disks are simulated.

use std::path::{Path, PathBuf};
use std::process::Command;

use iowhy_rig::programs::iowhy;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn page() -> String {
    std::fs::read_to_string(docs().join("GALLERY.md")).expect("GALLERY.md")
}

#[test]
fn the_gallery_is_what_rig_writes_today() {
    if let Err(error) = iowhy() {
        println!("skipped: the_gallery_is_what_rig_writes_today needs {error}");
        return;
    }
    let name = format!("gallery-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    // The stories after the pictures are kept.
    std::fs::write(folder.join("GALLERY.md"), page()).unwrap();
    let mut rig = Command::new(env!("CARGO_BIN_EXE_rig"));
    let output = rig.args(["gallery", "--out"]).arg(&folder).output().expect("rig starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = std::fs::read_to_string(folder.join("GALLERY.md")).unwrap();
    let differs = written.lines().zip(page().lines()).position(|(new, old)| new != old);
    let line = differs.map(|place| place + 1);
    assert!(written == page(), "GALLERY.md is stale from line {line:?} on: run `rig gallery`");
    for picture in std::fs::read_dir(docs().join("gallery")).unwrap().flatten() {
        let today = std::fs::read(folder.join("gallery").join(picture.file_name())).ok();
        let is_same = today == std::fs::read(picture.path()).ok();
        assert!(is_same, "{} is stale: run `rig gallery`", picture.path().display());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_picture_of_names_has_the_reasons_and_steps_of_today() {
    let page = page();
    let start = page.find("a disk that retries sectors").expect("the disk of the picture");
    let today = block(page[start..].lines().map(str::to_string), "because");
    let picture = block(lines("names.svg").into_iter(), "because");
    assert!(!picture.is_empty());
    let how = "`sudo rig kernels --only 'seven names' --picture docs/pictures/names.svg newest`";
    assert_eq!(picture, today, "docs/pictures/names.svg is stale: run {how}");
}

#[test]
fn the_picture_of_top_has_the_columns_of_today() {
    let golden = "../show/tests/golden/top--80x24-none.txt";
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(golden);
    let golden = std::fs::read_to_string(golden).unwrap();
    let heading = |mut lines: std::vec::IntoIter<String>| -> Vec<String> {
        let line = lines.find(|line| line.trim_start().starts_with("device ")).expect("a heading");
        line.split_whitespace().map(str::to_string).collect()
    };
    let narrow: Vec<String> = golden.lines().map(str::to_string).collect();
    let picture = heading(lines("top.svg").into_iter());
    // The picture is wider and shows more columns, in the same order.
    let mut rest = picture.iter();
    for column in heading(narrow.into_iter()) {
        let is_there = rest.any(|other| *other == column);
        assert!(is_there, "`{column}`: docs/pictures/top.svg is stale: run `sudo rig pictures`");
    }
}

/// The lines of a picture of a terminal: pieces of text with the same height, from left to right.
fn lines(name: &str) -> Vec<String> {
    let svg = std::fs::read_to_string(docs().join("pictures").join(name)).unwrap();
    let mut lines: Vec<(&str, String)> = Vec::new();
    for piece in svg.split("<text ").skip(1) {
        let (tag, rest) = piece.split_once('>').unwrap();
        let (text, _) = rest.split_once("</text>").unwrap();
        let (_, y) = tag.split_once("y=\"").unwrap();
        let (y, _) = y.split_once('"').unwrap();
        let text = text.replace('\u{a0}', " ").replace("&lt;", "<").replace("&gt;", ">");
        let text = text.replace("&amp;", "&");
        match lines.last_mut().filter(|(last, _)| *last == y) {
            Some((_, line)) => line.push_str(&text),
            None => lines.push((y, text)),
        }
    }
    lines.into_iter().map(|(_, line)| line).collect()
}

/// The words of a part of the first screen without its numbers: from its label to the next label.
fn block(lines: impl Iterator<Item = String>, label: &str) -> String {
    let from = lines.skip_while(|line| !line.trim_start().starts_with(label));
    let rest =
        from.enumerate().take_while(|(place, line)| *place == 0 || line.starts_with("      "));
    let words = rest.map(|(_, line)| line.trim().trim_start_matches(label).trim().to_string());
    let text = words.collect::<Vec<_>>().join(" ");
    let numbers = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let masked = text.split_whitespace().map(|word| if numbers(word) { "#" } else { word });
    masked.collect::<Vec<_>>().join(" ")
}
