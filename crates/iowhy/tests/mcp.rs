//! `iowhy mcp`, driven as a client drives it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::folder::Folder;

/// The five source documents: the case made of each, the number of its file in `shared/sources`,
/// and the verdict.
const SOURCES: [(&str, &str, &str); 5] = [
    ("dusty-disk", "000", "device.retry"),
    ("missed-revolution", "001", "load.missed-revolution"),
    ("full-is-not-full", "002", "cap.volume"),
    ("one-of-seventeen", "003", "peer.outlier"),
    ("direct-mount", "004", "load.small-sync"),
];

struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn new(words: &[&Path]) -> Client {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iowhy"))
            .arg("mcp")
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Client { child, input, output, last: 0 }
    }

    fn send(&mut self, text: &str) {
        writeln!(self.input.as_mut().unwrap(), "{text}").unwrap();
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        let answer = self.receive();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        answer
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The code of the error that a message is answered with.
    fn code(&mut self, message: &str) -> (i64, Value) {
        self.send(message);
        let answer = self.receive();
        (
            answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}")),
            answer["id"].clone(),
        )
    }

    fn ends(mut self) {
        drop(self.input.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn text(result: &Value) -> String {
    let content = result["content"].as_array().unwrap();
    content.iter().filter_map(|one| one["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_client_gets_the_verdicts_of_the_five_sources() {
    let mut client = Client::new(&[&cases()]);
    let hello = client.ask(
        "initialize",
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}),
    );
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["serverInfo"]["name"], "iowhy");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    let tools = client.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["compare", "doctor", "explain", "incidents", "stat", "why"]);
    assert!(tools.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
    for (case, _, verdict) in SOURCES {
        let result = client.call("why", json!({"files": [format!("{case}/capture.txt")]}));
        assert_eq!(result["isError"], false, "{case}: {result}");
        let report = &result["structuredContent"];
        assert_eq!(report["schema"], "iowhy.report/2");
        assert_eq!(serde_json::from_str::<Value>(&text(&result)).unwrap(), *report);
        assert_eq!(report["findings"][0]["verdict"], verdict, "{case}");
    }
    client.ends();
}

#[test]
fn a_client_gets_the_verdicts_of_the_five_source_documents_as_published() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sources");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: needs ../shared/sources");
        return;
    };
    let names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    let mut client = Client::new(&[&folder]);
    for (_, number, verdict) in SOURCES {
        let file = names.iter().find(|name| name.starts_with(number)).unwrap();
        let result = client.call("why", json!({"files": [file]}));
        let report = &result["structuredContent"];
        assert_eq!(report["findings"][0]["verdict"], verdict, "{file}: {result}");
    }
    client.ends();
}

#[test]
fn the_stateless_revision_needs_no_handshake() {
    let mut client = Client::new(&[]);
    let meta = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}});
    let found = client.ask("server/discover", json!({"_meta": meta("2026-07-28")}));
    let versions = &found["result"]["supportedVersions"];
    assert_eq!((&versions[0], &versions[1]), (&json!("2026-07-28"), &json!("2025-11-25")));
    assert_eq!(found["result"]["resultType"], "complete");
    assert!(found["result"]["ttlMs"].is_u64());
    let result = client.ask(
        "tools/call",
        json!({"_meta": meta("2026-07-28"), "name": "why", "arguments": {"example": "one-of-seventeen"}}),
    );
    let result = &result["result"];
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "iowhy");
    assert_eq!(result["structuredContent"]["findings"][0]["device"], "sdy");
    let refused = client.ask("tools/list", json!({"_meta": meta("2030-01-01")}));
    assert_eq!(refused["error"]["code"], -32022);
    assert_eq!(refused["error"]["data"]["requested"], "2030-01-01");
    // A client that knows no version of ours is offered one with a handshake.
    let hello = client.ask("initialize", json!({"protocolVersion": "1.0"}));
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    client.ends();
}

#[test]
fn bad_messages_have_errors_and_the_server_goes_on() {
    let mut client = Client::new(&[]);
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"why","arguments":{arguments}}}}}"#
        )
    };
    for (message, code, id) in [
        ("{".to_string(), -32700, json!(null)),
        ("\u{1}\u{fffd}".to_string(), -32700, json!(null)),
        ("[".repeat(100_000), -32700, json!(null)),
        ("[]".to_string(), -32600, json!(null)),
        (r#"{"id":7}"#.to_string(), -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#.to_string(), -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/run"}"#.to_string(), -32601, json!(7)),
        (r#"{"jsonrpc":"2.0","id":"a","method":"resources/list"}"#.to_string(), -32601, json!("a")),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#.to_string(), -32602, json!(7)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#.to_string(), -32602, json!(7)),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"probe"}}"#
                .to_string(),
            -32602,
            json!(7),
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"2"}}"#.to_string(),
            -32602,
            json!(7),
        ),
        (call("[]"), -32602, json!(7)),
        (call(r#"{"learn":"/tmp/x"}"#), -32602, json!(7)),
        (call(r#"{"files":"a.txt"}"#), -32602, json!(7)),
        (call(r#"{"example":"a\u0000b"}"#), -32602, json!(7)),
        (call(r#"{"seconds":3600}"#), -32602, json!(7)),
        (format!("\"{}\"", "x".repeat(2_000_000)), -32600, json!(null)),
    ] {
        let shown: String = message.chars().take(100).collect();
        assert_eq!(client.code(&message), (code, id), "{shown}");
    }
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    client.ends();
}

#[test]
fn what_was_not_named_is_not_read() {
    let folder = Folder::new("mcp");
    let named = folder.0.join("named");
    std::fs::create_dir_all(&named).unwrap();
    let capture = std::fs::read(cases().join("dusty-disk/capture.txt")).unwrap();
    std::fs::write(named.join("inside.txt"), &capture).unwrap();
    std::fs::write(folder.0.join("secret.txt"), &capture).unwrap();
    std::fs::write(named.join("inside.txt@0-30s"), &capture).unwrap();
    std::os::unix::fs::symlink(folder.0.join("secret.txt"), named.join("link.txt")).unwrap();
    let mut client = Client::new(&[&named]);
    let whole = named.join("inside.txt").display().to_string();
    for inside in ["inside.txt", "../named/inside.txt", &whole] {
        let result = client.call("why", json!({"files": [inside]}));
        assert_eq!(
            result["structuredContent"]["findings"][0]["verdict"], "device.retry",
            "{inside}"
        );
    }
    let secret = folder.0.join("secret.txt").display().to_string();
    let mut texts = Vec::new();
    for outside in
        ["link.txt", "../secret.txt", &secret, "/etc/passwd", "-", "--ask", "nothing.txt", ""]
    {
        for tool in ["why", "stat"] {
            let result = client.call(tool, json!({"files": [outside]}));
            let is_named_folder = outside.is_empty();
            assert_eq!(result["isError"] == true, !is_named_folder, "{outside}: {result}");
            assert!(!text(&result).contains("secret.txt\",\"lines"), "{outside}: {result}");
            if outside == "link.txt" || outside == "nothing.txt" {
                texts.push(text(&result).replace(outside, ""));
            }
        }
    }
    // Whether it is there is not reported.
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    // A value is not an option, and no part of a comparison leads elsewhere.
    let result = client.call("why", json!({"example": "--help"}));
    assert_eq!(result["isError"], true, "{result}");
    for stretch in ["0-30s", "0-30s/../../secret.txt", "x"] {
        let sides = json!({"a": "inside.txt", "a_range": stretch, "b": "inside.txt"});
        let result = client.call("compare", sides);
        assert_eq!(result["isError"], true, "{stretch}: {result}");
    }
    let result =
        client.call("compare", json!({"a": "inside.txt", "b": "inside.txt", "b_range": "0-40s"}));
    assert_eq!(result["structuredContent"]["schema"], "iowhy.comparison/1", "{result}");
    client.ends();
    let mut client = Client::new(&[]);
    let result = client.call("why", json!({"files": [whole]}));
    assert_eq!(result["isError"], true, "{result}");
    client.ends();
    // A file alone: its neighbours stay closed.
    let mut client = Client::new(&[&named.join("inside.txt")]);
    let result = client.call("why", json!({"files": ["inside.txt"]}));
    assert_eq!(result["isError"], false, "{result}");
    let result = client.call("why", json!({"files": [named.join("inside.txt@0-30s")]}));
    assert_eq!(result["isError"], true, "{result}");
    client.ends();
}

#[test]
fn every_tool_answers() {
    let empty = Folder::new("mcp-store");
    let mut client = Client::new(&[Path::new("--store"), &empty.0, &cases()]);
    let result = client.call("explain", json!({"name": "device.retry"}));
    assert_eq!(result["structuredContent"]["schema"], "iowhy.explain/1", "{result}");
    let result = client.call("explain", json!({}));
    assert!(result["structuredContent"]["entries"].as_array().unwrap().len() > 100);
    let result = client.call("doctor", json!({}));
    assert_eq!(result["structuredContent"]["schema"], "iowhy.doctor/1", "{result}");
    let result =
        client.call("stat", json!({"files": ["dusty-disk/capture.txt"], "device": ["sdb"]}));
    let rows = result["structuredContent"]["values"].as_array().unwrap();
    assert_eq!(rows[0]["schema"], "iowhy.source/1", "{result}");
    assert!(rows.iter().any(|row| row["schema"] == "iowhy.stat/1"), "{result}");
    let result = client.call("stat", json!({"seconds": 1}));
    assert_eq!(result["isError"], false, "{result}");
    let result = client.call("incidents", json!({"since": "-2h"}));
    assert!(!text(&result).is_empty(), "{result}");
    let result = client.call("why", json!({"at": "-2h"}));
    assert!(!text(&result).is_empty(), "{result}");
    client.ends();
}

#[test]
fn a_call_that_is_cancelled_has_no_answer_and_holds_nobody_up() {
    let begin = std::time::Instant::now();
    let mut client = Client::new(&[]);
    client.send(
        &json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call",
            "params": {"name": "why", "arguments": {"seconds": 50}}})
        .to_string(),
    );
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    let result = client.call("explain", json!({"name": "Q2D"}));
    assert_eq!(result["isError"], false, "{result}");
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}})
            .to_string(),
    );
    let Client { child, input, mut output, .. } = client;
    let mut child = child;
    drop(input);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut output, &mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("", Some(0)));
    assert!(begin.elapsed().as_secs() < 40);
}
