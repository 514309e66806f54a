//! Discards (TRIM) slow down all other I/O.
//!
//! ## Accuses
//! The load: blocks are released while other I/O waits. Either a file system mounted with `discard`
//! does it at every deletion, or `fstrim` does it all at once.
//!
//! ## Why it matters
//! Many drives are slow at discards and serve nothing else meanwhile. Reads that took a tenth of a
//! millisecond then take ten, on a healthy drive.
//!
//! ## Needs
//! A trace that distinguishes discards makes it certain. From averages with discard columns (Linux
//! 4.18 and later) it is suspected.
//!
//! ## Rule
//! The time watched is split into windows. In windows with discards, the median latency of the
//! other requests of one operation is more than twice that of windows without, with at least five
//! windows of each and a probability by chance below 1 % (Mann-Whitney), also at equal queue depth.
//! If there are no five windows without discards, individual requests are compared instead. With
//! averages: discards take more than 20 % of the busy time, and the latency of other I/O rises with
//! them. Or the kernel's log shows that discards timed out but no reads, writes or flushes of the
//! disk did, or it contains the stack of a task that waits in a discard.
//!
//! ## Wrong if
//! The deletions cause writes of their own, and other I/O waits for these.
//!
//! ## Next step
//! Trim once a week instead of at every deletion, and in smaller parts.

use iowhy_model::{Blame, Bound, Clause, Finding, Forecast, Level, MessageKind, Op, Verdict, key};

use crate::analysis::Analysis;
use crate::analysis::requests::{self, Requests};
use crate::analysis::samples::IntervalSample;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{EvidenceBuilder, lines, new_finding};
use crate::evidence::candidates;
use crate::evidence::cases::Case;
use crate::evidence::confidence::{self, PRIOR_OF_LOAD};
use crate::evidence::forecast::from_means;
use crate::evidence::signals;
use crate::facts::kernel_log::LogLine;
use crate::measures::exposure::{self, Exposure, Sample};
use crate::measures::spans::{self, Spans};
use crate::measures::spread;
use crate::measures::windows::Windows;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadDiscard,
    summary: "Discards (TRIM) slow down all other I/O",
    manual: iowhy_model::manual!("load_discard.rs"),
    needs: Needs {
        level: Level::A,
        sure_from: Level::D,
        seconds: 60,
        what: "the times of discards and the latency of other I/O meanwhile",
    },
    explains: &[
        Verdict::DevicePeriodicDelay,
        Verdict::DeviceHang,
        Verdict::DeviceSlow,
        Verdict::DeviceStall,
        Verdict::LoadLargeIo,
        Verdict::LoadSaturated,
    ],
    rule: Rule::Detect(detect),
};

/// Bounds of the rule (docs/METHOD.md, 10 Rules).
const MIN_RATIO: f64 = 2.0;
const CHANCE: f64 = 0.01;
const EACH: usize = 5;
const BUSY_SHARE: f64 = 0.2;
/// Minimum factor at equal depth: half of its excess over one.
const MATCHED: f64 = 1.5;
/// Windows of a trace, at least 10 ms each (a discard takes that long), at most 1 s.
const WINDOWS: i64 = 100;
const SHORTEST_NS: i64 = 10_000_000;
const LONGEST_NS: i64 = 1_000_000_000;
/// Weight of timeouts of discards only, nats: 0.73 with the prior. The drive is the other reading
/// (`device.stall`, at 0.55 at most).
const GIVEN_UP: f64 = 0.8;
/// Weight of a task in a discard for minutes, or one that blocked a suspend: 0.77 with the prior.
const IN_STACK: f64 = 1.0;
/// The function of the kernel that waits for a discard (block/blk-lib.c).
const DISCARDS: &str = "blkdev_issue_discard";

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let traced = analysis.requests.iter().filter_map(|requests| from_events(analysis, requests));
    let rows = analysis.rows_by_listing().into_iter().filter_map(|rows| from_rows(analysis, &rows));
    traced.chain(rows).chain(from_log(analysis)).chain(from_stacks(analysis)).collect()
}

/// Tasks with a discard in their stacks, from the kernel's log: they wait for a slow discard, and
/// tasks that need their locks wait for them.
fn from_stacks(analysis: &Analysis) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    let found = places.filter_map(|place| {
        let about = analysis.about(place, "");
        let (tasks, reading) = about.machine_number(key::TASKS_WAIT_IN.of(DISCARDS))?;
        if reading.listing != place {
            return None;
        }
        let mut finding = new_finding(DETECTOR.verdict, None, vec![place]);
        let what = "tasks with a discard in their stack, in the kernel's log";
        let evidence = analysis.stated(&reading).count(what, tasks);
        finding.evidence = vec![evidence.above(0.0)];
        let named = phrase::count(tasks, "task(s)");
        let wait = if tasks > 1.0 { "wait" } else { "waits" };
        finding.sentence = format!(
            "{named} {wait} for a discard (TRIM) to complete (`{DISCARDS}` in the stack): a whole \
             file system is being trimmed, or the drive is slow at it, and everything that needs \
             the same locks waits meanwhile"
        );
        let clause = Clause::fixed(what, IN_STACK);
        confidence::believe(&mut finding, PRIOR_OF_LOAD, [clause]);
        (finding.explained_share, finding.share_is_assumed) = (1.0, true);
        finding.refuted_by = lines(&[
            "`iostat -x 1` shows no discards (d/s) while the tasks wait: then the device hangs, or \
             a lock is held",
            "reads or writes also time out: then the drive or its path hangs",
        ]);
        finding.next_step = lines(&[
            "trim at a quiet hour (`fstrim.timer`), in parts (`fstrim --offset --length`), and \
             mount without `discard`",
            "`cat /sys/block/*/queue/discard_max_bytes`: a smaller limit (`echo 67108864 > ...`) \
             lets other requests through in between",
            "use a newer kernel: there a trim can be interrupted by signals and the freezer",
        ]);
        Some(finding)
    });
    found.collect()
}

/// Disks and ports on which the kernel gave discards up, and nothing else.
fn from_log(analysis: &Analysis) -> Vec<Finding> {
    let candidates = candidates::candidates(analysis);
    let all = Case::of_disks(&candidates).chain(Case::of_ports(analysis));
    let found = all.filter_map(|case| {
        let gave_up = [MessageKind::Timeout, MessageKind::Command, MessageKind::Controller];
        let given_up = case.logged(&gave_up);
        if given_up.is_empty() || !given_up.iter().all(|line| signals::is_discard(line)) {
            return None;
        }
        let (mut builder, disk) = (EvidenceBuilder::of(analysis), phrase::disk(case.name));
        // A timeout has a line of its own beside the command's.
        let refused = given_up.iter().all(|line| line.kind == MessageKind::Command);
        let what = match refused {
            true => "discards that failed, in the kernel's log",
            false => "discards that timed out, in the kernel's log",
        };
        builder.log_lines(what, &given_up, Some(Bound::Above(0.0)));
        builder.clauses = vec![Clause::fixed(what, GIVEN_UP)];
        let mut finding = builder.finding(DETECTOR.verdict, Some(case.device));
        builder.believe(&mut finding, PRIOR_OF_LOAD);
        let n = phrase::count(LogLine::messages(&given_up) as f64, "discard(s)");
        finding.sentence = match refused {
            true => format!(
                "{disk} fails discards (TRIM): {n} failed, but no read, write or flush did; \
                 other I/O waits while the kernel handles each error"
            ),
            false => format!(
                "{disk} needs longer for discards (TRIM) than the command timeout: {n} timed out, \
                 but no read, write or flush did; all other I/O waits meanwhile"
            ),
        };
        // Discards are sent because the drive advertises them.
        finding.blame = refused.then_some(Blame::Configuration);
        finding.refuted_by = lines(&[
            "reads or writes also time out: then the drive or its path hangs",
            "a smaller discard takes just as long: then it is the drive's firmware",
        ]);
        let steps = [
            "`echo 67108864 > /sys/block/{disk}/queue/discard_max_bytes` splits them into 64 MB \
             parts; `fstrim --offset --length` trims a file system in parts",
            "trim once a week at a quiet hour (`fstrim.timer`), and mount without `discard`",
            "check the firmware of the drive; measure another drive of the same model",
        ];
        finding.next_step = phrase::about(&steps[usize::from(refused)..], disk);
        Some(finding)
    });
    found.collect()
}

/// The effect of discards on requests of one operation.
struct Effect {
    op: Op,
    windows: Option<Exposure>,
    single: Exposure,
}

impl Effect {
    /// The comparison that decides: of windows where enough are free, else of single requests.
    fn decisive(&self) -> &Exposure {
        let enough = |effect: &&Exposure| effect.exposed >= EACH && effect.spared >= EACH;
        self.windows.as_ref().filter(enough).unwrap_or(&self.single)
    }

    fn holds(&self) -> bool {
        let effect = self.decisive();
        effect.exposed >= EACH
            && effect.spared >= EACH
            && effect.ratio > MIN_RATIO
            && effect.p < CHANCE
            && self.single.ratio > MATCHED
            && self.single.matched.is_none_or(|ratio| ratio > MATCHED)
    }
}

fn from_events(analysis: &Analysis, requests: &Requests) -> Option<Finding> {
    let discards: Vec<(i64, i64)> =
        requests.of(Op::Discard).filter_map(requests::stretch).collect();
    if discards.len() < EACH {
        return None;
    }
    let under_way = Spans::of(discards.iter().copied());
    let effects = [Op::Read, Op::Write].into_iter();
    let effect = effects
        .filter_map(|op| effect(requests, op, &under_way))
        .filter(Effect::holds)
        .max_by(|a, b| a.single.excess_ns.total_cmp(&b.single.excess_ns))?;
    let lost = effect.single.excess_ns / requests.span_ns();
    if lost < confidence::NOTICEABLE {
        return None;
    }
    let decisive = effect.decisive();
    let (disk, others) = (phrase::disk(&requests.disk), phrase::plural(effect.op));
    let mut finding = new_finding(DETECTOR.verdict, Some(requests.device), vec![requests.listing]);
    finding.sentence = format!(
        "discards slow down the {others} of {disk}: {} while a discard is in flight, {} otherwise",
        phrase::ns(effect.single.exposed_ns),
        phrase::ns(effect.single.spared_ns)
    );
    let all = Spans::of(requests.events.iter().filter_map(|event| requests::stretch(event)));
    let share = under_way.total_ns() / all.total_ns().max(1.0);
    let (met, free) = (effect.single.exposed as u64, effect.single.spared as u64);
    let n = discards.len() as u64;
    let place = if effect.windows.as_ref().is_some_and(|windows| windows == decisive) {
        "windows of time"
    } else {
        "requests"
    };
    let computed = analysis.computed(requests.listing, met);
    finding.evidence = vec![
        computed.over(n).count("discards", n as f64),
        computed
            .over(n)
            .share("share of busy time with a discard in flight", share)
            .above(BUSY_SHARE),
        computed.ms(
            &format!("median latency of {others} during a discard"),
            effect.single.exposed_ns / 1e6,
        ),
        computed.over(free).ms(
            &format!("median latency of {others} without a discard"),
            effect.single.spared_ns / 1e6,
        ),
        computed
            .over((decisive.exposed + decisive.spared) as u64)
            .ratio(&format!("latency ratio with/without discards, by {place}"), decisive.ratio)
            .above(MIN_RATIO)
            .weighs(),
        computed.seconds("time lost, per second", lost).above(confidence::NOTICEABLE).weighs(),
    ];
    if let Some(matched) = effect.single.matched {
        finding
            .evidence
            .push(computed.ratio("the same ratio at equal queue depth", matched).above(MATCHED));
    }
    let clauses = [confidence::above(
        "the same ratio, matched",
        effect.single.matched.unwrap_or(MATCHED),
        MATCHED,
    )];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, clauses);
    let excess_ns = effect.single.excess_ns;
    finding.explained_share = analysis.share_of_lost(requests.listing, requests.device, excess_ns);
    finding.forecast = forecast(requests, &effect);
    advise(&mut finding, &requests.disk);
    Some(finding)
}

fn effect(requests: &Requests, op: Op, under_way: &Spans) -> Option<Effect> {
    let stretches: Vec<(i64, i64)> = requests.of(op).filter_map(requests::stretch).collect();
    let others: Vec<(i64, i64)> = requests
        .events
        .iter()
        .filter(|event| event.op != Op::Discard)
        .filter_map(|event| requests::stretch(event))
        .collect();
    let depths = spans::open_at_start(&stretches, &others);
    let samples: Vec<Sample> = stretches
        .iter()
        .zip(depths)
        .map(|(stretch, depth)| Sample {
            ns: requests::length_ns(*stretch),
            exposed: under_way.meets(stretch.0, stretch.1),
            stratum: exposure::depth_stratum(depth),
        })
        .collect();
    let single = exposure::exposure(&samples)?;
    let start = stretches.iter().map(|stretch| stretch.0).min()?;
    let length =
        ((requests.end_ns().saturating_sub(start)) / WINDOWS).clamp(SHORTEST_NS, LONGEST_NS);
    let windows = Windows::of(start, requests.end_ns(), length).and_then(|windows| {
        let mut inside: Vec<Vec<f64>> = vec![Vec::new(); windows.count];
        for stretch in &stretches {
            if let Some(window) = windows.index(stretch.0).and_then(|at| inside.get_mut(at)) {
                window.push(requests::length_ns(*stretch));
            }
        }
        let samples: Vec<Sample> = inside
            .iter()
            .enumerate()
            .filter_map(|(place, latencies)| {
                let from = windows.start_ns + place as i64 * length;
                let exposed = under_way.meets(from, from + length);
                Some(Sample { ns: spread::median(latencies)?, exposed, stratum: 0 })
            })
            .collect();
        exposure::exposure(&samples)
    });
    Some(Effect { op, windows, single })
}

/// The same requests, with those beside a discard taking the median of the others.
fn forecast(requests: &Requests, effect: &Effect) -> Option<Forecast> {
    let all: Vec<f64> =
        requests.of(effect.op).filter_map(requests::stretch).map(requests::length_ns).collect();
    let now = spread::mean(&all)?;
    let gained = effect.single.excess_ns / all.len().max(1) as f64;
    let assuming = format!(
        "without discards, all {} take as long as those outside a discard",
        phrase::plural(effect.op)
    );
    from_means(now, (now - gained).max(0.0), assuming)
}

fn from_rows(analysis: &Analysis, rows: &[&IntervalSample]) -> Option<Finding> {
    let time = |row: &IntervalSample| {
        row.interval
            .of(Op::Discard)
            .and_then(|rates| Some(rates.ios_per_s * rates.await_ns? / 1e9))
            .unwrap_or(0.0)
    };
    let share = |row: &IntervalSample| {
        time(row) / row.interval.busy.unwrap_or(1.0).max(time(row)).max(1e-9)
    };
    let wait = |row: &IntervalSample, op: Op| {
        let rates = row.interval.of(op).filter(|rates| rates.ios_per_s > 0.0)?;
        rates.await_ns
    };
    let usable: Vec<&&IntervalSample> = rows.iter().filter(|row| row.agrees).collect();
    let of = |op: Op| -> Option<(Op, Exposure)> {
        let samples: Vec<Sample> = usable
            .iter()
            .filter_map(|row| {
                let exposed = share(row) > BUSY_SHARE;
                // A few discards beside much else are neither one nor the other.
                let clear = exposed || time(row) < 0.1 * BUSY_SHARE;
                Some(Sample { ns: wait(row, op)?, exposed, stratum: 0 }).filter(|_| clear)
            })
            .collect();
        Some((op, exposure::exposure(&samples)?))
    };
    let (op, effect) = [Op::Read, Op::Write]
        .into_iter()
        .filter_map(of)
        .filter(|(_, effect)| {
            effect.exposed >= EACH
                && effect.spared >= EACH
                && effect.ratio > MIN_RATIO
                && effect.p < CHANCE
        })
        .max_by(|a, b| a.1.excess_ns.total_cmp(&b.1.excess_ns))?;
    let row = usable.iter().max_by(|a, b| time(a).total_cmp(&time(b)))?;
    let others = phrase::plural(op);
    let mut finding = new_finding(DETECTOR.verdict, Some(row.device), vec![row.listing]);
    finding.sentence = format!(
        "discards slow down the {others} of {}: {} on average in intervals with discards, {} in \
         those without",
        phrase::disk(&row.disk),
        phrase::ns(effect.exposed_ns),
        phrase::ns(effect.spared_ns)
    );
    let (met, free) = (effect.exposed as u64, effect.spared as u64);
    let printed = analysis.printed(row.listing, met);
    let computed = analysis.computed(row.listing, 1);
    finding.evidence = vec![
        computed
            .share("share of busy time in discards, at most", share(row))
            .above(BUSY_SHARE)
            .weighs(),
        printed.ms(&format!("await of {others} with them, median"), effect.exposed_ns / 1e6),
        printed
            .over(free)
            .ms(&format!("await of {others} without, median"), effect.spared_ns / 1e6),
        computed
            .over(met + free)
            .ratio("latency ratio with/without discards", effect.ratio)
            .above(MIN_RATIO)
            .weighs(),
    ];
    confidence::believe(&mut finding, PRIOR_OF_LOAD, []);
    finding.explained_share = 1.0 - effect.spared_ns / effect.exposed_ns;
    advise(&mut finding, &row.disk);
    Some(finding)
}

fn advise(finding: &mut Finding, disk: &str) {
    finding.refuted_by = lines(&[
        "other I/O is just as slow while files are deleted on a mount without `discard`",
        "at equal queue depth the difference disappears",
    ]);
    finding.next_step = lines(&[
        "`findmnt -o TARGET,OPTIONS | grep -w discard`: mount without it, and trim once a week \
         with `systemctl enable fstrim.timer`",
        &format!(
            "`echo 67108864 > /sys/block/{disk}/queue/discard_max_bytes` splits them into 64 MB \
             parts"
        ),
        &format!(
            "find the process that trims: `iowhy snoop --op discard --for 60s --device \
             {disk}`"
        ),
    ]);
}
