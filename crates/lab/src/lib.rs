//! The laboratory: simulated disks with a known fault, and the score of the verdicts on them. Pure
//! arithmetic, no device and no root. Never shipped; no shipped crate may depend on it.
//!
//! - [`attack`] gives hostile captures, folders and outputs to every command that reads.
//! - [`corpus`] judges a folder of foreign files.
//! - [`disk`] is arithmetic: disks, healthy and faulty, as functions of time.
//! - [`field`] compares confidences with first answers to captures that nobody had seen.
//! - [`growth`] times the program on inputs of several sizes.
//! - [`known`] tells captures that the project already has.
//! - [`large`] times the program on one large input of every kind.
//! - [`learn`] fits the weights of clauses to captures and worlds with known truth.
//! - [`render`] prints a simulated scenario as each tool would have.
//! - [`scenarios`] are simulated disks and loads with a known fault.
//! - [`score`] compares verdicts with the truth of simulated disks.
//! - [`judgement`] summarises the quality of the verdicts on one page.
//! - [`simulate`] sends a load to such a disk without waiting.
//! - [`weak`] varies captures that earlier versions judged wrongly.
//! - [`written`] are the scenarios that the tests, the score and the rig share, as data.

#![forbid(unsafe_code)]

pub mod attack;
pub mod corpus;
pub mod disk;
pub mod field;
pub mod growth;
pub mod judgement;
pub mod known;
pub mod large;
pub mod learn;
pub mod render;
pub mod scenarios;
pub mod score;
pub mod simulate;
pub mod weak;
pub mod written;
