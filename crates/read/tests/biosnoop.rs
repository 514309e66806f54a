//! Rows of biosnoop with their worked times.

use iowhy_model::{Flags, Nanos, Op, Recording, Stage, Time};
use iowhy_read::{find, scan};

fn read(text: &str) -> Recording {
    let mut recording = Recording::new();
    scan("test", &mut text.as_bytes(), find("biosnoop"), &mut recording).expect("a listing");
    recording
}

const BCC: &str = "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n";

#[test]
fn issued_is_time_minus_latency() {
    // Source document dusty_disk, third line, and one with a process name of two words.
    let recording = read(&format!(
        "{BCC}0.143268 dd 16014 sdb R 37144800 131072 143.20\n\
         0.864665 Cache2 I/O 6515 nvme0n1 R 694714632 4096 0.10\n"
    ));
    let listing = &recording.listings[0];
    let event = &listing.events[0];
    assert_eq!(event.issued, Some(Time::from_ns(68_000)));
    assert_eq!(event.queued, None);
    assert_eq!((event.sector, event.bytes, event.pid), (Some(37144800), Some(131072), Some(16014)));
    assert_eq!(recording.text(listing.events[1].comm.unwrap()), "Cache2 I/O");
    assert!(!listing.source.sees_queue);
    assert_eq!(listing.source.resolution, Some(Nanos(10_000)));
}

#[test]
fn the_queue_column_gives_the_start_and_minus_one_is_unknown() {
    let recording = read(
        "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
         1.000000    fio            7       sda     WS   8          4096      0.500   1.250\n\
         1.100000    fio            7       sda     FF   18446744073709551615 0 -1.000   2.000\n\
         1.200000    ?              0       Unknown R    -1         4096    18446744073709.551   2.000\n\
         lost 12 events on CPU #0\n",
    );
    let listing = &recording.listings[0];
    assert!(listing.source.sees_queue);
    assert_eq!(listing.source.resolution, Some(Nanos(1_000)));
    assert_eq!(listing.source.lost(), 12);
    let [first, flush, unknown] = &listing.events[..] else { panic!("three events") };
    assert_eq!(first.latency(Stage::Queue), Some(Nanos(500_000)));
    assert_eq!(first.latency(Stage::Total), Some(Nanos(1_750_000)));
    assert!(first.flags.has(Flags::SYNC));
    assert_eq!((flush.op, flush.queued, flush.sector), (Op::Flush, None, None));
    assert_eq!(
        (unknown.queued, unknown.sector, unknown.comm, unknown.pid),
        (None, None, None, None)
    );
    assert_eq!(recording.device_of(unknown.device).name, "");
}

#[test]
fn bytes_that_ran_into_the_next_column_are_split() {
    let recording = read(&format!(
        "{BCC}1.0 dd 1 sdb W 100 13107201234.56\n2.0 dd 1 sdb W 100 167772161234.56\n"
    ));
    let sizes: Vec<_> = recording.listings[0].events.iter().map(|event| event.bytes).collect();
    assert_eq!(sizes, [Some(1310720), Some(16777216)]);
    let latency = recording.listings[0].events[1].latency(Stage::Device);
    assert_eq!(latency, Some(Nanos(1_234_560_000)));
    let recording = read(
        "TIME(s) COMM PID DISK T SECTOR BYTES P QUE(ms) LAT(ms)\n\
         3.0 dd 1 sdb W 100 1310720S    0.10 1234.56\n",
    );
    assert_eq!(recording.listings[0].events[0].bytes, Some(1310720));
}

#[test]
fn what_moves_no_data_is_neither_read_nor_write() {
    let recording = read(&format!(
        "{BCC}0.1 smartd 9 sda R 0 0 1.00\n0.2 fio 9 sda W 0 0 5.00\n0.3 md 9  R 8 512 1.00\n"
    ));
    let ops: Vec<Op> = recording.listings[0].events.iter().map(|event| event.op).collect();
    assert_eq!(ops, [Op::Other, Op::Flush, Op::Read]);
    assert_eq!(recording.device_of(recording.listings[0].events[2].device).name, "");
    assert_eq!(recording.listings[0].events[2].pid, Some(9));
}

#[test]
fn bpftrace_prints_milliseconds_and_device_numbers() {
    let recording = read(
        "TIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n\
         611          8     16       Web Content      4179        10\n",
    );
    let event = recording.listings[0].events[0];
    assert_eq!(recording.device_of(event.device).name, "sdb");
    assert_eq!(event.issued, Some(Time::from_ns(601_000_000)));
    assert_eq!(recording.text(event.comm.unwrap()), "Web Content");
    assert_eq!(recording.listings[0].source.resolution, Some(Nanos(1_000_000)));
    let recording = read("TIME(ms) COMM PID LAT(ms)\n611 bash 4179 10\n");
    assert_eq!(recording.device_of(recording.listings[0].events[0].device).name, "");
}

#[test]
fn a_time_of_day_goes_past_midnight() {
    let recording = read(
        "TIMESTAMP COMM PID DISK T SECTOR BYTES LAT(ms)\n\
         23:59:59.900 dd 1 sda R 8 512 1.000\n00:00:00.100 dd 1 sda R 9 512 1.000\n",
    );
    let events = &recording.listings[0].events;
    let gap = events[1].completed.unwrap() - events[0].completed.unwrap();
    assert_eq!(gap, Nanos(200_000_000));
}

#[test]
fn bad_lines_are_skipped_with_a_reason_and_no_panic() {
    let recording = read(&format!(
        "{BCC}0.1\n0.2 x\n0.3 dd 1 sda R 8 512 zzz\n99999999999999 dd 1 sda R 8 512 1\n\
         -9223372036.854775807 dd 1 sda R 8 512 9223372036854.775807\n0.5 dd 1 sda R 8 512 1.00\n"
    ));
    let source = &recording.listings[0].source;
    assert_eq!(source.records + source.skipped, 6);
    assert_eq!(source.skipped, 4);
}

#[test]
fn a_forced_format_reads_past_prose_and_needs_no_heading() {
    let recording =
        read("1.0 dd 1 sdb R 100 4096 2.00\n\nsome prose\n1.1 dd 1 sdb R 108 4096 2.00\n");
    assert_eq!(recording.listings.len(), 1);
    assert_eq!(recording.listings[0].events.len(), 2);
}

#[test]
fn no_break_spaces_of_a_web_page_are_blanks() {
    let recording = read(&format!("{BCC}1.0\u{a0}\u{a0}Web Content\u{a0}1 sdb R 100 4096 2.00\n"));
    let event = recording.listings[0].events[0];
    assert_eq!(recording.text(event.comm.expect("a name")), "Web Content");
}

#[test]
fn a_time_of_day_has_sixty_seconds_and_at_most_a_leap_one() {
    let recording = read(
        "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES    LAT(ms)\n\
         23:59:60.500 fio            4000    vda     R    1024       4096      0.412\n\
         10:00:61.000 fio            4000    vda     R    9024       4096      0.398\n\
         10:00:86399.000 fio         4000    vda     R    9024       4096      0.398\n",
    );
    let listing = &recording.listings[0];
    assert_eq!((listing.events.len(), listing.source.skipped), (1, 2));
}

#[test]
fn the_error_that_snoop_tells_is_the_next_ios() {
    let line = |at: u32| format!("{at}.000000   dd  7  sda  R  {}  4096  0.002  1.000", 8 * at);
    let reported = "# the I/O below failed: errno 5, EIO, I/O error";
    let head = "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)";
    let lines = [head.into(), line(1), line(2), reported.into(), line(3), line(4)];
    let errors: Vec<Option<u16>> =
        read(&lines.join("\n")).listings[0].events.iter().map(|event| event.error).collect();
    assert_eq!(errors, [None, None, Some(5), None]);
}

#[test]
fn a_heading_begins_a_run_unless_the_rows_above_it_stand_in_no_order() {
    let row = |at: u32| format!("{at}.000000 dd 7 sda R {} 4096 1.00\n", 8 * at);
    let rows_of = |above: [u32; 3]| -> Vec<usize> {
        let above: String = above.into_iter().map(row).collect();
        let text = format!("{above}{BCC}{}{}", row(2), row(5));
        let mut recording = Recording::new();
        scan("test", &mut text.as_bytes(), None, &mut recording).expect("a listing");
        assert_eq!(recording.listings[0].source.inferred.len(), 1);
        recording.listings.iter().map(|listing| listing.events.len()).collect()
    };
    assert_eq!(rows_of([1, 3, 4]), [3, 2]);
    assert_eq!(rows_of([4, 3, 1]), [5]);
}

#[test]
fn the_file_in_the_last_column_is_read_with_its_blanks() {
    let recording = read(
        "TIME(s)    COMM            PID     DISK    T  SECTOR     BYTES   LAT(ms)  FILE\n\
         0.000000   my job 1.5      7       sda     R  8          4096      1.250  /srv/two  blanks 3.5  x\n\
         0.100000   fio             7       sda     WS 16         4096    218.240  -\n\
         0.200000   fio             7       sda     R  24         4096      2.000\n",
    );
    let [first, second, third] = &recording.listings[0].events[..] else { panic!("three events") };
    assert_eq!(recording.text(first.file.expect("a file")), "/srv/two  blanks 3.5  x");
    assert_eq!(recording.text(first.comm.expect("a name")), "my job 1.5");
    assert_eq!(first.latency(Stage::Device), Some(Nanos(1_250_000)));
    assert_eq!((second.file, third.file), (None, None));
    assert_eq!(third.latency(Stage::Device), Some(Nanos(2_000_000)));
}
