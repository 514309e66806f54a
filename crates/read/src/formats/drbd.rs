//! /proc/drbd: what a replicated volume waits for, its local disk or its peer.
//!
//! ## Reads
//! `0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate` and the counters below it. The
//! connection becomes `drbd.connection`, open requests to the local disk (`lo`) `drbd.local`,
//! requests and replies outstanding between it and the peer (`pe`, `ua`) `drbd.peer`. A resync or a
//! verification is `array.action`, with `array.percent`, `array.speed` and, where it receives,
//! `array.speed.asked`: the rate that DRBD itself asks of it (`want`).
//!
//! ## How to capture
//! `cat /proc/drbd`, several times.
//!
//! ## Versions
//! DRBD 8.0 to 8.4. DRBD 9 has `drbdsetup status --statistics` instead, which is not read.
//!
//! ## Caveats
//! One moment: a busy volume always has something open. `WFConnection` means that the peer is
//! disconnected: nothing can wait for it, and what is open waits for the local disk. `ap` counts
//! requests of the file system above, which wait for either.
//!
//! ## Not in this output
//! Latencies; the disk below a volume.

use iowhy_model::typed::{ArrayAction, BytesPerSecond, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format = Format::labels(
    "/proc/drbd: open requests of replicated volumes, local and at the peer",
    Level::E,
    &LABELS,
);

static LABELS: Labels = Labels {
    unnamed: "drbd",
    near: 4,
    may_resume: true,
    lines: &[
        begins("^{minor:u}: cs:{state:word} {ro|st}:{:word} ds:", volume)
            .opens_record()
            .like(&["0: cs:WFConnection ro:Primary/Unknown ds:UpToDate/DUnknown C r-----"]),
        begins(
            "^ns:{:u} nr:{:u} dw:{:u} dr:{:u} al:{:u} bm:{:u} lo:{lo:u} pe:{pe:u} ua:{ua:u} \
             ap:{:u}",
            counters,
        )
        .like(&["ns:0 nr:0 dw:0 dr:0 al:0 bm:0 lo:3 pe:12 ua:0 ap:11 ep:1 wo:b oos:0"]),
        announces("^version: {:word} (api:", |_, _, _| Some(()))
            .like(&["version: 8.4.0 (api:1/proto:86-100)"]),
        says("^[{*}] sync'ed: {done:n}%", |found, report, _| {
            report.fact(
                typed::ARRAY_PERCENT,
                Share::from_percent(found.number("done").filter(|n| (0.0..=100.0).contains(n))?),
            )
        })
        .like(&["[=>..................] sync'ed: 12.3% (9000/10239)M"]),
        says("^finish: {:word} speed: {kib:#} {*} want: {want:#} ", |found, report, _| {
            report.fact(typed::ARRAY_SPEED, BytesPerSecond::from_kib(found.number("kib")?));
            let want = found.number("want")?;
            report.fact(typed::ARRAY_SPEED_ASKED, BytesPerSecond::from_kib(want))
        })
        .like(&["finish: 0:12:40 speed: 12,115 (11,980) want: 12,280 K/sec"]),
        // A mail may break the line before the rate.
        says("^{want:#} K/sec$", |found, report, _| {
            let want = found.number("want").filter(|_| report.take(ASKED_BELOW).is_some())?;
            report.fact(typed::ARRAY_SPEED_ASKED, BytesPerSecond::from_kib(want))
        })
        .like(&["12,280 K/sec"]),
        says("^finish: {:word} speed: {kib:#} ", |found, report, _| {
            let kib = found.number("kib")?;
            if found.line().ends_with(" want:") {
                report.keep(ASKED_BELOW, 1.0);
            }
            report.fact(typed::ARRAY_SPEED, BytesPerSecond::from_kib(kib))
        })
        .like(&[
            "finish: 0:12:40 speed: 12,115 (11,980) K/sec",
            "finish: 0:12:40 speed: 12,115 (11,980) want:",
        ]),
    ],
    own: &[
        "^C r", "^r---", "^({:word})K", "^GIT-hash:", "^srcversion:", "^SVN Revision:",
        "^act_log:", "^resync:", "^{:u}: cs:Unconfigured",
    ],
    ..Labels::NEW
};

/// The rate that is asked for follows on the next line.
const ASKED_BELOW: &str = "asked below";

fn volume(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    let state = found.text("state")?;
    report.name(&format!("drbd{}", found.count("minor")?));
    report.fact(typed::DRBD_CONNECTION, state);
    let action = match state {
        "SyncSource" | "SyncTarget" => ArrayAction::Resync,
        "VerifyS" | "VerifyT" => ArrayAction::Check,
        _ => ArrayAction::Idle,
    };
    report.fact(typed::ARRAY_ACTION, action)
}

fn counters(found: &Found, report: &mut Report, _: &mut dyn Sink) -> Option<()> {
    report.fact(typed::DRBD_LOCAL, found.count("lo")?);
    let peer = found.count("pe")?.checked_add(found.count("ua")?)?;
    report.fact(typed::DRBD_PEER, peer)
}
