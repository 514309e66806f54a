//! Debian's kernels, by a package configuration of our own: the system's stays as it is.
//!
//! The mirror is the one this machine already uses. The releases asked for are those whose keys are
//! installed here, with their backports and security updates.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::programs::run;

/// How old the lists of packages may be before they are fetched anew.
const FRESH: Duration = Duration::from_secs(24 * 3600);
/// Where the machine's own sources are.
const SOURCES: &str = "/etc/apt";
/// Where the keys of Debian's releases are, one file per release.
const KEYS: &str = "/usr/share/keyrings";

/// A package archive with lists and cache of its own.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
}

/// A mirror of this machine and what it serves: `""` for releases, `"-security"` for their updates.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mirror {
    address: String,
    kind: String,
    signed_by: Option<String>,
}

impl Archive {
    /// Fetches the lists of packages, unless they are fresh. A release that cannot be had is named
    /// in `skipped`.
    ///
    /// # Errors
    /// If this machine has no Debian mirror, or no list could be had.
    pub fn open(folder: &Path, skipped: &mut Vec<String>) -> io::Result<Archive> {
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("archives/partial"))?;
        let mirrors = mirrors()?;
        let text = sources(&mirrors, &releases()?);
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
        let said = String::from_utf8_lossy(&update.stderr).into_owned();
        let refused = said.lines().filter_map(|line| line.strip_prefix("E: "));
        skipped.extend(refused.filter_map(|line| line.split('\'').nth(1)).map(|repository| {
            let release = repository.split_whitespace().nth(1).unwrap_or(repository);
            format!("release {release} cannot be had from this machine's mirror")
        }));
        if archive.kernels()?.is_empty() {
            return Err(io::Error::other(format!("no list of packages could be had: {said}")));
        }
        fs::write(stamp, "")?;
        Ok(archive)
    }

    /// The packages of kernels for ordinary machines.
    ///
    /// # Errors
    /// If the package tool fails.
    pub fn kernels(&self) -> io::Result<Vec<String>> {
        let names = run(self.apt("apt-cache").args(["pkgnames", "linux-image-"]))?;
        Ok(names.lines().filter(|name| version(name).is_some()).map(str::to_string).collect())
    }

    /// Fetches and unpacks a package, and those it needs that carry its version in their names.
    ///
    /// # Errors
    /// If one cannot be had.
    pub fn unpack(&self, package: &str) -> io::Result<PathBuf> {
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
pub fn version(package: &str) -> Option<Vec<u64>> {
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
pub fn newest<'a>(packages: &'a [String], pattern: &str) -> Option<&'a String> {
    let wanted = |package: &&String| {
        let rest = package.trim_start_matches("linux-image-").strip_prefix(pattern);
        pattern == "newest"
            || rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    packages.iter().filter(wanted).max_by_key(|package| version(package))
}

/// The releases whose keys are here.
fn releases() -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for file in fs::read_dir(KEYS)? {
        let name = file?.file_name().to_string_lossy().into_owned();
        let release =
            name.strip_prefix("debian-archive-").and_then(|n| n.strip_suffix("-stable.gpg"));
        found.extend(release.map(str::to_string));
    }
    found.sort();
    Ok(found)
}

/// The mirrors this machine uses for the release it runs.
fn mirrors() -> io::Result<Vec<Mirror>> {
    let about = fs::read_to_string("/etc/os-release")?;
    let own = about.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let own = own.unwrap_or_default().trim_matches('"').to_string();
    let folder = Path::new(SOURCES);
    let mut files = vec![folder.join("sources.list")];
    if let Ok(parts) = fs::read_dir(folder.join("sources.list.d")) {
        files.extend(parts.flatten().map(|part| part.path()));
    }
    files.sort();
    let texts = files.iter().filter_map(|path| {
        let kind = path.extension()?.to_str()?;
        ["list", "sources"].contains(&kind).then(|| fs::read_to_string(path).ok())?
    });
    let mut found: Vec<Mirror> = Vec::new();
    for mirror in texts.flat_map(|text| [stanzas(&text, &own), lines(&text, &own)].concat()) {
        if !found.iter().any(|known| known.kind == mirror.kind) {
            found.push(mirror);
        }
    }
    if found.is_empty() {
        return Err(io::Error::other(format!("no Debian mirror in `{SOURCES}` for `{own}`")));
    }
    Ok(found)
}

/// Mirrors in a file of stanzas, sources.list(5).
fn stanzas(text: &str, own: &str) -> Vec<Mirror> {
    let stanzas = text.split("\n\n").filter_map(|stanza| {
        let field = |name: &str| {
            let line = stanza.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.strip_prefix(':')?.trim())
        };
        let (addresses, suites) = (field("URIs")?, field("Suites")?);
        let address = addresses.split_whitespace().next()?;
        let on = field("Enabled").is_none_or(|word| word != "no");
        on.then(|| of_suites(address, suites, own, field("Signed-By")))
    });
    stanzas.flatten().collect()
}

/// Mirrors in a file of lines: `deb [OPTIONS] ADDRESS SUITE COMPONENTS`.
fn lines(text: &str, own: &str) -> Vec<Mirror> {
    let lines = text.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("deb ")?.trim();
        let rest = if rest.starts_with('[') { rest.split_once(']')?.1 } else { rest };
        let mut words = rest.split_whitespace();
        Some(of_suites(words.next()?, words.next()?, own, None))
    });
    lines.flatten().collect()
}

fn of_suites(address: &str, suites: &str, own: &str, signed_by: Option<&str>) -> Vec<Mirror> {
    let kinds = suites.split_whitespace().filter_map(|suite| suite.strip_prefix(own));
    let served = kinds.filter(|kind| ["", "-security"].contains(kind));
    let mirror = |kind: &str| Mirror {
        address: address.to_string(),
        kind: kind.to_string(),
        signed_by: signed_by.map(str::to_string),
    };
    served.map(mirror).collect()
}

/// Our own source list.
fn sources(mirrors: &[Mirror], releases: &[String]) -> String {
    let stanza = |mirror: &Mirror| {
        let suites = releases.iter().flat_map(|release| match mirror.kind.as_str() {
            "" => vec![release.clone(), format!("{release}-backports")],
            kind => vec![format!("{release}{kind}")],
        });
        let suites: Vec<String> = suites.collect();
        let key = mirror.signed_by.as_ref().map(|path| format!("Signed-By: {path}\n"));
        format!(
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: main\nTargets: Packages\n{}\n",
            mirror.address,
            suites.join(" "),
            key.unwrap_or_default()
        )
    };
    mirrors.iter().map(stanza).collect()
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

    #[test]
    fn mirrors_are_found_in_both_kinds_of_file() {
        let text = "Types: deb\nURIs: http://mirror.example/debian\nSuites: new new-updates\n\
                    Signed-By: /key\n\nTypes: deb\nURIs: http://other.example/x\nSuites: node\n";
        let found = stanzas(text, "new");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].signed_by.as_deref(), Some("/key"));
        let text = "# deb http://no.example new main\ndeb [arch=amd64] http://b.example new-security main\n";
        let found = lines(text, "new");
        assert_eq!(
            (found[0].address.as_str(), found[0].kind.as_str()),
            ("http://b.example", "-security")
        );
        assert!(sources(&found, &["old".into()]).contains("Suites: old-security\n"));
    }
}
