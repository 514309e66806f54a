//! Live disks of known fault are judged rightly by `iowhy why`, by `iowhy snoop | iowhy why` and
//! from a capture, and no healthy one is accused: a few of the scenarios, in less than a minute.
//! All of them: `rig scenarios`. Needs root, /dev/fuse, /dev/loop-control and a built `iowhy`.

use std::process::Command;

use iowhy_rig::faulty_disk::missing;
use iowhy_rig::host::busy;
use iowhy_rig::programs::iowhy;

#[test]
fn a_few_live_disks_are_judged_rightly_three_ways() {
    let lacking = missing().or(iowhy().err().map(|error| error.to_string()));
    if let Some(lacking) = lacking {
        println!("skipped: the scenarios need {lacking}");
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_rig")).args(["scenarios", "--fast"]).output();
    let output = output.expect("rig starts");
    let table = String::from_utf8_lossy(&output.stdout);
    println!("{table}");
    // A disk that is served by a program is slow in truth where that program gets no CPU.
    if let (false, Some(busy)) = (output.status.success(), busy()) {
        println!("a part is skipped: the scenarios need {busy}");
        return;
    }
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    assert!(table.contains("healthy disks accused, by any path: none"), "{table}");
}
