//! What the flight recorder tells others: Prometheus, the journal, a program of `--exec`. The first
//! needs Debian's `prometheus`, the one of TLS `openssl`, all need root and eBPF.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folder::Folder;
use crate::rig::{Loop, can_run, until};

/// A program that ends with the test.
struct ChildGuard(Child);

impl ChildGuard {
    fn ended(mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn iowhy() -> Command {
    Command::new(env!("CARGO_BIN_EXE_iowhy"))
}

/// Starts a recorder and waits until it has written something; what it says until then.
fn recorder(mut command: Command, store: &Path, more: &[&str]) -> (ChildGuard, String) {
    // Whatever else this machine does (a build beside the tests) presses no incident of its own.
    command
        .args(["watch", "--store"])
        .arg(store)
        .args(["--per-hour", "100", "--psi", "100"])
        .args(more);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut recorder = ChildGuard(child.expect("it starts"));
    let mut message = String::new();
    let mut lines = BufReader::new(recorder.0.stderr.take().expect("its stderr"));
    while !message.contains("recording into") {
        assert!(lines.read_line(&mut message).expect("text") > 0, "it ended: {message}");
    }
    // It is not to wait for a reader.
    std::thread::spawn(move || lines.lines().count());
    until(30, "it records", || {
        let names = std::fs::read_dir(store.join("segments")).into_iter().flatten().flatten();
        names.filter_map(|name| name.metadata().ok()).any(|about| about.len() > 0).then_some(())
    });
    (recorder, message)
}

fn mark(store: &Path, text: &str) {
    let reported = iowhy().args(["mark", text, "--store"]).arg(store).status().expect("iowhy mark");
    assert!(reported.success());
}

/// The body of an answer with status 200.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    head.contains(" 200 ").then(|| body.to_string())
}

/// Bytes of a query as an address has them.
fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// A Prometheus that asks a recorder each second, until it is ready.
fn prometheus(folder: &Path, target: u16, features: &[&str]) -> (ChildGuard, u16) {
    let place = folder.join(format!("prometheus{}", features.len()));
    std::fs::create_dir_all(&place).expect("a folder");
    let config = format!(
        "global: {{scrape_interval: 1s}}\n\
         rule_files: ['{}']\n\
         scrape_configs:\n\
         - job_name: iowhy\n\
         \x20 static_configs: [{{targets: ['127.0.0.1:{target}']}}]\n\
         ",
        root().join("contrib/iowhy-alerts.yml").display()
    );
    std::fs::write(place.join("config.yml"), config).expect("its configuration");
    // Nobody can be told which port is free and stays so; who took it first keeps it.
    for _ in 0..5 {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr());
        let port = free.expect("a port").port();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", place.join("config.yml").display()));
        command.arg(format!("--storage.tsdb.path={}", place.join("data").display()));
        command.args([&format!("--web.listen-address=127.0.0.1:{port}"), "--log.level=error"]);
        command.args(features).stdout(Stdio::null());
        let mut server = ChildGuard(command.spawn().expect("prometheus"));
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end && matches!(server.0.try_wait(), Ok(None)) {
            if get(port, "/-/ready").is_some() {
                return (server, port);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
    panic!("no prometheus runs");
}

/// The vector that a query gives.
fn asked(port: u16, query: &str) -> Vec<Value> {
    let path = format!("/api/v1/query?query={}", escaped(query));
    let body = get(port, &path).unwrap_or_else(|| panic!("refused: {query}"));
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    answer["data"]["result"].as_array().cloned().unwrap_or_default()
}

fn number(port: u16, query: &str) -> Option<f64> {
    asked(port, query).first()?["value"][1].as_str()?.parse().ok()
}

/// The queries of the dashboard, as Grafana asks them.
fn queries() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("contrib/iowhy-dashboard.json")).unwrap();
    let board: Value = serde_json::from_str(&text).expect("JSON");
    let panels = board["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets
        .map(|target| {
            let query = target["expr"].as_str().expect("a query");
            let query = query.replace("$__rate_interval", "1m").replace("$__interval", "1m");
            query.replace("$device", ".*").replace("$instance", ".*")
        })
        .collect()
}

/// A certificate of 127.0.0.1 that signed itself, and its key.
fn certificate(folder: &Path, name: &str) -> (String, String) {
    let of = |kind: &str| folder.join(format!("{name}.{kind}")).display().to_string();
    let (certificate, key) = (of("pem"), of("key"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
    openssl.args(["-nodes", "-days", "2", "-subj", "/CN=localhost"]);
    // One of a host, not of who signs others: some clients take no other from a server.
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
    openssl.args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", &key, "-out", &certificate]);
    let made = openssl.output().expect("openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (certificate, key)
}

/// What a server says under TLS to someone who trusts a certificate.
fn under_tls(port: u16, trusted: &str, path: &str, field: &str) -> String {
    let mut client = Command::new("openssl");
    client.args(["s_client", "-quiet", "-verify_return_error", "-CAfile", trusted]);
    client.args(["-connect", &format!("127.0.0.1:{port}")]);
    client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut client = client.spawn().expect("openssl");
    let mut request = client.stdin.take().expect("its stdin");
    // It asks only a server that it trusts.
    let _ = write!(request, "GET {path} HTTP/1.1\r\nHost: localhost\r\n{field}\r\n");
    let message = client.wait_with_output().expect("openssl").stdout;
    String::from_utf8_lossy(&message).into_owned()
}

#[test]
fn figures_travel_under_tls() {
    if !can_run(&["openssl"]) {
        return;
    }
    let folder = Folder::new("tls");
    let (ours, our_key) = certificate(&folder.0, "ours");
    let (theirs, their_key) = certificate(&folder.0, "theirs");
    let token = folder.0.join("token").display().to_string();
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let store = folder.0.join("store");
    let options = |key: &str| {
        let words = ["--listen", "127.0.0.1:0", "--tls-cert", &ours, "--tls-key", key];
        words.iter().chain(&["--token-file", &token]).map(ToString::to_string).collect::<Vec<_>>()
    };
    let refused = |key: &str| {
        let mut command = iowhy();
        command.args(["watch", "--for", "1s", "--store"]).arg(&store).args(options(key));
        let ended = command.output().expect("iowhy");
        assert_eq!(ended.status.code(), Some(2));
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    assert!(refused(&their_key).contains("does not match the key"));
    assert!(refused(&ours).contains("cannot be read"));
    std::fs::set_permissions(&their_key, PermissionsExt::from_mode(0o644)).unwrap();
    assert!(refused(&their_key).contains("readable by everyone"));

    let disk = Loop::beside_others(16);
    let more = options(&our_key);
    let mut more: Vec<&str> = more.iter().map(String::as_str).collect();
    more.extend(["--device", &disk.name]);
    let (recorder, message) = recorder(iowhy(), &store, &more);
    let port = message.split_once("https://127.0.0.1:").and_then(|(_, rest)| rest.split_once('/'));
    let port: u16 = port.and_then(|(port, _)| port.parse().ok()).expect("its port");
    let shown = "Authorization: Bearer 0123456789abcdef\r\n";
    let text = under_tls(port, &ours, "/metrics", shown);
    assert!(text.starts_with("HTTP/1.1 200 ") && text.contains("iowhy_seconds_total"), "{text}");
    assert!(under_tls(port, &ours, "/metrics", "").starts_with("HTTP/1.1 401 "));
    assert!(under_tls(port, &ours, "/healthz", "").ends_with("ok\n"));
    assert_eq!(under_tls(port, &theirs, "/healthz", ""), "", "trusted another certificate");
    assert_eq!(get(port, "/healthz"), None, "answered in clear text");
    // Who begins no handshake is shut out after a while, and so is who drips one.
    let mut silent: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    for (place, stream) in silent.iter_mut().enumerate() {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        if place % 2 == 0 {
            // The first of them made room for the last.
            let _ = stream.write_all(&[22, 3, 1]);
        }
    }
    // Nor does it delay the others, who come after forty of them.
    let begun = Instant::now();
    assert!(under_tls(port, &ours, "/metrics", shown).starts_with("HTTP/1.1 200 "));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    for mut stream in silent {
        // Ended, or reset with a byte unread.
        let ended = stream.read_to_end(&mut Vec::new());
        let waited = |error: &std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        assert!(!ended.as_ref().is_err_and(waited), "{ended:?}");
    }
    recorder.ended();
}

#[test]
fn prometheus_computes_the_quantiles_of_hist() {
    if !can_run(&["fio", "prometheus"]) {
        return;
    }
    let folder = Folder::new("prometheus");
    let store = folder.0.join("store");
    let disk = Loop::beside_others(64);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    disk.settle();
    let more = ["--device", &disk.name, "--listen", "127.0.0.1:0"];
    let (recorder, message) = recorder(iowhy(), &store, &more);
    let port = message.split_once("http://127.0.0.1:").and_then(|(_, rest)| rest.split_once('/'));
    let port: u16 = port.and_then(|(port, _)| port.parse().ok()).expect("its port");
    let (native, with_native) =
        prometheus(&folder.0, port, &["--enable-feature=native-histograms"]);
    let (classic, with_classic) = prometheus(&folder.0, port, &[]);

    let rate = ["--rw=randread", "--time_based", "--runtime=8", "--rate_iops=500"];
    disk.fio(&rate);
    mark(&store, "the test's own");
    disk.fio(&["--rw=randwrite", "--time_based", "--runtime=3", "--rate_iops=500"]);
    disk.settle();

    // Each second is asked for once more after the last I/O.
    let exposed = || get(port, "/metrics").expect("figures");
    let count = format!("iowhy_ios_total{{device=\"{}\",op=\"read\"}} ", disk.name);
    let ios = until(20, "the last second is counted", || {
        let counted = |text: String| {
            let line = text.lines().find_map(|line| line.strip_prefix(&count).map(str::to_string));
            line?.parse::<f64>().ok()
        };
        let before = counted(exposed())?;
        std::thread::sleep(Duration::from_millis(2500));
        (counted(exposed())? == before && before >= 1000.0).then_some(before)
    });
    let of = format!("{{device=\"{}\",op=\"read\",stage=\"q2c\"}}", disk.name);
    until(30, "both were told", || {
        let native = number(with_native, &format!("histogram_count(iowhy_latency_seconds{of})"))?;
        let classic = number(with_classic, &format!("iowhy_latency_seconds_count{of}"))?;
        (native == ios && classic == ios).then_some(())
    });

    // The incident of the mark is judged, so that every panel has something to show.
    until(90, "a verdict", || {
        let verdicts = |port| asked(port, "iowhy_incidents_total").is_empty();
        (!verdicts(with_native) && !verdicts(with_classic)).then_some(())
    });
    for query in queries() {
        for port in [with_native, with_classic] {
            // A disk that nobody accused has no row of its own, and a growth needs two looks.
            if query.starts_with("iowhy_verdict{") {
                asked(port, &query);
            } else {
                until(30, &query, || (!asked(port, &query).is_empty()).then_some(()));
            }
        }
    }
    let rules: Value = serde_json::from_str(&get(with_native, "/api/v1/rules").unwrap()).unwrap();
    let rules = rules["data"]["groups"][0]["rules"].as_array().expect("rules");
    assert!(rules.len() >= 6 && rules.iter().all(|rule| rule["lastError"].is_null()), "{rules:?}");

    // Once the recorder does not answer, its numbers are stale and have no quantile.
    let theirs = [0.1, 0.5, 0.9, 0.99].map(|quantile| {
        let query = format!("histogram_quantile({quantile}, iowhy_latency_seconds{of})");
        (quantile, 1e9 * number(with_native, &query).expect("a quantile"))
    });
    recorder.ended();
    let mut hist = iowhy();
    hist.args(["hist", "--json", "--op", "read", "--since", "-10m", "--store"]).arg(&store);
    let hist = hist.output().expect("iowhy hist");
    let hist: Value = serde_json::from_slice(&hist.stdout).expect("JSON");
    let ours = hist["histograms"].as_array().expect("histograms").iter();
    let ours = ours.filter(|one| one["stage"] == "Q2C" && one["device"] == disk.name.as_str());
    let ours: Vec<&Value> = ours.collect();
    let [ours] = ours[..] else { panic!("not one histogram of the reads: {ours:?}") };
    assert_eq!(ours["count"].as_f64(), Some(ios), "prometheus and the store");
    let edges: Vec<f64> = ours["edges_ns"].as_array().unwrap().iter().map(ns).collect();
    let counts: Vec<f64> = ours["counts"].as_array().unwrap().iter().map(ns).collect();
    for (quantile, theirs) in theirs {
        let mut below = 0.0;
        let bucket = counts.iter().position(|count| {
            below += count;
            below >= quantile * ios
        });
        let bucket = bucket.expect("a bucket");
        // Their buckets are eight to an octave, as ours, but not the same: one more on each side.
        let (low, high) = (edges[bucket.saturating_sub(1)], edges[bucket + 2]);
        assert!((low..=high).contains(&theirs), "p{quantile}: {theirs} not in {low} to {high} ns");
    }
    native.ended();
    classic.ended();
}

/// The table of metrics in the manual: name, type, labels, help.
fn listed() -> Vec<[String; 4]> {
    let manual = std::fs::read_to_string(root().join("docs/MANUAL.md")).expect("the manual");
    let (_, rest) = manual.split_once("<!-- metrics -->").expect("the table");
    let (table, _) = rest.split_once("<!-- end metrics -->").expect("its end");
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_string()).collect();
    rows.map(|row| {
        let cells: Vec<String> = cells(row);
        let [_, name, _, kind, labels, help, _] = &cells[..] else { panic!("{row}") };
        [name.trim_matches('`').to_string(), kind.clone(), labels.clone(), help.clone()]
    })
    .collect()
}

#[test]
fn what_is_served_is_the_table_of_metrics() {
    if !can_run(&["fio"]) {
        return;
    }
    let folder = Folder::new("metrics");
    let store = folder.0.join("store");
    let disk = Loop::beside_others(64);
    // Of 500 I/Os and 2 MB a second.
    let limits = [format!("{}=2000", disk.name), format!("/dev/{}=8M/s", disk.name)];
    let more = ["--device", &disk.name, "--listen", "127.0.0.1:0"];
    let more = [&more[..], &["--limit", &limits[0], "--limit", &limits[1]]].concat();
    let more = [&more[..], &["--metrics-by", "volume"]].concat();
    let (recorder, message) = recorder(iowhy(), &store, &more);
    let port = message.split_once("http://127.0.0.1:").and_then(|(_, rest)| rest.split_once('/'));
    let port: u16 = port.and_then(|(port, _)| port.parse().ok()).expect("its port");
    disk.fio(&["--rw=randread", "--bs=4k", "--time_based", "--runtime=3", "--rate_iops=500"]);
    let left = |limit: &str| {
        let begin = format!("iowhy_headroom{{device=\"{}\",limit=\"{limit}\"}} ", disk.name);
        let text = get(port, "/metrics")?;
        let value = text.lines().find_map(|line| line.strip_prefix(&begin))?;
        value.parse::<f64>().ok().filter(|left| *left < 1.0)
    };
    // A read of 4 KiB is a 2,000th of one limit and a 2,048th of the other.
    let ios = until(30, "its busiest second", || left("ios"));
    let bytes = until(30, "its busiest second", || left("bytes"));
    assert!((0.2..0.9).contains(&ios), "{ios}");
    assert!((bytes - (1.0 - (1.0 - ios) * 2000.0 / 2048.0)).abs() < 0.01, "{ios} {bytes}");
    mark(&store, "its incident");
    let incidents = "\niowhy_incidents_total{";
    let text = until(90, "the incident is judged", || {
        get(port, "/metrics").filter(|text| text.contains(incidents))
    });
    recorder.ended();

    let listed = listed();
    let after = |begin: &str| -> Vec<(String, String)> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(begin)?.split_once(' '));
        lines.map(|(name, rest)| (name.to_string(), rest.to_string())).collect()
    };
    let of = |place: usize| listed.iter().map(move |row| (row[0].clone(), row[place].clone()));
    assert_eq!(after("# TYPE "), of(1).collect::<Vec<_>>());
    assert_eq!(after("# HELP "), of(3).collect::<Vec<_>>());
    let values: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for [name, kind, labels, _] in &listed {
        let sample = if kind == "histogram" { format!("{name}_count") } else { name.clone() };
        let own = values.iter().filter_map(|line| line.strip_prefix(&sample));
        let own: Vec<&str> = own.filter(|rest| rest.starts_with(['{', ' '])).collect();
        for rest in &own {
            let pairs = rest.split_once('}').map_or("", |(pairs, _)| &pairs[1..]);
            let names = pairs.split(',').map(|pair| pair.split('=').next().unwrap_or_default());
            assert_eq!(names.collect::<Vec<_>>().join(", "), *labels, "{name}{rest}");
        }
        // A disk that nobody accused may have no verdict.
        assert!(!own.is_empty() || name == "iowhy_verdict", "{name} has no value");
    }
    // The volume is the file of the loop device, and has as many I/Os as the device.
    let reads = |begin: &str| -> f64 {
        let ours = values.iter().find(|line| line.starts_with(begin) && line.contains("\"read\""));
        ours.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect(begin)
    };
    let by_volume = reads("iowhy_named_ios_total{by=\"volume\",name=\"/");
    let by_device = reads(&format!("iowhy_ios_total{{device=\"{}\"", disk.name));
    assert!(by_device > 1000.0 && by_volume == by_device, "{by_volume} {by_device}: {text}");
}

/// A control group whose path is that of a container; it goes away with its guard, after those in
/// it.
struct ContainerGroup {
    folder: PathBuf,
    id: String,
}

impl ContainerGroup {
    /// Where the block controller is; `None` where it is nowhere.
    fn new() -> Option<ContainerGroup> {
        let groups = Path::new("/sys/fs/cgroup");
        let enabled = std::fs::read_to_string(groups.join("cgroup.subtree_control"));
        let has_io = enabled.is_ok_and(|text| text.split_whitespace().any(|word| word == "io"));
        let first = groups.join("blkio");
        let parent = if first.join("cgroup.procs").exists() { first } else { groups.to_path_buf() };
        if parent == groups && !has_io {
            return None;
        }
        let id = format!("{:08x}", std::process::id()).repeat(8);
        let folder = parent.join(format!("docker-{id}.scope"));
        std::fs::create_dir(&folder).ok()?;
        Some(ContainerGroup { folder, id })
    }

    /// Runs fio in it.
    fn fio(&self, disk: &Loop, how: &str) {
        let script = format!(
            "echo $$ > '{}/cgroup.procs' && exec fio --name=x --filename={} --direct=1 {how}",
            self.folder.display(),
            disk.path
        );
        let output = Command::new("sh").args(["-c", &script]).output().expect("sh");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

impl Drop for ContainerGroup {
    fn drop(&mut self) {
        // The kernel lets go of those that ended a moment later.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn ios_of_a_container_are_counted_under_its_name() {
    if !can_run(&["fio"]) {
        return;
    }
    let Some(container) = ContainerGroup::new() else {
        return println!("skipped: needs control groups with the block controller");
    };
    let folder = Folder::new("containers");
    let (store, disk) = (folder.0.join("store"), Loop::beside_others(64));
    disk.settle();
    let more = ["--device", &disk.name, "--listen", "127.0.0.1:0", "--metrics-by", "container"];
    let (recorder, message) = recorder(iowhy(), &store, &more);
    let port = message.split_once("http://127.0.0.1:").and_then(|(_, rest)| rest.split_once('/'));
    let port: u16 = port.and_then(|(port, _)| port.parse().ok()).expect("its port");
    // The container reads, and nobody else does.
    container.fio(&disk, "--rw=randread --bs=4k --number_ios=1500 --rate_iops=1000");
    disk.fio(&["--rw=randwrite", "--bs=4k", "--number_ios=700", "--rate_iops=1000"]);
    let value = |text: &str, begin: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(begin)?.trim().parse().ok())
    };
    let device = &disk.name;
    let of_device =
        |what: &str, op: &str| format!("iowhy_{what}_total{{device=\"{device}\",op=\"{op}\"}}");
    let of_name = |what: &str, name: &str, op: &str| {
        format!("iowhy_named_{what}_total{{by=\"container\",name=\"{name}\",op=\"{op}\"}}")
    };
    let text = until(60, "all are counted", || {
        let text = get(port, "/metrics")?;
        let lost = value(&text, "iowhy_lost_ios_total ").unwrap_or(0.0);
        let counted =
            ["read", "write"].map(|op| value(&text, &of_device("ios", op)).unwrap_or(0.0));
        // Of some I/Os the kernel shows no probe that they completed: those are lost.
        (counted.iter().sum::<f64>() + lost >= 2200.0).then_some(text)
    });
    recorder.ended();
    let named = container.id.get(..12).expect("its first digits");
    for (name, op) in [(named, "read"), ("", "write")] {
        let both = |what: &str| {
            (value(&text, &of_device(what, op)), value(&text, &of_name(what, name, op)))
        };
        let (all, own) = both("ios");
        assert!(all > Some(0.0) && own == all, "{op}: {own:?} of {all:?} in\n{text}");
        let (all, own) = both("waited_seconds");
        let apart = (all.expect("a time") - own.expect("a time")).abs();
        assert!(apart < 1e-6, "{op}: {own:?} s of {all:?} s");
    }
    assert_eq!(value(&text, &of_name("ios", named, "write")), None);
}

#[test]
fn metrics_by_name_are_refused_where_most_ios_have_none() {
    let folder = Folder::new("by-turns");
    let words =
        ["watch", "--clock", "kernel", "--metrics-by", "container", "--for", "1s", "--store"];
    let refused = iowhy().args(words).arg(folder.0.join("store")).output().expect("iowhy");
    let message = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("`--metrics-by`") && message.contains("hint: "), "{message}");
}

#[test]
fn tables_are_exported_while_the_recorder_writes() {
    if !can_run(&["fio"]) {
        return;
    }
    let folder = Folder::new("export");
    let (store, tables) = (folder.0.join("store"), folder.0.join("tables"));
    let disk = Loop::beside_others(64);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    disk.settle();
    let (recorder, _) = recorder(iowhy(), &store, &["--device", &disk.name]);
    // Recorded here and now: nobody has to say on which host.
    let exported = || -> u64 {
        let mut export = iowhy();
        export.args(["export", "--parquet"]).arg(&tables).arg("--store").arg(&store);
        let output = export.output().expect("iowhy export");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(2) {
            println!("nothing yet: {message}");
            return 0;
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ios = text.split(": ").nth(1).and_then(|rest| rest.split(' ').next());
        let ios = ios.map(|ios| ios.replace(',', "")).and_then(|ios| ios.parse().ok());
        ios.unwrap_or_else(|| panic!("{text}{message}"))
    };
    let read = ["--rw=randread", "--bs=4k", "--number_ios=1000", "--rate_iops=1000"];
    disk.fio(&read);
    // Of some I/Os the kernel shows no probe that they completed.
    let first = until(60, "what was read is exported", || Some(exported()).filter(|n| *n >= 900));
    disk.fio(&read);
    until(60, "what was read then, too", || (exported() >= first + 900).then_some(()));
    recorder.ended();
    let all = exported();
    let mut hist = iowhy();
    hist.args(["hist", "--json", "--store"]).arg(&store);
    let hist: Value = serde_json::from_slice(&hist.output().expect("iowhy hist").stdout).unwrap();
    let of = |stage: &str| -> u64 {
        let all = hist["histograms"].as_array().expect("histograms").iter();
        all.filter(|one| one["stage"] == stage).filter_map(|one| one["count"].as_u64()).sum()
    };
    assert_eq!(["B2Q", "Q2D", "D2C", "Q2C"].map(of).into_iter().max(), Some(all));
    // The hour that is being recorded has one name, which is replaced each time.
    let mut names = Command::new("find");
    names.arg(tables.join("cells")).args(["-name", "*.open.parquet"]);
    let open = String::from_utf8(names.output().unwrap().stdout).unwrap();
    let names = open.lines().filter_map(|line| line.rsplit('/').next());
    assert_eq!(names.collect::<std::collections::BTreeSet<&str>>().len(), 1, "{open}");
}

fn ns(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::INFINITY)
}

/// A field of a message of protobuf: its number, and what stands in it.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message (encoding of protobuf.dev, wire types 0, 1 and 2).
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let field = match tag & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (eight, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(eight.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner)
            }
            other => panic!("wire type {other}"),
        };
        found.push((tag >> 3, field));
    }
    found
}

/// The messages in a field of a message.
fn inside(bytes: &[u8], field: u64) -> Vec<&[u8]> {
    let all = fields(bytes).into_iter();
    all.filter_map(|(number, value)| match value {
        Field::Bytes(inner) if number == field => Some(inner),
        _ => None,
    })
    .collect()
}

fn value_in(bytes: &[u8], field: u64) -> Option<u64> {
    fields(bytes).into_iter().find_map(|(number, value)| match value {
        Field::Number(value) if number == field => Some(value),
        _ => None,
    })
}

/// The data points of a metric of an export, whose kind of data is that field, of one device and
/// operation.
fn points<'a>(export: &'a [u8], name: &str, kind: u64, device: &str, op: &str) -> Vec<&'a [u8]> {
    let resources = inside(export, 1).into_iter();
    let metrics = resources.flat_map(|one| inside(one, 2)).flat_map(|scope| inside(scope, 2));
    let ours = metrics.filter(|metric| inside(metric, 1) == [name.as_bytes()]);
    let points = ours.flat_map(|metric| inside(metric, kind)).flat_map(|data| inside(data, 1));
    let labels = if kind == 10 { 1 } else { 7 };
    points
        .filter(|point| {
            let of = |key: &str, value: &str| {
                inside(point, labels).iter().any(|pair| {
                    let text = inside(pair, 2).into_iter().flat_map(|any| inside(any, 1));
                    inside(pair, 1) == [key.as_bytes()]
                        && text.collect::<Vec<_>>() == [value.as_bytes()]
                })
            };
            of("device", device) && of("op", op)
        })
        .collect()
}

/// Takes one export, of a collector that answers with this status.
fn export(listener: &TcpListener, status: &str) -> Vec<u8> {
    let (mut stream, _) = listener.accept().expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(place) = text.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&text[..place]).to_lowercase();
            assert!(head.starts_with("post /v1/metrics "), "{head}");
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.expect("a length").parse().unwrap();
            if text.len() == place + 4 + length {
                write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
                return text.split_off(place + 4);
            }
        }
        let length = match stream.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.expect("more of it"),
        };
        assert!(length > 0, "it ended early");
        text.extend_from_slice(&buffer[..length]);
    }
}

#[test]
fn a_collector_gets_the_figures_as_exponential_histograms() {
    if !can_run(&["dd"]) {
        return;
    }
    let folder = Folder::new("otlp");
    let store = folder.0.join("store");
    let disk = Loop::beside_others(16);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let more = ["--device", &disk.name, "--otlp", &address, "--otlp-every", "1s"];
    let (recorder, message) = recorder(iowhy(), &store, &more);
    assert!(message.contains("pushing metrics to"), "{message}");
    // One that refuses is asked again the next time.
    export(&listener, "503 Service Unavailable");
    let read = ["bs=4k", "count=200", "iflag=direct", "of=/dev/null"];
    let from = format!("if={}", disk.path);
    let done = Command::new("dd").arg(from).args(read).output().expect("dd");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let export = until(60, "all reads are counted", || {
        let export = export(&listener, "200 OK");
        let ios = points(&export, "iowhy.ios", 7, &disk.name, "read");
        let count = ios.first().and_then(|point| value_in(point, 4)).map_or(0.0, f64::from_bits);
        // udev and the kernel may read it besides.
        (count >= 200.0).then_some(export)
    });
    let latencies = points(&export, "iowhy.latency", 10, &disk.name, "read");
    assert_eq!(latencies.len(), 4, "b2q, q2d, d2c and q2c");
    for point in latencies {
        let count = value_in(point, 4).expect("a count");
        assert!(count >= 200, "{count}");
        assert_eq!(value_in(point, 6), Some(6), "a scale of 3, as a number that may be below zero");
        let zero = value_in(point, 7).expect("the bucket of zero");
        let buckets = inside(point, 8);
        let counted = buckets.iter().flat_map(|one| inside(one, 2)).flat_map(|packed| {
            // A packed field is like fields without tags: each gets one here.
            let starts =
                packed.iter().enumerate().filter(|(at, _)| *at == 0 || packed[at - 1] < 0x80);
            starts
                .map(|(at, _)| {
                    let with_tag: Vec<u8> = [8]
                        .into_iter()
                        .chain(packed[at..].iter().copied().scan(false, |over, byte| {
                            let go_on = !*over;
                            *over = byte < 0x80;
                            go_on.then_some(byte)
                        }))
                        .collect();
                    value_in(&with_tag, 1).expect("a count")
                })
                .collect::<Vec<u64>>()
        });
        assert_eq!(counted.sum::<u64>() + zero, count);
        let seconds = |field| f64::from_bits(value_in(point, field).expect("a number"));
        let (sum, least, most) = (seconds(5), seconds(12), seconds(13));
        assert!(least <= sum / count as f64 && sum / count as f64 <= most, "{least} {sum} {most}");
    }
    recorder.ended();
}

/// A collector under TLS by openssl, which writes down what it is sent and answers nothing.
#[test]
fn figures_are_pushed_under_tls_to_whom_is_trusted() {
    if !can_run(&["openssl"]) {
        return;
    }
    let folder = Folder::new("otlp-tls");
    let (ours, our_key) = certificate(&folder.0, "ours");
    let (theirs, _) = certificate(&folder.0, "theirs");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let written = folder.0.join("written");
    let mut server = Command::new("openssl");
    server.args(["s_server", "-quiet", "-accept", &free.to_string()]);
    server.args(["-cert", &ours, "-key", &our_key]).stdin(Stdio::piped());
    server.stdout(std::fs::File::create(&written).unwrap()).stderr(Stdio::null());
    let server = ChildGuard(server.spawn().expect("openssl"));
    until(20, "the server listens", || TcpStream::connect(("127.0.0.1", free)).ok());
    let address = format!("https://127.0.0.1:{free}");
    let disk = Loop::beside_others(16);
    let text = || String::from_utf8_lossy(&std::fs::read(&written).unwrap()).into_owned();
    // The push that is refused may come long after the first second where the processors are short.
    let store = folder.0.join("1");
    let mut command = iowhy();
    command.args(["watch", "--for", "5m", "--device", &disk.name, "--otlp-every", "1s"]);
    command.args(["--otlp", &address, "--otlp-ca", &theirs, "--store"]).arg(store);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut refused = ChildGuard(child.expect("it starts"));
    let mut lines = BufReader::new(refused.0.stderr.take().expect("its stderr"));
    let mut message = String::new();
    while !message.contains("cannot push metrics to") {
        assert!(lines.read_line(&mut message).expect("text") > 0, "it ended: {message}");
    }
    assert!(message.contains("certificate"), "{message}");
    refused.ended();
    assert_eq!(text(), "", "sent to whom nobody trusts");
    let more = ["--device", &disk.name, "--otlp-every", "1s", "--otlp", &address];
    let (trusted, _) =
        recorder(iowhy(), &folder.0.join("2"), &[&more[..], &["--otlp-ca", &ours]].concat());
    let got = until(60, "figures", || Some(text()).filter(|got| got.contains("iowhy.resident")));
    assert!(got.contains("POST /v1/metrics HTTP/1.1"), "{got}");
    trusted.ended();
    // A file without certificates is refused at the start.
    let mut command = iowhy();
    command.args(["watch", "--for", "1s", "--otlp", &address, "--otlp-ca", &our_key, "--store"]);
    let ended = command.arg(folder.0.join("3")).output().expect("iowhy");
    assert_eq!(ended.status.code(), Some(2));
    let message = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(message.contains("contains no certificate"), "{message}");
    drop(server);
}

/// At a rate that a CI has, with the bound set far below it: the shape is that of all, the
/// confidence that of histograms.
#[test]
fn a_busy_device_is_kept_in_part_and_counted_in_whole() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::beside_others(64);
    let folder = Folder::new("busy");
    let store = folder.0.join("store");
    let port = 19_500 + (std::process::id() % 400) as u16;
    let listen = format!("127.0.0.1:{port}");
    let more = ["--device", &disk.name, "--one-by-one", "600", "--listen", &listen];
    let (recorder, _) = recorder(iowhy(), &store, &more);
    let before = disk.counters()[0];
    let reads = ["--ioengine=io_uring", "--rw=randread", "--iodepth=4", "--size=64m"];
    let rate = ["--rate_iops=4000", "--time_based", "--runtime=20"];
    std::thread::scope(|scope| {
        scope.spawn(|| disk.fio(&[&reads[..], &rate].concat()));
        std::thread::sleep(Duration::from_secs(8));
        mark(&store, "busy");
    });
    disk.settle();
    let kernel = disk.counters()[0] - before;
    let incident = incident(&store);
    assert_eq!(incident["thinned"], serde_json::json!([disk.name]), "{incident:#}");
    let figure = |name: &str| -> f64 {
        let text = get(port, "/metrics").expect("figures");
        let lines = text.lines().filter(|line| line.starts_with(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    let device = format!("iowhy_ios_total{{device=\"{}\"", disk.name);
    // The numbers are of the last whole interval: the reads of the load's end come with the next.
    let counted = || figure(&device) + figure("iowhy_lost_ios_total");
    until(10, "each read is counted", || (counted() >= kernel as f64).then_some(()));
    println!("{kernel} reads, {} of them unlisted", figure("iowhy_unlisted_ios_total"));
    assert_eq!(counted(), kernel as f64, "each is counted once");
    // The first second told all of them, and a sample of a hundred a second since.
    assert!(figure("iowhy_unlisted_ios_total") > 0.5 * kernel as f64);
    recorder.ended();

    let id = incident["id"].as_str().expect("its name");
    let capture = store.join(format!("incidents/{id}.iowhy"));
    let why = iowhy().args(["why", "--json"]).arg(&capture).output().expect("iowhy why");
    let report: Value = serde_json::from_slice(&why.stdout).expect("JSON");
    let inputs = report["inputs"].as_array().expect("inputs");
    let thinned = inputs.iter().filter(|input| input["sampling"] == "thinned");
    assert_eq!(thinned.count(), 1, "{inputs:#?}");
    for finding in report["findings"].as_array().expect("findings") {
        // Who shows that nothing is known is not sure to any degree.
        let sure = finding["confidence"].as_f64().is_some_and(|confidence| confidence > 0.9);
        assert!(!(sure && finding["device"] == disk.name.as_str()), "{finding:#}");
    }
    // All of them are in its shape, and a person is told that not all are there one by one.
    let hist = iowhy().args(["hist"]).arg(&capture).output().expect("iowhy hist");
    let text =
        String::from_utf8_lossy(&hist.stdout).into_owned() + &String::from_utf8_lossy(&hist.stderr);
    assert!(text.contains("on busy devices, only"), "{text}");
    let mut convert = iowhy();
    convert.args(["convert", "--to", "json"]).arg(&capture).arg("-");
    let events = convert.output().expect("events");
    let lines = String::from_utf8_lossy(&events.stdout).into_owned();
    let weights: Vec<u64> = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok()?["weight"].as_u64())
        .collect();
    assert!(weights.contains(&1) && weights.iter().any(|weight| *weight > 1), "{weights:?}");
}

/// With the kernel's times each I/O is counted as well; from an incident on the exact tracer tells
/// who sent it and when its bio came.
#[test]
fn the_kernels_times_and_the_exact_tracer_take_turns() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::beside_others(64);
    let folder = Folder::new("turns");
    let store = folder.0.join("store");
    let more = ["--clock", "kernel", "--device", &disk.name, "--listen", "127.0.0.1:0"];
    let (recorder, message) = recorder(iowhy(), &store, &more);
    let port = message.split_once("http://127.0.0.1:").and_then(|(_, rest)| rest.split_once('/'));
    let port: u16 = port.and_then(|(port, _)| port.parse().ok()).expect("its port");
    let before = disk.counters()[0];
    let reads = ["--ioengine=io_uring", "--rw=randread", "--iodepth=4", "--size=64m"];
    let rate = ["--rate_iops=1000", "--time_based", "--runtime=16"];
    std::thread::scope(|scope| {
        scope.spawn(|| disk.fio(&[&reads[..], &rate].concat()));
        std::thread::sleep(Duration::from_secs(6));
        mark(&store, "turns");
    });
    disk.settle();
    let kernel = (disk.counters()[0] - before) as f64;
    let incident = incident(&store);
    let device = format!("iowhy_ios_total{{device=\"{}\"", disk.name);
    let counted = || -> f64 {
        let text = get(port, "/metrics").expect("figures");
        let lines = text.lines().filter(|line| line.starts_with(&device));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    // Completions that the kernel hides from all probes are not known here.
    until(10, "each read is counted", || (counted() >= 0.99 * kernel).then_some(()));
    let all = counted();
    println!("{kernel} reads, {all} counted");
    assert!(all <= kernel, "{all} of {kernel}");
    recorder.ended();

    let capture = store.join(incident["capture"].as_str().expect("its capture"));
    let mut convert = iowhy();
    convert.args(["convert", "--to", "json"]).arg(&capture).arg("-");
    let events = convert.output().expect("events");
    let lines = String::from_utf8_lossy(&events.stdout).into_owned();
    let events: Vec<Value> =
        lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let reads = events.iter().filter(|event| event["op"] == "read");
    let (exact, others): (Vec<&Value>, Vec<&Value>) =
        reads.partition(|event| event["comm"] == "fio");
    println!("{} reads with a sender, {} without", exact.len(), others.len());
    assert!(exact.len() > 4000 && others.len() > 3000);
    assert!(others.iter().all(|event| event["comm"].is_null()));
    let arrived = exact.iter().filter(|event| !event["arrived_ns"].is_null()).count();
    assert!(arrived > exact.len() * 9 / 10, "{arrived} arrivals");
}

/// The incident of a store's only mark, once it is judged.
fn incident(store: &Path) -> Value {
    until(60, "the incident is judged", || {
        let names = std::fs::read_dir(store.join("incidents")).ok()?.flatten();
        let mut texts = names
            .map(|name| name.path())
            .filter(|path| path.extension().is_some_and(|e| e == "json"));
        let text = std::fs::read_to_string(texts.next()?).ok()?;
        serde_json::from_str(&text).ok()
    })
}

/// What a recorder keeps of a load and its mark: I/Os and bytes of the capture, blocks left out. A
/// run in which something else was noticed before the mark is made again.
fn kept(disk: &Loop, load: &[&str], bound: &str) -> (u64, u64, u64) {
    for _ in 0..4 {
        let folder = Folder::new(bound.trim_start_matches('-'));
        let store = folder.0.join("store");
        // Nothing is sampled: all that is kept is kept one by one.
        let more = ["--device", &disk.name, "--one-by-one", "100000", bound];
        let (recorder, _) = recorder(iowhy(), &store, &more);
        let reads = ["--ioengine=io_uring", "--rw=randread", "--size=64m", "--io_size=64g"];
        disk.fio(&[&reads[..], load].concat());
        mark(&store, "now");
        let incident = incident(&store);
        recorder.ended();
        if incident["trigger"] != "asked" {
            println!("made again: {:#}", incident["alarms"]);
            continue;
        }
        let capture = store.join(incident["capture"].as_str().expect("its capture"));
        let bytes = std::fs::metadata(&capture).expect("the capture").len();
        let why = iowhy().args(["why", "--json"]).arg(&capture).output().expect("iowhy why");
        let report: Value = serde_json::from_slice(&why.stdout).expect("JSON");
        let inputs = report["inputs"].as_array().expect("inputs").iter();
        let traced = inputs.filter(|input| input["level"] == "D");
        let ios = traced.filter_map(|input| input["records"].as_u64()).sum();
        let kept = (ios, bytes, incident["blocks_cut"].as_u64().expect("a count"));
        println!("{bound}: I/Os, bytes, blocks cut {kept:?}");
        return kept;
    }
    panic!("four runs without the mark as the first alarm");
}

#[test]
fn ring_and_store_size_bound_what_an_incident_keeps() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::beside_others(64);
    let load = ["--number_ios=6000", "--rate_iops=1000"];
    let (long, _, cut) = kept(&disk, &load, "--ring=60s");
    assert!(long >= 6000 && cut == 0, "{long} {cut}");
    let (short, ..) = kept(&disk, &load, "--ring=2s");
    assert!(short > 0 && short < 4500, "{short} of the last two seconds");
    // A sixteenth of the store: the facts of this machine alone are as large.
    let (ios, _, cut) = kept(&disk, &load, "--store-size=1M");
    assert!(ios < 6000 && cut > 0, "{ios} I/Os, {cut} cut");
}

#[test]
fn ring_size_bounds_what_is_kept_before_an_incident() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::beside_others(64);
    let load = ["--number_ios=150000", "--rate_iops=30000", "--iodepth=8"];
    let (ios, bytes, _) = kept(&disk, &load, "--ring-size=1M");
    // Nine bytes each; the facts of this machine and its kernel's log come before them in the file.
    let most = (1 << 20) / 9;
    assert!(ios > 0 && ios <= most, "{ios} I/Os, {bytes} bytes");
}

#[test]
fn the_alerts_fire_as_their_tests_say() {
    let found = Command::new("promtool").arg("--version").output();
    if found.is_err() {
        println!("skipped: needs `promtool`");
        return;
    }
    let contrib = root().join("contrib");
    for words in
        [&["check", "rules", "iowhy-alerts.yml"][..], &["test", "rules", "iowhy-alerts-test.yml"]]
    {
        let done = Command::new("promtool").args(words).current_dir(&contrib).output().unwrap();
        let message = String::from_utf8_lossy(&done.stdout).into_owned()
            + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{message}");
    }
}

#[test]
fn a_program_is_told_of_each_incident_and_has_no_rights() {
    if !can_run(&[]) {
        return;
    }
    let folder = Folder::new("exec");
    let store = folder.0.join("store");
    let program = folder.0.join("told");
    let text = format!(
        "#!/bin/sh\ncat >{0}/incident.$$; echo >>{0}/incident.$$\n\
         grep CapEff /proc/self/status >>{0}/rights; cat {0}/incident.$$ >>{0}/incidents\n",
        folder.0.display()
    );
    std::fs::write(&program, text).expect("a script");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let disk = Loop::beside_others(16);
    let more = ["--device", &disk.name, "--exec", program.to_str().unwrap()];
    let (recorder, _) = recorder(iowhy(), &store, &more);
    mark(&store, "deploy 4711; $(reboot) \"x\"");
    let file = folder.0.join("incidents");
    // Whatever else this machine does may have begun an incident before, or this one.
    let asked = |reported: &Value| {
        let alarms = reported["alarms"].as_array().expect("its alarms");
        alarms.iter().any(|alarm| {
            alarm["trigger"] == "asked" && alarm["seen"] == "deploy 4711; $(reboot) \"x\""
        })
    };
    let reported = until(90, "the program is told", || {
        let text = std::fs::read_to_string(&file).ok()?;
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let mut reported = whole
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str::<Value>(line).expect("one JSON object"));
        reported.find(asked)
    });
    assert_eq!(reported["schema"], "iowhy.incident/1");
    assert!(
        reported["capture"].as_str().is_some_and(|name| store.join(name).is_file()),
        "{reported}"
    );
    let rights = std::fs::read_to_string(folder.0.join("rights")).expect("its rights");
    assert!(rights.lines().count() > 0);
    assert!(rights.lines().all(|line| line == "CapEff:\t0000000000000000"), "{rights}");
    recorder.ended();
}

/// A journal of our own, in a mount namespace that nobody else sees.
#[test]
fn the_journal_gets_an_incident_in_fields() {
    if !can_run(&["unshare"]) {
        return;
    }
    let folder = Folder::new("journal");
    let store = folder.0.join("store");
    let journal = folder.0.join("journal");
    std::fs::create_dir_all(&journal).expect("a folder");
    let socket = UnixDatagram::bind(journal.join("socket")).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let disk = Loop::beside_others(16);
    let script = format!(
        "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal && \
         mount --bind {} /run/systemd/journal && exec \"$0\" \"$@\"",
        journal.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_iowhy")]);
    command.env("JOURNAL_STREAM", "8:4711");
    let (recorder, _) = recorder(command, &store, &["--device", &disk.name]);
    mark(&store, "two\nlines");
    let mut bytes = vec![0; 1 << 16];
    let entry = until(90, "the entry of the mark", || {
        let length = match socket.recv(&mut bytes) {
            // A socket with a time limit gives this also where the process was stopped and went on
            // (signal(7)).
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return None,
            other => other.expect("an entry"),
        };
        let entry = String::from_utf8(bytes[..length].to_vec()).expect("text");
        entry.contains("IOWHY_TRIGGER=asked").then_some(entry)
    });
    let field = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name));
    assert!(field("MESSAGE=").is_some_and(|text| text.len() > 5), "{entry}");
    assert_eq!(field("PRIORITY="), Some("4"), "{entry}");
    assert_eq!(field("IOWHY_TRIGGER="), Some("asked"), "{entry}");
    for name in ["IOWHY_ID=", "IOWHY_VERDICT=", "IOWHY_CONFIDENCE=", "IOWHY_CAPTURE="] {
        assert!(field(name).is_some_and(|value| !value.is_empty()), "{name}: {entry}");
    }
    assert!(entry.lines().all(|line| line.contains('=')), "{entry}");
    recorder.ended();
}

/// As `contrib/iowhy-watch.service` sets it up: who is in the recorder's group reads, others do
/// not.
#[test]
fn a_group_reads_what_is_recorded() {
    if !can_run(&["fio", "setpriv"]) {
        return;
    }
    let unit = include_str!("../../../contrib/iowhy-watch.service");
    assert!(
        ["Group=iowhy", "StateDirectoryMode=0750", "UMask=0027"].iter().all(|l| unit.contains(l))
    );
    let folder = Folder::new("group");
    let store = folder.0.join("store");
    let disk = Loop::beside_others(16);
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0027; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_iowhy")]);
    let (recorder, _) = recorder(shell, &store, &["--device", &disk.name]);
    disk.fio(&["--rw=read", "--bs=64k", "--size=4m"]);
    recorder.ended();
    let own = |path: &Path| std::os::unix::fs::chown(path, None, Some(GROUP)).unwrap();
    let mut folders = vec![store.clone()];
    while let Some(path) = folders.pop() {
        own(&path);
        if path.is_dir() {
            folders.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    // What was built may lie where nobody else may look.
    let program = folder.0.join("iowhy");
    std::fs::copy(env!("CARGO_BIN_EXE_iowhy"), &program).unwrap();
    let read = |groups: &[&str]| {
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid", "65534", "--regid", "65534"]).args(groups).arg(&program);
        nobody.arg("incidents").arg("--store").arg(&store).output().unwrap()
    };
    let member = read(&["--groups", &GROUP.to_string()]);
    assert!(member.status.code() == Some(0) || member.status.code() == Some(1), "{member:?}");
    let stranger = read(&["--clear-groups"]);
    assert_eq!(stranger.status.code(), Some(2), "{stranger:?}");
    assert!(
        String::from_utf8_lossy(&stranger.stderr).contains("Permission denied"),
        "{stranger:?}"
    );
}

/// A group that this machine has no name for.
const GROUP: u32 = 4242;
