//! Formats that are written while the input is read, in constant memory.

use std::io::BufWriter;

use iowhy_capture::Writer;
use iowhy_model::Filter;
use iowhy_show::ParquetSink;

use super::Convert;
use crate::arguments::Files;
use crate::command::Status;
use crate::messages::{self, HintedError};
use crate::outputs::Output;

/// The formats written here.
pub(super) const NAMES: [&str; 2] = ["iowhy-capture", "parquet"];

/// The number of a converted recording, which has no start time.
const CONVERTED: u64 = 0;

/// Converts the input into the format of that name.
pub(super) fn run(convert: &Convert, target: &str, output: Output) -> anyhow::Result<Status> {
    let files = Files {
        files: vec![convert.from.clone()],
        read_as: convert.read_as.clone(),
        ..Files::default()
    };
    let selection = convert.selection.settled();
    let out = BufWriter::new(output.handle().map_err(|cause| output.cannot(cause))?);
    if target == "parquet" {
        let mut sink = ParquetSink::new(out);
        let filter = selection.filter(&mut sink);
        let all = filter == Filter::default();
        sink.only(filter);
        let (failed, _) = files.emit(&mut sink)?;
        let done = sink.finish().map_err(|cause| output.cannot(cause))?;
        if done.rows == 0 {
            return nothing(failed, target, done.left_out.first(), all);
        }
        output.keep()?;
        for reason in &done.left_out {
            messages::warn(&format!("left out: {reason}"), None);
        }
        let incomplete = failed > 0 || done.incomplete || !done.left_out.is_empty();
        return Ok(Status::incomplete(incomplete));
    }
    let mut writer = Writer::new(out, CONVERTED);
    let filter = selection.filter(&mut writer);
    let all = filter == Filter::default();
    writer.only(filter);
    let (failed, _) = files.emit(&mut writer)?;
    if writer.sources().all(|source| source.records == 0) {
        return nothing(failed, target, None, all);
    }
    writer.finish().map_err(|cause| output.cannot(cause))?;
    output.keep()?;
    let lost = writer.sources().any(|source| source.skipped > 0 || source.lost() > 0);
    Ok(Status::incomplete(failed > 0 || lost))
}

/// Nothing was written; a read error was reported already.
fn nothing(
    failed: usize,
    target: &str,
    reason: Option<&String>,
    all: bool,
) -> anyhow::Result<Status> {
    if failed > 0 {
        return Ok(Status::Failed);
    }
    let filtered =
        if all { "it contains no latencies" } else { "nothing in it matches the filters" };
    let reason = reason.map_or(filtered, String::as_str);
    let text = format!("cannot convert to {target}: {reason}");
    Err(HintedError::error(text, "`iowhy explain convert` lists what each format can contain"))
}
