//! What lies between a host and its disk, and what to check there.

use iowhy_model::PathEvent;

use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::phrase;

const ATTACHMENTS: &str = include_str!("attachments.txt");

/// How a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Attachment {
    Cable,
    Card,
    Firewire,
    Ide,
    /// No line shows what.
    Unknown,
    Sas,
    Pcie,
    Usb,
    Fibre,
    Network,
    Parallel,
}

impl Attachment {
    /// By the stated bus, else by the name and the log.
    pub(crate) fn of(disk: &str, reading: &[&LogLine], bus: Option<&str>) -> Attachment {
        let says = |what| reading.iter().any(|line| line.event == Some(what));
        let fibre = says(PathEvent::LinkDown);
        let usb_host = reading.iter().any(|line| line.message.is_of_usb_host());
        match bus {
            Some("usb") => return Attachment::Usb,
            Some("ieee1394") => return Attachment::Firewire,
            Some("sas") => return Attachment::Sas,
            Some("sata" | "ata") => return Attachment::Cable,
            Some("fc") => return Attachment::Fibre,
            Some("spi") => return Attachment::Parallel,
            Some("iscsi" | "fcoe" | "tcp" | "rdma") => return Attachment::Network,
            _ => {}
        }
        if usb_host {
            Attachment::Usb
        } else if disk_names::is_ide(disk) {
            Attachment::Ide
        } else if disk_names::is_nvme(disk) || disk_names::is_pci_function(disk) && !fibre {
            Attachment::Pcie
        } else if says(PathEvent::UsbReset) {
            Attachment::Usb
        } else if fibre {
            Attachment::Fibre
        } else if disk_names::is_card(disk) {
            Attachment::Card
        } else if disk_names::is_adapter(disk) {
            Attachment::Sas
        } else if disk_names::is_ata(disk) || reading.iter().any(|line| line.message.is_of_ata()) {
            Attachment::Cable
        } else {
            Attachment::Unknown
        }
    }

    /// The components that may be at fault.
    pub(crate) fn parts(self) -> &'static str {
        self.parts_and_steps().0
    }

    /// What to check; where a link only wakes up, power management before the cable.
    pub(crate) fn steps(self, disk: &str, is_awake: bool) -> Vec<String> {
        let mut steps = phrase::about(&self.parts_and_steps().1, disk);
        if self == Attachment::Pcie && disk_names::is_nvme(disk) {
            steps[2] += &format!(", and `nvme smart-log /dev/{disk}` now and tomorrow");
        }
        if is_awake && matches!(self, Attachment::Cable | Attachment::Unknown) {
            steps.swap(0, 1);
        }
        steps
    }

    /// Parts and steps.
    fn parts_and_steps(self) -> (&'static str, Vec<&'static str>) {
        phrase::paragraph(ATTACHMENTS, &format!("{self:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attachment_has_parts_and_steps() {
        let first = [
            Attachment::Cable,
            Attachment::Card,
            Attachment::Firewire,
            Attachment::Ide,
            Attachment::Unknown,
            Attachment::Sas,
        ];
        let others = [
            Attachment::Pcie,
            Attachment::Usb,
            Attachment::Fibre,
            Attachment::Network,
            Attachment::Parallel,
        ];
        let all: Vec<_> =
            first.into_iter().chain(others).map(Attachment::parts_and_steps).collect();
        assert!(all.iter().all(|(parts, steps)| !parts.is_empty() && steps.len() > 1));
        assert_eq!(
            all.iter().map(|(_, steps)| steps.len()).sum::<usize>(),
            ATTACHMENTS.matches("\n- ").count()
        );
        assert_eq!(
            Attachment::Cable.steps("sdb", true)[2],
            Attachment::Cable.steps("sdb", false)[2]
        );
        assert!(Attachment::Ide.steps("hda", false)[3].starts_with("`smartctl -a /dev/hda` "));
    }
}
