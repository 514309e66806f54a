//! Faults of what several disks share: links or disks that were lost together, members that fail
//! alike, drives that stop responding together.

use iowhy_model::{Bound, Clause, DeviceId, Finding, MessageKind, Unit, Verdict};

use crate::analysis::Analysis;
use crate::evidence::adapters::{self, Together};
use crate::evidence::arrays;
use crate::evidence::attachments::Attachment;
use crate::evidence::builder::{EvidenceBuilder, lines};
use crate::evidence::confidence::PRIOR;
use crate::facts::kernel_log::LogLine;
use crate::phrase;

/// Weight of corrupted frames, of a controller or adapter that was reset, and of failed commands,
/// nats.
pub(crate) const CORRUPTED: f64 = 3.5;
pub(crate) const WAS_RESET: f64 = 3.0;
pub(crate) const FAILED: f64 = 2.5;
/// Links lost within this time of each other, s, have a shared cause (a choice: a supply drop or an
/// adapter reset takes milliseconds, and each link is reported when its next command fails).
pub(crate) const TOGETHER_S: f64 = 5.0;
/// Its weight beside the errors of the links, nats (a choice).
const TOGETHER: f64 = 1.0;
/// Minimum disks of one adapter with simultaneous timeouts for blaming the adapter (a choice: two
/// disks may fail together by chance).
const SHARE_ADAPTER: usize = 3;
/// Weight of two drives of a host that stop answering together, and of several that do so at the
/// same minutes of different hours, nats: 0.65 and 0.60 with the prior (choices).
const TWO_TOGETHER: f64 = 2.0;
const HOURLY: f64 = 1.8;

/// All of them, and these links.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict, links: &[Together]) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        links.iter().map(|lost| by_links(analysis, verdict, lost)).collect();
    found.extend(by_members(analysis, verdict));
    found.extend(by_disks(analysis, verdict));
    found.extend(by_ports(analysis, verdict));
    found
}

/// A finding against the path to a disk, or to several.
pub(crate) fn accusation(
    verdict: Verdict,
    device: Option<DeviceId>,
    builder: &mut EvidenceBuilder,
) -> Finding {
    let mut finding = builder.finding(verdict, device);
    builder.believe(&mut finding, PRIOR);
    finding.refuted_by = lines(&[
        "the fault persists with another cable and port",
        "the log lines come from an unplugged cable or a resume, or follow medium errors of the \
         disk",
    ]);
    finding
}

/// A finding against what these share.
fn shared(
    verdict: Verdict,
    devices: Vec<DeviceId>,
    mut builder: EvidenceBuilder,
    (what, worth): (&'static str, f64),
    sentence: String,
    next: &[&str],
) -> Finding {
    builder.clauses.insert(0, Clause::fixed(what, worth));
    let mut finding = accusation(verdict, None, &mut builder);
    finding.subject.devices = devices;
    // No latency of them was measured.
    finding.share_is_assumed = true;
    finding.sentence = sentence;
    finding.next_step = lines(next);
    finding
}

/// Ports or drives without a common host adapter that stopped answering together, or always at the
/// same minute of an hour: a shared cause or a scheduled job is more likely than each drive.
fn by_ports(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = adapters::stopped_together(analysis).into_iter().map(|stopped| {
        let mut builder = EvidenceBuilder::of(analysis);
        let above = Some(Bound::Above(0.0));
        let what = "commands without a response on several drives, in the kernel's log";
        builder.log_lines(what, &stopped.lines, above);
        let drives = stopped.devices.len();
        let names = stopped.names(analysis);
        let (worth, sentence, next) = match stopped.window_s {
            Some(window_s) => {
                let n = (stopped.lines.len() as f64, Unit::Count);
                let first = &stopped.lines[0].reading;
                builder.fact(first, "share at the same minutes of an hour", n, above);
                let sentence = format!(
                    "{drives} drives of this host ({names}) stop responding, always within the \
                     same {} of an hour: the cause is a job that starts then, or something they \
                     share (controller, power, driver), not a single drive",
                    phrase::ms(window_s * 1e3)
                );
                let next = [
                    "check which job starts at that minute: `cat /etc/crontab /etc/cron.*/*`, \
                     `systemctl list-timers`: backups, `smartctl`, `hdparm`, log rotation",
                    "move that job to another minute: do the errors move with it?",
                    "check the shared power supply and controller, and the firmware of the drives",
                ];
                (HOURLY, sentence, next)
            }
            None => {
                let sentence = format!(
                    "{drives} drives of this host ({names}) failed commands together: suspect what \
                     they share (card, enclosure, bus, power, driver) before any single drive"
                );
                let next = [
                    "find the card, cable, port multiplier or power supply they share: `ls -l \
                     /dev/disk/by-path`, `lspci -nn`",
                    "try the card in another slot, another power supply, one drive at a time; do \
                     the errors stop?",
                    "check the log for errors of other devices in the same minute (network, USB): \
                     then it is the bus, its interrupts or the power",
                ];
                (if drives >= SHARE_ADAPTER { WAS_RESET } else { TWO_TOGETHER }, sentence, next)
            }
        };
        let mut finding = shared(verdict, stopped.devices, builder, (what, worth), sentence, &next);
        finding.refuted_by = lines(&[
            "only one of these drives stops responding the next time",
            "the machine booted, was suspended or paused at that moment",
        ]);
        finding
    });
    found.collect()
}

/// Links or disks that were lost together: one fault of a shared component.
fn by_links(analysis: &Analysis, verdict: Verdict, lost: &Together) -> Finding {
    let mut builder = EvidenceBuilder::of(analysis);
    let n = lost.devices.len() as f64;
    let (together, what, worth) = match lost.adapter {
        Some(_) => (
            "disks of one adapter that went offline together",
            "requests to offline devices, in the kernel's log",
            WAS_RESET,
        ),
        None => (
            "links of this host that were lost together",
            "link errors in the kernel's log",
            CORRUPTED,
        ),
    };
    if let Some(first) = lost.lines.first() {
        let above = Some(Bound::Above(1.0));
        builder.fact(&first.reading, together, (n, Unit::Count), above);
        if lost.seconds > 0.0 {
            let (apart, within) = ((lost.seconds, Unit::Seconds), Some(Bound::Below(TOGETHER_S)));
            builder.fact(&first.reading, "time from the first to the last", apart, within);
        }
    }
    let is_error = |line: &&&LogLine| line.kind != MessageKind::Phy;
    let errors: Vec<&LogLine> = lost.lines.iter().filter(is_error).copied().collect();
    builder.log_lines(what, &errors, Some(Bound::Above(0.0)));
    builder.clauses = vec![Clause::fixed("lost together", TOGETHER)];
    let is_timed = lost.lines.iter().all(|line| line.message.at_s.is_some());
    let within = match lost.seconds {
        _ if !is_timed => " together".to_string(),
        // Their times are of whole seconds.
        0.0 => " in the same second".to_string(),
        seconds => format!(" within {}", phrase::ms((seconds * 1e3).max(1.0))),
    };
    let names = lost.names(analysis);
    let sentence = match lost.adapter {
        Some(adapter) => format!(
            "{n} disks of host adapter {adapter} ({names}) went offline{within}: something they \
             share is faulty (adapter, cable, expander, backplane, power, or the array behind it), \
             not a single disk"
        ),
        None => format!(
            "{n} links of this host ({names}) were lost{within}: something they share is faulty \
             (power, backplane, controller, enclosure), not a single disk or cable"
        ),
    };
    let next = [
        "check power first: the supply, its plugs and splitters, and the backplane that these \
         disks share",
        "check the controller: seating, temperature and firmware, and log lines of its PCI \
         function in that second (`dmesg | grep -i -e aer -e pcie -e ahci -e mpt`)",
        "find what the disks share: `lsscsi -t`, `ls -l /dev/disk/by-path /sys/block`",
    ];
    let devices = lost.devices.clone();
    let mut finding = shared(verdict, devices, builder, (what, worth), sentence, &next);
    finding.share_is_assumed = false;
    finding.refuted_by = lines(&[
        "only one of these disks or ports is lost the next time",
        "the machine booted, was suspended or unplugged at that moment",
    ]);
    finding
}

/// Adapters with several disks that did not answer within a minute: a shared cause is more likely
/// than each disk.
fn by_disks(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let found = adapters::not_answering(analysis, SHARE_ADAPTER).into_iter().map(|adapter| {
        let mut builder = EvidenceBuilder::of(analysis);
        let what = "commands without a response on disks of one adapter, in the kernel's log";
        builder.log_lines(what, &adapter.lines, Some(Bound::Above(0.0)));
        let name = match adapter.controller {
            Some(device) => analysis.recording.device_of(device).name.clone(),
            None => format!("host adapter {}", adapter.adapter.unwrap_or_default()),
        };
        let sentence = format!(
            "{} disks of {name} stopped responding within {}: something they share is faulty \
             (adapter, cable, expander, backplane, power); so many disks do not fail at once",
            adapter.devices.len(),
            phrase::ms(adapter.seconds * 1e3)
        );
        let next = [
            "find which of them share a cable, a backplane or an expander: `lsscsi -t`, `ls -l \
             /dev/disk/by-path`",
            "check firmware, driver, temperature and seating of the adapter; `dmesg | grep -e mpt \
             -e reset`",
            "reseat or swap the cable between adapter and backplane; do the errors stop?",
        ];
        let devices = adapter.devices.iter().copied().chain(adapter.controller).collect();
        shared(verdict, devices, builder, (what, WAS_RESET), sentence, &next)
    });
    found.collect()
}

/// Arrays with errors on half of their members: a shared component is more likely at fault than
/// each of them.
fn by_members(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    // What is shared is found before the path of each.
    let steps = |first: Option<&String>, step: &str| {
        let first = first.map_or("DISK", String::as_str);
        let mut steps = vec![step.to_string()];
        steps.extend(Attachment::of(first, &[], None).steps(first, false));
        steps
    };
    let lost = arrays::shared_faults(analysis).into_iter().filter_map(|known| {
        known.reading.fact.device?;
        let mut builder = EvidenceBuilder::of(analysis);
        let n = (known.names.len() as f64, Unit::Count);
        builder.fact(&known.reading, known.what, n, Some(Bound::Above(1.0)));
        builder.fact(&known.reading, "members", (known.members as f64, Unit::Count), None);
        let sentence = format!(
            "{}: suspect what they share (controller, cable, enclosure, power) before any single \
             disk",
            known.sentence
        );
        let devices = known.names.iter().filter_map(|name| analysis.recording.find_device(name));
        let clause = (known.what, TWO_TOGETHER);
        let mut finding = shared(verdict, devices.collect(), builder, clause, sentence, &[]);
        finding.next_step = steps(
            known.names.first(),
            "find the controller, enclosure or power supply they share: `lsscsi -t`, `ls -l \
             /dev/disk/by-path`; the kernel's log of the same minutes: resets of it",
        );
        Some(finding)
    });
    let found = arrays::failing_together(analysis).into_iter().map(|array| {
        let mut builder = EvidenceBuilder::of(analysis);
        let (failing, all) = (array.failing.len(), array.members);
        let above = Some(Bound::Above(all as f64 / 2.0));
        let of = (failing as f64, Unit::Count);
        builder.fact(&array.reading, "members that count errors", of, above);
        builder.fact(&array.reading, "members", (all as f64, Unit::Count), None);
        builder.clauses = vec![Clause::fixed("members that count errors together", FAILED)];
        let mut finding = accusation(verdict, Some(array.device), &mut builder);
        let (what, shared) = match array.only_changed {
            true => (
                "returned corrupted data, and no request to them failed: it is corrupted on the \
                 way",
                "the machine's memory, controller, cable, power",
            ),
            false => (
                "count errors together: something they share is faulty",
                "cable, backplane, adapter, power, firmware",
            ),
        };
        finding.sentence = format!(
            "{failing} of the {all} listed members of {} {what} ({shared}); so many disks do not \
             fail at once",
            array.name
        );
        finding.next_step = steps(
            array.failing.first(),
            "find which of them share a cable, a backplane or an adapter: `lsscsi -t`, `ls -l \
             /dev/disk/by-path`; `dmesg | grep -e mpt -e ata -e reset`",
        );
        if array.only_changed {
            let memory =
                "test the machine's memory first (`memtest86+`, overnight): all data passes \
                 through it";
            finding.next_step.insert(0, memory.to_string());
        }
        finding
    });
    lost.chain(found).collect()
}
