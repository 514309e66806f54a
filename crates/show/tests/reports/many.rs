//! A report of many findings, as a document with five captures has it.

use iowhy_model::{Finding, Report, Verdict};

/// Ten findings besides those of the dusty disk.
pub(crate) fn many() -> Report {
    let mut report = super::dusty();
    let verdicts = [
        ("load.small-sync", "the load is small I/Os one at a time, each behind the one before it"),
        ("load.missed-revolution", "each synchronous write waits one revolution"),
        ("peer.outlier", "sdy is 14.8 times slower than its 16 peers under the same load"),
        ("cap.volume", "nvme1n1 is pinned at 16,001.6 IOPS with requests queued"),
        ("report.inconsistent", "the run contradicts itself: it took less time than it waited"),
        ("healthy", "dm-2 responds like a healthy device"),
        ("insufficient", "too little data about nvme0n1 and dm-0 to judge"),
    ];
    let first: Finding = report.findings[0].clone();
    for (verdict, sentence) in verdicts {
        let (verdict, sentence) =
            (Verdict::named(verdict).expect("a verdict"), sentence.to_string());
        let mut finding = first.clone();
        (finding.verdict, finding.sentence, finding.forecast) = (verdict, sentence, None);
        report.findings.push(finding);
    }
    report
}
