//! Every sample is sniffed by all formats, read, compared with its golden, then cut and damaged:
//! six tests for each, named after it.
//!
//! A sample is `samples/<format>/<tool-version>--<what>.txt` (`.bin` if it is binary), the format's
//! name with `_` for `-`.
//! `UPDATE_GOLDEN=1 cargo test -p iowhy-read` writes the goldens; a missing one fails.
//! `cargo test -p iowhy-read --test samples iostat/` looks at one folder only.
//! The plain-text dump is for these tests only; users get views.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use iowhy_model::{Distribution, Event, Interval, Listing, Nanos, Random, Recording, Stage, Time};
use iowhy_read::{Detect, FORMATS, Format, find, may_begin, scan};
use libtest_mimic::{Arguments, Trial};

/// Most lines a format may ask for before it decides; the scanner's own limit.
const HEAD_LIMIT: usize = 16;
/// Times each line of a sample is changed.
const CHANGED: usize = 12;
/// Headings that a format's manual must have, in this order.
const HEADINGS: [&str; 5] =
    ["## Reads", "## How to capture", "## Versions", "## Caveats", "## Not in this output"];

#[derive(Clone)]
struct Sample {
    format: &'static Format,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Sample {
    /// `iostat/12.5.4--x`.
    fn name(&self) -> String {
        let name = self.path.strip_prefix(folder()).unwrap_or(&self.path);
        name.with_extension("").display().to_string()
    }

    /// A generator of its own, independent of other samples.
    fn dice(&self) -> Random {
        let seed = self.name().bytes().fold(7, |sum: u64, byte| {
            sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte))
        });
        Random::seeded(seed)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples")
}

/// Folders of samples with the format each is of, if it is in the list.
fn folders() -> Vec<(PathBuf, Option<&'static Format>)> {
    let entries = std::fs::read_dir(folder()).expect("the samples folder").flatten();
    entries
        .map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
        .map(|(path, name)| (path, find(&name.replace('_', "-"))))
        .collect()
}

fn samples() -> Vec<Sample> {
    let mut found = Vec::new();
    for (path, format) in folders() {
        let Some(format) = format else { continue };
        for entry in std::fs::read_dir(path).expect("a folder").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "txt" || end == "bin") {
                found.push(Sample { format, bytes: std::fs::read(&path).unwrap(), path });
            }
        }
    }
    // The largest takes longest, so it begins first.
    found.sort_by(|a, b| b.bytes.len().cmp(&a.bytes.len()).then(a.path.cmp(&b.path)));
    found
}

/// Panics if a sample violates a rule.
type Check = fn(&Sample);

/// What is tried on each sample.
const TRIED: [(&str, Check); 6] = [
    ("claimed", exactly_one_format_claims_each_listing),
    ("offered", who_would_not_say_no_is_asked),
    ("golden", it_reads_as_its_golden_says),
    ("facts", every_fact_has_a_key_of_the_list),
    ("in_drops", it_reads_the_same_in_one_piece_and_in_drops),
    ("damaged", cut_or_damaged_anywhere_it_still_reads_without_panic),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for (what, tried) in TRIED.into_iter().rev() {
        for sample in samples() {
            let name = format!("{what}::{}", sample.name());
            trials.push(Trial::test(name, move || {
                tried(&sample);
                Ok(())
            }));
        }
    }
    trials.push(Trial::test("the_list_is_sorted_documented_and_sampled", || {
        the_list_is_sorted_documented_and_sampled();
        Ok(())
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The formats whose listing begins at the first of these lines.
fn claimants(lines: &[&str]) -> Vec<&'static str> {
    let claims = |format: &&Format| {
        for ahead in 1..=lines.len().min(HEAD_LIMIT) {
            match format.sniff(&lines[..ahead]) {
                Detect::Yes => return true,
                Detect::No => return false,
                Detect::NeedLine | Detect::NeedLines => {}
            }
        }
        false
    };
    FORMATS.iter().filter(claims).map(|format| format.name).collect()
}

fn read(mut bytes: &[u8]) -> String {
    read_from(&mut bytes)
}

fn read_from(input: &mut dyn BufRead) -> String {
    let mut recording = Recording::new();
    let outcome = scan("sample", input, None, &mut recording);
    let mut out = match outcome {
        Ok(scan) => format!(
            "{} lines, {} of prose, {} cut, {} listings\n",
            scan.lines, scan.prose, scan.cut, scan.listings
        ),
        Err(error) => format!("error: {error}\n"),
    };
    for listing in &recording.listings {
        dump(&mut out, &recording, listing);
    }
    out
}

fn exactly_one_format_claims_each_listing(sample: &Sample) {
    let text = String::from_utf8_lossy(&sample.bytes);
    let lines: Vec<&str> = text.lines().collect();
    let mut first = None;
    for start in 0..lines.len() {
        let names = claimants(&lines[start..]);
        assert!(names.len() < 2, "line {}: {names:?}", start + 1);
        first = first.or(names.first().copied());
    }
    // The scanner removes the wrapping of a listing, not its format.
    let wrapped = first.is_none() && sample.path.to_string_lossy().contains("quoted");
    assert!(wrapped || first == Some(sample.format.name), "{first:?}");
}

/// The index of needles hides no format from a line at which it may begin: not from one of a
/// sample, and not from one that was cut, mistyped, or lacks a word.
fn who_would_not_say_no_is_asked(sample: &Sample) {
    let mut dice = sample.dice();
    let text = String::from_utf8_lossy(&sample.bytes);
    for line in text.lines() {
        let changed: Vec<String> = (0..CHANGED).map(|_| changed(line, &mut dice)).collect();
        for line in changed.iter().map(String::as_str).chain([line]) {
            let asked: Vec<&str> = may_begin(line).map(|format| format.name).collect();
            for format in FORMATS.iter().filter(|format| !asked.contains(&format.name)) {
                assert_eq!(format.sniff(&[line]), Detect::No, "{} of {line:?}", format.name);
            }
        }
    }
}

/// A line after a change that a hand or a cable may make.
fn changed(line: &str, dice: &mut Random) -> String {
    let letters: Vec<char> = line.chars().collect();
    let mut words: Vec<String> = line.split(' ').map(str::to_string).collect();
    let (place, word) = (dice.place(letters.len().max(1)), dice.place(words.len()));
    match dice.place(8) {
        0 => letters.iter().take(place).collect(),
        1 => letters.iter().skip(place).collect(),
        2 | 3 => {
            let typed = char::from(b' ' + dice.place(95) as u8);
            let change = |(at, letter): (usize, &char)| if at == place { typed } else { *letter };
            letters.iter().enumerate().map(change).collect()
        }
        4 => {
            words.remove(word);
            words.join(" ")
        }
        5 => {
            let number = ["0", "1", "17.25", "-1", "nan", "4096", "1,000", "12:00:01"];
            words[word] = number[dice.place(number.len())].to_string();
            words.join(" ")
        }
        6 => line.replace(' ', "\t"),
        _ => match dice.place(2) {
            0 => line.to_uppercase(),
            _ => line.to_lowercase(),
        },
    }
}

fn it_reads_as_its_golden_says(sample: &Sample) {
    let golden = sample.path.with_extension("golden");
    let now = read(&sample.bytes);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &now).unwrap();
        return;
    }
    let then = std::fs::read_to_string(&golden).expect("a golden; UPDATE_GOLDEN=1 writes one");
    if then != now {
        let line = then.lines().zip(now.lines()).position(|(a, b)| a != b);
        let line = line.unwrap_or(then.lines().count().min(now.lines().count()));
        let of = |text: &str| text.lines().nth(line).unwrap_or("(end)").to_string();
        panic!(
            "line {} of the golden\n  was: {}\n  now: {}\nUPDATE_GOLDEN=1 accepts",
            line + 1,
            of(&then),
            of(&now)
        );
    }
}

fn every_fact_has_a_key_of_the_list(sample: &Sample) {
    let mut recording = Recording::new();
    let _ = scan("sample", &mut &sample.bytes[..], None, &mut recording);
    for fact in recording.listings.iter().flat_map(|listing| &listing.facts) {
        assert_eq!(fact.key.member_of(iowhy_model::key::UNKNOWN), None, "a key without a line");
    }
}

/// Lent in drops, an input has no block for a reader to take at once, only lines.
fn it_reads_the_same_in_one_piece_and_in_drops(sample: &Sample) {
    let mut dice = sample.dice();
    for bites in [0, 1, 2, 20] {
        let mut bytes = sample.bytes.clone();
        for _ in 0..bites {
            let (from, to) = (dice.place(bytes.len()), dice.place(bytes.len()));
            bytes[to] = bytes[from];
        }
        let mut drops = BufReader::with_capacity(61, &bytes[..]);
        assert_eq!(read_from(&mut drops), read(&bytes));
    }
}

fn cut_or_damaged_anywhere_it_still_reads_without_panic(sample: &Sample) {
    let mut dice = sample.dice();
    let bytes = &sample.bytes;
    // What was read does not matter here, so it is dropped.
    let read = |mut bytes: &[u8]| {
        let _ = scan("sample", &mut bytes, None, &mut Recording::new());
    };
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    for cut in ends.map(|(place, _)| place + 1) {
        read(&bytes[..cut]);
        read(&bytes[cut..]);
    }
    for _ in 0..200 {
        read(&bytes[..dice.place(bytes.len() + 1)]);
    }
    for _ in 0..500 {
        let mut bitten = bytes.clone();
        let place = dice.place(bitten.len());
        bitten[place] = dice.bits() as u8;
        read(&bitten);
    }
}

fn the_list_is_sorted_documented_and_sampled() {
    assert!(FORMATS.is_sorted_by(|a, b| a.name < b.name), "FORMATS is not sorted by name");
    for (path, format) in folders() {
        assert!(format.is_some(), "{} is of no format in the list", path.display());
    }
    for format in FORMATS {
        let folder = folder().join(format.name.replace('-', "_"));
        assert!(folder.is_dir(), "no samples for {}", format.name);
        assert!(format.manual.starts_with("//! "), "{} has no header", format.name);
        let headings: Vec<&str> = format
            .manual
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(str::trim)
            .filter(|line| line.starts_with("## "))
            .collect();
        assert_eq!(headings, HEADINGS, "headings of {}", format.name);
    }
}

fn dump(out: &mut String, recording: &Recording, listing: &Listing) {
    let source = &listing.source;
    let queue = if source.sees_queue { "sees" } else { "does not see" };
    let _ = writeln!(
        out,
        "\nlisting {} level {} {}, {}, {} records, {} skipped, {queue} the queue",
        source.format,
        source.level.letter(),
        source.sampling.word(),
        source.place(),
        source.records,
        source.skipped
    );
    let reported = [
        source.host.as_ref().map(|host| format!("host {host}")),
        source.resolution.map(|step| format!("resolution {} ns", step.ns())),
        source.watched.map(|length| format!("watched {} s", length.seconds())),
        (listing.folded > 0).then(|| format!("{} events folded", listing.folded)),
    ];
    for line in reported.iter().flatten() {
        let _ = writeln!(out, "  {line}");
    }
    for loss in &source.losses {
        let _ = writeln!(out, "  lost {} {}", loss.count, loss.what);
    }
    for note in &source.notes {
        let _ = writeln!(out, "  note at {}: {} | {}", note.line, note.reason, note.text);
    }
    for interval in &listing.intervals {
        dump_interval(out, recording, interval);
    }
    for event in &listing.events {
        dump_event(out, recording, event);
    }
    for distribution in &listing.distributions {
        dump_distribution(out, recording, distribution);
    }
    for fact in &listing.facts {
        let device = fact.device.map_or("-", |id| &recording.device_of(id).name);
        let _ = writeln!(out, "  fact {device} {} = {} ({})", fact.key, fact.value, fact.read_from);
    }
}

fn dump_interval(out: &mut String, recording: &Recording, interval: &Interval) {
    let device = &recording.device_of(interval.device).name;
    let _ = write!(out, "  interval {} {device}", interval.layer.name());
    span(out, interval.start, interval.length);
    if interval.since_boot {
        out.push_str(" since boot");
    }
    let _ = writeln!(out);
    let rates = interval.rates.iter().map(|(op, rates)| (op.name(), rates));
    for (op, rates) in rates.chain(interval.mixed.iter().map(|rates| ("mixed", rates))) {
        let _ = write!(out, "    {op} {}/s", short(rates.ios_per_s));
        value(out, "merges", rates.merges_per_s, "/s");
        value(out, "bytes", rates.bytes_per_s, " B/s");
        value(out, "await", rates.await_ns, " ns");
        out.push('\n');
    }
    let mut all = String::new();
    value(&mut all, "await", interval.await_ns, " ns");
    value(&mut all, "queue", interval.queue_len, "");
    value(&mut all, "active", interval.active_len, "");
    value(&mut all, "wait", interval.wait_ns, " ns");
    value(&mut all, "device", interval.device_ns, " ns");
    value(&mut all, "busy", interval.busy.map(|busy| busy * 100.0), " %");
    value(&mut all, "svctm", interval.svctm_ns, " ns");
    value(&mut all, "in flight", interval.in_flight.map(|count| count as f64), "");
    let _ = writeln!(out, "    all{all}");
}

fn dump_event(out: &mut String, recording: &Recording, event: &Event) {
    let device = &recording.device_of(event.device).name;
    let _ = write!(out, "  event {} {device} {}", event.layer.name(), event.flags.rwbs(event.op));
    let times =
        [("queued", event.queued), ("issued", event.issued), ("completed", event.completed)];
    for (name, time) in times {
        if let Some(time) = time {
            let _ = write!(out, " {name} {} ns", time.ns());
        }
    }
    for stage in [Stage::Queue, Stage::Device, Stage::Total] {
        if let Some(latency) = event.latency(stage) {
            let _ = write!(out, " {} {} ns", stage.name(), latency.ns());
        }
    }
    let numbers = [
        ("sector", event.sector),
        ("bytes", event.bytes.map(u64::from)),
        ("pid", event.pid.map(u64::from)),
        ("depth", event.depth.map(|depth| depth.get().into())),
        ("error", event.error.map(u64::from)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            let _ = write!(out, " {name} {number}");
        }
    }
    if let Some(comm) = event.comm {
        let _ = write!(out, " comm {:?}", recording.text(comm));
    }
    out.push('\n');
}

fn dump_distribution(out: &mut String, recording: &Recording, distribution: &Distribution) {
    let device = &recording.device_of(distribution.device).name;
    let op = distribution.op.map_or("any", |op| op.name());
    let histogram = &distribution.histogram;
    let _ = write!(
        out,
        "  distribution {} {} {device:?} {op}",
        distribution.layer.name(),
        distribution.stage.name()
    );
    span(out, distribution.start, distribution.length);
    if let Some(bytes) = distribution.bytes {
        let _ = write!(out, " of {bytes} B");
    }
    if let Some(label) = distribution.label {
        let _ = write!(out, " label {:?}", recording.text(label));
    }
    let _ = write!(out, ": {} I/Os", histogram.count());
    value(out, "sum", histogram.sum_ns, " ns");
    value(out, "min", histogram.min_ns.map(|ns| ns as f64), " ns");
    value(out, "max", histogram.max_ns.map(|ns| ns as f64), " ns");
    out.push('\n');
    for (low, high, count) in histogram.filled() {
        let _ = match high {
            u64::MAX => writeln!(out, "    {low}.. ns {count}"),
            _ => writeln!(out, "    {low}..{high} ns {count}"),
        };
    }
}

fn span(out: &mut String, start: Option<Time>, length: Option<Nanos>) {
    if let Some(start) = start {
        let _ = write!(out, " from {} s", start.seconds());
    }
    if let Some(length) = length {
        let _ = write!(out, " for {} s", length.seconds());
    }
}

fn value(out: &mut String, name: &str, value: Option<f64>, unit: &str) {
    if let Some(value) = value {
        let _ = write!(out, ", {name} {}{unit}", short(value));
    }
}

/// Three decimals at most, without idle zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
