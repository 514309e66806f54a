//! A drive without counted defects: its own report, if no I/O was timed.

use iowhy_model::{FactKey, Observation, key};

use crate::analysis::{Analysis, Host};
use crate::facts::reading::FactReading;
use crate::phrase;

/// Attributes that count sectors a drive reallocated, could not read or correct, or that its link
/// corrupted (smartctl(8)): reallocated, reported, pending, uncorrectable, CRC.
const DEFECTS: [&str; 5] = ["5", "187", "197", "198", "199"];
/// Those without which nothing can be reported of its surface: the first and any other.
const NEEDED: [&str; 4] = ["5", "187", "197", "198"];
/// The same of NVMe (health log), all of them.
const OF_NVME: [&str; 2] = ["media_errors", "critical_warning"];
/// An error that a drive logged longer ago than this, seconds of power-on time, is history: a month
/// (a choice).
const OLD_S: f64 = 30.0 * 86_400.0;
/// From here on a drive is hotter than any maker rates it for (60 degrees Celsius; data sheets).
const HOT: f64 = 60.0;

/// Each drive of an input whose defect counters are all 0.
pub(crate) fn seen(analysis: &Analysis, host: Host, disks: &[String]) -> Vec<Observation> {
    let unnamed = disks.iter().all(|disk| !disk.is_empty()).then_some("");
    let all = disks.iter().map(String::as_str).chain(unnamed);
    all.filter_map(|disk| clean(analysis, host, disk)).collect()
}

/// Whether the errors in the logs of all drives of an input are long ago.
pub(crate) fn are_history(analysis: &Analysis, host: Host, disks: &[String]) -> bool {
    let all = disks.iter().map(String::as_str).chain([""]);
    let mut logged = all.filter(|disk| {
        number(analysis, host, disk, key::SMART_ERRORS).is_some_and(|(errors, _)| errors > 0.0)
    });
    logged.all(|disk| quiet_for(analysis, host, disk).is_some())
}

/// How long a drive had run since the last error in its log, s, if that is long.
fn quiet_for(analysis: &Analysis, host: Host, disk: &str) -> Option<f64> {
    let (now, _) = number(analysis, host, disk, key::SMART_HOURS)?;
    let (last, _) = number(analysis, host, disk, key::SMART_ERROR_LOG_HOURS)?;
    Some(now - last).filter(|quiet| *quiet > OLD_S)
}

/// A counter of the drive; one without a name is the machine's.
fn number<'a>(
    analysis: &Analysis<'a>,
    host: Host,
    disk: &str,
    key: FactKey,
) -> Option<(f64, FactReading<'a>)> {
    let about = analysis.facts.about(Some(host), disk);
    if disk.is_empty() { about.machine_number(key) } else { about.number(key) }
}

fn clean(analysis: &Analysis, host: Host, disk: &str) -> Option<Observation> {
    let of = |id: &'static str| number(analysis, host, disk, key::SMART_RAW.of(id));
    let of_nvme = |id: &'static str| number(analysis, host, disk, key::SMART_NVME.of(id));
    let counted =
        || DEFECTS.into_iter().filter_map(of).chain(OF_NVME.into_iter().filter_map(of_nvme));
    let (surface, others) = NEEDED.split_first()?;
    let is_ata = of(surface).is_some() && others.iter().any(|id| of(id).is_some());
    let is_nvme = OF_NVME.into_iter().all(|id| of_nvme(id).is_some());
    if !(is_ata || is_nvme) || counted().any(|(count, _)| count > 0.0) {
        return None;
    }
    let logged = number(analysis, host, disk, key::SMART_ERRORS).filter(|(n, _)| *n > 0.0);
    let quiet = quiet_for(analysis, host, disk);
    if logged.is_some() && quiet.is_none() {
        return None;
    }
    let (_, reading) = counted().next()?;
    let name = if disk.is_empty() { String::new() } else { format!(" ({disk})") };
    let what = format!("defects counted by the drive{name}");
    let evidence = analysis.stated(&reading).count(&what, 0.0);
    let log = quiet.map_or(String::new(), |quiet| {
        format!("; the last error in its log was {} of power-on time ago", phrase::ms(quiet * 1e3))
    });
    let celsius = [key::SMART_CELSIUS, key::SMART_NVME_TEMPERATURE];
    let celsius = celsius.into_iter().find_map(|key| number(analysis, host, disk, key));
    let heat =
        celsius.filter(|(celsius, _)| *celsius > HOT).map_or(String::new(), |(celsius, _)| {
            format!("; at {celsius:.0} degrees Celsius it is too hot: cool it")
        });
    let would_mean = format!(
        "{}{log}{heat}; a drive can be slow although no counter shows it",
        match is_nvme {
            true => "no media error and no critical warning",
            false => "no reallocated, pending or uncorrectable sector and no corrupt transfer",
        }
    );
    Some(Observation::of(evidence, would_mean))
}
