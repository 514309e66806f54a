//! Reports made by hand for the goldens: numbers as the published listings have them.

use iowhy_model::*;

pub(crate) mod hostile;
pub(crate) mod many;

/// The slow reads of a disk that read through dust: completion, s, and latency, ms, of
/// Gregg's 2020 biosnoop listing (reads of 128 KiB by `dd`).
const DUSTY: [(f64, f64); 28] = [
    (0.0, 77.96),
    (0.143268, 143.2),
    (0.361565, 218.24),
    (0.463294, 101.7),
    (0.590237, 126.92),
    (0.734682, 144.38),
    (0.96129, 226.55),
    (1.063137, 101.79),
    (1.198111, 134.91),
    (1.425886, 227.74),
    (1.619342, 193.38),
    (1.754445, 135.04),
    (1.856156, 101.65),
    (2.000656, 144.42),
    (2.102591, 101.83),
    (2.204427, 101.77),
    (2.39754, 193.05),
    (2.567098, 169.52),
    (2.752098, 184.94),
    (2.945566, 193.41),
    (3.039011, 93.38),
    (3.165834, 126.76),
    (3.401771, 235.87),
    (3.536805, 134.95),
    (3.705294, 168.43),
    (3.873563, 168.21),
    (4.018151, 144.53),
    (4.253137, 234.92),
];

/// biolatency of the same disk: counts of the power-of-two rows from 16 ms on.
const DUSTY_ROWS: [u64; 8] = [1, 15, 214, 84, 46, 7, 0, 1];

/// A document with iostat, biolatency and biosnoop of one faulty disk.
pub(crate) fn dusty() -> Report {
    let mut recording = Recording::new();
    let mut iostat = Source::new("iostat", "captures/dusty-disk.txt", Level::A);
    iostat.lines = Some((9, 14));
    recording.begin(iostat);
    let sdb = recording.device("sdb");
    recording.interval(interval(sdb, 4.5, 576.0, 434.31, 1.98, 1.0));
    let nvme = recording.device("nvme0n1");
    let mut quiet = interval(nvme, 4.4, 42.0, 6.45, 0.03, 0.0016);
    quiet.rates.push((
        Op::Write,
        Rates {
            ios_per_s: 6.0,
            merges_per_s: Some(4.3),
            bytes_per_s: Some(43.2 * 1024.0),
            await_ns: Some(0.8e6),
        },
    ));
    recording.interval(quiet);
    recording.skip(Note {
        line: 13,
        text: "sdc 4.50 0.00 576".to_string(),
        reason: "the row ends after 3 of 15 columns".to_string(),
    });
    recording.end();

    let mut biolatency = Source::new("biolatency", "captures/dusty-disk.txt", Level::B);
    biolatency.lines = Some((77, 77));
    recording.begin(biolatency);
    let mut counts = vec![0; 14];
    counts.extend(DUSTY_ROWS);
    let histogram = Histogram::from_counts(Edges::log2_us(22), counts).unwrap();
    recording.distribution(Distribution::new(sdb, Layer::Block, Stage::Device, histogram));
    recording.end();

    let mut biosnoop = Source::new("biosnoop", "captures/dusty-disk.txt", Level::C);
    biosnoop.lines = Some((84, 124));
    biosnoop.resolution = Some(Nanos(10_000));
    recording.begin(biosnoop);
    let dd = recording.name("dd");
    for (place, (completed, latency)) in DUSTY.into_iter().enumerate() {
        let mut event = Event::new(sdb, Op::Read, Layer::Block);
        let completed = Time::from_seconds(completed);
        event.completed = Some(completed);
        event.issued = Some(completed - Nanos::from_ms(latency));
        event.sector = Some(37_144_544 + 256 * place as u64);
        event.bytes = Some(131_072);
        event.pid = Some(16_014);
        event.comm = Some(dd);
        recording.event(event);
    }
    recording.end();
    recording.prose.push(("captures/dusty-disk.txt".to_string(), 143));
    let findings = dusty_findings(sdb);
    Report { recording, findings }
}

fn dusty_findings(sdb: DeviceId) -> Vec<Finding> {
    let place = "captures/dusty-disk.txt:84-124 (biosnoop)";
    let rows = "captures/dusty-disk.txt:9-14 (iostat)";
    let mut retry = finding("device.retry", Some(sdb), 0.93, 0.98);
    retry.sentence =
        "sdb rereads: each read of 128 KiB takes 1.65 ms and then waits 9 to 28 whole \
                      revolutions of a platter at 7203 rpm"
            .to_string();
    retry.subject.group = Some("read 128 KiB sequential".to_string());
    retry.evidence = vec![
        evidence("spindle speed that fits", 7203.4, Unit::Rpm, None, 28, How::Estimated, place),
        evidence(
            "u, how well the latencies fit whole revolutions",
            6.98,
            Unit::Sigma,
            Some(Bound::Above(3.1)),
            28,
            How::Computed,
            place,
        ),
        evidence(
            "median extra revolutions",
            17.0,
            Unit::Revolutions,
            Some(Bound::Above(0.5)),
            28,
            How::Computed,
            place,
        ),
        evidence(
            "time lost in whole revolutions",
            0.98,
            Unit::Share,
            Some(Bound::Above(0.3)),
            28,
            How::Computed,
            place,
        ),
        evidence("mean latency (D2C)", 147.6, Unit::Ms, None, 28, How::Computed, place),
        evidence("r_await", 434.31, Unit::Ms, Some(Bound::Above(3.3)), 45, How::Reported, rows),
        evidence("aqu-sz", 1.98, Unit::Requests, Some(Bound::Below(4.0)), 45, How::Reported, rows),
    ];
    retry.refuted_by = vec![
        "the disk has no platter (`cat /sys/block/sdb/queue/rotational` prints 0)".to_string(),
        "the same sectors are fast when they are read again".to_string(),
    ];
    retry.next_step = vec![
        "copy the data off while it still reads, then run `smartctl -t long /dev/sdb` and see \
         whether attributes 1, 5, 197 or 198 move"
            .to_string(),
        "check the mounting: do neighbouring disks show extra revolutions too?".to_string(),
    ];
    retry.forecast = Some(Forecast {
        now_mean: Nanos::from_ms(147.6),
        mean: Nanos::from_ms(1.7),
        range: None,
        p99: None,
        assuming: "every read succeeds at the first try".to_string(),
    });
    let mut trap = finding("report.util-trap", Some(sdb), 0.62, 0.31);
    trap.sentence =
        "100 % busy says that something was in flight, not that sdb was full".to_string();
    trap.evidence =
        vec![evidence("%util", 1.0, Unit::Share, Some(Bound::Above(0.9)), 45, How::Reported, rows)];
    trap.refuted_by = vec!["more requests in parallel give no more throughput".to_string()];
    trap.next_step = vec!["offer twice the load with `iowhy probe ramp /dev/sdb`".to_string()];
    let mut slow = finding("device.slow", Some(sdb), 0.9, 0.98);
    slow.sentence = "sdb is slow with hardly anything in its queue".to_string();
    slow.evidence = vec![evidence("r_await", 434.31, Unit::Ms, None, 45, How::Reported, rows)];
    slow.explained_by = Some(Verdict::DeviceRetry);
    vec![retry, slow, trap]
}

/// Two devices watched live for 10 s, with histograms of the tracer and a few dropped events.
pub(crate) fn live() -> Report {
    let mut recording = Recording::new();
    let mut sampled = Source::new("diskstats", "live", Level::A);
    sampled.sampling = Sampling::Sampled;
    recording.begin(sampled);
    let nvme = recording.device("nvme0n1");
    let sda = recording.device("sda");
    let idle = recording.device("loop7");
    let mut busy = interval(nvme, 10_993.25, 43_973.0, 2.74, 30.117, 0.9987);
    let write = Rates {
        ios_per_s: 88.6,
        merges_per_s: Some(12.25),
        bytes_per_s: Some(1_417.6 * 1024.0),
        await_ns: Some(0.29e6),
    };
    let flush = Rates { ios_per_s: 7.5, await_ns: Some(0.48e6), ..Rates::default() };
    busy.rates.extend([(Op::Write, write), (Op::Flush, flush)]);
    recording.interval(busy);
    recording.interval(interval(sda, 1.2, 4.8, 8.33, 0.01, 0.0099));
    recording.interval(interval(idle, 0.0, 0.0, f64::NAN, 0.0, 0.0));
    recording.end();
    let mut traced = Source::new("block-trace", "live", Level::D);
    traced.sampling = Sampling::Traced;
    traced.watched = Some(Nanos::from_seconds(10.0));
    recording.begin(traced);
    for (stage, scale) in [(Stage::Queue, 0.2), (Stage::Device, 0.8), (Stage::Total, 1.0)] {
        for (op, count) in [(Op::Read, 110_000u64), (Op::Write, 886)] {
            let mut histogram = Histogram::empty(Edges::standard());
            let mut seed = 17u64;
            for _ in 0..count {
                histogram.record((lognormal(&mut seed) * scale) as u64);
            }
            let mut known = Distribution::new(nvme, Layer::Block, stage, histogram);
            known.op = Some(op);
            known.length = Some(Nanos::from_seconds(10.0));
            recording.distribution(known);
        }
    }
    recording.lost("events dropped by a full ring", 1234);
    recording.end();
    Report { recording, findings: Vec::new() }
}

/// A trace of 60 s with a stall, a gap in which nothing was watched, and a slow tail.
pub(crate) fn trace() -> Report {
    let mut recording = Recording::new();
    let mut source = Source::new("block-trace", "live", Level::D);
    source.sampling = Sampling::Traced;
    recording.begin(source);
    let sdc = recording.device("sdc");
    let comms = [recording.name("postgres"), recording.name("kworker/u72:1")];
    let mut seed = 4u64;
    for k in 0..24_000u64 {
        let at = k as f64 * 0.0025;
        let mut latency = lognormal(&mut seed) / 4.0;
        if (22.0..26.0).contains(&at) {
            latency *= 40.0;
        }
        if k % 97 == 0 {
            latency += 90e6;
        }
        let write = k % 3 == 0;
        let mut event = Event::new(sdc, if write { Op::Write } else { Op::Read }, Layer::Block);
        let issued = Time::from_seconds(at);
        event.queued = Some(issued - Nanos((latency * 0.1) as i64));
        event.issued = Some(issued);
        event.completed = Some(issued + Nanos(latency as i64));
        event.sector = Some(2048 + k * 8);
        event.bytes = Some(4096);
        event.pid = Some(if write { 347 } else { 2201 });
        event.comm = Some(comms[usize::from(write)]);
        recording.event(event);
    }
    recording.end();
    Report { recording, findings: Vec::new() }
}

/// Histograms every 10 s, with 20 s in which nobody listened.
pub(crate) fn gapped() -> Report {
    let mut recording = Recording::new();
    recording.begin(Source::new("hist-log", "captures/gapped.txt", Level::B));
    let sdy = recording.device("sdy");
    for step in (0..30i64).filter(|step| !(12..14).contains(step)) {
        let mut counts = vec![0; 16];
        for (bucket, count) in counts.iter_mut().enumerate() {
            let far = bucket.abs_diff(6 + (step as usize / 8)) as u32;
            *count = (4096u64 >> (2 * far).min(63)) * (1 + step as u64 % 3);
        }
        let histogram = Histogram::from_counts(Edges::log2_us(16), counts).unwrap();
        let mut known = Distribution::new(sdy, Layer::Block, Stage::Device, histogram);
        known.start = Some(Time::from_seconds(step as f64 * 10.0));
        known.length = Some(Nanos::from_seconds(10.0));
        recording.distribution(known);
    }
    recording.end();
    Report { recording, findings: Vec::new() }
}

/// Nothing at all.
pub(crate) fn empty() -> Report {
    Report { recording: Recording::new(), findings: Vec::new() }
}

/// Latencies around 1.5 ms with a long tail, from a fixed seed.
fn lognormal(seed: &mut u64) -> f64 {
    let mut sum = 0.0;
    for _ in 0..12 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sum += (*seed >> 33) as f64 / (1u64 << 31) as f64;
    }
    (1.5e6f64.ln() + 0.6 * (sum - 6.0)).exp()
}

fn interval(
    device: DeviceId,
    reads: f64,
    kib: f64,
    await_ms: f64,
    queue: f64,
    busy: f64,
) -> Interval {
    let mut interval = Interval::new(device, Layer::Block);
    interval.length = Some(Nanos::from_seconds(10.0));
    interval.rates.push((
        Op::Read,
        Rates {
            ios_per_s: reads,
            merges_per_s: Some(0.0),
            bytes_per_s: Some(kib * 1024.0),
            await_ns: (!await_ms.is_nan()).then_some(await_ms * 1e6),
        },
    ));
    interval.queue_len = Some(queue);
    interval.busy = Some(busy);
    interval
}

fn finding(verdict: &str, device: Option<DeviceId>, confidence: f64, share: f64) -> Finding {
    let subject = Subject { device, listings: vec![0], group: None, devices: Vec::new() };
    let mut finding = Finding::new(Verdict::named(verdict).expect("a verdict"), subject);
    finding.assume(confidence, "prior of this verdict");
    finding.explained_share = share;
    finding.impact = Some(Impact {
        waited_per_s: Some(1.0),
        mean: Some(Nanos::from_ms(154.6)),
        median: Some(Nanos::from_ms(143.3)),
        longest: Some(Nanos::from_ms(234.9)),
        p99: None,
        slow_share: Some(27.0 / 28.0),
        ..Impact::default()
    });
    finding
}

fn evidence(
    quantity: &str,
    value: f64,
    unit: Unit,
    bound: Option<Bound>,
    n: u64,
    how: How,
    source: &str,
) -> Evidence {
    Evidence {
        quantity: quantity.to_string(),
        amount: Quantity { value, unit },
        bound,
        weighs: None,
        n,
        how,
        basis: Basis::Measured,
        disk: None,
        origin: Origin::of(source),
    }
}
