//! Every view of a capture shows all of its I/Os, however many are judged one by one: counts, sums,
//! buckets and the cells of the maps are those that `snoop` lists, of a recorder's capture, in
//! which rows of averages and I/Os take turns.
//!
//! The long form has ten million I/Os; `IOWHY_FAST` names an optimised program (`./test --long`
//! builds one).

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Read};
use std::process::{Command, Stdio};

use iowhy_capture::Writer;
use iowhy_model::{
    Edges, Event, Histogram, Interval, Layer, Level, Nanos, Op, Random, Rates, Sampling, Sink,
    Source, Time, numbers,
};
use serde_json::Value;

use crate::folder::Folder;

/// More than are judged one by one (2^19).
const SHORT: u64 = 600_000;
const LONG: u64 = 10_000_000;

fn program() -> String {
    std::env::var("IOWHY_FAST").unwrap_or_else(|_| env!("CARGO_BIN_EXE_iowhy").to_string())
}

/// What a command prints; status 1 where a part was judged.
fn text(words: &[&str], statuses: &[i32]) -> String {
    let run = Command::new(program()).args(words).stdin(Stdio::null()).output().unwrap();
    let reported = String::from_utf8_lossy(&run.stderr);
    assert!(statuses.contains(&run.status.code().unwrap()), "{words:?}: {reported}");
    String::from_utf8(run.stdout).unwrap()
}

/// A busy fast disk, and one with few I/Os, of which most are slow and the fast ones come early:
/// rows of averages between them.
fn capture(file: &str, total: u64) {
    let out = BufWriter::new(std::fs::File::create(file).unwrap());
    let mut sink = Writer::new(out, 7);
    let mut counters = Source::new("diskstats", "live", Level::A);
    counters.sampling = Sampling::Sampled;
    let counters = sink.begin(counters);
    let mut trace = Source::new("block-trace", "live", Level::D);
    (trace.sampling, trace.resolution) = (Sampling::Traced, Some(Nanos(1)));
    let trace = sink.begin(trace);
    let (busy, slow) = (sink.device("sda"), sink.device("sdb"));
    let (dd, db) = (sink.name("dd"), sink.name("db"));
    let mut random = Random::seeded(39);
    for k in 0..total {
        let at = (k * 50_000) as i64;
        sink.resume(trace);
        let is_slow = k % 300 == 7;
        let mut event = Event::new(if is_slow { slow } else { busy }, Op::Read, Layer::Block);
        let quick = !is_slow || k % 4 == 3 && k < total / 2;
        let base = if is_slow { 2_000_000.0 } else { 60_000.0 };
        let times = if quick { 1.0 + random.unit() / 4.0 } else { 2.0 + 60.0 * random.unit() };
        let took = (base * times) as i64;
        let took = if !is_slow && k % 1000 == 500 { 30_000_000 } else { took };
        event.op = if k % 5 == 0 { Op::Write } else { Op::Read };
        event.completed = Some(Time::from_ns(1_000_000_000_000 + at));
        event.issued = Some(Time::from_ns(1_000_000_000_000 + at - took));
        event.queued = (!is_slow).then(|| Time::from_ns(1_000_000_000_000 + at - took - 1500));
        (event.sector, event.bytes) = (Some(k * 8), Some(4096));
        (event.pid, event.comm) = (Some(77), Some(if k % 5 == 0 { db } else { dd }));
        sink.event(event);
        if k % 20_000 == 19_999 {
            sink.resume(counters);
            let mut interval = Interval::new(busy, Layer::Block);
            let rates = Rates { ios_per_s: 20_000.0, await_ns: Some(9e4), ..Rates::default() };
            interval.rates.push((Op::Read, rates));
            interval.start = Some(Time::from_ns(1_000_000_000_000 + at - 1_000_000_000));
            interval.length = Some(Nanos(1_000_000_000));
            sink.interval(interval);
        }
    }
    for listing in [counters, trace] {
        sink.resume(listing);
        sink.end();
    }
    sink.finish().unwrap();
}

/// An I/O as `snoop` lists it, times in ns.
struct Io {
    device: String,
    op: String,
    comm: String,
    queued: Option<i64>,
    issued: i64,
    completed: i64,
}

impl Io {
    fn stages(&self) -> Vec<(&'static str, u64)> {
        let mut all = vec![("D2C", (self.completed - self.issued) as u64)];
        if let Some(queued) = self.queued {
            all.push(("Q2D", (self.issued - queued) as u64));
            all.push(("Q2C", (self.completed - queued) as u64));
        }
        all
    }

    /// Stage and time of the longest.
    fn longest(&self) -> (&'static str, u64) {
        self.stages().into_iter().max_by_key(|(_, ns)| *ns).unwrap()
    }
}

fn snooped(file: &str) -> Vec<Io> {
    let mut child = Command::new(program())
        .args(["snoop", "--csv", file])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let heading = rows.next().unwrap();
    let heading: Vec<&str> = heading.split(',').collect();
    let place = |name: &str| heading.iter().position(|known| *known == name).unwrap();
    let places = ["device", "op", "comm", "queued_ns", "issued_ns", "completed_ns"].map(place);
    let all = rows.map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let [device, op, comm, queued, issued, completed] = places.map(|place| fields[place]);
        Io {
            device: device.to_string(),
            op: op.to_string(),
            comm: comm.to_string(),
            queued: queued.parse().ok(),
            issued: issued.parse().unwrap(),
            completed: completed.parse().unwrap(),
        }
    });
    let all = all.collect();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    all
}

#[test]
fn every_view_shows_every_io() {
    holds(SHORT);
}

#[test]
#[ignore = "long: ten million I/Os in every view"]
fn every_view_shows_every_one_of_ten_million() {
    holds(LONG);
}

fn holds(total: u64) {
    let folder = Folder::new("views");
    let file = folder.0.join("many.iowhy").display().to_string();
    capture(&file, total);
    let ios = snooped(&file);
    assert_eq!(ios.len() as u64, total);
    histograms(&ios, &["hist", "--json", &file], |io| format!("{} {}", io.device, io.op));
    histograms(&ios, &["hist", "--by", "process", "--json", &file], |io| io.comm.clone());
    let slow: Vec<&Io> = ios.iter().filter(|io| io.device == "sdb").collect();
    let maps = text(&["map", "--csv", &file], &[0]);
    cells(&ios, &maps);
    let of_one = text(&["map", "--csv", "-d", "sdb", &file], &[0]);
    assert_eq!(counted(&of_one), slow.len() as u64, "map of one device");
    report(&ios, &file);
}

/// Every histogram has the counts, the sum, the ends and the buckets of the I/Os that are of it.
fn histograms(ios: &[Io], words: &[&str], of: impl Fn(&Io) -> String) {
    let mut known: HashMap<(String, &str), Histogram> = HashMap::new();
    for io in ios {
        for (stage, ns) in io.stages() {
            let empty = || Histogram::empty(Edges::standard());
            known.entry((of(io), stage)).or_insert_with(empty).record(ns);
        }
    }
    let report: Value = serde_json::from_str(&text(words, &[0])).unwrap();
    let all = report["histograms"].as_array().unwrap();
    assert_eq!(all.len(), known.len(), "{words:?}");
    for one in all {
        let word = |key: &str| one[key].as_str().unwrap_or("").to_string();
        let group = match word("label").as_str() {
            "" => format!("{} {}", word("device"), word("op")),
            label => label.to_string(),
        };
        let stage = word("stage");
        let (_, own) = known.iter().find(|((k, s), _)| *k == group && *s == stage).expect(&group);
        assert_eq!(one["count"], own.count(), "{words:?} {group} {stage}");
        assert_eq!((&one["min_ns"], &one["max_ns"]), (&own.min_ns.into(), &own.max_ns.into()));
        let sum = one["sum_ns"].as_f64().unwrap();
        assert!((sum / own.sum_ns.unwrap() - 1.0).abs() < 1e-9, "{words:?} {group} {stage}");
        let counts: Vec<u64> =
            one["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
        assert_eq!(counts, own.counts(), "{words:?} {group} {stage}");
    }
}

/// Device, stage, start, end, low, high (ns) and I/Os of each line that has any.
fn rows(maps: &str) -> impl Iterator<Item = (&str, &str, i64, i64, u64, u64, u64)> {
    maps.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let ns = |place: usize| (fields[place].parse::<f64>().unwrap() * 1e9).round() as i64;
        let high = fields[5].parse().unwrap_or(u64::MAX);
        let ios: u64 = fields[6].parse().unwrap();
        let low = fields[4].parse().ok()?;
        Some((fields[0], fields[1], ns(2), ns(2) + ns(3), low, high, ios))
    })
}

fn counted(maps: &str) -> u64 {
    rows(maps).map(|row| row.6).sum()
}

/// Every cell has the I/Os that completed in its stretch after a time within its row.
fn cells(ios: &[Io], maps: &str) {
    type Folded = (i64, i64, u64, u64, u64);
    let mut of: HashMap<(&str, &str), Vec<Folded>> = HashMap::new();
    for (device, stage, start, end, low, high, n) in rows(maps) {
        of.entry((device, stage)).or_default().push((start, end, low, high, n));
    }
    assert_eq!(counted(maps), ios.len() as u64);
    for ((device, stage), cells) in &mut of {
        cells.sort_unstable();
        let mut found = vec![0u64; cells.len()];
        for io in ios.iter().filter(|io| io.device == *device) {
            let (longest, ns) = io.longest();
            if longest != *stage {
                continue;
            }
            let at = cells.partition_point(|cell| cell.0 <= io.completed);
            let start = cells[at - 1].0;
            let place = cells.partition_point(|cell| (cell.0, cell.2) <= (start, ns));
            let (start, end, low, high, _) = cells[place - 1];
            let within = start <= io.completed && io.completed < end && low <= ns && ns < high;
            assert!(within, "{device} {stage}: {} ns at {} is in no cell", ns, io.completed);
            found[place - 1] += 1;
        }
        for (cell, found) in cells.iter().zip(found) {
            assert_eq!(cell.4, found, "{device} {stage} {cell:?}");
        }
    }
}

/// The page has all I/Os in its maps and its table, the slowest of all, and who waited for how
/// many.
fn report(ios: &[Io], file: &str) {
    // Status 1: a part was judged one by one.
    let page = text(&["report", file, "-o", "-"], &[1]);
    let (_, data) = page.split_once("type=\"application/octet-stream\">").unwrap();
    let packed = unpacked(data.split('<').next().unwrap());
    let mut json = String::new();
    flate2::read::DeflateDecoder::new(&packed[..]).read_to_string(&mut json).unwrap();
    let data: Value = serde_json::from_str(&json).unwrap();
    let mut drawn = 0;
    for map in data["maps"].as_array().unwrap().iter().filter(|map| map["op"] == "all") {
        for column in map["columns"].as_array().unwrap() {
            drawn +=
                column[2].as_array().unwrap().iter().map(|n| n[1].as_u64().unwrap()).sum::<u64>();
        }
    }
    assert_eq!(drawn, ios.len() as u64, "maps of the page");
    let mut longest: Vec<u64> = ios.iter().map(|io| io.longest().1).collect();
    longest.sort_unstable_by(|a, b| b.cmp(a));
    let slow = data["slow"].as_array().unwrap().iter().map(|dot| dot[2].as_u64().unwrap());
    let slow: Vec<u64> = slow.collect();
    assert_eq!(slow[..], longest[..slow.len()], "the slowest");
    for (device, op) in [("sda", "read"), ("sda", "write"), ("sdb", "read"), ("sdb", "write")] {
        let n = ios.iter().filter(|io| io.device == device && io.op == op).count();
        if n == 0 {
            continue;
        }
        let row =
            format!("<td>{device}<td>{op}<td>D2C<td class=\"n\">{}<", numbers::count(n as u64));
        assert!(page.contains(&row), "{row} in {}", table(&page, "percentiles"));
    }
    for comm in ["dd", "db"] {
        let n = ios.iter().filter(|io| io.comm == comm).count();
        let row = format!("<td>{comm}<td class=\"n\">{}<", numbers::count(n as u64));
        assert!(page.contains(&row), "{row} in {}", table(&page, "who"));
    }
}

fn table<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<h2 id=\"{id}\">")).unwrap_or(("", "nothing"));
    rest.split("</table>").next().unwrap()
}

/// Bytes of a text in base64.
fn unpacked(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.bytes().filter_map(value).collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let all = four.iter().fold(0u32, |all, digit| all << 6 | u32::from(*digit));
        let all = all << (6 * (4 - four.len()));
        bytes.extend_from_slice(&all.to_be_bytes()[1..four.len()]);
    }
    bytes
}
