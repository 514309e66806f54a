//! A replay on a file: every I/O of the plan once, in order, with its size, place and time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iowhy_model::{Op, Recording, Time};
use iowhy_probe::{
    Ask, Captured, Cell, EngineChoice, Outcome, Purpose, Replay, Session, SoFar, Table, Target,
    Terms, Watcher, examine, find,
};

use crate::rig::Folder;

const BYTES: u64 = 4 << 20;

fn open(path: &Path, purpose: Purpose) -> Target {
    let stop = AtomicBool::new(false);
    let mut watcher = Watcher { stop: &stop, tick: &mut |_: SoFar| {} };
    examine(path, purpose, &Terms::default()).unwrap().open(&mut watcher).unwrap()
}

/// I/Os of two processes, 500 us apart, of 4 KiB to 256 KiB; each fifth is a write.
fn capture(n: u64) -> Vec<Captured> {
    let at = |us: u64| Time::from_ns(us as i64 * 1000);
    (0..n)
        .map(|k| Captured {
            started: at(k * 500),
            issued: Some(at(k * 500 + 10)),
            completed: Some(at(k * 500 + 300)),
            offset: (k * 7919 * 4096) % BYTES,
            bytes: 4096 << (k % 7),
            op: if k % 5 == 4 { Op::Write } else { Op::Read },
            process: (k % 2) as u32 + 1,
        })
        .collect()
}

fn ask(ios: Vec<Captured>) -> Ask {
    let ios = Arc::new(ios);
    let replay = Replay { ios, left_out: Vec::new(), speed: 1.0, closed: false, overwrite: false };
    Ask { replay: Some(replay), ..Ask::default() }
}

/// Replays on a file of random bytes, or in its folder.
fn replay(folder: &Folder, ask: &Ask) -> (Outcome, Recording) {
    let kind = find("replay").unwrap();
    let purpose = (kind.purpose)(ask);
    let path = folder.0.join("target");
    let target = match purpose {
        Purpose::Read => open(&path, purpose),
        Purpose::Write { .. } => open(&folder.0, purpose),
    };
    let (mut recording, stop) = (Recording::new(), AtomicBool::new(false));
    let mut show = |_: &str| {};
    let mut session = Session::begin(kind.name, target, &mut recording, &stop, &mut show);
    let outcome = (kind.run)(ask, &mut session).unwrap();
    session.end(&outcome);
    (outcome, recording)
}

fn folder(name: &str) -> (Folder, Vec<u8>) {
    let folder = Folder::new(&format!("replay-{name}"));
    let bytes: Vec<u8> = (0..BYTES).map(|k| (k * 31 % 251) as u8).collect();
    std::fs::write(folder.0.join("target"), &bytes).unwrap();
    (folder, bytes)
}

fn table<'a>(outcome: &'a Outcome, name: &str) -> &'a Table {
    outcome.tables.iter().find(|table| table.name == name).expect(name)
}

fn number(cell: &Cell) -> f64 {
    let Cell::Number(value) = cell else { panic!("{cell:?}") };
    *value
}

/// What was done, by the time it was due: operation, place and size.
fn done(recording: &Recording) -> Vec<(i64, Op, u64, u32)> {
    let events = recording.listings[0].events.iter();
    let mut done: Vec<_> = events
        .map(|io| {
            let due = io.queued.unwrap();
            assert!(due <= io.issued.unwrap() && io.issued <= io.completed, "{io:?}");
            (due.ns(), io.op, io.sector.unwrap() * 512, io.bytes.unwrap())
        })
        .collect();
    done.sort_unstable_by_key(|(due, ..)| *due);
    done
}

#[test]
fn every_read_is_done_once_at_its_time_and_nothing_is_written() {
    for way in [EngineChoice::Ring, EngineChoice::Calls] {
        let (folder, bytes) = folder(&format!("open-{way:?}"));
        let ios = capture(500);
        let (outcome, recording) = replay(&folder, &Ask { way, ..ask(ios.clone()) });
        let reads: Vec<_> = ios.iter().filter(|io| io.op == Op::Read).collect();
        let done = done(&recording);
        assert_eq!(done.len(), reads.len(), "{way:?}");
        let zero = done[0].0;
        for ((due, op, offset, size), io) in done.iter().zip(&reads) {
            let place = io.offset.min(BYTES - u64::from(io.bytes));
            assert_eq!((*op, *offset, *size), (Op::Read, place, io.bytes), "{way:?}");
            assert_eq!(due - zero, (io.started - reads[0].started).ns(), "{way:?}");
        }
        assert_eq!(std::fs::read(folder.0.join("target")).unwrap(), bytes);
        let left_out = &table(&outcome, "left_out").rows;
        assert_eq!(left_out.len(), 1, "{left_out:?}");
        assert_eq!(number(&left_out[0][1]), 100.0);
        assert_eq!(number(&table(&outcome, "timing").rows[0][0]), 400.0);
        let sides = &table(&outcome, "latency").rows;
        assert_eq!((number(&sides[0][2]), number(&sides[1][2])), (400.0, 400.0));
        // Captured from issue to completion.
        assert!((number(&sides[0][6]) - 0.29).abs() < 0.003, "{sides:?}");
    }
}

#[test]
fn in_a_closed_loop_each_process_waits_for_its_own() {
    for way in [EngineChoice::Ring, EngineChoice::Calls] {
        let (folder, _) = folder(&format!("closed-{way:?}"));
        let mut wanted = Ask { way, ..ask(capture(300)) };
        wanted.replay.as_mut().unwrap().closed = true;
        let (_, recording) = replay(&folder, &wanted);
        let events = &recording.listings[0].events;
        assert_eq!(events.len(), 240, "{way:?}");
        let issued = |io: &iowhy_model::Event| io.issued.unwrap().ns();
        // Two processes, one I/O each at a time: never three at once.
        for io in events {
            let beside = events.iter().filter(|other| {
                issued(other) <= issued(io) && other.completed.unwrap().ns() > issued(io)
            });
            assert!(beside.count() <= 2, "{way:?}: {io:?}");
        }
        // 299 steps of 500 us, of which 300 us were the captured latency: never faster than the
        // pauses alone.
        let span =
            events.iter().map(issued).max().unwrap() - events.iter().map(issued).min().unwrap();
        assert!(span > 299 * 350_000 / 2, "{way:?}: {span}");
    }
}

#[test]
fn writes_are_replayed_with_leave_to_a_file_of_its_own() {
    let (folder, bytes) = folder("writes");
    let mut wanted = Ask { span: Some(2 << 20), ..ask(capture(100)) };
    wanted.replay.as_mut().unwrap().overwrite = true;
    let kind = find("replay").unwrap();
    let announced: u64 =
        capture(100).iter().filter(|io| io.op == Op::Write).map(|io| u64::from(io.bytes)).sum();
    let purpose = (kind.purpose)(&wanted);
    assert_eq!(purpose, Purpose::Write { span: 2 << 20, bytes: announced, dsync: false });
    // A file that exists is never written to.
    let refused = examine(&folder.0.join("target"), purpose, &Terms::default()).unwrap_err();
    assert!(refused.to_string().contains("it already exists"), "{refused}");
    let (outcome, recording) = replay(&folder, &wanted);
    let done = done(&recording);
    let written: u64 = done.iter().filter(|io| io.1 == Op::Write).map(|io| u64::from(io.3)).sum();
    assert_eq!((done.len(), written), (100, announced));
    assert!(outcome.tables.iter().all(|table| table.name != "left_out"), "{outcome:?}");
    assert_eq!(std::fs::read(folder.0.join("target")).unwrap(), bytes);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_replayed_is_an_error_with_a_hint() {
    let (folder, _) = folder("nothing");
    let mut writes = capture(10);
    writes.iter_mut().for_each(|io| io.op = Op::Write);
    let mut large = capture(1);
    large[0].bytes = 1 << 30;
    for (ios, why) in [
        (writes, "all 10 I/Os of the capture are writes"),
        (large, "larger than the target"),
        (Vec::new(), "no read or write"),
    ] {
        let kind = find("replay").unwrap();
        let target = open(&folder.0.join("target"), Purpose::Read);
        let (mut recording, stop) = (Recording::new(), AtomicBool::new(false));
        let mut show = |_: &str| {};
        let mut session = Session::begin(kind.name, target, &mut recording, &stop, &mut show);
        let error = (kind.run)(&ask(ios), &mut session).unwrap_err();
        assert!(error.to_string().contains(why) && !error.hint().is_empty(), "{error}");
    }
}

#[test]
fn a_replay_that_is_stopped_keeps_what_was_done() {
    let (folder, _) = folder("stopped");
    for (way, closed) in [(EngineChoice::Ring, false), (EngineChoice::Calls, true)] {
        let mut wanted = Ask { way, ..ask(capture(100_000)) };
        wanted.replay.as_mut().unwrap().closed = closed;
        let kind = find("replay").unwrap();
        let target = open(&folder.0.join("target"), Purpose::Read);
        let (mut recording, stop) = (Recording::new(), AtomicBool::new(false));
        // Called a few times per second.
        let mut show = |_: &str| stop.store(true, Ordering::Relaxed);
        let mut session = Session::begin(kind.name, target, &mut recording, &stop, &mut show);
        let outcome = (kind.run)(&wanted, &mut session).unwrap();
        assert_eq!(session.end(&outcome).1.as_deref(), Some("interrupted by the user"));
        let done = recording.listings[0].events.len() as f64;
        assert!((1.0..20_000.0).contains(&done), "{way:?}: {done}");
        let left_out = &table(&outcome, "left_out").rows;
        let all: f64 = left_out.iter().map(|row| number(&row[1])).sum();
        assert_eq!(all + done, 100_000.0, "{way:?}: {left_out:?}");
    }
}
