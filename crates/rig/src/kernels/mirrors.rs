//! Where packages come from: the mirrors this machine already uses, for every release with a known
//! key.

use std::fs;
use std::io;
use std::path::Path;

/// Where the machine's own sources are.
const SOURCES: &str = "/etc/apt";
/// Where the keys of Debian's releases are, one file per release.
const KEYS: &str = "/usr/share/keyrings";

/// A mirror of this machine and what it serves: `""` for releases, `"-security"` for their updates.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mirror {
    address: String,
    kind: String,
    signed_by: Option<String>,
}

/// A separate source list: every release whose key is here, its backports and security updates.
///
/// # Errors
/// If this machine has no Debian mirror.
pub(super) fn sources() -> io::Result<String> {
    Ok(list(&mirrors()?, &releases()?))
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

/// The source list of these mirrors and releases.
fn list(mirrors: &[Mirror], releases: &[String]) -> String {
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
    fn mirrors_are_found_in_both_kinds_of_file() {
        let text = "Types: deb\nURIs: http://mirror.example/debian\nSuites: new new-updates\n\
                    Signed-By: /key\n\nTypes: deb\nURIs: http://other.example/x\nSuites: node\n";
        let found = stanzas(text, "new");
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].signed_by.as_deref(), Some("/key"));
        let text = "# deb http://no.example new main\ndeb [arch=amd64] http://b.example \
                    new-security main\n";
        let found = lines(text, "new");
        assert_eq!(
            (found[0].address.as_str(), found[0].kind.as_str()),
            ("http://b.example", "-security")
        );
        assert!(list(&found, &["old".into()]).contains("Suites: old-security\n"));
    }
}
