//! The numbers of two biosnoop listings of source document dusty_disk (Gregg, 2020): reads of 128
//! KiB by `dd` from `sdb`, as (completion in s, sector, latency in ms).

use super::service::{self, ServiceSpan};
use iowhy_model::Op;

/// "Worst performance": 28 reads.
const WORST: [(f64, u64, f64); 28] = [
    (0.000000, 37_144_544, 77.96),
    (0.143268, 37_144_800, 143.20),
    (0.361565, 37_145_056, 218.24),
    (0.463294, 37_145_312, 101.70),
    (0.590237, 37_145_568, 126.92),
    (0.734682, 37_145_824, 144.38),
    (0.961290, 37_146_080, 226.55),
    (1.063137, 37_146_336, 101.79),
    (1.198111, 37_146_592, 134.91),
    (1.425886, 37_146_848, 227.74),
    (1.619342, 37_147_104, 193.38),
    (1.754445, 37_147_360, 135.04),
    (1.856156, 37_147_616, 101.65),
    (2.000656, 37_147_872, 144.42),
    (2.102591, 37_148_128, 101.83),
    (2.204427, 37_148_384, 101.77),
    (2.397540, 37_148_640, 193.05),
    (2.567098, 37_148_896, 169.52),
    (2.752098, 37_149_152, 184.94),
    (2.945566, 37_149_408, 193.41),
    (3.039011, 37_149_664, 93.38),
    (3.165834, 37_149_920, 126.76),
    (3.401771, 37_150_176, 235.87),
    (3.536805, 37_150_432, 134.95),
    (3.705294, 37_150_688, 168.43),
    (3.873563, 37_150_944, 168.21),
    (4.018151, 37_151_200, 144.53),
    (4.253137, 37_151_456, 234.92),
];

/// "Poor performance", the lid pressed: 19 reads.
const FAST: [(f64, u64, f64); 19] = [
    (2.643276, 46_133_728, 1.60),
    (2.660996, 46_133_984, 16.98),
    (2.671327, 46_134_240, 10.31),
    (2.673299, 46_134_496, 1.94),
    (2.675298, 46_134_752, 1.97),
    (2.685624, 46_135_008, 10.29),
    (2.705410, 46_135_264, 19.76),
    (2.707425, 46_135_520, 1.96),
    (2.710357, 46_135_776, 1.66),
    (2.716280, 46_136_032, 1.62),
    (2.739534, 46_136_288, 19.07),
    (2.741464, 46_136_544, 1.90),
    (2.743432, 46_136_800, 1.93),
    (2.745563, 46_137_056, 1.57),
    (2.756934, 46_137_312, 10.11),
    (2.783863, 46_137_568, 26.90),
    (2.785830, 46_137_824, 1.93),
    (2.787835, 46_138_080, 1.97),
    (2.790935, 46_138_336, 2.55),
];

/// The worst listing as spans.
pub fn worst() -> Vec<ServiceSpan> {
    WORST.iter().map(span).collect()
}

/// The fast listing as spans.
pub fn fast() -> Vec<ServiceSpan> {
    FAST.iter().map(span).collect()
}

/// Service times of the worst listing, one server, ms.
pub fn worst_ms() -> Vec<f64> {
    services_ms(&worst())
}

/// Service times of the fast listing, one server, ms.
pub fn fast_ms() -> Vec<f64> {
    services_ms(&fast())
}

fn services_ms(spans: &[ServiceSpan]) -> Vec<f64> {
    service::services(spans, 1).into_iter().map(|ns| ns / 1e6).collect()
}

fn span(&(completed_s, sector, latency_ms): &(f64, u64, f64)) -> ServiceSpan {
    let completed_ns = (completed_s * 1e9).round() as i64;
    ServiceSpan {
        queued_ns: None,
        issued_ns: completed_ns - (latency_ms * 1e6).round() as i64,
        completed_ns,
        bytes: 131_072,
        sector: Some(sector),
        op: Op::Read,
    }
}
