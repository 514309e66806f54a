//! Links of storage controllers and NVMe drives on the PCI bus: `lspci -vv`.
//!
//! ## Reads
//! Of each controller of storage, by its address: `device.link_speed`, `device.max_link_speed`,
//! `device.link_width` and `device.max_link_width` (lines `LnkSta` and `LnkCap`), and
//! `pci.errors.correctable`, `pci.errors.fatal` and `pci.errors.unsupported` if `DevSta` shows such
//! errors (1, else 0).
//!
//! ## How to capture
//! `lspci -vv` as root; without root the links are not shown.
//!
//! ## Versions
//! pciutils 3.1 to 3.13; the words `ok` and `downgraded` are printed since 3.6.
//!
//! ## Caveats
//! A link below its capability may be limited by the slot, and an idle link may run slower to save
//! power. `UnsupReq+` is common and harmless. The drive at an address: see the kernel's log or
//! `ls -l /sys/block`.
//!
//! ## Not in this output
//! When an error was seen.

use iowhy_model::typed::BitsPerSecond;
use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::{Body, Format, Reader, Sniff, Step, decimal, integer};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "lspci",
    summary: "links of storage controllers and NVMe drives: lspci -vv",
    manual: iowhy_model::manual!("lspci.rs"),
    level: Level::E,
    body: Body::Custom { needles: &[], sniff, reader: || Box::new(Lspci::default()) },
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
    let (address, rest) = line.split_once(' ').filter(|(address, _)| address.contains('.'))?;
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
    (sound && parts.iter().all(hex)).then(|| (address, class.split(" [").next().unwrap_or(class)))
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
        let address = address.as_str();
        let after = |word: &str| {
            let (_, rest) = rest.split_once(word)?;
            let end = rest.find([' ', ',', '(']).unwrap_or(rest.len());
            rest.get(..end)
        };
        let links = match label {
            "LnkSta" => (typed::DEVICE_LINK_SPEED, typed::DEVICE_LINK_WIDTH),
            "LnkCap" => (typed::DEVICE_LINK_SPEED_MAX, typed::DEVICE_LINK_WIDTH_MAX),
            "DevSta" => {
                let of = |sign: &str| {
                    let seen = rest.contains(&format!("{sign}+"));
                    (seen || rest.contains(&format!("{sign}-"))).then_some(seen)
                };
                let fatal = of(" FatalErr").or_else(|| of(" UncorrErr"));
                let errors = [
                    ("unsupported", of("UnsupReq")),
                    ("correctable", of("CorrErr")),
                    ("fatal", fatal),
                ];
                for (kind, seen) in errors {
                    if let Some(seen) = seen {
                        sink.add_fact_at(address, typed::PCI_ERRORS.of(kind), seen, &place);
                    }
                }
                return Step::Took;
            }
            _ => return Step::Took,
        };
        let speed = after("Speed ").and_then(|text| decimal(text.strip_suffix("GT/s")?));
        if let Some(speed) = speed {
            sink.add_fact_at(address, links.0, BitsPerSecond(speed * 1e9), &place);
        }
        if let Some(width) = after("Width x").and_then(integer) {
            sink.add_fact_at(address, links.1, width, &place);
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }
}
