//! badblocks: how many blocks of a drive could not be read, written or compared.
//!
//! ## Reads
//! `Pass completed, 24 bad blocks found. (24/0/0 errors)` and progress lines
//! `12.34% done, 1:23:45 elapsed. (3/0/0 errors)`: blocks that could not be read or written or came
//! back different, as the fact `scan.failed`. The device is taken from the command line.
//!
//! ## How to capture
//! `badblocks -sv /dev/sdb`, `e2fsck -c`.
//!
//! ## Versions
//! e2fsprogs 1.42 to 1.47; before 1.42 there are no three counts in the brackets: the number of
//! blocks is read.
//!
//! ## Caveats
//! A block is 1 KiB by default, so one sector of 4 KiB counts as four. A write test on a drive with
//! a wrong capacity (a fake) shows differences although nothing is worn.
//!
//! ## Not in this output
//! The duration of reads, and why they failed (see the kernel's log).

use crate::describe::report::*;
use crate::drive::health::drive_named;
use crate::text::invocation::invocation;

pub(super) const FORMAT: Format = Format::labels("failed blocks of a drive", Level::E, &LABELS);

static LABELS: Labels = Labels {
    command: Some(Command {
        program: "badblocks",
        subject: |line| invocation(line, "badblocks").and_then(|_| drive_named(line)),
        opens: Opens::Record,
    }),
    near: 16,
    may_resume: true,
    lines: &[
        begins("^Pass completed, {:u} bad blocks found. ({a:u}/{b:u}/{c:u} errors)$", failed)
            .like(&["Pass completed, 24 bad blocks found. (20/3/1 errors)"]),
        begins("^Pass completed, {a:u} bad blocks found.$", failed)
            .like(&["Pass completed, 7 bad blocks found."]),
        // The terminal may have drawn it over the number of a block.
        begins("^{:n}{%|}{ }done,{*} elapsed. ({a:u}/{b:u}/{c:u} errors)$", failed).like(&[
            "12.34% done, 1:23:45 elapsed. (3/0/0 errors)",
            "19075872done, 1:34:03 elapsed. (32/0/0 errors)",
        ]),
        // Where it is the first, the name of the test precedes it.
        begins(
            "^{Testing with |Checking for }{*}: {:n}% done,{*} elapsed. ({a:u}/{b:u}/{c:u} \
             errors)$",
            failed,
        )
        .like(&["Testing with random pattern: 0.05% done, 0:04 elapsed. (0/1/0 errors)"]),
    ],
    // Numbers of the blocks themselves stand between.
    own: &[
        "^{:u}$", "^Checking ", "^Testing with ", "^Reading and comparing", "^Interrupted at",
        "^From block", "^done",
    ],
    ..Labels::NEW
};

/// Blocks that could not be read or written or came back different: the last count is that of the
/// drive.
fn failed(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let counts = ["a", "b", "c"].iter().filter_map(|name| found.count(name));
    report.update(typed::SCAN_FAILED, counts.fold(0, u64::saturating_add))
}
