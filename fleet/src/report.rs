//! `iowhy-fleet report`: what `why` finds, as one HTML file that can be mailed.
//!
//! Head, style, policy and the care for names are those of `iowhy report` (`crates/show`). The page
//! has no script and loads nothing.

mod page;

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::command::Status;
use crate::place::Place;
use crate::why::{accusations, hours};

/// Which fleet, and where the page goes.
#[derive(Args, Clone, Debug)]
pub struct Report {
    /// Folders that `iowhy export --parquet` or `iowhy-fleet make` wrote, or `s3://bucket/prefix`
    /// of such
    #[arg(required = true)]
    pub folders: Vec<Place>,
    /// The page; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Overwrite the page if it exists
    #[arg(long)]
    pub force: bool,
}

impl Report {
    /// Writes the page.
    ///
    /// # Errors
    /// If the files cannot be read, or the page cannot be written.
    pub fn run(&self) -> anyhow::Result<Status> {
        let to_stdout = self.output == Path::new("-");
        let taken =
            || format!("`{}` already exists\nhint: `--force` replaces it", self.output.display());
        // What takes minutes does not end in a refusal.
        let is_free = to_stdout || self.force || std::fs::symlink_metadata(&self.output).is_err();
        anyhow::ensure!(is_free, taken());
        let disks = hours::read(&self.folders)?;
        let verdicts = accusations::judge(&disks);
        let mut text = Vec::new();
        page::write(&disks, &verdicts, &self.folders, &mut text)?;
        if to_stdout {
            let out = &mut std::io::stdout().lock();
            out.write_all(&text)?;
            out.flush()?;
            return Ok(Status::Done);
        }
        let failed = || format!("cannot write `{}`", self.output.display());
        let folder = self.output.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        // As the process creates files, not as secret ones.
        let mode = std::fs::Permissions::from_mode(0o666);
        let mut made = tempfile::Builder::new();
        let mut file = made.permissions(mode).tempfile_in(folder).with_context(failed)?;
        file.write_all(&text).with_context(failed)?;
        match self.force {
            true => drop(file.persist(&self.output).with_context(failed)?),
            false => drop(file.persist_noclobber(&self.output).with_context(taken)?),
        }
        Ok(Status::Done)
    }
}
