//! Numbers and verdicts in words.

/// Who is to blame, by the family of the verdict: `disk`, `workload`, `limit`, `report`,
/// `healthy`, `insufficient`, or the family's own name if it is none of ours.
pub fn blame(verdict: &str) -> &'static str {
    match verdict.split('.').next().unwrap_or("") {
        "device" | "peer" => "disk",
        "load" => "workload",
        "cap" => "limit",
        "report" => "report",
        "healthy" => "healthy",
        "cfg" => "configuration",
        "layer" => "software above the disk",
        _ => "insufficient",
    }
}
