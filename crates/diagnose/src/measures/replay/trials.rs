//! Simulated loads on healthy and faulty devices, to measure how often the replay is right. Known
//! truth, fixed seeds; the healthy service time it is given is wrong by a random factor.

use iowhy_model::Random;

use super::Side;
use crate::measures::service::{self, ServiceSpan};
use crate::measures::trials::between;

/// A simulated load.
pub(super) struct Case {
    /// The requests.
    pub spans: Vec<ServiceSpan>,
    /// The true healthy service time, ns.
    pub s0_ns: f64,
    /// What to blame.
    pub truth: Side,
}

/// Four classes that only a bigger load than the disk can make slow come after three that are
/// fine; the last five are faulty disks.
pub(super) const CLASSES: [&str; 12] = [
    "light load",
    "synchronous",
    "parallel, idle",
    "batches",
    "overload",
    "deep queue",
    "parallel, saturated",
    "slow, one in flight",
    "slow, two to four in flight",
    "slow, open arrivals",
    "stalls",
    "retries",
];

/// How requests arrive.
enum Arrivals {
    /// At random, this many per healthy service time.
    Open(f64),
    /// This many at a time, the next when one completes.
    Closed(usize),
    /// This many at once, the next batch long after.
    Batches(usize),
}

/// One capture of `n` requests of a class.
pub(super) fn case(class: &'static str, n: usize, random: &mut Random) -> Case {
    let s0_ns = 1e5 * 100f64.powf(random.unit());
    let slow = between(random, 4.0, 20.0);
    let (arrivals, servers) = match class {
        "light load" => (Arrivals::Open(between(random, 0.05, 0.3)), 1),
        "parallel, idle" => (Arrivals::Open(between(random, 1.0, 4.0)), 16),
        "batches" => (Arrivals::Batches(10 + random.place(40)), 1),
        "overload" => (Arrivals::Open(between(random, 1.3, 3.0)), 1),
        "deep queue" => (Arrivals::Closed(8 + random.place(24)), 1),
        "parallel, saturated" => (Arrivals::Closed(64 + random.place(64)), 8 + random.place(8)),
        "slow, two to four in flight" => (Arrivals::Closed(2 + random.place(3)), 1),
        "slow, open arrivals" => (Arrivals::Open(between(random, 0.2, 0.6)), 1),
        "stalls" => (Arrivals::Open(between(random, 0.1, 0.4)), 1),
        _ => (Arrivals::Closed(1), 1),
    };
    let share = between(random, 0.2, 0.7);
    let services: Vec<f64> = (0..n)
        .map(|_| {
            let healthy = s0_ns * (0.3 * random.normal() - 0.045).exp();
            match class {
                "stalls" if random.unit() < 0.05 => s0_ns * between(random, 50.0, 300.0),
                "retries" if random.unit() < share => {
                    healthy + s0_ns * 5.5 * (1.0 + random.exponential().floor())
                }
                _ if class.starts_with("slow") => slow * healthy,
                _ => healthy,
            }
        })
        .collect();
    let spans = serve(&arrivals, servers, &services, s0_ns, random);
    let waited: f64 = spans.iter().map(ServiceSpan::latency_ns).sum::<f64>() / n.max(1) as f64;
    let faulty = class.starts_with("slow") || class == "stalls" || class == "retries";
    let truth = match (waited < 3.0 * s0_ns, faulty) {
        (true, _) => Side::Healthy,
        (false, true) => Side::Device,
        (false, false) => Side::Workload,
    };
    Case { spans, s0_ns, truth }
}

/// Serves first come, first served; spans sorted by completion.
fn serve(
    arrivals: &Arrivals,
    servers: usize,
    services: &[f64],
    s0_ns: f64,
    random: &mut Random,
) -> Vec<ServiceSpan> {
    let mut free = vec![0.0f64; servers];
    let mut completions: Vec<f64> = Vec::new();
    let mut clock = 0.0;
    let mut spans = Vec::new();
    for (i, service_ns) in services.iter().enumerate() {
        let issued = match arrivals {
            Arrivals::Open(per_s0) => {
                clock += random.exponential() * s0_ns / per_s0;
                clock
            }
            Arrivals::Closed(depth) if i < *depth => i as f64 * 100.0,
            Arrivals::Closed(depth) => {
                completions.sort_by(f64::total_cmp);
                completions[i - depth] + 0.02 * s0_ns * random.exponential()
            }
            Arrivals::Batches(size) if i % size == 0 => {
                let drained = completions.iter().copied().fold(0.0, f64::max);
                clock = drained + 20.0 * s0_ns * random.exponential();
                clock
            }
            Arrivals::Batches(_) => {
                clock += 0.01 * s0_ns;
                clock
            }
        };
        free.sort_by(f64::total_cmp);
        let done = issued.max(free[0]) + service_ns;
        free[0] = done;
        completions.push(done);
        spans.push(service::span(issued as i64, done as i64));
    }
    service::sort(&mut spans);
    spans
}
