//! The small machine: one CPU in software, whose time is the count of its instructions.
//!
//! Time skips idle waits, so that 20 s of a slow disk take a second, and other load on this machine
//! has no effect inside.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::image::Image;

/// The prefix of a line's JSON.
pub(super) const MARK: &str = "rig-guest ";
/// The last line of a machine that came to its end. A panic ends qemu just as quietly.
pub(super) const DONE: &str = "rig-guest done";

/// What a machine printed.
#[derive(Debug, Default)]
pub(super) struct Console {
    /// Every line on its serial port.
    pub lines: Vec<String>,
    /// Whether it came to its end.
    pub done: bool,
    /// Real time it took.
    pub took: Duration,
}

/// Which cases a machine runs, and how its time goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cases<'a> {
    /// All of them, in virtual time.
    All,
    /// The fast ones, in virtual time.
    Fast,
    /// The one of that name, in virtual time.
    Only(&'a str),
    /// Real drivers over these three devices of the host, in real time.
    Drives(&'a [String; 3]),
}

/// A running machine, which does not outlive this.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Boots an image and gathers what it prints, no longer than `patience`.
///
/// # Errors
/// If qemu cannot be started.
pub(super) fn boot(image: &Image, cases: Cases<'_>, patience: Duration) -> io::Result<Console> {
    let began = Instant::now();
    let mut machine = Machine(qemu(image, cases).spawn()?);
    let output = machine.0.stdout.take().ok_or_else(|| io::Error::other("no serial port"))?;
    let (tell, reported) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            // The firmware moves the cursor about before the kernel begins.
            let line = String::from_utf8_lossy(&line).replace(char::is_control, "");
            if tell.send(line).is_err() {
                break;
            }
        }
    });
    let mut printed = Console::default();
    // Ends when qemu closes its output, or when the patience does.
    while let Ok(line) = reported.recv_timeout(patience.saturating_sub(began.elapsed())) {
        printed.done |= line == DONE;
        printed.lines.push(line);
    }
    printed.took = began.elapsed();
    Ok(printed)
}

fn qemu(image: &Image, cases: Cases<'_>) -> Command {
    // It dies with us, also if we are killed.
    let mut qemu = Command::new("setpriv");
    qemu.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
    qemu.args(["-M", "q35", "-cpu", "max", "-smp", "1", "-m", "1024"]);
    qemu.args(["-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]);
    // Software alone: where /dev/kvm exists it may be of a kind that cannot boot a stock kernel.
    qemu.args(["-accel", "tcg,thread=single", "-seed", "7"]);
    let asked = match cases {
        Cases::All => "all".to_string(),
        Cases::Fast => "fast".to_string(),
        Cases::Only(name) => format!("only:{}", name.replace(' ', "-")),
        Cases::Drives(_) => "drives".to_string(),
    };
    if let Cases::Drives(devices) = cases {
        // What the host answers takes the host's time, so the machine's must be the same.
        for (place, (device, drive)) in devices.iter().zip(DRIVES).enumerate() {
            let backing =
                format!("file={device},format=raw,if=none,cache=none,aio=native,id=d{place}");
            qemu.args(["-drive", &backing]);
            for part in drive {
                qemu.args(["-device", &format!("{part}{place}")]);
            }
        }
    } else {
        // Two nanoseconds per instruction; no waiting where nothing is to be done.
        qemu.args(["-icount", "shift=1,sleep=off", "-rtc", "base=2026-01-01,clock=vm"]);
    }
    qemu.arg("-kernel").arg(&image.kernel).arg("-initrd").arg(&image.initramfs);
    let line = format!("console=ttyS0 quiet loglevel=1 panic=-1 rig.cases={asked}");
    qemu.args(["-append", &line]);
    qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    qemu
}

/// A SCSI disk that reports its spindle speed, an NVMe and a virtio drive; the number of the
/// backing file follows each.
const DRIVES: [&[&str]; 3] = [
    &["virtio-scsi-pci,id=bus", "scsi-hd,bus=bus0.0,rotation_rate=7200,drive=d"],
    &["nvme,serial=lab1,drive=d"],
    &["virtio-blk-pci,drive=d"],
];
