//! The rig: simulated disks of known fault behind real block devices, and what is tried on them.
//! Most of it needs root. Never shipped; no crate that is may depend on it.
//!
//! - [`built`] finds the program under test.
//! - [`claims`] compares the tracer with a disk of known delay.
//! - [`day`] plays healthy and faulty disks to the flight recorder.
//! - [`demo`] shows a stranger what iowhy does: `./run demo`.
//! - [`gallery`] draws each fault.
//! - [`host`] shows whether this machine has CPUs to spare for any of it.
//! - [`kernels`] boots other kernels and tries tracer and diagnosis in them.
//! - [`pictures`] takes the README's pictures of `top` and the report.
//! - [`scenarios`] are live disks of known fault, each judged three ways.
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
