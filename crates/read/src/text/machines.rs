//! Which machine the lines of an input are of: prompts, `ssh`, and the hosts of a log.
//!
//! A text that was pasted together may be of several machines. What follows a prompt is of the
//! machine that prompts; a line of a log is of the host that it names.

use iowhy_model::HostName;

/// What a line says of the machine that it, and what follows, is of.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Speaker {
    /// A shell prompts; of what follows the machine is known unless it was reached by an address.
    Session(Option<HostName>),
    /// A line of a log of this host.
    Log(HostName),
}

/// Ends of prompts.
const ENDS: [char; 4] = ['$', '#', '%', '>'];
/// Marks before a prompt that was quoted.
const QUOTED: [char; 4] = ['>', ' ', '\t', '`'];
/// Options of ssh with a value of their own (ssh(1)).
const WITH_VALUES: &str = "BbcDEeFIiJLlmOopQRSWw";
/// A prompt is no longer.
const LONGEST: usize = 160;

/// Programs that log without their number.
const PROGRAMS: [&str; 4] = ["kernel:", "iscsid:", "multipathd:", "systemd:"];

/// What a line says of its machine, if anything.
pub(crate) fn speaker(line: &str) -> Option<Speaker> {
    let text = line.trim_start_matches(QUOTED);
    if let Some(host) = host_of_log(text) {
        return HostName::of_log(host).map(Speaker::Log);
    }
    let (host, command) = Some(text).filter(|text| may_prompt(text)).and_then(prompt)?;
    let host = HostName::of(host)?;
    match reached_from(command) {
        Some(other) => Some(Speaker::Session(HostName::of(other))),
        None => Some(Speaker::Session(Some(host))),
    }
}

/// A cheap look: most lines are none.
fn may_prompt(text: &str) -> bool {
    let head = text.as_bytes().get(..LONGEST).unwrap_or(text.as_bytes());
    let folder = |place: usize| matches!(head.get(place + 1), Some(b'~' | b'/'));
    memchr::memchr(b'@', head).is_some() || memchr::memchr_iter(b':', head).any(folder)
}

/// The host of a prompt, and the command behind it: `root@db1:~# `, `[root@db1 log]$ `, `root@db1
/// ~ % `, `root@nas[~]# `, `db1:~ # `.
fn prompt(text: &str) -> Option<(&str, &str)> {
    let end = text.char_indices().take_while(|(place, _)| *place < LONGEST).find(|(place, c)| {
        let rest = text.get(place + 1..).unwrap_or_default();
        ENDS.contains(c) && (rest.is_empty() || rest.starts_with(' '))
    });
    let (head, rest) = text.split_at_checked(end?.0)?;
    let command = rest.get(1..).unwrap_or_default().trim_start();
    let is_user = |user: &str| {
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        !user.is_empty() && user.bytes().all(letter)
    };
    // An environment of Python is before it.
    let head = match head.split_once(") ") {
        Some((name, rest)) if name.starts_with('(') => rest,
        _ => head,
    };
    let Some((user, rest)) = head.split_once('@') else {
        let (host, folder) = head.split_once(':')?;
        // One letter is a drive of Windows.
        let is_host = host.len() > 1 && !host.contains('/');
        return (is_folder(folder.strip_suffix(' ')?) && is_host).then_some((host, command));
    };
    let bracketed = user.strip_prefix('[');
    let is_whole = match bracketed {
        // The name of a folder alone.
        Some(_) => rest.strip_suffix(']')?,
        None => rest,
    };
    let (host, folder) = is_whole.split_once([':', ' ', '[']).unwrap_or((is_whole, "~"));
    let folder = folder.trim_matches([' ', ']']);
    let known = is_folder(folder) || bracketed.is_some() && !folder.contains(' ');
    (is_user(bracketed.unwrap_or(user)) && known).then_some((host, command))
}

fn is_folder(text: &str) -> bool {
    text.starts_with(['~', '/']) && !text.contains(' ')
}

/// The machine that a command works on, if it is another one: `ssh -p 22 root@db2 iostat -x`.
fn reached_from(command: &str) -> Option<&str> {
    let mut words = command.split_whitespace().skip_while(|word| matches!(*word, "sudo" | "time"));
    words.next().filter(|word| *word == "ssh")?;
    while let Some(word) = words.next() {
        match word.strip_prefix('-') {
            None => return Some(word.rsplit('@').next().unwrap_or(word)),
            Some(option) if option.len() == 1 && WITH_VALUES.contains(option) => {
                words.next();
            }
            Some(_) => {}
        }
    }
    None
}

/// `db1` of `Nov  3 10:00:00 db1 kernel: ...` and `2026-11-03T10:00:00.1+01:00 db1 kernel: ...`.
pub(crate) fn host_of_log(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let rest = match bytes.get(..11)? {
        [_, _, _, _, b'-', _, _, b'-', _, _, b'T'] => text.split_once(' ')?.1,
        [b'A'..=b'Z', _, _, b' ', _, b'0'..=b'9', b' ', _, _, b':', _] => {
            text.get(12..)?.split_once(' ')?.1
        }
        _ => return None,
    };
    let (host, rest) = rest.split_once(' ')?;
    let program = rest.split(' ').next()?;
    // Any two words may stand before a colon, as in a report with a time before each line.
    let is_program = program.ends_with("]:") || PROGRAMS.contains(&program);
    (is_program && !host.contains(':')).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded;

    /// The machine and the lines of each listing.
    fn listings(text: &str) -> Vec<String> {
        let of = |listing: &iowhy_model::Listing| {
            let (first, last) = listing.source.lines.unwrap_or_default();
            let machine = listing.source.machine.as_ref().map_or("-", HostName::name);
            format!("{machine} {first}-{last}")
        };
        recorded(text).listings.iter().map(of).collect()
    }

    const DD: &str = "1073741824 bytes (1.1 GB) copied, 1.5 s, 700 MB/s\n";

    #[test]
    fn listings_are_of_the_machine_that_prompts() {
        let on = |prompt: &str| format!("{prompt} dd if=/dev/sda of=/dev/null bs=1M\n{DD}");
        let two = on("[me@db1 ~]$") + &on("root@db2:~#");
        assert_eq!(listings(&two), ["db1 1-2", "db2 3-4"]);
        // Another folder or user, the full name, and a file that is called like a machine.
        let one = on("[me@db1 ~]$") + &on("root@db1:/srv/db2#") + &on("[me@db1.example.com a]$");
        assert_eq!(listings(&one), ["db1 1-6"]);
        let file = on("[me@db1 ~]$") + "[me@db1 ~]$ cat db2.txt root@db2.log\n" + DD;
        assert!(listings(&file).iter().all(|listing| listing.starts_with("db1 ")));
        // There and back again.
        let away = "[me@db1 ~]$ ssh db2\n".to_string() + &on("me@db2:~$") + "logout\n";
        let back = away + &on("[me@db1 ~]$");
        assert_eq!(listings(&back), ["db2 2-3", "db1 5-6"]);
        let over = on("[me@db1 ~]$") + "[me@db1 ~]$ ssh -x me@db2 dd if=/dev/sda\n" + DD;
        assert!(matches!(&listings(&over)[..], [_, db2] if db2.starts_with("db2 ")));
    }

    #[test]
    fn each_host_of_a_log_has_a_listing() {
        let line = |host: &str, second: u32| {
            let message = "kernel: blk_update_request: I/O error, dev sda, sector 8";
            format!("Nov  3 10:00:{second:02} {host} {message}{second}\n")
        };
        let log: String =
            (10..16).map(|second| line(["db1", "db2"][second as usize % 2], second)).collect();
        assert_eq!(listings(&log), ["db1 1-5", "db2 2-6"]);
        let facts = recorded(&log);
        let errors = facts.listings.iter().map(|listing| {
            listing.facts.iter().filter(|fact| fact.value.message().is_some()).count()
        });
        assert_eq!(errors.collect::<Vec<_>>(), [3, 3]);
        assert_eq!(listings(&(line("db1", 10) + &line("db1.example.com", 11))), ["db1 1-2"]);
    }

    fn session(line: &str) -> Option<String> {
        match speaker(line)? {
            Speaker::Session(host) => Some(host.map_or("?".to_string(), |h| h.name().to_string())),
            Speaker::Log(_) => None,
        }
    }

    #[test]
    fn prompts_of_all_shells() {
        for line in [
            "root@db1:~# iostat -x 1", "[user@db1 ~]$ ", "[root@db1 log]# dmesg",
            "db1:/var/log # ls", "user@db1 ~ % df", "root@db1[~]# zpool status",
            "> user@db1:/srv/a$", "root@db1:~ #", "(venv) me@db1:~/x$ fio", "me@db1 /srv> ls",
            "root@jump:~# ssh -p 22 me@db1 iostat", "root@jump:~# ssh db1", "root@DB1:/etc#",
        ] {
            assert_eq!(session(line).as_deref(), Some("db1"), "{line}");
        }
    }

    #[test]
    fn what_looks_like_a_prompt() {
        for line in [
            "me@example.com: see # 3", "On Monday me@example.com wrote:",
            "git@example.com:a/b.git", "/home/me@db1/iostat.txt", "# iostat", "$ ssh db1",
            "user@10.0.0.7:~$ df", "root@localhost:~# df", "root@3f2a91c04bd7:/# df",
            "sda 0.00 50% #", "C:/temp # a", "scp a.txt me@db1:/srv/", "db1.txt: sda 100 %", "",
            "@", "[@ ]$", "100%", "Contact: root@db1, root@db2 $",
        ] {
            assert_eq!(session(line), None, "{line}");
        }
        assert_eq!(session("root@db1:~# ssh 10.0.0.7 iostat").as_deref(), Some("?"));
        assert_eq!(session("root@db1:~# ssh-keygen").as_deref(), Some("db1"));
    }

    #[test]
    fn hosts_of_logs() {
        let host = |line: &str| match speaker(line) {
            Some(Speaker::Log(host)) => Some(host.name().to_string()),
            _ => None,
        };
        let log = "Nov  3 10:00:00 db1 kernel: ata3: SATA link down";
        assert_eq!(host(log).as_deref(), Some("db1"));
        assert_eq!(host("2026-11-03T10:00:00+01:00 db1 sshd[77]: a").as_deref(), Some("db1"));
        for line in [
            "Nov  3 10:00:00 kernel: ata3: SATA link down",
            "Nov 13 10:00:00 last message",
            "2026-11-03T10:00:00 sda 1.0 2.0",
            "Nov 13 10:00:00 BUFFERED READS: 120.5 MB/sec",
            "Nov  3 10:00:00 localhost kernel: a",
            "Nov  3 é:",
        ] {
            assert_eq!(host(line), None, "{line}");
        }
    }
}
