//! The fields of the JSON schemas, as `docs/JSON.md` promises them.

use iowhy_model::Report;
use iowhy_show::{Style, VIEWS, View};
use serde_json::{Value, json};

use crate::reports;

fn named(name: &str) -> &'static View {
    VIEWS.iter().find(|view| view.name == name).unwrap()
}

fn values(view: &str, report: &Report) -> Vec<Value> {
    let mut out = Vec::new();
    (named(view).write)(report, &Style::plain(), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn a_report_has_all_its_fields_in_order() {
    let report = &values("json", &reports::dusty())[0];
    assert_eq!(keys(report), ["schema", "inputs", "prose_lines", "findings"]);
    let input = &report["inputs"][0];
    for key in ["format", "input", "lines", "level", "level_words", "sampling", "records"] {
        assert!(!input[key].is_null(), "{key}");
    }
    assert_eq!((&input["skipped"], &input["lost"]), (&json!(1), &json!(0)));
    assert_eq!(input["notes"][0]["line"], 13);
    let first = &report["findings"][0];
    let expected = [
        "verdict",
        "blame",
        "device",
        "group",
        "inputs",
        "severity",
        "confidence",
        "ledger",
        "explained_share",
        "sentence",
        "impact",
        "evidence",
        "refuted_by",
        "next_step",
        "forecast",
        "explained_by",
        "seen",
        "requesters",
    ];
    assert_eq!(keys(first), expected);
    assert_eq!(first["verdict"], "device.retry");
    assert_eq!(first["blame"], "disk");
    assert_eq!(first["evidence"][1]["bound"], json!({"above": 3.1}));
    assert_eq!(first["evidence"][0]["bound"], Value::Null);
    assert_eq!(
        keys(&first["evidence"][0]),
        ["quantity", "value", "unit", "bound", "n", "how", "source"]
    );
    assert_eq!(first["forecast"]["p99_ms"], Value::Null);
    assert_eq!(first["forecast"]["mean_ms"], 1.7);
    assert_eq!(report["findings"][1]["explained_by"], "device.retry");
    assert_eq!(report["prose_lines"][0]["lines"], 143);
}

#[test]
fn the_tables_of_the_page_are_written_from_the_fields() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/JSON.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut now = page.clone();
    for (name, table) in iowhy_show::json_tables() {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end {name} -->"));
        let (head, rest) = now.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
        let (_, tail) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
        now = format!("{head}{begin}{table}{end}{tail}");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(&path, &now).unwrap();
    }
    assert!(now == page, "docs/JSON.md is not what the fields say: set UPDATE_GOLDEN=1");
}

#[test]
fn a_histogram_keeps_its_edges_and_its_exact_sum() {
    let whole = &values("hist-json", &reports::dusty())[0];
    assert_eq!(whole["schema"], "iowhy.hist/1");
    let all = whole["histograms"].as_array().unwrap();
    for known in all {
        let (edges, counts) =
            (known["edges_ns"].as_array().unwrap(), known["counts"].as_array().unwrap());
        assert_eq!(edges.len(), counts.len() + 1);
        let sum: u64 = counts.iter().filter_map(Value::as_u64).sum();
        assert_eq!(known["count"], sum);
    }
    assert_eq!(
        (&all[0]["sum_ns"], &all[0]["op"], &all[0]["count"]),
        (&Value::Null, &Value::Null, &json!(368))
    );
    let events = &all[1];
    assert_eq!(events["edges_ns"].as_array().unwrap().last(), Some(&Value::Null));
    assert_eq!((&events["op"], &events["stage"]), (&json!("read"), &json!("D2C")));
    assert_eq!(events["max_ns"], 235_870_000);
}

#[test]
fn histograms_that_cannot_be_filtered_are_left_out_and_said() {
    let filter = iowhy_model::Filter { pid: Some(16_014), ..Default::default() };
    let style = Style { filter, ..Style::plain() };
    let write = |view: &str, report: &Report| {
        let mut out = Vec::new();
        (named(view).write)(report, &style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let report = reports::gapped();
    let known = report.recording.listings[0].distributions.len();
    assert!(known > 0);
    for view in ["hist-json", "heatmap-json"] {
        let whole: Value = serde_json::from_str(&write(view, &report)).unwrap();
        assert_eq!(whole["left_out"], known, "{view}");
        assert_eq!(whole["histograms"].as_array().or(whole["maps"].as_array()), Some(&vec![]));
    }
    for view in ["histogram", "heatmap", "heatmap-svg"] {
        let text = write(view, &report);
        assert!(text.contains(&format!("{known} histograms left out")), "{view}: {text}");
        assert!(!text.contains("were measured"), "{view}: {text}");
    }
    // Single I/Os can tell, so nothing of theirs is left out.
    let text = write("histogram", &reports::trace());
    assert!(!text.contains("left out"), "{text}");
}

#[test]
fn stat_and_event_lines_follow_their_source() {
    let stat = values("stat-json", &reports::live());
    let schemas: Vec<&str> = stat.iter().filter_map(|line| line["schema"].as_str()).collect();
    assert_eq!(
        schemas,
        ["iowhy.source/1", "iowhy.stat/1", "iowhy.stat/1", "iowhy.stat/1", "iowhy.source/1"]
    );
    assert_eq!(stat[1]["ops"]["read"]["ios_per_s"], 10_993.25);
    assert_eq!(stat[3]["ops"]["read"]["await_ns"], Value::Null);
    assert_eq!(stat[4]["lost"], 1234);
    let events = values("events-json", &reports::dusty());
    let first = events.iter().find(|line| line["schema"] == "iowhy.event/1").unwrap();
    assert_eq!(first["issued_ns"], -77_960_000);
    assert_eq!((&first["queued_ns"], &first["depth"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&first["flags"], &first["comm"], &first["pid"]),
        (&json!("R"), &json!("dd"), &json!(16_014))
    );
}

/// Every key at any depth, those of `ops` aside, whose keys are operations.
fn all_keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let operations = key == "ops";
                found.push(key.clone());
                match value.as_object().filter(|_| operations) {
                    Some(ops) => ops.values().for_each(|rates| all_keys(rates, found)),
                    None => all_keys(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| all_keys(value, found)),
        _ => {}
    }
}

#[test]
fn the_manual_of_the_schemas_is_complete_and_its_examples_are_real() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/JSON.md");
    let manual = std::fs::read_to_string(path).unwrap();
    let mut written = Vec::new();
    for (view, report) in [
        ("json", reports::dusty()),
        ("hist-json", reports::dusty()),
        ("stat-json", reports::live()),
        ("events-json", reports::dusty()),
        ("heatmap-json", reports::trace()),
    ] {
        values(view, &report).iter().for_each(|value| all_keys(value, &mut written));
    }
    for key in &written {
        assert!(
            manual.contains(&format!("`{key}`")) || manual.contains(&format!("\"{key}\"")),
            "{key}"
        );
    }
    let examples: Vec<&str> = manual.split("```json\n").skip(1).collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        let text = example.split("```").next().unwrap();
        let value: Value = serde_json::from_str(text).unwrap();
        let mut shown = Vec::new();
        all_keys(&value, &mut shown);
        let unknown: Vec<&String> = shown.iter().filter(|key| !written.contains(key)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
