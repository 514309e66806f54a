//! diskspd's XML result (`diskspd -Rxml`): rates and latency percentiles per file and operation.
//!
//! ## Reads
//! The XML of `diskspd -Rxml -L`, element by element as it is printed: per time span the reads
//! and writes of each target over all threads become an interval, and the percentiles of all
//! targets together become one histogram per operation.
//!
//! ## How to capture
//! `diskspd -b8K -d60 -o4 -r -w25 -L -Rxml FILE`, and the tools that call it.
//!
//! ## Versions
//! 2.0.17 to 2.2. One element per line, as printed by diskspd; a document reformatted without line
//! breaks is not read.
//!
//! ## Caveats
//! A result may contain several time spans: each is a separate interval. Warm-up and cool-down are
//! outside `TestTimeSeconds` and not counted. The counts of the histograms are not printed: they
//! are computed from percentiles and counts, with a note. Percentiles 0 and 100 are minimum and
//! maximum. Latencies are milliseconds with three decimals, sizes bytes. Without `-L` there are no
//! latencies. The `-D` series over time is ignored.
//!
//! ## Not in this output
//! The disk of the file and its own latency: times are measured in the program.

use crate::counters::work::{TimeSpans, Work};
use crate::histogram::buckets::COUNT_LIMIT;
use crate::program::*;

pub(super) const FORMAT: Format = Format::program::<Diskspd>(
    "diskspd -Rxml, rates and latency percentiles",
    Level::B,
    &["<Results>", "<?xml"],
    sniff,
);

/// Latencies have three decimals of a millisecond.
const STEP_NS: u64 = 1_000;

fn sniff(lines: &[&str]) -> Detect {
    let mut lines = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    match (lines.next(), lines.next(), lines.next()) {
        (Some("<Results>"), second, _) => known(second, &["<System>", "<Profile>", "<TimeSpan>"]),
        (Some(first), second, _) if first.starts_with("<?xml") => known(second, &["<Results>"]),
        _ => Detect::No,
    }
}

fn known(line: Option<&str>, names: &[&str]) -> Detect {
    line.map_or(Detect::NeedLine, |line| Detect::from(names.contains(&line)))
}

/// One element of a line.
enum Element<'a> {
    Open(&'a str),
    Close(&'a str),
    Value(&'a str, &'a str),
    Other,
}

impl<'a> Element<'a> {
    /// `None` if the line is not an element.
    fn of(line: &'a str) -> Option<Element<'a>> {
        let (name, rest) = line.trim().strip_prefix('<')?.split_once('>')?;
        if let Some(name) = name.strip_prefix('/') {
            return Some(Element::Close(name));
        }
        if name.ends_with('/') || name.starts_with(['?', '!']) || name.contains(' ') {
            return Some(Element::Other);
        }
        if rest.is_empty() {
            return Some(Element::Open(name));
        }
        let value = rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
        Some(Element::Value(name, value))
    }
}

#[derive(Default)]
struct Diskspd {
    open: Vec<String>,
    seconds: Option<f64>,
    path: String,
    target: [Work; 2],
    percentile: Option<f64>,
    spans: TimeSpans,
    over: bool,
}

impl Reader for Diskspd {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if self.over {
            return if line.trim().is_empty() { Step::Consumed } else { Step::End };
        }
        let Some(element) = Element::of(line) else {
            return Step::skipped_if(
                line.trim_start().starts_with('<'),
                "a truncated or damaged element",
            );
        };
        match element {
            Element::Open(name) => {
                self.open.push(name.to_string());
                Step::Consumed
            }
            Element::Close(name) => self.close(name, sink),
            Element::Value(name, text) => self.value(name, text, sink),
            Element::Other => Step::Consumed,
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        if self.over {
            return;
        }
        self.end_target();
        self.emit(sink);
        sink.skip(note("the document ends before it is complete"));
    }
}

impl Diskspd {
    /// Whether the innermost open elements are these; the last one is the innermost.
    fn within(&self, names: &[&str]) -> bool {
        let rest = self.open.len().saturating_sub(names.len());
        self.open.get(rest..).is_some_and(|open| open == names)
    }

    fn close(&mut self, name: &str, sink: &mut dyn Sink) -> Step {
        let Some(place) = self.open.iter().rposition(|open| open == name) else {
            return Step::Malformed(format!("`{name}` is closed but was not open"));
        };
        let step = match place + 1 == self.open.len() {
            true => Step::Consumed,
            false => Step::Malformed(format!("`{name}` ends while an element in it is still open")),
        };
        match name {
            "Target" if self.within(&["Thread", "Target"]) => self.end_target(),
            "TimeSpan" if self.within(&["Results", "TimeSpan"]) => self.emit(sink),
            "Results" => self.over = true,
            _ => {}
        }
        self.open.truncate(place);
        step
    }

    fn value(&mut self, name: &str, text: &str, sink: &mut dyn Sink) -> Step {
        let read = match name {
            "TestTimeSeconds" if self.within(&["TimeSpan"]) => {
                self.seconds = decimal(text).filter(|seconds| *seconds > 0.0);
                self.seconds.is_some()
            }
            "ComputerName" if self.within(&["System"]) => {
                sink.source().is_of_host(text);
                true
            }
            "Path" if self.within(&["Thread", "Target"]) => {
                self.path = text.to_string();
                true
            }
            _ if self.within(&["Thread", "Target"]) => self.target_value(name, text),
            _ if self.within(&["TimeSpan", "Latency"]) => match name {
                "AverageReadMilliseconds" => set(&mut self.spans.latencies[0].mean_ns, text),
                "AverageWriteMilliseconds" => set(&mut self.spans.latencies[1].mean_ns, text),
                _ => true,
            },
            _ if self.within(&["TimeSpan", "Latency", "Bucket"]) => self.bucket_value(name, text),
            _ => true,
        };
        match read {
            true => Step::Consumed,
            false => Step::Malformed(format!("the value of `{name}` is unreadable")),
        }
    }

    fn target_value(&mut self, name: &str, text: &str) -> bool {
        let [reads, writes] = &mut self.target;
        let place = match name {
            "ReadBytes" => &mut reads.bytes,
            "ReadCount" => &mut reads.ios,
            "WriteBytes" => &mut writes.bytes,
            "WriteCount" => &mut writes.ios,
            "AverageReadLatencyMilliseconds" => return set(&mut reads.waited_ns, text),
            "AverageWriteLatencyMilliseconds" => return set(&mut writes.waited_ns, text),
            _ => return true,
        };
        let count = integer(text).filter(|count| *count <= COUNT_LIMIT);
        *place = count.unwrap_or(0);
        count.is_some()
    }

    fn bucket_value(&mut self, name: &str, text: &str) -> bool {
        let place = match name {
            "Percentile" => {
                self.percentile = decimal(text).filter(|percent| (0.0..=100.0).contains(percent));
                return self.percentile.is_some();
            }
            "ReadMilliseconds" => 0,
            "WriteMilliseconds" => 1,
            _ => return true,
        };
        let ns = fixed(text, 6).and_then(|ns| u64::try_from(ns).ok());
        let Some((percent, ns)) = self.percentile.zip(ns) else { return false };
        let known = &mut self.spans.latencies[place];
        match percent {
            0.0 => known.min_ns = known.min_ns.or(Some(ns)),
            100.0 => known.max_ns = known.max_ns.or(Some(ns)),
            _ => known.percentiles.push((percent, ns)),
        }
        true
    }

    /// Adds the target of one thread to that of the others.
    fn end_target(&mut self) {
        let done = std::mem::take(&mut self.target);
        if done.iter().all(|work| work.ios == 0) {
            return;
        }
        let known = self.spans.targets.entry(std::mem::take(&mut self.path)).or_default();
        for (known, work) in known.iter_mut().zip(done) {
            let waited_ns = work.waited_ns.map(|mean| mean * work.ios as f64);
            known.add(Work { waited_ns, ..work });
        }
    }

    fn emit(&mut self, sink: &mut dyn Sink) {
        match self.seconds.take() {
            Some(seconds) => self.spans.emit(seconds, None, STEP_NS, sink),
            None => self.spans.forget(),
        }
    }
}

/// Milliseconds as printed, in ns; false if they are no number.
fn set(place: &mut Option<f64>, text: &str) -> bool {
    *place = decimal(text).map(|ms| ms * 1e6);
    place.is_some()
}
