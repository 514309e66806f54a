//! Targets that are written while the input is read, in flat memory whatever its length.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use iowhy_capture::Writer;
use iowhy_model::Filter;
use iowhy_show::ParquetSink;

use super::Convert;
use crate::arguments::Files;
use crate::command::Status;
use crate::messages::{self, Hinted};

/// The targets written here.
pub const NAMES: [&str; 2] = ["native-capture", "parquet"];

/// The number of a converted recording: it did not begin at any moment.
const CONVERTED: u64 = 0;

/// Reads the input into the target of that name.
pub fn run(convert: &Convert, target: &str) -> anyhow::Result<Status> {
    let files = Files { files: vec![convert.from.clone()], format: convert.format.clone() };
    let selection = convert.selection.settled();
    let out = BufWriter::new(Late::new(&convert.to_file));
    let name = convert.to_file.display();
    let cannot = |cause: io::Error| {
        let hint = "name a file in a folder that you may write to";
        Hinted::error(format!("cannot write `{name}`: {cause}"), hint)
    };
    if target == "parquet" {
        let mut sink = ParquetSink::new(out);
        let filter = selection.filter(&mut sink);
        let all = filter == Filter::default();
        sink.only(filter);
        let (failed, _) = files.pour(&mut sink)?;
        let done = sink.finish().map_err(cannot)?;
        if done.rows == 0 {
            return nothing(failed, target, done.left_out.first(), all);
        }
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
    let (failed, _) = files.pour(&mut writer)?;
    if writer.sources().all(|source| source.records == 0) {
        return nothing(failed, target, None, all);
    }
    writer.finish().map_err(cannot)?;
    let lost = writer.sources().any(|source| source.skipped > 0 || source.lost() > 0);
    Ok(Status::incomplete(failed > 0 || lost))
}

/// Nothing was written; why was said already if the input could not be read.
fn nothing(
    failed: usize,
    target: &str,
    reason: Option<&String>,
    all: bool,
) -> anyhow::Result<Status> {
    if failed > 0 {
        return Ok(Status::Failed);
    }
    let filtered = if all { "it holds no latencies" } else { "nothing in it passes the filters" };
    let reason = reason.map_or(filtered, String::as_str);
    let text = format!("cannot convert to {target}: {reason}");
    Err(Hinted::error(text, "`iowhy explain convert` says what each format carries"))
}

/// A file that is made once there is something to write: a refusal leaves none behind.
struct Late {
    path: PathBuf,
    file: Option<Box<dyn Write>>,
}

impl Late {
    fn new(path: &Path) -> Late {
        Late { path: path.to_path_buf(), file: None }
    }
}

impl Write for Late {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None if self.path == Path::new("-") => self.file.insert(Box::new(io::stdout())),
            None => self.file.insert(Box::new(File::create(&self.path)?)),
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}
