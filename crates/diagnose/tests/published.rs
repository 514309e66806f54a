//! Published captures with known causes: none of the healthy, artefact, workload, cap or
//! upper-layer ones may be blamed on a disk.

use iowhy_diagnose::{Options, judge};
use iowhy_model::Recording;

use crate::made::{accuses, blames_a_device, brief, of};

const OLD: &str =
    "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util";
const NEW: &str = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util";
const SNOOP: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)";

fn judged(text: &str) -> Vec<iowhy_model::Finding> {
    let mut recording = Recording::new();
    iowhy_read::scan("published", &mut text.as_bytes(), None, &mut recording).unwrap();
    judge(&recording, &Options::default())
}

#[test]
fn a_queue_of_a_hundred_is_the_load() {
    // influxdata/influxdb#2899.
    let findings = judged(
        "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util
sda 389.00 40.00 65.00 469.00 3652.00 4100.00 14.52 142.06 284.73 1.87 100.00
sda 1529.50 19.50 350.50 413.50 14984.00 3464.00 24.15 105.77 134.89 1.31 99.95
sda 1455.50 269.00 395.00 365.00 14832.00 5052.00 26.16 105.60 133.40 1.32 100.00
",
    );
    assert!(accuses(&findings, "load.saturated"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
}

#[test]
fn many_tiny_writes_on_a_cached_array_are_no_fault() {
    // influxdata/influxdb#2554; its queue and its waits contradict each other.
    let findings = judged(&format!(
        "{OLD}
sda 0 59.80 0 8444.20 0 35890.40 8.50 18.22 0.48 0 0.48 0.12 98.56
sda 0 31.40 0 7055.40 0 30180.00 8.56 39.46 0.58 0 0.58 0.14 100.00
"
    ));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    assert!(!of(&findings, "report.inconsistent").is_empty(), "{}", brief(&findings));
}

#[test]
fn a_flush_that_the_tool_omits_is_not_the_disks() {
    // iovisor/bcc#1077.
    let lines: String = (0..20)
        .map(|k| {
            let (at, sector) = (67.83068 + 0.01003 * f64::from(k), 6024 + 8 * k);
            format!("{at:.6} app 7 sda W {sector} 4096 0.65\n")
        })
        .collect();
    let findings = judged(&format!("{SNOOP}\n{lines}"));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
}

#[test]
fn two_slow_reads_behind_another_guests_writes() {
    // brendangregg/perf-tools, iosnoop example.
    let findings = judged(&format!(
        "{SNOOP}
6037596.000051 supervise 1 xvda1 W 12862968 4096 0.54
6037596.000440 supervise 1 xvda1 W 17040176 4096 0.50
6037596.001360 supervise 1 xvda1 W 17040184 4096 0.53
6037596.018133 randread 2 xvdc R 954168 8192 20.03
6037596.018150 randread 2 xvdc R 954200 8192 20.05
6037596.018347 randread 2 xvdc R 18836600 8192 0.16
"
    ));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    assert_eq!(findings[0].verdict, "insufficient", "{}", brief(&findings));
}

#[test]
fn flash_reads_of_a_sixth_of_a_millisecond_are_healthy() {
    // The same example.
    let latencies = [
        0.18, 0.15, 0.16, 0.18, 0.30, 0.23, 0.16, 0.18, 0.21, 0.18, 0.20, 0.16, 1.28, 0.15, 0.16,
        0.15, 0.14,
    ];
    let mut at = 100.0;
    let lines: String = latencies
        .iter()
        .enumerate()
        .map(|(k, ms)| {
            at += ms / 1000.0 + 0.00002;
            format!("{at:.6} randread 5 xvdc R {} 8192 {ms}\n", (k * 7_919_777) % 40_000_000)
        })
        .collect();
    let findings = judged(&format!("{SNOOP}\n{lines}"));
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
}

#[test]
fn a_rotational_disk_of_one_to_sixteen_milliseconds_is_healthy() {
    // bcc, biolatency example.
    let rows = [
        (6, 1),
        (7, 12),
        (8, 15),
        (9, 43),
        (10, 52),
        (11, 47),
        (12, 52),
        (13, 36),
        (14, 15),
        (15, 2),
        (16, 2),
    ];
    let lines: String = rows
        .iter()
        .map(|(k, n)| format!("{:>8} -> {:<8} : {n} |*|\n", 1u64 << k, (1u64 << (k + 1)) - 1))
        .collect();
    let findings = judged(&format!(
        "Tracing block device I/O... Hit Ctrl-C to end.
     usecs           : count     distribution
{lines}"
    ));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
}

#[test]
fn busy_shares_that_lie_blame_no_disk() {
    // A26 (io_ticks undercounted), A27 (a jump with newer kernels), A34 (a cgroup limit above the
    // disk), A35 (flushes counted as writes), A36 (no CPU left), as listed among our cases.
    for row in [
        format!("{OLD}\nsda 0 0 156.5 0 160256 0 2048 5.0 32 32 0 1.15 18\n"),
        format!("{OLD}\nsda 0 0 314.0 0 160768 0 1024 2.1 6.7 6.7 0 1.12 35\n"),
        format!(
            "{NEW}\nnvme0n1 7.00 130.00 28 25060 0 0 0 0 2.86 13.66 1.80 4.00 192.77 0.50 6.80\n"
        ),
        format!("{NEW}\nloop0 180.00 0 720.00 0 0 0 0 0 0.98 0 0.18 4.00 0 0.1 2.00\n"),
        format!("{NEW}\nloop0 0 1511.33 0 3022.67 0 0 0 0 0 0.29 0.86 0 2.00 0.3 45.2\n"),
        format!("{NEW}\nvda 989 0 3956 0 0 0 0 0 0.09 0 0.08 4.00 0 0.1 7.80\n"),
    ] {
        let findings = judged(&row);
        assert!(!findings.is_empty(), "{row}");
        assert!(!blames_a_device(&findings), "{row}{}", brief(&findings));
    }
}

#[test]
fn a_stuck_queue_is_reported_and_no_disk_is_blamed_for_it() {
    // Open-CAS/ocf#408: 285 requests outstanding, none completes, await reads 0.00.
    let findings = judged(
        "Device r/s w/s rMB/s wMB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util
sda     0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 285.00 0.00 0.00 0.00 100.00
nvme3n1 1.55 0.00 0.05 0.00 0.08 0.00 5.10 0.00 0.13 0.00 2.00 34.80 0.00 645.16 100.00
nvme1n1 0.93 0.83 0.05 0.00 0.27 0.00 22.22 0.00 1.57 0.00 0.00 54.07 4.80 0.04 0.01
",
    );
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    let reported = findings.iter().any(|f| f.sentence.contains("285 requests outstanding"));
    assert!(reported, "{}", brief(&findings));
}

/// Eight disks: six are read from, two are written to, as fast as they go.
fn copied_to(two: &str) -> String {
    let mut rows = String::from(OLD);
    for disk in ["b", "c", "d", "e", "f", "g"] {
        rows.push_str(&format!(
            "\nsd{disk} 0 0 320.40 2.80 40960 20 253.24 0.73 2.20 2.19 3.21 1.00 33.13"
        ));
    }
    for disk in ["h", "k"] {
        rows.push_str(&format!("\nsd{disk} {two}"));
    }
    rows.push('\n');
    rows
}

#[test]
fn disks_that_do_other_work_are_no_peers() {
    // openzfs/zfs#6265: a copy from six disks to two.
    let written = "0 0 0.80 987.90 3.20 125440 253.74 9.73 9.84 15.88 9.84 1.01 99.40";
    let findings = judged(&copied_to(written));
    assert!(of(&findings, "peer.outlier").is_empty(), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    // Of those that do the same one may be the slow one.
    let slow =
        judged(&copied_to("0 0 300.10 2.90 38400 20 253.24 11.90 38.10 38.19 30.21 3.30 99.13"));
    assert!(!of(&slow, "peer.outlier").is_empty(), "{}", brief(&slow));
}

#[test]
fn files_and_volumes_are_no_peers() {
    for name in ["loop", "dm-", "zram"] {
        let mut rows = String::from(OLD);
        for place in 0..8 {
            let wait = if place == 5 { 30.0 } else { 0.4 };
            let queue = 0.08 * wait;
            rows.push_str(&format!(
                "\n{name}{place} 0 0 80.00 0.00 320 0 8.00 {queue:.2} {wait} {wait} 0.00 0.30 2.40"
            ));
        }
        rows.push('\n');
        let findings = judged(&rows);
        assert!(of(&findings, "peer.outlier").is_empty(), "{name}: {}", brief(&findings));
    }
}

#[test]
fn memory_that_is_reclaimed_without_end_is_short() {
    // okd-project/okd#1846.
    let findings = judged(
        "top - 14:02:50 up 16:38,  1 user,  load average: 378.90, 324.11, 182.45
%Cpu(s):  4.4 us,  6.6 sy,  0.0 ni,  0.0 id, 88.3 wa,  0.2 hi,  0.3 si,  0.2 st
    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
    160 root      20   0       0      0      0 R  99.0   0.0  10:42.59 [kswapd0]
",
    );
    assert!(accuses(&findings, "layer.memory"), "{}", brief(&findings));
}

#[test]
fn a_link_reset_after_a_timeout_blames_no_link() {
    let findings = judged(
        "[ 6546.141374] ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen
[ 6546.141379] ata3.00: failed command: FLUSH CACHE EXT
[ 6546.141388]          res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 (timeout)
[ 6546.141395] ata3: hard resetting link
",
    );
    assert!(accuses(&findings, "device.stall"), "{}", brief(&findings));
}

#[test]
fn one_write_per_revolution_is_neither_well_nor_slow() {
    let rows = |wait: &str, queue: &str, reads: &str| {
        let row = format!("sda {reads} 119 0 476 0 0 0 0 1.00 {wait} {queue} 4 4 8.36 99.5");
        judged(&format!("{NEW}\n{row}\n{row}\n{row}\n"))
    };
    let findings = rows("8.38", "1.00", "0");
    assert!(!blames_a_device(&findings) && !accuses(&findings, "healthy"), "{}", brief(&findings));
    let suspicion = of(&findings, "load.missed-revolution");
    assert!(suspicion.len() == 1 && suspicion[0].confidence() < 0.6, "{}", brief(&findings));
    // Two in flight, or reads beside the writes: no program that waits for each write.
    for other in [rows("16.80", "2.00", "0"), rows("8.38", "1.00", "40")] {
        assert!(of(&other, "load.missed-revolution").is_empty(), "{}", brief(&other));
    }
}

#[test]
fn a_counter_that_wrapped_is_named() {
    let good = "sda 20 30 200 400 0 0 0 0 0.50 0.60 0.03 10 13.33 0.50 2.50";
    for bad in [
        "sda 20 30 200 400 0 0 0 0 0.50 0.60 18446744073709.55 10 13.33 0.50 2.50",
        "sda 20 30 200 400 0 0 0 0 0.50 214748364.8 0.03 10 13.33 0.50 2.50",
        "sda 20 0.5 200 400 0 0 0 0 0.50 4294967.29 0.03 10 13.33 0.50 2.50",
    ] {
        let findings = judged(&format!("{NEW}\n{good}\n{bad}\n{good}\n"));
        assert!(accuses(&findings, "report.inconsistent"), "{bad}: {}", brief(&findings));
        assert!(of(&findings, "healthy").is_empty(), "{bad}: {}", brief(&findings));
    }
    // A device that hung for a minute and came back is not a counter.
    let hung = "sda 20 0.5 200 400 0 0 0 0 0.50 60000.0 30.0 10 13.33 0.50 100.0";
    let findings = judged(&format!("{NEW}\n{good}\n{hung}\n{good}\n"));
    assert!(
        of(&findings, "report.inconsistent").iter().all(|f| !f.sentence.contains("wrapped")),
        "{}",
        brief(&findings)
    );
}

#[test]
fn equal_peers_exonerate_a_single_disk() {
    let shelf = |slow: [f64; 4]| {
        let mut rows = String::from(NEW);
        for (disk, wait) in ["a", "b", "c", "d"].into_iter().zip(slow) {
            let queue = 0.03 * wait;
            rows.push_str(&format!(
                "\nsd{disk} 30 0 3840 0 0 0 0 0 {wait} 0 {queue:.2} 128 0 {wait} {:.1}",
                3.0 * wait
            ));
        }
        rows.push('\n');
        judged(&rows)
    };
    let alike = shelf([31.0, 33.0, 32.0, 30.0]);
    let slow = |findings: &[iowhy_model::Finding]| {
        of(findings, "device.slow").iter().any(|finding| finding.confidence() >= 0.6)
    };
    assert!(!slow(&alike), "{}", brief(&alike));
    let one = shelf([31.0, 2.0, 2.1, 1.9]);
    assert!(blames_a_device(&one), "{}", brief(&one));
}

/// What smartctl reports of a drive of that model with so many CRC errors.
fn smartctl(disk: &str, model: &str, crc: u64) -> String {
    format!(
        "# smartctl -a /dev/{disk}
smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.15.0] (local build)

=== START OF INFORMATION SECTION ===
Device Model:     {model}
Rotation Rate:    5400 rpm

=== START OF READ SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED

ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE
  5 Reallocated_Sector_Ct   0x0033   200   200   140    Pre-fail  Always       -       0
199 UDMA_CRC_Error_Count    0x0032   200   200   000    Old_age   Always       -       {crc}

"
    )
}

#[test]
fn crc_errors_beside_a_twin_that_has_none_are_the_paths() {
    let beside = |model: &str, crc: u64| {
        judged(&(smartctl("sda", "WDC WD40EFRX-68N32N0", crc) + &smartctl("sdb", model, 0)))
    };
    let twin = beside("WDC WD40EFRX-68N32N0", 812);
    assert!(accuses(&twin, "device.path"), "{}", brief(&twin));
    for other in [beside("ST4000VN008-2DR166", 812), beside("WDC WD40EFRX-68N32N0", 2)] {
        assert!(!blames_a_device(&other), "{}", brief(&other));
    }
    // So few may be of one plug.
    let few = beside("WDC WD40EFRX-68N32N0", 12);
    assert!(!blames_a_device(&few) && !of(&few, "device.path").is_empty(), "{}", brief(&few));
}

#[test]
fn a_shingled_disk_beside_hung_tasks_or_resets() {
    let hung = "[ 9129.215156] INFO: task jbd2/sdd1-8:22455 blocked for more than 120 seconds.\n";
    let reset = "[ 9130.215156] sd 0:0:3:0: [sdd] Power-on or device reset occurred\n";
    for line in [hung, reset] {
        let listed = judged(&(smartctl("sdd", "ST4000DM004-2CV104", 0) + line));
        assert!(accuses(&listed, "device.smr"), "{line}: {}", brief(&listed));
        let other = judged(&(smartctl("sdd", "ST4000VN008-2DR166", 0) + line));
        assert!(of(&other, "device.smr").is_empty(), "{line}: {}", brief(&other));
    }
}

#[test]
fn what_a_program_takes_to_send_is_not_the_drives() {
    // axboe/fio#1394: 26 us on the drive, 64 with the call that sent it.
    let findings = judged(
        "fio -filename=/dev/nvme2n1 -direct=1 -iodepth=1 -rw=randwrite -ioengine=libaio -bs=4k -name=mytest
mytest: (g=0): rw=randwrite, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1
fio-3.21
mytest: (groupid=0, jobs=1): err= 0: pid=1779481: Sun May  1 19:29:21 2022
  write: IOPS=300, BW=1200KiB/s (1229kB/s)(211MiB/180001msec); 0 zone resets
    slat (usec): min=8, max=5205, avg=36.09, stdev=22.69
    clat (nsec): min=4387, max=72564, avg=26220.23, stdev=6613.11
     lat (usec): min=26, max=5218, avg=63.55, stdev=23.44
",
    );
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
}

#[test]
fn rates_that_no_device_reaches_are_named() {
    // sysstat/sysstat#259: counters that go back.
    let findings = judged(
        "02:22:31 DEV tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util\n\
         02:22:36 dev8-0 24.80 57.60 254.40 12.58 0.00 0.06 0.06 0.16\n\
         02:22:36 dev8-32 3689348814741910528.00 858993457.60 0.00 1.00 0.00 0.00 0.00 0.08\n",
    );
    assert_eq!(findings[0].verdict.name(), "report.inconsistent", "{}", brief(&findings));
    assert!(findings[0].sentence.contains("3.7e18"), "{}", findings[0].sentence);
}

#[test]
fn half_a_pool_that_counts_errors_is_no_fault_of_each_disk() {
    let pool = |failing: usize| {
        let mut text = String::from(
            "  pool: tank\n state: DEGRADED\nconfig:\n\n\tNAME STATE READ WRITE CKSUM\n\
             \ttank DEGRADED 0 0 0\n\t  raidz2-0 DEGRADED 0 0 0\n",
        );
        for place in 0..8 {
            let row =
                if place < failing { "FAULTED 31 0 0 too many errors" } else { "ONLINE 0 0 0" };
            text.push_str(&format!("\t    sd{} {row}\n", char::from(b'a' + place as u8)));
        }
        judged(&(text + "\nerrors: No known data errors\n"))
    };
    let one = pool(1);
    assert_eq!(one[0].verdict.name(), "device.media", "{}", brief(&one));
    let many = pool(5);
    assert_eq!(many[0].verdict.name(), "device.path", "{}", brief(&many));
    assert!(of(&many, "device.media").is_empty(), "{}", brief(&many));
}

#[test]
fn a_target_speaks_in_its_own_name() {
    let log = |address: &str, command: &str| {
        judged(&format!(
            "[100.000001] sd {address}: [sdb] tag#0 Sense Key : Medium Error [current]\n\
             [100.000002] sd {address}: [sdb] tag#0 Add. Sense: Unrecovered read error\n\
             [100.000003] sd {address}: [sdb] tag#0 CDB: {command}\n\
             [100.000004] blk_update_request: critical medium error, dev sdb, sector 5256\n"
        ))
    };
    let (read, write) =
        ("Read(10) 28 00 00 00 14 88 00 00 08 00", "Write(10) 2a 00 00 00 14 88 00 00 08 00");
    for (address, command, verdict) in [
        ("3:0:0:0", read, "device.media"),
        ("3:0:0:0", write, "layer.remote"),
        ("3:0:0:1", read, "layer.remote"),
        // A volume of the machine's own RAID controller.
        ("0:0:0:1", read, "device.media"),
    ] {
        let findings = log(address, command);
        assert_eq!(
            findings[0].verdict.name(),
            verdict,
            "{address} {command}: {}",
            brief(&findings)
        );
    }
}
