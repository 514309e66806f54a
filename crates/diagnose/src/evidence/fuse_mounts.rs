//! FUSE mounts whose server does not answer: programs wait in one call all the time.

use std::path::Path;

use iowhy_model::{Fact, FactKey, Finding, Verdict, key};

use crate::analysis::Analysis;
use crate::evidence::builder::{lines, new_finding};
use crate::facts::reading::FactReading;
use crate::phrase;

/// A call that does not return for this long, s, is not waiting for one slow request (a choice, as
/// for a file server: a disk answers within it unless it is faulty itself).
const HANGS_S: f64 = 5.0;
/// Weight of such calls: a few files are made to be waited for.
const HANGING: f64 = 0.88;

/// One finding a mount.
pub(crate) fn findings(analysis: &Analysis, verdict: Verdict) -> Vec<Finding> {
    let listings = analysis.listings();
    let mut longest: Vec<(&str, f64, &str, FactReading)> = Vec::new();
    for (listing, fact) in listings.flat_map(|(at, known)| known.facts.iter().map(move |f| (at, f)))
    {
        let Some(mount) = fact.key.member_of(key::FUSE_LONGEST) else { continue };
        let Some((waited, who)) = fact.value.of_process() else { continue };
        let reading = FactReading { fact, listing };
        match longest.iter_mut().find(|(known, ..)| *known == mount) {
            Some(known) if known.1 < waited => *known = (mount, waited, who, reading),
            Some(_) => {}
            None => longest.push((mount, waited, who, reading)),
        }
    }
    longest.retain(|(_, waited, ..)| *waited >= HANGS_S);
    longest.iter().map(|found| finding(analysis, found, verdict)).collect()
}

fn finding(
    analysis: &Analysis,
    (mount, waited, who, reading): &(&str, f64, &str, FactReading),
    verdict: Verdict,
) -> Finding {
    let listing = &analysis.recording.listings[reading.listing];
    let beside = |key: FactKey| {
        let fact: &Fact = listing.facts.iter().find(|fact| fact.key == key)?;
        Some((fact.value.number()?, FactReading { fact, listing: reading.listing }))
    };
    let requests = beside(key::FUSE_WAITING.member(*mount));
    let tasks = beside(key::FUSE_TASKS.member(*mount));
    let mut finding = new_finding(verdict, None, vec![reading.listing]);
    let number = requests.as_ref().or(tasks.as_ref()).map_or(1.0, |(number, _)| *number);
    finding.sentence = format!(
        "the FUSE server of {mount} does not answer: {} without a reply, and {who} has waited in \
         one call for {} s or more; programs that use the mount wait until its server answers",
        phrase::count(number, "request(s)"),
        phrase::digits(*waited)
    );
    let what = "longest wait of a program in one call on the mount";
    let wait = analysis.stated(reading).seconds(what, *waited).above(HANGS_S);
    finding.evidence = vec![wait];
    let beside = [(&requests, "requests without a reply"), (&tasks, "tasks that wait like this")];
    for (known, what) in beside {
        if let Some((number, reading)) = known {
            let evidence = analysis.stated(reading).count(what, *number);
            finding.evidence.push(evidence.above(0.0));
        }
    }
    finding.assume(HANGING, "programs waited in one call on the mount all the time");
    finding.explained_share = 1.0;
    finding.refuted_by = lines(&[
        "waiting for this file is normal: a queue, an event, a pipe",
        "the slow I/O goes to other storage: `findmnt`, `lsblk -s`",
    ]);
    let known = requests.as_ref().map(|(_, reading)| reading.fact.read_from.as_str());
    let abort = known.map(Path::new).filter(|file| file.file_name() == Some("waiting".as_ref()));
    finding.next_step = vec![
        format!(
            "`grep {mount} /proc/self/mounts`: which program serves it? Is it stopped (`ps -o \
             pid,stat,wchan`), or does it wait itself, for its network, its server or a disk?"
        ),
        format!(
            "`iowhy syscalls --by mount`: which calls on {mount} hang, and whose; `iowhy waits`: \
             what its server waits for"
        ),
    ];
    if let Some(file) = abort {
        let abort = file.with_file_name("abort");
        finding.next_step.push(format!(
            "if its server cannot be recovered: `echo 1 > {}` gives every caller an \
             error (unwritten data is lost), then `umount -l`",
            abort.display()
        ));
    }
    finding
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Nanos, Recording, Sink, Source, typed};

    use super::*;
    use crate::Options;

    fn judged(waits: &[(&'static str, f64, u64)]) -> Vec<Finding> {
        let mut recording = Recording::new();
        recording.begin(Source::new("fuse-waits", "live", iowhy_model::Level::E));
        for (mount, seconds, requests) in waits {
            let value = Nanos::from_ms(seconds * 1e3);
            let longest = typed::OfProcess { value, who: "cat (42)".to_string() };
            let (read, waiting) = ("/proc", "/sys/fs/fuse/connections/52/waiting");
            recording.fact(Fact::of(None, typed::FUSE_LONGEST.of(mount), longest, read));
            recording.fact(Fact::of(None, typed::FUSE_TASKS.of(mount), 1u64, read));
            recording.fact(Fact::of(None, typed::FUSE_WAITING.of(mount), *requests, waiting));
        }
        recording.end();
        findings(&Analysis::of(&recording, &Options::default()), Verdict::LayerRemote)
    }

    #[test]
    fn each_mount_that_hangs_is_one_finding_and_a_short_wait_none() {
        let found = judged(&[("/mnt/a", 9.5, 2), ("/mnt/b", 3.0, 1), ("/mnt/a", 8.0, 2)]);
        let [one] = &found[..] else { panic!("{} findings", found.len()) };
        let numbers: Vec<f64> = one.evidence.iter().map(|known| known.amount.value).collect();
        assert_eq!(numbers, [9.5, 2.0, 1.0]);
        assert!(one.sentence.contains("/mnt/a") && one.sentence.contains("cat (42)"), "{one:?}");
        assert!(one.next_step[2].contains("/sys/fs/fuse/connections/52/abort"), "{one:?}");
        assert!((one.confidence() - HANGING).abs() < 1e-9);
        assert!(judged(&[]).is_empty());
    }
}
