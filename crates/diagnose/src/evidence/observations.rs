//! What was seen where nothing can be concluded: each with what it would mean.
//!
//! Nothing here accuses. A number of this list moved no verdict, and whoever reads it knows what to look at
//! next.

use iowhy_model::{FactKey, MessageKind, Observation, STANDS, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::RankedFindings;
use crate::evidence::builder::{cited, computed};

/// More than so many nobody reads.
const MOST: usize = 8;
/// Suspicions below this are noise.
const SUSPECTED: f64 = 0.1;

/// A number of the machine or of a drive that means something from a bound on.
struct NotableNumber {
    key: FactKey,
    quantity: &'static str,
    above: f64,
    would_mean: &'static str,
    verdict: Option<Verdict>,
    unit: Unit,
}

impl NotableNumber {
    fn measured_in(self, unit: Unit) -> NotableNumber {
        NotableNumber { unit, ..self }
    }
}

fn known(
    key: FactKey,
    quantity: &'static str,
    above: f64,
    would_mean: &'static str,
    verdict: Option<Verdict>,
) -> NotableNumber {
    NotableNumber { key, quantity, above, would_mean, verdict, unit: Unit::Count }
}

/// The same of a share of something.
fn share(
    key: FactKey,
    quantity: &'static str,
    above: f64,
    would_mean: &'static str,
    verdict: Option<Verdict>,
) -> NotableNumber {
    known(key, quantity, above, would_mean, verdict).measured_in(Unit::Share)
}

/// Numbers of the whole machine. Bounds are choices: what is below them is everyday.
fn of_machine() -> Vec<NotableNumber> {
    let above = Some(Verdict::LayerAbove);
    vec![
        share(
            key::VMSTAT_MEAN.of("st"),
            "processor time that the host took (steal)",
            0.05,
            "the virtual machine stood still at times: waits of any device are then too long",
            above,
        ),
        share(
            key::CPU_MEAN.of("steal"),
            "processor time that the host took (steal)",
            0.05,
            "the virtual machine stood still at times: waits of any device are then too long",
            above,
        ),
        share(
            key::PRESSURE_AVG10.of("cpu.some"),
            "time in which tasks waited for a processor",
            0.2,
            "programs wait for processors, and completions are seen late",
            above,
        ),
        share(
            key::PRESSURE_AVG10.of("memory.some"),
            "time in which tasks waited for memory",
            0.05,
            "memory is short, and the I/O may be swapping and reading again what was dropped",
            above,
        ),
        share(
            key::PRESSURE_AVG10.of("io.some"),
            "time in which tasks waited for I/O",
            0.1,
            "somebody waits for some device: which one is not told here",
            None,
        ),
        known(
            key::VMSTAT_MEAN.of("so"),
            "memory that was swapped out, per second",
            0.0,
            "memory is short: the I/O may be swapping",
            above,
        ),
        share(
            key::VMSTAT_MEAN.of("wa"),
            "processor time that idled beside outstanding I/O (iowait)",
            0.1,
            "tasks wait for I/O while processors have nothing to do: a device or its load, not the processors",
            None,
        ),
        share(
            key::CPU_MEAN.of("iowait"),
            "processor time that idled beside outstanding I/O (iowait)",
            0.1,
            "tasks wait for I/O while processors have nothing to do: a device or its load, not the processors",
            None,
        ),
        known(
            key::FLUSH_SLOWEST,
            "slowest flush that a program logged",
            0.1,
            "no healthy device takes so long for one alone: it is slow, or much else is queued on it",
            None,
        )
        .measured_in(Unit::Seconds),
        known(
            key::TASKS_BLOCKED,
            "tasks that cannot be interrupted",
            0.0,
            "they wait for I/O, or for a lock of a file system or driver",
            None,
        ),
    ]
}

/// Numbers of a drive.
fn of_drive() -> Vec<NotableNumber> {
    let (path, media) = (Some(Verdict::DevicePath), Some(Verdict::DeviceMedia));
    vec![
        known(
            key::SMART_RAW.of("199"),
            "CRC errors since the drive was made",
            0.0,
            "a cable or contact failed at some time; only growth tells that it still does",
            path,
        ),
        known(
            key::SMART_RAW.of("5"),
            "sectors that were reallocated",
            0.0,
            "the surface lost sectors at some time; only growth tells that it still does",
            media,
        ),
        known(
            key::SMART_RAW.of("187"),
            "errors that the drive could not correct",
            0.0,
            "reads failed at some time; only growth tells that they still do",
            media,
        ),
        known(
            key::SMART_ERRORS,
            "errors in the drive's log",
            0.0,
            "commands failed at some time: their age in hours beside the drive's tells when",
            media,
        ),
        share(
            key::SMART_NVME_PERCENTAGE_USED,
            "endurance used",
            0.9,
            "the flash is near the end of its rated writes, which alone slows nothing down",
            media,
        ),
        known(
            key::DEVICE_TIMEOUT,
            "time limit of a command",
            31.0,
            "a drive that stops answering is waited for that long before it is reset",
            Some(Verdict::DeviceRecovery),
        )
        .measured_in(Unit::Seconds),
        known(
            key::ARRAY_DEGRADED,
            "members that the array lacks",
            0.0,
            "each read of the missing member is computed from all others",
            None,
        ),
        known(
            key::CEPH_COMMIT,
            "mean commit latency",
            0.02,
            "its device, the flushes on it and its own threads together: compare it with the other OSDs of its class",
            Some(Verdict::PeerOutlier),
        )
        .measured_in(Unit::Seconds),
        known(
            key::CEPH_BLOCKED_FOR,
            "longest wait of a blocked request",
            0.0,
            "it waited for its own disk, for another OSD or for the network: the OSD's own log tells which",
            None,
        )
        .measured_in(Unit::Seconds),
    ]
}

/// What was seen of these disks of an input.
pub fn of(
    analysis: &Analysis,
    ranked: &RankedFindings,
    input: &str,
    disks: &[String],
) -> Vec<Observation> {
    let mut seen = suspicions(analysis, ranked, input, disks);
    let recording = analysis.recording;
    let of_input = |listing: usize| analysis.input(listing) == input;
    let any = disks.first().map_or("", String::as_str);
    for one in of_machine() {
        let about = analysis.facts.about(Some(input), any);
        let Some((value, reading)) = about.machine_number(one.key) else { continue };
        if value > one.above {
            let evidence = cited(recording, &reading, one.quantity, value, one.unit);
            let would_mean = one.would_mean.to_string();
            seen.push(Observation { evidence, would_mean, verdict: one.verdict });
        }
    }
    seen.extend(waiting_task(analysis, input, any));
    seen.extend(of_drive().iter().flat_map(|one| of_drives(analysis, input, disks, one)));
    for disk in disks {
        let about = analysis.facts.about(Some(input), disk);
        let mut kinds: Vec<(MessageKind, Observation)> = Vec::new();
        for line in about.log() {
            match kinds.iter_mut().find(|(kind, _)| *kind == line.kind) {
                Some((_, known)) => {
                    known.evidence.amount.value += 1.0;
                    known.evidence.n += 1;
                }
                None => {
                    let what = format!("messages of the kernel: {}", line.kind.name());
                    let cited = cited(recording, &line.reading, &what, 1.0, Unit::Count);
                    let would_mean = "the kernel complained of it: look at when".to_string();
                    let verdict = None;
                    kinds.push((line.kind, Observation { evidence: cited, would_mean, verdict }));
                }
            }
        }
        seen.extend(kinds.into_iter().map(|(_, known)| known));
        let rows =
            analysis.intervals.iter().filter(|row| row.disk == *disk && of_input(row.listing));
        let busiest = rows
            .filter_map(|row| Some((row, row.interval.busy?)))
            .max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((row, busy)) = busiest.filter(|(_, busy)| *busy > FULL) {
            let source = analysis.source(row.listing);
            let evidence = computed("busy time (%util), most", busy, Unit::Share, 1, source);
            let would_mean = "a request was in flight nearly all the time: one that is slow, or many; a device that \
                              serves several at once is not full by that"
                .to_string();
            seen.push(Observation { evidence, would_mean, verdict: Some(Verdict::ReportUtilTrap) });
        }
    }
    seen.truncate(MOST);
    seen
}

/// Disks that are named of one kind, the worst first.
const WORST: usize = 3;

/// The drives of which a number means something.
fn of_drives(
    analysis: &Analysis,
    input: &str,
    disks: &[String],
    one: &NotableNumber,
) -> Vec<Observation> {
    let numbers = disks.iter().filter_map(|disk| {
        let (value, reading) = analysis.facts.about(Some(input), disk).number(one.key.clone())?;
        (value > one.above).then_some((value, reading, disk))
    });
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(b.2)));
    let observed = numbers.into_iter().take(WORST).map(|(value, reading, disk)| {
        let what = match disks {
            [_] => one.quantity.to_string(),
            _ => format!("{} ({disk})", one.quantity),
        };
        let mut evidence = cited(analysis.recording, &reading, &what, value, one.unit);
        evidence.disk = Some(disk.clone());
        Observation { evidence, would_mean: one.would_mean.to_string(), verdict: one.verdict }
    });
    observed.collect()
}

/// From this share of its time on a task is said to wait.
const WAITS: f64 = 0.1;

/// The task that waited for I/O the greatest share of its time.
fn waiting_task(analysis: &Analysis, input: &str, disk: &str) -> Option<Observation> {
    let (share, who, reading) = analysis.facts.about(Some(input), disk).waiting_task()?;
    let what = format!("time that {who} waited for I/O");
    let evidence = cited(analysis.recording, &reading, &what, share, Unit::Share);
    let would_mean = "its requests are many or slow: which disk they go to and how long one takes is not told here";
    (share > WAITS).then(|| Observation {
        evidence,
        would_mean: would_mean.to_string(),
        verdict: None,
    })
}

/// From this share on a device is called full by its averages.
const FULL: f64 = 0.9;

/// What detectors suspect too faintly to say.
fn suspicions(
    analysis: &Analysis,
    ranked: &RankedFindings,
    input: &str,
    disks: &[String],
) -> Vec<Observation> {
    let here = ranked.findings.iter().filter(|known| {
        let disk = known.subject.device.map(|device| analysis.disk(device));
        known.subject.listings.iter().any(|place| analysis.input(*place) == input)
            && disk.is_none_or(|disk| disks.contains(&disk))
            && (SUSPECTED..STANDS).contains(&known.confidence)
            && known.explained_by.is_none()
    });
    here.filter_map(|known| {
        let evidence = known.evidence.first()?.clone();
        let summary = ranked.detector(known.verdict)?.summary;
        let would_mean = format!("may be {} ({summary})", known.verdict);
        Some(Observation { evidence, would_mean, verdict: Some(known.verdict) })
    })
    .collect()
}
