//! What biosnoop, iostat and biolatency would have printed of such requests.

use std::fmt::Write;

use super::queue::Io;

/// `biosnoop`, with its queue or without.
pub fn biosnoop(ios: &[Io], disk: &str, queue: bool) -> String {
    let begun = ios.first().map_or(0.0, |io| io.completed);
    let queued = if queue { "QUE(ms) " } else { "" };
    let mut out = format!(
        "{:<11} {:<14} {:<7} {:<7} {:<1} {:<10} {:<7} {queued}{:>7}\n",
        "TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES", "LAT(ms)"
    );
    for io in ios {
        let waited = if queue { "  0.002 " } else { "" };
        let _ = writeln!(
            out,
            "{:<11.6} {:<14} {:<7} {disk:<7} {} {:<10} {:<7} {waited}{:>7.2}",
            (io.completed - begun) / 1e3,
            io.comm,
            io.pid,
            if io.writes { 'W' } else { 'R' },
            io.sector,
            io.bytes,
            io.latency()
        );
    }
    out
}

/// One operation of one report of iostat: rate, kB per second, mean wait and size.
fn columns(ios: &[&Io]) -> [f64; 4] {
    let n = ios.len() as f64;
    // A sum over nothing is minus zero, which no tool prints.
    let kb = ios.iter().map(|io| f64::from(io.bytes) / 1024.0).sum::<f64>() + 0.0;
    let wait = ios.iter().map(|io| io.latency()).sum::<f64>();
    [n, kb, if n > 0.0 { wait / n } else { 0.0 }, if n > 0.0 { kb / n } else { 0.0 }]
}

/// `iostat -xyk 1`: one report a second over the whole seconds of the listing.
pub fn iostat(ios: &[Io], disk: &str) -> String {
    let last = ios.iter().map(|io| io.completed).fold(0.0, f64::max);
    let seconds = ((last / 1e3) as usize).max(1);
    let mut out = format!(
        "$ iostat -xyk 1 {seconds}\nLinux 6.1.0-18-amd64 (host) \t11/22/2026 \t_x86_64_\t(8 CPU)\n"
    );
    for second in 0..seconds {
        let (from, to) = (second as f64 * 1e3, (second as f64 + 1.0) * 1e3);
        let ended: Vec<&Io> =
            ios.iter().filter(|io| io.completed > from && io.completed <= to).collect();
        let of = |writes: bool| -> Vec<&Io> {
            ended.iter().copied().filter(|io| io.writes == writes).collect()
        };
        let ([r, rkb, rwait, rsize], [w, wkb, wwait, wsize]) =
            (columns(&of(false)), columns(&of(true)));
        let mut spans: Vec<(f64, f64)> = ios
            .iter()
            .map(|io| (io.issued.max(from), io.completed.min(to)))
            .filter(|(begin, end)| end > begin)
            .collect();
        let queue: f64 = spans.iter().map(|(begin, end)| end - begin).sum::<f64>() / 1e3 + 0.0;
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut busy, mut until) = (0.0, from);
        for (begin, end) in spans {
            busy += (end - begin.max(until)).max(0.0);
            until = until.max(end);
        }
        let _ = write!(
            out,
            "\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.20    0.00    \
             0.90    5.00    0.00   92.90\n\nDevice            r/s     rkB/s   rrqm/s  %rrqm \
             r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     \
             dkB/s  \
             drqm/s  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util\n{disk:<12} {r:>8.2} \
             {rkb:>9.2}     0.00   0.00 {rwait:>7.2} {rsize:>8.2} {w:>7.2} {wkb:>9.2}     0.00   \
             0.00 \
             {wwait:>7.2} {wsize:>8.2}    0.00      0.00     0.00   0.00    0.00     0.00    \
             0.00    \
             0.00 {queue:>7.2} {:>6.2}\n",
            busy / 10.0
        );
    }
    out
}

/// `biolatency -D`: one histogram in powers of two of microseconds; with the command above it, or
/// until somebody interrupted it.
pub fn biolatency(ios: &[Io], disk: &str, command: bool) -> String {
    let mut counts: Vec<usize> = Vec::new();
    for io in ios {
        let bucket = (io.latency() * 1e3).max(1.0).log2() as usize;
        counts.resize(counts.len().max(bucket + 1), 0);
        counts[bucket] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let last = ios.iter().map(|io| io.completed).fold(0.0, f64::max);
    let (above, interrupt) = match command {
        true => (format!("# biolatency -D {} 1\n", (last / 1e3).ceil().max(1.0)), ""),
        false => (String::new(), "^C\n"),
    };
    let mut out = format!(
        "{above}Tracing block device I/O... Hit Ctrl-C to end.\n{interrupt}\ndisk = {disk}\n     \
         usecs               : \
         count     distribution\n"
    );
    for (bucket, count) in counts.iter().enumerate() {
        let from = if bucket == 0 { 0 } else { 1u64 << bucket };
        let stars = "*".repeat(40 * count / most);
        let _ = writeln!(
            out,
            "{from:>10} -> {:<10} : {count:<8} |{stars:<40}|",
            (1u64 << (bucket + 1)) - 1
        );
    }
    out
}
