//! Dumps of Prometheus: series of disk counters, sorted into the pages that node_exporter served.
//!
//! Read are the lines of `promtool tsdb dump` (`{__name__="NAME",...} VALUE MS`) and
//! `dump-openmetrics` (`NAME{...} VALUE SECONDS`), pages of exporters with times, and the JSON that
//! the server returns for `query` and `query_range`. Taken are node_exporter's counters
//! (`node_disk_*`) and those of `iowhy watch`; of a host that has both, the former.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// Bytes of a file in which a metric must be named.
const HEAD: u64 = 1 << 18;
/// A number above this is in milliseconds, one below in seconds since 1970.
const LEAST_MS: f64 = 1e11;
const NODE: &str = "node_disk_";
/// What `iowhy watch` counts, by operation, in node_exporter's words.
const OWN: [(&str, &str, &str); 6] = [
    ("iowhy_ios_total", "read", "node_disk_reads_completed_total"),
    ("iowhy_ios_total", "write", "node_disk_writes_completed_total"),
    ("iowhy_bytes_total", "read", "node_disk_read_bytes_total"),
    ("iowhy_bytes_total", "write", "node_disk_written_bytes_total"),
    ("iowhy_waited_seconds_total", "read", "node_disk_read_time_seconds_total"),
    ("iowhy_waited_seconds_total", "write", "node_disk_write_time_seconds_total"),
];

/// What a dump holds.
#[derive(Default, Debug)]
pub struct Dump {
    /// By host.
    pub hosts: BTreeMap<String, Pages>,
    /// Lines with a metric of disks that could not be read.
    pub skipped: u64,
}

/// The counters of a host, by time.
#[derive(Default, Debug)]
pub struct Pages {
    /// A metric and its labels, as they are written.
    series: Vec<String>,
    places: HashMap<String, usize>,
    /// By step: when its page was served, ms since 1970, and the values of series.
    pages: BTreeMap<i64, (i64, BTreeMap<usize, f64>)>,
    is_own: bool,
}

/// One series.
struct Labels<'a> {
    name: &'a str,
    /// Key and value.
    labels: Vec<(&'a str, &'a str)>,
}

impl Labels<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }
}

impl Dump {
    /// The dump in a file; `None` if it is none.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path, step_ms: i64) -> anyhow::Result<Option<Dump>> {
        let cannot = || format!("cannot read `{}`", path.display());
        let mut file = std::fs::File::open(path).with_context(cannot)?;
        let mut head = Vec::new();
        (&mut file).take(HEAD).read_to_end(&mut head).with_context(cannot)?;
        let text = String::from_utf8_lossy(&head);
        if !text.contains(NODE) && !OWN.iter().any(|(name, ..)| text.contains(name)) {
            return Ok(None);
        }
        let is_json = text.trim_start().starts_with("{\"");
        // A page of one host without times is read as it is.
        let begins = |line: &str| line.starts_with("{__name__=") || line.contains("instance=\"");
        if !is_json && !text.lines().any(begins) {
            return Ok(None);
        }
        let rest = BufReader::new(head.chain(file));
        let mut dump = Dump::default();
        match is_json {
            true => dump.json(rest, step_ms).with_context(cannot)?,
            false => dump.lines(rest, step_ms).with_context(cannot)?,
        }
        Ok(Some(dump))
    }

    fn lines(&mut self, mut input: impl BufRead, step_ms: i64) -> io::Result<()> {
        let mut bytes = Vec::new();
        while input.read_until(b'\n', &mut bytes)? > 0 {
            let line = String::from_utf8_lossy(&bytes);
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                match sample(line) {
                    Some((labels, value, at_ms)) => self.add(&labels, value, at_ms, step_ms),
                    None => self.skipped += u64::from(line.contains(NODE)),
                }
            }
            bytes.clear();
        }
        Ok(())
    }

    fn json(&mut self, input: impl Read, step_ms: i64) -> anyhow::Result<()> {
        let answer: Value = serde_json::from_reader(input)?;
        let result = answer.pointer("/data/result").and_then(Value::as_array);
        for series in result.context("no `data.result`: not an answer of Prometheus")? {
            let Some(metric) = series.get("metric").and_then(Value::as_object) else { continue };
            let text = |(key, value): (&'_ String, &'_ Value)| {
                Some((key.clone(), value.as_str()?.to_string()))
            };
            let all: Vec<(String, String)> = metric.iter().filter_map(text).collect();
            let labels: Vec<(&str, &str)> =
                all.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let name =
                labels.iter().find(|(key, _)| *key == "__name__").map_or("", |(_, name)| *name);
            let labels = Labels { name, labels: labels.clone() };
            let many = series.get("values").and_then(Value::as_array);
            let one = series.get("value").into_iter();
            for pair in many.into_iter().flatten().chain(one) {
                let at = pair.get(0).and_then(Value::as_f64);
                let value = pair.get(1).and_then(Value::as_str).and_then(|text| text.parse().ok());
                match at.zip(value) {
                    Some((at, value)) => {
                        self.add(&labels, value, (at * 1e3).round() as i64, step_ms)
                    }
                    None => self.skipped += 1,
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, labels: &Labels, value: f64, at_ms: i64, step_ms: i64) {
        let own = || {
            let op = labels.get("op")?;
            OWN.iter()
                .find(|(name, of, _)| *name == labels.name && *of == op)
                .map(|(.., node)| *node)
        };
        let is_node = labels.name.starts_with(NODE);
        let name = if is_node { Some(labels.name) } else { own() };
        let Some(name) = name else { return };
        let (Some(device), Some(instance)) = (labels.get("device"), labels.get("instance")) else {
            self.skipped += 1;
            return;
        };
        let host = host(instance);
        let pages = self
            .hosts
            .entry(host)
            .or_insert_with(|| Pages { is_own: !is_node, ..Pages::default() });
        if pages.is_own && is_node {
            *pages = Pages::default();
        }
        if pages.is_own == is_node {
            return;
        }
        let mut series = format!("{name}{{device=\"{device}\"");
        // The model of a disk and its firmware are labels of a metric of their own.
        for (key, value) in labels.labels.iter().filter(|_| name == "node_disk_info") {
            if ["model", "revision", "rotational"].contains(key) {
                series.push_str(&format!(",{key}=\"{value}\""));
            }
        }
        series.push('}');
        pages.add(series, value, at_ms, step_ms);
    }
}

impl Pages {
    fn add(&mut self, series: String, value: f64, at_ms: i64, step_ms: i64) {
        let next = self.series.len();
        let place = *self.places.entry(series.clone()).or_insert(next);
        if place == next {
            self.series.push(series);
        }
        let (at, values) =
            self.pages.entry(at_ms.div_euclid(step_ms)).or_insert_with(|| (at_ms, BTreeMap::new()));
        // Values of two scrapes are not of one time.
        if *at == at_ms {
            values.insert(place, value);
        }
    }

    /// As node_exporter would have served them, one after the other, with times.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for (at_ms, values) in self.pages.values() {
            for (place, value) in values {
                if let Some(series) = self.series.get(*place) {
                    writeln!(out, "{series} {value} {at_ms}")?;
                }
            }
        }
        out.flush()
    }
}

/// An `instance` without its port: `web-17:9100`, `[::1]:9100`.
fn host(instance: &str) -> String {
    let without = instance.rsplit_once(':').filter(|(host, port)| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && (!host.contains(':') || host.ends_with(']'))
    });
    without.map_or(instance, |(host, _)| host).trim_matches(['[', ']']).to_string()
}

/// A line: its series, its value, and its time in ms since 1970.
fn sample(line: &str) -> Option<(Labels<'_>, f64, i64)> {
    let (name, rest) = line.split_once('{')?;
    let (labels, rest) = labels(rest)?;
    let mut words = rest.split_whitespace();
    let value = words.next()?.parse().ok().filter(|value: &f64| value.is_finite())?;
    let at: f64 = words.next()?.parse().ok()?;
    let at = if at > LEAST_MS { at } else { at * 1e3 };
    let named = labels.iter().find(|(key, _)| *key == "__name__").map(|(_, name)| *name);
    let name = named.unwrap_or(name.trim());
    (1e12..1e14).contains(&at).then(|| (Labels { name, labels }, value, at.round() as i64))
}

/// `KEY="VALUE",...}` and what comes after it. Values with an escape are left as they are.
fn labels(mut rest: &str) -> Option<(Vec<(&str, &str)>, &str)> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((found, after));
        }
        let (key, after) = rest.split_once("=\"")?;
        let mut escaped = false;
        let end = after.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        found.push((key.trim(), &after[..end]));
        rest = &after[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(text: &str, step_ms: i64) -> anyhow::Result<BTreeMap<String, String>> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), text)?;
        let dump = Dump::read(file.path(), step_ms)?.context("a dump")?;
        let written = |pages: &Pages| {
            let mut out = Vec::new();
            pages.write(&mut out)?;
            Ok::<_, anyhow::Error>(String::from_utf8(out)?)
        };
        dump.hosts.iter().map(|(host, pages)| Ok((host.clone(), written(pages)?))).collect()
    }

    #[test]
    fn series_become_pages_of_their_hosts() -> anyhow::Result<()> {
        let dump = r#"{__name__="node_disk_reads_completed_total",device="sda",instance="a:9100"} 10 1660000000000
{__name__="node_disk_reads_completed_total",device="sda",instance="a:9100"} 11 1660000015000
{__name__="node_disk_reads_completed_total",device="sda",instance="a:9100"} 40 1660000060000
{__name__="node_disk_read_time_seconds_total",device="sda",instance="a:9100"} 0.5 1660000000000
{__name__="node_disk_read_time_seconds_total",device="sda",instance="a:9100"} 0.9 1660000060000
{__name__="up",instance="b:9100"} 1 1660000000000
"#;
        let expected = "node_disk_reads_completed_total{device=\"sda\"} 10 1660000000000
node_disk_read_time_seconds_total{device=\"sda\"} 0.5 1660000000000
node_disk_reads_completed_total{device=\"sda\"} 40 1660000060000
node_disk_read_time_seconds_total{device=\"sda\"} 0.9 1660000060000
";
        let found = pages(dump, 60_000)?;
        assert_eq!(found, [("a".to_string(), expected.to_string())].into());
        // The same from OpenMetrics, and as the server answers.
        let open: String = dump
            .lines()
            .map(|line| {
                let line = line.replace("{__name__=\"", "").replacen("\",", "{", 1);
                format!("{}\n", line.strip_suffix("000").unwrap_or(&line))
            })
            .collect();
        assert_eq!(pages(&open, 60_000)?, found);
        Ok(())
    }

    #[test]
    fn the_answer_of_a_server_and_our_own_metrics() -> anyhow::Result<()> {
        let answer = r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"iowhy_ios_total","device":"sdb","op":"write","instance":"b:9435"},
             "values":[[1660000000,"7"],[1660000060,"9"]]},
            {"metric":{"__name__":"iowhy_ios_total","device":"sdb","op":"flush","instance":"b:9435"},
             "values":[[1660000000,"7"]]}]}}"#;
        let expected = "node_disk_writes_completed_total{device=\"sdb\"} 7 1660000000000
node_disk_writes_completed_total{device=\"sdb\"} 9 1660000060000
";
        assert_eq!(pages(answer, 60_000)?, [("b".to_string(), expected.to_string())].into());
        Ok(())
    }

    #[test]
    fn of_two_sources_one_is_taken_and_text_of_other_tools_is_no_dump() -> anyhow::Result<()> {
        let both = r#"iowhy_ios_total{device="sda",op="read",instance="a:9435"} 5 1660000000
node_disk_reads_completed_total{device="sda",instance="a:9100"} 6 1660000001
iowhy_ios_total{device="sda",op="read",instance="a:9435"} 7 1660000002
"#;
        let expected = "node_disk_reads_completed_total{device=\"sda\"} 6 1660000001000\n";
        assert_eq!(pages(both, 1000)?, [("a".to_string(), expected.to_string())].into());
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), "Linux 6.1.0 (web-17)\n")?;
        assert!(Dump::read(file.path(), 1000)?.is_none());
        Ok(())
    }

    #[test]
    fn ports_are_no_part_of_a_host_and_damaged_lines_are_none() {
        assert_eq!(
            ["web-17:9100", "[::1]:9100", "::1", "a"].map(host),
            ["web-17", "::1", "::1", "a"]
        );
        for line in [
            "x{a=\"b} 1 1660000000",
            "x{a=\"b\"} NaN 1660000000",
            "x{a=\"b\"} 1",
            "{",
            "x{a=\"\\\"",
        ] {
            assert!(sample(line).is_none(), "{line}");
        }
    }
}
