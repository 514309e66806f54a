//! Disks on USB that connected at full speed although they support more (drivers/usb/core/hub.c).

/// The kernel's message about a high-speed device on a slower port or hub, and whether the log
/// mentions storage on USB at all: a printer limits no disk.
#[derive(Default)]
pub(super) struct UsbSpeed {
    /// The port, and the place of the message.
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

    /// The port of a disk at full speed, and the place of the message.
    pub(super) fn finish(&mut self) -> Option<(String, String)> {
        self.slow.take().filter(|_| self.has_storage)
    }
}
