//! Health records: `smartctl -j -x` of each disk at the beginning and at the end, or now and then
//! if the temperature changes, and `nvme smart-log -o json`.

use serde_json::{Value, json};

use super::Input;
use crate::scenarios::{Chance, DiskRun, Heat, Scenario, Trace};
use iowhy_model::Medium;

/// Readings of a disk whose temperature moves.
const READINGS: usize = 14;
/// Share of the disks with some old errors of the link, or some sectors remapped long ago.
const SCARRED: f64 = 0.08;
/// Share of NVMe disks whose health was read by nvme-cli.
const BY_NVME_CLI: f64 = 0.3;
/// When the lab's day begins, seconds since 1970.
const DAY: u64 = 1_795_251_600;

/// The documents, in order of time.
pub(super) fn documents(scenario: &Scenario, taste: &mut Chance) -> Vec<Input> {
    let (mut smartctl, mut cli) = (String::new(), String::new());
    let by_cli = scenario.disks.len() == 1 && taste.chance(BY_NVME_CLI);
    for (place, disk) in scenario.disks.iter().enumerate() {
        let Some(past) = Past::of(disk, taste) else { continue };
        let readings = if disk.heat.is_some() { READINGS } else { 2 };
        for reading in 0..readings {
            let part = reading as f64 / (readings - 1) as f64;
            let when = (scenario.span as f64 * part) as u64;
            let now = Reading { scenario, place, disk, past: &past, when, ends: part >= 0.5 };
            match disk.setup.medium {
                Medium::Nvme if by_cli => {
                    let log = now.nvme(|key| key);
                    cli.push_str(&format!("{log:#}\n"));
                }
                Medium::Nvme => smartctl.push_str(&format!("{:#}\n", now.nvme_document())),
                _ => smartctl.push_str(&format!("{:#}\n", now.ata_document())),
            }
        }
    }
    let kept = [("smartctl.json", smartctl), ("nvme-smart-log.json", cli)];
    let kept = kept.into_iter().filter(|(_, text)| !text.is_empty());
    kept.map(|(name, text)| Input { name, text }).collect()
}

/// A disk's history before the scenario.
struct Past {
    hours: u64,
    celsius: u64,
    link_errors: u64,
    remapped: u64,
    errors: u64,
}

impl Past {
    /// `None` for a disk that smartctl does not reach.
    fn of(disk: &DiskRun, taste: &mut Chance) -> Option<Past> {
        let reached = disk.setup.medium != Medium::Stacked
            && disk.setup.medium != Medium::Network
            && !disk.setup.name.starts_with('v');
        let old = |taste: &mut Chance, most: usize| {
            if taste.chance(SCARRED) { taste.whole(1, most) as u64 } else { 0 }
        };
        reached.then(|| Past {
            hours: taste.whole(200, 50_000) as u64,
            celsius: taste.whole(28, 46) as u64,
            link_errors: old(taste, 200),
            remapped: old(taste, 8),
            errors: taste.whole(0, 900) as u64,
        })
    }
}

/// One reading of one disk.
struct Reading<'a> {
    scenario: &'a Scenario,
    place: usize,
    disk: &'a DiskRun,
    past: &'a Past,
    when: u64,
    ends: bool,
}

impl Reading<'_> {
    fn celsius(&self) -> u64 {
        let stated = self.scenario.traces.iter().find_map(|trace| match trace {
            Trace::Celsius(place, celsius) if *place == self.place => Some(*celsius),
            _ => None,
        });
        let moved = self.disk.heat.as_ref().map(|heat| heat.when(self.when).0.round() as u64);
        moved.or(stated).unwrap_or(self.past.celsius)
    }

    fn attribute(&self, id: u8, usual: u64) -> u64 {
        let stated = self.scenario.traces.iter().find_map(|trace| match trace {
            Trace::Attribute(place, known, before, after)
                if (*place, *known) == (self.place, id) =>
            {
                Some(if self.ends { *after } else { *before })
            }
            _ => None,
        });
        stated.unwrap_or(usual)
    }

    /// What both kinds of documents begin with.
    fn document(&self, kind: &str, protocol: &str, model: &str) -> Value {
        let name = &self.disk.setup.name;
        let seconds = DAY + self.when / 1_000_000_000;
        let model = self
            .scenario
            .traces
            .iter()
            .find_map(|trace| match trace {
                Trace::Model(place, stated) if *place == self.place => Some(*stated),
                _ => None,
            })
            .unwrap_or(model);
        json!({
            "json_format_version": [1, 0],
            "smartctl": { "version": [7, 4], "argv": ["smartctl", "-j", "-x", format!("/dev/{name}")], "exit_status": 0 },
            "local_time": { "time_t": seconds, "asctime": "Sat Nov 21 09:00:00 2026 UTC" },
            "device": { "name": format!("/dev/{name}"), "info_name": format!("/dev/{name}"), "type": kind, "protocol": protocol },
            "model_name": model,
            "firmware_version": "SN04",
            "smart_status": { "passed": true },
            "power_on_time": { "hours": self.past.hours },
            "temperature": { "current": self.celsius() },
        })
    }

    fn ata_document(&self) -> Value {
        let rotates = self.disk.setup.medium == Medium::Rotational;
        let model = if rotates { "ST4000NM0035-1V4107" } else { "Samsung SSD 870 EVO 1TB" };
        let mut document = self.document("sat", "ATA", model);
        let after = |key: &str| self.disk.setup.model.split(key).nth(1).unwrap_or_default();
        let rpm: String = after("rpm=").chars().take_while(char::is_ascii_digit).collect();
        let table: Vec<Value> = [
            (5, "Reallocated_Sector_Ct", self.attribute(5, self.past.remapped)),
            (9, "Power_On_Hours", self.past.hours),
            (187, "Reported_Uncorrect", self.attribute(187, 0)),
            (188, "Command_Timeout", self.attribute(188, 0)),
            (194, "Temperature_Celsius", self.celsius()),
            (197, "Current_Pending_Sector", self.attribute(197, 0)),
            (198, "Offline_Uncorrectable", self.attribute(198, 0)),
            (199, "UDMA_CRC_Error_Count", self.attribute(199, self.past.link_errors)),
        ]
        .into_iter()
        .map(|(id, name, raw)| {
            json!({ "id": id, "name": name, "value": 100, "worst": 100, "thresh": 0, "when_failed": "",
                    "raw": { "value": raw, "string": raw.to_string() } })
        })
        .collect();
        let link = self.scenario.traces.iter().find_map(|trace| match trace {
            Trace::Link(place, now, most) if *place == self.place => Some((*now, *most)),
            _ => None,
        });
        let (now, most) = link.unwrap_or(("6.0 Gb/s", "6.0 Gb/s"));
        let recovery = self.scenario.traces.iter().find_map(|trace| match trace {
            Trace::Recovery(place, limit) if *place == self.place && *limit > 0 => Some(*limit),
            _ => None,
        });
        let fields = document.as_object_mut();
        let Some(fields) = fields else { return document };
        fields.insert("rotation_rate".into(), json!(rpm.parse::<u64>().unwrap_or(0)));
        fields.insert("ata_smart_attributes".into(), json!({ "revision": 16, "table": table }));
        fields.insert(
            "interface_speed".into(),
            json!({ "max": { "string": most }, "current": { "string": now } }),
        );
        if let Some(limit) = recovery {
            let side = json!({ "enabled": true, "deciseconds": limit });
            fields.insert("ata_sct_erc".into(), json!({ "read": side, "write": side }));
        }
        document
    }

    fn nvme_document(&self) -> Value {
        let mut document = self.document("nvme", "NVMe", "Samsung SSD 980 PRO 1TB");
        let log = self.nvme(|key| match key {
            "avail_spare" => "available_spare",
            "spare_thresh" => "available_spare_threshold",
            "percent_used" => "percentage_used",
            other => other,
        });
        let warning = self.disk.heat.as_ref().map_or(82, |heat| heat.warning as u64);
        if let Some(fields) = document.as_object_mut() {
            let threshold = json!({ "warning": warning, "critical": warning + 5 });
            fields.insert("nvme_composite_temperature_threshold".into(), threshold);
            fields.insert("nvme_smart_health_information_log".into(), log);
        }
        document
    }

    /// The health log, by nvme-cli's names or by those that `named` makes of them.
    fn nvme(&self, named: impl Fn(&'static str) -> &'static str) -> Value {
        let by_cli = named("avail_spare") == "avail_spare";
        let steps = self.disk.heat.as_ref().map_or([0, 0], |heat: &Heat| heat.when(self.when).1);
        // Bit 1: a temperature beyond its threshold (NVMe past specification, health log).
        let hot = |heat: &Heat| self.celsius() as f64 >= heat.warning;
        let warned = if self.disk.heat.as_ref().is_some_and(hot) { 2 } else { 0 };
        let celsius = self.celsius() + if by_cli { 273 } else { 0 };
        let mut log = json!({
            "critical_warning": warned,
            "temperature": celsius,
            "media_errors": 0,
            "num_err_log_entries": self.past.errors,
            "warning_temp_time": 0,
            "critical_comp_time": 0,
        });
        let Some(fields) = log.as_object_mut() else { return log };
        fields.insert(named("avail_spare").into(), json!(100));
        fields.insert(named("spare_thresh").into(), json!(10));
        fields.insert(named("percent_used").into(), json!(self.past.hours / 2000));
        if by_cli {
            fields.insert("thm_temp1_trans_count".into(), json!(3 + steps[0]));
            fields.insert("thm_temp2_trans_count".into(), json!(steps[1]));
        }
        log
    }
}
