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
    /// Whether all of it is compiled for tests only.
    pub tests: bool,
}

impl Source {
    /// A source of a given text.
    pub fn new(path: &str, text: &str) -> Source {
        let tests = path.contains("/tests/") || path.ends_with("/tests.rs");
        Source { path: path.to_string(), text: text.to_string(), code: lexer::code_of(text), tests }
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
        let end = if self.tests { 0 } else { self.body().unwrap_or(usize::MAX) };
        self.code.lines().take(end).enumerate().map(|(place, line)| (place + 1, line))
    }

    /// Lines before `#[cfg(test)]` with a module's body after it.
    fn body(&self) -> Option<usize> {
        self.test_modules().find(|(_, next)| next.ends_with('{')).map(|(place, _)| place)
    }

    /// Files of modules that are declared for tests only, as `#[cfg(test)] mod name;`.
    fn test_files(&self) -> Vec<String> {
        let folder = match self.path.rsplit_once('/') {
            Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
            _ => self.path.trim_end_matches(".rs"),
        };
        let names = self.test_modules().filter_map(|(_, next)| next.strip_suffix(';'));
        let names = names.filter_map(|line| line.rsplit(' ').next());
        names.map(|name| format!("{folder}/{name}.rs")).collect()
    }

    /// The lines that declare a module after a line `#[cfg(test)]`, and where that one is.
    fn test_modules(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.lines().map(str::trim).enumerate();
        let pairs = lines.clone().zip(lines.skip(1));
        pairs.filter_map(|((place, this), (_, next))| {
            let module = next.starts_with("mod ") || next.starts_with("pub mod ");
            (this.starts_with("#[cfg(") && this.contains("test") && module).then_some((place, next))
        })
    }
}

/// The workspace's files.
pub struct Tree {
    /// Where it is.
    pub root: PathBuf,
    /// Rust files of all crates, those of the workspaces `fleet/` and `fuzz/` among them.
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
        for path in files.iter().filter(|path| is_ours(path) && is_rust(path)) {
            sources.push(Source::new(path, &std::fs::read_to_string(root.join(path))?));
        }
        let tests: Vec<String> = sources.iter().flat_map(Source::test_files).collect();
        for source in &mut sources {
            source.tests |= tests.contains(&source.path);
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

/// Whether the file is a crate's.
fn is_ours(path: &str) -> bool {
    ["crates/", "bench/", "fleet/", "fuzz/"].iter().any(|folder| path.starts_with(folder))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ships_ends_where_the_tests_begin() {
        let list =
            "//! L.\n#[cfg(test)]\npub mod trials;\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n";
        let source = Source::new("crates/read/src/formats.rs", list);
        assert_eq!(source.shipped().count(), 4);
        assert_eq!(source.test_files(), ["crates/read/src/formats/trials.rs"]);
        let source = Source::new("crates/read/src/lib.rs", list);
        assert_eq!(source.test_files(), ["crates/read/src/trials.rs"]);
    }
}
