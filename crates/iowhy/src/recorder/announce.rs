//! Notifications of incidents: the journal or stdout, and a program.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sanitised;

/// Maximum number of queued notifications, and how long a program may run.
const WAITING: usize = 16;
const PATIENCE: Duration = Duration::from_secs(60);
/// Where the journal listens (systemd-journald.service(8)).
const JOURNAL: &str = "/run/systemd/journal/socket";
/// Fields of an incident that its line has, in order.
const FIELDS: [&str; 10] = [
    "id",
    "at",
    "trigger",
    "device",
    "verdict",
    "blame",
    "confidence",
    "explained_share",
    "lost_s",
    "capture",
];

/// A notification.
enum Notice {
    /// An incident.
    Incident(Box<Value>),
    /// A problem of the recorder itself, in a sentence.
    Trouble(String),
}

/// Sends notifications in a thread of its own.
pub(crate) struct Notifier {
    incidents: SyncSender<Notice>,
    /// Notifications dropped because the queue was full.
    pub given_up: u64,
}

/// Where incidents are reported.
pub(crate) struct Outputs {
    /// One JSON object a line instead of words.
    pub json: bool,
    /// To the journal.
    journal: Option<UnixDatagram>,
    /// To a program.
    runner: Option<Child>,
}

impl Outputs {
    /// To the journal if this process's output goes there anyway, else to stdout, and to `program`.
    /// Everything that needs privileges is opened now.
    ///
    /// # Errors
    /// If the program cannot be run.
    pub(crate) fn open(json: bool, program: Option<&std::path::Path>) -> anyhow::Result<Outputs> {
        let wanted = std::env::var_os("JOURNAL_STREAM").is_some();
        let journal = wanted.then(|| {
            let socket = UnixDatagram::unbound().ok()?;
            socket.connect(JOURNAL).ok()?;
            socket.set_nonblocking(true).ok()?;
            Some(socket)
        });
        let runner = match program {
            None => None,
            Some(program) => {
                let mut runner = Command::new(std::env::current_exe()?);
                runner.args(["watch", "--run-for-incidents"]).arg(program);
                Some(runner.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?)
            }
        };
        Ok(Outputs { json, journal: journal.flatten(), runner })
    }
}

impl Notifier {
    /// Starts it.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(way: Outputs) -> std::io::Result<(Notifier, std::thread::JoinHandle<()>)> {
        let (incidents, notices) = sync_channel(WAITING);
        let thread = std::thread::Builder::new().name("notifier".to_string());
        let thread = thread.spawn(move || deliver(way, &notices))?;
        Ok((Notifier { incidents, given_up: 0 }, thread))
    }

    /// Queues an incident, or drops it.
    pub(crate) fn push(&mut self, incident: Value) {
        let incident = Notice::Incident(Box::new(incident));
        self.given_up += u64::from(self.incidents.try_send(incident).is_err());
    }

    /// Reports a problem of the recorder itself, in the journal or on stderr.
    pub(crate) fn trouble(&mut self, text: String) {
        self.given_up += u64::from(self.incidents.try_send(Notice::Trouble(text)).is_err());
    }
}

fn deliver(mut way: Outputs, incidents: &Receiver<Notice>) {
    while let Ok(reported) = incidents.recv() {
        let incident = match reported {
            Notice::Incident(incident) => incident,
            Notice::Trouble(text) => {
                let entry = format!(
                    "MESSAGE={}\nPRIORITY=3\nIOWHY_TRIGGER=store\n",
                    sanitised::text(&text)
                );
                let sent = way.journal.as_ref().map(|journal| journal.send(entry.as_bytes()));
                if !matches!(sent, Some(Ok(_))) {
                    crate::messages::warn(&text, None);
                }
                continue;
            }
        };
        if let Some(journal) = &way.journal {
            // A full or missing journal is no reason to stop recording.
            let _ = journal.send(&entry(&incident));
        } else {
            let line = if way.json { incident.to_string() } else { line(&incident) };
            let mut out = sanitised::stdout();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
        if let Some(runner) = &mut way.runner {
            let sent = runner.stdin.as_mut().map(|stdin| writeln!(stdin, "{incident}"));
            if !matches!(sent, Some(Ok(()))) {
                crate::messages::warn("`--exec` disabled: the helper process exited", None);
                way.runner = None;
            }
        }
    }
    if let Some(mut runner) = way.runner {
        drop(runner.stdin.take());
        let _ = runner.wait();
    }
}

/// `incident id=... at=... verdict=...`, with quotation marks around texts with blanks.
pub(crate) fn line(incident: &Value) -> String {
    let mut line = String::from("incident");
    for field in FIELDS {
        let value = match &incident[field] {
            Value::Null => "-".to_string(),
            Value::String(text) if text.contains([' ', '"', '=']) => format!("{text:?}"),
            Value::String(text) => text.clone(),
            Value::Number(number) => {
                number.as_f64().map_or_else(String::new, |value| format!("{}", round(value)))
            }
            other => other.to_string(),
        };
        line.push_str(&format!(" {field}={value}"));
    }
    line
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The same for the journal: fields by name, the sentence as the message (systemd's native
/// protocol; a value with line ends would need its length, so it gets none).
fn entry(incident: &Value) -> Vec<u8> {
    let one_line = |text: &str| sanitised::text(text).replace('\n', " ");
    let sentence = incident["sentence"].as_str().unwrap_or("incident without a verdict");
    let device = incident["device"].as_str().unwrap_or_default();
    let mut entry = format!("MESSAGE={}\nPRIORITY=4\n", one_line(&format!("{device}: {sentence}")));
    for field in FIELDS {
        let value = match &incident[field] {
            Value::Null => continue,
            Value::String(text) => one_line(text),
            other => other.to_string(),
        };
        entry.push_str(&format!("IOWHY_{}={value}\n", field.to_uppercase()));
    }
    entry.into_bytes()
}

/// The runner, a process started before the recorder dropped the right to start any: for each line
/// of stdin it runs the program, without a shell, with the line on its stdin.
///
/// # Errors
/// If stdin breaks.
pub(crate) fn run_for_incidents(program: &std::path::Path) -> anyhow::Result<()> {
    // The program inherits no privileges of the recorder.
    iowhy_live::give_up_all_rights()?;
    for line in BufReader::new(std::io::stdin()).lines() {
        let line = line?;
        let child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => {
                let text = format!("cannot run `{}`: {error}", program.display());
                crate::messages::warn(&text, None);
                continue;
            }
        };
        let sender = child.stdin.take().map(|mut stdin| {
            // A program that does not read must not block us: a thread fills its pipe.
            std::thread::spawn(move || stdin.write_all(line.as_bytes()))
        });
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE && matches!(child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        if matches!(child.try_wait(), Ok(None)) {
            let text = format!("`{}` took longer than 60 s and was killed", program.display());
            crate::messages::warn(&text, None);
            let _ = child.kill();
            let _ = child.wait();
        }
        drop(sender);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_each_field_once_and_blanks_are_quoted() {
        let incident = serde_json::json!({
            "id": "20261122T190312Z-sdb", "at": "2026-11-22 20:03:12 +01:00", "trigger": "latency",
            "device": "sdb", "verdict": "device.retry", "blame": "disk", "confidence": 0.93123,
            "explained_share": 1.0, "lost_s": 2.5, "capture": null, "sentence": "x\ny",
        });
        assert_eq!(
            line(&incident),
            "incident id=20261122T190312Z-sdb at=\"2026-11-22 20:03:12 +01:00\" trigger=latency \
             device=sdb verdict=device.retry blame=disk confidence=0.931 explained_share=1 \
             lost_s=2.5 capture=-"
        );
        let entry = String::from_utf8(entry(&incident)).expect("text");
        assert!(entry.starts_with("MESSAGE=sdb: x y\nPRIORITY=4\n"), "{entry}");
        assert!(entry.contains("IOWHY_VERDICT=device.retry\n"), "{entry}");
        assert!(entry.lines().all(|line| line.contains('=')), "{entry}");
    }
}
