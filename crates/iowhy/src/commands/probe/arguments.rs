//! Parsers for the arguments of a probe.

use iowhy_model::Op;
use iowhy_probe::{Arrivals, Durable, EngineChoice, Order};

/// A size of any length.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    iowhy_read::bytes(text)
        .filter(|bytes| (1.0..1e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| format!("`{text}` is not a size such as `64m`"))
}

/// The size of one I/O.
pub(super) fn size(text: &str) -> Result<u32, String> {
    // The kernel transfers at most 2 GiB per call; 64 MiB is far beyond a device's largest request.
    bytes(text)?.try_into().ok().filter(|bytes| *bytes <= 64 << 20).ok_or("at most 64m".to_string())
}

/// Where I/Os go.
pub(super) fn order(text: &str) -> Result<Order, String> {
    [Order::Sequential, Order::Random, Order::Same]
        .into_iter()
        .find(|order| order.name() == text)
        .ok_or_else(|| "use sequential, random or same".to_string())
}

/// What a write waits for.
pub(super) fn durable(text: &str) -> Result<Durable, String> {
    Durable::from_name(text).ok_or_else(|| "use plain, dsync, fdatasync or rwf-dsync".to_string())
}

/// Read or write.
pub(super) fn operation(text: &str) -> Result<Op, String> {
    Op::from_name(text)
        .filter(|op| matches!(op, Op::Read | Op::Write))
        .ok_or_else(|| "use read or write".to_string())
}

/// When I/Os of a rate are due.
pub(super) fn arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "poisson" => Ok(Arrivals::Poisson),
        "constant" => Ok(Arrivals::Constant),
        _ => Err("use poisson or constant".to_string()),
    }
}

/// The I/O engine.
pub(super) fn way(text: &str) -> Result<EngineChoice, String> {
    match text {
        "auto" => Ok(EngineChoice::Best),
        "ring" => Ok(EngineChoice::Ring),
        "calls" => Ok(EngineChoice::Calls),
        _ => Err("use auto, ring or calls".to_string()),
    }
}

/// A share in percent, as a number from 0 to 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("`{text}` is not a percentage from 0 to 100"))
}
