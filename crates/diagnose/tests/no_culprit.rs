//! Verdicts that accuse nothing: nothing is wrong, or the evidence does not show what is.

use iowhy_model::{
    Distribution, Edges, Fact, FactValue, Histogram, Interval, Layer, Level, Medium, Message,
    Nanos, Op, Rates, Sampling, Sink, Source, Stage, key,
};

use crate::made::{MadeCapture, Row, accuses, brief, of};

#[test]
fn healthy() {
    let mut capture = MadeCapture::traced();
    capture.medium("nvme0n1", Medium::Nvme);
    for k in 0..400 {
        let sector = (capture.chance() * 1e8) as u64 * 8;
        let took = 0.09 * capture.about(0.2);
        capture.io("nvme0n1", Op::Read, sector, 4096, f64::from(k) * 0.5, took);
    }
    let findings = capture.judge();
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
    assert_eq!(findings[0].verdict, "healthy");

    // Near miss: every tenth takes a hundred times as long.
    let mut capture = MadeCapture::traced();
    capture.medium("nvme0n1", Medium::Nvme);
    for k in 0..400 {
        let sector = (capture.chance() * 1e8) as u64 * 8;
        let took = 0.09 * capture.about(0.2) * if k % 10 == 3 { 100.0 } else { 1.0 };
        capture.io("nvme0n1", Op::Read, sector, 4096, f64::from(k) * 10.0, took);
    }
    let findings = capture.judge();
    assert!(!accuses(&findings, "healthy"), "{}", brief(&findings));
}

#[test]
fn what_could_not_be_read_long_ago_is_a_remark_beside_a_clean_bill() {
    let judged = |at_s: &str| {
        let mut capture = MadeCapture::new();
        let ns = |s: i64| FactValue::Duration(Nanos(s * 1_000_000_000));
        capture.listing("block-trace", Level::D);
        capture.medium("nvme0n1", Medium::Nvme);
        capture.recording.fact(Fact::new(None, key::CLOCK_OFFSET, ns(1_763_800_000), ""));
        capture.recording.fact(Fact::new(None, key::CLOCK_BEGAN, ns(1_763_886_400), ""));
        for k in 0..2000 {
            let sector = (capture.chance() * 1e8) as u64 * 8;
            let took = 0.09 * capture.about(0.2);
            capture.io("nvme0n1", Op::Read, sector, 4096, 86_400_000.0 + f64::from(k), took);
        }
        let id = capture.recording.device("nvme0n1");
        for sector in 0..8 {
            let text = format!("critical medium error, dev nvme0n1, sector {sector}");
            let value = FactValue::Message(Message::new(at_s, &text));
            capture.recording.fact(Fact::new(Some(id), key::KERNEL_LOG.of("medium"), value, ""));
        }
        let findings = capture.judge();
        let remark = findings.iter().find(|finding| finding.verdict == "device.media").cloned();
        (findings[0].verdict.name(), remark)
    };
    let (first, remark) = judged("86399.5");
    assert_eq!(first, "device.media", "{remark:?}");
    let (first, remark) = judged("3600.0");
    assert_eq!(first, "healthy");
    let remark = remark.expect("told beside it");
    assert!(remark.confidence() < 0.5 && remark.sentence.contains("8 medium errors"), "{remark:?}");
}

#[test]
fn who_saw_no_time_before_the_request_clears_a_disk_with_less_confidence() {
    let judged = |sees_queue: bool| {
        let mut capture = MadeCapture::traced();
        capture.recording.source().sees_queue = sees_queue;
        capture.medium("nvme0n1", Medium::Nvme);
        for k in 0..2000 {
            let sector = (capture.chance() * 1e8) as u64 * 8;
            let took = 0.09 * capture.about(0.2);
            capture.io("nvme0n1", Op::Read, sector, 4096, f64::from(k) * 0.5, took);
        }
        let findings = capture.judge();
        assert_eq!(findings[0].verdict, "healthy", "{}", brief(&findings));
        let reported = findings[0].refuted_by.iter().any(|line| line.contains("D2C only"));
        (findings[0].confidence(), reported)
    };
    let ((seen, silent), (unseen, reported)) = (judged(true), judged(false));
    assert!(seen > 0.90 && !silent, "{seen}");
    assert!(unseen <= 0.90 && reported, "{unseen}");
}

#[test]
fn insufficient() {
    let mut capture = MadeCapture::traced();
    capture.chain("sda", Op::Read, 4096, &[20.0, 0.2, 20.0]);
    let findings = capture.judge();
    assert_eq!(findings[0].verdict, "insufficient", "{}", brief(&findings));
    assert!(findings[0].next_step[0].contains("`iowhy why --for"));

    // Near miss: enough of them to call the device slow.
    let mut capture = MadeCapture::traced();
    capture.medium("sda", Medium::Flash);
    capture.chain("sda", Op::Read, 4096, &[20.0; 40]);
    let findings = capture.judge();
    assert!(of(&findings, "insufficient").is_empty(), "{}", brief(&findings));
}

#[test]
fn a_task_that_waits_is_named_where_nothing_can_be_judged() {
    let judged = |waited: &str| {
        let mut capture = MadeCapture::new();
        capture.listing("iotop", Level::E);
        let fact = Fact::read(None, key::PROCESS_IO_WAIT, waited, "iotop.txt:7");
        capture.recording.fact(fact);
        capture.judge()
    };
    let findings = judged("98.12 % mysqld (4711)");
    assert_eq!(findings[0].verdict, "insufficient", "{}", brief(&findings));
    let seen = &findings[0].seen[0].evidence;
    assert_eq!(seen.quantity.to_string(), "time that mysqld (4711) waited for I/O");
    assert!((seen.amount.value - 0.9812).abs() < 1e-9, "{seen:?}");
    assert!(judged("3.50 % mysqld (4711)")[0].seen.is_empty());
}

#[test]
fn the_longest_mean_that_a_program_saw_is_listed() {
    let mut capture = MadeCapture::new();
    capture.listing("nfsiostat", Level::A);
    for (name, ms, since_boot) in [("a:/x", 4.0, false), ("b:/y", 9.5, false), ("b:/y", 20.0, true)]
    {
        let mut row = Interval::new(capture.recording.device(name), Layer::Application);
        row.since_boot = since_boot;
        let rates = Rates { ios_per_s: 100.0, await_ns: Some(ms * 1e6), ..Rates::default() };
        row.rates.push((Op::Read, rates));
        capture.recording.interval(row);
    }
    let findings = capture.judge();
    assert_eq!(findings[0].verdict, "insufficient", "{}", brief(&findings));
    let [seen, since_boot] = &findings[0].seen[..] else { panic!("{:?}", findings[0].seen) };
    let evidence = &seen.evidence;
    assert!(evidence.quantity.ends_with("(b:/y)") && (evidence.amount.value - 0.0095).abs() < 1e-9);
    let evidence = &since_boot.evidence;
    assert_eq!(evidence.quantity.to_string(), "mean latency of b:/y since the mount");
    assert!((evidence.amount.value - 20.0).abs() < 1e-9);
}

#[test]
fn many_ios_that_fit_no_cause_are_not_called_too_few() {
    // Three reads of a hundred take twenty times as long: neither healthy nor any one fault.
    let judged = |count: u32| {
        let mut capture = MadeCapture::traced();
        for k in 0..count {
            let sector = (capture.chance() * 1e8) as u64 * 8;
            let took = 0.09 * capture.about(0.2) * if capture.chance() < 0.03 { 20.0 } else { 1.0 };
            capture.io("sda", Op::Read, sector, 4096, f64::from(k), took);
        }
        let findings = capture.judge();
        assert_eq!(findings[0].verdict, "insufficient", "{}", brief(&findings));
        (findings[0].sentence.clone(), findings[0].next_step.join("; "))
    };
    let (reported, next) = judged(2000);
    assert!(
        reported.starts_with("no known cause fits sda: 2000 individual I/Os were seen"),
        "{reported}"
    );
    assert!(next.contains("adds a longer capture"), "{next}");
    let (reported, next) = judged(900);
    let wanted = "too little data about sda to judge: 900 I/Os, with ";
    assert!(
        reported.starts_with(wanted) && reported.ends_with("; 1000 individual I/Os are enough"),
        "{reported}"
    );
    assert!(next.contains("adds the latency of each I/O"), "{next}");
}

#[test]
fn a_requests_queue_that_never_moves_is_not_healthy() {
    let mut capture = MadeCapture::averaged();
    capture.row("sda", Op::Read, Row { per_s: 0.0, bytes: 0.0, await_ms: 0.0, busy: 1.0 });
    let interval = &mut capture.recording.listings[0].intervals[0];
    interval.queue_len = Some(285.0);
    interval.rates[0].1.await_ns = None;
    interval.svctm_ns = None;
    let findings = capture.judge();
    assert_eq!(findings[0].verdict, "insufficient", "{}", brief(&findings));
    assert!(findings[0].sentence.contains("285"), "{}", findings[0].sentence);
}

#[test]
fn nobody_is_cleared_by_an_input_that_was_not_read_whole() {
    let judged = |damage: &dyn Fn(&mut iowhy_model::Recording)| {
        let mut capture = MadeCapture::traced();
        capture.medium("sda", Medium::Nvme);
        for k in 0..400 {
            let sector = (capture.chance() * 1e8) as u64 * 8;
            let took = 0.09 * capture.about(0.2);
            capture.io("sda", Op::Read, sector, 4096, f64::from(k) * 0.5, took);
        }
        damage(&mut capture.recording);
        capture.judge()[0].clone()
    };
    assert_eq!(judged(&|_| {}).verdict, "healthy");
    let skipped = judged(&|recording| {
        let sdb = recording.device("sdb");
        recording.skipped_of(sdb);
    });
    assert_eq!(skipped.verdict, "insufficient");
    assert!(skipped.sentence.contains("lines about sdb"), "{}", skipped.sentence);
    let unread = judged(&|recording| {
        recording.unread(iowhy_model::Unread {
            input: recording.listings[0].source.input.clone(),
            lines: (3, 9),
            text: String::new(),
            format: None,
            reason: "of no format".to_string(),
        });
    });
    assert_eq!(unread.verdict, "insufficient");
    assert!(unread.sentence.contains("lines 3 to 9"), "{}", unread.sentence);
}

#[test]
fn only_whole_latencies_of_other_tools_contradict_the_averages_beside_them() {
    let judged = |stage: Stage, sampling: Sampling| {
        let mut capture = MadeCapture::new();
        let mut source = Source::new("biolatency", "capture.txt", Level::B);
        source.sampling = sampling;
        capture.recording.begin(source);
        let mut histogram = Histogram::empty(Edges::standard());
        (0..500).for_each(|_| histogram.record(2_000));
        let disk = capture.recording.device("sda");
        capture.recording.distribution(Distribution::new(disk, Layer::Block, stage, histogram));
        capture.recording.end();
        let mut source = Source::new("diskstats", "capture.txt", Level::A);
        source.sampling = sampling;
        capture.recording.begin(source);
        capture.row("sda", Op::Read, Row { per_s: 100.0, bytes: 4096.0, await_ms: 5.0, busy: 0.5 });
        !of(&capture.judge(), "report.inconsistent").is_empty()
    };
    assert!(judged(Stage::Total, Sampling::Reported));
    assert!(judged(Stage::Device, Sampling::Reported));
    assert!(!judged(Stage::Queue, Sampling::Reported), "Q2D is no await");
    assert!(!judged(Stage::Before, Sampling::Reported), "B2Q is no await");
    assert!(!judged(Stage::Total, Sampling::Traced), "the recorder's own histograms and counters");
}

/// What a machine's own recorder sees: every I/O of a busy disk, and averages of one that did next
/// to nothing.
#[test]
fn a_disk_that_is_hardly_known_does_not_withdraw_the_word_on_another() {
    let judged = |idle_ms: f64| {
        let mut capture = MadeCapture::new();
        capture.listing("block-trace", Level::D);
        for k in 0..2000 {
            let sector = (capture.chance() * 1e8) as u64 * 8;
            let took = 0.05 * capture.about(0.2);
            capture.io("loop0", Op::Read, sector, 4096, f64::from(k) * 0.5, took);
        }
        capture.listing("diskstats", Level::A);
        for _ in 0..8 {
            let row = Row { per_s: 5.0, bytes: 4096.0, await_ms: idle_ms, busy: 0.01 };
            capture.row("vda", Op::Read, row);
        }
        capture.judge()
    };
    for idle_ms in [0.2, 0.44, 0.7, 1.0, 1.5, 3.0, 6.0, 10.0] {
        let findings = judged(idle_ms);
        assert_eq!(findings[0].verdict, "healthy", "{idle_ms} ms: {}", brief(&findings));
        assert!(findings[0].sentence.contains("loop0"), "{}", findings[0].sentence);
    }
}
