//! Links of storage controllers and NVMe drives on the PCI bus: `lspci -vv`.
//!
//! ## Reads
//! Of each controller of storage, by its address: `device.link_speed`, `device.max_link_speed`,
//! `device.link_width` and `device.max_link_width` (lines `LnkSta` and `LnkCap`), and
//! `pci.errors.correctable`, `pci.errors.fatal` and `pci.errors.unsupported` where `DevSta` says that
//! such errors were seen (1; what was not seen is 0).
//!
//! ## Where it comes from
//! `lspci -vv` as root; without root the links are not shown.
//!
//! ## Versions
//! pciutils 3.1 to 3.13; the words `ok` and `downgraded` stand since 3.6.
//!
//! ## Traps
//! A link below its capability may be what the slot gives, and an idle link may run slower to save
//! power. `UnsupReq+` is common and harmless. Which drive is behind an address, the kernel's log or
//! `ls -l /sys/block` tells.
//!
//! ## Cannot know
//! When an error was seen. Whether lines are missing: they bear no numbers.

use iowhy_model::{Level, Sink};

use crate::drive::health::{Places, state};
use crate::{Format, Reader, Sniff, Step};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "lspci",
    summary: "links of storage controllers and NVMe drives: lspci -vv",
    manual: iowhy_model::manual!("lspci.rs"),
    level: Level::E,
    sniff,
    reader: || Box::new(Lspci::default()),
};

/// Classes of devices whose link a disk's I/O goes through (pci.ids, class 01).
const STORAGE: &[&str] = &[
    "Non-Volatile memory controller",
    "SATA controller",
    "Serial Attached SCSI controller",
    "RAID bus controller",
    "SCSI storage controller",
    "Mass storage controller",
    "IDE interface",
];

fn sniff(lines: &[&str]) -> Sniff {
    let Some(first) = lines.first() else { return Sniff::No };
    let Some((_, class)) = device(first) else { return Sniff::No };
    match lines.get(1) {
        _ if STORAGE.contains(&class) => Sniff::Yes,
        None => Sniff::More,
        Some(second) => {
            let indented = second.starts_with(['\t', ' ']);
            let text = second.trim_start();
            let ours = ["Subsystem:", "Control:", "Physical Slot:", "DeviceName:", "Flags:"];
            Sniff::from(indented && ours.iter().any(|words| text.starts_with(words)))
        }
    }
}

/// `01:00.0 Non-Volatile memory controller: ...`: address and class.
fn device(line: &str) -> Option<(&str, &str)> {
    let (address, rest) = line.split_once(' ')?;
    let (class, _) = rest.split_once(':')?;
    let parts: Vec<&str> = address.split([':', '.']).collect();
    let hex = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
    let sound = match parts.as_slice() {
        [bus, device, function] => [bus.len(), device.len(), function.len()] == [2, 2, 1],
        [domain, bus, device, function] => {
            [domain.len(), bus.len(), device.len(), function.len()] == [4, 2, 2, 1]
        }
        _ => false,
    };
    (sound && parts.iter().all(hex) && address.contains('.'))
        .then(|| (address, class.split(" [").next().unwrap_or(class)))
}

#[derive(Default)]
struct Lspci {
    places: Places,
    /// The address of the storage device being read.
    address: Option<String>,
    begun: bool,
}

impl Reader for Lspci {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        if let Some((address, class)) = device(line) {
            let whole = if address.matches(':').count() == 1 {
                format!("0000:{address}")
            } else {
                address.to_string()
            };
            self.address = STORAGE.contains(&class).then_some(whole);
            self.begun = true;
            return Step::Took;
        }
        if !line.starts_with(['\t', ' ']) {
            return if line.trim().is_empty() { Step::Took } else { Step::Passed };
        }
        let Some(address) = &self.address else { return Step::Took };
        let Some((label, rest)) = line.trim().split_once(':') else { return Step::Took };
        let after = |word: &str| {
            let (_, rest) = rest.split_once(word)?;
            let end = rest.find([' ', ',', '(']).unwrap_or(rest.len());
            Some(rest.get(..end)?.to_string())
        };
        let speed = || {
            after("Speed ").and_then(|text| Some(format!("{} GT/s", text.strip_suffix("GT/s")?)))
        };
        let width = || after("Width x");
        let facts = match label {
            "LnkSta" => [("device.link_speed", speed()), ("device.link_width", width())],
            "LnkCap" => [("device.max_link_speed", speed()), ("device.max_link_width", width())],
            "DevSta" => {
                let seen = |sign: &str| rest.contains(sign).then(|| "1".to_string());
                let of = |sign: &str| {
                    seen(&format!("{sign}+"))
                        .or_else(|| rest.contains(&format!("{sign}-")).then(|| "0".to_string()))
                };
                if let Some(value) = of("UnsupReq") {
                    state(sink, address, "pci.errors.unsupported", value, &place);
                }
                let fatal = of(" FatalErr").or_else(|| of(" UncorrErr"));
                [("pci.errors.correctable", of("CorrErr")), ("pci.errors.fatal", fatal)]
            }
            _ => return Step::Took,
        };
        for (key, value) in facts {
            if let Some(value) = value {
                state(sink, address, key, value, &place);
            }
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }
}
