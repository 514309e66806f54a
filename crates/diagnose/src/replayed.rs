//! What a replay says, as the evidence and the forecast of a finding.

use iowhy_model::{Bound, Evidence, Forecast, Nanos, Unit};

use crate::detector::{computed, estimated, held};
use crate::phrase;
use crate::replay::{Side, Vote};
use crate::scene::Scene;
use crate::track::Track;

/// The votes of a replay as evidence.
pub fn vote_evidence(scene: &Scene, track: &Track, vote: &Vote, side: Side) -> Vec<Evidence> {
    let source = scene.source(track.listing);
    let Some(middle) = vote.middle() else { return Vec::new() };
    let n = middle.n as u64;
    let (votes, share, what) = match side {
        Side::Device => (vote.device, middle.device_share, "excess that a healthy device removes"),
        _ => (vote.workload, middle.workload_share, "excess that stays on a healthy device"),
    };
    let s0 = format!("service time taken for healthy in the replay: {}", track.s0.assumption);
    vec![
        computed("mean latency", middle.mean_ns / 1e6, Unit::Ms, n, source),
        estimated(
            "mean latency of the same load on a healthy device",
            middle.healthy_mean_ns / 1e6,
            Unit::Ms,
            n,
            source,
        ),
        estimated(&s0, track.s0.median_ms(), Unit::Ms, n, source),
        held(estimated(what, share, Unit::Share, n, source), Bound::Above(0.5)),
        estimated("replays of nine that agree", f64::from(votes), Unit::Count, 9, source),
    ]
}

/// The latency on a healthy device, as the middle replay gives it.
pub fn forecast(track: &Track, vote: &Vote) -> Option<Forecast> {
    let middle = vote.middle()?;
    Some(Forecast {
        now_mean: Nanos(middle.mean_ns as i64),
        mean: Nanos(middle.healthy_mean_ns as i64),
        p99: middle.healthy_p99_ns.map(|ns| Nanos(ns as i64)),
        assuming: format!(
            "the same load on {}, {} per request",
            track.s0.assumption,
            phrase::ms(track.s0.median_ms())
        ),
    })
}
