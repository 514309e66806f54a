//! A disk as a command line describes it: its model, its faults, its size and its seed.

use std::path::PathBuf;

use clap::Args;

use super::{Disk, Fault, Model, size};

/// What disk to make.
#[derive(Clone, PartialEq, Debug)]
pub struct Spec {
    /// The model as it is written on the command line.
    pub model: String,
    /// Its faults, likewise.
    pub faults: Vec<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// The seed of everything that is chance.
    pub seed: u64,
    /// Where the truth is written.
    pub truth: PathBuf,
}

impl Spec {
    /// The model.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn model(&self) -> Result<Model, String> {
        Model::parse(&self.model)
    }

    /// The disk, beginning to live at `start`.
    ///
    /// # Errors
    /// If model or faults are not known or do not go together.
    pub fn disk(&self, start: u64) -> Result<Disk, String> {
        let model = self.model()?;
        let faults = self.faults.iter().map(|text| Fault::parse(text));
        let faults = faults.collect::<Result<Vec<Fault>, String>>()?;
        if let Some(place) = faults.iter().position(|fault| !model.can_have(fault)) {
            return Err(format!("`{}` needs `--model rotational`", self.faults[place]));
        }
        Ok(Disk::new(model.mechanism(self.bytes), &faults, self.seed, start))
    }
}

/// The options that describe a disk.
#[derive(Args, Debug)]
pub struct DiskArgs {
    /// `rotational`, `ssd` or `network`, with parameters: `rotational:rpm=5400,cache=8M`
    #[arg(long, default_value = "rotational")]
    pub model: String,
    /// `retry=0.35`, `retry=0.9@1G+64M`, `slow=3`, `stall=2s/300ms`, `eio=4M+8K/7s`; repeatable
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<String>,
    /// Size of the disk; costs only the bytes that are written
    #[arg(long, default_value = "2G", value_parser = bytes)]
    pub size: u64,
    /// Seed of everything that is chance
    #[arg(long, default_value_t = 7)]
    pub seed: u64,
    /// Where the truth is kept as CSV, request by request
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
}

impl DiskArgs {
    /// The disk to make, and its log.
    pub fn spec(&self, truth: PathBuf) -> Spec {
        Spec {
            model: self.model.clone(),
            faults: self.faults.clone(),
            bytes: self.size,
            seed: self.seed,
            truth,
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let size = size(text).filter(|size| *size >= 1 << 20 && size % 4096 == 0);
    size.ok_or_else(|| "write `64M` or `2G`; 1M at least".to_string())
}
