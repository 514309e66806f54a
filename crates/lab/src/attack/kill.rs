//! What records and probes, ended and stopped at random moments, on their own loop device: what was
//! written can be read, traced and lost I/Os add up to those sent, and nothing is left behind.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iowhy_model::Random;

use super::{AttackRow, Field};

const ENDED: &str = "`record` ended by KILL, TERM, INT and HUP";
const STOPPED: &str = "`record` stopped and continued while I/O is done";
const PROBED: &str = "`probe` ended by KILL, TERM, INT and HUP";
const SIGNALS: [&str; 4] = ["KILL", "TERM", "INT", "HUP"];
/// Requests that are sent while the tracer is stopped.
const SENT: u64 = 2000;
/// How long something may take to begin or to end, on a machine however busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

impl Field<'_> {
    /// All of them; of those that cannot run here nothing was tried.
    pub(super) fn ended(&mut self, count: u64, random: &mut Random) -> io::Result<Vec<AttackRow>> {
        let mut rows = vec![self.probed(count, random)?];
        match Loop::new(&self.at("disk"))? {
            Some(disk) => {
                rows.push(self.recorded(&disk, count, random)?);
                rows.push(self.stopped(&disk, count.div_ceil(4))?);
                rows.extend(self.recorders(&disk, count.div_ceil(2), random)?);
            }
            None => rows.extend([AttackRow::of(ENDED), AttackRow::of(STOPPED)]),
        }
        Ok(rows)
    }

    fn recorded(&mut self, disk: &Loop, count: u64, random: &mut Random) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(ENDED);
        for number in 0..count as usize {
            let signal = SIGNALS[number % SIGNALS.len()];
            let Some(mut child) = self.recorder(disk)? else { return Ok(row) };
            let mut load = disk.reads(100_000)?;
            std::thread::sleep(Duration::from_millis(random.place(1500) as u64));
            send(&child, signal)?;
            let status = end_of(&mut child)?;
            load.kill()?;
            load.wait()?;
            row.inputs += 1;
            let reported = std::fs::read_to_string(self.at("said"))?;
            // A capture that was ended properly has its end record; of a killed one at most the
            // head may be missing.
            let read = self.run("stat {in}", "trace", false)?;
            let known = ["status Some(0)", "status Some(1)", "status Some(2)"];
            let readable = match signal {
                "KILL" => &known[..],
                _ => &known[..2],
            };
            let failed = if reported.contains("panicked at") {
                Some("it panicked".to_string())
            } else if signal != "KILL" && !matches!(status, Some(0 | 1)) {
                Some(format!("ended with status {status:?}"))
            } else {
                read.filter(|why| !readable.contains(&why.as_str()))
                    .map(|why| format!("its capture: {why}"))
            };
            row.ran(failed.map(|why| self.kept(&format!("{signal}: {why}"), reported.as_bytes())));
        }
        Ok(row)
    }

    /// I/Os made while the tracer does not run wait for it, or are reported as lost.
    fn stopped(&mut self, disk: &Loop, count: u64) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(STOPPED);
        for _ in 0..count {
            let Some(mut child) = self.recorder(disk)? else { return Ok(row) };
            send(&child, "STOP")?;
            disk.reads(SENT)?.wait()?;
            send(&child, "CONT")?;
            send(&child, "INT")?;
            let status = end_of(&mut child)?;
            row.inputs += 1;
            let (traced, lost) = self.held()?;
            let failed = if traced + lost != SENT {
                Some(format!("{traced} traced and {lost} lost are not {SENT}"))
            } else if status != Some(i32::from(lost > 0)) {
                Some(format!("{lost} lost, and status {status:?}"))
            } else {
                None
            };
            row.ran(failed);
        }
        Ok(row)
    }

    fn probed(&mut self, count: u64, random: &mut Random) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(PROBED);
        let folder = self.at("probed");
        std::fs::create_dir_all(&folder)?;
        for number in 0..count as usize {
            let signal = SIGNALS[number / 2 % SIGNALS.len()];
            std::fs::write(self.at("large"), vec![7; 4 << 20])?;
            let large = self.at("large").display().to_string();
            let written = folder.display().to_string();
            let words = match number % 2 {
                0 => ["probe", "read-latency", &large, "--cap", "64m"],
                _ => ["probe", "write-latency", &written, "--cap", "64m"],
            };
            let reported = std::fs::File::create(self.at("said"))?;
            let mut run = Command::new(self.iowhy);
            run.args(words).args(["--for", "60s", "--span", "1m"]);
            run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(reported);
            let mut child = run.spawn()?;
            std::thread::sleep(Duration::from_millis(random.place(800) as u64));
            send(&child, signal)?;
            let status = end_of(&mut child)?;
            row.inputs += 1;
            let left = std::fs::read_dir(&folder)?.count();
            let intact = std::fs::read(self.at("large"))?.iter().all(|byte| *byte == 7);
            let reported = std::fs::read_to_string(self.at("said"))?;
            let failed = if left > 0 {
                Some(format!("{left} files were left behind"))
            } else if !intact {
                Some("the file that was read has changed".to_string())
            } else if reported.contains("panicked at") {
                Some(format!("it panicked, status {status:?}"))
            } else {
                None
            };
            row.ran(failed.map(|why| {
                self.kept(
                    &format!("{signal} to `iowhy {}`: {why}", words.join(" ")),
                    reported.as_bytes(),
                )
            }));
        }
        Ok(row)
    }

    /// A recorder that watches, or nothing where none can.
    fn recorder(&self, disk: &Loop) -> io::Result<Option<Child>> {
        let trace = self.at("trace");
        let _ = std::fs::remove_file(&trace);
        let mut run = Command::new(self.iowhy);
        run.args(["record", "--for", "120s", "--device", disk.name()]).arg("-o").arg(&trace);
        let reported = std::fs::File::create(self.at("said"))?;
        let mut child = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(reported).spawn()?;
        let (ours, begun) = (rights("self"), Instant::now());
        // Once its programs are attached it drops its privileges.
        while rights(&child.id().to_string()) == ours && begun.elapsed() < PATIENCE {
            if child.try_wait()?.is_some() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Some(child))
    }

    /// Reads in the capture, and those it reports as lost.
    fn held(&self) -> io::Result<(u64, u64)> {
        let mut run = Command::new(self.iowhy);
        let output = run.args(["hist", "--json"]).arg(self.at("trace")).output()?;
        let value: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let all = |key: &str| value[key].as_array().cloned().unwrap_or_default();
        let total = |one: &&serde_json::Value| one["stage"] == "Q2C" && one["op"] == "read";
        let counts = all("histograms");
        let counts = counts.iter().filter(total).filter_map(|one| one["count"].as_u64());
        let lost = all("inputs");
        let lost = lost.iter().filter_map(|input| input["lost"].as_u64());
        Ok((counts.sum(), lost.sum()))
    }
}

fn rights(process: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find(|line| line.starts_with("CapEff")).map(str::to_string)
}

pub(super) fn send(child: &Child, signal: &str) -> io::Result<()> {
    let id = child.id().to_string();
    Command::new("kill").args([&format!("-{signal}"), &id]).status().map(|_| ())
}

/// The status it ended with; it is ended if it does not.
pub(super) fn end_of(child: &mut Child) -> io::Result<Option<i32>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(Some(-1));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A loop device over a file, for as long as this lives.
pub(super) struct Loop {
    device: String,
    file: PathBuf,
}

impl Loop {
    /// Nothing if this machine or user cannot.
    fn new(file: &Path) -> io::Result<Option<Loop>> {
        std::fs::write(file, vec![7; 16 << 20])?;
        let output = Command::new("losetup").args(["-f", "--show"]).arg(file).output();
        let device = output.ok().filter(|output| output.status.success());
        let Some(device) = device else { return Ok(None) };
        let device = String::from_utf8_lossy(&device.stdout).trim().to_string();
        Ok(Some(Loop { device, file: file.to_path_buf() }))
    }

    pub(super) fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    /// This many reads, one at a time, past the page cache.
    pub(super) fn reads(&self, count: u64) -> io::Result<Child> {
        let rounds = "while [ $left -gt 0 ]; do n=$left; [ $n -gt 2000 ] && n=2000; dd if=$0 \
                      of=/dev/null bs=4k count=$n iflag=direct status=none; left=$((left - n)); \
                      done";
        let script = format!("left={count}; {rounds}");
        Command::new("sh").args(["-c", &script, &self.device]).stdin(Stdio::null()).spawn()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
        let _ = std::fs::remove_file(&self.file);
    }
}
