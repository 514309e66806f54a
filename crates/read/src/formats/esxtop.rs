//! esxtop of VMware ESXi: commands, bytes and latencies of adapters, devices and volumes.
//!
//! ## Reads
//! The rows below a heading with `CMDS/s` of the disk screens (`d` adapters, `u` devices, `v`
//! virtual machines without their group), whichever columns are shown: commands per second, MB,
//! the time on the device (`DAVG`), in the kernel's queue (`KAVG`) and both (`GAVG`, which a guest
//! sees), by direction where they are shown (`LAT/rd`, `LAT/wr` of a virtual machine); commands
//! active and queued (`ACTV`, `QUED`).
//!
//! ## How to capture
//! `esxtop`, `resxtop`: copied screens. The CSV of `-b` is not read.
//!
//! ## Versions
//! ESX 3 to ESXi 8: columns are found by the heading, in any choice and order.
//!
//! ## Caveats
//! MB are 2^20 bytes. A row is the mean since the previous one, five seconds by default; the first
//! screen is since boot in some versions. `QAVG` is a part of `KAVG`. `%USD` is the share of the
//! device's queue that is in use, not a busy share. A terminal cuts rows at its right edge: in one
//! of 120 columns the screen of devices ends before its latencies. Names may contain spaces
//! (`{NFS}vmware isos`) and are truncated by the screen.
//!
//! ## Not in this output
//! The latency distribution, the virtual machine of a device's commands, the busy time of the
//! device.

use iowhy_model::{Interval, Level, Op};

use crate::Format;
use crate::describe::table::{Cells, MIB, MS, Slot, Subject, Table, bytes, column, ios, wait_ms};

pub(super) const FORMAT: Format =
    Format::table("esxtop of VMware ESXi: commands and latencies of disks", Level::A, &TABLE);

static TABLE: Table = Table {
    // Columns are chosen by the user, and a narrow terminal cuts the latencies off.
    heading: &["CMDS/s"],
    subject: Subject::First(&["ADAPTR", "DEVICE", "VMNAME"]),
    columns: &[
        column("CMDS/s", Slot::Ios(None), 1.0),
        ios("READS/s", Op::Read),
        bytes("MBREAD/s", Op::Read, MIB),
        wait_ms("GAVG/rd", Op::Read),
        wait_ms("LAT/rd", Op::Read),
        ios("WRITES/s", Op::Write),
        bytes("MBWRTN/s", Op::Write, MIB),
        wait_ms("GAVG/wr", Op::Write),
        wait_ms("LAT/wr", Op::Write),
        column("GAVG/cmd", Slot::Wait(None), MS),
        column("DAVG/cmd", Slot::DeviceWait, MS),
        column("KAVG/cmd", Slot::QueueWait, MS),
    ],
    own: &[" worlds"],
    may_resume: true,
    finish: Some(in_flight),
    ..Table::NEW
};

/// Commands of the driver, and those that wait for it in the kernel.
fn in_flight(interval: &mut Interval, cells: &Cells) {
    let active = cells.get("ACTV");
    interval.in_flight = active.map(|active| (active + cells.get("QUED").unwrap_or(0.0)) as u64);
}
