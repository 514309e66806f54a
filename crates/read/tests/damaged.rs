//! In a table a bad line is a skipped line, and its device is known to have one.

use iowhy_model::Recording;
use iowhy_read::{Error, scan};

fn read(text: &str) -> Recording {
    let mut recording = Recording::new();
    scan("test", &mut text.as_bytes(), None, &mut recording).unwrap();
    recording
}

/// Records, skipped lines and the devices they were about.
fn damage(text: &str) -> (u64, u64, Vec<String>) {
    let recording = read(text);
    let source = &recording.listings[0].source;
    let names = source.skipped_of.iter().map(|(id, _)| recording.device_of(*id).name.clone());
    (source.records, source.skipped, names.collect())
}

const IOSTAT: &str = "\
Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util
sda            300.00   1200.00     0.00   0.00    0.40     4.00  339.00   1200.00     0.00   0.00    0.13     3.54    0.06  16.00
sdb            300.00   1200.00     0.00   0.00    0.41     4.00  339.00   1200.00     0.00   0.00  250.13     3.54   99.06  100.00
sdc            300.00   1200.00     0.00   0.00    0.40     4.00  339.00   1200.00     0.00   0.00    0.13     3.54    0.06  16.00
";

#[test]
fn a_value_that_is_no_number_makes_a_skipped_line_of_its_device() {
    assert_eq!(damage(IOSTAT), (3, 0, vec![]));
    for odd in ["nan", "-nan", "inf", "*****", "-0.41", "--", "0.4x1"] {
        let text = IOSTAT.replace(" 0.41", &format!(" {odd}"));
        assert_eq!(damage(&text), (2, 1, vec!["sdb".to_string()]), "{odd}");
    }
    let sar = "10:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util\n\
               10:10:01 AM       sda     10.00      0.00    160.00      0.00     16.00      0.05      5.00      2.00\n\
               10:10:01 AM       sdb     10.00      0.00    160.00      0.00     16.00      0.05       nan     99.00\n";
    assert_eq!(damage(sar), (1, 1, vec!["sdb".to_string()]));
}

/// No source gives a rate, a latency or a queue below zero: each number of every sample is made
/// negative in turn, and the result either holds none of these or counts them as lost.
#[test]
fn nothing_below_zero_is_read_of_any_format() {
    let mut below = Vec::new();
    for format in iowhy_read::FORMATS {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("samples")
            .join(format.name.replace('-', "_"));
        let mut paths: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
        paths.sort();
        let Some(path) = paths.first() else { continue };
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let text: String = text.chars().take(4000).collect();
        let starts = text.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at);
        let starts = starts.filter(|at| *at > 0 && text.as_bytes()[at - 1] == b' ');
        let starts: Vec<usize> = starts.collect();
        for at in starts.iter().step_by(starts.len().div_ceil(60).max(1)) {
            let damaged = format!("{}-{}", &text[..*at], &text[*at..]);
            let mut recording = Recording::new();
            let _ = scan("test", &mut damaged.as_bytes(), None, &mut recording);
            for listing in &recording.listings {
                let row = listing.intervals.iter().find_map(|row| row.fault());
                let event = listing.events.iter().find(|event| {
                    let ns = |stage| event.latency(stage).map(|length| length.ns());
                    iowhy_model::Stage::ALL.into_iter().filter_map(ns).any(|ns| ns < 0)
                });
                let line = text[..*at].lines().count();
                let what = row.or(event.map(|_| "a latency of one I/O below zero"));
                below.extend(what.map(|what| format!("{}:{line}: {what}", path.display())));
            }
        }
    }
    assert!(below.is_empty(), "{}", below.join("\n"));
    // atop: the reads of a row, and the kernel that counts no discards.
    let row = |reads: &str, discards: &str| {
        format!(
            "DSK host 1700000600 2023/11/14 22:23:20 600 sda 6000 {reads} 800 50 400 {discards} {discards} 1 2.0\n"
        )
    };
    assert_eq!(damage(&[row("100", "-1"), row("100", "-1")].concat()), (2, 0, vec![]));
    assert_eq!(
        damage(&[row("100", "0"), row("-100", "0")].concat()),
        (1, 1, vec!["sda".to_string()])
    );
}

#[test]
fn the_device_of_a_lost_row_is_known_wherever_its_name_stands() {
    for name in ["dd".to_string(), "x".repeat(100)] {
        let row = |k: u32, latency: &str| format!("0.00{k} {name} 1 sdb R {k} 4096 {latency}\n");
        let heading = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
        let text = [heading, &row(1, "1.00"), &row(2, "nan"), &row(3, "1.00")].concat();
        assert_eq!(damage(&text), (2, 1, vec!["sdb".to_string()]), "{name}");
        let noted = read(&text).listings[0].source.notes[0].text.chars().count();
        assert!(noted <= 80, "a note is short");
    }
}

#[test]
fn digits_of_another_script_are_refused_by_name() {
    let text = IOSTAT.replace("sdb            300.00", "sdb            ٣٠٠.٠٠");
    let recording = read(&text);
    let source = &recording.listings[0].source;
    assert_eq!((source.records, source.skipped), (2, 1));
    assert!(source.notes[0].reason.contains("Arabic-Indic"), "{:?}", source.notes);
}

#[test]
fn a_mark_costs_nothing() {
    let log = "22, 22193458, 1, 4096, 0, 0\n48, 26052354, 1, 4096, 4096, 0\n72, 24341745, 1, 4096, 8192, 0\n";
    let events = |text: &str| read(text).listings[0].events.len();
    assert_eq!(events(&format!("\u{feff}{log}")), events(log));
}

#[test]
fn an_unknown_table_about_disks_is_reported() {
    let odd = "Platte       LeseAnf   SchreibAnf   WarteMs   Busy latency\n\
               sda     12.0   8.0   250.1   99.0\nsdb     11.0   8.5   0.3   3.0\n";
    let recording = read(&format!("{odd}\n{IOSTAT}"));
    let [unread] = &recording.unread[..] else { panic!("{:?}", recording.unread) };
    assert_eq!((unread.lines, recording.listings.len()), ((1, 3), 1));
    assert!(unread.text.starts_with("Platte"));
    let prose = "It took 3 of 4 runs 12 s, 14 s, 9 s and 10 s on sda.\n";
    assert!(read(&format!("{prose}\n{IOSTAT}")).unread.is_empty());
}

#[test]
fn a_file_that_only_times_steps_is_unread_and_prose_is_not() {
    let unread = |text: &str| {
        let mut recording = Recording::new();
        assert!(scan("test", &mut text.as_bytes(), None, &mut recording).is_err());
        recording.unread.iter().map(|one| one.lines).collect::<Vec<_>>()
    };
    assert_eq!(unread("step took 2411.220145ms\nstep took 1988.1 ms (1988.1ms)\n"), [(1, 2)]);
    assert_eq!(unread("query 7: time=2.5s\n\nquery 8: time=0.1s\nquery 9: time=3s.\n"), [(1, 3)]);
    for prose in ["one step took 2411.22ms\n", "took 2.5s\nand then no more\n", "a 10M b\nc 4G\n"] {
        assert_eq!(unread(prose), [], "{prose}");
    }
}

#[test]
fn a_known_format_with_nothing_usable_says_what_is_missing() {
    let issues = "# tracer: nop\n\
        fio-1003  [001] d..1.   100.000001: block_rq_issue: 8,0 R 4096 () 2048 + 8 [fio]\n\
        fio-1003  [001] d..1.   100.000101: block_rq_issue: 8,0 R 4096 () 4096 + 8 [fio]\n";
    let mut recording = Recording::new();
    let error = scan("test", &mut issues.as_bytes(), None, &mut recording).unwrap_err();
    let Error::Unusable { format, missing, .. } = &error else { panic!("{error}") };
    assert_eq!(*format, "perf-script");
    assert!(missing.contains("block_rq_complete"), "{missing}");
    let heading = "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n";
    let error = scan("test", &mut heading.as_bytes(), None, &mut recording).unwrap_err();
    assert!(error.to_string().contains("is biosnoop"), "{error}");
}

/// A page may run a table of processes together below a table of disks.
#[test]
fn processes_on_one_line_are_no_row_of_a_disk() {
    let means = "\nAverage: PID kB_rd/s kB_wr/s kB_ccwr/s Command \
                 Average: 71 1.10 2.50 0.00 crond Average: 72 0.00 9.75 0.25 named\n";
    let recording = read(&format!("{IOSTAT}{means}"));
    let formats: Vec<_> =
        recording.listings.iter().map(|listing| listing.source.format.as_str()).collect();
    assert_eq!(formats, ["iostat", "pidstat"]);
    assert!(recording.listings.iter().all(|listing| listing.source.skipped == 0));
}
