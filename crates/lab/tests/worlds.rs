//! What holds for every simulated world, and for what is read back of it.
#![expect(clippy::expect_used, reason = "a test may")]

use std::sync::LazyLock;

use iowhy_lab::render::{LEVELS, inputs, recording};
use iowhy_lab::worlds::{Quirk, World, recipes};
use iowhy_model::{Level, Stage};

/// Requests of a world above which an unoptimised build would take too long over it.
const LONGEST: usize = 1500;

/// A world of each recipe, the long ones left out.
static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| {
    let recipes = recipes();
    let told = recipes.iter().filter(|recipe| recipe.levels != [Level::A]);
    let worlds = told.map(|recipe| World::of(recipe, 1).expect("a good recipe"));
    let requests = |world: &World| world.disks.iter().map(|disk| disk.done.len()).sum::<usize>();
    let worlds: Vec<World> = worlds.filter(|world| requests(world) <= LONGEST).collect();
    assert!(worlds.len() > 15, "only {} worlds are short", worlds.len());
    worlds
});

#[test]
fn requests_are_queued_then_issued_then_completed() {
    for world in WORLDS.iter() {
        for disk in &world.disks {
            assert!(disk.done.is_sorted_by_key(|done| done.issued), "{}", world.recipe);
            for done in &disk.done {
                assert!(done.queued < done.issued && done.issued < done.completed, "{done:?}");
            }
        }
        let sick = world.disks.iter().any(|disk| disk.done.iter().any(|done| done.ill > 0));
        assert!(sick || !world.truth.sick, "{} is not sick after all", world.recipe);
    }
}

#[test]
fn a_world_is_the_same_each_time() {
    for recipe in recipes().iter().take(5) {
        let twice = [0, 1].map(|_| World::of(recipe, 7).expect("a good recipe"));
        assert_eq!(twice[0].disks[0].done, twice[1].disks[0].done);
    }
}

#[test]
fn every_request_is_read_back_as_it_was() {
    for world in WORLDS.iter().filter(|world| world.quirk == Quirk::None) {
        for level in [Level::C, Level::D] {
            let inputs = inputs(world, level).expect("it is written");
            let read = recording(world, level, &inputs).expect("it is read");
            let listing = &read.listings[0];
            let listed: usize =
                world.disks.iter().map(|disk| disk.done.len().min(world.listed)).sum();
            let there = listing.events.len() as u64 + listing.source.lost();
            assert_eq!(there, listed as u64, "{} at {level:?}", world.recipe);
            assert_eq!(listing.source.skipped, 0, "{} at {level:?}", world.recipe);
            // As biosnoop rounds: two decimals of a millisecond at worst.
            let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len().max(1) as f64;
            let events = listing.events.iter().filter_map(|event| event.latency(Stage::Device));
            let seen = mean(events.map(|latency| latency.ms()).collect());
            let done = world.disks.iter().flat_map(|disk| disk.done.iter().take(world.listed));
            let truth =
                mean(done.map(|done| (done.completed - done.issued) as f64 / 1e6).collect());
            let lost = if listing.source.lost() > 0 { 0.15 * truth } else { 0.0 };
            assert!((seen - truth).abs() < 0.006 + lost, "{}: {seen} {truth}", world.recipe);
        }
    }
}

#[test]
fn averages_count_every_completion_within_their_rows() {
    for world in WORLDS.iter().filter(|world| world.quirk == Quirk::None) {
        let inputs = inputs(world, Level::A).expect("it is written");
        let read = recording(world, Level::A, &inputs).expect("it is read");
        let listing = &read.listings[0];
        assert!(listing.intervals.iter().all(|row| !row.since_boot), "{}", world.recipe);
        let count = |row: &iowhy_model::Interval| {
            row.ios_per_s() * row.length.map_or(0.0, |length| length.ns() as f64 / 1e9)
        };
        let told: f64 = listing.intervals.iter().map(count).sum();
        let rows = listing.intervals.len() / world.disks.len();
        let length = listing.intervals.first().and_then(|row| row.length).map_or(0, |l| l.ns());
        let until = rows as u64 * length as u64;
        let done = world.disks.iter().flat_map(|disk| &disk.done);
        let truth = done.filter(|done| done.completed < until).count() as f64;
        assert!((told - truth).abs() < 0.01 * truth + 1.0, "{}: {told} {truth}", world.recipe);
    }
}

#[test]
fn every_level_is_read_by_a_format_of_ours() {
    for world in WORLDS.iter() {
        for level in LEVELS {
            let inputs = inputs(world, level).expect("it is written");
            let read = recording(world, level, &inputs).expect("it is read");
            let named = read.devices().len();
            // At E the log names ports and the mounts name partitions too.
            let known = level == Level::E || named <= world.disks.len();
            assert!(named > 0 && known, "{} at {level:?}", world.recipe);
        }
    }
}
