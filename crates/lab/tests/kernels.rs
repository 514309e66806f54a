//! The tracer and the judge on Debian's kernels, in small machines of virtual time. Needs some
//! minutes, a mirror of Debian and root (or qemu installed), so it runs only when asked for.

use std::process::Command;

#[test]
fn counted_and_lost_are_what_each_kernel_counts_and_verdicts_hold() {
    if std::env::var("IOWHY_KERNELS").is_ok_and(|value| value == "1") {
        let output = Command::new(env!("CARGO_BIN_EXE_lab")).arg("kernels").output();
        let output = output.expect("lab starts");
        let told = String::from_utf8_lossy(&output.stderr);
        println!("{}{told}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{told}");
    } else {
        println!("skipped: other kernels need IOWHY_KERNELS=1, a Debian mirror and some minutes");
    }
}
