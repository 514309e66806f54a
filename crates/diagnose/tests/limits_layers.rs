//! Verdicts on limits, configuration and layers: a capture that each accuses, near misses, and
//! every cited number recomputed from the input.

use iowhy_model::{Event, Finding, Layer, Level, Medium, Nanos, Op, Sink, Source, key};

use crate::emitted::{Io, cited, emit, fact, median, near, ns, row, traced};
use crate::made::{MadeCapture, accuses, blames_a_device, brief, of};

/// Sixty seconds of a volume: so many per second, then so many, and the number in flight.
fn course(capture: &mut MadeCapture, device: &str, rates: [f64; 2], queues: [f64; 2], noise: f64) {
    for second in 0..60 {
        let late = usize::from(second >= 30);
        let per_s = rates[late] * (1.0 + noise * (capture.chance() - 0.5));
        let ms = 1000.0 * queues[late] / per_s;
        row(capture, device, 1.0, queues[late], &[(Op::Read, per_s, ms)]);
    }
}

#[test]
fn cap_burst() {
    let judged = |rates, queues, noise, medium| {
        let mut capture = MadeCapture::averaged();
        capture.medium("xvdf", medium);
        course(&mut capture, "xvdf", rates, queues, noise);
        capture.judge()
    };
    let findings = judged([3000.0, 300.0], [8.0, 8.0], 0.002, Medium::Network);
    assert!(accuses(&findings, "cap.burst"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    let high = cited(&findings, "cap.burst", "throughput before the fall, median");
    let low = cited(&findings, "cap.burst", "throughput after the fall");
    assert!((high - 3000.0).abs() < 3.0 && (low - 300.0).abs() < 0.3);
    near(cited(&findings, "cap.burst", "throughput before the fall, divided"), high / low);
    let forecast = of(&findings, "cap.burst")[0].forecast.clone().unwrap();
    // Little: 8 in flight at 3000 a second wait 2.67 ms, at 300 a second 26.7 ms.
    assert!((forecast.mean.ms() - 8.0 / 3.0).abs() < 0.01, "{forecast:?}");
    assert!((forecast.now_mean.ms() - 80.0 / 3.0).abs() < 0.1, "{forecast:?}");

    // Near misses: less is asked; the lower level wobbles as a device does; the drive is local.
    let less = judged([3000.0, 300.0], [8.0, 0.8], 0.002, Medium::Network);
    assert!(of(&less, "cap.burst").is_empty(), "{}", brief(&less));
    let wobbles = judged([3000.0, 300.0], [8.0, 8.0], 0.2, Medium::Network);
    assert!(of(&wobbles, "cap.burst").is_empty(), "{}", brief(&wobbles));
    let local = judged([3000.0, 300.0], [8.0, 8.0], 0.002, Medium::Flash);
    assert!(of(&local, "cap.burst").is_empty(), "{}", brief(&local));
}

/// Thirty seconds of so many writes per second, 0.2 ms each.
fn steady(capture: &mut MadeCapture, device: &str, per_s: u32) {
    let ios = (0..30 * per_s)
        .map(|k| {
            let at = f64::from(k) * 1000.0 / f64::from(per_s);
            Io::new(Op::Write, u64::from(k) * 8, 4096, at, 0.2)
        })
        .collect();
    emit(capture, device, ios);
}

/// Random reads, so many in flight for ever, of which one completes every so many ms.
fn closed(
    capture: &mut MadeCapture,
    device: &str,
    bytes: u32,
    depth: usize,
    spacing_ms: impl Fn(f64) -> f64,
) {
    let (mut at, mut ends) = (0.0, vec![0.0; depth]);
    for k in 0..8000usize {
        at += spacing_ms(capture.about(0.5));
        let sector = (capture.chance() * 1e8) as u64 * 8;
        let came = ends[k % depth];
        capture.io(device, Op::Read, sector, bytes, came, at - came);
        ends[k % depth] = at;
    }
}

#[test]
fn cap_volume_of_a_device_made_of_others() {
    // 16 in flight at 500 per second: each waits 16 / 500 s = 32 ms, as a loop device over a volume
    // of 500 IOPS showed it; and 8 in flight at 320 reads of 64 KiB, 20 MiB, per second.
    for (bytes, depth, spacing_ms, rate) in
        [(4096, 16, 2.0, 500.0), (65_536, 8, 3.125, 20_971_520.0)]
    {
        let mut capture = traced(Level::D);
        capture.medium("loop700", Medium::Stacked);
        closed(&mut capture, "loop700", bytes, depth, |_| spacing_ms);
        let findings = capture.judge();
        assert_eq!(findings[0].verdict, "cap.volume", "{}", brief(&findings));
        assert!(!blames_a_device(&findings), "{}", brief(&findings));
        let reported = cited(&findings, "cap.volume", "throughput");
        assert!((reported / rate - 1.0).abs() < 0.002, "{reported} is not {rate}");
    }
    // Near misses: a device that is merely full wobbles; and a local platter has no seller.
    let mut capture = traced(Level::D);
    capture.medium("loop700", Medium::Stacked);
    closed(&mut capture, "loop700", 4096, 16, |about| 2.0 * about.max(0.1));
    let findings = capture.judge();
    assert!(of(&findings, "cap.volume").is_empty(), "{}", brief(&findings));
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Rotational);
    closed(&mut capture, "sda", 4096, 16, |_| 2.0);
    let findings = capture.judge();
    assert!(of(&findings, "cap.volume").is_empty(), "{}", brief(&findings));
}

#[test]
fn a_program_that_limits_itself_is_no_limit_of_a_volume() {
    // Ten reads each 20 ms are 500 per second, exactly; between two rounds nothing is in flight.
    let mut capture = traced(Level::D);
    capture.medium("loop700", Medium::Stacked);
    for round in 0..1000u32 {
        let at = f64::from(round) * 20.0;
        let slower = f64::from(1 + round / 50 % 3);
        for _ in 0..10 {
            let sector = (capture.chance() * 1e8) as u64 * 8;
            let took = slower * (1.0 + 2.0 * capture.chance());
            capture.io("loop700", Op::Read, sector, 4096, at, took);
        }
    }
    let findings = capture.judge();
    assert!(of(&findings, "cap.volume").is_empty(), "{}", brief(&findings));
}

const IO_MAX: &str = "/sys/fs/cgroup/system.slice/db.service/io.max";

#[test]
fn cap_cgroup_by_its_limit() {
    let judged = |limit: &str| {
        let mut capture = traced(Level::E);
        capture.medium("sdb", Medium::Flash);
        steady(&mut capture, "sdb", 120);
        fact(&mut capture, Some("sdb"), key::CGROUP_MAX_WIOPS, limit, IO_MAX);
        capture.judge()
    };
    let findings = judged("120");
    assert!(accuses(&findings, "cap.cgroup"), "{}", brief(&findings));
    assert!(of(&findings, "cap.cgroup")[0].sentence.contains("system.slice/db.service"));
    near(cited(&findings, "cap.cgroup", "rate, median"), 120.0);
    near(cited(&findings, "cap.cgroup", "limit (wiops)"), 120.0);
    near(cited(&findings, "cap.cgroup", "seconds at the limit"), 1.0);
    // 3600 writes of 0.2 ms in 29.99187 s.
    let span = 3599.0 / 120.0 + 0.0002;
    assert!((cited(&findings, "cap.cgroup", "busy share") - 3600.0 * 0.0002 / span).abs() < 1e-6);
    // Near miss: the limit is far away.
    assert!(of(&judged("1000"), "cap.cgroup").is_empty());
}

#[test]
fn cap_cgroup_by_the_wait_of_bios() {
    let judged = |held_ms: f64, tags: &str, set: bool| {
        let mut capture = traced(Level::E);
        capture.medium("sdb", Medium::Flash);
        let ios = (0..200u32)
            .map(|k| {
                let at = f64::from(k) * 20.0;
                let mut io = Io::new(Op::Write, u64::from(k) * 8, 4096, at + held_ms, 0.2);
                (io.arrived, io.queued) = (Some(at), Some(at + held_ms));
                io
            })
            .collect();
        emit(&mut capture, "sdb", ios);
        fact(
            &mut capture,
            Some("sdb"),
            key::QUEUE_NR_REQUESTS,
            tags,
            "/sys/block/sdb/queue/nr_requests",
        );
        if set {
            let path = "/sys/fs/cgroup/batch/io.latency";
            fact(&mut capture, Some("sdb"), key::CGROUP_LATENCY_TARGET, "5000", path);
        }
        capture.judge()
    };
    let findings = judged(9.0, "256", true);
    assert!(accuses(&findings, "cap.cgroup"), "{}", brief(&findings));
    near(cited(&findings, "cap.cgroup", "mean wait of a bio"), 9.0);
    near(cited(&findings, "cap.cgroup", "share of B2Q in the total"), 9.0 / 9.2);
    let forecast = of(&findings, "cap.cgroup")[0].forecast.clone().unwrap();
    assert!((forecast.mean.ms() - 0.2).abs() < 1e-6, "{forecast:?}");
    // Near misses: nothing waits; nobody set a limit; the queue is full.
    assert!(of(&judged(0.1, "256", true), "cap.cgroup").is_empty());
    assert!(of(&judged(9.0, "256", false), "cap.cgroup").is_empty());
    assert!(of(&judged(9.0, "1", true), "cap.cgroup").is_empty());
}

/// Reads that wait in the host's queue for so long though the device has nothing to do.
fn waiting(capture: &mut MadeCapture, device: &str, wait_ms: f64, device_ms: f64) {
    let ios = (0..300u32)
        .map(|k| {
            let at = f64::from(k) * 12.0;
            let sector = u64::from(k * 7919 % 99_991) * 64;
            let mut io = Io::new(Op::Read, sector, 4096, at + wait_ms, device_ms);
            io.queued = Some(at);
            io
        })
        .collect();
    emit(capture, device, ios);
}

#[test]
fn cfg_scheduler() {
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Rotational);
    waiting(&mut capture, "sda", 18.0, 7.0);
    let findings = capture.judge();
    assert!(of(&findings, "cfg.scheduler").is_empty(), "a platter at work: {}", brief(&findings));

    let mut capture = traced(Level::D);
    capture.medium("nvme0n1", Medium::Nvme);
    waiting(&mut capture, "nvme0n1", 8.0, 0.09);
    let findings = capture.judge();
    assert!(accuses(&findings, "cfg.scheduler"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    near(cited(&findings, "cfg.scheduler", "mean wait in the host's queue"), 8.0);
    near(cited(&findings, "cfg.scheduler", "share of Q2D in Q2C"), 8.0 / 8.09);
    let forecast = of(&findings, "cfg.scheduler")[0].forecast.clone().unwrap();
    assert!((forecast.mean.ms() - 0.09).abs() < 1e-6, "{forecast:?}");

    // Near miss: the device is slow itself, so that the queue must stand somewhere.
    let mut capture = traced(Level::D);
    capture.medium("nvme0n1", Medium::Nvme);
    waiting(&mut capture, "nvme0n1", 11.0, 10.0);
    assert!(of(&capture.judge(), "cfg.scheduler").is_empty());
}

/// Writes of 4 KB, every third one off the block of 4096, taking so long.
fn offset_writes(capture: &mut MadeCapture, off_ms: f64) {
    let ios = (0..300u32)
        .map(|k| {
            let off = k % 3 == 0;
            let sector = u64::from(k * 7919 % 99_991) * 64 + if off { 1 } else { 0 };
            let took = if off { off_ms } else { 1.0 } + 0.01 * f64::from(k % 9);
            Io::new(Op::Write, sector, 4096, f64::from(k) * 12.0, took)
        })
        .collect();
    emit(capture, "sda", ios);
}

#[test]
fn cfg_misaligned() {
    let judged = |off_ms: f64, block: Option<&str>| {
        let mut capture = traced(Level::E);
        capture.medium("sda", Medium::Rotational);
        offset_writes(&mut capture, off_ms);
        if let Some(block) = block {
            let path = "/sys/block/sda/queue/physical_block_size";
            fact(&mut capture, Some("sda"), key::QUEUE_PHYSICAL_BLOCK_SIZE, block, path);
        }
        capture.judge()
    };
    let findings = judged(9.33, Some("4096"));
    assert!(accuses(&findings, "cfg.misaligned"), "{}", brief(&findings));
    near(cited(&findings, "cfg.misaligned", "writes not aligned"), 100.0 / 300.0);
    near(cited(&findings, "cfg.misaligned", "physical block"), 4096.0);
    let off: Vec<f64> = (0..100).map(|k| 9.33 + 0.01 * f64::from(k * 3 % 9)).collect();
    near(cited(&findings, "cfg.misaligned", "time of an unaligned write"), median(off));
    // Without the block's size it is believed less; with 512-byte blocks or no effect, nothing.
    let guessed = judged(9.33, None);
    let sure = |findings: &[Finding]| of(findings, "cfg.misaligned")[0].confidence();
    assert!(sure(&guessed) < sure(&findings), "{}", brief(&guessed));
    assert!(of(&judged(9.33, Some("512")), "cfg.misaligned").is_empty());
    assert!(of(&judged(1.1, Some("4096")), "cfg.misaligned").is_empty());
}

#[test]
fn cfg_misaligned_by_parity() {
    let mut capture = traced(Level::D);
    capture.medium("sda", Medium::Rotational);
    let comm = capture.recording.name("md0_raid5");
    let id = capture.recording.device("sda");
    for k in 0..100u32 {
        let (at, sector) = (f64::from(k) * 20.0, u64::from(k * 7919 % 9973) * 8);
        for (op, start, took) in [(Op::Read, at, 8.0), (Op::Write, at + 8.5, 1.0)] {
            let mut event = Event::new(id, op, Layer::Block);
            (event.comm, event.sector, event.bytes) = (Some(comm), Some(sector), Some(4096));
            (event.issued, event.completed) = (Some(ns(start)), Some(ns(start + took)));
            capture.recording.event(event);
        }
    }
    let findings = capture.judge();
    assert!(accuses(&findings, "cfg.misaligned"), "{}", brief(&findings));
    near(cited(&findings, "cfg.misaligned", "small writes after a read"), 1.0);
}

/// Four hundred reads of two hundred places, the first visit of each taking so long.
fn touches(capture: &mut MadeCapture, device: &str, first_ms: f64) {
    let ios = (0..400u32)
        .map(|k| {
            let place = if k < 200 { k } else { k * 37 % 200 };
            let took = if k < 200 { first_ms } else { 1.0 } + 0.001 * f64::from(k % 13);
            Io::new(Op::Read, u64::from(place) * 8192, 4096, f64::from(k) * 30.0, took)
        })
        .collect();
    emit(capture, device, ios);
}

#[test]
fn layer_remote() {
    let judged = |device: &str, model: Option<&str>, first_ms: f64| {
        let mut capture = traced(Level::E);
        touches(&mut capture, device, first_ms);
        if let Some(model) = model {
            fact(&mut capture, Some(device), key::DEVICE_MODEL, model, "/sys/block/x/device/model");
        }
        capture.judge()
    };
    let findings = judged("nvme1n1", Some("Amazon Elastic Block Store"), 20.0);
    assert!(accuses(&findings, "layer.remote"), "{}", brief(&findings));
    let first: Vec<f64> = (0..200).map(|k| 20.0 + 0.001 * f64::from(k % 13)).collect();
    near(cited(&findings, "layer.remote", "first read of a block"), median(first));
    // Near misses: a local drive with a cache; no first touch to feel.
    assert!(of(&judged("sda", Some("ST4000NM0033"), 20.0), "layer.remote").is_empty());
    let unknown = judged("sda", None, 20.0);
    assert!(!accuses(&unknown, "layer.remote"), "{}", brief(&unknown));
    let local = judged("nvme1n1", Some("Amazon EC2 NVMe Instance Storage"), 20.0);
    assert!(of(&local, "layer.remote").is_empty(), "{}", brief(&local));
    assert!(of(&judged("xvdf", None, 1.2), "layer.remote").is_empty());
}

/// Calls of 25 ms above disks that answer a read every 25 ms in so many.
fn above(block_ms: f64, call_ms: f64) -> Vec<Finding> {
    let mut capture = MadeCapture::new();
    let mut source = Source::new("fio-log", "fio_clat.log", Level::C);
    source.resolution = Some(Nanos(1_000_000));
    capture.recording.begin(source);
    let id = capture.recording.device("");
    for k in 0..200u32 {
        let mut event = Event::new(id, Op::Read, Layer::Application);
        let at = f64::from(k) * 25.0;
        (event.issued, event.completed) = (Some(ns(at)), Some(ns(at + call_ms)));
        capture.recording.event(event);
    }
    capture.recording.end();
    capture.listing("biosnoop", Level::C);
    capture.medium("sda", Medium::Flash);
    let reads = (0..200u32)
        .map(|k| {
            Io::new(Op::Read, u64::from(k * 7919 % 9973) * 8, 4096, f64::from(k) * 25.0, block_ms)
        })
        .collect();
    emit(&mut capture, "sda", reads);
    capture.judge()
}

#[test]
fn layer_above() {
    let findings = above(0.15, 24.0);
    assert!(accuses(&findings, "layer.above"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    near(cited(&findings, "layer.above", "mean latency above"), 24.0);
    near(cited(&findings, "layer.above", "latency ratio above/block layer"), 24.0 / 0.15);
    // Near misses: the call takes what the block layer takes; the disk is slow itself.
    assert!(of(&above(0.15, 0.3), "layer.above").is_empty());
    assert!(of(&above(7.0, 24.0), "layer.above").is_empty());
}

#[test]
fn layer_above_from_averages_of_an_array_and_idle_disks() {
    // Four rows of an array that writes in seconds, beside two disks that each do `per_s` writes in
    // `below_ms`.
    let array = |above_ms: f64, below_ms: f64, per_s: f64, disks: &[&str]| {
        let mut capture = MadeCapture::averaged();
        for k in 0..4 {
            // A row that stands there twice would be a copy.
            let above_ms = above_ms + f64::from(k) - 1.5;
            row(&mut capture, "md127", 1.0, 8.0 * above_ms / 1e3, &[(Op::Write, 8.0, above_ms)]);
            for disk in disks {
                let queue = per_s * below_ms / 1e3;
                row(&mut capture, disk, queue, queue, &[(Op::Write, per_s, below_ms)]);
            }
        }
        capture.judge()
    };
    let findings = array(2400.0, 12.0, 5.0, &["sda", "sdb"]);
    assert!(accuses(&findings, "layer.above"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    near(cited(&findings, "layer.above", "latency ratio above/slowest disk"), 200.0);
    // Near misses: a disk is busy; it is slow itself; the disks did not move the bytes; it waits
    // for no longer than people bear; there is no other disk.
    assert!(of(&array(2400.0, 12.0, 60.0, &["sda", "sdb"]), "layer.above").is_empty());
    assert!(of(&array(2400.0, 500.0, 5.0, &["sda"]), "layer.above").is_empty());
    assert!(of(&array(2400.0, 12.0, 3.0, &["sda", "sdb"]), "layer.above").is_empty());
    assert!(of(&array(90.0, 1.0, 5.0, &["sda", "sdb"]), "layer.above").is_empty());
    assert!(of(&array(2400.0, 12.0, 5.0, &[]), "layer.above").is_empty());
}

#[test]
fn layer_above_where_many_wait_above_flash_that_has_few() {
    // A volume with 150 in flight, of which the drive below has so many, for 0.1 ms each; another
    // disk is hardly used.
    let volume_at = |rate: f64, rows: usize, above_ms: f64, below_ms: f64, disk: &str| {
        let mut capture = MadeCapture::averaged();
        for k in 0..rows {
            let per_s = rate + k as f64;
            row(&mut capture, "dm-0", 0.8, per_s * above_ms / 1e3, &[(Op::Write, per_s, above_ms)]);
            row(&mut capture, disk, 0.8, per_s * below_ms / 1e3, &[(Op::Write, per_s, below_ms)]);
            row(&mut capture, "sda", 0.01, 0.003, &[(Op::Write, 7.0, 0.43)]);
        }
        capture.judge()
    };
    let volume =
        |rows, above_ms, below_ms, disk| volume_at(50_000.0, rows, above_ms, below_ms, disk);
    let findings = volume(4, 3.0, 0.1, "nvme0n1");
    assert!(!of(&findings, "layer.above").is_empty(), "{}", brief(&findings));
    near(cited(&findings, "layer.above", "latency ratio above/slowest disk"), 30.0);
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    // One row of many requests says as much; one of five is a moment: a suspicion.
    assert!(accuses(&volume(1, 3.0, 0.1, "nvme0n1"), "layer.above"));
    let moment = volume_at(5.0, 1, 1200.0, 0.1, "nvme0n1");
    assert!(!of(&moment, "layer.above").is_empty(), "{}", brief(&moment));
    assert!(of(&moment, "layer.above").iter().all(|known| !known.stands()), "{}", brief(&moment));
    // Near misses: few wait above; the drive has as many itself; a disk that turns is as busy.
    assert!(of(&volume(4, 0.3, 0.02, "nvme0n1"), "layer.above").is_empty());
    assert!(of(&volume(4, 3.0, 0.4, "nvme0n1"), "layer.above").is_empty());
    assert!(of(&volume(4, 3.0, 0.1, "sdb"), "layer.above").is_empty());
}

/// A mapped device that answers in so many ms what the disk below does in half a millisecond.
fn mapped(above_ms: f64, below_ms: f64, reported: bool) -> Vec<Finding> {
    let mut capture = MadeCapture::new();
    capture.listing("block-trace", Level::D);
    capture.medium("sda", Medium::Flash);
    if reported {
        fact(&mut capture, Some("dm-0"), key::DEVICE_SLAVES, "sda", "/sys/block/dm-0/slaves");
    }
    for (disk, latency) in [("dm-0", above_ms), ("sda", below_ms)] {
        let reads = (0..200u32).map(|k| {
            let sector = u64::from(k * 7919 % 9973) * 8;
            Io::new(Op::Read, sector, 4096, f64::from(k) * 60.0, latency)
        });
        emit(&mut capture, disk, reads.collect());
    }
    capture.judge()
}

#[test]
fn layer_above_between_a_mapped_device_and_its_disk() {
    let findings = mapped(50.0, 0.15, true);
    assert!(accuses(&findings, "layer.above"), "{}", brief(&findings));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
    near(cited(&findings, "layer.above", "latency ratio above/below"), 50.0 / 0.15);
    assert!(!of(&mapped(56.0, 1.0, true), "layer.above").is_empty(), "null_blk below dm-delay");
    // Near misses: what it is made of is not known; it answers as the disk does; the disk is busy.
    assert!(of(&mapped(50.0, 0.15, false), "layer.above").is_empty());
    assert!(of(&mapped(0.3, 0.15, true), "layer.above").is_empty());
    assert!(of(&mapped(150.0, 40.0, true), "layer.above").is_empty());
}
