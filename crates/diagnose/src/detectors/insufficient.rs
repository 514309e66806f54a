//! The evidence does not support a verdict; this capture would.
//!
//! ## Accuses
//! No cause. No accusation reached a confidence of 0.6 and a share of 0.3, and the device is not
//! clearly healthy either.
//!
//! ## Why it matters
//! A guess presented as a verdict costs a disk. The capture that decides costs a minute.
//!
//! ## Needs
//! Any input.
//!
//! ## Rule
//! The cases the other detectors cannot decide: too few I/Os (below 10, or below 3 slow ones), an
//! input without enough detail for the suspicion, or a verdict that depends on the assumed healthy
//! service time. With 1,000 individual I/Os or more, none of the known causes fits them.
//!
//! ## Wrong if
//! It is used as an excuse: the next step names the capture that decides, so run it.
//!
//! ## Next step
//! Run the named command for the named time.

use iowhy_model::{
    Basis, Evidence, Family, Finding, How, Inference, Layer, Level, MessageKind, Observation,
    Verdict, key,
};

use crate::analysis::samples::{HistogramSample, IntervalSample};
use crate::analysis::{Analysis, Host, requests};
use crate::detector::{Detector, Needs, RankedFindings, Rule};
use crate::evidence::arrays;
use crate::evidence::builder::{lines, new_finding};
use crate::evidence::class_of_runs;
use crate::evidence::clean_bills;
use crate::evidence::medium_readings::{self, Readings};
use crate::evidence::observations;
use crate::evidence::unaccused;
use crate::facts::About;
use crate::facts::disk_names;
use crate::facts::probe_listing::ProbeListing;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::Insufficient,
    summary: "The evidence does not support a verdict",
    manual: iowhy_model::manual!("insufficient.rs"),
    needs: Needs { level: Level::A, sure_from: Level::A, seconds: 30, what: "any input" },
    explains: &[],
    rule: Rule::Conclude(conclude),
};

/// Seconds of capture unless a suspicion names its own: thirty reads per second give the 300 I/Os
/// of a 99th percentile within ten, and a quiet device needs more.
const SECONDS: u32 = 30;
/// The command that shows the medium of a device (lsblk(8)), which no capture of I/Os contains.
const MADE_OF: &str = "`lsblk -d -o NAME,ROTA,TRAN,MODEL`: the medium of the device is not known, \
                       and the healthy service time depends on it; \
                       if you know it, state it with `--class` (`hdd`, `ssd`, `nvme`, `card`, \
                       `network`)";
/// From this many single I/Os "too few data" is not a reason: ten are beyond the 99th percentile.
const PLENTY: f64 = 1000.0;
/// From this many I/Os of a probe their number is not the reason that nothing is accused: a 99th
/// percentile needs as many.
const ENOUGH: u64 = 100;
/// From this confidence on a second reading is named (a choice: below it is noise).
const NAMED_FROM: f64 = 0.1;
/// A reported number needs no weight.
const CERTAIN: f64 = 0.95;

fn conclude(analysis: &Analysis, ranked: &RankedFindings) -> Vec<Finding> {
    let probed = ProbeListing::all(analysis.recording).find(|probed| probed.ios >= ENOUGH);
    if let Some(probed) = probed.filter(|_| ranked.findings.is_empty()) {
        return vec![after_a_probe(analysis, &probed)];
    }
    let mut findings = Vec::new();
    for (host, disks) in unaccused::unaccused(analysis, ranked.findings) {
        let cleared = |disk: &String| {
            ranked.findings.iter().any(|known| {
                known.verdict == Verdict::Healthy
                    && analysis.is_on(known, host)
                    && known.evidence.iter().any(|e| e.disk.as_ref() == Some(disk))
            })
        };
        let open: Vec<String> = disks.into_iter().filter(|disk| !cleared(disk)).collect();
        let stuck: Vec<&IntervalSample> = analysis
            .intervals
            .iter()
            .filter(|row| analysis.host(row.listing) == host && open.contains(&row.disk))
            .filter(|row| row.outstanding().is_some() && is_last(analysis, row))
            .filter(|row| !is_traced(analysis, row))
            .collect();
        findings.extend(stuck.iter().map(|row| nothing_completes(analysis, row)));
        let open: Vec<String> =
            open.into_iter().filter(|disk| !stuck.iter().any(|row| row.disk == *disk)).collect();
        if !open.is_empty() {
            findings.push(finding(analysis, ranked, host, &open));
        }
    }
    if !ranked.findings.iter().any(Finding::stands) {
        findings.extend(starved_rebuilds(analysis));
    }
    if findings.is_empty() && ranked.findings.is_empty() {
        let hosts = analysis.hosts();
        let of_first = hosts.iter().filter(|host| host.input == hosts[0].input);
        findings.extend(waited_for_io(analysis, ranked));
        if findings.is_empty() {
            findings.extend(of_first.filter_map(|host| nothing_to_judge(analysis, ranked, *host)));
        }
    } else if findings.is_empty() && !ranked.findings.iter().any(Finding::stands) {
        findings.extend(waited_for_io(analysis, ranked));
    }
    findings
}

/// Rebuilds at the minimum rate that Linux keeps beside other I/O, or slower: they are throttled to
/// it or wait for a member, and slow nothing down.
fn starved_rebuilds(analysis: &Analysis) -> Vec<Finding> {
    let starved = |about: About| {
        let name = about.disk;
        let state = arrays::state_of(about);
        let (speed, reading) = state.at_floor?;
        let mut finding = new_finding(DETECTOR.verdict, reading.fact.device, vec![reading.listing]);
        let lacks = state.missing.map_or(String::new(), |(missing, _)| {
            format!(" is degraded, is missing {} and", phrase::count(missing, "member(s)"))
        });
        let is_held = speed >= arrays::FLOOR_BYTES_PER_S;
        let (where_it_is, so) = match is_held {
            true => (
                "about",
                "Linux throttles it to this rate, because of other I/O on the members or its \
                 configured limit",
            ),
            false => ("below", "it is waiting itself, so a member is slow or failing"),
        };
        finding.sentence = format!(
            "{name}{lacks} does background work ({}) at {}, {where_it_is} the minimum of {} that \
             Linux maintains under other I/O: {so}",
            state.action.unwrap_or_default(),
            phrase::rate(speed),
            phrase::rate(arrays::FLOOR_BYTES_PER_S)
        );
        let what = "speed of the background work";
        finding.evidence = vec![
            analysis
                .stated(&reading)
                .bytes_per_s(what, speed)
                .below(arrays::NEAR_FLOOR * arrays::FLOOR_BYTES_PER_S),
        ];
        finding.assume(CERTAIN, "it is known what is missing");
        finding.explained_share = 1.0;
        finding.refuted_by = lines(&["`sysctl dev.raid.speed_limit_max` is set that low"]);
        let members = about.last(key::DEVICE_SLAVES).and_then(|known| known.fact.value.words());
        let members = members.map_or("its members".to_string(), |words| words.join(", "));
        finding.next_step = vec![
            format!("`iostat -x 5 2` of {members}: which one is slower than the others?"),
            format!(
                "`smartctl -x` of each, and the kernel's log: does one of {members} retry or fail?"
            ),
        ];
        if is_held {
            let raise = "`sysctl dev.raid.speed_limit_min` (1000 KiB/s by default): try 50000; if \
                         the rebuild speeds up, the members are healthy";
            finding.next_step.insert(0, raise.to_string());
        }
        Some(finding)
    };
    analysis.facts.each().filter_map(starved).collect()
}

/// Share of the time in which tasks wait for I/O that is a finding of its own without any device (a
/// choice: a busy build host shows a tenth).
const PRESSED: f64 = 0.2;

/// Tasks wait for I/O, for an unknown device.
fn waited_for_io(analysis: &Analysis, ranked: &RankedFindings) -> Option<Finding> {
    let places = 0..analysis.recording.listings.len();
    let pressed = places.filter_map(|place| {
        let about = analysis.about(place, "");
        about
            .machine_number(key::PRESSURE_AVG10.of("io.some"))
            .filter(|(share, _)| *share > PRESSED)
    });
    let (share, reading) = pressed.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let mut finding = new_finding(DETECTOR.verdict, None, vec![reading.listing]);
    let about = analysis.about(reading.listing, "");
    let all = about.machine_number(key::PRESSURE_AVG10.of("io.full")).map(|(share, _)| share);
    let all =
        all.map_or(String::new(), |all| format!(", all of them at once {}", phrase::percent(all)));
    finding.sentence = format!(
        "tasks waited for I/O {} of the time{all}: the input does not say for which device",
        phrase::percent(share)
    );
    let what = "time in which tasks waited for I/O";
    finding.evidence = vec![analysis.stated(&reading).share(what, share).above(PRESSED)];
    finding.assume(CERTAIN, "it is known what is missing");
    finding.refuted_by = lines(&["the capture below shows idle disks"]);
    finding.next_step =
        vec![format!("{}: adds the latency of each I/O, by device", phrase::capture("", SECONDS))];
    let host = analysis.host(reading.listing);
    let spoken_of: Vec<String> = analysis.facts.disks().map(str::to_string).collect();
    finding.seen = observations::of(analysis, ranked, host, &spoken_of);
    let reported = Basis::Stated(key::PRESSURE_AVG10.of("io.some"));
    finding.seen.retain(|known| known.evidence.basis != reported);
    Some(finding)
}

/// Nothing completed to the end of the listing: a later completion ends a freeze.
fn is_last(analysis: &Analysis, row: &IntervalSample) -> bool {
    let same =
        |other: &&&IntervalSample| (other.listing, other.device) == (row.listing, row.device);
    let last = analysis.intervals.iter().rev().find(|other| same(&other));
    last.is_some_and(|last| std::ptr::eq(last, row))
}

/// A probe neither accuses nor clears the device: the queue was the probe's own, or the CPUs caused
/// the latencies. That is a finding too, with the measurement that would decide.
fn after_a_probe(analysis: &Analysis, probed: &ProbeListing) -> Finding {
    let disk = analysis.disk(probed.device);
    let mut finding = new_finding(DETECTOR.verdict, Some(probed.device), vec![probed.listing]);
    let n = probed.ios;
    let printed = analysis.printed(probed.listing, n);
    finding.evidence = vec![printed.count("I/Os measured", n as f64)];
    if let Some(share) = probed.without_cpu() {
        let line = printed.share("share of time ready but without a CPU", share);
        finding.evidence.push(Evidence { how: How::Reported, ..line });
    }
    let first = if probed.was_short_of_cpu() {
        finding.sentence =
            format!("the machine's CPUs were too busy for a verdict on {}", phrase::disk(&disk));
        "the same probe while the machine is idle".to_string()
    } else {
        finding.sentence = format!(
            "the waits on {} were caused by the probe's own I/Os: no cause is accused",
            phrase::disk(&disk)
        );
        "`iowhy probe calibrate`: the service time of one I/O at a time".to_string()
    };
    let live = format!(
        "`iowhy why --for 30s` while it is slow: {} under its real load",
        phrase::disk(&disk)
    );
    finding.assume(CERTAIN, "it is known what is missing");
    finding.refuted_by = lines(&["a probe of one I/O at a time finds it slow"]);
    finding.next_step = vec![first, live];
    finding
}

/// Whether single I/Os of the disk were watched beside it: then they decide.
fn is_traced(analysis: &Analysis, row: &IntervalSample) -> bool {
    analysis.traces.iter().any(|trace| {
        trace.disk == row.disk && analysis.host(trace.listing) == analysis.host(row.listing)
    })
}

/// Requests are in flight and none completes: averages then read 0.00 and look healthy.
fn nothing_completes(analysis: &Analysis, row: &IntervalSample) -> Finding {
    let outstanding = row.outstanding().unwrap_or(0.0);
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "{} had {} requests outstanding and completed none, so its latency is printed as 0.00: it \
         may be stuck, or a layer above is blocked",
        phrase::disk(&row.disk),
        phrase::digits(outstanding)
    );
    let what = "requests outstanding without a completion";
    finding.evidence = vec![analysis.printed(row.listing, 1).requests(what, outstanding)];
    finding.assume(CERTAIN, "it is known what is missing");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&["completions appear in the next interval"]);
    finding.next_step = vec![
        format!("`dmesg --ctime | grep -i {}`: timeouts, resets, hung tasks", row.disk),
        format!("{}: does anything complete?", phrase::capture(&row.disk, SECONDS)),
    ];
    finding
}

/// Listings of a host were read, but none contains an I/O of a block device.
fn nothing_to_judge(analysis: &Analysis, ranked: &RankedFindings, host: Host) -> Option<Finding> {
    let mut places = 0..analysis.recording.listings.len();
    let place = places.find(|place| analysis.host(*place) == host)?;
    let records = analysis.recording.records();
    let mut finding = new_finding(DETECTOR.verdict, None, vec![place]);
    let rows = analysis.recording.listings.iter().flat_map(|listing| &listing.intervals);
    let mut rows = rows.filter(|row| row.layer == Layer::Block).peekable();
    // Active disks have been judged or are open: the remaining rows are of idle disks.
    let useless = if rows.peek().is_some() && !analysis.intervals.is_empty() {
        Some("disks without completions while they were watched")
    } else if rows.any(|row| row.since_boot) {
        Some("only averages since boot, which do not describe the present")
    } else if analysis
        .recording
        .listings
        .iter()
        .any(|listing| listing.source.inferred.contains(&Inference::Subject))
    {
        Some("a histogram that may not be of disk latency: include its heading")
    } else if records == 0 && unaccused::unread(analysis, host).is_some() {
        Some("lines that look like block I/O, none of which could be parsed")
    } else {
        None
    };
    let known = useless.unwrap_or("no block I/O to judge, only evidence from other layers");
    finding.sentence = format!("the input contains {known}");
    finding.evidence =
        vec![analysis.computed(place, records).count("records of block I/O to judge", 0.0)];
    finding.assume(CERTAIN, "it is known what is missing");
    finding.refuted_by = lines(&["the capture below shows block I/O"]);
    finding.next_step = asked_of_a_log(analysis, host);
    finding
        .next_step
        .push(format!("{}: adds the latency of each I/O", phrase::capture("", SECONDS)));
    let spoken_of: Vec<String> = analysis.facts.disks().map(str::to_string).collect();
    let (pointer, seen) = observations::pointer(analysis, ranked, host, &spoken_of);
    finding.seen = seen;
    let alone = class_of_runs::reported(analysis, host);
    if let Some(alone) = alone.filter(|_| useless.is_none()) {
        finding.sentence = format!("no block I/O was timed; {alone}");
        finding.next_step.insert(0, Readings::step(""));
        return Some(finding);
    }
    // Unusable I/O comes first.
    if let Some(pointer) = pointer.filter(|_| useless.is_none()) {
        finding.sentence = pointer.sentence;
        finding.evidence = vec![pointer.evidence];
        finding.next_step.splice(0..0, pointer.step);
    }
    Some(finding)
}

/// The slowness on each possible medium of the disk, if that decides: from the row with most lost
/// time.
fn by_class(analysis: &Analysis, suspicion: &Finding) -> Option<String> {
    let device = suspicion.subject.device.filter(|_| class_decides(suspicion))?;
    let rows = analysis.intervals.iter().filter(|row| row.device == device);
    let row = rows.max_by(|a, b| a.lost().total_cmp(&b.lost()))?;
    let readings = medium_readings::of_row_from(analysis, row, SUSPECTED)?;
    let waiting = row.interval.queue_len.filter(|n| *n >= SEVERAL).map_or(String::new(), |n| {
        format!(", and the {} requests that wait make the latency", phrase::digits(n.round()))
    });
    Some(format!(
        "; if {} is {}, it is healthy{waiting}; if {}, {} times slower than its class (`--class` \
         states it)",
        phrase::disk(&row.disk),
        phrase::medium(readings.healthy),
        phrase::medium(readings.slow),
        phrase::digits(readings.times.round())
    ))
}

/// Whether the class of the disk decides between the answers.
fn class_decides(suspicion: &Finding) -> bool {
    matches!(suspicion.verdict, Verdict::DeviceSlow | Verdict::LoadSaturated)
}

/// How many times slower than its class a disk must be to be suspected (`device.slow`:
/// docs/METHOD.md, 10 Rules).
const SUSPECTED: f64 = 2.0;
/// Requests in flight from which on the waiting ones are reported (a choice).
const SEVERAL: f64 = 4.0;

/// What to check besides the events of a kernel's log: its other lines, and the drives it names.
fn asked_of_a_log(analysis: &Analysis, host: Host) -> Vec<String> {
    let has = |kinds: &[MessageKind]| {
        analysis.facts.log_events(host).any(|line| kinds.contains(&line.kind))
    };
    let mut steps = Vec::new();
    if has(&[MessageKind::HungTask]) {
        let stacks = "check the stacks below `blocked for more than` in the same log: in which \
                      functions do these tasks wait?";
        steps.push(stacks.to_string());
    }
    let failed = [
        MessageKind::Command,
        MessageKind::Controller,
        MessageKind::IoError,
        MessageKind::Link,
        MessageKind::Offline,
        MessageKind::Timeout,
    ];
    if has(&failed) {
        let mut named: Vec<&str> = analysis
            .facts
            .log_events(host)
            .filter_map(|line| line.disk.as_deref())
            .filter(|disk| disk_names::is_of_a_disk(disk))
            .collect();
        named.sort_unstable();
        named.dedup();
        let smart = match named[..] {
            [] => String::new(),
            [disk, ..] => format!("; `smartctl -x {}`", phrase::node(disk)),
        };
        steps.push(format!(
            "add all log lines of that minute (`journalctl -k`, `dmesg -T`), from before the first \
             error{smart}: they may decide the question"
        ));
    }
    steps
}

fn finding(analysis: &Analysis, ranked: &RankedFindings, host: Host, disks: &[String]) -> Finding {
    let of_host = |place: &usize| analysis.host(*place) == host;
    let suspicions = || {
        ranked
            .findings
            .iter()
            .filter(|known| known.verdict.family() != Family::Report)
            .filter(|known| known.subject.listings.iter().any(of_host))
            .filter(|known| {
                let mut devices = known.subject.device.iter().chain(&known.subject.devices);
                devices.any(|device| disks.contains(&analysis.disk(*device)))
            })
    };
    let suspicion = suspicions().max_by(|a, b| a.weight().total_cmp(&b.weight()));
    // The other reading, if there is one that is not a consequence of the first.
    let second = suspicions()
        .filter(|known| suspicion.is_some_and(|first| first.verdict != known.verdict))
        .filter(|known| known.explained_by.is_none() && known.confidence() >= NAMED_FROM)
        .max_by(|a, b| a.weight().total_cmp(&b.weight()));
    let needs =
        suspicion.and_then(|known| ranked.detector(known.verdict)).map(|detector| detector.needs);
    let (seconds, what) =
        needs.map_or((SECONDS, "the latency of each I/O"), |needs| (needs.seconds, needs.what));
    let listings: Vec<usize> = (0..analysis.recording.listings.len())
        .filter(of_host)
        .filter(|place| has_any(analysis, *place, disks))
        .collect();
    let first = match suspicion.and_then(|known| known.subject.device) {
        Some(device) => analysis.disk(device),
        None => disks.first().cloned().unwrap_or_default(),
    };
    let of_one = suspicion.is_some_and(|known| known.subject.device.is_some());
    let only = disks.len() == 1 || of_one;
    let device = if only { analysis.recording.find_device(&first) } else { None };
    let mut finding = new_finding(DETECTOR.verdict, device, listings.clone());
    let Amounts { seen, counted, records, lost, by_program } = amounts(analysis, host, disks);
    let plenty = analysis.level(&listings) >= Level::C && seen >= PLENTY;
    // What has no time shows no waiting per time.
    let excess = lost.filter(|lost| *lost > 0.0).map_or(String::new(), |lost| {
        format!(", with {} of excess wait per second", phrase::ms(lost * 1000.0))
    });
    let mut busy: Option<Observation> = None;
    finding.sentence = match suspicion {
        Some(known) => {
            let readings = [Some(known), second].into_iter().flatten();
            let readings = readings.filter_map(|known| reading(analysis, ranked, known, disks));
            format!(
                "not enough evidence about {}: perhaps {}",
                phrase::list(disks),
                readings.collect::<Vec<_>>().join("; or perhaps ")
            )
        }
        None if plenty => format!(
            "no known cause fits {}: {} individual I/Os were seen{excess}",
            named(disks),
            phrase::thousands(seen),
        ),
        None => match unaccused::unread(analysis, host) {
            Some((_, what)) => {
                format!(
                    "{} cannot be judged: part of the input was not read ({what})",
                    named(disks)
                )
            }
            None if by_program => format!(
                "the {} of {} were timed in the program: device time cannot be separated from time \
                 in a queue, a file system or the page cache",
                phrase::count(counted, "I/O(s)"),
                phrase::list(disks)
            ),
            None if counted >= PLENTY => format!(
                "no known cause fits the latency histogram of the {} of {}; individual I/Os would \
                 show more",
                phrase::count(counted, "I/O(s)"),
                named(disks)
            ),
            None => {
                let amount = match seen {
                    0.0 => phrase::count(records, "row(s) of averages or counted I/O(s)"),
                    seen => phrase::count(seen, "I/O(s)"),
                };
                busy = class_of_runs::of_waiting_cpus(analysis, host);
                let sentence = busy.as_ref().map(|busy| &busy.would_mean);
                let sentence = sentence.map(|words| format!("no request was timed; {words}"));
                sentence.unwrap_or_else(|| match clean_bills::few_and_no_wait(analysis, host) {
                    Some(once) => format!(
                        "{}; one report, which may be the average since boot, does not show \
                         whether that is so while it is slow",
                        once.sentence
                    ),
                    None => format!(
                        "too little data about {} to judge: {amount}{excess}; {} individual I/Os \
                         are enough",
                        named(disks),
                        phrase::thousands(PLENTY)
                    ),
                })
            }
        },
    };
    if let Some(both) = suspicion.and_then(|known| by_class(analysis, known)) {
        finding.sentence += &both;
    }
    let alone = by_program.then(|| class_of_runs::reported(analysis, host)).flatten();
    if let Some(alone) = &alone {
        finding.sentence += &format!("; {alone}");
    }
    if let Some(place) = listings.first() {
        let computed = analysis.computed(*place, 1);
        finding.evidence.push(computed.count("I/Os or rows of averages", records));
        finding.evidence.extend(lost.map(|lost| computed.seconds("excess wait per second", lost)));
        if let Some((lines, _)) = unaccused::unread(analysis, host) {
            finding.evidence.push(computed.count("lines not read", lines));
        }
    }
    let suspected = suspicion.map_or(0.0, |known| known.confidence());
    finding.assume(1.0 - suspected, "remaining probability besides the strongest suspect");
    // A device that loses no time need not be judged: it then explains nothing either.
    finding.explained_share = lost.unwrap_or(0.0).min(1.0);
    finding.refuted_by = lines(&["the capture below gives no clearer result"]);
    // A sufficiently detailed input lacks the medium, if it is not stated, or time.
    let rich = needs.map_or(plenty, |needs| analysis.level(&listings) >= needs.sure_from);
    let what = if rich { "a longer capture" } else { what };
    let meanwhile = if by_program { " while it runs" } else { "" };
    let busy_disk = busy.as_ref().and_then(|busy| busy.evidence.disk.clone());
    let first = busy_disk.clone().unwrap_or(first);
    let capture = format!("{}{meanwhile}: adds {what}", phrase::capture(&first, seconds));
    let id = analysis.recording.find_device(&first);
    let unstated = id.is_some_and(|id| analysis.medium(id).is_none());
    // Slow is slow for a class.
    let by_class = suspicion.is_some_and(class_decides);
    let made_of = ((rich || by_class) && unstated).then(|| MADE_OF.to_string());
    let of_class = alone.map(|_| Readings::step("")).or(made_of);
    let of_class = busy_disk.map(|disk| Readings::step(&disk)).or(of_class);
    finding.next_step = of_class.into_iter().chain([capture]).collect();
    finding.seen = observations::of(analysis, ranked, host, disks);
    if let Some(busy) = busy {
        // What the sentence says is not repeated below it.
        finding.seen.retain(|one| one.would_mean != busy.would_mean);
        finding.evidence.push(busy.evidence);
    }
    finding
}

/// A cause that is not certain enough, and what speaks for it.
fn reading(
    analysis: &Analysis,
    ranked: &RankedFindings,
    known: &Finding,
    disks: &[String],
) -> Option<String> {
    let cause = phrase::clause(ranked.detector(known.verdict)?.summary);
    let disk = known.subject.device.map(|device| analysis.disk(device));
    let disk = disk.filter(|_| disks.len() > 1).map_or(String::new(), |disk| format!(" of {disk}"));
    Some(match known.evidence.first() {
        Some(one) => format!("{cause} ({}{disk}: {})", one.quantity, one.amount.words()),
        None => cause,
    })
}

fn named(disks: &[String]) -> String {
    let names: Vec<String> = disks.iter().map(|disk| phrase::disk(disk).to_string()).collect();
    phrase::list(&names)
}

fn has_any(analysis: &Analysis, place: usize, disks: &[String]) -> bool {
    analysis.traces.iter().any(|trace| trace.listing == place && disks.contains(&trace.disk))
        || analysis.intervals.iter().any(|row| row.listing == place && disks.contains(&row.disk))
        || analysis
            .histograms
            .iter()
            .any(|sample| sample.listing == place && disks.contains(&sample.disk))
        || analysis
            .streams
            .iter()
            .any(|(at, stream)| *at == place && disks.contains(&analysis.disk(stream.device)))
}

struct Amounts {
    /// Number of single I/Os.
    seen: f64,
    /// What histograms count.
    counted: f64,
    /// These, and the rows of averages and what histograms count.
    records: f64,
    /// The maximum lost time per time watched of any disk, if measured over time.
    lost: Option<f64>,
    /// Whether everything is a program's report on its own I/Os.
    by_program: bool,
}

/// Facts about these disks.
fn amounts(analysis: &Analysis, host: Host, disks: &[String]) -> Amounts {
    let here =
        |listing: usize, disk: &String| analysis.host(listing) == host && disks.contains(disk);
    let traces = || analysis.traces.iter().filter(|trace| here(trace.listing, &trace.disk));
    let rows = || analysis.intervals.iter().filter(|row| here(row.listing, &row.disk));
    let histograms =
        || analysis.histograms.iter().filter(|sample| here(sample.listing, &sample.disk));
    let seen: usize = traces().map(|trace| trace.spans.len()).sum();
    let counted = requests::counted(histograms().map(|sample| (sample.listing, &*sample.known)));
    let above = |sample: &HistogramSample| sample.known.layer == Layer::Application;
    let lost = traces()
        .map(|trace| trace.lost_ns() / analysis.watched_ns(trace.listing, trace.span_ns()))
        .chain(rows().map(IntervalSample::lost));
    Amounts {
        seen: seen as f64,
        counted: counted as f64,
        records: (seen + rows().count()) as f64 + counted as f64,
        lost: lost.reduce(f64::max),
        by_program: counted > 0 && seen + rows().count() == 0 && histograms().all(above),
    }
}
