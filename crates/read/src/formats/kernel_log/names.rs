//! Names of disks in a log: `sd 7:0:14:0: [sdk]`, and which of them are on which USB port.

use std::collections::BTreeMap;

use iowhy_model::Message;

/// Addresses and plugs remembered.
const REMEMBERED: usize = 4096;
/// A disk that disappears this soon after it came, or returns this soon after it disappeared, was
/// not unplugged, s.
const SOON_S: f64 = 60.0;

/// Disks by their SCSI addresses, and plugs of USB by the host adapters that they became.
#[derive(Default)]
pub(super) struct Names {
    disks: BTreeMap<String, String>,
    /// Plug (`1-1.4`): its host adapter, and when it was made.
    plugs: BTreeMap<String, (String, Option<f64>)>,
    /// Ports whose disk disappeared, while it is not known whether it was unplugged.
    gone: BTreeMap<String, (String, Message)>,
    /// The last message, if that refused a request to a disk which the log did not name yet.
    refused: Option<Refusal>,
}

/// A request that was refused.
struct Refusal {
    address: String,
    stamp: String,
    /// Whether its reason is printed before the block layer names the disk.
    is_explained: bool,
}

/// `7:0:14:0` of `sd 7:0:14:0: ...`, and 1:0:0:2 of `scsi1:0:0:2: ...`, as adapters of parallel
/// SCSI begin.
pub(super) fn address(message: &str) -> Option<&str> {
    let (driver, rest) = message.split_once(' ')?;
    let older = driver.strip_prefix("scsi").filter(|rest| rest.ends_with(':'));
    if older.is_none() && !["sd", "scsi", "sr", "st", "ses"].contains(&driver) {
        return None;
    }
    let address = match older {
        Some(address) => address.strip_suffix(':')?,
        None => rest.split_once(": ")?.0,
    };
    let numbers = address.split(':').filter(|part| part.parse::<u32>().is_ok()).count();
    (numbers == 4 && address.matches(':').count() == 3).then_some(address)
}

/// Whether a message begins as those of adapters of parallel SCSI do: `scsi1:0:0:2: ...`.
pub(super) fn is_older(message: &str) -> bool {
    message.strip_prefix("scsi").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        && address(message).is_some()
}

/// 1:0:0:2 of `scsi1 (0:2): rejecting I/O to offline device` (target and unit of channel 0), of
/// `scsi1 : destination target 0, lun 2` and of `scsi: Device offlined - not ready after error
/// recovery: host 1 channel 0 id 0 lun 2`, as kernels before 2.6.20 write an address
/// (drivers/scsi/scsi_lib.c, scsi_error.c, constants.c), and of what 2.4 aborts.
pub(super) fn older_address(message: &str) -> Option<String> {
    let address = |numbers: [&str; 4]| {
        let [host, channel, id, lun] = numbers.map(|number| number.parse::<u32>().ok());
        Some(format!("{}:{}:{}:{}", host?, channel?, id?, lun?))
    };
    if let Some((_, rest)) = message.split_once(": host ") {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [host, "channel", channel, "id", id, "lun", lun, ..] = words[..] else { return None };
        return address([host, channel, id, lun]);
    }
    if let Some(rest) = message.strip_prefix(ABORTS_2_4) {
        let mut parts = rest.splitn(5, ", ").skip(1);
        let mut part = |name: &str| parts.next()?.strip_prefix(name)?.split(' ').next();
        return address([part("scsi")?, part("channel ")?, part("id ")?, part("lun ")?]);
    }
    let rest = message.strip_prefix("scsi")?;
    let (host, (id, lun)) = match rest.split_once(" : destination target ") {
        Some((host, rest)) => (host, rest.trim_end().split_once(", lun ")?),
        None => {
            let (host, rest) = rest.split_once(" (")?;
            (host, rest.split_once("): ")?.0.split_once(':')?)
        }
    };
    address([host, "0", id, lun])
}

/// How 2.4 begins to report that it aborts a command, whose number and address follow
/// (drivers/scsi/scsi_obsolete.c).
const ABORTS_2_4: &str = "scsi : aborting command due to timeout : pid ";

/// 1 of `scsi host1: uas_eh_device_reset_handler start`.
pub(super) fn host(message: &str) -> Option<u32> {
    let (number, _) = message.strip_prefix("scsi host")?.split_once(':')?;
    number.parse().ok()
}

/// The plug of a device on USB that was reset: 8-1.3 of `usb 8-1.3: reset SuperSpeed Gen 1 USB
/// device number 3 using ...`, until 2.6.39 `reset full speed USB device using uhci_hcd and address
/// 7` (drivers/usb/core/hub.c, hub_port_init).
pub(super) fn usb_reset(message: &str) -> Option<&str> {
    let (plug, reported) = message.strip_prefix("usb ")?.split_once(": ")?;
    let is_reset = reported.starts_with("reset ")
        && [" USB device number ", " USB device using "]
            .iter()
            .any(|words| reported.contains(words));
    is_reset.then_some(plug)
}

/// Whether a disk is one of the SCSI layer, as those on USB are: `sda`.
pub(super) fn is_of_scsi(disk: &str) -> bool {
    disk.strip_prefix("sd").is_some_and(|letters| letters.bytes().all(|b| b.is_ascii_lowercase()))
}

/// What is printed of a request that is refused, before the block layer names its disk
/// (drivers/scsi/scsi_lib.c, scsi_prep_fn, scsi_io_completion).
const OFFLINE: &str = "rejecting I/O to offline device";
const NOT_READY: &str = ": Device not ready: ";
/// Lines about one request follow within this time, s (a choice).
const TOGETHER_S: f64 = 0.1;

fn are_together(then: &str, now: &str) -> bool {
    let times = Message::seconds(then).zip(Message::seconds(now));
    times.is_some_and(|(then, now)| (0.0..TOGETHER_S).contains(&(now - then)))
}

impl Names {
    /// The disk at an address, if the log named it.
    pub(super) fn known_at(&self, address: &str) -> Option<String> {
        self.disks.get(address).cloned()
    }

    /// The disk at an address, or the address.
    pub(super) fn at(&self, address: &str) -> String {
        self.known_at(address).unwrap_or_else(|| address.to_string())
    }

    /// Joins an address and a disk: a request that the SCSI layer or the drive refuses,
    /// `sd 4:0:0:1: rejecting I/O to offline device`, `sd 4:0:0:1: Device not ready: `, fails in
    /// the next line, `I/O error, dev sdc, ...`.
    pub(super) fn join(&mut self, stamp: &str, message: &str, of_request: Option<&str>) {
        let refused = self.refused.take();
        if let Some(address) = address(message)
            && (message.ends_with(OFFLINE) || message.contains(NOT_READY))
        {
            let unknown = !self.disks.contains_key(address);
            self.refused = unknown.then(|| Refusal {
                address: address.to_string(),
                stamp: stamp.to_string(),
                is_explained: message.contains(NOT_READY),
            });
        } else if let Some((refusal, disk)) = refused.zip(of_request)
            && (refusal.stamp == stamp
                || refusal.is_explained && are_together(&refusal.stamp, stamp))
            && self.address_of(disk).is_none()
            && self.disks.len() < REMEMBERED
        {
            self.disks.insert(refusal.address, disk.to_string());
        }
    }

    /// The address of a disk, if the log named it.
    pub(super) fn address_of(&self, disk: &str) -> Option<&str> {
        self.disks.iter().find(|(_, known)| *known == disk).map(|(address, _)| address.as_str())
    }

    /// The disk on a host adapter.
    fn of_host(&self, host: &str) -> Option<&String> {
        let is_its = |address: &str| address.split(':').next() == Some(host);
        self.disks.iter().find(|(address, _)| is_its(address)).map(|(_, disk)| disk)
    }

    /// The disk that a message of USB says was reset, which happens when a command does not
    /// complete (drivers/usb/storage/scsiglue.c): `usb 1-8: reset high-speed USB device number 5
    /// using ehci_hcd`.
    pub(super) fn reset(&self, message: &str) -> Option<String> {
        let (plug, reported) = message.strip_prefix("usb ")?.split_once(": ")?;
        let (host, _) = self.plugs.get(plug).filter(|_| reported.starts_with("reset "))?;
        self.of_host(host).cloned()
    }

    /// Learns from a message. The disk that disappeared without being unplugged, if this reports
    /// one, and what was reported then.
    pub(super) fn learn(
        &mut self,
        stamp: &str,
        message: &str,
        named: Option<&str>,
    ) -> Option<(String, Message)> {
        let room = self.disks.len() + self.plugs.len() < REMEMBERED;
        if let Some((address, name)) = address(message).zip(named).filter(|_| room) {
            self.disks.insert(address.to_string(), name.to_string());
        }
        let now = Message::seconds(stamp);
        if let Some((host, plug)) = host_of_plug(message).filter(|_| room) {
            self.plugs.insert(plug.to_string(), (host.to_string(), now));
            // Where the log has no times, its return is enough.
            let back = self.gone.remove(plug);
            return back.filter(|(_, went)| is_soon(went.at_s, now).unwrap_or(true));
        }
        let (plug, reported) = message.strip_prefix("usb ")?.split_once(": ")?;
        if !reported.starts_with("USB disconnect") {
            return None;
        }
        let (host, since) = self.plugs.remove(plug)?;
        let disk = self.of_host(&host)?;
        let gone = (disk.clone(), Message::new(stamp, message));
        if is_soon(since, now).unwrap_or(false) {
            return Some(gone);
        }
        self.gone.insert(plug.to_string(), gone);
        None
    }
}

/// `scsi host0: usb-storage 1-1.4:1.0`, before 2012 `scsi0 : usb-storage 1-1.4:1.0`: the adapter
/// and its plug.
fn host_of_plug(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("scsi host").or_else(|| message.strip_prefix("scsi"))?;
    let (host, plug) = rest.split_once(": usb-storage ")?;
    let host = host.trim_end();
    let (plug, _) = plug.split_once(':')?;
    host.bytes().all(|byte| byte.is_ascii_digit()).then_some((host, plug))
}

/// Whether the second moment follows soon on the first; `None` where the log does not have one of
/// them.
fn is_soon(first: Option<f64>, second: Option<f64>) -> Option<bool> {
    let (first, second) = first.zip(second)?;
    Some((0.0..SOON_S).contains(&(second - first)))
}

#[cfg(test)]
mod tests {

    #[test]
    fn older_kernels_write_an_address_in_other_ways() {
        for message in [
            "scsi1 (0:2): rejecting I/O to offline device",
            "scsi1 : destination target 0, lun 2 ",
            "scsi: Device offlined - not ready after error recovery: host 1 channel 0 id 0 lun 2",
            "scsi : aborting command due to timeout : pid 71, scsi1, channel 0, id 0, lun 2 0x2a",
        ] {
            assert_eq!(super::older_address(message).as_deref(), Some("1:0:0:2"), "{message}");
        }
        assert_eq!(super::address("scsi1:0:0:2: Unable to deliver message"), Some("1:0:0:2"));
        for other in ["scsi1: Dumping Card State", "scsi host1: uas", "scsi1 : aic79xx", "scsi: x"]
        {
            assert_eq!((super::older_address(other), super::address(other)), (None, None));
        }
    }
}
