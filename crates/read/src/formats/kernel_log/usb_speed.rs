//! Disks on USB that connected at full speed although they support more (drivers/usb/core/hub.c).

/// What the kernel says of a device of high speed on a port or hub that is slower, and whether the
/// log speaks of storage on USB at all: a printer limits no disk.
#[derive(Default)]
pub(super) struct UsbSpeed {
    /// The plug, and where it is said.
    slow: Option<(String, String)>,
    has_storage: bool,
}

/// Bits per second of full and of high speed (USB 2.0, 5.3).
pub(super) const FULL: f64 = 12e6;
pub(super) const HIGH: f64 = 480e6;

impl UsbSpeed {
    pub(super) fn learn(&mut self, message: &str, place: &str) {
        let of_usb = message.strip_prefix("usb ");
        let slow = of_usb.and_then(|rest| rest.split_once(": not running at top speed"));
        if let Some((plug, _)) = slow {
            self.slow = Some((plug.to_string(), place.to_string()));
        }
        self.has_storage |=
            message.starts_with("usb-storage") || message.contains("USB Mass Storage");
    }

    /// The plug of a disk at full speed, and where that is said.
    pub(super) fn finish(&mut self) -> Option<(String, String)> {
        self.slow.take().filter(|_| self.has_storage)
    }
}
