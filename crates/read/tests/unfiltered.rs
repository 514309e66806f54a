//! What `iowhy snoop` prints and is read again: rows said to be all there were are a trace.

use iowhy_model::{Level, Recording, Sampling};

const HEADING: &str =
    "TIME(s)    COMM            PID     DISK    T  SECTOR     BYTES   QUE(ms) LAT(ms)\n";
const ROW: &str =
    "0.000000   dd              8586    sdb     RS 8279760    4096      0.004  30.220\n";

fn source_of(text: &str) -> (Level, Sampling, u64) {
    let mut recording = Recording::new();
    iowhy_read::scan("snoop.txt", &mut text.as_bytes(), None, &mut recording).expect("a listing");
    let source = &recording.listings[0].source;
    (source.level, source.sampling, source.skipped)
}

#[test]
fn rows_that_are_all_there_were_are_a_trace() {
    let reported = format!("{HEADING}# unfiltered: every I/O is listed\n{ROW}");
    assert_eq!(source_of(&reported), (Level::D, Sampling::Traced, 0));
    // As a live `snoop` prints it on a terminal of the day: names and the first time follow.
    let live = format!(
        "{HEADING}# unfiltered: every I/O is listed\n# devices: sdb (vg-data, /var/lib/pg), \
         sdc\n# from 2026-11-29 14:00:01 +0100\n{ROW}"
    );
    assert_eq!(source_of(&live), (Level::D, Sampling::Traced, 0));
    let unsaid = format!("{HEADING}{ROW}");
    assert_eq!(source_of(&unsaid).0, Level::C);
    // A name that shows it is a name.
    let named = format!("{HEADING}{}", ROW.replace("dd  ", "#un "));
    assert_eq!(source_of(&named).0, Level::C);
}
