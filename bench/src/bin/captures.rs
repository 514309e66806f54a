//! Writes a capture of any size to stdout, for measurements: `captures KIND BYTES` with `biosnoop`,
//! `pylatencymap`, `syslog` (prose in which nothing is about disks) or `program` (the log of a
//! program). The same words give the same bytes on any machine.

#![allow(clippy::disallowed_methods, clippy::print_stderr)]

use std::io::{BufWriter, ErrorKind, Result, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let number = |word: &str| word.parse::<u64>().ok();
    let made = match words[..] {
        ["biosnoop", bytes] => number(bytes).map(biosnoop),
        ["pylatencymap", bytes] => number(bytes).map(pylatencymap),
        ["syslog", bytes] => number(bytes).map(|bytes| lines(bytes, syslog_line)),
        ["program", bytes] => number(bytes).map(|bytes| lines(bytes, program_line)),
        _ => None,
    };
    match made {
        Some(Ok(())) => ExitCode::SUCCESS,
        // The reader may have closed the pipe.
        Some(Err(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Some(Err(error)) => {
            eprintln!("captures: {error}");
            ExitCode::FAILURE
        }
        None => {
            eprintln!("usage: captures biosnoop|pylatencymap|syslog|program BYTES");
            ExitCode::from(2)
        }
    }
}

/// Lines as bcc's biosnoop prints them.
fn biosnoop(bytes: u64) -> Result<()> {
    const COMMS: [&str; 6] = ["dd", "fio", "kworker/u16:2", "postgres", "jbd2/sda1-8", "mysqld"];
    let (mut dice, mut at_us, mut written) = (Dice::default(), 0, 0);
    let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    out.write_all(b"TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n")?;
    let mut line = Vec::new();
    while written < bytes {
        at_us += dice.below(120);
        let stall = if dice.below(500) == 0 { 5000 } else { 0 };
        let latency = (5 + dice.below(300) + stall) as f64 / 100.0;
        let who = dice.below(COMMS.len() as u64) as usize;
        let disk = if dice.below(3) == 0 { "nvme0n1" } else { "sda" };
        let op = if dice.below(3) == 0 { "W" } else { "R" };
        let (sector, size) = (dice.below(1 << 30), 512 << dice.below(9));
        line.clear();
        writeln!(
            line,
            "{}.{:06}    {:<14} {:<6} {disk:<7} {op} {sector:<10} {size:<6} {latency:7.2}",
            at_us / 1_000_000,
            at_us % 1_000_000,
            COMMS[who],
            1000 + who,
        )?;
        out.write_all(&line)?;
        written += line.len() as u64;
    }
    out.flush()
}

/// Records of 23 buckets, a second apart.
fn pylatencymap(bytes: u64) -> Result<()> {
    let (mut dice, mut at_us, mut written, mut counts) =
        (Dice::default(), 1_000_000_000, 0, [0u64; 23]);
    let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    let mut record = Vec::new();
    for number in 0.. {
        if written >= bytes {
            break;
        }
        at_us += 1_000_000 + dice.below(20_000);
        record.clear();
        writeln!(record, "<begin record>\ntimestamp,microsec,{at_us},Wed Aug 12 {number}")?;
        record.extend_from_slice(b"label,speed\nlatencyunit,microsec\ndatasource,bpf\n");
        for (bucket, count) in counts.iter_mut().enumerate() {
            *count += dice.below(1 + 2000 / (1 + bucket.abs_diff(9).pow(2) as u64));
            writeln!(record, "{},{count}", 1 << bucket)?;
        }
        record.extend_from_slice(b"<end record>\n");
        out.write_all(&record)?;
        written += record.len() as u64;
    }
    out.flush()
}

/// Lines of a log, a second apart.
fn lines(bytes: u64, line: fn(&mut Dice, u64) -> String) -> Result<()> {
    let (mut dice, mut written) = (Dice::default(), 0);
    let mut out = BufWriter::with_capacity(1 << 18, std::io::stdout().lock());
    for second in 0.. {
        if written >= bytes {
            break;
        }
        let line = line(&mut dice, second);
        writeln!(out, "{line}")?;
        written += line.len() as u64 + 1;
    }
    out.flush()
}

fn clock(second: u64) -> (u64, u64, u64, u64) {
    (1 + second / 86_400 % 28, second / 3600 % 24, second / 60 % 60, second % 60)
}

/// What an idle server's system log is full of.
fn syslog_line(dice: &mut Dice, second: u64) -> String {
    let (day, hour, minute, of_minute) = clock(second);
    let [a, b, c] = [0; 3].map(|_| dice.below(250));
    let said = match dice.below(6) {
        0 => format!("CRON[{a}]: (root) CMD (run-parts /etc/cron.hourly {b} {c})"),
        1 => format!("sshd[{a}]: Accepted publickey for deploy from 10.0.{b}.{c} port 25 ssh2"),
        2 => format!("systemd[1]: Started Session {a} of user root."),
        3 => format!("dhclient[{a}]: DHCPREQUEST of 10.0.{b}.{c} on eth0 to 10.0.0.1 port 67"),
        4 => format!(
            "kernel: [{second}.{a:06}] audit: type=1400 apparmor=\"STATUS\" \
             operation=\"profile_load\" pid={b} comm=\"x{c}\""
        ),
        _ => format!("postfix/smtpd[{a}]: connect from unknown[10.0.{b}.{c}]"),
    };
    format!("Nov {day:>2} {hour:02}:{minute:02}:{of_minute:02} host1 {said}")
}

/// What a program with a web interface logs.
fn program_line(dice: &mut Dice, second: u64) -> String {
    let (day, hour, minute, of_minute) = clock(second);
    let [a, b, c] = [0; 3].map(|_| dice.below(1000));
    let said = match dice.below(4) {
        0 => format!("INFO  [exec-{}] web.Dispatcher : GET /orders/{b} 200 in {c} ms", a % 8),
        1 => format!("DEBUG [exec-{}] sql.Statement : select 1 from orders where id = {b}", a % 8),
        2 => format!("WARN  [pool-{}] cache.Region : {b} entries evicted, {c} left", a % 8),
        _ => format!("ERROR [exec-{}] web.Client : connection to 10.0.0.{b} refused", a % 8),
    };
    format!("2026-11-{day:02} {hour:02}:{minute:02}:{of_minute:02},{a:03} {said}")
}

/// Marsaglia's xorshift64 with a fixed seed.
struct Dice(u64);

impl Default for Dice {
    fn default() -> Self {
        Dice(0x9e37_79b9_7f4a_7c15)
    }
}

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
