//! An injected delay is measured by the block tracepoints, and every request is accounted for. The
//! whole table is `rig claims`. Needs root, /dev/fuse and /dev/loop-control.

use std::path::Path;

use iowhy_rig::claims::ClaimRow;
use iowhy_rig::faulty_disk::missing;
use iowhy_rig::host::busy;

#[test]
fn a_delay_comes_back_through_the_tracepoints_and_no_request_is_unaccounted_for() {
    if let Some(missing) = missing() {
        println!("skipped: delays through the tracepoints need {missing}");
        return;
    }
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("claims-{}", std::process::id()));
    for (delay, depth, number) in [(1.0, 1, 400), (10.0, 32, 960)] {
        // A busy host passes answers on late, most of all the last of 32: the median is for `rig
        // claims` on a quiet machine; here the fastest tenth of one round in four is compared with
        // the log.
        let rounds: Vec<ClaimRow> = (0..4)
            .map(|_| ClaimRow::measure(delay, depth, number, &log).expect("a disk"))
            .collect();
        assert!(rounds.iter().all(ClaimRow::accounted), "{rounds:#?}");
        if !rounds.iter().any(ClaimRow::right_at_first) {
            let busy = busy();
            assert!(busy.is_some(), "{rounds:#?}");
            println!("a part is skipped: needs {}: {rounds:?}", busy.unwrap_or_default());
        }
    }
    std::fs::remove_file(log).unwrap();
}
