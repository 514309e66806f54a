//! What a detector of stated faults looks at: a disk, or a port whose disk is unknown, with its
//! facts and its lines in the kernel's log.

use iowhy_model::{DeviceId, Event, MessageKind, PathEvent};

use crate::analysis::Analysis;
use crate::evidence::builder::EvidenceBuilder;
use crate::evidence::candidates::FaultCandidate;
use crate::facts::About;
use crate::facts::kernel_log::LogLine;

/// A disk or a port.
pub(crate) struct Case<'s> {
    /// The whole input.
    pub analysis: &'s Analysis<'s>,
    /// It.
    pub device: DeviceId,
    /// Its name.
    pub name: &'s str,
    /// Its lines in the kernel's log.
    pub log: Vec<&'s LogLine<'s>>,
    /// The disk; `None` for a port.
    pub candidate: Option<&'s FaultCandidate<'s, 's>>,
}

impl<'s> Case<'s> {
    /// All disks.
    pub(crate) fn of_disks(
        candidates: &'s [FaultCandidate<'s, 's>],
    ) -> impl Iterator<Item = Case<'s>> {
        candidates.iter().map(|known| Case {
            analysis: known.analysis,
            device: known.device,
            name: &known.disk,
            log: known.about().log().collect(),
            candidate: Some(known),
        })
    }

    /// All ports and controllers that the log names without a disk.
    pub(crate) fn of_ports(analysis: &'s Analysis<'s>) -> impl Iterator<Item = Case<'s>> {
        let ports = analysis.facts.by_port(analysis.facts.unnamed()).into_iter();
        ports.map(move |(device, log)| {
            let name = &analysis.recording.device_of(device).name;
            Case { analysis, device, name, log, candidate: None }
        })
    }

    /// The same with only these lines.
    pub(crate) fn with(&self, log: impl Iterator<Item = &'s LogLine<'s>>) -> Case<'s> {
        let Case { analysis, device, name, candidate, .. } = *self;
        Case { analysis, device, name, log: log.collect(), candidate }
    }

    /// Facts about it.
    pub(crate) fn about(&self) -> About<'s, 's> {
        let host = self.candidate.and_then(|known| known.host);
        self.analysis.facts.about(host, self.name)
    }

    /// Its requests that failed, and the listing that measured it.
    pub(crate) fn failed(&self) -> Option<(usize, &'s [&'s Event])> {
        let known = self.candidate?;
        Some((known.listing?, &known.failed))
    }

    /// Evidence, beginning with where it was measured.
    pub(crate) fn builder(&self) -> EvidenceBuilder<'s> {
        let mut builder = EvidenceBuilder::of(self.analysis);
        builder.listings.extend(self.candidate.and_then(|known| known.listing));
        builder
    }

    /// Its lines of these kinds.
    pub(crate) fn logged(&self, kinds: &[MessageKind]) -> Vec<&'s LogLine<'s>> {
        self.log.iter().filter(|line| kinds.contains(&line.kind)).copied().collect()
    }

    /// Whether any line is of one of these kinds.
    pub(crate) fn has(&self, kinds: &[MessageKind]) -> bool {
        self.log.iter().any(|line| kinds.contains(&line.kind))
    }

    /// Whether any line reports one of these about the path.
    pub(crate) fn reports(&self, events: &[PathEvent]) -> bool {
        let one_of = |event: PathEvent| events.contains(&event);
        self.log.iter().any(|line| line.event.is_some_and(one_of))
    }

    /// Whether a guest of a hypervisor wrote them, which sees no slot and no drive.
    pub(crate) fn is_of_a_guest(&self) -> bool {
        self.analysis.facts.hypervisor(&self.log).is_some()
    }
}
