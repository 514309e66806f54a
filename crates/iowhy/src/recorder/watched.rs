//! What the recorder watches: the collectors, the kernel's log, pressure, marks, and each minute
//! the machine around them.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use iowhy_live::{BlockDevice, BlockTrace, KernelLog, TraceMode, TraceOptions};
use iowhy_model::{Fact, Level, Nanos, Recording, Sink, Source, Time, key};
use signal_hook::consts::SIGUSR1;

use super::busy::Busy;
use super::clock::Clocks;
use super::intake::{Intake, Second};
use super::marks::Marks;
use super::ring::Ring;
use super::settings::Settings;
use super::verdicts::{Snapshot, facts};
use crate::collectors::LiveCollectors;
use crate::device_lookup::{NamingFacts, known_devices};
use crate::messages;
use crate::stop::Stop;
use crate::watch::{Plan, Watch};

/// The tracer's ring holds 10,000 events, and counts twice in resident memory, because it is mapped
/// twice. It is emptied often enough for a quarter of a million a second, above which a second
/// lists a sample, and less often at low rates; the I/Os of events that find it full are counted in
/// the kernel.
const RING_BYTES: u32 = 1 << 20;
const BUSY: Duration = Duration::from_millis(40);
const CALM: Duration = Duration::from_millis(120);
const CALM_EVENTS: u64 = 2000;
/// A device's histograms take 72 KiB per CPU, and the systemd unit limits memory (`MemoryMax`).
/// They are needed for I/Os of busy devices that are not reported individually.
const HISTOGRAM_BYTES: usize = 96 << 20;
const SECOND: Duration = Duration::from_secs(1);
/// Histograms are read once a second, not more often: each time costs an RCU grace period.
const HISTOGRAMS: Nanos = Nanos(900_000_000);
/// How often temperatures are read.
const SENSORS: Duration = Duration::from_secs(10);
/// Lines of the kernel's log used to judge an incident; two of three may be fields of a message.
const KERNEL_LINES: usize = 6000;

/// The input of one second.
pub(crate) struct Seen {
    /// From the collectors.
    pub second: Second,
    /// From the kernel's log.
    pub messages: Vec<KernelMessage>,
    /// The share of the last 10 s in which some task waited for I/O.
    pub pressure: Option<f64>,
    /// Texts of `iowhy mark`.
    pub marks: Vec<String>,
    /// Whether `SIGUSR1` came.
    pub signalled: bool,
}

/// A message of the kernel that is about I/O.
pub(crate) struct KernelMessage {
    /// The device; empty if none.
    pub device: String,
    /// Its kind and its text.
    pub fact: Fact,
    /// Whether it may be about a selected device.
    pub is_ours: bool,
}

/// All that is watched.
pub(crate) struct Watched {
    watch: Watch<Intake>,
    busy: Busy,
    kernel: Option<KernelLog>,
    /// The last lines of the kernel's log.
    kernel_lines: VecDeque<String>,
    pressure: Option<File>,
    marks: Option<Marks>,
    signal: Arc<AtomicBool>,
    /// The selected devices; all if empty.
    wanted: Vec<String>,
    /// The names of devices at the start.
    named: NamingFacts,
    snapshot: Snapshot,
    /// The devices at the last reading, until taken.
    present: Option<HashSet<String>>,
    /// The disks that were known by a name at the last reading, by their sequence numbers.
    looked_at: HashMap<String, u64>,
    /// I/Os lost by the tracer.
    pub lost: u64,
    /// The exact tracer was refused its turn.
    is_refused: bool,
}

impl Watched {
    /// Opens everything that is watched, which needs privileges.
    ///
    /// # Errors
    /// If nothing can be traced.
    pub(crate) fn begin(settings: &Settings, stop: Stop, now: Clocks) -> anyhow::Result<Watched> {
        let marks = Marks::listen(&settings.store).map_err(|cause| {
            messages::warn(&format!("`iowhy mark` will not reach this recorder: {cause}"), None);
        });
        let plan = plan(settings);
        let ring = Ring::new(settings.ring_ns, settings.ring_bytes);
        let mut intake = Intake::new(ring, now.wall as u64).by_group(settings.metrics_by.is_some());
        intake.ring().now_ns = now.monotonic;
        let named = NamingFacts::of(&known_devices()?);
        let collectors = LiveCollectors::begin(&plan, &mut intake)?;
        let mut kernel = KernelLog::open();
        if kernel.is_none() {
            let hint = "start the recorder with CAP_SYSLOG, as `contrib/iowhy-watch.service` does";
            messages::warn(
                "kernel-log triggers are disabled: no permission to read /dev/kmsg",
                Some(hint),
            );
        }
        let lines = kernel.as_mut().map(KernelLog::lines).unwrap_or_default();
        let signal = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR1, Arc::clone(&signal))?;
        let mut watched = Watched {
            watch: Watch::of(intake, collectors, stop, &plan),
            busy: Busy::new(settings.one_by_one),
            kernel,
            kernel_lines: VecDeque::new(),
            pressure: File::open("/proc/pressure/io").ok(),
            marks: marks.ok(),
            signal,
            wanted: settings.devices.clone(),
            named,
            snapshot: Snapshot::new(Recording::new()),
            present: None,
            looked_at: HashMap::new(),
            lost: 0,
            is_refused: false,
        };
        watched.keep_lines(&lines);
        Ok(watched)
    }

    /// The collectors' records.
    pub(crate) fn intake(&mut self) -> &mut Intake {
        &mut self.watch.sink
    }

    /// Whether it is over: time limit or user.
    pub(crate) fn is_over(&self) -> bool {
        self.watch.is_over()
    }

    /// Watches for a second, and empties the tracer's ring as often as the rate requires.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn watch(&mut self) -> anyhow::Result<()> {
        let mut before = self.watch.sink.events();
        self.watch.run(SECOND, |watch, nap| {
            std::thread::sleep(nap);
            let events = watch.sink.events();
            let is_busy = events - before > CALM_EVENTS;
            before = events;
            watch.collectors.trace_at(if is_busy { BUSY } else { CALM });
            Ok(false)
        })
    }

    /// The input since the last call; decides which devices are sampled in the next second.
    ///
    /// # Errors
    /// If the tracer broke.
    pub(crate) fn second(&mut self, now: Clocks) -> anyhow::Result<Seen> {
        let mut second = self.watch.sink.take(now.monotonic)?;
        let names: BTreeSet<&String> = second.histograms.iter().map(|(name, _)| name).collect();
        let numbered = |name: &String| Some((name.clone(), iowhy_live::disk_sequence(name)?));
        second.disks = names.into_iter().filter_map(numbered).collect();
        self.lost += second.lost;
        let changes = self.busy.second(&second);
        if let Some(trace) = self.watch.collectors.of_mut::<BlockTrace>() {
            for ((device, op), how) in changes {
                trace.thin(&device, op, how)?;
            }
        }
        Ok(Seen {
            second,
            messages: self.messages(now),
            pressure: self.pressure(),
            marks: self.marks.as_ref().map(Marks::take).unwrap_or_default(),
            signalled: self.signal.swap(false, Relaxed),
        })
    }

    /// With the kernel's clock: starts or ends exact tracing.
    pub(crate) fn trace_exactly(&mut self, exact: bool) {
        if self.is_refused {
            return;
        }
        let trace = self.watch.collectors.of_mut::<BlockTrace>();
        if let Some(Err(error)) = trace.map(|trace| trace.take_turn(exact)) {
            let text = format!("incidents are recorded with the kernel's times: {error}");
            messages::warn(&text, None);
            self.is_refused = true;
        }
    }

    fn messages(&mut self, now: Clocks) -> Vec<KernelMessage> {
        let lines = self.kernel.as_mut().map(KernelLog::lines).unwrap_or_default();
        let mut read = Recording::new();
        if let Some(format) = iowhy_read::find("kernel-log").filter(|_| !lines.is_empty()) {
            // Nothing recognised in it is not a failure.
            let _ = iowhy_read::scan("/dev/kmsg", &mut lines.as_bytes(), Some(format), &mut read);
        }
        self.keep_lines(&lines);
        let facts = read.listings.iter().flat_map(|listing| &listing.facts);
        let messages = facts.filter(|fact| {
            fact.key.member_of(key::KERNEL_LOG).is_some() && fact.value.message().is_some()
        });
        messages
            .map(|fact| {
                let device = fact.device.map(|id| read.device_of(id).name.clone());
                let device = device.unwrap_or_default();
                let is_ours = !is_of_another(&device, &self.wanted);
                let fact = fact.clone().at(Time::from_ns(now.monotonic));
                KernelMessage { device, fact, is_ours }
            })
            .collect()
    }

    fn keep_lines(&mut self, lines: &str) {
        self.kernel_lines.extend(lines.lines().map(str::to_string));
        let over = self.kernel_lines.len().saturating_sub(KERNEL_LINES);
        self.kernel_lines.drain(..over);
    }

    fn pressure(&self) -> Option<f64> {
        let mut text = [0; 256];
        let length = self.pressure.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
        let percent: f64 = some.split(' ').next()?.parse().ok()?;
        Some(percent / 100.0)
    }

    /// Whether a disk that came after the last reading did I/O: its medium and settings are not
    /// known.
    pub(crate) fn has_new_disk(&mut self, second: &Second) -> bool {
        let is_new = |(name, disk): &(&String, &u64)| self.looked_at.get(*name) != Some(*disk);
        let new: Vec<_> = second.disks.iter().filter(is_new).collect();
        let any = !new.is_empty();
        self.looked_at.extend(new.into_iter().map(|(name, disk)| (name.clone(), *disk)));
        any
    }

    /// Reads settings, mounts, limits, pressure.
    pub(crate) fn look_around(&mut self) -> &Snapshot {
        let mut recording = Recording::new();
        let mut source = Source::new("host-facts", "live", Level::E);
        source.sampling = iowhy_model::Sampling::Sampled;
        recording.begin(source);
        if let Ok(devices) = iowhy_live::devices(Path::new("/sys")) {
            let named = NamingFacts::of(&devices).with_unreadable_of(&self.named);
            named.add_facts(&self.wanted, &mut recording);
            self.present = Some(devices.iter().map(|one| one.name.clone()).collect());
            let numbered =
                |one: &BlockDevice| Some((one.name.clone(), iowhy_live::disk_sequence(&one.name)?));
            self.looked_at.extend(devices.iter().filter_map(numbered));
            for device in devices {
                let id = recording.device(&device.name);
                if let Some(medium) = device.medium {
                    recording.set_medium(id, medium);
                }
                for (key, value, read_from) in device.facts {
                    recording.fact(Fact::read(Some(id), key, &value, read_from));
                }
            }
        }
        // Facts that cannot be read now are left out.
        let _ = self.watch.collectors.snapshot(&mut recording);
        self.snapshot = Snapshot::new(recording);
        &self.snapshot
    }

    /// The facts of the last reading.
    pub(crate) fn around(&self) -> &Recording {
        self.snapshot.recording()
    }

    /// The same and the kernel's log, as the first blocks of a capture.
    pub(crate) fn facts(&self, now: Clocks) -> Arc<[u8]> {
        let kernel: String =
            self.kernel_lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        facts(&self.snapshot, &kernel, now.wall as u64 ^ 1)
    }

    /// The names of all devices, if they were read since the last call.
    pub(crate) fn take_present(&mut self) -> Option<HashSet<String>> {
        self.present.take()
    }

    /// I/Os that are in histograms only.
    pub(crate) fn left_out(&self) -> u64 {
        let trace = self.watch.collectors.of::<BlockTrace>().into_iter();
        trace.flat_map(BlockTrace::request_counts).map(|(_, _, known)| known.left_out).sum()
    }

    /// CPU time of the programs in the kernel, if the kernel counts it.
    pub(crate) fn bpf_time(&self) -> Duration {
        self.watch.collectors.of().map_or(Duration::ZERO, BlockTrace::time_spent)
    }

    /// Ends the collectors.
    ///
    /// # Errors
    /// If a source broke.
    pub(crate) fn end(&mut self) -> anyhow::Result<()> {
        self.marks = None;
        self.watch.finish()
    }
}

/// Whether a kernel message is about a disk that is not selected. Ports and controllers may belong
/// to selected disks, and so may any disk if a stacked device is selected; a removed loop device is
/// known by its name.
fn is_of_another(device: &str, wanted: &[String]) -> bool {
    let is_loop = |name: &str| name.starts_with("loop");
    let is_made_of_others =
        |name: &String| ["dm-", "md", "bcache", "drbd"].iter().any(|kind| name.starts_with(kind));
    let ours =
        wanted.is_empty() || wanted.iter().any(|name| name == device || is_made_of_others(name));
    !device.is_empty()
        && !ours
        && (is_loop(device) || Path::new("/sys/block").join(device).exists())
}

/// The recorder's plan: every I/O and every histogram, the counters each second.
fn plan(settings: &Settings) -> Plan {
    Plan {
        trace: Some(TraceMode::Events),
        tracer: Some(TraceOptions {
            count_all: true,
            may_thin: true,
            histogram_pause: HISTOGRAMS,
            ring_bytes: RING_BYTES,
            histogram_bytes: HISTOGRAM_BYTES,
            ..TraceOptions::new(TraceMode::Events)
        }),
        programs_only: true,
        clock: settings.clock,
        devices: settings.devices.clone(),
        before: true,
        cgroups: true,
        sample: Some(SECOND),
        length: settings.length,
        host_facts: Some(SENSORS),
        all_year: true,
        ..Plan::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_another_disk_is_no_alarm_of_this_one() {
        let wanted = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_string()).collect()
        };
        assert!(is_of_another("loop7", &wanted(&["loop8"])));
        for (device, of) in [
            ("", &["loop8"][..]),
            ("loop8", &["loop8"]),
            ("loop8", &[]),
            ("loop7", &["dm-0"]),
            ("ata3", &["loop8"]),
        ] {
            assert!(!is_of_another(device, &wanted(of)), "{device} {of:?}");
        }
    }
}
