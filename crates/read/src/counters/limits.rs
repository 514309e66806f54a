//! Limits of block devices: what options of a command set, and how a line of limits becomes facts.

use std::borrow::Cow;

use iowhy_model::{FactKey, LimitKind, Sink, key};

use crate::bytes;
use crate::facts::AddFact;

/// Options of commands that set limits, and what their `k` means (docker-run(1),
/// systemd.resource-control(5)).
const OPTIONS: [(&str, &str, f64); 8] = [
    ("--device-read-bps", "rbps", 1024.0),
    ("--device-write-bps", "wbps", 1024.0),
    ("--device-read-iops", "riops", 1000.0),
    ("--device-write-iops", "wiops", 1000.0),
    ("IOReadBandwidthMax", "rbps", 1000.0),
    ("IOWriteBandwidthMax", "wbps", 1000.0),
    ("IOReadIOPSMax", "riops", 1000.0),
    ("IOWriteIOPSMax", "wiops", 1000.0),
];

/// One line: its file and path, if printed, the device, and the fields.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DeviceLine<'a> {
    pub(crate) path: Option<&'a str>,
    pub(crate) file: &'static str,
    pub(crate) device: String,
    pub(crate) fields: Vec<(&'a str, Cow<'a, str>)>,
}

/// `--device-write-bps /dev/sdb:1mb` of docker and podman, `IOWriteBandwidthMax="/dev/sdb 1M"` of
/// systemd: limits that are set by options of a command.
pub(crate) fn set_by_options(text: &str) -> Vec<DeviceLine<'_>> {
    let set = OPTIONS.iter().filter_map(|(option, limit, kilo)| {
        let (_, setting) = text.split_once(option)?;
        let setting = setting.trim_start_matches(['=', ' ', '"', '\'']);
        let (path, setting) = setting.split_once([':', ' '])?;
        let end = setting.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(setting.len());
        let device = path.strip_prefix("/dev/").filter(|name| !name.contains('/'))?.to_string();
        let binary = bytes(setting.get(..end)?)?;
        // systemd counts in thousands.
        let thousands = ["k", "m", "g", "t"];
        let power = thousands.iter().position(|unit| {
            setting.get(..end).is_some_and(|setting| setting.to_ascii_lowercase().contains(unit))
        });
        let power = power.map_or(0, |place| place as i32 + 1);
        let value = binary * (kilo / 1024.0).powi(power);
        let value = Cow::Owned(value.round().to_string());
        Some(DeviceLine { path: None, file: "max", device, fields: vec![(*limit, value)] })
    });
    set.collect()
}

/// States the limits that a command sets for the program it runs.
pub(crate) fn limits_of(command: &str, sink: &mut dyn Sink) {
    set_by_options(command).iter().for_each(|set| state(set, sink));
}

/// States the limits and counts of a line.
pub(crate) fn state(row: &DeviceLine, sink: &mut dyn Sink) {
    let device = sink.device(&row.device);
    let place = row.path.map_or_else(|| sink.source().place(), str::to_string);
    for (field, value) in row.fields.iter().filter(|(_, value)| value != "max") {
        sink.add_text_at(device, key_of(row.file, field), value, &place);
    }
}

/// The fact that a field of a file of control groups is.
fn key_of(file: &str, field: &str) -> FactKey {
    match (file, LimitKind::named(field)) {
        ("latency", Some(LimitKind::Target)) => LimitKind::Target.key(),
        ("max", Some(kind)) if kind != LimitKind::Target => kind.key(),
        ("stat", _) => key::CGROUP_STAT.member(field),
        _ => key::CGROUP.member(format!("{file}.{field}")),
    }
}
