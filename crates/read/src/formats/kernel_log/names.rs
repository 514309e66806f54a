//! What a log calls the disks: `sd 7:0:14:0: [sdk]`, and which of them hang on which plug of USB.

use std::collections::BTreeMap;

use iowhy_model::Message;

/// Addresses and plugs remembered.
const REMEMBERED: usize = 4096;
/// A disk that goes so soon after it came, or comes back so soon after it went, was not taken away by anybody, s.
const SOON_S: f64 = 60.0;

/// A time as printed, and a message.
type Stamped = (String, String);

/// Disks by their SCSI addresses, and plugs of USB by the host adapters that they became.
#[derive(Default)]
pub(super) struct Names {
    disks: BTreeMap<String, String>,
    /// Plug (`1-1.4`): its host adapter, and when it was made.
    plugs: BTreeMap<String, (String, Option<f64>)>,
    /// Plugs whose disk went, of which nobody knows yet whether it was pulled.
    gone: BTreeMap<String, (String, Stamped)>,
}

/// `7:0:14:0` of `sd 7:0:14:0: ...`.
pub(super) fn address(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("sd ").or_else(|| message.strip_prefix("scsi "))?;
    let (address, _) = rest.split_once(": ")?;
    let numbers = address.split(':').filter(|part| part.parse::<u32>().is_ok()).count();
    (numbers == 4 && address.matches(':').count() == 3).then_some(address)
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

    /// Learns from a message. Gives the disks that went without being pulled, each with what was said then.
    pub(super) fn learn(
        &mut self,
        stamp: &str,
        message: &str,
        named: Option<&str>,
    ) -> Vec<(String, Stamped)> {
        let room = self.disks.len() + self.plugs.len() < REMEMBERED;
        if let Some((address, name)) = address(message).zip(named).filter(|_| room) {
            self.disks.insert(address.to_string(), name.to_string());
        }
        // `scsi host0: usb-storage 1-1.4:1.0`, `scsi host0: uas`.
        if let Some((host, plug)) =
            message.strip_prefix("scsi host").and_then(|rest| rest.split_once(": usb-storage "))
            && let Some((plug, _)) = plug.split_once(':').filter(|_| room)
        {
            self.plugs.insert(plug.to_string(), (host.to_string(), Message::seconds(stamp)));
            let back = self.gone.remove(plug);
            return back.filter(|(_, (went, _))| is_soon(Some(went), stamp)).into_iter().collect();
        }
        let Some((plug, said)) =
            message.strip_prefix("usb ").and_then(|rest| rest.split_once(": "))
        else {
            return Vec::new();
        };
        if !said.starts_with("USB disconnect") {
            return Vec::new();
        }
        let Some((host, since)) = self.plugs.remove(plug) else { return Vec::new() };
        let of_host = |address: &&String| address.split(':').next() == Some(host.as_str());
        let Some(disk) =
            self.disks.keys().find(of_host).and_then(|address| self.disks.get(address))
        else {
            return Vec::new();
        };
        let gone = (disk.clone(), (stamp.to_string(), message.to_string()));
        let now = Message::seconds(stamp);
        if since.zip(now).is_some_and(|(since, now)| (0.0..SOON_S).contains(&(now - since))) {
            return vec![gone];
        }
        self.gone.insert(plug.to_string(), gone);
        Vec::new()
    }
}

/// Whether it came back soon after it went; where the log bears no times, that it came back is enough.
fn is_soon(went: Option<&String>, stamp: &str) -> bool {
    let times = went.and_then(|went| Message::seconds(went)).zip(Message::seconds(stamp));
    times.is_none_or(|(went, back)| (0.0..SOON_S).contains(&(back - went)))
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
