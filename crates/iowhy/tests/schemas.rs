//! The JSON Schema of all `--json` output (`docs/iowhy.schema.json`, which packages ship) is
//! written from the tables of `docs/JSON.md` and the types below, and real output is checked with
//! it.
//!
//! `UPDATE_GOLDEN=1` writes it anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::folder::Folder;

/// The objects, in the order of their tables in `docs/JSON.md`: name, schema, and of each key its
/// type. A key with `?` may be missing. Types: those of JSON Schema, `any`, `[T]` an array of T,
/// `$name` another object, `|` between alternatives.
const OBJECTS: &[(&str, Option<&str>, &str)] = &[
    (
        "source",
        Some("iowhy.source/1"),
        "format:string input:string lines:[integer]|null level:string level_words:string sampling:string \
         sees_queue:boolean resolution_ns:integer|null zero_ns:integer|null watched_ns:integer|null host:string|null \
         host_name?:string kernel?:string zone?:string \
         records:integer folded:integer skipped:integer lost:integer losses:[$loss] notes:[$note]",
    ),
    (
        "comparison",
        Some("iowhy.comparison/1"),
        "differs:boolean explained_by:$explained_by sentence:string a:$side b:$side tests:integer differences:[$difference]",
    ),
    (
        "difference",
        None,
        "group:string quantity:string unit:string a:number|null b:number|null n_a:integer n_b:integer ratio:number|null \
         ratio_95:[number|null]|null superiority:number|null chance:number|null differs:boolean",
    ),
    (
        "report",
        Some("iowhy.report/2"),
        "inputs:[$source] prose_lines:[$prose_lines] findings:[$finding]",
    ),
    (
        "finding",
        None,
        "verdict:string blame:string device:string|null names?:$names group:string|null inputs:[integer] severity:string|null \
         confidence:number|null ledger:[$ledger] explained_share:number|null sentence:string impact:$impact|null \
         evidence:[$evidence] refuted_by:[string] next_step:[string] forecast:$forecast|null explained_by:string|null \
         seen:[$seen] requesters:[$requester]",
    ),
    (
        "ledger",
        None,
        "step:string why:string weight:number|null value:number|null bound:$bound|null after:number|null",
    ),
    (
        "impact",
        None,
        "waited_s_per_s:number|null worst_waited_s_per_s:number|null mean_ms:number|null median_ms:number|null \
         p99_ms:number|null longest_ms:number|null slow_over_ms:number|null slow_share:number|null slow_share_most:number|null",
    ),
    ("seen", None, "evidence:$evidence would_mean:string verdict:string|null"),
    (
        "requester",
        None,
        "program:string|null pid:integer|null cgroup:string|null unit?:string container?:string container_name?:string \
         pod?:string pod_name?:string file:string|null journal?:string share:number",
    ),
    (
        "evidence",
        None,
        "quantity:string value:number|null unit:string bound:$bound|null n:integer how:string source:string|null",
    ),
    (
        "forecast",
        None,
        "now_mean_ms:number|null mean_ms:number|null mean_from_ms:number|null mean_to_ms:number|null p99_ms:number|null \
         assuming:string",
    ),
    ("hist", Some("iowhy.hist/1"), "inputs:[$source] left_out:integer histograms:[$histogram]"),
    (
        "histogram",
        None,
        "device:string op:string|null stage:string layer:string input:integer edges_ns:[integer|null] counts:[integer] \
         sum_ns:number|null min_ns:integer|null max_ns:integer|null count:integer lost:integer start_ns:integer|null \
         length_ns:integer|null bytes:integer|null label:string|null names?:$names",
    ),
    (
        "map",
        Some("iowhy.map/1"),
        "inputs:[$source] left_out:integer maps_left_out:integer maps:[$heat_map]",
    ),
    (
        "column",
        None,
        "start_ns:integer length_ns:integer ios:[integer] waited_ns:[number|null] exact_sum:boolean \
         p50_ns:[integer|null]|null p99_ns:[integer|null]|null",
    ),
    (
        "stat",
        Some("iowhy.stat/1"),
        "at?:string at_ns?:integer device:string layer:string names?:$names start_ns:integer|null length_ns:integer|null since_boot:boolean ops:object \
         mixed:object|null await_ns:number|null wait_ns:number|null device_ns:number|null aqu_sz:number|null \
         active_len:number|null busy_share:number|null svctm_ns:number|null in_flight:integer|null",
    ),
    (
        "event",
        Some("iowhy.event/1"),
        "at?:string at_ns?:integer device:string op:string layer:string flags:string|null queued_ns:integer|null issued_ns:integer|null \
         completed_ns:integer|null sector:integer|null bytes:integer|null pid:integer|null comm:string|null depth:integer|null \
         arrived_ns?:integer cgroup?:string|null file?:string|null cpu?:integer queue?:integer error:integer|null",
    ),
    (
        "record",
        Some("iowhy.record/1"),
        "files:[string] bytes:integer events:integer lost:integer losses:[$loss] unwritten:integer stopped_early:boolean \
         seconds:number cpu_ns:integer",
    ),
    (
        "incident",
        Some("iowhy.incident/1"),
        "id:string at?:string at_ns:integer began?:string began_ns?:integer until?:string until_ns?:integer over?:boolean \
         boot?:string|null length_s?:number trigger?:string|null device?:string|null verdict?:string|null blame?:string|null \
         confidence?:number|null explained_share?:number|null sentence?:string|null mounts?:[string] names?:$names|null who?:any \
         owner?:string|null others?:[object] \
         lost_s?:number|null alarms?:[object] more_alarms?:integer suppressed_before?:integer ios_lost?:integer|null \
         thinned?:any blocks_cut?:integer capture?:string|null report?:object unwritten_s?:number",
    ),
    (
        "syscalls",
        Some("iowhy.syscalls/1"),
        "seconds:number calls:[$call] unfinished:[object] disk:[object] losses:[$loss] disk_lost:integer",
    ),
    (
        "uprobe",
        Some("iowhy.uprobe/1"),
        "binary:string function:string measured:string seconds:number calls:[object] losses:[$loss]",
    ),
    (
        "waits",
        Some("iowhy.waits/1"),
        "seconds:number sum_ns:integer io_sum_ns:integer ended:[$wait_end] waits:[$wait] losses:[$loss]",
    ),
    (
        "probe",
        Some("iowhy.probe/1"),
        "kind:string answer:[string] tables:[object] text:string|null ended_early:string|null engine:object report:$report",
    ),
    ("doctor", Some("iowhy.doctor/1"), "checks:[$check]"),
    ("check", None, "what:string ok:boolean detail:string consequence:string"),
    (
        "explain",
        Some("iowhy.explain/1"),
        "family?:string name?:string summary?:string manual?:string looks_for?:string|null entries?:[object]",
    ),
];

/// Objects that the page describes in a cell of another's table, or above it.
const WITHIN: &[(&str, &str)] = &[
    ("bound", "above?:number|null below?:number|null between?:[number|null]"),
    (
        "call",
        "call:string op:string|null file:string|null mount:string|null file_system:string|null pid:integer comm:string \
         count:integer failed:integer bytes:integer|null sum_ns:number min_ns:integer p50_ns:integer|null p99_ns:integer|null max_ns:integer buckets:[object]",
    ),
    ("explained_by", "side:string|null verdict:string|null"),
    (
        "heat_map",
        "device:string stage:string input:integer edges_ns:[integer|null] columns:[$column]",
    ),
    ("loss", "what:string count:integer"),
    (
        "names",
        "dm?:string kind?:string vg?:string lv?:string md?:string backing_file?:string disk?:string mounts?:[string] \
         by_id?:[string] by_label?:[string] by_uuid?:[string] by_partuuid?:[string] by_path?:[string] \
         partitions?:[string] made_of?:[string] part_of?:[string] volumes?:[string]",
    ),
    ("note", "line:integer|null text:string reason:string"),
    ("prose_lines", "input:string lines:integer"),
    ("side", "name:string records:integer verdicts:[$side_verdict]"),
    (
        "side_verdict",
        "verdict:string device:string|null confidence:number|null explained_share:number|null stands:boolean sentence:string",
    ),
    (
        "wait",
        "pid:integer comm:string for_io:boolean function:string|null waits_for:string|null stack:[string] \
         user_stack:[string] state:string count:integer unfinished:integer earlier:integer sum_ns:integer max_ns:integer ended:[$wait_end]",
    ),
    (
        "device_trend",
        "device:string op:string alone:boolean drift:string times:number|null chance:number|null days:[$trend_day]",
    ),
    ("trend_day", "day:string ios:integer p50_ns:number|null p99_ns:number|null"),
    (
        "wait_end",
        "by:string comm:string|null device:string|null operation:string|null count:integer sum_ns:integer late_ns:integer \
         d2c_count:integer d2c_sum_ns:integer d2c_max_ns:integer",
    ),
];

/// Schemas of lists of other objects.
const LISTS: &[(&str, &str, &str)] = &[
    ("incidents", "iowhy.incidents/1", "incidents:[$incident] unread:integer"),
    ("trend", "iowhy.trend/1", "trends:[$device_trend]"),
];

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Keys with their meanings, of each table of keys in the page.
fn tables(page: &str) -> Vec<Vec<(String, String)>> {
    let mut tables: Vec<Vec<(String, String)>> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("| key") {
            tables.push(Vec::new());
            inside = true;
        } else if !line.starts_with('|') {
            inside = false;
        } else if inside && line.starts_with("| `") {
            let (keys, meaning) = line[2..].trim_end_matches('|').split_once(" | ").unwrap();
            if keys.contains(" named ") {
                continue;
            }
            for key in keys.split('`').skip(1).step_by(2) {
                tables.last_mut().unwrap().push((key.to_string(), meaning.trim().to_string()));
            }
        }
    }
    tables
}

fn schema_of(kind: &str) -> Value {
    let alternatives: Vec<&str> = top_level(kind);
    if alternatives.len() > 1 {
        return json!({"anyOf": alternatives.into_iter().map(schema_of).collect::<Vec<_>>()});
    }
    match kind.strip_prefix('[') {
        Some(inner) => {
            json!({"type": "array", "items": schema_of(inner.strip_suffix(']').unwrap())})
        }
        None if kind == "any" => json!({}),
        None => match kind.strip_prefix('$') {
            Some(name) => json!({"$ref": format!("#/$defs/{name}")}),
            None => json!({"type": kind}),
        },
    }
}

/// Splits at `|` outside of brackets.
fn top_level(kind: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, letter) in kind.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&kind[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&kind[from..]);
    parts
}

/// The object of these types; every key of its table must have one, and the other way round.
fn object(
    name: &str,
    schema: Option<&str>,
    types: &str,
    table: Option<&[(String, String)]>,
) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(schema) = schema {
        // A source in a report has no schema of its own.
        properties.insert("schema".to_string(), json!({"const": schema}));
        if name != "source" && name != "incident" && name != "report" {
            required.push("schema");
        }
    }
    for pair in types.split_whitespace() {
        let (key, kind) = pair.split_once(':').unwrap();
        let mut of_key = schema_of(kind);
        let plain = key.trim_end_matches('?');
        if let Some(table) = table {
            let meanings = table.iter().filter(|(known, _)| known == plain);
            let meanings: Vec<&str> = meanings.map(|(_, meaning)| meaning.as_str()).collect();
            assert_eq!(meanings.len(), 1, "docs/JSON.md, {name}: `{plain}`");
            of_key["description"] = meanings[0].into();
        }
        if plain == key {
            required.push(key);
        }
        properties.insert(plain.to_string(), of_key);
    }
    for (key, _) in table.unwrap_or_default() {
        assert!(properties.contains_key(key), "{name}: `{key}` of docs/JSON.md has no type here");
    }
    json!({"type": "object", "properties": properties, "required": required})
}

fn whole() -> Value {
    let page = std::fs::read_to_string(tree().join("docs/JSON.md")).unwrap();
    let tables = tables(&page);
    assert_eq!(tables.len(), OBJECTS.len(), "tables of keys in docs/JSON.md");
    let mut all = Map::new();
    let mut outputs = Vec::new();
    for ((name, schema, types), table) in OBJECTS.iter().zip(&tables) {
        all.insert((*name).to_string(), object(name, *schema, types, Some(table)));
        outputs.extend(schema.is_some().then_some(*name));
    }
    for (name, schema, types) in LISTS {
        all.insert((*name).to_string(), object(name, Some(schema), types, None));
        outputs.push(name);
    }
    for (name, types) in WITHIN {
        all.insert((*name).to_string(), object(name, None, types, None));
    }
    let listed = page.lines().filter(|line| line.starts_with("| `iowhy.")).count();
    let outputs: Vec<Value> = outputs
        .into_iter()
        .map(|name| {
            let of = json!({"$ref": format!("#/$defs/{name}")});
            json!({"allOf": [of, {"required": ["schema"]}]})
        })
        .collect();
    // `iowhy.source/1` stands in the cells of others.
    assert_eq!(listed + 1, outputs.len(), "schemas in the first table of docs/JSON.md");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "JSON output of iowhy",
        "description": "One object or line of any `--json` output. Fields may be added within a version.",
        "oneOf": outputs,
        "$defs": all,
    })
}

/// The part of JSON Schema that is used here.
fn check(value: &Value, schema: &Value, whole: &Value, place: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let of = &whole["$defs"][name.trim_start_matches("#/$defs/")];
        assert!(of.is_object(), "{name}");
        check(value, of, whole, place)?;
    }
    for (key, needed) in [("anyOf", 1), ("oneOf", 1), ("allOf", usize::MAX)] {
        let Some(all) = schema[key].as_array() else { continue };
        let outcomes: Vec<_> = all.iter().map(|one| check(value, one, whole, place)).collect();
        let fit = outcomes.iter().filter(|one| one.is_ok()).count();
        let enough = match key {
            "oneOf" => fit == 1,
            _ => fit >= needed.min(all.len()),
        };
        if !enough {
            let why: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
            return Err(why.join("\n"));
        }
    }
    if schema.get("const").is_some_and(|wanted| wanted != value) {
        return Err(format!("{place}: {value} is not {}", schema["const"]));
    }
    let fits = match schema["type"].as_str() {
        None => true,
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("{other}"),
    };
    if !fits {
        return Err(format!("{place}: {value} is not of type {}", schema["type"]));
    }
    for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(key).is_none() {
            return Err(format!("{place}: `{key}` is missing"));
        }
    }
    if let (Some(properties), Some(object)) = (schema["properties"].as_object(), value.as_object())
    {
        for (key, inner) in object {
            if let Some(of) = properties.get(key) {
                check(inner, of, whole, &format!("{place}.{key}"))?;
            } else {
                // Within a version fields may be added, and then docs/JSON.md has to list them.
                let known = ["schema"].contains(&key.as_str());
                assert!(known || properties.is_empty(), "{place}: `{key}` is not in docs/JSON.md");
            }
        }
    }
    if let (Some(of), Some(all)) = (schema.get("items"), value.as_array()) {
        for (at, inner) in all.iter().enumerate() {
            check(inner, of, whole, &format!("{place}[{at}]"))?;
        }
    }
    Ok(())
}

/// All objects that a command writes; `None` if it has no result.
fn output(words: &[&str]) -> Option<Vec<Value>> {
    let run = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(words)
        .arg("--json")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let values = serde_json::Deserializer::from_slice(&run.stdout).into_iter();
    let values: Vec<Value> = values.map(Result::unwrap).collect();
    if values.is_empty() {
        println!("{words:?}: {}", String::from_utf8_lossy(&run.stderr).trim());
    }
    (!values.is_empty()).then_some(values)
}

fn fits(words: &[&str], whole: &Value) -> usize {
    let values = output(words).unwrap_or_default();
    for value in &values {
        let shown: String = value.to_string().chars().take(200).collect();
        // By its own schema, for a short message, and as one of all.
        let name = value["schema"].as_str().unwrap();
        let name = name.trim_start_matches("iowhy.").split('/').next().unwrap();
        let of = json!({"$ref": format!("#/$defs/{name}")});
        check(value, &of, whole, name).unwrap_or_else(|why| panic!("{words:?}: {why}\n{shown}"));
        check(value, whole, whole, "").unwrap_or_else(|why| panic!("{words:?}: {why}\n{shown}"));
    }
    values.len()
}

#[test]
fn the_schema_is_what_the_page_and_the_types_say() {
    let path = tree().join("docs/iowhy.schema.json");
    let text = format!("{:#}\n", whole());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        known == text,
        "docs/iowhy.schema.json is not what docs/JSON.md says: set UPDATE_GOLDEN=1"
    );
}

#[test]
fn what_commands_write_fits_the_schema() {
    let whole = whole();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let capture = |case: &str| cases.join(case).join("capture.txt").display().to_string();
    let mut seen = 0;
    for entry in std::fs::read_dir(&cases).unwrap() {
        let file = entry.unwrap().path().join("capture.txt").display().to_string();
        seen += fits(&["why", &file], &whole);
    }
    for case in
        ["dusty-disk", "direct-mount", "one-of-seventeen", "full-is-not-full", "seven-seconds"]
    {
        for command in ["stat", "hist", "map", "snoop"] {
            seen += fits(&[command, &capture(case)], &whole);
        }
    }
    assert!(seen > 200, "{seen}");
    assert_eq!(fits(&["compare", &capture("dusty-disk"), &capture("direct-mount")], &whole), 1);
    assert_eq!(fits(&["doctor"], &whole), 1);
    assert_eq!(fits(&["explain"], &whole), 1);
    assert_eq!(fits(&["explain", "device.retry"], &whole), 1);
    assert_eq!(fits(&["explain", "etcd-log"], &whole), 1);
}

#[test]
fn what_watching_commands_write_fits_the_schema() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: what is traced: needs root");
        return;
    }
    let whole = whole();
    let folder = Folder::new("schemas");
    let [store, trace, file] = ["store", "trace.iowhy", "file"].map(|name| folder.file(name));
    std::fs::write(&file, vec![1; 1 << 20]).unwrap();
    let mut seen = 0;
    for words in [
        &["why", "--for", "1s"][..],
        &["stat", "1", "1"],
        &["hist", "1", "1"],
        &["snoop", "--for", "1s"],
        &["map", "--for", "1s"],
        &["syscalls", "--for", "1s"],
        &["waits", "--for", "1s"],
        &["record", "-o", &trace, "--for", "1s"],
        &["probe", "read-latency", &file, "--for", "1s"],
    ] {
        seen += fits(words, &whole);
    }
    assert!(seen > 3, "{seen}");
    let mut recorder = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["watch", "--store", &store, "--for", "12s"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(4));
    let mark = Command::new(env!("CARGO_BIN_EXE_iowhy"))
        .args(["mark", "--store", &store, "a test"])
        .status();
    assert!(mark.unwrap().success());
    recorder.wait().unwrap();
    let listed = output(&["incidents", "--store", &store]).unwrap();
    assert!(!listed[0]["incidents"].as_array().unwrap().is_empty(), "{listed:?}");
    fits(&["incidents", "--store", &store], &whole);
}

#[test]
fn the_check_finds_what_does_not_fit() {
    let whole = whole();
    let wrong = |value: Value| check(&value, &whole, &whole, "").is_err();
    assert!(wrong(json!({})));
    assert!(wrong(json!({"schema": "iowhy.nothing/1"})));
    assert!(wrong(json!({"schema": "iowhy.doctor/1"})));
    assert!(wrong(
        json!({"schema": "iowhy.doctor/1", "checks": [{"what": "a", "ok": 1, "detail": "", "consequence": ""}]})
    ));
    assert!(!wrong(
        json!({"schema": "iowhy.doctor/1", "checks": [{"what": "a", "ok": true, "detail": "", "consequence": ""}]})
    ));
}
