//! The name of a machine, as a capture gives it.

/// The machine that a listing is of. Two captures of one name are of one machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostName {
    name: String,
    /// Whether only lines of a log name it: they may have been copied from another machine, or be
    /// from before it got its present name.
    pub in_log: bool,
}

/// What machines are called that have no name of their own.
const NAMELESS: [&str; 4] = ["localhost", "(none)", "host", "hostname"];
/// Digits of the name that a container gets if nobody names it.
const OF_CONTAINER: usize = 12;

impl HostName {
    /// The machine of this name; `None` for an address, the name that every machine has, and the
    /// number of a container, whose disks are those of the machine it runs on.
    pub fn of(text: &str) -> Option<HostName> {
        let name = text.trim_end_matches('.').to_ascii_lowercase();
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let is_name = name.bytes().all(letter)
            && name.bytes().any(|b| b.is_ascii_alphabetic())
            && name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
        let is_number = name.len() == OF_CONTAINER && name.bytes().all(|b| b.is_ascii_hexdigit());
        let is_nameless = NAMELESS.contains(&name.split('.').next().unwrap_or_default());
        (is_name && !is_number && !is_nameless).then_some(HostName { name, in_log: false })
    }

    /// The same, named by the lines of a log only.
    pub fn of_log(text: &str) -> Option<HostName> {
        HostName::of(text).map(|host| HostName { in_log: true, ..host })
    }

    /// Whether it is written so.
    pub fn is_called(&self, text: &str) -> bool {
        self.name.eq_ignore_ascii_case(text)
    }

    /// The name in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether both are names of one machine: `db1` and `db1.example.com` are.
    pub fn is(&self, other: &HostName) -> bool {
        let begins = |long: &str, short: &str| {
            long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        begins(&self.name, &other.name) || begins(&other.name, &self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_a_short_and_a_full_name() {
        let is = |a: &str, b: &str| HostName::of(a).unwrap().is(&HostName::of(b).unwrap());
        assert!(is("db1", "db1") && is("DB1", "db1.example.com") && is("db1.example.com.", "db1"));
        assert!(!is("db1", "db10") && !is("db1.example.com", "db1.example.org"));
    }

    #[test]
    fn what_every_machine_may_be_called_names_none() {
        for text in ["localhost", "localhost.localdomain", "10.0.0.7", "", "3f2a91c04bd7", "a b"] {
            assert_eq!(HostName::of(text), None, "{text}");
        }
        assert!(HostName::of_log("host2").is_some_and(|host| host.in_log));
    }
}
