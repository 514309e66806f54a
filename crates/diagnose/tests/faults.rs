//! Faults that log, SMART or a time limit state: a capture that each detector accuses, near misses
//! that it leaves alone, and every cited number recomputed.

use iowhy_diagnose::{Options, in_field, judge};
use iowhy_model::{Fact, Level, Medium, Op, Sink, Unit, key};

use crate::made::beside::{cited, near, read, smart, with_long_ones};
use crate::made::{MadeCapture, accuses, blames_a_device, brief, confidence, of};

/// Healthy random reads of a platter, one after the other.
fn random_reads(capture: &mut MadeCapture, disk: &str, n: usize) {
    let mut at = 0.0;
    for _ in 0..n {
        let took = 8.0 * capture.about(0.15);
        let sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io(disk, Op::Read, sector, 4096, at, took);
        at += took + 5.0;
    }
}

const MEDIUM: &str = "[    1.000000] sd 2:0:0:0: [sdb] Attached SCSI disk\n\
                      [86411.201404] ata3.00: error: { UNC }\n\
                      [86411.204811] sd 2:0:0:0: [sdb] tag#6 Sense Key : Medium Error [current]\n\
                      [86411.204830] blk_update_request: critical medium error, dev sdb, sector \
                      8654860 op 0x0:(READ)\n\
                      ";

#[test]
fn media_by_log_smart_and_failed_requests() {
    let mut capture = MadeCapture::traced();
    capture.medium("sdb", Medium::Rotational);
    random_reads(&mut capture, "sdb", 100);
    capture.recording.end();
    read(&mut capture, "dmesg.txt", MEDIUM);
    read(&mut capture, "smart.json", &smart("sdb", 7200, &[(5, 8), (197, 16)]));
    let findings = capture.judge();
    let media = of(&findings, "device.media")[0];
    assert!(accuses(&findings, "device.media"), "{}", brief(&findings));
    assert_eq!(findings[0].verdict, "device.media", "{}", brief(&findings));
    // One of the port and one of the disk: the disk's two lines are about one command, and what
    // libata reports of the port is counted apart, since nothing in it names the disk's command
    // (decision 0085).
    near(cited(media, "medium errors"), 2.0, 0.0);
    near(cited(media, "first sector"), 8_654_860.0, 0.0);
    near(cited(media, "SMART 197"), 16.0, 0.0);
    near(cited(media, "SMART 5"), 8.0, 0.0);
    assert!(cited(media, "SMART 197").origin.to_string().starts_with("smart.json:"));
    assert!(media.next_step.iter().any(|step| step.contains("replace")));
}

#[test]
fn media_is_not_accused_of_old_reallocations_or_a_silent_smart() {
    for raw in [&[(5, 8)][..], &[(187, 2)], &[(199, 40)], &[(1, 27_105_312), (7, 900)]] {
        let mut capture = MadeCapture::traced();
        capture.medium("sdb", Medium::Rotational);
        random_reads(&mut capture, "sdb", 100);
        capture.recording.end();
        read(&mut capture, "smart.json", &smart("sdb", 7200, raw));
        let findings = capture.judge();
        assert!(!blames_a_device(&findings), "{raw:?}: {}", brief(&findings));
        assert!(accuses(&findings, "healthy"), "{raw:?}: {}", brief(&findings));
    }
    // The same counter, grown since the record before.
    let mut capture = MadeCapture::traced();
    capture.medium("sdb", Medium::Rotational);
    random_reads(&mut capture, "sdb", 100);
    capture.recording.end();
    read(&mut capture, "monday.json", &smart("sdb", 7200, &[(5, 8)]));
    read(&mut capture, "friday.json", &smart("sdb", 7200, &[(5, 40)]));
    let findings = capture.judge();
    assert!(accuses(&findings, "device.media"), "{}", brief(&findings));
    near(cited(of(&findings, "device.media")[0], "increase"), 32.0, 0.0);
}

#[test]
fn a_slow_place_alone_is_a_suspicion_and_replaces_no_disk() {
    let mut capture = MadeCapture::traced();
    capture.medium("sdb", Medium::Rotational);
    let mut at = 0.0;
    for k in 0..300u64 {
        let weak = k % 60 == 30;
        let took = if weak { 900.0 } else { 8.0 * capture.about(0.15) };
        let sector = if weak { 4096 } else { 8 + (capture.chance() * 1e8) as u64 * 8 };
        capture.io("sdb", Op::Read, sector, 4096, at, took);
        at += took + 3.0;
    }
    let findings = capture.judge();
    let media = of(&findings, "device.media")[0];
    assert!(media.confidence() > 0.3 && media.confidence() < 0.6, "{}", brief(&findings));
    near(cited(media, "I/Os to it"), 5.0, 0.0);
    near(cited(media, "slow ones of these"), 5.0, 0.0);
    assert!(media.next_step.iter().all(|step| !step.contains("replace")), "{media:#?}");
}

const LINK: &str = "[86420.118820] ata4.00: exception Emask 0x10 SAct 0x0 SErr 0x4890000 action \
                    0xe frozen\n\
                    [86420.118837] ata4: SError: { PHYRdyChg 10B8B BadCRC }\n\
                    [86420.118847] ata4: hard resetting link\n\
                    [86421.003310] ata4: limiting SATA link speed to 3.0 Gbps\n\
                    [86421.100000] blk_update_request: I/O error, dev sdc, sector 16 op \
                    0x0:(READ)\n\
                    ";

#[test]
fn path_by_log_and_by_a_counter_that_grows() {
    let mut capture = MadeCapture::traced();
    capture.medium("sdc", Medium::Rotational);
    random_reads(&mut capture, "sdc", 100);
    capture.recording.end();
    read(&mut capture, "dmesg.txt", LINK);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.path"), "{}", brief(&findings));
    let path = of(&findings, "device.path")[0];
    // Emask 0x10 and the two marks of corruption; what the kernel does about it is no error.
    near(cited(path, "link errors"), 2.0, 0.0);
    near(cited(path, "link resets"), 2.0, 0.0);
    assert!(path.sentence.contains("not the disk itself"), "{}", path.sentence);
    assert!(path.next_step.iter().all(|step| !step.contains("replace the disk")), "{path:#?}");

    let mut capture = MadeCapture::traced();
    random_reads(&mut capture, "sdc", 100);
    capture.recording.end();
    read(&mut capture, "monday.json", &smart("sdc", 7200, &[(199, 40)]));
    read(&mut capture, "friday.json", &smart("sdc", 7200, &[(199, 95)]));
    let findings = capture.judge();
    assert!(accuses(&findings, "device.path"), "{}", brief(&findings));
    near(cited(of(&findings, "device.path")[0], "since the previous record"), 55.0, 0.0);
}

#[test]
fn path_is_not_accused_of_one_reset_a_plug_or_an_old_count() {
    let reset = "[  120.118847] ata4: hard resetting link\n\
                 [  121.100000] sd 3:0:0:0: [sdc] Attached SCSI disk\n\
                 ";
    let plug = "[  120.118837] ata4: SError: { PHYRdyChg CommWake }\n";
    let collateral = "[  120.000000] ata4.00: error: { UNC }\n\
                      [  120.118847] ata4: hard resetting link\n\
                      [  120.300000] blk_update_request: critical medium error, dev sdc, sector \
                      2056 op 0x0:(READ)\n\
                      ";
    for text in [reset, plug, collateral, &smart("sdc", 7200, &[(199, 4000)])] {
        let mut capture = MadeCapture::traced();
        capture.medium("sdc", Medium::Rotational);
        random_reads(&mut capture, "sdc", 100);
        capture.recording.end();
        read(&mut capture, "beside.txt", text);
        let findings = capture.judge();
        assert!(!accuses(&findings, "device.path"), "{text}: {}", brief(&findings));
    }
}

const TIMEOUT: &str = "[  900.000000] ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 \
                       frozen\n\
                       [  900.200000] blk_update_request: I/O error, dev sdb, sector 16 op \
                       0x0:(READ)\n\
                       ";

#[test]
fn recovery_piles_up_at_a_limit() {
    let mut capture = with_long_ones(&[7.02, 7.05, 6.98, 7.01, 7.03]);
    read(&mut capture, "dmesg.txt", TIMEOUT);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.recovery"), "{}", brief(&findings));
    let recovery = of(&findings, "device.recovery")[0];
    near(cited(recovery, "within 5 %"), 5.0, 0.0);
    near(cited(recovery, "median latency"), 7.02, 1e-6);
    // 35.09 s of 35.09 s + little: nearly all that was lost.
    assert!(recovery.explained_share > 0.95, "{recovery:#?}");
}

/// What libata prints of one command that it gave up, a second after the one before.
fn given_up(n: usize) -> Vec<String> {
    let lines = [
        ".141379] ata3.00: failed command: FLUSH CACHE EXT",
        ".141388] ata3.00: cmd ea/00:00:00:00:00/00:00:00:00:00/a0 tag 0",
        ".141388]          res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)",
        ".141393] ata3.00: status: { DRDY }",
    ];
    lines.iter().map(|line| format!("[ {}{line}\n", 6546 + 40 * n)).collect()
}

#[test]
fn a_command_that_was_given_up_weighs_by_what_is_known_of_it() {
    let frozen =
        "[ 6546.141374] ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen\n";
    let stall = |log: &str| {
        let mut capture = MadeCapture::new();
        read(&mut capture, "dmesg.txt", log);
        confidence(&judge(&capture.recording, &Options::default()), "device.stall")
    };
    // The whole record accuses, with one command or many.
    let whole = stall(&(frozen.to_string() + &given_up(0).concat()));
    assert!(whole >= 0.6, "{whole}");
    for n in 2..6 {
        let many: String = (0..n).flat_map(given_up).collect();
        near_to(stall(&(frozen.to_string() + &many)), whole);
    }
    // A line alone that a filter left says less: it has the confidence of such first answers.
    let (all, right) = in_field::SUSPICIONS;
    let of_such = f64::from(right) / f64::from(all);
    for line in [frozen, &given_up(0)[0]] {
        let alone = stall(line);
        assert!(alone > 0.5 && alone < of_such && alone < whole - 0.1, "{line}: {alone}");
    }
}

fn near_to(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

#[test]
fn a_timeout_is_noticed_up_to_a_second_late() {
    let stated = |long_s: &[f64]| {
        let mut capture = with_long_ones(long_s);
        capture.listing("sysfs", Level::E);
        let device = Some(capture.recording.device("sdb"));
        let read_from = "/sys/block/sdb/device/timeout";
        capture.recording.fact(Fact::read(device, key::DEVICE_TIMEOUT, "3", read_from));
        capture.judge()
    };
    // Commands that never answer, at a timeout of 3 s: abort and second try come on top.
    let findings = stated(&[3.42, 3.91, 4.06, 3.08, 3.55]);
    assert!(accuses(&findings, "device.recovery"), "{}", brief(&findings));
    assert_eq!(findings[0].verdict, "device.recovery", "{}", brief(&findings));
    near(cited(of(&findings, "device.recovery")[0], "requests from the limit"), 5.0, 0.0);
    // Near miss: stalls of any length, with one of them there.
    let findings = stated(&[1.7, 2.4, 3.42, 5.2, 5.9]);
    assert!(!accuses(&findings, "device.recovery"), "{}", brief(&findings));
}

#[test]
fn a_status_of_error_outranks_any_shape() {
    let failing = |errno: Option<u16>| {
        let mut capture = MadeCapture::traced();
        // 4 KB reads one behind the other, each 0.3 ms: the shape of a direct mount.
        capture.chain("sdb", Op::Read, 4096, &[0.3; 400]);
        for place in [100, 101, 300, 301] {
            capture.recording.listings[0].events[place].error = errno;
        }
        capture.judge()
    };
    let findings = failing(Some(61));
    assert_eq!(findings[0].verdict, "device.media", "{}", brief(&findings));
    assert!(accuses(&findings, "device.media"), "{}", brief(&findings));
    near(cited(of(&findings, "device.media")[0], "requests that failed as unreadable"), 4.0, 0.0);
    let findings = failing(None);
    assert!(of(&findings, "device.media").is_empty(), "{}", brief(&findings));
}

#[test]
fn a_tail_through_the_limits_is_no_recovery() {
    let findings = with_long_ones(&[3.0, 5.0, 7.1, 9.0, 11.5, 14.0]).judge();
    assert!(!accuses(&findings, "device.recovery"), "{}", brief(&findings));
    // Two at a guessed limit, nothing else known: chance.
    let findings = with_long_ones(&[7.02, 6.98]).judge();
    assert!(confidence(&findings, "device.recovery") < 0.6, "{}", brief(&findings));
}

#[test]
fn evidence_alone_is_judged_too() {
    let mut capture = MadeCapture::new();
    read(&mut capture, "smart.json", &smart("sdb", 7200, &[(197, 16)]));
    let findings = judge(&capture.recording, &Options::default());
    assert!(accuses(&findings, "device.media"), "{}", brief(&findings));
    assert_eq!(cited(of(&findings, "device.media")[0], "197").amount.unit, Unit::Count);
}

#[test]
fn failed_requests_are_told_by_their_status() {
    let failing = |disk: &str, errno: u16| {
        let mut capture = MadeCapture::traced();
        random_reads(&mut capture, disk, 60);
        for place in [20, 40] {
            capture.recording.listings[0].events[place].error = Some(errno);
        }
        capture.judge()
    };
    let findings = failing("sdb", 61);
    assert!(accuses(&findings, "device.media"), "{}", brief(&findings));
    near(cited(of(&findings, "device.media")[0], "unreadable"), 2.0, 0.0);
    let findings = failing("sdb", 67);
    assert!(accuses(&findings, "device.path"), "{}", brief(&findings));
    // EIO at two places may be anything, and on a stacked device it is somebody else's.
    for disk in ["sdb", "dm-0"] {
        let findings = failing(disk, 5);
        assert!(!accuses(&findings, "device.media"), "{disk}: {}", brief(&findings));
    }
}
