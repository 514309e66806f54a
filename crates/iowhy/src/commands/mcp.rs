//! A server for agents: verdicts, incidents and comparisons over the Model Context Protocol.
//!
//! ## Does
//! Serves JSON-RPC 2.0 on standard input and output, one message per line, for programs that let a
//! language model call tools (<https://modelcontextprotocol.io/specification/2026-07-28>). It
//! serves the revision 2026-07-28, which has no handshake, and 2025-11-25, 2025-06-18 and
//! 2024-11-05, which begin with `initialize`. The tools are `why`, `incidents`, `compare`,
//! `explain`, `doctor` and `stat`. All of them are read-only; each returns the JSON that the
//! command of the same name prints with `--json`.
//!
//! Captures are read only from paths given on the command line: a file, or a folder with everything
//! below it; a link that leads out of the folder is refused. Without a path the server reads this
//! machine, the store of `iowhy watch` and the bundled examples. Each call runs in its own process,
//! which confines itself like the command of the same name before it reads the first byte: the
//! process that parses a capture has no capability, no socket and no other file. At most four calls
//! run at once. A call watches for at most one minute.
//!
//! ## Examples
//! `iowhy mcp`: this machine, its recorder's store, and the manuals.
//! `iowhy mcp /srv/captures`: also the captures in this folder.
//! `{"mcpServers": {"iowhy": {"command": "iowhy", "args": ["mcp", "/srv/captures"]}}}`: client
//! settings.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

use anyhow::Context;
use clap::{Args, FromArgMatches};
use serde_json::{Map, Value, json};

use crate::command::{Command, Status};
use crate::sanitised;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "mcp",
    summary: "A server for agents (Model Context Protocol) on standard input and output",
    manual: iowhy_model::manual!("mcp.rs"),
    arguments: Mcp::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Mcp {
    /// Files and folders (recursively) that the server may read
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// The recorder's store [default: /var/lib/iowhy]
    #[arg(long, value_name = "DIR", help_heading = "Recorded by `iowhy watch`")]
    store: Option<PathBuf>,
}

/// The revision that sends its version in each request (schema/2026-07-28 of the specification).
const STATELESS: &str = "2026-07-28";
/// Revisions that begin with `initialize`, newest first, without 2025-03-26, which has batches.
const WITH_HANDSHAKE: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];
/// The key of a request's revision.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the server's name in a result.
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// How long a client may keep the list of tools, ms: it does not change while the server runs.
const KEPT_MS: u64 = 3_600_000;

/// A longer message is refused, bytes.
const LONGEST_MESSAGE: u64 = 1 << 20;
/// A longer answer of a command is refused, bytes.
const LONGEST_ANSWER: u64 = 16 << 20;
/// Maximum stderr of a command that is kept, bytes.
const LONGEST_WARNING: u64 = 16 << 10;
/// Maximum number of concurrent calls.
const AT_ONCE: usize = 4;
/// The maximum time that a call watches, s.
const LONGEST_WATCH: u64 = 60;

/// An error of the protocol: code and message.
struct Fault(i64, String);

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;

/// A tool: a command with the arguments that an agent may give.
struct Tool {
    name: &'static str,
    description: &'static str,
    parameters: &'static [Parameter],
    /// The arguments after `--json`, or why there are none.
    words: fn(&Given, &Server) -> Result<Vec<OsString>, String>,
}

struct Parameter {
    name: &'static str,
    kind: Kind,
    description: &'static str,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Texts,
    /// A whole number from 1 to this.
    Number(u64),
}

const FILES: Parameter = Parameter {
    name: "files",
    kind: Kind::Texts,
    description: "Captured output of tools (iostat, biosnoop, fio, SMART, kernel logs, ...), as \
                  files or folders",
};
const DEVICES: Parameter = Parameter {
    name: "device",
    kind: Kind::Texts,
    description: "Only these devices, such as `sda` or `nvme0n1`",
};
const SINCE: Parameter = Parameter {
    name: "since",
    kind: Kind::Text,
    description: "Start of the time range: `yesterday 22:00`, `-2h`, `2026-11-22 03:12:07`",
};
const UNTIL: Parameter =
    Parameter { name: "until", kind: Kind::Text, description: "End of the time range" };

/// The tools, sorted by name.
const TOOLS: [Tool; 6] = [
    Tool {
        name: "compare",
        description: "Significant differences between two captures, or two recorded moments, and \
                      the verdict that explains them (iowhy.comparison/1). Give `a` and `b`, or \
                      `at` with two moments.",
        parameters: &[
            Parameter { name: "a", kind: Kind::Text, description: "The earlier capture" },
            Parameter { name: "b", kind: Kind::Text, description: "The later capture" },
            Parameter {
                name: "a_range",
                kind: Kind::Text,
                description: "Only this time range of `a`, counted from its start: `0-30s`",
            },
            Parameter {
                name: "b_range",
                kind: Kind::Text,
                description: "Only this time range of `b`, counted from its start: `30s-60s`",
            },
            Parameter {
                name: "at",
                kind: Kind::Texts,
                description: "Two recorded moments: `yesterday 03:12`, `03:12`",
            },
            DEVICES,
        ],
        words: compare,
    },
    Tool {
        name: "doctor",
        description: "What iowhy can watch on this machine, what is missing, and the consequences \
                      (iowhy.doctor/1).",
        parameters: &[],
        words: |_, _| Ok(Vec::new()),
    },
    Tool {
        name: "explain",
        description: "The manual of a verdict, format, view, collector, command or probe \
                      (iowhy.explain/1). Without a name, a list of all.",
        parameters: &[Parameter {
            name: "name",
            kind: Kind::Text,
            description: "A name such as `device.retry` or `biosnoop`, or a list: `formats`, \
                          `verdicts`, `views`, `collectors`, `commands`, `kinds`, `words`",
        }],
        words: |given, _| {
            Ok(given.text("name").into_iter().flat_map(|name| ["--".into(), name.into()]).collect())
        },
    },
    Tool {
        name: "incidents",
        description: "The incidents found by the flight recorder `iowhy watch` on this machine: \
                      when, which device, the verdict, the time lost (iowhy.incidents/1). `why` \
                      with `at` gives the full verdict of one.",
        parameters: &[SINCE, UNTIL, DEVICES],
        words: |given, server| {
            let mut words = server.store();
            words.extend(given.options(&["since", "until", "device"]));
            Ok(words)
        },
    },
    Tool {
        name: "stat",
        description: "Rates, mean latency, queue and busy share of each device, from captures or \
                      of this machine now, by default five times a second apart (iowhy.stat/1).",
        parameters: &[
            FILES,
            DEVICES,
            Parameter {
                name: "seconds",
                kind: Kind::Number(LONGEST_WATCH),
                description: "How many seconds to watch this machine [default: 5]",
            },
        ],
        words: |given, server| {
            let mut words: Vec<OsString> = given.options(&["device"]).collect();
            words.push("--".into());
            words.extend(server.captures(given)?);
            if given.texts("files").is_empty() {
                let seconds = given.number("seconds").unwrap_or(5);
                words.extend(["1".into(), seconds.to_string().into()]);
            }
            Ok(words)
        },
    },
    Tool {
        name: "why",
        description: "The verdict: why is the I/O slow, and is it the workload or the disk? With \
                      its confidence, evidence, what would refute it and the next step \
                      (iowhy.report/2). Judges all given captures together, or one recorded \
                      moment, or watches this machine now.",
        parameters: &[
            FILES,
            Parameter {
                name: "example",
                kind: Kind::Text,
                description: "A capture that is bundled with iowhy: `direct-mount`, `dusty-disk` \
                              or `one-of-seventeen`",
            },
            Parameter {
                name: "at",
                kind: Kind::Text,
                description: "A recorded moment: `03:12`, `yesterday 03:12`, `-2h`",
            },
            SINCE,
            UNTIL,
            DEVICES,
            Parameter {
                name: "seconds",
                kind: Kind::Number(LONGEST_WATCH),
                description: "How many seconds to watch this machine [default: 10]",
            },
        ],
        words: why,
    },
];

fn why(given: &Given, server: &Server) -> Result<Vec<OsString>, String> {
    let mut words: Vec<OsString> =
        given.options(&["example", "at", "since", "until", "device"]).collect();
    let past = ["at", "since", "until"].iter().any(|name| given.has(name));
    if past {
        words.extend(server.store());
    }
    let live = !past && !given.has("example") && given.texts("files").is_empty();
    if live || given.has("seconds") {
        words.push(format!("--for={}s", given.number("seconds").unwrap_or(10)).into());
    }
    // Only paths that begin with `/`, because a command to run may follow `--`.
    words.extend(server.captures(given)?);
    Ok(words)
}

fn compare(given: &Given, server: &Server) -> Result<Vec<OsString>, String> {
    let mut words: Vec<OsString> = given.options(&["at", "device"]).collect();
    let moments = given.texts("at");
    match (given.text("a"), given.text("b"), moments.len()) {
        (None, None, 2) => words.extend(server.store()),
        (Some(a), Some(b), 0) => {
            words.push("--".into());
            for (side, range) in [(a, "a_range"), (b, "b_range")] {
                words.push(server.side(side, given.text(range))?);
            }
        }
        _ => return Err("give `a` and `b`, or two moments in `at`".to_string()),
    }
    Ok(words)
}

/// The arguments of a call, whose names and types fit the tool.
struct Given<'a>(&'a Map<String, Value>);

impl<'a> Given<'a> {
    fn of(tool: &Tool, arguments: &'a Map<String, Value>) -> Result<Given<'a>, Fault> {
        for (name, value) in arguments {
            let known = tool.parameters.iter().find(|known| known.name == name);
            let fits = known.is_some_and(|known| known.kind.fits(value));
            let text = match (known, fits) {
                (_, true) => continue,
                (None, _) => format!("`{}` has no argument `{name}`", tool.name),
                (Some(known), _) => format!("`{name}` must be {}", known.kind.words()),
            };
            return Err(Fault(INVALID_PARAMS, text));
        }
        Ok(Given(arguments))
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    fn texts(&self, name: &str) -> Vec<&'a str> {
        match self.0.get(name) {
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(one)) => vec![one.as_str()],
            _ => Vec::new(),
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    /// As command line options: `--device=sda`, so that no value becomes an option.
    fn options(&self, names: &[&'static str]) -> impl Iterator<Item = OsString> {
        let all = names.iter().flat_map(|name| {
            self.texts(name).into_iter().map(move |value| format!("--{name}={value}").into())
        });
        all.collect::<Vec<OsString>>().into_iter()
    }
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        // No argument of a program can hold a zero byte.
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
        match self {
            Kind::Text => text(value),
            Kind::Texts => value.as_array().is_some_and(|all| all.iter().all(text)),
            Kind::Number(most) => value.as_u64().is_some_and(|n| (1..=most).contains(&n)),
        }
    }

    fn words(self) -> String {
        match self {
            Kind::Text => "a string".to_string(),
            Kind::Texts => "an array of strings".to_string(),
            Kind::Number(most) => format!("a whole number from 1 to {most}"),
        }
    }

    fn schema(self, description: &str) -> Value {
        let mut schema = match self {
            Kind::Text => json!({"type": "string"}),
            Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Kind::Number(most) => json!({"type": "integer", "minimum": 1, "maximum": most}),
        };
        schema["description"] = description.into();
        schema
    }
}

impl Tool {
    fn describe(&self) -> Value {
        let parameters = self.parameters.iter();
        let properties: Map<String, Value> = parameters
            .map(|one| (one.name.to_string(), one.kind.schema(one.description)))
            .collect();
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {"type": "object", "properties": properties, "additionalProperties": false},
            "annotations": {"readOnlyHint": true, "openWorldHint": false},
        })
    }
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let asked = Mcp::from_arg_matches(matches)?;
    let whole = |path: &PathBuf| {
        path.canonicalize().with_context(|| format!("cannot read `{}`", path.display()))
    };
    let roots = asked.paths.iter().map(whole).collect::<Result<_, _>>()?;
    let server =
        Server { roots, store: asked.store, running: Mutex::default(), out: Mutex::default() };
    let mut input = io::stdin().lock();
    std::thread::scope(|scope| {
        let mut serve = || -> io::Result<()> {
            while let Some(line) = next_line(&mut input)? {
                server.receive(scope, line)?;
            }
            Ok(())
        };
        // At the end of the input running calls are still answered, unless the client is gone.
        serve().inspect_err(|_| server.cancel_all())?;
        Ok(Status::Done)
    })
}

/// The next non-empty line; the inner result is `Err` if it is too long. `None` at the end.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<Result<Vec<u8>, Fault>>> {
    loop {
        let mut line = Vec::new();
        if input.take(LONGEST_MESSAGE).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.len() as u64 == LONGEST_MESSAGE && line.last() != Some(&b'\n') {
            input.skip_until(b'\n')?;
            let text = format!("a message has at most {LONGEST_MESSAGE} bytes");
            return Ok(Some(Err(Fault(INVALID_REQUEST, text))));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Ok(line)));
        }
    }
}

struct Server {
    /// What may be read, without links.
    roots: Vec<PathBuf>,
    store: Option<PathBuf>,
    /// Running calls, by their ids as JSON.
    running: Mutex<HashMap<String, Option<Child>>>,
    /// Held while a message is written.
    out: Mutex<()>,
}

/// A request that expects an answer.
struct Request {
    id: Value,
    stateless: bool,
}

impl Server {
    fn receive<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        line: Result<Vec<u8>, Fault>,
    ) -> io::Result<()> {
        let nobody = Request { id: Value::Null, stateless: false };
        let line = match line {
            Ok(line) => line,
            Err(fault) => return self.fail(&nobody, &fault),
        };
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(cause) => {
                return self.fail(&nobody, &Fault(PARSE_ERROR, format!("not JSON: {cause}")));
            }
        };
        let id = message.get("id").cloned();
        let is_id = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
        let (Some("2.0"), Some(method)) = (message["jsonrpc"].as_str(), message["method"].as_str())
        else {
            // An answer to a request, which this server never sends.
            if message.get("result").is_some() || message.get("error").is_some() {
                return Ok(());
            }
            let text = "a request has `jsonrpc` \"2.0\", a `method` and an `id`".to_string();
            let id = id.filter(is_id).unwrap_or_default();
            return self.fail(&Request { id, ..nobody }, &Fault(INVALID_REQUEST, text));
        };
        let none = json!({});
        let params = message.get("params").unwrap_or(&none);
        let Some(id) = id else {
            if method == "notifications/cancelled" {
                self.cancel(&params["requestId"]);
            }
            return Ok(());
        };
        if !is_id(&id) {
            let text = "an `id` is a string or a whole number".to_string();
            return self.fail(&nobody, &Fault(INVALID_REQUEST, text));
        }
        let version = params["_meta"][VERSION_KEY].as_str();
        let request = Request { id, stateless: version.is_some() };
        if let Some(version) = version.filter(|version| *version != STATELESS) {
            let data = json!({"supported": supported(), "requested": version});
            let error = json!({"code": UNSUPPORTED_VERSION, "message": "Unsupported protocol \
                 version", "data": data});
            return self.send(&request, "error", error);
        }
        if !params.is_object() {
            let text = "`params` is an object".to_string();
            return self.fail(&request, &Fault(INVALID_PARAMS, text));
        }
        match method {
            "initialize" => self.succeed(&request, self.initialized(params)),
            "server/discover" => self.succeed(&request, self.discovered()),
            "ping" => self.succeed(&request, json!({})),
            "tools/list" if params.get("cursor").is_some() => {
                let text = "there is one page of tools".to_string();
                self.fail(&request, &Fault(INVALID_PARAMS, text))
            }
            "tools/list" => {
                let tools: Vec<Value> = TOOLS.iter().map(Tool::describe).collect();
                self.succeed(&request, kept(json!({"tools": tools})))
            }
            "tools/call" => match self.called(params) {
                Err(fault) => self.fail(&request, &fault),
                Ok(Err(text)) => self.succeed(&request, refused(text)),
                Ok(Ok(words)) => self.start(scope, request, words),
            },
            _ => {
                let text = format!("unknown method `{method}`");
                self.fail(&request, &Fault(METHOD_NOT_FOUND, text))
            }
        }
    }

    fn initialized(&self, params: &Value) -> Value {
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let known = WITH_HANDSHAKE.into_iter().find(|known| *known == asked);
        json!({
            "protocolVersion": known.unwrap_or(WITH_HANDSHAKE[0]),
            "capabilities": {"tools": {}},
            "serverInfo": server_info(),
            "instructions": self.instructions(),
        })
    }

    fn discovered(&self) -> Value {
        kept(json!({
            "supportedVersions": supported(),
            "capabilities": {"tools": {}},
            "instructions": self.instructions(),
        }))
    }

    fn instructions(&self) -> String {
        let roots: Vec<String> =
            self.roots.iter().map(|root| format!("`{}`", root.display())).collect();
        let captures = match roots.is_empty() {
            true => "No captures can be read: the server was started without a path.".to_string(),
            false => format!("Captures can be read from {}.", roots.join(", ")),
        };
        format!(
            "iowhy finds out why block I/O is slow: the workload or the disk. Start with `why`; \
             `explain` has the rule of each verdict. Confidence is a calibrated probability; each \
             latency is in the unit named by its key. {captures}"
        )
    }

    /// The command line of a call. The inner result is `Err` if it is refused.
    fn called(&self, params: &Value) -> Result<Result<Vec<OsString>, String>, Fault> {
        let name = params["name"].as_str().unwrap_or_default();
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
            return Err(Fault(INVALID_PARAMS, format!("unknown tool `{name}`")));
        };
        let none = Map::new();
        let arguments = match params.get("arguments") {
            None => &none,
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err(Fault(INVALID_PARAMS, "`arguments` is an object".to_string())),
        };
        let given = Given::of(tool, arguments)?;
        Ok((tool.words)(&given, self).map(|words| {
            let start = [tool.name, "--json"].into_iter().map(OsString::from);
            start.chain(words).collect()
        }))
    }

    fn store(&self) -> Vec<OsString> {
        let option = |folder: &PathBuf| {
            let mut option = OsString::from("--store=");
            option.push(folder);
            option
        };
        self.store.iter().map(option).collect()
    }

    fn captures(&self, given: &Given) -> Result<Vec<OsString>, String> {
        let files = given.texts("files").into_iter();
        files.map(|file| self.find(file).map(PathBuf::into_os_string)).collect()
    }

    /// The file of this name, if it may be read. Missing and forbidden files get the same answer.
    fn find(&self, name: &str) -> Result<PathBuf, String> {
        let below = |root: &PathBuf| match root.is_dir() || Path::new(name).is_absolute() {
            true => root.join(name),
            false => root.with_file_name(name),
        };
        let places = self.roots.iter().map(below).filter_map(|place| place.canonicalize().ok());
        let allowed = |place: &PathBuf| self.roots.iter().any(|root| place.starts_with(root));
        places.filter(allowed).find(|place| place.exists()).ok_or_else(|| {
            format!(
                "capture `{name}` is not among the paths that the server may read: {}",
                self.instructions()
            )
        })
    }

    /// A side of a comparison: `FILE` or `FILE@FROM-TO`.
    fn side(&self, name: &str, range: Option<&str>) -> Result<OsString, String> {
        let mut side = self.find(name)?.into_os_string();
        if let Some(range) = range {
            let is_time = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
            side.push("@");
            side.push(range);
            // A file of this whole name would be read instead.
            if !range.contains('-') || !range.chars().all(is_time) || Path::new(&side).exists() {
                return Err(format!("invalid time range `{range}`: write `0-30s`"));
            }
        }
        Ok(side)
    }

    /// Starts the command; a thread waits for it and answers.
    fn start<'s>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        request: Request,
        words: Vec<OsString>,
    ) -> io::Result<()> {
        let key = request.id.to_string();
        {
            let mut running = locked(&self.running);
            if running.contains_key(&key) {
                drop(running);
                let text = format!("request {key} is still running");
                return self.fail(&request, &Fault(INVALID_REQUEST, text));
            }
            if running.len() >= AT_ONCE {
                drop(running);
                let text =
                    format!("{AT_ONCE} calls are already running: try again when one has finished");
                return self.succeed(&request, refused(text));
            }
            running.insert(key.clone(), None);
        }
        scope.spawn(move || {
            let outcome = self.output(&key, words);
            // A cancelled call has no answer.
            if locked(&self.running).remove(&key).is_some() {
                let result =
                    outcome.unwrap_or_else(|cause| refused(format!("cannot run iowhy: {cause}")));
                // Without a client there is no recipient; the end of its input ends the server.
                let _ = self.succeed(&request, result);
            }
        });
        Ok(())
    }

    /// Runs the command to its end.
    fn output(&self, key: &str, words: Vec<OsString>) -> io::Result<Value> {
        // The same program, even if its file was replaced since it started.
        let mut child = Process::new("/proc/self/exe")
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        if let Some(place) = locked(&self.running).get_mut(key) {
            *place = Some(child);
        } else {
            end(child);
            return Ok(Value::Null);
        }
        let (out, err) = std::thread::scope(|scope| {
            let err = scope.spawn(|| bounded(err, LONGEST_WARNING));
            (bounded(out, LONGEST_ANSWER), err.join().unwrap_or_else(|_| Ok(Vec::new())))
        });
        let (out, err) = (out?, err?);
        let child = locked(&self.running).get_mut(key).and_then(Option::take);
        let Some(mut child) = child else { return Ok(Value::Null) };
        let status = child.wait()?;
        let warning = sanitised::text(&String::from_utf8_lossy(&err)).trim().to_string();
        if out.len() as u64 >= LONGEST_ANSWER {
            return Ok(refused(format!("the answer exceeds {LONGEST_ANSWER} bytes: ask for less")));
        }
        let values: Result<Vec<Value>, _> =
            serde_json::Deserializer::from_slice(&out).into_iter().collect();
        Ok(match (status.code(), values) {
            (Some(0 | 1), Ok(values)) if !values.is_empty() => answered(values, warning),
            _ if warning.is_empty() => refused(format!("iowhy exited with {status}")),
            _ => refused(warning),
        })
    }

    fn cancel(&self, id: &Value) {
        if let Some(Some(child)) = locked(&self.running).remove(&id.to_string()) {
            end(child);
        }
    }

    fn cancel_all(&self) {
        locked(&self.running).drain().filter_map(|(_, child)| child).for_each(end);
    }

    fn succeed(&self, request: &Request, mut result: Value) -> io::Result<()> {
        if request.stateless {
            result["resultType"] = "complete".into();
            result["_meta"] = json!({SERVER_KEY: server_info()});
        }
        self.send(request, "result", result)
    }

    fn fail(&self, request: &Request, Fault(code, message): &Fault) -> io::Result<()> {
        self.send(request, "error", json!({"code": code, "message": message}))
    }

    fn send(&self, request: &Request, key: &str, value: Value) -> io::Result<()> {
        let text = json!({"jsonrpc": "2.0", "id": request.id, key: value}).to_string();
        let _one = locked(&self.out);
        let mut out = sanitised::stdout();
        writeln!(out, "{text}")?;
        out.flush()
    }
}

fn supported() -> Vec<&'static str> {
    std::iter::once(STATELESS).chain(WITH_HANDSHAKE).collect()
}

fn server_info() -> Value {
    json!({"name": "iowhy", "title": "iowhy", "version": env!("CARGO_PKG_VERSION")})
}

/// A result that clients of the stateless revision may cache.
fn kept(mut result: Value) -> Value {
    result["ttlMs"] = KEPT_MS.into();
    result["cacheScope"] = "private".into();
    result
}

/// The result of a call that could not be done, with the reason for the model to read.
fn refused(text: String) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": true})
}

/// The result of a call: one object as it is, several under `values`.
fn answered(mut values: Vec<Value>, warning: String) -> Value {
    let value = match values.len() {
        1 => values.remove(0),
        _ => json!({"values": values}),
    };
    let mut content = vec![json!({"type": "text", "text": value.to_string()})];
    if !warning.is_empty() {
        content.push(json!({"type": "text", "text": warning}));
    }
    json!({"content": content, "structuredContent": value, "isError": false})
}

/// Ends a command, which may have ended by itself.
fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn bounded(from: Option<impl Read>, most: u64) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    if let Some(from) = from {
        from.take(most).read_to_end(&mut all)?;
    }
    Ok(all)
}

/// The data of a panicked thread is consistent: it is only ever replaced.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
