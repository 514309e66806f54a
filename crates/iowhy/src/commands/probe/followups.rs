//! Which probe settles which open question.

use iowhy_model::{Finding, Recording, STANDS, Verdict, is_kernel_name};
use iowhy_probe::{Ask, Purpose};

/// A probe, and the verdicts it distinguishes.
pub(crate) struct Followup {
    /// The verdicts: each of them expects another result of the probe.
    pub between: &'static [Verdict],
    /// The kind of probe.
    pub kind: &'static str,
    /// Further arguments.
    pub words: &'static [&'static str],
    /// What it shows.
    pub shows: &'static str,
}

/// The questions, the most specific first: if several fit, the one with the fewest verdicts.
pub(crate) const FOLLOWUPS: &[Followup] = &[
    Followup {
        between: &[Verdict::DeviceMedia, Verdict::DeviceRetry, Verdict::DeviceStall],
        kind: "surface",
        words: &["--for", "60s"],
        shows: "areas that are slow on every read are disk defects",
    },
    Followup {
        between: &[
            Verdict::CapCgroup,
            Verdict::CapVolume,
            Verdict::LoadSaturated,
            Verdict::ReportUtilTrap,
        ],
        kind: "ramp",
        words: &[],
        shows: "a rate that stops growing shows a limit or a saturated device; one that keeps \
                growing shows neither",
    },
    Followup {
        between: &[
            Verdict::DeviceSlow,
            Verdict::LoadBurst,
            Verdict::LoadLargeIo,
            Verdict::LoadSaturated,
            Verdict::PeerOutlier,
        ],
        kind: "calibrate",
        words: &[],
        shows: "service time of one I/O at a time: a faulty device is slow even without a queue",
    },
    Followup {
        between: &[Verdict::DeviceRetry, Verdict::DeviceSlow, Verdict::PeerOutlier],
        kind: "read-latency",
        words: &["--size", "4k", "--count", "1000", "--order", "random"],
        shows: "reads that are slower by whole revolutions were retried",
    },
    Followup {
        between: &[Verdict::CapBurst, Verdict::DeviceThermal],
        kind: "sustain",
        words: &[],
        shows: "a rate that drops and stays low points to used-up burst credits, one that comes \
                and goes to thermal throttling",
    },
    Followup {
        between: &[Verdict::DeviceIdleWake],
        kind: "idle-wake",
        words: &[],
        shows: "latency of the first read after a pause",
    },
    Followup {
        between: &[Verdict::LoadFlush],
        kind: "flush-cost",
        words: &[],
        shows: "latency of a write with and without a flush",
    },
    Followup {
        between: &[Verdict::LoadRwMix],
        kind: "mixed",
        words: &[],
        shows: "how much concurrent writes slow down reads",
    },
    Followup {
        between: &[Verdict::LoadMissedRevolution, Verdict::LoadSmallSync],
        kind: "write-latency",
        words: &[],
        shows: "whether a write waits for a revolution, a flush or neither",
    },
];

/// A rival whose weight comes this near the first one's leaves the question open.
const OPEN_RATIO: f64 = 0.5;

/// A probe to run, and its purpose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Proposal {
    /// The kind.
    pub kind: &'static str,
    /// The device.
    pub device: String,
    /// Further words of the command line.
    pub words: &'static [&'static str],
    /// What it would decide, a sentence without a period.
    pub settles: String,
}

impl Proposal {
    /// The path it reads; `None` for a kind that writes, and if the input does not use the kernel's
    /// device name: a load generator's job, a service, a controller slot.
    pub(crate) fn path(&self) -> Option<String> {
        let known = !self.writes() && is_kernel_name(&self.device);
        known.then(|| format!("/dev/{}", self.device))
    }

    /// The path, or a placeholder for a directory on the device or for the disk.
    pub(crate) fn target(&self) -> String {
        let placeholder = if self.writes() { "DIRECTORY" } else { "/dev/DISK" };
        self.path().unwrap_or_else(|| placeholder.to_string())
    }

    fn writes(&self) -> bool {
        iowhy_probe::find(self.kind)
            .is_some_and(|kind| (kind.purpose)(&Ask::default()) != Purpose::Read)
    }

    /// The command to paste.
    pub(crate) fn command(&self) -> String {
        let mut words = vec!["iowhy probe", self.kind];
        let target = self.target();
        words.push(&target);
        words.extend(self.words);
        words.join(" ")
    }

    /// The same as a next step of a finding.
    pub(crate) fn step(&self) -> String {
        let on = match (self.writes(), is_kernel_name(&self.device)) {
            _ if self.device.is_empty() => String::new(),
            (true, true) => format!(" (a directory on {})", self.device),
            (true, false) => format!(" (a directory on the disk behind {})", self.device),
            (false, true) => String::new(),
            (false, false) => format!(" (the disk behind {})", self.device),
        };
        format!("`{}`{on}: {}", self.command(), self.settles)
    }
}

/// The probe that would decide between these findings, if they leave a question open.
pub(crate) fn propose(recording: &Recording, findings: &[Finding]) -> Option<Proposal> {
    let first = findings.first()?;
    let closes = |finding: &Finding| finding.verdict.accuses_nobody();
    if first.verdict == Verdict::Healthy || first.elsewhere {
        return None;
    }
    // A suspicion about another device does not decide this one's open question.
    let asked_of = first.subject.device.filter(|_| closes(first));
    let mut suspects = findings.iter().filter(|known| {
        let same = asked_of.is_none() || known.subject.device == asked_of;
        !closes(known) && known.explained_by.is_none() && same
    });
    let leader = suspects.next();
    // The same verdict on another group of I/Os, or a verdict on another disk, is no contradiction.
    let rival = suspects.find(|rival| {
        leader.is_some_and(|leader| {
            rival.verdict != leader.verdict && rival.subject.device == leader.subject.device
        })
    });
    let contested = leader.zip(rival).filter(|(a, b)| b.weight() >= a.weight() * OPEN_RATIO);
    if !closes(first) && first.confidence() >= STANDS && contested.is_none() {
        return None;
    }
    let subject = leader.unwrap_or(first).subject.device.or(first.subject.device)?;
    let device = recording.device_of(subject).name.clone();
    let fits = |followup: &&Followup, verdict: Option<&Finding>| {
        verdict.is_some_and(|finding| followup.between.contains(&finding.verdict))
    };
    let by_size = |followup: &&Followup| followup.between.len();
    let both = FOLLOWUPS
        .iter()
        .filter(|followup| fits(followup, leader) && fits(followup, contested.map(|(_, b)| b)))
        .min_by_key(by_size);
    let one = FOLLOWUPS.iter().filter(|followup| fits(followup, leader)).min_by_key(by_size);
    let question = match (both, contested, leader) {
        (Some(followup), Some((a, b)), _) => (
            followup,
            match first.verdict {
                // Its sentence has named them in words.
                Verdict::Insufficient => format!("distinguishes them: {}", followup.shows),
                _ => format!("distinguishes {} from {}: {}", a.verdict, b.verdict, followup.shows),
            },
        ),
        (_, _, Some(leader)) => {
            let followup = one?;
            let settles = match first.verdict {
                Verdict::Insufficient => format!("tests it: {}", followup.shows),
                _ => format!("tests {}: {}", leader.verdict, followup.shows),
            };
            (followup, settles)
        }
        // Without a suspicion, the latency of a single I/O comes first.
        _ => {
            let followup = FOLLOWUPS.iter().find(|followup| followup.kind == "calibrate")?;
            (followup, followup.shows.to_string())
        }
    };
    let (followup, sentence) = question;
    Some(Proposal { kind: followup.kind, device, words: followup.words, settles: sentence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iowhy_model::{Sink, Subject};

    fn finding(recording: &mut Recording, verdict: Verdict, confidence: f64) -> Finding {
        let subject = Subject {
            device: Some(recording.device("sdb")),
            listings: Vec::new(),
            group: None,
            devices: Vec::new(),
        };
        let mut finding = Finding::new(verdict, subject);
        finding.assume(confidence, "prior of this verdict");
        finding.explained_share = 1.0;
        finding
    }

    #[test]
    fn the_table_names_verdicts_and_kinds_that_exist() {
        for followup in FOLLOWUPS {
            assert!(iowhy_probe::find(followup.kind).is_some(), "{}", followup.kind);
            assert!(followup.between.is_sorted() && !followup.shows.ends_with('.'));
        }
    }

    #[test]
    fn a_name_that_the_kernel_does_not_give_is_no_path() {
        let of = |device: &str, kind| {
            let (device, settles) = (device.to_string(), "settles".to_string());
            Proposal { kind, device, words: &[], settles }.step()
        };
        assert_eq!(of("sdb", "calibrate"), "`iowhy probe calibrate /dev/sdb`: settles");
        assert_eq!(
            of("all targets", "calibrate"),
            "`iowhy probe calibrate /dev/DISK` (the disk behind all targets): settles"
        );
        assert_eq!(
            of("rand-write", "flush-cost"),
            "`iowhy probe flush-cost DIRECTORY` (a directory on the disk behind rand-write): \
             settles"
        );
    }

    #[test]
    fn open_questions_get_the_probe_that_tells_their_rivals_apart() {
        let mut recording = Recording::new();
        let mut propose_for = |verdicts: &[(Verdict, f64)]| {
            let findings: Vec<Finding> =
                verdicts.iter().map(|(name, sure)| finding(&mut recording, *name, *sure)).collect();
            propose(&recording, &findings).map(|found| found.command())
        };
        assert_eq!(propose_for(&[(Verdict::DeviceSlow, 0.9)]), None);
        assert_eq!(propose_for(&[(Verdict::DeviceSlow, 0.9), (Verdict::LoadSaturated, 0.2)]), None);
        assert_eq!(propose_for(&[(Verdict::DeviceRetry, 0.9), (Verdict::DeviceRetry, 0.9)]), None);
        assert_eq!(propose_for(&[(Verdict::Healthy, 0.8)]), None);
        assert_eq!(propose_for(&[]), None);
        for (verdicts, command) in [
            (
                &[(Verdict::LoadSaturated, 0.5), (Verdict::CapVolume, 0.4)][..],
                "iowhy probe ramp /dev/sdb",
            ),
            (
                &[(Verdict::DeviceSlow, 0.9), (Verdict::LoadSaturated, 0.7)],
                "iowhy probe calibrate /dev/sdb",
            ),
            (&[(Verdict::DeviceRetry, 0.3)], "iowhy probe surface /dev/sdb --for 60s"),
            (
                &[
                    (Verdict::LoadSaturated, 0.7),
                    (Verdict::LoadSaturated, 0.7),
                    (Verdict::CapVolume, 0.65),
                ],
                "iowhy probe ramp /dev/sdb",
            ),
            (
                &[(Verdict::Insufficient, 0.6), (Verdict::ReportUtilTrap, 0.4)],
                "iowhy probe ramp /dev/sdb",
            ),
            (&[(Verdict::Insufficient, 1.0)], "iowhy probe calibrate /dev/sdb"),
            (&[(Verdict::LoadMissedRevolution, 0.4)], "iowhy probe write-latency DIRECTORY"),
        ] {
            assert_eq!(propose_for(verdicts).as_deref(), Some(command), "{verdicts:?}");
        }
    }
}
