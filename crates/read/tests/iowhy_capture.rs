//! The native capture: written records are read back, and damage costs only the blocks it hits.

use iowhy_capture::{BLOCK_EVENTS, Header, MAGIC, Writer};
use iowhy_model::typed::{BytesPerSecond, OfProcess};
use iowhy_model::{
    DeviceId, Distribution, Edges, Event, Fact, FactValue, Flags, Histogram, Interval, Layer,
    Level, Listing, Medium, Message, Nanos, Note, Op, Rates, Recording, Sampling, Sink, Source,
    Stage, Time, key, typed,
};
use iowhy_read::scan;

/// Events of the recording, in blocks of a third each.
const EVENTS: i64 = 3000;

/// One fact of each type of value, and one with a time.
fn facts(sda: DeviceId) -> Vec<Fact> {
    let message = FactValue::Message(Message::new("86411.204830", "I/O error, dev sda, sector 8"));
    let moved = OfProcess { value: BytesPerSecond(1000.0), who: "dd (7)".to_string() };
    let values = [
        (key::QUEUE_SCHEDULER, FactValue::Text("none".to_string())),
        (key::DEVICE_SLAVES, FactValue::Words(vec!["sdb".to_string(), "sdc".to_string()])),
        (key::SMART_PASSED, FactValue::Flag(true)),
        (key::SMART_RAW.of("197"), FactValue::Count(u64::MAX)),
        (key::IOSTAT_SIZE_DENIED, FactValue::Number(2.5)),
        (key::QUEUE_READ_AHEAD, FactValue::Bytes(131_072)),
        (key::CGROUP_MAX_WBPS, FactValue::BytesPerSecond(1e9)),
        (key::DEVICE_LINK_SPEED, FactValue::BitsPerSecond(6e9)),
        (key::CGROUP_MAX_WIOPS, FactValue::PerSecond(120.0)),
        (key::DEVICE_TIMEOUT, FactValue::Duration(Nanos(30_000_000_000))),
        (key::VMSTAT_MEAN.of("st"), FactValue::Share(0.3)),
        (key::SMART_AT, FactValue::Date(1_763_800_000.0)),
        (key::KERNEL_LOG.of("io-error"), message),
        typed::PROCESS_READS.with(moved),
    ];
    let facts = values.map(|(key, value)| Fact::new(Some(sda), key, value, "/sys"));
    let warmth = Fact::new(Some(sda), key::DEVICE_CELSIUS, FactValue::Celsius(56.0), "/sys");
    facts.into_iter().chain([warmth.at(Time::from_ns(12))]).collect()
}

/// Emits the same into any sink; `flush` is called three times.
fn emit<S: Sink>(sink: &mut S, flush: impl Fn(&mut S)) {
    let mut counters = Source::new("diskstats", "live", Level::A);
    counters.sampling = Sampling::Sampled;
    let counters = sink.begin(counters);
    let mut trace = Source::new("block-trace", "live", Level::D);
    (trace.sampling, trace.resolution) = (Sampling::Traced, Some(Nanos(1)));
    let trace = sink.begin(trace);
    let (sda, sdb) = (sink.device("sda"), sink.device("sdb"));
    sink.set_medium(sda, Medium::Rotational);
    let (dd, slice) = (sink.name("dd"), sink.name("/system.slice"));
    for fact in facts(sda) {
        sink.fact(fact);
    }
    for k in 0..EVENTS {
        sink.resume(trace);
        let mut event = Event::new(if k % 3 == 0 { sdb } else { sda }, Op::Write, Layer::Block);
        event.flags = Flags::SYNC;
        event.completed = Some(Time::from_ns(k * 1000 + 500_000));
        event.issued = (k % 7 > 0).then(|| Time::from_ns(k * 1000 + 100_000 - k % 100));
        event.queued = Some(Time::from_ns(k * 1000 + 99_000));
        (event.sector, event.bytes) = (Some(k as u64 * 8), Some(4096));
        (event.pid, event.comm, event.cgroup) = (Some(77), Some(dd), Some(slice));
        sink.event(event);
        if k % (EVENTS / 3) == EVENTS / 3 - 1 {
            sink.lost("sda write requests dropped: the ring buffer was full", 2);
            sink.note(Note { line: 0, text: "sdb".to_string(), reason: format!("at {k}") });
            sink.source().watched = Some(Nanos(k * 1000));
            let mut histogram = Histogram::empty(Edges::standard());
            histogram.record(7_000_000);
            let mut known = Distribution::new(sda, Layer::Block, Stage::Before, histogram);
            (known.op, known.label) = (Some(Op::Read), Some(dd));
            sink.distribution(known);
            sink.resume(counters);
            let mut interval = Interval::new(sdb, Layer::Block);
            let rates = Rates { ios_per_s: 1.5, await_ns: Some(0.1), ..Rates::default() };
            interval.rates.push((Op::Read, rates));
            (interval.start, interval.busy) = (Some(Time::from_ns(k)), Some(0.25));
            sink.interval(interval);
            flush(sink);
        }
    }
    for listing in [counters, trace] {
        sink.resume(listing);
        sink.end();
    }
}

fn written() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, 42);
    emit(&mut writer, |writer| writer.flush().unwrap());
    writer.finish().unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Recording {
    let mut recording = Recording::new();
    let _ = scan("test", &mut &bytes[..], None, &mut recording);
    recording
}

fn starts(bytes: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(bytes, &MAGIC).collect()
}

/// Events read, and those that its losses say are missing.
fn kept_and_lost(recording: &Recording) -> (usize, u64) {
    let gap = |listing: &Listing| {
        let losses = &listing.source.losses;
        losses
            .iter()
            .filter(|loss| loss.what.contains("blocks"))
            .map(|loss| loss.count)
            .sum::<u64>()
    };
    let kept = recording.listings.iter().map(|listing| listing.events.len()).sum();
    (kept, recording.listings.iter().map(gap).sum())
}

#[test]
fn everything_comes_back_as_it_was_poured() {
    let mut direct = Recording::new();
    emit(&mut direct, |_| ());
    let again = read(&written());
    assert_eq!(again.devices().len(), direct.devices().len());
    let sda = again.find_device("sda").unwrap();
    assert_eq!(again.device_of(sda).medium, Some(Medium::Rotational));
    assert_eq!(again.listings.len(), direct.listings.len());
    for (was, is) in direct.listings.iter().zip(&again.listings) {
        assert_eq!(was.events.len(), is.events.len());
        for (was, is) in was.events.iter().zip(&is.events) {
            let name = |recording: &Recording, event: &Event| {
                let text = |name| recording.text(name).to_string();
                (event.comm.map(text), event.cgroup.map(text))
            };
            assert_eq!(name(&direct, was), name(&again, is));
            let device = |of: &Recording, event: &Event| of.device_of(event.device).name.clone();
            assert_eq!(device(&direct, was), device(&again, is));
            let mut same = *is;
            (same.device, same.comm, same.cgroup) = (was.device, was.comm, was.cgroup);
            assert_eq!(*was, same);
        }
        let rates = |listing: &Listing| {
            listing.intervals.iter().map(|one| one.rates.clone()).collect::<Vec<_>>()
        };
        assert_eq!(rates(was), rates(is));
        let counts = |listing: &Listing| -> Vec<(Stage, Histogram)> {
            listing.distributions.iter().map(|one| (one.stage, one.histogram.clone())).collect()
        };
        assert_eq!(counts(was), counts(is));
        let (was, is) = (&was.source, &is.source);
        assert_eq!((was.level, was.sampling, was.watched), (is.level, is.sampling, is.watched));
        assert_eq!(
            (&was.losses, &was.notes, was.resolution),
            (&is.losses, &is.notes, is.resolution)
        );
        assert_eq!(is.skipped, 0);
    }
    assert!(again.facts_of(None).any(|fact| fact.value.text() == Some("block-trace")));
    let came_back: Vec<&Fact> = again.facts_of(Some(sda)).collect();
    assert_eq!(came_back, facts(sda).iter().collect::<Vec<_>>());
}

#[test]
fn a_capture_cut_at_any_byte_keeps_its_whole_blocks_and_says_that_it_was_cut() {
    let bytes = written();
    let starts = starts(&bytes);
    assert_eq!(starts.len(), 4);
    for cut in (Header::BYTES..bytes.len()).step_by(97).chain(starts.iter().copied().skip(1)) {
        let recording = read(&bytes[..cut]);
        let whole = starts.iter().skip(1).filter(|start| **start <= cut).count();
        let (kept, _) = kept_and_lost(&recording);
        assert_eq!(kept, whole * EVENTS as usize / 3, "cut at {cut}");
        assert!(recording.is_incomplete(), "cut at {cut}");
    }
    assert!(!read(&bytes).listings.iter().any(|listing| listing.source.skipped > 0));
}

#[test]
fn a_capture_without_its_head_knows_what_it_misses() {
    let bytes = written();
    let second = starts(&bytes)[1];
    let (kept, lost) = kept_and_lost(&read(&bytes[second..]));
    assert_eq!((kept, lost), (2000, 1000));
    let (kept, lost) = kept_and_lost(&read(&bytes[100..]));
    assert_eq!((kept, lost), (2000, 1000));
}

#[test]
fn a_flipped_bit_costs_one_block_and_the_loss_is_counted() {
    let bytes = written();
    let last = *starts(&bytes).last().unwrap();
    for place in (0..last).step_by(61) {
        let mut bitten = bytes.clone();
        bitten[place] ^= 16;
        let recording = read(&bitten);
        let (kept, lost) = kept_and_lost(&recording);
        assert_eq!((kept, lost), (2000, 1000), "bitten at {place}");
        assert!(recording.listings.iter().any(|listing| listing.source.skipped > 0));
    }
}

#[test]
fn parts_read_as_one_when_joined_and_each_by_itself() {
    let mut writer = Writer::new(Vec::new(), 7);
    writer.begin(Source::new("block-trace", "live", Level::D));
    let sda = writer.device("sda");
    writer.fact(Fact::read(None, key::CLOCK_OFFSET, "5", ""));
    writer.fact(Fact::new(None, key::CLOCK_BEGAN, FactValue::Duration(Nanos(5)), ""));
    let mut parts = Vec::new();
    for part in 0..3 {
        for k in 0..(BLOCK_EVENTS + 10) as i64 {
            let mut event = Event::new(sda, Op::Read, Layer::Block);
            event.completed = Some(Time::from_ns(part * 1_000_000_000 + k));
            writer.event(event);
        }
        writer.source().watched = Some(Nanos((part + 1) * 1_000_000_000));
        parts.push(if part < 2 { writer.go_on_in(Vec::new()).unwrap() } else { Vec::new() });
    }
    writer.finish().unwrap();
    parts[2] = std::mem::take(writer.out());
    let facts = |recording: &Recording| {
        recording.facts_of(None).filter(|fact| fact.key.is_under("clock")).count()
    };
    // When the watch of a file began, s, and how long it was.
    let span = |recording: &Recording| {
        let mut facts = recording.facts_of(None);
        let began = facts.find(|fact| fact.key == key::CLOCK_BEGAN);
        let began = began.map(|fact| fact.value.clone());
        (began, recording.listings[0].source.watched)
    };
    let of_s = |s: i64| FactValue::Duration(Nanos(s * 1_000_000_000 + 5));
    for (place, part) in parts.iter().enumerate() {
        let recording = read(part);
        assert_eq!((recording.listings.len(), facts(&recording)), (1, 2));
        assert_eq!(recording.listings[0].events.len(), BLOCK_EVENTS + 10);
        assert_eq!(span(&recording), (Some(of_s(place as i64)), Some(Nanos(1_000_000_000))));
    }
    let joined = read(&parts.concat());
    assert_eq!((joined.listings.len(), facts(&joined)), (1, 2));
    assert_eq!(span(&joined), (Some(of_s(0)), Some(Nanos(3_000_000_000))));
    assert_eq!(joined.listings[0].events.len(), 3 * (BLOCK_EVENTS + 10));
    assert!(!joined.is_incomplete(), "{:?}", joined.listings[0].source);
}
