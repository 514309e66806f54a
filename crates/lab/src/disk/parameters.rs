//! A disk, as written on the command line: `rotational:rpm=5400,cache=8M`.

use super::network::{Network, Volume};
use super::rotational::{Platter, Rotational};
use super::shingled::{Shingled, Shingles};
use super::ssd::{Flash, Ssd};
use super::units::{duration, size};
use super::{Fault, Mechanism};

/// A kind of disk with its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Model {
    /// Turning platters.
    Rotational(Platter),
    /// Turning platters whose tracks overlap.
    Shingled(Shingles),
    /// Flash.
    Ssd(Flash),
    /// A network volume.
    Network(Volume),
}

impl Model {
    /// Reads one from the command line.
    ///
    /// # Errors
    /// If there is no such kind or parameter; the text shows which there are.
    pub fn parse(text: &str) -> Result<Model, String> {
        let (kind, parameters) = text.split_once(':').unwrap_or((text, ""));
        let mut model = match kind {
            "rotational" => Model::Rotational(Platter::default()),
            "shingled" => Model::Shingled(Shingles::default()),
            "ssd" => Model::Ssd(Flash::default()),
            "network" => Model::Network(Volume::default()),
            _ => {
                let known = "known are rotational, shingled, ssd, network";
                return Err(format!("`{kind}` is not a kind of disk; {known}"));
            }
        };
        for parameter in parameters.split(',').filter(|parameter| !parameter.is_empty()) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            model.set(key, value).ok_or_else(|| {
                format!("`{parameter}` is not a parameter of `{kind}`; known are {}", model.keys())
            })?;
        }
        Ok(model)
    }

    /// Linux's name for the disk with this index, from 0.
    pub fn device(&self, place: u8) -> String {
        let letter = char::from(b'b'.saturating_add(place).min(b'z'));
        match self {
            Model::Rotational(_) | Model::Shingled(_) => format!("sd{letter}"),
            Model::Ssd(_) => format!("nvme{place}n1"),
            Model::Network(_) => format!("vd{letter}"),
        }
    }

    /// Whether it has platters.
    pub fn rotates(&self) -> bool {
        matches!(self, Model::Rotational(_) | Model::Shingled(_))
    }

    /// One revolution, ns, if it rotates.
    pub fn revolution(&self) -> Option<u64> {
        match self {
            Model::Rotational(platter) => Some(platter.revolution()),
            Model::Shingled(shingles) => Some(shingles.platter.revolution()),
            Model::Ssd(_) | Model::Network(_) => None,
        }
    }

    /// Whether it can have that fault.
    pub fn can_have(&self, fault: &Fault) -> bool {
        self.rotates() || !fault.needs_platter()
    }

    /// The mechanism of a disk of that many bytes.
    pub fn mechanism(&self, bytes: u64) -> Mechanism {
        match *self {
            Model::Rotational(platter) => Mechanism::Rotational(Rotational::new(platter, bytes)),
            Model::Shingled(it) => Mechanism::Shingled(Shingled::new(it, bytes)),
            Model::Ssd(flash) => Mechanism::Ssd(Ssd::new(flash)),
            Model::Network(volume) => Mechanism::Network(Network::new(volume)),
        }
    }

    fn keys(&self) -> &'static str {
        match self {
            Model::Rotational(_) => "rpm, spt, heads, command, track, seek, readahead, cache",
            Model::Shingled(_) => "band, kept, and those of `rotational`",
            Model::Ssd(_) => {
                "dies, read, program, uneven, erase, command, fresh, live, quick, buffer"
            }
            Model::Network(_) => "iops, rate, credits, burst, base, jitter",
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let count = || value.parse::<u64>().ok().filter(|count| *count > 0);
        match self {
            Model::Rotational(platter) => platter.set(key, value)?,
            Model::Shingled(shingles) => match key {
                "band" => shingles.band = size(value).filter(|band| *band >= 1 << 20)?,
                "kept" => shingles.kept = size(value).filter(|kept| *kept >= 1 << 20)?,
                _ => shingles.platter.set(key, value)?,
            },
            Model::Ssd(flash) => match key {
                "dies" => flash.dies = count().filter(|dies| *dies < 10_000)? as usize,
                "read" => flash.read = duration(value)?,
                "program" => flash.program = duration(value)?,
                "uneven" => flash.uneven = count().filter(|percent| *percent < 100)?,
                "erase" => flash.erase = duration(value)?,
                "command" => flash.command = duration(value)?,
                "fresh" => flash.fresh = size(value)?,
                "live" => flash.live_pages = count().filter(|pages| *pages <= 64)?,
                "quick" => flash.quick = size(value)?,
                "buffer" => flash.buffered_pages = value.parse().ok()?,
                _ => return None,
            },
            Model::Network(volume) => match key {
                "iops" => volume.iops = count()?,
                "rate" => volume.bytes_per_s = size(value).filter(|rate| *rate > 0)?,
                "credits" => volume.credits = count()?,
                "burst" => volume.burst_iops = count()?,
                "base" => volume.base = duration(value)?,
                "jitter" => volume.jitter = duration(value)?,
                _ => return None,
            },
        }
        Some(())
    }
}

impl Platter {
    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let count = |most: u64| value.parse::<u64>().ok().filter(|count| (1..most).contains(count));
        match key {
            "rpm" => self.rpm = count(1_000_000)?,
            "spt" => self.sectors_per_track = count(1_000_000)?,
            "heads" => self.heads = count(1000)?,
            "command" => self.command = duration(value)?,
            "track" => self.track_to_track = duration(value)?,
            "seek" => self.mean_seek = duration(value)?,
            "readahead" => self.read_ahead = switch(value)?,
            "cache" => self.write_cache = if value == "off" { 0 } else { size(value)? },
            _ => return None,
        }
        Some(())
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_as_they_are_written() {
        let platter = Platter { rpm: 5400, write_cache: 8 << 20, ..Platter::default() };
        assert_eq!(Model::parse("rotational:rpm=5400,cache=8M"), Ok(Model::Rotational(platter)));
        let volume = Volume { iops: 500, base: 500_000, ..Volume::default() };
        assert_eq!(Model::parse("network:iops=500,base=500us"), Ok(Model::Network(volume)));
        for bad in ["floppy", "rotational:rpm=0", "ssd:rpm=7200", "network:iops", "ssd:dies=x"] {
            assert!(Model::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(size("2G"), Some(2 << 30));
        assert_eq!(size("99999999999999T"), None);
    }
}
