//! The captures that are bundled with iowhy (`--example`).

use std::io::BufRead;

use iowhy_model::Recording;

use crate::messages::HintedError;

/// Captures bundled for trying iowhy out: name, what it is, text.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (
        "direct-mount",
        "Solaris iostat, vxtrace and mount options of a slow unzip",
        include_str!("../tests/cases/direct-mount/capture.txt"),
    ),
    (
        "dusty-disk",
        "biosnoop and iostat of a disk that read through dust",
        include_str!("../tests/cases/dusty-disk/capture.txt"),
    ),
    (
        "one-of-seventeen",
        "SystemTap latency tables of a shelf with one faulty disk",
        include_str!("../tests/cases/one-of-seventeen/capture.txt"),
    ),
];

/// Its name as an input, and its text; which there are, if there is none of that name.
///
/// # Errors
/// If there is none of that name.
pub(crate) fn open(name: &str) -> anyhow::Result<(String, Box<dyn BufRead>)> {
    let Some((name, _, text)) = EXAMPLES.iter().find(|(known, _, _)| *known == name) else {
        let lines: Vec<String> =
            EXAMPLES.iter().map(|(name, what, _)| format!("`{name}`: {what}")).collect();
        let text = match name {
            "" => "name one of the bundled captures".to_string(),
            name => format!("no bundled capture `{name}`"),
        };
        return Err(HintedError::error(text, lines.join("\n      ")));
    };
    Ok((format!("example {name}"), Box::new(text.as_bytes())))
}

/// The whole of it.
///
/// # Errors
/// If there is none of that name.
pub(crate) fn recording(name: &str) -> anyhow::Result<Recording> {
    let (input, mut text) = open(name)?;
    let mut recording = Recording::new();
    let scan = iowhy_read::scan(&input, &mut text, None, &mut recording)?;
    recording.prose.push((input, scan.prose));
    Ok(recording)
}
