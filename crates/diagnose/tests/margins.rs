//! Rules that one figure decides: an input that a rule takes, and beside it one that just misses
//! it.

use iowhy_model::Op;

use crate::made::beside::read;
use crate::made::{MadeCapture, accuses, brief, confidence, of};

fn judged(text: &str) -> Vec<iowhy_model::Finding> {
    let mut capture = MadeCapture::new();
    read(&mut capture, "pasted.txt", text);
    capture.judge()
}

/// A disk that writes one small request behind the other.
fn serial(util: &str) -> String {
    let heading = "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util\n";
    let rows = [("133.00", "7.46"), ("126.00", "7.84"), ("106.00", "9.36")].map(|(rate, wait)| {
        format!(
            "{heading}sda               0.00   178.00    0.00  {rate}     0.00  1232.00    18.53     0.99    {wait}    0.00    {wait}   7.46  {util}\n\n"
        )
    });
    rows.concat()
}

#[test]
fn a_disk_that_one_writer_waits_for_all_the_time_is_not_cleared() {
    let findings = judged(&serial("99.20"));
    assert!(!accuses(&findings, "healthy"), "{}", brief(&findings));
    // With what it is made of left open, nothing is a headline.
    let findings = judged(&serial("94.20"));
    assert_eq!(findings[0].verdict, "healthy", "{}", brief(&findings));
}

/// Two prints of a volume's own counters, 5 s apart, with so long above its limit, µs.
fn volume(above_us: u32) -> String {
    let print = |reads: u32, above: u32| {
        format!(
            "Total Ops:\n  Read: {reads}\n  Write: 0\nTotal Bytes:\n  Read: {}\n  Write: 0\nTotal Time (us):\n  Read: {}\n  Write: 0\n\n\
             EBS Volume Performance Exceeded (us):\n  IOPS: {above}\n  Throughput: 0\n\n\
             Queue Length (point in time): 3\n\n\
             Read IO Latency Histogram\n=================================\n\
             Lower       Upper        IO Count\n=================================\n\
             [512      - 1024    ] => {reads}       \n=================================\n\n",
            reads * 4096,
            reads * 900
        )
    };
    format!(
        "Polling NVMe stats every 5 sec(s); press Ctrl+C to stop\n\n{}{}",
        print(90_000, 0),
        print(10_000, above_us)
    )
}

#[test]
fn a_volume_counts_the_time_above_its_limit() {
    let findings = judged(&volume(510_000));
    assert!(!of(&findings, "cap.volume").is_empty(), "{}", brief(&findings));
    let findings = judged(&volume(490_000));
    assert!(of(&findings, "cap.volume").is_empty(), "{}", brief(&findings));
    let findings = judged(&volume(4_500_000));
    assert!(accuses(&findings, "cap.volume"), "{}", brief(&findings));
}

#[test]
fn what_was_counted_since_long_ago_clears_nobody() {
    let text = volume(0);
    let (first, second) = text.split_once("Total Ops:\n  Read: 10000").unwrap();
    let alone = first.split_once("\n\n").unwrap().1;
    let findings = judged(alone);
    assert!(!accuses(&findings, "healthy"), "{}", brief(&findings));
    let findings = judged(&format!("{first}Total Ops:\n  Read: 10000{second}"));
    assert_eq!(findings[0].verdict, "healthy", "{}", brief(&findings));
}

/// Ten jobs of fio of which mean and maximum are known, and the first percentiles.
fn cut(largest_us: &str) -> String {
    format!(
        "lhtest: (groupid=0, jobs=10): err= 0: pid=26614: Mon Sep 21 17:36:41 2020\n\
         \x20  read: IOPS=8663, BW=135MiB/s (142MB/s)(8125MiB/60019msec)\n\
         \x20   clat (usec): min=87, max={largest_us}, avg=1149.51, stdev=16354.33\n\
         \x20    lat (usec): min=88, max={largest_us}, avg=1150.31, stdev=16354.33\n\
         \x20   clat percentiles (usec):\n\
         \x20    |  1.00th=[    100],  5.00th=[    108], 10.00th=[    113],\n"
    )
}

#[test]
fn one_request_in_a_thousand_that_may_be_the_whole_mean_is_no_queue() {
    let findings = judged(&cut("1515.4k"));
    assert!(!accuses(&findings, "load.saturated"), "{}", brief(&findings));
    let findings = judged(&cut("1100.0k"));
    assert!(accuses(&findings, "load.saturated"), "{}", brief(&findings));
}

/// Fast random reads, and so many times two that hang for 8 s each.
fn hangs_in_pairs(times: usize) -> Vec<iowhy_model::Finding> {
    let mut capture = MadeCapture::traced();
    let (mut at, mut sector) = (0.0, 0);
    let mut send = |capture: &mut MadeCapture, took: f64| {
        sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io("sdc", Op::Read, sector, 4096, at, took);
        at += took + 4.0;
    };
    for _ in 0..times {
        for _ in 0..28 {
            let took = 8.0 * capture.about(0.15);
            send(&mut capture, took);
        }
        for _ in 0..2 {
            let took = 8000.0 * capture.about(0.2);
            send(&mut capture, took);
        }
    }
    for _ in 0..120 {
        let took = 8.0 * capture.about(0.15);
        send(&mut capture, took);
    }
    capture.judge()
}

#[test]
fn freezes_of_seconds_that_come_in_pairs_are_a_pattern() {
    let findings = hangs_in_pairs(7);
    assert!(accuses(&findings, "device.stall"), "{}", brief(&findings));
    let findings = hangs_in_pairs(1);
    assert!(!accuses(&findings, "device.stall"), "{}", brief(&findings));
    assert!(confidence(&findings, "device.hang") >= 0.6, "{}", brief(&findings));
}

/// biosnoop's rows of two runs, in their order or with each third one somewhere else.
fn two_runs(mixed: bool) -> String {
    let heading = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";
    let run = |from: u32| -> Vec<String> {
        let row = |n: u32| {
            let time = f64::from(n) * 0.00834;
            let sector = from + n * 8;
            format!("{time:.6}    writetest      2303    sde       W {sector}   4096       8.33\n")
        };
        let mut rows: Vec<String> = (0..120).map(row).collect();
        if mixed {
            rows.sort_by_key(|row| {
                row.bytes().fold(7u32, |sum, b| sum.wrapping_mul(31) ^ u32::from(b))
            });
        }
        rows
    };
    let (first, second) = (run(87_750_208).concat(), run(97_750_208).concat());
    format!("{heading}{first}{heading}{second}")
}

#[test]
fn rows_of_several_runs_in_no_order_tell_nothing_of_time() {
    let findings = judged(&two_runs(false));
    assert!(accuses(&findings, "load.missed-revolution"), "{}", brief(&findings));
    let findings = judged(&two_runs(true));
    let sure = findings.iter().find(|known| known.verdict != "insufficient" && known.stands());
    assert!(sure.is_none(), "{}", brief(&findings));
}
