//! Devices that slow down, sleep or tick, and what disks share: a capture that each detector
//! accuses, near misses that it leaves alone, and every cited number recomputed.

use iowhy_diagnose::DETECTORS;
use iowhy_model::{Fact, Medium, Op, Sink, key};

use crate::made::beside::{cited, near, near_ms, nvme, read, with_long_ones};
use crate::made::{MadeCapture, Row, accuses, brief, confidence, of};

/// Flash writes of 1 MiB: `mib` of them fast, then as many seconds slow, `cycles` times.
fn cliffs(cycles: usize, mib: impl Fn(usize) -> usize) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    capture.medium("nvme0n1", Medium::Nvme);
    let mut at = 0.0;
    let mut sector = 0;
    for cycle in 0..cycles {
        for (n, ms) in [(mib(cycle), 0.5), (400, 4.0)] {
            for _ in 0..n {
                let took = ms * capture.about(0.1);
                capture.io("nvme0n1", Op::Write, sector, 1 << 20, at, took);
                sector += 2048;
                at += took + 0.01;
            }
        }
        at += 60_000.0;
    }
    capture.recording.end();
    capture
}

#[test]
fn a_write_cache_falls_after_the_same_volume() {
    let findings = cliffs(3, |_| 1200).judge();
    assert!(accuses(&findings, "device.write-cliff"), "{}", brief(&findings));
    let cliff = of(&findings, "device.write-cliff")[0];
    near(cited(cliff, "transitions from fast"), 3.0, 0.0);
    // 1200 MiB each time; windows of 20 writes and a running median of five blur the edge.
    near(cited(cliff, "bytes written"), 1200.0 * 1048576.0, 70.0 * 1048576.0);
    near(cited(cliff, "fast state"), 0.5, 0.02);
    near(cited(cliff, "slow state"), 4.0, 0.1);
    let forecast = cliff.forecast.as_ref().unwrap();
    near_ms(forecast.now_mean.ms(), (1200.0 * 0.5 + 400.0 * 4.0) / 1600.0, 0.05);
    near_ms(forecast.mean.ms(), 0.5, 0.02);
}

#[test]
fn one_fall_other_volumes_heat_and_a_platter_are_no_cliff() {
    let findings = cliffs(1, |_| 1200).judge();
    assert!(confidence(&findings, "device.write-cliff") < 0.6, "{}", brief(&findings));
    let findings = cliffs(3, |cycle| 500 + 900 * cycle).judge();
    assert!(confidence(&findings, "device.write-cliff") < 0.6, "{}", brief(&findings));
    let mut hot = cliffs(3, |_| 1200);
    read(
        &mut hot,
        "before.json",
        &nvme("\"critical_warning\": 0, \"thermal_temp1_transition_count\": 4"),
    );
    read(
        &mut hot,
        "after.json",
        &nvme("\"critical_warning\": 0, \"thermal_temp1_transition_count\": 9"),
    );
    let findings = hot.judge();
    assert!(of(&findings, "device.write-cliff").is_empty(), "{}", brief(&findings));
    let mut platter = cliffs(3, |_| 1200);
    platter.medium("nvme0n1", Medium::Rotational);
    let findings = platter.judge();
    assert!(of(&findings, "device.write-cliff").is_empty(), "{}", brief(&findings));
}

#[test]
fn heat_needs_signs_of_heat_and_slowness() {
    let warming = |slow_ms: f64| {
        let mut capture = MadeCapture::traced();
        capture.medium("nvme0n1", Medium::Nvme);
        let mut at = 0.0;
        for k in 0..4000u64 {
            let ms = if k < 2000 { 0.5 } else { slow_ms };
            let took = ms * capture.about(0.1);
            capture.io("nvme0n1", Op::Write, k * 2048, 1 << 20, at, took);
            at += took + 0.01;
        }
        capture.recording.end();
        capture
    };
    let records = |capture: &mut MadeCapture, before: u32, after: u32| {
        for (input, count) in [("before.json", before), ("after.json", after)] {
            let health =
                format!("\"critical_warning\": 0, \"thermal_temp1_transition_count\": {count}");
            read(capture, input, &nvme(&health));
        }
    };
    let mut hot = warming(1.5);
    records(&mut hot, 4, 9);
    let findings = hot.judge();
    assert!(accuses(&findings, "device.thermal"), "{}", brief(&findings));
    let thermal = of(&findings, "device.thermal")[0];
    near(cited(thermal, "light throttling"), 5.0, 0.0);
    near(cited(thermal, "slow/fast state"), 3.0, 0.1);
    near_ms(thermal.forecast.as_ref().unwrap().mean.ms(), 0.5, 0.02);
    // The counters stand still; it is warm but fast; it is slow but nobody knows how warm.
    let mut static_count = warming(1.5);
    records(&mut static_count, 9, 9);
    let mut quick = warming(0.5);
    records(&mut quick, 4, 9);
    for mut capture in [static_count, quick, warming(1.5)] {
        let findings = capture.judge();
        assert!(!accuses(&findings, "device.thermal"), "{}", brief(&findings));
    }
}

/// Random writes of 1 ms that become slow, beside sequential reads.
fn shingled(slow_ms: f64, sequential_ms: f64) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    capture.medium("sdd", Medium::Rotational);
    let mut at = 0.0;
    for k in 0..2000u64 {
        let slow = k >= 1000;
        let took = if slow { slow_ms } else { 1.0 } * capture.about(0.15);
        let sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io("sdd", Op::Write, sector, 4096, at, took);
        at += took + 1.0;
        if k % 4 == 0 {
            let took = if slow { sequential_ms } else { 0.9 } * capture.about(0.05);
            capture.io("sdd", Op::Read, 1 << 40 | (k / 4 * 256), 131_072, at, took);
            at += took + 1.0;
        }
    }
    capture.recording.end();
    capture
}

/// What `smartctl -j -i` prints of a model.
fn model(name: &str) -> String {
    format!(
        "{{\n \"json_format_version\": [1, 0],\n \"device\": {{\"name\": \"/dev/sdd\"}},\n \
         \"model_name\": \"{name}\",\n \"rotation_rate\": 5400\n}}\n"
    )
}

#[test]
fn shingles_are_accused_with_their_model_and_suspected_without() {
    let mut capture = shingled(300.0, 0.9);
    read(&mut capture, "smart.json", &model("WDC WD40EFAX-68JH4N0"));
    let findings = capture.judge();
    assert!(accuses(&findings, "device.smr"), "{}", brief(&findings));
    let smr = of(&findings, "device.smr")[0];
    near(cited(smr, "random writes"), 0.8, 0.001);
    near(cited(smr, "initially"), 1.0, 0.05);
    near(cited(smr, "write, later"), 300.0, 10.0);
    near(cited(smr, "sequential requests"), 1.0, 0.05);
    let findings = shingled(300.0, 0.9).judge();
    let alone = confidence(&findings, "device.smr");
    assert!(alone > 0.1 && alone < 0.6, "{}", brief(&findings));
    // A conventional disk's cache fills: a seek each, whatever its model.
    let mut filled = shingled(9.0, 0.9);
    read(&mut filled, "smart.json", &model("WDC WD40EFAX-68JH4N0"));
    let findings = filled.judge();
    assert!(of(&findings, "device.smr").is_empty(), "{}", brief(&findings));
}

/// Bursts of fast reads, pauses of 1.5 s between, the first read after each as given.
fn sleeping(disk: &str, medium: Medium, first_ms: impl Fn(&mut MadeCapture) -> f64) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    capture.medium(disk, medium);
    let mut at = 0.0;
    for _ in 0..12 {
        at += 1500.0;
        for k in 0..20 {
            let took = if k == 0 { first_ms(&mut capture) } else { 0.1 * capture.about(0.1) };
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io(disk, Op::Read, sector, 4096, at, took);
            at += took + 2.0;
        }
    }
    capture.recording.end();
    capture
}

#[test]
fn a_sleeper_pays_once_per_pause_and_always_the_same() {
    let findings = sleeping("nvme0n1", Medium::Nvme, |capture| 7.5 * capture.about(0.01)).judge();
    assert!(accuses(&findings, "device.idle-wake"), "{}", brief(&findings));
    let wake = of(&findings, "device.idle-wake")[0];
    // The first burst opens the trace: 11 of 12 first reads follow a pause that was seen.
    near(cited(wake, "requests after such"), 11.0, 0.0);
    near(cited(wake, "after a pause"), 7.5, 0.1);
    near(cited(wake, "latency ratio first request/others"), 75.0, 3.0);
    let forecast = wake.forecast.as_ref().unwrap();
    near_ms(forecast.now_mean.ms(), (12.0 * 7.5 + 228.0 * 0.1) / 240.0, 0.02);
    near_ms(forecast.mean.ms(), (7.5 + 239.0 * 0.1) / 240.0, 0.02);
    // A cold cache takes any time; a platter seeks after a pause.
    let findings =
        sleeping("nvme0n1", Medium::Nvme, |capture| 1.0 + 12.0 * capture.chance()).judge();
    assert!(of(&findings, "device.idle-wake").is_empty(), "{}", brief(&findings));
    let findings =
        sleeping("sda", Medium::Rotational, |capture| 11.0 * capture.about(0.05)).judge();
    assert!(of(&findings, "device.idle-wake").is_empty(), "{}", brief(&findings));
}

/// Reads of 0.3 ms, every third of which waits one to four steps.
fn ticking(disk: &str, medium: Option<Medium>, step_ms: f64) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    if let Some(medium) = medium {
        capture.medium(disk, medium);
    }
    let services: Vec<f64> = (0..150)
        .map(|k| {
            let steps = if k % 3 == 0 { 1 + (capture.chance() * 4.0) as u32 } else { 0 };
            0.3 * capture.about(0.05) + f64::from(steps) * step_ms
        })
        .collect();
    capture.chain(disk, Op::Read, 4096, &services);
    capture.recording.end();
    capture
}

#[test]
fn a_clock_is_no_platter() {
    let findings = ticking("nvme0n1", Some(Medium::Nvme), 4.0).judge();
    assert!(accuses(&findings, "device.periodic-delay"), "{}", brief(&findings));
    let delay = of(&findings, "device.periodic-delay")[0];
    near(cited(delay, "step"), 4.0, 0.02);
    near(cited(delay, "requests delayed"), 50.0, 0.0);
    assert!(delay.sentence.contains("250 Hz"), "{}", delay.sentence);
    near_ms(delay.forecast.as_ref().unwrap().mean.ms(), 0.3, 0.03);
    // The revolution of a platter, of which nobody said whether there is one: that is another
    // verdict.
    for medium in [None, Some(Medium::Rotational)] {
        let findings = ticking("sda", medium, 60_000.0 / 7200.0).judge();
        assert!(of(&findings, "device.periodic-delay").is_empty(), "{}", brief(&findings));
    }
    // A device made of others: steps of 5 ms above random reads that no platter serves, 0.2 ms, one
    // in nine of which the busy host delays by what it likes. And the same where a platter is
    // stated.
    for (medium, ticks) in [(Medium::Stacked, true), (Medium::Rotational, false)] {
        let mut capture = MadeCapture::traced();
        capture.medium("loop700", medium);
        for k in 0..450 {
            let steps = if k % 5 < 2 { 1 + (capture.chance() * 3.0) as u32 } else { 0 };
            let late = if k % 9 == 0 { 3.0 * capture.chance() } else { 0.0 };
            let took = 0.2 * capture.about(0.1) + f64::from(steps) * 5.0 + late;
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io("loop700", Op::Read, sector, 4096, f64::from(k) * 25.0, took);
        }
        let findings = capture.judge();
        assert_eq!(accuses(&findings, "device.periodic-delay"), ticks, "{}", brief(&findings));
        if ticks {
            near(cited(of(&findings, "device.periodic-delay")[0], "step"), 5.0, 0.02);
        }
    }
    // Delays of any length.
    let mut capture = MadeCapture::traced();
    capture.medium("nvme0n1", Medium::Nvme);
    let services: Vec<f64> = (0..150)
        .map(|k| 0.3 * capture.about(0.05) + if k % 3 == 0 { 16.0 * capture.chance() } else { 0.0 })
        .collect();
    capture.chain("nvme0n1", Op::Read, 4096, &services);
    let findings = capture.judge();
    assert!(!accuses(&findings, "device.periodic-delay"), "{}", brief(&findings));
}

#[test]
fn steps_in_a_full_queue_are_only_suspected() {
    // The same steps with 1 and with 64 in flight on a device that serves one request at a time:
    // behind so many a device that completes in batches looks the same.
    for (in_flight, stands) in [(1, true), (64, false)] {
        let mut capture = MadeCapture::traced();
        capture.medium("nvme0n1", Medium::Nvme);
        let mut ends: Vec<f64> = Vec::new();
        for k in 0..600usize {
            let steps = if k % 3 == 0 { 1 + (capture.chance() * 4.0) as u32 } else { 0 };
            let took = 0.3 * capture.about(0.05) + f64::from(steps) * 4.0;
            let from = k.checked_sub(in_flight).map_or(0.0, |before| ends[before]);
            let end = ends.last().copied().unwrap_or(0.0) + took;
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io("nvme0n1", Op::Read, sector, 4096, from, end - from);
            ends.push(end);
        }
        let findings = capture.judge();
        assert!(!of(&findings, "device.periodic-delay").is_empty(), "{}", brief(&findings));
        assert_eq!(accuses(&findings, "device.periodic-delay"), stands, "{}", brief(&findings));
    }
}

#[test]
fn unnoticed_steps_are_only_suspected() {
    // One read in twenty waits one to three steps of 2 ms: 20 ms of each second, or 2.
    for (apart_ms, stands) in [(10.0, true), (100.0, false)] {
        let mut capture = MadeCapture::traced();
        capture.medium("nvme0n1", Medium::Nvme);
        for k in 0..1000 {
            let steps = if k % 20 == 0 { 1 + (capture.chance() * 3.0) as u32 } else { 0 };
            let took = 0.09 * capture.about(0.05) + 2.0 * f64::from(steps);
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io("nvme0n1", Op::Read, sector, 4096, f64::from(k) * apart_ms, took);
        }
        let findings = capture.judge();
        assert!(!of(&findings, "device.periodic-delay").is_empty(), "{}", brief(&findings));
        assert_eq!(accuses(&findings, "device.periodic-delay"), stands, "{}", brief(&findings));
    }
}

/// Tasks wait for a resource for so many percent of the last 10 s.
fn press(capture: &mut MadeCapture, resource: &str, percent: f64) {
    let text = format!(
        "/proc/pressure/{resource}:some avg10={percent:.2} avg60=90.00 avg300=66.00 total=214131875\n"
    );
    read(capture, "capture.txt", &text);
}

#[test]
fn a_time_slice_is_no_firmware() {
    // The recorder on a machine that builds: healthy loop devices at 3.8 ms and its multiples.
    for (step_ms, pressure, stands) in [(3.8, 2.0, true), (3.8, 97.0, false), (8.0, 97.0, true)] {
        let mut capture = ticking("nvme0n1", Some(Medium::Nvme), step_ms);
        press(&mut capture, "cpu", pressure);
        let findings = capture.judge();
        assert_eq!(accuses(&findings, "device.periodic-delay"), stands, "{}", brief(&findings));
    }
}

#[test]
fn completions_seen_late_by_a_short_processor_are_no_slow_device() {
    // A loop device beside two suites of tests: 50 reads a second at 0.15 ms, one in eight 5 to 20
    // ms late. And the same where two of three wait for some tenths of a millisecond as well.
    for (of_all_ms, of_most_ms, pressure, stands) in [
        (0.0, 0.0, 2.0, true),
        (0.0, 0.0, 90.0, false),
        (0.0, 0.4, 90.0, false),
        (1.5, 0.0, 90.0, true),
    ] {
        let mut capture = MadeCapture::traced();
        capture.medium("nvme0n1", Medium::Nvme);
        for k in 0..400 {
            let late = if k % 8 == 0 { 5.0 + 15.0 * capture.chance() } else { 0.0 };
            let most = if k % 3 == 0 { 0.0 } else { of_most_ms };
            let took = 0.15 * capture.about(0.1) + late + most + of_all_ms;
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io("nvme0n1", Op::Read, sector, 4096, f64::from(k) * 20.0, took);
        }
        press(&mut capture, "cpu", pressure);
        let findings = capture.judge();
        let accused = findings.iter().any(|known| known.stands() && known.blames_a_disk());
        assert_eq!(accused, stands, "{}", brief(&findings));
    }
}

#[test]
fn what_tasks_serve_is_not_accused_while_tasks_wait_for_a_processor() {
    // 100 reads a second at 0.2 ms, stopped four times for 140 ms, or once for 600 ms.
    for (stops, stop_ms, verdict) in [(4, 140.0, "device.stall"), (1, 600.0, "device.hang")] {
        for (name, pressure, stands) in
            [("loop7", 93.0, false), ("loop7", 2.0, true), ("nvme0n1", 93.0, true)]
        {
            let mut capture = MadeCapture::traced();
            capture.medium(name, Medium::Nvme);
            let mut now = 0.0;
            for k in 0..400 {
                let stopped = k % (400 / stops) == 80;
                let took = 0.2 * capture.about(0.1) + if stopped { stop_ms } else { 0.0 };
                let sector = (capture.chance() * 1e8) as u64 * 8;
                capture.io(name, Op::Read, sector, 4096, now, took);
                now += f64::max(10.0, took);
            }
            press(&mut capture, "cpu", pressure);
            let findings = capture.judge();
            assert_eq!(accuses(&findings, verdict), stands, "{name}: {}", brief(&findings));
        }
    }
}

#[test]
fn a_file_shows_the_load_on_the_disk_below_it() {
    // Loop devices over files of a disk that other programs keep busy: 0.2 ms, one read in twenty
    // of 20 to 60 ms. It waits in 0.031 of the time, or in 0.7 of it where one read in two is late:
    // where the disk below is watched too, that much of the pressure is its own.
    for (below, pressure, late_of, is_watched, stands) in [
        ("vda", 72.0, 20, false, false),
        ("vda", 8.0, 20, false, true),
        ("0:45", 72.0, 20, false, true),
        ("vda", 55.0, 2, false, false),
        ("vda", 55.0, 2, true, true),
    ] {
        let mut capture = MadeCapture::traced();
        capture.medium("loop7", Medium::Nvme);
        if is_watched {
            capture.io("vda", Op::Read, 4096, 4096, 5.0, 0.2);
        }
        let device = Some(capture.recording.device("loop7"));
        let fact = Fact::read(device, key::DEVICE_BACKING, below, "/sys".to_string());
        capture.recording.fact(fact);
        for k in 0..400 {
            let late = if k % late_of == 0 { 20.0 + 40.0 * capture.chance() } else { 0.0 };
            let took = 0.2 * capture.about(0.1) + late;
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io("loop7", Op::Read, sector, 4096, f64::from(k) * 70.0, took);
        }
        press(&mut capture, "io", pressure);
        let findings = capture.judge();
        let accused = findings.iter().any(|known| known.stands() && known.blames_a_disk());
        assert_eq!(accused, stands, "{below} {pressure}: {}", brief(&findings));
    }
}

/// Disks whose reads take long in the same seconds, as far as `shares` them.
fn shelf(disks: usize, slow_ms: impl Fn(usize, usize) -> f64) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    for disk in 0..disks {
        let name = format!("sd{}", char::from(b'a' + disk as u8));
        capture.medium(&name, Medium::Rotational);
        for k in 0..600 {
            let second = k / 20;
            let took = slow_ms(disk, second) * capture.about(0.1);
            let sector = (capture.chance() * 1e8) as u64 * 8;
            capture.io(&name, Op::Read, sector, 4096, k as f64 * 50.0, took);
        }
    }
    capture.recording.end();
    capture
}

#[test]
fn what_disks_share_is_accused_and_no_single_one() {
    let wave = |_: usize, second: usize| if second % 5 < 3 { 45.0 } else { 15.0 };
    let findings = shelf(6, wave).judge();
    assert!(accuses(&findings, "peer.shared"), "{}", brief(&findings));
    let shared = of(&findings, "peer.shared")[0];
    near(cited(shared, "slow disks"), 6.0, 0.0);
    assert!(cited(shared, "median r").amount.value > 0.9, "{shared:#?}");
    assert!(!accuses(&findings, "device.slow"), "{}", brief(&findings));
    // Each slow in seconds of its own; and all of them healthy.
    let own =
        |disk: usize, second: usize| if (second * 7 + disk * 13) % 11 < 6 { 45.0 } else { 15.0 };
    let findings = shelf(6, own).judge();
    assert!(!accuses(&findings, "peer.shared"), "{}", brief(&findings));
    let findings = shelf(6, |_, second| if second % 5 < 3 { 11.0 } else { 7.0 }).judge();
    assert!(!accuses(&findings, "peer.shared"), "{}", brief(&findings));
}

#[test]
fn a_stolen_processor_is_named_and_rows_of_averages_suffice() {
    let mut capture = MadeCapture::averaged();
    for interval in 0..20 {
        for disk in ["sda", "sdb", "sdc", "sdd"] {
            let await_ms = if interval % 4 < 2 { 160.0 } else { 60.0 } * capture.about(0.05);
            let row = Row { per_s: 5.0, bytes: 4096.0, await_ms, busy: 5.0 * await_ms / 1000.0 };
            capture.medium(disk, Medium::Rotational);
            capture.row(disk, Op::Read, row);
        }
    }
    capture.recording.end();
    read(
        &mut capture,
        "vmstat.txt",
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
         r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n \
         9  9      0  21471  13548 2808620    0   99  9325  4899  483 2297 17  4 78 91  0\n \
         1  3      0  21471  13548 2808620    0    0   316     0  759 1042 53  7  0 20 20\n \
         1  1      0  21471  13548 2808620    0    0   316     0  759 1042 53  7  0 10 30\n",
    );
    let findings = capture.judge();
    let shared = of(&findings, "peer.shared");
    assert!(!shared.is_empty(), "{}", brief(&findings));
    near(cited(shared[0], "stolen"), 0.25, 1e-9);
    assert!(shared[0].sentence.contains("takes CPU time away"), "{}", shared[0].sentence);
}

/// Words of a step that replaces a disk.
fn condemns(step: &str) -> bool {
    ["replace the disk", "replace it if", "replace the drive", "plan replacement"]
        .iter()
        .any(|words| step.contains(words))
}

#[test]
fn a_shape_alone_replaces_no_disk() {
    let captures = [
        shelf(6, |_, second| if second % 5 < 3 { 45.0 } else { 15.0 }),
        ticking("nvme0n1", Some(Medium::Nvme), 4.0),
        ticking("sda", Some(Medium::Rotational), 60_000.0 / 7200.0),
        sleeping("nvme0n1", Medium::Nvme, |_| 7.5),
        shingled(300.0, 0.9),
        cliffs(3, |_| 1200),
        with_long_ones(&[7.02, 7.05, 6.98, 7.01, 7.03]),
    ];
    for mut capture in captures {
        for finding in capture.judge() {
            let condemned = finding.next_step.iter().find(|step| condemns(step));
            assert_eq!(condemned, None, "{}: {}", finding.verdict, finding.sentence);
        }
    }
    // And in no detector's own words, but for those that ask log or SMART first.
    let may = ["device.media", "device.recovery"];
    for detector in DETECTORS {
        let name = detector.verdict.name();
        let file = format!("src/detectors/{}.rs", name.replacen('.', "_", 1).replace('-', "_"));
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let source = std::fs::read_to_string(path).unwrap();
        let (_, code) = source.split_once("\nuse ").unwrap();
        // A sentence may go on in the next line.
        let code = code.replace('\\', " ");
        let sentences = code.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(condemns(&sentences), may.contains(&name), "{name}");
    }
}
