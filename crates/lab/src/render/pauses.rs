//! What the collector `dirty-pauses` reports (`crates/live/src/collectors/dirty_pauses.rs`): a line
//! for each program that the kernel paused, with device, process, name, pauses and the longest of
//! them in ns, and bytes dirtied.
//!
//! What the kernel does (mm/page-writeback.c): while less is dirty than halfway between the
//! background limit and the limit, nobody is paused. From then on all together get what is written
//! back, each as much as it wants up to a share that is the same for all; a program is paused for
//! the rest of its time, at most a fifth of a second at once (MAX_PAUSE).

use std::fmt::Write;

use iowhy_model::typed::{self, Bytes, OfProcess};
use iowhy_model::{Fact, Level, Nanos, Op, Recording, Sampling, Sink, Source};

use crate::scenarios::{Scenario, Trace};

/// The name of the input.
pub(super) const NAME: &str = "dirty-pauses.txt";
/// The input that has the trace as well: a live watch, or a capture of `iowhy record`.
const TRACE: &str = "trace.json";
/// The clock of the pauses: 250 ticks a second.
const TICK: f64 = 4e6;
const LONGEST: f64 = 2e8;

/// The report; empty if nobody was paused.
pub(super) fn text(scenario: &Scenario) -> String {
    let mut out = String::new();
    for (place, disk) in scenario.disks.iter().enumerate() {
        let dirties = |trace: &Trace| match trace {
            Trace::Dirties(of, comm, times) if *of == place => Some((*comm, *times)),
            _ => None,
        };
        let programs: Vec<(&str, f64)> = scenario.traces.iter().filter_map(dirties).collect();
        let written = disk.done.iter().filter(|done| done.op == Op::Write);
        let seconds = scenario.end() as f64 / 1e9;
        let rate = written.map(|done| f64::from(done.bytes)).sum::<f64>() / seconds.max(1e-9);
        let wanted: Vec<f64> = programs.iter().map(|(_, times)| times * rate).collect();
        let paused_for = seconds - filled_after(scenario, wanted.iter().sum::<f64>() - rate);
        let share = fair_share(&wanted, rate);
        for (number, ((comm, _), wanted)) in programs.iter().zip(wanted).enumerate() {
            let paused = (1.0 - share / wanted).max(0.0) * paused_for.max(0.0) * 1e9;
            let ticks = (paused / TICK).floor();
            if ticks > 0.0 {
                let (pid, longest) = (4300 + number, (ticks * TICK).min(LONGEST));
                let dirtied = wanted * (seconds - ticks * TICK / 1e9);
                let name = &disk.setup.name;
                let _ =
                    writeln!(out, "{name} {pid} {comm} {} {longest} {dirtied:.0}", ticks * TICK);
            }
        }
    }
    if out.is_empty() { out } else { format!("watched {}\n{out}", scenario.end()) }
}

/// Seconds until so much is dirty that programs are paused, if this many bytes more are dirtied
/// than written back each second.
fn filled_after(scenario: &Scenario, more: f64) -> f64 {
    let left = scenario.traces.iter().find_map(|trace| match trace {
        Trace::Freerun(bytes, share) => Some(bytes * (1.0 - share)),
        _ => None,
    });
    if more > 0.0 { left.unwrap_or(0.0) / more } else { f64::INFINITY }
}

/// The greatest rate of a program, where those that want less leave the rest to the others.
fn fair_share(wanted: &[f64], rate: f64) -> f64 {
    let mut sorted = wanted.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (mut left, mut share) = (rate, f64::INFINITY);
    for (place, wants) in sorted.iter().enumerate() {
        share = left / (sorted.len() - place) as f64;
        if *wants > share {
            return share;
        }
        left -= wants;
    }
    share.max(rate)
}

/// States such a report as the collector does.
pub(super) fn states(name: &str, text: &str, recording: &mut Recording) -> bool {
    if name != NAME {
        return false;
    }
    let mut source = Source::new("dirty-pauses", TRACE, Level::E);
    source.sampling = Sampling::Traced;
    let number = |word: &str| word.parse::<f64>().map_or(0, |value| value as i64);
    source.watched =
        text.lines().find_map(|line| line.strip_prefix("watched ")).map(|ns| Nanos(number(ns)));
    recording.begin(source);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [disk, pid, comm, paused, longest, dirtied] = words[..] else { continue };
        let (device, of) = (Some(recording.device(disk)), format!("{disk}.{pid}"));
        let from = "balance_dirty_pages";
        let paused = OfProcess { value: Nanos(number(paused)), who: format!("{comm} ({pid})") };
        recording.fact(Fact::of(device, typed::WRITEBACK_PAUSED.member(&of), paused, from));
        let longest = Nanos(number(longest));
        recording.fact(Fact::of(device, typed::WRITEBACK_LONGEST.member(&of), longest, from));
        let dirtied = Bytes(number(dirtied).max(0) as u64);
        recording.fact(Fact::of(device, typed::WRITEBACK_DIRTIED.member(&of), dirtied, from));
    }
    recording.end();
    true
}

#[cfg(test)]
mod tests {
    use super::fair_share;

    #[test]
    fn who_wants_less_than_a_share_gets_it_and_the_others_divide_the_rest() {
        assert_eq!(fair_share(&[300.0], 100.0), 100.0);
        assert_eq!(fair_share(&[300.0, 10.0, 60.0], 100.0), 45.0);
        assert_eq!(fair_share(&[20.0, 30.0], 100.0), 100.0);
        assert_eq!(fair_share(&[], 100.0), f64::INFINITY);
    }
}
