//! Published captures with known causes: none of the healthy, artefact, workload, cap or
//! upper-layer ones may be blamed on a disk.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod world;

use iowhy_diagnose::{Options, judge};
use iowhy_model::Recording;
use world::{accuses, blames_a_device, brief, of};

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
fn a_stuck_queue_is_told_and_no_disk_is_blamed_for_it() {
    // Open-CAS/ocf#408: 285 requests outstanding, none completes, await reads 0.00.
    let findings = judged(
        "Device r/s w/s rMB/s wMB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util
sda     0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 285.00 0.00 0.00 0.00 100.00
nvme3n1 1.55 0.00 0.05 0.00 0.08 0.00 5.10 0.00 0.13 0.00 2.00 34.80 0.00 645.16 100.00
nvme1n1 0.93 0.83 0.05 0.00 0.27 0.00 22.22 0.00 1.57 0.00 0.00 54.07 4.80 0.04 0.01
",
    );
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    let told = findings.iter().any(|f| f.sentence.contains("285 requests outstanding"));
    assert!(told, "{}", brief(&findings));
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
