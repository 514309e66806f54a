//! ioping: the latency of single requests to a file, folder or device, one line each.
//!
//! ## Reads
//! Lines `4 KiB <<< . (ext4 /dev/sda 252.0 GiB): request=2 time=71.6 us`, the statistics at the
//! end, and the JSON of `-J`. The latencies of a run become one histogram of the application with
//! their exact sum, minimum and maximum; if only the statistics were kept (`-q`), one bucket; if
//! only their first line was, the mean, because its IOPS are requests divided by the time they
//! took. JSON has the time of each request, so each becomes an event. Raw statistics (`-B`, `-p`
//! with `-q`) are ten numbers; a line is used if they are consistent: requests, their time, their
//! rate, minimum, mean and maximum. The pause between requests is the fact `run.pause`: of the
//! command above (`-i`, 1 s without it), else of `generated N requests in T`.
//!
//! ## How to capture
//! `ioping -c 100 -D /data`, `ioping -J -c 100 /dev/sdb`.
//!
//! ## Versions
//! 0.5 to 0.8 (`4.0 kb from /tmp (ext4 /dev/sda1): request=1 time=0.2 ms`, `min/avg/max/mdev =
//! 1.3/6.5/72.5/15.8 ms`), 1.0 and later (`<<<` reads, `>>>` writes), 1.3 (JSON).
//!
//! ## Caveats
//! The first request is a warm-up and is ignored, as in ioping's own statistics; so are those
//! marked as ignored or too fast or slow. Printed latencies have three digits. Without `-D` the
//! page cache may answer. The default working set is 1 MiB, which fits into caches; one request at
//! a time, one per second, does not measure throughput. Raw statistics after requests or other
//! statistics repeat these and are ignored; they are in nanoseconds, before 1.0 in microseconds,
//! without device and operation. The device is the one in brackets.
//!
//! ## Not in this output
//! When a request was sent, except in JSON, where its time is that of printing. What the device
//! did: file system and queue are part of it.

use iowhy_model::{DeviceId, Edges};
use serde_json::Value;

use crate::histogram::buckets::mean_only;
use crate::program::*;
use crate::text::document::{Document, Piece, sniff_document};
use crate::text::invocation::invocation;
use crate::text::numbers::spaced_time_ns;
use crate::text::repair::has_odd;

pub(super) const FORMAT: Format = Format::program::<Ioping>(
    "latency of single requests, text and JSON",
    Level::B,
    &[": request=", " ioping statistics ---", " requests completed in ", "[{", "^numbers"],
    sniff,
);

/// A latency longer than this, a day, is a damaged line.
const LONGEST_NS: f64 = 8.64e13;
/// Numbers of a line of raw statistics.
const RAW: usize = 10;

fn sniff(lines: &[&str]) -> Detect {
    let first = lines.first().copied().unwrap_or_default();
    let numbers = first.starts_with(|c: char| c.is_ascii_digit()) && raw(first).is_some();
    if request(first).is_some() || heading(first).is_some() || total(first).is_some() || numbers {
        return Detect::Yes;
    }
    match first.trim_start().starts_with("[{") {
        true => sniff_document(lines, &["\"device_size\""]),
        false => Detect::No,
    }
}

/// One line.
#[derive(Clone, PartialEq, Debug)]
struct Request {
    device: String,
    op: Op,
    bytes: Option<u32>,
    ns: u64,
    /// It warms up, or ioping does not count it.
    ignored: bool,
}

fn request(line: &str) -> Option<Request> {
    if !line.contains(": request=") {
        return None;
    }
    let (head, rest) = line.trim().split_once(": request=")?;
    let (number, rest) = rest.split_once(" time=")?;
    integer(number)?;
    let (time, mark) = match rest.split_once(" (") {
        Some((time, mark)) => (time, Some(mark)),
        None => (rest, None),
    };
    let ns = duration(time.trim())?;
    let (size, target) = [" <<< ", " >>> ", " <-> ", " from ", " to "]
        .into_iter()
        .find_map(|arrow| Some((arrow, head.split_once(arrow)?)))
        .map(|(arrow, (size, target))| ((arrow, size), target))?;
    let (arrow, size) = size;
    let op = match arrow {
        " <<< " | " from " => Op::Read,
        " >>> " | " to " => Op::Write,
        _ => Op::Other,
    };
    let size = bytes(&size.replace(' ', "")).filter(|size| *size < f64::from(u32::MAX));
    Some(Request {
        device: device(target),
        op,
        bytes: size.map(|size| size as u32),
        ns,
        ignored: mark.is_some_and(|mark| mark != "fast)" && mark != "slow)"),
    })
}

/// `. (ext4 /dev/sda1 252.0 GiB)`: the device in brackets, else the target itself.
fn device(target: &str) -> String {
    let bracket = target.rsplit_once('(').map_or("", |(_, bracket)| bracket);
    let path = bracket.split([' ', ')']).find_map(|word| word.strip_prefix("/dev/"));
    let own = target.split(" (").next().unwrap_or(target);
    let own = own.strip_prefix("/dev/").unwrap_or(own);
    path.unwrap_or(own).to_string()
}

/// `71.6 us`, `1.32 ms`.
fn duration(text: &str) -> Option<u64> {
    let ns = spaced_time_ns(text)?;
    (0.0..LONGEST_NS).contains(&ns).then_some(ns as u64)
}

/// `$ ioping -c8 -D -i 0.01 /dev/nvme2n1`: the seconds between requests that a command asks for; 1
/// s without `-i`, none of a test of the seek rate (`-R`).
fn interval_asked(line: &str) -> Option<f64> {
    let letters = invocation(line, "ioping")?.letters;
    let (_, arguments) = line.split_once("ioping ")?;
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        let value = match word {
            "-i" | "-interval" | "--interval" => words.next()?,
            _ => match word.strip_prefix("-i") {
                Some(value) if value.starts_with(|c: char| c.is_ascii_digit() || c == '.') => value,
                _ => continue,
            },
        };
        let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
        let (digits, unit) = value.split_at(end);
        let unit = match unit {
            "" | "s" | "sec" => 1.0,
            "us" => 1e-6,
            "ms" | "msec" => 1e-3,
            "m" | "min" => 60.0,
            _ => return None,
        };
        return decimal(digits).map(|n| n * unit).filter(|s| (0.0..86_400.0).contains(s));
    }
    Some(if letters.contains('R') { 0.0 } else { 1.0 })
}

/// `generated 9 requests in 8.00 s, 36 KiB, 1 iops, 4.50 KiB/s`: how many, and the seconds.
fn generated(line: &str) -> Option<(u64, f64)> {
    let rest = line.trim().strip_prefix("generated ")?;
    let (count, rest) = rest.split_once(" requests in ")?;
    let (time, _) = rest.split_once(',')?;
    Some((counted(count)?, duration(time)? as f64 / 1e9))
}

/// `--- . (ext4 /dev/sda 252.0 GiB) ioping statistics ---`: the target.
fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    // The terminal echoes Ctrl-C in front of the statistics.
    let line = line.strip_prefix("^C").unwrap_or(line);
    line.strip_prefix("--- ")?.strip_suffix(" ioping statistics ---")
}

/// `99`, `11.6 k`: the number of requests, of which three digits are printed.
fn counted(text: &str) -> Option<u64> {
    let (digits, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let times = match unit {
        "" => return integer(digits),
        "k" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return None,
    };
    decimal(digits).filter(|count| *count >= 0.0).map(|count| (count * times) as u64)
}

/// `min/avg/max/mdev = 71.6 us / 144.3 us / 295.7 us / 91.5 us`; before 0.6 one unit after all.
fn extremes(line: &str) -> Option<[u64; 3]> {
    let rest = line.trim().strip_prefix("min/avg/max/mdev = ")?;
    let unit = rest.rsplit_once(' ').map_or("", |(_, unit)| unit);
    let with_unit = |part: &str| match part.trim().contains(' ') {
        true => duration(part.trim()),
        false => duration(&format!("{} {unit}", part.trim())),
    };
    let mut parts = rest.split('/').map(with_unit);
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// `10 requests completed in 9.0 s, 233 iops, 233.1 MiB/s`: how many, and the mean of each, ns.
fn total(line: &str) -> Option<(u64, f64)> {
    if !line.contains(" requests completed in ") {
        return None;
    }
    let (count, rest) = line.trim().split_once(" requests completed in ")?;
    let rate = rest.split(", ").find_map(|part| part.strip_suffix(" iops"))?;
    let (digits, unit) = rate.split_once(' ').unwrap_or((rate, ""));
    let times = match unit {
        "" => 1.0,
        "k" => 1e3,
        "m" | "M" => 1e6,
        _ => return None,
    };
    let iops = decimal(digits).map(|n| n * times).filter(|iops| *iops > 0.0)?;
    Some((counted(count)?, 1e9 / iops))
}

/// `19 5283987 3596 14728272 56035 278105 4014969 880899 20 950159434`: requests, their time, their
/// rate, bytes per second, minimum, mean, maximum, deviation, and all requests and their time with
/// those that are not counted.
fn raw(line: &str) -> Option<Histogram> {
    let numbers: Option<Vec<u64>> = line.split_whitespace().map(integer).collect();
    let [count, time, per_s, _, min, mean, max, _, all, whole] = numbers?[..] else { return None };
    let near = |a: f64, b: f64| (a - b).abs() <= 1.0 + 0.001 * b;
    let of_a_second = |unit: f64| near(per_s as f64, count as f64 * unit / time.max(1) as f64);
    let ns = match () {
        () if of_a_second(1e9) => 1,
        () if of_a_second(1e6) => 1000,
        () => return None,
    };
    let sound = count > 0 && min <= mean && mean <= max && all >= count && whole >= time;
    let sound = sound && near(mean as f64, time as f64 / count as f64);
    let of = |value: u64| value.saturating_mul(ns);
    sound.then(|| Histogram::from_summary(count, of(mean) as f64, of(min), of(max)))
}

#[derive(Default)]
struct Ioping {
    document: Option<Document>,
    device: String,
    op: Option<Op>,
    bytes: Option<u32>,
    histogram: Option<Histogram>,
    /// What the statistics count.
    completed: Option<u64>,
    /// What their first line gives: how many, and the mean, ns.
    total: Option<(u64, f64)>,
    /// The pause between requests, s: as the command asks for it, or as the run was.
    asked_s: Option<f64>,
    pause_s: Option<f64>,
    zero: Option<f64>,
    /// Raw statistics, used where nothing else was read.
    raw: Vec<Histogram>,
    emitted: bool,
}

impl Reader for Ioping {
    fn line_above(&mut self, line: &str) {
        self.asked_s = interval_asked(line).or(self.asked_s);
    }

    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if self.document.is_some() || line.trim_start().starts_with("[{") {
            return self.json(line, sink);
        }
        if let Some(request) = request(line) {
            self.request(request, sink);
        } else if let Some(target) = heading(line) {
            if self.histogram.is_none() {
                self.device = device(target);
            }
        } else if let Some((count, _)) = line.trim().split_once(" requests completed in ") {
            if self.total.is_some() {
                self.flush(sink);
            }
            self.completed = counted(count);
            self.total = total(line);
            if self.completed.is_none() && self.histogram.is_none() {
                return Step::Malformed(format!("`{count}` is not a number of requests"));
            }
            self.op = self.op.or(match line.contains(" written,") {
                true => Some(Op::Write),
                false => Some(Op::Read),
            });
            if self.total.is_none() && self.histogram.is_none() && has_odd(line) {
                return Step::skipped("the rate is not a number");
            }
        } else if let Some([min, mean, max]) = extremes(line) {
            if self.histogram.is_none()
                && let Some(count) = self.completed
            {
                self.histogram = Some(Histogram::from_summary(count, mean as f64, min, max));
            }
            self.flush(sink);
        } else if line.contains(": request=") {
            return Step::skipped("the request has no latency");
        } else if let Some(known) = raw(line) {
            self.raw.push(known);
        } else {
            let words: Vec<&str> = line.split_whitespace().collect();
            let raw = words.len() == RAW && words.iter().all(|word| integer(word).is_some());
            let echo = line.trim() == "^C";
            if let Some((count, seconds)) = generated(line) {
                let mean = self.mean_s().unwrap_or(0.0);
                let pauses = count.saturating_sub(1);
                self.pause_s = (pauses > 0).then(|| (seconds / pauses as f64 - mean).max(0.0));
            }
            if !raw && !echo && !words.is_empty() && !line.starts_with("generated ") {
                return Step::NotMine;
            }
        }
        Step::Consumed
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        for known in std::mem::take(&mut self.raw) {
            if !self.emitted {
                let device = sink.device(&self.device);
                let one = Distribution::new(device, Layer::Application, Stage::Total, known);
                sink.distribution(one);
            }
        }
        if self.document.as_ref().is_some_and(Document::is_torn) {
            sink.skip(note("the document is truncated within a request, which is ignored"));
        }
    }
}

impl Ioping {
    /// The mean of the run that is read, s.
    fn mean_s(&self) -> Option<f64> {
        let of_requests = self.histogram.as_ref().and_then(Histogram::mean_ns).map(|mean| mean.0);
        of_requests.or(self.total.map(|(_, mean)| mean)).map(|ns| ns / 1e9)
    }

    fn request(&mut self, request: Request, sink: &mut dyn Sink) {
        if self.op.is_some_and(|op| op != request.op) || self.device != request.device {
            self.flush(sink);
            self.device = request.device;
        }
        (self.op, self.bytes) = (Some(request.op), request.bytes);
        if !request.ignored {
            let empty = || Histogram::empty(Edges::standard());
            self.histogram.get_or_insert_with(empty).record(request.ns);
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        let (op, bytes) = (self.op.take(), self.bytes.take());
        self.completed = None;
        let mean = self.total.take().and_then(|(count, mean)| mean_only(count, mean));
        let Some(histogram) = self.histogram.take().or(mean) else { return };
        let device = sink.device(&self.device);
        // It waits for each request before the next.
        sink.add_fact(device, typed::RUN_AT_ONCE, 1u64);
        let (asked, was) = (self.asked_s.take(), self.pause_s.take());
        if let Some(seconds) = asked.or(was) {
            sink.add_fact(device, typed::RUN_PAUSE, Nanos::from_seconds(seconds));
        }
        let mut one = Distribution::new(device, Layer::Application, Stage::Total, histogram);
        (one.op, one.bytes) = (op, bytes);
        sink.distribution(one);
        self.emitted = true;
    }

    fn json(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let (pieces, step) = self.document.get_or_insert_default().list_step("", line);
        for piece in pieces {
            let Piece::Element(one) = piece else { continue };
            if let Some(event) = event(&one, &mut self.zero, sink) {
                sink.source().level = Level::C;
                sink.event(event);
            } else if request_of(&one).is_some() {
                sink.lost("requests without a time or an operation", 1);
            }
        }
        step
    }
}

fn request_of(one: &Value) -> Option<&Value> {
    one.get("io").filter(|io| io.get("ignored") != Some(&Value::Bool(true)))
}

/// A request of the JSON; statistics and ignored requests are none.
fn event(one: &Value, zero: &mut Option<f64>, sink: &mut dyn Sink) -> Option<Event> {
    let io = request_of(one)?;
    let ns = io.get("time").and_then(Value::as_u64).filter(|ns| (*ns as f64) < LONGEST_NS)?;
    let op = io.get("operation").and_then(Value::as_str).and_then(Op::from_name)?;
    let target = |key: &str| one.pointer(&format!("/target/{key}")).and_then(Value::as_str);
    let name = target("device").or(target("path")).unwrap_or_default();
    let device: DeviceId = sink.device(name.strip_prefix("/dev/").unwrap_or(name));
    let mut event = Event::new(device, op, Layer::Application);
    event.bytes = io.get("size").and_then(Value::as_u64).and_then(|size| size.try_into().ok());
    let at = one.get("timestamp").and_then(Value::as_f64)?;
    // Seconds since 1970 in a float lose nothing above a tenth of a microsecond.
    let end = Time::from_seconds(at - *zero.get_or_insert(at));
    event.completed = Some(end);
    event.queued = Some(end - Nanos(i64::try_from(ns).ok()?));
    Some(event)
}

// A sample of them cannot be: with one of ten numbers made invalid the line is nothing known.
#[cfg(test)]
mod tests {
    #[test]
    fn ten_numbers_that_fit_together() {
        // ioping 1.3, -B; the man page of 0.8 counts microseconds.
        let raw = "19 5283987 3596 14728272 56035 278105 4014969 880899 20 950159434\n";
        let one = &crate::scan::recorded(raw).listings[0].distributions[0];
        assert_eq!((one.histogram.count(), one.histogram.max_ns), (19, Some(4_014_969)));
        assert_eq!(
            super::raw("10 20000 500 2048000 1000 2000 3000 10 11 30000").unwrap().max_ns,
            Some(3_000_000)
        );
        assert_eq!(super::raw("10 20000 501 2048000 1000 2500 3000 10 11 30000"), None);
        let longest = super::raw("10 20000 500 2048000 1000 2000 18446744073709551615 10 11 30000");
        assert_eq!(longest.unwrap().max_ns, Some(u64::MAX));
    }
}
