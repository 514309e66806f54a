//! The operating system that an input was captured on, where it is not Linux, by its formats and
//! device names.

use crate::facts::disk_names;

/// A system with other commands for its disks than those of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum System {
    /// AIX.
    Aix,
    /// FreeBSD, and what is made of it.
    FreeBsd,
    /// Solaris and illumos.
    Solaris,
    /// VMware's hypervisor.
    Esxi,
    /// Windows.
    Windows,
}

/// Formats that only one system prints.
const FORMATS: [(&str, System); 9] = [
    ("aix-iostat", System::Aix),
    ("crystal-disk-info", System::Windows),
    ("errpt", System::Aix),
    ("esxi-log", System::Esxi),
    ("esxtop", System::Esxi),
    ("freebsd-iostat", System::FreeBsd),
    ("gstat", System::FreeBsd),
    ("solaris-iostat", System::Solaris),
    ("windows-event", System::Windows),
];

impl System {
    /// That whose tool printed a format.
    pub(crate) fn of_format(name: &str) -> Option<System> {
        FORMATS.iter().find(|(format, _)| *format == name).map(|(_, system)| *system)
    }

    /// That which names its disks and ports so.
    pub(crate) fn of_device(name: &str) -> Option<System> {
        disk_names::is_of_freebsd(name).then_some(System::FreeBsd)
    }

    /// The listing to add next, which shows more about a disk on this system.
    pub(crate) fn next_listing(self) -> &'static str {
        match self {
            System::Aix => {
                "add `iostat -DRTl 10 3`, `errpt -a | head -200`, `lspath` and `lsattr -El DISK` \
                 of that machine"
            }
            System::FreeBsd => {
                "add `gstat -b`, `camcontrol devlist -v`, `smartctl -x /dev/DISK` and the messages \
                 of that minute (`/var/log/messages`)"
            }
            System::Solaris => {
                "add `iostat -xnze 10 3`, `fmdump -eV | tail -100` and `cfgadm -al` of that machine"
            }
            System::Esxi => {
                "add `/var/log/vmkernel.log` of that minute, `esxtop -b -d 2 -n 30` and `esxcli \
                 storage core device stats get`"
            }
            System::Windows => {
                "add the events of that hour (`Get-WinEvent -LogName System`: disk, stornvme, \
                 storahci, Ntfs) and `Get-PhysicalDisk | Get-StorageReliabilityCounter`"
            }
        }
    }
}
