//! Every block request, from the kernel's event text (ftrace), if eBPF is refused.
//!
//! ## Watches
//! The events `block_io_start`, `block_rq_insert`, `block_rq_issue`, `block_rq_requeue`,
//! `block_rq_merge` and `block_rq_complete` in a separate trace instance, as lines of text in the
//! format `perf-script`: one event per request, with its time in the queue and on the device,
//! process, sector and size.
//!
//! ## Needs
//! Root, and tracefs: `mount -t tracefs tracefs /sys/kernel/tracing`. Neither eBPF nor BTF is
//! needed, so it works on old kernels and where BPF is disabled. Other users of ftrace are not
//! disturbed.
//!
//! ## Costs
//! Several microseconds per request, three lines of text each: ten times the cost of the eBPF
//! tracer. 4 MiB of memory per CPU. Only devices are filtered in the kernel.
//!
//! ## Not in this output
//! Queue depth at issue, the charged cgroup, error names on old kernels. Requests are matched by
//! device and sector, so two at the same sector may be mixed up; lines lost by a full buffer are
//! counted by the kernel but not attributed to a device. Before Linux 6.5 queue time starts at the
//! insertion into an I/O scheduler, and is unknown without one.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use iowhy_model::{DeviceId, Level, Note, Sampling, Sink, Source, Time};
use iowhy_read::{LINE_LIMIT, Reader};

use crate::{Collector, Error, clock};

/// Its name in the list of collectors.
pub(super) const NAME: &str = "ftrace";

/// Where tracefs is mounted, the newer place first.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The required events, and the optional ones.
const NEEDED: [&str; 2] = ["block_rq_issue", "block_rq_complete"];
const WELCOME: [&str; 4] =
    ["block_io_start", "block_rq_insert", "block_rq_requeue", "block_rq_merge"];
/// Bytes of text kept per CPU, in KiB: a second of ten thousand requests.
const BUFFER_KIB: &str = "4096";
/// `O_NONBLOCK` of Linux on all architectures but alpha, mips, parisc and sparc.
const NONBLOCK: i32 = 0o4000;
/// The common prefix of instances; the rest is the process id.
const INSTANCE: &str = "iowhy-";
/// Names tried for one process: another PID namespace may have the same process id.
const NAMES: u32 = 16;

/// The block events of the kernel.
pub struct Ftrace {
    devices: Vec<(u32, u32)>,
    running: Option<AttachedState>,
}

struct AttachedState {
    // Closed before the instance is removed: the kernel refuses to remove an instance with an open
    // pipe (EBUSY), and fields are dropped in declaration order.
    pipe: File,
    instance: Instance,
    reader: Box<dyn Reader>,
    text: Vec<u8>,
    listing: usize,
    began: Time,
}

/// A trace instance that is removed with its owner.
struct Instance(Option<PathBuf>);

impl Instance {
    /// Creates one with an unused name.
    fn make(instances: &Path) -> Result<Instance, Error> {
        let process = std::process::id();
        let names = std::iter::once(format!("{INSTANCE}{process}"))
            .chain((1..NAMES).map(|more| format!("{INSTANCE}{process}-{more}")));
        let mut refused = None;
        for name in names {
            let folder = instances.join(name);
            match fs::create_dir(&folder) {
                Ok(()) => return Ok(Instance(Some(folder))),
                // It belongs to a process with the same id in another PID namespace.
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
                    refused = Some(broken(&folder, cause));
                }
                Err(cause) => return Err(broken(&folder, cause)),
            }
        }
        Err(refused
            .unwrap_or_else(|| Error::Kernel { what: "all instance names are in use".to_string() }))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.as_deref().unwrap_or(Path::new("")).join(name)
    }

    /// Removes it, with its buffers.
    fn remove(mut self) -> Result<(), Error> {
        match self.0.take() {
            Some(folder) => remove(&folder),
            None => Ok(()),
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some(folder) = self.0.take() {
            // Only if `end` was not reached: the next run removes what is left, and reports it.
            let _ = remove(&folder);
        }
    }
}

/// Removes an instance: the kernel switches its events off and frees its buffers
/// (`__remove_instance` of kernel/trace/trace.c). The kernel returns EBUSY while another program
/// reads it, so removal is retried.
fn remove(folder: &Path) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
            Err(cause) if cause.kind() == ErrorKind::ResourceBusy && tries < 20 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(cause) => {
                return Err(Error::Left { path: folder.display().to_string(), cause });
            }
        }
    }
}

impl std::fmt::Debug for Ftrace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Ftrace {{ running: {} }}", self.running.is_some())
    }
}

impl Ftrace {
    /// Traces these whole disks, by major and minor; all if there are none.
    pub fn new(devices: Vec<(u32, u32)>) -> Ftrace {
        Ftrace { devices, running: None }
    }
}

impl Collector for Ftrace {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let place = place()?;
        let instances = place.join("instances");
        let left = sweep(&instances);
        let instance = Instance::make(&instances)?;
        // First of all, so that no other run takes the instance for a leftover.
        let path = instance.file("trace_pipe");
        let pipe = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&path);
        let pipe = pipe.map_err(|cause| broken(&path, cause))?;
        // CLOCK_MONOTONIC, like the tracer.
        set(&instance, "trace_clock", "mono")?;
        set(&instance, "buffer_size_kb", BUFFER_KIB)?;
        for event in WELCOME.into_iter().chain(NEEDED) {
            let folder = format!("events/block/{event}");
            if !instance.file(&folder).exists() && WELCOME.contains(&event) {
                continue;
            }
            if !self.devices.is_empty() {
                set(&instance, &format!("{folder}/filter"), &filter(&self.devices))?;
            }
            set(&instance, &format!("{folder}/enable"), "1")?;
        }
        let format = iowhy_read::find("perf-script").ok_or_else(|| Error::Kernel {
            what: "the reader for event text is missing (a bug in iowhy)".to_string(),
        })?;
        let mut source = Source::new(NAME, "live", Level::D);
        source.sampling = Sampling::Traced;
        let began = clock::now();
        let listing = sink.begin(source);
        clock::add_clock(sink, began);
        left.iter().for_each(|error| note(error, sink));
        let (reader, text) = (format.reader(), Vec::new());
        self.running = Some(AttachedState { pipe, instance, reader, text, listing, began });
        Ok(())
    }

    fn poll(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(running) = &mut self.running else { return Ok(()) };
        sink.resume(running.listing);
        running.read(sink)?;
        sink.source().watched = Some(clock::now() - running.began);
        Ok(())
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        sink.resume(running.listing);
        set(&running.instance, "events/enable", "0")?;
        running.read(sink)?;
        running.reader.finish(&mut NamingSink(sink));
        let AttachedState { pipe, instance, .. } = running;
        drop(pipe);
        if let Err(error) = instance.remove() {
            note(&error, sink);
        }
        sink.end();
        Ok(())
    }
}

impl AttachedState {
    /// Reads the available text.
    fn read(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut some = [0; 1 << 16];
        loop {
            let count = match self.pipe.read(&mut some) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                Err(cause) => return Err(broken(&self.instance.file("trace_pipe"), cause)),
            };
            self.text.extend_from_slice(&some[..count]);
            let mut taken = 0;
            while let Some(length) = self.text[taken..].iter().position(|byte| *byte == b'\n') {
                let line = String::from_utf8_lossy(&self.text[taken..taken + length]);
                self.reader.line(&line, &mut NamingSink(sink));
                taken += length + 1;
            }
            self.text.drain(..taken);
            // No event is that long: this is something else.
            if self.text.len() > LINE_LIMIT {
                self.text.clear();
            }
        }
    }
}

/// Where tracefs is.
fn place() -> Result<PathBuf, Error> {
    let found =
        PLACES.into_iter().map(PathBuf::from).find(|place| place.join("instances").is_dir());
    found.ok_or_else(|| Error::Kernel {
        what: "tracefs is not mounted on `/sys/kernel/tracing`, or is readable only by root"
            .to_string(),
    })
}

/// Removes the instances of ended processes, and returns those that could not be removed.
fn sweep(instances: &Path) -> Vec<Error> {
    let mut left = Vec::new();
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(number) = name.strip_prefix(INSTANCE) else { continue };
        let process = number.split('-').next().unwrap_or_default();
        let is_number = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || Path::new("/proc").join(process).exists() {
            continue;
        }
        // Nothing is written into it first: if its owner runs in another PID namespace, its pipe is
        // open and the kernel refuses.
        match fs::remove_dir(entry.path()) {
            Ok(()) => {}
            Err(cause) if cause.kind() == ErrorKind::ResourceBusy => {}
            Err(cause) => {
                left.push(Error::Left { path: entry.path().display().to_string(), cause });
            }
        }
    }
    left
}

/// Adds a note on what could not be removed.
fn note(error: &Error, sink: &mut dyn Sink) {
    let reason = format!("{error}; {}", error.hint());
    // Even if three notes are kept already: this is the only place that reports it.
    sink.source().notes.push(Note { line: 0, text: NAME.to_string(), reason });
}

fn set(instance: &Instance, file: &str, value: &str) -> Result<(), Error> {
    let path = instance.file(file);
    fs::write(&path, value).map_err(|cause| broken(&path, cause))
}

fn broken(path: &Path, cause: std::io::Error) -> Error {
    Error::File { path: path.display().to_string(), cause }
}

/// `dev == N || dev == M`, with numbers as the kernel keeps them (MKDEV of include/linux/kdev_t.h).
fn filter(devices: &[(u32, u32)]) -> String {
    let one = |(major, minor): &(u32, u32)| format!("dev == {}", major << 20 | minor);
    devices.iter().map(one).collect::<Vec<_>>().join(" || ")
}

/// A sink that gives devices their names on this machine.
struct NamingSink<'a>(&'a mut dyn Sink);

impl Sink for NamingSink<'_> {
    iowhy_model::forward!(0: begin resume source name event interval distribution fact end);

    fn device(&mut self, name: &str) -> DeviceId {
        let link = name.contains(':').then(|| format!("/sys/dev/block/{name}"));
        let link = link.and_then(|link| fs::read_link(link).ok());
        match link.as_deref().and_then(Path::file_name) {
            Some(known) => self.0.device(&known.to_string_lossy().replace('!', "/")),
            None => self.0.device(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_told_as_the_kernel_keeps_them() {
        assert_eq!(filter(&[(7, 1), (254, 0)]), "dev == 7340033 || dev == 266338304");
    }
}
