//! The recorder at work: one second after the other.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use iowhy_live::{BlockTrace, KernelLog, TraceMode, TraceOptions};
use iowhy_model::{
    FELT_PER_S, Fact, FactValue, Level, Nanos, Recording, Sink, Source, Stage, Time, key,
};
use iowhy_store::{Bounds, LearnedHistograms, SegmentName, Store};
use signal_hook::consts::SIGUSR1;

use super::announce::{Notifier, Outputs};
use super::busy::Busy;
use super::cells::Cells;
use super::clock::{Change, ClockSource, Clocks, boot_id};
use super::extent::Activity;
use super::incident::{Incident, with_clock};
use super::intake::{Intake, Second};
use super::marks::Marks;
use super::metrics::{self, SharedMetrics};
use super::otlp;
use super::ring::{Ring, beginning, ending};
use super::triggers::{Alarm, Rate, Trigger, Triggers};
use super::verdicts::{Brief, Case, CaseVerdict, Judge, Snapshot, facts};
use super::writer::{self, Queue, Write};
use crate::collectors::LiveCollectors;
use crate::command::Status;
use crate::confinement;
use crate::device_lookup::NamingFacts;
use crate::messages::{self, HintedError};
use crate::plan::Plan;
use crate::stop::Stop;

/// The tracer's ring holds 50,000 events, and is counted twice in the resident memory, for it is mapped twice. It is
/// emptied often enough for a million a second, and less often while little comes.
const RING_BYTES: u32 = 4 << 20;
const BUSY: Duration = Duration::from_millis(40);
const CALM: Duration = Duration::from_millis(120);
const CALM_EVENTS: u64 = 2000;
/// A device's histograms take 72 KiB on each processor, and its unit bounds all memory (`MemoryMax`). They are needed for
/// what is not told one by one: of busy devices.
const HISTOGRAM_BYTES: usize = 96 << 20;
const SECOND: Duration = Duration::from_secs(1);
pub(super) const SECOND_NS: i64 = 1_000_000_000;
/// Bytes at most of what was learned before.
const LEARNED: u64 = 16 << 20;
/// Histograms are taken with the second, and not before: a pouring costs a grace period of the kernel.
const HISTOGRAMS: Nanos = Nanos(900_000_000);
/// Settings, mounts, limits and pressure are read so often, and temperatures.
const SNAPSHOT_S: u64 = 60;
const SENSORS: Duration = Duration::from_secs(10);
/// What was learned is kept so often.
const LEARNED_S: u64 = 600;
/// Lines of the kernel's log that an incident is judged with; two of three may be fields of a message.
const KERNEL_LINES: usize = 6000;
/// How things are is judged by the last so many seconds, and only if somebody waited: a hundredth
/// of the time ([`FELT_PER_S`]).
pub(super) const LOOK_NS: i64 = 20 * SECOND_NS;
/// The next look comes no sooner than this, and so that looks take no more than one part in so many of a core: what has few
/// I/Os is looked at often, and what has many as `--judge` says (choices).
const LOOK_AGAIN_NS: i64 = 10 * SECOND_NS;
const LOOKS_OF_A_CORE: i64 = 500;
/// The last seconds are judged one after the other, whatever that takes, while as much is waited for what has no learned
/// bound yet, s per second (a choice).
const UNLEARNED_PER_S: f64 = 0.05;
/// A verdict below this confidence is no accusation (docs/METHOD.md, Confidence).
pub(super) const SURE: f64 = 0.6;
/// Who is to blame where an accusation is an incident; that a program asks for much is none.
const NEWS: [&str; 3] = ["disk", "path", "limit"];
/// An incident's I/Os take this share of the store at most.
const INCIDENT_SHARE: u64 = 16;
/// An incident that goes on is written down anew so often, s (a choice): a file of a few hundred KB.
const REWRITTEN_S: u64 = 30;
/// Incidents that may go on, the latest.
const RECENT: usize = 16;
/// Letters of a token that cannot be tried one by one.
const SHORTEST_TOKEN: usize = 16;
/// A disk that takes nothing of the store for so long hangs, ns: ten times what a flush of a bad one takes.
const HANGS_NS: i64 = 10 * SECOND_NS;
/// How long the end waits for the judge and for the disk.
const AT_THE_END: Duration = Duration::from_secs(10);

/// What was asked for.
pub struct Settings {
    /// Where to record.
    pub store: PathBuf,
    /// How much is kept.
    pub bounds: Bounds,
    /// Length of the ring.
    pub ring_ns: i64,
    /// Memory of the ring.
    pub ring_bytes: usize,
    /// I/Os a second up to which all are kept one by one.
    pub one_by_one: f64,
    /// Pressure that is an incident, 0 to 1.
    pub psi: f64,
    /// How often things are judged.
    pub judge_ns: i64,
    /// Incidents an hour.
    pub per_hour: f64,
    /// Where to serve figures.
    pub listen: Option<SocketAddr>,
    /// Whether others may reach it.
    pub listen_wide: bool,
    /// Holds what they have to show.
    pub token: Option<PathBuf>,
    /// The certificates and the key to answer under TLS with.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Where to push figures, and how often.
    pub otlp: Option<(String, Duration)>,
    /// Whom to trust there, where it is not whom this machine trusts.
    pub otlp_ca: Option<PathBuf>,
    /// A program for each incident.
    pub exec: Option<PathBuf>,
    /// Only these devices.
    pub devices: Vec<String>,
    /// How long to record.
    pub length_ns: Option<i64>,
    /// Incidents as JSON.
    pub json: bool,
    /// See [`ClockSource`].
    pub clock_shifted_by: Option<PathBuf>,
}

/// Records until it is stopped.
///
/// # Errors
/// If nothing can be traced, or the store not be written to at the beginning.
pub fn run(settings: &Settings) -> anyhow::Result<Status> {
    let mut recorder = Recorder::begin(settings)?;
    while !recorder.stop.asked() && recorder.left() {
        recorder.step()?;
    }
    recorder.end()
}

struct Recorder {
    clock: ClockSource,
    intake: Intake,
    collectors: LiveCollectors,
    kernel: Option<KernelLog>,
    /// The devices that were asked for; all if empty.
    wanted: Vec<String>,
    /// The names of devices at the start.
    named: NamingFacts,
    /// The last lines of the kernel's log.
    kernel_lines: std::collections::VecDeque<String>,
    pressure: Option<std::fs::File>,
    snapshot: Snapshot,
    cells: Cells,
    segment_since_ns: i64,
    triggers: Triggers,
    busy: Busy,
    rate: Rate,
    open: Option<Incident>,
    unjudged: Vec<Incident>,
    /// Those that may go on.
    recent: Vec<Incident>,
    activity: Activity,
    judge: Judge,
    queue: Queue,
    trouble: StoreFailure,
    /// Names of incidents that are taken.
    ids: HashSet<String>,
    writing: std::thread::JoinHandle<()>,
    notifier: Notifier,
    announcer: std::thread::JoinHandle<()>,
    marks: Option<Marks>,
    asked: Arc<AtomicBool>,
    shared: SharedMetrics,
    stop: Stop,
    boot: String,
    began: Clocks,
    last: Clocks,
    due: Instant,
    seconds: u64,
    drained: u64,
    lost: u64,
    incidents: u64,
    judged_ns: i64,
    judge_every_ns: i64,
    judge_cpu_ns: u64,
    /// CPU that the last look at how things are took, ns.
    look_cpu_ns: i64,
    waited_s: f64,
    /// What the last look accused each device of.
    verdicts: HashMap<String, String>,
    length_ns: Option<i64>,
    most: usize,
}

impl Recorder {
    fn begin(settings: &Settings) -> anyhow::Result<Recorder> {
        let stop = Stop::new()?;
        let store = open_store(&settings.store)?;
        let clock = ClockSource::open(settings.clock_shifted_by.as_deref())?;
        let mut learned = String::new();
        if let Ok(file) = iowhy_store::open_plain(&settings.store.join("baseline")) {
            let _ = file.take(LEARNED).read_to_string(&mut learned);
        }
        let (learned, damaged) = LearnedHistograms::parse(&learned);
        if damaged > 0 {
            let text = format!("{damaged} damaged lines of the learned baseline were ignored");
            messages::warn(&text, None);
        }
        // All that needs rights is opened here, and what needs threads comes after they are gone.
        let marks = Marks::listen(&settings.store).map_err(|cause| {
            messages::warn(&format!("`iowhy mark` will not reach this recorder: {cause}"), None);
        });
        let listener =
            settings.listen.map(|address| bind(address, settings.listen_wide)).transpose()?;
        let terms = metrics::Terms {
            token: settings.token.as_deref().map(token).transpose()?,
            tls: settings.tls.as_ref().map(|(chain, key)| metrics::tls(chain, key)).transpose()?,
        };
        let way = Outputs::open(settings.json, settings.exec.as_deref())?;
        let otlp = settings.otlp.as_ref();
        let sender = otlp.map(|(address, _)| otlp::sender(address, settings.otlp_ca.as_deref()));
        let sender = sender.transpose()?;
        let now = clock.now();
        let ids: HashSet<String> = store.incidents()?.into_iter().map(|one| one.id).collect();
        let behind_s =
            store.segments()?.last().map_or(0, |last| last.began_s - now.wall / SECOND_NS);
        let ring = Ring::new(settings.ring_ns, settings.ring_bytes);
        let mut intake = Intake::new(ring, now.wall as u64);
        intake.ring().now_ns = now.monotonic;
        let wanted = settings.devices.clone();
        let named = NamingFacts::of(&crate::collectors::known_devices()?);
        let collectors = LiveCollectors::begin(&plan(&wanted), &mut intake)?;
        let boot = boot_id();
        let mut cells = Cells::new(&boot, now);
        for device in collectors.known() {
            if let Some(medium) = device.medium {
                cells.set_medium(&device.name, medium);
            }
        }
        let mut kernel = KernelLog::open();
        if kernel.is_none() {
            let hint = "start the recorder with CAP_SYSLOG, as `contrib/iowhy-watch.service` does";
            messages::warn(
                "kernel-log triggers are disabled: no permission to read /dev/kmsg",
                Some(hint),
            );
        }
        let kernel_lines = kernel.as_mut().map(KernelLog::lines).unwrap_or_default();
        let pressure = std::fs::File::open("/proc/pressure/io").ok();
        let asked = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGUSR1, Arc::clone(&asked))?;
        iowhy_live::give_up_rights()?;
        confinement::recording(&settings.store)?;
        let (queue, writing) = writer::start(store, settings.bounds, now)?;
        let (notifier, announcer) = Notifier::start(way)?;
        let shared = SharedMetrics::default();
        if let Some(listener) = listener {
            let at = listener.local_addr()?;
            metrics::serve(listener, &shared, &terms)?;
            let scheme = if terms.tls.is_some() { "https" } else { "http" };
            messages::warn(&format!("Prometheus metrics at {scheme}://{at}/metrics"), None);
            if !at.ip().is_loopback() && terms.tls.is_none() {
                let hint = "add `--tls-cert FILE --tls-key FILE`";
                messages::warn(
                    "metrics and token are sent over the network in clear text",
                    Some(hint),
                );
            }
        }
        if let (Some(sender), Some((address, every))) = (sender, otlp) {
            otlp::start(sender, *every, &shared)?;
            messages::warn(&format!("pushing metrics to {address}"), None);
        }
        let mut recorder = Recorder {
            clock,
            intake,
            collectors,
            kernel,
            wanted: wanted.clone(),
            named,
            kernel_lines: last_lines(&kernel_lines),
            pressure,
            snapshot: Snapshot::new(Recording::new()),
            cells,
            segment_since_ns: now.monotonic,
            triggers: Triggers::new(learned, settings.psi),
            busy: Busy::new(settings.one_by_one),
            rate: Rate::new(settings.per_hour),
            open: None,
            unjudged: Vec::new(),
            recent: Vec::new(),
            activity: Activity::default(),
            judge: Judge::start(wanted)?,
            queue,
            trouble: StoreFailure::default(),
            ids,
            writing,
            notifier,
            announcer,
            marks: marks.ok(),
            asked,
            shared,
            stop,
            boot,
            began: now,
            last: now,
            due: Instant::now() + Duration::from_secs(1),
            seconds: 0,
            drained: 0,
            lost: 0,
            incidents: 0,
            judged_ns: now.monotonic,
            judge_every_ns: settings.judge_ns.max(SECOND_NS),
            judge_cpu_ns: 0,
            look_cpu_ns: 0,
            waited_s: 0.0,
            verdicts: HashMap::new(),
            length_ns: settings.length_ns,
            most: usize::try_from(settings.bounds.size / INCIDENT_SHARE).unwrap_or(usize::MAX),
        };
        recorder.look_around(now);
        if behind_s > 0 {
            let behind = Nanos(behind_s.saturating_mul(SECOND_NS));
            let text = format!(
                "the wall clock is {} behind the newest data in the store: it is wrong now, or was \
                 before; no data is removed because of it",
                iowhy_model::numbers::duration(behind.ns() as f64)
            );
            messages::warn(&text, None);
            recorder.cells.state("clock-behind", FactValue::Duration(behind), now);
        }
        // The kernel's types were read, which takes some ten megabytes.
        iowhy_live::give_back_memory();
        let text = format!("recording into `{}`; Ctrl-C ends", settings.store.display());
        messages::warn(&text, None);
        Ok(recorder)
    }

    fn left(&self) -> bool {
        let since = self.clock.now().monotonic - self.began.monotonic;
        self.length_ns.is_none_or(|length| since < length)
    }

    /// Sleeps a little, empties the tracer's ring, and counts the second if it is over.
    fn step(&mut self) -> anyhow::Result<()> {
        let nap = if self.drained > CALM_EVENTS { BUSY } else { CALM };
        let left = self.due.saturating_duration_since(Instant::now());
        std::thread::sleep(nap.min(left));
        let over = Instant::now() >= self.due;
        let before = self.intake.events();
        self.collectors.trace_at(nap);
        if over {
            self.collectors.poll_up_to(SECOND, &mut self.intake)?;
        } else {
            self.collectors.poll(&mut self.intake)?;
        }
        self.drained = self.intake.events() - before;
        if over {
            self.due += Duration::from_secs(1);
            if self.due < Instant::now() {
                // The machine slept, or this process was not let run.
                self.due = Instant::now() + Duration::from_secs(1);
            }
            self.second()?;
        }
        Ok(())
    }

    fn second(&mut self) -> anyhow::Result<()> {
        let now = self.clock.now();
        self.seconds += 1;
        self.watch_clock(now);
        self.watch_store(now);
        let second = self.intake.take(now.monotonic)?;
        self.lost += second.lost;
        let changes = self.busy.second(&second);
        if let Some(trace) = self.collectors.of_mut::<BlockTrace>() {
            for ((device, op), how) in changes {
                trace.thin(&device, op, how)?;
            }
        }
        self.activity.add(&second, now.monotonic);
        let mut alarms = self.triggers.second(&second, now.hour(), now.monotonic);
        alarms.extend(self.messages_of_the_kernel(now));
        alarms.extend(self.pressure(now));
        alarms.extend(self.what_was_asked(now));
        alarms.extend(self.what_was_judged(now));
        alarms.into_iter().for_each(|alarm| self.alarm(alarm, now));
        self.go_on(now);
        self.recent_go_on(now);
        self.waited_s += waited_s(&second);
        self.shared.figures().second(&second);
        if self.seconds.is_multiple_of(SNAPSHOT_S) {
            self.look_around(now);
            // After a busy minute most of the ring is free.
            iowhy_live::give_back_memory();
        }
        if let Some(blocks) = self.cells.second(second, now) {
            self.queue.push(Write::Second(blocks, now));
        }
        if self.seconds.is_multiple_of(LEARNED_S) {
            self.queue.push(Write::Learned(self.triggers.learned.text()));
        }
        self.look(now);
        self.update_metrics(now);
        Ok(())
    }

    /// Begins another segment each hour, and where the clocks changed.
    fn watch_clock(&mut self, now: Clocks) {
        let change = now.change(self.last);
        let before = std::mem::replace(&mut self.last, now);
        let hour = now.monotonic - self.segment_since_ns >= SegmentName::LENGTH_S * SECOND_NS;
        if !hour && change.is_none() {
            return;
        }
        self.segment_since_ns = now.monotonic;
        self.queue.push(Write::Second(self.cells.end(now), before));
        self.queue.push(Write::NextSegment);
        self.cells.begin(now);
        match change {
            Some(Change::Stepped(ns)) => {
                self.cells.state("clock-step", FactValue::Duration(Nanos(ns)), now);
                if ns.abs() >= SECOND_NS {
                    let text = format!(
                        "the wall clock was set {} by {}: recorded in the store; no data is \
                         removed because of it",
                        if ns < 0 { "back" } else { "ahead" },
                        iowhy_model::numbers::duration(ns.abs() as f64)
                    );
                    messages::warn(&text, None);
                }
            }
            Some(Change::Slept(ns)) => {
                self.cells.state("suspend", FactValue::Duration(Nanos(ns)), now);
            }
            None => {}
        }
    }

    /// Says when the store cannot be written, and when it can again. After seconds that were lost, what
    /// comes begins with all that is known: what was stated meanwhile is lost with them.
    fn watch_store(&mut self, now: Clocks) {
        let written = &self.queue.written;
        let lost = written.lost_seconds.load(Relaxed);
        let fresh = lost - std::mem::replace(&mut self.trouble.lost_seconds, lost);
        self.trouble.unstated += fresh;
        if fresh > 0 {
            self.cells.begin(now);
        }
        let why = written.refusal().or_else(|| self.trouble.hangs(written, now));
        if why.is_none() && self.trouble.unstated > 0 {
            let count = FactValue::Count(std::mem::take(&mut self.trouble.unstated));
            self.cells.state("unwritten", count, now);
        }
        match (why, self.trouble.since.take()) {
            (Some(why), None) => {
                self.trouble.since = Some((now, lost - fresh, why.clone()));
                let text = format!(
                    "cannot write to the store: {why}; new data is buffered in memory for a \
                     limited time"
                );
                self.shared.figures().trouble = Some(why);
                self.notifier.trouble(text);
            }
            (Some(why), Some((since, before, _))) => {
                self.shared.figures().trouble = Some(why.clone());
                self.trouble.since = Some((since, before, why));
            }
            (None, Some((since, before, why))) => {
                self.shared.figures().trouble = None;
                let (length_s, lost) = (now.ran_s(since), lost - before);
                let text = format!(
                    "the store was not writable for {length_s} s ({why}); {lost} s of data are lost"
                );
                let id = self.id(since, "store");
                let wall = crate::when::words(since.wall);
                let incident = serde_json::json!({
                    "schema": "iowhy.incident/1",
                    "id": id,
                    "at": wall,
                    "at_ns": since.wall,
                    "boot": self.boot,
                    "length_s": length_s,
                    "trigger": Trigger::Store.name(),
                    "device": null,
                    "verdict": null,
                    "sentence": text,
                    "lost_s": 0,
                    "unwritten_s": lost,
                });
                let json = serde_json::to_vec_pretty(&incident).unwrap_or_default();
                self.queue.push(Write::Verdict(id, json));
                self.notifier.trouble(text);
            }
            (None, None) => {}
        }
    }

    /// A name for an incident of this moment that none has: the wall clock may have been set back.
    fn id(&mut self, at: Clocks, device: &str) -> String {
        let at_s = at.wall.div_euclid(SECOND_NS);
        let mut ids = (at_s..).map(|at_s| iowhy_store::Incident::id(at_s, device));
        let free = ids.find(|id| !self.ids.contains(id)).unwrap_or_default();
        self.ids.insert(free.clone());
        free
    }

    /// Reads settings, mounts, limits, pressure: what changed goes into the store, all of it into the
    /// next incident.
    fn look_around(&mut self, now: Clocks) {
        let mut recording = Recording::new();
        let mut source = Source::new("host-facts", "live", Level::E);
        source.sampling = iowhy_model::Sampling::Sampled;
        recording.begin(source);
        if let Ok(devices) = iowhy_live::devices(Path::new("/sys")) {
            // Links in /dev may not be read any more.
            let named = NamingFacts::of(&devices).with_links_of(&self.named);
            named.state(&self.wanted, &mut recording);
            let names: HashSet<&str> = devices.iter().map(|one| one.name.as_str()).collect();
            self.shared.figures().retain(|name| names.contains(name));
            for device in devices {
                let id = recording.device(&device.name);
                if let Some(medium) = device.medium {
                    recording.set_medium(id, medium);
                    self.cells.set_medium(&device.name, medium);
                }
                for (key, value, read_from) in device.facts {
                    recording.fact(Fact::read(Some(id), key, &value, read_from));
                }
            }
        }
        // What cannot be read now is not stated.
        let _ = self.collectors.snapshot(&mut recording);
        self.snapshot = Snapshot::new(recording);
        self.cells.snapshot(self.snapshot.recording(), now);
    }

    fn messages_of_the_kernel(&mut self, now: Clocks) -> Vec<Alarm> {
        let lines = self.kernel.as_mut().map(KernelLog::lines).unwrap_or_default();
        if lines.is_empty() {
            return Vec::new();
        }
        let mut read = Recording::new();
        if let Some(format) = iowhy_read::find("kernel-log") {
            // Nothing recognised in it is no failure.
            let _ = iowhy_read::scan("/dev/kmsg", &mut lines.as_bytes(), Some(format), &mut read);
        }
        let mut alarms = Vec::new();
        for fact in read.listings.iter().flat_map(|listing| &listing.facts) {
            let (Some(kind), Some(message)) =
                (fact.key.member_of(key::KERNEL_LOG), fact.value.message())
            else {
                continue;
            };
            let device = fact.device.map_or(String::new(), |id| read.device_of(id).name.clone());
            if !is_of_another(&device, &self.wanted) {
                alarms.extend(self.triggers.kernel(kind, &device, &message.text, now.monotonic));
            }
            self.cells.message(&device, fact.clone().at(Time::from_ns(now.monotonic)));
        }
        self.kernel_lines.extend(lines.lines().map(str::to_string));
        let over = self.kernel_lines.len().saturating_sub(KERNEL_LINES);
        self.kernel_lines.drain(..over);
        alarms
    }

    fn pressure(&mut self, now: Clocks) -> Option<Alarm> {
        use std::os::unix::fs::FileExt;
        let mut text = [0; 256];
        let length = self.pressure.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = std::str::from_utf8(text.get(..length)?).ok()?;
        let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
        let percent: f64 = some.split(' ').next()?.parse().ok()?;
        self.triggers.pressure(percent / 100.0, now.monotonic)
    }

    fn what_was_asked(&mut self, now: Clocks) -> Vec<Alarm> {
        let mut words = self.marks.as_ref().map(Marks::take).unwrap_or_default();
        for mark in &words {
            self.cells.state("mark", FactValue::Text(mark.clone()), now);
        }
        if self.asked.swap(false, Relaxed) {
            words.push("SIGUSR1".to_string());
        }
        let alarm = |words| Alarm {
            at_ns: now.monotonic,
            trigger: Trigger::Asked,
            device: String::new(),
            words,
            excess_ns: 0.0,
            verdict: None,
        };
        words.into_iter().map(alarm).collect()
    }

    /// Takes what the judge said: incidents are told, a new accusation is one.
    fn what_was_judged(&mut self, now: Clocks) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let all = self.judge.judged();
        let any = !all.is_empty();
        for judged in all {
            self.judge_cpu_ns += judged.cpu_ns;
            if judged.incident.is_none() {
                self.look_cpu_ns = judged.cpu_ns as i64;
                for known in &mut self.recent {
                    known.look(&judged, &self.activity, now.monotonic);
                }
            }
            for brief in judged.first.iter().chain(&judged.others) {
                self.shared.figures().verdict(brief, now.monotonic + 2 * self.judge_every_ns);
            }
            let accused: Vec<Brief> = judged
                .first
                .iter()
                .chain(&judged.others)
                .filter(|of| of.accuses && of.confidence >= SURE && NEWS.contains(&of.blame))
                .cloned()
                .collect();
            let verdicts = accused.iter().map(|of| (of.device.clone(), of.verdict.clone()));
            let mut before: HashMap<String, String> = verdicts.collect();
            if judged.incident.is_some() {
                self.tell(judged);
            } else {
                std::mem::swap(&mut self.verdicts, &mut before);
            }
            // A device that is sick beside another one has an incident of its own.
            for of in accused {
                let known = self.unjudged.iter().chain(&self.recent);
                let is_known = known.into_iter().any(|one| one.is_about(&of.device));
                // One that ended long ago and comes again is new as well.
                if !is_known || before.get(&of.device) != Some(&of.verdict) {
                    alarms.push(accusation(&of, now));
                }
            }
        }
        if any {
            // The I/Os that were judged, taken apart, were the largest part of what it holds.
            iowhy_live::give_back_memory();
        }
        alarms
    }

    fn alarm(&mut self, alarm: Alarm, now: Clocks) {
        if let Some(open) = &mut self.open {
            return open.add(alarm);
        }
        let known = self.unjudged.iter_mut().chain(&mut self.recent);
        if let Some(same) = known.into_iter().find(|one| one.is_same(&alarm)) {
            return same.add_later(alarm, &self.activity);
        }
        if !self.rate.allows(&alarm) {
            return;
        }
        self.look_around(now);
        let kernel: String =
            self.kernel_lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let facts = facts(&self.snapshot, &kernel, now.wall as u64 ^ 1);
        let id = self.id(now, &alarm.device);
        let mut incident = Incident::begin(id, alarm, now, Arc::clone(&facts), self.most);
        incident.suppressed = std::mem::take(&mut self.rate.suppressed);
        self.queue.push(Write::Incident(incident.id.clone(), vec![facts]));
        self.open = Some(incident);
    }

    /// Adds to the incident that is going on what came this second, and ends it when it is over.
    fn go_on(&mut self, now: Clocks) {
        let Some(mut open) = self.open.take() else { return };
        let facts = self.intake.facts().to_vec();
        let new = open.take(self.intake.ring(), &facts);
        if !new.is_empty() {
            self.queue.push(Write::Incident(open.id.clone(), new));
        }
        if open.is_over(now.monotonic) || self.stop.asked() {
            self.close(open, now);
        } else {
            self.open = Some(open);
        }
    }

    fn close(&mut self, mut incident: Incident, now: Clocks) {
        if let Some(last) = incident.end(self.intake.ring()) {
            self.queue.push(Write::Incident(incident.id.clone(), vec![last]));
        }
        self.queue.push(Write::IncidentOver(incident.id.clone()));
        if let Some(alarm) = incident.first() {
            self.rate.over(&alarm.device.clone(), alarm.trigger, now.monotonic);
        }
        let capture = std::mem::take(&mut incident.capture);
        let taken = self.judge.push(Case { incident: Some(incident.id.clone()), capture });
        self.unjudged.push(incident);
        if !taken && let Some(incident) = self.unjudged.pop() {
            self.told(incident, None);
        }
        self.judged_ns = now.monotonic;
    }

    fn tell(&mut self, judged: CaseVerdict) {
        let place = self.unjudged.iter().position(|one| Some(&one.id) == judged.incident.as_ref());
        let Some(incident) = place.map(|place| self.unjudged.remove(place)) else { return };
        self.told(incident, Some(judged));
    }

    fn told(&mut self, mut incident: Incident, judged: Option<CaseVerdict>) {
        self.incidents += 1;
        let first = judged.as_ref().and_then(|judged| judged.first.as_ref());
        let verdict = first.map_or("none".to_string(), |first| first.verdict.clone());
        *self.shared.figures().incidents.entry(verdict).or_default() += 1;
        if let Some(judged) = judged {
            incident.judge(judged, &self.activity, self.snapshot.recording());
        }
        self.write_down(&mut incident);
        // Whoever is told reads the whole of it in the store.
        self.notifier.push(incident.json(&self.boot));
        self.recent.push(incident);
        let over = self.recent.len().saturating_sub(RECENT);
        for mut gone in self.recent.drain(..over).collect::<Vec<_>>() {
            self.write_down(&mut gone);
        }
    }

    /// Writes an incident down as it is now, if that is not what was written.
    fn write_down(&mut self, incident: &mut Incident) {
        if incident.has_changed() {
            self.queue.push(Write::Verdict(incident.id.clone(), incident.text(&self.boot)));
        }
    }

    /// Looks whether incidents go on whose captures are over.
    fn recent_go_on(&mut self, now: Clocks) {
        for mut one in std::mem::take(&mut self.recent) {
            let was_ongoing = one.ongoing();
            one.second(&self.activity, now.monotonic);
            let past = one.is_past(now.monotonic);
            if past || one.ongoing() != was_ongoing || self.seconds.is_multiple_of(REWRITTEN_S) {
                self.write_down(&mut one);
            }
            if !past {
                self.recent.push(one);
            }
        }
    }

    /// Now and then judges how things are, if anybody waited.
    fn look(&mut self, now: Clocks) {
        let passed_ns = now.monotonic - self.judged_ns;
        // Of what has no bound yet only the judge can tell: every stretch of it is looked at.
        let seconds = passed_ns as f64 / 1e9;
        let is_unlearned = self.triggers.unlearned_s > UNLEARNED_PER_S * seconds;
        let affordable_ns = LOOK_AGAIN_NS.max(self.look_cpu_ns.saturating_mul(LOOKS_OF_A_CORE));
        let pause_ns = if is_unlearned { affordable_ns.min(LOOK_NS) } else { affordable_ns };
        if passed_ns < self.judge_every_ns.min(pause_ns) {
            return;
        }
        self.triggers.unlearned_s = 0.0;
        let waited = std::mem::take(&mut self.waited_s) / seconds;
        self.judged_ns = now.monotonic;
        if waited < FELT_PER_S || self.open.is_some() || self.judge.waiting > 0 {
            return;
        }
        let stated = with_clock(self.intake.facts(), now.offset());
        let kernel: String =
            self.kernel_lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut capture = vec![facts(&self.snapshot, &kernel, now.wall as u64 ^ 1)];
        let ring = self.intake.ring();
        let kept: Vec<_> = ring.since(now.monotonic - LOOK_NS, None).collect();
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return };
        capture.push(beginning(first, &stated).into());
        capture.extend(kept.iter().map(|kept| Arc::clone(&kept.bytes)));
        capture.push(ending(last).into());
        self.judge.push(Case { incident: None, capture });
    }

    fn update_metrics(&self, now: Clocks) {
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let written = &self.queue.written;
        let number = |value: &std::sync::atomic::AtomicU64| value.load(Relaxed) as f64;
        let mut figures = self.shared.figures();
        figures.expire(now.monotonic);
        let unlisted = figures.unlisted();
        figures.own = vec![
            (
                "iowhy_unlisted_devices",
                "Devices whose metrics are combined as `other`, beyond the first 256.",
                false,
                unlisted as f64,
            ),
            ("iowhy_lost_ios_total", "I/Os lost by the tracer.", true, self.lost as f64),
            (
                "iowhy_unlisted_ios_total",
                "I/Os counted in histograms only, because of the limit on individual I/Os.",
                true,
                self.collectors
                    .of::<BlockTrace>()
                    .into_iter()
                    .flat_map(BlockTrace::request_counts)
                    .map(|(_, _, known)| known.left_out)
                    .sum::<u64>() as f64,
            ),
            (
                "iowhy_suppressed_alarms",
                "Alarms since the last incident that did not start one.",
                false,
                self.rate.suppressed as f64,
            ),
            (
                "iowhy_unjudged_total",
                "Verdicts skipped (queue full).",
                true,
                self.judge.given_up as f64,
            ),
            (
                "iowhy_untold_total",
                "Incident notifications dropped (queue full).",
                true,
                self.notifier.given_up as f64,
            ),
            (
                "iowhy_store_bytes",
                "Size of the store in bytes.",
                false,
                number(&written.store_bytes),
            ),
            (
                "iowhy_store_written_bytes_total",
                "Bytes written to the store.",
                true,
                number(&written.bytes),
            ),
            (
                "iowhy_store_waiting_bytes",
                "Bytes waiting to be written to the store.",
                false,
                number(&written.waiting),
            ),
            (
                "iowhy_store_given_up_total",
                "Writes to the store dropped because the disk did not accept them in time.",
                true,
                number(&written.given_up),
            ),
            (
                "iowhy_store_refused_total",
                "Writes to the store that failed with an error.",
                true,
                number(&written.refused),
            ),
            (
                "iowhy_store_thinned_total",
                "Histograms and averages merged into coarser intervals as they aged.",
                true,
                number(&written.thinned),
            ),
            (
                "iowhy_store_removed_total",
                "Segments and incidents removed from the store.",
                true,
                number(&written.removed),
            ),
            (
                "iowhy_cpu_seconds_total",
                "CPU time of the recorder, without its BPF programs.",
                true,
                cpu,
            ),
            (
                "iowhy_bpf_seconds_total",
                "CPU time of the recorder's BPF programs, while kernel.bpf_stats_enabled is 1.",
                true,
                self.collectors.of().map_or(Duration::ZERO, BlockTrace::time_spent).as_secs_f64(),
            ),
            (
                "iowhy_judge_cpu_seconds_total",
                "CPU time spent on verdicts, part of iowhy_cpu_seconds_total.",
                true,
                self.judge_cpu_ns as f64 / 1e9,
            ),
            ("iowhy_resident_bytes", "Resident memory of the recorder.", false, resident_bytes()),
            ("iowhy_seconds_total", "Seconds recorded.", true, self.seconds as f64),
        ];
    }

    fn end(mut self) -> anyhow::Result<Status> {
        self.collectors.poll_up_to(SECOND, &mut self.intake)?;
        self.second()?;
        let now = self.clock.now();
        if let Some(open) = self.open.take() {
            self.close(open, now);
        }
        let begun = Instant::now();
        while self.judge.waiting > 0 && begun.elapsed() < AT_THE_END {
            std::thread::sleep(Duration::from_millis(20));
            self.what_was_judged(now);
        }
        // Those that the judge did not come to.
        for incident in std::mem::take(&mut self.unjudged) {
            self.told(incident, None);
        }
        for mut incident in std::mem::take(&mut self.recent) {
            self.write_down(&mut incident);
        }
        self.collectors.end(&mut self.intake)?;
        self.queue.push(Write::Second(self.cells.end(now), now));
        self.queue.push(Write::Learned(self.triggers.learned.text()));
        self.queue.push(Write::End);
        drop(self.marks.take());
        drop(self.notifier);
        let begun = Instant::now();
        let done = |thread: &std::thread::JoinHandle<()>| thread.is_finished();
        while !(done(&self.writing) && done(&self.announcer)) && begun.elapsed() < AT_THE_END {
            std::thread::sleep(Duration::from_millis(10));
        }
        let written = &self.queue.written;
        let (given_up, refused) = (written.given_up.load(Relaxed), written.refused.load(Relaxed));
        let text = format!(
            "recorded {} s, {} incidents; {} I/Os lost, {given_up} writes dropped, {refused} \
             failed",
            self.seconds, self.incidents, self.lost
        );
        messages::warn(&text, None);
        Ok(Status::incomplete(self.lost + given_up + refused > 0))
    }
}

/// What is known of a store that does not take what is written.
#[derive(Default)]
struct StoreFailure {
    /// Since when, seconds lost before it, and why.
    since: Option<(Clocks, u64, String)>,
    /// Seconds that were lost so far, and those among them that are not stated in the store yet.
    lost_seconds: u64,
    unstated: u64,
    /// When the writer was last seen to get on with what waits, CLOCK_MONOTONIC in ns, and how far it was then, s.
    moved: (i64, i64),
}

impl StoreFailure {
    /// Why nothing is written, if something waits and the writer has not come back for a while.
    fn hangs(&mut self, written: &writer::Written, now: Clocks) -> Option<String> {
        let done_s = written.done_s.load(Relaxed);
        if written.waiting.load(Relaxed) == 0 || done_s != self.moved.1 {
            self.moved = (now.monotonic, done_s);
        }
        let waited_ns = now.monotonic - self.moved.0;
        (waited_ns >= HANGS_NS).then(|| "its disk does not respond".to_string())
    }
}

/// Whether a message of the kernel is about another disk than those asked for. A port or a controller may
/// be theirs, and so may any disk where a device made of others is asked for; a loop device that is
/// gone by now is told by its name.
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

fn accusation(first: &Brief, now: Clocks) -> Alarm {
    Alarm {
        at_ns: now.monotonic,
        trigger: Trigger::Verdict,
        device: first.device.clone(),
        words: format!("{}: {}", first.verdict, first.sentence),
        excess_ns: first.waited_per_s.unwrap_or(0.0) * LOOK_NS as f64,
        verdict: Some(first.verdict.clone()),
    }
}

fn last_lines(text: &str) -> std::collections::VecDeque<String> {
    let skipped = text.lines().count().saturating_sub(KERNEL_LINES);
    text.lines().skip(skipped).map(str::to_string).collect()
}

/// Time that I/Os waited, s.
fn waited_s(second: &Second) -> f64 {
    let total = second.histograms.iter().filter(|(_, one)| one.stage == Stage::Total);
    total.filter_map(|(_, one)| one.histogram.sum_ns).sum::<f64>() / 1e9
}

/// Resident memory, by /proc/self/statm (pages of 4 KiB, or what the system has).
fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    pages * rustix::param::page_size() as f64
}

fn open_store(folder: &Path) -> anyhow::Result<Store> {
    Store::record(folder).map_err(|cause| {
        let text = format!("cannot record into `{}`: {cause}", folder.display());
        let hint = match cause.kind() {
            std::io::ErrorKind::WouldBlock => {
                "another recorder uses this folder; stop it, or name another one with `--store`"
            }
            std::io::ErrorKind::AlreadyExists => "name an empty or new folder with `--store`",
            _ => "name a folder with write permission with `--store`",
        };
        HintedError::error(text, hint)
    })
}

fn bind(address: SocketAddr, wide: bool) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() && !wide {
        let hint = "use `127.0.0.1:PORT`, or add `--listen-wide` with `--tls-cert`, `--tls-key` and `--token-file`";
        return Err(HintedError::error(format!("{address} is not a loopback address"), hint));
    }
    TcpListener::bind(address).map_err(|cause| {
        HintedError::error(format!("cannot listen at {address}: {cause}"), "choose another port")
    })
}

/// The first line of a file that nobody but its owner may read.
fn token(path: &Path) -> anyhow::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let failed = |what: &str, hint: &str| {
        HintedError::error(format!("the token in `{}` {what}", path.display()), hint)
    };
    let text = std::fs::read_to_string(path).map_err(|cause| {
        failed(&format!("cannot be read: {cause}"), "name a file with the token in its first line")
    })?;
    if std::fs::metadata(path).is_ok_and(|about| about.mode() & 0o077 != 0) {
        return Err(failed("is readable by other users", "set mode 600, and choose a new token"));
    }
    let token = text.lines().next().unwrap_or_default().trim();
    if token.len() < SHORTEST_TOKEN || !token.chars().all(|letter| letter.is_ascii_graphic()) {
        let hint = "put at least 16 letters and digits in the first line: `openssl rand -hex 16`";
        return Err(failed(
            "is too short, or contains characters not allowed in an HTTP header",
            hint,
        ));
    }
    Ok(token.to_string())
}

/// What a recorder has its collectors do: every I/O and every histogram, the counters each second.
fn plan(devices: &[String]) -> Plan {
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
        devices: devices.to_vec(),
        before: true,
        cgroups: true,
        sample: Some(SECOND),
        host_facts: Some(SENSORS),
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
