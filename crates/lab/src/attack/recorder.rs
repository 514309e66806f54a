//! The flight recorder killed at random moments, with wall clocks that are wrong or set, and with
//! slow connections: what it recorded is kept and readable, and other clients are served.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use iowhy_model::Random;

use super::kept::{ios_stored, kept_names};
use super::kill::{Loop, PATIENCE, end_of, send};
use super::{AttackRow, Field};

const KILLED: &str = "`watch` killed while it records";
const CLOCKS: &str =
    "`watch` with the clock ahead, back, in 1970, 2040 and 2150, set and from the start";
const LINGER: &str = "connections to `watch --listen` that are idle, slow or not read";
/// How far the wall clock is off, s; the last three are what it shows instead.
const SHIFTS: [i64; 5] = [30 * 86_400, -7200, 100, 2_208_988_800, 5_680_281_600];
/// What a connection that lingers has sent.
const SENT: [&str; 3] = ["", "GET /metr", "GET /metrics HTTP/1.1\r\n\r\n"];
const LINGERING: usize = 40;
/// A scrape at the same time takes no longer, however busy the machine: one of them is shut out
/// after 3 s.
const ANSWERED: Duration = Duration::from_millis(2500);

/// A recorder at work.
struct Watching {
    child: Child,
    port: u16,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Field<'_> {
    /// All three; of those that cannot run here nothing was tried.
    pub(super) fn recorders(
        &mut self,
        disk: &Loop,
        count: u64,
        random: &mut Random,
    ) -> io::Result<Vec<AttackRow>> {
        let (mut killed, mut clocks) = (AttackRow::of(KILLED), AttackRow::of(CLOCKS));
        let mut linger = AttackRow::of(LINGER);
        let mut kept = BTreeSet::new();
        for number in 0..count as usize {
            let (kills, from_the_start) = (number % 2 == 0, number % 4 == 1);
            let place = number / 2 % SHIFTS.len();
            let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let now_s = now_s.map_or(0, |since| since.as_secs() as i64);
            let wrong = SHIFTS[place] - if place < 2 { 0 } else { now_s };
            self.shift(if from_the_start && !kills { wrong } else { 0 })?;
            let before = ios_stored(self.iowhy, &self.at("recorded"));
            let Some(mut watching) = self.watching(disk)? else { break };
            let mut load = disk.reads(1 << 30)?;
            let mut counts = vec![0];
            let mut wait = |time: Duration| {
                let end = Instant::now() + time;
                while Instant::now() < end || counts.len() < 3 {
                    let counted = watching.counted().unwrap_or(0);
                    if counts.last().is_some_and(|last| counted > *last) {
                        counts.push(counted);
                    }
                    if end.elapsed() > PATIENCE {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(20));
                }
            };
            let row = if kills { &mut killed } else { &mut clocks };
            wait(Duration::from_millis(random.place(1000) as u64));
            if !kills {
                for shift in [wrong, 0] {
                    self.shift(shift)?;
                    wait(Duration::from_millis(1500));
                }
                load.kill()?;
                load.wait()?;
                wait(Duration::from_millis(2500));
            }
            send(&watching.child, if kills { "KILL" } else { "TERM" })?;
            end_of(&mut watching.child)?;
            let _ = load.kill();
            let _ = load.wait();
            // Of a killed one the second that was about to be written may be missing.
            let expected = counts.iter().rev().nth(usize::from(kills)).copied().unwrap_or(0);
            let names = kept_names(&self.at("recorded"));
            let gone = kept.difference(&names).count();
            kept.extend(names);
            let stored = ios_stored(self.iowhy, &self.at("recorded")).zip(before.or(Some(0)));
            let failed = match stored {
                _ if gone > 0 => Some(format!("{gone} files are gone")),
                None => Some("the store cannot be read".to_string()),
                Some((after, before)) if after < before + expected => {
                    Some(format!("{} of {expected} I/Os are stored", after - before))
                }
                Some(_) => None,
            };
            row.inputs += 1;
            row.ran(failed.map(|why| format!("clock off by {wrong} s, killed {kills}: {why}")));
        }
        if let Some(watching) = self.watching(disk)? {
            for sent in SENT {
                let mut held = Vec::new();
                for _ in 0..LINGERING {
                    let mut stream = TcpStream::connect(("127.0.0.1", watching.port))?;
                    // One that made room for another is gone.
                    let _ = stream.write_all(sent.as_bytes());
                    held.push(stream);
                }
                let begun = Instant::now();
                let answered = watching.get("/metrics").is_ok_and(|text| text.contains(" 200 "));
                let took = begun.elapsed();
                linger.inputs += held.len() as u64;
                let well = answered && took < ANSWERED;
                linger.ran((!well).then(|| format!("{sent:?}: answered {answered} in {took:?}")));
            }
        }
        let _ = fs::remove_dir_all(self.at("recorded"));
        Ok(vec![killed, clocks, linger])
    }

    fn shift(&self, seconds: i64) -> io::Result<()> {
        let mut file = fs::OpenOptions::new();
        let file = file.write(true).create(true).truncate(false).open(self.at("shift"));
        file?.write_all(format!("{seconds:>20}\n").as_bytes())
    }

    fn watching(&self, disk: &Loop) -> io::Result<Option<Watching>> {
        let mut run = Command::new(self.iowhy);
        run.args(["watch", "--listen", "127.0.0.1:0", "--device", disk.name()]);
        run.arg("--store").arg(self.at("recorded"));
        run.arg("--clock-shifted-by").arg(self.at("shift"));
        let reported = fs::File::create(self.at("said"))?;
        let mut child = run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(reported).spawn()?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let reported = fs::read_to_string(self.at("said"))?;
            let port = reported.split("http://127.0.0.1:").nth(1);
            let port = port.and_then(|rest| rest.split('/').next()?.parse().ok());
            if let Some(port) = port.filter(|_| reported.contains("recording into")) {
                return Ok(Some(Watching { child, port }));
            }
            if child.try_wait()?.is_some() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill()?;
        child.wait()?;
        Ok(None)
    }
}

impl Watching {
    fn get(&self, path: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    }

    /// I/Os that the recorder has counted.
    fn counted(&self) -> io::Result<u64> {
        let text = self.get("/metrics")?;
        let lines = text.lines().filter(|line| line.starts_with("iowhy_ios_total{"));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum())
    }
}
