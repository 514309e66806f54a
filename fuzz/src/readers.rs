//! Throws bytes at one reader of the list: `IOWHY_FUZZ=biosnoop readers CORPUS`.
//!
//! The list of targets is `FORMATS` itself, so no reader can be without one; `IOWHY_FUZZ=?` prints
//! it. An input is read twice, as the named format and as whatever it is recognised as. A panic, an
//! overflow or a read of more than [`SLOW`] of processor time is a find; memory is limited by
//! libFuzzer (`-rss_limit_mb`). After `IOWHY_FUZZ_SECONDS` of processor time it ends by itself.

#![no_main]

use std::io::BufRead;
use std::sync::OnceLock;
use std::time::Duration;

use iowhy_model::Recording;
use iowhy_read::{FORMATS, Format, blktrace, find, scan};
use libfuzzer_sys::fuzz_target;
use rustix::process::{Signal, getpid, kill_process};
use rustix::time::{ClockId, clock_gettime};

/// Longest that one input of at most 64 KiB may take: a sound one takes a few milliseconds, and
/// the instrumented build is ten times slower.
const SLOW: Duration = Duration::from_secs(2);
/// Events kept: few, so that what happens beyond the budget is seen too.
const EVENTS: usize = 500;
/// Most records that a byte of input may give; a row of short numbers gives several of each line.
const RECORDS_PER_BYTE: u64 = 4;

struct Target {
    format: &'static Format,
    end: Duration,
}

static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: {
        let _ = TARGET.set(target());
    },
    |bytes: &[u8]| {
        let Some(target) = TARGET.get() else { return };
        let begun = processor_time();
        read(bytes, Some(target.format));
        read(bytes, None);
        if target.format.name == "blktrace" {
            merge(bytes);
        }
        let ended = processor_time();
        assert!(ended - begun < SLOW, "{:?} for {} bytes", ended - begun, bytes.len());
        if ended > target.end {
            // libFuzzer takes it as the wish to stop, and prints what it has.
            let _ = kill_process(getpid(), Signal::USR1);
        }
    }
);

fn target() -> Target {
    let name = std::env::var("IOWHY_FUZZ").unwrap_or_default();
    let Some(format) = find(&name) else {
        for format in FORMATS {
            println!("{}", format.name);
        }
        std::process::exit(if name == "?" { 0 } else { 2 });
    };
    let seconds = std::env::var("IOWHY_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Target { format, end: seconds.map_or(Duration::MAX, Duration::from_secs) }
}

fn read(mut bytes: &[u8], only: Option<&'static Format>) {
    let length = bytes.len();
    let mut recording = Recording::with_budget(EVENTS);
    let _ = scan("fuzz", &mut bytes, only, &mut recording);
    sound(&recording, length);
}

/// The same bytes as two files of one trace.
fn merge(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let mut recording = Recording::with_budget(EVENTS);
    let parts: Vec<Box<dyn BufRead + '_>> = vec![Box::new(first), Box::new(second)];
    let _ = blktrace::merge("fuzz", parts, &mut recording);
    sound(&recording, bytes.len());
}

/// A small input gives a small recording.
fn sound(recording: &Recording, length: usize) {
    let bound = RECORDS_PER_BYTE * (length as u64 + 1);
    assert!(recording.records() <= bound, "{} records", recording.records());
    assert!(recording.listings.len() <= length, "{} listings", recording.listings.len());
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
