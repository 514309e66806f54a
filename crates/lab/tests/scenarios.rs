//! What holds for every simulated scenario, and for what is read back of it.

use std::sync::LazyLock;

use iowhy_lab::render::{LEVELS, inputs, recording};
use iowhy_lab::scenarios::{Quirk, Scenario, recipes};
use iowhy_model::{Level, Stage};

/// Requests of a scenario above which an unoptimised build would take too long over it.
const LONGEST: usize = 1500;

/// A scenario of each recipe, the long ones left out.
static SCENARIOS: LazyLock<Vec<Scenario>> = LazyLock::new(|| {
    let recipes = recipes();
    let reported = recipes.iter().filter(|recipe| recipe.levels != [Level::A]);
    let scenarios = reported.map(|recipe| Scenario::of(recipe, 1).expect("a good recipe"));
    let requests =
        |scenario: &Scenario| scenario.disks.iter().map(|disk| disk.done.len()).sum::<usize>();
    let scenarios: Vec<Scenario> =
        scenarios.filter(|scenario| requests(scenario) <= LONGEST).collect();
    assert!(scenarios.len() > 15, "only {} scenarios are short", scenarios.len());
    scenarios
});

#[test]
fn requests_are_queued_then_issued_then_completed() {
    for scenario in SCENARIOS.iter() {
        for disk in &scenario.disks {
            assert!(disk.done.is_sorted_by_key(|done| done.issued), "{}", scenario.recipe);
            for done in &disk.done {
                assert!(done.queued < done.issued && done.issued < done.completed, "{done:?}");
            }
        }
        let faulty =
            scenario.disks.iter().any(|disk| disk.done.iter().any(|done| done.delayed > 0));
        assert!(faulty || !scenario.truth.faulty, "{} is not faulty after all", scenario.recipe);
    }
}

#[test]
fn a_scenario_is_the_same_each_time() {
    for recipe in recipes().iter().take(5) {
        let twice = [0, 1].map(|_| Scenario::of(recipe, 7).expect("a good recipe"));
        assert_eq!(twice[0].disks[0].done, twice[1].disks[0].done);
    }
}

#[test]
fn every_request_is_read_back_as_it_was() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.quirk == Quirk::None) {
        for level in [Level::C, Level::D] {
            let inputs = inputs(scenario, level).expect("it is written");
            let read = recording(scenario, level, &inputs).expect("it is read");
            let listing = &read.listings[0];
            let listed: usize =
                scenario.disks.iter().map(|disk| disk.done.len().min(scenario.listed)).sum();
            let there = listing.events.len() as u64 + listing.source.lost();
            assert_eq!(there, listed as u64, "{} at {level:?}", scenario.recipe);
            assert_eq!(listing.source.skipped, 0, "{} at {level:?}", scenario.recipe);
            // As biosnoop rounds: two decimals of a millisecond at worst.
            let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len().max(1) as f64;
            let events = listing.events.iter().filter_map(|event| event.latency(Stage::Device));
            let seen = mean(events.map(|latency| latency.ms()).collect());
            let done =
                scenario.disks.iter().flat_map(|disk| disk.done.iter().take(scenario.listed));
            let truth =
                mean(done.map(|done| (done.completed - done.issued) as f64 / 1e6).collect());
            let lost = if listing.source.lost() > 0 { 0.15 * truth } else { 0.0 };
            assert!((seen - truth).abs() < 0.006 + lost, "{}: {seen} {truth}", scenario.recipe);
        }
    }
}

#[test]
fn averages_count_every_completion_within_their_rows() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.quirk == Quirk::None) {
        let inputs = inputs(scenario, Level::A).expect("it is written");
        let read = recording(scenario, Level::A, &inputs).expect("it is read");
        let listing = &read.listings[0];
        assert!(listing.intervals.iter().all(|row| !row.since_boot), "{}", scenario.recipe);
        let count = |row: &iowhy_model::Interval| {
            row.ios_per_s() * row.length.map_or(0.0, |length| length.ns() as f64 / 1e9)
        };
        let reported: f64 = listing.intervals.iter().map(count).sum();
        let rows = listing.intervals.len() / scenario.disks.len();
        let length = listing.intervals.first().and_then(|row| row.length).map_or(0, |l| l.ns());
        let until = rows as u64 * length as u64;
        let done = scenario.disks.iter().flat_map(|disk| &disk.done);
        let truth = done.filter(|done| done.completed < until).count() as f64;
        assert!(
            (reported - truth).abs() < 0.01 * truth + 1.0,
            "{}: {reported} {truth}",
            scenario.recipe
        );
    }
}

#[test]
fn every_level_is_read_by_a_format_of_ours() {
    for scenario in SCENARIOS.iter() {
        for level in LEVELS {
            let inputs = inputs(scenario, level).expect("it is written");
            let read = recording(scenario, level, &inputs).expect("it is read");
            let named = read.devices().len();
            // At E the log names ports and the mounts name partitions too.
            let known = level == Level::E || named <= scenario.disks.len();
            assert!(named > 0 && known, "{} at {level:?}", scenario.recipe);
        }
    }
}
