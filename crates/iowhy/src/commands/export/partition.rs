//! Folders for the rows of a host and day, and file names: by content, never by time of writing.

use iowhy_show::tables::{About, Table};
use iowhy_store::stamp;

/// Bytes of a host's name at most (HOST_NAME_MAX of limits.h).
const HOST_BYTES: usize = 64;
const SECOND_NS: i64 = 1_000_000_000;

/// A host's partition of the tables.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    /// The host's name.
    pub host: String,
    folder: String,
}

impl Partition {
    /// The partition of a host.
    pub(super) fn of_host(host: &str) -> Partition {
        Partition { host: host.to_string(), folder: format!("host={}", escaped(host)) }
    }

    /// The folders of a table and day below the tables' own.
    pub(super) fn folders(&self, table: Table, date: &str) -> Vec<String> {
        vec![table.name().to_string(), self.folder.clone(), format!("date={date}")]
    }
}

/// A valid host name.
pub(super) fn host(text: &str) -> Result<String, String> {
    match text.len() {
        0 => Err("a host name must not be empty".to_string()),
        1..=HOST_BYTES => Ok(text.to_string()),
        _ => Err(format!("a host name has at most {HOST_BYTES} bytes")),
    }
}

/// A value in the name of a partition's folder, as Hive writes it: `%` and two digits for special
/// characters, so that no value leaves the folder.
pub(super) fn escaped(text: &str) -> String {
    let mut plain = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => plain.push(byte.into()),
            other => plain.push_str(&format!("%{other:02X}")),
        }
    }
    plain
}

/// The name of a capture's files: what was read, when it began, and a sum over its first records.
pub(super) fn name_of(about: &About) -> String {
    let began = about.first_ns.map_or(0, |first| first.div_euclid(SECOND_NS));
    let format = if about.format.is_empty() { "capture" } else { about.format.as_str() };
    format!("{}-{}-{:08x}", escaped(format), stamp(began), about.sum.unwrap_or(0))
}

/// Facts of this machine, read before the command is confined.
#[derive(Clone, Debug, Default)]
pub(super) struct Here {
    /// Its name.
    pub host: String,
    /// Its boot id.
    pub boot: String,
}

impl Here {
    /// This machine.
    pub(super) fn look() -> Here {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Here { host, boot: boot.trim().to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        assert_eq!(Partition::of_host("web-17").folder, "host=web-17");
        assert_eq!(escaped("../../x"), "..%2F..%2Fx");
        assert_eq!(escaped("a=b c%\n\0é"), "a%3Db%20c%25%0A%00%C3%A9");
        assert!(host("").is_err() && host(&"x".repeat(65)).is_err());
        // All bytes escaped, a name fits into NAME_MAX.
        assert!(Partition::of_host(&"é".repeat(32)).folder.len() < 255);
    }
}
