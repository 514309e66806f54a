//! Every detector has a capture that it accuses and a near miss that it leaves alone.

use iowhy_diagnose::Options;
use iowhy_model::{Distribution, Fact, Histogram, Layer, Level, Medium, Op, Sink, Stage, key};

use crate::made::{MadeCapture, Row, accuses, blames_a_device, brief, confidence, of};

/// Sequential 128 KB reads of a 7200-rpm disk, of which every third loses one to four revolutions.
fn retrying(capture: &mut MadeCapture, revolution_ms: f64) -> Vec<f64> {
    (0..60)
        .map(|k| {
            let revolutions = if k % 3 == 0 { 1 + (capture.chance() * 4.0) as u32 } else { 0 };
            1.7 * capture.about(0.05) + f64::from(revolutions) * revolution_ms
        })
        .collect()
}

#[test]
fn device_retry() {
    let mut capture = MadeCapture::traced();
    let services = retrying(&mut capture, 60_000.0 / 7200.0);
    capture.chain("sdb", Op::Read, 131072, &services);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.retry"), "{}", brief(&findings));
    assert_eq!(findings[0].verdict, "device.retry");

    // Near miss: as many slow reads, of any length.
    let mut capture = MadeCapture::traced();
    let services: Vec<f64> = (0..60)
        .map(|k| 1.7 * capture.about(0.05) + if k % 3 == 0 { 33.0 * capture.chance() } else { 0.0 })
        .collect();
    capture.chain("sdb", Op::Read, 131072, &services);
    let findings = capture.judge();
    assert!(confidence(&findings, "device.retry") < 0.6, "{}", brief(&findings));
}

#[test]
fn device_retry_needs_a_platter() {
    let mut capture = MadeCapture::traced();
    capture.medium("sdb", Medium::Flash);
    let services = retrying(&mut capture, 60_000.0 / 7200.0);
    capture.chain("sdb", Op::Read, 131072, &services);
    let findings = capture.judge();
    assert!(of(&findings, "device.retry").is_empty(), "{}", brief(&findings));
}

#[test]
fn device_retry_is_not_a_scheduler_of_250_hz() {
    // 13 us are no platter's; one read of a hundred is seen one to three ticks of 4 ms late.
    let ticking = |capture: &mut MadeCapture| {
        let late = |capture: &mut MadeCapture| 4.0 * f64::from(1 + (capture.chance() * 3.0) as u32);
        let services: Vec<f64> = (0..4000)
            .map(|k| 0.013 * capture.about(0.1) + if k % 100 == 0 { late(capture) } else { 0.0 })
            .collect();
        capture.chain("sdb", Op::Read, 4096, &services);
    };
    let mut capture = MadeCapture::traced();
    ticking(&mut capture);
    let findings = capture.judge();
    assert!(of(&findings, "device.retry").is_empty(), "{}", brief(&findings));
    // If the drive itself shows that it turns, at that speed, it is believed.
    let mut capture = MadeCapture::traced();
    capture.medium("sdb", Medium::Rotational);
    ticking(&mut capture);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.retry"), "{}", brief(&findings));
}

#[test]
fn device_slow() {
    // One read at a time, each 60 ms on a device that shows it is flash.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    let services: Vec<f64> = (0..50).map(|_| 60.0 * capture.about(0.2)).collect();
    capture.chain("sda", Op::Read, 4096, &services);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.slow"), "{}", brief(&findings));
    let forecast = of(&findings, "device.slow")[0].forecast.clone().unwrap();
    let (from, to) = forecast.range.unwrap();
    assert!(from < to && to.ms() < 1.0 && !forecast.is_narrow(), "{forecast:?}");

    // Near miss: the same latencies because forty wait behind each other.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    queue(&mut capture, "sda", 400, 6, 10.0);
    let findings = capture.judge();
    assert!(!accuses(&findings, "device.slow"), "{}", brief(&findings));
}

/// `n` random reads on a serial device, always `depth` in flight.
fn queue(capture: &mut MadeCapture, device: &str, n: usize, depth: usize, service_ms: f64) {
    let mut done = vec![0.0; depth];
    for k in 0..n {
        let issued = done[k % depth];
        let before = done[(k + depth - 1) % depth];
        let completed = f64::max(before, issued) + service_ms * capture.about(0.2);
        let sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io(device, Op::Read, sector, 4096, issued, completed - issued);
        done[k % depth] = completed;
    }
}

#[test]
fn load_saturated() {
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    queue(&mut capture, "sda", 400, 16, 9.0);
    let findings = capture.judge();
    assert!(accuses(&findings, "load.saturated"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));

    // Near miss: one at a time, nothing waits.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    queue(&mut capture, "sda", 400, 1, 9.0);
    let findings = capture.judge();
    assert!(!accuses(&findings, "load.saturated"), "{}", brief(&findings));
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
}

/// Fast reads one after the other; those at `stalls` (ms) wait until the stall is over, with all
/// that came meanwhile.
fn stalling(capture: &mut MadeCapture, device: &str, episodes: usize) {
    for k in 0..2000 {
        let at = k as f64 * 2.0;
        let sector = (capture.chance() * 1e8) as u64 * 8;
        let phase = at % 1000.0;
        let frozen = (at / 1000.0) < episodes as f64 && phase < 300.0;
        let took = 0.15 * capture.about(0.2) + if frozen { 300.0 - phase } else { 0.0 };
        capture.io(device, Op::Read, sector, 4096, at, took);
    }
}

#[test]
fn device_stall() {
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    stalling(&mut capture, "sda", 3);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.stall"), "{}", brief(&findings));

    // Near miss: another device freezes at the same moments, so the host paused.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    capture.medium("sdb", Medium::Flash);
    stalling(&mut capture, "sda", 3);
    stalling(&mut capture, "sdb", 3);
    let findings = capture.judge();
    assert!(of(&findings, "device.stall").is_empty(), "{}", brief(&findings));
}

#[test]
fn device_hang() {
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    stalling(&mut capture, "sda", 1);
    let findings = capture.judge();
    assert!(accuses(&findings, "device.hang"), "{}", brief(&findings));
    assert!(of(&findings, "device.stall").is_empty(), "{}", brief(&findings));
    let hang = of(&findings, "device.hang")[0];
    assert!(hang.sentence.contains("hung once: nothing completed for 300 ms"), "{}", hang.sentence);

    // Near miss: it comes again, and is a pattern.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    stalling(&mut capture, "sda", 3);
    assert!(of(&capture.judge(), "device.hang").is_empty());
}

#[test]
fn load_burst() {
    // Every second forty writes at once, drained one per 5 ms.
    let burst = |spacing: f64| {
        let mut capture = MadeCapture::traced();
        capture.medium("sda", Medium::Rotational);
        for batch in 0..8 {
            let start = f64::from(batch) * 1000.0;
            let mut done = start;
            for k in 0..40 {
                done += spacing * capture.about(0.1);
                let sector = (capture.chance() * 1e8) as u64 * 8;
                let issued = start + f64::from(k) * 0.01;
                capture.io("sda", Op::Write, sector, 4096, issued, done - issued);
            }
        }
        capture.judge()
    };
    let findings = burst(5.0);
    assert!(accuses(&findings, "load.burst"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));

    // Near miss: each takes 60 ms, so a slow disk stands behind the batch.
    let findings = burst(60.0);
    assert!(!accuses(&findings, "load.burst"), "{}", brief(&findings));
}

#[test]
fn load_large_io() {
    let row = |bytes: f64, await_ms: f64| {
        let mut capture = MadeCapture::averaged();
        capture.medium("sda", Medium::Rotational);
        let (per_s, busy) = (100.0, (0.1 * await_ms).min(1.0));
        capture.row("sda", Op::Read, Row { per_s, bytes, await_ms, busy });
        capture.judge()
    };
    // 1 MB at 150 MB/s takes 7 ms.
    let findings = row(1048576.0, 7.5);
    assert!(accuses(&findings, "load.large-io"), "{}", brief(&findings));
    // Near miss: 4 KB that take as long.
    let findings = row(4096.0, 7.5);
    assert!(of(&findings, "load.large-io").is_empty(), "{}", brief(&findings));
}

#[test]
fn load_small_sync() {
    // 8 KB reads one at a time, each where the last one ended.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    let services: Vec<f64> = (0..80).map(|_| 0.3 * capture.about(0.1)).collect();
    capture.chain("sda", Op::Read, 8192, &services);
    let findings = capture.judge();
    assert!(accuses(&findings, "load.small-sync"), "{}", brief(&findings));

    // Near miss: as small, but all over the disk.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    queue(&mut capture, "sda", 80, 1, 8.0);
    let findings = capture.judge();
    assert!(of(&findings, "load.small-sync").is_empty(), "{}", brief(&findings));
}

#[test]
fn load_missed_revolution() {
    let revolution = 60_000.0 / 7200.0;
    let mut capture = MadeCapture::traced();
    let services: Vec<f64> = (0..120)
        .map(|k| revolution * (1.0 + f64::from(k % 40 == 7)) + 0.01 * (capture.chance() - 0.5))
        .collect();
    capture.chain("sda", Op::Write, 1024, &services);
    let findings = capture.judge();
    assert!(accuses(&findings, "load.missed-revolution"), "{}", brief(&findings));
    assert!(!accuses(&findings, "device.slow"), "{}", brief(&findings));

    // Near miss: random writes take half a revolution on average.
    let mut capture = MadeCapture::traced();
    let services: Vec<f64> =
        (0..120).map(|_| revolution * (0.2 + 0.8 * capture.chance())).collect();
    capture.chain("sda", Op::Write, 1024, &services);
    let findings = capture.judge();
    assert!(of(&findings, "load.missed-revolution").is_empty(), "{}", brief(&findings));
}

/// Eight disks in a table of count, minimum, mean and maximum; one has its mean multiplied.
fn shelf(factor: f64, stepping: f64) -> MadeCapture {
    let mut capture = MadeCapture::new();
    capture.listing("latency-outliers", Level::B);
    for k in 0..8u64 {
        let device = capture.recording.device(&format!("sd{}", char::from(b'a' + k as u8)));
        let mean = 6.5e6 * (1.0 + stepping * k as f64) * if k == 5 { factor } else { 1.0 };
        let histogram = Histogram::from_summary(200, mean, 100_000, (mean * 5.5) as u64);
        let known = Distribution::new(device, Layer::Block, Stage::Total, histogram);
        capture.recording.distribution(known);
    }
    capture
}

#[test]
fn one_half_of_a_mirror_is_compared_with_the_other() {
    let judged = |rates: [f64; 2], waits_ms: [f64; 2], busy: f64| {
        let mut capture = MadeCapture::averaged();
        for _ in 0..6 {
            for (place, disk) in ["sda", "sdb"].into_iter().enumerate() {
                let (per_s, await_ms) = (rates[place], waits_ms[place]);
                let busy = if place == 1 { busy } else { 0.2 };
                capture.row(disk, Op::Write, Row { per_s, bytes: 8192.0, await_ms, busy });
            }
        }
        capture.judge()
    };
    let slow = judged([300.0, 305.0], [0.4, 240.0], 1.0);
    assert!(accuses(&slow, "peer.outlier"), "{}", brief(&slow));
    assert_eq!(slow[0].verdict.name(), "peer.outlier", "{}", brief(&slow));
    // Another work: the load may well be too much for one of them.
    let other = judged([30.0, 305.0], [0.4, 240.0], 1.0);
    assert!(of(&other, "peer.outlier").is_empty(), "{}", brief(&other));
    // Another model may be some times slower.
    let model = judged([300.0, 305.0], [0.4, 6.0], 0.9);
    assert!(!accuses(&model, "peer.outlier"), "{}", brief(&model));
}

#[test]
fn files_are_peers_only_on_one_disk() {
    let judged = |on: &dyn Fn(usize) -> &'static str| {
        let mut capture = MadeCapture::averaged();
        for _ in 0..6 {
            for place in 0..6 {
                let name = format!("loop{place}");
                let await_ms = if place == 5 { 9.0 } else { 0.3 };
                capture.row(
                    &name,
                    Op::Read,
                    Row { per_s: 80.0, bytes: 4096.0, await_ms, busy: 0.2 },
                );
                let device = Some(capture.recording.device(&name));
                let stated = |key, value: &str| Fact::read(device, key, value, "/sys/block");
                capture.recording.fact(stated(key::DEVICE_BYTES, "1073741824"));
                capture.recording.fact(stated(key::DEVICE_BACKING, on(place)));
            }
        }
        capture.judge()
    };
    let one = judged(&|_| "nvme0n1");
    assert!(!of(&one, "peer.outlier").is_empty(), "{}", brief(&one));
    // A platter is no worse than flash for being one.
    let unlike = judged(&|place| if place == 5 { "sda" } else { "nvme0n1" });
    assert!(of(&unlike, "peer.outlier").is_empty(), "{}", brief(&unlike));
}

#[test]
fn peer_outlier() {
    let mut capture = shelf(8.0, 0.01);
    let findings = capture.judge();
    assert!(accuses(&findings, "peer.outlier"), "{}", brief(&findings));
    let device = findings[0].subject.device.unwrap();
    assert_eq!(capture.recording.device_of(device).name, "sdf");

    // Near miss: a quarter slower on a shelf whose disks differ by as much.
    let findings = shelf(1.25, 0.04).judge();
    assert!(of(&findings, "peer.outlier").is_empty(), "{}", brief(&findings));
}

#[test]
fn report_util_trap() {
    let two = |second: f64| {
        let mut capture = MadeCapture::averaged();
        let row = Row { per_s: 10_000.0, bytes: 4096.0, await_ms: 3.0, busy: 1.0 };
        capture.row("nvme1n1", Op::Write, row);
        // Twice as much in flight.
        let await_ms = 3.0 * 2.0 * row.per_s / second;
        capture.row("nvme1n1", Op::Write, Row { per_s: second, await_ms, ..row });
        capture.judge()
    };
    let findings = two(18_000.0);
    assert!(accuses(&findings, "report.util-trap"), "{}", brief(&findings));
    // Near miss: more in flight brought nothing.
    let findings = two(10_300.0);
    assert!(of(&findings, "report.util-trap").is_empty(), "{}", brief(&findings));
}

#[test]
fn report_inconsistent() {
    let row = |queue: f64| {
        let mut capture = MadeCapture::averaged();
        let row = Row { per_s: 400.0, bytes: 4096.0, await_ms: 10.0, busy: 0.9 };
        capture.row("sda", Op::Read, row);
        capture.recording.listings[0].intervals[0].queue_len = Some(queue);
        capture.judge()
    };
    // 400 per second that wait 10 ms each are 4 in flight, not 12.
    let findings = row(12.0);
    assert!(!of(&findings, "report.inconsistent").is_empty(), "{}", brief(&findings));
    let findings = row(4.2);
    assert!(of(&findings, "report.inconsistent").is_empty(), "{}", brief(&findings));
}

#[test]
fn cap_volume() {
    // Sixty seconds at 3000 writes per second, with six to twelve in flight.
    let minute = |wobble: f64| {
        let mut capture = MadeCapture::averaged();
        capture.medium("nvme1n1", Medium::Network);
        for second in 0..60 {
            let per_s = 3000.0 * (1.0 + wobble * (capture.chance() - 0.5));
            let in_flight = 6.0 + f64::from(second % 7);
            let await_ms = in_flight / per_s * 1000.0;
            capture.row("nvme1n1", Op::Write, Row { per_s, bytes: 4096.0, await_ms, busy: 1.0 });
        }
        capture.judge()
    };
    let findings = minute(0.004);
    assert!(accuses(&findings, "cap.volume"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    // Near miss: a rate that wanders.
    let findings = minute(0.5);
    assert!(!accuses(&findings, "cap.volume"), "{}", brief(&findings));
}

#[test]
fn a_stated_speed_and_service_time_are_used() {
    let mut capture = MadeCapture::traced();
    let services = retrying(&mut capture, 60_000.0 / 7200.0);
    capture.chain("sdb", Op::Read, 131072, &services[..20]);
    let known = capture.judge_with(&Options { rpm: Some(7200.0), ..Options::default() });
    assert!(accuses(&known, "device.retry"), "{}", brief(&known));

    let mut capture = MadeCapture::traced();
    capture.chain("sda", Op::Read, 4096, &[5.0; 40]);
    let slow = capture.judge_with(&Options { healthy_ms: Some(0.1), ..Options::default() });
    assert!(accuses(&slow, "device.slow"), "{}", brief(&slow));
    let fine = capture.judge_with(&Options { healthy_ms: Some(5.0), ..Options::default() });
    assert!(!blames_a_device(&fine), "{}", brief(&fine));
}
