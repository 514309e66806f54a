//! The source of the healthy service time changes what can be concluded, and is always reported.

use iowhy_diagnose::{Baseline, HealthyOrigin, Options};
use iowhy_model::{Finding, Medium, Op};

use crate::made::{MadeCapture, accuses, blames_a_device, brief, of};

fn with(healthy_origin: HealthyOrigin) -> Options {
    Options { healthy_origin, ..Options::default() }
}

/// Random reads of a disk, one after the other, each of about so many ms.
fn reads(capture: &mut MadeCapture, device: &str, n: u32, ms: f64) {
    for k in 0..n {
        let took = ms * (0.8 + 0.4 * f64::from(k * 7919 % 101) / 101.0);
        let sector = u64::from(k * 7907 % 9973) * 6400;
        capture.io(device, Op::Read, sector, 4096, f64::from(k) * (ms * 1.3 + 1.0), took);
    }
}

/// A disk at work, captured, and what the judge says with a baseline.
fn disk(ms: f64, options: &Options) -> (MadeCapture, Vec<Finding>) {
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    reads(&mut capture, "sda", 200, ms);
    let findings = capture.judge_with(options);
    (capture, findings)
}

fn says_where_from(findings: &[Finding], words: &str) -> bool {
    let all = findings.iter().flat_map(|f| &f.evidence);
    all.map(|e| &e.quantity).any(|quantity| quantity.contains(words))
}

#[test]
fn a_disk_is_held_against_its_own_history() {
    let (capture, findings) = disk(6.0, &Options::default());
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
    let (mut baseline, refused) = Baseline::learned(&capture.recording, &findings, "monday.txt");
    assert!(baseline.len() == 1 && refused.is_empty(), "{baseline:?}");
    // Read back as it is stored.
    baseline = Baseline::parse(&baseline.text()).unwrap();

    // By its class 24 ms is a slow but possible disk; by its own history it is not.
    let known = with(HealthyOrigin::Stored(baseline.clone()));
    let (_, by_class) = disk(24.0, &Options::default());
    let (capture, by_history) = disk(24.0, &known);
    assert!(!accuses(&by_class, "device.slow"), "{}", brief(&by_class));
    assert!(accuses(&by_history, "device.slow"), "{}", brief(&by_history));
    assert!(says_where_from(&by_history, "monday.txt"), "{by_history:#?}");
    // Nothing is learned of it now.
    let (learned, refused) = Baseline::learned(&capture.recording, &by_history, "tuesday.txt");
    assert!(learned.is_empty() && refused == ["sda"], "{learned:?}");
    // Near miss: as fast as ever.
    let (_, findings) = disk(6.6, &known);
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
}

#[test]
fn a_disk_is_held_against_its_peers() {
    let shelf = |slow_ms: f64, options: &Options| {
        let mut capture = MadeCapture::traced();
        for (disk, ms) in [("sda", 6.0), ("sdb", 6.4), ("sdc", slow_ms), ("sdd", 5.8), ("sde", 6.2)]
        {
            capture.medium(disk, Medium::Rotational);
            reads(&mut capture, disk, 100, ms);
        }
        capture.judge_with(options)
    };
    let findings = shelf(24.0, &with(HealthyOrigin::Peers));
    // The two say the same then, and the one that names the peers speaks.
    assert!(accuses(&findings, "peer.outlier"), "{}", brief(&findings));
    assert_eq!(of(&findings, "device.slow").len(), 1, "{}", brief(&findings));
    assert!(says_where_from(&findings, "its 4 peers"), "{findings:#?}");
    let findings = shelf(6.5, &with(HealthyOrigin::Peers));
    assert!(!blames_a_device(&findings), "{}", brief(&findings));
}

#[test]
fn a_disk_is_held_against_its_own_best_stretch() {
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Rotational);
    reads(&mut capture, "sda", 400, 6.0);
    for k in 0..400u32 {
        let sector = u64::from(k * 7907 % 9973) * 6400;
        capture.io("sda", Op::Read, sector, 4096, 4000.0 + f64::from(k) * 40.0, 24.0);
    }
    let findings = capture.judge_with(&with(HealthyOrigin::Own));
    assert!(accuses(&findings, "device.slow"), "{}", brief(&findings));
    assert!(says_where_from(&findings, "its own fastest"), "{findings:#?}");
}
