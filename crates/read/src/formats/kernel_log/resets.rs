//! Resets of devices on USB: one may be a resume, and many of one device, a command's time limit
//! apart, are commands that got no response (drivers/usb/storage/scsiglue.c, device_reset).

use std::collections::BTreeMap;

use iowhy_model::Message;

/// Resets remembered of all devices.
const REMEMBERED: usize = 4096;
/// From this many on resets are repeated (a choice).
pub(super) const REPEATED: usize = 3;
/// The time limit of a command, s (drivers/scsi/sd.h, SD_TIMEOUT), and how much later the next
/// reset may be: the limit is checked once a second, and the reset itself takes some.
const LIMIT_S: f64 = 30.0;
const LATE_S: f64 = 3.0;
/// Share of the gaps that are as long: a few commands are answered between.
const MOST: f64 = 0.6;

/// A reset, with its place.
pub(super) type Reset = (Message, String);

/// Resets by plug.
#[derive(Default)]
pub(super) struct Resets {
    of: BTreeMap<String, Vec<Reset>>,
    count: usize,
}

impl Resets {
    /// Remembers a reset.
    pub(super) fn add(&mut self, plug: &str, message: Message, place: String) {
        if self.count < REMEMBERED {
            self.count += 1;
            self.of.entry(plug.to_string()).or_default().push((message, place));
        }
    }

    /// All resets; none is empty.
    pub(super) fn of_plugs(self) -> BTreeMap<String, Vec<Reset>> {
        self.of
    }
}

/// Whether the resets are repeated and most follow each other at the time limit of a command.
pub(super) fn is_periodic(resets: &[Reset]) -> bool {
    let times: Vec<f64> = resets.iter().filter_map(|(message, _)| message.at_s).collect();
    let gaps = times.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?));
    let at_limit = gaps.filter(|gap| (LIMIT_S..LIMIT_S + LATE_S).contains(gap)).count();
    resets.len() >= REPEATED && at_limit as f64 >= MOST * (resets.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    /// The devices whose resets a log reports; empty if none.
    fn resets(log: &str) -> Vec<String> {
        let recording = crate::scan::recorded(log);
        let all = recording.listings.iter().flat_map(|listing| &listing.facts);
        let of = all.filter(|fact| fact.key == key::KERNEL_LOG.of("controller"));
        let name = |device| recording.device_of(device).name.clone();
        of.map(|fact| fact.device.map(name).unwrap_or_default()).collect()
    }

    fn every(apart_s: f64, reported: &str) -> String {
        (0..4)
            .map(|n| format!("[{:5}.220000] {reported}\n", 7180.0 + apart_s * f64::from(n)))
            .collect()
    }

    #[test]
    fn resets_at_the_time_limit_are_of_a_disk() {
        for reported in [
            "usb 1-1.1.4: reset full speed USB device using uhci_hcd and address 7",
            "usb 1-1.1.4: reset high-speed USB device number 5 using ehci_hcd",
            "usb 1-1.1.4: reset SuperSpeed Gen 1 USB device number 3 using xhci_hcd",
        ] {
            assert_eq!(resets(&every(30.0, reported)), ["1-1.1.4"; 4], "{reported}");
            let failed = "[ 9000.220000] end_request: I/O error, dev sda, sector 81766\n";
            assert_eq!(resets(&(every(30.0, reported) + failed)), ["sda"; 4], "{reported}");
            // A disk on another bus, or two disks.
            let other = failed.replace("sda", "nvme0n1");
            assert_eq!(resets(&(every(30.0, reported) + &other)), ["1-1.1.4"; 4], "{reported}");
            let two = format!("{failed}{}", failed.replace("sda", "sdb"));
            assert_eq!(resets(&(every(7.0, reported) + &two)), [""; 4], "{reported}");
        }
    }
}
