//! A rich input is never judged worse than a poor one that follows from it; and a load that
//! saturates a healthy device is named from single I/Os.

use iowhy_diagnose::{Options, judge};
use iowhy_lab::weak::print::iostat;
use iowhy_lab::weak::queue::Io;
use iowhy_lab::written::{WrittenScenario, parse, written};
use iowhy_model::{Event, Finding, Op, Recording};

/// Seeds of each scenario.
const SEEDS: std::ops::Range<u64> = 1..2;

fn read(name: &str, text: &str) -> Recording {
    let mut recording = Recording::new();
    iowhy_read::scan(name, &mut text.as_bytes(), None, &mut recording).expect("it is read");
    recording
}

fn judged(recording: &Recording) -> Vec<Finding> {
    judge(recording, &Options::default())
}

/// What `iostat` prints of the reads and writes of a trace of one disk; nothing of several, or
/// beside flushes.
fn averages(recording: &Recording) -> Option<String> {
    let [device] = recording.devices() else { return None };
    let events = recording.listings.iter().flat_map(|listing| &listing.events);
    let ms = |at: iowhy_model::Time| at.ns() as f64 / 1e6;
    let io = |event: &Event| -> Option<Io> {
        let writes = matches!(event.op, Op::Write);
        let known = writes || event.op == Op::Read;
        Some(Io {
            comm: "load",
            pid: 1,
            writes,
            bytes: event.bytes.filter(|_| known)?,
            sector: event.sector?,
            issued: ms(event.queued.or(event.issued)?),
            completed: ms(event.completed?),
        })
    };
    let mut ios: Vec<Io> = events.map(io).collect::<Option<_>>()?;
    let first = ios.iter().map(|io| io.issued).fold(f64::INFINITY, f64::min);
    for io in &mut ios {
        (io.issued, io.completed) = (io.issued - first, io.completed - first);
    }
    (!ios.is_empty()).then(|| iostat(&ios, &device.name))
}

/// Whether what leads is one of the verdicts expected, firmly said.
fn is_right(scenario: &WrittenScenario, findings: &[Finding]) -> bool {
    findings.first().is_some_and(|first| first.stands() && scenario.accepts(first.verdict.name()))
}

fn brief(findings: &[Finding]) -> String {
    let line = |known: &Finding| {
        let (verdict, sentence) = (known.verdict.name(), &known.sentence);
        format!("{verdict} {:.2} {:.2}: {sentence}", known.confidence(), known.explained_share)
    };
    findings.iter().take(4).map(line).collect::<Vec<String>>().join("\n    ")
}

#[test]
fn a_trace_is_judged_no_worse_than_its_averages() {
    let (mut compared, mut worse) = (0, Vec::new());
    for scenario in written().expect("the scenarios are read") {
        for seed in SEEDS {
            let trace = read("trace", &scenario.capture(seed).expect("it is printed"));
            let Some(averages) = averages(&trace) else { continue };
            let averages = judged(&read("iostat", &averages));
            if !is_right(scenario, &averages) {
                continue;
            }
            compared += 1;
            let trace = judged(&trace);
            if !is_right(scenario, &trace) {
                let (poor, rich) = (brief(&averages), brief(&trace));
                worse.push(format!(
                    "{} {seed}\n  iostat\n    {poor}\n  trace\n    {rich}",
                    scenario.name
                ));
            }
        }
    }
    assert!(compared >= 20, "only {compared} have an answer from averages");
    assert!(worse.is_empty(), "{} worse:\n{}", worse.len(), worse.join("\n"));
}

/// Mean latency of a trace, ms.
fn mean_ms(recording: &Recording) -> f64 {
    let waits = recording.listings.iter().flat_map(|listing| &listing.events);
    let waits: Vec<f64> = waits.filter_map(|event| Some(event.longest()?.1.ms())).collect();
    waits.iter().sum::<f64>() / waits.len().max(1) as f64
}

#[test]
fn a_load_that_saturates_a_healthy_device_is_named_with_its_program() {
    let scenario = |load: &str, depth: usize| {
        let text = format!(
            "sweep/{load}/{depth}\n    disk ssd\n    load {load},random,depth={depth},think=0us\n    \
                            seconds 1\n    expected load.saturated load.large-io\n"
        );
        parse(&text).expect("a scenario").remove(0)
    };
    let (mut saturated, mut wrong) = (0, Vec::new());
    for load in ["read:4K", "write:4K", "read:64K", "write:64K", "read:1M", "write:1M"] {
        let alone = mean_ms(&read("trace", &scenario(load, 1).capture(1).expect("it happens")));
        for depth in [8, 64, 256] {
            let scenario = scenario(load, depth);
            let trace = read("trace", &scenario.capture(1).expect("it happens"));
            let (findings, mean) = (judged(&trace), mean_ms(&trace));
            let accused = findings.iter().any(|known| known.blames_a_disk() && known.stands());
            // A mean below a millisecond is what some healthy class needs for one request alone.
            // The writes of a drive that programs pages at its own rate do not show that it is
            // full: it is not accused.
            let is_saturated = mean >= 4.0 * alone && mean >= 1.0 && load.starts_with("read");
            saturated += usize::from(is_saturated);
            let named = findings.first().is_some_and(|first| {
                scenario.accepts(first.verdict.name())
                    && first.stands()
                    && first.requesters.iter().any(|of| of.program.as_deref() == Some("load"))
            });
            if accused || is_saturated && !named {
                wrong.push(format!(
                    "{load} {depth}: {alone:.3} {mean:.3}\n    {}",
                    brief(&findings)
                ));
            }
        }
    }
    assert!(saturated >= 3, "only {saturated} saturated");
    assert!(wrong.is_empty(), "{} of {saturated}:\n{}", wrong.len(), wrong.join("\n"));
}
