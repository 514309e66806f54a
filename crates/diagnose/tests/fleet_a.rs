//! A real cluster as its hosts would print it: 30 hosts of 12 drives, 14 days, two fail-slow drives
//! (`../shared/fleet-a/README.md`). It stays out of the repository: where it is not beside it, this
//! test says so and passes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use iowhy_diagnose::{Options, judge};
use iowhy_model::Recording;

const FAULTY: [(&str, &str); 2] = [("host_22", "sdk"), ("host_25", "sdh")];
/// A request of them; neither rates nor directions are known.
const REQUEST: f64 = 65_536.0;

/// `iostat -x` of each host and day; `None`, loudly, if there are none.
fn windows() -> Option<BTreeMap<(String, String), String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fleet-a/windows.csv.xz");
    let output = Command::new("xz").arg("-dc").arg(file).output().ok();
    let Some(output) = output.filter(|output| output.status.success()) else {
        println!("skipped: needs ../shared/fleet-a and xz");
        return None;
    };
    let mut all: BTreeMap<(String, String), (String, String)> = BTreeMap::new();
    for row in String::from_utf8(output.stdout).unwrap().lines().skip(1) {
        let [host, date, at, disk, bytes, us] = row.split(',').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let (last, text) = all.entry((host.to_string(), date.to_string())).or_insert_with(|| {
            (String::new(), "Linux 5.10.0 (node) \t07/25/2022 \t_x86_64_\t(64 CPU)\n".to_string())
        });
        if *last != at {
            *last = at.to_string();
            let second = at.parse::<u64>().unwrap() % 86_400;
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            writeln!(text, "\n{date}T{hour:02}:{minute:02}:{second:02}+0000").unwrap();
            writeln!(text, "Device r/s rkB/s r_await w/s wkB/s w_await wareq-sz aqu-sz %util")
                .unwrap();
        }
        let name = char::from(b'a' + disk.parse::<u8>().unwrap() - 1);
        let per_s = bytes.parse::<f64>().unwrap() / REQUEST;
        let ms = us.parse::<f64>().unwrap() / 1e3;
        let (kb, queue) = (per_s * REQUEST / 1024.0, per_s * ms / 1e3);
        let busy = (queue * 100.0).min(100.0);
        writeln!(
            text,
            "sd{name} 0.00 0.00 0.00 {per_s:.2} {kb:.2} {ms:.2} 64.00 {queue:.2} {busy:.2}"
        )
        .unwrap();
    }
    Some(all.into_iter().map(|(of, (_, text))| (of, text)).collect())
}

/// The disks accused by what was printed.
fn accused(text: &str) -> Vec<String> {
    let mut recording = Recording::new();
    iowhy_read::scan("fleet-a", &mut text.as_bytes(), None, &mut recording).unwrap();
    let findings = judge(&recording, &Options::default());
    let of_a_disk = |verdict: &str| verdict.starts_with("device.") || verdict.starts_with("peer.");
    findings
        .iter()
        .filter(|one| of_a_disk(one.verdict.name()) && one.confidence() >= 0.6)
        .map(|one| {
            one.subject.device.map_or(String::new(), |id| recording.device_of(id).name.clone())
        })
        .collect()
}

#[test]
fn two_fail_slow_drives_stand_out_in_iostat_and_no_other_does() {
    let Some(windows) = windows() else { return };
    assert_eq!(windows.len(), 420);
    let (mut found, mut others, mut days) = (0, Vec::new(), 0);
    for ((host, date), text) in &windows {
        let faulty = FAULTY.iter().find(|(of, _)| of == host).map(|(_, disk)| *disk);
        days += usize::from(faulty.is_some());
        let accused = accused(text);
        found += usize::from(accused.iter().any(|disk| Some(disk.as_str()) == faulty));
        let wrong = accused.into_iter().filter(|disk| Some(disk.as_str()) != faulty);
        others.extend(wrong.map(|disk| format!("{host} {date} {disk}")));
    }
    assert!(others.is_empty(), "{others:?}");
    assert!(days == 28 && found >= 25, "{found} of {days} days");
}
