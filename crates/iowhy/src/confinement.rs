//! Restricts a command once it has opened what it needs: see `iowhy_live::Needs`.
//!
//! A command that reads captures is confined before their first byte is parsed, one that watches as
//! soon as its collectors are attached. After that it can read only what the command line names,
//! and write only to the folders of its output files.

use std::path::{Path, PathBuf};

use iowhy_live::{
    LOGS_OF_PODS, Needs, confine_asking, confine_looking, confine_reading, confine_recording,
    confine_watching,
};

/// What a watching command will do later.
#[derive(Clone, Debug)]
pub(crate) enum Later {
    /// Write files in these folders, or nothing.
    Write(Vec<PathBuf>),
    /// Read other processes: files are not restricted.
    Look,
    /// Probe a device that is not named yet: files are not restricted, and io_uring is allowed.
    Probe,
}

impl Default for Later {
    fn default() -> Later {
        Later::Write(Vec::new())
    }
}

/// Confines a command that reads these captures and writes these files.
///
/// # Errors
/// If the kernel can and refuses.
pub(crate) fn reading<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: &[&Path],
) -> anyhow::Result<()> {
    let named = inputs.into_iter().filter(|input| *input != Path::new("-"));
    let read = named.map(Path::to_path_buf).collect();
    confine_reading(&Needs { read, write: folders(outputs), ..Needs::default() })?;
    Ok(())
}

/// Confines a command that reads these captures and shows them on a screen with keys.
///
/// # Errors
/// If the kernel can and refuses.
pub(crate) fn on_screen<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
    let read = inputs.into_iter().map(Path::to_path_buf).collect();
    confine_reading(&Needs { read, terminal: true, ..Needs::default() })?;
    Ok(())
}

/// Confines a command that reads these captures and fills this folder.
///
/// # Errors
/// If the kernel can and refuses.
pub(crate) fn filling<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    folder: &Path,
) -> anyhow::Result<()> {
    let named = inputs.into_iter().filter(|input| *input != Path::new("-"));
    let read = named.map(Path::to_path_buf).collect();
    confine_reading(&Needs { read, fill: vec![folder.to_path_buf()], ..Needs::default() })?;
    Ok(())
}

/// Confines a command that judges captures and may probe a device that they name.
///
/// # Errors
/// If the kernel can and refuses.
pub(crate) fn asking() -> anyhow::Result<()> {
    confine_asking()?;
    Ok(())
}

/// Confines a command that watches; its collectors keep access to kernel files, optionally to
/// tracefs.
///
/// # Errors
/// If the kernel can and refuses.
pub(crate) fn watching(later: &Later, root: Option<&Path>, tracefs: bool) -> anyhow::Result<()> {
    match later {
        Later::Look => confine_looking()?,
        Later::Probe => confine_asking()?,
        Later::Write(folders) => {
            let read = root.map(Path::to_path_buf).into_iter().collect();
            let write = folders.clone();
            confine_watching(&Needs { read, write, tracefs, ..Needs::default() })?
        }
    };
    Ok(())
}

/// Confines the recorder, which fills this folder.
///
/// # Errors
/// If the kernel can and refuses.
pub(crate) fn recording(store: &Path) -> anyhow::Result<()> {
    let write = vec![store.to_path_buf()];
    // Pods change while it records.
    let list = LOGS_OF_PODS.map(PathBuf::from).into();
    confine_recording(&Needs { write, list, ..Needs::default() })?;
    Ok(())
}

/// The folders in which files are written.
pub(crate) fn folders(files: &[&Path]) -> Vec<PathBuf> {
    let files = files.iter().filter(|file| **file != Path::new("-"));
    let parent = |file: &&Path| match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    files.map(parent).collect()
}
