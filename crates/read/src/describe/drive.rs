//! Facts of a drive by label, under the names of various tools.

use iowhy_model::typed::{Celsius, Key};
use iowhy_model::{FactValue, Nanos, typed};

use super::labels::Report;
use crate::drive::health::leading;

/// The whole number that a value begins with, if it does.
pub(crate) fn number<V: Into<FactValue>>(
    key: Key<V>,
    value: &str,
    report: &mut Report,
    in_unit: fn(u64) -> V,
) -> Option<()> {
    leading(value).map_or(Some(()), |number| report.fact(key, in_unit(number)))
}

/// A text, if there is one.
pub(crate) fn text(key: Key<String>, value: &str, report: &mut Report) -> Option<()> {
    if value.is_empty() { Some(()) } else { report.fact(key, value) }
}

/// Its model, which is its name if there is no other.
pub(crate) fn model(value: &str, report: &mut Report) -> Option<()> {
    report.drive.model(value);
    text(typed::SMART_MODEL, value, report)
}

/// Its serial number.
pub(crate) fn serial(value: &str, report: &mut Report) -> Option<()> {
    report.drive.serial(value);
    Some(())
}

/// Its firmware.
pub(crate) fn firmware(value: &str, report: &mut Report) -> Option<()> {
    text(typed::SMART_FIRMWARE, value, report)
}

/// Revolutions per minute, or that it has none: `Solid State Device`, `---- (SSD)`.
pub(crate) fn rpm(value: &str, report: &mut Report) -> Option<()> {
    match value.starts_with("Solid") || value.contains("(SSD)") {
        true => report.fact(typed::SMART_RPM, 0u64),
        false => number(typed::SMART_RPM, value, report, |rpm| rpm),
    }
}

/// Its temperature.
pub(crate) fn celsius(value: &str, report: &mut Report) -> Option<()> {
    number(typed::SMART_CELSIUS, value, report, |celsius| Celsius(celsius as f64))
}

/// How long it has run.
pub(crate) fn hours(value: &str, report: &mut Report) -> Option<()> {
    number(typed::SMART_HOURS, value, report, Nanos::from_hours)
}
