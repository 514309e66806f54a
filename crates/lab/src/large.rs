//! The cost of one large input: texts of every kind that a user may name, captures and others, each
//! repeated to the size.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use iowhy_model::Random;

use crate::growth::timed;

/// One kind of input.
struct Kind {
    name: &'static str,
    head: &'static str,
    each: fn(usize, &mut Random) -> String,
}

/// What a run may take: CPU time, s, and memory, MiB.
const MOST: (f64, f64) = (20.0, 512.0);

/// The commands that are timed.
const COMMANDS: [&str; 6] = ["why", "stat", "hist", "snoop", "map", "convert --to json"];

const IOSTAT: &str = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n";

const KINDS: &[Kind] = &[
    Kind { name: "prose in lines", head: "", each: |_, random| words(random, 12) + "\n" },
    Kind { name: "prose in one line", head: "", each: |_, random| words(random, 12) + " " },
    Kind { name: "headings of iostat and nothing below", head: "", each: |_, _| IOSTAT.into() },
    Kind { name: "rows of iostat, a report a second", head: "", each: iostat },
    Kind { name: "rows of iostat in one report", head: IOSTAT, each: |k, _| iostat_row(k % 1000) },
    Kind {
        name: "single I/Os",
        head: "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n",
        each: |k, random| {
            let (at, sector) = (k as f64 / 1e3, random.place(1 << 30) * 8);
            format!("{at:.6} dd {} sd{} R {sector} 4096 {:.2}\n", k % 97, letter(k), wait(random))
        },
    },
    Kind {
        name: "fio latency log",
        head: "",
        each: |k, random| format!("{k}, {}, 0, 4096, {}\n", random.place(1 << 20), k * 4096),
    },
    Kind {
        name: "/proc/diskstats with times",
        head: "",
        each: |k, _| {
            let (second, disk) = (1_795_377_600 + k / 8, letter(k));
            let stamp = if k % 8 == 0 { format!("{second}.0\n") } else { String::new() };
            let n = k / 8;
            stamp
                + &format!(
                    "   8 {} sd{disk} {} 0 {} {} 0 0 0 0 0 {} {}\n",
                    k % 8 * 16,
                    n,
                    n * 8,
                    n,
                    n,
                    n
                )
        },
    },
    Kind {
        name: "histograms",
        head: "",
        each: |k, random| {
            let (a, b) = (random.place(999), random.place(999));
            format!(
                "disk = sd{}\n     usecs               : count     distribution\n       \
                 256 -> 511        : {a}       |****|\n       512 -> 1023       : {b}       \
                 |**|\n\n",
                letter(k)
            )
        },
    },
    Kind {
        name: "the kernel's log",
        head: "",
        each: |k, random| {
            let sector = random.place(1 << 30);
            let line = match k % 10 {
                0 => format!("blk_update_request: I/O error, dev sd{}, sector {sector}", letter(k)),
                _ => words(random, 8),
            };
            format!("[{:5}.{:06}] {line}\n", k / 1000, k % 1000 * 1000)
        },
    },
    Kind {
        name: "hdparm -W of many disks",
        head: "",
        each: |k, _| format!("\n/dev/sd{}:\n write-caching =  1 (on)\n", letter(k)),
    },
    Kind {
        name: "a record of JSON a line, of another program",
        head: "",
        each: |k, random| {
            format!(
                "{{\"time\": \"{k}\", \"disk\": {{\"name\": \"sda\", \"reads\": \
                 {k}, \"text\": \"{}\"}}}}\n",
                words(random, 5)
            )
        },
    },
    Kind {
        name: "JSON that is never closed",
        head: "",
        each: |k, _| {
            format!("{{\"time\": \"{k}\", \"disk\": {{\"name\": \"sda\", \"n\": [{k}, 4\n")
        },
    },
    Kind {
        name: "JSON in one line",
        head: "[0",
        each: |k, _| format!(",{{\"a\":{k},\"b\":[1,2]}}"),
    },
    Kind {
        name: "CSV of another program",
        head: "time,user,page,took\n",
        each: |k, random| format!("{k},u{},/p/{},{:.3}\n", k % 91, k % 31, wait(random)),
    },
    Kind {
        name: "lines of base64",
        head: "",
        each: |_, random| {
            let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            let line = (0..76).map(|_| char::from(digits[random.place(64)]));
            line.collect::<String>() + "\n"
        },
    },
    Kind { name: "digits in one line", head: "", each: |k, _| k.to_string() },
    Kind { name: "empty lines", head: "", each: |_, _| "\n".repeat(64) },
    Kind { name: "zeros", head: "", each: |_, _| "\0".repeat(4096) },
];

fn words(random: &mut Random, count: usize) -> String {
    const WORDS: [&str; 24] = [
        "the", "disk", "was", "slow", "while", "a", "commit", "waited", "for", "its", "log", "and",
        "we", "saw", "reads", "of", "12", "ms", "in", "iostat", "Device", "sda", "queue",
        "latency",
    ];
    (0..count).map(|_| WORDS[random.place(WORDS.len())]).collect::<Vec<_>>().join(" ")
}

fn letter(k: usize) -> char {
    char::from(b'a' + (k % 8) as u8)
}

fn wait(random: &mut Random) -> f64 {
    random.place(1000) as f64 / 100.0
}

fn iostat_row(k: usize) -> String {
    format!(
        "sd{k} {}.00 400.00 {}.00 5.00 20.00 3.00 0.50 {}.00\n",
        90 + k % 9,
        4 + k % 5,
        40 + k % 9
    )
}

fn iostat(k: usize, _: &mut Random) -> String {
    let report = if k.is_multiple_of(8) { format!("\n{IOSTAT}") } else { String::new() };
    report + &iostat_row(k % 8)
}

/// What the commands took of one input.
pub struct LargeRow {
    /// Its kind.
    name: String,
    /// CPU seconds of each command.
    seconds: Vec<f64>,
    /// MiB of the largest.
    mebibytes: f64,
}

impl LargeRow {
    /// Whether every command kept the bars.
    pub fn holds(&self) -> bool {
        self.seconds.iter().all(|seconds| *seconds <= MOST.0) && self.mebibytes <= MOST.1
    }
}

/// Times the program on an input of each kind of this many MB, and on all `samples` one after the
/// other as often as they fit into it.
///
/// # Errors
/// If an input cannot be written or the program not be run.
pub fn large(iowhy: &Path, samples: &[Vec<u8>], megabytes: usize) -> io::Result<Vec<LargeRow>> {
    let folder = std::env::temp_dir().join(format!("iowhy-large-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let (input, bytes) = (folder.join("input"), megabytes * 1_000_000);
    let mut rows = Vec::new();
    for kind in KINDS {
        let mut random = Random::seeded(100);
        let mut text = kind.head.to_string();
        let mut k = 0;
        while text.len() < bytes {
            text += &(kind.each)(k, &mut random);
            k += 1;
        }
        fs::write(&input, &text)?;
        drop(text);
        rows.push(row(iowhy, kind.name.to_string(), &input)?);
    }
    let mut random = Random::seeded(101);
    let noise: Vec<u8> = (0..bytes).map(|_| random.place(256) as u8).collect();
    fs::write(&input, noise)?;
    rows.push(row(iowhy, "random bytes".to_string(), &input)?);
    if !samples.is_empty() {
        let mut out = io::BufWriter::new(fs::File::create(&input)?);
        let mut written = 0;
        while written < bytes {
            let sample = &samples[random.place(samples.len())];
            out.write_all(sample)?;
            out.write_all(b"\n")?;
            written += sample.len() + 1;
        }
        out.flush()?;
        rows.push(row(iowhy, "samples of all formats in turn".to_string(), &input)?);
    }
    fs::remove_dir_all(&folder)?;
    Ok(rows)
}

fn row(iowhy: &Path, name: String, input: &Path) -> io::Result<LargeRow> {
    let mut row = LargeRow { name, seconds: Vec::new(), mebibytes: 0.0 };
    for command in COMMANDS {
        let (seconds, mebibytes) = timed(iowhy, command, input, &[0, 1, 2])?;
        row.seconds.push(seconds);
        row.mebibytes = row.mebibytes.max(mebibytes);
    }
    Ok(row)
}

/// The rows as a table.
pub fn table(rows: &[LargeRow], megabytes: usize) -> String {
    let mut text = format!("| {megabytes} MB of | {} | MiB at most |\n", COMMANDS.join(" | "));
    let _ = writeln!(text, "| --- | {}---: |", "---: | ".repeat(COMMANDS.len()));
    for row in rows {
        let seconds: Vec<String> = row.seconds.iter().map(|s| format!("{s:.1} s")).collect();
        let _ = writeln!(text, "| {} | {} | {:.0} |", row.name, seconds.join(" | "), row.mebibytes);
    }
    text
}
