//! Runs the probe that a verdict proposes, if the user agrees and it only reads.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Recording};
use iowhy_probe::Purpose;

use super::followups::Proposal;
use super::{Probe, measure, result};
use crate::messages::{self, HintedError};
use crate::sanitised;

/// Asks, measures into the recording, writes the numbers (not with `quiet`) and judges again;
/// `None` if nothing was run.
pub(crate) fn ask(
    proposal: &Proposal,
    agreed: bool,
    quiet: bool,
    options: &Options,
    recording: &mut Recording,
) -> anyhow::Result<Option<Vec<Finding>>> {
    let command = proposal.command();
    let words = ["probe", proposal.kind].into_iter().map(str::to_string);
    let words = words.chain([proposal.target()]);
    let words = words.chain(proposal.words.iter().map(|word| (*word).to_string()));
    let matches = Probe::augment_args(clap::Command::new("probe")).try_get_matches_from(words)?;
    let probe = Probe::from_arg_matches(&matches)?;
    let Some(kind) = iowhy_probe::find(proposal.kind) else { return Ok(None) };
    let ask = probe.ask();
    if (kind.purpose)(&ask) != Purpose::Read {
        let hint = format!("run it yourself: `{command}`");
        messages::warn("the deciding probe writes, so it is not run automatically", Some(&hint));
        return Ok(None);
    }
    let Some(target) = proposal.path() else {
        let hint = format!("run it yourself: `{command}`");
        messages::warn("the input does not identify a disk of this machine", Some(&hint));
        return Ok(None);
    };
    if !Path::new(&target).exists() {
        let hint = format!("run it on the machine with that disk: `{command}`");
        messages::warn(&format!("no `{target}` on this machine"), Some(&hint));
        return Ok(None);
    }
    if !agreed && !agrees(&command, &proposal.settles, kind.loads)? {
        return Ok(None);
    }
    let measured = measure(&ask, &probe.terms(), kind, Path::new(&target), recording)?;
    if !quiet {
        let mut out = sanitised::stdout();
        writeln!(out)?;
        let ended = measured.ended.as_deref();
        result::write_text(kind, &measured.outcome, &measured.own, ended, &mut out)?;
        writeln!(out)?;
    }
    Ok(Some(judge(recording, options)))
}

/// Whether the user says yes on the terminal.
fn agrees(command: &str, settles: &str, loads: bool) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(HintedError::error(
            "cannot ask: stdin is not a terminal",
            format!("use `--ask --yes` to agree in advance, or run it yourself: `{command}`"),
        ));
    }
    let cost = if loads { "Read-only, but it loads the device while it runs" } else { "Read-only" };
    let mut reported = std::io::stderr().lock();
    write!(reported, "\n`{}` {settles}.\n{cost}. Run it? [y/N] ", sanitised::text(command))?;
    reported.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
