//! Lines of Prometheus' text format: `NAME{LABEL="VALUE",...} NUMBER [TIME]`.

/// A line that reports a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MetricLine<'a> {
    pub(crate) name: &'a str,
    labels: &'a str,
    /// Its value, and what follows it: when it was read, if that is reported.
    pub(crate) value: &'a str,
    pub(crate) behind: &'a str,
}

impl<'a> MetricLine<'a> {
    pub(crate) fn of(line: &'a str) -> Option<MetricLine<'a>> {
        let text = line.trim();
        let (name, labels, rest) = match text.split_once('{') {
            Some((name, rest)) => {
                let (labels, rest) = rest.rsplit_once('}')?;
                (name, labels, rest)
            }
            None => {
                let (name, rest) = text.split_once(' ')?;
                (name, "", rest)
            }
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let (value, behind) =
            rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let is_one = !name.is_empty() && name.chars().all(is_plain) && !value.is_empty();
        is_one.then_some(MetricLine { name, labels, value, behind })
    }

    /// The labels, in their order.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        self.labels.split("\",").filter_map(|pair| {
            let (key, value) = pair.split_once("=\"")?;
            Some((key.trim_matches([',', ' ']), value.strip_suffix('"').unwrap_or(value)))
        })
    }

    /// The value of a label.
    pub(crate) fn label(&self, key: &str) -> Option<&'a str> {
        self.labels().find(|(known, _)| *known == key).map(|(_, value)| value)
    }
}

/// `# TYPE NAME histogram`, `# HELP NAME ...`: the name, and its description.
pub(crate) fn announced<'a>(line: &'a str, what: &str) -> Option<(&'a str, &'a str)> {
    let rest = line.trim_start().strip_prefix("# ")?.trim_start().strip_prefix(what)?;
    let rest = rest.strip_prefix(' ')?.trim_start();
    Some(rest.split_once(' ').unwrap_or((rest, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_name_labels_and_a_value() {
        let line =
            MetricLine::of("a_total{device=\"sd,a\", op=\"read\"} 3.2e+06 1712049164118").unwrap();
        assert_eq!((line.name, line.value, line.behind), ("a_total", "3.2e+06", "1712049164118"));
        assert_eq!(line.labels().collect::<Vec<_>>(), [("device", "sd,a"), ("op", "read")]);
        assert_eq!((line.label("op"), line.label("x")), (Some("read"), None));
        let bare = MetricLine::of("node_time_seconds 1.7e+09").unwrap();
        assert_eq!((bare.name, bare.labels().count(), bare.behind), ("node_time_seconds", 0, ""));
        for other in ["", "{a=\"b\"} 1", "a{b=\"c\"}", "the disk {x} 5", "a"] {
            assert_eq!(MetricLine::of(other), None, "{other}");
        }
        assert_eq!(announced("# TYPE a_b histogram", "TYPE"), Some(("a_b", "histogram")));
        assert_eq!(announced("# HELP a_b What it is.", "TYPE"), None);
    }
}
