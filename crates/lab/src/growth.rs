//! How time and memory grow with listings, devices, files and names: inputs of one kind in several
//! sizes, and the fitted exponent.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// One shape of input.
pub struct Shape {
    /// Its name, for the table.
    pub name: &'static str,
    /// Whether it is a folder of this many files, else one file.
    folder: bool,
    /// Whether it contains what `convert` carries.
    carried: bool,
    /// The text before all, and of each place.
    head: &'static str,
    each: fn(usize) -> String,
}

/// The shapes: what there may be many of.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "listings of averages, slow",
        folder: false,
        carried: true,
        head: "",
        each: slow_iostat,
    },
    Shape {
        name: "listings of I/Os",
        folder: false,
        carried: true,
        head: "",
        each: |k| format!("{BIOSNOOP}{}\n", ios(k, "sda", 3)),
    },
    Shape {
        name: "devices in one listing of I/Os",
        folder: false,
        carried: true,
        head: BIOSNOOP,
        each: |k| ios(k, &format!("sd{k}"), 3),
    },
    Shape {
        name: "devices in one listing of averages",
        folder: false,
        carried: true,
        head: IOSTAT,
        each: |k| iostat_row(&format!("sd{k}"), k),
    },
    Shape {
        name: "devices in the kernel's log",
        folder: false,
        carried: false,
        head: "",
        each: log_line,
    },
    Shape {
        name: "devices, a histogram each",
        folder: false,
        carried: true,
        head: "",
        each: histogram,
    },
    Shape {
        name: "names of processes",
        folder: false,
        carried: true,
        head: BIOSNOOP,
        each: |k| format!("{}.{:03} p{k} {k} sda R {} 4096 1.00\n", k / 1000, k % 1000, k * 8),
    },
    Shape {
        name: "files",
        folder: true,
        carried: true,
        head: "",
        each: |k| format!("{IOSTAT}{}", iostat_row("sda", k)),
    },
];

/// The commands that are timed.
pub const COMMANDS: [&str; 7] = [
    "why",
    "stat",
    "hist",
    "snoop",
    "map",
    "convert --to json",
    "export --host h --began @1795377600",
];

const BIOSNOOP: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
const IOSTAT: &str = "Linux 6.1.0 (host) \t11/22/2026 \t_x86_64_\t(4 CPU)\n\n\
    Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n";

fn ios(k: usize, disk: &str, count: usize) -> String {
    (0..count).fold(String::new(), |text, i| {
        let at = k * count + i;
        text + &format!("{}.{:03} dd 1 {disk} R {} 4096 1.00\n", at / 1000, at % 1000, i * 8)
    })
}

fn iostat_row(disk: &str, k: usize) -> String {
    format!(
        "{disk} {}.00 400.00 {}.00 5.00 20.00 3.00 0.50 {}.00\n",
        90 + k % 9,
        4 + k % 5,
        40 + k % 9
    )
}

fn slow_iostat(k: usize) -> String {
    format!("{IOSTAT}sda {}.00 400.00 250.00 5.00 20.00 300.00 25.00 100.00\n\n", 90 + k % 9)
}

fn log_line(k: usize) -> String {
    format!(
        "[{k}.000000] blk_update_request: I/O error, dev sd{k}, sector {} op 0x0:(READ) flags 0x0 \
         phys_seg 1 prio class 0\n",
        k * 8
    )
}

fn histogram(k: usize) -> String {
    format!(
        "disk = sd{k}\n     usecs               : count     distribution\n       \
         256 -> 511        : 10       |****|\n       512 -> 1023       : 20       |********|\n\n"
    )
}

/// What one command took for one shape.
pub struct GrowthRow {
    /// The shape.
    pub shape: &'static str,
    /// The command.
    pub command: &'static str,
    /// Size, input in MB, CPU seconds, MiB at most.
    pub points: Vec<Point>,
}

/// One run.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// How many.
    pub n: usize,
    /// The input, MB.
    pub megabytes: f64,
    /// CPU time, s.
    pub seconds: f64,
    /// Memory at most, MiB.
    pub mebibytes: f64,
}

impl GrowthRow {
    /// Times it once more and keeps the shorter time of each size: other load on the same
    /// processors makes a run longer, never shorter.
    ///
    /// # Errors
    /// As [`growth`].
    pub fn time_again(&mut self, iowhy: &Path) -> io::Result<()> {
        let sizes: Vec<usize> = self.points.iter().map(|point| point.n).collect();
        let shape = SHAPES.iter().find(|shape| shape.name == self.shape);
        if let Some(shape) = shape {
            for row in of_shape(iowhy, shape, &sizes, &[self.command])? {
                for (mine, other) in self.points.iter_mut().zip(row.points) {
                    mine.seconds = mine.seconds.min(other.seconds);
                }
            }
        }
        Ok(())
    }

    /// The slope of time over size, both on a logarithmic scale, of runs that take long enough to
    /// be timed; `None` where these are of sizes less than [`SPAN`] apart: between near sizes a
    /// tenth more time is a tenth more slope.
    pub fn exponent(&self) -> Option<f64> {
        let timed: Vec<&Point> =
            self.points.iter().filter(|point| point.seconds >= TIMED).collect();
        let (least, most) = (timed.first()?, timed.last()?);
        if (most.n as f64) < SPAN * least.n as f64 {
            return None;
        }
        let points: Vec<(f64, f64)> =
            timed.iter().map(|point| ((point.n as f64).ln(), point.seconds.ln())).collect();
        let n = points.len() as f64;
        let (x, y) = (
            points.iter().map(|p| p.0).sum::<f64>() / n,
            points.iter().map(|p| p.1).sum::<f64>() / n,
        );
        let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
        let variance: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
        Some(covariance / variance)
    }
}

/// The exponent at most; what is above it is timed again.
pub const BAR: f64 = 1.2;

/// Less is mostly the start of the program, which takes some 3 ms, s.
const TIMED: f64 = 0.02;
/// How many times the smallest timed size the largest is at least, for a slope.
const SPAN: f64 = 9.0;

/// Times the program on every shape of every size with every command.
///
/// # Errors
/// If an input cannot be written or the program not be run, or it fails.
pub fn growth(
    iowhy: &Path,
    sizes: &[usize],
    commands: &[&'static str],
) -> io::Result<Vec<GrowthRow>> {
    let mut rows = Vec::new();
    for shape in SHAPES {
        rows.append(&mut of_shape(iowhy, shape, sizes, commands)?);
    }
    Ok(rows)
}

fn of_shape(
    iowhy: &Path,
    shape: &Shape,
    sizes: &[usize],
    commands: &[&'static str],
) -> io::Result<Vec<GrowthRow>> {
    let folder = std::env::temp_dir().join(format!("iowhy-growth-{}", std::process::id()));
    let row = |command: &&'static str| GrowthRow { shape: shape.name, command, points: Vec::new() };
    let suits = |command: &&&str| shape.carried || !command.starts_with("convert");
    let mut rows: Vec<GrowthRow> = commands.iter().filter(suits).map(row).collect();
    for n in sizes {
        fs::create_dir_all(&folder)?;
        let (input, bytes) = made(shape, *n, &folder)?;
        for row in &mut rows {
            let (seconds, mebibytes) = timed(iowhy, row.command, &input, &[0, 1])?;
            let megabytes = bytes as f64 / 1e6;
            row.points.push(Point { n: *n, megabytes, seconds, mebibytes });
        }
        fs::remove_dir_all(&folder)?;
    }
    Ok(rows)
}

fn made(shape: &Shape, n: usize, folder: &Path) -> io::Result<(PathBuf, usize)> {
    let input = folder.join("input");
    let mut bytes = 0;
    if shape.folder {
        fs::create_dir(&input)?;
        for k in 0..n {
            let text = (shape.each)(k);
            bytes += text.len();
            fs::write(input.join(format!("{k:07}.txt")), text)?;
        }
    } else {
        let text = (0..n).fold(shape.head.to_string(), |text, k| text + &(shape.each)(k));
        bytes = text.len();
        fs::write(&input, text)?;
    }
    Ok((input, bytes))
}

/// CPU time of a run, s, as the kernel counts it for children that were waited for, and its memory
/// at most, MiB. One run at a time: another child that ends meanwhile would be counted too.
///
/// # Errors
/// If the program cannot be run, or ends with a status that is none of these.
pub fn timed(iowhy: &Path, command: &str, input: &Path, well: &[i32]) -> io::Result<(f64, f64)> {
    let words: Vec<&str> = command.split(' ').collect();
    let mut run = Command::new(iowhy);
    run.arg(words[0]).arg(input);
    if words[0] == "convert" {
        run.arg("-");
    }
    if words[0] == "export" {
        run.arg("--parquet").arg(input.with_file_name("tables"));
    }
    run.args(&words[1..]);
    let before = of_children()?;
    let mut child = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut mebibytes = 0.0f64;
    let folder = format!("/proc/{}", child.id());
    let status = loop {
        let status = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
        mebibytes = mebibytes.max(peak.unwrap_or(0.0) / 1024.0);
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    if !status.code().is_some_and(|code| well.contains(&code)) {
        let shown = input.display();
        return Err(io::Error::other(format!("`iowhy {command} {shown}` ended with {status}")));
    }
    Ok((of_children()? - before, mebibytes))
}

/// CPU time of all children that were waited for, s: getrusage(2).
fn of_children() -> io::Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The rows as a table.
pub fn table(rows: &[GrowthRow]) -> String {
    let mut text = String::new();
    let sizes: Vec<String> = rows
        .first()
        .map_or_else(Vec::new, |row| row.points.iter().map(|p| p.n.to_string()).collect());
    let _ = writeln!(
        text,
        "| repeated item | command | {} | MB at last | MiB at last | exponent |",
        sizes.join(" | ")
    );
    let _ = writeln!(text, "| --- | --- | {}---: | ---: | ---: |", "---: | ".repeat(sizes.len()));
    for row in rows {
        let seconds: Vec<String> =
            row.points.iter().map(|point| format!("{:.2} s", point.seconds)).collect();
        let last = row.points.last().copied();
        let (mb, mib) = last.map_or((0.0, 0.0), |last| (last.megabytes, last.mebibytes));
        let exponent = row.exponent().map_or("-".to_string(), |e| format!("{e:.2}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {mb:.1} | {mib:.0} | {exponent} |",
            row.shape,
            row.command,
            seconds.join(" | ")
        );
    }
    text
}
