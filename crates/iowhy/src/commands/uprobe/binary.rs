//! Finds the file of a short name such as `libc` or `mysqld`.

use iowhy_model::Order as _;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Folders of libraries besides those of `LD_LIBRARY_PATH`.
const FOLDERS: [&str; 6] =
    ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib", "/usr/local/lib64"];

/// The file of that name: the path itself; else a file mapped by the process; else a program in
/// `PATH` or a library in the usual folders. The name itself if nothing is found.
pub(super) fn find(file: &Path, pid: Option<u32>) -> PathBuf {
    let Some(name) = file.to_str().filter(|name| !name.is_empty() && !name.contains('/')) else {
        return file.to_path_buf();
    };
    if file.exists() {
        return file.to_path_buf();
    }
    let mapped = pid.and_then(|pid| mapped(name, pid));
    mapped
        .or_else(|| variable("PATH").into_iter().map(|one| one.join(name)).find(|one| is_elf(one)))
        .or_else(|| library(name))
        .unwrap_or_else(|| file.to_path_buf())
}

fn variable(name: &str) -> Vec<PathBuf> {
    std::env::var_os(name).map_or(Vec::new(), |paths| std::env::split_paths(&paths).collect())
}

/// The file that a process has mapped under that name.
fn mapped(name: &str, pid: u32) -> Option<PathBuf> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?;
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| Path::new(&line[at..])));
    paths.filter(|path| is_named(path, name)).find(|path| is_elf(path)).map(Path::to_path_buf)
}

/// The library of that name, the shortest version first: `libc.so.6` for `libc`.
fn library(name: &str) -> Option<PathBuf> {
    let mut folders = variable("LD_LIBRARY_PATH");
    let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
    for folder in FOLDERS {
        folders.push(Path::new(folder).join(&multiarch));
        folders.push(PathBuf::from(folder));
    }
    folders.into_iter().find_map(|folder| {
        let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| is_named(path, name)).collect();
        found.order_by_key(|path| (path.as_os_str().len(), path.clone()));
        found.into_iter().find(|path| is_elf(path))
    })
}

/// Whether a file is the program or library of that name: `libc.so.6` is `libc`, `libcap.so` is
/// not.
fn is_named(path: &Path, name: &str) -> bool {
    let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let rest = file.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest == ".so" || rest.starts_with(".so."))
}

/// Whether it is code: `libc.so` of a compiler's package is a linker script.
fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let read = is_file && File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    read && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_its_versions_only() {
        for (file, name) in [("libc.so.6", "libc"), ("libc.so", "libc"), ("fio", "fio")] {
            assert!(is_named(&Path::new("/usr/lib").join(file), name), "{file}");
        }
        for (file, name) in [("libcap.so.2", "libc"), ("libc.a", "libc"), ("libc-2.31.so", "libc")]
        {
            assert!(!is_named(&Path::new("/usr/lib").join(file), name), "{file}");
        }
    }

    #[test]
    fn a_path_and_an_unknown_name_stay_as_they_are() {
        for name in ["/nowhere", "./server", "no-program-has-this-name"] {
            assert_eq!(find(Path::new(name), None), Path::new(name));
        }
    }

    #[test]
    fn a_process_tells_its_own_file() {
        let me = std::env::current_exe().unwrap();
        let name = me.file_name().unwrap();
        let found = find(Path::new(name), Some(std::process::id()));
        assert_eq!(found.file_name(), Some(name));
        assert!(found.is_absolute(), "{}", found.display());
    }
}
