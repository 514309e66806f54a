//! The judge of the recorder, in a thread of its own with low priority.

use std::collections::BTreeSet;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, OwnerNames, Recording, Report, STANDS, Sink};
use iowhy_show::{Style, views};

use crate::scope;

/// Maximum number of queued verdicts.
const WAITING: usize = 4;
/// I/Os judged individually: 3 MB, one and a half times what a replay uses (docs/METHOD.md, 1
/// Replay).
const EVENTS: usize = 1 << 15;

/// Maximum number of other devices that an incident names.
const OTHERS: usize = 16;

/// What to judge.
pub(crate) struct JudgeJob {
    /// The incident; `None` for a verdict between incidents.
    pub incident: Option<String>,
    /// Whether it goes on: this is a verdict on its beginning.
    pub is_early: bool,
    /// A capture, block by block.
    pub capture: Vec<Arc<[u8]>>,
}

/// A short form of a finding.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FindingSummary {
    /// `device.retry`.
    pub verdict: String,
    /// `disk`.
    pub blame: &'static str,
    /// Whether it is an accusation.
    pub accuses: bool,
    /// The device; empty if none.
    pub device: String,
    /// 0 to 1.
    pub confidence: f64,
    /// 0 to 1.
    pub explained: f64,
    /// In one sentence.
    pub sentence: String,
    /// Time waited per second.
    pub waited_per_s: Option<f64>,
    /// The program that waited most, or the control group.
    pub who: Option<String>,
    /// The unit, container or pod of its control group.
    pub owner: Option<String>,
}

/// The result of a case.
pub(crate) struct CaseVerdict {
    /// The incident, if it is about one.
    pub incident: Option<String>,
    /// Whether it is a verdict on its beginning.
    pub is_early: bool,
    /// The first finding.
    pub first: Option<FindingSummary>,
    /// Accusations of other devices.
    pub others: Vec<FindingSummary>,
    /// I/Os lost in it.
    pub lost: u64,
    /// Sampled devices: only slow I/Os and a sample are listed.
    pub thinned: Vec<String>,
    /// The whole report as JSON, for an incident.
    pub report: String,
    /// CPU time, ns.
    pub cpu_ns: u64,
}

/// The channels to and from the judge.
pub(crate) struct Judge {
    cases: SyncSender<JudgeJob>,
    judged: Receiver<CaseVerdict>,
    /// Cases dropped because the queue was full.
    pub given_up: u64,
    /// Cases that are not judged yet.
    pub waiting: usize,
}

impl Judge {
    /// Starts it; it gets records of these devices only, if there are any.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(devices: Vec<String>) -> io::Result<Judge> {
        let (cases, to_judge) = sync_channel(WAITING);
        let (to_tell, judged) = channel();
        let thread = std::thread::Builder::new().name("judge".to_string());
        thread.spawn(move || run(&to_judge, &to_tell, &devices))?;
        Ok(Judge { cases, judged, given_up: 0, waiting: 0 })
    }

    /// Queues a case, or drops it; returns whether it was queued.
    pub(crate) fn push(&mut self, case: JudgeJob) -> bool {
        let taken = self.cases.try_send(case).is_ok();
        self.given_up += u64::from(!taken);
        self.waiting += usize::from(taken);
        taken
    }

    /// Verdicts since the last call.
    pub(crate) fn judged(&mut self) -> Vec<CaseVerdict> {
        let all: Vec<CaseVerdict> = self.judged.try_iter().collect();
        self.waiting = self.waiting.saturating_sub(all.len());
        all
    }
}

fn run(cases: &Receiver<JudgeJob>, judged: &Sender<CaseVerdict>, devices: &[String]) {
    // Lowers the priority of this thread, if that is allowed.
    let _ = rustix::process::nice(10);
    while let Ok(case) = cases.recv() {
        let before = cpu_ns();
        let mut outcome = outcome(case, devices);
        outcome.cpu_ns = cpu_ns() - before;
        if judged.send(outcome).is_err() {
            break;
        }
    }
}

fn outcome(case: JudgeJob, devices: &[String]) -> CaseVerdict {
    let JudgeJob { incident, is_early, capture } = case;
    let mut recording = Recording::new();
    recording.keep_stretches(EVENTS);
    let input = incident.clone().unwrap_or_else(|| "the last seconds".to_string());
    let mut bytes = Blocks { blocks: capture.into_iter().rev().collect(), at: 0 };
    // Unreadable parts are counted in the recording.
    let _ = iowhy_read::scan(&input, &mut bytes, None, &mut recording);
    scope::about(&mut recording, devices);
    let mut findings = judge(&recording, &Options::default());
    // The kernel's counters beside the I/Os include all disks.
    let scope = scope::Scope::of(&recording, devices);
    findings.retain(|finding| {
        let device = finding.subject.device.map(|id| &recording.device_of(id).name);
        device.is_none_or(|name| scope.holds(name))
    });
    // All findings are about other disks: a finding about the watched ones replaces them.
    if findings.is_empty() && !devices.is_empty() {
        scope.keep(&mut recording);
        findings = judge(&recording, &Options::default());
    }
    let first = findings.first().map(|first| brief(first, &recording));
    let others = others(&findings, &recording);
    let lost = recording.listings.iter().map(|listing| listing.source.lost()).sum();
    let thinned = thinned(&recording);
    let report = Report { recording, findings };
    let report = if incident.is_some() { json(&report) } else { "null".to_string() };
    CaseVerdict { incident, is_early, first, others, lost, thinned, report, cpu_ns: 0 }
}

/// The devices of sampled listings.
fn thinned(recording: &Recording) -> Vec<String> {
    let listings = recording.listings.iter().filter(|listing| listing.is_thinned());
    let devices = listings.flat_map(|listing| {
        let reported = listing.events.iter().map(|event| event.device);
        reported.chain(listing.histograms().map(|one| one.device))
    });
    let devices: BTreeSet<_> = devices.collect();
    devices.into_iter().map(|id| recording.device_of(id).name.clone()).collect()
}

/// The first accusation of each other device.
fn others(findings: &[Finding], recording: &Recording) -> Vec<FindingSummary> {
    let mut devices: Vec<_> =
        findings.first().map(|first| first.subject.device).into_iter().collect();
    let mut others = Vec::new();
    for finding in findings.iter().skip(1) {
        let device = finding.subject.device;
        let stands = finding.confidence() >= STANDS && !finding.verdict.accuses_nobody();
        if stands && device.is_some() && !devices.contains(&device) && others.len() < OTHERS {
            devices.push(device);
            others.push(brief(finding, recording));
        }
    }
    others
}

fn brief(finding: &Finding, recording: &Recording) -> FindingSummary {
    let device = finding.subject.device;
    let first = finding.requesters.iter().find(|one| one.program.is_some() || one.cgroup.is_some());
    let cgroup = first.and_then(|one| one.cgroup.as_deref());
    FindingSummary {
        verdict: finding.verdict.name().to_string(),
        blame: finding.blames().name(),
        accuses: !finding.verdict.accuses_nobody(),
        device: device.map_or(String::new(), |id| recording.device_of(id).name.clone()),
        confidence: finding.confidence(),
        explained: finding.explained_share,
        sentence: finding.sentence.clone(),
        waited_per_s: finding.impact.and_then(|impact| impact.waited_per_s),
        who: first.and_then(|one| one.program.clone().or(one.cgroup.clone())),
        owner: cgroup.and_then(|cgroup| OwnerNames::of(recording).words(cgroup)),
    }
}

fn json(report: &Report) -> String {
    let mut text = Vec::new();
    let written = (views::json::VIEW.write)(report, &Style::plain(), &mut text);
    let text = written.ok().and_then(|()| String::from_utf8(text).ok());
    text.unwrap_or_else(|| "null".to_string())
}

fn cpu_ns() -> u64 {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    (used.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(used.tv_nsec as u64)
}

/// Reads blocks one after the other; the next one is last in the list.
struct Blocks {
    blocks: Vec<Arc<[u8]>>,
    at: usize,
}

impl BufRead for Blocks {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.blocks.last().is_some_and(|block| self.at >= block.len()) {
            self.blocks.pop();
            self.at = 0;
        }
        Ok(self.blocks.last().and_then(|block| block.get(self.at..)).unwrap_or_default())
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

impl Read for Blocks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let here = self.fill_buf()?;
        let amount = here.len().min(into.len());
        into[..amount].copy_from_slice(&here[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

/// Facts of the machine as the first blocks of a capture: a snapshot, and the kernel's log since.
pub(crate) fn facts(snapshot: &Snapshot, kernel: &str, stream: u64) -> Arc<[u8]> {
    let mut writer = iowhy_capture::Writer::new(Vec::new(), stream);
    snapshot.emit(&mut writer);
    if !kernel.is_empty()
        && let Some(format) = iowhy_read::find("kernel-log")
    {
        let _ = iowhy_read::scan("/dev/kmsg", &mut kernel.as_bytes(), Some(format), &mut writer);
    }
    // A buffer does not refuse.
    let _ = writer.finish();
    std::mem::take(writer.out()).into()
}

/// A snapshot of the context of the I/O.
pub(crate) struct Snapshot(Recording);

impl Snapshot {
    /// From a collector's records, without the kernel's log, which is separate.
    pub(crate) fn new(mut recording: Recording) -> Snapshot {
        recording.listings.retain(|listing| listing.source.input != "/dev/kmsg");
        Snapshot(recording)
    }

    /// Its facts.
    pub(crate) fn recording(&self) -> &Recording {
        &self.0
    }

    fn emit(&self, sink: &mut dyn Sink) {
        for listing in &self.0.listings {
            sink.begin(listing.source.clone());
            for fact in &listing.facts {
                let mut fact = fact.clone();
                fact.device = fact.device.map(|id| {
                    let device = self.0.device_of(id);
                    let here = sink.device(&device.name);
                    if let Some(medium) = device.medium {
                        sink.set_medium(here, medium);
                    }
                    here
                });
                sink.fact(fact);
            }
            sink.end();
        }
    }
}
