//! The disks of a generated fleet: what they are, what they are asked, what ails them.

use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal, Normal, Poisson};

use super::Make;

/// A model: what a request needs when nothing waits, for reads and writes in µs; how the single requests spread;
/// how many it serves at once; what it can do per second; its class and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// As `iowhy` calls it.
    pub class: &'static str,
    /// Bytes.
    pub size: u64,
    service_us: [f64; 2],
    sigma: f64,
    channels: f64,
    /// I/Os per second of an ordinary disk of the model by day.
    usual: f64,
    /// Spread of the disks of a model, all well.
    varied: f64,
    firmwares: &'static [&'static str],
}

const TB: u64 = 1_000_000_000_000;

const ROTATIONAL: Model = Model {
    name: "",
    class: "rotational",
    size: TB,
    service_us: [7800.0, 6100.0],
    sigma: 0.45,
    channels: 1.0,
    usual: 45.0,
    varied: 0.05,
    firmwares: &[],
};

const FLASH: Model = Model {
    name: "",
    class: "flash",
    size: TB,
    service_us: [190.0, 95.0],
    sigma: 0.55,
    channels: 4.0,
    usual: 2_500.0,
    varied: 0.05,
    firmwares: &[],
};

const NVME: Model = Model {
    name: "",
    class: "nvme",
    size: TB,
    service_us: [92.0, 21.0],
    sigma: 0.35,
    channels: 16.0,
    usual: 12_000.0,
    varied: 0.05,
    firmwares: &[],
};

/// Twelve, as a fleet has them after some years.
const MODELS: [Model; 12] = [
    Model {
        name: "ROTOR-4T",
        size: 4 * TB,
        service_us: [7800.0, 6100.0],
        sigma: 0.45,
        usual: 45.0,
        varied: 0.05,
        firmwares: &["A1", "A3", "B0"],
        ..ROTATIONAL
    },
    Model {
        name: "ROTOR-8T",
        size: 8 * TB,
        service_us: [8200.0, 5900.0],
        sigma: 0.42,
        usual: 40.0,
        varied: 0.04,
        firmwares: &["C2", "C5"],
        ..ROTATIONAL
    },
    Model {
        name: "ROTOR-16T",
        size: 16 * TB,
        service_us: [7400.0, 5200.0],
        sigma: 0.40,
        usual: 52.0,
        varied: 0.05,
        firmwares: &["SN02", "SN04"],
        ..ROTATIONAL
    },
    Model {
        name: "ROTOR-20T",
        size: 20 * TB,
        service_us: [7600.0, 5500.0],
        sigma: 0.44,
        usual: 50.0,
        varied: 0.04,
        firmwares: &["SN01", "SN02"],
        ..ROTATIONAL
    },
    Model {
        name: "SATAF-960",
        size: TB,
        service_us: [190.0, 95.0],
        sigma: 0.55,
        usual: 2_500.0,
        varied: 0.06,
        firmwares: &["X1", "X2", "X4"],
        ..FLASH
    },
    Model {
        name: "SATAF-1920",
        size: 2 * TB,
        service_us: [175.0, 80.0],
        sigma: 0.50,
        usual: 3_000.0,
        varied: 0.05,
        firmwares: &["X2", "X4"],
        ..FLASH
    },
    Model {
        name: "SATAF-3840",
        size: 4 * TB,
        service_us: [185.0, 84.0],
        sigma: 0.52,
        usual: 2_800.0,
        varied: 0.05,
        firmwares: &["Q7", "Q9"],
        ..FLASH
    },
    Model {
        name: "NVF-1T6",
        size: TB,
        service_us: [92.0, 21.0],
        sigma: 0.35,
        usual: 12_000.0,
        varied: 0.05,
        firmwares: &["E1.0", "E1.2"],
        ..NVME
    },
    Model {
        name: "NVF-3T2",
        size: 3 * TB,
        service_us: [88.0, 19.0],
        sigma: 0.33,
        usual: 15_000.0,
        varied: 0.04,
        firmwares: &["E1.2", "E2.0"],
        ..NVME
    },
    Model {
        name: "NVF-6T4",
        size: 6 * TB,
        service_us: [84.0, 18.0],
        sigma: 0.34,
        channels: 24.0,
        usual: 18_000.0,
        varied: 0.05,
        firmwares: &["E2.0", "E2.1"],
        ..NVME
    },
    Model {
        name: "NVR-7T7",
        size: 8 * TB,
        service_us: [97.0, 24.0],
        sigma: 0.40,
        usual: 9_000.0,
        varied: 0.06,
        firmwares: &["R3", "R5", "R6"],
        ..NVME
    },
    Model {
        name: "NVR-15T",
        size: 15 * TB,
        service_us: [110.0, 27.0],
        sigma: 0.41,
        usual: 8_000.0,
        varied: 0.06,
        firmwares: &["R5", "R6"],
        ..NVME
    },
];

/// What ails a disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sickness {
    /// Slower from some hour on: by this factor.
    Steady(f64),
    /// Slower for some hours, again and again: by this factor, so many hours of a period of so many.
    Fits(f64, f64, f64),
    /// Slower day by day, up to this factor at the end.
    Creeping(f64),
    /// So many of a hundred requests take so many times longer.
    Tail(f64, f64),
}

/// A disk.
pub struct Disk {
    /// Its host's number.
    pub host: u32,
    /// The kernel's name.
    pub device: String,
    /// What it is.
    pub model: Model,
    /// With what firmware.
    pub firmware: &'static str,
    /// What it needs beside its model's others.
    own: f64,
    /// What it is asked for beside an ordinary one.
    load: f64,
    /// From this hour on, and so many times as much: hot, and not sick.
    pub hot: Option<(f64, f64)>,
    /// What ails it, and from which hour on.
    pub sick: Option<(Sickness, f64)>,
    /// What its firmware costs.
    firmware_factor: f64,
    reads: f64,
    bytes: [f64; 2],
    seed: u64,
}

/// All of them.
pub struct Fleet {
    /// In the order of their hosts.
    pub disks: Vec<Disk>,
    /// How many hosts.
    pub hosts: u32,
    bad_firmwares: Vec<(&'static str, &'static str, f64)>,
}

impl Fleet {
    /// Draws a fleet.
    pub fn new(make: &Make) -> Fleet {
        let mut chance = ChaCha8Rng::seed_from_u64(make.seed);
        let hours = f64::from(make.days) * 24.0;
        let hosts = make.disks.div_ceil(make.per_host);
        // Only where another firmware of the model is there to compare with, and one of each model.
        let mut bad = Vec::new();
        let mut places: Vec<usize> = (0..MODELS.len()).collect();
        while bad.len() < make.bad_firmwares && !places.is_empty() {
            let model = &MODELS[places.swap_remove(chance.random_range(0..places.len()))];
            let firmware = model.firmwares[chance.random_range(0..model.firmwares.len())];
            bad.push((model.name, firmware, chance.random_range(1.25..1.8)));
        }
        let mut disks = Vec::new();
        for number in 0..make.disks {
            let host = number / make.per_host;
            // A host is bought with one model.
            let mut of_host =
                ChaCha8Rng::seed_from_u64(make.seed ^ 0x9e37_79b9 ^ u64::from(host) << 20);
            let model = MODELS[of_host.random_range(0..MODELS.len())];
            let firmware = model.firmwares[of_host.random_range(0..model.firmwares.len())];
            let reads = of_host.random_range(0.35..0.9);
            let busy: f64 =
                LogNormal::new(0.0, 0.5).map_or(1.0, |spread| spread.sample(&mut of_host));
            let own =
                LogNormal::new(0.0, model.varied).map_or(1.0, |spread| spread.sample(&mut chance));
            let load =
                busy * LogNormal::new(0.0, 0.25).map_or(1.0, |spread| spread.sample(&mut chance));
            let sick = (chance.random_range(0.0..1000.0) < make.sick).then(|| {
                let from = chance.random_range(0.1..0.7) * hours;
                let kind = match chance.random_range(0..4) {
                    0 => Sickness::Steady(chance.random_range(1.6..6.0)),
                    1 => Sickness::Fits(
                        chance.random_range(2.0..10.0),
                        chance.random_range(2.0..6.0),
                        chance.random_range(8.0..24.0),
                    ),
                    2 => Sickness::Creeping(chance.random_range(2.0..6.0)),
                    _ => Sickness::Tail(
                        chance.random_range(1.0..5.0),
                        chance.random_range(30.0..200.0),
                    ),
                };
                (kind, from)
            });
            let hot = (sick.is_none() && chance.random_range(0.0..1000.0) < 15.0)
                .then(|| (chance.random_range(0.0..0.8) * hours, chance.random_range(2.0..8.0)));
            let worse = bad.iter().find(|(name, of, _)| (*name, *of) == (model.name, firmware));
            let device = match model.class {
                "nvme" => format!("nvme{}n1", number % make.per_host),
                _ => format!("sd{}", letters(number % make.per_host)),
            };
            disks.push(Disk {
                host,
                device,
                model,
                firmware,
                own,
                load,
                hot,
                sick,
                firmware_factor: worse.map_or(1.0, |(_, _, factor)| *factor),
                reads,
                bytes: [4096.0 * f64::from(1u32 << chance.random_range(0..4)), 16_384.0],
                seed: chance.random(),
            });
        }
        Fleet { disks, hosts, bad_firmwares: bad }
    }

    /// The disks of a host.
    pub fn of_host(&self, host: u32) -> &[Disk] {
        let from = self.disks.partition_point(|disk| disk.host < host);
        let to = self.disks.partition_point(|disk| disk.host <= host);
        &self.disks[from..to]
    }

    /// Writes down what is true: of each disk that is not ordinary, and of firmwares.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_truth(&self, path: &Path) -> anyhow::Result<()> {
        let mut text = "host,device,model,firmware,what,since_hour,how\n".to_string();
        for disk in &self.disks {
            let (what, since, how) = match (&disk.sick, &disk.hot) {
                (Some((kind, from)), _) => ("sick", *from, format!("{kind:?}").replace(',', ";")),
                (None, Some((from, times))) => ("hot", *from, format!("{times:.1}x")),
                (None, None) => continue,
            };
            let (model, firmware) = (disk.model.name, disk.firmware);
            text.push_str(&format!(
                "{},{},{model},{firmware},{what},{since:.1},{how}\n",
                host_name(disk.host),
                disk.device
            ));
        }
        for (model, firmware, factor) in &self.bad_firmwares {
            text.push_str(&format!(",,{model},{firmware},firmware,0.0,{factor:.2}x\n"));
        }
        std::fs::write(path, text)?;
        Ok(())
    }
}

/// `a`, `b` ... `z`, `aa`.
fn letters(number: u32) -> String {
    let last = char::from(b'a' + u8::try_from(number % 26).unwrap_or(0));
    if number < 26 { last.to_string() } else { letters(number / 26 - 1) + &last.to_string() }
}

/// A host's name.
pub fn host_name(number: u32) -> String {
    format!("h{number:05}")
}

/// What a disk did in one cell, of one operation.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// I/Os by bucket.
    pub counts: Vec<(usize, i64)>,
    /// Bytes of all.
    pub bytes_each: i64,
}

/// A disk's course of time.
pub struct Course<'a> {
    disk: &'a Disk,
    chance: ChaCha8Rng,
    /// The load's own drift, in logarithms.
    drift: f64,
    hours: f64,
    edges: Vec<f64>,
}

impl<'a> Course<'a> {
    /// From the first hour on; `edges` of the buckets in ns.
    pub fn new(disk: &'a Disk, hours: f64, edges: &[u64]) -> Course<'a> {
        let edges = edges.iter().map(|edge| (*edge as f64).max(1.0)).collect();
        Course { disk, chance: ChaCha8Rng::seed_from_u64(disk.seed), drift: 0.0, hours, edges }
    }

    /// What happens in the `span_s` seconds that begin at this hour: reads and writes.
    pub fn cell(&mut self, hour: f64, span_s: f64) -> [Cell; 2] {
        let disk = self.disk;
        let sway: f64 =
            Normal::new(0.0, 0.08).map_or(0.0, |spread| spread.sample(&mut self.chance));
        self.drift = 0.97 * self.drift + sway;
        let of_day = (hour + f64::from(disk.host % 5)) / 24.0 * std::f64::consts::TAU;
        let day = 1.0 + 0.55 * of_day.sin() + 0.15 * (2.0 * of_day).sin();
        let hot = disk.hot.filter(|(from, _)| hour >= *from).map_or(1.0, |(_, times)| times);
        let asked = disk.model.usual * disk.load * day.max(0.05) * self.drift.exp() * hot;
        let (factor, tail) = self.sickness(hour);
        let slower = disk.own * disk.firmware_factor * factor;
        let need = [0, 1].map(|op| disk.model.service_us[op] * slower);
        let shares = [disk.reads, 1.0 - disk.reads];
        // What is asked beyond what the channels can serve comes later; nobody asks for ever.
        let mean_need = need[0] * shares[0] + need[1] * shares[1];
        let most = 0.93 * disk.model.channels * 1e6 / mean_need;
        let done = asked.min(most);
        let busy = done * mean_need / 1e6 / disk.model.channels;
        // Allen and Cunneen's approximation of a queue with several servers.
        let power = (2.0 * (disk.model.channels + 1.0)).sqrt() - 1.0;
        let waits = busy.powf(power) / (disk.model.channels * (1.0 - busy).max(0.05));
        [0, 1].map(|op| {
            let wanted = done * shares[op] * span_s;
            let many = Poisson::new(wanted.max(1e-9))
                .map_or(0.0, |spread| spread.sample(&mut self.chance));
            let median_ns = 1000.0 * (need[op] + waits * mean_need);
            let mut counts = self.spread(many, median_ns, disk.model.sigma);
            if let Some((share, times)) = tail {
                let late = (many * share).round();
                counts.extend(self.spread(late, median_ns * times, 0.4));
                counts.sort_unstable();
                counts.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    kept.1 += if same { next.1 } else { 0 };
                    same
                });
            }
            Cell { counts, bytes_each: disk.bytes[op] as i64 }
        })
    }

    /// The factor of all requests, and the share and factor of some.
    fn sickness(&mut self, hour: f64) -> (f64, Option<(f64, f64)>) {
        let Some((kind, from)) = self.disk.sick.filter(|(_, from)| hour >= *from) else {
            return (1.0, None);
        };
        match kind {
            Sickness::Steady(factor) => (factor, None),
            Sickness::Fits(factor, long, period) => {
                let at = (hour - from) % period;
                (if at < long { factor } else { 1.0 }, None)
            }
            Sickness::Creeping(factor) => {
                let way = (hour - from) / (self.hours - from).max(1.0);
                (1.0 + (factor - 1.0) * way, None)
            }
            Sickness::Tail(percent, times) => (1.0, Some((percent / 100.0, times))),
        }
    }

    /// So many requests, log-normal around a median, by bucket.
    fn spread(&mut self, many: f64, median_ns: f64, sigma: f64) -> Vec<(usize, i64)> {
        let mut counts = Vec::new();
        if many < 0.5 {
            return counts;
        }
        if many < 40.0 {
            let Ok(spread) = LogNormal::new(median_ns.ln(), sigma) else { return counts };
            let drawn: Vec<f64> =
                (0..many as usize).map(|_| spread.sample(&mut self.chance)).collect();
            let mut places: Vec<usize> = drawn.into_iter().map(|ns| self.bucket(ns)).collect();
            places.sort_unstable();
            for place in places {
                match counts.last_mut() {
                    Some((last, count)) if *last == place => *count += 1,
                    _ => counts.push((place, 1)),
                }
            }
            return counts;
        }
        let below = |edge: f64| {
            0.5 * libm::erfc(-(edge / median_ns).ln() / sigma / std::f64::consts::SQRT_2)
        };
        let first = self.bucket(median_ns * (-4.0 * sigma).exp());
        let last = self.bucket(median_ns * (4.0 * sigma).exp());
        let mut under = 0.0;
        for place in first..=last {
            let to = if place == last { 1.0 } else { below(self.edges[place + 1]) };
            let expected = many * (to - under).max(0.0);
            under = to;
            let count = match Poisson::new(expected) {
                Ok(spread) if expected < 50.0 => spread.sample(&mut self.chance),
                _ => {
                    let sway: f64 =
                        Normal::new(0.0, 1.0).map_or(0.0, |one| one.sample(&mut self.chance));
                    (expected + sway * expected.sqrt()).round()
                }
            };
            if count >= 1.0 {
                counts.push((place, count as i64));
            }
        }
        counts
    }

    fn bucket(&self, ns: f64) -> usize {
        let place = self.edges.partition_point(|edge| *edge <= ns).saturating_sub(1);
        place.min(self.edges.len() - 2)
    }
}
