//! Numbers of findings: all of the input counts, and nothing beyond it is reported.

use iowhy_diagnose::Options;
use iowhy_model::{
    Distribution, Edges, Fact, Finding, Histogram, Layer, Level, Medium, Nanos, Op, Sink, Stage,
    key,
};

use crate::made::{MadeCapture, Row, accuses, brief, of};

#[test]
fn a_disk_that_turns_slow_in_a_later_row_is_an_outlier() {
    let shelf = |late_ms: f64| {
        let mut capture = MadeCapture::averaged();
        for interval in 0..6 {
            for disk in ["sda", "sdb", "sdc", "sdd", "sde", "sdf"] {
                let await_ms = if disk == "sdc" && interval > 0 { late_ms } else { 6.0 };
                let busy = (60.0 * await_ms / 1000.0f64).min(1.0);
                capture.row(disk, Op::Read, Row { per_s: 60.0, bytes: 8192.0, await_ms, busy });
            }
        }
        (capture.judge(), capture)
    };
    let (findings, capture) = shelf(90.0);
    let outlier = of(&findings, "peer.outlier")[0];
    assert!(accuses(&findings, "peer.outlier"), "{}", brief(&findings));
    assert_eq!(capture.recording.device_of(outlier.subject.device.unwrap()).name, "sdc");
    // (6 + 5 x 90) / 6 = 76 ms over 6 rows of 60 requests each.
    let mean = outlier.evidence.iter().find(|e| e.quantity == "mean latency").unwrap();
    assert!((mean.amount.value - 76.0).abs() < 1e-6 && mean.n == 360, "{mean:?}");
    let (findings, _) = shelf(6.5);
    assert!(of(&findings, "peer.outlier").is_empty(), "{}", brief(&findings));
}

#[test]
fn histograms_of_a_disk_count_together_and_stand_among_the_first_lines() {
    // Two histograms per disk, the last bucket open; in the second one `sdb` has a tail.
    let edges = Edges::new(vec![0, 1_000_000, 8_000_000, 64_000_000, u64::MAX]).unwrap();
    let mut capture = MadeCapture::new();
    capture.listing("biolatency", Level::B);
    for second in [false, true] {
        for disk in ["sda", "sdb", "sdc", "sdd", "sde"] {
            let counts =
                if disk == "sdb" && second { vec![5, 40, 5, 150] } else { vec![20, 160, 20, 0] };
            let histogram = Histogram::from_counts(edges.clone(), counts).unwrap();
            let device = capture.recording.device(disk);
            let known = Distribution::new(device, Layer::Block, Stage::Total, histogram);
            capture.recording.distribution(known);
        }
    }
    let findings = capture.judge();
    let outlier = of(&findings, "peer.outlier")[0];
    let shown: Vec<(&str, f64, u64)> = outlier
        .evidence
        .iter()
        .take(5)
        .map(|e| (e.quantity.as_str(), e.amount.value, e.n))
        .collect();
    assert!(shown.contains(&("I/Os of sdb slower than 64 ms", 0.375, 400)), "{shown:?}");
    assert!(shown.contains(&("I/Os of sda slower than 64 ms", 0.0, 400)), "{shown:?}");
}

#[test]
fn an_open_bucket_that_both_disks_fill_is_named_by_where_it_begins() {
    let edges = Edges::new(vec![0, 1_000_000, 8_000_000, u64::MAX]).unwrap();
    let mut capture = MadeCapture::new();
    capture.listing("biolatency", Level::B);
    for disk in ["sda", "sdb", "sdc", "sdd", "sde"] {
        let counts = if disk == "sdb" { vec![5, 15, 180] } else { vec![150, 49, 1] };
        let histogram = Histogram::from_counts(edges.clone(), counts).unwrap();
        let device = capture.recording.device(disk);
        capture.recording.distribution(Distribution::new(
            device,
            Layer::Block,
            Stage::Total,
            histogram,
        ));
    }
    let findings = capture.judge();
    let outlier = of(&findings, "peer.outlier")[0];
    let tail = outlier.evidence.iter().find(|e| e.quantity.starts_with("I/Os of sdb")).unwrap();
    assert_eq!((tail.quantity.as_str(), tail.amount.value), ("I/Os of sdb slower than 8 ms", 0.9));
}

/// Fast sequential reads one after the other, in a listing that watched for so many seconds.
fn quick_reads(reads: usize, watched_s: i64, mount: Option<(&str, &str)>) -> Vec<Finding> {
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    capture.chain("sda", Op::Read, 4096, &vec![0.1; reads]);
    let listing = &mut capture.recording.listings[0];
    listing.source.watched = Some(Nanos(watched_s * 1_000_000_000));
    for (key, value) in
        mount.map_or(Vec::new(), |(p, o)| vec![(key::MOUNT_POINT, p), (key::MOUNT_OPTIONS, o)])
    {
        listing.facts.push(Fact::read(None, key, value, "mounts.txt:1"));
    }
    capture.judge()
}

#[test]
fn time_waited_is_per_second_watched_not_per_second_of_io() {
    // Three reads of 0.1 ms in 0.4 ms.
    for (watched_s, waited_per_s) in [(2, 1.5e-4), (0, 0.75)] {
        let findings = quick_reads(3, watched_s, None);
        let impact = findings[0].impact.expect("it was measured");
        let waited = impact.waited_per_s.expect("with times");
        assert!((waited / waited_per_s - 1.0).abs() < 0.1, "{waited} in {watched_s} s watched");
    }
    // And of so few, what is lost per second.
    let mut capture = MadeCapture::traced();
    capture.chain("sda", Op::Read, 4096, &[20.0, 20.0, 20.0]);
    capture.recording.listings[0].source.watched = Some(Nanos(10_000_000_000));
    let findings = capture.judge();
    let lost = findings[0].evidence.iter().find(|e| e.quantity == "excess wait per second");
    let lost = lost.unwrap_or_else(|| panic!("{findings:#?}")).amount.value;
    assert!((0.0..=0.006).contains(&lost), "{lost} s per second of 60 ms in 10 s");
}

#[test]
fn small_requests_on_an_idle_device_accuse_nobody() {
    let findings = quick_reads(50, 4, None);
    assert!(of(&findings, "load.small-sync").is_empty(), "{}", brief(&findings));
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
    // The same, without a pause: somebody waits two thirds of the time.
    let findings = quick_reads(5000, 1, None);
    assert!(accuses(&findings, "load.small-sync"), "{}", brief(&findings));
}

#[test]
fn the_remount_of_vxfs_is_named_where_vxfs_was_seen() {
    let step = |mount| of(&quick_reads(5000, 1, mount), "load.small-sync")[0].next_step[1].clone();
    assert!(step(Some(("/u03", "rw/mincache=direct"))).ends_with("convosync=delay /u03`"));
    assert!(step(Some(("/srv", "rw,sync"))).starts_with("remount /srv without"));
    let linux = step(None);
    assert!(linux.contains("`O_DIRECT`") && !linux.contains("mincache"), "{linux}");
}

#[test]
fn rows_of_a_disk_are_cited_once() {
    let mut capture = MadeCapture::averaged();
    for per_s in [100.0, 200.0] {
        let row = Row { per_s, bytes: 4096.0, await_ms: 1.5, busy: per_s * 1.5 / 1000.0 };
        capture.row("sda", Op::Read, row);
    }
    let findings = capture.judge();
    let small = of(&findings, "load.small-sync")[0];
    let sizes = small.evidence.iter().filter(|e| e.quantity.starts_with("size of reads on sda"));
    assert_eq!(sizes.count(), 1, "{small:#?}");
}

#[test]
fn a_slow_device_with_a_queue_is_compared_with_one_baseline() {
    // Eight in flight on a device that serves one 20-ms read after the other.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    for k in 0..400u32 {
        let completed = f64::from(k + 1) * 20.0;
        let issued = (completed - 160.0).max(0.0);
        let sector = u64::from(k * 7919 % 4001) * 800;
        capture.io("sda", Op::Read, sector, 4096, issued, completed - issued);
    }
    let findings = capture.judge();
    let slow = of(&findings, "device.slow")[0];
    assert!(accuses(&findings, "device.slow"), "{}", brief(&findings));
    assert!(!slow.sentence.contains("no queue"), "{}", slow.sentence);
    assert!(slow.sentence.contains("of it queued behind other requests)"), "{}", slow.sentence);
    let (now, forecast) = (&slow.evidence[0], slow.forecast.as_ref().unwrap());
    assert!((now.amount.value - forecast.now_mean.ms()).abs() < 1e-3, "{now:?} {forecast:?}");
    let healthy = slow.evidence.iter().find(|e| e.quantity.contains("on a healthy device"));
    assert!((healthy.unwrap().amount.value - forecast.mean.ms()).abs() < 1e-3, "{slow:#?}");
}

#[test]
fn a_slope_rests_on_all_rows_it_was_fitted_to() {
    let mut capture = MadeCapture::averaged();
    for k in 1..=5u32 {
        let per_s = 8000.0 * f64::from(k);
        let row = Row { per_s, bytes: 4096.0, await_ms: 1.0, busy: 1.0 };
        capture.row("nvme0n1", Op::Read, row);
    }
    let findings = capture.judge();
    let trap = of(&findings, "report.util-trap")[0];
    let slope = trap.evidence.iter().find(|e| e.quantity.starts_with("elasticity")).unwrap();
    assert_eq!(slope.n, 5, "{slope:?}");
}

/// Sequential reads of 1.7 ms, every third of which loses the given revolutions at 7200
/// rpm.
fn retrying(revolutions: impl Fn(usize) -> u32) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    let services: Vec<f64> = (0..90)
        .map(|k| {
            let lost = if k % 3 == 0 { revolutions(k) } else { 0 };
            1.7 * capture.about(0.02) + f64::from(lost) * 60_000.0 / 7200.0
        })
        .collect();
    capture.chain("sdb", Op::Read, 131_072, &services);
    capture
}

#[test]
fn a_stated_speed_that_does_not_fit_is_spoken_against() {
    let against = |rpm: f64| -> Option<f64> {
        let options = Options { rpm: Some(rpm), ..Options::default() };
        let findings = retrying(|k| 1 + (k as u32 * 7 / 3) % 4).judge_with(&options);
        let retry = *of(&findings, "device.retry").first()?;
        Some(retry.evidence.iter().find(|e| e.quantity.starts_with("contradiction"))?.amount.value)
    };
    assert_eq!(against(7200.0), None);
    // At these speeds the steps of 7200 rpm coincide in part with those of the stated one.
    let spoken: Vec<f64> = [2400.0, 3600.0, 14_400.0].into_iter().filter_map(against).collect();
    println!("spoken against: {spoken:?}");
    assert!(!spoken.is_empty() && spoken.iter().all(|rpm| (rpm / 7200.0 - 1.0).abs() < 0.01));
}

#[test]
fn one_turn_is_said_in_the_singular() {
    let findings = retrying(|_| 1).judge_with(&Options { rpm: Some(7200.0), ..Options::default() });
    println!("{}", brief(&findings));
    for retry in of(&findings, "device.retry") {
        assert!(retry.sentence.contains("one extra revolution"), "{}", retry.sentence);
    }
    let findings = retrying(|k| 1 + (k as u32 * 7 / 3) % 4).judge();
    assert!(of(&findings, "device.retry")[0].sentence.contains("extra revolutions"));
}

#[test]
fn a_rich_input_that_decides_nothing_asks_what_the_device_is_made_of() {
    // Random reads of about so many ms, of a device that may be flash, a platter or a network
    // volume: some are too slow for one and fast for another.
    let steps = |mean_ms: f64, medium: Option<Medium>| -> Vec<String> {
        let mut capture = MadeCapture::traced();
        if let Some(medium) = medium {
            capture.medium("sda", medium);
        }
        for k in 0..60u32 {
            let took = mean_ms * (0.5 + f64::from(k * 7919 % 101) / 101.0);
            let sector = u64::from(k) * 99_991 % 1_000_000;
            capture.io("sda", Op::Read, sector, 4096, f64::from(k) * 120.0, took);
        }
        let findings = capture.judge();
        of(&findings, "insufficient").iter().flat_map(|f| f.next_step.clone()).collect()
    };
    let ask = |steps: &Vec<String>| steps.iter().any(|step| step.starts_with("`lsblk -d"));
    let means = [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0];
    let asked = means.map(|ms| steps(ms, None)).iter().filter(|steps| ask(steps)).count();
    println!("asked at {asked} of {} means", means.len());
    assert!(asked > 0);
    for ms in means {
        assert!(!ask(&steps(ms, Some(Medium::Rotational))), "{ms} ms");
    }
}
