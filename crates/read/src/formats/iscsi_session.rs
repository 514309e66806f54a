//! iscsiadm: state of the sessions of an iSCSI initiator.
//!
//! ## Reads
//! `iscsiadm -m session -P 1` to `-P 3`: a session that is not logged in is a message
//! `kernel.log.remote` of `sessionN`, as the kernel's log has one where a session is lost; the
//! state of a disk attached to it becomes `device.state`.
//!
//! ## How to capture
//! `iscsiadm -m session -P 3`.
//!
//! ## Versions
//! open-iscsi 2.0.
//!
//! ## Caveats
//! One moment. A session in `TRANSPORT WAIT` and `REOPEN` lost its connection and tries again; its
//! requests wait for `Recovery Timeout` seconds, then fail.
//!
//! ## Not in this output
//! Latencies, how often a connection was lost.

use iowhy_model::{Message, MessageKind};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("sessions of iSCSI: iscsiadm -m session -P 3", Level::E, &LABELS);

static LABELS: Labels = Labels {
    unnamed: "iscsi",
    near: 30,
    may_resume: true,
    lines: &[
        announces("^Current Portal: {:word}$", |_, _, _| Some(()))
            .opens_record()
            .like(&["Current Portal: 10.0.0.1:3260,1"]),
        begins("^iSCSI {what:word} State: {state:text}$", |found, report, sink| {
            let (what, state) = (found.text("what")?, found.text("state")?);
            // `LOGGED IN` of a connection, `LOGGED_IN` of a session.
            let lost = what == "Connection" && state.replace(' ', "_") != "LOGGED_IN";
            if lost && state != "Unknown" {
                let session = format!("session{}", report.kept_text("sid").unwrap_or_default());
                let text = format!("{session}: {}", found.line());
                let kind = typed::KERNEL_LOG.of(MessageKind::Remote.name());
                sink.add_fact_at(&session, kind, Message::new("", &text), report.place());
            }
            Some(())
        })
        .like(&["iSCSI Connection State: TRANSPORT WAIT", "iSCSI Session State: FREE"]),
        follows("^Attached scsi disk {disk:word} State: {state:text}$", |found, report, sink| {
            let (disk, state) = (found.text("disk")?, found.text("state")?);
            sink.add_fact_at(disk, typed::DEVICE_STATE, state, report.place());
            Some(())
        })
        .like(&["Attached scsi disk sdb\t\tState: running"]),
    ],
    labels: &[label(&["SID"], |value, report| report.keep_text("sid", value))],
    ignored: &[
        "Target", "Persistent Portal", "Interface", "Iface Name", "Iface Transport",
        "Iface Initiatorname", "Iface IPaddress", "Iface HWaddress", "Iface Netdev",
        "Internal iscsid Session State", "iSCSI Transport Class version", "Timeouts",
        "Recovery Timeout", "Target Reset Timeout", "LUN Reset Timeout", "Abort Timeout", "CHAP",
        "username", "password", "username_in", "password_in", "Negotiated iSCSI params",
        "HeaderDigest", "DataDigest", "MaxRecvDataSegmentLength", "MaxXmitDataSegmentLength",
        "FirstBurstLength", "MaxBurstLength", "ImmediateData", "InitialR2T", "MaxOutstandingR2T",
        "Attached SCSI devices", "Host Number",
    ],
    own: &["^****", "^iSCSI Transport Class version ", "^scsi{:u} Channel ", "^version "],
    ..Labels::NEW
};
