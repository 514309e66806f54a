//! Checks what iowhy can watch on this machine, what is missing, and the consequences.
//!
//! ## Does
//! Checks everything iowhy may need: the kernel's type information, privileges, each attach point,
//! loading of a small BPF program, the counters in /proc and /sys. Each line names a check and its
//! result; a failed one also names what is not available without it and how to fix it. Nothing is
//! changed and nothing stays attached.
//!
//! ## Examples
//! `iowhy doctor`: on this machine.
//! `iowhy doctor --json`: the same as one JSON object.

use std::io::Write;

use clap::{Args, FromArgMatches};
use serde_json::json;

use crate::arguments::Output;
use crate::command::{Command, Status};
use crate::sanitised;
use crate::terminal;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "doctor",
    summary: "What iowhy can watch on this machine, what is missing, and the consequences",
    manual: iowhy_model::manual!("doctor.rs"),
    arguments: |line| Doctor::augment_args(line).mut_arg("verbose", |all| all.hide(true)),
    run,
};

#[derive(Args, Debug)]
struct Doctor {
    #[command(flatten)]
    output: Output,
}

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let doctor = Doctor::from_arg_matches(matches)?;
    let checks = iowhy_live::examine();
    let mut out = sanitised::stdout();
    if doctor.output.json {
        let checks: Vec<_> = checks
            .iter()
            .map(|check| {
                json!({
                    "what": check.what,
                    "ok": check.ok,
                    "detail": check.detail,
                    "consequence": check.consequence,
                })
            })
            .collect();
        writeln!(out, "{:#}", json!({ "schema": "iowhy.doctor/1", "checks": checks }))?;
        return Ok(Status::Done);
    }
    let style = doctor.output.style(Default::default());
    let column = checks.iter().map(|check| check.what.chars().count()).max().unwrap_or(0);
    let indent = column + if style.unicode { 4 } else { 6 };
    for check in &checks {
        let sign = match (check.ok, style.unicode) {
            (true, true) => "✓",
            (true, false) => "yes",
            (false, true) => "✗",
            (false, false) => "NO ",
        };
        let mut text = format!("{sign} {:column$}  {}\n", check.what, check.detail);
        if !check.ok {
            text += &format!("{:indent$}{}\n", "", check.consequence);
        }
        out.write_all(terminal::hung(&text, indent, style.width).as_bytes())?;
    }
    let missing = checks.iter().filter(|check| !check.ok).count();
    match missing {
        0 => writeln!(out, "\nEverything iowhy can use is available.")?,
        n => writeln!(
            out,
            "\n{n} of {} checks failed; the lines above give the consequences.",
            checks.len()
        )?,
    }
    Ok(Status::Done)
}
