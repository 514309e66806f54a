//! A headless Chromium that a test drives by the DevTools protocol, over two pipes: no port is
//! opened. Each browser has a folder of its own and ends with the value.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    folder: PathBuf,
    to: File,
    from: BufReader<File>,
    next: u64,
    session: String,
    /// What the page wrote to its console, and exceptions nobody caught.
    pub complaints: Vec<String>,
}

impl Browser {
    /// Starts Chromium; `None` where there is none.
    pub(crate) fn start(name: &str) -> Option<Browser> {
        let program =
            ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
                let paths = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&paths).any(|path| path.join(name).is_file())
            })?;
        let folder =
            std::env::temp_dir().join(format!("iowhy-browser-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let (to, from) = (folder.join("to"), folder.join("from"));
        for pipe in [&to, &from] {
            assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        }
        // The protocol is spoken on descriptors 3 and 4.
        let child = Command::new("bash")
            .arg("-c")
            .arg(r#"exec 3<>"$1" 4<>"$2"; shift 2; exec "$@""#)
            .args(["bash".as_ref(), to.as_os_str(), from.as_os_str()])
            .arg(program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking"])
            .args(["--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", "--window-size=1100,900"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .env("TMPDIR", &folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let both = |path: &Path| OpenOptions::new().read(true).write(true).open(path).unwrap();
        let (to, from) = (both(&to), BufReader::new(both(&from)));
        let (next, session, complaints) = (0, String::new(), Vec::new());
        let mut browser = Browser { child, folder, to, from, next, session, complaints };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().unwrap().to_string();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        Some(browser)
    }

    /// One call of the protocol; its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(b"\0").unwrap();
        loop {
            let mut bytes = Vec::new();
            self.from.read_until(0, &mut bytes).unwrap();
            bytes.pop();
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            let reported =
                ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
            if answer["method"].as_str().is_some_and(|method| reported.contains(&method)) {
                self.complaints.push(answer["params"].to_string());
            }
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Opens a file and waits until its script has drawn.
    pub(crate) fn open(&mut self, file: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        for _ in 0..300 {
            if self.eval("document.documentElement?.dataset.ready || ''") == "yes" {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{} was not drawn: {:?}", file.display(), self.complaints);
    }

    /// The value of an expression in the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// A mouse event at a place in the window.
    pub(crate) fn mouse(&mut self, kind: &str, (x, y): (f64, f64), clicks: u32) {
        let buttons = u32::from(kind == "mouseMoved" && clicks > 0 || kind == "mousePressed");
        let button = if clicks > 0 { "left" } else { "none" };
        let params = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": clicks
        });
        self.call("Input.dispatchMouseEvent", params);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Killed, it would leave processes that go on writing to the folder.
        _ = self.to.write_all(b"{\"id\": 0, \"method\": \"Browser.close\"}\0");
        let end = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        _ = self.child.kill();
        _ = self.child.wait();
        while std::fs::remove_dir_all(&self.folder).is_err() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
