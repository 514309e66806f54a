//! The laboratory: disks with a known disease, and the tests that keep the tree tidy. Never
//! shipped; no crate that is may depend on it.
//!
//! - [`built`] finds the program under test.
//! - [`claims`] holds the tracer against a disk of known delay.
//! - [`corpus`] judges a folder of foreign files.
//! - [`demo`] shows a stranger what iowhy does.
//! - [`disk`] is arithmetic: disks, healthy and sick, as functions of time.
//! - [`gallery`] draws each disease.
//! - [`kernels`] boots other kernels and tries tracer and judge in them.
//! - [`render`] shows such a world as each tool would have.
//! - [`score`] holds verdicts against the truth of simulated disks.
//! - [`sickdisk`] puts such a disk behind a real block device.
//! - [`simulate`] sends a load to such a disk without waiting.
//! - [`wards`] are live disks of known illness, each judged three ways.
//! - [`weak`] varies captures that earlier versions judged wrongly.
//! - [`worlds`] are disks and loads of known illness.
//! - [`tidy`] holds the laws of docs/ARCHITECTURE.md as tests over the source text.

pub mod built;
pub mod claims;
pub mod corpus;
pub mod demo;
pub mod disk;
pub mod gallery;
pub mod kernels;
pub mod render;
pub mod score;
pub mod sickdisk;
pub mod simulate;
pub mod tidy;
pub mod wards;
pub mod weak;
pub mod worlds;
