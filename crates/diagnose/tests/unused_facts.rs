//! Facts that no detector uses are shown with their meaning, and accuse nothing.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Observation, Recording, STANDS, Verdict};

/// The lines of a sample, or of a text.
fn seen(name: &str, text: &[u8]) -> Vec<Observation> {
    let mut recording = Recording::for_a_verdict();
    iowhy_read::scan(name, &mut &*text, None, &mut recording).unwrap();
    let findings = judge(&recording, &Options::default());
    let stands = |verdict| verdict != Verdict::Insufficient && verdict != Verdict::Healthy;
    let accused = findings.iter().find(|one| stands(one.verdict) && one.confidence() >= STANDS);
    assert!(accused.is_none(), "{name} accuses: {accused:?}");
    findings.into_iter().flat_map(|finding| finding.seen).collect()
}

fn of_sample(path: &str) -> Vec<Observation> {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../read/samples/");
    seen(path, &std::fs::read(format!("{samples}{path}")).unwrap())
}

fn value(seen: &[Observation], quantity: &str) -> Option<f64> {
    let one = seen.iter().find(|one| one.evidence.quantity.contains(quantity))?;
    assert!(!one.would_mean.is_empty());
    Some(one.evidence.amount.value)
}

#[test]
fn each_fact_without_a_detector_has_a_line() {
    let known = [
        ("mysql_log/mariadb-10.6--slow-commits.txt", "slowest of 2 commits", 2.41773),
        ("mongodb_log/mongodb-6--checkpoints-and-queries.txt", "query spent reading", 2.071344),
        ("mongodb_log/mongodb-6--checkpoints-and-queries.txt", "all checkpoints (2)", 60.0),
        ("pidstat/sysstat-12.5--d.txt", "one report (mysqld (1822))", 4.88),
        ("rocksdb_log/rocksdb-6.11--stalls.txt", "throttled its own writes", 0.049),
        ("bitesize/bcc-0.29--two-processes.txt", "distribution of request sizes", 2.0),
        ("memory/linux-5.10--meminfo.txt", "available memory", 0.025),
        ("drive_settings/hdparm-9--W.txt", "write cache off (sdb)", 1.0),
        ("lspci/pciutils-3.7--nvme-downgraded.txt", "PCIe lanes in use, of 4", 2.0),
    ];
    for (path, quantity, expected) in known {
        let seen = of_sample(path);
        let found = value(&seen, quantity).unwrap_or_else(|| panic!("{path}: {seen:#?}"));
        assert!((found - expected).abs() < 1e-3, "{path}: {found}");
    }
}

#[test]
fn memory_supports_a_verdict_only_if_it_is_short() {
    let verdict = |path| {
        let seen = of_sample(path);
        let memory = seen.iter().find(|one| one.evidence.quantity.starts_with("available memory"));
        memory.unwrap_or_else(|| panic!("{path}: {seen:#?}")).verdict
    };
    assert_eq!(verdict("memory/procps-3.3--free.txt"), Some(Verdict::LayerMemory));
    assert_eq!(verdict("memory/free-4--german.txt"), None);
}

#[test]
fn what_is_as_it_should_be_has_no_line() {
    let on = seen("on", b"/dev/sdb:\n write-caching =  1 (on)\n");
    assert_eq!(value(&on, "write cache off"), None);
    let link = b"01:00.0 Non-Volatile memory controller: Samsung (prog-if 02)\n\
        \t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L1\n\
        \t\tLnkSta:\tSpeed 8GT/s (ok), Width x4 (ok)\n";
    assert_eq!(value(&seen("link", link), "lanes"), None);
}
