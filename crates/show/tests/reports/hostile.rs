//! A report whose names and numbers are meant to break a view.

use super::*;

/// Numbers that are none, names that are too long or dangerous.
pub(crate) fn hostile() -> Report {
    let mut recording = Recording::new();
    let path = "captures/of/a/host/with/a/very/long/path/to/its/captures/2026-11-21T08:00:00.txt";
    let mut source = Source::new("iostat", path, Level::A);
    source.lines = Some((1, 999_999));
    recording.begin(source);
    let name =
        "/dev/mapper/vg_production_database_0042-lv_tablespace_with_a_long_name\x1b[2J\n磁盘";
    let long = recording.device(name);
    let nan = f64::NAN;
    let mut interval = interval(long, nan, f64::INFINITY, -1.0, nan, 17.0);
    interval.length = Some(Nanos(0));
    recording.interval(interval);
    let mut open = Distribution::new(
        long,
        Layer::Block,
        Stage::Total,
        Histogram::from_counts(Edges::new(vec![0, u64::MAX]).unwrap(), vec![u64::MAX >> 8])
            .unwrap(),
    );
    open.histogram.sum_ns = Some(nan);
    recording.distribution(open);
    let mut late = Distribution::new(
        long,
        Layer::Block,
        Stage::Total,
        Histogram::from_counts(Edges::new(vec![7, 8, 1_000_003]).unwrap(), vec![1, 2]).unwrap(),
    );
    late.start = Some(Time::from_ns(i64::MAX - 5));
    late.length = Some(Nanos(i64::MAX));
    recording.distribution(late.clone());
    late.start = Some(Time::from_ns(i64::MIN + 5));
    late.length = Some(Nanos(-3));
    recording.distribution(late);
    for (queued, issued, completed) in [
        (None, None, None),
        (Some(5), Some(3), Some(i64::MAX)),
        (Some(i64::MIN + 1), None, Some(4)),
    ] {
        let mut event = Event::new(long, Op::Flush, Layer::Block);
        event.queued = queued.map(Time::from_ns);
        event.issued = issued.map(Time::from_ns);
        event.completed = completed.map(Time::from_ns);
        event.comm = Some(recording.name("a \"b\"\\\x07c\u{202e}d"));
        recording.event(event);
    }
    recording.lost("events\x1b[31m", u64::MAX >> 1);
    recording.end();
    let mut odd = finding("device.slow", Some(long), nan, -3.0);
    odd.sentence = "`unclosed backtick and a word-that-is-very-long-indeed-".repeat(5);
    odd.evidence = vec![
        evidence("", nan, Unit::Ms, Some(Bound::Between(nan, f64::INFINITY)), 0, How::Traced, ""),
        evidence("x", 1e300, Unit::Share, None, u64::MAX, How::Sampled, "/"),
        evidence("y", -1e300, Unit::Count, None, 3, How::Sampled, "a b c/"),
    ];
    odd.forecast = Some(Forecast {
        now_mean: Nanos(i64::MIN),
        mean: Nanos(i64::MAX),
        range: None,
        p99: Some(Nanos(0)),
        assuming: String::new(),
    });
    Report { recording, findings: vec![odd] }
}
