//! Debian's kernels, by a separate package configuration: the system's is not changed.
//!
//! Packages are unpacked into a cache, never installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::mirrors;
use super::programs::run;

/// How old the lists of packages may be before they are fetched again.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// A package archive with its own lists and cache.
#[derive(Debug)]
pub(super) struct Archive {
    folder: PathBuf,
}

impl Archive {
    /// Fetches the lists of packages, unless they are fresh. An unavailable release is named in
    /// `skipped`.
    ///
    /// # Errors
    /// If this machine has no Debian mirror, or no list could be had.
    pub(super) fn open(folder: &Path, skipped: &mut Vec<String>) -> io::Result<Archive> {
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("archives/partial"))?;
        let text = mirrors::sources()?;
        let archive = Archive { folder: folder.to_path_buf() };
        let stamp = folder.join("updated");
        let age = fs::metadata(&stamp).and_then(|stamp| stamp.modified());
        let fresh = age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age < FRESH));
        let path = folder.join("own.sources");
        if fresh && fs::read_to_string(&path).is_ok_and(|known| known == text) {
            return Ok(archive);
        }
        fs::write(&path, text)?;
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("apt.conf"), archive.configuration())?;
        let update = archive.apt("apt-get").arg("update").output()?;
        let reported = String::from_utf8_lossy(&update.stderr).into_owned();
        let refused = reported.lines().filter_map(|line| line.strip_prefix("E: "));
        skipped.extend(refused.filter_map(|line| line.split('\'').nth(1)).map(|repository| {
            let release = repository.split_whitespace().nth(1).unwrap_or(repository);
            format!("this machine's mirror does not have release {release}")
        }));
        if archive.kernels()?.is_empty() {
            return Err(io::Error::other(format!("no list of packages is available: {reported}")));
        }
        fs::write(stamp, "")?;
        Ok(archive)
    }

    /// The packages of kernels for ordinary machines.
    ///
    /// # Errors
    /// If the package tool fails.
    pub(super) fn kernels(&self) -> io::Result<Vec<String>> {
        let names = run(self.apt("apt-cache").args(["pkgnames", "linux-image-"]))?;
        Ok(names.lines().filter(|name| version(name).is_some()).map(str::to_string).collect())
    }

    /// Fetches and unpacks a package, and those it needs that carry its version in their names.
    ///
    /// # Errors
    /// If one cannot be had.
    pub(super) fn unpack(&self, package: &str) -> io::Result<PathBuf> {
        let root = self.folder.join("roots").join(package);
        if root.exists() {
            return Ok(root);
        }
        let mut names = vec![package.to_string()];
        if let Some(version) = package.strip_prefix("linux-image-") {
            // From 7.x on the image only draws in linux-binary, linux-modules and linux-base.
            let version = version.trim_end_matches("-amd64");
            let depends = run(self.apt("apt-cache").args(["depends", package]))?;
            let depends = depends.lines().filter_map(|line| line.trim().split_once("Depends: "));
            let needed = depends.map(|(_, name)| name).filter(|name| name.contains(version));
            names.extend(needed.map(str::to_string));
        }
        let part = root.with_extension("part");
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(part.join("packages"))?;
        let mut download = self.apt("apt-get");
        run(download.arg("download").args(&names).current_dir(part.join("packages")))?;
        for file in fs::read_dir(part.join("packages"))? {
            run(Command::new("dpkg-deb").arg("-x").arg(file?.path()).arg(&part))?;
        }
        fs::remove_dir_all(part.join("packages"))?;
        fs::rename(&part, &root)?;
        Ok(root)
    }

    fn apt(&self, tool: &str) -> Command {
        let mut command = Command::new(tool);
        command.env("APT_CONFIG", self.folder.join("apt.conf")).env("LC_ALL", "C");
        command
    }

    fn configuration(&self) -> String {
        let at = self.folder.display();
        format!(
            "Dir::Etc::SourceList \"{at}/own.sources\";\nDir::Etc::SourceParts \"/dev/null\";\n\
             Dir::State \"{at}\";\nDir::State::Lists \"{at}/lists\";\n\
             Dir::State::status \"{at}/status\";\nDir::Cache \"{at}\";\n\
             Acquire::Languages \"none\";\nAPT::Sandbox::User \"root\";\n"
        )
    }
}

/// The numbers in the name of a kernel package; `None` for packages of other kinds (debug symbols,
/// clouds, real time, names that only point to the newest).
pub(super) fn version(package: &str) -> Option<Vec<u64>> {
    let version = package.strip_prefix("linux-image-")?.strip_suffix("-amd64")?;
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-');
    let letters = version.replace("deb", "").replace("bpo", "");
    if !version.starts_with(|c: char| c.is_ascii_digit()) || !letters.chars().all(plain) {
        return None;
    }
    let numbers = version.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let numbers: Vec<u64> = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
    (numbers.len() > 2).then_some(numbers)
}

/// The newest package whose version begins with `pattern`; of all for `newest`.
pub(super) fn newest<'a>(packages: &'a [String], pattern: &str) -> Option<&'a String> {
    let wanted = |package: &&String| {
        let rest = package.trim_start_matches("linux-image-").strip_prefix(pattern);
        pattern == "newest"
            || rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    packages.iter().filter(wanted).max_by_key(|package| version(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_takes_the_newest_of_its_own() {
        let names = ["6.1.0-9", "6.1.0-56", "6.1.0-0.deb11.99", "6.12.95+deb12", "6.12.117+deb13"];
        let names = names.map(|version| format!("linux-image-{version}-amd64"));
        let newest_of = |pattern: &str| newest(&names, pattern).map(String::as_str);
        assert_eq!(newest_of("6.1"), Some("linux-image-6.1.0-56-amd64"));
        assert_eq!(newest_of("newest"), Some("linux-image-6.12.117+deb13-amd64"));
        assert_eq!(newest_of("5.10"), None);
        for other in ["6.1.0-9-cloud", "6.1.0-9-rt", "6.12"] {
            assert_eq!(version(&format!("linux-image-{other}-amd64")), None, "{other}");
        }
        assert_eq!(version("linux-image-6.1.0-9-amd64-dbg"), None);
    }
}
