//! A message of a log: its time, its text, and the sector in it.

use super::command::{CommandKind, command};
use crate::Op;

/// A message of a log.
#[derive(Clone, PartialEq, Debug)]
pub struct Message {
    /// Its time as printed.
    pub stamp: String,
    /// Seconds on the log's own clock: since boot, or since its first day. Only differences within
    /// one log are meaningful.
    pub at_s: Option<f64>,
    /// The message without its time.
    pub text: String,
    /// The sector it names.
    pub sector: Option<u64>,
    /// The host adapter of the SCSI address it begins with: 4 of `sd 4:0:0:1: [sde]`. For Fibre
    /// Channel also the adapter that the driver names, 8 of `qla2xxx [0000:41:00.0]-500b:8: `.
    pub adapter: Option<u32>,
    /// The logical unit of that address: 1.
    pub unit: Option<u32>,
    /// The purpose of the command that it names.
    pub command: Option<CommandKind>,
}

/// The subject of a kernel message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageKind {
    /// A command failed for an unknown reason.
    Command,
    /// A controller or host adapter reported an error or was reset.
    Controller,
    /// The drive refused a request: it is locked, or a comparison failed. The kernel calls it a
    /// medium error (drivers/nvme/host/core.c, nvme_error_status).
    Denied,
    /// The drive's firmware changed.
    Firmware,
    /// The drive reports that something inside it failed (sense key Hardware Error).
    Hardware,
    /// A task waited too long.
    HungTask,
    /// A request failed for an unknown reason.
    IoError,
    /// Cable, connector or port.
    Link,
    /// The surface could not be read or written.
    Medium,
    /// A pool, a snapshot or a thin volume has no space left for what is written.
    NoSpace,
    /// The drive answers that it is not ready, and why (sense key Not Ready, additional sense 04h
    /// and 3Ah of SPC-4): it is stopped or starting, or has no medium.
    NotReady,
    /// The device is gone.
    Offline,
    /// A volume lost one of its paths.
    Path,
    /// The link went down or came up, nothing else.
    Phy,
    /// A program queried the drive (SMART, power mode) and got no response: no I/O failed.
    Query,
    /// The drive refused at once a request that it cannot serve (sense key Illegal Request): it
    /// answered, and its medium is not at fault.
    Refused,
    /// A server or peer on the network did not answer.
    Remote,
    /// Another host has reserved the disk (SCSI status Reservation Conflict): it answered, and
    /// nothing is faulty.
    Reserved,
    /// A request was tried again, and is not reported as failed.
    Retried,
    /// An error that only a software target returns: a write that failed with a read error.
    Target,
    /// No answer from the drive.
    Timeout,
}

impl MessageKind {
    /// All kinds, by name.
    pub const ALL: [MessageKind; 21] = [
        MessageKind::Command,
        MessageKind::Controller,
        MessageKind::Denied,
        MessageKind::Firmware,
        MessageKind::Hardware,
        MessageKind::HungTask,
        MessageKind::IoError,
        MessageKind::Link,
        MessageKind::Medium,
        MessageKind::NoSpace,
        MessageKind::NotReady,
        MessageKind::Offline,
        MessageKind::Path,
        MessageKind::Phy,
        MessageKind::Query,
        MessageKind::Refused,
        MessageKind::Remote,
        MessageKind::Reserved,
        MessageKind::Retried,
        MessageKind::Target,
        MessageKind::Timeout,
    ];

    /// Its name in a key: `kernel.log.io-error`.
    pub fn name(self) -> &'static str {
        match self {
            MessageKind::Command => "command",
            MessageKind::Controller => "controller",
            MessageKind::Denied => "denied",
            MessageKind::Firmware => "firmware",
            MessageKind::Hardware => "hardware",
            MessageKind::HungTask => "hung-task",
            MessageKind::IoError => "io-error",
            MessageKind::Link => "link",
            MessageKind::Medium => "medium",
            MessageKind::NoSpace => "no-space",
            MessageKind::NotReady => "not-ready",
            MessageKind::Offline => "offline",
            MessageKind::Path => "path",
            MessageKind::Phy => "phy",
            MessageKind::Query => "query",
            MessageKind::Refused => "refused",
            MessageKind::Remote => "remote",
            MessageKind::Reserved => "reserved",
            MessageKind::Retried => "retried",
            MessageKind::Target => "target",
            MessageKind::Timeout => "timeout",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<MessageKind> {
        MessageKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a message reports about the path between host and disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathEvent {
    /// Frames were corrupted: only a faulty link causes that.
    Corruption,
    /// Frames were corrupted and resent by the hardware within microseconds.
    Corrected,
    /// A controller reports that it has failed (CSTS, controller fatal status).
    Fatal,
    /// A controller was lost although it reports that it is ready.
    Unresponsive,
    /// The link of a host adapter to its storage network is down.
    LinkDown,
    /// A USB device was reset, or a command to it was aborted.
    UsbReset,
    /// A controller was lost and reset; an aborted command alone does not count.
    Reset,
    /// The command completed, but its interrupt never arrived.
    LostInterrupt,
    /// A card's host controller never received its own interrupt.
    CardHost,
    /// A plug was pulled, or its power was lost: another device may be on the link now.
    Exchanged,
    /// No device is on the link of a port.
    NoDevice,
    /// An adapter accessed memory that the IOMMU forbids.
    Memory,
    /// A DMA transfer to an IDE drive never finished: the kernel continues without DMA.
    Dma,
    /// The link was reset, as the kernel does after any command that timed out.
    LinkReset,
    /// A port's drive did not answer a reset: drive, power and cable look alike then.
    DeadPort,
    /// A command was never sent: its memory could not be mapped, or the controller took none.
    Unsent,
}

impl Message {
    /// A message and its time as printed.
    pub fn new(stamp: &str, text: &str) -> Message {
        Message {
            stamp: stamp.to_string(),
            at_s: seconds(stamp),
            text: text.to_string(),
            sector: sector(text),
            adapter: address(text).map(|[adapter, ..]| adapter).or_else(|| of_qla(text)),
            unit: address(text).map(|[.., unit]| unit),
            command: command(text),
        }
    }

    /// What it reports about the path to a disk.
    pub fn log_event(&self) -> Option<PathEvent> {
        log_event(&self.text)
    }

    /// Whether it is libata's result line, `res 40/00:... Emask 0x4 (timeout)`: its last line about
    /// a command, after it froze the port and gave up the command.
    pub fn is_outcome(&self) -> bool {
        let of_a_port = self.text.split_once(": ").filter(|(port, _)| port.starts_with("ata"));
        let reported = of_a_port.map_or(self.text.as_str(), |(_, reported)| reported).trim_start();
        let is_result = reported.starts_with("res ")
            || reported.starts_with("cmd ") && reported.contains(" res ");
        is_result && reported.contains("Emask ")
    }

    /// Whether all attempts at a command, one timeout after the other, ended without an answer:
    /// `timing out command, waited 180s` (drivers/scsi/scsi_lib.c, scsi_cmd_runtime_exceeced).
    pub fn is_out_of_retries(&self) -> bool {
        self.text.contains("timing out command, waited ")
    }

    /// Whether the command went to an optical drive or a tape: ATA's PACKET, `cmd a0/00:...`
    /// (ATA8-ACS).
    pub fn is_of_a_packet_device(&self) -> bool {
        self.text.contains("cmd a0/") || self.text.contains("failed command: PACKET")
    }

    /// Whether an ATA port logs it: `ata3.00: `.
    pub fn is_of_ata(&self) -> bool {
        let port = self.text.strip_prefix("ata");
        port.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    }

    /// Whether it is about an iSCSI connection or session (drivers/scsi/libiscsi.c, repeated by
    /// open-iscsi's daemon).
    pub fn is_of_iscsi(&self) -> bool {
        const BEGIN: [&str; 4] = ["connection", "session", "Kernel reported iSCSI ", "iscsid"];
        let text = self.text.trim_start();
        BEGIN.iter().any(|words| text.starts_with(words)) || text.contains("iSCSI connection is ")
    }

    /// Whether an OSD of Ceph reports that a peer does not answer it (src/osd/OSD.cc,
    /// heartbeat_check).
    pub fn is_of_a_heartbeat(&self) -> bool {
        self.text.contains(" heartbeat_check: no reply from ")
    }

    /// Whether an array reports that it rewrote unreadable sectors of a member, whatever the reason
    /// (drivers/md/raid1.c, raid10.c, raid5.c; drivers/scsi/3w-9xxx.h, twa_aen_table).
    pub fn is_of_an_array(&self) -> bool {
        let text = self.text.trim_start();
        text.starts_with("md/raid") || text.starts_with("3w-") && text.contains(": AEN: ")
    }

    /// Whether an array could not write its own description to a member (drivers/md/md.c).
    pub fn is_superblock_write(&self) -> bool {
        self.text.trim_start().starts_with("md: super_written gets error")
    }

    /// Whether the driver of a host adapter for disks of SCSI, SAS or RAID logs it
    /// (drivers/scsi/mpt3sas, megaraid, aacraid, hpsa.c, smartpqi; drivers/message/fusion).
    pub fn is_of_a_disk_adapter(&self) -> bool {
        const BEGIN: [&str; 9] = [
            "mpt2sas",
            "mpt3sas",
            "mptscsih",
            "mptbase",
            "megaraid_sas",
            "megasas",
            "aacraid",
            "hpsa",
            "smartpqi",
        ];
        BEGIN.iter().any(|driver| self.text.starts_with(driver))
    }

    /// Whether the firmware of such an adapter failed, or the kernel gave the adapter up
    /// (drivers/scsi/megaraid, mpt3sas, hpsa.c, smartpqi).
    pub fn is_of_a_failed_adapter(&self) -> bool {
        const SAID: [&str; 7] = [
            "Controller lockup detected: 0x",
            "controller is offline: status code ",
            "FW in FAULT state",
            "FW detected to be in faultstate",
            "Diag reset adapter never cleared",
            "killing adapter",
            "fault_state(0x",
        ];
        self.is_of_a_disk_adapter() && SAID.iter().any(|words| self.text.contains(words))
    }

    /// Whether a host controller of USB logs it (drivers/usb/host/xhci.c).
    pub fn is_of_usb_host(&self) -> bool {
        self.text.starts_with("xhci")
    }

    /// Whether a USB device left the bus (drivers/usb/core/hub.c).
    pub fn is_usb_disconnect(&self) -> bool {
        self.text.starts_with("usb ") && self.text.contains(": USB disconnect")
    }

    /// Whether a disk was removed unexpectedly (event 157 of Windows).
    pub fn is_surprise_removal(&self) -> bool {
        self.text.contains(" has been surprise removed")
    }

    /// The array whose background work hangs: `INFO: task md0_reshape:2927 blocked for more than
    /// 120 seconds` (drivers/md/md.c, md_do_sync).
    pub fn hung_array(&self) -> Option<&str> {
        let (_, task) = self.text.split_once("task ")?;
        let (array, work) = task.split_once('_')?;
        let is_work = ["resync", "reshape", "recover"].iter().any(|word| work.starts_with(word));
        is_work.then_some(array)
    }

    /// The number of the SCSI host whose error handler hangs: `INFO: task scsi_eh_2:297 blocked for
    /// more than 120 seconds` (drivers/scsi/hosts.c, scsi_host_alloc).
    pub fn hung_recovery(&self) -> Option<&str> {
        let (_, task) = self.text.split_once("task scsi_eh_")?;
        let (host, _) = task.split_once(':')?;
        host.bytes().all(|byte| byte.is_ascii_digit()).then_some(host)
    }

    /// Whether a drive broke the order of a command's states (drivers/ata/libata-sff.c,
    /// ata_sff_hsm_move): the drive itself, or noise on the way.
    pub fn breaks_the_protocol(&self) -> bool {
        self.text.contains("(HSM violation)")
    }

    /// Whether a link answers late, which it does after each reset of a drive that hangs or starts
    /// (drivers/ata/libata-core.c, ata_wait_ready).
    pub fn is_slow_link(&self) -> bool {
        self.text.contains("link is slow to respond")
    }

    /// Whether it shows recovery from an unanswered command while the device still does not answer:
    /// the link is reset, comes up late, and IDENTIFY fails (drivers/ata/libata-core.c,
    /// ata_dev_read_id).
    pub fn is_of_recovery(&self) -> bool {
        self.is_slow_link()
            || LINK_RESET.iter().chain(&DEAD).any(|words| self.text.contains(words))
            || self.text.contains("limiting SATA link speed")
            || self.text.contains("failed to IDENTIFY")
            || self.text.contains("device not ready (errno=")
    }

    /// Whether the kernel gave up an NVMe controller that did not come back from a reset
    /// (drivers/nvme/host/pci.c, nvme_reset_work).
    pub fn gives_a_controller_up(&self) -> bool {
        const SAID: [&str; 3] = [
            "Device not ready; aborting reset",
            "Removing after probe failure",
            "Disabling device after reset failure",
        ];
        SAID.iter().any(|words| self.text.contains(words))
    }

    /// Whether an NVMe command timed out and is aborted (drivers/nvme/host/pci.c, nvme_timeout). If
    /// the device had answered, the kernel polls the completion instead.
    pub fn is_of_nvme_timeout(&self) -> bool {
        self.text.contains(" timeout, aborting")
    }

    /// Whether a controller left the bus: its registers read as all ones.
    pub fn left_its_bus(&self) -> bool {
        controller_status(&self.text) == Some(GONE)
    }

    /// Whether a drive completed a tag that was never sent.
    pub fn names_an_idle_tag(&self) -> bool {
        self.text.contains("log page 10h reported inactive tag")
    }

    /// Whether a drive is stopped and waits for a command to start (additional sense 04h/02h).
    pub fn is_stopped(&self) -> bool {
        self.text.contains("initializing command required")
    }

    /// Whether a device has no medium: a card or a disk is no longer in its reader (additional
    /// sense 3Ah).
    pub fn has_no_medium(&self) -> bool {
        self.text.contains("Medium not present")
    }

    /// Whether a read or a write, which every drive knows, is refused as an unknown command
    /// (additional sense 20h): what answers is out of step, a bridge or a controller.
    pub fn rejects_io(&self) -> bool {
        let is_io = matches!(self.command, Some(CommandKind::Io(Op::Read | Op::Write)));
        is_io && self.text.contains("Invalid command operation code")
    }

    /// Whether a zoned device refuses a write that does not begin at its zone's write pointer (ZBC,
    /// additional sense 21h/04h; NVMe zoned namespaces, statuses b8h to bfh).
    pub fn breaks_the_order_of_a_zone(&self) -> bool {
        const SAID: [&str; 2] = ["Unaligned write command", "(sct 0x1 / sc 0xb"];
        SAID.iter().any(|words| self.text.contains(words))
    }

    /// Whether an NVMe drive refuses an address beyond its namespace (LBA Out of Range). SCSI disks
    /// return the same for a sector that they did not find, as adapters translate it.
    pub fn is_beyond_the_end(&self) -> bool {
        self.text.contains("(sct 0x0 / sc 0x80)") || self.is_beyond_its_end_to_the_kernel()
    }

    /// Whether the kernel itself refuses it before it reaches the drive: `sdb1: rw=0, want=4996184,
    /// limit=4996183`.
    pub fn is_beyond_its_end_to_the_kernel(&self) -> bool {
        self.text.split_once(": rw=").is_some_and(|(_, rest)| rest.contains(" limit="))
    }

    /// Whether the protection information of its sectors does not fit (BLK_STS_PROTECTION): what
    /// the drive was formatted with, and not its medium.
    pub fn is_of_protection(&self) -> bool {
        self.text.contains("protection error, dev ")
    }

    /// Whether the kernel refused a request that is no multiple of the disk's blocks, and never
    /// sent it (drivers/scsi/sd.c, `Bad block number requested` and `Unaligned ...`).
    pub fn is_unaligned_to_the_kernel(&self) -> bool {
        self.text.contains(" block number requested")
    }

    /// Whether libata read the same from every register of a drive: that is a parallel bus that
    /// nobody drives, because of its cable, a jumper or a drive without power
    /// (drivers/ata/libata-sff.c, ata_sff_tf_read).
    pub fn is_of_a_floating_bus(&self) -> bool {
        FLOATING.iter().any(|registers| self.text.contains(registers))
    }

    /// Seconds of a time as logs print it, on the log's own clock.
    pub fn seconds(stamp: &str) -> Option<f64> {
        seconds(stamp)
    }
}

/// Registers of a bus that nobody drives.
const FLOATING: [&str; 2] = ["res 7f/7f:7f:7f:7f:7f", "res ff/ff:ff:ff:ff:ff"];
/// Words that only a faulty link causes (drivers/ata/libata-eh.c).
const CORRUPT: [&str; 18] = [
    "PCIe Bus Error",
    "BadTLP",
    "BadDLLP",
    "BadCRC",
    "ICRC",
    "UnrecovData",
    "Handshk",
    "10B8B",
    "interface fatal error",
    "ATA bus error",
    "Emask 0x10",
    "configured for PIO0",
    // Additional sense 47h of SPC-4 (drivers/scsi/sense_codes.h)
    "Scsi parity error",
    "iuCRC error",
    "service CRC error",
    "phase CRC error",
    // drivers/scsi/3w-9xxx.h
    "PCI bus parity error",
    "PCI Parity Error",
];
/// Words about a controller that was lost and reset (drivers/nvme/host/pci.c, mpt3sas).
const RESET: [&str; 24] = [
    "RESET operation started",
    "controller is down",
    "reset controller",
    "resetting controller",
    "Device not ready",
    "Power-on or device reset",
    // drivers/usb/host/xhci.c, xhci-ring.c
    "host controller not responding",
    "HC died",
    "xHCI host not responding",
    "HCHalted HSE",
    // drivers/scsi/mpt3sas/mpt3sas_base.c
    ": fault_state(0x",
    // drivers/scsi/3w-9xxx.c
    "timed out, resetting card",
    // drivers/scsi/aacraid/linit.c
    "Host adapter reset request",
    "Issuing IOP reset",
    // drivers/scsi/hpsa.c, smartpqi
    ": resetting device ",
    ": resetting logical ",
    ": resetting physical ",
    ": resetting scsi ",
    "Controller lockup detected: 0x",
    "controller is offline: status code ",
    // drivers/scsi/megaraid/megaraid_sas_fusion.c; mr_sas of illumos
    "FW in FAULT state",
    "FW detected to be in faultstate",
    "resetting fusion adapter",
    "FW Fault, calling reset adapter",
];
/// The same for a USB device (drivers/usb/core/hub.c, drivers/usb/storage/uas.c).
const USB_RESET: &str = ": reset ";
const UAS: &str = "uas_eh_";
/// What a PCIe function reports about an error that its link corrected (drivers/pci/pcie/aer.c).
const CORRECTED: &str = "PCIe Bus Error: severity=Correct";
/// Bits of an NVMe controller's status, and the value read from a function that left the bus (NVM
/// Express base specification, controller status).
const READY: u32 = 1;
const FATAL: u32 = 2;
const GONE: u32 = u32::MAX;
/// Words of a Fibre Channel adapter whose link is down, or that cannot log in to the fabric or to a
/// target over it (drivers/scsi/qla2xxx, lpfc, bfa).
const LINK_DOWN: [&str; 5] = [
    "LOOP DOWN detected",
    "Link Down Event",
    "port offline",
    "FLOGI failure",
    "Devloss timeout on",
];
/// And about an interrupt that never arrived (drivers/nvme/host/pci.c).
const POLLED: [&str; 2] = ["completion polled", ": lost interrupt"];
/// About a DMA transfer that never finished (drivers/ide/ide-dma.c).
const DMA: [&str; 4] =
    ["dma_timer_expiry", ": bad DMA status", ": DMA timeout ", ": timeout waiting for DMA"];
/// About a card's host controller (drivers/mmc/host/sdhci.c).
const CARD_HOST: [&str; 1] = ["Timeout waiting for hardware"];
/// About hot-plug (drivers/ata/libahci.c; SATA, SError bit 26).
const EXCHANGED: [&str; 2] = ["DevExch", "connection status changed"];
/// About a command that was never sent (drivers/ata/libata-core.c, ata_qc_issue: AC_ERR_SYSTEM).
const UNSENT: [&str; 1] = ["(internal error)"];
/// About the IOMMU (drivers/iommu).
const MEMORY: [&str; 2] = ["[IO_PAGE_FAULT ", "DMAR: [DMA "];
/// A reset that alone is no evidence against the link (drivers/ata/libata-eh.c, ata_eh_reset; until
/// 2.6.24 of a port).
const LINK_RESET: [&str; 2] = ["hard resetting link", "hard resetting port"];

/// A reset that the drive of a port did not answer (drivers/ata/libata-core.c, sata_std_hardreset;
/// libahci.c, ahci_do_softreset; libata-eh.c, ata_eh_reset).
const DEAD: [&str; 4] = [
    "COMRESET failed (errno=",
    "softreset failed (",
    "reset failed, giving up",
    " misclassified, device detection",
];

/// What the error register of an ATA port says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortErrors {
    /// Frames or words were corrupted.
    Link,
    /// The link came or went.
    Phy,
}

/// The meaning of `SErr 0x280000` of a libata exception (the bits of include/linux/ata.h,
/// `SERR_*`).
pub fn port_errors(text: &str) -> Option<PortErrors> {
    /// Data that could not be recovered, 10b to 8b decode errors, CRC errors and failed handshakes.
    const LINK: u32 = 1 << 8 | 1 << 19 | 1 << 21 | 1 << 22;
    /// The PHY's readiness changed, COMWAKE, and another device than before.
    const PHY: u32 = 1 << 16 | 1 << 18 | 1 << 26;
    let (_, register) = text.split_once(" SErr 0x")?;
    let bits = u32::from_str_radix(register.split_whitespace().next()?, 16).ok()?;
    match bits {
        _ if bits & LINK != 0 => Some(PortErrors::Link),
        _ if bits & PHY != 0 => Some(PortErrors::Phy),
        _ => None,
    }
}

fn log_event(text: &str) -> Option<PathEvent> {
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if says(&[CORRECTED]) {
        Some(PathEvent::Corrected)
    } else if says(&CORRUPT) || says(&FLOATING) || port_errors(text) == Some(PortErrors::Link) {
        Some(PathEvent::Corruption)
    } else if says(&[UAS]) || (text.starts_with("usb ") && says(&[USB_RESET])) {
        Some(PathEvent::UsbReset)
    } else if let Some(status) = controller_status(text) {
        Some(match status {
            GONE => PathEvent::Reset,
            _ if status & FATAL != 0 => PathEvent::Fatal,
            _ if status & READY != 0 => PathEvent::Unresponsive,
            _ => PathEvent::Reset,
        })
    } else if says(&RESET) {
        Some(PathEvent::Reset)
    } else if says(&LINK_DOWN) {
        Some(PathEvent::LinkDown)
    } else if says(&POLLED) {
        Some(PathEvent::LostInterrupt)
    } else if says(&DMA) {
        Some(PathEvent::Dma)
    } else if says(&CARD_HOST) {
        Some(PathEvent::CardHost)
    } else if says(&EXCHANGED) {
        Some(PathEvent::Exchanged)
    } else if is_empty_link(text) {
        Some(PathEvent::NoDevice)
    } else if says(&DEAD) {
        Some(PathEvent::DeadPort)
    } else if says(&MEMORY) {
        Some(PathEvent::Memory)
    } else if says(&UNSENT) {
        Some(PathEvent::Unsent)
    } else {
        says(&LINK_RESET).then_some(PathEvent::LinkReset)
    }
}

/// Whether no device is on a link: `SATA link down (SStatus 130 SControl 300)`, whose last digit is
/// what the port detects (SATA, SStatus.DET).
fn is_empty_link(text: &str) -> bool {
    let (_, rest) = text.split_once("SATA link down (SStatus ").unwrap_or_default();
    rest.split(' ').next().is_some_and(|status| status.ends_with('0'))
}

/// The status register of a controller that is down: `controller is down; will reset: CSTS=0x3,
/// PCI_STATUS=0x10`.
fn controller_status(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("controller is down")?.1.split_once("CSTS=0x")?;
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    u32::from_str_radix(rest.get(..end)?, 16).ok()
}

/// The four numbers of a SCSI address: host adapter, channel, target, logical unit.
fn address(text: &str) -> Option<[u32; 4]> {
    let mut words = text.split_whitespace();
    let address = words.find(|word| word.matches(':').count() >= 3)?.trim_end_matches(':');
    let numbers: Option<Vec<u32>> = address.split(':').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// The host adapter after the address and number of a message (drivers/scsi/qla2xxx/qla_dbg.c,
/// ql_dbg_prefix).
fn of_qla(text: &str) -> Option<u32> {
    let (_, rest) = text.strip_prefix("qla2xxx [")?.split_once("]-")?;
    let mut parts = rest.split(':');
    let (_, adapter) = (parts.next()?, parts.next()?);
    adapter.parse().ok()
}

/// Seconds of a printed time: `86411.201337` since boot, else day and time of day.
fn seconds(stamp: &str) -> Option<f64> {
    if let Ok(since_boot) = stamp.trim().parse::<f64>() {
        return Some(since_boot).filter(|s| s.is_finite());
    }
    let words: Vec<&str> = stamp.split([' ', 'T', ',']).filter(|word| !word.is_empty()).collect();
    let time = words.iter().find_map(|word| time_of_day(word))?;
    let mut days = 0.0;
    for pair in words.windows(2) {
        if let (Some(month), Ok(day)) = (month(pair[0]), pair[1].parse::<f64>()) {
            days = month * 31.0 + day;
        }
    }
    for word in &words {
        let mut parts = word.split('-').map(str::parse::<f64>);
        if let (Some(Ok(_)), Some(Ok(month)), Some(Ok(day)), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            days = month * 31.0 + day;
        }
    }
    Some(days * 86_400.0 + time)
}

/// `02:14:07`, with a fraction or a zone after it.
fn time_of_day(word: &str) -> Option<f64> {
    let mut parts = word.splitn(3, ':');
    let (hours, minutes, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let seconds: f64 = rest.get(..end)?.parse().ok()?;
    Some(hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds)
}

fn month(word: &str) -> Option<f64> {
    let names =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    names.iter().position(|name| word == *name).map(|place| place as f64 + 1.0)
}

/// `..., sector 8654860 op 0x0:(READ)`, `(8 sectors at 3999170856 on sda1)`.
fn sector(message: &str) -> Option<u64> {
    let corrected = || message.split_once(" sectors at ");
    let of_ide = || message.split_once("LBAsect=");
    let (_, rest) = message.split_once("sector ").or_else(of_ide).or_else(corrected)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_a_log_give_differences() {
        assert_eq!(seconds("86411.201337"), Some(86411.201337));
        let apart = |a, b| seconds(b).unwrap() - seconds(a).unwrap();
        assert_eq!(apart("Nov  3 02:14:07", "Nov  3 02:14:37"), 30.0);
        assert_eq!(apart("Sat Nov 21 23:59:59 2026", "Sun Nov 22 00:00:01 2026"), 2.0);
        assert_eq!(apart("2026-11-21T08:36:47+0000", "2026-11-21T08:36:49+0000"), 2.0);
        assert_eq!(seconds("yesterday"), None);
    }

    #[test]
    fn an_adapter_is_named_by_an_address_or_by_its_driver() {
        let adapter = |text: &str| Message::new("900.0", text).adapter;
        assert_eq!(adapter("sd 8:0:0:3: rejecting I/O to offline device"), Some(8));
        assert_eq!(
            adapter("qla2xxx [0000:41:00.0]-500b:8: LOOP DOWN detected (2 7 0 0)."),
            Some(8)
        );
        assert_eq!(adapter("qla2xxx [0000:00:00.0]-0005: : QLogic Fibre Channel HBA Driver"), None);
        assert_eq!(adapter("lpfc 0000:3b:00.0: 0:1305 Link Down Event x5e received"), None);
    }

    #[test]
    fn the_status_of_a_lost_controller_says_what_it_is() {
        let of = |csts: &str| {
            log_event(&format!(
                "nvme nvme2: controller is down; will reset: CSTS={csts}, PCI_STATUS=0x10"
            ))
        };
        assert_eq!(of("0xffffffff"), Some(PathEvent::Reset));
        // Bit 1 means fatal, whatever the other bits are.
        for csts in ["0x2", "0x3", "0xb", "0x1f"] {
            assert_eq!(of(csts), Some(PathEvent::Fatal), "{csts}");
        }
        assert_eq!(of("0x1"), Some(PathEvent::Unresponsive));
        for csts in ["0x0", "", "0x", "what"] {
            assert_eq!(of(csts), Some(PathEvent::Reset), "{csts}");
        }
    }

    #[test]
    fn a_corrected_error_is_no_corruption() {
        for severity in ["Corrected", "Correctable"] {
            let text = format!("nvme 0000:03:00.0: PCIe Bus Error: severity={severity}, type=");
            assert_eq!(log_event(&text), Some(PathEvent::Corrected));
        }
        let text = "nvme 0000:03:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=";
        assert_eq!(log_event(text), Some(PathEvent::Corruption));
        let of = |register| {
            log_event(&format!("ata1.00: exception Emask 0x0 SAct 0x0 SErr {register} action 0x0"))
        };
        assert_eq!(of("0x280000"), Some(PathEvent::Corruption));
        assert_eq!((of("0x50000"), of("0x0")), (None, None));
    }

    #[test]
    fn a_sector_is_found() {
        let message = "blk_update_request: critical medium error, dev sdb, sector 8654860 op 0x0";
        assert_eq!(sector(message), Some(8_654_860));
        assert_eq!(sector("ata3.00: error: { UNC }"), None);
    }
}
