//! Programs are paused because they dirty pages faster than the device writes them back.
//!
//! ## Accuses
//! The load: whoever writes through the page cache without limit. The kernel pauses exactly these
//! programs (dirty throttling, `balance_dirty_pages`), and each waits for its own writes. Others
//! that write a little to the same device are paused as well.
//!
//! ## Why it matters
//! The program is stuck in `write`, its I/O is asynchronous, and the process in the I/O's records
//! is a kernel thread (`kworker`, `flush`). Neither shows who wrote too much.
//!
//! ## Needs
//! A live watch with eBPF (`iowhy why`, `iowhy record`): the pauses that the kernel sets, by
//! process and device. A pause lasts longer than that, by a jiffy (1 to 10 ms) and the wait for a
//! CPU; `iowhy waits` measures it.
//!
//! ## Rule
//! One program was paused for more than a tenth of the time watched, at a device. A fault of that
//! device, a limit on it or an array's rebuild explains the pauses, if one of them is found:
//! a slow write-back fills memory as well as a fast writer. That the device is slow, or delays in
//! steps, is only suspected if it completes a request in 2.5 healthy service times or less: then it
//! is full, and its cache passes on the steps of its medium.
//!
//! ## Wrong if
//! The device is slow at single writes, too.
//!
//! ## Next step
//! Limit or spread what the program writes, or have it write with O_DIRECT.

use iowhy_model::Order as _;
use iowhy_model::{DeviceId, FactKey, Finding, Level, Unit, Verdict, key};

use crate::analysis::Analysis;
use crate::detector::{Detector, Needs, Rule};
use crate::evidence::builder::{lines, new_finding};
use crate::facts::reading::FactReading;
use crate::phrase;

/// Entry in the list of detectors.
pub(super) const DETECTOR: Detector = Detector {
    verdict: Verdict::LoadWriteback,
    summary: "Programs are paused: they dirty pages faster than the device writes them back",
    manual: iowhy_model::manual!("load_writeback.rs"),
    needs: Needs {
        level: Level::E,
        sure_from: Level::E,
        seconds: 10,
        what: "pauses by dirty throttling, watched live with eBPF",
    },
    explains: &[
        Verdict::LayerAbove,
        Verdict::LoadBurst,
        Verdict::LoadLargeIo,
        Verdict::LoadSaturated,
    ],
    rule: Rule::Detect(detect),
};

/// Share of the time in which one program is paused (a choice, as for memory pressure in
/// `layer.memory`).
const PAUSED: f64 = 0.1;
/// Weight of pauses that the kernel itself set and counted (a choice: that they happened is
/// certain; that nothing else made the write-back slow is not).
const THROTTLED: f64 = 0.9;
/// Programs named in a sentence.
const NAMED: usize = 3;

/// The pauses of a program at a device.
struct Paused<'a> {
    member: &'a str,
    device: Option<DeviceId>,
    who: &'a str,
    seconds: f64,
    reading: FactReading<'a>,
}

fn detect(analysis: &Analysis) -> Vec<Finding> {
    let places = 0..analysis.recording.listings.len();
    places.flat_map(|place| of_listing(analysis, place)).collect()
}

/// One finding for each device.
fn of_listing(analysis: &Analysis, place: usize) -> Vec<Finding> {
    let listing = analysis.listing(place);
    let Some(watched) = listing.source.watched.map(|length| length.seconds()) else {
        return Vec::new();
    };
    let all = listing.facts.iter().filter_map(|fact| {
        let member = fact.key.member_of(key::WRITEBACK_PAUSED)?;
        let (seconds, who) = fact.value.of_process()?;
        let reading = FactReading { fact, listing: place };
        Some(Paused { member, device: fact.device, who, seconds, reading })
    });
    let mut by_device: Vec<Vec<Paused>> = Vec::new();
    for one in all {
        match by_device.iter_mut().find(|known| known[0].device == one.device) {
            Some(known) => known.push(one),
            None => by_device.push(vec![one]),
        }
    }
    let mut found = Vec::new();
    for mut paused in by_device {
        paused.order_by(|a, b| b.seconds.total_cmp(&a.seconds));
        if paused[0].seconds > PAUSED * watched {
            found.push(finding(analysis, &paused, place, watched));
        }
    }
    found
}

fn finding(analysis: &Analysis, paused: &[Paused], place: usize, watched: f64) -> Finding {
    let (recording, listing) = (analysis.recording, analysis.listing(place));
    let first = &paused[0];
    let beside = |key: FactKey| {
        let fact = listing.facts.iter().find(|fact| fact.key == key)?;
        Some((fact.value.number()?, FactReading { fact, listing: place }))
    };
    let dirtied = beside(key::WRITEBACK_DIRTIED.member(first.member));
    let mut finding = new_finding(DETECTOR.verdict, first.device, vec![place]);
    let name = first.device.map(|id| recording.device_of(id).name.as_str());
    let to = name.unwrap_or("a file system without a disk");
    let others = match paused.len() - 1 {
        0 => String::new(),
        more => {
            let named: Vec<String> =
                paused[1..].iter().take(NAMED - 1).map(|one| one.who.to_string()).collect();
            let rest = more - named.len();
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            format!("; {}{rest} waited for the same", named.join(", "))
        }
    };
    let how_much = dirtied.as_ref().map_or(String::new(), |(bytes, _)| {
        format!("{} in {} s", phrase::bytes(*bytes), phrase::digits(watched))
    });
    finding.sentence = format!(
        "{} writes to {to} through the page cache faster than it is written back ({how_much}), and \
         the kernel paused it for at least {} s of that time (dirty throttling){others}",
        first.who,
        phrase::digits(first.seconds),
    );
    let number = |(value, reading): &(f64, FactReading), what: &str, unit: Unit| {
        analysis.stated(reading).of(what, *value, unit)
    };
    let pause = (first.seconds, FactReading { fact: first.reading.fact, listing: place });
    let what = format!("pauses set for {}", first.who);
    finding.evidence = vec![number(&pause, &what, Unit::Seconds).above(PAUSED * watched)];
    if paused.len() > 1 {
        let all: f64 = paused.iter().map(|one| one.seconds).sum();
        let what = format!("the same, of all {} programs together", paused.len());
        finding.evidence.push(number(&(all, pause.1), &what, Unit::Seconds));
    }
    let longest = beside(key::WRITEBACK_LONGEST.member(first.member));
    if let Some((seconds, reading)) = longest {
        finding.evidence.push(number(&(seconds * 1e3, reading), "its longest pause", Unit::Ms));
    }
    if let Some(dirtied) = dirtied {
        finding.evidence.push(number(&dirtied, "data that it dirtied", Unit::Bytes));
    }
    let memory = (beside(key::WRITEBACK_DIRTY), beside(key::WRITEBACK_LIMIT));
    if let (Some(dirty), Some(limit)) = memory {
        let what = "dirty pages and pages under write-back, of all devices";
        finding.evidence.push(number(&dirty, what, Unit::Bytes).below(limit.0));
        finding.evidence.push(number(&limit, "limit of the machine for them", Unit::Bytes));
    }
    finding.assume(THROTTLED, "the kernel paused a program for its dirty pages");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "the device is as slow at single writes when nothing else writes: `iowhy probe`",
        "`grep -E 'nr_(dirty|writeback)' /proc/vmstat`: far below `nr_dirty_threshold`, and \
         neither the control group nor the device (`/sys/class/bdi/*/max_ratio`) has a limit of \
         its own",
    ]);
    let disk = name.map_or(String::new(), |name| format!(" -d {name}"));
    finding.next_step = lines(&[
        &format!("`iowhy hist{disk} --op write`: what the device itself takes per write meanwhile"),
        &format!(
            "limit what {} writes (its own rate limit, `io.max` of its control group), or have it \
             write with O_DIRECT or sync often, so that others do not wait for its pages",
            first.who
        ),
        "a burst that memory can hold is not paused with a larger `vm.dirty_bytes`; a steady load \
         is, only later",
    ]);
    finding
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Fact, Nanos, Recording, Sink, Source, typed};

    use super::*;
    use crate::Options;

    fn judged(pauses: &[(&str, &str, f64)], watched: Option<f64>) -> Vec<Finding> {
        let mut recording = Recording::new();
        let mut source = Source::new("dirty-pauses", "live", Level::E);
        source.watched = watched.map(|seconds| Nanos::from_ms(seconds * 1e3));
        recording.begin(source);
        for (disk, who, seconds) in pauses {
            let device = Some(recording.device(disk));
            let value = Nanos::from_ms(seconds * 1e3);
            let paused = typed::OfProcess { value, who: who.to_string() };
            let (of, from) = (format!("{disk}.{who}"), "balance_dirty_pages");
            recording.fact(Fact::of(device, typed::WRITEBACK_PAUSED.member(&of), paused, from));
            let longest = Nanos::from_ms(196.0);
            recording.fact(Fact::of(device, typed::WRITEBACK_LONGEST.member(&of), longest, from));
            let bytes = typed::Bytes(3 << 30);
            recording.fact(Fact::of(device, typed::WRITEBACK_DIRTIED.member(&of), bytes, from));
        }
        let (dirty, limit) = (typed::Bytes(900 << 20), typed::Bytes(1 << 30));
        recording.fact(Fact::of(None, typed::WRITEBACK_DIRTY, dirty, "/proc/vmstat"));
        recording.fact(Fact::of(None, typed::WRITEBACK_LIMIT, limit, "/proc/vmstat"));
        recording.end();
        detect(&Analysis::of(&recording, &Options::default()))
    }

    #[test]
    fn the_program_that_is_paused_is_named_with_those_that_wait_beside_it() {
        let pauses = [("sdb", "tail (7)", 0.8), ("sdb", "dd (42)", 8.5), ("sdc", "cp (9)", 0.4)];
        let found = judged(&pauses, Some(10.0));
        let [one] = &found[..] else { panic!("{} findings", found.len()) };
        for words in [
            "dd (42) writes to sdb",
            "3 GiB in 10 s",
            "at least 8.5 s of that time",
            "; tail (7) waited",
        ] {
            assert!(one.sentence.contains(words), "{words}: {}", one.sentence);
        }
        let numbers: Vec<f64> = one.evidence.iter().map(|known| known.amount.value).collect();
        let (mib, gib) = (1048576.0, 1073741824.0);
        assert_eq!(numbers, [8.5, 9.3, 196.0, 3.0 * gib, 900.0 * mib, gib]);
        assert!((one.confidence() - THROTTLED).abs() < 1e-9);
    }

    #[test]
    fn short_pauses_and_those_of_an_unknown_time_are_no_cause() {
        assert!(judged(&[("sdb", "dd (42)", 0.9)], Some(10.0)).is_empty());
        assert!(judged(&[("sdb", "dd (42)", 8.0)], None).is_empty());
        assert_eq!(judged(&[("sdb", "dd (42)", 5.0), ("sdc", "cp (9)", 2.0)], Some(10.0)).len(), 2);
    }
}
