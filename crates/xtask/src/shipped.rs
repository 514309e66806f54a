//! What a released binary is made of, from `cargo metadata`: its licences as a text and as an
//! SBOM (CycloneDX 1.5, <https://cyclonedx.org/docs/1.5/json/>).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde_json::{Value, json};

/// A binary that is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// `iowhy`.
    Iowhy,
    /// `iowhy-fleet`, of a workspace of its own.
    Fleet,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Program::Iowhy => "iowhy",
            Program::Fleet => "iowhy-fleet",
        }
    }

    fn workspace(self) -> PathBuf {
        match self {
            Program::Iowhy => crate::root(),
            Program::Fleet => crate::root().join("fleet"),
        }
    }
}

/// A package that is linked into the binary.
struct Package {
    id: String,
    name: String,
    version: String,
    licence: String,
    homepage: Option<String>,
    folder: PathBuf,
    /// Packages of this workspace have no source.
    own: bool,
    /// Identifiers of the packages it links.
    uses: Vec<String>,
}

/// The text of all licences, package by package.
///
/// # Errors
/// If cargo does not answer, or a package has neither a licence text nor an expression.
pub fn licences(program: Program, target: &str) -> io::Result<String> {
    let packages = packages(program, target)?;
    let mut text = format!(
        "{} is licensed under Apache-2.0. The binary also holds these packages, each under its \
         own licence.\n",
        program.name()
    );
    // Many packages carry the same text word by word: it is printed once, with their names.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.iter().filter(|package| !package.own) {
        let Package { name, version, licence, .. } = package;
        if licence.is_empty() {
            return Err(io::Error::other(format!("{name} {version} has no licence")));
        }
        let _ = writeln!(text, "  {name} {version}: {licence}");
        for one in texts_of(&package.folder)? {
            texts.entry(one).or_default().push(format!("{name} {version}"));
        }
    }
    let mut all: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, names)| (names, text)).collect();
    all.sort();
    for (names, one) in all {
        let _ = write!(text, "\n{}\n{}\n\n{}\n", "-".repeat(80), names.join(", "), one.trim_end());
    }
    Ok(text)
}

/// The SBOM as JSON: every package with its version, licence, checksum and what it uses.
///
/// # Errors
/// If cargo does not answer or `Cargo.lock` cannot be read.
pub fn sbom(program: Program, target: &str) -> io::Result<String> {
    let packages = packages(program, target)?;
    let checksums = checksums(&fs::read_to_string(program.workspace().join("Cargo.lock"))?);
    let purl = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
    let purls: BTreeMap<&str, String> =
        packages.iter().map(|package| (package.id.as_str(), purl(package))).collect();
    let component = |package: &Package| {
        let kind = if package.name == program.name() { "application" } else { "library" };
        let mut component = json!({
            "type": kind,
            "bom-ref": purl(package),
            "name": package.name,
            "version": package.version,
            "purl": purl(package),
            "licenses": [{ "expression": package.licence.replace('/', " OR ") }],
        });
        if let Some(sum) = checksums.get(&(package.name.clone(), package.version.clone())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        if let Some(homepage) = &package.homepage {
            component["externalReferences"] = json!([{ "type": "website", "url": homepage }]);
        }
        component
    };
    let (top, libraries): (Vec<_>, Vec<_>) =
        packages.iter().partition(|package| package.name == program.name());
    let dependencies: Vec<Value> = packages
        .iter()
        .map(|package| {
            let uses: BTreeSet<&String> =
                package.uses.iter().filter_map(|id| purls.get(id.as_str())).collect();
            json!({ "ref": purl(package), "dependsOn": uses })
        })
        .collect();
    let bom = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": top.first().map(|package| component(package)) },
        "components": libraries.into_iter().map(component).collect::<Vec<_>>(),
        "dependencies": dependencies,
    });
    Ok(format!("{bom:#}\n"))
}

/// The packages linked into a program for a target, sorted by name and version. Build scripts and
/// macros run at build time and are not in the binary.
fn packages(program: Program, target: &str) -> io::Result<Vec<Package>> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .current_dir(program.workspace())
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let by_id: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|one| (text(&one, "id"), one)).collect();
    let mut uses: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let linked = list(&node["deps"])
            .into_iter()
            .filter(|one| list(&one["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()));
        uses.insert(text(&node, "id"), linked.map(|one| text(&one, "pkg")).collect());
    }
    let is_macro = |id: &String| {
        by_id.get(id).is_some_and(|package| {
            list(&package["targets"]).iter().any(|target| target["kind"][0] == "proc-macro")
        })
    };
    let top = by_id.iter().find(|(_, package)| package["name"] == program.name());
    let mut open: Vec<String> = top.map(|(id, _)| id.clone()).into_iter().collect();
    let mut seen = BTreeSet::new();
    let mut packages = Vec::new();
    while let Some(id) = open.pop() {
        if is_macro(&id) || !seen.insert(id.clone()) {
            continue;
        }
        let Some(package) = by_id.get(&id) else { continue };
        let linked = uses.get(&id).cloned().unwrap_or_default();
        open.extend(linked.iter().cloned());
        let manifest = PathBuf::from(text(package, "manifest_path"));
        packages.push(Package {
            name: text(package, "name"),
            version: text(package, "version"),
            licence: text(package, "license"),
            homepage: package["repository"].as_str().map(str::to_string),
            folder: manifest.parent().unwrap_or(Path::new(".")).to_path_buf(),
            own: package["source"].is_null(),
            uses: linked,
            id,
        });
    }
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

/// The licence texts in a package's folder.
fn texts_of(folder: &Path) -> io::Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_text =
            ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|w| name.starts_with(w));
        if is_text && entry.path().is_file() {
            texts.push(fs::read_to_string(entry.path())?);
        }
    }
    texts.sort();
    Ok(texts)
}

/// The checksums of `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut sums = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key));
            line.map(|text| text.trim_matches(|c: char| " =\"".contains(c)).to_string())
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            sums.insert((name, version), sum);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "x86_64-unknown-linux-gnu";

    #[test]
    fn the_sbom_names_what_is_linked_with_its_checksum() {
        let bom: Value = serde_json::from_str(&sbom(Program::Iowhy, TARGET).unwrap()).unwrap();
        assert_eq!(bom["metadata"]["component"]["name"], "iowhy");
        let components = bom["components"].as_array().unwrap();
        let of = |name: &str| components.iter().find(|one| one["name"] == name);
        let clap = of("clap").unwrap();
        assert_eq!(clap["hashes"][0]["content"].as_str().unwrap().len(), 64);
        assert!(of("iowhy-read").is_some_and(|own| own["hashes"].is_null()));
        // Macros and test tools are not in the binary.
        assert!(of("clap_derive").is_none() && of("libtest-mimic").is_none());
        let known: BTreeSet<&str> =
            components.iter().map(|one| one["bom-ref"].as_str().unwrap()).collect();
        for used in bom["dependencies"].as_array().unwrap() {
            for used in used["dependsOn"].as_array().unwrap() {
                assert!(known.contains(used.as_str().unwrap()), "{used} is not described");
            }
        }
    }

    #[test]
    fn every_linked_package_has_a_licence_and_most_its_text() {
        let text = licences(Program::Iowhy, TARGET).unwrap();
        assert!(text.contains("\n  clap ") && text.contains("Apache License"), "{text}");
        assert!(!text.contains("  iowhy-read"), "own packages are under iowhy's licence");
    }

    #[test]
    fn the_fleet_has_a_list_of_its_own() {
        let bom: Value = serde_json::from_str(&sbom(Program::Fleet, TARGET).unwrap()).unwrap();
        assert_eq!(bom["metadata"]["component"]["name"], "iowhy-fleet");
        let engine = |one: &&Value| one["name"] == "datafusion" && !one["hashes"].is_null();
        assert!(bom["components"].as_array().unwrap().iter().find(engine).is_some());
        assert!(licences(Program::Fleet, TARGET).unwrap().contains("\n  datafusion "));
    }
}
