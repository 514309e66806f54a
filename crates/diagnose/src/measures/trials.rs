//! Simulated service times and loads, to measure how often the measures are right. Written
//! independently of the laboratory's simulators; known truth, fixed seeds, noise and outliers
//! included.

use iowhy_model::Random;

/// Service times of one simulated capture.
pub struct Case {
    /// What was simulated.
    pub class: &'static str,
    /// Service times, ms.
    pub services_ms: Vec<f64>,
    /// The revolution, ms, if it is a ladder.
    pub revolution_ms: Option<f64>,
}

/// Spindle speeds of the simulated ladders.
const SPEEDS: [f64; 6] = [4200.0, 5400.0, 5900.0, 7200.0, 10_000.0, 15_000.0];
/// Classes that are ladders, then classes that are not.
pub const CLASSES: [&str; 12] = [
    "sequential ladder",
    "severe ladder",
    "flash GC",
    "constant stall",
    "random seeks",
    "healthy sequential",
    "mixed seeks",
    "cache hit or miss",
    "remote",
    "timer",
    "queue ramp",
    "heavy tail",
];

/// One capture of `n` requests of a class.
pub fn case(class: &'static str, n: usize, random: &mut Random) -> Case {
    let rpm = SPEEDS[random.place(SPEEDS.len())];
    let revolution = 60_000.0 / rpm * (1.0 + 0.0005 * random.normal());
    let base = between(random, 0.4, 3.0);
    let jitter = between(random, 0.01, 0.08);
    let foreign = 0.02;
    let share = between(random, 0.06, 0.7);
    let scale = between(random, 1.0, 15.0);
    let deep = between(random, 3.0, 25.0);
    let extra = between(random, 0.1, 0.6);
    let quantum = [1.0, 2.5, 10.0][random.place(3)];
    let mut served = 0.0;
    let services_ms = (0..n)
        .map(|i| {
            let plain = base * (jitter * random.normal()).exp();
            let switch = if random.unit() < 0.12 { between(random, 0.4, 1.1) } else { 0.0 };
            let slow = random.unit() < share;
            let value = match class {
                "sequential ladder" => {
                    let mut revolutions = f64::from(u8::from(slow));
                    while slow && random.unit() < extra {
                        revolutions += 1.0;
                    }
                    plain + switch + revolutions * revolution
                }
                "severe ladder" => {
                    let spread = (0.4 * random.normal()).exp();
                    plain + switch + (deep * spread).round().max(1.0) * revolution
                }
                "flash GC" if slow => 0.1 * base + scale * (0.8 * random.normal()).exp(),
                "flash GC" => 0.1 * plain,
                "constant stall" if slow => plain + 4.0 * scale * (1.0 + 0.02 * random.normal()),
                "random seeks" => plain + between(random, 1.0, 12.0) + revolution * random.unit(),
                "healthy sequential" => plain + switch,
                "mixed seeks" if slow => {
                    plain + between(random, 1.0, 12.0) + revolution * random.unit()
                }
                "cache hit or miss" if slow => {
                    0.1 * plain + between(random, 2.0, 9.0) + revolution * random.unit()
                }
                "cache hit or miss" => 0.1 * plain,
                "remote" => 0.8 * (0.6 * random.normal()).exp(),
                "timer" if slow => plain + quantum * (1.0 + (random.exponential() * 2.0).floor()),
                "queue ramp" => {
                    served = if i % 20 == 0 { 0.0 } else { served };
                    served += plain;
                    served
                }
                "heavy tail" => plain + base * (1.5 * random.normal()).exp(),
                _ => plain,
            };
            let delayed = random.unit() < foreign;
            value + if delayed { 20.0 * random.exponential() } else { 0.0 }
        })
        .collect();
    let revolution_ms = class.ends_with("ladder").then_some(revolution);
    Case { class, services_ms, revolution_ms }
}

/// A number between two.
pub fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.unit()
}
