//! Which PCI functions storage drivers own, and their names: errors of a network card are not those
//! of a disk.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::address::is_pci;
use super::forms;

/// The message of a function or port about an error on its link (drivers/pci/pcie/aer.c).
const BUS_ERROR: &str = "PCIe Bus Error: ";
/// Functions remembered.
const REMEMBERED: usize = 4096;

/// Drivers of storage controllers (drivers/nvme, drivers/scsi, drivers/message/fusion,
/// drivers/block, drivers/mmc/host, drivers/pci/controller/vmd.c), and how families of them begin.
const DRIVERS: [&str; 53] = [
    "3w-9xxx", "3w-sas", "3w-xxxx", "DAC960", "aacraid", "ahci", "aic79xx", "aic7xxx", "aic94xx",
    "arcmsr", "ata_generic", "ata_piix", "be2iscsi", "bfa", "bnx2fc", "bnx2i", "cciss", "csiostor",
    "esas2r", "fnic", "gdth", "hisi_sas_v3_hw", "hpsa", "hptiop", "ips", "isci", "lpfc",
    "megaraid", "megaraid_sas", "mpi3mr", "mpt2sas", "mpt3sas", "mptfc", "mptsas", "mptspi",
    "mtip32xx", "mvsas", "mvumi", "myrb", "myrs", "nvme", "pm8001", "pm80xx", "pmcraid", "qedf",
    "qedi", "qla2xxx", "qla4xxx", "skd", "smartpqi", "snic", "stex", "vmd",
];
const FAMILIES: [&str; 4] = ["sata_", "pata_", "sdhci", "vmw_pvscsi"];

/// Functions that storage drivers own, and what the log calls the controllers.
#[derive(Default)]
pub(super) struct Functions {
    known: BTreeMap<String, Option<String>>,
}

impl Functions {
    /// Learns from a message: `nvme nvme0: pci function 0000:43:00.0`, `ahci 0000:00:17.0: AHCI
    /// 0001.0301 ...`.
    pub(super) fn learn(&mut self, message: &str) {
        if self.known.len() >= REMEMBERED {
            return;
        }
        let (_, reported) = forms::heading(message);
        if let Some(address) = reported.strip_prefix("pci function ")
            && is_of_storage(message)
        {
            let name = message.split_whitespace().nth(1).and_then(|word| word.strip_suffix(':'));
            if let Some(address) = address.split_whitespace().next().filter(|word| is_pci(word)) {
                self.known.insert(address.to_string(), name.map(str::to_string));
            }
        } else if let Some(address) = function(message).filter(|_| is_of_storage(message)) {
            self.known.entry(address.to_string()).or_default();
        }
    }

    /// Whether an error of a link is one of a function that a storage driver owns.
    pub(super) fn are_of_storage(&self, message: &str) -> bool {
        let known = |address: Cow<str>| self.known.contains_key(&*address);
        is_of_storage(message) || function(message).is_some_and(known)
    }

    /// The log's name of the controller at the reporting function, or its address.
    pub(super) fn name(&self, message: &str) -> Option<String> {
        let address = function(message)?;
        Some(self.known.get(&*address).cloned().flatten().unwrap_or_else(|| address.to_string()))
    }
}

/// How the IOMMU reports that a function reached for memory that it may not touch
/// (drivers/iommu/amd/iommu.c, drivers/iommu/intel/dmar.c).
const IOMMU_FAULT: [&str; 2] = ["AMD-Vi: Event logged [IO_PAGE_FAULT ", "DMAR: [DMA "];

/// Whether the IOMMU reports a fault of a function.
pub(super) fn is_iommu_fault(message: &str) -> bool {
    let (_, reported) = forms::heading(message);
    IOMMU_FAULT.iter().any(|words| reported.starts_with(words))
}

/// 0000:03:00.0 of `DMAR: [DMA Read] Request device [03:00.0] fault addr ...` and of
/// `AMD-Vi: Event logged [IO_PAGE_FAULT device=03:00.0 domain=...`.
fn of_iommu(message: &str) -> Option<String> {
    let marks = ["Request device [", "[IO_PAGE_FAULT device="];
    let (_, rest) = marks.iter().find_map(|mark| message.split_once(mark))?;
    let place = rest.split([' ', ']']).next()?.trim_start_matches("0x");
    let whole =
        if place.matches(':').count() == 1 { format!("0000:{place}") } else { place.into() };
    is_pci(&whole).then_some(whole)
}

/// The reporting function: `nvme 0000:43:00.0: ...`, or of which the IOMMU does.
fn function(message: &str) -> Option<Cow<'_, str>> {
    if is_iommu_fault(message)
        && let Some(place) = of_iommu(message)
    {
        return Some(Cow::Owned(place));
    }
    let word = message.split_whitespace().nth(1)?.strip_suffix(':')?;
    Some(Cow::Borrowed(word)).filter(|word| is_pci(word))
}

/// Whether a function or port shows that its link had an error.
pub(super) fn is_bus_error(message: &str) -> bool {
    let (_, reported) = forms::heading(message);
    reported.strip_prefix("AER: ").unwrap_or(reported).starts_with(BUS_ERROR)
}

/// Whether the reporting driver is one of storage.
fn is_of_storage(message: &str) -> bool {
    let driver = message.split_whitespace().next().unwrap_or_default();
    DRIVERS.contains(&driver) || FAMILIES.iter().any(|family| driver.starts_with(family))
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    use super::*;

    /// The devices that reported link errors, by name.
    fn accused(log: &str) -> Vec<String> {
        let facts = crate::scan::recorded(log);
        let of = facts.listings.iter().flat_map(|listing| &listing.facts);
        let links = of.filter(|fact| fact.key == key::KERNEL_LOG.of("link"));
        links.filter_map(|fact| Some(facts.device_of(fact.device?).name.clone())).collect()
    }

    fn error_of(driver: &str, severity: &str) -> String {
        format!(
            "[  812.004411] pcieport 0000:00:1c.5: AER: Corrected error received: 0000:05:00.0\n\
             [  812.004425] {driver} 0000:05:00.0: PCIe Bus Error: severity={severity}, type=Data \
             Link Layer, (Transmitter ID)\n\
             [  812.004428] {driver} 0000:05:00.0:   device [8086:1533] error \
             status/mask=00001000/00002000\n"
        )
    }

    #[test]
    fn only_what_a_storage_driver_owns_is_on_the_way_to_a_disk() {
        let others = [
            "igb", "e1000e", "ixgbe", "mlx5_core", "r8169", "iwlwifi", "ath10k_pci", "nouveau",
            "nvidia", "amdgpu", "i915", "snd_hda_intel", "xhci_hcd", "thunderbolt", "pcieport",
            "pci", "mei_me", "intel_ish_ipc", "bnxt_en",
        ];
        for severity in ["Corrected", "Correctable", "Uncorrected (Non-Fatal)"] {
            for driver in others {
                assert_eq!(accused(&error_of(driver, severity)), [""; 0], "{driver}");
            }
            for driver in DRIVERS.into_iter().chain(["sata_sil24", "pata_jmicron"]) {
                assert_eq!(accused(&error_of(driver, severity)), ["0000:05:00.0"], "{driver}");
            }
        }
    }
}
