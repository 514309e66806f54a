//! The tree under test: the files of the workspace, as text.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::lexer;

/// A Rust file of a crate.
pub struct Source {
    /// Its path relative to the workspace, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its text with comments and literals blanked out, line for line.
    pub code: String,
}

impl Source {
    /// A source of a given text.
    pub fn new(path: &str, text: &str) -> Source {
        Source { path: path.to_string(), text: text.to_string(), code: lexer::code_of(text) }
    }

    /// The crate's folder name, if the file is a crate's.
    pub fn krate(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The file's name without its ending.
    pub fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.strip_suffix(".rs").unwrap_or(name)
    }

    /// Lines of code that ship, numbered from 1: those before the tests' own module.
    pub fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let end =
            if self.path.contains("/tests/") { 0 } else { self.tests().unwrap_or(usize::MAX) };
        self.code.lines().take(end).enumerate().map(|(place, line)| (place + 1, line))
    }

    /// Lines before `#[cfg(test)]` with a module's body behind it.
    fn tests(&self) -> Option<usize> {
        let lines: Vec<&str> = self.code.lines().map(str::trim).collect();
        lines.windows(2).position(|two| {
            matches!(two, ["#[cfg(test)]", next] if next.starts_with("mod ") && next.ends_with('{'))
        })
    }
}

/// The workspace's files.
pub struct Tree {
    /// Where it is.
    pub root: PathBuf,
    /// Rust files under `crates/`.
    pub sources: Vec<Source>,
    /// Every file that is or is about to be committed, relative to the root.
    pub files: Vec<String>,
}

impl Tree {
    /// Reads the workspace at `root`.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(root: &Path) -> std::io::Result<Tree> {
        let files = match committed(root) {
            Some(files) => files,
            None => walk(root, root)?,
        };
        let mut sources = Vec::new();
        for path in files.iter().filter(|path| path.starts_with("crates/") && is_rust(path)) {
            sources.push(Source::new(path, &std::fs::read_to_string(root.join(path))?));
        }
        Ok(Tree { root: root.to_path_buf(), sources, files })
    }

    /// The workspace this crate was built in.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn own() -> std::io::Result<Tree> {
        Tree::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?)
    }

    /// A tree of given sources, for the rules' own tests.
    pub fn of(sources: &[(&str, &str)]) -> Tree {
        Tree {
            root: PathBuf::new(),
            sources: sources.iter().map(|(path, text)| Source::new(path, text)).collect(),
            files: sources.iter().map(|(path, _)| path.to_string()).collect(),
        }
    }

    /// The text of a file, `None` if it is absent or no text.
    pub fn text(&self, path: &str) -> Option<String> {
        match self.source(path) {
            Some(source) => Some(source.text.clone()),
            None => std::fs::read_to_string(self.root.join(path)).ok(),
        }
    }

    /// A Rust file by its path.
    pub fn source(&self, path: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.path == path)
    }

    /// Rust files directly in a folder.
    pub fn folder<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a Source> {
        self.sources.iter().filter(move |source| {
            source
                .path
                .strip_prefix(folder)
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|name| !name.contains('/'))
        })
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "rs")
}

/// What git knows or would take; `None` outside a repository.
fn committed(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut files: Vec<String> = text
        .split('\0')
        .filter(|path| !path.is_empty() && root.join(path).is_file())
        .map(str::to_string)
        .collect();
    files.sort();
    files.dedup();
    (output.status.success() && !files.is_empty()).then_some(files)
}

fn walk(root: &Path, folder: &Path) -> std::io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        if path.is_dir() && name != "target" && name != ".git" {
            files.append(&mut walk(root, &path)?);
        } else if let Ok(inside) = path.strip_prefix(root)
            && path.is_file()
        {
            files.push(inside.to_string_lossy().into_owned());
        }
    }
    files.sort();
    Ok(files)
}
