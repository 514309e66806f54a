//! Prose is read fast: most lines of inputs begin no listing, and only formats with a needle in a
//! line are asked about it.

#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::print_stderr)]

use std::hint::black_box;
use std::time::Duration;

use iowhy_model::{Random, Recording};
use iowhy_read::{Detect, FORMATS, Format, scan};

/// Lines of prose: enough that the work on the first ones only counts for little.
const LINES: usize = 12_000;
/// One in this many lines is tried with all formats.
const EACH: usize = 8;

/// Lines of the system log of a server and of a program's own log, of which none begins a listing.
fn prose() -> String {
    const SYSTEM: [&str; 6] = [
        "systemd[1]: Started Session 4 of User alice.",
        "CRON[812]: pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
        "sshd[4711]: Accepted publickey for alice from 10.0.3.17 port 51514 ssh2",
        "dockerd[900]: time=\"2026-11-21T10:00:00Z\" level=info msg=\"ignoring event\"",
        "postfix/smtpd[77]: connect from unknown[192.168.4.2]",
        "myapp[6]: request 7f3a was handled in 12 ms, 3 retries",
    ];
    const PROGRAM: [&str; 3] = [
        "INFO  [http-nio-8080-exec-3] com.example.RequestLog - GET /api/v1/items 200 in 12 ms",
        "DEBUG [scheduler-1] com.example.Cleaner - nothing to do, next run in 60 s",
        "WARN  [pool-2-thread-1] com.example.Pool - waited 250 ms for a connection",
    ];
    let mut random = Random::seeded(5);
    let line = |second: usize| {
        let (hour, minute) = (second / 3600 % 24, second / 60 % 60);
        let clock = format!("{hour:02}:{minute:02}:{:02}", second % 60);
        match second % 2 {
            0 => format!("Nov 21 {clock} web {}\n", SYSTEM[random.place(SYSTEM.len())]),
            _ => format!("2026-11-21 {clock}.250 {}\n", PROGRAM[random.place(PROGRAM.len())]),
        }
    };
    (0..LINES).map(line).collect()
}

/// CPU time of this thread (Documentation/scheduler/sched-stats.rst, schedstat): what runs beside
/// it does not count.
fn cpu() -> Duration {
    let stat =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("scheduler statistics");
    let ran = stat.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ran.expect("nanoseconds"))
}

fn time(mut run: impl FnMut()) -> Duration {
    let begin = cpu();
    run();
    cpu() - begin
}

#[test]
fn prose_is_read_in_less_time_than_asking_each_format_once_takes() {
    let text = prose();
    let read = || {
        let _ = scan("prose", &mut text.as_bytes(), None, &mut Recording::new());
    };
    let ask = || {
        for line in text.lines().step_by(EACH) {
            let says_no = |format: &&Format| format.sniff(&[line]) == Detect::No;
            black_box(FORMATS.iter().filter(says_no).count());
        }
    };
    // By turns, and the least of each: other load slows both.
    let turns = (0..7).map(|_| (time(read), time(ask)));
    let (read, asked) = turns.fold((Duration::MAX, Duration::MAX), |(read, asked), turn| {
        (read.min(turn.0), asked.min(turn.1))
    });
    let asked = asked * EACH as u32;
    eprintln!("read in {read:?}, each format asked once in {asked:?}");
    // What is left of a line without its time, its host and its program is looked at too. When all
    // formats were tried on each of these, reading took more than twice as long as trying them
    // once.
    assert!(read < asked, "{read:?} against {asked:?}");
}
