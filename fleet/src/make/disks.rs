//! The disks of a generated fleet and their faults.

use std::collections::BTreeMap;
use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal};

use super::Make;
use super::models::{MODELS, Model};

/// What ails a disk.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FaultKind {
    /// Slower from some hour on: by this factor.
    Steady(f64),
    /// Slower at intervals: by this factor, for this many hours of each period.
    Fits(f64, f64, f64),
    /// Slower day by day, up to this factor at the end.
    Creeping(f64),
    /// This many of a hundred requests take this many times longer.
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
    /// Its service time relative to others of its model.
    pub own: f64,
    /// Its load relative to an ordinary disk.
    pub load: f64,
    /// From this hour on, this many times the load: hot, but not faulty.
    pub hot: Option<(f64, f64)>,
    /// What ails it, and from which hour on.
    pub faulty: Option<(FaultKind, f64)>,
    /// What its firmware costs.
    pub firmware_factor: f64,
    /// What its generation and a fault of its host cost, and from which hour on.
    pub others: [(f64, f64); 2],
    /// Share of reads.
    pub reads: f64,
    /// Bytes of a read and of a write.
    pub bytes: [i64; 2],
    /// Of all that happens to it.
    pub seed: u64,
}

/// All of them.
pub struct Fleet {
    /// In the order of their hosts.
    pub disks: Vec<Disk>,
    /// How many hosts.
    pub hosts: u32,
    pub bad_firmwares: Vec<(&'static str, &'static str, f64)>,
    /// Of each model the factors of its hidden generations, and from which hour on.
    pub generations: Vec<Vec<(f64, f64)>>,
    /// Faulty hosts: the factor of their disks, and from which hour on.
    pub faulty_hosts: BTreeMap<u32, (f64, f64)>,
}

/// What is as it is without a fault, from the first hour on.
const ORDINARY: (f64, f64) = (1.0, 0.0);

/// The hidden generations of each model. Of their own chance, like all that is drawn of a host, so
/// that a fleet without is the same fleet.
fn generations(make: &Make) -> Vec<Vec<(f64, f64)>> {
    let mut chance = ChaCha8Rng::seed_from_u64(make.seed ^ 0x6765_6e65);
    let mut one = |_: u32| {
        let factor = chance.random_range(1.1f64.ln()..3f64.ln()).exp();
        let late = make.days > 2 && chance.random_range(0..3) == 0;
        let day = if late { chance.random_range(1..make.days - 1) } else { 0 };
        (factor, f64::from(day) * 24.0)
    };
    let mut number = ChaCha8Rng::seed_from_u64(make.seed ^ 0x6e75_6d62);
    MODELS
        .iter()
        .map(|_| (0..number.random_range(0..=make.generations)).map(&mut one).collect())
        .collect()
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
        let generations = generations(make);
        let mut faulty_hosts = BTreeMap::new();
        let mut disks = Vec::new();
        for number in 0..make.disks {
            let host = number / make.per_host;
            // A host is bought with one model.
            let mut of_host =
                ChaCha8Rng::seed_from_u64(make.seed ^ 0x9e37_79b9 ^ u64::from(host) << 20);
            let place = of_host.random_range(0..MODELS.len());
            let model = MODELS[place];
            let firmware = model.firmwares[of_host.random_range(0..model.firmwares.len())];
            let reads = of_host.random_range(0.35..0.9);
            let busy: f64 =
                LogNormal::new(0.0, 0.5).map_or(1.0, |spread| spread.sample(&mut of_host));
            let mut hidden =
                ChaCha8Rng::seed_from_u64(make.seed ^ 0x6869_6464 ^ u64::from(host) << 20);
            let generation = hidden.random_range(0..=generations[place].len());
            let generation =
                generation.checked_sub(1).map_or(ORDINARY, |at| generations[place][at]);
            let of_fault = match hidden.random_range(0.0..1000.0) < make.faulty_hosts {
                true => (hidden.random_range(1.4..3.0), hidden.random_range(0.1..0.7) * hours),
                false => ORDINARY,
            };
            if of_fault != ORDINARY {
                faulty_hosts.insert(host, of_fault);
            }
            let own =
                LogNormal::new(0.0, model.varied).map_or(1.0, |spread| spread.sample(&mut chance));
            let load =
                busy * LogNormal::new(0.0, 0.25).map_or(1.0, |spread| spread.sample(&mut chance));
            let faulty = (chance.random_range(0.0..1000.0) < make.faulty).then(|| {
                let from = chance.random_range(0.1..0.7) * hours;
                let kind = match chance.random_range(0..4) {
                    0 => FaultKind::Steady(chance.random_range(1.6..6.0)),
                    1 => FaultKind::Fits(
                        chance.random_range(2.0..10.0),
                        chance.random_range(2.0..6.0),
                        chance.random_range(8.0..24.0),
                    ),
                    2 => FaultKind::Creeping(chance.random_range(2.0..6.0)),
                    _ => FaultKind::Tail(
                        chance.random_range(1.0..5.0),
                        chance.random_range(30.0..200.0),
                    ),
                };
                (kind, from)
            });
            let hot = (faulty.is_none() && chance.random_range(0.0..1000.0) < 15.0)
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
                faulty,
                firmware_factor: worse.map_or(1.0, |(_, _, factor)| *factor),
                others: [generation, of_fault],
                reads,
                bytes: [4096 << chance.random_range(0..4), 16_384],
                seed: chance.random(),
            });
        }
        Fleet { disks, hosts, bad_firmwares: bad, generations, faulty_hosts }
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
            let (what, since, how) = match (&disk.faulty, &disk.hot) {
                (Some((kind, from)), _) => ("faulty", *from, format!("{kind:?}").replace(',', ";")),
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
        for (model, generations) in MODELS.iter().zip(&self.generations) {
            for (factor, from) in generations {
                text.push_str(&format!(",,{},,generation,{from:.1},{factor:.2}x\n", model.name));
            }
        }
        for (host, (factor, from)) in &self.faulty_hosts {
            text.push_str(&format!("{},,,,host,{from:.1},{factor:.2}x\n", host_name(*host)));
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
