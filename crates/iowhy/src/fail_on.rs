//! `--fail-on VERDICT|FAMILY[:CONFIDENCE]`: verdicts that set the exit status, for monitoring.

use clap::Args;
use iowhy_model::{Family, STANDS, Verdict};

use crate::command::Status;

/// When to exit with status 3.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FailOn {
    /// Exit with status 3 if this verdict or family (device, load, cap, ...) is found with at least
    /// 60 % confidence, or the one given: `device`, `load.flush:0.9` (may be given several times)
    #[arg(long = "fail-on", value_name = "VERDICT|FAMILY[:CONFIDENCE]", value_parser = alarm)]
    alarms: Vec<Alarm>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
struct Alarm {
    verdicts: Vec<Verdict>,
    at_least: f64,
}

impl FailOn {
    /// The status: [`Status::Found`] if one of the findings (verdict and confidence) matches.
    pub(crate) fn status(
        &self,
        findings: impl IntoIterator<Item = (Verdict, f64)>,
        otherwise: Status,
    ) -> Status {
        let asked = |verdict: Verdict, confidence: f64| {
            self.alarms
                .iter()
                .any(|alarm| alarm.verdicts.contains(&verdict) && confidence >= alarm.at_least)
        };
        let found = findings.into_iter().any(|(verdict, confidence)| asked(verdict, confidence));
        if found { Status::Found } else { otherwise }
    }
}

fn alarm(text: &str) -> Result<Alarm, String> {
    let (name, at_least) = match text.split_once(':') {
        Some((name, confidence)) => (name, Some(share(confidence)?)),
        None => (text, None),
    };
    let one = Verdict::named(name);
    let named = |verdict: &&Verdict| {
        one == Some(**verdict) || verdict.name().split('.').next() == Some(name)
    };
    let verdicts: Vec<Verdict> = Verdict::ALL.iter().filter(named).copied().collect();
    if verdicts.is_empty() {
        return Err("no such verdict or family; `iowhy explain verdicts` lists them".to_string());
    }
    // `insufficient` has no confidence.
    let always = verdicts.iter().all(|verdict| verdict.family() == Family::Insufficient);
    let at_least = at_least.unwrap_or(if always { 0.0 } else { STANDS });
    Ok(Alarm { verdicts, at_least })
}

/// `0.9` or `90%`.
fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    let known = number.ok().filter(|share| (0.0..=1.0).contains(share));
    known.ok_or_else(|| format!("invalid confidence `{text}`: write 0.9 or 90%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_families_and_confidences_are_read() {
        let retry = alarm("device.retry").unwrap();
        assert_eq!((retry.verdicts.as_slice(), retry.at_least), (&[Verdict::DeviceRetry][..], 0.6));
        let load = alarm("load:90%").unwrap();
        assert!(load.verdicts.len() > 3 && load.at_least == 0.9);
        assert_eq!(alarm("insufficient").unwrap().at_least, 0.0);
        assert!(alarm("disk").is_err() && alarm("load:often").is_err() && alarm("cap:2").is_err());
    }

    #[test]
    fn what_was_asked_for_decides() {
        let asked = FailOn { alarms: vec![alarm("device:0.8").unwrap()] };
        let status =
            |confidence| asked.status([(Verdict::DeviceRetry, confidence)], Status::Incomplete);
        assert_eq!((status(0.9), status(0.7)), (Status::Found, Status::Incomplete));
        assert_eq!(asked.status([(Verdict::LoadFlush, 0.9)], Status::Done), Status::Done);
    }
}
