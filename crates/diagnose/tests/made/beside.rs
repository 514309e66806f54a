//! What stands beside the I/O of a small capture: captures of other tools, and numbers cited of
//! them.

use iowhy_model::{Evidence, Finding, Medium, Op, Sink};

use super::MadeCapture;

/// Reads the output of another tool into it, as an input of its own.
pub(crate) fn read(capture: &mut MadeCapture, input: &str, text: &str) {
    iowhy_read::scan(input, &mut text.as_bytes(), None, &mut capture.recording).unwrap();
}

/// The evidence whose quantity holds these words.
pub(crate) fn cited<'a>(finding: &'a Finding, words: &str) -> &'a Evidence {
    let found = finding.evidence.iter().find(|evidence| evidence.quantity.contains(words));
    found.unwrap_or_else(|| panic!("no `{words}` among {:#?}", finding.evidence))
}

pub(crate) fn near(evidence: &Evidence, value: f64, by: f64) {
    assert!((evidence.amount.value - value).abs() <= by, "{evidence:?} is not {value}");
}

/// `smartctl -j` of a drive with some attributes' raw values.
pub(crate) fn smart(disk: &str, rpm: u32, raw: &[(u32, u64)]) -> String {
    let table: Vec<String> = raw
        .iter()
        .map(|(id, value)| {
            format!("{{\"id\": {id}, \"when_failed\": \"\", \"raw\": {{\"value\": {value}}}}}")
        })
        .collect();
    format!(
        "{{\n \"json_format_version\": [1, 0],\n \"device\": {{\"name\": \"/dev/{disk}\"}},\n \
         \"rotation_rate\": {rpm},\n \"smart_status\": {{\"passed\": true}},\n \
         \"ata_smart_attributes\": {{\"table\": [{}]}}\n}}\n",
        table.join(", ")
    )
}

/// `smartctl -j` of an NVMe drive.
pub(crate) fn nvme(health: &str) -> String {
    format!(
        "{{\n \"json_format_version\": [1, 0],\n \"device\": {{\"name\": \"/dev/nvme0\", \
         \"protocol\": \"NVMe\"}},\n \"smart_status\": {{\"passed\": true}},\n \
         \"nvme_smart_health_information_log\": {{{health}}}\n}}\n"
    )
}

pub(crate) fn near_ms(value: f64, expected: f64, by: f64) {
    assert!((value - expected).abs() < by, "{value} is not {expected}");
}

/// Reads of 8 ms, of which some take as long as is given, in s.
pub(crate) fn with_long_ones(long_s: &[f64]) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    capture.medium("sdb", Medium::Rotational);
    let mut at = 0.0;
    for k in 0..200 {
        let long = (k % 20 == 10).then(|| long_s.get(k / 20)).flatten();
        let took = long.map_or_else(|| 8.0 * capture.about(0.15), |s| s * 1000.0);
        let sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io("sdb", Op::Read, sector, 4096, at, took);
        at += took + 3.0;
    }
    capture.recording.end();
    capture
}
