//! Building blocks of recipes: disks and streams.

use iowhy_model::{Flags, Medium, Op};

use super::{Chance, Effect, Host, Pace, Place, Setup, Stream};

/// A spinning disk of some speed with its name; `more` follows its parameters.
pub(super) fn platter(chance: &mut Chance, more: &str) -> (Setup, u64) {
    // Four of six drives in the field run at 7200 rpm.
    let rpm = chance.pick(&[5400, 7200, 7200, 7200, 10_000, 15_000]);
    (platter_of(chance, rpm, more), rpm)
}

/// A turning disk of that speed.
pub(super) fn platter_of(chance: &mut Chance, rpm: u64, more: &str) -> Setup {
    // 75 to 200 MB/s on the outer tracks; data sheets of 2008 to 2020.
    let spt = chance.even(75e6, 200e6) / 512.0 / (rpm as f64 / 60.0);
    // Mean seek by class of drive, data sheets: 11, 8.5, 4.6, 3.6 ms.
    let seek = match rpm {
        ..6000 => 11.0,
        6000..9000 => 8.5,
        9000..12_000 => 4.6,
        _ => 3.6,
    } * chance.even(0.9, 1.1);
    let model =
        format!("rotational:rpm={rpm},spt={},seek={:.0}us{more}", spt as u64, seek * 1000.0);
    let letter = char::from(b'a' + chance.whole(0, 5) as u8);
    disk(format!("sd{letter}"), Medium::Rotational, model, 32)
}

/// A SATA SSD; its name does not distinguish it from a spinning disk.
pub(super) fn sata_ssd(chance: &mut Chance, more: &str) -> Setup {
    let (dies, read) = (chance.whole(16, 32), chance.even(60.0, 100.0));
    let command = chance.even(25.0, 60.0);
    let model = format!("ssd:dies={dies},read={read:.0}us,command={command:.0}us{more}");
    let letter = char::from(b'a' + chance.whole(0, 5) as u8);
    disk(format!("sd{letter}"), Medium::Flash, model, 32)
}

/// An NVMe disk.
pub(super) fn nvme(chance: &mut Chance, more: &str) -> Setup {
    let (dies, read) = (chance.whole(64, 128), chance.even(50.0, 80.0));
    let command = chance.even(8.0, 15.0);
    let model = format!("ssd:dies={dies},read={read:.0}us,command={command:.0}us{more}");
    disk(format!("nvme{}n1", chance.whole(0, 2)), Medium::Nvme, model, 1023)
}

/// A volume across a network with these limits.
pub(super) fn volume(chance: &mut Chance, iops: u64, rate: &str) -> Setup {
    let (base, jitter) = (chance.even(450.0, 1100.0), chance.even(100.0, 400.0));
    let model = format!(
        "network:iops={iops},burst={iops},rate={rate},base={base:.0}us,jitter={jitter:.0}us"
    );
    let name = chance.pick(&["vdb", "xvdf", "nvme1n1", "vdc"]).to_string();
    disk(name, Medium::Network, model, 1023)
}

/// A volume that may do 3000 a second until its credits end, and then its baseline.
pub(super) fn burst_volume(chance: &mut Chance, baseline: u64, credits: u64) -> Setup {
    let mut disk = volume(chance, baseline, "1000M");
    let quick = format!("burst=3000,credits={credits}");
    disk.model = disk.model.replace(&format!("burst={baseline}"), &quick);
    disk
}

fn disk(name: String, medium: Medium, model: String, tags: usize) -> Setup {
    let (faults, streams, effects) = (Vec::new(), Vec::new(), Vec::new());
    Setup { name, medium, model, faults, streams, effects, host: Host::plain(tags) }
}

impl Setup {
    /// With a fault more.
    pub(super) fn with_fault(mut self, fault: String) -> Setup {
        self.faults.push(fault);
        self
    }

    /// With something that befalls its requests.
    pub(super) fn with(mut self, effect: Effect) -> Setup {
        self.effects.push(effect);
        self
    }

    /// With a stream more.
    pub(super) fn under(mut self, stream: Stream) -> Setup {
        self.streams.push(stream);
        self
    }

    /// By another name.
    pub(super) fn named(mut self, name: &str) -> Setup {
        self.name = name.to_string();
        self
    }
}

/// A stream over the whole time.
pub(super) fn stream(op: Op, kib: &[u32], place: Place, pace: Pace, comm: &'static str) -> Stream {
    let bytes = kib.iter().map(|kib| kib << 10).collect();
    Stream {
        op,
        bytes,
        place,
        pace,
        during: (0.0, 1.0),
        comm,
        flags: Flags::default(),
        flush_every: 0,
        shift: (0, 0.0),
        within: None,
        cgroup: None,
        calls: None,
    }
}

/// Somebody reads a file from end to end: one at a time, or two in flight by read-ahead.
pub(super) fn scan(chance: &mut Chance) -> Stream {
    let kib = chance.pick(&[64, 128, 128, 256]);
    let depth = chance.whole(1, 2);
    let think = chance.scale(15e3, 300e3);
    stream(Op::Read, &[kib], Place::Onwards, Pace::Closed(depth, think), "dd")
}

/// Small reads anywhere, `depth` at a time, each after a pause of that mean (ns).
pub(super) fn lookups(chance: &mut Chance, depth: usize, think: f64) -> Stream {
    let kib = chance.pick(&[4, 4, 8, 16]);
    stream(Op::Read, &[kib], Place::Anywhere, Pace::Closed(depth, think), "mysqld")
}

/// Small reads anywhere at a rate of their own.
pub(super) fn visitors(chance: &mut Chance, rate: f64) -> Stream {
    let kib = chance.pick(&[4, 4, 8, 16]);
    stream(Op::Read, &[kib], Place::Anywhere, Pace::Poisson(rate), "nginx")
}

/// Random requests per second that a healthy turning disk serves one by one: half a revolution and
/// a mean seek each.
pub(super) fn platter_rate(setup: &Setup) -> f64 {
    let number = |key: &str| {
        let text = setup.model.split(key).nth(1).unwrap_or_default();
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<f64>().unwrap_or(8500.0)
    };
    1e6 / (number("seek=") + 30e6 / number("rpm=") + 250.0)
}
