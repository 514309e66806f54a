//! Kinds and sessions on files: both halves of a mix, heat, time left, every write as data.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use iowhy_model::{Layer, Op, Recording, Time};
use iowhy_probe::{
    Arrivals, Ask, Captured, Cell, Job, Outcome, Purpose, Replay, Session, Target, Terms, Watcher,
    examine, find,
};

use crate::rig::Folder;

fn target(folder: &Folder, purpose: Purpose) -> Target {
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
    let path = match purpose {
        Purpose::Read => {
            let path = folder.0.join("target");
            std::fs::write(&path, vec![7u8; 4 << 20]).unwrap();
            path
        }
        Purpose::Write { .. } => folder.0.clone(),
    };
    examine(&path, purpose, &Terms::default()).unwrap().open(&mut watcher).unwrap()
}

/// Runs a kind; its outcome, the recording, and what was shown meanwhile.
fn probe(kind: &str, ask: &Ask) -> (Outcome, Recording, Vec<String>) {
    let folder = Folder::new(&format!("session-{kind}-{:?}", ask.per_s));
    let kind = find(kind).unwrap();
    let target = target(&folder, (kind.purpose)(ask));
    let (mut recording, stop, mut shown) = (Recording::new(), AtomicBool::new(false), Vec::new());
    let mut show = |text: &str| shown.push(text.to_string());
    let mut session = Session::begin(kind.name, target, &mut recording, &stop, &mut show);
    let outcome = (kind.run)(ask, &mut session).unwrap();
    assert_eq!(session.end(&Outcome::default()).1, None);
    (outcome, recording, shown)
}

fn number(cell: &Cell) -> f64 {
    let Cell::Number(value) = cell else { panic!("{cell:?}") };
    *value
}

#[test]
fn a_mix_times_reads_and_writes_apart_in_both_loops() {
    for per_s in [None, Some(2000.0)] {
        for arrivals in [Arrivals::Poisson, Arrivals::Constant] {
            let ask = Ask {
                sizes: vec![4096, 16_384],
                span: Some(1 << 20),
                count: Some(500),
                reads: Some(0.8),
                per_s,
                arrivals,
                ..Ask::default()
            };
            let (outcome, recording, _) = probe("mixed", &ask);
            let rows = &outcome.tables[0].rows;
            let counts: Vec<f64> = rows.iter().map(|row| number(&row[3])).collect();
            assert_eq!(counts, [500.0, 400.0, 100.0, 500.0, 400.0, 100.0], "{rows:?}");
            let events = &recording.listings[0].events;
            let writes = events.iter().filter(|event| event.op == Op::Write).count();
            assert_eq!((writes, events.len()), (200, 2000));
            assert!(
                outcome.answer[0].contains("with concurrent writes a read of 4 KiB"),
                "{outcome:?}"
            );
            // What was announced is what was written.
            let Purpose::Write { bytes, .. } = (find("mixed").unwrap().purpose)(&ask) else {
                panic!("it writes");
            };
            assert_eq!(bytes, 100 * (4096 + 16_384));
        }
    }
}

#[test]
fn writes_enqueued_without_waiting_are_drawn_and_given_as_data() {
    let ask = Ask { count: Some(200), span: Some(1 << 20), depth: Some(16), ..Ask::default() };
    let (outcome, _, _) = probe("write-latency", &ask);
    let series = &outcome.series[0];
    assert_eq!((series.name, series.rows.len()), ("enqueue", 200));
    for (place, row) in series.rows.iter().enumerate() {
        assert_eq!(number(&row[0]), place as f64);
        assert!(number(&row[1]) <= number(&row[2]), "{row:?}");
    }
    let picture = outcome.picture.unwrap();
    assert!(picture.contains('x') && picture.contains('o') && picture.lines().count() == 26);
    assert!(outcome.answer.iter().any(|words| words.contains("enqueue")), "{:?}", outcome.answer);
    assert!(outcome.answer[0].contains("plain, 16 in flight"), "{:?}", outcome.answer);
}

#[test]
fn sizes_go_from_the_logical_block_up() {
    let ask = Ask { count: Some(3), span: Some(1 << 20), up_to: Some(16_384), ..Ask::default() };
    let (outcome, _, _) = probe("write-latency", &ask);
    let sizes: Vec<f64> = outcome.tables[0].rows.iter().map(|row| number(&row[0])).collect();
    let last = [4096.0, 8192.0, 16_384.0];
    assert!(sizes.ends_with(&last) && sizes.len() <= 6, "{sizes:?}");
    assert!(sizes.windows(2).all(|pair| pair[1] == 2.0 * pair[0]), "{sizes:?}");
}

#[test]
fn every_way_to_be_sure_and_every_order_is_measured() {
    use iowhy_probe::{Durable, Order};
    for durable in [Durable::Plain, Durable::Dsync, Durable::Fdatasync, Durable::RwfDsync] {
        for order in [Order::Sequential, Order::Random, Order::Same] {
            let ask = Ask {
                count: Some(5),
                span: Some(1 << 20),
                durable: Some(durable),
                order: Some(order),
                ..Ask::default()
            };
            let (outcome, recording, _) = probe("write-latency", &ask);
            let how = &outcome.answer[0];
            assert!(how.starts_with(order.name()) && how.contains(durable.name()), "{how}");
            let text = outcome.text.unwrap();
            assert!(text.contains("size=4096, N=5,") && text.contains(" cases\n"), "{text}");
            let places: Vec<_> =
                recording.listings[0].events.iter().map(|event| event.sector).collect();
            let same = places.windows(2).all(|pair| pair[0] == pair[1]);
            let next = places.windows(2).all(|pair| pair[1] == pair[0].map(|sector| sector + 8));
            assert_eq!(same, order == Order::Same, "{places:?}");
            assert_eq!(next, order == Order::Sequential, "{places:?}");
            // What includes a flush is not a single request, and is not passed off as one.
            if durable != Durable::Plain {
                assert_eq!(recording.listings[0].events[0].layer, Layer::Application);
                assert_eq!(recording.listings[0].distributions[0].histogram.count(), 5);
            }
        }
    }
}

#[test]
fn a_drive_that_is_too_hot_ends_the_probe() {
    let folder = Folder::new("hot");
    let mut target = target(&folder, Purpose::Read);
    let sensor = folder.0.join("sensors/hwmon/hwmon3");
    std::fs::create_dir_all(&sensor).unwrap();
    let put = |name: &str, text: &str| std::fs::write(sensor.join(name), text).unwrap();
    put("temp1_input", "45000\n");
    put("temp1_max", "70000\n");
    target.sensors = Some(folder.0.join("sensors"));
    let (mut recording, stop) = (Recording::new(), AtomicBool::new(false));
    let mut show = |_: &str| {};
    let mut session = Session::begin("ramp", target, &mut recording, &stop, &mut show);
    let job = Job { count: Some(50), ..Job::reads(4096, 1, 4 << 20) };
    assert_eq!(session.measure(&job, "cool").unwrap().latency.n, 50);
    assert!(!session.over());
    put("temp1_input", "71000\n");
    let run = session.measure(&job, "hot").unwrap();
    assert!(run.latency.n < 50, "it went on: {}", run.latency.n);
    assert!(session.over());
    let (own, ended) = session.end(&Outcome::default());
    assert_eq!(ended.as_deref(), Some("the device temperature is 71 C, its limit 70 C"));
    assert!(own.n >= 50);
}

#[test]
fn how_long_it_still_takes_is_shown() {
    let ask = Ask { time: Some(Duration::from_millis(1200)), ..Ask::default() };
    let (_, _, shown) = probe("sustain", &ask);
    assert!(shown.iter().any(|line| line.contains(" s left; Ctrl-C ends early")), "{shown:?}");
    assert!(shown.iter().any(|line| line.contains(" on average")), "{shown:?}");
}

/// So many captured reads.
fn reads(n: i64) -> Replay {
    let at = |k: i64| Time::from_ns(k * 1_000_000);
    let read = |k: i64| Captured {
        started: at(k),
        issued: Some(at(k)),
        completed: Some(at(k + 1)),
        offset: k as u64 * 4096,
        bytes: 4096,
        op: Op::Read,
        process: 1,
    };
    let ios = (0..n).map(read).collect::<Vec<_>>().into();
    Replay { ios, left_out: Vec::new(), speed: 1.0, closed: false, overwrite: false }
}

#[test]
fn every_kind_gives_numbers_and_an_answer() {
    for kind in iowhy_probe::KINDS {
        let ask = Ask {
            count: Some(if kind.name == "idle-wake" { 1 } else { 40 }),
            // Of these two, time is a pause and a budget that a busy machine uses up before a read.
            time: (!["idle-wake", "surface"].contains(&kind.name))
                .then_some(Duration::from_millis(300)),
            span: Some(4 << 20),
            depth: (kind.name == "ramp").then_some(4),
            replay: Some(reads(40)),
            ..Ask::default()
        };
        let (outcome, recording, _) = probe(kind.name, &ask);
        assert!(!outcome.answer.is_empty(), "{}", kind.name);
        let table = outcome.tables.first().expect(kind.name);
        assert!(!table.rows.is_empty(), "{}", kind.name);
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{}: {row:?}", kind.name);
        }
        assert!(!recording.listings[0].events.is_empty(), "{}", kind.name);
    }
}

#[test]
fn what_the_machine_and_not_the_device_did_is_told_apart() {
    let own = |no_cpu_ns, late_ns: u64| {
        let mut own = iowhy_probe::Own { ran_ns: 1_000, latency_ns: 1_000, ..Default::default() };
        own.no_cpu_ns = no_cpu_ns;
        own.late.record(late_ns);
        own.caution()
    };
    assert_eq!(own(Some(10), 10), None);
    assert!(own(Some(200), 10).unwrap().contains("CPU-starved 20 % of the time"));
    assert!(own(Some(10), 200).is_some(), "its own lateness counts as well");
}
