//! The rig: simulated disks with a known fault behind real block devices, and the tests on them.
//! Most of it needs root. Never shipped; no shipped crate may depend on it.
//!
//! - [`built`] finds the program under test.
//! - [`claims`] compares the tracer with a disk with a known delay.
//! - [`day`] runs the flight recorder on healthy and faulty disks in turn.
//! - [`demo`] shows a newcomer what iowhy does: `./run demo`.
//! - [`gallery`] draws each fault.
//! - [`host`] checks whether this machine has idle CPUs for it.
//! - [`kernels`] boots other kernels and tests tracer and diagnosis in them.
//! - [`pictures`] takes the README's pictures of `top` and the report.
//! - [`scenarios`] are live disks with a known fault, each judged three ways.
//! - [`week`] compares the recorder's alerts with those of monitoring rules.
//! - [`faulty_disk`] puts a simulated disk behind a real block device.

pub mod claims;
pub mod day;
pub mod demo;
pub mod faulty_disk;
pub mod gallery;
pub mod host;
pub mod kernels;
pub mod pictures;
pub mod programs;
pub mod scenarios;
pub mod week;
