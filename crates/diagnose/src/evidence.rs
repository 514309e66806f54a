//! What findings are built from: candidates of a fault, groups of peers, runs of load generators,
//! freezes, forecasts. Detectors share these; none of them reports a verdict by itself.

pub mod adapters;
pub mod arrays;
pub mod builder;
pub mod busy_runs;
pub mod busy_threads;
pub mod candidates;
pub mod ceilings;
pub mod clean_bills;
pub mod committers;
pub mod confidence;
pub mod controllers;
pub mod counted;
pub mod drive_counters;
pub mod forecast;
pub mod freezes;
pub mod fullness;
pub mod medium_readings;
pub mod mounts;
pub mod observations;
pub mod peer_families;
pub mod programs;
pub mod quick_programs;
pub mod recorded;
pub mod reported_problem;
pub mod requesters;
pub mod round_trips;
pub mod runs;
pub mod shares;
pub mod shortage;
pub mod stages;
pub mod throughput;
pub mod transport;
pub mod unaccused;
pub mod unseen_wait;
pub mod volumes;
