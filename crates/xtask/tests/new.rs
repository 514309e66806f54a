//! One member of each list is begun in a copy of the tree: which files that takes, and that they
//! compile.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::new::new;

/// A member of each list, and how many files it takes: its own and its list, and a verdict is
/// listed besides.
const ADDED: [(&str, &str, usize); 6] = [
    ("collector", "fan-speed", 2),
    ("command", "ponder", 2),
    ("detector", "device.rattle", 3),
    ("format", "punch-card", 2),
    ("kind", "first-touch", 2),
    ("view", "haiku", 2),
];

/// A copy of the tracked files, in a repository of its own; removed in the end.
struct TreeCopy(PathBuf);

impl Drop for TreeCopy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn git(at: &Path, words: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(at).args(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn copied(name: &str) -> TreeCopy {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let to = std::env::temp_dir().join(format!("iowhy-new-{name}-{}", std::process::id()));
    for file in git(root, &["ls-files"]).lines() {
        // One that is tracked and deleted in the work tree is not part of the tree under test.
        if root.join(file).is_file() {
            std::fs::create_dir_all(to.join(file).parent().unwrap()).unwrap();
            std::fs::copy(root.join(file), to.join(file)).unwrap();
        }
    }
    git(&to, &["init", "--quiet"]);
    git(&to, &["add", "--all", "--force"]);
    let who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
    git(&to, &[&who[..], &["commit", "--quiet", "--message", "as it is"]].concat());
    TreeCopy(to)
}

#[test]
fn a_member_is_its_file_and_an_entry_in_its_list() {
    let tree = copied("files");
    for (word, name, files) in ADDED {
        let written = new(&tree.0, word, name).unwrap();
        let changed = git(&tree.0, &["status", "--porcelain", "--untracked-files=all"]);
        let mut changed: Vec<&str> = changed.lines().map(|line| &line[3..]).collect();
        changed.sort_unstable();
        let mut said = written.clone();
        said.sort();
        assert_eq!(changed, said, "{word}");
        assert_eq!(changed.len(), files, "{word}: {changed:?}");
        assert!(new(&tree.0, word, name).unwrap_err().to_string().contains("exists"));
        git(&tree.0, &["add", "--all"]);
        let who = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
        git(&tree.0, &[&who[..], &["commit", "--quiet", "--message", word]].concat());
        println!("{word}: {}", written.join(", "));
    }
}

#[test]
#[ignore = "long: compiles a copy of the tree"]
fn what_is_begun_compiles_without_a_warning() {
    let tree = copied("compiled");
    for (word, name, _) in ADDED {
        new(&tree.0, word, name).unwrap();
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let output = Command::new(cargo)
        .args(["check", "--locked", "--offline", "--package", "iowhy"])
        .current_dir(&tree.0)
        .env("CARGO_TARGET_DIR", tree.0.join("target"))
        .env("RUSTFLAGS", "-D warnings")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
