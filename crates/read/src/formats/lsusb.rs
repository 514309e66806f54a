//! Speeds of the USB links of disks: `lsusb -t`.
//!
//! ## Reads
//! Of each interface of class `Mass Storage`: `device.link_speed` and `device.transport` of the
//! port `usb3-1` (bus 3, port 1). A root hub gives `device.max_link_speed` of its bus, `usb3`.
//!
//! ## How to capture
//! `lsusb -t` or `lsusb -tv`, together with a test of the disk (`hdparm -t`, `dd`, `iostat`).
//!
//! ## Versions
//! usbutils 0.87 to 018.
//!
//! ## Caveats
//! It does not name the disk: if only one disk is on USB, it is that one. 480M is USB 2,
//! whose payload is at most about 45 MB/s; USB 3 begins at 5000M.
//!
//! ## Not in this output
//! Which disk it is, errors, latency.

use iowhy_model::typed::BitsPerSecond;

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("lsusb -t: speeds of the USB links of disks", Level::E, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "usb",
    lines: &[
        begins(
            "^/: Bus {bus:#}.Port {:#}: Dev {:#}, Class=root_hub, Driver={:word} {speed:#}M",
            root,
        )
        .like(&["/:  Bus 004.Port 001: Dev 001, Class=root_hub, Driver=xhci_hcd/1p, 20000M/x2"]),
        begins(
            "^|__ Port {port:#}: Dev {:#}, If {:#}, Class=Mass Storage, Driver={driver:word} \
             {speed:#}M",
            storage,
        )
        .like(&["|__ Port 001: Dev 006, If 0, Class=Mass Storage, Driver=usb-storage, 480M"]),
    ],
    own: &["^ID ", "^|__ Port "],
    cut: &["Class="],
    ..Labels::NEW
};

/// A root hub and the fastest that its bus can do.
fn root(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let bus = found.number("bus")?;
    let name = format!("usb{bus}");
    let device = sink.device(&name);
    sink.add_fact(device, typed::DEVICE_LINK_SPEED_MAX, speed(found)?);
    report.name(&name)
}

/// An interface that is a disk, on the bus of the root hub above it.
fn storage(found: &Found, report: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let bus = report.drive.name()?;
    let device = sink.device(&format!("{bus}-{}", found.number("port")?));
    sink.add_fact(device, typed::DEVICE_LINK_SPEED, speed(found)?);
    sink.add_fact(device, typed::DEVICE_TRANSPORT, "usb".to_string());
    Some(())
}

fn speed(found: &Found) -> Option<BitsPerSecond> {
    Some(BitsPerSecond(found.positive("speed")? * 1e6))
}
