//! What lines of the kernel's log come to, by the kind of what they report: accusations and near misses.
#![allow(clippy::unwrap_used, clippy::panic)]

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Recording, Verdict};

fn judged(log: &str) -> Vec<Finding> {
    let mut recording = Recording::for_a_verdict();
    iowhy_read::scan("log.txt", &mut log.as_bytes(), None, &mut recording).unwrap();
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
         [686059.611800] sd 5:0:0:0: [sda] tag#24 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=0s\n\
         [686059.611805] sd 5:0:0:0: [sda] tag#24 Sense Key : {key} [current]\n\
         [686059.611809] sd 5:0:0:0: [sda] tag#24 Add. Sense: {additional}\n\
         [686059.611813] sd 5:0:0:0: [sda] tag#24 CDB: Write(16) 8a 00 00 00 00 00 7a 2d fd 6b 00 00\n\
         [686059.611815] I/O error, dev sda, sector 16398674776 op 0x1:(WRITE) flags 0x104000\n\
         [686059.611827] ata6: EH complete\n"
    )
}

#[test]
fn a_drive_that_refuses_at_once_did_not_stop_answering() {
    let (key, unaligned) = ("Illegal Request", "Unaligned write command");
    let found = judged(&failed_write("DRDY SENSE ERR", key, unaligned));
    assert!(sure(&found, Verdict::LayerAbove) > 0.6, "{found:#?}");
    assert!(sure(&found, Verdict::DeviceStall) < 0.1, "{found:#?}");
    // A SAS disk has no libata above it.
    let sas = "[  100.000001] sd 1:0:3:0: [sdd] tag#88 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK cmd_age=0s\n\
               [  100.000002] sd 1:0:3:0: [sdd] tag#88 Sense Key : Illegal Request [current]\n\
               [  100.000003] sd 1:0:3:0: [sdd] tag#88 Add. Sense: Unaligned write command\n\
               [  100.000004] sd 1:0:3:0: [sdd] tag#88 CDB: Write(16) 8a 00 00 00 00 00 7a 2d fd 6b 00 00\n\
               [  100.000005] critical target error, dev sdd, sector 16398674776 op 0x1:(WRITE) flags 0x0\n";
    let found = judged(sas);
    assert!(sure(&found, Verdict::LayerAbove) > 0.6, "{found:#?}");
    let zone = "[  100.000001] nvme0n1: Write(0x1) @ LBA 4096, 8 blocks, Zone Is Full (sct 0x1 / sc 0xb9) DNR\n\
                [  100.000002] I/O error, dev nvme0n1, sector 32768 op 0x1:(WRITE) flags 0x0\n";
    assert!(sure(&judged(zone), Verdict::LayerAbove) > 0.6);
    let beyond = sas.replace(unaligned, "Logical block address out of range");
    let found = judged(&beyond);
    assert!(sure(&found, Verdict::LayerAbove) > 0.6, "{found:#?}");
    assert!(sure(&found, Verdict::DeviceMedia) < 0.1, "{found:#?}");
}

#[test]
fn sense_data_that_libata_makes_up_is_no_refusal() {
    // Without a word of the drive, any error without a bit becomes this one.
    let found = judged(&failed_write("DRDY ERR", "Illegal Request", "Unaligned write command"));
    assert!(sure(&found, Verdict::LayerAbove) < 0.1, "{found:#?}");
    assert!(sure(&found, Verdict::DeviceStall) > 0.3, "{found:#?}");
    // A command that got no answer got none, whatever became of another.
    let refused = failed_write("DRDY SENSE ERR", "Illegal Request", "Unaligned write command");
    let silent = "[686159.569331] ata6.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen\n\
                  [686159.569342] ata6.00: failed command: READ FPDMA QUEUED\n\
                  [686159.569344]          res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)\n";
    let found = judged(&format!("{refused}{silent}"));
    assert!(sure(&found, Verdict::DeviceStall) > 0.3, "{found:#?}");
    // A page that the drive does not know, asked for by a monitor.
    let query = "[  100.000001] sd 1:0:3:0: [sdd] tag#88 Sense Key : Illegal Request [current]\n\
                 [  100.000002] sd 1:0:3:0: [sdd] tag#88 Add. Sense: Logical block address out of range\n\
                 [  100.000003] sd 1:0:3:0: [sdd] tag#88 CDB: Log Sense 4d 00 40 00 00 00 00 00 04 00\n";
    assert!(sure(&judged(query), Verdict::LayerAbove) < 0.1);
    // A file that is called so.
    let named = "[  100.000001] EXT4-fs (sdd1): error: Unaligned write command, Illegal Request\n\
                 [  100.000002] sd 1:0:3:0: [sdd] Attached SCSI disk\n";
    assert!(sure(&judged(named), Verdict::LayerAbove) < 0.1);
}
