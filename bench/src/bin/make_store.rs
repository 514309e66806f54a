//! Writes a recorder's store of this many hours, second by second, for measurements: `make_store
//! FOLDER HOURS DEVICES`. Each device reads in each second, its latencies in two stages. The same
//! words give the same bytes on any machine.

#![allow(clippy::print_stderr)]

use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::process::ExitCode;

use iowhy_capture::Writer;
use iowhy_model::{
    Distribution, Edges, Fact, FactValue, Histogram, Layer, Level, Nanos, Op, Random, Sampling,
    Sink, Source, Stage, Time, key,
};
use iowhy_store::{SECOND_NS, Store};

/// 2026-11-16 00:00 UTC.
const BEGAN_S: i64 = 1_794_787_200;
/// I/Os of a device in a second.
const IOS: u64 = 200;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let made = match &words[..] {
        [folder, hours, devices] => match (hours.parse(), devices.parse()) {
            (Ok(hours), Ok(devices)) => make(Path::new(folder), hours, devices),
            _ => Err(Error::new(ErrorKind::InvalidInput, "HOURS and DEVICES are numbers")),
        },
        _ => Err(Error::new(ErrorKind::InvalidInput, "usage: make_store FOLDER HOURS DEVICES")),
    };
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make_store: {error}");
            ExitCode::FAILURE
        }
    }
}

fn make(folder: &Path, hours: i64, devices: u32) -> Result<()> {
    let mut store = Store::record(folder)?;
    let mut dice = Random::seeded(19);
    for hour in 0..hours {
        let mut segment = store.segment(BEGAN_S + hour * 3600, hour * 3600)?;
        let mut writer = Writer::new(Vec::new(), hour as u64);
        let source = Source::new("block-trace", "live", Level::B);
        writer.begin(Source { sampling: Sampling::Traced, ..source });
        let zero = FactValue::Duration(Nanos(BEGAN_S * SECOND_NS));
        writer.fact(Fact::new(None, key::CLOCK_OFFSET, zero, "made"));
        for second in hour * 3600..(hour + 1) * 3600 {
            for number in 0..devices {
                let device = writer.device(&format!("nvme{number}n1"));
                for stage in [Stage::Device, Stage::Total] {
                    let mut histogram = Histogram::empty(Edges::standard());
                    // 60 to 180 us, and one in a hundred far above.
                    for _ in 0..IOS {
                        let roll = dice.bits();
                        let slow = if roll.is_multiple_of(100) { 20 } else { 1 };
                        histogram.record((60_000 + roll % 120_000) * slow);
                    }
                    let mut one = Distribution::new(device, Layer::Block, stage, histogram);
                    one.op = Some(Op::Read);
                    one.start = Some(Time::from_ns(second * SECOND_NS));
                    one.length = Some(Nanos(SECOND_NS));
                    writer.distribution(one);
                }
            }
            writer.flush()?;
        }
        writer.finish()?;
        segment.append(writer.out())?;
    }
    Ok(())
}
