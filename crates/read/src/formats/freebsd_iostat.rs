//! iostat -x of FreeBSD and DragonFly: requests, bytes, latency and busy share of each disk.
//!
//! ## Reads
//! The title `extended device statistics`, the heading `device       r/s     w/s     kr/s     kw/s
//! ms/r  ms/w  ms/o  ms/t qlen  %b` and a row for each disk, report after report.
//!
//! ## Where it comes from
//! `iostat -x -w 1 -c 10`, `iostat -xz -w 5` on FreeBSD.
//!
//! ## Versions
//! FreeBSD 11 and later print reads, writes, others and total apart (`ms/r ms/w ms/o ms/t`), older
//! ones one `svc_t`. Columns are found by the heading. The lists without `-x` are not read.
//!
//! ## Traps
//! The first report counts since boot; so does an only one. Rates are whole numbers and times whole
//! milliseconds: a 0 beside requests is less than half a millisecond and taken as unknown.
//! `svc_t` is the mean time of a transaction from its start to its end, queue included. `qlen` is
//! the number of requests in flight at the end of the interval. `%b` is time with a request in
//! flight, no saturation. kB are units of 1024 bytes.
//!
//! ## Cannot know
//! How latencies are distributed, queue and device time apart, which process asked. The length of an
//! interval, which is not printed. Whether whole lines are missing: they bear no numbers.

use iowhy_model::{Interval, Layer, Level, Op, Sink};

use crate::counters::stated::rates;
use crate::text::columns::Heading;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "freebsd-iostat",
    summary: "iostat -x of FreeBSD",
    manual: iowhy_model::manual!("freebsd_iostat.rs"),
    level: Level::A,
    sniff,
    reader: || Box::new(FreebsdIostat::default()),
};

const KIB: f64 = 1024.0;
const NS_PER_MS: f64 = 1e6;

fn sniff(lines: &[&str]) -> Sniff {
    match lines {
        [first, ..] if heading(first).is_some() => Sniff::Yes,
        [first] if is_title(first) => Sniff::More,
        [first, second, ..] if is_title(first) => heading(second).is_some().into(),
        _ => Sniff::No,
    }
}

fn is_title(line: &str) -> bool {
    line.trim() == "extended device statistics"
}

/// Solaris has `actv`, FreeBSD `qlen`.
fn heading(line: &str) -> Option<Heading> {
    let heading = Heading::of(line, &["r/s", "w/s", "kr/s", "kw/s", "qlen", "%b"])?;
    (heading.place("device", 0) == Some(0)).then_some(heading)
}

#[derive(Default)]
struct FreebsdIostat {
    heading: Heading,
    /// Headings so far.
    reports: u64,
}

impl Reader for FreebsdIostat {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        if let Some(heading) = heading(line) {
            self.heading = heading;
            self.reports += 1;
            return Step::Took;
        }
        if is_title(line) || line.trim().is_empty() {
            return Step::Took;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers = words.iter().skip(1).filter(|word| decimal(word).is_some()).count();
        match words.len() == self.heading.width() && numbers + 1 == words.len() {
            true => self.row(&words, sink),
            false if numbers > 3 => {
                return Step::Skipped("the values do not fit the heading".to_string());
            }
            false => return Step::Passed,
        }
        Step::Took
    }
}

impl FreebsdIostat {
    fn row(&self, words: &[&str], sink: &mut dyn Sink) {
        let of = |column: &str| self.heading.number(column, words);
        let name = words.first().copied().unwrap_or_default();
        let mut interval = Interval::new(sink.device(name), Layer::Block);
        interval.since_boot = self.reports == 1;
        let parts = [(Op::Read, "r/s", "kr/s", "ms/r"), (Op::Write, "w/s", "kw/s", "ms/w")];
        for (op, ios, size, wait) in parts {
            let bytes = of(size).map(|kib| kib * KIB);
            let known = rates(of(ios), bytes, of(wait).map(|ms| ms * NS_PER_MS));
            interval.rates.extend(known.map(|rates| (op, rates)));
        }
        let all = of("svc_t").or(of("ms/t")).filter(|ms| *ms > 0.0);
        interval.await_ns = all.map(|ms| ms * NS_PER_MS).filter(|_| interval.ios_per_s() > 0.0);
        interval.in_flight = of("qlen").filter(|count| *count >= 0.0).map(|count| count as u64);
        interval.busy = of("%b").map(|percent| percent / 100.0);
        sink.interval(interval);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::recorded as read;

    #[test]
    fn the_first_report_counts_since_boot() {
        let heading = "                        extended device statistics  \n\
            device       r/s     w/s     kr/s     kw/s  ms/r  ms/w  ms/o  ms/t qlen  %b  \n";
        let text = format!(
            "{heading}ada0           2       7     61.3    112.4     3     1     0     1    0   0 \n\
             {heading}ada0         120       0   1920.0      0.0    31     0     0    31    4  97 \n\
             ada1         120       0\n"
        );
        let recording = read(&text);
        let listing = &recording.listings[0];
        let [first, second] = &listing.intervals[..] else { panic!("{:?}", listing.intervals) };
        assert!(first.since_boot && !second.since_boot);
        assert_eq!(second.of(Op::Read).unwrap().await_ns, Some(31e6));
        assert_eq!((second.of(Op::Write).unwrap().await_ns, second.in_flight), (None, Some(4)));
        assert_eq!((second.busy, listing.source.skipped), (Some(0.97), 0));
    }
}
