//! The attacker inside each role: a process with the role's filters tries every system call by its
//! number, and calls with checked arguments with many arguments. The results are the table of
//! SECURITY.md.
//!
//! No call takes effect: a filter set before the role's refuses each tried call with an error of
//! its own, which means "the role allows it".

#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use seccompiler::sock_filter;

use super::calls::{NAMED, Role, filter};

const ROLES: [(Role, &str); 7] = [
    (Role::Reader, "reader"),
    (Role::ReaderWithOutput, "reader, file"),
    (Role::Watcher, "watcher"),
    (Role::WatcherWithOutput, "watcher, file"),
    (Role::Recorder, "recorder"),
    (Role::Prober, "prober"),
    (Role::Pusher, "pusher"),
];
/// Beyond the last number that Linux uses so far.
const NUMBERS: i64 = 512;
/// The sixth argument of each try, which no call here has, and the error that shows it was allowed.
const TRIED: u32 = 0x7a11_ed00;
const ALLOWED: i32 = libc::EXFULL;
const SECURITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../SECURITY.md");

/// A call with arguments, and what those are.
struct Attempt {
    call: i64,
    args: [u64; 5],
    /// `None`: the call by its number only.
    words: Option<String>,
}

/// What became of it: allowed, EPERM, ENOSYS, or the process ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Answer {
    Allowed,
    Refused,
    Missing,
    Ended,
}

/// `uretprobe` and `uprobe` of x86-64, which the kernel handles before any filter: they
/// have an effect only where the kernel itself placed them (kernel/seccomp.c,
/// seccomp_uprobe_exception).
const OF_THE_KERNEL: &[i64] = if cfg!(target_arch = "x86_64") { &[335, 336] } else { &[] };

fn attempts() -> Vec<Attempt> {
    let numbers = (0..NUMBERS).filter(|call| !OF_THE_KERNEL.contains(call));
    let mut all: Vec<Attempt> =
        numbers.map(|call| Attempt { call, args: [0; 5], words: None }).collect();
    let mut add = |call: i64, args: [u64; 5], words: &str| {
        all.push(Attempt { call, args, words: Some(words.to_string()) });
    };
    let known: BTreeMap<u64, &str> = BTreeMap::from([
        (0x2400, "PERF_EVENT_IOC_ENABLE"),
        (0x2401, "PERF_EVENT_IOC_DISABLE"),
        (0x5401, "TCGETS"),
        (0x5402, "TCSETS"),
        (0x5403, "TCSETSW"),
        (0x5404, "TCSETSF"),
        (0x802c_542a, "TCGETS2"),
        (0x402c_542b, "TCSETS2"),
        (0x402c_542c, "TCSETSW2"),
        (0x402c_542d, "TCSETSF2"),
        (0x540f, "TIOCGPGRP"),
        (0x5412, "TIOCSTI"),
        (0x5413, "TIOCGWINSZ"),
        (0x541b, "FIONREAD"),
        (0x541c, "TIOCLINUX"),
        (0x5421, "FIONBIO"),
        (0x5451, "FIOCLEX"),
    ]);
    // Terminals, perf, block devices, SG_IO, and those that hold a size.
    let requests = (0x5400..0x5500).chain(0x2400..0x2410).chain(0x1260..0x1280).chain([0x2285]);
    for request in requests.chain(known.keys().copied().filter(|request| *request > 0xffff)) {
        let name = known.get(&request).map_or(format!("{request:#x}"), |name| name.to_string());
        // The kernel compares the lower half only.
        for upper in [0, 1 << 32] {
            add(libc::SYS_ioctl, [0, request | upper, 0, 0, 0], &name);
        }
    }
    let numbered = |names: &[&'static str], number: u64| {
        names.get(number as usize).map_or(number.to_string(), |name| name.to_string())
    };
    let bpf = [
        "MAP_CREATE",
        "MAP_LOOKUP_ELEM",
        "MAP_UPDATE_ELEM",
        "MAP_DELETE_ELEM",
        "MAP_GET_NEXT_KEY",
        "PROG_LOAD",
    ];
    for command in 0..40 {
        let name = match command {
            15 => "OBJ_GET_INFO_BY_FD".to_string(),
            17 => "RAW_TRACEPOINT_OPEN".to_string(),
            21 => "MAP_LOOKUP_AND_DELETE_ELEM".to_string(),
            24 => "MAP_LOOKUP_BATCH".to_string(),
            25 => "MAP_LOOKUP_AND_DELETE_BATCH".to_string(),
            34 => "LINK_DETACH".to_string(),
            _ => numbered(&bpf, command),
        };
        add(libc::SYS_bpf, [command, 0, 0, 0, 0], &name);
    }
    for option in (0..90).chain([0x5356_4d41, 0x5961_6d61]) {
        let name = match option {
            15 => "PR_SET_NAME".to_string(),
            16 => "PR_GET_NAME".to_string(),
            29 => "PR_SET_TIMERSLACK".to_string(),
            30 => "PR_GET_TIMERSLACK".to_string(),
            0x5356_4d41 => "PR_SET_VMA".to_string(),
            _ => option.to_string(),
        };
        add(libc::SYS_prctl, [option, 0, 0, 0, 0], &name);
    }
    let fcntl = ["F_DUPFD", "F_GETFD", "F_SETFD", "F_GETFL", "F_SETFL"];
    for command in (0..40).chain(1024..1046) {
        let name = match command {
            1030 => "F_DUPFD_CLOEXEC".to_string(),
            1032 => "F_GETPIPE_SZ".to_string(),
            _ => numbered(&fcntl, command),
        };
        add(libc::SYS_fcntl, [0, command, 0, 0, 0], &name);
    }
    for family in 0..46 {
        let name = match family {
            1 => "AF_UNIX".to_string(),
            2 => "AF_INET".to_string(),
            10 => "AF_INET6".to_string(),
            16 => "AF_NETLINK".to_string(),
            _ => family.to_string(),
        };
        add(libc::SYS_socket, [family, 1, 0, 0, 0], &name);
        for kind in 1..6 {
            let words = if (family, kind) == (1, 1) { "AF_UNIX, a stream" } else { "others" };
            add(libc::SYS_socketpair, [family, kind | 0x80000, 0, 0, 0], words);
        }
    }
    let (thread, spaces) = (0x3d_0f00_u64, [0x2_0000_u64, 0x200_0000, 0x1000_0000, 0x2000_0000]);
    add(libc::SYS_clone, [thread, 0, 0, 0, 0], "a thread");
    for flags in [17, 0x4111, 0x4100].into_iter().chain(spaces).chain(spaces.map(|s| s | thread)) {
        add(libc::SYS_clone, [flags, 0, 0, 0, 0], "a process, a namespace");
    }
    let own = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        add(call, [own, 0, 0, 0, 0], "this process");
        for other in [1, own + 1, u64::MAX, 0] {
            add(call, [other, 0, 0, 0, 0], "others");
        }
    }
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        for protection in 0..8 {
            let words = if protection & 4 == 0 { "data" } else { "code" };
            add(call, [0, 4096, protection, 0, 0], words);
        }
    }
    add(libc::SYS_sendto, [0; 5], "to the other side");
    add(libc::SYS_sendto, [0, 0, 0, 0, 4096], "to an address");
    add(libc::SYS_prlimit64, [0; 5], "to read");
    add(libc::SYS_prlimit64, [0, 0, 4096, 0, 0], "to set");
    for (level, option) in (0..3).flat_map(|level| (0..80).map(move |option| (level, option))) {
        let words =
            if level == 1 && [20, 21, 66, 67].contains(&option) { "time limits" } else { "others" };
        add(libc::SYS_setsockopt, [0, level, option, 0, 0], words);
    }
    add(libc::SYS_setsockopt, [0, 6, 1, 0, 0], "no delay");
    add(libc::SYS_setpriority, [0; 5], "of itself");
    add(libc::SYS_setpriority, [0, 1, 0, 0, 0], "of others");
    all
}

/// Sets a filter that answers each try.
fn refuse_tries() {
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    // Load the lower half of the sixth argument; is it that of a try?
    let program = vec![
        step(0x20, 0, 0, 16 + 5 * 8),
        step(0x15, 0, 1, TRIED),
        step(0x06, 0, 0, libc::SECCOMP_RET_ERRNO | ALLOWED as u32),
        step(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    seccompiler::apply_filter(&program).expect("seccomp");
}

fn tried(attempt: &Attempt) -> Answer {
    let [a, b, c, d, e] = attempt.args;
    // SAFETY: the filter set first refuses the call whatever the role's say, so nothing is done.
    let result = unsafe { libc::syscall(attempt.call, a, b, c, d, e, u64::from(TRIED)) };
    let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
    // SAFETY: it takes no argument, and clears the register in which the sixth was.
    unsafe { libc::syscall(libc::SYS_getpid, 0u64, 0u64, 0u64, 0u64, 0u64, 0u64) };
    assert_eq!(result, -1, "{} was done", attempt.call);
    match error {
        ALLOWED => Answer::Allowed,
        libc::EPERM => Answer::Refused,
        libc::ENOSYS => Answer::Missing,
        other => panic!("call {}: error {other}", attempt.call),
    }
}

/// The trying process, controlled by its parent.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn inside() {
    let Ok(what) = std::env::var("IOWHY_WALK") else { return };
    let mut words = what.split(' ').map(|word| word.parse::<usize>().expect("a number"));
    let (role, from) = (words.next().expect("a role"), words.next().expect("a place"));
    let attempts = attempts();
    refuse_tries();
    let filter = filter(ROLES[role].0).expect("a known architecture");
    seccompiler::apply_filter(&filter).expect("seccomp");
    let mut out = std::io::stdout().lock();
    for (place, attempt) in attempts.iter().enumerate().skip(from) {
        write!(out, "\nWALK {place} ").and_then(|()| out.flush()).expect("stdout");
        let answer = tried(attempt);
        write!(out, "{answer:?}").and_then(|()| out.flush()).expect("stdout");
    }
    writeln!(out).expect("stdout");
}

/// What the kernel answers to each attempt in a role.
fn walk(role: usize, count: usize) -> Vec<Answer> {
    let mut answers: Vec<Answer> = Vec::new();
    while answers.len() < count {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "confine::walk::inside", "--ignored", "--nocapture"])
            .env("IOWHY_WALK", format!("{role} {}", answers.len()))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut begun = false;
        for line in BufReader::new(child.stdout.take().expect("piped")).lines() {
            let line = line.expect("text");
            let Some(rest) = line.strip_prefix("WALK ") else { continue };
            let (place, answer) = rest.split_once(' ').expect("a place and an answer");
            assert_eq!(place, answers.len().to_string());
            begun = true;
            answers.push(match answer {
                "Allowed" => Answer::Allowed,
                "Refused" => Answer::Refused,
                "Missing" => Answer::Missing,
                _ => Answer::Ended,
            });
        }
        let ended = child.wait_with_output().expect("it ends");
        let reported = String::from_utf8_lossy(&ended.stderr);
        let by_filter = ended.status.signal() == Some(libc::SIGSYS);
        assert!(begun && (by_filter || ended.status.success()), "{:?} {reported}", ended.status);
        assert_eq!(by_filter, answers.last() == Some(&Answer::Ended), "{reported}");
    }
    answers
}

#[test]
fn each_role_may_do_what_security_md_says() {
    let attempts = attempts();
    let answers: Vec<Vec<Answer>> =
        (0..ROLES.len()).map(|role| walk(role, attempts.len())).collect();
    let of = |place: usize| -> Vec<Answer> { answers.iter().map(|of| of[place]).collect() };
    let name = |call: i64| {
        let known = NAMED.iter().copied().flatten().find(|(_, known)| *known == call);
        known.map(|(name, _)| name.trim_start_matches("SYS_"))
    };
    // Attacks, in all roles that do not need these calls.
    for (place, attempt) in attempts.iter().enumerate() {
        let (refused, words) = (of(place), attempt.words.as_deref());
        let allowed_in = |roles: &[Role]| {
            for ((role, _), answer) in ROLES.iter().zip(&refused) {
                let may = *answer == Answer::Allowed;
                assert!(!may || roles.contains(role), "{role:?}: call {} {words:?}", attempt.call);
            }
        };
        if name(attempt.call).is_none() {
            assert_eq!(refused, [Answer::Refused; 7], "call {}", attempt.call);
        }
        match (attempt.call, words) {
            (libc::SYS_ioctl, Some("TIOCSTI" | "TIOCLINUX")) => {
                assert_eq!(refused, [Answer::Ended; 7]);
            }
            (libc::SYS_ioctl, Some("0x2285" | "TIOCSETD"))
            | (libc::SYS_clone, Some("a process, a namespace")) => {
                allowed_in(&[]);
            }
            (
                libc::SYS_fchmod
                | libc::SYS_fchmodat
                | libc::SYS_fchown
                | libc::SYS_fchownat
                | libc::SYS_execve
                | libc::SYS_execveat
                | libc::SYS_ptrace
                | libc::SYS_mount
                | libc::SYS_seccomp
                | libc::SYS_perf_event_open
                | libc::SYS_symlinkat
                | libc::SYS_mknodat
                | libc::SYS_setxattr
                | libc::SYS_utimensat
                | libc::SYS_truncate
                | libc::SYS_clone3,
                _,
            ) => allowed_in(&[]),
            (
                libc::SYS_io_uring_setup | libc::SYS_io_uring_enter | libc::SYS_io_uring_register,
                _,
            ) => allowed_in(&[Role::Prober]),
            (libc::SYS_socket | libc::SYS_connect | libc::SYS_bind, _) => {
                allowed_in(&[Role::Pusher]);
            }
            (libc::SYS_accept4, _) => allowed_in(&[Role::Recorder]),
            (libc::SYS_mmap | libc::SYS_mprotect, Some("code")) => allowed_in(&[Role::Pusher]),
            (libc::SYS_bpf, Some("PROG_LOAD" | "MAP_CREATE")) => allowed_in(&[]),
            (libc::SYS_bpf, Some("RAW_TRACEPOINT_OPEN")) => allowed_in(&[Role::Recorder]),
            (libc::SYS_renameat2 | libc::SYS_unlinkat | libc::SYS_linkat, _) => allowed_in(&[
                Role::ReaderWithOutput,
                Role::WatcherWithOutput,
                Role::Recorder,
                Role::Prober,
            ]),
            _ => {}
        }
    }
    let text = table(&attempts, &of, &name);
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let page = std::fs::read_to_string(SECURITY).expect("SECURITY.md");
    let (before, rest) = page.split_once("<!-- calls -->\n").expect("its place");
    let (written, after) = rest.split_once("<!-- end of calls -->").expect("its end");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let page = format!("{before}<!-- calls -->\n{text}<!-- end of calls -->{after}");
        std::fs::write(SECURITY, page).expect("SECURITY.md");
    } else {
        assert_eq!(written, text, "UPDATE_GOLDEN=1 writes it");
    }
}

/// One row for all calls, and all arguments of a call, that get the same answers.
fn table<'a>(
    attempts: &[Attempt],
    of: &dyn Fn(usize) -> Vec<Answer>,
    name: &dyn Fn(i64) -> Option<&'a str>,
) -> String {
    let looked_at = |call: i64| attempts.iter().any(|a| a.call == call && a.words.is_some());
    let mut whole: BTreeMap<Vec<Answer>, Vec<String>> = BTreeMap::new();
    let mut parts: BTreeMap<(&str, Vec<Answer>), Vec<String>> = BTreeMap::new();
    let (mut others, mut refused) = (0, 0);
    for (place, attempt) in attempts.iter().enumerate() {
        let answers = of(place);
        match (name(attempt.call), &attempt.words) {
            (None, _) => others += 1,
            (Some(name), None) if !looked_at(attempt.call) => {
                whole.entry(answers).or_default().push(format!("`{name}`"));
            }
            (Some(name), Some(words)) if answers.iter().any(|one| *one != Answer::Refused) => {
                let known = parts.entry((name, answers)).or_default();
                if !known.contains(words) {
                    known.push(words.clone());
                }
            }
            (Some(_), Some(_)) => refused += 1,
            _ => {}
        }
    }
    let roles = |answers: &[Answer]| -> String {
        let all = answers.iter().all(|answer| *answer == Answer::Allowed);
        let may: Vec<&str> = ROLES
            .iter()
            .zip(answers)
            .filter(|(_, answer)| **answer == Answer::Allowed)
            .map(|((_, head), _)| *head)
            .collect();
        match (all, may.is_empty(), answers.first()) {
            (true, ..) => "all".to_string(),
            (_, true, Some(Answer::Missing)) => "none: `ENOSYS`".to_string(),
            (_, true, Some(Answer::Ended)) => "none: the process is ended".to_string(),
            (_, true, _) => "none".to_string(),
            _ => may.join("; "),
        }
    };
    let mut text = "| system call | allowed in |\n| --- | --- |\n".to_string();
    for (answers, mut names) in whole {
        names.sort();
        text += &format!("| {} | {} |\n", names.join(", "), roles(&answers));
    }
    for ((name, answers), words) in parts {
        text += &format!("| `{name}`: {} | {} |\n", words.join(", "), roles(&answers));
    }
    text += &format!("| {others} other numbers of 0 to {} | none |\n", NUMBERS - 1);
    text + &format!("| {refused} other arguments of the calls above that were tried | none |\n")
}
