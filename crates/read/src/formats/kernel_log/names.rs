//! What a log calls the disks: `sd 7:0:14:0: [sdk]`, and which of them hang on which plug of USB.

use std::collections::BTreeMap;

use iowhy_model::Message;

/// Addresses and plugs remembered.
const REMEMBERED: usize = 4096;
/// A disk that goes so soon after it came, or comes back so soon after it went, was not taken away by anybody, s.
const SOON_S: f64 = 60.0;

/// Disks by their SCSI addresses, and plugs of USB by the host adapters that they became.
#[derive(Default)]
pub(super) struct Names {
    disks: BTreeMap<String, String>,
    /// Plug (`1-1.4`): its host adapter, and when it was made.
    plugs: BTreeMap<String, (String, Option<f64>)>,
    /// Plugs whose disk went, of which nobody knows yet whether it was pulled.
    gone: BTreeMap<String, (String, Message)>,
}

/// `7:0:14:0` of `sd 7:0:14:0: ...`.
pub(super) fn address(message: &str) -> Option<&str> {
    let (driver, rest) = message.split_once(' ')?;
    if !["sd", "scsi", "sr", "st", "ses"].contains(&driver) {
        return None;
    }
    let (address, _) = rest.split_once(": ")?;
    let numbers = address.split(':').filter(|part| part.parse::<u32>().is_ok()).count();
    (numbers == 4 && address.matches(':').count() == 3).then_some(address)
}

/// Whether a message says that a device on USB was reset: `usb 8-1.3: reset SuperSpeed Gen 1 USB
/// device number 3 using ...`.
pub(super) fn is_usb_reset(message: &str) -> bool {
    let said = message.strip_prefix("usb ").and_then(|rest| rest.split_once(": "));
    said.is_some_and(|(_, said)| said.starts_with("reset ") && said.contains(" USB device number "))
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

    /// The address of a disk, if the log named it.
    pub(super) fn address_of(&self, disk: &str) -> Option<&str> {
        self.disks.iter().find(|(_, known)| *known == disk).map(|(address, _)| address.as_str())
    }

    /// The disk on a host adapter.
    fn of_host(&self, host: &str) -> Option<&String> {
        let is_its = |address: &str| address.split(':').next() == Some(host);
        self.disks.iter().find(|(address, _)| is_its(address)).map(|(_, disk)| disk)
    }

    /// The disk that a message of USB says was reset, which is what is done when a command does not come back
    /// (drivers/usb/storage/scsiglue.c): `usb 1-8: reset high-speed USB device number 5 using ehci_hcd`.
    pub(super) fn reset(&self, message: &str) -> Option<String> {
        let (plug, said) = message.strip_prefix("usb ")?.split_once(": ")?;
        let (host, _) = self.plugs.get(plug).filter(|_| said.starts_with("reset "))?;
        self.of_host(host).cloned()
    }

    /// Learns from a message. Gives the disk that went without being pulled, if this tells of one, and what was said when
    /// it went.
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
            // Where the log bears no times, that it came back is enough.
            let back = self.gone.remove(plug);
            return back.filter(|(_, went)| is_soon(went.at_s, now).unwrap_or(true));
        }
        let (plug, said) = message.strip_prefix("usb ")?.split_once(": ")?;
        if !said.starts_with("USB disconnect") {
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

/// `scsi host0: usb-storage 1-1.4:1.0`, before 2012 `scsi0 : usb-storage 1-1.4:1.0`: the adapter and its plug.
fn host_of_plug(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("scsi host").or_else(|| message.strip_prefix("scsi"))?;
    let (host, plug) = rest.split_once(": usb-storage ")?;
    let host = host.trim_end();
    let (plug, _) = plug.split_once(':')?;
    host.bytes().all(|byte| byte.is_ascii_digit()).then_some((host, plug))
}

/// Whether the second moment follows soon on the first; `None` where the log does not tell one of them.
fn is_soon(first: Option<f64>, second: Option<f64>) -> Option<bool> {
    let (first, second) = first.zip(second)?;
    Some((0.0..SOON_S).contains(&(second - first)))
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    fn offline(log: &str) -> Vec<String> {
        let facts = crate::scan::recorded(log);
        let of =
            facts.listings[0].facts.iter().filter(|fact| fact.key == key::KERNEL_LOG.of("offline"));
        of.filter_map(|fact| Some(facts.device_of(fact.device?).name.clone())).collect()
    }

    const CAME: &str = "[   17.555274] scsi host0: usb-storage 1-1.4:1.0\n\
                        [   18.636364] sd 0:0:0:0: [sda] 3907029168 512-byte logical blocks: (2.00 TB/1.82 TiB)\n";

    #[test]
    fn a_disk_that_goes_at_once_was_not_pulled() {
        let soon = "[   19.826101] usb 1-1.4: USB disconnect, device number 5\n";
        assert_eq!(offline(&format!("{CAME}{soon}")), ["sda"]);
        // A mouse.
        assert!(
            offline(&format!("{CAME}[   19.826101] usb 2-1: USB disconnect, device number 5\n"))
                .is_empty()
        );
    }

    #[test]
    fn a_disk_that_somebody_took_away_is_no_fault() {
        let late = "[ 9019.826101] usb 1-1.4: USB disconnect, device number 5\n";
        assert!(offline(&format!("{CAME}{late}")).is_empty());
        let back = "[ 9021.555274] scsi host1: usb-storage 1-1.4:1.0\n";
        assert_eq!(offline(&format!("{CAME}{late}{back}")), ["sda"]);
    }

    #[test]
    fn whose_command_was_given_up_stands_in_the_next_line() {
        let log = "[120986.380459] mpt2sas3: attempting task abort! scmd(ffff8814605d2100)\n\
                   [120986.380464] sd 7:0:14:0: CDB: Synchronize Cache(10): 35 00 00 00 00 00 00 00 00 00\n\
                   [121003.942642] mpt2sas3: attempting device reset! scmd(ffff8814605d2100)\n\
                   [121003.942646] sd 7:0:14:0: CDB: Synchronize Cache(10): 35 00 00 00 00 00 00 00 00 00\n";
        let of = |log: &str| {
            let facts = crate::scan::recorded(log);
            let timeouts = facts.listings[0]
                .facts
                .iter()
                .filter(|fact| fact.key == key::KERNEL_LOG.of("timeout"));
            timeouts
                .filter_map(|fact| Some(facts.device_of(fact.device?).name.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(log), ["7:0:14:0", "7:0:14:0"]);
        let named = "[    1.000000] sd 7:0:14:0: [sdk] Attached SCSI disk\n";
        assert_eq!(of(&format!("{named}{log}")), ["sdk", "sdk"]);
    }
}
