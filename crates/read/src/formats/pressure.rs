//! Pressure stall information: time in which tasks waited for I/O, memory or CPUs.
//!
//! ## Reads
//! The lines `some avg10=0.85 avg60=11.71 avg300=13.24 total=113349880` and `full ...` of
//! `/proc/pressure/io` and of a control group's `io.pressure`. They become facts such as
//! `pressure.io.some.avg10`, in percent of the time, and `pressure.io.some.total`, in microseconds
//! since boot. Names of files before the lines, as `grep` and `head` print them, or a line above
//! that names one file (`$ cat /proc/pressure/io`), identify the resource; then `some` and `full`
//! may be on one line, and fields may be missing, as in Android traces.
//!
//! ## How to capture
//! `cat /proc/pressure/io`, `grep . /proc/pressure/*`, `head /proc/pressure/*`.
//!
//! ## Versions
//! Linux 4.20 and later; `full` of the CPUs since 5.13. The file is missing where the kernel was
//! built or started without it.
//!
//! ## Caveats
//! `some` is time in which at least one task waited, `full` in which all runnable tasks did. Memory
//! pressure causes I/O, so high I/O pressure together with memory pressure is not a fault of the
//! disk. Idle waits of io_uring counted as I/O in some kernels (6.1.39 to 6.14). Averages lag:
//! `avg300` covers five minutes.
//!
//! ## Not in this output
//! The resource of bare lines, unless the input is named after it: then the facts are called
//! `pressure.some...`. Which device, which task.

use iowhy_model::key;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("pressure stall information: /proc/pressure, io.pressure", Level::E, &LABELS);

/// The context of a word that names a file: quotes, parentheses, the colon after it.
const AROUND: &[char] = &[':', '(', ')', '`', '\'', '"', ','];
const RESOURCES: [&str; 4] = ["io", "memory", "cpu", "irq"];

static LABELS: Labels = Labels {
    near: 3,
    lines: &[
        begins("avg10=", |found, report, sink| state(&rows(found.line(), false)?, report, sink))
            .when(|found| rows(found.line(), false).is_some())
            .like(&["some avg10=0.00 avg60=0.12 avg300=0.05 total=123456"]),
        announces("pressure", |found, report, _| report.quote_alone(heading(found.line())?))
            .when(|found| heading(found.line()).is_some())
            .like(&["==> /proc/pressure/io <==", "$ cat /proc/pressure/io"]),
        // Below a line that names the file.
        follows("avg10=", |found, report, sink| {
            let rows = rows(found.line(), true).filter(|_| !report.quoted().is_empty())?;
            state(&rows, report, sink)
        })
        .when(|found| rows(found.line(), true).is_some())
        .like(&["some avg10=0.00 avg60=0.12"]),
        says("^{some |full }{*}avg10=", |_, report, _| {
            report.fails("the line does not have four fields")
        })
        .like(&["some avg10=0.0"]),
    ],
    cut: &["avg10="],
    ..Labels::NEW
};

/// One line: where it was read, if it shows it, `some` or `full`, and its fields.
struct PressureLine<'a> {
    path: Option<&'a str>,
    share: &'a str,
    fields: Vec<(&'a str, &'a str)>,
}

/// The rows of a line: `some` and `full` may be on one line. Where a heading named the
/// resource, fields may have been left out.
fn rows(line: &str, headed: bool) -> Option<Vec<PressureLine<'_>>> {
    // Every line of a document is tried.
    if !line.contains("avg10=") {
        return None;
    }
    let (path, rest) = match line.trim().split_once(':') {
        Some((path, rest)) => (Some(path), rest),
        None => (None, line.trim()),
    };
    path.is_none_or(|path| resource(path).is_some()).then_some(())?;
    let mut rows: Vec<PressureLine> = Vec::new();
    for word in rest.split_whitespace() {
        match (word.split_once('='), rows.last_mut()) {
            (None, _) if matches!(word, "some" | "full") => {
                rows.push(PressureLine { path, share: word, fields: Vec::new() });
            }
            (Some(field), Some(row)) if is_sound(field) => row.fields.push(field),
            _ => return None,
        }
    }
    let may_be_cut = headed || path.is_some();
    let is_row = |PressureLine { fields, .. }: &PressureLine| {
        fields.len() == 4 || may_be_cut && !fields.is_empty() && fields.iter().all(is_whole)
    };
    (!rows.is_empty() && rows.iter().all(is_row)).then_some(rows)
}

fn is_sound((key, value): (&str, &str)) -> bool {
    match key {
        "total" => integer(value).is_some(),
        "avg10" | "avg60" | "avg300" => decimal(value).is_some(),
        _ => false,
    }
}

/// The kernel prints two digits after the point, so that a value that was cut is distinguished from
/// one that is not.
fn is_whole((_, value): &(&str, &str)) -> bool {
    value.split_once('.').is_some_and(|(_, cents)| cents.len() == 2)
}

/// `==> /proc/pressure/io <==`, `$ cat /proc/pressure/io`: the path, if there is one alone.
fn heading(line: &str) -> Option<&str> {
    // Every line of a document is tried.
    if !line.contains("pressure") {
        return None;
    }
    if line.contains("==>") {
        let path = line.trim().strip_prefix("==> ")?.strip_suffix(" <==")?;
        return resource(path).map(|_| path);
    }
    let words = line.split_whitespace().map(|word| word.trim_matches(AROUND));
    let is_path = |word: &&str| word.contains("/pressure/") || word.ends_with(".pressure");
    let mut paths = words.filter(is_path).filter(|path| resource(path).is_some());
    paths.next().filter(|_| paths.next().is_none())
}

/// The resource a path is of: `/proc/pressure/io`, `.../io.pressure`.
fn resource(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next()?;
    let name = name.strip_suffix(".pressure").unwrap_or(name);
    RESOURCES.into_iter().find(|known| *known == name)
}

fn state(rows: &[PressureLine], report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let input = sink.source().input.clone();
    let above = report.quoted().first().map(String::as_str);
    for row in rows {
        let path = row.path.or(above).unwrap_or(&input);
        let of = resource(path).map_or(String::new(), |resource| format!("{resource}."));
        for (field, value) in &row.fields {
            let family = match *field {
                "avg10" => key::PRESSURE_AVG10,
                "avg60" => key::PRESSURE_AVG60,
                "avg300" => key::PRESSURE_AVG300,
                _ => key::PRESSURE_TOTAL,
            };
            let key = family.member(format!("{of}{}", row.share));
            sink.add_text_at(None, key, value, path);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_resource() {
        assert_eq!(resource("/proc/pressure/io"), Some("io"));
        assert_eq!(resource("/sys/fs/cgroup/a.slice/memory.pressure"), Some("memory"));
        assert_eq!(resource("notes.txt"), None);
        assert!(rows("some avg10=0.00 avg60=0.00 avg300=0.00", false).is_none());
        assert!(rows("some avg10=0.00 avg60=0.00 avg300=1.0", true).is_none());
        assert!(rows("some people say", true).is_none());
    }
}
