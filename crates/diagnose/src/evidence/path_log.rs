//! What the kernel's log reports of the path to a disk: link, controller, interrupts, transfers.

use iowhy_model::{MessageKind, PathEvent};

use crate::analysis::Analysis;
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::cases::Case;
use crate::evidence::confidence;
use crate::evidence::guests;
use crate::evidence::shared_path::{CORRUPTED, FAILED, WAS_RESET};
use crate::evidence::signals::{self, Signal, path, program};
use crate::evidence::throughput;
use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;

/// What the log reports of link and controller. Below an accusation with the prior (choices): a
/// link that woke up while commands failed (power management), a controller that is lost although
/// it is ready, a network link that went down, a card's host controller (or the card). Corrected
/// PCIe errors cost microseconds each: 0.29 and 0.55 with the prior. Aborted commands and timeouts
/// weigh as for ATA and SCSI disks (`device.stall`). A disk that disappeared without an earlier
/// failed command may have been unplugged, and a single reset of a link may be a resume.
pub(crate) const LOGGED: [Signal; 22] = [
    path(MessageKind::Link, &[PathEvent::DeadPort], SEEN_ONCE)
        .again(WAS_RESET)
        .takes(|case, line| !signals::is_discard(line) && !recovers(case, line))
        .what("time(s) the drive on the port did not answer a reset, in the kernel's log"),
    path(MessageKind::Phy, &[], 1.5).only_if(|case| is_hurt(case) && !is_corrupt(case)).what(
        "time(s) the link went down or woke up without a corrupted frame, in the kernel's log, \
         while commands failed",
    ),
    path(MessageKind::Link, &[PathEvent::Corrected], 0.5)
        .by(|lines| if is_often(lines) { 1.6 } else { 0.5 })
        .what("error(s) corrected by the PCIe link hardware, in the kernel's log"),
    controller(&[PathEvent::Unresponsive], 1.4)
        .what("time(s) a controller did not respond although it reports that it is ready"),
    path(MessageKind::Link, &[PathEvent::LinkDown], 1.2).again(SEEN_ONCE).what(
        "time(s) the adapter lost its link, or its login to the fabric or a target, in the \
         kernel's log",
    ),
    controller(&[PathEvent::LostInterrupt], WAS_RESET)
        .what("completion(s) whose interrupt was lost, in the kernel's log"),
    controller(&[PathEvent::Dma], SEEN_ONCE).again(WAS_RESET).instead(is_slow_since, FAILED).what(
        "DMA transfer(s) that never completed, in the kernel's log, after which the drive is used \
         without DMA",
    ),
    controller(&[PathEvent::CardHost], 1.4)
        .by(|lines| if LogLine::messages(lines) as f64 > RESETS { 2.0 } else { 1.4 })
        .what("time(s) the host controller of the card waited for an interrupt that never came"),
    controller(&[PathEvent::Memory], 2.0).what(
        "memory access(es) of the adapter blocked by the IOMMU, in the kernel's log: its firmware \
         or driver",
    ),
    controller(&[PathEvent::Unsent], 2.0).what(
        "command(s) that never reached the drive (libata: internal error), in the kernel's log: \
         the controller, its driver or the IOMMU",
    ),
    path(MessageKind::Link, &[PathEvent::NoDevice], SEEN_ONCE)
        .again(WAS_RESET)
        .only_if(|case| {
            case.has(&[MessageKind::Timeout])
                && !is_corrupt(case)
                && !case.reports(&[PathEvent::Exchanged])
        })
        .what("time(s) no drive was on the link after commands had failed, in the kernel's log"),
    // A port without a disk reports the same at the start.
    path(MessageKind::Link, &[PathEvent::NoDevice], FAILED)
        .only_if(|case| case.reports(&[PathEvent::Exchanged]))
        .what(
            "time(s) no device was on the link (`SATA link down`): its plug, its cable or its \
               power",
        ),
    path(MessageKind::Link, &[PathEvent::Corruption], CORRUPTED)
        .what("link error(s) in the kernel's log"),
    controller(&[PathEvent::Reset, PathEvent::UsbReset], WAS_RESET)
        .what("controller or device reset(s) in the kernel's log"),
    path(MessageKind::Offline, &[], 1.0)
        .only_if(|case| !is_hurt(case))
        .takes(|case, line| line.message.is_surprise_removal() && is_gone(case, line))
        .what("surprise removal(s) of the disk, in the system's log"),
    path(MessageKind::Refused, &[], 2.0)
        .takes(|_, line| line.message.rejects_io())
        .what("read(s) or write(s) rejected as an unknown command, in the kernel's log"),
    path(MessageKind::NotReady, &[], SEEN_ONCE)
        .takes(|_, line| line.message.has_no_medium())
        .what("request(s) to a reader or an enclosure without a medium, in the kernel's log"),
    path(MessageKind::Offline, &[], WAS_RESET)
        .only_if(|case| !(case.is_of_a_guest() && guests::is_of_the_host(case.name)))
        .takes(is_gone)
        .what("request(s) to an offline device, in the kernel's log"),
    path(MessageKind::Link, &[], 0.0)
        .takes(|case, line| {
            !signals::is_discard(line)
                && !recovers(case, line)
                && !follows_a_medium_error(case, line)
        })
        .by(|lines| confidence::beyond(lines.len() as f64, RESETS))
        .what("link reset(s) in the kernel's log"),
    controller(&[], 0.0)
        .takes(|_, line| {
            let is_fatal = line.event == Some(PathEvent::Fatal);
            !signals::is_discard(line) && !is_fatal && !line.message.names_an_idle_tag()
        })
        .by(|lines| {
            let timed_out = lines.iter().filter(|line| line.message.is_of_nvme_timeout()).count();
            let most = if timed_out > 1 { 2.7 } else { 1.5 };
            confidence::beyond(lines.len() as f64, RESETS).min(most)
        })
        .what("aborted command(s) or adapter error(s) in the kernel's log"),
    path(MessageKind::IoError, &[], UNEXPLAINED)
        .only_if(is_unexplained)
        .takes(|_, line| !signals::is_discard(line))
        .what("failed request(s) without a reason, in the kernel's log"),
    program(also_logged),
];
/// Weight, nats, of requests to a disk that failed while nothing else is logged of it: 0.55 with
/// the prior. The disk, its path or its target failed them, and not the load.
const UNEXPLAINED: f64 = 1.6;
/// Failed requests from which on it is not an odd one (a choice: a partition table that is read
/// from an empty reader fails once or twice).
const FAILED_AGAIN: u64 = 3;

/// Whether requests to a disk of a bus failed, and its log has no reason.
fn is_unexplained(case: &Case) -> bool {
    let is_it = |line: &&&LogLine| line.kind == MessageKind::IoError;
    let errors: Vec<&LogLine> = case.log.iter().filter(is_it).copied().collect();
    disk_names::is_of_any_bus(case.name)
        && case.log.len() == errors.len()
        && LogLine::messages(&errors) >= FAILED_AGAIN
}
/// Weight, nats, of what shows once that a disk does not answer over its path, and not which of the
/// two failed: 0.64 with the prior. Six of six first answers on new captures were on the right
/// side (docs/decisions/0130).
pub(crate) const SEEN_ONCE: f64 = 2.0;

/// Whether a test of the same input reads so slowly from the disk as without DMA.
fn is_slow_since(case: &Case) -> bool {
    throughput::reads_slowly(case.analysis, case.device)
}

/// Resets, aborted commands or transport errors up to this many are none (a choice).
pub(crate) const RESETS: f64 = 2.0;
/// Corrected PCIe errors beyond the kernel's own print limit of 10 in 5 s (drivers/pci/pcie/aer.c).
const OFTEN_PER_S: f64 = 2.0;
const OFTEN: usize = 10;
/// A medium error within this many seconds makes a reset its consequence: libata resets the link
/// after errors of any kind.
const COLLATERAL_S: f64 = 60.0;
/// A disk that goes offline within this time, s, after a lost iSCSI session belongs to it: the
/// session has 120 s to recover (`replacement_timeout` of open-iscsi) before its disks fail (the
/// rest is a choice).
const SESSION_S: f64 = 300.0;

/// Tasks that hang this long after the path recovered, s, began to wait after that: the kernel
/// looks every two minutes for those that wait as long (kernel/hung_task.c).
const LONG_AFTER_S: f64 = 300.0;

/// In a guest an NVMe drive is emulated by the host: there is no slot and no bridge
/// (`device.stall`).
const fn controller(events: &'static [PathEvent], worth: f64) -> Signal {
    path(MessageKind::Controller, events, worth).only_if(|case| !case.is_of_a_guest())
}

/// Whether the link went down and up without corrupted frames.
pub(crate) fn is_awake(case: &Case) -> bool {
    case.has(&[MessageKind::Phy])
        && !case.log.iter().any(|line| is_corruption(line))
        && !case.reports(&[PathEvent::Exchanged])
}

fn is_corruption(line: &LogLine) -> bool {
    line.kind == MessageKind::Link && line.event == Some(PathEvent::Corruption)
}

fn is_corrupt(case: &Case) -> bool {
    case.log.iter().any(|line| is_corruption(line) && !signals::is_discard(line))
}

/// Whether commands failed.
fn is_hurt(case: &Case) -> bool {
    case.has(&[MessageKind::Command, MessageKind::Timeout, MessageKind::IoError])
}

/// The kernel's recovery from a command without an answer, whatever the cause (`device.stall`).
fn recovers(case: &Case, line: &LogLine) -> bool {
    let is_timeout =
        |line: &&LogLine| line.kind == MessageKind::Timeout && !signals::is_discard(line);
    line.message.is_of_recovery() && case.log.iter().any(is_timeout)
}

/// An array rewrites unreadable sectors, whatever the reason.
fn follows_a_medium_error(case: &Case, line: &LogLine) -> bool {
    let is_near = |error: &&LogLine| {
        let times = line.message.at_s.zip(error.message.at_s);
        error.kind == MessageKind::Medium
            && !signals::is_discard(error)
            && !error.message.is_of_an_array()
            && times.is_some_and(|(at, error)| (at - error).abs() < COLLATERAL_S)
    };
    case.log.iter().any(is_near)
}

/// A disk that is offline by itself: a session is named by `layer.remote`, there is no cable to
/// swap.
fn is_gone(case: &Case, line: &LogLine) -> bool {
    !signals::is_discard(line) && !lost_its_session(case.analysis, line)
}

/// Whether a session of iSCSI was lost shortly before, in the same log.
pub(crate) fn lost_its_session(analysis: &Analysis, line: &LogLine) -> bool {
    analysis.facts.log().any(|lost| {
        let apart_s = line.message.at_s.zip(lost.message.at_s).map(|(at, lost)| at - lost);
        lost.kind == MessageKind::Remote
            && lost.message.is_of_iscsi()
            && lost.reading.listing == line.reading.listing
            && apart_s.is_none_or(|apart_s| (0.0..SESSION_S).contains(&apart_s))
    })
}

/// Whether corrected errors were so frequent that their cost adds up.
fn is_often(lines: &[&LogLine]) -> bool {
    let times = || lines.iter().filter_map(|line| line.message.at_s);
    let (first, last) = (times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max));
    lines.len() >= OFTEN && (lines.len() - 1) as f64 > OFTEN_PER_S * (last - first)
}

/// What else the log says of these lines.
fn also_logged(builder: &mut EvidenceBuilder, case: &Case, most: f64) -> f64 {
    let left = case.logged(&[MessageKind::Offline]).into_iter();
    let mut left = left.filter(|line| line.message.is_usb_disconnect() && is_gone(case, line));
    if let Some(line) = left.next() {
        let text = signals::short(&line.message.text);
        builder.words.push(format!("a device on USB left the bus (`{text}`)"));
    }
    let is_unplugged = case.reports(&[PathEvent::Exchanged])
        && case.log.iter().any(|line| {
            line.kind == MessageKind::Link
                && line.event == Some(PathEvent::NoDevice)
                && !signals::is_discard(line)
        });
    let mut wakes = case.logged(&[MessageKind::Phy]);
    wakes.retain(|line| !signals::is_discard(line));
    let counts = most > 0.0 && !is_unplugged && !is_corrupt(case) && !is_hurt(case);
    if let Some(first) = wakes.first().filter(|_| counts) {
        let what = "link wake-ups without a corrupted frame, in the kernel's log";
        builder.log_lines(what, &wakes, None);
        builder.words.push(format!(
            "the link wakes up ({}) without corrupted frames, so check link power management \
             before the cable",
            signals::short(&first.message.text)
        ));
    }
    0.0
}

/// Whether tasks still hang long after the last of these lines: the path had recovered by then, and
/// whatever holds them is something else.
pub(crate) fn hangs_go_on(case: &Case) -> bool {
    let times = case.log.iter().map(|line| line.message.at_s);
    let ended_s = times.reduce(|last, at_s| Some(last?.max(at_s?))).flatten();
    let hung = case.analysis.facts.log().filter(|line| line.kind == MessageKind::HungTask);
    let mut hung_s = hung.filter_map(|line| line.message.at_s);
    ended_s.is_some_and(|ended_s| hung_s.any(|at_s| at_s > ended_s + LONG_AFTER_S))
}

/// Whether these lines are about the path itself: a link, a port, an interrupt, a transfer. A disk
/// that is reset, offline or failed, or does not answer a reset, may itself be faulty; and one that
/// dies takes its link with it.
pub(crate) fn shows_the_way(reading: &[&LogLine]) -> bool {
    const TRANSPORT_EVENTS: [PathEvent; 5] = [
        PathEvent::CardHost,
        PathEvent::Dma,
        PathEvent::LostInterrupt,
        PathEvent::Memory,
        PathEvent::Unsent,
    ];
    let reports = |event: PathEvent| reading.iter().any(|line| line.event == Some(event));
    let timed_out = reading.iter().any(|line| line.kind == MessageKind::Timeout);
    let is_dead = reports(PathEvent::DeadPort) || reports(PathEvent::NoDevice) && timed_out;
    let kinds: &[MessageKind] = match is_dead && !reading.iter().any(|line| is_corruption(line)) {
        true => &[MessageKind::Path],
        false => &[MessageKind::Link, MessageKind::Path, MessageKind::Phy],
    };
    reading.iter().any(|line| {
        kinds.contains(&line.kind) && !line.message.is_of_recovery()
            || line.event.is_some_and(|what| TRANSPORT_EVENTS.contains(&what))
            || line.message.is_usb_disconnect()
            || line.message.is_of_a_failed_adapter()
    })
}
