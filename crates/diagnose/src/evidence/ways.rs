//! What lies between a host and its disk, and what to check there.

use iowhy_model::PathEvent;

use crate::facts::disk_names;
use crate::facts::kernel_log::LogLine;
use crate::phrase;

const WAYS: &str = include_str!("ways.txt");

/// How a disk is attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
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

impl Way {
    /// By the stated bus, else by the name and the log.
    pub fn of(disk: &str, reading: &[&LogLine], bus: Option<&str>) -> Way {
        let says = |what| reading.iter().any(|line| line.event == Some(what));
        let fibre = says(PathEvent::LinkDown);
        let usb_host = reading.iter().any(|line| line.message.is_of_usb_host());
        match bus {
            Some("usb") => return Way::Usb,
            Some("ieee1394") => return Way::Firewire,
            Some("sas") => return Way::Sas,
            Some("sata" | "ata") => return Way::Cable,
            Some("fc") => return Way::Fibre,
            Some("spi") => return Way::Parallel,
            Some("iscsi" | "fcoe" | "tcp" | "rdma") => return Way::Network,
            _ => {}
        }
        if usb_host {
            Way::Usb
        } else if disk_names::is_ide(disk) {
            Way::Ide
        } else if disk_names::is_nvme(disk) || disk_names::is_pci_function(disk) && !fibre {
            Way::Pcie
        } else if says(PathEvent::UsbReset) {
            Way::Usb
        } else if fibre {
            Way::Fibre
        } else if disk_names::is_card(disk) {
            Way::Card
        } else if disk_names::is_adapter(disk) {
            Way::Sas
        } else if disk_names::is_ata(disk) || reading.iter().any(|line| line.message.is_of_ata()) {
            Way::Cable
        } else {
            Way::Unknown
        }
    }

    /// The components that may be at fault.
    pub fn parts(self) -> &'static str {
        self.told().0
    }

    /// What to check; where a link only wakes up, power management before the cable.
    pub fn steps(self, disk: &str, is_awake: bool) -> Vec<String> {
        let mut steps = phrase::about(&self.told().1, disk);
        if self == Way::Pcie && disk_names::is_nvme(disk) {
            steps[2] += &format!(", and `nvme smart-log /dev/{disk}` now and tomorrow");
        }
        if is_awake && matches!(self, Way::Cable | Way::Unknown) {
            steps.swap(0, 1);
        }
        steps
    }

    /// Parts and steps.
    fn told(self) -> (&'static str, Vec<&'static str>) {
        phrase::paragraph(WAYS, &format!("{self:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_parts_and_steps() {
        let ways = [Way::Cable, Way::Card, Way::Firewire, Way::Ide, Way::Unknown, Way::Sas];
        let others = [Way::Pcie, Way::Usb, Way::Fibre, Way::Network, Way::Parallel];
        let all: Vec<_> = ways.into_iter().chain(others).map(Way::told).collect();
        assert!(all.iter().all(|(parts, steps)| !parts.is_empty() && steps.len() > 1));
        assert_eq!(
            all.iter().map(|(_, steps)| steps.len()).sum::<usize>(),
            WAYS.matches("\n- ").count()
        );
        assert_eq!(Way::Cable.steps("sdb", true)[2], Way::Cable.steps("sdb", false)[2]);
        assert!(Way::Ide.steps("hda", false)[3].starts_with("`smartctl -a /dev/hda` "));
    }
}
