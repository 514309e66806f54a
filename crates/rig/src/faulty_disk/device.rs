//! The supervising side: starts the serving process, creates the loop device, removes both.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

use super::{MARK, MOUNT_POINT, Spec, Truth, file, kernel};
use crate::programs;
use iowhy_lab::disk::Model;

/// Loop device numbers of rig, far above those that `losetup -f` assigns.
const NUMBERS: std::ops::Range<u32> = 700..9700;
/// One number after the other, so that whoever still watches a disk that is gone does not meet
/// another one of its name: the numbers come round after 15 minutes.
const EACH_NUMBER: Duration = Duration::from_millis(100);
/// How long the kernel or the serving process may take for anything.
const PATIENCE: Duration = Duration::from_secs(10);

/// A faulty disk that is there until it is dropped.
#[derive(Debug)]
pub struct FaultyDisk {
    serving: Child,
    orders: Option<ChildStdin>,
    /// The open device; it detaches when this is closed.
    device: Option<File>,
    number: Option<u32>,
    truth: PathBuf,
    revolution: Option<u64>,
}

impl FaultyDisk {
    /// Makes the disk. Needs root, /dev/fuse and /dev/loop-control.
    ///
    /// # Errors
    /// If one of them is missing, or the spec is wrong; nothing is left behind then.
    pub fn start(spec: &Spec) -> io::Result<FaultyDisk> {
        spec.disk(0).map_err(io::Error::other)?;
        let model = spec.model().map_err(io::Error::other)?;
        let mut serving = serving(spec)?;
        let orders = serving.stdin.take();
        let answers = serving.stdout.take();
        let revolution = model.revolution();
        let mut disk = FaultyDisk {
            serving,
            orders,
            device: None,
            number: None,
            truth: spec.truth.clone(),
            revolution,
        };
        disk.await_ready(answers.map(BufReader::new))?;
        disk.attach(&model)?;
        Ok(disk)
    }

    /// Its path, `/dev/loopN`.
    pub fn path(&self) -> String {
        self.number.map(path_of).unwrap_or_default()
    }

    /// The serving process, for tests that end it.
    pub fn serving(&self) -> u32 {
        self.serving.id()
    }

    /// A command that is ended if this process dies before it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env(MARK, self.serving.id().to_string());
        command
    }

    /// Removes the disk and reads what it did.
    ///
    /// # Errors
    /// If it cannot be removed (a process still has it open) or its log cannot be read.
    pub fn end(mut self) -> io::Result<Truth> {
        self.clear_away()?;
        Truth::read(&self.truth, self.revolution)
    }

    fn await_ready(&mut self, answers: Option<impl BufRead>) -> io::Result<()> {
        let mut line = String::new();
        if let Some(mut answers) = answers {
            answers.read_line(&mut line)?;
        }
        match line.trim() {
            "ready" => Ok(()),
            _ => Err(io::Error::other("the serving process did not start")),
        }
    }

    fn attach(&mut self, model: &Model) -> io::Result<()> {
        // The file is in the other process's mount namespace; /proc leads there.
        let backing = format!("/proc/{}/root{MOUNT_POINT}/{}", self.serving.id(), file::NAME);
        let direct = OFlags::DIRECT.bits() as i32;
        let backing = File::options().read(true).write(true).custom_flags(direct).open(backing)?;
        let control = kernel::loop_control()?;
        let number = self.add(&control)?;
        self.order(&format!("loop {number}"));
        let device = within(|| File::options().read(true).write(true).open(path_of(number)))?;
        drop(control);
        kernel::attach_loop(&device, &backing)?;
        self.device = Some(device);
        let block = block_of(number);
        if std::fs::read_to_string(format!("{block}/loop/dio"))?.trim() != "1" {
            return Err(io::Error::other("the loop device refuses direct I/O"));
        }
        let rotates = if model.rotates() { "1" } else { "0" };
        std::fs::write(format!("{block}/queue/rotational"), rotates)
    }

    /// Adds a loop device under the number of the moment, or the next free one.
    fn add(&mut self, control: &File) -> io::Result<u32> {
        for number in present()?.into_iter().filter(|number| NUMBERS.contains(number)) {
            // One that is neither attached nor open was left by a laboratory that was killed
            // together with its serving process; the kernel refuses to remove any other.
            let _ = kernel::remove_loop(control, number);
        }
        let taken = present()?;
        let first = turn(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let numbers = (first..NUMBERS.end).chain(NUMBERS.start..first);
        let free = { numbers }.find(|number| !taken.contains(number));
        let number =
            free.ok_or_else(|| io::Error::other("all loop device numbers of rig are in use"))?;
        kernel::add_loop(control, number)?;
        self.number = Some(number);
        Ok(number)
    }

    fn order(&mut self, order: &str) {
        if let Some(orders) = &mut self.orders {
            // A serving process that is dead needs no orders; its end is noticed elsewhere.
            let _ = writeln!(orders, "{order}");
        }
    }

    fn clear_away(&mut self) -> io::Result<()> {
        self.order("hurry");
        let detached = self.detach();
        let removed = match self.number.take() {
            Some(number) => within(|| remove(number)),
            None => Ok(()),
        };
        self.order("end");
        self.orders = None;
        let ended = within(|| match self.serving.try_wait()? {
            Some(_) => Ok(()),
            None => Err(io::Error::other("the serving process does not end")),
        });
        if ended.is_err() {
            self.serving.kill()?;
            self.serving.wait()?;
        }
        detached.and(removed).and(ended)
    }

    /// Closes the device. The close writes dirty data, and would wait forever for a serving process
    /// that has stopped; that one is ended then, which fails the writes.
    fn detach(&mut self) -> io::Result<()> {
        let Some(device) = self.device.take() else { return Ok(()) };
        let (tell, reported) = std::sync::mpsc::channel();
        let closing = std::thread::spawn(move || {
            drop(device);
            let _ = tell.send(());
        });
        if reported.recv_timeout(PATIENCE).is_err() {
            self.serving.kill()?;
        }
        closing.join().map_err(|_| io::Error::other("the device could not be closed"))
    }
}

impl Drop for FaultyDisk {
    fn drop(&mut self) {
        if self.orders.is_some()
            && let Err(error) = self.clear_away()
        {
            let _ = writeln!(io::stderr(), "rig: cannot remove the faulty disk: {error}");
        }
    }
}

/// Starts the serving process: in its own mount namespace and process group, so that it survives an
/// interrupt at the terminal and can clean up.
fn serving(spec: &Spec) -> io::Result<Child> {
    let mut command = Command::new("unshare");
    command.arg("--mount").arg("--").arg(programs::rig()?).arg("serve");
    command.arg("--model").arg(&spec.model);
    for fault in &spec.faults {
        command.arg("--fault").arg(fault);
    }
    command.arg("--size").arg(spec.bytes.to_string());
    command.arg("--seed").arg(spec.seed.to_string());
    command.arg("--truth").arg(&spec.truth);
    // What runs on another laboratory's disk may end with that disk; this must not.
    command.env_remove(MARK);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()
}

/// The number whose turn it is.
fn turn(since_1970: Duration) -> u32 {
    let turns = since_1970.as_millis() / EACH_NUMBER.as_millis();
    NUMBERS.start + (turns % NUMBERS.len() as u128) as u32
}

/// The numbers of the loop devices that there are.
fn present() -> io::Result<BTreeSet<u32>> {
    let names = std::fs::read_dir("/sys/block")?.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.to_str()?.strip_prefix("loop")?.parse().ok()).collect())
}

fn path_of(number: u32) -> String {
    format!("/dev/loop{number}")
}

fn block_of(number: u32) -> String {
    format!("/sys/block/loop{number}")
}

/// Removes a loop device, unless it was removed already.
pub(super) fn remove(number: u32) -> io::Result<()> {
    let removed = kernel::remove_loop(&kernel::loop_control()?, number);
    if Path::new(&block_of(number)).exists() { removed } else { Ok(()) }
}

/// Tries until it works or the patience ends; the last error then.
fn within<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let since = Instant::now();
    loop {
        match attempt() {
            Err(_) if since.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            outcome => return outcome,
        }
    }
}

/// What is missing on this machine for a faulty disk; `None` if nothing is.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("root".to_string());
    }
    ["/dev/fuse", "/dev/loop-control"]
        .into_iter()
        .find(|path| !Path::new(path).exists())
        .map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_comes_again_after_a_quarter_of_an_hour() {
        let at = |tenths: u64| turn(Duration::from_millis(100 * tenths));
        assert_eq!(at(0), 700);
        assert_eq!((at(8999), at(9000)), (9699, 700));
        let numbers: BTreeSet<u32> = (31_000..40_000).map(at).collect();
        assert_eq!(numbers.len(), 9000);
    }
}
