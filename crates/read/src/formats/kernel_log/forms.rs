//! Messages of a known kind, by driver and position of the words.
//!
//! The log also contains names chosen by users: of devices, control groups, programs, files,
//! volumes. So a message is recognised by its driver's prefix and the words that follow there;
//! words anywhere else may be a name.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use iowhy_model::{MessageKind, PortErrors, port_errors};

use super::address::{is_pci, peripheral};
use super::names;
use crate::integer;

/// The logger of a message, by its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Logger {
    /// `aacraid: `, `aacraid 0000:05:00.0: `.
    Aacraid,
    /// `ahcich3: ` of FreeBSD.
    Ahci,
    /// `ata3.00: `, and `res 41/40:...`, which is on a line of its own.
    Ata,
    /// `blk_update_request: ` and the bare messages of later kernels.
    Block,
    /// `(ada0:ahcich0:0:0:0): ` of FreeBSD.
    Cam,
    /// `disk0s2: ` of macOS.
    Darwin,
    /// `drbd r0 peer: `, `block drbd0: `.
    Drbd,
    /// `/pci@0,0/... (sd5):`.
    Illumos,
    /// `qla2xxx [0000:41:00.0]-500b:8: `, `lpfc 0000:3b:00.0: 0:1305 `, `bfa 0000:09:00.0: `.
    FibreChannel,
    /// `hdc: dma_intr: `, and `hdc: DMA timeout error`.
    Ide,
    /// `connection8:0: `.
    Iscsi,
    /// `md/raid1:md0: `.
    Md,
    /// `megaraid_sas 0000:03:00.0: `.
    Megaraid,
    /// `mmcblk0: `.
    MmcBlock,
    /// `mmc0: `.
    MmcHost,
    /// `mpt3sas_cm0: `, `mptscsih: ioc0: `.
    Mpt,
    /// `mr_sas0: ` of illumos.
    MrSas,
    /// `block nbd0: `.
    Nbd,
    /// `nvme nvme0: `, `nvme0n1: `.
    Nvme,
    /// What begins as no driver's messages do; the first words decide.
    Other,
    /// `pcieport 0000:00:1d.0: `, and any other driver of a PCI function.
    Pci,
    /// `sd 4:0:0:0: [sdb] tag#3 `, `scsi host2: `.
    Scsi,
    /// `hpsa 0000:05:00.0: `, `smartpqi 0000:5c:00.0: `, and the device that it names after it:
    /// `hpsa 0000:05:00.0: scsi 2:0:0:1: `.
    SmartArray,
    /// `3w-9xxx: scsi0: `.
    ThreeWare,
    /// `md: disk10 ` of Unraid, whose arrays are its own.
    Unraid,
    /// `usb 1-1.4: `.
    Usb,
    /// `xhci_hcd 0000:00:14.0: `, `xhci-hcd xhci-hcd.0.auto: `.
    Xhci,
}

use Logger as L;
use MessageKind as K;

/// A message of a known kind.
pub(super) struct KnownMessage {
    kind: MessageKind,
    loggers: &'static [Logger],
    /// Its beginning after the logger's own words, and what follows anywhere after that.
    words: &'static [&'static str],
}

const fn row(
    kind: MessageKind,
    loggers: &'static [Logger],
    words: &'static [&'static str],
) -> KnownMessage {
    KnownMessage { kind, loggers, words }
}

/// Whose device may sit on a PCI bus.
const OF_PCI: &[Logger] =
    &[L::Pci, L::Aacraid, L::FibreChannel, L::Megaraid, L::Nvme, L::SmartArray, L::Xhci];

/// Messages by kind; the first row that fits decides (drivers/ata/libata-eh.c,
/// drivers/scsi/scsi_logging.c, block/blk-core.c, drivers/nvme/host/pci.c, kernel/hung_task.c;
/// cases in the issue trackers named on the project's page on evidence).
///
/// The first words and those of the logger are together longer than the name of a task, 15 bytes,
/// with which some messages begin (`comm[pid]: segfault at ...`).
pub(super) const KNOWN: &[KnownMessage] = &[
    row(K::Denied, &[L::Nvme], &["", " @ LBA ", "(sct 0x2 / sc 0x86)"]),
    row(K::Denied, &[L::Nvme], &["", " @ LBA ", "(sct 0x2 / sc 0x85)"]),
    // Zoned namespaces, and addresses outside the namespace (include/linux/nvme.h).
    row(K::Refused, &[L::Nvme], &["", " @ LBA ", "(sct 0x1 / sc 0xb8)"]),
    row(K::Refused, &[L::Nvme], &["", " @ LBA ", "(sct 0x1 / sc 0xb9)"]),
    row(K::Refused, &[L::Nvme], &["", " @ LBA ", "(sct 0x1 / sc 0xbc)"]),
    row(K::Refused, &[L::Nvme], &["", " @ LBA ", "(sct 0x1 / sc 0xbd)"]),
    row(K::Refused, &[L::Nvme], &["", " @ LBA ", "(sct 0x1 / sc 0xbe)"]),
    row(K::Refused, &[L::Nvme], &["", " @ LBA ", "(sct 0x0 / sc 0x80)"]),
    // A reply to a query (SPC-4, sense keys).
    row(K::Denied, &[L::Scsi], &["Sense Key : Data Protect"]),
    row(K::Refused, &[L::Scsi], &["Sense Key : Illegal Request"]),
    row(K::Refused, &[L::Scsi], &["Add. Sense: Invalid command operation code"]),
    row(K::Refused, &[L::Scsi], &["Add. Sense: Unaligned write command"]),
    row(K::Refused, &[L::Scsi], &["Add. Sense: Logical block address out of range"]),
    // Another initiator holds the disk (drivers/scsi/scsi_error.c; block/blk-core.c until 6.4 and
    // since).
    row(K::Reserved, &[L::Scsi], &["reservation conflict"]),
    row(K::Reserved, &[L::Scsi], &["Result: hostbyte=DID_NEXUS_FAILURE"]),
    row(K::Reserved, &[L::Block], &["critical nexus error, dev "]),
    row(K::Reserved, &[L::Block], &["reservation conflict error, dev "]),
    // By the kernel: no multiple of the disk's blocks (drivers/scsi/sd.c).
    row(K::Refused, &[L::Scsi], &["Bad block number requested"]),
    row(K::Refused, &[L::Scsi], &["Unaligned block number requested"]),
    // It answers, and the reason is stated.
    row(K::NotReady, &[L::Scsi], &["Add. Sense: Logical unit not ready, initializing command"]),
    row(K::NotReady, &[L::Scsi], &["Add. Sense: Logical unit is in process of becoming ready"]),
    row(K::NotReady, &[L::Scsi], &["Add. Sense: Medium not present"]),
    // What a translator of SATA drives answers for one that does not (SAT-4, 12.2.2), and libata
    // for one that it disabled (drivers/ata/libata-scsi.c, ata_gen_ata_sense; 04h/21h of SPC-4).
    row(K::Timeout, &[L::Scsi], &["Add. Sense: Logical unit not ready, cause not reportable"]),
    row(K::Timeout, &[L::Scsi], &["Add. Sense: Logical unit not ready, hard reset required"]),
    row(K::Medium, &[L::Block], &["critical medium error, dev "]),
    row(K::Refused, &[L::Block], &["protection error, dev "]),
    row(K::Medium, &[L::Scsi], &["Sense Key : Medium Error"]),
    row(K::Medium, &[L::Scsi], &["Add. Sense: Unrecovered read error"]),
    row(K::Medium, &[L::Scsi], &["ASC=0x11"]),
    // As kernels print it that were built without the names (CONFIG_SCSI_CONSTANTS).
    row(K::Medium, &[L::Scsi], &["Sense Key : 0x3 "]),
    row(K::Hardware, &[L::Scsi], &["Sense Key : 0x4 "]),
    row(K::Refused, &[L::Scsi], &["Sense Key : 0x5 "]),
    row(K::Denied, &[L::Scsi], &["Sense Key : 0x7 "]),
    // Of the drive itself (SPC-4, sense keys): not of its surface, nor of the way to it.
    row(K::Hardware, &[L::Scsi], &["Sense Key : Hardware Error"]),
    row(K::Hardware, &[L::Scsi], &["Add. Sense: Internal target failure"]),
    row(K::Hardware, &[L::Cam], &["SCSI sense: HARDWARE FAILURE"]),
    row(K::Medium, &[L::Ata], &["error: {", "UNC"]),
    row(K::Medium, &[L::Ata], &["res ", "Emask ", "(media error)"]),
    row(K::Medium, &[L::Ata], &["cmd ", "res ", "Emask ", "(media error)"]),
    // As libata spelled the registers until 2.6.18 (drivers/scsi/libata-scsi.c, ata_dump_status),
    // and the outcome until 2.6.20 (libata-eh.c, ata_eh_report); as drivers/ide did (ide-lib.c,
    // ide_dump_ata_error).
    row(K::Link, &[L::Ata, L::Ide], &["error=0x", "{", "BadCRC"]),
    row(K::Medium, &[L::Ata, L::Ide], &["error=0x", "{", "UncorrectableError"]),
    row(K::Medium, &[L::Ata, L::Ide], &["error=0x", "{", "AddrMarkNotFound"]),
    row(K::Medium, &[L::Ide], &["error=0x", "{", "BadSector"]),
    row(K::Medium, &[L::Ata], &["tag ", "cmd 0x", "(media error)"]),
    row(K::Link, &[L::Ata], &["tag ", "cmd 0x", "(ATA bus error)"]),
    row(K::Timeout, &[L::Ata], &["tag ", "cmd 0x", "(timeout)"]),
    // drivers/ide: ide-dma.c, ide-io.c, ide-iops.c. A transfer by DMA that never ended, and an
    // interrupt that never came.
    row(K::Controller, &[L::Ide], &["dma_timer_expiry: dma status"]),
    row(K::Controller, &[L::Ide], &["bad DMA status"]),
    row(K::Controller, &[L::Ide], &["DMA timeout error"]),
    row(K::Controller, &[L::Ide], &["DMA timeout retry"]),
    row(K::Controller, &[L::Ide], &["timeout waiting for DMA"]),
    row(K::Controller, &[L::Ide], &["lost interrupt"]),
    row(K::Timeout, &[L::Ide], &["status timeout: status=0x", "{ Busy"]),
    row(K::Timeout, &[L::Ide], &["irq timeout: status=0x", "{ Busy"]),
    // Sense data until 2.6.24 (drivers/scsi/constants.c).
    row(K::Medium, &[L::Scsi], &["sense key: Medium Error"]),
    row(K::Medium, &[L::Scsi], &["sense key Medium Error"]),
    row(K::Hardware, &[L::Scsi], &["sense key: Hardware Error"]),
    row(K::Hardware, &[L::Scsi], &["sense key Hardware Error"]),
    row(K::Medium, &[L::Scsi], &["Additional sense: Unrecovered read error"]),
    row(K::NotReady, &[L::Scsi], &["Additional sense: Logical unit not ready, initializing"]),
    row(K::NotReady, &[L::Scsi], &["Additional sense: Logical unit is in process of becoming"]),
    row(K::NotReady, &[L::Scsi], &["Additional sense: Medium not present"]),
    // Frames that failed their checksum: SPC-4, additional sense 47h.
    row(K::Link, &[L::Scsi], &["Additional sense: Scsi parity error"]),
    row(K::Link, &[L::Scsi], &["Add. Sense: Scsi parity error"]),
    row(K::Link, &[L::Scsi], &["Add. Sense: Information unit iuCRC error"]),
    row(K::Link, &[L::Scsi], &["Add. Sense: Protocol service CRC error"]),
    row(K::Link, &[L::Scsi], &["Add. Sense: Data phase CRC error"]),
    row(K::Medium, &[L::Nvme], &["", " @ LBA ", "(sct 0x2 / sc 0x81)"]),
    row(K::IoError, &[L::Darwin], &["I/O error."]),
    // Unraid's md.c, md_read_error, md_write_error.
    row(K::IoError, &[L::Unraid], &["read error, sector="]),
    row(K::IoError, &[L::Unraid], &["write error, sector="]),
    row(K::Medium, &[L::Cam], &["SCSI sense: MEDIUM ERROR"]),
    row(K::Medium, &[L::Cam], &["ATA status:", "(UNC"]),
    row(K::Link, &[L::Cam], &["ATA status:", "(ICRC"]),
    row(K::Link, &[L::Cam], &["CAM status: Uncorrectable parity/CRC error"]),
    row(K::Timeout, &[L::Cam], &["CAM status: Command timeout"]),
    row(K::Timeout, &[L::Ahci], &["Timeout on slot"]),
    row(K::Command, &[L::Cam], &["CAM status: ATA Status Error"]),
    row(K::Offline, &[L::Cam], &["lost device"]),
    row(K::Timeout, &[L::Mpt, L::Scsi], &["attempting task abort"]),
    // drivers/scsi/qla2xxx/qla_os.c, qla2xxx_eh_abort
    row(K::Timeout, &[L::FibreChannel], &["", "Abort command issued"]),
    row(K::Timeout, &[L::Mpt, L::Scsi], &["attempting device reset"]),
    row(K::Timeout, &[L::Mpt, L::Scsi], &["attempting target reset"]),
    row(K::Timeout, &[L::Mpt, L::Scsi], &["attempting host reset"]),
    // drivers/scsi/sym53c8xx_2/sym_glue.c and related ones: what the error handler does about a
    // command without an answer.
    row(K::Timeout, &[L::Scsi], &["ABORT operation started"]),
    row(K::Timeout, &[L::Scsi], &["DEVICE RESET operation started"]),
    row(K::Controller, &[L::Scsi], &["TARGET RESET operation started"]),
    row(K::Controller, &[L::Scsi], &["BUS RESET operation started"]),
    row(K::Controller, &[L::Scsi], &["HOST RESET operation started"]),
    // drivers/scsi/scsi_obsolete.c of 2.4: what its error handler does, one thing after the other.
    row(K::Timeout, &[L::Other], &["scsi : aborting command due to timeout : pid "]),
    row(K::Controller, &[L::Other], &["SCSI host ", "abort (pid ", ") timed out - resetting"]),
    row(K::Controller, &[L::Other], &["SCSI host ", "reset (pid ", ") timed out"]),
    row(K::Controller, &[L::Other], &["SCSI bus is being reset for host "]),
    // drivers/message/fusion: mptscsih.c of 2.4 and 2.6, mptbase.c. 3 is SAS, 1 its link (PL).
    row(K::Controller, &[L::Other], &["mptscsih: OldAbort scheduling ABORT SCSI IO"]),
    row(K::Controller, &[L::Other], &["mptscsih: OldReset scheduling "]),
    row(K::Controller, &[L::Mpt], &["WARNING - Issuing Reset from mptscsih"]),
    row(K::Controller, &[L::Mpt], &["WARNING - IOC is in FAULT state"]),
    row(K::Controller, &[L::Mpt], &["IOC is in FAULT state"]),
    row(K::Controller, &[L::Mpt], &["LogInfo(0x31"]),
    row(K::Controller, &[L::Other], &["mptbase: Initiating ioc", " recovery"]),
    row(K::Link, &[L::Ata], &["SError: {", "BadCRC"]),
    row(K::Link, &[L::Ata], &["SError: {", "UnrecovData"]),
    row(K::Link, &[L::Ata], &["SError: {", "Handshk"]),
    row(K::Link, &[L::Ata], &["SError: {", "10B8B"]),
    row(K::Link, &[L::Ata], &["error: {", "ICRC"]),
    row(K::Link, &[L::Ata], &["res ", "Emask ", "(ATA bus error)"]),
    row(K::Link, &[L::Ata], &["cmd ", "res ", "Emask ", "(ATA bus error)"]),
    row(K::Link, &[L::Ata], &["irq_stat 0x", "interface fatal error"]),
    row(K::Link, &[L::Ata], &["hard resetting link"]),
    row(K::Link, &[L::Ata], &["hard resetting port"]),
    row(K::Link, &[L::Ata], &["limiting SATA link speed"]),
    row(K::Link, &[L::Ata], &["COMRESET failed (errno="]),
    row(K::Link, &[L::Ata], &["softreset failed ("]),
    row(K::Link, &[L::Ata], &["reset failed, giving up"]),
    row(K::Link, &[L::Ata], &["link online but ", " misclassified, device detection"]),
    // drivers/ata/libata-core.c, ata_down_xfermask_limit: the last resort after errors.
    row(K::Link, &[L::Ata], &["configured for PIO0"]),
    row(K::Link, OF_PCI, &["PCIe Bus Error: "]),
    row(K::Link, OF_PCI, &["AER: PCIe Bus Error: "]),
    row(K::Link, OF_PCI, &["AHCI controller unavailable!"]),
    row(K::Link, &[L::Ata], &["SATA link down"]),
    // drivers/scsi: qla2xxx/qla_isr.c, lpfc/lpfc_els.c, bfa/bfa_svc.c
    row(K::Link, &[L::FibreChannel], &["LOOP DOWN detected"]),
    row(K::Link, &[L::FibreChannel], &["", "Link Down Event"]),
    row(K::Link, &[L::FibreChannel], &["", "port offline"]),
    row(K::Link, &[L::FibreChannel], &["", "FLOGI failure"]),
    row(K::Link, &[L::FibreChannel], &["", "Devloss timeout on"]),
    row(K::Link, &[L::Ata], &[super::SLOW_LINK]),
    row(K::Link, &[L::Ata], &["device not ready (errno="]),
    row(K::Link, &[L::Ata], &["failed to IDENTIFY"]),
    row(K::Link, &[L::Scsi], &["Result: hostbyte=DID_TRANSPORT"]),
    row(K::Link, &[L::Scsi], &["Result: hostbyte=DID_PARITY"]),
    row(K::Phy, &[L::Ata], &["SError: {", "PHYRdyChg"]),
    row(K::Phy, &[L::Ata], &["SError: {", "DevExch"]),
    row(K::Phy, &[L::Ata], &["irq_stat 0x", "connection status changed"]),
    row(K::Phy, &[L::Ata], &["SError: {", "CommWake"]),
    row(K::Link, &[L::Ata], &["exception Emask 0x10"]),
    row(K::Timeout, &[L::Ata], &["exception Emask 0x0 ", "frozen"]),
    row(K::Timeout, &[L::Ata], &["qc timeout"]),
    row(K::Timeout, &[L::Ata], &["failed command: FLUSH CACHE"]),
    row(K::Timeout, &[L::Ata], &["res ", "Emask ", "(timeout)"]),
    row(K::Timeout, &[L::Ata], &["cmd ", "res ", "Emask ", "(timeout)"]),
    // Never sent: its memory could not be mapped, or the controller took none (ata_qc_issue).
    row(K::Controller, &[L::Ata], &["res ", "Emask ", "(internal error)"]),
    row(K::Controller, &[L::Ata], &["cmd ", "res ", "Emask ", "(internal error)"]),
    // The drive broke the order of a command's states (ata_hsm_move): itself, or noise on its way.
    row(K::Command, &[L::Ata], &["res ", "Emask ", "(HSM violation)"]),
    row(K::Command, &[L::Ata], &["cmd ", "res ", "Emask ", "(HSM violation)"]),
    row(K::Timeout, &[L::Scsi], &["timing out command"]),
    row(K::Timeout, &[L::Scsi], &["Result: hostbyte=DID_TIME_OUT"]),
    // drivers/ata/libata-sff.c, ata_sff_lost_interrupt: the drive was ready, and no device is
    // named.
    row(K::Controller, &[L::Ata], &["lost interrupt (Status 0x"]),
    row(K::Command, &[L::Ata], &["failed command: "]),
    row(K::Offline, &[L::Scsi], &["Result: hostbyte=DID_BAD_TARGET"]),
    row(K::Controller, &[L::Scsi], &["megasas: RESET "]),
    row(K::Controller, &[L::Other], &["megasas: RESET -"]),
    row(K::Controller, &[L::Megaraid], &["FW in FAULT state"]),
    row(K::Controller, &[L::Megaraid], &["FW detected to be in faultstate"]),
    row(K::Controller, &[L::Megaraid], &["resetting fusion adapter"]),
    // drivers/scsi/megaraid, without the address of the adapter (before 4.9)
    row(K::Controller, &[L::Other], &["megasas: Found FW in FAULT state"]),
    row(K::Controller, &[L::Megaraid], &["Diag reset adapter never cleared"]),
    row(K::Controller, &[L::Megaraid], &["Reset failed, killing adapter"]),
    // usr/src/uts/common/io/mr_sas of illumos
    row(K::Controller, &[L::MrSas], &["io_timeout_checker: FW Fault"]),
    row(K::Controller, &[L::MrSas], &["io_timeout_checker: ", "RESET FAILED"]),
    row(K::Controller, &[L::MrSas], &["mrsas_tbolt_reset_ppc(): RESET FAILED"]),
    // drivers/mmc/core/block.c: ETIMEDOUT and EILSEQ (a checksum)
    row(K::Timeout, &[L::MmcBlock], &["error -110 "]),
    row(K::Timeout, &[L::MmcBlock], &["timed out sending "]),
    // drivers/mmc/host/sdhci.c: the host controller waits for its own interrupt.
    row(K::Controller, &[L::MmcHost], &["Timeout waiting for hardware"]),
    row(K::Controller, &[L::MmcHost], &["Controller never released inhibit bit(s)"]),
    // drivers/mmc/core/core.c: the queue of commands lost one, and begins anew.
    row(K::Controller, &[L::MmcHost], &["running CQE recovery"]),
    row(K::Link, &[L::MmcBlock], &["error -84 "]),
    // drivers/mmc/core/core.c, mmc_ops.c: the card itself does not answer.
    row(K::Timeout, &[L::MmcHost], &["error -110 whilst initialising "]),
    row(K::Timeout, &[L::MmcHost], &["card never left busy state"]),
    // net/sunrpc/clnt.c, fs/nfs; drivers/scsi/libiscsi.c; drivers/block/drbd; fs/cifs/connect.c;
    // drivers/nvme/host/fabrics.c
    row(K::Remote, &[L::Other], &["nfs: ", " not responding"]),
    // lustre/ptlrpc/import.c (ptlrpc_set_import_discon), of the client.
    row(K::Remote, &[L::Other], &["Lustre: ", ": Connection to ", " was lost; in progress "]),
    row(K::Remote, &[L::Other], &["CIFS: VFS: ", " has not responded in "]),
    row(K::Remote, &[L::Other], &["CIFS VFS: Server ", " has not responded in "]),
    row(K::Remote, &[L::Other], &["CIFS: VFS: Error connecting to socket"]),
    row(K::Remote, &[L::Other], &["CIFS VFS: Error connecting to socket"]),
    row(K::Remote, &[L::Other], &["CIFS VFS: No response for cmd "]),
    row(K::Remote, &[L::Other], &["CIFS VFS: No response to cmd "]),
    row(K::Remote, &[L::Other], &["CIFS VFS: server not responding"]),
    row(K::Remote, &[L::Iscsi], &["ping timeout of "]),
    row(K::Remote, &[L::Iscsi], &["detected conn error"]),
    row(K::Remote, &[L::Iscsi], &["session recovery timed out after "]),
    row(K::Remote, &[L::Other], &[OF_ISCSID, " error ("]),
    row(K::Remote, &[L::Other], &["connection ", "Nop-out timeout after "]),
    // An array says that the port of this path no longer serves the volume, or does not yet (SPC-4,
    // asymmetric access). In standby it is healthy and waits for its turn.
    row(
        K::Remote,
        &[L::Scsi],
        &["Add. Sense: Logical unit not accessible, target port in unavail"],
    ),
    row(
        K::Remote,
        &[L::Scsi],
        &["Add. Sense: Logical unit not accessible, asymmetric access state"],
    ),
    // drivers/md/dm-mpath.c
    row(K::Path, &[L::Other], &["device-mapper: multipath: ", "Failing path "]),
    // drivers/md: raid1.c, raid10.c, raid5.c
    row(K::Medium, &[L::Md], &["read error corrected (", " on "]),
    row(K::Medium, &[L::Md], &["read error NOT corrected", " on "]),
    row(K::Medium, &[L::Md], &["read error not correctable (", " on "]),
    row(K::Medium, &[L::Md], &["Too many read errors, failing device "]),
    row(K::Medium, &[L::Md], &["", "Raid device exceeded read_error threshold"]),
    row(K::IoError, &[L::Md], &["Disk failure on "]),
    row(K::IoError, &[L::Md], &["", "rescheduling sector "]),
    // drivers/md/md.c: the array could not write its own description to a member.
    row(K::IoError, &[L::Other], &["md: super_written gets error="]),
    // drivers/md/bcache/io.c: a device of the cache, and one that is cached.
    row(K::IoError, &[L::Other], &["bcache: bch_count_io_errors() "]),
    row(K::IoError, &[L::Other], &["bcache: bch_count_backing_io_errors() "]),
    row(K::Remote, &[L::Drbd], &["PingAck did not arrive in time"]),
    // drivers/block/nbd.c
    row(K::Remote, &[L::Nbd], &["Receive control failed (result "]),
    row(K::Remote, &[L::Nbd], &["Send control failed (result "]),
    row(K::Remote, &[L::Nbd], &["Connection timed out"]),
    row(K::Remote, &[L::Nbd], &["Dead connection, failed to find a fallback"]),
    row(K::Remote, &[L::Nbd], &["Other side returned error ("]),
    row(K::Remote, &[L::Nbd], &["Possible stuck request "]),
    row(K::Remote, &[L::Nvme], &["Reconnecting in "]),
    // net/ceph/osdmap.c, mon_client.c; drivers/block/rbd.c
    row(K::Remote, &[L::Other], &["libceph: osd", " down"]),
    row(K::Remote, &[L::Other], &["libceph: mon", " session lost, hunting for new mon"]),
    row(K::Remote, &[L::Other], &["rbd: rbd", " result -"]),
    // drivers/scsi/storvsc_drv.c: the hypervisor did not complete requests.
    row(K::Remote, &[L::Other], &["STORVSC_DRV: sdev ", "host resetting..."]),
    row(K::Remote, &[L::Other], &["STORVSC: resetting host adapter"]),
    // An initiator on macOS.
    row(K::Remote, &[L::Other], &["iscsi: Connection timeout"]),
    row(K::Remote, &[L::Other], &["iscsi: Task timeout"]),
    // drivers/md/dm-thin.c, drivers/md/dm-snap.c, block/blk-core.c (BLK_STS_NOSPC); 28 is ENOSPC.
    row(K::NoSpace, &[L::Other], &["device-mapper: thin: ", "out-of-data-space"]),
    row(K::NoSpace, &[L::Other], &["device-mapper: thin: ", "no free ", " space available"]),
    row(K::NoSpace, &[L::Other], &["device-mapper: thin: ", "failed: error = -28"]),
    row(K::NoSpace, &[L::Other], &["device-mapper: snapshots: ", "Unable to allocate exception"]),
    row(K::NoSpace, &[L::Block], &["critical space allocation error, dev "]),
    row(
        K::NoSpace,
        &[L::Other],
        &["EXT4-fs warning (device ", "): ext4_end_bio:", ": I/O error -28 writing"],
    ),
    // block/blk-core.c, handle_bad_sector, until 5.16 and since: the layer above sends a request
    // beyond the end of the device.
    row(K::Refused, &[L::Block], &["rw=", ", want=", ", limit="]),
    row(K::Refused, &[L::Block], &["rw=", ", sector=", ", nr_sectors = ", " limit="]),
    // Commands that a drive does not support (discards, write same) fail in this way too, and are
    // not a fault.
    row(K::IoError, &[L::Block], &["critical target error, dev ", ":(WRITE)"]),
    row(K::IoError, &[L::Block], &["critical target error, dev ", ":(READ)"]),
    row(K::Controller, &[L::Nvme], &["I/O ", " timeout, "]),
    row(K::Controller, &[L::Nvme], &["controller is down"]),
    row(K::Controller, &[L::Nvme], &["resetting controller"]),
    row(K::Controller, &[L::Nvme], &["Device not ready"]),
    row(K::Controller, &[L::Scsi], &["Result: hostbyte=DID_BUS_BUSY"]),
    row(K::Controller, &[L::Scsi], &["Result: hostbyte=DID_ERROR"]),
    row(K::Controller, &[L::Scsi], &["Result: hostbyte=DID_RESET"]),
    row(K::Controller, &[L::Scsi], &["Result: hostbyte=DID_SOFT_ERROR"]),
    // What an adapter may not reach in memory (drivers/iommu/amd/iommu.c,
    // drivers/iommu/intel/dmar.c).
    row(K::Controller, OF_PCI, &["AMD-Vi: Event logged [IO_PAGE_FAULT "]),
    row(K::Controller, &[L::Other], &["AMD-Vi: Event logged [IO_PAGE_FAULT device="]),
    row(K::Controller, &[L::Other], &["DMAR: [DMA ", "Request device ["]),
    // drivers/ata/libata-sata.c, ata_eh_analyze_ncq_error: the drive's own log names a tag that was
    // not sent.
    row(K::Controller, &[L::Ata], &["log page 10h reported inactive tag"]),
    row(K::Controller, &[L::Nvme], &["Removing after probe failure"]),
    row(K::Controller, &[L::Nvme], &["Disabling device after reset failure"]),
    row(K::Controller, &[L::Xhci], &["ERROR Transfer event"]),
    row(K::Controller, &[L::Xhci], &["ERROR unknown event"]),
    row(K::Controller, &[L::Xhci], &["ERROR no room on "]),
    row(K::Controller, &[L::Xhci], &["ERROR mismatched command completion"]),
    row(K::Controller, &[L::Xhci], &["xHCI host ", "not responding"]),
    row(K::Controller, &[L::Xhci], &["HC died; cleaning up"]),
    row(K::Controller, &[L::Xhci], &["USBSTS: ", "HCHalted HSE"]),
    // Of the link (PL); what the firmware reports of itself (IOP) is not a log event
    // (mpi/mpi_log_sas.h, originators).
    row(K::Controller, &[L::Mpt], &["log_info(", "originator(PL)"]),
    row(K::Controller, &[L::Mpt], &["fault_state(0x"]),
    row(K::Controller, &[L::Aacraid], &["Host adapter abort request"]),
    row(K::Controller, &[L::Aacraid], &["Host adapter reset request"]),
    row(K::Controller, &[L::Aacraid], &["Issuing IOP reset"]),
    // drivers/scsi/hpsa.c: a device that completed no command, until 4.1 and since, and firmware
    // that hangs.
    row(K::Controller, &[L::SmartArray], &["resetting device "]),
    row(K::Controller, &[L::SmartArray], &["resetting logical "]),
    row(K::Controller, &[L::SmartArray], &["resetting physical "]),
    row(K::Controller, &[L::SmartArray], &["reset logical ", "failed"]),
    row(K::Controller, &[L::SmartArray], &["reset physical ", "failed"]),
    row(K::Controller, &[L::SmartArray], &["Controller lockup detected: 0x"]),
    // drivers/scsi/smartpqi
    row(K::Controller, &[L::SmartArray], &["resetting scsi "]),
    row(K::Controller, &[L::SmartArray], &["reset of scsi ", ": FAILED"]),
    row(K::Controller, &[L::SmartArray], &["controller is offline: status code "]),
    row(K::Controller, &[L::SmartArray], &["no heartbeat detected - last heartbeat count: "]),
    // drivers/scsi/3w-9xxx.h, twa_aen_table and twa_error_table
    row(K::Link, &[L::ThreeWare], &["", "PCI bus parity error"]),
    row(K::Link, &[L::ThreeWare], &["", "PCI Parity Error"]),
    row(K::Timeout, &[L::ThreeWare], &["", "Drive timeout detected"]),
    // drivers/scsi/3w-9xxx.c, twa_scsi_eh_reset
    row(
        K::Controller,
        &[L::Scsi],
        &["WARNING: (0x06:0x002C): Command (0x", ") timed out, resetting"],
    ),
    // usr/src/uts/common/io/sata of illumos
    row(K::Link, &[L::Illumos], &["SATA port ", " error"]),
    row(K::IoError, &[L::Illumos], &["SYNCHRONIZE CACHE command failed"]),
    // drivers/scsi/aic7xxx: what it sends to get hold of a target again.
    row(K::Timeout, &[L::Scsi], &["Attempting to queue a", " message"]),
    row(K::Controller, &[L::Scsi], &["Unable to deliver message"]),
    row(K::Controller, &[L::Mpt, L::Scsi], &["task abort: "]),
    row(K::Controller, &[L::Scsi], &["Power-on or device reset occurred"]),
    row(K::Controller, &[L::Scsi], &["uas_eh_abort_handler"]),
    row(K::Controller, &[L::Scsi], &["uas_eh_bus_reset_handler"]),
    row(K::Controller, &[L::Scsi], &["uas_eh_device_reset_handler"]),
    row(K::Offline, &[L::Scsi], &["rejecting I/O to offline device"]),
    row(K::Offline, &[L::Scsi], &["Device offlined"]),
    // drivers/scsi/sd.c, sd_setup_read_write_cmnd
    row(K::Offline, &[L::Scsi], &["device offline or changed"]),
    row(K::Offline, &[L::Other], &["scsi: Device offlined"]),
    row(K::Offline, &[L::Scsi], &["Result: hostbyte=DID_NO_CONNECT"]),
    row(K::IoError, &[L::Block], &["Buffer I/O error on dev"]),
    row(K::IoError, &[L::Block], &["I/O error, dev "]),
    row(K::Firmware, &[L::Usb], &["device firmware changed"]),
];

/// How the daemon of iSCSI's initiator begins to repeat what the kernel told it (open-iscsi,
/// usr/initiator.c).
pub(super) const OF_ISCSID: &str = "Kernel reported iSCSI connection ";
/// The prefixes of the block layer's messages: since 2.6, 3.x, 4.13.
const OF_BLOCK: [&str; 3] = ["end_request: ", "blk_update_request: ", "print_req_error: "];
/// How its messages begin without that, since 5.17, and those about the page cache.
const BLOCK: [&str; 7] = [
    "critical medium error, dev ", "critical target error, dev ", "critical nexus error, dev ",
    "critical space allocation error, dev ", "reservation conflict error, dev ", "I/O error, dev ",
    "Buffer I/O error on dev",
];
/// How messages begin that have no colon and a blank in them, and are yet of a logger.
const WITHOUT_COLON: [&str; 5] = ["tag#", "res ", "cmd ", "/pci@", "WARNING: /pci@"];
/// The SCSI layer's message on a line of its own where a kernel or a page broke the line after the
/// disk's name.
const OF_SCSI: [&str; 7] = [
    OF_2_4, OF_2_6, "Sense Key : ", "Add. Sense: ", "Additional sense: ", "Result: hostbyte=",
    "FAILED Result: hostbyte=",
];
/// Functions of drivers/ide that report the registers of a drive, and what else it reports.
const OF_IDE: [&str; 17] = [
    "DMA disabled", "DMA timeout ", "dma_intr: ", "dma_timer_expiry: ", "dma timeout ",
    "drive not ready for command", "irq timeout: ", "lost interrupt", "multwrite_intr: ",
    "read_intr: ", "status timeout: ", "task_in_intr: ", "task_mulout_intr: ", "task_out_intr: ",
    "task_pio_intr: ", "timeout waiting for DMA", "write_intr: ",
];
/// Commands of the disk driver that failed: `Read Capacity(10) failed: Result: hostbyte=...`.
const FAILED: [&str; 2] = [" failed: Result: hostbyte=", "REPORT ZONES: Result: hostbyte="];
/// Where the result begins at the latest.
const FAILED_AT: usize = "Synchronize Cache(10) ".len();

/// How a message's logger begins it, and what it says.
pub(super) fn heading(message: &str) -> (Logger, &str) {
    let message = without_colon(message);
    let begins = |words: &&str| message.starts_with(words);
    if !message.contains(": ") && !BLOCK.iter().chain(&WITHOUT_COLON).any(begins) {
        return (L::Other, message);
    }
    of_disk_driver(message)
        .or_else(|| of_adapter(message))
        .or_else(|| of_bus(message))
        .unwrap_or((L::Other, message))
}

/// A message that kernels 2.6.24 to 2.6.27 continue in a line of its own: `: Add. Sense: ...`.
pub(super) fn without_colon(message: &str) -> &str {
    let message = message.trim_start();
    message.strip_prefix(": ").unwrap_or(message)
}

fn of_disk_driver(message: &str) -> Option<(Logger, &str)> {
    if let Some(body) = OF_BLOCK.iter().find_map(|words| message.strip_prefix(words)) {
        return Some((L::Block, body));
    }
    if BLOCK.iter().any(|words| message.starts_with(words)) {
        return Some((L::Block, message));
    }
    if let Some((_, body)) = of_bad_sector(message) {
        return Some((L::Block, body));
    }
    if OF_SCSI.iter().any(|words| message.starts_with(words)) || message.starts_with("tag#") {
        return Some((L::Scsi, of_command(message)));
    }
    if let Some((_, body)) = older_sense(message) {
        return Some((L::Scsi, body));
    }
    if let Some((_, body)) = of_ide(message) {
        return Some((L::Ide, body));
    }
    if names::address(message).is_some() {
        let (_, body) = message.split_once(": ")?;
        return Some((L::Scsi, of_command(without_name(body))));
    }
    if let Some(body) = numbered(message, "scsi host").or_else(|| numbered(message, "scsi")) {
        // `scsi0 : `, `scsi1 (0:0): `
        let at = body.find(": ").filter(|at| *at < 8)?;
        return Some((L::Scsi, of_command(body.get(at + 2..)?)));
    }
    if let Some(rest) = numbered(message, "ata") {
        let rest = rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches(is_digit));
        return Some((L::Ata, rest.strip_prefix(": ")?.trim_start()));
    }
    if message.starts_with("res ") || message.starts_with("cmd ") {
        return Some((L::Ata, message));
    }
    if let Some(rest) = numbered(message, "mmcblk") {
        return Some((L::MmcBlock, rest.split_once(": ").filter(|(part, _)| is_word(part))?.1));
    }
    if let Some(rest) = numbered(message, "mmc") {
        return Some((L::MmcHost, rest.strip_prefix(": ")?));
    }
    if let Some(rest) = message.strip_prefix("block ").and_then(|rest| numbered(rest, "nbd")) {
        return Some((L::Nbd, rest.strip_prefix(": ")?));
    }
    let of_nvme = message.strip_prefix("nvme ").or_else(|| message.strip_prefix("block "));
    let (name, body) = of_nvme.unwrap_or(message).split_once(": ")?;
    let is_nvme = name.strip_prefix("nvme").is_some_and(|rest| {
        rest.starts_with(is_digit)
            && rest.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'n' | b'c' | b'p'))
    });
    (is_nvme || message.starts_with("nvme ") && is_pci(name)).then_some((L::Nvme, body))
}

fn of_adapter(message: &str) -> Option<(Logger, &str)> {
    let after = |rest: &'_ str| rest.find(": ").map(|at| at + 2);
    for (driver, logger) in [("aacraid", L::Aacraid), ("megaraid_sas", L::Megaraid)] {
        if let Some(rest) = message.strip_prefix(driver) {
            // A PCI address or nothing comes between.
            let at = after(rest).filter(|at| *at == 2 || rest.starts_with(' ') && *at < 20)?;
            return Some((logger, rest.get(at..)?));
        }
    }
    if let Some(body) = of_smart_array(message) {
        return Some((L::SmartArray, behind_smart_array(body).map_or(body, |(_, body)| body)));
    }
    for driver in
        ["mpt2sas_cm", "mpt3sas_cm", "mpt2sas", "mpt3sas", "mptscsih: ioc", "mptbase: ioc"]
    {
        if let Some(rest) = numbered(message, driver) {
            return Some((L::Mpt, rest.strip_prefix(": ")?));
        }
    }
    let of_sas = message.strip_prefix("WARNING: ").unwrap_or(message);
    if let Some(rest) = numbered(of_sas, "mr_sas") {
        return Some((L::MrSas, rest.strip_prefix(": ")?));
    }
    if of_sas.starts_with("/pci@") {
        let (place, body) = of_sas
            .split_once(':')
            .filter(|(_, rest)| !rest.starts_with(|c: char| c.is_ascii_digit()))?;
        let (place, _) = place.split_once(" (").unwrap_or((place, ""));
        let body =
            body.trim_start_matches(' ').trim_start_matches(['#', '0', '1', '2']).trim_start();
        return is_word(place).then_some((L::Illumos, body));
    }
    if let Some(rest) = message.strip_prefix("3w-") {
        let (driver, rest) = rest.split_once(": ")?;
        let body = numbered(rest, "scsi")?.strip_prefix(": ")?;
        return is_word(driver).then_some((L::ThreeWare, body));
    }
    if let Some(rest) = numbered(message, "ahcich") {
        return Some((L::Ahci, rest.strip_prefix(": ")?));
    }
    if let Some((_, body)) = of_darwin(message) {
        return Some((L::Darwin, body));
    }
    if let Some((_, body)) = of_unraid(message) {
        return Some((L::Unraid, body));
    }
    peripheral(message)?;
    Some((L::Cam, message.split_once("): ")?.1))
}

/// What drivers of Smart Arrays log behind their PCI function.
fn of_smart_array(message: &str) -> Option<&str> {
    let rest = message.strip_prefix("hpsa ").or_else(|| message.strip_prefix("smartpqi "))?;
    let (function, body) = rest.split_once(": ")?;
    is_pci(function).then_some(body)
}

/// The address of a device and what is said of it, behind the driver's own name: `scsi 2:0:0:1:
/// resetting logical  Direct-Access ...`.
fn behind_smart_array(body: &str) -> Option<(&str, &str)> {
    let address = names::address(body)?;
    Some((address, body.split_once(": ")?.1))
}

/// `2:0:0:1` of `hpsa 0000:05:00.0: scsi 2:0:0:1: resetting logical  Direct-Access ...`, until 4.1
/// `hpsa 0000:05:00.0: resetting device 2:0:0:1`, and of `smartpqi 0000:5c:00.0: resetting scsi
/// 2:0:0:1`.
pub(super) fn smart_array_address(message: &str) -> Option<&str> {
    const BEFORE: [&str; 3] = ["resetting device ", "resetting scsi ", "reset of scsi "];
    let body = of_smart_array(message)?;
    if let Some((address, _)) = behind_smart_array(body) {
        return Some(address);
    }
    let rest = BEFORE.iter().find_map(|words| body.strip_prefix(words))?;
    let address = rest.split(' ').next()?.trim_end_matches(':');
    let numbers = address.split(':').filter(|number| integer(number).is_some()).count();
    (numbers == 4 && address.matches(':').count() == 3).then_some(address)
}

/// The disk of `disk0s2: I/O error.` without its slices, and what is said of it.
pub(super) fn of_darwin(message: &str) -> Option<(&str, &str)> {
    let mut rest = numbered(message, "disk")?;
    let disk = message.get(..message.len() - rest.len())?;
    while let Some(after) = numbered(rest, "s") {
        rest = after;
    }
    Some((disk, rest.strip_prefix(": ")?))
}

/// The disk of `md: disk10 read error, sector=15303268032`, by its place in the array.
pub(super) fn of_unraid(message: &str) -> Option<(&str, &str)> {
    let rest = numbered(message, "md: disk")?;
    let disk = message.get("md: ".len()..message.len() - rest.len())?;
    Some((disk, rest.strip_prefix(' ')?))
}

fn of_bus(message: &str) -> Option<(Logger, &str)> {
    if let Some(rest) = numbered(message, "connection") {
        return Some((L::Iscsi, numbered(rest, ":")?.strip_prefix(": ")?));
    }
    if let Some(rest) = numbered(message, "session") {
        return Some((L::Iscsi, rest.strip_prefix(": ")?));
    }
    if let Some(rest) = message.strip_prefix("md/raid") {
        let (_, body) = rest.split_once(": ").filter(|(array, _)| is_word(array))?;
        return Some((L::Md, body));
    }
    if let Some(rest) = message.strip_prefix("drbd ").or_else(|| message.strip_prefix("block drbd"))
    {
        let (names, body) = rest.split_once(": ")?;
        return names.split(' ').count().le(&2).then_some((L::Drbd, body));
    }
    let (driver, rest) = message.split_once(' ')?;
    let (device, body) = rest.split_once(": ").filter(|(device, _)| is_word(device))?;
    let named = driver.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match driver {
        "usb" => Some((L::Usb, body)),
        "qla2xxx" | "lpfc" | "bfa" => Some((L::FibreChannel, body)),
        _ if driver.starts_with("xhci") && named => Some((L::Xhci, body)),
        _ if named && is_pci(device) => Some((L::Pci, body)),
        _ => None,
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

fn is_word(text: &str) -> bool {
    !text.contains(char::is_whitespace)
}

/// What follows a name with its number.
pub(super) fn numbered<'a>(message: &'a str, name: &str) -> Option<&'a str> {
    let rest = message.strip_prefix(name)?;
    let after = rest.trim_start_matches(is_digit);
    (after.len() < rest.len()).then_some(after)
}

/// What follows `[sdb] `.
fn without_name(body: &str) -> &str {
    named(body).and_then(|name| body.get(name.len() + 2..)).map_or(body, str::trim_start)
}

/// The name in `[sdb] ...`.
fn named(body: &str) -> Option<&str> {
    let (name, _) = body.strip_prefix('[')?.split_once(']')?;
    is_word(name).then_some(name)
}

/// What is reported of a command: after its tag, and after what the driver was doing.
fn of_command(body: &str) -> &str {
    let body = numbered(body, "tag#").map_or(body, str::trim_start);
    let numbered = body.strip_prefix("UNKNOWN(0x").and_then(|rest| rest.split_once(") "));
    let body = numbered.map(|(_, rest)| rest).or(body.strip_prefix("FAILED ")).unwrap_or(body);
    let about = FAILED.iter().find_map(|words| body.find(words).filter(|at| *at < FAILED_AT));
    let result = about.and_then(|at| body.get(at..)).and_then(|rest| {
        let at = rest.find("Result: hostbyte=")?;
        rest.get(at..)
    });
    result.unwrap_or(body)
}

/// `sda` and `sense key: Medium Error` of `sda: Current: sense key: Medium Error`, before 2.6.18
/// `Current sda: sense key Medium Error` (drivers/scsi/constants.c, scsi_print_sense).
pub(super) fn older_sense(message: &str) -> Option<(&str, &str)> {
    let body = message.find("sense key").and_then(|at| message.get(at..))?;
    let head = message.strip_suffix(body)?.strip_suffix(": ")?;
    let name = match head.strip_prefix("Current ") {
        Some(name) => name,
        None => head.split_once(": ").filter(|(_, which)| which.starts_with("Current"))?.0,
    };
    let letters = name.strip_prefix("sd")?;
    let is_name = !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase());
    is_name.then_some((name, body))
}

/// `hdc` and `error=0x84 { DriveStatusError BadCRC }` of `hdc: dma_intr: error=0x84 {
/// DriveStatusError BadCRC }`.
pub(super) fn of_ide(message: &str) -> Option<(&str, &str)> {
    let (name, body) = message.split_once(": ")?;
    let is_drive = matches!(name.strip_prefix("hd")?.as_bytes(), [b'a'..=b't']);
    let words = OF_IDE.iter().find(|words| body.starts_with(**words)).filter(|_| is_drive)?;
    let function = Some(*words).filter(|words| words.ends_with("_intr: "));
    Some((name, function.and_then(|function| body.strip_prefix(function)).unwrap_or(body)))
}

/// `sdb1` and what follows it of `sdb1: rw=0, want=4996184, limit=4996183`, the second line of what
/// the block layer reports of a request beyond the end of a device.
pub(super) fn of_bad_sector(message: &str) -> Option<(&str, &str)> {
    let parts = message.split_once(": ")?;
    Some(parts).filter(|(name, body)| body.starts_with("rw=") && super::is_disk(name))
}

/// The disk that a message of the SCSI layer names after its address: `sd 4:0:0:0: [sdb] ...`.
pub(super) fn scsi_disk(message: &str) -> Option<&str> {
    names::address(message)?;
    named(message.split_once(": ")?.1)
}

/// The message of an md array, if it is one.
pub(super) fn of_md(message: &str) -> Option<&str> {
    let (logger, body) = heading(message);
    (logger == L::Md).then_some(body)
}

/// The SCSI layer's message about a command, if it is one.
pub(super) fn of_scsi(message: &str) -> Option<&str> {
    let (logger, body) = heading(message);
    (logger == L::Scsi).then_some(body)
}

impl KnownMessage {
    fn fits(&self, logger: Logger, body: &str) -> bool {
        // Checking the logger first is faster: few rows belong to each.
        if !self.loggers.contains(&logger) {
            return false;
        }
        let Some((first, others)) = self.words.split_first() else { return false };
        let Some(mut rest) = body.strip_prefix(first) else { return false };
        others.iter().all(|word| match rest.split_once(word) {
            // Drivers print neither between their words; user-chosen names come after them.
            Some((between, after)) if !between.contains(['=', '"']) => {
                rest = after;
                true
            }
            _ => false,
        })
    }

    /// A message of this kind, made up.
    fn example(&self, logger: Logger) -> String {
        logger.example().to_string() + &self.words.join(" 0x1 ")
    }
}

impl Logger {
    /// How one of its messages begins.
    fn example(self) -> &'static str {
        match self {
            L::Aacraid => "aacraid: ",
            L::Ahci => "ahcich3: ",
            L::Ata => "ata3.00: ",
            L::Block => "blk_update_request: ",
            L::Cam => "(ada0:ahcich0:0:0:0): ",
            L::Darwin => "disk0s2: ",
            L::Drbd => "drbd r0 peer: ",
            L::FibreChannel => "qla2xxx [0000:41:00.0]-500b:8: ",
            L::Ide => "hdc: dma_intr: ",
            L::Illumos => "/pci@0,0/pci15d9,f280@1f,2/disk@4,0 (sd5): ",
            L::Iscsi => "connection8:0: ",
            L::Md => "md/raid1:md0: ",
            L::Megaraid => "megaraid_sas 0000:03:00.0: ",
            L::MmcBlock => "mmcblk0: ",
            L::MmcHost => "mmc0: ",
            L::Mpt => "mpt3sas_cm0: ",
            L::MrSas => "mr_sas0: ",
            L::Nbd => "block nbd0: ",
            L::Nvme => "nvme nvme0: ",
            L::Other => "",
            L::Pci => "pcieport 0000:00:1d.0: ",
            L::Scsi => "sd 4:0:0:0: [sda] tag#3 ",
            L::SmartArray => "hpsa 0000:05:00.0: ",
            L::ThreeWare => "3w-9xxx: scsi0: ",
            L::Unraid => "md: disk10 ",
            L::Usb => "usb 1-1: ",
            L::Xhci => "xhci_hcd 0000:00:14.0: ",
        }
    }

    /// What `SUBSYSTEM=` of /dev/kmsg may be for a message that begins so; empty where drivers
    /// print without a device.
    fn subsystems(self) -> &'static [&'static str] {
        match self {
            L::Scsi => &["scsi"],
            L::Usb => &["usb"],
            L::Nvme => &["nvme", "nvme-subsystem", "nvme-generic", "pci", "block"],
            L::MmcBlock | L::MmcHost => &["mmc", "mmc_host", "platform", "block"],
            L::Pci | L::FibreChannel | L::Megaraid | L::Aacraid | L::Mpt | L::SmartArray => {
                &["pci", "pci_express", "scsi"]
            }
            L::Xhci => &["pci", "platform"],
            L::Ata => &["ata_port", "ata_link", "ata_device", "scsi", "pci", "platform"],
            L::Iscsi => &["iscsi_connection", "scsi"],
            L::Block | L::Drbd | L::Nbd => &["block"],
            _ => &[],
        }
    }

    /// Whether its messages always name their device to /dev/kmsg (`dev_printk` of
    /// drivers/base/core.c).
    fn names_its_device(self) -> bool {
        matches!(self, L::Scsi | L::Usb)
    }
}

/// What /dev/kmsg reports of the device that a message is about.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Dictionary<'a> {
    /// `SUBSYSTEM=`; empty if there is none.
    pub(super) subsystem: &'a str,
    /// `DEVICE=`; empty if there is none.
    pub(super) device: &'a str,
    /// Whether this log has such fields at all.
    pub(super) is_kept: bool,
}

impl Dictionary<'_> {
    /// Whether a message may be of that logger.
    pub(super) fn allows(self, message: &str) -> bool {
        let (logger, _) = heading(message);
        if self.subsystem.is_empty() {
            return !(self.is_kept && logger.names_its_device());
        }
        // `+scsi:4:0:0:0` follows the driver's name; others are numbers.
        let name = self.device.strip_prefix('+').and_then(|device| device.split_once(':'));
        let begins = name.is_none_or(|(_, name)| {
            let after_first_word = message.split_once(' ').map(|(_, rest)| rest);
            after_first_word
                .and_then(|after_first_word| after_first_word.strip_prefix(name))
                .is_some_and(|rest| rest.starts_with(':'))
        });
        begins && logger.subsystems().contains(&self.subsystem)
    }
}

/// Whether a message is of what the kernel does about a command that it gave up: it aborts it, and
/// resets one thing after the other (drivers/scsi/scsi_error.c, drivers/ata/libata-eh.c,
/// drivers/usb/storage/uas.c).
pub(super) fn is_recovery(message: &str) -> bool {
    const OF_SCSI: [&str; 7] = [
        "task abort: ", "attempting device reset", "attempting target reset", "device reset: ",
        "target reset: ", "uas_eh_", "Power-on or device reset occurred",
    ];
    const OF_ATA: [&str; 5] = [
        "hard resetting link",
        "soft resetting link",
        "hard resetting port",
        "soft resetting port",
        super::SLOW_LINK,
    ];
    let (logger, body) = heading(message);
    let begins = |all: &[&str]| all.iter().any(|words| body.starts_with(words));
    match logger {
        L::Scsi => begins(&OF_SCSI) && !body.starts_with("uas_eh_abort_handler"),
        L::Ata => begins(&OF_ATA),
        _ => false,
    }
}

/// The kind of a message.
pub(super) fn kind(message: &str) -> Option<MessageKind> {
    if !says_a_mark(message) {
        return None;
    }
    if is_of_a_hung_task(message) {
        return Some(K::HungTask);
    }
    if begins_with_a_task(message) {
        return None;
    }
    let (logger, body) = heading(message);
    let known = KNOWN.iter().find(|known| known.fits(logger, body)).map(|known| known.kind);
    let known = known.map(|kind| if is_noise(body) { K::Controller } else { kind });
    let by_words = known.or_else(|| returned(logger, body));
    let by_port = of_a_port(logger, body);
    // A bus error whose register shows only a link that went down and up.
    let only_woke = by_words == Some(K::Link) && by_port == Some(K::Phy);
    if only_woke { by_port } else { by_words.or(by_port) }
}

/// Whether the registers of an error cannot be a drive's: all lines of the bus high, or a
/// sector beyond 2^40, half a pebibyte. The bus was read, or a controller is out of step.
fn is_noise(body: &str) -> bool {
    /// The highest number of a sector that a drive of parallel ATA may have.
    const SECTORS: u64 = 1 << 40;
    let Some((_, rest)) = body.split_once("error=0x") else { return false };
    let register = rest.split([' ', ',']).next().unwrap_or_default();
    let sector = rest.split_once("LBAsect=").and_then(|(_, rest)| {
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    });
    matches!(register, "7f" | "ff") || sector.is_some_and(|sector| sector >= SECTORS)
}

/// The subject of a message of no known kind, by its words alone: of a storage driver that prints
/// no names but its own, and only if it reports trouble.
pub(super) fn kind_by_words(message: &str) -> Option<MessageKind> {
    let message = message.trim_start();
    if !is_of_a_driver(message) || begins_with_a_task(message) || kind(message).is_some() {
        return None;
    }
    let (logger, body) = heading(message);
    kind_of_words(logger, body)
}

/// The kind of what a logger says, by the words in it.
fn kind_of_words(logger: Logger, body: &str) -> Option<MessageKind> {
    // A default is not a fault.
    let body = body.to_ascii_lowercase().replace("default", "");
    let says = |words: &[&str]| words.iter().any(|words| body.contains(words));
    if says(&HARMLESS) {
        return None;
    }
    let is_of_a_server = matches!(logger, L::Nbd | L::Drbd | L::Iscsi);
    let is_of_an_adapter = matches!(
        logger,
        L::Aacraid
            | L::Ahci
            | L::FibreChannel
            | L::Megaraid
            | L::MmcHost
            | L::Mpt
            | L::MrSas
            | L::Pci
            | L::SmartArray
            | L::ThreeWare
    );
    let (failed, silent) = (says(&FAILED_WORDS), says(&SILENT_WORDS));
    let (gone, reset) = (says(&GONE_WORDS), says(&RESET_WORDS));
    match () {
        () if is_of_a_server => (failed || silent || gone || reset).then_some(K::Remote),
        () if says(&MEDIUM_WORDS) => Some(K::Medium),
        () if says(&FRAME_WORDS) || says(&LINK_WORDS) && (failed || gone || reset) => Some(K::Link),
        () if gone && !is_of_an_adapter => Some(K::Offline),
        () if silent && !is_of_an_adapter => Some(K::Timeout),
        () if reset || silent || gone => Some(K::Controller),
        () if failed && is_of_an_adapter => Some(K::Controller),
        () => failed.then_some(K::IoError),
    }
}

/// Words of a failure.
const FAILED_WORDS: [&str; 5] = ["error", "fail", "fatal", "fault", "unable to"];
/// Words of a device that does not answer.
const SILENT_WORDS: [&str; 11] = [
    "did not", "frozen", "interrupt", "no response", "not ready", "not respond", "stuck",
    "time out", "timed out", "timeout", "timing out",
];
/// Words of a device or a link that is gone.
const GONE_WORDS: [&str; 8] =
    ["dead", "disconnect", "down", "lost ", "not accessible", "offline", "removed", "unavailable"];
/// Words for the handling of a fault.
const RESET_WORDS: [&str; 5] = ["abort", "died", "recover", "reset", "restart"];
/// Words of a surface that cannot be read.
const MEDIUM_WORDS: [&str; 6] =
    ["bad sector", "badsector", "media error", "medium error", "uncorrect", "unrecovered"];
/// Words for damaged frames.
const FRAME_WORDS: [&str; 2] = ["crc", "parity"];
/// Words of a link.
const LINK_WORDS: [&str; 4] = ["bus error", "cable", "link", "phy"];
/// Messages of a healthy start, and of features a device does not support or need.
const HARMLESS: [&str; 22] = [
    "abort status: 0x0", "assuming drive cache", "attached", "asking for cache data failed",
    "caching mode page", "deepsleep", "error handler", "error status/mask", "failed to enable aa",
    "failed to get diagnostic page", "failed to set xfermode", "link up", "no error",
    "not supported", "power-on", "read capacity", "shutdown timeout set", "unsupported",
    "sense key : not ready", "supports", "timeout set to", "write cache",
];

/// Whether a message contains words that every known kind needs: most do not, and one pass shows
/// it.
fn says_a_mark(message: &str) -> bool {
    /// For a hung task, and for what numbers alone show ([`returned`], [`of_a_port`]).
    const OTHERS: [&str; 5] = [" blocked ", "return code = ", "hostbyte=0x", " SErr 0x", OF_SDHOST];
    static MARKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let longest = |known: &KnownMessage| known.words.iter().copied().max_by_key(|w| w.len());
        AhoCorasick::new(KNOWN.iter().filter_map(longest).chain(OTHERS)).ok()
    });
    MARKS.as_ref().is_none_or(|marks| marks.is_match(message))
}

/// Whether the message is of a driver that prints no names but its own: a message that may be
/// distinguished from the next by its time alone.
pub(super) fn is_of_a_driver(message: &str) -> bool {
    const OF_DEVICES: [&str; 12] = [
        "Direct-Access", "Sequential-Access", "Processor", "CD-ROM", "Enclosure", "RAID ",
        "Optical", "ATA-", "ATAPI", "CFA", "Model ", "Unknown",
    ];
    let (logger, body) = heading(message);
    // Some of these print the names of models as well.
    let is_driver = !matches!(
        logger,
        L::Other | L::Usb | L::Pci | L::FibreChannel | L::Xhci | L::Drbd | L::SmartArray
    );
    is_driver && !OF_DEVICES.iter().any(|words| body.starts_with(words)) && !body.contains('"')
        || message.trim_start().starts_with("md/raid")
}

/// `INFO: task NAME:PID blocked for more than 120 seconds.`, of late `blocked in I/O wait for more
/// than`. A name has 15 bytes at most.
fn is_of_a_hung_task(message: &str) -> bool {
    const LONGEST: usize = TASK_NAME + 1 + 8;
    let hung_task =
        message.strip_prefix("INFO: task ").and_then(|rest| rest.rsplit_once(" blocked "));
    hung_task.is_some_and(|(task, rest)| {
        let number = task.rsplit(':').next().and_then(integer);
        let waits =
            rest.split_once("for more than ").and_then(|(_, rest)| rest.split_once(" seconds"));
        number.is_some()
            && task.len() <= LONGEST
            && waits.is_some_and(|(seconds, _)| integer(seconds).is_some())
    })
}

/// Bytes of a task's name at most: TASK_COMM_LEN without its end (include/linux/sched.h).
pub(super) const TASK_NAME: usize = 15;

/// Whether a message begins with a task's name, which its program chooses: `NAME[PID]: segfault
/// at`, `NAME (PID): ...`, `NAME: page allocation failure`, `NAME invoked oom-killer`, `NAME:
/// attempt to access beyond end of device`.
pub(super) fn begins_with_a_task(message: &str) -> bool {
    const SAID: [&str; 3] = [
        ": page allocation failure", ": attempt to access beyond end of device",
        " invoked oom-killer",
    ];
    let numbered = |rest: &str, begin: &str, end: &str| {
        rest.strip_prefix(begin)
            .and_then(|rest| rest.split_once(end))
            .is_some_and(|(number, _)| integer(number).is_some())
    };
    let places = message.char_indices().map(|(at, _)| at).take_while(|at| *at <= TASK_NAME);
    places.filter_map(|at| message.get(at..)).any(|rest| {
        SAID.iter().any(|words| rest.starts_with(words))
            || numbered(rest, "[", "]")
            || numbered(rest, " (", "): ")
    })
}

/// The meaning of a port's error register where it is not spelled out: `ata1.00: exception Emask
/// 0x0 SAct 0x0 SErr 0x280000 action 0x0`.
fn of_a_port(logger: Logger, body: &str) -> Option<MessageKind> {
    if logger != L::Ata || !body.starts_with("exception Emask ") {
        return None;
    }
    match port_errors(body)? {
        PortErrors::Link => Some(MessageKind::Link),
        PortErrors::Phy => Some(MessageKind::Phy),
    }
}

/// `SCSI error: return code = 0x10070000` of kernels before 2.6.25, whose third byte is what is
/// printed as `hostbyte` since (include/scsi/scsi_status.h), and `hostbyte=0x07` of kernels built
/// without its names.
fn returned(logger: Logger, body: &str) -> Option<MessageKind> {
    if let Some(flags) = body.strip_prefix(OF_SDHOST).filter(|_| logger == L::MmcHost) {
        return of_sdhost(u32::from_str_radix(flags.trim(), 16).ok()?);
    }
    let number = |mark: &str| {
        let code = body.strip_prefix(mark).filter(|_| logger == L::Scsi)?;
        u32::from_str_radix(code.split_whitespace().next()?, 16).ok()
    };
    let whole = number("SCSI error: return code = 0x").or_else(|| {
        // Kernels 2.4: `SCSI disk error : host 0 channel 0 id 0 lun 2 return code = 10000`.
        let of_both = body.strip_prefix(OF_2_4).or_else(|| body.strip_prefix(OF_2_6));
        let (_, code) = of_both?.split_once(" return code = ")?;
        let code = code.trim();
        u32::from_str_radix(code.strip_prefix("0x").unwrap_or(code), 16).ok()
    });
    let whole = whole.map(|code| (code >> 16) & 0xff);
    match whole.or_else(|| number("Result: hostbyte=0x"))? {
        0x01 => Some(MessageKind::Offline),
        0x06 | 0x0e | 0x0f => Some(MessageKind::Link),
        0x03 => Some(MessageKind::Timeout),
        0x02 | 0x07 | 0x08 => Some(MessageKind::Controller),
        _ => None,
    }
}

/// How kernels 2.4 and early ones of 2.6 report a command of a disk that failed
/// (drivers/scsi/sd.c, rw_intr; scsi_lib.c, scsi_io_completion).
const OF_2_4: &str = "SCSI disk error : host ";
const OF_2_6: &str = "SCSI error : <";
/// The line with the state in a dump of registers of the Raspberry Pi's host of cards.
const OF_SDHOST: &str = "SDHSTS 0x";

/// What that state is (drivers/mmc/host/bcm2835.c): the card did not answer in time, or its answer
/// had a wrong checksum.
fn of_sdhost(flags: u32) -> Option<MessageKind> {
    const TIMED_OUT: u32 = 0x40 | 0x80;
    const CHECKSUM: u32 = 0x10 | 0x20;
    match flags {
        flags if flags & TIMED_OUT != 0 => Some(MessageKind::Timeout),
        flags if flags & CHECKSUM != 0 => Some(MessageKind::Link),
        _ => None,
    }
}

/// A message of each known kind by each of its loggers, made up.
pub(super) fn examples() -> impl Iterator<Item = String> {
    let of = |known: &'static KnownMessage| {
        known.loggers.iter().map(move |logger| known.example(*logger))
    };
    let hung = "INFO: task kworker/u8:1:77 blocked for more than 120 seconds.";
    KNOWN.iter().flat_map(of).chain([hung.to_string()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_of_its_kind_and_no_tasks_name() {
        let begins = [
            "[812]: segfault at 0 ip 0000000000401136 sp 00007ffd0 error 4 in ",
            ": page allocation failure: order:0, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=",
            " (812): drop_caches: 3",
            " invoked oom-killer: gfp_mask=0xcc0, order=0, oom_score_adj=0",
            ": attempt to access beyond end of device",
            "[812] general protection fault ip:401136 sp:7ffd0 error:0 in ",
        ];
        for known in KNOWN {
            for logger in known.loggers {
                let example = known.example(*logger);
                assert!(kind(&example).is_some(), "{example}");
                assert!(examples().any(|one| one == example));
                // A program may call itself as such a message begins, and its file and its group as
                // it goes on.
                for length in 1..=15 {
                    let Some(name) = example.get(..length) else { continue };
                    let rest = example.get(length..).unwrap_or_default();
                    for begin in begins {
                        for end in [rest, &example] {
                            let forged = format!("{name}{begin}{end}");
                            assert_eq!(kind(&forged), None, "{forged}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn words_alone_decide_what_is_blamed() {
        let blamed = |kind| match kind {
            K::Medium | K::Hardware => "surface",
            K::Timeout | K::Controller | K::Offline | K::Link | K::Phy | K::Path | K::NotReady => {
                "no answer"
            }
            K::Remote => "server",
            K::IoError | K::Command => "nobody",
            _ => "no fault",
        };
        let (mut right, mut wrong, mut unsaid) = (0, 0, 0);
        for known in KNOWN {
            for logger in known.loggers.iter().filter(|logger| **logger != L::Other) {
                let example = known.example(*logger);
                let (logger, body) = heading(&example);
                match kind_of_words(logger, body).map(blamed) {
                    None | Some("nobody") => unsaid += 1,
                    Some(who) if who == blamed(known.kind) => right += 1,
                    Some(_) => wrong += 1,
                }
            }
        }
        // Of 126 that blame a device by their words, 123 blame the same; 80 blame none.
        assert!(wrong * 30 < right && unsaid < right, "{right} {wrong} {unsaid}");
    }

    #[test]
    fn words_count_only_where_a_driver_speaks_of_trouble() {
        let kind = |message| kind_by_words(message).map(MessageKind::name);
        for (message, expected) in [
            ("mmc1: card stuck in programming state, timed out", Some("controller")),
            ("block nbd3: Queue 0 recv failed, giving up", Some("remote")),
            ("ata5.00: read log page failed, unrecovered", Some("medium")),
            ("sd 1:0:0:0: [sdb] tag#4 frame rejected: CRC", Some("link")),
            ("sd 1:0:0:0: [sdb] Asking for cache data failed", None),
            ("nvme nvme0: Shutdown timeout set to 10 seconds", None),
            ("nvme nvme0: 8/0/0 default/read/poll queues", None),
            ("scsi 2:0:0:0: Direct-Access     CRC Inc   failed offline   1.0  PQ: 0 ANSI: 6", None),
            ("usb 1-1: Product: error timed out", None),
            ("systemd[1]: nbd3 failed, timed out", None),
            ("EXT4-fs (sda1): mounted filesystem. Opts: errors=remount-ro", None),
            ("blk_update_request: critical medium error, dev sdb, sector 2056", None),
        ] {
            assert_eq!(kind(message), expected, "{message}");
        }
    }

    #[test]
    fn a_task_may_have_any_name_and_hang() {
        for name in
            ["jbd2/sda1-8", "FwgThread OpFor", "(timeout)", "a blocked b:1", "SATA link down"]
        {
            let message = format!("INFO: task {name}:77 blocked for more than 120 seconds.");
            assert_eq!(kind(&message), Some(MessageKind::HungTask), "{message}");
        }
        let waits = "INFO: task dd:7 blocked in I/O wait for more than 122 seconds.";
        assert_eq!(kind(waits), Some(MessageKind::HungTask));
    }

    #[test]
    fn fields_of_a_record_are_those_of_its_device() {
        let fields = |subsystem, device| Dictionary { subsystem, device, is_kept: true };
        let reported = "sd 4:0:0:0: [sda] Sense Key : Medium Error [current]";
        assert!(fields("scsi", "+scsi:4:0:0:0").allows(reported));
        assert!(!fields("scsi", "+scsi:5:0:0:0").allows(reported));
        assert!(!fields("usb", "c189:1").allows(reported));
        // The SCSI layer always names its device.
        assert!(!fields("", "").allows(reported));
        assert!(Dictionary::default().allows(reported));
        assert!(fields("", "").allows("I/O error, dev sda, sector 8 op 0x0:(READ)"));
        assert!(!fields("usb", "c189:1").allows("I/O error, dev sda, sector 8 op 0x0:(READ)"));
        assert!(fields("nvme", "c240:0").allows("nvme nvme0: I/O 27 QID 3 timeout, aborting"));
    }
}
