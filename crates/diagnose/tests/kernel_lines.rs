//! Verdicts from kernel log lines, by kind: accusations and near misses.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Blame, Finding, Recording, Verdict};

fn judged(log: &str) -> Vec<Finding> {
    let mut recording = Recording::for_a_verdict();
    let read = iowhy_read::scan("log.txt", &mut log.as_bytes(), None, &mut recording);
    // Nothing that a format knows.
    if read.is_err() {
        return Vec::new();
    }
    judge(&recording, &Options::default())
}

/// How sure it is of an accusation; 0 if it is not made.
fn sure(findings: &[Finding], verdict: Verdict) -> f64 {
    let of = findings.iter().filter(|finding| finding.verdict == verdict);
    of.map(|finding| finding.confidence()).fold(0.0, f64::max)
}

/// The sentence of a verdict; empty if it is not made.
fn sentence(findings: &[Finding], verdict: Verdict) -> String {
    let found = findings.iter().find(|finding| finding.verdict == verdict);
    found.map(|finding| finding.sentence.clone()).unwrap_or_default()
}

/// A write that failed on a port, as libata reports it, with the status and the sense data that
/// follow.
fn failed_write(status: &str, key: &str, additional: &str) -> String {
    format!(
        "[686059.569331] ata6.00: exception Emask 0x0 SAct 0x79fe060 SErr 0x0 action 0x0\n\
         [686059.569342] ata6.00: failed command: WRITE FPDMA QUEUED\n\
         [686059.569351] ata6.00: status: {{ {status} }}\n\
         [686059.569353] ata6.00: error: {{ ABRT }}\n\
         [686059.611703] ata6.00: configured for UDMA/133\n\
         [686059.611800] sd 5:0:0:0: [sda] tag#24 FAILED Result: hostbyte=DID_OK \
         driverbyte=DRIVER_OK cmd_age=0s\n\
         [686059.611805] sd 5:0:0:0: [sda] tag#24 Sense Key : {key} [current]\n\
         [686059.611809] sd 5:0:0:0: [sda] tag#24 Add. Sense: {additional}\n\
         [686059.611813] sd 5:0:0:0: [sda] tag#24 CDB: Write(16) 8a 00 00 00 00 00 7a 2d fd 6b 00 \
         00\n\
         [686059.611815] I/O error, dev sda, sector 16398674776 op 0x1:(WRITE) flags 0x104000\n\
         [686059.611827] ata6: EH complete\n\
         "
    )
}

#[test]
fn a_drive_that_refuses_at_once_did_not_stop_answering() {
    let (key, unaligned) = ("Illegal Request", "Unaligned write command");
    let found = judged(&failed_write("DRDY SENSE ERR", key, unaligned));
    assert!(sure(&found, Verdict::LayerAbove) > 0.6, "{found:#?}");
    assert!(sure(&found, Verdict::DeviceStall) < 0.1, "{found:#?}");
    // A SAS disk has no libata above it.
    let sas = "[  100.000001] sd 1:0:3:0: [sdd] tag#88 FAILED Result: hostbyte=DID_OK \
               driverbyte=DRIVER_OK cmd_age=0s\n\
               [  100.000002] sd 1:0:3:0: [sdd] tag#88 Sense Key : Illegal Request [current]\n\
               [  100.000003] sd 1:0:3:0: [sdd] tag#88 Add. Sense: Unaligned write command\n\
               [  100.000004] sd 1:0:3:0: [sdd] tag#88 CDB: Write(16) 8a 00 00 00 00 00 7a 2d fd \
               6b 00 00\n\
               [  100.000005] critical target error, dev sdd, sector 16398674776 op 0x1:(WRITE) \
               flags 0x0\n\
               ";
    let found = judged(sas);
    assert!(sure(&found, Verdict::LayerAbove) > 0.6, "{found:#?}");
    let zone = "[  100.000001] nvme0n1: Write(0x1) @ LBA 4096, 8 blocks, Zone Is Full (sct 0x1 / \
                sc 0xb9) DNR\n\
                [  100.000002] I/O error, dev nvme0n1, sector 32768 op 0x1:(WRITE) flags 0x0\n\
                ";
    assert!(sure(&judged(zone), Verdict::LayerAbove) > 0.6);
    let beyond = sas.replace(unaligned, "Logical block address out of range");
    // An adapter calls a sector that its drive did not find the same: whose it is is open.
    let found = judged(&beyond);
    assert!(sure(&found, Verdict::LayerAbove) < 0.1, "{found:#?}");
    assert!(sure(&found, Verdict::DeviceStall) < 0.1, "{found:#?}");
    let beyond =
        zone.replace("Zone Is Full (sct 0x1 / sc 0xb9)", "LBA Out of Range (sct 0x0 / sc 0x80)");
    assert!(sure(&judged(&beyond), Verdict::LayerAbove) > 0.6);
}

#[test]
fn sense_data_that_libata_makes_up_is_no_refusal() {
    // Without a word of the drive, any error without a bit becomes this one.
    let found = judged(&failed_write("DRDY ERR", "Illegal Request", "Unaligned write command"));
    assert!(sure(&found, Verdict::LayerAbove) < 0.1, "{found:#?}");
    assert!(sure(&found, Verdict::DeviceStall) > 0.3, "{found:#?}");
    // A command that got no answer got none, whatever became of another.
    let refused = failed_write("DRDY SENSE ERR", "Illegal Request", "Unaligned write command");
    let silent = "[686159.569331] ata6.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 \
                  frozen\n\
                  [686159.569342] ata6.00: failed command: READ FPDMA QUEUED\n\
                  [686159.569344]          res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 \
                  (timeout)\n\
                  ";
    let found = judged(&format!("{refused}{silent}"));
    assert!(sure(&found, Verdict::DeviceStall) > 0.3, "{found:#?}");
    // A page that the drive does not know, asked for by a monitor.
    let query = "[  100.000001] sd 1:0:3:0: [sdd] tag#88 Sense Key : Illegal Request [current]\n\
                 [  100.000002] sd 1:0:3:0: [sdd] tag#88 Add. Sense: Logical block address out of \
                 range\n\
                 [  100.000003] sd 1:0:3:0: [sdd] tag#88 CDB: Log Sense 4d 00 40 00 00 00 00 00 04 \
                 00\n\
                 ";
    assert!(sure(&judged(query), Verdict::LayerAbove) < 0.1);
    // A file that is called so.
    let named = "[  100.000001] EXT4-fs (sdd1): error: Unaligned write command, Illegal Request\n\
                 [  100.000002] sd 1:0:3:0: [sdd] Attached SCSI disk\n";
    assert!(sure(&judged(named), Verdict::LayerAbove) < 0.1);
}

#[test]
fn what_old_kernels_report_of_a_surface_a_cable_and_dma() {
    let unread = "hdc: dma_intr: status=0x51 { DriveReady SeekComplete Error }\n\
                  hdc: dma_intr: error=0x40 { UncorrectableError }, LBAsect=150637065, \
                  sector=150636992\n\
                  end_request: I/O error, dev 16:01 (hdc), sector 150636992\n\
                  ";
    for log in [
        unread.to_string(),
        unread.replace("dma_intr", "task_in_intr"),
        unread.replace("Unc", "DriveStatusError Unc"),
        "ata1: status=0x51 { DriveReady SeekComplete Error }\nata1: error=0x40 { UncorrectableError }\n".to_string(),
        "sda: Current: sense key: Medium Error\n\
         \x20   Additional sense: Unrecovered read error - auto reallocate failed\n\
         end_request: I/O error, dev sda, sector 151\n\
         "
            .to_string(),
        "[  100.000001] Current sdb: sense key Medium Error\n[  100.000002] end_request: I/O error, dev sdb, sector 151\n"
            .to_string(),
    ] {
        let found = judged(&log);
        assert!(sure(&found, Verdict::DeviceMedia) > 0.6, "{log}{found:#?}");
    }
    for log in [
        "ata1: status=0x51 { DriveReady SeekComplete Error }\nata1: error=0x84 { DriveStatusError BadCRC }\n",
        "hda: dma_intr: status=0x51 { DriveReady SeekComplete Error }\nhda: dma_intr: error=0x84 { DriveStatusError BadCRC }\n",
        "Buffer I/O error on device sda3, logical block 4869508\n\
         sda: Current: sense key: Aborted Command\n    Additional sense: Scsi parity error\n",
        "sd 1:0:0:0: [sdc] tag#3 Sense Key : Aborted Command [current]\n\
         sd 1:0:0:0: [sdc] tag#3 Add. Sense: Information unit iuCRC error detected\n",
    ] {
        let found = judged(log);
        assert!(sure(&found, Verdict::DevicePath) > 0.6, "{log}{found:#?}");
        assert!(sure(&found, Verdict::DeviceMedia) < 0.1, "{log}{found:#?}");
    }
    let dma = |at: u32| {
        format!(
            "[   {at}.952000] hdc: dma_timer_expiry: dma status == 0x21\n\
             [   {}.952000] hdc: DMA timeout error\n\
             [   {}.952000] hdc: dma timeout error: status=0x58 {{ DriveReady SeekComplete \
             DataRequest }}\n\
             [   {}.952001] hdc: DMA disabled\n\
             ",
            at + 10,
            at + 10,
            at + 10
        )
    };
    let found = judged(&(dma(34) + &dma(65)));
    assert!(sure(&found, Verdict::DevicePath) > 0.6, "{found:#?}");
    let reported = sentence(&found, Verdict::DevicePath);
    assert!(reported.contains("2 DMA transfers"), "{reported}");
    assert!(sure(&judged("hda: lost interrupt\nhda: lost interrupt\n"), Verdict::DevicePath) > 0.6);
    // Signs seen once were right in six captures of six (docs/decisions/0130).
    assert!(sure(&judged(&dma(34)), Verdict::DevicePath) > 0.6);
}

#[test]
fn names_that_look_like_old_messages_blame_nothing() {
    for log in [
        // A feature that the drive does not know, and DMA that a table switches off at the start.
        "hda: task_no_data_intr: status=0x51 { DriveReady SeekComplete Error }\n\
         hda: task_no_data_intr: error=0x04 { DriveStatusError }\nhda: DMA disabled\n",
        // A host that is called hda, and a volume that is called as an error is.
        "Jan  5 10:00:00 hda kernel: EXT4-fs (dm-2): mounted lost interrupt: error=0x40 { UncorrectableError }\n",
        "[    1.000000] hda: QUANTUM lost interrupt 13, ATA DISK drive\n",
        "sd 1:0:0:0: [sdc] tag#3 Sense Key : Aborted Command [current]\nXFS (sdc1): Scsi parity error: unmounting\n",
    ] {
        let found = judged(log);
        assert!(sure(&found, Verdict::DeviceMedia) < 0.1, "{log}{found:#?}");
        assert!(sure(&found, Verdict::DevicePath) < 0.1, "{log}{found:#?}");
    }
}

/// The stack of a task, with functions in it.
fn stack(begin: &str, functions: &[&str]) -> String {
    let frames: String = functions.iter().map(|name| format!("  {name}+0x6a/0xa0\n")).collect();
    format!("{begin}\n Call Trace:\n  <TASK>\n  __schedule+0x241/0x740\n{frames}")
}

#[test]
fn a_task_that_waits_in_a_discard_is_one_that_trims() {
    let begins = [
        " task:fstrim          state:D stack:    0 pid: 3552 ppid:  2091 flags:0x00004006",
        "task:kworker/3:1H    state:D stack:0     pid:512   tgid:512 ppid:2      flags:0x00004000",
        "INFO: task fstrim:3552 blocked for more than 120 seconds.",
    ];
    for begin in begins {
        let log = stack(begin, &["submit_bio_wait", "blkdev_issue_discard", "xfs_ioc_trim"]);
        let found = judged(&log);
        assert!(sure(&found, Verdict::LoadDiscard) > 0.6, "{log}{found:#?}");
        let timed: String =
            log.lines().map(|line| format!("[10543.024175] {}\n", line.trim_start())).collect();
        assert!(sure(&judged(&timed), Verdict::LoadDiscard) > 0.6, "{timed}");
        // Left on the stack from an earlier call, or another function.
        let stale = log.replace("blkdev_issue", "? blkdev_issue");
        assert!(sure(&judged(&stale), Verdict::LoadDiscard) < 0.1, "{stale}");
        let journal = stack(begin, &["jbd2_log_wait_commit"]);
        let found = judged(&journal);
        assert!(sure(&found, Verdict::LoadDiscard) < 0.1, "{journal}");
        // The only thing seen is what the answer begins with.
        let reported =
            found.iter().any(|finding| finding.sentence.contains("commit of the journal"));
        assert!(reported, "{found:#?}");
    }
    // A stack that no task begins, as a warning prints it.
    let warning = "[    1.000001] WARNING: CPU: 1 PID: 7 at fs/x.c:3 \
                   blkdev_issue_discard+0x6a/0xa0\n\
                   [    1.000002]  blkdev_issue_discard+0x6a/0xa0\n\
                   ";
    assert!(sure(&judged(warning), Verdict::LoadDiscard) < 0.1);
}

/// A flush of a port that got no answer at a time, s.
fn silent(port: u32, at: u32) -> String {
    format!(
        "[{at:6}.000001] ata{port}.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen\n\
         [{at:6}.000002] ata{port}.00: failed command: FLUSH CACHE\n\
         [{at:6}.000003] ata{port}.00: cmd e7/00:00:00:00:00/00:00:00:00:00/a0 tag 0\n\
         [{at:6}.000004]          res 40/00:00:00:4f:c2/00:00:00:00:00/00 Emask 0x4 (timeout)\n"
    )
}

#[test]
fn drives_that_stop_together_share_what_is_at_fault() {
    let together = judged(&(silent(1, 5000) + &silent(2, 5004) + &silent(3, 5010)));
    assert!(sure(&together, Verdict::DevicePath) > 0.6, "{together:#?}");
    assert!(sure(&together, Verdict::DeviceStall) < 0.1, "{together:#?}");
    let ide = "hda: dma_timer_expiry: dma status == 0x61\nhda: DMA timeout error\n\
               ata4.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen\n\
               ata4.00: tag 0 cmd 0x60 Emask 0x4 stat 0x40 err 0x0 (timeout)\n";
    let found = judged(ide);
    assert!(sure(&found, Verdict::DevicePath) > 0.6, "{found:#?}");
    // At the same minutes of six hours, on one or the other.
    let hourly: String =
        (0..6).map(|hour| silent(1 + hour % 2, 7260 + hour * 3600 + hour * 20)).collect();
    let found = judged(&hourly);
    assert!(sure(&found, Verdict::DeviceStall) < 0.1, "{found:#?}");
    assert!(sentence(&found, Verdict::DevicePath).contains("of an hour"), "{found:#?}");
    // One drive alone, however often; two at times of their own; and one that mostly stops alone.
    let alone: String = (0..6).map(|hour| silent(1, 7260 + hour * 3600)).collect();
    let apart: String = (0..6).map(|n| silent(1 + n % 2, 7260 + n * 2900)).collect();
    let mostly: String = (0..5).map(|n| silent(1, 9260 + n * 2900)).collect();
    let mostly = silent(1, 5000) + &silent(2, 5004) + &mostly;
    for log in [alone, apart, mostly] {
        let found = judged(&log);
        assert!(sure(&found, Verdict::DeviceStall) > 0.5, "{log}{found:#?}");
        assert!(sure(&found, Verdict::DevicePath) < 0.5, "{log}{found:#?}");
    }
}

#[test]
fn a_controller_that_does_not_come_back_is_the_disk_or_its_slot() {
    let log = "[  100.000001] nvme nvme0: I/O 24 QID 0 timeout, reset controller\n\
               [  170.000001] nvme nvme0: Device not ready; aborting reset\n\
               [  190.000001] nvme nvme0: Removing after probe failure status: -19\n";
    let newer =
        log.replace("Removing after probe failure", "Disabling device after reset failure:");
    for log in [log, newer.as_str()] {
        let found = judged(log);
        let (hang, path) = (sure(&found, Verdict::DeviceHang), sure(&found, Verdict::DevicePath));
        assert!((0.4..0.6).contains(&hang) && path > 0.6, "{found:#?}");
        // Neither of the two is excluded.
        let blamed = found.iter().find(|finding| finding.verdict == Verdict::DevicePath);
        assert_eq!(blamed.and_then(|finding| finding.blame), Some(Blame::DiskOrPath));
    }
    // One that left its bus, and one that came back.
    let left = format!(
        "[   99.000001] nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff\n{log}"
    );
    assert!(sure(&judged(&left), Verdict::DeviceHang) < 0.1);
    let back = log.lines().next().unwrap_or_default().to_string() + "\n";
    assert!(sure(&judged(&back.repeat(2)), Verdict::DeviceHang) < 0.1);
}

#[test]
fn what_a_card_and_its_host_report_is_open() {
    for reported in
        ["Timeout waiting for hardware interrupt.", "Timeout waiting for hardware cmd interrupt."]
    {
        let log = format!(
            "[  542.490457] mmc0: {reported}\n[  542.490460] mmc0: sdhci: ===== REGISTER DUMP\n"
        );
        let found = judged(&log);
        let path = sure(&found, Verdict::DevicePath);
        assert!((0.3..0.6).contains(&path), "{found:#?}");
        assert!(sure(&found, Verdict::DeviceStall) < path, "{found:#?}");
        let steps = found.iter().flat_map(|finding| &finding.next_step);
        for step in steps {
            assert!(!step.contains("libata") && !step.contains("smartctl"), "{step}");
        }
    }
}

#[test]
fn an_adapter_that_the_iommu_stops_and_a_plug() {
    let faults = "mpi3mr 0000:c1:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0001 address=0xfec0c400 flags=0x0050]\n";
    assert!(sure(&judged(faults), Verdict::DevicePath) > 0.6);
    let known = "[    1.000001] ahci 0000:03:00.0: AHCI 0001.0301 32 slots 6 ports 6 Gbps\n";
    let dmar = "[  100.000001] DMAR: [DMA Read] Request device [03:00.0] fault addr fffb0000 [fault reason 06]\n";
    assert!(sure(&judged(&format!("{known}{dmar}")), Verdict::DevicePath) > 0.6);
    // A function that no driver of storage owns.
    let card = faults.replace("mpi3mr", "amdgpu");
    assert!(sure(&judged(&card), Verdict::DevicePath) < 0.1);
    assert!(
        sure(&judged(&format!("{known}{}", dmar.replace("03:00", "07:00"))), Verdict::DevicePath)
            < 0.1
    );
    let plug = "[424453.095411] ata4: exception Emask 0x10 SAct 0x0 SErr 0x4010000 action 0xe \
                frozen\n\
                [424453.095415] ata4: irq_stat 0x00400040, connection status changed\n\
                [424453.095418] ata4: SError: { PHYRdyChg DevExch }\n\
                [424453.840022] ata4: SATA link down (SStatus 0 SControl 300)\n\
                ";
    let found = judged(plug);
    assert!(
        sentence(&found, Verdict::DevicePath).contains("no device was on the link"),
        "{found:#?}"
    );
    // A port without a disk.
    let empty = "[    1.095411] ata4: SATA link down (SStatus 0 SControl 300)\n";
    assert!(sure(&judged(empty), Verdict::DevicePath) < 0.5);
}
