//! A device's label beside its kernel name: `dm-3 (vg-pgdata, /var/lib/pg)`.

use iowhy_model::{DeviceId, NameTable, Recording};
use serde_json::{Map, Value};

use crate::sources::shortened;

/// Names and mount points of one device.
const MOST: usize = 2;
/// Columns of one name or mount point: files of loop devices have long paths.
const LONGEST: usize = 40;

/// A device with its other names after it.
pub fn label(table: &NameTable, device: &str) -> String {
    match words(table, device) {
        Some(words) => format!("{device} ({words})"),
        None => device.to_string(),
    }
}

/// The same if it fits into this many columns, else with fewer names, else the kernel's name,
/// shortened.
pub fn fitted(table: &NameTable, device: &str, room: usize) -> String {
    let whole = label(table, device);
    let first = parts(table, device).into_iter().next();
    let short = first.map(|first| format!("{device} ({first})"));
    let fits = [Some(whole), short].into_iter().flatten().find(|text| text.chars().count() <= room);
    fits.unwrap_or_else(|| shortened(device, room))
}

/// The label of a device of a recording.
pub fn of(recording: &Recording, device: DeviceId) -> String {
    let name = recording.devices().get(device.index()).map_or("", |device| &device.name);
    label(&NameTable::of(recording), name)
}

/// The other names: its own and those of what is made of it, and where that is mounted; `None` if
/// none is known.
pub fn words(table: &NameTable, device: &str) -> Option<String> {
    let parts = parts(table, device);
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn parts(table: &NameTable, device: &str) -> Vec<String> {
    let given = |name: &str| table.get(name).and_then(|known| known.given()).map(str::to_string);
    // An array is known by the name that the kernel gave it.
    let called = |name: &str| given(name).or(name.starts_with("md").then(|| name.to_string()));
    let above = table.above(device).into_iter().filter_map(called);
    let mut named: Vec<String> = given(device).into_iter().chain(above).collect();
    if named.is_empty() {
        named = table.above(device).into_iter().map(str::to_string).collect();
    }
    let mut parts = capped(&named);
    parts.extend(capped(&table.mounts(device)));
    parts
}

/// The names of the layers above a device: user-chosen ones, else the kernel's.
fn volumes(table: &NameTable, device: &str) -> Vec<String> {
    let given = |name: &str| table.get(name).and_then(|known| known.given()).map(str::to_string);
    let above = table.above(device).into_iter();
    above.map(|above| given(above).unwrap_or_else(|| above.to_string())).collect()
}

/// The first of many, with a mark that there are more.
pub(crate) fn capped(all: &[impl AsRef<str>]) -> Vec<String> {
    let some = all.iter().take(MOST).map(|one| shortened(one.as_ref(), LONGEST));
    let more = (all.len() > MOST).then(|| "...".to_string());
    some.chain(more).collect()
}

/// A line that names the devices of a table by their labels, of those that have other names; `None`
/// if none has.
pub fn legend<'a>(table: &NameTable, devices: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut known: Vec<&str> = Vec::new();
    for device in devices {
        if !known.contains(&device) && words(table, device).is_some() {
            known.push(device);
        }
    }
    let labels: Vec<String> = known.into_iter().map(|device| label(table, device)).collect();
    (!labels.is_empty()).then(|| labels.join(", "))
}

/// The names of a device as JSON; `None` if no other name is known.
pub fn object(table: &NameTable, device: &str) -> Option<Value> {
    let known = table.get(device)?;
    let mut fields = Map::new();
    let mut text = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            fields.insert(key.to_string(), value.into());
        }
    };
    text("dm", known.map.clone());
    text("kind", known.kind.map(|kind| kind.word().to_string()));
    let (group, volume) = known.volume().unzip();
    text("vg", group);
    text("lv", volume);
    text("md", known.array().map(str::to_string));
    text("backing_file", known.file.clone());
    text("disk", known.partition.as_ref().map(|partition| partition.disk.clone()));
    let mut list = |key: &str, values: Vec<String>| {
        if !values.is_empty() {
            fields.insert(key.to_string(), values.into());
        }
    };
    let owned = |all: Vec<&str>| all.into_iter().map(str::to_string).collect::<Vec<_>>();
    list("mounts", owned(table.mounts(device)));
    for (key, folder) in [
        ("by_id", "/dev/disk/by-id"),
        ("by_label", "/dev/disk/by-label"),
        ("by_uuid", "/dev/disk/by-uuid"),
        ("by_partuuid", "/dev/disk/by-partuuid"),
        ("by_path", "/dev/disk/by-path"),
    ] {
        list(key, owned(known.links_in(folder).collect()));
    }
    list("partitions", owned(table.partitions(device).collect()));
    list("made_of", known.below.clone());
    list("part_of", owned(table.above(device)));
    list("volumes", volumes(table, device));
    (!fields.is_empty()).then_some(Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use iowhy_model::{Fact, FactKey, Level, Sink, Source, key};

    use super::*;

    fn table(stated: &[(&str, FactKey, &str)]) -> NameTable {
        let mut recording = Recording::new();
        recording.begin(Source::new("host-facts", "live", Level::E));
        for (device, key, text) in stated {
            let device = Some(recording.device(device));
            recording.fact(Fact::read(device, key.clone(), text, "/sys"));
        }
        NameTable::of(&recording)
    }

    #[test]
    fn a_device_is_labelled_with_its_volume_and_mount_point() {
        let table = table(&[
            ("sda", key::DEVICE_HOLDERS, "dm-3 dm-4 dm-5"),
            ("dm-3", key::DM_NAME, "vg-pgdata"),
            ("dm-3", key::DM_UUID, "LVM-x"),
            ("dm-3", key::MOUNT_POINT, "/var/lib/pg"),
            ("dm-4", key::DM_NAME, "vg-home"),
            ("loop0", key::LOOP_FILE, "/srv/a-folder-with-a-long-name/and-another/disk.img"),
            ("sdb", key::DEVICE_NUMBER, "8:16"),
        ]);
        assert_eq!(label(&table, "dm-3"), "dm-3 (vg-pgdata, /var/lib/pg)");
        assert_eq!(label(&table, "sda"), "sda (vg-pgdata, vg-home, /var/lib/pg)");
        assert_eq!(label(&table, "sdb"), "sdb");
        assert_eq!(label(&table, "sdx"), "sdx");
        assert_eq!(fitted(&table, "dm-3", 20), "dm-3 (vg-pgdata)");
        assert_eq!(fitted(&table, "dm-3", 10), "dm-3");
        assert!(label(&table, "loop0").chars().count() < 60);
        let devices = ["sdb", "dm-3", "dm-3"];
        let reported = "dm-3 (vg-pgdata, /var/lib/pg)".to_string();
        assert_eq!(legend(&table, devices.into_iter()), Some(reported));
        assert_eq!(legend(&table, ["sdb"].into_iter()), None);
        assert_eq!(object(&table, "sdb"), None);
        let json = object(&table, "dm-3").map(|value| value.to_string());
        let reported = r#"{"dm":"vg-pgdata","kind":"lvm","vg":"vg","lv":"pgdata","mounts":["/var/lib/pg"],"made_of":["sda"]}"#;
        assert_eq!(json.as_deref(), Some(reported));
    }
}
