//! The machines' results as Markdown tables.

use std::fmt::Write as _;

use serde_json::Value;

use super::machine::{Console, MARK};

/// One kernel's results.
#[derive(Debug)]
pub(super) struct Results {
    /// The package, less what all have in common.
    pub kernel: String,
    /// What it printed, as JSON.
    pub lines: Vec<Value>,
    /// Whether it came to its end.
    pub done: bool,
    /// Real seconds it took.
    pub seconds: f64,
}

impl Results {
    /// Extracts the lines of rig from the output.
    pub(super) fn of(package: &str, printed: &Console) -> Results {
        // The firmware's last output precedes the first.
        let ours = printed.lines.iter().filter_map(|line| line.split_once(MARK));
        Results {
            kernel: package.trim_start_matches("linux-image-").trim_end_matches("-amd64").into(),
            lines: ours.filter_map(|(_, ours)| serde_json::from_str(ours).ok()).collect(),
            done: printed.done,
            seconds: printed.took.as_secs_f64(),
        }
    }

    /// Whether the machine came to its end and every case was right.
    pub(super) fn right(&self) -> bool {
        self.done && self.wrong().is_empty()
    }

    /// The lines that did not come out as they should.
    pub(super) fn wrong(&self) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["right"] == false).collect()
    }

    /// All lines, one JSON object each.
    pub(super) fn json(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn find(&self, case: &str, key: &str) -> Option<&Value> {
        let of_case = self.lines.iter().filter(|line| line["case"] == case);
        of_case.map(|line| &line[key]).find(|value| !value.is_null())
    }

    fn text(&self, case: &str, key: &str) -> String {
        match self.find(case, key) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "?".to_string(),
        }
    }

    fn number(&self, case: &str, key: &str) -> String {
        let number = self.find(case, key).and_then(Value::as_f64);
        number.map_or("?".to_string(), |number| format!("{number:.3}"))
    }

    /// What a case gave, or a dash where it was not asked for.
    fn cell(&self, case: &str, reported: String) -> String {
        let ran = self.lines.iter().any(|line| line["case"] == case);
        if ran { reported } else { "-".to_string() }
    }

    /// Measured, lost and the kernel's count, summed over an operation's runs.
    fn sums(&self, op: &str) -> Option<(u64, u64, u64)> {
        let of_op: Vec<&Value> = self.lines.iter().filter(|line| line["op"] == op).collect();
        let sum = |key: &str| of_op.iter().filter_map(|line| line[key].as_u64()).sum();
        (!of_op.is_empty()).then(|| (sum("measured"), sum("lost"), sum("kernel")))
    }
}

/// All kernels: attach points, equations, cases.
pub(super) fn tables(all: &[Results]) -> String {
    let mut out = String::from("| kernel | release | attach points | queue time | s |\n");
    out.push_str("| --- | --- | --- | --- | --- |\n");
    for one in all {
        let points = one.find("doctor", "attach").and_then(Value::as_array);
        let points = points.into_iter().flatten().filter_map(Value::as_str);
        let points: Vec<&str> = points.map(|name| name.trim_start_matches("block_")).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {:.0} |",
            one.kernel,
            one.text("kernel", "version"),
            points.join(", "),
            one.text("doctor", "queue_time"),
            one.seconds
        );
    }
    out.push_str("\n| kernel | operation | measured | lost | counted by the kernel | |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for one in all {
        for op in ["read", "write", "discard", "flush"] {
            let Some((measured, lost, kernel)) = one.sums(op) else { continue };
            let equal = one.lines.iter().filter(|line| line["op"] == op);
            let equal =
                equal.clone().count() > 0 && equal.clone().all(|line| line["right"] == true);
            let word = if equal { "equal in every run" } else { "**not equal**" };
            let kernel_name = &one.kernel;
            let _ =
                writeln!(out, "| {kernel_name} | {op} | {measured} | {lost} | {kernel} | {word} |");
        }
    }
    out.push_str(
        "\n| kernel | null_blk of 1 ms | SCSI timeout of 3 s | medium error | dusty disk | healthy \
         disk | |\n",
    );
    out.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for one in all {
        let (max, requeued) =
            (one.number("scsi timeout", "max_ms"), one.text("scsi timeout", "requeues"));
        let verdict = |disk: &str| {
            let confidence = one.find(disk, "confidence").and_then(Value::as_f64).unwrap_or(0.0);
            one.cell(disk, format!("{} {:.0} %", one.text(disk, "verdict"), 100.0 * confidence))
        };
        let cells = [
            one.cell("null_blk", format!("D2C p50 {} ms", one.number("null_blk", "p50_ms"))),
            one.cell("scsi timeout", format!("D2C max {max} ms, {requeued} requeued")),
            one.cell(
                "scsi medium error",
                format!("errno {}", one.text("scsi medium error", "errors")),
            ),
            verdict("dusty disk"),
            verdict("healthy disk"),
        ];
        let word = if one.right() { "right" } else { "**wrong**" };
        let _ = writeln!(out, "| {} | {} | {word} |", one.kernel, cells.join(" | "));
    }
    out.push_str("\n| kernel | layer above, or fault | program waits | D2C p50 | verdict | |\n");
    out.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for one in all {
        for line in one.lines.iter().filter(|line| SAID.iter().any(|case| line["case"] == *case)) {
            let Some(verdict) = line["verdict"].as_str() else { continue };
            let ms =
                |key: &str| line[key].as_f64().map_or("-".to_string(), |ms| format!("{ms:.1} ms"));
            let case = line["case"].as_str().unwrap_or("?");
            let (waits, d2c) = (ms("waited_ms"), ms("p50_ms"));
            let sentence = line["sentence"].as_str().unwrap_or("");
            let word = if line["right"] == true { "right" } else { "**wrong**" };
            let kernel = &one.kernel;
            let _ = writeln!(
                out,
                "| {kernel} | {case} | {waits} | {d2c} | {verdict}: {sentence} | {word} |"
            );
        }
    }
    out.push_str("\n| kernel | the wall clock shows | reads | stored | files missing | |\n");
    out.push_str("| --- | --- | ---: | ---: | ---: | --- |\n");
    for one in all {
        for line in one.lines.iter().filter(|line| line["clock"].is_string()) {
            let clock = line["clock"].as_str().unwrap_or("?");
            let word = if line["right"] == true { "right" } else { "**wrong**" };
            let (reads, kept, gone) = (&line["reads"], &line["kept"], &line["gone"]);
            let kernel = &one.kernel;
            let _ = writeln!(out, "| {kernel} | {clock} | {reads} | {kept} | {gone} | {word} |");
        }
    }
    out
}

/// Cases whose verdict is reported in words.
const SAID: [&str; 9] = [
    "scsi timeout",
    "scsi medium error",
    "dm-delay",
    "dm-flakey",
    "dm-raid",
    "io.max",
    "scsi drive",
    "nvme drive",
    "virtio drive",
];
